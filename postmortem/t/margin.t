#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A verdict names the largest part. Where another is nearly as large, or what is not exact could
# make it so, that is said, and the verdict is not sure.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Report::Text;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

# The client waits WAIT ms for a CPU that `hog` has, then computes for WORK ms; of the wait, OTHER
# ms are another's.
sub two_parts {
	my ($wait, $work, $other) = @_;
	my $s = Tipme::Test::Story->new;
	my $b =
		$s->builder->thread(901, 'hog', ts_ns => 890 * MS)->thread(902, 'miner', ts_ns => 890 * MS);
	my $end = 1000 + $wait;
	if ($other) {
		$s->run(1, 999, $end - $other, 901, 'runnable', preempted => 1, next => 902)->enter(1000);
		$b->switch(1, $end * MS, 902, CLIENT, 'runnable', prev_preempted => 1);
	} else {
		$s->run(1, 999, $end, 901, 'runnable', preempted => 1, next => CLIENT)->enter(1000);
	}
	$b->switch(1, ($end + $work) * MS, CLIENT, 901, 'sleeping');
	return $s->draw($end + $work - 0.1)->hotkey(3000);
}

sub sentence { return $_[0]{verdict}{sentence} =~ s/.*usually 2\.9 ms: //r }

# --- one part is far the larger ---
my $d = judged('clear', two_parts(600, 200), 'cpu-contention', 'hog', 0.7, 0.8);
cmp_ok($d->{verdict}{confidence}, '>', 0.99, 'clear: sure');
unlike($d->{verdict}{sentence}, qr/most likely|nearly/, 'clear: says so');
is($d->{verdict}{second}, undef, 'clear: no second to be named');

# --- two that are nearly equal ---
$d = judged('near', two_parts(430, 400), 'cpu-contention', 'hog', 0.5, 0.55);
my $v = $d->{verdict};
cmp_ok($v->{confidence}, '<', 0.9,  "near: not sure, $v->{confidence}");
cmp_ok($v->{confidence}, '>', 0.5,  'near: but more likely than the other');
cmp_ok($v->{exact},      '>', 0.99, 'near: all of it rests on exact records');
is(
	sentence($d),
	'most likely, for 430 ms (52 %) it waited for a CPU taken by "hog" (pid 901); nearly as long, for 400 ms (48 %) it computed.',
	'near: both are named'
);
is_deeply(
	[ @{ $v->{second} }{qw(kind pid comm)} ], [ 'app-compute', 200, 'xterm' ],
	'near: the second, as data'
);
cmp_ok($v->{second}{ns}, '>=', 399 * MS, 'near: and how long');
like(
	Tipme::Report::Text::page($d),
	qr/^confidence 6\d %: another part is nearly as large; 100 % of the delay measured exactly$/m,
	'near: what the page says of it'
);

# --- the nearer, the less sure; and never less than a guess between two ---
my ($last, @bad) = (2);
for my $lead (200, 80, 60, 40, 20, 2) {
	my $c = judged("lead $lead", two_parts(400 + $lead, 400), 'cpu-contention', 'hog')
		->{verdict}{confidence};
	push @bad, "$lead: $c after $last" if $c > $last || $lead < 80 && $c >= $last || $c < 0.5;
	$last = $c;
}
is("@bad", '', 'the nearer the second, the less sure');

# --- a sleep of one's own, and another's fault that is nearly as large ---
# The client waits for a CPU that `hog` has, then sleeps in its handler for a time that it chose.
sub then_sleeps {
	my ($wait, $sleep) = @_;
	my $s = Tipme::Test::Story->new;
	my $b = $s->builder->thread(901, 'hog', ts_ns => 890 * MS);
	my $t = 1000 + $wait;
	$s->run(1, 999, $t, 901, 'runnable', preempted => 1, next => CLIENT)->enter(1000);
	$b->switch(1, ($t + 1) * MS, CLIENT, 901, 'sleeping');
	$s->wake(1, $t + 1 + $sleep, CLIENT, 0, 'nanosleep', context => 'hardirq');
	$t += 1 + $sleep;
	return $s->run(1, $t + 0.1, $t + 2, CLIENT, 'sleeping')->draw($t + 1.9)->hotkey(3000);
}
$d = judged('own sleep', then_sleeps(400, 430), 'cpu-contention', 'hog', 0.45, 0.5);
is($d->{verdict}{confidence}, 0.5, 'own sleep: a guess between two');
is(
	sentence($d),
	'most likely, for 400 ms (48 %) it waited for a CPU taken by "hog" (pid 901); as long, for 430 ms (52 %) it was sleeping for a time that it chose (nanosleep).',
	'own sleep: what was different goes first'
);
judged('a longer own sleep', then_sleeps(400, 600), 'timer-sleep', 'xterm', 0.55, 0.65);

# --- two of one kind ---
$d = judged('two hogs', two_parts(800, 10, 390), 'cpu-contention', 'hog', 0.9, 1);
cmp_ok($d->{verdict}{confidence}, '<', 0.9, 'two hogs: which of them had more is not sure');
is(
	sentence($d),
	'most likely, for 800 ms (99 %) it waited for a CPU taken by "hog" (pid 901) and 1 other; nearly as long by "miner" (pid 902), 390 ms.',
	'two hogs: both are named'
);
$d = judged('a hog and a lesser one', two_parts(800, 10, 200), 'cpu-contention', 'hog', 0.9, 1);
cmp_ok($d->{verdict}{confidence}, '>', 0.99, 'a hog and a lesser one: sure');

# --- the first is far ahead, but what nobody knows may be the second's ---
{
	my $s = Tipme::Test::Story->new;
	# It computes for 300 ms, then sleeps for 250 ms until an interrupt wakes it (no record tells
	# for what), then waits 150 ms for a CPU.
	$s->builder->thread(901, 'hog', ts_ns => 890 * MS);
	$s->enter(1000)->run(1, 1000.3, 1300, CLIENT, 'sleeping');
	$s->run(1, 1540, 1700, 901, 'runnable', preempted => 1, next => CLIENT)
		->wake(1, 1550, CLIENT, 0, undef, context => 'hardirq');
	$s->builder->switch(1, 1702 * MS, CLIENT, 901, 'sleeping');
	$d = judged('doubt', $s->draw(1701.9)->hotkey(3000), 'app-compute', 'xterm', 0.4, 0.5);
	cmp_ok($d->{totals}{kinds}{unknown}, '>',  200 * MS, 'doubt: part of it is not known');
	cmp_ok($d->{verdict}{confidence},    '<=', 0.5,      'doubt: not sure');
	like(
		sentence($d), qr/^most likely, for 302 ms \(43 %\) it computed\.$/,
		'doubt: likely, and no second is nearly as long'
	);
}
is_deeply(\@warnings, [], 'no warnings');
done_testing();
