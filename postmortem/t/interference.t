#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Stories of what takes time from a thread that could run, or may not: interrupts, the host of a
# virtual machine, quotas of control groups.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated",
	"$Bin/../../tests/causes/lib";
use Tipme::RowSaid;
use Tipme::Test::Judge qw(judged like_sentence);
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $tmp = tempdir(CLEANUP => 1);
sub story  { return Tipme::Test::Story->new(@_) }
sub ns     { return Tipme::Test::Story::ns($_[0]) }
sub sleeps { return Tipme::Test::Story::sleeps(@_) }

# --- an interrupt that lasts, while the client computes; a softirq in its own call is its own ---
my $s = story()->daemon('irq_name', number => 14, name => 'ata_piix');
$s->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping')->kernel(
	1, 1100 + 50 * $_, 'irq', tid => CLIENT, duration_ns => 45 * MS, number => 14,
	kind => 'hardirq', context => 'hardirq'
) for 0 .. 0;
$s->kernel(
	1, 1100 + 50 * $_, 'irq', tid => CLIENT, duration_ns => 45 * MS, number => 14,
	kind => 'hardirq', context => 'hardirq'
) for 1 .. 11;
$s->kernel(
	1, 1790, 'irq', tid => CLIENT, duration_ns => 5 * MS, number => 3, kind => 'softirq',
	context => 'softirq_task', raiser_tid => CLIENT
);
my $d = judged(
	'interrupts', $s->draw(1800.9)->hotkey(3000), 'irq-time', 'interrupt 14 (ata_piix)',
	0.67,         0.68
);
like_sentence($d, qr/it had no CPU: interrupt 14 \(ata_piix\) had it\.$/, 'interrupts');
is($d->{totals}{kinds}{'irq-time'}, 540 * MS, 'interrupts: exactly what was theirs');
is($d->{verdict}{door},        'the driver of interrupt 14 (ata_piix)', 'interrupts: whose door');
is($d->{verdict}{blamed}{pid}, undef, 'interrupts: no process is blamed');

# --- interrupts of several kinds: each goes by its own name, whichever came last ---
$s = story()->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping');
$s->kernel(
	1, 1100 + 50 * $_, 'irq', tid => CLIENT, duration_ns => 30 * MS, number => 3,
	kind => 'softirq', context => 'hardirq', raiser_tid => 0
)->kernel(
	1, 1135 + 50 * $_, 'irq', tid => CLIENT, duration_ns => 15 * MS, number => 236,
	kind => 'timer', context => 'hardirq'
) for 0 .. 12;
$d = judged(
	'interrupts of two kinds',        $s->draw(1800.9)->hotkey(3000), 'irq-time',
	'softirq 3 (network, receiving)', 0.72,                           0.74
);
like_sentence(
	$d,
	qr/for 585 ms \(73 %\) it had no CPU: softirq 3 \(network, receiving\) had it for 390 ms, other interrupts for the rest\.$/,
	'interrupts of two kinds'
);
is_deeply(
	{ map { $_->{comm} => $_->{ns} } grep { $_->{kind} eq 'irq-time' } @{ $d->{totals}{blamed} } },
	{ 'softirq 3 (network, receiving)' => 390 * MS, "the CPU's timer interrupt" => 195 * MS },
	'interrupts of two kinds: what each had'
);

# --- many short interrupts, known by their sum only ---
$s = story()->enter(1000);
$s->builder->switch(1, ns(1000.25), 0, CLIENT, 'runnable')
	->switch(1, ns(1801), CLIENT, 0, 'sleeping', irq_ns => 600 * MS);
$d = judged(
	'short interrupts', $s->draw(1800.9)->hotkey(3000), 'irq-time', 'many short interrupts',
	0.74, 0.76
);
cmp_ok($d->{verdict}{confidence}, '>', 0.99, 'short interrupts: the sum is exact')
	if $d->{totals}{kinds}{'irq-time'} == 600 * MS;

# --- the host takes the CPU away ---
$s = story()->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping');
$s->kernel(
	1, 1100 + 100 * $_, 'steal', tid => CLIENT, steal_ns => 90 * MS, cpu => 1,
	since_ns => ns(1000 + 100 * $_)
) for 1 .. 6;
$d = judged('steal', $s->draw(1800.9)->hotkey(3000), 'host-steal', undef, 0.67, 0.68);
is($d->{totals}{kinds}{'host-steal'}, 540 * MS, 'steal: as much as the records say');
like_sentence(
	$d, qr/it had no CPU: the host of this virtual machine had taken it away\.$/,
	'steal'
);
Tipme::RowSaid::story(58, $d);

# --- a quota: by records, by samples, by its CPU that idles ---
sub throttled {
	my (%o) = @_;
	my $s = story();
	$s->builder->thread(CLIENT, 'xterm', ts_ns => 900 * MS, cgroup => 77, cpu => 1);
	$s->daemon(
		'cgroup_name', cgroup => 70, quota_us => 20_000, period_us => 100_000,
		path => '/user.slice'
	);
	$s->daemon('cgroup_name', cgroup => 77, path => '/user.slice/xterm.scope');
	$s->enter(1000);
	if ($o{busy}) {
		$s->builder->thread(870, 'hog', ts_ns => 900 * MS);
		$s->builder->switch(1, ns(1020 + 100 * $_) + 1, 0, 870, 'runnable')
			->switch(1, ns(1100.25 + 100 * $_) - 1, 870, 0, 'runnable')
			for 0 .. 6;
	}
	for my $k (0 .. 7) {
		$s->run(
			1, 1000.25 + 100 * $k, 1020 + 100 * $k, CLIENT, $k < 7 ? 'runnable' : 'sleeping',
			preempted => $k < 7 ? 1 : 0
		);
	}
	if ($o{exact}) {
		$s->lasts(
			'cpu_throttle', 1, 1020 + 100 * $_ - 0.01, 1100.25 + 100 * $_ - 0.05,
			cgroup => 70,   cpu => 1
		) for 0 .. 6;
	}
	if ($o{sample}) {
		$s->kernel(
			0, 1999, 'cpu_throttle', cgroup => 70, cpu => 65535, throttled_us => 560_000,
			phase => 'sample'
		);
	}
	return $s->draw(1719.9)->hotkey(3000);
}
$d = judged('quota', throttled(exact => 1), 'cpu-throttled', 'xterm', 0.76, 0.79);
like_sentence(
	$d,
	qr{it was kept from running: the cgroup /user\.slice had used up its CPU quota of 20 ms in each 100 ms\.$},
	'quota'
);
cmp_ok($d->{verdict}{confidence}, '>', 0.99, 'quota: sure');
like($d->{verdict}{sentence}, qr/ms: for \d+ ms/, 'quota: known exactly, and so not "likely"');
like(
	$d->{verdict}{next},
	qr/^Raise the quota \(`systemctl set-property user\.slice CPUQuota=\.\.\.`\)\.$/,
	'quota: which one to raise'
);
$d = judged('quota, sampled', throttled(sample => 1), 'cpu-throttled', 'xterm', 0.76, 0.79);
cmp_ok($d->{verdict}{confidence}, '<', 0.3, 'quota, sampled: inferred');

# --- put into its cgroup after the last picture of it: the next picture says which ---
$s = story();
$s->builder->thread(CLIENT, 'xterm', ts_ns => $_->[0] * MS, cgroup => $_->[1], cpu => 1)
	for [ 900, 1 ], [ 1900, 77 ];
$s->daemon("cgroup_name", cgroup => 77, path => "/x", quota_us => 20_000, period_us => 100_000);
$s->enter(1000);
$s->run(
	1, 1000.25 + 100 * $_, 1020 + 100 * $_, CLIENT, $_ < 7 ? 'runnable' : 'sleeping',
	preempted => $_ < 7 ? 1 : 0
) for 0 .. 7;
$s->daemon(
	'cpu_throttle', ts_ns => ns(1890), cgroup => 77, cpu => 65535, phase => 'sample',
	throttled_us => 560_000
);
judged(
	'quota, of a cgroup it has just come to', $s->draw(1719.9)->hotkey(3000), 'cpu-throttled',
	'xterm',                                  0.76,                           0.79
);

# --- by what the daemon found by looking, on a machine where no CPU idles: so much, and no more ---
$s = throttled(busy => 1);
$s->daemon(
	'cpu_throttle', ts_ns => ns(1100 + 1000 * $_), cgroup => 70, cpu => 65535,
	phase => 'sample', throttled_us => $_ ? 400_000 : 1000
) for 0, 1;
like(
	$d->{verdict}{sentence}, qr/ms: most likely, for \d+ ms \(\d+ %\) it was kept from running/,
	'quota, sampled: likely, and says so'
);
$d = judged('quota, looked at', $s, 'cpu-throttled', 'xterm', 0.55, 0.57);
like(
	$d->{verdict}{sentence}, qr/ms: most likely, for \d+ ms/,
	'quota, looked at: likely, and says so'
);
is($d->{totals}{kinds}{'cpu-throttled'}, 401 * MS, 'quota, looked at: as much as was counted')
	or diag(explain($d->{totals}{kinds}));
cmp_ok($d->{verdict}{confidence}, '<', 0.5, 'quota, looked at: when in it is not known');

# --- the kernel counts a stretch of throttling when it ends: of one that lasts while the daemon
# looks, all is in the next count ---
$s = throttled();
$s->builder->thread(880, 'tipmed', ts_ns => 900 * MS);
$s->run(1, 1259.9, 1260.1, 880, 'sleeping');
$s->daemon(
	'cpu_throttle', ts_ns => ns($_->[0]), cgroup => 70, cpu => 65535, phase => 'sample',
	throttled_us => $_->[1]
) for [ 260, 1000 ], [ 1260, 160_500 ], [ 2260, 401_250 ];
$d = judged('quota, looked at while it lasts', $s, 'cpu-throttled', 'xterm', 0.76, 0.79);
cmp_ok(
	$d->{totals}{kinds}{'cpu-throttled'}, '>=', 561_550_000,
	'quota, looked at while it lasts: both halves'
) or diag(explain($d->{totals}{kinds}));
$s = throttled();
$s->daemon(
	'cpu_throttle', ts_ns => ns($_->[0]), cgroup => 70, cpu => 65535, phase => 'sample',
	throttled_us => $_->[1]
) for [ 260, 1000 ], [ 1260, 160_500 ], [ 2260, 45_000 ];
is(
	$s->diagnose("$tmp/lasts")->{totals}{kinds}{'cpu-throttled'}, 526_500_000,
	'quota, looked at while it lasts: of that wait no more than was counted'
);

# --- the same behind a thousand who take turns ---
$s = story();
$s->builder->thread(CLIENT, 'xterm', ts_ns => 900 * MS, cgroup => 70, cpu => 1)
	->thread(910, 'ping', ts_ns => 900 * MS)->thread(911, 'pong', ts_ns => 900 * MS);
$s->daemon('cgroup_name', cgroup => 70, quota_us => 20_000, period_us => 100_000, path => '/x')
	->daemon(
	'cpu_throttle', ts_ns => ns(2000), cgroup => 70, cpu => 65535, phase => 'sample',
	throttled_us => 400_000
	);
$s->enter(1000);
for my $k (0 .. 2999) {
	my ($x, $y) = $k % 2 ? (911, 910) : (910, 911);
	$s->builder->switch(1, ns(1000 + $k * 0.2), $k ? $y : 0, $x, 'runnable', prev_preempted => 1);
}
$s->builder->switch(1, ns(1600), 911, CLIENT, 'runnable', prev_preempted => 1)
	->switch(1, ns(1601), CLIENT, 0, 'sleeping');
$d = judged(
	'quota, behind many', $s->draw(1600.9)->hotkey(3000), 'cpu-throttled', 'xterm', 0.66,
	0.67
);
is($d->{totals}{kinds}{'cpu-throttled'}, 400 * MS, 'quota, behind many: as much as was counted');

judged('quota, inferred', throttled(), 'cpu-throttled', 'xterm', 0.76, 0.79);

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
