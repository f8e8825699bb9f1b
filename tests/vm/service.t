#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipmed as a systemd service of a real desktop: for who sits at the screen, hardened and recording
# all the same, back after a kill.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Copy       qw(copy);
use File::Path       qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(payload ok_run no_complaint);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $payload = payload();
# The test of the OOM killer goes with it: where tipmed has the right to be spared, and control
# groups are those of version 2.
my $oom = "$payload/opt/oom/helper/test";
make_path("$oom/lib/Tipme");
copy("$ENV{TIPME_SRCDIR}/helper/test/$_", "$oom/$_")
	or BAIL_OUT("$_: $!")
	for qw(daemon-oom.t lib/Tipme/TestDaemon.pm);
copy("$ENV{TIPME_BUILDDIR}/helper/test/major-faults", "$payload/opt/major-faults") && chmod 0755,
	"$payload/opt/major-faults"
	or BAIL_OUT("major-faults: $!");
my $vm;
for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1 6.12') {
	subtest "Debian's kernel $kernel" => sub { on_kernel($kernel) };
}
done_testing;

sub status {
	my ($text) = $vm->run('tipme status --json');
	return eval { Cpanel::JSON::XS->new->decode($text) } // {};
}

sub property {
	my ($name) = @_;
	my $text = $vm->run("systemctl show -P $name tipmed");
	chomp $text;
	return $text;
}
my $RECORDS;
BEGIN { $RECORDS = 'tipme status --json | grep -q kernel_bpf' }

sub on_kernel {
	my ($kernel) = @_;
	$vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	is property('UnitFileState'), 'disabled', 'installing it enables nothing';
	my ($said, $rc) = $vm->run('systemd-sysusers');
	is $rc, 0, 'its system user is made' or diag $said;
	($said, $rc) = $vm->run('systemctl daemon-reload && systemctl start tipmed');
	is $rc, 0, 'it starts' or diag scalar $vm->run('journalctl -u tipmed -n 30 --no-pager');
	eval { $vm->wait_for('it records', $RECORDS); 1 }
		or diag(
		$@,
		scalar $vm->run(
			'systemctl status -n 40 --no-pager tipmed; tipme status; cat /run/systemd/seats/seat0')
		),
		BAIL_OUT('it does not record');
	my $s = status();
	is $s->{source}, 'kernel_bpf', 'with tracing programs, hardened as it is';
	is $s->{owner},  1000,         'for the user at the screen';
	is_deeply $s->{limits}, [], 'nothing is limited' or diag explain $s->{limits};
	ok $s->{trigger_thread}{realtime}, 'its trigger thread is real-time';
	my $pid    = property('MainPID');
	my ($kept) = $vm->run("grep CapEff /proc/$pid/status") =~ /([0-9a-f]+)$/m;
	my $five   = 0;
	$five |= 1 << $_ for 14, 23, 34, 38, 39;
	# Capabilities have numbers beyond 32 bits.
	no warnings 'portable';
	is hex $kept, $five, 'it keeps five capabilities: IPC_LOCK, SYS_NICE, SYSLOG, PERFMON, BPF';
	my ($uid) = $vm->run('id -u tipmed') =~ /^(\d+)$/;
	isnt $uid, undef, 'the user tipmed is there';
	my @threads = split /\n/,
		$vm->run("cat /proc/$pid/task/*/status | sed -n 's/^Uid:[[:space:]]*//p'");
	is_deeply [ sort grep { !/^$uid\t$uid\t$uid\t(?:$uid|1000)$/ } @threads ], [],
		'none of its threads is root\'s'
		or diag explain \@threads;
	is scalar(grep {/\t1000$/} @threads), 1, '... and one writes as the user at the screen';
	is scalar $vm->run("cat /proc/$pid/oom_score_adj"), "-1000\n", 'the OOM killer spares it';
	is scalar $vm->run("nsenter -t $pid -m stat -c %s /etc/shadow"), "0\n",
		"root's secrets are not there for it";
	like scalar $vm->run('stat -c %s /etc/shadow'), qr/^[1-9]/, '... and are for others';

	($said, $rc) = $vm->run_piped($vm->as_user('tipme snap -m "as a user"'));
	is $rc, 0, 'the user at the screen saves' or diag $said;
	my ($id) = $said =~ /^(\S+)/;
	is scalar $vm->run("stat -c '%a %u' /var/lib/tipme/1000/$id"), "700 1000\n",
		'into a library that is theirs alone';
	is scalar $vm->run("cat /var/lib/tipme/1000/$id/note.txt"), 'as a user', 'with their words';
	($said, $rc) = $vm->run('setpriv --reuid=65534 --clear-groups tipme snap');
	is $rc, 1, 'another user does not';

	# The clock is set back and forth, and a CPU goes and comes: the episode is whole, and durations
	# are true.
	$vm->run('date -s "-3 hours"; date -s "+5 hours"');
	my ($cpus) = $vm->run('nproc') =~ /(\d+)/;
	$vm->run('echo 0 > /sys/devices/system/cpu/cpu1/online; sleep 1') if $cpus > 1;
	($said, $rc) = $vm->run_piped('tipme snap');
	is $rc, 0, 'after the clock was set, and a CPU taken away: an episode' or diag $said;
	my ($odd) = $said =~ m{^(/\S+)}m;
	my $d = eval {
		Cpanel::JSON::XS->new->decode(scalar $vm->run("tipme diagnose $odd --json 2>/dev/null"));
	};
	ok $d, '... that can be read';
	my ($m) = eval { Cpanel::JSON::XS->new->decode(scalar $vm->run("cat $odd/manifest.json")) };
	# Each by itself, though no second lay between them: the kernel tells at once.
	my @steps = map { $_->{by_ns} / 1e9 } @{ $m->{clock_steps} };
	ok @steps == 2 && abs($steps[0] + 3 * 3600) < 5 && abs($steps[1] - 5 * 3600) < 5,
		"... that says that the clock was set, twice: @steps";
	is_deeply $m->{suspends}, [], '... and not that the machine slept';
	cmp_ok $m->{end_ns} - $m->{trigger}{ns}, '<', 30e9,
		'... with durations that no clock can change';
SKIP: {
		skip 'this machine has one CPU', 2 if $cpus < 2;
		$vm->run('echo 1 > /sys/devices/system/cpu/cpu1/online; sleep 2');
		($said, $rc) = $vm->run_piped('tipme snap');
		my ($back) = $said =~ m{^(/\S+)}m;
		($m) = eval { Cpanel::JSON::XS->new->decode(scalar $vm->run("cat $back/manifest.json")) };
		is $rc, 0, 'the CPU is back: an episode';
		my ($kernel) = grep { $_->{source} eq 'kernel_bpf' } @{ $m->{sources} };
		is_deeply [ map { $_->{cpu} } @{ $kernel->{coverage} } ], [ 0 .. $cpus - 1 ],
			'... that covers it again';
		counters_again();
	}

	agent();

	$vm->run("kill -9 $pid");
	$vm->wait_for(
		'it is back after a kill',
		"test \$(systemctl show -P MainPID tipmed) != $pid && $RECORDS"
	);
	is status()->{owner}, 1000, '... for the same user';

	# The session ends, and some time later the user is logged in again: it ends with the one and
	# comes back with the other. Logged in again at once, within the second between two looks, the
	# same user goes on being recorded by the same process.
	$pid = property('MainPID');
	$vm->run('systemctl stop getty@tty1; loginctl terminate-user user');
	$vm->wait_for('who sits there has gone, and so has it', "! test -e /proc/$pid");
	$vm->wait_for(
		'it waits for somebody',
		'systemctl show -P StatusText tipmed | grep -q "waiting for somebody"'
	);
	$vm->run('systemctl start getty@tty1');
	$vm->wait_for('somebody sits there again', $RECORDS);
	is status()->{owner},  1000,      'it records for who sits there';
	is property('Result'), 'success', 'no failure was seen in all that';

	($said, $rc) = $vm->run('tipme stop');
	is $rc, 0, 'the user can stop it';
	$vm->run('sleep 3');
	is property('ActiveState'), 'inactive', '... and then it stays so';
	always();
	no_counters();
	out_of_memory();
	no_complaint($vm);
	$vm->close;
}

# Of the CPU that was away samples and page faults are counted again, though Debian lets only
# CAP_SYS_ADMIN open counters, which the recorder has given up: another process has it, in the same
# unit, under the same filter of system calls.
sub counters_again {
	is scalar $vm->run('sysctl -n kernel.perf_event_paranoid'), "3\n",
		"Debian's limit for counters";
	my $said = $vm->run(
			  'for p in $(pgrep -x tipmed-events); do grep -E "^(CapEff|NoNewPrivs|Seccomp):" '
			. '/proc/$p/status; cut -d: -f3 /proc/$p/cgroup; done');
	is $said,
		"CapEff:\t0000000000200000\nNoNewPrivs:\t1\nSeccomp:\t2\n/system.slice/tipmed.service\n",
		'one process opens them: in the unit, filtered, with CAP_SYS_ADMIN alone';
	# Until they have been missed, and opened.
	$vm->run('sleep 3');
	$vm->run(q(taskset -c 1 perl -e '$e = time + 3; 1 while time < $e'));
	my $file = $vm->run(
		q(find /usr/lib -xdev -type f -size +4M -printf '%s %p\\n' | sort -n | tail -n 1 | cut -d' ' -f2)
	);
	chomp $file;
	my ($pid, $counted) =
		$vm->run("taskset -c 1 sh -c 'echo \$\$; exec /opt/major-faults file $file'") =~
		/^(\d+)\n(\d+)$/m;
	cmp_ok $counted // 0, '>', 20,
		'the kernel counts page faults that read there: ' . ($counted // 'none');
	my ($path, $rc) = $vm->run_piped('tipme snap');
	is $rc, 0, '... an episode' or diag $path;
	my ($episode) = $path =~ m{^(/\S+)}m;
	$vm->run("tipme export $episode --format text -o /tmp/text > /dev/null");
	my ($samples) = $vm->run(q(grep -c ' 1 kernel_bpf sample ' /tmp/text)) =~ /(\d+)/;
	cmp_ok $samples, '>', 50, "samples of that CPU: $samples";
	my ($faults) = $vm->run(
		"grep ' 1 kernel_bpf memory_wait ' /tmp/text | grep 'tid=$pid ' | grep -c kind=fault_file")
		=~ /(\d+)/;
	ok $faults > $counted / 2 && $faults <= $counted,
		"... and page faults of that process: $faults";
	is_deeply status()->{limits}, [], '... and nothing is said to be missing'
		or diag explain status()->{limits};
}

# CAP_BPF and CAP_PERFMON alone open none there: what needs none is recorded, and what is missing is
# said.
sub no_counters {
	my $set = '-all,+bpf,+perfmon';
	my $env = 'env TIPME_RUNDIR=/run/two TIPME_LIBRARY=/var/tmp/two';
	$vm->run(
		'mkdir -p /run/two /var/tmp/two; chown user: /run/two /var/tmp/two; chmod 700 /var/tmp/two'
	);
	ok_run(
		$vm,
		"setpriv --reuid=1000 --regid=1000 --clear-groups --inh-caps=$set --ambient-caps=$set "
			. "--bounding-set=$set $env tipme start --source kernel_bpf --post 0",
		'two capabilities alone: it records'
	);
	my $s =
		eval { Cpanel::JSON::XS->new->decode(scalar $vm->run("$env tipme status --json")) } // {};
	is_deeply [ map { $s->{classes}{$_} ? 1 : 0 } qw(memory_wait sample) ], [ 1, 0 ],
		'... class memory_wait, but no samples'
		or diag explain $s->{classes};
	is scalar(
		grep {
			/^no counters \(Permission denied\): no samples, and class memory_wait without page faults/
		} @{ $s->{limits} }
		),
		1, '... and says so'
		or diag explain $s->{limits};
	my ($pid) = $vm->run(q(sh -c 'echo $$; echo 1 > /proc/sys/vm/compact_memory')) =~ /^(\d+)$/m;
	my ($episode) = $vm->run_piped("$env tipme snap")                              =~ m{^(/\S+)}m;
	$vm->run("tipme export $episode --format text -o /tmp/text > /dev/null");
	my ($n) = $vm->run(
		"grep ' kernel_bpf memory_wait ' /tmp/text | grep 'tid=$pid ' | grep -c kind=compaction")
		=~ /(\d+)/;
	cmp_ok $n, '>=', 2, '... compaction, among others';
	ok_run($vm, "$env tipme stop", '... and ends');
}

# One command enables it and the agent for a person, and one undoes that. systemd asks polkit, which
# nobody answers here: the user alone may not.
sub always {
	my $veto = '/home/user/.config/autostart/tipme-agent.desktop';
	my ($said, $rc) = $vm->run($vm->as_user('tipme start --always 2>&1'));
	is $rc, 1, 'the user alone may not enable the service';
	like $said,
		qr/^tipme: start: tipmed\.service: systemctl enable failed \(\d+\): do it with sudo, /m,
		'... and what to do';
	for my $time ('first', 'second') {
		($said, $rc) = $vm->run('SUDO_UID=1000 tipme start --always 2>&1');
		is $rc, 0, "sudo tipme start --always, the $time time" or diag $said;
		like $said,
			qr{\ARecording now, and from each login on: the last 40 seconds, in memory only\.\n.+\n.* in /var/lib/tipme/1000\.\n.*: tipme stop --for-good\n\z},
			'... in four lines';
		is property('UnitFileState'), 'enabled', '... at the next start of the machine';
		$vm->wait_for('it records now', $RECORDS);
		is scalar $vm->run("ls $veto 2>/dev/null"), '',
			'... and nothing keeps the desktop from starting the agent';
		($said, $rc) = $vm->run('SUDO_UID=1000 tipme stop --for-good 2>&1');
		is $rc, 0, 'sudo tipme stop --for-good' or diag $said;
		is property('UnitFileState') . ' ' . property('ActiveState'), 'disabled inactive',
			'... neither now nor later';
		like scalar $vm->run("cat $veto"), qr/^Hidden=true$/m, '... nor the agent';
		is scalar $vm->run("stat -c %u $veto"), "1000\n", '... by a file of the user';
	}
}

sub out_of_memory {
	my $tipmed = '/usr/libexec/tipme/tipmed';
	my ($said, $rc) = $vm->run(
		"cd /opt/oom && mkdir -p build/helper/daemon && ln -sf /usr/bin/tipme build/tipme && ln "
			. "-sf $tipmed build/helper/daemon/tipmed && TIPME_SRCDIR=/opt/oom "
			. "TIPME_BUILDDIR=/opt/oom/build perl helper/test/daemon-oom.t");
	is $rc, 0, 'the OOM killer: the test of it'
		or diag $said, scalar $vm->run('ps -eLo pid,tid,stat,wchan:30,comm | grep tipmed');
	like $said,   qr/^\s+ok \d+ - it spares itself$/m, '... with the right to be spared';
	unlike $said, qr/# skip/i,                         '... and all of it';
}

# The agent, as a unit of the user's own service manager, joins the recorder; the hot-key saves one
# episode, whoever hears it.
sub agent {
	my $manager  = 'XDG_RUNTIME_DIR=/run/user/1000 systemctl --user';
	my $episodes = 'ls -d /var/lib/tipme/1000/2* | wc -l';
	my ($said, $rc) = $vm->run(
		$vm->as_user(
			"$manager import-environment DISPLAY XAUTHORITY && $manager daemon-reload && $manager "
				. "start tipme-agent"
		)
	);
	is $rc, 0, 'the agent starts as a unit of the user' or diag $said;
	$vm->wait_for('the agent has joined', 'tipme status --json | grep -Eq "\"agents\": \[[0-9]"');
	my ($agent) = status()->{agents}[0];
	is scalar $vm->run("stat -c %u /proc/$agent"), "1000\n", '... without privileges';
	my $had = 0 + $vm->run($episodes);
	# What was saved before has used up the recorder's limit of one in five seconds.
	sleep 15;
	$vm->press('ctrl-alt-minus');
	$vm->wait_for('the hot-key saves an episode', "sleep 1; test \$($episodes) -gt $had");
	sleep 8;
	is scalar $vm->run($episodes), ($had + 1) . "\n", 'one press of the hot-key, one episode';
	($said, $rc) = $vm->run($vm->as_user("$manager stop tipme-agent"));
	is $rc, 0, 'it ends in order';
	is scalar $vm->run($vm->as_user("$manager show -P Result tipme-agent")), "success\n",
		'... without a failure';
}
