#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Debian's kernels built from source with our series: they boot, the module in their tree records,
# and a kernel that proves its locks and checks each access to memory has no complaint of it.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Path       qw(make_path);
use File::Temp       qw(tempdir);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::ExactPath qw(exact_path);
use Tipme::Desktop   qw(no_complaint to_its_end);
use Tipme::Hardship  qw(each_part_fails);
use Tipme::VM;

plan skip_all =>
	'kernels are compiled only with TIPME_TEST_ALL=1: each takes some ten minutes the first time'
	if !$ENV{TIPME_TEST_ALL};
my $lacks = Tipme::VM::lacks();
plan skip_all => $lacks if $lacks;

my ($top, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
my $json = Cpanel::JSON::XS->new;
for my $kernel (
	map { [ split /-/ ] } split ' ',
	$ENV{TIPME_TEST_PATCHED} // '6.1-plain 6.1-debug 6.12-plain'
	)
{
	to_its_end("patched kernel @$kernel", sub { on_kernel(@$kernel) });
}
done_testing;

sub on_kernel {
	my ($version, $flavour) = @_;
	chomp(my $dir =
			qx{"$top/tests/vm/mkkernel" $version $flavour 2>"$build/tests/vm-mkkernel.log"});
	is($? >> 8, 0, 'the series applies, and the kernel builds')
		or return diag scalar qx{tail -20 "$build/tests/vm-mkkernel.log"};
	is(-s "$dir/warnings", 0, 'without a warning of ours') or diag scalar qx{cat "$dir/warnings"};

	my $vm = Tipme::VM->new(
		kernel    => $version, boot => $dir, payload => payload($dir),
		memory_mb => $flavour eq 'debug' ? 2560 : 1536
	);
	like(
		scalar $vm->run('zcat /proc/config.gz | grep CONFIG_TIPME='), qr/=m/,
		'it runs, and has tipme in its configuration'
	);
	is(
		scalar $vm->run(
			'test -d /sys/kernel/tracing/events || mount -t tracefs t /sys/kernel/tracing; ls '
				. '/sys/kernel/tracing/events/sched | grep -c cfs'
		),
		"2\n",
		'the tracepoints of the series are there'
	);
	my ($said, $rc) = $vm->run('depmod -a && modprobe tipme && test -c /dev/tipme');
	is($rc, 0, 'the module of the tree loads') or diag $said;
	recorder($vm);
	throttled($vm);
	hotplug($vm);
	hardship($vm) if $flavour eq 'debug';
	($said, $rc) =
		$vm->run('tipme stop 2>/dev/null; '
			. '(for i in 1 2 3 4 5; do modprobe -r tipme && modprobe tipme || exit 1; done; modprobe -r tipme)'
		);
	is($rc, 0, 'it comes and goes') or diag $said;
	no_complaint($vm);
	$vm->close;
}

sub payload {
	my ($kernel) = @_;
	my $dir      = tempdir('tipme-payload-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	my $log      = qx{make -C "$build" install DESTDIR="$dir" 2>&1};
	$? == 0 or BAIL_OUT("make install: $log");
	make_path("$dir/usr/lib");
	make_path("$dir/opt");
	system('cp', "$build/helper/test/ring-selftest", "$build/helper/test/ksrc-dump", "$dir/opt") ==
		0 && system("cp \$(find '$kernel/lib/modules' -name tipme.ko) '$dir/opt/'") == 0
		or BAIL_OUT('programs, module');
	# Links to the folder that it was built in mean nothing there.
	system(
		"cp -r '$kernel/lib/modules' '$dir/usr/lib/' && find '$dir/usr/lib/modules' -type l -delete"
	) == 0 or BAIL_OUT('modules');
	return $dir;
}

# An episode by the sysctl that a rootless X server uses, recorded by the module.
sub recorder {
	my ($vm) = @_;
	my ($said, $rc) = $vm->run('tipme start --owner 1000');
	is($rc, 0, 'the recorder starts') or return diag $said;
	my $status = eval { $json->decode(scalar $vm->run('tipme status --json')) } // {};
	is($status->{source}, 'kernel_module', 'and records with the module');
	$vm->press(qw(h i ret));
	sleep 2;
	$vm->run('id -g user > /proc/sys/kernel/tipme/trigger_group');
	$vm->run('runuser -u user -- sh -c "echo 1 > /proc/sys/kernel/tipme/trigger"');
	$vm->wait_for('the episode is saved', 'ls -d /var/lib/tipme/1000/2* 2>/dev/null | grep -q .');
	my $d = eval {
		$json->decode(
			scalar $vm->run(
				'tipme diagnose "$(ls -d /var/lib/tipme/1000/2* | tail -n 1)" --json 2>/dev/null '
					. '|| true'
			)
		);
	};
	ok($d && $d->{verdict}{kind}, 'it can be diagnosed') or return;
	exact_path($d) if $d->{interval};
}

# A group that may use a tenth of a CPU: the module's tracepoints see it held back, as cpu.stat
# says.
sub throttled {
	my ($vm) = @_;
	$vm->run(
		'echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; mkdir -p /sys/fs/cgroup/tenth; echo '
			. '"10000 100000" > /sys/fs/cgroup/tenth/cpu.max');
	$vm->run( 'echo > /sys/kernel/tracing/trace; echo 1 > '
			. '/sys/kernel/tracing/events/sched/sched_cfs_throttle/enable; echo 1 > '
			. '/sys/kernel/tracing/events/sched/sched_cfs_unthrottle/enable');
	$vm->run(
		'sh -c "echo \$\$ > /sys/fs/cgroup/tenth/cgroup.procs; timeout 3 sh -c \"while :; do :; '
			. 'done\""; sleep 1; echo 0 > /sys/kernel/tracing/events/sched/enable');
	my %stat    = $vm->run('cat /sys/fs/cgroup/tenth/cpu.stat') =~ /^(\w+) (\d+)$/mg;
	my ($begun) = $vm->run('grep -c "sched_cfs_throttle:" /sys/kernel/tracing/trace')   =~ /(\d+)/;
	my ($ended) = $vm->run('grep -c "sched_cfs_unthrottle:" /sys/kernel/tracing/trace') =~ /(\d+)/;
	my ($ns)    = $vm->run(
		q(perl -ne '$ns += $1 if /sched_cfs_unthrottle:.*throttled=(\d+)/; END { print $ns // 0, "\n" }' /sys/kernel/tracing/trace)
	) =~ /(\d+)/;
	cmp_ok($stat{nr_throttled}, '>', 5, 'a group with a tenth of a CPU is throttled');
	cmp_ok($begun,              '>', 5, "the trace has it ($begun times)");
	is($ended, $begun, 'each throttling ends');
	# By time: nr_throttled counts periods, and several at once when the timer comes late.
	is(
		int($ns / 1000), $stat{throttled_usec},
		'and none is missing in the trace, to the microsecond'
	);
	is(
		scalar $vm->run(
				  'grep -c "sched_cfs_unthrottle:.*cgroup=$(stat -c %i /sys/fs/cgroup/tenth)" '
				. '/sys/kernel/tracing/trace'
		),
		"$ended\n",
		'by the id of its cgroup'
	);
}

# A CPU goes and comes while the recorder records: its fault counter ends and is made anew.
sub hotplug {
	my ($vm) = @_;
	my ($said, $rc) = $vm->run(
		'for i in 1 2 3; do echo 0 > /sys/devices/system/cpu/cpu1/online && sleep 0.5 && echo 1 > '
			. '/sys/devices/system/cpu/cpu1/online && sleep 0.5 || exit 1; done; tipme status '
			. '--json');
	is($rc, 0, 'a CPU goes and comes three times');
	like($said, qr/kernel_module/, 'and the recorder goes on') or diag $said;
	return;
}

# What stress.t and module.t do to it on Debian's kernels, for less long.
sub hardship {
	my ($vm) = @_;
	Tipme::Desktop::ok_run($vm, 'tipme stop', 'the recorder ends in order');
	selftest($vm);
	subtest 'CPUs go and come'     => sub { Tipme::Hardship::hotplug($vm) };
	subtest 'triggers'             => sub { Tipme::Hardship::triggers($vm) };
	subtest 'readers are killed'   => sub { Tipme::Hardship::killed($vm) };
	subtest 'loading under load'   => sub { Tipme::Hardship::loading($vm, 3) };
	subtest 'each part fails once' => sub { each_part_fails($vm) };
	Tipme::Desktop::ok_run($vm, 'modprobe tipme', 'and it comes again');
	return;
}

# Records of threads, softirqs, interrupts and NMIs at once, where each lock is proven and each
# access to memory checked. stress.t has the large numbers.
sub selftest {
	my ($vm) = @_;
	my ($out, $rc) = $vm->run('timeout 200 /opt/ring-selftest 2 100000');
	diag $out =~ s/\s+\z//r;
	is($rc, 0, 'the ring is right under all contexts at once');
	like($out, qr/ $_=[1-9]/,                "$_: records") for qw(softirq hardirq nmi);
	like($out, qr/ wrong=0 back=0 torn=0$/m, 'none is torn, wrong or out of order');
	return;
}
