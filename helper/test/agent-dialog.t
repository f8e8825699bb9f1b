# SPDX-License-Identifier: GPL-2.0-only
# The question on a small screen without a window manager, where nobody else puts it right; and its
# words when the recorder ends, or hangs, meanwhile.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Display;
use Tipme::TestAgent  qw(command public);
use Tipme::TestDaemon qw(slurp tipmed wait_until);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the dialog is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-dialog" || !-x tipmed();
for my $program (qw(Xvfb xdotool)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my ($WIDTH, $HEIGHT) = (800, 600);

my $nobody = (getpwnam 'nobody')[2] // 65534;
my $d      = Tipme::TestDaemon->new(args => [ '--owner', $nobody, '--post', 0 ]);
my $x      = Tipme::Display->new(
	kind => 'Xvfb', rundir => $d->rundir,
	args => [ '-screen', 0, "${WIDTH}x${HEIGHT}x24" ]
);
my $public = public($d->dir);
is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');
my ($rc, $out) = $d->snap;
my $path = (split /\n/, $out)[1];
ok -d $path, 'an episode to ask about' or BAIL_OUT($out);

sub ask {
	local $ENV{TIPME_BUILDDIR} = $public;
	local $ENV{HOME}           = $x->dir;
	delete local @ENV{qw(DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR)};
	return $x->spawn("$public/helper/agent/tipme-dialog", '--timeout', 0, $path);
}

sub windows {
	return split /\n/,
		command($x, 'sh', '-c', q{xdotool search --onlyvisible --name 'what happened' 2>/dev/null});
}

sub window {
	return (
		split /\n/,
		command($x, 'sh', '-c', q{xdotool search --onlyvisible --name 'what happened' 2>/dev/null})
	)[0];
}

sub place {
	my ($w) = @_;
	return command($x, 'xdotool', 'getwindowgeometry', '--shell', $w) =~
		/X=(-?\d+)\nY=(-?\d+)\nWIDTH=(\d+)\nHEIGHT=(\d+)/;
}

# place(), once it is the same for half a second: a window takes several steps to a new size.
sub steady {
	my ($w) = @_;
	my @last;
	wait_until(
		sub {
			my $before = "@last";
			sleep 0.5;
			@last = place($w);
			return "@last" eq $before;
		}
	);
	return @last;
}
sub end { my ($pid) = @_; kill 'TERM', $pid; waitpid $pid, 0; return }

# Without a window manager keys go to the window under the pointer.
my $told;    # how high it is with the verdict
my %pointer = (
	'bottom right' => [ 700, 500 ], 'bottom left' => [ 60, 500 ], 'top right' => [ 700, 60 ],
	'middle'       => [ 400, 320 ]
);
for my $where ($ENV{TIPME_TEST_ALL} ? sort keys %pointer : ('bottom right', 'middle')) {
	my ($px, $py) = @{ $pointer{$where} };
	command($x, 'xdotool', 'mousemove', $px, $py);
	my $pid = ask();
	my $w   = wait_until(\&window) or BAIL_OUT('no question: ' . slurp($x->dir . '/clients.log'));
	# Its place is right when the verdict has come, too.
	my @first = place($w);
	sleep 0.5;
	wait_until(sub { system("pgrep -P $pid >/dev/null") != 0 });
	sleep 0.3;
	$told = (place($w))[3];
	for my $state ([ 'first', @first ], [ 'with the verdict', place($w) ]) {
		my ($name, $left, $top, $width, $height) = @$state;
		ok $left >= 0 && $top >= 0 && $left + $width <= $WIDTH && $top + $height <= $HEIGHT,
			"pointer $where, $name: all of it is on the screen"
			or diag("${width}x$height at $left,$top");
		ok $px < $left || $px >= $left + $width || $py < $top || $py >= $top + $height,
			'... and not under the pointer'
			or diag("${width}x$height at $left,$top");
	}
	end($pid);
}

# Several episodes within a minute: each question is to be seen, and none comes under the pointer.
{
	command($x, 'xdotool', 'mousemove', 700, 60);
	my (@pids, @first);
	for my $n (1 .. 3) {
		push @pids, ask();
		wait_until(sub { @{ [ windows() ] } == $n }) or diag(slurp($x->dir . '/clients.log'));
		next if $n > 1;
		# Its place is right when the verdict has come, too.
		wait_until(sub { (place(window()))[3] == $told });
		@first = place(window());
	}
	my @w = windows();
	is scalar(@w), 3, 'three questions at once';
	my %corner = map {
		my ($left, $top, $width, $height) = place($_);
		(
			join ' ', $left + $width / 2 < $WIDTH / 2 ? 'left' : 'right',
			$top + $height / 2 < $HEIGHT / 2 ? 'top' : 'bottom'
		) => 1
	} @w;
	is_deeply [ sort keys %corner ], [ 'left bottom', 'left top', 'right bottom' ],
		'each in a corner of its own, and not that of the pointer';
	end($_) for @pids;
	my $pid = ask();
	my $w   = wait_until(\&window);
	ok wait_until(sub { "@first" eq join ' ', place($w) }),
		'the first corner is free again when they have gone'
		or diag("@first, now " . join ' ', place($w));
	end($pid);
}

# Whatever is asked for, its buttons stay on the screen: the list of moments, or a text.
{
	my $pid = ask();
	my $w   = wait_until(\&window);
	wait_until(sub { (place($w))[3] == $told });
	my @place = place($w);
	command($x, 'xdotool', 'mousemove', $place[0] + 200, $place[1] + 20);
	my $wide = sub { (place($w))[2] > 600 };
	my $list = sub { (place($w))[3] > $told && !$wide->() };
	my $why;    # how high it is with a text
	my $save = sub { (place($w))[3] > $why };
	# What is looked up comes later: pressed until it is there.
	for my $case (
		[ 'alt+n', $list,                       'another moment' ],
		[ 'alt+w', $wide,                       'why' ],
		[ 'alt+n', $list,                       'another moment again, instead of it' ],
		[ 'alt+r', $save,                       'a report, and its button' ],
		[ 'alt+e', sub { -e "$path/felt.txt" }, 'the short questions, below that' ],
		)
	{
		my ($key, $done, $what) = @$case;
		ok wait_until(sub { command($x, 'xdotool', 'key', $key); wait_until($done, 2) }), $what
			or diag("told $told, now " . join ' ', place($w));
		ok wait_until(
			sub {
				my ($left, $top, $width, $height) = place($w);
				$left >= 0 && $top >= 0 && $left + $width <= $WIDTH && $top + $height <= $HEIGHT;
			}
			),
			'... is on the screen, with all else'
			or diag(join ' ', place($w));
		$why = (steady($w))[3] if $key eq 'alt+w';
		command($x, 'xdotool', 'mousemove', (place($w))[0] + 200, (place($w))[1] + 20);
	}
	end($pid);
	unlink map {"$path/$_"} qw(felt.txt note.txt);
}

# The recorder ends and comes again while the question is open: the words are not lost.
my $pid = ask();
my $w   = wait_until(\&window);
wait_until(sub { (place($w))[3] == $told });    # from then on it stays where it is
$d->stop;
my @place = place($w);
command($x, 'xdotool', 'mousemove', $place[0] + 100, $place[1] + 55, 'click', 1);
sleep 0.3;
command($x, 'xdotool', 'type', '--delay', '30', 'the recorder was away');
command($x, 'xdotool', 'key', 'Return');
sleep 0.5;
ok window(), 'Save without a recorder: the question stays';
is + ($d->start)[0], 0, 'the recorder starts again';
command($x, 'xdotool', 'key', 'Return');
ok wait_until(sub { -e "$path/note.txt" }), 'Save once more: saved';
is -e "$path/note.txt" ? slurp("$path/note.txt") : '', 'the recorder was away',
	'... as they were typed';
ok wait_until(sub { !window() }), '... and the question is gone';
end($pid);

# A recorder that hangs does not keep the question from being asked.
kill 'STOP', $d->pid;
$pid = ask();
ok wait_until(\&window), 'asked though the recorder hangs';
kill 'CONT', $d->pid;
end($pid);
$d->stop;
$x->stop;
done_testing;
