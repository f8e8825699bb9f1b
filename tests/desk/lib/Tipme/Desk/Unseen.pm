# SPDX-License-Identifier: GPL-2.0-only
# Programs that no round has played before: the engine was never changed with one of them in mind.
# They are played by `--set unseen` alone. Once a miss of theirs has led to a change, a program is
# seen: it moves to the others, and another one takes its place.
package Tipme::Desk::Unseen;
use strict;
use warnings;
use Tipme::Desk::Ways qw(@BASH @DEED %GTK %X %DOWN %TEXT %WORK add shell);

# A program below a terminal of its own.
sub _below { return [ qw(xterm -geometry 100x30 -e), @_ ] }

# name => [ world, package, command, actions, more ]
my %PROGRAM = (
	gedit    => [ 'GTK 3',    'gedit',    [qw(gedit -s FILE)],        \%TEXT, config   => \%GTK ],
	bluefish => [ 'GTK 3',    'bluefish', [qw(bluefish -n FILE)],     \%X,    config   => \%GTK ],
	kate     => [ 'Qt',       'kate',     [qw(kate -n FILE)],         \%X,    settle_s => 3 ],
	xfwrite  => [ 'FOX',      'xfe',      [qw(xfwrite FILE)],         \%X ],
	sakura   => [ 'terminal', 'sakura',   [ qw(sakura -x), "@BASH" ], \%X, shell => 1 ],
	'mate-terminal-shell' => [
		'terminal', 'mate-terminal', [ qw(mate-terminal --disable-factory -x), @DEED ], \%X,
		shell()
	],
	'qterminal-shell'  => [ 'terminal', 'qterminal', [ qw(qterminal -e), "@DEED" ], \%X, shell() ],
	'terminator-shell' =>
		[ 'terminal', 'terminator', [ qw(terminator -u -x), @DEED ], \%X, shell(settle_s => 2) ],
	# What works below a terminal, and draws by what it writes to it.
	nano       => [ 'below a terminal', 'nano',      _below(qw(nano FILE)),         \%X ],
	mc         => [ 'below a terminal', 'mc',        _below(qw(mc -x /usr)),        \%DOWN ],
	micro      => [ 'below a terminal', 'micro',     _below(qw(micro FILE)),        \%X ],
	'emacs-nw' => [ 'below a terminal', 'emacs-gtk', _below(qw(emacs -nw -q FILE)), \%X ],
	# It is one process with the terminal's other end, and echoes by a library.
	'asks' => [
		'below a terminal', 'python3-gi', _below(qw(/usr/bin/python3 BIN/asks.py)), \%X,
		press  => 'key Return', first => 'x', deeds => \%WORK, timeouts => 1,
		python => 'import gi, readline'
	],
	'screen-shell' =>
		[ 'terminal', 'screen', _below(qw(screen -c /dev/null), @DEED), \%X, shell(settle_s => 2) ],
	lowriter => [
		'office',
		'libreoffice-writer',
		sub {
			return [
				'lowriter', '--norestore', '--nologo',
				"-env:UserInstallation=file://$_[0]/lo"
			];
		},
		\%X,
		class      => qr/writer|soffice|libreoffice/i,
		env        => { SAL_USE_VCLPLUGIN => 'gen' },
		patience_s => 90,
		settle_s   => 4
	],
);

add($_, $PROGRAM{$_}, unseen => 1) for keys %PROGRAM;

1;
