#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The worked example of docs/examples.md, "a record", done word for word in a copy of the tree: the
# generator takes it, the tracing programs compile, both readers know it, and a bundle may have it;
# and no step is idle. TIPME_TEST_ALL: the copy is built, and its test sees the record.
use strict;
use warnings;
use Test::More;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../../postmortem/t/lib";
use Tipme::Test::Example qw(steps tree slurp);

my $MOST_LINES = 60;
my @PARTS      = qw(abi helper/bpf helper/test/record-classes.t postmortem/lib);
my ($root)     = grep { defined && -e "$_/docs/examples.md" } $ENV{TIPME_SRCDIR}, "$Bin/../..";
my ($clang)    = grep {-x} map { ("$_/clang-14", "$_/clang") } split /:/, $ENV{PATH};
plan skip_all => 'clang is not installed: no tracing program can be compiled' if !$clang;

my $tmp   = tempdir(CLEANUP => 1);
my @steps = steps($root, 'a record');
is(scalar @steps, 4, 'four steps');
my $lines = () = join('', map { $_->[2] } @steps) =~ /\n/g;
cmp_ok($lines, '<', $MOST_LINES, "$lines lines");

# outcome(WITHOUT): what is wrong in a tree in which the steps were done, except one
my $n = 0;

sub outcome {
	my ($without) = @_;
	my $copy = "$tmp/tree" . ++$n;
	tree($copy, $root, \@PARTS, map { $steps[$_] } grep { $_ != ($without // -1) } 0 .. $#steps);
	my @wrong;
	push @wrong, 'the generator' if system "$^X '$copy/abi/gen-records' >/dev/null 2>&1";
	push @wrong, 'the page' if slurp("$copy/abi/generated/record-format.md") !~ /\bcgroup_move\b/;
	push @wrong, 'the tracing programs' if !compiles($copy, $without) || !has_program($copy);
	my @lib   = map {"-I$copy/$_"} qw(postmortem/lib abi/lib abi/generated);
	my $knows = qx{$^X @lib -MTipme::Cut -e 'print Tipme::Cut->knows("cgroup_move")' 2>&1};
	push @wrong, 'a bundle' if $knows ne '1';
	push @wrong, 'no test'  if slurp("$copy/helper/test/record-classes.t") !~ /\^cgroup_move /;
	return "@wrong";
}

sub compiles {
	my ($copy, $without) = @_;
	my @include = map {"-I$copy/$_"} qw(abi abi/generated abi/kernel helper/bpf);
	my @bpf     = ($clang, qw(-g -O1 -fsyntax-only -target bpf -D__TARGET_ARCH_x86), @include);
	my $good    = system("@bpf '$copy/helper/bpf/kernel_source.bpf.c' 2>'$copy/said'") == 0;
	diag(slurp("$copy/said")) if !$good && !defined $without;
	return $good;
}

sub has_program { return slurp("$_[0]/helper/bpf/changes.bpf.h") =~ /tipme_migrate_cgroup/ }

is(outcome(), '', 'all steps: the record is there');
for my $k (0 .. $#steps) {
	isnt(outcome($k), '', "without step @{[ $k + 1 ]} ($steps[$k][0]) something is missing");
}

SKIP: {
	skip 'the copy is built with TIPME_TEST_ALL=1', 1 if !$ENV{TIPME_TEST_ALL};
	skip 'not root',                                1 if $>;
	my $copy = "$tmp/whole";
	make_path($copy);
	system("cd '$root' && git archive HEAD | tar -xC '$copy'") == 0 or die "no copy of the tree\n";
	tree($copy, $root, [], @steps);
	delete local @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR MAKEFLAGS MFLAGS MAKELEVEL)};
	my $said = qx{cd '$copy' && { ./bootstrap && mkdir build && abi/gen-records && cd build &&
		../configure --enable-recorder=yes --enable-bpf=yes && make -j2 && make check TESTS= &&
		make check TESTS=helper/test/record-classes.t; cat helper/test/record-classes.log; } 2>&1};
	like($said, qr/^ok \d+ - a thread moved there and back/m, 'built, it records') or diag($said);
}
done_testing;
