#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The kernel module where it is hard: records of all contexts at once, loaded and unloaded under load, CPUs that go and come, storms of triggers,
# readers that are killed in mid-copy, a program that is signalled.
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(build_module ok_run parts to_its_end);
use Tipme::VM;

plan skip_all => 'emulated machines are booted only with TIPME_TEST_VM=1 or TIPME_TEST_ALL=1: two of them take some minutes'
	if !$ENV{TIPME_TEST_VM} && !$ENV{TIPME_TEST_ALL};
my $lacks = Tipme::VM::lacks();
plan skip_all => $lacks if $lacks;

my ($top, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
# Of so many records one at least is to come from an NMI: an emulator delivers few, and how many depends on how busy its host is.
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
	system('cp', $module, "$dir/opt/tipme.ko") == 0 && system('cp', "$build/helper/test/ksrc-dump", "$build/helper/test/ring-selftest", "$dir/opt") == 0 or BAIL_OUT('payload');
	# Writers must run at once, so each CPU is a thread, though an old emulator may make the guest panic so (tests/vm/README.md).
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $dir, thread => 'multi');
	ok_run($vm, 'insmod /opt/tipme.ko', 'it loads');
	parts($vm, [ 'few sub-buffers', \&small_pool ], [ 'all records kept', \&large_pool ], [ 'CPUs go and come', \&hotplug ], [ 'triggers', \&triggers ],
		[ 'readers are killed', \&killed ], [ 'loading under load', \&loading ]);
	$vm->close;
}

sub writers {
	my ($vm, $mb, $records) = @_;
	my ($out, $rc) = $vm->run("timeout 250 /opt/ring-selftest $mb $records");
	diag $out =~ s/\s+\z//r;
	my %n = $out =~ /(\w+)=(\d+)/g;
	is($rc, 0, 'writers and reader end in order') or diag $out;
	cmp_ok($n{$_} // 0, '>', $records / ($_ eq 'nmi' ? NMI_OF : 1000), "$_: many records") for qw(thread softirq hardirq nmi);
	is($n{wrong}, 0, 'each record that was accepted proves itself');
	is($n{torn}, 0, 'none is torn');
	is($n{back}, 0, 'those of a CPU and context are in order');
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
	my $mb = int($RECORDS * 1.3 * 32 / (1 << 20));
	my %n = writers($vm, $mb, $RECORDS);
	cmp_ok($n{records}, '>=', $RECORDS - $n{lost}, 'as many as were asked for are there');
	is($n{absent}, $n{lost}, 'what is absent is what was counted as lost');
	is($n{cut}, 0, 'the copy has room');
	return;
}

sub hotplug {
	my ($vm) = @_;
	my $out = ok_run($vm, <<'END', 'it records while a CPU goes and comes five times');
cd /tmp; rm -f hold; mkfifo hold
/opt/ksrc-dump -S module < hold > hot.txt 2> hot.err & d=$!
exec 3> hold
until grep -q ready hot.err; do kill -0 $d || break; sleep 0.1; done
for i in 1 2 3 4 5; do
	echo 0 > /sys/devices/system/cpu/cpu1/online; perl -e 'for (1 .. 30) { if (!fork) { exit } wait }'
	echo 1 > /sys/devices/system/cpu/cpu1/online; taskset -c 1 perl -e 'for (1 .. 30) { if (!fork) { exit } wait }'
done
sleep 1; echo 3 > /proc/sys/vm/drop_caches; taskset -c 1 perl -MPOSIX -e 1
exec 3>&-; wait $d
END
	is(scalar $vm->run('cat /sys/devices/system/cpu/online'), "0-1\n", 'both CPUs are there');
	my ($records) = $vm->run('grep "^coverage cpu=1 " /tmp/hot.txt') =~ / records=(\d+)/;
	cmp_ok($records // 0, '>', 100, 'and the one that went has records');
	like(scalar $vm->run('grep ^stats /tmp/hot.txt'), qr/ pool=0 nested=0 /, 'none is lost');
	cmp_ok($vm->run('grep "^cpu=1 " /tmp/hot.txt | grep -c " memory_wait .*kind=fault_file"') + 0, '>', 0, 'page faults that it had after it came back, too');
	# What ran there after it came back is at the end of its records.
	my ($last) = $vm->run('grep "^cpu=1 " /tmp/hot.txt | grep sched_switch | tail -n 1') =~ /ts_ns=(\d+)/;
	my ($end) = $vm->run('grep "^coverage cpu=1 " /tmp/hot.txt') =~ /last_ns=(\d+)/;
	cmp_ok(($end // 0) - ($last // 0), '<', 2e9, 'up to the end') if defined $last;
	return;
}

# From two programs, and the key on the console, at once; who asked for a signal gets one.
sub triggers {
	my ($vm) = @_;
	my ($said, $rc) = $vm->run('tipme start --owner 1000');
	is($rc, 0, 'the recorder starts') or return diag $said;
	like(scalar $vm->run('tipme status --json'), qr/kernel_module/, 'with the module');
	$vm->run('echo 2 > /proc/sys/kernel/tipme/hotkeys');
	$vm->run(<<'END');
cat > /tmp/signalled.pl <<'PERL'
use Fcntl;
my $n = 0;
$SIG{USR1} = sub { $n++ };
sysopen my $h, '/dev/tipme', O_RDWR | O_NONBLOCK or die "$!\n";
fcntl $h, 8, $$ + 0 or die "F_SETOWN: $!\n";
fcntl $h, 10, 10 or die "F_SETSIG: $!\n";
fcntl $h, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC or die "F_SETFL: $!\n";
open my $r, '>', '/tmp/signalled.ready'; close $r;
my $end = time + 60;
select undef, undef, undef, 0.2 while !$n && time < $end;
print "signals: ", $n ? 'some' : 'none', "\n";
PERL
rm -f /tmp/signalled.ready; perl /tmp/signalled.pl > /tmp/signalled.txt 2>&1 & signalled=$!
for i in 1 2; do sh -c 'for j in $(seq 3000); do echo 1 > /proc/sys/kernel/tipme/trigger; done 2>/dev/null' & done
END
	$vm->press('ctrl-alt-minus') for 1 .. 5;
	ok_run($vm, 'wait $signalled; grep -x "signals: some" /tmp/signalled.txt || { cat /tmp/signalled.txt; false; }', 'a program that asked for SIGUSR1 is signalled');
	$vm->run('wait');
	my ($taken) = $vm->run('tipme status --json') =~ /kernel_module/ ? 1 : 0;
	ok($taken, 'the recorder goes on after a storm of triggers');
	$vm->wait_for('an episode is saved', 'ls -d /var/lib/tipme/1000/2* 2>/dev/null | grep -q .');
	cmp_ok($vm->run('ls -d /var/lib/tipme/1000/2* | wc -l') + 0, '<', 12, 'and has not saved an episode for each');
	ok_run($vm, 'tipme stop', 'the recorder ends in order');
	return;
}

sub killed {
	my ($vm) = @_;
	ok_run($vm, 'i=0; while [ $i -lt 12 ]; do i=$((i + 1)); timeout --foreground -s KILL 0.$((RANDOM % 9 + 1)) /opt/ring-selftest 16 100000000 > /dev/null 2>&1; done; true', 'a reader is killed twelve times');
	ok_run($vm, 'timeout 30 /opt/ksrc-dump -q -s 1 -S module < /dev/null > /tmp/after.txt 2>&1; grep -q "^copy records=[1-9].* torn=0" /tmp/after.txt', 'and the next one finds all in order')
		or diag scalar $vm->run('cat /tmp/after.txt');
	return;
}

sub loading {
	my ($vm) = @_;
	$vm->run(q(for k in 1 2 3; do sh -c 'while :; do sh -c "ls / > /dev/null"; done' & echo $! >> /tmp/load.pids; done));
	# One by one: under load each takes seconds, and the machine is given up on when it says nothing for long.
	ok_run($vm, "rmmod tipme && insmod /opt/tipme.ko && { timeout --foreground -s KILL 2.$_ /opt/ksrc-dump -q -s 1 -S module < /dev/null > /dev/null 2>&1; true; }",
		"it goes, comes and records under load: $_") for 1 .. 10;
	$vm->run('kill $(cat /tmp/load.pids)');
	ok_run($vm, 'rmmod tipme', 'then it goes');
	return;
}
