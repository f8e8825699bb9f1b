#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Freezes that a person felt, of which the records show no late change of the screen at first sight;
# and beside each of them the scene that looks alike and is none.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant {
	SERVER => 100, CLIENT => 200, SHELL => 300, SERVICE => 500,
	WORKER => 201, MS     => 1_000_000
};
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub ns { return Tipme::Test::Story::ns($_[0]) }

sub story { return Tipme::Test::Story->with_service(@_) }

# --- the thread that takes events is not the first of its process (Java): it rests in a futex, and
# computes ---
sub java {
	my ($computes, %o) = @_;
	my $s = story(no_usual => 1, trigger => 4000);
	# The reader has a compiler look, too, and before the one who takes the event.
	my $compiler = sub {
		my ($t) = @_;
		$s->wake(1, $t + 0.225, 203, WORKER, 'futex', wakee_cpu => 0)
			->run(0, $t + 0.3, $t + 0.9, 203, 'sleeping')
			if $o{compiler};
	};
	$s->builder->thread(203, 'compiler', pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(202, 'events', pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS);
	for my $t (600, 700, 800, 1000) {
		my $end = $t + ($t == 1000 ? $computes : 2);
		$s->enter($t, no_wake => 1)->wake(0, $t + 0.2, WORKER, SERVER, 'poll', wakee_cpu => 1)
			->run(1, $t + 0.22, $t + 0.24, WORKER, 'sleeping')
			->wake(1, $t + 0.23, 202, WORKER, 'futex')->run(1, $t + 0.25, $end, 202, 'sleeping');
		$compiler->($t);
		$s->draw($end - 0.2, 202) if $t != 1000;
	}
	$s->picture(CLIENT, 'xterm', since_ns => 2 * MS, stack_id => $s->id('futex'));
	if ($computes < 80) {
		$s->enter(1080, kind => 'key_release', no_wake => 1)
			->wake(0, 1080.2, WORKER, SERVER, 'poll', wakee_cpu => 1)
			->run(1, 1080.22, 1080.24, WORKER, 'sleeping')->wake(1, 1080.23, 202, WORKER, 'futex')
			->run(1, 1080.25, 1080.5,  202,    'sleeping');
		$computes = 80.5;
	}
	return $s->hotkey(3000)->picture(
		202, 'events', pid => CLIENT, since_ns => ns(1000 + $computes),
		stack_id => $s->id('futex')
	);
}
my $d = judged('events go to another thread', java(600), 'app-compute', 'xterm', 0.99, 1);
cmp_ok(
	abs($d->{interval}{duration_ns} - 600 * MS), '<', MS,
	'events go to another thread: until that one is free again'
);
judged('events go to another thread, which rests', java(1), 'none', undef);
judged(
	'events go to another thread, and a compiler is woken first', java(600, compiler => 1),
	'app-compute', 'xterm', 0.99, 1
);

# --- the first pixel is not the answer: a button looks pressed, then the program computes; nothing
# else is drawn ---
sub pressed {
	my ($long, %o) = @_;
	my $s = story(trigger => 8000)->enter(1000, kind => 'button_press')
		->run(1, 1000.25, 1000 + $long, CLIENT, 'sleeping')->draw(1000.3);
	$s->draw($_) for $o{film} ? map { 1000 + 20 * $_ } 1 .. ($long - 10) / 20 : ();
	return $s->hotkey(7000)->polls(1000 + $long);
}
$d = judged('a button that looks pressed', pressed(4000), 'app-compute', 'xterm', 0.99, 1);
cmp_ok(
	abs($d->{interval}{duration_ns} - 4000 * MS), '<', MS,
	'a button that looks pressed: until the client is free'
);
like(
	$d->{verdict}{sentence},
	qr/^xterm \(pid 200\) took no other event for 4\.00 s after a click, though it drew something after 0\.\d+ ms, usually .*: .* it computed\.$/,
	'... the sentence'
);
is($d->{event}{stages}[-1]{name}, 'free', '... the last stage');
judged('a client that draws all the time',   pressed(4000, film => 1), 'none', undef);
judged('a client that is busy for a moment', pressed(150),             'none', undef);

# --- ... and still computes when the hot-key is pressed ---
{
	my $s = story(trigger => 5000)->enter(1000, kind => 'button_press')
		->run(1, 1000.25, 5900, CLIENT, 'runnable', preempted => 1)->draw(1000.3)->hotkey(5000);
	$d = judged('... and still computes', $s, 'app-compute', 'xterm', 0.99, 1);
	is($d->{interval}{certainty}, 'open', '... open');
	like(
		$d->{verdict}{sentence},
		qr/^xterm \(pid 200\) has taken no other event for 4\.00 s since a click, though it drew/,
		'... the sentence'
	);
}

# --- an echo at once, and then the program computes before it draws the answer; the next key is
# pressed meanwhile ---
{
	my $s = story()->enter(1000)->run(1, 1000.25, 1700, CLIENT, 'sleeping')->draw(1002)
		->enter(1400, no_wake => 1)->draw(1699.8)->hotkey(3000);
	$d = judged('an echo, then computing', $s->polls(1700), 'app-compute', 'xterm', 0.99, 1);
	is($d->{interval}{start_ns}, 1000 * MS, 'an echo, then computing: from the key');
	cmp_ok(abs($d->{interval}{duration_ns} - 700 * MS), '<', MS, '... to the answer');
}

# --- the blinking cursor of a program that sleeps in a futex while another thread reads for it
# (Tcl): its own timer ends that sleep, too ---
{
	my $s = story(no_usual => 1, trigger => 8000);
	for my $t (600, 700, 800, 2000) {
		$s->enter($t, no_wake => 1)->wake(0, $t + 0.2, WORKER, SERVER, 'poll', wakee_cpu => 1)
			->run(1, $t + 0.22, $t + 0.24, WORKER, 'sleeping')
			->wake(1, $t + 0.23, CLIENT, WORKER, 'futex');
		$s->run(1, $t + 0.25, $t + 2, CLIENT, 'sleeping')->draw($t + 1.9);
	}
	for my $t (2500, 3100, 3700) {
		$s->wake(1, $t, CLIENT, 0, 'futex', context => 'hardirq')
			->run(1, $t + 0.1, $t + 1, CLIENT, 'sleeping')->draw($t + 0.9);
	}
	judged(
		'a cursor that blinks beside a thread that reads',
		$s->hotkey(7000)->polls(3701, 'futex'), 'none', undef
	);
}

# --- a program that sleeps in its handler, in pieces, by its own timer: the key that came meanwhile
# would end each of them ---
{
	my $s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->release(1044, no_wake => 1);
	$s->wake(1, 1501, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 1501.02, 1501.05, CLIENT, 'sleeping')
		->wake(1, 1901, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 1901.02, 1903, CLIENT, 'sleeping')->draw(1902.8);
	$d = judged('a sleep in pieces', $s->hotkey(3000)->polls(1903), 'timer-sleep', 'xterm', 0.9, 1);
	cmp_ok(abs($d->{interval}{duration_ns} - 903 * MS), '<', MS, 'a sleep in pieces: all of it');
}

# --- another client has the server; ours looks at the clock meanwhile ---
{
	my $s = story();
	$s->builder->thread(700, 'screenlock', ts_ns => 5 * MS)
		->x(900 * MS, 'x_grab', pid => 700, client => 9, what => 'server', begin => 1);
	$s->enter(1000)->run(1, 1000.25, 1002, CLIENT, 'sleeping');
	$s->wake(1, $_, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $_ + 0.1, $_ + 0.7, CLIENT, 'sleeping')
		for 1020, 1060, 1140, 1300, 1560;
	$s->run(1, 1799, 1800.1, 700, 'sleeping')
		->wake(1, 1798.9, 700, 0, 'nanosleep', context => 'hardirq');
	$s->builder->x(ns(1800.07), 'x_grab', pid => 700, client => 9, what => 'server', begin => 0);
	$d = judged(
		'a grab, and a client that looks at the clock',
		$s->draw(1800, 700)->hotkey(3000)->polls(1561), 'server-grab', 'screenlock', 0.9, 1
	);
}

# --- woken by the network: an answer to who is usually answered by it (ssh -X), and news to others
# ---
sub network {
	my (%o) = @_;
	my $s = story(no_usual => 1);
	for my $t (600, 700, 800) {
		if (!$o{usual}) { $s->key($t, 3); next }
		$s->enter($t)->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping')
			->wake(1, $t + 6, CLIENT, 0, 'poll', context => 'softirq_irq')
			->run(1, $t + 6.1, $t + 8, CLIENT, 'sleeping')->draw($t + 7.8);
	}
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1400, CLIENT, 0, 'poll', context => 'softirq_irq')
		->run(1, 1400.1, 1402, CLIENT, 'sleeping')->draw(1401.8);
	return $s->hotkey(3000)->polls(1402);
}
$d = judged('an answer by the network', network(usual => 1), 'network-wait', 'xterm', 0.95, 1);
is($d->{interval}{certainty}, 'inferred', '... inferred');
$d = judged('news by the network', network(), 'unknown', undef);
is(
	Tipme::Report::JSON::data($d)->{candidates}[0]{why}, 'network',
	'... the press is listed, nobody accused'
);

# --- a thread whose leaving no record tells: wakings go on naming it, and who leaves that CPU next
# is the one ---
{
	my $s = story();
	$s->builder->thread(75, 'ghost', ts_ns => 5 * MS);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9, SERVICE, CLIENT, 'poll');
	$s->builder->switch(0, ns(1001), 0, 75, 'runnable')
		->wake(0, ns(1600), CLIENT, 75, stack_id => $s->id('poll'), wakee_cpu => 1)
		->switch(0, ns(1600.1), SERVICE, 0, 'sleeping');
	$d = judged(
		'a thread that never leaves',
		$s->run(1, 1600.3, 1602, CLIENT, 'sleeping')->draw(1601.9)->hotkey(3000)->polls(1602),
		'ipc-wait', 'service', 0.95, 1
	);
}

# --- another client asks the server for something each 10 ms, by its clock, and has just woken it
# when ours asks: it is not why ours waits ---
sub looker {
	my (%o) = @_;
	my $s = story();
	$s->builder->thread(900, 'looker', ts_ns => 5 * MS, since_ns => 2 * MS);
	my $look = sub {
		my ($t, $serves) = @_;
		$s->wake(1, $t - 0.3, 900, 0, 'poll', context => 'hardirq', wakee_cpu => 0)
			->run(0, $t - 0.2,  $t + 0.01, 900, 'sleeping')->wake(0, $t, SERVER, 900, 'epoll')
			->run(0, $t + 0.05, $t + ($serves ? 0.9 : 0.2), SERVER, 'sleeping');
		my $b = $s->builder->x(ns($t + 0.06), 'x_wakeup')->x(
			ns($t + 0.07), 'x_request', pid => 900, client => 12, duration_ns => 10_000,
			major => 43, sequence => 1, count => 1
		);
		if ($serves) {
			$b->x(
				ns($t + 0.5), 'x_request', pid => CLIENT, client => 4, duration_ns => 100_000,
				major => 43, sequence => 1, count => 1
			) if !$o{untold};
			$s->wake(0, $t + 0.8, CLIENT, SERVER, 'poll');
		}
		$b->x(ns($t + ($serves ? 0.89 : 0.19)), 'x_sleep');
	};
	$s->enter(1000)->run(1, 1000.25, 1260.3, CLIENT, 'sleeping');
	$look->(1000 + 10 * $_ + 0.1, $_ == 26) for 1 .. 26;
	return $s->run(1, 1261, 1263, CLIENT, 'sleeping')->draw(1262.8)->hotkey(3000)->polls(1263);
}
$d = judged('another client that looks', looker(), 'app-compute', 'xterm', 0.95, 1);
# ... and the key, too, was read while it looked: so the chain that goes on in it comes to the
# server at the delivery
{
	my $s = looker();
	$s->wake(0, 1000.24, 900, SERVER, 'poll', wakee_cpu => 0)
		->run(0, 1000.31, 1000.33, 900, 'sleeping');
	judged('another client that looks, at the delivery, too', $s, 'app-compute', 'xterm', 0.95, 1);
}

# --- frames of an animation, paced by a thread of the client's: the first of them is the answer,
# whatever comes after ---
sub frames {
	my (%o)   = @_;
	my $s     = story();
	my $frame = sub {
		my ($t) = @_;
		$s->wake(0, $t, WORKER, 0, 'futex', context => 'hardirq')
			->run(0, $t + 0.1, $t + 0.3, WORKER, 'sleeping')
			->wake(0, $t + 0.2, CLIENT, WORKER, 'poll')
			->run(1, $t + 0.3, $t + 2, CLIENT, 'sleeping');
		$s->draw($t + 1.8);
	};
	$s->enter(1000)->run(1, 1000.25, $o{computes} ? 1400 : 1005, CLIENT, 'sleeping')
		->wake(1, 1000.9, WORKER, CLIENT, 'futex')->run(0, 1000.95, 1001.2, WORKER, 'sleeping');
	$s->draw($o{computes} ? 1399.8 : 1004.8);
	$frame->(($o{computes} ? 1400 : 1005) + 17 * $_) for 1 .. 10;
	return $s->hotkey(3000)->polls(1600)->picture(
		WORKER, 'pacer', pid => CLIENT, since_ns => ns(1600),
		stack_id => $s->id('futex')
	);
}
judged('frames of an animation', frames(), 'none', undef);
$d = judged(
	'frames that come after the freeze', frames(computes => 1), 'app-compute', 'xterm',
	0.95, 1
);
cmp_ok(abs($d->{interval}{duration_ns} - 400 * MS), '<', 2 * MS, '... up to the first of them');

# --- the makers of `sleep` cannot help: who had it run is said, and at whose door to knock ---
{
	my $s = story(no_usual => 1);
	$s->builder->thread(
		SHELL, 'bash', ppid => CLIENT, ts_ns => 6 * MS, since_ns => 2 * MS,
		start_ns => 300
	)->thread(
		820, 'sleep', ppid => SHELL, ts_ns => 2600 * MS, since_ns => ns(2001),
		start_ns => 1_990 * MS
	);
	$s->enter(2000)->run(1, 2000.25, 2001, CLIENT, 'sleeping')
		->wake(1, 2000.9, 820, CLIENT, 'poll')->run(0, 2000.95, 2001.5, 820, 'sleeping');
	$s->release(2080, no_wake => 1);
	$s->wake(0, 2700, 820, 0, 'nanosleep', context => 'hardirq')
		->run(0, 2700.1, 2700.5, 820,    'sleeping')->wake(0, 2700.4, CLIENT, 820, 'poll')
		->run(1, 2700.6, 2702,   CLIENT, 'sleeping')->draw(2701.8);
	$d = judged(
		'a helper that is young', $s->hotkey(3000)->polls(2702), 'ipc-wait', 'sleep', 0.9,
		1
	);
	is_deeply(
		$d->{verdict}{blamed}{starter}, { pid => SHELL, comm => 'bash' },
		'... who had it run'
	);
	is(
		$d->{verdict}{door},
		'whoever wrote what bash (pid 300) runs, else the makers of sleep (pid 820), which was waited for',
		'... is asked first'
	);
	ok(
		(grep { $_ eq 'bash (pid 300) had it run.' } @{ $d->{verdict}{circumstances} }),
		'... and it is said'
	);
}

# --- a client waits for a file system in user space; the release of the key sends it a signal
# (SIGIO), which ends no such wait: it goes on to wait where no signal ends it ---
{
	my $s = story();
	$s->builder->thread(501, 'service', pid => SERVICE, ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(2000)->run(1, 2000.25, 2001, CLIENT, 'sleeping')
		->wake(1, 2000.9, SERVICE, CLIENT, 'poll')->run(0, 2000.95, 2001.5, SERVICE, 'sleeping');
	$s->enter(2080, kind => 'key_release', client_stack => 'fuse')
		->wake(1, 2080.26, 501, CLIENT, 'fuse')->run(1, 2080.25, 2080.27, CLIENT, 'disk_sleep')
		->run(0, 2080.4, 2080.5, 501, 'sleeping');
	$s->wake(0, 2700, SERVICE, 0, 'nanosleep', context => 'hardirq')
		->run(0, 2700.1, 2700.5, SERVICE, 'sleeping')->wake(0, 2700.4, CLIENT, SERVICE, 'fuse')
		->run(1, 2700.6, 2702,   CLIENT,  'sleeping')->draw(2701.8);
	$d = judged(
		'a file that a program serves, and a signal', $s->hotkey(3000)->polls(2702),
		'ipc-wait', 'service', 0.9, 1
	);
	cmp_ok(abs($d->{interval}{duration_ns} - 702 * MS), '<', MS, '... from the press');
}

# --- a key without effect; later the window manager gives the client the focus, and the client
# redraws its frame. The window manager's request finds the server awake (another client looks at
# it), or wakes it: it is no answer either way ---
for my $awake (0, 1) {
	my $s = story()->enter(1000)->run(1, 1000.25, 1000.6, CLIENT, 'sleeping');
	$s->builder->thread(710, 'wm', ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(900, 'looker', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->release(1080);
	my ($t, $by) = (1400, $awake ? 900 : 710);
	$s->wake(1, $t - 0.3, $by, 0, 'poll', context => 'hardirq', wakee_cpu => 1)
		->run(1, $t - 0.2,  $t + 0.01, $by,    'sleeping')->wake(1, $t, SERVER, $by, 'epoll')
		->run(0, $t + 0.05, $t + 2,    SERVER, 'sleeping');
	$s->wake(1, $t + 0.2, 710, 0, 'poll', context => 'hardirq', wakee_cpu => 1)
		->run(1, $t + 0.3, $t + 0.8, 710, 'sleeping')
		if $awake;
	$s->builder->x(ns($t + 0.06), 'x_wakeup')->x(
		ns($t + 1), 'x_request', pid => 710, client => 8, duration_ns => 50_000, major => 42,
		sequence => 1, count => 1
	)->x(ns($t + 1.99), 'x_sleep');
	$s->wake(0, $t + 1.2, CLIENT, SERVER, 'poll')->run(1, $t + 1.3, $t + 3, CLIENT, 'sleeping')
		->draw($t + 2.8);
	judged(
		$awake ? 'a focus that an awake server gives' : 'a focus that the window manager gives',
		$s->hotkey(3000)->polls($t + 3), 'none', undef
	);
}

# --- a child of the client takes another name by exec, and then waits for a lock: it goes by that
# one. The end of another child, made before the key, disturbs the client, which only goes on
# waiting ---
for my $disturbed (0, 1) {
	my $s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->builder->thread(850, 'xterm', ppid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(860, 'holder', ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(850, 'flock',  ppid  => CLIENT, ts_ns    => 1003 * MS);
	$s->wake(1, 1000.9, 850, CLIENT, 'wait4')->run(0, 1000.95, 1003, 850, 'sleeping')
		->kernel(0, 1001.5, 'exec', tid => 850, old_tid => 850)
		->wake(1, 1599, 860, 0, 'nanosleep', context => 'hardirq')
		->run(1, 1599.1, 1600.2, 860,    'sleeping')->wake(1, 1600, 850, 860, 'flock')
		->run(0, 1600.1, 1601,   850,    'dead')->wake(0, 1600.9, CLIENT, 850, 'wait4')
		->run(1, 1601.1, 1603,   CLIENT, 'sleeping');
	if ($disturbed) {
		$s->builder->thread(851, 'compiler', ppid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS);
		$s->wake(0, 950, 851, 0, 'disk', context => 'softirq_irq', wakee_cpu => 1)
			->run(1, 1001.1, 1300, 851, 'dead')->kernel(1, 1299, 'exit', tid => 851)
			->wake(1, 1299.5, CLIENT, 851, 'wait4')->run(1, 1300.1, 1300.2, CLIENT, 'sleeping');
	}
	my $what = $disturbed ? '... and another child ends' : 'a lock that a child waits for';
	$d = judged($what, $s->draw(1602.8)->hotkey(3000)->polls(1603), 'lock-wait', 'holder', 0.9, 1);
	like(
		$d->{verdict}{sentence},
		qr/flock \(pid 850\), for which it waited, waited for a lock that "holder"/,
		'... under its new name'
	);
}

# --- an answer that was long in coming, and a process that was started for it works on: what comes
# of that later comes besides ---
{
	my $s = story()->enter(1000)->run(1, 1000.25, 1800, CLIENT, 'sleeping')
		->kernel(1, 1400, 'fork', tid => CLIENT, child_tid => 870, child_pid => 870);
	$s->builder->thread(870, 'compiler', ppid => CLIENT, ts_ns => ns(1400));
	$s->run(0, 1400.2, 1402, 870, 'sleeping')->draw(1799.8)
		->wake(0, 2199, 870, 0, 'nanosleep', context => 'hardirq')
		->run(0, 2199.1, 2200, 870, 'dead');
	$s->wake(0, 2199.9, CLIENT, 870, 'poll')->run(1, 2200.1, 2202, CLIENT, 'sleeping');
	$d = judged(
		'a process that works on after the answer',
		$s->draw(2201.8)->hotkey(4000)->polls(2202), 'app-compute', 'xterm', 0.9, 1
	);
	cmp_ok(abs($d->{interval}{duration_ns} - 800 * MS), '<', MS, '... from the key to the answer');
}

# --- a button of the program looks pressed at once, and does what it is for when the key is let go;
# what follows a release says nothing about presses ---
{
	my $s = story();
	for my $t (300, 600) {
		$s->enter($t)->run(1, $t + 0.25, $t + 3, CLIENT, 'sleeping')->draw($t + 2.8)
			->release($t + 70)->draw($t + 70.35);
	}
	$s->enter(1000)->run(1, 1000.25, 1003, CLIENT, 'sleeping')->draw(1002.8)
		->enter(1070, kind => 'key_release')->run(1, 1070.25, 1500, CLIENT, 'sleeping')
		->draw(1499.8);
	$d = judged(
		'what the release of a key does', $s->hotkey(3000)->polls(1500), 'app-compute',
		'xterm',                          0.95,                          1
	);
	like(
		$d->{verdict}{sentence},
		qr/^xterm \(pid 200\) answered the release of a key after 430 ms, usually 0\.\d+ ms: /,
		'... the sentence'
	);
}

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
