#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What the input thread of a stock Xorg reads through libevdev: kernel time and time of reading in a
# ring of its own; the hot-key while the main thread is stopped by one endless request; nothing of
# that after it was switched off.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use File::Copy  qw(copy);
use POSIX       ();
use Time::HiRes qw(sleep clock_gettime CLOCK_MONOTONIC CLOCK_REALTIME);
use Live;
use XClient;

need(qw(Xorg));
plan skip_all => 'the evdev driver of Xorg is not installed'
	if !grep { -e "$_/input/evdev_drv.so" } qw(/usr/lib/xorg/modules /usr/lib64/xorg/modules);
my $shim = build('test/.libs/evdev-device.so');
plan skip_all => 'the device for the test was not built' if !-r $shim;
my %CODE = (Ctrl => 29, Alt => 56, minus => 12, slash => 53, a => 30, F1 => 59, F2 => 60, F3 => 61);

my $peer   = peer_start(rundir());
my $dir    = rundir();
my $device = "$dir/event";
POSIX::mkfifo($device, 0666) or die "$device: $!";
chmod 0666, $device;
copy($shim, "$dir/evdev-device.so") or die $!;
open my $keys, '+<:raw', $device or die "$device: $!";
my $x = Tipme::Display->new(
	kind    => 'Xorg', hooks => hooks(), rundir => $peer->{dir}, evdev => $device,
	env     => { LD_PRELOAD => "$dir/evdev-device.so" },
	options => {
		ChordStart        => 'Ctrl+Alt+F1', ChordNoInput => 'Ctrl+Alt+F2',
		ChordDefaultInput => 'Ctrl+Alt+F3'
	}
);
ok(wait_for($peer, qr/^hello 0/), 'the main ring is offered');
is(wait_for($peer, qr/^another/, 0.3), undef, 'a thread that has read nothing offers no ring');
my $c = XClient->new($x);
my ($w, $gc) = $c->window(width => 1280, height => 800);

# One key, stamped by "the kernel" with each of its clocks, 5 ms ago.
my ($stamp_ns, $stamp_to_ns);
for my $clock (CLOCK_MONOTONIC, CLOCK_REALTIME) {
	my ($press, $main, $from_ns, $to_ns);
	# The input thread reads the clock twice: where it had to wait for a CPU in between, the next
	# key tells.
	for my $try (1 .. 20) {
		key(1, 'a', $clock);
		ok(
			wait_for($peer, qr/^another 0 pid=${\ $x->pid}/),
			'with the first key the input thread offers its own'
		) if $clock == CLOCK_MONOTONIC && $try == 1;
		($from_ns, $to_ns) = ($stamp_ns, $stamp_to_ns);
		($press,   $main)  = pressed($from_ns);
		key(0, 'a', $clock);
		last if abs($main->{server_ms} - int($press->{ts_ns} / 1e6)) <= 20;
	}
	cmp_ok($press->{kernel_ns}, '>', $from_ns - 2_000_000, "the kernel's time, from clock $clock");
	cmp_ok($press->{kernel_ns}, '<', $to_ns + 2_000_000,   '... and no later');
	cmp_ok($press->{ts_ns},     '>', $press->{kernel_ns},  'it was read after that');
	is($press->{code}, 0, 'it does not say which key');
	cmp_ok($main->{ts_ns}, '>', $press->{ts_ns}, 'and came to the main thread after that');
	cmp_ok(
		abs($main->{server_ms} - int($press->{ts_ns} / 1e6)), '<=', 20,
		'with the time of the reading'
	);
}
my $head = (input_records($peer, 0))[-1];
isnt($head->{server_tid}, $x->pid, 'the ring is that of another thread');
ok(-d "/proc/${\ $x->pid}/task/$head->{server_tid}", 'of the server');

# The main thread works, both threads see the hot-key: one trigger.
chord('minus');
ok(wait_for($peer, qr/^trigger 0 arg=2/), 'the hot-key triggers');
is(wait_for($peer, qr/^trigger/, 0.5), undef, 'once');
my @r;
my $chord = await(sub { @r = settled($peer, 0); (only(\@r, 'x_chord', action => 'snapshot'))[0] });
ok($chord, 'the main thread has recorded it');
is(scalar only(\@r, 'x_deliver', input_seq => $chord->{input_seq}), 0, 'and swallowed');

# The main thread hangs in one request.
my ($LINE_WIDTH, $LINE_STYLE, $DASHES, $ON_OFF_DASH) = (1 << 4, 1 << 5, 1 << 21, 1);
my $slow = $c->id;
$c->request(
	XClient::CREATE_GC, 0, $slow, $w, $LINE_WIDTH | $LINE_STYLE | $DASHES, 200,
	$ON_OFF_DASH,       1
);
$c->sync;
my $before_ns = now_ns();
$c->request(
	XClient::POLY_ARC, 0, $w, $slow,
	map { \$c->pack('ssSSss', $_, $_, 600, 500, 0, 360 * 64) } 1 .. 25
);
await(sub { $head = (records($peer, 0))[-1]; $head->{cur_start_ns} > $before_ns });
cmp_ok($head->{cur_start_ns}, '>', $before_ns, 'the main thread is in a request');
my $hung_ns = $head->{cur_start_ns};
chord('minus');
ok(wait_for($peer, qr/^trigger 0 arg=2/), 'the hot-key triggers all the same');
SKIP: {
	$head = (records($peer, 0))[-1];
	skip 'the request was over too soon on this machine', 1 if $head->{cur_start_ns} != $hung_ns;
	is($head->{cur_major}, XClient::POLY_ARC, 'while the request is still being executed');
}
is(
	scalar only([ inputs() ], 'x_chord', action => 'snapshot'), 2,
	'the input thread has recorded both hot-keys'
);
SKIP: {
	$c->request(XClient::GET_INPUT_FOCUS, 0);
	skip 'the request takes more than 90 s here', 2 if !eval { $c->reply(90); 1 };
	is(
		wait_for($peer, qr/^trigger/, 1), undef,
		'when the main thread comes to it, it does not trigger again'
	);
	@r = settled($peer, 0);
	is(scalar only(\@r, 'x_chord', action => 'snapshot'), 2, 'but records it');
}

# Another layout: the key that bears the symbol now is another, for the input thread, too.
SKIP: {
	skip 'setxkbmap is not installed', 2 if !grep { -x "$_/setxkbmap" } split /:/, $ENV{PATH};
	{ local %ENV = (%ENV, $x->env); system(qw(setxkbmap de)) == 0 or fail('setxkbmap de') }
	sleep 0.3;
	my $before_ns = now_ns();
	chord('minus');
	my $between_ns = now_ns();
	chord('slash');
	my @chords = await(sub { chords_since('snapshot', $between_ns) });
	ok(
		$chords[0],
		'in another layout the key that bears the symbol is the hot-key for the input thread'
	);
	is(chords_since('snapshot', $before_ns), 1, 'and the old one, pressed before it, is not');
	wait_for($peer, qr/^trigger 0 arg=2/);
	{ local %ENV = (%ENV, $x->env); system(qw(setxkbmap us)) }
	sleep 0.3;
}

# The other chords.
chord('F1');
ok(wait_for($peer, qr/^trigger 0 arg=1/), 'one that starts recording is passed on');
chord('F2');
key(1, 'a', CLOCK_MONOTONIC);
key(0, 'a', CLOCK_MONOTONIC);
chord('F3');
# Both threads have come to the second of these chords: what was pressed between them is behind
# them.
my $both = sub {
	my ($action) = @_;
	return map { (only([ $_->() ], 'x_chord', action => $action))[0] } \&inputs,
		sub { records($peer, 0) }
};
await(
	sub {
		2 == grep {$_} $both->('default_input');
	}
);
my ($off, $off_main) = map { $_->{ts_ns} } $both->('no_input');
my ($on,  $on_main)  = map { $_->{ts_ns} } $both->('default_input');
ok($off && $off_main && $on && $on_main, 'so are those for no input, and for input as by default');
is(
	scalar(grep { $_->{ts_ns} > $off && $_->{ts_ns} < $on } only([ inputs() ], 'x_input')), 0,
	'after the one for no input the input thread records none'
);
is(
	scalar(
		grep { $_->{ts_ns} > $off_main && $_->{ts_ns} < $on_main }
			only([ records($peer, 0) ], 'x_device', kind => 'key_press')
	),
	0,
	'nor does the main thread'
);
key(1, 'a', CLOCK_MONOTONIC);
my ($press, $main) = pressed($stamp_ns);
key(0, 'a', CLOCK_MONOTONIC);
ok($press, 'until the one that has them recorded again');
ok($main,  'by the main thread, too');
$x->stop;
ok(wait_for($peer, qr/^gone 0/), 'the server ends in order');

# Not swallowed: the client gets the key, too.
$x = Tipme::Display->new(
	kind    => 'Xorg', hooks => hooks(), rundir => $peer->{dir}, evdev => $device,
	env     => { LD_PRELOAD => "$dir/evdev-device.so" },
	options => { Swallow    => 'false' }
);
ok(wait_for($peer, qr/^hello 1/), 'another server, that does not swallow');
$c = XClient->new($x);
$c->window(width => 1280, height => 800);
chord('minus');
ok(wait_for($peer, qr/^trigger 1 arg=2/), 'its hot-key triggers');
($chord) = await(sub { @r = settled($peer, 1); (only(\@r, 'x_chord'))[0] });
ok(
	$chord && only(\@r, 'x_deliver', kind => 'key_press', input_seq => $chord->{input_seq}),
	'and its key is delivered'
);
$x->stop;
done_testing();

sub now_ns { return int(1e9 * clock_gettime(CLOCK_MONOTONIC)) }
sub inputs { return input_records($peer, 0) }

# The press of a key that was stamped at that time or a little later, as the input thread has it,
# and as the main thread has it: when both have come to it.
sub pressed {
	my ($since_ns) = @_;
	my ($press, $main);
	await(
		sub {
			($press) =
				grep { $_->{kernel_ns} > $since_ns - 2_000_000 }
				only([ inputs() ], 'x_input', kind => 'key_press')
				or return;
			($main) = grep { $_->{ts_ns} > $press->{ts_ns} }
				only([ records($peer, 0) ], 'x_device', kind => 'key_press', is_master => 0);
			return $main;
		}
	) or BAIL_OUT('a key press is not recorded');
	return ($press, $main);
}

# How many hot-keys for this the input thread has recorded since.
sub chords_since {
	my ($action, $ns) = @_;
	return scalar grep { $_->{ts_ns} > $ns } only([ inputs() ], 'x_chord', action => $action);
}

# What the kernel hands out for one change of a key: the event and the report that ends it.
sub key {
	my ($pressed, $name, $clock) = @_;
	$stamp_ns = now_ns() - 5_000_000;
	my $t = clock_gettime($clock) - 0.005;
	$stamp_to_ns = now_ns() - 5_000_000;
	my @time = (int $t, int(1e6 * ($t - int $t)));
	my ($EV_SYN, $EV_KEY) = (0, 1);
	syswrite $keys,
		pack('q q S S l', @time, $EV_KEY, $CODE{$name}, $pressed)
		. pack('q q S S l', @time, $EV_SYN, 0, 0);
	return;
}

sub chord {
	my ($last) = @_;
	for ([ 1, 'Ctrl' ], [ 1, 'Alt' ], [ 1, $last ], [ 0, $last ], [ 0, 'Alt' ], [ 0, 'Ctrl' ]) {
		key(@$_, CLOCK_MONOTONIC);
		sleep 0.02;
	}
	return;
}
