#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Input events: which count, to whom they belong, when they entered; the hot-key's own presses never do.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
my $n = 0;

sub opened { my ($s) = @_; return Tipme::Diagnosis->new(Tipme::Episode->open($s->builder->write("$tmp/i" . ++$n))) }
sub story { return Tipme::Test::Story->new(@_) }

my $d = opened(story()->hotkey(3000));
my @e = $d->events;
is(scalar @e, 6, 'master copies are no events');
is_deeply([ map { $_->{n} } @e ], [ 1 .. 6 ], 'they are numbered from 1');
is_deeply([ map { $_->{chord} ? 1 : 0 } @e ], [ 0, 0, 0, 1, 1, 1 ], 'the hot-key and its modifiers are marked');
is_deeply([ map { $_->{candidate} ? 1 : 0 } @e ], [ 1, 1, 1, 0, 0, 0 ], 'and are no candidates');

# Modifiers that were delivered (to a client that has hung since): they are the hot-key's all the same, and what was typed before is not.
my $s = story()->enter(1000, no_wake => 1)->enter(2940)->enter(2970, no_wake => 1)->enter(3000, chord => 'last');
$d = opened($s);
is_deeply([ map { $_->{chord} ? 1 : 0 } $d->events ], [ 0, 0, 0, 0, 1, 1, 1 ], 'delivered modifiers are the hot-key\'s; the key that nobody answered is not');

# On a server without hooks our own agent hears the hot-key; and what is typed into its dialog is never the problem.
$s = story(manifest => { recorder => { agents => [900] }, trigger => { kind => 'hotkey', ns => 3010 * MS } });
$s->enter(1000, no_wake => 1)->enter(2000, chord => 'dialog')->enter(2940)->enter(2970, no_wake => 1)->enter(3000, chord => 'agent');
$s->builder->x($_->[1] * MS, 'x_deliver', input_seq => $_->[0], kind => 'key_press', pid => 900, client => 9, x_type => 2) for [ 5, 2000.2 ], [ 8, 3000.2 ];
$d = opened($s);
is_deeply([ map { $_->{chord} ? 1 : 0 } $d->events ], [ 0, 0, 0, 0, 0, 1, 1, 1 ], 'what the agent heard is the hot-key');
is_deeply([ map { $_->{candidate} ? 1 : 0 } $d->events ], [ 1, 1, 1, 1, 0, 0, 0, 0 ], 'what went to the dialog is no candidate');

# A window manager that listens, too: the client that changes the screen has the event.
$s = story();
$s->builder->x(1000.15 * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => 555, client => 2, x_type => 2);
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
$b->x(1150.32 * MS, 'x_wakeup')->x(1150.4 * MS, 'x_device', input_seq => 4, kind => 'key_press', device => 6)
	->x(1150.45 * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => CLIENT, client => 4)->x(1150.58 * MS, 'x_sleep');
$s->wake(0, 1150.5, CLIENT, SERVER, 'poll')->run(1, 1150.7, 1152, CLIENT, 'sleeping')->draw(1151.9);
my $i = opened($s)->run(event => 4)->{interval};
is($i->{start_ns}, 1000 * MS, 'the event entered when the input thread was woken');
is($i->{certainty}, 'exact', 'which is exact');

# A server that was busy with another client's request: its time stamp, taken by the input thread, tells when the key came.
$s = story();
$b = $s->builder;
$b->thread(700, 'painter', ts_ns => 5 * MS)->x(990 * MS, 'x_sleep')->wake(0, 1000 * MS, SERVER, 700, stack_id => 2, wakee_cpu => 0);
$s->run(0, 1000.05, 1501, SERVER, 'sleeping');
$b->x(1000.1 * MS, 'x_wakeup')->x(1000.2 * MS, 'x_request', pid => 700, client => 8, duration_ns => 500 * MS, count => 1)
	->x(1500.4 * MS, 'x_device', input_seq => 4, kind => 'key_press', device => 6, server_ms => 1100)
	->x(1500.5 * MS, 'x_deliver', input_seq => 4, kind => 'key_press', pid => CLIENT, client => 4)->x(1500.9 * MS, 'x_sleep');
$s->wake(0, 1500.6, CLIENT, SERVER, 'poll')->run(1, 1500.7, 1502, CLIENT, 'sleeping')->draw(1501.9)->hotkey(3000);
my $r = opened($s)->run;
cmp_ok(abs($r->{interval}{start_ns} - 1100 * MS), '<', 2 * MS, 'a busy server: the key came when the server\'s stamp says');
is($r->{interval}{certainty}, 'inferred', 'which is inferred');
is($r->{verdict}{kind}, 'client-queue', 'and the time before it was read is the other client\'s');
is($r->{verdict}{blamed}{comm}, 'painter', 'by name');
cmp_ok($r->{verdict}{share}, '>', 0.98, 'nearly all of it');

# A release does not cut the answer to its press.
$s = story()->enter(1000)->run(1, 1000.25, 1401, CLIENT, 'sleeping')->enter(1080, kind => 'key_release', no_wake => 1)->draw(1400.9)->hotkey(3000);
$r = opened($s)->run;
is($r->{event}{kind}, 'key_press', 'the press is judged');
is($r->{interval}{end_ns}, 1401.1 * MS, 'and answered after the release');

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
