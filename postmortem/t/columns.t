#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The program that makes columns of many records says to the bit what the reader in Perl says: of
# ordinary records, of longer, shorter and unknown ones, and of files with changed bytes or cut
# ends. 200 of the latter, 5000 with TIPME_TEST_ALL=1; of a seed (TIPME_FUZZ_SEED) each is the same.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Columns;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::Test::Files qw(slurp spew);
use Tipme::Test::Busy  qw(busy);
use Tipme::Test::Story;

my $program = Tipme::Columns::program()
	// plan skip_all => 'tipme-columns was not built: the reader in Perl does its work, slower';
my $MS = 1_000_000;
# Where the program fails, Perl does its work and nothing looks different: so that is counted.
my ($did, $failed, $picked) = (0, 0, 0);
{
	my ($fill, $pick) = (\&Tipme::Columns::fill, \&Tipme::Columns::picked);
	no warnings 'redefine';
	*Tipme::Columns::fill =
		sub { my $done = $fill->(@_); $done ? $did++ : $failed++; return $done };
	*Tipme::Columns::picked =
		sub { my $done = $pick->(@_); $done ? $picked++ : $failed++; return $done };
}
my $tmp = tempdir(CLEANUP => 1);
my $dir = busy()->builder->write("$tmp/e");

alike('ordinary records', 0,         1 << 62);
alike('of a stretch',     900 * $MS, 1500 * $MS);
alike('nothing',          0,         0);
is(
	ran(sub { Tipme::KernelEvents->load(Tipme::Episode->open($dir), 0, 1 << 62)->count }, 1),
	ran(sub { Tipme::KernelEvents->load(Tipme::Episode->open($dir), 0, 1 << 62)->count }, 1 << 40),
	'either way'
);
is(
	ran(sub { Tipme::Diagnosis->new(Tipme::Episode->open($dir))->run->{verdict}{sentence} }, 1),
	ran(
		sub { Tipme::Diagnosis->new(Tipme::Episode->open($dir))->run->{verdict}{sentence} },
		1 << 40
	),
	'the same verdict'
);

is($failed, 0, 'the program did what it was asked for');
cmp_ok($did,    '>=', 5, '... and was asked');
cmp_ok($picked, '>=', 6, '... also for some records alone');

# What it cannot do is done in Perl.
{
	local $ENV{TIPME_BUILDDIR} = "$tmp/none";
	is(Tipme::Columns::program(), undef, 'where it is not built, it is not found');
	is(
		ran(sub { Tipme::KernelEvents->load(Tipme::Episode->open($dir), 0, 1 << 62)->count }, 1),
		Tipme::KernelEvents->load(Tipme::Episode->open($dir), 0, 1 << 62)->count,
		'then the reader in Perl does it'
	);
	mkdir "$tmp/none" and mkdir "$tmp/none/postmortem";
	for my $broken ('exit 1', 'kill -SEGV $$', 'printf "\0\0\0\0\0\0\0\0\0\0\0\0\1"; exit 0') {
		open my $h, '>', "$tmp/none/postmortem/tipme-columns" or die $!;
		print {$h} "#!/bin/sh\n$broken\n";
		close $h or die $!;
		chmod 0755, "$tmp/none/postmortem/tipme-columns";
		is(
			ran(
				sub { Tipme::KernelEvents->load(Tipme::Episode->open($dir), 0, 1 << 62)->count }, 1
			),
			Tipme::KernelEvents->load(Tipme::Episode->open($dir), 0, 1 << 62)->count,
			"... and where it fails ($broken)"
		);
	}
}

# Damage, of bytes and of lengths; kinds that nobody knows, records of another length.
my $good   = slurp("$dir/kernel.rec");
my $seed   = $ENV{TIPME_FUZZ_SEED} // 4711;
my $rounds = $ENV{TIPME_TEST_ALL} ? 5000 : 200;
my ($different, $odd) = (0, 0);
($did, $failed, $picked) = (0, 0, 0);
for my $round (0 .. $rounds - 1) {
	my $state = ($seed + $round * 2654435761) & 0x7fffffff;
	my $rand =
		sub { $state = ($state * 1103515245 + 12345) & 0x7fffffff; return ($state >> 8) % $_[0] };
	$rand->(2) for 1 .. 3;
	my $b   = $good;
	my $how = $rand->(4);
	if    ($how == 0) { $b = substr $b, 0, $rand->(length $b) }
	elsif ($how == 1) {
		substr $b, 64 + 32 * $rand->(int((length($b) - 64) / 32)) + 8 + $rand->(2), 1,
			chr $rand->(256) for 0 .. $rand->(3);
	} else {
		substr $b, $rand->(length $b), 1, chr $rand->(256) for 0 .. $rand->(9);
	}
	spew("$dir/kernel.rec", $b);
	my ($one, $other) = map {
		my $many = $_;
		eval {
			ran(sub { plain(Tipme::Episode->open($dir), 0, 1 << 62) }, $many);
		} // "died: $@"
	} 1, 1 << 40;
	$odd++ if $one =~ /^damage|^unknown/m;
	next   if $one eq $other;
	$different++;
	diag("round $round, seed $seed: " . first_difference($one, $other));
}
spew("$dir/kernel.rec", $good);
is($different, 0, "$rounds damaged files, $odd of them with something to say about it: all alike");
is($failed,    0, "the program did what it was asked for, $did times");
cmp_ok($did,    '>', $rounds / 2,  '... and was asked often');
cmp_ok($picked, '>', $rounds / 10, '... also for some records alone, where nothing is odd');
cmp_ok($odd,    '>', $rounds / 10, 'many are damaged so that one can see it');
is(system("$program </dev/null 2>/dev/null") >> 8,       64, 'its usage');
is(system("$program check </dev/null 2>/dev/null") >> 8, 1,  'no input: it says so and ends');
done_testing();

# Runs CODE with so many records as are left to the program.
sub ran {
	my ($code, $many) = @_;
	local $Tipme::KernelEvents::MANY = $many - 1;
	local $Tipme::KernelEvents::MUCH = $many - 1;
	return $code->();
}

sub alike {
	my ($name, $from, $to) = @_;
	my ($one, $other) = map {
		my $many = $_;
		ran(sub { plain(Tipme::Episode->open($dir), $from, $to) }, $many)
	} 1, 1 << 40;
	ok($one eq $other, $name) or diag(first_difference($one, $other));
}

# All that there is to be known of it, a line each.
sub plain {
	my ($ep, $from, $to) = @_;
	my $ev = Tipme::KernelEvents->load($ep, $from, $to);
	my @lines =
		('count ' . $ev->count, map { "$_ " . unpack 'H*', $ev->{$_} } qw(ts type cpu tid a b c d));
	push @lines,
		map { my $e = $ev->evidence($_); "evidence $_ $e->{file} $e->{record} $e->{ts_ns}" }
		0 .. $ev->count - 1;
	push @lines, map { "by_tid $_ " . unpack 'H*', $ev->packed_of_tid($_) } $ev->tids;
	for my $list (qw(by_cpu by_kind)) {
		push @lines,
			map { "$list $_ " . unpack 'H*', $ev->{$list}{$_} }
			sort { $a <=> $b } keys %{ $ev->{$list} };
	}
	my $some = Tipme::KernelEvents->load_only($ep, map { Tipme::KernelEvents->$_ } qw(IRQ FORK));
	push @lines, map { "some $_ " . unpack 'H*', $some->{$_} } qw(ts type cpu tid a b c d);
	push @lines,
		map { my $e = $some->evidence($_); "some $_ $e->{file} $e->{record}" }
		0 .. $some->count - 1;
	push @lines, map { "of $_ " . unpack 'H*', Tipme::KernelEvents->of_thread($ep, $_) } 1, 200,
		1003, 1017;
	return join "\n", @lines, (map {"damage $_"} $ep->damage),
		$ep->unknown_count ? 'unknown ' . $ep->unknown_count : ();
}

sub first_difference {
	my @a = split /\n/, $_[0];
	my @b = split /\n/, $_[1];
	for my $k (0 .. ($#a > $#b ? $#a : $#b)) {
		return substr($a[$k] // 'nothing', 0, 200) . ' | ' . substr($b[$k] // 'nothing', 0, 200)
			if ($a[$k] // '') ne ($b[$k] // '');
	}
	return 'none';
}

