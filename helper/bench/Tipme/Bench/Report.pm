# SPDX-License-Identifier: GPL-2.0-only
# A result as text, as pictures and as a page; a comparison as a picture.
package Tipme::Bench::Report;

use strict;
use warnings;
use Exporter              qw(import);
use List::Util            qw(first max sum0);
use Tipme::Bench::Compare qw(time_text);
use Tipme::Bench::Result  qw(round_values repeats typical_parts counters_of);
use Tipme::Chart;
use Tipme::CommandLine qw(replaceable table);
use Tipme::Page;
use Tipme::Statistics qw(median median_interval);
use Tipme::Timeline::File;

our @EXPORT_OK = qw(text_report html_report charts chart_of_ratios worst_text count_text);

my @KINDS = qw(user kernel interrupt runnable blocked);
# Shown in the table; all of them are in the file.
my @COUNTERS = qw(cycles instructions cache-misses dtlb-misses page-faults context-switches);
# Table VII of the paper, seconds: NetBSD, Windows NT, Windows. Its Wish was a tour of widgets, its
# Ghostscript drew 13 pages, its web server answered 1,024 requests.
my %IN_1996 = (
	'app-tk'  => [ 7.05,  14.94, 18.95 ], 'app-ghostscript' => [ 16.92, 9.30, 20.32 ],
	'app-web' => [ 45.56, 83.33, 52.22 ]
);

# count_text(COUNT): of a counter, per reference
sub count_text {
	my ($n) = @_;
	return 'not available' if !defined $n;
	return '0'             if abs $n < 0.0005;
	return sprintf '%.*f', abs $n >= 100 ? 0 : abs $n >= 1 ? 1 : 3, $n;
}

sub _shares {
	my ($t) = @_;
	my $told = typical_parts($t);
	my (%kind, $all);
	for (keys %{ $told->{parts} }) {
		my ($k) = /\A(\w+)/;
		$kind{$k} += $told->{parts}{$_};
		$all += $told->{parts}{$_};
	}
	return (\%kind, $all, $told->{from});
}

sub _row {
	my ($t) = @_;
	return [ $t->{name}, 'not available', '', '', ('') x @KINDS, '' ] if !@{ $t->{rounds} // [] };
	my @v = round_values($t);
	my ($low, $high) = median_interval(@v);
	my ($kind, $all, $from) = _shares($t);
	return [
		$t->{name}, time_text(median(@v)),
		defined $low ? time_text($low) . ' to ' . time_text($high) : 'too few rounds',
		scalar @v,
		(
			map {
				$all && ($_ ne 'interrupt' || $from eq 'recorder')
					? sprintf '%.0f %%', 100 * ($kind->{$_} // 0) / $all
					: '-'
			} @KINDS
		),
		($from // '') eq 'recorder' ? 'recorder' : 'kernel'
	];
}

my @HEAD = ('task', 'median', '95 % interval', 'rounds', @KINDS, 'told by');

# worst_text(TASK): a sentence about its worst repeat, or undef.
sub worst_text {
	my ($t) = @_;
	my $w = $t->{worst} // return;
	return if $w->{excess_ns} <= 0;
	my @more = grep { $_->{ns} > 0 } @{ $w->{more} };
	splice @more, 3 if @more > 3;
	return sprintf '%s: the worst repeat took %s, %s more than the middle one: %s.%s', $t->{name},
		time_text($w->{to_ns} - $w->{from_ns}),
		time_text($w->{excess_ns}),
		join(
		'; ',
		map { time_text($_->{ns}) . ' ' . Tipme::Bench::Compare::part_words($_->{part}) } @more
		)
		|| 'no part alone',
		defined $w->{verdict} ? " Verdict: $w->{verdict}" : '';
}

sub _counter_row {
	my ($t) = @_;
	my $c = counters_of($t);
	return [ $t->{name}, map { count_text($c->{$_}) } @COUNTERS ];
}

sub _about {
	my ($run) = @_;
	return [ map { [ $_, $run->{facts}{$_} ] } sort keys %{ $run->{facts} } ];
}

sub _done {
	my ($run) = @_;
	return grep { @{ $_->{rounds} // [] } } @{ $run->{tasks} };
}

sub _missing {
	my ($run) = @_;
	return map { [ $_->{name}, $_->{unavailable} // $_->{failed} ] }
		grep   { defined($_->{unavailable}       // $_->{failed}) } @{ $run->{tasks} };
}

sub _seconds_of { my ($t) = @_; return median(round_values($t)) * $t->{references} / 1e9 }

sub _beside_1996 {
	my ($run) = @_;
	return map {
		my $t = $_;
		[
			$t->{name}, (map { sprintf '%.2f s', $_ } @{ $IN_1996{ $t->{name} } }),
			sprintf('%.2f s', _seconds_of($t))
		]
	} grep { $IN_1996{ $_->{name} } } _done($run);
}

my @HEAD_1996 = ('application', 'NetBSD 1996', 'Windows NT 1996', 'Windows 1996', 'today');

# text_report(RUN): for a terminal
sub text_report {
	my ($run) = @_;
	my $text  = sprintf "%s, %s%s\n", $run->{name}, $run->{started},
		$run->{complete} ? '' : ' (interrupted: not all rounds)';
	$text .=
		defined $run->{recorder}
		? "parts by the recorder ($run->{recorder}): $run->{told} of $run->{repeated} repeats\n"
		: "no recorder ran: parts by the kernel's accounting; who had the CPU and what sleeps were "
		. "for is not known\n";
	$text .= "\n" . table([ \@HEAD, map { _row($_) } _done($run) ], 'lrlrrrrrrl');
	$text .= "\nper reference, without what an empty repeat counts:\n" . table(
		[ [ 'task', @COUNTERS ], map { _counter_row($_) } _done($run) ],
		'l' . 'r' x @COUNTERS
	);
	my @old = _beside_1996($run);
	$text .= "\n" . table([ \@HEAD_1996, @old ], 'lrrrr') if @old;
	$text .= "\n$_->[0]: not available: $_->[1]\n" for _missing($run);
	return $text . join '', map {"\n$_\n"} grep {defined} map { worst_text($_) } _done($run);
}

# --- pictures ---

sub _memory_series {
	my ($run, $task, $name) = @_;
	my %unit   = (K => 1024, M => 2**20);
	my @points = map {
		$_->{name} =~ m{\A$task/(\d+)([KM]?)\z}
			? [
			$1 * ($unit{$2} // 1) / 1024, median(round_values($_)),
			median_interval(round_values($_))
			]
			: ()
	} _done($run);
	return () if @points < 2;
	my @whiskers = map { defined $_->[2] && $_->[2] > 0 ? [ @$_[ 0, 2, 3 ] ] : () } @points;
	return {
		name => $name, kind => 'line', points => [ map { [ @$_[ 0, 1 ] ] } @points ],
		@whiskers ? (whiskers => \@whiskers) : ()
	};
}

sub _memory_chart {
	my ($run) = @_;
	my @series = (
		_memory_series($run, 'memory-access', 'each 128 bytes'),
		_memory_series($run, 'memory-chase',  'in no order')
	);
	return if !@series;
	return {
		title  => 'Memory access time', subtitle => $run->{facts}{processor} // '',
		series => \@series,
		x      => { label => 'size of the array', unit => 'KB', scale => 'log' },
		y      => { label => 'one reference',     unit => 'ns', scale => 'log' },
		note   => 'The shape is that of figure 4 of the paper of 1996.'
	};
}

my @GROUPS = (
	[ 'Kernel' => qr/\A(?:null|syscall|wakeup)\b/ ], [ 'Programs' => qr/\A(?:exec|spawn|app-)/ ],
	[ 'Files and network' => qr/\A(?:fs-|net|dbus)/ ],
	[ 'Screen'            => qr/\A(?:bitblt|x-roundtrip|window)/ ]
);

sub _parts_chart {
	my ($run, $group, $what) = @_;
	my @t = grep { $_->{name} =~ $what } _done($run);
	return if !@t;
	my @shares = map { [ _shares($_) ] } @t;
	my @series = map {
		my $k = $_;
		{
			name   => $k,
			kind   => 'bars',
			points => [
				map {
					[ $_, $shares[$_][1] ? 100 * ($shares[$_][0]{$k} // 0) / $shares[$_][1] : 0 ]
				} 0 .. $#t
			]
		}
	} @KINDS;
	return {
		title => "$group: where the time went", series => \@series,
		width => max(900, 60 + 175 * @t),
		x     => { scale => 'names', names => [ map { $_->{name} } @t ] },
		y     => { label => 'share of the time', unit => '%', from => 0, to => 100 }
	};
}

sub _time_chart {
	my ($run, $group, $what) = @_;
	my @t = grep { $_->{name} =~ $what } _done($run);
	return if !@t;
	my @v = map {
		[ map { $_ / 1000 } round_values($_) ]
	} @t;
	my @whiskers = map {
		my ($l, $h) = median_interval(@{ $v[$_] });
		defined $l && $l > 0 ? [ $_, $l, $h ] : ()
	} 0 .. $#t;
	return {
		title  => "$group: time of one reference", width => max(900, 60 + 175 * @t),
		series => [
			{
				name   => 'median', kind => 'points',
				points => [ map { [ $_, median(@{ $v[$_] }) ] } 0 .. $#t ],
				@whiskers ? (whiskers => \@whiskers) : ()
			}
		],
		x => { scale => 'names', names => [ map { $_->{name} } @t ] },
		y => { label => 'one reference', unit => 'us', scale => 'log' }
	};
}

# charts(RUN): ( [ name, SVG ] ... ): memory, and for each group of tasks its times and its parts
sub charts {
	my ($run) = @_;
	my @c = ([ memory => _memory_chart($run) ]);
	for (@GROUPS) {
		my $name = lc((split ' ', $_->[0])[0]);
		push @c, [ "$name-time", _time_chart($run, @$_) ],
			[ "$name-parts", _parts_chart($run, @$_) ];
	}
	return map { $_->[1] ? [ $_->[0], Tipme::Chart->svg($_->[1]) ] : () } @c;
}

# Tasks in one picture of ratios, so that their names can be read.
my $MOST_RATIOS = 10;

# chart_of_ratios(margin, ROWS of a comparison): SVG. Of many tasks those that differ, then those
# that are farthest from 1.
sub chart_of_ratios {
	my ($margin, @all) = @_;
	my @by = sort {
		abs($b->{differs}) <=> abs($a->{differs}) || abs(log $b->{ratio}) <=> abs(log $a->{ratio})
	} @all;
	my %shown = map  { $_->{name} => 1 } @by > $MOST_RATIOS ? @by[ 0 .. $MOST_RATIOS - 1 ] : @by;
	my @rows  = grep { $shown{ $_->{name} } } @all;
	my $left  = @all - @rows;
	return Tipme::Chart->svg(
		{
			title => 'B to A, task by task', subtitle => 'intervals of 95 % for all tasks together',
			series => [
				_ratios(\@rows, 'no difference shown', 0), _ratios(\@rows, 'B takes longer', 1),
				_ratios(\@rows, 'A takes longer', -1)
			],
			width  => max(900, 120 + 175 * @rows),
			x      => { scale => 'names',                  names => [ map { $_->{name} } @rows ] },
			y      => { label => 'time in B to time in A', scale => 'log' },
			ranges => [
				{ axis => 'y', from => 1 / (1 + $margin), to => 1 + $margin, label => 'margin' }
			],
			$left ? (note => "$left other tasks are nearer to 1.") : ()
		}
	);
}

sub _ratios {
	my ($rows, $name, $differs) = @_;
	my @at = grep { $rows->[$_]{differs} == $differs } 0 .. $#$rows;
	my @whiskers =
		map { defined $rows->[$_]{least} ? [ $_, @{ $rows->[$_] }{qw(least most)} ] : () } @at;
	return @at
		? {
		name => $name, kind => 'points', points => [ map { [ $_, $rows->[$_]{ratio} ] } @at ],
		@whiskers ? (whiskers => \@whiskers) : ()
		}
		: ();
}

# html_report(RUN ...): a page
sub html_report {
	my (@runs) = @_;
	my @parts = map { _html_of($_) } @runs;
	return Tipme::Page::page(
		'tipme bench', [ '', '<h1>tipme bench: where the time went</h1>' ],
		@parts
	);
}

sub _html_of {
	my ($run) = @_;
	my @done  = _done($run);
	my @parts = ([ "$run->{name}, $run->{started}", Tipme::Page::table([], @{ _about($run) }) ]);
	push @parts,
		[
		'Times',
		'<p>'
			. Tipme::Page::text(
			defined $run->{recorder}
			? "Parts by the recorder: $run->{told} of $run->{repeated} repeats."
			: "No recorder ran: parts by the kernel's accounting."
			)
			. '</p>'
			. Tipme::Page::table(\@HEAD, map { _row($_) } @done)
		];
	push @parts, [ $_->[0], Tipme::Page::picture($_->[1]) ] for charts($run);
	my @old = _beside_1996($run);
	push @parts, [ 'Applications, beside 1996', Tipme::Page::table(\@HEAD_1996, @old) ] if @old;
	push @parts,
		[
		'Counts of one reference',
		Tipme::Page::table([ 'task', @COUNTERS ], map { _counter_row($_) } @done)
		];
	my @worst = grep {defined} map { worst_text($_) } @done;
	push @parts,
		[
		'The worst repeats',
		'<ul>' . join('', map { '<li>' . Tipme::Page::text($_) . '</li>' } @worst) . '</ul>'
		]
		if @worst;
	my @missing = _missing($run);
	push @parts, [ 'Not available', Tipme::Page::table([], @missing) ] if @missing;
	return @parts;
}

# write_picture_of(FILE, SVG)
sub write_picture_of { my (@what) = @_; return Tipme::Timeline::File::write_picture(@what) }

# write_page(FILE, RUN ...)
sub write_page {
	my ($file, @runs) = @_;
	replaceable($file);
	my $html = html_report(@runs);
	open my $out, '>:raw', "$file.tmp" or die "$file: $!: choose another place\n";
	my $ok = print {$out} $html;
	if (!(close $out) || !$ok) {
		my $why = $!;
		unlink "$file.tmp";
		die "$file: $why: is the disk full?\n";
	}
	rename "$file.tmp", $file or die "$file: $!: choose another place\n";
	return $file;
}

1;
