# SPDX-License-Identifier: GPL-2.0-only
# Lists of stretches of time, apart from each other and in order: when which thread was on a path,
# and what it did then.
package Tipme::Cut::Stretches;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Exporter   qw(import);
use List::Util qw(max min);

our @EXPORT_OK = qw($NEAR_NS joined on_path stretches waits);

our $NEAR_NS = 1_000_000;    # records so near to a stretch of the path belong to it

# stretches(PATH): { tid => [ [ from, to ] ... ] }: when which thread was on it, apart from each
# other and in order
sub stretches {
	my ($path, $with_blamed) = @_;
	my %of;
	for my $p (@$path) {
		my @tid = ($p->{tid}, map { $_->{of_tid} } @{ $p->{among} // [] });
		push @tid, map { $_->{tid} } $p->{blamed} // (), @{ $p->{among} // [] } if $with_blamed;
		my %seen;
		for my $tid (grep { $_ && !$seen{$_}++ } @tid) {
			my $l = $of{$tid} //= [];
			if (@$l && $l->[-1][1] >= $p->{from_ns}) { $l->[-1][1] = $p->{to_ns} }
			else                                     { push @$l, [ $p->{from_ns}, $p->{to_ns} ] }
		}
	}
	return \%of;
}

# joined(STRETCHES): apart from each other and in order, those that are near to each other as one
sub joined {
	my @out;
	for my $s (sort { $a->[0] <=> $b->[0] } @_) {
		if (@out && $s->[0] <= $out[-1][1] + 2 * $NEAR_NS) {
			$out[-1][1] = max($out[-1][1], $s->[1]);
		} else {
			push @out, [@$s];
		}
	}
	return \@out;
}

# waits(STATES, PATH, WIDER): { CPU => stretches } where a thread waits for it: whoever has it has a
# part then. Those of other CPUs have none.
sub waits {
	my ($states, $path, $wider) = @_;
	my @cpus = $states->events->cpus;
	my %of;
	for my $p (grep { $_->{state} eq 'runnable' || $_->{mixed} } @$path) {
		my ($from, $to, $tid) = @$p{qw(from_ns to_ns tid)};
		my %on = map { $_ => 1 }
			$p->{mixed} ? @cpus : map { $_->[2] } $states->resources->migrations($tid, $from, $to);
		for my $i (
			$p->{mixed} ? () : $states->at($tid, $from), $states->at($tid, $to),
			$states->before($tid, $to)
			)
		{
			$on{ $i->{cpu} } = 1 if $i && defined $i->{cpu};
		}
		push @{ $of{$_} }, [ $from, $to ] for keys %on;
	}
	return { map { $_ => joined(@{ $of{$_} // [] }, @$wider) } keys %of, @$wider ? @cpus : () };
}

# on_path(STATES, STRETCHES, TID): the sums of the stretches, which are apart and in order
sub on_path {
	my ($states, $stretches, $tid) = @_;
	my %sum       = map { ($_ => 0) } qw(running runnable blocked absent irq softirq net_running);
	my $intervals = @{ $stretches // [] } ? $states->intervals($tid) : [];
	my $first     = 0;
	for my $s (@{ $stretches // [] }) {
		my %in = map { ($_ => 0) } qw(running irq softirq);
		$first++ while $first < $#$intervals && $intervals->[$first]{to} <= $s->[0];
		for (my $k = $first; $k < @$intervals && $intervals->[$k]{from} < $s->[1]; $k++) {
			my $i = $intervals->[$k];
			my ($from, $to) = (max($i->{from}, $s->[0]), min($i->{to}, $s->[1]));
			next if $to <= $from;
			$sum{ $i->{kind} } += $to - $from;
			next if $i->{kind} ne 'running';
			$in{running} += $to - $from;
			# Interrupts are known of whole runs only.
			if ($i->{from} >= $s->[0] && $i->{to} <= $s->[1]) {
				$in{$_} += $i->{"${_}_ns"} for qw(irq softirq);
			}
		}
		$sum{$_} += $in{$_} for qw(irq softirq);
		$sum{net_running} += max(0, $in{running} - $in{irq} - $in{softirq});
	}
	return { map { ("${_}_ns" => $sum{$_}) } keys %sum };
}

1;
