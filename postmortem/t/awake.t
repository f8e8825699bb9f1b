#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Whom the client asks is awake already, for another reason, and is not woken for that: the records
# of wake-ups do not show who had it work.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, SERVICE => 500, WORKER => 201, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
sub ns { return Tipme::Test::Story::ns($_[0]) }

sub story { return Tipme::Test::Story->with_service(@_) }

my $d;
# --- a long answer of two parts, between which the client never rests ---
# It asks a server that another's clock had woken, and that was serving its request when it fell
# asleep.
sub in_two_parts {
	my (%o) = @_;
	my ($watcher, $hog) = (610, 901);
	my $s = story();
	my $b = $s->builder->thread($watcher, 'watcher', ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread($hog, 'hog', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000)->run(1, 1000.25, 1264.95, CLIENT, 'sleeping')->draw(1259.8);
	$s->wake(0, 1262, $watcher, 0, 'poll', context => 'hardirq')
		->run(0, 1262.1, 1262.25, $watcher, 'sleeping')->wake(0, 1262.2, SERVER, $watcher, 'epoll');
	$b->x(ns(1262.31), 'x_wakeup')->x(
		ns(1262.35), 'x_request', pid => $watcher, client => 6, duration_ns => 100_000,
		major => 43, sequence => 1, count => 1
	);
	$s->run(0, 1262.3, 1262.5, SERVER, 'runnable', preempted => 1, next => $hog);
	$b->switch(0, ns(1270), $hog, SERVER, 'runnable', prev_preempted => 1);
	# It serves one request, and begins the next one, which takes long: it loses its CPU meanwhile.
	my $until = $o{rests} ? 1270.4 : 1500.1;
	$b->x(
		ns(1270.1), 'x_request', pid => CLIENT, client => 4, duration_ns => 50_000, major => 43,
		sequence => 2, count => 1
	)->x(
		ns(1270.2), 'x_request', pid => CLIENT, client => 4,
		duration_ns => ns($until) - ns(1270.2), major => 131, sequence => 3, count => 1
	);
	$s->wake(0, 1270.15, CLIENT, SERVER, 'poll')->run(1, 1270.6, 1280, CLIENT, 'sleeping');
	if ($o{rests}) {
		$b->x(ns(1270.45), 'x_sleep')->switch(0, ns(1270.5), SERVER, 0, 'sleeping');
		$s->run(0, 1271, 1480, $hog, 'sleeping')
			->wake(1, 1500.15, CLIENT, 0, 'poll', context => 'hardirq');
	} else {
		$b->switch(0, ns(1270.5), SERVER, $hog, 'runnable', prev_preempted => 1)
			->switch(0, ns(1500), $hog, SERVER, 'runnable', prev_preempted => 1)
			->switch(0, ns(1500.5), SERVER, 0, 'sleeping')->x(ns(1500.45), 'x_sleep');
		$s->wake(0, 1500.15, CLIENT, SERVER, 'poll');
	}
	$s->run(1, 1500.6, 1502, CLIENT, 'sleeping')->draw(1501.8);
	return $s->hotkey(3000)->polls(1502);
}
for my $rests (0, 1) {
	$d = judged(
		$rests
		? 'what the clock of a client at rest draws after a long answer'
		: 'a long answer of two parts', in_two_parts(rests => $rests), 'app-compute', 'xterm',
		$rests ? (0.95, 1) : (0.5, 0.56)
	);
	cmp_ok(
		abs($d->{interval}{duration_ns} - ($rests ? 260 : 502) * MS), '<', MS,
		'... up to what it drew ' . ($rests ? 'before that' : 'last')
	);
}
# --- a client and one that draws for it were frozen ---
# The client asks that one, which has been thawed but has no CPU yet. Later a clock of that one has
# a cursor blink.
sub blinks_elsewhere {
	my (%o) = @_;
	my $s = story();
	$s->builder->thread(501, 'painter', pid => SERVICE, ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(901, 'hog', ts_ns => 5 * MS, since_ns => 2 * MS);
	my $draws = sub {
		my ($t) = @_;
		$s->wake(0, $t, CLIENT, SERVICE, 'poll')->run(1, $t + 0.1, $t + 2, CLIENT, 'sleeping')
			->draw($t + 1.8);
	};
	for my $t (550, 650, 750) {
		$s->enter($t)->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping')
			->wake(1, $t + 0.9, SERVICE, CLIENT, 'futex')
			->run(0, $t + 1, $t + 2, SERVICE, 'sleeping');
		$draws->($t + 1.9);
	}
	$s->wake(1, 900, CLIENT, 600, 'poll')->run(1, 900.1, 900.2, CLIENT, 'sleeping')
		->wake(0, 1599.7, 600, 0, 'nanosleep', context => 'hardirq');
	$s->enter(1000, no_wake => 1)->enter(1080, kind => 'key_release', no_wake => 1)
		->run(0, 1599.9, 1600.2, 600, 'runnable', preempted => 1, next => 901);
	$s->wake(0, 1600 + $_->[1], $_->[0], 600, $_->[2])
		for [ CLIENT, 0, 'futex' ], [ WORKER, 0.02, 'futex' ],
		$o{alone} ? () : ([ SERVICE, 0.04, 'futex' ], [ 501, 0.06, 'futex' ]);
	# Awake already, it is not woken for what the client asks.
	$s->run(1, 1600.3, 1602, CLIENT, 'sleeping')->run(1, 1602.1, 1602.2, WORKER, 'sleeping')
		->run(1, 1602.3, 1602.4, 501, 'sleeping');
	$s->wake(0, 1640, SERVICE, 901, 'futex') if $o{alone};
	$s->builder->switch(0, ns(1650), 901,     SERVICE, 'sleeping');
	$s->builder->switch(0, ns(1652), SERVICE, 0,       'sleeping');
	$draws->(1651.9);
	my $t = 1652;
	for my $tick (@{ $o{ticks} }) {
		$t += $tick;
		$s->wake(0, $t, SERVICE, 0, 'futex', context => 'hardirq')
			->run(0, $t + 0.1, $t + 1, SERVICE, 'sleeping');
		$t += 1;
	}
	$draws->($t - 0.1);
	return $s->hotkey(4000)->polls($t + 2);
}
$d = judged(
	'one who draws for a client was frozen with it',
	blinks_elsewhere(ticks => [ 80, 90, 330 ]), 'stopped', 'xterm', 0.9, 0.95
);
cmp_ok(
	abs($d->{interval}{duration_ns} - 654 * MS), '<', MS,
	'... up to its answer, and not to what its clock draws'
);
$d = judged(
	'... it was not: somebody else had it work',
	blinks_elsewhere(ticks => [ 80, 90, 330 ], alone => 1), 'stopped', 'xterm', 0.95, 1
);
is($d->{interval}{busy}, 1, '... up to when the client could take another event');
is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
