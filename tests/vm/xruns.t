#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Sound that runs dry on Debian's kernel, with a sound card that is none: `tipme latency xruns`
# tells it, an episode is saved, and its verdict names what kept the player. With TIPME_TEST_ALL=1.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop   qw(payload ok_run no_complaint);
use Tipme::ExactPath qw(exact_path);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

# Writes silence to the first sound card: four parts of 256 ms, all that it takes. An emulator
# beside other work may well be late by a third of a second itself.
my $PLAYER = <<'END';
use constant { FRAGMENT => 0xC004500A, FORMAT => 0xC0045005, STEREO => 0xC0045003, SPEED => 0xC0045002 };
$0 = 'player';
open my $dsp, '>', '/dev/dsp' or die "/dev/dsp: $!\n";
for ([ FRAGMENT, 4 << 16 | 14 ], [ FORMAT, 16 ], [ STEREO, 1 ], [ SPEED, 16000 ]) {
	my $value = pack 'l', $_->[1];
	ioctl $dsp, $_->[0], $value or die "ioctl: $!\n";
}
syswrite $dsp, "\0" x 4096 while 1;
END
# What keeps it, and for how long.
my %CAUSE = (
	stopped         => [ 'kill -STOP $P; sleep 3; kill -CONT $P', qr/./ ],
	'rt-starvation' => [
		'chrt -f 50 taskset -c 1 perl -e \'$0 = "hog"; $e = time + 4; 1 while time < $e\'',
		qr/\bhog\b/
	],
);
my $kernel  = $ENV{TIPME_TEST_KERNELS} // '6.1';
my $payload = payload();
my $said =
	qx{"$ENV{TIPME_SRCDIR}/tests/vm/mkmodules" $kernel "$payload" snd-dummy snd-pcm-oss 2>&1};
$? == 0 or BAIL_OUT($said);
open my $h, '>', "$payload/player.pl" or BAIL_OUT("player: $!");
print {$h} $PLAYER;
close $h;
my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
ok_run($vm, 'modprobe snd-dummy && modprobe snd-pcm-oss && test -e /dev/dsp', 'a sound card');
ok_run($vm, 'echo -1 > /proc/sys/kernel/sched_rt_runtime_us', 'real-time threads are not held');
ok_run($vm, 'tipme start --owner 0',                          'the recorder runs');
$vm->run(
	'taskset -c 1 perl /player.pl > /tmp/player 2>&1 & echo $! > /tmp/pid; tipme latency xruns '
		. '--duration 1000 > /tmp/xruns 2>&1 & echo $! > /tmp/watch');
$vm->wait_for('it plays', 'grep -q RUNNING /proc/asound/card*/pcm0p/sub0/status');

# Each is judged once, and here: an emulator takes half a minute for it.
my %judged;
my $here = tempdir(CLEANUP => 1);
for my $kind (sort keys %CAUSE) {
	my ($command, $who) = @{ $CAUSE{$kind} };
	my $found;
	# An emulator may be late by itself, and one in five seconds is saved.
	for my $try (1 .. 4) {
		$vm->run("sleep 6; P=\$(cat /tmp/pid); $command; sleep 5");
		for my $episode (split ' ', $vm->run('ls -d /var/lib/tipme/0/2* 2>/dev/null')) {
			my $d = $judged{$episode} //= judged($episode) or next;
			next if !$d->{underrun};
			$found = $d
				if $d->{verdict}{kind} eq $kind && $d->{verdict}{sentence} =~ $who;
		}
		last if $found;
	}
	ok($found, "$kind: named") or next;
	is($found->{underrun}{stream}, 'pcmC0D0p', '... of that stream');
	like(
		$found->{verdict}{sentence}, qr/^\S+ \(pid \d+\) did not serve its sound buffer of /,
		'... and of its player'
	);
}
like(
	scalar $vm->run('cat /tmp/xruns'),
	qr/^pcmC0D0p of player \(pid \d+\) ran dry, a buffer of 1024\.0 ms$/m, 'it is said at once'
);
my ($out, $rc) = $vm->run('kill -INT $(cat /tmp/watch); wait $(cat /tmp/watch); echo $?');
$vm->run('kill $(cat /tmp/pid); tipme stop');
no_complaint($vm);
$vm->close;
done_testing;

sub judged {
	my ($episode) = @_;
	my $d = eval {
		my $copy = $vm->fetch($episode, $here);
		Cpanel::JSON::XS->new->decode(
			scalar qx{"$ENV{TIPME_BUILDDIR}/tipme" diagnose "$copy" --json 2>/dev/null});
	} or diag("$episode is not judged: $@"), return;
	note $d->{verdict}{sentence};
	exact_path($d) if $d->{underrun};
	return $d;
}
