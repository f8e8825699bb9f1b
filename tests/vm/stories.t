#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What only a machine of its own can show, on Debian's 6.12: one typed letter, stage by stage; a
# real-time process that starves the desktop while the hot-key is pressed on the keyboard; a
# terminal whose cgroup (version 2) has no CPU time left; and a letter from its interrupt on, with
# the kernel module.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(payload build_module start_recorder pid_of now hot_key diagnose parts);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $payload = payload();
my ($module, $why) = build_module('6.12');
$module && make_path("$payload/opt") && copy($module, "$payload/opt/tipme.ko")
	or BAIL_OUT($why // "tipme.ko: $!");
my $vm = Tipme::VM->new(kernel => '6.12', payload => $payload);
diag sprintf 'the saved desktop ran again after %.1f s', $vm->{restored_s};
my $pictures = "$ENV{TIPME_BUILDDIR}/tests/vm";
make_path($pictures);
start_recorder($vm);
parts(
	$vm, [ 'one letter', \&one_letter ], [ 'a real-time process takes all CPUs', \&rt_hog ],
	[ 'a terminal without CPU quota',     \&quota ],
	[ 'one letter from its interrupt on', \&from_the_interrupt ]
);
$vm->close;
done_testing;

# From the keyboard controller to the picture of the letter: each stage that a person waits for, in
# order.
sub one_letter {
	sleep 1;
	my $at = now($vm);
	$vm->press('k');
	sleep 1;
	my $d      = diagnose($vm, hot_key($vm), $at) or return;
	my @stages = @{ $d->{event}{stages} };
	my $first  = $stages[0]{ts_ns};
	diag sprintf '%-9s %9.3f ms  %s', $_->{name}, ($_->{ts_ns} - $first) / 1e6, $_->{certainty}
		for @stages;
	is(
		join(
			' ',
			grep    {/^(input|server|device|deliver|client|request|feedback)$/}
				map { $_->{name} } @stages
		),
		'input server device deliver client request feedback',
		'every stage was seen, from the device to the screen'
	);
	is(
		join(' ', map { $_->{name} } sort { $a->{ts_ns} <=> $b->{ts_ns} } @stages),
		join(' ', map { $_->{name} } @stages), 'in this order in time'
	);
	is($d->{event}{client}{comm}, 'xterm', 'the terminal was the client');
	# The input core's own time stamp, as the server's input thread has read it.
	is($stages[0]{certainty}, 'exact', 'when the kernel had the key is known, not inferred');
}

# The same with the kernel module, which also sees the interrupt of the keyboard controller and the
# input core: both come before what evdev tells.
sub from_the_interrupt {
	$vm->run('tipme stop');
	$vm->wait_for('the recorder has ended', '! pgrep -x tipmed');
	my ($said, $rc) = $vm->run('insmod /opt/tipme.ko');
	is($rc, 0, 'the module is loaded') or return diag $said;
	start_recorder($vm);
	sleep 1;
	my $at = now($vm);
	$vm->press('k');
	sleep 1;
	my $episode = hot_key($vm);
	my $d       = diagnose($vm, $episode, $at) or return;
	my @stages  = @{ $d->{event}{stages} };
	diag sprintf '%-9s %9.3f ms  %s', $_->{name}, ($_->{ts_ns} - $stages[0]{ts_ns}) / 1e6,
		$_->{certainty} for @stages;
	is(
		join(' ', map { $_->{name} } @stages),
		'interrupt input read server device deliver client request feedback',
		'every stage was seen, from the interrupt to the screen'
	);
	is(
		join(' ', map { $_->{name} } sort { $a->{ts_ns} <=> $b->{ts_ns} } @stages),
		join(' ', map { $_->{name} } @stages), 'in this order in time'
	);
	is(scalar(grep { $_->{certainty} ne 'exact' } @stages), 0, 'each of them exactly');
	is($d->{interval}{start_ns}, $stages[0]{ts_ns}, 'the interval begins with the interrupt');
	like(
		$d->{path}[0]{blamed}{comm} // '', qr/^interrupt \d+ \(.*i8042/,
		'which is the keyboard controller\'s, and has the first stretch of the path'
	);
	# The records themselves, by the plainest export.
	my $text = $vm->run(
		"rm -f /tmp/text; tipme export $episode --format text -o /tmp/text > /dev/null; grep -E ' "
			. "kernel_module (input|irq) ' /tmp/text");
	my @records =
		map { my %f = /(\w+)=(\S+)/g; $f{name} = /kernel_module (\w+)/ ? $1 : ''; \%f } split /\n/,
		$text;
	my ($core) = grep { $_->{name} eq 'input' && $_->{ts_ns} == $stages[1]{ts_ns} } @records;
	is($core->{kind}, 'key_press', 'the input core\'s record is of a key') or diag $text;
	is($core->{code}, 0,           'which one is not recorded');
	my ($irq) = grep { $_->{name} eq 'irq' && $_->{ts_ns} == $stages[0]{ts_ns} } @records;
	cmp_ok(
		($irq->{ts_ns} // 0) + ($irq->{duration_ns} // 0), '>=', $core->{ts_ns} // 0,
		'and lies within the interrupt'
	) or diag $text;
	print map {"# $_\n"} split /\n/, scalar $vm->run("tipme diagnose $episode --at $at | head -40");
}

# Two CPUs, two hogs, and as on a machine set up for sound nothing is kept back for ordinary
# processes: of the twentieth of a second that 6.12's fair server gives them each second, a terminal
# needs so little that it hardly waits. Letters and hot-key come while they run.
sub rt_hog {
	$vm->run(<<'END');
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
mountpoint -q /sys/kernel/debug || mount -t debugfs d /sys/kernel/debug
for f in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 > $f; done
rm -f /tmp/hog-*
cat > /tmp/hog <<'PERL'
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);
$0 = 'mixerd';
sleep 2;
open my $h, '>', "/tmp/hog-$$"; printf $h "%.3f\n", clock_gettime(CLOCK_MONOTONIC); close $h;
my $end = clock_gettime(CLOCK_MONOTONIC) + 6; 1 while clock_gettime(CLOCK_MONOTONIC) < $end;
sleep 60;
PERL
for i in 1 2; do setsid chrt -f 20 perl /tmp/hog & done
END
	sleep 3.5;
	$vm->press(('k') x 6);
	$vm->picture("$pictures/starved.png");
	my $episode = hot_key($vm);
	my %hog     = map { $_ => 1 } split ' ', $vm->run('pgrep -x mixerd');
	is(keys %hog, 2, 'both run');
	my ($began) = sort { $a <=> $b } split ' ', $vm->run('cat /tmp/hog-*');
	my $d       = diagnose($vm, $episode) or return;
	is($d->{verdict}{kind}, 'rt-starvation', "verdict: $d->{verdict}{sentence}")
		or diag
		scalar $vm->run("tipme diagnose $episode; tipme events $episode; cat /tmp/hog-* "
			. "/sys/kernel/debug/sched/fair_server/cpu*/runtime");
	ok($hog{ $d->{verdict}{blamed}{pid} // '' }, 'a hog is named by its pid');
	cmp_ok($d->{interval}{start_ns}, '>', $began * 1e9, 'the letter came after they began');
	$vm->run('kill ' . join ' ', keys %hog);
	timeline($episode);
}

# The screen while it starves, and the timeline of that, stay in the build folder.
sub timeline {
	my ($episode) = @_;
	my ($said, $rc) = $vm->run("tipme timeline $episode -o /tmp/t.svg");
	is($rc, 0, 'there is a timeline of it') or diag $said;
	my $svg = $vm->run('cat /tmp/t.svg');
	like($svg, qr/<svg\b.*mixerd.*<\/svg>/s, 'with the process that starved the desktop');
	open my $out, '>', "$pictures/starved.svg" or return fail("$pictures/starved.svg: $!");
	print {$out} $svg;
	close $out;
	ok(-s "$pictures/starved.png", 'and a picture of the screen meanwhile');
}

# 5 ms of each second are gone after the first letter.
sub quota {
	my $pid = pid_of($vm, 'xterm');
	my ($said, $rc) = $vm->run(
		"cd /sys/fs/cgroup && echo +cpu > cgroup.subtree_control; mkdir -p slow && echo '5000 "
			. "1000000' > slow/cpu.max && echo $pid > slow/cgroup.procs");
	is($rc, 0, 'the terminal is in a cgroup with a small quota') or diag $said;
	$vm->press(qw(a b c d e f));
	sleep 0.5;
	my $at = now($vm);
	$vm->press('ret');
	sleep 4;
	$vm->run('echo max > /sys/fs/cgroup/slow/cpu.max');
	sleep 1;
	my $throttled = $vm->run('cat /sys/fs/cgroup/slow/cpu.stat') =~ /^nr_throttled ([1-9]\d*)$/m;
	ok($throttled, 'the kernel has throttled it');
	my $episode = hot_key($vm);
	my $d       = diagnose($vm, $episode, $at) or return;
	is($d->{verdict}{kind}, 'cpu-throttled', "verdict: $d->{verdict}{sentence}")
		or diag scalar $vm->run("tipme diagnose $episode --at $at");
}
