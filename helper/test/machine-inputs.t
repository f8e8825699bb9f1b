#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What the state of the machine says of input devices: the bus of each, and whether the device that
# it belongs to sleeps to save power. They are made up, in a view of /sys that only we have.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use File::Path qw(make_path);
use JSON::PP   ();
use Test::More;
use Tipme::TestDaemon qw(slurp);

my ($SYS_UNSHARE, $CLONE_NEWNS) = (272, 0x20000);
my $DEVICES = '/sys/devices/virtual';

plan skip_all => 'recording needs root (run it with sudo)' if $>;
plan skip_all => 'a part of all tests (TIPME_TEST_ALL=1)'  if !$ENV{TIPME_TEST_ALL};
plan skip_all => 'no view of files of our own may be made here'
	if syscall($SYS_UNSHARE, $CLONE_NEWNS)
	|| system('mount --make-rprivate / 2> /dev/null')
	|| grep { system "mount -t tmpfs input $_ 2> /dev/null" } '/sys/class', $DEVICES;

# number => [ bus, as the kernel counts them; folder of the device; what saves power there ]
my %made = (
	3 => [ '0003', 'usb1/1-4/1-4:1.0/input/input7',        'usb1/1-4', 'auto', 2000 ],
	4 => [ '0005', 'usb1/1-5/bluetooth/hci0/input/input8', 'usb1/1-5', 'on',   -1000 ],
	5 => [ '0011', 'serio0/input/input2' ],
);
for my $n (sort keys %made) {
	my ($bus, $at, $saves, $control, $after_ms) = @{ $made{$n} };
	make_path("$DEVICES/$at/id", '/sys/class/input/' . "event$n");
	put("$DEVICES/$at/id/bustype", $bus);
	put("$DEVICES/$at/name",       "Keyboard of somebody $n");
	symlink "$DEVICES/$at", "/sys/class/input/event$n/device" or die "event$n: $!\n";
	next if !defined $saves;
	make_path("$DEVICES/$saves/power");
	put("$DEVICES/$saves/power/control",              $control);
	put("$DEVICES/$saves/power/autosuspend_delay_ms", $after_ms);
}
my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 30 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'it starts' or BAIL_OUT("no recorder: $err");
my $episode = (split /\n/, ($d->snap)[1])[1];
my $text    = slurp("$episode/manifest.json");
is_deeply(
	JSON::PP->new->utf8->decode($text)->{state}{inputs},
	[
		{ device => 'event3', bus => 'usb', power => 'auto', sleeps_after_ms => 2000 },
		{ device => 'event4', bus => 'bluetooth', power => 'on' },
		{ device => 'event5', bus => 'ps2' },
	],
	'each with its bus, and what saves power above it'
);
unlike $text, qr/Keyboard of/, 'no name';
$d->stop;
done_testing();

sub put {
	my ($file, $text) = @_;
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} "$text\n";
	close $h or die "$file: $!\n";
	return;
}
