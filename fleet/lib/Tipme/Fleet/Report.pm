# SPDX-License-Identifier: GPL-2.0-only
# `tipme fleet report`: one page that needs nothing but itself.
package Tipme::Fleet::Report;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Chart;
use Tipme::CommandLine qw(with_commas);
use Tipme::Fleet::Database;
use Tipme::Fleet::Questions qw(top trend clusters totals);
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
	push @parts, [ 'Where they waited', _table('application', top($db, %o, by => 'application')) ];
	my $trend = trend($db, %o);
	push @parts, [ 'By week', Tipme::Page::picture(_chart($trend->{weeks})) ]
		if @{ $trend->{weeks} };

	for my $by (qw(kernel version)) {
		my $of = trend($db, %o, by => $by)->{values};
		push @parts, [ "By $by", _values($by, $of) ] if @$of;
	}
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
	return Tipme::Page::table(
		[ $what, 'lags', 'machines', 'waited' ],
		map {
			[
				length $_->{name}      ? $_->{name} : '(not known)',        with_commas($_->{lags}),
				defined $_->{machines} ? with_commas($_->{machines}) : '-', waited($_->{waited_ns})
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

sub _clusters {
	my ($rows) = @_;
	return Tipme::Page::table(
		[ 'signature', 'kind', 'culprit', 'function', 'stage', 'lags', 'waited' ],
		map {
			[ @$_{qw(signature kind culprit function stage)}, with_commas($_->{lags}),
				waited($_->{waited_ns}) ]
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
