# SPDX-License-Identifier: GPL-2.0-only
# When a client is at rest: it waits for its next event, and nobody works on the one before.
package Tipme::AtRest;

use strict;
use warnings;
use Tipme::XRecords;

my $NS_PER_MS = 1_000_000;
my $PROBE_NS  = 100_000_000;    # a client that has nothing to do is usually found asleep within this
my $CLEAR_NS  = 5_000_000;      # records after a stretch that may tell where a sleep in it was
my $MAX_TURNS = 16;             # of the other threads of a client, until all of them are at rest

# new(kernel => Kernel, reasons => Reasons, inferred => Inferred)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# since(EVENT, LIMIT): ns when client and server first both had nothing to do after the delivery:
# then the event's direct effect is over. undef: not before LIMIT.
sub since {
	my ($self, $e, $limit) = @_;
	my ($td, $x) = @$e{qw(deliver_ns server)};
	my @asleep = $x->{exact} ? $x->asleep($td, $limit) : ();
	return if $x->{exact} && !@asleep;
	for my $to ($td + $PROBE_NS, $limit) {
		my $end = $to < $limit ? $to : $limit;
		# The next press ends the sleep that matters, and its waking tells where the client slept.
		my $states = $self->{kernel}->states($td - $NS_PER_MS, $end + $CLEAR_NS);
		@asleep = $self->{inferred}->asleep($e, $states, $td, $end) if !$x->{exact};
		my $t = $self->_first_quiet($e, $states, [ grep { $_->[0] < $end } @asleep ]);
		return $t if defined $t;
		return if $end == $limit;
	}
	return;
}

# Both lists are in order of time and may be long (a client and its server that take turns): none of them is looked at twice.
sub _first_quiet {
	my ($self, $e, $states, $asleep) = @_;
	my $first = 0;
	my @grabs = grep { !Tipme::XRecords::is_of($_->[3], @$e{qw(pid client)}) } $e->{server}->grabs;
	for my $i (@{ $states->intervals($e->{pid}) }) {
		# Asleep since before it was told: it has not looked. Where its records begin later, nobody knows since when.
		next if $i->{kind} ne 'blocked' || ($i->{real_from} // $i->{from}) <= $e->{deliver_ns} && $states->events->exact_from <= $e->{deliver_ns};
		my $rest = $self->in_loop($i) ? $i->{from} : $self->_loop_of_another($states, $e->{pid}, $i);
		next if !defined $rest;
		$first++ while $first < @$asleep && $asleep->[$first][1] <= $i->{from};
		for (my $k = $first; $k < @$asleep && $asleep->[$k][0] < $i->{to}; $k++) {
			my $a = $asleep->[$k];
			my $from = $a->[0] > $rest ? $a->[0] : $rest;
			my $to   = $a->[1] < $i->{to} ? $a->[1] : $i->{to};
			next if $from >= $to || grep { $_->[0] < $to && (!defined $_->[1] || $_->[1] > $from) } @grabs;
			my $t = $self->_at_rest($states, $e->{server}{tid}, $from, $to);
			return $t if defined $t;
		}
	}
	return;
}

# Some programs (Tcl's, for one) leave the event loop to a thread of their own: the main thread waits for it by a futex. Then all threads of
# the process must wait, one of them in an event loop: since when in that sleep they do (on a busy machine some have still to get a CPU first); undef: never.
sub _loop_of_another {
	my ($self, $states, $pid, $i) = @_;
	my $threads = $self->{kernel}->threads;
	return if $self->_reason_kind($i) ne 'futex-wait';
	my @tids = grep { $_ != $pid } $threads->tids_of($pid);
	my $t = $i->{from} + $NS_PER_MS < $i->{to} ? $i->{from} + $NS_PER_MS : $i->{from};
	my ($loops, $busy, $late) = (0);
	for (1 .. $MAX_TURNS) {
		($loops, $busy) = (0, undef);
		for my $tid (@tids) {
			my $s = $states->at($tid, $t) or next;
			next if $s->{kind} eq 'absent';
			if ($s->{kind} eq 'blocked' && $self->in_loop($s)) { $loops++ }
			elsif ($s->{kind} ne 'blocked' || $self->_reason_kind($s) ne 'futex-wait') { $busy = $s; last }
		}
		last if !$busy || $busy->{to} >= $i->{to} || $busy->{to} <= $t;
		($t, $late) = ($busy->{to}, 1);
	}
	return $busy || !$loops ? undef : $late ? $t : $i->{from};
}

sub _reason_kind {
	my ($self, $i) = @_;
	my $stack = $self->{kernel}->threads->stack($i->{stack_id});
	my $r = defined $stack ? $self->{reasons}->of($stack, undef) : undef;
	return $r ? $r->{kind} : '';
}

# When in [FROM, TO) a server that says that it sleeps first does so: one that was woken already, or has not come to rest, has work to do.
sub _at_rest {
	my ($self, $states, $tid, $from, $to) = @_;
	while ($from < $to) {
		my $i = $states->at($tid, $from) or return $from;
		return $from if $i->{kind} eq 'blocked' || $i->{kind} eq 'absent';
		$from = $i->{to};
	}
	return;
}

# in_loop(INTERVAL): does a thread sleep there as the event loop of a program does, by its stack?
sub in_loop {
	my ($self, $i) = @_;
	# A stack is a long text, and a client that asks its server one thing after another sleeps with the same one all the time.
	return $self->{loop}{ $i->{stack_id} // 0 } //= do {
		my $stack = $self->{kernel}->threads->stack($i->{stack_id});
		defined $stack && $self->{reasons}->is_loop($stack) ? 1 : 0;
	};
}
1;
