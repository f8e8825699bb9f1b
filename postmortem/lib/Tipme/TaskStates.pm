# SPDX-License-Identifier: GPL-2.0-only
# What each thread did when: half-open intervals, running / runnable / blocked, that cover a stretch
# of time exactly.
package Tipme::TaskStates;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent     qw(Tipme::Pictured);
use Carp       qw(croak);
use List::Util qw(sum0);
use Tipme::Columns;
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::Resources;

# Where the small fields of a switch begin in their column, for passes over very many.
use constant {
	PREV_STATE => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_state},
	PREV_PRIO  => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_prio},
	NEXT_PRIO  => $Tipme::Record::Columns::SHIFT{sched_switch}{next_prio},
	PREEMPTED  => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_preempted},
};

my %STATE        = %{ $Tipme::Record::Layout::ENUM{task_state} };
my %STATE_NUMBER = reverse %STATE;
my ($RUNNABLE, $DEAD, $RUNNING, $UNKNOWN) = @STATE_NUMBER{qw(runnable dead running unknown)};
my $SATURATED = 4294967295;    # in a record: longer than its field can say (abi/records.def)
my $SWITCH_NS = 500;           # no CPU changes threads faster
# switches of a CPU from which on the program in C counts: starting it takes as long as some
# thousand here
our $MANY_ON = 20_000;
my $RELEASE = 100_000;    # occupants after which memory is given back: some 10 MB of columns
# of one thread's records, which lie far from each other
my $RELEASE_OF_ONE = 2_000;
# from one interval to the next, before the one that is wanted is looked for in all
my $STEPS = 6;

# An interval: { from, to, kind, ... }
# running: cpu; irq_ns, softirq_ns (part of it, as the switch that ended it says), saturated; was
# (up to its begin it had that tid)
# runnable: how (preempted, woken, raced, forked, unknown), cpu (where it was put, as far as known),
# wake (index of the waking), parent (forked)
#   blocked:  state (name), wake (index of the waking that ended it; undef: none seen), stack_id
#   absent:   the thread did not exist
# `guessed` stands on what no record says but what must have been.

# new(KERNEL EVENTS, THREADS, FROM, TO)
sub new {
	my ($class, $ev, $threads, $from, $to) = @_;
	return bless { ev => $ev, threads => $threads, from => $from, to => $to, list => {} }, $class;
}

sub from    { return $_[0]{from} }
sub to      { return $_[0]{to} }
sub events  { return $_[0]{ev} }
sub threads { return $_[0]{threads} }

# wakers_unknown(): are there no records of who woke whom?
sub wakers_unknown { return 0 }

# resources(): what the same records say of disks, locks, memory, ...
sub resources {
	my ($self) = @_;
	return $self->{resources} //= Tipme::Resources->new(@$self{qw(ev threads)});
}

# once(NAME, CODE): what CODE gives, for all who walk on the same records
sub once {
	my ($self, $name, $code) = @_;
	return $self->{once}{$name} //= $code->();
}

# intervals(TID): all of [from, to), in order, without gap or overlap
sub intervals {
	my ($self, $tid) = @_;
	return $self->{list}{$tid} //= $self->_build($tid);
}

# forget(TID): what was kept of a thread for whom nobody is expected to ask again
sub forget { my ($self, $tid) = @_; delete $self->{list}{$tid}; return }

# at(TID, TIME): the interval that TIME lies in
sub at {
	my ($self, $tid, $t) = @_;
	return $self->_find($tid, $t, 0);
}

# before(TID, TIME): the interval that ends at TIME or that TIME lies in the middle of: what the
# thread did up to TIME
sub before {
	my ($self, $tid, $t) = @_;
	return $self->_find($tid, $t, 1);
}

sub _find {
	my ($self, $tid, $t, $strict) = @_;
	my $l = $self->{list}{$tid} // $self->intervals($tid);
	return if !@$l || $l->[0]{from} + $strict > $t;
	# A walk goes backwards step by step: mostly it is the interval of last time, or one a little
	# before.
	my $n     = $self->{near}{$tid} // $#$l;
	my $steps = $STEPS;
	if ($l->[$n]{from} + $strict <= $t) {
		$n++ while $n < $#$l && $l->[ $n + 1 ]{from} + $strict <= $t && $steps--;
	} else {
		$n-- while $l->[$n]{from} + $strict > $t && $steps--;
	}
	if ($steps < 0) {
		my ($lo, $hi) = (0, scalar @$l);
		while ($lo < $hi) {
			my $m = ($lo + $hi) >> 1;
			if   ($l->[$m]{from} + $strict <= $t) { $lo = $m + 1 }
			else                                  { $hi = $m }
		}
		$n = $lo - 1;
	}
	$self->{near}{$tid} = $n;
	return $l->[$n]{to} >= $t ? $l->[$n] : undef;
}

# state_at(TID, TIME): name of the state: running, runnable, or what it is blocked in; dead where it
# did not exist
sub state_at {
	my ($self, $tid, $t) = @_;
	my $i = $self->at($tid, $t) or return 'unknown';
	return $i->{kind} eq 'blocked' ? $i->{state} : $i->{kind} eq 'absent' ? 'dead' : $i->{kind};
}

# sums(TID, FROM, TO): { running, runnable, blocked, absent, irq_ns, softirq_ns, net_running },
# integer ns; the first four add up to TO - FROM
sub sums {
	my ($self, $tid, $from, $to) = @_;
	my %s = map { $_ => 0 } qw(running runnable blocked absent irq_ns softirq_ns);
	for my $i (@{ $self->intervals($tid) }) {
		my $a = $i->{from} > $from ? $i->{from} : $from;
		my $b = $i->{to} < $to     ? $i->{to}   : $to;
		next if $b <= $a;
		$s{ $i->{kind} } += $b - $a;
		next if $i->{kind} ne 'running' || $i->{from} < $from || $i->{to} > $to;
		$s{$_} += $i->{$_} for qw(irq_ns softirq_ns);
	}
	my $sum = $s{running} + $s{runnable} + $s{blocked} + $s{absent};
	croak "bug: states of thread $tid: $sum ns of @{[ $to - $from ]}" if $sum != $to - $from;
	$s{net_running} = $s{running} - $s{irq_ns} - $s{softirq_ns};
	$s{net_running} = 0 if $s{net_running} < 0;
	return \%s;
}

# occupants(CPU, FROM, TO): who ran there: [ from, to, tid, priority, index of the switch or undef
# ]; tid undef where it is not known
sub occupants {
	my ($self, @where) = @_;
	my @o;
	my $one = $self->_one_occupant(@where);
	return $one if $one;
	$self->each_occupant(@where, sub { push @o, [@_] });
	return @o;
}

# time_of(CPU, TID, [FROM, TO] ...): how long a thread (0: nobody) had a CPU in all of these, in ns
sub time_of {
	my ($self, $cpu, $tid, @stretches) = @_;
	my $switches = sum0(map { $self->{ev}->switches_between($cpu, @$_) } @stretches);
	my $sums =
		$switches > $MANY_ON
		? Tipme::Columns::sums($self->{ev}, [], [ map { [ $cpu, @$_ ] } @stretches ])
		: undef;
	return sum0(map { $_->{ns} } grep { $_->{tid} == $tid } map {@$_} @$sums) if $sums;
	return sum0(
		map  { $_->[1] - $_->[0] }
		grep { defined $_->[2] && $_->[2] == $tid }
		map  { $self->occupants($cpu, @$_) } @stretches
	);
}

# Most waits are for one thread: who came before FROM and left at TO or later. Undef: somebody else
# came meanwhile, or a switch was lost.
sub _one_occupant {
	my ($self, $cpu, $from, $to) = @_;
	my $ev   = $self->{ev};
	my $list = $ev->of_cpu($cpu);
	my $k    = $self->{near_on}{$cpu} = $ev->last_before($list, $from + 1, $self->{near_on}{$cpu});
	return if $k < 0 || $k + 1 >= length($$list) / 4 || $to <= $from;
	my ($i, $next) = (vec($$list, $k, 32), vec($$list, $k + 1, 32));
	my $tid = vec $ev->{a}, $i, 32;
	return if vec($ev->{ts}, $next, 64) < $to || vec($ev->{tid}, $next, 32) != $tid;
	return [ $from, $to, $tid, vec($ev->{d}, $i, 32) >> NEXT_PRIO & 255, $i ];
}

# many_on(CPU, FROM, TO, N): are there more than N occupants, or about so many?
sub many_on {
	my ($self, $cpu, $from, $to, $n) = @_;
	my $list = $self->{ev}->of_cpu($cpu);
	return 0 if length($$list) / 4 <= $n || $to - $from < $n * $SWITCH_NS;
	my $k =
		($self->{near_on}{$cpu} = $self->{ev}->last_before($list, $from, $self->{near_on}{$cpu}))
		+ $n;
	return $k < length($$list) / 4 && vec($self->{ev}{ts}, vec($$list, $k, 32), 64) < $to ? 1 : 0;
}

# each_occupant(CPU, FROM, TO, CODE): calls it with the same, one after the other: there may be very
# many
sub each_occupant {
	my ($self, $cpu, $from, $to, $code) = @_;
	my $ev = $self->{ev};
	my ($ts, $came, $left, $d) = map { \$ev->{$_} } qw(ts a tid d);
	my $list = $ev->of_cpu($cpu);
	my ($k, $n) = (
		$self->{near_on}{$cpu} = $ev->last_before($list, $from + 1, $self->{near_on}{$cpu}),
		length($$list) / 4
	);
	my $i = $k >= 0 ? vec($$list, $k, 32) : undef;
	my ($t, $seen) = ($from, $self->{seen} // 0);
	while ($t < $to) {
		$ev->release if ++$seen % $RELEASE == 0;
		my $next = ++$k < $n     ? vec($$list, $k,    32) : undef;
		my $end  = defined $next ? vec($$ts,   $next, 64) : $to;
		$end = $to if $end > $to;
		if ($end > $t) {
			# Where a switch was lost, who leaves is known to have been there; who came before that
			# is not known to have stayed.
			if (defined $i && (!defined $next || vec($$left, $next, 32) == vec($$came, $i, 32))) {
				$code->($t, $end, vec($$came, $i, 32), vec($$d, $i, 32) >> NEXT_PRIO & 255, $i);
			} elsif (defined $next) {
				$code->(
					$t, $end, vec($$left, $next, 32), vec($$d, $next, 32) >> PREV_PRIO & 255,
					$next
				);
			} else {
				$code->($t, $end, $self->_never_switched($cpu, $t));
			}
			$t = $end;
		}
		$i = $next;
	}
	$self->{seen} = $seen;
	return;
}

# A CPU without any switch: a picture may have seen a thread running there.
sub _never_switched {
	my ($self, $cpu, $t) = @_;
	for my $tid ($self->{threads}->tids) {
		my $p = $self->{threads}->picture_at($tid, $t) or next;
		return ($tid, $p->{prio}, undef)
			if $p->{state} == $RUNNING && $p->{cpu} == $cpu && !@{ $self->{ev}->of_tid($tid) };
	}
	return (undef, 120, undef);
}

# tids_with_stack(PATTERN): threads that a waking, or a picture, found asleep with such a stack
sub tids_with_stack {
	my ($self, $pattern) = @_;
	my ($ev,   $threads) = @$self{qw(ev threads)};
	my (%is,   %tid);
	for my $i (0 .. $ev->count - 1) {
		next if vec($ev->{type}, $i, 8) != Tipme::KernelEvents::WAKING;
		my $id = $ev->sched_waking_stack_id($i) or next;
		$tid{ vec $ev->{tid}, $i, 32 } = 1
			if $is{$id} //= ($threads->stack($id) // '') =~ $pattern ? 1 : 0;
	}
	for my $tid ($threads->tids) {
		$tid{$tid} = 1
			if grep { ($threads->stack($_->{stack_id}) // '') =~ $pattern }
			$threads->pictures($tid);
	}
	return sort { $a <=> $b } keys %tid;
}

# leaves(TID): is there a record that the thread ever left a CPU? One that only comes is not where
# wakings say that it is: their thread is the one that leaves that CPU next.
sub leaves {
	my ($self, $tid) = @_;
	return $self->{leaves}{$tid} //= do {
		my $ev = $self->{ev};
		my @switches =
			grep { vec($ev->{type}, $_, 8) == Tipme::KernelEvents::SWITCH } @{ $ev->of_tid($tid) };
		!@switches || (grep { vec($ev->{tid}, $_, 32) == $tid } @switches) ? 1 : 0;
	};
}

# runs_at(CPU, INDEX): the thread that leaves a CPU next after a record, and so was there; undef:
# none does
sub runs_at {
	my ($self, $cpu, $index) = @_;
	my ($ev, $list) = ($self->{ev}, $self->{ev}->of_cpu($cpu));
	my ($lo, $hi) = (0, length($$list) / 4);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   (vec($$list, $m, 32) <= $index) { $lo = $m + 1 }
		else                                 { $hi = $m }
	}
	return 4 * $lo < length $$list ? vec($ev->{tid}, vec($$list, $lo, 32), 32) : undef;
}

sub _build {
	my ($self, $tid) = @_;
	my $ev    = $self->{ev};
	my $execs = $self->_execs->{$tid} // [];
	my $m     = {
		list  => [], ev => $ev, tid => $tid, cur => undef, t => undef, pending => undef,
		execs => [@$execs]
	};
	my $events = $ev->of_tid($tid);
	$events = [ sort { $a <=> $b } @$events, @$execs ] if @$execs;
	my $exact = $ev->exact_from;
	my $seen  = 0;
	for my $i (@$events) {
		$ev->release if ++$seen % $RELEASE_OF_ONE == 0;
		# Before that time some CPU's records are not there: what the thread seemed to do may be out
		# of date by now.
		if ($m->{cur} && $m->{t} < $exact && vec($ev->{ts}, $i, 64) >= $exact) {
			if    (!$self->_agrees($m, $i))      { $self->_restart($m, $exact) }
			elsif ($m->{cur}{kind} eq 'blocked') { $self->_later_sleep($m, $i) }
		}
		$self->_start($m, $i) if !$m->{cur};
		my $type = vec $ev->{type}, $i, 8;
		if ($type == Tipme::KernelEvents::SWITCH) {
			vec($ev->{tid}, $i, 32) == $tid ? $self->_leaves($m, $i) : $self->_comes($m, $i);
		} elsif ($type == Tipme::KernelEvents::WAKING) {
			$self->_woken($m, $i);
		} elsif ($type == Tipme::KernelEvents::EXEC) {
			$self->_exec($m, $i);
		} else {
			$self->_forked($m, $i);
		}
		$m->{t} = vec($ev->{ts}, $i, 64);
	}
	$self->_only_pictures($m) if !$m->{cur};
	push @{ $m->{list} }, { %{ $m->{cur} }, to => $self->{to} };
	my $last = $m->{list}[-1];
	$self->_picture_of_sleep($m, $last) if $last->{kind} eq 'blocked';
	return $self->_clip($m->{list});
}

# Execs by which a thread took the number of the first of its process: the indices, for either
# number.
sub _execs {
	my ($self) = @_;
	return $self->{execs} if $self->{execs};
	my ($ev, %of) = ($self->{ev});
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::EXEC) }) {
		my ($tid, $old) = ($ev->tid($i), $ev->exec_old_tid($i));
		next if !$old || $old == $tid;
		push @{ $of{$_} }, $i for $tid, $old;
	}
	return $self->{execs} = \%of;
}

# Does the event fit to what the thread seemed to do?
sub _agrees {
	my ($self, $m, $i) = @_;
	my ($ev, $kind) = ($self->{ev}, $m->{cur}{kind});
	return $kind eq 'absent'  if vec($ev->{type}, $i, 8) == Tipme::KernelEvents::FORK;
	return $kind eq 'running' if vec($ev->{type}, $i, 8) == Tipme::KernelEvents::EXEC;
	if (vec($ev->{type}, $i, 8) == Tipme::KernelEvents::WAKING) {
		# Who is woken sleeps; or else it is on a CPU, which its switches then tell.
		return 1 if $kind eq 'blocked';
		my ($who) =
			  $kind eq 'running'
			? $self->occupants($m->{cur}{cpu}, $ev->exact_from, $ev->exact_from + 1)
			: ();
		return $who && ($who->[2] // -1) == $m->{tid} ? 1 : 0;
	}
	return vec($ev->{tid}, $i, 32) == $m->{tid} ? $kind eq 'running' : $kind eq 'runnable';
}

sub _restart {
	my ($self, $m, $t) = @_;
	$m->{cur}{to} = $t;
	push @{ $m->{list} }, $m->{cur};
	@$m{qw(cur pending since)} = (undef, undef, $t);
}

# The first event of a thread tells what it did before; a picture may know more.
sub _start {
	my ($self, $m, $i) = @_;
	my $ev   = $self->{ev};
	my $from = $m->{since} // $self->_beginning;
	my $type = vec($ev->{type}, $i, 8);
	my %cur  = (from => $from, guessed => 1);
	my $p    = $self->{threads}->picture_at($m->{tid}, vec($ev->{ts}, $i, 64));
	$p = undef
		if $p && $p->{ts_ns} > vec($ev->{ts}, $i, 64) && $p->{since_ns} > vec($ev->{ts}, $i, 64);
	if    ($type == Tipme::KernelEvents::FORK) { $cur{kind} = 'absent' }
	elsif ($type == Tipme::KernelEvents::EXEC) {
		@cur{qw(kind cpu)} =
			vec($ev->{tid}, $i, 32) == $m->{tid} ? 'absent' : ('running', vec($ev->{cpu}, $i, 16));
	} elsif ($type == Tipme::KernelEvents::WAKING) {
		@cur{qw(kind state)} = ('blocked', $self->_blocked_in($p));
	} elsif (vec($ev->{tid}, $i, 32) == $m->{tid}) {
		@cur{qw(kind cpu)} = ('running', vec($ev->{cpu}, $i, 16));
	} elsif ($p
		&& $p->{state} != $RUNNABLE
		&& $p->{state} != $RUNNING
		&& $p->{ts_ns} <= vec($ev->{ts}, $i, 64))
	{
		@cur{qw(kind state)} = ('blocked', $self->_blocked_in($p));
	} else {
		@cur{qw(kind how cpu)} = ('runnable', 'unknown', vec($ev->{cpu}, $i, 16));
	}
	$m->{cur} = \%cur;
}

sub _beginning {
	my ($self) = @_;
	my $ev = $self->{ev};
	return $ev->count
		&& vec($ev->{ts}, 0, 64) < $self->{from} ? vec($ev->{ts}, 0, 64) : $self->{from};
}

# turn(IN HAND, T, NEW): from T on it does something else: NEW begins there. Called for each record,
# so it copies nothing.
sub turn {
	my ($m, $t, $new) = @_;
	my $cur = $m->{cur};
	$cur->{to} = $t;
	push @{ $m->{list} }, $cur if $t > $cur->{from};
	$m->{cur} = $new;
	return;
}

sub _leaves {
	my ($self, $m, $i) = @_;
	my ($ev,    $cur)       = ($self->{ev}, $m->{cur});
	my ($t,     $d)         = (vec($ev->{ts}, $i, 64), vec($ev->{d}, $i, 32));
	my ($state, $preempted) = ($d >> PREV_STATE & 255, $d >> PREEMPTED);
	if ($cur->{kind} ne 'running') {
		# Its coming was lost. It cannot have come before the last switch of this CPU that is known;
		# until then, it did what it did.
		my $came = $self->_switch_before($i);
		$came = $cur->{from} if !defined $came || $came < $cur->{from};
		my $exec = $cur->{kind} eq 'absent' ? $self->_next_exec($m, 1) : undef;
		turn(
			$m, $came,
			{
				from => $came, kind => 'running', cpu => vec($ev->{cpu}, $i, 16), guessed => 1,
				defined $exec ? (was => $ev->exec_old_tid($exec)) : ()
			}
		);
		$cur = $m->{cur};
	}
	my ($irq, $softirq) = ($ev->sched_switch_irq_ns($i), $ev->sched_switch_softirq_ns($i));
	@$cur{qw(irq_ns softirq_ns)} = ($irq, $softirq);
	$cur->{saturated} = 1 if $irq == $SATURATED || $softirq == $SATURATED;
	if ($preempted || $state == $RUNNABLE) {
		turn(
			$m, $t,
			{
				from  => $t, kind => 'runnable', how => 'preempted', cpu => vec($ev->{cpu}, $i, 16),
				leave => $i
			}
		);
	} elsif ($state == $DEAD) {
		turn($m, $t, { from => $t, kind => 'absent' });
	} else {
		turn(
			$m, $t,
			{ from => $t, kind => 'blocked', state => $STATE{$state} // 'unknown', leave => $i }
		);
	}
	$m->{pending} = undef if $m->{cur}{kind} ne 'blocked';
}

sub _comes {
	my ($self, $m, $i) = @_;
	my ($ev, $cur) = ($self->{ev}, $m->{cur});
	my $t = vec($ev->{ts}, $i, 64);
	if ($cur->{kind} eq 'blocked' && defined $m->{pending}) {
		# The waking came while the thread was still on its way to sleep: it never slept.
		my $w = $m->{pending};
		%$cur = (
			from => $cur->{from}, kind => 'runnable', how => 'raced', wake => $w,
			cpu  => $ev->sched_waking_wakee_cpu($w)
		);
	} elsif ($cur->{kind} eq 'blocked') {
		$cur->{guessed} = 1;
		$self->_picture_of_sleep($m, $cur, $t);
	}
	$m->{pending} = undef;
	my $cpu = vec $ev->{cpu}, $i, 16;
	turn(
		$m, $t,
		{
			from => $t,                                       kind   => 'running', cpu => $cpu,
			prio => vec($ev->{d}, $i, 32) >> NEXT_PRIO & 255, irq_ns => 0,         softirq_ns => 0,
			come => $i
		}
	);
	# Its leaving was lost, if somebody else leaves this CPU next. That one is taken to have run
	# ever since, and this one not at all.
	my $next = $self->switch_after($i, $cpu);
	return
		   if !defined $next
		|| vec($ev->{tid}, $next, 32) == $m->{tid}
		|| ($self->_next_exec($m, 0) // $next) < $next;
	turn($m, $t, { from => $t, kind => 'blocked', state => 'unknown', guessed => 1 });
}

# The time of the switch of the same CPU before that of an index; switch_after(INDEX, CPU): the
# index of the one after it; undef: there is none
sub _switch_before {
	my ($self, $i) = @_;
	my ($ev,   $k) = ($self->{ev}, $self->_place($i));
	return $k > 0
		? vec($ev->{ts}, vec(${ $ev->of_cpu(vec $ev->{cpu}, $i, 16) }, $k - 1, 32), 64)
		: undef;
}

sub switch_after {
	my ($self, $i, $cpu) = @_;
	my $ev   = $self->{ev};
	my $list = $ev->of_cpu($cpu);
	my $k    = ($self->{placed}{$cpu} // -1) + 1;
	if (4 * $k < length $$list && vec($$list, $k, 32) == $i) { $self->{placed}{$cpu} = $k }
	else                                                     { $k = $self->_place($i) }
	return $k + 1 < length($$list) / 4 ? vec($$list, $k + 1, 32) : undef;
}

# The position of a switch among those of its CPU.
sub _place {
	my ($self, $i) = @_;
	my $ev   = $self->{ev};
	my $cpu  = vec $ev->{cpu}, $i, 16;
	my $list = $ev->of_cpu($cpu);
	my $n    = length($$list) / 4;
	# A thread's switches are asked for in their order: mostly it is the one after that of last
	# time, or one a little further.
	my ($k, $steps) = (($self->{placed}{$cpu} // -1) + 1, $STEPS);
	$k = 0 if $k >= $n || vec($$list, $k, 32) > $i;
	$k++ while $k < $n - 1 && vec($$list, $k, 32) < $i && $steps--;
	if (vec($$list, $k, 32) != $i) {
		my ($lo, $hi) = (0, $n - 1);
		while ($lo < $hi) {
			my $m = ($lo + $hi) >> 1;
			if   (vec($$list, $m, 32) < $i) { $lo = $m + 1 }
			else                            { $hi = $m }
		}
		$k = $lo;
	}
	return $self->{placed}{$cpu} = $k;
}

sub _woken {
	my ($self, $m, $i) = @_;
	my ($ev, $cur) = ($self->{ev}, $m->{cur});
	if ($cur->{kind} ne 'blocked') { $m->{pending} = $i; return }
	@$cur{qw(wake stack_id)} = ($i, vec($ev->{b}, $i, 32));
	$m->{pending} = undef;
	my $t = vec $ev->{ts}, $i, 64;
	turn(
		$m, $t,
		{
			from => $t, kind => 'runnable', how => 'woken', wake => $i,
			cpu  => $ev->sched_waking_wakee_cpu($i)
		}
	);
}

sub _forked {
	my ($self, $m, $i) = @_;
	my $ev = $self->{ev};
	%{ $m->{cur} } = (from => $m->{cur}{from}, kind => 'absent') if $m->{cur}{guessed};
	$m->{pending} = undef;
	my $t = vec $ev->{ts}, $i, 64;
	turn(
		$m, $t,
		{
			from => $t, kind => 'runnable', how => 'forked', parent => vec($ev->{tid}, $i, 32),
			fork => $i, cpu  => vec($ev->{cpu}, $i, 16)
		}
	);
}

# Of the execs that are to come the first, if by it the thread becomes the first of its process (1),
# or its number goes (0).
sub _next_exec {
	my ($self, $m, $becomes) = @_;
	my $exec = $m->{execs}[0];
	return defined $exec
		&& (vec($self->{ev}{tid}, $exec, 32) == $m->{tid}) == $becomes ? $exec : undef;
}

# A thread that was not the first of its process calls a program and becomes the first, which has
# ended. The number changes some time before the record: if it slept meanwhile, it left its CPU as
# the first, and is taken to have come as that, too.
sub _exec {
	my ($self, $m, $i) = @_;
	my ($ev, $cur) = ($self->{ev}, $m->{cur});
	my $t = vec $ev->{ts}, $i, 64;
	shift @{ $m->{execs} };
	if (vec($ev->{tid}, $i, 32) == $m->{tid}) {
		turn(
			$m, $t,
			{
				from       => $t, kind => 'running', cpu => vec($ev->{cpu}, $i, 16), irq_ns => 0,
				softirq_ns => 0,  was  => $ev->exec_old_tid($i)
			}
		) if $cur->{kind} ne 'running';
	} elsif ($cur->{kind} eq 'blocked' && $cur->{guessed}) {
		%$cur = (from => $cur->{from}, kind => 'absent');
	} else {
		turn($m, $t, { from => $t, kind => 'absent' });
	}
	$m->{pending} = undef;
}

# The list covers [from, to) and no more; what lay at its edges is cut there.
sub _clip {
	my ($self, $list) = @_;
	my @out;
	for my $i (@$list) {
		@$i{qw(real_from from)} = ($i->{from}, $self->{from}) if $i->{from} < $self->{from};
		$i->{to}                = $self->{to}                 if $i->{to} > $self->{to};
		next if $i->{to} <= $i->{from};
		$i->{irq_ns} //= 0, $i->{softirq_ns} //= 0 if $i->{kind} eq 'running';
		push @out, $i;
	}
	return \@out;
}

1;
