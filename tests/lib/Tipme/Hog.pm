# SPDX-License-Identifier: GPL-2.0-only
# A real-time process that has a CPU for a while, and whether a diagnosis says so; a process that is
# made to compute (tests/computing.c).
package Tipme::Hog;
use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Exporter qw(import);

our @EXPORT_OK = qw(allowed_cpus can_compute compute computed favour hog keep_to prefer starved_by);

use constant SIGNAL => 44;    # as in tests/computing.c

# allowed_cpus(): numbers of the CPUs that we may use
sub allowed_cpus {
	return
		map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } map { split /,/ } `taskset -cp $$` =~ /: ([\d,-]+)$/;
}

# keep_to(CPUS, PID ...): these processes run there alone
sub keep_to {
	my ($cpus, @pids) = @_;
	system "taskset -acp $cpus $_ >/dev/null" for @pids;
	return;
}

# prefer(PIDS): they become real-time, so that the other work of a machine that is not ours alone is
# not the story; what makes them ordinary again
sub prefer {
	my (@pids) = @_;
	system "chrt -a -r -p 1 $_ >/dev/null 2>&1" for @pids;
	return sub { system "chrt -a -o -p 0 $_ >/dev/null 2>&1" for @pids; return };
}

# favour(PID): the same of one that computes: of each second the kernel keeps a real-time one from
# its CPU for 50 ms. Where each session is a group for the scheduler, its group is preferred, too: a
# nice value counts within a group alone.
sub favour {
	my ($pid) = @_;
	my $nice = sub {
		my ($to) = @_;
		setpriority 0, $_, $to for map {m{(\d+)\z}} glob "/proc/$pid/task/*";
		open my $h, '>', "/proc/$pid/autogroup" or return;
		syswrite $h, "$to\n";
		return;
	};
	$nice->(-20);
	return sub { $nice->(0) };
}

# hog(CPU, SECONDS): a process named mixer that has it for so long; it has begun. It makes itself
# real-time while it runs.
sub hog {
	my ($cpu, $seconds) = @_;
	pipe my $in, my $out or return;
	my $pid = fork // return;
	if (!$pid) {
		close $in;
		open STDOUT, '>&', $out;
		exec 'taskset', '-c', $cpu, 'chrt', '-f', 20, $^X, '-MTime::HiRes=time', '-e',
			"\$0 = 'mixer'; syswrite STDOUT, 'x';"
			. "my \$end = time + $seconds; 1 while time < \$end"
			or exit 127;
	}
	close $out;
	sysread $in, my $begun, 1 or return;
	return $pid;
}

# can_compute(PID): does it wait for that signal? compute(PID): it begins to
sub can_compute {
	my ($pid) = @_;
	open my $status, '<', "/proc/$pid/status" or return 0;
	my ($caught) = map { /^SigCgt:\s*(\w+)/ ? hex $1 : () } <$status>;
	return $caught && $caught & 1 << SIGNAL - 1;
}
sub compute { my ($pid) = @_; return kill SIGNAL, $pid }

# computed(PID): the seconds of a CPU that its first thread has had: where others have the CPU, what
# computes takes longer
sub computed {
	my ($pid) = @_;
	open my $h, '<', "/proc/$pid/schedstat" or return 9e9;
	return (split ' ', <$h> // '9e18')[0] / 1e9;
}

# starved_by(DIAGNOSIS, PID, NAME, SHARE): is it said that PID waited for a CPU that NAME had, for
# at least that part of the interval?
sub starved_by {
	my ($d, $pid, $name, $share) = @_;
	my $v = $d->{verdict};
	return 0 if $v->{kind} ne 'rt-starvation' || ($v->{blamed}{comm} // '') ne $name;
	my $ns = 0;
	$ns += $_->{to_ns} - $_->{from_ns}
		for grep { $_->{pid} == $pid && $_->{state} eq 'runnable' } @{ $d->{path} };
	return $ns >= $share * $d->{interval}{duration_ns};
}

1;
