# SPDX-License-Identifier: GPL-2.0-only
# `tipme fleet report`: one page that needs nothing but itself.
package Tipme::Fleet::Report;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Chart;
use Tipme::CommandLine qw(with_commas);
use Tipme::Fleet::Database;
use Tipme::Fleet::Questions qw(counted_top counted_trend top trend clusters totals);
use Tipme::Page;
use Tipme::Verdict qw(duration_text);

our @EXPORT_OK = qw(page);

# page(DATABASE, weeks => N): HTML as bytes
sub page {
	my ($db, %o) = @_;
	my $all   = totals($db, %o);
	my $weeks = $o{weeks} ? "the last $o{weeks} weeks" : 'all weeks';
	my @parts = (
		[
			'',
			'<h1>Where people waited</h1><p>' . Tipme::Page::text(_in_short($all, $weeks)) . '</p>'
		]
	);
	push @parts,
		[ 'Who costs people most waiting', _table('culprit', top($db, %o, by => 'culprit')) ];
	push @parts,
		[ 'Where they waited', _table('application', counted_top($db, %o, by => 'application')) ];
	my $trend = trend($db, %o);
	push @parts, [ 'By week', Tipme::Page::picture(_chart($trend->{weeks})) ]
		if @{ $trend->{weeks} };

	for my $by (qw(kernel version)) {
		my $of = trend($db, %o, by => $by)->{values};
		push @parts, [ "By $by", _values($by, $of) ] if @$of;
	}
	push @parts, _counted_parts($db, %o);
	push @parts, [ 'What looks alike', _clusters(clusters($db, %o)) ];
	return Tipme::Page::page('Fleet: where people waited', @parts);
}

sub _in_short {
	my ($all, $weeks) = @_;
	return "Nothing was sent in $weeks." if !$all->{lags};
	return
		  with_commas($all->{lags})
		. " lags in $weeks; people waited "
		. waited($all->{waited_ns})
		. ' for them.';
}

sub _table {
	my ($what, $rows) = @_;
	my $counted = grep { $_->{counted} } @$rows;
	return Tipme::Page::table(
		[ $what, 'lags', 'machines', 'waited', $counted ? ('answers', 'late of 1,000') : () ],
		map {
			[
				length $_->{name}      ? $_->{name} : '(not known)',        with_commas($_->{lags}),
				defined $_->{machines} ? with_commas($_->{machines}) : '-', waited($_->{waited_ns}),
				$counted               ? counted($_->{counted})      : ()
			]
		} @$rows
	);
}

sub _values {
	my ($what, $rows) = @_;
	my $per = "lags in $Tipme::Fleet::Questions::PER_HOURS h";
	return Tipme::Page::table(
		[ $what, 'lags', 'hours recorded', $per, '95 %', 'to the one before', '95 %' ],
		map {
			[
				length $_->{name} ? $_->{name} : '(not known)', with_commas($_->{lags}),
				with_commas(int $_->{hours}),
				number($_->{rate}), between($_->{low}, $_->{high}), number($_->{ratio}),
				between(@$_{qw(ratio_low ratio_high)})
			]
		} @$rows
	);
}

# What profiles have counted, if any was sent.
sub _counted_parts {
	my ($db, %o) = @_;
	my @parts;
	my $weeks = counted_trend($db, %o)->{weeks};
	push @parts, [ 'Answers that profiles counted', Tipme::Page::picture(_counted_chart($weeks)) ]
		if @$weeks;
	for my $by (qw(kernel version)) {
		my $of = counted_trend($db, %o, by => $by)->{values};
		push @parts, [ "Late answers by $by", _counted_values($by, $of) ] if @$of;
	}
	return @parts;
}

sub _counted_values {
	my ($what, $rows) = @_;
	return Tipme::Page::table(
		[ $what, 'answers', 'late of 1,000', '95 %', 'to the one before', '95 %' ],
		map {
			[
				length $_->{name} ? $_->{name} : '(not known)', counted($_),
				between($_->{low}, $_->{high}),                 number($_->{ratio}),
				between(@$_{qw(ratio_low ratio_high)})
			]
		} @$rows
	);
}

# counted(COUNTS): (answers, late ones of 1,000) as text; "-" where no profile has counted
sub counted {
	my ($c) = @_;
	return ('-', '-') if !$c || !$c->{answers};
	return (
		with_commas($c->{answers}),
		number($c->{late} * $Tipme::Fleet::Questions::OF_ANSWERS / $c->{answers})
	);
}

sub _counted_chart {
	my ($weeks) = @_;
	my %of = map { $_->{week} => $_ } @$weeks;
	my ($first, $last) = @$weeks[ 0, -1 ];
	my @shown = map  { $of{$_} } $first->{week} .. $last->{week};
	my @known = grep { $shown[$_] && defined $shown[$_]{share} } 0 .. $#shown;
	return Tipme::Chart->svg(
		{
			title => 'Late ones of 1,000 answers',
			x     => {
				label => 'week of', scale => 'names',
				names => [
					map { Tipme::Fleet::Database::week_text($_) } $first->{week} .. $last->{week}
				]
			},
			y      => { label => 'late', from => 0 },
			series => [
				{
					name     => 'late', kind => 'bars',
					points   => [ map { [ $_, $shown[$_]{share} ] } @known ],
					whiskers => [ map { [ $_, @{ $shown[$_] }{qw(low high)} ] } @known ]
				}
			],
			note =>
				'Late: after more than 150 ms, of motion 75 ms. The line on each bar is its 95 % '
				. 'interval.',
		}
	);
}

sub _clusters {
	my ($rows) = @_;
	return Tipme::Page::table(
		[ 'signature', 'kind', 'culprit', 'function', 'stage', 'lags', 'waited' ],
		map {
			[
				@$_{qw(signature kind culprit function stage)}, with_commas($_->{lags}),
				waited($_->{waited_ns})
			]
		} @$rows
	);
}

# number(N): three digits; "-" where it is not known
sub number { my ($n) = @_; return defined $n ? sprintf '%.3g', $n : '-' }

# between(LOW, HIGH): "0.2 to 0.9"
sub between {
	my ($low, $high) = @_;
	return '-' if !defined $low;
	return number($low) . ' to ' . (defined $high ? number($high) : 'any');
}

# waited(NS): "3.2 h", "12 min", and below a minute as everywhere
sub waited {
	my ($ns) = @_;
	return sprintf '%.1f h',   $ns / 3.6e12 if $ns >= 3.6e12;
	return sprintf '%.0f min', $ns / 6e10   if $ns >= 6e10;
	return duration_text($ns);
}

# Lags in so many hours, with their interval; where no hours are known, lags. One bar a week.
sub _chart {
	my ($weeks) = @_;
	my %of = map { $_->{week} => $_ } @$weeks;
	my ($first, $last) = @$weeks[ 0, -1 ];
	my @shown = map  { $of{$_} // { lags => 0 } } $first->{week} .. $last->{week};
	my @names = map  { Tipme::Fleet::Database::week_text($_) } $first->{week} .. $last->{week};
	my $rated = grep { defined $_->{rate} } @shown;
	my $value = $rated ? 'rate' : 'lags';
	my @known = grep { defined $shown[$_]{$value} } 0 .. $#shown;
	my $per   = $Tipme::Fleet::Questions::PER_HOURS;
	my %series =
		(name => 'lags', kind => 'bars', points => [ map { [ $_, $shown[$_]{$value} ] } @known ]);
	$series{whiskers} = [ map { [ $_, @{ $shown[$_] }{qw(low high)} ] } @known ] if $rated;
	return Tipme::Chart->svg(
		{
			title  => $rated ? "Lags in $per hours of recording" : 'Lags a week',
			x      => { label => 'week of', scale => 'names', names => \@names },
			y      => { label => 'lags',    from  => 0 },
			series => [ \%series ],
			note   => $rated
			? 'The line on each bar is its 95 % interval.'
			: 'No machine has told for how many hours it recorded.',
		}
	);
}

1;
