# SPDX-License-Identifier: GPL-2.0-only
# Intervals for counts, rates, ratios of rates and quantiles: one module for all that measure.
#
# All intervals are two-sided, of confidence $CONFIDENCE, and exact in the sense that they cover at
# least that often, where events are independent. Quantiles come from Statistics::Distributions,
# which has five digits.
package Tipme::Statistics;

use strict;
use warnings;
use Exporter                  qw(import);
use List::Util                qw(min);
use Statistics::Distributions qw(chisqrdistr fdistr udistr);

our @EXPORT_OK = qw(poisson_interval rate_ratio quantile_ranks proportion_interval median
	median_interval ratio_of_medians difference_interval);

# Unit: probability. The usual level; source: convention of the field. All callers share it.
our $CONFIDENCE = 0.95;

# Unit: degrees of freedom. With more on both sides the library's F is 0; the cube-root form is
# right to five digits there.
my $LARGE = 1000;
# Unit: degrees of freedom. The library's time grows with the larger number; above this F no longer
# changes in the third digit.
my $ENDLESS = 1_000_000;

# poisson_interval(COUNT, DISPERSION): (least, most) mean that gives such a count.
# Garwood, "Fiducial limits for the Poisson distribution", Biometrika 1936. COUNT: 0 or more.
# DISPERSION, where events come together: their variance as a multiple of that of independent ones
# (McCullagh and Nelder, "Generalized Linear Models", 1989, section 6.2); so many are like one.
sub poisson_interval {
	my ($count, $dispersion) = (@_, 1);
	my $tail = (1 - $CONFIDENCE) / 2;
	my $like = $count / $dispersion;
	return (
		$dispersion * _between($like, sub { $_[0] ? _chi_square(2 * $_[0], $tail) / 2 : 0 }),
		$dispersion * _between($like, sub { _chi_square(2 * $_[0] + 2, 1 - $tail) / 2 })
	);
}

# The library has whole degrees of freedom only: in a straight line between those of X.
sub _between {
	my ($x, $of) = @_;
	my $whole = int $x;
	my $least = $of->($whole);
	return $x > $whole ? $least + ($x - $whole) * ($of->($whole + 1) - $least) : $least;
}

# rate_ratio(A, TIME_A, B, TIME_B, DISPERSION_A, DISPERSION_B): (ratio, least, most) of A events in
# TIME_A to B in TIME_B.
# Given the sum of both, A is binomial (Przyborowski and Wilenski, Biometrika 1940); its interval is
# that of Clopper and Pearson (Biometrika 1934). `undef` as ratio or most: nothing bounds it. Events
# that come together count as the whole number of independent ones that they are like.
sub rate_ratio {
	my ($a, $time_a, $b, $time_b, $dispersion_a, $dispersion_b) = @_;
	return (undef, 0, undef) if !($a + $b);
	my $ratio = $b ? $a / $b * $time_b / $time_a : undef;
	my ($like_a, $each_a) = _like($a, $dispersion_a);
	my ($like_b, $each_b) = _like($b, $dispersion_b);
	my ($least, $most)    = map { _odds($_) } proportion_interval($like_a, $like_a + $like_b);
	my $scale = $time_b / $time_a * $each_a / $each_b;
	return ($ratio, $least * $scale, defined $most ? $most * $scale : undef);
}

# (how many independent ones so many are like, how many each of them stands for)
sub _like {
	my ($count, $dispersion) = @_;
	return ($count, $dispersion // 1) if !$count || ($dispersion // 1) == 1;
	my $like = int($count / $dispersion)         || 1;
	return ($like, $count / $like);
}

sub _odds { my ($p) = @_; return $p < 1 ? $p / (1 - $p) : undef }

# proportion_interval(K, N): (least, most) probability of which K of N is plausible. N above 0.
sub proportion_interval {
	my ($k, $n) = @_;
	my $tail = (1 - $CONFIDENCE) / 2;
	my ($least, $most) = (0, 1);
	if ($k > 0) {
		my $f = _f(2 * ($n - $k + 1), 2 * $k, $tail);
		$least = $k / ($k + ($n - $k + 1) * $f);
	}
	if ($k < $n) {
		my $f = _f(2 * ($k + 1), 2 * ($n - $k), $tail);
		$most = ($k + 1) * $f / ($n - $k + ($k + 1) * $f);
	}
	return ($least, $most);
}

# quantile_ranks(N, P): ranks (from 1) of the two order statistics of N samples between which the
# P-quantile lies; a rank of undef: so few samples do not bound it on that side.
# David and Nagaraja, "Order Statistics", 2003, section 7.1, by the normal approximation with
# continuity correction, which is used only where N P (1-P) is 9 or more.
sub quantile_ranks {
	my ($n, $p) = @_;
	my $spread = $n * $p * (1 - $p);
	return (undef, undef) if $spread < 9;
	my $half = udistr((1 - $CONFIDENCE) / 2) * sqrt $spread;
	my ($low, $high) = (int($n * $p - $half - 0.5), int($n * $p + $half + 1.5));
	return ($low >= 1 ? $low : undef, $high <= $n ? $high : undef);
}

# difference_interval(A, LEAST_A, MOST_A, B, LEAST_B, MOST_B): (B - A, least, most) from the
# intervals of both, of the same confidence. Zou and Donner, "Construction of confidence intervals
# about effect measures: a simple general approach", Statistics in Medicine 2008, equation 10.
sub difference_interval {
	my ($a, $least_a, $most_a, $b, $least_b, $most_b) = @_;
	my $d = $b - $a;
	return (
		$d, $d - sqrt(($b - $least_b)**2 + ($most_a - $a)**2),
		$d + sqrt(($most_b - $b)**2 + ($a - $least_a)**2)
	);
}

# The P-quantile (lower tail) of chi-square.
sub _chi_square { my ($degrees, $p) = @_; return chisqrdistr($degrees, 1 - $p) }

# The value that F exceeds with probability TAIL; with many degrees on both sides by the cube-root
# form of Paulson, Annals of Mathematical Statistics 1942.
sub _f {
	my ($n, $m, $tail) = @_;
	if ($n <= $LARGE || $m <= $LARGE) {
		# Where one side is far larger the library may end in a logarithm of nothing.
		my $f = eval {
			fdistr((map { min($_, $ENDLESS) } $n, $m), $tail);
		};
		return $f if defined $f && $f =~ /\A[0-9.]+(?:e[-+]?[0-9]+)?\z/ && $f > 0;
	}
	my ($z, $a, $b) = (udistr($tail), 2 / (9 * $n), 2 / (9 * $m));
	my ($A, $B, $C) =
		((1 - $b)**2 - $z**2 * $b, -2 * (1 - $a) * (1 - $b), (1 - $a)**2 - $z**2 * $a);
	# The larger root of A x^2 + B x + C, x the cube root of F.
	return ((-$B + sqrt($B**2 - 4 * $A * $C)) / (2 * $A))**3;
}

# median(VALUES): undef of none.
sub median {
	my @v = sort { $a <=> $b } @_ or return;
	return @v % 2 ? $v[ $#v / 2 ] : ($v[ @v / 2 - 1 ] + $v[ @v / 2 ]) / 2;
}

# median_interval(VALUES): (least, most) that the median lies between, by order statistics: the
# number of values below it is binomial (David and Nagaraja, section 7.1). (undef, undef): fewer
# than six values bound it at no confidence of 95 %.
sub median_interval {
	my @v = sort { $a <=> $b } @_;
	my $n = @v;
	my ($below, $tail, $probability) = (0, 0, 0.5**$n);
	while ($tail + $probability <= (1 - $CONFIDENCE) / 2) {
		$tail        += $probability;
		$probability *= ($n - $below) / ($below + 1);
		$below++;
	}
	return $below ? @v[ $below - 1, $n - $below ] : (undef, undef);
}

# ratio_of_medians(\@A, \@B, COMPARISONS): (ratio, least, most) of what B is to A, values above 0.
# Hodges and Lehmann, Annals of Mathematical Statistics 1963: the median of all ratios of a value of
# B to one of A; its interval inverts the rank-sum test (Mann and Whitney 1947), exactly up to 50
# values on a side, by the normal approximation above. With COMPARISONS all intervals of so many
# hold together with that confidence (Bonferroni; Dunn, JASA 1961). undef: too few values to bound
# it.
sub ratio_of_medians {
	my ($of, $to, $comparisons) = @_;
	my @ratios = sort { $a <=> $b } map {
		my $x = $_;
		map { $_ / $x } @$to
	} @$of;
	return (undef, undef, undef) if !@ratios;
	my $k = _rank_sum_below(scalar @$of, scalar @$to, (1 - $CONFIDENCE) / 2 / ($comparisons // 1));
	# The geometric mean of the two in the middle: the ratio of A to B is then the inverse.
	my $ratio = sqrt($ratios[ $#ratios / 2 ] * $ratios[ @ratios / 2 ]);
	return ($ratio, $k ? @ratios[ $k - 1, @ratios - $k ] : (undef, undef));
}

# How many of the ordered ratios may be left out on each side: the largest K for which the rank-sum
# statistic is below K with no more than this probability.
sub _rank_sum_below {
	my ($n, $m, $tail) = @_;
	if ($n > 50 || $m > 50) {
		my $k = $n * $m / 2 - 0.5 - udistr($tail) * sqrt($n * $m * ($n + $m + 1) / 12);
		return $k < 0 ? 0 : int $k;
	}
	my @ways = _rank_sum_ways($n, $m);
	my ($all, $sum, $k) = (0, 0, 0);
	$all += $_ for @ways;
	while ($k < @ways && ($sum + $ways[$k]) / $all <= $tail) { $sum += $ways[ $k++ ] }
	return $k;
}

# In how many orders of N and M values each statistic comes about: the coefficients of the Gaussian
# binomial, product of (1 - q^(m+i)) / (1 - q^i).
sub _rank_sum_ways {
	my ($n, $m) = @_;
	my @c = (1, (0) x ($n * $m));
	for my $i (1 .. $n) {
		for (my $j = $n * $m; $j >= $m + $i; $j--) { $c[$j] -= $c[ $j - $m - $i ] }
		for my $j ($i .. $n * $m)                  { $c[$j] += $c[ $j - $i ] }
	}
	return @c;
}

1;
