#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The second quarter of fuzz.t, by another seed: with TIPME_TEST_ALL=1.
use strict;
use warnings;
use FindBin qw($Bin);
use Test::More;

plan skip_all => 'the second quarter of what fuzz.t changes at random: with TIPME_TEST_ALL=1'
	if !$ENV{TIPME_TEST_ALL};
$ENV{TIPME_FUZZ_SEED} //= 23456;
do "$Bin/fuzz.t";
die $@ if $@;
