#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Programs that show an answer only when a clock of their own has ticked: they pace what they draw,
# in one step or in several; or another thread of theirs sends now and then what was prepared. And
# beside each of them the scene that looks alike, where the clock has nothing to do with the key.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged ends);
use Tipme::Test::Story;

use constant {
	SERVER  => 100, CLIENT => 200, READER => 201, HAND => 202, TIMER => 203, COMPILER => 204,
	SERVICE => 500, BUS    => 510, MS     => 1_000_000
};
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub ns { return Tipme::Test::Story::ns($_[0]) }

sub story {
	return Tipme::Test::Story->with_threads(
		[ [ READER,  'reader' ],  [ HAND, 'events' ], [ TIMER, 'timers' ] ],
		[ [ SERVICE, 'service' ], [ BUS,  'bus' ],    [ 600,   'bash' ] ],
		trigger => 8000,
		@_
	);
}

# The client sleeps until its own timer ends that, for a moment.
sub tick {
	my ($s, $t) = @_;
	return $s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 0.1, $t + 0.5, CLIENT, 'sleeping');
}

# --- It asks a service, which is slow; then it lets two short times go by before it draws.
sub paced {
	my (@ms) = @_;
	my $s = story();
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9, SERVICE, CLIENT,  'poll')->run(0, 1001, 1600,   SERVICE, 'sleeping')
		->wake(0, 1599.9, CLIENT,  SERVICE, 'poll')->run(1, 1600, 1600.5, CLIENT,  'sleeping');
	my $t = 1600;
	tick($s, $t += $_) for @ms;
	$s->draw($t + 0.4);
	$s->picture(CLIENT, 'xterm', since_ns => ns($t + 0.5), stack_id => $s->id('poll'));
	return $s->hotkey(3000);
}
for my $ms ([25], [ 10, 15 ], [ 8, 8, 16 ]) {
	my $d =
		judged("an answer after @$ms ms of its own", paced(@$ms), 'ipc-wait', 'service', 0.9, 1);
	my $all = 600.6;
	$all += $_ for @$ms;
	ends($d, $all, '... up to what it drew');
}
judged('a clock that ticks later', paced(400), 'none', undef);
judged(
	'a clock that ticks again and again, for longer than a frame', paced((30) x 8), 'none',
	undef
);

# --- It was stopped, and paces what it draws then.
{
	my $s = story();
	$s->wake(0, 900, CLIENT, 600, 'poll')->run(1, 900.1, 900.2, CLIENT, 'stopped')
		->run(0, 899.9,  900.3,  600,    'sleeping')->enter(1000, no_wake => 1)
		->run(0, 1349.9, 1350.3, 600,    'sleeping')->wake(0, 1350, CLIENT, 600)
		->run(1, 1350.1, 1351,   CLIENT, 'sleeping');
	tick($s, $_) for 1361, 1376;
	$s->draw(1376.4)->hotkey(3000);
	$s->picture(CLIENT, 'xterm', since_ns => ns(1376.5), stack_id => $s->id('poll'));
	ends(
		judged('stopped, then paced', $s, 'stopped', 'xterm', 0.9, 1), 376.6,
		'... to what it drew'
	);
}

# --- A thread reads what the server sends, and another one takes the events. That one only fills a
# buffer; the reader sends it when its clock ticks.
sub key_to_hand {
	my ($s, $t, $until, %o) = @_;
	$s->enter($t, no_wake => 1)->wake(0, $t + 0.2, READER, SERVER, 'poll', wakee_cpu => 1)
		->run(1, $t + 0.22, $t + 0.24, READER, 'sleeping');
	# The reader has a compiler look first, and the one that takes the event does so, too.
	compiles($s, $t + 0.225, READER) if $o{compiler};
	$s->wake(0, $t + 0.8, READER, COMPILER, 'futex')
		->run(0, $t + 0.85, $t + 0.9, READER, 'sleeping')
		if $o{back};
	$s->wake(1, $t + 0.23, HAND, READER, 'futex')->run(1, $t + 0.25, $until, HAND, 'sleeping');
	compiles($s, $t + 1, HAND) if $o{compiler};
	return $s;
}

sub compiles {
	my ($s, $t, $by) = @_;
	return $s->wake(1, $t, COMPILER, $by, 'futex', wakee_cpu => 0)
		->run(0, $t + 0.1, $t + 0.6, COMPILER, 'sleeping');
}

# The server tells the reader something that nobody else has to know.
sub hears {
	my ($s, $t) = @_;
	return $s->wake(0, $t, SERVER, 0, 'epoll', context => 'hardirq')
		->run(0, $t + 0.05, $t + 0.3, SERVER, 'sleeping')
		->wake(0, $t + 0.2, READER, SERVER, 'poll', wakee_cpu => 1)
		->run(1, $t + 0.22, $t + 0.24, READER, 'sleeping');
}

sub reader_ticks {
	my ($s, $t, $draws) = @_;
	$s->wake(0, $t, READER, 0, 'poll', context => 'hardirq', wakee_cpu => 0)
		->run(0, $t + 0.1, $t + 0.43, READER, 'sleeping');
	return $draws ? $s->draw($t + 0.4, READER) : $s;
}

# What the reader has sent takes the server 3 ms before it comes to what is drawn; a clock of
# another thread ticks meanwhile.
sub long_buffer {
	my ($s, $t) = @_;
	$s->wake(0, $t, READER, 0, 'poll', context => 'hardirq', wakee_cpu => 1)
		->run(1, $t + 0.1, $t + 0.43, READER, 'sleeping')
		->wake(1, $t + 0.4, SERVER, READER, 'epoll')
		->run(0, $t + 0.45, $t + 3.9, SERVER, 'sleeping');
	$s->wake(1, $t + 1, TIMER, 0, 'futex', context => 'hardirq')
		->run(1, $t + 1.1, $t + 1.2, TIMER, 'sleeping');
	my %of = (pid => CLIENT, client => 4, count => 1);
	my $b  = $s->builder;
	$b->x(ns($t + 0.46), 'x_wakeup');
	$b->x(ns($t + 0.5),  'x_request', %of, duration_ns => 3 * MS,  major => 139, sequence => 1);
	$b->x(ns($t + 3.5),  'x_request', %of, duration_ns => MS / 10, major => 74,  sequence => 2);
	$b->x(
		ns($t + 3.6),  'x_damage',
		pid => CLIENT, client => 4, major => 74, width => 6, height => 13
	);
	$b->x(ns($t + 3.8), 'x_sleep');
	return $s;
}

sub sent_later {
	my (%o) = @_;
	my $s = story(no_usual => 1);
	$s->builder->thread(COMPILER, 'compiler', pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS)
		if $o{compiler};
	for my $t (100, 300, 500) {
		key_to_hand($s, $t, $t + 2, %o);
		hears($s, $t + 10) if $o{hears};
		reader_ticks($s, $t + 20, 1);
	}
	reader_ticks($s, $_, $o{draws_itself}) for 650, 750, 850, 950;
	key_to_hand($s, 1000, $o{sleeps} ? 1002 : 1400, %o);
	if ($o{sleeps}) {
		$s->enter(1080, kind => 'key_release', no_wake => 1)
			->wake(0, 1080.2, READER, SERVER, 'poll', wakee_cpu => 1)
			->run(1, 1080.22, 1080.24, READER, 'sleeping')
			->wake(1, 2394, HAND, 0, 'futex', context => 'hardirq')
			->run(1, 2394.1, 2395.5, HAND, 'sleeping');
		# It waits now and then for another of its threads before it is done.
		for my $t (2395 .. 2399) {
			compiles($s, $t, HAND);
			$s->wake(1, $t + 0.6, HAND, COMPILER, 'futex')
				->run(1, $t + 0.65, $t + ($t < 2399 ? 0.9 : 1), HAND, 'sleeping');
		}
	}
	my $done = $o{sleeps} ? 2400 : 1400;
	reader_ticks($s, $done - 250);
	if ($o{long}) { long_buffer($s, $done + 250) }
	else          { reader_ticks($s, $done + 250, 1) }
	$s->hotkey(4000);
	my $futex = $s->id('futex');
	return $s->picture(CLIENT, 'xterm', since_ns => 2 * MS, stack_id => $futex)
		->picture(HAND, 'events', pid => CLIENT, since_ns => ns($done), stack_id => $futex);
}
my $d = judged('sent when a clock ticks', sent_later(), 'app-compute', 'xterm', 0.6, 0.62);
ends($d, 650.6, '... up to what the server got then');
my ($sleep) = grep { $_->{blamed}{kind} eq 'timer-sleep' } @{ $d->{path} };
cmp_ok(
	abs($sleep->{to_ns} - $sleep->{from_ns} - 250 * MS), '<', MS,
	'... of which its clock took the rest'
);
ends(
	judged(
		'... where the reader has heard of something else', sent_later(hears => 1), 'app-compute',
		'xterm',                                            0.6,                    0.62
	),
	650.6,
	'... up to what the server got then'
);
ends(
	judged(
		'... beside a compiler that both have look', sent_later(compiler => 1), 'app-compute',
		'xterm',                                     0.6,                       0.62
	),
	650.6,
	'... up to what the server got then'
);
ends(
	judged(
		'... which once wakes the one that reads', sent_later(compiler => 1, back => 1),
		'app-compute', 'xterm', 0.6, 0.62
	),
	650.6,
	'... up to what the server got then'
);
ends(
	judged(
		'... which keeps the server for a while, when another clock ticks',
		sent_later(long => 1), 'app-compute', 'xterm', 0.6, 0.62
	),
	653.6,
	'... up to what the server drew then'
);
ends(
	judged(
		'... where the one that takes the event sleeps', sent_later(sleeps => 1, compiler => 1),
		'timer-sleep',
		'xterm', 0.95, 1
	),
	1650.6,
	'... up to what the server got then'
);
$d = judged(
	'a thread that draws by a clock', sent_later(draws_itself => 1), 'app-compute', 'xterm',
	0.99, 1
);
ends($d, 400, '... is not waited for: until the client is free');

# --- A moment after the key another thread, which has the timers, has the one that takes events
# compute; by the clock, it does so at other times, too.
sub by_a_thread {
	my (%o) = @_;
	my $s = story(no_usual => 1);
	for my $t (100, 300, 500) { key_to_hand($s, $t, $t + 2)->draw($t + 1.8, HAND) }
	$s->wake(1, $_, TIMER, 0, 'futex', context => 'hardirq')
		->run(1, $_ + 0.1, $_ + 0.2, TIMER, 'sleeping')
		for 550, 600, 650, 700, 750;
	my $works = sub {
		my ($t) = @_;
		$s->wake(1, $t, TIMER, 0, 'futex', context => 'hardirq')
			->run(1, $t + 0.1, $t + 0.3, TIMER, 'sleeping')
			->wake(1, $t + 0.2, HAND, TIMER, 'futex')->run(1, $t + 0.4, $t + 500, HAND, 'sleeping')
			->draw($t + 499.8, HAND);
	};
	key_to_hand($s, 1000, 1002);
	$s->wake(1, 1001.8, TIMER, HAND, 'futex')->run(0, 1001.9, 1002.1, TIMER, 'sleeping');
	$works->(1152);
	if ($o{clock}) { $works->($_) for 4150, 5150 }
	$s->hotkey(7000);
	return $s->picture(CLIENT, 'xterm', since_ns => 2 * MS, stack_id => $s->id('futex'));
}
$d = judged(
	'a search that a thread begins a moment after the key', by_a_thread(), 'app-compute',
	'xterm',                                                0.7,           0.8
);
ends($d, 652, '... from the key to what it found');
judged('a thread that has it compute by the clock', by_a_thread(clock => 1), 'unknown', undef);

# --- A thread that waits for its events in a futex sleeps in one for a time, too: nobody kept it.
sub sleeps_then {
	my (%o) = @_;
	my $s = story(no_usual => 1);
	for my $t (100, 300, 500) { key_to_hand($s, $t, $t + 2)->draw($t + 1.8, HAND) }
	key_to_hand($s, 1000, 1001);
	$s->wake(1, 1900, HAND, 0, 'futex', context => 'hardirq')
		->run(1, 1900.1, 1902, HAND, 'sleeping')->draw(1901.8, HAND);
	$s->enter(1080, kind => 'key_release', no_wake => 1)
		->wake(0, 1080.2, READER, SERVER, 'poll', wakee_cpu => 1)
		->run(1, 1080.22, 1080.24, READER, 'sleeping');
	$s->hotkey(3000);
	return $s->picture(CLIENT, 'xterm', since_ns => 2 * MS, stack_id => $s->id('futex'))
		->picture(HAND, 'events', pid => CLIENT, since_ns => ns(1902), stack_id => $s->id('futex'));
}
$d = judged('a sleep in a futex', sleeps_then(), 'timer-sleep', 'xterm', 0.99, 1);
like(
	$d->{verdict}{sentence},
	qr/it was waiting for another of its threads until a time that it chose \(futex\)\.$/,
	'... the sentence'
);

# --- A service is asked over a bus and never answers, and the client looks by the clock for its
# answer until it gives up (Emacs).
sub looks_by_the_clock {
	my (%o)  = @_;
	my $s    = story(no_usual => 1);
	my $naps = sub {
		my ($from, $to, $last) = @_;
		my ($t, $nap) = ($from, 5);
		while ($t + $nap < $to) {
			$t += $nap;
			$s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
				->run(1, $t + 0.1, $t + 0.3, CLIENT, 'sleeping');
			$t   += 0.3;
			$nap *= 1.05;
		}
		return $t;
	};
	$s->key($_, 3) for 600, 700;
	$naps->(705, 990) if $o{always};
	$s->wake(1, $_, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $_ + 0.1, $_ + 0.3, CLIENT, 'sleeping')
		for $o{seldom} ? map { 640 + 40 * $_ } 2 .. 8 : ();
	my $asks = $o{asks} // 1;
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	# Or the service was stopped before.
	$s->wake(0, 900, SERVICE, 600, 'poll')->run(1, 900.1, 900.2, SERVICE, 'stopped')
		->run(0, 899.9,   900.3,  600, 'sleeping')->wake(1, 1000.9, BUS, CLIENT, 'epoll')
		->run(0, 1000.95, 1001.1, BUS, 'sleeping')
		if $o{stopped};
	$s->wake(1, 1000.9, BUS, CLIENT, 'epoll')->run(0, 1000.95, 1001.1, BUS, 'sleeping')
		->wake(0, 1001.05, SERVICE, BUS, 'epoll')
		->run(0, 1001.2, 1002, SERVICE, $o{done} || $o{brought} ? 'runnable' : 'sleeping')
		if $asks && !$o{stopped};
	my ($gap, $t) = ($o{long} // 12, $naps->(1001, $o{long} ? 1900 : 1500));
	$t += $gap + 2 + ($o{late} // 6);
	# Or the service has done it, and the next look finds that.
	$s->run(0, 1002, $t - 3, SERVICE, 'sleeping') if $o{done};
	# Or what it brings ends a nap, over the bus, and is looked at when the next one is over.
	if (my $c = $o{stopped} ? $t - $gap - 2 : 0) {
		$s->run(0, $c - 0.1, $c + 0.05, 600, 'sleeping')->wake(0, $c, SERVICE, 600)
			->run(1, $c + 0.1, $c + 1, SERVICE, 'sleeping')
			->wake(1, $c + 0.9, BUS, SERVICE, 'epoll')->run(1, $c + 1.1, $c + 1.4, BUS, 'sleeping')
			->wake(1, $c + 1.3, CLIENT, BUS,  'poll')
			->run(1, $c + 1.5, $c + 1.8, CLIENT, 'sleeping');
	} elsif (my $by = $o{brought}) {
		$s->wake(
			0, $t - $gap - 0.1, $by,
			$by == BUS ? (SERVICE, 'epoll') : (0, 'nanosleep', context => 'hardirq')
		)->run(1, $t - $gap, $t - $gap + 0.2, $by, 'sleeping');
		$s->wake(1, $t - $gap + 0.1, CLIENT, $by, 'poll')
			->run(1, $t - $gap + 0.3, $t - $gap + 0.4, CLIENT, 'sleeping');
		$s->run(0, 1002, $t - $gap + 0.5, SERVICE, 'sleeping');
	}
	$s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 0.1, $t + 3, CLIENT, 'sleeping')->draw($t + 2.8)->hotkey(3500);
	return $s->picture(CLIENT, 'xterm', since_ns => ns($t + 3), stack_id => $s->id('poll'));
}
$d = judged(
	'nobody answers one who looks by the clock', looks_by_the_clock(), 'time-out',
	'service',                                   0.9,                  1
);
is($d->{interval}{certainty}, 'inferred', '... inferred');
judged(
	'one who looks by the clock finds the answer', looks_by_the_clock(done => 1), 'ipc-wait',
	'service',                                     0.9,                           1
);
judged(
	'an answer comes in the midst of a nap, and is looked at when it is over',
	looks_by_the_clock(brought => BUS), 'ipc-wait', 'service', 0.9, 1
);
judged(
	'... before a nap that is long, by one that was stopped',
	looks_by_the_clock(stopped => 1, long => 60),
	'stopped', 'service', 0.8, 1
);
# The nap that the answer ends is itself longer than one in which a look finds what was done.
judged(
	'... late in a long nap, by one that was stopped',
	looks_by_the_clock(stopped => 1, long => 31, late => 60),
	'stopped', 'service', 0.8, 1
);
judged(
	'... somebody who was not asked ends a nap', looks_by_the_clock(brought => 600), 'none',
	undef
);
judged(
	'... and its timers came now and then before', looks_by_the_clock(seldom => 1), 'time-out',
	'service',                                     0.9,                             1
);
judged('one who looks by the clock all the time', looks_by_the_clock(always => 1), 'none', undef);
judged(
	'one who looks by the clock, and asked nobody', looks_by_the_clock(asks => 0), 'none',
	undef
);

is_deeply(\@warnings, [], 'no warnings');
done_testing();
