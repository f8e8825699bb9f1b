#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# One story for each kind of verdict: who is named, for how long, and that the path covers the
# interval to the nanosecond.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Report::Text;
use Tipme::Responses   qw(responses);
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, SHELL => 300, KWORKER => 50, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp    = tempdir(CLEANUP => 1);
my $opened = 0;

sub ns { return Tipme::Test::Story::ns($_[0]) }

sub opened {
	my ($s) = @_;
	return Tipme::Diagnosis->new(
		Tipme::Episode->open($s->builder->write("$tmp/opened" . ++$opened)));
}
sub story { return Tipme::Test::Story->new(@_) }

# --- nothing unusual ---
my $d = judged('none', story()->key(700, 5)->hotkey(3000), 'none', undef);
like(
	$d->{verdict}{sentence},
	qr/^Nothing unusual: xterm \(pid 200\) answered a key press after 5\.\d ms, usually 2\.9 ms\.$/,
	'none: the sentence'
);

# --- client and server on one CPU: the client sleeps again before the server, which it has woken,
# runs; the server is not at rest then ---
{
	my $s = story();
	$s->builder->thread(700, 'holder', ts_ns => 900 * MS);
	$s->enter(1000)->run(1, 1000.3, 1000.5, CLIENT, 'sleeping')
		->wake(0, 1399.5, 700, 0, 'nanosleep', context => 'hardirq')
		->run(0, 1399.6, 1399.9, 700, 'sleeping');
	$s->builder->stack(90, stack_text('unknown-call'));
	$s->wake(0, 1399.8, CLIENT, 700, undef, stack_id => 90)
		->run(1, 1400, 1400.2, CLIENT, 'sleeping')->draw(1400.1, CLIENT, run => 1400.25)
		->hotkey(3000);
	$s->builder->thread(
		CLIENT, 'xterm', ts_ns => 1700 * MS, since_ns => 1400.2 * MS, cpu => 1,
		state => 'sleeping', stack_id => $s->id('poll')
	);
	my $slow = $s->diagnose("$tmp/rest");
	is(
		$slow->{interval}{duration_ns}, int(400.4 * MS),
		'what the server has been woken for is the answer'
	) or diag($slow->{verdict}{sentence});
}

# --- a program whose event loop is a thread of its own (Tcl's notifier): a release without effect
# leaves it at rest ---
{
	my $s = story();
	my $b = $s->builder->stack(91, stack_text('futex'));
	$s->enter(2000, kind => 'button_release', client_stack => 'poll')
		->run(1, 2000.3, 2000.6, CLIENT, 'sleeping');
	$b->thread(
		CLIENT, 'xterm', ts_ns => 2500 * MS, since_ns => 2000.6 * MS, cpu => 1,
		state => 'sleeping', stack_id => 91
	)->thread(
		201, 'notifier', pid => CLIENT, ts_ns => 2500 * MS, since_ns => 5 * MS, cpu => 1,
		state => 'sleeping', stack_id => $s->id('poll')
	);
	my $all = Tipme::Diagnosis->new(
		Tipme::Episode->open($s->hotkey(3000)->builder->write("$tmp/notifier")));
	my ($release) = grep { $_->{kind} eq 'button_release' } $all->events;
	is($all->interval_of($release), undef, 'the main thread waits for its notifier: at rest');
}

# --- the same on a busy machine: the notifier gets a CPU only milliseconds after the main thread
# has gone to sleep ---
{
	my $s = story();
	my $b = $s->builder->stack(91, stack_text('futex'))->thread(
		201, 'notifier', pid => CLIENT, ts_ns => 900 * MS, since_ns => 5 * MS, cpu => 0,
		state => 'sleeping', stack_id => $s->id('poll')
	);
	$s->enter(2000, kind => 'button_release', client_stack => 'poll')
		->run(1, 2000.3, 2000.6, CLIENT, 'sleeping')
		->wake(1, 2000.55, 201, CLIENT, 'poll', wakee_cpu => 0)
		->run(0, 2004.5, 2004.6, 201, 'sleeping');
	$b->thread(
		CLIENT, 'xterm', ts_ns => 2500 * MS, since_ns => 2000.6 * MS, cpu => 1,
		state => 'sleeping', stack_id => 91
	)->thread(
		201, 'notifier', pid => CLIENT, ts_ns => 2500 * MS, since_ns => 2004.6 * MS,
		cpu => 0, state => 'sleeping', stack_id => $s->id('poll')
	);
	my $all = Tipme::Diagnosis->new(
		Tipme::Episode->open($s->hotkey(3000)->builder->write("$tmp/late-notifier")));
	my ($release) = grep { $_->{kind} eq 'button_release' } $all->events;
	is(
		$all->interval_of($release), undef,
		'the notifier that waits for a CPU comes to rest, too, a little later'
	);
}

# --- the first click on a client is not usual because somebody else's clicks were slower; its own
# keys say what it usually needs ---
{
	my $s = story();
	$s->builder->thread(555, 'sloth', ts_ns => 5 * MS);
	for my $i (1, 2) {
		my $t = 600 + 100 * $i;
		$s->builder->x(
			$t * MS, 'x_device', input_seq => 90 + $i, kind => 'button_press',
			device => 7
		)->x(
			($t + 0.1) * MS, 'x_deliver', input_seq => 90 + $i, kind => 'button_press',
			pid => 555, client => 9
		)->x(
			($t + 900) * MS, 'x_damage', pid => 555, client => 9, major => 74, width => 6,
			height => 13
		);
	}
	$s->enter(2000, kind => 'button_press')->run(1, 2000.3, 2440, CLIENT, 'sleeping')->draw(2439.9)
		->hotkey(3000);
	my $all     = Tipme::Diagnosis->new(Tipme::Episode->open($s->builder->write("$tmp/click")));
	my ($click) = grep { $_->{device_ns} == int(2000.1 * MS) } $all->events;
	my ($usual) = $all->{problem}->usual($click);
	cmp_ok(
		$usual, '<', 10 * MS,
		'what is usual for a first click is what the keys of that client needed'
	);
}

# --- who made it wait was called by a thread that was not the first of its process, and computed
# before that, too ---
{
	my $s = story()->enter(1000)->run(1, 1000.25, 1000.45, CLIENT, 'sleeping', next => 301);
	$s->builder->thread(
		301, 'launcher', pid => SHELL, ts_ns => 900 * MS, since_ns => 5 * MS,
		cpu => 1, state => 'sleeping', stack_id => $s->id('futex')
	);
	$s->wake(1, 1000.4, 301, CLIENT, 'futex')
		->kernel(1, 1400, 'exec', tid => SHELL, pid => SHELL, old_tid => 301)
		->wake(1, 1599.9, CLIENT, SHELL, 'tty');
	$s->builder->switch(1, ns(1600), SHELL, CLIENT, 'sleeping')
		->switch(1, ns(1601), CLIENT, 0, 'sleeping');
	my $slow = $s->draw(1600.9)->hotkey(3000)->diagnose("$tmp/handed");
	is_deeply(
		[ grep { $_->{state} eq 'unknown' } @{ $slow->{path} } ], [],
		'a program called by another thread: the walk goes on with that one'
	);
	my %ran;
	for my $p (@{ $slow->{path} }) {
		$ran{ $p->{tid} } += $p->{to_ns} - $p->{from_ns} if $p->{state} eq 'running';
	}
	is_deeply(
		[ map { int $ran{$_} / MS } 301, SHELL ], [ 399, 199 ],
		'... each is charged with its part'
	);
}

# --- the client computes ---
$d = judged('app-compute', story()->key(1000, 800)->hotkey(3000), 'app-compute', 'xterm', 0.99, 1);
like($d->{verdict}{sentence}, qr/ it computed\.$/, 'app-compute: the sentence');

# --- the client sleeps by its own wish ---
my $s =
	story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
	->wake(1, 1701, CLIENT, 0, 'nanosleep', context => 'hardirq')
	->run(1, 1701.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
judged('timer-sleep', $s, 'timer-sleep', 'xterm', 0.99, 1);

# --- a terminal whose shell waits for a slow helper: echo at once, the output after 900 ms, through
# kworkers and pipes ---
sub work {
	my ($s, $t, $queuer, $wakee, $stack) = @_;
	my $b = $s->builder;
	$b->kernel(
		1, Tipme::Test::Story::ns($t), 'work_queued', tid => $queuer, work => 77,
		function => 0x1234, context => 'task'
	);
	$s->wake(1, $t + 0.001, KWORKER, $queuer)->run(0, $t + 0.01, $t + 0.05, KWORKER, 'idle');
	$b->kernel(
		0, Tipme::Test::Story::ns($t + 0.02), 'work_start', tid => KWORKER, work => 77,
		function => 0x1234
	);
	$s->wake(0, $t + 0.03, $wakee, KWORKER, $stack);
	$b->kernel(
		0, Tipme::Test::Story::ns($t + 0.04), 'work_end', tid => KWORKER, work => 77,
		function => 0x1234
	);
	return $s;
}

sub helper {
	my ($s, $sleep) = @_;
	$s->enter(1000)->run(1, 1000.25, 1002, CLIENT, 'sleeping');    # writes Enter to the pty
	work($s, 1001, CLIENT, SHELL, 'tty')->draw(1001.9);            # the echo
	$s->run(0, 1002.5, 1003, SHELL, 'sleeping');                   # the shell forks and waits
	$s->builder->kernel(
		0, 1002_800_000, 'fork', tid => SHELL, child_tid => 400, child_pid => 400,
		child_start_ns => 1002_800_000
	);
	$s->builder->kernel(1, 1003_200_000, 'rename', tid => 400, comm => 'helper');
	if ($sleep) {
		$s->run(1, 1003.1, 1004, 400, 'sleeping')
			->wake(1, 1900, 400, 0, 'nanosleep', context => 'hardirq')
			->run(1, 1900.1, 1901, 400, 'dead');
	} else {
		$s->run(1, 1003.1, 1901, 400, 'dead');
	}
	work($s, 1900.5, 400, CLIENT, 'poll');    # its output
	$s->wake(1, 1900.9, SHELL, 400, 'wait4')->run(0, 1902, 1902.5, SHELL, 'sleeping');
	return $s->run(1, 1901.1, 1903, CLIENT, 'sleeping')->draw(1902.9)->hotkey(3000);
}
$d = judged('ipc-wait', helper(story(), 1), 'ipc-wait', 'helper', 0.98, 1);
like(
	$d->{verdict}{sentence},
	qr/it waited for "helper" \(pid 400, started by bash\), which was sleeping for a time that it chose \(nanosleep\)\.$/,
	'ipc-wait: says on what'
);
is($d->{interval}{end_ns}, 1903_100_000, 'ipc-wait: the answer is the output, not the echo');
my @kworker = grep { ($_->{blamed}{comm} // q()) =~ /kworker/ } @{ $d->{path} };
ok(!@kworker, "ipc-wait: no kworker is blamed") or diag(explain(\@kworker));
my ($kw) = grep { $_->{comm} =~ /kworker/ } @{ $d->{path} };
is($kw && $kw->{blamed}{pid}, CLIENT, 'ipc-wait: what the kworker did is charged to who queued it')
	or diag(explain($d->{path}));
judged('ipc-wait, computing', helper(story(), 0), 'ipc-wait', 'helper', 0.98, 1);

# --- the waking comes by a softirq that another process had raised ---
$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
$s->builder->thread(500, 'service', ts_ns => 900 * MS);
$s->run(0, 1000.9, 1600, 500, 'sleeping', prev => 0);
$s->wake(1, 1000.8, 500, CLIENT)
	->wake(0, 1599.9, CLIENT, 0, 'poll', context => 'softirq_task', raiser_tid => 500)
	->run(1, 1600, 1601, CLIENT, 'sleeping')->draw(1600.9)->hotkey(3000);
judged('ipc-wait through a softirq', $s, 'ipc-wait', 'service', 0.98, 1);

# --- stopped, let go on before the hot-key ---
$s = story()->wake(0, 950, CLIENT, 600, 'poll')->run(1, 950.1, 950.2, CLIENT, 'stopped');
$s->builder->thread(600, 'bash', ts_ns => 5 * MS);
$s->run(0, 949, 950.5, 600, 'sleeping')->enter(1000, no_wake => 1)
	->run(0, 1999,   2001, 600,    'sleeping')->wake(0, 2000, CLIENT, 600)
	->run(1, 2000.1, 2002, CLIENT, 'sleeping')->draw(2001.9)->hotkey(3000);
$d = judged('stopped', $s, 'stopped', 'xterm', 0.98, 1);
like(
	$d->{verdict}{sentence},
	qr/it was stopped by a signal, until bash \(pid 600\) let it go on\.$/,
	'stopped: who let it go on'
);

# --- stopped, and still so when the hot-key is pressed ---
$s = story()->wake(0, 950, CLIENT, 600, 'poll')->run(1, 950.1, 950.2, CLIENT, 'stopped')
	->run(0, 949, 950.5, 600, 'sleeping')->enter(1000, no_wake => 1)->hotkey(4000);
$s->picture(CLIENT, 'xterm', state => 'stopped', since_ns => 950_200_000);
$d = judged('stopped, open', $s, 'stopped', 'xterm', 0.99, 1);
is($d->{interval}{certainty}, 'open',    'stopped, open: the interval is open');
is($d->{interval}{end_ns},    4000 * MS, 'stopped, open: it ends at the hot-key');
like(
	$d->{verdict}{sentence},
	qr/^xterm \(pid 200\) has not answered a key press for 3\.00 s, usually 2\.9 ms: for .* it was stopped by a signal, and still is\.$/,
	'stopped, open: the sentence'
);

# --- asleep by its own wish, and then it ends ---
$s =
	story()->enter(1000)->run(1, 1000.25, 1000.5, CLIENT, 'sleeping')
	->wake(1, 1300, CLIENT, 0, 'nanosleep', context => 'hardirq')
	->run(1, 1300.1, 1300.9, CLIENT, 'dead')->hotkey(4000);
$s->builder->x(1301 * MS, 'x_client', pid => CLIENT, client => 4, state => 'gone');
$d = judged('gone', $s, 'timer-sleep', 'xterm', 0.98, 1);
is($d->{interval}{end_ns}, 1301 * MS, 'gone: the interval ends where the client does');
is($d->{interval}{gone},   1,         'gone: and says so');
like(
	$d->{verdict}{sentence},
	qr/^Until it closed its connection xterm \(pid 200\) had not answered a key press for 301 ms, usually 2\.9 ms: for /,
	'gone: the sentence'
);
my ($last) = reverse grep { defined $_->{response_ns} } responses(opened($s));
is_deeply([ @$last{qw(open gone feedback_ns)} ], [ 1, 1, undef ], 'gone: among the responses, too');
like(
	Tipme::Report::Text::page($d),
	qr/up to the client's end.* the client closed its connection: no answer$/ms,
	'gone: the report does not speak of the hot-key'
);

# --- nobody knows: the client was woken by an interrupt, no stack ---
$s =
	story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
	->wake(1, 1701, CLIENT, 0, undef, context => 'hardirq')
	->run(1, 1701.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
$d = judged('unknown', $s, 'unknown', undef, 0.98, 1);
cmp_ok($d->{verdict}{confidence}, '<', 0.1, 'unknown: not sure');
like($d->{verdict}{next}, qr/`tipme doctor`/, 'unknown: how to know more next time');
unlike($d->{verdict}{sentence}, qr/likely/, 'unknown: nothing is likely');

# --- a blinking cursor answers nobody; a key without an effect is no problem ---
$s = story()->key(1000, 3);
$s->wake(1, 1600, CLIENT, 0, 'poll', context => 'hardirq')
	->run(1, 1600.1, 1601, CLIENT, 'sleeping')->draw(1600.9);
$s->enter(2000)->run(1, 2000.25, 2000.5, CLIENT, 'sleeping')
	->wake(1, 2700, CLIENT, 0, 'poll', context => 'hardirq')
	->run(1, 2700.1, 2701, CLIENT, 'sleeping')->draw(2700.9)->hotkey(3500);
$d = judged('a blinking cursor', $s, 'none', undef);
is(
	$d->{interval}{duration_ns}, 2_900_000 + 100_000,
	'a blinking cursor: the answer is the first change'
) if $d->{interval};

# --- two keys typed ahead into a client that hangs: the first one waits longest ---
$s = story()->enter(1000)->run(1, 1000.25, 1901, CLIENT, 'sleeping')->enter(1200, no_wake => 1)
	->draw(1900.9)->hotkey(3000);
$d = judged('typed ahead', $s, 'app-compute', 'xterm', 0.98, 1);
is($d->{event}{n}, 4, 'typed ahead: the first of the two');
$d = judged('typed ahead, the other', $s, 'app-compute', 'xterm', 0.98, 1, event => 5);
is($d->{event}{n}, 5, 'asked for by number');
$d = judged('asked for by time', $s, 'none', undef, undef, undef, at => '0.301');
is($d->{event}{n}, 2, 'asked for by time');

# --- nobody is awake, the records say no waking: a picture knows the stack ---
$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
	->run(1, 1701.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
$s->builder->thread(
	CLIENT, 'xterm', ts_ns => 1500 * MS, since_ns => 1001 * MS,
	stack_id => $s->id('nanosleep')
);
$d = judged('a waking that was lost', $s, 'timer-sleep', 'xterm', 0.98, 1);
cmp_ok($d->{verdict}{confidence}, '<', 0.1, 'a waking that was lost: not sure');

# --- the hooks were there before the recorder: what hung then is not its business ---
$s = story(first_ns => 2000 * MS)->key(1000, 700)->key(2200, 300)->hotkey(3000);
$d = judged('before the records', $s, 'app-compute', 'xterm', 0.98, 1);
is($d->{event}{n}, 5, 'before the records: the other event is judged');

# --- a key without a visible effect, pressed before the recorder was there: not a client that hangs
# ---
sub before_recorder {
	my ($start) = @_;
	my $s = Tipme::Test::Story->new(
		no_usual => 1, first_ns => 2000 * MS,
		manifest => { recorder => { start_ns => $start } }
	);
	my $b = $s->builder;
	$b->x(ns(1000 + $_->[0]), @$_[ 1 .. $#$_ ])
		for [ 0, 'x_wakeup' ],
		[ 0.1, 'x_device', input_seq => 77, kind => 'key_press', device => 6 ],
		[
		0.2, 'x_deliver', input_seq => 77, kind => 'key_press', pid => CLIENT, client => 4,
		x_type => 2
		],
		[ 0.3, 'x_sleep' ];
	return $s->enter(2800)->run(1, 2800.25, 2800.5, CLIENT, 'sleeping')
		->picture(CLIENT, 'xterm', since_ns => ns(2800.5), stack_id => $s->id('poll'))
		->hotkey(3000);
}
for my $start (1, 1990 * MS) {
	judged(
		"pressed before the records, recorder since $start", before_recorder($start), 'none',
		undef
	);
}

# --- a process that the client asked, and that is stopped, while the hot-key is pressed ---
$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')->wake(1, 1000.9, 500, CLIENT)
	->hotkey(2500);
$s->builder->thread(500, 'service', ts_ns => 900 * MS)->wake(0, 1001.5 * MS, 500, 600);
$s->run(0, 1000.95, 1002, 500, 'stopped');
$s->picture(500, 'service', state => 'stopped', since_ns => 1002 * MS)
	->picture(CLIENT, 'xterm', since_ns => 1001 * MS, stack_id => $s->id('disk'));
$d = judged('a service that is stopped', $s, 'stopped', 'service', 0.9, 1);
like(
	$d->{verdict}{sentence},
	qr/has not answered a key press .* it waited for "service" \(pid 500\b.*\), which was stopped by a signal, and still is\.$/,
	'a service that is stopped: the sentence'
);
cmp_ok($d->{verdict}{confidence}, '<', 0.5, 'a service that is stopped: inferred');

# --- no input, no X server ---
my $b = Tipme::Test::Episode->new(trigger_ns => 1000 * MS);
$b->switch(0, 10 * MS, 5, 6, 'sleeping')->thread(5, 'a');
$d = Tipme::Diagnosis->new(Tipme::Episode->open($b->write("$tmp/nox")))->run;
is($d->{verdict}{kind}, 'unknown', 'without an X server the verdict is unknown');
like($d->{verdict}{sentence}, qr/No X server was recorded/, 'and says what to do');

# --- a stretch of time that somebody else measured: what one thread did in it, with no input event
# at all ---
{
	my $s = story()->run(1, 2000.3, 2440, CLIENT, 'sleeping')->hotkey(3000);
	$s->kernel(
		0, 2100, 'fork', tid => SHELL, child_tid => 4712, child_pid => 4712,
		child_start_ns => 2100 * MS
	)->kernel(0, 2100.5, 'rename', tid => 4712, comm => 'short')
		->run(0, 2101, 2300, 4712, 'dead');
	my $all = Tipme::Diagnosis->new(Tipme::Episode->open($s->builder->write("$tmp/stretch")));
	my $r   = $all->run_thread(CLIENT, '2.01', '2.410000000');
	is($r->{verdict}{kind},         'app-compute', "a thread's own time: $r->{verdict}{sentence}");
	is($r->{interval}{duration_ns}, 400 * MS,      '... of the length that was asked for');
	my $sum = 0;
	$sum += $_->{to_ns} - $_->{from_ns} for @{ $r->{path} };
	is($sum, 400 * MS, '... adds up');
	ok(!defined $r->{event}, '... without an input event');
	my $short = eval {
		Tipme::Diagnosis->new(Tipme::Episode->open("$tmp/stretch"))
			->run_thread(4712, '2.11', '2.29');
	} // {};
	my $gone = eval {
		Tipme::Diagnosis->new(Tipme::Episode->open("$tmp/stretch"))
			->run_thread(4712, '2.11', '2.32');
	} // {};
	is_deeply(
		[ map { [ $_->{state}, $_->{to_ns} - $_->{from_ns} ] } @{ $gone->{path} } ],
		[ [ 'running', 190 * MS ], [ 'unknown', 20 * MS ] ],
		'... and of one that ended before the stretch did: nothing is known of the rest alone'
	) or diag $@;
	is(
		($short->{verdict}{kind} // $@) . " $short->{verdict}{blamed}{comm}", 'app-compute short',
		'... also of a thread that came and went between two pictures'
	);
	for (
		[ CLIENT, '2.41', '2.01', qr/nothing lies between/ ],
		[ 4711,   '2.01', '2.41', qr/no such thread/ ],
		[ CLIENT, '99.0', '99.9', qr/the records of this episode go from/ ]
		)
	{
		my ($tid, $from, $to, $says) = @$_;
		ok(!eval { $all->run_thread($tid, $from, $to); 1 } && $@ =~ $says, "refused: $says")
			or diag($@);
	}
}

my %detail = %Tipme::Test::Judge::DETAIL;
diag('bundles: ' . join ', ', map {"$detail{$_} $_"} sort keys %detail);
cmp_ok($detail{path}, '>=', 12, 'most bundles keep no more than the stretches of the path');

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
