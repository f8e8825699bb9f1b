#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The whole chain as a stranger sees it: each cause of the demo, staged for real, must be named by kind and process.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp qw(tempdir);
use Test::More;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $repeats = $ENV{TIPME_TEST_ALL} ? 10 : 1;
my @causes = qw(cpu-storm rt-hog slow-helper stopped);
local $ENV{TIPME_LIBRARY} = tempdir(CLEANUP => 1);

for my $round (1 .. $repeats) {
	for my $cause (@causes) {
		my $seed = $round * 100 + length $cause;
		my $out = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo --seed $seed --cause $cause --json};
		my $r = eval { Cpanel::JSON::XS->new->decode($out) } // {};
		ok($r->{right}, "$cause, seed $seed: the verdict is true")
			or diag("truth: $r->{truth}{kind} $r->{truth}{text}; verdict: $r->{verdict}{kind}: $r->{verdict}{sentence}");
		is_exact($r->{episode}) if $r->{episode};
	}
}

# By a seed alone, and as text.
my $text = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo --seed 3};
is($? >> 8, 0, 'drawn by a seed: a true verdict');
like($text, qr/The verdict is true/, 'and it says so');
my ($png) = $text =~ /^timeline\s+(\S+\.png)$/m;
ok($png && -s $png, 'the timeline is a picture');
done_testing;

# The path covers the interval without gap or overlap; the totals are its sums to the nanosecond.
sub is_exact {
	my ($episode) = @_;
	my $d = Cpanel::JSON::XS->new->decode(scalar qx{"$ENV{TIPME_BUILDDIR}/tipme" diagnose "$episode" --json});
	my ($at, $sum, $bad) = ($d->{interval}{start_ns}, 0, 0);
	for my $p (@{ $d->{path} }) {
		$bad++ if $p->{from_ns} != $at || $p->{to_ns} <= $p->{from_ns};
		$at = $p->{to_ns};
		$sum += $p->{to_ns} - $p->{from_ns};
	}
	is($bad, 0, 'the path has neither gap nor overlap');
	is($at, $d->{interval}{end_ns}, 'and ends where the interval ends');
	is($sum, $d->{interval}{duration_ns}, 'and adds up to the nanosecond');
}
