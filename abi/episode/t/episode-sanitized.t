#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The reader of episodes under libFuzzer, built with the address and undefined-behaviour sanitizers;
# with TIPME_TEST_ALL=1 a million more episodes without them. What is changed at random are episodes
# that have a record of each kind. TIPME_FUZZ_INPUTS: so many of both.
use strict;
use warnings;
use FindBin;
use lib map {"$FindBin::Bin/../../../$_"}
	qw(helper/test/lib postmortem/lib postmortem/t/lib abi/lib abi/generated);
use File::Temp qw(tempdir);
use Test::More;
use Tipme::Sanitized  qw(fuzzed);
use Tipme::TestDaemon qw(slurp);

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
plan skip_all =>
	'json-c is not installed (Debian: libjson-c-dev): the reader of manifests was not built'
	if system "pkg-config --exists json-c";
my @include = map {"-I'$_'"} $build, "$src/abi", "$src/abi/generated";
my @reader  = map {"'$_'"} glob "$src/abi/episode/*.c";
my $n       = $ENV{TIPME_FUZZ_INPUTS};
my $all     = $ENV{TIPME_TEST_ALL};
my %o = (seed => 17, runs => $n // ($all ? 200_000 : 4_000), max_len => 3000, corpus => corpus());
my @words = (@include, "'$src/abi/episode/t/fuzz-episode.c'", @reader, '-ljson-c');
fuzzed('fuzz-episode', \%o, @words);
my %plain = (%o, runs => $n // 1_000_000, plain => 1, corpus => corpus());
fuzzed('fuzz-episode-plain', \%plain, @words) if $all || $n;
done_testing;

# A folder of inputs: whole episodes, as fuzz-episode.c takes them apart.
sub corpus {
	my $dir = tempdir(CLEANUP => 1);
	return $dir
		if !eval { require Tipme::Test::EachKind; 1 };    # modules of the post-mortem are missing
	for my $plain (0, 1) {
		my $episode = Tipme::Test::EachKind::each_kind($plain, 1)->builder->write("$dir/.$plain");
		my %is      = map { $_ => slurp("$episode/$_") } qw(manifest.json kernel.rec threads.rec);
		# A file's header has 64 bytes, a section's head 56.
		my %part = (
			0 => substr($is{'kernel.rec'}, 64 + 56),
			1 => $is{'manifest.json'},
			2 => substr($is{'kernel.rec'}, 64),
			3 => $is{'threads.rec'},
			4 => substr($is{'kernel.rec'}, 64 + 56)
		);
		for my $how (sort keys %part) {
			open my $out, '>:raw', "$dir/$plain-$how" or die "$dir: $!\n";
			print {$out} chr($how), $part{$how};
			close $out or die "$dir: $!\n";
		}
		system 'rm', '-r', $episode;
	}
	return $dir;
}
