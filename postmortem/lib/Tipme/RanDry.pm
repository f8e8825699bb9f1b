# SPDX-License-Identifier: GPL-2.0-only
# An episode that a stream of sound has triggered which ran dry, or over (`tipme latency xruns`):
# which thread was to serve it, and from when on it had time to.
#
# A buffer that is full lasts for its whole length. So a thread that has served it in time has had
# work to do at the latest when the time before the underrun that is left was that long.
package Tipme::RanDry;

use strict;
use warnings;

my $WORDS = qr/\A underrun[ ]of[ ](pcmC\d{1,3}D\d{1,3}[pc]|pipewire-\d{1,10})
	[ ]at[ ](\d{1,10})\.(\d{6})[ ]s,[ ]buffer[ ](\d{1,7}\.\d{3})[ ]ms,[ ]thread[ ](\d{1,10}) \z/x;

# words(TEXT): the words of a trigger if they are of a stream, and so nobody's own; else ''
sub words { my ($text) = @_; return defined $text && $text =~ $WORDS ? $text : '' }

# of(EPISODE): { stream, tid, start_ns, end_ns, buffer_ns } of the stream that has triggered the
# episode; undef: none has, or the records begin after it
sub of {
	my ($class, $ep, $from_ns) = @_;
	my ($stream, $s, $us, $ms, $tid) = ($ep->manifest->{trigger}{text} // '') =~ $WORDS or return;
	my $end   = $s * 1_000_000_000 + $us * 1000;
	my $start = $end - int($ms * 1e6 + 0.5);
	$start = $from_ns if $start < $from_ns;
	return if $start >= $end || $end > $ep->trigger_ns;
	return bless {
		stream    => $stream, tid => $tid + 0, start_ns => $start, end_ns => $end,
		buffer_ns => int($ms * 1e6 + 0.5)
	}, $class;
}

# stall(): what a diagnosis of a thread is asked for
sub stall {
	my ($self) = @_;
	return { (map { $_ => $self->{$_} } qw(tid start_ns end_ns)), what => 'underrun' };
}

# segments(STATES, THREADS, WALK): of the whole interval, the wake-up chain's, WALK->(FROM)
sub segments { my ($self, $states, $threads, $walk) = @_; return $walk->($self->{start_ns}) }

# facts(): of `underrun` in the data of a diagnosis
sub facts {
	my ($self) = @_;
	return { map { $_ => $self->{$_} } qw(stream tid buffer_ns) };
}

1;
