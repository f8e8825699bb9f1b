#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The patches for servers apply to Debian's xorg-server, build, and give what no callback of a stock
# server reaches: when requests arrive, and how long writing to a client takes.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Live;
use XClient;

plan skip_all => 'builds an X server: set TIPME_TEST_ALL=1' if !$ENV{TIPME_TEST_ALL};
for my $program (qw(meson ninja patch dpkg-source apt-get)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my $cache = $ENV{TIPME_CACHE} // ($ENV{XDG_CACHE_HOME} // "$ENV{HOME}/.cache") . '/tipme';
my @given = defined $ENV{TIPME_XORG_SOURCE} ? $ENV{TIPME_XORG_SOURCE} : ();
my $built = do {
	open my $h, '-|', "$Bin/../patches/build", "$cache/xserver", @given or die "build: $!";
	local $/;
	<$h>;
	}
	// '';
my $status = $?;
chomp $built;
is($status, 0, 'the patches apply, and the server builds');
BAIL_OUT('no patched server') if !-x $built;
# The cache may be closed to the server's user.
my $dir = rundir();
system('install', '-m', 755, $built, "$dir/Xvfb") == 0 or BAIL_OUT('install');

my $peer = peer_start(rundir());
my $x    = Tipme::Display->new(
	kind   => 'Xvfb', program => "$dir/Xvfb", hooks => hooks(),
	rundir => $peer->{dir}
);
ok(wait_for($peer, qr/^hello 0/), 'it takes the hooks by preload') or BAIL_OUT('no hooks');
my $c = XClient->new($x);
my ($w, $gc) = $c->window(width => 300, height => 200);
sleep 0.3;
my $from = (records($peer, 0))[-1]{head};
$c->rectangle($w, $gc, 1, 1, 20, 20);
$c->sync;
my @r = settled($peer, 0);
my ($arrival) = reverse only(\@r, 'x_arrival', pid => $$);
ok($arrival, 'requests arrive') or BAIL_OUT('no arrival');
my $SIZES    = 20 + 4;                              # a rectangle, and the question of sync
my @arrivals = only(\@r, 'x_arrival', pid => $$);
cmp_ok($arrival->{bytes}, '<=', $SIZES, 'so many bytes as were sent');
my ($request) =
	grep { $_->{major} == XClient::POLY_FILL_RECTANGLE } only(\@r, 'x_request', pid => $$);
ok((grep { $_->{ts_ns} <= $request->{ts_ns} } @arrivals), 'before they are executed');
my ($flush) = reverse only(\@r, 'x_flush', pid => $$);
cmp_ok($flush->{duration_ns}, '>', 0,              'writing took a time');
cmp_ok($flush->{duration_ns}, '<', 10_000_000_000, 'that can be');
is(scalar only(\@r, 'x_output_full'), 0, 'and everything was taken');

# A client that reads nothing: the server itself says when its connection is full.
my $deaf = XClient->new($x);
$deaf->request(
	XClient::GET_IMAGE, 2, $deaf->root,
	\$deaf->pack('ssSSL', 0, 0, 1000, 700, 0xffffffff)
);
sleep 0.5;
@r = records($peer, 0);
my ($full) = only(\@r, 'x_output_full', pid => $$, phase => 'begin');
ok($full, 'a full connection is seen at once, without looking');
$deaf->reply;
sleep 0.3;
@r = records($peer, 0);
ok(scalar only(\@r, 'x_output_full', pid => $$, phase => 'end'), 'and that it is free again');
$x->stop;
done_testing();
