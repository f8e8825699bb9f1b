#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The worked example of docs/examples.md, "a kind of verdict", done word for word in a copy of the
# tree: the tests there pass and tell its story, in under 60 lines; and no step of it is idle.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/lib";
use Tipme::Test::Example qw(steps tree);

my $MOST_LINES = 60;
my @PARTS =
	qw(postmortem/lib postmortem/t abi/lib abi/generated abi/records.def docs/diagnose-json.md
	tests/causes/lib);
my ($root) = grep { defined && -e "$_/docs/examples.md" } $ENV{TIPME_SRCDIR}, "$Bin/../..";
my $tmp    = tempdir(CLEANUP => 1);
my @steps  = steps($root, 'a kind of verdict');
is(scalar @steps, 7, 'seven steps');
my $lines = () = join('', map { $_->[2] } @steps) =~ /\n/g;
cmp_ok($lines, '<', $MOST_LINES, "$lines lines");

# outcome(WITHOUT): what the tests of a tree say in which the steps were done, except one
my $n = 0;

sub outcome {
	my ($without) = @_;
	my $copy = "$tmp/tree" . ++$n;
	tree($copy, $root, \@PARTS, map { $steps[$_] } grep { $_ != ($without // -1) } 0 .. $#steps);
	local $ENV{TIPME_SRCDIR} = $copy;
	my $said = '';
	for my $test (qw(reasons kinds)) {
		open my $from, '-|', qq{exec $^X "$copy/postmortem/t/$test.t" 2>&1} or die "$test: $!\n";
		while (my $line = <$from>) {
			$said .= $line;
			# One fault is enough where there must be one.
			return $said if defined $without && $line =~ /^not ok/;
		}
		close $from or $said .= "not ok - $test.t failed\n";
	}
	return $said;
}

my $all = outcome();
is(join('', $all =~ /^(not ok.*\n)/mg), '', 'all steps: the tests pass')
	or diag($all =~ s/^ok.*\n//mgr);
like($all, qr/^ok \d+ - served: verdict page-served$/m, 'and tell the story');
for my $k (0 .. $#steps) {
	like(outcome($k), qr/^not ok/m, "without step @{[ $k + 1 ]} ($steps[$k][0]) a test fails");
}

done_testing();
