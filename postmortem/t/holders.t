#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Locks of files that somebody naps for, or waits for: who has them, and for whom that one waits. A
# bundle keeps no more than the path of it.
use strict;
use warnings;
use Test::More;
use File::Temp ();
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged cut_to_the_path);
use Tipme::Test::Story;

use constant { CLIENT => 200, SHELL => 300, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub ns { return Tipme::Test::Story::ns($_[0]) }

sub story { return Tipme::Test::Story->with_service(@_) }

# --- a lock of a file that another process has: the client tries, naps, and tries again (SQLite);
# the kernel tells who has it ---
sub naps_for_a_lock {
	my (%o) = @_;
	my $at = $o{since};
	# With `since` the client computes since before the others began to sleep.
	my $s = story()->enter(1000, no_wake => $at ? 1 : 0);
	if ($at) {
		for ([ SHELL, 800, 'sqlite3', 10 ], [ 800, 805, 'sh', 3 ], [ 805, 810, 'sleep', 2 ]) {
			my ($parent, $tid, $comm, $before) = @$_;
			$s->kernel(
				0, $at - $before, 'fork', tid => $parent, child_tid => $tid,
				child_pid => $tid, child_start_ns => ns($at - $before)
			)->kernel(0, $at - $before + 0.1, 'rename', tid => $tid, comm => $comm);
		}
		$s->run(0, $at - 9, $at - 2.5, 800, 'sleeping', next => 805)
			->run(0, $at - 2.5, $at - 1.5, 805, 'sleeping', next => 810)
			->run(0, $at - 1.5, $at, 810, 'sleeping');
	} else {
		$s->builder->thread(800, 'sqlite3', ts_ns => 5 * MS, since_ns => 2 * MS)
			->thread(810, 'sleep', ppid => 800, ts_ns => 5 * MS, since_ns => 2 * MS);
	}
	my $try = sub {
		my ($t) = @_;
		$s->lasts(
			'lock_contention', 1, $t, $t + 0.01, tid => CLIENT, lock => 77, owner_tid => 800,
			kind => 'file', error => 11
		) if !$o{untold};
	};
	$try->(1000.9);
	$s->run(1, $at ? 970 : 1000.25, 1001, CLIENT, 'sleeping');
	for my $t ($at ? (map { 1030 + 20 * $_ } 0 .. 18) : (1050, 1150, 1250, 1350), 1450) {
		$s->wake(1, $t, CLIENT, 0, 'nanosleep', context => 'hardirq')
			->run(1, $t + 0.1, $t + ($t == 1450 ? 3 : 1), CLIENT, 'sleeping');
		$try->($t + 0.5) if $t < 1450;
	}
	# It lets go of it at 1400, in the midst of a nap, and ends.
	$s->wake(0, 1399, 810, 0, 'nanosleep', context => 'hardirq')
		->run(0, 1399.1, 1399.4, 810, 'dead')->wake(0, 1399.3, $at ? 805 : 800, 810, 'wait4');
	$s->run(0, 1399.42, 1399.48, 805, 'dead')->wake(0, 1399.45, 800, 805, 'wait4') if $at;
	$s->run(0, 1399.5,  1400,    800, 'dead');
	return $s->draw(1452.8)->hotkey(3000)->polls(1453);
}
my $d = judged('a lock that is napped for', naps_for_a_lock(), 'lock-wait', 'sleep', 0.8, 0.95);
like(
	$d->{verdict}{sentence},
	qr/a lock that "sleep" \(pid 810\b.*\) held while sleeping for a time that it chose/,
	'... the sentence'
);
judged('naps of its own', naps_for_a_lock(untold => 1), 'timer-sleep', 'xterm', 0.9, 1);
# --- ... who has it waits for a shell, and that for a program: they fell asleep just before the
# key, or while it was waited for, and a bundle says so ---
for my $since (990, 1000.8) {
	local %Tipme::Test::Judge::DETAIL;
	judged(
		"a lock that is napped for, through others since $since",
		naps_for_a_lock(since => $since), 'lock-wait', 'sleep', 0.8, 0.95
	);
	cut_to_the_path();
}

# --- ... one that it still sleeps for, at the hot-key ---
{
	my $s = story()->enter(1000);
	$s->builder->thread(800, 'backup', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->run(0, 899,     900,  800,    'sleeping');
	$s->run(1, 1000.25, 1001, CLIENT, 'sleeping')->kernel(
		1, 1000.95, 'lock_contention', tid => CLIENT, lock => 77, owner_tid => 800,
		kind => 'file', phase => 'begin'
	);
	$s->release(1080, no_wake => 1);
	judged(
		'a lock of a file, still held',
		$s->hotkey(3000)->polls(1001, 'flock')
			->picture(800, 'backup', since_ns => ns(900), stack_id => $s->id('nanosleep')),
		'lock-wait', 'backup', 0.9, 1
	);
}
# --- ... and that waits for another, which it made just before it fell asleep ---
{
	local %Tipme::Test::Judge::DETAIL;
	my $s = story()->enter(1000, no_wake => 1);
	$s->kernel(
		0, 980, 'fork', tid => SHELL, child_tid => 800, child_pid => 800,
		child_start_ns => ns(980)
	)->kernel(0, 980.1, 'rename', tid => 800, comm => 'backup');
	$s->kernel(
		0, 989, 'fork', tid => 800, child_tid => 810, child_pid => 810,
		child_start_ns => ns(989)
	)->kernel(0, 989.1, 'rename', tid => 810, comm => 'sleep')->wake(0, 989.2, 810, 800);
	$s->run(0, 981, 990, 800, 'sleeping', next => 810)->run(0, 990, 991, 810, 'sleeping');
	$s->run(1, 970, 1001, CLIENT, 'sleeping')->kernel(
		1, 1000.95, 'lock_contention', tid => CLIENT, lock => 77, owner_tid => 800,
		kind => 'file', phase => 'begin'
	);
	$s =
		$s->hotkey(3000)->polls(1001, 'flock')
		->picture(810, 'sleep',  since_ns => ns(991), stack_id => $s->id('nanosleep'))
		->picture(800, 'backup', since_ns => ns(990), stack_id => $s->id('wait4'));
	judged('a lock of a file, still held for another', $s, 'lock-wait', 'sleep', 0.9, 1);
	cut_to_the_path();
}

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
