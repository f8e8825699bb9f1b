#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# C and Perl print the same test vectors as the same text: each record small, largest and zero; one
# unknown, one cut; short and long ones.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempfile);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/../generated", "$Bin/../../postmortem/lib";
use Tipme::Record;

my $decode = ($ENV{TIPME_BUILDDIR} // "$Bin/../..") . '/abi/t/decode';
my $bin    = slurp("$Bin/../generated/vectors.bin");
my $txt    = slurp("$Bin/../generated/vectors.txt");
my $r      = Tipme::Record->current;

is(perl_text($bin), $txt, 'Perl prints the vectors as the generator wrote them');
is(
	perl_text($bin, Tipme::Record->from_schema(slurp("$Bin/../records.def"), 'records.def')), $txt,
	'and so does a reader made from the schema text'
);

SKIP: {
	skip "no $decode: build first (TIPME_BUILDDIR names the build folder)", 3 if !-x $decode;
	is(c_text($bin), $txt, 'C prints the vectors as the generator wrote them');
	my $odd = odd_records();
	is(
		c_text($odd), perl_text($odd),
		'records of an older and of a newer minor read alike in both'
	);
	is(
		c_text(pack 'Q<CCvV', 1, 3, 1, 0, 9), "impossible: length 8\n",
		'an impossible length ends the reading'
	);
}
is(
	perl_text(pack 'Q<CCvV', 1, 3, 1, 0, 9), "impossible: length 8\n",
	'an impossible length ends the reading in Perl'
);
is((() = $r->decode(\$bin, 0)), 3, 'decode gives name, fields, length');
ok(!eval { $r->decode(\substr($bin, 0, 12), 0); 1 }, 'decode of less than a head dies');
like($@, qr/^cut: 12 bytes left, 16 wanted/, 'and says why');
done_testing();

# Shorter than we know (an older minor), longer (a newer one), a text that fills its record to the
# last byte.
sub odd_records {
	return
		  pack('Q<CCvVVV', 5, 3, 3, 0, 7, 8, 9)
		. pack('Q<CCvVVVVCCCCQ<', 6, 3,  5, 0, 7, 8, 9, 10, 1, 120, 99, 1, ~0)
		. pack('Q<CCvVVVQ<Q<',    7, 33, 5, 0, 1, 2, 3, 4,  5)
		. pack('Q<CCvVVVa8',      8, 34, 4, 0, 1, 2, 3, 'full_len');
}

sub perl_text {
	my ($buf, $reader) = @_;
	my ($off, $out)    = (0, '');
	while ($off < length $buf) {
		my ($line, $len) = ($reader // $r)->text(\$buf, $off);
		$out .= "$line\n";
		last if !$len;
		$off += $len;
	}
	return $out;
}

sub c_text {
	my ($buf) = @_;
	my ($h, $file) = tempfile(UNLINK => 1);
	binmode $h;
	print {$h} $buf;
	close $h or die "$file: $!\n";
	open my $p, '-|:raw', $decode, $file or die "$decode: $!\n";
	local $/;
	my $out = <$p>;
	close $p or die "$decode: failed\n";
	return $out;
}

sub slurp { my ($f) = @_; open my $h, '<:raw', $f or die "$f: $!\n"; local $/; return scalar <$h> }
