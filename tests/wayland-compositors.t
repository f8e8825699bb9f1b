#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Other compositors than that of tests/wayland.t, each in the window of a headless X server: keys
# and pictures are recorded as their own logs have them,
# and whoever stands still is named. With TIPME_TEST_ALL=1 alone; NAME ...: only these;
# TIPME_COMPOSITED_N: presses of each sort
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/helper/test/lib",
	"$ENV{TIPME_SRCDIR}/tests/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::TestDaemon;
use Tipme::WaylandStage;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'minutes on other compositors: with TIPME_TEST_ALL=1 alone'
	if !$ENV{TIPME_TEST_ALL} && !@ARGV;
my $N      = $ENV{TIPME_COMPOSITED_N} // 3;
my $STOP_S = 0.54;
my %NUMBER =
	map { $Tipme::Record::Layout::RECORD{$_}{name} => $_ } keys %Tipme::Record::Layout::RECORD;
# foot 1.13 ends at once where a compositor names no refresh rate.
my %CLIENT = (
	foot              => [qw(foot --config=/dev/null /bin/sh)],
	'weston-terminal' => [qw(weston-terminal --shell=/bin/sh)]
);
my $d = Tipme::TestDaemon->new(args => [ '--owner', Tipme::WaylandStage::NOBODY, '--post', 0 ]);

for my $name (@ARGV ? @ARGV : ('sway', Tipme::WaylandStage->nested, 'xwayland')) {
	my $lacks = Tipme::WaylandStage->lacks($name);
	($lacks) = grep { !installed($_) } qw(Xwayland xterm) if !$lacks && $name eq 'xwayland';
	subtest $name => sub {
		plan skip_all => "$lacks is not installed" if defined $lacks;
		eval { $name eq 'xwayland' ? x_clients() : compositor($name); 1 } or do {
			fail('it goes to its end');
			diag $@;
		};
		$d->stop;
	};
}
done_testing;

sub compositor {
	my ($name) = @_;
	is(($d->start)[0], 0, 'the recorder starts');
	my $stage = Tipme::WaylandStage->new(compositor => $name);
	my $client =
		$stage->client(@{ $CLIENT{ $name eq 'kwin_wayland' ? 'weston-terminal' : 'foot' } });
	sleep 1;
	my ($pid) = $stage->compositor;

	my $quiet = scene(sub { $stage->type('a', apart => 0.35) for 1 .. $N + 2 });
	like_the_log($stage, $quiet->{episode}, $client);
	is(
		join(' ', map { $_->{verdict}{kind} } @{ $quiet->{of} }),
		join(' ', ('none') x @{ $quiet->{of} }), 'quiet typing: nobody is accused'
	) or told(@{ $quiet->{of} });
	cmp_ok(scalar @{ $quiet->{of} }, '>=', $N, '... of ' . @{ $quiet->{of} } . ' presses');

	my $stopped = scene(
		map {
			my $whom = $_;
			sub { while_stopped($stage, $whom) for 1 .. $N }
		} $pid
	);
	is(
		scalar(grep { named($_, $pid, 0.95) } @{ $stopped->{of} }), $N,
		"the compositor is stopped: it is named, with 95 % of that time, $N of $N times"
	) or told(@{ $stopped->{of} });

	in_time($stage, $quiet->{episode});
	my $still = scene(sub { while_stopped($stage, $client) for 1 .. $N });
	is(
		scalar(grep { named($_, $client, 0.95) } @{ $still->{of} }), $N,
		"the client is stopped: it is named, with 95 % of that time, $N of $N times"
	) or told(@{ $still->{of} });
	$stage->close;
	return;
}

# Programs of X in a Wayland session: the compositor knows Xwayland alone, and the wake-ups lead on
# to them.
sub x_clients {
	is(($d->start)[0], 0, 'the recorder starts');
	my $stage   = Tipme::WaylandStage->new;
	my $display = $stage->x_display // die "sway has no X display\n";
	my $before  = $stage->said(qr/wl_surface\@\d+\.commit/);
	my $client  = $stage->spawn({ DISPLAY => $display }, qw(xterm -e /bin/sh));
	$stage->wait_for(sub { $stage->said(qr/wl_surface\@\d+\.commit/) > $before + 1 }, 'xterm');
	sleep 1;
	my $quiet = scene(sub { $stage->type('a' x ($N + 2), apart => 0.3) });
	is(
		join(' ', map { $_->{verdict}{kind} } @{ $quiet->{of} }),
		join(' ', ('none') x @{ $quiet->{of} }), 'quiet typing: nobody is accused'
	) or told(@{ $quiet->{of} });
	my ($server) = map { $_->{event}{client}{pid} } @{ $quiet->{of} };
	is(
		(grep { $_->{event}{client}{comm} ne 'Xwayland' } @{ $quiet->{of} }),
		0, 'the client of the compositor is Xwayland'
	);
	for my $whom ([ 'the X client' => $client ], [ 'Xwayland' => $server ]) {
		my $scene = scene(sub { one_of_four($stage, $whom->[1]) for 1 .. $N });
		my @late  = grep { $_->{interval}{duration_ns} > 0.4e9 } @{ $scene->{of} };
		is(
			scalar(grep { named($_, $whom->[1], 0.95) } @late),
			$N, "$whom->[0] is stopped: it is named, with 95 % of that time, $N of $N times"
		) or told(@{ $scene->{of} });
	}
	$stage->close;
	return;
}

# Three keys, and a fourth while a process is stopped, by one keyboard
sub one_of_four {
	my ($stage, $whom) = @_;
	$stage->begin_typing((map { [ a => 200 ] } 1 .. 3), [ a => 900 ]);
	$stage->pressed(3);
	sleep 0.3;
	kill 'STOP', $whom;
	# A compositor that is stopped sends nothing meanwhile.
	if   ($whom == $stage->compositor) { sleep 0.6 }
	else                               { $stage->pressed(4) }
	sleep $STOP_S;
	kill 'CONT', $whom;
	$stage->typed;
	sleep 0.5;
	return;
}

sub installed {
	my ($p) = @_;
	return grep { -x "$_/$p" } split /:/, $ENV{PATH};
}

sub while_stopped {
	my ($stage, $whom) = @_;
	return one_of_four($stage, $whom) if !$stage->{x};
	kill 'STOP', $whom;
	sleep 0.02;
	$stage->press;
	sleep $STOP_S;
	kill 'CONT', $whom;
	sleep 0.6;
	return;
}

# What was typed since: the diagnosis of each press
sub scene {
	my ($act) = @_;
	my $from = Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) * 1e9;
	$act->();
	sleep 0.3;
	my $folder = episode();
	my $dg     = Tipme::Diagnosis->new(Tipme::Episode->open($folder));
	my @press  = grep {
			   $_->{kind} eq 'key_press'
			&& $_->{device_ns} >= $from
			&& ($_->{server}{source} // '') eq 'wayland'
	} $dg->events;
	return { episode => $folder, of => [ map { $dg->run(event => $_->{n}) } @press ] };
}

sub episode {
	my ($status, $id, $why) = $d->snap;
	is($status, 0, 'saved') or die $why;
	my ($folder) = $id =~ m{^(/.*)$}m;
	Tipme::TestDaemon::wait_until(sub { -e "$folder/manifest.json" });
	return $folder;
}

# Presses, releases and pictures of a client, as many as the compositor says itself.
sub like_the_log {
	my ($stage, $folder, $client) = @_;
	my $ev = Tipme::KernelEvents->load_only(
		Tipme::Episode->open($folder),
		@NUMBER{qw(wl_deliver wl_commit)}
	);
	my %n = (press => 0, release => 0, commit => 0);
	for my $i (0 .. $ev->count - 1) {
		my (undef, $tid, undef, undef, undef, $more) = $ev->columns($i);
		next if $tid != $stage->compositor;
		if    (vec($ev->{type}, $i, 8) == $NUMBER{wl_commit}) { $n{commit}++ }
		elsif (($more >> 8 & 255) == 1) {
			$n{ { 1 => 'press', 2 => 'release' }->{ $more & 255 } // 'other' }++;
		}
	}
	my %said =
		map { $_->[0] => $stage->said($_->[1]) }
		[ press   => qr/-> wl_keyboard\@\d+\.key\(.*, 1\)$/ ],
		[ release => qr/-> wl_keyboard\@\d+\.key\(.*, 0\)$/ ];
	is($n{$_}, $said{$_}, "$_: $said{$_} by its own log") for sort keys %said;
	note "pictures: $n{commit}; attached: " . $stage->said(qr/wl_surface\@\d+\.attach\(wl_buffer/);
	return;
}

# A process is named, and charged with that part of the time that it stood still after the key.
# When the compositor says that it sent keys and callbacks, beside the records of that, one by one.
# Its clock is the real time, in microseconds of 32 bits.
sub in_time {
	my ($stage, $folder) = @_;
	my $ev = Tipme::KernelEvents->load_only(
		Tipme::Episode->open($folder),
		@NUMBER{qw(wl_deliver wl_done)}
	);
	my %ours = (key => [], done => []);
	for my $i (0 .. $ev->count - 1) {
		my ($ts, $tid, undef, undef, undef, $more) = $ev->columns($i);
		next if $tid != $stage->compositor;
		my $key = vec($ev->{type}, $i, 8) == $NUMBER{wl_deliver};
		push @{ $ours{ $key ? 'key' : 'done' } }, $ts if !$key || ($more >> 8 & 255) == 1;
	}
	my ($real, $mono) = map { Time::HiRes::clock_gettime($_) * 1e6 } Time::HiRes::CLOCK_REALTIME(),
		Time::HiRes::CLOCK_MONOTONIC();
	my %pattern = (key => qr/-> wl_keyboard\@\d+\.key\(/, done => qr/-> wl_callback\@\d+\.done\(/);
	open my $h, '<', $stage->debug_log or return fail('the log: ' . $!);
	my @lines = <$h>;
	for my $what (sort keys %ours) {
		my @said = map { /^\[ *([\d.]+)\]/ ? $mono - ($real - $1 * 1e3) % 2**32 : () }
			grep { $_ =~ $pattern{$what} } @lines;
		my $n   = @{ $ours{$what} };
		my @off = sort { $a <=> $b } map { $ours{$what}[$_] / 1e3 - $said[$_] } 0 .. $n - 1;
		cmp_ok(scalar @said, '>=', $n, "$what: its log has each of $n");
		note sprintf '%s: us before (-) or after its log: %.0f to %.0f, median %.0f, of %d', $what,
			@off[ 0, -1, @off / 2 ], $n
			if @off;
	}
	return;
}

sub named {
	my ($j, $pid, $share) = @_;
	my $v = $j->{verdict};
	return
		   ($v->{blamed} // {})->{pid}
		&& $v->{blamed}{pid} == $pid
		&& charged($j, $pid) >= $share * ($STOP_S - 0.02) * 1e9;
}
sub part { my ($j, $pid) = @_; return charged($j, $pid) / ($j->{interval}{duration_ns} || 1) }

sub charged {
	my ($j, $pid) = @_;
	my $ns = 0;
	$ns += $_->{ns} for grep { ($_->{pid} // 0) == $pid } @{ $j->{totals}{blamed} };
	return $ns;
}

sub told {
	diag "$_->{verdict}{kind} $_->{interval}{certainty} $_->{verdict}{sentence}" for @_;
	return;
}
