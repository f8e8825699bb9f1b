# SPDX-License-Identifier: GPL-2.0-only
# The question, a notice and the line look as the desktop does: dark or light, its font, its scale.
# Told by the settings of the X session, by the desktop's portal, by the user's file, by X
# resources; also when they change while the question is open.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use Test::More;
use Tipme::Display;
use Tipme::TestAgent  qw(command press public start_agent);
use Tipme::TestDaemon qw(slurp wait_until);

my $BUILD = $ENV{TIPME_BUILDDIR};
plan skip_all => 'the dialog is not built here' if !-x "$BUILD/helper/agent/tipme-dialog";
for my $program (qw(Xvfb xdotool xprop xwd xsettingsd dbus-daemon)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my ($DARK, $LIGHT)       = (110, 180);     # of 255, on the average
my ($CTRL, $ALT, $MINUS) = (37, 64, 20);
my ($WIDTH, $HEIGHT)     = (1280, 800);
delete @ENV{
	qw(TIPME_RUNDIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
		WAYLAND_DISPLAY DISPLAY GTK_THEME XDG_CURRENT_DESKTOP)
};
my $d      = Tipme::TestDaemon->new;                                      # which is never started
my $x      = Tipme::Display->new(kind => 'Xvfb', rundir => $d->rundir);
my $public = public($d->dir);
system('cp', "$BUILD/helper/test/agent-portal", $public) == 0 or die "agent-portal: no copy\n";
# The bus of a session is for its user alone.
my ($user, $group) = (getpwnam 'nobody')[ 2, 3 ];
my @as  = $> ? () : ('setpriv', "--reuid=$user", "--regid=$group", '--clear-groups');
my $bus = 'unix:path=' . $x->dir . '/bus';
command($x, qw(xdotool mousemove 100 100));    # keys go there, and no window comes there

sub spew {
	my ($name, $text) = @_;
	my $file = $x->dir . "/$name";
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} $text;
	close $h or die "$file: $!\n";
	chmod 0644, $file;
	return $file;
}

# Each case has a home of its own, with these settings in a file of the user's.
my $homes = 0;

sub home {
	my ($settings) = @_;
	my $home = $x->dir . '/home' . ++$homes;
	for my $folder ($home, "$home/.config", "$home/.config/gtk-3.0") {
		mkdir $folder or die "$folder: $!\n";
		chmod 0755, $folder;
	}
	spew("home$homes/.config/gtk-3.0/settings.ini", "[Settings]\n$settings") if $settings;
	return $home;
}

# The episode is none: what is not known has colours, too.
my @QUESTION = ('--timeout', 0, '/nonexistent/20261120-150301-3f2a');
my @NOTICE   = ('--timeout', 0, '--notice', 'xterm (pid 200) hung', '--button', 'Details');

sub ask {
	my ($what, %env) = @_;
	local @ENV{qw(TIPME_BUILDDIR HOME NO_AT_BRIDGE)} = ($public, home($env{settings}), 1);
	local $ENV{DBUS_SESSION_BUS_ADDRESS} = $bus if $env{bus};
	return $x->spawn("$public/helper/agent/tipme-dialog", @$what);
}
sub end { my ($pid) = @_; kill 'TERM', $pid; waitpid $pid, 0; return }

sub window {
	my ($name) = @_;
	$name //= '^tipme: ';
	return (
		split /\n/,
		command($x, 'sh', '-c', "xdotool search --onlyvisible --name '$name' 2>/dev/null")
	)[0];
}

sub size {
	my $w = window() or return;
	return command($x, qw(xdotool getwindowgeometry --shell), $w) =~
		/X=(-?\d+)\nY=(-?\d+)\nWIDTH=(\d+)\nHEIGHT=(\d+)/;
}

# bright(WINDOW): the average of its points, 0 to 255, of some in each line; -1: it has gone
sub bright {
	my ($w)  = @_;
	my $xwd  = command($x, 'sh', '-c', "xwd -silent -id $w 2>/dev/null");
	my @head = unpack 'N25', $xwd;
	return -1 if @head < 25 || $head[11] != 32;
	my ($size, $width, $height, $line, $colours) = @head[ 0, 4, 5, 12, 19 ];
	my ($sum, $n) = (0, 0);
	for my $row (0 .. $height - 1) {
		for my $column (map { 7 * $_ } 0 .. ($width - 1) / 7) {
			my $at = $size + 12 * $colours + $row * $line + 4 * $column;
			return -1 if $at + 4 > length $xwd;
			$sum += $_ for unpack 'C3', substr $xwd, $at, 3;
			$n += 3;
		}
	}
	return $n ? $sum / $n : -1;
}

# is_bright(LEAST, MOST, WHAT): the window comes to be so bright
sub is_bright {
	my ($least, $most, $what) = @_;
	my $seen = 'none';
	ok wait_until(
		sub {
			my $w = window() or return 0;
			$seen = bright($w);
			return $seen >= $least && $seen <= $most;
		}
		),
		$what
		or diag("brightness $seen; " . slurp($x->dir . '/clients.log'));
	return;
}
sub is_dark  { return is_bright(0,      $DARK, "$_[0]: dark") }
sub is_light { return is_bright($LIGHT, 255,   "$_[0]: light") }

# --- nothing is told; the user's own file ---
my $pid = ask(\@QUESTION);
is_light('a desktop that tells nothing');
my (undef, undef, $plain_width, $plain_height) = size();
end($pid);
$pid = ask(\@QUESTION, settings => "gtk-application-prefer-dark-theme=1\n");
is_dark('the user has asked for it in a file');
end($pid);

# --- the settings of the session, which change while it is open ---
sub settings {
	my (%value) = @_;
	return spew('xsettingsd', join '', map {"$_ $value{$_}\n"} sort keys %value);
}
my $conf     = settings('Net/ThemeName' => '"HighContrastInverse"');
my $settings = $x->spawn('xsettingsd', '-c', $conf);
my $owned    = sub { command($x, qw(dump_xsettings)) =~ /ThemeName/ };
ok wait_until($owned), 'the session has settings' or BAIL_OUT(slurp($x->dir . '/clients.log'));
$pid = ask(\@QUESTION);
is_dark('a dark theme of the session');
settings('Net/ThemeName' => '"Adwaita"', 'Gtk/FontName' => '"Sans 10"');
kill 'HUP', $settings;
is_light('another theme while it is open');
settings('Net/ThemeName' => '"Adwaita"', 'Gtk/FontName' => '"Sans 16"');
kill 'HUP', $settings;
my @seen;
ok wait_until(sub { @seen = size(); @seen && $seen[3] > $plain_height }),
	'a larger font while it is open: a larger question'
	or diag("@seen, was $plain_width x $plain_height");
ok wait_until(
	sub {
		@seen = size();
			   @seen
			&& $seen[0] >= 0
			&& $seen[1] >= 0
			&& $seen[0] + $seen[2] <= $WIDTH
			&& $seen[1] + $seen[3] <= $HEIGHT;
	}
	),
	'... all of it on the screen'
	or diag("@seen");
end($pid);
settings('Net/ThemeName' => '"Adwaita"', 'Gtk/FontName' => '"Sans 10"', 'Xft/DPI' => 192 * 1024);
kill 'HUP', $settings;
$pid = ask(\@QUESTION);
ok wait_until(sub { @seen = size(); @seen && $seen[2] > 1.3 * $plain_width }),
	'twice as many dots an inch: a larger question, too'
	or diag("@seen, was $plain_width x $plain_height");
end($pid);
settings('Net/ThemeName' => '"HighContrastInverse"');
kill 'HUP', $settings;
$pid = ask(\@NOTICE);
is_dark('a notice, too');
end($pid);
end($settings);

# --- light or dark by the desktop's portal ---
my $daemon = $x->spawn('dbus-daemon', '--session', '--nofork', "--address=$bus");
ok wait_until(sub { -S $x->dir . '/bus' }), 'a bus of the session'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));
my $portal;
{
	local $ENV{DBUS_SESSION_BUS_ADDRESS} = $bus;
	$portal = $x->spawn("$public/agent-portal", 1);
	ok wait_until(
		sub {
			command(
				$x,  @as, 'dbus-send', '--session', '--print-reply', '--dest=org.freedesktop.DBus',
				'/', 'org.freedesktop.DBus.NameHasOwner',
				'string:org.freedesktop.portal.Desktop'
			) =~ /true/;
		}
		),
		'the desktop has a portal'
		or BAIL_OUT(slurp($x->dir . '/clients.log'));
}
$pid = ask(\@QUESTION, bus => 1);
is_dark('the desktop is dark');
kill 'USR1', $portal;
is_light('the desktop becomes light while it is open');
kill 'USR1', $portal;
is_dark('... and dark again');
end($pid);
end($portal);
$pid = ask(\@QUESTION, bus => 1);
is_light('a desktop without a portal');
end($pid);
end($daemon);

# --- the line, where there are no notifications ---
sub line {
	my ($least, $most, $what) = @_;
	my ($agent) = start_agent($x, $public, '--no-observer', '--no-dialog');
	my $seen = 'none';
	ok wait_until(
		sub {
			press($x, $CTRL, $ALT, $MINUS);
			my $w = wait_until(sub { window('^tipme$') }, 2) or return 0;
			$seen = bright($w);
			return $seen >= $least && $seen <= $most;
		}
		),
		"the line: $what"
		or diag("brightness $seen; " . slurp($x->dir . '/clients.log'));
	end($agent);
	return;
}
line(0, $DARK, 'white on black where nothing is told');
command(
	$x, qw(xprop -root -format RESOURCE_MANAGER 8s -set RESOURCE_MANAGER),
	"*background:\t#fdf6e3\n*foreground:\t#586e75\n"
);
line($LIGHT, 255, 'in the colours that X resources tell');
$x->stop;
done_testing;
