#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme profile record on a Wayland session: an ordinary user collects, without episodes. What it
# counts is compared with the compositor's own log, and its times with what `tipme events` makes of
# the same keys. What it costs in minutes is measured with TIPME_TEST_ALL=1 alone.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(sum0);
use POSIX            ();
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/helper/test/lib", "$ENV{TIPME_SRCDIR}/helper/demo",
	"$ENV{TIPME_SRCDIR}/tests/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Profile::File;
use Tipme::TestAgent  qw(public);
use Tipme::TestDaemon qw(tipme);
use Tipme::WaylandStage;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $lacks = Tipme::WaylandStage->lacks;
plan skip_all => "$lacks is not installed" if defined $lacks;
use constant { NOBODY => Tipme::WaylandStage::NOBODY, FRIEND => 65_533 };

my $d = Tipme::TestDaemon->new(args => [ '--owner', NOBODY, '--allow-uid', FRIEND, '--post', 0 ]);
mkdir $d->library, 0700;
chown NOBODY, NOBODY, $d->library;
my ($rc, $out, $err) = $d->start;
is($rc, 0, 'the recorder starts') or BAIL_OUT("$out$err");
my $dir = tempdir(CLEANUP => 1);
chmod 0755, $dir;
mkdir "$dir/his", 0700;
chown NOBODY, NOBODY, "$dir/his";
# The build tree may be closed to that user.
my $public = public($dir, 'helper/profile/tipme-profile') . '/tipme';
my $stage  = Tipme::WaylandStage->new;
my $foot   = $stage->terminal('/bin/cat');
my $press  = qr/-> wl_keyboard\@\d+\.key\(.*, 1\)$/;

# Begins to count as the ordinary user; the process.
sub collect {
	my ($name, @args) = @_;
	unlink "$dir/his/$name.said";
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		POSIX::setgid(NOBODY);
		POSIX::setuid(NOBODY);
		chdir "$dir/his" or die;
		open STDERR, '>', "$dir/his/$name.said" or die;
		exec $public, qw(profile record -o), "$name.json", @args or die;
	}
	$stage->wait_for(sub { slurp("$dir/his/$name.said") =~ /recording to/ }, 'the collector');
	return $pid;
}

# Ends that; the profile.
sub ended {
	my ($name, $pid) = @_;
	kill 'INT', $pid;
	waitpid $pid, 0;
	is($?, 0, "$name: an ordinary user collects") or diag slurp("$dir/his/$name.said");
	my $p = Tipme::Profile::File->read("$dir/his/$name.json");
	is(
		sum0(map { @$_{qw(waiting_ns thinking_ns background_ns)} } @{ $p->{apps} }),
		$p->{duration_ns}, '... each moment is waiting, thinking or background'
	);
	unlike(slurp("$dir/his/$name.json"), qr/entered|deliver/, '... no time of a key is in it');
	return $p;
}

sub slurp {
	my ($name) = @_;
	open my $h, '<', $name or return '';
	local $/;
	return scalar <$h> // '';
}

# Of the keys of the terminal.
sub keys_of {
	my ($p)    = @_;
	my ($pair) = $p->pairs_of('key', 'foot');
	return $pair // { events => 0, answered => 0 };
}

# How many presses the compositor sends while SUB types, and until it says nothing more.
sub pressed {
	my ($sub) = @_;
	my $before = $stage->said($press);
	$sub->();
	my ($size, $same) = (-1, 0);
	$stage->wait_for(
		sub {
			my $now = -s $stage->debug_log;
			$same = $now == $size ? $same + 1 : 0;
			$size = $now;
			return $same >= 10;
		},
		'the end of what the compositor does'
	);
	return $stage->said($press) - $before;
}

# The folder of an episode: one in some seconds is saved.
sub episode {
	my $id;
	$stage->wait_for(
		sub {
			my ($status, $out) = $d->snap;
			($id) = $out =~ m{^(/.*)$}m;
			return $status == 0;
		},
		'an episode'
	);
	$stage->wait_for(sub { -e "$id/manifest.json" }, 'the episode');
	return $id;
}

# Another user whom the recorder serves types beside: that is not the owner's profile. A key whose
# client is stopped is answered late, and judged.
my $other = Tipme::WaylandStage->new(uid => FRIEND);
$other->terminal('/bin/cat');
my $pid  = collect('late', '--episodes-over', 500);
my $keys = pressed(
	sub {
		$other->type('bbbbb', apart => 0.05);
		$stage->begin_typing([ a => 100 ]);
		$stage->pressed(0);
		kill 'STOP', $foot;
		$stage->pressed(1);
		sleep 1.2;
		kill 'CONT', $foot;
		$stage->typed;
	}
);
$stage->wait_for(sub { glob $d->library . '/2*/manifest.json' }, 'its episode');
my $p = ended('late', $pid);
is($p->{source}, 'wayland', 'by what a compositor tells');
ok($p->{exact}, '... exactly');
is(keys_of($p)->{events}, $keys, 'a key of his own, and none of another user\'s session');
cmp_ok(keys_of($p)->{stage}{response}->max_ns, '>', 1e9, '... that took long');
my ($slow) = @{ $p->{worst} };
like($slow->{verdict}, qr/foot.* stopped/, '... for what the engine says of it');
$other->close;

# The engine sees more than the collector: where somebody kept client or compositor from its work,
# they may take another picture for the last one. So one of five rounds has to agree, exactly.
my @sums;
for my $round (1 .. 5) {
	$pid  = collect('typed');
	$keys = pressed(sub { $stage->type('a' x 12, apart => 0.1) });
	my $folder = episode();
	my $k      = keys_of(ended('typed', $pid));
	is($k->{events}, $keys, "each of $keys keys is counted, as the compositor's log has it");
	my %stage = %{ $k->{stage} };
	is(
		sum0(map { $stage{$_}->sum_ns } qw(read sent drawn finished)),
		$stage{response}->sum_ns, 'its stages add up'
	);
	@sums = ([ $k->{answered}, map { $stage{$_}->sum_ns } qw(drawn finished) ], engine($folder));
	last if "@{$sums[0]}" eq "@{$sums[1]}";
}
is_deeply(@sums, 'answers, and the time until they were drawn and used, are those of the engine');

# [ answers, time until they were drawn, until they were used ] of the newest keys
sub engine {
	my ($folder) = @_;
	my $events =
		Cpanel::JSON::XS->new->decode(($d->run(tipme(), 'events', $folder, '--json'))[1]);
	my @all = grep { $_->{kind} eq 'key_press' && ($_->{client} // {})->{comm} eq 'foot' }
		@{ $events->{events} };
	my @answered = grep { defined $_->{response_ns} } @all[ -$keys .. -1 ];
	return [
		scalar(@answered), sum0(map { $_->{first_damage_ns} - $_->{deliver_ns} } @answered),
		sum0(map { $_->{feedback_ns} - $_->{first_damage_ns} } @answered)
	];
}

# Ten keys a second.
if ($ENV{TIPME_TEST_ALL}) {
	$pid  = collect('cost');
	$keys = pressed(sub { $stage->type('a' x 1200, apart => 0.1) });
	$p    = ended('cost', $pid);
	is(keys_of($p)->{events}, $keys, "$keys keys in two minutes");
	cost($p);
}
$stage->close;
if ($ENV{TIPME_TEST_ALL}) {
	nested()    if !defined Tipme::WaylandStage->lacks('cage');
	x_clients() if !grep { !-x "/usr/bin/$_" } qw(Xwayland xterm);
}
$d->stop;
done_testing;

sub cost {
	my ($p) = @_;
	note sprintf '%.3f %% of a CPU in %.0f s', 100 * $p->{own_cpu_ns} / $p->{duration_ns},
		$p->{duration_ns} / 1e9;
	return;
}

# A compositor whose events come from the server in whose window it is, with their times.
sub nested {
	$stage = Tipme::WaylandStage->new(compositor => 'cage');
	$stage->terminal('/bin/cat');
	$stage->type('aa');
	my $pid = collect('stopped');
	my $n   = $stage->said($press);
	kill 'STOP', $stage->compositor;
	$stage->press('a');
	sleep 0.6;
	kill 'CONT', $stage->compositor;
	pressed(
		sub {
			$stage->wait_for(sub { $stage->said($press) > $n }, 'the key');
		}
	);
	my $p = ended('stopped', $pid);
	cmp_ok(
		keys_of($p)->{stage}{read}->max_ns,
		'>', 5e8, 'a compositor that stood still: the key entered before'
	);
	my %x = $stage->{x}->env;
	local @ENV{ keys %x } = values %x;
	$pid = collect('motions');
	system 'xdotool', qw(mousedown 1),
		(map { ('mousemove_relative', '--', $_ % 200 < 100 ? 1 : -1, 0, 'sleep', 0.0005) }
			1 .. 9000),
		qw(mouseup 1);
	my $told = $stage->said(qr/-> wl_pointer\@\d+\.motion/);
	$p = ended('motions', $pid);
	note "$told motions were sent; events: ", sum0(map { $_->{events} } @{ $p->{pairs} });
	cost($p);
	$stage->close;
	return;
}

# Programs of X in a Wayland session. The compositor sends each key to Xwayland, by a connection
# that it made itself: so they count as its own. Where the X server is observed, its ring tells
# whose key it was. Each counts once, either way.
sub x_clients {
	$stage = Tipme::WaylandStage->new;
	my %x     = (DISPLAY => $stage->x_display);
	my $drawn = $stage->said(qr/wl_surface\@\d+\.commit/);
	my $xterm = $stage->spawn(\%x, qw(xterm -e /bin/cat));
	$stage->wait_for(sub { $stage->said(qr/wl_surface\@\d+\.commit/) > $drawn + 1 }, 'xterm');
	is_deeply(counted('compositor'), { sway => $keys }, "$keys keys of the compositor, once each");
	my $observer = "$dir/his/tipme-x-observer";
	system('cp', "$ENV{TIPME_BUILDDIR}/helper/xclient/tipme-x-observer", $observer) == 0 or die;
	chmod 0755, "$dir/his", $observer;
	$stage->spawn({ %x, TIPME_RUNDIR => $d->rundir }, $observer);
	$stage->wait_for(
		sub {
			my $status = ($d->run(tipme(), 'status', '--json'))[1];
			@{ Cpanel::JSON::XS->new->decode($status)->{x_servers} // [] };
		},
		'the observer'
	);
	is_deeply(counted('observer'), { xterm => $keys }, "$keys keys of its client, once each");
	$stage->close;
	return;
}

# Types some keys; { application => keys that were counted }
sub counted {
	my ($name) = @_;
	my $pid = collect($name);
	$keys = pressed(sub { $stage->type('a' x 20, apart => 0.1) });
	return { map { ($_->{app} => $_->{events}) } ended($name, $pid)->pairs_of('key') };
}
