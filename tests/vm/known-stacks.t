#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# On Debian's kernels: sleepers' stacks that are known again without being unwound are the ones that
# unwinding finds.
use strict;
use warnings;
use File::Copy qw(cp);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop ();
use Tipme::VM;

# So many are known again on a machine whose CPU is emulated.
use constant ENOUGH => 2000;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $payload = tempdir('tipme-payload-XXXXXX', TMPDIR => 1, CLEANUP => 1);
cp("$ENV{TIPME_BUILDDIR}/helper/test/known-stacks", $payload) or BAIL_OUT("known-stacks: $!");
chmod 0755, "$payload/known-stacks";
my $enough = ENOUGH;
my $script = "cd /tmp && /known-stacks $enough || true\n";

for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1 6.12') {
	Tipme::Desktop::to_its_end("Debian's kernel $kernel", sub { on_kernel($kernel) });
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my $said = Tipme::VM->counted(kernel => $kernel, payload => $payload, script => $script);
	my ($known, $unwound, $wrong) =
		$said =~ /^# (\d+) known again, (\d+) unwound, (\d+) known wrongly$/m
		or return fail("$kernel: it says what it knew") || diag $said;
	cmp_ok $known, '>=', ENOUGH, "$kernel: stacks of sleepers are known again" or diag $said;
	is $wrong, 0, "none for another one, $unwound were unwound" or diag $said;
	like $said, qr/^ok \d+ - a third, at least, of those who sleep always alike$/m,
		"$kernel: a third of those who sleep always alike"
		or diag $said;
	return;
}
