# SPDX-License-Identifier: GPL-2.0-only
# Intervals for counts, rates, ratios of rates and quantiles: one module for all that measure.
#
# All intervals are two-sided, of confidence $CONFIDENCE, and exact in the sense that they cover at
# least that often, where events are independent. Quantiles come from Statistics::Distributions,
# which has five digits.
package Tipme::Statistics;

use strict;
use warnings;
use Exporter qw(import);
use List::Util qw(min);
use Statistics::Distributions qw(chisqrdistr fdistr udistr);

our @EXPORT_OK = qw(poisson_interval rate_ratio quantile_ranks proportion_interval);

# Unit: probability. The usual level; source: convention of the field. All callers share it.
our $CONFIDENCE = 0.95;

# Unit: degrees of freedom. With more on both sides the library's F is 0; the cube-root form is
# right to five digits there.
my $LARGE = 1000;
# Unit: degrees of freedom. The library's time grows with the larger number; above this F no longer
# changes in the third digit.
my $ENDLESS = 1_000_000;

# poisson_interval(COUNT): (least, most) mean that gives such a count.
# Garwood, "Fiducial limits for the Poisson distribution", Biometrika 1936. COUNT: 0 or more.
sub poisson_interval {
	my ($count) = @_;
	my $tail = (1 - $CONFIDENCE) / 2;
	return ($count ? _chi_square(2 * $count, $tail) / 2 : 0, _chi_square(2 * $count + 2, 1 - $tail) / 2);
}

# rate_ratio(A, TIME_A, B, TIME_B): (ratio, least, most) of A events in TIME_A to B in TIME_B.
# Given the sum of both, A is binomial (Przyborowski and Wilenski, Biometrika 1940); its interval is
# that of Clopper and Pearson (Biometrika 1934). `undef` as ratio or most: nothing bounds it.
sub rate_ratio {
	my ($a, $time_a, $b, $time_b) = @_;
	return (undef, 0, undef) if !($a + $b);
	my ($least, $most) = map { _odds($_) } proportion_interval($a, $a + $b);
	my $scale = $time_b / $time_a;
	return ($b ? $a / $b * $scale : undef, $least * $scale, defined $most ? $most * $scale : undef);
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

# The P-quantile (lower tail) of chi-square.
sub _chi_square { my ($degrees, $p) = @_; return chisqrdistr($degrees, 1 - $p) }

# The value that F exceeds with probability TAIL; with many degrees on both sides by the cube-root
# form of Paulson, Annals of Mathematical Statistics 1942.
sub _f {
	my ($n, $m, $tail) = @_;
	return fdistr((map { min($_, $ENDLESS) } $n, $m), $tail) if $n <= $LARGE || $m <= $LARGE;
	my ($z, $a, $b) = (udistr($tail), 2 / (9 * $n), 2 / (9 * $m));
	my ($A, $B, $C) = ((1 - $b)**2 - $z**2 * $b, -2 * (1 - $a) * (1 - $b), (1 - $a)**2 - $z**2 * $a);
	# The larger root of A x^2 + B x + C, x the cube root of F.
	return ((-$B + sqrt($B**2 - 4 * $A * $C)) / (2 * $A))**3;
}

1;
