# SPDX-License-Identifier: GPL-2.0-only
# What belongs to a verdict beside who and how long: CPUs that idled meanwhile, where threads may
# not run, who took the memory, in which function.
package Tipme::Circumstances;

use strict;
use warnings;
use Tipme::Called qw(called);
use Tipme::CpuWeight;
use Tipme::DiskPause;
use Tipme::Functions;
use Tipme::Kinds;
use Tipme::Machine;
use Tipme::Printable qw(one_line);
use Tipme::Reason    qw(reason);
use Tipme::Words     qw(N__ fill);

my $MOST      = 0.5;     # of the share: what has more than half of it is told as its circumstance
my $LIGHTER   = 3;       # times; five nice levels
my $SLOW      = 0.75;    # of a CPU's highest frequency
my $MAX_LOOK  = 500;     # stretches for which other CPUs are looked at
my $NOTICE_NS = 100_000_000;     # what comes sooner seems to come at once, as Tipme::Verdict has it
my $MAX_ARGS  = 100;             # characters of a command line in a sentence
my $YOUNG_NS  = 5_000_000_000;   # a process that is younger is named with who had it run ...
my $OLDER_NS  = 1_000_000_000;   # ... if that is older than it by so much

# new(states => TaskStates, threads => Threads, to => NS, episode => Episode (or undef),
# usual_ns => of such an event, or undef)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# of(VERDICT, \PATH): adds to the verdict what is known: function { ... }, pinned { ... },
# circumstances [ reasons, see Tipme::Reason ]
sub of {
	my ($self, $v, $path) = @_;
	my @of = grep { $_->{blamed}{kind} eq $v->{kind} } @$path;
	my @say;
	if (my $f = $self->_function($v, \@of)) { $v->{function} = $f; push @say, _function_words($f) }
	if (Tipme::Kinds::has($v->{kind}, 'cpu') && (my $cpus = $self->_idle_cpus($v->{kind}, \@of))) {
		$v->{idle_cpus} = $cpus;
		push @say, $self->_idle_words($cpus);
	}
	my $machine = Tipme::Machine->new(threads => $self->{threads}, episode => $self->{episode});
	my $from    = @$path ? $path->[0]{from_ns} : $self->{to};
	if (my $slow = $self->_slow_cpu(\@of)) {
		$v->{slow_cpu} = $slow;
		push @say, _slow_words($slow), $machine->speed_facts($slow, $from, $self->{to});
		$self->_blame_speed($v, $slow, $self->{to} - $from);
	}
	$self->_blame_weight($v, \@of, $self->{to} - $from);
	push @say, _thread_words($v, \@of);
	push @say, $machine->message_facts($v, $from, $self->{to});
	$self->_turn($v);
	push @say, $machine->memory_facts($v, $from, $self->{to});
	push @say, $machine->setting_facts($v), $self->_disk_that_slept($v, \@of);
	my $args = defined $v->{blamed}{pid}
		&& Tipme::Kinds::has($v->{kind}, 'args') ? $self->_short_args($v->{blamed}{pid}) : '';
	push @say,
		reason('called-as', comm => $v->{blamed}{comm}, pid => $v->{blamed}{pid}, args => $args)
		if length $args;

	if (my $s = $self->_starter($v->{blamed}{pid})) {
		$v->{blamed}{starter} = $s;
		push @say, $self->_starter_words($s);
	}
	$v->{circumstances} = \@say;
	return $v;
}

# A disk that had had nothing to do for long, and then took long for the first thing that it was
# asked.
sub _disk_that_slept {
	my ($self, $v, $of) = @_;
	my $disk = ($v->{blamed} // {})->{disk};
	return if !defined $disk || $v->{kind} !~ /^(?:disk-io|page-fault-io)$/;
	# What the kernel has said of the disk is why it took long.
	return if (($v->{reported} // {})->{device} // '') eq $disk;
	my $p = Tipme::DiskPause::of($of, $self->{states}->resources, $disk) or return;
	$v->{disk_pause_ns} = $p->{pause_ns};
	return reason(
		'disk-slept', disk => one_line($disk),
		map { $_ => sprintf '%.1f', $p->{"${_}_ns"} / 1e9 } qw(pause took)
	);
}

sub _short_args {
	my ($self, $pid) = @_;
	my $args = one_line($self->{threads}->args($pid, $self->{to}) // '');
	return length $args > $MAX_ARGS ? substr($args, 0, $MAX_ARGS) . ' ...' : $args;
}

sub _starter_words {
	my ($self, $s) = @_;
	my $args = $self->_short_args($s->{pid});
	return reason(
		length $args ? 'had-it-run' : 'had-it-run-untold', %$s,
		length $args ? (args => $args) : ()
	);
}

# Who made a process that is young: the makers of `sleep` or `cc1` cannot help. The nearest ancestor
# that is older than it by a second:
# { pid, comm }; undef: the process is no younger than what started it, or that is not known.
sub _starter {
	my ($self, $pid) = @_;
	my $t    = $self->{threads};
	my $born = defined $pid ? $t->at($pid, $self->{to})->{start_ns} : undef;
	return if !$born || $born < $self->{to} - $YOUNG_NS;
	for my $up ($t->ancestors($pid, $self->{to})) {
		my $start = $t->at($up->[0], $self->{to})->{start_ns} or return;
		return { pid => $up->[0], comm => $up->[1] }
			if $start < $born - $OLDER_NS && $up->[1] ne '?';
	}
	return;
}

# The CPU is to be blamed where the same work at its full speed would have been nothing unusual.
sub _blame_speed {
	my ($self, $v, $slow, $all) = @_;
	return
		   if !Tipme::Kinds::has($v->{kind}, 'compute')
		|| !defined $v->{head}
		|| $v->{share_ns} <= $all / 2;
	my $saved = int($v->{share_ns} * (1 - $slow->{khz} / $slow->{max_khz}));
	return if $all - $saved > ($self->{usual_ns} // 0) + $NOTICE_NS;
	@$v{qw(kind was_kind)} = ('cpu-slow', $v->{kind});
	$v->{sentence} = fill(
		N__('{head}: {clause}.'),
		head   => $v->{head},
		clause => fill(
			Tipme::Kinds::clause('cpu-slow', ''),
			time => Tipme::Verdict::duration_text($v->{share_ns}) . ' ('
				. Tipme::Verdict::percent($v->{share_ns}, $all) . ' %)',
			waiter => one_line($v->{blamed}{comm} // '?'),
			map { $_ => sprintf '%.2f', $slow->{$_} / 1e6 } qw(khz max_khz)
		)
	);
	return;
}

# Who has less right to a CPU than those who have it is meant to get little: its own weight is to be
# blamed, where they outweigh it three to one for most of that time.
sub _blame_weight {
	my ($self, $v, $of, $all) = @_;
	return if $v->{kind} ne 'cpu-contention' || !defined $v->{head};
	my (%ns, %because);
	my $least = Tipme::CpuWeight->least_priority($self->{threads});
	# Of one that has a lock, whose weight it is is another question (priority-inversion).
	for my $p (grep { $_->{state} eq 'runnable' && ($_->{waiter} // $_->{pid}) == $_->{pid} } @$of)
	{
		my $length = $p->{to_ns} - $p->{from_ns};
		for my $b ($p->{among} ? @{ $p->{among} } : { %{ $p->{blamed} }, ns => $length }) {
			next if !defined $b->{own_prio} || $b->{own_prio} < $least;
			my ($ratio, $why) = $self->_lighter($p, $b);
			next if $ratio < $LIGHTER;
			$ns{ $p->{pid} } += $b->{ns};
			$because{ $p->{pid} } = $why;
		}
	}
	my ($pid) = sort { $ns{$b} <=> $ns{$a} || $a <=> $b } keys %ns;
	return if !defined $pid || $ns{$pid} <= $MOST * $v->{share_ns};
	my $who    = $self->{threads}->at($pid, $self->{to});
	my $others = one_line($v->{blamed}{comm} // '?');
	$others .= " (pid $v->{blamed}{pid})" if defined $v->{blamed}{pid};
	$others .= ' and others'              if $v->{blamed}{processes} > 1;
	@$v{qw(kind was_kind)} = ('cpu-weight', $v->{kind});
	my %why = %{ $because{$pid} };
	$why{percent} = sprintf '%.3g', $why{weight} / 10 if defined $why{weight};
	my $by =
		defined $why{nice}
		? 'wait-cpu'
		: reason('light-group', cgroup => $why{cgroup}, percent => $why{percent});
	$v->{blamed} = {
		kind => 'cpu-weight', pid    => $pid, comm => $who->{comm}, processes => 1, pids => [$pid],
		ns   => $ns{$pid},    detail => $by
	};
	my $percent = Tipme::Verdict::percent($v->{share_ns}, $all);
	$v->{sentence} = fill(
		N__('{head}: {clause}.'),
		head   => $v->{head},
		clause => fill(
			Tipme::Kinds::clause('cpu-weight', $by), %why, others => $others,
			time   => Tipme::Verdict::duration_text($v->{share_ns}) . " ($percent %)",
			waiter => one_line($who->{comm}) . " (pid $pid)"
		)
	);
	return;
}

# How many times lighter who waited is than who had the CPU, and why, as Tipme::CpuWeight has it.
sub _lighter {
	my ($self, $p, $b) = @_;
	return 0 if !defined $b->{tid};
	my @two = ([ $p->{tid}, $b->{own_prio} ], [ $b->{tid}, $b->{had_prio} ]);
	return Tipme::CpuWeight->lighter($self->{threads}, @two, $p->{to_ns});
}

# Which thread of a program computed, where it is not the one that the process is named after.
sub _thread_words {
	my ($v, $of) = @_;
	return if !Tipme::Kinds::has($v->{kind}, 'compute') || !defined $v->{blamed}{pid};
	my (%ns, %name);
	for my $b (
		map {
			my $p = $_;
			$p->{among}
				? @{ $p->{among} }
				: { %{ $p->{blamed} }, ns => $p->{to_ns} - $p->{from_ns} }
		} @$of
		)
	{
		next if !defined $b->{thread} || ($b->{pid} // -1) != $v->{blamed}{pid};
		$ns{ $b->{tid} } += $b->{ns};
		$name{ $b->{tid} } = $b->{thread};
	}
	my ($tid) = sort { $ns{$b} <=> $ns{$a} || $a <=> $b } keys %ns;
	return if !defined $tid || $ns{$tid} <= $MOST * $v->{share_ns};
	return reason('in-thread', thread => $name{$tid}, tid => $tid);
}

# What the kernel reported of the very thing that was waited for belongs into the sentence.
sub _turn {
	my ($self, $v) = @_;
	my $r    = $v->{reported} or return;
	my $told = fill(
		N__('; the kernel reported: {what}.'),
		what => one_line(Tipme::Reason::words($r->{told}))
	);
	$v->{sentence} =~ s/\.(?=\z| \()/$told/ if defined $v->{sentence};
	return;
}

# Samples are looked at where the blamed process ran on behalf of the path.
sub _function {
	my ($self, $v, $of) = @_;
	my $pid  = $v->{blamed}{pid} // return;
	my @runs = map { [ $_->{tid}, $_->{from_ns}, $_->{to_ns} ] }
		grep { $_->{state} eq 'running' && ($_->{blamed}{pid} // -1) == $pid } @$of;
	@runs = map { [ $_->{blamed}{tid}, $_->{from_ns}, $_->{to_ns} ] } grep {
		$_->{state} eq 'runnable' && ($_->{blamed}{pid} // -1) == $pid && defined $_->{blamed}{tid}
	} @$of if !@runs && Tipme::Kinds::has($v->{kind}, 'cpu');
	return if !@runs;
	return Tipme::Functions->new(
		resources => $self->{states}->resources,
		threads   => $self->{threads}
	)->of(\@runs);
}

sub _function_words {
	my ($f) = @_;
	my $kernel = $f->{module} eq 'kernel';
	return reason(
		'in-function' . ($f->{inside} ? '-or-below' : '') . ($kernel ? '-of-kernel' : ''),
		n        => $f->{samples},          of     => $f->{of},
		function => called($f->{function}), module => $kernel ? undef : $f->{module}
	);
}

# Was the CPU on which most of it was computed slow for most of that time?
sub _slow_cpu {
	my ($self, $of) = @_;
	my %at;
	for (grep { $_->{state} eq 'running' && defined $_->{cpu} } @$of) {
		push @{ $at{ $_->{cpu} }{stretches} }, [ @$_{qw(from_ns to_ns)} ];
		$at{ $_->{cpu} }{ns} += $_->{to_ns} - $_->{from_ns};
	}
	my ($cpu) = sort { $at{$b}{ns} <=> $at{$a}{ns} || $a <=> $b } keys %at;
	my $f = defined $cpu && $self->{states}->resources->frequency($cpu) or return;
	my ($since, $k, $slow, $known, $sum) = ($f->{since}, 0, 0, 0, 0);
	# Both in order of time: a governor may change it a thousand times a second, and a path has
	# thousands of stretches.
	for my $s (sort { $a->[0] <=> $b->[0] } @{ $at{$cpu}{stretches} }) {
		$k++ while $k < $#$since && $since->[ $k + 1 ][0] <= $s->[0];
		for (my $j = $k; $j <= $#$since && $since->[$j][0] < $s->[1]; $j++) {
			my ($from, $khz) = @{ $since->[$j] };
			my $ns = _smaller($j < $#$since ? $since->[ $j + 1 ][0] : undef, $s->[1])
				- ($from > $s->[0] ? $from : $s->[0]);
			$known += $ns;
			$sum   += $ns * $khz;
			$slow  += $ns if $khz < $SLOW * $f->{max_khz};
		}
	}
	return if $slow <= $MOST * $at{$cpu}{ns};
	return {
		cpu     => $cpu + 0, khz   => int($sum / $known + 0.5), max_khz => $f->{max_khz} + 0,
		slow_ns => $slow,    of_ns => $at{$cpu}{ns}
	};
}

sub _smaller { my ($a, $b) = @_; return defined $a && $a < $b ? $a : $b }

sub _slow_words {
	my ($c) = @_;
	return reason(
		'slow-cpu', cpu => $c->{cpu},
		map { $_ => sprintf '%.2f', $c->{$_} / 1e6 } qw(khz max_khz)
	);
}

# The stretches in which the main waiter waited for a CPU.
sub _main_waits {
	my ($of) = @_;
	my (%waited, %at);
	for (grep { $_->{state} eq 'runnable' && defined $_->{cpu} } @$of) {
		$waited{ $_->{tid} } += $_->{to_ns} - $_->{from_ns};
		push @{ $at{ $_->{tid} } }, $_;
	}
	my ($tid) = sort { $waited{$b} <=> $waited{$a} || $a <=> $b } keys %waited;
	my @look = defined $tid ? @{ $at{$tid} } : ();
	$#look = $MAX_LOOK - 1 if @look > $MAX_LOOK;
	return @look;
}

# idle_sums(STATES, KIND of a verdict, \PATH): while the main waiter waited, how long was which
# other CPU idle: [ { cpu, idle_ns } ]
sub idle_sums {
	my ($states, $kind, $path) = @_;
	my $told = ($states->events->episode->manifest->{bundle} // {})->{idle_cpus};
	return $told if $told;
	my @look = _main_waits([ grep { $_->{blamed}{kind} eq $kind } @$path ]) or return [];
	my @idle;
	for my $cpu ($states->events->cpus) {
		my @elsewhere = map { [ @$_{qw(from_ns to_ns)} ] } grep { $_->{cpu} != $cpu } @look or next;
		my $ns        = $states->time_of($cpu, 0, @elsewhere);
		push @idle, { cpu => $cpu + 0, idle_ns => $ns } if $ns;
	}
	return \@idle;
}

# While the main waiter waited: how long was which other CPU idle, and might it run there?
sub _idle_cpus {
	my ($self, $kind, $of) = @_;
	my @look = _main_waits($of) or return;
	my ($tid, $all, %here) = ($look[0]{tid}, 0);
	for my $p (@look) {
		$all += $p->{to_ns} - $p->{from_ns};
		$here{ $p->{cpu} }++;
	}
	my %idle = map { $_->{cpu} => $_->{idle_ns} } @{ idle_sums($self->{states}, $kind, $of) };
	my ($cpu) = sort { $idle{$b} <=> $idle{$a} || $a <=> $b } keys %idle;
	return if !defined $cpu || $idle{$cpu} < $MOST * $all;
	my ($mask, $change) = $self->_may_run($tid, $look[0]{from_ns});
	my ($on) = sort { $here{$b} <=> $here{$a} || $a <=> $b } keys %here;
	my $who = $self->{threads}->at($tid, $look[0]{to_ns});
	return {
		tid     => $tid + 0, comm => $who->{comm}, cpu => $on + 0, idle_cpu => $cpu + 0,
		idle_ns => $idle{$cpu}, of_ns => $all, allowed => $mask ? _cpus($mask) : undef,
		pinned  => $mask && $cpu < 64 && !($mask >> $cpu & 1) ? 1 : 0, changed => $change
	};
}

# On which CPUs a thread might run at a time (0: not known), and since when, if that was changed: {
# before_ns, within_ns, by } (by: { tid, comm } or undef)
sub _may_run {
	my ($self, $tid, $t) = @_;
	my $seen = $self->{threads}->facts($tid, $t);
	my $c    = $self->{states}->resources->affinity($tid, $t);
	# A picture that is newer than the last change, and says something else, has seen a later one.
	return ($seen->{cpus_allowed} // 0, undef)
		if !$c
		|| ($seen->{ts_ns} // 0) > $c->{ts}
		&& $seen->{ts_ns} <= $t
		&& ($seen->{cpus_allowed} // 0) != $c->{cpus};
	return (
		$c->{cpus},
		{
			before_ns => $t - $c->{ts}, within_ns => $c->{within} + 0,
			by        => $c->{by}
			? { tid => $c->{by} + 0, comm => $self->{threads}->at($c->{by}, $c->{ts})->{comm} }
			: undef
		}
	);
}

# Who set on which CPUs a thread may run, and when: a reason, or undef where it was not changed.
sub _changed {
	my ($c, $tid) = @_;
	return if !$c;
	my ($by, $s) = ($c->{by}, sub { sprintf '%.*f', $c->{within_ns} ? 1 : 3, $_[0] / 1e9 });
	my %when = (
		to_s   => $s->($c->{before_ns}),
		last_s => $c->{within_ns} ? $s->($c->{before_ns} + $c->{within_ns}) : undef
	);
	my $who = !$by ? 'changed' : $by->{tid} == $tid ? 'changed-itself' : 'changed-by';
	return reason(
		$who . ($c->{within_ns} ? '-between' : ''), %when,
		$by ? (comm => $by->{comm}, tid => $by->{tid}) : ()
	);
}

# "0-3,6" of a bit mask
sub _cpus {
	my ($mask) = @_;
	my @c = grep { $mask >> $_ & 1 } 0 .. 63;
	my @runs;
	for (@c) {
		if (@runs && $runs[-1][1] == $_ - 1) { $runs[-1][1] = $_ }
		else                                 { push @runs, [ $_, $_ ] }
	}
	return join ',', map { $_->[0] == $_->[1] ? $_->[0] : "$_->[0]-$_->[1]" } @runs;
}

sub _idle_words {
	my ($self, $c) = @_;
	my %of = (
		comm => $c->{comm}, tid => $c->{tid}, cpu => $c->{cpu}, idle_cpu => $c->{idle_cpu},
		map { $_ => sprintf '%.0f', $c->{"${_}_ns"} / 1e6 } qw(idle of)
	);
	return reason('idle-cpu-allowed', %of) if !$c->{pinned} && defined $c->{allowed};
	return reason('idle-cpu',         %of) if !$c->{pinned};
	my $changed = _changed($c->{changed}, $c->{tid});
	return reason(
		$changed ? 'pinned-since' : 'pinned', %of, allowed => $c->{allowed},
		doing => $changed
	);
}

1;
