#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The logic of the hooks that needs no server, built with the address and undefined-behaviour sanitizers, and under libFuzzer.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
my $dir = tempdir(CLEANUP => 1);
my $include = join ' ', map { "-I'$_'" } $build, "$src/abi", "$src/abi/generated", "$src/xserver-hooks/src";
my $logic = join ' ', map { "'$src/xserver-hooks/src/$_.c'" } qw(hotkey xclock xring);
my $flags = '-g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all';

# An empty program first: where that cannot be built, the sanitizer is missing, not our code wrong.
sub works {
	my ($cc, $more, $code) = @_;
	open my $out, '>', "$dir/try.c" or die;
	print {$out} $code;
	close $out;
	return !system "$cc $flags $more '$dir/try.c' -o '$dir/try' 2>/dev/null";
}

for my $test (qw(test-hotkey test-xclock test-xring)) {
	SKIP: {
		skip 'the compiler has no address sanitizer (Debian: libasan8)', 2 if !works('cc', '', 'int main(void) { return 0; }');
		is(system("cc $flags $include '$src/xserver-hooks/test/$test.c' $logic -o '$dir/$test' -lpthread"), 0, "$test: builds");
		my $out = qx{'$dir/$test' 2>&1};
		ok(!$? && $out !~ /^not ok|ERROR|runtime error/m && $out =~ /^ok /m, "$test: no complaint") or diag $out;
	}
}
SKIP: {
	my $entry = '#include <stdint.h>' . "\n" . '#include <stddef.h>' . "\n" . 'int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return 0; }';
	skip 'no clang with libFuzzer (Debian: clang libclang-rt-14-dev)', 2 if !works('clang', '-fsanitize=fuzzer', $entry);
	is(system("clang $flags -fsanitize=fuzzer $include '$src/xserver-hooks/test/fuzz-logic.c' $logic -o '$dir/fuzz'"), 0, 'fuzz-logic: builds');
	my $runs = $ENV{TIPME_TEST_ALL} ? 1_000_000 : 50_000;
	my $out = qx{cd '$dir' && ./fuzz -seed=2000 -runs=$runs -max_len=2000 2>&1};
	ok(!$? && $out =~ /Done $runs runs/, "fuzz-logic: $runs inputs") or diag $out;
}
done_testing();
