# SPDX-License-Identifier: GPL-2.0-only
# By which priority a thread kept its CPU. The switch that brings it has the one that it came with.
# It may have been given a more urgent one while it ran: not on all kernels a record tells that, but
# the switch by which it leaves has it, and so has a picture of it.
package Tipme::Urgency;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits

my $DEADLINE = 255;        # priority in a record: SCHED_DEADLINE, the most urgent (abi/records.def)

# kept_by(STATES, CAME, NEXT): kernel priority, by the index of the switch that brought the thread
# and that of the next one of its CPU, by which it leaves (undef: it stays)
sub kept_by {
	my ($states, $came, $next) = @_;
	my $ev    = $states->events;
	my $prio  = $ev->sched_switch_next_prio($came);
	my $later = defined $next ? $ev->sched_switch_prev_prio($next) : undef;
	return $prio if defined $later && $later == $prio;
	my ($tid, $from) = ($ev->next_tid($came), $ev->ts($came));
	return $prio if !$tid;
	$later //= _pictured($states, $tid, $from) // return $prio;
	# Whose CPU others wait for loses it soon after it has lost its urgency.
	return $prio if _rank($later) >= _rank($prio);
	# What is lent to the holder of a lock is not its own.
	my $to = defined $next ? $ev->ts($next) : $states->to;
	return $states->resources->inherited($tid, $from, $to + 1) ? $prio : $later;
}

sub _rank { my ($prio) = @_; return $prio == $DEADLINE ? -1 : $prio }

# What the last picture of it says that was taken since it came; undef: there is none
sub _pictured {
	my ($states, $tid, $from) = @_;
	my ($p) = grep { $_->{ts_ns} > $from } reverse $states->threads->pictures($tid);
	return $p ? $p->{prio} : undef;
}

1;
