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
use Tipme::Printable qw(one_line shorten);
use Tipme::Profile::Views
	qw(summary between long_events moments idle over_time histogram cumulative limits);

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
	return [ 'CPU use around the longest answer', 'rrrr', $rows, "$use->{id}: $line" ];
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
		"Latency over time: $kind", 'r' x (5 + @ms),
		[ [ qw(minute events answered mean longest), map {"over $_ ms"} @ms ], @rows ],
		$width == 1 ? 'each line is a minute' : "each line is $width minutes"
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
		"How many answers took how long: $kind",
		'rrrlrr',
		[ [ 'from ms', 'to ms', 'events', 'logarithmic', 'up to here', 'together' ], @rows ],
		'up to here and together: all answers that took at most so long, and their latencies'
	];
}

sub _short { return shorten(one_line($_[0]), 24) }

sub _answers {
	my ($p) = @_;
	my @rows = map {
		my $r = $_;
		[
			_short($r->{app}), $r->{kind}, $r->{events}, $r->{answered}, $r->{without_effect},
			(map { ms($_) } @$r{qw(p50 p95 p99 max_ns)}), "$r->{over_low}, $r->{over_high}",
			ms($r->{sum_ns})
		]
	} summary($p);
	return [
		'Answers',
		'llrrrrrrrrr',
		[
			[
				'application', 'input',   'events',      'answered', 'no effect', 'median', '95 %',
				'99 %',        'longest', 'over limits', 'together'
			],
			@rows
		],
		join "\n",
		grep {length} _typed_ahead($p),
		'limits: motion 25 and 75 ms, all else 50 and 150 ms (TIPME, 2000)'
	];
}

sub _typed_ahead {
	my ($p) = @_;
	my ($ahead, $gone, $open) = map {
		my $k = $_;
		sum0(map { $_->{$k} } @{ $p->{pairs} })
	} qw(ahead gone unanswered);
	return join '; ', ($ahead ? "$ahead were answered together with a later one" : ()),
		($gone ? "of $gone the program ended before" : ()),
		$open ? "$open were not answered when recording ended" : ();
}

sub _stages {
	my ($p) = @_;
	my @rows = map {
		my $r = $_;
		$r->{answered}
			? [
			_short($r->{app}), $r->{kind},
			(map { ms($r->{stages}{$_} / $r->{answered}) } qw(read sent drawn finished)),
			ms($r->{mean_ns})
			]
			: ()
	} summary($p);
	my $note =
		$p->{exact} ? '' : 'seen from outside, to the millisecond: the display server has no hooks';
	return [
		'Mean time of each stage', 'llrrrrr',
		[ [ 'application', 'input', 'read', 'sent', 'drawn', 'finished', 'all' ], @rows ], $note
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
			defined $m->{app} ? _short($m->{app}) : 'all',
			(map { sprintf '%.1f s', $m->{$_} / 1e9 } @parts), sprintf '%.2f %%',
			100 * $m->{waiting_ns} / $total
		]
	} @all;
	my $note = sprintf 'A person waited %.1f s of %s (%.2f %%).', $sum->{waiting_ns} / 1e9,
		_long_time($total / 1e9), 100 * $sum->{waiting_ns} / $total;
	return [
		'Waiting, thinking, background',                                                    'lrrrr',
		[ [ 'application in use', 'waiting', 'thinking', 'background', 'waited' ], @rows ], $note
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
		'Times between long answers', 'rrrr',
		[ [ 'over', 'events', 'mean', 'deviation' ], @rows ],
		$p->{times}
		? 'by the times of the events'
		: 'to the minute: when in a minute an event was is not kept'
	];
}

sub _long {
	my ($p) = @_;
	my @rows = map {
		[
			ms($_->{response_ns}), _short($_->{app}), $_->{kind},
			sprintf('minute %d', $_->{minute}),
			one_line($_->{episode}), shorten(one_line($_->{verdict}), 90)
		]
	} long_events($p);
	return @rows
		? [
		'The longest answers',                                                         'rlllll',
		[ [ 'answer', 'application', 'input', 'when', 'episode', 'verdict' ], @rows ], ''
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
			_short($_->{app}),     $_->{kind}, sprintf '%.1f s', $_->{at_s}
		]
	} $o->longest(@all);
	my @each = map {
		my $t = $_;
		[
			one_line($t->{operation}), _short($t->{app}), $t->{kind}, @$t{qw(events cold)},
			(
				map { defined $t->{$_} ? ms($t->{$_}) : '-' }
					qw(mean_ns deviation_ns median_ns max_ns)
			),
			$t->{until} eq 'screen' ? 'the screen had changed' : 'the program rested'
		]
	} $o->trials(@all);
	return (
		[
			'Long answers by operation',
			'rlllr', [ [ 'answer', 'operation', 'application', 'input', 'at' ], @long ], ''
		],
		[
			'Operations',
			'lllrrrrrrl',
			[
				[
					'operation', 'application', 'input', 'events', 'cold', 'mean', 'deviation',
					'median',    'longest',     'until'
				],
				@each
			],
			'cold: first ones that took longer than usual for those after them; they are set aside'
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
				? sprintf('%s %.1f us', $_ eq 'irq' ? 'interrupt' : $_, $i->{cost_us}{$_})
				: ()
		} qw(irq softirq);
		push @rows, [
			$which eq 'idle' ? 'nobody touches it' : 'in use', sprintf('%.0f s', $i->{seconds}),
			sprintf('%.2f %%', 100 * $i->{busy}),
			(map { sprintf '%.1f', $i->{interrupts}{$_} // 0 } qw(device timer between_cpus other)),
			sprintf('%.1f', sum0(values %{ $i->{softirqs} })),
			length $cost ? $cost : 'not available'
		];
	}
	return @rows
		? [
		'What the machine does',
		'lrrrrrrrl',
		[
			[
				'minutes in which', 'watched', 'busy', 'device', 'timer', 'between CPUs', 'other',
				'softirqs',         'cost of one'
			],
			@rows
		],
		'interrupts and softirqs a second; their cost is what the kernel counts, where it does'
		]
		: ();
}

sub _head {
	my ($p) = @_;
	return sprintf '%s: %s from %s UTC, %d CPUs, Linux %s; %s', one_line($p->{file}),
		_long_time($p->{duration_ns} / 1e9), one_line($p->{began}) =~ tr/TZ/ /r =~ s/ \z//r,
		$p->{cpus}, one_line($p->{kernel}),
		$p->{lost_records} ? with_commas($p->{lost_records}) . ' records lost' : 'nothing lost';
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
			. Tipme::Page::text('How it felt')
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
	return Tipme::Page::page('How it felt', @parts);
}

1;
