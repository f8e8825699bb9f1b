#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What the server writes: replies and errors to clients of either byte order, a client that does not
# read, pictures of Present, the keyboard extension's own events; and a client from the network,
# which has no process here.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xvfb));
my $peer = peer_start(rundir());
my $x    = Tipme::Display->new(
	kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir},
	args => [qw(-listen tcp)]
);
wait_for($peer, qr/^hello 0/);
my @r;
my ($CHANGE_PROPERTY, $SELECT_PROPERTY, $CHANGE_ATTRIBUTES, $STRING, $BAD_WINDOW) =
	(18, 1 << 22, 2, 31, 3);

for my $swapped (0, 1) {
	my $c     = XClient->new($x, swapped => $swapped);
	my $order = $swapped ? 'swapped bytes' : 'own bytes';
	my $sequence;
	during(sub { $sequence = $c->request(XClient::GET_INPUT_FOCUS, 0); $c->reply });
	my ($reply) = only(\@r, 'x_reply', pid => $$);
	is_deeply(
		[ @$reply{qw(major sequence bytes error)} ],
		[ XClient::GET_INPUT_FOCUS, $sequence, 32, 0 ], "$order: the reply to a request"
	);
	my ($request) = only(\@r, 'x_request', pid => $$);
	ok(
			   $reply->{ts_ns} >= $request->{ts_ns}
			&& $reply->{ts_ns} <= $request->{ts_ns} + $request->{duration_ns},
		"$order: given while it was executed"
	);
	during(
		sub {
			$c->request(XClient::MAP_WINDOW, 0, 0x1234567);
			eval { $c->reply };
			$c->sync;
		}
	);
	my ($error) = grep { $_->{error} } only(\@r, 'x_reply', pid => $$);
	is_deeply(
		[ @$error{qw(major error)} ], [ XClient::MAP_WINDOW, $BAD_WINDOW ],
		"$order: an error"
	);
	$c->close;
}

my $far = XClient->new($x, tcp => 1);
during(sub { my ($w, $gc) = $far->window; $far->rectangle($w, $gc, 0, 0, 10, 10); $far->sync });
ok(
	scalar only(\@r, 'x_request', pid => 0, major => XClient::POLY_FILL_RECTANGLE),
	'a request of a client from the network'
);
ok(scalar only(\@r, 'x_damage', pid => 0, major => XClient::POLY_FILL_RECTANGLE), 'and its damage');
ok(scalar only(\@r, 'x_reply', pid => 0), 'and the reply');
$far->close;

# One hears of each change of a property and does not read; the other makes changes.
my ($deaf, $c) = map { XClient->new($x) } 1 .. 2;
my ($w) = $c->window;
$deaf->request($CHANGE_ATTRIBUTES, 0, $w, 1 << 11, $SELECT_PROPERTY);
$deaf->sync;
my ($who) = map { $_->{client} } reverse only([ records($peer, 0) ], 'x_reply', pid => $$);
my @full;
for (1 .. 400) {
	$c->request($CHANGE_PROPERTY, 0, $w, $STRING, $STRING, \$c->pack('CxxxLA4', 8, 4, 'abcd'))
		for 1 .. 50;
	$c->sync;
	@full = only([ records($peer, 0) ], 'x_output_full', phase => 'begin');
	last if @full;
}
is(scalar @full,     1,    'a client that does not read is noticed');
is($full[0]{client}, $who, 'it is that one');
ok($deaf->event, 'it reads again');
my @read = await(
	sub {
		1 while $deaf->event(0.3);
		$c->sync;
		sleep 0.05;
		$c->sync;
		return scalar only([ settled($peer, 0) ], 'x_output_full', phase => 'end', client => $who);
	}
);
ok($read[0], 'and that is noticed, too');

# A window that shows a picture by Present: asked for, and shown.
SKIP: {
	my $present = $c->extension('Present') or skip 'this server has no Present', 2;
	my ($pixmap, $PRESENT_PIXMAP, $COMPLETE, $SELECT_INPUT, $SERIAL) = ($c->id, 1, 2, 3, 77);
	$c->request(XClient::CREATE_PIXMAP, 24,            $pixmap, $w, \$c->pack('SS', 600, 400));
	$c->request($present,               $SELECT_INPUT, $c->id,  $w, $COMPLETE);
	$c->sync;
	during(
		sub {
			$c->request(
				$present, $PRESENT_PIXMAP, $w, $pixmap, $SERIAL, 0, 0,
				\$c->pack('ssLLLLL', 0, 0, 0, 0, 0, 0, 0), (0) x 6
			);
			while (defined(my $event = $c->event)) { last if (ord($event) & 127) == 35 }
			$c->sync;
		}
	);
	my ($begin) = only(\@r, 'x_present', phase => 'begin');
	my ($end)   = only(\@r, 'x_present', phase => 'end');
	is_deeply([ @$begin{qw(pid window serial)} ], [ $$, $w, $SERIAL ], 'a picture is asked for');
	is_deeply([ @$end{qw(window serial mode)} ],  [ $w, $SERIAL, 0 ],  'and shown: copied');
	cmp_ok($end->{ts_ns}, '>=', $begin->{ts_ns}, 'in that order');
}

# The keyboard extension tells of another layout.
my $xkb = $c->extension('XKEYBOARD');
my ($XKB_USE, $XKB_SELECT, $XKB_LATCH_LOCK, $CORE_KEYBOARD, $STATE_NOTIFY) =
	(0, 1, 5, 0x100, 1 << 2);
$c->request($xkb, $XKB_USE, \$c->pack('SS', 1, 0));
$c->reply;
$c->request(
	$xkb, $XKB_SELECT,
	\$c->pack('SSSSSS', $CORE_KEYBOARD, $STATE_NOTIFY, 0, $STATE_NOTIFY, 0xff, 0xff)
);
$c->sync;
during(
	sub {
		$c->request(
			$xkb, $XKB_LATCH_LOCK, \$c->pack('SCCCCxCS', $CORE_KEYBOARD, 2, 2, 0, 0, 0, 0),
			\$c->pack('xx')
		);
		$c->sync;
	}
);
my ($event) = map { $_->{x_type} } grep { $_->{x_type} >= 64 } only(\@r, 'x_deliver', pid => $$);
ok($event, 'an event that the keyboard extension writes by itself is seen')
	or diag explain [ grep { $_->{type} ne 'x_idle' } @r ];

# Clients that come and go, from here and from the network, and more of them than the hooks tell
# apart: what is written to them are replies.
for my $tcp (0, 1) {
	my @many;
	during(
		sub {
			push @many, XClient->new($x, tcp => $tcp) for 1 .. 40;
			# All of them at once.
			$c->request(XClient::GRAB_SERVER, 0);
			$c->sync;
			$_->request(XClient::GET_INPUT_FOCUS, 0) for @many;
			$c->request(XClient::UNGRAB_SERVER,   0);
			$_->reply for @many;
			$_->close for @many;
			await(
				sub { only([ records($peer, 0) ], 'x_client', state => 'gone') >= 40 * (1 + $tcp) }
			);
			$c->sync;
		}
	);
	cmp_ok(
		scalar only(\@r, 'x_flush', pid => $tcp ? 0 : $$), '>=', 40,
		'many clients' . ($tcp ? ' from the network' : '') . ' get something'
	);
	is(scalar only(\@r, 'x_deliver', x_type => $event), 0, 'and no event that nobody sent');
}

# A reply that the connection does not take at once.
my $slow = XClient->new($x);
my ($Z_PIXMAP, $ALL_PLANES) = (2, 0xffffffff);
during(
	sub {
		$slow->request(
			XClient::GET_IMAGE, $Z_PIXMAP, $slow->root,
			\$slow->pack('ssSSL', 0, 0, 1280, 800, $ALL_PLANES)
		);
		await(sub { only([ settled($peer, 0) ], 'x_reply', pid => $$, major => XClient::GET_IMAGE) }
		);
		$slow->reply;
		$slow->sync;
	}
);
cmp_ok(scalar only(\@r, 'x_flush', pid => $$), '>', 2, 'a long reply is written bit by bit');
is(scalar only(\@r, 'x_deliver', x_type => $event), 0, 'and that is no event either');
$x->stop;
done_testing();

# The records of what the code does; it must end with a sync.
sub during {
	my ($code) = @_;
	sleep 0.12;
	my $from_ns = Tipme::Typist::now_ns();
	$code->();
	@r = settled($peer, 0);
	pop @r;
	@r = grep { $_->{ts_ns} >= $from_ns } @r;
	return;
}
