#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Episodes that a latency of the driver's timer has triggered: who kept the thread from running, in
# which function, whoever made the records.
use strict;
use warnings;
use Test::More;
use File::Temp ();
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { MS => 1_000_000, LATE => 3900, HIGH => 710, CULPRIT => 700 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

# A culprit has CPU 1 from 3899 to 3902.5. The timer expires at 3900; the interrupt comes at 3902,
# and the thread runs at 3902.5.
sub late {
	my ($text, %o) = @_;
	my $s = Tipme::Test::Story->new(
		manifest => { trigger => { kind => 'kernel', ns => 4000 * MS, text => $text } }, %o);
	$s->builder->thread(HIGH, 'tipme-high/1', flags => 1, prio => 9, ts_ns => 900 * MS)
		->thread(CULPRIT, 'culprit/1', flags => 1, ts_ns => 900 * MS);
	$s->builder->stack(9000, stack_text('interrupts-off'))
		->stack(9001, stack_text('culprit-rests'));
	$s->run(1, LATE - 1, LATE + 2.5, CULPRIT, 'runnable', preempted => 1, next => HIGH);
	$s->wake(
		1, LATE + 2, HIGH, CULPRIT, undef, context => 'softirq_irq', prio => 9,
		wakee_cpu => 1
	);
	$s->builder->switch(
		1, Tipme::Test::Story::ns(LATE + 2.6), HIGH, CULPRIT, 'sleeping',
		prev_prio => 9
	);
	$s->run(1, LATE + 2.6, LATE + 3, CULPRIT, 'sleeping', prev => HIGH);
	return $s;
}

sub samples {
	my ($s, $from, $to, $stack, %o) = @_;
	my $write = delete $o{daemon};
	for (my $t = $from; $t < $to; $t += 0.1) {
		my %f = (
			tid => CULPRIT, cpu => 1, kind => 'nmi_ipi', context => 'task', period_us => 100,
			kernel_stack_id => $stack, %o
		);
		if ($write) { $s->daemon('sample', ts_ns => Tipme::Test::Story::ns($t), %f) }
		else        { $s->kernel($f{cpu}, $t, 'sample', %f) }
	}
	return $s;
}

# --- the module's own records ---
my $s = samples(
	samples(late('latency of 2.500 ms on CPU 1'), LATE + 0.05, LATE + 2, 9000),
	LATE + 2.05, LATE + 2.5, 9001
);
samples($s, LATE, LATE + 2, 9001, cpu => 0, tid => 200);
# One before it that was not over the threshold for as long, and one on another CPU.
$s->kernel(
	1, LATE - 100, 'latency', tid => HIGH, irq_ns => 1.1 * MS, deferred_ns => 1000,
	thread_ns => 2000, cpu => 1, rt_priority => 90, over => 1
);
$s->kernel(
	0, LATE, 'latency', tid => 711, irq_ns => 2.5 * MS, cpu => 0, rt_priority => 90,
	over => 1
);
$s->kernel(
	1, LATE, 'latency', tid => HIGH, irq_ns => 1.95 * MS, deferred_ns => 0.05 * MS,
	thread_ns => 0.5 * MS, cpu => 1, rt_priority => 90, over => 1
);
my $d = judged('module', $s, 'irqs-off', 'culprit/1', 0.79, 0.81);
is($d->{interval}{start_ns},    LATE * MS, 'module: from the expiry');
is($d->{interval}{duration_ns}, 2.5 * MS,  'module: to the thread');
like(
	$d->{verdict}{sentence},
	qr{^tipme-high/1 \(pid 710\) ran 2\.5 ms after its timer had expired: for 2\.0 ms \(80 %\) "culprit/1" \(pid 700\) kept the timer's interrupt, or what it defers, waiting, in culprit_keeps_interrupts_off \[tipme_culprit\] < run \[tipme_culprit\] < kthread\.$},
	'module: the sentence names the function'
);
is(
	join(' ', map {"$_->{blamed}{kind} $_->{state}"} @{ $d->{path} }),
	'irqs-off sleeping cpu-contention runnable', 'module: then the culprit had the CPU still'
);
cmp_ok($d->{verdict}{confidence}, '==', 1, 'module: sure');
is_deeply(
	[ @{ $d->{latency} }{qw(cpu tid priority irq_ns deferred_ns thread_ns samples)} ],
	[ 1, HIGH, 90, 1.95 * MS, 0.05 * MS, 0.5 * MS, 25 ],
	'module: its stages, and the samples of its CPU'
);
is(
	$d->{latency}{places}[0]{where},
	'culprit_keeps_interrupts_off [tipme_culprit] < run [tipme_culprit] < kthread',
	'module: by function'
);
is($d->{latency}{places}[0]{samples}, 20, 'module: most of them');
my $page = Tipme::Report::Text::page($d);
like(
	$page,
	qr/^stages of the latency: interrupt 1\.950 ms, deferred work 0\.050 ms, thread 0\.500 ms$/m,
	'module: the page has the stages'
);
like(
	$page, qr/^where CPU 1 was until then: 25 samples\n *20 +80\.0 % +culprit_keeps/m,
	'module: and the places'
);
is_deeply(
	Tipme::Report::JSON::data($d)->{latency}{places}, $d->{latency}{places},
	'module: so has JSON'
);

# --- by a thread in user space, its records beside those of the kernel source ---
$s = late('latency of 2.500 ms on CPU 1');
samples($s, LATE + 2.05, LATE + 2.5, 9001, kind => 'clock', daemon => 1);
$s->daemon(
	'latency_user', ts_ns => Tipme::Test::Story::ns(LATE + 2.5), tid => HIGH,
	user_ns => 2.5 * MS, cpu => 1, rt_priority => 80, over => 1, expiry_ns => LATE * MS
);
$d = judged('user', $s, 'irqs-off', 'culprit/1', 0.79, 0.81);
is_deeply(
	[ @{ $d->{latency} }{qw(irq_ns thread_ns samples)} ], [ undef, 2.5 * MS, 5 ],
	'user: stages before the thread are not told'
);
like(
	Tipme::Report::Text::page($d), qr/^stages of the latency: thread 2\.500 ms\n.*5 samples$/m,
	'user: the page says what is known'
);

# --- the CPU was idle: nobody is to be blamed ---
$s = Tipme::Test::Story->new(
	manifest => {
		trigger => { kind => 'kernel', ns => 4000 * MS, text => 'latency of 2.100 ms on CPU 1' }
	}
);
$s->builder->thread(HIGH, 'tipme-high/1', flags => 1, prio => 9, ts_ns => 900 * MS);
$s->wake(1, LATE + 2, HIGH, 0, undef, context => 'hardirq', prio => 9)
	->run(1, LATE + 2.1, LATE + 2.2, HIGH, 'sleeping', prio => 9);
$s->kernel(
	1, LATE, 'latency', tid => HIGH, irq_ns => 1.9 * MS, deferred_ns => 0.1 * MS,
	thread_ns => 0.1 * MS, cpu => 1, rt_priority => 90, over => 1
);
$d = judged('idle', $s, 'unknown', undef, 0.9);
like($d->{verdict}{sentence}, qr/came late to an idle CPU/, 'idle: says what is known');

# --- words alone make no latency: nothing in the records is like them, so the episode is judged as
# any other ---
for my $text (
	'latency of 2.500 ms on CPU 0', 'latency of 9.900 ms on CPU 1', 'latency of x ms',
	'my latency of 2.500 ms on CPU 1'
	)
{
	my $o = late($text);
	$o->kernel(
		1, LATE, 'latency', tid => HIGH, irq_ns => 2.5 * MS, cpu => 1, rt_priority => 90,
		over => 1
	);
	my $dir = File::Temp::tempdir(CLEANUP => 1);
	is($o->diagnose("$dir/x")->{latency}, undef, "not that latency: $text");
}
is_deeply(\@warnings, [], 'no warning from Perl');
done_testing;
