#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What a machine without clang or X.org's headers builds: it compiles without a warning, links, and
# says what it goes without.
use strict;
use warnings;
use Cwd        qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $src = abs_path($ENV{TIPME_SRCDIR} // '.');
my $dir = tempdir('tipme-partial-XXXXXX', TMPDIR => 1, CLEANUP => 1);
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS)};    # of the make that runs us
plan skip_all => 'built in the source folder: another build beside it is not possible'
	if -e "$src/config.status";

# built(NAME, [configure's words], MAKE'S WORDS): the folder of that build, whose programs all link.
sub built {
	my ($name, $with, $what) = @_;
	my $build = "$dir/$name";
	mkdir $build or die "$build: $!\n";
	my $log = qx{cd '$build' && '$src/configure' CFLAGS='-O0 -g0' --enable-Werror @$with 2>&1};
	is($?, 0, "$name: configures") or diag $log;
	$log = qx{cd '$build' && nice make -j2 $what 2>&1};
	is($?, 0, "$name: compiles and links") or diag join "\n", (split /\n/, $log)[ -15 .. -1 ];
	return $build;
}

# CI builds what differs; --all each part that may be left out, with its tests' programs.
my @less   = map {"--enable-$_=no"} qw(bpf xorg agent dialog observer postmortem);
my @differ = map {"helper/$_"} qw(daemon/tipmed cli/tipme measure/tipme-latency);
my $build  = built('recorder alone', \@less, "@differ");
my $status = qx{'$build/helper/daemon/tipmed' --version 2>&1};
like($status, qr/^tipmed \d/, 'it starts');
my $why =
	qx{'$build/helper/daemon/tipmed' --foreground --source kernel_bpf --rundir '$dir/run' --library '$dir/library' --owner 0 2>&1};
like(
	$why, qr/^tipme: start: no kernel source is built in that/m,
	'asked for tracing programs it says that it has none'
) or diag $why;

SKIP: {
	skip 'TIPME_TEST_ALL is not set: the other parts, each left out', 6 if !$ENV{TIPME_TEST_ALL};
	built("without-$_", ["--enable-$_=no"], 'all && make -j2 check TESTS=')
		for qw(bpf xorg postmortem);
}
done_testing;
