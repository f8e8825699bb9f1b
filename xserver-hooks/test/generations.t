#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The server begins anew when its last client goes, and thousands of clients come and go: the hooks
# go along.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xvfb));
my $peer = peer_start(rundir());
# Joined screens: the server's own code wraps the tables of requests as well, anew in each
# generation.
my $x = Tipme::Display->new(
	kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir},
	args => [qw(-reset -screen 1 640x480x24 +xinerama)]
);
wait_for($peer, qr/^hello 0/);
for my $generation (1 .. 5) {
	my $c       = connect_again();
	my $from_ns = Tipme::Typist::now_ns();
	my ($w, $gc) = $c->window;
	$c->rectangle($w, $gc, 0, 0, 20, 10);
	$c->sync;
	my @r = settled($peer, 0);
	pop @r;
	@r = grep { $_->{ts_ns} >= $from_ns } @r;
	my @request = only(\@r, 'x_request', pid => $$, major => XClient::POLY_FILL_RECTANGLE);
	is(scalar @request, 1, "generation $generation: the request is recorded once");
	my %window = map { $_->{window} => 1 } my @damage =
		only(\@r, 'x_damage', pid => $$, major => XClient::POLY_FILL_RECTANGLE);
	is_deeply(
		[ scalar @damage, scalar keys %window ], [ 2, 2 ],
		'and its damage, on each of two joined screens'
	);
	$c->mark;
	$c->close;
}
is(wait_for($peer, qr/^(gone|hello)/, 0.1), undef, 'the ring stays the same all the time');
$x->stop;
ok(wait_for($peer, qr/^gone 0/), 'until the server ends');

my $many = 10_000;
# Each leaves a dozen records.
$x =
	Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir}, ring_kb => 16384);
wait_for($peer, qr/^hello 1/);
my $stay = XClient->new($x);
for (1 .. $many) {
	my $c = XClient->new($x);
	$c->sync;
	$c->close;
}
$stay->sync;
# The last one may still be on its way out.
my (@r, %count);
await(
	sub {
		@r     = settled($peer, 1);
		%count = (connected => 0, gone => 0);
		$count{ $_->{state} }++ for only(\@r, 'x_client', pid => $$);
		return $count{gone} >= $many;
	}
);
cmp_ok($count{connected}, '>=', $many + 1, "$many clients came");
cmp_ok($count{gone},      '>=', $many,     'and went');

# Processes that come one after another get the same number from the server.
my @processes = map { visit() } 1 .. 3;
@r = settled($peer, 1);
my %numbers;
for my $pid (@processes) {
	my ($came) = only(\@r, 'x_client', pid => $pid, state => 'connected');
	my ($went) = only(\@r, 'x_client', pid => $pid, state => 'gone');
	ok($came && $went, 'a process comes and goes') or next;
	$numbers{ $came->{client} }++;
	my @its = grep { $_->{ts_ns} >= $came->{ts_ns} && $_->{ts_ns} < $went->{ts_ns} }
		map { only(\@r, $_, client => $came->{client}) } qw(x_request x_reply x_flush);
	cmp_ok(scalar @its, '>=', 3, 'it asks, and is answered');
	is_deeply(
		[ grep { $_->{pid} != $pid } @its ], [],
		'as itself, not as who had its number before'
	);
}
is(scalar keys %numbers, 1, 'all had the same number');
$x->stop;
done_testing();

sub visit {
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		my $c = XClient->new($x);
		$c->sync;
		$c->close;
		POSIX::_exit(0);
	}
	waitpid $pid, 0;
	# It has ended, so the server learns of that at its next look, and has a look between two
	# answers.
	$stay->sync for 1 .. 3;
	return $pid;
}

# In another generation of the server. Who comes before it has noticed that the last client went is
# sent away.
sub connect_again {
	return await(
		sub {
			eval { my $c = XClient->new($x); $c->marked ? undef : $c }
		}
	) // XClient->new($x);
}
