#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Programs that take long to start, after a command typed into a terminal: a service on the way does
# not answer, the disk gives its pages slowly, its start script sleeps (rows 4 and 31 of
# docs/causes.md). Minutes: with TIPME_TEST_ALL=1.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use POSIX                             ();
use Time::HiRes                       qw(sleep);
use lib map {"$ENV{TIPME_SRCDIR}/$_"} qw(helper/demo tests/lib tests/lab/lib tests/causes/lib);
use Tipme::ExactPath                  qw(exact_path);
use Tipme::Lab::Cgroup;
use Tipme::RowSaid;
use Tipme::Stage;

plan skip_all => 'set TIPME_TEST_ALL=1: it takes a minute'        if !$ENV{TIPME_TEST_ALL};
plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $cause = "$ENV{TIPME_BUILDDIR}/tests/lab/cause";
plan skip_all => 'built without the laboratory' if !-x $cause;

my $stage = Tipme::Stage->new(library => tempdir(CLEANUP => 1), seed => 4);
my $work  = $stage->{work};
my $n     = 0;
my (@pids, @groups);
copy($cause,           "$work/store")  && chmod 0755, "$work/store"  or BAIL_OUT("store: $!");
copy('/usr/bin/xterm', "$work/viewer") && chmod 0755, "$work/viewer" or BAIL_OUT("viewer: $!");
my $terminal = $stage->start_terminal("cd $work\n");
$stage->start_typist;

slow_start(
	'its start script sleeps',
	script => 'sleep 3',
	kinds  => [qw(timer-sleep ipc-wait)], who => qr/\A(?:sleep|program\d+|sh)\z/
);
SKIP: {
	skip 'no dbus-daemon or dbus-send here', 1
		if grep { system("which $_ >/dev/null 2>&1") } qw(dbus-daemon dbus-send);
	my $bus     = bus();
	my $service = spawn(
		[ "$work/store", 'store', 'dbus', 'org.example.Store', 'sleep', 1 ],
		DBUS_SESSION_BUS_ADDRESS => $bus
	);
	my $ask = "dbus-send --bus=$bus --print-reply --dest=org.example.Store";
	my $up  = "DBUS_SESSION_BUS_ADDRESS=$bus $ask --reply-timeout=300 / org.example.Lab.Ask";
	for (1 .. 50) { last if !system "$up >/dev/null 2>&1"; sleep 0.1 }
	kill 'STOP', $service;
	slow_start(
		'it asks a service that does not answer, and gives up',
		script => "$ask --reply-timeout=3000 / org.example.Lab.Ask 2>/dev/null",
		kinds  => [qw(time-out stopped ipc-wait)], who => qr/\A(?:store|dbus-daemon)\z/,
		row    => 4,
		says   => qr/"store"|"dbus-daemon" .*, or of one behind it, and gave up/
	);
	kill 'CONT', $service;
}
SKIP: {
	my $lacks = Tipme::Lab::Cgroup::lacks('read');
	my $disk  = disk();
	skip $lacks || 'the work folder is on no disk', 1 if $lacks || !$disk;
	my $group = Tipme::Lab::Cgroup->new("tipme-starts-$$")->limit(read => $disk, 300_000);
	push @groups, $group;
	evict("$work/viewer");
	slow_start(
		'its pages come from a slow disk',
		script => 'read go < go',
		before => sub { my ($pid) = @_; $group->add($pid) },
		kinds  => [qw(page-fault-io disk-io)], who => qr/\A(?:viewer|program\d+|sh|xterm)\z/,
		row    => 31
	);
}
$stage->close;
kill 'KILL', @pids;
waitpid $_, 0 for @pids;
$_->close for @groups;
done_testing;

# slow_start(WHAT, script => what its start script does first, before => CODE->(pid of the script),
# which may read the pipe `go`; kinds, who; row: of docs/causes.md): a command is typed, its window
# is waited for.
sub slow_start {
	my ($what, %o) = @_;
	my $name = 'program' . ++$n;
	open my $h, '>', "$work/$name" or die "$name: $!";
	print {$h} "#!/bin/sh\n$o{script}\nexec $work/viewer -T $name -e sleep 60\n";
	close $h;
	chmod 0755, "$work/$name";
	if ($o{before}) {
		unlink "$work/go";
		system('mkfifo', '-m', '0666', "$work/go") == 0 or die 'mkfifo';
	}
	$stage->restart_recorder;
	$stage->type_lines('sleep 0.5', "type ./$name &", 'key Return');
	$stage->pressed(length("./$name &"));
	if ($o{before}) {
		my $pid;
		for (1 .. 200) {
			($pid) = map {/(\d+)/} glob_of($name) and last;
			sleep 0.02;
		}
		$o{before}->($pid // die "$name: not started");
		open my $go, '>', "$work/go" or die "go: $!";
		print {$go} "go\n";
	}
	my %env = $stage->{display}->env;
	local @ENV{ keys %env } = values %env;
	my $shown;
	for (1 .. 600) {
		$shown = qx{xwininfo -name $name -stats 2>/dev/null} =~ /IsViewable/ and last;
		sleep 0.1;
	}
	ok($shown, "$what: its window came") or return;
	sleep 0.7;
	my @old = $stage->episodes;
	$stage->type_lines('chord Ctrl+Alt+minus');
	my $d = $stage->diagnose($stage->new_episode(@old));
	is(($d->{event} // {})->{kind}, 'start', "$what: the event is a start")
		or diag($d->{verdict}{sentence});
	my $v = $d->{verdict};
	ok((grep { $_ eq $v->{kind} } @{ $o{kinds} }), "$what: $v->{sentence}") or diag($v->{kind});
	like($v->{blamed}{comm} // '', $o{who},  "$what: whom");
	like($v->{sentence},           $o{says}, "$what: a bus is not accused alone") if $o{says};
	Tipme::RowSaid::tried(
		$o{row}, 'native', $v,
		(grep { $_ eq $v->{kind} } @{ $o{kinds} }) && ($v->{blamed}{comm} // '') =~ $o{who}
	) if $o{row};
	exact_path($d) if $d->{interval};
	kill 'KILL', map {/(\d+)/} glob_of($name);
	sleep 0.3;
	return;
}

# Processes whose command line has that name.
sub glob_of {
	my ($name) = @_;
	return grep {
		my $text = Tipme::Lab::Cgroup::slurp($_);
		$text =~ m{\0\./\Q$name\E\0|-T\0\Q$name\E\0}
	} glob '/proc/[0-9]*/cmdline';
}

sub spawn {
	my ($command, %env) = @_;
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		my ($uid, $gid) = @{ $stage->{ids} };
		$) = "$gid $gid";
		$( = $gid;
		POSIX::setuid($uid);
		@ENV{ keys %env } = values %env;
		open STDOUT, '>', '/dev/null';
		exec { $command->[0] } @$command or POSIX::_exit(127);
	}
	push @pids, $pid;
	return $pid;
}

sub bus {
	my $at = "$work/bus";
	spawn(
		[
			'/usr/bin/dbus-daemon', '--session', '--nofork', '--nopidfile',
			"--address=unix:path=$at"
		]
	);
	for (1 .. 200) { last if -S $at; sleep 0.01 }
	return "unix:path=$at";
}

# The disk below the work folder.
sub disk {
	my $dev = (stat $work)[0];
	my ($major, $minor) = ($dev >> 8 & 0xfff, $dev & 0xff | $dev >> 12 & 0xfff00);
	my $sys = "/sys/dev/block/$major:$minor";
	return
		  -e "$sys/partition"
		? Tipme::Lab::Cgroup::slurp("$sys/../dev") =~ /^(\d+:\d+)/
			? $1
			: ''
		: -e $sys ? "$major:$minor"
		:           '';
}

sub evict {
	my ($path) = @_;
	open my $h, '<', $path or die "$path: $!";
	system('sync', $path);
	syscall 221, fileno $h, 0, 0, 4;    # fadvise64(POSIX_FADV_DONTNEED): of x86-64
	return;
}
