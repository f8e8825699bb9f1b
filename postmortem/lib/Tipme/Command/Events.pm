# SPDX-License-Identifier: GPL-2.0-only
# tipme events: every input event of an episode, how long each stage took, and the response times
# together.
package Tipme::Command::Events;

use strict;
use warnings;
use Tipme::CommandLine qw(options complain print_json ms table);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Library;
use Tipme::Moment    qw(clock_text);
use Tipme::Phrases   qw(phrase);
use Tipme::Printable qw(put one_line shorten);
use Tipme::Responses qw(responses summary kind_words);
use Tipme::Verdict   qw(duration_text event_words);
use Tipme::Told      qw(told);
use Tipme::Words     qw(N__ fill);

my $HELP = N__(<<'END');
usage: tipme events [EPISODE] [--slowest] [--json]

Every input event with its stages: how long the X server took to read it, to deliver it, the
client to change the screen (DRAWN: the first change) and to finish its answer (RESPONSE, from the
beginning; with ... behind it has not come yet, with `gone` the client closed its connection
without one). Times count from the trigger. Without EPISODE, the newest. --slowest lists only the
five presses that were answered latest, by the clock on the wall; `tipme diagnose EPISODE --event
N` judges one.

  tipme events
  tipme events 20261120-150301-3f2a
  tipme events last --slowest
  tipme events last --json | jq '.summary'
END

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, 1, 'json', 'slowest');
	return $exit if !$o;
	my $episode   = Tipme::Episode->open(Tipme::Library->folder_of($args[0]));
	my $diagnosis = Tipme::Diagnosis->new($episode);
	return _slowest($o, $episode, $diagnosis->slowest) if $o->{slowest};
	my @events  = responses($diagnosis);
	my $summary = summary(@events);

	if ($o->{json}) {
		print_json(
			{
				version => 1,        id      => $episode->id, trigger_ns => $episode->trigger_ns,
				events  => \@events, summary => $summary
			}
		);
	} else {
		put(_text($episode, \@events, $summary));
	}
	complain('events', one_line(told($_))) for $episode->damage;
	return 0;
}

# The words of each moment are those of the list that `tipme diagnose` prints where nothing was
# unusual.
sub _slowest {
	my ($o, $episode, $slowest) = @_;
	$_->{words} = phrase(
		'moment', clock => clock_text($_->{time}) // '-', event => event_words($_->{kind}),
		program => one_line($_->{comm}), time => duration_text($_->{duration_ns})
	) for @$slowest;
	if ($o->{json}) { print_json({ version => 1, id => $episode->id, slowest => $slowest }) }
	else {
		put(join('', map {"$_->{words}  --event $_->{n}\n"} @$slowest)
				|| phrase('no_moments') . "\n");
	}
	return 0;
}

sub _text {
	my ($episode, $events, $summary) = @_;
	return fill(
		N__(
			'No input events in this episode: no X server had hooks, or nobody touched a key (see '
				. '`tipme show`).'
		)
		)
		. "\n"
		if !@$events;
	my @rows = (
		[
			map { fill($_) } N__('N'), N__('AT, s'), N__('KIND'), N__('CLIENT'), N__('READ'),
			N__('SENT'), N__('DRAWN'), N__('RESPONSE')
		]
	);
	for my $e (@$events) {
		push @rows, [
			$e->{n}, sprintf('%.3f', ($e->{entered_ns} - $episode->trigger_ns) / 1e9),
			kind_words($e->{kind}),                   _client($e->{client}),
			_took($e->{entered_ns}, $e->{server_ns}), _took($e->{server_ns}, $e->{deliver_ns}),
			_took($e->{deliver_ns}, $e->{first_damage_ns}),
			$e->{hotkey}
			? fill(N__('hot-key'))
			: ms($e->{response_ns})
				. ($e->{gone} ? ' ' . fill(N__('gone')) : $e->{open} ? ' ...' : '')
		];
	}
	return table(\@rows, 'rrllrrrr') . "\n" . _sum($summary);
}

sub _client {
	my ($c) = @_;
	return '-' if !$c;
	return defined $c->{pid}
		? shorten(one_line($c->{comm}), 15) . " ($c->{pid})"
		: one_line($c->{comm}) =~ s/ \(.*/' (' . fill(N__('not local')) . ')'/er;
}

sub _took { my ($from, $to) = @_; return ms(defined $from && defined $to ? $to - $from : undef) }

sub _sum {
	my ($s) = @_;
	my $text = fill(
		N__('{n} input events, {answered} answered'),
		n => $s->{events}, answered => $s->{answered}
	);
	$text .= fill(N__(', {n} not yet'), n => $s->{open} - $s->{gone}) if $s->{open} > $s->{gone};
	$text .= fill(N__(', {n} never'),   n => $s->{gone})              if $s->{gone};
	$text .= fill(
		N__(': median {median}, 95th percentile {p95}, longest {longest} (event {n})'),
		median  => ms($s->{median_ns}), p95 => ms($s->{p95_ns}),
		longest => ms($s->{max_ns}),    n   => $s->{max_n}
	) if defined $s->{median_ns};
	my $all = $s->{wait_ns} + $s->{think_ns};
	$text .= "\n" . fill(
		N__(
				  'waiting for answers {wait} of {all} between the first event and the last answer '
				. '({share} %)'
		),
		wait  => ms($s->{wait_ns}),
		all   => ms($all),
		share => sprintf('%.1f', 100 * $s->{wait_ns} / $all)
	) if $all;
	return "$text\n";
}

1;
