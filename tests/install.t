#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Built for another place and installed there, tipme runs from there alone; and uninstalling leaves
# no file. It is built by clang, where that is: what two compilers take without a warning is C. With
# TIPME_TEST_ALL=1 the window and the laboratory, too.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => "no configure in $ENV{TIPME_SRCDIR}" if !-x "$ENV{TIPME_SRCDIR}/configure";
plan skip_all => 'the source folder is configured itself: configure will not build elsewhere then'
	if -e "$ENV{TIPME_SRCDIR}/config.status";
my $tmp = tempdir(CLEANUP => 1);
chmod 0755, $tmp;
my ($src, $prefix) = ($ENV{TIPME_SRCDIR}, "$tmp/prefix");
delete @ENV{
	qw(TIPME_SRCDIR TIPME_BUILDDIR TIPME_RUNDIR PERL5LIB MAKEFLAGS MAKELEVEL MFLAGS DESTDIR)};
mkdir "$tmp/library" and chmod 0700, "$tmp/library";
local $ENV{TIPME_LIBRARY} = "$tmp/library";

my @without;
if (!$ENV{TIPME_TEST_ALL}) {
	@without = qw(--enable-gui=no --enable-lab=no);
	Test::More->builder->skip('TIPME_TEST_ALL=1 builds the window and the laboratory, too');
}
my $log = "$tmp/log";
my $cc  = (grep { -x "$_/clang" } split /:/, $ENV{PATH}) ? 'CC=clang' : '';
is(
	system(
			  "mkdir $tmp/build && cd $tmp/build && "
			. "'$src/configure' --prefix='$prefix' --enable-Werror $cc CFLAGS=-O0 @without >$log 2>&1 && "
			. "nice make -j2 >>$log 2>&1 && make install >>$log 2>&1"
	),
	0,
	'built and installed'
) or do { diag(scalar qx{tail -n 20 $log}); done_testing; exit };
ok(!-e "$prefix/lib/xorg/modules/extensions/libtipme.la", 'no libtool file beside the module');
is(
	system("rm -rf $tmp/build.gone; mv $tmp/build $tmp/build.gone"), 0,
	'the build tree is out of the way'
);
like(scalar qx{$prefix/bin/tipme --help},    qr/^usage: tipme VERB/,   'tipme --help');
like(scalar qx{$prefix/bin/tipme list 2>&1}, qr/no episodes|EPISODE/i, 'tipme list');
SKIP: {
	skip 'the recorder, its BPF source or the hooks were not built', 2
		if !-e "$prefix/libexec/tipme/tipmed"
		|| !-e "$prefix/lib/xorg/modules/extensions/libtipme.so";
	local $ENV{PATH}            = "$prefix/bin:$ENV{PATH}";
	local $ENV{TIPME_X_MODULES} = "$prefix/lib/xorg/modules";
	my $said = qx{tipme demo --cause stopped --seed 2 2>&1};
	is($? >> 8, 0, 'tipme demo from the installed files') or diag($said);
	like($said, qr/The verdict is true/, '... with a true verdict');
}
is(
	system("mv $tmp/build.gone $tmp/build && cd $tmp/build && make uninstall >>$log 2>&1"), 0,
	'uninstalled'
);
is(scalar qx{find $prefix -type f}, '', 'no file is left');
done_testing;
