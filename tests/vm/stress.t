#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The kernel module where it is hard: records of all contexts at once, loaded and unloaded under
# load, CPUs that go and come, storms of triggers, readers that are killed in mid-copy, a program
# that is signalled.
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop  qw(build_module ok_run parts to_its_end);
use Tipme::Hardship qw(hotplug triggers killed loading);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my ($top, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
# Of so many records one at least is to come from an NMI: an emulator delivers few, and how many
# depends on how busy its host is.
use constant NMI_OF => 10_000;
my $RECORDS = $ENV{TIPME_TEST_RECORDS} // 10_000_000;
for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1 6.12') {
	to_its_end("Debian's kernel $kernel", sub { on_kernel($kernel) });
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my $dir = Tipme::Desktop::payload();
	my ($module, $why) = build_module($kernel, 'TIPME_SELFTEST=1');
	plan skip_all => $why if !$module;
	make_path("$dir/opt");
	system('cp', $module, "$dir/opt/tipme.ko") == 0
		&& system(
		'cp', "$build/helper/test/ksrc-dump", "$build/helper/test/ring-selftest",
		"$dir/opt"
		) == 0
		or BAIL_OUT('payload');
	# Writers must run at once, so each CPU is a thread even of an old emulator, which may make the
	# guest panic so (tests/vm/README.md).
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $dir, thread => 'multi');
	ok_run($vm, 'insmod /opt/tipme.ko', 'it loads');
	parts(
		$vm, [ 'few sub-buffers', \&small_pool ], [ 'all records kept', \&large_pool ],
		[ 'CPUs go and come',   \&hotplug ], [ 'triggers',           \&triggers ],
		[ 'readers are killed', \&killed ],  [ 'loading under load', \&loading ]
	);
	$vm->close;
}

sub writers {
	my ($vm, $mb, $records) = @_;
	my ($out, $rc) = $vm->run("timeout 250 /opt/ring-selftest $mb $records");
	diag $out =~ s/\s+\z//r;
	my %n = $out =~ /(\w+)=(\d+)/g;
	is($rc, 0, 'writers and reader end in order') or diag $out;
	cmp_ok($n{$_} // 0, '>', $records / ($_ eq 'nmi' ? NMI_OF : 1000), "$_: many records")
		for qw(thread softirq hardirq nmi);
	is($n{wrong}, 0, 'each record that was accepted proves itself');
	is($n{torn},  0, 'none is torn');
	is($n{back},  0, 'those of a CPU and context are in order');
	return %n;
}

sub small_pool {
	my ($vm) = @_;
	my %n = writers($vm, 2, int($RECORDS / 5));
	cmp_ok($n{copies}, '>', 20, 'copies were taken meanwhile');
	return;
}

# Nothing is overwritten: so what is absent was lost, and was counted.
sub large_pool {
	my ($vm) = @_;
	my $mb   = int($RECORDS * 1.3 * 32 / (1 << 20));
	my %n    = writers($vm, $mb, $RECORDS);
	cmp_ok($n{records}, '>=', $RECORDS - $n{lost}, 'as many as were asked for are there');
	is($n{absent}, $n{lost}, 'what is absent is what was counted as lost');
	is($n{cut},    0,        'the copy has room');
	return;
}
