#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The hooks under valgrind: an Xvfb with them goes through a session of everything they look at, and
# through generations. Nothing of the hooks reads or writes where it may not, uses what was never
# set, or is lost.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Live;
use XClient;

plan skip_all => 'takes minutes: set TIPME_TEST_ALL=1' if !$ENV{TIPME_TEST_ALL};
need(qw(Xvfb valgrind xterm xdotool));
my $dir = rundir();
chmod 0777, $dir;
my $program = "$dir/Xvfb";
my $xvfb    = Tipme::Display::find_server('Xvfb');
open my $out, '>', $program or die "$program: $!";
# The leak of a whole generation would be seen at the end of another.
print {$out} <<"END";
#!/bin/sh
exec valgrind --quiet --leak-check=full --show-leak-kinds=definite --num-callers=30 --log-file=$dir/said $xvfb "\$@"
END
close $out;
chmod 0755, $program;

my $peer = peer_start(rundir());
my $x    = Tipme::Display->new(
	kind   => 'Xvfb',       program => $program, hooks => hooks(),
	rundir => $peer->{dir}, args    => [qw(-reset -screen 1 640x480x24 -listen tcp)]
);
ok(wait_for($peer, qr/^hello 0/, 60), 'the server runs under valgrind, with the hooks')
	or BAIL_OUT('no server');
for my $generation (1 .. 3) {
	session($_) for { }
	, { swapped => 1 }, { tcp => 1 };
	toolkit() if $generation == 2;
	sleep 1;
}
my @r = eval { records($peer, 0) };
cmp_ok(scalar @r, '>', 500, 'it has recorded');
is(scalar only(\@r, 'x_chord'), 1, 'the hot-key, too');
$x->stop;
ok(wait_for($peer, qr/^gone 0/, 60), 'it ends');
my $said = do { open my $in, '<', "$dir/said" or die "$dir/said: $!"; local $/; <$in> }
	// '';
my @complaints = grep {/\w/} split /^==\d+== *\n/m, $said;
# Frames of the hooks have their source's name. They stand below whatever a request does: what
# counts is who did it and, of what is lost, who asked the server for it.
my $OURS = join '|',
	map { m{([^/]+)\.c$} ? $1 : () }
	map { glob "$Bin/../../$_/*.c" } qw(xserver-hooks/src abi/xring abi/chord);
my @ours = grep {
	my @frames = grep {
		!/ in \S*vgpreload|vg_replace|\b(?:malloc|calloc|realloc|free|strdup|mmap|memcpy|memset) /
	} /^==\d+==    (?:at|by) (.*)/mg;
	my $last = /definitely lost/ ? 1 : 0;
	grep { defined && (/\((?:$OURS)\.c:\d+\)/ || /libtipme/) } @frames[ 0 .. $last ];
} @complaints;
note scalar(@complaints), ' complaints in all, of the server and its libraries; ',
	scalar(grep {/\((?:$OURS)\.c:\d+\)/} @complaints), ' with the hooks below them';
note $_ for @complaints;
is(scalar @ours, 0, 'valgrind has nothing to say of the hooks')
	or diag join "\n", @ours[ 0 .. ($#ours > 4 ? 4 : $#ours) ];
done_testing();

# The server may be between two generations.
sub client {
	for (1 .. 100) {
		my $c = eval { XClient->new($x, @_) };
		return $c if $c;
		sleep 0.2;
	}
	return XClient->new($x, @_);
}

# Requests that draw, one by one and in floods, into windows that are redirected or not; grabs,
# errors, properties, pictures of Present.
sub session {
	my ($how) = @_;
	my $c = client(%$how);
	my ($w, $gc) = $c->window;
	$c->rectangle($w, $gc, $_, $_, 20, 10), $c->sync for 1 .. 20;
	for (1 .. 40) { $c->rectangle($w, $gc, $_, $_, 9, 9) for 1 .. 50; $c->sync }
	$c->request(
		67, 0, $w, $gc,
		map { \$c->pack('ssSS', 8 * ($_ % 60), 8 * int($_ / 60), 5, 5) } 1 .. 80
	);
	$c->request(XClient::MAP_WINDOW, 0, 0x1234567);
	eval { $c->reply };
	$c->request(XClient::GRAB_SERVER,   0);
	$c->request(XClient::UNGRAB_SERVER, 0);
	$c->request(XClient::GRAB_KEYBOARD, 0, $w, 0, \$c->pack('CCxx', 1, 1));
	$c->reply;
	$c->request(XClient::UNGRAB_KEYBOARD, 0, 0);

	if (my $composite = $c->extension('Composite')) {
		$c->request($composite, 0, 0, 4);
		$c->reply;
		$c->request($composite, 1, $w, 0);
		$c->rectangle($w, $gc, 3, 3, 20, 10);
		$c->sync;
	}
	# The server itself forgets to swap the name of the selection.
	if (my $present = $how->{swapped} ? 0 : $c->extension('Present')) {
		my $pixmap = $c->id;
		$c->request(XClient::CREATE_PIXMAP, 24, $pixmap, $w, \$c->pack('SS', 600, 400));
		$c->request($present,               3,  $c->id,  $w, 2);
		$c->request(
			$present, 1, $w, $pixmap, 7, 0, 0, \$c->pack('ssLLLLL', 0, 0, 0, 0, 0, 0, 0),
			(0) x 6
		);
		$c->sync;
	}
	# It goes in the midst of a request.
	$c->_write($c->pack('CCSLL', XClient::POLY_FILL_RECTANGLE, 0, 101, $w, $gc) . "\0" x 40);
	$c->close;
	return;
}

# Keys, a menu, the mouse, the hot-key.
sub toolkit {
	my $xterm = xterm($x, 'cat');
	local %ENV = (%ENV, $x->env);
	system('xdotool', @$_) == 0
		or fail("xdotool @$_")
		for [qw(mousemove 300 200)], [qw(type hello)], [qw(mousemove 200 100)],
		[qw(keydown ctrl click 1 keyup ctrl)], [qw(key ctrl+alt+minus)];
	sleep 2;
	kill 'TERM', $xterm;
	waitpid $xterm, 0;
	return;
}
