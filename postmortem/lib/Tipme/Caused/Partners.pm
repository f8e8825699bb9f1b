# SPDX-License-Identifier: GPL-2.0-only
# A part of Caused: through whom the answers to a client's events usually come, and which thread
# prepared what another one has sent.
package Tipme::Caused::Partners;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits

use Exporter    qw(import);
use Tipme::Hops qw(hops);
use Tipme::Sender;
use Tipme::WakeupChain::Wait qw(by_a_timer);

our @EXPORT_OK = qw(drawer);

my $NS_PER_MS  = 1_000_000;
my $AT_ONCE_NS = 100_000_000;    # answers so quick tell through whom they usually come
my $MAX_LIKE   = 5;              # of them that are looked at
my $OFTEN      = 2;              # that must have come through a process
my $PAUSE_NS   = 10_000_000;     # who sleeps so long is done; for less it waits for other threads
my $FRAME_NS   = 50_000_000;     # between frames there is less

# Did the answers to other events of this client come through that process, or was it asked for them
# and answered? The nearest ones that were answered at once tell.
sub _usually_through {
	my ($self, $e, $pid) = @_;
	my $of = $self->{partners}{ $e->{n} } //= $self->_partners($e);
	return ($of->{$pid} // 0) >= $OFTEN ? 1 : 0;
}

# still_busy(EVENT, UNTIL): the process through which the answers to other events of this client
# came, if it has not been at rest since the delivery, so that it could not have been woken; undef:
# there is none. That this event asked it for anything is not known.
sub still_busy {
	my ($self, $e, $until) = @_;
	my @by = $self->_partners_of($e);
	return (grep { !$self->{rest}->rested($_, $e->{deliver_ns}, $until) } @by)[0];
}

# The processes through which answers usually come, the most usual first
sub _partners_of {
	my ($self, $e) = @_;
	my $of = $self->{partners}{ $e->{n} } //= $self->_partners($e);
	return sort { $of->{$b} <=> $of->{$a} || $a <=> $b }
		grep { $_ ne 'network' && $of->{$_} >= $OFTEN } keys %$of;
}

# Another event (the key is let go) may wake the client just before the one does who worked for this
# event; who is awake is not woken again. So it is where answers usually come through that one, he
# did so up to when the client was woken, and the client draws for the first time now.
sub _done_meanwhile {
	my ($self, $e, $b, $states, $slept, $t) = @_;
	return 0 if $b != $e->{bursts}[0];
	for my $pid ($self->_partners_of($e)) {
		my ($tid, $ran) = $self->last_ran($states, $pid, $t);
		next
			if !defined $tid
			|| $ran <= $slept->{from}
			|| $ran < $slept->{to} - $NS_PER_MS && !$self->_is_brought($states, $pid, $slept);
		my $chain    = $self->chain($states, $e);
		my $segments = $chain->walk_once(
			$tid, $e->{deliver_ns}, $ran,
			unless => \&by_a_timer
		);
		return 1
			if $chain->reached
			&& $self->_through_client($e, $segments)
			&& !$self->_of_another($e, $states, $segments);
	}
	return 0;
}

# Another event (the key is let go) may wake the client between the turn in which it sets a timer
# for its next frame, and the end of that. So it is where such a timer brought what was drawn, and
# the turn before was of this event.
sub _set_before {
	my ($self, $e, $states, $chain, $segments) = @_;
	my $slept = $self->_of_another($e, $states, $segments, 1) || return 0;
	my ($timer) = grep {
			   by_a_timer($_)
			&& $_->{from} >= $slept->{to}
			&& $_->{to} - $slept->{from} <= $FRAME_NS
			&& $self->_pid($_->{tid}, $_->{to}) == $e->{pid}
	} $chain->waits;
	return 0 if !$timer || $slept->{from} <= $e->{deliver_ns};
	my $before = $self->chain($states, $e);
	my $way    = $before->walk_once($timer->{tid}, $e->{deliver_ns}, $slept->{from});
	return
		   $before->reached
		&& $self->_through_client($e, $way)
		&& !$self->_of_another($e, $states, $way) ? 1 : 0;
}

# Was a kernel thread that the process had woken in that sleep (a terminal's, which brings what is
# written) still at work when the sleep ended, or a moment before?
sub _is_brought {
	my ($self, $states, $pid, $slept) = @_;
	for my $w ($states->events->wakings($slept->{from}, $slept->{to})) {
		my ($whom, $t, $by) = @$w;
		next
			if $self->_pid($by, $t) != $pid
			|| !$self->{kernel}->threads->at($whom, $t)->{kernel};
		my $i = $states->at($whom, $slept->{to}) or next;
		return 1 if $i->{kind} ne 'blocked' || $i->{from} >= $slept->{to} - $NS_PER_MS;
	}
	return 0;
}

sub _partners {
	my ($self, $e) = @_;
	my @like = sort {
		abs($a->{deliver_ns} - $e->{deliver_ns}) <=> abs($b->{deliver_ns} - $e->{deliver_ns})
			|| $a->{n} <=> $b->{n}
	} grep {
			   $_ != $e
			&& ($_->{pid} // 0) == $e->{pid}
			&& $_->{client} == $e->{client}
			&& $_->{candidate}
			&& @{ $_->{bursts} }
			&& $_->{bursts}[0][0] - $_->{deliver_ns} < $AT_ONCE_NS
	} $self->{path}->events;
	splice @like, $MAX_LIKE if @like > $MAX_LIKE;
	my %n;
	for my $o (@like) {
		my $t      = $self->request_ns($o, $o->{bursts}[0][2][0]);
		my $states = $self->{kernel}->states($o->{deliver_ns} - $NS_PER_MS, $t);
		my ($tid, $ran) =
			$self->last_ran($states, drawer($o, $o->{bursts}[0][2][0]), $t);
		next if !defined $tid || $ran <= $o->{deliver_ns};
		my $chain    = $self->chain($states, $o);
		my $segments = $chain->walk_once($tid, $o->{deliver_ns}, $ran);
		next if !$chain->reached;
		my %seen;
		$n{network}++ if grep {
				   $_->{waker}
				&& $_->{waker}{context} eq 'softirq_irq'
				&& $self->_pid($_->{tid}, $_->{to}) == $o->{pid}
				&& $self->{rest}->waits_for_events($o, $_->{tid}, $_->{reason})
		} $chain->waits;
		$n{$_}++
			for grep { !$seen{$_}++ }
			(map { $_->{looks} ? () : $_->{pid} } hops($self->{kernel}->threads, $o, $segments)),
			$self->_asked_and_answered($o, $states, $t);
	}
	return \%n;
}

# The processes that the client woke after the delivery, and that then woke it, before it drew at a
# time: what it drew may have waited for the server besides, and the chain not come through them.
sub _asked_and_answered {
	my ($self, $o, $states, $t) = @_;
	my (%asked, %answered);
	for my $w ($self->_wakings($o, $states, $o->{deliver_ns}, $t)) {
		$asked{ $w->{whom} }  = 1 if $w->{by} == $o->{pid};
		$answered{ $w->{by} } = 1 if $w->{whom} == $o->{pid} && $asked{ $w->{by} };
	}
	return grep { $_ != $o->{pid} && $_ != $o->{server}{pid} } keys %answered;
}

# (thread, when it ran last) that had prepared what a process drew at a time: the one that ran last,
# unless that only sends what the thread that takes the client's events has prepared before
sub _prepared {
	my ($self, $e, $states, $drawer, $t, $midst) = @_;
	my ($tid,  $ran)  = $self->last_ran($states, $drawer, $t);
	my ($hand, $done) = $self->sent_for($e, $states, $drawer, $tid, $ran, $midst);
	return defined $done ? ($hand, $done) : ($tid, $ran);
}

# sent_for(EVENT, STATES, DRAWER, TID, RAN, MIDST): (thread that takes the client's events, when it
# ran last) if TID, which ran until RAN, sent by its clock what that one had prepared; else ().
# midst: as Sender has it
sub sent_for {
	my ($self, $e, $states, $drawer, $tid, $ran, $midst) = @_;
	return if !defined $tid || $drawer != $e->{pid} || !$self->{rest}->knows($e);
	my $hand = $self->{rest}->hand($e);
	my $done =
		$self->{rest}->sender->prepared($states, $tid, $ran, $hand, $e->{server}{tid}, $midst);
	return defined $done ? ($hand, $done) : ();
}

# sends_the_rest(EVENT, BURST, NEXT): was the client in the midst of what it drew first? It asked
# for more after the last change of the screen, which changed nothing by itself; and a thread that
# fell asleep before that was over, until a time that it chose, sent the next: (thread that takes
# the events, when it was done); else ()
sub sends_the_rest {
	my ($self, $e, $burst, $next) = @_;
	return if !$self->{rest}->knows($e) || drawer($e, $next->[2][0]) != $e->{pid};
	my $t      = $self->request_ns($e, $next->[2][0]);
	my $states = $self->{kernel}->states($e->{deliver_ns} - $NS_PER_MS, $t);
	my $hand   = $self->{rest}->hand($e);
	my ($tid, $ran) = $self->last_ran($states, $e->{pid}, $t);
	return if !defined $tid || $tid == $hand;
	my $slept = Tipme::Sender::tick($states, $tid, $ran) or return;
	my ($done) = map { $_->{from} }
		grep {
			   $_->{kind} eq 'blocked'
			&& $_->{from} >= $burst->[0]
			&& $_->{from} < $slept->{to}
			&& $_->{to} - $_->{from} >= $PAUSE_NS
		} @{ $states->intervals($hand) };
	return if defined $done && ($slept->{real_from} // $slept->{from}) >= $done;
	my @asked = grep { ($_->{pid} // 0) == $e->{pid} }
		$e->{server}->between('request', $burst->[1], $slept->{to});
	return if !@asked;
	return ($hand, $done // $slept->{to});
}

# drawer(EVENT, DAMAGE): the process that drew: the client, or one that draws in the client's window
sub drawer {
	my ($e, $d) = @_;
	return
		   $d
		&& defined $d->{client}
		&& $d->{client} != $e->{client}
		&& $d->{pid} ? $d->{pid} : $e->{pid};
}

1;
