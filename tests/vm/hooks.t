#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The X server with hooks on real devices of an emulated machine: it is switched away from and back
# to, its screen sleeps and wakes, and one request hangs it while the hot-key is pressed on the
# keyboard, which nobody but the server's input thread can see.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(payload show_console start_recorder hot_key diagnose now pid_of no_complaint);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $payload = payload();
my $program = '/usr/lib/tipme-test/client';
make_path("$payload/usr/lib/tipme-test");
copy("$ENV{TIPME_BUILDDIR}/tests/client", "$payload$program") && chmod 0755, "$payload$program"
	or BAIL_OUT("$program: $!");
my $vm = Tipme::VM->new(kernel => $ENV{TIPME_VM_KERNEL} // '6.12', payload => $payload);
# The recorder itself reads no keyboard: a hot-key that is heard is heard by the hooks.
my $x = start_recorder($vm, '--hotkey none');
subtest 'away from the server and back' => \&consoles;
subtest 'the screen sleeps'             => \&screen_sleeps;
subtest 'one request hangs the server'  => \&hang;
no_complaint($vm);
$vm->close;
done_testing;

sub said {
	return
		scalar $vm->run(
			  'cat /home/user/.local/share/xorg/Xorg.0.log /var/log/Xorg.0.log 2>/dev/null | grep '
			. 'tipme:');
}

# What is typed comes to the terminal's shell, from which it can be read.
sub types {
	my ($what, @keys) = @_;
	my $word = join '', @keys;
	$vm->press(@keys, 'ret');
	ok(
		eval { $vm->wait_for('the keys come to the terminal', "grep -q $word /home/user/typed"); 1 }
		,
		$what
	) or diag $@;
	return;
}

# One press, one episode, which has the server's records, and the input thread's.
sub hot_key_works {
	my ($what) = @_;
	my $episode = hot_key($vm);
	like(
		scalar $vm->run("cat $episode/manifest.json"),
		qr/"trigger" *: *\{[^}]*"kind" *: *"hotkey"/s, "$what: the hot-key saves an episode"
	);
	my $files = $vm->run("ls -l $episode");
	like($files, qr/ x-$x\.rec$/m, "$what: it has the server's records")
		or diag $files,
		scalar $vm->run("cat $episode/manifest.json | head -c 3000; tipme status --json");
	# Refused triggers come of presses that follow each other too closely.
	sleep 12;
	return;
}

sub consoles {
	types('before', qw(b e f));
	for my $time (1 .. 3) {
		show_console($vm, 2);
		sleep 1;
		$vm->press('k');
		show_console($vm, 1);
		sleep 2;
	}
	is(pid_of($vm, 'Xorg'), $x, 'the same server is there');
	types('after it, keys come to its clients', qw(a f t));
	hot_key_works('after it');
	unlike(said(), qr/recording stopped/, 'the hooks have not switched themselves off');
	return;
}

sub screen_sleeps {
	my @ways = ('s activate', 'dpms force standby', 'dpms force suspend', 'dpms force off');
	for my $n (0 .. $#ways) {
		my ($out, $rc) = $vm->run($vm->as_user("xset $ways[$n]"));
		is($rc, 0, "xset $ways[$n]") or diag $out;
		sleep 1;
		# The key that wakes the screen is a key.
		types("$ways[$n]: keys wake it, and come to its clients", ('w') x 2, chr(ord('a') + $n));
	}
	like(scalar $vm->run($vm->as_user('xset q')), qr/Monitor is On/, 'the screen is on again');
	is(pid_of($vm, 'Xorg'), $x, 'the same server is there');
	hot_key_works('after it');
	unlike(said(), qr/recording stopped/, 'the hooks have not switched themselves off');
	return;
}

# The last: the server hangs for minutes.
sub hang {
	# Nothing of what took its time before is to be in the episode: it holds 40 s.
	sleep 45;
	$vm->run($vm->as_user("$program -n painter -g 300 -m 240000 -f 1 >/dev/null 2>\&1 \&"));
	my $client = pid_of($vm, 'painter');
	# Its trial request is over, and the one that hangs the server has begun, when the server does
	# not answer any more.
	$vm->wait_for('the server hangs', '! ' . $vm->as_user('timeout 5 xset q') . ' >/dev/null');
	my $at = now($vm);
	$vm->press('d');
	sleep 6;
	my $episode = hot_key($vm);
	isnt(
		($vm->run($vm->as_user('timeout 3 xset q') . ' >/dev/null'))[1], 0,
		'the episode is there while the server still hangs'
	);
	my $d = diagnose($vm, $episode, $at) or return;
	isnt(($vm->run($vm->as_user('timeout 3 xset q') . ' >/dev/null'))[1], 0, 'so is the verdict');
	like(
		$d->{verdict}{sentence}, qr/painter/,
		"it names whose request it is: $d->{verdict}{sentence}"
	);
	like($d->{verdict}{kind}, qr/^(?:client-queue|server-compute)$/, "kind $d->{verdict}{kind}")
		or diag scalar $vm->run("tipme diagnose $episode --at $at; ls -l $episode");
	$vm->run("kill -KILL $client");
	return;
}
