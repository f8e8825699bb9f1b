#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Stories of who had the CPU: crowds, real-time processes, those who take turns, and whose name it
# is that is told.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged cut_to_the_path);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, SHELL => 300, KWORKER => 50, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $tmp = tempdir(CLEANUP => 1);
sub story { return Tipme::Test::Story->new(@_) }
sub ns    { return Tipme::Test::Story::ns($_[0]) }

# --- a CPU storm: three processes take turns before the client ---
sub storm {
	my ($s, @prio) = @_;
	$s->builder->thread(900 + $_, 'spin', ppid => 890, ts_ns => 900 * MS, state => 'runnable')
		for 1 .. 3;
	$s->builder->thread(890, 'make', ts_ns => 900 * MS);
	$s->run(1, 999,  1100, 901, 'runnable', preempted => 1, next => 902, @prio)->enter(1000);
	$s->run(1, 1100, 1500, 902, 'runnable', preempted => 1, prev => 901, next => 903,    @prio);
	$s->run(1, 1500, 1930, 903, 'runnable', preempted => 1, prev => 902, next => CLIENT, @prio);
	$s->builder->switch(1, 1933 * MS, CLIENT, 901, 'sleeping');
	return $s->draw(1932.9)->hotkey(3000);
}
my $d = judged('cpu-contention', storm(story()), 'cpu-contention', 'spin', 0.98, 1);
like(
	$d->{verdict}{sentence},
	qr/^xterm \(pid 200\) answered a key press after 933 ms, usually 2\.9 ms: for 930 ms \(100 %\) it waited for a CPU taken by 3 processes "spin" \(first pid 901, started by make\)\.$/,
	'cpu-contention: the sentence'
);
is_deeply($d->{verdict}{blamed}{pids}, [ 901, 902, 903 ], 'cpu-contention: all are named');
cmp_ok($d->{verdict}{confidence}, '>', 0.99, 'cpu-contention: sure');
is_deeply(
	[ map { $_->{name} } @{ $d->{event}{stages} } ],
	[qw(input server device deliver client request feedback)], 'all stages are there'
);

# --- the server first carries out what the client had asked for before it got the key: that is no
# answer ---
{
	my $s = story();
	$s->builder->x(
		1000.22 * MS, 'x_request', pid => CLIENT, client => 4, major => 53,
		duration_ns => 20_000
	);
	my %at =
		map { $_->{name} => $_->{ts_ns} } @{ storm($s)->diagnose("$tmp/earlier")->{event}{stages} };
	cmp_ok(
		$at{request}, '>', $at{client},
		'the request that answers comes after the client has run'
	);
}

# --- the same, real-time ---
$d = judged('rt-starvation', storm(story(), prio => 49), 'rt-starvation', 'spin', 0.98, 1);
like(
	$d->{verdict}{sentence},
	qr/ for a CPU that 3 real-time processes "spin" \(first pid 901, started by make\) kept\.$/,
	'rt-starvation: says so'
);

# --- it became that while it ran: no record tells, but it leaves its CPU so; who is lent urgency
# for a lock is no such process ---
sub raised {
	my ($s, %leaves) = @_;
	$s->builder->thread(901, 'mixer', ts_ns => 900 * MS, state => 'runnable');
	$s->builder->switch(1, 999 * MS, 0, 901, 'runnable');
	$s->enter(1000);
	$s->builder->switch(1, 1930 * MS, 901, CLIENT, 'sleeping', %leaves)
		->switch(1, 1933 * MS, CLIENT, 0, 'sleeping');
	return $s->draw(1932.9)->hotkey(3000);
}
judged(
	'made real-time while it ran', raised(story(), prev_prio => 79), 'rt-starvation', 'mixer',
	0.98, 1
);
judged(
	'made deadline while it ran', raised(story(), prev_prio => 255), 'rt-starvation', 'mixer',
	0.98, 1
);
judged(
	'made nicer while it ran', raised(story(), prev_prio => 130), 'cpu-contention', 'mixer',
	0.98, 1
);
{
	my $s = story();
	$s->kernel(
		1, 1500, 'priority', tid => 901, changer_tid => KWORKER, old_prio => 120,
		new_prio => 79, inherited => 1
	);
	judged(
		'lent urgency while it ran', raised($s, prev_prio => 79), 'cpu-contention', 'mixer',
		0.98, 1
	);
}

# --- a real-time process keeps the server, which its own timer had woken, from looking at its
# input: the X records alone show a quick answer ---
sub starved_server {
	my $s = story();
	my $b = $s->builder;
	$b->thread(901, 'hog', ts_ns => 890 * MS);
	$b->x(Tipme::Test::Story::ns(800), 'x_sleep');
	$s->run(0, 900, 1700, 901, 'dead', prio => 79, next => SERVER)
		->wake(0, 1000, SERVER, 0, 'epoll', context => 'hardirq');
	$b->switch(0, Tipme::Test::Story::ns(1700.3), SERVER, 0, 'sleeping');
	$b->x(Tipme::Test::Story::ns(1700 + $_->[0]), @$_[ 1 .. $#$_ ])
		for [ 0.06, 'x_wakeup' ],
		[ 0.1, 'x_device', input_seq => 77, kind => 'key_press', device => 6 ],
		[
		0.19, 'x_deliver', input_seq => 77, kind => 'key_press', pid => CLIENT, client => 4,
		x_type => 2
		],
		[ 0.28, 'x_sleep' ];
	return $s->wake(0, 1700.2, CLIENT, SERVER, 'poll')->run(1, 1700.25, 1702, CLIENT, 'sleeping')
		->draw(1701.9)->hotkey(3000);
}
$d = judged('starved server', starved_server(), 'rt-starvation', 'hog', 0.98, 1);
like(
	$d->{verdict}{sentence}, qr/ for a CPU that the real-time process "hog" \(pid 901\) kept\.$/,
	'starved server: the sentence'
);
is(
	$d->{interval}{start_ns}, 1000 * MS,
	'starved server: the answer is counted from when the server was woken'
);

# --- the same of the server's input thread, which the keyboard's interrupt wakes: server and client
# are quick once it has run ---
sub starved_input {
	my $s = story();
	my $b = $s->builder;
	$b->thread(901, 'hog', ts_ns => 890 * MS);
	$b->thread(101, 'InputThread', pid => SERVER, ts_ns => 5 * MS, since_ns => 2 * MS, cpu => 0);
	$b->x(Tipme::Test::Story::ns(800), 'x_sleep');
	$s->run(0, 900, 1700, 901, 'dead', prio => 79, next => 101)
		->wake(0, 1000, 101, 0, 'epoll', context => 'hardirq');
	$s->wake(0, 1700.04, SERVER, 101, 'epoll');
	$b->switch(0, Tipme::Test::Story::ns(1700.05), 101, SERVER, 'sleeping')
		->switch(0, Tipme::Test::Story::ns(1700.3), SERVER, 0, 'sleeping');
	$b->x(Tipme::Test::Story::ns(1700 + $_->[0]), @$_[ 1 .. $#$_ ])
		for [ 0.06, 'x_wakeup' ],
		[ 0.1, 'x_device', input_seq => 77, kind => 'key_press', device => 6 ],
		[
		0.19, 'x_deliver', input_seq => 77, kind => 'key_press', pid => CLIENT, client => 4,
		x_type => 2
		],
		[ 0.28, 'x_sleep' ];
	return $s->wake(0, 1700.2, CLIENT, SERVER, 'poll')->run(1, 1700.25, 1702, CLIENT, 'sleeping')
		->draw(1701.9)->hotkey(3000);
}
$d = judged('starved input thread', starved_input(), 'rt-starvation', 'hog', 0.98, 1);
is(
	$d->{interval}{start_ns}, 1000 * MS,
	'starved input thread: the answer is counted from the interrupt'
);

# --- two processes hand the CPU to each other so fast that a list of it is no help ---
my $s = story()->enter(1000);
$s->builder->thread(910, 'ping', ts_ns => 900 * MS)->thread(911, 'pong', ts_ns => 900 * MS);
for my $i (0 .. 2999) {
	my ($a, $b) = $i % 2 ? (911, 910) : (910, 911);
	$s->builder->switch(
		1, (1000 + $i * 0.2) * MS, $i ? $b : 0, $a, 'runnable',
		prev_preempted => 1
	);
}
$s->builder->switch(1, 1600 * MS, 911, CLIENT, 'runnable', prev_preempted => 1)
	->switch(1, 1601 * MS, CLIENT, 0, 'sleeping');
$d = judged('fast turns', $s->draw(1600.9)->hotkey(3000), 'cpu-contention', 'pong', 0.98, 1);
cmp_ok(scalar @{ $d->{path} }, '<', 200, 'fast turns: the path is short');
my %had = map { $_->{comm} => $_->{ns} }
	grep { $_->{kind} eq 'cpu-contention' && defined $_->{comm} } @{ $d->{totals}{blamed} };
is(
	$had{ping} + $had{pong}, $d->{totals}{kinds}{'cpu-contention'},
	'fast turns: the totals are exact'
);
is($had{pong}, 300 * MS, 'fast turns: each has what it had') or diag(explain(\%had));

# --- daemons of one name that different people started long ago are not one ---
$s = Tipme::Test::Story->new(trigger => 24_000)->enter(21_000);
$s->builder->thread($_->[0], $_->[1], ppid => $_->[2], start_ns => 5, ts_ns => 900 * MS)
	for [ 910, 'daemon', 7 ], [ 911, 'daemon', 8 ], [ 912, 'hog', 9 ];
$s->builder->switch(1, 21_000 * MS, 0, 910, 'runnable')
	->switch(1, 21_200 * MS, 910,    911,    'runnable', prev_preempted => 1)
	->switch(1, 21_400 * MS, 911,    912,    'runnable', prev_preempted => 1)
	->switch(1, 21_700 * MS, 912,    CLIENT, 'runnable', prev_preempted => 1)
	->switch(1, 21_702 * MS, CLIENT, 0,      'sleeping');
judged('daemons of one name', $s->draw(21_701.9)->hotkey(23_000), 'cpu-contention', 'hog', 0.98, 1);

# --- processes that are forked and take their name meanwhile ---
$s = story()->enter(1000);
$s->builder->thread(890, 'make', ts_ns => 900 * MS);
for my $k (1 .. 3) {
	my $t = 900 + $k;
	$s->builder->kernel(
		0, $t * MS, 'fork', tid => 890, child_tid => 920 + $k,
		child_pid => 920 + $k, child_start_ns => $t * MS
	);
	$s->builder->switch(
		1, (1000 + 4 * $k - 3.9) * MS, $k > 1 ? 919 + $k : 0, 920 + $k, 'runnable',
		prev_preempted => 1
	);
}
for my $k (1 .. 3) {
	$s->builder->switch(
		1, (1100 + 200 * $k) * MS, $k > 1 ? 919 + $k : 923, 920 + $k, 'runnable',
		prev_preempted => 1
	);
	$s->builder->kernel(1, (1101 + 200 * $k) * MS, 'rename', tid => 920 + $k, comm => 'cc1');
}
$s->builder->switch(1, 1900 * MS, 923, CLIENT, 'runnable', prev_preempted => 1)
	->switch(1, 1901 * MS, CLIENT, 0, 'sleeping');
$d = judged('renamed meanwhile', $s->draw(1900.9)->hotkey(3000), 'cpu-contention', 'cc1', 0.98, 1);
my @own = grep { $_->{kind} eq 'cpu-contention' } @{ $d->{totals}{blamed} };
is(scalar(grep { $_->{pid} == 922 } @own), 1, 'renamed meanwhile: one process, one sum');

cut_to_the_path();
is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
