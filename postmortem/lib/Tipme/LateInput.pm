# SPDX-License-Identifier: GPL-2.0-only
# Input that came late from its device: silent in the midst of a movement, then many reports at
# once, by the times that the kernel put on them. The kernel had none of them earlier, so the device
# held them back, or its radio or its power saving did.
package Tipme::LateInput;

use strict;
use warnings;
use Tipme::Reason qw(reason);
use Tipme::Reason qw(reason);
use Tipme::Record::Layout;

my $OFTEN_PER_S = 500;    # reports of an input device: an ordinary mouse sends 125
# Ns without an event of a device that is being moved; a mouse says 8 ms.
my $SILENT_NS = 200_000_000;
my $PAUSE_NS  = 3_000_000_000;    # whoever moves nothing for longer has stopped
my $BEFORE_NS = 300_000_000;      # in which it moved
my $MOVES     = 5;                # so many reports at least
my $BURST_NS  = 20_000_000;       # ns within which what was late comes all at once
my $BURST     = 8;                # events in that time that make a burst
my $DENSER    = 4;                # than it moved before
my ($MOTION)  = grep { $Tipme::Record::Layout::ENUM{input_kind}{$_} eq 'motion' }
	keys %{ $Tipme::Record::Layout::ENUM{input_kind} };

# facts(VERDICT, EPISODE, EVENTS, DISPLAY SOURCES): reasons: a device that was late in a movement;
# and where nothing else is found, that the device of the last press may have slept
sub facts {
	my ($v, $ep, $events, @servers) = @_;
	my $state  = $ep->manifest->{state};
	my $inputs = ref $state eq 'HASH' ? $state->{inputs} : undef;
	my @facts  = map { @{ $_->{input} // [] } } @servers;
	my ($last) = grep { $_->{candidate} && defined $_->{device_ns} } reverse @$events;
	my $slept =
		$v->{kind} eq 'none' && $last ? after_sleep($last->{device_ns}, $inputs, @facts) : undef;
	return (_late_words($inputs, longest(@facts)), _slept_words($slept));
}

sub _late_words {
	my ($inputs, $late) = @_;
	return if !$late;
	my $is = input_of($inputs, $late->{device});
	return reason(
		$is ? ('input-silent-on', bus => "bus-$is->{bus}") : 'input-silent',
		device   => "event$late->{device}",
		n        => $late->{reports},
		at       => sprintf('%.3f', $late->{from_ns} / 1e9),
		ms       => sprintf('%.0f', ($late->{to_ns} - $late->{from_ns}) / 1e6),
		burst_ms => sprintf '%.0f',
		$late->{burst_ns} / 1e6
	);
}

sub _slept_words {
	my ($s) = @_;
	return if !$s;
	return reason(
		'input-slept',
		device => "event$s->{device}",
		bus    => "bus-$s->{bus}",
		silent => sprintf('%.1f', $s->{silent_ns} / 1e9),
		after  => sprintf '%.1f', $s->{after_ms} / 1e3
	);
}

# longest(FACTS): of records of the X server's input thread { kernel_ns, device, kind } the longest
# such silence: { device, from_ns, to_ns, reports, burst_ns }; or undef
sub longest {
	my (@facts) = @_;
	my (%of, $best);
	push @{ $of{ $_->{device} } }, $_->{kernel_ns}
		for grep { $_->{kernel_ns} && ($_->{kind} eq 'motion' || $_->{kind} eq $MOTION) } @facts;
	for my $device (sort { $a <=> $b } keys %of) {
		my @t = sort { $a <=> $b } @{ $of{$device} };
		for my $k ($MOVES .. $#t) {
			my $silent = $t[$k] - $t[ $k - 1 ];
			next
				if $silent < $SILENT_NS
				|| $silent > $PAUSE_NS
				|| $best && $silent <= $best->{to_ns} - $best->{from_ns};
			my $moved = grep { $_ >= $t[ $k - 1 ] - $BEFORE_NS } @t[ 0 .. $k - 1 ];
			my @burst = grep { $_ < $t[$k] + $BURST_NS } @t[ $k .. $#t ];
			next
				if $moved < $MOVES
				|| @burst < $BURST
				|| @burst < $DENSER * $moved * $BURST_NS / $BEFORE_NS;
			$best = {
				device  => $device,       from_ns  => $t[ $k - 1 ], to_ns => $t[$k],
				reports => scalar @burst, burst_ns => $burst[-1] - $burst[0]
			};
		}
	}
	return $best;
}

# after_sleep(TIME, INPUTS of the machine's state, FACTS): whether the device of the last report up
# to a time saves power, and had been silent for so long that it slept: { device, bus, silent_ns,
# after_ms }; undef: it does not, or nobody knows
sub after_sleep {
	my ($t, $inputs, @facts) = @_;
	my @before = sort { $a->{kernel_ns} <=> $b->{kernel_ns} }
		grep { $_->{kernel_ns} && $_->{kernel_ns} <= $t } @facts;
	my $last    = pop @before or return;
	my ($other) = grep { $_->{device} == $last->{device} } reverse @before;
	my $is      = input_of($inputs, $last->{device});
	return
		if !$other || !$is || ($is->{power} // '') ne 'auto' || ($is->{sleeps_after_ms} // 0) <= 0;
	my $silent = $last->{kernel_ns} - $other->{kernel_ns};
	return if $silent < 1e6 * $is->{sleeps_after_ms};
	return {
		device   => $last->{device}, bus => $is->{bus}, silent_ns => $silent,
		after_ms => $is->{sleeps_after_ms}
	};
}

# input_of(INPUTS of the machine's state, NUMBER): what that says of an input device; or undef
sub input_of {
	my ($inputs, $device) = @_;
	my ($is) = grep { ref eq 'HASH' && ($_->{device} // '') eq "event$device" }
		ref $inputs eq 'ARRAY' ? @$inputs : ();
	return $is;
}

# busiest(FROM, TO, FACTS): the device with most reports a second in a stretch: { device, per_s };
# or undef
sub busiest {
	my ($from, $to, @facts) = @_;
	my %n;
	$n{ $_->{device} }++ for grep { $_->{kernel_ns} >= $from && $_->{kernel_ns} < $to } @facts;
	my ($device) = sort { $n{$b} <=> $n{$a} || $a <=> $b } keys %n;
	return if !defined $device || $to <= $from;
	return { device => $device, per_s => int(1e9 * $n{$device} / ($to - $from)) };
}

# often(VERDICT, FROM, TO, facts `input`): a server that computes may do so because a device sends
# very many reports
sub often {
	my ($v, $from, $to, @input) = @_;
	return if $v->{kind} ne 'server-compute';
	my $b = busiest($from, $to, @input) or return;
	push @{ $v->{circumstances} },
		reason('input-often', device => "event$b->{device}", n => $b->{per_s})
		if $b->{per_s} >= $OFTEN_PER_S;
	return;
}

1;
