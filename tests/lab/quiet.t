#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# No false accusation: ordinary work, undisturbed, ends in the verdict `none`. With half of the
# clients, drawn by the commit's hash; with TIPME_TEST_ALL=1 with each, five times.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", map {"$ENV{TIPME_SRCDIR}/$_"} qw(helper/demo tests/lib);
use Tipme::Drawn     qw(in_turn);
use Tipme::ExactPath qw(exact_path);
use Tipme::Lab;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $runs    = $ENV{TIPME_TEST_ALL} ? 5 : 1;
my $seed    = $ENV{TIPME_LAB_SEED} // int rand 1_000_000;
my @clients = in_turn(2, 'clients', Tipme::Lab::clients());
note("seeds from $seed (TIPME_LAB_SEED)");
Tipme::Lab::prefer_ourselves();
my $lab = Tipme::Lab->new(library => tempdir(CLEANUP => 1), seed => $seed);
for my $run (0 .. $runs - 1) {
	for my $client (@clients) {
		my $r;
		for my $again (0 .. 2) {
			$r = $lab->quiet($client, seed => $seed + $run + 1000 * $again);
			last if quiet_machine($r);
		}
		subtest "$client, seed " . ($seed + $run) => sub { judge($r) };
	}
}
$lab->close;
done_testing;

# Where the machine itself was slow, as an observer who knows nothing of our records saw, that may
# be said: then it is staged again.
sub quiet_machine { return $_[0]{slowest_ns} <= 90_000_000 }

sub judge {
	my ($r) = @_;
	plan skip_all => sprintf 'the machine was not quiet, three times: an answer took %.0f ms',
		$r->{slowest_ns} / 1e6
		if !quiet_machine($r);
	is($r->{verdict}{kind}, 'none', $r->{verdict}{sentence});
	exact_path($r->{diagnosis}) if $r->{interval};
	return;
}
