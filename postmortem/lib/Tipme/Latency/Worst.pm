# SPDX-License-Identifier: GPL-2.0-only
# The latency that is expected to be exceeded once an hour, a day, a week of use.
#
# Cota-Robles and Held, OSDI 1999, sections 3.1 and 4.3, table 3. A stress that is driven by a
# program compresses time: an hour of it stands for FACTOR hours of a person's use. A "day" and a
# "week" are the hours that such a person uses the machine.
#
# Latencies of one long stall come together, so the longest of each block (a minute, usually) counts
# once. How many blocks exceed a level follows Poisson, if a stall is shorter than a block: from the
# number M that is expected in all that was measured, the interval of the level is that between the
# order statistics at both ends of Poisson(M) (Coles, "Statistical Modeling of Extreme Values",
# 2001, chapter 3). Where stalls last longer, G blocks above it follow each other on average, and
# the ends are those of G times Poisson(M / G). What lies beyond the measured time is fitted by none
# here; it is refused.
package Tipme::Latency::Worst;

use strict;
use warnings;
use Exporter   qw(import);
use List::Util qw(max min);
use Tipme::Statistics;
use Tipme::Words qw(N__ fill);

our @EXPORT_OK = qw(uses use_of worst together);

# name: factor of compression, hours of use a day, days a week, what it is. The paper's section 3.1:
# its text has 40, 30, 12.5 hours a week, and browsing at 3 to 4 hours on 7 days.
my @USES = (
	[ 'office',      10, 8,   5, N__('office work, driven 10 times as fast as by hand (1999)') ],
	[ 'workstation', 5,  6,   5, N__('engineering, driven 5 times as fast (1999)') ],
	[ 'games',       1,  2.5, 5, N__('games, as they are played (1999)') ],
	[ 'web',         4,  3.5, 7, N__('browsing, 4 times as fast (1999)') ],
	[ 'measured',    1,  24,  7, N__('as it was measured, without a break') ],
);

# uses(): [ { name, factor, hours, days, what } ]
sub uses {
	return
		map { my %u; @u{qw(name factor hours days what)} = @$_; $u{what} = fill($u{what}); \%u }
		@USES;
}

# use_of(TEXT): one by name, or FACTOR,HOURS,DAYS. Dies by a sentence.
sub use_of {
	my ($text)  = @_;
	my ($known) = grep { $_->{name} eq $text } uses();
	return $known if $known;
	my $number = qr/[0-9]{1,6}(?:\.[0-9]{1,6})?/;
	my ($factor, $hours, $days) = $text =~ /\A($number),($number),($number)\z/
		or die "use $text: not known, and not FACTOR,HOURS,DAYS as in 10,8,5: known are "
		. join(', ', map { $_->{name} } uses()) . "\n";
	die "use $text: a factor of 0\n" if $factor <= 0;
	die "use $text: a day has up to 24 hours, and a week up to 7 days\n"
		if $hours <= 0 || $hours > 24 || $days <= 0 || $days > 7;
	return {
		name => $text, factor => $factor + 0, hours => $hours + 0, days => $days + 0,
		what => fill(N__('your own'))
	};
}

# worst(RESULT, STAGE, USE): rows for 'hour', 'day', 'week': { per, use_s (seconds of use in it),
# us, least_us, most_us, needs_s }. us undef: so little was measured that it cannot be told, and
# needs_s is the time that it would take. most_us undef: nothing bounds it, and needs_s likewise.
sub worst {
	my ($result, $stage, $use) = @_;
	my @in_order = $result->block_maxima($stage);
	my @blocks   = sort { $b <=> $a } @in_order;
	my $used_s   = $result->block_s * @blocks * $use->{factor};
	my $day_s    = $use->{hours} * 3600;
	my @per      = ([ hour => 3600 ], [ day => $day_s ], [ week => $day_s * $use->{days} ]);
	return map { _row(@$_, $used_s, $use->{factor}, \@in_order, @blocks) } @per;
}

# How many blocks above LEVEL follow each other on average, where chance alone has one; of their
# sizes as of a geometric distribution (Result's dispersion). Few are above a high level: those
# above the upper quarter are asked, too.
sub _in_a_row {
	my ($level, $in_order, @blocks) = @_;
	return max 1, map {
		my $at    = $_;
		my @above = map  { $_ >= $at ? 1 : 0 } @$in_order;
		my $n     = grep {$_} @above;
		my $runs  = grep { $above[$_] && (!$_ || !$above[ $_ - 1 ]) } 0 .. $#above;
		$n ? 2 * $n * (1 - $n / @above) / $runs - 1 : 1
	} $level, min($level, $blocks[ @blocks / 4 ]);
}

# Order statistics of the longest of each block: the M-th from above is exceeded M times.
sub _row {
	my ($per, $use_s, $used_s, $factor, $in_order, @blocks) = @_;
	my $m   = $used_s / $use_s;
	my %row = (
		per     => $per, use_s => $use_s, us => undef, least_us => undef, most_us => undef,
		needs_s => undef
	);
	if ($m < 1) { $row{needs_s} = $use_s / $factor; return \%row }
	my $at =
		sub { my ($k) = @_; return $k < 1 ? undef : $blocks[ $k > @blocks ? $#blocks : $k - 1 ] };
	$row{us} = $at->(int($m + 0.5));
	my $row = _in_a_row($row{us}, $in_order, @blocks);
	my ($few, $many) = map { $_ * $row } _poisson_range($m / $row);
	$row{least_us} = $at->($many + 1);
	$row{most_us}  = $at->($few);
	# So much is needed for the longest to be exceeded with 97.5 %: exp(-M / G) = 0.025.
	$row{needs_s} = -log(0.025) * $row * $use_s / $factor if !defined $row{most_us};
	return \%row;
}

# (least, most) number that a Poisson variable of this mean has in 95 of 100 cases: outside lie at
# most 2.5 % on each side.
sub _poisson_range {
	my ($m) = @_;
	my $tail = (1 - $Tipme::Statistics::CONFIDENCE) / 2;
	if ($m > 500) { my $half = 1.959964 * sqrt $m; return (int($m - $half), int($m + $half) + 1) }
	my ($p, $sum, $k, $few) = (exp -$m, 0, 0, undef);
	while (1) {
		$sum += $p;
		$few //= $k       if $sum > $tail;
		return ($few, $k) if $sum >= 1 - $tail;
		$p *= $m / ++$k;
	}
	return;
}

# together(RESULT, STAGE): how much latencies come together: how many of those above the 99.9th
# percentile share a block, on average; 1 where they are independent and rare.
sub together {
	my ($result, $stage) = @_;
	my @blocks  = $result->block_maxima($stage);
	my $level   = $result->quantile($stage, 0.999);
	my ($above) = $result->above($stage, $level);
	my $blocks  = grep { $_ >= $level } @blocks;
	return $blocks ? $above / $blocks : undef;
}

1;
