#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A program echoes at once, and then works when nothing more has been typed for a moment: the press
# has set that timer. And beside it those whose clock has nothing to do with a press.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, WORKER => 201, SERVICE => 500, MS => 1_000_000 };
sub ns { return Tipme::Test::Story::ns($_[0]) }

# A key, an echo, frames of it; 150 ms after the key 600 ms of work, by computing or by `sleep`, and
# a frame that shows it.
sub echo_then_work {
	my ($s, $t, %o) = @_;
	if ($o{key}) { $s->enter($t)->run(1, $t + 0.25, $t + 3, CLIENT, 'sleeping')->draw($t + 2.8) }
	my $by_timer = sub {
		my ($at, $for, $stack, $state) = @_;
		$s->wake(1, $at, CLIENT, 0, $stack // 'poll', context => 'hardirq')
			->run(1, $at + 0.1, $at + $for, CLIENT, $state // 'sleeping');
	};
	if ($o{key})   { $by_timer->($t + $_,  1) for 16, 32, 48 }
	if ($o{ticks}) { $by_timer->($t + 120, 1) }
	if ($o{sleep}) {
		$by_timer->($t + 150, 1);
		$by_timer->($t + 750, 1, 'nanosleep');
	} else {
		$by_timer->($t + 150, 601);
	}
	$by_timer->($t + 764, 2);
	return $s->draw($t + 765.8);
}

sub end {
	my ($s, $last, $hotkey) = @_;
	$s->picture(
		CLIENT, 'xterm',
		since_ns => Tipme::Test::Story::ns($last),
		stack_id => $s->id('poll')
	);
	return $s->hotkey($hotkey);
}

sub story {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(trigger => 8000);
	echo_then_work($s, 2000, key => 1, %o);
	echo_then_work($s, 5000) if $o{clock};
	return end($s, $o{clock} ? 5766 : 2766, 8000);
}

for my $how ([ 'computes', 'app-compute' ], [ 'sleeps', 'timer-sleep', sleep => 1 ]) {
	my ($what, $kind, %o) = @$how;
	my $d = judged("one that $what after its echo", story(%o), $kind, 'xterm', 0.7, 1);
	cmp_ok(abs($d->{interval}{duration_ns} - 766 * MS), '<', MS, '... from the key to the work');
	is($d->{interval}{certainty}, 'inferred', '... which is inferred');
	judged("... and does so without a key, too",     story(%o, clock => 1), 'none', undef);
	judged("... and has looked at the clock before", story(%o, ticks => 1), 'none', undef);
}

# What it does then is to ask somebody who never answers: once for the key, or by the clock as well.
sub asks_in_vain {
	my ($s, $t) = @_;
	$s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 0.1, $t + 1, CLIENT,  'sleeping')->wake(1, $t + 0.9, SERVICE, CLIENT, 'epoll')
		->run(0, $t + 1,   $t + 2, SERVICE, 'sleeping')
		->wake(1, $t + 600, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 600.1, $t + 603, CLIENT, 'sleeping');
	return $s->draw($t + 602.8);
}
for my $clock (0, 1) {
	my $s = Tipme::Test::Story->new(trigger => 8000);
	$s->builder->thread(SERVICE, 'service', ts_ns => 5 * MS, since_ns => 2 * MS);
	asks_in_vain($s->key(2000, 3), 2150);
	asks_in_vain($s,               5000) if $clock;
	my $what   = $clock ? '... who asks by the clock, too' : 'one that asks in vain after it';
	my @expect = $clock ? ('none', undef)                  : ('time-out', 'service');
	judged($what, end($s, $clock ? 5603 : 2753, 8000), @expect);
}

# Somebody types all the time, and the program does that once: whether a key made it do so, nobody
# can say.
{
	my $s = Tipme::Test::Story->new(trigger => 5000);
	$s->key(600 + 200 * $_, 3) for 0 .. 6;
	echo_then_work($s, 2000, key => 1);
	$s->key(3000 + 150 * $_, 3) for 0 .. 11;
	judged('who types all the time, and work by the clock', end($s, 4653, 5000), 'none', undef);
}
# A moment after the key, by its own timer, a program sleeps in select(), in pieces (Tcl's `after`):
# that is no event loop to one whose events come to it in a futex.
sub sleeps_in_pieces {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(no_usual => 1, trigger => 8000);
	$s->builder->thread(WORKER, 'worker', pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS);
	my $told = sub {
		my ($t, %e) = @_;
		$s->enter($t, no_wake => 1, %e)->wake(0, $t + 0.2, WORKER, SERVER, 'poll', wakee_cpu => 1)
			->run(1, $t + 0.22, $t + 0.24, WORKER, 'sleeping');
		$s->wake(1, $t + 0.23, CLIENT, WORKER, $o{loop} ? 'poll' : 'futex')
			->run(1, $t + 0.25, $t + 2, CLIENT, 'sleeping');
	};
	my $sleeps = sub {
		my ($t) = @_;
		$s->wake(1, $t, CLIENT, 0, $o{loop} ? 'poll' : 'futex', context => 'hardirq')
			->run(1, $t + 0.1, $t + 0.3, CLIENT, 'sleeping');
		$s->wake(1, $t + 500 * $_, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, $t + 500 * $_ + 0.02, $t + 500 * $_ + ($_ < 3 ? 0.05 : 2), CLIENT, 'sleeping')
			for 1 .. 3;
		$s->draw($t + 1501.8);
	};
	for my $t (600, 700, 800, 2000) { $told->($t); $s->draw($t + 1.9) }
	$told->(2080, kind => 'key_release');
	$sleeps->(2150);
	$sleeps->(5150) if $o{clock};
	return $s->hotkey(7500)->picture(
		CLIENT, 'xterm', since_ns => ns($o{clock} ? 6652 : 3652),
		stack_id => $s->id($o{loop} ? 'poll' : 'futex')
	);
}
my $d = judged(
	'a sleep in pieces, a moment after an echo', sleeps_in_pieces(), 'timer-sleep', 'xterm',
	0.9, 1
);
cmp_ok(abs($d->{interval}{duration_ns} - 1652 * MS), '<', MS, '... up to what it then drew');
judged('... by the clock',      sleeps_in_pieces(clock => 1), 'none', undef);
judged('... in its event loop', sleeps_in_pieces(loop  => 1), 'none', undef);

# An editor looks by the clock whether its command has ended, and that one waits for a lock (Vim).
# It ends in a nap, or between two; the answer is drawn after a question to the server. Before that
# it may draw an echo, or move a picture.
sub looks_for_its_command {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(no_usual => 1);
	$s->builder->thread(860, 'holder', ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(850, 'flock', ppid => CLIENT, ts_ns => ns(1001));
	$s->key($_, 3) for 500, 600, 700;
	$s->enter(1000)->run(1, 1000.25, 1002, CLIENT, 'sleeping');
	$s->kernel(1, 1001, 'fork', tid => CLIENT, child_tid => 850, child_pid => 850)
		->wake(1, 1001.1, 850, CLIENT, undef, wakee_cpu => 0)
		->run(0, 1001.2, 1003, 850, 'sleeping');
	my $t    = 1002;
	my $look = 0;

	while ($t < 1390) {
		$t += 10;
		my $draws = grep { $_ == $look } @{ $o{draws} // [] };
		my $awake = $draws ? 0.9 : 0.3;
		$s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, $t + 0.1, $t + $awake, CLIENT, 'sleeping');
		$s->draw($t + 0.2) if $draws;
		$look++;
		$t += $awake;
	}
	# The holder lets go of the lock, and the child ends, while the client is awake, or in its next
	# nap.
	my $free = $t + ($o{between} ? 10.1 : 5);
	$s->wake(0, $free - 2, 860, 0, 'nanosleep', context => 'hardirq')
		->run(0, $free - 1.9, $free - 0.9, 860, 'sleeping')
		->wake(0, $free - 1, 850, 860, 'flock', wakee_cpu => 0)
		->run(0, $free - 0.8, $free, 850, 'dead')->kernel(0, $free - 0.1, 'exit', tid => 850);
	$s->wake(1, $t + 10, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 10.05, $t + 10.3, CLIENT, 'sleeping')
		if $o{between};
	$t += $o{between} ? 20.3 : 10;
	$s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 0.1, $t + ($o{earlier} ? 4 : 1), CLIENT, 'sleeping');
	# It asked for something that the server told it later (the window manager has to act).
	if ($o{earlier}) {
		$s->wake(1, $t + 0.2, SERVER, CLIENT, 'epoll')
			->run(0, $t + 0.25, $t + 0.6, SERVER, 'sleeping');
		$s->builder->x(ns($t + 0.26), 'x_wakeup')->x(
			ns($t + 0.3), 'x_request', pid => CLIENT, client => 4, duration_ns => 100_000,
			major => 25, sequence => 1, count => 1
		)->x(ns($t + 0.5), 'x_sleep');
		$t += 3;
	}
	# It asks the server for something, and sleeps until that has answered.
	$s->wake(1, $t + 0.9, SERVER, CLIENT, 'epoll')->run(0, $t + 0.95, $t + 1.4, SERVER, 'sleeping')
		->wake(0, $t + 1.2, CLIENT, SERVER, undef);
	my $b = $s->builder->x(ns($t + 0.96), 'x_wakeup');
	$b->x(
		ns($t + 1), 'x_request', pid => CLIENT, client => 4, duration_ns => 100_000, major => 43,
		sequence => 1, count => 1
	) if !$o{event} && !$o{earlier};
	$b->x(ns($t + 1.39), 'x_sleep');
	return end($s->run(1, $t + 1.5, $t + 4, CLIENT, 'sleeping')->draw($t + 3.8), $t + 4, 3000);
}
for my $between (0, 1) {
	my $d = judged(
		'a command whose end is found by the clock' . ($between ? ', between two looks' : ''),
		looks_for_its_command(between => $between), 'lock-wait', 'holder', 0.9, 1
	);
	like(
		$d->{verdict}{sentence},
		qr/flock \(pid 850\), for which it waited, waited for a lock that "holder"/,
		'... the sentence'
	);
}
judged('... after an echo', looks_for_its_command(draws => [3]), 'lock-wait', 'holder', 0.9, 1);
judged(
	'... after a word with the window manager', looks_for_its_command(earlier => 1), 'lock-wait',
	'holder',                                   0.9,                                 1
);
judged(
	'... of one that draws each time it looks', looks_for_its_command(draws => [ 3 .. 40 ]),
	'none',                                     undef
);

sub shows_a_release {
	my ($s, $t) = @_;
	my %key = (input_seq => 90, kind => 'key_release');
	$s->builder->x(ns($t + 0.2), 'x_device', %key, device => 6)
		->x(ns($t + 0.25), 'x_deliver', %key, pid => CLIENT, client => 4, x_type => 3)
		->x(ns($t + 0.48), 'x_sleep');
	$s->wake(0, $t + 0.31, CLIENT, SERVER, 'poll')->run(1, $t + 0.41, $t + 0.8, CLIENT, 'sleeping')
		->wake(1, $t + 35, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 35.1, $t + 37, CLIENT, 'sleeping')->draw($t + 36);
	return end($s, $t + 37, 3000);
}

# A client blinks by its own timer, and asks the server for something first. That one is awake for
# somebody who looks at the screen again and again, and answers through the client's reader.
# pieces: it loses its CPU so often before. release: it sends the client a release, which that shows
# a frame later.
sub blinks_beside {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new;
	$s->builder->thread(WORKER, 'reader', pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(SERVICE, 'watcher', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000, no_wake => 1)->wake(0, 1000.2, WORKER, SERVER, 'poll', wakee_cpu => 1)
		->run(1, 1000.21, 1000.25, WORKER, 'sleeping')->wake(1, 1000.24, CLIENT, WORKER, 'poll')
		->run(1, 1000.26, 1003,    CLIENT, 'sleeping')->draw(1002.5);
	$s->wake(0, 1002.75, SERVICE, SERVER, 'poll', wakee_cpu => 0)
		->run(0, 1002.82, 1003.1, SERVICE, 'sleeping');
	my $t    = 1003.1;
	my $asks = sub {
		my ($end, $pieces) = (@_, 0);
		$t += 10;
		$s->wake(0, $t, SERVICE, 0, 'poll', context => 'hardirq')
			->run(0, $t + 0.02, $t + 0.1, SERVICE, 'sleeping')
			->wake(0, $t + 0.09, SERVER, SERVICE, 'epoll');
		my $from = $t + 0.11;
		for (1 .. $pieces) {
			$s->run(0, $from, $from + 0.001, SERVER, 'runnable', preempted => 1);
			$from += 0.002;
		}
		$s->run(0, $from, $end // $t + 0.3, SERVER, 'sleeping');
		$s->builder->x(ns($t + 0.12), 'x_wakeup')->x(
			ns($t + 0.15), 'x_request', pid => SERVICE, client => 7, duration_ns => 20_000,
			major => 43, sequence => 1, count => 1
		);
		return;
	};
	while ($t < 1360) {
		$asks->(undef);
		$s->builder->x(ns($t + 0.28), 'x_sleep');
		$s->wake(0, $t + 0.2, SERVICE, SERVER, 'poll', wakee_cpu => 0)
			->run(0, $t + 0.32, $t + 0.4, SERVICE, 'sleeping');
		$t += 0.4;
	}
	$s->wake(1, $t + 10.05, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 10.07, $t + 10.2, CLIENT, 'sleeping')
		if !$o{release};
	$asks->($t + 10.5, $o{pieces} // 0);
	return shows_a_release($s, $t) if $o{release};
	$s->builder->x(
		ns($t + 0.25), 'x_request', pid => CLIENT, client => 4, duration_ns => 50_000,
		major => 43, sequence => 9, count => 1
	)->x(ns($t + 0.48), 'x_sleep');
	$s->wake(0, $t + 0.31, WORKER, SERVER, 'poll', wakee_cpu => 1)
		->run(1, $t + 0.33, $t + 0.4, WORKER, 'sleeping')
		->wake(1, $t + 0.38, CLIENT, WORKER, 'poll')
		->run(1, $t + 0.41, $t + 1.5, CLIENT, 'sleeping')->draw($t + 1);
	return end($s, $t + 1.5, 3000);
}
judged('a blink beside somebody who keeps the server awake', blinks_beside(), 'none', undef);
judged(
	'... of one that a release has woken, not the press', blinks_beside(release => 1), 'none',
	undef
);
judged('... that others kept from its CPU 80 times', blinks_beside(pieces => 80), 'none', undef);
judged(
	'... what it draws when the server has sent it something',
	looks_for_its_command(event => 1), 'none', undef
);

# A client waits in its event loop for a service that has slept on its own since before the key.
# When it has shown the answer, it tells the service so, and rests; its cursor blinks by a timer set
# before. reader: it asks the server for something first, another thread of it reads the answer, and
# the blink comes after a longer time than the answer took.
sub blinks_after_its_answer {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(trigger => 5000);
	$s->builder->thread(SERVICE, 'service', ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(WORKER, 'helper', pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->wake(1, 2111.18, WORKER, CLIENT, 'futex', wakee_cpu => 0)
		->run(0, 2111.22, 2111.26, WORKER, 'sleeping')
		if !$o{reader};
	my $asks = sub {
		my ($t, $for, $slept) = @_;
		$s->enter($t)->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping');
		$s->wake(1, $t + 0.9, SERVICE, CLIENT, 'epoll') if !$slept;
		$s->wake(0, $t + $for - 1, SERVICE, 0, 'nanosleep', context => 'hardirq', wakee_cpu => 0)
			if $slept;
		$s->run(0, $t + ($slept ? $for - 0.9 : 1), $t + $for, SERVICE, 'sleeping')
			->wake(0, $t + $for - 0.1, CLIENT, SERVICE, 'poll')
			->run(1, $t + $for, $t + $for + 2, CLIENT, 'sleeping')->draw($t + $for + 1)
			->wake(1, $t + $for + 1.9, SERVICE, CLIENT, 'epoll')
			->run(0, $t + $for + 2, $t + $for + 2.5, SERVICE, 'sleeping');
		return;
	};
	$asks->($_, 2) for 700, 800;
	$s->wake(0, 899, SERVICE, 0, 'epoll', context => 'hardirq', wakee_cpu => 0)
		->run(0, 899.1, 900, SERVICE, 'sleeping');
	$asks->(1000, $o{reader} ? 350 : 700, 1);
	return asks_and_blinks($s) if $o{reader};
	# Another thread of its own tells it something first, for which it sleeps a moment.
	$s->wake(1, 2111, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 2111.1, 2111.2, CLIENT, 'sleeping')->wake(0, 2111.25, CLIENT, WORKER, 'poll')
		->run(1, 2111.3, 2113,   CLIENT, 'sleeping')->draw(2112);
	return end($s, 2113, 5000);
}

sub asks_and_blinks {
	my ($s) = @_;
	$s->wake(1, 2111, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 2111.01, 2111.12, CLIENT, 'sleeping')->wake(1, 2111.1, SERVER, CLIENT, 'epoll')
		->run(0, 2111.13, 2111.18, SERVER, 'sleeping');
	$s->builder->x(ns(2111.14), 'x_wakeup')->x(
		ns(2111.145), 'x_request', pid => CLIENT, client => 4, duration_ns => 20_000,
		major => 43, sequence => 9, count => 1
	)->x(ns(2111.175), 'x_sleep');
	$s->wake(0, 2111.17, WORKER, SERVER, 'poll')->run(0,   2111.19, 2111.25, WORKER, 'sleeping')
		->wake(0, 2111.24, CLIENT, WORKER, 'poll')->run(1, 2111.3,  2113,    CLIENT, 'sleeping')
		->draw(2112);
	return end($s, 2113, 5000);
}

my $blink =
	judged('a blink after the answer', blinks_after_its_answer(), 'ipc-wait', 'service', 0.99, 1);
cmp_ok(abs($blink->{interval}{duration_ns} - 701 * MS), '<', MS, '... which ended before it');
$blink = judged(
	'... for which it asks the server first',
	blinks_after_its_answer(reader => 1),
	'ipc-wait', 'service', 0.99, 1
);
cmp_ok(abs($blink->{interval}{duration_ns} - 351 * MS), '<', MS, '... which ended before that');

# One thread of the client reads its events, and another takes them. The reader asks the server for
# something first, which another client has grabbed; the one that takes them looks at the clock
# meanwhile: it does not rest, it has nothing yet.
sub reader_of_a_grabbed_server {
	my $s = Tipme::Test::Story->new(no_usual => 1);
	my ($reader, $taker) = (201, 202);
	my @slept = (ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->builder->thread($reader, 'reader', pid => CLIENT, @slept)
		->thread($taker, 'taker', pid => CLIENT, @slept)
		->thread(700, 'screenlock', ts_ns => 5 * MS);
	my %grab  = (pid => 700, client => 9, what => 'server');
	my $takes = sub {
		my ($t) = @_;
		$s->wake(1, $t, $taker, $reader, 'futex')->run(1, $t + 0.1, $t + 4, $taker, 'sleeping')
			->draw($t + 2, $taker);
		return;
	};
	my $reads = sub {
		my ($t) = @_;
		$s->enter($t, no_wake => 1)->wake(0, $t + 0.2, $reader, SERVER, 'poll', wakee_cpu => 1)
			->run(1, $t + 0.25, $t + 0.4, $reader, 'sleeping');
		return;
	};
	for my $t (500, 600, 700, 800) { $reads->($t); $takes->($t + 0.35) }
	$s->builder->x(900 * MS, 'x_grab', %grab, begin => 1);
	$reads->(1000);
	$s->wake(1, $_, $taker, 0, 'futex', context => 'hardirq')
		->run(1, $_ + 0.1, $_ + 1.4, $taker, 'sleeping')
		for 900, 1300;
	$s->wake(1, 1799.8, 700, 0, 'nanosleep', context => 'hardirq')
		->run(1, 1799.85, 1800.02, 700,    'sleeping')->wake(1, 1800, SERVER, 700, 'epoll')
		->run(0, 1800.05, 1800.2,  SERVER, 'sleeping');
	$s->builder->x(ns(1800.06), 'x_wakeup')->x(ns(1800.07), 'x_grab', %grab, begin => 0)
		->x(ns(1800.19), 'x_sleep');
	$s->wake(0, 1800.15, $reader, SERVER, 'poll', wakee_cpu => 1)
		->run(1, 1800.2, 1801, $reader, 'sleeping');
	$takes->(1800.9);
	$s->picture($taker, 'taker', pid => CLIENT, since_ns => ns(1805), stack_id => $s->id('futex'));
	return $s->hotkey(3000);
}
my $grabbed = judged(
	'a grab, and a client with a reader',
	reader_of_a_grabbed_server(), 'server-grab', 'screenlock', 0.5, 1
);
cmp_ok(abs($grabbed->{interval}{duration_ns} - 803 * MS), '<', 2 * MS, '... up to what it drew');

# The one that takes the events has sent the server something, which another client has grabbed, and
# sleeps where it takes events. It draws after the grab, but has a thread of its own do a part of it
# first, for which it sleeps there again. The server had something of it to do at once, though it
# had not run since: it waited. (silent: it had sent nothing; blinks: it drew, and later blinks;
# late: the grab is a short one, which begins when it rests, and has it ask for something.)
sub draws_after_a_grab {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(no_usual => 1);
	$s->builder->thread(WORKER, 'painter', pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(700, 'screenlock', ts_ns => 5 * MS);
	my %grab   = (pid => 700, client => 9, what => 'server');
	my $paints = sub {
		my ($t) = @_;
		$s->wake(0, $t, WORKER, CLIENT, 'futex')->run(0, $t + 0.05, $t + 10, WORKER, 'sleeping')
			->wake(0, $t + 9.9, CLIENT, WORKER, 'poll')
			->run(1, $t + 10, $t + 13, CLIENT, 'sleeping')->draw($t + 12);
		return;
	};
	for my $t (500, 700) {
		$s->enter($t)->run(1, $t + 0.25, $t + 2, CLIENT, 'sleeping');
		$paints->($t + 1.9);
	}
	$s->builder->x(900 * MS, 'x_grab', %grab, begin => 1) if !$o{late};
	$s->enter(1000)->run(1, 1000.25, 1002, CLIENT, 'sleeping');
	if ($o{late}) {
		$s->builder->x(ns(1799.4), 'x_grab', %grab, begin => 1);
		$s->wake(1, 1799.45, CLIENT, SERVER, 'poll')->run(1, 1799.5, 1799.7, CLIENT, 'sleeping');
	}
	$s->wake(1, 1799.8, 700, 0, 'nanosleep', context => 'hardirq')
		->run(1, 1799.85, 1800.02, 700,    'sleeping')->wake(1, 1800, SERVER, 700, 'epoll')
		->run(0, 1800.05, 1800.3,  SERVER, 'sleeping');
	my $b    = $s->builder->x(ns(1800.06), 'x_wakeup')->x(ns(1800.07), 'x_grab', %grab, begin => 0);
	my %sent = (pid => CLIENT, client => 4, major => 18, sequence => 9, count => 1);
	$b->x(ns(1800.1), 'x_request', %sent, duration_ns => 20_000) if !$o{silent};
	$b->x(ns(1800.29), 'x_sleep');
	$s->wake(1, 1800.2, CLIENT, SERVER, 'poll')->run(1, 1800.25, 1801, CLIENT, 'sleeping');
	if ($o{blinks}) {
		$s->draw(1800.9)->wake(1, 2300, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, 2300.1, 2302, CLIENT, 'sleeping');
	}
	my $t = $o{blinks} ? 2301 : 1800;
	$paints->($t + 0.9);
	return end($s, $t + 14, 4000);
}
$grabbed = judged(
	'a grab, and a client that has another thread draw',
	draws_after_a_grab(), 'server-grab', 'screenlock', 0.95, 1
);
cmp_ok(abs($grabbed->{interval}{duration_ns} - 813 * MS), '<', MS, '... up to what it drew');
$grabbed = judged(
	'... and which blinks later', draws_after_a_grab(blinks => 1), 'server-grab',
	'screenlock',                 0.95,                            1
);
cmp_ok(abs($grabbed->{interval}{duration_ns} - 801 * MS), '<', MS, '... up to what it drew');
judged('... at rest before a short one', draws_after_a_grab(late   => 1), 'none', undef);
judged('... which had sent nothing',     draws_after_a_grab(silent => 1), 'none', undef);
# A machine that was switched on a minute ago: its nanoseconds are no seconds.
is(Tipme::Moment::ns_of(undef, '60484376000'), 60_484_376_000, 'nanoseconds of the first minute');
is(Tipme::Moment::ns_of(undef, '60'),          60_000_000_000, '... and seconds');

done_testing();
