#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Stock Xvfb and Xephyr take the hooks by preload, both at once; every other program with that
# environment takes no notice.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Live;

need(qw(Xvfb Xephyr xterm xdotool xkbcomp nm));
for my $command (
	[ 'sh',   '-c', 'exit 0' ], [ 'xkbcomp', '-version' ], [ 'cat', '/dev/null' ],
	[ 'perl', '-e', 'exit 0' ]
	)
{
	local %ENV = (%ENV, TIPME_X_PRELOAD => 1, LD_PRELOAD => hooks(), LD_BIND_NOW => 1);
	my $out = do {
		no warnings;
		open my $p, '-|', "@{[map { qq('$_') } @$command]} 2>&1 >/dev/null" or die $!;
		local $/;
		<$p>;
	};
	is($out // '', '', "$command->[0] says nothing");
	is($?,         0,  'and works');
}

my %weak = map { /^\s+([wvU]) (\w+)(@\S+)?/ ? ($2 => [ $1, $3 ]) : () }
	`nm -D --undefined-only ${\ hooks()}`;
is_deeply(
	[ grep { $weak{$_}[0] eq 'U' && !$weak{$_}[1] } sort keys %weak ], [],
	'no name but the C library\'s must be there'
);

my $peer = peer_start(rundir());
my %server;
$server{Xvfb} =
	Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir}, ring_kb => 512);
like(
	wait_for($peer, qr/^hello 0/), qr/name=Xvfb slots=16384$/,
	'Xvfb offers its ring, of the size asked for'
);
$server{Xephyr} = Tipme::Display->new(
	kind => 'Xephyr',      hooks => hooks(), rundir => $peer->{dir},
	host => $server{Xvfb}, chord => 'Alt+F9'
);
like(wait_for($peer, qr/^hello 1/), qr/name=Xephyr/, 'and so does Xephyr');

for my $n (0, 1) {
	my $kind  = (qw(Xvfb Xephyr))[$n];
	my $x     = $server{$kind};
	my $xterm = xterm($x, 'cat');
	xdotool($x, qw(mousemove 300 200));
	sleep 0.3;
	xdotool($x, qw(key q));
	my (@r, $press, $deliver, $damage);
	await(
		sub {
			@r = records($peer, $n);
			($press) = reverse only(\@r, 'x_device', kind => 'key_press', is_master => 0) or return;
			($deliver) = only(
				\@r, 'x_deliver', kind => 'key_press', input_seq => $press->{input_seq},
				pid => $xterm
			) or return;
			($damage) =
				grep { $_->{ts_ns} > $deliver->{ts_ns} } only(\@r, 'x_damage', pid => $xterm);
			return $damage;
		}
	);
	ok($press,   "$kind: device event")       or next;
	ok($deliver, "$kind: delivered to xterm") or next;
	ok($damage,  "$kind: xterm's damage")     or next;
	ok(
		(
			grep {
					   $_->{ts_ns} <= $damage->{ts_ns}
					&& $_->{ts_ns} + $_->{duration_ns} >= $damage->{ts_ns}
			} only(\@r, 'x_request', pid => $xterm)
		),
		"$kind: from its request"
	);
	xdotool($x, 'key', $n ? 'alt+F9' : 'ctrl+alt+minus');
	ok(wait_for($peer, qr/^trigger $n arg=2$/), "$kind: its own hot-key triggers");
	sleep 0.3;
	@r = records($peer, $n);
	my ($chord) = only(\@r, 'x_chord');
	is(
		scalar only(\@r, 'x_deliver', input_seq => $chord->{input_seq}), 0,
		"$kind: and is swallowed"
	);
}
unlike(join("\n", @{ $peer->{lines} }), qr/^trigger/m, 'nothing else triggers');
$server{$_}->stop for qw(Xephyr Xvfb);
ok(wait_for($peer, qr/^gone $_$/), "server $_ ends") for 1, 0;
done_testing();

sub xdotool {
	my ($x, @args) = @_;
	local %ENV = (%ENV, $x->env);
	system('xdotool', @args) == 0 or fail("xdotool @args");
	return;
}
