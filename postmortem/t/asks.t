#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Freezes of a client that has asked another program, over a bus or at once, and waits for the
# answer; and beside each of them the scene that looks alike and is none.
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
	BUS    => 510, WORKER => 201, MS    => 1_000_000
};
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub ns { return Tipme::Test::Story::ns($_[0]) }

sub story { return Tipme::Test::Story->with_service(@_) }

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
	$s->release(1080);
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
	return $s->hotkey(3000)->polls(1393);
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
$d = judged('a service that is old', over_a_bus(stopped => 1), 'stopped', 'service', 0.95, 1);
is($d->{verdict}{blamed}{starter}, undef, '... is asked itself, not who started it');

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
	$s->release(1080) if !$o{no_release};
	return $s->run(1, 1081, 3900, SERVICE, 'runnable', preempted => 1)->hotkey(3000)
		->polls($o{no_release} ? 1001 : 1080.4)->picture(SERVICE, 'service', state => 'runnable')
		if $o{still};
	$s->run(1, 1081, 1390.5, SERVICE, 'sleeping')->wake(1, 1390.4, CLIENT, SERVICE, 'poll')
		->run(1, 1390.6, 1393, CLIENT, 'sleeping')->draw(1392.9);
	return $s->hotkey(3000)->polls(1393);
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
	$s->release(1080);
	judged(
		'a shell whose command runs',
		$s->hotkey(3000)->polls(1080.4)
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
	$s->release(1080, no_wake => $o{hangs});
	return $s->hotkey(4000)->polls($o{hangs} ? 1001 : 1080.4)
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
	return $s->hotkey(4000)
		->polls($o{hangs} ? ($o{asks_twice} ? 1006 : 1001, 'futex') : (1080.5, 'poll'));
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
	return $s->hotkey(6000)->polls($o{clock} ? 5753 : 2753);
}
$d = judged(
	'a search that begins a moment after the key', after_a_moment(), 'ipc-wait', 'service',
	0.7, 0.85
);
cmp_ok(abs($d->{interval}{duration_ns} - 752 * MS), '<', MS, '... from the key to what it found');
is($d->{interval}{certainty}, 'inferred', '... which is inferred');
judged('a program that looks for mail by the clock', after_a_moment(clock => 1), 'none', undef);

# --- a service that is asked over a bus, and never answers: the client gives up by its own timer
# ---
{
	my $s =
		story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9,  BUS,     CLIENT, 'epoll')->run(0, 1000.95, 1001.1, BUS,     'sleeping')
		->wake(0, 1001.05, SERVICE, BUS,    'epoll')->run(0, 1001.2,  1002,   SERVICE, 'sleeping');
	$s->release(1080, no_wake => 1);
	$s->wake(1, 2501, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 2501.1, 2503, CLIENT, 'sleeping')->draw(2502.8)->hotkey(3500);
	$d = judged('nobody answers', $s->polls(2503), 'time-out', 'service', 0.95, 1);
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
	$s->release(1080, no_wake => 1);
	$s->picture(BUS, 'bus', since_ns => ns(1001.1), stack_id => $s->id('epoll'));
	$s->wake(1, 2501, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 2501.1, 2503, CLIENT, 'sleeping')->draw(2502.8)->hotkey(3500);
	$d = judged('the bus hands nothing on', $s->polls(2503), 'time-out', 'bus', 0.95, 1);
	like(
		$d->{verdict}{sentence},
		qr/waited for an answer of "bus" \(pid \d+\b.*\), or of one behind it, and gave up\.$/,
		'... it may not be the bus'
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
	return $s->draw($end + 2.6)->hotkey(3000)->polls($end + 2.8);
}
$d = judged('a command that asks a stopped service', command(), 'stopped', 'service', 0.95, 1);
cmp_ok(
	abs($d->{interval}{duration_ns} - 394 * MS), '<', MS,
	'... from the key to what the client drew'
);
$d = judged('... and asks it once more', command(twice => 1), 'stopped', 'service', 0.95, 1);
$d = judged('a command of a loop that was there before', command(loop => 1), 'unknown', undef);

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
