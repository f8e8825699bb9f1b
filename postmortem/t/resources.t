#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# One story for each of the kernel's rarer records: disks, locks, memory, interrupts, quotas,
# signals, samples; who is named, and exact sums.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated",
	"$Bin/../../tests/causes/lib";
use Tipme::RowSaid;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, SHELL => 300, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;
sub story { return Tipme::Test::Story->new(@_) }
sub ns    { return Tipme::Test::Story::ns($_[0]) }

sub like_sentence {
	my ($d, $re, $what) = @_;
	like($d->{verdict}{sentence}, $re, "$what: the sentence");
}

# The client runs from 1000.25 on, sleeps from 1001 to UNTIL in that stack, woken as told, runs 1 ms
# and draws.
sub sleeps {
	my ($s, $stack, $until, %wake) = @_;
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, $wake{state} // 'sleeping');
	delete $wake{state};
	my $waker = delete $wake{waker} // 0;
	$s->wake(0, $until, CLIENT, $waker, $stack, context => 'hardirq', %wake);
	return $s->run(1, $until + 0.1, $until + 1, CLIENT, 'sleeping')->draw($until + 0.9)
		->hotkey(3000);
}

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

# --- a futex: held by a thread of its own; by another process; a thread that is asked to work; one
# that is waited for until it ends ---
sub holder {
	my ($s, $comm, $pid, %o) = @_;
	$s->builder->thread(201, $comm, pid => $pid, prio => $o{prio} // 120, ts_ns => 900 * MS);
	return $s->run(0, 1000.5, 1700.2, 201, $o{ends} ? 'dead' : 'sleeping', prio => $o{prio} // 120);
}
$d = judged(
	'futex of its own',
	sleeps(holder(story(), 'render', CLIENT), 'futex', 1700.1, waker => 201, context => 'task'),
	'futex-wait', 'xterm', 0.98, 1
);
is($d->{verdict}{blamed}{pid}, CLIENT, 'futex of its own: the process is the client');
like_sentence(
	$d, qr/it waited for a lock that another thread of its own held while computing\.$/,
	'futex of its own'
);
$d = judged(
	'futex of another',
	sleeps(holder(story(), 'indexer', 201), 'futex', 1700.1, waker => 201, context => 'task'),
	'futex-wait', 'indexer', 0.98, 1
);
like_sentence(
	$d, qr/it waited for a lock that "indexer" \(pid 201\) held while computing\.$/,
	'futex of another'
);
$s = holder(story(), 'worker', CLIENT)->wake(1, 1000.4, 201, CLIENT);
judged(
	'a thread that was asked', sleeps($s, 'futex', 1700.1, waker => 201, context => 'task'),
	'app-compute', 'xterm', 0.98, 1
);
$s = holder(story(), 'worker', CLIENT, ends => 1)
	->kernel(0, 1700.15, 'exit', tid => 201, pid => CLIENT);
judged(
	'a thread that is joined', sleeps($s, 'futex', 1700.1, waker => 201, context => 'task'),
	'app-compute', 'xterm', 0.98, 1
);

# --- a file lock held by a process that sleeps ---
$s = story();
$s->builder->thread(850, 'backup', ts_ns => 900 * MS);
$s->run(0, 900, 901, 850, 'sleeping')->wake(0, 1700, 850, 0, 'nanosleep', context => 'hardirq')
	->run(0, 1700.05, 1700.3, 850, 'sleeping');
$d = judged(
	'file lock', sleeps($s, 'flock', 1700.1, waker => 850, context => 'task'), 'lock-wait',
	'backup',    0.98,                                                         1
);
like_sentence(
	$d,
	qr/it waited for a lock that "backup" \(pid 850\) held while sleeping for a time that it chose \(nanosleep\)\.$/,
	'file lock'
);

# --- the same, by one that told another program of it before it slept in its event loop: it need
# not wait for that one ---
$s = story();
$s->builder->thread(850, 'backup', ts_ns => 900 * MS)->thread(860, 'logger', ts_ns => 900 * MS);
$s->run(0, 998, 999, 850, 'sleeping')->wake(0, 998.9, 860, 850, 'poll')
	->run(0, 999.1, 999.3, 860, 'sleeping');
$s->wake(0, 1700, 850, 0, 'poll', context => 'hardirq')->run(0, 1700.05, 1700.3, 850, 'sleeping');
$d = judged(
	'file lock, after a message',
	sleeps($s, 'flock', 1700.1, waker => 850, context => 'task'), 'lock-wait', 'backup', 0.98, 1
);
like_sentence(
	$d,
	qr/for 699 ms \(100 %\) it waited for a lock that "backup" \(pid 850\) held while waiting in its event loop until a time that it chose\.$/,
	'file lock, after a message'
);

# --- the same, let go by ending, after the client had woken it ---
$s = story();
$s->builder->thread(850, 'backup', ts_ns => 900 * MS);
$s->run(0, 1000.5, 1700.3, 850, 'dead')->wake(1, 1000.4, 850, CLIENT)
	->kernel(0, 1700.2, 'exit', tid => 850, pid => 850);
judged(
	'file lock, let go by ending', sleeps($s, 'flock', 1700.1, waker => 850, context => 'task'),
	'lock-wait', 'backup', 0.98, 1
);

# --- a kernel lock that is still held at the hot-key: the kernel says by whom ---
$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'disk_sleep');
$s->builder->thread(850, 'backup', ts_ns => 900 * MS);
$s->run(1, 1001.1, 4100, 850, 'sleeping', open => 1)->lasts(
	'lock_contention', 1, 1000.98, undef, tid => CLIENT, lock => 4711, owner_tid => 850,
	kind => 'mutex'
);
$s->hotkey(4000)->picture(
	CLIENT, 'xterm', state => 'disk_sleep', since_ns => 1001 * MS,
	stack_id => $s->id('mutex')
);
$d = judged('kernel lock, open', $s, 'lock-wait', 'backup', 0.99, 1);
is($d->{interval}{certainty}, 'open', 'kernel lock: the interval is open');

# --- priority inversion: the holder is nice, a hog keeps it from the CPU; and the same with its
# priority lent ---
sub inversion {
	my ($lent) = @_;
	my $s = story();
	$s->builder->thread(860, 'nicely', prio => 139, ts_ns => 900 * MS)
		->thread(861, 'hog', prio => 120, ts_ns => 900 * MS);
	$s->builder->switch(0, ns(1000.5), 0, 860, 'runnable', next_prio => 139)->switch(
		0, ns(1000.8), 860, 861, 'runnable', prev_prio => 139, next_prio => 120,
		prev_preempted => 1
	);
	$s->builder->switch(
		0, ns(1690), 861, 860, 'runnable', prev_prio => 120, next_prio => 139,
		prev_preempted => 1
	)->switch(0, ns(1700.2), 860, 0, 'sleeping', prev_prio => 139);
	$s->kernel(
		1, 1001, 'priority', tid => 860, changer_tid => CLIENT, old_prio => 139,
		new_prio => 120, inherited => 1
	) if $lent;
	return sleeps($s, 'futex', 1700.1, waker => 860, context => 'task');
}
$d = judged('priority inversion', inversion(0), 'priority-inversion', 'hog', 0.97, 1);
like_sentence(
	$d,
	qr/it waited for a lock that nicely \(pid 860\), of low priority, could not give back because "hog" \(pid 861\) had the CPU\.$/,
	'priority inversion'
);
is_deeply(
	$d->{verdict}{blamed}{holder}, { pid => 860, comm => 'nicely' },
	'priority inversion: who held it'
);
# --- the same where the hog and another take turns a thousand times; and daemons of one name that
# have nothing to do with each other ---
sub turns {
	my (@hogs) = @_;
	my $s = story(first_ns => 1);
	$s->builder->thread(860, 'nicely', prio => 139, start_ns => 5, ts_ns => 900 * MS);
	$s->builder->thread(
		$hogs[$_], $_ < 2 ? 'daemon' : 'hog', ppid => 7000 + $_, start_ns => 5,
		ts_ns => 900 * MS
	) for 0 .. $#hogs;
	$s->builder->switch(0, ns(1000.5), 0, 860, 'runnable', next_prio => 139);
	for my $k (0 .. 2999) {
		my ($was, $now) = map { $hogs[ $_ % @hogs ] } $k - 1, $k;
		$s->builder->switch(
			0, ns(1000.8 + 0.2 * $k), $k ? $was : 860, $now, 'runnable',
			prev_prio => $k ? 120 : 139, next_prio => 120, prev_preempted => 1
		);
	}
	$s->builder->switch(
		0, ns(1690), $hogs[ 2999 % @hogs ], 860, 'runnable', prev_prio => 120,
		next_prio => 139, prev_preempted => 1
	)->switch(0, ns(1700.2), 860, 0, 'sleeping', prev_prio => 139);
	return sleeps($s, 'futex', 1700.1, waker => 860, context => 'task');
}
$d = judged('inversion by turns', turns(861, 862), 'priority-inversion', 'daemon', 0.97, 1);
is_deeply(
	$d->{verdict}{blamed}{holder}, { pid => 860, comm => 'nicely' },
	'inversion by turns: who held it'
);

judged('a priority that was lent', inversion(1), 'cpu-contention', 'hog', 0.97, 1);

# --- an interrupt that lasts, while the client computes; a softirq in its own call is its own ---
$s = story()->daemon('irq_name', number => 14, name => 'ata_piix');
$s->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping')->kernel(
	1, 1100 + 50 * $_, 'irq', tid => CLIENT, duration_ns => 45 * MS, number => 14,
	kind => 'hardirq', context => 'hardirq'
) for 0 .. 0;
$s->kernel(
	1, 1100 + 50 * $_, 'irq', tid => CLIENT, duration_ns => 45 * MS, number => 14,
	kind => 'hardirq', context => 'hardirq'
) for 1 .. 11;
$s->kernel(
	1, 1790, 'irq', tid => CLIENT, duration_ns => 5 * MS, number => 3, kind => 'softirq',
	context => 'softirq_task', raiser_tid => CLIENT
);
$d = judged(
	'interrupts', $s->draw(1800.9)->hotkey(3000), 'irq-time', 'interrupt 14 (ata_piix)',
	0.67,         0.68
);
like_sentence($d, qr/it had no CPU: interrupt 14 \(ata_piix\) had it\.$/, 'interrupts');
is($d->{totals}{kinds}{'irq-time'}, 540 * MS, 'interrupts: exactly what was theirs');
is($d->{verdict}{door},        'the driver of interrupt 14 (ata_piix)', 'interrupts: whose door');
is($d->{verdict}{blamed}{pid}, undef, 'interrupts: no process is blamed');

# --- interrupts of several kinds: each goes by its own name, whichever came last ---
$s = story()->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping');
$s->kernel(
	1, 1100 + 50 * $_, 'irq', tid => CLIENT, duration_ns => 30 * MS, number => 3,
	kind => 'softirq', context => 'hardirq', raiser_tid => 0
)->kernel(
	1, 1135 + 50 * $_, 'irq', tid => CLIENT, duration_ns => 15 * MS, number => 236,
	kind => 'timer', context => 'hardirq'
) for 0 .. 12;
$d = judged(
	'interrupts of two kinds',        $s->draw(1800.9)->hotkey(3000), 'irq-time',
	'softirq 3 (network, receiving)', 0.72,                           0.74
);
like_sentence(
	$d,
	qr/for 585 ms \(73 %\) it had no CPU: softirq 3 \(network, receiving\) had it for 390 ms, other interrupts for the rest\.$/,
	'interrupts of two kinds'
);
is_deeply(
	{ map { $_->{comm} => $_->{ns} } grep { $_->{kind} eq 'irq-time' } @{ $d->{totals}{blamed} } },
	{ 'softirq 3 (network, receiving)' => 390 * MS, "the CPU's timer interrupt" => 195 * MS },
	'interrupts of two kinds: what each had'
);

# --- many short interrupts, known by their sum only ---
$s = story()->enter(1000);
$s->builder->switch(1, ns(1000.25), 0, CLIENT, 'runnable')
	->switch(1, ns(1801), CLIENT, 0, 'sleeping', irq_ns => 600 * MS);
$d = judged(
	'short interrupts', $s->draw(1800.9)->hotkey(3000), 'irq-time', 'many short interrupts',
	0.74, 0.76
);
cmp_ok($d->{verdict}{confidence}, '>', 0.99, 'short interrupts: the sum is exact')
	if $d->{totals}{kinds}{'irq-time'} == 600 * MS;

# --- the host takes the CPU away ---
$s = story()->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping');
$s->kernel(
	1, 1100 + 100 * $_, 'steal', tid => CLIENT, steal_ns => 90 * MS, cpu => 1,
	since_ns => ns(1000 + 100 * $_)
) for 1 .. 6;
$d = judged('steal', $s->draw(1800.9)->hotkey(3000), 'host-steal', undef, 0.67, 0.68);
is($d->{totals}{kinds}{'host-steal'}, 540 * MS, 'steal: as much as the records say');
like_sentence(
	$d, qr/it had no CPU: the host of this virtual machine had taken it away\.$/,
	'steal'
);
Tipme::RowSaid::story(58, $d);

# --- a quota: by records, by samples, by its CPU that idles ---
sub throttled {
	my (%o) = @_;
	my $s = story();
	$s->builder->thread(CLIENT, 'xterm', ts_ns => 900 * MS, cgroup => 77, cpu => 1);
	$s->daemon(
		'cgroup_name', cgroup => 70, quota_us => 20_000, period_us => 100_000,
		path => '/user.slice'
	);
	$s->daemon('cgroup_name', cgroup => 77, path => '/user.slice/xterm.scope');
	$s->enter(1000);
	if ($o{busy}) {
		$s->builder->thread(870, 'hog', ts_ns => 900 * MS);
		$s->builder->switch(1, ns(1020 + 100 * $_) + 1, 0, 870, 'runnable')
			->switch(1, ns(1100.25 + 100 * $_) - 1, 870, 0, 'runnable')
			for 0 .. 6;
	}
	for my $k (0 .. 7) {
		$s->run(
			1, 1000.25 + 100 * $k, 1020 + 100 * $k, CLIENT, $k < 7 ? 'runnable' : 'sleeping',
			preempted => $k < 7 ? 1 : 0
		);
	}
	if ($o{exact}) {
		$s->lasts(
			'cpu_throttle', 1, 1020 + 100 * $_ - 0.01, 1100.25 + 100 * $_ - 0.05,
			cgroup => 70,   cpu => 1
		) for 0 .. 6;
	}
	if ($o{sample}) {
		$s->kernel(
			0, 1999, 'cpu_throttle', cgroup => 70, cpu => 65535, throttled_us => 560_000,
			phase => 'sample'
		);
	}
	return $s->draw(1719.9)->hotkey(3000);
}
$d = judged('quota', throttled(exact => 1), 'cpu-throttled', 'xterm', 0.76, 0.79);
like_sentence(
	$d,
	qr{it was kept from running: the cgroup /user\.slice had used up its CPU quota of 20 ms in each 100 ms\.$},
	'quota'
);
cmp_ok($d->{verdict}{confidence}, '>', 0.99, 'quota: sure');
like($d->{verdict}{sentence}, qr/ms: for \d+ ms/, 'quota: known exactly, and so not "likely"');
like(
	$d->{verdict}{next},
	qr/^Raise the quota \(`systemctl set-property user\.slice CPUQuota=\.\.\.`\)\.$/,
	'quota: which one to raise'
);
$d = judged('quota, sampled', throttled(sample => 1), 'cpu-throttled', 'xterm', 0.76, 0.79);
cmp_ok($d->{verdict}{confidence}, '<', 0.3, 'quota, sampled: inferred');
# --- put into its cgroup after the last picture of it: the next picture says which ---
$s = story();
$s->builder->thread(CLIENT, 'xterm', ts_ns => $_->[0] * MS, cgroup => $_->[1], cpu => 1)
	for [ 900, 1 ], [ 1900, 77 ];
$s->daemon("cgroup_name", cgroup => 77, path => "/x", quota_us => 20_000, period_us => 100_000);
$s->enter(1000);
$s->run(
	1, 1000.25 + 100 * $_, 1020 + 100 * $_, CLIENT, $_ < 7 ? 'runnable' : 'sleeping',
	preempted => $_ < 7 ? 1 : 0
) for 0 .. 7;
$s->daemon(
	'cpu_throttle', ts_ns => ns(1890), cgroup => 77, cpu => 65535, phase => 'sample',
	throttled_us => 560_000
);
judged(
	'quota, of a cgroup it has just come to', $s->draw(1719.9)->hotkey(3000), 'cpu-throttled',
	'xterm',                                  0.76,                           0.79
);
# --- by what the daemon found by looking, on a machine where no CPU idles: so much, and no more ---
$s = throttled(busy => 1);
$s->daemon(
	'cpu_throttle', ts_ns => ns(1100 + 1000 * $_), cgroup => 70, cpu => 65535,
	phase => 'sample', throttled_us => $_ ? 400_000 : 1000
) for 0, 1;
like(
	$d->{verdict}{sentence}, qr/ms: most likely, for \d+ ms \(\d+ %\) it was kept from running/,
	'quota, sampled: likely, and says so'
);
$d = judged('quota, looked at', $s, 'cpu-throttled', 'xterm', 0.55, 0.57);
like(
	$d->{verdict}{sentence}, qr/ms: most likely, for \d+ ms/,
	'quota, looked at: likely, and says so'
);
is($d->{totals}{kinds}{'cpu-throttled'}, 401 * MS, 'quota, looked at: as much as was counted')
	or diag(explain($d->{totals}{kinds}));
cmp_ok($d->{verdict}{confidence}, '<', 0.5, 'quota, looked at: when in it is not known');

# --- the kernel counts a stretch of throttling when it ends: of one that lasts while the daemon
# looks, all is in the next count ---
$s = throttled();
$s->builder->thread(880, 'tipmed', ts_ns => 900 * MS);
$s->run(1, 1259.9, 1260.1, 880, 'sleeping');
$s->daemon(
	'cpu_throttle', ts_ns => ns($_->[0]), cgroup => 70, cpu => 65535, phase => 'sample',
	throttled_us => $_->[1]
) for [ 260, 1000 ], [ 1260, 160_500 ], [ 2260, 401_250 ];
$d = judged('quota, looked at while it lasts', $s, 'cpu-throttled', 'xterm', 0.76, 0.79);
cmp_ok(
	$d->{totals}{kinds}{'cpu-throttled'}, '>=', 561_550_000,
	'quota, looked at while it lasts: both halves'
) or diag(explain($d->{totals}{kinds}));
$s = throttled();
$s->daemon(
	'cpu_throttle', ts_ns => ns($_->[0]), cgroup => 70, cpu => 65535, phase => 'sample',
	throttled_us => $_->[1]
) for [ 260, 1000 ], [ 1260, 160_500 ], [ 2260, 45_000 ];
is(
	$s->diagnose("$tmp/lasts")->{totals}{kinds}{'cpu-throttled'}, 526_500_000,
	'quota, looked at while it lasts: of that wait no more than was counted'
);

# --- the same behind a thousand who take turns ---
$s = story();
$s->builder->thread(CLIENT, 'xterm', ts_ns => 900 * MS, cgroup => 70, cpu => 1)
	->thread(910, 'ping', ts_ns => 900 * MS)->thread(911, 'pong', ts_ns => 900 * MS);
$s->daemon('cgroup_name', cgroup => 70, quota_us => 20_000, period_us => 100_000, path => '/x')
	->daemon(
	'cpu_throttle', ts_ns => ns(2000), cgroup => 70, cpu => 65535, phase => 'sample',
	throttled_us => 400_000
	);
$s->enter(1000);
for my $k (0 .. 2999) {
	my ($x, $y) = $k % 2 ? (911, 910) : (910, 911);
	$s->builder->switch(1, ns(1000 + $k * 0.2), $k ? $y : 0, $x, 'runnable', prev_preempted => 1);
}
$s->builder->switch(1, ns(1600), 911, CLIENT, 'runnable', prev_preempted => 1)
	->switch(1, ns(1601), CLIENT, 0, 'sleeping');
$d = judged(
	'quota, behind many', $s->draw(1600.9)->hotkey(3000), 'cpu-throttled', 'xterm', 0.66,
	0.67
);
is($d->{totals}{kinds}{'cpu-throttled'}, 400 * MS, 'quota, behind many: as much as was counted');

judged('quota, inferred', throttled(), 'cpu-throttled', 'xterm', 0.76, 0.79);

# --- who stopped it ---
for my $when (949.95, 20) {
	$s = story()->kernel(
		0, $when, 'signal', tid => CLIENT, pid => CLIENT, sender_tid => 600, signal => 19,
		context => 'task'
	);
	$s->builder->thread(600, 'tester', ts_ns => 5 * MS);
	$s->wake(0, 950, CLIENT, 600, 'poll')->run(1, 950.1, 950.2, CLIENT, 'stopped')
		->run(0, 949,  950.5, 600, 'sleeping')->enter(1000, no_wake => 1)
		->run(0, 1999, 2001,  600, 'sleeping');
	$s->wake(0, 2000, CLIENT, SHELL)->run(1, 2000.1, 2002, CLIENT, 'sleeping')->draw(2001.9)
		->hotkey(3000);
	$d = judged("stopped at $when", $s, 'stopped', 'xterm', 0.98, 1);
	like_sentence(
		$d,
		qr/it was stopped by a signal from tester \(pid 600\), until bash \(pid 300\) let it go on\.$/,
		'stopped'
	);
	like($d->{verdict}{door}, qr/tester \(pid 600\)/, 'stopped: whose door');
}

# --- a window manager has the key first, sleeps, and lets it go on ---
$s = story();
$s->builder->thread(720, 'wm', ts_ns => 5 * MS);
$s->enter(1000, chord => 'none');
$s->builder->x(
	ns(1000.15), 'x_deliver', input_seq => 4, kind => 'other', pid => CLIENT,
	client => 4, x_type => 10
)->x(
	ns(1000.19), 'x_deliver', input_seq => 4, kind => 'key_press', pid => 720, client => 7,
	x_type => 2
);
$s->wake(0, 1000.18, CLIENT, SERVER, 'poll')->run(1, 1000.19, 1000.24, CLIENT, 'sleeping');
$s->wake(0, 1000.2,  720,    SERVER, 'poll')->run(1, 1000.25, 1000.5,  720,    'sleeping')
	->wake(1, 1300, 720, 0, 'nanosleep', context => 'hardirq')
	->run(1, 1300.05, 1300.4, 720, 'sleeping');
$s->wake(1, 1300.2, SERVER, 720, 'epoll')->run(0, 1300.25, 1300.6, SERVER, 'sleeping');
$s->builder->x(ns(1300.26), 'x_wakeup')->x(
	ns(1300.4), 'x_deliver', input_seq => 4, kind => 'key_press', pid => CLIENT, client => 4,
	x_type => 2
)->x(ns(1300.55), 'x_sleep');
$s->wake(0, 1300.45, CLIENT, SERVER, 'poll')->run(1, 1300.7, 1303, CLIENT, 'sleeping')
	->draw(1302.9)->hotkey(3000);
$d = judged('a key held back', $s, 'input-late', 'wm', 0.98, 1);
like_sentence(
	$d,
	qr/^xterm \(pid 200\) .*: for 300 ms \(99 %\) "wm" \(pid 720\) held the event back, sleeping for a time that it chose \(nanosleep\)\.$/,
	'a key held back'
);

# --- pinned to a CPU that another has, while one idles ---
sub pinned {
	my ($mask) = @_;
	my $s = story()->enter(1000);
	$s->builder->thread(CLIENT, 'xterm', ts_ns => 900 * MS, cpu => 1, cpus_allowed => $mask)
		->thread(870, 'hog', ts_ns => 900 * MS);
	$s->builder->switch(1, ns(1000), 0, 870, 'runnable')
		->switch(1, ns(1800), 870, CLIENT, 'runnable', prev_preempted => 1)
		->switch(1, ns(1802), CLIENT, 870, 'sleeping')->switch(1, ns(1803), 870, 0, 'dead');
	return $s->draw(1801.9)->hotkey(3000);
}
$d = judged('pinned', pinned(2), 'cpu-contention', 'hog', 0.98, 1);
is_deeply(
	$d->{verdict}{circumstances},
	[
		"xterm (tid 200) may run only on CPU 1, while CPU 0 idled for 800 of these 800 ms: that is this machine's configuration."
	],
	'pinned: the machine is set up so'
);
like($d->{verdict}{next}, qr/taskset -p 200/, 'pinned: what to look at');
like(
	judged('not pinned', pinned(3), 'cpu-contention', 'hog', 0.98, 1)->{verdict}{circumstances}[0],
	qr/may run there: the scheduler left it on CPU 1\.$/, 'not pinned: the scheduler did it'
);
like(
	judged('pinned or not', pinned(0), 'cpu-contention', 'hog', 0.98, 1)
		->{verdict}{circumstances}[0], qr/while xterm \(tid 200\) waited on CPU 1\.$/,
	'not known: no more is said'
);

my $to_one = sub {
	my (%f) = @_;
	my $s = pinned(3);
	$s->$_(@{ $f{$_} }) for grep { $f{$_} } qw(kernel daemon);
	return $s;
};
is_deeply(
	judged(
		'pinned since then',
		$to_one->(
			kernel => [ 0, 950, 'affinity', tid => CLIENT, cpus_allowed => 2, changer_tid => 870 ]
		),
		'cpu-contention',
		'hog',
		0.98,
		1
	)->{verdict}{circumstances},
	[
		"xterm (tid 200) may run only on CPU 1 (set by hog (tid 870) 0.050 s before), while CPU 0 idled for 800 of these 800 ms: that is this machine's configuration."
	],
	'pinned since then: by whom and when'
);
is_deeply(
	judged(
		'pinned by itself',
		$to_one->(
			kernel =>
				[ 0, 950, 'affinity', tid => CLIENT, cpus_allowed => 2, changer_tid => CLIENT ]
		),
		'cpu-contention',
		'hog',
		0.98,
		1
	)->{verdict}{idle_cpus}{changed},
	{ before_ns => 50.2 * MS, within_ns => 0, by => { tid => CLIENT, comm => 'xterm' } },
	'pinned by itself: so it says'
);
like(
	judged(
		'pinned, seen by pictures',
		$to_one->(
			daemon => [
				'affinity', ts_ns => 980 * MS, tid => CLIENT, cpus_allowed => 2,
				within_ns => 1000 * MS
			]
		),
		'cpu-contention',
		'hog',
		0.98,
		1
	)->{verdict}{circumstances}[0],
	qr/may run only on CPU 1 \(changed 0\.0 to 1\.0 s before\), while/,
	'pinned, seen by pictures: within which time'
);
like(
	judged(
		'pinned too late',
		$to_one->(
			kernel => [ 0, 1900, 'affinity', tid => CLIENT, cpus_allowed => 2, changer_tid => 870 ]
		),
		'cpu-contention',
		'hog',
		0.98,
		1
	)->{verdict}{circumstances}[0],
	qr/may run there: the scheduler left it on CPU 1\.$/,
	'pinned after it: says nothing'
);

# --- computing on a CPU that is slower than it can be ---
sub slow {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(
		manifest => {
			frequencies => $o{now}
			? [
				{ cpu => 0, khz => 3_000_000, max_khz => 3_000_000 },
				{ cpu => 1, khz => $o{now},   max_khz => 3_200_000 }
				]
			: []
		}
	);
	$s->kernel(0, $_->[0], 'cpu_frequency', khz => $_->[1], cpu => $_->[2] // 1)
		for @{ $o{changes} // [] };
	return judged($o{what}, $s->key(1000, 800)->hotkey(3000), 'app-compute', 'xterm', 0.98, 1)
		->{verdict};
}
my @slow = slow(what => 'slow all the time', now => 800_000);
is_deeply(
	$slow[0]{circumstances},
	['CPU 1 ran at 0.80 GHz meanwhile, of at most 3.20 (its governor, heat, or too little power).'],
	'slow all the time: said'
);
is_deeply(
	[ @{ $slow[0]{slow_cpu} }{qw(cpu khz max_khz)} ], [ 1, 800_000, 3_200_000 ],
	'slow all the time: as data'
);
is(slow(what => 'fast enough', now => 2_600_000)->{slow_cpu}, undef, 'fast enough: nothing');
is(slow(what => 'frequencies not known')->{slow_cpu},         undef, 'not known: nothing');
is(
	slow(
		what    => 'fast when it mattered', now => 800_000,
		changes => [ [ 900, 3_200_000 ], [ 1900, 800_000 ] ]
	)->{slow_cpu},
	undef,
	'fast when it mattered: nothing'
);
my $slowed = slow(
	what    => 'slowed down', now => 3_200_000,
	changes =>
		[ [ 100, 3_200_000 ], [ 1201, 400_000 ], [ 1300, 3_000_000, 0 ], [ 1900, 3_200_000 ] ]
)->{slow_cpu};
cmp_ok(abs($slowed->{slow_ns} - 600 * MS), '<', 3 * MS, 'slowed down: for how long');
cmp_ok(abs($slowed->{khz} - 1_100_000),    '<', 20_000, 'slowed down: to how much');

# --- woken on a CPU that sleeps deeply: what the kernel says of that stands beside the wait, and no
# share moves ---
sub asleep {
	my ($what, @exits) = @_;
	my $s = story()->enter(1000);
	$s->kernel(
		$_->[1], $_->[0], 'cpu_idle', tid => 0, idle_ns => 5 * MS,
		exit_latency_ns => 890_000, state => 3, cpu => $_->[1]
	) for @exits;
	return judged(
		$what, $s->run(1, 1001.3, 1401, CLIENT, 'sleeping')->draw(1400.5)->hotkey(3000),
		'app-compute', 'xterm', 0.98, 1
	);
}
my ($plain, $deep) = (asleep('asleep, not told'), asleep('deeply asleep', [ 1001.25, 1 ]));
my @waits = map {
	[
		map  { $_->{reason} }
		grep { $_->{state} eq 'runnable' && $_->{comm} eq 'xterm' } @{ $_->{path} }
	]
} $plain, $deep, asleep('another slept', [ 1001.25, 0 ]), asleep('it slept before', [ 990, 1 ]);
my $idle = 'it could run, but its CPU stayed idle';
is_deeply(
	\@waits,
	[ [$idle], ["$idle, in state 3, which takes 890 us to leave"], [$idle], [$idle] ],
	'deeply asleep: said of the wait that it was woken for, of no other'
);
is_deeply(
	[ map { [ @$_{qw(kind ns)} ] } @{ $deep->{totals}{blamed} } ],
	[ map { [ @$_{qw(kind ns)} ] } @{ $plain->{totals}{blamed} } ],
	'deeply asleep: each part is as long as without'
);

# --- moved from one CPU to another while it waits: each of the two that kept it waiting has its
# part ---
$s = story()->enter(1000);
$s->builder->thread(870, 'first', ts_ns => 900 * MS)->thread(871, 'second', ts_ns => 900 * MS);
$s->builder->switch(1, ns(1000.1), 0, 870, 'runnable')->switch(0, ns(1000.4), 0, 871, 'runnable')
	->switch(1, ns(1802), 870, 0, 'dead');
$s->kernel(0, 1300, 'migrate', tid => CLIENT, from_cpu => 1, to_cpu => 0, mover_tid => 0);
$s->builder->switch(0, ns(1800), 871, CLIENT, 'runnable', prev_preempted => 1)
	->switch(0, ns(1801.5), CLIENT, 0, 'sleeping');
$d = judged('moved', $s->draw(1801.9)->hotkey(3000), 'cpu-contention', 'second', 0.99, 1);
my %ns = map { ($_->{comm} // '') => $_->{ns} }
	grep { $_->{kind} eq 'cpu-contention' } @{ $d->{totals}{blamed} };
is($ns{second}, 500 * MS,    'moved: the second had its CPU from then on');
is($ns{first},  299_800_000, 'moved: the first before');

# --- samples name the function; user code, and the kernel for the user ---
sub sampled {
	my ($n, @stack) = @_;
	my $s =
		story()->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping')->draw(1800.9)->hotkey(3000);
	$s->daemon('module', module_id => 5, pid => CLIENT, path => '/usr/lib/libvte.so.0')
		->daemon('module', module_id => 6, pid => CLIENT, path => '/usr/bin/xterm');
	$s->daemon('user_stack', stack_id => $_, frames => 3, text => $stack[ $_ - 1 ]) for 1 .. @stack;
	$s->kernel(
		1, 1010 + 10 * $_, 'sample', tid => CLIENT, user_stack_id => 1 + $_ % @stack,
		period_us => 10_000, cpu => 1, kind => 'clock'
	) for 0 .. $n - 1;
	return $s;
}
$d = judged(
	'sampled', sampled(70, 'reflow+0x1a[5];paint+0x90[6];main+0x3[6]'), 'app-compute',
	'xterm',   0.98,                                                    1
);
is_deeply(
	$d->{verdict}{circumstances}, ['70 of 70 samples lie in reflow (libvte.so.0).'],
	'sampled: module and function'
);
# A sample comes where interrupts are let in again: that names their caller.
my $kernel_stack = 77;
$s = story()->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping')->draw(1800.9)->hotkey(3000);
$s->builder->stack($kernel_stack, stack_text('cpu-clock'));
$s->kernel(
	1, 1010 + 10 * $_, 'sample', tid => CLIENT, kernel_stack_id => $kernel_stack,
	period_us => 10_000, cpu => 1, kind => 'clock'
) for 0 .. 69;
is_deeply(
	judged('sampled, interrupts', $s, 'app-compute', 'xterm', 0.98, 1)->{verdict}{circumstances},
	['70 of 70 samples lie in task_sched_runtime (in the kernel).'],
	'sampled, interrupts: the caller'
);
$d = judged(
	'sampled below', sampled(70, map {"$_+0x1a[5];paint+0x90[6];main+0x3[6]"} qw(a b c d)),
	'app-compute',   'xterm', 0.98, 1
);
is_deeply(
	$d->{verdict}{circumstances},
	['70 of 70 samples lie in paint or what it called (xterm).'],
	'sampled below: the function that all are below'
);
$d = judged(
	'sampled, stripped', sampled(70, '+0x1a2b[5];main+0x3[6]'), 'app-compute', 'xterm',
	0.98, 1
);
is_deeply(
	$d->{verdict}{circumstances},
	['70 of 70 samples lie in the code at +0x1a2b (libvte.so.0).'], 'sampled: no symbol'
);

# How often of how many: what could be chance is not said. Each stack is another function, but for
# the first, which so many have.
for my $case (
	[ 1,  84, 0 ], [ 2,  2,  0 ], [ 4, 4, 0 ], [ 5, 5, 1 ], [ 4, 10, 0 ], [ 5, 10, 1 ],
	[ 20, 70, 0 ], [ 22, 70, 1 ]
	)
{
	my ($k, $of, $said) = @$case;
	my @other = map {"f$_+0x1a[5]"} 1 .. $of - $k;
	$d = judged(
		"sampled, $k of $of", sampled($of, ('reflow+0x1a[5]') x $k, @other), 'app-compute',
		'xterm',              0.98,                                          1
	);
	is_deeply(
		$d->{verdict}{circumstances},
		$said ? ["$k of $of samples lie in reflow (libvte.so.0)."] : [],
		"sampled, $k of $of: " . ($said ? 'said' : 'may be chance')
	);
}
is_deeply(judged('samples of nothing', sampled(70, '?;?'), 'app-compute', 'xterm', 0.98, 1)
		->{verdict}{circumstances}, [], 'samples that nobody could name say nothing');

# --- a storm of short processes of many names: what they come from is named ---
$s = story()->enter(1000);
$s->builder->thread(890, 'make', ts_ns => 900 * MS)->thread(889, 'bash', ts_ns => 900 * MS);
my @names = qw(cc1 as ld sh);
for my $k (0 .. 79) {
	my ($t, $sh, $cc) = (1000.2 + 10 * $k, 3000 + 2 * $k, 3001 + 2 * $k);
	$s->kernel(
		0, $t - 0.1, 'fork', tid => 890, child_tid => $sh, child_pid => $sh,
		child_start_ns => ns($t - 0.1)
	);
	$s->kernel(
		0, $t - 0.05, 'fork', tid => $sh, child_tid => $cc, child_pid => $cc,
		child_start_ns => ns($t - 0.05)
	);
	$s->kernel(0, $t - 0.04, 'rename', tid => $sh, comm => 'sh')
		->kernel(0, $t - 0.03, 'rename', tid => $cc, comm => $names[ $k % 4 ]);
	$s->builder->switch(
		1, ns($t), $k ? $cc - 2 : 0, $cc, $k ? 'dead' : 'runnable',
		next_prio => 110
	);
}
$s->builder->switch(1, ns(1801), 3159, CLIENT, 'dead')->switch(1, ns(1803), CLIENT, 0, 'sleeping');
$s->daemon(
	'exec_args', pid => 890, start_ns => 1890, uid => 1000, count => 2, total_len => 8,
	text => "make\n-j8"
);
$d = judged('compile storm', $s->draw(1802.9)->hotkey(3000), 'cpu-contention', 'make', 0.98, 1);
like_sentence(
	$d,
	qr/it waited for a CPU taken by 80 short-lived processes \(as, cc1, ld, \.\.\.\) below "make" \(pid 890\)\.$|80 short-lived processes \(.*\) below "make" \(pid 890\)\.$/,
	'compile storm'
);
ok(
	(grep { $_ eq 'make (pid 890) was called as: make -j8.' } @{ $d->{verdict}{circumstances} }),
	'compile storm: how it was called'
);

# --- the recorder's own share: one cost for all, or one for each class ---
for my $c (
	[ 100, 5 * 100, 100 ], [ { sched => 100, sample => 1000 }, 4 * 100 + 1000, 1000 ],
	[ { sample => 1000 }, undef, undef ], [ undef, undef, undef ]
	)
{
	$s = Tipme::Test::Story->new(
		manifest => {
			cpus     => 4,
			recorder =>
				{ record_cost_ns => $c->[0], record_cost_spread_ns => { sched => [ 50, 300 ] } }
		}
	);
	$s->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping')->draw(1800.9)->hotkey(3000);
	$s->kernel(1, 1100, 'sample', tid => CLIENT, cpu => 1, kind => 'clock');
	$d = $s->diagnose("$tmp/cost" . ++$n);
	my $o = $d->{overhead};
	is(
		$o->{total_ns}, defined $c->[1] ? $c->[1] + 100 * ($o->{records} - 5) : undef,
		'the cost of the records'
	);
	is($o->{samples_ns}, $c->[2], '... that of samples apart');
	is($o->{samples},    1,       '... which are counted');
	next if !defined $c->[1];
	my $time = 4 * $d->{interval}{duration_ns};
	cmp_ok(abs($o->{share} * $time - $o->{total_ns}), '<', 1, '... shared by the time of all CPUs');
	my $others = $o->{records} - (ref $c->[0] ? 1 : 0);
	cmp_ok(
		abs($o->{share_low} * $time - 50 * $others - (ref $c->[0] ? 1000 : 0)), '<', 1,
		'... at its lower quartile'
	);
	cmp_ok(
		abs($o->{share_high} * $time - 300 * $others - (ref $c->[0] ? 1000 : 0)), '<', 1,
		'... and its upper one'
	);
}

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
