#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# An emulated machine that vanishes in the midst of a test: the test is told how, since such an end
# leaves nothing else to look at.
use strict;
use warnings;
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

gone(
	'a kernel that panics', sub { command('echo c > /proc/sysrq-trigger', @_) },
	qr/gone: it has reset/, qr/Kernel panic/
);
gone(
	'a CPU that faults thrice',
	sub { command('echo triple > /sys/kernel/reboot/type; echo b > /proc/sysrq-trigger', @_) },
	qr/gone: a CPU had a triple fault/, qr/^RIP=[0-9a-f]{16} /m
);
gone(
	'an emulator that is killed', sub { kill 'KILL', $_[0]{pid}; $_[0]->run('true') },
	qr/signal 9 ended the emulator/
);
gone(
	'while it is asked by its monitor',
	sub { kill 'TERM', $_[0]{pid}; sleep 1; $_[0]->monitor('info status') },
	qr/terminating on signal 15/
);
done_testing;

sub command { my ($command, $vm) = @_; return $vm->run("$command; sleep 100") }

sub gone {
	my ($how, $code, @told) = @_;
	my $vm = Tipme::VM->new(kernel => '6.1');
	ok(!eval { $code->($vm); 1 }, "$how: what is asked of the machine fails");
	like($@, $_, 'and says how it ended') for @told;
	$vm->close;
	return;
}
