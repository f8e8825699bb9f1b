#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme profile idle: who computes beside it is seen as busy time, at least as long as he computed.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(sum0);
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $dir   = tempdir(CLEANUP => 1);
open my $h, '-|', $tipme, qw(profile idle -d 1 --json -o), "$dir/e.tsv" or die "$tipme: $!\n";
# It calibrates first; then it runs for a second. We compute all the while.
my $computed = 0;
while (!-e "$dir/e.tsv" && $computed < 120) {
	1 for 1 .. 10_000;
	$computed = clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
}
my $r = Cpanel::JSON::XS->new->decode(do { local $/; <$h> });
close $h;
is $?, 0, 'it ends by itself';
my @cpus = @{ $r->{cpus} };
cmp_ok scalar(@cpus), '>=', 1, 'a CPU';
for my $c (@cpus) {
	is $c->{busy_ns} + $c->{usual_ns}, $c->{wall_ns},
		"CPU $c->{cpu}: busy and idle add up, to the nanosecond";
	cmp_ok $c->{loops}, '>', 0, '... of some loops';
}
my @lines = split /\n/, slurp("$dir/e.tsv");
is shift(@lines),  "cpu\tfrom_ns\tto_ns\ttaken_ns",       'each elongation is a line';
is scalar(@lines), sum0(map { $_->{elongations} } @cpus), '... all of them';
is_deeply [ grep { my @f = split /\t/; $f[3] > $f[2] - $f[1] || $f[3] <= 0 } @lines ], [],
	'... none longer than its loop';
my $kept = sum0(map { (split /\t/)[3] } @lines);
my $busy = sum0(map { $_->{busy_ns} } @cpus);
cmp_ok $kept, '<=', $busy, '... together at most what is busy';
# While it calibrates, some of our computing is not seen: only that it is seen at all is certain.
cmp_ok $busy, '>', 0, sprintf 'busy %.3f s; we computed for %.3f s', $busy / 1e9, $computed;
qx{$tipme profile idle -d 0 2>/dev/null};
is $? >> 8, 64, 'no time is no usage';
SKIP: {
	skip 'no autogroups here', 2 if !-e '/proc/self/autogroup';
	# The kernel gives sessions equal parts of a CPU: that of the loops is to have the least.
	my $pid   = open my $long, '-|', $tipme, qw(profile idle -d 3600) or die "$tipme: $!\n";
	my $group = '';
	for (1 .. 2400) {
		($group) = map { slurp("/proc/$_/autogroup") }
			split ' ', slurp("/proc/$pid/task/$pid/children");
		last if ($group //= '') =~ /nice 19$/;
		select undef, undef, undef, 0.05;
	}
	like $group, qr/nice 19$/, 'nobody of another session waits for it';
	kill 'INT', $pid;
	my @said = readline $long;
	close $long;
	is $?, 0, '^C ends it, although it has a session of its own';
}
done_testing;

sub slurp {
	my ($file) = @_;
	open my $in, '<', $file or return '';
	local $/;
	return scalar <$in> // '';
}
