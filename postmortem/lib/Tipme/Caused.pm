# SPDX-License-Identifier: GPL-2.0-only
# Did an input event cause a change of the screen? The wake-up chain back from the change tells.
package Tipme::Caused;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent                  qw(Tipme::Caused::Partners Tipme::Caused::SetGoing);
use Tipme::Caused::Partners qw(drawer);
use Tipme::DisplaySource;
use Tipme::Hops qw(hops);
use Tipme::KernelEvents;
use Tipme::Moments;
use Tipme::Naps qw(asks_server);
use Tipme::WakeupChain;
use Tipme::WakeupChain::Wait qw(by_a_timer);

my $NS_PER_MS  = 1_000_000;
my $NEAR_NS    = 60_000_000;      # records this far before a change tell who woke the client for it
my $SILENCE_NS = 100_000_000;     # in a film, only what comes after so long a silence is looked at
my $MAX_CHECKS = 12;              # bursts of one event that are traced back; with more it is a film
my $FIRST      = 3;               # so many bursts after a silence may tell what made them come
my $FRAME_NS   = 50_000_000;      # between frames there is less
my $MOMENT_NS  = 1_000_000_000;   # a client that waits a moment after an event waits no longer
my $LONG_NS    = 200_000_000;     # what it then does takes long from here on
my $SELDOM     = 3;               # times fewer timers of its own than when it looks by the clock
my $NAPS       = 5;               # in a row: it looks by the clock whether something has come

# new(kernel => Kernel, reasons => Reasons, rest => AtRest, path => InputPath)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# last_of(EVENT, BURSTS): the last of them that the event has caused, and how that is known: 'chain'
# or
# 'paced' (exact; the second by a thread of the client's that paces frames), or [ thread of the
# client, when it asked ] (inferred: see _waited_for); nothing: none
sub last_of {
	my ($self, $e, @b) = @_;
	return $self->_in_film($e, @b) if @b > $MAX_CHECKS;
	for (reverse @b) {
		my $how = $self->_caused($e, $_) or next;
		return $how eq 'paced' ? $self->_in_film($e, @b) : ($_, $how);
	}
	return;
}

# Of a film, or of frames that a clock of the client's paces, only what comes after silence may be
# an answer, and the first of it is. Where its first frame waited for a timer of others besides, the
# next ones tell. The film may have stood still before the event was delivered, too, where that came
# late. Where it went on at once, only a long silence after that counts.
sub _in_film {
	my ($self, $e, @b) = @_;
	my ($last) = grep { $_->{ts_ns} < $e->{deliver_ns} } reverse @{ $e->{damages} // [] };
	my ($t, $n, %first) = ($last ? $last->{ts_ns} : $e->{deliver_ns}, $FIRST);
	my %judged  = map { $_->[0] => 1 } @b;
	my $silence = $SILENCE_NS;
	for (@{ $e->{bursts} }) {
		my $gap = $_->[0] - $t;
		$n                = $gap >= $silence ? 0 : $gap > $FRAME_NS ? $FIRST : $n;
		$n                = $FIRST   if !$n && !$judged{ $_->[0] };    # it is an answer already
		$first{ $_->[0] } = 1        if $n++ < $FIRST;
		$silence          = $LONG_NS if $_->[0] - $e->{deliver_ns} < $SILENCE_NS;
		$t                = $_->[1];
	}
	@b = grep { $first{ $_->[0] } } @b;
	splice @b, $FIRST * $MAX_CHECKS if @b > $FIRST * $MAX_CHECKS;
	for (@b) { my $how = $self->_caused($e, $_); return ($_, $how) if $how }
	return;
}

sub _caused {
	my ($self, $e, $b) = @_;
	my $t      = $self->request_ns($e, $b->[2][0]);
	my $drawer = drawer($e, $b->[2][0]);
	my $near   = $self->{kernel}
		->states($t - $NEAR_NS > $e->{deliver_ns} ? $t - $NEAR_NS : $e->{deliver_ns}, $t);
	# A client that its own timer has just woken blinks, or plays.
	my $timer = $self->_own_timer($e, $near, $t, $drawer, beyond_server => 1);
	return [] if $drawer == $e->{pid} && $self->_after_asking($e, $near, $t);
	my $late =
		   $timer
		&& !_by_network($near, $timer)
		&& $timer->{to} - $timer->{from} > $FRAME_NS
		&& $t - $timer->{to} < $LONG_NS;
	my $states = $self->{kernel}->states($e->{deliver_ns} - $NS_PER_MS, $t);
	return 0 if $late && !$self->_waited_in_vain($e, $states, $t);
	my ($tid, $ran) = $self->_prepared($e, $states, $drawer, $t);
	return 0 if !defined $tid || $ran <= $e->{deliver_ns};
	my $chain    = $self->chain($states, $e);
	my $segments = $chain->walk_once($tid, $e->{deliver_ns}, $ran);
	# Whether a clock was set by the press or by its release nobody knows.
	return 0 if $e->{kind} eq 'key_release' && $self->_has_own_clock($e, $chain);
	my @clock = grep { $self->_moments->is_own_clock($e, $_, $chain) } $chain->waits;
	$_->{run} = _one_wait($chain, $_->{tid}, $states->before(@$_{qw(tid to)})) for @clock;
	my @hops = @clock ? $self->_hops($e, $segments) : ();
	return 0 if $chain->reached && $self->_of_a_new_client($e, $segments);
	my $watched = $self->_by_a_watcher($e, $chain, $segments);
	return []
		if
		grep { $_->{to} >= $watched && $self->_moments->after_a_moment($e, \@hops, $t, $_, @clock) }
		@clock;
	return 0  if $late;
	return [] if $self->_set_before($e, $states, $chain, $segments);
	return $self->_waited_for($e, $states, $chain, $segments) if !$chain->reached;
	return 0 if !$self->_through_client($e, $segments) || $watched;
	my $slept = $self->_of_another($e, $states, $segments);
	return $self->_done_meanwhile($e, $b, $states, $slept, $t) ? [] : 0 if $slept;
	my ($net, $paced, @own) = (0, 0);
	my $held  = $self->{rest}->free_at($e);
	my @waits = grep {
		!$held || $_->{tid} != $held->{tid} || $_->{from} < $held->{from} || $_->{to} > $held->{to}
	} $chain->waits;

	# A sleep in which it could not take its next event is a part of what it does for this one.
	for my $w (@waits) {
		# The client's own timer ended it; or an interrupt the server's, which then brought the
		# client another event.
		next if !$w->{waker} || $w->{waker}{context} eq 'task';
		my $pid = $self->_pid($w->{tid}, $w->{to});
		if ($pid == $e->{pid} && $self->{rest}->waits_for_events($e, $w->{tid}, $w->{reason})) {
			if ($w->{waker}{context} ne 'softirq_irq') { push @own, $w; next }
			# The network is no timer; it brings answers to who is usually answered by it.
			return 0 if !$self->_usually_through($e, 'network');
			$net = 1;
			next;
		}
		# A thread that has the timers of others slept until one of them; one that paces frames does
		# so for less.
		return 0 if $w->{to} - $w->{from} > $FRAME_NS && $chain->is_idle_there($w);
		$paced = 1
			if $pid == $e->{pid} && $w->{waker}{context} eq 'hardirq' && $chain->is_idle_there($w);
		return 0
			if ($pid == $e->{server}{pid} || $pid == $drawer && $pid != $e->{pid})
			&& $w->{reason}
			&& $w->{reason}{class} eq 'loop';
	}
	return
		  @own   ? $self->_after_a_timer(@own)
		: $net   ? []
		: $paced ? 'paced'
		:          'chain';
}

# Nothing but its own timer woke the client, again and again: it had asked another process, and
# looked by the clock whether the answer had come. It is no clock of its own if it did not do so
# before the event, and drew nothing meanwhile.
sub _after_asking {
	my ($self, $e, $near, $t) = @_;
	$self->_own_timer($e, $near, $t, undef, beyond_server => 1) or return 0;
	my $states = $self->{kernel}->states($e->{deliver_ns} - $NS_PER_MS, $t);
	my $timer  = $self->_own_timer($e, $states, $t, undef, beyond_server => 1) or return 0;
	my $tid    = $self->{rest}->hand($e);
	my $run    = $self->chain($states, $e)->naps->run($tid, $timer);
	return 0
		if !$run
		|| $run->{naps} < $NAPS
		|| $run->{asked}[1] <= $e->{deliver_ns}
		|| $t - $timer->{to} >= $LONG_NS;
	my $rest = $self->{rest};
	return 0 if $rest->timers($tid, $e->{deliver_ns}, $run->{asked}[1]);
	# Others of its timers may have come now and then before.
	my $long   = $t - $run->{asked}[1] < $MOMENT_NS ? $t - $run->{asked}[1] : $MOMENT_NS;
	my @before = $rest->timers($tid, $e->{deliver_ns} - $long, $e->{deliver_ns});
	my @after  = $rest->timers($tid, $run->{asked}[1],         $run->{asked}[1] + $long);
	return @before < $NAPS || @before * $SELDOM < @after ? 1 : 0;
}

sub _has_own_clock {
	my ($self, $e, $chain) = @_;
	return
		scalar grep { by_a_timer($_) && $self->_pid($_->{tid}, $_->{to}) == $e->{pid} }
		$chain->waits;
}

# The client's own timers have a part in it. Yet it is an answer if they last no longer than a frame
# does, all together: so waits, in one step or in several, who paces what he draws, or looks whether
# another process is done.
sub _after_a_timer {
	my ($self, @own) = @_;
	my $paced = 0;
	$paced += $_->{to} - $_->{from} for @own;
	return $paced > $FRAME_NS ? 0 : 'chain';
}

# Was the client's last sleep before it drew one in which it waited for somebody whom it had asked?
sub _waited_in_vain {
	my ($self, $e, $states, $t) = @_;
	my $timer = $self->_own_timer($e, $states, $t, undef, beyond_server => 1) or return 0;
	return _one_wait($self->chain($states, $e), $self->{rest}->hand($e), $timer) ? 1 : 0;
}

# The wait for somebody asked that a sleep is, as Naps has it; none that is one of many looks.
sub _one_wait {
	my ($chain, $tid, $i) = @_;
	my $run = $chain->naps->run($tid, $i);
	return $run && $run->{naps} == 1 ? $run : undef;
}

# Whoever types (a script, an input method) was there, too, when the server read the key, and may
# later have the client draw. Only what the client itself has set going answers the key: from the
# server the chain goes on to the client, and to nobody else first.
sub _through_client {
	my ($self, $e, $segments) = @_;
	for my $s (@$segments) {
		my $who = $self->{kernel}->threads->at($s->{tid}, $s->{to} - 1);
		next if $who->{kernel} || $who->{pid} == $e->{server}{pid};
		return $who->{pid} == $e->{pid};
	}
	return 1;
}

# Did the server, on the way, wake the client for another input event, and for nothing that it had
# asked? What the client then does is no answer to this one. (Mostly an interrupt has woken the
# server for that event, and the chain ends there; but it may be awake for another client.) The
# sleep that this ended; 0: it did not. SHORT: also one too short to have a stack, where nobody
# knows whether it waited for events.
sub _of_another {
	my ($self, $e, $states, $segments, $short) = @_;
	my $x = $e->{server};
	for my $k (1 .. $#$segments) {
		my ($by, $s) = @$segments[ $k - 1, $k ];
		next
			if $by->{tid} != $x->{tid}
			|| $s->{tid} == $x->{tid}
			|| $self->_pid($s->{tid}, $s->{from}) != $e->{pid};
		my $i = $states->before(@$s{qw(tid from)});
		next if !$i || $i->{kind} ne 'blocked';
		next if !$self->{rest}->rests_in($e, $s->{tid}, $i) && !($short && !$i->{stack_id});
		# Of several that it was woken for at once, this may be one: a key that was pressed and let
		# go while the compositor was stopped.
		my ($d, @before) = reverse grep { $_->{input_seq} && ($_->{pid} // 0) == $e->{pid} }
			$x->between('deliver', $i->{from}, $i->{to});
		next if !$d || grep { $_->{input_seq} == $e->{seq} } $d, @before;
		return $i
			if !grep { ($_->{pid} // 0) == $e->{pid} }
			$x->between('request', $d->{ts_ns} - $NS_PER_MS, $i->{to});
	}
	return 0;
}

# A client that looks at the screen by its own clock keeps the server awake, and nobody waits for
# it. A chain that came by that clock has strayed. Where the client's own clock has a part in it,
# that holds from there on: (the last time of such a clock, 0: there is none).
sub _by_a_watcher {
	my ($self, $e, $chain, $segments) = @_;
	my @timers = grep { $_->{waker} && $_->{waker}{context} eq 'hardirq' } $chain->waits
		or return 0;
	my %looks  = map  { $_->{pid} => 1 } grep { $_->{looks} } $self->_hops($e, $segments);
	my ($last) = sort { $b <=> $a }
		map { $looks{ $self->_pid($_->{tid}, $_->{to}) } ? $_->{to} : () } @timers;
	return $last // 0;
}

# What another program showed that the press had started (its first window has the keyboard now),
# and ours draws because of that, belongs to that program's start.
sub _of_a_new_client {
	my ($self, $e, $segments) = @_;
	my @looks = map { $_->{pid} } grep { $_->{looks} } $self->_hops($e, $segments) or return 0;
	my %since = map { $_->{pid} => 1 }
		grep { $_->{state} && $_->{pid} && $_->{ts_ns} > $e->{deliver_ns} }
		$e->{server}->all('client');
	return scalar grep { $since{$_} } @looks;
}

# The sleep of the client before it drew, if its own timer ended it: that answers nobody, as such.
# beyond_server: the last one that was not spent on what it had asked of the server.
sub _own_timer {
	my ($self, $e, $states, $t, $drawer, %o) = @_;
	my ($tid, $ran) = $self->_prepared($e, $states, $drawer // $e->{pid}, $t);
	return if !defined $tid;
	my $i = $states->before($tid, $ran);
	$i = $states->before($tid, $i->{from})
		while $i
		&& ($i->{kind} ne 'blocked'
		|| $o{beyond_server} && asks_server($e->{server}, $e->{pid}, $states, $tid, $i));
	return if !$i || !defined $i->{wake} || !$self->{rest}->rests_in($e, $tid, $i);
	my $context = $states->events->context($i->{wake});
	return $context == 2 || $context == 4 ? $i : undef;    # softirq_irq, hardirq
}

sub _by_network {
	my ($states, $i) = @_;
	return $states->events->context($i->{wake}) == 2;
}    # softirq_irq

# chain(STATES, EVENT): a walker for it
sub chain {
	my ($self, $states, $e) = @_;
	return Tipme::WakeupChain->new(
		states => $states,      threads    => $self->{kernel}->threads, reasons => $self->{reasons},
		server => $e->{server}, server_tid => $e->{server}{tid}, server_pid => $e->{server}{pid},
		enters_pid => $e->{server}->enters_by->{pid},
		client_pid => ($e->{start} ? $e->{start}{by_pid} : $e->{pid}) // -1
	);
}

sub _moments {
	my ($self) = @_;
	return $self->{moments} //=
		Tipme::Moments->new(map { $_ => $self->{$_} } qw(kernel rest path trigger));
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
			if ($i->{kind} eq 'running') {
				($tid, $at) = ($try, $end) if !defined $at || $end > $at;
				last;
			}
			last if $i->{from} >= $end || defined $at && $i->{from} <= $at;
			$end = $i->{from};
		}
	}
	return ($tid, $at);
}

# asked_by(EVENT, STATES, DAMAGE, TIME): (thread of the client, when it ran last, 1: another one has
# sent the rest of it) that asked for
# what the server began at that time, as far as is known: the one that ran last. What the server
# begins just after another client's grab had waited for that; the thread that takes the client's
# events had sent it, if it rested by then: what its other threads did meanwhile sent nothing.
sub asked_by {
	my ($self, $e, $states, $damage, $t) = @_;
	my ($g) = grep {
			   defined $_->[1]
			&& $_->[1] <= $t
			&& $t - $_->[1] < $NEAR_NS
			&& !Tipme::DisplaySource::is_of($_->[3], @$e{qw(pid client)})
	} $e->{server}->grabs;
	my $tid = $g           ? $self->{rest}->hand($e)        : undef;
	my $s   = defined $tid ? $states->before($tid, $g->[1]) : undef;
	if ($s && $s->{kind} eq 'blocked' && $self->{rest}->rests_in($e, $tid, $s)) {
		$s = $states->before($tid, $s->{from})
			while $s && $s->{kind} ne 'running' && $s->{from} > $e->{deliver_ns};
		return ($tid, $s->{to})
			if $s && $s->{kind} eq 'running' && $s->{to} > $e->{deliver_ns} && $s->{to} < $g->[1];
	}
	my ($k)  = grep { $e->{bursts}[$_][2][-1] == $damage } 1 .. $#{ $e->{bursts} // [] };
	my @rest = $k ? $self->sends_the_rest($e, @{ $e->{bursts} }[ $k - 1, $k ]) : ();
	return @rest ? (@rest, 1) : $self->_prepared($e, $states, drawer($e, $damage), $t, 1);
}

# handed_in(INTERVAL, STATES): [ thread, when it ran last, 0 ] of a server that is itself a client,
# and gave the picture to the one that took it; else ()
sub handed_in {
	my ($self, $i, $states) = @_;
	my ($x, $d) = ($i->{event}{server}, $i->{damage});
	return if !$d || $x->changed_by($d) == $x->{tid};
	my ($tid, $ran) = $self->last_ran($states, $x->{pid}, $d->{ts_ns});
	return defined $tid && $ran > $i->{event}{deliver_ns} ? [ $tid, $ran, 0 ] : ();
}

# request_ns(EVENT, DAMAGE): when the server began the request that did it
sub request_ns {
	my ($self, $e, $d) = @_;
	return $e->{server}->asked_ns($e, $d);
}

1;
