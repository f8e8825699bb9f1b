#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Under a compositor an answer is seen when that has painted it: who is named where it is late, and
# who is not.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/lib", "$Bin/../lib", "$Bin/../../abi/generated", "$Bin/../../abi/lib",
	"$Bin/../../tests/causes/lib";
use Tipme::RowSaid;
use Tipme::Test::Judge;
use Tipme::Test::Story;

use constant {
	MS     => 1_000_000, CLIENT => Tipme::Test::Story::CLIENT,
	SERVER => Tipme::Test::Story::SERVER, COMP => 400, READER => 410, EVENTS => 401,
	FRAME  => 0x20000c
};
my $dir = tempdir(CLEANUP => 1);
my $n   = 0;

package Composited {
	use parent -norequire, 'Tipme::Test::Story';
	my @BOX = (x => 10, y => 20, width => 12, height => 13);

	sub new {
		my ($class, %o) = @_;
		my $self = $class->SUPER::new(no_usual => 1, %o);
		$self->picture(
			main::COMP, 'picom', ts_ns => 5 * main::MS, since_ns => 2 * main::MS,
			cpu => 1
		);
		return $self;
	}

	sub x {
		my ($self, $t, $name, %f) = @_;
		$self->builder->x(Tipme::Test::Story::ns($t), $name, %f);
		return $self;
	}

	# The client's request at T, which the server executes until T + 0.2; the compositor is told and
	# woken in it.
	sub drawn {
		my ($self, $t, %o) = @_;
		$self->wake(1, $t, main::SERVER, $o{by} // main::CLIENT, 'epoll')
			->run(0, $t + 0.01, $t + 0.25, main::SERVER, 'sleeping');
		$self->x($t + 0.02, 'x_wakeup')->x(
			$t + 0.05, 'x_request', pid => main::CLIENT, client => 4, duration_ns => 150_000,
			major => 76, sequence => 1, count => 1
		);
		$self->told($t + 0.1)                                       if !$o{untold};
		$self->wake(0, $t + 0.12, main::COMP, main::SERVER, 'poll') if !$o{untold} && !$o{awake};
		return $self->x(
			$t + 0.2, 'x_drawn', window => main::FRAME, client => 4, major => 76, @BOX,
			%{ $o{box} // {} }
		)->x($t + 0.24, 'x_sleep');
	}

	sub told {
		my ($self, $t, %f) = @_;
		return $self->x(
			$t, 'x_told', pid => main::COMP, drawable => main::FRAME,
			damage => 0x400001, client => 5, by_client => 4, %f
		);
	}

	# The compositor's request at T: DamageSubtract and painting; the server sleeps at T + 0.3
	sub painted {
		my ($self, $t, %o) = @_;
		my $pid = $o{pid} // main::COMP;
		$self->wake(1, $t, main::SERVER, $pid, 'epoll')
			->run(0, $t + 0.01, $t + 0.3, main::SERVER, 'sleeping');
		$self->x($t + 0.02, 'x_wakeup');
		$self->x($t + 0.05, 'x_taken', pid => $pid, damage => 0x400001, client => 5)
			if !$o{untaken};
		$self->x(
			$t + 0.1, 'x_request', pid => $pid, client => 5, duration_ns => 100_000,
			major => 139, minor => 8, sequence => 1, count => 1
		);
		return $self->x(
			$t + 0.2, 'x_painted', pid => $pid, client => 5, major => 139, minor => 8,
			@BOX,     %{ $o{box} // {} }
		)->x($t + 0.29, 'x_sleep');
	}

	# A quick key: 2 ms to the drawing, 1 ms more to the screen
	sub quick {
		my ($self, $t) = @_;
		return $self->enter($t)->run(1, $t + 0.25, $t + 1.7, main::CLIENT, 'sleeping')
			->drawn($t + 1.5)->run(1, $t + 2, $t + 2.6, main::COMP, 'sleeping')->painted($t + 2.5);
	}
}

sub story { my $s = Composited->new(@_); $s->quick($_) for 100, 300, 500; return $s }
my %COMM = (COMP, 'picom', CLIENT, 'xterm', 777, 'hog');

sub judged {
	my ($what, $s, $kind, $pid, $share) = @_;
	my $d = Tipme::Test::Judge::judged(
		$what, $s, $kind, defined $pid ? $COMM{$pid} : undef, $share,
		undef
	);
	is(($d->{verdict}{blamed} // {})->{pid}, $pid, "$what: $d->{verdict}{sentence}");
	return $d;
}

sub stages {
	return { map { $_->{name} => $_->{ts_ns} } @{ $_[0]{event}{stages} } };
}

# --- quiet ---
my $d = judged('three quick keys', story()->hotkey(2500), 'none', undef);
my @r = map { [ @$_{qw(n duration_ns)} ] } @{ $d->{slowest} };
is_deeply([ map { $_->[1] / MS } @r ], [ 2.7, 2.7, 2.7 ], 'each ends when the screen had changed');

# --- the compositor ---
my $s =
	story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5, awake => 1);
$s->run(1, 1001.8, 1002.0, COMP, 'stopped')->wake(0, 1542, COMP, 999)
	->run(1, 1542.1, 1542.6, COMP, 'sleeping')->painted(1542.5);
$d = judged('stopped', $s->hotkey(2500), 'stopped', COMP, 0.95);
is($d->{interval}{end_ns},    1542.7 * MS, '... up to the change of the screen');
is(stages($d)->{drawn},       1001.7 * MS, '... the client had drawn long before');
is($d->{interval}{certainty}, 'exact',     '... exact: it took the damage over between');

$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5)
	->run(1, 1001.8, 1500.2, COMP, 'sleeping')->painted(1500);
judged('computes', $s->hotkey(2500), 'ipc-wait', COMP, 0.95);

$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5);
$s->picture(777, 'hog', prio => 40);
$s->run(1, 1001.9, 1400, 777, 'sleeping', prio => 40, next => COMP)
	->run(1, 1400, 1400.6, COMP, 'sleeping', prev => 777, prev_state => 'sleeping')
	->painted(1400.5);
judged('starved', $s->hotkey(2500), 'rt-starvation', 777, 0.95);

# Another of its threads takes what the server sends, and wakes the one that paints: where that one
# had no CPU, the screen was not what it slept for. Where it looked in just before, it was.
for my $last (0, 1390) {
	$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')
		->drawn(1001.5, awake => 1);
	$s->picture(777, 'hog', prio => 40);
	$s->builder->thread(EVENTS, 'events', pid => COMP, ts_ns => 5 * MS, start_ns => 5 * MS);
	$s->wake(1, 501, COMP, 0, 'poll', context => 'hardirq')->run(1, 501.1, 501.2, COMP, 'sleeping');
	$s->wake(0, $last || 1001.62, EVENTS, $last ? 0 : SERVER, 'poll');
	$s->run(1, 1001.9, 1400, 777, 'sleeping', prio => 40, next => EVENTS)
		->run(1, 1400, 1400.3, EVENTS, 'sleeping', prev => 777, prev_state => 'sleeping')
		->wake(1, 1400.2, COMP, EVENTS, 'poll')->run(1, 1400.35, 1400.9, COMP, 'sleeping')
		->painted(1400.8);
	judged(
		$last ? 'a thread of its own, asleep' : 'a thread of its own, starved',
		$s->hotkey(2500), $last ? ('frame-wait', COMP) : ('rt-starvation', 777), 0.9
	);
}

$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5)
	->run(1, 1001.9, 1002, COMP, 'sleeping');
$s->wake(1, 1402, COMP, 0, 'poll', context => 'hardirq')->run(1, 1402.1, 1402.6, COMP, 'sleeping')
	->painted(1402.5);
$d = judged('waits for its own frame', $s->hotkey(2500), 'frame-wait', COMP, 0.95);
Tipme::RowSaid::story(17, $d);

$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5, awake => 1)
	->run(1, 1001.8, 1002, COMP, 'stopped', open => 0);
$d = judged(
	'stopped up to the trigger',
	$s->picture(COMP, 'picom', state => 'stopped', since_ns => 1002 * MS)->hotkey(2500), 'stopped',
	COMP,                                                                                0.95
);
is($d->{interval}{certainty}, 'open', '... open: the compositor owes it');
like(
	$d->{verdict}{sentence},
	qr/What xterm \(pid 200\) drew after a key press has not been on the screen/,
	'... and says so'
);

# --- not the compositor ---
$s = story()->enter(1000)->run(1, 1000.25, 1500.7, CLIENT, 'sleeping')->drawn(1500.5)
	->run(1, 1501, 1501.6, COMP, 'sleeping')->painted(1501.5);
$d = judged('the client computes', $s->hotkey(2500), 'app-compute', CLIENT, 0.95);
my ($of) = map { $_->{ns} } grep { ($_->{pid} // 0) == COMP } @{ $d->{totals}{blamed} };
cmp_ok($of // 0, '<', 0.05 * $d->{interval}{duration_ns}, '... the compositor has less than 5 %');

# A frame that was begun before shows an older picture; one that covers only a part is not the end.
$s =
	story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')
	->drawn(1001.5, box => { width => 6 })
	->drawn(1001.9, untold => 1, box => { x => 16, width => 6 });
$s->run(1, 1002.2, 1002.6, COMP, 'sleeping')->painted(1002.5, box => { width => 6 }, untaken => 1);
$s->wake(1, 1302, COMP, 0, 'poll', context => 'hardirq')->run(1, 1302.1, 1302.6, COMP, 'sleeping')
	->painted(1302.5);
$d = judged(
	'the first frame covers only one of two pieces', $s->hotkey(2500), 'frame-wait', COMP,
	0.9
);
is($d->{interval}{end_ns}, 1302.7 * MS, '... the second one is the end');

# A screen reader is told, too, and paints nothing; a second connection takes over.
$s = story();
$s->picture(READER, 'x11vnc', ts_ns => 5 * MS);
$s->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5)
	->told(1001.62, pid => READER, client => 9, damage => 0x900001);
$s->run(1, 1002.2, 1402.6, COMP, 'sleeping')->painted(1402.5);
judged('a screen reader beside it', $s->hotkey(2500), 'ipc-wait', COMP, 0.95);

$s = Composited->new;
for my $t (100, 300, 500, 700) {
	$s->enter($t)->run(1, $t + 0.25, $t + 1.7, CLIENT, 'sleeping')->drawn($t + 1.5, untold => 1)
		->told($t + 1.6, pid => READER, damage => 0x900001);
}
$d = judged('nobody paints but the server itself', $s->hotkey(2500), 'none', undef);
is($d->{slowest}[0]{duration_ns}, 1.7 * MS, '... then the drawing is the end');

# Another window is painted all the while, and does not count.
$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5);
$s->run(1, 1002, 1002.6, COMP, 'sleeping')
	->painted(1002.5, untaken => 1, box => { x => 600, y => 400 });
for my $k (1 .. 20) {
	my $t = 1002 + 16 * $k;
	$s->wake(1, $t, COMP, 0, 'poll', context => 'hardirq')
		->run(1, $t + 0.1, $t + 0.6, COMP, 'sleeping')
		->painted($t + 0.5, untaken => $k < 20, box => $k < 20 ? { x => 600, y => 400 } : {});
}
$d = judged(
	'beside a window that is painted all the time', $s->hotkey(2500), 'frame-wait', COMP,
	0.9
);
is($d->{interval}{end_ns}, 1322.7 * MS, '... its own box is the end');

# It looked, and had nothing to show: what was drawn lies below another window.
$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5)
	->run(1, 1002, 1002.6, COMP, 'sleeping');
$s->wake(1, 1002.5, SERVER, COMP, 'epoll')->run(0, 1002.51, 1002.7, SERVER, 'sleeping')
	->x(1002.52, 'x_wakeup')->x(1002.55, 'x_taken', pid => COMP, damage => 0x400001, client => 5)
	->x(1002.69, 'x_sleep');
my $unpainted = sub {
	my ($s) = @_;
	return $s->run(1, 1800, 1800.6, COMP, 'sleeping')
		->painted(1800.5, untaken => 1, box => { x => 0, y => 0, width => 800, height => 600 });
};
judged('taken over, and nothing painted', $s->hotkey(2500), 'none', undef);
# What it paints later, when the server wakes it for another window, is no answer either; what it
# paints when its own timer wakes it is.
for my $server (1, 0, 2) {
	$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5)
		->run(1, 1002, 1002.6, COMP, 'sleeping');
	$s->wake(1, 1002.5, SERVER, COMP, 'epoll')->run(0, 1002.51, 1002.7, SERVER, 'sleeping')
		->x(1002.52, 'x_wakeup')
		->x(1002.55, 'x_taken', pid => COMP, damage => 0x400001, client => 5)
		->x(1002.69, 'x_sleep');
	if ($server) {
		$s->wake(1, 1799.8, SERVER, 777, 'epoll')->run(0, 1799.81, 1799.95, SERVER, 'sleeping')
			->x(1799.82, 'x_wakeup')
			->told(1799.85, drawable => 0x900, damage => 0x900001, by_client => 8)
			->wake(0, 1799.9, COMP, SERVER, 'poll')->x(1799.94, 'x_sleep');
	} else {
		$s->wake(1, 1799.9, COMP, 0, 'poll', context => 'hardirq');
	}
	# It had asked the server something, which was late.
	my $late = $server == 2;
	$s->x(
		1799.85, 'x_request', pid => COMP, client => 5, duration_ns => 20_000, major => 43,
		sequence => 2, count => 1
	) if $late;
	judged(
		'taken over, and painted with others: '
			. ($late ? 'a late answer' : $server ? 'the server woke it' : 'its timer'),
		$unpainted->($s)->hotkey(2500),
		$server && !$late ? ('none', undef) : ('frame-wait', COMP, 0.95)
	);
}

# Replaced in between: another process is told and paints.
$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5, awake => 1)
	->run(1, 1001.9, 1002, COMP, 'dead');
$s->picture(420, 'xfwm4', ts_ns => 1200 * MS, start_ns => 1190 * MS);
$s->told(1300, pid => 420, damage => 0x500001, client => 6)->run(1, 1299, 1300.6, 420, 'sleeping')
	->painted(1300.5, pid => 420);
$d = $s->hotkey(2500)->diagnose("$dir/replaced");
is($d->{interval}{end_ns}, 1300.7 * MS, 'replaced in between: the end is what the new one paints');

# The window leaves the compositor: what is in its pixmap comes to the screen with that.
$s = story()->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5)
	->run(1, 1001.9, 1402.6, COMP, 'sleeping');
$s->wake(1, 1402.5, SERVER, COMP, 'epoll')->run(0, 1402.51, 1402.9, SERVER, 'sleeping')
	->x(1402.52, 'x_wakeup')->x(
	1402.6, 'x_request', pid => COMP, client => 5, duration_ns => 200_000, major => 142,
	minor => 3, sequence => 1, count => 1
)->x(1402.7, 'x_redirect', window => FRAME, begin => 0)->x(1402.89, 'x_sleep');
$d = judged('no longer redirected', $s->hotkey(2500), 'ipc-wait', COMP, 0.95);
is($d->{interval}{end_ns}, 1402.7 * MS, '... that is the end');

# Present: the server shows the picture later, by itself.
$s = Composited->new;
for my $t (100, 300, 500) {
	presented($s->enter($t)->run(1, $t + 0.25, $t + 1.7, CLIENT, 'sleeping')->drawn($t + 1.5)
			->run(1, $t + 2, $t + 2.6, COMP, 'sleeping'), $t + 2.5, 10);
}
$s->enter(1000)->run(1, 1000.25, 1001.7, CLIENT, 'sleeping')->drawn(1001.5)
	->run(1, 1002, 1002.6, COMP, 'sleeping');
$d = judged(
	'Present: the screen is waited for', presented($s, 1002.5, 400)->hotkey(2500),
	'frame-wait', COMP, 0.95
);
is($d->{interval}{end_ns}, 1402.7 * MS, '... up to its completion');

sub presented {
	my ($s, $t, $ms) = @_;
	$s->wake(1, $t, SERVER, COMP, 'epoll')->run(0, $t + 0.01, $t + 0.3, SERVER, 'sleeping')
		->x($t + 0.02, 'x_wakeup')
		->x($t + 0.05, 'x_taken', pid => COMP, damage => 0x400001, client => 5)->x(
		$t + 0.1, 'x_request', pid => COMP, client => 5, duration_ns => 50_000, major => 148,
		minor => 1, sequence => 1, count => 1
	)->x(
		$t + 0.1, 'x_present', pid => COMP, client => 5, window => 0x3f, phase => 'begin',
		serial => int $t
	)->x($t + 0.29, 'x_sleep');
	$s->wake(0, $t + $ms, SERVER, 0, 'epoll', context => 'hardirq')
		->run(0, $t + $ms + 0.05, $t + $ms + 0.4, SERVER, 'sleeping')
		->x($t + $ms + 0.06, 'x_wakeup');
	return $s->x(
		$t + $ms + 0.2, 'x_present', pid => COMP, client => 5, window => 0x3f,
		phase => 'end', serial => int $t
	)->x(
		$t + $ms + 0.25, 'x_painted', pid => 0, client => 0, x => 0, y => 0, width => 1024,
		height => 768
	)->x($t + $ms + 0.39, 'x_sleep');
}

Tipme::Test::Judge::cut_to_the_path();
done_testing();
