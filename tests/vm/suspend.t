#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A machine that really sleeps, recorded by the tracing programs and by the module: to memory (S3),
# woken by its real-time clock, and to idle, woken by a key. How long it slept the kernel, its
# real-time clock and the emulator's host say, and when the kernel's own tracer. The recorder goes
# on, says it, and no record runs backwards. Beside it runs one that has nothing but clocks to know
# it by.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Path       qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep time);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop
	qw(build_module build_drivers start_recorder hot_key ok_run no_complaint to_its_end);
use Tipme::ExactPath qw(exact_path);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

# The time for which it is asked to sleep. What goes to sleep and wakes is asleep a little less.
use constant SLEEP_S => 6;
# What lies between two looks at the same thing in a machine that is emulated, and has just woken.
use constant NEAR_S => 0.1;
# Looks alone would find a sleep this long after it on average; half a second more is the emulated
# machine's.
use constant AWAKE_S => 0.7;
# A machine that has not woken by then does not.
use constant PATIENCE_S => 120;

my $CLOCKS = 'env TIPME_RUNDIR=/run/clocks TIPME_LIBRARY=/var/tmp/clocks';
my $kernel = $ENV{TIPME_VM_KERNEL} // '6.12';
my $json   = Cpanel::JSON::XS->new;
my ($module, $why) = build_module($kernel);
(my @drivers, $why) = build_drivers($kernel) if $module;
plan skip_all => $why if !$module || !$drivers[0];
my $payload = Tipme::Desktop::payload();
make_path("$payload/opt");
system('cp', $module, "$payload/opt/tipme.ko") == 0 && system('cp', @drivers, "$payload/opt") == 0
	or BAIL_OUT('payload');
put("$payload/opt/clocks", <<'END');
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_BOOTTIME);
open my $h, '<', '/sys/class/rtc/rtc0/since_epoch';
printf "clocks %.6f %.6f %d\n", clock_gettime(CLOCK_MONOTONIC), clock_gettime(CLOCK_BOOTTIME), <$h>;
END
put("$payload/opt/backwards", <<'END');
# usage: backwards FILE.rec...   How far times run back, in ns: for each kind of record the most, within one section; and what lies between two sections
# of the same CPU; and the latest time of all.
my (%most, $latest);
for my $file (@ARGV) {
	open my $h, '<:raw', $file or die "$file: $!\n";
	my $bytes = do { local $/; <$h> };
	my ($at, $section, %last) = (64, '');
	while ($at < length $bytes) {
		my ($ts, $type, $len8) = unpack 'Q< C C', substr $bytes, $at, 16;
		if ($type == 1) { $section = join ' ', unpack 'x16 L< L<', substr $bytes, $at, 24 }
		else {
			my $back = ($last{$section} // 0) - $ts;
			$most{$type} = $back if $back > ($most{$type} // 0);
			$last{$section} = $ts if $back < 0;
			$latest = $ts if $ts > ($latest // 0);
		}
		$at += 8 * $len8;
	}
}
print "latest $latest\n", map { "type $_ $most{$_}\n" } sort { $a <=> $b } keys %most;
END

for my $source (qw(bpf module)) {
	to_its_end("recorded by kernel_$source", sub { recorded_by($source) });
}
done_testing;

sub put {
	my ($file, $text) = @_;
	open my $h, '>', $file or BAIL_OUT("$file: $!");
	print {$h} $text;
	close $h or BAIL_OUT("$file: $!");
	return;
}

sub recorded_by {
	my ($source) = @_;
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	# Without an idle driver the kernel's clock would go on while it is suspended to idle: then no
	# time is missing.
	ok_run(
		$vm, 'systemd-sysusers && insmod /opt/tipme_test_idle.ko'
			. ($source eq 'module' ? ' && insmod /opt/tipme.ko' : ''), 'drivers'
	);
	# Debian's 3 keeps all but CAP_SYS_ADMIN from opening counters, which the recorder gives up, but
	# for a process that does nothing else; the kernel's own 2 does not. Once it is as Debian has
	# it, once it is raised when recording goes on: then there is nobody who may.
	$vm->run('sysctl -q kernel.perf_event_paranoid=' . ($source eq 'bpf' ? 3 : 2));
	# Both sleeps are to be in the second episode, where all of this takes no longer than that.
	my $server = start_recorder($vm, '--window 90');
	$vm->run('sysctl -q kernel.perf_event_paranoid=3');
	opener($vm, $source);
	# The witness. And who samples /proc, whom no tracing program tells of the sleep; also to save
	# as root whenever it is asked.
	ok_run(
		$vm,
		'cd /sys/kernel/tracing && echo mono > trace_clock && echo 1 > '
			. 'events/power/suspend_resume/enable && echo 1 > tracing_on; cd /',
		"the kernel's tracer looks"
	);
	ok_run(
		$vm,
		"mkdir -p /run/clocks && $CLOCKS tipme start --source proc_sampled --user root --window 90 "
			. "--post 0 --hotkey none",
		'a recorder of clocks alone'
	);
	$vm->run( 'echo enabled > /sys/devices/platform/i8042/serio0/power/wakeup; echo 1 > '
			. '/sys/power/pm_debug_messages');
	my $state = { vm => $vm, source => "kernel_$source", server => $server, slept => [] };
	is(status($vm)->{source}, $state->{source}, 'recording');
	$vm->press(qw(h i ret));
	$vm->wait_for('the line is typed', 'grep -qx hi /home/user/typed');
	to_its_end('to memory', sub { sleeps($state, \&to_memory) });
	to_its_end('to idle',   sub { sleeps($state, \&to_idle) });
	again($vm, $source);
	ok_run($vm, "$CLOCKS tipme stop", 'the recorder of clocks alone ends');
	no_complaint($vm);
	$vm->close;
	return;
}

# The process that opens events: there where it is needed, with no right but that, and nobody's of
# root's.
sub opener {
	my ($vm, $source) = @_;
	my $said =
		$vm->run('for p in $(pgrep -x tipmed-events); do grep -E "^(Uid|CapEff|NoNewPrivs):" '
			. '/proc/$p/status; ls /proc/$p/fd | wc -l; done');
	my ($tipmed) = $vm->run('id -u tipmed') =~ /(\d+)/;
	return is($said, '', 'nobody opens events where everybody may') if $source ne 'bpf';
	like(
		$said,
		qr/^Uid:\t$tipmed\t$tipmed\t$tipmed\t$tipmed\nCapEff:\t0*200000\nNoNewPrivs:\t1\n4\n\z/,
		'a process opens events: CAP_SYS_ADMIN alone, four descriptors'
	);
	return;
}

# A class of counters can be switched on again; not where nobody may open them any more.
sub again {
	my ($vm, $source) = @_;
	return ok_run(
		$vm, 'tipme classes -sample && tipme classes +sample',
		'samples can be switched on again'
	) if $source eq 'bpf';
	my ($said, $rc) = $vm->run('tipme classes -sample && tipme classes +sample');
	isnt($rc, 0, 'samples cannot be switched on again');
	like(
		$said, qr/sample: cannot be recorded here \(Permission denied\)/,
		'... and it is said why'
	);
	ok_run(
		$vm, 'sysctl -q kernel.perf_event_paranoid=2; tipme classes +sample',
		'where the kernel permits it they can'
	);
	return;
}

sub status {
	my ($vm) = @_;
	return eval { $json->decode(scalar $vm->run('tipme status --json')) } // {};
}

# --- how it sleeps ---

# Runs COMMAND, which puts the machine to sleep, between two looks at its clocks. While it sleeps or
# wakes its serial line loses what is said to it; so it says on the console when it is awake.
sub begin {
	my ($vm, $command) = @_;
	$vm->run(
			  "setsid sh -c 'perl /opt/clocks; $command; perl /opt/clocks; echo suspend.t: awake > "
			. "/dev/ttyS0' > /tmp/slept 2>&1 < /dev/null &");
	return;
}

sub until_true {
	my ($what, $code) = @_;
	my $end = time + PATIENCE_S;
	until ($code->()) { time < $end or die "gave up waiting until $what\n"; sleep 0.05 }
	return time;
}

sub times_awake { my ($vm) = @_; my $n = () = $vm->console =~ /^suspend\.t: awake/mg; return $n }

# Suspend to memory, by rtcwake; the emulator says when it sleeps.
sub to_memory {
	my ($vm) = @_;
	begin($vm, 'rtcwake -m mem -s ' . SLEEP_S);
	my $from = until_true(
		'the emulator says that it sleeps',
		sub { $vm->monitor('info status') =~ /\(suspended\)/ }
	);
	return until_true('... and that it runs', sub { $vm->monitor('info status') =~ /running/ })
		- $from;
}

# Suspend to idle; a key wakes it, here one that writes nothing.
sub to_idle {
	my ($vm) = @_;
	begin($vm, 'echo freeze > /sys/power/state');
	sleep SLEEP_S + 1;
	$vm->press('shift');
	return SLEEP_S;
}

sub sleeps {
	my ($state, $way) = @_;
	my $vm    = $state->{vm};
	my $awake = times_awake($vm);
	# To idle with a key on the way that is answered only when it is awake again; long enough for
	# the recorder to have looked at its clocks before and after.
	my $terminal = $way == \&to_idle ? Tipme::Desktop::pid_of($vm, 'xterm') : undef;
	if ($terminal) { $vm->run("kill -STOP $terminal"); $vm->press('z'); sleep 3 }
	my $host_s = $way->($vm);
	until_true('it is awake', sub { times_awake($vm) > $awake });
	$vm->run("sleep 3; kill -CONT $terminal; sleep 1") if $terminal;
	# By somebody who has just woken it.
	$vm->press('y');
	# Until the recorder has seen that a CPU was away.
	$vm->run('sleep 3');
	$vm->run(q(taskset -c 1 perl -e '$e = time + 3; 1 while time < $e'; sleep 1));
	my $slept = push_slept($state, $host_s);
	is(status($vm)->{source}, $state->{source}, 'it still records');
	my $episode = hot_key($vm);
	my $m       = $json->decode(scalar $vm->run("cat $episode/manifest.json"));
	manifest($state, $m);
	records($state, $episode, $m, $slept);
	key($state, $episode, $slept);
	across($state, $episode, $slept) if $terminal;
	# For the recorder's own limit.
	sleep 11;
	return;
}

# What others say of how long it slept.
sub push_slept {
	my ($state, $host_s) = @_;
	my $text   = $state->{vm}->run('cat /tmp/slept');
	my @clocks = map { /^clocks (\S+) (\S+) (\d+)/ ? [ $1, $2, $3 ] : () } split /\n/, $text;
	is(scalar @clocks, 2, 'it slept') or diag($text), return {};
	my @said = $state->{vm}->run('dmesg') =~ /Timekeeping suspended for ([\d.]+) seconds/g;
	is(scalar @said, 1 + @{ $state->{slept} }, 'the kernel says for how long');
	my %s = (
		kernel_s => $said[-1] // 0, from_s => $clocks[0][0], to_s => $clocks[1][0],
		%{ traced($state) }
	);
	my ($awake_s, $rtc_s) = ($s{to_s} - $s{from_s}, $clocks[1][2] - $clocks[0][2]);
	# That clock tells whole seconds.
	cmp_ok(
		abs($rtc_s - $awake_s - $s{kernel_s}), '<', 2,
		sprintf
			'the real-time clock went on by %d s, of which %.1f s are the kernel\'s; it says that '
			. 'it slept for %.3f s',
		$rtc_s, $awake_s, $s{kernel_s}
	);
	cmp_ok($s{kernel_s}, '>', $host_s - 2, sprintf '... and the host agrees (%.1f s)', $host_s);
	push @{ $state->{slept} }, \%s;
	return \%s;
}

# The last sleep, as the kernel's tracer has it: from just before its clock stopped to just after,
# and until all processes had been thawed.
sub traced {
	my ($state) = @_;
	my ($awake, %at) = $state->{slept}[-1] ? $state->{slept}[-1]{thawed_s} : 0;
	for (split /\n/, $state->{vm}->run('grep suspend_resume: /sys/kernel/tracing/trace')) {
		my ($s, $what, $edge) = /\s(\d+\.\d+): suspend_resume: (\w+)\[\d+\] (begin|end)/ or next;
		next                  if $s <= $awake;
		$at{stopped_s} //= $s if $what =~ /^(?:machine_suspend|timekeeping_freeze)$/;
		$at{went_on_s} = $s if $what =~ /^(?:machine_suspend|timekeeping_freeze)$/;
		$at{thawed_s}  = $s if "$what $edge" eq 'thaw_processes end';
	}
	is(scalar keys %at, 3, 'the tracer has seen it') or diag explain \%at;
	return \%at;
}

# --- what we say of it ---

sub manifest {
	my ($state, $m)      = @_;
	my ($ours,  @theirs) = ($m->{suspends}, remembered($state, $m));
	is(scalar @$ours, scalar @theirs, 'the manifest names each sleep');
	is_deeply(
		$m->{clock_steps}, [],
		'... and that nobody set the clock, which went on while it slept'
	);
	by_clocks($state);
	for my $i (0 .. ($#theirs < $#$ours ? $#theirs : $#$ours)) {
		my ($o, $t) = ($ours->[$i], $theirs[$i]);
		cmp_ok(
			abs($o->{from_ns} / 1e9 - $t->{stopped_s}), '<', NEAR_S,
			sprintf 'it began when the tracer says (%.6f s, %.6f s)', $o->{from_ns} / 1e9,
			$t->{stopped_s}
		);
		cmp_ok(
			abs($o->{to_ns} / 1e9 - $t->{went_on_s}), '<',               NEAR_S,
			sprintf '... and ended (%.6f s, %.6f s)', $o->{to_ns} / 1e9, $t->{went_on_s}
		);
		cmp_ok(
			abs($o->{slept_ns} / 1e9 - $t->{kernel_s}),         '<',    0.05,
			sprintf 'sleep %d: %.3f s, the kernel says %.3f s', $i + 1, $o->{slept_ns} / 1e9,
			$t->{kernel_s}
		);
		ok(        $o->{from_ns} <= $o->{to_ns}
				&& $o->{from_ns} < 1e9 * $t->{to_s}
				&& $o->{to_ns} > 1e9 * $t->{from_s}, '... at some time between these');
	}
	return;
}

# The sleeps that lie within the window: on a slow host the first may be older than that when the
# second is over.
sub remembered {
	my ($state, $m) = @_;
	my $since_s = $m->{trigger}{ns} / 1e9 - $m->{recorder}{window_s};
	my @slept   = @{ $state->{slept} };
	return grep { $_ == $slept[-1] || $_->{went_on_s} >= $since_s } @slept;
}

# Who has clocks alone knows when it was awake again, at once; and that it slept after it had looked
# last.
sub by_clocks {
	my ($state) = @_;
	my ($vm,   $t)  = ($state->{vm}, $state->{slept}[-1]);
	my ($said, $rc) = $vm->run_piped("$CLOCKS tipme snap");
	is($rc, 0, 'clocks alone: an episode') or diag $said;
	my ($dir) = $said =~ m{^(/\S+)}m;
	my $m = eval { $json->decode(scalar $vm->run("cat $dir/manifest.json")) } // {};
	is(scalar @{ $m->{suspends} // [] }, scalar(remembered($state, $m)), '... with each sleep')
		or return;
	my $o = $m->{suspends}[-1];
	diag sprintf
		'clocks alone: from %.3f s before to %.3f s after, known %.3f s after all were thawed',
		$t->{stopped_s} - $o->{from_ns} / 1e9, $o->{to_ns} / 1e9 - $t->{went_on_s},
		$o->{to_ns} / 1e9 - $t->{thawed_s};
	cmp_ok(abs($o->{slept_ns} / 1e9 - $t->{kernel_s}), '<', 0.05, '... as long as the kernel says');
	ok(
		$o->{from_ns} / 1e9 <= $t->{stopped_s} && $o->{to_ns} / 1e9 >= $t->{went_on_s},
		'... the clock stood still in there'
	);
	cmp_ok(
		$o->{to_ns} / 1e9 - $t->{thawed_s}, '<', AWAKE_S,
		'... and it was told at once that it is awake'
	);
	return;
}

# Of both CPUs, before and after; the second was switched off and on, and is sampled again.
sub records {
	my ($state, $episode, $m, $slept) = @_;
	my $vm = $state->{vm};
	my ($kernel) = grep { $_->{source} eq $state->{source} } @{ $m->{sources} };
	is_deeply(
		[
			grep { $_->{first_ns} > 1e9 * $slept->{from_s} || $_->{last_ns} < 1e9 * $slept->{to_s} }
				@{ $kernel->{coverage} }
		],
		[],
		'each CPU is covered, before and after'
	);
	is(scalar @{ $kernel->{coverage} }, 2, '... both');
	is_deeply(
		[ grep { $kernel->{lost}{$_} } qw(pool nested missed torn cut) ], [],
		'no record was lost'
	);
	my %back = map { /^(\w+(?: \d+)?) (\d+)$/ ? ($1 => $2) : () } split /\n/,
		$vm->run("perl /opt/backwards $episode/kernel.rec $episode/x-*.rec");
	cmp_ok($back{latest} // 0, '>', 1e9 * $slept->{to_s}, 'there are records from after the sleep');
	cmp_ok($back{latest} // 0, '<=', $m->{end_ns},        '... and none from after the end');
	diag join ', ',
		map { sprintf '%s back by %.3f ms', $_, $back{$_} / 1e6 } grep {/type/} sort keys %back;
	# Switches are written when they are; others may be written when something is over, with the
	# time of its beginning.
	is_deeply(
		[ map {"$_: $back{$_}"} grep { $back{$_} > 5e6 } grep {/^type [34]$/} keys %back ],
		[], 'no switch or waking runs backwards'
	);
	is_deeply(
		[
			map {"$_: $back{$_}"}
			grep { $back{$_} > 5e8 * $slept->{kernel_s} } grep {/type/} keys %back
		],
		[],
		'... and nothing by as much as it slept'
	);
	$vm->run(
		sprintf 'tipme export %s --format text -o /tmp/text --from %d > /dev/null', $episode,
		1e3 * $slept->{to_s} - $m->{trigger}{ns} / 1e6
	);
	my ($busy) = $vm->run(q(grep -c ' 1 kernel_bpf sample ' /tmp/text)) =~ /^(\d+)$/m;
	my @said =
		grep {/^no samples any more of a CPU that was switched off/} @{ $m->{recorder}{limits} };
	if ($state->{source} eq 'kernel_bpf') {
		cmp_ok($busy // 0, '>', 50, "samples of the CPU that was away: $busy");
		is(
			scalar(grep {/any more of a CPU/} @{ $m->{recorder}{limits} }), 0,
			'... so nothing is said of that'
		);
	} else {
		is(
			$busy, 0,
			'no samples of the CPU that was away, where the kernel does not permit to go on'
		);
		is(scalar @said, 1, '... and that is said, once') or diag explain $m->{recorder}{limits};
		is(
			scalar(grep { $_ eq ($said[0] // '') } @{ status($vm)->{limits} }), 1,
			'... by tipme status, too'
		);
	}
	return;
}

# The key that was pressed when it was awake.
sub key {
	my ($state, $episode, $slept) = @_;
	my $vm     = $state->{vm};
	my $events = $json->decode(scalar $vm->run("tipme events $episode --json 2>/dev/null"));
	my @after  = grep {
		$_->{kind} eq 'key_press' && !$_->{hotkey} && $_->{entered_ns} > 1e9 * $slept->{to_s}
	} @{ $events->{events} };
	cmp_ok(scalar @after, '>=', 1, 'the key pressed when it was awake is there') or return;
	my $d = $json->decode(
		scalar $vm->run("tipme diagnose $episode --event $after[0]{n} --json 2>/dev/null"));
	exact_path($d);
	diag sprintf 'the key after it: %.1f ms, %s', $d->{interval}{duration_ns} / 1e6,
		$d->{verdict}{sentence};
	cmp_ok(
		$d->{interval}{start_ns}, '>', 1e9 * $slept->{to_s},
		'its interval begins after the sleep'
	);
	cmp_ok($d->{interval}{duration_ns}, '<', 1e9 * $slept->{kernel_s}, '... and has none of it');
	unlike($d->{verdict}{sentence}, qr/slept for/, '... nor does its verdict speak of it');
	# The hooks' own clock is the time-stamp counter, which went on, or began anew; the kernel's
	# time of the same key is that of the device.
	my @apart = map { /ts_ns=(\d+) .*kernel_ns=(\d+)/ && $2 > 1e9 * $slept->{to_s} ? $1 - $2 : () }
		split /\n/, $vm->run('grep " x_hooks x_input " /tmp/text');
	cmp_ok(scalar @apart, '>=', 2, 'the X server has times of its own of keys after the sleep');
	is_deeply(
		[ grep { $_ < 0 || $_ > 5e8 * $slept->{kernel_s} } @apart ], [],
		'... and they are not off by what it slept'
	);
	return;
}

# The key before it, whose answer came after it: what is said of it says that the machine slept, and
# nobody is charged with that. It is not what the user complains of.
sub across {
	my ($state, $episode, $slept) = @_;
	my $vm       = $state->{vm};
	my $events   = $json->decode(scalar $vm->run("tipme events $episode --json 2>/dev/null"));
	my ($before) = grep {
		$_->{kind} eq 'key_press' && !$_->{hotkey} && $_->{entered_ns} < 1e9 * $slept->{from_s}
	} reverse @{ $events->{events} };
	ok($before, 'the key before the sleep is there') or return;
	my $d = $json->decode(
		scalar $vm->run("tipme diagnose $episode --event $before->{n} --json 2>/dev/null"));
	exact_path($d);
	diag sprintf 'the key before it: %.1f ms, %s %s', $d->{interval}{duration_ns} / 1e6,
		$d->{verdict}{sentence}, "@{ $d->{verdict}{circumstances} }";
	cmp_ok($d->{interval}{end_ns}, '>', 1e9 * $slept->{to_s}, 'it was answered after the sleep');
	is($d->{verdict}{kind}, 'stopped', 'its verdict is who stopped the terminal');
	is(
		scalar(grep {/slept for .* in the midst of it/} @{ $d->{verdict}{circumstances} }), 1,
		'... and says that the machine slept'
	);
	my $chosen = $json->decode(scalar $vm->run("tipme diagnose $episode --json 2>/dev/null"));
	isnt($chosen->{event}{n}, $before->{n}, 'another is taken for what the user waited for');
	unlike(
		"@{ $chosen->{verdict}{circumstances} }", qr/, in the midst of it/,
		'... in which the machine did not sleep'
	);
	return;
}
