# SPDX-License-Identifier: GPL-2.0-only
# A part of AtRest: the thread of a client that takes its events, and the one that reads them for
# it.
package Tipme::Hand;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;

my $NS_PER_MS = 1_000_000;
my $HANDED_NS = 50_000_000;    # a thread that reads events hands one on within
my $MAX_TOLD  = 8;             # deliveries that tell who takes a client's events
my $MAX_HANDS = 4;             # threads of a client that hand an event on to each other

# hand(EVENT): the thread of the client that takes events: the first one of the process, unless a
# delivery wakes others and never that one.
sub hand {
	my ($self, $e) = @_;
	my $pid = $e->{pid};
	return $pid if !$self->_knows($e);
	return $self->{hand}{"$e->{server}{file} $e->{client} $pid"} //=
		$self->_takes_events($e, $pid) ? $pid : $self->_other_hand($e) // $pid;
}

# Has a delivery ever ended a sleep of the thread, or found it awake?
sub _takes_events {
	my ($self, $e, $tid) = @_;
	my $sleeps = $self->{sleeps}->of($tid) or return 0;
	my $k      = 0;
	for my $d ($self->_told($e)) {
		$k++ while $k < @$sleeps && defined $sleeps->[$k]{to} && $sleeps->[$k]{to} < $d->[0];
		my $s = $sleeps->[$k] or return 1;
		return 1 if $s->{from} > $d->[0];
		return 1
			if defined $s->{to}
			&& $s->{to} <= $d->[1]
			&& ($s->{waker} == $e->{server}{tid} || $self->_is_own($e, $s->{waker}, $s->{to}));
	}
	return 0;
}

sub _is_own {
	my ($self, $e, $tid, $t) = @_;
	return $tid && $self->{kernel}->threads->at($tid, $t)->{pid} == $e->{pid};
}

# Whom the server wakes by deliveries, and to whom that one hands them on. A thread that hands
# nothing on, and asks the server nothing, only reads: the one that it reads for is busy, and not
# known. The reader may wake workers, too (a compiler, a collector): who then asks the server for
# something is believed first, and what most of some deliveries say. A worker is woken by the thread
# that takes the events as well, and that one by the reader alone.
sub _other_hand {
	my ($self, $e) = @_;
	my @near = $self->_near_told($e);
	my $work = $self->_workers($e, @near);
	for my $how (qw(_who_asks_at _hand_at)) {
		my %n;
		$n{$_}++ for map { $self->$how($e, $_, $work) // () } @near;
		my ($most) = sort { $n{$b} <=> $n{$a} || $a <=> $b } keys %n;
		return $most if defined $most;
	}
	return;
}

# { thread => 1 }: those that several threads woke of those to whom some deliveries were handed on;
# whom the server wakes has no other part, though a worker may wake that one, too
sub _workers {
	my ($self, $e, @near) = @_;
	my $server = $e->{server}{tid};
	my %by;
	for my $td (@near) {
		my $ev = $self->{kernel}->states($td - $NS_PER_MS, $td + $HANDED_NS)->events;
		my %told;
		for my $w ($ev->wakings($td, $td + $HANDED_NS)) {
			my ($tid, $t, $by) = @$w;
			next if $by != $server && !$told{$by} || !$self->_is_own($e, $tid, $t);
			$told{$tid} = 1;
			$by{$tid}{$by} = 1;
		}
	}
	return { map { $_ => 1 } grep { keys %{ $by{$_} } > 1 && !$by{$_}{$server} } keys %by };
}

# The thread that deliveries wake, where it is another one than the one that takes the events;
# undef: it is not, or not known
sub _reader {
	my ($self, $e, $hand) = @_;
	return if !$self->_knows($e);
	return $self->{reader}{"$e->{server}{file} $e->{client} $hand"} //= do {
		my %n;
		for my $td ($self->_near_told($e)) {
			my $ev    = $self->{kernel}->states($td - $NS_PER_MS, $td + $HANDED_NS)->events;
			my $first = $self->_first_woken($e, $ev, $e->{server}{tid}, $td, $td + $HANDED_NS);
			$n{ $first->[0] }++ if $first;
		}
		my ($most) = sort { $n{$b} <=> $n{$a} || $a <=> $b } keys %n;
		[ defined $most && $most != $hand ? $most : () ];
		}
		->[0];
}

# Some deliveries to the client of an event, the nearest first
sub _near_told {
	my ($self, $e) = @_;
	my @near = sort { abs($a - $e->{deliver_ns}) <=> abs($b - $e->{deliver_ns}) }
		grep { $_ > $self->{kernel}->covered_from } map { $_->[0] } $self->_told($e);
	splice @near, $MAX_TOLD if @near > $MAX_TOLD;
	return @near;
}

# The first thread to ask the server for something of those to whom a delivery was handed on; undef:
# none did
sub _who_asks_at {
	my ($self,   $e,    $td)     = @_;
	my ($server, %told, $reader) = ($e->{server}{tid});
	my $ev = $self->{kernel}->states($td - $NS_PER_MS, $td + $HANDED_NS)->events;
	for my $w ($ev->wakings($td, $td + $HANDED_NS)) {
		my ($tid, $t, $by) = @$w;
		return $by if $tid == $server && $told{$by} && $by != $reader;
		next if $by != $server && !$told{$by} || !$self->_is_own($e, $tid, $t);
		$reader //= $tid;
		$told{$tid} = 1;
	}
	return;
}

# The last one to whom a delivery at that time was handed on, but WORKERS
sub _hand_at {
	my ($self, $e, $td, $workers) = @_;
	my $server = $e->{server}{tid};
	my $ev     = $self->{kernel}->states($td - $NS_PER_MS, $td + $HANDED_NS)->events;
	my @hands;
	for (1 .. $MAX_HANDS) {
		my ($by, $t) = @hands ? @{ $hands[-1] } : ($server, $td);
		push @hands, $self->_first_woken($e, $ev, $by, $t, $td + $HANDED_NS, $workers) // last;
	}
	return if !@hands || @hands == 1 && !$self->_asks($ev, $hands[0][0], $server, $td);
	return $hands[-1][0];
}

# [ thread of the client, when ] that BY woke first in [FROM, TO), but WORKERS
sub _first_woken {
	my ($self, $e, $ev, $by, $from, $to, $workers) = @_;
	for my $w ($ev->wakings($from, $to, $by)) {
		my ($tid, $t) = @$w;
		next                if $tid == $by || $workers && $workers->{$tid};
		return [ $tid, $t ] if $self->_is_own($e, $tid, $t);
	}
	return;
}

sub _asks {
	my ($self, $ev, $tid, $server, $from) = @_;
	for my $k (@{ $ev->of_tid($server) }) {
		return 1
			if $ev->kind($k) == Tipme::KernelEvents::WAKING
			&& $ev->tid($k) == $server
			&& $ev->waker($k) == $tid
			&& $ev->ts($k) > $from;
	}
	return 0;
}

1;
