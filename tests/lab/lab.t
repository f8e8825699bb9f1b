#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Each cause that can be injected is named, by kind and process; TIPME_TEST_ALL: five times each. A miss is staged once more with another
# seed: on a machine that others use, too, the delay may really have had another cause. Both stand in the table; two in a row are a failure.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", map { "$ENV{TIPME_SRCDIR}/$_" } qw(helper/demo tests/lib);
use Tipme::ExactPath qw(exact_path);
use Tipme::Lab;
use Tipme::Lab::Table;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $runs = $ENV{TIPME_TEST_ALL} ? 5 : 1;
my $seed = $ENV{TIPME_LAB_SEED} // ($ENV{TIPME_TEST_ALL} ? int rand 1_000_000 : 1);
note("seeds from $seed (TIPME_LAB_SEED)");
Tipme::Lab::prefer_ourselves();
my $lab = Tipme::Lab->new(library => tempdir(CLEANUP => 1), seed => $seed);
my @all;
for my $run (0 .. $runs - 1) {
	for my $cause (Tipme::Lab::causes()) {
		my $this = $seed + $run;
		push @all, my $r = $lab->try_run($cause, seed => $this);
		push @all, $r = $lab->try_run($cause, seed => $this += 1000) if !$r->{skipped} && !$r->{right};
		SKIP: {
			skip "$cause: $r->{skipped}", 1 if $r->{skipped};
			subtest "$cause, seed $this" => sub { judge($r) };
		}
	}
}
$lab->close;
diag($_) for split /\n/, Tipme::Lab::Table::head() . join('', map { Tipme::Lab::Table::line($_) } @all) . Tipme::Lab::Table::summary(@all);
done_testing;

sub judge {
	my ($r) = @_;
	return fail("staged: $r->{failed}") if $r->{failed};
	ok($r->{right}, "named: $r->{verdict}{sentence}") or diag("truth: $r->{truth}{says}; $r->{why}");
	exact_path($r->{diagnosis}) if $r->{interval};
	return;
}
