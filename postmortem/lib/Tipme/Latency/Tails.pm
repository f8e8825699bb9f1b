# SPDX-License-Identifier: GPL-2.0-only
# Two results of `tipme latency record` level by level: how many times more often one is above it.
# Cota-Robles and Held, OSDI 1999, figure 5 and section 4.3 (with and without a virus scanner).
package Tipme::Latency::Tails;

use strict;
use warnings;
use Exporter           qw(import);
use List::Util         qw(max);
use Tipme::CommandLine qw(seconds);
use Tipme::Statistics  qw(rate_ratio);
use Tipme::Words       qw(N__ fill);

our @EXPORT_OK = qw(as_plain as_range as_times holds says tails worst_level);

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

# says(ROW or undef, WHERE): it in one sentence, about B, which is called WHERE
sub says {
	my ($r, $where) = @_;
	return fill(N__('No level tells the two apart.')) if !$r;
	my %in = (level => seconds($r->{level_us} / 1e6), where => $where);
	return fill(
		N__('Latencies above {level} are {n} times more frequent in {where} ({range}).'),
		%in,
		n     => as_times($r->{ratio}),
		range => as_range(@$r{qw(least most)})
	) if $r->{least} > 1;
	return fill(
		N__('Latencies above {level} are {n} times less frequent in {where} ({range}).'),
		%in,
		n     => as_times($r->{ratio}                 ? 1 / $r->{ratio} : undef),
		range => as_range(1 / $r->{most}, $r->{least} ? 1 / $r->{least} : undef)
	);
}

# In words: as_times(RATIO), as_range(LEAST, MOST), as_plain(NUMBER); undef: nothing bounds it
sub as_times { my ($n) = @_; return defined $n ? as_plain($n) : fill(N__('many')) }

sub as_range {
	my ($least, $most) = @_;
	return as_plain($least)
		. (
		defined $most
		? fill(N__(' to {most}'), most => as_plain($most))
		: fill(N__(' or more'))
		);
}

# Three digits, without an exponent.
sub as_plain { my ($n) = @_; return $n >= 1000 ? sprintf '%.0f', $n : sprintf '%.3g', $n }

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
