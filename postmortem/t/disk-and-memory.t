#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Stories of disks and memory: whose requests were ahead, who is held back by a limit, what page
# faults and reclaim cost.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged like_sentence);
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub story  { return Tipme::Test::Story->new(@_) }
sub ns     { return Tipme::Test::Story::ns($_[0]) }
sub sleeps { return Tipme::Test::Story::sleeps(@_) }

# --- the disk works on the requests of another process, then on the client's ---
my $s = story();
$s->builder->thread(810, 'updatedb', ts_ns => 900 * MS);
$s->daemon('disk_name', dev => 8 << 20, rotational => 1, name => 'sda');
$s->io(810,    5000 + 8 * $_, 980,    1000.5 + 200 * $_, 1200.5 + 200 * $_) for 0 .. 2;
$s->io(CLIENT, 90,            1000.9, 1600.5,            1700.0);
my $d = judged(
	'disk, queued', sleeps($s, 'disk', 1700.01, state => 'disk_sleep'), 'disk-io',
	'updatedb',     0.99,                                               1
);
like_sentence(
	$d,
	qr/for 699 ms \(100 %\) it waited for the disk, 600 ms of it because "updatedb" \(pid 810\) was reading on disk sda, ahead of it\.$/,
	'disk, queued'
);
my ($own) = grep { $_->{kind} eq 'disk-io' && $_->{pid} == CLIENT } @{ $d->{totals}{blamed} };
is($own->{ns}, 99_510_000, 'disk, queued: its own request is its own');
cmp_ok($d->{verdict}{confidence}, '>', 0.99, 'disk, queued: sure');
like($d->{verdict}{next}, qr/ionice -c 3 -p 810/, 'disk, queued: what to do next');
is(
	$d->{verdict}{door}, 'whoever runs updatedb (pid 810): it had the disk',
	'disk, queued: at whose door to knock'
);

# --- only its own request, which the device takes long for; and one that is in two pieces, on a
# partition ---
$s = story()->daemon('disk_name', dev => 8 << 20, rotational => 1, name => 'sda');
$s->kernel(
	1, 1000.9, 'io', tid => CLIENT, phase => 'queued', sector => 90, dev => 8 << 20 | 1,
	sectors => 16, op => 'read'
);
for my $p ([ 90, 1001.1, 1300 ], [ 98, 1300.1, 1700 ]) {
	$s->kernel(
		0, $p->[1], 'io', tid => 0, phase => 'issued', sector => $p->[0], dev => 8 << 20,
		sectors => 8, op => 'read'
	);
	$s->kernel(
		0, $p->[2], 'io', tid => 0, phase => 'completed', sector => $p->[0], dev => 8 << 20,
		sectors => 8, op => 'read'
	);
}
$d = judged(
	'disk, slow', sleeps($s, 'disk', 1700.01, state => 'disk_sleep'), 'disk-io', 'xterm',
	0.99,         1
);
like_sentence(
	$d, qr/it was waiting for disk sda, which worked on its request \(reading\)\.$/,
	'disk, slow'
);
is($d->{verdict}{door}, 'the disk', 'disk, slow: at whose door to knock');

# --- held back before the disk, as a cgroup's limit does ---
$s = story()->io(CLIENT, 90, 1000.9, 1690, 1700);
$d = judged(
	'disk, held back', sleeps($s, 'disk', 1700.01, state => 'disk_sleep'), 'disk-io',
	'xterm',           0.97,                                               1
);
like_sentence(
	$d,
	qr/it was held back before disk 8:0, with no request ahead of its own in the device\.$/,
	'disk, held back'
);
like(
	$d->{verdict}{door},
	qr/^whatever lets requests go to this disk: its I\/O scheduler, or a limit of the control group of xterm/,
	'disk, held back: nobody is accused of a limit that may not be'
);
like(
	$d->{verdict}{next}, qr{`cat /sys/dev/block/8:0/queue/scheduler`},
	'disk, held back: where to look'
);

# --- fsync: the journal's thread writes for the client, behind a writer ---
$s = story();
$s->builder->thread(820, 'jbd2/sda1-8', flags => 1, ts_ns => 900 * MS)
	->thread(830, 'dd', ts_ns => 900 * MS);
$s->io(830, 7000, 1000.2, 1000.3, 1600, op => 'write')
	->io(820, 400, 1001.3, 1600.1, 1700, op => 'write');
$s->wake(1, 1000.95, 820, CLIENT)->run(0, 1001.2, 1001.5, 820, 'disk_sleep')
	->wake(0, 1700.05, 820, 0, 'jbd2', context => 'softirq_irq');
$s->run(0, 1700.1, 1700.4, 820, 'sleeping');
$d = judged(
	'fsync',
	sleeps($s, 'journal', 1700.3, state => 'disk_sleep', waker => 820, context => 'task'),
	'disk-io', 'dd', 0.99, 1
);
($own) = grep { $_->{kind} eq 'disk-io' && $_->{pid} == CLIENT } @{ $d->{totals}{blamed} };
cmp_ok($own->{ns}, '>', 99 * MS, 'fsync: what the journal wrote is for the client');
ok(
	!(grep { ($_->{comm} // '') =~ /jbd2/ } @{ $d->{totals}{blamed} }),
	'fsync: nobody is sent to the journal'
);

# --- fsync behind a writer in a cgroup with a limit: a worker hands the requests down when their
# time has come, and nobody knows who asked for them but by whom they wake when they are done ---
$s = story();
$s->builder->thread(840, 'kworker/0:2', flags => 1, ts_ns => 900 * MS)
	->thread(830, 'dd', ts_ns => 900 * MS);
for my $k (0 .. 5) {
	my ($sector, $t) = (7000 + 8 * $k, 1100 + 100 * $k);
	$s->io(840, $sector, $t, $t + 0.01, $t + 0.1, op => 'write');
	$s->builder->switch(1, ns($t - 50), 830, 0, 'disk_sleep') if $k % 2;
	$s->builder->kernel(
		0, ns($t + 0.1) + 3000, 'sched_waking', tid => 830, waker_tid => 0,
		context => 'softirq_irq', prio => 120, wakee_cpu => 1
	) if $k % 2;
}
$s->io(840, 90, 1699, 1699.1, 1700, op => 'write');
# Done after the client was woken, and by then another's: not what it slept for.
$s->builder->thread(831, 'other', ts_ns => 900 * MS)->switch(1, ns(1650), 831, 0, 'disk_sleep');
$s->io(840, 900, 1698, 1699.2, 1700.02, op => 'write');
$s->builder->kernel(
	0, ns(1700.025), 'sched_waking', tid => 831, waker_tid => 0,
	context => 'softirq_irq', prio => 120, wakee_cpu => 1
);
$d = judged(
	'fsync, held back', sleeps($s, 'disk', 1700.01, state => 'disk_sleep'), 'disk-io', 'dd',
	0.99, 1
);
my ($theirs) = grep { $_->{kind} eq 'disk-io' && $_->{pid} == 830 } @{ $d->{totals}{blamed} };
is($theirs->{ns}, ns(1600) - ns(1001), 'fsync, held back: up to what they had let go last');

# --- the same; of one large write, handed down in pieces, the last piece alone wakes its writer,
# and was handed down together with the one before ---
sub pieces {
	my ($s, $went) = @_;
	$s->builder->thread(840, 'kworker/0:2', flags => 1, ts_ns => 900 * MS)
		->thread(830, 'dd', ts_ns => 900 * MS)->switch(1, ns($went), 830, 0, 'disk_sleep');
	$s->io(840, 7000 + 8 * $_->[0], $_->[1], $_->[1] + 0.05, $_->[2], op => 'write')
		for [ 0, 1300, 1301 ], [ 1, 1698, 1698.5 ], [ 2, 1698, 1699.2 ];
	$s->builder->kernel(
		0, ns(1699.203), 'sched_waking', tid => 830, waker_tid => 0,
		context => 'softirq_irq', prio => 120, wakee_cpu => 1, stack_id => $s->id('direct')
	);
	return $s->io(840, 90, 1698.01, 1699.3, 1700, op => 'write');
}
judged(
	'fsync behind pieces',
	sleeps(pieces(story(), 1010), 'disk', 1700.01, state => 'disk_sleep'), 'disk-io', 'dd', 0.99,
	1
);

# --- the writer's next write has begun, and ends after all that is recorded: it goes on where the
# last one ended ---
$s = story();
$s->builder->thread(840, 'kworker/0:2', flags => 1, ts_ns => 900 * MS)
	->thread(830, 'dd', ts_ns => 900 * MS)->switch(1, ns(800), 830, 0, 'disk_sleep');
$s->io(840, 7000 + 8 * $_->[0], $_->[1], $_->[1] + 0.05, $_->[2], op => 'write')
	for [ 0, 950, 951 ], [ 1, 1400, 1401 ], [ 2, 1698, 1698.5 ];
$s->builder->kernel(
	0, ns(951.003), 'sched_waking', tid => 830, waker_tid => 0,
	context => 'softirq_irq', prio => 120, wakee_cpu => 1, stack_id => $s->id('direct')
);
$d = judged(
	'fsync behind the next write',
	sleeps(
		$s->io(840, 90, 1699, 1699.3, 1700, op => 'write'), 'disk', 1700.01, state => 'disk_sleep'
	),
	'disk-io',
	'dd',
	0.99,
	1
);
cmp_ok(
	$d->{verdict}{confidence}, '<', 0.1,
	'fsync behind the next write: whose that is is inferred'
);

# --- the writer went to sleep long before the records at hand ---
$s = pieces(story(section_records => 16), 700);
$s->kernel(
	0, 701 + $_ / 100, 'sched_waking', tid => 999, waker_tid => 0, context => 'hardirq',
	prio => 120, wakee_cpu => 0
	),
	$s->kernel(
	1, 701 + $_ / 100, 'sched_waking', tid => 999, waker_tid => 0, context => 'hardirq',
	prio => 120, wakee_cpu => 0
	) for 1 .. 100;
judged(
	'fsync behind an old sleeper', sleeps($s, 'disk', 1700.01, state => 'disk_sleep'),
	'disk-io', 'dd', 0.99, 1
);

# --- the client read something long ago; of that CPU's records the end of it is not at hand, of the
# other's the beginning is ---
$s = pieces(story(section_records => 16), 1010);
$s->builder->thread(850, 'login', ts_ns => 600 * MS);
$s->io($_, 20_000 + $_, 600, 600.1, 600.5) for 850, CLIENT;
$s->kernel(
	0, 701 + $_ / 100, 'sched_waking', tid => 999, waker_tid => 0, context => 'hardirq',
	prio => 120, wakee_cpu => 0
) for 1 .. 100;
judged(
	'fsync, halves of old requests', sleeps($s, 'disk', 1700.01, state => 'disk_sleep'),
	'disk-io', 'dd', 0.99, 1
);

# --- the same, and nobody was woken by what was let go before: it is not the worker's ---
$s = story();
$s->builder->thread(840, 'kworker/0:2', flags => 1, ts_ns => 900 * MS);
$s->io(840, 7000 + 8 * $_, 1100 + 100 * $_, 1100.01 + 100 * $_, 1100.1 + 100 * $_) for 0 .. 5;
$s->io(840, 90,            1699,            1699.1,             1700);
$d = judged(
	'read, held back', sleeps($s, 'fault', 1700.01, state => 'disk_sleep'), 'page-fault-io',
	'xterm',           0.99,                                                1
);
like_sentence(
	$d, qr/it was held back before disk 8:0 by a limit of its control group\.$/,
	'read, held back'
);
like($d->{verdict}{next}, qr/io\.max/, 'read, held back: what to do next');

# --- page faults: by the stack; by records; from swap ---
$s = story()->io(CLIENT, 90, 1000.9, 1001.5, 1700);
judged(
	'page fault', sleeps($s, 'fault', 1700.01, state => 'disk_sleep'), 'page-fault-io', 'xterm',
	0.97,         1
);
judged(
	'swap, by the stack', sleeps(story(), 'swap', 1700, state => 'disk_sleep'), 'page-fault-io',
	'xterm',              0.97,                                                 1
);
$s = story()->lasts('memory_wait', 1, 1000.95, 1700.2, tid => CLIENT, kind => 'fault_swap');
$s->builder->thread(840, 'browser', rss_kib => 3 << 20)->thread(841, 'panel', rss_kib => 1 << 10);
$d = judged(
	'swap, by records', sleeps($s, undef, 1700, state => 'disk_sleep'), 'page-fault-io',
	'xterm',            0.97,                                           1
);
like_sentence(
	$d, qr/it was waiting for a page fault that read what had been swapped out\.$/,
	'swap'
);
is_deeply(
	$d->{verdict}{circumstances}, ['Most memory had: browser 3.0 GiB, panel 1 MiB.'],
	'swap: who has the memory'
);

# --- memory: the client itself looks for pages ---
$s = story()->enter(1000)
	->lasts('memory_wait', 1, 1000.5, 1800.5, tid => CLIENT, kind => 'memcg_reclaim', amount => 32);
$d = judged(
	'reclaim', $s->run(1, 1000.25, 1801, CLIENT, 'sleeping')->draw(1800.9)->hotkey(3000),
	'memory-reclaim', 'xterm', 0.99, 1
);
like_sentence(
	$d, qr/it was looking for pages to free, because its memory cgroup had none left\.$/,
	'reclaim'
);
is($d->{totals}{kinds}{'memory-reclaim'}, 800 * MS, 'reclaim: exactly as long as the records say');

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
