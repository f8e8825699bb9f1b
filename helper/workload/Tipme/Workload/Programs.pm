# SPDX-License-Identifier: GPL-2.0-only
# Programs of Debian that can be started as somebody's work: how, what they show, and what makes
# them draw.
package Tipme::Workload::Programs;
use strict;
use warnings;
use Carp qw(croak);

# name => {
#   world     toolkit, or what else decides how it reads its keys and draws
#   package   of Debian (12 and 13), whose first program is looked for
#   command   [WORDS] or CODE->(home folder): [WORDS]; FILE becomes a text file of its own
#   class     a pattern for WM_CLASS of its main window; none: its first window
#   config    { path below the home folder => text }, so that no cursor blinks and no tip of the
#   day comes
#   env       { more environment }
#   actions   { key => line of the typist, click => ..., wheel => ... }: what it answers by drawing
#   patience_s  how long its first window may take on a busy machine
# }
my $TYPED        = { key => 'key x', wheel => 'wheel down' };
my $GTK_SETTINGS = "[Settings]\ngtk-cursor-blink=0\ngtk-enable-animations=0\n";
my %GTK          = (
	'.config/gtk-3.0/settings.ini' => $GTK_SETTINGS,
	'.config/gtk-4.0/settings.ini' => $GTK_SETTINGS
);
my @SHELL = qw(bash --noprofile --norc -i);

my %PROGRAM = (
	xterm => {
		world   => 'terminal',                                package => 'xterm',
		command => [ qw(xterm -geometry 100x30 -e), @SHELL ], actions => { key => 'key x' },
		shell   => 1
	},
	urxvt => {
		world   => 'terminal',                                package => 'rxvt-unicode',
		command => [ qw(urxvt -geometry 100x30 -e), @SHELL ], actions => { key => 'key x' },
		shell   => 1
	},
	xedit => {
		world   => 'Xaw', package => 'x11-apps', command => [ 'xedit', 'FILE' ],
		actions => { key => 'key x' }
	},
	mousepad => {
		world  => 'GTK 3', package => 'mousepad', command => [qw(mousepad --disable-server FILE)],
		config => \%GTK,   actions => { %$TYPED, click => 'click 3' }
	},
	galculator => {
		world   => 'GTK 3', package => 'galculator', command => ['galculator'], config => \%GTK,
		actions => { key => 'key 7' }
	},
	'gnome-text-editor' => {
		world   => 'GTK 4',                                   package => 'gnome-text-editor',
		command => [qw(gnome-text-editor --standalone FILE)], config  => \%GTK,
		actions => { %$TYPED, click => 'click 3' }
	},
	featherpad => {
		world   => 'Qt', package => 'featherpad', command => [qw(featherpad --standalone FILE)],
		actions => { key => 'key x', click => 'click 3' }
	},
	tkcon =>
		{ world => 'Tk', package => 'tkcon', command => ['tkcon'], actions => { key => 'key x' } },
	xpdf => {
		world => 'Motif', package => 'xpdf', command => ['xpdf'], actions => { click => 'click 3' }
	},
	dillo => {
		world   => 'FLTK', package => 'dillo', command => [qw(dillo FILE)],
		actions => { wheel => 'wheel down', click => 'click 3' }
	},
	'firefox-esr' => {
		world   => 'browser',
		package => 'firefox-esr',
		command =>
			sub { return [ 'firefox-esr', '--profile', "$_[0]/profile", '--new-instance', 'PAGE' ] }
		,
		class  => qr/Navigator|firefox/i,
		config => {
			%GTK, 'profile/user.js' => join '',
			map {"user_pref($_);\n"} '"browser.shell.checkDefaultBrowser", false',
			'"browser.aboutwelcome.enabled", false',
			'"datareporting.policy.dataSubmissionEnabled", false',
			'"toolkit.telemetry.reportingpolicy.firstRun", false',
			'"browser.startup.homepage_override.mstone", "ignore"', '"ui.caretBlinkTime", 0',
			'"app.update.enabled", false',        '"browser.sessionstore.resume_from_crash", false',
			'"extensions.update.enabled", false', '"app.normandy.enabled", false',
			'"security.sandbox.content.level", 0',
			'"network.captive-portal-service.enabled", false',
			'"network.connectivity-service.enabled", false', '"browser.tabs.firefox-view", false',
			'"general.smoothScroll", false', '"browser.topsites.contile.enabled", false',
			'"toolkit.cosmeticAnimations.enabled", false'
		},
		env =>
			{ MOZ_ENABLE_WAYLAND => 0, LIBGL_ALWAYS_SOFTWARE => 1, MOZ_CRASHREPORTER_DISABLE => 1 },
		actions    => { key => 'key x' },    # an empty page does not move by the wheel
		patience_s => 60,
		settle_s   => 4,
	},
	jedit => {
		world   => 'Java', package => 'jedit',
		command =>
			sub { return [ 'jedit', '-noserver', "-settings=$_[0]/jedit", '-norestore', 'FILE' ] },
		class  => qr/jedit/i,
		config => {
			'jedit/properties' =>
				"view.caretBlink=false\ntip.show=false\nfirstTime=false\nblinkingcaret=false\n"
		},
		env        => { _JAVA_OPTIONS => '-Xshare:auto', _JAVA_AWT_WM_NONREPARENTING => 0 },
		actions    => { key           => 'key x' },
		patience_s => 60,
		settle_s   => 2
	},
	abiword => {
		world   => 'office', package => 'abiword', command => ['abiword'], config => \%GTK,
		actions => { key => 'key x' }, patience_s => 60
	},
	localc => {
		world   => 'office',
		package => 'libreoffice-calc',
		command => sub {
			return [ 'localc', '--norestore', '--nologo', "-env:UserInstallation=file://$_[0]/lo" ];
		},
		class      => qr/calc|soffice|libreoffice/i,
		env        => { SAL_USE_VCLPLUGIN => 'gen' },
		actions    => { key               => 'key 7' },
		patience_s => 90,
		settle_s   => 4
	},
	emacs => {
		world   => 'editor',
		package => 'emacs-gtk',
		command => [
			qw(emacs -q --no-splash --eval),
			'(progn (blink-cursor-mode 0) (setq visible-cursor nil inhibit-startup-screen t))',
			'FILE'
		],
		config     => \%GTK,
		actions    => { key => 'key x' },
		patience_s => 60,
		settle_s   => 1
	},
	gvim => {
		world   => 'editor', package => 'vim-gtk3',
		command =>
			[ qw(gvim -f -n -u NONE), '-c', 'set guicursor+=a:blinkon0 | startinsert', 'FILE' ],
		config => \%GTK, actions => { key => 'key x' }
	},
);

# all(): the names; get(NAME): its description
sub all { return sort keys %PROGRAM }

sub get {
	my ($name) = @_;
	return $PROGRAM{$name} // croak "no program '$name': one of @{[ all() ]}";
}

# add(NAME => {...}): one that is none of Debian's
sub add { my ($name, $p) = @_; $PROGRAM{$name} = $p; return }

# lacks(NAME): why it cannot be started here; '' if it can
sub lacks {
	my ($name)    = @_;
	my $p         = get($name);
	my ($program) = @{ ref $p->{command} eq 'CODE' ? $p->{command}->('/') : $p->{command} };
	return '' if grep { -x "$_/$program" } qw(/usr/bin /usr/games);
	return "$program is not installed (Debian: $p->{package})";
}

1;
