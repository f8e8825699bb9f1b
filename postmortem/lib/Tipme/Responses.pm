# SPDX-License-Identifier: GPL-2.0-only
# The response time of each input event, and what they come to: median, 95th percentile, time spent
# waiting.
package Tipme::Responses;

use strict;
use warnings;
use Exporter         qw(import);
use Tipme::Printable qw(characters one_line);
use Tipme::Words     qw(N__ fill);
use Tipme::DisplaySource;

our @EXPORT_OK = qw(responses summary percentile kind_words);

# As a column has them; a sentence says "a key press".
my %KIND = (
	key_press      => N__('key press'),
	key_release    => N__('key release'),
	key_repeat     => N__('key repeat'),
	button_press   => N__('button press'),
	button_release => N__('button release'),
	motion         => N__('motion'),
	wheel          => N__('wheel'),
	touch          => N__('touch'),
	start          => N__('start'),
);

# kind_words(KIND): in the user's language
sub kind_words {
	my ($kind) = @_;
	return fill($KIND{$kind} // one_line($kind) =~ tr/_/ /r);
}

my %PRESS = map { $_ => 1 } qw(key_press key_repeat button_press touch start);

# responses(DIAGNOSIS): for each input event, in order of time: { n, kind, hotkey, server, client
# {pid, comm}, entered_ns, server_ns, deliver_ns, first_damage_ns, feedback_ns, response_ns, open,
# gone }; a stage that did not come is undef; so is the pid of a client from elsewhere. Presses have
# the interval that `diagnose --event` has. What else there is (releases, motion) has a response if
# it made the client change the screen and no press was waiting for just that.
sub responses {
	my ($diagnosis) = @_;
	my @events      = $diagnosis->events;
	my @r           = map  { _event($_, $diagnosis->threads) } @events;
	my @presses     = grep { $PRESS{ $events[$_]{kind} } && $events[$_]{candidate} } 0 .. $#events;
	for my $k (@presses) {
		my $i = $diagnosis->interval_of($events[$k]) or next;
		@{ $r[$k] }{qw(entered_ns open gone response_ns)} =
			($i->{start_ns}, $i->{open} ? 1 : 0, $i->{gone} ? 1 : 0, $i->{end_ns} - $i->{start_ns});
		$r[$k]{feedback_ns} = $i->{end_ns} if !$i->{open};
		# One change may have answered several presses.
		$r[$k]{first_damage_ns} //=
			defined $i->{first_ns} && $i->{first_ns} > $i->{end_ns} ? $i->{end_ns} : $i->{first_ns};
		# Looking closely, wake-ups may have told more than an observer's milliseconds.
		@{ $r[$k] }{qw(server_ns deliver_ns)} = @{ $events[$k] }{qw(device_ns deliver_ns)};
		$r[$k]{first_damage_ns} = $r[$k]{deliver_ns}
			if defined $r[$k]{first_damage_ns} && $r[$k]{first_damage_ns} < $r[$k]{deliver_ns};
	}
	my @waits = map { [ @{ $r[$_] }{qw(entered_ns response_ns)} ] }
		grep { defined $r[$_]{response_ns} } @presses;
	_add_other($r[$_], $events[$_], $diagnosis, \@waits)
		for grep { !$PRESS{ $events[$_]{kind} } && !$events[$_]{chord} } 0 .. $#events;
	return @r;
}

sub _event {
	my ($e, $threads) = @_;
	my $burst = ref $e->{bursts} eq 'ARRAY' ? $e->{bursts}[0] : undef;
	return {
		n      => $e->{n}, kind => $e->{kind}, hotkey => $e->{chord} ? 1 : 0,
		client => _client($e, $threads),
		server => {
			pid     => $e->{server}{pid}, name => characters($e->{server}{name}),
			display => $e->{server}{display}
		},
		entered_ns      => $e->{wakeup_ns} // $e->{device_ns},
		server_ns       => $e->{device_ns},
		deliver_ns      => $e->{deliver_ns},
		first_damage_ns => $burst ? $burst->[0] : undef,
		feedback_ns     => undef,
		response_ns     => undef,
		open            => 0,
		gone            => 0
	};
}

sub _client {
	my ($e, $threads) = @_;
	my $t = $e->{start} ? $e->{start}{from_ns} : $e->{deliver_ns};
	return { pid => $e->{pid}, comm => characters($threads->at($e->{pid}, $t)->{comm}) }
		if $e->{pid};
	return
		defined $e->{deliver_ns}
		? { pid => undef, comm => Tipme::DisplaySource::unnamed($e->{client}) }
		: undef;
}

# The change of the screen that a press waited for is not the answer to letting go of the key
# meanwhile.
sub _add_other {
	my ($r, $e, $diagnosis, $waits) = @_;
	# Without any change there is nothing to look for; with one that comes late, wake-ups tell
	# whether the event has caused it.
	my $answer =
		ref $e->{bursts} eq 'ARRAY' && @{ $e->{bursts} } ? $diagnosis->answer_of($e) : undef;
	my $end = $answer && !$answer->{open} ? $answer->{end_ns} : undef;
	if (!defined $end || grep { $_->[0] <= $end && $end <= $_->[0] + $_->[1] } @$waits) {
		$r->{first_damage_ns} = undef;
		return;
	}
	@$r{qw(feedback_ns response_ns)} = ($end, $end - $r->{entered_ns});
}

# summary(RESPONSES): { events, answered, open, gone, median_ns, p95_ns, max_ns, max_n, wait_ns,
# think_ns }: statistics of what was answered or still waits, or (gone, which are among the open)
# will never be answered. The user waits from an event to its feedback, and thinks from a feedback
# to the next event; both together reach from the first event to the last.
sub summary {
	my (@events) = grep { !$_->{hotkey} && $_->{kind} ne 'start' } @_;
	my @answered =
		sort { $a->{response_ns} <=> $b->{response_ns} } grep { defined $_->{response_ns} } @events;
	my @ns = map { $_->{response_ns} } @answered;
	my ($wait, $think) = _wait_and_think(@events);
	return {
		events    => scalar @events, answered => scalar(grep { !$_->{open} } @answered),
		open      => scalar(grep { $_->{open} } @answered),
		gone      => scalar(grep { $_->{gone} } @answered),
		median_ns => percentile(\@ns, 50), p95_ns => percentile(\@ns, 95),   max_ns   => $ns[-1],
		max_n     => @answered ? $answered[-1]{n} : undef, wait_ns => $wait, think_ns => $think
	};
}

# percentile(\@SORTED, P): nearest rank: always a value that was measured; undef of nothing.
sub percentile {
	my ($sorted, $p) = @_;
	return undef if !@$sorted;
	my $rank = int(($p * @$sorted + 99) / 100);
	return $sorted->[ $rank < 1 ? 0 : $rank - 1 ];
}

# Waits may overlap (typing ahead): each moment is counted once.
sub _wait_and_think {
	my ($wait, $think, $until) = (0, 0);
	for my $e (sort { $a->{entered_ns} <=> $b->{entered_ns} } @_) {
		my ($from, $to) = ($e->{entered_ns}, $e->{entered_ns} + ($e->{response_ns} // 0));
		$until //= $from;
		$think += $from - $until if $from > $until;
		$from = $until           if $from < $until;
		$wait += $to - $from     if $to > $from;
		$until = $to             if $to > $until;
	}
	return ($wait, $think);
}

1;
