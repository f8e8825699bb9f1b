# SPDX-License-Identifier: GPL-2.0-only
# When one thread was awake and when it slept, over a whole episode: found by looking for its number
# in the raw records, since to decode all of them would take ten times as long.
package Tipme::Sleeps;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Record::Layout;

# Where the small fields of a switch and of a waking begin in their word.
use constant {
	PREV_STATE => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_state},
	PREEMPTED  => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_preempted},
	CONTEXT    => $Tipme::Record::Columns::SHIFT{sched_waking}{context},
};
my $SIZE       = 32;           # bytes of a switch record (abi/records.def)
my $SHORT_NS   = 1_000_000;    # shorter sleeps have no stack, and count as awake
my %STATE      = %{ $Tipme::Record::Layout::ENUM{task_state} };
my %CONTEXT    = %{ $Tipme::Record::Layout::ENUM{context} };
my ($RUNNABLE) = grep { $STATE{$_} eq 'runnable' } keys %STATE;

# new(EPISODE)
sub new { my ($class, $ep) = @_; return bless { ep => $ep, of => {} }, $class }

# of(TID): the sleeps of 1 ms or more, in order: { from, to, state, waker, context, stack_id }, ns
# of
# CLOCK_MONOTONIC; from 0: since before the records begin; to undef: nobody has ended it. Between
# them the thread was awake: it ran, or waited for a CPU. waker: the thread that ended the sleep in
# its own context, or 0. undef instead of a list: no record names the thread.
sub of {
	my ($self, $tid) = @_;
	$self->{of}{$tid} = $self->_of($tid) if !exists $self->{of}{$tid};
	return $self->{of}{$tid};
}

sub _of {
	my ($self, $tid) = @_;
	my @events = sort { $a->[0] <=> $b->[0] } $self->_records($tid) or return;
	my ($sleep, $pending, @sleeps) =
		($events[0][1] eq 'woken' ? { from => 0, state => 'unknown' } : undef, 0);
	for my $e (@events) {
		my ($t, $what, @more) = @$e;
		if ($what eq 'woken') {
			if ($sleep) { push @sleeps, { %$sleep, to => $t, @more }; undef $sleep }
			else        { $pending = 1 }    # on its way to sleep: it will not
		} elsif ($what eq 'comes') {
			# Without a waking it had raced with going to sleep, or the record was lost.
			push @sleeps, { %$sleep, to => $t, waker => 0, context => 'unknown', stack_id => 0 }
				if $sleep && !$pending;
			($sleep, $pending) = (undef, 0);
		} else {
			$sleep = { from => $t, state => $what };
		}
	}
	push @sleeps, { %$sleep, to => undef, waker => 0, context => 'unknown', stack_id => 0 }
		if $sleep && !$pending;
	return [ grep { !defined $_->{to} || $_->{to} - $_->{from} >= $SHORT_NS } @sleeps ];
}

# [ ns, woken, waker => TID, context =>, stack_id => ], [ ns, comes ], [ ns, STATE ] of one that
# leaves to sleep
sub _records {
	my ($self, $tid) = @_;
	my $all = Tipme::KernelEvents->of_thread($self->{ep}, $tid);
	my @events;
	for (my $at = 0; $at < length $all; $at += $SIZE) {
		my ($ts, $type, $whose, $other, $stack, $d) = unpack 'Q<Cx3V3x4V', substr $all, $at, $SIZE;
		if ($type == Tipme::KernelEvents::SWITCH) {
			push @events, [ $ts, $STATE{ $d >> PREV_STATE & 255 } // 'unknown' ]
				if $whose == $tid && !($d >> PREEMPTED) && ($d >> PREV_STATE & 255) != $RUNNABLE;
			push @events, [ $ts, 'comes' ] if $other == $tid;
		} elsif ($type == Tipme::KernelEvents::WAKING && $whose == $tid) {
			my $context = $CONTEXT{ $d >> CONTEXT & 255 } // 'unknown';
			push @events,
				[
				$ts, 'woken', waker => $context eq 'task' && $other != $tid ? $other : 0,
				context => $context, stack_id => $stack
				];
		}
	}
	return @events;
}

1;
