#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Each change of the screen names the request that made it: clients of either byte order, redirected
# windows, Present; runs of short requests.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use List::Util  qw(sum0);
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xvfb));
my $peer = peer_start(rundir());
my $x    = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir});
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
	is(
		$damage[0]{ts_ns}, $request->{ts_ns} + $request->{duration_ns},
		"$what: when the request is done"
	);
	is_deeply(
		[ @{ $damage[0] }{qw(pid width height)} ], [ $$, @{ $want{size} // [ 600, 400 ] } ],
		"$what: whose, and how large"
	);
	is($damage[0]{window}, $want{window}, "$what: where");
	return;
}

for my $swapped (0, 1) {
	my $c = XClient->new($x, swapped => $swapped);
	my ($w, $gc) = $c->window;
	during(sub { $c->rectangle($w, $gc, 5, 5, 20, 10); $c->sync });
	damage_follows_request($swapped ? 'swapped bytes' : 'own bytes', window => $w);
	is(
		sum0(map { $_->{count} } only(\@r, 'x_request', pid => $$)), 2,
		'each request is recorded once'
	);
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
is(scalar(only(\@r, 'x_damage')), 0, 'redirected window: no change of the screen');
my ($hidden) = only(\@r, 'x_drawn', window => $w);
ok($hidden && $hidden->{width} == 20 && $hidden->{height} == 10, '... but drawn: frames.t');
my ($w2, $gc2) = $c->window;
my $DESTROY_WINDOW = 4;
$c->rectangle($w2, $gc2, 5, 5, 20, 10);
$c->request($DESTROY_WINDOW, 0, $w2);
$c->sync;
$c->request($composite, $UNREDIRECT_SUBWINDOWS, $c->root, $MANUAL);
$c->sync;
during(sub { $c->rectangle($w, $gc, 5, 5, 20, 10); $c->sync });
damage_follows_request('no longer redirected', window => $w);

requests_say_where();
requests_that_change_nothing();
the_server_tells();
windows_come_and_go();

SKIP: {
	my $present = $c->extension('Present') or skip 'this server has no Present', 3;
	my ($pixmap, $PRESENT_PIXMAP, $COMPLETE, $SELECT_INPUT, $GENERIC_EVENT) = ($c->id, 1, 2, 3, 35);
	$c->request(XClient::CREATE_PIXMAP, 24,            $pixmap, $w, \$c->pack('SS', 600, 400));
	$c->request($present,               $SELECT_INPUT, $c->id,  $w, $COMPLETE);
	$c->sync;
	during(
		sub {
			$c->request(
				$present, $PRESENT_PIXMAP, $w, $pixmap, 7, 0, 0,
				\$c->pack('ssLLLLL', 0, 0, 0, 0, 0, 0, 0), (0) x 6
			);
			wait_event($c, $GENERIC_EVENT);
			$c->sync;
		}
	);
	my ($request) = only(\@r, 'x_request', major => $present, minor => $PRESENT_PIXMAP);
	ok($request, 'PresentPixmap: a request');
	my ($damage) = grep { $_->{width} == 600 } only(\@r, 'x_damage');
	ok(
		$damage && $damage->{ts_ns} >= $request->{ts_ns},
		'PresentPixmap: the picture comes, now or later'
	);
	is_deeply(
		[ @$damage{qw(pid major minor)} ], [ $$, $present, $PRESENT_PIXMAP ],
		'PresentPixmap: and it says whose it is'
	);
}

my $many = 50000;
during(
	sub {
		$c->_write($c->pack('CCS', XClient::NO_OPERATION, 0, 1) x $many);
		$c->{sequence} += $many;
		$c->sync;
	}
);
my @runs = only(\@r, 'x_request', pid => $$, major => XClient::NO_OPERATION);
is(sum0(map { $_->{count} } @runs), $many, "$many requests are all counted")
	or diag map {
	my $r = $_;
	join(' ', map {"$_=$r->{$_}"} sort keys %$r), "\n"
	} @runs[ 0, -1 ];
cmp_ok(scalar @runs, '<', $many / 20, 'in few records');
is(
	(
		grep { $runs[$_]{ts_ns} < $runs[ $_ - 1 ]{ts_ns} + $runs[ $_ - 1 ]{duration_ns} }
			1 .. $#runs
	),
	0,
	'that do not overlap'
);

# A flood of quick drawing: joined, but nothing of it is lost.
my $rectangles = 20000;
during(
	sub {
		for my $part (1 .. $rectangles / 100) {
			$c->_write(
				join '',
				map {
					$c->pack(
						'CCSLLssSS', XClient::POLY_FILL_RECTANGLE, 0, 5, $w, $gc, $_, 2 * $_,
						10,          10
					)
				} 1 .. 100
			);
			$c->{sequence} += 100;
		}
		$c->sync;
	}
);
@runs = only(\@r, 'x_request', pid => $$);
my @damage = only(\@r, 'x_damage', pid => $$);
is(
	sum0(map { $_->{count} } @runs), $rectangles + 1,
	"$rectangles requests that draw are all counted, and the one that waits for them"
);
cmp_ok(@runs + @damage, '<',  $rectangles / 4, 'in few records');
cmp_ok($runs[0]{count}, '==', 1,               'the first one alone');
is_deeply(
	[
		grep {
			my $d = $_;
			!grep {
					   $_->{ts_ns} <= $d->{ts_ns}
					&& $_->{ts_ns} + $_->{duration_ns} >= $d->{ts_ns}
			} @runs
		} @damage
	],
	[],
	'each damage falls into a run'
);
is_deeply([ grep { $_->{window} != $w } @damage ], [], 'of that window');
# The server is not asked for the damage of each: of the last one of all it must be asked again.
during(sub { $c->rectangle($w, $gc, 5, 5, 20, 10); $c->sync });
damage_follows_request('after the flood', window => $w);

# A client that kills itself is freed by its own request.
my $suicide = XClient->new($x);
my ($own) = $suicide->window;
$suicide->request(XClient::KILL_CLIENT, 0, $own);
ok(!wait_event($suicide, -1), 'a client kills itself');
$c->sync;
@r = settled($peer, 0);
ok(
	scalar only(\@r, 'x_request', major => XClient::KILL_CLIENT, pid => $$),
	'which is a request of its own to the last'
);
$x->stop;
done_testing();

# The requests that this client made name what was changed: [MAJOR, WINDOW]...
sub changes {
	return [ map { [ @$_{qw(major window)} ] } only(\@r, 'x_damage', pid => $$) ];
}

# Whatever kind of request names the window, in its own place.
sub requests_say_where {
	my ($CLEAR, $COPY, $PUT, $COMPOSITE, $FILL) = (61, 62, 72, 8, 26);
	my $pixmap = $c->id;
	$c->request(XClient::CREATE_PIXMAP, 24, $pixmap, $w, \$c->pack('SS', 50, 50));
	$c->sync;
	during(sub { $c->request($CLEAR, 0, $w, \$c->pack('ssSS', 0, 0, 9, 9)); $c->sync });
	is_deeply(changes(), [ [ $CLEAR, $w ] ], 'ClearArea');
	during(
		sub {
			$c->request($COPY, 0, $pixmap, $w, $gc, \$c->pack('ssssSS', 0, 0, 0, 0, 9, 9));
			$c->sync;
		}
	);
	is_deeply(changes(), [ [ $COPY, $w ] ], 'CopyArea, by where it copies to');
	during(
		sub { $c->request($PUT, 2, $w, $gc, \$c->pack('SSssCCxx', 1, 1, 0, 0, 0, 24), 0); $c->sync }
	);
	is_deeply(changes(), [ [ $PUT, $w ] ], 'PutImage');
	my $render = $c->extension('RENDER');
	my ($picture, $format) = ($c->id, window_format($render));
	$c->request($render, 4, $picture, $w, $format, 0);
	$c->sync;
	during(
		sub {
			$c->request(
				$render, $FILL, 1, $picture, \$c->pack('SSSS', 0, 0, 65535, 65535),
				\$c->pack('ssSS', 0, 0, 9, 9)
			);
			$c->sync;
		}
	);
	is_deeply(changes(), [ [ $render, $w ] ], 'a rectangle of RENDER, by its picture');
	during(
		sub {
			$c->request(
				$render, $COMPOSITE, 3, $picture, 0, $picture,
				\$c->pack('ssssssSS', 0, 0, 0, 0, 20, 20, 9, 9)
			);
			$c->sync;
		}
	);
	is_deeply(changes(), [ [ $render, $w ] ], 'a picture upon a picture');
	return;
}

# RENDER's number of the format of the root's visual: 24 bits without transparency.
sub window_format {
	my ($render) = @_;
	$c->request($render, 0, 0, 11);
	$c->reply;
	$c->request($render, 1);
	my $reply = $c->reply;
	my ($count) = $c->unpack('x8L', $reply);
	for my $n (0 .. $count - 1) {
		my ($id, $type, $depth, @bits) = $c->unpack('LCCxxS8', substr $reply, 32 + 28 * $n, 28);
		return $id if $type == 1 && $depth == 24 && $bits[0] == 16 && $bits[7] == 0;
	}
	return 0;
}

sub requests_that_change_nothing {
	my ($UNMAP, $GET_PROPERTY) = (10, 20);
	my ($pixmap, $pixmap_gc) = ($c->id, $c->id);
	$c->request(XClient::CREATE_PIXMAP, 24, $pixmap,    $w,      \$c->pack('SS', 50, 50));
	$c->request(XClient::CREATE_GC,     0,  $pixmap_gc, $pixmap, 0);
	my ($other, $other_gc) = $c->window;
	$c->request($UNMAP, 0, $other);
	$c->sync;
	during(sub { $c->rectangle($pixmap, $pixmap_gc, 0, 0, 9, 9); $c->sync });
	is_deeply(changes(), [], 'what is drawn on a pixmap is not seen');
	during(sub { $c->rectangle($other, $other_gc, 0, 0, 9, 9); $c->sync });
	is_deeply(changes(), [], 'nor what is drawn on a window that is not there');
	during(
		sub {
			$c->rectangle($w, 0x7fffff, 0, 0, 9, 9);
			eval { $c->sync };
			$c->reply;
		}
	);
	is_deeply(changes(), [], 'nor what was refused');
	during(
		sub {
			$c->rectangle($w, $gc, 0, 0, 9, 9);
			$c->request($GET_PROPERTY, 0, $w, 39, 0, 0, 9);
			$c->reply;
		}
	);
	is_deeply(changes(), [ [ XClient::POLY_FILL_RECTANGLE, $w ] ], 'and who asks has not drawn');
	return;
}

# What requests do not say themselves, after one of which the server was not asked.
sub the_server_tells {
	my ($UNMAP, $INCLUDE_INFERIORS) = (10, 1);
	my ($on_top) = $c->window(x => 100);
	during(sub { $c->rectangle($w, $gc, 0, 0, 9, 9); $c->request($UNMAP, 0, $on_top); $c->sync });
	is_deeply(
		changes(), [ [ XClient::POLY_FILL_RECTANGLE, $w ], [ $UNMAP, $c->root ] ],
		'a window goes, and what was below it comes'
	);
	my ($parent, $parent_gc) = $c->window;
	my ($child) = $c->window(parent => $parent);
	my $through = $c->id;
	$c->request(XClient::CREATE_GC, 0, $through, $parent, 1 << 15, $INCLUDE_INFERIORS);
	$c->sync;
	during(sub { $c->rectangle($parent, $parent_gc, 0, 0, 9, 9); $c->sync });
	is_deeply(changes(), [], 'below its own windows a window does not change');
	during(sub { $c->rectangle($parent, $through, 0, 0, 9, 9); $c->sync });
	is_deeply(
		changes(), [ [ XClient::POLY_FILL_RECTANGLE, $c->root ] ],
		'but some draw through them'
	);
	my $other = XClient->new($x);
	$other->window;
	during(
		sub { $c->rectangle($child, $gc, 0, 0, 9, 9); $c->sync; $other->close; $c->sync for 1 .. 3 }
	);
	my ($own) = only(\@r, 'x_damage', pid => 0);
	is($own && $own->{window}, $c->root, 'a client goes with its window: the server did that');
	$c->request($UNMAP, 0, $parent);
	$c->sync;
	return;
}

# What they change is known without asking the server, and is the same as if it were asked.
sub windows_come_and_go {
	my ($ATTRIBUTES, $DESTROY, $REPARENT, $UNMAP, $CONFIGURE, $CIRCULATE, $SHAPE_RECTANGLES) =
		(2, 4, 7, 10, 12, 13, 1);
	my ($BACKGROUND_NONE, $BORDER_PIXEL, $OVERRIDE, $WIN_GRAVITY_X, $RAISE_LOWEST) =
		(1 << 0, 1 << 3, 1 << 9, 1, 0);
	my $shape = $c->extension('SHAPE');
	my $make  = sub {
		my ($parent, $mask, @values) = @_;
		my $id = $c->id;
		$c->request(
			XClient::CREATE_WINDOW,                      0, $id,   $parent,
			\$c->pack('ssSSSS', 50, 60, 222, 111, 3, 1), 0, $mask, @values
		);
		return $id;
	};
	my @plain = ($BORDER_PIXEL | 1 << 1 | $OVERRIDE, 0x336699, 0x993366, 1);
	my ($menu, $inside, $hidden) =
		($make->($c->root, @plain), $make->($w, @plain), $make->($c->root, @plain));
	my $empty = $c->id;
	$c->request(
		XClient::CREATE_WINDOW, 0, $empty, $c->root,
		\$c->pack('ssSSSS', 10, 10, 90, 80, 0, 1), 0, $BACKGROUND_NONE | $OVERRIDE, 0, 1
	);
	my $below_hidden = $make->($hidden, @plain);
	my $move         = sub {
		my ($id, $mask, @values) = @_;
		return sub { $c->request($CONFIGURE, 0, $id, \$c->pack('Sxx', $mask), @values) }
	};
	my $map = sub {
		my ($id) = @_;
		return sub { $c->request(XClient::MAP_WINDOW, 0, $id) }
	};
	my $unmap = sub {
		my ($id) = @_;
		return sub { $c->request($UNMAP, 0, $id) }
	};
	# What is done, what undoes it.
	my @case = (
		[ 'a menu comes',                     $map->($menu),         $unmap->($menu),         1 ],
		[ 'one within another comes',         $map->($inside),       $unmap->($inside),       1 ],
		[ 'one comes where nothing is seen',  $map->($below_hidden), $unmap->($below_hidden), 0 ],
		[ 'one comes that has no background', $map->($empty),        $unmap->($empty),        0 ],
		[
			'an attribute that is not seen', sub { $c->request($ATTRIBUTES, 0, $w, 1 << 4, 1) },
			sub { },                         0
		],
		sub { $map->($_)->() for $menu, $inside },
		[ 'a menu goes', $unmap->($menu),             $map->($menu),                            1 ],
		[ 'one moves',   $move->($menu, 3, 300, 280), $move->($menu, 3, 50, 60),                1 ],
		[ 'one moves to where it is half seen', $move->($menu, 1, -100), $move->($menu, 1, 50), 1 ],
		[ 'one grows',             $move->($menu, 12, 260, 300), $move->($menu, 12, 222, 111),  1 ],
		[ 'one shrinks',           $move->($menu, 12, 60, 50),   $move->($menu, 12, 222, 111),  1 ],
		[ 'one goes below others', $move->($menu, 64, 1),        $move->($menu, 64, 0),         1 ],
		[ 'one comes up',          $move->($w, 64, 0),           $move->($w, 64, 1),            1 ],
		[
			'its border', sub { $c->request($ATTRIBUTES, 0, $menu, $BORDER_PIXEL, 0xff0000) },
			sub { $c->request($ATTRIBUTES, 0, $menu, $BORDER_PIXEL, 0x00ff00) }, 1
		],
		[
			'they change places', sub { $c->request($CIRCULATE, 0, $c->root) },
			sub { $c->request($CIRCULATE, 1, $c->root) }, undef
		],
		[
			'one gets another parent',
			sub { $c->request($REPARENT, 0, $menu, $w, \$c->pack('ss', 7, 8)) },
			sub { $c->request($REPARENT, 0, $menu, $c->root, \$c->pack('ss', 50, 60)) }, 1
		],
		$shape
		? [
			'one gets another shape',
			sub {
				$c->request(
					$shape, $SHAPE_RECTANGLES, \$c->pack('CCCxLss', 0, 0, 0, $menu, 0, 0),
					\$c->pack('ssSS', 5, 5, 20, 20)
				);
			},
			sub { $c->request($shape, 2, \$c->pack('CCxxLssL', 0, 0, $menu, 0, 0, 0)) },
			1
			]
		: (),
		[
			'one with all in it is destroyed', sub { $c->request($DESTROY, 0, $menu) }, sub { }, 1,
			'once'
		],
	);
	for my $case (@case) {
		if (ref $case eq 'CODE') { $case->(); $c->sync; next }
		my ($what, $do, $undo, $seen, $once) = @$case;
		my %got;
		for my $asked (0, 1) {
			if ($once && $asked) {
				# Another, where it was.
				$menu = $make->($c->root, @plain);
				$map->($menu)->();
				$c->sync;
			}
			during(
				sub {
					$c->rectangle($w, $gc, 0, 0, 9, 9);
					# Nobody knows what this may do, so the server is asked from now on.
					if ($asked) { $c->request($composite, 0, 0, 4); $c->reply }
					$once ? $c->request($DESTROY, 0, $menu) : $do->();
					$c->sync;
				}
			);
			$got{$asked} = [
				map      { [ @$_{qw(major minor window width height)} ] }
					grep { $_->{major} != XClient::POLY_FILL_RECTANGLE }
					only(\@r, 'x_damage', pid => $$)
			];
			$undo->();
			$c->sync;
		}
		is_deeply($got{0}, $got{1}, "$what: the server would say the same") or diag explain \%got;
		is(scalar @{ $got{0} }, $seen, "$what: " . ($seen ? 'seen' : 'not seen')) if defined $seen;
	}
	return;
}

# Reads events up to one of this type; false: the connection ended, or none came.
sub wait_event {
	my ($client, $want) = @_;
	while (defined(my $event = $client->event)) {
		return 1 if (ord($event) & 127) == $want;
	}
	return 0;
}
