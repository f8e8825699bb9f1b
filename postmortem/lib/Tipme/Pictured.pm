# SPDX-License-Identifier: GPL-2.0-only
# A part of TaskStates: what pictures of the threads tell of them, where the records do not.
package Tipme::Pictured;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Exporter qw(import);
use Tipme::KernelEvents;
use Tipme::Record::Layout;

our @EXPORT_OK = qw(turn);

my %STATE        = %{ $Tipme::Record::Layout::ENUM{task_state} };
my %STATE_NUMBER = reverse %STATE;
my ($RUNNABLE, $DEAD, $RUNNING) = @STATE_NUMBER{qw(runnable dead running)};
my %STOPPED_IN = (do_signal_stop => 'stopped', ptrace_stop => 'traced');    # innermost function

# It was woken meanwhile on a CPU whose records are not there, and slept again, up to the waking of
# an index: a picture taken since says when that began, and how it sleeps. Without one the stack
# that it was woken with says at least that it was stopped.
sub _later_sleep {
	my ($self, $m, $i) = @_;
	my ($ev,    $t)     = ($self->{ev}, vec($self->{ev}{ts}, $i, 64));
	my ($began, $state) = $self->_seen_asleep($m, $t);
	if (!defined $began && vec($ev->{type}, $i, 8) == Tipme::KernelEvents::WAKING) {
		my ($in) = ($self->{threads}->stack(vec($ev->{b}, $i, 32)) // '') =~ /\A(\w+)/;
		($began, $state) = ($ev->exact_from, $STOPPED_IN{ $in // '' });
	}
	return if !defined $state || $state eq $m->{cur}{state} && $began == $ev->exact_from;
	$m->{cur}{guessed} = 1;
	turn($m, $began, { from => $began, kind => 'blocked', state => $state });
	return;
}

# (since when, how) a thread slept in a picture that was taken since the sleep in hand began
sub _seen_asleep {
	my ($self, $m, $t) = @_;
	my $p = $self->{threads}->picture_at($m->{tid}, $t) or return;
	return if $p->{ts_ns} > $t || $p->{since_ns} <= $m->{cur}{from} || $p->{since_ns} >= $t;
	return if grep { $p->{state} == $_ } $RUNNABLE, $RUNNING, $DEAD;
	return ($p->{since_ns}, $self->_blocked_in($p));
}

sub _blocked_in {
	my ($self, $p) = @_;
	return 'unknown' if !$p || $p->{state} == $RUNNABLE || $p->{state} == $RUNNING;
	return $STATE{ $p->{state} } // 'unknown';
}

# A thread that no record names: it did all the time what the pictures say.
sub _only_pictures {
	my ($self, $m) = @_;
	my $p   = $self->{threads}->picture_at($m->{tid}, $self->{to});
	my %cur = (from => $m->{since} // $self->_beginning, guessed => 1);
	if    (!$p) { @cur{qw(kind state)} = ('blocked', 'unknown') }
	elsif ($p->{state} == $RUNNING) {
		@cur{qw(kind cpu irq_ns softirq_ns)} = ('running', $p->{cpu}, 0, 0);
	} elsif ($p->{state} == $RUNNABLE) {
		@cur{qw(kind how cpu)} = ('runnable', 'unknown', $p->{cpu});
	} elsif ($p->{state} == $DEAD) {
		$cur{kind} = 'absent';
	} else {
		@cur{qw(kind state)} = ('blocked', $self->_blocked_in($p));
	}
	delete $cur{guessed} if $p && $p->{since_ns} && $p->{since_ns} <= $self->{from};
	$m->{cur} = \%cur;
}

# A sleep without a waking (it lasts, or the record was lost): a picture taken meanwhile knows its
# stack, and may know its state better.
sub _picture_of_sleep {
	my ($self, $m, $sleep, $to) = @_;
	for my $p ($self->{threads}->pictures($m->{tid})) {
		next if $p->{ts_ns} < $sleep->{from} || defined $to && $p->{ts_ns} > $to;
		next if $p->{state} == $RUNNABLE     || $p->{state} == $RUNNING;
		# A sleep that began after what is looked at is another one.
		next if $p->{since_ns} >= $self->{to};
		$sleep->{stack_id} = $p->{stack_id} if $p->{stack_id};
		my $state = $STATE{ $p->{state} } // 'unknown';
		# A sleep that lasts is what the last picture says, though a switch between may be lost.
		next if $sleep->{state} eq $state || defined $to && $sleep->{state} ne 'unknown';
		@$sleep{qw(state guessed)} = ($state, $sleep->{state} eq 'unknown' ? $sleep->{guessed} : 1);
	}
}

# turn(IN HAND, T, NEW): from T on it does something else: NEW begins there. Called for each record,
# so it copies nothing.
sub turn {
	my ($m, $t, $new) = @_;
	my $cur = $m->{cur};
	$cur->{to} = $t;
	push @{ $m->{list} }, $cur if $t > $cur->{from};
	$m->{cur} = $new;
	return;
}

sub _beginning {
	my ($self) = @_;
	my $ev = $self->{ev};
	return $ev->count
		&& vec($ev->{ts}, 0, 64) < $self->{from} ? vec($ev->{ts}, 0, 64) : $self->{from};
}

1;
