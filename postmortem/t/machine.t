#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The machine as a whole, beside the threads of a path: memory and who has it, what the kernel
# reported, how fast its CPUs might run, and what changed with it between two episodes.
use strict;
use warnings;
use Test::More;
use File::Temp ();
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated",
	"$Bin/../../tests/causes/lib";
use Tipme::RowSaid;
use Tipme::Compare qw(compare);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Machine;
use Tipme::Steps;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, MS => 1_000_000 };

# slept(STATE, ID, STACK, CONTEXT): the client sleeps there from 1,001 to 1,700 ms
sub slept {
	my ($state, $id, $stack, $context) = @_;
	my $s = Tipme::Test::Story->new(manifest => { state => $state });
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->builder->stack($id, $stack);
	$s->wake(0, 1700, CLIENT, 0, undef, context => $context, stack_id => $id);
	return $s->run(1, 1700.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
}

sub said { my ($d) = @_; return join "\n", @{ $d->{verdict}{circumstances} } }

# --- memory: how full, how long waited for, by name and by group, where it is swapped to ---
my $s = Tipme::Test::Story->new(
	manifest => { state => { swap => [ { kind => 'zram', kib => 4 << 20 } ] } });
$s->lasts('memory_wait', 1, 1000.95, 1700.2, tid => CLIENT, kind => 'fault_swap');
my %second = (
	total_kib     => 8 << 20, available_kib => 400 << 10, swap_total_kib => 4 << 20,
	swap_free_kib => 1 << 20, full_us       => 600_000,   some_us        => 900_000, io_full_us => 0
);
$s->daemon('memory_state', ts_ns => $_ * 1000 * MS, since_ns => ($_ - 1) * 1000 * MS, %second)
	for 1 .. 3;
$s->daemon('cgroup_name', cgroup => 77, path => '/user.slice/app-chrome.scope');
$s->builder->thread(800 + $_, 'chrome', rss_kib => 100 << 10, cgroup => 77) for 1 .. 43;
$s->builder->thread(900, 'code', rss_kib => 3 << 20);
$s->run(1, 1000.25, 1001, CLIENT, 'disk_sleep')->enter(1000);
$s->wake(0, 1700, CLIENT, 0, undef, context => 'hardirq');
my $d = judged(
	'memory',        $s->run(1, 1700.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000),
	'page-fault-io', 'xterm'
);
like(said($d), qr/^Memory was full to 95 % \(of 8\.0 GiB\), swap to 75 %\.$/m, 'how full it was');
like(said($d), qr/^All threads at once waited for memory for 600 of these 1000 ms,/m, 'PSI');
like(
	said($d), qr/^Most memory had: chrome \(43 processes\) 4\.2 GiB, code 3\.0 GiB\b/m,
	'many processes of one name are one'
);
like(said($d), qr/\(zram\)/, 'where it is swapped to');
is($d->{verdict}{memory}{groups}[0]{name}, 'app-chrome.scope', 'the group that has most');

# What is swapped to compressed memory is read back by computing: memory's time, not the program's.
# Each fault is told when it is over; samples tell how much of the time they had.
sub unpacks {
	my ($of_ten) = @_;
	my $s = Tipme::Test::Story->new->enter(1000);
	$s->builder->stack(97, stack_text('zram-read'));
	$s->kernel(1, 1000.5 + $_, 'memory_wait', phase => 'end', tid => CLIENT, kind => 'fault_swap')
		for 0 .. 600;
	$s->kernel(
		1, 1001.2 + 10 * $_, 'sample', tid => CLIENT, cpu => 1, period_us => 10_101,
		kernel_stack_id => $_ % 10 < $of_ten ? 97 : 0
	) for 0 .. 59;
	return $s->run(1, 1000.25, 1602, CLIENT, 'sleeping')->draw(1601.9)->hotkey(3000);
}
$d = judged('zram', unpacks(8), 'memory-reclaim', 'xterm', 0.75, 0.85);
like(
	$d->{verdict}{sentence}, qr/reading back what had been swapped out, with the CPU/,
	'what it did'
);
judged('... and mostly its own work', unpacks(2), 'app-compute', 'xterm', 0.75, 0.85);

# --- what the kernel reported: of the thing that was waited for, of something else, of long ago ---
my $FENCE = stack_text('fence');
$s = slept({}, 90, $FENCE, 'hardirq');
$s->daemon(
	'kernel_message', ts_ns => 1400 * MS, kind => 'gpu_reset', device => 'amdgpu',
	severity => 3
);
$s->daemon('kernel_message', ts_ns => 1500 * MS, kind => 'usb_reset', device => '1-3', number => 4);
$d = judged('a reset', $s, 'gpu-wait', 'xterm');
like(
	$d->{verdict}{sentence},
	qr/; the kernel reported: the graphics processor hung, or was reset \(amdgpu\)\.$/,
	'it stands in the sentence'
);
like(
	said($d), qr/^The kernel reported at 1\.500 s: a USB device was reset \(1-3\)\.$/m,
	'what it is not of stands beside'
);
$s = slept({}, 90, $FENCE, 'hardirq');
$s->daemon('kernel_message', ts_ns => 3900 * MS, kind => 'gpu_reset', device => 'amdgpu');
$d = judged('a reset later', $s, 'gpu-wait', 'xterm');
unlike(
	$d->{verdict}{sentence} . said($d), qr/kernel reported/,
	'what came long after is not meant'
);

# --- how fast the CPU ran: looked at each second; the same work at full speed would be usual ---
sub computed {
	my ($ms, @speeds) = @_;
	my $s = Tipme::Test::Story->new(
		manifest => {
			state       => { governor => 'powersave' },
			frequencies => [ map { +{ cpu => $_, khz => 4_700_000, max_khz => 4_700_000 } } 0, 1 ]
		}
	);
	$s->daemon(
		'cpu_speed', ts_ns => $_->[0] * MS, cpu => 1, khz => $_->[1], limit_khz => $_->[2],
		max_khz => 4_700_000, throttled => $_->[3], power => 2
	) for @speeds;
	$s->enter(1000)->run(1, 1000.25, 1000 + $ms, CLIENT, 'sleeping')->draw(1000 + $ms - 0.1);
	return $s->hotkey(3000);
}
$d = judged(
	'slow',     computed(700, [ 900, 400_000, 800_000, 0 ], [ 1500, 400_000, 800_000, 3 ]),
	'cpu-slow', 'xterm'
);
like($d->{verdict}{sentence}, qr/computed, on a CPU that ran at 0\.40 GHz of 4\.70\.$/, 'how slow');
like(said($d), qr/It may run at 0\.80 GHz at most/,              'a limit from outside');
like(said($d), qr/Heat or power slowed it down 3 times/,         'heat');
like(said($d), qr/ran on its battery\..*governor is powersave/s, 'power and governor');
$d = judged(
	'slow, and long all the same', computed(1900, [ 900, 2_000_000, 4_700_000, 0 ]),
	'app-compute',                 'xterm'
);
like(said($d), qr/^CPU 1 ran at 2\.00 GHz/m, 'said, and not blamed');
judged('fast', computed(700, [ 900, 4_600_000, 4_700_000, 0 ]), 'app-compute', 'xterm');

# --- the X server sleeps in another client's request: that one asked for it ---
sub asked_for {
	my ($client) = @_;
	my $s = Tipme::Test::Story->new->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->builder->thread(500, 'wine');
	$s->builder->stack(98, stack_text('monitor'));
	$s->wake(1, 1000.9, SERVER, CLIENT, 'epoll')->run(0, 1001, 1001.4, SERVER, 'disk_sleep');
	$s->wake(0, 1600, SERVER, 0, undef, context => 'hardirq', stack_id => 98)
		->run(0, 1600.1, 1601, SERVER, 'sleeping');
	$s->builder->x(1001.1 * MS, 'x_wakeup')->x(
		1001.2 * MS, 'x_request', pid => $client, client => 9, duration_ns => 599 * MS,
		major => 140, minor => 20, sequence => 7, count => 1
	);
	$s->builder->x(
		1600.4 * MS, 'x_request', pid => CLIENT, client => 4, duration_ns => MS / 10,
		major => 74, sequence => 1, count => 1
	);
	$s->builder->x(
		1600.5 * MS, 'x_damage', pid => CLIENT, client => 4, major => 74, width => 6,
		height => 13
	)->x(1600.9 * MS, 'x_sleep');
	return $s->hotkey(3000);
}
$d = judged('modes of a monitor', asked_for(500), 'client-queue', 'wine', 0.9);
like(
	$d->{verdict}{sentence},
	qr/the X server was in a request of "wine" \(pid 500\), waiting for a monitor to answer/,
	'who asked, and for what the server waited'
);
Tipme::RowSaid::story(18, $d);

# --- a writer is held back: who wrote most is to be blamed ---
my $HELD = stack_text('throttled');
$s = slept({}, 94, $HELD, 'hardirq');
judged('its own backlog', $s, 'writeback', 'xterm', 0.98, 1);
$s = slept({}, 94, $HELD, 'hardirq');
$s->builder->thread(600, 'cp', ts_ns => 5 * MS);
for my $k (0 .. 9) {
	$s->wake(0, 980 + 100 * $k, 600, 0, undef, context => 'hardirq', stack_id => 94);
	$s->run(0, 980.1 + 100 * $k, 981 + 100 * $k, 600, 'sleeping');
}
$d = judged('somebody else\'s', $s, 'writeback', 'cp', 0.9);
like(
	$d->{verdict}{sentence},
	qr/it was held back, because .*: "cp" \(pid 600\) had written most of it\.$/, 'who it was'
);

# Both are held back as often, since the kernel gives each writer the same; who was held back before
# made the backlog.
sub both_held {
	my (@before) = @_;
	my $s = Tipme::Test::Story->new->enter(1000);
	$s->builder->thread(600, 'cp', ts_ns => 5 * MS);
	$s->builder->stack(94, $HELD);
	my $held = sub {
		my ($tid, @at) = @_;
		for my $at (@at) {
			$s->wake(1, $at, $tid, 0, undef, context => 'hardirq', stack_id => 94);
			$s->run(1, $at + 0.1, $at + 0.3, $tid, 'sleeping');
		}
	};
	$held->(@$_) for @before;
	$s->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	for my $k (1 .. 7) {
		$held->(600,    1000 + 100 * $k - 50);
		$held->(CLIENT, 1000 + 100 * $k) if $k < 7;
	}
	$s->wake(1, 1700, CLIENT, 0, undef, context => 'hardirq', stack_id => 94);
	return $s->run(1, 1700.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
}
judged('as often, and nobody before', both_held(), 'writeback', 'xterm', 0.9);
$d = judged('who was held back before', both_held([ 600, 200, 350, 500 ]), 'writeback', 'cp', 0.9);
like(
	$d->{verdict}{sentence}, qr/"cp" \(pid 600\) had written most of it\.$/,
	'... made the backlog'
);
judged(
	'both were before', both_held([ 600, 200, 350, 500 ], [ CLIENT, 210, 360, 510 ]),
	'writeback', 'xterm', 0.9
);

# --- the machine stands still: nobody records anything, though somebody has a CPU ---
sub still {
	my ($samples) = @_;
	my $s = Tipme::Test::Story->new->enter(1000);
	$s->kernel(1, 1005 + 10 * $_, 'sample', tid => CLIENT, cpu => 1, period_us => 10_101)
		for 0 .. ($samples ? 58 : 3), 54 .. 58;
	return $s->run(1, 1000.25, 1600, CLIENT, 'sleeping')->draw(1599.9)->hotkey(3000);
}
$d = judged('still', still(0), 'machine-stall', undef, 0.8);
like($d->{verdict}{sentence}, qr/no CPU did anything that could be recorded/, 'what it was');
judged('busy', still(1), 'app-compute', 'xterm', 0.9);

# --- commands: those that are here, with what undoes them by what the machine had ---
sub steps {
	my ($v, $state, %o) = @_;
	return Tipme::Steps::steps($v, $state, find => sub {1}, root => 1, %o);
}

sub commands {
	return join "\n", map { $_->{command} } @{ steps(@_) };
}
{
	my %v       = (kind => 'writeback', blamed => { pid => 600, detail => 'wait-writeback' });
	my %machine = (
		dirty_bytes            => 0, dirty_background_bytes => 0, dirty_ratio => 30,
		dirty_background_ratio => 5
	);
	my $steps = steps(\%v, \%machine);
	is($steps->[1]{mark}, 'try', 'a setting is a try');
	is(
		$steps->[1]{undo}, 'sysctl vm.dirty_ratio=30 vm.dirty_background_ratio=5',
		'undone by what was there'
	);
	like(
		steps(\%v, \%machine, root => 0)->[1]{undo},
		qr/^sudo sysctl/, '... by sudo, for who needs it'
	);
	unlike(
		steps(\%v, \%machine, root => 0, find => sub { $_[0] ne 'sudo' })->[1]{undo}, qr/sudo/,
		'... and has it'
	);
	is_deeply(
		steps(\%v, \%machine, find => sub { $_[0] ne 'sysctl' && $_[0] ne 'grep' }),
		[], 'a command that is not here is not told'
	);
	unlike(commands(\%v, {}), qr/sysctl/, 'nor one that could not be undone');
	unlike(
		commands(\%v, { %machine, dirty_background_bytes => 1 << 20, dirty_background_ratio => 0 }),
		qr/sysctl/, 'nor where one limit is in bytes already'
	);
	my %disk = (kind => 'disk-io', blamed => { pid => 7, detail => 'disk-busy', disk => 'sda' });
	my %mapped =
		(encrypted => ['dm-0'], disks => [ { name => 'sda' }, { name => 'dm-0', over => 'sda' } ]);
	my $name = '"$(cat /sys/block/dm-0/dm/name)"';
	is(
		steps(\%disk, \%mapped)->[0]{undo},
		"cryptsetup refresh $name", 'an encrypted disk, by the name that it takes'
	);
	unlike(
		commands({ %disk, blamed => { %{ $disk{blamed} }, disk => 'sdb' } }, \%mapped),
		qr/cryptsetup/, '... and no other disk'
	);
	unlike(commands(\%disk, {}), qr/cryptsetup|btrfs/, 'and none of what this machine has not');
	unlike(commands(\%disk, { btrfs_quotas => [1] }), qr/btrfs/, 'nor of what was not waited for');
	my %btrfs = (kind => 'disk-io', blamed => { pid => 7, detail => 'wait-btrfs', disk => 'sda' });
	like(
		commands(\%btrfs, { btrfs_quotas => [1] }),
		qr/^btrfs quota disable /m, '... quotas of btrfs'
	);
	my %there = (living => { own => 1, nice => 5 });
	my %still = (kind   => 'stopped', blamed => { pid => 8 });
	is(steps(\%still, {}, %there)->[0]{mark}, 'cure', 'what ends it is a cure');
	is_deeply(steps(\%still, {}), [], '... but not where the process is not there any more');
	my $over = Tipme::Reason::reason('stopped', until => 'sh (pid 9)');
	unlike(
		commands({ kind => 'stopped', blamed => { pid => 8, detail => $over } }, {}, %there),
		qr/kill/, '... and what has ended needs none'
	);
	my %slow = (kind => 'cpu-slow');
	is(
		steps(\%slow, { platform_profile => 'low-power' })->[0]{undo},
		'powerprofilesctl set power-saver', 'back to the profile that it had'
	);
	is(
		steps(\%slow, { energy_preference => 'balance_power' })->[0]{undo},
		'powerprofilesctl set balanced', '... also by what the CPUs were told'
	);
	unlike(commands(\%slow, {}), qr/powerprofilesctl/, '... which is not known');
	my %pieces = (kind => 'memory-reclaim', blamed => { pid => 7, detail => 'memory-compaction' });
	is(
		steps(\%pieces, { huge_pages_defrag => 'always' }, root => 0)->[0]{undo},
		'echo always | sudo tee /sys/kernel/mm/transparent_hugepage/defrag', 'huge pages'
	);
	unlike(commands(\%pieces, { huge_pages_defrag => 'madvise' }), qr/tee/, '... asked for by few');
	my %seen;
	my @net = (kind => 'network-wait', blamed => { detail => 'wait-service-dns' });
	ok(!(grep { $seen{ $_->{command} }++ } @{ steps({@net}, {}) }), 'nothing is told twice');
	is(steps({@net}, {})->[0]{command}, 'resolvectl status', '... and first what fits best');
}

# --- input that came late from its device: silent in a movement, then many reports at once ---
sub moved {
	my ($after_ms, $input) = @_;
	my @state = $input ? (manifest => { state => { inputs => [$input] } }) : ();
	my $s     = Tipme::Test::Story->new(@state);
	$s->key(1000, 3);
	my @t = map { 1200 + 8 * $_ } 0 .. 30;
	push @t, map { 1800 + $after_ms * $_ } 0 .. 23;
	$s->builder->x(
		($_ + 1) * MS, 'x_input', kernel_ns => $_ * MS, device => 5, kind => 'motion',
		tid => 101
	) for @t;
	return said($s->hotkey(3000)->diagnose(File::Temp::tempdir(CLEANUP => 1) . '/m'));
}
like(
	moved(0.25),
	qr/^Input device event5 was silent for 360 ms from 1\.440 s on, .*then sent 24 reports within 6 ms/m,
	'silent, then a burst'
);
unlike(moved(8), qr/was silent/, 'one that stopped and moves again as before is not late');
like(
	moved(0.25, { device => 'event5', bus => 'bluetooth' }),
	qr/^Input device event5 \(Bluetooth\) was silent for 360 ms/m,
	'... at which bus'
);

# --- a keyboard that sleeps: nothing is slow that anybody records ---
sub slept_before {
	my (%is) = @_;
	my $s = Tipme::Test::Story->new(
		manifest => { state => { inputs => [ { device => 'event2', bus => 'usb', %is } ] } });
	$s->enter(3200)->run(1, 3200.25, 3203, CLIENT, 'sleeping')->draw(3202.8);
	$s->builder->x(
		($_ + 0.05) * MS, 'x_input', kernel_ns => int(($_ - 0.1) * MS), device => 2,
		kind => 'key_press', tid => 101
	) for 500, 3200;
	return $s->hotkey(3600)->diagnose(File::Temp::tempdir(CLEANUP => 1) . '/k');
}
$d = slept_before(power => 'auto', sleeps_after_ms => 2000);
is($d->{verdict}{kind}, 'none', 'a keyboard that slept: nothing slow');
like(
	said($d),
	qr/^Input device event2 \(USB\) may sleep after 2\.0 s .* nothing for 2\.7 s:/m,
	'... is said'
);
Tipme::RowSaid::story(23, $d);
unlike(
	said(slept_before(power => 'on', sleeps_after_ms => 2000)),
	qr/may sleep/, 'one that is kept awake'
);
unlike(said(slept_before(power => 'auto', sleeps_after_ms => 9000)), qr/may sleep/, 'or was awake');

# --- what the machine is: its clock, its disk; a mouse that sends very often ---
$s = Tipme::Test::Story->new(manifest => { state => { clock_source => 'hpet' } });
$d = judged(
	'hpet',
	$s->enter(1000)->run(1, 1000.25, 1700, CLIENT, 'sleeping')->draw(1699.9)->hotkey(3000),
	'app-compute', 'xterm'
);
like(said($d), qr/^The clock source of this machine is hpet/m, 'its clock is slow');
$s = Tipme::Test::Story->new(
	manifest => {
		state => {
			encrypted => ['8:0'], disks => [ { name => '8:0', rotational => 1, removable => 1 } ]
		}
	}
);
$s->io(CLIENT, 90, 1000.9, 1001.5, 1700)->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'disk_sleep');
$s->daemon(
	'kernel_message', ts_ns => 1600 * MS, kind => 'disk_error', device => 'ata1',
	severity => 3
);
$s->wake(0, 1700, CLIENT, 0, 'disk', context => 'hardirq')
	->run(1, 1700.1, 1702, CLIENT, 'sleeping');
$d = judged('a failing disk', $s->draw(1701.9)->hotkey(3000), 'disk-io', 'xterm');
like(
	$d->{verdict}{sentence},
	qr/; the kernel reported: a disk could not read or write, or was reset \(ata1\)\.$/,
	'its report is in the sentence'
);
like(said($d), qr/is encrypted.*rotates.*can be removed/s, 'what kind of disk it is');
Tipme::RowSaid::story(21, $d);
$s = Tipme::Test::Story->new->enter(1000);
$s->lasts('memory_wait', 1, 1000.5, 1600.5, tid => CLIENT, kind => 'compaction');
$d = judged(
	'compaction',     $s->run(1, 1000.25, 1602, CLIENT, 'sleeping')->draw(1601.9)->hotkey(3000),
	'memory-reclaim', 'xterm', 0.98, 1
);
like(
	$d->{verdict}{next}, qr/transparent_hugepage/,
	'huge pages, and not a full memory, are to be looked at'
);
Tipme::RowSaid::story(47, $d);

$s = Tipme::Test::Story->new->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
$s->wake(1, 1000.9, SERVER, CLIENT, 'epoll')->run(0, 1001, 1601, SERVER, 'sleeping');
$s->builder->x(1001.1 * MS, 'x_wakeup')->x(
	1001.2 * MS, 'x_request', pid => CLIENT, client => 4, duration_ns => 599 * MS, major => 74,
	sequence => 1, count => 1
);
$s->builder->x(
	(1100 + $_ / 2) * MS, 'x_input', kernel_ns => (1099 + $_ / 2) * MS, device => 7,
	kind => 'motion', tid => 101
) for 0 .. 900;
$s->builder->x(
	1600.5 * MS, 'x_damage', pid => CLIENT, client => 4, major => 74, width => 6,
	height => 13
)->x(1600.9 * MS, 'x_sleep');
$d = judged('a fast mouse', $s->hotkey(3000), 'server-compute', 'Xorg');
like(said($d), qr/^Input device event7 sent 1[45]\d\d reports a second\.$/m, 'it is told');
Tipme::RowSaid::story(53, $d);

# --- two episodes: what changed with the machine ---
sub opened {
	my ($name, $state) = @_;
	my $dir = File::Temp::tempdir(CLEANUP => 1) . "/$name";
	my $s   = slept($state, 90, $FENCE, 'hardirq');
	$s->builder->write($dir);
	return Tipme::Diagnosis->new(Tipme::Episode->open($dir));
}
my %machine = (
	clock_source => 'tsc', gpus => [ { driver => 'i915', device => '0x9a49' } ],
	mounts       => { ext4 => 2 }
);
my $c = compare(
	opened('a', \%machine),
	opened('b', { %machine, clock_source => 'hpet', mounts => { ext4 => 2, nfs4 => 1 } })
);
is_deeply(
	$c->{machine},
	[
		{ what => 'clock_source', a => 'tsc', b => 'hpet' },
		{ what => 'mounts.nfs4',  a => undef, b => '1' }
	],
	'what is another, and nothing else'
);
Tipme::Test::Judge::cut_to_the_path();
done_testing();
