#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Differences that are planted are found by tipme bench compare, and told from each other: a seccomp
# filter, a cgroup with a CPU quota, a CPU hog, files behind FUSE. Each run is real. Two of them,
# drawn by the commit's hash; with TIPME_TEST_ALL=1 all.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/tests/lib";
use Tipme::Drawn qw(in_turn);

my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $dir   = tempdir(CLEANUP => 1);
$ENV{TIPME_RUNDIR} = tempdir(CLEANUP => 1);
my $n = 0;

sub run {
	my ($tasks, %o) = @_;
	my $file    = "$dir/" . ++$n . '.json';
	my $folder  = $o{folder} // $dir;
	my @command = (
		@{ $o{by} // [] }, $tipme, qw(bench run), split(' ', $tasks), '--rounds', 8, '--budget',
		5, '--folder', $folder, '-o', $file
	);
	my $pid = fork // die $!;
	if (!$pid) {
		$o{child}->() if $o{child};
		open STDOUT, '>',  "$dir/said" or die $!;
		open STDERR, '>&', \*STDOUT    or die $!;
		exec @command or die $!;
	}
	waitpid $pid, 0;
	return $file if !$?;
	open my $in, '<', "$dir/said" or return;
	diag readline $in;
	return;
}

# (the row of a task, the facts that differ)
sub compared {
	my ($a, $b, $task) = @_;
	my $d = Cpanel::JSON::XS::decode_json(scalar qx{"$tipme" bench compare "$a" "$b" --json});
	my ($row) = grep { $_->{name} eq $task } @{ $d->{tasks} };
	note $row->{sentence};
	return ($row, { map { $_->[0] => [ @$_[ 1, 2 ] ] } @{ $d->{facts} } });
}

# How much longer each kind of part became.
sub kinds {
	my ($row) = @_;
	my %k;
	for (@{ $row->{parts} }) { my ($kind) = $_->{part} =~ /\A(\w+)/; $k{$kind} += $_->{more_ns} }
	return \%k;
}

# The kind that grew most.
sub grown {
	my ($k) = @_;
	return (sort { $k->{$b} <=> $k->{$a} } keys %$k)[0];
}

my $base = run('syscall/getppid fs-read memory-chase/64M');
ok($base, 'a run') or BAIL_OUT('no run, no comparison');

my %planted = map { $_ => 1 } in_turn(2, 'differences', qw(filter quota hog fuse));
SKIP: {
	last SKIP if !$planted{filter};
	my $filter = "$ENV{TIPME_BUILDDIR}/helper/test/with-filter";
	skip 'no seccomp filter can be added here', 4 if system $filter, 1, 'true';
	my $b = run('syscall/getppid', by => [ $filter, 4 ]);
	my ($row, $facts) = compared($base, $b, 'syscall/getppid');
	is($row->{differs}, 1, 'a seccomp filter: system calls take longer');
	cmp_ok(
		kinds($row)->{kernel}, '>', $row->{a_ns},
		'the kernel alone takes longer than all of it before'
	);
	my $f = $facts->{'seccomp filters'} // [ 0, 0 ];
	is($f->[1] - $f->[0], 4, 'the fact that differs is named: four filters more');
	like(
		$row->{sentence},
		qr/\Asyscall\/getppid takes [\d.]+ times as long in B \(.*\): .* more is /,
		'in one sentence'
	);
}

SKIP: {
	last SKIP if !$planted{quota};
	my $group = "/sys/fs/cgroup/cpu/tipme-test-$$";
	skip 'not root, or no cgroup of CPU time', 3 if $> || !-d '/sys/fs/cgroup/cpu' || !mkdir $group;
	set("$group/cpu.cfs_period_us", 20_000);
	set("$group/cpu.cfs_quota_us",  4_000);
	# A repeat must be longer than a portion: of shorter ones, most find it unused.
	my $b = run('memory-chase/64M', child => sub { set("$group/cgroup.procs", $$) });
	my ($row, $facts) = compared($base, $b, 'memory-chase/64M');
	is($row->{differs},    1,          'a quota: memory takes longer');
	is(grown(kinds($row)), 'runnable', 'the thread waits for a CPU') or diag explain $row->{parts};
	is($facts->{'CPU quota'}[1], '0.20 CPUs', 'the fact that differs is named');
	rmdir $group;
}

SKIP: {
	last SKIP if !$planted{hog};
	# All of it on one CPU, which somebody else wants, too. A repeat must be longer than the slices
	# of time that the kernel gives in turns: of shorter ones, most find no hog, whatever it takes.
	my $cpu = qx{taskset -cp $$} =~ /: (\d+)/ ? $1 : skip 'no taskset', 2;
	my $hog = fork // die $!;
	if (!$hog) { exec 'taskset', '-c', $cpu, 'perl', '-e', '1 while 1' or die $! }
	my @pinned = (by => [ 'taskset', '-c', $cpu ]);
	my $with   = run('memory-chase/64M', @pinned);
	kill 'KILL', $hog;
	waitpid $hog, 0;
	my ($row) = compared(run('memory-chase/64M', @pinned), $with, 'memory-chase/64M');
	is($row->{differs},    1,          'a hog: memory takes longer');
	is(grown(kinds($row)), 'runnable', 'the thread waits for a CPU') or diag explain $row->{parts};
}

SKIP: {
	last SKIP if !$planted{fuse};
	my ($bindfs) = grep {-x} map {"$_/bindfs"} split /:/, $ENV{PATH};
	skip 'no FUSE here, or no bindfs', 3 if !$bindfs || !-w '/dev/fuse';
	my ($under, $at) = ("$dir/under", "$dir/at");
	mkdir $_ or die $! for $under, $at;
	skip 'FUSE cannot be mounted here', 3 if system $bindfs, $under, $at;
	my $b = run('fs-read', folder => $at);
	system 'fusermount3', '-u', $at;
	my ($row, $facts) = compared($base, $b, 'fs-read');
	is($row->{differs}, 1, 'a file system of a process: reading takes longer');
	cmp_ok(
		kinds($row)->{blocked}, '>', $row->{a_ns},
		'it sleeps for longer than all of it took before'
	) or diag explain $row->{parts};
	like($facts->{'file system'}[1] // '', qr/fuse/, 'the fact that differs is named');
}

sub set {
	my ($file, $text) = @_;
	open my $out, '>', $file or die "$file: $!";
	print {$out} $text;
	close $out or die "$file: $!";
	return;
}
done_testing;
