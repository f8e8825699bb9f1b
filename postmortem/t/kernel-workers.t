#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Kernel workers that interrupts give work to: who waits for such a worker waits for what the
# interrupt came of.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
sub story { return Tipme::Test::Story->new }
sub ns    { return Tipme::Test::Story::ns($_[0]) }

# --- a write that another worker hands down; its end has a worker do the rest, who had nothing to
# do before, and who wakes the client (btrfs, dm-crypt) ---
sub ended_by_worker {
	my ($s, $stack, %f) = @_;
	my %w = (work => 77, function => 0x1234);
	$s->builder->thread($_, "kworker/u4:$_", flags => 1, ts_ns => 900 * MS) for 841, 842;
	$s->builder->thread(830, 'dd', ts_ns => 900 * MS);
	for my $t (1400, 1700) {
		$s->kernel(0, $t + 0.001, 'work_queued', tid => 0, %w, context => 'softirq_irq')
			->wake(0, $t + 0.002, 841, 0, undef, context => 'softirq_irq', wakee_cpu => 0)
			->run(0, $t + 0.01, $t + 0.1, 841, 'idle')
			->kernel(0, $t + 0.02, 'work_start', tid => 841, %w)
			->kernel(0, $t + 0.09, 'work_end',   tid => 841, %w);
	}
	$s->io(830, 9000, 990, 1001.05, 1400, op => 'write');
	$s->io(842, 90, 1001.1, 1400.1, $f{done} // 1700, op => 'write');
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, $f{state} // 'disk_sleep');
	$s->wake(0, 1700.05, CLIENT, 841, $stack)->run(1, 1700.15, 1701.05, CLIENT, 'sleeping');
	return $s->draw(1700.95)->hotkey(3000);
}
my $d = judged('what a worker ends', ended_by_worker(story(), 'disk'), 'disk-io', 'dd', 0.99, 1);
my ($ahead) = grep { $_->{kind} eq 'disk-io' && $_->{pid} == 830 } @{ $d->{totals}{blamed} };
is($ahead->{ns}, ns(1400) - ns(1001.1), 'what a worker ends: as long as the disk worked for it');
ok(
	!(grep { $_->{tid} == 841 && $_->{to_ns} - $_->{from_ns} > MS } @{ $d->{path} }),
	'... and none of it is the sleep of the worker'
);
judged(
	'a worker that a timer woke', ended_by_worker(story(), 'disk', done => 1500), 'unknown',
	undef,                        0.98,                                           1
);
judged(
	'a worker, and no wait for a disk', ended_by_worker(story(), 'futex', state => 'sleeping'),
	'unknown', undef, 0.98, 1
);
done_testing;
