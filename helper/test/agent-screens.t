# SPDX-License-Identifier: GPL-2.0-only
# Where the line that a press was heard is shown: on the monitor that there is now, all of it,
# whatever its size.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Display;
use Tipme::TestAgent  qw(command press public start_agent);
use Tipme::TestDaemon qw(slurp wait_until);

plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent";
for my $program (qw(Xvfb xdotool xrandr xrdb)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my ($CTRL, $ALT, $MINUS) = (37, 64, 20);

my $x      = Tipme::Display->new(kind => 'Xvfb', args => [qw(-screen 0 1280x800x24)]);
my $public = public($x->dir);
chmod 0755, $x->dir;
local $ENV{TIPME_RUNDIR} = $x->dir . '/no-recorder';
my ($agent, $log) = start_agent($x, $public, '--no-dialog');

# Presses until a line is shown; returns where: left, top, width, height
sub shown {
	my $w;
	wait_until(sub { !window() });
	wait_until(sub { press($x, $CTRL, $ALT, $MINUS); sleep 0.2; $w = window() }) or return;
	return command($x, 'xdotool', 'getwindowgeometry', '--shell', $w) =~
		/X=(-?\d+)\nY=(-?\d+)\nWIDTH=(\d+)\nHEIGHT=(\d+)/;
}

sub window {
	return (
		split /\n/,
		command($x, 'sh', '-c', q{xdotool search --onlyvisible --name '^tipme$' 2>/dev/null})
	)[0];
}

sub within {
	my ($what, $left, $top, $right, $bottom) = @_;
	my @at = shown();
	ok @at
		&& $at[0] >= $left
		&& $at[1] >= $top
		&& $at[0] + $at[2] <= $right
		&& $at[1] + $at[3] <= $bottom, "$what: all of it is to be seen"
		or diag("@at: " . slurp($log));
	return @at;
}

my @whole = within('one monitor', 0, 0, 1280, 800);
# However long the line is: nearer to the right edge than to the left one.
cmp_ok 1280 - $whole[0] - $whole[2], '<', $whole[0], '... to the right';

# Monitors as RandR 1.5 has them: any part of the screen can be one, and the one beside a higher one
# begins lower.
command($x, qw(xrandr --setmonitor *high 640/170x800/200+0+0 none));
command($x, qw(xrandr --setmonitor low 640/170x400/100+640+400 screen));
within('the left one is the primary one', 0, 0, 640, 800);
command($x, qw(xrandr --delmonitor high));
command($x, qw(xrandr --delmonitor low));
command($x, qw(xrandr --setmonitor high 640/170x800/200+0+0 none));
command($x, qw(xrandr --setmonitor *low 640/170x400/100+640+400 screen));
within('the right one, which begins lower, is it', 640, 400, 1280, 800);
command($x, qw(xrandr --delmonitor low));
command($x, qw(xrandr --setmonitor *narrow 300/80x300/80+0+0 screen));
my @narrow = within('a narrow one', 0, 0, 300, 300);
cmp_ok $narrow[3] // 0, '>', $whole[3], '... in more than one line';
kill 'TERM', $agent;
waitpid $agent, 0;
is $?, 0, 'the agent has lived through all that';
$x->stop;

# Where a letter has a quarter of the usual size, or the desktop says that all is twice as large,
# the line is larger, too.
my $height = $whole[3];
for my $case ([ '3840x2160', undef ], [ '1920x1080', 192 ]) {
	my ($size, $dpi) = @$case;
	$x      = Tipme::Display->new(kind => 'Xvfb', args => [ '-screen', 0, "${size}x24" ]);
	$public = public($x->dir);
	chmod 0755, $x->dir;
	command($x, 'sh', '-c', "printf 'Xft.dpi: $dpi\\n' | xrdb -merge") if $dpi;
	local $ENV{TIPME_RUNDIR} = $x->dir . '/no-recorder';
	($agent, $log) = start_agent($x, $public, '--no-dialog');
	my @at = within($size, 0, 0, split /x/, $size);
	cmp_ok $at[3] // 0, '>=', 1.5 * $height, '... and larger' . ($dpi ? ", as Xft.dpi says" : '');
	kill 'TERM', $agent;
	waitpid $agent, 0;
	$x->stop;
}
done_testing;
