# SPDX-License-Identifier: GPL-2.0-only
# From where backwards a wake-up chain is walked for the interval of an event, and over whom it
# leads: the segments of its path.
package Tipme::Diagnosis::Walk;

use strict;
use warnings;
use Tipme::Entry qw(woken_from);
use Tipme::Interference;
use Tipme::Reason qw(reason);
use Tipme::Segment;

# new(kernel => Kernel, caused => Caused, damage => sub of (FROM, TO): what of that time cannot be
# read, or undef)
sub new {
	my ($class, %o) = @_;
	return bless {%o}, $class;
}

# path(INTERVAL, STATES, CHAIN, SHORTEN): the segments, with the interrupt that brought the event;
# SHORTEN: as Blame has it
sub path {
	my ($self, $i, $states, $chain, $shorten) = @_;
	return $self->_from_interrupt(
		$i, $states,
		$self->_segments($i, $states, $chain, shorten => $shorten)
	);
}

# Closed: backwards from the server that changed the screen; open: from the client, which still has
# to.
sub _segments {
	my ($self, $i, $states, $chain, %how) = @_;
	my $e = $i->{event};
	my ($from, $to, $td) = (woken_from($i), $i->{end_ns}, $e->{deliver_ns});
	if (defined(my $what = $self->{damage}->($from, $to))) {
		return [
			Tipme::Segment->new(
				tid    => $e->{pending} ? $e->{server}{tid} : $e->{pid} // 0, from => $from,
				to     => $to,                              state => 'unknown', kind => 'unknown',
				reason => reason('damaged', what => $what), exact => 0,         evidence => []
			)
		];
	}
	if (!$self->{kernel}->has_records) {
		return [
			Tipme::Segment->new(
				tid => $e->{pid}, from => $from,   to => $to, state => 'unknown', kind => 'unknown',
				reason => 'no-kernel', exact => 0, evidence => []
			)
		];
	}
	return $chain->walk($e->{server}{tid}, $from, $to, %how)    if $e->{pending};
	return $self->_segments_of_frame($i, $states, $chain, %how) if $i->{frame};
	return $chain->walk(
		$i->{tid} // $e->{pid}, $from, $to, %how, deliver_ns => $td,
		via => [ _parent_at_birth($e), $i->{asked} ? [ @{ $i->{asked} }, 1 ] : () ]
	) if $i->{open} || $i->{busy};
	return $chain->walk($e->{server}{tid}, $from, $to, %how) if ($e->{motion} // '') eq 'cursor';
	return $chain->walk(
		$e->{server}->changed_by($i->{damage}),
		$from, $to, %how,
		deliver_ns => $td,
		via        => [
			grep {defined} _parent_at_birth($e), $i->{asked} ? [ @{ $i->{asked} }, 1 ] : undef,
			$self->_via($i, $states) // undef,   $self->{caused}->handed_in($i, $states)
		]
	);
}

# Before a program was there, whoever made it had the time; and the way there leads through it.
sub _parent_at_birth {
	my ($e) = @_;
	my $s = $e->{start};
	return $s ? [ @$s{qw(parent born_ns)}, 0, undef, undef, $s->{pid} ] : ();
}

# Backwards from the screen: the server that painted, the compositor that had asked it to, from
# where the client had drawn on as without a compositor.
# Where nothing has been painted yet, from the compositor.
sub _segments_of_frame {
	my ($self, $i, $states, $chain, %how) = @_;
	my ($e, $f) = @$i{qw(event frame)};
	my $p = $self->{caused};
	my ($tid, $ran) = $p->last_ran($states, $f->{pid}, $f->{asked_ns} // $i->{end_ns});
	my @via = grep {defined} _parent_at_birth($e), $i->{asked} ? [ @{ $i->{asked} }, 1 ] : undef,
		$self->_via($i, $states) // undef;
	push @via, $p->handed_in($i, $states),
		[ $e->{server}->changed_by($i->{damage}), $i->{drawn_ns}, 0 ];
	push @via, [ $tid, $ran, 0 ] if defined $tid && defined $f->{ns} && $ran > $i->{drawn_ns};
	return $chain->walk(
		defined $f->{ns} ? $e->{server}->changed_by($i->{damage}) : $tid // $f->{pid},
		woken_from($i), $i->{end_ns}, %how, deliver_ns => $e->{deliver_ns}, via => \@via,
		frame => { pid => $f->{pid}, from => $i->{drawn_ns} }
	);
}

# Up to when the input core had it, and on to the end of it while the server still slept, the
# interrupt that brought the event had the CPU.
sub _from_interrupt {
	my ($self, $i, $states, $segments) = @_;
	my ($from, $core) = ($i->{start_ns}, woken_from($i));
	return $segments if $core <= $from || !@$segments;
	my ($irq) = Tipme::Entry::brings($states->resources, $i->{entered}{cpu}, $core);
	my $first = $segments->[0];
	return [
		$first->with(
			from   => $from,          to    => $core, state    => 'unknown', kind => 'unknown',
			reason => 'no-interrupt', exact => 0,     evidence => []
		),
		@$segments
		]
		if !$irq;
	my $by = Tipme::Segment->new(
		state => $first->{state},
		tid   => $first->{tid},
		exact => 1,
		cpu   => $i->{entered}{cpu},
		by    => Tipme::Interference->new(
			resources => $states->resources, threads => $self->{kernel}->threads
		)->bringing($irq),
		evidence => [ $irq->{index} ]
	);
	return [ $by->with(from => $from, to => $core), @$segments ] if $first->{state} !~ /sleep/;
	my $end = $irq->{to} < $first->{to} ? $irq->{to} : $first->{to};
	return [
		$by->with(from => $from, to => $end),
		$end < $first->{to} ? $first->with(from => $end) : (), @$segments[ 1 .. $#$segments ]
	];
}

# Where the server was awake already when the client asked, its own waking does not lead to the
# client: then the walk goes to the client at the time when that last ran before the request was
# begun.
sub _via {
	my ($self, $i, $states) = @_;
	my $e     = $i->{event};
	my $p     = $self->{caused};
	my $begun = $p->request_ns($e, $i->{damage});
	my ($tid, $ran, $rest) = $p->asked_by($e, $states, $i->{damage}, $begun);
	return if !defined $tid || $ran <= $e->{deliver_ns};
	my $s = $states->before($e->{server}{tid}, $begun);
	$s = $states->before($e->{server}{tid}, $s->{from})
		while $s && $s->{kind} ne 'blocked' && $s->{from} > $states->from;
	# A server that is itself a client may have slept since, for a frame: whoever woke it then did
	# not ask for the picture.
	my ($handed) = $p->handed_in($i, $states);
	my $since = $handed && $states->before(@$handed[ 0, 1 ]);
	$since = $states->before($handed->[0], $since->{from})
		while $since && $since->{kind} ne 'blocked' && $since->{from} > $begun;
	return [ $tid, $ran, 0 ] if $since && $since->{kind} eq 'blocked' && $since->{from} >= $begun;

	if ($s && $s->{kind} eq 'blocked' && defined $s->{wake} && $s->{to} > $e->{deliver_ns}) {
		my ($ev, $w) = ($states->events, $s->{wake});
		my $by  = $ev->context($w) == 0 ? $ev->waker($w) : $ev->sched_waking_raiser_tid($w);
		my $own = $by && $self->{kernel}->threads->at($by, $s->{to})->{pid} == $e->{pid};
		return if $own && !$rest && !$p->sent_for($e, $states, $e->{pid}, $by, $s->{to}, 1);
	}
	return [ $tid, $ran, 0 ];
}

1;
