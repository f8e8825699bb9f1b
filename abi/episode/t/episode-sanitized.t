#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The reader of episodes under libFuzzer, built with the address and undefined-behaviour sanitizers.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../../helper/test/lib";
use Test::More;
use Tipme::Sanitized qw(fuzzed);

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
plan skip_all =>
	'json-c is not installed (Debian: libjson-c-dev): the reader of manifests was not built'
	if system "pkg-config --exists json-c";
my @include = map {"-I'$_'"} $build, "$src/abi", "$src/abi/generated";
my @reader  = map {"'$_'"} glob "$src/abi/episode/*.c";
my %o       = (seed => 17, runs => $ENV{TIPME_TEST_ALL} ? 200_000 : 4_000, max_len => 3000);
fuzzed('fuzz-episode', \%o, @include, "'$src/abi/episode/t/fuzz-episode.c'", @reader, '-ljson-c');
done_testing;
