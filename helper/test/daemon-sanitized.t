# SPDX-License-Identifier: GPL-2.0-only
# What reads strangers' bytes, built with the address and undefined-behaviour sanitizers, and under libFuzzer.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
my $dir = tempdir(CLEANUP => 1);
my $include = join ' ', map { "-I'$_'" } $build, "$src/abi", "$src/abi/generated", "$src/helper/lib";
my $library = join ' ', map { "'$src/helper/lib/$_.c'" } qw(message paths text x_ring);
my $flags = '-g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all';

# An empty program first: where that cannot be built, the sanitizer is missing, not our code wrong.
sub works {
	my ($cc, $more, $code) = @_;
	open my $out, '>', "$dir/try.c" or die;
	print {$out} $code;
	close $out;
	return !system "$cc $flags $more '$dir/try.c' -o '$dir/try' 2>/dev/null";
}

for my $test (qw(daemon-x-ring daemon-message daemon-told)) {
	my $more = $test eq 'daemon-told' ? "-I'$src/helper/daemon' '$src/helper/daemon/told.c'" : '';
	SKIP: {
		skip 'the compiler has no address sanitizer (Debian: libasan8)', 2 if !works('cc', '', 'int main(void) { return 0; }');
		is system("cc $flags $include '$src/helper/test/$test.c' $more $library -o '$dir/$test' -lpthread"), 0, "$test: builds";
		my $out = qx{'$dir/$test' 2>&1};
		ok !$? && $out !~ /^not ok|ERROR|runtime error/m, "$test: no complaint" or diag $out;
	}
}
SKIP: {
	my $entry = '#include <stdint.h>' . "\n" . '#include <stddef.h>' . "\n" . 'int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return 0; }';
	skip 'no clang with libFuzzer (Debian: clang libclang-rt-14-dev)', 2 if !works('clang', '-fsanitize=fuzzer', $entry);
	is system("clang $flags -fsanitize=fuzzer $include '$src/helper/test/fuzz-message.c' $library -o '$dir/fuzz'"), 0, 'fuzz-message: builds';
	my $out = qx{cd '$dir' && ./fuzz -seed=1996 -runs=200000 -max_len=300 2>&1};
	ok !$? && $out =~ /Done 200000 runs/, 'fuzz-message: 200000 inputs' or diag $out;
}
done_testing;
