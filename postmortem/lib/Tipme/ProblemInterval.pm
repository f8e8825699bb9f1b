# SPDX-License-Identifier: GPL-2.0-only
# From a key's entry to its visible answer: which damages answer which event, and which event was the unusual one.
package Tipme::ProblemInterval;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::Entry;
use Tipme::Inferred;
use Tipme::Verdict qw(is_unusual);
use Tipme::WakeupChain;
use Tipme::XRecords;

my $SURE_NS     = 30_000_000;        # what is answered faster is not looked at more closely
my $NEAR_NS     = 30_000_000;        # records this far before a wake-up mostly tell who caused it
my $PROBE_NS    = 100_000_000;       # a client that has nothing to do is usually found asleep within this
my $LONG_NS     = 10_000_000_000;    # a server that waits longer for a CPU is beyond help
my $LOOP_NS     = 20_000_000;        # a server that runs at last comes to its input within this
my $MAX_INPUT   = 8;                 # threads of a server that are looked at for its input thread
my $SILENCE_NS  = 100_000_000;
my $MAX_CHECKS  = 12;                # later bursts of one event that are traced back; with more of them it is a film
my $MAX_TURNS   = 16;                # of the other threads of a client, until all of them are at rest
my $MAX_RESOLVE = 24;                # events looked at closely that were answered late, or not at all
my $MAX_LOOKS   = 100;               # events looked at closely, whatever comes of it
my $MOTION_NS   = 25_000_000;        # a pointer that follows sooner is not worth a look
my $ENOUGH      = 3;                 # responses that make a "usually"
my $MAX_LOAD    = 1_500_000;         # kernel records decoded for the choice
my $CLEAR_NS    = 5_000_000;    # between waking and running: in so short a time two things rarely come
my $NS_PER_MS   = 1_000_000;

# new(episode =>, path => InputPath, kernel => Kernel, reasons =>)
sub new {
	my ($class, %o) = @_;
	return bless { %o, inferred => Tipme::Inferred->new($o{kernel}), entry => Tipme::Entry->new($o{episode}), resolved => {}, trigger => $o{episode}->trigger_ns }, $class;
}

# choose(event => N, at => NS): the problem interval, or undef where there is no input event that could be one:
# { event, start_ns, end_ns, open, exact, usual_ns, usual_count, excess_ns, damage, entered (as Entry has it) }
sub choose {
	my ($self, %o) = @_;
	my @events = $self->{path}->events;
	if (defined $o{event}) { my ($e) = grep { $_->{n} == $o{event} } @events; return $e && $self->interval($e) }
	if (defined $o{at})    { return $self->_at(\@events, $o{at}) }
	# What a threshold has caught is what was being waited for just then, whatever else is in the ring.
	my $caught = ($self->{episode}->manifest->{trigger}{kind} // '') eq 'auto' ? $self->_at(\@events, $self->{trigger}) : undef;
	return $caught if $caught;
	my @c = sort { $b->{upper} <=> $a->{upper} } grep { !$_->{event}{motion} || $_->{upper} >= $MOTION_NS } map { { event => $_, upper => $self->_upper($_) } } grep { $_->{candidate} } @events;
	# Whoever asks again means what came since he asked before, if there was anything.
	my $before = $self->{episode}->manifest->{trigger}{before_ns};
	my $since = defined $before ? $self->_best(grep { entered_ns($_->{event}) > $before } @c) : undef;
	return $since if $since && is_unusual($since);
	return $self->_best(@c);
}

# entered_ns(EVENT): when it came, as far as its source knows
sub entered_ns { my ($e) = @_; return $e->{device_ns} // $e->{kernel_ns} // $e->{read_ns} }

sub _best {
	my ($self, @c) = @_;
	# Keys that draw nothing (modifiers, those of a password) may have waited until the end, for all that the X records know. There may be many of them,
	# and they must not keep us from what is known to have been answered late.
	my %best;
	$self->_look(\%best, grep { $self->_end_of($_->{event}) } @c);
	$self->_look(\%best, grep { !$self->_end_of($_->{event}) } @c);
	return $best{unusual} // $best{slept};
}

# Looks closely at candidates, those that can have lasted longest first, for one that is more unusual than BEST.
sub _look {
	my ($self, $best, @c) = @_;
	my ($n, $looks, $covered) = (0, 0, $self->{kernel}->covered_from);
	for my $c (@c) {
		my $so_far = $best->{unusual};
		last if $so_far && $so_far->{excess_ns} >= $c->{upper};
		last if ($n >= $MAX_RESOLVE || ++$looks > $MAX_LOOKS) && $so_far || $self->{kernel}->loaded > $MAX_LOAD;
		my $i = $self->interval($c->{event}) or next;
		$n++;
		next if $i->{end_ns} <= $covered || $i->{start_ns} < $self->_recorder_start;    # the X server was there before the recorder
		# Nobody sat there and waited for an answer in the midst of which the machine slept.
		if (grep { $_->{from_ns} >= $i->{start_ns} && $_->{to_ns} <= $i->{end_ns} } $self->{episode}->suspends(@$i{qw(start_ns end_ns)})) { $best->{slept} //= $i; next }
		$best->{unusual} = $i if !$so_far || $i->{excess_ns} > $so_far->{excess_ns};
	}
	return;
}

sub _recorder_start {
	my ($self) = @_;
	my $r = $self->{episode}->manifest->{recorder};
	my $t = ref $r eq 'HASH' ? $r->{start_ns} : undef;
	return defined $t && !ref $t && $t =~ /\A\d{1,19}\z/ ? $t : 0;
}

# The event that was being handled at a time, else the one nearest to it.
sub _at {
	my ($self, $events, $t) = @_;
	my @c = grep { $_->{candidate} && ($_->{motion} // '') ne 'cursor' } @$events;
	my @near = sort { abs($a->{device_ns} - $t) <=> abs($b->{device_ns} - $t) || $a->{n} <=> $b->{n} } @c;
	my @before = grep { ($_->{wakeup_ns} // $_->{device_ns}) <= $t } reverse @c;
	for my $e (@before) { my $i = $self->interval($e); return $i if $i && $i->{start_ns} <= $t && $i->{end_ns} >= $t }
	for my $e (@near) { my $i = $self->interval($e); return $i if $i }
	return;
}

# What the response can have lasted at most: as the X records show, and what the server waited for a CPU before it could look.
sub _upper {
	my ($self, $e) = @_;
	return $self->{trigger} - ($e->{kernel_ns} // $e->{read_ns}) if $e->{pending};
	my $start = $e->{wakeup_ns} // $e->{device_ns};
	my $x = $e->{server};
	my $stamp = $self->_server_stamp($e);
	$start = $stamp if defined $stamp && $stamp < $start;
	my @input = grep { $_ != $x->{tid} } $self->{kernel}->threads->tids_of($x->{pid});
	$#input = $MAX_INPUT - 1 if @input > $MAX_INPUT;
	# First the thread that serves clients, then those that may have read the input for it.
	$start = $self->_kept_since($_, $start) for $x->{tid}, @input;
	return ($self->_end_of($e) // $self->{trigger}) - $start;
}

# The last of what the X records have for an answer, or the first with FIRST; undef: nothing
sub _end_of {
	my ($self, $e, $first) = @_;
	return $e->{device_ns} if ($e->{motion} // '') eq 'cursor';
	my $b = $e->{bursts}[ $first ? 0 : -1 ];
	return $b ? $b->[1] : undef;
}

# Since when a thread that ran shortly before TIME had waited for a CPU; TIME if it had not.
sub _kept_since {
	my ($self, $tid, $t) = @_;
	my $l = $self->{kernel}->run_delays($tid);
	my ($lo, $hi) = (0, scalar @$l);
	while ($lo < $hi) { my $m = ($lo + $hi) >> 1; if ($l->[$m][0] <= $t) { $lo = $m + 1 } else { $hi = $m } }
	my $d = $lo ? $l->[ $lo - 1 ] : return $t;
	return $d->[1] >= $t - $LOOP_NS ? $d->[0] : $t;
}

# interval(EVENT): the same for one event; undef where it had no visible effect
sub interval {
	my ($self, $e) = @_;
	my $r = $self->response($e) or return;
	my ($start, $exact) = $self->entry($e);
	my ($usual, $count, $where) = $self->usual($e);
	my $duration = $r->{end_ns} - $start;
	return { event => $e, start_ns => $start, start_exact => $exact, entered => scalar $self->{entry}->of($e), %$r, usual_ns => $usual, usual_count => $count, usual_where => $where, excess_ns => $duration - ($usual // 0) };
}

# usual(EVENT): (median of the other responses to the same kind of event of the same client, how many, where: episode or library); where this
# episode has few of them the library is asked, and if that has none, events of any kind of that client, or of that kind of all clients
sub usual {
	my ($self, $e) = @_;
	my @any = grep { $_ != $e && $_->{candidate} && ($_->{motion} // '') eq ($e->{motion} // '') && defined $self->_end_of($_, 1) } $self->{path}->events;
	my @own = grep { defined $e->{pid} && defined $_->{pid} && $_->{pid} == $e->{pid} } @any;
	my ($same, $all) = map { [ grep { $_->{kind} eq $e->{kind} } @$_ ] } \@own, \@any;
	if (@$same < $ENOUGH && $self->{baseline} && $e->{pid}) {
		my ($ns, $n) = $self->{baseline}->($e->{kind}, $self->{kernel}->threads->at($e->{pid}, $e->{deliver_ns} // $e->{device_ns})->{comm});
		return ($ns, $n, 'library') if $n && $n >= $ENOUGH;
	}
	my @of = @$same >= $ENOUGH ? @$same : @own >= $ENOUGH ? @own : @$all;
	return (undef, 0, undef) if !@of;
	my @ns = sort { $a <=> $b } map { $self->_quick($_) } @of;
	return ($ns[ $#ns / 2 ], scalar @ns, 'episode');
}

# What a response seems to be from the X records alone; a server that is observed from outside counts in ms, so none is shorter than one.
sub _quick {
	my ($self, $e) = @_;
	my $ns = $self->_end_of($e, 1) - ($e->{wakeup_ns} // $e->{device_ns});
	return !$e->{server}{exact} && $ns < $NS_PER_MS ? $NS_PER_MS : $ns;
}

# usual_responses(NOT): what was usual here for whom, without event number NOT: { kind, comm, events, median_ns }
sub usual_responses {
	my ($self, $not) = @_;
	my %ns;
	for my $e (grep { $_->{candidate} && !$_->{motion} && $_->{pid} && @{ $_->{bursts} } && $_->{n} != ($not // 0) } $self->{path}->events) {
		push @{ $ns{ $e->{kind} }{ $self->{kernel}->threads->at($e->{pid}, $e->{deliver_ns})->{comm} } }, $self->_quick($e);
	}
	my @usual;
	for my $kind (sort keys %ns) {
		for my $comm (sort grep { $_ ne '?' } keys %{ $ns{$kind} }) {
			my @of = sort { $a <=> $b } @{ $ns{$kind}{$comm} };
			push @usual, { kind => $kind, comm => $comm, events => scalar @of, median_ns => $of[ $#of / 2 ] };
		}
	}
	return @usual;
}

# response(EVENT): { first_ns, end_ns, open, gone, damage, exact }: when the screen began to change, and had changed; open: it was not, up to the trigger or (gone) until the client closed its
# connection; undef: no visible effect
sub response {
	my ($self, $e) = @_;
	return { end_ns => $e->{device_ns}, open => 0, damage => undef, exact => 1 } if ($e->{motion} // '') eq 'cursor';
	return { end_ns => $self->{trigger}, open => 1, damage => undef, exact => 1 } if $e->{pending};
	return if !defined $e->{deliver_ns};
	if (!$self->{resolved}{ $e->{n} }) {
		$self->{inferred}->refine($e);
		$self->{resolved}{ $e->{n} } = [ $self->_observed($e, $self->_resolve($e)) ];
	}
	return $self->{resolved}{ $e->{n} }[0];
}

# A change that was only observed from outside happened while the server ran, somewhere in the millisecond that it named.
sub _observed {
	my ($self, $e, $r) = @_;
	return $r if !$r || $e->{server}{exact};
	my $turn = $r->{damage} && $self->{kernel}->has_records ? $self->{inferred}->turn($e, $r->{damage}) : undef;
	my $end = $turn ? $turn->{to} : $r->{end_ns};
	return { %$r, exact => 0, end_ns => !$r->{open} && $end > $self->{trigger} ? $self->{trigger} : $end };
}

# inferred(): what wake-ups tell of servers without hooks
sub inferred { return $_[0]{inferred} }

sub _end {
	my ($burst, %o) = @_;
	return { first_ns => $burst->[0], end_ns => $burst->[1], open => 0, damage => $burst->[2][-1], exact => 1, %o };
}

sub _resolve {
	my ($self, $e) = @_;
	my @b = @{ $e->{bursts} };
	return _end($b[-1]) if @b && $b[-1][1] - $e->{deliver_ns} < $SURE_NS;
	if (!$self->{kernel}->has_records || !$e->{pid}) { return @b ? _end($b[0], exact => 0) : undef }
	my $limit = @b ? $b[0][0] : $e->{next_ns} // $self->{trigger};
	my $quiet = $self->_quiet($e, $limit);
	my @sure = defined $quiet ? () : $b[0] // ();
	my $later = $self->_last_caused($e, @b[ scalar @sure .. $#b ]);
	return _end($later) if $later;
	return _end($sure[0]) if @sure;
	return if defined $quiet;
	# Where an X server's records reach back further than the kernel's, nobody knows whether the client had come to rest.
	return if $limit <= $self->{kernel}->covered_from;
	# The client has not looked at anything else meanwhile: what it shows after the next press answers this one as well.
	my ($first) = @{ $self->{path}->bursts($e, $e->{next_ns} // $self->{trigger}, $self->{trigger} + 1) };
	return _end($first) if $first;
	my $gone = defined $e->{gone_ns} && $e->{gone_ns} < $self->{trigger} ? 1 : 0;
	return { end_ns => $gone ? $e->{gone_ns} : $self->{trigger}, open => 1, gone => $gone, damage => undef, exact => 1 };
}

# When client and server first both had nothing to do: then the event's direct effect is over. undef: not before LIMIT.
sub _quiet {
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
		my $rest = $self->_in_loop($i) ? $i->{from} : $self->_loop_of_another($states, $e->{pid}, $i);
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
			if ($s->{kind} eq 'blocked' && $self->_in_loop($s)) { $loops++ }
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

sub _in_loop {
	my ($self, $i) = @_;
	# A stack is a long text, and a client that asks its server one thing after another sleeps with the same one all the time.
	return $self->{loop}{ $i->{stack_id} // 0 } //= do {
		my $stack = $self->{kernel}->threads->stack($i->{stack_id});
		defined $stack && $self->{reasons}->is_loop($stack) ? 1 : 0;
	};
}

# The last of some bursts that the event has caused: the chain back from it comes to the client handling the event.
sub _last_caused {
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
	my $near = $self->{kernel}->states($t - 2 * $SURE_NS > $e->{deliver_ns} ? $t - 2 * $SURE_NS : $e->{deliver_ns}, $t);
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
	return 0 if !$i || !defined $i->{wake} || !$self->_in_loop($i);
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

# entry(EVENT): (when the event entered the machine as far as records tell, 1 if that is exact)
sub entry {
	my ($self, $e) = @_;
	my $entered = $e->{server}{exact} ? $self->{entry}->of($e) : undef;
	return ($entered->{interrupt_ns} // $entered->{core_ns}, 1) if $entered;
	return ($e->{kernel_ns}, 1) if defined $e->{kernel_ns} && $e->{server}{exact};
	my ($t, $exact) = $self->_woken_for($e);
	my $stamp = $self->_server_stamp($e);
	return ($stamp, 0) if defined $stamp && $stamp < $t - 2 * $NS_PER_MS;
	return ($t, $exact);
}

# The waking that made the server read it; the server's input thread is followed to its own waking.
sub _woken_for {
	my ($self, $e) = @_;
	my $x = $e->{server};
	my $w = $e->{wakeup_ns};
	return ($e->{device_ns}, 0) if !defined $w;
	return ($e->{device_ns}, 0) if $x->lower('x_request', $w) < $x->lower('x_request', $e->{device_ns});
	return ($w, 0) if !$self->{kernel}->has_records;
	my $s = $x->last_before('x_sleep', $w);
	my $asleep = $e->{asleep_ns} // ($s ? $s->{ts_ns} : $w - $NS_PER_MS);
	for my $span ($NEAR_NS, $LONG_NS) {
		my $from = $asleep > $w - $span ? $asleep : $w - $span;
		my $states = $self->{kernel}->states($from, $w + $NS_PER_MS);
		my ($t, $further, $input_thread, $by) = $self->_waking_of($states, $x, $w, $asleep - $NS_PER_MS);
		# A thread that has waited since before what is loaded may have been woken by an earlier one.
		# Its main thread has other things to be woken for than input: if it got no CPU for long after that, the event came at some time until it ran.
		return ($t, $input_thread || $w - $t <= $CLEAR_NS || $by && !$self->_asked($x, $by, $t, $w) ? 1 : 0) if defined $t && (!$further || $span == $LONG_NS);
		last if !$further;
	}
	return ($w, 0);
}

# Did a process that woke the server at a time want something of it as a client: in the turn that began at W, a request, or to come or go?
sub _asked {
	my ($self, $x, $tid, $t, $w) = @_;
	my $pid = $self->_pid($tid, $t);
	my $sleep = $x->{x_sleep}[ $x->lower('x_sleep', $w) ];
	my $end = $sleep ? $sleep->{ts_ns} + 1 : $self->{trigger};
	return 1 if !$pid || $pid == $x->{pid};
	return scalar grep { $_->{pid} == $pid } map { $x->between($_, $w, $end) } qw(x_request x_client);
}

# (when the server was woken whose wait ended at T, 1 if earlier records may tell, 1 if that was another thread of it, the thread that woke it or 0: an interrupt);
# a thread of its own that woke it is followed to its own waking.
sub _waking_of {
	my ($self, $states, $x, $t, $not_before) = @_;
	my ($tid, $ev, $found, $by) = ($x->{tid}, $states->events, undef, 0);
	for (1 .. 1000) {
		my $i = $states->before($tid, $t) or return ($found, 1, $tid != $x->{tid}, $by);
		my $slept = $i->{kind} eq 'blocked' || $i->{kind} eq 'runnable' && $i->{how} eq 'raced';
		if (!$slept) { $t = $i->{from}; last if $t < $not_before; next }
		my $w = $i->{wake};
		# A sleep that goes on beyond that time (its records begin later) was not ended for this event.
		last if !defined $w || vec($ev->{ts}, $w, 64) < $not_before || vec($ev->{ts}, $w, 64) > $t;
		$found = $t = vec($ev->{ts}, $w, 64);
		$by = (vec($ev->{d}, $w, 32) >> 16 & 255) == 0 ? vec($ev->{a}, $w, 32) : 0;
		last if !$by || $by == $tid || $self->_pid($by, $found) != $x->{pid};
		$tid = $by;
	}
	return ($found, 0, $tid != $x->{tid}, $by);
}

# The server's own time stamp, in ms, taken when the event was put into its queue.
sub _server_stamp {
	my ($self, $e) = @_;
	return if !$e->{server_ms};
	my $ms = int($e->{device_ns} / $NS_PER_MS);
	my $age = ($ms - $e->{server_ms}) & 0xffffffff;
	return $age < 60_000 ? $e->{device_ns} - $age * $NS_PER_MS : undef;
}

1;
