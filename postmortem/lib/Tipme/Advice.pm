# SPDX-License-Identifier: GPL-2.0-only
# After a verdict: at whose door to knock, and what to do next, as commands where there are such.
package Tipme::Advice;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Printable qw(one_line);

our @EXPORT_OK = qw(advise);

# kind => [ whose door, what to do next ]; NAME and PID are those of the blamed process, PIDS all of them; SEND: how to send the episode; QUOTA: how to raise that
my %ADVICE = (
	'cpu-contention'     => [ 'whoever runs NAME: the load on this machine', 'Give it a lower priority (`renice -n 19 -p PIDS`; if it belongs to another session also `echo 19 > /proc/PID/autogroup`), or let it run elsewhere or later.' ],
	'rt-starvation'      => [ 'whoever gave NAME its real-time priority', 'Take the real-time priority away (`chrt -o -p 0 PID`) and see whether it is needed at all.' ],
	'priority-inversion' => [ 'whoever chose the priorities: one of low priority held what others wait for', 'Give the holder of the lock the priority of those who wait for it, or NAME a lower one.' ],
	'cpu-throttled'      => [ 'whoever limits the CPU time of this cgroup', 'Raise the quota (QUOTA).' ],
	'app-compute'        => [ 'the makers of NAME', 'SEND `perf record -g -p PID` while it happens again shows more.' ],
	'server-compute'     => [ 'the makers of the X server, or of its graphics driver', 'SEND `perf record -g -p PID` while it happens again shows more.' ],
	'server-grab'        => [ 'the makers of NAME', 'An application must not keep the X server for itself. SEND' ],
	'client-queue'       => [ 'the makers of NAME', 'It keeps the X server busy; closing it ends the delay. SEND' ],
	'input-late'         => [ 'the makers of NAME', 'It has keys or clicks given to it first, and let this one go on late. SEND' ],
	'ipc-wait'           => [ 'the makers of NAME, which was waited for', 'Look what it was doing then: `tipme timeline EPISODE -o FILE.svg` draws it. SEND' ],
	'timer-sleep'        => [ 'the makers of NAME', 'It sleeps by its own wish: `strace -f -p PID` shows where.' ],
	'stopped'            => [ 'whoever stopped NAME', 'Let it go on: `kill -CONT PID`.' ],
	'disk-io'            => [ 'the disk, or NAME', 'If it is another\'s load, make it idle priority (`ionice -c 3 -p PID`); else the disk is slow: `iostat -x 1` shows its service times.' ],
	'page-fault-io'      => [ 'the lack of memory on this machine, or its disk', 'See what filled the memory (`ps aux --sort=-rss`), and whether the machine swaps (`vmstat 1`).' ],
	'memory-reclaim'     => [ 'whoever has filled the memory, or limits that of the cgroup', 'See what filled it (`ps aux --sort=-rss`), or raise memory.high or memory.max of the cgroup.' ],
	'futex-wait'         => [ 'the makers of NAME', 'One of its threads kept another waiting. SEND' ],
	'lock-wait'          => [ 'the makers of NAME, which held the lock', 'Look what it was doing with the lock: `tipme timeline EPISODE -o FILE.svg` draws it.' ],
	'network-wait'       => [ 'the network, or the machine at its other end', 'Test the connection (`ss -ti`, `ping`).' ],
	'device-wait'        => [ 'the driver of the device', 'See what the kernel says of it: `dmesg`.' ],
	'gpu-wait'           => [ 'the graphics driver', 'See what the kernel says of it: `dmesg`.' ],
	'irq-time'           => [ 'the driver of the device that interrupts', 'See which line counts up: `watch -d cat /proc/interrupts`.' ],
	'irqs-off'           => [ 'the makers of that part of the kernel', 'No code may keep interrupts waiting for so long. SEND' ],
	'host-steal'         => [ 'whoever runs the host of this virtual machine', 'This machine had no CPU: nothing inside it can help.' ],
);
# What the detail of a verdict says changes who is asked: kind, detail => the same two
my @BY_DETAIL = (
	(map { my $kind = $_; map { [ $kind, $_->[0], 'whoever NAME waited for, which is not known', $_->[1] ] } [ qr/samples of \/proc do not tell/, 'Record as root, so that wake-ups are seen, too: `sudo tipme start`; `tipme doctor` says what hinders that.' ],
		[ qr/no record tells/, 'See whether records were lost, and what more could be recorded: `tipme doctor`.' ] } qw(ipc-wait lock-wait futex-wait)),
	(map { [ $_, qr/samples of \/proc do not tell/, 'the disk, or whoever else used it, which is not known', 'Record as root, so that requests to disks are seen, too: `sudo tipme start`; `tipme doctor` says what hinders that.' ] } qw(disk-io page-fault-io)),
	[ 'disk-io', qr/ahead of it\z/, 'whoever runs NAME: it had the disk', 'Make it idle priority (`ionice -c 3 -p PID`), or let it run later.' ],
	[ 'page-fault-io', qr/ahead of it\z/, 'whoever runs NAME: it had the disk', 'Make it idle priority (`ionice -c 3 -p PID`), or let it run later.' ],
	[ 'disk-io', qr/^held back before disk \S+, with no/, 'whatever lets requests go to this disk: its I/O scheduler, or a limit of the control group of NAME', 'See `cat DISK/queue/scheduler`, and io.max and io.latency of the cgroup.' ],
	[ 'disk-io', qr/^held back/, 'whoever limits the disk for the control group of NAME', 'See its limits (`systemctl show UNIT -p IOReadBandwidthMax -p IOWriteBandwidthMax`, or io.max of the cgroup).' ],
	[ 'page-fault-io', qr/^held back/, 'whoever limits the disk for the control group of NAME, or has filled the memory', 'See its limits (`systemctl show UNIT -p IOReadBandwidthMax`, or io.max of the cgroup), and whether memory is short (`vmstat 1`).' ],
	[ 'disk-io', qr/^waiting for disk/, 'the disk', 'See how long the disk takes for a request: `iostat -x 1`.' ],
	[ 'irq-time', qr/^interrupt \d+ \(/, 'the driver of NAME', 'See how often it comes (`watch -d cat /proc/interrupts`) and how long it lasts (`perf trace -e irq:*`).' ],
	[ 'irq-time', qr/^softirq /, 'whoever makes so much deferred work: NAME', 'See which kind counts up: `watch -d cat /proc/softirqs`.' ],
	[ 'irq-time', qr/^the CPU's timer/, 'the kernel, or in a virtual machine its host: a timer interrupt should last microseconds', 'See whether another kernel, or a less busy host, does better.' ],
	[ 'stopped', qr/let it go on/, 'whoever stopped NAME', 'It goes on again; ask why it was stopped.' ],
);
my %PINNED = (door => 'whoever set up this machine: a thread may not run where there is room', next => 'See `taskset -p TID`, and what set it (systemd CPUAffinity=, cpuset, the program itself).');

# What is not known might be, with more records: a sentence that says what was missing, what to do.
my @UNKNOWN = (
	[ qr/before the records begin/, 'Press the hot-key sooner, or keep more seconds: `tipme start --window 120`.' ],
	[ qr/the kernel was not recorded/, 'See what this machine can record, and what that needs: `tipme doctor`.' ],
	[ qr/.../, 'See whether records were lost, and what more could be recorded: `tipme doctor`.' ],
);

# advise(VERDICT, ID of the episode): { door, next }, each a text or undef
sub advise {
	my ($v, $id) = @_;
	if ($v->{kind} eq 'unknown') { return { door => undef, next => $v->{head} ? (map { $_->[1] } grep { $v->{sentence} =~ $_->[0] } @UNKNOWN)[0] : undef } }
	if (my $c = $v->{idle_cpus}) { return { door => $PINNED{door}, next => $PINNED{next} =~ s/TID/$c->{tid}/r } if $c->{pinned} }
	my $a = $ADVICE{ $v->{kind} } or return { door => undef, next => undef };
	my $b = $v->{blamed} // {};
	# Without a process (other kinds that have none name a device or a group): over a connection that only the other end can be asked of.
	$a = [ 'whoever runs NAME', 'See who is connected over the network: `ss -tn state established \'( sport >= :6000 and sport <= :6063 )\'`.' ] if defined $b->{comm} && !defined $b->{pid} && $v->{kind} =~ /\A(?:server-grab|client-queue)\z/;
	my ($better) = grep { $_->[0] eq $v->{kind} && ($b->{detail} // '') =~ $_->[1] } @BY_DETAIL;
	$a = [ @$better[ 2, 3 ] ] if $better;
	my $name = defined $b->{comm} ? one_line($b->{comm}) . (defined $b->{pid} ? " (pid $b->{pid})" : '') : 'it';
	my @pids = grep { defined } @{ $b->{pids} // [] };
	my %word = (NAME => $name, PID => $b->{pid} // 'PID', PIDS => @pids && @pids <= 8 ? join(' -p ', @pids) : $b->{pid} // 'PID', EPISODE => $id // 'EPISODE', DISK => ($b->{disk} // '') =~ /\A\d+:\d+\z/ ? "/sys/dev/block/$b->{disk}" : '/sys/block/' . one_line($b->{disk} // 'DISK'),
		QUOTA => _quota_of($b->{detail} // ''), SEND => 'Send them the episode: `tipme bundle ' . ($id // 'EPISODE') . ' -o FILE` makes one redacted file of it.');
	my ($door, $next) = map { s/\b(NAME|PIDS?|EPISODE|QUOTA|SEND|DISK)\b/$word{$1}/gr } @$a;
	$door .= ', or of ' . ($v->{function}{module} eq 'kernel' ? 'the kernel' : one_line($v->{function}{module})) . ': the time went there'
		if $v->{function} && $v->{kind} =~ /-compute\z/ && $v->{function}{module} ne ($b->{comm} // '');
	$door = 'whoever sent the signal: ' . one_line($b->{by}{comm}) . " (pid $b->{by}{pid})" if $v->{kind} eq 'stopped' && $b->{by};
	return { door => $door, next => $next };
}

# How to raise the quota of the cgroup that a verdict names: by its unit, where it has the name of one.
sub _quota_of {
	my ($detail) = @_;
	my ($path) = $detail =~ /\Athe cgroup (\S+) had/ or return 'cpu.max of the cgroup';
	return $path =~ m{([^/\s`']+\.(?:slice|scope|service))\z} ? '`systemctl set-property ' . one_line($1) . ' CPUQuota=...`' : 'cpu.max of the cgroup ' . one_line($path) . ', or cpu.cfs_quota_us in version 1';
}

1;
