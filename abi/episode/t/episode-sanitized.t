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
use Test::More;
use Tipme::Sanitized qw(corpus fuzzed);

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
plan skip_all =>
	'json-c is not installed (Debian: libjson-c-dev): the reader of manifests was not built'
	if system "pkg-config --exists json-c";
my @include = map {"-I'$_'"} $build, "$src/abi", "$src/abi/generated";
my @reader  = map {"'$_'"} glob "$src/abi/episode/*.c";
my $n   = $ENV{TIPME_FUZZ_INPUTS};
my $all = $ENV{TIPME_TEST_ALL};
my %o   = (seed => 17, runs => $n // ($all ? 200_000 : 4_000), max_len => 3000, corpus => corpus());
my @words = (@include, "'$src/abi/episode/t/fuzz-episode.c'", @reader, '-ljson-c');
fuzzed('fuzz-episode', \%o, @words);
my %plain = (%o, runs => $n // 1_000_000, plain => 1, corpus => corpus());
fuzzed('fuzz-episode-plain', \%plain, @words) if $all || $n;
done_testing;
