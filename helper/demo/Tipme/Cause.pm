# SPDX-License-Identifier: GPL-2.0-only
# Causes of delay that the demo can stage, each a real one: processes that compute, starve, stop or
# make others wait.
package Tipme::Cause;
use strict;
use warnings;
use Carp        qw(croak);
use File::Temp  ();
use POSIX       ();
use Time::HiRes qw(sleep clock_gettime CLOCK_MONOTONIC);

# name => { says, kind (what a true verdict calls it), stage => CODE, type => what the person types
# into it,
#           unprivileged => anybody can stage it, sampled => and samples of /proc tell it }
# stage($self, ctx) begins the cause and returns { comm, pids }; ctx has client_pid, client_comm,
# cpus, and the helper that start_helper() made.
my %CAUSE = (
	'cpu-storm' => {
		says =>
			'%d processes "%s", nice -15 where that is permitted, each in a session of its own, '
			. 'compute for %d ms',
		kind => 'cpu-contention', type => 'x', lead_ms => 250, stage => \&_storm,
	},
	'rt-hog' => {
		says => '%d real-time processes "%s" (SCHED_FIFO 20), one for each CPU, compute for %d ms',
		kind => 'rt-starvation', type => 'x', lead_ms => 80, stage => \&_rt_hog,
	},
	'stopped' => {
		says         => 'SIGSTOP for %3$d ms to the terminal "%2$s"',
		kind         => 'stopped', type => 'x', lead_ms => 150, stage => \&_stop, sampled => 1,
		unprivileged => 1,
	},
	'slow-helper' => {
		says =>
			'%d process "%s", which the shell asks through a pipe, computes its answer for %d ms',
		kind  => 'ipc-wait', unprivileged => 1, type => "ask\n", lead_ms => 100,
		stage => sub { my ($s, $c) = @_; return $c->{helper} },
	},
);

my @NAMES = qw(indexer thumbnailer packd cc1 logsift mailsync photod backupd renderd syncer);

# The names that the demo draws from.
sub all { return sort keys %CAUSE }

# Those that anybody can stage.
sub all_unprivileged {
	return grep { $CAUSE{$_}{unprivileged} } all();
}

# Those that can be staged, and found, where only /proc can be looked at.
sub all_sampled {
	return grep { $CAUSE{$_}{sampled} } all();
}

# Tipme::Cause->draw(SEED, NAME, AMONG ...): the cause that the seed chooses (or NAME), its process
# name and length. Our own generator, so that a seed means the same with each Perl.
sub draw {
	my ($class, $seed, $name, @among) = @_;
	my $state = $seed & 0xffffffff;
	my $next =
		sub { $state = ($state * 1664525 + 1013904223) & 0xffffffff; return ($state >> 8) % $_[0] };
	$next->(2) for 1 .. 3;
	my @all   = @among ? @among : all();
	my $drawn = $all[ $next->(scalar @all) ];
	my $comm  = $NAMES[ $next->(scalar @NAMES) ];
	my $ms    = 600 + 50 * $next->(7);
	$name //= $drawn;
	my ($c) = map { $CAUSE{$_} } grep { $_ eq $name } @all;
	croak "no cause '$name' here: one of @all" if !$c;
	return bless { %$c, name => $name, comm => $comm, ms => $ms }, $class;
}

# Starts the process that answers the shell through two pipes in DIR. It does so after computing for
# `ms`, with a good nice value, so that it is not the load of a busy machine that makes the shell
# wait.
sub start_helper {
	my ($self, $dir, @ids) = @_;
	POSIX::mkfifo("$dir/$_", 0666) or croak "$dir/$_: $!" for qw(question answer);
	chmod 0666, "$dir/question", "$dir/answer";
	my ($pid) = _processes(
		1,
		$self->{comm},
		-10,
		sub {
			# Opened for both ways, so that neither end ever sees the other close.
			open my $in,  '+<', "$dir/question" or POSIX::_exit(1);
			open my $out, '+<', "$dir/answer"   or POSIX::_exit(1);
			$out->autoflush(1);
			while (<$in>) { _compute($self->{ms} / 1000); print {$out} "42\n" }
		},
		@ids
	);
	return { comm => $self->{comm}, pids => [$pid] };
}

# Begins the cause; returns what was done, for the truth that is told after the verdict: comm, pids,
# kind, text, and `later`, a list of [ seconds after the keystroke, CODE ] that the caller has to
# run.
sub begin {
	my ($self, %ctx) = @_;
	my $done = $self->{stage}->($self, \%ctx);
	return {
		%$done, kind => $self->{kind},
		text => sprintf($self->{says}, scalar @{ $done->{pids} }, $done->{comm}, $self->{ms})
	};
}

sub _compute {
	my $end = clock_gettime(CLOCK_MONOTONIC) + $_[0];
	my $n   = 0;
	$n++ while clock_gettime(CLOCK_MONOTONIC) < $end;
	return $n;
}

# Where the kernel groups by session (autogroup), a nice value counts only inside the session: the
# session itself gets one, too.
sub _prefer {
	my ($nice) = @_;
	POSIX::nice($nice);    # refused to an ordinary user, and then they are as nice as all others
	if (open my $g, '>', "/proc/$$/autogroup") { print {$g} $nice; close $g }
	return;
}

# Forks processes of this name and nice value, each in its own session; they run CODE (as user IDS,
# if given) and end.
sub _processes {
	my ($count, $comm, $nice, $code, @ids) = @_;
	my @pids;
	for (1 .. $count) {
		my $pid = fork // croak "fork: $!";
		if (!$pid) {
			$SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
			POSIX::setsid();
			_prefer($nice) if $nice;
			if (@ids) { $) = "$ids[1] $ids[1]"; POSIX::setgid($ids[1]); POSIX::setuid($ids[0]) }
			$0 = $comm;
			eval { $code->(); 1 } or print STDERR "tipme: demo: $comm: $@";
			POSIX::_exit(0);
		}
		push @pids, $pid;
	}
	return @pids;
}

sub _storm {
	my ($self, $c) = @_;
	my @pids = _processes(
		40 * $c->{cpus},
		$self->{comm},
		-15,
		sub {
			_compute($self->{ms} / 1000 + $self->{lead_ms} / 1000);
		}
	);
	return { comm => $self->{comm}, pids => \@pids };
}

sub _rt_hog {
	my ($self, $c) = @_;
	my @pids = _processes(
		$c->{cpus},
		$self->{comm},
		0,
		sub {
			system('chrt', '-f', '-p', '20', $$) == 0 or die "no real-time priority here\n";
			_compute($self->{ms} / 1000);
		}
	);
	return { comm => $self->{comm}, pids => \@pids };
}

sub _stop {
	my ($self, $c) = @_;
	kill 'STOP', $c->{client_pid} or croak "SIGSTOP to $c->{client_pid}: $!";
	my $pid = $c->{client_pid};
	return {
		comm  => $c->{client_comm}, pids => [$pid],
		later => [ [ $self->{ms} / 1000, sub { kill 'CONT', $pid } ] ]
	};
}

1;
