# SPDX-License-Identifier: GPL-2.0-only
# What is done to the kernel module in an emulated machine to see whether it breaks: on Debian's
# kernels and on those that prove locks and check memory. It lies in the machine as /opt/tipme.ko,
# beside /opt/ksrc-dump and /opt/ring-selftest, and is loaded.
package Tipme::Hardship;
use strict;
use warnings;
use Exporter qw(import);
use Test::More;
use Tipme::Desktop qw(ok_run);

our @EXPORT_OK = qw(each_part_fails hotplug triggers killed loading);

# Parts of its beginning, each of which may fail; it is not loaded.
use constant PARTS => 7;

sub each_part_fails {
	my ($vm) = @_;
	for my $part (0 .. PARTS - 1) {
		my ($out, $rc) = $vm->run("insmod /opt/tipme.ko fail_at=$part");
		isnt($rc, 0, "part $part fails: it is not loaded");
		is(
			scalar $vm->run(
				'ls -d /dev/tipme /proc/sys/kernel/tipme 2>/dev/null; grep -c ^tipme /proc/modules'
			),
			"0\n",
			'and leaves nothing behind'
		);
	}
	return;
}

# Records while a CPU goes and comes, also of what ran on it afterwards.
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
sleep 1; cut -d " " -f 1 /proc/uptime > back.txt; echo 3 > /proc/sys/vm/drop_caches; taskset -c 1 perl -MPOSIX -e 1
exec 3>&-; wait $d
END
	is(scalar $vm->run('cat /sys/devices/system/cpu/online'), "0-1\n", 'both CPUs are there');
	my ($records) = $vm->run('grep "^coverage cpu=1 " /tmp/hot.txt') =~ / records=(\d+)/;
	cmp_ok($records // 0, '>', 100, 'and the one that went has records');
	like(scalar $vm->run('grep ^stats /tmp/hot.txt'), qr/ pool=0 nested=0 /, 'none is lost');
	my ($back) = $vm->run('cat /tmp/back.txt') =~ /([\d.]+)/;
	my @faults =
		grep { $_ >= $back * 1e9 }
		$vm->run('grep "^cpu=1 " /tmp/hot.txt | grep " memory_wait .*kind=fault_file"') =~
		/ts_ns=(\d+)/g;
	cmp_ok(scalar @faults, '>', 0, 'page faults that it had after it came back, too');
	# What ran there after it came back is at the end of its records.
	my ($last) =
		$vm->run('grep "^cpu=1 " /tmp/hot.txt | grep sched_switch | tail -n 1') =~ /ts_ns=(\d+)/;
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
	ok_run(
		$vm,
		'wait $signalled; grep -x "signals: some" /tmp/signalled.txt || '
			. '{ cat /tmp/signalled.txt; false; }',
		'a program that asked for SIGUSR1 is signalled'
	);
	$vm->run('wait');
	my ($taken) = $vm->run('tipme status --json') =~ /kernel_module/ ? 1 : 0;
	ok($taken, 'the recorder goes on after a storm of triggers');
	$vm->wait_for('an episode is saved', 'ls -d /var/lib/tipme/1000/2* 2>/dev/null | grep -q .');
	cmp_ok(
		$vm->run('ls -d /var/lib/tipme/1000/2* | wc -l') + 0, '<', 12,
		'and has not saved an episode for each'
	);
	ok_run($vm, 'tipme stop', 'the recorder ends in order');
	return;
}

# A reader that is killed in the midst of a copy leaves the ring as it was.
sub killed {
	my ($vm) = @_;
	ok_run(
		$vm,
		'i=0; while [ $i -lt 12 ]; do i=$((i + 1)); timeout --foreground -s KILL '
			. '0.$((RANDOM % 9 + 1)) /opt/ring-selftest 16 100000000 > /dev/null 2>&1; done; true',
		'a reader is killed twelve times'
	);
	ok_run(
		$vm,
		'timeout 500 /opt/ksrc-dump -q -s 1 -S module < /dev/null > /tmp/after.txt 2>&1; grep -q '
			. '"^copy records=[1-9].* torn=0" /tmp/after.txt',
		'and the next one finds all in order'
	) or diag scalar $vm->run('cat /tmp/after.txt');
	return;
}

# Loaded and unloaded TIMES under load, with a reader that is killed each time; then it is unloaded.
sub loading {
	my ($vm, $times) = @_;
	$vm->run(
		q(for k in 1 2 3; do sh -c 'while :; do sh -c "ls / > /dev/null"; done' & echo $! >> /tmp/load.pids; done)
	);
	# One by one: under load each takes seconds, and the machine is given up on when it says nothing
	# for long.
	ok_run(
		$vm,
		"rmmod tipme && insmod /opt/tipme.ko && "
			. "{ timeout --foreground -s KILL 2.$_ /opt/ksrc-dump -q -s 1 -S module < /dev/null > /dev/null 2>&1; true; }",
		"it goes, comes and records under load: $_"
	) for 1 .. $times // 10;
	$vm->run('kill $(cat /tmp/load.pids)');
	ok_run($vm, 'rmmod tipme', 'then it goes');
	return;
}

1;
