#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# How Perl is written here: no line over 100 columns (a tab is four), and what .perlcriticrc asks
# for. Modules are added to the list as they are put into that form; none is taken off it.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);

my @MODULES = qw(Advice Command/Diagnose Command/List Damage Kinds Moment Reason Report/Text Words);
my $COLUMNS = 100;
my ($root) = grep { defined && -e "$_/.perlcriticrc" } $ENV{TIPME_SRCDIR}, "$Bin/../..";

for my $file (map { "postmortem/lib/Tipme/$_.pm" } @MODULES) {
	open my $h, '<', "$root/$file" or die "$file: $!\n";
	my @long;
	while (my $line = <$h>) {
		chomp $line;
		1 while $line =~ s/\A([^\t]*)\t/$1 . ' ' x (4 - length($1) % 4)/e;
		push @long, "line $." if length $line > $COLUMNS;
	}
	is("@long", '', "$file: no line over $COLUMNS columns");
}
SKIP: {
	skip 'needs perlcritic (Debian: libperl-critic-perl)', 1 if system 'perlcritic --version >/dev/null 2>&1';
	my @files = map { "$root/postmortem/lib/Tipme/$_.pm" } @MODULES;
	my $said = do { open my $pipe, '-|', 'perlcritic', '--quiet', '--profile', "$root/.perlcriticrc", @files or die "$!\n"; local $/; <$pipe> };
	is($said // '', '', 'perlcritic has nothing to say');
}
done_testing();
