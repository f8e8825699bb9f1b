# SPDX-License-Identifier: GPL-2.0-only
# A part of WakeupChain: a thread that nobody woke, or that looks by the clock, and whom it asked.
package Tipme::WakeupChain::Asked;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Naps;
use Tipme::Pacer;
use Tipme::Reason qw(reason);

my $FOUND_NS  = 50_000_000;    # who looks by the clock finds what was done within
my $LOOKED_NS = 1_000_000;     # or when the nap is over that begins within
my $PEER_NS =
	20_000_000;    # a thread woken by ours so shortly before ours fell asleep is whom it asked
my $TRAIL = 64;    # segments of a walk that tell through whom it came to a pacer

# Nor has it the waking of whom a thread asked before it slept, if that was long before.
sub _told_peer {
	my ($self) = @_;
	my ($of) =
		grep { $_->{still} && $_->{tid} == $self->{tid} } @{ $self->_told->{asked} // [] };
	return $of ? $of->{who} : undef;
}

# asked(WHO, TID, SLEEP, TO): has TID made the other, or woken it from shortly before its sleep on?
# No further back is looked: one that is woken again and again has a long history.
sub asked {
	my ($self, $who, $tid, $i, $to) = @_;
	my $ev = $self->{states}->events;
	$self->{made} //=
		{ map { ($ev->child($_) . ' ' . $ev->tid($_)) => $ev->ts($_) }
			@{ $ev->of_kind(Tipme::KernelEvents::FORK) } };
	my $made = $self->{made}{"$who $tid"};
	return 1
		if defined $made && $made < $to
		|| grep { $_->{tid} == $tid && $_->{who} == $who } @{ $self->_told->{asked} // [] };
	my $list  = $ev->of_tid($who);
	my $since = ($i->{real_from} // $i->{from}) - $PEER_NS;
	for (my $k = $ev->last_before($list, $to); $k >= 0; $k--) {
		my $e = $list->[$k];
		return 0 if $ev->ts($e) < $since;
		next
			if $ev->kind($e) != Tipme::KernelEvents::WAKING
			|| $ev->tid($e) != $who;
		return 1 if $ev->waker($e) == $tid && $ev->context($e) == 0;
	}
	return 0;
}

# Nobody has woken it, and it waits for a lock whose holder the kernel has told: the walk goes on in
# the holder.
sub _ask_holder {
	my ($self, $i, $lo, $r) = @_;
	my ($lock) =
		reverse $self->{states}->resources->lock_waits($self->{tid}, $self->{t} - 1, $self->{t});
	my $who = $lock ? $lock->{owner} : 0;
	return 0 if !$who || $who == $self->{tid} || $self->{jumped}{$who}++;
	$self->_pass($i);
	my $held = {
		kind => 'lock-wait',  class => 'lock', code => $r ? $r->{code} : 'wait-kernel-lock',
		tid  => $self->{tid}, at    => $self->{t},
		prio => $self->{threads}->at($self->{tid}, $self->{t})->{prio}
	};
	push @{ $self->{frames} },
		[ $self->{tid}, $lo > $lock->{from} ? $lo : $lock->{from}, 0, undef, $held ];
	$self->{jumped}{ $self->{tid} } = 1;
	$self->{tid} = $who;
	return 1;
}

# It tried to lock a file just before it slept, another process had that lock, and its own timer
# ended the sleep: it looks again and again whether the lock is free. The walk goes on in the
# process that had it, as long as that was there.
sub _naps_for_lock {
	my ($self, $i, $lo, $r, $s) = @_;
	return 0
		if $s->{waker}{context} ne 'hardirq' || $r && $r->{class} ne 'nap' && $r->{class} ne 'loop';
	my $lock = $self->_lock_tried($i) or return 0;
	my $who  = $lock->{owner};
	my $gone = $self->{states}->before($who, $self->{t});
	if ($gone && $gone->{kind} eq 'absent') {
		return 0 if $gone->{from} <= $lo;
		$self->_emit(
			$gone->{from}, %$s, kind => 'timer-sleep',
			reason => $r ? $r->{code} : 'sleep-chosen'
		);
		return 1;
	}
	return 0 if $self->{jumped}{$who}++;
	push @{ $s->{evidence} }, $lock->{index};
	push @{ $self->{frames} }, [
		$self->{tid},
		$lo, 0, undef,
		{
			kind => 'lock-wait', class => 'lock', code => 'wait-file-lock', tid => $self->{tid},
			at   => $self->{t},
			prio => $self->{threads}->at($self->{tid}, $self->{t})->{prio}
		}
	];
	$self->{jumped}{ $self->{tid} } = 1;
	$self->{tid} = $who;
	return 1;
}

# It paces frames, and one of those that it has woken had worked for somebody else since its tick
# before: what the frame shows is that. The walk waits with the pacer, and goes on in that one.
sub _paces {
	my ($self, $i, $lo, $r, $s) = @_;
	return 0
		if $self->{below}
		|| $self->{stays}
		|| $s->{waker}{context} ne 'hardirq'
		|| $self->{tid} == $self->{server_tid};
	my ($tid, $t, $for) = Tipme::Pacer::worked_since(
		@$self{qw(states tid)}, $i, $self->_trail,
		{ %{ $self->{wrong} }, $self->{server_tid} => 1 }
	) or return 0;
	return 0 if $t <= $lo || $t >= $self->{t};
	push @{ $self->{waits} },
		{ tid => $self->{tid}, from => $t, to => $self->{t}, reason => $r, waker => $s->{waker} };
	$self->_emit(
		$t, %$s,
		kind   => $r ? $r->{kind}  : 'timer-sleep',
		reason => $r ? $r->{code}  : 'loop-timer',
		class  => $r ? $r->{class} : 'loop', exact => 0
	);
	@$self{qw(tid left left_for)} = ($tid, $t, $for);
	return 1;
}

# The threads that the walk has just passed, up to where it left a pacer before: { tid => 1 }
sub _trail {
	my ($self) = @_;
	my ($segments, %on) = ($self->{segments});
	my $last = $#$segments < $TRAIL ? 0 : @$segments - $TRAIL;
	for my $s (reverse @$segments[ $last .. $#$segments ]) {
		last if defined $self->{left} && $s->{to} > $self->{left};
		$on{ $s->{tid} } = 1;
	}
	delete @on{ @$self{qw(tid server_tid)} };
	return \%on;
}

# The last lock of a file that a thread tried in vain between its sleep before an interval and that
# interval; undef: none, or who had it is not known
sub _lock_tried {
	my ($self, $i) = @_;
	my $begin = my $since = $i->{real_from} // $i->{from};
	while ($since > $begin - $PEER_NS) {
		my $b = $self->{states}->before($self->{tid}, $since) or last;
		last if $b->{kind} ne 'running' && $b->{kind} ne 'runnable';
		$since = $b->{from};
	}
	my ($lock) = grep { $_->{what} eq 'file' && $_->{owner} && $_->{from} >= $since }
		reverse $self->{states}->resources->lock_waits($self->{tid}, $since, $begin);
	return $lock
		&& $self->{threads}->at($self->{tid}, $begin)->{pid} != $lock->{owner} ? $lock : undef;
}

# Whom it had asked did something, or ended, a few naps before the end (in one of them, or between
# two), and it found that when it looked: the walk goes on in that one.
sub _found_by_the_clock {
	my ($self, $run, $i, $lo, $s) = @_;
	my ($tid, $asked) = @{ $run->{asked} };
	$run->{done} //= $self->_last_run($tid, $run->{to}) // 0;
	my $done = $run->{done};
	return 0
		if $done - $asked < $PEER_NS
		|| $run->{to} - $done > $FOUND_NS
		&& ($run->{naps} == 1 || $run->{last} - $done > $LOOKED_NS)
		|| $run->{from} < $self->_bound
		|| $done - ($run->{answered} // $self->{t}) > $FOUND_NS
		|| $self->{jumped}{$tid};
	my $from = $done > $lo ? $done : $lo;
	$self->_emit(
		$from, %$s, kind => 'timer-sleep', reason => 'loop-timer', class => 'loop',
		exact => 0
	) if $from < $self->{t};
	return 1 if $done < $lo;
	push @{ $self->{frames} }, [ $self->{tid}, $run->{from}, 1 ];
	$self->{jumped}{$_} = 1 for $tid, $self->{tid};
	$self->{tid}        = $tid;
	return 1;
}

# Samples tell no waker. A server that sleeps between the delivery and the change of the screen
# waits for its client all the same.
sub _ask_client {
	my ($self) = @_;
	return 0
		if !$self->{states}->wakers_unknown
		|| $self->{below}
		|| $self->{tid} != $self->{server_tid}
		|| !$self->{client_pid};
	return 0 if $self->{jumped}{ $self->{client_pid} }++;
	$self->{jumped}{ $self->{tid} } = 1;
	$self->{tid} = $self->{client_pid};
	return 1;
}

# naps(): the runs of naps on these states
sub naps {
	my ($self) = @_;
	return $self->{naps} //=
		Tipme::Naps->new(%$self{qw(states threads reasons server server_tid server_pid)});
}

# Is the walk in who has a lock that others wait for? That it has it is known; whom it asked before
# it slept, and whether it waits for that one, would be a guess.
sub _has_lock {
	my ($self) = @_;
	my ($held) = map { $_->[4] // () } reverse @{ $self->{frames} };
	return 0 if !$held || $held->{class} ne 'lock';
	my $pid = $self->{threads}->at($self->{tid}, $self->{t})->{pid};
	return !defined $held->{within} || $held->{within} == $pid ? 1 : 0;
}

# It had asked somebody, and looks by the clock whether the answer has come: a wait for that one,
# who has not answered.
sub _naps_for_answer {
	my ($self, $i, $lo, $waker, $s) = @_;
	return 0
		if $self->{below}
		|| $self->{tid} == $self->{server_tid}
		|| $self->_has_lock
		|| $waker->{context} ne 'hardirq' && $waker->{tid} != $self->{server_tid};
	my $run = $self->naps->run($self->{tid}, $i) or return 0;
	return 1 if $self->_found_by_the_clock($run, $i, $lo, $s);
	push @{ $self->{waits} },
		{
		tid    => $self->{tid},                                    from  => $lo, to => $self->{t},
		reason => scalar $self->{reasons}->of($s->{stack}, undef), waker => $waker, run => $run
		};
	my $behind = $self->naps->may_have_handed_on($run->{asked}, $self->{t});
	$self->_emit(
		$lo, %$s, kind => 'time-out', reason => reason('no-answer', behind => $behind || undef),
		class => 'loop', asked => $run->{asked}, exact => 0
	);
	return 1;
}

# Nobody has woken it: it still waits for the one it woke, asked, just before it fell asleep.
# Inferred, and marked so.
sub _ask_peer {
	my ($self, $i, $lo) = @_;
	my $ev = $self->{states}->events;
	my ($begin, $peer) = ($i->{real_from} // $i->{from});
	for my $w (reverse $ev->wakings($begin - $PEER_NS + 1, $begin + 1, $self->{tid})) {
		my ($who) = @$w;
		next if $who == $self->{server_tid} || $who == $self->{tid};
		my $at = $self->{states}->before($who, $self->{t});
		# One that has done its part and sleeps again as before is not whom we wait for.
		next
			if !$at
			|| $at->{kind} eq 'blocked'
			&& !defined $at->{wake}
			&& $at->{state} eq 'sleeping'
			&& $self->{reasons}->is_loop($self->{threads}->stack($at->{stack_id}));
		$peer = $who;
		last;
	}
	my $owner =
		defined $peer || $self->{below} ? undef : $self->naps->owner_asked($self->{tid}, $begin);
	my $who =
		  defined $peer ? $peer
		: $owner        ? $owner->[0]
		:                 $self->_told_peer;
	return 0 if !defined $who || $self->{jumped}{$who}++;
	$self->_pass($i, $who);
	push @{ $self->{frames} }, [ $self->{tid}, $lo, 1 ];
	$self->{jumped}{ $self->{tid} } = 1;
	$self->{tid} = $who;
	return 1;
}

1;
