#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# When an input event entered that the server was late to read: by the wake-up of its threads, by
# its own records of its input thread, by the kernel module; and who kept it.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Test::Judge;
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, KWORKER => 50, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;

sub opened {
	my ($s) = @_;
	return Tipme::Diagnosis->new(Tipme::Episode->open($s->builder->write("$tmp/i" . ++$n)));
}
sub ns    { return Tipme::Test::Story::ns($_[0]) }
sub story { return Tipme::Test::Story->new(@_) }

# The input thread of the server was woken first, and then had to wake the main thread.
my $s = story();
$s->builder->thread(101, 'InputThread', pid => SERVER, ts_ns => 5 * MS);
$s->wake(0, 1000, 101, 0, 'epoll', context => 'hardirq')->run(0, 1150, 1150.2, 101, 'sleeping');
$s->builder->x(999 * MS, 'x_sleep');
$s->wake(0, 1150.1, SERVER, 101, 'epoll')->run(0, 1150.3, 1150.6, SERVER, 'sleeping');
my $b = $s->builder;
$b->x(1150.32 * MS, 'x_wakeup')
	->x(1150.4 * MS,  'x_device',  input_seq => 4, kind => 'key_press', device => 6)
	->x(1150.45 * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => CLIENT, client => 4)
	->x(1150.58 * MS, 'x_sleep');
$s->wake(0, 1150.5, CLIENT, SERVER, 'poll')->run(1, 1150.7, 1152, CLIENT, 'sleeping')->draw(1151.9);
my $i = opened($s)->run(event => 4)->{interval};
is($i->{start_ns},  1000 * MS, 'the event entered when the input thread was woken');
is($i->{certainty}, 'exact',   'which is exact');

# A server without such a thread was woken, and waited for a CPU: it may have been woken for
# something else, and the event come meanwhile; but not if a process woke it that has then asked it
# nothing: that one wrote the event.
for my $case (
	[ 1,  0,   'exact' ],
	[ 30, 0,   'inferred' ],
	[ 30, 700, 'exact' ],
	[
		30, 700, 'inferred',
		x_request => { client => 7, duration_ns => 20_000, major => 43, count => 1 }
	],
	[ 30, 700, 'inferred', x_client => { client => 7, state => 'gone' } ],
	[
		30, 700, 'exact',
		x_request => { pid => 555, client => 7, duration_ns => 20_000, major => 43, count => 1 }
	],
	[ 30, SERVER, 'inferred' ]
	)
{
	my ($late, $by, $sure, $kind, $fields) = @$case;
	$s = story();
	$b = $s->builder;
	$b->thread(700, 'typist', ts_ns => 5 * MS);
	$b->x(999 * MS, 'x_sleep');
	$s->wake(0, 1000, SERVER, $by, 'epoll', context => $by ? 'task' : 'hardirq')
		->run(0, 1000 + $late, 1000.6 + $late, SERVER, 'sleeping');
	$b->x((1000.1 + $late) * MS, 'x_wakeup')
		->x((1000.2 + $late) * MS, 'x_device', input_seq => 4, kind => 'key_press', device => 6)
		->x(
		(1000.3 + $late) * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => CLIENT,
		client => 4
	)->x((1000.5 + $late) * MS, 'x_sleep');
	$b->x((1000.4 + $late) * MS, $kind, pid => 700, %$fields) if $kind;
	$s->wake(0, 1000.3 + $late, CLIENT, SERVER, 'poll')
		->run(1, 1000.4 + $late, 1200, CLIENT, 'sleeping')->draw(1199.9);
	$i = opened($s)->run(event => 4)->{interval};
	my $name =
		  "awake after $late ms"
		. ($by   ? ", woken by $by"                              : '')
		. ($kind ? " ($kind of " . ($fields->{pid} // 700) . ')' : '');
	is($i->{start_ns},  1000 * MS, "$name: the event entered when the server was woken");
	is($i->{certainty}, $sure,     "$name: how sure that is");
}

# The same with what the input thread itself tells, in a file of its own, and with sleeps and
# wakings in one record.
$s = story();
$s->builder->thread(101, 'InputThread', pid => SERVER, ts_ns => 5 * MS);
$s->wake(0, 1000, 101, 0, 'epoll', context => 'hardirq')->run(0, 1150, 1150.2, 101, 'sleeping');
$s->wake(0, 1150.1, SERVER, 101, 'epoll')->run(0, 1150.3, 1150.6, SERVER, 'sleeping');
$b = $s->builder;
$b->x(999 * MS, 'x_idle', duration_ns => 151.32 * MS)->x(
	1150.4 * MS, 'x_device', input_seq => 4, kind => 'key_press', device => 6,
	server_ms => 1150
	)
	->x(1150.45 * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => CLIENT, client => 4)
	->x(1150.58 * MS, 'x_idle', duration_ns => 1 * MS);
my $input = 'x-' . SERVER . '-101.rec';
$b->add(
	$input, 'x_hooks', 0, 'x_input', ts_ns => $_->[0] * MS, tid => 101,
	kernel_ns => $_->[1] * MS, kind => $_->[2]
	)
	for [ 900, 899, 'key_press' ], [ 1150.03, 999.8, 'key_press' ], [ 1150.05, 999.8, 'motion' ],
	[ 1190, 1189, 'key_press' ];
$b->x(1200 * MS, 'x_sleep');
$s->wake(0, 1150.5, CLIENT, SERVER, 'poll')->run(1, 1150.7, 1152, CLIENT, 'sleeping')->draw(1151.9);
my $d = opened($s);
is(scalar(() = $d->servers), 1, 'two rings of a process are one server') if $d->can('servers');
my ($e) = grep { $_->{seq} == 4 } $d->events;
is($e->{kernel_ns}, 999.8 * MS,   'the event has the time that the kernel put on it');
is($e->{read_ns},   1150.03 * MS, 'and that of its reading');
is($e->{wakeup_ns}, 1150.32 * MS, 'the server woke when its idle time was over');
my $r = $d->run(event => $e->{n});
is($r->{interval}{start_ns}, 999.8 * MS, 'the interval begins with the kernel');
my ($read) = grep { $_->{name} eq 'read' } @{ $r->{event}{stages} };
is($read->{ts_ns}, 1150.03 * MS, 'the reading is a stage') or diag explain $r->{event}{stages};
is(scalar(grep { defined $_->{kernel_ns} } $d->events), 1, 'no other event has it')
	or diag explain [ map { $_->{kernel_ns} } $d->events ];

# With the kernel module: the input core's own record, of this device and kind, and the interrupt
# around it, where that was long enough for a record.
sub with_module {
	my (@records) = @_;
	my $s = story();
	$s->builder->thread(101, 'InputThread', pid => SERVER, ts_ns => 5 * MS)
		->daemon(6 * MS, 'irq_name', number => 1, name => 'i8042');
	$s->wake(0, 1000, 101, 0, 'epoll', context => 'hardirq')
		->run(0, 1000.35, 1000.6, 101, 'sleeping');
	$s->wake(0, 1000.5, SERVER, 101, 'epoll')
		->run(0, 1000.6, 1001, SERVER, 'sleeping', prev => 101);
	my $b = $s->builder;
	$b->x(999 * MS, 'x_idle', duration_ns => 1.62 * MS)->x(
		1000.7 * MS, 'x_device', input_seq => 4, kind => 'key_press', device => 6,
		server_ms => 1000
	)->x(
		1000.75 * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => CLIENT,
		client => 4
	)->x(1000.98 * MS, 'x_idle', duration_ns => 1 * MS);
	$b->add(
		$input, 'x_hooks', 0, 'x_input', ts_ns => 1000.4 * MS, tid => 101,
		kernel_ns => 999.9 * MS, kind => 'key_press', device => 2
	);
	$b->add(
		'module.rec', 'kernel_module', $_->[0], $_->[1], ts_ns => $_->[2] * MS,
		@$_[ 3 .. $#$_ ]
	) for @records;
	$b->x(1450 * MS, 'x_sleep');
	$s->wake(0, 1000.8, CLIENT, SERVER, 'poll')->run(1, 1001, 1400, CLIENT, 'sleeping')
		->draw(1399.9);
	return opened($s)->run;
}
my @core   = (0, 'input', 999.8, kind => 'key_press', class => 'keyboard', device => 2);
my @irq    = (0, 'irq', 999.3, tid => 0, kind => 'hardirq', number => 1, duration_ns => 0.85 * MS);
my @others = (
	[ 0, 'input', 999.85, kind => 'key_press', device => 3 ],
	[ 0, 'input', 999.84, kind => 'motion',    device => 2 ],
	[ 0, 'input', 960,    kind => 'key_press', device => 2 ],
	[ 0, 'input', 1000.2, kind => 'key_press', device => 2 ],
	[ 1, 'irq',   999,    tid  => 0, kind => 'hardirq', number => 9, duration_ns => MS ],
	[ 0, 'irq',   998,    tid  => 0, kind => 'hardirq', number => 1, duration_ns => 0.4 * MS ]
);

sub stage {
	my ($d) = @_;
	return map {
		"$_->{name} " . ($_->{ts_ns} - 999 * MS) / MS . ($_->{certainty} eq 'exact' ? '' : '?')
	} @{ $d->{event}{stages} }[ 0 .. 2 ];
}

my $m = with_module(\@core, \@irq, @others);
is(join(', ', stage($m)), 'interrupt 0.3, input 0.8, read 1.4', 'a letter from its interrupt on');
is($m->{interval}{start_ns}, 999.3 * MS, 'the interval begins with the interrupt');
is($m->{path}[0]{from_ns},   999.3 * MS, 'so does the path');
is($m->{path}[0]{to_ns},     1000 * MS,  'which the interrupt has until it wakes the server')
	or diag explain $m->{path};
is_deeply(
	[ @{ $m->{path}[0]{blamed} }{qw(kind comm)} ], [ 'irq-time', 'interrupt 1 (i8042)' ],
	'by its name'
);
is($m->{path}[0]{evidence}[0]{file}, 'module.rec', 'with its record');
is(
	$m->{totals}{kinds}{'irq-time'}, 0.85 * MS,
	'and all its time in the sum: it has the CPU for a while after that'
);
like(
	Tipme::Report::Text::page($m),
	qr/\+0\.000\s+ms\s+its interrupt came\n\s*\+0\.500\s+ms\s+it entered\n/, 'the page says it'
);
$m = with_module(\@core, @others);
is(
	join(', ', stage($m)), 'input 0.8, read 1.4, server 1.62',
	'an interrupt too short for a record: from the input core on'
);
is($m->{interval}{start_ns}, 999.8 * MS, 'there the interval begins');
$m = with_module(@others);
is(
	join(', ', stage($m)), 'input 0.9, read 1.4, server 1.62',
	'nothing of this event: from the time that evdev put on it'
);
$m = with_module(
	\@core,
	[
		@irq[ 0 .. 3 ], 0, kind => 'softirq', number => 6, context => 'hardirq',
		duration_ns => 0.55 * MS
	],
	@others
);
is(join(', ', stage($m)), 'interrupt 0.3, input 0.8, read 1.4', 'a softirq of a USB controller');
is($m->{path}[0]{to_ns},        999.85 * MS,            'until it ends') or diag explain $m->{path};
is($m->{path}[0]{blamed}{comm}, 'softirq 6 (tasklets)', 'by its name, too');

# A server that hangs in a request: only its input thread has read the key, and the hot-key after
# it.
$s = story();
$b = $s->builder;
$b->thread(700, 'painter', ts_ns => 5 * MS)
	->thread(101, 'InputThread', pid => SERVER, ts_ns => 5 * MS);
$b->x(990 * MS, 'x_idle', duration_ns => 10 * MS)
	->wake(0, 1000 * MS, SERVER, 700, stack_id => 2, wakee_cpu => 0);
$b->switch(0, 1000.05 * MS, 0, SERVER, 'runnable');
$b->x(1000.2 * MS, 'x_request', pid => 700, client => 8, duration_ns => 2100 * MS, count => 0);
$b->add(
	$input, 'x_hooks', 0, 'x_input', ts_ns => $_ * MS, tid => 101,
	kernel_ns => ($_ - 0.1) * MS, kind => 'key_press'
) for 1100, 2900, 2920, 2940;
$b->add($input, 'x_hooks', 0, 'x_chord', ts_ns => 2940 * MS, tid => 101, action => 2);
$d = opened($s);
my @p = grep { $_->{pending} } $d->events;
is_deeply(
	[ map { $_->{chord} ? 1 : 0 } @p ], [ 0, 1, 1, 1 ],
	'keys that nobody has looked at are events, the hot-key\'s are not meant'
);
$r = $d->run(event => $p[0]{n});
is_deeply(
	[ @{ $r->{interval} }{qw(start_ns certainty)} ], [ 1099.9 * MS, 'open' ],
	'such a one is open from its kernel time on'
);
is_deeply(
	[ map { $_->{name} } @{ $r->{event}{stages} } ], [qw(input read)],
	'and came as far as the input thread'
);
is_deeply(
	[ @{ $r->{verdict} }{qw(kind)}, $r->{verdict}{blamed}{comm} ],
	[ 'client-queue', 'painter' ], $r->{verdict}{sentence}
);

# The key comes later than such a record can tell how long the request has lasted.
$s = story(trigger => 10_000);
$b = $s->builder;
$b->thread(700, 'painter', ts_ns => 5 * MS)
	->thread(101, 'InputThread', pid => SERVER, ts_ns => 5 * MS);
$b->x(990 * MS, 'x_idle', duration_ns => 10 * MS)
	->wake(0, 1000 * MS, SERVER, 700, stack_id => 2, wakee_cpu => 0);
$b->switch(0, 1000.05 * MS, 0, SERVER, 'runnable');
$b->x(1000.2 * MS, 'x_request', pid => 700, client => 8, duration_ns => 4294967295, count => 0);
$b->add(
	$input, 'x_hooks', 0, 'x_input', ts_ns => $_ * MS, tid => 101,
	kernel_ns => ($_ - 0.1) * MS, kind => 'key_press'
) for 7000, 9900, 9920, 9940;
$b->add($input, 'x_hooks', 0, 'x_chord', ts_ns => 9940 * MS, tid => 101, action => 2);
$d = opened($s);
($p[0]) = grep { $_->{pending} } $d->events;
$r = $d->run(event => $p[0]{n});
is_deeply(
	[ $r->{verdict}{kind}, $r->{verdict}{blamed}{comm} ], [ 'client-queue', 'painter' ],
	$r->{verdict}{sentence}
);

# In the middle of that request the server sleeps for a moment, until a worker wakes it that a
# thread had woken which sleeps for seconds each time: what the server did before is still why
# nobody answered.
for my $stack (0, 8, 'long') {
	my $lasts = $stack eq 'long' ? 9000 : 2500;
	$s = story(trigger => $lasts + 500);
	$b = $s->builder;
	$b->thread(700, 'painter', ts_ns => 5 * MS)
		->thread(701, 'khugepaged',  ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(101, 'InputThread', pid   => SERVER, ts_ns    => 5 * MS);
	$b->x(990 * MS, 'x_idle', duration_ns => 10 * MS)
		->wake(0, 1000 * MS, SERVER, 700, stack_id => 2, wakee_cpu => 0);
	$b->switch(0, 1000.05 * MS, 0, SERVER, 'runnable');
	$b->x(
		1000.2 * MS, 'x_request', pid => 700, client => 8,
		duration_ns => $stack eq 'long' ? 4294967295 : 2100 * MS, count => 0
	);
	$b->switch(0, $lasts * MS, SERVER, 0, 'disk_sleep');
	$b->wake(1, ($lasts + 4) * MS, 701, 0, context => 'hardirq', wakee_cpu => 1);
	$s->run(1, $lasts + 4.1, $lasts + 4.4, 701, 'sleeping')
		->wake(1, $lasts + 4.2, KWORKER, 701, undef)
		->run(1, $lasts + 4.4, $lasts + 5.2, KWORKER, 'idle');
	$b->wake(
		1, ($lasts + 5) * MS, SERVER, KWORKER, wakee_cpu => 0,
		stack_id => $stack eq 'long' ? 0 : $stack
	);
	$b->switch(0, ($lasts + 5.1) * MS, 0, SERVER, 'runnable');
	$b->add(
		$input, 'x_hooks', 0, 'x_input', ts_ns => $_ * MS, tid => 101,
		kernel_ns => ($_ - 0.1) * MS, kind => 'key_press'
	) for 1100, map { $lasts + $_ } 400, 420, 440;
	$b->add($input, 'x_hooks', 0, 'x_chord', ts_ns => ($lasts + 440) * MS, tid => 101, action => 2);
	$d = opened($s);
	($p[0]) = grep { $_->{pending} } $d->events;
	$r = $d->run(event => $p[0]{n});
	is_deeply(
		[ $r->{verdict}{kind}, $r->{verdict}{blamed}{comm}, $r->{verdict}{share} > 0.99 ? 1 : 0 ],
		[ 'client-queue',      'painter',                   1 ],
		'a sleep of another kind than for the next request' . {
			0    => '', 8 => ', known by its stack',
			long => ', in a request longer than a record can tell'
		}->{$stack}
			. ": $r->{verdict}{sentence}"
	);
}

# A server that was busy with another client's request: its time stamp, taken by the input thread,
# tells when the key came.
$s = story();
$b = $s->builder;
$b->thread(700, 'painter', ts_ns => 5 * MS)->x(990 * MS, 'x_sleep')
	->wake(0, 1000 * MS, SERVER, 700, stack_id => 2, wakee_cpu => 0);
$s->run(0, 1000.05, 1501, SERVER, 'sleeping');
$b->x(1000.1 * MS, 'x_wakeup')
	->x(1000.2 * MS, 'x_request', pid => 700, client => 8, duration_ns => 500 * MS, count => 1)->x(
	1500.4 * MS, 'x_device', input_seq => 4, kind => 'key_press', device => 6,
	server_ms => 1100
)->x(1500.5 * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => CLIENT, client => 4)
	->x(1500.9 * MS, 'x_sleep');
$s->wake(0, 1500.6, CLIENT, SERVER, 'poll')->run(1, 1500.7, 1502, CLIENT, 'sleeping')->draw(1501.9)
	->hotkey(3000);
$r = opened($s)->run;
cmp_ok(
	abs($r->{interval}{start_ns} - 1100 * MS), '<', 2 * MS,
	'a busy server: the key came when the server\'s stamp says'
);
is($r->{interval}{certainty}, 'inferred', 'which is inferred');
is($r->{verdict}{kind}, 'client-queue',   'and the time before it was read is the other client\'s');
is($r->{verdict}{blamed}{comm}, 'painter', 'by name');
cmp_ok($r->{verdict}{share}, '>', 0.98, 'nearly all of it');

# A process injects keys; a real-time process keeps the server, which another client had woken, from
# its CPU when the last one is written. Then it reads it at once, or serves that client first.
for my $first (0, 1) {
	my $s = story(no_usual => 1);
	my $b =
		$s->builder->thread(700, 'typist', ts_ns => 5 * MS)->thread(710, 'asker', ts_ns => 5 * MS)
		->thread(901, 'hog', ts_ns => 5 * MS);
	my $writes = sub {
		my ($t) = @_;
		return $s->wake(1, $t - 0.1, 700, 0, 'nanosleep', context => 'hardirq')
			->run(1, $t - 0.05, $t + 0.05, 700, 'sleeping');
	};
	for my $k (1 .. 3) {
		my $t = 500 + 100 * $k;
		$writes->($t)->wake(1, $t, SERVER, 700, 'epoll')
			->run(0, $t + 0.1, $t + 0.5, SERVER, 'sleeping')
			->wake(0, $t + 0.3, CLIENT, SERVER, 'poll')
			->run(1, $t + 0.6, $t + 2, CLIENT, 'sleeping')->draw($t + 1.8);
		$b->x(($t - 1) * MS, 'x_sleep')->x(($t + 0.12) * MS, 'x_wakeup')
			->x(($t + 0.2) * MS, 'x_device', input_seq => 80 + $k, kind => 'key_press', device => 6)
			->x(
			($t + 0.25) * MS, 'x_deliver', input_seq => 80 + $k, kind => 'key_press',
			pid => CLIENT, client => 4
		)->x(($t + 0.4) * MS, 'x_sleep');
	}
	$s->run(0, 990, 1400, 901, 'dead', prio => 79, next => SERVER)
		->wake(1, 1000, SERVER, 710, 'epoll');
	$writes->(1100)->wake(1, 1200, 700, 0, 'nanosleep', context => 'hardirq');
	$b->x(ns(1400.05), 'x_wakeup')->x(
		ns(1400.06), 'x_request', pid => 710, client => 9, duration_ns => 10_000, major => 43,
		count => 1
	)->x(ns(1400.08), 'x_sleep')
		if $first;
	$b->switch(0, ns(1400.5), SERVER, 0, 'sleeping')->x(ns(1400.1), 'x_wakeup')
		->x(ns(1400.2), 'x_device', input_seq => 90, kind => 'key_press', device => 6)->x(
		ns(1400.25), 'x_deliver', input_seq => 90, kind => 'key_press', pid => CLIENT,
		client => 4
	)->x(
		ns(1400.3), 'x_request', pid => 710, client => 9, duration_ns => 20_000, major => 43,
		count => 1
	)->x(ns(1400.4), 'x_sleep');
	$s->wake(0, 1400.26, CLIENT, SERVER, 'poll')->run(1, 1400.6, 1402, CLIENT, 'sleeping')
		->draw(1401.8)->hotkey(3000);
	my $late = opened($s)->run;
	is(
		$late->{interval}{start_ns}, ns(1099.95),
		'an injected key: the interval begins when its writer ran'
	) or diag($late->{verdict}{sentence});
	is(
		"$late->{interval}{certainty} $late->{verdict}{kind} $late->{verdict}{blamed}{comm}",
		'inferred rt-starvation hog', '... which is inferred'
	);
}

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
