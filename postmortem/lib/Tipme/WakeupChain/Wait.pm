# SPDX-License-Identifier: GPL-2.0-only
# What a wait is by itself, for all who look at one: what ended it, and whether it was for work.
package Tipme::WakeupChain::Wait;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(by_a_timer is_idle_in waits_for_requests);

my %WAITS_FOR_REQUESTS = map { $_ => 1 } qw(loop tty pipe unix net);
# so often, and for so much of its sleep, a thread sleeps where it waits for something to do
my $IDLE_SLEEPS = 2;
my $IDLE_MOSTLY = 0.8;    # of its sleeps in one place: there it waits for work

# by_a_timer(WAIT): did a timer end it, and no disk's interrupt?
sub by_a_timer {
	my ($w) = @_;
	return
		   $w->{waker}
		&& $w->{waker}{context} eq 'hardirq'
		&& !($w->{reason} && $w->{reason}{class} eq 'disk') ? 1 : 0;
}

# waits_for_requests(REASON): for the next request, or for nobody knows what
sub waits_for_requests { my ($r) = @_; return !$r || $WAITS_FOR_REQUESTS{ $r->{class} } ? 1 : 0 }

# is_idle_in(STATES, THREADS, REASONS, TID): does a thread sleep in a futex, and nowhere else,
# mostly?
sub is_idle_in {
	my ($states, $threads, $reasons, $tid) = @_;
	my ($n, $there, $all) = (0, 0, 0);
	for my $i (grep { $_->{kind} eq 'blocked' && $_->{stack_id} } @{ $states->intervals($tid) }) {
		my $of = $reasons->of(scalar $threads->stack($i->{stack_id}), 'task');
		$all += $i->{to} - $i->{from};
		if ($of && $of->{kind} eq 'futex-wait') { $n++; $there += $i->{to} - $i->{from} }
	}
	return $n >= $IDLE_SLEEPS && $there >= $IDLE_MOSTLY * $all ? 1 : 0;
}

1;
