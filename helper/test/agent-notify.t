# SPDX-License-Identifier: GPL-2.0-only
# On a desktop with notifications the agent's lines and offers are some: what is offered comes once,
# and its button does what it says.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use Test::More;
use Tipme::Display;
use Tipme::TestAgent  qw(command press public);
use Tipme::TestDaemon qw(own_run slurp tipmed wait_until);

plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent" || !-x tipmed();
plan skip_all => 'not root: a session of an ordinary user needs it' if $>;
for my $program (qw(Xvfb xdotool dbus-daemon dunst dunstctl xwd)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
own_run() or plan skip_all => 'no mount namespaces here';
my ($CTRL, $ALT, $MINUS) = (37, 64, 20);
my ($nobody, $group) = (getpwnam 'nobody')[ 2, 3 ];
my $d = Tipme::TestDaemon->new;
delete @ENV{qw(TIPME_RUNDIR TIPME_LIBRARY XDG_CONFIG_HOME XDG_DATA_HOME WAYLAND_DISPLAY)};
my $x        = Tipme::Display->new(kind => 'Xvfb');
my $public   = public($d->dir);
my $pictures = $ENV{TIPME_TEST_PICTURES};
mkdir "$public/helper/daemon";
system('cp', tipmed(), "$public/helper/daemon/tipmed") == 0 or die "tipmed: no copy\n";
# Programs of the session, as far as they are needed: no pkexec among them.
mkdir "$public/bin";
for my $program (qw(perl sh)) {
	my ($path) = grep {-x} map {"$_/$program"} split /:/, $ENV{PATH};
	symlink $path, "$public/bin/$program" or die "$program: $!";
}

local @ENV{qw(HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS)} =
	($x->dir, $x->dir, 'unix:path=' . $x->dir . '/bus');
$x->spawn('dbus-daemon', '--session', '--nofork', "--address=$ENV{DBUS_SESSION_BUS_ADDRESS}");
ok wait_until(sub { -S $x->dir . '/bus' }), 'a bus of the session'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));
my @as = ('setpriv', "--reuid=$nobody", "--regid=$group", '--clear-groups');

sub shown {
	my ($n) = command($x, @as, 'dunstctl', 'count', 'displayed') =~ /(\d+)/;
	return $n // -1;
}
# As long as others, which here is until it is answered: a busy machine takes its time.
open my $conf, '>', $x->dir . '/dunstrc' or die "dunstrc: $!\n";
print {$conf} "[urgency_normal]\n    timeout = 0\n";
close $conf;
chmod 0644, $x->dir . '/dunstrc';
$x->spawn('dunst', '-conf', $x->dir . '/dunstrc');
ok wait_until(sub { shown() == 0 }), 'notifications are shown by dunst'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));

sub start_agent_there {
	local @ENV{qw(TIPME_BUILDDIR PATH)} = ($public, "$public/bin");
	my $file = $x->dir . '/agent.log';
	my $pid  = $x->spawn(
		"$public/bin/sh", '-c',
		"exec '$public/helper/agent/tipme-agent' --no-observer >'$file' 2>&1"
	);
	wait_until(sub { -e $file });
	return ($pid, $file);
}

my ($agent, $log) = start_agent_there();
ok wait_until(
	sub {
		press($x, $CTRL, $ALT, $MINUS);
		wait_until(sub { shown() == 1 }, 2);
	}
	),
	'the hot-key without a recorder is answered by a notification'
	or diag(slurp($log));
command($x, 'sh', '-c', "xwd -root -silent >'$pictures/notify.xwd'") if $pictures;
sub said { return command($x, @as, 'dunstctl', 'history') }
command($x, @as, 'dunstctl', 'action');

sub status {
	return (
		$d->run(
			@as, 'env', "HOME=$ENV{HOME}", "XDG_RUNTIME_DIR=$ENV{XDG_RUNTIME_DIR}",
			"$public/helper/cli/tipme", 'status'
		)
	)[0];
}
ok wait_until(sub { status() == 0 }), 'its button starts a recorder' or diag(slurp($log));
ok wait_until(sub { command($x, @as, 'dunstctl', 'close-all'); said() =~ /tipme is recording\./ }),
	'... which is said'
	or diag(said());
like said(), qr/Nothing saved: tipme was not recording\./, '... after what was wrong';
is slurp($log), '', 'the agent has nothing to complain of';
is + (
	$d->run(
		@as, 'env', "HOME=$ENV{HOME}", "XDG_RUNTIME_DIR=$ENV{XDG_RUNTIME_DIR}",
		"$public/helper/cli/tipme", 'stop'
	)
)[0], 0, 'the recorder ends';
kill 'TERM', $agent;
$x->stop;
done_testing;
