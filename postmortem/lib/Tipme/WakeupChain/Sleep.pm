# SPDX-License-Identifier: GPL-2.0-only
# A part of WakeupChain: what a sleep waited for, and where the walk goes on from it.
package Tipme::WakeupChain::Sleep;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::Kinds;
use Tipme::Reason qw(reason with_more);

my $SERVED_NS =
	20_000_000;    # what a thread asked over the network so shortly before it slept, it waits for
my $GAVE_UP_NS = 100_000_000;                                 # nobody gives up an answer sooner
my %STOPPED    = map { $_ => 1 } qw(stopped traced frozen);

sub _blocked {
	my ($self, $i, $lo) = @_;
	my $state = $i->{state};
	my $waker = $self->_waker($i);
	my %s     = (
		state => $state, evidence => [ grep {defined} $i->{leave}, $i->{wake} ],
		exact => $i->{guessed} ? 0 : 1,
		stack => scalar $self->{threads}->stack($i->{stack_id}), waker => $waker
	);
	# A frozen thread of version 2 of cgroups sleeps like others, but for its stack; the function
	# that it sleeps in is part of get_signal() in Debian's kernels.
	$state = 'frozen'
		if defined $s{stack}
		&& $s{stack} =~ /\b(?:__refrigerator|do_freezer_trap)\b|\Aget_signal\b/;
	if ($STOPPED{$state}) {
		return $self->_emit(
			$lo, %s, ended => $i->{to} < $self->{states}->to ? 1 : 0,
			kind => 'stopped', reason => $state
		);
	}
	my $work = $self->_work_at(@$self{qw(tid t)});
	$s{work} = $work if $work && defined $work->{tid};
	my $r = $self->_reason($i, $s{stack}, $waker);
	return if $self->_in_frame && $self->_paced($i, $lo, $waker, $r, \%s);
	return if $self->_on_disk($i, $lo, $waker, $r, \%s);
	return if $waker && $self->_brought_by_disk($i, $waker);
	if ($waker && $r && $r->{kind} eq 'futex-wait' && $self->_thawed($waker)) {
		return $self->_emit($lo, %s, ended => 1, kind => 'stopped', reason => 'frozen', exact => 0);
	}
	return if $self->_waits_for_service($i, $lo, $waker, $r, \%s);
	return if $waker && $self->_naps_for_answer($i, $lo, $waker, \%s);
	return if $waker && $self->_follow($i, $lo, $waker, \%s);
	return if $waker && $self->_naps_for_lock($i, $lo, $r, \%s);
	return if $waker && $self->_paces($i, $lo, $r, \%s);
	return
		if !$waker
		&& ($self->_ask_client || $self->_ask_holder($i, $lo, $r) || $self->_ask_peer($i, $lo));
	push @{ $self->{waits} },
		{ tid => $self->{tid}, from => $lo, to => $self->{t}, reason => $r, waker => $waker };

	if (!$r && $state eq 'disk_sleep') {
		return $self->_emit($lo, %s, kind => 'unknown', reason => 'wait-still', exact => 0);
	}
	if (!$r) {
		return $self->_emit(
			$lo, %s, kind => 'unknown',
			reason => $waker
			? $waker->{context} eq 'task'
					? 'slept'
					: 'slept-interrupt'
			: $i->{guessed} ? 'waking-lost'
			:                 'not-woken', exact => 0
		);
	}
	# Nobody has kept it there: it has waited until the time that it had set.
	$r = { %$r, kind => 'timer-sleep', code => 'futex-timer' }
		if $waker && $waker->{context} eq 'hardirq' && $r->{kind} eq 'futex-wait';
	my ($whose) = $waker ? () : grep { Tipme::Kinds::has($r->{kind}, $_) } qw(for-whom holder);
	# That it waited is known, and for whom not: such a verdict accuses nobody, and is not sure.
	my ($in) =
		$self->{states}->wakers_unknown && $r->{class} eq 'disk' ? $s{stack} =~ /\A(\w+)/ : ();
	$self->_emit(
		$lo, %s,
		kind   => $r->{kind},
		reason => with_more(
			$r->{code}, in => $in, $self->_others_of_disk($r->{class}),
			$whose ? ($self->{states}->wakers_unknown ? 'sampled' : 'untold', $whose) : ()
		),
		class => $r->{class},
		$whose                                       ? (exact      => 0) : (),
		!$waker && ($whose || $r->{class} eq 'loop') ? (unanswered => 1) : ()
	);
}

# Why a thread slept, by its stack, and by what the kernel has recorded of locks of its own.
sub _reason {
	my ($self, $i, $stack, $waker) = @_;
	my $began  = $i->{real_from} // $i->{from};
	my $locked = $self->{states}->resources->sleeps_for_lock($self->{tid}, $began);
	return scalar $self->{reasons}->of($stack, $waker ? $waker->{context} : undef, $locked);
}

# It had asked a service over the network just before it slept, and slept until the network, its own
# timer or nobody woke it.
# Where a thread of this machine answered, the walk goes on in that one instead.
sub _waits_for_service {
	my ($self, $i, $lo, $waker, $r, $s) = @_;
	return 0
		if !$r
		|| $r->{class} ne 'net' && $r->{class} ne 'loop'
		|| $self->{tid} == $self->{server_tid}
		|| $waker && $waker->{tid};
	my $begin = $i->{real_from} // $i->{from};
	my ($asked) =
		reverse $self->{states}->resources->asked($self->{tid}, $begin - $SERVED_NS, $begin);
	return 0 if !$asked;
	my $mute = $waker && $waker->{context} eq 'hardirq' ? 1 : 0;
	return 0 if $mute && $i->{to} - $begin < $GAVE_UP_NS;
	my $again =
		$self->{states}->resources->sent_again($asked->{socket}, $begin - $SERVED_NS, $self->{t});
	push @{ $self->{waits} },
		{ tid => $self->{tid}, from => $lo, to => $self->{t}, reason => $r, waker => $waker };
	push @{ $s->{evidence} }, $asked->{index};
	my $code = 'wait-service-' . $asked->{service} =~ tr/_/-/r;
	$self->_emit(
		$lo, %$s, kind => 'network-wait', class => $r->{class}, service => 1,
		$mute ? (exact => 0) : (),
		reason => reason(
			$code, place => $asked->{place} eq 'unknown' ? undef : $asked->{place},
			again => $again || undef, mute => $mute || undef, still => $waker ? undef : 1
		)
	);
	return 1;
}

# Is the walk in the frame of a compositor?
sub _in_frame {
	my ($self) = @_;
	my $f = $self->{frame};
	return $f && $self->{t} > $f->{from} ? 1 : 0;
}

# A compositor that knows of what was drawn and sleeps in its event loop, or for a time that it
# chose, waits for the next frame, whoever wakes it: its waker may be another client that draws. As
# long as the server was busy before it woke the compositor, it may have been waited for: the walk
# is with the server then.
# The server sleeps in a frame where it was asked for a picture and waits for the screen.
sub _paced {
	my ($self, $i, $lo, $waker, $r, $s) = @_;
	my ($tid, $f) = ($self->{tid}, $self->{frame});
	return 0 if $r && $r->{class} ne 'loop' && $r->{class} ne 'nap';
	if ($tid == $self->{server_tid}) {
		return 0
			if $waker
			&& $waker->{tid}
			&& $self->{threads}->at($waker->{tid}, $waker->{at})->{pid} == $f->{pid};
	} elsif ($self->{threads}->at($tid, $self->{t})->{pid} != $f->{pid}) {
		return 0;
	} elsif ($waker
		&& $waker->{tid} == $self->{server_tid}
		&& $waker->{at} <= $self->{t}
		&& !$self->{jumped}{ $self->{server_tid} })
	{
		my $busy = $self->_awake_since($self->{server_tid}, $waker->{at});
		if ($busy < $waker->{at}) {
			$self->_at($waker->{at}) if $waker->{at} < $self->{t};
			push @{ $self->{frames} }, [ $tid, $busy > $lo ? $busy : $lo, 0 ];
			@{ $self->{jumped} }{ $tid, $self->{server_tid} } = (1, 1);
			$self->{tid} = $self->{server_tid};
			return 1;
		}
	} elsif ($waker && $self->_waited_for_own($lo, $waker)) {
		return 0;
	}
	$self->_emit(
		$lo, %$s, kind => 'frame-wait', reason => 'frame-wait', class => 'loop',
		detail => 'frame-wait', blamed_tid => $f->{pid}
	);
	return 1;
}

# Has a compositor slept until another of its threads woke it, one that reads for it what comes,
# say, and that was awake for most of the sleep? That thread's time it was then, not the screen's.
sub _waited_for_own {
	my ($self, $lo, $waker) = @_;
	my ($tid, $at) = @$waker{qw(tid at)};
	return 0 if !$tid || $tid == $self->{tid} || $at > $self->{t};
	return 0 if $self->{threads}->at($tid, $at)->{pid} != $self->{frame}{pid};
	my $busy = $self->_awake_since($tid, $at);
	return 2 * ($at - ($busy > $lo ? $busy : $lo)) >= $self->{t} - $lo ? 1 : 0;
}

# Since when a thread has not slept before a time.
sub _awake_since {
	my ($self, $tid, $t) = @_;
	for (1 .. 1000) {
		my $i = $self->{states}->before($tid, $t) or return $t;
		return $t if $i->{kind} eq 'blocked' || $i->{kind} eq 'absent' || $i->{from} >= $t;
		$t = $i->{from};
	}
	return $t;
}

# Samples see that somebody waits for a disk, and none of the requests that it works on meanwhile.
sub _others_of_disk {
	my ($self, $class) = @_;
	return $class eq 'disk' && $self->{states}->wakers_unknown ? (sampled => 'disk') : ();
}

# A sleep that the completion of a request ended is told by what that request waited for: others
# ahead of it, the device. Where a thread ended it (a loop device's, a journal's), the walk goes on
# in that thread instead.
sub _on_disk {
	my ($self, $i, $lo, $waker, $r, $s) = @_;
	return 0 if $waker && $waker->{tid} && $waker->{context} eq 'task';
	return 0 if $r ? $r->{class} ne 'disk' : $s->{state} ne 'disk_sleep';
	my $disk = $self->{states}->resources;
	my $bio =
		$disk->disk_wait($self->{tid}, $i->{from}, $waker ? $i->{to} : $self->{t}, $waker ? 1 : 0)
		or return 0;
	$self->_tell_disk($bio, $lo, $r, $s);
	return 1;
}

# A worker that an interrupt gives work to had none before: who waits for that work waits for what
# the interrupt came of. Where that is a request of a disk that was done just then, and the thread
# in whose wait the walk is waits for a disk, it is told so, from the begin of its wait on.
sub _brought_by_disk {
	my ($self, $i, $waker) = @_;
	my $f = $self->{frames}[-1];
	return 0
		if !$f
		|| $f->[3]
		|| $waker->{tid}
		|| $i->{state} ne 'idle'
		|| !$self->{threads}->at(@$self{qw(tid t)})->{kernel};
	my ($tid, undef, $guessed) = @$f;
	my $waits = $self->{states}->before($tid, $self->{t});
	return 0 if $tid == $self->{tid} || !$waits || $waits->{kind} ne 'blocked';
	my $stack = $self->{threads}->stack($waits->{stack_id});
	my $by    = $self->_waker($waits);
	my $saved = $self->{tid};
	$self->{tid} = $tid;
	my $r = $self->_reason($waits, $stack, $by);
	my $bio =
		($r ? $r->{class} eq 'disk' : $waits->{state} eq 'disk_sleep')
		? $self->{states}->resources->just_done($tid, $i->{from}, $waker->{at})
		: undef;
	if (!$bio) { $self->{tid} = $saved; return 0 }
	my $lo = $self->_bound;
	pop @{ $self->{frames} };
	$self->_tell_disk(
		$bio, $lo, $r,
		{
			state    => $waits->{state},
			evidence => [ grep {defined} $waits->{leave}, $i->{wake}, $waits->{wake} ],
			exact    => $guessed || $waits->{guessed} ? 0 : 1,
			stack    => $stack, waker => $by
		}
	);
	return 1;
}

# The stretch from LO on is what the thread in hand waited for until that request was done.
sub _tell_disk {
	my ($self, $bio, $lo, $r, $s) = @_;
	push @{ $self->{waits} },
		{
		tid   => $self->{tid}, from => $lo, to => $self->{t}, reason => $r,
		waker => $s->{waker}
		};
	my $disk = $self->{states}->resources;
	for my $p (reverse $disk->disk_pieces($bio, $lo, $self->{t}, $self->{tid})) {
		my ($from, $to, $phase, $ahead) = @$p;
		$self->_put(
			$from, $to, %$s, kind => $r ? $r->{kind} : 'disk-io', class => 'disk',
			reason   => $r ? $r->{code} : 'wait-disk',
			evidence =>
				[ @{ $s->{evidence} }, @{ $bio->{indices} }, $ahead ? $ahead->{index} : () ],
			disk => { phase => $phase, ahead => $ahead, bio => $bio },
			$phase eq 'asking' && $ahead && $ahead->{guessed} ? (exact => 0) : ()
		);
	}
	$self->_at($lo);
	return;
}

1;
