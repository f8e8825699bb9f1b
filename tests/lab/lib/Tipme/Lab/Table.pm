# SPDX-License-Identifier: GPL-2.0-only
# Results of the laboratory as lines of a table.
package Tipme::Lab::Table;
use strict;
use warnings;

my @COLUMNS = (
	[ cause => -13 ], [ client => -9 ], [ length  => 8 ], [ named  => -34 ], [ interval => 10 ],
	[ share => 7 ],   [ sure   => 5 ],  [ verdict => 8 ], [ result => 0 ]
);

sub _row {
	my (@cells) = @_;
	my $line = join '  ',
		map { my $w = $COLUMNS[$_][1]; $w ? sprintf("%${w}s", $cells[$_]) : $cells[$_] }
		0 .. $#COLUMNS;
	return $line =~ s/\s+\z//r . "\n";
}

sub head {
	return _row('cause', 'client', 'length', 'said', 'interval', 'share', 'sure', 'verdict', '')
		. _row('', '', 'ms', '', 'error ms', 'error', '%', 'after s', '');
}

# line(RESULT): one run
sub line {
	my ($r) = @_;
	return _row($r->{cause}, '', '', '', '', '', '', '', "skipped: $r->{skipped}") if $r->{skipped};
	return _row($r->{cause}, $r->{client} // '', '', '', '', '', '', '', "failed: $r->{failed}")
		if $r->{failed};
	my $i = $r->{truth}{interval};
	return _row(
		$r->{cause},                                            "$r->{client} $r->{event}",
		sprintf('%.0f', ($i->{end_ns} - $i->{start_ns}) / 1e6), $r->{named} // 'nothing',
		defined $r->{interval_error_ns}   ? sprintf('%.1f', $r->{interval_error_ns} / 1e6)   : '-',
		defined $r->{share_error}         ? sprintf('%.1f', $r->{share_error})               : '-',
		defined $r->{verdict}{confidence} ? sprintf('%.0f', 100 * $r->{verdict}{confidence}) : '-',
		sprintf('%.1f', $r->{seconds_to_verdict}),
		(
			$r->{right}
			? 'right' . ($r->{below_notice} ? ', too short to be noticed' : '')
			: "MISS, seed $r->{seed}: $r->{why}"
			)
			. _remarks($r)
	);
}

# What is off although the culprit is named.
sub _remarks {
	my ($r) = @_;
	my @off;
	push @off, 'interval off' if ($r->{interval_error_ns} // 0) > 5_000_000;
	push @off, 'share off'    if ($r->{share_error}       // 0) > 5;
	return @off
		? ' ('
		. join(', ', @off, sprintf '%.0f ms waited for a CPU', $r->{truth}{waited_for_cpu_ns} / 1e6)
		. ')'
		: '';
}

# summary(RESULTS)
sub summary {
	my (@r)   = @_;
	my @ran   = grep { !$_->{skipped} } @r;
	my $n     = @ran || 1;
	my $count = sub {
		my ($is) = @_;
		return scalar grep { $is->($_) } @ran;
	};
	my $right = $count->(sub { $_[0]{right} });
	my $near =
		$count->(sub { defined $_[0]{interval_error_ns} && $_[0]{interval_error_ns} <= 5_000_000 });
	my $share   = $count->(sub { defined $_[0]{share_error} && $_[0]{share_error} <= 5 });
	my $skipped = grep { $_->{skipped} } @r;
	my $fast    = $count->(sub { $_[0]{right} && $_[0]{below_notice} });
	return
		  sprintf "%d runs: culprit named in %d "
		. "(%d of them in the sums of a verdict `none`: too short to be noticed), interval "
		. "within 5 ms in %d, share within 5 points in %d; %d skipped\n",
		scalar @ran, $right, $fast, $near, $share, $skipped;
}

# What a verdict says of itself: that it does not know; that it is likely; else how much rests on
# exact records.
my @CLASSES = (
	[ unknown => '"not known"' ],                           [ likely => '"most likely"' ],
	[ sure    => 'sure (90 % and more on exact records)' ], [ mostly => 'mostly sure' ]
);

sub _class {
	my ($v) = @_;
	return
		  $v->{kind} eq 'unknown' ? 'unknown'
		: $v->{likely}            ? 'likely'
		: $v->{confidence} >= 0.9 ? 'sure'
		:                           'mostly';
}

# calibration(RESULTS): how often each of these was right
sub calibration {
	my (@r) = grep { $_->{verdict} && defined $_->{verdict}{confidence} } @_;
	my $text = '';
	for my $class (@CLASSES) {
		my @of    = grep { _class($_->{verdict}) eq $class->[0] } @r;
		my $right = grep { $_->{right} } @of;
		$text .= sprintf "%-38s %4d runs, %4d right%s\n", $class->[1], scalar @of, $right,
			@of ? sprintf(' (%.0f %%)', 100 * $right / @of) : '';
	}
	return $text;
}

1;
