# SPDX-License-Identifier: GPL-2.0-only
# A part of TaskStates: who had a CPU when, as the switches of that CPU tell.
package Tipme::TaskStates::OnCpu;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use List::Util qw(sum0);
use Tipme::Columns;
use Tipme::Record::Columns;
use Tipme::Record::Layout;

# Where the small fields of a switch begin in their column, for passes over very many.
use constant {
	PREV_PRIO => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_prio},
	NEXT_PRIO => $Tipme::Record::Columns::SHIFT{sched_switch}{next_prio},
};

my %STATE_NUMBER = reverse %{ $Tipme::Record::Layout::ENUM{task_state} };
my ($RUNNING)    = @STATE_NUMBER{qw(running)};
my $SWITCH_NS    = 500;    # no CPU changes threads faster
# switches of a CPU from which on the program in C counts: starting it takes as long as some
# thousand here
our $MANY_ON = 20_000;
my $RELEASE = 100_000;    # occupants after which memory is given back: some 10 MB of columns
# from one switch to the next, before the one that is wanted is looked for in all
my $STEPS = 6;

# occupants(CPU, FROM, TO): who ran there: [ from, to, tid, priority, index of the switch or undef
# ]; tid undef where it is not known
sub occupants {
	my ($self, @where) = @_;
	my @o;
	my $one = $self->_one_occupant(@where);
	return $one if $one;
	$self->each_occupant(@where, sub { push @o, [@_] });
	return @o;
}

# time_of(CPU, TID, [FROM, TO] ...): how long a thread (0: nobody) had a CPU in all of these, in ns
sub time_of {
	my ($self, $cpu, $tid, @stretches) = @_;
	my $switches = sum0(map { $self->{ev}->switches_between($cpu, @$_) } @stretches);
	my $sums =
		$switches > $MANY_ON
		? Tipme::Columns::sums($self->{ev}, [], [ map { [ $cpu, @$_ ] } @stretches ])
		: undef;
	return sum0(map { $_->{ns} } grep { $_->{tid} == $tid } map {@$_} @$sums) if $sums;
	return sum0(
		map  { $_->[1] - $_->[0] }
		grep { defined $_->[2] && $_->[2] == $tid }
		map  { $self->occupants($cpu, @$_) } @stretches
	);
}

# Most waits are for one thread: who came before FROM and left at TO or later. Undef: somebody else
# came meanwhile, or a switch was lost.
sub _one_occupant {
	my ($self, $cpu, $from, $to) = @_;
	my $ev   = $self->{ev};
	my $list = $ev->of_cpu($cpu);
	my $k    = $self->{near_on}{$cpu} = $ev->last_before($list, $from + 1, $self->{near_on}{$cpu});
	return if $k < 0 || $k + 1 >= length($$list) / 4 || $to <= $from;
	my ($i, $next) = (vec($$list, $k, 32), vec($$list, $k + 1, 32));
	my $tid = vec $ev->{a}, $i, 32;
	return if vec($ev->{ts}, $next, 64) < $to || vec($ev->{tid}, $next, 32) != $tid;
	return [ $from, $to, $tid, vec($ev->{d}, $i, 32) >> NEXT_PRIO & 255, $i ];
}

# many_on(CPU, FROM, TO, N): are there more than N occupants, or about so many?
sub many_on {
	my ($self, $cpu, $from, $to, $n) = @_;
	my $list = $self->{ev}->of_cpu($cpu);
	return 0 if length($$list) / 4 <= $n || $to - $from < $n * $SWITCH_NS;
	my $k =
		($self->{near_on}{$cpu} = $self->{ev}->last_before($list, $from, $self->{near_on}{$cpu}))
		+ $n;
	return $k < length($$list) / 4 && vec($self->{ev}{ts}, vec($$list, $k, 32), 64) < $to ? 1 : 0;
}

# each_occupant(CPU, FROM, TO, CODE): calls it with the same, one after the other: there may be very
# many
sub each_occupant {
	my ($self, $cpu, $from, $to, $code) = @_;
	my $ev = $self->{ev};
	my ($ts, $came, $left, $d) = map { \$ev->{$_} } qw(ts a tid d);
	my $list = $ev->of_cpu($cpu);
	my ($k, $n) = (
		$self->{near_on}{$cpu} = $ev->last_before($list, $from + 1, $self->{near_on}{$cpu}),
		length($$list) / 4
	);
	my $i = $k >= 0 ? vec($$list, $k, 32) : undef;
	my ($t, $seen) = ($from, $self->{seen} // 0);
	while ($t < $to) {
		$ev->release if ++$seen % $RELEASE == 0;
		my $next = ++$k < $n     ? vec($$list, $k,    32) : undef;
		my $end  = defined $next ? vec($$ts,   $next, 64) : $to;
		$end = $to if $end > $to;
		if ($end > $t) {
			# Where a switch was lost, who leaves is known to have been there; who came before that
			# is not known to have stayed.
			if (defined $i && (!defined $next || vec($$left, $next, 32) == vec($$came, $i, 32))) {
				$code->($t, $end, vec($$came, $i, 32), vec($$d, $i, 32) >> NEXT_PRIO & 255, $i);
			} elsif (defined $next) {
				$code->(
					$t, $end, vec($$left, $next, 32), vec($$d, $next, 32) >> PREV_PRIO & 255,
					$next
				);
			} else {
				$code->($t, $end, $self->_never_switched($cpu, $t));
			}
			$t = $end;
		}
		$i = $next;
	}
	$self->{seen} = $seen;
	return;
}

# A CPU without any switch: a picture may have seen a thread running there.
sub _never_switched {
	my ($self, $cpu, $t) = @_;
	for my $tid ($self->{threads}->tids) {
		my $p = $self->{threads}->picture_at($tid, $t) or next;
		return ($tid, $p->{prio}, undef)
			if $p->{state} == $RUNNING && $p->{cpu} == $cpu && !@{ $self->{ev}->of_tid($tid) };
	}
	return (undef, 120, undef);
}

# runs_at(CPU, INDEX): the thread that leaves a CPU next after a record, and so was there; undef:
# none does
sub runs_at {
	my ($self, $cpu, $index) = @_;
	my ($ev, $list) = ($self->{ev}, $self->{ev}->of_cpu($cpu));
	my ($lo, $hi) = (0, length($$list) / 4);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   (vec($$list, $m, 32) <= $index) { $lo = $m + 1 }
		else                                 { $hi = $m }
	}
	return 4 * $lo < length $$list ? vec($ev->{tid}, vec($$list, $lo, 32), 32) : undef;
}

# switch_after(INDEX, CPU): the index of the switch of the same CPU after it; undef: there is none
sub switch_after {
	my ($self, $i, $cpu) = @_;
	my $ev   = $self->{ev};
	my $list = $ev->of_cpu($cpu);
	my $k    = ($self->{placed}{$cpu} // -1) + 1;
	if (4 * $k < length $$list && vec($$list, $k, 32) == $i) { $self->{placed}{$cpu} = $k }
	else                                                     { $k = $self->_place($i) }
	return $k + 1 < length($$list) / 4 ? vec($$list, $k + 1, 32) : undef;
}

# The time of the one before it.
sub _switch_before {
	my ($self, $i) = @_;
	my ($ev,   $k) = ($self->{ev}, $self->_place($i));
	return $k > 0
		? vec($ev->{ts}, vec(${ $ev->of_cpu(vec $ev->{cpu}, $i, 16) }, $k - 1, 32), 64)
		: undef;
}

# The position of a switch among those of its CPU.
sub _place {
	my ($self, $i) = @_;
	my $ev   = $self->{ev};
	my $cpu  = vec $ev->{cpu}, $i, 16;
	my $list = $ev->of_cpu($cpu);
	my $n    = length($$list) / 4;
	# A thread's switches are asked for in their order: mostly it is the one after that of last
	# time, or one a little further.
	my ($k, $steps) = (($self->{placed}{$cpu} // -1) + 1, $STEPS);
	$k = 0 if $k >= $n || vec($$list, $k, 32) > $i;
	$k++ while $k < $n - 1 && vec($$list, $k, 32) < $i && $steps--;
	if (vec($$list, $k, 32) != $i) {
		my ($lo, $hi) = (0, $n - 1);
		while ($lo < $hi) {
			my $m = ($lo + $hi) >> 1;
			if   (vec($$list, $m, 32) < $i) { $lo = $m + 1 }
			else                            { $hi = $m }
		}
		$k = $lo;
	}
	return $self->{placed}{$cpu} = $k;
}

1;
