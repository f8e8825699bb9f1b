#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A program's start: from the press to its first window; and beside it what looks alike and is none.
use strict;
use warnings;
use Test::More;
use File::Temp ();
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Responses   qw(responses summary);
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant {
	SERVER => 100, CLIENT => 200, SHELL => 300, NEW => 400, OTHER => 500,
	MS     => 1_000_000
};

# A key has the client fork NEW (through the shell, with `shell`), which connects, and draws its
# first window at `shown` ms.
sub story {
	my (%o) = @_;
	my $s   = Tipme::Test::Story->new(trigger => $o{trigger} // 9000);
	my $t   = 1000;
	if ($o{clock}) {
		# Nobody pressed anything that had it made: the client's own timer did.
		$s->enter($t)->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping')->draw($t + 0.8);
		$s->wake(1, $t + 99, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, $t + 99.1, $t + 101, CLIENT, 'sleeping');
		$s->kernel(
			1, $t + 100, 'fork', tid => CLIENT, child_tid => NEW, child_pid => NEW,
			child_start_ns => ($t + 100) * MS
		);
		$t += 98;
	} elsif ($o{shell}) {
		$s->enter($t)->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping')
			->wake(1, $t + 0.9, SHELL, CLIENT, 'tty');
		$s->draw($t + 0.8) if !$o{timers};
		$s->run(1, $t + 1.1, $t + 3, SHELL, 'sleeping')->kernel(
			1, $t + 2, 'fork', tid => SHELL, child_tid => NEW, child_pid => NEW,
			child_start_ns => ($t + 2) * MS
		);
	} else {
		$s->enter($t)->run(1, $t + 0.25, $t + 3, CLIENT, 'sleeping')->draw($t + 0.8);
		$s->kernel(
			1, $t + 2, 'fork', tid => CLIENT, child_tid => NEW, child_pid => NEW,
			child_start_ns => ($t + 2) * MS
		);
	}
	my $b = $s->builder;
	$b->thread(
		NEW, 'editor', ppid => $o{shell} ? SHELL : CLIENT, start_ns => ($t + 2) * MS,
		ts_ns => ($t + 900) * MS, since_ns => ($t + 20) * MS
	);
	$s->kernel(1, $t + 5, 'rename', tid => NEW, comm => 'editor');
	my ($from, $end) = ($t + 4, $o{shown});
	$b->x(($o{came} // $end - 5) * MS, 'x_client', pid => NEW, client => 7, state => 'connected');
	if    ($o{beside}) { naps_and_asks($s, $from, $end) }
	elsif ($o{timers}) {
		# The client echoes by its own timer, a moment after the key. The server is awake for that
		# when it tells the new program something, too.
		$s->run(1, $from, $t + 10, NEW, 'sleeping')
			->wake(1, $t + 17, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, $t + 17.1, $t + 18, CLIENT, 'sleeping')->draw($t + 17.8)
			->wake(0, $t + 18.05, NEW, SERVER, 'poll')->run(1, $t + 18.2, $end, NEW, 'sleeping');
	} else {
		$s->run(1, $from, $end, NEW, 'sleeping');
	}
	if    ($o{watched})    { watched($s, $t + ($o{timers} ? 18.15 : 1.05), $end) }
	elsif (!$o{no_window}) { $s->draw($end - 0.3, NEW, pid => NEW, client => 7) }
	# The new window has the keyboard now, and the one that was pressed in draws its cursor anew, at
	# once or by its timer.
	my $lazy = $o{timers} ? 13 : 0;
	$s->wake(0, $end - 0.05, CLIENT, SERVER, 'poll') if $o{redraws};
	$s->run(1, $end, $end + 0.2, CLIENT, 'sleeping')
		->wake(1, $end + $lazy, CLIENT, 0, 'poll', context => 'hardirq')
		if $lazy;
	$s->run(1, $end + $lazy, $end + $lazy + 2, CLIENT, 'sleeping')->draw($end + $lazy + 1.8)
		if $o{redraws};
	return $s->hotkey($o{hotkey} // 8000);
}

# Another client was told of the first echo, and looks at the screen by its own clock from then on.
# The server is awake for it when the new program draws, and the one that was pressed in is told.
sub watched {
	my ($s, $told, $end) = @_;
	my $look = sub {
		my ($t, $until) = @_;
		$s->wake(0, $t, OTHER, 0, 'poll', context => 'hardirq')
			->run(0, $t + 0.1, $t + 0.4, OTHER, 'sleeping')
			->wake(0, $t + 0.35, SERVER, OTHER, 'epoll')
			->run(0, $t + 0.4, $until, SERVER, 'sleeping');
		$s->builder->x(($t + 0.41) * MS, 'x_wakeup');
		$s->builder->x(
			($t + 0.45) * MS, 'x_request', pid => OTHER, client => 9, duration_ns => 50_000,
			major => 73, sequence => 3, count => 1
		);
		$s->builder->x(($until - 0.01) * MS, 'x_sleep');
	};
	$s->wake(0, $told, OTHER, SERVER, 'poll')->run(0, $told + 0.2, $told + 0.4, OTHER, 'sleeping');
	for (my $t = $told + 10; $t < $end - 10; $t += 10) {
		$look->($t, $t + 0.6);
		$s->wake(0, $t + 0.55, OTHER, SERVER, 'poll')
			->run(0, $t + 0.7, $t + 0.75, OTHER, 'sleeping');
	}
	$look->($end - 1, $end + 0.05);
	my %of = (pid => NEW, client => 7, major => 74);
	$s->builder->x(
		($end - 0.4) * MS, 'x_request', %of, duration_ns => 100_000, sequence => 1,
		count => 1
	);
	return $s->builder->x(
		($end - 0.3) * MS, 'x_damage', %of, width => 6, height => 13,
		window => 0
	);
}

# The new program sleeps until 3,500 ms. Then it reads the rest of a long answer, which is no
# request. The server is awake, since another client asked it; that one had slept all the time.
sub naps_and_asks {
	my ($s, $from, $end) = @_;
	$s->builder->thread(
		OTHER, 'panel', ts_ns => 900 * MS, since_ns => 910 * MS,
		stack_id => $s->id('nanosleep')
	);
	$s->run(1, $from, $from + 1, NEW, 'sleeping');
	$s->wake(1, 3500, NEW, 0, 'nanosleep', context => 'hardirq')
		->run(1, 3500.1, 3510, NEW, 'sleeping');
	$s->wake(0, 3504, OTHER, 0, 'nanosleep', context => 'hardirq')
		->run(0, 3504.1, 3506, OTHER, 'sleeping');
	$s->wake(0, 3505.9, SERVER, OTHER, 'epoll')->run(0, 3506, 3512.5, SERVER, 'sleeping');
	$s->builder->x(
		3507 * MS, 'x_request', pid => OTHER, client => 9, duration_ns => 4 * MS, major => 20,
		sequence => 3, count => 1
	);
	return $s->wake(0, 3512, NEW, SERVER, 'poll')->run(1, 3512.1, $end, NEW, 'sleeping');
}

my $d = judged('a program that needs long', story(shown => 4000), 'app-compute', 'editor', 0.98, 1);
is($d->{event}{kind}, 'start', '... is a start');
cmp_ok(
	abs($d->{interval}{duration_ns} - 3000 * MS), '<', MS,
	'... from the key to the first window'
);
is($d->{interval}{start_ns}, 1000 * MS, '... the key');
like(
	$d->{verdict}{sentence},
	qr/^editor \(pid 400\) showed its first window 3\.00 s after a key press: for 3\.00 s .* computed\.$/,
	'... the sentence'
);
is_deeply($d->{event}{client}, { pid => NEW, comm => 'editor' }, '... whose window it is');
ok((grep { $_->{name} eq 'born' } @{ $d->{event}{stages} }), '... when the process was made');

$d = judged('... by a shell', story(shown => 4000, shell => 1), 'app-compute', 'editor', 0.98, 1);
is($d->{event}{kind}, 'start', '... which is a start, too');

my $again = story(shown => 4000, shell => 1, redraws => 1);
$d = judged('... whose terminal draws again', $again, 'app-compute', 'editor', 0.98, 1);
is($d->{event}{kind}, 'start', '... because of the new window: no answer to the key');

my $timers = story(shown => 4000, shell => 1, redraws => 1, timers => 1);
$d = judged('... which draws by timers of its own', $timers, 'app-compute', 'editor', 0.98, 1);
is($d->{event}{kind}, 'start', '... all the same');

$d = judged(
	'... while another client watches the screen',
	story(shown => 4000, shell => 1, redraws => 1, watched => 1),
	'app-compute', 'editor', 0.95, 1
);
is($d->{event}{kind}, 'start', '... who is not what it waited for');
$d = judged(
	'... and the terminal echoed by its timer',
	story(shown => 4000, shell => 1, redraws => 1, watched => 1, timers => 1),
	'app-compute', 'editor', 0.95, 1
);
is($d->{event}{kind}, 'start', '... which had nothing to do with it');

judged(
	'a start that sleeps, and meets the server awake for another client',
	story(shown => 4000, beside => 1), 'timer-sleep', 'editor', 0.8, 1
);
judged(
	'... made by a shell', story(shown => 4000, beside => 1, shell => 1),
	'timer-sleep', 'editor', 0.8, 1
);

judged(
	'a start that takes a second, where nothing is known of others', story(shown => 2000),
	'none',                                                          undef
);
judged('one that the clock has made', story(shown => 4000, clock => 1), 'none', undef);

# The walk need not go on behind the timer: what comes before it would change nothing.
{
	my $dir   = File::Temp::tempdir(CLEANUP => 1) . '/e';
	my $clock = story(shown => 4000, clock => 1)->builder->write($dir);
	my $di    = Tipme::Diagnosis->new(Tipme::Episode->open($clock));
	my ($key) = grep { $_->{pid} && $_->{pid} == CLIENT } $di->events;
	my $chain = $di->{problem}->caused->chain($di->states(0, 1200 * MS), $key);
	my @args  = (CLIENT, $key->{deliver_ns}, 1100 * MS);
	my $whole = $chain->walk_once(@args);
	my @waits = $chain->waits;
	cmp_ok(scalar @$whole, '>', 0, 'back from the birth: a path');
	cmp_ok(scalar @waits,  '>', 0, '... with waits');
	my @met;
	my $given_up = $chain->walk_once(@args, unless => sub { push @met, @_; return 1 });
	is_deeply([ $given_up, $chain->reached, scalar @met ], [ [], 0, 1 ], '... or given up there');
	my @seen;
	$given_up = $chain->walk_once(@args, unless => sub { push @seen, @_; return 0 });
	is_deeply([ $given_up, \@seen ], [ $whole, \@waits ], '... once each is looked at');
}

$d = judged(
	'a program that has no window yet',
	story(shown => 5900, no_window => 1, trigger => 5000, hotkey => 5000, came => 3000),
	'app-compute', 'editor', 0.98, 1
);
like(
	$d->{verdict}{sentence},
	qr/^editor \(pid 400\) has shown no window for 4\.00 s since a key press: /,
	'... which is said'
);
judged(
	'a program that never shows one, and rests', story(shown => 1100, no_window => 1), 'none',
	undef
);

# What is usual for that program, as the library knows it, decides.
{
	my $judge = sub {
		my ($shown, $usual, $n) = @_;
		my $dir = File::Temp::tempdir(CLEANUP => 1) . '/e';
		my $ep  = Tipme::Episode->open(story(shown => $shown)->builder->write($dir));
		my $di  = Tipme::Diagnosis->new(
			$ep,
			baseline => sub {
				my ($kind, $comm) = @_;
				return $kind eq 'start' && $comm eq 'editor' ? ($usual * MS, $n) : ();
			}
		);
		return $di->run;
	};
	my $r = $judge->(2400, 300, 5);
	is($r->{verdict}{kind}, 'app-compute', 'longer than usual');
	like(
		$r->{verdict}{sentence}, qr/1\.40 s after a key press, usually 300 ms:/,
		'... which is said'
	);
	is($judge->(2400, 1200, 5)->{verdict}{kind}, 'none', 'about as long as usual');
	is($judge->(4000, 2900, 5)->{verdict}{kind}, 'none', '... also where that is long');
	is($judge->(2400, 300,  2)->{verdict}{kind}, 'none', 'two starts are no usage');
}

# The press that had it made keeps its own answer, and its number; the library remembers by program.
{
	my $dir = File::Temp::tempdir(CLEANUP => 1) . '/e';
	my $di =
		Tipme::Diagnosis->new(Tipme::Episode->open(story(shown => 4000)->builder->write($dir)));
	my @r = responses($di);
	my ($press, $start) = (
		(grep { $_->{kind} eq 'key_press' && $_->{entered_ns} == 1000 * MS } @r),
		grep { $_->{kind} eq 'start' } @r
	);
	cmp_ok($press->{response_ns}, '<', 5 * MS, 'the press itself was answered at once');
	cmp_ok(abs($start->{response_ns} - 3000 * MS), '<', MS, '... and the start is listed');
	is(
		$start->{n}, 1 + (sort { $b <=> $a } map { $_->{n} } grep { $_->{kind} ne 'start' } @r)[0],
		'... behind all presses, whose numbers stay'
	);
	cmp_ok(
		summary(@r)->{max_ns}, '<', 10 * MS,
		'... and is none of the answers that are summed up'
	);
	is_deeply(
		[ map {"$_->{kind} $_->{comm}"} grep { $_->{kind} eq 'start' } $di->usual_responses ],
		['start editor'], 'the library is told'
	);
	is($di->run(event => $start->{n})->{event}{kind}, 'start', 'a start can be asked for');
}

# A late answer goes before a start of which nobody knows whether it is long.
{
	my $s = story(shown => 4000, hotkey => 8000);
	$s->enter(5000)->run(1, 5000.25, 5700, CLIENT, 'sleeping')->draw(5699.8);
	my $r = judged('a late answer beside a start', $s, 'app-compute', 'xterm', 0.9, 1);
	is($r->{event}{kind}, 'key_press', '... is the answer');
}

# The program waits for the disk, and is made by a launcher that takes its time.
{
	my $s = Tipme::Test::Story->new(trigger => 9000);
	my $b = $s->builder;
	$s->enter(1000)->run(1, 1000.25, 2600, CLIENT, 'sleeping')->draw(1000.8)->kernel(
		1, 2500, 'fork', tid => CLIENT, child_tid => NEW, child_pid => NEW,
		child_start_ns => 2500 * MS
	);
	$b->thread(
		NEW, 'editor', ppid => CLIENT, start_ns => 2500 * MS, ts_ns => 3500 * MS,
		since_ns => 3500 * MS
	);
	$s->kernel(1, 2601, 'rename', tid => NEW, comm => 'editor')
		->run(1, 2600.5, 3400, NEW, 'sleeping')->draw(3399.7, NEW, pid => NEW, client => 7);
	$b->x(3390 * MS, 'x_client', pid => NEW, client => 7, state => 'connected');
	$d =
		judged('a launcher that takes its time', $s->hotkey(8000), 'app-compute', 'xterm', 0.99, 1);
	is($d->{event}{kind}, 'key_press', '... is itself slow');
	my $dir     = File::Temp::tempdir(CLEANUP => 1) . '/e';
	my $di      = Tipme::Diagnosis->new(Tipme::Episode->open($s->builder->write($dir)));
	my ($start) = grep { $_->{kind} eq 'start' } $di->events;
	my $r       = $di->run(event => $start->{n});
	is(
		"$r->{verdict}{kind} $r->{verdict}{blamed}{comm}", 'ipc-wait xterm',
		'... and what the start waited for'
	);
}
done_testing;
