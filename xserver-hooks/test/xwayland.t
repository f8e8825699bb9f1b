#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Xwayland, linked so that it can take the hooks, in a compositor whose screen and seat are those of
# a headless Xorg: a key in xterm from the device event to the damage, made by XTEST and typed on
# that seat; arrivals, the hot-key; and the same as any server when it ends.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use POSIX       ();
use Time::HiRes qw(sleep);
use Live;
use XClient;

plan skip_all => 'builds an X server: set TIPME_TEST_ALL=1'         if !$ENV{TIPME_TEST_ALL};
plan skip_all => 'only root can run the compositor as another user' if $> != 0;
for my $program (qw(meson ninja patch dpkg-source apt-get weston wayland-scanner xterm xdotool)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my $cache = $ENV{TIPME_CACHE} // ($ENV{XDG_CACHE_HOME} // "$ENV{HOME}/.cache") . '/tipme';
my @given = defined $ENV{TIPME_XWAYLAND_SOURCE} ? $ENV{TIPME_XWAYLAND_SOURCE} : ();
my $built = do {
	open my $h, '-|', "$Bin/../patches/build", '--xwayland', "$cache/xwayland", @given
		or die "build: $!";
	local $/;
	<$h>;
	}
	// '';
my $status = $?;
chomp $built;
is($status, 0, 'the patches apply to Xwayland, and it builds');
BAIL_OUT('no Xwayland') if !-x $built;
# The cache may be closed to the server's user.
my $dir = rundir();
system('install', '-m', 755, $built, "$dir/Xwayland") == 0 or BAIL_OUT('install');
my $host   = Tipme::Display->new(kind => 'Xorg');
my $keys   = Tipme::Typist->new(socket => $host->keyboard, pointer => $host->pointer);
my $weston = compositor("$dir/run");

my $peer = peer_start(rundir());
my $x    = Tipme::Display->new(
	kind => 'Xwayland', program => "$dir/Xwayland", hooks => hooks(), rundir => $peer->{dir},
	env  => { XDG_RUNTIME_DIR => "$dir/run", WAYLAND_DISPLAY => 'tipme-test' }
);
like(
	wait_for($peer, qr/^hello 0/), qr/name=Xwayland/,
	'it takes the hooks by preload, and offers its ring'
) or BAIL_OUT('no hooks');
my $c = XClient->new($x);
my ($w, $gc) = $c->window(width => 300, height => 200);
sleep 0.3;
my $from_ns = Tipme::Typist::now_ns();
$c->rectangle($w, $gc, 1, 1, 20, 10);
$c->sync;
my @r = grep { ($_->{ts_ns} // 0) >= $from_ns } settled($peer, 0);
my ($request) = only(\@r, 'x_request', pid => $$, major => XClient::POLY_FILL_RECTANGLE);
ok($request, 'a request that draws');
# Each window has a pixmap of its own there, which the Wayland compositor brings to the screen.
my @drawn =
	only(\@r, 'x_drawn', client => $request->{client}, major => XClient::POLY_FILL_RECTANGLE);
ok(
	scalar(grep { $_->{window} == $w && $_->{width} == 20 && $_->{height} == 10 } @drawn),
	'what it drew: that window, and how much of it'
) or diag explain \@drawn;
my ($arrival) = grep { $_->{ts_ns} <= $request->{ts_ns} } only(\@r, 'x_arrival', pid => $$);
ok($arrival, 'it came before it was executed');
ok(
	(grep { $_->{duration_ns} > 0 } only(\@r, 'x_flush', pid => $$)),
	'writing to the client took a time'
);
$c->close;

my $xterm = xterm($x, 'cat');
my %seen;
for my $how ('by XTEST', 'on the seat of the compositor') {
	subtest "a key $how" => sub { key_in_xterm($how) }
}
my %device = map { $_ => 1 } values %seen;
is(scalar keys %device, 2, 'the two came from different devices');
hot_key($_) for 'by XTEST', 'on the seat of the compositor';
$x->stop;
ok(wait_for($peer, qr/^gone 0$/), 'the server ends in order');
kill 'TERM', $weston;
waitpid $weston, 0;
$host->stop;
done_testing();

# Focus follows the pointer, here and there.
sub press {
	my ($how, @chord) = @_;
	if ($how eq 'by XTEST') {
		xdotool(qw(mousemove 300 200));
		sleep 0.5;
		xdotool('key', join '+', @chord);
	} else {
		$keys->press($_)   for @chord;
		$keys->release($_) for reverse @chord;
		$keys->sync;
	}
	return;
}

sub key_in_xterm {
	my ($how) = @_;
	my $from_ns = Tipme::Typist::now_ns();
	press($how, 'q');
	sleep 0.7;
	my @r = grep { ($_->{ts_ns} // 0) >= $from_ns } records($peer, 0);
	my ($press) = only(\@r, 'x_device', kind => 'key_press', is_master => 0);
	ok($press, 'device event') or diag slurp("$dir/run/weston.log");
	$seen{$how} = $press->{device} // 0;
	my ($deliver) = only(
		\@r, 'x_deliver', kind => 'key_press', pid => $xterm,
		input_seq => $press->{input_seq} // -1
	);
	ok($deliver, 'delivered to xterm');
	ok(
		$deliver
			&& (grep { $_->{ts_ns} > $deliver->{ts_ns} }
			only(\@r, 'x_drawn', client => $deliver->{client})),
		'and drawn by xterm'
	);
	return;
}

sub hot_key {
	my ($how) = @_;
	my $from_ns = Tipme::Typist::now_ns();
	press($how, qw(ctrl alt minus));
	ok(wait_for($peer, qr/^trigger 0 arg=2$/), "the hot-key triggers, $how");
	sleep 0.3;
	my @r = grep { ($_->{ts_ns} // 0) >= $from_ns } records($peer, 0);
	my ($chord) = only(\@r, 'x_chord');
	is(
		scalar only(\@r, 'x_deliver', input_seq => $chord->{input_seq} // -1), 0,
		'and is swallowed'
	);
	return;
}

sub slurp {
	my ($path) = @_;
	open my $in, '<', $path or return '';
	local $/;
	return scalar <$in> // '';
}

sub xdotool {
	my (@args) = @_;
	local %ENV = (%ENV, $x->env);
	system('xdotool', @args) == 0 or fail("xdotool @args");
	return;
}

sub compositor {
	my ($run) = @_;
	my ($uid, $gid) = (getpwnam 'nobody')[ 2, 3 ];
	mkdir $run, 0700;
	chown $uid, $gid, $run;
	# Without a screen it would have no seat.
	my $pid = $host->spawn(
		'sh', '-c',
		"exec env XDG_RUNTIME_DIR='$run' HOME='$run' weston --backend=x11-backend.so --use-pixman "
			. "--socket=tipme-test --width=1280 --height=800 --no-config --idle-time=0 "
			. ">'$run/weston.log' 2>&1"
	);
	for (1 .. 100) { return $pid if -S "$run/tipme-test"; sleep 0.1 }
	kill 'TERM', $pid;
	BAIL_OUT('the compositor does not come up');
}
