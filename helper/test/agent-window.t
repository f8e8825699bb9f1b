# SPDX-License-Identifier: GPL-2.0-only
# An episode that nobody asked for is told by a notification. Its button opens the episode in the
# window; where a window is open, there; where none is installed, it asks what happened. The
# recorder is played by the test, the desktop's notifications are dunst's.
use strict;
use warnings;
use File::Copy qw(copy);
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo", "$FindBin::Bin/../../postmortem/t/lib",
	"$FindBin::Bin/../../postmortem/lib", "$FindBin::Bin/../../abi/lib",
	"$FindBin::Bin/../../abi/generated";
use Socket qw(AF_UNIX SOCK_SEQPACKET pack_sockaddr_un);
use Test::More;
use Tipme::Display;
use Tipme::Test::Story;
use Tipme::TestAgent  qw(command public start_agent);
use Tipme::TestDaemon qw(slurp wait_until);

use constant { MS => 1_000_000, CLIENT => 200, WATCH => 5, REPLY => 16, SAVED => 17, TOLD => 18 };

my $BUILD = $ENV{TIPME_BUILDDIR};
for my $program (qw(helper/agent/tipme-agent helper/agent/tipme-dialog gui/tipme-gui)) {
	plan skip_all => "$program is not built here" if !-x "$BUILD/$program";
}
for my $program (qw(Xvfb xdotool dbus-daemon dunst dunstctl)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my $d      = Tipme::TestDaemon->new;
my $x      = Tipme::Display->new(kind => 'Xvfb', rundir => $d->rundir);
my $public = public($d->dir);
my ($uid, $gid) = Tipme::Display::ordinary();
my @as = $> ? () : ('setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups');

# An episode: another process had the only CPU while a key waited.
sub story {
	my ($id) = @_;
	my $s = Tipme::Test::Story->new(id => $id)->enter(1000);
	$s->builder->thread(901, 'hog', ts_ns => 900 * MS, state => 'runnable');
	$s->run(1, 1000.1, 1900, 901, 'runnable', preempted => 1, next => CLIENT);
	$s->builder->switch(1, 1901 * MS, CLIENT, 0, 'sleeping');
	$s->draw(1900.9)->hotkey(3000)->builder->write($d->library . "/$id");
	system 'chown', '-R', "$uid:$gid", $d->library if !$>;
	return $d->library . "/$id";
}

mkdir $_ or die "$_: $!\n" for $d->library, $d->rundir;
socket my $recorder, AF_UNIX, SOCK_SEQPACKET, 0 or die "socket: $!\n";
bind $recorder, pack_sockaddr_un($d->rundir . '/tipmed.sock') or die "bind: $!\n";
chmod 0666, $d->rundir . '/tipmed.sock';
listen $recorder, 5 or die "listen: $!\n";

local @ENV{qw(HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS)} =
	($x->dir, $x->dir, 'unix:path=' . $x->dir . '/bus');
local @ENV{qw(GSK_RENDERER GTK_A11Y GSETTINGS_BACKEND GDK_BACKEND)} = qw(cairo none memory x11);
local $ENV{NO_AT_BRIDGE} = 1;    # its bus would be missed where at-spi2-core is not installed
delete @ENV{qw(XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME WAYLAND_DISPLAY)};
$x->{bus} = 1;
$x->spawn('dbus-daemon', '--session', '--nofork', "--address=$ENV{DBUS_SESSION_BUS_ADDRESS}");
ok wait_until(sub { -S $x->dir . '/bus' }), 'a bus of the session'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));
open my $conf, '>', $x->dir . '/dunstrc' or die "dunstrc: $!\n";
print {$conf} "[urgency_normal]\n    timeout = 0\n";
close $conf or die "dunstrc: $!\n";
chmod 0644, $x->dir . '/dunstrc';
$x->spawn('dunst', '-conf', $x->dir . '/dunstrc');

sub shown {
	my ($n) = command($x, @as, 'dunstctl', 'count', 'displayed') =~ /(\d+)/;
	return $n // -1;
}
ok wait_until(sub { shown() == 0 }), 'notifications are shown by dunst'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));

sub windows {
	my ($name) = @_;
	return split /\n/,
		command($x, 'sh', '-c', "xdotool search --onlyvisible --name '$name' 2>/dev/null");
}

my ($agent, $log) = start_agent($x, $public, '--no-observer', '--dialog-timeout', 0);
accept my $peer, $recorder or die "accept: $!\n";
is + (Tipme::TestDaemon::answer($peer))[0], WATCH, 'the agent watches';
send $peer, Tipme::TestDaemon::message(REPLY, 0, '{"watching": true}'), 0;

# saved(ID): as the recorder tells it of an episode that a threshold began; a button is chosen
sub saved {
	my ($id) = @_;
	my $path = story($id);
	send $peer, Tipme::TestDaemon::message(TOLD,  0, "$id\nauto\n40"), 0;
	send $peer, Tipme::TestDaemon::message(SAVED, 0, $path),           0;
	ok wait_until(sub { shown() == 1 }), "$id: a notification" or diag(slurp($log));
	command($x, @as, 'dunstctl', 'action');
	ok wait_until(sub { command($x, @as, 'dunstctl', 'close-all'); shown() == 0 }), '... it goes';
	return $path;
}

saved('20261120-150301-3f2a');
ok wait_until(sub { windows('what happened') == 1 }), 'without the window: the question'
	or diag(slurp($log));
ok !windows(' - tipme$'), '... and no window';

mkdir "$public/gui";
copy("$BUILD/gui/tipme-gui", "$public/gui/tipme-gui") && chmod 0755, "$public/gui/tipme-gui"
	or die "tipme-gui: $!\n";
my $settings = $x->dir . '/.config/tipme/gui.ini';

# remembered(): the episode that the window has, which it writes when its page is left
sub remembered {
	my ($window) = windows(' - tipme$') or return '';
	command($x, 'xdotool', 'windowfocus', '--sync', $window, 'key', 'alt+1', 'key', 'alt+2');
	return -e $settings && slurp($settings) =~ /^episode=(.*)$/m ? $1 : '';
}
for my $id (qw(20261120-150302-3f2a 20261120-150303-3f2a)) {
	my $path = saved($id);
	ok wait_until(sub { windows('^Answer - tipme$') == 1 }), '... its button opens the window'
		or diag(slurp($log));
	ok wait_until(sub { remembered() eq $path }), '... with this episode'
		or diag('it has ' . remembered());
	is scalar(windows(' - tipme$')),     1, '... and no second one';
	is scalar(windows('what happened')), 1, '... and no further question';
}
is slurp($log), '', 'the agent has nothing to complain of';
kill 'TERM', $agent;
$x->stop;
done_testing;
