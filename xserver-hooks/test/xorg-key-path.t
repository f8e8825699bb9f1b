#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A key through a stock Xorg with the module: device event, delivery to xterm, its request, the
# damage; and the hot-key.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Live;

need(qw(Xorg xterm));
my $peer  = peer_start(rundir());
my $x     = Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => $peer->{dir});
my $keys  = Tipme::Typist->new(socket => $x->keyboard);
my $hello = wait_for($peer, qr/^hello 0/);
like(
	$hello, qr/pid=${\ $x->pid} display=${\ substr $x->display, 1} name=Xorg slots=131072$/,
	'the server offers its ring'
);

my $xterm    = xterm($x, 'stty -echo; while read line; do echo "$line"; done');
my ($stroke) = $keys->type('b');
my ($echo)   = xterm($x, 'cat', '-name', 'second');
my @strokes  = $keys->type('xyz');
$keys->sync;
# The last of them is on the screen.
my (@r, $header);
await(
	sub {
		@r      = settled($peer, 0);
		$header = pop @r;
		my ($press) =
			grep { $_->{ts_ns} >= $strokes[-1]{press_ns} }
			only(\@r, 'x_device', kind => 'key_press', is_master => 0)
			or return;
		my ($deliver) =
			only(\@r, 'x_deliver', kind => 'key_press', input_seq => $press->{input_seq})
			or return;
		return grep { $_->{ts_ns} > $deliver->{ts_ns} } only(\@r, 'x_damage', pid => $echo);
	}
);
is($header->{server_pid},   $x->pid, 'the ring names its server');
is($header->{lost},         0,       'nothing was lost');
is($header->{cur_start_ns}, 0,       'no request is being executed');

for my $s (@strokes) {
	my ($slave) = grep { $_->{ts_ns} >= $s->{press_ns} }
		only(\@r, 'x_device', kind => 'key_press', is_master => 0);
	ok($slave, "key $s->{key}: device event after the press") or next;
	my ($master) = only(
		\@r, 'x_device', kind => 'key_press', is_master => 1,
		input_seq => $slave->{input_seq}
	);
	ok(
		$master && $master->{ts_ns} >= $slave->{ts_ns},
		'the master repeats it under the same number'
	);
	is($slave->{code}, 0, 'it does not say which key');
	my ($deliver) = only(\@r, 'x_deliver', kind => 'key_press', input_seq => $slave->{input_seq});
	ok(
		$deliver && $deliver->{pid} == $echo && $deliver->{ts_ns} >= $master->{ts_ns},
		'it is delivered to xterm'
	) or next;
	ok(
		(grep { $_->{ts_ns} >= $deliver->{ts_ns} } only(\@r, 'x_flush', pid => $echo)),
		'it is written to xterm'
	);
	my ($damage) = grep { $_->{ts_ns} > $deliver->{ts_ns} } only(\@r, 'x_damage', pid => $echo);
	ok($damage && $damage->{width} > 0 && $damage->{height} > 0, 'xterm changes the screen')
		or next;
	my ($request) = grep { $_->{ts_ns} + $_->{duration_ns} == $damage->{ts_ns} }
		only(\@r, 'x_request', pid => $echo);
	ok($request && $request->{count} == 1, 'by one request, that ends when the damage is noted');
	is_deeply(
		[ @$request{qw(major minor client)} ], [ @$damage{qw(major minor client)} ],
		'which the damage names'
	);
}
ok(scalar only(\@r, 'x_client', pid => $xterm, state => 'connected'), 'xterm was seen to connect');
ok(scalar only(\@r, 'x_sleep'), 'the server sleeps');
my @idle = only(\@r, 'x_idle');
ok(scalar @idle && !(grep { $_->{duration_ns} <= 0 } @idle), 'and wakes');
is(scalar(grep { $_->{code} } only(\@r, 'x_device')), 0, 'no record has a key code');

my $before = only(\@r, 'x_deliver', kind => 'key_press');
my $chord  = $keys->chord('Ctrl+Alt+minus');
$keys->sync;
ok(wait_for($peer, qr/^trigger 0 arg=2$/), 'the hot-key asks for an episode');
@r      = records($peer, 0);
$header = pop @r;
is($header->{chords}, 1, 'the hot-key was counted');
my ($record) = only(\@r, 'x_chord', action => 'snapshot');
ok($record && $record->{ts_ns} >= $chord->{press_ns}, 'it has a record');
my ($device) = only(\@r, 'x_device', input_seq => $record->{input_seq});
is($device->{kind}, 'other', 'its key is a device event of no kind');
is(scalar only(\@r, 'x_deliver', input_seq => $record->{input_seq}), 0, 'that nobody gets');
is(only(\@r, 'x_deliver', kind => 'key_press') - $before, 2, 'only Ctrl and Alt were delivered');

undef $keys;
$x->stop;
ok(wait_for($peer, qr/^gone 0$/), 'the server ends');
done_testing();
