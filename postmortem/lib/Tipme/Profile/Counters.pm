# SPDX-License-Identifier: GPL-2.0-only
# Counters of each event: what client and server threads counted between the entry of an event and
# its answer. The counters are read where a thread leaves a CPU (perf_event_open(2): a group
# sampled at each context switch), so that what it counted in one run is one chunk.
package Tipme::Profile::Counters;

use strict;
use warnings;
use Exporter   qw(import);
use List::Util qw(max min sum0);

our @EXPORT_OK = qw(read_trace of_events of_process available that_fit);

# Unit: samples. An hour of a thread that switches 1,000 times a second.
my $MAX = 4_000_000;
# A name, tid or pid/tid, time, count, event with its modifiers.
my $SAMPLE = qr{\A.*?\s(?:(\d{1,9})/)?(\d{1,9})\s+(\d{1,9})\.(\d{9}):\s+
	(\d{1,18})\s+([\w/=,.-]+):(?:[a-zA-Z]*:)?\s*\z}x;

# read_trace(HANDLE): { TID => [ { pid, to_ns, ran_ns, counts => { NAME => N } } ... ] } in order of
# time, from what `perf script -F comm,pid,tid,time,event,period --ns` prints; a tid without a pid
# is its own. The clock has to be
# CLOCK_MONOTONIC (perf record -k), and task-clock one of the group: it says how long the run was.
sub read_trace {
	my ($h) = @_;
	my (%of, $n);
	while (my $line = <$h>) {
		next if $line =~ /\A\s*(?:#.*)?\z/;
		my ($pid, $tid, $s, $ns, $count, $event) = $line =~ $SAMPLE
			or die "line $.: not a sample of perf script -F comm,pid,tid,time,event,period --ns\n";
		die "more than $MAX samples\n" if ++$n > $MAX;
		my $to   = "$s$ns" + 0;
		my $last = $of{$tid} && $of{$tid}[-1];
		push @{ $of{$tid} }, $last = { pid => $pid // $tid, to_ns => $to, counts => {} }
			if !$last || $last->{to_ns} != $to;
		$last->{counts}{$event} = ($last->{counts}{$event} // 0) + $count;
	}
	for my $chunks (values %of) {
		@$chunks = sort { $a->{to_ns} <=> $b->{to_ns} } @$chunks;
		$_->{ran_ns} = $_->{counts}{'task-clock'} // 0 for @$chunks;
	}
	return \%of;
}

# of_events(CHUNKS of one thread, NAMES, EVENTS): for each event [ from_ns, to_ns ] a hash NAME =>
# count. A run that reaches beyond the event counts by the part of it that lies within. A counter
# that no chunk names has counted nothing; one that is not available must not be among NAMES.
sub of_events {
	my ($chunks, $names, @events) = @_;
	return map { _of_event($chunks, $names, @$_) } @events;
}

sub _of_event {
	my ($chunks, $names, $from, $to) = @_;
	my %sum = map { $_ => 0 } @$names;
	for my $c (@$chunks) {
		my $began = $c->{to_ns} - $c->{ran_ns};
		next if $c->{to_ns} <= $from || $began >= $to;
		my $share = $c->{ran_ns} ? (min($c->{to_ns}, $to) - max($began, $from)) / $c->{ran_ns} : 1;
		$sum{$_} += $share * ($c->{counts}{$_} // 0) for @$names;
	}
	return \%sum;
}

# of_process(TRACE, PID, NAMES, EVENTS): the same of all threads of a process; nothing where none of
# them was sampled: that is not zero.
sub of_process {
	my ($trace, $pid, $names, @events) = @_;
	my @threads = map {
		my $chunks = [ grep { $_->{pid} == $pid } @$_ ];
		@$chunks ? [ of_events($chunks, $names, @events) ] : ()
	} values %$trace;
	return if !@threads;
	return map {
		my $n = $_;
		+{
			map {
				my $name = $_;
				$name => sum0(map { $_->[$n]{$name} } @threads)
			} @$names
		}
	} 0 .. $#events;
}

# that_fit(STAT, NAMES): ([ names that count together ], { NAME => why not }). STAT->(TEXT for perf
# stat -e) gives what available() does. A group that has more counters than the PMU counts nothing
# at all: the last ones are left out.
sub that_fit {
	my ($stat, @names) = @_;
	my %why  = %{ $stat->(join ',', @names) };
	my @good = grep { defined $why{$_} && !length $why{$_} } @names;
	$why{$_} //= 'not known' for @names;
	while (@good > 1) {
		my $together = $stat->('{' . join(',', @good) . '}');
		last if !grep { length($together->{$_} // 'not known') } @good;
		$why{ pop @good } = 'no counter is left beside the others';
	}
	return (\@good, { map { $_ => $why{$_} } grep { length $why{$_} } @names });
}

# available(HANDLE): { NAME => '' or why not } from what `perf stat -x, -e NAMES true` prints.
sub available {
	my ($h) = @_;
	my %why;
	while (my $line = <$h>) {
		my ($count, undef, $event) = split /,/, $line;
		next if !defined $event || $event !~ /\A[\w-]+/;
		$why{ $event =~ s/:[a-zA-Z]*\z//r } = $count =~ /\A[0-9.]+\z/ ? '' : $count =~ tr/<>//dr;
	}
	return \%why;
}

1;
