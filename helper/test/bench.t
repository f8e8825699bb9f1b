#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme bench: the interactive microbenchmarks keep their intervals, press with the load that they
# say, and clean up.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(sum min);
use Test::More;

my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";

sub bench { my ($args) = @_; my $out = qx{"$tipme" bench $args 2>&1}; return ($out, $? >> 8) }

sub result {
	my ($args) = @_;
	my ($out, $rc) = bench("$args --json");
	my $r = eval { Cpanel::JSON::XS->new->decode($out) };
	ok($rc == 0 && $r, "bench $args gives JSON") or do { diag $out; return {} };
	return $r;
}

# Every interval is in one bucket, and none is shorter than what is timed takes.
sub adds_up {
	my ($r, $count, $least_ms) = @_;
	is($r->{count},                                   $count, "$count intervals");
	is(sum(map { $_->{count} } @{ $r->{histogram} }), $count, 'the buckets add up');
	cmp_ok(
		min(map { $_->{from_ms} } @{ $r->{histogram} }), '>=', $least_ms,
		"none is shorter than $least_ms ms"
	);
	is($r->{worst_to_ns} - $r->{worst_from_ns}, $r->{max_ns}, 'the worst is where it says');
	cmp_ok($r->{median_ns}, '<=', $r->{p99_ns}, 'quantiles are in order');
	cmp_ok($r->{p99_ns},    '<=', $r->{max_ns}, 'up to the longest');
}

for my $wrong (
	'', 'nothing', 'memory sched', 'sched --load heavy', 'memory --children 0',
	'memory --intervals x'
	)
{
	my ($out, $rc) = bench($wrong);
	is($rc, 64, "usage error: '$wrong'");
	like(
		$out, qr/usage: tipme bench|tipme: bench: .*: see tipme bench --help|hog, forks or none/,
		'it says what is wrong'
	);
}
my ($help, $rc) = bench('--help');
ok($rc == 0 && $help =~ /Examples:/, '--help has examples');

my $alone = result('sched --intervals 15 --load none');
adds_up($alone, 15, 60);
my $loaded = result('sched --intervals 30 --load forks');
adds_up($loaded, 30, 60);
# One CPU for two that compute: whoever wakes up after 50 ms shares it, so that some intervals are
# longer than the task.
cmp_ok($loaded->{max_ns}, '>', 62_000_000, 'a hog on the same CPU shows');
($help, $rc) = bench('sched --intervals 3 --threshold-ms 5');
is($rc, 2, 'a threshold that was passed: exit status 2');

SKIP: {
	skip 'no memory cgroup can be made here: not root, or no controller', 8
		if $>
		|| !grep {m{^\S+ \S+ cgroup \S*\bmemory\b}}
		do { open my $h, '<', '/proc/self/mounts'; <$h> }
		and !(-r '/sys/fs/cgroup/cgroup.controllers'
		&& qx{cat /sys/fs/cgroup/cgroup.controllers} =~ /memory/);
	my $r = result('memory --intervals 20 --limit-mib 32');
	adds_up($r, 20, 100);
	is($r->{memory_bytes}, 32 << 20, 'the group has the limit that was asked for');
	cmp_ok(
		$r->{children} * $r->{child_bytes}, '>', 1.49 * $r->{memory_bytes},
		'the writers want one and a half times as much'
	);
	is($r->{load_ended},                                         0, 'all writers lived to the end');
	is(join(' ', glob '/sys/fs/cgroup/{memory/,}tipme-bench-*'), '', 'the group is gone');
}
# The worst interval, explained from the records alone: two that compute share one CPU.
SKIP: {
	skip 'not root: recording the whole machine needs it', 7 if $>;
	my $library = tempdir(CLEANUP => 1);
	local @ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = (tempdir(CLEANUP => 1), $library);
	qx{"$tipme" start --owner 0 2>&1};
	is($? >> 8, 0, 'a recorder of our own');
	my $r       = result('sched --intervals 40 --load hog --explain');
	my $episode = $r->{episode} // '';
	ok(-d $episode, 'the worst interval is in an episode') or diag explain $r;
	my @stretch =
		map { sprintf '%d.%09d', $r->{$_} / 1e9, $r->{$_} % 1e9 } qw(episode_from_ns episode_to_ns);
	my $d = eval {
		Cpanel::JSON::XS->new->decode(
			scalar
				qx{"$tipme" diagnose "$episode" --json --thread $r->{tid} --from $stretch[0] --to $stretch[1]}
		);
	} // {};
	is($d->{interval}{duration_ns}, $r->{episode_to_ns} - $r->{episode_from_ns}, 'of that length');
	# Besides the 10 ms that it computes and the 50 ms that it sleeps, it waited for its CPU; how
	# much each is, is the machine's affair.
	my %kinds = %{ $d->{totals}{kinds} // {} };
	cmp_ok(sum(values %kinds),            '==', $d->{interval}{duration_ns}, 'the causes add up');
	cmp_ok($kinds{'cpu-contention'} // 0, '>',  0, 'the hog is among them');
	qx{"$tipme" stop};
}
done_testing;
