# SPDX-License-Identifier: GPL-2.0-only
# Whether a set of periodic tasks meets its deadlines on a machine whose latency is measured.
#
# Bounds: Liu and Layland, JACM 1973; the hyperbolic bound of Bini and Buttazzo, IEEE Transactions
# on Computers 2003. Response times: Joseph and Pandya, The Computer Journal 1986, with blocking.
# The pseudo worst case: Cota-Robles and Held, OSDI 1999, section 5.2.
package Tipme::Latency::Schedule;

use strict;
use warnings;
use Exporter   qw(import);
use List::Util qw(sum0 product);
use POSIX      qw(ceil);

our @EXPORT_OK = qw(read_tasks pseudo_worst_us schedulability);

# Unit: tasks. More than any machine has; it bounds the work.
my $MAX_TASKS = 1000;
# Unit: steps. The iteration grows at each step or ends; a task this slow has missed any deadline.
my $MAX_STEPS = 100_000;

# read_tasks(FILE): a line a task: NAME PERIOD_MS COMPUTE_MS [DEADLINE_MS [BUFFERS]]; # begins a
# comment. They come back by rate: shortest period first, but drivers (+NAME) before all others, as
# their priority is higher whatever their rate. Dies by a sentence with the line.
sub read_tasks {
	my ($file) = @_;
	open my $h, '<', $file
		or die "$file: $!: name a file of tasks, a line each: NAME PERIOD_MS COMPUTE_MS "
		. "[DEADLINE_MS [BUFFERS]]\n";
	my (@tasks, %seen);
	while (my $line = <$h>) {
		$line =~ s/#.*//;
		my ($name, @n) = split ' ', $line;
		next if !defined $name;
		die "$file: line $.: NAME PERIOD_MS COMPUTE_MS [DEADLINE_MS [BUFFERS]] is meant\n"
			if @n < 2 || @n > 4;
		my ($bad) = grep { !/\A[0-9]{1,9}(?:\.[0-9]{1,9})?\z/ } @n;
		die "$file: line $.: '$bad' is no number of milliseconds\n" if defined $bad;
		my ($period, $compute, $deadline, $buffers) = @n;
		my $driver = $name =~ s/\A[+](?=.)// ? 1 : 0;
		die "$file: line $.: $name: a period and a computation above 0 are meant\n"
			if $period <= 0 || $compute <= 0;
		die "$file: line $.: $name: it computes for longer than its period\n" if $compute > $period;
		$deadline //= $period;
		$buffers  //= 2;
		die "$file: line $.: $name: a deadline after the next period is not analysed\n"
			if $deadline > $period;
		die "$file: line $.: $name: 2 buffers or more, a whole number\n"
			if $buffers < 2 || $buffers != int $buffers;
		die "$file: line $.: $name: a second task of that name\n" if $seen{$name}++;
		push @tasks,
			{
			name        => $name, period_us => 1000 * $period,    compute_us => 1000 * $compute,
			deadline_us => 1000 * $deadline, buffers => $buffers, driver     => $driver
			};
		die "$file: more than $MAX_TASKS tasks\n" if @tasks > $MAX_TASKS;
	}
	die "$file: no tasks in it\n" if !@tasks;
	my $load = sum0 map { $_->{compute_us} / $_->{period_us} } @tasks;
	die sprintf "%s: its tasks need %.0f %% of a CPU: no schedule has that\n", $file, 100 * $load
		if $load > 1;
	return sort {
			   $b->{driver} <=> $a->{driver}
			|| $a->{period_us} <=> $b->{period_us}
			|| $a->{name} cmp $b->{name}
	} @tasks;
}

# pseudo_worst_us(WORST, MEAN, BUFFERS): a task with BUFFERS may spread one long latency over its
# BUFFERS - 1 cycles of slack, in the others of which it meets the mean: the paper spreads an
# unusual latency over a number of average ones; this is our reading of how many.
sub pseudo_worst_us {
	my ($worst, $mean, $buffers) = @_;
	my $cycles = $buffers - 1;
	return ($worst + ($cycles - 1) * $mean) / $cycles;
}

# schedulability(WORST_US, MEAN_US, TASKS ...): { load, liu_layland, hyperbolic, tasks: [ { name,
# blocking_us, response_us or undef, meets } ... ] }. Tasks by rate, each above those behind it.
sub schedulability {
	my ($worst, $mean, @tasks) = @_;
	my $load = sum0 map { $_->{compute_us} / $_->{period_us} } @tasks;
	my @out;
	for my $i (0 .. $#tasks) {
		my $t        = $tasks[$i];
		my $blocking = pseudo_worst_us($worst, $mean, $t->{buffers});
		my $response = _response_us($t, $blocking, @tasks[ 0 .. $i - 1 ]);
		push @out,
			{
			name        => $t->{name},        blocking_us => $blocking, response_us => $response,
			deadline_us => $t->{deadline_us}, meets       => defined $response ? 1 : 0
			};
	}
	return {
		load       => $load, liu_layland => @tasks * (2**(1 / @tasks) - 1),
		hyperbolic => product(map { $_->{compute_us} / $_->{period_us} + 1 } @tasks),
		tasks      => \@out, meets => (grep { !$_->{meets} } @out) ? 0 : 1,
	};
}

# The least R with R = B + C + sum of ceil(R / T) C of those above; undef: it misses its deadline.
sub _response_us {
	my ($t, $blocking, @above) = @_;
	my $r = $blocking + $t->{compute_us};
	for (1 .. $MAX_STEPS) {
		return if $r > $t->{deadline_us};
		my $next = $blocking + $t->{compute_us} + sum0
			map { ceil($r / $_->{period_us} - 1e-9) * $_->{compute_us} } @above;
		return $r if $next <= $r + 1e-6;
		$r = $next;
	}
	return;
}

1;
