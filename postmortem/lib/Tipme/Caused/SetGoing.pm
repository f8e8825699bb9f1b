# SPDX-License-Identifier: GPL-2.0-only
# A part of Caused: whom the client has set going, where the chain ends in somebody whom it could
# not wake.
package Tipme::Caused::SetGoing;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::DisplaySource;
use Tipme::Hops     qw(hops once);
use Tipme::Messages qw(messages);
use Tipme::WakeupChain;
use Tipme::WakeupChain::Wait qw(by_a_timer waits_for_requests);

my $NS_PER_MS = 1_000_000;
my $AFTER_NS  = 50_000_000;    # after a grab has ended, what had waited for that is done
my %NO_REST   = map { $_ => 1 } qw(stopped traced disk_sleep frozen lock_wait);

# The chain ends in somebody who could not be woken by the client, since it had not been at rest
# since before the event: it was stopped, or computed, or waited for something. Did the client wait
# for it?
# Only if there is a sign that the client had asked it:
# - the client has woken a third one since the delivery, which did not wake the client again until
# the
#   chain comes to it, and there goes on to the one that was not at rest when it was woken; or
# - the answers to other events of this client came through the same process.
# Returning to each sleeper instead would come to the client nearly always, and accuse the innocent.
sub _waited_for {
	my ($self, $e, $states, $chain, $segments) = @_;
	my @hops  = $self->_hops($e, $segments);
	my $asked = $self->_waited_for_one_of($e, $states, $chain, @hops);
	# Whom the client had do something after it had got what it waited for does not matter.
	my @before = @hops ? grep { $_->{turn} == $hops[-1]{turn} } @hops : ();
	$asked = $self->_waited_for_one_of($e, $states, $chain, @before)
		if !$asked && @before && @before < @hops;
	return $asked if $asked;
	my @once = once(@hops);
	return @once < @hops ? $self->_waited_for_one_of($e, $states, $chain, @once) : 0;
}

# The first process of the chain had the display source to itself. What the source did for the
# client at once afterwards had been sent before, if the client had not run since. A timer of the
# client may have sent it as well as the event, or may have had it draw later: then nothing tells.
# [ thread of the client that takes events, when it ran last before the end of that ]; undef
sub _behind_a_grab {
	my ($self, $e, $states, $chain, $hop) = @_;
	my ($source, $tid) = ($e->{server}, $self->{rest}->hand($e));
	return
		if grep { $_->{tid} == $tid && $_->{from} >= $hop->{to} && by_a_timer($_) } $chain->waits;
	for my $g ($source->grabs) {
		my $end = $g->[1];
		next
			if !defined $end
			|| $end < $hop->{from}
			|| $end > $hop->{to} + $AFTER_NS
			|| !Tipme::DisplaySource::is_of($g->[3], $hop->{pid});
		# One that had come to rest before had asked for nothing.
		next if defined $self->{rest}->since($e, $end);
		my $asked = $source->first_asked($e, $states, $end, $end + $AFTER_NS) // next;
		my (undef, $ran) = $self->last_ran($states, $e->{pid}, $asked);
		next
			if !defined $ran || $ran >= $end || $self->{rest}->timers($tid, $e->{deliver_ns}, $end);
		my $i = $states->before($tid, $end);
		$i = $states->before($tid, $i->{from})
			while $i && $i->{kind} ne 'running' && $i->{from} > $e->{deliver_ns};
		return [ $tid, $i->{to} ]
			if $i && $i->{kind} eq 'running' && $i->{to} > $e->{deliver_ns};
	}
	return;
}

sub _hops { my ($self, @of) = @_; return hops($self->{kernel}->threads, @of) }

sub _waited_for_one_of {
	my ($self, $e, $states, $chain, $first, @further) = @_;
	return 0 if !$first;
	my $kept = $self->_behind_a_grab($e, $states, $chain, $first);
	return $kept if $kept;
	return 0     if $first->{looks};
	my $then = $chain->states->at($first->{tid}, $e->{deliver_ns});
	if (   !($then && $then->{kind} eq 'absent')
		&& !$self->_rests($chain, $first->{tid}, $e->{deliver_ns}))
	{
		my $sent = $self->_sent($e, $e->{pid}, $e->{deliver_ns}, $first->{to}, $first->{pid});
		return $sent if $sent;
		return 0     if !$self->_usually_through($e, $first->{pid});
		my $done = $self->{rest}->first_sleep($e);
		return defined $done ? [ $self->{rest}->hand($e), $done ] : 0;
	}
	my $asked = $self->_set_going($e, $states, $e->{pid}, $e->{deliver_ns}, $first)
		// $self->_born_for($e, $states, $first)
		// return $self->_handed_on($e, $states, $first, @further);
	my ($by, $t) = ($first, $asked->[1]);
	my %told = map { $_->{pid} => 1 } grep { !$_->{looks} } $first, @further;
	for my $hop (@further) {
		# Who only looks at the screen is not waited for, nor who had it do so.
		return 0 if $hop->{looks} && !$told{ $hop->{looks} };
		# What a process did by itself meanwhile is no wait.
		next          if $hop->{pid} == $by->{pid};
		return $asked if !$self->_rests($chain, $hop->{tid}, $t);
		# One that was at rest has been asked by the one before it, or was not.
		my $next = $self->_set_going($e, $states, $by->{pid}, $t - $NS_PER_MS, $hop) or return 0;
		($by, $t) = ($hop, $next->[1]);
	}
	return 0;
}

# The first process of the chain was done with the event, and only hands on what others do for it,
# as a terminal in a terminal does. Was the next one set going by it, and still worked; or was that
# made for the event? [ thread that asked, when ]; 0: nothing tells
sub _handed_on {
	my ($self, $e, $states, $by, @further) = @_;
	my ($pid, $since) = ($e->{pid}, $e->{deliver_ns});
	for my $hop (@further) {
		# What its threads wake each other for is handed on to nobody.
		next if $hop->{pid} == $by->{pid};
		my ($handed) = grep { $_->{by} == $pid && $_->{whom} == $by->{pid} }
			$self->_wakings($e, $states, $since, $by->{from});
		return 0 if !$handed || $hop->{looks};
		($pid, $since) = ($by->{pid}, $handed->{at});
		my $asked = $self->_set_going($e, $states, $pid, $since, $hop)
			// $self->_born_for($e, $states, $hop);
		return $asked if $asked;
		$by = $hop;
	}
	return 0;
}

# had_made(EVENT, PID, BIRTH): was a process made because of an event? The chain back from its birth
# comes to the client at the time of delivery, by nobody's timer.
sub had_made {
	my ($self, $e, $pid, $birth) = @_;
	my $states = $self->{kernel}->states($e->{deliver_ns} - $NS_PER_MS, $birth + $NS_PER_MS);
	return $self->_born_of($e, $states, $pid, $birth);
}

# WAITS takes those of the chain, if it comes to the client; without them, the first timer of
# somebody's ends the search: then it was made by the clock.
sub _born_of {
	my ($self, $e, $states, $tid, $birth, $waits) = @_;
	my $chain    = $self->chain($states, $e);
	my $segments = $chain->walk_once(
		$tid, $e->{deliver_ns}, $birth + 1,
		$waits ? () : (unless => \&by_a_timer)
	);
	return 0                if !$chain->reached || !$self->_through_client($e, $segments);
	@$waits = $chain->waits if $waits;
	return (grep { by_a_timer($_) } $chain->waits) ? 0 : 1;
}

# The process was made after the delivery, and for it (by a shell, for a terminal): the chain back
# from its birth comes to the client.
# [ thread of it, when it began the wait that the chain met ]; undef: it was not
sub _born_for {
	my ($self, $e, $states, $hop) = @_;
	my ($birth) =
		map  { $_->{to} }
		grep { $_->{kind} eq 'absent' && $_->{from} <= $e->{deliver_ns} }
		@{ $states->intervals($hop->{tid}) };
	return if !defined $birth || $birth <= $e->{deliver_ns} || $birth >= $hop->{from};
	my @waits;
	return
		if !$self->_born_of($e, $states, $hop->{tid}, $birth, \@waits)
		&& !$self->_moments->made_after_a_moment($e, @waits);
	my $slept = $states->before($hop->{tid}, $hop->{from});
	$slept = $states->before($hop->{tid}, $slept->{from})
		while $slept && $slept->{kind} ne 'blocked' && $slept->{from} > $birth;
	return $slept && $slept->{kind} eq 'blocked' ? [ $hop->{tid}, $slept->{from} ] : undef;
}

# Is a thread where others can ask it for something? Where nothing tells, it is taken to be.
sub _rests {
	my ($self, $chain, $tid, $t) = @_;
	my $i = $chain->states->at($tid, $t) or return 1;
	return 0 if $i->{kind} ne 'blocked' || $NO_REST{ $i->{state} };
	return 0 if $chain->ends_by_thaw($tid, $i);
	my $stack = $self->{kernel}->threads->stack($i->{stack_id});
	my $r     = defined $stack ? $self->{reasons}->of($stack, undef) : undef;
	return waits_for_requests($r)
		|| $chain->is_idle_there({ tid => $tid, reason => $r });
}

# [ thread, when ]: a process (PID) woke the process of a hop since a time, or sent it a message;
# that one has not answered until the chain comes to that hop, or it has, and works on ever since;
# undef: it did not. What a worker of the kernel brought (a terminal's) need not ask for an answer:
# there, too, it has to work ever since.
sub _set_going {
	my ($self, $e, $states, $pid, $since, $hop) = @_;
	my ($asked, $first);
	for my $w ($self->_wakings($e, $states, $since, $hop->{from})) {
		if ($w->{by} == $pid && $w->{whom} == $hop->{pid}) {
			$first //= $w;
			$asked = [ @$w{qw(tid at)} ] if !$w->{worker};
		} elsif ($w->{by} == $hop->{pid} && $w->{whom} == $pid) {
			$asked = undef;
		}
	}
	$asked //= [ @$first{qw(tid at)} ] if $first && $self->_works_on($states, $hop, $first->{at});
	my $sent = $self->_sent($e, $pid, $since, $hop->{from}, $hop->{pid});
	return $sent && !($asked && $asked->[1] < $sent->[1]) ? $sent : $asked;
}

# Who woke whom in [FROM, TO): { by, whom (processes), tid, at: thread that did and when, worker:
# the kernel's thread that it had do so }
sub _wakings {
	my ($self, $e, $states, $from, $to) = @_;
	my ($chain, @w) = ($self->chain($states, $e));
	for my $w ($states->events->wakings($from, $to)) {
		my ($whom, $t, $waker) = @$w;
		my ($tid, $at) = @{ $chain->for_whom($waker, $t) };
		push @w,
			{
			by => $self->_pid($tid, $at), whom => $self->_pid($whom, $t),
			tid => $tid, at => $at, worker => $tid == $waker ? 0 : $waker
			};
	}
	return @w;
}

# Has the thread of a hop, since it was woken at a time, not come back to where it slept then?
sub _works_on {
	my ($self, $states, $hop, $t) = @_;
	my $slept = $states->at($hop->{tid}, $t);
	return 0 if !$slept || $slept->{kind} ne 'blocked' || !$slept->{stack_id};
	my $end = $hop->{from};
	while (my $i = $states->before($hop->{tid}, $end)) {
		last     if $i->{from} >= $end;
		return 1 if $i->{from} <= $slept->{from};
		return 0
			if $i->{kind} eq 'blocked'
			&& (!$i->{stack_id} || $i->{stack_id} == $slept->{stack_id});
		$end = $i->{from};
	}
	return 0;
}

# The same by a message, which was not answered by one.
sub _sent {
	my ($self, $e, $pid, $since, $until, $other) = @_;
	my ($answer) = reverse messages($e->{server}, $other, $pid, $since, $until);
	my ($sent) = grep { $_ > ($answer // 0) } messages($e->{server}, $pid, $other, $since, $until);
	return if !defined $sent;
	return [ $pid == $e->{pid} ? $self->{rest}->hand($e) : $pid, $sent ];
}

1;
