# SPDX-License-Identifier: GPL-2.0-only
# Distributions of latencies, as pairs of a lower bound in microseconds and a count: ours,
# cyclictest's, and whether two of the same seconds agree.
package Tipme::Distribution;
use strict;
use warnings;
use Exporter   qw(import);
use List::Util qw(sum);
use Test::More;

our @EXPORT_OK = qw(of_stage of_cyclictest of_rtla total alike);

# Below this two distributions may differ by as much as each likes: it is the cost of a switch of
# threads, more or less.
use constant FINE_US => 25;

# Of a result of tipme latency.
sub of_stage {
	my ($r, $cpu, $stage) = @_;
	return [
		map  { @{ $_->{buckets} } }
		grep { $_->{cpu} == $cpu && $_->{stage} eq $stage } @{ $r->{stages} }
	];
}

# Of the histogram that cyclictest -h prints: a line for each microsecond, with a column for each of
# its threads.
sub of_cyclictest {
	my ($text, $thread) = @_;
	return [
		map {
			[ map { $_ + 0 } (split)[ 0, 1 + $thread ] ]
		} grep {/^\d/} split /\n/,
		$text
	];
}

# A column of rtla's table, as Thr-001; what is beyond its last bucket counts there.
sub of_rtla {
	my ($table, $column) = @_;
	my ($head)  = $table =~ /^(Index.*)$/m or return [];
	my @columns = split ' ', $head;
	my ($i)     = grep { $columns[$_] eq $column } 0 .. $#columns or return [];
	my @rows    = map {
		[ map { $_ + 0 } (split)[ 0, $i ] ]
	} $table =~ /^\d.*$/mg;
	my ($over) = $table =~ /^over:(.*)$/m ? (split ' ', $1)[ $i - 1 ] : 0;
	push @rows, [ $rows[-1][0] + 1, $over ] if @rows && $over;
	return \@rows;
}

sub total {
	my ($d) = @_;
	return sum(0, map { $_->[1] } @$d);
}

# The bound of the bucket in which this part of all has been reached.
sub _quantile {
	my ($d, $part) = @_;
	my $left = $part * total($d);
	for (sort { $a->[0] <=> $b->[0] } @$d) {
		return $_->[0] if ($left -= $_->[1]) <= 0;
	}
	return 0;
}

# Tells both, and tests that neither their middles nor their late ends are far apart. Not more: who
# is woken first of two makes the other late.
sub alike {
	my ($what, $ours, $theirs, $who) = @_;
	my ($o, $t) = map {
		my $d = $_;
		[ map { _quantile($d, $_) } 0.25, 0.5, 0.75, 0.95 ]
	} $ours, $theirs;
	diag "$what, quartiles and 95th percentile: ours @$o us, $who @$t us";
	for ([ 1, 'medians' ], [ 3, '95th percentiles' ]) {
		my ($i, $name) = @$_;
		ok(
			$o->[$i] < 4 * ($t->[$i] + FINE_US) && $t->[$i] < 4 * ($o->[$i] + FINE_US),
			"$what: the $name are of the same order, ours and ${who}'s"
		);
	}
	return;
}

1;
