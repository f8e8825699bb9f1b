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

# A release does not cut the answer to its press.
$s = story()->enter(1000)->run(1, 1000.25, 1401, CLIENT, 'sleeping')
	->enter(1080, kind => 'key_release', no_wake => 1)->draw(1400.9)->hotkey(3000);
my $r = opened($s)->run;
is($r->{event}{kind},      'key_press', 'the press is judged');
is($r->{interval}{end_ns}, 1401.1 * MS, 'and answered after the release');

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

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
