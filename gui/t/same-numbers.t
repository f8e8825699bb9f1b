#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Real episodes, of the laboratory of real programs: what the window has of each is what the command
# line prints. With TIPME_TEST_ALL=1 those that postmortem/t/real keeps; and all below the folders
# of TIPME_TEST_EPISODES, parted by colons. tests/lab/lab.t does the same with all that it stages.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use Test::More;
use lib "$Bin/../../tests/lib", "$Bin/../../postmortem/t/lib", "$Bin/../../postmortem/lib",
	"$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::SameNumbers qw(differences);
use Tipme::Test::Episode;

plan skip_all => 'takes a minute: set TIPME_TEST_ALL=1' if !$ENV{TIPME_TEST_ALL};
plan skip_all => 'needs xz (Debian: xz-utils)'          if system 'xz --version >/dev/null 2>&1';
my $BUILD = $ENV{TIPME_BUILDDIR} // die "TIPME_BUILDDIR is not set: run it by make check\n";
my $tmp   = tempdir('tipme-same-XXXXXX', TMPDIR => 1, CLEANUP => 1);
local $ENV{TIPME_LIBRARY} = "$tmp/library";
local $ENV{TIPME_RUNDIR}  = "$tmp/norecorder";

my @packed = sort glob "$Bin/../../postmortem/t/real/*.tar.xz";
for (@packed) {
	my ($name) = m{([^/]+)\.tar\.xz\z};
	mkdir "$tmp/$name"                                or die "$tmp/$name: $!\n";
	system('tar', 'xJf', $_, '-C', "$tmp/$name") == 0 or die "$_: tar failed\n";
	# They are kept without it.
	open my $schema, '>', "$tmp/$name/schema" or die "$tmp/$name: $!\n";
	print {$schema} Tipme::Test::Episode->schema_text;
	close $schema or die "$tmp/$name: $!\n";
}
my @folders = ($tmp, split /:/, $ENV{TIPME_TEST_EPISODES} // '');
open my $found, '-|', 'find', @folders, '-name', 'manifest.json' or die "find: $!\n";
chomp(my @episodes = sort map {s{/manifest\.json$}{}r} <$found>);
cmp_ok scalar @episodes, '>=', @packed, @episodes . ' episodes';
my ($compared, $same) = (0, 0);
for my $episode (@episodes) {
	my $it = differences("$BUILD/tipme", _own($episode));
	is_deeply $it->{differ}, [], $episode =~ s{^\Q$tmp\E/}{}r;
	$compared += $it->{compared};
	$same++ if !@{ $it->{differ} };
}
diag "$same of " . @episodes . " episodes the same, $compared numbers and names";
done_testing;

# An index is written beside the records: a copy, where they are not ours.
sub _own {
	my ($episode) = @_;
	return $episode if index($episode, $tmp) == 0;
	system 'rm', '-rf', "$tmp/copy";
	system('cp', '-r', $episode, "$tmp/copy") == 0 or die "$episode: cp failed\n";
	return "$tmp/copy";
}
