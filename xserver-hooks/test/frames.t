#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What a compositor lives by is recorded: windows that draw elsewhere, who is told of what was drawn
# and takes it over, where the screen itself changed meanwhile.
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
my $x    = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir});
wait_for($peer, qr/^hello 0/);
my ($REDIRECT_SUBWINDOWS, $UNREDIRECT_SUBWINDOWS, $MANUAL, $GET_OVERLAY, $RELEASE_OVERLAY) =
	(2, 4, 1, 7, 8);
my ($DAMAGE_CREATE, $DAMAGE_SUBTRACT, $NON_EMPTY) = (1, 3, 3);
my @r;

sub during {
	my ($code) = @_;
	sleep 0.12;    # no flood
	my $from_ns = Tipme::Typist::now_ns();
	$code->();
	@r = settled($peer, 0);
	pop @r;
	@r = grep { $_->{ts_ns} >= $from_ns } @r;
	return;
}

sub place {
	my ($r) = @_;
	return [ map { $_ + 0 } @$r{qw(x y width height)} ];
}

for my $swapped (0, 1) {
	my $order = $swapped ? 'swapped bytes' : 'own bytes';
	my ($client,    $other)  = (XClient->new($x), XClient->new($x, swapped => $swapped));
	my ($w,         $gc)     = $client->window(x => 100, y => 50, width => 300, height => 200);
	my ($composite, $damage) = map { scalar $other->extension($_) } qw(Composite DAMAGE);
	for ($composite, $damage) { $other->request($_, 0, 1, 1); $other->reply }
	during(
		sub {
			$other->request(
				$composite, $REDIRECT_SUBWINDOWS, $other->root,
				\$other->pack('Cxxx', $MANUAL)
			);
			$other->sync;
		}
	);
	my ($own) = only(\@r, 'x_redirect', window => $w, begin => 1);
	is_deeply(
		$own && place($own), [ 100, 50, 300, 200 ],
		"$order: the window draws elsewhere from now on, and where it lies"
	);

	my $object = $other->id;
	$other->request($damage, $DAMAGE_CREATE, $object, $w, \$other->pack('Cxxx', $NON_EMPTY));
	# All of the window counts as damaged until it is taken.
	$other->request($damage, $DAMAGE_SUBTRACT, $object, 0, 0);
	$other->sync;
	during(sub { $client->rectangle($w, $gc, 5, 7, 20, 10); $client->sync; $other->sync });
	my ($request) = only(\@r, 'x_request', major  => XClient::POLY_FILL_RECTANGLE);
	my ($drawn)   = only(\@r, 'x_drawn',   window => $w);
	is_deeply(
		$drawn && place($drawn), [ 105, 57, 20, 10 ],
		'... what was drawn has its place on the screen'
	);
	is(
		$drawn->{ts_ns}, $request->{ts_ns} + $request->{duration_ns},
		'... when the request is done'
	);
	is($drawn->{client}, $request->{client}, '... and whose it is');
	is(
		scalar(only(\@r, 'x_damage')) + only(\@r, 'x_painted'), 0,
		'... and the screen has not changed'
	);
	my ($told) = only(\@r, 'x_told', drawable => $w, damage => $object);
	ok(
		$told && $told->{by_client} == $request->{client} && $told->{client} != $request->{client},
		'... who was told, of which window, because of whom'
	);
	ok(
		$told && $told->{ts_ns} >= $request->{ts_ns} && $told->{ts_ns} <= $drawn->{ts_ns},
		'... in the request that drew'
	);

	during(sub { $other->request($damage, $DAMAGE_SUBTRACT, $object, 0, 0); $other->sync });
	my ($taken) = only(\@r, 'x_taken');
	is_deeply(
		[ @$taken{qw(pid damage client)} ], [ $$, $object, $told->{client} ],
		'... who took it over'
	);

	# What it paints is on the overlay window, or on the root: its place in it counts.
	$other->request($composite, $GET_OVERLAY, $other->root);
	my ($overlay) = $other->unpack('x8L', $other->reply);
	my $gc2 = $other->id;
	$other->request(XClient::CREATE_GC, 0, $gc2, $overlay, 1 << 2, 0x208020);
	$other->sync;
	during(sub { $other->rectangle($overlay, $gc2, 105, 57, 20, 10); $other->sync });
	my @painted = only(\@r, 'x_painted', client => $taken->{client});
	is(scalar @painted, 1, '... the screen changed once');
	is_deeply(
		[ @painted ? (place($painted[0]), $painted[0]{pid}) : () ],
		[ [ 105, 57, 20, 10 ], $$ ], '... there, and by whom'
	);

	$other->request($composite, $RELEASE_OVERLAY, $other->root);
	$other->sync;
	my ($edge, $egc) = $client->window(x => -10, y => -10, width => 30, height => 30);
	during(sub { $client->rectangle($edge, $egc, 0, 0, 15, 15); $client->sync });
	my ($at_edge) = only(\@r, 'x_drawn', window => $edge);
	is_deeply(
		$at_edge && place($at_edge), [ 0, 0, 5, 5 ],
		'... of what lies partly outside of the screen, the part within'
	);

	during(
		sub {
			$other->request(
				$composite, $UNREDIRECT_SUBWINDOWS, $other->root,
				\$other->pack('Cxxx', $MANUAL)
			);
			$other->sync;
		}
	);
	ok(scalar only(\@r, 'x_redirect', window => $w, begin => 0), '... no longer redirected');
	during(sub { $client->rectangle($w, $gc, 5, 5, 20, 10); $client->sync });
	ok(
		scalar only(\@r, 'x_damage', window => $w),
		'... then its drawing is a change of the screen again'
	);
	is(scalar(only(\@r, 'x_painted')), 0, '... and only that');
	$_->close for $client, $other;
	await(
		sub {
			2 == grep { $_->{type} eq 'x_client' && $_->{state} eq 'gone' }
				(settled($peer, 0))[ -40 .. -1 ];
		}
	);
}

# A flood of drawing, told once for each time it was taken: few records, and the last drawing has
# its time.
{
	my ($client,    $other)  = (XClient->new($x), XClient->new($x));
	my ($w,         $gc)     = $client->window(x => 0, y => 0, width => 300, height => 200);
	my ($composite, $damage) = map { scalar $other->extension($_) } qw(Composite DAMAGE);
	for ($composite, $damage) { $other->request($_, 0, 1, 1); $other->reply }
	$other->request($composite, $REDIRECT_SUBWINDOWS, $other->root, \$other->pack('Cxxx', $MANUAL));
	my $object = $other->id;
	# each raw rectangle is told
	$other->request($damage, $DAMAGE_CREATE, $object, $w, \$other->pack('Cxxx', 0));
	$other->sync;
	during(
		sub {
			for my $part (1 .. 100) {
				$client->_write(
					join '',
					map {
						$client->pack(
							'CCSLLssSS', XClient::POLY_FILL_RECTANGLE, 0, 5, $w, $gc, $_,
							$_, 10, 10
						)
					} 1 .. 100
				);
				$client->{sequence} += 100;
			}
			$client->sync;
			$client->rectangle($w, $gc, 250, 150, 5, 5);
			$client->sync;
			$other->sync;
		}
	);
	my @drawn = only(\@r, 'x_drawn', window => $w);
	my @told  = only(\@r, 'x_told');
	cmp_ok(
		@drawn + @told, '<', 1000,
		'a flood of 10,000 rectangles, all of them told: few records ('
			. @drawn . ' and '
			. @told . ')'
	);
	my @of = only(\@r, 'x_request', client => $drawn[0]{client});
	is_deeply(
		[
			grep {
				my $d = $_;
				!grep {
					$_->{ts_ns} <= $d->{ts_ns} && $_->{ts_ns} + $_->{duration_ns} >= $d->{ts_ns}
				} @of
			} @drawn
		],
		[],
		'... each of which falls into a run of requests'
	);
	is_deeply(
		[ map { $drawn[-1]{x} + $drawn[-1]{width} >= $_ ? 1 : 0 } 255 ], [1],
		'... and the last holds what was drawn last'
	);
	$_->close for $client, $other;
}

done_testing();
