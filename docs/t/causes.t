#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The page of causes and the page of their sentences are about the same 61 rows; the counts in words
# are those of the table; each row that was tried, or is a story, has its sentence, or names the row
# whose sentence it is, or says that it was not tried in the last run: causes.md tells how many.
use strict;
use warnings;
use Test::More;

my $top = $ENV{TIPME_SRCDIR} // '..';
my @is  = rows("$top/docs/causes.md", 6);
is(scalar @is, 61, '61 rows');
my $text = slurp("$top/docs/causes.md") =~ s/\s+/ /gr;
my (%now, %how);
$now{ $_->[4] }++, $how{ $_->[2] }++ for @is;
my ($right, $vague, $unseen) =
	$text =~ /Of 61: (\d+) right, (\d+) vague, (\d+) unseen, none known to be wrong\./;
is_deeply([ $right, $vague, $unseen ], [ @now{qw(right vague unseen)} ], 'right, vague, unseen');
my @told = $text =~ /(\d+) were tried, (\d+) are stories, (\d+) were not reached/;
is_deeply(\@told, [ @how{ 'tried', 'story', 'not reached' } ], 'tried, stories, not reached');

my $missing = 0;
my %said    = map { $_->[0] => $_ } rows("$top/docs/causes-sentences.md", 5);
for my $r (@is) {
	my ($n, $cause, $how) = @$r;
	my $s = $said{$n};
	is($s && $s->[1], $cause, "row $n") or next;
	next if $how !~ /^(?:tried|story)$/;
	like($s->[2], qr/^\Q$how\E/, "row $n: $how");
	if ($s->[4] eq 'not in this run') { $missing++; next }
	like($s->[4], qr/\.$|^the verdict as \d/, "row $n: its sentence") or next;
	my @as = $s->[4] =~ /^the verdict as / ? $s->[4] =~ /(\d+)/g : ();
	ok(!(grep { !$said{$_} || $said{$_}[4] !~ /\.$/ } @as), "row $n: that of @as") if @as;
}
my ($untold) = $text =~ /(\d+|none) of them (?:was|were) not tried in the last run/;
is($untold, $missing || 'none', 'rows that were not tried in the last run');
done_testing;

sub slurp {
	my ($file) = @_;
	open my $h, '<', $file or die "$file: $!";
	local $/;
	return <$h>;
}

# The rows of so many cells that begin with a number.
sub rows {
	my ($file, $cells) = @_;
	return grep { @$_ == $cells }
		map { [ split / (?<!\\)\| /, s/^\| | \|$//gr, -1 ] } grep {/^\| \d+ \|/} split /\n/,
		slurp($file);
}
