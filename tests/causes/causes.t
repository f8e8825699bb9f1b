#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What people really suffer from, staged: the causes of docs/causes.md that this machine can make,
# each with its verdict as printed. In an ordinary run two of those that no other test stages; with
# TIPME_TEST_ALL=1 each row of that page that can be staged natively; TIPME_CAUSES=a,b: these.
# TIPME_CAUSES_SAID=FILE: what is said goes there (tests/causes/page).
# First tries count. Each miss is told. It fails where fewer are right than a rate of 95 % reaches
# in 999 of 1,000 runs.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", map {"$ENV{TIPME_SRCDIR}/$_"} qw(helper/demo tests/lib tests/lab/lib);
use Tipme::Drawn qw(in_turn);
use Tipme::Floor qw(least_right);
use Tipme::Lab;
use Tipme::Lab::Table;
use Tipme::RowSaid;
use Tipme::Staged;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $seed = $ENV{TIPME_LAB_SEED} // 1;
my @causes =
	  $ENV{TIPME_CAUSES}   ? split /,/, $ENV{TIPME_CAUSES}
	: $ENV{TIPME_TEST_ALL} ? Tipme::Staged::all()
	:                        in_turn(2, 'causes', Tipme::Staged::own());
Tipme::Lab::prefer_ourselves();
my $lab =
	Tipme::Lab->new(library => tempdir(CLEANUP => 1), seed => $seed, programs => ['causes/stage']);
use constant RATE => 0.95;    # of the causes that are named by kind and process
my (@all, $right);

for my $cause (@causes) {
	my ($client) = @{ Tipme::Lab::cause($cause)->{clients} // ['own'] };
	my $r = $lab->try_run($cause, seed => $seed, client => $client, event => 'key', ms => 700);
	push @all, $r;
SKIP: {
		skip "$cause: $r->{skipped}", 1 if $r->{skipped};
		ok($r->{verdict}, "$cause: $r->{verdict}{sentence}") or diag($r->{failed});
	}
	next if !$r->{verdict};
	my $words = Tipme::Staged::words($cause);
	$r->{right} &&= $r->{verdict}{sentence} =~ $words ? 1 : 0 if $words;
	$right++                                                  if $r->{right};
	Tipme::RowSaid::tried($_, 'native', $r->{verdict}, $r->{right}) for Tipme::Staged::rows($cause);
	diag("$cause: MISS: $r->{truth}{says}; $r->{why}: $r->{verdict}{sentence}") if !$r->{right};
}
my $judged = grep { $_->{verdict} } @all;
my $least  = least_right($judged, RATE);
cmp_ok($right // 0, '>=', $least, "at least $least of $judged are right");
$lab->close;
diag($_)
	for split /\n/,
	Tipme::Lab::Table::head()
	. join('', map { Tipme::Lab::Table::line($_) } grep { $_->{verdict} } @all);
done_testing;
