# SPDX-License-Identifier: GPL-2.0-only
# The response time of each input event as the X server saw it, and what they come to: median, 95th percentile, time spent waiting.
package Tipme::Responses;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::InputPath;
use Tipme::Printable qw(characters);
use Tipme::Threads;

our @EXPORT_OK = qw(responses summary percentile);

# responses(EPISODE): for each input event, in order of time: { n, kind, hotkey, server, client {pid, comm}, entered_ns, server_ns, deliver_ns,
# first_damage_ns, feedback_ns, response_ns }; a stage that did not come is undef. The feedback is the end of the first
# burst of changes that the client made after the delivery; diagnose looks closer, at one event.
sub responses {
	my ($episode) = @_;
	my $threads = Tipme::Threads->new($episode);
	return map { _response($_, $threads) } Tipme::InputPath->new($episode)->events;
}

sub _response {
	my ($e, $threads) = @_;
	my $entered = $e->{wakeup_ns} // $e->{device_ns};
	my $burst   = ref $e->{bursts} eq 'ARRAY' ? $e->{bursts}[0] : undef;
	my $client  = $e->{pid} ? { pid => $e->{pid}, comm => characters($threads->at($e->{pid}, $e->{deliver_ns})->{comm}) } : undef;
	return { n => $e->{n}, kind => $e->{kind}, hotkey => $e->{chord} ? 1 : 0, client => $client,
		server => { pid => $e->{server}{pid}, name => characters($e->{server}{name}), display => $e->{server}{display} },
		entered_ns => $entered, server_ns => $e->{device_ns}, deliver_ns => $e->{deliver_ns},
		first_damage_ns => $burst ? $burst->[0] : undef, feedback_ns => $burst ? $burst->[1] : undef, response_ns => $burst ? $burst->[1] - $entered : undef };
}

# summary(RESPONSES): { events, answered, median_ns, p95_ns, max_ns, max_n, wait_ns, think_ns }. The user waits from an event to its
# feedback, and thinks from a feedback to the next event; both together reach from the first event to the last.
sub summary {
	my (@events) = grep { !$_->{hotkey} } @_;
	my @answered = sort { $a->{response_ns} <=> $b->{response_ns} } grep { defined $_->{response_ns} } @events;
	my @ns = map { $_->{response_ns} } @answered;
	my ($wait, $think) = _wait_and_think(@events);
	return { events => scalar @events, answered => scalar @answered, median_ns => percentile(\@ns, 50), p95_ns => percentile(\@ns, 95),
		max_ns => $ns[-1], max_n => @answered ? $answered[-1]{n} : undef, wait_ns => $wait, think_ns => $think };
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
		my ($from, $to) = ($e->{entered_ns}, $e->{feedback_ns} // $e->{entered_ns});
		$until //= $from;
		$think += $from - $until if $from > $until;
		$from = $until if $from < $until;
		$wait += $to - $from if $to > $from;
		$until = $to if $to > $until;
	}
	return ($wait, $think);
}

1;
