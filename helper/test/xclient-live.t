#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The observer on stock servers: what it writes of keys, clients and windows; who may be observed;
# tipmed and servers that come and go.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../demo", "$Bin/../../xserver-hooks/test/lib";
use File::Copy qw(copy);
use POSIX      qw(WNOHANG mkfifo);
use Test::More;
use Time::HiRes       qw(clock_gettime sleep CLOCK_MONOTONIC);
use Tipme::TestDaemon qw(manifest records_of tipmed wait_until);
use Tipme::Display;
use XClient;

my $built = "$ENV{TIPME_BUILDDIR}/helper/xclient/tipme-x-observer";
plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'tipmed is not built here (no kernel source)'    if !-x tipmed();
for my $program (qw(Xvfb xterm xdotool)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
plan skip_all => 'no xserver-hooks: they are needed for one of these stories'
	if !defined Tipme::Display::find_hooks();

my $nobody = (getpwnam 'nobody')[2] // 65534;
my $daemon = Tipme::TestDaemon->new(args => [ '--allow-uid', $nobody, '--post', 0 ]);
my ($rc, undef, $why) = $daemon->start('--window', 40, '--rate', 20000);
plan skip_all => "this kernel cannot be recorded here: $why" if $rc;
# The build tree may be closed to the unprivileged user.
my $program = $daemon->dir . '/tipme-x-observer';
copy($built, $program) && chmod 0755, $program or BAIL_OUT("$program: $!");

my $x     = Tipme::Display->new(kind => 'Xvfb', rundir => $daemon->rundir);
my $xterm = terminal($x, 'first', '80x24+0+0');
ok(is_shown($x, 'first draws'), 'a client is there before the observer');
my $observer = $x->spawn($program);
ok(wait_until(sub { (servers())[0] }), 'tipmed has its ring')
	or BAIL_OUT('no observer: ' . `cat $x->{dir}/clients.log`);
is_deeply(
	[ map { @$_{qw(pid source name)} } servers() ], [ $x->pid, 'x_client', 'Xvfb' ],
	'as one about the server, by an observer'
);

my %of;
looked_at($x, 'first', $xterm);
my $before = now_ms();
x($x, 'xdotool mousemove 100 100 key a');
wait_until(sub {0}, 0.5);
my $second = terminal($x, 'second', '40x10+600+400');
looked_at($x, 'second', $second);
x($x, 'xdotool mousemove 650 450 key b');
# Until the second one's letter, which is the last of all, has come.
wait_until(
	sub {
		%of = snap();
		my ($last) = (kind($of{x_device}, 'key_press'))[1] or return;
		return
			grep { $_->{pid} == $second && $_->{ts_ns} >= $last->{ts_ns} && $_->{width} < 200 }
			@{ $of{x_damage} };
	}
);
my $m = $of{manifest};
my ($source) = grep { $_->{source} eq 'x_client' } @{ $m->{sources} };
is_deeply(
	[ @$source{qw(file server_pid observer_pid)} ],
	[ "x-$observer.rec", $x->pid, $observer ], 'the manifest says who observed whom'
);
my @press = kind($of{x_device}, 'key_press');
is(scalar @press, 2, 'two keys, each once');
my ($to_first, $to_second) = map {
	my $s = $_->{input_seq};
	[ grep { $_->{input_seq} == $s } @{ $of{x_deliver} } ]
} @press;
is_deeply(
	[ map { $_->{pid} } @$to_first, @$to_second ], [ $xterm, $second ],
	'the first went to the first client, the second to the one that came later'
);
is(scalar(grep { $_->{code} } @{ $of{x_device} }),      0, 'which keys, nobody knows');
is(scalar(grep { $_->{is_master} } @{ $of{x_device} }), 0, 'no event is told twice');
for my $i (0, 1) {
	my ($key, $pid) = ($press[$i], ($xterm, $second)[$i]);
	cmp_ok($key->{ts_ns} / 1e6, '>=', $before - 2, 'key ' . ($i + 1) . ': its time is ours');
	ok(
		(
			grep { $_->{pid} == $pid && $_->{ts_ns} >= $key->{ts_ns} && $_->{width} < 200 }
				@{ $of{x_damage} }
		),
		'... and the client has drawn a letter after it'
	);
}
is(
	scalar(grep { $_->{ts_ns} % 1_000_000 } map { @{ $of{$_} } } qw(x_device x_deliver x_damage)),
	0, 'times are whole milliseconds, and do not pretend to be more'
);
ok(
	(grep { $_->{pid} == $second && $_->{state} eq 'connected' } @{ $of{x_client} }),
	'the client that came was noticed'
);
ok(
	(grep { $_->{pid} == $xterm && $_->{state} eq 'present' } @{ $of{x_client} }),
	'the one that was there is known'
);
is(
	scalar(grep { $_->{pid} == $observer } map { @{ $of{$_} } } qw(x_deliver x_damage)), 0,
	'the observer itself appears nowhere'
);

# A flood of changes must neither bury the ring nor the observer.
my $artist = XClient->new($x);
my ($canvas, $gc) = $artist->window(width => 300, height => 200);
wait_until(
	sub {
		$artist->rectangle($canvas, $gc, 5, 5, 20, 20);
		$artist->sync;
		%of = snap();
		grep { $_->{pid} == $$ } @{ $of{x_damage} };
	}
);
$artist->rectangle($canvas, $gc, $_ % 250, $_ % 150, 20, 20) for 1 .. 20_000;
$artist->sync;
sleep 0.3;
$artist->rectangle($canvas, $gc, 5, 5, 20, 20);
$artist->sync;
my $floods;
wait_until(
	sub {
		sleep 0.3;
		%of     = snap();
		$floods = grep { $_->{pid} == $$ } @{ $of{x_damage} };
		$floods > 900;
	}
);
cmp_ok($floods, '>', 900,    'a client that draws 20000 times is seen');
cmp_ok($floods, '<', 20_000, "... in $floods records: it does not push all else out of the ring");
ok(kind($of{x_device}, 'key_press') > 0, 'the keys are there still');
$artist->close;

SKIP: {
	my $shim = "$ENV{TIPME_BUILDDIR}/xserver-hooks/test/.libs/evdev-device.so";
	skip 'no Xorg with the evdev driver: an input thread reads while the server draws only there',
		2
		if !-r $shim
		|| !Tipme::Display::find_server('Xorg')
		|| !grep { -e "$_/input/evdev_drv.so" } qw(/usr/lib/xorg/modules /usr/lib64/xorg/modules);
	typed_quickly($shim);
}

is(($daemon->stop)[0], 0, 'tipmed ends');
ok(!waitpid($observer, WNOHANG), 'the observer outlives it');
($rc) = $daemon->start('--window', 40, '--rate', 20000);
is($rc, 0, 'tipmed is started again');
ok(wait_until(sub { (servers())[0] }), '... and the observer offers its ring again');

my $hooked = Tipme::Display->new(
	kind   => 'Xvfb', hooks => Tipme::Display::find_hooks(),
	rundir => $daemon->rundir
);
ok(
	wait_until(
		sub {
			grep { $_->{source} eq 'x_hooks' } servers();
		}
	),
	'a server with hooks comes'
);
my ($status, $says) = observer_ends($hooked);
is($status, 0, 'an observer of that one goes home: it is not needed');
like($says, qr/^tipme: observing the X server: .*has hooks.*: see/m, '... and says why');
$hooked->stop;

$x->stop;
ok(wait_until(sub { waitpid($observer, WNOHANG) }), 'the observer ends with its server');
($status, $says) = observer_ends(undef);
is($status, 1, 'without a server it fails');
like($says, qr/^tipme: observing the X server: .*DISPLAY.*: see/m, '... and says what to do');
done_testing;

# Keys that are let go while what they have drawn is being reported: the server, which has the next
# event waiting, does not look at its clock.
sub typed_quickly {
	my ($shim) = @_;
	my $device = $daemon->dir . '/event';
	mkfifo($device, 0666) && chmod 0666, $device or BAIL_OUT("$device: $!");
	copy($shim, $daemon->dir . '/evdev-device.so') or BAIL_OUT("$shim: $!");
	open my $keys, '+<:raw', $device or BAIL_OUT("$device: $!");
	my $xorg = Tipme::Display->new(
		kind => 'Xorg', rundir => $daemon->rundir, evdev => $device,
		env  => { LD_PRELOAD => $daemon->dir . '/evdev-device.so' }
	);
	my $cat    = terminal($xorg, 'third', '80x24+0+0');
	my $beside = $xorg->spawn($program);
	wait_until(
		sub {
			grep { $_->{pid} == $xorg->pid } servers();
		}
	);
	looked_at($xorg, 'third', $cat);
	x($xorg, 'xdotool mousemove 100 100');
	for my $n (1 .. 60) {
		syswrite $keys, stroke(30, 1);
		my $end = clock_gettime(CLOCK_MONOTONIC) + 1e-4 * (1 + $n % 9);
		1 while clock_gettime(CLOCK_MONOTONIC) < $end;
		syswrite $keys, stroke(30, 0);
		sleep 0.06;
	}
	my ($last, @back, @told, %n) = (0);
	wait_until(
		sub {
			my %all = snap();
			my ($begin) =
				map  { $_->{ts_ns} }
				grep { $_->{tid} == $xorg->pid } kind($all{x_device}, 'key_press')
				or return;
			@told = grep {
				($_->{pid} // $cat) == $cat && $_->{tid} == $xorg->pid && $_->{ts_ns} >= $begin
			} @{ $all{in_order} };
			return 60 <= kind(\@told, 'key_release') && 60 <= grep { $_->{type} eq 'x_damage' }
				@told;
		}
	);
	for my $r (@told) {
		$n{ $r->{type} }++;
		push @back, "$r->{type} at $r->{ts_ns} after one at $last" if $r->{ts_ns} < $last;
		$last = $r->{ts_ns};
	}
	is_deeply(
		[ map { ($n{$_} // 0) >= 60 ? 1 : "$n{$_} times $_" } qw(x_device x_deliver x_damage) ],
		[ 1, 1, 1 ], 'on Xorg with an input thread keys and what they draw are seen'
	);
	is_deeply(\@back, [], '... and nothing is drawn before the key that it answers came');
	$xorg->stop;
	wait_until(sub { waitpid($beside, WNOHANG) });
	return;
}

sub stroke {
	my ($code, $pressed) = @_;
	my $t    = clock_gettime(CLOCK_MONOTONIC);
	my @time = (int $t, int(1e6 * ($t - int $t)));
	return pack('q q S S l', @time, 1, $code, $pressed) . pack('q q S S l', @time, 0, 0, 0);
}

sub now_ms { return int(clock_gettime(CLOCK_MONOTONIC) * 1e3) }

sub servers {
	return grep { $_->{connected} } @{ $daemon->status->{x_servers} // [] };
}

sub kind {
	my ($list, $kind) = @_;
	return grep { ($_->{kind} // '') eq $kind } @$list;
}

# An xterm that draws until its windows are looked at, and after that what is typed; its title says
# which.
sub terminal {
	my ($display, $name, $geometry) = @_;
	my $end = $display->dir . "/$name";
	return $display->spawn(
		'xterm', '-T', 'not yet', '-geometry', $geometry, '-e', 'sh', '-c',
		qq{printf '\\033]2;$name draws\\007'; while [ ! -e '$end' ]; do printf .; sleep 0.05; done; printf '\\n\\033]2;$name waits\\007'; exec cat}
	);
}

sub is_shown {
	my ($display, $title) = @_;
	return wait_until(sub { x($display, "xdotool search --onlyvisible --name '^$title\$'") =~ /\d/ }
	);
}

# Waits until the observer tells of what that terminal draws; then it draws no more.
sub looked_at {
	my ($display, $name, $pid) = @_;
	wait_until(
		sub {
			%of = snap();
			grep { $_->{pid} == $pid } @{ $of{x_damage} };
		}
	);
	open my $end, '>', $display->dir . "/$name" or BAIL_OUT("$name: $!");
	is_shown($display, "$name waits");
	return;
}

# Runs a command as a client of the display; returns what it prints.
sub x {
	my ($display, $command) = @_;
	my %env = $display->env;
	local @ENV{ keys %env } = values %env;
	return scalar qx{$command 2>/dev/null};
}

sub observer_ends {
	my ($display) = @_;
	my %env = $display ? $display->env : (DISPLAY => ':987');
	local @ENV{ keys %env } = values %env;
	my ($code, undef, $err) = $daemon->run(
		'setpriv', "--reuid=$nobody", "--regid=$nobody", '--clear-groups', 'timeout',
		300,       $program
	);
	return ($code, $err);
}

# Saves an episode; returns its manifest and the X records by name.
sub snap {
	my ($code, $out) = $daemon->run(Tipme::TestDaemon::tipme(), 'snap');
	my ($folder) = $out =~ m{^(/\S+)}m;
	wait_until(sub { -e "$folder/manifest.json" });
	my %r = (
		manifest => manifest($folder),
		map { $_ => [] } qw(x_device x_deliver x_damage x_client in_order)
	);
	for my $file (glob "$folder/x-*.rec") {
		my (undef, @lines) = records_of($file);
		for (@lines) {
			my ($type, @f) = split ' ';
			push @{ $r{$type} }, { type => $type, map { split /=/, $_, 2 } grep {/=/} @f };
			push @{ $r{in_order} }, $r{$type}[-1] if $type =~ /^x_(?:device|deliver|damage)$/;
		}
	}
	return %r;
}
