# SPDX-License-Identifier: GPL-2.0-only
# What a client does a moment after an event, by a timer of its own: as who searches while one
# types does. It is an answer to the event if the client does so at no other times.
package Tipme::Moments;

use strict;
use warnings;

my $FRAME_NS   = 50_000_000;       # between frames there is less
my $MOMENT_NS  = 1_000_000_000;    # a client that waits a moment after an event waits no longer
my $LONG_NS    = 200_000_000;      # what it then does takes long from here on
my $AT_ONCE_NS = 100_000_000;      # whom it asked in a turn, it asked so soon after its beginning
my $CHANCE     = 0.2;              # that its clock comes so soon after presses by itself

# new(kernel => Kernel, rest => AtRest, path => InputPath, trigger => ns)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# is_own_clock(EVENT, WAIT, CHAIN): did the thread that takes the client's events sleep there until
# a timer of its own, or (given the CHAIN) another thread of the client's that has the timers of
# others?
sub is_own_clock {
	my ($self, $e, $w, $chain) = @_;
	return 0 if !$w->{waker} || $w->{waker}{context} ne 'hardirq';
	my $rest = $self->{rest};
	if ($w->{tid} == $rest->hand($e)) {
		return $rest->waits_for_events($e, $w->{tid}, $w->{reason});
	}
	return
		   $self->{kernel}->threads->at($w->{tid}, $w->{to})->{pid} == $e->{pid}
		&& $chain
		&& $chain->is_idle_there($w);
}

sub _presses {
	my ($self, $e) = @_;
	return sort { $a <=> $b } map { $_->{deliver_ns} }
		grep { $_->{candidate} && ($_->{pid} // 0) == $e->{pid} && defined $_->{deliver_ns} }
		$self->{path}->events;
}

# after_a_moment(EVENT, HOPS of the chain back from a change of the screen, TIME of that, WAIT of
# its own clock, all such WAITS of the chain): did it let a moment go by after the event, and did
# what it then did take long? Before and after that its timers at most paced frames. That it does
# so for the event, and not by a clock, is seen by its doing so at no other times: ask the same
# process, or be busy for long.
sub after_a_moment {
	my ($self, $e, $hops, $t, $w, @clock) = @_;
	my $moment = $w->{to} - $e->{deliver_ns};
	# A sleep in which it waited for somebody whom it had asked is a part of its work.
	# Nor is one of a thread whose timers another one has: it may sleep in a futex for a time.
	my $own   = $w->{tid} == $self->{rest}->hand($e);
	my @later = grep { $_->{from} >= $w->{to} && !$_->{run} }
		grep { $own || $_->{tid} == $w->{tid} || $_->{reason}{class} ne 'lock' } @clock;
	my ($end) = sort { $a <=> $b } $t, map { $_->{from} } @later;
	return 0
		if $moment > $MOMENT_NS
		|| $end - $w->{to} < $LONG_NS
		|| grep { $_->{to} - $_->{from} > $FRAME_NS } @later;
	my @before = $self->{rest}->timers($w->{tid}, $e->{deliver_ns}, $w->{to});
	return 0 if grep { $_ > $FRAME_NS } @before;
	my ($hop)  = grep { $_->{from} >= $w->{to} } reverse @$hops;
	my ($mute) = map  { $_->{run}{asked}[0] } grep { $_->{from} >= $w->{to} && $_->{run} } @clock;
	my $rest   = $self->{rest};
	my @times =
		$hop ? grep { $rest->turn_of_timer($w->{tid}, $_) } $rest->woken_by($hop->{tid}, $e->{pid})
		: defined $mute ? grep { $rest->turn_of_timer($w->{tid}, $_, $AT_ONCE_NS) }
		$rest->woken($mute)
		: $w->{tid} == $rest->hand($e) ? $rest->long_turns_by_timer($e, $LONG_NS)
		:                                $rest->long_turns_by($e, $LONG_NS, $w->{tid});
	return $self->_only_after_presses($e, $moment, @times);
}

# Each of these times comes within two seconds after a press, and so soon after one (MOMENT, ns)
# that it would seldom happen to come so: by what of the client's life lies so shortly after
# presses.
sub _only_after_presses {
	my ($self, $e, $moment, @times) = @_;
	my @presses = $self->_presses($e);
	for my $at (@times) {
		return 0 if !grep { $at >= $_ && $at <= $_ + 2 * $MOMENT_NS } @presses;
	}
	my $k     = $self->{kernel};
	my $born  = $k->threads->at($e->{pid}, $e->{deliver_ns})->{start_ns} || 0;
	my $since = $born > $k->covered_from ? $born : $k->covered_from;
	my ($near, $to) = (0, $since);
	for my $press (grep { $_ >= $since } @presses) {
		my $from = $press > $to ? $press : $to;
		$to = $press + $moment;
		$near += $to - $from if $to > $from;
	}
	my $life = $self->{trigger} - $since;
	return $life > 0 && ($near / $life)**(@times || 1) <= $CHANCE ? 1 : 0;
}

# made_after_a_moment(EVENT, WAITS of the chain back from a process's birth): did the client let a
# moment go by after the event, and then have the process made? Only its own timer was between.
sub made_after_a_moment {
	my ($self, $e, @waits) = @_;
	my @clock = sort { $a->{to} <=> $b->{to} } grep {
			   $_->{waker}
			&& $_->{waker}{context} eq 'hardirq'
			&& !($_->{reason} && $_->{reason}{class} eq 'disk')
	} @waits;
	my $w = pop @clock;
	return 0 if !$w || !$self->is_own_clock($e, $w);
	my $moment = $w->{to} - $e->{deliver_ns};
	return 0
		if $moment > $MOMENT_NS
		|| grep { $_ > $FRAME_NS } $self->{rest}->timers($w->{tid}, $e->{deliver_ns}, $w->{to});
	my @long = $self->{rest}->long_turns_by_timer($e, $LONG_NS);
	return $self->_only_after_presses($e, $moment, @long);
}

1;
