#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A picture that moves and stands still for a moment, while no key waits for an answer.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/lib", "$Bin/../lib", "$Bin/../../abi/generated", "$Bin/../../abi/lib",
	"$Bin/../../tests/causes/lib";
use Tipme::RowSaid;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { MS => 1_000_000, SERVER => Tipme::Test::Story::SERVER, FILM => 500, COMP => 400 };
my $dir = tempdir(CLEANUP => 1);
my $n   = 0;

# A film draws each 20 ms from 600 ms on, but for what HELD does in a gap: [ from, to ] of frames
# that do not come.
sub film {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(trigger => 5000);
	$s->picture(FILM, 'mpv',   ts_ns => 5 * MS, since_ns => 2 * MS, cpu => 1);
	$s->picture(COMP, 'picom', ts_ns => 5 * MS, since_ns => 2 * MS, cpu => 1) if $o{composited};
	for my $k (0 .. 150) {
		my $t = 600 + 20 * $k;
		$o{between}->($s, $t) if $o{between} && $t == $o{gap}[1];
		next if $o{gap} && $t >= $o{gap}[0] && $t < $o{gap}[1];
		my $woken = $o{gap} && $t == $o{gap}[1] && $o{between};
		$s->wake(1, $t - 0.5, FILM, 0, 'nanosleep', context => 'hardirq') if !$woken;
		$s->run(1, $t - 0.4, $t + 0.05, FILM, 'sleeping')                 if !$woken;
		$s->draw($t, FILM, pid => FILM, client => 8);
	}
	return $s->hotkey(4900);
}

my $d = film()->diagnose("$dir/" . ++$n);
is($d->{verdict}{kind}, 'none', 'a film that goes on: nothing');
ok(!$d->{verdict}{stutter}, '... and no stutter');

# Stopped from 1600.1 to 2000 ms.
sub stopped {
	my ($s) = @_;
	$s->builder->switch(1, int(1580.06 * MS), FILM, 0, 'stopped') if 0;
	$s->wake(1, 1599.5, FILM, 0, 'nanosleep', context => 'hardirq')
		->run(1, 1599.6, 1599.7,  FILM, 'stopped')->wake(0, 1999.5, FILM, 999)
		->run(1, 1999.6, 2000.05, FILM, 'sleeping');
	return;
}
$d = judged(
	'it was stopped', film(gap => [ 1600, 2000 ], between => \&stopped), 'stopped', 'mpv',
	0.95
);
is($d->{verdict}{stutter}{missed}, 20, '... and how many frames it missed');
like(
	$d->{verdict}{sentence},
	qr/The moving picture of mpv \(pid 500\) stood still for .*, 20 frames/, '... in words'
);

sub computes {
	my ($s) = @_;
	$s->wake(1, 1599.5, FILM, 0, 'nanosleep', context => 'hardirq')
		->run(1, 1599.6, 2000.05, FILM, 'sleeping');
	return;
}
$d = judged(
	'it computed', film(gap => [ 1600, 2000 ], between => \&computes), 'app-compute', 'mpv',
	0.95
);
Tipme::RowSaid::story(27, $d);

# A key went in just before the picture goes on: it moves because of keys, and was not due.
sub pressed {
	my ($t) = @_;
	my $s = film(gap => [ 1600, 2000 ], between => \&computes)->enter($t);
	$s->run(0, $t + 0.4, $t + 1, Tipme::Test::Story::CLIENT, 'sleeping')->draw($t + 0.9);
	return $s->diagnose("$dir/" . ++$n);
}
$d = pressed(1980);
isnt($d->{verdict}{blamed}{comm} // '', 'mpv', 'a key sets it going: nobody is blamed for the gap');
ok((grep {/The moving picture of mpv/} @{ $d->{verdict}{circumstances} }), '... but it is told');
$d = pressed(1700);
is($d->{verdict}{blamed}{comm}, 'mpv', 'a key 300 ms before set nothing going');

# A program that has just been started is busy with that.
for my $born (1000, 0) {
	my $s = film(gap => [ 1600, 2000 ], between => \&computes);
	$s->builder->thread(FILM, 'mpv', ts_ns => 6 * MS, since_ns => 2 * MS, start_ns => $born * MS);
	my $kind = $s->diagnose("$dir/" . ++$n)->{verdict}{kind};
	is($kind, $born ? 'none' : 'app-compute', "a program made $born ms after the records begin");
}

# Its user has paused it, for all that is known: it slept by its own wish.
$d = film(gap => [ 1600, 2000 ])->diagnose("$dir/" . ++$n);
is($d->{verdict}{kind}, 'none', 'it slept by its own wish: no verdict');
ok((grep {/The moving picture of mpv/} @{ $d->{verdict}{circumstances} }), '... but told');

# Its thread that draws waited for another of its own, which waited by its own wish, too.
sub idles {
	my ($s) = @_;
	$s->builder->thread(501, 'helper', pid => FILM, ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->wake(1, 1599.5, FILM, 0, 'nanosleep', context => 'hardirq')
		->run(1, 1599.6, 1599.7, FILM, 'sleeping');
	$s->wake(0, 1620, 501, 0, 'futex', context => 'hardirq')
		->run(0, 1620.1, 1620.2, 501, 'sleeping');
	$s->wake(0, 1999.2, 501, 0, 'nanosleep', context => 'hardirq')
		->run(0, 1999.3, 1999.5, 501, 'sleeping');
	$s->wake(0, 1999.4, FILM, 501, 'futex', wakee_cpu => 1)
		->run(1, 1999.6, 2000.05, FILM, 'sleeping');
	return;
}
$d = film(gap => [ 1600, 2000 ], between => \&idles)->diagnose("$dir/" . ++$n);
is(
	$d->{verdict}{kind}, 'none',
	'it waited for a thread of its own that had nothing to do: no verdict'
);
ok((grep {/The moving picture of mpv/} @{ $d->{verdict}{circumstances} }), '... but told');

# ... or for a process of which a thread waited until a time that it chose, by a futex; or for a
# disk.
for my $how ([ 'futex', 'none' ], [ 'disk', 'ipc-wait' ]) {
	my ($stack, $kind) = @$how;
	my $other = sub {
		my ($s) = @_;
		$s->builder->thread(510, 'content', ts_ns => 5 * MS, since_ns => 2 * MS);
		$s->wake(1, 1599.5, FILM, 0, 'nanosleep', context => 'hardirq')
			->run(1, 1599.6, 1599.7, FILM, 'sleeping');
		$s->wake(0, 1620, 510, 0, $stack, context => 'hardirq')
			->run(0, 1620.1, 1620.2, 510, 'sleeping');
		$s->wake(0, 1999.2, 510, 0, $stack, context => 'hardirq')
			->run(0, 1999.3, 1999.5, 510, 'sleeping');
		$s->wake(0, 1999.4, FILM, 510, 'poll', wakee_cpu => 1)
			->run(1, 1999.6, 2000.05, FILM, 'sleeping');
		return;
	};
	$d = film(gap => [ 1600, 2000 ], between => $other)->diagnose("$dir/" . ++$n);
	is($d->{verdict}{kind}, $kind, "it waited for another process, which waited: $stack");
}

# Stood still for good: it has ended.
$d = film(gap => [ 2600, 9000 ])->diagnose("$dir/" . ++$n);
ok(
	!(grep {/moving picture/} @{ $d->{verdict}{circumstances} }),
	'one that ends has missed nothing'
);

# A slow answer comes first.
my $s = film(gap => [ 1600, 2000 ], between => \&stopped);
$s->enter(4000)->run(0, 4000.5, 4000.6, 200, 'sleeping')
	->wake(1, 4000.7, 200, 0, 'poll', context => 'hardirq')->run(1, 4000.8, 4700, 200, 'sleeping')
	->draw(4699.8);
$d = $s->diagnose("$dir/" . ++$n);
isnt($d->{event}, undef, 'a slow answer comes first');

Tipme::Test::Judge::cut_to_the_path();
done_testing();
