#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What only a machine of its own can show, on Debian's 6.12: one typed letter, stage by stage; a real-time process that starves the desktop
# while the hot-key is pressed on the keyboard; a terminal whose cgroup (version 2) has no CPU time left.
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(payload start_recorder pid_of now hot_key diagnose no_complaint);
use Tipme::VM;

plan skip_all => 'emulated machines are booted only with TIPME_TEST_VM=1 or TIPME_TEST_ALL=1: these stories take some minutes'
	if !$ENV{TIPME_TEST_VM} && !$ENV{TIPME_TEST_ALL};
my $lacks = Tipme::VM::lacks();
plan skip_all => $lacks if $lacks;

my $vm = Tipme::VM->new(kernel => '6.12', payload => payload());
diag sprintf 'the saved desktop ran again after %.1f s', $vm->{restored_s};
my $pictures = "$ENV{TIPME_BUILDDIR}/tests/vm";
make_path($pictures);
start_recorder($vm);
subtest 'one letter' => \&one_letter;
subtest 'a real-time process takes all CPUs' => \&rt_hog;
subtest 'a terminal without CPU quota' => \&quota;
no_complaint($vm);
$vm->close;
done_testing;

# From the keyboard controller to the picture of the letter: each stage that a person waits for, in order.
sub one_letter {
	sleep 1;
	my $at = now($vm);
	$vm->press('k');
	sleep 1;
	my $d = diagnose($vm, hot_key($vm), $at) or return;
	my @stages = @{ $d->{event}{stages} };
	my $first = $stages[0]{ts_ns};
	diag sprintf '%-9s %9.3f ms  %s', $_->{name}, ($_->{ts_ns} - $first) / 1e6, $_->{certainty} for @stages;
	is(join(' ', grep { /^(input|server|device|deliver|client|request|feedback)$/ } map { $_->{name} } @stages),
		'input server device deliver client request feedback', 'every stage was seen, from the device to the screen');
	is(join(' ', map { $_->{name} } sort { $a->{ts_ns} <=> $b->{ts_ns} } @stages), join(' ', map { $_->{name} } @stages), 'in this order in time');
	is($d->{event}{client}{comm}, 'xterm', 'the terminal was the client');
	# The input core's own time stamp, as the server's input thread has read it.
	is($stages[0]{certainty}, 'exact', 'when the kernel had the key is known, not inferred');
}

# Two CPUs, two hogs, and as on a machine set up for sound nothing is kept back for ordinary processes: of the twentieth of a second that 6.12's fair
# server gives them each second, a terminal needs so little that it hardly waits. Letters and hot-key come while they run.
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
	my %hog = map { $_ => 1 } split ' ', $vm->run('pgrep -x mixerd');
	is(keys %hog, 2, 'both run');
	my ($began) = sort { $a <=> $b } split ' ', $vm->run('cat /tmp/hog-*');
	my $d = diagnose($vm, $episode) or return;
	is($d->{verdict}{kind}, 'rt-starvation', "verdict: $d->{verdict}{sentence}") or diag scalar $vm->run("tipme diagnose $episode; tipme events $episode; cat /tmp/hog-* /sys/kernel/debug/sched/fair_server/cpu*/runtime");
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
	my ($said, $rc) = $vm->run("cd /sys/fs/cgroup && echo +cpu > cgroup.subtree_control; mkdir -p slow && echo '5000 1000000' > slow/cpu.max && echo $pid > slow/cgroup.procs");
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
	my $d = diagnose($vm, $episode, $at) or return;
	is($d->{verdict}{kind}, 'cpu-throttled', "verdict: $d->{verdict}{sentence}") or diag scalar $vm->run("tipme diagnose $episode --at $at");
}
