# SPDX-License-Identifier: GPL-2.0-only
# A profile as text, as JSON and as one page. All three have the same rows.
package Tipme::Profile::Report;

use strict;
use warnings;
use Exporter   qw(import);
use List::Util qw(max sum0);
use POSIX      qw(floor);
use Tipme::Chart;
use Tipme::CommandLine qw(ms table with_commas);
use Tipme::Page;
use Tipme::Printable       qw(one_line shorten);
use Tipme::Profile::Inputs qw(input_words);
use Tipme::Profile::Views
	qw(summary between long_events moments idle over_time histogram cumulative limits);

use Tipme::Words qw(N__ fill);

our @EXPORT_OK = qw(report_text report_json report_page);

# Sections: [ HEADING, ALIGN, ROWS, NOTE ]; the first row of each is the heads of its columns.
sub _sections {
	my ($p) = @_;
	return (
		_answers($p), _stages($p),     _waiting($p), _between($p),
		_long($p),    _operations($p), _idle($p),    _cpu($p)
	);
}

# How busy the CPUs were around the longest answer that has an episode.
sub _cpu {
	my ($p) = @_;
	my $use = ($p->{cpu} // return)->{use};
	my ($line, $rows) = Tipme::Profile::Cpu::cpu_text($use);
	return [ fill(N__('CPU use around the longest answer')), 'rrrr', $rows, "$use->{id}: $line" ];
}

# What the pictures show, as text: figures 5 and 7 of each kind of input.
sub _curves {
	my ($p, @kinds) = @_;
	return
		map { my $c = $p->counts('response', $_); $c->count ? (_time($p, $_), _bins($c, $_)) : () }
		@kinds;
}

# Unit: lines. More parts of a session than these nobody compares.
my $PARTS = 24;

sub _time {
	my ($p, $kind) = @_;
	my @time  = over_time($p, $kind);
	my $width = $p->{minutes_of_row};
	$width *= 2 while $p->{duration_ns} / 60e9 > $PARTS * $width;
	my @parts;
	for my $t (@time) {
		my $n = int($t->{minute} / $width);
		push @parts, { from => $n * $width } if !@parts || $parts[-1]{from} != $n * $width;
		$parts[-1]{$_} += $t->{$_} for qw(events answered sum_ns);
		$parts[-1]{max_ns} = max($parts[-1]{max_ns} // 0, $t->{max_ns});
		$parts[-1]{over}[$_] += $t->{over}[$_] for 0 .. $#{ $t->{over} };
	}
	my @ms   = @{ $p->{thresholds_ms} };
	my @rows = map {
		[
			$_->{from}, @$_{qw(events answered)},
			$_->{answered} ? ms($_->{sum_ns} / $_->{answered}) : '-',
			ms($_->{max_ns}), @{ $_->{over} }
		]
	} @parts;
	return [
		fill(N__('Latency over time: {input}'), input => input_words($kind)), 'r' x (5 + @ms),
		[
			[
				_heads(N__('minute'), N__('events'), N__('answered'), N__('mean'), N__('longest')),
				map { fill(N__('over {n} ms'), n => $_) } @ms
			],
			@rows
		],
		$width == 1
		? fill(N__('each line is a minute'))
		: fill(N__('each line is {n} minutes'), n => $width)
	];
}

# Four bins to a decade; a mark is a quarter of a decade of events, too.
sub _bins {
	my ($c, $kind) = @_;
	my (%bin, @rows);
	$bin{ floor(log($_->[0]) / log(10) * 4 + 1e-6) } += $_->[2] for histogram($c);
	my @curve = cumulative($c);
	my ($all, $ns) = (0, 0);
	for my $n (sort { $a <=> $b } keys %bin) {
		$all += $bin{$n};
		while (@curve && $curve[0]{events} <= $all) { $ns = (shift @curve)->{ns} }
		push @rows,
			[
			(map { sprintf '%.3g', 10**($_ / 4) } $n, $n + 1), $bin{$n},
			'#' x (1 + int(4 * log($bin{$n}) / log 10)), $all, ms($ns)
			];
	}
	return [
		fill(N__('How many answers took how long: {input}'), input => input_words($kind)),
		'rrrlrr',
		[
			[
				_heads(
					N__('from ms'),     N__('to ms'),      N__('events'),
					N__('logarithmic'), N__('up to here'), N__('together')
				)
			],
			@rows
		],
		fill(
			N__(
				'up to here and together: all answers that took at most so long, and their latencies'
			)
		)
	];
}

sub _heads {
	return map { fill($_) } @_;
}

sub _short { return shorten(one_line($_[0]), 24) }

sub _answers {
	my ($p) = @_;
	my @rows = map {
		my $r = $_;
		[
			_short($r->{app}), input_words($r->{kind}), $r->{events}, $r->{answered},
			$r->{without_effect},
			(map { ms($_) } @$r{qw(p50 p95 p99 max_ns)}), "$r->{over_low}, $r->{over_high}",
			ms($r->{sum_ns})
		]
	} summary($p);
	return [
		fill(N__('Answers')),
		'llrrrrrrrrr',
		[
			[
				_heads(
					N__('application'), N__('input'), N__('events'), N__('answered'),
					N__('no effect'),   N__('median')
				),
				'95 %',
				'99 %',
				_heads(N__('longest'), N__('over limits'), N__('together'))
			],
			@rows
		],
		join "\n",
		grep {length} _typed_ahead($p),
		fill(N__('limits: motion 25 and 75 ms, all else 50 and 150 ms (TIPME, 2000)'))
	];
}

sub _typed_ahead {
	my ($p) = @_;
	my ($ahead, $gone, $open) = map {
		my $k = $_;
		sum0(map { $_->{$k} } @{ $p->{pairs} })
	} qw(ahead gone unanswered);
	return join '; ',
		($ahead ? fill(N__('{n} were answered together with a later one'), n => $ahead) : ()),
		($gone  ? fill(N__('of {n} the program ended before'),             n => $gone)  : ()),
		$open ? fill(N__('{n} were not answered when recording ended'), n => $open) : ();
}

sub _stages {
	my ($p) = @_;
	my @rows = map {
		my $r = $_;
		$r->{answered}
			? [
			_short($r->{app}), input_words($r->{kind}),
			(map { ms($r->{stages}{$_} / $r->{answered}) } qw(read sent drawn finished)),
			ms($r->{mean_ns})
			]
			: ()
	} summary($p);
	my $note =
		$p->{exact}
		? ''
		: fill(N__('seen from outside, to the millisecond: the display server has no hooks'));
	return [
		fill(N__('Mean time of each stage')),
		'llrrrrr',
		[
			[
				_heads(
					N__('application'), N__('input'), N__('read'), N__('sent'), N__('drawn'),
					N__('finished'),    N__('all')
				)
			],
			@rows
		],
		$note
	];
}

sub _waiting {
	my ($p)   = @_;
	my @all   = moments($p);
	my $sum   = $all[-1];
	my @parts = qw(waiting_ns thinking_ns background_ns);
	my $total = sum0(@$sum{@parts}) || 1;
	my @rows  = map {
		my $m = $_;
		[
			defined $m->{app} ? _short($m->{app}) : fill(N__('all')),
			(map { sprintf '%.1f s', $m->{$_} / 1e9 } @parts), sprintf '%.2f %%',
			100 * $m->{waiting_ns} / $total
		]
	} @all;
	my $note = fill(
		N__('A person waited {seconds} s of {time} ({share} %).'),
		seconds => sprintf('%.1f', $sum->{waiting_ns} / 1e9),
		time    => _long_time($total / 1e9),
		share   => sprintf('%.2f', 100 * $sum->{waiting_ns} / $total)
	);
	return [
		fill(N__('Waiting, thinking, background')),
		'lrrrr',
		[
			[
				_heads(
					N__('application in use'), N__('waiting'), N__('thinking'), N__('background'),
					N__('waited')
				)
			],
			@rows
		],
		$note
	];
}

sub _long_time {
	my ($s) = @_;
	return $s < 120 ? sprintf '%.1f s', $s : $s < 7200 ? sprintf '%.1f min',
		$s / 60
		: sprintf '%.1f h', $s / 3600;
}

# With the times of keys beside the profile: exactly.
sub _between_rows {
	my ($p, $kind) = @_;
	return $p->{times} ? $p->{times}->between($p->{thresholds_ms}, $kind) : between($p, $kind);
}

sub _between {
	my ($p) = @_;
	my @rows = map {
		my $b = $_;
		[
			"$b->{ms} ms", $b->{events},
			map { defined $_ ? sprintf '%.1f s', $_ : '-' } @$b{qw(mean_s deviation_s)}
		]
	} _between_rows($p);
	return [
		fill(N__('Times between long answers')),
		'rrrr',
		[ [ _heads(N__('over'), N__('events'), N__('mean'), N__('deviation')) ], @rows ],
		$p->{times}
		? fill(N__('by the times of the events'))
		: fill(N__('to the minute: when in a minute an event was is not kept'))
	];
}

sub _long {
	my ($p) = @_;
	my @rows = map {
		[
			ms($_->{response_ns}), _short($_->{app}), input_words($_->{kind}),
			fill(N__('minute {n}'), n => sprintf '%d', $_->{minute}),
			one_line($_->{episode}), shorten(one_line($_->{verdict}), 90)
		]
	} long_events($p);
	return @rows
		? [
		fill(N__('The longest answers')),
		'rlllll',
		[
			[
				_heads(
					N__('answer'), N__('application'), N__('input'), N__('when'), N__('episode'),
					N__('verdict')
				)
			],
			@rows
		],
		''
		]
		: ();
}

# Table 1, and what each operation took, where a script has named them.
sub _operations {
	my ($p)  = @_;
	my $o    = $p->{operations} or return;
	my @all  = @{ $p->{times}{all} };
	my @long = map {
		[
			ms($_->{response_ns}), length $_->{operation} ? one_line($_->{operation}) : '-',
			_short($_->{app}),     input_words($_->{kind}), sprintf '%.1f s', $_->{at_s}
		]
	} $o->longest(@all);
	my @each = map {
		my $t = $_;
		[
			one_line($t->{operation}), _short($t->{app}), input_words($t->{kind}),
			@$t{qw(events cold)},
			(
				map { defined $t->{$_} ? ms($t->{$_}) : '-' }
					qw(mean_ns deviation_ns median_ns max_ns)
			),
			fill(
				$t->{until} eq 'screen' ? N__('the screen had changed') : N__('the program rested')
			)
		]
	} $o->trials(@all);
	return (
		[
			fill(N__('Long answers by operation')),
			'rlllr',
			[
				[
					_heads(
						N__('answer'), N__('operation'), N__('application'), N__('input'), N__('at')
					)
				],
				@long
			],
			''
		],
		[
			fill(N__('Operations')),
			'lllrrrrrrl',
			[
				[
					_heads(
						N__('operation'), N__('application'), N__('input'), N__('events'),
						N__('cold'),      N__('mean'),        N__('deviation'),
						N__('median'),    N__('longest'),     N__('until')
					)
				],
				@each
			],
			fill(
				N__(
					'cold: first ones that took longer than usual for those after them; they are set aside'
				)
			)
		]
	);
}

sub _idle {
	my ($p) = @_;
	my $idle = idle($p);
	my @rows;
	for my $which (qw(idle used)) {
		my $i    = $idle->{$which} or next;
		my $cost = join ', ', map {
			defined $i->{cost_us}{$_}
				? sprintf(
				'%s %.1f us', $_ eq 'irq' ? fill(N__('interrupt')) : $_,
				$i->{cost_us}{$_}
				)
				: ()
		} qw(irq softirq);
		push @rows, [
			fill($which eq 'idle' ? N__('nobody touches it') : N__('in use')),
			sprintf('%.0f s',  $i->{seconds}),
			sprintf('%.2f %%', 100 * $i->{busy}),
			(map { sprintf '%.1f', $i->{interrupts}{$_} // 0 } qw(device timer between_cpus other)),
			sprintf('%.1f', sum0(values %{ $i->{softirqs} })),
			length $cost ? $cost : fill(N__('not available'))
		];
	}
	return @rows
		? [
		fill(N__('What the machine does')),
		'lrrrrrrrl',
		[
			[
				_heads(
					N__('minutes in which'), N__('watched'),      N__('busy'),  N__('device'),
					N__('timer'),            N__('between CPUs'), N__('other'), N__('softirqs'),
					N__('cost of one')
				)
			],
			@rows
		],
		fill(
			N__(
				'interrupts and softirqs a second; their cost is what the kernel counts, where it does'
			)
		)
		]
		: ();
}

sub _head {
	my ($p) = @_;
	return fill(
		N__('{file}: {time} from {begin} UTC, {cpus} CPUs, Linux {kernel}; {lost}'),
		file  => one_line($p->{file}),
		time  => _long_time($p->{duration_ns} / 1e9),
		begin => one_line($p->{began}) =~ tr/TZ/ /r =~ s/ \z//r,
		cpus  => $p->{cpus}, kernel => one_line($p->{kernel}),
		lost  => $p->{lost_records}
		? fill(N__('{n} records lost'), n => with_commas($p->{lost_records}))
		: fill(N__('nothing lost'))
	);
}

# report_text(PROFILE, KINDS that are told in full), report_json(PROFILE), report_page(PROFILE,
# charts of Tipme::Profile::Charts)
sub report_text {
	my ($p, @kinds) = @_;
	my $text = _head($p) . "\n";
	for my $s (_sections($p), _curves($p, @kinds)) {
		my ($head, $align, $rows, $note) = @$s;
		next if @$rows < 2;
		$text .= "\n$head\n" . table($rows, $align) . (length $note ? "$note\n" : '');
	}
	return $text;
}

sub report_json {
	my ($p) = @_;
	my %kinds = map { $_->{kind} => 1 } @{ $p->{pairs} };
	my %views;
	for my $kind (sort keys %kinds) {
		my $c = $p->counts('response', $kind);
		my ($from, $to) = limits($kind);
		$views{$kind} = {
			limit_ms  => [ $from, $to ],
			histogram => [
				map { { from_ms => $_->[0], to_ms => $_->[1], events => $_->[2] } } histogram($c)
			],
			cumulative => [ cumulative($c) ],
			over_time  => [ over_time($p, $kind) ],
			between    => [ _between_rows($p, $kind) ],
			$p->{times} ? (each => [ $p->{times}->each_event($kind) ]) : ()
		};
	}
	return {
		version => 1, file => $p->{file}, began => $p->{began}, duration_ns => $p->{duration_ns},
		exact   => $p->{exact},           answers => [ summary($p) ], moments => [ moments($p) ],
		between => [ _between_rows($p) ], long_events => [ long_events($p) ], machine => idle($p),
		kinds   => \%views, $p->{operations} ? _operations_json($p) : (),
		$p->{cpu} ? (cpu => $p->{cpu}{use}) : ()
	};
}

sub _operations_json {
	my ($p) = @_;
	my ($o, @all) = ($p->{operations}, @{ $p->{times}{all} });
	return (operations => [ $o->trials(@all) ], long_operations => [ $o->longest(@all) ]);
}

sub report_page {
	my ($p, @charts) = @_;
	my @parts = [
		'',
		'<h1>'
			. Tipme::Page::text(fill(N__('How it felt')))
			. '</h1><p>'
			. Tipme::Page::text(_head($p)) . '</p>'
	];
	for my $s (_sections($p)) {
		my ($head, undef, $rows, $note) = @$s;
		next if @$rows < 2;
		my ($names, @rows) = @$rows;
		push @parts,
			[
			$head,
			Tipme::Page::table($names, @rows)
				. (length $note ? '<p>' . Tipme::Page::text($note) . '</p>' : '')
			];
	}
	push @parts, map { [ '', Tipme::Page::picture(Tipme::Chart->svg($_->[1])) ] } @charts;
	return Tipme::Page::page(fill(N__('How it felt')), @parts);
}

1;
