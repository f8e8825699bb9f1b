# SPDX-License-Identifier: GPL-2.0-only
# A part of WakeupChain: who ended a sleep, and whether the thread had waited for that one.
package Tipme::WakeupChain::Waker;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::WakeupChain::Wait qw(is_idle_in waits_for_requests);

my %CONTEXT   = %{ $Tipme::Record::Layout::ENUM{context} };
my ($HARDIRQ) = grep { $CONTEXT{$_} eq 'hardirq' } keys %CONTEXT;
my $THAW_NS   = 2_000_000;     # all threads of a frozen process are woken within
my $GLANCE_NS = 1_000_000;     # awake so shortly, a thread that waited for a child has done nothing
my $STOP_NS   = 5_000_000;     # a runtime stops its threads for less, in naps that are shorter
my $OTHERS    = 2;             # threads that are let go on together with ours
my $ASKS_NS   = 1_000_000;     # a request may be served before who asked has fallen asleep
my $EXIT_NS   = 10_000_000;    # who wakes another this shortly before its end does so by ending
my %HELD      = map { $_ => 1 }
	qw(lock disk memory);    # classes of waits in which the waker, unasked, had what was waited for

# Who ended a sleep: { tid (0: no thread), context, at, index, guessed }
sub _waker {
	my ($self, $i) = @_;
	return if !defined $i->{wake};
	my $ev      = $self->{states}->events;
	my $w       = $i->{wake};
	my $context = $CONTEXT{ $ev->context($w) } // 'unknown';
	my %w       = (context => $context, at => $ev->ts($w), index => $w, tid => 0, exact => 1);
	if    ($context eq 'task')         { $w{tid} = $self->_who_woke($w) }
	elsif ($context eq 'softirq_task') { $w{tid} = $ev->sched_waking_raiser_tid($w) }
	elsif ($context eq 'softirq_mixed') {
		@w{qw(tid exact)} = ($ev->sched_waking_raiser_tid($w), 0);
	}
	$w{tid} = 0 if $w{tid} == $self->{tid};
	return \%w;
}

# The thread that a waking names; where its leaving was lost (its number was still on that CPU's
# record), the one that leaves that CPU next.
sub _who_woke {
	my ($self,   $w)  = @_;
	my ($states, $ev) = ($self->{states}, $self->{states}->events);
	my $tid = $ev->waker($w);
	return $tid if !$tid || $states->leaves($tid);
	return $states->runs_at($ev->cpu($w), $w) // $tid;
}

# Goes on with the waker, and comes back to this thread below the beginning of its sleep.
sub _follow {
	my ($self, $i, $lo, $waker, $s) = @_;
	my ($t, $tid) = ($self->{t}, $self->{tid});
	my $who    = $waker->{tid} or return 0;
	my $reason = $self->_reason($i, $s->{stack}, $waker);
	# The kernel's own thread takes the answer of a file server, and has not made anybody wait.
	return 0
		if $reason
		&& $reason->{class} eq 'server'
		&& $self->{threads}->at($who, $waker->{at})->{kernel};
	return 0 if $self->{jumped}{$who}++;
	$self->_pass($i);
	my $at = $waker->{at} < $t ? $waker->{at} : $t;
	if ($waker->{context} ne 'task') {
		# What a softirq does later, its raiser had asked for when it last ran.
		my $run = $self->_last_run($who, $at);
		return 0 if !defined $run || $run <= $lo;
		$at = $run;
	}
	$self->_put($at, $t, %$s, kind => 'irq-time', reason => 'softirq-to-come') if $at < $t;
	$self->_at($at);
	my $wait = {
		tid    => $tid, from => $lo, to => $at, waker => $waker, state => $i->{state},
		reason => $reason,
		before => !$self->{below} && ($i->{real_from} // $i->{from}) < $self->{deliver_ns} ? 1 : 0
	};
	push @{ $self->{frames} }, [
		$tid, $self->_began_to_wait($i, $lo, $reason),
		!$waker->{exact}, undef, $self->_held($i, $wait, $who)
		]
		if $self->_comes_back($wait);
	# Nobody is asked twice at one time, or two that wait for each other would keep us for ever.
	$self->{jumped}{$tid} = 1;
	$self->{tid} = $who;
	if (my $asker = $self->asked_meanwhile($tid, $at, $who)) {
		push @{ $self->{frames} }, [ @$asker, 0 ] if $asker->[1] > $self->_bound;
	}
	my $work = $self->_work_at($who, $at);
	$self->_to_queuer($work) if $work;
	return 1;
}

# Since when, above the bound, a thread waits for the child that ends its sleep: LO, or before that,
# where the end of another child, or a signal, disturbed it and it did nothing but go on waiting.
# The same where nothing may disturb it any more, and it slept for the same reason before: a signal
# had ended that (a file system in user space is told so, and goes on).
sub _began_to_wait {
	my ($self, $i, $lo, $reason) = @_;
	my $still = $i->{state} eq 'disk_sleep' ? 1 : 0;
	return $lo
		if !$reason || $reason->{code} ne 'wait-child' && !($still && $reason->{class} eq 'wait');
	my ($tid, $states, $bound) = ($self->{tid}, $self->{states}, $self->_bound);
	my $ev = $states->events;
	while ($lo > $bound) {
		my ($ran, $t) = (0, $i->{from});
		my $b;
		while ($b = $states->before($tid, $t)) {
			last if $b->{kind} eq 'blocked' || $b->{kind} eq 'absent' || $b->{from} >= $t;
			$ran += $t - $b->{from} if $b->{kind} eq 'running';
			$t = $b->{from};
		}
		last if !$b || $b->{kind} ne 'blocked' || $ran > $GLANCE_NS;
		my $r = $self->{reasons}->of(scalar $self->{threads}->stack($b->{stack_id}), 'task');
		last
			if !$r
			|| $r->{code} ne $reason->{code}
			|| !$still && $ev->wakings($b->{to}, $i->{from}, $tid)
			|| $self->_makes_a_process($tid, $b->{to}, $i->{from});
		($i, $lo) = ($b, $b->{from} > $bound ? $b->{from} : $bound);
	}
	return $lo;
}

sub _makes_a_process {
	my ($self, $tid, $from, $to) = @_;
	my $ev = $self->{states}->events;
	return
		scalar grep { $ev->tid($_) == $tid && $ev->ts($_) >= $from && $ev->ts($_) < $to }
		@{ $ev->of_kind(Tipme::KernelEvents::FORK) };
}

# What a thread did before it slept belongs to the path if it waited for an answer; where it waited
# for the next request, as an event loop does, only the waker leads on. A stack tells the one from
# the other, mostly: `returning` takes all sleeps for the first kind.
# The server's records tell it: one that executed a request all that time, and slept for a moment (a
# page, a lock), goes on with it.
sub _comes_back {
	my ($self, $wait) = @_;
	return $self->{server} ? $self->{server}->in_request(@$wait{qw(from to)}) : 0
		if $wait->{tid} == $self->{server_tid};
	return 1 if $self->asks_awake_server(@$wait{qw(tid from to)}, $wait->{waker}{tid});
	# Nobody waits for the next request where nothing may disturb it, however short the sleep was.
	return 1 if $self->{returning} || ($wait->{state} // '') eq 'disk_sleep';
	return 1 if $self->disturbs(@$wait{qw(tid from to)}, $wait->{waker}{tid});
	return waits_for_requests($wait->{reason}) || $self->is_idle_there($wait) ? 0 : 1;
}

# disturbs(TID, FROM, TO, WAKER): did a thread of the same process, which its own timer had woken
# long before that, keep a thread from its work for a moment? So a runtime stops all of them for its
# own purposes, and naps until they have stopped. Who brings work to one that waits for it has just
# come by it.
sub disturbs {
	my ($self, $tid, $from, $to, $waker) = @_;
	return 0 if $to - $from >= $STOP_NS || !$waker;
	return 0 if grep { $_ == $self->{server_tid} } $tid, $waker;
	my ($threads, $ev) = ($self->{threads}, $self->{states}->events);
	return 0 if $threads->at($waker, $to)->{pid} != $threads->at($tid, $to)->{pid};
	my $i = $self->{states}->before($waker, $to);
	while ($i && $i->{to} >= $from) {
		return 0
			if $i->{kind} eq 'absent'
			|| $i->{kind} eq 'blocked'
			&& ($i->{to} - $i->{from} >= $STOP_NS || !_by_timer($ev, $i));
		$i = $self->{states}->before($waker, $i->{from});
	}
	$i = $self->{states}->before($waker, $i->{from})
		while $i && ($i->{kind} eq 'running' || $i->{kind} eq 'runnable');
	return $i && $i->{kind} eq 'blocked' && _by_timer($ev, $i) ? 1 : 0;
}

sub _by_timer {
	my ($ev, $i) = @_;
	return defined $i->{wake} && $ev->context($i->{wake}) == $HARDIRQ ? 1 : 0;
}

# asks_awake_server(TID, FROM, TO, WAKER): was the server awake for somebody else already when the
# thread asked it for something and slept, in [FROM, TO), until the server woke it, or a thread of
# its process that reads what the server sends?
# Then who woke the server is not why the thread waited: it came to the server by its own request.
sub asks_awake_server {
	my ($self, $tid, $from, $to, $waker) = @_;
	my $states = $self->{states};
	$to = $self->_read_at($waker, $tid, $from, $to) // return 0 if $waker != $self->{server_tid};
	my $i = $self->_server_slept($to);
	# Asleep in between: it was woken for what it then told the thread.
	return 0 if !$i || !defined $i->{wake} || $i->{to} > $from;
	my $by  = $states->events->waker($i->{wake});
	my $pid = $self->{threads}->at($tid, $from)->{pid};
	return 0 if $by == $tid || $by && $self->{threads}->at($by, $i->{to})->{pid} == $pid;
	my $source = $self->{server} or return 0;
	return 1 if $source->serves($pid, $from);
	return (grep { ($_->{pid} // 0) == $pid } $source->between('request', $from - $ASKS_NS, $to))
		? 1
		: 0;
}

# asked_meanwhile(TID, AT, WAKER): [ thread, when it ran last before ]: the server woke the thread
# for what a third client had asked, when it was awake for somebody else already. Then who woke the
# server is not why: up to that time the server was busy with others. undef: it was not so
sub asked_meanwhile {
	my ($self, $tid, $at, $waker) = @_;
	return if $waker != $self->{server_tid} || !$self->{server};
	my $i = $self->_server_slept($at);
	return if !$i || !defined $i->{wake};
	my $by = $self->{states}->events->waker($i->{wake});
	return if $by == $tid;
	my $pid  = $self->{threads}->at($tid, $at)->{pid};
	my $told = $self->{server}->told_for($pid, $i->{to}, $at + 1) or return;
	my ($asker, $began) = @$told;
	return
		   if $asker == $pid
		|| $asker == $self->{server_pid}
		|| $by && $self->{threads}->at($by, $i->{to})->{pid} == $asker;
	my ($who, $ran);

	for my $try ($asker, grep { $_ != $asker } $self->{threads}->tids_of($asker)) {
		my $t = $self->_last_run($try, $began);
		($who, $ran) = ($try, $t) if defined $t && (!defined $ran || $t > $ran);
	}
	return defined $ran && $ran > $i->{to} ? [ $who, $ran ] : undef;
}

# When the server woke another thread of the process, before that one woke the thread; undef: not
# since FROM
sub _read_at {
	my ($self, $reader, $tid, $from, $to) = @_;
	my ($states, $threads) = @$self{qw(states threads)};
	return
		if !($self->{of_one_process}{"$reader $tid"} //=
		$threads->at($reader, $to)->{pid} == $threads->at($tid, $to)->{pid} ? 1 : 0);
	my $i = $states->before($reader, $to);
	$i = $states->before($reader, $i->{from})
		while $i && $i->{kind} ne 'blocked' && $i->{kind} ne 'absent' && $i->{from} > $from;
	my ($ev, $w) = ($states->events, $i ? $i->{wake} : undef);
	return if !defined $w || $i->{to} <= $from || $ev->context($w) != 0;
	return $ev->waker($w) == $self->{server_tid} ? $ev->ts($w) : undef;
}

# The last sleep of the server before TIME, however often it has lost its CPU since; undef: it is
# not known. A walk asks for thousands of times in one stretch without a sleep, so this is found
# once for all.
sub _server_slept {
	my ($self,   $t)   = @_;
	my ($states, $tid) = ($self->{states}, $self->{server_tid});
	my $last = $self->{slept_at} // [];
	return $last->[1] if @$last && $last->[0] == $t;    # most are asked about twice
	$self->{slept} //=
		$states->once("slept $tid" => sub { return _sleeps_before($states->intervals($tid)) });
	my $i     = $states->before($tid, $t);
	my $sleep = $i ? $self->{slept}{ $i->{from} } : undef;
	$self->{slept_at} = [ $t, $sleep ];
	return $sleep;
}

# { when an interval begins => the last sleep up to it, without a gap }
sub _sleeps_before {
	my ($intervals) = @_;
	my ($sleep, $end, %of);
	for my $i (@$intervals) {
		$sleep = undef if defined $end && $i->{from} != $end;
		$sleep = $i    if $i->{kind} eq 'blocked';
		$of{ $i->{from} } = $sleep;
		$end = $i->{to};
	}
	return \%of;
}

# is_idle_there(WAIT, as waits() has it): a thread of a pool, or one that has the timers of others,
# sleeps in a futex until it gets something to do: it sleeps nowhere else. In one that mostly sleeps
# elsewhere, or hardly ever, a futex is a lock, or an answer; but not one in which it slept before
# the event was delivered.
sub is_idle_there {
	my ($self, $wait) = @_;
	my $r = $wait->{reason};
	return 0 if !$r || $r->{kind} ne 'futex-wait' || $wait->{tid} == $self->{client_pid};
	return 1 if $wait->{before};
	return $self->{idle}{ $wait->{tid} } //= $self->_told_idle($wait->{tid})
		// is_idle_in(@$self{qw(states threads reasons)}, $wait->{tid});
}

# A bundle has few sleeps of a thread, and says what they were where all of them were known.
sub _told_idle {
	my ($self, $tid) = @_;
	my ($of) = grep { $_->{tid} == $tid } @{ $self->_told->{idle} // [] };
	return $of ? $of->{idle} : undef;
}

sub _told { return $_[0]{states}->events->episode->manifest->{bundle} // {} }

# Did the waker have what the thread waited for? Not one that the thread had asked to do something
# (woken, or made, by it), nor one that wakes by ending: these work for it.
sub _held {
	my ($self, $i, $wait, $who) = @_;
	my $r = $wait->{reason};
	return if !$r || !$HELD{ $r->{class} };
	# A futex is also what threads are joined and handed work by; other locks are locks.
	return
		if $r->{kind} eq 'futex-wait'
		&& ($self->_all_go_on($wait, $who)
		|| $self->asked($who, $wait->{tid}, $i, $wait->{to})
		|| $self->_ends($who, $wait->{waker}{at}));
	return {
		%$r{qw(kind class code)}, tid => $wait->{tid}, at => $wait->{to},
		prio => $self->{threads}->at($wait->{tid}, $wait->{to})->{prio}
	};
}

# Did the waker, a thread of the same process, let several of its threads go on at once? Then it
# kept no lock, of which there is one holder, and which goes to one waiter: all of them stood still
# for something that the process does (it collects garbage).
sub _all_go_on {
	my ($self, $wait,    $who) = @_;
	my ($ev,   $threads, $at)  = ($self->{states}->events, $self->{threads}, $wait->{waker}{at});
	my $pid = $threads->at($wait->{tid}, $at)->{pid};
	return 0 if $threads->at($who, $at)->{pid} != $pid;
	my %woken;
	for my $w ($ev->wakings($at - $THAW_NS, $at + $THAW_NS, $who)) {
		my ($tid) = @$w;
		$woken{$tid} = 1 if $tid != $wait->{tid} && $threads->at($tid, $at)->{pid} == $pid;
	}
	return keys %woken >= $OTHERS ? 1 : 0;
}

sub _ends {
	my ($self, $who, $at) = @_;
	my $ev = $self->{states}->events;
	for my $e (@{ $ev->of_kind(Tipme::KernelEvents::EXIT) }) {
		return 1 if $ev->tid($e) == $who && abs($ev->ts($e) - $at) < $EXIT_NS;
	}
	return 0;
}

# A frozen thread may sleep on where it slept, and who thaws its process wakes it there. No other
# process ends a wait for a futex of one's own:
# one that does, and wakes another thread of the process at the same time, has thawed it.
sub _thawed {
	my ($self, $waker) = @_;
	return 0 if !$waker->{tid} || $waker->{context} ne 'task';
	my ($ev, $threads) = ($self->{states}->events, $self->{threads});
	my $pid = $threads->at($self->{tid}, $waker->{at})->{pid};
	return 0 if $threads->at($waker->{tid}, $waker->{at})->{pid} == $pid;
	my $at = $waker->{at};
	for my $w ($ev->wakings($at - $THAW_NS, $at + $THAW_NS, $waker->{tid})) {
		my ($tid) = @$w;
		return 1 if $tid != $self->{tid} && $threads->at($tid, $waker->{at})->{pid} == $pid;
	}
	return 0;
}

# ends_by_thaw(TID, INTERVAL): did a thaw end that sleep? It could be woken by nobody until then.
sub ends_by_thaw {
	my ($self, $tid, $i) = @_;
	local $self->{tid} = $tid;
	my $waker = $self->_waker($i) or return 0;
	return $self->_thawed($waker);
}

# When a thread last ran up to a time.
sub _last_run {
	my ($self, $tid, $t) = @_;
	for (1 .. 1000) {
		my $i = $self->{states}->before($tid, $t) or return;
		return $t if $i->{kind} eq 'running';
		return    if $i->{from} >= $t;
		$t = $i->{from};
	}
	return;
}

1;
