#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Exact sight inside the stock Xorg, from keys that its input thread reads as from a kernel's
# device: one key in xterm with all its stages; a client that grabs the server, one that floods it
# with requests, one whose single request hangs it while the hot-key is pressed: each is named.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use POSIX      ();
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/tests/lib";
use Tipme::Drawn     qw(in_turn);
use Tipme::ExactPath qw(exact_path);
use Tipme::Stage;
use Tipme::Witness qw(undisturbed);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $shim = "$ENV{TIPME_BUILDDIR}/xserver-hooks/test/.libs/evdev-device.so";
plan skip_all => 'the X server hooks or the test client were not built'
	if !-x "$ENV{TIPME_BUILDDIR}/tests/client" || !-r $shim;
plan skip_all => 'the evdev driver of Xorg is not installed'
	if !grep { -e "$_/input/evdev_drv.so" } qw(/usr/lib/xorg/modules /usr/lib64/xorg/modules);

my %CODE = (Ctrl => 29, Alt => 56, minus => 12, a => 30, d => 32);
my $dir  = tempdir('tipme-keys-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
POSIX::mkfifo("$dir/event", 0666) && chmod 0666, "$dir/event" or BAIL_OUT("$dir/event: $!");
copy($shim, "$dir/evdev-device.so") or BAIL_OUT("$shim: $!");
open my $keys, '+<:raw', "$dir/event" or BAIL_OUT("$dir/event: $!");
my $stage = Tipme::Stage->new(
	library => tempdir(CLEANUP => 1),
	display => { evdev => "$dir/event", env => { LD_PRELOAD => "$dir/evdev-device.so" } }
);
my $program = "$stage->{work}/client";
copy("$ENV{TIPME_BUILDDIR}/tests/client", $program) && chmod 0755, $program or BAIL_OUT('client');
# What else this machine does is not the story.
my $realtime = system('chrt -f 60 true 2>/dev/null') == 0;
chrt(60, $$);
chrt(40, $stage->{display}->pid);

my $xterm = $stage->start_terminal;
chrt(10, $xterm);
subtest 'one key in xterm' => \&one_key;
$stage->end_client($xterm);
my $editor = $stage->start_client('tipme-stage', $program, '-n', 'editor');
chrt(10, $editor);
$stage->restart_recorder;
type(qw(d d d));
my %story = (
	'a client grabs the server' => sub {
		story($_[0], 'server-grab', 'screenlock', [ '-g', 300, '-m', 800 ], 0.6);
	},
	'a client floods the server with requests' => sub {
		story(
			$_[0],     qr/^(?:client-queue|server-compute)$/,
			'painter', [ '-g', 300, '-m', 2500, '-f', 10 ], 1.2
		);
	},
	'one request hangs the server while the hot-key is pressed' => sub { subtest $_[0] => \&hang },
);
$story{$_}->($_) for in_turn(2, 'stories', sort keys %story);
$stage->close;
done_testing;

# The person's key: stamped now, as the kernel would.
sub stroke {
	my ($name, $pressed) = @_;
	my $t    = clock_gettime(CLOCK_MONOTONIC);
	my @time = (int $t, int(1e6 * ($t - int $t)));
	my ($EV_SYN, $EV_KEY) = (0, 1);
	syswrite $keys,
		pack('q q S S l', @time, $EV_KEY, $CODE{$name}, $pressed)
		. pack('q q S S l', @time, $EV_SYN, 0, 0);
	return int 1e9 * $t;
}

sub type {
	my (@names) = @_;
	my $last;
	for my $name (@names) {
		$last = stroke($name, 1);
		sleep 0.05;
		stroke($name, 0);
		sleep 0.25;
	}
	return $last;
}

sub chord {
	for ([ Ctrl => 1 ], [ Alt => 1 ], [ minus => 1 ], [ minus => 0 ], [ Alt => 0 ], [ Ctrl => 0 ]) {
		stroke(@$_);
		sleep 0.03;
	}
	return;
}

sub chrt {
	my ($priority, $pid) = @_;
	return $realtime && system('chrt', '-a', '-f', '-p', $priority, $pid) == 0;
}

sub one_key {
	my $pressed_ns;
	my $d = undisturbed(
		sub {
			my @old = $stage->episodes;
			type(qw(a a a));
			$pressed_ns = type('a');
			chord();
			return $stage->diagnose($stage->new_episode(@old), '--at', $pressed_ns / 1e9);
		}
	);
	my @stages = @{ $d->{event}{stages} };
	is_deeply(
		[ grep { $_ ne 'server' } map { $_->{name} } @stages ],
		[qw(input read device deliver client request feedback)], 'all stages are there'
	) or diag explain \@stages;
	is(scalar(grep { $_->{certainty} ne 'exact' } @stages), 0, 'all of them exact');
	cmp_ok(
		abs($stages[0]{ts_ns} - $pressed_ns), '<', 2000,
		'the first is the time that the kernel had put on it'
	);
	is(
		scalar(grep { $stages[$_]{ts_ns} < $stages[ $_ - 1 ]{ts_ns} } 1 .. $#stages), 0,
		'they follow each other'
	);
	is(
		$d->{interval}{duration_ns}, $stages[-1]{ts_ns} - $stages[0]{ts_ns},
		'and add up to the response'
	);
	my %kinds = %{ $d->{totals}{kinds} };
	note join ', ',
		map { sprintf '%s %.3f ms', $_, $kinds{$_} / 1e6 }
		sort { $kinds{$b} <=> $kinds{$a} } keys %kinds;
	exact_path($d);
	return;
}

sub story {
	my ($what, $kind, $comm, $args, $wait) = @_;
	subtest $what => sub {
		my $pressed_ns;
		my $d = undisturbed(
			sub {
				my @old = $stage->episodes;
				my $pid = $stage->{display}->spawn($program, '-n', $comm, @$args);
				sleep $wait;
				$pressed_ns = stroke('d', 1);
				sleep 0.05;
				stroke('d', 0);
				waitpid $pid, 0;
				sleep 0.3;
				chord();
				return $stage->diagnose($stage->new_episode(@old), '--at', $pressed_ns / 1e9);
			}
		);
		like(
			$d->{verdict}{kind}, ref $kind ? $kind : qr/^\Q$kind\E$/,
			"verdict: $d->{verdict}{sentence}"
		);
		is($d->{verdict}{blamed}{comm}, $comm, "blamed: $comm");
		cmp_ok(
			abs($d->{interval}{start_ns} - $pressed_ns), '<', 2000,
			'the wait begins when the kernel had the key'
		);
		exact_path($d);
	};
	return;
}

sub hang {
	$stage->restart_recorder;
	type(qw(d d));
	my @old = $stage->episodes;
	my $pid = $stage->{display}->spawn($program, '-n', 'painter', '-g', 300, '-m', 12000, '-f', 1);
	sleep 1.5;
	my $pressed_ns = stroke('d', 1);
	sleep 0.05;
	stroke('d', 0);
	sleep 0.7;
	chord();
	my $episode = $stage->new_episode(@old);
	is(waitpid($pid, POSIX::WNOHANG()), 0, 'the episode is there while the server still hangs');
	my $d = $stage->diagnose($episode);
	is(waitpid($pid, POSIX::WNOHANG()), 0, 'so is the verdict');
	like(
		$d->{verdict}{sentence}, qr/painter/,
		"it names whose request it is: $d->{verdict}{sentence}"
	);
	like($d->{verdict}{kind}, qr/^(?:client-queue|server-compute)$/, "kind $d->{verdict}{kind}");
	waitpid $pid, 0;
	return;
}
