# SPDX-License-Identifier: GPL-2.0-only
# Killed before each single step of saving (each system call of the writer), as a power cut would:
# there is the old state or the new.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use File::Path qw(remove_tree);
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(complete gone slurp wait_until);

plan skip_all => 'tipmed is not built here'                if !-x Tipme::TestDaemon::tipmed();
plan skip_all => 'recording needs root (run it with sudo)' if $>;
plan skip_all => 'strace is not installed' if !grep { -x "$_/strace" } split /:/, $ENV{PATH};
my $OWNER = 65534;
my $d     = Tipme::TestDaemon->new(
	args => [
		'--post', 0, '--window', 2, '--source', 'proc_sampled', '--owner', $OWNER, '--keep', 2,
		'--keep-worst', 0
	]
);
my @STEPS = qw(mkdirat openat write pwrite64 fsync renameat renameat2 unlinkat);

# The thread that writes does so with the owner's file-system id.
sub writer {
	my ($pid) = @_;
	for my $task (glob "/proc/$pid/task/*") {
		return $1
			if (eval { slurp("$task/status") } // '') =~ /^Uid:\s+\d+\s+\d+\s+\d+\s+$OWNER$/m
			&& $task =~ /(\d+)$/;
	}
	return;
}

# Lets strace kill tipmed when its writer begins its Nth call of one kind; returns strace's pid when
# it is watching.
sub kill_at {
	my ($call, $step) = @_;
	my $tid = writer($d->pid) or return;
	my $log = $d->dir . '/strace';
	unlink $log;
	my $pid = fork // die;
	if (!$pid) {
		open STDERR, '>', $log or die;
		exec 'strace', '-p', $tid, '-o', '/dev/null', '-e', "trace=$call", '-e',
			"inject=$call:signal=KILL:when=$step"
			or die;
	}
	wait_until(sub { -e $log && slurp($log) =~ /attached/ });
	return $pid;
}

sub visible {
	return map {s{.*/}{}r} glob $d->library . '/2*';
}

# DO with a kill at each step, until it gets through; checks what is there after each.
sub through_all {
	my ($what, $do, $check, @calls) = @_;
	my $killed = 0;
	for my $call (@calls) {
		for (my $step = 1; $step < 100; $step += $ENV{TIPME_TEST_ALL} ? 1 : 3) {
			kill_once($what, $do, $check, $call, $step) ? $killed++ : last;
		}
	}
	cmp_ok $killed, '>=', scalar(@calls),
		"$what: killed at $killed steps; each kind of step could be killed";
	return;
}

# Returns whether there was such a step.
sub kill_once {
	my ($what, $do, $check, $call, $step) = @_;
	# As at first: two are there.
	my @there = visible();
	remove_tree($d->library . '/' . shift @there) while @there > 2;
	is + ($d->start)[0],                           0, "$what: start";
	is scalar(() = glob $d->library . '/.[0-9]*'), 0, "$what: what the last kill left is gone";
	my $strace = kill_at($call, $step) or BAIL_OUT('no writer found');
	$do->();
	my $dead  = has_died();
	my @wrong = map { @{ complete($d->library . "/$_") } } visible();
	is_deeply \@wrong, [], "$what: killed at $call $step: what has the name of an episode is whole";
	$check->() if $check;
	kill 'TERM', $strace;
	waitpid $strace, 0;
	if   ($dead) { delete $d->{pid} }
	else         { $d->stop }
	return $dead;
}

# Whether it was killed: it has gone, or its writer sleeps for a second (not that strace holds it),
# for it has done all.
sub has_died {
	my $sleeps = 0;
	my $died;
	wait_until(
		sub {
			return $died = 1 if gone($d->pid);
			my $tid  = writer($d->pid);
			my $stat = $tid ? eval { slurp('/proc/' . $d->pid . "/task/$tid/stat") } // '' : '';
			$sleeps = $stat =~ /\) S / ? $sleeps + 1 : 0;
			return $sleeps > 20;
		}
	);
	return $died;
}

sub snap_quietly { $d->run(Tipme::TestDaemon::tipme(), 'snap') }

# With two episodes there and no more allowed, saving a third also removes one: all steps of both.
is + ($d->start)[0],      0, 'start';
is + (snap_quietly())[0], 0, 'an episode' for 1 .. 2;
$d->stop;
through_all(
	'saving',
	\&snap_quietly,
	sub {
		my $n = () = visible();
		ok $n == 2 || $n == 3, "... and nothing has gone that is not replaced ($n)";
	},
	@STEPS
);

my $id    = (visible())[-1];
my $note  = $d->library . "/$id/note.txt";
my $words = 'before';
is + ($d->start)[0], 0, 'start';
my $c = $d->connection;
send $c, Tipme::TestDaemon::message(6, 0, "$id\n$words"), 0;
is + (Tipme::TestDaemon::answer($c))[1], 0, 'words';
$d->stop;
my $n = 0;
through_all(
	'words',
	sub {
		my $s = $d->connection;
		send $s, Tipme::TestDaemon::message(6, 0, "$id\nwords " . ++$n), 0;
		Tipme::TestDaemon::answer($s);
	},
	sub {
		like slurp($note), qr/\A(?:before|words \d+)\z/,
			'... and the old words are there, or the new';
	},
	qw(openat write fsync renameat)
);
done_testing;
