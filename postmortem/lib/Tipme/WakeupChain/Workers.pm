# SPDX-License-Identifier: GPL-2.0-only
# A part of WakeupChain: workers of the kernel, and for whom they work.
package Tipme::WakeupChain::Workers;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Record::Layout;

my %CONTEXT    = %{ $Tipme::Record::Layout::ENUM{context} };
my $MAX_NESTED = 8;                                            # workers that queue work for workers

# The last work that a worker did in [FROM, TO).
sub _work_between {
	my ($self, $tid, $from, $to) = @_;
	my $works = $self->_works->{$tid} or return;
	my ($last) = grep { $_->{start_ns} < $to } reverse @$works;
	return
		   $last
		&& (!defined $last->{end_ns} || $last->{end_ns} > $from)
		&& defined $last->{tid} ? $last : undef;
}

# Whom a worker worked for at a time: { start_ns, queued_ns, tid (undef where nobody knows),
# function }
sub _work_at {
	my ($self, $tid, $t) = @_;
	my $works = $self->_works->{$tid} or return;
	my ($lo, $hi) = (0, scalar @$works);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($works->[$m]{start_ns} < $t) { $lo = $m + 1 }
		else                               { $hi = $m }
	}
	return if !$lo;
	my $w = $works->[ $lo - 1 ];
	return !defined $w->{end_ns} || $w->{end_ns} >= $t ? $w : undef;
}

# works(): { worker => [ what it did, in order of time ] }
sub works { return $_[0]->_works }

sub _works {
	my ($self) = @_;
	return $self->{works} //= $self->{states}->once(works => sub { return $self->_all_works });
}

sub _all_works {
	my ($self) = @_;
	my $ev = $self->{states}->events;
	my (%of, %queued, %open);
	my @all = sort { $a <=> $b } map { @{ $ev->of_kind($_) } } Tipme::KernelEvents::WORK_QUEUED,
		Tipme::KernelEvents::WORK_START, Tipme::KernelEvents::WORK_END;
	for my $i (@all) {
		my ($type, $tid, $t) =
			($ev->kind($i), $ev->tid($i), $ev->ts($i));
		my ($work, $function) = $ev->work($i);
		if    ($type == Tipme::KernelEvents::WORK_QUEUED) { $queued{$work} = $i }
		elsif ($type == Tipme::KernelEvents::WORK_START) {
			my $q = delete $queued{$work};
			my %w = (
				worker => $tid, start_ns => $t, function => $self->{threads}->function($function),
				index  => $i
			);
			if (defined $q) {
				my $by_task = ($CONTEXT{ $ev->context($q) } // '') =~ /^(?:task|softirq_task)$/;
				@w{qw(queued_ns tid queued)} = (
					$ev->ts($q),
					$by_task && $ev->tid($q) ? $ev->tid($q) : undef, $q
				);
			}
			push @{ $of{$tid} }, $open{$tid} = \%w;
		} elsif ($open{$tid}) {
			$open{$tid}{end_ns} = $t;
			delete $open{$tid};
		}
	}
	$self->{works} = \%of;    # who asked first is looked for in them
	for my $w (map {@$_} values %of) {
		$self->_for_whom($w);
	}
	return \%of;
}

# A worker may have queued it for somebody in turn: for_tid, for_ns say who asked first, as far as
# that is known.
sub _for_whom {
	my ($self, $work) = @_;
	my $w = $work;
	for (1 .. $MAX_NESTED) {
		last if !defined $w->{tid};
		@$work{qw(for_tid for_ns)} = @$w{qw(tid queued_ns)};
		my $outer = $self->_work_at(@$w{qw(tid queued_ns)}) or last;
		last if $outer == $work;
		$w = $outer;
	}
}

# for_whom(TID, TIME): [ tid, time ] of whom a thread worked for: itself, or who had queued the work
# that it did then
sub for_whom {
	my ($self, $tid, $t) = @_;
	my $w = $self->_work_at($tid, $t);
	return $w && defined $w->{for_tid} ? [ @$w{qw(for_tid for_ns)} ] : [ $tid, $t ];
}

sub _to_queuer {
	my ($self, $work) = @_;
	my ($tid,  $q)    = @$work{qw(tid queued_ns)};
	return
		   if !defined $tid
		|| $q < $self->_bound
		|| grep { $_->[1] == $q && $_->[0] == $tid } @{ $self->{frames} };
	return if $self->{t} < $q;
	push @{ $self->{frames} }, [ $tid, $q, 0, $work ];
}

1;
