# SPDX-License-Identifier: GPL-2.0-only
# Latencies that are rarer than what was measured for: a fit to the longest of each block, with an
# interval, or a sentence why there is none.
#
# The longest of long blocks follow the generalized extreme value distribution, whatever the
# latencies follow (Fisher and Tippett, Proceedings of the Cambridge Philosophical Society 1928;
# Coles, "An Introduction to Statistical Modeling of Extreme Values", 2001, chapter 3). It is fitted
# by maximum likelihood; the interval of a level is that of its profile likelihood (Coles 2.6.6).
# Stalls that last over blocks make neighbours alike: then two blocks become one, until they do not.
package Tipme::Latency::Extremes;

use strict;
use warnings;
use Tipme::Words qw(N__);
use Exporter     qw(import);
use List::Util   qw(max min sum0);

our @EXPORT_OK = qw(fit level);

# Unit: blocks. With fewer, a fit of three parameters says nothing; more cost time and add little,
# so longer blocks are made of them, which follow the distribution better.
my ($LEAST, $MOST) = (30, 120);
# Unit: distinct values. Times in whole microseconds that hardly differ are no distribution.
my $LEAST_VALUES = 10;
# How far beyond the measured time a level is told. A convention of hydrology, which has the same
# question, is two to four; machines change less than rivers do.
our $BEYOND = 10;
# Half of the 95 % quantile of chi square with one degree: how much less likely a level may be.
my $DROP = 3.841459 / 2;
# Unit: blocks. So few of them have longer intervals than that, by simulation.
my $SMALL = 15;
# Shapes that are looked at: below, a fit has no likelihood; above, not even a mean.
my ($LEAST_SHAPE, $MOST_SHAPE) = (-0.5, 1);
# The Anderson-Darling statistic that one fit in twenty exceeds where the distribution is right (by
# simulation: t/latency-extremes.t).
my $AD_MOST = 0.6;
# The longest level that is told of all, as a multiple of the longest that was seen.
my $MOST_TIMES = 1000;

# fit(MAXIMA, oldest first): { blocks, joined (how many became one), place, scale, shape }, or {
# refused => WHY, needs => how many blocks it takes, where time helps }
sub fit {
	my (@maxima) = @_;
	my $joined   = 1;
	my $join     = sub {
		@maxima = map { max @maxima[ 2 * $_, 2 * $_ + 1 ] } 0 .. @maxima / 2 - 1;
		$joined *= 2;
	};
	return { refused => N__('too few blocks'), needs => $LEAST } if @maxima < $LEAST;
	my $alike = _alike(@maxima);
	$join->() while @maxima > $MOST;
	if ($alike) {
		# What is left of it after the test finds none is still in the interval: once more.
		$join->() while @maxima >= $LEAST && _alike(@maxima);
		$join->() if @maxima >= $LEAST;
		return { refused => N__('stalls last longer than a block'), needs => $LEAST * $joined }
			if @maxima < $LEAST;
	}
	my %values = map { $_ => 1 } @maxima;
	return { refused => N__('the longest of the blocks hardly differ') }
		if keys %values < $LEAST_VALUES;
	my @sorted = sort { $a <=> $b } @maxima;
	my $mean   = sum0(@sorted) / @sorted;
	my $spread = sqrt(sum0(map { ($_ - $mean)**2 } @sorted) / $#sorted);
	# By moments of Gumbel's.
	my $scale = $spread * sqrt(6) / 3.14159265;
	my ($best, $at) = (undef, undef);
	for my $shape (0.1, 0.5, -0.2) {
		my ($l, $p) = _least(
			sub { _unlikely(\@sorted, @{ $_[0] }) },
			[ $mean - 0.5772 * $scale, log $scale, $shape ],
			[ $scale / 2,              0.3,        0.15 ]
		);
		($best, $at) = ($l, $p) if !defined $best || $l < $best;
	}
	my %f = (
		blocks => scalar @sorted, joined   => $joined, place  => $at->[0], scale => exp $at->[1],
		shape  => $at->[2],       unlikely => $best,   maxima => \@sorted
	);
	return { refused => N__('the longest of the blocks come of more than one kind of stall') }
		if _anderson_darling(\%f) > $AD_MOST;
	return \%f;
}

# level(FIT, BLOCKS): { us, least_us, most_us } that the longest of so many of the blocks exceeds
# once, or { refused, needs (blocks) }; most_us undef: nothing bounds it.
sub level {
	my ($f, $blocks) = @_;
	my $t = $blocks / $f->{joined};
	return { refused => N__('too far beyond'), needs => $blocks / $BEYOND }
		if $t > $BEYOND * $f->{blocks};
	my $us = $f->{place} + $f->{scale} * _growth($t, $f->{shape});
	my $m  = $f->{maxima};
	return {
		us      => $us, least_us => _bound($f, $t, $us, $m->[0], -1),
		most_us => _bound($f, $t, $us, $MOST_TIMES * $m->[-1], 1)
	};
}

# How many scales a level lies above the place.
sub _growth {
	my ($t, $shape) = @_;
	return abs $shape < 1e-6 ? log $t : ($t**$shape - 1) / $shape;
}

# The level on this side at which the likelihood has dropped; undef: it has not, up to FAR.
sub _bound {
	my ($f, $t, $us, $far, $side) = @_;
	my $allowed = $f->{unlikely} + $DROP * (1 + $SMALL / $f->{blocks});
	my $start   = [ log $f->{scale}, $f->{shape} ];
	my $worse   = sub {
		my ($z) = @_;
		my ($l, $at) = _least(
			sub {
				my ($log_scale, $shape) = @{ $_[0] };
				return _unlikely(
					$f->{maxima},
					$z - exp($log_scale) * _growth($t, $shape), $log_scale, $shape
				);
			},
			$start,
			[ 0.15, 0.1 ]
		);
		$start = $at if $l < 1e30;
		return $l > $allowed;
	};
	# By ratios: steps that grow until it is beyond, then halves.
	my ($in, $out, $step) = ($us, undef, 1.05);
	while (!defined $out) {
		my $z = $side > 0 ? $in * $step : $in / $step;
		return $side > 0 ? undef : 0 if $side > 0 ? $z > $far : $z < $far / 1000 || $z <= 0;
		if   ($worse->($z)) { $out = $z }
		else                { $in  = $z; $step = $step**1.6 }
	}
	for (1 .. 7) {
		my $z = sqrt($in * $out);
		if   ($worse->($z)) { $out = $z }
		else                { $in  = $z }
	}
	return $out;
}

# Less the logarithm of the likelihood.
sub _unlikely {
	my ($maxima, $place, $log_scale, $shape) = @_;
	return 1e30 if $shape < $LEAST_SHAPE || $shape > $MOST_SHAPE || $log_scale > 50;
	my $scale = exp $log_scale;
	my $sum   = @$maxima * $log_scale;
	if (abs $shape < 1e-6) {
		for (@$maxima) {
			my $s = ($_ - $place) / $scale;
			return 1e30 if $s < -500;
			$sum += $s + exp -$s;
		}
		return $sum;
	}
	my $k = 1 / $shape;
	for (@$maxima) {
		my $t = 1 + $shape * ($_ - $place) / $scale;
		return 1e30 if $t <= 1e-12;
		my $log = log $t;
		return 1e30 if -$k * $log > 500;
		$sum += (1 + $k) * $log + exp(-$k * $log);
	}
	return $sum;
}

# Nelder and Mead, The Computer Journal 1965. Returns (least, where).
sub _least {
	my ($of, $start, $step) = @_;
	my $n      = @$start;
	my @points = map {
		my @p = @$start;
		$p[ $_ - 1 ] += $step->[ $_ - 1 ] if $_;
		[ $of->(\@p), \@p ]
	} 0 .. $n;
	for (1 .. 60 * $n) {
		@points = sort { $a->[0] <=> $b->[0] } @points;
		last if $points[-1][0] - $points[0][0] < 1e-4;
		my @centre = map {
			my $i = $_;
			sum0(map { $_->[1][$i] } @points[ 0 .. $n - 1 ]) / $n
		} 0 .. $n - 1;
		my $try = sub {
			my ($by) = @_;
			my @p = map { $centre[$_] + $by * ($points[-1][1][$_] - $centre[$_]) } 0 .. $n - 1;
			return [ $of->(\@p), \@p ];
		};
		my $r = $try->(-1);
		if ($r->[0] < $points[0][0]) {
			my $e = $try->(-2);
			$points[-1] = $e->[0] < $r->[0] ? $e : $r;
		} elsif ($r->[0] < $points[-2][0]) {
			$points[-1] = $r;
		} else {
			my $c = $try->($r->[0] < $points[-1][0] ? -0.5 : 0.5);
			if ($c->[0] < $points[-1][0] && $c->[0] <= $r->[0]) { $points[-1] = $c; next }
			for my $p (@points[ 1 .. $n ]) {
				my @p = map { ($p->[1][$_] + $points[0][1][$_]) / 2 } 0 .. $n - 1;
				@$p = ($of->(\@p), \@p);
			}
		}
	}
	my ($best) = sort { $a->[0] <=> $b->[0] } @points;
	return @$best;
}

# Anderson and Darling, Annals of Mathematical Statistics 1952: how far the fit is from the maxima,
# the ends most.
sub _anderson_darling {
	my ($f) = @_;
	my @p = map {
		my $s = ($_ - $f->{place}) / $f->{scale};
		my $t =
			abs $f->{shape} < 1e-6 ? exp -$s : max(1e-12, 1 + $f->{shape} * $s)**(-1 / $f->{shape});
		min(1 - 1e-9, max(1e-9, exp -$t))
	} @{ $f->{maxima} };
	my $n = @p;
	return -$n
		- sum0(map { (2 * $_ + 1) * (log($p[$_]) + log(1 - $p[ $n - 1 - $_ ])) } 0 .. $n - 1) / $n;
}

# Whether neighbours are alike: by the correlation of their ranks, above what chance has in one of
# twenty (Wald and Wolfowitz, Annals of Mathematical Statistics 1943).
sub _alike {
	my (@m) = @_;
	my @order = sort { $m[$a] <=> $m[$b] } 0 .. $#m;
	my @rank;
	for (my $i = 0; $i < @order;) {
		my $j = $i;
		$j++ while $j < $#order && $m[ $order[ $j + 1 ] ] == $m[ $order[$i] ];
		$rank[ $order[$_] ] = ($i + $j) / 2 for $i .. $j;
		$i = $j + 1;
	}
	my $mean = $#m / 2;
	my $var  = sum0(map { ($_ - $mean)**2 } @rank) or return 0;
	my $with = sum0(map { ($rank[$_] - $mean) * ($rank[ $_ + 1 ] - $mean) } 0 .. $#m - 1);
	return $with / $var * sqrt(@m) > 1.645;
}

1;
