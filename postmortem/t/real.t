#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Scenes of the laboratory of real programs, as short redacted episodes (tests/desk/reduce):
# process, kind and interval are what they were found to be, without a desktop; where nothing was
# done to the program, nobody is accused.
use strict;
use warnings;
use Test::More;
use Archive::Tar     ();
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated",
	"$Bin/../../tests/desk/lib";
use Tipme::Desk::Judge;
use Tipme::Test::Files qw(slurp);
use Tipme::Test::Episode;
use Tipme::Test::Story;

plan skip_all => 'needs xz (Debian: xz-utils)' if system 'xz --version >/dev/null 2>&1';
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp  = tempdir(CLEANUP => 1);
my @real = sort glob "$Bin/real/*.tar.xz";
cmp_ok(scalar @real, '>=', 12, @real . ' scenes of real programs');
my %worlds;
for my $file (@real) {
	my ($name) = $file =~ m{([^/]+)\.tar\.xz\z};
	cmp_ok(-s $file, '<', 100 << 10, "$name: is small");
	my $truth = Cpanel::JSON::XS->new->decode(slurp("$Bin/real/$name.json"));
	unpacked($file, "$tmp/$name");
	my ($d, $other) = Tipme::Test::Story::both_ways("$tmp/$name");
	my $said = "$truth->{program}, $truth->{cause}, $truth->{ms} ms: $d->{verdict}{sentence}";
	my %r =
		$truth->{cause} eq 'quiet'
		? Tipme::Desk::Judge::quiet($d)
		: Tipme::Desk::Judge::compare($truth, $d);
	ok($r{right}, "$name: right") or diag("$said: $r{why}");
	ok(Tipme::Test::Story::told($d) eq Tipme::Test::Story::told($other), "$name: both ways alike");
	$worlds{ $truth->{world} }++;
}
cmp_ok(scalar keys %worlds, '>=', 4, 'of several worlds: ' . join ', ', sort keys %worlds);
is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();

sub unpacked {
	my ($file, $to) = @_;
	mkdir $to or die "$to: $!\n";
	open my $xz, '-|', 'xz', '-dc', $file or die "xz: $!\n";
	binmode $xz;
	my $bytes = do { local $/ = undef; <$xz> };
	open my $in, '<', \$bytes or die "$file: $!\n";
	my $tar = Archive::Tar->new($in) or die Archive::Tar->error, "\n";
	for my $member ($tar->get_files) {
		$member->extract("$to/" . $member->name) or die $tar->error, "\n";
	}
	open my $schema, '>', "$to/schema" or die "$to: $!\n";
	print {$schema} Tipme::Test::Episode->schema_text;
	close $schema or die "$to: $!\n";
	return;
}

