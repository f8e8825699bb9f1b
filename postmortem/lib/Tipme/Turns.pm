# SPDX-License-Identifier: GPL-2.0-only
# The steps of a wake-up chain that need no more than a look, done at one go: a client and its
# server that take turns make a hundred thousand of them.
package Tipme::Turns;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::Record::Columns;
use Tipme::Record::Layout;
use Tipme::Segment;
use Tipme::Urgency;
use Tipme::WakeupChain::Wait qw(waits_for_requests);

use constant CONTEXT => $Tipme::Record::Columns::SHIFT{sched_waking}{context};

my $MOST     = 1024;       # steps, after which the walk tells how far it has come
my $RT_BELOW = 100;        # as in the walk itself
my $DEADLINE = 255;        # priority in a record: SCHED_DEADLINE (abi/records.def)
my ($TASK)   = grep { $Tipme::Record::Layout::ENUM{context}{$_} eq 'task' }
	keys %{ $Tipme::Record::Layout::ENUM{context} };

# new(STATES, THREADS, REASONS, WORKS, server_tid, DisplaySource, Naps, { asks, meanwhile, disturbs:
# asks_awake_server, asked_meanwhile and disturbs of WakeupChain }): for one walk, whose times only
# fall
sub new {
	my ($class, $states, $threads, $reasons, $works, $server_tid, $server, $naps, $of_walk) = @_;
	return bless {
		%$of_walk,
		states  => $states, ev    => $states->events, threads => $threads, reasons => $reasons,
		works   => $works,  moves => $states->resources->moved, server_tid => $server_tid,
		server  => $server, naps  => $naps, list => {}, at => {}, of_cpu => {}, on => {},
		request => {}
	}, $class;
}

# steps(\SEGMENTS, TID, TIME, BOUND, MOST SEGMENTS, \JUMPED): walks back from TIME towards BOUND as
# long as each step is plain: (TID, TIME, steps done).
# Plain is what WakeupChain does with a thread that works for nobody else: it ran; it waited for a
# CPU that one other thread, or nobody, had; it slept for a request until another thread woke it.
# For these both do the same, segment by segment; all else is left to the walk.
sub steps {
	my ($self, $segments, $tid, $t, $bound, $room, $jumped) = @_;
	my ($works, $moves, $lists, $at, $end) = (@$self{qw(works moves list at)}, $self->{states}->to);
	my ($ts, $d, $a) = map { \$self->{ev}{$_} } qw(ts d a);
	my $steps = 0;
	while ($t > $bound && $steps < $MOST && @$segments <= $room) {
		last if !$tid || $works->{$tid};
		my $list = $lists->{$tid} //= $self->{states}->intervals($tid);
		my $n    = $at->{$tid} // $self->_position($list, $t);
		$n-- while $n >= 0 && $list->[$n]{from} >= $t;
		$at->{$tid} = $n;
		last if $n < 0;
		my $i = $list->[$n];
		last if $i->{to} < $t;
		my ($kind, $lo) = @$i{qw(kind from)};
		$lo = $bound if $lo < $bound;

		if ($kind eq 'running') {
			last if $i->{was};
			my ($irq, $whole) = ($i->{irq_ns}, $i->{to} - $i->{from});
			push @$segments, Tipme::Segment->new(
				tid      => $tid, from => $lo, to => $t, exact => $i->{guessed} ? 0 : 1,
				evidence => [ $i->{come} // () ], plain => 1, state => 'running', cpu => $i->{cpu},
				reason   => 'running',
				irq_ns   => !$irq ? 0 : $t - $lo >= $whole ? $irq : int($irq * ($t - $lo) / $whole),
				irq_exact => $t - $lo == $whole && !$i->{saturated} ? 1 : 0
			);
		} elsif ($kind eq 'runnable') {
			my $next = $i->{to} < $end ? $list->[ $n + 1 ] : undef;
			last
				if !$next
				|| $next->{kind} ne 'running'
				|| !defined $next->{prio}
				|| $moves->{$tid}
				|| $i->{how} eq 'forked';
			my $s = $self->_waited($tid, $i, $next, $lo, $t) or last;
			push @$segments, $s;
		} else {
			my $wake = $i->{wake};
			last
				if $kind ne 'blocked'
				|| !defined $wake
				|| (vec($$d, $wake, 32) >> CONTEXT & 255) != $TASK
				|| vec($$ts, $wake, 64) < $t
				|| $i->{state} eq 'stopped'
				|| $i->{state} eq 'traced'
				|| $i->{state} eq 'frozen'
				|| $i->{state} eq 'disk_sleep' && $tid != $self->{server_tid};
			my $who = vec $$a, $wake, 32;
			last
				if !$who
				|| $who == $tid
				|| !$self->{states}->leaves($who)
				|| $jumped->{$who}
				|| $works->{$who};
			last if $who == $self->{server_tid} && $self->{naps}->within($tid, $i);
			last if $self->{asks}->($tid, $lo, $t, $who);
			last
				if $self->{meanwhile}->($tid, $t, $who) || $self->{disturbs}->($tid, $lo, $t, $who);
			last
				if $tid == $self->{server_tid}
				? $self->{server} && $self->{server}->in_request($lo, $t)
				: !($self->{request}{ $i->{stack_id} // 0 } //=
				$self->_for_a_request($i->{stack_id}));
			@$jumped{ $who, $tid } = (1, 1);
			$tid = $who;
			$steps++;
			next;
		}
		%$jumped = () if %$jumped;
		$t       = $lo;
		$steps++;
	}
	return ($tid, $t, $steps);
}

# The last of a list of intervals that begins before a time.
sub _position {
	my ($self, $list, $t) = @_;
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($list->[$m]{from} < $t) { $lo = $m + 1 }
		else                          { $hi = $m }
	}
	return $lo - 1;
}

# A wait for a CPU that one thread had all the time, or nobody; undef: it is not so simple.
sub _waited {
	my ($self, $tid, $i, $next, $lo, $t) = @_;
	my ($cpu, $ev, $on) = ($next->{cpu}, @$self{qw(ev on)});
	my $list = $self->{of_cpu}{$cpu} //= $ev->of_cpu($cpu);
	my $k    = $on->{$cpu} // $ev->last_before($list, $lo + 1);
	$k-- while $k >= 0 && vec($ev->{ts}, vec($$list, $k, 32), 64) > $lo;
	$on->{$cpu} = $k;
	return if $k < 0 || $k + 1 >= length($$list) / 4;
	my ($came, $left) = (vec($$list, $k, 32), vec($$list, $k + 1, 32));
	my $who = vec $ev->{a}, $came, 32;
	return if vec($ev->{ts}, $left, 64) < $t || vec($ev->{tid}, $left, 32) != $who;
	my $own      = $next->{prio};
	my $evidence = [ $i->{wake} // (), $i->{leave} // (), $next->{come} // (), $came ];

	if ($who && $who != $tid) {
		return if $self->{works}{$who};
		my $prio = Tipme::Urgency::kept_by($self->{states}, $came, $left);
		return Tipme::Segment->new(
			tid        => $tid,      from  => $lo, to  => $t, exact => $i->{guessed} ? 0 : 1,
			evidence   => $evidence, plain => 1, state => 'runnable', cpu => $cpu, own_prio => $own,
			blamed_tid => $who,      blamed_prio => $prio,
			kind       => $own >= $RT_BELOW
				&& ($prio < $RT_BELOW || $prio == $DEADLINE) ? 'rt-starvation' : 'cpu-contention',
			reason => 'wait-cpu'
		);
	}
	return if defined $i->{cpu} && $i->{cpu} != $cpu;
	return Tipme::Segment->new(
		tid   => $tid,       from => $lo, to => $t, exact => 0, evidence => $evidence, plain => 1,
		state => 'runnable', cpu => $cpu, own_prio => $own, kind => 'unknown', idle => $who ? 0 : 1,
		reason => Tipme::WakeupChain::Queue::idle_reason($self->{states}->resources, $cpu, $lo, $t)
	);
}

# Does a sleep with that stack wait for the next request, or for nobody knows what? Then what the
# thread did before has nothing to do with it.
sub _for_a_request {
	my ($self, $id) = @_;
	my $stack = $self->{threads}->stack($id);
	my $r     = $self->{reasons}->of($stack, 'task');
	return waits_for_requests($r) ? 1 : 0;
}

1;
