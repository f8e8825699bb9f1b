#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Causes whose name only several records together tell: a disk that slept, a commit of a file
# system, work that firmware asked for, who reads what is audited, who asks a monitor, who has the
# clipboard.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, KWORKER => 50, OTHER => 500, MS => 1_000_000 };

sub said { my ($d) = @_; return join "\n", @{ $d->{verdict}{circumstances} } }

sub sentence {
	my ($d, $like) = @_;
	return like($d->{verdict}{sentence}, $like, '... the sentence');
}

# --- the first request after a pause takes long: the disk slept ---
sub first_request {
	my ($before, @reported) = @_;
	my $s = Tipme::Test::Story->new(trigger => 40_000);
	$s->daemon('kernel_message', ts_ns => 32_900 * MS, kind => 'disk_error', device => $_)
		for @reported;
	$s->io(900,    7,  $before,  $before + 1, $before + 3);
	$s->io(CLIENT, 90, 30_000.9, 30_001.5,    33_000)->enter(30_000);
	$s->run(1, 30_000.25, 30_001, CLIENT, 'disk_sleep');
	$s->wake(0, 33_000, CLIENT, 0, 'disk', context => 'hardirq');
	$s->run(1, 33_000.1, 33_002, CLIENT, 'sleeping');
	return judged('a disk', $s->draw(33_001.9)->hotkey(35_000), 'disk-io', 'xterm', 0.98, 1);
}
my $d = first_request(2000);
like(
	said($d),
	qr/^Disk 8:0 had had nothing to do for 28\.0 s, and took 3\.0 s for the first request: it had to wake/m,
	'it slept'
);
unlike(said(first_request(29_000)), qr/had had nothing to do/, 'one that is awake is only slow');
unlike(said(first_request(2000, '8:0')), qr/had to wake/, 'one that could not read is no sleeper');
like(said(first_request(2000, 'sdq')), qr/had to wake/, 'another disk that could not read');

# --- a commit of btrfs ---
{
	my $s = Tipme::Test::Story->new(manifest => { state => { btrfs_quotas => [1] } });
	$s->builder->stack(90, stack_text('btrfs'))
		->thread(OTHER, 'btrfs-transacti', flags => 1, ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'disk_sleep')
		->run(0, 1000.9, 1900, OTHER, 'sleeping');
	$s->wake(0, 1899.9, CLIENT, OTHER, undef, stack_id => 90);
	$s->run(1, 1900, 1902, CLIENT, 'sleeping');
	$d = judged('btrfs', $s->draw(1901.9)->hotkey(3000), 'disk-io', 'xterm', 0.98, 1);
	sentence(
		$d,
		qr/waiting until btrfs has written what was changed \(a commit\), through btrfs-transacti\.$/
	);
	like(said($d), qr/btrfs with quotas: when a snapshot is deleted/, '... its quotas');
}

# --- a worker of the kernel has the CPU, and nobody but interrupts has asked for its work ---
sub storm {
	my ($function) = @_;
	my $s = Tipme::Test::Story->new->enter(1000);
	$s->daemon('function', function => 0x77, name => $function);
	$s->kernel(1, 999, 'work_queued', tid => 0, work => 3, function => 0x77, context => 'hardirq');
	$s->kernel(1, 999.2, 'work_start', tid => KWORKER, work => 3, function => 0x77);
	$s->run(1, 999.1, 1700, KWORKER, 'idle', next => CLIENT);
	$s->kernel(1, 1699.9, 'work_end', tid => KWORKER, work => 3, function => 0x77);
	$s->builder->switch(1, 1702 * MS, CLIENT, 0, 'sleeping');
	return $s->draw(1701.9)->hotkey(3000);
}
$d =
	judged('firmware', storm('acpi_os_execute_deferred'), 'cpu-contention', 'kworker/1:2', 0.98, 1);
sentence($d, qr/taken by "kworker\/1:2" .*, which handled events of the firmware \(ACPI\)\.$/);
like($d->{verdict}{next}, qr{/sys/firmware/acpi/interrupts}, '... what to look at');
$d = judged('a driver', storm('cardbus_poll'), 'cpu-contention', 'kworker/1:2', 0.98, 1);
sentence($d, qr/which did cardbus_poll: interrupts had asked for it\.$/);

# --- the backlog of what is audited is full: the kernel's thread waits for the
# daemon that reads it ---
{
	my $s = Tipme::Test::Story->new;
	$s->builder->stack(90, stack_text('audit'))
		->thread(60, 'kauditd', flags => 1, ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(OTHER, 'auditd', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')->run(0, 990, 991, 60, 'sleeping');
	$s->run(0, 995,  1800, OTHER,  'sleeping')->wake(0, 1799.9, 60,     OTHER);
	$s->run(0, 1800, 1801, 60,     'sleeping')->wake(0, 1800.9, CLIENT, 60, undef, stack_id => 90);
	$s->run(1, 1801, 1803, CLIENT, 'sleeping');
	$d = judged('audit', $s->draw(1802.9)->hotkey(3000), 'ipc-wait', 'auditd', 0.97, 1);
}

# --- a monitor is asked by one process (DDC), which has the display's lock meanwhile ---
{
	my $s = Tipme::Test::Story->new;
	$s->builder->stack(90, stack_text('ddc'))
		->thread(OTHER, 'powerdevil', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->lasts(
		'lock_contention', 1, 1000.95, 1800, tid => CLIENT, lock => 77, owner_tid => OTHER,
		kind => 'mutex'
	);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'disk_sleep')
		->run(0, 990, 991, OTHER, 'disk_sleep');
	$s->wake(0, 1799, OTHER, 0, undef, context => 'hardirq', stack_id => 90);
	$s->run(0, 1799.1, 1801, OTHER,  'sleeping')->wake(0, 1800, CLIENT, OTHER, 'mutex');
	$s->run(1, 1800.1, 1802, CLIENT, 'sleeping');
	$d = judged('DDC', $s->draw(1801.9)->hotkey(3000), 'lock-wait', 'powerdevil', 0.97, 1);
	sentence($d, qr/"powerdevil" .* held while waiting for a monitor to answer \(EDID, DDC\)\.$/);
}
# --- a client that has the clipboard does not answer who wants it; ours gives up, or waits ---
sub wants {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(trigger => 4000);
	$s->builder->thread(OTHER, 'editor', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9, SERVER, CLIENT, 'epoll');
	$s->run(0, 1001, 1001.3, SERVER, 'sleeping');
	my $b = $s->builder;
	$b->x(1001.01 * MS, 'x_wakeup');
	$b->x(1001.1 * MS, 'x_deliver', kind => 'other', pid => OTHER, client => 9, x_type => 30)
		if !$o{untold};
	$b->x(
		1001.05 * MS, 'x_request', pid => CLIENT, client => 4, duration_ns => MS / 10,
		major => 24, sequence => 9, count => 1
	);
	$b->x(1001.29 * MS, 'x_sleep');
	$s->wake(0, 1001.2, OTHER, SERVER, 'poll')->run(
		1, 1001.4, $o{waits} ? 3990 : 1400, OTHER, $o{waits} ? "runnable" : "sleeping",
		preempted => $o{waits} ? 1 : 0
	);
	$s->enter(1080, kind => 'key_release', no_wake => 1);

	if (!$o{waits}) {
		$s->wake(1, 2501, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, 2501.1, 2503, CLIENT, 'sleeping')->draw(2502.8);
	}
	return $s->hotkey(3500)->picture(
		CLIENT, 'xterm', since_ns => Tipme::Test::Story::ns($o{waits} ? 1001 : 2503),
		stack_id => $s->id('poll')
	);
}
$d = judged('the clipboard', wants(), 'time-out', 'editor', 0.95, 1);
sentence($d, qr/it waited for an answer of "editor" \(pid 500\), and gave up\.$/);
judged('... that is still waited for', wants(waits  => 1), 'ipc-wait',    'editor', 0.8, 1);
judged('... of whom nobody tells',     wants(untold => 1), 'timer-sleep', 'xterm',  0.9, 1);

# --- an input method of X is handed the key by a message, had been stopped before, and hands it
# back by another: without those it would be somebody who looks at the screen ---
sub handed_on {
	my ($type) = @_;
	my $s      = Tipme::Test::Story->new;
	my $b      = $s->builder;
	$b->thread(OTHER, 'imserver', ts_ns => 5 * MS, since_ns => 2 * MS);
	my $asks = sub {
		my ($t, $from, $to) = @_;
		$b->x($t * MS, 'x_wakeup');
		$b->x(($t + 0.1) * MS, 'x_deliver', kind => 'other', x_type => $type, @$to);
		$b->x(
			($t + 0.05) * MS, 'x_request', @$from,
			duration_ns => MS / 10, major => 25, sequence => 9, count => 1
		);
		$b->x(($t + 0.3) * MS, 'x_sleep');
	};
	my @client = (pid => CLIENT, client => 4);
	my @other  = (pid => OTHER,  client => 9);
	$s->wake(1, 890, OTHER, 0, 'poll', context => 'hardirq')
		->run(1, 890.1, 890.2, OTHER, 'stopped');
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
		->wake(1, 1000.9, SERVER, CLIENT, 'epoll')->run(0, 1001, 1001.3, SERVER, 'sleeping');
	$asks->(1001.01, \@client, \@other);
	$s->wake(0, 1600, OTHER, 999)->run(1, 1600.1, 1601, OTHER, 'sleeping')
		->wake(1, 1600.9, SERVER, OTHER, 'epoll')->run(0, 1601, 1601.4, SERVER, 'sleeping');
	$asks->(1601.01, \@other, \@client);
	$s->wake(0, 1601.3, CLIENT, SERVER, 'poll')->run(1, 1601.4, 1603, CLIENT, 'sleeping');
	return $s->draw(1602.9)->hotkey(3000);
}
judged('an input method',            handed_on(33), 'stopped', 'imserver', 0.95, 1);
judged('... and one who only looks', handed_on(22), 'none',    undef,      0,    0);
done_testing();
