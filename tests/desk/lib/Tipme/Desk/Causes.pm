# SPDX-License-Identifier: GPL-2.0-only
# What makes the programs of the desk slow, and what is done beside them that is innocent. The
# accepted kinds stand here, before any run.
package Tipme::Desk::Causes;
use strict;
use warnings;
use Carp        qw(croak);
use Time::HiRes qw(sleep);
use Tipme::Lab::Causes;

my $PYTHON = '/usr/bin/python3';

# NAME => {
#   kinds    kinds of verdict that are right; ipc-wait where a program has a child of its own do
#   it (a shell), and waits for that
#   says     what was done, in words
#   who      CODE->(scene): { pid => comm } of those who may be blamed
#   deed     a program must be able to do it in its handler: the deed's first word; none: any
#   program
#   action   the one that it needs; none: any
#   world    the worlds where it can be seen, if not all
#   desktop  a pattern: the desktops where there is such a thing, if not all
#   before   CODE: before the program starts (services, files; sets deed)
#   ready    CODE: the program stands
#   begin    CODE->(scene, from, until): begins it, from 150 ms before the press
#   release  CODE: ends it at `until`
#   answer   'after': the answer is what is drawn after `until`; 'last': what is drawn last
#   least_ms, most_ms
# }
my $client = sub { $_[0]{family} };
my $helper = sub {
	my ($s) = @_;
	return { map { $_ => $s->{helper_comm}{$_} // 'helper' } keys %{ $s->{helpers} } };
};

# Those of an X server of its own.
my $X11 = qr/^(?:bare|composited)$/;

my %CAUSE = (
	computes => {
		deed   => 'compute', kinds => [qw(app-compute ipc-wait)], who => $client, answer => 'last',
		says   => 'the program computes for %d ms in its handler',
		before => sub { $_[0]{deed} = "compute $_[0]{ms}" },
	},
	sleeps => {
		deed   => 'sleep', kinds => [qw(timer-sleep ipc-wait)], who => $client, answer => 'last',
		says   => 'the program sleeps for %d ms in its handler',
		before => sub { $_[0]{deed} = "sleep $_[0]{ms}" },
	},
	'file-lock' => {
		deed   => 'flock', kinds => ['lock-wait'], who => $helper, answer => 'after',
		says   => 'the program waits for a file lock that `flock` holds for %d ms',
		before =>
			sub { my ($s) = @_; $s->{deed} = 'flock ' . ($s->{lockfile} = $s->file('lock', 10)) },
		begin => sub {
			my ($s, undef, $until) = @_;
			$s->helper('flock', $s->{lockfile}, 'sleep', $s->left_s($until));
		},
	},
	'database-lock' => {
		deed   => 'sqlite', kinds => ['lock-wait'], who => $helper, answer => 'after',
		says   => 'the program writes to a database that `sqlite3` keeps locked for %d ms',
		before => sub { my ($s) = @_; $s->{db} = $s->database; $s->{deed} = "sqlite $s->{db}" },
		begin  => sub {
			my ($s, undef, $until) = @_;
			$s->helper(
				'sqlite3', $s->{db}, 'begin exclusive',
				'.shell sleep ' . $s->left_s($until), 'commit'
			);
		},
	},
	'service-stopped' => {
		deed    => 'dbus', kinds => [qw(stopped ipc-wait)], who => $helper, answer => 'after',
		says    => 'the program asks a service of the bus that was stopped before, for %d ms',
		before  => sub { my ($s) = @_; $s->{deed} = 'dbus ' . $s->service('org.example.Store') },
		begin   => sub { my ($s) = @_; $s->stop_pids(keys %{ $s->{helpers} }) },
		release => sub { my ($s) = @_; $s->cont_pids(keys %{ $s->{helpers} }) },
	},
	'service-busy' => {
		deed   => 'dbus', kinds => [qw(ipc-wait app-compute)], who => $helper, answer => 'last',
		says   => 'the program asks a service of the bus that computes for %d ms',
		before => sub {
			my ($s) = @_;
			$s->{deed} = 'dbus ' . $s->service('org.example.Store', "compute $s->{ms}");
		},
	},
	'service-sleeps' => {
		deed   => 'dbus', kinds => [qw(ipc-wait timer-sleep)], who => $helper, answer => 'last',
		says   => 'the program asks a service of the bus that sleeps for %d ms',
		before => sub {
			my ($s) = @_;
			$s->{deed} = 'dbus ' . $s->service('org.example.Store', "sleep $s->{ms}");
		},
	},
	'service-blocked' => {
		deed => 'dbus', kinds => ['lock-wait'], answer => 'after', says =>
			'the program asks a service of the bus that waits for a file lock that `flock` holds '
			. 'for %d ms',
		before => sub {
			my ($s) = @_;
			$s->{deed} = 'dbus ' . $s->service(
				'org.example.Store',
				'flock ' . ($s->{lockfile} = $s->file('lock', 10))
			);
		},
		begin => sub {
			my ($s, undef, $until) = @_;
			$s->{holder} = $s->helper('flock', $s->{lockfile}, 'sleep', $s->left_s($until));
		},
		who => sub { $_[0]{below}{ $_[0]{holder} } },
	},
	'service-silent' => {
		deed          => 'dbus', kinds => ['time-out'], who => $helper, answer => 'last',
		needs_timeout => 1,      says  =>
			'the program asks a service of the bus that never answers, and gives up after %d ms',
		before => sub {
			my ($s) = @_;
			$s->{deed} = 'dbus ' . $s->service('org.example.Store', 'silent') . " $s->{ms}";
		},
	},
	'web-server' => {
		deed   => 'http', kinds => [qw(ipc-wait network-wait timer-sleep)], who => $helper,
		answer => 'last',
		says   => 'the program asks a web server of this machine that sleeps for %d ms',
		before => sub { my ($s) = @_; $s->{deed} = 'http ' . $s->service('0', "sleep $s->{ms}") },
	},
	network => {
		deed     => 'far', kinds => ['network-wait'], who => $client, answer => 'last',
		least_ms => 300,
		says     => 'the program asks a web server behind a line whose queue others have filled: '
			. '%d ms',
		needs => sub {
			return 'no network of its own here (Debian: iproute2)'
				if system 'unshare -n tc qdisc add dev lo root tbf rate 1mbit burst 1600 limit 9000'
				. ' 2>/dev/null';
			return '';
		},
		before => sub { my ($s) = @_; $s->{deed} = 'far ' . $s->far_server },
	},
	'slow-files' => {
		deed   => 'read', kinds => [qw(ipc-wait timer-sleep device-wait)], who => $helper,
		answer => 'last',
		says   => 'the program reads a file of a file system in user space that takes %d ms',
		needs  => sub {
			slow_files()
				? -e '/dev/fuse'
					? ''
					: 'no /dev/fuse here'
				: 'built without FUSE (Debian: libfuse3-dev)';
		},
		before => sub { my ($s) = @_; $s->{deed} = 'read ' . $s->slow_files },
	},
	disk => {
		deed     => 'read', kinds => [qw(disk-io ipc-wait)], who => $client, answer => 'last',
		least_ms => 300,
		says     => 'the program reads a file from a disk that gives it 4 MB/s: %d ms',
		needs    => sub { Tipme::Lab::Cgroup::lacks('read') },
		before   => sub {
			my ($s) = @_;
			$s->{big}  = $s->file('document', 4000 * $s->{ms});
			$s->{deed} = "read $s->{big}";
		},
		ready => sub {
			my ($s) = @_;
			my $c = $s->cgroup->limit(read => $s->disk, 4_000_000);
			$c->add($_) for keys %{ $s->{family} };
		},
		begin => sub { my ($s) = @_; $s->evict($s->{big}) },
	},
	# How long a start usually takes is not known here, so it must be long to be told.
	start => {
		deed => 'start',  kinds => [qw(app-compute timer-sleep)], who => $client, answer => 'last',
		least_ms => 2200, most_ms => 4000,
		says     =>
			'a program that the shell starts computes or sleeps for %d ms before its first window',
		before => sub {
			my ($s) = @_;
			$s->{deed} = 'start ' . ($s->{ms} % 2 ? 'compute' : 'sleep') . " $s->{ms}";
		},
	},
	# It gets each click first, and lets it go on to the program.
	'window-manager' => {
		kinds   => [qw(input-late stopped)], answer => 'after', action => 'click',
		desktop => $X11,
		who     => sub { return { $_[0]{workload}->wm_pid => 'openbox' } },
		says    => 'the window manager, which gets each click first, is stopped for %d ms',
		begin   => sub { my ($s) = @_; $s->stop_pids($s->{workload}->wm_pid) },
		release => sub { my ($s) = @_; $s->cont_pids($s->{workload}->wm_pid) },
	},
	# It paints what the program draws; under Wayland it gets each key first, too. Who is stopped
	# cannot be woken: where nobody tells when the key came, it may have been when the stop began.
	# So that is just before the key.
	compositor => {
		kinds => ['stopped'], answer => 'after', desktop => qr/^(?!bare$)/,
		who   => sub { return { $_[0]{workload}->compositor_pid => 'compositor' } },
		says  => 'the compositor is stopped for %d ms',
		begin => sub {
			my ($s, $from) = @_;
			Tipme::Lab::Causes::_sleep_until($from + 135_000_000);
			$s->stop_pids($s->{workload}->compositor_pid);
		},
		release => sub { my ($s) = @_; $s->cont_pids($s->{workload}->compositor_pid) },
	},
	'input-method' => {
		kinds   => [qw(stopped ipc-wait)], answer => 'after', action => 'key', who => $helper,
		desktop => $X11,
		world   => { map { $_ => 1 } 'GTK 3', 'Qt', 'terminal' },
		says    => 'the input method, which gets each key first, is stopped for %d ms',
		needs   => sub {
			-x '/usr/bin/ibus-daemon'
				&& -x '/usr/bin/xprop' ? '' : 'no ibus (Debian: ibus, x11-utils)';
		},
		before  => sub { $_[0]->input_method },
		begin   => sub { my ($s) = @_; $s->_look_around; $s->stop_pids(keys %{ $s->{helpers} }) },
		release => sub { my ($s) = @_; $s->cont_pids(keys %{ $s->{helpers} }) },
	},
	stopped => {
		kinds   => ['stopped'], who => $client, answer => 'after',
		says    => 'the program is stopped (SIGSTOP) for %d ms',
		begin   => sub { my ($s) = @_; $s->stop_pids($s->{ui_pid}) },
		release => sub { my ($s) = @_; $s->cont_pids($s->{ui_pid}) },
	},
	frozen => {
		kinds  => ['stopped'],
		who    => $client,
		answer => 'after',
		says   => 'the program is frozen by a control group for %d ms',
		needs  => sub {
			-w '/sys/fs/cgroup/freezer/cgroup.procs' ? '' : 'no freezer (control groups version 1)';
		},
		ready => sub {
			my ($s) = @_;
			$s->{freezer} = $s->freezer;
			$s->{freezer}->($_) for keys %{ $s->{family} };
		},
		begin   => sub { my ($s) = @_; $s->{freezer}->('FROZEN') },
		release => sub { my ($s) = @_; $s->{freezer}->('THAWED') },
	},
	quota => {
		deed     => 'work', kinds => [qw(cpu-throttled)], who => $client, answer => 'last',
		says     => 'the program computes, and may use 10 ms of each 100 ms: %d ms', unsure => 1,
		least_ms => 400,
		needs    => sub { Tipme::Lab::Cgroup::lacks('cpu') },
		before   => sub { $_[0]{deed} = 'work ' . int($_[0]{ms} / 10) },
		begin    => sub {
			my ($s) = @_;
			my $c = $s->cgroup->limit(cpu => 10_000, 100_000);
			$c->add($_) for keys %{ $s->{family} };
		},
	},
	memory => {
		deed   => 'grow', kinds    => ['memory-reclaim'], who => $client, answer => 'last',
		unsure => 1,      least_ms => 300, most_ms => 1500,
		says   => 'the program takes memory, of which its control group may have 24 MiB: the '
			. 'rest is reclaimed, to compressed swap, about %d ms',
		needs => sub {
			Tipme::Lab::Causes::needs_swap() || Tipme::Lab::Cgroup::lacks('memory');
		},
		before => sub {
			my ($s) = @_;
			Tipme::Lab::Causes::swap_on($s);
			$s->{deed} = 'grow ' . Tipme::Lab::Causes::grow_mb($s);
		},
		begin => sub {
			my ($s) = @_;
			my $c = $s->cgroup->limit(memory => 24 << 20);
			$c->add($_) for keys %{ $s->{family} };
		},
	},
	'light-group' => {
		deed => 'work', kinds => ['cpu-weight'], who => $client, answer => 'last', busy => 1,
		says => 'the program computes, and its control group has 2 % of the usual weight: %d ms',
		least_ms => 500, most_ms => 1500,
		needs    => sub { Tipme::Lab::Cgroup::lacks('weight') },
		before   => sub { $_[0]{deed} = 'work ' . int($_[0]{ms} / 10) },
		begin    => sub {
			my ($s, $from, $until) = @_;
			my $c = $s->cgroup->limit(weight => 20);
			$c->add($_) for keys %{ $s->{family} };
			my @cpus = Tipme::Stage::cpu_numbers();
			$s->load([ 'BIN/cause', $s->{names}[0], 'hog', scalar @cpus, $from, $until ]);
		},
	},
	hogs => {
		kinds   => ['cpu-contention'], who => $helper, answer => 'last', busy => 1, least_ms => 500,
		most_ms => 1200,
		world   => { map { $_ => 1 } 'GTK 3', 'GTK 4', 'Qt', 'Java', 'browser', 'office' },
		says    => 'processes that compute, nice -20, leave the program hardly a CPU for %d ms',
		begin   => sub { my ($s, $from, $until) = @_; $s->hog($from, $until, 24, nice => -20) },
	},
	'rt-hog' => {
		kinds => ['rt-starvation'], who => $helper, answer => 'last', busy => 1, most_ms => 850,
		says  => 'a real-time process computes on each CPU for %d ms',
		begin => sub {
			my ($s, $from, $until) = @_;
			$s->hog($from + 100_000_000, $until, undef, rt => 20);
		},
	},
	grab => {
		kinds => ['server-grab'], who => $helper, answer => 'after', server => 1, desktop => $X11,
		says  => 'another X client has grabbed the server for %d ms',
		begin => sub {
			my ($s, $from, $until) = @_;
			$s->helper(
				[ 'BIN/xcause', $s->{names}[0], 'grab', $from + 80_000_000, $until ],
				x => 1, nice => -15
			);
		},
	},
);

# Innocent: it must not be blamed, neither in a quiet scene nor beside a cause.
my %LOAD = (
	nothing      => sub { },
	'polite hog' => sub {
		my ($s) = @_;
		$s->load(
			[
				'BIN/cause', $s->{names}[2], 'hog', 1, map { Tipme::Lab::now_ns() + $_ * 1e9 } 0,
				60
			],
			nice => 19
		);
	},
	'stopped neighbour' =>
		sub { my ($s) = @_; my $pid = $s->load([qw(sleep 60)]); kill 'STOP', $pid },
	'writer' => sub {
		my ($s) = @_;
		$s->load(
			[
				'sh', '-c',
				'while :; do head -c 4000000 /dev/zero > written; sync -d written; sleep 0.3; done'
			],
			nice => 10
		);
	},
	'clock' => sub {
		my ($s) = @_;
		$s->load([qw(xclock -digital -update 1 -geometry 150x40+1100+20)], x => 1);
	},
	'sleeping service' =>
		sub { my ($s) = @_; $s->load([ 'sh', '-c', 'while :; do sleep 0.05; done' ]) },
);

# slow_files(): the file system in user space, where it was built
sub slow_files {
	return grep {-x} "$ENV{TIPME_BUILDDIR}/tests/desk/slowfs";
}

# names(DESKTOP): those that there are on it
sub names {
	my ($desktop) = @_;
	return grep { is_on($_, $desktop // 'bare') } sort keys %CAUSE;
}
sub is_on { my ($name, $desktop) = @_; return $desktop =~ (get($name)->{desktop} // qr/./) }

sub get {
	my ($name) = @_;
	return $CAUSE{$name} // croak "no cause '$name': one of @{[ sort keys %CAUSE ]}";
}
sub loads { return sort keys %LOAD }
sub load  { my ($name) = @_; return $LOAD{$name} // croak "no load '$name': one of @{[ loads() ]}" }

# fits(CAUSE NAME, PROGRAM): whether that program can have it
sub fits {
	my ($name, $p) = @_;
	my $c = get($name);
	return 0 if $c->{deed}          && !($p->{deeds} // {})->{ $c->{deed} };
	return 0 if $c->{action}        && !$p->{actions}{ $c->{action} };
	return 0 if $c->{needs_timeout} && !$p->{timeouts};
	return 0 if $c->{world}         && !$c->{world}{ $p->{world} };
	return 1;
}

1;
