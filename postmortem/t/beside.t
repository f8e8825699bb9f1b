#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Two kernel sources side by side, as where the module records and tracing programs add what it
# cannot: the few long sections of the one do not stand in for those of the other.
use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::Test::Episode;

my $S = 1_000_000_000;
my $b = Tipme::Test::Episode->new(
	first_ns => 1 * $S, trigger_ns      => 9 * $S, end_ns => 10 * $S,
	cpus     => 1,      section_records => 2
);
# Thread 7 runs from 2.1 s on, and nothing is switched for a long time.
$b->add(
	'kernel.rec', 'kernel_module', 0, 'sched_switch', ts_ns => $_->[0] * $S, tid => $_->[1],
	next_tid => $_->[2], prev_state => 'sleeping'
) for [ 1.5, 1, 5 ], [ 1.6, 5, 6 ], [ 2, 6, 5 ], [ 2.1, 5, 7 ], [ 8, 7, 8 ], [ 8.1, 8, 7 ];
# It is sampled all the while.
$b->add(
	'kernel.rec', 'kernel_bpf', 0, 'sample', ts_ns => $_ * $S, tid => 7, cpu => 0,
	kind => 'clock'
) for 3, 3.5, 4, 4.5, 6.5, 7;
my $ep = Tipme::Episode->open($b->write(tempdir(CLEANUP => 1) . '/e'));

my $ev       = Tipme::KernelEvents->load($ep, 5 * $S, 9 * $S);
my @switches = map { vec($ev->{ts}, $_, 64) / $S }
	grep { vec($ev->{type}, $_, 8) == Tipme::KernelEvents::SWITCH } 0 .. $ev->count - 1;
is_deeply(
	\@switches, [ 2, 2.1, 8, 8.1 ],
	'who runs at the beginning is told by the last switches before it, though samples came later'
);
is_deeply(
	[ map { vec($ev->{ts}, $_, 64) / $S } @{ $ev->of_kind(Tipme::KernelEvents::SAMPLE) } ],
	[ 4, 4.5, 6.5, 7 ], 'samples are loaded, too'
);
is($ev->exact_from / $S, 4, 'both are complete from where the later one of them begins');

# A source that has nothing to say for long has nothing missing either.
$ev = Tipme::KernelEvents->load($ep, 2.05 * $S, 9 * $S);
is($ev->exact_from / $S, 2, 'samples that begin later do not make the switches begin later');
done_testing;
