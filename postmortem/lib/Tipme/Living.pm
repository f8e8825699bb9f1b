# SPDX-License-Identifier: GPL-2.0-only
# A process of an episode as it is now, on the machine where it was recorded: whether it still is
# there, and with which right to a CPU and a disk. Its number alone may be another's by now.
package Tipme::Living;

use strict;
use warnings;
use Cwd         ();
use POSIX       ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $BOOTTIME   = 7;               # number of CLOCK_BOOTTIME, which goes on while a machine sleeps
my $SLACK_NS   = 20_000_000;      # /proc tells starts in ticks of 10 ms
my $NS_PER_S   = 1_000_000_000;
my $IOPRIO_GET = 252;             # number of the system call, of x86-64
my $OF_PROCESS = 1;               # what ioprio_get is asked of
my %POLICY     = (0 => '-o', 1 => '-f', 2 => '-r', 3 => '-b', 5 => '-i');    # as options of chrt
# Fields of /proc/PID/stat behind the name; the state is number 0.
my ($NICE, $START, $RT, $SCHED) = (16, 19, 37, 38);

# same_boot(EPISODE): was it recorded since this machine was started?
sub same_boot {
	my ($ep) = @_;
	my $id = $ep->manifest->{boot_id} // '';
	return length $id && $id eq (_line('/proc/sys/kernel/random/boot_id') // '') ? 1 : 0;
}

# of(PID, NS of CLOCK_MONOTONIC at which it was started): { nice, rt, policy (an option of chrt),
# io_class, io_level, own: 1 if it belongs to who asks }; undef where that process is not there any
# more. nice is undef where its threads differ.
sub of {
	my ($pid, $start_ns) = @_;
	my @s = _stat("/proc/$pid/stat") or return;
	return if $s[0] eq 'Z' || !_started($s[$START], $start_ns);
	my %nice = map { ((_stat($_))[$NICE] // '?') => 1 } glob "/proc/$pid/task/*/stat";
	my $io   = syscall $IOPRIO_GET, $OF_PROCESS, $pid + 0;
	return {
		nice     => keys(%nice) == 1 && $nice{ $s[$NICE] } ? $s[$NICE] + 0 : undef,
		rt       => $s[$RT] + 0,
		policy   => $POLICY{ $s[$SCHED] },
		io_class => $io >= 0                             ? $io >> 13 : undef,
		io_level => $io >= 0                             ? $io & 7   : undef,
		own      => ((stat "/proc/$pid")[4] // -1) == $> ? 1         : 0
	};
}

# The kernel tells a start by the clock that goes on in a sleep; the records have the other one. So
# it may be later by as much as the machine has slept.
sub _started {
	my ($ticks, $start_ns) = @_;
	return 0 if !$start_ns;
	my $told  = $ticks * $NS_PER_S / POSIX::sysconf(POSIX::_SC_CLK_TCK());
	my $slept = (clock_gettime($BOOTTIME) - clock_gettime(CLOCK_MONOTONIC)) * $NS_PER_S;
	return $told >= $start_ns - $SLACK_NS && $told <= $start_ns + $slept + $SLACK_NS ? 1 : 0;
}

# power_file(EVENT): the file that says whether an input device (event2) may sleep, where it may;
# undef: it may not
sub power_file {
	my ($event) = @_;
	return if $event !~ /\Aevent\d+\z/;
	my $dir = Cwd::realpath("/sys/class/input/$event/device") // return;
	while ($dir =~ s{/[^/]+\z}{} && $dir =~ m{\A/sys/devices/.}) {
		my $mode = _line("$dir/power/control") // next;
		next if !defined _line("$dir/power/autosuspend_delay_ms");
		return $mode eq 'auto' && $dir !~ m{[^\w/.:-]} ? "$dir/power/control" : undef;
	}
	return;
}

sub _stat {
	my ($file) = @_;
	my $text = _line($file) // return;
	return $text =~ /\A\d+ \(.*\) (.*)\z/s ? split / /, $1 : ();
}

sub _line {
	my ($file) = @_;
	open my $h, '<', $file or return;
	my $line = readline $h;
	return if !defined $line;
	chomp $line;
	return $line;
}

1;
