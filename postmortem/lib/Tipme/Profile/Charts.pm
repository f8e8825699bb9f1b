# SPDX-License-Identifier: GPL-2.0-only
# The views of a profile as charts. Each gives [ name of the file, CHART for Tipme::Chart ].
package Tipme::Profile::Charts;

use strict;
use warnings;
use Exporter               qw(import);
use List::Util             qw(max);
use Tipme::Profile::Inputs qw(input_words limit_words);
use Tipme::Profile::Views  qw(over_time histogram cumulative limits moments);
use Tipme::Words           qw(N__ fill);

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
		: [ fill(N__('all applications')), $p->counts('response', $kind) ];
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
		label => limit_words($from, $to, $what)
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
			title    => fill(N__('Latency over time: {input}'), input => input_words($kind)),
			subtitle => $p->{minutes_of_row} == 1
			? fill(N__('the longest answer of each minute, and the mean'))
			: fill(
				N__('the longest answer of each {n} minutes, and the mean'),
				n => $p->{minutes_of_row}
			),
			x => {
				label => fill(N__('time since the beginning')), scale => 'time', from => 0,
				to    => max($p->{duration_ns} / 1e9, $width)
			},
			y      => { label => fill(N__('latency')), unit => 'ms' },
			series => [
				{ name => fill(N__('longest')), kind => 'bars',   points => \@max },
				{ name => fill(N__('mean')),    kind => 'points', points => \@mean }
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
			title =>
				fill(N__('How many answers took how long: {input}'), input => input_words($kind)),
			x      => { label => fill(N__('latency')), unit  => 'ms',  scale => 'log' },
			y      => { label => fill(N__('events')),  scale => 'log', from  => 0.7 },
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
			title => fill(
				N__('Which latencies the time went into: {input}'), input => input_words($kind)
			),
			subtitle => fill(N__('all answers that took at most so long, together')),
			x        => { label => fill(N__('latency')), unit => 'ms', scale => 'log' },
			y        => { label => fill(N__('cumulative latency')), unit => 's' },
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
			title => fill(
				N__('Cumulative latency by number of events: {input}'),
				input => input_words($kind)
			),
			subtitle => fill(
				N__(
					'shortest first: a straight line is even, a bend at the end is a few long ones')
			),
			x      => { label => fill(N__('events')), from => 0 },
			y      => { label => fill(N__('cumulative latency')), unit => 's', from => 0 },
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
		[ read     => N__('until the server worked on it') ],
		[ sent     => N__('until it was sent') ],
		[ drawn    => N__('until the screen began to change') ],
		[ finished => N__('until it had changed') ]
	);
	return [
		"$kind-stages",
		{
			title => fill(N__('Mean time of each stage: {input}'), input => input_words($kind)),
			x     => {
				label => fill(N__('application')),
				scale => 'names', names => [ map { $_->{app} } @pairs ]
			},
			y      => { label => fill(N__('time')), unit => 'ms' },
			series => [
				map {
					my $s = $_;
					{
						name   => fill($s->[1]),
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
