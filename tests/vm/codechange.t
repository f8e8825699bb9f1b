#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# An emulated machine of two threads lives while its kernel changes its own code again and again, as
# recording does: an emulator older than 8.1 kills it within a minute
# (TIPME_EMULATOR=qemu-system-x86_64 on Debian 12 shows that).
use strict;
use warnings;
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(no_complaint);
use Tipme::VM;

# The old one died after 9 to 40 s.
use constant SECONDS => $ENV{TIPME_TEST_ALL} ? 150 : 60;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

diag Tipme::VM::Emulator::emulator()->{version};
my $vm      = Tipme::VM->new(kernel => '6.12', thread => 'multi');
my $seconds = SECONDS;
my $said    = eval { scalar $vm->run(<<"END") };
mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing; cd /sys/kernel/tracing/events
for i in 1 2 3; do (timeout $seconds sh -c 'while :; do ls -lR /usr/share > /dev/null; done' &); done
end=\$((\$(date +%s) + $seconds)); n=0
while [ \$(date +%s) -lt \$end ]; do for on in 1 0; do for e in sched irq raw_syscalls timer; do echo \$on > \$e/enable; done; done; n=\$((n + 1)); done
echo "changed \$n"
END
cmp_ok(
	($said // "") =~ /^changed (\d+)/m ? $1 : 0, '>', 20,
	'tracepoints went on and off in a busy machine, which lives'
) or diag $said // $@;
no_complaint($vm) if defined $said;
$vm->close;
done_testing;
