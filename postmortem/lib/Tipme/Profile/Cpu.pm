# SPDX-License-Identifier: GPL-2.0-only
# How busy the CPUs were in windows of 1, 10 and 100 ms: figure 4 of Endo et al., OSDI 1996, there
# from an idle loop, here from the switches that an episode has. And what interrupts took, by
# class.
package Tipme::Profile::Cpu;

use strict;
use warnings;
use Exporter           qw(import);
use List::Util         qw(min sum0);
use Tipme::CommandLine qw(ms);
use Tipme::KernelEvents;
use Tipme::Printable qw(one_line);
use Tipme::Words     qw(N__ fill);

our @EXPORT_OK = qw(cpu_use interrupts cpu_chart cpu_text around);

# Unit: ns.
my $MS = 1_000_000;
# The windows of figure 4, in ms; each is made of whole ones of the one before.
my @WINDOWS_MS = (1, 10, 100);
# Softirqs by their vector, as the kernel numbers them.
my @SOFTIRQS = qw(HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU);

# What is shown around the event, in ns, unless the user says so.
my ($BEFORE_NS, $AFTER_NS) = (100_000_000, 300_000_000);

# around(ID of an episode, { event, from, to } (ms from the event)): what cpu_use() says, with id,
# event_ns, interrupts, and title, for the chart.
sub around {
	my ($id, $o) = @_;
	require Tipme::Diagnosis;
	require Tipme::Episode;
	require Tipme::Library;
	my $episode   = Tipme::Episode->open(Tipme::Library->folder_of($id));
	my $diagnosis = Tipme::Diagnosis->new($episode);
	my $result    = $diagnosis->run(event => $o->{event});
	my ($start, $end) =
		$result->{interval}
		? @{ $result->{interval} }{qw(start_ns end_ns)}
		: ($episode->trigger_ns) x 2;
	my $from = defined $o->{from} ? $start + int($o->{from} * 1e6) : $start - $BEFORE_NS;
	my $to   = defined $o->{to}   ? $start + int($o->{to} * 1e6)   : $end + $AFTER_NS;
	$to = $episode->end_ns if $to > $episode->end_ns;
	die fill(N__('--from and --to: nothing lies between: give the earlier one first')) . "\n"
		if $to - $from < 1e6;
	my $states = $diagnosis->states($from, $to);
	my $use    = cpu_use($states, $from, $to);
	return {
		%$use,
		id    => $episode->id, event_ns => $start,
		title =>
			fill(N__('CPU use: {sentence}'), sentence => one_line($result->{verdict}{sentence})),
		interrupts => interrupts($states, $use->{from_ns}, $use->{to_ns})
	};
}

# cpu_text(what around() gives): a line, and rows of a table of windows, for people.
sub cpu_text {
	my ($use) = @_;
	my $all   = $use->{cpus} * ($use->{to_ns} - $use->{from_ns});
	my @rows  = map {
		my $w     = $use->{windows}{$_};
		my $whole = $use->{cpus} * $_ * $MS;
		[ "$_ ms", scalar(@$w), scalar(grep { $_ >= 0.99 * $whole } @$w), scalar(grep { !$_ } @$w) ]
	} @WINDOWS_MS;
	my ($hard, $soft) = map { ms($_) } @{ $use->{interrupts}{sums} }{qw(hardirq softirq)};
	my $unknown = $use->{unknown_ns}
		? fill(
		N__(', not known {share} %'),
		share => sprintf '%.2f', 100 * $use->{unknown_ns} / $all
		)
		: '';
	my $line = fill(
		N__('{time} of {n} CPUs: busy {share} %{unknown}; interrupts {hard}, softirqs {soft}'),
		time    => ms($use->{to_ns} - $use->{from_ns}), n => $use->{cpus},
		share   => sprintf('%.2f', 100 * $use->{busy_ns} / $all),
		unknown => $unknown, hard => $hard, soft => $soft
	);
	my @heads =
		map { fill($_) } N__('windows of'), N__('all'), N__('all CPUs busy'), N__('all idle');
	return ($line, [ \@heads, @rows ]);
}

# cpu_use(STATES, FROM, TO): { cpus, from_ns, to_ns, busy_ns, unknown_ns, windows => { MS => [
# busy_ns of each window, of all CPUs together ] } }. FROM is an ns; TO is moved back to whole
# milliseconds. A window at the end may be shorter. Unknown: who had the CPU is not known; it
# counts as idle.
sub cpu_use {
	my ($states, $from, $to) = @_;
	my $ms      = int(($to - $from) / $MS);
	my @busy    = (0) x $ms;
	my @cpus    = $states->events->cpus;
	my $unknown = 0;
	$to = $from + $ms * $MS;
	for my $cpu (@cpus) {
		$states->each_occupant(
			$cpu, $from, $to,
			sub {
				my ($a, $b, $tid) = @_;
				if    (!defined $tid) { $unknown += $b - $a }
				elsif ($tid)          { _add(\@busy, $a - $from, $b - $from) }
			}
		);
	}
	my %windows = map { $_ => _together(\@busy, $_) } @WINDOWS_MS;
	return {
		cpus       => scalar @cpus, from_ns => $from, to_ns => $to, busy_ns => sum0(@busy),
		unknown_ns => $unknown,
		windows    => \%windows
	};
}

# Shares [FROM, TO) out over milliseconds.
sub _add {
	my ($busy, $from, $to) = @_;
	use integer;
	while ($from < $to) {
		my $n   = $from / $MS;
		my $end = min($to, ($n + 1) * $MS);
		$busy->[$n] += $end - $from;
		$from = $end;
	}
	return;
}

sub _together {
	my ($ms, $width) = @_;
	return [ map { sum0(@$ms[ $_ * $width .. min($#$ms, ($_ + 1) * $width - 1) ]) }
			0 .. int(($#$ms) / $width) ];
}

# interrupts(STATES, FROM, TO): { sums => { hardirq, softirq } in ns, which the switches in [FROM,
# TO) tell since the one before each; long => [ { class, count, ns } ... ]: those over the
# recorder's threshold, by line or vector, most time first }.
sub interrupts {
	my ($states, $from, $to) = @_;
	my $ev = $states->events;
	my (%sum, %long);
	@sum{qw(hardirq softirq)} = (0, 0);
	for my $cpu ($ev->cpus) {
		for my $i (unpack 'N*', ${ $ev->of_cpu($cpu) }) {
			my $ts = $ev->ts($i);
			next if $ts < $from || $ts >= $to;
			$sum{hardirq} += $ev->sched_switch_irq_ns($i);
			$sum{softirq} += $ev->sched_switch_softirq_ns($i);
		}
		for my $irq ($states->resources->irqs($cpu, $from, $to)) {
			next if $irq->{from} < $from || $irq->{from} >= $to;
			my $class =
				$irq->{what} eq 'softirq'
				? 'softirq ' . ($SOFTIRQS[ $irq->{number} ] // $irq->{number})
				: $irq->{what} eq 'hardirq' ? "line $irq->{number}"
				:                             $irq->{what};
			$long{$class}{count}++;
			$long{$class}{ns} += $irq->{to} - $irq->{from};
		}
	}
	my @long = map { { class => $_, %{ $long{$_} } } }
		sort { $long{$b}{ns} <=> $long{$a}{ns} || $a cmp $b } keys %long;
	return { sums => \%sum, long => \@long };
}

# cpu_chart(CPU_USE, TITLE): a chart of all windows, for Tipme::Chart.
sub cpu_chart {
	my ($use, $title) = @_;
	my @series;
	for my $width (@WINDOWS_MS) {
		my $w = $use->{windows}{$width};
		my @points;
		for my $n (0 .. $#$w) {
			my $end = min(($use->{to_ns} - $use->{from_ns}) / $MS, ($n + 1) * $width);
			push @points,
				[ $n * $width, 100 * $w->[$n] / ($end - $n * $width) / $MS / $use->{cpus} ];
			push @points, [ $end, $points[-1][1] ] if $n == $#$w;
		}
		push @series, { name => "$width ms", kind => 'step', points => \@points };
	}
	return {
		title    => $title,
		subtitle => fill(
			N__('share of all {n} CPUs that was busy, in windows of 1, 10 and 100 ms'),
			n => $use->{cpus}
		),
		x      => { label => fill(N__('time')), unit => 'ms', from => 0 },
		y      => { label => fill(N__('busy')), unit => '%',  from => 0, to => 100 },
		series => \@series
	};
}

1;
