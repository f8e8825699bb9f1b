#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Each verb has a manual page, in the lists of both packages, and it has the options of --help.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Tipme::TestDaemon qw(slurp tipme);

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
my $d = Tipme::TestDaemon->new;
my ($rc, $help) = $d->run(tipme(), '--help');
my @verbs    = $help =~ /^  (\w+) {2,}\S/mg;
my $packages = join '', map { slurp($_) } glob "$src/debian/*.install";
my $spec     = slurp("$src/packaging/tipme.spec");
my $groff    = !system 'groff -v >/dev/null 2>&1';

for my $verb (@verbs) {
	my ($page) = grep {-e} map {"$_/helper/man/tipme-$verb.1"} $src, $build;
	ok $page, "tipme-$verb(1)" or next;
	my $text = slurp($page);
	like $text,     qr/^\.SH $_$/m, "... has $_" for 'NAME', 'SYNOPSIS', 'DESCRIPTION';
	like $packages, qr{/man1/tipme-$verb\.1$}m,   '... is in a package of Debian';
	like $spec,     qr{/man1/tipme-$verb\.1\*$}m, '... and of Fedora';
	my ($code, $said) = $d->run(tipme(), $verb, '--help');
SKIP: {
		skip "$verb is not built here", 1 if $code;
		my ($plain) = $text =~ s/\\-/-/gr =~ s/\\f[BIR]//gr;
		my %there = map { $_ => 1 } options($plain);
		is_deeply [ grep { !$there{$_} } options($said) ], [], '... has each option of --help';
	}
SKIP: {
		skip 'groff is not there', 1 if !$groff;
		my $said = qx{groff -t -man -Tascii -rLL=100n -ww -z '$page' 2>&1};
		is $said, '', '... and groff has nothing to say';
	}
}
done_testing();

# The long options of a text; --help itself is no matter.
sub options {
	my ($text) = @_;
	my %seen = ('--help' => 1, '--version' => 1);
	return grep { !$seen{$_}++ } $text =~ /(?<![\w-])(--[a-z][a-z-]*[a-z])/g;
}
