#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The typist's rhythm: the speed that was asked for, the spread of people, the same for the same
# seed.
use strict;
use warnings;
use List::Util qw(sum);
use Test::More;
use lib "$ENV{TIPME_SRCDIR}/helper/demo";
use Tipme::Typist::Rhythm;

my $text = 'the quick brown fox jumps over the lazy dog and runs on ' x 40;
my @gaps = gaps(3, 60);
my $mean = sum(@gaps) / @gaps;
cmp_ok(
	abs($mean / 0.2 - 1), '<', 0.12, sprintf '60 words a minute are 200 ms a key: %.0f ms',
	1000 * $mean
);
my $sd = sqrt(sum(map { ($_ - $mean)**2 } @gaps) / @gaps);
cmp_ok(
	$sd / $mean, '>', 0.35, sprintf 'their standard deviation is about half of that: %.0f %%',
	100 * $sd / $mean
);
cmp_ok($sd / $mean, '<', 0.6, '... and not more');
my @sorted = sort { $a <=> $b } @gaps;
cmp_ok($sorted[ @sorted / 2 ], '<',  $mean, 'skewed to the right: the median lies below the mean');
cmp_ok($sorted[-1],            '<=', 0.8,   'nobody stops to think');
is_deeply([ gaps(3, 60) ], \@gaps, 'the same seed, the same rhythm');
isnt("@{[ gaps(4, 60) ]}", "@gaps", 'another seed, another one');
cmp_ok(abs(sum(gaps(3, 120)) / sum(@gaps) - 0.5), '<', 1e-6,     'twice the speed, half the time');
cmp_ok(of('fj'),                                  '<', of('fg'), 'two hands are faster than one');
cmp_ok(of('ff'), '<', of('fj'), 'the same letter again is faster still');
my $r    = Tipme::Typist::Rhythm->new(seed => 1, wpm => 40);
my @hold = map { $r->hold_s } 1 .. 500;
cmp_ok(abs(sum(@hold) / @hold - 0.116), '<', 0.01, 'a key stays down for about 116 ms');
my $quick = Tipme::Typist::Rhythm->new(seed => 1, wpm => 300);
is(
	scalar(grep { $quick->hold_s > 0.04 } 1 .. 500), 0,
	'... and is up again before the next one, however fast'
);
done_testing;

sub gaps {
	my ($seed, $wpm) = @_;
	my $r = Tipme::Typist::Rhythm->new(seed => $seed, wpm => $wpm);
	return map { $r->gap_s($_) } split //, $text;
}

# Mean interval to the second of two letters, whatever luck says.
sub of {
	my ($pair) = @_;
	my ($a, $b) = split //, $pair;
	my $r = Tipme::Typist::Rhythm->new(seed => 9, wpm => 100);
	return sum(map { $r->gap_s($a); $r->gap_s($b) } 1 .. 2000);
}
