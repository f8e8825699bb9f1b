#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# All that the window makes of an episode, under libFuzzer with the address and undefined-behaviour
# sanitizers; with TIPME_TEST_ALL=1 a million episodes without them, too. What is changed at random
# are episodes that have a record of each kind. TIPME_FUZZ_INPUTS: so many of both.
use strict;
use warnings;
use FindBin;
use lib map {"$FindBin::Bin/../../$_"}
	qw(helper/test/lib postmortem/lib postmortem/t/lib abi/lib abi/generated);
use Test::More;
use Tipme::Sanitized qw(corpus fuzzed);

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
my @include = map {"-I'$_'"} $build, "$src/abi", "$src/abi/generated", "$src/gui/model",
	"$src/helper/lib";
my @files = map {"'$_'"} map { glob "$src/$_" } 'gui/t/fuzz-lanes.c', 'gui/model/*.c',
	'abi/episode/*.c', 'helper/lib/retold.c';
my @words = (
	@include, q(-DTIPME_BINDIR='"/usr/bin"'),
	@files,   '$(pkg-config --cflags --libs gio-2.0 json-c)', '-lm'
);
my $n   = $ENV{TIPME_FUZZ_INPUTS};
my $all = $ENV{TIPME_TEST_ALL};
my %o   = (seed => 23, runs => $n // ($all ? 20_000 : 1_000), max_len => 3000, corpus => corpus());
fuzzed('fuzz-lanes', \%o, @words);
my %plain = (%o, runs => $n // 1_000_000, plain => 1, corpus => corpus());
fuzzed('fuzz-lanes-plain', \%plain, @words) if $all || $n;
done_testing;
