#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Real compositors on headless servers: keys end when the screen has changed, which a witness of its
# pixels confirms; a compositor that stands still is named, and one that does not is not. Two
# compositors by default; all of them with TIPME_TEST_ALL=1.
#   tests/composited.t [NAME ...]   only these; TIPME_COMPOSITED_N: presses of each sort
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep time);
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/tests/lib";
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Stage;
use Tipme::Typist::Session;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the X server hooks or the test client were not built'
	if !-x "$ENV{TIPME_BUILDDIR}/tests/client";
my $witness = "$ENV{TIPME_BUILDDIR}/tests/.libs/screen-witness.so";
plan skip_all => "$witness was not built" if !-r $witness;

my $STOP_S = 0.54;         # so long something stands still
my $WITHIN = 100_000;      # ns between the witness and the end, where that is said to be exact
my $FRAME  = 60_000_000;
# presents: hands whole pictures to the server, which shows them a little later; whole: paints all
# of the screen
my %COMPOSITOR = (
	xcompmgr         => { command => [qw(xcompmgr)] },
	picom            => { command => [qw(picom --config /dev/null --backend xrender)] },
	'picom-glx'      => { command => [qw(picom --config /dev/null --backend glx)], whole => 1 },
	xfwm4            => { command => [qw(dbus-run-session -- xfwm4 --compositor=on --vblank=off)] },
	'xfwm4-xpresent' => {
		command => [qw(dbus-run-session -- xfwm4 --compositor=on --vblank=xpresent)], presents => 1
	},
	mutter   => { command => [qw(dbus-run-session -- mutter --x11)], whole => 1 },
	kwin_x11 => { command => [qw(dbus-run-session -- kwin_x11)],     whole => 1 },
);
my @names = @ARGV ? @ARGV : $ENV{TIPME_TEST_ALL} ? sort keys %COMPOSITOR : qw(picom xcompmgr);
my $N     = $ENV{TIPME_COMPOSITED_N} // ($ENV{TIPME_TEST_ALL} ? 20 : 3);

for my $name (@names) {
	my ($program) = grep { !/^(?:dbus-run-session|--)$/ } @{ $COMPOSITOR{$name}{command} };
	if (!grep { -x "$_/$program" } split /:/, $ENV{PATH}) {
		fail("$name: not installed: apt-get install it, it is in .ci/packages");
		next;
	}
	subtest $name => sub { compositor($name, $program) };
}
done_testing;

sub compositor {
	my ($name, $program) = @_;
	my $dir = tempdir('tipme-witness-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0777, $dir;
	my $stage = Tipme::Stage->new(
		library       => tempdir(CLEANUP => 1),
		recorder_args => [ map { ('--user', $_) } grep { getpwnam $_ } 'daemon' ],
		display       => {
			kind => 'Xvfb', preload => [ copied($witness, $dir) ],
			env  => { TIPME_SCREEN_WITNESS => "$dir/pixels" }
		}
	);
	my $d = $stage->{display};
	$d->spawn(qw(sh -c), 'HOME=$0 XDG_RUNTIME_DIR=$0 exec "$@"', $d->dir,
		@{ $COMPOSITOR{$name}{command} });
	my $client = copied("$ENV{TIPME_BUILDDIR}/tests/client", $stage->{work});
	my $editor = $stage->start_client('tipme-stage', $client, '-m', 600, '-n', 'editor');
	my $pid    = await(sub { process_of($program, $d) }) or return fail("$name runs");
	my %env    = $d->env;
	local @ENV{ keys %env } = values %env;
	# It must have taken the windows over, and the pointer lie on the client's.
	my $keys;
	my $drawn = await(
		sub {
			$keys = eval { Tipme::Typist::Session->new(seed => 3) } or return;
			my $n = changes("$dir/pixels");
			$keys->key('d');
			sleep 0.4;
			return changes("$dir/pixels") > $n;
		}
	);
	ok($drawn, "$name ($pid) runs, and keys reach the client") or return;
	# Where it manages windows, too, the window has the focus when it was clicked on.
	system qw(xdotool click 1);
	sleep 2;
	$keys = Tipme::Typist::Session->new(seed => 3);
	my $type = sub {
		my ($n, $do) = @_;
		my @t;
		for (1 .. $n) { push @t, Tipme::Typist::now_ns(); $do->(); }
		return @t;
	};
	my $key      = sub { $keys->key('d'); sleep 0.35 };
	my $stopping = sub {
		my ($whom) = @_;
		return sub {
			kill 'STOP', $whom;
			sleep 0.02;
			$keys->key('d');
			sleep $STOP_S;
			kill 'CONT', $whom;
			sleep 0.5;
		}
	};

	my %quiet = scene($stage, $type->($N + 2, $key));
	is(join(' ', map { $_->{verdict}{kind} } @{ $quiet{of} }),
		join(' ', ('none') x @{ $quiet{of} }), 'quiet typing: nobody is accused');
	cmp_ok(scalar @{ $quiet{of} }, '>=', $N, '... of ' . @{ $quiet{of} } . ' presses');
	agrees('quiet', $name, "$dir/pixels", @{ $quiet{of} });

	my %stopped = scene($stage, $type->($N, $stopping->($pid)));
	is(scalar(grep { named($_, $pid, 0.95) } @{ $stopped{of} }), $N,
		"the compositor is stopped: it is named with 95 % of it, $N of $N times")
		or told(@{ $stopped{of} });
	agrees('compositor stopped', $name, "$dir/pixels", @{ $stopped{of} });

	my %client = scene($stage, $type->($N, $stopping->($editor)));
	is(scalar(grep { named($_, $editor, 0.9) && part($_, $pid) < 0.05 } @{ $client{of} }), $N,
		"the client is stopped: it is named, the compositor has less than 5 %, $N of $N times")
		or told(@{ $client{of} });

	# Beside a window that draws 60 times a second.
	my $film  = copied("$ENV{TIPME_BUILDDIR}/tests/film", $stage->{work});
	my $other = $d->spawn($film);
	sleep 1;
	my %beside = scene($stage, $type->($N, $stopping->($pid)));
	is(scalar(grep { named($_, $pid, 0.9) } @{ $beside{of} }), $N,
		"beside a film: a stopped compositor is named, $N of $N times")
		or told(@{ $beside{of} });
	%beside = scene($stage, $type->($N + 2, $key));
	is(join(' ', map { $_->{verdict}{kind} } @{ $beside{of} }),
		join(' ', ('none') x @{ $beside{of} }), '... and quiet typing accuses nobody')
		or told(@{ $beside{of} });
	kill 'TERM', $other;
	waitpid $other, 0;
	$stage->close;
	return;
}

# A copy that the server's user can read.
sub copied {
	my ($file, $dir) = @_;
	my ($name) = $file =~ m{([^/]+)\z};
	system('cp', $file, "$dir/$name") == 0 or die "$file: cp to $dir failed\n";
	chmod 0755, "$dir/$name";
	return "$dir/$name";
}

sub await {
	my ($code) = @_;
	my $end = time + 60;
	while (time < $end) { my $v = $code->(); return $v if $v; sleep 0.1 }
	return;
}

# The process of that name that has this display.
sub process_of {
	my ($program, $d) = @_;
	for my $pid (map {m{/proc/(\d+)}} glob '/proc/[0-9]*') {
		open my $in, '<', "/proc/$pid/comm" or next;
		chomp(my $comm = <$in> // '');
		next if $comm ne substr $program, 0, 15;
		open my $e, '<', "/proc/$pid/environ" or next;
		local $/;
		return $pid if grep { $_ eq 'DISPLAY=' . $d->display } split /\0/, <$e> // '';
	}
	return;
}

sub changes { my ($file) = @_; open my $in, '<', $file or return 0; my $n = () = <$in>; return $n }

# Saves what was typed since the last scene, and judges each press: of => [ diagnoses ]
sub scene {
	my ($stage, @ns) = @_;
	my @old = $stage->episodes;
	$stage->command('snap', '-m', 'scene');
	my $episode = $stage->new_episode(@old);
	my $d       = Tipme::Diagnosis->new(Tipme::Episode->open($episode));
	# Others may type elsewhere on this machine.
	my @press = grep {
			   $_->{kind} eq 'key_press'
			&& $_->{device_ns} >= $ns[0]
			&& $_->{server}{pid} == $stage->{display}->pid
	} $d->events;
	return (episode => $episode, of => [ map { $d->run(event => $_->{n}) } @press ]);
}

sub named {
	my ($d, $pid, $share) = @_;
	my $v = $d->{verdict};
	return ($v->{blamed} // {})->{pid} && $v->{blamed}{pid} == $pid && part($d, $pid) >= $share;
}

# What part of its interval is charged to a process.
sub part {
	my ($d, $pid) = @_;
	my $ns = 0;
	$ns += $_->{ns} for grep { ($_->{pid} // 0) == $pid } @{ $d->{totals}{blamed} };
	return $d->{interval}{duration_ns} ? $ns / $d->{interval}{duration_ns} : 0;
}

sub told {
	diag "$_->{verdict}{kind} $_->{interval}{certainty} $_->{verdict}{sentence}" for @_;
	return;
}

# Where the end is said to be exact, the pixels say the same; elsewhere it is within a frame.
sub agrees {
	my ($what, $name, $file, @of) = @_;
	open my $in, '<', $file or return fail("$file: $!");
	my @seen = map { [ split ' ' ] } <$in>;
	my ($exact, $near, $n, @off) = (0, 0, 0);
	for my $d (grep { $_->{interval} && $_->{interval}{certainty} ne 'open' } @of) {
		my ($from, $end) = @{ $d->{interval} }{qw(start_ns end_ns)};
		my ($next) = sort { $a <=> $b } grep { $_ > $from } map { $_->{interval}{start_ns} } @of;
		# The last change that the answer brought: the client draws in one piece.
		my ($change) = grep { $_->[0] > $from && (!defined $next || $_->[0] < $next) } @seen;
		next if !$change;
		$n++;
		my $off = $end - $change->[0];
		my $is =
			($d->{interval}{certainty} eq 'exact' || $d->{event}{stages}[-1]{certainty} eq 'exact');
		push @off, sprintf '%.3f%s', $off / 1e6, $is ? '' : '?';
		$exact++ if abs $off <= $WITHIN;
		$near++  if abs $off <= $FRAME;
	}
	note "$name, $what: ms after the pixels (?: inferred): @off";
	is($near,  $n, "$what: each end is within a frame of the pixels") or diag "@off";
	is($exact, $n, "$what: ... within 0.1 ms of them")
		or diag "@off"
		if !$COMPOSITOR{$name}{whole} && !$COMPOSITOR{$name}{presents};
	return;
}
