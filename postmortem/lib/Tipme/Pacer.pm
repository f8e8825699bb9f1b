# SPDX-License-Identifier: GPL-2.0-only
# A thread that wakes others at a regular pace, so that they draw: what they draw is not its doing.
package Tipme::Pacer;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;

my $FRAME_NS = 50_000_000;    # between frames there is less
my $TICK_NS  = 5_000_000;     # a pacer is awake for no longer
my ($TASK, $SOFTIRQ_TASK) = (0, 1);

# worked_since(STATES, TID, NAP, ON, NOT): (thread, when it last ran in the nap, who woke it) of
# those ON the way of what the pacer TID started after that nap: a thread that somebody else, but
# those of NOT, has woken in it. (): there is none. The pacer must have woken one of them before the
# nap, too.
sub worked_since {
	my ($states, $tid, $nap, $on, $not) = @_;
	return if $nap->{to} - $nap->{from} > $FRAME_NS || !%$on || !_ticked($states, $tid, $nap, $on);
	my ($last) = grep { $_->[0] != $tid && !$not->{ $_->[0] } && !$on->{ $_->[0] } }
		reverse _wakings($states, $nap->{from}, $nap->{to}, $on)
		or return;
	my ($who, $t) = @$last[ 1, 2 ];
	while (my $i = $states->at($who, $t)) {
		last if $i->{kind} eq 'blocked' || $i->{kind} eq 'absent';
		$t = $i->{to};
		last if $t >= $nap->{to};
	}
	return ($who, $t, $last->[0]);
}

sub _ticked {
	my ($states, $tid, $nap, $on) = @_;
	my $t = $nap->{from};
	while (my $i = $states->before($tid, $t)) {
		last if $i->{kind} eq 'blocked' || $i->{from} >= $t || $nap->{from} - $i->{from} > $TICK_NS;
		$t = $i->{from};
	}
	return scalar grep { $_->[0] == $tid } _wakings($states, $t, $nap->{from} + 1, $on);
}

# [ who, whom, when ], in order: wakings of those threads by others in [FROM, TO)
sub _wakings {
	my ($states, $from, $to, $on) = @_;
	my ($ev, @w) = ($states->events);
	for (my $k = $ev->first_at($from); $k < $ev->count && $ev->ts($k) < $to; $k++) {
		next if $ev->kind($k) != Tipme::KernelEvents::WAKING;
		my $whom    = $ev->tid($k);
		my $context = $ev->context($k);
		next if !$on->{$whom} || $context != $TASK && $context != $SOFTIRQ_TASK;
		my $who = $context == $TASK ? $ev->waker($k) : $ev->sched_waking_raiser_tid($k);
		push @w, [ $who, $whom, $ev->ts($k) ] if $who && $who != $whom;
	}
	return @w;
}

1;
