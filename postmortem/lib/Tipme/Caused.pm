# SPDX-License-Identifier: GPL-2.0-only
# Did an input event cause a change of the screen? The wake-up chain back from the change tells.
package Tipme::Caused;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::WakeupChain;

my $NS_PER_MS  = 1_000_000;
my $NEAR_NS    = 60_000_000;     # records this far before a change tell who woke the client for it
my $SILENCE_NS = 100_000_000;    # in a film, only what comes after so long a silence is looked at
my $MAX_CHECKS = 12;             # bursts of one event that are traced back; with more it is a film

# new(kernel => Kernel, reasons => Reasons, inferred => Inferred, rest => AtRest)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# last_of(EVENT, BURSTS): the last of them that the event has caused: the chain back from it comes to the client
# handling the event; undef: none
sub last_of {
	my ($self, $e, @b) = @_;
	if (@b > $MAX_CHECKS) {
		my $t = $e->{deliver_ns};
		my @silent;
		for (@b) { push @silent, $_ if $_->[0] - $t >= $SILENCE_NS; $t = $_->[1] }
		@b = @silent > $MAX_CHECKS ? @silent[ 0 .. $MAX_CHECKS - 1 ] : @silent;
		for (@b) { return $_ if $self->_caused($e, $_) }
		return;
	}
	for (reverse @b) { return $_ if $self->_caused($e, $_) }
	return;
}

sub _caused {
	my ($self, $e, $b) = @_;
	my $t = $self->request_ns($e, $b->[2][0]);
	my $near = $self->{kernel}->states($t - $NEAR_NS > $e->{deliver_ns} ? $t - $NEAR_NS : $e->{deliver_ns}, $t);
	return 0 if $self->_own_timer($e, $near, $t);
	my $states = $self->{kernel}->states($e->{deliver_ns} - $NS_PER_MS, $t);
	my ($tid, $ran) = $self->last_ran($states, $e->{pid}, $t);
	return 0 if !defined $tid || $ran <= $e->{deliver_ns};
	my $chain = $self->chain($states, $e);
	my $segments = $chain->walk_once($tid, $e->{deliver_ns}, $ran);
	return 0 if !$chain->reached || !$self->_through_client($e, $segments);
	for my $w ($chain->waits) {
		next if !$w->{reason} || $w->{reason}{class} ne 'loop';
		# The client's own timer ended it; or an interrupt the server's, which then brought the client another event.
		next if !$w->{waker} || $w->{waker}{context} eq 'task';
		my $pid = $self->_pid($w->{tid}, $w->{to});
		return 0 if $pid == $e->{pid} || $pid == $e->{server}{pid};
	}
	return 1;
}

# Whoever types (a script, an input method) was there, too, when the server read the key, and may later have the client draw. Only what the client itself
# has set going answers the key: from the server the chain goes on to the client, and to nobody else first.
sub _through_client {
	my ($self, $e, $segments) = @_;
	for my $s (@$segments) {
		my $who = $self->{kernel}->threads->at($s->{tid}, $s->{to} - 1);
		next if $who->{kernel} || $who->{pid} == $e->{server}{pid};
		return $who->{pid} == $e->{pid};
	}
	return 1;
}

# A client that its own timer woke in its event loop blinks, or plays: that answers nobody.
sub _own_timer {
	my ($self, $e, $states, $t) = @_;
	my ($tid, $ran) = $self->last_ran($states, $e->{pid}, $t);
	return 0 if !defined $tid;
	my $i = $states->before($tid, $ran);
	while ($i && $i->{kind} ne 'blocked') { $i = $states->before($tid, $i->{from}) }
	return 0 if !$i || !defined $i->{wake} || !$self->{rest}->in_loop($i);
	my $context = vec($states->events->{d}, $i->{wake}, 32) >> 16 & 255;
	return $context == 2 || $context == 4 ? 1 : 0;    # softirq_irq, hardirq
}

# chain(STATES, EVENT): a walker for it
sub chain {
	my ($self, $states, $e) = @_;
	return Tipme::WakeupChain->new(states => $states, threads => $self->{kernel}->threads, reasons => $self->{reasons},
		server => $e->{server}, server_tid => $e->{server}{tid}, server_pid => $e->{server}{pid}, client_pid => $e->{pid} // -1);
}

sub _pid { my ($self, $tid, $t) = @_; return $self->{kernel}->threads->at($tid, $t)->{pid} }

# last_ran(STATES, PID, TIME): (thread of the process, time) that ran last up to TIME
sub last_ran {
	my ($self, $states, $pid, $t) = @_;
	my ($tid, $at);
	for my $try ($pid, grep { $_ != $pid } $self->{kernel}->threads->tids_of($pid)) {
		next if $try != $pid && !@{ $states->events->of_tid($try) };
		my $end = $t;
		while (my $i = $states->before($try, $end)) {
			if ($i->{kind} eq 'running') { ($tid, $at) = ($try, $end) if !defined $at || $end > $at; last }
			last if $i->{from} >= $end || defined $at && $i->{from} <= $at;
			$end = $i->{from};
		}
	}
	return ($tid, $at);
}

# request_ns(EVENT, DAMAGE): when the server began the request that did it
sub request_ns {
	my ($self, $e, $d) = @_;
	my $x = $e->{server};
	if (!$x->{exact}) {
		my $turn = $self->{inferred}->turn($e, $d);
		return $turn->{asked} // $turn->{from};
	}
	for (my $k = $x->lower('x_request', $d->{ts_ns} + 1) - 1; $k >= 0; $k--) {
		my $r = $x->{x_request}[$k];
		last if $r->{ts_ns} < $d->{ts_ns} - 1_000 * $NS_PER_MS;
		return $r->{ts_ns} if $r->{client} == $d->{client} && $r->{ts_ns} + $r->{duration_ns} + $NS_PER_MS >= $d->{ts_ns};
	}
	return $d->{ts_ns};
}
1;
