# SPDX-License-Identifier: GPL-2.0-only
# Programs that were played as those that nobody had seen (Unseen.pm), in two rounds of 2026-11.
package Tipme::Desk::Played;
use strict;
use warnings;
use Tipme::Desk::Ways qw(@BASH @DEED %GTK %X %DOWN %TEXT %WORK add shell);

# Those that led to no change: in the final table only, as a third of all are.
my %FINAL = map { $_ => 1 } qw(mate-calc tea nedit gnumeric mlterm speedcrunch);

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
	kcalc           => [ 'Qt', 'kcalc',       ['kcalc'],       { key => 'key 7' } ],
	speedcrunch     => [ 'Qt', 'speedcrunch', ['speedcrunch'], { key => 'key 7' } ],
	tea             => [ 'Qt', 'tea',         [qw(tea FILE)],  \%X ],
	notepadqq       => [ 'Qt', 'notepadqq', [qw(notepadqq FILE)], \%X, settle_s => 3 ],
	nedit           => [ 'Motif',  'nedit', [ qw(nedit -xrm), '*text.blinkRate: 0', 'FILE' ], \%X ],
	idle            => [ 'Tk',     'idle',  [qw(idle -e FILE)],                               \%X ],
	gnumeric        => [ 'office', 'gnumeric', ['gnumeric'], { key => 'key 7' }, config => \%GTK ],
	mlterm          => [ 'terminal', 'mlterm', [ qw(mlterm -e), @BASH ], \%X, shell => 1 ],
	stterm          => [ 'terminal', 'stterm', [ qw(stterm -e), @BASH ], \%X, shell => 1 ],
	'konsole-shell' => [ 'terminal', 'konsole', [ qw(konsole -e), @DEED ], \%X, shell() ],
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
		shell(settle_s => 2)
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

add($_, $PROGRAM{$_}, final => $FINAL{$_} // 0) for keys %PROGRAM;

1;
