# SPDX-License-Identifier: GPL-2.0-only
# The views of Endo, Wang, Chen and Seltzer, "Using Latency to Evaluate Interactive System
# Performance", OSDI 1996, as plain data: figures 5 and 7, tables 1 and 2, and what an idle system
# does.
package Tipme::Profile::Views;

use strict;
use warnings;
use Exporter   qw(import);
use List::Util qw(max min sum0);

our @EXPORT_OK = qw(over_time histogram cumulative between between_times long_events moments idle
	summary limits);

# Unit: ms. Where motion and discrete input begin to irritate: Endo and Seltzer, "Improving
# Interactive Performance Using TIPME", SIGMETRICS 2000.
my %LIMITS = (motion => [ 25, 75 ], discrete => [ 50, 150 ]);

# limits(KIND): (from, to, words) in ms for a kind of input; undef: discrete.
sub limits {
	my ($kind) = @_;
	my $which = ($kind // '') eq 'motion' ? 'motion' : 'discrete';
	return (@{ $LIMITS{$which} }, $which eq 'motion' ? 'motion' : 'keys and clicks');
}

# summary(PROFILE): rows { app, kind, events, answered, without_effect, mean_ns, p50, p95, p99 (ns),
# max_ns }, those with most time waited first.
sub summary {
	my ($p) = @_;
	my @rows = map { _summary_row($_) } @{ $p->{pairs} };
	return sort {
		$b->{sum_ns} <=> $a->{sum_ns} || $a->{app} cmp $b->{app} || $a->{kind} cmp $b->{kind}
	} @rows;
}

sub _summary_row {
	my ($pair) = @_;
	my $c = $pair->{stage}{response};
	my ($from, $to) = limits($pair->{kind});
	return {
		(
			map { $_ => $pair->{$_} }
				qw(app kind events answered without_effect gone unanswered ahead)
		),
		sum_ns  => $c->sum_ns,
		mean_ns => $c->count ? $c->sum_ns / $c->count : undef,
		max_ns  => $c->max_ns,
		(map { ("p$_" => $c->quantile($_ / 100)) } 50, 95, 99),
		stages => { map { $_ => $pair->{stage}{$_}->sum_ns } qw(read sent drawn finished) },
		# Above where each begins to irritate: the lower and the upper end of what the paper says.
		over_low  => $c->above($from * 1e6),
		over_high => $c->above($to * 1e6),
	};
}

# over_time(PROFILE, KIND, APP): figure 5 by minutes: [ { minute, events, answered, sum_ns, max_ns,
# over => [ ... ] } ... ], one entry for each row of minutes in which there were events.
sub over_time {
	my ($p, $kind, $app) = @_;
	my %at;
	for my $r (@{ $p->{rows} }) {
		next if defined $kind && $r->{kind} ne $kind || defined $app && $r->{app} ne $app;
		my $m = $at{ $r->{minute} } //= {
			minute => $r->{minute}, events => 0, answered => 0, sum_ns => 0, max_ns => 0,
			over   => [ (0) x @{ $r->{over} } ]
		};
		$m->{$_} += $r->{$_} for qw(events answered sum_ns);
		$m->{max_ns} = max($m->{max_ns}, $r->{max_ns});
		$m->{over}[$_] += $r->{over}[$_] for 0 .. $#{ $r->{over} };
	}
	return map { $at{$_} } sort { $a <=> $b } keys %at;
}

# Bins of the histogram in each decade.
my $BINS = 16;

# histogram(COUNTS): bins [ from_ms, to_ms, events ], 16 to a decade, each bucket in the bin in
# which it begins; what took less than a microsecond is in the first.
sub histogram {
	my ($c) = @_;
	my %bin;
	$bin{ _bin($_->[0]) } += $_->[1] for $c->buckets;
	return map { [ 10**($_ / $BINS) / 1000, 10**(($_ + 1) / $BINS) / 1000, $bin{$_} ] }
		sort { $a <=> $b } keys %bin;
}

sub _bin { my ($us) = @_; return $us < 1 ? 0 : int($BINS * log($us) / log(10) + 1e-9) }

# cumulative(COUNTS): points { us, events, ns }: figure 7, middle (ns over us) and below (ns over
# events).
sub cumulative {
	my ($c) = @_;
	return map { { us => $_->[0], events => $_->[1], ns => $_->[2] } } $c->curve;
}

# between(PROFILE, KIND): table 2: for each threshold { ms, events, mean_s, deviation_s }: times
# between events above it. A profile knows minutes: the events of a row are taken as spread evenly
# over it.
sub between {
	my ($p, $kind) = @_;
	my @time = over_time($p, $kind);
	my @rows;
	for my $i (0 .. $#{ $p->{thresholds_ms} }) {
		my @at = map { _spread($p, $_->{minute}, $_->{over}[$i]) } @time;
		push @rows, { ms => $p->{thresholds_ms}[$i], _intervals(@at) };
	}
	return @rows;
}

sub _spread {
	my ($p, $minute, $n) = @_;
	# The last row may have been cut short by the end.
	my $left    = $p->{duration_ns} / 60e9 - $minute;
	my $minutes = $left > 0 ? min($p->{minutes_of_row}, $left) : $p->{minutes_of_row};
	return map { 60 * ($minute + $minutes * ($_ - 0.5) / $n) } 1 .. $n;
}

# Number of events, mean and deviation of the times between them, in seconds.
sub _intervals {
	my (@at)     = @_;
	my @between  = map { $at[$_] - $at[ $_ - 1 ] } 1 .. $#at;
	my $mean     = @between     ? sum0(@between) / @between                               : undef;
	my $variance = @between > 1 ? sum0(map { ($_ - $mean)**2 } @between) / (@between - 1) : undef;
	return (
		events      => scalar @at, mean_s => $mean,
		deviation_s => defined $variance ? sqrt $variance : undef
	);
}

# between_times(THRESHOLDS_MS, TIMES ...): the same, exact, of [ entered_ns, response_ns ] in order.
sub between_times {
	my ($thresholds, @times) = @_;
	return map {
		my $ms = $_;
		{ ms => $ms, _intervals(map { $_->[0] / 1e9 } grep { $_->[1] > $ms * 1e6 } @times) }
	} @$thresholds;
}

# long_events(PROFILE): table 1: the worst answers with their verdicts, longest first.
sub long_events {
	my ($p) = @_;
	return sort { $b->{response_ns} <=> $a->{response_ns} } @{ $p->{worst} };
}

# moments(PROFILE): { app, waiting_ns, thinking_ns, background_ns } of each application that was in
# use, most waited for first, and of all together (app undef) at the end. All add up to the
# duration.
sub moments {
	my ($p)   = @_;
	my @parts = qw(waiting_ns thinking_ns background_ns);
	my @apps  = grep {
		my $a = $_;
		grep { $a->{$_} } @parts
	} @{ $p->{apps} };
	my %all = map {
		my $k = $_;
		$k => sum0(map { $_->{$k} } @apps)
	} @parts;
	return (sort { $b->{waiting_ns} <=> $a->{waiting_ns} || $a->{app} cmp $b->{app} } @apps),
		{ app => undef, %all };
}

# idle(PROFILE): what the machine does while nobody touches it, and while somebody does: { minutes,
# busy (share of all CPUs), uses => { NAME => share }, interrupts => { CLASS => per second },
# softirqs => { ... }, cost_us => { hardirq, softirq } of one, or undef: the kernel does not count
# it }.
sub idle {
	my ($p) = @_;
	my %half = (
		idle => [ grep { !$_->{events} } @{ $p->{machine_rows} } ],
		used => [ grep { $_->{events} } @{ $p->{machine_rows} } ]
	);
	return { map { $_ => _activity($p, @{ $half{$_} }) } keys %half };
}

sub _activity {
	my ($p, @rows) = @_;
	my %sum;
	for my $r (@rows) {
		for my $part (qw(cpu_ms interrupts softirqs)) {
			$sum{$part}{$_} += $r->{$part}{$_} for keys %{ $r->{$part} };
		}
	}
	my $all     = sum0(values %{ $sum{cpu_ms} // {} }) or return undef;
	my $seconds = $all / 1000 / max(1, $p->{cpus});
	my $rested  = sum0(map { $sum{cpu_ms}{$_} // 0 } qw(idle iowait));
	my %cost    = map {
		my ($ms, $n) = ($sum{cpu_ms}{ $_->[0] }, sum0(values %{ $sum{ $_->[1] } }));
		($_->[0] => $ms && $n ? 1000 * $ms / $n : undef)
	} [ irq => 'interrupts' ], [ softirq => 'softirqs' ];
	return {
		seconds => $seconds, busy => 1 - $rested / $all,
		uses    => { map { $_ => $sum{cpu_ms}{$_} / $all } keys %{ $sum{cpu_ms} } },
		(
			map {
				my $part = $_;
				$part => { map { $_ => $sum{$part}{$_} / $seconds } keys %{ $sum{$part} } }
			} qw(interrupts softirqs)
		),
		cost_us => \%cost,
	};
}

1;
