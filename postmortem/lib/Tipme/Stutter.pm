# SPDX-License-Identifier: GPL-2.0-only
# A picture that moves (a film, an animation, scrolling) and stands still for a moment: a window
# that was drawn regularly, or a compositor that painted regularly, misses frames, and then goes on.
# No input event waits for that.
package Tipme::Stutter;

use strict;
use warnings;

my $LOOK_NS   = 15_000_000_000;  # before the trigger: what the user means is not older
my $FRAME_NS  = 4_000_000;       # drawings closer than this are one frame
my $SLOWEST   = 50_000_000;      # period of a picture that moves
my $BEFORE    = 20;              # frames that tell the period
my $EVEN      = 0.8;             # of them that come in time
my $AFTER     = 5;               # frames by which it goes on
my $RESUME_NS = 5_000_000_000;   # one that goes on later had been stopped, not held up
my $LEAST_NS  = 100_000_000;     # a shorter gap is hardly seen
my $ANSWER_NS = 100_000_000;     # a picture that goes on so soon after an input event goes on by it
my $MISSED    = 4;               # frames, at least
my $START_NS  = 10_000_000_000;  # a program has started by then

# worst(SOURCES, TRIGGER): the longest gap: { source, pid, from_ns (when the next frame was due),
# to_ns (when it came), last_ns (the last one before), period_ns, missed (frames), draw (the fact
# that ended it), paints (1: a compositor's) }; undef: there is none
sub worst {
	my ($class, $trigger, @sources) = @_;
	my $worst;
	for my $x (@sources) {
		my %of;
		push @{ $of{"$_->{pid} $_->{window}"} }, $_
			for grep { $_->{pid} } $x->between('draw', $trigger - $LOOK_NS, $trigger);
		my @gaps = map { _gaps($x, $of{$_}) } sort keys %of;
		# What no client missed, the one who brings all of it to the screen has.
		push @gaps, map {
			{ %$_, paints => 1 }
		} map { _gaps($x, $_) } $x->painted_between($trigger - $LOOK_NS, $trigger);
		for my $g (@gaps) {
			my $meanwhile = sub { $_->{last_ns} < $g->{to_ns} && $_->{to_ns} > $g->{from_ns} };
			next if $g->{paints} && grep { !$_->{paints} && $meanwhile->() } @gaps;
			$worst = $g
				if !$worst || $g->{to_ns} - $g->{from_ns} > $worst->{to_ns} - $worst->{from_ns};
		}
	}
	return $worst;
}

# by_input(GAP, EVENTS): does the picture go on as the answer to an input event? It came in the gap,
# just before the next frame. Then the picture moves because of the user (a page that each key sets
# going), and was not due before. Of motion only what went to its process counts.
sub by_input {
	my ($class, $g, @events) = @_;
	return scalar grep {
			  !$_->{chord}
			&& $_->{device_ns} > $g->{from_ns}
			&& $_->{device_ns} <= $g->{to_ns}
			&& $g->{to_ns} - $_->{device_ns} < $ANSWER_NS
			&& ($_->{kind} ne 'motion' || ($_->{pid} // 0) == $g->{pid})
	} @events;
}

# at_start(GAP, THREADS, SINCE): was its program made just before, as the records since then tell? A
# program that starts has much to do, and its start is told as such.
sub at_start {
	my ($class, $g, $threads, $since) = @_;
	my $born = $threads->at(@$g{qw(pid from_ns)})->{start_ns} || 0;
	return $born > $since && $g->{from_ns} - $born < $START_NS ? 1 : 0;
}

# by_clock(CHAIN): what of its walk threads slept, whichever they were, until a timer of their own,
# in ns: none of that is a wait for somebody. A lock or an answer that ends a futex is given by a
# thread.
sub by_clock {
	my ($class, $chain) = @_;
	my $ns = 0;
	for my $w ($chain->waits) {
		my $r = $w->{reason};
		next if !$r || !$w->{waker} || $w->{waker}{context} ne 'hardirq';
		$ns += $w->{to} - $w->{from}
			if $r->{class} =~ /\A(?:loop|nap)\z/ || $r->{kind} eq 'futex-wait';
	}
	return $ns;
}

# The gaps of one series of drawings.
sub _gaps {
	my ($x, $draws) = @_;
	my (@frames, @gaps);
	for my $d (@$draws) {
		push @frames, $d if !@frames || $d->{ts_ns} - $frames[-1]{ts_ns} >= $FRAME_NS;
	}
	for my $k ($BEFORE .. $#frames - $AFTER) {
		my $gap = $frames[$k]{ts_ns} - $frames[ $k - 1 ]{ts_ns};
		next if $gap < $LEAST_NS || $gap > $RESUME_NS;
		my $period = _period(@frames[ $k - $BEFORE .. $k - 1 ]) or next;
		my $after  = ($frames[ $k + $AFTER ]{ts_ns} - $frames[$k]{ts_ns}) / $AFTER;
		my $missed = int($gap / $period + 0.5) - 1;
		next if $missed < $MISSED || $after > 2 * $period;
		push @gaps,
			{
			source    => $x, pid => $draws->[0]{pid}, last_ns => $frames[ $k - 1 ]{ts_ns},
			from_ns   => $frames[ $k - 1 ]{ts_ns} + $period, to_ns  => $frames[$k]{ts_ns},
			period_ns => $period,                            missed => $missed, draw => $frames[$k]
			};
	}
	return @gaps;
}

# The time between frames, if they come regularly; 0: they do not.
sub _period {
	my (@frames) = @_;
	my @between =
		sort { $a <=> $b } map { $frames[$_]{ts_ns} - $frames[ $_ - 1 ]{ts_ns} } 1 .. $#frames;
	my $median = $between[ $#between / 2 ];
	my $even   = grep { $_ >= 0.5 * $median && $_ <= 1.6 * $median } @between;
	return $median <= $SLOWEST && $even >= $EVEN * @between ? $median : 0;
}

1;
