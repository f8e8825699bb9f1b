# SPDX-License-Identifier: GPL-2.0-only
# Pictures of recorded latencies on logarithmic axes: how many were how long, and how often one was
# longer.
package Tipme::Latency::Pictures;

use strict;
use warnings;
use Exporter qw(import);
use POSIX    qw(ceil);
use Tipme::Chart;
use Tipme::Latency::Titles qw(title way);
use Tipme::Words           qw(N__ fill);

our @EXPORT_OK = qw(above histogram names tail);

# Below one latency, on a logarithmic axis.
my $BASE = 0.6;

# names(RESULTS): what each is called in pictures and headings: its file without folder and ending,
# or as it was named where two would be called the same; after its letter, if it has one
sub names {
	my (@results) = @_;
	my @names = map { $_->{file} =~ s{.*/|\.json\z}{}gr } @results;
	my %seen;
	@names = map { $_->{file} } @results if grep { $seen{$_}++ } @names;
	return
		map { (defined $results[$_]{letter} ? "$results[$_]{letter}: " : '') . $names[$_] }
		0 .. $#names;
}

# histogram(STAGE, RESULTS): one curve for each result, on two logarithmic axes, as figure 4 of 1999
sub histogram {
	my ($stage, @results) = @_;
	my @has   = grep { $_->has($stage) } @results;
	my @names = @results > 1 ? names(@has) : title($stage);
	return Tipme::Chart->svg(
		{
			title => fill(N__('How many latencies were how long: {stage}'), stage => title($stage)),
			subtitle => way($stage),
			x        => { label => fill(N__('latency')),   unit  => 'us',  scale => 'log' },
			y        => { label => fill(N__('latencies')), scale => 'log', from  => $BASE },
			series   => [
				map {
					{ name => $names[$_], kind => 'step', points => [ _outline($has[$_], $stage) ] }
				} 0 .. $#has
			],
			limits => [ { axis => 'x', at => 1000, label => '1 ms' } ]
		}
	);
}

# Around the counts by quarters of a doubling: down to the base where there were none.
sub _outline {
	my ($r, $stage) = @_;
	my ($end, @points);
	for my $bin ($r->doublings($stage, 4)) {
		my ($from, $count) = ($bin->[0] || 0.5, $bin->[1]);
		if (!defined $end || $from > $end * (1 + 1e-9)) {
			push @points, [ $end, $BASE ], [ $end, undef ] if defined $end;
			push @points, [ $from, $BASE ];
		}
		push @points, [ $from, $count ];
		$end = _quarter_end($from);
	}
	return (@points, [ $end, $BASE ]);
}

# Where the next quarter begins that can have any. Latencies are counted by whole microseconds, and
# below 4 us some quarters hold none.
sub _quarter_end {
	my ($from) = @_;
	return 1 if $from < 1;
	my $n   = 1 + sprintf '%.0f', 4 * log($from) / log 2;
	my $end = sub { return 2**(($n + $_[0]) / 4) };
	$n++ while ceil($end->(0) - 1e-9) >= $end->(1) - 1e-9;
	return $end->(0);
}

# above(RESULT, STAGE): [ [ us, how many an hour were longer ] ], by quarters of a doubling, as far
# as there are any
sub above {
	my ($r, $stage) = @_;
	my $hours = $r->watched_s($stage) / 3600;
	return grep { $_->[1] }
		map { [ $_, ($r->above($stage, $_))[0] / $hours ] } map { 2**($_ / 4) } 0 .. 96;
}

# tail(STAGE, WORDS or undef, RESULTS): such rates, as a stair from the first to the longest, one
# curve for each result, as figure 5 of 1999
sub tail {
	my ($stage, $words, @results) = @_;
	my @has   = grep { $_->has($stage) } @results;
	my @names = names(@has);
	return Tipme::Chart->svg(
		{
			title => fill(N__('How often a latency was longer: {stage}'), stage => title($stage)),
			subtitle => $words // way($stage),
			x        => { label => fill(N__('longer than')), unit => 'us', scale => 'log' },
			y        => { label => fill(N__('an hour, on one CPU')), scale => 'log' },
			series   => [
				map {
					my $r = $has[$_];
					{
						name   => $names[$_], kind => 'step',
						points => [ above($r, $stage), [ $r->max_us($stage), undef ] ]
					}
				} 0 .. $#has
			]
		}
	);
}

1;
