#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme bench run: every figure has its place, missing counters are missing, what is interrupted is
# kept and leaves nothing behind.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(sum0);
use POSIX            qw(WNOHANG);
use Test::More;
use Time::HiRes qw(sleep);

my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $dir   = tempdir(CLEANUP => 1);
# Nobody else's recorder.
$ENV{TIPME_RUNDIR} = tempdir(CLEANUP => 1);
my $n = 0;

sub run {
	my ($args) = @_;
	my $file   = "$dir/" . ++$n . '.json';
	my $said   = qx{"$tipme" bench run $args --folder "$dir" -o "$file" 2>&1};
	return { rc => $? >> 8, said => $said, file => $file, %{ (result($file))[0] // {} } };
}

sub result {
	my ($file) = @_;
	open my $in, '<', $file or return;
	local $/;
	return @{ Cpanel::JSON::XS::decode_json(readline $in)->{runs} };
}

sub left {
	return join ' ', grep { !/\.json\z|trace/ } glob "$dir/*";
}

# Each task with few rounds: what cannot be timed here says why.
my $r = run(
	'null syscall exec fs-read fs-create net wakeup dbus-call memory-access/64K window/wayland '
		. '--rounds 1 --budget 1');
is($r->{rc}, 0, 'a run') or diag $r->{said};
cmp_ok(scalar @{ $r->{tasks} }, '>=', 16, scalar @{ $r->{tasks} } . ' tasks');
like(
	$r->{said}, qr/no recorder runs here: who had the CPU .* will not be known/,
	'without a recorder, aloud'
);
for my $t (@{ $r->{tasks} }) {
	if (defined $t->{unavailable}) { pass("$t->{name}: not available: $t->{unavailable}"); next }
	my @repeats = map {@$_} @{ $t->{rounds} };
	my @wrong   = grep {
		sum0(map { $_->{ns} } @{ $_->{parts} }) != $_->{to_ns} - $_->{from_ns}
	} @repeats;
	ok(@repeats && !@wrong, "$t->{name}: the parts of all repeats add up");
}
is(left(), '', 'no file is left');
for (
	[ 'memory-access/64K', sub { $_[0] > 0.5 }, 'references to memory are mostly user mode' ],
	[ 'fs-read',           sub { $_[0] < 0.5 }, 'reading files is mostly the kernel' ]
	)
{
	my ($name, $right, $what) = @$_;
	my ($t) = grep { $_->{name} eq $name } @{ $r->{tasks} };
	my $first = $t->{rounds}[0][0];
SKIP: {
		# The accounting of less than a tick is all user mode or all kernel.
		skip "$name: only $first->{user_share_samples} samples could be had: no share to judge", 1
			if $first->{user_share_samples} < 30;
		ok($right->($first->{user_share}), $what)
			or diag "$first->{user_share} of $first->{user_share_samples} samples";
	}
}
my %task = map { $_->{name} => $_ } @{ $r->{tasks} };
my ($exec) = map {@$_} @{ $task{'exec/dynamic'}{rounds} };
cmp_ok(
	$exec->{counters}{'page-faults'}, '>', 10 * 20,
	'faults of the programs that were started count'
) if exists $exec->{counters}{'page-faults'};
my @missing = keys %{ $task{'syscall/dup'}{not_available} };
ok(
	!(grep { exists $exec->{counters}{$_} } @missing),
	@missing . ' counters are not available, and have no value'
);
ok(length $r->{facts}{kernel} && exists $r->{facts}{'seccomp filters'}, 'facts of the machine');
like(qx{"$tipme" bench report $r->{file}}, qr/^exec\/static /m, 'its report');

subtest 'counters from a recorded trace' => sub {
	# Readings of one process: 25 empty repeats, one that warms up, ten that are timed. An empty one
	# counts 40 cycles; a call takes 5, and half of the time the PMU counted something else.
	my $trace = "$dir/trace";
	open my $out, '>', $trace or die $!;
	my ($cycles, $t) = (1000, 0);
	for my $i (1 .. 36) {
		print {$out} "cycles $cycles ", 2 * $t, " $t\ninstructions 7 100 50\n";
		$cycles += ($i <= 25 ? 40 : 40 + 20000 * 5) / 2;
		$t      += 1000;
		print {$out} "cycles $cycles ", 2 * $t, " $t\ninstructions 7 100 50\n";
	}
	close $out or die $!;
	my $traced = run("syscall/getppid --rounds 1 --counters-from $trace");
	my $said   = qx{"$tipme" bench report $traced->{file}};
	my ($row)  = $said =~ /^(syscall\/getppid +[\d.]+ +not.*)/m;
	like(
		$row // $said, qr/ 5\.0 +not available +not available/,
		'five cycles a call; a counter that never ran is not available'
	);
	open $out, '>', $trace or die $!;
	print {$out} "cycles one two three\n";
	close $out or die $!;
	my $bad = run("syscall/getppid --rounds 1 --counters-from $trace");
	is($bad->{rc}, 1, 'a trace that is none');
	like($bad->{said}, qr/a recorded trace of counters is meant/, 'says so');
};

subtest 'interrupted' => sub {
	my $file = "$dir/cut.json";
	my $pid  = fork // die $!;
	if (!$pid) {
		open STDERR, '>', '/dev/null' or die $!;
		open STDOUT, '>', '/dev/null' or die $!;
		exec $tipme, qw(bench run null fs-create fs-small --folder), $dir, '-o', $file;
	}
	# Until it is in the midst of what has most to clean up.
	for (1 .. 600) { last if glob "$dir/tipme-bench-*/1/*"; sleep 0.05 }
	ok(scalar glob("$dir/tipme-bench-*/1/*"), 'files are being made');
	my @before = children($pid);
	ok(@before > 0, 'by a process of its own');
	kill 'INT', $pid;
	waitpid $pid, 0;
	is($? >> 8, 1, 'it ends with 1');
	my ($run) = result($file);
	ok($run && !$run->{complete}, 'the result says that it was interrupted');
	my ($null) = grep { $_->{name} eq 'null' } @{ $run->{tasks} };
	ok($null && @{ $null->{rounds} }, 'and has what was done until then');
	is(left(),                                 '', 'no file is left');
	is(join(' ', grep { kill 0, $_ } @before), '', 'no process either');
};

# Even if nobody can clean up: the process that has the files looks after them itself.
subtest 'killed' => sub {
	my $pid = fork // die $!;
	if (!$pid) {
		open STDERR, '>', '/dev/null' or die $!;
		open STDOUT, '>', '/dev/null' or die $!;
		exec $tipme, qw(bench run fs-small --folder), $dir;
	}
	for (1 .. 600) { last if glob "$dir/tipme-bench-*/1/*"; sleep 0.05 }
	my @before = children($pid);
	kill 'KILL', $pid;
	waitpid $pid, 0;
	for (1 .. 600) {
		last if left() eq '' && !grep { kill 0, $_ } @before;
		sleep 0.05;
	}
	is(left(),                                 '', 'no file is left');
	is(join(' ', grep { kill 0, $_ } @before), '', 'no process either');
};

sub children {
	my ($pid) = @_;
	open my $in, '<', "/proc/$pid/task/$pid/children" or return;
	return split ' ', readline($in) // '';
}

SKIP: {
	skip 'not root: no small disk can be mounted', 3 if $>;
	my $small = "$dir/trace-small";
	mkdir $small or die $!;
	skip 'no tmpfs can be mounted here', 3
		if system 'mount', '-t', 'tmpfs', '-o', 'size=8m', 'none', $small;
	my $said = qx{"$tipme" bench run fs-small --rounds 1 --folder "$small" 2>&1};
	is($? >> 8, 1, 'a small disk is refused');
	like(
		$said, qr/trace-small: \d+ MB are free and 128 are needed: name another folder/,
		'with what it needs'
	);
	is(join(' ', glob "$small/*"), '', 'and nothing was written');
	system 'umount', $small;
}

for (
	[ 'nothing',            qr/nothing: no such task/ ], [ '--rounds 0', qr/--rounds 0/ ],
	[ "--folder $dir/none", qr/no such folder/ ],        [ '--wrong',    qr/no such option/ ]
	)
{
	my $said = qx{"$tipme" bench run $_->[0] 2>&1};
	is($? >> 8, 64, "usage error: $_->[0]");
	like($said, $_->[1], 'it says what is wrong');
}
done_testing;
