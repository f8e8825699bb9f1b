#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The observer on stock servers: what it writes of keys, clients and windows; who may be observed; tipmed and servers that come and go.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../demo", "$Bin/../../xserver-hooks/test/lib";
use File::Copy qw(copy);
use POSIX qw(WNOHANG);
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
use Tipme::TestDaemon qw(manifest records_of tipmed wait_until);
use Tipme::Display;
use XClient;

my $built = "$ENV{TIPME_BUILDDIR}/helper/xclient/tipme-x-observer";
plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'tipmed is not built here (no kernel source)' if !-x tipmed();
for my $program (qw(Xvfb xterm xdotool)) { plan skip_all => "$program is not installed" if !grep { -x "$_/$program" } split /:/, $ENV{PATH} }
plan skip_all => 'no xserver-hooks: they are needed for one of these stories' if !defined Tipme::Display::find_hooks();

my $nobody = (getpwnam 'nobody')[2] // 65534;
my $daemon = Tipme::TestDaemon->new(args => [ '--allow-uid', $nobody, '--post', 0 ]);
my ($rc, undef, $why) = $daemon->start('--window', 5, '--rate', 20000);
plan skip_all => "this kernel cannot be recorded here: $why" if $rc;
# The build tree may be closed to the unprivileged user.
my $program = $daemon->dir . '/tipme-x-observer';
copy($built, $program) && chmod 0755, $program or BAIL_OUT("$program: $!");

my $x = Tipme::Display->new(kind => 'Xvfb', rundir => $daemon->rundir);
my $xterm = $x->spawn(qw(xterm -geometry 80x24+0+0 -e cat));
ok(wait_until(sub { x($x, 'xdotool search --onlyvisible --class xterm') =~ /\d/ }, 10), 'a client is there before the observer');
my $observer = $x->spawn($program);
ok(wait_until(sub { (servers())[0] }, 10), 'tipmed has its ring') or BAIL_OUT('no observer: ' . `cat $x->{dir}/clients.log`);
is_deeply([ map { @$_{qw(pid source name)} } servers() ], [ $x->pid, 'x_client', 'Xvfb' ], 'as one about the server, by an observer');

sleep 0.3;    # until the windows are looked at
my $before = now_ms();
x($x, 'xdotool mousemove 100 100 key a');
wait_until(sub { 0 }, 0.5);
my $second = $x->spawn(qw(xterm -geometry 40x10+600+400 -e cat));
wait_until(sub { x($x, 'xdotool search --onlyvisible --class xterm') =~ /\d\n\d/ }, 10);
sleep 0.5;
x($x, 'xdotool mousemove 650 450 key b');
sleep 0.5;
my %of = snap();
my $m = $of{manifest};
my ($source) = grep { $_->{source} eq 'x_client' } @{ $m->{sources} };
is_deeply([ @$source{qw(file server_pid observer_pid)} ], [ "x-$observer.rec", $x->pid, $observer ], 'the manifest says who observed whom');
my @press = kind($of{x_device}, 'key_press');
is(scalar @press, 2, 'two keys, each once');
my ($to_first, $to_second) = map { my $s = $_->{input_seq}; [ grep { $_->{input_seq} == $s } @{ $of{x_deliver} } ] } @press;
is_deeply([ map { $_->{pid} } @$to_first, @$to_second ], [ $xterm, $second ], 'the first went to the first client, the second to the one that came later');
is(scalar(grep { $_->{code} } @{ $of{x_device} }), 0, 'which keys, nobody knows');
is(scalar(grep { $_->{is_master} } @{ $of{x_device} }), 0, 'no event is told twice');
for my $i (0, 1) {
	my ($key, $pid) = ($press[$i], ($xterm, $second)[$i]);
	cmp_ok($key->{ts_ns} / 1e6, '>=', $before - 2, 'key ' . ($i + 1) . ': its time is ours');
	ok((grep { $_->{pid} == $pid && $_->{ts_ns} >= $key->{ts_ns} && $_->{width} < 200 } @{ $of{x_damage} }), '... and the client has drawn a letter after it');
}
is(scalar(grep { $_->{ts_ns} % 1_000_000 } map { @{ $of{$_} } } qw(x_device x_deliver x_damage)), 0, 'times are whole milliseconds, and do not pretend to be more');
ok((grep { $_->{pid} == $second && $_->{state} eq 'connected' } @{ $of{x_client} }), 'the client that came was noticed');
ok((grep { $_->{pid} == $xterm && $_->{state} eq 'present' } @{ $of{x_client} }), 'the one that was there is known');
is(scalar(grep { $_->{pid} == $observer } map { @{ $of{$_} } } qw(x_deliver x_damage)), 0, 'the observer itself appears nowhere');

# A flood of changes must neither bury the ring nor the observer.
my $artist = XClient->new($x);
my ($canvas, $gc) = $artist->window(width => 300, height => 200);
sleep 0.3;
$artist->rectangle($canvas, $gc, $_ % 250, $_ % 150, 20, 20) for 1 .. 20_000;
$artist->sync;
sleep 0.3;
$artist->rectangle($canvas, $gc, 5, 5, 20, 20);
$artist->sync;
sleep 0.3;
%of = snap();
my $floods = grep { $_->{pid} == $$ } @{ $of{x_damage} };
cmp_ok($floods, '>', 900, 'a client that draws 20000 times is seen');
cmp_ok($floods, '<', 20_000, "... in $floods records: it does not push all else out of the ring");
ok(kind($of{x_device}, 'key_press') > 0, 'the keys are there still');
$artist->close;

is(($daemon->stop)[0], 0, 'tipmed ends');
ok(!waitpid($observer, WNOHANG), 'the observer outlives it');
($rc) = $daemon->start('--window', 5, '--rate', 20000);
is($rc, 0, 'tipmed is started again');
ok(wait_until(sub { (servers())[0] }, 10), '... and the observer offers its ring again');

my $hooked = Tipme::Display->new(kind => 'Xvfb', hooks => Tipme::Display::find_hooks(), rundir => $daemon->rundir);
ok(wait_until(sub { grep { $_->{source} eq 'x_hooks' } servers() }, 10), 'a server with hooks comes');
my ($status, $says) = observer_ends($hooked);
is($status, 0, 'an observer of that one goes home: it is not needed');
like($says, qr/^tipme: observing the X server: .*has hooks.*: see/m, '... and says why');
$hooked->stop;

$x->stop;
ok(wait_until(sub { waitpid($observer, WNOHANG) }, 10), 'the observer ends with its server');
($status, $says) = observer_ends(undef);
is($status, 1, 'without a server it fails');
like($says, qr/^tipme: observing the X server: .*DISPLAY.*: see/m, '... and says what to do');
done_testing;

sub now_ms { return int(clock_gettime(CLOCK_MONOTONIC) * 1e3) }
sub servers { return grep { $_->{connected} } @{ $daemon->status->{x_servers} // [] } }
sub kind { my ($list, $kind) = @_; return grep { $_->{kind} eq $kind } @$list }

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
	my ($code, undef, $err) = $daemon->run('setpriv', "--reuid=$nobody", "--regid=$nobody", '--clear-groups', 'timeout', 20, $program);
	return ($code, $err);
}

# Saves an episode; returns its manifest and the X records by name.
sub snap {
	my ($code, $out) = $daemon->run(Tipme::TestDaemon::tipme(), 'snap');
	my ($folder) = $out =~ m{^(/\S+)}m;
	wait_until(sub { -e "$folder/manifest.json" }, 10);
	my %r = (manifest => manifest($folder), map { $_ => [] } qw(x_device x_deliver x_damage x_client));
	for my $file (glob "$folder/x-*.rec") {
		my (undef, @lines) = records_of($file);
		for (@lines) { my ($type, @f) = split ' '; push @{ $r{$type} }, { map { split /=/, $_, 2 } grep { /=/ } @f } }
	}
	return %r;
}
