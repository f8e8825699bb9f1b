# SPDX-License-Identifier: GPL-2.0-only
# What a recording of latencies says, as data, as text, as a page: percentiles with
# intervals, the worst of an hour, a day, a week, histograms, causes.
package Tipme::Latency::Report;

use strict;
use warnings;
use Exporter                 qw(import);
use Tipme::CommandLine       qw(seconds table with_commas);
use Tipme::Latency::CallTree qw(tree lines flame);
use Tipme::Latency::Extremes qw(fit level);
use Tipme::Latency::Marks;
use Tipme::Latency::Pictures qw(above histogram names tail);
use Tipme::Latency::Tails    qw(holds says tails worst_level);
use Tipme::Latency::Titles   qw(title);
use Tipme::Latency::Underrun;
use Tipme::Latency::Worst qw(worst together);
use Tipme::Page;
use Tipme::Printable  qw(one_line);
use Tipme::Statistics qw(quantile_ranks);
use Tipme::Words      qw(N__ fill);

our @EXPORT_OK = qw(data text page both);
my @PERCENTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999);
# Places and lines of the call tree that are shown.
my ($PLACES, $LEAST_SHARE) = (12, 0.02);

sub _us { my ($us) = @_; return defined $us ? seconds($us / 1e6) : '-' }

# data(RESULT, USE): all of it as plain data: { file, kernel, source, facts, stages => [ { stage,
# count, mean_us, max_us, percentiles => [ { p, us, least_us, most_us } ], worst => [ rows of Worst
# ], together, histogram => [ [ from us, count ] ], above => [ [ us, an hour ] ], blocks => [
# longest us ] } ], block_s, places }
sub data {
	my ($r, $use) = @_;
	my @stages = map { _stage($r, $_, $use) } $r->stages;
	my ($whole) = grep { $_->{stage} eq $r->default_stage } @stages;
	$whole->{fit} = _beyond($r, $whole);
	return {
		file => $r->{file}, kernel => $r->{kernel}, source => $r->{source}, facts => $r->{facts},
		complete    => $r->{complete},
		duration_s  => $r->{duration_s},  period_us    => $r->{period_us}, use => $use,
		stages      => \@stages,          places       => [ $r->places ],
		causes_seen => $r->{causes_seen}, samples_seen => $r->{samples_seen},
		block_s     => $r->block_s
	};
}

sub _stage {
	my ($r, $stage, $use) = @_;
	my $n = $r->count($stage);
	my @p = map {
		my $p = $_;
		my ($low, $high) = quantile_ranks($n, $p);
		{
			p => $p, us => $n * (1 - $p) >= 1 ? $r->quantile($stage, $p) : undef,
			map { $_->[0] => defined $_->[1] ? $r->rank($stage, $_->[1]) : undef }
				[ least_us => $low ], [ most_us => $high ]
		}
	} @PERCENTILES;
	return {
		stage     => $stage,                      title  => title($stage),      count       => $n,
		mean_us   => $r->mean_us($stage),         max_us => $r->max_us($stage), percentiles => \@p,
		worst     => [ worst($r, $stage, $use) ], together => together($r, $stage),
		histogram => [ _bins($r, $stage) ],       above    => [ above($r, $stage) ],
		blocks    => [ $r->block_maxima($stage) ]
	};
}

# What lies beyond the measured time, by a fit to the longest of the blocks; each row of `worst`
# that is refused gets `fitted`. Unit of the fit: us, blocks.
sub _beyond {
	my ($r, $s) = @_;
	my $f = fit(@{ $s->{blocks} });
	for my $w (grep { !defined $_->{us} } @{ $s->{worst} }) {
		last if $f->{refused};
		my $l = level($f, $w->{needs_s} / $r->block_s);
		if   ($l->{refused}) { $w->{fit_needs_s} = $l->{needs} * $r->block_s }
		else                 { $w->{fitted}      = $l }
	}
	return {
		$f->{needs} ? (needs_s => $f->{needs} * $r->block_s) : (),
		map { defined $f->{$_} ? ($_ => $f->{$_}) : () }
			qw(refused blocks joined place scale shape)
	};
}

# --- text ---

# text(DATA, RESULT): for a terminal, in 100 columns
sub text {
	my ($d, $r) = @_;
	my @out = (_head($d), '', _table_of_stages($d), '');
	push @out, _not_measured($d);
	push @out, fill(N__('95 % intervals of the percentiles')), '', _percentiles($d), '',
		_worst_words($d), '',
		_worst_table($d), _fit_words($d), '', _stars($r);
	push @out, _causes($d, $r) if $d->{causes_seen};
	return join '', map { /\n\z/ ? $_ : "$_\n" } @out;
}

sub _not_measured {
	my ($d) = @_;
	my %has = map { $_->{stage} => 1 } @{ $d->{stages} };
	return () if $has{high} || $d->{source} !~ /\A(?:user|tracing)\z/;
	return fill(N__('not measured without tipme.ko: kernel threads')) . "\n" if $has{irq};
	return fill(
		N__(
			"not measured without tipme.ko: interrupt, deferred work, kernel threads; as root the "
				. "first two\nare by tracing programs (--source tracing)"
		)
	) . "\n";
}

sub _head {
	my ($d) = @_;
	my %is = (
		kernel => $d->{kernel}, source => $d->{source}, us => int $d->{period_us},
		time   => seconds($d->{duration_s})
	);
	# What another program has measured does not say of which kernel.
	my $said =
		length $d->{kernel}
		? fill(N__('kernel {kernel}, source {source}, timer every {us} us, {time}'), %is)
		: fill(N__('source {source}, timer every {us} us, {time}'),                  %is);
	$said .= fill(N__('; it was not complete')) if !$d->{complete};
	return one_line($said);
}

sub _table_of_stages {
	my ($d) = @_;
	return table(
		[
			[ 'us', fill(N__('count')), fill(N__('mean')), '99 %', '99.9 %', fill(N__('max')) ],
			map {
				my $s = $_;
				[
					$s->{title}, $s->{count}, sprintf('%.1f', $s->{mean_us}),
					(map { defined $_->{us} ? $_->{us} : '-' } @{ $s->{percentiles} }[ 2, 3 ]),
					sprintf '%.1f', $s->{max_us}
				]
			} @{ $d->{stages} }
		],
		'lrrrrr'
	);
}

sub _percentile_name { my ($p) = @_; return 100 * $p . ' %' }

sub _percentiles {
	my ($d) = @_;
	return table([ _interval_rows($d) ], 'l' . 'r' x @PERCENTILES);
}

# Percentiles with intervals, in us; the first row is the heads.
sub _interval_rows {
	my ($d) = @_;
	return (
		[ 'us', map { _percentile_name($_) } @PERCENTILES ],
		map {
			my $s = $_;
			[
				$s->{title},
				map {
						 !defined $_->{us} ? '-'
						: defined $_->{least_us} && defined $_->{most_us}
						? "$_->{least_us}" . fill(N__(' to {most}'), most => $_->{most_us})
						: "$_->{us}"
				} @{ $s->{percentiles} }
			]
		} @{ $d->{stages} }
	);
}

sub _worst_words {
	my ($d) = @_;
	my $u = $d->{use};
	return fill(
		N__('exceeded once in an hour, a day of {hours} h, a week of {days} days: {what}'),
		hours => 0 + $u->{hours}, days => 0 + $u->{days}, what => $u->{what}
	);
}

sub _worst_table {
	my ($d) = @_;
	return table(
		[
			[
				'', fill(N__('an hour')), '95 %', fill(N__('a day')), '95 %', fill(N__('a week')),
				'95 %'
			],
			map {
				my $s = $_;
				[ $s->{title}, map { _worst_cells($_) } @{ $s->{worst} } ]
			} @{ $d->{stages} }
		],
		'lrlrlrl'
	);
}

# Under the table: what ~ means, or why nothing is told beyond the measured time.
sub _fit_words {
	my ($d) = @_;
	my ($s) = grep { $_->{fit} } @{ $d->{stages} } or return ();
	my $f   = $s->{fit};
	return () if !grep { !defined $_->{us} } @{ $s->{worst} };
	return fill(
		N__('{stage}, beyond what was measured: no fit, {why}'),
		stage => $s->{title}, why => fill($f->{refused})
		)
		. ($f->{needs_s} ? fill(N__(': it takes {time}'), time => seconds($f->{needs_s})) : '')
		if $f->{refused};
	my ($far) = grep {$_} map { $_->{fit_needs_s} } @{ $s->{worst} };
	my $said = fill(
		N__(
			'~: beyond what was measured, by a fit: generalized extreme values of {n} times {time}, '
				. 'shape {shape}'
		),
		n     => int $f->{blocks},
		time  => seconds($f->{joined} * $d->{block_s}),
		shape => sprintf('%.2f', $f->{shape})
	);
	return $said if !$far;
	return "$said;\n" . fill(
		N__('more than ten times as long is not told: that takes {time}'),
		time => seconds($far)
	);
}

sub _worst_cells {
	my ($w) = @_;
	return (
		'~' . _us($w->{fitted}{us}),
		_us($w->{fitted}{least_us})
			. (
			defined $w->{fitted}{most_us}
			? fill(N__(' to {most}'), most => _us($w->{fitted}{most_us}))
			: fill(N__(' or more'))
			)
	) if $w->{fitted};
	return ('-', fill(N__('takes {time}'), time => seconds($w->{needs_s}))) if !defined $w->{us};
	my $least = defined $w->{least_us} ? _us($w->{least_us}) : '0';
	return (
		_us($w->{us}),
		$least
			. (
			defined $w->{most_us}
			? fill(N__(' to {most}'), most => _us($w->{most_us}))
			: fill(N__(' or more'))
			)
	);
}

# One star for each power of ten, from the first doubling that has any to the last.
sub _stars {
	my ($r) = @_;
	my @shown = grep { $r->has($_) } qw(irq deferred high medium total_user);
	my (%row, @rows);
	for my $stage (@shown) { $row{ $_->[0] }{$stage} = $_->[1] for $r->doublings($stage) }
	my @from = sort { $a <=> $b } keys %row;
	return '' if !@from;
	for my $us (grep { $_ >= $from[0] && $_ <= $from[-1] } 0, map { 2**$_ } 0 .. 32) {
		push @rows, [ $us, map { '*' x length($row{$us}{$_} || '') } @shown ];
	}
	return
		  table([ [ fill(N__('from us')), map { title($_) } @shown ], @rows ], 'r' . 'l' x @shown)
		. fill(N__('each * a power of ten')) . "\n";
}

sub _causes {
	my ($d, $r) = @_;
	my @places = @{ $d->{places} };
	my @out    = (
		'',
		fill(
			N__(
				'where the CPU was until they came: {n} samples of {late} latencies over the threshold '
					. '(by {who})'
			),
			n    => int $d->{samples_seen},
			late => int $d->{causes_seen},
			who  => $r->{sampler}
		)
	);
	push @out, map {
		sprintf '    %5d  %s%s', $_->{samples}, one_line($_->{where}),
			$_->{irqs_off} * 2 > $_->{samples}
			? ' ' . fill(N__('(interrupts off)'))
			: ''
	} @places[ 0 .. (@places > $PLACES ? $PLACES : @places) - 1 ];
	push @out, sprintf '    %5d  %s', $r->{samples_user}, fill(N__('code of processes'))
		if $r->{samples_user};
	my @lines = lines(tree($r->stacks), $LEAST_SHARE);
	push @out, '', fill(N__('calls, of the longest')), @lines if @lines;
	return @out;
}

# --- the page ---

# Counts by quarters of a doubling, from the first that has any to the last; not those below 1 us.
sub _bins {
	my ($r, $stage) = @_;
	my %count = map { $_->[0] ? (sprintf('%.0f', 4 * log($_->[0]) / log 2) => $_->[1]) : () }
		$r->doublings($stage, 4);
	my @at = sort { $a <=> $b } keys %count;
	return map { [ 2**($_ / 4), $count{$_} // 0 ] } @at ? $at[0] .. $at[-1] : ();
}

# page(USE, RESULTS): HTML as bytes; the first result's figures, the curves of all
sub page {
	my ($use, @results) = @_;
	my $stage = $results[0]->default_stage;
	my @parts = (
		[
			'',
			'<h1>' . Tipme::Page::text(
				fill(
					N__('How late: {files}'),
					files => join ', ', names(@results)
				)
				)
				. '</h1>'
		]
	);
	push @parts, _compared($stage, @results) if @results > 1;
	push @parts, [ fill(N__('How long')), Tipme::Page::picture(histogram($stage, @results)) ],
		[ fill(N__('How often')), Tipme::Page::picture(tail($stage, undef, @results)) ];
	my @data  = map { data($_, $use) } @results;
	my @names = names(@results);
	my $told  = grep { defined $_->{us} || $_->{fitted} }
		map { @{ $_->{worst} } } map { @{ $_->{stages} } } @data;
	push @parts, [ fill(N__('The worst, by load')), _by_load(\@names, @data) ]
		if @data > 1 && $told;
	my $same = 1 == keys %{ { map { _facts($_) => 1 } @data } };
	push @parts, map { _part_of($names[$_], $results[$_], $data[$_], !$same) } 0 .. $#results;
	push @parts, [ fill(N__('The machine')), _facts($data[0]) ] if $same && _facts($data[0]);
	return Tipme::Page::page('tipme latency', @parts);
}

# What is worse in each than in the first.
sub _compared {
	my ($stage, @results) = @_;
	my ($first, @others)  = names(@results);
	my @said =
		map {
		says(scalar worst_level(tails($results[0], $results[ $_ + 1 ], $stage)), $others[$_])
		}
		grep { $results[ $_ + 1 ]->has($stage) } 0 .. $#others;
	return [
		fill(N__('Compared to {name}'), name => $first),
		join '', map { '<p>' . Tipme::Page::text($_) . '</p>' } @said, holds(@results)
	];
}

# both(STAGE, WORDS, TABLE, RESULTS): HTML as bytes: two results on one scale, with what is said of
# them and the rows that say it
sub both {
	my ($stage, $words, $table, @results) = @_;
	return Tipme::Page::page(
		'tipme latency compare',
		[ '',                          '<h1>' . Tipme::Page::text($words) . '</h1>' ],
		[ fill(N__('How often')),      Tipme::Page::picture(tail($stage, undef, @results)) ],
		[ fill(N__('How long')),       Tipme::Page::picture(histogram($stage, @results)) ],
		[ fill(N__('Level by level')), Tipme::Page::table(@$table) ]
	);
}

# A table as the paper's third: services by loads.
sub _by_load {
	my ($names, @data) = @_;
	my @stages = grep {
		my $stage = $_;
		grep {
			grep { $_->{stage} eq $stage }
				@{ $_->{stages} }
		} @data
	} qw(irq irq_deferred total_high total_medium total_user);
	my @head = map {
		my $name = $_;
		map { "$name, " . fill($_) } N__('an hour'), N__('a day'), N__('a week')
	} @$names;
	my @rows = map {
		my $stage = $_;
		[
			$stage eq 'irq_deferred' ? fill(N__('and deferred work')) : title($stage),
			map {
				my ($s) = grep { $_->{stage} eq $stage } @{ $_->{stages} };
				$s ? map { (_worst_cells($_))[0] } @{ $s->{worst} } : ('') x 3
			} @data
		]
	} @stages;
	return '<p>'
		. Tipme::Page::text(
		_worst_words($data[0]) . fill(N__('; ~: by a fit; -: longer than was measured')))
		. '</p>'
		. Tipme::Page::table([ fill(N__('stage')), @head ], @rows);
}

sub _part_of {
	my ($name, $r, $d, $facts) = @_;
	my @parts = (
		[
			$name,
			'<p>' . Tipme::Page::text(_head($d)) . '</p>' . Tipme::Page::table(
				[
					(map { fill($_) } N__('stage'), N__('count'), N__('mean')),
					map { _percentile_name($_) } @PERCENTILES
				],
				map {
					my $s = $_;
					[
						$s->{title}, with_commas($s->{count}), _us($s->{mean_us}),
						map { _us($_->{us}) } @{ $s->{percentiles} }
					]
				} @{ $d->{stages} }
				)
				. '<p>'
				. Tipme::Page::text(fill(N__('95 % intervals of the percentiles'))) . '</p>'
				. Tipme::Page::table(_interval_rows($d))
		]
	);
	push @parts, [
		fill(N__('{name}: the worst'), name => $name),
		'<p>' . Tipme::Page::text(_worst_words($d)) . '</p>' . Tipme::Page::table(
			[
				fill(N__('stage')), map { (fill($_), '95 %') } N__('an hour'), N__('a day'),
				N__('a week')
			],
			map {
				my $s = $_;
				[ $s->{title}, map { _worst_cells($_) } @{ $s->{worst} } ]
			} @{ $d->{stages} }
			)
			. join '',
		map { '<p>' . Tipme::Page::text($_) . '</p>' } _fit_words($d)
	];
	push @parts, Tipme::Latency::Marks::part($name, $r, $r->default_stage);
	push @parts, Tipme::Latency::Underrun::part($name, $r, $r->default_stage);
	my $tree = tree($r->stacks);
	push @parts, [
		fill(N__('{name}: where the CPU was'), name => $name),
		Tipme::Page::picture(
			flame($tree, title => fill(N__('Samples of the longest latencies, by calls')))
			)
			. Tipme::Page::table(
			[ fill(N__('samples')), fill(N__('function < its callers')) ],
			map {
				[
					$_->{samples},
					$_->{where}
						. (
						$_->{irqs_off} * 2 > $_->{samples}
						? ' ' . fill(N__('(interrupts off)'))
						: ''
						)
				]
			} @{ $d->{places} }
				[ 0 .. (@{ $d->{places} } > $PLACES ? $PLACES : @{ $d->{places} }) - 1 ]
			)
		]
		if $tree->{samples};
	push @parts,
		[ fill(N__('{name}: the machine'), name => $name), _facts($d) ]
		if $facts && _facts($d);
	return @parts;
}

# The machine's, as HTML; nothing where none are known.
sub _facts {
	my ($d) = @_;
	my %facts = %{ $d->{facts} } or return '';
	return Tipme::Page::table([], map { [ $_ =~ tr/_/ /r, $facts{$_} ] } sort keys %facts);
}

1;
