# SPDX-License-Identifier: GPL-2.0-only
# The causes that the laboratory makes in an emulated machine, and how much of an interval each of
# them truly had.
package Tipme::LabMachine::Causes;
use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(%CAUSE);

my $CPUS = 2;
# begin: what runs beside it, from about 0.7 s before the key on for 2.5 s (it is started long
# before, because an emulated CPU is slow); with: what it is started through; own: the client must
# be pinned to a CPU, or get a quota, little memory, or little of the disk's time (writes); before:
# what must be ready before any key. ns: how much of the interval the cause truly had; parts: the
# same of several.
# files: what lies on the slow disk, in bytes; cold: which of them is in no cache when the key
# comes; bps: what the disk (that is, the emulator) gives from then on. env: of client and helpers.
our %CAUSE = (
	computes => { deeds => 'compute 700', kinds => ['app-compute'],            ns => \&client_ns },
	thread   => { deeds => 'thread 700',  kinds => ['app-compute'],            ns => \&client_ns },
	futex    => { deeds => 'futex 700', kinds => [qw(futex-wait app-compute)], ns => \&client_ns },
	timer    =>
		{ deeds => 'sleep 800', kinds => ['timer-sleep'], ns => sub { $_[0]->spans_ns('sleep') } },
	service => {
		deeds => 'ask /tmp/lab-socket', serve => ['serve /tmp/lab-socket sleep 700'],
		kinds => ['ipc-wait'],          ns    => \&served_ns
	},
	chain => {
		deeds => 'ask /tmp/lab-socket-2',
		serve => [
			'serve /tmp/lab-socket sleep 700',
			map {"serve /tmp/lab-socket-$_->[1] ask /tmp/lab-socket$_->[0]"} [ '', 1 ], [ '-1', 2 ]
		],
		kinds => ['ipc-wait'],
		ns    => \&served_ns
	},
	loopback => {
		deeds => 'ask tcp:20123',             serve => ['serve tcp:20123 compute 700'],
		kinds => [qw(ipc-wait network-wait)], ns    => \&served_ns
	},
	lock => {
		deeds => 'flock /dev/shm/lab-lock',
		begin => ['cause OTHER hold flock /dev/shm/lab-lock sleep FROM UNTIL'],
		kinds => [qw(lock-wait ipc-wait)], ns => sub { $_[0]->spans_ns('hold') }
	},
	# The holder has the lock before the key and is nice from then on; the hog comes a moment later
	# and keeps it from the CPU.
	inversion => {
		deeds => 'flock /dev/shm/lab-lock', kinds => [qw(priority-inversion cpu-contention)],
		ns    => \&until_ns,
		begin => [
			'cause THIRD hold flock /dev/shm/lab-lock work FROM UNTIL 60',
			'cause OTHER hog 1 LATER UNTIL'
		],
		with => [ 'taskset -c 0', 'taskset -c 0 nice -n -15' ]
	},
	grab => {
		deeds => 'compute 5', begin => ['xcause OTHER grab FROM UNTIL'], kinds => ['server-grab'],
		ns    => sub { $_[0]->spans_ns('grab') }
	},
	'long-request' => {
		deeds => 'compute 5',
		begin => ['xcause OTHER long FROM 2500'],
		kinds => [qw(client-queue server-compute)],
		ns    => sub {
			$_[0]->spans_ns('long') - $_[0]->overlap_ns('compute', 'long') - $_[0]{irq}{server};
		}
	},
	flood => {
		deeds => 'compute 8,roundtrips 700', begin => ['xcause OTHER flood FROM UNTIL'],
		kinds => ['client-queue'],           ns    => \&others_ns
	},
	'wm-holds' => {
		deeds => 'compute 5', before => 'xcause OTHER hold NOW 700', kinds => ['input-late'],
		ns    => sub { $_[0]->spans_ns('held') }
	},
	hog => {
		deeds => 'compute 10', begin => ['cause OTHER hog 2 FROM UNTIL'], with => ['nice -n -20'],
		kinds => ['cpu-contention'], ns => \&no_cpu_ns
	},
	storm => {
		deeds => 'compute 20',    begin => ['cause THIRD storm OTHER 32 20 FROM UNTIL'],
		with  => ['nice -n -10'], kinds => ['cpu-contention'], by_name => 1, ns => \&no_cpu_ns
	},
	pinned => {
		deeds => 'compute 30', own => 'pinned', begin => ['cause OTHER hog 1 FROM UNTIL'],
		with  => ['taskset -c 0 nice -n -15'], kinds => ['cpu-contention'], ns => \&no_cpu_ns
	},
	# The kernel leaves others 50 ms of each second.
	'rt-hog' => {
		deeds => 'compute 5',    begin => ['cause OTHER hog 2 FROM UNTIL pin'],
		with  => ['chrt -f 20'], kinds => ['rt-starvation'], ns => \&no_cpu_ns
	},
	quota => {
		deeds => 'compute 150', own => 'quota', kinds => ['cpu-throttled'], ns => \&held_back_ns
	},
	softirq => {
		deeds => 'spin 500', own => 'pinned', begin => ['cause OTHER datagrams FROM UNTIL'],
		with  => ['taskset -c 1 nice -n -15 /opt/lab/receive-on-cpu0'],
		kinds => [qw(irq-time cpu-contention)], parts => \&softirq_parts
	},
	dbus => {
		deeds => 'dbus org.example.Lab', env => 'DBUS_SESSION_BUS_ADDRESS=unix:path=/tmp/lab-bus',
		serve => ['dbus org.example.Lab sleep 700'], kinds => ['ipc-wait'], ns => \&served_ns
	},
	'disk-read' => {
		deeds => 'read /srv/lab/document', files => { document => 1_400_000 }, cold => 'document',
		bps   => 2_000_000, kinds => ['disk-io'], ns => sub { waited_ns($_[0], 'read') }
	},
	faults => {
		deeds => 'fault /srv/lab/document', files => { document => 1_400_000 }, cold => 'document',
		bps   => 2_000_000, kinds => [qw(page-fault-io disk-io)],
		ns    => sub { waited_ns($_[0], 'fault') }
	},
	# Not by a slow disk: the emulator lets a large request through and is idle afterwards, so that
	# nobody is ahead of those that have to wait for it.
	fsync => {
		deeds => 'fsync 40960 /srv/lab/document', files => { document => 40_960, copy => 4096 },
		own   => 'writes', begin => ['cause OTHER write /srv/lab/copy 1433600 FROM UNTIL'],
		with  => ['/opt/lab/in-group'],
		kinds => ['disk-io'], ns => sub { waited_ns($_[0], 'fsync') }
	},
	memcg => {
		deeds => 'grow 90', own => 'memory', kinds => ['memory-reclaim'],
		ns    => sub { $_[0]{reclaimed} }
	},
	combined => {
		deeds => 'ask /tmp/lab-socket,compute 210,sleep 140',
		serve => ['serve /tmp/lab-socket compute 350'], kinds => ['ipc-wait'],
		parts => sub {
			my ($r) = @_;
			return (
				[ ['ipc-wait'],    'other', served_ns($r) ],
				[ ['app-compute'], 'me',    $r->cpu_ns('compute') - $r->{irq}{client} ],
				[ ['timer-sleep'], 'me',    $r->spans_ns('sleep') ]
			);
		}
	},
	'combined-disk' => {
		deeds => 'read /srv/lab/document,ask /tmp/lab-socket', files => { document => 1_200_000 },
		cold  => 'document', bps => 2_000_000, serve => ['serve /tmp/lab-socket sleep 250'],
		kinds => ['disk-io'],
		parts => sub {
			my ($r) = @_;
			return (
				[ ['disk-io'],  'me',    waited_ns($r, 'read') ],
				[ ['ipc-wait'], 'other', $r->spans_ns('serve') ]
			);
		}
	},
	'combined-lock' => {
		deeds => 'flock /dev/shm/lab-lock,thread 500,sleep 300',
		begin => ['cause OTHER hold flock /dev/shm/lab-lock sleep FROM UNTIL'],
		kinds => [qw(lock-wait ipc-wait)],
		parts => sub {
			my ($r) = @_;
			return (
				[ [qw(lock-wait ipc-wait)], 'other', $r->spans_ns('hold') ],
				[ ['app-compute'],          'me',    $r->cpu_ns('thread') - $r->{irq}{client} ],
				[ ['timer-sleep'],          'me',    $r->spans_ns('sleep') ]
			);
		}
	},
	stopped => {
		deeds => 'compute 5', stops => 1, kinds => ['stopped'],
		ns    => sub { $_[0]->spans_ns('stop') }
	},
);

# Those in between report spans, too: what the first in the list did.
sub served_ns {
	my ($r) = @_;
	my ($last) =
		sort { $a <=> $b } map { $_->{pid} } grep { $_->{what} eq 'serve' } @{ $r->{spans} };
	@{ $r->{spans} } = grep { $_->{what} ne 'serve' || $_->{pid} == $last } @{ $r->{spans} };
	return $r->spans_ns('serve') - $r->{irq}{helper};
}

# What it did not compute of what it did.
sub waited_ns { my ($r, $what) = @_; return $r->spans_ns($what) - $r->cpu_ns($what) }

# Whichever is more is the verdict: the receiving, or the client's own work. The client itself saw
# when it did not work.
sub softirq_parts {
	my ($r) = @_;
	my $own = $r->cpu_ns('spin');
	return
		sort { $b->[2] <=> $a->[2] }
		[ [qw(irq-time cpu-contention)], 'softirq', $r->spans_ns('spin') - $own ],
		[ ['app-compute'], 'me', $own ];
}

# All that the client computed: on an emulated CPU, drawing its answer counts, too.
sub client_ns { return $_[0]{by_client} - $_[0]{irq}{client} }

# What the server computed for others while the client asked it, as the client saw it on the
# server's clock.
sub others_ns { my ($r) = @_; return $r->cpu_ns('others') - $r->{irq}{server} }

sub until_ns {
	my ($r) = @_;
	my $to  = $r->{until} < $r->{answer_ns} ? $r->{until} : $r->{answer_ns};
	return $to > $r->{press_ns} ? $to - $r->{press_ns} - not_theirs_ns($r) : 0;
}

# What interrupts, and the recorder itself, had while others had the CPUs; of two CPUs it is one
# that the client waits for.
sub not_theirs_ns {
	my ($r) = @_;
	return ($r->{irq}{others} + $r->{irq}{helper} + $r->{recorder}) / $CPUS;
}

# Neither client nor server worked, nor was it interrupts or the recorder who kept it waiting.
sub no_cpu_ns {
	my ($r) = @_;
	my $ns = $r->{answer_ns} - $r->{press_ns} - $r->{worked} - not_theirs_ns($r);
	return $ns > 0 ? $ns : 0;
}

# Who is held back by a quota waits on no CPU that an interrupt could take.
sub held_back_ns {
	my ($r) = @_;
	my $ns = $r->{answer_ns} - $r->{press_ns} - $r->{worked};
	return $ns > 0 ? $ns : 0;
}

1;
