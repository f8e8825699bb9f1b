#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The worked example of CONTRIBUTING.md, "a kind of verdict", done word for word in a copy of the
# tree: the tests there pass and tell its story, in under 60 lines; and no step of it is idle.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin qw($Bin);

my $MOST_LINES = 60;
my ($root) = grep { defined && -e "$_/CONTRIBUTING.md" } $ENV{TIPME_SRCDIR}, "$Bin/../..";
my $tmp = tempdir(CLEANUP => 1);

sub slurp { my ($f) = @_; open my $h, '<', $f or die "$f: $!\n"; local $/; return scalar <$h> }
sub spew { my ($f, $text) = @_; open my $h, '>', $f or die "$f: $!\n"; print {$h} $text; close $h or die "$f: $!\n"; return }

# The steps: [ file, what the line has before which it goes, the lines ]
my ($example) = slurp("$root/CONTRIBUTING.md") =~ /^## Worked example: a kind of verdict\n(.*?)(?=^## |\z)/ms;
my @steps;
while ($example =~ /^\d+\. `([^`]+)`, before the line with `([^`]+)`:.*?^```\n(.*?)^```$/msg) { push @steps, [ $1, $2, $3 ] }
is(scalar @steps, 6, 'six steps');
my $lines = () = join('', map { $_->[2] } @steps) =~ /\n/g;
cmp_ok($lines, '<', $MOST_LINES, "$lines lines");

# outcome(WITHOUT): what the tests of a tree say in which the steps were done, except one
my $n = 0;
sub outcome {
	my ($without) = @_;
	my $copy = "$tmp/tree" . ++$n;
	mkdir $copy or die "$!\n";
	for my $part (qw(postmortem/lib postmortem/t abi/lib abi/generated abi/records.def docs/diagnose-json.md)) {
		system('sh', '-c', 'cd "$1" && cp --parents -rL "$2" "$3"', 'sh', $root, $part, $copy) == 0 or die "$part: not copied\n";
	}
	system('chmod', '-R', 'u+w', $copy);
	for my $k (grep { $_ != ($without // -1) } 0 .. $#steps) {
		my ($file, $before, $new) = @{ $steps[$k] };
		my $text = slurp("$copy/$file");
		$text =~ s/^(?=[^\n]*\Q$before\E)/$new/m or die "CONTRIBUTING.md: step @{[ $k + 1 ]}: $file: no line with $before\n";
		spew("$copy/$file", $text);
	}
	local $ENV{TIPME_SRCDIR} = $copy;
	return join '', map { scalar qx{$^X "$copy/postmortem/t/$_.t" 2>&1} . ($? ? "not ok - $_.t failed\n" : '') } qw(kinds reasons);
}

my $all = outcome();
is(join('', $all =~ /^(not ok.*\n)/mg), '', 'all steps: the tests pass') or diag($all =~ s/^ok.*\n//mgr);
like($all, qr/^ok \d+ - served: verdict page-served$/m, 'and tell the story');
for my $k (0 .. $#steps) { like(outcome($k), qr/^not ok/m, "without step @{[ $k + 1 ]} ($steps[$k][0]) a test fails") }

done_testing();
