#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Freezes that a person felt, of which the records show no late change of the screen at first sight;
# and beside each of them the scene that looks alike and is none.
use strict;
use warnings;
use Test::More;
use File::Temp ();
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant {
	SERVER => 100, CLIENT => 200, SHELL => 300, SERVICE => 500, BUS => 510,
	WORKER => 201, MS     => 1_000_000
};
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
sub ns { return Tipme::Test::Story::ns($_[0]) }

# A client with a second thread, a service, a bus between them, and a shell from elsewhere that
# stops and continues others.
sub story {
	my $s = Tipme::Test::Story->new(@_);
	$s->builder->thread(SERVICE, 'service', ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(BUS,    'bus',    ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(600,    'bash',   ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(WORKER, 'worker', pid   => CLIENT, ts_ns    => 5 * MS, since_ns => 2 * MS);
	return $s;
}

# Letting go of the key: the server tells the client, which is woken, or not.
sub release {
	my ($s, $t, %o) = @_;
	$s->enter($t, kind => 'key_release', %o);
	return $o{no_wake} ? $s : $s->run(1, $t + 0.25, $t + 0.4, CLIENT, 'sleeping');
}

# The client at the hot-key: asleep in poll() since then
sub polls {
	my ($s, $since, $stack) = @_;
	return $s->picture(
		CLIENT, 'xterm', since_ns => ns($since),
		stack_id => $s->id($stack // 'poll')
	);
}

# --- the client asks, over a bus, a service that was stopped before the key; the bus has done its
# part, and the service answers when it goes on ---
sub over_a_bus {
	my (%o) = @_;
	my $s =
		$o{before}
		? story(
		manifest => {
			trigger =>
				{ kind => 'hotkey', ns => 3000 * MS, text => '', before_ns => $o{before} * MS }
		}
		)
		: story();
	$s->builder->{trigger_ns} = 3000 * MS if $o{before};
	if ($o{stopped}) {
		$s->wake(0, 900, SERVICE, 600, 'poll')->run(1, 900.1, 900.2, SERVICE, 'stopped')
			->run(0, 899.9, 900.3, 600, 'sleeping');
	}
	if ($o{computes}) { $s->wake(0, 900, SERVICE, 0, 'epoll', context => 'hardirq') }
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9, BUS, CLIENT, 'epoll')->run(0, 1000.95, 1001.1, BUS, 'sleeping');
	release($s, 1080);
	if ($o{stopped}) {
		$s->run(0, 1389.9, 1390.05, 600, 'sleeping')->wake(0, 1390, SERVICE, 600)
			->run(1, 1390.1, 1391, SERVICE, 'sleeping');
	} elsif ($o{computes}) {
		$s->run(1, 1300, 1391, SERVICE, 'sleeping');
	} else {
		$s->wake(1, 1390, SERVICE, 0, 'epoll', context => 'hardirq')
			->run(1, 1390.1, 1391, SERVICE, 'sleeping');
	}
	$s->wake(1, 1390.8, BUS, SERVICE, 'epoll')->run(0, 1390.9, 1391.1, BUS, 'sleeping')
		->wake(0, 1391, CLIENT, BUS, 'poll')->run(1, 1391.2, 1393, CLIENT, 'sleeping')
		->draw(1392.9);
	return polls($s->hotkey(3000), 1393);
}
my $d = judged(
	'a service that was stopped before the key', over_a_bus(stopped => 1), 'stopped',
	'service',                                   0.95,                     1
);
cmp_ok(
	abs($d->{interval}{duration_ns} - 393 * MS), '<', MS,
	'... from the key to what the client drew'
);
is($d->{interval}{certainty}, 'inferred', '... which is inferred');
like(
	$d->{verdict}{sentence},
	qr/it waited for "service" \(pid 500\b.*\), which was stopped by a signal, until bash \(pid 600\) let it go on\.$/,
	'... the sentence'
);
$d = judged('a service that speaks up by itself', over_a_bus(), 'unknown', undef);
like(
	$d->{verdict}{sentence},
	qr/^xterm \(pid 200\) may have answered a key press only after 393 ms; the proof is missing because bus \(pid 510\) woke it then, and no record shows that it had been asked/,
	'... nobody is accused, and it is said'
);
is_deeply(
	[
		map { "$_->{why} " . int($_->{possible_ns} / MS) }
			@{ Tipme::Report::JSON::data($d)->{candidates} }
	],
	['process 393'],
	'... JSON has it'
);
ok(
	(grep {/^Not observed: when a compositor/} @{ $d->{verdict}{circumstances} }),
	'... what was not observed is said'
);

# What was over before the last report is no candidate of this one, proven or not.
for (1, 0) {
	my $what = $_ ? 'proven' : 'not proven';
	$d = judged(
		"a report after that of what was $what", over_a_bus(stopped => $_, before => 2000),
		'none',                                  undef
	);
	is_deeply(
		$d->{candidates}, [],
		'... no press of before that is told as one that may have been slow'
	);
}
like(
	judged('what came since the last report', over_a_bus(before => 900), 'unknown', undef)
		->{verdict}{sentence},
	qr/^xterm \(pid 200\) may have answered a key press only after 393 ms/, '... is one'
);

# --- the same without a bus: who answered the keys before is asked by this one, too; a job that was
# never asked is not ---
sub directly {
	my (%o) = @_;
	my $s = story();
	for my $t ($o{asked} ? (600, 700, 800) : ()) {
		$s->enter($t)->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping')
			->wake(1, $t + 0.9, SERVICE, CLIENT, 'poll')
			->run(0, $t + 1, $t + 2, SERVICE, 'sleeping')
			->wake(0, $t + 1.9, CLIENT, SERVICE, 'poll')
			->run(1, $t + 2, $t + 4, CLIENT, 'sleeping')->draw($t + 3.8);
	}
	# It computes since before the key, and now and then waits for a CPU.
	$s->wake(1, 950, SERVICE, 0, 'poll', context => 'hardirq')
		->run(0, 950.1, 980, SERVICE, 'runnable', preempted => 1);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	release($s, 1080) if !$o{no_release};
	return polls(
		$s->run(1, 1081, 3900, SERVICE, 'runnable', preempted => 1)->hotkey(3000),
		$o{no_release} ? 1001 : 1080.4
	)->picture(SERVICE, 'service', state => 'runnable')
		if $o{still};
	$s->run(1, 1081, 1390.5, SERVICE, 'sleeping')->wake(1, 1390.4, CLIENT, SERVICE, 'poll')
		->run(1, 1390.6, 1393, CLIENT, 'sleeping')->draw(1392.9);
	return polls($s->hotkey(3000), 1393);
}
$d = judged(
	'a service that was busy before the key', directly(asked => 1), 'ipc-wait', 'service',
	0.78, 0.8
);
cmp_ok(
	abs($d->{interval}{duration_ns} - 393 * MS), '<', MS,
	'... from the key to what the client drew'
);
# That this key asked it for anything is in no record: it may have no effect. Nobody is accused, and
# it is said.
$d = judged('a service that is still busy', directly(asked => 1, still => 1), 'unknown', undef);
is(Tipme::Report::JSON::data($d)->{candidates}[0]{why}, 'busy', '... a candidate');
like(
	$d->{verdict}{sentence},
	qr/may not have answered a key press for 3\.00 s; the proof is missing because .* service \(pid 500\), through which the answers to others came, has been busy/,
	'... which is said'
);
$d = judged('a job that is still busy', directly(asked => 0, still => 1), 'none', undef);
is(Tipme::Report::JSON::data($d)->{candidates}[0]{why}, 'rests', '... but the key is listed');
$d = judged(
	'... and no event came since', directly(asked => 0, still => 1, no_release => 1),
	'unknown',                     undef
);
like(
	$d->{verdict}{sentence},
	qr/^xterm \(pid 200\) may not have answered a key press for 3\.00 s; the proof is missing because nothing on the screen changed by it/,
	'... which is said'
);
{
	my $s = story();
	for my $t (600, 700, 800) {
		$s->enter($t)->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping')
			->wake(1, $t + 0.9, SHELL,  CLIENT, 'tty')->run(0, $t + 1, $t + 2, SHELL, 'sleeping')
			->wake(0, $t + 1.9, CLIENT, SHELL,  'poll')->run(1, $t + 2, $t + 4, CLIENT, 'sleeping')
			->draw($t + 3.8);
	}
	$s->wake(1, 900, SHELL, CLIENT, 'tty')->run(0, 900.1, 901, SHELL, 'sleeping')->enter(1000)
		->run(1, 1000.25, 1000.5, CLIENT, 'sleeping');
	release($s, 1080);
	judged(
		'a shell whose command runs',
		polls($s->hotkey(3000), 1080.4)
			->picture(SHELL, 'bash', since_ns => ns(901), stack_id => $s->id('wait4')), 'none',
		undef
	);
}
$d = directly(asked => 0)->diagnose(File::Temp::tempdir(CLEANUP => 1) . '/job');
isnt(
	$d->{verdict}{blamed}{comm} // '', 'service',
	'a job that ends after a key without effect is not accused'
) or diag($d->{verdict}{sentence});

# --- a synchronous call waits in poll(), as event loops do: that the client does not take the
# release of the key tells them apart ---
sub call {
	my (%o) = @_;
	my $s = story(trigger => 4000)->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9, BUS, CLIENT, 'epoll')->run(0, 1000.95, 1001.1, BUS, 'sleeping');
	release($s, 1080, no_wake => $o{hangs});
	return polls($s->hotkey(4000), $o{hangs} ? 1001 : 1080.4)
		->picture(BUS, 'bus', since_ns => ns(1001.1), stack_id => $s->id('epoll'));
}
$d = judged('a call in poll()', call(hangs => 1), 'ipc-wait', 'xterm', 0.99, 1);
is($d->{interval}{certainty}, 'open',    'a call in poll(): it has not been answered');
is($d->{interval}{start_ns},  1000 * MS, 'a call in poll(): since the key');
cmp_ok($d->{verdict}{confidence}, '<', 0.5, 'a call in poll(): for whom it waits is not known');
judged('an event loop in poll()', call(hangs => 0), 'none', undef);

# --- Qt: the first thread waits for an answer in a futex, while another one reads what the server
# sends ---
sub qt {
	my (%o)  = @_;
	my $s    = story(trigger => 4000);
	my $told = sub {
		my ($t, $hands_on, %e) = @_;
		$s->enter($t, no_wake => 1, %e)->wake(0, $t + 0.2, WORKER, SERVER, 'poll', wakee_cpu => 1)
			->run(1, $t + 0.22, $t + 0.24, WORKER, 'sleeping');
		$s->wake(1, $t + 0.23, CLIENT, WORKER, 'poll') if $hands_on;
	};
	for my $t (600, 700, 800) {
		$told->($t, 1);
		$s->run(1, $t + 0.25, $t + 2, CLIENT, 'sleeping')->draw($t + 1.9);
	}
	$told->(1000, 1);
	# The handler asks twice; the first answer comes soon.
	if ($o{asks_twice}) {
		$s->run(1, 1000.25, 1000.5, CLIENT, 'sleeping')->wake(1, 1005, CLIENT, WORKER, 'futex')
			->run(1, 1005.1, 1006, CLIENT, 'sleeping');
	} else {
		$s->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	}
	$told->(1080, !$o{hangs}, kind => 'key_release');
	$s->run(1, 1080.25, 1080.5, CLIENT, 'sleeping') if !$o{hangs};
	$s->picture(
		WORKER, 'worker', pid => CLIENT, since_ns => ns(1080.24),
		stack_id => $s->id('poll')
	);
	return polls(
		$s->hotkey(4000),
		$o{hangs} ? ($o{asks_twice} ? 1006 : 1001, 'futex') : (1080.5, 'poll')
	);
}
$d = judged('a futex beside a thread that polls', qt(hangs => 1), 'futex-wait', 'xterm', 0.99, 1);
is(
	$d->{interval}{certainty}, 'open',
	'a futex beside a thread that polls: it has not been answered'
);
judged('a thread that polls and hands events on', qt(hangs => 0), 'none', undef);
$d = judged(
	'a handler that waits twice, the second time for long', qt(hangs => 1, asks_twice => 1),
	'futex-wait', 'xterm', 0.99, 1
);
is($d->{interval}{start_ns}, 1000 * MS, '... since the key');

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
$d = judged('events go to another thread', java(600), 'app-compute', 'xterm', 0.99, 1);
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
	return polls($s->hotkey(7000), 1000 + $long);
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
	$d = judged('an echo, then computing', polls($s, 1700), 'app-compute', 'xterm', 0.99, 1);
	is($d->{interval}{start_ns}, 1000 * MS, 'an echo, then computing: from the key');
	cmp_ok(abs($d->{interval}{duration_ns} - 700 * MS), '<', MS, '... to the answer');
}

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
	$d = judged(
		'a repeat that stands still', polls($s->hotkey(3000), 2304), 'stopped', 'xterm',
		0.9, 1
	);
	cmp_ok(
		abs($d->{interval}{start_ns} - 1693 * MS), '<', MS,
		'a repeat that stands still: from the first that was not taken'
	);
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
		polls($s->hotkey(7000), 3701, 'futex'), 'none', undef
	);
}

# --- a moment after the key, by its own timer, the program asks a service that takes long; by the
# clock it does so at other times, too ---
sub after_a_moment {
	my (%o)  = @_;
	my $s    = story(trigger => 6000);
	my $asks = sub {
		my ($t, $long) = @_;
		$s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, $t + 0.1, $t + 1, CLIENT, 'sleeping')
			->wake(1, $t + 0.9, SERVICE, CLIENT, 'poll')
			->run(0, $t + 1, $t + $long, SERVICE, 'sleeping')
			->wake(0, $t + $long - 0.1, CLIENT, SERVICE, 'poll')
			->run(1, $t + $long + 0.1, $t + $long + 2, CLIENT, 'sleeping')->draw($t + $long + 1.8);
	};
	$s->key(2000, 3);
	$asks->(2150, 600);
	if ($o{clock}) { $asks->($_, 600) for 4150, 5150 }
	return polls($s->hotkey(6000), $o{clock} ? 5753 : 2753);
}
$d = judged(
	'a search that begins a moment after the key', after_a_moment(), 'ipc-wait', 'service',
	0.7, 0.85
);
cmp_ok(abs($d->{interval}{duration_ns} - 752 * MS), '<', MS, '... from the key to what it found');
is($d->{interval}{certainty}, 'inferred', '... which is inferred');
judged('a program that looks for mail by the clock', after_a_moment(clock => 1), 'none', undef);

# --- frozen by its control group ---
{
	my $s = story();
	$s->builder->stack(95, stack_text('frozen'));
	$s->wake(0, 950, CLIENT, 600, 'poll')->run(1, 950.1, 950.2, CLIENT, 'frozen')
		->run(0, 949,    950.5, 600, 'sleeping')->enter(1000, no_wake => 1)
		->run(0, 1999,   2001,  600, 'sleeping')->wake(0, 2000, CLIENT, 600, undef, stack_id => 95)
		->run(1, 2000.1, 2002,  CLIENT, 'sleeping')->draw(2001.9)->hotkey(3000);
	$d = judged('frozen', $s, 'stopped', 'xterm', 0.98, 1);
	like(
		$d->{verdict}{sentence},
		qr/it was frozen by its control group, until bash \(pid 600\) let it go on\.$/,
		'frozen: the sentence'
	);
}

# --- a program that sleeps in its handler, in pieces, by its own timer: the key that came meanwhile
# would end each of them ---
{
	my $s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	release($s, 1044, no_wake => 1);
	$s->wake(1, 1501, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 1501.02, 1501.05, CLIENT, 'sleeping')
		->wake(1, 1901, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 1901.02, 1903, CLIENT, 'sleeping')->draw(1902.8);
	$d = judged('a sleep in pieces', polls($s->hotkey(3000), 1903), 'timer-sleep', 'xterm', 0.9, 1);
	cmp_ok(abs($d->{interval}{duration_ns} - 903 * MS), '<', MS, 'a sleep in pieces: all of it');
}

# --- a service that is asked over a bus, and never answers: the client gives up by its own timer
# ---
{
	my $s =
		story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9,  BUS,     CLIENT, 'epoll')->run(0, 1000.95, 1001.1, BUS,     'sleeping')
		->wake(0, 1001.05, SERVICE, BUS,    'epoll')->run(0, 1001.2,  1002,   SERVICE, 'sleeping');
	release($s, 1080, no_wake => 1);
	$s->wake(1, 2501, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 2501.1, 2503, CLIENT, 'sleeping')->draw(2502.8)->hotkey(3500);
	$d = judged('nobody answers', polls($s, 2503), 'time-out', 'service', 0.95, 1);
	like(
		$d->{verdict}{sentence},
		qr/: most likely, for 1\.50 s \(100 %\) it waited for an answer of "service" \(pid 500\b.*\), and gave up\.$/,
		'... the sentence'
	);
}

# --- the same over a bus that hands nothing on: the service hangs already, and is woken by nobody
# ---
{
	my $s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9, BUS, CLIENT, 'epoll')->run(0, 1000.95, 1001.1, BUS, 'sleeping');
	release($s, 1080, no_wake => 1);
	$s->picture(BUS, 'bus', since_ns => ns(1001.1), stack_id => $s->id('epoll'));
	$s->wake(1, 2501, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 2501.1, 2503, CLIENT, 'sleeping')->draw(2502.8)->hotkey(3500);
	$d = judged('the bus hands nothing on', polls($s, 2503), 'time-out', 'bus', 0.95, 1);
	like(
		$d->{verdict}{sentence},
		qr/waited for an answer of "bus" \(pid \d+\b.*\), or of one behind it, and gave up\.$/,
		'... it may not be the bus'
	);
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
		polls($s->draw(1800, 700)->hotkey(3000), 1561), 'server-grab', 'screenlock', 0.9, 1
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
	return polls($s->hotkey(3000), 1402);
}
$d = judged('an answer by the network', network(usual => 1), 'network-wait', 'xterm', 0.95, 1);
is($d->{interval}{certainty}, 'inferred', '... inferred');
$d = judged('news by the network', network(), 'unknown', undef);
is(
	Tipme::Report::JSON::data($d)->{candidates}[0]{why}, 'network',
	'... the press is listed, nobody accused'
);

# --- a tracer keeps the client: the tracer is named, not its victim ---
{
	my $s = story();
	$s->builder->thread(650, 'gdb', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'traced')->run(0, 1600, 1600.3, 650, 'sleeping')
		->wake(0, 1600.1, CLIENT, 650)->run(1, 1600.3, 1602, CLIENT, 'sleeping')->draw(1601.8);
	$d = judged('a tracer', polls($s->hotkey(3000), 1602), 'ipc-wait', 'gdb', 0.95, 1);
	like(
		$d->{verdict}{sentence},
		qr/it waited for "gdb" \(pid 650\b.*\), which was tracing it, and kept it stopped\.$/,
		'a tracer: the sentence'
	);
}

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
		polls($s->run(1, 1600.3, 1602, CLIENT, 'sleeping')->draw(1601.9)->hotkey(3000), 1602),
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
	return polls($s->run(1, 1261, 1263, CLIENT, 'sleeping')->draw(1262.8)->hotkey(3000), 1263);
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
	return polls($s->hotkey(3000), 1600)->picture(
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
	release($s, 2080, no_wake => 1);
	$s->wake(0, 2700, 820, 0, 'nanosleep', context => 'hardirq')
		->run(0, 2700.1, 2700.5, 820,    'sleeping')->wake(0, 2700.4, CLIENT, 820, 'poll')
		->run(1, 2700.6, 2702,   CLIENT, 'sleeping')->draw(2701.8);
	$d = judged(
		'a helper that is young', polls($s->hotkey(3000), 2702), 'ipc-wait', 'sleep', 0.9,
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
	$d = judged('a service that is old', over_a_bus(stopped => 1), 'stopped', 'service', 0.95, 1);
	is($d->{verdict}{blamed}{starter}, undef, '... is asked itself');
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
		'a file that a program serves, and a signal', polls($s->hotkey(3000), 2702),
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
	release($s, 1080);
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
		polls($s->hotkey(3000), $t + 3), 'none', undef
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
	$d = judged($what, polls($s->draw(1602.8)->hotkey(3000), 1603), 'lock-wait', 'holder', 0.9, 1);
	like(
		$d->{verdict}{sentence},
		qr/flock \(pid 850\), for which it waited, waited for a lock that "holder"/,
		'... under its new name'
	);
}
# --- a terminal: its shell makes a process for the line that was typed, and that one asks, over a
# bus, a service that was stopped before ---
sub command {
	my (%o) = @_;
	my $s = story();
	$s->wake(0, 900, SERVICE, 600, 'poll')->run(1, 900.1, 900.2, SERVICE, 'stopped')
		->run(0, 899.9, 900.3, 600, 'sleeping');
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	# The shell is woken by the terminal; or it is in a loop, and a timer of its own woke it.
	my $t = $o{loop} ? 1100 : 1000.9;
	$o{loop}
		? $s->wake(0, $t, SHELL, 0, 'nanosleep', context => 'hardirq')
		: $s->wake(1, $t, SHELL, CLIENT, 'tty');
	$s->run(0, $t + 0.1, $t + 2, SHELL, 'sleeping')
		->kernel(0, $t + 1, 'fork', tid => SHELL, child_tid => 870, child_pid => 870);
	$s->builder->thread(870, 'gdbus', ppid => SHELL, ts_ns => ns($t + 1));
	$s->run(1, $t + 1.2, $t + 3, 870, 'sleeping')->wake(1, $t + 2.8, BUS, 870, 'epoll')
		->run(0, $t + 2.9, $t + 3.1, BUS, 'sleeping');
	$s->run(0, 1389.9, 1390.05, 600, 'sleeping')->wake(0, 1390, SERVICE, 600);
	# What the service answers comes over the bus, or the command then asks once more.
	my $answer = sub {
		my ($at) = @_;
		$s->run(1, $at + 0.1, $at + 1, SERVICE, 'sleeping')
			->wake(1, $at + 0.8, BUS, SERVICE, 'epoll')
			->run(0, $at + 0.9, $at + 1.1, BUS, 'sleeping')->wake(0, $at + 1, 870, BUS, 'poll');
	};
	$answer->(1390);
	my $end = 1391.2;
	if ($o{twice}) {
		$s->run(1, 1391.2, 1392, 870, 'sleeping')->wake(1,     1391.3, BUS,     870, 'epoll')
			->run(0, 1391.4, 1391.6, BUS, 'sleeping')->wake(0, 1391.5, SERVICE, BUS, 'epoll');
		$answer->(1392);
		$end = 1393.2;
	}
	$s->run(1, $end, $end + 0.8, 870, 'dead')->wake(1, $end + 0.6, CLIENT, 870, 'poll')
		->run(1, $end + 0.9, $end + 2.8, CLIENT, 'sleeping');
	return polls($s->draw($end + 2.6)->hotkey(3000), $end + 2.8);
}
$d = judged('a command that asks a stopped service', command(), 'stopped', 'service', 0.95, 1);
cmp_ok(
	abs($d->{interval}{duration_ns} - 394 * MS), '<', MS,
	'... from the key to what the client drew'
);
$d = judged('... and asks it once more', command(twice => 1), 'stopped', 'service', 0.95, 1);
$d = judged('a command of a loop that was there before', command(loop => 1), 'unknown', undef);
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
	$d = judged(
		$thaws ? 'frozen in a futex' : 'a futex that two processes share',
		polls($s->hotkey(3000), 1602),
		$thaws ? ('stopped', 'xterm', 0.9, 1) : ('futex-wait', 'bash', 0.9, 1)
	);
	like(
		$d->{verdict}{sentence},
		qr/it was frozen by its control group, until bash \(pid 600\) let it go on/,
		'... the sentence'
	) if $thaws;
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
		polls($s->draw(2201.8)->hotkey(4000), 2202), 'app-compute', 'xterm', 0.9, 1
	);
	cmp_ok(abs($d->{interval}{duration_ns} - 800 * MS), '<', MS, '... from the key to the answer');
}
# --- a button of the program looks pressed at once, and does what it is for when the key is let go;
# what follows a release says nothing about presses ---
{
	my $s = story();
	for my $t (300, 600) {
		release(
			$s->enter($t)->run(1, $t + 0.25, $t + 3, CLIENT, 'sleeping')->draw($t + 2.8),
			$t + 70
		)->draw($t + 70.35);
	}
	$s->enter(1000)->run(1, 1000.25, 1003, CLIENT, 'sleeping')->draw(1002.8)
		->enter(1070, kind => 'key_release')->run(1, 1070.25, 1500, CLIENT, 'sleeping')
		->draw(1499.8);
	$d = judged(
		'what the release of a key does', polls($s->hotkey(3000), 1500), 'app-compute',
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
