#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Who waits for a CPU because of a low weight of its own: that is named, not those who rightly came
# first.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { CLIENT => 200, BUILD => 600, MS => 1_000_000 };

# The client, of one nice value, waits 800 ms for a CPU that another one, of its own, has; by: a
# thread of that one that it has just made, in a process of its own or not.
sub behind {
	my ($own, $its, %o) = @_;
	my $by = $o{by} // BUILD;
	my $s  = Tipme::Test::Story->new;
	my $b  = $s->builder;
	$b->thread(BUILD,  'cc1',   ts_ns => 5 * MS,   since_ns => 2 * MS,   prio => 120 + $its);
	$b->thread(CLIENT, 'xterm', ts_ns => 900 * MS, since_ns => 503 * MS, prio => 120 + $own);
	$b->switch(1, 899 * MS, 0, BUILD, 'runnable', next_prio => 120 + $its);
	$b->kernel(1, 899.5 * MS, 'fork', tid => BUILD, child_tid => $by, child_pid => $o{pid})
		if $o{pid};
	$b->switch(1, 900 * MS, BUILD, $by, 'sleeping', next_prio => 120 + $its) if $by != BUILD;
	$s->enter(1000);
	$b->switch(
		1, 1800 * MS, $by, CLIENT, 'runnable', prev_prio => 120 + $its,
		next_prio => 120 + $own, prev_preempted => 1
	);
	$b->switch(1, 1803 * MS, CLIENT, 0, 'sleeping', prev_prio => 120 + $own);
	return $s->draw(1802.8)->hotkey(3000);
}

my $d = judged('nice 10 behind nice 0', behind(10, 0), 'cpu-weight', 'xterm', 0.98, 1);
like(
	$d->{verdict}{sentence},
	qr/ms \(100 %\) xterm \(pid 200\) got little of a CPU, since nice 10 gives it a low weight; cc1 \(pid 600\) had it\.$/,
	'... and why'
);
judged('nice 0 behind nice -20', behind(0,  -20), 'cpu-contention', 'cc1', 0.98, 1);
judged('nice 10 behind nice 10', behind(10, 10),  'cpu-contention', 'cc1', 0.98, 1);
judged('nice 2 behind nice 0',   behind(2,  0),   'cpu-contention', 'cc1', 0.98, 1);

# In control groups the weights of the groups count, and nice values only within one.
sub grouped {
	my ($own, $its, %o) = @_;
	my $s    = behind($o{nice} // 0, 0, %o);
	my $b    = $s->builder;
	my %path = (
		1  => '/', 7 => '/apps', 8 => '/apps/backup', 9 => '/apps/shell',
		10 => '/apps/shell/x'
	);
	$s->daemon('cgroup_name',   cgroup => $_, path   => $path{$_}) for sort keys %path;
	$s->daemon('cgroup_weight', cgroup => 1,  weight => 1000) if !$o{old};
	my %weight = %{ $o{weight} // {} };
	$s->daemon('cgroup_weight', cgroup => $_, weight => $weight{$_}) for sort keys %weight;
	$b->thread(CLIENT, 'xterm', ts_ns => 950 * MS, since_ns => 503 * MS, cgroup => $own);
	$b->thread(BUILD,  'cc1',   ts_ns => 950 * MS, since_ns => 2 * MS,   cgroup => $its);
	return $s;
}
$d = judged(
	'a group of a tenth of the weight', grouped(8, 9, weight => { 8 => 100 }),
	'cpu-weight', 'xterm', 0.98, 1
);
like(
	$d->{verdict}{sentence},
	qr{since its control group /apps/backup has 10 % of the usual weight; cc1 \(pid 600\) had it\.$},
	'... and why'
);
judged(
	'... behind a young thread', grouped(8, 9, weight => { 8 => 100 }, by => 601, pid => BUILD),
	'cpu-weight', 'xterm', 0.98, 1
);
judged(
	'... or a young process', grouped(8, 9, weight => { 8 => 100 }, by => 601, pid => 601),
	'cpu-weight', 'xterm', 0.98, 1
);
judged(
	'... and below it', grouped(10, 8, weight => { 8 => 1000, 9 => 100 }),
	'cpu-weight', 'xterm', 0.98, 1
);
judged(
	'both in that group', grouped(8, 8, weight => { 8 => 100 }),
	'cpu-contention',     'cc1', 0.98, 1
);
judged(
	'a group of half the weight', grouped(8, 9, weight => { 8 => 500 }),
	'cpu-contention', 'cc1', 0.98, 1
);
judged('nice, in a group of its own', grouped(8, 9, nice => 10), 'cpu-contention', 'cc1', 0.98, 1);
judged('nice, both in one group',     grouped(8, 8, nice => 10), 'cpu-weight', 'xterm',   0.98, 1);
judged(
	'nice, in groups without a weight', grouped(8, 9, nice => 10, weight => { 8 => 0, 9 => 0 }),
	'cpu-weight', 'xterm', 0.98, 1
);
judged(
	'nice, where weights are not known', grouped(8, 9, nice => 10, old => 1),
	'cpu-weight', 'xterm', 0.98, 1
);
done_testing();
