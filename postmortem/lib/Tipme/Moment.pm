# SPDX-License-Identifier: GPL-2.0-only
# A time of the recorder's clock as a person tells it: by the clock on the wall, and how long before
# the trigger.
package Tipme::Moment;

use strict;
use warnings;
use Exporter     qw(import);
use POSIX        ();
use Time::Local  qw(timegm timelocal);
use Tipme::Words qw(N__ fill);

my $NS_PER_S = 1_000_000_000;
my $LEAST_NS = 1_000_000_000;    # less are seconds: no machine is up for 30 years

our @EXPORT_OK = qw(moment clock_text before_text ns_of stretch_of);

# moment(EPISODE, NS): { time: UTC as in the manifest, to a millisecond, or undef where the episode
# does not say when it was, before_trigger_ns: negative where it came later }. While the machine
# sleeps CLOCK_MONOTONIC stands still, and the clock on the wall goes on: that is counted here.
sub moment {
	my ($ep,      $ns)     = @_;
	my ($trigger, $before) = ($ep->trigger_ns, $ep->trigger_ns - $ns);
	my $slept = 0;
	$slept += $_->{slept_ns} for $before > 0 ? $ep->suspends($ns, $trigger) : ();
	return {
		time              => scalar _earlier($ep->manifest->{time}, $before + $slept),
		before_trigger_ns => $before
	};
}

sub _earlier {
	my ($utc,   $ns) = @_;
	my ($epoch, $ms) = _epoch($utc) or return;
	$ms += 1000 * $epoch - int($ns / 1e6);
	return POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime int($ms / 1000)) . sprintf '.%03dZ',
		$ms % 1000;
}

# ( seconds since 1970, ms ) of "2026-11-20T15:03:01.234Z"
sub _epoch {
	my ($utc) = @_;
	return if !defined $utc || ref $utc;
	my @t     = $utc =~ /\A(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z\z/ or return;
	my $epoch = eval { timegm(@t[ 5, 4, 3, 2 ], $t[1] - 1, $t[0]) } // return;
	return ($epoch, defined $t[6] ? int(1000 * "0.$t[6]") : 0);
}

# clock_text(UTC): "15:03:01" here, with the day before it unless that is today's; undef where it is
# no time
sub clock_text {
	my ($utc)   = @_;
	my ($epoch) = _epoch($utc) or return;
	my ($day, $today) = map { POSIX::strftime('%Y-%m-%d', localtime $_) } $epoch, time;
	my $clock = POSIX::strftime('%H:%M:%S', localtime $epoch);
	return $day eq $today ? $clock : "$day $clock";
}

my %BEFORE = (
	hotkey => N__('{time} before you pressed the hot-key'),
	other  => N__('{time} before it was saved'),
);
my %AFTER = (
	hotkey => N__('{time} after you pressed the hot-key'),
	other  => N__('{time} after the trigger'),
);

# before_text(TRIGGER KIND, NS before the trigger): "1.3 s before you pressed the hot-key"
sub before_text {
	my ($kind, $ns) = @_;
	my $of = $ns >= 0 ? \%BEFORE : \%AFTER;
	my $s  = abs($ns) / 1e9;
	return fill(
		$of->{ $kind // '' } // $of->{other},
		time => sprintf $s < 9.95 ? '%.1f s' : '%.0f s', $s
	);
}

# ns_of(EPISODE, TIME): a time as users give it: HH:MM:SS by the clock on the wall; seconds of
# CLOCK_MONOTONIC if it has a decimal point or is small, else ns; a negative one counts from the
# trigger. Dies where it is no time.
sub ns_of {
	my ($ep, $at) = @_;
	return _by_clock($ep, $at) if $at =~ /:/;
	my ($minus, $s, $fraction) = $at =~ /\A(-?)(\d{1,19})(?:[.](\d{1,9}))?\z/
		or die "--at $at: not a time: give HH:MM:SS, -SECONDS before the trigger, or seconds or "
		. "nanoseconds of CLOCK_MONOTONIC\n";
	return $s + 0 if !$minus && !defined $fraction && $s >= $LEAST_NS;

	# Digit by digit: a product of floating point numbers is off by a nanosecond now and then.
	my $ns = $s * $NS_PER_S + substr(($fraction // '') . '0' x 9, 0, 9);
	return $minus ? $ep->trigger_ns - $ns : $ns;
}

# On the day on which it is closest to the trigger: midnight may lie between.
sub _by_clock {
	my ($ep, $at)                   = @_;
	my ($hour, $min, $s, $fraction) = $at =~ /\A(\d{1,2}):(\d\d):(\d\d)(?:[.](\d{1,9}))?\z/;
	my ($epoch, $ms)                = _epoch($ep->manifest->{time})
		or die "--at $at: the episode does not say when it was: give -SECONDS before the trigger\n";
	my ($nearest) = sort { abs $a <=> abs $b } map {
		my @day = (localtime $epoch + 86_400 * $_)[ 3, 4, 5 ];
		my $t   = eval { timelocal($s, $min, $hour, @day) };
		defined $t ? $epoch - $t : ();
	} -1, 0, 1;
	die "--at $at: not a time: give HH:MM:SS by the clock\n" if !defined $nearest;
	my $before = $nearest * $NS_PER_S + $ms * 1e6 - substr(($fraction // '') . '0' x 9, 0, 9);
	# What the machine slept meanwhile is none of CLOCK_MONOTONIC.
	my @slept = $before > 0 ? $ep->suspends(0, $ep->trigger_ns) : ();
	for my $p (sort { $b->{to_ns} <=> $a->{to_ns} } @slept) {
		my $since = $ep->trigger_ns - $p->{to_ns};
		last if $before <= $since;
		$before = $before - $p->{slept_ns} > $since ? $before - $p->{slept_ns} : $since;
	}
	return $ep->trigger_ns - $before;
}

# stretch_of(EPISODE, TIME): (from, to) in ns: a whole second where it is one by the clock, else
# from is to; dies where nothing was recorded then
sub stretch_of {
	my ($ep, $at) = @_;
	my $from    = ns_of($ep, $at);
	my $to      = $at =~ /:\d\d\z/ ? $from + $NS_PER_S - 1 : $from;
	my $last    = $ep->end_ns;
	my ($first) = sort { $a <=> $b } grep {defined} map { $_->{first_ns} } $ep->coverage;
	return ($from, $to) if !$first || $to >= $first && $from <= $last;
	die sprintf "--at %s: nothing was recorded then: choose one from %.3f to %.3f s, "
		. "or up to -%.3f s before the hot-key\n",
		$at, map { $_ / $NS_PER_S } $first, $last, $ep->trigger_ns - $first;
}

1;
