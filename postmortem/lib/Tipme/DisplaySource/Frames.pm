# SPDX-License-Identifier: GPL-2.0-only
# From a client's drawing to the screen, where a compositor brings it there: who was told of it,
# when that one began a frame for it, and when its frames had covered all that was drawn
# (docs/method.md, "On the screen").
package Tipme::DisplaySource::Frames;

use strict;
use warnings;
use Scalar::Util qw(weaken);
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;

my $MS      = 1_000_000;
my $MOST    = 64;               # pieces of one answer that are looked at, the last ones
my $WAKE_NS = 2_000_000_000;    # a compositor that was told is woken within this
my $REST_NS =
	100_000_000;    # one that took the damage and then rests for so long has nothing to paint
my $LARGE      = 16;    # a frame so many times as large as what was drawn may show an older picture
my $SKIPPED    = 2;     # mode of a picture that was never shown
my $SCREEN_OPS = 2;     # ChangeWindowAttributes: shows or hides a cursor that the server draws

# new(SOURCE): of a source with the facts told, taken, paint, present and redirect
sub new {
	my ($class, $x) = @_;
	my $self = bless { x => $x, paints => {}, presents => {}, is => {} }, $class;
	my %told = map { $_->{pid} => 1 } grep { $_->{pid} } $x->all('told');
	for my $p ($x->all('paint')) {
		push @{ $self->{paints}{ $p->{pid} } }, $p if $told{ $p->{pid} };
	}
	for my $p ($x->all('present')) {
		push @{ $self->{presents}{ $p->{pid} } }, $p if $told{ $p->{pid} } && $self->_begins($p);
	}
	# Who is told and never changes the screen (a screen reader, a recorder) is no compositor.
	$self->{is}{$_} = 1 for keys %{ $self->{paints} }, keys %{ $self->{presents} };
	push @{ $self->{told}{ $_->{drawable} } }, $_
		for grep { $self->{is}{ $_->{pid} } } $x->all('told');
	push @{ $self->{taken}{ $_->{damage} } }, $_ for $x->all('taken');
	weaken($self->{x});    # it holds us
	return $self;
}

# is_compositor(PID): was it told of damage, and changes the screen?
sub is_compositor { my ($self, $pid) = @_; return $self->{is}{$pid} ? 1 : 0 }

sub _begins { my ($self, $p) = @_; return $p->{phase} == 1 }

# Position of the first in a list at or after a time.
sub _lower {
	my ($l,  $t)  = @_;
	my ($lo, $hi) = (0, scalar @$l);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($l->[$m]{ts_ns} < $t) { $lo = $m + 1 }
		else                        { $hi = $m }
	}
	return $lo;
}

# shown(\@DRAWS, UNTIL, QUICK): as DisplaySource has it
sub shown {
	my ($self, $draws, $until, $quick) = @_;
	my $d = $draws->[-1];
	return if !$d->{hidden};
	my @pieces = grep { $_->{hidden} && $_->{window} == $d->{window} && $_->{width} } @$draws;
	# Nothing of it lies on the screen; or nobody brings it there but the server itself.
	my $told = @pieces ? $self->_told($d) : undef;
	return { ns => $d->{ts_ns}, exact => 0, pid => undef } if !$told;
	splice @pieces, 0, @pieces - $MOST if @pieces > $MOST;
	my $began = $self->_began($told, $d, $until, $quick);
	my %who   = (pid => $told->{pid}, told_ns => $told->{ts_ns});
	my $end   = $self->_first(
		$self->_presented($told, $d, $began, $until),
		$self->_covered($told, $d, $began, \@pieces, $until), $self->_undone($d, $until)
	);
	# What it paints when the server has woken it from a rest is for somebody else.
	$end = undef if $end && !$quick && $self->_rests_after($told, $began, $end->{ns}, 1);
	return {
		%who, ns => $end->{ns},
		exact    => $end->{exact} // $self->_sure($began, $end, \@pieces),
		asked_ns => $end->{asked_ns}
		}
		if $end;
	# It has looked, and there was nothing to show: what was drawn lies below other windows.
	return { ns => $d->{ts_ns}, exact => 0, pid => undef }
		if !$quick && $self->_rests_after($told, $began, $until);
	return { %who, ns => undef, exact => 1 };
}

sub _first {
	my ($self, @ends) = @_;
	my ($first) = sort { $a->{ns} <=> $b->{ns} } grep {defined} @ends;
	return $first;
}

# When a compositor first heard of the damage that a drawing belongs to: it is told once until it
# takes it over.
sub _told {
	my ($self, $d) = @_;
	my $list = $self->{told}{ $d->{window} } or return;
	my $k    = _lower($list, $d->{ts_ns} + 1) - 1;
	return if $k < 0;
	my $told  = $list->[$k];
	my $taken = $self->_taken($told, 0, $d->{ts_ns});
	my $since = $taken ? $taken->{ts_ns} : 0;
	for (my $n = $k - 1; $n >= 0 && $list->[$n]{ts_ns} > $since; $n--) {
		$told = $list->[$n]
			if $list->[$n]{damage} == $told->{damage} && $list->[$n]{pid} == $told->{pid};
	}
	return $told;
}

# The last (or with FIRST the first) time in [FROM, TO) that a damage object was taken over, on
# whatever connection of its process.
sub _taken {
	my ($self, $told, $from, $to, $first) = @_;
	my $list = $self->{taken}{ $told->{damage} } or return;
	my $k    = $first  ? _lower($list, $from) : _lower($list, $to) - 1;
	my $t    = $k >= 0 ? $list->[$k]          : undef;
	return
		   $t
		&& $t->{ts_ns} >= $from
		&& $t->{ts_ns} < $to
		&& $t->{pid} == $told->{pid} ? $t : undef;
}

# From when on what a compositor paints is of this drawing: { ns, sure }. It was woken after it was
# told; or it has taken over the damage since. sure: in no frame that it had begun before.
sub _began {
	my ($self, $told, $d, $until, $quick) = @_;
	my $taken = $self->_taken($told, $d->{ts_ns}, $until, 1);
	my $woken = $quick ? { ns => $told->{ts_ns} } : $self->_woken($told, $until);
	my %b     = (taken_ns => $taken ? $taken->{ts_ns} : undef);
	my ($ns)  = sort { $a <=> $b } grep {defined} $b{taken_ns}, $woken ? $woken->{ns} : ();
	$ns //= $told->{ts_ns};
	return {
		%b, ns => $ns > $d->{ts_ns} ? $ns : $d->{ts_ns},
		asleep => $woken && $woken->{asleep} ? 1 : 0
	};
}

# The first waking of a thread of the compositor after it was told: { ns, asleep (it slept when it
# was told) }
sub _woken {
	my ($self, $told, $until) = @_;
	my $kernel = $self->{x}->kernel;
	return
		   if !$kernel
		|| !$kernel->has_records
		|| $kernel->sampled
		|| $told->{ts_ns} < $kernel->covered_from;
	my $to     = $told->{ts_ns} + $WAKE_NS < $until ? $told->{ts_ns} + $WAKE_NS : $until;
	my $states = $kernel->states($told->{ts_ns} - $MS, $to);
	my ($ev, $threads) = ($states->events, $kernel->threads);
	for (my $k = $ev->first_at($told->{ts_ns}); $k < $ev->count && $ev->ts($k) < $to; $k++) {
		next if $ev->kind($k) != Tipme::KernelEvents::WAKING;
		my ($tid, $t) = ($ev->tid($k), $ev->ts($k));
		next if $threads->at($tid, $t)->{pid} != $told->{pid};
		my $i = $states->at($tid, $told->{ts_ns});
		return { ns => $t, asleep => $i && $i->{kind} eq 'blocked' ? 1 : 0 };
	}
	return;
}

# When frames of the compositor had covered all pieces, each after it was drawn: { ns, asked_ns,
# box, sum of the areas }
sub _covered {
	my ($self, $told, $d, $began, $pieces, $until) = @_;
	# Another process may have taken its place.
	my @pids = (
		$told->{pid},
		grep     { $_ != $told->{pid} }
			map  { $_->{pid} }
			grep { $_->{ts_ns} > $d->{ts_ns} && $_->{ts_ns} < $until }
			@{ $self->{told}{ $d->{window} } }
	);
	my (%seen, @paints);
	my $from = $pieces->[0]{ts_ns};
	for my $pid (grep { !$seen{$_}++ } @pids) {
		next if $self->{presents}{$pid};
		my $l = $self->{paints}{$pid} // next;
		for (my $k = _lower($l, $from); $k < @$l && $l->[$k]{ts_ns} < $until; $k++) {
			push @paints, $l->[$k];
			last if @paints > 4096;
		}
	}
	@paints = sort { $a->{ts_ns} <=> $b->{ts_ns} } @paints if keys %seen > 1;
	my @left = map { [ $_->{ts_ns}, _box($_) ] } @$pieces;
	for my $p (@paints) {
		my $box = _box($p);
		# The last drawing, and what came with it, only in a frame that was begun for it; what came
		# before may have been shown before.
		@left = map {
			$_->[0] < $p->{ts_ns} && ($_->[0] < $d->{ts_ns} - $MS || $p->{ts_ns} > $began->{ns})
				? map { [ $_->[0], $_ ] } _outside($_->[1], $box)
				: $_
		} @left;
		return { ns => $p->{ts_ns}, asked_ns => $self->{x}->asked_ns(undef, $p), box => $box }
			if !@left && $p->{ts_ns} > $d->{ts_ns};
		# All had been covered, but not yet by what came last.
	}
	return;
}

sub _box {
	my ($r) = @_;
	return [ $r->{x}, $r->{y}, $r->{x} + $r->{width}, $r->{y} + $r->{height} ];
}

# What of a box lies outside of another: up to four boxes.
sub _outside {
	my ($b, $c) = @_;
	my ($x1, $y1, $x2, $y2) = @$b;
	return $b if $c->[0] >= $x2 || $c->[2] <= $x1 || $c->[1] >= $y2 || $c->[3] <= $y1;
	my @out;
	push @out, [ $x1, $y1, $x2, $c->[1] ] if $c->[1] > $y1;
	push @out, [ $x1, $c->[3], $x2, $y2 ] if $c->[3] < $y2;
	my ($top, $bottom) = ($c->[1] > $y1 ? $c->[1] : $y1, $c->[3] < $y2 ? $c->[3] : $y2);
	push @out, [ $x1, $top, $c->[0], $bottom ] if $c->[0] > $x1;
	push @out, [ $c->[2], $top, $x2, $bottom ] if $c->[2] < $x2;
	return @out;
}

# Where the compositor hands whole pictures to the server (Present): when the first that it asked
# for since had been shown.
sub _presented {
	my ($self, $told, $d, $began, $until) = @_;
	my $l = $self->{presents}{ $told->{pid} } or return;
	my ($x, %open) = ($self->{x});
	my $ends = $self->{ends}{ $told->{pid} } //= {
		map      { ("$_->{window} $_->{serial}" => $_) }
			grep { $_->{phase} == 2 && $_->{mode} != $SKIPPED && $_->{pid} == $told->{pid} }
			reverse $x->all('present')
	};
	for (my $k = _lower($l, $began->{ns}); $k < @$l && $l->[$k]{ts_ns} < $until; $k++) {
		my $end = $ends->{"$l->[$k]{window} $l->[$k]{serial}"};
		next if !$end || $end->{ts_ns} < $l->[$k]{ts_ns};
		return $end->{ts_ns} < $until
			? { ns => $end->{ts_ns}, asked_ns => $l->[$k]{ts_ns} }
			: undef;
	}
	return;
}

# The window draws on the screen itself again: what is in its pixmap comes with it.
sub _undone {
	my ($self, $d, $until) = @_;
	my ($r) = grep { $_->{window} == $d->{window} && !$_->{begin} }
		$self->{x}->between('redirect', $d->{ts_ns}, $until);
	return $r
		? { ns => $r->{ts_ns}, asked_ns => $self->{x}->asked_ns(undef, $r), exact => 1 }
		: undef;
}

# Was the frame begun for it? If it was taken over between the two, it was. So it was where the
# compositor slept until it was told. But a frame that is so much larger than what was drawn may
# hold an older picture of it.
sub _sure {
	my ($self, $began, $end, $pieces) = @_;
	return 1 if defined $began->{taken_ns} && $began->{taken_ns} < $end->{ns};
	return 0 if !$began->{asleep};
	return 1 if !$end->{box};
	my ($drawn, $frame) =
		(0, ($end->{box}[2] - $end->{box}[0]) * ($end->{box}[3] - $end->{box}[1]));
	$drawn += $_->{width} * $_->{height} for @$pieces;
	return $frame <= $LARGE * $drawn ? 1 : 0;
}

# Did it take the damage over, and then rest? By the server: until that woke it?
sub _rests_after {
	my ($self, $told, $began, $until, $by_server) = @_;
	my $kernel = $self->{x}->kernel;
	my $t      = $began->{taken_ns};
	return 0
		if !defined $t
		|| $t + $REST_NS > $until
		|| !$kernel
		|| !$kernel->has_records
		|| $kernel->sampled;
	my $states = $kernel->states($t, $until);
	my ($tid) = ($told->{pid});
	for my $i (@{ $states->intervals($tid) }) {
		next if $i->{kind} ne 'blocked' || $i->{to} <= $t || ($i->{state} // '') ne 'sleeping';
		my ($from, $to) =
			($i->{from} > $t ? $i->{from} : $t, $i->{to} < $until ? $i->{to} : $until);
		next     if $to - $from < $REST_NS;
		return 1 if !$by_server;
		my ($ev, $w) = ($states->events, $i->{wake});
		next if !defined $w || $ev->context($w) != 0 || $ev->waker($w) != $self->{x}{tid};
		# One that had asked the server something waits for that.
		return 1
			if !grep { ($_->{pid} // 0) == $told->{pid} }
			$self->{x}->between('request', $from + $REST_NS, $to);
	}
	return 0;
}

1;
