#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What the records of a Wayland compositor tell: who was slow, who the clients are, and when a
# picture was used.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib", "$Bin/../../abi/generated", "$Bin/../../abi/lib";
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::InputPath;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::WaylandStory;

use constant {
	MS     => 1_000_000, SERVER => 100, CLIENT => 200, SHELL => 300, KWORKER => 50,
	TYPIST => 998,       OTHER  => 999, LATER  => 997
};

sub story   { return Tipme::Test::WaylandStory->new(@_) }
sub sources { return $_[0]->sources }
sub folder  { return $_[0]->folder }

# 1. Who was slow.
judged(
	'the client computes',
	story()->enter(1000)->run(1, 1000.25, 1600, CLIENT, 'sleeping')->draw(1599.8), 'app-compute',
	'xterm', 0.98, 1
);

my @WHEEL = (with => { kind => 'wheel', what => 'pointer' });
judged(
	'... while one scrolls',
	story()->enter(1000, @WHEEL)->run(1, 1000.25, 1600, CLIENT, 'sleeping')->draw(1599.8),
	'app-compute', 'xterm', 0.98, 1
);
my $scrolls = story();
$scrolls->enter($_, @WHEEL)->run(1, $_ + 0.25, $_ + 4, CLIENT, 'sleeping')->draw($_ + 3.8)
	for map { 1000 + 10 * $_ } 0 .. 60;
judged('... and is quick', $scrolls, 'none', undef, undef, 1);

my $s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
$s->wake(1, 1000.9, SERVER, CLIENT, 'epoll')->run(0, 1001, 1601, SERVER, 'sleeping')
	->draw(1600.5, undef, awake => 1, done => 1600.8);
judged(
	'the compositor computes before it takes the picture', $s, 'compositor-compute', 'sway',
	0.98, 1
);

$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
	->draw(1000.9, undef, no_done => 1);
$s->wake(0, 1002, SERVER, 0, 'epoll', context => 'hardirq')
	->run(0, 1002.05, 1602, SERVER, 'sleeping')
	->told(1601.9, 'wl_done', callback => 30, what => 'done');
judged('... or before it has used it', $s, 'compositor-compute', 'sway', 0.95, 1);

# Nobody can be woken while he is stopped: the key came at some time of that.
$s = story()->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
	->run(0, 1540.05, 1540.4, SERVER, 'sleeping')->enter(1540.05, awake => 1);
$s->run(1, 1540.3, 1542, CLIENT, 'sleeping')->draw(1541.8);
judged('the compositor is stopped', $s, 'stopped', 'sway', 0.98, 1);

$s = story()->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 3000, SERVER, 999)
	->run(0, 3000.05, 3000.4, SERVER, 'sleeping')->enter(3000.05, awake => 1);
$s->run(1, 3000.3, 3002, CLIENT, 'sleeping')->draw(3001.8);
my $d = judged('... for two seconds', $s, 'stopped', 'sway', 0.98, 1);
cmp_ok($d->{interval}{duration_ns}, '>', 1_990 * MS, '... all of which count');

# A key that was pressed and let go meanwhile: the client is woken once, for both, and asks its
# shell, as for the keys before.
sub echoed {
	my ($s, $t, $draw) = @_;
	$s->run(1, $t + 0.3,  $t + 1, CLIENT, 'sleeping')->wake(1, $t + 0.9, SHELL,  CLIENT, 'tty');
	$s->run(1, $t + 1.05, $t + 2, SHELL,  'sleeping')->wake(1, $t + 1.9, CLIENT, SHELL,  'poll');
	return $s->run(1, $t + 2.05, $draw + 0.2, CLIENT, 'sleeping')->draw($draw);
}

sub typed {
	my $s = story(no_usual => 1);
	echoed($s->enter($_), $_, $_ + 4)->enter($_ + 80, kind => 'key_release')
		->run(1, $_ + 80.3, $_ + 80.4, CLIENT, 'sleeping')
		for 100, 300, 500, 700;
	return $s;
}
$s = typed()->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
	->run(0, 1540.05, 1540.4, SERVER, 'sleeping');
$s->enter(1540.05, awake => 1, no_wake => 1)->enter(1540.06, awake => 1, kind => 'key_release');
judged(
	'... and a key is pressed and let go', echoed($s, 1540.1, 1590), 'stopped', 'sway', 0.9,
	0.95
);

# The key is let go just before the answer of the shell would wake the client, which is awake then.
# The shell works on it in between; who brings its answer is done at WORKER_TO.
sub let_go_before {
	my ($shell_from, $shell_to, $worker_to, $enter) = @_;
	$enter //= sub { my ($s, @how) = @_; return $s->enter(@how) };
	my $s = $enter->(typed(), 1000)->run(1, 1000.3, 1001, CLIENT, 'sleeping');
	$s->wake(1, 1000.9, SHELL, CLIENT, 'tty')->run(1, $shell_from, $shell_to, SHELL, 'sleeping');
	$s->wake(1, $shell_to - 0.02, KWORKER, SHELL)
		->run(1, $worker_to - 0.3, $worker_to, KWORKER, 'sleeping')
		if $worker_to;
	return $enter->($s, 1080.75, kind => 'key_release')->run(1, 1081, 1600, CLIENT, 'sleeping')
		->draw(1599.8);
}
$d = judged(
	'the key is let go just before the answer', let_go_before(1001.05, 1080.98),
	'app-compute', 'xterm', 0.8
);
cmp_ok(abs($d->{interval}{duration_ns} - 600 * MS), '<', 2 * MS, '... which counts as that');
judged(
	'... also where the worker of the terminal had no CPU', let_go_before(1001.05, 1060, 1080.98),
	'app-compute', 'xterm', 0.8
);

# A program that types hears that the press was sent, and sleeps before the release: so the chain of
# wakings goes on through it, and not to a keyboard's interrupt.
sub typed_by_a_program {
	my ($s, $t, @how) = @_;
	$s->wake(0, $t - 0.25, TYPIST, 0, 'nanosleep', context => 'hardirq')
		->run(0, $t - 0.2,  $t + 0.02, TYPIST, 'sleeping')->wake(0, $t, SERVER, TYPIST, 'epoll')
		->run(0, $t + 0.05, $t + 0.3,  SERVER, 'sleeping');
	return $s->enter($t, awake => 1, @how)->wake(0, $t + 0.28, TYPIST, SERVER, 'unix')
		->run(0, $t + 0.35, $t + 0.4, TYPIST, 'sleeping');
}
judged(
	'... and where a program types',
	let_go_before(1001.05, 1080.98, undef, \&typed_by_a_program),
	'app-compute', 'xterm', 0.8
);
for (
	[ 'what is drawn because it is let go answers that alone', let_go_before(1000.92, 1000.98) ],
	[
		'... where a program types',
		let_go_before(1000.92, 1000.98, undef, \&typed_by_a_program)
	],
	[ '... where the answer was there before', let_go_before(1001.05, 1060, 1061) ],
	[ '... where the shell has read it in silence', let_go_before(1001.05, 1060) ]
	)
{
	$d = judged(@$_, 'app-compute', 'xterm', 0.8);
	like(
		$d->{verdict}{sentence}, qr/^xterm \(pid 200\) answered the release of a key after 519 ms/,
		'... not the press'
	);
}

# The client sets itself a timer for the frame when the answer has come, and is woken for the
# release before that ends, from a sleep so short that it has no stack. Much later another program
# has it draw.
sub let_go_before_the_frame {
	my ($enter) = @_;
	my $s = $enter->(typed(), 1000)->run(1, 1000.3, 1000.4, CLIENT, 'sleeping');
	$s->wake(1, 1000.38, SHELL,  CLIENT, 'tty')->run(1, 1000.45, 1002, SHELL, 'sleeping');
	$s->wake(1, 1001.9,  CLIENT, SHELL,  'poll')->run(1, 1002.05, 1002.1, CLIENT, 'sleeping');
	$enter->($s, 1002.5, kind => 'key_release', no_wake => 1)->wake(1, 1002.7, CLIENT, SERVER, '')
		->run(1, 1002.8, 1002.85, CLIENT, 'sleeping');
	$s->wake(1, 1003, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, 1003.05, 1004, CLIENT, 'sleeping')->draw(1003.9);
	return $s->run(0, 1499, 1500, OTHER, 'sleeping')->wake(0, 1499.9, CLIENT, OTHER, 'poll')
		->run(1, 1500.05, 1501, CLIENT, 'sleeping')->draw(1500.9);
}
for my $enter (sub { my ($s, @how) = @_; return $s->enter(@how) }, \&typed_by_a_program) {
	my ($press) =
		map  { $_->{n} }
		grep { $_->{device_ns} == 1000.19 * MS }
		Tipme::InputPath->new(Tipme::Episode->open(folder(let_go_before_the_frame($enter))))
		->events;
	my $answer =
		Tipme::Diagnosis->new(Tipme::Episode->open(folder(let_go_before_the_frame($enter))))
		->run(event => $press);
	is($answer->{verdict}{kind}, 'none', 'a frame that a timer brings after the release')
		or diag $answer->{verdict}{sentence};
	cmp_ok(($answer->{interval}{duration_ns} // 9e9), '<', 10 * MS, '... answers the press');
}

# Where the machine does much, a look at what was just before does not reach back to where the stop
# began: a picture that was taken before that says nothing of it.
$s = story(section_records => 4)->run(0, 999.9, 1000, SERVER, 'stopped');
$s->run(0, 1010 + $_ * 2, 1011 + $_ * 2, 999, 'sleeping') for 0 .. 250;
$s->wake(1, 1540, SERVER, 999)->run(0, 1540.05, 1540.4, SERVER, 'sleeping')
	->enter(1540.05, awake => 1);
$s->run(1, 1540.3, 1551, CLIENT, 'sleeping')->draw(1550.8);
$d = judged('... on a busy machine', $s, 'stopped', 'sway', 0.97, 1);
is($d->{interval}{start_ns}, 1000 * MS, '... from its begin');

# When it goes on, it does first what it was about to do: it asks somebody, and sleeps for the
# answer. Then it comes to the key, which was there.
sub first_asks {
	my ($stack, $answered) = @_;
	my $s = story();
	$s->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
		->run(0, 1540.05, 1540.3, SERVER, 'sleeping');
	$s->wake(0, 1540.25, SHELL, SERVER, 'unix')->run(1, 1540.3, $answered, SHELL, 'sleeping');
	$s->wake(1, $answered - 0.02, SERVER, SHELL, $stack)
		->run(0, $answered + 0.05, $answered + 0.5, SERVER, 'sleeping')
		->enter($answered + 0.1, awake => 1);
	return $s->run(1, $answered + 0.4, $answered + 11, CLIENT, 'sleeping')->draw($answered + 10.8);
}
judged('... and asks somebody before', first_asks('',     1540.6), 'stopped', 'sway', 0.96, 1);
judged('... who takes his time',       first_asks('poll', 1545),   'stopped', 'sway', 0.96, 1);
$d = judged('... and has waited for events since', first_asks('epoll', 1545), 'none', undef);
cmp_ok($d->{interval}{duration_ns}, '<', 20 * MS, '... so the key came later');

# Who never sleeps for long, as with a mouse that moves all the time, is not stopped for ever.
$s = story()->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
	->run(0, 1540.05, 1540.4, SERVER, 'sleeping');
$s->wake(0, 1541 + $_ / 2, SERVER, 0, '', context => 'hardirq')
	->run(0, 1541.1 + $_ / 2, 1541.3 + $_ / 2, SERVER, 'sleeping')
	for 0 .. 918;
$s->enter(2001)->run(1, 2001.25, 2004, CLIENT, 'sleeping')->draw(2003.8);
$d = judged('a stop that was over long before', $s, 'none');
cmp_ok($d->{interval}{duration_ns}, '<', 10 * MS, '... and is no part of it');

# It waits for a CPU.
$s = story()->wake(0, 1000, SERVER, 0, 'epoll', context => 'hardirq');
$s->run(0, 999.5, 1500, 999, 'sleeping', prio => 120)->run(0, 1500.05, 1500.4, SERVER, 'sleeping')
	->enter(1500, awake => 1)->run(1, 1500.3, 1502, CLIENT, 'sleeping')->draw(1501.8);
judged('the compositor waits for a CPU', $s, 'cpu-contention', 'init', 0.98, 1);

# It was woken to paint, and had no CPU then. A program types meanwhile: the key came when that ran.
# Another one types after it.
$s = story(no_usual => 1);
typed_by_a_program($s, $_)->run(1, $_ + 0.25, $_ + 2, CLIENT, 'sleeping')->draw($_ + 1.8)
	for 200, 400, 600, 800;
$s->wake(0, 1000, SERVER, 0, 'epoll', context => 'hardirq');
$s->run(0, 999.5, 1900, OTHER, 'sleeping', prio => 120)
	->wake(1, 1499.8, TYPIST, 0, 'nanosleep', context => 'hardirq')
	->run(1, 1500, 1500.1, TYPIST, 'sleeping')->run(0, 1900.05, 1900.4, SERVER, 'sleeping')
	->enter(1900, awake => 1)->run(1, 1900.3, 1902, CLIENT, 'sleeping')->draw(1901.8);
$s->wake(0, $_, SERVER, LATER, 'epoll')->run(0, $_ + 0.05, $_ + 0.3, SERVER, 'sleeping')
	->enter($_, awake => 1)->run(1, $_ + 0.25, $_ + 2, CLIENT, 'sleeping')->draw($_ + 1.8)
	for map { 1950 + 50 * $_ } 0 .. 8;
$d = judged('... and a program types meanwhile', $s, 'cpu-contention', 'init', 0.98);
is($d->{interval}{start_ns},          1500 * MS,  '... since that wrote the key');
is($d->{event}{stages}[0]{certainty}, 'inferred', '... as it seems');

$s = story()->enter(1000)->run(1, 1000.25, 1003, CLIENT, 'sleeping')->draw(1002.8);
$d = judged('nothing unusual', $s, 'none', undef, undef, 1);

# The hot-key, heard on the keyboards, is sent to the client, too: Ctrl, Alt and the key are the
# question, not what it is about.
$s = story()->enter(1000)->run(1, 1000.25, 1600, CLIENT, 'sleeping')->draw(1599.8);
$s->enter($_)->run(1, $_ + 0.25, $_ + 0.5, CLIENT, 'sleeping') for 3940, 3970, 3999;
$d = judged('the hot-key goes to the client, too', $s, 'app-compute', 'xterm', 0.98, 1);
is(
	(grep { $_->{chord} } Tipme::InputPath->new(Tipme::Episode->open(folder($s)))->events), 3,
	'... and its three presses are marked'
);

# Where the input core tells when a key came, that is when it came, exactly.
sub core {
	my ($s, $t, $kind) = @_;
	return $s->kernel(
		0, $t, 'input', tid => 0, device => 65535, class => 'keyboard',
		kind => $kind // 'key_press'
	);
}

sub starts_at {
	my ($d, $ms, $what) = @_;
	return is(
		"$d->{interval}{start_ns} $d->{event}{stages}[0]{certainty}", $ms * MS . ' exact',
		$what
	);
}
$s = story();
core($s, 999.99);
$s->enter(1000)->run(1, 1000.25, 1600, CLIENT, 'sleeping')->draw(1599.8);
$d = judged('the input core tells of a key', $s, 'app-compute', 'xterm', 0.98, 1);
starts_at($d, 999.99, '... which came then');
$s = story()->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
	->run(0, 1540.05, 1540.4, SERVER, 'sleeping');
core($s, 1020);
$s->enter(1540, awake => 1)->run(1, 1540.3, 1542, CLIENT, 'sleeping')->draw(1541.8);
$d = judged('... to a compositor that is stopped', $s, 'stopped', 'sway', 0.98, 1);
starts_at($d, 1020, '... since the key came');
# Else by the time of its device that the compositor tells the client.
$s = story()->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
	->run(0, 1540.05, 1540.4, SERVER, 'sleeping');
$s->enter(1540, awake => 1, with => { age_ms => 390 })->run(1, 1540.3, 1542, CLIENT, 'sleeping')
	->draw(1541.8);
$d =
	judged('a compositor that was stopped tells when the key came', $s, 'stopped', 'sway', 0.98, 1);
is($d->{interval}{start_ns},  1150.19 * MS, '... since then');
is($d->{interval}{certainty}, 'inferred',   '... to the millisecond');
$s = story()->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
	->run(0, 1540.05, 1540.4, SERVER, 'sleeping');
$s->enter(1540, awake => 1, with => { age_ms => 9000 })->run(1, 1540.3, 1542, CLIENT, 'sleeping')
	->draw(1541.8);
$d = judged('one that is wrong about it', $s, 'stopped', 'sway', 0.98, 1);
is($d->{interval}{start_ns}, 1000 * MS, '... is not believed beyond its stop');

# One that waits for an answer just as it waits for events, when it goes on, does not show that it
# had not come to them yet. What it tells of the key's device does.
sub waited_alike {
	my (%with) = @_;
	my $s = story();
	$s->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
		->run(0, 1540.05, 1540.3, SERVER, 'sleeping');
	$s->wake(0, 1540.25, SHELL,  SERVER, 'unix')->run(1, 1540.3, 1545, SHELL, 'sleeping');
	$s->wake(1, 1544.98, SERVER, SHELL,  'epoll')->run(0, 1545.05, 1545.5, SERVER, 'sleeping')
		->enter(1545.1, awake => 1, with => \%with);
	return $s->run(1, 1545.4, 1556, CLIENT, 'sleeping')->draw(1555.8);
}
$d =
	judged('a key that is as old as its stop', waited_alike(age_ms => 525), 'stopped', 'sway', 0.9);
is($d->{interval}{start_ns}, 1020.29 * MS, '... came then');
$d = judged('one that came after it',       waited_alike(),            'none', undef);
$d = judged('... or is no older than that', waited_alike(age_ms => 5), 'none', undef);

# Pressed and let go, twice, while it is stopped: each delivery is that of its own key.
$s = story(no_usual => 1)->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
	->run(0, 1540.05, 1540.6, SERVER, 'sleeping');
core($s, 900);    # one that the compositor kept for itself, before
for (1, 2) { core($s, 1000 + 100 * $_); core($s, 1050 + 100 * $_, 'key_release') }
for (1 .. 4) {
	$s->enter(
		1539.9 + $_ / 10, awake => 1, no_wake => $_ > 1,
		kind => $_ % 2 ? 'key_press' : 'key_release'
	);
}
my $path   = Tipme::InputPath->new(Tipme::Episode->open(folder($s)));
my $kernel = Tipme::Diagnosis->new($path->{ep})->{kernel};
$_->use_kernel($kernel)  for @{ $path->{servers} };
$_->{server}->refine($_) for $path->events;
is_deeply(
	[ map { $_->{kernel_ns} / MS } $path->events ], [ 1100, 1150, 1200, 1250 ],
	'of several each has its own time'
);

# 2. Who the clients are.
my ($x) = sources(story());
is($x->{pid},  SERVER, 'the compositor is the process of the thread that sent');
is($x->{name}, 'sway', '... by its name');
is_deeply(
	[ map { $_->{pid} } $x->all('deliver') ], [ (CLIENT) x 3 ],
	'a client is who the kernel says has connected'
);
is(scalar $x->all('device'), 3, 'an event for each delivery');

sub keys_of {
	my ($claimed, @more) = @_;
	my $s = story(no_usual => 1, @more);
	$s->enter($_, with => { pid => $claimed })->draw($_ + 5, undef, with => { pid => $claimed })
		for 1000, 1200, 1400;
	return $s;
}
($x) = sources(keys_of(SERVER));
is_deeply(
	[ map { $_->{pid} } $x->all('deliver') ], [ (CLIENT) x 3 ],
	'a connection that the compositor made: the client is whom it wakes'
);
is_deeply([ map { $_->{pid} } $x->all('draw') ], [ (CLIENT) x 3 ], '... in each record');
($x) = sources(keys_of(SHELL));
is_deeply(
	[ map { $_->{pid} } $x->all('deliver') ], [ (CLIENT) x 3 ],
	'a connection that was passed on: the same'
);
$s = story(no_usual => 1);
$s->enter($_, no_wake => 1, with => { pid => 4711 }) for 1000, 1200, 1400;
($x) = sources($s);
is_deeply(
	[ map { $_->{pid} } $x->all('deliver') ], [ (0) x 3 ],
	'a process that was never woken, and is not there: nobody is named'
);

# A compositor in the window of another server wakes that for each picture.
$s = story(no_usual => 1);
for (1000, 1200, 1400) {
	$s->enter($_, with => { pid => SERVER })->draw($_ + 1, undef, with => { pid => SERVER });
	for my $at (0.25, 1.2, 1.3) { $s->wake(1, $_ + $at, 999, SERVER, 'poll') }
}
($x) = sources($s);
is_deeply(
	[ map { $_->{pid} } $x->all('deliver') ], [ (CLIENT) x 3 ],
	'... which is not the client: that is woken first'
);

# One that writes what it has sent late wakes even before that the server that brought it.
sub late_writer {
	my (%o) = @_;
	my $s = story(no_usual => 1);
	for (1000, 1200, 1400) {
		$s->wake(1, $_ - 0.1, SERVER, 999, 'epoll') if !$o{by_itself};
		$s->enter($_, no_wake => 1, with => { pid => SERVER });
		$s->wake(1, $_ + 0.25, 999, SERVER, 'poll')->wake(1, $_ + 2.2, CLIENT, SERVER, 'poll');
		$s->draw($_ + 3, undef, with => { pid => SERVER });
	}
	my ($x) = sources($s);
	return [ map { $_->{pid} } $x->all('deliver') ];
}
is_deeply(
	late_writer(), [ (CLIENT) x 3 ],
	'... and is woken even before, but had brought the keys'
);
is_deeply(late_writer(by_itself => 1), [ (999) x 3 ], '... who brought none is the client');

# 3. Which deliveries are one event.
$s = story(no_usual => 1)->enter(1000);
$s->told(1000.195, 'wl_deliver', object => 12, kind => 'key_press', what => 'keyboard');
($x) = sources($s);
is(scalar $x->all('device'), 1, 'a client with two keyboards is told twice of one key');
$s = story(no_usual => 1)
	->enter(1000, with => { what => 'input_method', pid => SHELL, client => 5 });
$s->told(1100, 'wl_deliver', object => 12, kind => 'key_press', what => 'text');
($x) = sources($s);
is(scalar $x->all('device'),  1, 'an input method makes text of a key: that is one event');
is(scalar $x->all('deliver'), 2, '... which goes to both');

# 4. When a picture was used.
($x) = sources(story(no_usual => 1)->enter(1000)->draw(1005, undef, done => 1020));
my @draws = $x->all('draw');
is(
	$x->shown({}, \@draws, 4000 * MS, 1)->{ns}, 1020 * MS,
	'a picture is used when its callback is done'
);
is($x->shown({}, \@draws, 1010 * MS, 1)->{ns}, undef, '... and not before');
($x) = sources(
	story(no_usual => 1)->enter(1000)->draw(1005, undef, no_done => 1, with => { callback => 0 }));
is(
	$x->shown({}, [ $x->all('draw') ], 4000 * MS, 1), undef,
	'one without a callback, when it was taken'
);

# A picture that changes nothing is answered with the next one, whoever asks for that: here a menu
# that is closed, and a click 0.4 s later.
$s = story()->enter(1000)->run(1, 1000.25, 1003, CLIENT, 'sleeping')
	->draw(1002.8, undef, no_done => 1)->enter(1400)->run(1, 1400.25, 1403, CLIENT, 'sleeping');
$s->told(1402.9, 'wl_done', callback => 30, what => 'done')
	->draw(1402.8, undef, with => { callback => 31 }, no_done => 1)
	->told(1403.1, 'wl_done', callback => 31, what => 'done');
judged('a picture that changes nothing', $s, 'none');

# 5. When the screen shows it: the compositor has a screen of its own, which the kernel tells of.
# The client is quick in all of these; what it drew is taken at 1001.
sub on_screen {
	my ($busy_until, $asked, $shown) = @_;
	my $s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->wake(1, 1000.9, SERVER, CLIENT, 'epoll')->run(0, 1000.95, $busy_until, SERVER, 'sleeping')
		->draw(1000.9, undef, awake => 1, done => 1001.1);
	$s->screen($asked, 7, $shown) if defined $asked;
	return $s;
}
sub ends_at { my ($d, $ms, $what) = @_; return is($d->{interval}{end_ns}, $ms * MS, $what) }

$d = judged('shown with the next refresh', on_screen(1001.3, 1001.2, 1014), 'none', undef);
ends_at($d, 1014, '... where the response ends');
$d = judged(
	'the compositor computes before it asks for the picture',
	on_screen(1601.3, 1601.2, 1614), 'compositor-compute', 'sway', 0.95, 1
);
ends_at($d, 1614, '... which the screen has shown then');
$d = judged('the screen is slow', on_screen(1001.3, 1001.2, 1614), 'frame-wait', 'sway', 0.95, 1);
ends_at($d, 1614, '... until it shows it');
$s = on_screen(1001.3, 1001.2, undef)->screen(500, 6, 510);
$d = judged('the screen has not shown it yet', $s, 'frame-wait', 'sway', 0.95, 1);
$s = on_screen(1001.3, undef)->screen(500, 6, 510)->screen(1900, 7, 1910);
$d = judged('nothing was asked of the screen until long after', $s, 'none', undef);
cmp_ok($d->{interval}{end_ns}, '<', 1002 * MS, '... so the response ended when it was used');

($x) = sources(
	story(no_usual => 1)->enter(1000)->draw(1005, undef, no_done => 1, with => { callback => 0 })
		->screen(1005.2, 3, 1012));
my $seen = $x->shown({}, [ $x->all('draw') ], 4000 * MS, 1);
is_deeply(
	[ map { $_ && $_ / MS } @$seen{qw(ns asked_ns)}, $seen->{exact} * MS ], [ 1012, 1005.2, 1 ],
	'a picture without a callback: when the screen shows it'
);
is($x->shown({}, [ $x->all('draw') ], 1010 * MS, 1)->{ns}, undef, '... and not before');

Tipme::Test::Judge::cut_to_the_path();
done_testing();
