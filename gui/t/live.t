#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The switch of input on the live page, by keys, as an ordinary user: what the recorder is told, and
# what the page says then. The recorder is played by the test.
use strict;
use warnings;
use Cpanel::JSON::XS qw(decode_json encode_json);
use FindBin          qw($Bin);
use lib "$Bin/../../helper/test/lib", "$Bin/../../helper/demo";
use Socket qw(AF_UNIX SOCK_SEQPACKET pack_sockaddr_un);
use Test::More;
use Tipme::Display;
use Tipme::TestAgent  qw(command public);
use Tipme::TestDaemon qw(slurp wait_until);

use constant { STATUS => 3, SET => 7, REPLY => 16 };
plan skip_all => 'gui/tipme-gui is not built here' if !-x "$ENV{TIPME_BUILDDIR}/gui/tipme-gui";
for my $program (qw(Xvfb xdotool)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my $d     = Tipme::TestDaemon->new;
my $x     = Tipme::Display->new(kind => 'Xvfb', rundir => $d->rundir);
my $tipme = public($d->dir, 'gui/tipme-gui') . '/tipme';
my ($uid, $gid) = Tipme::Display::ordinary();
my @as = $> ? () : ('setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups');
local @ENV{qw(HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS TIPME_RUNDIR TIPME_LIBRARY)} =
	($x->dir, $x->dir, 'disabled:', $d->rundir, $x->dir . '/library');
local @ENV{qw(GSK_RENDERER GTK_A11Y GSETTINGS_BACKEND GDK_BACKEND)} = qw(cairo none memory x11);
delete @ENV{qw(XDG_CONFIG_HOME XDG_DATA_HOME WAYLAND_DISPLAY)};
my $switched = $d->dir . '/switched';

# It tells its state, and switches classes; what it was told is in a file, a line each. Its pid.
sub played_recorder {
	mkdir $d->rundir or die $d->rundir . ": $!\n";
	socket my $recorder, AF_UNIX, SOCK_SEQPACKET, 0 or die "socket: $!\n";
	bind $recorder, pack_sockaddr_un($d->rundir . '/tipmed.sock') or die "bind: $!\n";
	chmod 0666, $d->rundir . '/tipmed.sock';
	listen $recorder, 5 or die "listen: $!\n";
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	my %classes = (sched => \1, input => \1);

	while (accept my $peer, $recorder) {
		while (my ($verb, undef, $text) = Tipme::TestDaemon::answer($peer)) {
			last if $verb != STATUS && $verb != SET;
			if ($verb == SET && length $text) {
				my $wish = decode_json($text);
				%classes = (%classes, %$wish);
				open my $log, '>>', $switched or die "$switched: $!\n";
				print {$log} map { "$_ " . ($wish->{$_} ? 'on' : 'off') . "\n" } sort keys %$wish;
				close $log or die "$switched: $!\n";
			}
			my $state = { source => 'kernel_bpf', pid => $$, uptime_s => 9, classes => \%classes };
			send $peer, Tipme::TestDaemon::message(REPLY, 0, encode_json($state)), 0;
		}
	}
	die "accept: $!\n";
}

# page(): what the page says, in a window of its own, and its warnings
sub page {
	return command(
		$x, 'sh', '-c', '"$@" 2>&1', 'sh', @as, $tipme, qw(gui --page live --picture),
		$x->dir . '/live.png'
	);
}

my $recorder = played_recorder();
# It has our standard output: left behind, it would keep who reads that waiting for ever.
END { local $?; kill KILL => $recorder if $recorder }
my $said = page();
like $said,   qr/^When a key was pressed is recorded/m,      'input is recorded';
like $said,   qr/^the kernel itself, by tracing programs$/m, '... by whom, in words';
unlike $said, qr/Gtk-|GLib|Adwaita-/,                        '... without a warning';

$x->spawn($tipme, qw(gui --page live));
my $window;
ok wait_until(sub { $window = window() }, 60), 'the page is there'
	or BAIL_OUT(slurp($x->dir . '/clients.log'));
press('ctrl+j', 'input off');
like page(), qr/^No input is recorded: /m, '... and the page says so';
press('ctrl+shift+j', 'input on');
like page(), qr/^When a key was pressed is recorded/m, '... and the page says so';
is join(' ', sort split /\n/, slurp($switched)), 'input off input on', '... each once';
$x->stop;
done_testing;

# window(): the X window of the live page, or nothing
sub window {
	my $found = command(
		$x, 'sh', '-c',
		"xdotool search --onlyvisible --name '^Live - tipme\$' 2>/dev/null"
	);
	return $found =~ /(\d+)/ ? $1 : undef;
}

# press(KEYS, LINE): the recorder is told that
sub press {
	my ($keys, $line) = @_;
	command($x, 'xdotool', 'windowfocus', '--sync', $window, 'key', '--clearmodifiers', $keys);
	ok wait_until(sub { -e $switched && slurp($switched) =~ /^\Q$line\E$/m }, 60), "$keys: $line"
		or BAIL_OUT(slurp($x->dir . '/clients.log'));
	return;
}
