#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The hot-key on the layouts that a real server compiles, and after a change of layout; raw events
# do not show it either.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Live;
use XClient;

need(qw(Xorg setxkbmap));
my $peer = peer_start(rundir());
my $n    = 0;

# evdev codes of the key with minus on it
for ([ 'us', 12 ], [ 'de', 53 ], [ 'fr', '07' ], [ 'us,ru', 12 ], [ 'us(dvorak)', 40 ]) {
	my ($layout, $code)    = @$_;
	my ($name,   $variant) = $layout =~ /^([^(]*)(?:\((.*)\))?$/;
	my $x = Tipme::Display->new(
		kind   => 'Xorg', hooks => hooks(), rundir => $peer->{dir},
		layout => $name
	);
	my $keys = Tipme::Typist->new(socket => $x->keyboard);
	wait_for($peer, qr/^hello $n/);
	setxkbmap($x, $name, '-variant', $variant) if $variant;
	chord_is($keys, "Ctrl+Alt+$code",          1, "$layout: key $code");
	chord_is($keys, 'Ctrl+Alt+kp_subtract',    0, "$layout: not the keypad");
	chord_is($keys, 'Ctrl+Alt+Shift+' . $code, 0, "$layout: not with Shift");
	chord_is($keys, 'Ctrl+Alt+12',             0, "$layout: not where us has it") if $code != 12;

	if ($layout eq 'us') {
		setxkbmap($x, 'de');
		chord_is($keys, 'Ctrl+Alt+53', 1, 'changed to de: the key there');
		chord_is($keys, 'Ctrl+Alt+12', 0, 'and not where it was');
		setxkbmap($x, 'us');
		raw_events($x, $keys);
	}
	undef $keys;
	$x->stop;
	$n++;
}
done_testing();

sub chord_is {
	my ($keys, $chord, $fires, $what) = @_;
	my $before = (records($peer, $n))[-1]{chords};
	$keys->chord($chord, hold_ms => 20);
	$keys->sync;
	is(
		(records($peer, $n))[-1]{chords} - $before, $fires,
		"$what: " . ($fires ? 'fires' : 'does not fire')
	);
	wait_for($peer, qr/^trigger $n/) if $fires;
	return;
}

sub setxkbmap {
	my ($x, @args) = @_;
	local %ENV = (%ENV, $x->env);
	system('setxkbmap', @args) == 0 or fail("setxkbmap @args");
	return;
}

sub raw_events {
	my ($x, $keys) = @_;
	my $c  = XClient->new($x);
	my $xi = $c->extension('XInputExtension');
	my ($SELECT, $VERSION, $ALL_MASTERS, $RAW_KEY_PRESS, $RAW_KEY_RELEASE) = (46, 47, 1, 13, 14);
	$c->request($xi, $VERSION, \$c->pack('SS', 2, 2));
	$c->reply;
	$c->request(
		$xi, $SELECT, $c->root,
		\$c->pack('SxxSSL', 1, $ALL_MASTERS, 1, 1 << $RAW_KEY_PRESS | 1 << $RAW_KEY_RELEASE)
	);
	$c->sync;
	$keys->chord('Ctrl+Alt+minus');
	wait_for($peer, qr/^trigger/);
	$keys->key('a');
	$keys->sync;
	# What it is told of stands before the answer.
	$c->sync;
	my %seen;
	while (my $event = $c->event(0.5)) {
		my ($type, undef, undef, undef, $evtype, undef, undef, $code) =
			$c->unpack('CCSLSSLL', $event);
		$seen{$code}++ if ($type & 127) == 35;
	}
	ok($seen{ 30 + 8 } && $seen{ 29 + 8 }, 'raw events of other keys are seen');
	is($seen{ 12 + 8 }, undef, 'those of the hot-key are not');
	$c->close;
	return;
}
