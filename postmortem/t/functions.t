#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Samples name the function in which a program computed: of the user, of the kernel for the user;
# what could be chance is not said.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub story { return Tipme::Test::Story->new(@_) }
sub ns    { return Tipme::Test::Story::ns($_[0]) }

# --- samples name the function; user code, and the kernel for the user ---
sub sampled {
	my ($n, @stack) = @_;
	my $s =
		story()->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping')->draw(1800.9)->hotkey(3000);
	$s->daemon('module', module_id => 5, pid => CLIENT, path => '/usr/lib/libvte.so.0')
		->daemon('module', module_id => 6, pid => CLIENT, path => '/usr/bin/xterm');
	$s->daemon('user_stack', stack_id => $_, frames => 3, text => $stack[ $_ - 1 ]) for 1 .. @stack;
	$s->kernel(
		1, 1010 + 10 * $_, 'sample', tid => CLIENT, user_stack_id => 1 + $_ % @stack,
		period_us => 10_000, cpu => 1, kind => 'clock'
	) for 0 .. $n - 1;
	return $s;
}
my $d = judged(
	'sampled', sampled(70, 'reflow+0x1a[5];paint+0x90[6];main+0x3[6]'), 'app-compute',
	'xterm',   0.98,                                                    1
);
is_deeply(
	$d->{verdict}{circumstances}, ['70 of 70 samples lie in reflow (libvte.so.0).'],
	'sampled: module and function'
);
# A sample comes where interrupts are let in again: that names their caller.
my $kernel_stack = 77;
my $s = story()->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping')->draw(1800.9)->hotkey(3000);
$s->builder->stack($kernel_stack, stack_text('cpu-clock'));
$s->kernel(
	1, 1010 + 10 * $_, 'sample', tid => CLIENT, kernel_stack_id => $kernel_stack,
	period_us => 10_000, cpu => 1, kind => 'clock'
) for 0 .. 69;
is_deeply(
	judged('sampled, interrupts', $s, 'app-compute', 'xterm', 0.98, 1)->{verdict}{circumstances},
	['70 of 70 samples lie in task_sched_runtime (in the kernel).'],
	'sampled, interrupts: the caller'
);
$d = judged(
	'sampled below', sampled(70, map {"$_+0x1a[5];paint+0x90[6];main+0x3[6]"} qw(a b c d)),
	'app-compute',   'xterm', 0.98, 1
);
is_deeply(
	$d->{verdict}{circumstances},
	['70 of 70 samples lie in paint or what it called (xterm).'],
	'sampled below: the function that all are below'
);
$d = judged(
	'sampled, stripped', sampled(70, '+0x1a2b[5];main+0x3[6]'), 'app-compute', 'xterm',
	0.98, 1
);
is_deeply(
	$d->{verdict}{circumstances},
	['70 of 70 samples lie in the code at +0x1a2b (libvte.so.0).'], 'sampled: no symbol'
);

# How often of how many: what could be chance is not said. Each stack is another function, but for
# the first, which so many have.
for my $case (
	[ 1,  84, 0 ], [ 2,  2,  0 ], [ 4, 4, 0 ], [ 5, 5, 1 ], [ 4, 10, 0 ], [ 5, 10, 1 ],
	[ 20, 70, 0 ], [ 22, 70, 1 ]
	)
{
	my ($k, $of, $said) = @$case;
	my @other = map {"f$_+0x1a[5]"} 1 .. $of - $k;
	$d = judged(
		"sampled, $k of $of", sampled($of, ('reflow+0x1a[5]') x $k, @other), 'app-compute',
		'xterm',              0.98,                                          1
	);
	is_deeply(
		$d->{verdict}{circumstances},
		$said ? ["$k of $of samples lie in reflow (libvte.so.0)."] : [],
		"sampled, $k of $of: " . ($said ? 'said' : 'may be chance')
	);
}
is_deeply(judged('samples of nothing', sampled(70, '?;?'), 'app-compute', 'xterm', 0.98, 1)
		->{verdict}{circumstances}, [], 'samples that nobody could name say nothing');

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
