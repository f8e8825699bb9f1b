# SPDX-License-Identifier: GPL-2.0-only
# The causes that the laboratory can inject; each is one entry of the table.
package Tipme::Lab::Causes;
use strict;
use warnings;
use Carp qw(croak);
use Tipme::Lab::Cgroup;
use Tipme::Lab::Delays;

# name => {
#   says        CODE: what was done, in words
#   kinds       what a true verdict calls it; the first is the word of choice
#   clients     which clients can have it (all four, if not said);
#               a client that does DEEDS is one of own, gtk, tk
#   cpu         1: the CPU is the matter: that client or server wait for one does not void a run
#   least_ms, most_ms   of the length that is drawn (50 to 3000);
#               lead_ms: how long before the key it begins (100)
#   needs       CODE: why this machine cannot do it; '' if it can
#   prepare     CODE, before the client is started: helpers, files; sets {deeds}
#   client_ready, before, begin(r, from, until), pressed: CODE at that moment
#   charged     CODE: how much of the interval the cause truly had, in ns
#   who         CODE: the culprit { comm, pids }; without it, the client
#   parts       CODE: several of them, for combined causes
# }
my @DEEDS = (clients => [qw(own gtk tk)]);
my $CPUS  = 0 + (qx{nproc} =~ /(\d+)/)[0];

my %CAUSE = (
	# --- who has the CPU ---
	'storm' => {
		says => sub {
			"compile-like storm: $_[0]{names}[1] starts short-lived processes $_[0]{names}[0], "
				. "nice -10, for $_[0]{ms} ms";
		},
		kinds    => ['cpu-contention'],
		cpu      => 1,
		least_ms => 300,
		lead_ms  => 300,
		@DEEDS,
		prepare => sub { $_[0]{deeds} = 'compute 20' },
		begin   => sub {
			my ($r, $from, $until) = @_;
			$r->{make} = $r->spawn(
				[
					'BIN/cause', $r->{names}[1], 'storm', $r->{names}[0], 16 * $CPUS, 20, $from,
					$until
				],
				nice => -10
			);
		},
		# Its short-lived processes, or the one that starts them.
		charged => sub { $_[0]->no_cpu_ns },
		who     => sub { { comm => $_[0]{names}[0], pids => { $_[0]{make} => 1 }, by_name => 1 } },
	},
	'hog' => {
		says => sub {
			"an endless hog $_[0]{names}[0], nice -20, a thread for each CPU, for $_[0]{ms} ms";
		},
		kinds    => ['cpu-contention'],
		cpu      => 1,
		least_ms => 150,
		@DEEDS,
		prepare => sub { $_[0]{deeds} = 'compute 10' },
		begin   => sub {
			my ($r, $from, $until) = @_;
			$r->{hog} = $r->spawn(
				[ 'BIN/cause', $r->{names}[0], 'hog', $CPUS, $from, $until ],
				nice => -20
			);
		},
		charged => sub { $_[0]->no_cpu_ns },
		who     => sub { _pid($_[0], 'hog', 0) },
	},
	'rt-hog' => {
		says => sub {
			"a real-time hog $_[0]{names}[0] (SCHED_FIFO 20), a thread on each CPU, for $_[0]{ms} "
				. "ms";
		},
		# The kernel leaves others 50 ms of each second.
		kinds   => ['rt-starvation'],
		cpu     => 1,
		most_ms => 850,
		lead_ms => 50,
		begin   => sub {
			my ($r, $from, $until) = @_;
			$r->{hog} = $r->spawn(
				[ 'BIN/cause', $r->{names}[0], 'hog', $CPUS, $from, $until, 'pin' ],
				rt => 20
			);
		},
		charged => sub { $_[0]->no_cpu_ns },
		who     => sub { _pid($_[0], 'hog', 0) },
	},
	'quota' => {
		says => sub {
			"the client may use 20 ms of each 100 ms, and computes for " . _quota_ms($_[0]) . ' ms';
		},
		kinds    => ['cpu-throttled'],
		cpu      => 1,
		least_ms => 200,
		@DEEDS,
		needs        => sub { Tipme::Lab::Cgroup::lacks('cpu') },
		prepare      => sub { my ($r) = @_; $r->{deeds} = 'compute ' . _quota_ms($r) },
		client_ready => sub {
			my ($r) = @_;
			$r->{cg} = $r->cgroup->limit(cpu => 20_000, 100_000);
			$r->{cg}->add($r->{client_pid});
		},
		# It has the greatest weight, so that the quota alone keeps it from running.
		# Also outside of its computing: what it does before and after needs the CPU, too.
		charged => sub { $_[0]->no_cpu_ns },
	},
	'pinned' => {
		says => sub {
			"the client may run on CPU 0 alone, where the hog $_[0]{names}[0] (nice -15) has been "
				. "put for $_[0]{ms} ms";
		},
		kinds    => ['cpu-contention'],
		cpu      => 1,
		least_ms => 150,
		@DEEDS,
		lead_ms      => 100,
		needs        => sub { $CPUS > 1 ? '' : 'only one CPU' },
		prepare      => sub { $_[0]{deeds} = 'compute 30' },
		client_ready => sub {
			my ($r) = @_;
			system("taskset -a -p -c 0 $r->{client_pid} >/dev/null") == 0 or croak 'taskset';
		},
		begin => sub {
			my ($r, $from, $until) = @_;
			$r->{hog} = $r->spawn(
				[ 'BIN/cause', $r->{names}[0], 'hog', 1, $from, $until ], nice => -15,
				cpus => 0
			);
		},
		charged => sub { $_[0]->used_ns(cpu => $_[0]{hog}) },
		who     => sub { _pid($_[0], 'hog', 0) },
	},
	'inversion' => {
		says => sub {
			"the client waits for a lock of $_[0]{names}[1] (nice 19), which $_[0]{names}[0] "
				. "(nice -15) keeps from CPU 0 for $_[0]{ms} ms";
		},
		# The holder has its lock 190 ms before the key and is nice from then on; the hog comes 10
		# ms after that.
		kinds    => ['priority-inversion'],
		least_ms => 150,
		@DEEDS,
		lead_ms => 900,
		prepare => sub {
			my ($r) = @_;
			$r->{file}  = $r->file('lock', 10);
			$r->{deeds} = "flock $r->{file}";
		},
		begin => sub {
			my ($r, undef, $until) = @_;
			my $from = $r->{key_ns} - 190_000_000;
			$r->{holder} = $r->spawn(
				[
					'BIN/cause', $r->{names}[1], 'hold', 'flock', $r->{file}, 'work', $from,
					$until,      60
				],
				cpus => 0
			);
			$r->{hog} = $r->spawn(
				[ 'BIN/cause', $r->{names}[0], 'hog', 1, $from + 10_000_000, $until ],
				nice => -15, cpus => 0
			);
		},
		charged => sub {
			my ($r) = @_;
			my $to  = $r->{until} < $r->{answer_ns} ? $r->{until} : $r->{answer_ns};
			return $to > $r->{press_ns} ? $to - $r->{press_ns} : 0;
		},
		who => sub { _pid($_[0], 'hog', 0, 'holder') },
	},

	'softirq' => {
		says => sub {
			"the client works for $_[0]{ms} ms on CPU 0, which receives for the kernel, in "
				. "softirqs, what $_[0]{names}[0] on CPU 1 sends over loopback";
		},
		# Where they are too many, the kernel leaves them to its thread ksoftirqd; then the culprit
		# is still who sends.
		kinds => [qw(irq-time cpu-contention)],
		cpu   => 1,
		@DEEDS,
		least_ms => 100,
		most_ms  => 800,
		lead_ms  => 150,
		needs    => sub {
			$CPUS > 1 && -e '/sys/class/net/lo/queues/rx-0/rps_cpus'
				? ''
				: 'it needs two CPUs and receive packet steering';
		},
		prepare      => sub { my ($r) = @_; $r->{deeds} = "spin $r->{ms}" },
		client_ready => sub {
			my ($r) = @_;
			system("taskset -a -p -c 0 $r->{client_pid} >/dev/null") == 0 or croak 'taskset';
			($r->{ksoftirqd}) = map {m{(\d+)/comm\z}}
				grep { Tipme::Lab::Cgroup::slurp($_) eq "ksoftirqd/0\n" } glob '/proc/[0-9]*/comm';
		},
		begin => sub {
			my ($r, $from, $until) = @_;
			my $set =
				  'mount -t sysfs sysfs /sys && ip link set lo up multicast on && echo 1 > '
				. '/sys/class/net/lo/queues/rx-0/rps_cpus';
			my $as =
				  "exec setpriv --reuid=$r->{stage}{ids}[0] --regid=$r->{stage}{ids}[1] "
				. "--clear-groups";
			my $run = "$set && $as $r->{lab}{bin}/cause $r->{names}[0] datagrams $from "
				. ($until + 3 * $r->{ms} * 1_000_000);
			$r->{p} = $r->spawn(
				[ 'unshare', '-n', '-m', 'sh', '-c', $run ], root => 1, nice => -15,
				cpus => 1
			);
		},
		# Whichever is more is the verdict: the receiving, or the client's own work. The client
		# itself saw when it did not work.
		parts => sub {
			my ($r) = @_;
			my $own = $r->cpu_ns('spin');
			# It waited for a CPU, too; behind ksoftirqd for nothing but softirqs.
			my $waited =
				$r->used_ns(main_delay => $r->{client_pid}) - $r->used_ns(cpu => $r->{ksoftirqd});
			my $softirq = $r->spans_ns('spin') - $own - ($waited > 0 ? $waited : 0);
			my $who     = {
				comm => 'softirq',
				pids => { map { $_ => 1 } grep {defined} @$r{qw(p client_pid)} }, by_name => 1
			};
			return sort { $b->{ns} <=> $a->{ns} } { ns => $softirq, who => $who },
				{ kinds => ['app-compute'], ns => $own, who => $r->client_who };
		},
	},

	# --- the client itself ---
	'computes' => {
		says    => sub {"the client computes for $_[0]{ms} ms"},
		kinds   => ['app-compute'], @DEEDS,
		prepare => sub { my ($r) = @_; $r->{deeds} = "compute $r->{ms}" },
		charged => sub { $_[0]->cpu_ns('compute') },
	},
	'thread' => {
		says    => sub {"the client computes for $_[0]{ms} ms in a thread that it waits for"},
		kinds   => ['app-compute'], @DEEDS,
		prepare => sub { my ($r) = @_; $r->{deeds} = "thread $r->{ms}" },
		charged => sub { $_[0]->cpu_ns('thread') },
	},
	'futex' => {
		says => sub {
			"the client waits for a lock that a thread of its own keeps, computing for $_[0]{ms} "
				. "ms";
		},
		kinds => ['app-compute'],
		@DEEDS,
		prepare => sub { my ($r) = @_; $r->{deeds} = "futex $r->{ms}" },
		charged => sub { $_[0]->cpu_ns('futex') },
	},
	'timer' => {
		says    => sub {"the client sleeps for $_[0]{ms} ms"},
		kinds   => ['timer-sleep'], @DEEDS,
		prepare => sub { my ($r) = @_; $r->{deeds} = "sleep $r->{ms}" },
		charged => sub { $_[0]->spans_ns('sleep') },
	},
	'stopped' => {
		says  => sub {"SIGSTOP to the client, SIGCONT $_[0]{ms} ms after the key"},
		kinds => ['stopped'], lead_ms => 60,
		begin => sub {
			my ($r, $from) = @_;
			Tipme::Lab::Causes::_sleep_until($from);
			kill 'STOP', $r->{client_pid};
			$r->{stopped_ns} = Tipme::Lab::now_ns();
		},
		pressed => sub {
			my ($r) = @_;
			Tipme::Lab::Causes::_sleep_until($r->{until});
			kill 'CONT', $r->{client_pid};
			$r->span('stop', $r->{client_pid}, $r->{stopped_ns}, Tipme::Lab::now_ns());
		},
		charged => sub { $_[0]->spans_ns('stop') },
	},

	# --- the X server and its other clients ---
	# Xorg's inputtest driver is read by the server's main loop, so a key that comes while the
	# server is busy has no time of its own: these begin when the client has the key already.
	'long-request' => {
		says => sub {
			"the X server draws for $_[0]{names}[0], one request of $_[0]{ms} ms, while the client "
				. "has something to draw";
		},
		# It tries its arcs out first.
		kinds   => ['client-queue'],
		lead_ms => 900,
		@DEEDS,
		prepare => sub { $_[0]{deeds} = 'compute 8' },
		begin   => sub {
			my ($r) = @_;
			$r->{x} = $r->spawn(
				[ 'BIN/xcause', $r->{names}[0], 'long', $r->{key_ns} + 4_000_000, $r->{ms} ],
				x => 1
			);
		},
		charged =>
			sub { my ($r) = @_; return $r->spans_ns('long') - $r->overlap_ns('compute', 'long') },
		who => sub { _pid($_[0], 'x', 0) },
	},
	'grab' => {
		says  => sub {"$_[0]{names}[0] has grabbed the X server for $_[0]{ms} ms"},
		kinds => ['server-grab'], lead_ms => 50,
		begin => sub {
			my ($r, $from, $until) = @_;
			$r->{x} = $r->spawn([ 'BIN/xcause', $r->{names}[0], 'grab', $from, $until ], x => 1);
		},
		charged => sub { $_[0]->spans_ns('grab') },
		who     => sub { _pid($_[0], 'x', 0) },
	},
	'flood' => {
		says => sub {
			"$_[0]{names}[0] floods the X server with requests while the client asks it one thing "
				. "after another for $_[0]{ms} ms";
		},
		kinds   => ['client-queue'],
		clients => ['own'],
		lead_ms => 900,
		prepare => sub { $_[0]{deeds} = "compute 8,roundtrips $_[0]{ms}" },
		begin   => sub {
			my ($r, undef, $until) = @_;
			$r->{x} = $r->spawn(
				[
					'BIN/xcause', $r->{names}[0], 'flood', $r->{key_ns} + 4_000_000,
					$until + 30_000_000
				],
				x => 1
			);
		},
		charged => sub {
			my ($r) = @_;
			return $r->{used}[1]{ $r->{stage}{display}->pid }{cpu} - $r->cpu_ns('roundtrips');
		},
		who => sub { _pid($_[0], 'x', 0) },
	},
	'wm-holds' => {
		says =>
			sub {"the window manager $_[0]{names}[0] holds the key or click back for $_[0]{ms} ms"},
		kinds  => ['input-late'],
		before => sub {
			my ($r) = @_;
			$r->{x} = $r->await_ready(
				$r->spawn([ 'BIN/xcause', $r->{names}[0], 'hold', 0, $r->{ms} ], x => 1));
		},
		charged => sub { $_[0]->spans_ns('held') },
		who     => sub { _pid($_[0], 'x', 0) },
	},

	# --- other processes ---
	'lock' => {
		says =>
			sub {"the client waits for a file lock that $_[0]{names}[0] keeps for $_[0]{ms} ms"},
		kinds   => ['lock-wait'], @DEEDS, lead_ms => 60,
		prepare => sub {
			my ($r) = @_;
			$r->{how}   = (qw(flock fcntl))[ $r->{draw}->(2) ];
			$r->{file}  = $r->file('lock', 10);
			$r->{deeds} = "$r->{how} $r->{file}";
		},
		begin => sub {
			my ($r, $from, $until) = @_;
			$r->{p} = $r->spawn(
				[
					'BIN/cause', $r->{names}[0], 'hold', $r->{how}, $r->{file},
					(qw(sleep compute))[ $r->{draw}->(2) ], $from, $until
				]
			);
		},
		charged => sub { $_[0]->spans_ns('hold') },
		who     => sub { _pid($_[0], 'p', 0) },
	},
	'service' => {
		says =>
			sub {"the client asks $_[0]{names}[0] over a local socket, which takes $_[0]{ms} ms"},
		kinds => ['ipc-wait'],
		@DEEDS,
		prepare => sub {
			my ($r) = @_;
			$r->{p}     = _serve($r, 0, _socket($r, 0), _work($r), $r->{ms});
			$r->{deeds} = 'ask ' . _socket($r, 0);
		},
		charged => sub { $_[0]->spans_ns('serve') },
		who     => sub { _pid($_[0], 'p', 0) },
	},
	'chain' => {
		says => sub {
			"the client asks $_[0]{names}[2], which asks $_[0]{names}[1], which asks "
				. "$_[0]{names}[0], which takes $_[0]{ms} ms";
		},
		kinds => ['ipc-wait'],
		@DEEDS,
		prepare => sub {
			my ($r) = @_;
			$r->{p} = _serve($r, 0, _socket($r, 0), _work($r), $r->{ms});
			_serve($r, $_, _socket($r, $_), 'ask', _socket($r, $_ - 1)) for 1, 2;
			$r->{deeds} = 'ask ' . _socket($r, 2);
		},
		# Those in between report spans, too.
		charged => sub {
			my ($r) = @_;
			@{ $r->{spans} } =
				grep { $_->{pid} == $r->{p} || $_->{what} ne 'serve' } @{ $r->{spans} };
			return $r->spans_ns('serve');
		},
		who => sub { _pid($_[0], 'p', 0) },
	},
	'loopback' => {
		says =>
			sub {"the client asks $_[0]{names}[0] over TCP on loopback, which takes $_[0]{ms} ms"},
		kinds   => ['ipc-wait'], @DEEDS,
		prepare => sub {
			my ($r) = @_;
			my $at = 'tcp:' . (20_000 + $r->{draw}->(10_000));
			$r->{p}     = _serve($r, 0, $at, _work($r), $r->{ms});
			$r->{deeds} = "ask $at";
		},
		charged => sub { $_[0]->spans_ns('serve') },
		who     => sub { _pid($_[0], 'p', 0) },
	},
	'dbus' => {
		says  => sub {"the client calls $_[0]{names}[0] over D-Bus, which takes $_[0]{ms} ms"},
		kinds => ['ipc-wait'], @DEEDS,
		needs =>
			sub { system('which dbus-daemon >/dev/null 2>&1') == 0 ? '' : 'no dbus-daemon here' },
		prepare => sub {
			my ($r) = @_;
			my $at = $r->work . "/bus-$r->{seed}";
			unlink $at;
			$r->{env}{DBUS_SESSION_BUS_ADDRESS} = "unix:path=$at";
			$r->spawn(
				[
					'/usr/bin/dbus-daemon', '--session', '--nofork', '--nopidfile',
					"--address=unix:path=$at"
				]
			);
			for (1 .. 200) { last if -S $at; select undef, undef, undef, 0.01 }
			$r->{p} = $r->await_ready(
				$r->spawn(
					[ 'BIN/cause', $r->{names}[0], 'dbus', 'org.example.Lab', _work($r), $r->{ms} ]
				)
			);
			$r->{deeds} = 'dbus org.example.Lab';
		},
		charged => sub { $_[0]->spans_ns('serve') },
		who     => sub { _pid($_[0], 'p', 0) },
	},

	# --- disk and memory ---
	'disk-read' => {
		says => sub {
			"the client reads a file that is in no cache from a disk that gives it 2 MB/s, for "
				. "$_[0]{ms} ms";
		},
		kinds => ['disk-io'],
		@DEEDS,
		least_ms => 100,
		needs    => sub { _needs_disk($_[0], 'read') },
		prepare  => sub {
			my ($r) = @_;
			$r->{file}  = $r->file('document', 2000 * $r->{ms});
			$r->{deeds} = "read $r->{file}";
		},
		client_ready =>
			sub { my ($r) = @_; $r->{cg} = $r->cgroup->limit(read => $r->disk, 2_000_000) },
		before => sub { my ($r) = @_; $r->evict($r->{file}); $r->{cg}->add($r->{client_pid}) },
		charged => sub { my ($r) = @_; return $r->spans_ns('read') - $r->cpu_ns('read') },
	},
	'fsync' => {
		says => sub {
			"the client saves 40 KB and calls fsync while $_[0]{names}[0] writes to the same disk, "
				. "which takes 4 MB/s of both";
		},
		kinds => ['disk-io'],
		@DEEDS,
		least_ms => 300,
		lead_ms  => 300,
		needs    => sub { _needs_disk($_[0], 'write') },
		prepare  => sub {
			my ($r) = @_;
			$r->{file}  = $r->file('document', 40_960);
			$r->{copy}  = $r->file('copy',     4096);
			$r->{deeds} = "fsync 40960 $r->{file}";
		},
		client_ready => sub {
			my ($r) = @_;
			$r->{cg} = $r->cgroup->limit(write => $r->disk, 4_000_000);
			$r->{cg}->add($r->{client_pid});
		},
		begin => sub {
			my ($r, $from, $until) = @_;
			$r->{p} = $r->spawn(
				[ 'BIN/cause', $r->{names}[0], 'write', $r->{copy}, _chunk($r), $from, $until ],
				cgroup => $r->{cg}
			);
		},
		charged => sub { my ($r) = @_; return $r->spans_ns('fsync') - $r->cpu_ns('fsync') },
		who     => sub { _pid($_[0], 'p', 0) },
	},
	'faults' => {
		says => sub {
			"the client needs pages that were reclaimed, from a disk that gives it 2 MB/s, for "
				. "$_[0]{ms} ms";
		},
		kinds => ['page-fault-io'],
		@DEEDS,
		least_ms => 100,
		needs    => sub { _needs_disk($_[0], 'read') },
		prepare  => sub {
			my ($r) = @_;
			$r->{file}  = $r->file('pages', 2000 * $r->{ms});
			$r->{deeds} = "fault $r->{file}";
		},
		client_ready =>
			sub { my ($r) = @_; $r->{cg} = $r->cgroup->limit(read => $r->disk, 2_000_000) },
		before => sub { my ($r) = @_; $r->{cg}->add($r->{client_pid}); _take_pages($r) },
		charged => sub { my ($r) = @_; return $r->spans_ns('fault') - $r->cpu_ns('fault') },
	},
	'memcg' => {
		says => sub {
			'the client uses '
				. grow_mb($_[0])
				. ' MiB where its control group may have 24: the rest is reclaimed, to swap';
		},
		kinds => ['memory-reclaim'],
		@DEEDS,
		most_ms => 1500,
		needs   => sub { needs_swap() || Tipme::Lab::Cgroup::lacks('memory') },
		prepare => sub {
			my ($r) = @_;
			swap_on($r);
			_count_delays($r);
			$r->{deeds} = 'grow ' . grow_mb($r);
		},
		client_ready => sub { my ($r) = @_; $r->{cg} = $r->cgroup->limit(memory => 24 << 20) },
		before       => sub { my ($r) = @_; $r->{cg}->add($r->{client_pid}) },
		# What the same costs without a limit differs from time to time, in a virtual machine most
		# of all (its host gives the memory then): only if the kernel counts nothing.
		charged => sub {
			my ($r) = @_;
			return $r->{delays} ? $r->freepages_ns : $r->spans_ns('grow') - $r->cpu_ns('free');
		},
	},

	# --- several at once: the parts must come out in their proportion ---
	'combined' => {
		says => sub {
			my ($r) = @_;
			sprintf
				'the client asks %s, which takes %d ms, computes for %d ms, and sleeps for %d ms',
				$r->{names}[0], map { int($r->{ms} * $_) } 0.5, 0.3, 0.2;
		},
		kinds => ['ipc-wait'],
		@DEEDS,
		least_ms => 400,
		prepare  => sub {
			my ($r) = @_;
			$r->{p}     = _serve($r, 0, _socket($r, 0), 'compute', int($r->{ms} * 0.5));
			$r->{deeds} = sprintf 'ask %s,compute %d,sleep %d', _socket($r, 0), $r->{ms} * 0.3,
				$r->{ms} * 0.2;
		},
		parts => sub {
			my ($r) = @_;
			return (
				{ ns    => $r->spans_ns('serve'), who => _pid($r, 'p', 0) },
				{ kinds => ['app-compute'], ns => $r->cpu_ns('compute'), who => $r->client_who },
				{ kinds => ['timer-sleep'], ns => $r->spans_ns('sleep'), who => $r->client_who }
			);
		},
	},
	'combined-disk' => {
		says => sub {
			my ($r) = @_;
			sprintf
				'the client reads for %d ms from a disk that gives it 2 MB/s, then asks %s, which '
				. 'takes %d ms',
				$r->{ms} * 0.65, $r->{names}[0], $r->{ms} * 0.35;
		},
		kinds => ['disk-io'],
		@DEEDS,
		least_ms => 300,
		needs    => sub { _needs_disk($_[0], 'read') },
		prepare  => sub {
			my ($r) = @_;
			$r->{file}  = $r->file('document', int(2000 * $r->{ms} * 0.65));
			$r->{p}     = _serve($r, 0, _socket($r, 0), _work($r), int($r->{ms} * 0.35));
			$r->{deeds} = "read $r->{file},ask " . _socket($r, 0);
		},
		client_ready =>
			sub { my ($r) = @_; $r->{cg} = $r->cgroup->limit(read => $r->disk, 2_000_000) },
		before => sub { my ($r) = @_; $r->evict($r->{file}); $r->{cg}->add($r->{client_pid}) },
		parts  => sub {
			my ($r) = @_;
			return (
				{ ns    => $r->spans_ns('read') - $r->cpu_ns('read'), who => $r->client_who },
				{ kinds => ['ipc-wait'], ns => $r->spans_ns('serve'), who => _pid($r, 'p', 0) }
			);
		},
	},
	'combined-lock' => {
		says => sub {
			my ($r) = @_;
			sprintf
				'the client waits %d ms for a file lock that %s keeps, computes for %d ms in a '
				. 'thread that it waits for, and sleeps for %d ms',
				$r->{ms} * 0.5, $r->{names}[0], $r->{ms} * 0.3, $r->{ms} * 0.2;
		},
		kinds => ['lock-wait'],
		@DEEDS,
		least_ms => 400,
		lead_ms  => 60,
		prepare  => sub {
			my ($r) = @_;
			$r->{file}  = $r->file('lock', 10);
			$r->{deeds} = sprintf "flock $r->{file},thread %d,sleep %d", $r->{ms} * 0.3,
				$r->{ms} * 0.2;
		},
		begin => sub {
			my ($r, $from) = @_;
			$r->{p} = $r->spawn(
				[
					'BIN/cause', $r->{names}[0], 'hold', 'flock', $r->{file}, 'sleep', $from,
					$r->{key_ns} + int($r->{ms} * 500_000)
				]
			);
		},
		parts => sub {
			my ($r) = @_;
			return (
				{ ns    => $r->spans_ns('hold'), who => _pid($r, 'p', 0) },
				{ kinds => ['app-compute'], ns => $r->cpu_ns('thread'),  who => $r->client_who },
				{ kinds => ['timer-sleep'], ns => $r->spans_ns('sleep'), who => $r->client_who }
			);
		},
	},
);

# add(NAME => ENTRY ...): more causes, for a test that has some of its own
sub add { my (%more) = @_; %CAUSE = (%CAUSE, %more); return }

sub names { return sort keys %CAUSE }
sub cause { my ($name) = @_; return $CAUSE{$name} }

# The culprit whose pid stands in the run under one or more of these names.
sub _pid {
	my ($r, $key, $name, @also) = @_;
	return { comm => $r->{names}[$name], pids => { map { $r->{$_} => 1 } $key, @also } };
}

sub _sleep_until {
	my ($ns) = @_;
	my $left = ($ns - Tipme::Lab::now_ns()) / 1e9;
	Time::HiRes::sleep($left) if $left > 0;
	return;
}
sub _socket   { my ($r, $i) = @_; return $r->work . "/socket-$r->{seed}-$r->{name}-$i" }
sub _work     { my ($r) = @_; return (qw(compute sleep))[ $r->{draw}->(2) ] }
sub _quota_ms { my ($r) = @_; return 20 + int($r->{ms} / 5) }

# A server that answers as soon as it has done its work.
sub _serve {
	my ($r, $name, $at, @how) = @_;
	unlink $at if $at =~ m{^/};
	return $r->await_ready($r->spawn([ 'BIN/cause', $r->{names}[$name], 'serve', $at, @how ]));
}

sub _needs_disk {
	my ($r, $what) = @_;
	return Tipme::Lab::Cgroup::lacks($what)
		|| ($r->disk ? '' : 'the work folder lies on no disk: set TMPDIR to one that does');
}

# Four seconds of the disk's time would be one chunk too long; a tenth of the length is a good
# queue.
sub _chunk {
	my ($r) = @_;
	my $k = int($r->{ms} * 4 / 2);
	$k = 64 if $k < 64;
	return ($k - $k % 4) * 1024;
}

# The client unmaps them at our signal, the page cache drops them; fincore tells when they are gone.
sub _take_pages {
	my ($r) = @_;
	for (1 .. 20) {
		kill 'USR1', $r->{client_pid};
		Time::HiRes::sleep(0.05);
		$r->evict($r->{file});
		return if qx{fincore -n -o PAGES '$r->{file}'} =~ /^\s*0\s*$/;
	}
	croak "$r->{file}: its pages stay in memory";
}

# grow_mb(RUN): MiB of memory that take about as long as the run is meant to, under a limit
sub grow_mb { my ($r) = @_; return 24 + int($r->{ms} * 0.3) }

# needs_swap(): why memory cannot be compressed here; '' if it can.
# To ask for a device is to read, so that one could be had that cannot be given its size, or back,
# where /sys may not be written.
sub needs_swap {
	return 'no compressed memory to swap to (zram)' if !-r '/sys/class/zram-control/hot_add';
	open my $h, '>>', '/sys/class/zram-control/hot_remove'
		or return "no compressed memory to swap to (zram: $!)";
	return '';
}

# From now on the kernel counts what new tasks wait for.
sub _count_delays {
	my ($r) = @_;
	return if Tipme::Lab::Delays::lacks();
	$r->{delays} = Tipme::Lab::Delays->new;
	$r->undo(sub { $r->{delays}->close });
	return;
}

# swap_on(RUN): up to the end of the run.
# Memory that is compressed is a swap space that no disk slows down.
sub swap_on {
	my ($r) = @_;
	my $n =
		Tipme::Lab::Cgroup::slurp('/sys/class/zram-control/hot_add') =~ /(\d+)/
		? $1
		: croak 'zram: no device';
	$r->undo(
		sub {
			system("swapoff /dev/zram$n 2>/dev/null");
			system("echo $n > /sys/class/zram-control/hot_remove");
		}
	);
	system(   "echo 2G > /sys/block/zram$n/disksize && mknod /dev/zram$n b "
			. "\$(tr : ' ' < /sys/block/zram$n/dev) 2>/dev/null; mkswap /dev/zram$n >/dev/null && "
			. "swapon -p 10 /dev/zram$n") == 0
		or croak "zram$n: no swap";
	return;
}

1;
