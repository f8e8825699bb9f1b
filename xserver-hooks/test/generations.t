#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The server begins anew when its last client goes, and thousands of clients come and go: the hooks go along.
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
# Joined screens: the server's own code wraps the tables of requests as well, anew in each generation.
my $x = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir}, args => [qw(-reset -screen 1 640x480x24 +xinerama)]);
wait_for($peer, qr/^hello 0/);
for my $generation (1 .. 5) {
	my $c = connect_again();
	my $from_ns = Tipme::Typist::now_ns();
	my ($w, $gc) = $c->window;
	$c->rectangle($w, $gc, 0, 0, 20, 10);
	$c->sync;
	my @r = settled($peer, 0);
	pop @r;
	@r = grep { $_->{ts_ns} >= $from_ns } @r;
	my @request = only(\@r, 'x_request', pid => $$, major => XClient::POLY_FILL_RECTANGLE);
	is(scalar @request, 1, "generation $generation: the request is recorded once");
	my %window = map { $_->{window} => 1 } my @damage = only(\@r, 'x_damage', pid => $$, major => XClient::POLY_FILL_RECTANGLE);
	is_deeply([scalar @damage, scalar keys %window], [2, 2], 'and its damage, on each of two joined screens');
	$c->close;
	sleep 0.3;
}
is(wait_for($peer, qr/^(gone|hello)/, 0.1), undef, 'the ring stays the same all the time');
$x->stop;
ok(wait_for($peer, qr/^gone 0/), 'until the server ends');

my $many = 10_000;
# Each leaves a dozen records.
$x = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir}, ring_kb => 16384);
wait_for($peer, qr/^hello 1/);
my $stay = XClient->new($x);
for (1 .. $many) {
	my $c = XClient->new($x);
	$c->sync;
	$c->close;
}
$stay->sync;
sleep 0.2;
my @r = settled($peer, 1);
my %count;
$count{ $_->{state} }++ for only(\@r, 'x_client', pid => $$);
cmp_ok($count{connected}, '>=', $many + 1, "$many clients came");
cmp_ok($count{gone}, '>=', $many, 'and went');
$x->stop;
done_testing();

# The server may be between two generations.
sub connect_again {
	for (1 .. 50) {
		my $c = eval { XClient->new($x) };
		return $c if $c;
		sleep 0.1;
	}
	return XClient->new($x);
}
