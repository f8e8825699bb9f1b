# SPDX-License-Identifier: GPL-2.0-only
# A thread that asked another process for something, and then looks again and again, by the clock,
# whether the answer has come: its own timer ends each of its naps, and yet it waits for somebody.
package Tipme::Naps;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Exporter qw(import);
use Tipme::KernelEvents;

our @EXPORT_OK = qw(asks_server);

my $WORKS_NS = 30_000_000;             # who runs for longer between two naps does something else
my $LEAST_NS = 100_000_000;            # what somebody lets go by for an answer is not shorter
my $ASKED_NS = 20_000_000;             # before the first nap
my $NAP_NS   = 50_000_000;             # who looks for something looks so often at least, ...
my $PART = 0.1;   # ... or, if it does so less and less often, each tenth of the time since it asked
my $SELECTION_REQUEST = 30;            # of the X protocol
my $SERVES_NS         = 1_000_000;     # the server tells the owner while it executes what was asked
my $EVENTS            = 2;             # that may come one after the other between two naps
my $ECHOES            = 1;             # times that it draws while it waits for its own child
my $FOUND_NS          = 50_000_000;    # who looks by the clock finds an end within
my ($TASK, $HARDIRQ) = (0, 4);

# new(states => TaskStates, threads => Threads, reasons => Reasons, server => DisplaySource or
# undef, server_tid, server_pid)
sub new { my ($class, %o) = @_; return bless { %o, runs => {} }, $class }

# run(TID, INTERVAL): the run of naps that a sleep of the thread, as TaskStates has it, belongs to,
# as far as that sleep: { from (the first nap's begin, ns), to, last (the last one's begin), asked
# => [ thread of another process, when ], naps (how many), answered (when another process ended one
# of them last, ns; or undef) }; undef: it is none. An event that comes meanwhile does not end the
# run. What the client draws does, but for an echo of one that waits for its own child.
sub run {
	my ($self, $tid, $i) = @_;
	my $known = $self->{runs}{$tid} //= {};
	return $self->within($tid, $i) if !$self->_by_timer($i);
	my $run =
		exists $known->{ $i->{from} } ? $known->{ $i->{from} } : $self->_find($tid, $i, $known);
	return $run && $run->{to} - $run->{from} >= $LEAST_NS ? $run : undef;
}

# within(TID, INTERVAL): the same, where a later nap is known to be of that run
sub within {
	my ($self, $tid, $i) = @_;
	my $run = $self->{runs}{$tid} ? $self->{runs}{$tid}{ $i->{from} } : undef;
	return $run && $run->{to} - $run->{from} >= $LEAST_NS ? $run : undef;
}

sub _by_timer {
	my ($self, $i) = @_;
	return defined $i->{wake}
		&& $self->{states}->events->context($i->{wake}) == $HARDIRQ;
}

sub _find {
	my ($self, $tid, $i, $known) = @_;
	my ($states, $last, $first, $events, $echoes, $asked, $child, $by, $answered, @of) =
		($self->{states}, $i, undef, 0, 0);
	while ($i && ($self->_is_nap($i) || $self->_is_answer(\$by, $i, @of))) {
		$events = $self->_by_timer($i) ? 0 : $events + 1;
		last if $events > $EVENTS;
		$answered = $i->{to} if !$self->_is_nap($i) && !defined $answered;
		($first, my $t) = ($i, $i->{from});
		push @of, $i;
		$asked = $self->asked($tid, $first->{real_from} // $t);
		undef $asked
			if $asked
			&& ($child && $asked->[0] != $child || defined $by && !$self->_went_to($asked, $by));
		last if $asked;
		my $ran = 0;
		undef $i;

		while (my $b = $states->before($tid, $t)) {
			if ($b->{kind} eq 'blocked') { $i = $b; last }
			$ran += $t - $b->{from} if $b->{kind} eq 'running';
			last if $b->{kind} eq 'absent' || $ran > $WORKS_NS || $b->{from} >= $t;
			$t = $b->{from};
		}
		next if !$i || !$self->_draws($tid, $i->{to}, $first->{from});
		$child //= $self->_child_that_ended($tid, $last);
		last if !$child || ++$echoes > $ECHOES;
	}
	# One that is too long is not of the run that goes on behind it; by itself it may be a wait.
	my ($long) = @of > 1 ? grep { _too_long($of[$_], $first) } 0 .. $#of : ();
	if ($asked && defined $long) {
		$known->{ $_->{from} } = undef for @of[ 0 .. ($long || 1) - 1 ];
		return;
	}
	my $run = $asked
		? {
		from  => $first->{from}, to   => $last->{to}, last     => $last->{from},
		asked => $asked,         naps => scalar @of,  answered => $answered
		}
		: undef;
	$known->{ $_->{from} } = $run for @of;
	return $run;
}

# The child of a thread's process that ended last before the end of a nap, and not long before;
# 0: none
sub _child_that_ended {
	my ($self, $tid, $nap) = @_;
	my ($ev, $threads) = ($self->{states}->events, $self->{threads});
	my $own = $threads->at($tid, $nap->{from})->{pid};
	for my $e (reverse @{ $ev->of_kind(Tipme::KernelEvents::EXIT) }) {
		my ($who, $t) = ($ev->tid($e), $ev->ts($e));
		next     if $t > $nap->{to};
		return 0 if $t < $nap->{to} - $FOUND_NS;
		my $child = $threads->at($who, $t);
		return $who if $child->{pid} == $who && ($child->{ppid} // 0) == $own;
	}
	return 0;
}

sub _too_long {
	my ($nap, $first) = @_;
	my $ns = $nap->{to} - $nap->{from};
	return $ns > $NAP_NS && $ns > $PART * ($nap->{to} - $first->{from});
}

# Ended by a timer, or by the server, in an event loop; of a short one the stack is not known, and
# a waking may be lost.
sub _is_nap {
	my ($self, $i) = @_;
	return 0 if $i->{kind} ne 'blocked' || $i->{state} ne 'sleeping';
	return 1 if !defined $i->{wake};
	my $ev      = $self->{states}->events;
	my $context = $ev->context($i->{wake});
	return 0
		if $context != $HARDIRQ
		&& !($context == $TASK && $ev->waker($i->{wake}) == $self->{server_tid});
	my $stack = $self->{threads}->stack($i->{stack_id});
	my $r     = defined $stack ? $self->{reasons}->of($stack, undef) : undef;
	return !$r || $r->{class} eq 'loop' ? 1 : 0;
}

# Another process ended a nap, to bring the answer, which is looked at when the next nap is over.
# BY takes that process: it is the same for all of these.
sub _is_answer {
	my ($self, $by, $i, @later) = @_;
	return 0 if !@later || $i->{kind} ne 'blocked' || !defined $i->{wake};
	return 0 if !defined $$by && @later > 1;
	my $ev = $self->{states}->events;
	return 0 if $ev->context($i->{wake}) != $TASK;
	my $who = $self->{threads}->at($ev->waker($i->{wake}), $i->{to});
	return 0 if $who->{kernel} || defined $$by && $$by != $who->{pid};
	$$by = $who->{pid};
	return 1;
}

# Is it a process that what was asked for was asked of, or went through?
sub _went_to {
	my ($self, $asked, $pid) = @_;
	my ($tid, $t) = @$asked;
	return 1 if $self->{threads}->at($tid, $t)->{pid} == $pid;
	return scalar grep { $_->[0] == $tid }
		map { $self->_woken_by($_, $t - $ASKED_NS, $t + 1) } $self->{threads}->tids_of($pid), $pid;
}

sub _draws {
	my ($self, $tid, $from, $to) = @_;
	my $x   = $self->{server} or return 0;
	my $pid = $self->{threads}->at($tid, $from)->{pid};
	return scalar grep { ($_->{pid} // 0) == $pid } $x->between('draw', $from, $to);
}

# may_have_handed_on(ASKED, TIME): is the one that was asked at rest at TIME, and not known to have
# handed on what it was asked? One behind it who can take nothing is woken by nobody.
sub may_have_handed_on {
	my ($self, $asked, $t)    = @_;
	my ($tid,  $at,    $sure) = @$asked;
	return 0 if $sure;
	my $i = $self->{states}->before($tid, $t);
	return 0 if !$i || $i->{kind} ne 'blocked' || $i->{state} ne 'sleeping';
	return 0 if $i->{from} > $at + $ASKED_NS;
	my $stack = $self->{threads}->stack($i->{stack_id});
	return defined $stack && $self->{reasons}->is_loop($stack) ? 1 : 0;
}

# asked(TID, TIME): [ thread of another process, when ] that a thread asked for something just
# before it slept at TIME: the one it woke last, or had another thread of its process wake; and
# whom that one woke for it at once (a bus hands on). A third field is 1 where it was handed on.
# undef: nobody
sub asked {
	my ($self, $tid, $t) = @_;
	my $own     = $self->{threads}->at($tid, $t)->{pid};
	my @woken   = $self->_woken_by($tid, $t - $ASKED_NS, $t);
	my ($first) = reverse grep { $_->[2] != $own } @woken,
		map { $self->_woken_by($_->[0], $_->[1], $_->[1] + $ASKED_NS) }
		grep { $_->[2] == $own } @woken;
	return $self->owner_asked($tid, $t) if !$first;
	# A child of its own is waited for itself, whomever that one makes or asks.
	return [ @$first[ 0, 1 ] ] if ($self->{threads}->at(@$first[ 0, 1 ])->{ppid} // 0) == $own;
	my ($then) = grep { $_->[2] != $own && $_->[2] != $first->[2] }
		$self->_woken_by($first->[0], $first->[1], $first->[1] + $ASKED_NS);
	return [ @{ $then // $first }[ 0, 1 ], $then ? 1 : 0 ];
}

# owner_asked(TID, TIME): [ first thread of another client, when ] that the server told that its
# selection is wanted (the clipboard, too), for a request of this thread's process about the time at
# which it slept; undef: nobody
sub owner_asked {
	my ($self, $tid, $t) = @_;
	my $x   = $self->{server} or return;
	my $own = $self->{threads}->at($tid, $t)->{pid};
	for my $d ($x->between('deliver', $t - $ASKED_NS, $t + $ASKED_NS)) {
		next if ($d->{x_type} // 0) != $SELECTION_REQUEST || !$d->{pid} || $d->{pid} == $own;
		my ($from, $to) = map { $d->{ts_ns} + $_ } -$SERVES_NS, $SERVES_NS;
		my @for = grep { ($_->{pid} // 0) == $own } $x->between('request', $from, $to);
		return [ @$d{qw(pid ts_ns)}, 1 ] if @for;
	}
	return;
}

# asks_server(SOURCE, PID, STATES, TID, INTERVAL): did a thread of that process sleep there until
# the server, or the window manager by way of it, had done what the process had asked for since the
# thread slept last? Another thread of the process may read what the server sends. An input event
# that comes then is no answer.
sub asks_server {
	my ($x, $pid, $states, $tid, $i) = @_;
	return 0 if !$x->{exact} || !defined $i->{wake} || $i->{to} - $i->{from} > $NAP_NS;
	my ($ev, $w) = ($states->events, $i->{wake});
	return 0 if $ev->context($w) != $TASK;
	return 0 if $ev->waker($w) != $x->{tid} && !_has_read($x, $pid, $states, $ev->waker($w), $i);
	my $since = $i->{from};
	while (my $b = $states->before($tid, $since)) {
		last if $b->{kind} eq 'blocked' || $b->{kind} eq 'absent' || $b->{from} >= $since;
		$since = $b->{from};
	}
	$since = $i->{from} - $SERVES_NS if $since > $i->{from} - $SERVES_NS;
	return 0 if !grep { ($_->{pid} // 0) == $pid } $x->between('request', $since, $i->{to});
	return (grep { $_->{input_seq} && ($_->{pid} // 0) == $pid }
			$x->between('deliver', $i->{from}, $i->{to})) ? 0 : 1;
}

# Did the server wake that thread of the process in the interval?
sub _has_read {
	my ($x, $pid, $states, $tid, $i) = @_;
	return 0 if $states->threads->at($tid, $i->{to})->{pid} != $pid;
	my $slept = $states->before($tid, $i->{to});
	$slept = $states->before($tid, $slept->{from})
		while $slept && $slept->{kind} ne 'blocked' && $slept->{from} > $i->{from};
	return 0 if !$slept || $slept->{kind} ne 'blocked' || !defined $slept->{wake};
	my $ev = $states->events;
	return $ev->context($slept->{wake}) == $TASK && $ev->waker($slept->{wake}) == $x->{tid} ? 1 : 0;
}

# [ thread, when, process ]: whom a thread woke in [FROM, TO), but the server and the kernel's own
sub _woken_by {
	my ($self, $by, $from, $to) = @_;
	my ($ev, @woken) = ($self->{states}->events);
	for my $w ($ev->wakings($from, $to, $by)) {
		my ($tid, $t) = @$w;
		my $who = $self->{threads}->at($tid, $t);
		push @woken, [ $tid, $t, $who->{pid} ]
			if !$who->{kernel} && $who->{pid} != $self->{server_pid} && $tid != $by;
	}
	return @woken;
}

1;
