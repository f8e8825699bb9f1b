#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The module compiles without a warning (W=1) against Debian's kernels, and a probe with a wrong
# prototype does not compile.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $top = $ENV{TIPME_SRCDIR} // '.';
plan skip_all => 'not root: the headers are fetched into root\'s cache only' if $>;
plan skip_all => 'no apt-get here: the headers of Debian\'s kernels cannot be had'
	if system 'command -v apt-get >/dev/null';

my @kernels = $ENV{TIPME_TEST_ALL} ? qw(6.1 6.12 6.12-rt) : qw(6.1);
my $dir     = tempdir('tipme-module-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $sparse  = system('command -v sparse >/dev/null') == 0;
my ($headers, $looked);
for my $kernel (@kernels) {
	chomp(my $got = qx{"$top/kernel-patch/headers" $kernel 2>$dir/why});
SKIP: {
		skip "the headers of $kernel could not be had: " . said("$dir/why"), 2 if $?;
		$headers //= $got;
		# sparse looks at the first of them as it compiles.
		my @how = $headers eq $got && $sparse ? qw(W=1 C=2) : 'W=1';
		my $log = qx{"$top/kernel-patch/build-module" "$got" "$dir/$kernel" @how 2>&1};
		$looked //= $log if @how > 1;
		ok($? == 0 && -s "$dir/$kernel/tipme.ko", "it compiles for $kernel") or diag $log;
		my @complaints = grep {/warning|WARNING|error/} split /\n/, $log;
		is("@complaints", '', 'without a complaint');
	}
}
# What no compiler sees: address spaces, locks held at one end only, the kernel's style.
SKIP: {
	skip 'no headers',                                                         1 if !$headers;
	skip 'no sparse here: install the packages of class test in .ci/packages', 1 if !$sparse;
	my @complaints = grep {/(?:warning|error):/} split /\n/, $looked;
	is("@complaints", '', 'sparse has no complaint') or diag $looked;
	like($looked, qr/^\s*CHECK\s.*scheduler\.c$/m, 'though it looked');
}
SKIP: {
	# The headers have no checkpatch.pl; a kernel's source lies in the cache once mkkernel has built
	# one.
	my ($script) = glob(
		($ENV{XDG_CACHE_HOME} // "$ENV{HOME}/.cache") . '/tipme/source-*/scripts/checkpatch.pl');
	skip 'no checkpatch.pl: no source of a kernel is in the cache (tests/vm/mkkernel fetches one)',
		1
		if !$script;
	# Not for us: versions, since we are compiled for several; macros that make rows of a table or
	# whole functions; lines as wide as the house has them. Braces and blanks are as clang-format
	# lays them out (tests/layout.t).
	my $ignore = 'LINUX_VERSION_CODE,CONSTANT_COMPARISON,COMPLEX_MACRO,TRAILING_SEMICOLON,'
		. 'OPEN_BRACE,TRAILING_STATEMENTS,SPACING';
	my @files = map { glob "$top/$_" } qw(kernel-patch/module/*.[ch] abi/kernel/*_uapi.h);
	my $said =
		qx{perl "$script" --no-tree --terse --no-summary --max-line-length=150 --ignore $ignore -f @files 2>&1};
	is($said, '', 'checkpatch has no complaint about ' . @files . ' files');
}
SKIP: {
	skip 'no headers', 1 if !$headers;
	# A stable update may change what a tracepoint hands over: then the module must not compile.
	qx{"$top/kernel-patch/build-module" - "$dir/wrong"};
	qx{sed -i 's/^static void on_cpu_frequency(void \\*unused, unsigned int khz, unsigned int cpu)/static void on_cpu_frequency(void *unused, const char *khz, unsigned int cpu)/; s/r.khz = khz;/r.khz = (unsigned long)khz;/' "$dir/wrong/changes.c"};
	my $log = qx{make -C "$headers" M="$dir/wrong" changes.o 2>&1};
	isnt($?, 0, 'a probe with another prototype than its tracepoint is refused');
	like($log, qr/incompatible pointer type/, 'by the compiler, for its type');
}
done_testing;

sub said {
	my ($file) = @_;
	open my $h, '<', $file or return '';
	local $/;
	return (<$h> // '') =~ s/\s+/ /gr;
}
