#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Listening to damage does the server no harm: many changes in one request while the cursor has to
# be taken off the screen, which draws in the midst of the telling; and nothing of what was told is
# kept.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use File::Copy  qw(copy);
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xvfb Xorg));
my ($OPEN_FONT, $CREATE_GLYPH_CURSOR, $CHANGE_ATTRIBUTES, $POLY_RECTANGLE, $WARP_POINTER) =
	(45, 94, 2, 67, 41);

subtest 'the cursor is in the way' => sub {
	my $x   = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => '/nonexistent');
	my $c   = XClient->new($x);
	my ($w) = $c->window(width => 1280, height => 800);
	my $gc  = through($c, $w);
	my ($font, $cursor) = ($c->id, $c->id);
	$c->request($OPEN_FONT, 0, $font, \$c->pack('Sxxa*', 6, 'cursor'));
	$c->request(
		$CREATE_GLYPH_CURSOR, 0, $cursor, $font, $font,
		\$c->pack('SSSSSSSS', 0, 1, 0, 0, 0, 65535, 65535, 65535)
	);
	$c->request($CHANGE_ATTRIBUTES, 0, $w, 1 << 14, $cursor);
	$c->sync;
	# Each rectangle is four changes; one of the last one's sides runs through the cursor.
	my @side = (
		[ 560, 400, 160, 200 ], [ 640, 300, 200, 160 ], [ 560, 200, 160, 200 ],
		[ 440, 300, 200, 160 ]
	);
	my $served = 0;
	for my $before (60 .. 68) {
		for my $last (@side) {
			# Longer than a rest in a flood: the hooks listen again. Then the cursor is shown anew,
			# and so is told of changes before them.
			sleep 0.008;
			$c->sync;
			$c->request($WARP_POINTER, 0, 0, $w, 0, 0, \$c->pack('ss', @$_)), $c->sync, sleep 0.002
				for [ 900, 700 ], [ 640, 400 ];
			$c->request(
				$POLY_RECTANGLE, 0, $w, $gc,
				map { \$c->pack('ssSS', @$_) }
					(map { [ 8 * ($_ % 60), 8 * int($_ / 60), 5, 5 ] } 1 .. $before), $last
			);
			$served++ if eval { $c->sync; 1 };
		}
	}
	is(
		$served, 9 * @side,
		'the server serves requests of hundreds of changes, whichever of them meets the cursor'
	);
	ok($x->alive, 'and lives');
	$x->alive ? $x->stop : eval { $x->stop };
};

subtest 'nothing is kept' => sub {
	my $shim = build('test/.libs/region-size.so');
	plan skip_all => 'the measure of regions was not built' if !-r $shim;
	my $dir  = rundir();
	my $file = "$dir/largest";
	size_set($file);
	chmod 0666, $file;
	copy($shim, "$dir/region-size.so") or die $!;
	my $x = Tipme::Display->new(
		kind => 'Xorg', hooks => hooks(), rundir => '/nonexistent',
		env  => { LD_PRELOAD => "$dir/region-size.so", TIPME_TEST_REGION_SIZE => $file }
	);
	my $c = XClient->new($x);
	# It has no background: what was painted as one piece would hold all that comes.
	my ($w, $COPY_FROM_PARENT, $OVERRIDE_REDIRECT) = ($c->id, 0, 1 << 9);
	$c->request(
		XClient::CREATE_WINDOW,                     0,                 $w,                 $c->root,
		\$c->pack('ssSSSS', 0, 0, 1200, 700, 0, 1), $COPY_FROM_PARENT, $OVERRIDE_REDIRECT, 1
	);
	$c->request(XClient::MAP_WINDOW, 0, $w);
	my $gc    = through($c, $w);
	my @apart = map { [ 20 * ($_ % 50), 16 * int($_ / 50), 6, 6 ] } 1 .. 60;
	my ($fixes, $QUERY_VERSION, $CREATE_REGION, $UNION_REGION) =
		($c->extension('XFIXES'), 0, 5, 13);
	$c->request($fixes, $QUERY_VERSION, 5, 0);
	$c->reply;
	my @region = map {
		my $id = $c->id;
		$c->request($fixes, $CREATE_REGION, $id, map { \$c->pack('ssSS', @$_) } @apart);
		$id
	} 1 .. 2;
	$c->request($fixes, $UNION_REGION, @region, $region[0]);
	$c->sync;
	is(size_of($file), scalar @apart, 'a client adds up regions of its own: that is seen');
	# Longer than the server is not asked in a flood.
	sleep 0.2;
	size_set($file);
	$c->request($POLY_RECTANGLE, 0, $w, $gc, map { \$c->pack('ssSS', @$_) } @apart);
	$c->sync;
	sleep 0.2;
	$c->rectangle($w, $gc, 900, 600, 10, 10);
	$c->sync;
	cmp_ok(
		size_of($file), '<', 16,
		'changes that lie apart are not added up, nor kept for those that come later'
	);
	$x->stop;
};
done_testing();

# What is drawn on a window that its own window hides, through that: the server has to tell what it
# changes.
sub through {
	my ($c,                 $w)              = @_;
	my ($INCLUDE_INFERIORS, $SUBWINDOW_MODE) = (1, 1 << 15);
	my $child = $c->id;
	$c->request(
		XClient::CREATE_WINDOW, 0, $child, $w, \$c->pack('ssSSSS', 0, 0, 1280, 800, 0, 1),
		0, 0
	);
	$c->request(XClient::MAP_WINDOW, 0, $child);
	$c->request(XClient::CREATE_GC, 0, my $gc = $c->id, $w, $SUBWINDOW_MODE, $INCLUDE_INFERIORS);
	$c->sync;
	return $gc;
}

sub size_set {
	my ($file) = @_;
	open my $out, '+>:raw', $file or die "$file: $!";
	print {$out} pack 'L', 0;
	close $out or die $!;
	return;
}

sub size_of {
	my ($file) = @_;
	open my $in, '<:raw', $file or die "$file: $!";
	return unpack 'L', do { local $/; <$in> }
}
