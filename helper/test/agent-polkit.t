# SPDX-License-Identifier: GPL-2.0-only
# [Start recording] where nothing records: the desktop's own window asks for the password, by
# polkit, and then the whole machine is recorded for who asked; who closes it is told. A system bus,
# polkitd and a session of the test's own; logind's files are written by us.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use POSIX qw(WNOHANG);
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Display;
use Tipme::TestAgent  qw(command press public);
use Tipme::TestDaemon qw(gone own_run slurp tipmed wait_until);

my ($POLKITD) = grep {-x} qw(/usr/lib/polkit-1/polkitd /usr/libexec/polkitd);
my ($ASKS) =
	grep {-x}
	glob '/usr/libexec/polkit-mate-authentication-agent-1 '
	. '/usr/lib/*/polkit-mate/polkit-mate-authentication-agent-1 '
	. '/usr/lib/policykit-1-gnome/polkit-gnome-authentication-agent-1';
# By which of them a session is known depends on the machine.
my @CGROUPS = grep { -w "$_/cgroup.procs" } map {"/sys/fs/cgroup$_"} '', '/systemd', '/unified';
my ($NAME, $WORD) = ('nobody', 'let me record');
plan skip_all => 'TIPME_TEST_ALL is not set: takes 20 seconds' if !$ENV{TIPME_TEST_ALL};
plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent" || !-x tipmed();
plan skip_all => 'not root: a session of an ordinary user needs it' if $>;
for my $program (qw(Xvfb xdotool dbus-daemon dunst dunstctl openbox pkexec)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
plan skip_all => 'polkitd is not installed'     if !$POLKITD;
plan skip_all => 'mate-polkit is not installed' if !$ASKS;
plan skip_all => 'a systemd runs here: its sessions are no test\'s'
	if !$ENV{TIPME_TEST_OWN_RUN} && -e '/run/systemd/system';
plan skip_all => 'no control groups here' if !@CGROUPS;
own_run() or plan skip_all => 'no mount namespaces here';
my ($CTRL, $ALT, $MINUS) = (37, 64, 20);
my ($uid, $gid) = (getpwnam $NAME)[ 2, 3 ];
my $d = Tipme::TestDaemon->new;
delete @ENV{qw(TIPME_RUNDIR TIPME_LIBRARY XDG_CONFIG_HOME XDG_DATA_HOME WAYLAND_DISPLAY)};
my $pictures = $ENV{TIPME_TEST_PICTURES};

sub spew {
	my ($file, $text, $mode) = @_;
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} $text;
	close $h or die "$file: $!\n";
	chmod $mode // 0644, $file;
	return;
}

# --- the machine: a session, a user with a password who may become root, a system bus, polkitd ---
my @made;
for my $root (@CGROUPS) {
	my $folder = $root;
	for my $name ('user.slice', "user-$uid.slice", 'session-c1.scope') {
		$folder .= "/$name";
		next if -d $folder;
		mkdir $folder or plan skip_all => "$folder: $!";
		unshift @made, $folder;
	}
}
my @ours;

END {
	local $?;
	kill 'TERM', @ours;
	waitpid $_, 0 for @ours;
	for my $root  (@CGROUPS) { spew("$root/cgroup.procs", $$) }
	for my $group (@made) {
		wait_until(sub { rmdir $group }, 20);
	}
}
spew("$_/user.slice/user-$uid.slice/session-c1.scope/cgroup.procs", $$) for @CGROUPS;
mkdir $_ or die "$_: $!\n" for '/run/dbus', map {"/run/$_"} 'systemd',
	map {"systemd/$_"} qw(seats sessions users machines);
spew(
	'/run/systemd/sessions/c1',
	"UID=$uid\nUSER=$NAME\nACTIVE=1\nIS_DISPLAY=1\nSTATE=active\nREMOTE=0\nTYPE=x11\nCLASS=user\n"
		. "SEAT=seat0\n"
);
spew(
	"/run/systemd/users/$uid",
	"NAME=$NAME\nSTATE=active\nDISPLAY=c1\nSESSIONS=c1\nACTIVE_SESSIONS=c1\n"
);
spew('/run/systemd/seats/seat0', "IS_VTCONSOLE=1\nACTIVE=c1\nACTIVE_UID=$uid\nSESSIONS=c1\n");
my $hash = crypt $WORD, '$6$tipmetest$';
my %file = map { $_ => slurp("/etc/$_") } qw(passwd shadow group);
$file{shadow} =~ s/^$NAME:.*$/$NAME:$hash:19000:0:99999:7:::/m;
$file{group} =~ s/^(sudo:[^:]*:\d+:).*$/$1$NAME/m or $file{group} .= "sudo:x:27:$NAME\n";
for my $name (keys %file) {
	spew($d->dir . "/$name", $file{$name}, (stat "/etc/$name")[2] & 0777);
	system('mount', '--bind', $d->dir . "/$name", "/etc/$name") == 0
		or die "/etc/$name: no mount\n";
}

sub start_own {
	my (@command) = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>>', $d->dir . '/system.log' or die "$!\n";
		open STDERR, '>&', \*STDOUT                or die "$!\n";
		exec @command or die "$command[0]: $!\n";
	}
	push @ours, $pid;
	return $pid;
}
start_own(qw(dbus-daemon --system --nofork --nopidfile));
ok wait_until(sub { -S '/run/dbus/system_bus_socket' }), 'a system bus'
	or BAIL_OUT(slurp($d->dir . '/system.log'));
start_own($POLKITD, '--no-debug');
my @bus = (
	'dbus-send',             '--system', '--print-reply', '--dest=org.freedesktop.DBus',
	'/org/freedesktop/DBus', 'org.freedesktop.DBus.NameHasOwner'
);
ok wait_until(sub { ($d->run(@bus, 'string:org.freedesktop.PolicyKit1'))[1] =~ /true/ }),
	'polkitd answers on it'
	or BAIL_OUT(slurp($d->dir . '/system.log'));

# --- the session: a window manager, notifications, what asks for passwords, the agent ---
my $x      = Tipme::Display->new(kind => 'Xvfb', uid => $uid);
my $public = public($d->dir);
mkdir "$public/helper/daemon";
system('cp', tipmed(), "$public/helper/daemon/tipmed") == 0 or die "tipmed: no copy\n";
local @ENV{qw(HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS XDG_SESSION_ID)} =
	($x->dir, $x->dir, 'unix:path=' . $x->dir . '/bus', 'c1');
$x->spawn('dbus-daemon', '--session', '--nofork', "--address=$ENV{DBUS_SESSION_BUS_ADDRESS}");
ok wait_until(sub { -S $x->dir . '/bus' }), 'a bus of the session'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));
my @as = ('setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups');

sub shown {
	my ($n) = command($x, @as, 'dunstctl', 'count', 'displayed') =~ /(\d+)/;
	return $n // -1;
}
sub said { return command($x, @as, 'dunstctl', 'history') }
spew($x->dir . '/dunstrc', "[urgency_normal]\n    timeout = 0\n");
$x->spawn('dunst', '-conf', $x->dir . '/dunstrc');
ok wait_until(sub { shown() == 0 }), 'notifications are shown'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));
$x->spawn('openbox');
wait_until(sub { command($x, qw(xprop -root _NET_SUPPORTING_WM_CHECK)) =~ /window id/ });
$x->spawn($ASKS);
my $log   = $x->dir . '/agent.log';
my $agent = do {
	local $ENV{TIPME_BUILDDIR} = $public;
	$x->spawn(
		'sh', '-c',
		"exec '$public/helper/agent/tipme-agent' --no-observer --no-dialog >'$log' 2>&1"
	);
};
wait_until(sub { -e $log });

sub asks {
	return (
		split /\n/,
		command(
			$x, 'sh', '-c',
			q{xdotool search --onlyvisible --name '^Authenticat' 2>/dev/null}
		)
	)[0];
}

sub picture {
	my ($name) = @_;
	command($x, 'sh', '-c', "xwd -root -silent >'$pictures/polkit-$name.xwd'") if $pictures;
	return;
}

sub status {
	return $d->run(@as, "$public/helper/cli/tipme", 'status', '--json');
}

# The offer comes once in half a minute, so what is refused is asked for by the verb itself. What
# asks for passwords may not be ready yet: then at once again.
my @start = (@as, 'env', "TIPME_BUILDDIR=$public", "$public/helper/cli/tipme", 'start', '--ask');
my $asking;

sub ask {
	if (!$asking || waitpid($asking, WNOHANG)) {
		unlink $d->dir . '/refused';
		$asking = fork // die "fork: $!\n";
		if (!$asking) {
			%ENV = (%ENV, $x->env);
			my ($rc, undef, $err) = $d->run(@start);
			spew($d->dir . '/refused', "$rc $err");
			POSIX::_exit(0);
		}
	}
	return wait_until(\&asks, 2);
}
ok wait_until(\&ask), 'the desktop asks for the password'
	or BAIL_OUT(slurp($x->dir . '/clients.log') . slurp($d->dir . '/system.log'));
ok wait_until(sub { command($x, 'xdotool', 'key', 'Escape'); sleep 0.5; -e $d->dir . '/refused' }),
	'... which can be closed';
waitpid $asking, 0;
like slurp($d->dir . '/refused'),
	qr/^1 (?:.*\n)*tipme: start: pkexec refused \(126\): nobody agreed, .*: sudo tipme start$/m,
	'... and then nothing is started, which is said';
is + (status())[0], 1, '... indeed';

ok wait_until(
	sub {
		press($x, $CTRL, $ALT, $MINUS);
		wait_until(sub { shown() >= 1 }, 2);
	}
	),
	'the hot-key without a recorder: offered';
command($x, @as, 'dunstctl', 'action');
ok wait_until(\&asks), '[Start recording]: the desktop asks for the password';
sleep 0.5;
picture('asks');
command($x, 'xdotool', 'search', '--onlyvisible', '--name', '^Authenticat', 'windowfocus');
command($x, 'xdotool', 'type',   '--delay', 30, $WORD);
command($x, 'xdotool', 'key',    'Return');
ok wait_until(sub { (status())[0] == 0 }), '... and with it a recorder runs'
	or diag(slurp($log) . slurp($x->dir . '/clients.log') . slurp($d->dir . '/system.log'));
my (undef, $json) = status();
my ($pid) = $json =~ /"pid":\s*(\d+)/;
like $json, qr/"source":\s*"kernel_/, '... of the whole machine, exactly';
ok wait_until(sub { command($x, @as, 'dunstctl', 'close-all'); said() =~ /tipme is recording\./ }),
	'... which is said';
picture('started');
is + ($d->run(@as, "$public/helper/cli/tipme", 'stop'))[0], 0, 'who asked for it may end it';
ok wait_until(sub { gone($pid) }), '... and it ends';
kill 'TERM', $agent;
$x->stop;
done_testing;
