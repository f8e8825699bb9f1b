#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Floods do not wipe the ring: round trips as fast as a client can, a mouse that moves a thousand
# times a second; a key in the midst of them is recorded as always.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use List::Util  qw(sum0);
use Time::HiRes qw(sleep time);
use Live;
use XClient;

need(qw(Xorg));
my $SECONDS = 40;
my $peer    = peer_start(rundir());
my $x       = Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => $peer->{dir});
wait_for($peer, qr/^hello 0/);
my $slots = 1 << 17;
my $keys  = Tipme::Typist->new(socket => $x->keyboard);
my $mouse = Tipme::Typist->new(socket => $x->pointer);
my $c     = XClient->new($x);
my ($w)   = $c->window(width => 1280, height => 800);
my ($POINTER_MOTION, $CHANGE_ATTRIBUTES) = (1 << 6, 2);

# What happens while the code runs: slots taken for each second of the clock, and the records.
sub rate {
	my ($code) = @_;
	sleep 0.12;
	my $from_ns = Tipme::Typist::now_ns();
	my $head    = (records($peer, 0))[-1]{head};
	$code->();
	my $seconds = (Tipme::Typist::now_ns() - $from_ns) / 1e9;
	my @r       = records($peer, 0);
	my $taken   = (pop @r)->{head} - $head;
	return ($taken / $seconds, grep { $_->{ts_ns} >= $from_ns } @r);
}

my $trips = 0;
my ($rate, @r) = rate(
	sub {
		my $end = time + 1.5;
		# Many in one write are executed one by one, and answered.
		while (time < $end) {
			$c->request(XClient::GET_INPUT_FOCUS, 0) for 1 .. 20;
			$c->reply for 1 .. 20;
			$trips += 20;
		}
	}
);
note sprintf '%d round trips: %.0f slots a second', $trips, $rate;
cmp_ok($rate * $SECONDS, '<', $slots, "round trips: the ring holds $SECONDS s");
cmp_ok(
	sum0(map { $_->{count} } only(\@r, 'x_request', pid => $$)), '>=', $trips - 2000,
	'and counts them'
);

$c->request($CHANGE_ATTRIBUTES, 0, $w, 1 << 11, 0xf | $POINTER_MOTION);
$c->sync;
my $moves = 0;
my ($before, $stroke);
($rate, @r) = rate(
	sub {
		my $end = time + 1.5;
		while (time < $end) {
			$mouse->move($moves & 1 ? 3 : -3, $moves & 2 ? 2 : -2);
			$moves++;
			sleep 0.0008;
		}
		$mouse->sync;
	}
);
note sprintf '%d movements: %.0f slots a second', $moves, $rate;
cmp_ok($rate * $SECONDS, '<', $slots, "a mouse that moves: the ring holds $SECONDS s");
ok(scalar only(\@r, 'x_device', kind => 'motion'), 'with its movements');

# Where the server has to wait for a CPU between its waking and the key, that is no wake-up of this
# key: then once more.
my ($press, $idle);
for (1 .. 20) {
	midst();
	last if $idle || !$press;
}
ok($press && $press->{ts_ns} >= $stroke->{press_ns}, 'a key in the midst of both is recorded');
ok(
	$press
		&& only(\@r, 'x_deliver', kind => 'key_press', input_seq => $press->{input_seq}, pid => $$),
	'and its delivery'
);
ok($idle, 'and the waking before it');

# A flood of events, and later, of no request, more of the same: windows that go with their client.
my $other = XClient->new($x);
my ($SUBSTRUCTURE_NOTIFY, $DESTROY_WINDOW, $DESTROY_NOTIFY) = (1 << 19, 4, 17);
$c->request($CHANGE_ATTRIBUTES, 0, $c->root, 1 << 11, $SUBSTRUCTURE_NOTIFY);
$c->sync;
my @windows = map { $other->id } 1 .. 60;
$other->request(
	XClient::CREATE_WINDOW, 0, $_, $other->root,
	\$other->pack('ssSSSS', 0, 0, 10, 10, 0, 1), 0, 0
) for @windows;
$other->request($DESTROY_WINDOW, 0, $_) for splice @windows, 0, 40;
$other->sync;
($rate, @r) = rate(
	sub {
		$other->close;
		await(sub { only([ records($peer, 0) ], 'x_client', state => 'gone') });
		$c->sync;
	}
);
my $told = only(\@r, 'x_deliver', x_type => $DESTROY_NOTIFY);
cmp_ok($told, '>=', 1,        'events after a flood are recorded');
cmp_ok($told, '<=', @windows, 'and no more than there were');
undef $_ for $keys, $mouse;
$x->stop;
done_testing();

# A key in the midst of round trips and movements.
sub midst {
	($rate, @r) = rate(
		sub {
			for my $n (1 .. 300) {
				$c->request(XClient::GET_INPUT_FOCUS, 0) for 1 .. 20;
				$c->reply for 1 .. 20;
				$mouse->move($n & 1 ? 3 : -3, 0);
				if ($n == 150) { ($stroke) = $keys->key('a'); $keys->sync }
			}
		}
	);
	($press) = only(\@r, 'x_device', kind => 'key_press', is_master => 0) or return;
	($idle)  = grep {
		my $end = $_->{ts_ns} + $_->{duration_ns};
		$end <= $press->{ts_ns} && $press->{ts_ns} - $end < 50_000_000
	} only(\@r, 'x_idle');
	return;
}
