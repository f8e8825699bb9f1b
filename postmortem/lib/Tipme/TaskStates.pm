# SPDX-License-Identifier: GPL-2.0-only
# What each thread did when: half-open intervals, running / runnable / blocked, that cover a stretch
# of time exactly.
package Tipme::TaskStates;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent qw(Tipme::TaskStates::Built);
use Carp   qw(croak);
use Tipme::KernelEvents;
use Tipme::Resources;

# from one interval to the next, before the one that is wanted is looked for in all
my $STEPS = 6;

# An interval: { from, to, kind, ... }
# running: cpu; irq_ns, softirq_ns (part of it, as the switch that ended it says), saturated; was
# (up to its begin it had that tid)
# runnable: how (preempted, woken, raced, forked, unknown), cpu (where it was put, as far as known),
# wake (index of the waking), parent (forked)
#   blocked:  state (name), wake (index of the waking that ended it; undef: none seen), stack_id
#   absent:   the thread did not exist
# `guessed` stands on what no record says but what must have been.

# new(KERNEL EVENTS, THREADS, FROM, TO)
sub new {
	my ($class, $ev, $threads, $from, $to) = @_;
	return bless { ev => $ev, threads => $threads, from => $from, to => $to, list => {} }, $class;
}

sub from    { return $_[0]{from} }
sub to      { return $_[0]{to} }
sub events  { return $_[0]{ev} }
sub threads { return $_[0]{threads} }

# wakers_unknown(): are there no records of who woke whom?
sub wakers_unknown { return 0 }

# resources(): what the same records say of disks, locks, memory, ...
sub resources {
	my ($self) = @_;
	return $self->{resources} //= Tipme::Resources->new(@$self{qw(ev threads)});
}

# once(NAME, CODE): what CODE gives, for all who walk on the same records
sub once {
	my ($self, $name, $code) = @_;
	return $self->{once}{$name} //= $code->();
}

# intervals(TID): all of [from, to), in order, without gap or overlap
sub intervals {
	my ($self, $tid) = @_;
	return $self->{list}{$tid} //= $self->_build($tid);
}

# forget(TID): what was kept of a thread for whom nobody is expected to ask again
sub forget { my ($self, $tid) = @_; delete $self->{list}{$tid}; return }

# at(TID, TIME): the interval that TIME lies in
sub at {
	my ($self, $tid, $t) = @_;
	return $self->_find($tid, $t, 0);
}

# before(TID, TIME): the interval that ends at TIME or that TIME lies in the middle of: what the
# thread did up to TIME
sub before {
	my ($self, $tid, $t) = @_;
	return $self->_find($tid, $t, 1);
}

sub _find {
	my ($self, $tid, $t, $strict) = @_;
	my $l = $self->{list}{$tid} // $self->intervals($tid);
	return if !@$l || $l->[0]{from} + $strict > $t;
	# A walk goes backwards step by step: mostly it is the interval of last time, or one a little
	# before.
	my $n     = $self->{near}{$tid} // $#$l;
	my $steps = $STEPS;
	if ($l->[$n]{from} + $strict <= $t) {
		$n++ while $n < $#$l && $l->[ $n + 1 ]{from} + $strict <= $t && $steps--;
	} else {
		$n-- while $l->[$n]{from} + $strict > $t && $steps--;
	}
	if ($steps < 0) {
		my ($lo, $hi) = (0, scalar @$l);
		while ($lo < $hi) {
			my $m = ($lo + $hi) >> 1;
			if   ($l->[$m]{from} + $strict <= $t) { $lo = $m + 1 }
			else                                  { $hi = $m }
		}
		$n = $lo - 1;
	}
	$self->{near}{$tid} = $n;
	return $l->[$n]{to} >= $t ? $l->[$n] : undef;
}

# state_at(TID, TIME): name of the state: running, runnable, or what it is blocked in; dead where it
# did not exist
sub state_at {
	my ($self, $tid, $t) = @_;
	my $i = $self->at($tid, $t) or return 'unknown';
	return $i->{kind} eq 'blocked' ? $i->{state} : $i->{kind} eq 'absent' ? 'dead' : $i->{kind};
}

# sums(TID, FROM, TO): { running, runnable, blocked, absent, irq_ns, softirq_ns, net_running },
# integer ns; the first four add up to TO - FROM
sub sums {
	my ($self, $tid, $from, $to) = @_;
	my %s = map { $_ => 0 } qw(running runnable blocked absent irq_ns softirq_ns);
	for my $i (@{ $self->intervals($tid) }) {
		my $a = $i->{from} > $from ? $i->{from} : $from;
		my $b = $i->{to} < $to     ? $i->{to}   : $to;
		next if $b <= $a;
		$s{ $i->{kind} } += $b - $a;
		next if $i->{kind} ne 'running' || $i->{from} < $from || $i->{to} > $to;
		$s{$_} += $i->{$_} for qw(irq_ns softirq_ns);
	}
	my $sum = $s{running} + $s{runnable} + $s{blocked} + $s{absent};
	croak "bug: states of thread $tid: $sum ns of @{[ $to - $from ]}" if $sum != $to - $from;
	$s{net_running} = $s{running} - $s{irq_ns} - $s{softirq_ns};
	$s{net_running} = 0 if $s{net_running} < 0;
	return \%s;
}

# tids_with_stack(PATTERN): threads that a waking, or a picture, found asleep with such a stack
sub tids_with_stack {
	my ($self, $pattern) = @_;
	my ($ev,   $threads) = @$self{qw(ev threads)};
	my (%is,   %tid);
	for my $i (0 .. $ev->count - 1) {
		next if vec($ev->{type}, $i, 8) != Tipme::KernelEvents::WAKING;
		my $id = $ev->sched_waking_stack_id($i) or next;
		$tid{ vec $ev->{tid}, $i, 32 } = 1
			if $is{$id} //= ($threads->stack($id) // '') =~ $pattern ? 1 : 0;
	}
	for my $tid ($threads->tids) {
		$tid{$tid} = 1
			if grep { ($threads->stack($_->{stack_id}) // '') =~ $pattern }
			$threads->pictures($tid);
	}
	return sort { $a <=> $b } keys %tid;
}

# leaves(TID): is there a record that the thread ever left a CPU? One that only comes is not where
# wakings say that it is: their thread is the one that leaves that CPU next.
sub leaves {
	my ($self, $tid) = @_;
	return $self->{leaves}{$tid} //= do {
		my $ev = $self->{ev};
		my @switches =
			grep { vec($ev->{type}, $_, 8) == Tipme::KernelEvents::SWITCH } @{ $ev->of_tid($tid) };
		!@switches || (grep { vec($ev->{tid}, $_, 32) == $tid } @switches) ? 1 : 0;
	};
}

1;
