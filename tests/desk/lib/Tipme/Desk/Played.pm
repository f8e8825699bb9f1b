# SPDX-License-Identifier: GPL-2.0-only
# Programs that were played as those that nobody had seen (Unseen.pm), in two rounds of 2026-11.
package Tipme::Desk::Played;
use strict;
use warnings;
use Tipme::Workload::Programs;

my @BASH = qw(bash --noprofile --norc -i);
my @DEED = qw(bash --noprofile --rcfile BIN/shell -i);
my $GTK  = "[Settings]\ngtk-cursor-blink=0\ngtk-enable-animations=0\n";
my %GTK  = map { (".config/gtk-$_.0/settings.ini" => $GTK) } 3, 4;
# Those that led to no change: in the final table only, as a third of all are.
my %FINAL = map { $_ => 1 } qw(mate-calc tea nedit gnumeric mlterm speedcrunch);
my %X     = (key       => 'key x');
my %TEXT  = (%X, wheel => 'wheel down', click => 'click 3');
my %WORK  = map { $_ => 1 } qw(compute sleep flock sqlite dbus http read work grow far);

# What a shell that does deeds has besides.
sub _shell {
	my (%o) = @_;
	return (
		%o,
		actions => \%X,
		press   => 'key Return',
		first   => 'x',
		deeds   => { map { $_ => 1 } qw(compute sleep flock sqlite dbus http read start) }
	);
}

# name => [ world, package, command, actions, more ]
my %PROGRAM = (
	geany   => [ 'GTK 3', 'geany',   [qw(geany -i -s -m -p FILE)], \%TEXT, config => \%GTK ],
	l3afpad => [ 'GTK 3', 'l3afpad', [qw(l3afpad FILE)],           \%TEXT, config => \%GTK ],
	scite   => [
		'GTK 3', 'scite', [qw(scite FILE)], \%TEXT,
		config => { %GTK, '.SciTEUser.properties' => "caret.period=0\n" }
	],
	'mate-calc'        => [ 'GTK 3', 'mate-calc',        ['mate-calc'],        { key => 'key 7' } ],
	'qalculate-gtk'    => [ 'GTK 3', 'qalculate-gtk',    ['qalculate-gtk'],    { key => 'key 7' } ],
	'gnome-calculator' => [ 'GTK 4', 'gnome-calculator', ['gnome-calculator'], { key => 'key 7' } ],
	'netsurf-gtk'      => [
		'GTK 3', 'netsurf-gtk', [qw(netsurf-gtk FILE)], { wheel => 'wheel down' }, config => \%GTK
	],
	kcalc           => [ 'Qt',     'kcalc',       ['kcalc'],       { key => 'key 7' } ],
	speedcrunch     => [ 'Qt',     'speedcrunch', ['speedcrunch'], { key => 'key 7' } ],
	tea             => [ 'Qt',     'tea',         [qw(tea FILE)],  \%X ],
	nedit           => [ 'Motif',  'nedit', [ qw(nedit -xrm), '*text.blinkRate: 0', 'FILE' ], \%X ],
	idle            => [ 'Tk',     'idle',  [qw(idle -e FILE)],                               \%X ],
	gnumeric        => [ 'office', 'gnumeric', ['gnumeric'], { key => 'key 7' }, config => \%GTK ],
	mlterm          => [ 'terminal', 'mlterm', [ qw(mlterm -e), @BASH ], \%X, shell => 1 ],
	stterm          => [ 'terminal', 'stterm', [ qw(stterm -e), @BASH ], \%X, shell => 1 ],
	'konsole-shell' => [ 'terminal', 'konsole', [ qw(konsole -e), @DEED ], \%X, _shell() ],
	# A terminal whose shell belongs to a server of its own, which ends with it.
	'tmux-shell' => [
		'terminal', 'tmux',
		[
			qw(xterm -geometry 100x30 -e bash -c),
			'exec tmux -S "$HOME/tmux" -f /dev/null new bash --noprofile --rcfile "$0" -i \; '
				. 'set -g destroy-unattached on',
			'BIN/shell'
		],
		\%X,
		_shell(settle_s => 2)
	],
	'wx-notes' => [
		'wxWidgets', 'python3-wxgtk4.0', [qw(/usr/bin/python3 BIN/wx_notes.py)], \%X,
		press  => 'key f5', echo => 'key f6', timeouts => 1, deeds => \%WORK, python => 'import wx',
		config => \%GTK
	],
	'chromium-page' => [
		'browser', 'chromium',
		sub {
			return [
				qw(chromium --no-sandbox --no-first-run --no-default-browser-check),
				qw(--disable-background-networking --disable-component-update --disable-sync),
				qw(--disable-gpu --password-store=basic),
				'--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
				"--user-data-dir=$_[0]/chromium", 'PAGE'
			];
		},
		\%X,
		page       => 'file://BIN/page.html',
		press      => 'key f9',
		deeds      => { compute => 1, http => 1 },
		class      => qr/chromium/i,
		patience_s => 60,
		settle_s   => 4
	],
);

for my $name (keys %PROGRAM) {
	my ($world, $package, $command, $actions, %more) = @{ $PROGRAM{$name} };
	Tipme::Workload::Programs::add(
		$name => {
			world   => $world,   package => $package,           command => $command,
			actions => $actions, final   => $FINAL{$name} // 0, %more
		}
	);
}

1;
