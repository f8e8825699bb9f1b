#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Whatever is at the other end of the socket - nobody, somebody late, somebody deaf, a trap - the
# server serves its clients.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use IO::Socket::UNIX;
use Socket      qw(SOCK_STREAM);
use Time::HiRes qw(sleep);
use Live;
use XClient;

need(qw(Xorg Xvfb));

# nobody, then somebody, then somebody else in his place
my $dir = rundir();
my ($server, $c);
my $x    = $server = Tipme::Display->new(kind => 'Xorg', hooks => hooks(), rundir => $dir);
my $keys = Tipme::Typist->new(socket => $x->keyboard);
$c = XClient->new($x);
$c->window(width => 1280, height => 800);
$keys->chord('Ctrl+Alt+minus');
served('nobody listens and the hot-key is pressed');
my @own;
await(sub { @own = glob $x->dir . '/tipme-x-*.rec' });
is(scalar @own,              1,    'the server saves its own records');
is((stat $own[0])[2] & 0777, 0600, 'for its own user only');
my $own = do { open my $f, '<:raw', $own[0] or die $!; local $/; <$f> };
my ($magic, $source, $body) = unpack 'a8 x12 L< x24 Q<', $own;
is_deeply(
	[ $magic, $source, $body ], [ 'TIPMEREC', 4, length($own) - 64 ],
	'in a whole record file of the X source'
);

my $peer = peer_start($dir);
ok(wait_for($peer, qr/^hello 0/),   'one who comes later gets the ring');
ok(wait_for($peer, qr/^trigger 0/), 'and the hot-key that was pressed before');
my @r = records($peer, 0);
is((pop @r)->{chords},          1, 'which the ring has as well');
is(scalar only(\@r, 'x_chord'), 1, 'as a record');

syswrite $peer->{in}, "drop 0\n";
ok(wait_for($peer, qr/^hello 1/), 'when the connection is cut, the server offers the ring again');
finish();
served('the listener has died');
$peer = peer_start($dir);
ok(wait_for($peer, qr/^hello 0/), 'its successor gets the ring');

# one who accepts and does not read: the socket fills up
syswrite $peer->{in}, "deaf\n";
for (1 .. 400) {
	$keys->press($_)   for qw(Ctrl Alt minus);
	$keys->release($_) for qw(minus Alt Ctrl);
}
$keys->sync;
served('the listener does not read and the hot-key was pressed 400 times');
syswrite $peer->{in}, "hear\n";
ok(wait_for($peer, qr/^trigger 0/), 'when it reads again, the trigger is there');
@r = records($peer, 0);
is((pop @r)->{chords}, 401, 'no hot-key is lost in the ring');
kill 'STOP', $peer->{pid};
$keys->chord('Ctrl+Alt+minus');
served('the listener is stopped');
kill 'CONT', $peer->{pid};
finish();
undef $keys;
$x->stop;

# places in which no socket of ours can be, or anybody's
my %trap = (
	'does not exist' => sub { return "$_[0]/nowhere" },
	'is a file'      => sub { open my $f, '>', "$_[0]/file" or die $!; return "$_[0]/file" },
	'is closed to the server'   => sub { mkdir "$_[0]/shut", 0700 or die $!; return "$_[0]/shut" },
	'is longer than an address' => sub { return "$_[0]/" . 'x' x 200 },
	'is empty'                  => sub { return '' },
	'holds a file of that name' =>
		sub { open my $f, '>', "$_[0]/tipmed.sock" or die $!; return $_[0] },
	'holds a fifo of that name' => sub { POSIX::mkfifo("$_[0]/tipmed.sock", 0666);   return $_[0] },
	'holds a link to itself'    => sub { symlink 'tipmed.sock', "$_[0]/tipmed.sock"; return $_[0] },
	'holds a stream socket that nobody accepts' => sub {
		my ($d) = @_;
		our $listener =
			IO::Socket::UNIX->new(Type => SOCK_STREAM, Local => "$d/tipmed.sock", Listen => 1)
			or die $!;
		chmod 0666, "$d/tipmed.sock";
		return $d;
	},
);
for my $what (sort keys %trap) {
	my $rundir = $trap{$what}->(rundir());
	$server = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $rundir);
	$c      = XClient->new($server);
	served("RunDir $what");
	$server->stop;
}

SKIP: {
	skip 'only root can start the server as somebody else', 2 if $> != 0;
	my $open = rundir();
	chmod 0777, $open;
	my $trap = peer_start($open);
	$server = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $open);
	$c      = XClient->new($server);
	served('anybody could have put the socket there');
	is(wait_for($trap, qr/^hello/, 2.5), undef, 'who gets nothing');
	$server->stop;
}
done_testing();

# The server answers, and does not burn the CPU meanwhile.
sub served {
	my ($while) = @_;
	# It may have something to do first, as to save its records; who spins comes to no rest.
	my $spent = await(
		sub {
			$c->sync;
			my $before = ticks();
			sleep 0.3;
			$c->sync;
			my $ticks = ticks() - $before;
			return $ticks < 15 && "$ticks ticks";
		}
	);
	ok($spent, "the server serves while $while, and does not spin");
	return;
}

sub ticks {
	my $stat = '/proc/' . $server->pid . '/stat';
	open my $in, '<', $stat or die "$stat: $!";
	my @f = split ' ', (<$in> =~ /\) (.*)/)[0];
	return $f[11] + $f[12];
}
