# SPDX-License-Identifier: GPL-2.0-only
# The programs of the desk: those of the workload library, and small ones of our own whose
# handlers do what a cause asks of them.
package Tipme::Desk::Programs;
use strict;
use warnings;
use File::Basename qw(dirname);
use Tipme::Desk::Played;
use Tipme::Desk::Unseen;
use Tipme::Workload::Programs;

my $DIR   = dirname(__FILE__) . '/../../../programs';
my @FILES = qw(deeds.py gtk.py qt.py notes.tcl deeds.el deeds.vim page.html store.py
	far.py wx_notes.py asks.py Notes.java);
my %ALL   = map { $_ => 1 } qw(compute sleep flock sqlite dbus http read);
my %SHELL = (%ALL, start => 1);                                            # those that start others
# Those that can count the CPU's time that they use, take memory, and get a socket from somebody.
my %WORKS        = (%ALL, map { $_ => 1 } qw(work grow far));
my $GTK_SETTINGS = "[Settings]\ngtk-cursor-blink=0\ngtk-enable-animations=0\n";

# Those that do deeds, and the line that makes them: F5 in most; the shell has a function.
my %ADD = (
	'gtk3-notes' => {
		world  => 'GTK 3',  package => 'python3-gi', command => [qw(/usr/bin/python3 BIN/gtk.py 3)],
		press  => 'key f5', echo    => 'key f6',     timeouts => 1, deeds => \%WORKS,
		python => 'import gi; gi.require_version("Gtk", "3.0"); from gi.repository import Gtk'
	},
	'gtk4-notes' => {
		world  => 'GTK 4',  package => 'python3-gi', command => [qw(/usr/bin/python3 BIN/gtk.py 4)],
		press  => 'key f5', echo    => 'key f6',     timeouts => 1, deeds => \%WORKS,
		python => 'import gi; gi.require_version("Gtk", "4.0"); from gi.repository import Gtk'
	},
	'qt-notes' => {
		world  => 'Qt',     package => 'python3-pyqt5', command => [qw(/usr/bin/python3 BIN/qt.py)],
		press  => 'key f5', echo    => 'key f6', timeouts => 1, deeds => \%WORKS,
		python => 'import PyQt5.QtWidgets, PyQt5.QtDBus'
	},
	'tk-notes' => {
		world => 'Tk', package => 'tk', command => [qw(wish BIN/notes.tcl)], press => 'key f5',
		echo  => 'key f6'
	},
	'emacs-lisp' => {
		world => 'editor', like => 'emacs',
		command => [qw(emacs -q --no-splash -l BIN/deeds.el FILE)], press => 'key f5', timeouts => 1
	},
	'vim-script' => {
		world   => 'editor',                                       like  => 'gvim',
		command => [qw(gvim -f -n -u NONE -S BIN/deeds.vim FILE)], press => 'key f5',
		actions => { key => 'key j' }
	},
	'firefox-page' => {
		world => 'browser', like  => 'firefox-esr', page => 'file://BIN/page.html',
		press => 'key f9',  deeds => { compute => 1, http => 1 }
	},
	'xterm-shell' => {
		world   => 'terminal', like => 'xterm',
		command => [qw(xterm -geometry 100x30 -e bash --noprofile --rcfile BIN/shell -i)],
		press   => 'key Return', first => 'x', deeds => \%SHELL
	},
	'urxvt-shell' => {
		world   => 'terminal', like => 'rxvt',
		command => [qw(urxvt -geometry 100x30 -e bash --noprofile --rcfile BIN/shell -i)],
		press   => 'key Return', first => 'x', deeds => \%SHELL
	},
	'xfce4-terminal-shell' => {
		world   => 'terminal', package => 'xfce4-terminal',
		command => [qw(xfce4-terminal --disable-server -x bash --noprofile --rcfile BIN/shell -i)],
		press   => 'key Return', first => 'x', deeds => \%SHELL
	},
	lxterminal => {
		world   => 'terminal', package => 'lxterminal', shell => 1, deeds => {},
		command => [ qw(lxterminal --no-remote -e), 'bash --noprofile --norc -i' ]
	},
	'swing-notes' => {
		world    => 'Java',   package => 'default-jdk', command => [qw(java BIN/Notes.java)],
		press    => 'key f5', echo    => 'key f6',
		deeds    => { map { $_ => 1 } qw(compute sleep flock dbus http read) },
		env      => { _JAVA_OPTIONS => '-Xshare:auto', _JAVA_AWT_WM_NONREPARENTING => 0 },
		settle_s => 2, patience_s => 60
	},
);
# A third of the programs, from each world that has several: they run in the final table only,
# never while the engine is worked on.
my %FINAL = map { $_ => 1 }
	qw(urxvt urxvt-shell galculator gnome-text-editor featherpad dillo gvim vim-script localc);
# What the CI has: these need no more packages than other tests do.
my %CI = map { $_ => 1 }
	qw(xterm xterm-shell xedit gtk3-notes gtk4-notes qt-notes tk-notes firefox-page);

for my $name (keys %ADD) {
	my $p = $ADD{$name};
	my $like =
		$p->{like}
		? Tipme::Workload::Programs::get($p->{like} eq 'rxvt' ? 'urxvt' : $p->{like})
		: { config => { map { (".config/gtk-$_.0/settings.ini" => $GTK_SETTINGS) } 3, 4 } };
	Tipme::Workload::Programs::add(
		$name => { actions => { key => 'key x' }, deeds => \%ALL, %$like, %$p });
}

# names(set): 'ci', 'work' (all that are not of the final table alone), 'all', or 'unseen': those
# that are in no other set
sub names {
	my ($set) = @_;
	my %unseen;
	push @{ $unseen{ Tipme::Workload::Programs::get($_)->{unseen} ? 1 : 0 } }, $_
		for Tipme::Workload::Programs::all();
	return @{ $unseen{1} } if $set eq 'unseen';
	return grep { $set eq 'all' || ($set eq 'ci' ? $CI{$_} : !final($_)) } @{ $unseen{0} };
}

sub final {
	my ($name) = @_;
	return $FINAL{$name} // Tipme::Workload::Programs::get($name)->{final} // 0;
}

sub lacks {
	my ($name) = @_;
	my $p      = Tipme::Workload::Programs::get($name);
	my $python = $p->{python} // return Tipme::Workload::Programs::lacks($name);
	return system('/usr/bin/python3', '-c', $python) == 0
		? ''
		: "$name: its modules are missing (Debian: $p->{package})"
		if -x '/usr/bin/python3';
	return 'no python3';
}

sub files {
	return map {"$DIR/$_"} @FILES;
}

# The shell's function `x`, which does the deed by the programs that shells have; BIN is where ours
# lie.
sub shell {
	my ($deed) = @_;
	my ($what, @w) = split ' ', $deed // '';
	my %do = (
		compute => sub { 'head -c ' . int($_[0] * 400_000) . ' /dev/zero | sha256sum' },
		sleep   => sub { 'sleep ' . $_[0] / 1000 }, flock => sub {"flock $_[0] true"},
		read   => sub {"wc -l $_[0]"},
		work   => sub { 'head -c ' . int($_[0] * 400_000) . ' /dev/zero | sha256sum' },
		sqlite => sub {qq{sqlite3 -cmd ".timeout 20000" $_[0] "insert into t values (1)"}},
		dbus   => sub {"gdbus call --session --dest $_[0] --object-path /store --method $_[0].Ask"},
		start  => sub {qq({ DESK_START=1 DESK_DEED="@_" wish BIN/notes.tcl & })},
		http   => sub {
			"exec 3<>/dev/tcp/127.0.0.1/$_[0]; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
		},
	);
	return
		  "PS1='\$ '\nx() { "
		. ($what && $do{$what} ? $do{$what}->(@w) : 'true')
		. '; echo the answer; }' . "\n";
}

1;
