# SPDX-License-Identifier: GPL-2.0-only
# What each thread did, from samples of /proc: how long it ran and waited for a CPU between two
# samples is the kernel's own count; when, is put together.
package Tipme::Sampled;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent 'Tipme::TaskStates';
use Tipme::KernelEvents;
use Tipme::Record::Layout;

my %STATE        = %{ $Tipme::Record::Layout::ENUM{task_state} };
my %STATE_NUMBER = reverse %STATE;
my $SATURATED    = 4294967295;    # in a record: longer than its field can say (abi/records.def)
# what lasts as long is known but for 20 ms at its edges; what is shorter is guessed
my $SURE_NS = 100_000_000;
my $SLICE_NS =
	100_000_000;    # who had a CPU is told for pieces as long: inside one, the order is not known
# Ns; a wait for a CPU that is shorter is not told apart from none by samples.
my $WAIT_NS = 1_000_000;

# Two samples of a thread, its counts between them, and what it does at their times: [ t0, t1, state
# before, state at t1, ran, waited, cpu, prio, stack before ].
# A thread that slept before was woken, waited, ran, and then does what the second sample says; a
# thread that was awake ran first.

sub wakers_unknown { return 1 }

# samples(TID): its proc_state records, decoded, in order of time
sub samples {
	my ($self, $tid) = @_;
	return _decoded($self->{ev})->{$tid} // [];
}

# All stretches of an episode share its samples: they are decoded once, and stay with the records.
sub _decoded {
	my ($ev) = @_;
	return $ev->{samples} if $ev->{samples};
	my %of;
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::PROC_STATE) }) {
		my ($run, $wait) = ($ev->proc_state_run_ns($i), $ev->proc_state_wait_ns($i));
		push @{ $of{ $ev->tid($i) } }, {
			ts   => $ev->ts($i), run => $run == $SATURATED ? undef : $run,
			wait => $wait == $SATURATED ? undef : $wait, stack_id => $ev->proc_state_stack_id($i),
			cpu  => $ev->proc_state_cpu($i),  state => $ev->proc_state_state($i) // 'unknown',
			prio => $ev->proc_state_prio($i), index => $i
		};
	}
	return $ev->{samples} = \%of;
}

sub _build {
	my ($self, $tid) = @_;
	my @s     = @{ $self->samples($tid) };
	my $m     = { list => [] };
	my $ev    = $self->{ev};
	my ($end) = map { vec($ev->{ts}, $_, 64) }
		grep { vec($ev->{tid}, $_, 32) == $tid } @{ $ev->of_kind(Tipme::KernelEvents::EXIT) };
	my ($birth) = map { vec($ev->{ts}, $_, 64) }
		grep { vec($ev->{a}, $_, 32) == $tid } @{ $ev->of_kind(Tipme::KernelEvents::FORK) };
	return $self->_pictured($tid) if !@s;
	push @{ $m->{list} }, $self->_before($tid, $s[0], $birth);

	for my $k (0 .. $#s) {
		my ($a, $b) = @s[ $k, $k + 1 ];
		if ($b) { push @{ $m->{list} }, $self->_between($m->{list}, $a, $b) }
		else    { push @{ $m->{list} }, $self->_after($tid, $a, $end) }
	}
	for my $i (@{ $m->{list} }) { $i->{guessed} = 1 if $i->{to} - $i->{from} < $SURE_NS }
	return $self->_clip($self->_whole($m->{list}));
}

# Before the first sample it did what that says, or was not there.
sub _before {
	my ($self, $tid, $s, $birth) = @_;
	my $from = $self->_beginning;
	return if $s->{ts} <= $from;
	return { from => $from, to => $s->{ts}, kind => 'absent' }
		if defined $birth && $birth <= $s->{ts};
	return { from => $from, to => $s->{ts}, _state($s), guessed => 1 };
}

# What a thread does in a state, as an interval has it; a thread that can run is taken to wait, as
# no count says that it ran.
sub _state {
	my ($s) = @_;
	my $state = $s->{state};
	return (kind => 'running',  cpu => $s->{cpu}, prio => $s->{prio}) if $state eq 'running';
	return (kind => 'runnable', how => 'unknown', cpu  => $s->{cpu})  if $state eq 'runnable';
	return (kind => 'absent') if $state eq 'dead';
	return (kind => 'blocked', state => $state, stack_id => $s->{stack_id});
}

# The last sample stands until the thread's end, or for good; a picture may know better what it does
# now.
sub _after {
	my ($self, $tid, $s, $end) = @_;
	return (
		{ from => $s->{ts}, to => $end,        _state($s) },
		{ from => $end,     to => $self->{to}, kind => 'absent' }
	) if defined $end && $end > $s->{ts} && $end < $self->{to};
	return { from => $s->{ts}, to => $self->{to}, _state($s) } if $s->{ts} < $self->{to};
	return;
}

sub _between {
	my ($self, $list, $a, $b) = @_;
	my $gap = $b->{ts} - $a->{ts};
	return if $gap <= 0;
	my $run = $b->{run} // $gap;
	$run = $gap if $run > $gap;
	my $wait = $b->{wait} // $gap - $run;
	# A wait that began before the sample that did not see it: the sleep before it ended earlier.
	$self->_wait_earlier($list, $wait - ($gap - $run), $a) if $wait > $gap - $run;
	$wait = $gap - $run if $wait > $gap - $run;
	my $rest   = $gap - $run - $wait;
	my $asleep = { _state($a) }->{kind} eq 'blocked';
	# A thread that was seen able to run and has neither run nor waited yet, as far as the kernel
	# has counted: it waits still.
	if (!$asleep && !$run && !$wait) {
		return _pieces($a, $b, [ $gap, kind => 'runnable', how => 'unknown', cpu => $b->{cpu} ]);
	}
	my @running = (
		$run, kind => 'running', cpu => $b->{cpu}, prio => $b->{prio}, irq_ns => 0,
		softirq_ns => 0
	);
	my @waiting =
		($wait, kind => 'runnable', how => $asleep ? 'woken' : 'preempted', cpu => $b->{cpu});
	my @asleep = ($rest, $asleep ? _state($a) : (kind => 'blocked', state => 'unknown'));
	return _pieces($a, $b, \@asleep,  \@waiting, \@running) if $asleep;
	return _pieces($a, $b, \@running, \@asleep,  \@waiting) if $b->{state} eq 'runnable';
	@asleep = ($rest, _state($b)) if $b->{state} ne 'dead';
	return _pieces($a, $b, \@waiting, \@running, \@asleep);
}

sub _pieces {
	my ($a, $b, @parts) = @_;
	my ($t, @out) = ($a->{ts});
	for (@parts) {
		my ($ns, %f) = @$_;
		push @out, { from => $t, to => $t + $ns, %f } if $ns > 0;
		$t += $ns;
	}
	return @out;
}

sub _wait_earlier {
	my ($self, $list, $ns, $s) = @_;
	while ($ns > 0 && @$list && $list->[-1]{kind} eq 'blocked') {
		my $last = $list->[-1];
		my $part = $last->{to} - $last->{from} < $ns ? $last->{to} - $last->{from} : $ns;
		my %wait = (
			kind => 'runnable', how => 'woken', cpu => $s->{cpu}, from => $last->{to} - $part,
			to   => $last->{to}
		);
		$last->{to} -= $part;
		pop @$list if $last->{to} <= $last->{from};
		push @$list, \%wait;
		$ns = 0;
	}
}

# Neighbours of one kind become one, so that what lasts is seen to last.
sub _whole {
	my ($self, $list) = @_;
	my @out;
	for my $i (grep { $_->{to} > $_->{from} } @$list) {
		my $l = $out[-1];
		if (   $l
			&& $l->{kind} eq $i->{kind}
			&& ($l->{state}    // '') eq ($i->{state} // '')
			&& ($l->{stack_id} // 0) ==  ($i->{stack_id} // 0)
			&& ($l->{cpu}      // -1) == ($i->{cpu}      // -1))
		{
			$l->{to} = $i->{to};
			delete $l->{guessed} if $l->{to} - $l->{from} >= $SURE_NS;
		} else {
			push @out, $i;
		}
	}
	return \@out;
}

# A thread without a sample: it did all the time what the pictures say.
sub _pictured {
	my ($self, $tid) = @_;
	my $p   = $self->{threads}->picture_at($tid, $self->{to});
	my %cur = (from => $self->_beginning, to => $self->{to}, guessed => 1);
	if    (!$p) { @cur{qw(kind state)} = ('blocked', 'unknown') }
	elsif ($p->{state} == $STATE_NUMBER{runnable}) {
		@cur{qw(kind how cpu)} = ('runnable', 'unknown', $p->{cpu});
	} elsif ($p->{state} == $STATE_NUMBER{dead}) {
		$cur{kind} = 'absent';
	} else {
		@cur{qw(kind state stack_id)} =
			('blocked', $STATE{ $p->{state} } // 'unknown', $p->{stack_id});
	}
	delete $cur{guessed} if $p && $p->{since_ns} && $p->{since_ns} <= $self->{from};
	return $self->_clip([ \%cur ]);
}

# occupants(CPU, FROM, TO): as TaskStates has it; inside 100 ms the order in which they had it is
# not known, so each has one stretch of it.
sub occupants {
	my ($self, $cpu, $from, $to) = @_;
	my @out;
	for (my $t = $from; $t < $to; $t += $SLICE_NS) {
		my $end = $t + $SLICE_NS < $to ? $t + $SLICE_NS : $to;
		push @out, $self->_share($cpu, $t, $end);
	}
	return @out;
}

sub _share {
	my ($self, $cpu, $from, $to) = @_;
	my (%ns, %prio, $sum);
	for my $r (@{ $self->_runs->{$cpu} // [] }) {
		last if $r->[0] >= $to;
		next if $r->[1] <= $from;
		my ($a, $b) = ($r->[0] > $from ? $r->[0] : $from, $r->[1] < $to ? $r->[1] : $to);
		$ns{ $r->[2] } += $b - $a;
		$prio{ $r->[2] } = $r->[3];
		$sum += $b - $a;
	}
	my $length = $to - $from;
	my ($t, @out) = ($from);
	for my $tid (sort { $ns{$b} <=> $ns{$a} || $a <=> $b } keys %ns) {
		my $part = $sum > $length ? int($ns{$tid} * $length / $sum) : $ns{$tid};
		push @out, [ $t, $t + $part, $tid, $prio{$tid}, undef ] if $part;
		$t += $part;
	}
	push @out, [ $t, $to, undef, 120, undef ] if $t < $to;
	return @out;
}

# Who ran on which CPU: { cpu => [ [ from, to, tid, priority ] ... ] }, in order of their beginning
sub _runs {
	my ($self) = @_;
	return $self->{runs} if $self->{runs};
	my %runs;
	for my $tid (sort { $a <=> $b } keys %{ _decoded($self->{ev}) }) {
		push @{ $runs{ $_->{cpu} } }, [ $_->{from}, $_->{to}, $tid, $_->{prio} // 120 ]
			for grep { $_->{kind} eq 'running' } @{ $self->intervals($tid) };
	}
	@$_ = sort { $a->[0] <=> $b->[0] || $a->[2] <=> $b->[2] } @$_ for values %runs;
	return $self->{runs} = \%runs;
}

# run_delays(KERNEL EVENTS, TID): waits for a CPU of 1 ms or more: [ from, to ], as far as counts
# and samples tell
sub run_delays {
	my ($ev, $tid) = @_;
	my @d;
	for my $i (grep { vec($ev->{tid}, $_, 32) == $tid }
		@{ $ev->of_kind(Tipme::KernelEvents::PROC_STATE) })
	{
		my ($t, $run, $wait) =
			($ev->ts($i), $ev->proc_state_run_ns($i), $ev->proc_state_wait_ns($i));
		push @d, [ $t - $run - $wait, $t - $run ]
			if $wait >= $WAIT_NS && $wait != $SATURATED && $run != $SATURATED;
	}
	return \@d;
}

1;
