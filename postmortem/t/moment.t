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

use constant { CLIENT => 200, SERVICE => 500, MS => 1_000_000 };

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
	if ($o{key}) { $by_timer->($t + $_, 1) for 16, 32, 48 }
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
	judged("... and does so without a key, too", story(%o, clock => 1), 'none', undef);
	judged("... and has looked at the clock before", story(%o, ticks => 1), 'none', undef);
}

# What it does then is to ask somebody who never answers: once for the key, or by the clock as well.
sub asks_in_vain {
	my ($s, $t) = @_;
	$s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 0.1, $t + 1, CLIENT, 'sleeping')->wake(1, $t + 0.9, SERVICE, CLIENT, 'epoll')
		->run(0, $t + 1, $t + 2, SERVICE, 'sleeping')
		->wake(1, $t + 600, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 600.1, $t + 603, CLIENT, 'sleeping');
	return $s->draw($t + 602.8);
}
for my $clock (0, 1) {
	my $s = Tipme::Test::Story->new(trigger => 8000);
	$s->builder->thread(SERVICE, 'service', ts_ns => 5 * MS, since_ns => 2 * MS);
	asks_in_vain($s->key(2000, 3), 2150);
	asks_in_vain($s, 5000) if $clock;
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
done_testing();
