# SPDX-License-Identifier: GPL-2.0-only
# A diagnosis for people: in short (what, when, whom to ask, what to do, the largest causes), or as
# a page with the sum, the threads, the stages, the proof.
package Tipme::Report::Text;

use strict;
use warnings;
use Text::Wrap         ();
use Tipme::Called      qw(called);
use Tipme::CommandLine qw(table with_commas);
use Tipme::Kinds;
use Tipme::Steps;
use Tipme::Moment    qw(clock_text);
use Tipme::Printable qw(one_line shorten);
use Tipme::Episode   ();
use Tipme::Verdict   qw(duration_text event_words);
use Tipme::Told      qw(told);
use Tipme::Words     qw(N__ fill);

my $WIDTH     = 80;      # columns of a terminal
my $MAX_WIDTH = 98;      # of lines that cannot be wrapped
my $MAX_ROWS  = 8;       # rows of a table; -v has all
my $CAUSES    = 3;       # of the short form ...
my $LEAST     = 0.01;    # ... that have at least this share

my %STAGE = (
	interrupt => N__('its interrupt came'),
	input     => N__('it entered'),
	read      => N__('the X server\'s input thread read it'),
	server    => N__('the X server ran'),
	device    => N__('the X server began to work on it'),
	deliver   => N__('the X server sent it to the client'),
	client    => N__('the client ran'),
	request   => N__('the X server began the first request of the client'),
	drawn     => N__('the client had drawn'),
	told      => N__('the compositor was told'),
	painting  => N__('the compositor began to paint'),
	born      => N__('the process was made'),
	feedback  => N__('the screen had changed'),
	free      => N__('the client could take its next event'),
);

# The same where a Wayland compositor takes the events.
my %WAYLAND_STAGE = (
	%STAGE,
	server   => N__('the compositor ran'),
	device   => N__('the compositor began to work on it'),
	deliver  => N__('the compositor sent it to the client'),
	request  => N__('the compositor took the picture of the client'),
	drawn    => N__('the compositor had the picture of the client'),
	feedback => N__('the compositor told the client that the picture was used'),
);

my %STATE = (
	running => N__('running'), runnable => N__('runnable'), blocked => N__('blocked'),
	unknown => N__('unknown')
);

# stage_words(NAME): what happened then
sub stage_words { my ($name) = @_; return defined $STAGE{$name} ? fill($STAGE{$name}) : $name }

# short(DIAGNOSIS, sent => 1: its reader got it sent, and cannot do what is advised): the first
# things that its reader wants to know
sub short {
	my ($d, %o) = @_;
	my $v    = $d->{verdict};
	my @part = (_wrap($v->{sentence}) . _when($d) . _felt($d), _slowest($d));
	push @part, join '', map { _wrap($_) } @{ $v->{circumstances} // [] } if $d->{slowest};
	push @part, _advice($v)         if !$o{sent};
	push @part, _largest_causes($d) if $d->{interval} && $v->{kind} ne 'none';
	push @part, _damage($d), _more($d, $o{sent});
	return join "\n", grep {length} @part;
}

# page(DIAGNOSIS, sent => as in short): all of it
sub page {
	my ($d, %o) = @_;
	my $v    = $d->{verdict};
	my @part = (
		_wrap($v->{sentence}) . _when($d) . _felt($d), _slowest($d),
		(map { _wrap($_) } @{ $v->{circumstances} // [] }),
		$o{sent} ? () : _advice($v)
	);
	push @part, _sum($d), _threads($d), _stages($d), _places($d), _evidence($d) if $d->{interval};
	push @part, _footer($d);
	return join "\n", grep {length} @part;
}

sub _wrap {
	my ($text, $indent) = @_;
	local $Text::Wrap::columns = $WIDTH;
	local $Text::Wrap::huge    = 'overflow';
	return Text::Wrap::wrap('', $indent // '', one_line($text)) . "\n";
}

sub _ms { return sprintf '%.3f', $_[0] / 1e6 }

sub _share { my ($ns, $all) = @_; return $all ? sprintf '%.1f %%', 100 * $ns / $all : '-' }

sub _when {
	my ($d)    = @_;
	my $w      = $d->{when} or return '';
	my $before = $w->{text};
	my $clock  = clock_text($w->{time});
	my $chosen = $d->{meant} ? ' ' . fill(N__('You chose this moment.')) : '';
	return _wrap(
		defined $clock
		? fill(N__('That was at {clock}, {before}.'), clock => $clock, before => $before) . $chosen
		: fill(N__('That was {before}.'), before => $before) . $chosen
	);
}

# What the person had said, where there is something to say of that.
sub _felt {
	my ($d)   = @_;
	my $words = join ' ', @{ ($d->{felt} // {})->{words} // [] };
	return length $words ? _wrap($words) : '';
}

# Where nothing was slow: what was slowest, and the question which of them is meant.
sub _slowest {
	my ($d)  = @_;
	my @s    = @{ $d->{slowest} // [] } or return '';
	my @rows = map {
		[
			'  ' . duration_text($_->{duration_ns}), event_words($_->{kind}),
			one_line($_->{comm}), clock_text($_->{time}) // '-', "--event $_->{n}"
		]
	} @s;
	return fill(N__('Slowest:')) . "\n" . table(\@rows, 'lllll') . _wrap(
		fill(
			N__(
					  'About when was it? tipme diagnose {id} --at HH:MM:SS, --at -SECONDS (before '
					. 'the hot-key), or --event N.'
			),
			id => one_line($d->{id})
		)
	);
}

sub _advice {
	my ($v) = @_;
	my @line = (
		defined $v->{door} ? fill(N__('Ask: {ask}.'),  ask  => $v->{door}) : (),
		defined $v->{next} ? fill(N__('Next: {next}'), next => $v->{next}) : ()
	);
	return join('', map { _wrap($_) } @line) . _steps($v);
}

# Commands, each on a line of its own, so that it can be copied.
sub _steps {
	my ($v) = @_;
	my $text = '';
	for my $s (@{ $v->{steps} // [] }) {
		$text .= '  ' . Tipme::Steps::mark_words($s->{mark}) . ": $s->{command}\n";
		$text .= '    ' . fill(N__('undo: {command}'), command => $s->{undo}) . "\n"
			if defined $s->{undo};
	}
	return $text;
}

# The kinds with most of the time, one a line; what is left, if it can be seen.
sub _largest_causes {
	my ($d) = @_;
	my ($all, $t) = ($d->{interval}{duration_ns}, $d->{totals});
	my @kinds = grep { $t->{kinds}{$_} >= $LEAST * $all } _by_time($t);
	splice @kinds, $CAUSES if @kinds > $CAUSES;
	my @rows = map {
		[ '  ' . duration_text($t->{kinds}{$_}), _share($t->{kinds}{$_}, $all), _cause($t, $_) ]
	} @kinds;
	my $ns = $all;
	$ns -= $t->{kinds}{$_} for @kinds;
	push @rows, [ '  ' . duration_text($ns), _share($ns, $all), fill(N__('all else')) ] if $ns;
	return table(\@rows, 'rrl');
}

sub _by_time {
	my ($t) = @_;
	return sort { $t->{kinds}{$b} <=> $t->{kinds}{$a} || $a cmp $b } keys %{ $t->{kinds} };
}

sub _cause {
	my ($t, $kind) = @_;
	return shorten(
		join('  ', grep {length} Tipme::Kinds::words($kind, 'phrase'), _who($t, $kind)),
		60
	);
}

sub _damage {
	my ($d) = @_;
	return join '', map { _wrap(fill(N__('Damage: {what}'), what => told($_))) } @{ $d->{damage} };
}

sub _more {
	my ($d, $sent) = @_;
	my $exact = $d->{interval} ? _wrap(_confidence($d->{verdict})) : '';
	return $exact if $sent;
	return $exact . _wrap(fill(N__('All of it: tipme diagnose {id} -v'), id => one_line($d->{id})));
}

# What the interval is made of: these lines add up to it exactly.
sub _sum {
	my ($d) = @_;
	my ($all, $t) = ($d->{interval}{duration_ns}, $d->{totals});
	my $open = $d->{interval}{certainty} eq 'open';
	my @rows = (
		[
			'ms', fill(N__('share')),
			$open
			? fill(N__('where the time went, up to {end}'), end => (_until($d))[0])
			: fill(N__('where the time went'))
		]
	);
	push @rows,
		[
		_ms($t->{kinds}{$_}), _share($t->{kinds}{$_}, $all), Tipme::Kinds::words($_, 'phrase'),
		_who($t, $_)
		]
		for _by_time($t);
	my $line = join '  ',
		map { my $ns = $t->{states}{$_} // 0; fill($STATE{$_}) . ' ' . _ms($ns) . ' ms' }
		qw(running runnable blocked), $t->{states}{unknown} ? 'unknown' : ();
	return table(
		[
			map {
				[ @$_[ 0 .. 1 ], shorten(join('  ', grep { defined && length } @$_[ 2 .. 3 ]), 76) ]
			} @rows
		],
		'rrl'
		)
		. fill(
		N__('along the path: {states}'),
		states => $line
		) . "\n";
}

sub _who {
	my ($t, $kind) = @_;
	my (%ns, %n, %pid);
	for (grep { $_->{kind} eq $kind && defined $_->{comm} } @{ $t->{blamed} }) {
		my $c = one_line($_->{comm});
		$ns{$c} += $_->{ns};
		$n{$c}++;
		$pid{$c} //= $_->{pid};
	}
	my @c    = sort { $ns{$b} <=> $ns{$a} || $a cmp $b } keys %ns;
	my @text = map {
			  $n{$_} > 1 ? fill(N__('{comm} ({n} processes)'), comm => called($_), n => $n{$_})
			: defined $pid{$_} ? "$_ ($pid{$_})"
			: called($_)
	} @c;
	splice @text, 2, @text, '...' if @text > 2;
	return @text ? '- ' . join(', ', @text) : '';
}

# What the threads of the path did meanwhile; each line adds up to the interval.
sub _threads {
	my ($d) = @_;
	my @t = sort {
			   $b->{running_ns} + $b->{runnable_ns} <=> $a->{running_ns} + $a->{runnable_ns}
			|| $a->{tid} <=> $b->{tid}
	} @{ $d->{totals}{threads} };
	my $more = @t > $MAX_ROWS ? @t - $MAX_ROWS : 0;
	splice @t, $MAX_ROWS if $more;
	my @rows = (
		[
			map { fill($_) } N__('running'), N__('runnable'), N__('blocked ms'), N__('interrupts'),
			N__('thread')
		]
	);
	for (@t) {
		my $there = $d->{interval}{duration_ns} - $_->{absent_ns};
		my $name  = one_line($_->{comm}) . " ($_->{tid})";
		push @rows, [
			(
				map { _ms($_) } @$_{qw(running_ns runnable_ns blocked_ns)},
				$_->{irq_ns} + $_->{softirq_ns}
			),
			$_->{absent_ns}
			? fill(N__('{name}, there for {ms} ms'), name => $name, ms => _ms($there))
			: $name
		];
	}
	return table(\@rows, 'rrrrl')
		. ($more ? fill(N__('and {n} more threads on the path'), n => $more) . "\n" : '');
}

sub _stages {
	my ($d) = @_;
	return () if !$d->{event};
	my $zero  = $d->{interval}{start_ns};
	my $stage = ($d->{event}{server}{source} // '') eq 'wayland' ? \%WAYLAND_STAGE : \%STAGE;
	my @rows  = map {
		[
			'+' . _ms($_->{ts_ns} - $zero), 'ms',
			fill($stage->{ $_->{name} } // $_->{name})
				. ($_->{certainty} eq 'exact' ? '' : fill(N__(' (inferred)')))
		]
	} @{ $d->{event}{stages} };
	push @rows, [ '+' . _ms($d->{interval}{end_ns} - $zero), 'ms', join ': ', (_until($d))[ 1, 2 ] ]
		if $d->{interval}{certainty} eq 'open';
	return fill(
		N__('from finger to screen (event {n}, {event})'), n => $d->{event}{n},
		event => event_words($d->{event}{kind})
		)
		. "\n"
		. table(\@rows, 'rll');
}

# Where an open interval ends: the end, what happens there, and what that means for the answer.
sub _until {
	my ($d) = @_;
	return map { fill($_) } N__('the client\'s end'), N__('the client closed its connection'),
		N__('no answer')
		if $d->{interval}{gone};
	my $trigger = ($d->{trigger}{kind} // '') eq 'hotkey' ? N__('the hot-key') : N__('the trigger');
	return map { fill($_) } $trigger, $trigger, N__('no answer yet');
}

# A latency: its stages, and where its CPU was meanwhile.
sub _places {
	my ($d) = @_;
	my $l = $d->{latency} or return ();
	my @ms =
		map { $_ => defined $l->{"${_}_ns"} ? _ms($l->{"${_}_ns"}) : '-' } qw(irq deferred thread);
	my $stages = fill(
		defined $l->{irq_ns}
		? N__(
				  'stages of the latency: interrupt {irq} ms, deferred work {deferred} ms, '
				. 'thread {thread} ms'
			)
		: N__('stages of the latency: thread {thread} ms'),
		@ms
	);
	my @p    = @{ $l->{places} };
	my $more = @p > $MAX_ROWS ? @p - $MAX_ROWS : 0;
	splice @p, $MAX_ROWS if $more;
	my $table = _narrow(
		table(
			[
				map {
					[ $_->{samples}, _share($_->{samples}, $l->{samples}), one_line($_->{where}) ]
				} @p
			],
			'rrl'
		)
	);
	return "$stages\n" . fill(
		$l->{samples}
		? N__('where CPU {cpu} was until then: {n} samples')
		: N__('where CPU {cpu} was until then: no samples'),
		cpu => $l->{cpu}, n => $l->{samples}
		)
		. "\n"
		. ($l->{samples} ? $table                                              : '')
		. ($more         ? fill(N__('and {n} more places'), n => $more) . "\n" : '');
}

sub _narrow {
	my ($text) = @_;
	return join '', map { shorten($_, $MAX_WIDTH) . "\n" } split /\n/, $text;
}

sub _evidence {
	my ($d) = @_;
	my @rows = map {
		[
			one_line($_->{file}), fill(N__('record')), $_->{record},
			fill(N__('at {s}'), s => sprintf '%.6f', $_->{ts_ns} / 1e9), one_line($_->{what})
		]
	} @{ $d->{evidence} };
	return fill(N__('evidence')) . "\n" . _narrow(table(\@rows, 'llrll'));
}

sub _footer {
	my ($d) = @_;
	my @line;
	push @line,
		fill(
		N__(
				  'sampled each 20 ms: how long threads ran and waited is exact, '
				. 'when is known to 20 ms, who woke them is not known'
		)
		) if $d->{sampled};
	push @line, _confidence($d->{verdict}) if $d->{interval};
	push @line, _usual($d->{interval})     if $d->{interval};
	push @line, _lost($d->{lost});
	push @line,
		fill(
		N__('{n} records of kinds that this program does not know were skipped'),
		n => $d->{unknown_records}
		) if $d->{unknown_records};
	push @line, map { fill(N__('damage: {what}'), what => told($_)) } @{ $d->{damage} };
	push @line,
		fill(
		N__(
			'{n} kernel records before the interval\'s end were left out: more than fit into memory'
		),
		n => $d->{left_out}
		) if $d->{left_out};
	push @line, _own_cost($d->{overhead}) if $d->{overhead};
	return join '', map { one_line($_) . "\n" } @line;
}

sub _own_cost {
	my ($o) = @_;
	my $n = with_commas($o->{records});
	return fill(
		N__('the recorder itself: {n} records in the interval, their cost was not measured here'),
		n => $n
	) if !defined $o->{share};
	my %value = (
		n => $n, cpus => $o->{cpus},
		map { $_ => sprintf '%.3f', 100 * $o->{$_} } qw(share share_low share_high)
	);
	my $said = fill(
		N__('the recorder itself: {n} records in the interval, about {share} % of {cpus} CPUs'),
		%value
	) . fill(N__(' ({share_low} to {share_high})'), %value);
	return $said if !$o->{samples};
	return $said . fill(
		N__('; of that, {samples} % for samples'),
		samples => sprintf '%.3f', 100 * $o->{share} * $o->{samples_ns} / ($o->{total_ns} || 1)
	);
}

# What "usually" meant here.
sub _usual {
	my ($i) = @_;
	return () if !defined $i->{usual_ns};
	return fill(
		$i->{usual_where} eq 'library'
		? N__('usually: the median of {n} such events in your earlier episodes')
		: N__('usually: the median of the {n} other such events in this episode'),
		n => $i->{usual_count}
	);
}

sub _confidence {
	my ($v)   = @_;
	my $exact = sprintf '%.0f', 100 * $v->{exact};
	return fill(N__('{n} % of the delay measured exactly'), n => $exact)
		if $v->{confidence} >= $v->{exact};
	return fill(
		$v->{second}
		? N__(
			'confidence {c} %: another part is nearly as large; {n} % of the delay measured exactly'
			)
		: N__(
				  'confidence {c} %: what is not exact may belong to another; '
				. '{n} % of the delay measured exactly'
		),
		c => sprintf('%.0f', 100 * $v->{confidence}),
		n => $exact
	);
}

sub _lost {
	my ($lost) = @_;
	my $sums   = Tipme::Episode::lost_sums($lost);
	my $line   = fill(
		N__('{n} records lost{causes}'), n => $sums->{records},
		causes => _lost_causes($sums->{record_causes})
	);
	return $line if !$sums->{stacks};
	return $line . '; ' . fill(
		N__('{n} records are there without their stack{causes}'),
		n => $sums->{stacks}, causes => _lost_causes($sums->{stack_causes})
	);
}

sub _lost_causes {
	my ($causes) = @_;
	return @$causes ? ' (' . join(', ', map {"@$_"} @$causes) . ')' : '';
}

1;
