# SPDX-License-Identifier: GPL-2.0-only
# A story with a record of each kind, so that each is read, whole or damaged.
package Tipme::Test::EachKind;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Test::Story;

our @EXPORT_OK = qw(each_kind);

# each_kind(PLAIN, SHORT): a Story; PLAIN: without quotas, since with them no path is told by runs;
# SHORT: as few records as can be, so that many may be tried
sub each_kind {
	my ($plain, $short) = @_;
	my $s = Tipme::Test::Story->new(trigger => 2000, no_usual => $short)->key(1000, 400);
	$short ? $s->enter(1900, chord => 'last') : $s->hotkey(1900);
	my @any = (tid => 200);
	$s->io(200, 90, 1010, 1020, 1300)->io(900, 98, 1011, 1015, 1200, op => 'write')
		->kernel(0, 1250, 'io', phase => 'requeued', sector => 90, dev => 8 << 20, sectors => 8);
	$s->lasts(
		'lock_contention', 1, 1100, 1150, @any, lock => 4711, owner_tid => 300,
		kind => 'mutex'
	)->lasts('memory_wait', 1, 1160, 1190, @any, kind => 'direct_reclaim');
	$s->kernel(1, 1200, 'irq', @any, duration_ns => 5 * 1_000_000, number => 14, kind => 'hardirq')
		->kernel(1, 1210, 'signal', @any, pid => 200, sender_tid => 300, signal => 19);
	$s->lasts('cpu_throttle', 1, 1220, 1230, cgroup => 77, cpu => 1) if !$plain;
	$s->kernel(1, 1240, 'priority', @any, old_prio => 139, new_prio => 120, inherited => 1)
		->kernel(1, 1250, 'migrate', @any, to_cpu => 1);
	$s->kernel(1, 1260, 'cpu_frequency', khz => 800_000)->kernel(1, 1265, 'cpu_idle', idle_ns => 1)
		->kernel(1, 1270, 'steal', steal_ns => 1_000_000, cpu => 1, since_ns => 1200 * 1_000_000);
	$s->kernel(1, 1280 + $_, 'sample', @any, user_stack_id => 1, cpu => 1, kind => 'clock')
		for 0 .. ($short ? 1 : 9);
	$s->kernel(0, 999, 'input', kind => 'key_press')->kernel(0, 1281, 'latency', irq_ns => 5)
		->kernel(0, 1282, 'latency_user', user_ns => 5);
	$s->daemon('module', module_id => 5, path => '/usr/bin/xterm')
		->daemon('user_stack', stack_id => 1, frames => 1, text => 'reflow+0x1a[5]')->daemon(
		'cgroup_name', cgroup => 77, quota_us => $plain ? 0 : 1, period_us => 2,
		path => '/x'
		);
	$s->daemon('irq_name', number => 14, name => 'ata')
		->daemon('disk_name', dev => 8 << 20, name => 'sda')
		->daemon('process',   pid => 901,     ppid => 300, exe => '/bin/x')
		->daemon('exec_args', pid => 200,     text => "a\nb");
	# What the input thread and the kernel module say of the key; and two that take turns on a CPU,
	# thirty times, or as often as is told by runs.
	my $b = $s->builder;
	$b->add(
		'x-100-101.rec', 'x_hooks', 0, 'x_input', ts_ns => 1_000_095_000, tid => 101,
		kernel_ns => 999_900_000, kind => 'key_press', device => 2
	);
	$b->x(
		1_000_101_000, 'x_device', input_seq => 90, kind => 'key_press', device => 6,
		server_ms => 1000
	)->x(
		1_000_195_000, 'x_deliver', input_seq => 90, kind => 'key_press', pid => 200,
		client => 4
	);
	$b->add(
		'module.rec', 'kernel_module', 0, 'input', ts_ns => 999_800_000, kind => 'key_press',
		class => 'keyboard', device => 2
	)->add(
		'module.rec', 'kernel_module', 0, 'irq', ts_ns => 999_300_000, kind => 'hardirq',
		number => 1, duration_ns => 900_000
	);
	$b->switch(1, 1_350_000_000 + 50_000 * $_, 200, 900, 'runnable', prev_preempted => 1)
		->switch(1, 1_350_020_000 + 50_000 * $_, 900, 200, 'runnable', prev_preempted => 1)
		for 0 .. ($short ? 6 : 29);
	return $s->picture(200, 'xterm', cgroup => 77, cpus_allowed => 1, rss_kib => 5);
}

1;
