#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme latency campaign: idle and loads, a page; interrupted it goes on; nothing of a load is left.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use Fcntl            qw(LOCK_EX LOCK_NB);
use File::Temp       qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib";
use Tipme::TestDaemon qw(slurp wait_until);

my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $dir   = tempdir(CLEANUP => 1);

sub latency {
	my ($args) = @_;
	my $out = qx{"$tipme" latency $args 2>&1};
	return ($out, $? >> 8);
}

sub campaign { my ($args) = @_; return latency("campaign $args") }

# A load that can be found again: it holds a file open.
my $load = "--load mark='exec sleep 1000 < /dev/null 3> $dir/held'";
# The signal is meant for it, not for the shell.
my $command = "exec \"$tipme\" latency campaign $dir/c --each 2s $load";
my $pid     = fork // die;
if (!$pid) { open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null'; exec $command or die }
ok(
	wait_until(
		sub {
			-e "$dir/c/idle.json"
				&& eval { Cpanel::JSON::XS->new->decode(slurp("$dir/c/idle.json"))->{complete} }
		}
	),
	'the first recording is there'
);
# It cannot end before the second one has been refused.
kill 'STOP', $pid;
my ($second, $refused) = campaign("$dir/c --each 2s $load");
is(
	$second, "tipme: latency: $dir/c: a campaign runs there: wait for it, or name another folder\n",
	'a second one in the same folder is refused'
);
is($refused, 1, '... and fails');
# A mark belongs to the load that is being recorded then.
my ($marked, $ok) = latency("mark $dir/c the scanner begins");
is($ok, 0, 'something is marked') or diag $marked;
like($marked, qr/^marked/, '... as it says');
is((latency("mark $dir"))[1], 64, 'nothing said');
is(
	(latency("mark $dir/none x"))[0],
	"tipme: latency: $dir/none: no such folder: name that of a campaign\n", 'no such folder'
);
is(
	(latency("mark $dir x"))[0], "tipme: latency: $dir: no campaign was begun there\n",
	'no campaign'
);
kill 'CONT', $pid;
kill 'TERM', $pid;
waitpid $pid, 0;
isnt($?, 0, 'interrupted: it says so');
my $first = slurp("$dir/c/idle.json");

# Killed, or its terminal was closed: nobody else could end what it has started.
my $of_it = sub {
	return grep {
		my $pid = $_;
		(readlink("/proc/$pid/cwd") // '') =~ m{^\Q$dir\E/c/work-}
			|| (eval { slurp("/proc/$pid/cmdline") } // '') =~
			m{^[^\0]*tipme-latency\0.*\Q$dir\E/c/}s
	} map {m{(\d+)\z}} glob '/proc/[0-9]*';
};
$pid = fork // die;
if (!$pid) { open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null'; exec $command or die }
ok(wait_until(sub { $of_it->() > 1 }), 'a load is recorded');
kill 'KILL', $pid;
waitpid $pid, 0;
open my $lock, '>>', "$dir/c/campaign.lock" or die;
ok(wait_until(sub { flock $lock, LOCK_EX | LOCK_NB }), 'killed: the next one can begin');
is(join(' ', $of_it->()), '', '... when nothing of its load and its recording runs');
close $lock;
my ($out, $rc) = campaign("$dir/c --each 2s --threshold 200000 $load");
is($rc, 0, 'it goes on') or diag $out;
is(
	Cpanel::JSON::XS->new->decode(slurp("$dir/c/mark.json"))->{threshold_us},
	200_000, '... with causes of what is above a threshold'
);
is(slurp("$dir/c/idle.json"), $first, '... and keeps what is complete');
my $kept = Cpanel::JSON::XS->new->decode(slurp("$dir/c/campaign.json"));
is(join(',', map { $_->{text} } @{ $kept->{marks} }), 'the scanner begins', '... and the marks');
is(
	scalar(grep { ($_->{begun_s} // 0) > 1e9 } @{ $kept->{loads} }),
	scalar @{ $kept->{loads} }, '... and when each load began'
);
like($out, qr/^idle: is there already$/m, '... as it says');
like(
	$out, qr/^mark: .*(?:more|less) frequent in this load|^mark: No level tells the two apart\.$/m,
	'each load is compared to idle'
);
my $page = slurp("$dir/c/report.html");
like($page, qr/<svg.*idle.*mark/s, 'a page with all of them');
is(join(' ', map {s{.*/}{}r} grep {-d} glob "$dir/c/*"), '', 'no folder of a load is left');
is(
	scalar(grep { (readlink($_) // '') eq "$dir/held" } glob '/proc/[0-9]*/fd/3'), 0,
	'... and no process of one'
);
($out, $rc) = campaign("$dir/c --each 3s $load");
ok(
		   $rc == 1
		&& $out =~
		/^tipme: latency: .*: holds a campaign of other loads or another time: name another folder$/m,
	'another campaign is another folder'
);
($out, $rc) = campaign("$dir/d --each 2s --load bad=false");
ok(
		   $rc == 1
		&& $out =~ /^tipme: latency: bad: the load has ended by itself: is its command right\?$/m,
	'a load that ends by itself is told'
);

($out, $rc) = campaign("$dir/e --threshold 0");
is(
	"$rc $out", "1 tipme: latency: --threshold 0: 1 to 4000000 us are meant\n",
	'a threshold of nothing is refused'
);

for my $wrong ('', "$dir/e --each 5", "$dir/e --load x", "$dir/e --load idle=true") {
	is((campaign($wrong))[1], 64, "usage: '$wrong'");
}
done_testing;
