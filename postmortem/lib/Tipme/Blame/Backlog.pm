# SPDX-License-Identifier: GPL-2.0-only
# Who made the backlog before which a writer is held back. The kernel holds a writer back once for
# so many pages that it has written: who was held back most often has written most. Who writes at
# the same time is held back as often; then those made the backlog who were held back before the
# waiter was. undef: the waiter, or nobody clearly.
package Tipme::Blame::Backlog;

use strict;
use warnings;

my $HELD_BACK = qr/\bbalance_dirty_pages/;
my $CLEARLY   = 2;    # times more often than the waiter itself: then another is meant
# what is older than this the kernel has sent to the disk by itself
my $UNWRITTEN_NS = 30_000_000_000;

# new(threads =>, chain =>, early_sleeps =>), as Blame has them
sub new {
	my ($class, %o) = @_;
	return bless {%o}, $class;
}

# writer(THREAD that waits): who has made it
sub writer {
	my ($self, $who) = @_;
	my $of = $self->{held_back} //= $self->_held_back;
	return $self->_most_often($of, $who)
		// $self->_most_often($self->{held_before}{ $who->{pid} } //=
			$self->_held_before($of->{ $who->{pid} }), $who);
}

sub _most_often {
	my ($self, $of, $who) = @_;
	my ($most) = sort { $of->{$b}{times} <=> $of->{$a}{times} || $a <=> $b } keys %$of;
	return if !defined $most || $most == $who->{pid};
	return $of->{$most}{times} >= $CLEARLY * ($of->{ $who->{pid} } // { times => 1 })->{times}
		? $of->{$most}{who}
		: undef;
}

# { process => { times, who, first_ns } }: how often the threads of each process were held back, and
# when for the first time.
sub _held_back {
	my ($self) = @_;
	my ($threads, $chain) = @$self{qw(threads chain)};
	my %of;
	for my $tid ($chain->{states}->tids_with_stack($HELD_BACK)) {
		for my $i (@{ $chain->{states}->intervals($tid) }) {
			next
				if $i->{kind} ne 'blocked' || ($threads->stack($i->{stack_id}) // '') !~ $HELD_BACK;
			my $by  = $threads->named($tid, $i->{to} - 1);
			my $sum = $of{ $by->{pid} } //= { times => 0, who => $by, first_ns => $i->{from} };
			$sum->{times}++;
			$sum->{first_ns} = $i->{from} if $i->{from} < $sum->{first_ns};
		}
	}
	return \%of;
}

# The same of the time before one of them was held back for the first time.
sub _held_before {
	my ($self, $waiter) = @_;
	return {} if !$waiter || !$self->{early_sleeps};
	my $until   = $waiter->{first_ns};
	my $threads = $self->{threads};
	my $times   = $self->{early_sleeps}->($HELD_BACK, $until - $UNWRITTEN_NS, $until);
	my %of;
	for my $tid (keys %$times) {
		my $by  = $threads->named($tid, $until);
		my $sum = $of{ $by->{pid} } //= { times => 0, who => $by };
		$sum->{times} += $times->{$tid};
	}
	return \%of;
}

1;
