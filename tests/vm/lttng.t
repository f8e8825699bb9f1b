#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What a scheduler record of LTTng's kernel modules costs in instructions, beside ftrace's, on
# Debian's own kernels: in overwrite mode, as a flight recorder has it, so that nothing is written
# meanwhile. tests/vm/count.t counts ours in the same unit.
use strict;
use warnings;
use File::Copy qw(cp);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib";
use Tipme::VM;

use constant TRIPS => 5000;
# Two switches and two wakings.
use constant RECORDS => 4;
# Of a compact event: its number and time in 4 bytes, then 24 and more of what it tells.
use constant RECORD_BYTES => 24;

plan skip_all =>
	q(LTTng's modules are compiled, and emulated machines booted, only with TIPME_TEST_ALL=1: the first time it takes some minutes)
	if !$ENV{TIPME_TEST_ALL};
my $lacks = Tipme::VM::lacks();
plan skip_all => $lacks if $lacks;

for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1 6.12') {
	subtest "Debian's kernel $kernel" => sub { on_kernel($kernel) };
}
done_testing;

sub payload {
	my ($kernel) = @_;
	my ($top, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
	chomp(my $root = qx{"$top/tests/vm/mklttng" $kernel});
	$? == 0 or return;
	my $dir = tempdir('tipme-payload-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	system('cp', '-r', "$root/.", $dir) == 0 or BAIL_OUT('payload');
	cp("$build/tests/vm/pingpong", $dir)     or BAIL_OUT("pingpong: $!");
	chmod 0755, "$dir/pingpong";
	return $dir;
}

sub script {
	my $trips = TRIPS;
	return <<"END";
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
measure() { echo "\$1: \$(/pingpong $trips) \$(/pingpong $trips)"; }
quietly() { "\$@" > /tmp/said 2>&1 || { echo "failed: \$*"; cat /tmp/said; tail -n 40 /tmp/sessiond; lsmod; }; }
/pingpong 500 > /dev/null
measure nothing
mkdir -p /dev/shm /tmp/home; mount -t tmpfs shm /dev/shm; export HOME=/tmp/home LTTNG_HOME=/tmp/home
lttng-sessiond --kmod-probes=sched > /tmp/sessiond 2>&1 &
for i in \$(seq 60); do lttng list > /dev/null 2>&1 && break; sleep 1; done
quietly lttng create --snapshot flight
quietly lttng enable-channel -k --overwrite --subbuf-size=4M --num-subbuf=4 c
quietly lttng enable-event -k -c c sched_switch,sched_waking
quietly lttng start
sleep 2
measure lttng
quietly lttng stop
quietly lttng snapshot record
echo "bytes: \$(cat \$(find /tmp/home/lttng-traces -name 'c_*') | wc -c)"
quietly lttng destroy -a
cd /sys/kernel/tracing
echo 8192 > buffer_size_kb; echo mono > trace_clock
for e in sched_switch sched_waking; do echo 1 > events/sched/\$e/enable; done
measure ftrace
for e in sched_switch sched_waking; do echo 0 > events/sched/\$e/enable; done
measure nothing-again
END
}

sub on_kernel {
	my ($kernel) = @_;
	my $payload = payload($kernel)
		or return plan skip_all => q(LTTng's modules could not be had: see above);
	my $said = Tipme::VM->counted(kernel => $kernel, payload => $payload, script => script());
	my %trip = $said =~ /^([\w-]+): [\d.]+ ([\d.]+)$/mg;
	is(join(' ', sort keys %trip), 'ftrace lttng nothing nothing-again', 'all were measured')
		or return diag $said;
	unlike($said, qr/^failed:/m, 'LTTng did all that it was told') or diag $said;
	my %record = map { $_ => ($trip{$_} - $trip{nothing}) / RECORDS } qw(lttng ftrace);
	diag sprintf
		'%s: nothing %.0f instructions a round trip; a record of LTTng %.0f, of ftrace %.0f',
		$kernel, $trip{nothing}, @record{qw(lttng ftrace)};
	my ($bytes) = $said =~ /^bytes: (\d+)$/m;
	cmp_ok(
		$bytes // 0, '>=', 2 * TRIPS * RECORDS * RECORD_BYTES,
		'LTTng has recorded each switch and each waking of both rounds'
	) or diag $said;
	# Three hundred more were an idle daemon's ticks, not a record.
	cmp_ok($record{lttng}, '>', 300,                 'and that costs something');
	cmp_ok($record{lttng}, '<', 2 * $record{ftrace}, 'of the order of what ftrace does');
}
