#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Which compositors are recorded: those of the owner alone, whose library nobody but root can
# change. A library that is replaced is watched, too; what a killed recorder leaves behind is
# nothing.
use strict;
use warnings;
no warnings 'portable';    # addresses
use Fcntl      qw(SEEK_SET);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/helper/test/lib", "$ENV{TIPME_SRCDIR}/tests/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::TestDaemon qw(gone);
use Tipme::WaylandStage;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $lacks = Tipme::WaylandStage->lacks;
plan skip_all => "$lacks is not installed" if defined $lacks;
my ($system) = glob '/usr/lib/*/libwayland-server.so.0' or plan skip_all => 'no libwayland-server';
use constant { OTHER => 2, DELIVER => 96 };

# Not below /tmp, which may be mounted nosuid.
my $dir = tempdir('tipme-library-XXXXXX', DIR => '/var/tmp', CLEANUP => 1);
chmod 0755, $dir;
my %library = map { $_ => "$dir/$_" } qw(trusted untrusted);
for (values %library) { mkdir $_, 0755; library_put($_) }
chown OTHER, OTHER, "$library{untrusted}/libwayland-server.so.0";

my $d = Tipme::TestDaemon->new(args => [ '--owner', Tipme::WaylandStage::NOBODY, '--post', 0 ]);
my ($rc, $out) = $d->start('--wayland-library', "$library{untrusted}/libwayland-server.so.0");
is($rc, 0, 'the recorder starts');
like(
	$out,
	qr{limited: Wayland compositors that use \Q$library{untrusted}\E\S* are not recorded: others than root can change it},
	'a library that others can change is refused aloud'
);
$d->stop;

($rc, $out) = $d->start('--wayland-library', "$library{trusted}/libwayland-server.so.0");
unlike($out, qr/Wayland compositors/, 'one that only root can change is not');
my %stage = (
	own       => Tipme::WaylandStage->new,
	another   => Tipme::WaylandStage->new(uid     => OTHER),                 # a second seat
	untrusted => Tipme::WaylandStage->new(library => $library{untrusted}),
	old       => Tipme::WaylandStage->new(library => $library{trusted}),
);
# A package manager puts the new file in the place of the old one, which runs on.
my ($at, $byte) = probed_byte($stage{old}->compositor, $library{trusted});
library_put($library{trusted});
sleep 6;    # the recorder looks each five seconds
$stage{new} = Tipme::WaylandStage->new(library => $library{trusted});
$stage{$_}->terminal('/bin/sh') for sort keys %stage;
$stage{$_}->type('ab')          for sort keys %stage;
my %pressed = pressed();
my %of      = map { $_ => $pressed{ $stage{$_}->compositor } // 0 } keys %stage;
is($of{own},       2, 'keys of the owner are recorded');
is($of{another},   0, 'those of another user, on another seat, are not');
is($of{untrusted}, 0, 'nor what passes through a library that somebody else can change');
is($of{old},       2, 'the library was replaced: who runs with the old one is recorded as before');
is($of{new},       2, '... and so is who was started since');

is($byte, 0xcc, 'a function of the compositor is probed') if defined $byte;
kill 'KILL', $d->pid;
Tipme::TestDaemon::wait_until(sub { gone($d->pid) });
$stage{old}
	->wait_for(sub { (byte_at($stage{old}->compositor, $at) // 0) != 0xcc }, 'the end of the probe')
	if defined $at;
isnt(byte_at($stage{old}->compositor, $at), 0xcc, 'the recorder was killed: no probe is left');
$stage{old}->type('a');
ok(kill(0, $stage{old}->compositor), '... and the compositor goes on');
$_->close for values %stage;
done_testing;

sub library_put {
	my ($folder) = @_;
	copy($system, "$folder/new") && chmod 0644, "$folder/new" or BAIL_OUT("$folder: $!");
	rename "$folder/new", "$folder/libwayland-server.so.0";
	return;
}

# { compositor => presses that it was seen to send }
sub pressed {
	my ($status, $id, $why) = $d->snap;
	is($status, 0, 'saved') or BAIL_OUT($why);
	my ($folder) = $id =~ m{^(/.*)$}m;
	$stage{own}->wait_for(sub { -e "$folder/manifest.json" }, 'the episode');
	my $ev = Tipme::KernelEvents->load_only(Tipme::Episode->open($folder), DELIVER);
	my %n;
	for my $i (0 .. $ev->count - 1) {
		my (undef, $tid, undef, undef, undef, $more) = $ev->columns($i);
		$n{$tid}++ if ($more & 0xffff) == 0x0101;
	}
	return %n;
}

# (address, byte) of the first breakpoint in the code that a process has mapped of a library
sub probed_byte {
	my ($pid, $folder) = @_;
	open my $maps, '<', "/proc/$pid/maps" or return;
	my ($from, $to) = map { /^(\w+)-(\w+) r-xp .*\Q$folder\E/ ? (hex $1, hex $2) : () } <$maps>;
	open my $plain, '<:raw', "$folder/libwayland-server.so.0" or return;
	return if !defined $from;
	open my $mem, '<:raw', "/proc/$pid/mem" or return;
	my $code = '';
	sysseek $mem, $from, SEEK_SET;
	sysread $mem, $code, $to - $from;
	local $/;
	my $file = <$plain>;
	# Where the mapping differs from the file.
	my $begin = index $file, substr $code, 0, 64;
	for my $k (0 .. length($code) - 1) {
		return ($from + $k, 0xcc)
			if ord(substr $code, $k, 1) == 0xcc && ord(substr $file, $begin + $k, 1) != 0xcc;
	}
	return ($from, ord substr $code, 0, 1);
}

sub byte_at {
	my ($pid, $at) = @_;
	return if !defined $at;
	open my $mem, '<:raw', "/proc/$pid/mem" or return;
	sysseek $mem, $at, SEEK_SET;
	return sysread($mem, my $byte, 1) ? ord $byte : undef;
}
