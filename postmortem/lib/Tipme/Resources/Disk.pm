# SPDX-License-Identifier: GPL-2.0-only
# A part of Resources: requests to disks: who asked, which were ahead, for whom one was.
package Tipme::Resources::Disk;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Reasons;

my $MAX_BEFORE = 64;        # requests one after another on the disk that are looked at for an owner
my $FOREVER    = 1 << 62;   # ns; later than any clock says
my $NEAR_NS    = 1_000_000; # a completion this shortly before a waking has caused it
my $WAKES_NS   = 200_000;   # and a waking this shortly after one, on its CPU, comes of it

# A request: { dev, tid (of its first bio), op, issued, completed, bios }. A request is known by
# device and first sector; bios belong to the request that covers their sectors when it is issued,
# so merged ones need no record of their own.

# disk_wait(TID, FROM, TO, ENDED): the bio for which a sleep of the thread lasted until TO: the last
# to be completed of those that it asked for; else the one that was completed just before TO,
# whoever had asked for it; undef: no record tells. A sleep that has ENDED was not for one that is
# not done.
sub disk_wait {
	my ($self, $tid, $from, $to, $ended) = @_;
	my $t = $self->_table('disk');
	my ($best, $other);
	my $list = $t->{by_tid}{$tid} // [];
	my $done = $t->{done_by_tid}{$tid} //= _done_by($list);
	for my $b (@$list[ _first_after($done, $from) .. $#$list ]) {
		next if $b->{queued} > $to || $ended && !defined $b->{completed};
		next
			if defined $b->{completed}
			&& ($b->{completed} <= $from || $b->{completed} > $to + $NEAR_NS);
		next       if !defined $b->{issued} && !defined $b->{completed} && $b->{passed_on};
		$best = $b if !$best || ($b->{completed} // $FOREVER) >= ($best->{completed} // $FOREVER);
	}
	return $best if $best;
	# What is done after the waking did not cause it; of what was done just before, rather what is
	# known to have woken this very thread.
	for my $r (_before($t->{done}, $to)) {
		last                 if $r->{completed} < $to - $NEAR_NS || $r->{completed} <= $from;
		next                 if !@{ $r->{bios} };
		return $r->{bios}[0] if ($self->owner($r) // -1) == $tid;
		$other //= $r->{bios}[0];
	}
	return $other;
}

# just_done(TID, FROM, AT): the bio whose end, after FROM and at AT or just before, had an interrupt
# wake somebody at AT: of the thread if there is one; undef: none
sub just_done {
	my ($self, $tid, $from, $at) = @_;
	my $near = $at - $NEAR_NS;
	return $self->disk_wait($tid, $from > $near ? $from : $near, $at, 1);
}

# For each of a list, when the last of it and of those before it was done; _first_after(TIMES,
# TIME):
# the position of the first of such times that is later: nothing before it matters then
sub _done_by {
	my ($list) = @_;
	my $last = 0;
	return [
		map {
			my $t = $_->{completed} // $FOREVER;
			$last = $t if $t > $last;
			$last
		} @$list
	];
}

sub _first_after {
	my ($times, $t)  = @_;
	my ($lo,    $hi) = (0, scalar @$times);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($times->[$m] <= $t) { $lo = $m + 1 }
		else                      { $hi = $m }
	}
	return $lo;
}

# The requests of a list in order of completion that were done up to a time, the last ones first;
# not more than can matter.
sub _before {
	my ($done, $t)  = @_;
	my ($lo,   $hi) = (0, scalar @$done);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($done->[$m]{completed} <= $t) { $lo = $m + 1 }
		else                                { $hi = $m }
	}
	my $first = $lo > 64 ? $lo - 64 : 0;
	return reverse @$done[ $first .. $lo - 1 ];
}

# owner(REQUEST): the thread that slept for it: the one that its completion woke; undef: none. Where
# a kernel worker handed it down (one that holds requests back, one that writes back), this tells
# for whom.
sub owner {
	my ($self, $rq) = @_;
	return $rq->{owner} if exists $rq->{owner};
	$rq->{owner} = undef;
	my $i   = $rq->{done_index} // return;
	my $ev  = $self->{ev};
	my $end = vec($ev->{ts}, $i, 64) + $WAKES_NS;
	while (++$i < $ev->count && vec($ev->{ts}, $i, 64) < $end) {
		next if vec($ev->{cpu}, $i, 16) != vec($ev->{cpu}, $rq->{done_index}, 16);
		my $type = vec($ev->{type}, $i, 8);
		last if $type == Tipme::KernelEvents::IO || $type == Tipme::KernelEvents::SWITCH;
		return $rq->{owner} = vec($ev->{tid}, $i, 32)
			if $type == Tipme::KernelEvents::WAKING
			&& $ev->context($i) != 0
			&& $self->_slept_undisturbed($i);
	}
	return;
}

# Had the thread that a waking is about gone to a sleep that nothing may disturb, as one that waits
# for a disk? Where it went so long ago that the records at hand do not tell, its stack does.
sub _slept_undisturbed {
	my ($self, $wake) = @_;
	my $ev   = $self->{ev};
	my $list = $ev->of_tid(vec($ev->{tid}, $wake, 32));
	for (my $k = $ev->last_before($list, vec($ev->{ts}, $wake, 64)); $k >= 0; $k--) {
		my $i = $list->[$k];
		return
			   $ev->tid($i) == $ev->tid($wake)
			&& ($ev->sched_switch_prev_state($i) // '') eq 'disk_sleep'
			&& !$ev->sched_switch_prev_preempted($i) ? 1 : 0
			if vec($ev->{type}, $i, 8) == Tipme::KernelEvents::SWITCH;
	}
	my $stack =
		$self->{threads} ? $self->{threads}->stack($ev->sched_waking_stack_id($wake)) : undef;
	my $r = ($self->{reasons} //= Tipme::Reasons->new)->of($stack, 'softirq_irq');
	return $r && $r->{class} eq 'disk' ? 1 : 0;
}

# What a worker that holds requests back has let go in [FROM, TO) before a bio: the time up to each
# belongs to that one, and without an owner to that of the next that has one.
sub _let_go {
	my ($self, $bio, $from, $to) = @_;
	my ($t, @p) = ($from);
	my @r = sort { $a->{queued} <=> $b->{queued} } grep {
			  !$_->{requeued}
			&& $_->{tid} == $bio->{tid}
			&& $_->{queued} > $from
			&& $_->{queued} <= $to
			&& (!$bio->{request} || $_ != $bio->{request})
	} @{ $self->_table('disk')->{service}{ $bio->{dev} } // [] };
	# Of several that were handed down in one go, it may be the last alone whose end wakes somebody.
	my $next;
	for my $r (reverse @r) {
		my $own = $self->owner($r);
		if    (defined $own) { $next = $own }
		elsif (defined($own = $next // $self->_owner_before($r))) {
			@$r{qw(owner guessed)} = ($own, 1);
		}
	}
	for my $r (@r) {
		push @p, [ $t, $r->{queued}, 'asking', $r ] if $r->{queued} > $t;
		$t = $r->{queued} if $r->{queued} > $t;
	}
	push @p, [ $t, $to, 'asking', undef ] if $t < $to;
	return @p;
}

# Whose write a request goes on with: the owner of the one that the same worker handed down for the
# sectors right before it. The end of its own write may lie beyond the records at hand.
sub _owner_before {
	my ($self, $r) = @_;
	my $t    = $self->_table('disk');
	my $ends = $t->{ends}{ $r->{dev} } //=
		{ map { ($_->{sector} + $_->{sectors}) => $_ } @{ $t->{service}{ $r->{dev} } // [] } };
	for (1 .. $MAX_BEFORE) {
		my $before = $ends->{ $r->{sector} } or return;
		return if $before->{issued} > $r->{issued} || $before->{op} ne $r->{op};
		my $own = $self->owner($before);
		return $own if defined $own;
		$r = $before;
	}
	return;
}

# disk_pieces(BIO, FROM, TO, TID): what TID spent [FROM, TO) on: [ from, to, phase, request ahead or
# undef ]; phase: asking (before the bio was there: if somebody else handed it down, what that one
# had handed down before), queue (until it was issued), device, done (after that). Of several
# requests ahead the oldest has the device.
sub disk_pieces {
	my ($self, $b, $from, $to, $tid) = @_;
	my @bound = (
		[ asking => $b->{queued} ], [ queue => $b->{issued} // $FOREVER ],
		[ device => $b->{completed} // $FOREVER ], [ done => $FOREVER ]
	);
	my ($t, @p) = ($from);
	for (@bound) {
		my ($phase, $end) = @$_;
		$end = $to if $end > $to;
		next if $end <= $t;
		push @p, $phase eq 'queue' || $phase eq 'device' ? $self->_ahead($b, $t, $end, $phase)
			: $phase eq 'asking' && $b->{tid} != ($tid // $b->{tid}) ? $self->_let_go($b, $t, $end)
			:                                                          [ $t, $end, $phase, undef ];
		$t = $end;
	}
	return @p;
}

sub _ahead {
	my ($self, $b, $from, $to, $phase) = @_;
	my ($t, @p) = ($from);
	my $disk = $self->_table('disk');
	my $list = $disk->{service}{ $b->{dev} } // [];
	my $done = $disk->{done_by_dev}{ $b->{dev} } //= _done_by($list);
	for my $r (@$list[ _first_after($done, $from) .. $#$list ]) {
		last if $r->{issued} >= $to || defined $b->{issued} && $r->{issued} > $b->{issued};
		next if ($r->{completed} // $FOREVER) <= $t || defined $b->{request} && $r == $b->{request};
		# What is done later than ours does not stand before it in the device.
		next
			if $phase eq 'device'
			&& defined $b->{completed}
			&& ($r->{completed} // $FOREVER) > $b->{completed};
		my $begin = $r->{issued} > $t                   ? $r->{issued}    : $t;
		my $end   = ($r->{completed} // $FOREVER) < $to ? $r->{completed} : $to;
		push @p, [ $t,     $begin, $phase, undef ] if $begin > $t;
		push @p, [ $begin, $end,   $phase, $r ];
		$t = $end;
	}
	push @p, [ $t, $to, $phase, undef ] if $t < $to;
	return @p;
}

sub _make_disk {
	my ($self) = @_;
	my $t      = { by_tid => {}, waiting => {}, flying => {}, service => {}, done => [] };
	my $ev     = $self->{ev};
	for my $i ($self->_of(Tipme::KernelEvents::IO)) {
		my %r = (
			ts  => $ev->ts($i),               tid     => $ev->tid($i), sector => $ev->io_sector($i),
			dev => $ev->io_dev($i),           sectors => $ev->io_sectors($i),
			op  => $ev->io_op($i) // 'other', index   => $i
		);
		my $do = __PACKAGE__->can('_io_' . ($ev->io_phase($i) // '')) or next;
		$do->($t, \%r);
	}
	$self->_leave_out_halves($t);
	for (values %{ $t->{service} }) {
		@$_ = sort { $a->{issued} <=> $b->{issued} } grep { defined $_->{issued} } @$_;
	}
	return $t;
}

# Of a time in which the records of some CPUs only are at hand, an end may be missing where a
# beginning is there: then it is not known to last.
sub _leave_out_halves {
	my ($self, $t) = @_;
	my $exact = $self->{ev}->exact_from // return;
	for (values %{ $t->{by_tid} }) {
		@$_ = grep { defined $_->{completed} || $_->{queued} >= $exact } @$_;
	}
	for (values %{ $t->{service} }) {
		@$_ = grep { defined $_->{completed} || $_->{issued} >= $exact } @$_;
	}
	return;
}

sub _io_queued {
	my ($t, $r) = @_;
	my $bio =
		{ %$r{qw(tid dev sector sectors op)}, queued => $r->{ts}, indices => [ $r->{index} ] };
	# A device on top of another (a volume, an encrypted disk) hands the same bio down: the lower
	# one is waited for.
	my $above = $t->{by_tid}{ $r->{tid} }[-1];
	$above->{passed_on} = 1
		if $above
		&& !defined $above->{issued}
		&& $above->{dev} != $r->{dev}
		&& $above->{sectors} == $r->{sectors}
		&& $r->{ts} - $above->{queued} < $NEAR_NS;
	push @{ $t->{by_tid}{ $r->{tid} } },     $bio;
	push @{ $t->{waiting}{ $r->{sector} } }, $bio;
}

# The bios that wait for the sectors of a request, from its first sector on. A partition's bios bear
# the number of the partition.
sub _bios {
	my ($t, $r, $take) = @_;
	my ($s, $end, @b) =
		($r->{sector}, $r->{sector} + ($r->{sectors} == 65535 ? 1 << 20 : $r->{sectors} || 1));
	while ($s < $end) {
		my $list = $t->{waiting}{$s} or last;
		my ($k) = sort {
			($list->[$b]{dev} == $r->{dev}) <=> ($list->[$a]{dev} == $r->{dev})
				|| $a <=> $b
		} grep { $list->[$_]{dev} >> 20 == $r->{dev} >> 20 } 0 .. $#$list;
		last if !defined $k;
		my $bio = $list->[$k];
		push @b, $bio;
		if ($take) { splice @$list, $k, 1; delete $t->{waiting}{$s} if !@$list }
		last if !$bio->{sectors};
		$s += $bio->{sectors};
	}
	return @b;
}

sub _io_inserted { my ($t, $r) = @_; $_->{inserted} //= $r->{ts} for _bios($t, $r, 0) }

sub _io_issued {
	my ($t, $r) = @_;
	my @b  = _bios($t, $r, 1);
	my $rq = {
		dev  => $r->{dev}, sector => $r->{sector}, sectors => $r->{sectors}, op => $r->{op},
		tid  => @b ? $b[0]{tid} : 0, queued => @b ? $b[0]{queued} : $r->{ts}, issued => $r->{ts},
		bios => \@b,                 index  => $r->{index}
	};
	_put_back_rest($t, $r, $b[-1]) if @b;
	for (@b) {
		@$_{qw(issued request dev)} = ($r->{ts}, $rq, $r->{dev});
		push @{ $_->{indices} }, $r->{index};
	}
	$t->{flying}{ _key($r) } = $rq;
	push @{ $t->{service}{ $r->{dev} } }, $rq;
}

# A bio that is too large for one request goes in pieces: the rest waits on.
sub _put_back_rest {
	my ($t, $r, $bio) = @_;
	my $over = $bio->{sector} + $bio->{sectors} - $r->{sector} - $r->{sectors};
	return
		   if $r->{sectors} == 65535
		|| $bio->{sectors} == 65535
		|| $over <= 0
		|| $over >= $bio->{sectors};
	my $rest = {
		%$bio, sector => $r->{sector} + $r->{sectors}, sectors => $over,
		indices => [ @{ $bio->{indices} } ]
	};
	push @{ $t->{by_tid}{ $bio->{tid} } },      $rest;
	push @{ $t->{waiting}{ $rest->{sector} } }, $rest;
}

sub _key { my ($r) = @_; return $r->{sectors} ? "$r->{dev} $r->{sector}" : "$r->{dev} $r->{op}" }

sub _io_completed {
	my ($t, $r) = @_;
	my $rq = delete $t->{flying}{ _key($r) }
		// ($r->{op} eq 'flush' ? delete $t->{flying}{"$r->{dev} flush"} : undef)
		or return;
	$rq->{completed} = $r->{ts};
	for (@{ $rq->{bios} }) { $_->{completed} = $r->{ts}; push @{ $_->{indices} }, $r->{index} }
	$rq->{done_index} = $r->{index};
	push @{ $t->{done} }, $rq;
}

sub _io_failed { return _io_completed(@_) }

# The driver gave it back: its bios wait again.
sub _io_requeued {
	my ($t, $r) = @_;
	my $rq = delete $t->{flying}{ _key($r) } or return;
	@$rq{qw(completed requeued)} = ($r->{ts}, 1);
	for (@{ $rq->{bios} }) {
		delete @$_{qw(issued request)};
		unshift @{ $t->{waiting}{ $_->{sector} } }, $_;
	}
}

1;
