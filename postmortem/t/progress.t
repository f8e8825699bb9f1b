#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Verbs that may take long show a bar on a terminal, and take it away; in a pipe there is none.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Busy qw(busy);

plan skip_all => 'script is not installed' if !grep { -x "$_/script" } split /:/, $ENV{PATH};
my $tmp = tempdir(CLEANUP => 1);
@ENV{qw(TIPME_LIBRARY LC_ALL TIPME_PROGRESS_S)} = ("$tmp/library", 'C', 0);
mkdir "$tmp/library", 0700 or die "$!\n";
my @id = map {
	my ($id, $b) = ("20261120-15030$_-3f2a", busy()->builder);
	$b->{id} = $id;
	$b->write("$tmp/library/$id");
	$id
} 1, 2;

my @verbs = (
	[ 'diagnose', $id[0] ],
	[ 'compare',  @id ],
	[ 'bundle',   $id[0], '--yes', '-o', "$tmp/x.tipme" ]
);
push @verbs, [ 'diagnose', $id[0], '-v' ], [ 'events', $id[0] ],
	[ 'timeline', $id[0], '-o', "$tmp/x.svg" ],
	[ 'export', $id[0], '--format', 'text', '-o', "$tmp/x.txt" ]
	if $ENV{TIPME_TEST_ALL};
for my $verb (@verbs) {
	my $command = join ' ', $^X, "$Bin/../bin/tipme-postmortem", @$verb;
	unlink glob "$tmp/x.*";
	my $seen = qx{script -qec '$command' /dev/null </dev/null};
	like($seen, qr/\r[a-z -]+ +\[#* *\] +\d+ %/, "$verb->[0]: a bar on a terminal");
	my ($last) = $seen =~ /.*\r([^\r\n]*%[^\r\n]*)/s;
	like($seen, qr/\Q$last\E\r\e\[K/, '... which is taken away');
	unlink glob "$tmp/x.*";
	unlike(scalar qx{$command 2>&1 </dev/null}, qr/\[#|\r|\e/, '... none in a pipe');
}
done_testing;
