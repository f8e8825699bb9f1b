#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Task benchmarks with real programs: an editing session in four of different toolkits, an office
# session, five runs each; and a spell check of 20 ms that is planted in one of them. Half an hour,
# with TIPME_TEST_ALL=1 alone.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(sum0);
use Test::More;
use lib map {"$ENV{TIPME_SRCDIR}/$_"}
	qw(tests/lib helper/demo helper/workload postmortem/lib abi/lib abi/generated);
use Tipme::Profile::File;
use Tipme::Profile::Times;
use Tipme::Tasks;
use Tipme::Workload::Programs;

plan skip_all => 'not root: recording the whole machine needs it'    if $>;
plan skip_all => 'half an hour of work: with TIPME_TEST_ALL=1 alone' if !$ENV{TIPME_TEST_ALL};
use constant { RUNS => 5, SLOW_MS => 20, EDITORS => 4 };
my $folder = tempdir(CLEANUP => 1);
my $tasks  = Tipme::Tasks->new(library => tempdir(CLEANUP => 1), wpm => 200);
my @there  = grep { !Tipme::Workload::Programs::lacks($_) } Tipme::Tasks::editors();
my @slow   = grep { Tipme::Tasks::can_slow($_) } @there;
for my $name (@there > EDITORS ? @there[ 0 .. EDITORS - 1 ] : @there) { play($name, 'editing') }
for my $name (Tipme::Tasks::offices())                                { play($name, 'office') }

SKIP: {
	skip 'no program here that can be told to be slow: emacs or gvim', 3 if !@slow;
	my ($usual, $slow) =
		map { $tasks->run($slow[0], task => 'editing', folder => $folder, slow_ms => $_) } 0,
		SLOW_MS;
	open my $h, '-|', "$ENV{TIPME_BUILDDIR}/tipme", qw(profile compare --json --kind key),
		$usual->{profile}, $slow->{profile}
		or die;
	my $c = Cpanel::JSON::XS->new->decode(do { local $/; <$h> });
	close $h;
	is $? >> 8, 2, "$slow[0] with a spell check: slower";
	my ($median) = grep { $_->{quantile} == 0.5 } @{ $c->{differences} };
	is $median->{stage}, 'drawn', '... in its stage' or diag explain $c;
	cmp_ok $median->{difference_ns}, '>', SLOW_MS * 5e5, "... $c->{sentence}";
}
$tasks->close;
done_testing;

sub play {
	my ($name, $task) = @_;
SKIP: {
		my $lacks = Tipme::Workload::Programs::lacks($name);
		skip $lacks, 1 if $lacks;
		for my $run (1 .. RUNS) {
			my $r    = $tasks->run($name, task => $task, folder => $folder);
			my $p    = Tipme::Profile::File->read($r->{profile});
			my $keys = sum0(map { $_->{events} } $p->pairs_of('key'));
			my $all  = @{ Tipme::Profile::Times->read($r->{times})->{all} };
			cmp_ok $keys, '>=', 0.99 * $r->{typed},
				"$name, $task, run $run: $keys keys of $r->{typed}";
			is $all, sum0(map { $_->{events} } @{ $p->{pairs} }), '... each has its time';
		}
	}
	return;
}
