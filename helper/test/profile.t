#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme profile record, live: an ordinary user collects what his recorder's display sources tell.
# What it counts is compared with what `tipme events` makes of the same seconds.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo", "$FindBin::Bin/../../tests/lib";
use Cpanel::JSON::XS ();
use File::Copy       qw(copy);
use File::Temp       qw(tempdir);
use List::Util       qw(sum0);
use POSIX            ();
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::Stage;
use Tipme::TestAgent  qw(public);
use Tipme::TestDaemon qw(wait_until);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'xterm is not installed'                         if !-x '/usr/bin/xterm';
my $library = tempdir(CLEANUP => 1);
my @ids     = Tipme::Display::ordinary();
chown @ids[ 0, 1 ], $library;
plan skip_all => 'no ordinary user here' if !$ids[0];
my $s = eval {
	Tipme::Stage->new(library => $library, recorder_args => [ '--post', 0, '--owner', $ids[0] ]);
}
	or plan skip_all => "no stage here: $@";
my $client = $s->start_terminal;
$s->start_typist;
my $file = "$s->{work}/p.json";
# The build tree may be closed to that user.
my $open = tempdir(CLEANUP => 1);
chmod 0755, $open;
my $tipme   = public($open, 'helper/profile/tipme-profile') . '/tipme';
my $program = "$open/client";
copy("$ENV{TIPME_BUILDDIR}/tests/client", $program) && chmod 0755, $program
	or die "$program: $!\n";

# Runs the collector as the ordinary user; returns its process.
sub collect {
	my (@args) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	POSIX::setgid($ids[1] // $ids[0]);
	POSIX::setuid($ids[0]);
	chdir $s->{work} or die "$s->{work}: $!\n";
	open STDERR, '>', "$s->{work}/said" or die;
	exec $tipme, 'profile', 'record', @args or die;
}

sub slurp {
	my ($name) = @_;
	open my $h, '<', $name or return '';
	local $/;
	return scalar <$h> // '';
}
sub profile { return Cpanel::JSON::XS->new->decode(slurp($_[0] // $file)) }

# The episodes that were asked for after a moment.
sub episode_after {
	my ($ns) = @_;
	my @after = grep {
		my $m = profile("$library/$_/manifest.json");
		$m->{trigger}{ns} > $ns;
	} $s->episodes;
	return $after[0];
}

# Of the keys of one application.
sub keys_of {
	my ($p, $name) = @_;
	my ($pair) = grep { $_->{app} eq $name && $_->{kind} eq 'key' } @{ $p->{pairs} };
	return $pair // {};
}

my $pid = collect('-o', $file);
wait_until(sub { slurp("$s->{work}/said") =~ /recording to/ }, 60)
	or BAIL_OUT('it does not begin: ' . slurp("$s->{work}/said"));
sleep 0.3;
# Each is answered before the next, on a busy machine, too: two that are open share a picture.
$s->type_lines(map { ("key $_", 'sleep 0.6') } split(/ /, 'h e l l o space w o r l d'),
	'backspace');
$s->pressed(12);
sleep 0.5;
$s->command('snap');
wait_until(sub { $s->episodes }, 60);
kill 'INT', $pid;
waitpid $pid, 0;
is $?, 0, 'an ordinary user collects' or diag slurp("$s->{work}/said");
my $p = profile();
is sprintf('%o', (stat $file)[2] & 0777), '600',            'the file is his alone';
is $p->{format} . $p->{version},          'tipme profile1', 'its format';
ok $p->{exact}, 'a server with hooks tells exact times';
my $k = keys_of($p, 'xterm');
is $k->{events},   12, 'twelve keys went to the terminal';
is $k->{answered}, 12, '... and were answered';
my %stage = map { $_->{stage} => $_ } @{ $k->{stages} };
is sum0(map { $stage{$_}{sum_ns} } qw(read sent drawn finished)), $stage{response}{sum_ns},
	'its stages add up';
is sum0(map { $_->[1] } @{ $stage{response}{buckets} }), 12, 'its buckets, too';
is sum0(map { $_->{waiting_ns} + $_->{thinking_ns} + $_->{background_ns} } @{ $p->{apps} }),
	$p->{duration_ns}, 'each moment is waiting, thinking or background';

my $events = Cpanel::JSON::XS->new->decode(scalar $s->command('events', 'last', '--json'));
my @engine = grep {
		   $_->{kind} eq 'key_press'
		&& !$_->{hotkey}
		&& defined $_->{response_ns}
		&& ($_->{client} // {})->{comm} eq 'xterm'
} @{ $events->{events} };
is scalar(@engine), 12, 'the engine has the same keys';
# Who read the kernel's records knows when the server was woken; it knows itself when it ran.
my $sum = sum0(map { $_->{feedback_ns} - $_->{server_ns} } @engine);
is $stage{response}{sum_ns} -$stage{read}{sum_ns}, $sum,
	'... and the same times from the server on, by two ways that share no code';
my $woken = sum0(map { $_->{server_ns} - $_->{entered_ns} } @engine);
cmp_ok $stage{read}{sum_ns}, '<=', $woken, '... before that, what the server itself could see';

my ($rec) = glob "$library/*/x-*.rec";
system $s->{tipme}, 'profile', 'record', '-q', '--replay', $rec, '-o', "$s->{work}/r.json";
is $?, 0, 'the records of an episode are taken, too';
my $r = keys_of(profile("$s->{work}/r.json"), "pid $client");
is $r->{answered}, 12, '... the same twelve keys';
my ($resp) = grep { $_->{stage} eq 'response' } @{ $r->{stages} };
is $resp->{sum_ns}, $stage{response}{sum_ns}, '... and to the nanosecond what was seen live';

# Only what PROGRAM's windows answer; nothing else is written beside the file.
$pid = collect('-q', '-d', '1s', '-o', "$s->{work}/none.json", '--', 'sleep', '1');
$s->type_lines('type abc');
$s->pressed(3);
waitpid $pid, 0;
is $?, 0, 'it ends with the program';
is_deeply profile("$s->{work}/none.json")->{pairs}, [], '... and counts no keys of others';

$pid = collect('--record-key-times', '-o', "$s->{work}/t.json");
waitpid $pid, 0;
is $? >> 8, 1, 'times of keys are refused without a terminal';
like slurp("$s->{work}/said"), qr/^tipme: profile: --record-key-times: only in the foreground/,
	'... by a sentence';
ok !-e "$s->{work}/t.json.times", '... and none are written';
# Somebody computes beside, at nice 19: that is no waiting. Then an answer that comes late, whose
# episode is judged.
my @hogs = map {
	my $hog = fork // die "fork: $!\n";
	if (!$hog) { POSIX::nice(19); 1 while 1 }
	$hog
} 1 .. 2;
$pid = collect('-o', "$s->{work}/late.json", '--episodes-over', 150, '--keep', 6);
wait_until(sub { slurp("$s->{work}/said") =~ /recording to/ }, 60);
sleep 0.3;
$s->type_lines(map { ("key $_", 'sleep 0.6') } qw(x y z));
$s->pressed(3);
sleep 1;
kill 'KILL', @hogs;
waitpid $_, 0 for @hogs;
# A busy machine may have answered one of the three late, too. Then there was an episode for that,
# and for half a minute no other is asked for: the same happens again.
my ($new, $late_keys) = ('', 0);
while (!$new && $late_keys < 6) {
	$late_keys++;
	kill 'STOP', $client;
	$s->type_lines('type q');
	my ($pressed_ns) = $s->pressed(1);
	sleep 0.4;
	kill 'CONT', $client;
	($new) = wait_until(sub { episode_after($pressed_ns) }, 35);
}
ok $new, 'a late answer has an episode';
kill 'INT', $pid;
waitpid $pid, 0;
$p = profile("$s->{work}/late.json");
my ($slow) = grep { $_->{episode} eq $new } @{ $p->{worst} };
ok $slow, '... which is kept' or diag explain $p->{worst};
cmp_ok $slow->{response_ns}, '>', 300_000_000, '... with how long it took';
like $slow->{verdict}, qr/stopped/, '... and what the engine says of it';
my ($report, $cpu) =
	map { Cpanel::JSON::XS->new->decode(scalar $s->command('profile', @$_, '--json')) }
	[ 'report', "$s->{work}/late.json" ], [ 'cpu', $p->{worst}[0]{episode} ];
delete $cpu->{version};
is_deeply $report->{cpu}, $cpu, 'the report has how busy the CPUs were around the longest';
$k = keys_of($p, 'xterm');
($resp) = grep { $_->{stage} eq 'response' } @{ $k->{stages} };
is $k->{answered}, 3 + $late_keys, 'each key';
my ($app) = grep { $_->{app} eq 'xterm' } @{ $p->{apps} };
is $app->{waiting_ns}, $resp->{sum_ns},
	'a person waited for them, and not for who computed at nice 19';
is sum0(map { $_->{app} eq 'xterm' ? 0 : $_->{waiting_ns} } @{ $p->{apps} }), 0,
	'... nor for anybody else';
# What it drew is in its connection, and the server has not come to it: that is an answer, too.
$pid = collect('-o', "$s->{work}/unserved.json");
wait_until(sub { slurp("$s->{work}/said") =~ /recording to/ }, 60);
sleep 0.3;
kill 'STOP', $client;
$s->type_lines('type u');
$s->pressed(1);
sleep 0.2;
kill 'STOP', $s->{display}->pid;
kill 'CONT', $client;
sleep 0.5;
kill 'CONT', $s->{display}->pid;
sleep 0.5;
kill 'INT', $pid;
waitpid $pid, 0;
is keys_of(profile("$s->{work}/unserved.json"), 'xterm')->{answered}, 1,
	'an answer that waits for the server is an answer';
# What has no effect is waited for as long as the program works in vain: here 300 ms of CPU time.
$s->end_client($client);
$s->start_client('tipme-stage', $program, '-m', 300, '-n', 'vain');
$pid = collect('-o', "$s->{work}/vain.json");
wait_until(sub { slurp("$s->{work}/said") =~ /recording to/ }, 60);
sleep 0.3;
# After a first key the program is known.
$s->type_lines('key n', 'sleep 1.5', 'key v');
$s->pressed(2);
sleep 1.5;
kill 'INT', $pid;
waitpid $pid, 0;
$p = profile("$s->{work}/vain.json");
is keys_of($p, 'vain')->{answered}, 0, 'two keys without effect';
is keys_of($p, 'vain')->{events},   2, '... are two events';
($app) = grep { $_->{app} eq 'vain' } @{ $p->{apps} };
cmp_ok $app->{waiting_ns}, '>=', 295e6, '... one of which kept somebody waiting';

my $share = $p->{own_cpu_ns} / $p->{duration_ns};
note sprintf 'the collector used %.3f %% of a CPU', 100 * $share;
done_testing;
