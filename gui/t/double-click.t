#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A file that somebody has sent, opened as a file manager opens it: by the desktop file and the type
# that are installed, in a home of the test's own with databases made by the desktop's own tools.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin    qw($Bin);
use Test::More;
use lib "$Bin/../../helper/demo", "$Bin/../../helper/test/lib", "$Bin/../../postmortem/t/lib",
	"$Bin/../../postmortem/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Display;
use Tipme::Test::Story;
use Tipme::TestAgent  qw(command public);
use Tipme::TestDaemon qw(slurp wait_until);

use constant { MS => 1_000_000, CLIENT => 200 };
my ($SRC, $BUILD) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
my $ID   = 'io.github.tipme.Tipme';
my $TYPE = 'application/x-tipme';

plan skip_all => 'the window is not built here' if !-x "$BUILD/gui/tipme-gui";
my %NEEDED = (
	Xvfb                      => 'xvfb', xdotool => 'xdotool', gio => 'libglib2.0-bin',
	'update-mime-database'    => 'shared-mime-info',
	'update-desktop-database' => 'desktop-file-utils'
);
for my $program (sort keys %NEEDED) {
	plan skip_all => "no $program here (Debian: $NEEDED{$program})"
		if system "command -v $program >/dev/null 2>&1";
}
my $d      = Tipme::TestDaemon->new;
my $x      = Tipme::Display->new(kind => 'Xvfb');
my $public = public($d->dir, 'gui/tipme-gui');
my ($uid, $gid) = Tipme::Display::ordinary();
my @as = $> ? () : ('setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups');

# As `make install` lays them out; `tipme` is where programs are.
my $data = $x->dir . '/.local/share';
make_path("$data/applications", "$data/mime/packages");
copy("$SRC/gui/data/$ID.desktop", "$data/applications/$ID.desktop")
	&& copy("$SRC/gui/data/$ID.xml", "$data/mime/packages/$ID.xml")
	or die "$ID: $!\n";
mkdir $_ or die "$_: $!\n" for $d->library, $d->rundir;
my $s = Tipme::Test::Story->new(id => '20261120-150301-3f2a')->enter(1000);
$s->builder->thread(901, 'hog', ts_ns => 900 * MS, state => 'runnable');
$s->run(1, 1000.1, 1900, 901, 'runnable', preempted => 1, next => CLIENT);
$s->builder->switch(1, 1901 * MS, CLIENT, 0, 'sleeping');
$s->draw(1900.9)->hotkey(3000)->builder->write($d->library . '/20261120-150301-3f2a');

local @ENV{qw(HOME XDG_RUNTIME_DIR XDG_DATA_HOME DBUS_SESSION_BUS_ADDRESS)} =
	($x->dir, $x->dir, $data, 'disabled:');
local @ENV{qw(GSK_RENDERER GTK_A11Y GSETTINGS_BACKEND GDK_BACKEND)} = qw(cairo none memory x11);
local $ENV{PATH} = "$public:$ENV{PATH}";
delete @ENV{qw(XDG_CACHE_HOME XDG_CONFIG_HOME XDG_CURRENT_DESKTOP WAYLAND_DISPLAY)};
system 'chown', '-R', "$uid:$gid", $x->dir, $d->library if !$>;

sub said { return command($x, @as, 'sh', '-c', "{ $_[0]; } 2>&1") }
is said("update-mime-database '$data/mime'"),            '', 'the database of types';
is said("update-desktop-database '$data/applications'"), '', 'the database of applications';
my $file = $x->dir . '/slow key.tipme';
like said("tipme bundle 20261120-150301 --yes -o '$file'"), qr/tipme/, 'a file for somebody else';
like said("gio info -a standard::content-type '$file'"), qr/standard::content-type: \Q$TYPE\E$/m,
	'its type, for a file manager';
like said("gio mime $TYPE"), qr/^Default application for .* \Q$ID\E[.]desktop$/m,
	'... which the window opens';

sub windows {
	my ($name) = @_;
	return split /\n/, said("xdotool search --onlyvisible --name '$name' 2>/dev/null");
}
# The window would keep a pipe open.
said("gio open '$file' >'" . $x->dir . "/opened' 2>&1 </dev/null");
is slurp($x->dir . '/opened'), '', 'it is opened';
ok wait_until(sub { windows('^Answer - tipme$') }), '... and the window has its answer'
	or diag(slurp($x->dir . '/clients.log'));
my $pid;
wait_until(
	sub {
		my ($window) = windows('^Answer - tipme$');
		($pid) = said("xdotool getwindowpid $window") =~ /^(\d+)$/m if $window;
		$pid;
	}
);
kill 'TERM', $pid if $pid && $pid > 1;
ok wait_until(sub { !windows(' - tipme$') }), '... which ends';
$x->stop;
done_testing;
