#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The whole chain as a stranger sees it: each cause of the demo, staged for real, must be named by kind and process.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp qw(tempdir);
use Test::More;
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/tests/lib";
use Tipme::Display;
use Tipme::ExactPath qw(exact_path);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $repeats = $ENV{TIPME_TEST_ALL} ? 3 : 1;
my @causes = qw(cpu-storm rt-hog slow-helper stopped);
local $ENV{TIPME_LIBRARY} = tempdir(CLEANUP => 1);

for my $round (1 .. $repeats) {
	for my $cause (@causes) {
		my $seed = $round * 100 + length $cause;
		my $out = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo --seed $seed --cause $cause --json};
		my $r = eval { Cpanel::JSON::XS->new->decode($out) } // {};
		ok($r->{right}, "$cause, seed $seed: the verdict is true")
			or diag("truth: $r->{truth}{kind} $r->{truth}{text}; verdict: $r->{verdict}{kind}: $r->{verdict}{sentence}");
		exact_path(Cpanel::JSON::XS->new->decode(scalar qx{"$ENV{TIPME_BUILDDIR}/tipme" diagnose "$r->{episode}" --json})) if $r->{episode};
	}
}

# By a seed alone, as text, and whatever DISPLAY says: the demo has its own server, and doctor says what this session has.
my $plain = eval { Tipme::Display->new(kind => 'Xvfb') };
for my $session ([ 'DISPLAY unset', undef, qr/DISPLAY is not set/ ], [ 'DISPLAY is dead', ':4711', qr/no server answers there/ ],
	[ 'a server without hooks', $plain && $plain->display, qr/no hooks seen in X server/ ])
{
	my ($what, $display, $says) = @$session;
	SKIP: {
		skip 'no Xvfb here', 4 if $what =~ /hooks/ && !$plain;
		local $ENV{DISPLAY} = $display;
		delete $ENV{DISPLAY} if !defined $display;
		my $text = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo --seed 3 2>&1};
		is($? >> 8, 0, "$what: drawn by a seed, a true verdict") or diag($text);
		like($text, qr/The verdict is true/, '... and it says so');
		like($text, $says, '... and what this session has');
		my ($png) = $text =~ /^timeline\s+(\S+\.png)$/m;
		ok($png && -s $png, '... and the timeline is a picture');
	}
}
$plain->stop if $plain;
done_testing;
