#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Stories of a client that has the X server for itself while others wait.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged cut_to_the_path);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, SHELL => 300, KWORKER => 50, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub story { return Tipme::Test::Story->new(@_) }
sub ns    { return Tipme::Test::Story::ns($_[0]) }

# --- another client has grabbed the server ---
my $s = story();
$s->builder->thread(700, 'screenlock', ts_ns => 5 * MS);
$s->builder->x(900 * MS, 'x_grab', pid => 700, client => 9, what => 'server', begin => 1);
$s->enter(1000)->run(1, 1000.25, 1002, CLIENT, 'sleeping');
$s->run(1, 1799, 1800.1, 700, 'sleeping')
	->wake(1, 1799 - 0.1, 700, 0, 'nanosleep', context => 'hardirq');
$s->builder->x(1800_070_000, 'x_grab', pid => 700, client => 9, what => 'server', begin => 0);
$s->draw(1800, 700)->hotkey(3000);
judged('server-grab', $s, 'server-grab', 'screenlock', 0.98, 1);

# ... and still has it when the hot-key is pressed: no waking tells whom the client waits for, but
# nobody serves it
$s = story();
$s->builder->thread(700, 'screenlock', ts_ns => 5 * MS)
	->x(900 * MS, 'x_grab', pid => 700, client => 9, what => 'server', begin => 1);
$s->enter(1000)->run(1, 1000.25, 1002, CLIENT, 'sleeping')
	->picture(CLIENT, 'xterm', since_ns => 1002 * MS, stack_id => $s->id('poll'))->hotkey(4000);
my $d = judged('server-grab, open', $s, 'server-grab', 'screenlock', 0.98, 1);
is($d->{interval}{certainty}, 'open', 'server-grab, open: the interval is open');
like(
	$d->{verdict}{sentence},
	qr/^xterm \(pid 200\) has not answered a key press for 3\.00 s, usually 2\.9 ms: most likely, for .* "screenlock" \(pid 700\) had grabbed the X server, which did nothing for others\.$/,
	'server-grab, open: the sentence'
);

# ... from the network: its process is not known, and no other is to be named in its place
$s = story();
$s->builder->x(900 * MS, 'x_grab', pid => 0, client => 9, what => 'server', begin => 1);
$s->enter(1000)->run(1, 1000.25, 1002, CLIENT, 'sleeping');
$s->builder->x(1800_070_000, 'x_grab', pid => 0, client => 9, what => 'server', begin => 0);
$s->wake(1, 1799.9, SERVER, 0, 'epoll', context => 'softirq_irq')->draw(1800)->hotkey(3000);
$d = judged(
	'server-grab, from the network',              $s,   'server-grab',
	'client 9 (from the network or a container)', 0.98, 1
);
is($d->{verdict}{blamed}{pid}, undef, 'server-grab, from the network: no process');
like(
	$d->{verdict}{sentence},
	qr/\) client 9 \(from the network or a container\) had grabbed the X server/,
	'server-grab, from the network: the sentence'
);
like(
	$d->{verdict}{door}, qr/\Awhoever runs client 9/,
	'server-grab, from the network: whom to ask'
);

# ... or its requests keep the server busy
$s = story()->wake(0, 950, SERVER, 0, 'epoll', context => 'softirq_irq');
$s->builder->x(949 * MS, 'x_sleep')->x(950.06 * MS, 'x_wakeup')->x(
	951 * MS, 'x_request', pid => 0, client => 9, duration_ns => 700 * MS, major => 68,
	count => 1
);
$s->run(0, 950.05, 1651.3, SERVER, 'sleeping');
$s->builder->x(
	1651.1 * MS, 'x_device', input_seq => 50, kind => 'key_press', device => 6,
	server_ms => 1000
)->x(
	1651.2 * MS, 'x_deliver', input_seq => 50, kind => 'key_press', pid => CLIENT, client => 4,
	x_type => 2
)->x(1651.28 * MS, 'x_sleep');
$s->wake(0, 1651.2, CLIENT, SERVER, 'poll')->run(1, 1651.25, 1653, CLIENT, 'sleeping')
	->draw(1652.9)->hotkey(3000);
$d = judged(
	'client-queue, from the network',             $s,  'client-queue',
	'client 9 (from the network or a container)', 0.9, 1
);
like(
	$d->{verdict}{sentence},
	qr/the X server worked on requests of client 9 \(from the network or a container\)\./,
	'client-queue, from the network: the sentence'
);

# ... or it is the one that was typed to, while another such has the server
$s = story();
$s->builder->x(900 * MS, 'x_grab', pid => 0, client => 9, what => 'server', begin => 1);
$s->builder->x(1000.06 * MS, 'x_wakeup')
	->x(1000.1 * MS, 'x_device', input_seq => 50, kind => 'key_press', device => 6)->x(
	1000.2 * MS, 'x_deliver', input_seq => 50, kind => 'key_press', pid => 0, client => 5,
	x_type => 2
)->x(1000.28 * MS, 'x_sleep');
$s->wake(0, 1000, SERVER, 0, 'epoll', context => 'hardirq')
	->run(0, 1000.05, 1000.3, SERVER, 'sleeping');
$s->builder->x(1800_070_000, 'x_grab', pid => 0, client => 9, what => 'server', begin => 0);
$s->wake(1, 1799.9, SERVER, 0, 'epoll', context => 'softirq_irq')
	->draw(1800, 0, pid => 0, client => 5)->hotkey(3000);
$d = judged(
	'a client from the network',                  $s,  'server-grab',
	'client 9 (from the network or a container)', 0.9, 1
);
like(
	$d->{verdict}{sentence},
	qr/\Aclient 5 \(from the network or a container\) answered a key press after 80\d ms/,
	'a client from the network: it is no pointer'
);
is_deeply(
	$d->{event}{client},
	{ pid => undef, comm => 'client 5 (from the network or a container)' },
	'... it is said which, without a process'
);

# ... and meanwhile the key is released, by a process that types: the client looks at that, too, but
# nobody waited for the one who typed
$s = story();
$s->builder->thread(700, 'screenlock', ts_ns => 5 * MS)->thread(800, 'typist', ts_ns => 5 * MS);
$s->builder->x(900 * MS, 'x_grab', pid => 700, client => 9, what => 'server', begin => 1);
$s->enter(1000)->run(1, 1000.25, 1002, CLIENT, 'sleeping');
$s->wake(1, 1399.7, 800, 0, 'nanosleep', context => 'hardirq')
	->run(1, 1399.8,  1400.02, 800,    'sleeping')->wake(1, 1400, SERVER, 800, 'epoll')
	->run(0, 1400.05, 1400.3,  SERVER, 'sleeping');
$s->builder->x(1400.06 * MS, 'x_wakeup')
	->x(1400.1 * MS, 'x_device', input_seq => 50, kind => 'key_release', device => 6)->x(
	1400.19 * MS, 'x_deliver', input_seq => 50, kind => 'key_release', pid => CLIENT,
	client => 4, x_type => 3
)->x(1400.28 * MS, 'x_sleep');
$s->wake(0, 1400.2, CLIENT, SERVER, 'poll')->run(1, 1400.25, 1401, CLIENT, 'sleeping');
$s->run(1, 1799, 1800.1, 700, 'sleeping')
	->wake(1, 1799 - 0.1, 700, 0, 'nanosleep', context => 'hardirq');
$s->builder->x(1800_070_000, 'x_grab', pid => 700, client => 9, what => 'server', begin => 0);
$s->draw(1800, 700)->hotkey(3000);
judged('a release during a grab', $s, 'server-grab', 'screenlock', 0.98, 1);

cut_to_the_path();
is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
