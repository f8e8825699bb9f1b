# SPDX-License-Identifier: GPL-2.0-only
# Where no input event can be judged: the worst stall in the ring, a program's thread that was woken
# and got no CPU, or that slept where nothing may disturb it.
package Tipme::Stall;

use strict;
use warnings;
use Tipme::KernelEvents;
use Tipme::Progress;
use Tipme::Record::Layout;

# Where the small fields of a switch begin in their word.
use constant {
	PREV_STATE => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_state},
	NEXT_PRIO  => $Tipme::Record::Columns::SHIFT{sched_switch}{next_prio},
	PREEMPTED  => $Tipme::Record::Columns::SHIFT{sched_switch}{prev_preempted},
	WOKEN_PRIO => $Tipme::Record::Columns::SHIFT{sched_waking}{prio},
};
my %STATE    = %{ $Tipme::Record::Layout::ENUM{task_state} };
my %NUMBER   = reverse %STATE;
my $ORDINARY = 120;            # kernel priority of nice 0: who is nicer is meant to wait
my $LEAST_NS = 100_000_000;    # ns; who stands still for less has not been noticed by anybody
my $KEEP     = 64;             # that are looked at more closely
my $TOGETHER = 40;             # sections held at once

# worst(EPISODE, THREADS): { tid, start_ns, end_ns, what: runnable or disk_sleep } or undef. All
# switches and wakings are passed once, in order of time, only the few fields that matter decoded;
# up to the trigger, since what comes later is not what the user means. With a time AT: the one that
# lasted then, or else the one nearest to it.
sub worst {
	my ($class,   $ep, $threads, $at) = @_;
	my ($trigger, $ours) = ($ep->trigger_ns, $ep->manifest->{recorder}{pid} // 0);
	my (%since,   %disk, @found);
	my $note = sub {
		my ($tid, $from, $to, $what, $prio) = @_;
		return if $to - $from < $LEAST_NS || $prio > $ORDINARY && $prio < 140 || $from >= $trigger;
		my $off = !defined $at ? 0 : $at < $from ? $from - $at : $at > $to ? $at - $to : 0;
		push @found,
			{
			tid => $tid, start_ns => $from, end_ns => $to, what => $what, off => $off,
			defined $at ? (at => $at) : ()
			};
		return if @found < 2 * $KEEP;
		@found  = _worst_first(@found);
		$#found = $KEEP - 1;
	};
	_each_switch(
		$ep,
		sub {
			my ($ts, $type, $tid, $next, $d) = @_;
			if ($type == Tipme::KernelEvents::WAKING) {
				my $slept = delete $disk{$tid};
				$note->($tid, $slept, $ts, 'disk_sleep', $d >> WOKEN_PRIO) if defined $slept;
				$since{$tid} //= $ts;
				return;
			}
			my $state = $d >> PREV_STATE & 255;
			delete $since{$tid};
			if ($state == $NUMBER{disk_sleep} && !($d >> PREEMPTED)) { $disk{$tid} = $ts }
			else                                                     { delete $disk{$tid} }
			my $woken = delete $since{$next};
			$note->($next, $woken, $ts, 'runnable', $d >> NEXT_PRIO & 255) if defined $woken;
			delete $disk{$next};
		}
	);
	# What lasts at the trigger.
	for my $p ([ \%since, 'runnable' ], [ \%disk, 'disk_sleep' ]) {
		for my $tid (keys %{ $p->[0] }) {
			$note->($tid, $p->[0]{$tid}, $trigger, $p->[1], $threads->at($tid, $trigger)->{prio});
		}
	}
	for my $f (_worst_first(@found)) {
		my $who = $threads->at($f->{tid}, $f->{start_ns});
		return $f if $f->{tid} && !$who->{kernel} && $who->{pid} != $ours;
	}
	return;
}

sub _worst_first {
	return sort {
			   $a->{off}                     <=> $b->{off}
			|| $b->{end_ns} - $b->{start_ns} <=> $a->{end_ns} - $a->{start_ns}
			|| $a->{start_ns}                <=> $b->{start_ns}
	} @_;
}

# CALLBACK->(time, type, tid, next or waker, last word) of all switches and wakings in order of
# time; sections overlap, so some are taken together.
sub _each_switch {
	my ($ep, $cb) = @_;
	my @sections = $ep->sections_between(undef, undef, [qw(kernel_bpf kernel_module)]);
	my (@ts, @type, @tid, @next, @d);
	my $all = @sections;
	while (@sections) {
		Tipme::Progress::show('looking for stalls', $all - @sections, $all);
		for my $s (splice @sections, 0, $TOGETHER) {
			my $buf = Tipme::KernelEvents::plain($ep, $s);
			my $n   = int(length($buf) / 32);
			push @ts,   unpack "(Q<x24)$n",   $buf;
			push @type, unpack "(x8Cx23)$n",  $buf;
			push @tid,  unpack "(x12Vx16)$n", $buf;
			push @next, unpack "(x16Vx12)$n", $buf;
			push @d,    unpack "(x28V)$n",    $buf;
		}
		my @o    = sort { $ts[$a] <=> $ts[$b] } 0 .. $#ts;
		my $safe = @sections ? $sections[0]{first_ns} : undef;
		my $keep = @o;
		if (defined $safe) { $keep-- while $keep && $ts[ $o[ $keep - 1 ] ] >= $safe }
		for (@o[ 0 .. $keep - 1 ]) {
			$cb->($ts[$_], $type[$_], $tid[$_], $next[$_], $d[$_])
				if $type[$_] == Tipme::KernelEvents::SWITCH
				|| $type[$_] == Tipme::KernelEvents::WAKING;
		}
		my @rest = @o[ $keep .. $#o ];
		for my $c (\@ts, \@type, \@tid, \@next, \@d) { @$c = @$c[@rest] }
	}
}

1;
