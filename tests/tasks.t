#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Task benchmarks with real programs: an editing session in four of different toolkits, an office
# session, five runs each; and a spell check of 20 ms that is planted in one of them. Three quarters
# of an hour, with TIPME_TEST_ALL=1 alone. In parts: what TIPME_TASKS_KEEP=FOLDER has kept is not
# played again, and no session begins when TIPME_TASKS_S seconds are over.
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
# Whoever ends us ends the stage, too.
$SIG{$_} = sub { exit 1 }
	for qw(INT TERM HUP);
$SIG{PIPE} = 'IGNORE';
my $until = time + ($ENV{TIPME_TASKS_S} // 1e6);
my $tasks = Tipme::Tasks->new(
	library => tempdir(CLEANUP => 1), wpm => 200,
	folder  => $ENV{TIPME_TASKS_KEEP} // tempdir(CLEANUP => 1)
);
my @only  = split ' ', $ENV{TIPME_TASKS_ONLY} // '';
my @there = grep { !Tipme::Workload::Programs::lacks($_) } Tipme::Tasks::editors();
my @slow  = grep { Tipme::Tasks::can_slow($_) } @there;
splice @there, EDITORS if @there > EDITORS;
play($_, 'editing') for @there;
play($_, 'office')  for Tipme::Tasks::offices();
SKIP: {
	skip 'no program here that can be told to be slow: emacs or gvim', 3 if !@slow;
	my ($usual, $slow) =
		map { session($slow[0], task => 'editing', run => 1, slow_ms => $_) } 0, SLOW_MS;
	skip 'another time', 3 if !$usual || !$slow;
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

# One session; nothing, if it is not its time.
sub session {
	my ($name, %o) = @_;
	return time < $until && (!@only || grep { $_ eq $name } @only) ? $tasks->run($name, %o) : undef;
}

sub play {
	my ($name, $task) = @_;
SKIP: {
		my $lacks = Tipme::Workload::Programs::lacks($name);
		skip $lacks, 1 if $lacks;
		for my $run (1 .. RUNS) {
			my $r    = session($name, task => $task, run => $run) or skip "$name: another time", 1;
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
