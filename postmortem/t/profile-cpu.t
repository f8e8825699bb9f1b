#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# CPU use of an episode in windows of 1, 10 and 100 ms: of a story whose sums are known by hand,
# and by another route, from the exported text.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use List::Util qw(sum0);
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib", "$FindBin::Bin/../../abi/lib",
	"$FindBin::Bin/../../abi/generated";
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Chart;
use Tipme::Profile::Cpu qw(cpu_use interrupts cpu_chart);
use Tipme::Test::Story;
use Tipme::Test::Xml qw(xml_problem);

use constant MS => 1_000_000;
my $dir   = tempdir(CLEANUP => 1);
my $story = Tipme::Test::Story->new(no_usual => 1);
# CPU 1: 5 ms of the client from 1000 ms, 2.5 from 1010; CPU 0: the server from 1003 for 4.
$story->run(1, 1000, 1005, 200, 'sleeping')->run(1, 1010, 1012.5, 200, 'sleeping')
	->run(0, 1003, 1007, 100, 'sleeping');
$story->builder->kernel(
	1, 1020 * MS, 'irq', tid => 0, duration_ns => 300_000, number => 3,
	kind => 'softirq'
);
$story->builder->write("$dir/e");
my $d      = Tipme::Diagnosis->new(Tipme::Episode->open("$dir/e"));
my $states = $d->states(1000 * MS, 1200 * MS);
my $use    = cpu_use($states, 1000 * MS, 1200 * MS);
is $use->{cpus},    2,         'two CPUs';
is $use->{busy_ns}, 11.5 * MS, '5 + 2.5 + 4 ms';
is_deeply [ @{ $use->{windows}{1} }[ 0 .. 8 ] ], [ map { $_ * MS } 1, 1, 1, 2, 2, 1, 1, 0, 0 ],
	'windows of 1 ms';
is_deeply [ @{ $use->{windows}{1} }[ 10 .. 13 ] ], [ map { $_ * MS } 1, 1, 0.5, 0 ],
	'... half of one';
is_deeply [ @{ $use->{windows}{10} }[ 0 .. 2 ] ], [ map { $_ * MS } 9, 2.5, 0 ], 'windows of 10 ms';
is_deeply $use->{windows}{100}, [ 11.5 * MS, 0 ], 'windows of 100 ms';
is sum0(@{ $use->{windows}{$_} }), $use->{busy_ns}, "windows of $_ ms add up" for 1, 10, 100;
my $odd = cpu_use($states, 1000 * MS, 1025 * MS);
is_deeply [ map { scalar @{ $odd->{windows}{$_} } } 1, 10, 100 ], [ 25, 3, 1 ],
	'a window at the end may be shorter';
is_deeply interrupts($states, 1000 * MS, 1200 * MS)->{long},
	[ { class => 'softirq NET_RX', count => 1, ns => 300_000 } ], 'a long softirq, by its class';
is xml_problem(Tipme::Chart->svg(cpu_chart($use, 'use'))), undef, 'a picture';

my $program = "$FindBin::Bin/../bin/tipme-postmortem";
my $said    = qx{$^X $program profile cpu $dir/e --from 0 --to 200 --json};
my $json    = Cpanel::JSON::XS->new->decode($said);
system "$^X $program export $dir/e --format text -o $dir/text > /dev/null";
# Switches to and from the idle thread, and which CPU they are on.
my $awk = <<'END';
/ sched_switch / {
	cpu = $2
	for (i = 1; i <= NF; i++) { split($i, f, "="); v[f[1]] = f[2] }
	ts = v["ts_ns"]
	if (v["tid"] != 0 && ts > from) {
		a = on[cpu] < from ? from : on[cpu]
		b = ts > to ? to : ts
		if (b > a) sum += b - a
	}
	on[cpu] = ts
}
END { printf "%.0f", sum }
END
my $sum = qx{awk -v from=$json->{from_ns} -v to=$json->{to_ns} '$awk' $dir/text};
is $json->{busy_ns}, $sum, 'the sum by awk, from the exported switches';
done_testing;
