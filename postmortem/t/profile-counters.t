#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Counters of each event, from a recorded trace: the arithmetic by hand; what is not available is
# said.
use strict;
use warnings;
use FindBin;
use Test::More;
use lib "$FindBin::Bin/../lib";
use Tipme::Profile::Counters qw(read_trace of_events of_process available that_fit);

# As perf 6.1 prints them: one sample a line, those of one switch with one time.
my $trace = <<'END';
            Xorg   100  1.000000000:          1 context-switches:
            Xorg   100  1.000000000:    1000000       task-clock:
            Xorg   100  1.000000000:       3000           cycles:u:
 a b: c 7 8   200  2.004000000:          1 context-switches:
 a b: c 7 8   200  2.004000000:    2000000       task-clock:
 a b: c 7 8   200  2.004000000:         40      page-faults:
 a b: c 7 8   200  2.010000000:          1 context-switches:
 a b: c 7 8   200  2.010000000:    4000000       task-clock:
 a b: c 7 8   200  2.010000000:         10      page-faults:
END
my $t = trace($trace);
is_deeply [ sort keys %$t ], [ 100, 200 ], 'two threads, one with an odd name';
is scalar(@{ $t->{200} }),       2,    'a run for each switch';
is $t->{100}[0]{counts}{cycles}, 3000, 'a counter of user mode';
my @names = qw(page-faults context-switches);
my $ms    = 1_000_000;
# The first run was from 2.002 to 2.004, the second from 2.006 to 2.010.
my @e = of_events(
	$t->{200}, \@names, [ 2001 * $ms, 2005 * $ms ], [ 2001 * $ms, 2008 * $ms ],
	[ 2004.5 * $ms, 2005 * $ms ], [ 2000 * $ms, 2011 * $ms ]
);
is_deeply $e[0], { 'page-faults' => 40, 'context-switches' => 1 },   'one run, whole';
is_deeply $e[1], { 'page-faults' => 45, 'context-switches' => 1.5 }, '... and half of another';
is_deeply $e[2], { 'page-faults' => 0,  'context-switches' => 0 },   'nothing between two runs';
is_deeply $e[3], { 'page-faults' => 50, 'context-switches' => 2 },   'all';
for my $bad ("nonsense\n", "x 1 2.5: 3 cycles:\n", "x 1 2.000000000: -3 cycles:\n") {
	ok !eval { trace($bad); 1 }, 'what is no sample is refused';
	like $@, qr/^line 1: not a sample/, '... by its line';
}
my $stat = "1,,context-switches,100,100.00,,\n<not supported>,,cycles,0,100.00,,\n"
	. "<not counted>,,page-faults,0,0,,\n";
open my $h, '<', \$stat or die;
is_deeply available($h),
	{ 'context-switches' => '', cycles => 'not supported', 'page-faults' => 'not counted' },
	'what is not available says why';

# All threads of a process; one that was not sampled is not zero.
my $threads = trace(<<'END');
 a  200/200  2.004000000:    2000000       task-clock:
 a  200/200  2.004000000:         40      page-faults:
 a  200/201  2.004000000:    2000000       task-clock:
 a  200/201  2.004000000:          7      page-faults:
 b  300/300  2.004000000:    2000000       task-clock:
 b  300/300  2.004000000:          9      page-faults:
END
is_deeply [ of_process($threads, 200, ['page-faults'], [ 2000 * $ms, 2010 * $ms ]) ],
	[ { 'page-faults' => 47 } ], 'two threads of a process';
is_deeply [ of_process($threads, 200, ['page-faults'], [ 3000 * $ms, 3010 * $ms ]) ],
	[ { 'page-faults' => 0 } ], '... that counted nothing meanwhile';
is_deeply [ of_process($threads, 400, ['page-faults'], [ 2000 * $ms, 2010 * $ms ]) ], [],
	'a process without a sample has no counts, not zero';

# A PMU with two counters, that knows nothing of the TLB.
my $pmu = sub {
	my ($text)   = @_;
	my @asked    = $text =~ /([\w-]+)/g;
	my @hardware = grep {/^(?:cycles|instructions|cache-misses)$/} @asked;
	my $full     = $text =~ /^\{/ && @hardware > 2;
	return { map { $_ => /TLB/ ? 'not supported' : $full ? 'not counted' : '' } @asked };
};
is_deeply [
	that_fit($pmu, qw(context-switches cycles dTLB-load-misses instructions cache-misses)) ],
	[
	[qw(context-switches cycles instructions)],
	{
		'dTLB-load-misses' => 'not supported',
		'cache-misses'     => 'no counter is left beside the others'
	}
	],
	'a group is made of what counts together';
is_deeply [ that_fit(sub { return {} }, 'cycles') ], [ [], { cycles => 'not known' } ],
	'... or of nothing';

# A trace that was recorded: two threads, and the events of a whole group at each switch. The sums
# by another route.
my $recorded = "$FindBin::Bin/counters/perf-6.1";
open my $real, '<', $recorded or die "$recorded: $!";
$t = read_trace($real);
my %sum;
my $awk = q({ n[$2 " " $5] += $4 } END { for (k in n) print k, n[k] });
for my $line (split /\n/, qx{awk '$awk' $recorded}) {
	my ($tid, $event, $n) = split ' ', $line;
	$sum{$tid}{ $event =~ s/:\z//r } = $n;
}
is scalar(keys %$t), 2, 'a recorded trace: two threads';
is_deeply [ sort keys %$t ], [ sort keys %sum ], '... those that are in it';
for my $tid (sort keys %sum) {
	my $chunks  = $t->{$tid};
	my @all     = sort keys %{ $sum{$tid} };
	my $first   = $chunks->[0]{to_ns} - $chunks->[0]{ran_ns};
	my $last    = $chunks->[-1]{to_ns};
	my ($whole) = of_events($chunks, \@all, [ $first, $last ]);
	is_deeply $whole, $sum{$tid}, "thread $tid: all that it counted";
	my $middle = int(($first + $last) / 2);
	my ($a, $b) = of_events($chunks, \@all, [ $first, $middle ], [ $middle, $last ]);
	is sprintf('%.6f', $a->{$_} + $b->{$_}), sprintf('%.6f', $sum{$tid}{$_}),
		"... two halves are the whole: $_" for @all;
}
done_testing;

sub trace { my ($text) = @_; open my $in, '<', \$text or die; return read_trace($in) }
