#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The logic of the hooks that needs no server, built with the address and undefined-behaviour
# sanitizers, and under libFuzzer.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../helper/test/lib";
use Test::More;
use Tipme::Sanitized qw(fuzzed no_complaint);

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
my @include = map {"-I'$_'"} $build, "$src/abi", "$src/abi/generated", "$src/abi/xring",
	"$src/abi/chord", "$src/xserver-hooks/src";
my @logic = map {"'$src/abi/$_.c'"} qw(chord/hotkey xring/xclock xring/xring);

no_complaint($_, @include, "'$src/xserver-hooks/test/$_.c'", @logic)
	for qw(test-hotkey test-xclock test-xring);
fuzzed(
	'fuzz-logic',
	{ seed => 2000, runs => $ENV{TIPME_TEST_ALL} ? 1_000_000 : 50_000, max_len => 2000 }, @include,
	"'$src/xserver-hooks/test/fuzz-logic.c'",                                             @logic
);
done_testing;
