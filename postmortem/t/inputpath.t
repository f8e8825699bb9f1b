#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Input events: which count, to whom they belong, when they entered; the hot-key's own presses never
# do.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
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

my $d = opened(story()->hotkey(3000));
my @e = $d->events;
is(scalar @e, 6, 'master copies are no events');
is_deeply([ map { $_->{n} } @e ], [ 1 .. 6 ], 'they are numbered from 1');
is_deeply(
	[ map { $_->{chord} ? 1 : 0 } @e ], [ 0, 0, 0, 1, 1, 1 ],
	'the hot-key and its modifiers are marked'
);
is_deeply([ map { $_->{candidate} ? 1 : 0 } @e ], [ 1, 1, 1, 0, 0, 0 ], 'and are no candidates');

# Modifiers that were delivered (to a client that has hung since): they are the hot-key's all the
# same, and what was typed before is not.
my $s = story()->enter(1000, no_wake => 1)->enter(2940)->enter(2970, no_wake => 1)
	->enter(3000, chord => 'last');
$d = opened($s);
is_deeply(
	[ map { $_->{chord} ? 1 : 0 } $d->events ], [ 0, 0, 0, 0, 1, 1, 1 ],
	'delivered modifiers are the hot-key\'s; the key that nobody answered is not'
);

# On a server without hooks our own agent hears the hot-key; and what is typed into its dialog is
# never the problem.
$s = story(manifest =>
		{ recorder => { agents => [900] }, trigger => { kind => 'hotkey', ns => 3010 * MS } });
$s->enter(1000, no_wake => 1)->enter(2000, chord => 'dialog')->enter(2940)
	->enter(2970, no_wake => 1)->enter(3000, chord => 'agent');
$s->builder->x(
	$_->[1] * MS, 'x_deliver', input_seq => $_->[0], kind => 'key_press', pid => 900,
	client => 9, x_type => 2
) for [ 5, 2000.2 ], [ 8, 3000.2 ];
$d = opened($s);
is_deeply(
	[ map { $_->{chord} ? 1 : 0 } $d->events ], [ 0, 0, 0, 0, 0, 1, 1, 1 ],
	'what the agent heard is the hot-key'
);
is_deeply(
	[ map { $_->{candidate} ? 1 : 0 } $d->events ], [ 1, 1, 1, 1, 0, 0, 0, 0 ],
	'what went to the dialog is no candidate'
);
# The one of the episode before is no candidate either; where that was asked for by a command, what
# was typed then is none of it.
for ([ 'hot-key', [ 0, 0, 0, 1, 1, 1, 1, 1, 1 ], 1502 ], [ 'command', [ (0) x 6, 1, 1, 1 ], 1501 ])
{
	my ($what, $chords, $before) = @$_;
	$s = story(
		manifest => {
			recorder => { agents => [900] },
			trigger  => { kind   => 'hotkey', ns => 3010 * MS, before_ns => $before * MS }
		}
	);
	my $typed = $what eq 'command';
	$s->enter($_ - 60, no_wake => 1)->enter($_ - 30, no_wake => 1)
		->enter($_, $typed && $_ < 3000 ? (no_wake => 1) : (chord => 'agent'))
		for 1500, 3000;
	$s->builder->x(
		$_->[1] * MS, 'x_deliver', input_seq => $_->[0], kind => 'key_press',
		pid => 900, client => 9, x_type => 2
	) for $typed ? () : [ 6, 1500.2 ], [ 9, 3000.2 ];
	is_deeply(
		[ map { $_->{chord} ? 1 : 0 } opened($s)->events ], $chords,
		"the $what of the episode before"
	);
}
# A client that draws at every press draws at those of the hot-key, too: that answers them, not the
# key before.
$s = story()->key(1000, 400)->enter(2940)->run(1, 2940.3, 2941, CLIENT, 'sleeping')->draw(2940.5)
	->enter(3000, chord => 'last');
$d = opened($s);
is_deeply(
	[ map { $_->{chord} ? 1 : 0 } $d->events ], [ 0, 0, 0, 0, 0, 1 ],
	'a press that was answered may be no modifier'
);
# A client may draw at each key, at a modifier, too: one that is held down still is the hot-key's.
for (
	[ 2970,  [ (0) x 7, 1 ], 'not one that was let go before' ],
	[ undef, [ (0) x 5, 1, 1 ], '... but one that is held' ]
	)
{
	my ($let_go, $chords, $what) = @$_;
	$s = story()->key(1000, 400)->enter(1080, kind => 'key_release', no_wake => 1)->enter(2940)
		->run(1, 2940.3, 2941, CLIENT, 'sleeping')->draw(2940.5);
	$s->enter($let_go, kind => 'key_release', no_wake => 1) if defined $let_go;
	$s->enter(3000, chord => 'last');
	is_deeply([ map { $_->{chord} ? 1 : 0 } opened($s)->events ], $chords, $what);
}
$s = story()->key(1000, 400)->enter(2900)->enter(2940)->enter(3000, chord => 'last');
$s->builder->x(
	2940.8 * MS, 'x_damage', pid => CLIENT, client => 4, major => 74, width => 6,
	height => 13
);
$s->builder->x(2940.5 * MS, 'x_deliver', kind => 'other', pid => CLIENT, client => 4, x_type => 85);
my ($slow) = grep { $_->{n} == 4 } opened($s)->events;
is(
	$slow->{next_ns}, int(2900.19 * MS + 0.5),
	'the presses of a hot-key end the time in which the key before is answered'
);
is(scalar @{ $slow->{bursts} }, 1, '... and what they draw is not its answer');

# The number of a client that has gone is given to another: what that one draws answers nobody
# else's key.
$s = story();
$s->builder->x(1000 * MS, 'x_device', input_seq => 70, kind => 'key_press', device => 6)->x(
	1000.1 * MS, 'x_deliver', input_seq => 70, kind => 'key_press', pid => 555, client => 4,
	x_type => 2
)->x(1050 * MS, 'x_client', pid => 555, client => 4, state => 'gone');
($slow) = grep { $_->{seq} == 70 } opened($s->key(2000, 5)->hotkey(3000))->events;
is(scalar @{ $slow->{bursts} }, 0,         'a client is a number and a process');
is($slow->{gone_ns},            1050 * MS, '... and it is known when it went');

# A window manager that listens, too: the client that changes the screen has the event.
$s = story();
$s->builder->x(
	1000.15 * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => 555,
	client => 2, x_type => 2
);
$s->key(1000, 20);
$d = opened($s);
is(($d->events)[3]{pid}, CLIENT, 'of two clients the one that changed the screen');

# The input thread of the server was woken first, and then had to wake the main thread.
$s = story();
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
$d = opened($s);
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

# A release does not cut the answer to its press.
$s = story()->enter(1000)->run(1, 1000.25, 1401, CLIENT, 'sleeping')
	->enter(1080, kind => 'key_release', no_wake => 1)->draw(1400.9)->hotkey(3000);
$r = opened($s)->run;
is($r->{event}{kind},      'key_press', 'the press is judged');
is($r->{interval}{end_ns}, 1401.1 * MS, 'and answered after the release');

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

# The pointer's motion is answered by the pointer: what kept the server from reading it is judged;
# of many read in one go only the first.
sub moves {
	my ($from, %o) = @_;
	my $s = story();
	my $b = $s->builder;
	$b->thread(901, 'hog', ts_ns => 890 * MS);
	$b->x(800 * MS, 'x_sleep');
	$s->run(0, 900, $from + $o{wait}, 901, 'dead', prio => 79, next => SERVER)
		->wake(0, $from, SERVER, 0, 'epoll', context => 'hardirq');
	my $t = $from + $o{wait};
	$b->switch(0, ($t + 0.5) * MS, SERVER, 0, 'sleeping')->x(($t + 0.06) * MS, 'x_wakeup');
	$b->x(
		($t + 0.1 + $_ / 100) * MS, 'x_device', input_seq => 70 + $_, kind => 'motion',
		device => 6
	) for 0 .. 5;
	$b->x(($t + 0.4) * MS, 'x_sleep');
	return $s->hotkey(3000);
}
$r = opened(moves(1000, wait => 400))->run;
is($r->{event}{kind},           'motion',        'a pointer that stood still is the problem');
is($r->{event}{client},         undef,           'no client has to do with it');
is($r->{verdict}{kind},         'rt-starvation', 'it says why');
is($r->{verdict}{blamed}{comm}, 'hog',           'and who');
like(
	$r->{verdict}{sentence},
	qr/^The pointer followed its motion after 400 ms: for 400 ms \(100 %\) the X server \(pid 100\) waited for a CPU that the real-time process "hog" \(pid 901\) kept\.$/,
	'in words'
);
is(
	scalar(grep { $_->{candidate} && $_->{motion} } opened(moves(1000, wait => 400))->events), 1,
	'the others waited less'
);
is(
	opened(moves(1000, wait => 80))->run->{verdict}{kind}, 'rt-starvation',
	'a pointer is watched closely: 80 ms are seen'
);
is(
	opened(moves(1000, wait => 60))->run->{verdict}{sentence},
	'Nothing unusual: the pointer followed its motion after 60 ms, the slowest here.',
	'and 60 ms are not'
);
require Tipme::Report::Text;
require Tipme::Report::JSON;
ok(
	length Tipme::Report::Text::page($r) && Tipme::Report::JSON::data($r),
	'page and JSON can be made'
);

# While a button is held, the client answers the motion.
$s = story()->enter(1000, kind => 'button_press')->run(1, 1000.25, 1003, CLIENT, 'sleeping')
	->draw(1002.9);
$s->enter(1100, kind => 'motion')->run(1, 1100.25, 1103, CLIENT, 'sleeping')->draw(1102.9);
$s->enter(1200, kind => 'motion')->run(1, 1200.25, 1701, CLIENT, 'sleeping')->draw(1700.9)
	->enter(1800, kind => 'button_release')->run(1, 1800.25, 1800.5, CLIENT, 'sleeping')
	->hotkey(3000)->picture(CLIENT, 'xterm', since_ns => 1800.5 * MS, stack_id => $s->id('poll'));
$r = opened($s)->run;
is(
	"$r->{event}{kind} $r->{verdict}{kind}", 'motion app-compute',
	'a drag that the client answers late'
);
is($r->{interval}{duration_ns}, 501.1 * MS, 'up to what it drew');
Tipme::Test::Judge::judged('a drag', $s, 'app-compute', 'xterm', 0.97, 1);

# What is usual: this episode, or where it has too little, what the caller knows of others.
$s = story(no_usual => 1)->key(1000, 400)->hotkey(3000);
my @asked;
$r = Tipme::Diagnosis->new(
	Tipme::Episode->open($s->builder->write("$tmp/usual")),
	baseline => sub { @asked = @_; return (3 * MS, 50) }
)->run;
is_deeply(\@asked, [ 'key_press', 'xterm' ], 'asked by kind and client');
is_deeply(
	[ @{ $r->{interval} }{qw(usual_ns usual_count usual_where)} ], [ 3 * MS, 50, 'library' ],
	'and believed'
);
like($r->{verdict}{sentence}, qr/after 400 ms, usually 3\.0 ms: /, 'said');
$r = Tipme::Diagnosis->new(
	Tipme::Episode->open("$tmp/usual"),
	baseline => sub { return (380 * MS, 50) }
)->run;
is($r->{verdict}{kind}, 'none', 'what is always so slow is nothing unusual');
my ($mine) = Tipme::Diagnosis->new(
	Tipme::Episode->open(story()->key(1000, 400)->hotkey(3000)->builder->write("$tmp/mine")))
	->usual_responses(4);
is_deeply(
	$mine, { kind => 'key_press', comm => 'xterm', events => 3, median_ns => 2_940_000 },
	'what others will call usual'
);

# Asked twice while the ring holds both: the second answer is about what came since, if that is
# worth it.
for (
	[ 300, 1500, 'what came since, though it was shorter' ],
	[ 20,  1000, 'where nothing unusual came since, what there was' ]
	)
{
	my ($late, $from, $what) = @$_;
	my $again = story(
		manifest => {
			trigger => { kind => 'hotkey', ns => 3000 * MS, text => '', before_ns => 1480 * MS }
		}
	)->key(1000, 400)->key(1500, $late)->hotkey(3000);
	$again->builder->{trigger_ns} = 3000 * MS;
	my $v = Tipme::Diagnosis->new(Tipme::Episode->open($again->builder->write("$tmp/again-$late")))
		->run;
	is(int($v->{interval}{start_ns} / MS + 0.5), $from, "asked again: $what");
	my $new = $from == 1000 ? 0 : 1;
	is(
		$v->{verdict}{kind}, $new ? 'app-compute' : 'none',
		'... what was reported before is not reported again'
	);
	my $said = $v->{verdict}{sentence} =~
		/^Nothing slow since your last report 1\.52 s ago\. Before that: xterm \(pid 200\) answered a key press after 400 ms/;
	ok($new ? !$said : $said, '... and it is said when it is nothing new');
	is(($v->{verdict}{before} // {})->{kind}, $new ? undef : 'app-compute', '... with what it was');
}

# What lasts since before the last report is no old cause.
{
	my $s = story(
		manifest => {
			trigger => { kind => 'hotkey', ns => 3000 * MS, text => '', before_ns => 1480 * MS }
		}
	)->enter(1000)->run(1, 1000.25, 2999, CLIENT, 'sleeping', open => 1)->hotkey(3000);
	my $v = Tipme::Diagnosis->new(Tipme::Episode->open($s->builder->write("$tmp/lasts")))
		->run->{verdict};
	is($v->{kind}, 'app-compute', 'what lasts since before the last report');
	is_deeply($v->{circumstance_codes}, ['asked-before'], '... is said to have been there then');
}

# No input event at all: what stood still longest; a nice process, a kernel thread, and what came
# after the trigger do not count.
my $ring = Tipme::Test::Episode->new(trigger_ns => 3000 * MS, end_ns => 4000 * MS, first_ns => MS);
$ring->thread(@$_) for [ 10, 'desk' ], [ 11, 'hog' ], [ 12, 'kswapd0', flags => 1 ],
	[ 13, 'nicely', prio => 139 ], [ 14, 'later' ];
$ring->switch(0, 2 * MS, 999, 0, 'sleeping')->switch(1, 2 * MS, 999, 11, 'sleeping');
$ring->wake(0, 500 * MS, 13, 0, context => 'hardirq', prio => 139)
	->wake(0, 600 * MS,  12, 0, context => 'hardirq')
	->wake(0, 1000 * MS, 10, 0, context => 'hardirq');
$ring->switch(1, 1700 * MS, 11, 10, 'runnable', prev_preempted => 1)
	->switch(1, 1701 * MS, 10, 12, 'sleeping')
	->switch(1, 1702 * MS, 12, 13, 'sleeping', next_prio => 139)
	->switch(1, 1703 * MS, 13, 11, 'sleeping', prev_prio => 139)
	->wake(0, 3001 * MS, 14, 0, context => 'hardirq')
	->switch(1, 3990 * MS, 11, 14, 'runnable', prev_preempted => 1);
my $stall = Tipme::Diagnosis->new(Tipme::Episode->open($ring->write("$tmp/stall")))->run;
is(
	"$stall->{verdict}{kind} $stall->{verdict}{blamed}{comm}", 'cpu-contention hog',
	'no input event: the worst stall'
);
is(
	"$stall->{interval}{start_ns} $stall->{interval}{end_ns}", 1000 * MS . ' ' . 1700 * MS,
	'from when to when'
);
like(
	$stall->{verdict}{sentence},
	qr/^desk \(pid 10\) was woken and did not run for 700 ms, the longest here: for 700 ms \(100 %\) it waited for a CPU taken by "hog" \(pid 11\)\. \(No X server was recorded/,
	'in words'
);
# Asked for a time, the one that lasted then, or the nearest; it is what servers that nobody records
# are left with.
$ring->wake(0, 2000 * MS, 14, 0, context => 'hardirq')
	->switch(1, 2200 * MS, 11, 14, 'runnable', prev_preempted => 1)
	->switch(1, 2201 * MS, 14, 11, 'sleeping');
my $two = Tipme::Episode->open($ring->write("$tmp/two-stalls"));
for (
	[ -1.9, 'desk',  700, 'the longest at that time' ],
	[ -0.9, 'later', 200, 'the longest at that time' ],
	[ -0.1, 'later', 200, 'the nearest to that time' ]
	)
{
	my ($at, $comm, $long, $words) = @$_;
	like(
		Tipme::Diagnosis->new($two)->run(at => $at)->{verdict}{sentence},
		qr/^$comm \(pid \d+\) was woken and did not run for $long ms, $words: /, "at $at s: $comm"
	);
}
my $calm = Tipme::Test::Episode->new(trigger_ns => 3000 * MS, end_ns => 4000 * MS, first_ns => MS)
	->thread(10, 'desk')->switch(0, 2 * MS, 10, 0, 'sleeping');
for (undef, -1) {
	my $none =
		Tipme::Diagnosis->new(Tipme::Episode->open($calm->write("$tmp/calm" . (defined ? 1 : 0))))
		->run(at => $_)->{verdict};
	like(
		"$none->{kind} $none->{sentence}",
		qr/^unknown No X server was recorded.* No thread of a program stood still for 100 ms\.$/,
		'nothing stood still: said'
	);
}
require Tipme::Timeline;
ok(
	length Tipme::Report::Text::page($stall) && Tipme::Report::JSON::data($stall),
	'page and JSON can be made'
);

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
