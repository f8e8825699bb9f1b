# SPDX-License-Identifier: GPL-2.0-only
# A part of AtRest: what the sleeps of a thread tell by themselves: what ended them, and for how
# long it was awake between.
package Tipme::AtRest::Turns;

use strict;
use warnings;

# woken(TID): when sleeps of a thread ended; woken_by(TID, PID): those that threads of a process
# ended
sub woken {
	my ($self, $tid) = @_;
	return map { $_->{to} // () } @{ $self->{sleeps}->of($tid) // [] };
}

sub woken_by {
	my ($self, $tid, $pid) = @_;
	return map { $_->{to} }
		grep   { $_->{waker} && $self->{kernel}->threads->at($_->{waker}, $_->{to})->{pid} == $pid }
		@{ $self->{sleeps}->of($tid) // [] };
}

# timers(TID, FROM, TO): how long the sleeps of a thread were that an interrupt ended in (FROM, TO),
# ns; turn_of_timer(TID, TIME[, NS]): did one end the last sleep before TIME, at most so long
# before?
sub timers {
	my ($self, $tid, $from, $to) = @_;
	return map { $_->{to} - $_->{from} }
		grep {
			   defined $_->{to}
			&& $_->{to} > $from
			&& $_->{to} < $to
			&& $_->{context} eq 'hardirq'
		} @{ $self->{sleeps}->of($tid) // [] };
}

sub turn_of_timer {
	my ($self, $tid, $t, $most) = @_;
	my ($s) =
		grep { defined $_->{to} && $_->{to} <= $t } reverse @{ $self->{sleeps}->of($tid) // [] };
	return $s && $s->{context} eq 'hardirq' && (!$most || $t - $s->{to} <= $most) ? 1 : 0;
}

# longest_awake(TID, UNTIL): { from, to }: the longest stretch up to a time in which a thread ran,
# or waited for a CPU; undef: not known
sub longest_awake {
	my ($self, $tid, $until) = @_;
	my $sleeps = $self->{sleeps}->of($tid) or return;
	my ($from, $best) = ($self->{kernel}->covered_from);
	for my $s (@$sleeps) {
		my $to = $s->{from} < $until ? $s->{from} : $until;
		$best = { from => $from, to => $to }
			if $to > $from && (!$best || $to - $from > $best->{to} - $best->{from});
		last             if !defined $s->{to} || $s->{to} >= $until;
		$from = $s->{to} if $s->{to} > $from;
	}
	return $best;
}

1;
