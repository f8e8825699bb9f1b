# SPDX-License-Identifier: GPL-2.0-only
# How many of so many tries must be right, that a program which is right at a given rate fails
# once in 1,000 runs of the test.
package Tipme::Floor;
use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(least_right);

use constant FAILS_WRONGLY => 0.001;

# least_right(COUNT, RATE): from the binomial distribution; 0 < RATE < 1
sub least_right {
	my ($n,   $rate) = @_;
	my ($sum, $p)    = (0, (1 - $rate)**$n);
	for my $k (0 .. $n) {
		$sum += $p;
		return $k if $sum > FAILS_WRONGLY;
		$p *= ($n - $k) / ($k + 1) * $rate / (1 - $rate);
	}
	return $n;
}

1;
