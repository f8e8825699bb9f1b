#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Each change of the screen names the request that made it: clients of either byte order, redirected windows, Present; runs of short requests.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use List::Util qw(sum0);
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xvfb));
my $peer = peer_start(rundir());
my $x = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir});
wait_for($peer, qr/^hello 0/);
my @r;

# The records of what the code does; it must end with a sync.
sub during {
	my ($code) = @_;
	# What came before must not count: in a flood requests are joined, and these are to stand alone.
	sleep 0.12;
	my $from_ns = Tipme::Typist::now_ns();
	$code->();
	@r = settled($peer, 0);
	pop @r;
	@r = grep { $_->{ts_ns} >= $from_ns } @r;
	return;
}

sub damage_follows_request {
	my ($what, %want) = @_;
	my ($request) = only(\@r, 'x_request', major => XClient::POLY_FILL_RECTANGLE);
	ok($request && $request->{count} == 1, "$what: one request") or return;
	my @damage = only(\@r, 'x_damage', major => XClient::POLY_FILL_RECTANGLE);
	is(scalar @damage, 1, "$what: one damage");
	is($damage[0]{ts_ns}, $request->{ts_ns} + $request->{duration_ns}, "$what: when the request is done");
	is_deeply([@{ $damage[0] }{qw(pid width height)}], [$$, 20, 10], "$what: whose, and how large");
	is($damage[0]{window}, $want{window}, "$what: where");
	return;
}

for my $swapped (0, 1) {
	my $c = XClient->new($x, swapped => $swapped);
	my ($w, $gc) = $c->window;
	during(sub { $c->rectangle($w, $gc, 5, 5, 20, 10); $c->sync });
	damage_follows_request($swapped ? 'swapped bytes' : 'own bytes', window => $c->root);
	is(sum0(map { $_->{count} } only(\@r, 'x_request', pid => $$)), 2, 'each request is recorded once');
	$c->close;
}

my $c = XClient->new($x);
my ($w, $gc) = $c->window;
my $composite = $c->extension('Composite');
my ($REDIRECT_SUBWINDOWS, $UNREDIRECT_SUBWINDOWS, $MANUAL) = (2, 4, 1);
$c->request($composite, 0, 0, 4);
$c->reply;
$c->request($composite, $REDIRECT_SUBWINDOWS, $c->root, $MANUAL);
$c->sync;
during(sub { $c->rectangle($w, $gc, 5, 5, 20, 10); $c->sync });
damage_follows_request('redirected window', window => $w);
my ($w2, $gc2) = $c->window;
my $DESTROY_WINDOW = 4;
$c->rectangle($w2, $gc2, 5, 5, 20, 10);
$c->request($DESTROY_WINDOW, 0, $w2);
$c->sync;
$c->request($composite, $UNREDIRECT_SUBWINDOWS, $c->root, $MANUAL);
$c->sync;
during(sub { $c->rectangle($w, $gc, 5, 5, 20, 10); $c->sync });
damage_follows_request('no longer redirected', window => $c->root);

SKIP: {
	my $present = $c->extension('Present') or skip 'this server has no Present', 3;
	my ($pixmap, $PRESENT_PIXMAP, $COMPLETE, $SELECT_INPUT, $GENERIC_EVENT) = ($c->id, 1, 2, 3, 35);
	$c->request(XClient::CREATE_PIXMAP, 24, $pixmap, $w, \$c->pack('SS', 600, 400));
	$c->request($present, $SELECT_INPUT, $c->id, $w, $COMPLETE);
	$c->sync;
	during(sub {
		$c->request($present, $PRESENT_PIXMAP, $w, $pixmap, 7, 0, 0, \$c->pack('ssLLLLL', 0, 0, 0, 0, 0, 0, 0), (0) x 6);
		wait_event($c, $GENERIC_EVENT);
		$c->sync;
	});
	my ($request) = only(\@r, 'x_request', major => $present, minor => $PRESENT_PIXMAP);
	ok($request, 'PresentPixmap: a request');
	my ($damage) = grep { $_->{width} == 600 } only(\@r, 'x_damage');
	ok($damage && $damage->{ts_ns} >= $request->{ts_ns}, 'PresentPixmap: the picture comes, now or later');
	is_deeply([@$damage{qw(pid major minor)}], [$$, $present, $PRESENT_PIXMAP], 'PresentPixmap: and it says whose it is');
}

my $many = 50000;
during(sub {
	$c->_write($c->pack('CCS', XClient::NO_OPERATION, 0, 1) x $many);
	$c->{sequence} += $many;
	$c->sync;
});
my @runs = only(\@r, 'x_request', pid => $$, major => XClient::NO_OPERATION);
is(sum0(map { $_->{count} } @runs), $many, "$many requests are all counted");
cmp_ok(scalar @runs, '<', $many / 20, 'in few records');
is((grep { $runs[$_]{ts_ns} < $runs[$_ - 1]{ts_ns} + $runs[$_ - 1]{duration_ns} } 1 .. $#runs), 0, 'that do not overlap');

# A flood of quick drawing: joined, but nothing of it is lost.
my $rectangles = 20000;
during(sub {
	for my $part (1 .. $rectangles / 100) {
		$c->_write(join '', map { $c->pack('CCSLLssSS', XClient::POLY_FILL_RECTANGLE, 0, 5, $w, $gc, $_, 2 * $_, 10, 10) } 1 .. 100);
		$c->{sequence} += 100;
	}
	$c->sync;
});
@runs = only(\@r, 'x_request', pid => $$);
my @damage = only(\@r, 'x_damage', pid => $$);
is(sum0(map { $_->{count} } @runs), $rectangles + 1, "$rectangles requests that draw are all counted, and the one that waits for them");
cmp_ok(@runs + @damage, '<', $rectangles / 4, 'in few records');
cmp_ok($runs[0]{count}, '==', 1, 'the first one alone');
is_deeply([grep { my $d = $_; !grep { $_->{ts_ns} <= $d->{ts_ns} && $_->{ts_ns} + $_->{duration_ns} >= $d->{ts_ns} } @runs } @damage], [],
	'each damage falls into a run');
my ($largest) = sort { $b->{width} <=> $a->{width} } @damage;
cmp_ok($largest->{width}, '>', 10, 'joined damage is larger than one of them');
cmp_ok($largest->{width}, '<=', 99 + 10, 'and not larger than all');
# The server is not asked for the damage of each: of the last one of all it must be asked again.
during(sub { $c->rectangle($w, $gc, 5, 5, 20, 10); $c->sync });
damage_follows_request('after the flood', window => $c->root);

# A client that kills itself is freed by its own request.
my $suicide = XClient->new($x);
my ($own) = $suicide->window;
$suicide->request(XClient::KILL_CLIENT, 0, $own);
ok(!wait_event($suicide, -1), 'a client kills itself');
$c->sync;
@r = settled($peer, 0);
ok(scalar only(\@r, 'x_request', major => XClient::KILL_CLIENT, pid => $$), 'which is a request of its own to the last');
$x->stop;
done_testing();

# Reads events up to one of this type; false: the connection ended, or none came.
sub wait_event {
	my ($client, $want) = @_;
	while (defined(my $event = $client->event(10))) {
		return 1 if (ord($event) & 127) == $want;
	}
	return 0;
}
