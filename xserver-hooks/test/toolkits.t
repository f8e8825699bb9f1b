#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Sessions of GTK 3, GTK 4 and Qt end with the same picture of the screen and as many X errors with
# and without the hooks; the window stands at the same place, the same keys are typed, the same
# things scroll and move.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use File::Copy  qw(copy);
use FindBin     qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Live;
use XClient;

plan skip_all => 'takes a minute: set TIPME_TEST_ALL=1' if !$ENV{TIPME_TEST_ALL};
need(qw(Xorg xdotool));
my $PYTHON  = '/usr/bin/python3';
my %session = (
	'GTK 3' => {
		program => [ 'session-gtk.py', 3 ],
		needs   => 'import gi; gi.require_version("Gtk", "3.0"); from gi.repository import Gtk'
	},
	'GTK 4' => {
		program => [ 'session-gtk.py', 4 ],
		needs   => 'import gi; gi.require_version("Gtk", "4.0"); from gi.repository import Gtk'
	},
	'Qt' => { program => ['session-qt.py'], needs => 'import PyQt5.QtWidgets' },
);
my %server = (
	off => Tipme::Display->new(kind => 'Xorg'),
	on  => Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => '/nonexistent')
);
my %seen;
for my $toolkit (sort keys %session) {
SKIP: {
		skip "$toolkit for Python is not installed "
			. "(Debian: python3-gi, gir1.2-gtk-3.0, gir1.2-gtk-4.0, python3-pyqt5)",
			3
			if system "$PYTHON -c '$session{$toolkit}{needs}' 2>/dev/null";
		my %result = map { $_ => session($server{$_}, $toolkit) } qw(off on);
		# A toolkit that does not draw the same twice proves nothing either way.
		my $again =
			$result{off}{picture} eq $result{on}{picture} ? undef : session($server{off}, $toolkit);
		skip "$toolkit does not draw the same twice even without hooks", 3
			if $again && $again->{picture} ne $result{off}{picture};
		is($result{on}{picture}, $result{off}{picture}, "$toolkit: the same picture");
		unlike(
			$result{on}{picture}, qr/^(?:empty|unfinished)/,
			"$toolkit: of a session that was finished"
		);
		is(
			$result{on}{errors}, $result{off}{errors},
			"$toolkit: as many errors: $result{off}{errors}"
		);
		$seen{ $result{on}{picture} } = 1;
	}
}
cmp_ok(scalar keys %seen, '>', 1, 'different toolkits, different pictures') if keys %seen;
$server{$_}->stop for keys %server;
done_testing();

sub session {
	my ($x, $toolkit) = @_;
	my $dir = rundir();
	chmod 0777, $dir;
	my ($program, @args) = @{ $session{$toolkit}{program} };
	copy("$Bin/$program", "$dir/$program") or die "$program: $!";
	my $pid = $x->spawn(
		'env', 'GDK_BACKEND=x11', 'GSK_RENDERER=cairo', 'QT_QPA_PLATFORM=xcb', 'NO_AT_BRIDGE=1',
		'GTK_A11Y=none',     "HOME=$dir", "XDG_RUNTIME_DIR=$dir",
		'G_MESSAGES_DEBUG=', $PYTHON,     "$dir/$program", @args, $dir
	);
	local %ENV = (%ENV, $x->env);
	is_there("$dir/ready");
	system(
			  'xdotool search --sync --onlyvisible --name tipme-session windowmove 0 0 windowfocus '
			. '>/dev/null 2>&1');
	sleep 0.3;
	my $keys = $x->{keys} //= Tipme::Typist->new(socket => $x->keyboard);
	$keys->type('hello world');
	$keys->sync;
	my $done = is_there("$dir/done");
	my $c    = XClient->new($x);
	$c->request(XClient::GET_IMAGE, 2, $c->root, \$c->pack('ssSSL', 0, 0, 1280, 800, 0xffffffff));
	my $image = substr $c->reply, 32;
	$c->close;
	kill 'TERM', $pid;
	waitpid $pid, 0;
	open my $log, '<', $x->dir . '/clients.log' or die "clients.log: $!";
	seek $log, $x->{read} // 0, 0;
	my $errors = () = do { local $/; <$log> // '' }
		=~ /X Error|X_Error|BadWindow|BadDrawable|BadMatch|BadValue/g;
	$x->{read} = tell $log;
	return {
		errors  => $errors,
		picture => ($done ? $image =~ /\A(.{4})\1*\z/s ? 'empty ' : '' : 'unfinished ')
			. md5_hex($image)
	};
}

sub is_there {
	my ($path) = @_;
	for (1 .. 300) { return 1 if -e $path; sleep 0.1 }
	return 0;
}

END { delete $_->{keys} for values %server }
