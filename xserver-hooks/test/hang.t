#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A server that hangs can still be read: stopped altogether, or busy with one client's endless
# request; and so can one that has crashed.
use strict;
use warnings;
use File::Path qw(remove_tree);
use FindBin    qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xvfb));
my $peer = peer_start(rundir());
my $x    = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir});
wait_for($peer, qr/^hello 0/);
my $c = XClient->new($x);
my ($w, $gc) = $c->window(width => 1000, height => 700);

settled($peer, 0);
kill 'STOP', $x->pid;
my @r      = records($peer, 0);
my $header = pop @r;
cmp_ok($header->{whole}, '>', 10, 'the ring of a stopped server is read');
is($header->{whole}, $header->{head}, 'all of it');
my ($last) = reverse only(\@r, 'x_request', pid => $$);
is($last->{major}, XClient::GET_INPUT_FOCUS, 'down to the last request');
kill 'CONT', $x->pid;
$c->sync;

# Wide arcs of the shortest dashes take a server seconds.
my ($LINE_WIDTH, $LINE_STYLE, $DASHES, $ON_OFF_DASH) = (1 << 4, 1 << 5, 1 << 21, 1);
my $slow = $c->id;
$c->request(
	XClient::CREATE_GC, 0, $slow, $w, $LINE_WIDTH | $LINE_STYLE | $DASHES, 200,
	$ON_OFF_DASH,       1
);
$c->sync;
my $before_ns = Tipme::Typist::now_ns();
$c->request(
	XClient::POLY_ARC, 0, $w, $slow,
	map { \$c->pack('ssSSss', $_, $_, 600, 500, 0, 360 * 64) } 1 .. 25
);
await(
	sub {
		@r      = records($peer, 0);
		$header = pop @r;
		return $header->{cur_start_ns} > $before_ns;
	}
);
cmp_ok(
	$header->{cur_start_ns}, '>', $before_ns,
	'a request that is being executed shows in the header'
);
is($header->{cur_pid},   $$,                'with its client');
is($header->{cur_major}, XClient::POLY_ARC, 'and what it is');
my $open_ns = $header->{cur_start_ns};
SKIP: {
	# It ends some time; how long it takes is the machine's affair.
	$c->request(XClient::GET_INPUT_FOCUS, 0);
	my $done = eval { $c->reply(90); 1 };
	skip 'the request takes more than 90 s here', 3 if !$done;
	@r = settled($peer, 0);
	is((pop @r)->{cur_start_ns}, 0, 'when it is done, none is being executed');
	my ($request) = only(\@r, 'x_request', ts_ns => $open_ns);
	ok(
		$request && $request->{count} == 1 && $request->{major} == XClient::POLY_ARC,
		'and it is a record'
	);
	ok(
		(
			grep { $_->{ts_ns} >= $open_ns + $request->{duration_ns} }
				only(\@r, 'x_damage', pid => $$, major => XClient::POLY_ARC)
		),
		'with its damage after it'
	);
}

$c->sync;
@r = settled($peer, 0);
my $kept = (pop @r)->{head};
kill 'SEGV', $x->pid;
ok(wait_for($peer, qr/^gone 0/), 'the server crashes');
@r      = records($peer, 0);
$header = pop @r;
cmp_ok($header->{head},  '>=', $kept, 'its ring is read all the same');
cmp_ok($header->{whole}, '>=', $kept, 'with all that it had recorded');
ok(
	(grep { $_->{major} == XClient::GET_INPUT_FOCUS } only(\@r, 'x_request', pid => $$)),
	'down to what this client asked of it'
);
ok(!eval { $x->stop; 1 }, 'it did not end in order');
remove_tree($x->dir);
done_testing();
