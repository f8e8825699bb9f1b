# SPDX-License-Identifier: GPL-2.0-only
# A story for tests of readers: busy() has three CPUs with all kinds of records, some of one time,
# some that stand before an earlier one.
package Tipme::Test::Busy;
use strict;
use warnings;
use Exporter qw(import);
use Tipme::Test::Story;

our @EXPORT_OK = qw(busy);

use constant MS => 1_000_000;    # nanoseconds

sub busy {
	my $s = Tipme::Test::Story->new(trigger => 2000, section_records => 100)->key(1000, 400)
		->hotkey(1900);
	for my $cpu (0 .. 2) {
		for my $n (0 .. 399) {
			my ($t, $tid) = (600 + 2 * $n + ($n % 7 == 3 ? -0.5 : 0), 1000 + ($n * 7 + $cpu) % 23);
			my $what = $n % 9;
			if ($what < 3) {
				$s->builder->switch(
					$cpu, int($t * MS), $n % 5 ? $tid : 0, $n % 4 ? $tid + 1 : 0,
					'sleeping'
				);
			} elsif ($what < 5) {
				$s->wake($cpu, $t, $tid, $tid + 2, undef);
			} elsif ($what < 6) {
				$s->kernel(
					$cpu, $t, 'fork', tid => $tid, child_tid => 5000 + $n,
					child_pid => $tid
				);
			} elsif ($what < 7) {
				$s->kernel($cpu, $t, 'rename', tid => $tid, comm => "name$n");
			} elsif ($what < 8) {
				$s->kernel($cpu, $t, 'sample', tid => $tid, cpu => $cpu, kind => 'clock');
			} else {
				$s->kernel(
					$cpu, $t, 'irq', tid => $tid, number => $n, kind => 'hardirq',
					duration_ns => 5
				);
			}
		}
	}
	return $s;
}

1;
