#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Server, keyboard and pointer grabs are recorded; the hot-key works under all of them, even while
# the keyboard is frozen.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xorg));
my $peer = peer_start(rundir());
my $x    = Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => $peer->{dir});
my $keys = Tipme::Typist->new(socket => $x->keyboard);
wait_for($peer, qr/^hello 0/);
my $c = XClient->new($x);
my ($w) = $c->window(width => 1280, height => 800);
my ($SYNC, $ASYNC) = (0, 1);

sub chord_triggers {
	my ($while) = @_;
	my $stroke = $keys->chord('Ctrl+Alt+minus');
	$keys->sync;
	ok(wait_for($peer, qr/^trigger 0/), "the hot-key triggers while $while");
	my @r       = settled($peer, 0);
	my $header  = pop @r;
	my ($chord) = reverse only(\@r, 'x_chord');
	ok($chord && $chord->{ts_ns} >= $stroke->{press_ns}, 'it is recorded at once');
	is(scalar only(\@r, 'x_deliver', input_seq => $chord->{input_seq}), 0, 'nobody gets the key');
	return ($header, @r);
}

# begin and end of a grab as recorded
sub grab_is {
	my ($what, $records) = @_;
	my @g = only($records, 'x_grab', what => $what, pid => $$);
	is_deeply([ map { $_->{begin} } @g ], [ 1, 0 ], "the $what grab is recorded, begin and end");
	ok($g[0]{ts_ns} < $g[1]{ts_ns}, 'in that order') if @g == 2;
	return;
}

$c->request(XClient::GRAB_SERVER, 0);
$c->sync;
my ($header, @r) = chord_triggers('the server is grabbed');
is($header->{grab_pid}, $$, 'the header says who holds the server');
my ($grab) = only(\@r, 'x_grab', what => 'server', begin => 1);
is($grab->{ts_ns}, $header->{grab_start_ns}, 'and since when');
$c->request(XClient::UNGRAB_SERVER, 0);
$c->sync;
@r = settled($peer, 0);
is((pop @r)->{grab_pid}, 0, 'until it is let go');
grab_is(server => \@r);

$c->request(XClient::GRAB_KEYBOARD, 0, $w, 0, \$c->pack('CCxx', $ASYNC, $ASYNC));
$c->reply;
chord_triggers('the keyboard is grabbed');
$c->request(XClient::UNGRAB_KEYBOARD, 0, 0);
$c->sync;
@r = settled($peer, 0);
grab_is(keyboard => \@r);

$c->request(XClient::GRAB_POINTER, 0, $w, \$c->pack('SCC', 0xc, $ASYNC, $ASYNC), 0, 0, 0);
$c->reply;
chord_triggers('the pointer is grabbed');
$c->request(XClient::UNGRAB_POINTER, 0, 0);
$c->sync;
@r = settled($peer, 0);
grab_is(pointer => \@r);

# Frozen: the server puts key events aside until the client says go on.
$c->request(XClient::GRAB_KEYBOARD, 0, $w, 0, \$c->pack('CCxx', $ASYNC, $SYNC));
$c->reply;
$keys->key('a');
my ($stroke) = $keys->key('b');
(undef, @r) = chord_triggers('the keyboard is frozen');
my ($b) = grep { $_->{ts_ns} >= $stroke->{press_ns} }
	only(\@r, 'x_device', kind => 'key_press', is_master => 0);
ok($b, 'a key of the frozen keyboard is recorded when it comes');
my $thaw_ns        = Tipme::Typist::now_ns();
my $ASYNC_KEYBOARD = 3;
$c->request(XClient::ALLOW_EVENTS, $ASYNC_KEYBOARD, 0);
$c->sync;
$c->request(XClient::UNGRAB_KEYBOARD, 0, 0);
$c->sync;
@r = settled($peer, 0);
my ($deliver) =
	only(\@r, 'x_deliver', kind => 'key_press', input_seq => $b->{input_seq}, pid => $$);
ok(
	$deliver && $deliver->{ts_ns} > $thaw_ns,
	'and delivered under its number when the client lets it'
);
undef $keys;
$x->stop;
done_testing();
