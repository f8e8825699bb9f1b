# SPDX-License-Identifier: GPL-2.0-only
# After a verdict: at whose door to knock, and what to do next, as commands where there are such.
package Tipme::Advice;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Kinds;
use Tipme::Printable qw(one_line);
use Tipme::Words qw(fill);

our @EXPORT_OK = qw(advise);

# What the detail of a verdict says changes who is asked: kind, detail => the same two
my @BY_DETAIL = (
	(map { my $kind = $_; map { [ $kind, $_->[0], 'whoever {name} waited for, which is not known', $_->[1] ] } [ qr/samples of \/proc do not tell/, 'Record as root, so that wake-ups are seen, too: `sudo tipme start`; `tipme doctor` says what hinders that.' ],
		[ qr/no record tells/, 'See whether records were lost, and what more could be recorded: `tipme doctor`.' ] } qw(ipc-wait lock-wait futex-wait)),
	(map { [ $_, qr/samples of \/proc do not tell/, 'the disk, or whoever else used it, which is not known', 'Record as root, so that requests to disks are seen, too: `sudo tipme start`; `tipme doctor` says what hinders that.' ] } qw(disk-io page-fault-io)),
	[ 'disk-io', qr/ahead of it\z/, 'whoever runs {name}: it had the disk', 'Make it idle priority (`ionice -c 3 -p {pid}`), or let it run later.' ],
	[ 'page-fault-io', qr/ahead of it\z/, 'whoever runs {name}: it had the disk', 'Make it idle priority (`ionice -c 3 -p {pid}`), or let it run later.' ],
	[ 'disk-io', qr/^held back before disk \S+, with no/, 'whatever lets requests go to this disk: its I/O scheduler, or a limit of the control group of {name}', 'See `cat {disk}/queue/scheduler`, and io.max and io.latency of the cgroup.' ],
	[ 'disk-io', qr/^held back/, 'whoever limits the disk for the control group of {name}', 'See its limits (`systemctl show UNIT -p IOReadBandwidthMax -p IOWriteBandwidthMax`, or io.max of the cgroup).' ],
	[ 'page-fault-io', qr/^held back/, 'whoever limits the disk for the control group of {name}, or has filled the memory', 'See its limits (`systemctl show UNIT -p IOReadBandwidthMax`, or io.max of the cgroup), and whether memory is short (`vmstat 1`).' ],
	[ 'disk-io', qr/^waiting for disk/, 'the disk', 'See how long the disk takes for a request: `iostat -x 1`.' ],
	[ 'irq-time', qr/^interrupt \d+ \(/, 'the driver of {name}', 'See how often it comes (`watch -d cat /proc/interrupts`) and how long it lasts (`perf trace -e irq:*`).' ],
	[ 'irq-time', qr/^softirq /, 'whoever makes so much deferred work: {name}', 'See which kind counts up: `watch -d cat /proc/softirqs`.' ],
	[ 'irq-time', qr/^the CPU's timer/, 'the kernel, or in a virtual machine its host: a timer interrupt should last microseconds', 'See whether another kernel, or a less busy host, does better.' ],
	[ 'stopped', qr/let it go on/, 'whoever stopped {name}', 'It goes on again; ask why it was stopped.' ],
);
my %PINNED = (door => 'whoever set up this machine: a thread may not run where there is room', next => 'See `taskset -p {tid}`, and what set it (systemd CPUAffinity=, cpuset, the program itself).');

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
	if (my $c = $v->{idle_cpus}) { return { door => $PINNED{door}, next => $PINNED{next} =~ s/\{tid\}/$c->{tid}/r } if $c->{pinned} }
	my $e = Tipme::Kinds::entry($v->{kind});
	return { door => undef, next => undef } if !$e || !defined $e->{ask};
	my $a = [ @$e{qw(ask next)} ];
	my $b = $v->{blamed} // {};
	# Without a process (other kinds that have none name a device or a group): over a connection that only the other end can be asked of.
	$a = [ map { Tipme::Kinds::remote($_) } qw(ask next) ] if defined $b->{comm} && !defined $b->{pid} && Tipme::Kinds::has($v->{kind}, 'client');
	my ($better) = grep { $_->[0] eq $v->{kind} && ($b->{detail} // '') =~ $_->[1] } @BY_DETAIL;
	$a = [ @$better[ 2, 3 ] ] if $better;
	my $name = defined $b->{comm} ? one_line($b->{comm}) . (defined $b->{pid} ? " (pid $b->{pid})" : '') : 'it';
	my @pids = grep { defined } @{ $b->{pids} // [] };
	my %word = (name => $name, pid => $b->{pid} // 'PID', pids => @pids && @pids <= 8 ? join(' -p ', @pids) : $b->{pid} // 'PID', episode => $id // 'EPISODE', disk => ($b->{disk} // '') =~ /\A\d+:\d+\z/ ? "/sys/dev/block/$b->{disk}" : '/sys/block/' . one_line($b->{disk} // 'DISK'),
		quota => _quota_of($b->{detail} // ''), send => fill('Send them the episode: `tipme bundle {episode} -o FILE` makes one redacted file of it.', episode => $id // 'EPISODE'));
	my ($door, $next) = map { fill($_, %word) } @$a;
	$door .= ', or of ' . ($v->{function}{module} eq 'kernel' ? 'the kernel' : one_line($v->{function}{module})) . ': the time went there'
		if $v->{function} && Tipme::Kinds::has($v->{kind}, 'compute') && $v->{function}{module} ne ($b->{comm} // '');
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
