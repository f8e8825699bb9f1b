#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Causes of the laboratory on Debian's kernels, in an emulated machine, with a key on its keyboard:
# the tracing programs and the kernel module as source. The key's time is that of the input device,
# read by a process of its own; the answer's is what a second X client sees.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", map {"$FindBin::Bin/../$_"} qw(lib lab/lib ../helper/demo);
use Tipme::Desktop qw(start_recorder now hot_key diagnose no_complaint to_its_end);
use Tipme::Lab;
use Tipme::Lab::Table;
use Tipme::LabMachine
	qw($AS_USER payload read_keys make_disk make_swap make_files make_cold slow_disk reclaimed
	watch_interrupts limit_writes);
use Tipme::LabMachine::Causes qw(%CAUSE);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $ME            = 'notesd';
my $OTHER         = 'scand';
my $THIRD         = 'syncer';
my $LEAD_NS       = 6_000_000_000;
my $LASTS_NS      = 2_500_000_000;
my $FELT_NS       = 50_000_000;      # no cause is meant to be shorter
my $BEFORE_KEY_NS = 700_000_000;
my @all;

for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.12') {
	for my $source (split ' ', $ENV{TIPME_LAB_SOURCES} // 'bpf module') {
		subtest "Debian's kernel $kernel, $source" => sub { on_kernel($kernel, $source) };
	}
}
diag($_)
	for split /\n/,
	Tipme::Lab::Table::head()
	. join('', map { Tipme::Lab::Table::line($_) } @all)
	. Tipme::Lab::Table::summary(@all);
done_testing;

sub on_kernel {
	my ($kernel,  $source) = @_;
	my ($payload, $why)    = payload($kernel, $source);
	plan skip_all => $why if !$payload;
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	is(($vm->run('insmod /opt/lab/tipme.ko'))[1], 0, 'the module loads') if $source eq 'module';
	my $server = start_recorder($vm);
	like(
		scalar $vm->run('tipme status --json'), qr/"source" *: *"kernel_$source"/,
		'with that source'
	);
	read_keys($vm, 45, 32);    # x counts, d before it warms up
	make_disk($vm);
	make_swap($vm);
	watch_interrupts($vm);
	$vm->run('echo 1 > /proc/sys/kernel/task_delayacct');
	# Else each session gets the same share of the CPUs, and a nice value means nothing outside its
	# own.
	$vm->run('echo 0 > /proc/sys/kernel/sched_autogroup_enabled');
	for my $cause ($ENV{TIPME_LAB_CAUSES} ? split /,/, $ENV{TIPME_LAB_CAUSES} : sort keys %CAUSE) {
		BAIL_OUT("TIPME_LAB_CAUSES: no cause $cause here: one of @{[ sort keys %CAUSE ]}")
			if !$CAUSE{$cause};
		to_its_end($cause => sub { staged($vm, $server, $cause, "$kernel $source") });
		return if !$vm->alive;
	}
	no_complaint($vm);
	$vm->close;
}

# A cause that holds nobody up (a fair share of the CPU came just when the key did) has shown
# nothing, and is staged again.
sub staged {
	my ($vm, @what) = @_;
	for my $try (1 .. 3) {
		my $weak_ms = on_cause($vm, @what) or return;
		diag sprintf '%s: answered after %d ms, says the observer: %s', $what[1], $weak_ms,
			$try < 3 ? 'staged again' : 'given up';
	}
	fail('staged: the key is answered late');
}

# One cause: client and observer, some ordinary keys, the key that counts, the hot-key, the
# comparison. Returns in how many ms that key was answered if that is as if there had been no cause,
# else nothing true.
sub on_cause {
	my ($vm, $server, $name, $where) = @_;
	end_all($vm);
	slow_disk($vm, 0);
	my $cause = $CAUSE{$name};
	my $r     = bless { spans => [], server => $server, cause => $cause, name => $name },
		'Tipme::Lab::Run';
	$vm->run(
		'rm -f /tmp/lab-socket* /dev/shm/truth /dev/shm/seen; install -m 666 /dev/null /dev/shm/truth; install -m 666 /dev/null /dev/shm/lab-lock; : > /dev/shm/keys'
	);
	my $n   = 0;
	my $env = $cause->{env} // '';
	limit_writes($vm)                if ($cause->{own} // '') eq 'writes';
	make_files($vm, $cause->{files}) if $cause->{files};

	if ($env =~ /unix:path=(\S+)/) {
		$vm->run(
			"rm -f $1; setsid $AS_USER dbus-daemon --session --nofork --nopidfile --address=unix:path=$1 > /dev/null 2>&1 &"
		);
		$vm->wait_for('there is a message bus', "test -S $1");
	}
	for my $serve (@{ $cause->{serve} // [] }) {
		$vm->run( "setsid $AS_USER $env /opt/lab/cause "
				. ($n++ ? $THIRD : $OTHER)
				. " $serve >/dev/null 2>&1 &");
		$vm->wait_for('the helper is ready', "test \$(grep -c ^ready /dev/shm/truth) = $n");
	}
	$vm->run(
		"LAB_SERVER=$server setsid $AS_USER $env /opt/lab/lab-client -n $ME -d '$cause->{deeds}' >/dev/null 2>&1 &"
	);
	my ($pid)    = $vm->wait_for('the client runs', "pgrep -n -x -r D,R,S $ME") =~ /(\d+)/;
	my ($window) = $vm->wait_for(
		'it has a window',
		$vm->as_user('xwininfo -root -tree | grep tipme-stage | grep -v XTerm')
	) =~ /(0x[0-9a-f]+)/;
	my ($tipmed) = $vm->run('pgrep -o -x tipmed') =~ /(\d+)/;
	$vm->run(
		"setsid chrt -f 58 $AS_USER /opt/lab/observer $window $pid $server $tipmed > /dev/shm/seen 2>/dev/null &"
	);
	$vm->wait_for('the observer looks', 'grep -q ready /dev/shm/seen');
	$vm->run("taskset -a -p -c 0 $pid") if ($cause->{own} // '') eq 'pinned';
	# The machine's systemd may take the controller away again that none of its units uses.
	if (($cause->{own} // '') eq 'quota') {
		$vm->wait_for(
			'the quota is set',
			"cd /sys/fs/cgroup && echo +cpu > cgroup.subtree_control && mkdir -p lab && echo '20000 100000' > lab/cpu.max && echo $pid > lab/cgroup.procs && cd /"
		);
	}
	$vm->run("echo $pid > /sys/fs/cgroup/lab/cgroup.procs") if ($cause->{own} // '') eq 'writes';
	$vm->wait_for(
		'the limit of memory is set',
		"cd /sys/fs/cgroup && echo +memory > cgroup.subtree_control && mkdir -p lab && echo 24M > lab/memory.max && echo $pid > lab/cgroup.procs && cd /"
	) if ($cause->{own} // '') eq 'memory';
	$vm->run("echo $pid $server $tipmed > /dev/shm/pids");
	$vm->press(qw(d d d));
	make_cold($vm, $cause->{cold}, $pid) if $cause->{cold};
	slow_disk($vm, $cause->{bps})        if $cause->{bps};
	my $reclaimed = ($cause->{own} // '') eq 'memory' ? reclaimed($vm, $pid) : undef;
	my $at        = int(now($vm) * 1e9);
	my $ahead     = $at - int(Time::HiRes::time() * 1e9);

	if ($cause->{before}) {
		begin($vm, $cause->{before}, $at);
		$vm->wait_for('it is ready', 'grep -q ^ready /dev/shm/truth');
		sleep 2;
	}
	# Of very many interrupts the trace events would be the greater part; there the client sees
	# itself when it does not work.
	$vm->run(
		'echo ' . ($name eq 'softirq' ? 0 : 1) . ' > /sys/kernel/tracing/instances/lab/tracing_on');
	my @began =
		map { begin($vm, $cause->{begin}[$_], $at, $cause->{with} ? $cause->{with}[$_] : undef) }
		0 .. $#{ $cause->{begin} // [] };
	$r->{until} = $at + $LEAD_NS + $LASTS_NS if @began;
	# By our own clock, which goes as fast: whoever asks the machine now has to wait for its CPUs
	# until the cause is over.
	if (@began) {
		sleep 0.1 while Time::HiRes::time() * 1e9 + $ahead < $at + $LEAD_NS + $BEFORE_KEY_NS;
	}
	if ($cause->{stops}) {
		my $stop =
			'use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC); sub t { int(clock_gettime(CLOCK_MONOTONIC) * 1e9) } my $p = shift; my $f = t(); kill STOP => $p; sleep 1.5; kill CONT => $p; printf "span stop %d %d %d %d 0\n", $p, $p, $f, t()';
		$vm->run("setsid perl -e '$stop' $pid >> /dev/shm/truth &");
		sleep 0.3;
	}
	$vm->press('x');
	# To look what the client does would be one more who wants a CPU.
	if (@began) { sleep 0.1 while Time::HiRes::time() * 1e9 + $ahead < $r->{until} }
	my ($last) = $cause->{deeds} =~ /(?:^|.*,)(\w+)/;
	$vm->wait_for(
		'the client has answered',
		"tail -n 5 /dev/shm/truth; grep -q '^span $last' /dev/shm/truth"
			. (
			@began
			? ' && grep ^span /dev/shm/truth | cut -d" " -f3 | sort -u | grep -qv "^' . $pid . '$"'
			: ''
			)
	);
	sleep 0.7;
	slow_disk($vm, 0)                                   if $cause->{bps};
	$r->{reclaimed} = reclaimed($vm, $pid) - $reclaimed if defined $reclaimed;
	return fail('staged: the kernel has held nobody back for the quota: '
			. $vm->run('cat /sys/fs/cgroup/lab/cpu.max'))
		if ($cause->{own} // '') eq 'quota'
		&& $vm->run('cat /sys/fs/cgroup/lab/cpu.stat') !~ /^nr_throttled [1-9]/m;
	judge($vm, $r, $pid, $where);
	end_all($vm);
	return $r->{weak_ms};
}

# On a slow machine a process takes its time to die; the next client must not be taken for this one.
sub end_all {
	my ($vm) = @_;
	$vm->wait_for(
		'all have ended',
		"pkill -KILL -x '$ME|$OTHER|$THIRD|observer'; sleep 0.3; ! ps -C $ME,$OTHER,$THIRD,observer -o state= | grep -q '[^Z ]'"
	);
	$vm->run(
		'pkill -f "^dbus-daemon.*path=/tmp/lab-bus"; rm -f /srv/lab/*; rmdir /sys/fs/cgroup/lab 2>/dev/null; true'
	);
}

# Starts what makes the client wait, some time after AT.
sub begin {
	my ($vm, $what, $at, $with) = @_;
	my %word = (
		NOW => $at, OTHER => $OTHER, THIRD => $THIRD, FROM => $at + $LEAD_NS,
		LATER => $at + $LEAD_NS + 10_000_000, UNTIL => $at + $LEAD_NS + $LASTS_NS
	);
	$what =~ s/\b(NOW|OTHER|THIRD|FROM|LATER|UNTIL)\b/$word{$1}/g;
	$with //= '';
	$vm->run("setsid $with $AS_USER /opt/lab/$what >/dev/null 2>&1 &");
	return 1;
}

# { client, server, helper, others }: for how long interrupts took their time
sub read_interrupts {
	my ($vm, $r, $pid) = @_;
	my %of = map { $_ => 'client' } split ' ',
		$vm->run(
		"ls /proc/$pid/task; echo @{[ map { $_->{tid} } grep { $_->{pid} == $pid } @{ $r->{spans} } ]}"
		);
	$of{$_} = 'server' for split ' ', $vm->run("ls /proc/$r->{server}/task");
	$of{ $_->{tid} } = 'helper'
		for grep { $_->{pid} != $pid && $_->{pid} != $r->{server} } @{ $r->{spans} };
	$r->{irq} = { client => 0, server => 0, helper => 0, others => 0 };
	for (split /\n/, $vm->run("/opt/lab/interrupted $r->{press_ns} $r->{answer_ns}")) {
		/^(\d+) (\d+)$/ and $r->{irq}{ $of{$1} // 'others' } += $2;
	}
	return;
}

sub judge {
	my ($vm, $r, $pid, $where) = @_;
	my ($press, @before) = $vm->run('tail -n 1 /dev/shm/keys') =~ /(\d{6,}) (\d+) (\d+) (\d+)/;
	ok($press, 'the key was read from its device')
		or return diag scalar $vm->run('cat /dev/shm/keys');
	return fail('staged: the key came when the cause was over')
		if $r->{until} && $press > $r->{until};
	my @seen =
		grep { $_->[0] > $press } map { [ (split ' ')[ 0, 5, 6, 7 ] ] } grep {/^\d/} split /\n/,
		$vm->run('cat /dev/shm/seen');
	ok(@seen, 'the window changed') or return;
	my ($answer, @after) = @{ $seen[-1] };
	return $r->{weak_ms} = ($answer - $press) / 1e6 if $answer - $press < $FELT_NS;
	@$r{qw(press_ns answer_ns)} = ($press, $answer);
	$r->{by_client}             = $after[0] - $before[0];
	$r->{worked}                = $r->{by_client} + $after[1] - $before[1];
	$r->{recorder}              = $after[2] - $before[2];
	my $truth = tempdir(CLEANUP => 1) . '/truth';
	open my $h, '>', $truth or BAIL_OUT("$truth: $!");
	print {$h} scalar $vm->run('cat /dev/shm/truth');
	close $h or BAIL_OUT("$truth: $!");
	$r->{truth_file} = $truth;
	$r->read_spans;
	read_interrupts($vm, $r, $pid);
	my ($helper) = $vm->run("pgrep -o -x -r D,R,S,T $OTHER") =~ /(\d+)/;
	my %helpers  = map { $_ => 1 } $helper
		// map { $_->{pid} } grep { $_->{pid} != $pid } @{ $r->{spans} };
	my %who = (
		me      => { comm => $ME,       pids => { $pid => 1 } },
		other   => { comm => $OTHER,    pids => \%helpers, by_name => $r->{cause}{by_name} },
		softirq => { comm => 'softirq', pids => { %helpers, $pid => 1 }, by_name => 1 }
	);
	my $cause = $r->{cause};
	my $all   = $answer - $press;
	my @parts =
		  $cause->{parts}
		? $cause->{parts}->($r)
		: [
		$cause->{kinds},
		$cause->{serve} || $cause->{begin} || $cause->{before} ? 'other' : 'me',
		$cause->{ns}->($r)
		];
	my %truth = (
		kinds             => $parts[0][0], interval => { start_ns => $press, end_ns => $answer },
		waited_for_cpu_ns => 0,
		parts             => [
			map {
				{ kinds => $_->[0], who => $who{ $_->[1] }, ns => $_->[2], share => $_->[2] / $all }
			} @parts
		]
	);
	my $t0     = Time::HiRes::time();
	my $d      = diagnose($vm, hot_key($vm), $press + 1_000_000) or return;
	my $result = {
		cause   => $r->{name},    client => 'own', event => 'key', seed => $where, truth => \%truth,
		verdict => $d->{verdict}, interval => $d->{interval},
		seconds_to_verdict => Time::HiRes::time() - $t0, %{ Tipme::Lab::compare(\%truth, $d) }
	};
	$result->{named} .= ", $where" if defined $result->{named};
	push @all, $result;
	# At once, too: a run that does not come to its end has shown something.
	note(Tipme::Lab::Table::line($result));
	diag(
		sprintf '%s: %d ms; truth %s ms; %s', $r->{name}, $all / 1e6,
		join(', ', map { sprintf '%s %s %d', $_->[0][0], $_->[1], $_->[2] / 1e6 } @parts),
		join ', ',
		map      { sprintf '%s %s %.0f ms', $_->{kind}, $_->{comm} // '?', $_->{ns} / 1e6 }
			grep {$_} @{ $d->{totals}{blamed} }[ 0 .. 4 ]
	) if ($result->{share_error} // 0) > 5;
	ok($result->{right}, "named: $d->{verdict}{sentence}")
		or diag("truth: $r->{name}; $result->{why}");
	return;
}
