#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A client that the compositor made for itself, and that hands on what it is sent (the X server of a
# Wayland session): whom it wakes with a key is who has to answer, whatever that one does meanwhile.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib", "$Bin/../../abi/generated", "$Bin/../../abi/lib";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::WaylandStory;

use constant {
	MS      => 1_000_000, SERVER  => 100, RELAY  => 200, CLIENT => 400, SENDER => 401,
	WATCHER => 450,       SERVICE => 500, SIGNAL => 600
};

# The relay is the compositor's client 200, whose connection that made itself; 400 is a client of
# the relay.
package Tipme::Test::RelayedStory {
	use parent -norequire, 'Tipme::Test::WaylandStory';
	use constant { SERVER => 100, RELAY => 200, CLIENT => 400 };

	sub new {
		my ($class, %o) = @_;
		my $made = delete $o{made} // 1;
		my $self = $class->SUPER::new(no_usual => 1, %o);
		$self->{claims} = $made ? SERVER : RELAY;
		my %was = (ts_ns => 5_000_000, since_ns => 2_000_000, cpu => 1);
		$self->builder->thread(RELAY, 'relay', %was)->thread(CLIENT, 'editor', %was)
			->thread(450, 'watcher', %was)->thread(500, 'service', %was)->thread(600, 'sh', %was);
		$self->builder->thread(401, 'sender', pid => CLIENT, %was);
		$self->answers($_, $_ + 3) for 100, 300, 500;
		return $self;
	}

	sub told {
		my ($self, $t, $name, %f) = @_;
		return $self->SUPER::told($t, $name, pid => $self->{claims}, %f);
	}

	# hands_on(MS): a key comes, and the relay wakes WHOM (a thread of its client) at +0.4
	sub hands_on {
		my ($self, $t, %o) = @_;
		$self->enter($t, %o)->run(1, $t + 0.25, $t + 0.5, RELAY, 'sleeping');
		return $o{silent}
			? $self
			: $self->wake(1, $t + 0.4, $o{whom} // CLIENT, RELAY, $o{stack} // 'poll');
	}

	# shows(MS, WHO): a thread has the relay give a picture: it wakes that, which wakes the
	# compositor 0.35 ms later
	sub shows {
		my ($self, $t, $who, %o) = @_;
		$self->wake(1, $t, RELAY, $who // CLIENT, 'epoll')
			->run(1, $t + 0.2, $t + 0.45, RELAY, 'sleeping');
		return $self->draw($t + 0.35, RELAY, %o);
	}

	# answers(FROM, TO): an ordinary key: the client computes, and is done at TO
	sub answers {
		my ($self, $t, $to) = @_;
		return $self->hands_on($t)->run(1, $t + 0.55, $to, CLIENT, 'sleeping')->shows($to - 0.01);
	}
}

sub story { return Tipme::Test::RelayedStory->new(@_) }
sub ns    { return Tipme::Test::Story::ns($_[0]) }

sub ends {
	my ($d, $ms, $what) = @_;
	return cmp_ok(abs($d->{interval}{duration_ns} - $ms * MS), '<', MS, $what);
}
sub sources { return $_[0]->sources }

# --- Who the clients are.
my ($of, $x, @more) = sources(story());
is(scalar @more, 0,       'there are the compositor and its relay');
is($x->{pid},    RELAY,   '... known by what it does');
is($x->{name},   'relay', '... by its name');
is_deeply([ map { $_->{pid} } $x->all('deliver') ], [ (CLIENT) x 3 ], 'a key went to whom it woke');
is_deeply([ map { $_->{pid} } $x->all('draw') ],    [ (CLIENT) x 3 ], '... who had it draw');
is(scalar $of->all('deliver') + scalar $of->all('draw'), 0, '... and to nobody else');

# A client that connected by itself, and asks a helper before it draws, is no relay.
my @s = sources(story(made => 0));
is(scalar @s, 1, 'a client that came by itself is a client');
is_deeply([ map { $_->{pid} } $s[0]->all('deliver') ], [ (RELAY) x 3 ], '... which has the keys');

# One that the compositor made, and that draws what it is sent by itself, neither.
my $s = story();
$s->enter($_)->run(1, $_ + 0.25, $_ + 2, RELAY, 'sleeping')->draw($_ + 1.8)
	for map { 700 + 20 * $_ } 0 .. 3;
is(scalar sources($s), 1, 'one that mostly draws by itself is a client, too');

# Somebody who looks all the time is told something, whatever is typed.
$s = story();
for my $k (0 .. 200) {
	my $t = 600 + 5 * $k;
	$s->wake(1, $t, RELAY, WATCHER, 'epoll')->run(1, $t + 0.05, $t + 0.2, RELAY, 'sleeping')
		->wake(1, $t + 0.15, WATCHER, RELAY, 'poll')
		->run(1, $t + 0.25, $t + 0.3, WATCHER, 'sleeping');
}
$s->answers(1702, 1706);
(undef, $x) = sources($s);
is_deeply([ map { $_->{pid} } $x->all('deliver') ], [ (CLIENT) x 4 ], 'who looks on gets no keys');

# --- A program of the relay is started by a key that another client of the compositor got: nobody
# was sent anything by way of the relay yet. Before its last picture it waits for a frame.
sub started {
	my (%o) = @_;
	my ($s, $end) = (Tipme::Test::WaylandStory->new(trigger => 9000), 4000);
	my %was = (ts_ns => 5 * MS, since_ns => 2 * MS, cpu => 1);
	$s->builder->thread(700, 'relay', %was)->thread(
		400, 'editor', ppid => 300, start_ns => 1002 * MS,
		ts_ns => 1900 * MS, since_ns => 1004 * MS
	);
	$s->enter(1000)->run(1, 1000.25, 1001, 200, 'sleeping')->draw(1000.8)
		->wake(1, 1000.9, 300, 200, 'tty')->run(1, 1001.1, 1003, 300, 'sleeping')->kernel(
		1, 1002, 'fork', tid => 300, child_tid => 400, child_pid => 400,
		child_start_ns => 1002 * MS
		);
	if ($o{places}) {
		# It waits for its window to be placed by the compositor, whom its own timer wakes.
		$s->run(1, 1004, $end - 0.75, 400, 'sleeping')
			->wake(0, $end - 0.58, SERVER, 0, 'epoll', context => 'hardirq')
			->run(0, $end - 0.57, $end - 0.55, SERVER, 'sleeping')
			->wake(0, $end - 0.56, 700, SERVER, 'epoll')
			->run(0, $end - 0.54, $end - 0.52, 700, 'sleeping')
			->wake(0, $end - 0.53, 400, 700, 'poll')
			->run(1, $end - 0.525, $end + 0.5, 400, 'sleeping');
	} else {
		$s->run(1, 1004, $end + 0.5, 400, 'sleeping');
	}
	my %relay = (client => 88, pid => $o{claims} // SERVER, surface => 5);
	my $shows = sub {
		my ($t, $callback) = @_;
		$s->run(0, $t - 0.2, $t + 0.05, 700, 'sleeping')
			->draw($t, 700, with => { %relay, callback => $callback }, no_done => 1);
	};
	# It asks what there is, and for a window.
	$s->wake(1, $_, 700, 400, 'epoll')->run(0, $_ + 0.1, $_ + 0.2, 700, 'sleeping')
		for $end - 900, $end - 0.8;
	$s->wake(1, $end - 0.5, 700, 400, 'epoll');
	$shows->($end, 31);
	# The compositor's clock says that it may have the next one.
	$s->wake(1, $end + 0.45, 700, 400, 'epoll')->run(0, $end + 0.5, $end + 0.6, 700, 'sleeping')
		->wake(0, $end + 12, SERVER, 0, 'epoll', context => 'hardirq')
		->run(0, $end + 12.05, $end + 12.2, SERVER, 'sleeping')
		->told($end + 12.1, 'wl_done', %relay{qw(client pid)}, callback => 31, what => 'done')
		->wake(0, $end + 12.15, 700, SERVER, 'epoll');
	$shows->($end + 12.5, 32);
	$s->told($end + 12.9, 'wl_done', %relay{qw(client pid)}, callback => 32, what => 'done');
	return $s;
}
(undef, $x) = sources(started());
is($x->{pid}, 700, 'a relay that was sent nothing is known by who asks for its pictures');
is_deeply(
	{ map { $_->{pid} => 1 } $x->all('draw') },
	{ 400 => 1 }, '... which are of the program that asked'
);
my $first =
	judged('a program is started by way of it', started(), 'app-compute', 'editor', 0.95, 1);
ends($first, 3012.9, '... up to its last picture of the first window');
$first = judged(
	'the compositor places its window', started(places => 1), 'app-compute',
	'editor',                           0.95,                 1
);
ends($first, 3012.9, '... up to that');
@s = sources(started(claims => 700));
is(scalar @s, 1, 'who connected by itself is no relay then, either');

# --- Who was slow.
judged('the client computes', story()->answers(1000, 1600), 'app-compute', 'editor', 0.98, 1);
judged('nobody is slow', story()->answers(1000, 1003), 'none', undef);

$s = story()->run(1, 990, 995, CLIENT, 'stopped')->hands_on(1000, silent => 1);
$s->wake(1, 1540, CLIENT, SIGNAL)->run(1, 1540.05, 1541, CLIENT, 'sleeping')->shows(1540.9);
judged('the client is stopped', $s, 'stopped', 'editor', 0.97, 1);

$s = story()->run(1, 990, 995, RELAY, 'stopped')->enter(1000, no_wake => 1);
$s->wake(1, 1540, RELAY, SIGNAL)->run(1,             1540.05, 1540.5, RELAY,  'sleeping')
	->wake(1, 1540.4, CLIENT, RELAY, 'poll')->run(1, 1540.55, 1542,   CLIENT, 'sleeping')
	->shows(1541.9);
judged('the relay is stopped', $s, 'stopped', 'relay', 0.97, 1);

$s = story()->run(0, 999.9, 1000, SERVER, 'stopped')->wake(1, 1540, SERVER, 999)
	->run(0, 1540.05, 1540.4, SERVER, 'sleeping')->hands_on(1540.05, awake => 1);
$s->run(1, 1540.6, 1542, CLIENT, 'sleeping')->shows(1541.9);
judged('the compositor is stopped', $s, 'stopped', 'sway', 0.97, 1);

$s = story()->hands_on(1000)->run(1, 1000.55, 1001, CLIENT, 'sleeping');
$s->wake(1, 1000.9, RELAY, CLIENT, 'epoll')->run(1,   1001.05, 1001.3, RELAY,  'sleeping')
	->wake(1, 1001.2, SERVER, RELAY, 'epoll')->run(0, 1001.3,  1601,   SERVER, 'sleeping')
	->draw(1600.5, undef, awake => 1, done => 1600.8);
judged('the compositor computes', $s, 'compositor-compute', 'sway', 0.97, 1);

# --- What the client does meanwhile.
# It asks a service, which computes for 390 ms; the key is let go before the client is answered.
sub asks {
	my ($s) = @_;
	$s->hands_on(1000)->run(1, 1000.55, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9, SERVICE, CLIENT, 'poll')
		->run(1, 1001.05, 1080.2, SERVICE, 'runnable', preempted => 1);
	$s->hands_on(1080, kind => 'key_release')->run(1, 1080.55, 1080.6, CLIENT, 'sleeping')
		->run(1, 1080.65, 1391, SERVICE, 'sleeping');
	return $s->wake(1, 1390.9, CLIENT, SERVICE, 'unix')->run(1, 1391.1, 1393, CLIENT, 'sleeping');
}
my $d = judged(
	'the answer comes after the key was let go', asks(story())->shows(1392.9), 'ipc-wait',
	'service',                                   0.9,                          1
);
ends($d, 393.5, '... and is that of the press');

# It echoes, asks, and looks by the clock whether the answer has come.
sub looks_by_the_clock {
	my (%o) = @_;
	my $s = story()->hands_on(1000)->run(1, 1000.55, 1002, CLIENT, 'sleeping')->shows(1001.95);
	$s->wake(1, 1001.9, SERVICE, CLIENT, 'poll')->run(0, 1003, 1003.5, SERVICE, 'sleeping')
		if !$o{asks_nobody};
	my $t = 1002;
	while ($t < 1500) {
		$t += 25;
		$s->wake(1, $t, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, $t + 0.05, $t + 0.2, CLIENT, 'sleeping');
		$t += 0.2;
	}
	$s->wake(1, $t + 25, CLIENT, 0, 'poll', context => 'hardirq')
		->run(1, $t + 25.05, $t + 27, CLIENT, 'sleeping')->shows($t + 26.9);
	return $s;
}
$d = judged('it looks by the clock', looks_by_the_clock(), 'time-out', 'service', 0.9, 1);
judged('... a clock of its own', looks_by_the_clock(asks_nobody => 1), 'none', undef);

# One thread fills a buffer, another one sends it when its clock ticks.
sub ticks {
	my ($s, @at) = @_;
	$s->wake(1, $_, SENDER, 0, 'poll', context => 'hardirq')
		->run(1, $_ + 0.05, $_ + 0.1, SENDER, 'sleeping')
		for @at;
	return $s;
}

sub sends {
	my ($s, $t) = @_;
	return $s->wake(1, $t, SENDER, 0, 'poll', context => 'hardirq')
		->run(1, $t + 0.05, $t + 0.3, SENDER, 'sleeping')->shows($t + 0.25, SENDER);
}
$d = judged(
	'another thread sends it', sends(asks(ticks(story(), map { 600 + 40 * $_ } 1 .. 5)), 1440),
	'ipc-wait', 'service', 0.8, 1
);
ends($d, 440.7, '... and it is answered then');
$s = ticks(story(), map { 600 + 40 * $_ } 1 .. 5)->hands_on(1000)
	->run(1, 1000.55, 1001, CLIENT, 'sleeping');
sends(ticks($s, 1300), 1440)
	->picture(CLIENT, 'editor', since_ns => ns(1001), stack_id => $s->id('poll'));
judged('... what is its own', $s, 'none', undef);

# --- A program that the press had made: it has come when it asks the relay for the first time.
$s = story()->hands_on(1000)->run(1, 1000.55, 1003, CLIENT, 'sleeping')->shows(1002.95);
$s->picture(CLIENT, 'editor', since_ns => ns(1003), stack_id => $s->id('poll'));
my %new = (child_tid => 870, child_pid => 870, child_start_ns => ns(1002));
$s->kernel(1, 1002, 'fork', tid => CLIENT, %new)->run(1, 1005, 3600, 870, 'sleeping')
	->shows(3599.95, 870, with => { surface => 8 });
my %is = (ppid => CLIENT, start_ns => ns(1002), ts_ns => ns(1900), since_ns => ns(1020));
$s->builder->thread(870, 'new', %is);
$d = judged('a program starts', $s, 'app-compute', 'new', 0.97, 1);
is($d->{event}{kind}, 'start', '... and that is what was slow');
ends($d, 2600.5, '... from the press to its first window');

done_testing();
