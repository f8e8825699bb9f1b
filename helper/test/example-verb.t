#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The worked example of docs/examples.md, "a verb", done word for word in a copy of the tree: it
# answers, has its manual page and its place in all lists; and no step of it is idle.
use strict;
use warnings;
use Test::More;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../../postmortem/t/lib";
use Tipme::Test::Example qw(steps tree slurp spew);

my $MOST_LINES = 60;
my @PARTS      = (
	qw(postmortem/lib postmortem/t postmortem/bin postmortem/schema postmortem/Makefile.inc abi/lib
		abi/generated),
	qw(abi/records.def helper/cli/main.c helper/cli/Makefile.inc helper/man helper/test/lib),
	qw(helper/test/manual-pages.t debian packaging/tipme.spec)
);
my ($root) = grep { defined && -e "$_/docs/examples.md" } $ENV{TIPME_SRCDIR}, "$Bin/../..";
plan skip_all => 'the modules that read episodes are not here'
	if system "$^X '$root/postmortem/bin/tipme-postmortem' list --help >/dev/null 2>&1";

my $tmp   = tempdir(CLEANUP => 1);
my @steps = steps($root, 'a verb');
is(scalar @steps, 9, 'nine steps');
my $lines = () = join('', map { $_->[2] } @steps) =~ /\n/g;
cmp_ok($lines, '<', $MOST_LINES, "$lines lines");

# What stands for the command of that tree: it lists the new verb by the table of main.c, and calls
# the program of the verbs, without a compiler.
my $COMMAND = <<'END';
#!/bin/sh
case "$1" in
--help) sed -n 's/^\t{ "\(count\)", N_("\([^"]*\)").*/  \1  \2/p' 'COPY/helper/cli/main.c' ;;
--version) echo 'tipme 0' ;;
*) exec PERL 'COPY/postmortem/bin/tipme-postmortem' "$@" ;;
esac
END

# outcome(WITHOUT): what is wrong in a tree in which the steps were done, except one
my $n = 0;

sub outcome {
	my ($without) = @_;
	my $copy = "$tmp/tree" . ++$n;
	tree($copy, $root, \@PARTS, map { $steps[$_] } grep { $_ != ($without // -1) } 0 .. $#steps);
	make_path("$copy/build/helper/man");
	spew("$copy/build/tipme", $COMMAND =~ s/COPY/$copy/gr =~ s/PERL/$^X/r);
	chmod 0755, "$copy/build/tipme";
	my $listed = slurp("$copy/helper/cli/Makefile.inc") =~ m{helper/man/tipme-count\.1};
	my @wrong;
	my @page =
		($^X, "$copy/helper/man/generate", "$copy/build/tipme", "$copy/build/helper/man", 'count');
	push @wrong, 'no manual page' if !$listed || system "@page >/dev/null 2>&1";
	local @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)} = ($copy, "$copy/build");
	push @wrong, 'manual-pages.t'
		if system "$^X '$copy/helper/test/manual-pages.t' >/dev/null 2>&1";
	push @wrong, 'tipme(1)' if slurp("$copy/helper/man/tipme.1") !~ /^\.BR? .*\bcount\b/m;
	push @wrong, 'no help'  if system "'$copy/build/tipme' count --help >/dev/null 2>&1";
	push @wrong, 'not in the package'
		if slurp("$copy/postmortem/Makefile.inc") !~ m{lib/Tipme/Command/Count\.pm};
	push @wrong, 'no test'
		if !defined $without
		&& qx{$^X "$copy/postmortem/t/verbs.t" 2>&1} !~ /^ok \d+ - count: switches$/m;
	push @wrong, 'no test'
		if defined $without && slurp("$copy/postmortem/t/verbs.t") !~ /'count: switches'/;
	return "@wrong";
}

is(outcome(), '', 'all steps: the verb is there');
for my $k (0 .. $#steps) {
	isnt(outcome($k), '', "without step @{[ $k + 1 ]} ($steps[$k][0]) something is missing");
}
done_testing();
