# SPDX-License-Identifier: GPL-2.0-only
# A part of TaskStates: from the records of a thread, one after the other, to what it did when.
package Tipme::TaskStates::Built;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent qw(Tipme::TaskStates::OnCpu Tipme::Pictured);
use Tipme::KernelEvents;
use Tipme::Pictured qw(turn);
use Tipme::Record::Columns;
use Tipme::Record::Layout;

# Where the small fields of a switch begin in their column, for passes over very many.
use constant {
	PREV_STATE => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_state},
	NEXT_PRIO  => $Tipme::Record::Columns::SHIFT{sched_switch}{next_prio},
	PREEMPTED  => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_preempted},
};

my %STATE        = %{ $Tipme::Record::Layout::ENUM{task_state} };
my %STATE_NUMBER = reverse %STATE;
my ($RUNNABLE, $DEAD, $RUNNING) = @STATE_NUMBER{qw(runnable dead running)};
my $SATURATED = 4294967295;    # in a record: longer than its field can say (abi/records.def)
# of one thread's records, which lie far from each other
my $RELEASE_OF_ONE = 2_000;

# All of [from, to) of a thread, as intervals() has it.
sub _build {
	my ($self, $tid) = @_;
	my $ev    = $self->{ev};
	my $execs = $self->_execs->{$tid} // [];
	my $m     = {
		list  => [], ev => $ev, tid => $tid, cur => undef, t => undef, pending => undef,
		execs => [@$execs]
	};
	my $events = $ev->of_tid($tid);
	$events = [ sort { $a <=> $b } @$events, @$execs ] if @$execs;
	my $exact = $ev->exact_from;
	my $seen  = 0;
	for my $i (@$events) {
		$ev->release if ++$seen % $RELEASE_OF_ONE == 0;
		# Before that time some CPU's records are not there: what the thread seemed to do may be out
		# of date by now.
		if ($m->{cur} && $m->{t} < $exact && vec($ev->{ts}, $i, 64) >= $exact) {
			if    (!$self->_agrees($m, $i))      { $self->_restart($m, $exact) }
			elsif ($m->{cur}{kind} eq 'blocked') { $self->_later_sleep($m, $i) }
		}
		$self->_start($m, $i) if !$m->{cur};
		my $type = vec $ev->{type}, $i, 8;
		if ($type == Tipme::KernelEvents::SWITCH) {
			vec($ev->{tid}, $i, 32) == $tid ? $self->_leaves($m, $i) : $self->_comes($m, $i);
		} elsif ($type == Tipme::KernelEvents::WAKING) {
			$self->_woken($m, $i);
		} elsif ($type == Tipme::KernelEvents::EXEC) {
			$self->_exec($m, $i);
		} else {
			$self->_forked($m, $i);
		}
		$m->{t} = vec($ev->{ts}, $i, 64);
	}
	$self->_only_pictures($m) if !$m->{cur};
	push @{ $m->{list} }, { %{ $m->{cur} }, to => $self->{to} };
	my $last = $m->{list}[-1];
	$self->_picture_of_sleep($m, $last) if $last->{kind} eq 'blocked';
	return $self->_clip($m->{list});
}

# Execs by which a thread took the number of the first of its process: the indices, for either
# number.
sub _execs {
	my ($self) = @_;
	return $self->{execs} if $self->{execs};
	my ($ev, %of) = ($self->{ev});
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::EXEC) }) {
		my ($tid, $old) = ($ev->tid($i), $ev->exec_old_tid($i));
		next if !$old || $old == $tid;
		push @{ $of{$_} }, $i for $tid, $old;
	}
	return $self->{execs} = \%of;
}

# Does the event fit to what the thread seemed to do?
sub _agrees {
	my ($self, $m, $i) = @_;
	my ($ev, $kind) = ($self->{ev}, $m->{cur}{kind});
	return $kind eq 'absent'  if vec($ev->{type}, $i, 8) == Tipme::KernelEvents::FORK;
	return $kind eq 'running' if vec($ev->{type}, $i, 8) == Tipme::KernelEvents::EXEC;
	if (vec($ev->{type}, $i, 8) == Tipme::KernelEvents::WAKING) {
		# Who is woken sleeps; or else it is on a CPU, which its switches then tell.
		return 1 if $kind eq 'blocked';
		my ($who) =
			  $kind eq 'running'
			? $self->occupants($m->{cur}{cpu}, $ev->exact_from, $ev->exact_from + 1)
			: ();
		return $who && ($who->[2] // -1) == $m->{tid} ? 1 : 0;
	}
	return vec($ev->{tid}, $i, 32) == $m->{tid} ? $kind eq 'running' : $kind eq 'runnable';
}

sub _restart {
	my ($self, $m, $t) = @_;
	$m->{cur}{to} = $t;
	push @{ $m->{list} }, $m->{cur};
	@$m{qw(cur pending since)} = (undef, undef, $t);
}

# The first event of a thread tells what it did before; a picture may know more.
sub _start {
	my ($self, $m, $i) = @_;
	my $ev   = $self->{ev};
	my $from = $m->{since} // $self->_beginning;
	my $type = vec($ev->{type}, $i, 8);
	my %cur  = (from => $from, guessed => 1);
	my $p    = $self->{threads}->picture_at($m->{tid}, vec($ev->{ts}, $i, 64));
	$p = undef
		if $p && $p->{ts_ns} > vec($ev->{ts}, $i, 64) && $p->{since_ns} > vec($ev->{ts}, $i, 64);
	if    ($type == Tipme::KernelEvents::FORK) { $cur{kind} = 'absent' }
	elsif ($type == Tipme::KernelEvents::EXEC) {
		@cur{qw(kind cpu)} =
			vec($ev->{tid}, $i, 32) == $m->{tid} ? 'absent' : ('running', vec($ev->{cpu}, $i, 16));
	} elsif ($type == Tipme::KernelEvents::WAKING) {
		@cur{qw(kind state)} = ('blocked', $self->_blocked_in($p));
	} elsif (vec($ev->{tid}, $i, 32) == $m->{tid}) {
		@cur{qw(kind cpu)} = ('running', vec($ev->{cpu}, $i, 16));
	} elsif ($p
		&& $p->{state} != $RUNNABLE
		&& $p->{state} != $RUNNING
		&& $p->{ts_ns} >= $ev->exact_from
		&& $p->{ts_ns} <= vec($ev->{ts}, $i, 64))
	{
		# Since an older picture it may have been woken.
		@cur{qw(kind state)} = ('blocked', $self->_blocked_in($p));
	} else {
		@cur{qw(kind how cpu)} = ('runnable', 'unknown', vec($ev->{cpu}, $i, 16));
	}
	$m->{cur} = \%cur;
}

sub _leaves {
	my ($self, $m, $i) = @_;
	my ($ev,    $cur)       = ($self->{ev}, $m->{cur});
	my ($t,     $d)         = (vec($ev->{ts}, $i, 64), vec($ev->{d}, $i, 32));
	my ($state, $preempted) = ($d >> PREV_STATE & 255, $d >> PREEMPTED);
	if ($cur->{kind} ne 'running') {
		# Its coming was lost. It cannot have come before the last switch of this CPU that is known;
		# until then, it did what it did.
		my $came = $self->_switch_before($i);
		$came = $cur->{from} if !defined $came || $came < $cur->{from};
		my $exec = $cur->{kind} eq 'absent' ? $self->_next_exec($m, 1) : undef;
		turn(
			$m, $came,
			{
				from => $came, kind => 'running', cpu => vec($ev->{cpu}, $i, 16), guessed => 1,
				defined $exec ? (was => $ev->exec_old_tid($exec)) : ()
			}
		);
		$cur = $m->{cur};
	}
	my ($irq, $softirq) = ($ev->sched_switch_irq_ns($i), $ev->sched_switch_softirq_ns($i));
	@$cur{qw(irq_ns softirq_ns)} = ($irq, $softirq);
	$cur->{saturated} = 1 if $irq == $SATURATED || $softirq == $SATURATED;
	if ($preempted || $state == $RUNNABLE) {
		turn(
			$m, $t,
			{
				from  => $t, kind => 'runnable', how => 'preempted', cpu => vec($ev->{cpu}, $i, 16),
				leave => $i
			}
		);
	} elsif ($state == $DEAD) {
		turn($m, $t, { from => $t, kind => 'absent' });
	} else {
		turn(
			$m, $t,
			{ from => $t, kind => 'blocked', state => $STATE{$state} // 'unknown', leave => $i }
		);
	}
	$m->{pending} = undef if $m->{cur}{kind} ne 'blocked';
}

sub _comes {
	my ($self, $m, $i) = @_;
	my ($ev, $cur) = ($self->{ev}, $m->{cur});
	my $t = vec($ev->{ts}, $i, 64);
	if ($cur->{kind} eq 'blocked' && defined $m->{pending}) {
		# The waking came while the thread was still on its way to sleep: it never slept.
		my $w = $m->{pending};
		%$cur = (
			from => $cur->{from}, kind => 'runnable', how => 'raced', wake => $w,
			cpu  => $ev->sched_waking_wakee_cpu($w)
		);
	} elsif ($cur->{kind} eq 'blocked') {
		$cur->{guessed} = 1;
		$self->_picture_of_sleep($m, $cur, $t);
	}
	$m->{pending} = undef;
	my $cpu = vec $ev->{cpu}, $i, 16;
	turn(
		$m, $t,
		{
			from => $t,                                       kind   => 'running', cpu => $cpu,
			prio => vec($ev->{d}, $i, 32) >> NEXT_PRIO & 255, irq_ns => 0,         softirq_ns => 0,
			come => $i
		}
	);
	# Its leaving was lost, if somebody else leaves this CPU next. That one is taken to have run
	# ever since, and this one not at all.
	my $next = $self->switch_after($i, $cpu);
	return
		   if !defined $next
		|| vec($ev->{tid}, $next, 32) == $m->{tid}
		|| ($self->_next_exec($m, 0) // $next) < $next;
	turn($m, $t, { from => $t, kind => 'blocked', state => 'unknown', guessed => 1 });
}

sub _woken {
	my ($self, $m, $i) = @_;
	my ($ev, $cur) = ($self->{ev}, $m->{cur});
	if ($cur->{kind} ne 'blocked') { $m->{pending} = $i; return }
	@$cur{qw(wake stack_id)} = ($i, vec($ev->{b}, $i, 32));
	$m->{pending} = undef;
	my $t = vec $ev->{ts}, $i, 64;
	turn(
		$m, $t,
		{
			from => $t, kind => 'runnable', how => 'woken', wake => $i,
			cpu  => $ev->sched_waking_wakee_cpu($i)
		}
	);
}

sub _forked {
	my ($self, $m, $i) = @_;
	my $ev = $self->{ev};
	%{ $m->{cur} } = (from => $m->{cur}{from}, kind => 'absent') if $m->{cur}{guessed};
	$m->{pending} = undef;
	my $t = vec $ev->{ts}, $i, 64;
	turn(
		$m, $t,
		{
			from => $t, kind => 'runnable', how => 'forked', parent => vec($ev->{tid}, $i, 32),
			fork => $i, cpu  => vec($ev->{cpu}, $i, 16)
		}
	);
}

# Of the execs that are to come the first, if by it the thread becomes the first of its process (1),
# or its number goes (0).
sub _next_exec {
	my ($self, $m, $becomes) = @_;
	my $exec = $m->{execs}[0];
	return defined $exec
		&& (vec($self->{ev}{tid}, $exec, 32) == $m->{tid}) == $becomes ? $exec : undef;
}

# A thread that was not the first of its process calls a program and becomes the first, which has
# ended. The number changes some time before the record: if it slept meanwhile, it left its CPU as
# the first, and is taken to have come as that, too.
sub _exec {
	my ($self, $m, $i) = @_;
	my ($ev, $cur) = ($self->{ev}, $m->{cur});
	my $t = vec $ev->{ts}, $i, 64;
	shift @{ $m->{execs} };
	if (vec($ev->{tid}, $i, 32) == $m->{tid}) {
		turn(
			$m, $t,
			{
				from       => $t, kind => 'running', cpu => vec($ev->{cpu}, $i, 16), irq_ns => 0,
				softirq_ns => 0,  was  => $ev->exec_old_tid($i)
			}
		) if $cur->{kind} ne 'running';
	} elsif ($cur->{kind} eq 'blocked' && $cur->{guessed}) {
		%$cur = (from => $cur->{from}, kind => 'absent');
	} else {
		turn($m, $t, { from => $t, kind => 'absent' });
	}
	$m->{pending} = undef;
}

# The list covers [from, to) and no more; what lay at its edges is cut there.
sub _clip {
	my ($self, $list) = @_;
	my @out;
	for my $i (@$list) {
		@$i{qw(real_from from)} = ($i->{from}, $self->{from}) if $i->{from} < $self->{from};
		$i->{to}                = $self->{to}                 if $i->{to} > $self->{to};
		next if $i->{to} <= $i->{from};
		$i->{irq_ns} //= 0, $i->{softirq_ns} //= 0 if $i->{kind} eq 'running';
		push @out, $i;
	}
	return \@out;
}

1;
