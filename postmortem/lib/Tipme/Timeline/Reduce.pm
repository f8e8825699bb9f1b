# SPDX-License-Identifier: GPL-2.0-only
# Before drawing: at most one span for each pixel column of a lane, and the worst of those that
# share a column wins.
package Tipme::Timeline::Reduce;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(reduce_spans reduce_marks);

# reduce_spans(SCALE, SPANS, RANK): SPANS are [ from, to, key ]; RANK->(key) says how bad a key is.
# Answers runs [ column, column, key ], half-open, in order. Of equally bad ones the one that fills
# most of the column wins.
sub reduce_spans {
	my ($scale, $spans, $rank) = @_;
	my (@best,  %rank);
	my ($begin, $end) = ($scale->from, $scale->to);
	# The column of the time before, and from when to when it lasts: the next one is mostly there.
	my ($column, $since, $until) = (0, 0, 0);
	my $column_of = sub {
		my ($t) = @_;
		$column = $scale->column($t);
		($since, $until) = ($scale->begin($column), $scale->begin($column + 1));
		return $column;
	};
	for my $s (@$spans) {
		my ($from, $to, $key) = @$s;
		next if $to <= $begin || $from >= $end || $to <= $from;
		my $bad   = $rank{$key} //= $rank->($key);
		my $first = $from >= $since && $from < $until   ? $column : $column_of->($from);
		my $last  = $to > $since    && $to - 1 < $until ? $column : $column_of->($to - 1);
		for my $c ($first .. $last) {
			my $fill = $c > $first && $c < $last ? 1e18 : $to - $from;
			my $b    = $best[$c];
			$best[$c] = [ $bad, $fill, $key ]
				if !$b || $bad > $b->[0] || $bad == $b->[0] && $fill > $b->[1];
		}
	}
	my @runs;
	for my $c (0 .. $#best) {
		my $b = $best[$c] or next;
		if (@runs && $runs[-1][1] == $c && $runs[-1][2] eq $b->[2]) { $runs[-1][1] = $c + 1 }
		else { push @runs, [ $c, $c + 1, $b->[2] ] }
	}
	return \@runs;
}

# reduce_marks(SCALE, MARKS, GAP): MARKS are [ ts, kind, text ]; of a kind, none within GAP pixels
# of the one before.
sub reduce_marks {
	my ($scale, $marks, $gap) = @_;
	my (%last, @kept);
	for my $m (@$marks) {
		next if !$scale->holds($m->[0]);
		my $x = $scale->x($m->[0]);
		next if defined $last{ $m->[1] } && $x - $last{ $m->[1] } < $gap;
		$last{ $m->[1] } = $x;
		push @kept, $m;
	}
	return \@kept;
}

1;
