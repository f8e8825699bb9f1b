#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme type: what is typed arrives, in any of the layout's levels; clicks, wheel, drags; it stops
# when the window loses the focus, and says what its keys leave out.
use strict;
use warnings;
use File::Temp qw(tempdir);
use IPC::Open3 qw(open3);
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/helper/demo";
use Tipme::Display;

my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
for my $program (qw(xterm xev)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
plan skip_all => 'libx11-protocol-perl and libx11-protocol-other-perl are not installed'
	if !eval { require X11::Protocol; require X11::Protocol::Ext::XTEST };
plan skip_all => 'Xvfb is not installed' if !Tipme::Display::find_server('Xvfb');
my $x = Tipme::Display->new(kind => 'Xvfb');
local %ENV = (%ENV, $x->env);
my $dir = tempdir(CLEANUP => 1);
chmod 0777, $dir;

# Where keys go: the pointer is in the middle of a window that covers the screen, and so the focus.
my $shell = $x->spawn(
	'xterm', '-T', 'typed', '-geometry', '200x55+0+0', '-e', 'sh', '-c',
	"cat > $dir/typed"
);
there(
	sub { qx{xwininfo -name typed -stats 2>/dev/null} =~ /IsViewable/ && -e "$dir/typed" },
	'a terminal'
);
my $line = "Hello, World: 100% [ok]? {a|b} ~\$#@!";
my ($status, $out, $err) = type([ '--wpm', 300, "$line\\n" ]);
is($status, 0, 'typed') or diag($err);
there(sub { slurp("$dir/typed") =~ /\n/ }, 'a line');
is(slurp("$dir/typed"), "$line\n", 'what is typed arrives, small and large letters and signs');
my @ns = $out =~ /^(\d+) /mg;
is(scalar @ns, length($line) + 1, 'each press has its time');
is_deeply([ sort { $a <=> $b } @ns ], \@ns, '... one after another');
like(
	$err, qr/XTEST begin in the X server: the interrupt, the kernel's input device/,
	'and what is left out is told'
);
($status, undef, $err) = type([ 'a snowman: \x{2603}' =~ s/\\x\{2603\}/\xe2\x98\x83/r ]);
is($status, 1, 'what the layout has no key for is refused');
like(
	$err, qr/^tipme: type: the layout of this session has no key for U\+2603/m,
	'... by its number'
);

# Another window takes the focus while we type.
$x->spawn('sh', '-c', "xev -geometry 1200x700+0+0 > $dir/xev");
there(sub { slurp("$dir/xev") =~ /MapNotify/ }, 'xev');
my ($terminal) = qx{xwininfo -name typed} =~ /Window id: (0x[0-9a-f]+)/;
($status, undef, $err) = type([ '--window', $terminal, 'secret' ]);
is($status, 1, 'nothing is typed into a window that was not meant');
like($err, qr/the window has lost the focus: nothing more is typed/, '... and why');
unlike(slurp("$dir/xev"), qr/KeyPress/, '... not one key');

($status, $out, $err) = type(
	['--quiet'],
	"click 3\nwheel up\nwheel down\nmove 30 -20\ndrag 40 10\nkey F5\nsleep 0.1\n"
);
is($status, 0,  'a mouse, too') or diag($err);
is($err,    '', '--quiet');
there(sub { slurp("$dir/xev") =~ /F5/ }, 'the last key');
my $seen = slurp("$dir/xev");
is_deeply(
	[ map { 0 + $_ } $seen =~ /^ButtonPress event.*?button (\d+)/msg ], [ 3, 4, 5, 1 ],
	'click, wheel and drag'
);
my @at = map { [ split /,/ ] } $seen =~ /^Motion.*?root:\((\d+,\d+)\)/msg;
cmp_ok(scalar @at, '>', 20, 'a hand moves in many steps');
is_deeply(
	[ map { $at[-1][$_] - (pressed_at($seen))[$_] } 0, 1 ], [ 70, -10 ],
	'... and goes where it should'
);

for my $wrong (
	[ [ '--wpm', 0, 'a' ],                qr/--wpm: 0: not between/ ],
	[ [ '--uinput', '--window', 1, 'a' ], qr/--uinput: not with/ ],
	[ [ '--pointer', 'x', 'a' ],          qr/--pointer: only with --socket/ ],
	[ [ '--virtual', '--uinput', 'a' ],   qr/--virtual: not with/ ],
	[ [ '--best', '--uinput', 'a' ],      qr/--best: not with/ ]
	)
{
	($status, undef, $err) = type($wrong->[0]);
	is($status, 64, "@{ $wrong->[0] }: usage");
	like($err, $wrong->[1], '... and what is wrong');
}
# Trials: as many as were asked for, and what they are called.
($status, $out, $err) = type(['--quiet'], "operation a b\ntrial key 3\ntrial click 2\n");
is($status, 0, 'trials') or diag($err);
is_deeply(
	[ map { (split ' ', $_, $_ =~ /^=/ ? 3 : 2)[-1] =~ s/^\d+\s*\z//r } split /\n/, $out ],
	[ 'a b', 'unbound key', ('unbound') x 3, '', 'click on the background', ('button 1') x 2, '' ],
	'... told with what they are'
);
there(sub { 6 <= (() = slurp("$dir/xev") =~ /^ButtonPress event/mg) }, 'the last click');
my @unbound = slurp("$dir/xev") =~ /^KeyPress event.*?keysym 0x0, NoSymbol/msg;
is(scalar @unbound, 3, '... without a meaning');
for my $wrong (
	[ "trial door\n",  qr/trial: 'door': key or click/ ],
	[ "dance\n",       qr/no action 'dance'/ ],
	[ "drag 1\n",      qr/drag: '1': 2 whole numbers wanted/ ],
	[ "wheel round\n", qr/no wheel 'round'/ ], [ "sleep long\n", qr/no seconds/ ],
	[ "key nokey\n",   qr/no key 'nokey'/ ]
	)
{
	($status, undef, $err) = type([], $wrong->[0]);
	is($status, 1, "'" . $wrong->[0] =~ s/\n//r . "' is refused");
	like($err, $wrong->[1], '... and why');
}
SKIP: {
	skip 'there is a /dev/uinput here: keys would reach this machine', 2 if -e '/dev/uinput';
	like((type([ '--best', 'a' ]))[2], qr/by XTEST begin/, 'the best that is here is XTEST');
	like(
		(type([ '--uinput', 'a' ]))[2], qr{/dev/uinput: .*: load the module uinput},
		'no uinput: what to do'
	);
}
kill 'TERM', $shell;
$x->stop;
{
	local $ENV{WAYLAND_DISPLAY};
	delete $ENV{WAYLAND_DISPLAY};
	like((type([ '--virtual', 'a' ]))[2], qr/WAYLAND_DISPLAY is not set/, 'no Wayland session');
}
# A wtype that only says what it was told: what it does with that is the matter of wayland.t.
{
	open my $h, '>', "$dir/wtype" or die;
	print {$h} qq(#!/bin/sh\necho "\$@" >> $dir/told\n);
	close $h;
	chmod 0755, "$dir/wtype";
	local @ENV{qw(PATH WAYLAND_DISPLAY)} = ("$dir:$ENV{PATH}", 'wayland-x');
	($status, $out, $err) =
		type([ '--virtual', '--wpm', 600 ], "type a\nkey page_down\nchord Ctrl+b\ntrial key 1\n");
	is($status, 0, 'a virtual keyboard') or diag($err);
	like($err, qr/by a virtual keyboard begin in the compositor/, '... what it leaves out');
	like(
		slurp("$dir/told"),
		qr/\A-- a\n-P Page_Down -s \d+ -p Page_Down\n-M ctrl -k b -m ctrl\n-P VoidSymbol /,
		'... each key as wtype wants it'
	);
	is(scalar(() = $out =~ /^\d+ /mg), 4, '... each press has its time');
	like((type(['--virtual'], "click 1\n"))[2], qr/has no pointer/, '... and no pointer');
SKIP: {
		skip 'there is a /dev/uinput here: keys would reach this machine', 1 if -e '/dev/uinput';
		delete local $ENV{DISPLAY};
		like((type([ '--best', 'a' ]))[2], qr/by a virtual/, 'the best of a Wayland session');
	}
}
done_testing;

# Where the pointer was at the first click.
sub pressed_at { my ($seen) = @_; return $seen =~ /^ButtonPress event.*?root:\((\d+),(\d+)\)/ms }

sub slurp {
	my ($path) = @_;
	open my $h, '<', $path or return '';
	local $/;
	return scalar <$h> // '';
}

sub there {
	my ($is, $what) = @_;
	for (1 .. 600) { return if $is->(); sleep 0.1 }
	BAIL_OUT("no $what within a minute");
}

sub type {
	my ($args, $lines) = @_;
	open my $in, '>', "$dir/in" or die;
	print {$in} $lines // '';
	close $in;
	my $status = system(
		"'$tipme' type @{[ map { s/'/'\\''/gr =~ s/^|$/'/gr } @$args ]} < $dir/in > $dir/out 2> "
			. "$dir/err") >> 8;
	return ($status, slurp("$dir/out"), slurp("$dir/err"));
}
