#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What is committed in generated/ is what the generator makes of the schema today, byte for byte.
use strict;
use warnings;
use Test::More;
use File::Find qw(find);
use File::Temp qw(tempdir);
use FindBin    qw($Bin);

my $abi = "$Bin/..";
my $new = tempdir(CLEANUP => 1);
is(system($^X, "$abi/gen-records", '--out', $new), 0, 'the generator runs')
	or BAIL_OUT('no generator, nothing to compare');

my %made = files($new);
my %kept = files("$abi/generated");
is_deeply(
	[ sort keys %kept ], [ sort keys %made ],
	'generated/ holds the files that the generator makes, and no others'
);
for my $f (sort keys %made) {
	ok(
		defined $kept{$f} && $kept{$f} eq $made{$f},
		"$f is fresh (else run abi/gen-records and commit)"
	);
}
done_testing();

sub files {
	my ($dir) = @_;
	my %f;
	find(
		{
			no_chdir => 1,
			wanted   => sub {
				return if !-f;
				my $path = $_;
				open my $h, '<:raw', $path or die "$path: $!\n";
				local $/;
				$f{ substr $path, 1 + length $dir } = <$h>;
			}
		},
		$dir
	);
	return %f;
}
