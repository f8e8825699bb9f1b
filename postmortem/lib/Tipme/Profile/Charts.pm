# SPDX-License-Identifier: GPL-2.0-only
# The views of a profile as charts. Each gives [ name of the file, CHART for Tipme::Chart ].
package Tipme::Profile::Charts;

use strict;
use warnings;
use Exporter              qw(import);
use List::Util            qw(max);
use Tipme::Profile::Views qw(over_time histogram cumulative limits moments);

our @EXPORT_OK = qw(charts);

# charts(PROFILE, KIND): those of one kind of input that have something to show.
sub charts {
	my ($p, $kind) = @_;
	my @pairs = grep { $_->{answered} } $p->pairs_of($kind);
	return () if !@pairs;
	# More series than a person tells apart are one.
	my @named =
		@pairs <= 6
		? map { [ $_->{app}, $_->{stage}{response} ] } @pairs
		: [ 'all applications', $p->counts('response', $kind) ];
	return (
		_time($p, $kind),          _histogram($kind, @named), _cumulative($kind, @named),
		_by_events($kind, @named), _stages($kind, @pairs)
	);
}

sub _range {
	my ($axis, $kind) = @_;
	my ($from, $to, $what) = limits($kind);
	return {
		axis  => $axis, from => $from, to => $to,
		label => "where $what begin to irritate, $from to $to ms (TIPME, 2000)"
	};
}

# Without the times of keys a bar is a minute: its longest answer, and the mean.
sub _time {
	my ($p, $kind) = @_;
	my @time  = grep { $_->{answered} } over_time($p, $kind);
	my $width = $p->{minutes_of_row} * 60;
	my @mean =
		map { [ $_->{minute} * 60 + $width / 2, $_->{sum_ns} / $_->{answered} / 1e6 ] } @time;
	my @max = map { [ $_->{minute} * 60, $_->{minute} * 60 + $width, $_->{max_ns} / 1e6 ] } @time;
	return [
		"$kind-time",
		{
			title    => "Latency over time: $kind",
			subtitle => 'the longest answer of each '
				. ($p->{minutes_of_row} == 1 ? 'minute' : "$p->{minutes_of_row} minutes")
				. ', and the mean',
			x => {
				label => 'time since the beginning', scale => 'time', from => 0,
				to    => max($p->{duration_ns} / 1e9, $width)
			},
			y      => { label => 'latency', unit => 'ms' },
			series => [
				{ name => 'longest', kind => 'bars',   points => \@max },
				{ name => 'mean',    kind => 'points', points => \@mean }
			],
			ranges => [ _range('y', $kind) ]
		}
	];
}

sub _histogram {
	my ($kind, @named) = @_;
	return [
		"$kind-histogram",
		{
			title  => "How many answers took how long: $kind",
			x      => { label => 'latency', unit  => 'ms',  scale => 'log' },
			y      => { label => 'events',  scale => 'log', from  => 0.7 },
			series => [
				map { { name => $_->[0], kind => 'bars', points => [ histogram($_->[1]) ] } }
					@named
			],
			ranges => [ _range('x', $kind) ]
		}
	];
}

sub _cumulative {
	my ($kind, @named) = @_;
	return [
		"$kind-cumulative",
		{
			title    => "Which latencies the time went into: $kind",
			subtitle => 'all answers that took at most so long, together',
			x        => { label => 'latency', unit => 'ms', scale => 'log' },
			y        => { label => 'cumulative latency', unit => 's' },
			series   => [
				map {
					{ name => $_->[0], kind => 'step', points =>
							[ map { [ $_->{us} / 1000, $_->{ns} / 1e9 ] } cumulative($_->[1]) ] }
				} @named
			],
			ranges => [ _range('x', $kind) ]
		}
	];
}

sub _by_events {
	my ($kind, @named) = @_;
	return [
		"$kind-events",
		{
			title => "Cumulative latency by number of events: $kind", subtitle =>
				'shortest first: a straight line is even, a bend at the end is a few long ones',
			x      => { label => 'events', from => 0 },
			y      => { label => 'cumulative latency', unit => 's', from => 0 },
			series => [
				map {
					{
						name   => $_->[0],
						points => [
							[ 0, 0 ], map { [ $_->{events}, $_->{ns} / 1e9 ] } cumulative($_->[1])
						]
					}
				} @named
			]
		}
	];
}

sub _stages {
	my ($kind, @pairs) = @_;
	my @stages = (
		[ read  => 'until the server worked on it' ],    [ sent     => 'until it was sent' ],
		[ drawn => 'until the screen began to change' ], [ finished => 'until it had changed' ]
	);
	return [
		"$kind-stages",
		{
			title => "Mean time of each stage: $kind",
			x     =>
				{ label => 'application', scale => 'names', names => [ map { $_->{app} } @pairs ] },
			y      => { label => 'time', unit => 'ms' },
			series => [
				map {
					my $s = $_;
					{
						name   => $s->[1],
						kind   => 'bars',
						points => [
							map {
								[
									$_,
									$pairs[$_]{stage}{ $s->[0] }->sum_ns
										/ $pairs[$_]{answered} / 1e6
								]
							} 0 .. $#pairs
						]
					}
				} @stages
			]
		}
	];
}

1;
