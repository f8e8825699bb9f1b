#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Stories of the CPU on which a thread runs: it may run on no other, is slow, sleeps deeply, is left
# for another one, or is taken by a storm of short processes.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged like_sentence);
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub story { return Tipme::Test::Story->new(@_) }
sub ns    { return Tipme::Test::Story::ns($_[0]) }

# --- pinned to a CPU that another has, while one idles ---
sub pinned {
	my ($mask) = @_;
	my $s = story()->enter(1000);
	$s->builder->thread(CLIENT, 'xterm', ts_ns => 900 * MS, cpu => 1, cpus_allowed => $mask)
		->thread(870, 'hog', ts_ns => 900 * MS);
	$s->builder->switch(1, ns(1000), 0, 870, 'runnable')
		->switch(1, ns(1800), 870, CLIENT, 'runnable', prev_preempted => 1)
		->switch(1, ns(1802), CLIENT, 870, 'sleeping')->switch(1, ns(1803), 870, 0, 'dead');
	return $s->draw(1801.9)->hotkey(3000);
}
my $d = judged('pinned', pinned(2), 'cpu-contention', 'hog', 0.98, 1);
is_deeply(
	$d->{verdict}{circumstances},
	[
		"xterm (tid 200) may run only on CPU 1, while CPU 0 idled for 800 of these 800 ms: that is this machine's configuration."
	],
	'pinned: the machine is set up so'
);
like($d->{verdict}{next}, qr/taskset -p 200/, 'pinned: what to look at');
like(
	judged('not pinned', pinned(3), 'cpu-contention', 'hog', 0.98, 1)->{verdict}{circumstances}[0],
	qr/may run there: the scheduler left it on CPU 1\.$/, 'not pinned: the scheduler did it'
);
like(
	judged('pinned or not', pinned(0), 'cpu-contention', 'hog', 0.98, 1)
		->{verdict}{circumstances}[0], qr/while xterm \(tid 200\) waited on CPU 1\.$/,
	'not known: no more is said'
);

my $to_one = sub {
	my (%f) = @_;
	my $s = pinned(3);
	$s->$_(@{ $f{$_} }) for grep { $f{$_} } qw(kernel daemon);
	return $s;
};
is_deeply(
	judged(
		'pinned since then',
		$to_one->(
			kernel => [ 0, 950, 'affinity', tid => CLIENT, cpus_allowed => 2, changer_tid => 870 ]
		),
		'cpu-contention',
		'hog',
		0.98,
		1
	)->{verdict}{circumstances},
	[
		"xterm (tid 200) may run only on CPU 1 (set by hog (tid 870) 0.050 s before), while CPU 0 idled for 800 of these 800 ms: that is this machine's configuration."
	],
	'pinned since then: by whom and when'
);
is_deeply(
	judged(
		'pinned by itself',
		$to_one->(
			kernel =>
				[ 0, 950, 'affinity', tid => CLIENT, cpus_allowed => 2, changer_tid => CLIENT ]
		),
		'cpu-contention',
		'hog',
		0.98,
		1
	)->{verdict}{idle_cpus}{changed},
	{ before_ns => 50.2 * MS, within_ns => 0, by => { tid => CLIENT, comm => 'xterm' } },
	'pinned by itself: so it says'
);
like(
	judged(
		'pinned, seen by pictures',
		$to_one->(
			daemon => [
				'affinity', ts_ns => 980 * MS, tid => CLIENT, cpus_allowed => 2,
				within_ns => 1000 * MS
			]
		),
		'cpu-contention',
		'hog',
		0.98,
		1
	)->{verdict}{circumstances}[0],
	qr/may run only on CPU 1 \(changed 0\.0 to 1\.0 s before\), while/,
	'pinned, seen by pictures: within which time'
);
like(
	judged(
		'pinned too late',
		$to_one->(
			kernel => [ 0, 1900, 'affinity', tid => CLIENT, cpus_allowed => 2, changer_tid => 870 ]
		),
		'cpu-contention',
		'hog',
		0.98,
		1
	)->{verdict}{circumstances}[0],
	qr/may run there: the scheduler left it on CPU 1\.$/,
	'pinned after it: says nothing'
);

# --- computing on a CPU that is slower than it can be ---
sub slow {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(
		manifest => {
			frequencies => $o{now}
			? [
				{ cpu => 0, khz => 3_000_000, max_khz => 3_000_000 },
				{ cpu => 1, khz => $o{now},   max_khz => 3_200_000 }
				]
			: []
		}
	);
	$s->kernel(0, $_->[0], 'cpu_frequency', khz => $_->[1], cpu => $_->[2] // 1)
		for @{ $o{changes} // [] };
	return judged($o{what}, $s->key(1000, 800)->hotkey(3000), 'app-compute', 'xterm', 0.98, 1)
		->{verdict};
}
my @slow = slow(what => 'slow all the time', now => 800_000);
is_deeply(
	$slow[0]{circumstances},
	['CPU 1 ran at 0.80 GHz meanwhile, of at most 3.20 (its governor, heat, or too little power).'],
	'slow all the time: said'
);
is_deeply(
	[ @{ $slow[0]{slow_cpu} }{qw(cpu khz max_khz)} ], [ 1, 800_000, 3_200_000 ],
	'slow all the time: as data'
);
is(slow(what => 'fast enough', now => 2_600_000)->{slow_cpu}, undef, 'fast enough: nothing');
is(slow(what => 'frequencies not known')->{slow_cpu},         undef, 'not known: nothing');
is(
	slow(
		what    => 'fast when it mattered', now => 800_000,
		changes => [ [ 900, 3_200_000 ], [ 1900, 800_000 ] ]
	)->{slow_cpu},
	undef,
	'fast when it mattered: nothing'
);
my $slowed = slow(
	what    => 'slowed down', now => 3_200_000,
	changes =>
		[ [ 100, 3_200_000 ], [ 1201, 400_000 ], [ 1300, 3_000_000, 0 ], [ 1900, 3_200_000 ] ]
)->{slow_cpu};
cmp_ok(abs($slowed->{slow_ns} - 600 * MS), '<', 3 * MS, 'slowed down: for how long');
cmp_ok(abs($slowed->{khz} - 1_100_000),    '<', 20_000, 'slowed down: to how much');

# --- woken on a CPU that sleeps deeply: what the kernel says of that stands beside the wait, and no
# share moves ---
sub asleep {
	my ($what, @exits) = @_;
	my $s = story()->enter(1000);
	$s->kernel(
		$_->[1], $_->[0], 'cpu_idle', tid => 0, idle_ns => 5 * MS,
		exit_latency_ns => 890_000, state => 3, cpu => $_->[1]
	) for @exits;
	return judged(
		$what, $s->run(1, 1001.3, 1401, CLIENT, 'sleeping')->draw(1400.5)->hotkey(3000),
		'app-compute', 'xterm', 0.98, 1
	);
}
my ($plain, $deep) = (asleep('asleep, not told'), asleep('deeply asleep', [ 1001.25, 1 ]));
my @waits = map {
	[
		map  { $_->{reason} }
		grep { $_->{state} eq 'runnable' && $_->{comm} eq 'xterm' } @{ $_->{path} }
	]
} $plain, $deep, asleep('another slept', [ 1001.25, 0 ]), asleep('it slept before', [ 990, 1 ]);
my $idle = 'it could run, but its CPU stayed idle';
is_deeply(
	\@waits,
	[ [$idle], ["$idle, in state 3, which takes 890 us to leave"], [$idle], [$idle] ],
	'deeply asleep: said of the wait that it was woken for, of no other'
);
is_deeply(
	[ map { [ @$_{qw(kind ns)} ] } @{ $deep->{totals}{blamed} } ],
	[ map { [ @$_{qw(kind ns)} ] } @{ $plain->{totals}{blamed} } ],
	'deeply asleep: each part is as long as without'
);

# --- moved from one CPU to another while it waits: each of the two that kept it waiting has its
# part ---
my $s = story()->enter(1000);
$s->builder->thread(870, 'first', ts_ns => 900 * MS)->thread(871, 'second', ts_ns => 900 * MS);
$s->builder->switch(1, ns(1000.1), 0, 870, 'runnable')->switch(0, ns(1000.4), 0, 871, 'runnable')
	->switch(1, ns(1802), 870, 0, 'dead');
$s->kernel(0, 1300, 'migrate', tid => CLIENT, from_cpu => 1, to_cpu => 0, mover_tid => 0);
$s->builder->switch(0, ns(1800), 871, CLIENT, 'runnable', prev_preempted => 1)
	->switch(0, ns(1801.5), CLIENT, 0, 'sleeping');
$d = judged('moved', $s->draw(1801.9)->hotkey(3000), 'cpu-contention', 'second', 0.99, 1);
my %ns = map { ($_->{comm} // '') => $_->{ns} }
	grep { $_->{kind} eq 'cpu-contention' } @{ $d->{totals}{blamed} };
is($ns{second}, 500 * MS,    'moved: the second had its CPU from then on');
is($ns{first},  299_800_000, 'moved: the first before');

# --- a storm of short processes of many names: what they come from is named ---
$s = story()->enter(1000);
$s->builder->thread(890, 'make', ts_ns => 900 * MS)->thread(889, 'bash', ts_ns => 900 * MS);
my @names = qw(cc1 as ld sh);
for my $k (0 .. 79) {
	my ($t, $sh, $cc) = (1000.2 + 10 * $k, 3000 + 2 * $k, 3001 + 2 * $k);
	$s->kernel(
		0, $t - 0.1, 'fork', tid => 890, child_tid => $sh, child_pid => $sh,
		child_start_ns => ns($t - 0.1)
	);
	$s->kernel(
		0, $t - 0.05, 'fork', tid => $sh, child_tid => $cc, child_pid => $cc,
		child_start_ns => ns($t - 0.05)
	);
	$s->kernel(0, $t - 0.04, 'rename', tid => $sh, comm => 'sh')
		->kernel(0, $t - 0.03, 'rename', tid => $cc, comm => $names[ $k % 4 ]);
	$s->builder->switch(
		1, ns($t), $k ? $cc - 2 : 0, $cc, $k ? 'dead' : 'runnable',
		next_prio => 110
	);
}
$s->builder->switch(1, ns(1801), 3159, CLIENT, 'dead')->switch(1, ns(1803), CLIENT, 0, 'sleeping');
$s->daemon(
	'exec_args', pid => 890, start_ns => 1890, uid => 1000, count => 2, total_len => 8,
	text => "make\n-j8"
);
$d = judged('compile storm', $s->draw(1802.9)->hotkey(3000), 'cpu-contention', 'make', 0.98, 1);
like_sentence(
	$d,
	qr/it waited for a CPU taken by 80 short-lived processes \(as, cc1, ld, \.\.\.\) below "make" \(pid 890\)\.$|80 short-lived processes \(.*\) below "make" \(pid 890\)\.$/,
	'compile storm'
);
ok(
	(grep { $_ eq 'make (pid 890) was called as: make -j8.' } @{ $d->{verdict}{circumstances} }),
	'compile storm: how it was called'
);

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
