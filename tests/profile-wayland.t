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
use lib "$ENV{TIPME_SRCDIR}/helper/test/lib", "$ENV{TIPME_SRCDIR}/tests/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Profile::File;
use Tipme::TestDaemon qw(tipme);
use Tipme::WaylandStage;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $lacks = Tipme::WaylandStage->lacks;
plan skip_all => "$lacks is not installed" if defined $lacks;
use constant { NOBODY => Tipme::WaylandStage::NOBODY, FRIEND => 65_533 };

my $d =
	Tipme::TestDaemon->new(args => [ '--owner', NOBODY, '--allow-uid', FRIEND, '--post', 0 ]);
mkdir $d->library, 0700;
chown NOBODY, NOBODY, $d->library;
my ($rc, $out, $err) = $d->start;
is($rc, 0, 'the recorder starts') or BAIL_OUT("$out$err");
my $dir = tempdir(CLEANUP => 1);
chmod 0755, $dir;
mkdir "$dir/his", 0700;
chown NOBODY, NOBODY, "$dir/his";
my $stage = Tipme::WaylandStage->new;
my $foot  = $stage->terminal('/bin/cat');
my $press = qr/-> wl_keyboard\@\d+\.key\(.*, 1\)$/;

# Begins to count as the ordinary user; the process.
sub collect {
	my ($name, @args) = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		POSIX::setgid(NOBODY);
		POSIX::setuid(NOBODY);
		chdir "$dir/his" or die;
		open STDERR, '>', "$dir/his/$name.said" or die;
		exec tipme(), qw(profile record -o), "$name.json", @args or die;
	}
	$stage->wait_for(sub { slurp("$dir/his/$name.said") =~ /recording to/ }, 'the collector');
	sleep 0.3;
	return $pid;
}

# Ends that; the profile.
sub ended {
	my ($name, $pid) = @_;
	kill 'INT', $pid;
	waitpid $pid, 0;
	is($?, 0, "$name: an ordinary user collects") or diag slurp("$dir/his/$name.said");
	my $p = Tipme::Profile::File->read("$dir/his/$name.json");
	is(sum0(map { @$_{qw(waiting_ns thinking_ns background_ns)} } @{ $p->{apps} }),
		$p->{duration_ns}, '... each moment is waiting, thinking or background');
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
	my ($p) = @_;
	my ($pair) = $p->pairs_of('key', 'foot');
	return $pair // { events => 0, answered => 0 };
}

# How many presses the compositor sends while SUB types, and its picture has time to be used.
sub pressed {
	my ($sub)  = @_;
	my $before = $stage->said($press);
	$sub->();
	sleep 0.5;
	return $stage->said($press) - $before;
}

my $pid  = collect('typed');
my $keys = pressed(sub { $stage->type('a' x 12, apart => 0.1) });
my (undef, $id) = $d->snap;
my $p = ended('typed', $pid);
is($p->{source}, 'wayland', 'by what a compositor tells');
ok($p->{exact}, '... exactly');
my $k = keys_of($p);
is($k->{events},   $keys, "each of $keys keys is counted, as the compositor's log has it");
is($k->{answered}, $keys, '... and was answered');
my %stage = %{ $k->{stage} };
is(sum0(map { $stage{$_}->sum_ns } qw(read sent drawn finished)),
	$stage{response}->sum_ns, 'its stages add up');
my ($folder) = $id =~ m{^(/.*)$}m or BAIL_OUT('no episode');
$stage->wait_for(sub { -e "$folder/manifest.json" }, 'the episode');
my $events = Cpanel::JSON::XS->new->decode(($d->run(tipme(), 'events', $folder, '--json'))[1]);
my @engine = grep { $_->{kind} eq 'key_press' && ($_->{client} // {})->{comm} eq 'foot' }
	@{ $events->{events} };
@engine = @engine[ -$keys .. -1 ];
is(
	$stage{drawn}->sum_ns,
	sum0(map { $_->{first_damage_ns} - $_->{deliver_ns} } @engine),
	'from the delivery to the first picture it took as long as the engine says'
);
is(
	$stage{finished}->sum_ns,
	sum0(map { $_->{feedback_ns} - $_->{first_damage_ns} } @engine),
	'... and to its use by the compositor'
);

# Another user whom the recorder serves types beside: that is not the owner's profile. A key whose
# client is stopped is answered late, and judged.
my $other = Tipme::WaylandStage->new(uid => FRIEND);
$other->terminal('/bin/cat');
$pid  = collect('late', '--episodes-over', 300);
$keys = pressed(
	sub {
		$other->type('b' x 5, apart => 0.05);
		$stage->type('aaa',   apart => 0.1);
		$stage->begin_typing([ a => 100 ]);
		sleep 0.05;
		kill 'STOP', $foot;
		$stage->pressed(1);
		sleep 0.6;
		kill 'CONT', $foot;
		$stage->typed;
	}
);
$stage->wait_for(sub { slurp("$dir/his/late.said") =~ /./ && episodes() > 1 }, 'an episode');
sub episodes { return scalar(() = glob $d->library . '/2*/manifest.json') }
$p = ended('late', $pid);
is(keys_of($p)->{events}, $keys, "$keys keys of his own, and none of another user's session");
cmp_ok(keys_of($p)->{stage}{response}->max_ns, '>', 5e8, '... one of which took long');
my ($slow) = @{ $p->{worst} };
like($slow->{verdict}, qr/foot.* stopped/, '... for what the engine says of it');
$other->close;

# Ten keys a second.
if ($ENV{TIPME_TEST_ALL}) {
	$pid  = collect('cost');
	$keys = pressed(sub { $stage->type('a' x 1200, apart => 0.1) });
	$p    = ended('cost', $pid);
	is(keys_of($p)->{events}, $keys, "$keys keys in two minutes");
	note sprintf '%.3f %% of a CPU', 100 * $p->{own_cpu_ns} / $p->{duration_ns};
}
$stage->close;
$d->stop;
done_testing;
