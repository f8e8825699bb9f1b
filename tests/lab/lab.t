#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Each cause that can be injected: who did it, and of what kind it was, when the answer began and
# ended, and how large a part the cause had. First tries count. The commit's hash draws a quarter
# of the causes, without that which tests/demo.t stages each time, their programs and lengths.
# TIPME_TEST_ALL: all of them, in five rounds. Of each of the three as many are right as a rate of
# 95 % reaches 999 times in 1,000; over five rounds no cause is missed each time. A run in which
# the cause had no effect, as an observer and those who did it say, is void before the verdict is
# looked at: it is staged again, and counted.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", map {"$ENV{TIPME_SRCDIR}/$_"} qw(helper/demo tests/lib);
use Tipme::Drawn     qw(commit left_out seed_of some);
use Tipme::ExactPath qw(exact_path);
use Tipme::Floor     qw(least_right);
use Tipme::Lab;
use Tipme::Lab::Table;
use Tipme::SameNumbers qw(differences);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $runs = $ENV{TIPME_TEST_ALL} ? 5 : 1;
my $seed = $ENV{TIPME_LAB_SEED}
	// ($ENV{TIPME_TEST_ALL} ? int rand 1_000_000 : seed_of(commit($ENV{TIPME_SRCDIR})));
my @causes = Tipme::Lab::causes();
if (!$ENV{TIPME_TEST_ALL}) {
	@causes = grep { $_ ne 'service' } @causes;
	@causes = some($seed, @causes / 4, @causes);
	left_out('causes', [ Tipme::Lab::causes() ], @causes);
}
note("seeds from $seed (TIPME_LAB_SEED)");
Tipme::Lab::prefer_ourselves();
my $lab = Tipme::Lab->new(library => tempdir(CLEANUP => 1), seed => $seed);
use constant RATE      => 0.95;
use constant MOST_VOID => 0.15;
use constant STAGED    => 3;
use constant INTERVAL_NS =>
	5_000_000;    # beyond the observer's own lateness; twenty times what a quiet machine shows
use constant SHARE_POINTS => 5;
my (@all, $void);

for my $run (0 .. $runs - 1) {
	for my $cause (@causes) {
		my $seed = $seed + $run;
		my $r    = first($cause, $seed);
		push @all, $r;
	SKIP: {
			skip "$cause: $r->{skipped}", 1 if $r->{skipped};
			subtest "$cause, seed $seed" => sub { adds_up($r) };
		}
	}
}
$lab->close;
diag($_)
	for split /\n/,
	Tipme::Lab::Table::head()
	. join('', map { Tipme::Lab::Table::line($_) } @all)
	. Tipme::Lab::Table::summary(@all);

my @ran = grep { !$_->{skipped} } @all;
cmp_ok(
	$void // 0, '<=', MOST_VOID * (@ran + ($void // 0)) + 1,
	'at most 15 % of the runs are void'
);
enough('named by kind and process', sub { $_[0]{right} });
enough(
	'found from the press to the answer',
	sub { defined $_[0]{interval_error_ns} && $_[0]{interval_error_ns} <= INTERVAL_NS }
);
enough(
	'charged with their part',
	sub { defined $_[0]{share_error} && $_[0]{share_error} <= SHARE_POINTS }
);

if ($runs > 1) {
	my %right;
	$right{ $_->{cause} } += $_->{right} ? 1 : 0 for @ran;
	is_deeply([ grep { !$right{$_} } sort keys %right ], [], 'no cause is missed in all rounds');
}
done_testing;

# The first run in which the cause had an effect.
sub first {
	my ($cause, $seed) = @_;
	my $r;
	for my $try (1 .. STAGED) {
		$r = $lab->try_once($cause, seed => $seed);
		last if $r->{skipped} || !$r->{void} || $try == STAGED;
		$void++;
		note("$cause, seed $seed: void: $r->{void}");
	}
	return $r;
}

sub enough {
	my ($what, $is) = @_;
	my $least = least_right(scalar @ran, RATE);
	cmp_ok(
		scalar(grep { $is->($_) } @ran), '>=', $least,
		"at least $least of " . @ran . " are $what"
	);
	return;
}

# Right or not, the verdict's own sums are exact.
sub adds_up {
	my ($r) = @_;
	ok(!$r->{failed}, 'staged') or return diag($r->{failed});
	note("$r->{verdict}{sentence} (truth: $r->{truth}{says})"
			. ($r->{right} ? '' : ": MISS: $r->{why}"));
	exact_path($r->{diagnosis}) if $r->{interval};
	window_too($r->{episode})   if $ENV{TIPME_TEST_ALL} && -x "$ENV{TIPME_BUILDDIR}/gui/tipme-gui";
	return;
}

# The window has the same numbers.
sub window_too {
	my ($episode) = @_;
	is_deeply(
		differences("$ENV{TIPME_BUILDDIR}/tipme", $episode)->{differ},
		[], 'the window has the same numbers'
	);
	return;
}
