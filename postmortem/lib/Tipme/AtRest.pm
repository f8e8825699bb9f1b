# SPDX-License-Identifier: GPL-2.0-only
# When a client is at rest: it waits for its next event, and nobody works on the one before.
# A thread that waits in poll() may wait for an event or for an answer: its stack is the same. So a
# sleep is rest only if no event came that did not end it (docs/method.md, "At rest").
package Tipme::AtRest;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent qw(Tipme::Hand Tipme::AtRest::Turns);
use Tipme::Record::Layout;
use Tipme::Sender;
use Tipme::Sleeps;
use Tipme::WakeupChain;
use Tipme::WakeupChain::Wait qw(waits_for_requests);
use Tipme::DisplaySource;

my $NS_PER_MS = 1_000_000;
# a client that has nothing to do is usually found asleep within this
my $PROBE_NS  = 100_000_000;
my $CLEAR_NS  = 5_000_000;     # records after a stretch that may tell where a sleep in it was
my $MAX_TURNS = 16;            # of the other threads of a client, until all of them are at rest
# after the server has written it, a thread that listens is woken within
my $HEARD_NS  = 30_000_000;
my $GLANCE_NS = 500_000;       # awake so shortly, a thread has taken no event
# a program that looks for events after naps so short is no slower by it
my $NAP_NS = 50_000_000;
# deliveries that tell where a thread waits for events, and where it does not
my $OFTEN   = 3;
my %STATE   = %{ $Tipme::Record::Layout::ENUM{task_state} };
my %NO_REST = map { $_ => 1 } qw(stopped traced disk_sleep frozen lock_wait);

# new(episode =>, kernel => Kernel, reasons => Reasons, trigger => ns)
sub new {
	my ($class, %o) = @_;
	my $sleeps = Tipme::Sleeps->new($o{episode});
	return bless {
		%o, sleeps => $sleeps, sender => Tipme::Sender->new(sleeps => $sleeps), told => {},
		busy => {}, hand => {}
	}, $class;
}

# since(EVENT, LIMIT): ns when client and server first both had nothing to do after the delivery:
# then the event's direct effect is over. undef: not before LIMIT.
sub since {
	my ($self, $e, $limit) = @_;
	my ($td, $x) = @$e{qw(deliver_ns server)};
	return if $x->tells_sleep && !$x->asleep($td, $limit);
	for my $to ($td + $PROBE_NS, $limit) {
		my $end = $to < $limit ? $to : $limit;
		# The next press ends the sleep that matters, and its waking tells where the client slept.
		my $states = $self->{kernel}->states($td - $NS_PER_MS, $end + $CLEAR_NS);
		my $t      = $self->_first_quiet($e, $states, [ $x->idle($e, $states, $td, $end) ]);
		return $t if defined $t;
		return    if $end == $limit;
	}
	return;
}

# free_at(EVENT): { tid, from, to, lasts }: from when to when the thread that takes the client's
# events was kept from taking another one, by this event or since before it; lasts: up to the end of
# the records. undef: it was not, or that is not known.
sub free_at {
	my ($self, $e) = @_;
	return if !$self->_knows($e);
	my $td   = $e->{deliver_ns};
	my $list = $self->_busy_of($e);
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   (($list->[$m]{to} // $self->_end) <= $td) { $lo = $m + 1 }
		else                                           { $hi = $m }
	}
	# A handler may sleep for a moment, but not in its event loop (a first, quick answer), before
	# what takes long: of such stretches the longest is meant.
	my ($longest, $ns) = (undef, 0);
	for (; $lo < @$list && $list->[$lo]{from} <= $td + $HEARD_NS; $lo++) {
		my $length = ($list->[$lo]{to} // $self->_end) - $list->[$lo]{from};
		($longest, $ns) = ($list->[$lo], $length) if $length > $ns;
		last if !$list->[$lo]{moment};
	}
	return $longest;
}

# first_sleep(EVENT): ns when the thread that takes the client's events first slept after the
# delivery; undef: not known
sub first_sleep {
	my ($self, $e) = @_;
	my $sleeps = $self->_knows($e) ? $self->{sleeps}->of($self->hand($e)) : undef;
	return if !$sleeps;
	my ($s) = grep { $_->{from} > $e->{deliver_ns} } @$sleeps;
	return $s ? $s->{from} : undef;
}

# told_again(EVENT, UNTIL): did another event go to the client after that one? If it rests all the
# same, it took that, and waits for more.
sub told_again {
	my ($self, $e, $until) = @_;
	return
		scalar grep { $_->[0] > $e->{deliver_ns} + $NS_PER_MS && $_->[0] < $until }
		$self->_told($e);
}

# long_turns_by_timer(EVENT, NS): when the thread that takes the client's events could take none for
# so long, from a timer of its own on
sub long_turns_by_timer {
	my ($self, $e, $least) = @_;
	return if !$self->_knows($e);
	return map { $_->{from} }
		grep   { $_->{timer} && ($_->{to} // $self->_end) - $_->{from} >= $least }
		@{ $self->_busy_of($e) };
}

# long_turns_by(EVENT, NS, TID): the same, where TID had woken it for that
sub long_turns_by {
	my ($self, $e, $least, $by) = @_;
	return if !$self->_knows($e);
	my %woken = map { $_->{to} => 1 }
		grep { $_->{waker} == $by } @{ $self->{sleeps}->of($self->hand($e)) // [] };
	return map { $_->{from} }
		grep   { $woken{ $_->{from} } && ($_->{to} // $self->_end) - $_->{from} >= $least }
		@{ $self->_busy_of($e) };
}

# rested(TID, FROM, TO): was a thread at some time in [FROM, TO) where others can ask it for
# something? 1, too, where nothing is known of it.
sub rested {
	my ($self, $tid, $from, $to) = @_;
	my $sleeps = $self->{sleeps}->of($tid);
	if (!$sleeps) {
		my $p = $self->{kernel}->threads->picture_at($tid, $to) // return 1;
		return $self->_can_be_asked(
			$tid,
			{
				from  => $p->{since_ns}, to => undef, stack_id => $p->{stack_id},
				state => $STATE{ $p->{state} } // 'unknown'
			}
		);
	}
	for my $s (grep { $_->{from} < $to && (!defined $_->{to} || $_->{to} > $from) } @$sleeps) {
		return 1 if $self->_can_be_asked($tid, $s);
	}
	return 0;
}

sub _can_be_asked {
	my ($self, $tid, $s) = @_;
	return 0 if $NO_REST{ $s->{state} };
	my $stack = $self->{kernel}->threads->stack($s->{stack_id} || $self->_pictured($tid, $s));
	my $r     = defined $stack ? $self->{reasons}->of($stack, undef) : undef;
	# A shell whose command runs has left the terminal to that.
	return $r && $r->{class} eq 'wait' || waits_for_requests($r) ? 1 : 0;
}

# sender(): the Sender of this episode
sub sender { return $_[0]{sender} }

# knows(EVENT): do the records tell about its client's threads from its delivery on?
sub knows { my ($self, $e) = @_; return $self->_knows($e) ? 1 : 0 }

sub _knows {
	my ($self, $e) = @_;
	my $k = $self->{kernel};
	return
		   $e->{pid}
		&& defined $e->{deliver_ns}
		&& $k->has_records
		&& !$k->sampled
		&& $e->{deliver_ns} > $k->covered_from;
}

sub _end { my ($self) = @_; return $self->{end} //= $self->{episode}->end_ns }

# Deliveries to the client of an event, in order: [ when, until when a thread that listens has heard
# ]
sub _told {
	my ($self, $e) = @_;
	my $x  = $e->{server};
	my $of = $self->{told}{ $x->{file} } //= do {
		my %d;
		push @{ $d{"$_->{client} $_->{pid}"} }, [ $_->{ts_ns}, $self->_heard_by($x, $_->{ts_ns}) ]
			for $x->all('deliver');
		\%d;
	};
	return @{ $of->{"$e->{client} $e->{pid}"} // [] };
}

sub _heard_by {
	my ($self, $x, $t) = @_;
	my $written = $x->written_by($t);
	return defined $written ? $written + $HEARD_NS : $self->_end;
}

sub _busy_of {
	my ($self, $e) = @_;
	my $tid = $self->hand($e);
	return $self->{busy}{"$e->{server}{file} $e->{client} $tid"} //= $self->_busy($e, $tid);
}

# Stretches in which a thread was awake, or slept without resting, and so could take no event: {
# tid, from, to, lasts, timer (1: its own began it) }
sub _busy {
	my ($self, $e, $tid) = @_;
	my $sleeps = $self->{sleeps}->of($tid) or return [];
	my ($from, $timer, @busy) = ($self->{kernel}->covered_from, 0);
	my $deaf = $self->_deaf($e, $sleeps, $tid);
	for my $k (0 .. $#$sleeps) {
		my $s = $sleeps->[$k];
		next if $deaf->{$k} || !$self->_rests($e, $tid, $s);
		push @busy,
			{
			tid    => $tid, from => $from, to => $s->{from}, lasts => 0, timer => $timer,
			moment => $self->_moment($e, $tid, $s)
			}
			if $s->{from} > $from;
		$from  = $s->{to} // return \@busy;
		$timer = $s->{context} eq 'hardirq' ? 1 : 0;
	}
	push @busy, { tid => $tid, from => $from, to => $self->_end, lasts => 1, timer => $timer }
		if $from < $self->_end;
	return \@busy;
}

# Is a sleep as short as those between which programs look for events, and none in an event loop?
sub _moment {
	my ($self, $e, $tid, $s) = @_;
	return 0 if !defined $s->{to} || $s->{to} - $s->{from} > $NAP_NS;
	my $stack = $self->{kernel}->threads->stack($s->{stack_id});
	my $r     = defined $stack ? $self->{reasons}->of($stack, undef) : undef;
	return $r
		&& ($r->{class} eq 'nap'
		|| $r->{kind} eq 'futex-wait'
		|| $r->{class} eq 'loop' && $self->_elsewhere($e, $tid)) ? 1 : 0;
}

# Which sleeps went on though an event had come: { position => 1 }
sub _deaf {
	my ($self, $e, $sleeps, $tid) = @_;
	my ($k, %deaf) = (0);
	# A thread that no event has ever woken looks for them now and then.
	return {} if !$self->_listens($e, $tid);
	for my $d ($self->_told($e)) {
		$k++ while $k < @$sleeps && defined $sleeps->[$k]{to} && $sleeps->[$k]{to} <= $d->[0];
		last if $k >= @$sleeps;
		my $s = $sleeps->[$k];
		# What comes while it falls asleep may have been read just before.
		next if $s->{from} + $NS_PER_MS >= $d->[0] || ($s->{to} // $self->_end) <= $d->[1];
		$deaf{$k} = 1;
		# What it has not taken would end its next sleep at once, if that were for events: as long
		# as it only looks at the clock.
		for (
			my $n = $k + 1;
			$n < @$sleeps
			&& !$deaf{$n}
			&& $sleeps->[ $n - 1 ]{context} eq 'hardirq'
			&& $sleeps->[$n]{from} - $sleeps->[ $n - 1 ]{to} < $GLANCE_NS;
			$n++
			)
		{
			$deaf{$n} = 1;
		}
	}
	return \%deaf;
}

# Has an event ever ended a sleep of the thread?
sub _listens { my ($self, $e, $tid) = @_; return $self->_found($e, $tid)->{''} ? 1 : 0 }

# Does a thread wait for events in that sleep, as far as its state and stack tell? Where they tell
# nothing, it is believed to.
sub _rests {
	my ($self, $e, $tid, $s) = @_;
	return 0 if $NO_REST{ $s->{state} };
	my $id    = $s->{stack_id} || $self->_pictured($tid, $s);
	my $stack = $self->{kernel}->threads->stack($id);
	my $r     = defined $stack ? $self->{reasons}->of($stack, undef) : undef;
	my $to    = $s->{to} // $self->_end;
	return 1 if !$r;
	return $to - $s->{from} <= $NAP_NS || !$self->_elsewhere($e, $tid) ? 1 : 0
		if $r->{class} eq 'loop';
	return 1
		if ($r->{class} eq 'nap' || $r->{kind} eq 'futex-wait') && $to - $s->{from} <= $NAP_NS
		|| $self->_found_in($e, $tid, $r->{class});
	return 0 if $r->{kind} ne 'futex-wait' || $to - $s->{from} < $PROBE_NS;
	my $states = $self->{kernel}->states($s->{from} - $NS_PER_MS, $s->{from} + $HEARD_NS);
	return defined $self->_loop_of_another(
		$states, $e->{pid}, $tid,
		{ from => $s->{from}, to => $to, stack_id => $id }
	) ? 1 : 0;
}

# waits_for_events(EVENT, TID, REASON): does a thread of the client wait for events where it sleeps
# for that reason (as Reasons has it)?
sub waits_for_events {
	my ($self, $e, $tid, $r) = @_;
	return 0                                   if !$r;
	return $self->_elsewhere($e, $tid) ? 0 : 1 if $r->{class} eq 'loop';
	return
		   $self->_knows($e)
		&& $tid == $self->hand($e)
		&& $self->_found_in($e, $tid, $r->{class}) ? 1 : 0;
}

# rests_in(EVENT, TID, INTERVAL): the same, for an interval of TaskStates
sub rests_in {
	my ($self, $e, $tid, $i) = @_;
	return $self->_elsewhere($e, $tid) ? 0 : 1 if $self->in_loop($i);
	return $self->_waits_there($e, $tid, $i);
}

sub _waits_there {
	my ($self, $e, $tid, $i) = @_;
	my $stack = $self->_knows($e) ? $self->{kernel}->threads->stack($i->{stack_id}) : undef;
	my $r     = defined $stack    ? $self->{reasons}->of($stack, undef)             : undef;
	return $r ? $self->_found_in($e, $tid, $r->{class}) : 0;
}

# The stack of a sleep that lasts is in the last picture.
sub _pictured {
	my ($self, $tid, $s) = @_;
	return 0 if defined $s->{to};
	my ($p) = grep { $_->{ts_ns} >= $s->{from} && $_->{stack_id} }
		reverse $self->{kernel}->threads->pictures($tid);
	return $p ? $p->{stack_id} : 0;
}

# Where a delivery found a thread and ended its sleep, by the server or by another of its threads,
# there it waits for events.
sub _found_in {
	my ($self, $e, $tid, $class) = @_;
	return $self->_found($e, $tid)->{$class} ? 1 : 0;
}

# Does the thread that takes the client's events wait for them in a futex alone, where another one
# hands them on?
# Deliveries have found it there, and never in poll() or select(). There it waits for something
# else, or for a time.
sub _elsewhere {
	my ($self, $e, $tid) = @_;
	return 0 if !$self->_knows($e) || $tid != $self->hand($e);
	my $n = $self->_found($e, $tid);
	return !$n->{loop} && ($n->{lock} // 0) >= $OFTEN ? 1 : 0;
}

# In how many of its sleeps events found it, by the class of the sleep; '': of all classes, and none
sub _found {
	my ($self, $e, $tid) = @_;
	return $self->{found}{"$e->{server}{file} $e->{client} $tid"} //= $self->_look_where($e, $tid);
}

sub _look_where {
	my ($self, $e, $tid) = @_;
	my ($sleeps, $k, $last, %n) = ($self->{sleeps}->of($tid) // [], 0, -1);
	for my $d ($self->_told($e)) {
		$k++ while $k < @$sleeps && defined $sleeps->[$k]{to} && $sleeps->[$k]{to} < $d->[0];
		my $s = $sleeps->[$k] or last;
		next if $k == $last || $s->{from} > $d->[0] || !defined $s->{to} || $s->{to} > $d->[1];
		next if $s->{waker} != $e->{server}{tid} && !$self->_is_own($e, $s->{waker}, $s->{to});
		# A signal that says so ends no wait where nothing else may disturb it: that goes on.
		my $then = $sleeps->[ $k + 1 ];
		next if $then && $NO_REST{ $then->{state} } && $then->{from} - $s->{to} < $GLANCE_NS;
		$last = $k;
		$n{''}++;
		my $stack = $self->{kernel}->threads->stack($s->{stack_id}) // next;
		my $r     = $self->{reasons}->of($stack, undef) or next;
		$n{ $r->{class} }++;
	}
	return \%n;
}

# Both lists are in order of time and may be long (a client and its server that take turns): none of
# them is looked at twice.
sub _first_quiet {
	my ($self, $e, $states, $asleep) = @_;
	my $first = 0;
	my @grabs =
		grep { !Tipme::DisplaySource::is_of($_->[3], @$e{qw(pid client)}) } $e->{server}->grabs;
	my $tid    = $self->hand($e);
	my $reader = $self->_reader($e, $tid);
	my $elsewhere;    # as in rests_in(): the same for all sleeps
	for my $i (@{ $states->intervals($tid) }) {
		# Asleep since before it was told: it has not looked. Where its records begin later, nobody
		# knows since when.
		next
			if $i->{kind} ne 'blocked'
			|| ($i->{real_from} // $i->{from}) <= $e->{deliver_ns}
			&& $states->events->exact_from <= $e->{deliver_ns};
		my $rests =
			$self->in_loop($i)
			? !($elsewhere //= $self->_elsewhere($e, $tid))
			: $self->_waits_there($e, $tid, $i);
		my $rest = $rests ? $i->{from} : $self->_loop_of_another($states, $e->{pid}, $tid, $i);
		next if !defined $rest;
		$first++ while $first < @$asleep && $asleep->[$first][1] <= $i->{from};
		for (my $k = $first; $k < @$asleep && $asleep->[$k][0] < $i->{to}; $k++) {
			my $a    = $asleep->[$k];
			my $from = $a->[0] > $rest    ? $a->[0] : $rest;
			my $to   = $a->[1] < $i->{to} ? $a->[1] : $i->{to};
			next
				if $from >= $to
				|| grep { $_->[0] < $to && (!defined $_->[1] || $_->[1] > $from) } @grabs;
			my $t = $self->_at_rest($states, $e->{server}{tid}, $from, $to);
			# A thread that reads events for the one that takes them has none in hand then.
			for my $tid ($reader // (), $reader ? $e->{server}{tid} : ()) {
				$t = $self->_at_rest($states, $tid, $t, $to) if defined $t;
			}
			next if !defined $t;
			last if $self->_is_deaf($e, $tid, $i);
			return $t;
		}
	}
	return;
}

# Some programs (Tcl's, for one) leave the event loop to a thread of their own: the main thread
# waits for it by a futex. Then all threads of the process must wait, one of them in an event loop:
# since when in that sleep they do (on a busy machine some have still to get a CPU first); undef:
# never.
sub _loop_of_another {
	my ($self, $states, $pid, $own, $i) = @_;
	my $threads = $self->{kernel}->threads;
	return if $self->_reason_kind($i) ne 'futex-wait';
	my @tids = grep { $_ != $own } $threads->tids_of($pid);
	my $t    = $i->{from} + $NS_PER_MS < $i->{to} ? $i->{from} + $NS_PER_MS : $i->{from};
	my ($loops, $busy, $late) = (0);
	for (1 .. $MAX_TURNS) {
		($loops, $busy) = (0, undef);
		for my $tid (@tids) {
			my $s = $states->at($tid, $t) or next;
			next if $s->{kind} eq 'absent';
			if    ($s->{kind} eq 'blocked' && $self->in_loop($s)) { $loops++ }
			elsif ($s->{kind} ne 'blocked' || $self->_reason_kind($s) ne 'futex-wait') {
				$busy = $s;
				last;
			}
		}
		last if !$busy || $busy->{to} >= $i->{to} || $busy->{to} <= $t;
		($t, $late) = ($busy->{to}, 1);
	}
	return $busy || !$loops ? undef : $late ? $t : $i->{from};
}

sub _reason_kind {
	my ($self, $i) = @_;
	my $stack = $self->{kernel}->threads->stack($i->{stack_id});
	my $r     = defined $stack ? $self->{reasons}->of($stack, undef) : undef;
	return $r ? $r->{kind} : '';
}

# When in [FROM, TO) a server that says that it sleeps first does so: one that was woken already, or
# has not come to rest, has work to do.
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
	# A stack is a long text, and a client that asks its server one thing after another sleeps with
	# the same one all the time.
	return $self->{loop}{ $i->{stack_id} // 0 } //= do {
		my $stack = $self->{kernel}->threads->stack($i->{stack_id});
		defined $stack && $self->{reasons}->is_loop($stack) ? 1 : 0;
	};
}

# Did an event come in that sleep which did not end it? It is looked for in the whole of the sleep.
sub _is_deaf {
	my ($self, $e, $tid, $i) = @_;
	return 0 if !$self->_knows($e);
	my $sleeps = $self->{sleeps}->of($tid) or return 0;
	my $deaf   = $self->{deaf}{"$e->{server}{file} $e->{client} $tid"} //=
		$self->_deaf($e, $sleeps, $tid);
	my ($lo, $hi) = (0, scalar @$sleeps);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   (defined $sleeps->[$m]{to} && $sleeps->[$m]{to} <= $i->{from}) { $lo = $m + 1 }
		else                                                                { $hi = $m }
	}
	return $lo < @$sleeps && $sleeps->[$lo]{from} <= $i->{from} && $deaf->{$lo} ? 1 : 0;
}

1;
