# SPDX-License-Identifier: GPL-2.0-only
# Memory: 40 seconds at 20,000 records a second lie in at most 32 MB, locked, from the start;
# with a rate that is said nothing of it grows under load or by saving.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use POSIX ();
use Test::More;
use Time::HiRes       qw(sleep time);
use Tipme::TestDaemon qw(complete manifest slurp wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my ($SECONDS, $RATE, $RING) = (40, 20_000, 32e6);
my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--rate', 20_000 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
my $first = $d->status;
plan skip_all => "there is no ring: the source is $first->{source}"
	if $first->{source} ne 'kernel_bpf' && $first->{source} ne 'kernel_module';
my $CPUS = @{ $first->{coverage} };
is $first->{window_s}, $SECONDS, "the default is $SECONDS s";
cmp_ok $first->{memory}{pool_bytes}, '<=', $RING, sprintf 'the ring: %.1f MB',
	$first->{memory}{pool_bytes} / 1e6;
cmp_ok besides($first), '<=', 18e6, sprintf 'beside ring and copies: %.1f MB',
	besides($first) / 1e6;

if ($first->{source} eq 'kernel_bpf') {
	cmp_ok mapped_rss('bpf-map'), '>=', $first->{memory}{pool_bytes},
		'the ring is there, not only promised';
}

SKIP: {
	skip 'memory is not locked here', 4
		if grep {/^not locked|^no CAP_IPC_LOCK/} @{ $first->{limits} };
	my @code =
		grep { $_->{mode} eq 'r-xp' && $_->{name} =~ m{/(?:tipmed|libc[.]so[.0-9]*)\z} } mappings();
	is @code, 2, 'program and C library are found';
	cmp_ok $_->{rss}, '==', $_->{size}, "all of $_->{name} is in memory, whether it ran or not"
		for @code;
	# With or without its guard.
	my @stacks =
		grep { $_->{name} eq '' && $_->{size} >= 248 << 10 && $_->{size} <= 256 << 10 } mappings();
	is scalar(grep { $_->{rss} >= 208 << 10 } @stacks), 1,
		'and the stack of the thread that may not wait for memory, of no other';
}

flood(1.5 * $SECONDS * $RATE);
my ($path) = ($d->snap)[1] =~ m{\n(/.*)\n};
is_deeply complete($path), [], 'an episode';
my ($kernel) = grep { $_->{file} eq 'kernel.rec' } @{ manifest($path)->{sources} };
my $kept = 0;
$kept += $_->{records} for @{ $kernel->{coverage} };
# Of each CPU's newest sub-buffer only the beginning is written.
cmp_ok $kept, '>=', 0.99 * $SECONDS * $RATE, "after a flood the ring holds $kept records";
is $kernel->{lost}{pool}, 0, 'none of them found no room';
my $after = $d->status;
is $after->{memory}{pool_bytes}, $first->{memory}{pool_bytes}, 'the ring has not grown';
cmp_ok $after->{memory}{resident_bytes} - $first->{memory}{resident_bytes}, '<', 6e6,
	sprintf 'by flood and saving tipmed grew by %.1f MB, of %.1f',
	($after->{memory}{resident_bytes} - $first->{memory}{resident_bytes}) / 1e6,
	$after->{memory}{resident_bytes} / 1e6;

SKIP: {
	skip "$SECONDS s at $RATE a second take longer than CI may (TIPME_TEST_ALL=1)", 1
		if !$ENV{TIPME_TEST_ALL};
	subtest 'in real time' => \&in_real_time;
}
$d->stop;
done_testing;

sub besides {
	my ($s) = @_;
	return $s->{memory}{resident_bytes} - $s->{memory}{pool_bytes} - $s->{memory}{copy_bytes};
}

# Of what tipmed has mapped under a name like this.
sub mapped_rss {
	my ($name) = @_;
	my $bytes = 0;
	$bytes += $_->{rss} for grep { $_->{name} =~ /\Q$name\E/ } mappings();
	return $bytes;
}

# What tipmed has mapped: name, mode, and in bytes size and what of it is in memory.
sub mappings {
	my @of;
	for (split /\n/, slurp('/proc/' . $d->pid . '/smaps')) {
		push @of, { mode => $1, name => $2 } if /^[0-9a-f]+-[0-9a-f]+ (\S+) \S+ \S+ \S+\s*(.*)/;
		$of[-1]{ lc $1 } = $2 << 10          if /^(Size|Rss):\s+(\d+)/;
	}
	return @of;
}

# A pipe's two ends in turn, on each CPU, until so many records have been written.
sub flood {
	my ($records) = @_;
	my @pids      = map { ping_pong(0) } 1 .. $CPUS;
	my $from      = $d->status->{records};
	my $begin     = time;
	ok wait_until(sub { $d->status->{records} - $from >= $records }, 600),
		"a flood of $records records";
	my $status = $d->status;
	note sprintf
		'a flood of %.0f records a second; tipmed took %.0f ms of CPU time since its start',
		($status->{records} - $from) / (time - $begin),
		$status->{cpu}{user_ms} + $status->{cpu}{system_ms};
	stop(@pids);
	is_deeply {
		map { $_ => $status->{lost}{$_} } grep { $status->{lost}{$_} } qw(pool nested missed)
	}, {}, 'and none was lost';
}

# With records of other programs it is as many as they write more than 20,000: then the ring reaches
# back so much less.
sub in_real_time {
	my $from  = $d->status->{records};
	my $begin = time;
	my @pids  = map { ping_pong($RATE / $CPUS) } 1 .. $CPUS;
	sleep $SECONDS + 8;
	my $rate   = ($d->status->{records} - $from) / (time - $begin);
	my ($path) = ($d->snap)[1] =~ m{\n(/.*)\n};
	my $status = $d->status;
	stop(@pids);
	my $m = manifest($path);
	my ($k) = grep { $_->{file} eq 'kernel.rec' } @{ $m->{sources} };
	my ($reach) =
		sort { $a <=> $b } map { ($m->{trigger}{ns} - $_->{first_ns}) / 1e9 } @{ $k->{coverage} };
	cmp_ok $rate, '>', 0.8 * $RATE, sprintf 'there were %.0f records a second', $rate;
	my $want = $rate > $RATE ? $SECONDS * $RATE / $rate : $SECONDS;
	cmp_ok $reach, '>=', 0.98 * $want,
		sprintf
		'all CPUs are covered for %.1f s before the trigger (%.1f are promised at that rate)',
		$reach, $want;
	cmp_ok $status->{memory}{pool_bytes}, '<=', $RING, sprintf 'in %.1f MB; tipmed in all %.1f MB',
		$status->{memory}{pool_bytes} / 1e6, $status->{memory}{resident_bytes} / 1e6;
	is $k->{lost}{$_} // 0, 0, "lost: $_" for qw(pool torn cut);
}

# At most so many records a second; 0: as many as it can. A round trip makes four.
sub ping_pong {
	my ($rate) = @_;
	my $pid = fork // BAIL_OUT("fork: $!");
	return $pid if $pid;
	setpgrp;
	pipe my $r1, my $w1 or die;
	pipe my $r2, my $w2 or die;
	my $other = fork // die;
	if (!$other) {
		close $w1;
		close $r2;
		while (sysread $r1, my $b, 1) { syswrite $w2, 'x' }
		POSIX::_exit(0);
	}
	my ($begin, $trips) = (time, 0);
	for (;;) {
		syswrite $w1, 'x';
		sysread $r2, my $b, 1 or POSIX::_exit(1);
		next if !$rate || ++$trips % 20;
		my $ahead = $begin + 4 * $trips / $rate - time;
		sleep $ahead if $ahead > 0;
	}
}

sub stop {
	my @pids = @_;
	kill 'KILL', map { -$_ } @pids;
	waitpid $_, 0 for @pids;
}
