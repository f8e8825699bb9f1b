# SPDX-License-Identifier: GPL-2.0-only
# What reads strangers' bytes, built with the address and undefined-behaviour sanitizers, and under
# libFuzzer.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Tipme::Sanitized qw(fuzzed no_complaint);

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
my @include = map {"-I'$_'"} $build, "$src/abi", "$src/abi/generated", "$src/abi/kernel",
	"$src/abi/xring", "$src/helper/lib";
my @library = map {"'$src/helper/lib/$_.c'"} qw(message paths text);
push @library, "'$src/abi/xring/xring_reader.c'";

for my $test (qw(daemon-x-ring daemon-message daemon-told)) {
	my @more =
		$test eq 'daemon-told'
		? ("-I'$src/helper/daemon/snapshot'", "'$src/helper/daemon/snapshot/told.c'")
		: ();
	no_complaint($test, @include, "'$src/helper/test/$test.c'", @more, @library);
}
fuzzed(
	'fuzz-message', { seed => 1996, runs => 200_000, max_len => 300 }, @include,
	"'$src/helper/test/fuzz-message.c'",                               @library
);
done_testing;
