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
my %CAUSE = (
	computes => { deeds => 'compute 700', kinds => ['app-compute'], ns => sub { $_[0]->cpu_ns('compute') } },
	thread   => { deeds => 'thread 700', kinds => ['app-compute'], ns => sub { $_[0]->cpu_ns('thread') } },
	timer    => { deeds => 'sleep 800', kinds => ['timer-sleep'], ns => sub { $_[0]->spans_ns('sleep') } },
	service  => { deeds => 'ask /tmp/lab-socket', serve => 'serve /tmp/lab-socket sleep 700', kinds => ['ipc-wait'], ns => sub { $_[0]->spans_ns('serve') } },
	loopback => { deeds => 'ask tcp:20123', serve => 'serve tcp:20123 compute 700', kinds => [qw(ipc-wait network-wait)], ns => sub { $_[0]->spans_ns('serve') } },
	lock     => { deeds => 'flock /dev/shm/lab-lock', begin => 'cause NAME hold flock /dev/shm/lab-lock sleep FROM UNTIL', kinds => [qw(lock-wait ipc-wait)], ns => sub { $_[0]->spans_ns('hold') } },
	grab     => { deeds => 'compute 5', begin => 'xcause NAME grab FROM UNTIL', kinds => ['server-grab'], ns => sub { $_[0]->spans_ns('grab') } },
	'rt-hog' => { deeds => 'compute 5', begin => 'cause NAME hog 2 FROM UNTIL pin', with => 'chrt -f 20', kinds => ['rt-starvation'], ns => \&no_cpu_ns },
	quota    => { deeds => 'compute 150', quota => 1, kinds => ['cpu-throttled'], ns => sub { $_[0]->spans_ns('compute') - $_[0]->cpu_ns('compute') } },
	stopped  => { deeds => 'compute 5', stops => 1, kinds => ['stopped'], ns => sub { $_[0]->spans_ns('stop') } },
);
my @all;
for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.12') {
	for my $source (qw(bpf module)) {
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
	for my $cause ($ENV{TIPME_LAB_CAUSES} ? split /,/, $ENV{TIPME_LAB_CAUSES} : sort keys %CAUSE) {
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
	$vm->run('rm -f /tmp/lab-socket /dev/shm/truth /dev/shm/seen; install -m 666 /dev/null /dev/shm/truth; install -m 666 /dev/null /dev/shm/lab-lock; : > /dev/shm/keys');
	if ($cause->{serve}) {
		$vm->run("setsid $AS_USER /opt/lab/cause $OTHER $cause->{serve} >/dev/null 2>&1 &");
		$vm->wait_for('the helper is ready', 'grep -q ^ready /dev/shm/truth');
	}
	$vm->run("setsid $AS_USER /opt/lab/lab-client -n $ME -d '$cause->{deeds}' >/dev/null 2>&1 &");
	my ($pid) = $vm->wait_for('the client runs', "pgrep -n -x $ME") =~ /(\d+)/;
	my ($window) = $vm->wait_for('it has a window', $vm->as_user('xwininfo -root -tree | grep tipme-stage | grep -v XTerm')) =~ /(0x[0-9a-f]+)/;
	$vm->run("setsid chrt -f 58 $AS_USER /opt/lab/observer $window > /dev/shm/seen 2>/dev/null &");
	$vm->wait_for('the observer looks', 'grep -q ready /dev/shm/seen');
	# The machine's systemd may take the controller away again that none of its units uses.
	if ($cause->{quota}) { $vm->wait_for('the quota is set', "cd /sys/fs/cgroup && echo +cpu > cgroup.subtree_control && mkdir -p lab && echo '20000 100000' > lab/cpu.max && echo $pid > lab/cgroup.procs && cd /") }
	$vm->press(qw(d d d));
	my $worked = worked($vm, $pid, $server);
	my $at = int(now($vm) * 1e9);
	if ($cause->{begin}) {
		my $begin = $cause->{begin} =~ s/NAME/$OTHER/r =~ s/FROM/$at + 1_500_000_000/er =~ s/UNTIL/$at + 3_500_000_000/er;
		my $with = $cause->{with} // '';
		$vm->run("setsid $with $AS_USER /opt/lab/$begin >/dev/null 2>&1 &");
		sleep 2.2;
	}
	if ($cause->{stops}) {
		my $stop = 'use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC); sub t { int(clock_gettime(CLOCK_MONOTONIC) * 1e9) } my $p = shift; my $f = t(); kill STOP => $p; sleep 1.5; kill CONT => $p; printf "span stop %d %d %d %d 0\n", $p, $p, $f, t()';
		$vm->run("setsid perl -e '$stop' $pid >> /dev/shm/truth &");
		sleep 0.3;
	}
	$vm->press('x');
	my ($last) = ($cause->{deeds} =~ /(\w+) \S+$/);
	$vm->wait_for('the client has answered', "grep -q '^span $last' /dev/shm/truth" . ($cause->{begin} ? " && grep -c ^span /dev/shm/truth | grep -qv '^1\$'" : ''));
	sleep 0.7;
	$r->{worked} = worked($vm, $pid, $server) - $worked;
	return fail('staged: the kernel has held nobody back for the quota: ' . $vm->run('cat /sys/fs/cgroup/lab/cpu.max')) if $cause->{quota} && $vm->run('cat /sys/fs/cgroup/lab/cpu.stat') !~ /^nr_throttled [1-9]/m;
	judge($vm, $r, $pid, $where);
	$vm->run("pkill -KILL -x '$ME|$OTHER|observer'; sleep 0.3; rmdir /sys/fs/cgroup/lab 2>/dev/null; true");
}

sub worked {
	my ($vm, @pids) = @_;
	my $sum = 0;
	$sum += $_ for map { /^(\d+) / ? $1 : 0 } split /\n/, $vm->run('cat ' . join ' ', map { "/proc/$_/task/*/schedstat" } @pids);
	return $sum;
}

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
	my ($helper) = $vm->run("pgrep -x $OTHER") =~ /(\d+)/;
	$helper //= (map { $_->{pid} } grep { $_->{pid} != $pid } @{ $r->{spans} })[0];
	my $who = $r->{cause}{serve} || $r->{cause}{begin} ? { comm => $OTHER, pids => { $helper // 0 => 1 } } : { comm => $ME, pids => { $pid => 1 } };
	my $all = $seen[-1] - $press;
	my $ns = $r->{cause}{ns}->($r);
	my %truth = (kinds => $r->{cause}{kinds}, interval => { start_ns => $press, end_ns => $seen[-1] }, waited_for_cpu_ns => 0,
		parts => [ { kinds => $r->{cause}{kinds}, who => $who, ns => $ns, share => $ns / $all } ]);
	my $t0 = Time::HiRes::time();
	my $d = diagnose($vm, hot_key($vm), $press + 1_000_000) or return;
	my $result = { cause => $r->{name}, client => 'own', event => 'key', seed => $where, truth => \%truth, verdict => $d->{verdict}, interval => $d->{interval}, seconds_to_verdict => Time::HiRes::time() - $t0, %{ Tipme::Lab::compare(\%truth, $d) } };
	$result->{named} .= ", $where" if defined $result->{named};
	push @all, $result;
	ok($result->{right}, "named: $d->{verdict}{sentence}") or diag("truth: $r->{name}; $result->{why}");
	return;
}
