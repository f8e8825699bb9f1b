#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Stories of locks: who held what the client waited for, what it did meanwhile, and who kept it from
# doing that.
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

# --- a futex: held by a thread of its own; by another process; a thread that is asked to work; one
# that is waited for until it ends ---
sub holder {
	my ($s, $comm, $pid, %o) = @_;
	$s->builder->thread(201, $comm, pid => $pid, prio => $o{prio} // 120, ts_ns => 900 * MS);
	return $s->run(0, 1000.5, 1700.2, 201, $o{ends} ? 'dead' : 'sleeping', prio => $o{prio} // 120);
}
my $d = judged(
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
my $s = holder(story(), 'worker', CLIENT)->wake(1, 1000.4, 201, CLIENT);
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
$s->builder->thread(850, 'backup', ts_ns => 900 * MS, state => 'runnable');
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

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
