#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Every path of this project that a page names in backquotes or as a link must exist.
use strict;
use warnings;
use Test::More;

my $top   = $ENV{TIPME_SRCDIR} // '..';
my @pages = grep {-f} glob("$top/*.md $top/docs/*.md $top/bench/*.md $top/*/README.md");
my $tops  = join '|', map { quotemeta s{.*/}{}r } grep {-d} glob("$top/*"), "$top/.ci";
my $named = 0;
for my $page (@pages) {
	open my $h, '<', $page or die "$page: $!";
	my ($text, @missing) = do { local $/; <$h> };
	my $dir = $page =~ s{/[^/]*$}{}r;
	while ($text =~ /\]\(([^)#:\s]+)(?:#[^)]*)?\)/g) {
		$named++;
		push @missing, $1 if !-e "$dir/$1";
	}
	while ($text =~ m{`((?:\./)?(?:$tops)/[\w./*{},-]*)`(, new:)?}g) {
		my ($path, $is_new) = ($1 =~ s{^\./}{}r, $2);
		next if $is_new || $path =~ m{^build/};    # made by a reader, or by the build
		$named++;
		my @found = glob "$top/$path";
		push @missing, $path if !@found || grep { !-e } @found;
	}
	is("@missing", '', $page =~ s{^\Q$top\E/}{}r . ': all that it names is there');
}
cmp_ok($named, '>', 30, "$named paths looked at");
done_testing;
