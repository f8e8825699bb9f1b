# SPDX-License-Identifier: GPL-2.0-only
# What was saved without a human is told once, with its details at a click; it is not lost among
# presses of the hot-key, nor is any of those.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Display;
use Tipme::TestAgent  qw(command press public start_agent);
use Tipme::TestDaemon qw(manifest slurp tipmed wait_until);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the dialog is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-dialog" || !-x tipmed();
my $hooks = Tipme::Display::find_hooks() or plan skip_all => 'the hooks are not built here';
for my $program (qw(Xvfb xterm xdotool openbox xprop xwd)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my ($CTRL, $ALT, $MINUS) = (37, 64, 20);

my $nobody   = (getpwnam 'nobody')[2] // 65534;
my $d        = Tipme::TestDaemon->new(args => [ '--owner', $nobody, '--post', 1, '--auto' ]);
my $x        = Tipme::Display->new(kind => 'Xvfb', rundir => $d->rundir, hooks => $hooks);
my $public   = public($d->dir);
my $pictures = $ENV{TIPME_TEST_PICTURES};

sub windows {
	my ($name) = @_;
	return split /\n/,
		command($x, 'sh', '-c', "xdotool search --onlyvisible --name '$name' 2>/dev/null");
}

sub picture {
	my ($name) = @_;
	command($x, 'sh', '-c', "xwd -root -silent >'$pictures/$name.xwd'") if $pictures;
	return;
}

sub episodes {
	return grep { -e "$_/manifest.json" } glob $d->library . '/[0-9]*';
}

is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');
$x->spawn('openbox');
wait_until(sub { command($x, qw(xprop -root _NET_SUPPORTING_WM_CHECK)) =~ /window id/ });
my $typed = $x->dir . '/typed';
my $xterm = $x->spawn('xterm', '-T', 'writing', '-e', 'sh', '-c', "cat >'$typed'");
wait_until(sub { windows('writing') }) or BAIL_OUT('no terminal');
command($x, 'xdotool', 'search', '--name', 'writing', 'windowfocus');
my ($agent, $log) = start_agent($x, $public, '--dialog-timeout', 0);
wait_until(
	sub {
		grep { $_ == $agent } @{ $d->status->{agents} };
	}
);
# Who has never answered is not waited for.
wait_until(
	sub { command($x, 'xdotool', 'key', 'a', 'key', 'Return'); -e $typed && slurp($typed) =~ /a\n/ }
);
sleep 1;

# While a press is being saved a terminal that is stopped takes one by itself, which waits; and then
# somebody presses again.
my $watch = $d->connection;
send $watch, Tipme::TestDaemon::message(5, 0, ''), 0;
# triggered(): kind of the next episode that is begun
sub triggered {
	while (my @told = Tipme::TestDaemon::answer($watch)) {
		return (split /\n/, $told[2])[1] if $told[0] == 18;
	}
	return;
}
# Two within half a second are taken for one.
sub pressed { sleep 0.7; press($x, $CTRL, $ALT, $MINUS); return triggered() }
is pressed(), 'hotkey', 'a press';
kill 'STOP', $xterm;
command($x, 'xdotool', 'key', 'x');
is triggered(), 'auto',   '... before it is saved, one that is not answered takes one by itself';
is pressed(),   'hotkey', '... which keeps no press from being taken';
kill 'CONT', $xterm;
ok wait_until(sub { $d->status->{episodes} == 3 }), '... all are saved';
my %kind;
$kind{ manifest($_)->{trigger}{kind} }++ for episodes();
is_deeply \%kind, { auto => 1, hotkey => 2 }, 'three episodes in all' or diag explain \%kind;
ok wait_until(sub { windows('tipme: notice') == 1 && windows('what happened') == 2 }),
	'... one notice and two questions'
	or diag(
		  scalar(windows('tipme: notice')) . ' and '
		. scalar(windows('what happened')) . "\n"
		. slurp($log));
sleep 2;
is scalar(windows('tipme: notice')), 1, '... and no second notice';
picture('auto');
my ($notice) = windows('tipme: notice');
my ($left, $top) =
	command($x, 'xdotool', 'getwindowgeometry', '--shell', $notice) =~ /X=(-?\d+)\nY=(-?\d+)/;
command($x, 'xdotool', 'mousemove', $left + 20, $top + 20, 'click', 1);
ok wait_until(
	sub { command($x, 'xdotool', 'key', 'alt+d'); sleep 0.5; windows('what happened') == 3 }),
	'its details are a question of its own';
is scalar(windows('tipme: notice')), 0, '... and then it has gone';
kill 'TERM', $agent;
$d->stop;
$x->stop;
done_testing;
