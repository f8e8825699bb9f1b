# SPDX-License-Identifier: GPL-2.0-only
# A part of WakeupChain: a wait for a CPU, and who had the CPU meanwhile.
package Tipme::WakeupChain::Queue;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::Columns;
use Tipme::Reason qw(reason);
use Tipme::Urgency;

my $RT_BELOW = 100;   # kernel priorities below are real-time
my $DEADLINE = 255;   # priority in a record: SCHED_DEADLINE (abi/records.def)
my $MANY     = 500;   # who had a CPU during one wait: beyond this they are told by runs of time ...
my $RUNS     = 400;   # ... so many, of this length at least
my $RUN_NS   = 10_000_000;      # ns of records that one look back takes at least
my $TURN     = 'Q<Q<l<l<q<';    # of a part of a run: from, to, thread, priority, record
my $RELEASE  = 4_000;           # segments after which memory is given back: some 10 MB of columns

# The wait for a CPU is charged to those who had it meanwhile.
sub _runnable {
	my ($self, $i, $lo) = @_;
	my $states = $self->{states};
	my ($tid, $t) = @$self{qw(tid t)};
	my $next     = $i->{to} < $states->to              ? $states->at($tid, $i->{to}) : undef;
	my $ran_on   = $next && $next->{kind} eq 'running' ? $next->{cpu}                : $i->{cpu};
	my $prio     = $self->_priority($tid, $next, $t);
	my @evidence = grep {defined} $i->{wake}, $i->{leave}, $i->{fork},
		$next ? $next->{come} : undef;

	for my $span (reverse $self->_queues($i, $lo, $ran_on)) {
		my ($from, $to, $cpu) = @$span;
		if ($states->many_on($cpu, $from, $to, $MANY)) {
			$self->_occupied_in_turn($i, $span, $prio, \@evidence);
			next;
		}
		# Of several that had the CPU in turn, the first and the last carry the records of the wait
		# itself.
		my @o = reverse $states->occupants($cpu, $from, $to);
		$self->_occupied($i, $o[$_], $prio, $_ && $_ < $#o ? [] : \@evidence, $cpu) for 0 .. $#o;
	}
	$self->_at($lo);
	if ($i->{how} eq 'forked' && $lo == $i->{from}) { $self->{tid} = $i->{parent} }
}

# Of very many that had the CPU in turn, those of a run of time are one segment: `among` says who
# had how much of it. Only their sums are kept.
sub _occupied_in_turn {
	my ($self, $i, $span, $own_prio, $evidence) = @_;
	my ($from, $to, $cpu) = @$span;
	my $length = ($to - $from) / $RUNS;
	$length = $RUN_NS if $length < $RUN_NS;
	my $rt   = $own_prio < $RT_BELOW;
	my $kept = $self->{segments};
	my ($next, $ends) = Tipme::Columns::turns(
		$self->{states}->events, $self->_works, $self->{tid}, $rt, $length,
		[ $cpu, $from, $to ]
	);
	($next, $ends) = $self->_taken_in_turn($span, $rt, $length) if !$next;
	my ($works, $run, $among, $like, $seen, @out) = ($self->_works, 0, undef, undef, 0);
	while (my $turn = $next->()) {
		my ($begin, $end, $who, $prio, $index) = @$turn{qw(from to tid prio index)};
		my $is_run = $turn->{run};
		my $work =
			$is_run && $works->{$who} ? scalar $self->_work_between($who, $begin, $end) : undef;
		my $for = $work ? $work->{tid} : $who;
		if (!$is_run || $is_run != $run || !$among->{$for}) {
			$self->{segments} = [];
			my $o = [ $begin, $end, $who, $prio, $index, $turn->{settled} ];
			if (!$is_run) {
				$self->_occupied($i, $o, $own_prio, [], $cpu);
				push @out, reverse @{ $self->{segments} };
				next;
			}
			if ($is_run != $run) {
				$run  = $is_run;
				$like = $self->_had_by($i, $o, $own_prio, [], $cpu, $work);
				push @out, $like->with(among => $among = {});
				@{ $out[-1] }{qw(to last)} = @{ $ends->[$run] };
				$among->{$for} = { segment => $like, ns => 0 };
			} else {
				my $kept = $turn->{settled} ? $prio : $self->_kept_by($o, $cpu);
				$among->{$for} = {
					like => $like,
					turn => pack($TURN, $begin, $end, $who, $kept, $index // -1),
					ns   => 0, $work ? (work => $work) : ()
				};
			}
			$self->{states}->events->release if ++$seen % $RELEASE == 0;
		}
		$among->{$for}{ns} += $turn->{ns};
	}
	for (@out) { my $last = delete $_->{last}; push @{ $_->{evidence} }, $last if defined $last }
	for (@out ? ($out[0], $out[-1]) : ()) { $_->{evidence} = [ @$evidence, @{ $_->{evidence} } ] }
	$self->{segments} = [ @$kept, reverse @out ];
}

# segment_of(PART): the segment of one of those in `among`. There may be 40,000 of them, so only
# what tells it from the first of its run is kept.
sub segment_of {
	my ($part) = @_;
	my $like = $part->{like} or return $part->{segment};
	my ($from, $to, $tid, $prio, $index) = unpack $TURN, $part->{turn};
	return $like->with(
		from       => $from, to          => $to,   evidence    => [ $index < 0 ? () : $index ],
		blamed_tid => $tid,  blamed_prio => $prio, blamed_work => $part->{work},
		kind       => _kind($like->{own_prio}, $prio)
	);
}

# The same as Tipme::Columns::turns, without the program.
sub _taken_in_turn {
	my ($self, $span, $rt, $length)        = @_;
	my ($from, $to, $cpu)                  = @$span;
	my ($tid, $works)                      = ($self->{tid}, $self->_works);
	my ($kind, $until, $of, @turns, @ends) = ('', 0);
	$self->{states}->each_occupant(
		$cpu, $from, $to,
		sub {
			my ($begin, $end, $who, $prio, $index) = @_;
			my $turn = {
				from => $begin, to    => $end,   ns  => $end - $begin, tid     => $who,
				prio => $prio,  index => $index, run => 0,             settled => 0
			};
			if (!$who || $who == $tid) { push @turns, $turn; $until = 0; return }
			my $is = !$rt && ($prio < $RT_BELOW || $prio == $DEADLINE) ? 'real-time' : 'other';
			if (!$until || $kind ne $is || $end > $until) {
				push @ends, [];
				($kind, $until, $of) = ($is, $begin + $length, {});
			}
			$turn->{run} = @ends;
			$ends[-1] = [ $end, $index ];
			if ($of->{$who} && !$works->{$who}) { $of->{$who}{ns} += $turn->{ns}; return }
			$turn->{settled} = $self->_is_settled($index, $who, $prio, $cpu);
			push @turns, $of->{$who} = $turn;
		}
	);
	return (sub { shift @turns }, [ undef, @ends ]);
}

sub _is_settled {
	my ($self, $came, $who, $prio, $cpu) = @_;
	my $ev = $self->{states}->events;
	return 0 if !defined $came || $ev->next_tid($came) != $who || $ev->tid($came) == $who;
	my $left = $self->{states}->switch_after($came, $cpu) // return 0;
	return $ev->sched_switch_prev_prio($left) == $prio ? 1 : 0;
}

# In whose queue it waited when: [ from, to, CPU ]. Where no record tells of its moves, all the time
# in that of the CPU on which it ran next.
sub _queues {
	my ($self, $i, $lo, $ran_on) = @_;
	my ($from, @q) = ($lo);
	my @moves = $self->{states}->resources->migrations($self->{tid}, $lo, $self->{t});
	for my $m (@moves) { push @q, [ $from, $m->[0], $m->[1] ] if $m->[0] > $from; $from = $m->[0] }
	push @q, [ $from, $self->{t}, @moves ? $moves[-1][2] : $ran_on ];
	return @q;
}

sub _priority {
	my ($self, $tid, $next, $t) = @_;
	return $next->{prio} if $next && defined $next->{prio};
	return $self->{threads}->at($tid, $t)->{prio};
}

sub _occupied {
	my ($self, $i, $o, $own_prio, $evidence, $cpu) = @_;
	my $rt = $own_prio < $RT_BELOW;
	my ($from, $to, $tid, $prio, $index) = @$o;
	if ($tid && $tid != $self->{tid}) {
		return $self->_had_by(
			$i, $o, $own_prio, $evidence, $cpu,
			scalar $self->_work_between($tid, $from, $to)
		);
	}
	my %s = (
		state    => 'runnable', cpu => $cpu, evidence => [ @$evidence, grep {defined} $index ],
		exact    => $i->{guessed} ? 0 : 1,
		own_prio => $own_prio
	);
	# Its CPU was idle: on the way to another, or slow to wake up. Where it was put first may have
	# been busy.
	if (defined $i->{cpu} && $i->{cpu} != $cpu) {
		for my $p (reverse $self->{states}->occupants($i->{cpu}, $from, $to)) {
			my ($f, $e, $who, $pr, $ix) = @$p;
			my $busy = $who && $who != $self->{tid};
			$pr = $self->_kept_by($p, $i->{cpu}) if $busy;
			my $kind = !$busy ? 'unknown' : !$rt
				&& ($pr < $RT_BELOW || $pr == $DEADLINE) ? 'rt-starvation' : 'cpu-contention';
			$self->_put(
				$f, $e, %s, kind => $kind, blamed_tid => $busy ? $who : undef, blamed_prio => $pr,
				idle => $busy ? 0 : 1, reason => $busy ? 'wait-cpu' : 'cpu-idle',
				exact => $busy ? $s{exact} : 0, evidence => [ @$evidence, grep {defined} $ix ]
			);
		}
		return;
	}
	$self->_put(
		$from, $to, %s, kind => 'unknown', exact => 0, idle => defined $tid && !$tid ? 1 : 0,
		reason => defined $tid
		? idle_reason($self->{states}->resources, $cpu, $from, $to)
		: 'own-cpu-unknown'
	);
}

# Another thread had the CPU, for itself or for WORK: the segment, as it was put
sub _had_by {
	my ($self, $i, $o, $own_prio, $evidence, $cpu, $work) = @_;
	my ($from, $to, $tid, $came_with, $index, $settled) = @$o;
	my $prio = $settled ? $came_with : $self->_kept_by($o, $cpu);
	return $self->_put(
		$from, $to,
		state       => 'runnable', cpu => $cpu, evidence => [ @$evidence, $index // () ],
		exact       => $i->{guessed} ? 0 : 1,
		own_prio    => $own_prio,
		kind        => _kind($own_prio, $prio),
		blamed_tid  => $tid,  blamed_prio => $prio,
		blamed_work => $work, reason      => 'wait-cpu'
	);
}

# What it is that a thread of one kernel priority waits for one of another.
sub _kind {
	my ($own_prio, $prio) = @_;
	return $own_prio >= $RT_BELOW
		&& ($prio < $RT_BELOW || $prio == $DEADLINE) ? 'rt-starvation' : 'cpu-contention';
}

# The priority by which an occupant, of which it is known how it came, kept the CPU.
sub _kept_by {
	my ($self, $o, $cpu)                  = @_;
	my (undef, undef, $tid, $prio, $came) = @$o;
	my ($states, $a)                      = ($self->{states}, \$self->{states}->events->{a});
	return $prio if !defined $came || vec($$a, $came, 32) != $tid;
	return Tipme::Urgency::kept_by($states, $came, $states->switch_after($came, $cpu));
}

# Of a wait for a CPU that idled: also what the kernel says of the state that it had to leave. How
# much of the wait that was nobody measured.
sub idle_reason {
	my ($resources, $cpu, $from, $to) = @_;
	my $left = $resources->idle_left($cpu, $from, $to);
	return $left
		? reason(
		'cpu-idle-deep', state => $left->{state}, us => sprintf '%.0f',
		$left->{exit_ns} / 1e3
		)
		: 'cpu-idle';
}

1;
