# SPDX-License-Identifier: GPL-2.0-only
# Builds test programs with the address and undefined-behaviour sanitizers, or as fuzzers, and runs
# them.
package Tipme::Sanitized;
use strict;
use warnings;
use Exporter   qw(import);
use File::Temp qw(tempdir);
use Test::More;

our @EXPORT_OK = qw(corpus fuzzed no_complaint);

my $FLAGS = '-g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all';
my $PLAIN = '-g -O2 -D_GNU_SOURCE';
my $ENTRY =
	  "#include <stdint.h>\n#include <stddef.h>\n"
	. "int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return 0; }";
my $dir = tempdir(CLEANUP => 1);

# no_complaint(NAME, compiler's words ...): the test program, which speaks TAP, passes under the
# sanitizers.
sub no_complaint {
	my ($name, @words) = @_;
SKIP: {
		skip 'the compiler has no address sanitizer (Debian: libasan8)', 2
			if !_works('cc', '', 'int main(void) { return 0; }');
		is(system("cc $FLAGS @words -o '$dir/$name' -lpthread"), 0, "$name: builds");
		my $out = qx{'$dir/$name' 2>&1};
		ok(!$? && $out !~ /^not ok|ERROR|runtime error/m && $out =~ /^ok /m, "$name: no complaint")
			or diag $out;
	}
	return;
}

# fuzzed(NAME, { runs, seed, max_len, plain, corpus }, compiler's words ...): so many inputs of
# libFuzzer find nothing; plain: without the sanitizers, several times as fast; corpus: a folder of
# inputs to begin with.
sub fuzzed {
	my ($name, $o, @words) = @_;
SKIP: {
		skip 'no clang with libFuzzer (Debian: clang libclang-rt-14-dev)', 2
			if !_works('clang', '-fsanitize=fuzzer', $ENTRY);
		my $flags = $o->{plain} ? $PLAIN : $FLAGS;
		is(system("clang $flags -fsanitize=fuzzer @words -o '$dir/$name'"), 0, "$name: builds");
		my $how = join ' ', map {"-$_=$o->{$_}"} qw(seed runs max_len);
		$how .= " '$o->{corpus}'" if $o->{corpus};
		my $out = qx{cd '$dir' && './$name' $how 2>&1};
		ok(!$? && $out =~ /Done $o->{runs} runs/, "$name: $o->{runs} inputs") or diag $out;
		note $1 if $out =~ /(Done \d+ runs in .*)/;
	}
	return;
}

# corpus(): a folder of inputs: whole episodes, as abi/episode/t/fuzz-folder.h takes them apart.
sub corpus {
	my $to = tempdir(CLEANUP => 1);
	return $to
		if !eval { require Tipme::Test::EachKind; 1 };    # modules of the post-mortem are missing
	for my $plain (0, 1) {
		my $episode = Tipme::Test::EachKind::each_kind($plain, 1)->builder->write("$to/.$plain");
		my %is      = map { $_ => _slurp("$episode/$_") } qw(manifest.json kernel.rec threads.rec);
		# A file's header has 64 bytes, a section's head 56.
		my %part = (
			0 => substr($is{'kernel.rec'}, 64 + 56),
			1 => $is{'manifest.json'},
			2 => substr($is{'kernel.rec'}, 64),
			3 => $is{'threads.rec'},
			4 => substr($is{'kernel.rec'}, 64 + 56)
		);
		for my $how (sort keys %part) {
			open my $out, '>:raw', "$to/$plain-$how" or die "$to: $!\n";
			print {$out} chr($how), $part{$how};
			close $out or die "$to: $!\n";
		}
		system 'rm', '-r', $episode;
	}
	return $to;
}

sub _slurp {
	my ($file) = @_;
	open my $in, '<:raw', $file or die "$file: $!\n";
	local $/;
	return scalar <$in>;
}

# An empty program first: where that cannot be built, the sanitizer is missing, not our code wrong.
sub _works {
	my ($cc, $more, $code) = @_;
	open my $out, '>', "$dir/try.c" or die "$dir/try.c: $!\n";
	print {$out} $code;
	close $out or die "$dir/try.c: $!\n";
	return !system "$cc $FLAGS $more '$dir/try.c' -o '$dir/try' 2>/dev/null";
}

1;
