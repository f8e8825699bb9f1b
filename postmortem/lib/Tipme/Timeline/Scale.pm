# SPDX-License-Identifier: GPL-2.0-only
# From nanoseconds to pixels, and where the ticks of the time axis stand.
package Tipme::Timeline::Scale;

use strict;
use warnings;

# new(FROM_NS, TO_NS, LEFT, WIDTH, ZERO_NS): [FROM, TO) on WIDTH pixels from LEFT; labels count from
# ZERO.
sub new {
	my ($class, $from, $to, $left, $width, $zero) = @_;
	$to = $from + 1 if $to <= $from;
	return
		bless { from => $from, to => $to, left => $left, width => $width, zero => $zero // $from },
		$class;
}

sub from  { return $_[0]{from} }
sub to    { return $_[0]{to} }
sub left  { return $_[0]{left} }
sub right { return $_[0]{left} + $_[0]{width} }
sub width { return $_[0]{width} }

# x(TS): for drawing; what lies outside stands at the edge.
sub x {
	my ($self, $ts) = @_;
	return $self->{left} if $ts <= $self->{from};
	return $self->right  if $ts >= $self->{to};
	return $self->{left} + ($ts - $self->{from}) * $self->{width} / ($self->{to} - $self->{from});
}

# column(TS): the pixel column of a time, from 0, in integers.
sub column {
	my ($self, $ts) = @_;
	return 0                  if $ts <= $self->{from};
	return $self->{width} - 1 if $ts >= $self->{to};
	use integer;
	return ($ts - $self->{from}) * $self->{width} / ($self->{to} - $self->{from});
}

# begin(COLUMN): the first time that lies in a pixel column; behind the last one, the end.
sub begin {
	my ($self, $column) = @_;
	return $self->{to} if $column >= $self->{width};
	use integer;
	return $self->{from}
		+ ($column * ($self->{to} - $self->{from}) + $self->{width} - 1) / $self->{width};
}

sub holds { my ($self, $ts) = @_; return $ts >= $self->{from} && $ts <= $self->{to} }

# step(SPAN_NS, N): the smallest of 1, 2, 5 times a power of ten that cuts SPAN into at most N.
sub step {
	my ($span, $n) = @_;
	my $step = 1;
	while (1) {
		for my $m (1, 2, 5) { return $m * $step if $m * $step * $n >= $span }
		$step *= 10;
	}
}

# ticks(N): [ ts, label ] of at most about N ticks, in milliseconds from zero (in seconds if they
# are many).
sub ticks {
	my ($self, $n) = @_;
	my $step = step($self->{to} - $self->{from}, $n);
	my ($unit, $name) = $step >= 1_000_000_000 ? (1e9, 's') : (1e6, 'ms');
	my $digits = $step >= $unit ? 0 : length($unit / $step) - 1;
	my $first  = _floor_div($self->{from} - $self->{zero} + $step - 1, $step);
	my @ticks;
	for (my $t = $first * $step; $self->{zero} + $t <= $self->{to}; $t += $step) {
		push @ticks, [ $self->{zero} + $t, sprintf("%.*f %s", $digits, $t / $unit, $name) ];
	}
	return @ticks;
}

sub _floor_div {
	my ($a, $b) = @_;
	use integer;
	return $a >= 0 ? $a / $b : -((-$a + $b - 1) / $b);
}

1;
