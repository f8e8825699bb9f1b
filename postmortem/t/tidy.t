#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# All Perl of the tree is laid out as perltidy does it with .perltidyrc, and perlcritic has nothing
# to say of its modules with .perlcriticrc. An ordinary run looks at one file of six, which the
# commit draws.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../../tests/lib";
use Tipme::Drawn     qw(commit some seed_of);
use Tipme::PerlFiles qw(perl_files);

my $VERSION = 20220613;    # Debian 12's; others lay out differently
my $OF      = 6;           # files, of which one is looked at
my ($root)  = grep { defined && -e "$_/.perltidyrc" } $ENV{TIPME_SRCDIR}, "$Bin/../..";

plan skip_all => 'needs perltidy (Debian: perltidy)' if !eval { require Perl::Tidy };
plan skip_all => "needs perltidy $VERSION, here is $Perl::Tidy::VERSION"
	if $Perl::Tidy::VERSION ne $VERSION;

my @sources = perl_files($root);
cmp_ok(scalar @sources, '>', 300, @sources . ' files of Perl');
my @drawn = sort @sources;
@drawn = some(seed_of(commit($root)), int(@drawn / $OF), @drawn) if !$ENV{TIPME_TEST_ALL};
for my $name (@drawn) {
	is(tidy("$root/$name"), '', "$name is laid out");
}
SKIP: {
	my $left = @sources - @drawn or last;
	skip "$left files of Perl not drawn for this commit; TIPME_TEST_ALL=1 has all", 1;
}
SKIP: {
	skip 'needs perlcritic (Debian: libperl-critic-perl)', 1
		if system 'perlcritic --version >/dev/null 2>&1';
	my @modules = map {"$root/$_"} grep {/\.pm$/} @drawn or skip 'no module was drawn', 1;
	open my $pipe, '-|', 'perlcritic', '--quiet', '--profile', "$root/.perlcriticrc", @modules
		or die "perlcritic: $!\n";
	is(join('', <$pipe>), '', 'perlcritic has nothing to say of ' . @modules . ' modules');
}
isnt(tidied("if(1){\nprint 1}\n"), "if(1){\nprint 1}\n", 'what is not laid out is seen');
done_testing();

# tidy(PATH): the first line that would change; '': none
sub tidy {
	my ($path) = @_;
	open my $in, '<:raw', $path or die "$path: $!\n";
	my $text = do { local $/; readline $in };
	my @new  = split /^/, tidied($text);
	my @old  = split /^/, $text;
	return '' if "@new" eq "@old";
	my ($n) = grep { ($new[$_] // '') ne ($old[$_] // '') } 0 .. @new;
	return $n + 1 . ': ' . ($new[$n] // '');
}

sub tidied {
	my ($text) = @_;
	my ($out, $errors) = ('', '');
	Perl::Tidy::perltidy(
		argv        => "-pro=$root/.perltidyrc -se",
		source      => \$text,
		destination => \$out,
		stderr      => \$errors
	) and return "perltidy: $errors";
	return $out;
}
