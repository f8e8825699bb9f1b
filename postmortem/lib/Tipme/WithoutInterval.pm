# SPDX-License-Identifier: GPL-2.0-only
# What is said of an episode, or of an event, that has no interval to be judged.
package Tipme::WithoutInterval;

use strict;
use warnings;
use Tipme::Brought;
use Tipme::Verdict qw(event_words no_input);
use Tipme::Words   qw(N__ fill);

# why_not(DIAGNOSIS, N): what hinders that an input event is judged, in words
sub why_not {
	my ($d, $n) = @_;
	my ($e) = grep { $_->{n} == $n } $d->events;
	return fill(N__('There is no input event {n}'),      n => $n) if !$e;
	return fill(N__('Event {n} belongs to the hot-key'), n => $n) if $e->{chord};
	return fill(
		defined $e->{deliver_ns}
		? N__('No answer is known to event {n}, {event}: nothing on the screen changed by it')
		: N__('No answer is known to event {n}, {event}: it went to no client'),
		n => $n, event => event_words($e->{kind})
	);
}

# verdict(DIAGNOSIS, event => N, stall => 1): where there is no event, or not that one; stall: a
# thread is told that stood still
sub verdict {
	my ($d, %o) = @_;
	my $q = Tipme::Brought::quiet($d, $d->{kernel}->sampled);
	return no_input(fill(N__('{why}: `tipme events` lists them.'), why => why_not($d, $o{event})))
		if defined $o{event};

	# Samples would not have seen it; and where one did, the sentence has named it already.
	my $still =
		!$q->{still} || $o{stall}
		? ''
		: fill(N__(' No thread of a program stood still for 100 ms.'));
	return no_input(
		fill(
			N__(
				'No X server was recorded, so which key was slow is not known: load the hooks into '
					. 'the X server (`tipme doctor` says how).{still}'
			),
			still => $still
		)
	) if !$q->{servers};
	return no_input(
		fill(
			N__('No input event is in this episode: press a key before the hot-key.{still}'),
			still => $still
		)
	) if !$q->{events};
	return {
		kind     => 'none', share => 0, share_ns => 0, blamed => undef, exact => 1, confidence => 1,
		sentence => fill(
			N__('Nothing unusual: none of the {n} input events here waited for an answer.'),
			n => $q->{events}
		)
	};
}

1;
