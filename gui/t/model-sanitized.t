#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The models of the window, built with the address and undefined-behaviour sanitizers.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../helper/test/lib";
use Test::More;
use Tipme::Sanitized qw(no_complaint);

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
my @include = map {"-I'$_'"} $build, "$src/abi", "$src/abi/generated", "$src/gui/model",
	"$src/helper/lib";
my @files = map {"'$_'"} map { glob "$src/$_" } 'gui/t/model*.c', 'gui/model/*.c',
	'abi/episode/*.c', 'helper/lib/retold.c';
my $packages = 'gio-2.0 json-c';
no_complaint(
	'model', @include, q(-DTIPME_BINDIR='"/usr/bin"'), @files,
	"\$(pkg-config --cflags --libs $packages)", '-lm'
);
done_testing;
