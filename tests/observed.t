#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The whole chain on a stock X server, without hooks: an unprivileged observer, a real lag, a true
# verdict, and stages that say that they are inferred.
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
my $observer = "$ENV{TIPME_BUILDDIR}/helper/xclient/tipme-x-observer";
plan skip_all => 'no real-time priority here' if system('chrt -f 60 true 2>/dev/null');
plan skip_all => 'the observer or the test client was not built'
	if !-x $observer || !-x "$ENV{TIPME_BUILDDIR}/tests/client";
for my $program (qw(Xvfb xdotool)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}

my $stage = Tipme::Stage->new(
	library  => tempdir(CLEANUP => 1), display => { kind => 'Xvfb' },
	observer => $observer
);
my $d              = $stage->{display};
my $client_program = "$stage->{work}/client";
copy("$ENV{TIPME_BUILDDIR}/tests/client", $client_program) && chmod 0755, $client_program
	or BAIL_OUT('client');
my $client = $stage->start_client('tipme-stage', $client_program, '-m', 600, '-n', 'editor');
# What else this machine does is not the story.
system('chrt', '-f', '-p', @$_) == 0 or BAIL_OUT('chrt') for [ 10, $client ], [ 40, $d->pid ];
sleep 0.5;    # until the observer has seen the window
type_keys(qw(d d d));
# The client is a real-time process, too: to those above it it loses as an ordinary one does to its
# like.
my %story = (
	'the client computes'  => [ 'app-compute',    'editor', sub { type_keys(q(c)) } ],
	'the client sleeps'    => [ 'timer-sleep',    'editor', sub { type_keys(q(s)) } ],
	'others keep all CPUs' => [ 'cpu-contention', 'hog',    \&starve ],
);
story($_, @{ $story{$_} }) for in_turn(2, 'stories', sort keys %story);
$stage->close;
done_testing;

sub story {
	my ($what, $kind, $comm, $press) = @_;
	subtest $what => sub {
		my $j = undisturbed(
			sub {
				my @old = $stage->episodes;
				my $t0  = clock_gettime(CLOCK_MONOTONIC);
				my $at  = $press->() // $t0 + 0.3;
				sleep 1.3;
				$stage->command('snap');
				return $stage->diagnose($stage->new_episode(@old), '--at', $at);
			}
		);
		is($j->{verdict}{kind},         $kind, "verdict: $j->{verdict}{sentence}");
		is($j->{verdict}{blamed}{comm}, $comm, "blamed: $comm");
		cmp_ok($j->{interval}{duration_ns} / 1e6, '>', 400, 'most of the lag is in the interval');
		is($j->{interval}{certainty},   'inferred', 'the interval is inferred');
		is($j->{event}{server}{source}, 'x_client', 'since the server was observed from outside');
		exact_path($j);
		my %certainty = map { $_->{name} => $_->{certainty} } @{ $j->{event}{stages} };
		is($certainty{$_}, 'inferred', "stage $_ is inferred")
			for qw(device deliver request feedback);
		is($certainty{client}, 'exact', 'stage client is exact: the kernel tells');
		my ($t, $back) = (0, 0);
		for (@{ $j->{event}{stages} }) { $back++ if $_->{ts_ns} < $t; $t = $_->{ts_ns} }
		is($back, 0, 'the stages follow each other') or diag explain $j->{event}{stages};
	};
}

# The keys of a us keyboard, by XTEST: to the server it is a device like others.
sub type_keys {
	my @keys = @_;
	my %env  = $d->env;
	local @ENV{ keys %env } = values %env;
	for my $key (@keys) {
		system('chrt', '-f', 60, 'xdotool', 'key', $key) == 0 or BAIL_OUT('xdotool');
		sleep 0.15;
	}
	return undef;
}

# Real-time processes on every CPU for 0.9 s; who types and the server stand above them, so that the
# key gets in, and we far below. All begin at times that are told them, for it may take a busy
# machine a while to start them. Returns when the key is waiting.
sub starve {
	my %env = $d->env;
	local @ENV{ keys %env } = values %env;
	my $begin = clock_gettime(CLOCK_MONOTONIC) + 3;
	my $until =
		q(use Time::HiRes qw(clock_gettime sleep); sub until_then { my $s = $ARGV[0] - clock_gettime(1); sleep $s if $s > 0 });
	my @started = start(
		qw(chrt -f 60), $^X, '-e', "$until; until_then(); exec qw(xdotool key d)",
		$begin + 0.3
	);
	my $spin = q($0 = 'hog'; until_then(); 1 while clock_gettime(1) < $ARGV[0] + 0.9);
	push @started, start('taskset', '-c', $_, qw(chrt -f 20), $^X, '-e', "$until; $spin", $begin)
		for reverse Tipme::Stage::cpu_numbers();
	waitpid $_, 0 for @started;
	return $begin + 0.5;
}

sub start {
	my @command = @_;
	my $pid     = fork // BAIL_OUT("fork: $!");
	return $pid if $pid;
	exec { $command[0] } @command or POSIX::_exit(127);
}
