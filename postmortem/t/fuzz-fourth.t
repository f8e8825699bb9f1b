#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The fourth quarter of fuzz.t, by another seed: with TIPME_TEST_ALL=1.
use strict;
use warnings;
use FindBin qw($Bin);
use Test::More;

plan skip_all => 'the fourth quarter of what fuzz.t changes at random: with TIPME_TEST_ALL=1'
	if !$ENV{TIPME_TEST_ALL};
$ENV{TIPME_FUZZ_SEED} //= 45678;
do "$Bin/fuzz.t";
die $@ if $@;
