#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Plain words: codespell finds no misspelling in the tree, and the pages that people read have no
# sentence of more than 25 words and no line of more than 100 columns.
use strict;
use warnings;
use Test::More;

my $top         = $ENV{TIPME_SRCDIR} // '..';
my $MAX_WORDS   = 25;
my $MAX_COLUMNS = 100;
# Names, abbreviations and words of German that codespell takes for misspellings.
my @NAMES = qw(isnt vermillion renderd lates fro ue nknown te sie returnn asudo caf requestor);

my @plain = pages();
cmp_ok scalar @plain, '>', 5, scalar(@plain) . ' pages are read';
for my $page (@plain) {
	my $text = slurp("$top/$page");
	my @long = grep { words($_) > $MAX_WORDS } sentences($text);
	is scalar @long, 0, "$page: no sentence of more than $MAX_WORDS words"
		or diag map { words($_) . ": $_\n" } @long;
	# A table's row, code and what a program printed cannot be broken.
	my @wide =
		grep { length > $MAX_COLUMNS && !/^\s*\|/ && !/^    / && !m{^!?\[.*\]\(.*\)$} } split /\n/,
		$text =~ s/^```.*?^```$//gmsr;
	is "@wide", '', "... no line of more than $MAX_COLUMNS columns";
}
is words('One two, three - four.'), 4, 'words are counted';
is_deeply [ sentences("A b.\nC d: e\n\n    code here\n\n- f g. H\n| t | u |\n") ],
	[ 'A b.', 'C d:', 'e', 'f g.', 'H' ], '... of sentences, not of code and tables';
SKIP: {
	skip 'no codespell here: install the packages of class test in .ci/packages', 1
		if system 'command -v codespell >/dev/null';
	skip 'no git tree: what is ours is not known', 1
		if system "git -C '$top' rev-parse >/dev/null 2>&1";
	my $names = join ',', @NAMES;
	my $said =
		qx{cd "$top" && git ls-files -z | grep -zvE '\\.(png|svg|bin|patch|tsv|gz|po)\$|generated/|kept/|LICENSES/' | xargs -0 codespell -L $names};
	is $said, '', 'codespell finds nothing';
}
done_testing;

# All pages of the tree, but those of a build within it. What a program makes is no page.
sub pages {
	my @found = map { glob "$top/$_" } qw(*.md docs/*.md */README.md */*/README.md);
	return grep { !/^build/ } map {s{^\Q$top\E/}{}r} @found;
}

# Text in sentences; code, tables, headings and pictures are none.
sub sentences {
	my ($text) = @_;
	$text =~ s/^```.*?^```$//gms;
	my @paragraphs = split /\n(?:\s*\n)+|\n(?=\s*(?:[-*]|\d+\.)\s)|(?<=\n)(?=\|)/, $text;
	my @out;
	for (@paragraphs) {
		next if /^(?:    |#|\||!\[)/;
		my $p = s/\A\s*(?:[-*]|\d+\.)\s+//r =~ s/^\|.*$//gmr =~ s/\s+/ /gr =~ s/\A | \z//gr;
		$p =~ s/\]\([^)]*\)/]/g;
		push @out, grep {/\w/} split /(?<=[.:;?!])\s+/, $p;
	}
	return @out;
}

sub words {
	my ($s) = @_;
	return scalar grep {/\w/} split ' ', $s;
}

sub slurp {
	my ($file) = @_;
	open my $h, '<:encoding(UTF-8)', $file or die "$file: $!\n";
	local $/;
	return scalar <$h>;
}
