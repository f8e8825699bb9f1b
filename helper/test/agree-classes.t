#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# perf, the kernel's own counters and we look at the same activity: block requests, kernel locks,
# reclaim, compaction, signals, processes, interrupts and samples are the same in number, and where
# they have a name, the same ones.
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

my @EVENTS =
	qw(block:block_bio_queue block:block_rq_issue block:block_rq_complete signal:signal_generate
	vmscan:mm_vmscan_memcg_reclaim_begin vmscan:mm_vmscan_memcg_reclaim_end
	lock:contention_begin lock:contention_end irq:softirq_entry irq:softirq_exit
	irq_vectors:local_timer_entry irq_vectors:local_timer_exit sched:sched_pi_setprio
	compaction:mm_compaction_begin compaction:mm_compaction_end sched:sched_process_fork
	sched:sched_process_exec sched:sched_process_exit task:task_rename
	workqueue:workqueue_queue_work workqueue:workqueue_execute_start
	workqueue:workqueue_execute_end);
my ($from, $from_to, $to_from, $to, @disk, @disk_after, %load, %mine, %theirs, $once_more);
# Where perf did not get a CPU in time to write all down, it is no witness: then once more.
for my $try (1 .. 6) {
	record();
	my $lost = lost_by_perf($dir, 'events') + lost_by_perf($dir, 'clock');
	note "try $try: perf has lost something, $lost times" if $lost;
	# Seen once in some hundred runs: the kernel's count alone has a few more, we do not know which
	# (a machine may hide interrupts from tracing). Not twice in a row.
	my $off = !$lost && !$once_more++ && disk_counts();
	last if !$lost && (!$off || $off->{difference} <= $off->{allowed});
	note "try $try: $off->{text}" if $off;
}
disks();
signals();
locks();
memory();
lives();
names();
workers();
priorities();
interrupts();
samples();
done_testing();

sub record {
	my $ours  = start_ours($dir);
	my $perf  = start_perf($dir, 'events', qw(-m 2048), map { (-e => $_) } @EVENTS);
	my $clock = start_perf($dir, 'clock',  qw(-m 2048 -e cpu-clock -F 99));
	sleep 1.5;
	$from    = monotonic();
	@disk    = diskstats();
	$from_to = monotonic();
	%load =
		map { $_ => start_load($_) } qw(disk signals burn locks memory compaction priority names);
	for (sort keys %load) { waitpid $load{$_}, 0 }
	$to_from    = monotonic();
	@disk_after = diskstats();
	$to         = monotonic();
	sleep 0.3;
	stop_perf($_) for $perf, $clock;
	stop_ours($ours);

	%mine = %{
		read_ours(
			$ours->{file},
			qw(io signal lock_contention memory_wait irq sample priority fork exec exit rename
				work_queued work_start work_end)
		)
	};
	%theirs = %{ read_perf($dir, 'events') };
	return;
}

# --- what is compared ---

# Both recorded all of it.
sub within { return $_[0] > $from && $_[0] < $to }

sub disks {
	my $pid = $load{disk};
	for my $phase (qw(queued)) {
		my @m = sort map { $_->{sector} }
			grep { $_->{tid} == $pid && $_->{phase} eq $phase } @{ $mine{io} };
		my @t = sort map { $_->{text} =~ / (\d+) \+ \d+ \[/ ? $1 : () }
			grep { $_->{tid} == $pid } @{ $theirs{block_bio_queue} };
		cmp_ok scalar @t, '>=', 40, "perf saw " . @t . " bios of the writer";
		is_deeply \@m, \@t, 'the same bios, by their sectors';
	}
	my %own = map { $_->{sector} => 1 }
		grep { $_->{tid} == $pid && $_->{phase} eq 'queued' } @{ $mine{io} };
	for ([ issued => 'block_rq_issue' ], [ completed => 'block_rq_complete' ]) {
		my ($phase, $event) = @$_;
		my %m;
		$m{ $_->{sector} }++ for grep {
			$own{ $_->{sector} } && $_->{phase} eq $phase && $_->{sectors} && within($_->{ts_ns})
		} @{ $mine{io} };
		my @t =
			map { $_->{text} =~ / (\d+) \+ ([1-9]\d*)/ && $own{$1} && within($_->{ns}) ? $1 : () }
			@{ $theirs{$event} };
		my @missing = grep { !$m{$_}-- } @t;
		cmp_ok scalar keys %m, '>', 0, "requests made of them were $phase";
		# perf leaves out what comes in an interrupt while it is writing itself; what it saw, we
		# saw.
		is_deeply \@missing, [], 'none is missing of those that perf saw: ' . @t;
	}
	my $c = disk_counts() or return;
	cmp_ok $c->{difference}, '<=', $c->{allowed}, $c->{text};
}

# Requests done of our disk: as the kernel counts them, and as we do.
sub disk_counts {
	my ($name, $dev) = disk_of($dir) or return;
	my ($before, $after) = map { my %d = @$_; $d{$name} } \@disk, \@disk_after;
	my $told = $after - $before;
	my @done = grep {
			   $_->{dev} == $dev
			&& $_->{phase} eq 'completed'
			&& $_->{op} =~ /^(?:read|write|discard)$/
			&& $_->{sectors}
	} @{ $mine{io} };
	my $inside = grep { $_->{ts_ns} >= $from && $_->{ts_ns} <= $to } @done;
	# It may take a busy machine a while to read the file.
	my $edge = grep {
		my $t = $_->{ts_ns};
		$t > $from - 20e6 && $t < $from_to + 20e6 || $t > $to_from - 20e6 && $t < $to + 20e6
	} @done;
	# What asks for nothing but a flush is counted there as a write, when it is done: one that was
	# asked for before, too.
	my $flushes = grep {
			   $_->{dev} == $dev
			&& $_->{phase} eq 'queued'
			&& $_->{op} eq 'flush'
			&& $_->{ts_ns} > $from - 1e9
			&& $_->{ts_ns} < $to
	} @{ $mine{io} };
	return {
		difference => abs($inside - $told),
		allowed    => 1 + $edge + $flushes + $mine{missed} + 0.001 * $told,
		text       =>
			"/proc/diskstats of $name: $told requests done; here $inside, $edge of them at the "
			. "edges, and $flushes flushes, $mine{missed} runs missed"
	};
}

sub signals {
	my $pid = $load{signals};
	my @m   = map {"$_->{signal} of $_->{sender_tid}: $_->{result}"}
		grep { $_->{sender_tid} == $pid && $_->{context} eq 'task' } @{ $mine{signal} };
	my @t = map { $_->{text} =~ /sig=(\d+) .*\bres=(\d+)/ ? "$1 of $pid: $2" : () }
		grep { $_->{tid} == $pid } @{ $theirs{signal_generate} };
	@t = grep {/^(?:9|15|18|19) /} @t;
	cmp_ok scalar @t, '>=', 42, 'perf saw ' . @t . ' signals that stop, continue or end';
	is_deeply \@m, \@t, 'the same ones, in the same order';
}

# Which locks spin is told at the begin only; a mutex may begin twice.
sub locks {
	my %mine_n = map { $_ => 0 } qw(begin end);
	my $begun  = sub { my ($list) = @_; my %n; $n{$_}++ for @$list; return \%n };
	my $m      = $begun->(
		[
			map  {"$_->{tid}"}
			grep { $_->{phase} eq 'begin' && $_->{kind} ne 'spin' } @{ $mine{lock_contention} }
		]
	);
	my $t = $begun->(
		[
			map      { $_->{tid} }
				grep { $_->{text} !~ /flags=SPIN[^|]*\)|flags=SPIN\|(?:READ|WRITE)\)/ }
				@{ $theirs{contention_begin} }
		]
	);
	my @tids = grep { $_ && $t->{$_} > 3 } keys %$t;
	my @all  = grep {
		my $p = $_;
		grep { $_->{tid} == $load{locks} && $_->{child_tid} == $p } @{ $mine{fork} }
	} @tids;
SKIP: {
		skip 'no kernel lock that sleeps was contended by the load', 1 if !@all;
		is join(' ', map { "$_:" . ($m->{$_} // 0) } sort @all),
			join(' ', map {"$_:$t->{$_}"} sort @all), 'waits for locks that sleep, by thread';
	}
}

sub memory {
	my @end = reclaims(
		'memcg_reclaim', 'mm_vmscan_memcg_reclaim', $load{memory},
		'reclaim for a memory cgroup'
	);
	my @freed =
		map  { $_->{amount} }
		grep { $_->{tid} == $load{memory} && $_->{kind} eq 'memcg_reclaim' && $_->{phase} eq 'end' }
		@{ $mine{memory_wait} };
SKIP: {
		skip 'no memory cgroup could be made here', 1 if !@end;
		is join(' ', @freed), join(' ', map { $_->{text} =~ /nr_reclaimed=(\d+)/ } @end),
			'and each time freed the same';
	}
	reclaims('compaction', 'mm_compaction', $load{compaction}, 'compaction');
}

# Returns the ends that perf saw.
sub reclaims {
	my ($kind, $event, $pid, $what) = @_;
	my @t   = grep { $_->{tid} == $pid } @{ $theirs{"${event}_begin"} };
	my @end = grep { $_->{tid} == $pid } @{ $theirs{"${event}_end"} };
SKIP: {
		skip "$what could not be had here", 2 if !@t;
		my @m = grep { $_->{tid} == $pid && $_->{kind} eq $kind } @{ $mine{memory_wait} };
		is scalar(grep { $_->{phase} eq 'begin' } @m), scalar @t, "$what began as often: " . @t;
		my ($sum_m, $sum_t) = (0, 0);
		$sum_m += $_->{duration_ns}         for @m;
		$sum_t += $end[$_]{ns} - $t[$_]{ns} for 0 .. $#end;
		cmp_ok abs($sum_m - $sum_t), '<=', $sum_t * 0.05 + 20e3 * @t,
			sprintf '... for as long: %.3f ms here, %.3f there', $sum_m / 1e6, $sum_t / 1e6;
	}
	return @end;
}

# Of the loads and whoever they made; a thread group's leader ends under the same number as it
# began.
sub lives {
	my %ours_too = map { $_ => 1 } values %load;
	my @m        = map {
		$ours_too{ $_->{tid} }
			? do { $ours_too{ $_->{child_tid} } = 1; "$_->{tid} made $_->{child_tid}" }
			: ()
	} @{ $mine{fork} };
	my @t =
		map { $_->{text} =~ / pid=(\d+) .*child_pid=(\d+)/ && $ours_too{$1} ? "$1 made $2" : () }
		@{ $theirs{sched_process_fork} };
	cmp_ok scalar @t, '>=', 6, 'perf saw so many threads made: ' . @t;
	is_deeply \@m, \@t, 'the same here, in the same order';
	for ([ exec => 'called another program' ], [ exit => 'ended' ]) {
		my ($kind, $what) = @$_;
		@m = sort { $a <=> $b } grep { $ours_too{$_} } map { $_->{tid} } @{ $mine{$kind} };
		@t =
			sort { $a <=> $b }
			grep { $ours_too{$_} }
			map  { $_->{text} =~ / pid=(\d+)/ } @{ $theirs{"sched_process_$kind"} };
		is_deeply \@m, \@t, "$what: the same " . @t;
	}
}

sub names {
	my $pid = $load{names};
	my @m   = map { $_->{comm} } grep { $_->{tid} == $pid } @{ $mine{rename} };
	my @t   = map { $_->{text} =~ / pid=$pid .*newcomm=(\S+)/ ? $1 : () } @{ $theirs{task_rename} };
	cmp_ok scalar @t, '>=', 20, 'perf saw a thread take other names: ' . @t;
	is_deeply \@m, \@t, 'the same names, in the same order';
}

# Who queued work, and who did it.
sub workers {
	for (
		[ work_queued => 'workqueue_queue_work',    'was queued' ],
		[ work_start  => 'workqueue_execute_start', 'was begun' ],
		[ work_end    => 'workqueue_execute_end',   'was finished' ]
		)
	{
		my ($ours, $event, $what) = @$_;
		my (%m, @missing);
		push @{ $m{ $_->{tid} } }, $_->{ts_ns} for @{ $mine{$ours} };
		my @t = grep { within($_->{ns}) } @{ $theirs{$event} };
		# Both look at one event, one after the other; an interrupt or the host may come between.
		for my $t (@t) {
			push @missing, "$t->{tid} at $t->{ns}"
				if !grep { abs($_ - $t->{ns}) < 1e6 } @{ $m{ $t->{tid} } };
		}
		my $mine = grep { within($_->{ts_ns}) } @{ $mine{$ours} };
		cmp_ok scalar @t,       '>',  10, 'perf saw that work of the kernel ' . $what . ': ' . @t;
		cmp_ok scalar @missing, '<=', $mine{missed}, '... each of them is here' or diag "@missing";
		# Much is queued by interrupts, also by those that come while perf writes, and it leaves
		# these out.
		cmp_ok abs($mine - @t), '<=', 2 + @t * 0.02, "... of $mine" if $ours ne 'work_queued';
	}
}

# perf is told of the lender's coming; we keep only what changes the priority.
sub priorities {
	my %tid = slurp("$dir/lend") =~ /^(holder|lender) (\d+)$/mg;
SKIP: {
		skip 'no real-time thread may be made here', 3 if !$tid{lender};
		my @m = map {"$_->{old_prio} to $_->{new_prio}"}
			grep { $_->{tid} == $tid{holder} && $_->{inherited} } @{ $mine{priority} };
		my @t = map { $_->{text} =~ /oldprio=(\d+) newprio=(\d+)/ && $1 != $2 ? "$1 to $2" : () }
			grep { $_->{text} =~ / pid=$tid{holder} / } @{ $theirs{sched_pi_setprio} };
		my $usual = 120 + getpriority 0, 0;    # whoever runs the tests may have been nice
		is scalar(grep { $_ eq "$usual to 94" } @t), 10, 'perf saw the priority lent ten times';
		is_deeply \@m, \@t, 'the same changes here';
		is scalar(
			grep {
					   $_->{tid} == $tid{holder}
					&& $_->{new_prio} == 94
					&& $_->{changer_tid} == $tid{lender}
			} @{ $mine{priority} }
			),
			10, 'lent by whom, each time';
	}
}

# Ours are net of other interrupts, so never longer than what perf saw from entry to exit.
sub interrupts {
	my %spans;
	for my $kind (
		[ softirq => 'softirq_entry',     'softirq_exit' ],
		[ timer   => 'local_timer_entry', 'local_timer_exit' ]
		)
	{
		my %open;
		for my $e (
			sort { $a->{ns} <=> $b->{ns} } @{ $theirs{ $kind->[1] } },
			@{ $theirs{ $kind->[2] } }
			)
		{
			if    ($e->{event} eq $kind->[1]) { $open{ $e->{cpu} } = $e->{ns} }
			elsif (my $begin = delete $open{ $e->{cpu} }) {
				push @{ $spans{"$kind->[0] $e->{cpu}"} }, [ $begin, $e->{ns} ];
			}
		}
	}
	my ($looked, @odd) = (0);
	for my $r (grep { $_->{ts_ns} > $from && $_->{ts_ns} < $to } @{ $mine{irq} }) {
		my $list = $spans{"$r->{kind} $r->{cpu}"} or next;
		# Between their look at the clock and ours there may be another interrupt, or the host of a
		# virtual machine.
		my ($s) =
			grep { $_->[0] < $r->{ts_ns} + $r->{duration_ns} && $_->[1] > $r->{ts_ns} } @$list;
		# perf leaves out events when it is interrupted while it writes one.
		if (!$s) { note "perf has no $r->{kind} at $r->{ts_ns}"; next }
		$looked++;
		push @odd, "$r->{kind} $r->{duration_ns}, in perf " . ($s->[1] - $s->[0])
			if $r->{duration_ns} > $s->[1] - $s->[0] + 100e3 + abs($s->[0] - $r->{ts_ns});
	}
SKIP: {
		skip 'nothing that perf saw, too, was interrupted for 100 us', 1 if !$looked;
		cmp_ok scalar @odd, '<=', $looked / 3, "$looked long interrupts are as long in perf"
			or diag "@odd";
	}
}

sub samples {
	my $pid = $load{burn};
	my $m   = grep { $_->{tid} == $pid } @{ $mine{sample} };
	my @all = sort { $a->{ns} <=> $b->{ns} } map {@$_} values %{ read_perf($dir, 'clock') };
	my @its = grep { $_->{tid} == $pid } @all;
	my $t   = @its;
	cmp_ok $t, '>', 50, "perf took $t samples of a busy loop";
	# Where others had its CPUs, too, it is a matter of luck whom each of the two met: four times
	# what is usual.
	my %on     = map { $_->{cpu} => 1 } @its;
	my $others = grep {
			   $on{ $_->{cpu} }
			&& $_->{tid}
			&& $_->{tid} != $pid
			&& $_->{ns} > $its[0]{ns}
			&& $_->{ns} < $its[-1]{ns}
	} @all;
	cmp_ok abs($m - $t), '<=', 5 + $t * 0.1 + 4 * sqrt(2 * $t * $others / ($t + $others)),
		"here $m, with $others of others between them";
}

# --- what the kernel counts ---

# Requests done (reads, writes, discards) by disk.
sub diskstats {
	open my $h, '<', '/proc/diskstats' or return;
	return map { my @f = split; ($f[2] => $f[3] + $f[7] + ($f[14] // 0)) } <$h>;
}

sub disk_of {
	my ($path) = @_;
	my $dev = (stat $path)[0];
	my ($major, $minor) = ($dev >> 8 & 0xfff, ($dev & 0xff) | ($dev >> 12 & 0xfff00));
	my $link   = readlink "/sys/dev/block/$major:$minor" or return;
	my ($name) = $link =~ m{/block/([^/]+)}              or return;
	open my $h, '<', "/sys/block/$name/dev" or return;
	my ($a, $b) = <$h> =~ /(\d+):(\d+)/;
	return ($name, $a << 20 | $b);
}

# --- what happens ---

sub start_load {
	my ($kind) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	open STDIN, '<', '/dev/null';
	if ($kind eq 'disk') {
		exec 'dd', 'if=/dev/zero', "of=$dir/file", qw(bs=64k count=50 oflag=direct status=none)
			or _exit(127);
	}
	exec_real_time() if $kind eq 'priority';
	my %act = (
		signals    => \&act_signals, burn  => \&act_burn, locks => \&act_locks,
		memory     => \&act_memory,  names => \&act_names,
		compaction => sub { put('/proc/sys/vm/compact_memory', 1) }
	);
	$act{$kind}->();
	_exit(0);
}

sub slurp { my ($file) = @_; open my $f, '<', $file or return ''; local $/; return <$f> // '' }

# Kernels that give real-time to groups give it to those only that have some run time of their own.
sub exec_real_time {
	my $cpu   = '/sys/fs/cgroup/cpu';
	my $group = "$cpu/tipme-agree-$$";
	if (-e "$cpu/cpu.rt_runtime_us" && mkdir $group) {
		put("$group/cpu.rt_runtime_us", 100000) && put("$group/cgroup.procs", $$);
	}
	my $pid = fork // _exit(1);
	if (!$pid) {
		open STDOUT, '>', "$dir/lend";
		open STDERR, '>', '/dev/null';
		exec +($ENV{TIPME_BUILDDIR} // '.') . '/helper/test/lend-priority', 10 or _exit(127);
	}
	waitpid $pid, 0;
	put("$cpu/cgroup.procs", $$) if -d $group;
	rmdir $group;
	_exit(0);
}

sub act_burn { 1 while (times)[0] < 1 }

sub act_signals {
	my $child = fork // _exit(1);
	if (!$child) { sleep 1 while 1 }
	for (1 .. 21) { kill STOP => $child; sleep 0.005; kill CONT => $child }
	kill TERM => $child;
	kill KILL => $child;
	waitpid $child, 0;
}

# Several that make and remove files in one folder wait for its lock.
sub act_names { $0 = "tipme-name-$_" for 1 .. 20 }

sub act_locks {
	for my $n (1 .. 4) {
		next if fork // 1;
		my $end = time + 1.5;
		while (time < $end) {
			for my $i (1 .. 50) {
				open my $f, '>', "$dir/l$n-$i" or next;
				close $f;
				unlink "$dir/l$n-$i";
			}
		}
		_exit(0);
	}
	1 while waitpid(-1, 0) > 0;
}

sub act_memory {
	my ($root, $limit) =
		-e '/sys/fs/cgroup/memory/memory.limit_in_bytes'
		? ('/sys/fs/cgroup/memory', 'memory.limit_in_bytes')
		: ('/sys/fs/cgroup', 'memory.max');
	my $group = "$root/tipme-agree-$$";
	mkdir $group                                                     or return;
	put("$group/$limit", 24 << 20) && put("$group/cgroup.procs", $$) or return rmdir $group;
	open my $f, '>', "$dir/cache" or return;
	print $f 'x' x (1 << 20) for 1 .. 64;
	close $f;
	put("$root/cgroup.procs", $$);
	rmdir $group;
}

sub put {
	my ($path, $text) = @_;
	open my $f, '>', $path or return;
	return print({$f} $text) && close $f;
}
