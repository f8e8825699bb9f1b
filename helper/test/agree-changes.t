#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# perf, the kernel's own counters and we look at the same activity: migrations, idle states, page
# faults that read, and time that the host took.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use File::Temp  qw(tempdir);
use POSIX       qw(_exit);
use Time::HiRes qw(sleep time);
use Tipme::Agree
	qw(cannot lost_by_perf monotonic read_ours read_perf start_ours start_perf stop_ours stop_perf);

my $dir = tempdir(DIR => '/var/tmp', CLEANUP => 1);    # on a disk, which /tmp may not be
my $why = cannot();
plan skip_all => $why if $why;

# Ended also where a test dies: swap is the whole machine's.
my ($swap, $group);
my $main = $$;

END {
	if ($main == $$) {
		local $?;
		system 'swapoff', $swap if $swap;
		rmdir $group if $group;
	}
}

my $fast = (sort { $a <=> $b } grep {$_} idle_latencies())[0];
my ($from, $to, $mover, %fault, %mine, %theirs);
# Where perf did not get a CPU in time to write all down, it is no witness: then once more.
for my $try (1 .. 6) {
	record();
	my $lost = lost_by_perf($dir, 'changes') + lost_by_perf($dir, 'faults');
	last if !$lost;
	note "try $try: perf has lost something, $lost times";
}
migrations();
idle();
frequency();
faults($_) for qw(file swap);
done_testing();

sub record {
	my $ours    = start_ours($dir, '-c', '+migrate', $fast ? ('-i', $fast) : ());
	my $changes = start_perf(
		$dir, 'changes',
		qw(-m 2048 -e sched:sched_migrate_task -e power:cpu_idle -e power:cpu_frequency)
	);
	my $faults = start_perf($dir, 'faults', qw(-e major-faults -c 1 -d));
	sleep 1.5;
	$from  = monotonic();
	$mover = run_load('move');
	%fault = (file => run_load('file'), swap => swap_there() ? run_load('swap') : undef);
	sleep 0.5;    # idle, as far as others let it
	$to = monotonic();
	sleep 0.3;
	stop_perf($_) for $changes, $faults;
	stop_ours($ours);

	%mine   = %{ read_ours($ours->{file}, qw(migrate cpu_idle cpu_frequency memory_wait)) };
	%theirs = (%{ read_perf($dir, 'changes') }, %{ read_perf($dir, 'faults') });
	return;
}

# --- what is compared ---

sub within { return $_[0] > $from && $_[0] < $to }

# perf leaves out what comes while it is writing something else, now and then; ours must be
# unbroken: each way begins where the last one ended.
sub migrations {
SKIP: {
		my @t = map {
			my $e = $_;
			$e->{text} =~ / pid=(\d+) .*orig_cpu=(\d+) dest_cpu=(\d+)/ && $1 == $mover->{pid}
				? { ts_ns => $e->{ns}, way => "$2 to $3" }
				: ()
		} @{ $theirs{sched_migrate_task} };
		skip 'one CPU: nothing can be moved', 3 if 2 > (() = cpus());
		my @m = grep { $_->{tid} == $mover->{pid} } @{ $mine{migrate} };
		cmp_ok scalar @t, '>=', 0.9 * @m < 20 ? 20 : 0.9 * @m,
			'perf saw a thread moved so often: ' . @t . ', and we ' . @m . ' times';
		is_deeply [ map { $m[ $_ - 1 ]{to_cpu} } 1 .. $#m ], [ map { $m[$_]{from_cpu} } 1 .. $#m ],
			'... each time from where it had been moved to';
		my @same = map {
			my $t = $_;
			[
				grep {
					abs($_->{ts_ns} - $t->{ts_ns}) < 2e6
						&& "$_->{from_cpu} to $_->{to_cpu}" eq $t->{way}
				} @m
			]
		} @t;
		is_deeply [
			map  { $t[$_]{way} . " at $t[$_]{ts_ns}" }
			grep { @{ $same[$_] } != 1 } 0 .. $#t
			],
			[], '... and all that perf saw';
	}
}

# perf tells the begin of each state, and its end; here one record stands for both, of states that
# take as long to leave as was asked for.
sub idle {
SKIP: {
		skip 'no idle state here that takes time to leave', 4 if !$fast;
		my @latency = idle_latencies();
		my (%open, @spans);
		for my $e (sort { $a->{ns} <=> $b->{ns} } @{ $theirs{cpu_idle} // [] }) {
			my ($state) = $e->{text} =~ /state=(\d+)/ or next;
			if ($state != 4294967295) { $open{ $e->{cpu} } = [ $state, $e->{ns} ]; next }
			my $o = delete $open{ $e->{cpu} } or next;
			push @spans, { cpu => $e->{cpu}, state => $o->[0], from => $o->[1], to => $e->{ns} }
				if within($o->[1]) && within($e->{ns}) && ($latency[ $o->[0] ] // 0) >= $fast;
		}
		skip 'no CPU was idle', 4 if @spans < 20;
		my %by_cpu;
		push @{ $by_cpu{ $_->{cpu} } }, $_ for grep { within($_->{ts_ns}) } @{ $mine{cpu_idle} };
		# perf leaves out events when it is interrupted while it writes one: a period of perf in
		# which several of ours ended is no period.
		my $all = @spans;
		@spans = grep {
			my $s = $_;
			!grep { $_->{ts_ns} > $s->{from} + 100e3 && $_->{ts_ns} < $s->{to} - 100e3 }
				@{ $by_cpu{ $s->{cpu} } // [] }
		} @spans;
		cmp_ok scalar @spans, '>=', 0.9 * $all,
			"perf has left out few ends: @{[ $all - @spans ]} of $all";
		my ($found, $sum_m, $sum_t, $states) = (0, 0, 0, 0);
		for my $s (@spans) {
			# The one that ended next to it: periods may be shorter than what two recorders differ
			# by.
			my ($r) = sort { abs($a->{ts_ns} - $s->{to}) <=> abs($b->{ts_ns} - $s->{to}) }
				grep { abs($_->{ts_ns} - $s->{to}) < 100e3 } @{ $by_cpu{ $s->{cpu} } // [] };
			next if !$r;
			$found++;
			$states++
				if $r->{state} == $s->{state}
				&& $r->{exit_latency_ns} == 1000 * $latency[ $s->{state} ];
			$sum_m += $r->{idle_ns};
			$sum_t += $s->{to} - $s->{from};
		}
		is $found,  scalar @spans, "all @{[ scalar @spans ]} idle periods of perf are here";
		is $states, $found,        'with their states, and what these take to leave';
		cmp_ok abs($sum_m - $sum_t), '<=', 20e3 * $found + 0.01 * $sum_t,
			sprintf 'for as long: %.3f ms here, %.3f there', $sum_m / 1e6, $sum_t / 1e6;
	}
}

sub frequency {
SKIP: {
		my @t = grep { within($_->{ns}) } @{ $theirs{cpu_frequency} // [] };
		skip 'no CPU changed its frequency here (virtual machines have none to change)', 1 if !@t;
		is_deeply [
			map  {"$_->{cpu}: $_->{khz}"}
			grep { within($_->{ts_ns}) } @{ $mine{cpu_frequency} }
			],
			[ map { $_->{text} =~ /state=(\d+) cpu_id=(\d+)/ ? "$2: $1" : () } @t ],
			'the same frequencies';
	}
}

# The kernel counts them for the process, and tells perf, which names the address.
sub faults {
	my ($kind) = @_;
SKIP: {
		my $load = $fault{$kind};
		skip 'swap is the whole machine\'s: TIPME_TEST_ALL=1 switches some on, and off again', 4
			if !$load && !$ENV{TIPME_TEST_ALL};
		skip 'no swap could be had, or no memory cgroup', 4 if !$load;
		my @all =
			grep { $_->{tid} == $load->{pid} && $_->{kind} =~ /^fault/ } @{ $mine{memory_wait} };
		my @m = grep { $_->{kind} eq "fault_$kind" } @all;
		my $t = grep { $_->{tid} == $load->{pid} } @{ $theirs{'major-faults'} };
		cmp_ok $load->{told}, '>=', 100, "/proc counts $load->{told} faults that read";
		is scalar @all, $t, "as many here as in perf ($t)";
		cmp_ok abs(@all - $load->{told}), '<=', 3 + 0.02 * $load->{told},
			'and as /proc counted up to the last line of the program '
			. '(its start and end have some, too)';
		# Where reading needs no sleep (the page was on its way), there is no wait to tell of.
		my @waited = grep { $_->{duration_ns} } @m;
		my $sum    = 0;
		$sum += $_->{duration_ns} for @waited;
		ok @m >= 0.95 * $load->{told} && $sum < 1e9 * $load->{seconds},
			sprintf '%d of kind fault_%s, %d waited, %.3f ms of %.3f', scalar @m, $kind,
			scalar @waited, $sum / 1e6, 1e3 * $load->{seconds};
	}
}

# --- what happens ---

# Those on which we may run.
sub cpus {
	return map { /^(\d+)-(\d+)$/ ? $1 .. $2 : $_ } split /,/,
		slurp('/proc/self/status') =~ /^Cpus_allowed_list:\s*(\S+)/m ? $1 : 0;
}

sub idle_latencies {
	return map { slurp($_) + 0 } sort glob '/sys/devices/system/cpu/cpu0/cpuidle/state?/latency';
}

sub slurp { my ($file) = @_; open my $f, '<', $file or return ''; local $/; return <$f> // '' }

sub put {
	my ($path, $text) = @_;
	open my $f, '>', $path or return;
	return print({$f} $text) && close $f;
}

# Runs it to its end; what it printed is how many faults /proc counted.
sub run_load {
	my ($kind) = @_;
	my $begin  = time;
	my $pid    = open(my $h, '-|') // die "fork: $!\n";
	if (!$pid) {
		$| = 1;
		{ move => \&move, file => \&read_mapping, swap => \&read_swapped }->{$kind}->();
		_exit(0);
	}
	my $said = do { local $/; <$h> }
		// '';
	close $h;
	return { pid => $pid, told => $said =~ /(\d+)/ ? $1 : 0, seconds => time - $begin };
}

# It asks to be moved, to and fro.
sub move {
	my @may = cpus();
	for my $i (1 .. 30) { system_quietly('taskset', '-pc', $may[ $i % @may ], $$); sleep 0.002 }
}

sub system_quietly {
	my @command = @_;
	my $pid     = fork // return;
	if (!$pid) {
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		exec @command or _exit(127);
	}
	waitpid $pid, 0;
}

# Pages of a file that are not in memory, each far from the one before.
sub read_mapping {
	open my $f, '>', "$dir/mapped" or return;
	print $f 'x' x (1 << 20) for 1 .. 8;
	$f->sync;
	close $f;
	exec helper(), 'file', "$dir/mapped" or _exit(127);
}

sub helper { return ($ENV{TIPME_BUILDDIR} // '.') . '/helper/test/major-faults' }

sub swap_there {
	return   if !$ENV{TIPME_TEST_ALL};
	return 1 if $swap && $group;         # at an earlier try
	my $file = "$dir/swap";
	open my $f, '>', $file or return;
	print $f "\0" x (1 << 20) for 1 .. 64;
	$f->sync;
	close $f;
	chmod 0600, $file;
	return if system("mkswap '$file' >/dev/null 2>&1 && swapon -p 0 '$file' 2>/dev/null");
	$swap = $file;
	my ($root, $limit) =
		-e '/sys/fs/cgroup/memory/memory.limit_in_bytes'
		? ('/sys/fs/cgroup/memory', 'memory.limit_in_bytes')
		: ('/sys/fs/cgroup', 'memory.max');
	mkdir "$root/tipme-agree-$$" or return;
	$group = "$root/tipme-agree-$$";
	return put("$group/$limit", 12 << 20);
}

sub read_swapped {
	put("$group/cgroup.procs", $$) or return;
	exec helper(), 'swap' or _exit(127);
}
