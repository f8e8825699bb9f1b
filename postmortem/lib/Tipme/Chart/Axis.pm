# SPDX-License-Identifier: GPL-2.0-only
# An axis of a chart: from values to places, and where its ticks stand. Linear, logarithmic, time in
# seconds, or names beside each other.
package Tipme::Chart::Axis;

use strict;
use warnings;
use POSIX              qw(floor ceil);
use Tipme::CommandLine qw(with_commas);

# Steps of a time axis, in seconds.
my @TIME_STEPS = (
	(map { ($_, 2 * $_, 5 * $_) } 0.001, 0.01, 0.1),
	(1,                    2, 5, 10, 15, 30),
	(map { 60 * $_ } 1,    2, 5, 10, 15, 30, 60, 120, 180, 360, 720),
	(map { 86400 * $_ } 1, 2, 5, 10, 20, 50, 100)
);
# Labels of a logarithmic axis within a decade: as many as there is room for.
my @IN_DECADE = ([ 1, 2, 5 ], [ 1, 3 ], [1]);

# new(scale => 'linear'|'log'|'time'|'names', from =>, to =>, names => [ ... ]): FROM below TO, on a
# logarithmic axis both above 0. Of names the N-th (from 0) stands at N.
sub new {
	my ($class, %o) = @_;
	my $scale = $o{scale} // 'linear';
	die "chart: an axis is linear, log, time or names, not '$scale'\n"
		if $scale !~ /\A(?:linear|log|time|names)\z/;
	my ($from, $to) =
		$scale eq 'names' ? (-0.5, @{ $o{names} } - 0.5) : _widened($scale, @o{qw(from to)});
	return bless { scale => $scale, from => $from, to => $to, names => $o{names} }, $class;
}

sub from  { return $_[0]{from} }
sub to    { return $_[0]{to} }
sub scale { return $_[0]{scale} }

# A range of nothing becomes one around it.
sub _widened {
	my ($scale, $from, $to) = @_;
	if ($scale eq 'log') {
		die "chart: a logarithmic axis from $from: it begins above 0\n" if $from <= 0;
		return $to > $from ? ($from, $to) : ($from / 2, $from * 2);
	}
	return ($from, $to) if $to > $from;
	my $half = abs($from) * 0.05 || 0.5;
	return ($from - $half, $from + $half);
}

# at(VALUE): its place, 0 at the beginning of the axis and 1 at its end; undef: the axis has none.
sub at {
	my ($self, $v)  = @_;
	my ($from, $to) = @$self{qw(from to)};
	return ($v - $from) / ($to - $from) if $self->{scale} ne 'log';
	return $v > 0 ? log($v / $from) / log($to / $from) : undef;
}

# ticks(N): [ value, label ] of about N ticks at most, in order.
sub ticks {
	my ($self, $n) = @_;
	return map { [ $_, $self->{names}[$_] ] } 0 .. $#{ $self->{names} }
		if $self->{scale} eq 'names';
	return $self->_log_ticks($n)  if $self->{scale} eq 'log';
	return $self->_time_ticks($n) if $self->{scale} eq 'time';
	my $step = nice_step($self->{to} - $self->{from}, $n);
	return map { [ $_, number($_, $step) ] } $self->_multiples($step);
}

# rounded(N): the axis, made longer up to the next ticks at both ends.
sub rounded {
	my ($self, $n) = @_;
	return $self if $self->{scale} eq 'names' || $self->{scale} eq 'time';
	return (ref $self)
		->new(scale => 'log', from => _log_below($self->{from}), to => _log_above($self->{to}))
		if $self->{scale} eq 'log';
	my $step = nice_step($self->{to} - $self->{from}, $n);
	return (ref $self)->new(
		from => $step * floor($self->{from} / $step + 1e-9),
		to   => $step * ceil($self->{to} / $step - 1e-9)
	);
}

# nice_step(SPAN, N): the least of 1, 2 and 5 times a power of ten that cuts SPAN into at most N.
sub nice_step {
	my ($span, $n) = @_;
	my $step = 10**floor(log($span / $n) / log 10);
	for my $m (1, 2, 5, 10, 20) { return $m * $step if $m * $step * $n >= $span * (1 - 1e-9) }
	return 50 * $step;
}

# number(VALUE, STEP): VALUE with as many digits as a step of STEP needs.
sub number {
	my ($v, $step) = @_;
	$v = 0 if abs $v < $step / 1000;
	return sprintf '%g', $v if abs $v >= 1e7 || $step < 1e-6;
	my $digits = $step >= 1 ? 0 : -floor(log($step) / log(10) + 1e-9);
	my ($sign, $whole, $rest) = sprintf('%.*f', $digits, $v) =~ /\A(-?)(\d+)(.*)\z/;
	return $sign . with_commas($whole) . $rest;
}

sub _multiples {
	my ($self,  $step) = @_;
	my ($first, $last) = (ceil($self->{from} / $step - 1e-9), floor($self->{to} / $step + 1e-9));
	return map { $_ * $step } $first .. $last;
}

sub _time_ticks {
	my ($self, $n) = @_;
	my $span = $self->{to} - $self->{from};
	my ($step) = grep { $_ * $n >= $span * (1 - 1e-9) } @TIME_STEPS;
	$step //= nice_step($span / 86400, $n) * 86400;
	return map { [ $_, time_text($_, $step) ] } $self->_multiples($step);
}

# time_text(SECONDS, STEP): "0.05 s", "2:30" (minutes), "1:30 h", "3 d", as a step of STEP needs.
sub time_text {
	my ($s, $step) = @_;
	return sprintf '%g d', $s / 86400 if $step >= 86400;
	my $sign = $s < 0 ? '-' : '';
	$s = abs $s;
	return sprintf '%s%d:%02d h', $sign, $s / 3600, $s / 60 % 60 if $step >= 60;
	return sprintf '%s%d:%02d',   $sign, $s / 60,   $s % 60      if $step >= 1;
	return $sign . number($s, $step) . ' s';
}

sub _log_ticks {
	my ($self,  $n)    = @_;
	my ($first, $last) = map { floor(log($_) / log(10) + 1e-9) } @$self{qw(from to)};
	for my $in (@IN_DECADE) {
		my @t = $self->_within(
			map {
				my $d = 10**$_;
				map { $_ * $d } @$in
			} $first .. $last
		);
		return map { [ $_, log_number($_) ] } @t if @t <= $n && @t > 1;
	}
	my $each = ceil(($last - $first + 1) / $n);
	my @t    = $self->_within(map { 10**$_ } grep { !($_ % $each) } $first .. $last);
	return map { [ $_, log_number($_) ] } @t if @t > 1;
	# Less than a factor of two or so: as if linear.
	my $step = nice_step($self->{to} - $self->{from}, $n);
	return map { [ $_, number($_, $step) ] } $self->_multiples($step);
}

sub _within {
	my ($self, @v) = @_;
	return grep { $_ >= $self->{from} * (1 - 1e-9) && $_ <= $self->{to} * (1 + 1e-9) } @v;
}

# minor_ticks(): values without labels: 2 to 9 of each decade, of at most six decades.
sub minor_ticks {
	my ($self) = @_;
	return () if $self->{scale} ne 'log';
	my ($first, $last) = map { floor(log($_) / log(10) + 1e-9) } @$self{qw(from to)};
	return () if $last - $first > 6;
	return $self->_within(
		map {
			my $d = 10**$_;
			map { $_ * $d } 2 .. 9
		} $first .. $last
	);
}

sub log_number {
	my ($v) = @_;
	return $v >= 1 && $v < 1e11 ? with_commas(sprintf '%.0f', $v) : sprintf '%g', $v;
}

sub _log_below {
	my ($v)    = @_;
	my $decade = 10**floor(log($v) / log(10) + 1e-9);
	my ($best) = grep { $_ * $decade <= $v * (1 + 1e-9) } 5, 2, 1;
	return $best * $decade;
}

sub _log_above {
	my ($v)    = @_;
	my $decade = 10**floor(log($v) / log(10) + 1e-9);
	my ($best) = grep { $_ * $decade >= $v * (1 - 1e-9) } 1, 2, 5, 10;
	return $best * $decade;
}

1;
