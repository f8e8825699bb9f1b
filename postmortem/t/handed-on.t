#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Answers that come by somebody who was done with the key, or was awake for others: a terminal in a
# terminal, a program that echoes and then asks, a server that another client keeps busy, a toolkit
# that has sent only a part. And beside each of them the scene that looks alike, where the key had
# nothing to do with it.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged ends);
use Tipme::Test::Story;

use constant {
	SERVER  => 100, CLIENT  => 200, READER => 201, HAND => 202, PACER   => 203, SHELL => 300,
	KWORKER => 50,  SERVICE => 500, MUX    => 520, IM   => 530, WATCHER => 540, TASKS => 531,
	MS      => 1_000_000
};
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub ns { return Tipme::Test::Story::ns($_[0]) }

sub story {
	return Tipme::Test::Story->with_threads(
		[ [ READER, 'reader' ], [ HAND, 'events' ], [ PACER, 'pacer' ] ],
		[
			[ SERVICE, 'service' ], [ MUX, 'mux' ], [ IM, 'method' ], [ WATCHER, 'watcher' ],
			[ 600,     'sh' ]
		],
		trigger => 5000,
		@_
	);
}

# The service is stopped at 900 ms, and goes on at 1390 ms.
sub stopped {
	my ($s) = @_;
	$s->wake(0, 900, SERVICE, 600, 'poll')->run(1, 900.1, 900.2, SERVICE, 'stopped')
		->run(0, 899.9, 900.3, 600, 'sleeping');
	return $s->run(0, 1389.9, 1390.05, 600, 'sleeping')->wake(0, 1390, SERVICE, 600)
		->run(1, 1390.1, 1391, SERVICE, 'sleeping');
}

# --- An input method is asked for each key, and a busy server besides: what the client drew came
# last from the server. Then the method is stopped: each answer had waited for it, too.
sub asks_two {
	my (%o) = @_;
	my $s = story(no_usual => 1);
	$s->wake(0, 900, IM, 600, 'poll')->run(1, 900.1, 900.2, IM, 'stopped')
		->run(0, 899.9, 900.3, 600, 'sleeping');
	for my $t (700, 800) {
		$s->enter($t, until => 4)->run(1, $t + 0.25, $t + 0.6, CLIENT, 'sleeping');
		if (!$o{unasked}) {
			$s->wake(1, $t + 0.5, IM, CLIENT, 'poll', wakee_cpu => 1)
				->run(1, $t + 0.7, $t + 0.9, IM, 'sleeping')->wake(1, $t + 0.8, CLIENT, IM, 'poll')
				->run(1, $t + 1,   $t + 1.5, CLIENT, 'sleeping');
		}
		$s->wake(0, $t + 3.5, CLIENT, SERVER, 'poll')->run(1, $t + 3.6, $t + 6, CLIENT, 'sleeping')
			->draw($t + 5);
	}
	$s->enter(1000)->run(1, 1000.25, 1000.5, CLIENT, 'sleeping');
	$s->run(0, 1349.9, 1350.05, 600, 'sleeping')->wake(0, 1350, IM, 600)
		->run(1, 1350.1, 1351, IM, 'sleeping')->wake(1, 1350.5, CLIENT, IM, 'poll')
		->run(1, 1351.1, 1353, CLIENT, 'sleeping')->draw(1352);
	$s->hotkey(3000);
	return $s->picture(CLIENT, 'xterm', since_ns => ns(1353), stack_id => $s->id('poll'));
}
my $two =
	judged('asked for each key, beside a busy server', asks_two(), 'stopped', 'method', 0.99, 1);
ends($two, 352, '... up to what it let the client draw');
judged('... of one that was never asked', asks_two(unasked => 1), 'none', undef);

# A terminal's worker brings to WAKEE what QUEUER has written, 0.03 ms later.
sub brings {
	my ($s, $t, $queuer, $wakee, $stack) = @_;
	my %w = (work => 77, function => 0x1234);
	$s->kernel(1, $t, 'work_queued', tid => $queuer, %w, context => 'task')
		->wake(1, $t + 0.001, KWORKER, $queuer)->run(0, $t + 0.01, $t + 0.05, KWORKER, 'idle')
		->kernel(0, $t + 0.02, 'work_start', tid => KWORKER, %w);
	$s->wake(0, $t + 0.03, $wakee, KWORKER, $stack)
		->kernel(0, $t + 0.04, 'work_end', tid => KWORKER, %w);
	return $s;
}

# --- A terminal in a terminal hands the line to a shell, and the shell's command asks a service.
# The outer terminal and the inner one have shown the line long before. Or the shell made the
# command for its own clock.
sub in_a_terminal {
	my (%o) = @_;
	my $s = stopped(story());
	$s->enter(1000)->run(1, 1000.25, 1000.5, CLIENT, 'sleeping');
	brings($s, 1000.4, CLIENT, MUX, 'epoll')->run(1, 1000.6, 1000.8, MUX, 'sleeping');
	if (!$o{clock}) {
		brings($s, 1000.7, MUX, SHELL, 'tty')->run(1, 1000.9, 1001.5, SHELL, 'sleeping')
			->kernel(1, 1001.3, 'fork', tid => SHELL, child_tid => 870, child_pid => 870);
		brings($s, 1001,   SHELL, MUX,    'epoll')->run(1, 1001.6, 1001.8, MUX, 'sleeping');
		brings($s, 1001.7, MUX,   CLIENT, 'poll');
	} else {
		brings($s, 1000.75, MUX, CLIENT, 'poll');
	}
	$s->run(1, 1001.9, 1002.2, CLIENT, 'sleeping')->draw(1002.1);
	if ($o{clock}) {
		$s->wake(1, 1003, SHELL, 0, 'nanosleep', context => 'hardirq')
			->run(1, 1003.1, 1004, SHELL, 'sleeping')
			->kernel(1, 1003.5, 'fork', tid => SHELL, child_tid => 870, child_pid => 870);
	}
	$s->builder->thread(870, 'asker', ppid => SHELL, ts_ns => ns($o{clock} ? 1003.5 : 1001.3));
	$s->run(1, 1004.1, 1005, 870, 'sleeping');
	$s->wake(1, 1390.8, 870, SERVICE, 'poll')->run(1, 1391.1, 1391.5, 870, 'dead');
	brings($s, 1391.3, 870, MUX,    'epoll')->run(1, 1391.6, 1391.9, MUX, 'sleeping');
	brings($s, 1391.8, MUX, CLIENT, 'poll')->run(1, 1392, 1393, CLIENT, 'sleeping')->draw(1392.8);
	return $s->picture(CLIENT, 'xterm', since_ns => ns(1393), stack_id => $s->id('poll'))
		->hotkey(3000);
}
my $d = judged(
	'a command in a terminal in a terminal', in_a_terminal(), 'stopped', 'service', 0.95,
	1
);
ends($d, 393, '... from the key to what the client drew');
judged('a command that the clock began', in_a_terminal(clock => 1), 'none', undef);

# --- A program at a terminal echoes the line, and then asks a service, without coming back to where
# it waits for lines. Or it does come back, and waits there for somebody else.
sub echoes_then_asks {
	my (%o) = @_;
	my $s = stopped(story());
	$s->enter(1000)->run(1, 1000.25, 1000.5, CLIENT, 'sleeping');
	brings($s, 1000.4, CLIENT, SHELL,  'tty')->run(1, 1000.6, 1001.2, SHELL, 'sleeping');
	brings($s, 1000.9, SHELL,  CLIENT, 'poll')->run(1, 1001.3, 1001.6, CLIENT, 'sleeping')
		->draw(1001.5);
	$s->wake(0, 1200, SHELL, 600, 'tty')->run(1, 1200.1, 1200.2, SHELL, 'sleeping') if $o{back};
	$s->wake(1, 1390.8, SHELL, SERVICE, 'unix')->run(1, 1391.1, 1391.5, SHELL, 'sleeping');
	brings($s, 1391.3, SHELL, CLIENT, 'poll')->run(1, 1391.6, 1392.8, CLIENT, 'sleeping')
		->draw(1392.6);
	return $s->picture(CLIENT, 'xterm', since_ns => ns(1392.8), stack_id => $s->id('poll'))
		->hotkey(3000);
}
$d = judged('an echo, then a question', echoes_then_asks(), 'stopped', 'service', 0.95, 1);
ends($d, 393, '... from the key to the answer');
judged('one that has come back since', echoes_then_asks(back => 1), 'none', undef);

# --- The client hands its keys to an input method, which waits for a service. When that answers,
# the server is awake for a client that looks at the screen, and the method has it tell the client.
sub by_an_awake_server {
	my (%o)   = @_;
	my $s     = stopped(story());
	my $tells = sub {
		my ($t, $pid, $client, $to, $of) = @_;
		$s->builder->x(
			ns($t), 'x_request', pid => $pid, client => $client, duration_ns => 20_000,
			major => 25, sequence => 1, count => 1
		)->x(
			ns($t + 0.01), 'x_deliver', kind => 'other', pid => $to, client => $of,
			x_type => 33
		);
	};
	$s->enter(1000)->run(1, 1000.25, 1000.5, CLIENT, 'sleeping');
	$s->wake(1, 1000.4, SERVER, CLIENT, 'epoll')->run(0, 1000.45, 1000.6, SERVER, 'sleeping');
	$tells->(1000.5, CLIENT, 4, IM, 7);
	$s->wake(0, 1000.55, IM, SERVER, 'poll')->run(1, 1000.7, 1001, IM, 'sleeping')
		if !$o{not_asked};
	# The watcher has the server busy from 1390.5 to 1392.
	$s->wake(1, 1390, WATCHER, 0, 'nanosleep', context => 'hardirq')
		->run(0, 1390.2, 1390.6, WATCHER, 'sleeping')->wake(0, 1390.5, SERVER, WATCHER, 'epoll')
		->run(0, 1390.7, 1392,   SERVER,  'sleeping');
	$s->wake(1, 1390.8, IM, SERVICE, 'unix')->run(1, 1391.1, 1391.4, IM, 'sleeping');
	$tells->(1391.5, IM, 7, CLIENT, 4);
	$s->wake(0, 1391.52, CLIENT, SERVER, 'poll')->run(1, 1391.6, 1393, CLIENT, 'sleeping')
		->draw(1392.8);
	return $s->picture(CLIENT, 'xterm', since_ns => ns(1393), stack_id => $s->id('poll'))
		->hotkey(3000);
}
$d = judged(
	'told by a server that is awake for another', by_an_awake_server(), 'stopped', 'service',
	0.9, 1
);
ends($d, 393, '... from the key to what the client drew');
ok(
	!(grep { ($_->{comm} // '') eq 'watcher' } @{ $d->{path} }),
	'... whoever keeps the server awake is not on the path'
);

# --- One thread takes the events and fills a buffer; what does not go into the buffer is sent at
# once, the rest when the reader's clock ticks.
sub to_hand {
	my ($s, $t, $until) = @_;
	return $s->enter($t, no_wake => 1)->wake(0, $t + 0.2, READER, SERVER, 'poll', wakee_cpu => 1)
		->run(1, $t + 0.22, $t + 0.24, READER, 'sleeping')
		->wake(1, $t + 0.23, HAND, READER, 'futex')->run(1, $t + 0.25, $until, HAND, 'sleeping')
		->draw($until - 0.2, HAND);
}

sub in_two_parts {
	my (%o) = @_;
	my $s = story(no_usual => 1);
	to_hand($s, $_, $_ + 2) for 100, 300, 500;
	to_hand($s, 1000, 1400);
	$s->builder->x(
		ns(1400.02), 'x_request', pid => CLIENT, client => 4, duration_ns => 50_000, major => 139,
		sequence => 1, count => 33
	) if !$o{whole};
	$s->wake(0, 1700, READER, 0, 'poll', context => 'hardirq', wakee_cpu => 0)
		->run(0, 1700.1, 1700.43, READER, 'sleeping')->draw(1700.4, READER);
	return $s->picture(CLIENT, 'xterm', since_ns => 2 * MS, stack_id => $s->id('futex'))
		->picture(HAND, 'events', pid => CLIENT, since_ns => ns(1400), stack_id => $s->id('futex'))
		->hotkey(3000);
}
$d = judged('sent in two parts', in_two_parts(), 'app-compute', 'xterm', 0.5, 0.6);
ends($d, 700.6, '... up to the second');
$d = judged(
	'sent in one part, and a clock ticks later', in_two_parts(whole => 1), 'app-compute',
	'xterm',                                     0.99,                     1
);
ends($d, 400, '... up to that part');

# --- An answer at once; then a timer has a helper of the client do something: the client's timer,
# or that of one of the helper's two threads, which also asks the client. Whoever types let go of
# the key in between: the server was awake for that, and nobody waits for who types.
sub by_a_timer {
	my (%o) = @_;
	my $s = story();
	$s->builder->thread(TASKS, 'tasks', pid => IM, ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')->draw(1000.8);
	$s->wake(1, 1065.8, WATCHER, 0, 'nanosleep', context => 'hardirq')
		->run(1, 1065.9,  1066.2, WATCHER, 'sleeping')->wake(1, 1066, SERVER, WATCHER, 'epoll')
		->run(0, 1066.05, 1066.3, SERVER,  'sleeping');
	my %key = (input_seq => 90, kind => 'key_release');
	$s->builder->x(ns(1066.06), 'x_wakeup')->x(ns(1066.1), 'x_device', %key, device => 6)
		->x(ns(1066.11), 'x_device',  %key, device => 3, is_master => 1)
		->x(ns(1066.15), 'x_deliver', %key, pid    => CLIENT, client => 4, x_type => 3)
		->x(ns(1066.28), 'x_sleep');
	$s->wake(0, 1066.2, CLIENT, SERVER, 'poll')->run(1, 1066.3, 1066.6, CLIENT, 'sleeping')
		->wake(1, 1066.5, IM, CLIENT, 'epoll');

	if ($o{helper}) {
		$s->run(0, 1066.6, 1066.8, IM, 'sleeping')->wake(0, 1066.7, TASKS, IM, 'futex')
			->run(1, 1066.9, 1067.2, TASKS, 'sleeping');
		for my $t (1166, 1266, 1366, 1466) {
			my $done = $t == 1466 ? 1540.5 : $t + 0.4;
			$s->wake(1, $t, TASKS, 0, 'futex', context => 'hardirq')
				->run(1, $t + 0.1, $done, TASKS, 'sleeping')
				->wake(1, $done - 0.1, CLIENT, TASKS, 'poll')
				->run(1, $done + 0.1, $done + 0.4, CLIENT, 'sleeping')
				->wake(1, $done + 0.3, IM, CLIENT, 'epoll');
			next if $t == 1466;
			$s->run(0, $done + 0.4, $done + 0.6, IM, 'sleeping')
				->wake(0, $done + 0.5, TASKS, IM, 'futex')
				->run(1, $done + 0.7, $done + 0.9, TASKS, 'sleeping');
		}
	} else {
		$s->run(0, 1066.6, 1066.8, IM, 'sleeping')
			->wake(1, 1540.8, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, 1540.85, 1541, CLIENT, 'sleeping')->wake(1, 1540.9, IM, CLIENT, 'epoll');
	}
	$s->run(0, 1541, 1541.6, IM, 'sleeping')->wake(0, 1541.5, CLIENT, IM, 'poll')
		->run(1, 1541.7, 1543, CLIENT, 'sleeping')->draw(1542.8);
	return $s->picture(CLIENT, 'xterm', since_ns => ns(1543), stack_id => $s->id('poll'))
		->hotkey(3000);
}
judged('what a timer has a helper do',    by_a_timer(),            'none', undef);
judged('what a timer of the helper does', by_a_timer(helper => 1), 'none', undef);

# --- In the midst of its work a thread of the runtime stops all others for a moment: its own timer
# had woken that long before. It naps until they have stopped.
for my $ms (0.4, 2) {
	my $s = story(no_usual => 1);
	to_hand($s, $_, $_ + 2) for 100, 300, 500;
	$s->enter(1000, no_wake => 1)->wake(0, 1000.2, READER, SERVER, 'poll', wakee_cpu => 1)
		->run(1, 1000.22, 1000.24, READER, 'sleeping')->wake(1, 1000.23, HAND, READER, 'futex')
		->run(1, 1000.25, 1300,    HAND,   'sleeping');
	$s->wake(0, 1250, PACER, 0, 'futex', context => 'hardirq', wakee_cpu => 0)
		->run(0, 1250.1, 1299.5, PACER, 'sleeping');
	my $end = 1300 + $ms;
	# Its last nap is the wait for those that others keep from a CPU.
	$s->wake(0, $end - 0.3, PACER, 0, 'futex', context => 'hardirq', wakee_cpu => 0)
		->run(0, $end - 0.25, $end, PACER, 'sleeping')->wake(0, $end - 0.1, HAND, PACER, undef)
		->run(1, $end,        1400, HAND,  'sleeping')->draw(1399.8, HAND)->hotkey(3000);
	$s->picture(CLIENT, 'xterm', since_ns => 2 * MS, stack_id => $s->id('futex'))
		->picture(HAND, 'events', pid => CLIENT, since_ns => ns(1400), stack_id => $s->id('futex'));
	ends(
		judged("stopped by its runtime for $ms ms", $s, 'app-compute', 'xterm', 0.9, 1),
		400, '... from the key to the answer'
	);
}

# --- The program computes, and then has a thread pace frames. The first of them waited for a timer
# that others set, too; the next ones tell that the key made them come. Or the client rests first,
# and a timer makes it draw, and have frames paced.
sub frames {
	my (%o)   = @_;
	my $s     = story();
	my $ticks = sub {
		my ($tid, @at) = @_;
		$s->wake(0, $_, $tid, 0, 'futex', context => 'hardirq', wakee_cpu => 0)
			->run(0, $_ + 0.1, $_ + 0.2, $tid, 'sleeping')
			for @at;
	};
	$ticks->(READER, map { 550 + 50 * $_ } 0 .. 8);
	$ticks->(PACER, 612, 662);
	$s->enter(1000)->run(1, 1000.25, 1500, CLIENT, 'sleeping');
	$s->wake(1, 1482, READER, CLIENT, 'futex', wakee_cpu => 0)
		->run(0, 1482.1, 1482.2, READER, 'sleeping');
	my $t     = $o{rests} ? 3500     : 1535;
	my $begin = $o{rests} ? $t + 0.8 : 1499;
	my $paces = sub {
		$s->wake(1, $begin, PACER, CLIENT, 'futex', wakee_cpu => 0)
			->run(0, $begin + 0.1, $begin + 0.2, PACER, 'sleeping');
	};
	$paces->() if !$o{rests};
	$ticks->(PACER, 1516, 1532) if !$o{rests};
	$ticks->(READER, $t);
	$s->wake(0, $t + 0.15, CLIENT, READER, 'poll')->run(1, $t + 0.3, $t + 1.2, CLIENT, 'sleeping');
	$paces->() if $o{rests};
	$s->draw($t + 1);
	$t += $o{rests} ? 17 : 13;
	$ticks->(PACER, $t);
	$s->wake(0, $t + 0.15, CLIENT, PACER, 'poll')->run(1, $t + 0.3, $t + 2.2, CLIENT, 'sleeping')
		->draw($t + 2);
	return $s->picture(CLIENT, 'xterm', since_ns => ns($t + 2.2), stack_id => $s->id('poll'))
		->hotkey(4500);
}
$d = judged('frames, the first of which waited besides', frames(), 'app-compute', 'xterm', 0.9, 1);
ends($d, 550.2, '... up to the frame that it made come');
ends(
	judged('frames that a timer began', frames(rests => 1), 'app-compute', 'xterm', 0.9, 1),
	500, '... until the client is free'
);

# --- The first frame comes at once, and one of the next ones a while later: an animation stutters.
# Only after a long silence it is the answer.
sub stutters {
	my ($ms) = @_;
	my $s    = story();
	my $tick = sub {
		my ($t) = @_;
		$s->wake(0, $t, PACER, 0, 'futex', context => 'hardirq', wakee_cpu => 0)
			->run(0, $t + 0.1, $t + 0.2, PACER, 'sleeping');
	};
	$tick->($_) for 612, 662;
	$s->enter(1000)->run(1, 1000.25, 1020, CLIENT, 'sleeping')->draw(1019);
	$s->wake(1, 1018, PACER, CLIENT, 'futex', wakee_cpu => 0)
		->run(0, 1018.1, 1018.2, PACER, 'sleeping');
	$tick->(1034);
	$s->wake(0, 1034.15, CLIENT, PACER, 'poll')->run(1, 1034.3, 1034 + $ms, CLIENT, 'sleeping')
		->draw(1033 + $ms);
	return $s->picture(CLIENT, 'xterm', since_ns => ns(1034 + $ms), stack_id => $s->id('poll'))
		->hotkey(4500);
}
judged('an animation that stutters after the answer', stutters(150), 'none', undef);
ends(
	judged('... for long', stutters(400), 'app-compute', 'xterm', 0.9, 1),
	433, '... is the answer'
);

is_deeply(\@warnings, [], 'no warnings');
done_testing();
