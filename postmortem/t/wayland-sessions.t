#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What happens in a Wayland session beside keys and windows: touch, drags, menus, subsurfaces, a
# locked screen, a second compositor.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/lib", "$Bin/../lib", "$Bin/../../abi/generated", "$Bin/../../abi/lib";
use Tipme::Episode;
use Tipme::InputPath;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::WaylandStory;

use constant { MS => 1_000_000, CLIENT => 200, LOCKER => 300 };

sub story { return Tipme::Test::WaylandStory->new(@_) }
my @TOUCH = (with => { kind => 'touch', what => 'touch' });

# A story as usual of such events, and at 1,000 ms one whose client computes for 0.6 s.
sub late {
	my ($usual, @with) = @_;
	my $s = story()->enter(1000, @with)->run(1, 1000.25, 1600, CLIENT, 'sleeping')->draw(1599.8);
	$s->enter($_, @with)->run(1, $_ + 0.25, $_ + 4, CLIENT, 'sleeping')->draw($_ + 3.8)
		for map { 1700 + 60 * $_ } 0 .. $usual - 1;
	return $s;
}
my $d = judged('a finger', late(20, @TOUCH), 'app-compute', 'xterm', 0.97, 1);
is($d->{event}{kind}, 'touch', '... by its name');
# A button is held, and the compositor tells the client under the pointer of what is dragged there.
my $dragged = story()->enter(900, with => { kind => 'button_press', what => 'pointer' })->draw(903);
my @DRAG    = (with => { kind => 'motion', what => 'drag' });
$dragged->enter($_, @DRAG)->run(1, $_ + 0.25, $_ + 4, CLIENT, 'sleeping')->draw($_ + 3.8)
	for 920, 940, 960;
$dragged->enter(1000, @DRAG)->run(1, 1000.25, 1600, CLIENT, 'sleeping')->draw(1599.8);
$d = judged('something is dragged over a client', $dragged, 'app-compute', 'xterm', 0.97, 1);
is($d->{event}{kind}, 'motion', '... and a motion of it was meant');
$d = judged(
	'... and dropped there', late(1, with => { kind => 'button_release', what => 'drag' }),
	'app-compute', 'xterm', 0.97, 1
);

# A menu is a surface of its own, which the client draws when it was clicked.
my @CLICK = (with => { kind => 'button_press', what => 'pointer' });

sub menu {
	my ($computes_until) = @_;
	my $s = story()->enter(1000, @CLICK)->run(1, 1000.25, $computes_until, CLIENT, 'sleeping');
	return $s->draw(
		$computes_until - 0.2, undef,
		done    => $computes_until + 0.2,
		with    => { surface => 44, callback => 31 },
		no_done => 1
	)->told($computes_until + 0.2, 'wl_done', callback => 31, what => 'done');
}
$d = judged('a menu', menu(1600), 'app-compute', 'xterm', 0.97, 1);
is($d->{interval}{end_ns}, 1600.2 * MS, '... ends when its own surface was used');
judged('a menu that comes at once', menu(1004), 'none');

# A subsurface is drawn first, and shown with its parent.
my $s = story()->enter(1000)->run(1, 1000.25, 1600, CLIENT, 'sleeping');
$s->draw(1010, undef, with => { surface => 55, callback => 0 }, no_done => 1)->draw(1599.8);
$d = judged('a subsurface, and its parent at last', $s, 'app-compute', 'xterm', 0.97, 1);
is($d->{interval}{end_ns}, 1600.05 * MS, '... which ends it');

# The screen is locked: keys go to the locker alone. What others draw meanwhile answers nothing.
sub locked {
	my ($busy_until) = @_;
	my $s            = story(no_usual => 1);
	my %to           = (client => LOCKER, with => { pid => LOCKER, client => 88 });
	$s->enter($_, %to)->run(1, $_ + 0.25, $_ + 4, LOCKER, 'sleeping')
		->draw($_ + 3.8, LOCKER, with => { pid => LOCKER, client => 88 }, no_done => 1)
		->told($_ + 4.1, 'wl_done', pid => LOCKER, client => 88, callback => 30, what => 'done')
		for 200, 350, 500, 650;
	$s->enter(1000, %to)->draw(1003)->draw(1103)->draw(1203);
	$s->run(1, 1000.25, $busy_until, LOCKER, 'sleeping')
		->draw($busy_until - 0.2, LOCKER, with => { pid => LOCKER, client => 88 }, no_done => 1)
		->told(
		$busy_until + 0.2, 'wl_done', pid => LOCKER, client => 88, callback => 30,
		what => 'done'
		);
	return $s;
}
$d = judged('a locked screen', locked(1600), 'app-compute', 'bash', 0.97, 1);
is($d->{verdict}{blamed}{pid}, LOCKER, '... where the locker computes');
judged('... and one whose locker is quick', locked(1004), 'none');

# Each compositor is a source of its own.
$s = story()->enter(1000)->draw(1003);
$s->kernel(
	0, 1100, 'wl_deliver', tid => 900, pid => 901, client => 5, object => 3,
	kind => 'key_press', what => 'keyboard'
);
my $folder = tempdir(CLEANUP => 1) . '/episode';
$s->builder->write($folder);
my @events = grep { $_->{device_ns} == 1100 * MS }
	Tipme::InputPath->new(Tipme::Episode->open($folder))->events;
is(scalar @events,          1,   'a second compositor sends a key of its own');
is($events[0]{server}{pid}, 900, '... which is not the first one\'s');
isnt($events[0]{pid} // 0, CLIENT, '... nor for a client of that');

Tipme::Test::Judge::cut_to_the_path();
done_testing();
