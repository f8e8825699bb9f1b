#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Causes of the laboratory on Debian's kernels, in an emulated machine, with a key on its keyboard: the tracing programs and the kernel module as
# source. The key's time is that of the input device, read by a process of its own; the answer's is what a second X client sees.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", map { "$FindBin::Bin/../$_" } qw(lib lab/lib ../helper/demo);
use Tipme::Desktop qw(build_module start_recorder now hot_key diagnose no_complaint);
use Tipme::Lab;
use Tipme::Lab::Table;
use Tipme::VM;

plan skip_all => 'emulated machines are booted only with TIPME_TEST_VM=1 or TIPME_TEST_ALL=1: two of them take some minutes'
	if !$ENV{TIPME_TEST_VM} && !$ENV{TIPME_TEST_ALL};
my $lacks = Tipme::VM::lacks();
plan skip_all => $lacks if $lacks;

my ($top, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
my $AS_USER = 'runuser -u user -- env DISPLAY=:0 HOME=/home/user XAUTHORITY=/home/user/.Xauthority LAB_TRUTH=/dev/shm/truth LD_LIBRARY_PATH=/opt/lab';
my $ME = 'notesd';
my $OTHER = 'scand';
my $THIRD = 'syncer';
my $LEAD_NS = 6_000_000_000;
my $LASTS_NS = 2_500_000_000;
# begin: what runs beside it, from about 0.7 s before the key on for 2.5 s (it is started long before, because an emulated CPU is slow); with: what it is started through; own: the client must be pinned
# to a CPU, or get a quota; before: what must be ready before any key. ns: how much of the interval the cause truly had.
my %CAUSE = (
	computes => { deeds => 'compute 700', kinds => ['app-compute'], ns => \&client_ns },
	thread   => { deeds => 'thread 700', kinds => ['app-compute'], ns => \&client_ns },
	futex    => { deeds => 'futex 700', kinds => [qw(futex-wait app-compute)], ns => \&client_ns },
	timer    => { deeds => 'sleep 800', kinds => ['timer-sleep'], ns => sub { $_[0]->spans_ns('sleep') } },
	service  => { deeds => 'ask /tmp/lab-socket', serve => ['serve /tmp/lab-socket sleep 700'], kinds => ['ipc-wait'], ns => \&served_ns },
	chain    => { deeds => 'ask /tmp/lab-socket-2', serve => [ 'serve /tmp/lab-socket sleep 700', map { "serve /tmp/lab-socket-$_->[1] ask /tmp/lab-socket$_->[0]" } [ '', 1 ], [ '-1', 2 ] ],
		kinds => ['ipc-wait'], ns => \&served_ns },
	loopback => { deeds => 'ask tcp:20123', serve => ['serve tcp:20123 compute 700'], kinds => [qw(ipc-wait network-wait)], ns => \&served_ns },
	lock     => { deeds => 'flock /dev/shm/lab-lock', begin => ['cause OTHER hold flock /dev/shm/lab-lock sleep FROM UNTIL'], kinds => [qw(lock-wait ipc-wait)], ns => sub { $_[0]->spans_ns('hold') } },
	# The holder has the lock before the key and is nice from then on; the hog comes a moment later and keeps it from the CPU.
	inversion => { deeds => 'flock /dev/shm/lab-lock', kinds => [qw(priority-inversion cpu-contention)], ns => \&until_ns,
		begin => [ 'cause THIRD hold flock /dev/shm/lab-lock work FROM UNTIL 60', 'cause OTHER hog 1 LATER UNTIL' ], with => [ 'taskset -c 0', 'taskset -c 0 nice -n -15' ] },
	grab     => { deeds => 'compute 5', begin => ['xcause OTHER grab FROM UNTIL'], kinds => ['server-grab'], ns => sub { $_[0]->spans_ns('grab') } },
	'long-request' => { deeds => 'compute 5', begin => ['xcause OTHER long FROM 2500'], kinds => [qw(client-queue server-compute)], ns => sub { $_[0]->spans_ns('long') - $_[0]->overlap_ns('compute', 'long') } },
	flood    => { deeds => 'compute 8,roundtrips 700', begin => ['xcause OTHER flood FROM UNTIL'], kinds => ['client-queue'], ns => \&others_ns },
	'wm-holds' => { deeds => 'compute 5', before => 'xcause OTHER hold NOW 700', kinds => ['input-late'], ns => sub { $_[0]->spans_ns('held') } },
	hog      => { deeds => 'compute 10', begin => ['cause OTHER hog 2 FROM UNTIL'], with => ['nice -n -20'], kinds => ['cpu-contention'], ns => \&no_cpu_ns },
	storm    => { deeds => 'compute 20', begin => ['cause THIRD storm OTHER 32 20 FROM UNTIL'], with => ['nice -n -10'], kinds => ['cpu-contention'], by_name => 1, ns => \&no_cpu_ns },
	pinned   => { deeds => 'compute 30', own => 'pinned', begin => ['cause OTHER hog 1 FROM UNTIL'], with => ['taskset -c 0 nice -n -15'], kinds => ['cpu-contention'], ns => \&no_cpu_ns },
	# The kernel leaves others 50 ms of each second.
	'rt-hog' => { deeds => 'compute 5', begin => ['cause OTHER hog 2 FROM UNTIL pin'], with => ['chrt -f 20'], kinds => ['rt-starvation'], ns => \&no_cpu_ns },
	quota    => { deeds => 'compute 150', own => 'quota', kinds => ['cpu-throttled'], ns => \&no_cpu_ns },
	stopped  => { deeds => 'compute 5', stops => 1, kinds => ['stopped'], ns => sub { $_[0]->spans_ns('stop') } },
);
my @all;
for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.12') {
	for my $source (split ' ', $ENV{TIPME_LAB_SOURCES} // 'bpf module') {
		subtest "Debian's kernel $kernel, $source" => sub { on_kernel($kernel, $source) };
	}
}
diag($_) for split /\n/, Tipme::Lab::Table::head() . join('', map { Tipme::Lab::Table::line($_) } @all) . Tipme::Lab::Table::summary(@all);
done_testing;

sub on_kernel {
	my ($kernel, $source) = @_;
	my ($payload, $why) = payload($kernel, $source);
	plan skip_all => $why if !$payload;
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	is(($vm->run('insmod /opt/lab/tipme.ko'))[1], 0, 'the module loads') if $source eq 'module';
	my $server = start_recorder($vm);
	like(scalar $vm->run('tipme status --json'), qr/"source" *: *"kernel_$source"/, 'with that source');
	$vm->run('setsid perl /opt/lab/keys >> /dev/shm/keys 2>&1 &');
	# Else each session gets the same share of the CPUs, and a nice value means nothing outside its own.
	$vm->run('echo 0 > /proc/sys/kernel/sched_autogroup_enabled');
	for my $cause ($ENV{TIPME_LAB_CAUSES} ? split /,/, $ENV{TIPME_LAB_CAUSES} : sort keys %CAUSE) {
		BAIL_OUT("TIPME_LAB_CAUSES: no cause $cause here: one of @{[ sort keys %CAUSE ]}") if !$CAUSE{$cause};
		subtest $cause => sub { on_cause($vm, $server, $cause, "$kernel $source") };
	}
	no_complaint($vm);
	$vm->close;
}

# tipme as it is installed, the laboratory's programs, and what these need that the machine's small Debian has not.
sub payload {
	my ($kernel, $source) = @_;
	my $dir = Tipme::Desktop::payload();
	my $lab = "$dir/opt/lab";
	make_path($lab);
	for my $p (qw(lab-client cause xcause observer)) { copy("$build/tests/lab/$p", "$lab/$p") && chmod 0755, "$lab/$p" or BAIL_OUT("tests/lab/$p: $!") }
	for my $file (map { m{=> (/\S+/(?:libxcb-damage|libxcb-xfixes)\.so\S*)} } map { qx{ldd "$build/tests/lab/$_"} } qw(observer xcause)) { copy($file, $lab) or BAIL_OUT("$file: $!") }
	open my $h, '>', "$lab/keys" or BAIL_OUT("$lab/keys: $!");
	print {$h} key_reader();
	close $h or BAIL_OUT("$lab/keys: $!");
	return $dir if $source eq 'bpf';
	my ($module, $why) = build_module($kernel);
	return (undef, $why) if !$module;
	copy($module, "$lab/tipme.ko") or BAIL_OUT("$lab/tipme.ko: $!");
	return $dir;
}

# Prints the time of each press of `x`, of CLOCK_MONOTONIC, as the kernel gives it to whoever reads the device.
sub key_reader {
	return <<'END';
use IO::Select;
$| = 1;
my $s = IO::Select->new;
for (glob '/dev/input/event*') { open my $h, '<:raw', $_ or next; my $monotonic = pack 'l', 1; ioctl $h, 0x400445a0, $monotonic or die "EVIOCSCLOCKID: $!"; $s->add($h) }
while (1) {
	for my $h ($s->can_read) {
		sysread $h, my $e, 24 or exit;
		my ($sec, $us, $type, $code, $value) = unpack 'q<q<S<S<l<', $e;
		printf "%d\n", $sec * 1_000_000_000 + $us * 1000 if $type == 1 && $code == 45 && $value == 1;
	}
}
END
}

# One cause: client and observer, some ordinary keys, the key that counts, the hot-key, the comparison.
sub on_cause {
	my ($vm, $server, $name, $where) = @_;
	my $cause = $CAUSE{$name};
	my $r = bless { spans => [], cause => $cause, name => $name }, 'Tipme::Lab::Run';
	$vm->run('rm -f /tmp/lab-socket* /dev/shm/truth /dev/shm/seen; install -m 666 /dev/null /dev/shm/truth; install -m 666 /dev/null /dev/shm/lab-lock; : > /dev/shm/keys');
	my $n = 0;
	for my $serve (@{ $cause->{serve} // [] }) {
		$vm->run("setsid $AS_USER /opt/lab/cause " . ($n++ ? $THIRD : $OTHER) . " $serve >/dev/null 2>&1 &");
		$vm->wait_for('the helper is ready', "test \$(grep -c ^ready /dev/shm/truth) = $n");
	}
	$vm->run("LAB_SERVER=$server setsid $AS_USER /opt/lab/lab-client -n $ME -d '$cause->{deeds}' >/dev/null 2>&1 &");
	my ($pid) = $vm->wait_for('the client runs', "pgrep -n -x $ME") =~ /(\d+)/;
	my ($window) = $vm->wait_for('it has a window', $vm->as_user('xwininfo -root -tree | grep tipme-stage | grep -v XTerm')) =~ /(0x[0-9a-f]+)/;
	$vm->run("setsid chrt -f 58 $AS_USER /opt/lab/observer $window > /dev/shm/seen 2>/dev/null &");
	$vm->wait_for('the observer looks', 'grep -q ready /dev/shm/seen');
	$vm->run("taskset -a -p -c 0 $pid") if ($cause->{own} // '') eq 'pinned';
	# The machine's systemd may take the controller away again that none of its units uses.
	if (($cause->{own} // '') eq 'quota') { $vm->wait_for('the quota is set', "cd /sys/fs/cgroup && echo +cpu > cgroup.subtree_control && mkdir -p lab && echo '20000 100000' > lab/cpu.max && echo $pid > lab/cgroup.procs && cd /") }
	$vm->press(qw(d d d));
	my $at = int(now($vm) * 1e9);
	if ($cause->{before}) { begin($vm, $cause->{before}, $at); $vm->wait_for('it is ready', 'grep -q ^ready /dev/shm/truth'); sleep 2 }
	my @began = map { begin($vm, $cause->{begin}[$_], $at, $cause->{with} ? $cause->{with}[$_] : undef) } 0 .. $#{ $cause->{begin} // [] };
	$r->{until} = $at + $LEAD_NS + $LASTS_NS;
	my ($by_client, $by_server) = map { worked($vm, $_) } $pid, $server;
	if (@began) { sleep 0.2 while now($vm) * 1e9 < $at + $LEAD_NS + 700_000_000 }
	if ($cause->{stops}) {
		my $stop = 'use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC); sub t { int(clock_gettime(CLOCK_MONOTONIC) * 1e9) } my $p = shift; my $f = t(); kill STOP => $p; sleep 1.5; kill CONT => $p; printf "span stop %d %d %d %d 0\n", $p, $p, $f, t()';
		$vm->run("setsid perl -e '$stop' $pid >> /dev/shm/truth &");
		sleep 0.3;
	}
	$vm->press('x');
	my ($last) = ($cause->{deeds} =~ /(\w+) \S+$/);
	$vm->wait_for('the client has answered', "grep -q '^span $last' /dev/shm/truth" . (@began ? ' && grep ^span /dev/shm/truth | cut -d" " -f3 | sort -u | grep -qv "^' . $pid . '$"' : ''));
	sleep 0.7;
	$r->{by_client} = worked($vm, $pid) - $by_client;
	$r->{worked} = $r->{by_client} + worked($vm, $server) - $by_server;
	return fail('staged: the kernel has held nobody back for the quota: ' . $vm->run('cat /sys/fs/cgroup/lab/cpu.max')) if ($cause->{own} // '') eq 'quota' && $vm->run('cat /sys/fs/cgroup/lab/cpu.stat') !~ /^nr_throttled [1-9]/m;
	judge($vm, $r, $pid, $where);
	end_all($vm);
}

# On a slow machine a process takes its time to die; the next client must not be taken for this one.
sub end_all {
	my ($vm) = @_;
	$vm->wait_for('all have ended', "pkill -KILL -x '$ME|$OTHER|$THIRD|observer'; sleep 0.3; ! ps -C $ME,$OTHER,$THIRD,observer -o state= | grep -q '[^Z ]'");
	$vm->run('rmdir /sys/fs/cgroup/lab 2>/dev/null; true');
}

# Starts what makes the client wait, some time after AT.
sub begin {
	my ($vm, $what, $at, $with) = @_;
	my %word = (NOW => $at, OTHER => $OTHER, THIRD => $THIRD, FROM => $at + $LEAD_NS, LATER => $at + $LEAD_NS + 10_000_000, UNTIL => $at + $LEAD_NS + $LASTS_NS);
	$what =~ s/\b(NOW|OTHER|THIRD|FROM|LATER|UNTIL)\b/$word{$1}/g;
	$with //= '';
	$vm->run("setsid $with $AS_USER /opt/lab/$what >/dev/null 2>&1 &");
	return 1;
}

# The CPU time of all threads of a process, of those that have ended, too: its clock (clock_getcpuclockid).
sub worked {
	my ($vm, $pid) = @_;
	return $vm->run(qq{perl -MTime::HiRes=clock_gettime -e 'printf "%.0f", 1e9 * clock_gettime((~(0 + $pid) << 3) | 2)'}) + 0;
}

# Those in between report spans, too: what the first in the list did.
sub served_ns {
	my ($r) = @_;
	my ($last) = sort { $a <=> $b } map { $_->{pid} } grep { $_->{what} eq 'serve' } @{ $r->{spans} };
	@{ $r->{spans} } = grep { $_->{what} ne 'serve' || $_->{pid} == $last } @{ $r->{spans} };
	return $r->spans_ns('serve');
}

# All that the client computed: on an emulated CPU, drawing its answer counts, too.
sub client_ns { return $_[0]{by_client} }

# What the server computed for others while the client asked it, as the client saw it on the server's clock.
sub others_ns { my ($r) = @_; return $r->cpu_ns('others') }

sub until_ns { my ($r) = @_; my $to = $r->{until} < $r->{answer_ns} ? $r->{until} : $r->{answer_ns}; return $to > $r->{press_ns} ? $to - $r->{press_ns} : 0 }

sub no_cpu_ns { my ($r) = @_; my $ns = $r->{answer_ns} - $r->{press_ns} - $r->{worked}; return $ns > 0 ? $ns : 0 }

sub judge {
	my ($vm, $r, $pid, $where) = @_;
	my ($press) = $vm->run('tail -n 1 /dev/shm/keys') =~ /(\d{6,})/;
	ok($press, 'the key was read from its device') or return diag scalar $vm->run('cat /dev/shm/keys');
	my @seen = grep { $_ > $press } $vm->run('cat /dev/shm/seen') =~ /^(\d+) /mg;
	ok(@seen, 'the window changed') or return;
	@$r{qw(press_ns answer_ns)} = ($press, $seen[-1]);
	my $truth = tempdir(CLEANUP => 1) . '/truth';
	open my $h, '>', $truth or BAIL_OUT("$truth: $!");
	print {$h} scalar $vm->run('cat /dev/shm/truth');
	close $h or BAIL_OUT("$truth: $!");
	$r->{truth_file} = $truth;
	$r->read_spans;
	my ($helper) = $vm->run("pgrep -o -x $OTHER") =~ /(\d+)/;
	my %helpers = map { $_ => 1 } $helper // map { $_->{pid} } grep { $_->{pid} != $pid } @{ $r->{spans} };
	my $who = $r->{cause}{serve} || $r->{cause}{begin} || $r->{cause}{before} ? { comm => $OTHER, pids => \%helpers, by_name => $r->{cause}{by_name} } : { comm => $ME, pids => { $pid => 1 } };
	my $all = $seen[-1] - $press;
	my $ns = $r->{cause}{ns}->($r);
	my %truth = (kinds => $r->{cause}{kinds}, interval => { start_ns => $press, end_ns => $seen[-1] }, waited_for_cpu_ns => 0,
		parts => [ { kinds => $r->{cause}{kinds}, who => $who, ns => $ns, share => $ns / $all } ]);
	my $t0 = Time::HiRes::time();
	my $d = diagnose($vm, hot_key($vm), $press + 1_000_000) or return;
	my $result = { cause => $r->{name}, client => 'own', event => 'key', seed => $where, truth => \%truth, verdict => $d->{verdict}, interval => $d->{interval}, seconds_to_verdict => Time::HiRes::time() - $t0, %{ Tipme::Lab::compare(\%truth, $d) } };
	$result->{named} .= ", $where" if defined $result->{named};
	push @all, $result;
	# At once, too: a run that does not come to its end has shown something.
	note(Tipme::Lab::Table::line($result));
	diag(sprintf '%s: %d ms; truth %d ms; %s', $r->{name}, $all / 1e6, $ns / 1e6, join ', ', map { sprintf '%s %s %.0f ms', $_->{kind}, $_->{comm} // '?', $_->{ns} / 1e6 } grep { $_ } @{ $d->{totals}{blamed} }[ 0 .. 4 ]) if ($result->{share_error} // 0) > 5;
	ok($result->{right}, "named: $d->{verdict}{sentence}") or diag("truth: $r->{name}; $result->{why}");
	return;
}
