#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Freezes of a client that somebody stopped, froze or kept: by a signal, a control group, a tracer,
# or by having the key first.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged like_sentence);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, SHELL => 300, WORKER => 201, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub ns { return Tipme::Test::Story::ns($_[0]) }

sub story { return Tipme::Test::Story->with_service(@_) }

# --- auto-repeat that stands still: the client is stopped between two repeats ---
{
	my $s = story();
	for my $k (0 .. 20) {
		my $t = 1000 + 33 * $k;
		$s->enter($t, kind => 'key_repeat')->run(1, $t + 0.25, $t + 2, CLIENT, 'sleeping')
			->draw($t + 1.8);
	}
	$s->wake(0, 1670, CLIENT, 600, 'poll')->run(1, 1670.1, 1670.2, CLIENT, 'stopped')
		->run(0, 1669.9, 1670.3, 600, 'sleeping');
	$s->enter(1693 + 33 * $_, kind => 'key_repeat', no_wake => 1) for 0 .. 18;
	$s->run(0, 2299.9, 2300.3, 600, 'sleeping')->wake(0, 2300, CLIENT, 600)
		->run(1, 2300.1, 2304, CLIENT, 'sleeping')->draw(2303.8);
	my $d = judged(
		'a repeat that stands still', $s->hotkey(3000)->polls(2304), 'stopped', 'xterm',
		0.9, 1
	);
	cmp_ok(
		abs($d->{interval}{start_ns} - 1693 * MS), '<', MS,
		'a repeat that stands still: from the first that was not taken'
	);
}

# --- frozen by its control group ---
{
	my $s = story();
	$s->builder->stack(95, stack_text('frozen'));
	$s->wake(0, 950, CLIENT, 600, 'poll')->run(1, 950.1, 950.2, CLIENT, 'frozen')
		->run(0, 949,    950.5, 600, 'sleeping')->enter(1000, no_wake => 1)
		->run(0, 1999,   2001,  600, 'sleeping')->wake(0, 2000, CLIENT, 600, undef, stack_id => 95)
		->run(1, 2000.1, 2002,  CLIENT, 'sleeping')->draw(2001.9)->hotkey(3000);
	my $d = judged('frozen', $s, 'stopped', 'xterm', 0.98, 1);
	like(
		$d->{verdict}{sentence},
		qr/it was frozen by its control group, until bash \(pid 600\) let it go on\.$/,
		'frozen: the sentence'
	);
}

# --- a tracer keeps the client: the tracer is named, not its victim ---
{
	my $s = story();
	$s->builder->thread(650, 'gdb', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'traced')->run(0, 1600, 1600.3, 650, 'sleeping')
		->wake(0, 1600.1, CLIENT, 650)->run(1, 1600.3, 1602, CLIENT, 'sleeping')->draw(1601.8);
	my $d = judged('a tracer', $s->hotkey(3000)->polls(1602), 'ipc-wait', 'gdb', 0.95, 1);
	like(
		$d->{verdict}{sentence},
		qr/it waited for "gdb" \(pid 650\b.*\), which was tracing it, and kept it stopped\.$/,
		'a tracer: the sentence'
	);
}

# --- frozen while it slept in a futex: who thaws the process wakes all its threads where they
# slept; one of two processes that share a futex wakes one ---
for my $thaws (1, 0) {
	my $s =
		story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(0, 1599.7, 600, 0, 'nanosleep', context => 'hardirq')
		->wake(0, 1600, CLIENT, 600, 'futex')->run(0, 1599.8, 1600.3, 600, 'sleeping');
	$s->wake(0, 1600.1, WORKER, 600, 'poll', wakee_cpu => 0)
		->run(0, 1600.4, 1600.6, WORKER, 'sleeping')
		if $thaws;
	$s->run(1, 1600.5, 1602, CLIENT, 'sleeping')->draw(1601.8);
	my $d = judged(
		$thaws ? 'frozen in a futex' : 'a futex that two processes share',
		$s->hotkey(3000)->polls(1602),
		$thaws ? ('stopped', 'xterm', 0.9, 1) : ('futex-wait', 'bash', 0.9, 1)
	);
	like(
		$d->{verdict}{sentence},
		qr/it was frozen by its control group, until bash \(pid 600\) let it go on/,
		'... the sentence'
	) if $thaws;
}

# --- who stopped it ---
for my $when (949.95, 20) {
	my $s = Tipme::Test::Story->new->kernel(
		0, $when, 'signal', tid => CLIENT, pid => CLIENT, sender_tid => 600, signal => 19,
		context => 'task'
	);
	$s->builder->thread(600, 'tester', ts_ns => 5 * MS);
	$s->wake(0, 950, CLIENT, 600, 'poll')->run(1, 950.1, 950.2, CLIENT, 'stopped')
		->run(0, 949,  950.5, 600, 'sleeping')->enter(1000, no_wake => 1)
		->run(0, 1999, 2001,  600, 'sleeping');
	$s->wake(0, 2000, CLIENT, SHELL)->run(1, 2000.1, 2002, CLIENT, 'sleeping')->draw(2001.9)
		->hotkey(3000);
	my $d = judged("stopped at $when", $s, 'stopped', 'xterm', 0.98, 1);
	like_sentence(
		$d,
		qr/it was stopped by a signal from tester \(pid 600\), until bash \(pid 300\) let it go on\.$/,
		'stopped'
	);
	like($d->{verdict}{door}, qr/tester \(pid 600\)/, 'stopped: whose door');
}

# --- a window manager has the key first, sleeps, and lets it go on ---
my $s = Tipme::Test::Story->new;
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
my $d = judged('a key held back', $s, 'input-late', 'wm', 0.98, 1);
like_sentence(
	$d,
	qr/^xterm \(pid 200\) .*: for 300 ms \(99 %\) "wm" \(pid 720\) held the event back, sleeping for a time that it chose \(nanosleep\)\.$/,
	'a key held back'
);

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
