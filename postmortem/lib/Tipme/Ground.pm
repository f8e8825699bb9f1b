# SPDX-License-Identifier: GPL-2.0-only
# The records off the path on which the path of a verdict rests all the same: who had a CPU when a
# wait began, what a thread did when it came to have a part, whose work a worker did, which requests
# a disk had. Each is kept for itself; where its time is nobody's business, it is told at the edge
# of the wait or the part.
package Tipme::Ground;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use List::Util qw(max min);
use Tipme::KernelEvents;
use Tipme::WakeupChain;

my $HANDED_NS = 20_000_000;    # whom a thread asks, that one asks the next within this time

# of(STATES, DATA, threads => Threads, near => ns, stretches => { tid => [[from, to] ...] },
# waits => { CPU => [[from, to] ...] }: lists apart and in order, passed => as WakeupChain has it,
# deliver_ns => when the event was delivered)
sub of {
	my ($class, $states, $d, %o) = @_;
	my $self = bless {
		states  => $states, ev     => $states->events, path => $d->{path}, %o,
		records => {},      copies => {}
	}, $class;
	$self->_begun($_) for sort { $a <=> $b } keys %{ $o{stretches} };
	for my $cpu (sort { $a <=> $b } keys %{ $o{waits} }) {
		$self->_beside($cpu, $_) for @{ $o{waits}{$cpu} };
	}
	$self->_works;
	$self->_disks;
	$self->_handed_on;
	$self->_passed($_) for @{ $o{passed} };
	return $self;
}

# As whole numbers: what List::Util makes of texts is written with a decimal point.
sub _times {
	return map { /(\d+)\z/ ? $1 + 0 : () } @_;
}

# knows(TID, TIME): is that record, or a copy of it, of the ground set? keeps(TID, TIME): as it is?
sub knows {
	my ($self, $tid, $ts) = @_;
	return $self->{records}{"$tid $ts"} || $self->{copies}{"$tid $ts"};
}
sub keeps { my ($self, $tid, $ts) = @_; return $self->{records}{"$tid $ts"} }

# copies(TID, TIME): of each copy, the fields that differ from the record
sub copies {
	my ($self, $tid, $ts) = @_;
	my $c = $self->{copies}{"$tid $ts"} // {};
	return map { $c->{$_} } sort keys %$c;
}

# first(), last(): between these lie the records that are kept as they are, and those of the copies
sub first {
	my ($self) = @_;
	return min(_times(keys %{ $self->{records} }));
}

sub last {
	my ($self) = @_;
	return max(_times(keys %{ $self->{records} }, keys %{ $self->{copies} }));
}

# reach(): the first and the last time of a record of the ground set, or of one that is told at
# another time
sub reach {
	my ($self) = @_;
	my @t = _times(keys %{ $self->{records} }, keys %{ $self->{copies} });
	return (min(@t), max(@t));
}

# within(LIST, TIME, NEAR): does it lie in one of these stretches, which are apart and in order?
sub within {
	my ($list, $t, $near) = @_;
	my ($lo, $hi) = (0, scalar @{ $list // [] });
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($list->[$m][0] - $near <= $t) { $lo = $m + 1 }
		else                                { $hi = $m }
	}
	# With `near` the ends of two may lie past each other: the one before may reach further.
	return $lo && $t <= $list->[ $lo - 1 ][1] + $near ? 1 : 0;
}

sub _key {
	my ($self, $i) = @_;
	return $self->{ev}->tid($i) . ' ' . $self->{ev}->ts($i);
}

sub _keep { my ($self, $i) = @_; $self->{records}{ $self->_key($i) } = 1; return }

# A copy told at a time, of which one side alone matters: what began, as early as that is needed;
# what ended, as late. One switch may be the beginning of a sleep, and of the next one's run.
sub _copy {
	my ($self, $i, $side, $at, %change) = @_;
	my $had = $self->{copies}{ $self->_key($i) }{$side};
	return if $had && ($side eq 'ends' ? $had->{ts_ns} >= $at : $had->{ts_ns} <= $at);
	$self->{copies}{ $self->_key($i) }{$side} =
		{ ts_ns => $at, irq_ns => 0, softirq_ns => 0, %change };
	return;
}

# What a thread does when a part of its begins: since when it runs or could run, and who woke it; if
# it sleeps, that it does. What it does when the part ends.
sub _begun {
	my ($self, $tid) = @_;
	my $states = $self->{states};
	for my $s (@{ $self->{stretches}{$tid} }) {
		my $i     = $states->before($tid, $s->[0] + 1) or next;
		my $begin = $i->{come} // $i->{leave} // $i->{fork};
		if ($i->{kind} ne 'blocked') {
			$self->_keep($_) for grep {defined} $begin, $i->{wake};
		} elsif (defined $begin) {
			$self->_slept($i, $begin, $s->[0]);
		}
		$self->_left($tid, $s->[1]);
	}
	return $self->_guessed($tid);
}

# A run of which no record tells the beginning is taken to begin at the last switch of its CPU.
sub _guessed {
	my ($self, $tid)  = @_;
	my ($ev,   $mine) = ($self->{ev}, $self->{stretches}{$tid});
	for my $i (grep { $_->{kind} eq 'running' && $_->{guessed} }
		@{ $self->{states}->intervals($tid) })
	{
		next if !defined $i->{cpu} || !_overlap($mine, @$i{qw(from to)}, 0);
		my $list = $ev->of_cpu($i->{cpu});
		my $k    = $ev->last_before($list, ($i->{real_from} // $i->{from}) + 1);
		$self->_keep(vec $$list, $k, 32) if $k >= 0;
	}
	return;
}

# Since when it sleeps is nobody's business, but for whether that was before the event came to it.
sub _slept {
	my ($self, $i, $leave, $part) = @_;
	return $self->_keep($leave) if ($i->{state} // '') !~ /sleep/;
	my $from = $i->{real_from} // $i->{from};
	my $at   = $part - $self->{near};
	$at = min($at, $self->{deliver_ns} - $self->{near}) if $from < ($self->{deliver_ns} // 0);
	return $self->_keep($leave) if $from >= $at;
	return $self->_copy($leave, 'slept', $at, next_tid => 0);
}

# Somebody asleep led to who woke it, at times at which it need not have a part: who has a lock, and
# waits for another that waits for a third. That it slept then, and who woke it.
sub _passed {
	my ($self, $p) = @_;
	my $i = $p->{sleep};
	$self->_slept($i, $i->{leave}, $p->{at});
	$self->_keep($i->{wake}) if defined $i->{wake};
	return;
}

# One that runs on when its part ends leaves its CPU then; or later, if another part of it is next.
sub _left {
	my ($self,   $tid, $end)  = @_;
	my ($states, $ev,  $near) = @$self{qw(states ev near)};
	my $i = $states->at($tid, $end) or return;
	return if $i->{kind} ne 'running' || $i->{to} <= $end + $near || $i->{to} >= $states->to;
	my $list = $ev->of_tid($tid);
	my $e    = $list->[ $ev->last_before($list, $i->{to}) + 1 ] // return;
	return if $ev->ts($e) != $i->{to} || $ev->tid($e) != $tid;
	return if grep { $_->[0] > $end && $_->[0] <= $i->{to} + $near } @{ $self->{stretches}{$tid} };
	return $self->_copy($e, 'ends', $end + $near, next_tid => 0);
}

# While a thread waits for a CPU, whoever has it has had it since an earlier switch, and until a
# later one.
sub _beside {
	my ($self, $cpu, $wait) = @_;
	my ($ev, $near)         = @$self{qw(ev near)};
	my ($from, $to)         = ($wait->[0] - $near, $wait->[1] + $near);
	my $list = $ev->of_cpu($cpu);
	my $k    = $ev->last_before($list, $from);
	$self->_edge(vec($$list, $k, 32), $from, 'begins') if $k >= 0;
	my $n = $ev->last_before($list, $to + 1) + 1;
	$self->_edge(vec($$list, $n, 32), $to, 'ends') if 4 * $n < length $$list;
	return;
}

# A switch beside a wait. A thread that has a part between then and now has its own records.
sub _edge {
	my ($self, $i, $at, $side) = @_;
	my $ev   = $self->{ev};
	my $ts   = $ev->ts($i);
	my $tid  = $side eq 'ends' ? $ev->tid($i) : $ev->next_tid($i);
	my $mine = $self->{stretches}{$tid};
	my ($lo, $hi) = $ts < $at ? ($ts, $at) : ($at, $ts);
	return $self->_keep($i) if $mine && _overlap($mine, $lo, $hi, 0);
	return $self->_copy(
		$i, $side, $at,
		$side eq 'ends' ? (next_tid => 0) : (tid => 0, prev_state => 0)
	);
}

# A worker that had the CPU, or had a part, worked for somebody, who may have been a worker, too.
sub _works {
	my ($self) = @_;
	my $works = Tipme::WakeupChain->new(map { $_ => $self->{$_} } qw(states threads))->works;
	for my $tid (keys %$works) {
		for my $w (@{ $works->{$tid} }) {
			my $end = $w->{end_ns} // $w->{start_ns};
			$self->_work($works, $w)
				if grep { _overlap($_, $w->{start_ns}, $end, $self->{near}) }
				values %{ $self->{waits} },
				$self->{stretches}{$tid} // ();
		}
	}
	return;
}

sub _work {
	my ($self, $works, $w) = @_;
	return if $self->{worked}{"$w->{worker} $w->{start_ns}"}++;
	$self->_keep($_) for grep {defined} $w->{index}, $w->{queued};
	$self->{records}{"$w->{worker} $w->{end_ns}"} = 1 if defined $w->{end_ns};
	return                                            if !defined $w->{tid};
	my ($t, $of) = ($w->{queued_ns}, $works->{ $w->{tid} } // []);
	$self->_work($works, $_) for grep { $_->{start_ns} <= $t && ($_->{end_ns} // $t) >= $t } @$of;
	return;
}

# Who looks by the clock for an answer had asked for it through somebody, who need not have a part
# (a bus): who woke whom then.
sub _handed_on {
	my ($self) = @_;
	my ($ev, $mine) = @$self{qw(ev stretches)};
	my @kinds = map { ($_->{blamed} // {})->{kind} // '' } @{ $self->{path} };
	return if !grep {/\A(?:time-out|timer-sleep)\z/} @kinds;
	for my $tid (sort { $a <=> $b } keys %$mine) {
		for my $i (@{ $self->_wakings($tid) }) {
			my ($ts, $by) = ($ev->ts($i), $ev->waker($i));
			next if !$by || $mine->{$by};
			my $asked = $self->_last_waking($by, $ts) // next;
			next if $ts - $ev->ts($asked) > $HANDED_NS;
			next if !$mine->{ $ev->waker($asked) };
			$self->_keep($_) for $asked, $i;
		}
	}
	return;
}

sub _last_waking {
	my ($self, $tid, $ts) = @_;
	my $list = $self->_wakings($tid);
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($self->{ev}->ts($list->[$m]) <= $ts) { $lo = $m + 1 }
		else                                       { $hi = $m }
	}
	return $lo ? $list->[ $lo - 1 ] : undef;
}

# Those of a thread by another one.
sub _wakings {
	my ($self, $tid) = @_;
	my $ev = $self->{ev};
	return $self->{wakings}{$tid} //= [
		grep {
				   $ev->tid($_) == $tid
				&& $ev->kind($_) == Tipme::KernelEvents::WAKING
				&& !$ev->context($_)
		} @{ $ev->of_tid($tid) }
	];
}

sub _overlap {
	my ($list, $from, $to, $near) = @_;
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($list->[$m][0] - $near <= $to) { $lo = $m + 1 }
		else                                 { $hi = $m }
	}
	return $lo && $list->[ $lo - 1 ][1] + $near >= $from ? 1 : 0;
}

# While a thread of the path waits for a disk: the requests that the disk had then, from their
# beginning to their end.
sub _disks {
	my ($self) = @_;
	my ($ev, $near) = @$self{qw(ev near)};
	my @sleeps =
		map { [ @$_{qw(from_ns to_ns)} ] } grep { $_->{state} eq 'disk_sleep' } @{ $self->{path} };
	return if !@sleeps;
	my (%open, @requests);
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::IO) }) {
		my ($ts, $key) = ($ev->ts($i), $ev->io_dev($i) . ' ' . $ev->io_sector($i));
		my $r = $open{$key};
		push @requests, $r = $open{$key} = { from => $ts, of => [] }
			if !$r || $ts - $r->{to} > 1_000_000_000;
		$r->{to} = $ts;
		push @{ $r->{of} }, $i;
	}
	for my $r (grep { _overlap(\@sleeps, @$_{qw(from to)}, $near) } @requests) {
		$self->_keep($_) for @{ $r->{of} };
	}
	return;
}

1;
