# SPDX-License-Identifier: GPL-2.0-only
# Two results of `tipme latency record` level by level: how many times more often one is above it.
# Cota-Robles and Held, OSDI 1999, figure 5 and section 4.3 (with and without a virus scanner).
package Tipme::Latency::Tails;

use strict;
use warnings;
use Exporter          qw(import);
use List::Util        qw(max);
use Tipme::Statistics qw(rate_ratio);
use Tipme::Words      qw(N__ fill);

our @EXPORT_OK = qw(holds tails worst_level);

# Unit: microseconds. Two levels to each doubling would be more rows than a person reads; doublings
# show a tail on a logarithmic scale as the paper's figures have it.
my @LEVELS_US = map { 2**$_ } 3 .. 24;

# tails(A, B, STAGE): rows { level_us, a, b, a_per_h, b_per_h, ratio, least, most } of B to A, from
# the first level that not all are above, to the last that any is above. Counts are those surely
# above.
sub tails {
	my ($a, $b, $stage) = @_;
	my @rows;
	my $longest = max map { $_->max_us($stage) } $a, $b;
	for my $level (grep { $_ < $longest } @LEVELS_US) {
		my ($na, $nb) = map { ($_->above($stage, $level))[0] } $a, $b;
		next if $na == $a->count($stage) && $nb == $b->count($stage) || !($na + $nb);
		my ($ta, $tb) = map { $_->watched_s($stage) } $a, $b;
		my ($ratio, $least, $most) =
			rate_ratio($nb, $tb, $na, $ta, map { $_->dispersion($stage, $level) } $b, $a);
		push @rows,
			{
			level_us => $level,           a     => $na,    b => $nb, a_per_h => $na / $ta * 3600,
			b_per_h  => $nb / $tb * 3600, ratio => $ratio, least => $least, most => $most
			};
	}
	return @rows;
}

# The row that says most: of those whose interval leaves out 1 the one whose interval is farthest
# from it; undef where there is none. With so many levels asked at once, a row counts only where
# its interval leaves out 1 by MARGIN, for one in twenty would by chance.
my $MARGIN = 1.1;

sub worst_level {
	my (@rows) = @_;
	my ($best, $far) = (undef, log $MARGIN);
	for my $r (@rows) {
		my $d =
			   $r->{least} > 1 ? log $r->{least} : defined $r->{most}
			&& $r->{most} < 1
			&& $r->{most} > 0 ? -log $r->{most} : 0;
		($best, $far) = ($r, $d) if $d > $far;
	}
	return $best;
}

# holds(RESULTS): under which condition intervals of rates hold, as a sentence
sub holds {
	my (@results) = @_;
	my ($few)     = grep { !$_->tells_together } @results;
	return fill(
		N__(
			'The intervals hold where latencies are independent; those of one long stall are not. '
				. 'From {n} blocks (minutes) on they heed that.'
		),
		n => $few->tells_together_from
	) if $few;
	return fill(
		N__(
				  'The intervals heed that latencies of a stall come together, '
				. 'and stalls one after another.'
		)
	);
}

1;
