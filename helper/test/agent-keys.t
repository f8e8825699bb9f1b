# SPDX-License-Identifier: GPL-2.0-only
# The agent's hot-keys on a server without hooks: layouts, locks, the keypad, menus that hold the
# keyboard, keys that others have taken.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo", "$FindBin::Bin/../../xserver-hooks/test/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Display;
use Tipme::TestAgent  qw(command press public start_agent);
use Tipme::TestDaemon qw(slurp wait_until);
use XClient;

plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent";
for my $program (qw(Xvfb setxkbmap xdotool)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my ($CTRL, $ALT, $SHIFT, $CAPS, $NUM, $KEYPAD_MINUS) = (37, 64, 50, 66, 77, 82);

my $x      = Tipme::Display->new(kind => 'Xvfb');
my $public = public($x->dir);
chmod 0755, $x->dir;
my ($alive, $log);
our $patience_s;

# Waits for the agent's test to have begun; presses; returns what it said, which need not be that it
# heard something if there is a patience.
sub test_of {
	my ($keys, @options) = @_;
	(my $pid, $log) = start_agent($x, $public, '--test-hotkey', @options);
	$alive = wait_until(sub { slurp($log) =~ /now/ }) or return slurp($log);
	$keys->();
	wait_until(sub { slurp($log) =~ /^heard/m || kill(0, $pid) == 0 }, $patience_s);
	kill 'TERM', $pid;
	waitpid $pid, 0;
	return slurp($log);
}

sub heard {
	my ($what, $keys, @options) = @_;
	my $said = test_of($keys, @options);
	like($said, qr/^heard Ctrl\+Alt\+minus/m, $what) or diag($said);
	return $said;
}

sub silent {
	my ($what, $keys, @options) = @_;
	local $patience_s = 1;
	my $said = test_of($keys, @options);
	ok($alive && $said !~ /^heard/m, "$what: nothing") or diag($said);
	return;
}

sub chord {
	my @keys = @_;
	return sub { press($x, $CTRL, $ALT, @keys) }
}

# The key with minus on it.
for ([ 'us', 20 ], [ 'de', 61 ], [ 'fr', 15 ], [ 'us', 48, 'dvorak' ], [ 'us,ru', 20 ]) {
	my ($layout, $code, $variant) = @$_;
	command($x, 'setxkbmap', '-layout', $layout, '-variant', $variant // '', '-option', '');
	my $name = $layout . ($variant ? "($variant)" : '');
	my $said = heard("$name: key $code", chord($code));
	like $said, qr/^snapshot +Ctrl\+Alt\+minus \(1 key\)/m, '... which it names as the only one';
	silent("$name: not the keypad",      chord($KEYPAD_MINUS));
	silent("$name: not with Shift",      chord($SHIFT, $code)) if $layout ne 'us,ru';
	silent("$name: not where us has it", chord(20))            if $code != 20;
}
command($x, 'setxkbmap', '-layout', 'us,ru', '-option', 'grp:caps_toggle');
press($x, $CAPS);    # to the second group
heard('us,ru in the Russian group', chord(20));
command($x, 'setxkbmap', '-layout', 'us', '-option', '');

like test_of(chord($KEYPAD_MINUS), '--snapshot', 'ctrl-alt-kp_subtract'),
	qr/^heard ctrl-alt-kp_subtract/m, 'the keypad, if it is asked for';
like test_of(chord(21), ()), qr/^heard Ctrl\+Alt\+plus \(start recording\)/m,
	'another chord; its symbol stands on the shifted level, and Shift is not needed';
like test_of(sub { press($x, $CTRL, $ALT, $SHIFT, 21) }), qr/^heard Ctrl\+Alt\+plus/m,
	'... but does no harm';
like test_of(chord(19)), qr/^heard Ctrl\+Alt\+0 \(record no input at all\)/m, 'a third';
silent('the key alone', sub { press($x, 20) });
silent('Ctrl alone with it', sub { press($x, $CTRL, 20) });

for my $lock ([ 'Caps Lock', $CAPS ], [ 'Num Lock', $NUM ], [ 'both', $CAPS, $NUM ]) {
	my ($name, @keys) = @$lock;
	press($x, $_) for @keys;
	heard("with $name on", chord(20));
	press($x, $_) for @keys;
}

# A layout that is changed while the agent runs.
my ($GRAB_KEYBOARD, $UNGRAB_KEYBOARD, $GRAB_KEY, $UNGRAB_KEY) = (31, 32, 33, 34);
my $said = heard(
	'after a change of layout',
	sub {
		command($x, 'setxkbmap', 'de');
		# It has to be told of it.
		wait_until(sub { press($x, $CTRL, $ALT, 61); slurp($log) =~ /^heard/m });
	}
);
command($x, 'setxkbmap', 'us');

# Who gets the key? Nobody, but with a menu open.
$said = heard('one press', chord(20));
is(() = $said =~ /^heard/mg, 1, '... is heard once');
my $menu = XClient->new($x);
my ($window) = $menu->window;
$menu->sync;
$menu->request($GRAB_KEYBOARD, 0, $window, 0, 0x0101);    # both modes asynchronous
is CORE::unpack('C', substr($menu->reply, 1, 1)), 0, 'a menu holds the keyboard';
$said = heard('while a menu holds the keyboard', chord(20));
like $said, qr/as a raw event/, '... as a raw event';
$menu->request($UNGRAB_KEYBOARD, 0, 0);
$menu->sync;

# Taken by somebody else: said, and heard all the same.
# Ctrl+Alt, asynchronous
$menu->request($GRAB_KEY, 0, $menu->root, \$menu->pack('SCCC', 0x000c, 20, 1, 1));
$menu->sync;
$said = test_of(chord(20));
like $said,
	qr/^snapshot +Ctrl\+Alt\+minus: another program has taken it .*choose another with --snapshot/m,
	'a taken chord is told';
like $said, qr/^heard Ctrl\+Alt\+minus/m, '... and heard all the same';
$menu->request($UNGRAB_KEY, 20, $menu->root, \$menu->pack('S', 0x8000));    # with any modifiers
$menu->sync;

# Who tests while the agent of the session runs is not told to choose another.
my ($first) = start_agent($x, $public, '--no-dialog');
$said = wait_until(sub { my $s = test_of(chord(20)); $s =~ /taken/ && $s }) // '';
like $said,
	qr/^snapshot +Ctrl\+Alt\+minus \(1 key\): save what just happened; taken, as it should be/m,
	'an agent that runs already is told apart';
unlike $said, qr/choose another/,           '... from other programs';
like $said,   qr/^heard Ctrl\+Alt\+minus/m, '... and the test hears the key, too';
(my $second, $log) = start_agent($x, $public);
waitpid $second, 0;
is $? >> 8, 1, 'a second agent on the same display is refused';
like slurp($log), qr/^tipme: agent: an agent runs on this display already: /, '... by a sentence';
kill 'TERM', $first;
waitpid $first, 0;
is $?, 0, 'an agent ends by SIGTERM with 0';

# Chords as people write them, and as they do not.
for my $bad ([ 'minus', qr/types a character/ ], [ 'Ctrl+Alt+nothing', qr/no such key/ ]) {
	my ($pid, $file) = start_agent($x, $public, '--snapshot', $bad->[0]);
	waitpid $pid, 0;
	is $? >> 8, 1, "--snapshot $bad->[0] is refused";
	like slurp($file), $bad->[1], '... and why';
}
{
	my ($pid, $file) = start_agent($x, $public, '--snapshot', '<ctrl><alt>0');
	my $ended = wait_until(sub { waitpid($pid, 1) == $pid });
	is $ended && $? >> 8, 1, 'one chord for two things is refused';
	like slurp($file),
		qr/^tipme: agent: Ctrl\+Alt\+0: is the hot-key for both snapshot and no-input: choose another with --snapshot or --no-input, or none$/m,
		'... by a sentence';
	kill 'TERM', $pid if !$ended;
}
mkdir $x->dir . "/$_" for qw(.config .config/tipme);
open my $conf, '>', $x->dir . '/.config/tipme/agent.conf' or die;
print {$conf} "[hotkeys]\nsnapshot = <Control><Alt>F9\nstart=none\n";
close $conf;
system 'chmod', '-R', 'a+rX', $x->dir . '/.config';
$said = test_of(sub { press($x, $CTRL, $ALT, 75) });
like $said, qr/^heard <Control><Alt>F9/m, 'from the configuration file';
like $said, qr/^start +none/m,            '... none is none';
$x->stop;
done_testing;
