# SPDX-License-Identifier: GPL-2.0-only
# Mean time to buffer underrun of a client that is fed in cycles, and how late it may be.
#
# Cota-Robles and Held, "A Comparison of Windows Driver Model Latency Performance on Windows NT and
# Windows 98", OSDI 1999, sections 1 and 5.1: with N buffers of T and C of computing per cycle, the
# buffers last (N-1)T; whoever starts later than the slack (N-1)T - C underruns. Each cycle draws
# one latency, so underruns come once in T / P(latency > slack).
package Tipme::Latency::Underrun;

use strict;
use warnings;
use Exporter           qw(import);
use Tipme::CommandLine qw(seconds with_commas);
use Tipme::Page;
use Tipme::Statistics qw(poisson_interval);
use Tipme::Words      qw(N__ fill);

our @EXPORT_OK = qw(a_day clients client slack_ms mttf rows_of works allowed);

# name: buffers, cycle in ms, share of the cycle that is computing, what it is. The paper's are
# those of its table 1 and section 5.1 (the datapump computes for 25 % of its cycle); their buffers
# and cycles give both ends of its tolerances, as far as whole buffers do. Today's: frames / 48,000
# a second.
#
# Unit: seconds. A buffer may be lost as often as section 5.2 of the paper has it: one in five to
# ten minutes with sound and pictures of low latency, one in an hour with a modem, and where nothing
# else is known.
my ($OF_SOUND_S, $USUAL_S) = (600, 3600);
my $AUDIO   = N__('audio at 48 kHz, 2 buffers of {n} frames');
my @CLIENTS = (
	[ 'adsl',         2, 4,  0.25, N__('ADSL, 2 buffers of 4 ms (1999)') ],
	[ 'adsl-10',      6, 2,  0.25, N__('ADSL, 6 buffers of 2 ms (1999)') ],
	[ 'modem-4',      4, 4,  0.25, N__('soft modem, 4 buffers of 4 ms (1999)') ],
	[ 'modem-6',      3, 6,  0.25, N__('soft modem, 3 buffers of 6 ms (1999)') ],
	[ 'modem-16',     2, 16, 0.25, N__('soft modem, 2 buffers of 16 ms (1999)') ],
	[ 'modem-20',     6, 4,  0.25, N__('soft modem, 6 buffers of 4 ms (1999)') ],
	[ 'rt-audio',     4, 8,  0.25, N__('real-time audio, 4 buffers of 8 ms (1999)'),  $OF_SOUND_S ],
	[ 'rt-audio-56',  8, 8,  0.25, N__('real-time audio, 8 buffers of 8 ms (1999)'),  $OF_SOUND_S ],
	[ 'rt-video-33',  2, 33, 0.25, N__('real-time video, 2 buffers of 33 ms (1999)'), $OF_SOUND_S ],
	[ 'rt-video',     3, 33, 0.25, N__('real-time video, 3 buffers of 33 ms (1999)'), $OF_SOUND_S ],
	[ 'rt-video-100', 3, 50, 0.25, N__('real-time video, 3 buffers of 50 ms (1999)'), $OF_SOUND_S ],
	(
		map { [ "audio-$_", 2, $_ / 48, 0.25, $AUDIO, $OF_SOUND_S, $_ ] } 64,
		128, 256, 512, 1024
	),
	[ 'pipewire',  2, 1024 / 48,  0.1, N__('PipeWire\'s usual quantum, 1024 frames'), $OF_SOUND_S ],
	[ 'video-60',  2, 1000 / 60,  0.5, N__('video at 60 Hz, double buffered'),        $OF_SOUND_S ],
	[ 'video-120', 2, 1000 / 120, 0.5, N__('video at 120 Hz, double buffered'),       $OF_SOUND_S ],
);

sub clients {
	return map {
		{
			name       => $_->[0],           buffers => $_->[1], cycle_ms => $_->[2],
			compute_ms => $_->[2] * $_->[3], what    => fill($_->[4], n => $_->[6]),
			allowed_s  => $_->[5] // $USUAL_S
		}
	} @CLIENTS;
}

# client(TEXT): one by name, or N x T with C of computing, in ms: "3x6", "3x6:1.5". Dies by a
# sentence.
sub client {
	my ($text)  = @_;
	my ($known) = grep { $_->{name} eq $text } clients();
	return $known if $known;
	my ($n, $t, $c) =
		$text =~ /\A([0-9]{1,3})x([0-9]{1,5}(?:\.[0-9]{1,6})?)(?::([0-9]{1,5}(?:\.[0-9]{1,6})?))?\z/
		or die
		"client $text: not known, and not BUFFERSxCYCLE[:COMPUTE] in ms, as in 3x6:1.5: `tipme "
		. "latency mttf --clients` lists names\n";
	$c //= $t / 4;
	die "client $text: at least 2 buffers: one is being played while another is filled\n" if $n < 2;
	die "client $text: a cycle of 0 ms\n" if $t <= 0;
	die sprintf "client %s: it computes for %g of each %g ms: above the whole CPU\n", $text, $c, $t
		if $c > $t;
	return {
		name      => $text, buffers => $n + 0, cycle_ms => $t + 0, compute_ms => $c + 0,
		allowed_s => $USUAL_S,
		what      => fill(
			N__('{n} buffers of {cycle} ms, {compute} ms of computing'),
			n => $n, cycle => $t, compute => $c
		)
	};
}

sub slack_ms { my ($c) = @_; return ($c->{buffers} - 1) * $c->{cycle_ms} - $c->{compute_ms} }

# mttf(RESULT, STAGE, CLIENT): { slack_ms, late, of, mttf_s, least_s, most_s, per_day, works }.
# mttf_s is undef where no latency was above the slack; most_s then, too: nothing bounds it.
# The interval counts the latencies of a bucket that the slack lies in both ways. `works`: 1 or 0
# where all of the interval is as seldom as the client allows, or none of it; else undef.
sub mttf {
	my ($result, $stage, $c) = @_;
	my $slack = slack_ms($c);
	my ($sure, $possible) =
		$slack > 0 ? $result->above($stage, $slack * 1000) : ($result->count($stage)) x 2;
	my $n          = $result->count($stage);
	my $dispersion = $result->dispersion($stage, $slack * 1000);
	my ($least)    = poisson_interval($sure, $dispersion);
	my (undef, $most) = poisson_interval($possible, $dispersion);
	$most = $n if $most > $n;
	my $cycle_s = $c->{cycle_ms} / 1000;
	my $rate    = $possible / $n / $cycle_s;
	my ($least_s, $most_s) = ($cycle_s * $n / $most, $least ? $cycle_s * $n / $least : undef);
	return {
		client  => $c, slack_ms => $slack, late => $possible, of => $n,
		mttf_s  => $possible ? 1 / $rate : undef,
		least_s => $least_s, most_s => $most_s,
		works   => $least_s >= $c->{allowed_s} ? 1
		: defined $most_s && $most_s < $c->{allowed_s} ? 0
		: undef,
		per_day      => 86400 * $rate,
		most_per_day => 86400 * $most / $n / $cycle_s,
	};
}

# works(MTTF): whether it works here, in the user's words
sub works {
	my ($m) = @_;
	return fill(N__('not known yet')) if !defined $m->{works};
	return fill($m->{works} ? N__('yes') : N__('no'));
}

# allowed(): what these words rest on, in two lines
sub allowed {
	return fill(
		N__(
			'Works here: it runs dry at most once in {sound} (sound, video), in {usual} (all others).'
		),
		sound => seconds($OF_SOUND_S),
		usual => seconds($USUAL_S)
		)
		. "\n"
		. fill(N__('Not known yet: the interval reaches from one side of that to the other.'));
}

# part(NAME, RESULT, STAGE): of the page: [ HEADING, HTML ]
sub part {
	my ($name, $r, $stage) = @_;
	return [
		fill(N__('{name}: who would run dry'), name => $name),
		Tipme::Page::table(rows_of($r, $stage)) . '<p>' . Tipme::Page::text(allowed()) . '</p>'
	];
}

# rows_of(RESULT, STAGE): all clients, as a table has them; the first row is the heads
sub rows_of {
	my ($r, $stage) = @_;
	return (
		[
			map { fill($_) } N__('client'), N__('slack'), N__('once in'), N__('times a day'),
			N__('works here')
		],
		map {
			my $m    = mttf($r, $stage, $_);
			my $seen = defined $m->{mttf_s};
			[
				$_->{what},
				seconds($m->{slack_ms} / 1000),
				$seen
				? seconds($m->{mttf_s})
				: fill(N__('more than {time}'), time => seconds($m->{least_s})),
				$seen
				? a_day($m->{per_day})
				: fill(N__('under {n}'), n => a_day($m->{most_per_day})),
				works($m)
			]
		} clients()
	);
}

# a_day(NUMBER): with three digits, never with an exponent
sub a_day { my ($n) = @_; return $n >= 1000 ? with_commas(int $n) : sprintf '%.3g', $n }

1;
