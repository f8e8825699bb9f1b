#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The table of phrases: C programs say the same words as Perl, and each of them is said somewhere.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib";
use Tipme::Phrases qw(phrase phrases);

my $top = "$Bin/../..";
sub slurp { my ($f) = @_; open my $h, '<', $f or die "$f: $!\n"; local $/; return scalar <$h> }

my $made = qx{"$^X" "$top/helper/lib/gen-words"};
is(
	slurp("$top/helper/lib/words.h"), $made,
	'helper/lib/words.h is what helper/lib/gen-words makes of the table'
);

my @all  = phrases();
my %text = @all;
is(scalar(@all), 2 * keys %text, 'each name once');
my $said = join '',
	map  { slurp($_) }
	grep { !m{/words\.h\z|/Phrases\.pm\z} }
	glob("$top/helper/*/*.c $top/postmortem/lib/Tipme/*.pm $top/postmortem/lib/Tipme/*/*.pm");
for my $name (sort keys %text) {
	ok($said =~ /\bTIPME_WORDS_\U$name\E\b|phrase\(\s*'\Q$name\E'/, "$name is said somewhere");
}
while ($said =~ /\bTIPME_WORDS_([A-Z_]+)\b/g) {
	fail("TIPME_WORDS_$1: no such phrase") if !exists $text{ lc $1 };
}
is(
	phrase('moment', clock => '15:02', event => 'a click', program => 'xterm', time => '9 ms'),
	'15:02: a click in xterm, 9 ms', 'filled in'
);
unlike(join('', values %text), qr/[^\x20-\x7e]/, 'ASCII: the X server draws some of them');
done_testing;
