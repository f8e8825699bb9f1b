#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Causes that the demo does not stage: a client that hangs while the key is pressed. And, with
# TIPME_TEST_ALL=1, those that tests/lab/lab.t, tests/xserver.t and tests/lab/quiet.t stage, too: a
# client that computes or sleeps, a grabbed server, and nothing at all.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/tests/lib";
use Tipme::ExactPath qw(exact_path);
use Tipme::Stage;
use Tipme::Typist;
use Tipme::Witness qw(undisturbed);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the X server hooks or the test client were not built'
	if !-x "$ENV{TIPME_BUILDDIR}/tests/client";

# The server runs as nobody, whom the build tree may be closed to.
my $stage = Tipme::Stage->new(
	library       => tempdir(CLEANUP => 1), seed => 5,
	recorder_args => [ map { ('--user', $_) } grep { !$> && getpwnam $_ } 'daemon' ]
);
my $client_program = "$stage->{work}/client";
system('cp', "$ENV{TIPME_BUILDDIR}/tests/client", $client_program) == 0 or BAIL_OUT('cp');
my $client = $stage->start_client('tipme-stage', $client_program, '-m', 600, '-n', 'editor');
$stage->start_typist;
$stage->type_lines('sleep 0.5', 'type dddd');
$stage->pressed(4);

if ($ENV{TIPME_TEST_ALL}) {
	story('the client computes', [ 'key c', 'sleep 1.2' ], 1, 'app-compute', 'editor');
	story('the client sleeps',   [ 'key s', 'sleep 1.2' ], 1, 'timer-sleep', 'editor');
	story(
		'another client grabs the server',
		[ 'sleep 0.5', 'key d', 'sleep 1.3' ],
		1,
		'server-grab',
		'screenlock',
		sub {
			$stage->{display}->spawn($client_program, '-g', 300, '-m', 800, '-n', 'screenlock');
		}
	);
}
story(
	'the client hangs while the hot-key is pressed',
	[ 'sleep 0.3', 'key d', 'sleep 0.9' ],
	1,
	'stopped',
	'editor',
	sub { kill 'STOP', $client },
	sub {
		my ($d) = @_;
		like($d->{interval}{certainty}, qr/open/, '... and the interval is open');
	}
);
if ($ENV{TIPME_TEST_ALL}) {
	# The recorder keeps 40 s: what came before must be out of the way, or the worst of the ring is
	# still the old one.
	story('nothing unusual', [ 'type ddddd', 'sleep 0.5' ], 5, 'none', undef, undef, undef, 1);
}
$stage->close;
done_testing;

sub story {
	my ($what, $lines, $presses, $kind, $comm, $cause, $more, $fresh) = @_;
	subtest $what => sub {
		my $d = undisturbed(sub { told($lines, $presses, $cause, $fresh) });
		is($d->{verdict}{kind},         $kind, "verdict: $d->{verdict}{sentence}");
		is($d->{verdict}{blamed}{comm}, $comm, "blamed: $comm") if defined $comm;
		exact_path($d);
		$more->($d) if $more;
		sleep 0.3;
	};
}

# What happens, and what is said of it.
sub told {
	my ($lines, $presses, $cause, $fresh) = @_;
	restart_recorder() if $fresh;
	my @old = $stage->episodes;
	$cause->() if $cause;
	my $t0 = Tipme::Typist::now_ns();
	$stage->type_lines(@$lines, 'chord Ctrl+Alt+minus');
	$stage->pressed($presses + 1);
	my $episode = $stage->new_episode(@old);
	kill 'CONT', $client;
	# The last key before the hot-key is meant: earlier stories are still in the ring.
	return $stage->diagnose($episode, $fresh ? () : ('--at', $t0 / 1e9 + 0.2));
}

sub restart_recorder {
	$stage->restart_recorder;
	$stage->type_lines('sleep 0.5');
}
