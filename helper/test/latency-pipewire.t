#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A player that is stopped while a real PipeWire waits for it: `tipme latency xruns --pipewire`
# tells it, an episode is saved, and its verdict names the player. With TIPME_TEST_ALL=1, and where
# there are pipewire, wireplumber and pw-cat.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use FindBin;
use POSIX ();
use Test::More;
use lib "$FindBin::Bin/lib";
use Tipme::TestDaemon qw(slurp wait_until);
use Time::HiRes       qw(sleep);

plan skip_all => 'a sound server runs only with TIPME_TEST_ALL=1' if !$ENV{TIPME_TEST_ALL};
plan skip_all => 'not root: recording the whole machine needs it' if $>;
my @lacks = grep {
	my $name = $_;
	!grep { -x "$_/$name" } split /:/, $ENV{PATH}
} qw(pipewire wireplumber pw-cat pw-cli pw-dump dbus-run-session);
plan skip_all => "no @lacks here: install pipewire-bin, wireplumber and dbus" if @lacks;

my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $d     = Tipme::TestDaemon->new(args => [ '--post', 1 ]);
my ($started, undef, $why) = $d->start;
plan skip_all => "no recorder: $why" if $started;
my $dir = $d->dir;
mkdir $_, 0700 for map {"$dir/$_"} qw(rt home);
@ENV{qw(XDG_RUNTIME_DIR HOME)} = ("$dir/rt", "$dir/home");
delete @ENV{qw(DISPLAY DBUS_SESSION_BUS_ADDRESS)};

my @running;
my $test = $$;

END {
	if ($$ == $test) {
		local $?;
		kill 'KILL', map { -$_ } @running;
		waitpid $_, 0 for @running;
	}
}

{
	local @ENV{qw(PIPEWIRE_LOG PIPEWIRE_DEBUG)} = ("$dir/log", 3);
	run('pipewire');
}
ok(wait_until(sub { -S "$dir/rt/pipewire-0" }), 'PipeWire runs') or BAIL_OUT(slurp("$dir/log"));
run('dbus-run-session', 'wireplumber');
run(
	'sh', '-c',
	'pw-cli create-node adapter "{ factory.name=support.null-audio-sink node.name=nowhere '
		. 'media.class=Audio/Sink object.linger=true audio.position=[FL,FR] }"; sleep 1000'
);
ok(
	wait_until(
		sub {
			grep { ($_->{'media.class'} // '') eq 'Audio/Sink' } nodes();
		}
	),
	'it has something to play to'
);
wave("$dir/silence.wav", 600);
my $player = run('pw-cat', '--playback', "$dir/silence.wav");
ok(
	wait_until(
		sub {
			grep { ($_->{'node.name'} // '') eq 'pw-cat' && $_->{running} } nodes();
		}
	),
	'a program plays'
);
my $watch = run(
	'sh', '-c',
	"exec '$tipme' latency xruns --duration 900 --pipewire '$dir/log'" . " > '$dir/said' 2>&1"
);
my ($told, $found);
for my $try (1 .. 10) {
	# One in five seconds is saved; who watches must have begun.
	sleep 6;
	kill 'STOP', $player;
	sleep 1;
	kill 'CONT', $player;
	$told = wait_until(
		sub { slurp("$dir/said") =~ /^pipewire-\d+ of pw-cat \(pid $player\) came too late, /m },
		20
	);
	next if !$told;
	wait_until(sub { ($d->status->{saving} // '') eq 'idle' });
	for my $episode (glob $d->library . '/2*') {
		my $o = eval {
			Cpanel::JSON::XS->new->decode(
				scalar qx{"$tipme" diagnose "$episode" --json 2>/dev/null});
		} or next;
		note $o->{verdict}{sentence};
		$found = $o if $o->{underrun} && $o->{verdict}{kind} eq 'stopped';
	}
	last if $found;
}
ok($told, 'a client that is too slow is told') or diag slurp("$dir/said"), slurp("$dir/log");
ok($found, '... and has an episode whose verdict says why');
like(($found->{underrun}{stream} // ''), qr/^pipewire-\d+$/, '... of that node');
is($found->{verdict}{blamed}{pid}, $player, '... and the player');
kill 'INT', $watch;
$d->stop;
done_testing;

# In a group of its own, so that all of it ends.
sub run {
	my (@command) = @_;
	my $pid = fork // die;
	if (!$pid) {
		setpgrp;
		open STDIN,  '<',  '/dev/null';
		open STDOUT, '>>', "$dir/servers";
		open STDERR, '>>', "$dir/servers";
		exec @command or POSIX::_exit(127);
	}
	push @running, $pid;
	return $pid;
}

# Properties of all nodes, and whether they run.
sub nodes {
	my $list = eval { Cpanel::JSON::XS->new->decode(scalar qx{pw-dump 2>/dev/null}) } // [];
	return map {
		{ %{ $_->{info}{props} // {} }, running => ($_->{info}{state} // '') eq 'running' }
		}
		grep { ($_->{type} // '') eq 'PipeWire:Interface:Node' } @$list;
}

# So many seconds of silence.
sub wave {
	my ($file, $seconds) = @_;
	my $bytes = 48_000 * 4 * $seconds;
	open my $h, '>:raw', $file or die;
	print {$h} 'RIFF', pack('V', 36 + $bytes), 'WAVEfmt ',
		pack('V v v V V v v', 16, 1, 2, 48_000, 192_000, 4, 16), 'data', pack 'V', $bytes;
	truncate $h, 44 + $bytes;
	close $h or die;
	return;
}
