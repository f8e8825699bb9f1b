# SPDX-License-Identifier: GPL-2.0-only
# What a running recorder may do: five capabilities, no new ones, in every thread; who may ask it
# for what.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Errno qw(EACCES EAGAIN EPERM);
use POSIX ();
use Test::More;
use Tipme::TestAgent  qw(public);
use Tipme::TestDaemon qw(complete records_of refusing_counters slurp tipme tipmed wait_until);

no warnings 'portable';    # capabilities have more than 32 bits

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my %CAP =
	(CAP_IPC_LOCK => 14, CAP_SYS_NICE => 23, CAP_SYSLOG => 34, CAP_PERFMON => 38, CAP_BPF => 39);
my ($OWNER, $FRIEND, $STRANGER) = (65534, 61001, 61002);
our $d = Tipme::TestDaemon->new(args => [ '--owner', $OWNER, '--allow-uid', $FRIEND, '--post', 0 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");

# As many of those five as this test itself has.
my $mine = hex((slurp('/proc/self/status') =~ /^CapPrm:\s+(\w+)/m)[0]);
my $want = 0;
$want |= $mine & (1 << $_) for values %CAP;
my @threads = map {
	{ slurp("$_/status") =~ /^(\w+):[ \t]*(.*)$/mg }
} glob '/proc/' . $d->pid . '/task/*';
is scalar @threads, 9,
	'nine threads: one that answers, one that keeps house, one that writes, one that learns of '
	. 'processes, four that close what others passed, one what root and the owner did';

for my $t (@threads) {
	is hex $t->{CapPrm},                    $want, "$t->{Pid}: permitted";
	is hex $t->{CapEff},                    $want, "$t->{Pid}: effective";
	is hex $t->{CapBnd},                    0,     "$t->{Pid}: bounding set";
	is hex $t->{CapInh} | hex $t->{CapAmb}, 0,     "$t->{Pid}: inheritable and ambient";
	is $t->{NoNewPrivs},                    1,     "$t->{Pid}: no new privileges";
}
# Real, effective, saved, and of files; the groups that it has of old.
my ($system_uid, $system_gid) = (getpwnam 'daemon')[ 2, 3 ];
for my $t (@threads) {
	my $files = $t->{Uid} =~ /\t$OWNER$/ ? $OWNER : undef;
	is_deeply [ split ' ', $t->{Uid} ], [ ($system_uid) x 3, $files // $system_uid ],
		"$t->{Pid}: a system user's, not root's";
	is_deeply [ split ' ', $t->{Gid} ], [ ($system_gid) x 3, $files // $system_gid ],
		'... and its group\'s';
	unlike $t->{Groups}, qr/\b0\b/, '... and not in root\'s';
}
is $d->status->{user}, $system_uid, 'status says whose';
is
	scalar(grep { $_->{Uid} =~ /\t$OWNER$/ && $_->{Gid} =~ /\t$OWNER$/ && $_->{Groups} =~ /^\s*$/ }
		@threads), 1, 'one thread makes files as the owner, in no other group';

my $locked = (slurp('/proc/' . $d->pid . '/status') =~ /^VmLck:\s+(\d+)/m)[0];
SKIP: {
	skip 'no CAP_IPC_LOCK here', 1 if !($mine & 1 << $CAP{CAP_IPC_LOCK});
	cmp_ok $locked * 1024, '>', $d->status->{memory}{copy_bytes},
		'the memory of the copies is locked';
}
my $status   = $d->status;
my @policies = map  { (slurp("$_/stat") =~ /\) (.*)/s)[0] } glob '/proc/' . $d->pid . '/task/*';
my $realtime = grep { (split ' ', $_)[38] == 1 } @policies;
is $realtime, $status->{trigger_thread}{realtime} ? 1 : 0,
	'status says truly whether the trigger thread is real-time';
ok $status->{trigger_thread}{realtime} || $status->{trigger_thread}{why}, 'and if not, why';

is ask_as($OWNER,  3), 0,      'the owner may ask for the status';
is ask_as($OWNER,  2), 0,      'and trigger';
is ask_as($FRIEND, 3), EACCES, 'a user named with --allow-uid may not ask for the status';
is ask_as($FRIEND, 4), EACCES, 'nor stop it';
is ask_as($FRIEND, $_->[0]), EACCES, "nor $_->[1]"
	for [ 5, 'learn of other triggers' ], [ 6, 'put words into an episode' ],
	[ 7, 'switch record classes' ];
is ask_as($FRIEND,   2, $_), EACCES, 'nor say by a hot-key whether input is recorded' for 3, 4;
is ask_as($FRIEND,   2),  0,   'but trigger';
is ask_as($STRANGER, $_), 200, "a stranger cannot even connect (verb $_)" for 2, 4, 5;
my @sockets =
	map { my ($mode, $uid) = (stat $_)[ 2, 4 ]; sprintf '%s %o %d', s{.*/}{}r, $mode & 07777, $uid }
	sort glob $d->rundir . '/*.sock';
is_deeply \@sockets, [ "tipmed-$FRIEND.sock 600 $FRIEND", "tipmed.sock 600 $OWNER" ],
	'each socket is a user\'s alone';
ok scalar(grep { $_ == EAGAIN } map { ask_as($OWNER, 2) } 1 .. 8),
	'users are limited in how often, each for himself';
my ($root) = $d->snap;
is $root, 0, 'root is not';
my @folder = stat $d->rundir;
is $folder[4], 0, 'the folder of the socket is root\'s: others who trust root go on trusting it';
$d->stop;
is_deeply [ glob $d->rundir . '/*' ], [],
	'the sockets go with the recorder, whoever that is by then';
is + ($d->start('--user', 'root'))[0],          0,   'the same place without that user';
is $d->status->{user},                          0,   '... is root\'s';
is sprintf('%o', (stat $d->rundir)[2] & 07777), 755, '... and its folder nobody else\'s';
$d->stop;
{
	my ($none, undef, $who) = $d->start('--user', 'nobody-of-this-name');
	is $none, 1, 'a user who is not there: refused';
	like $who, qr/\Atipme: start: --user nobody-of-this-name: no such user: [^\n]+\n\z/,
		'... by a sentence';
}

# Where nobody else was named, the kernel keeps strangers from the socket.
{
	my $own = Tipme::TestDaemon->new(args => [ '--owner', $OWNER, '--post', 0 ]);
	is + ($own->start)[0], 0, 'start without --allow-uid';
	my ($mode, $uid) = (stat $own->rundir . '/tipmed.sock')[ 2, 4 ];
	is_deeply [ $mode & 07777, $uid ], [ 0600, $OWNER ], 'its socket is the owner\'s alone';
	local $d = $own;
	is ask_as($OWNER, 2), 0, 'he may trigger';
	is ask_as($_, 2), 200, "$_ cannot even connect" for $FRIEND, $STRANGER;
	# He cannot run what lies in root's home.
	my $tipme = public($own->dir) . '/helper/cli/tipme';
	my ($refused, undef, $said) =
		$own->run('setpriv', '--reuid', $STRANGER, '--clear-groups', $tipme, 'status');
	is $refused, 1, 'the command of a stranger fails';
	like $said, qr/\Atipme: status: the recorder serves root and its owner: ask them [^\n]*\n\z/,
		'and says whom to ask';
	$own->stop;
}
@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ($d->rundir, $d->library);

# Root where nobody else can be become: without those capabilities, and in a user namespace that
# knows no other user.
for (
	[
		'without CAP_SETUID', qr/no CAP_SETUID/, 'setpriv', '--bounding-set=-setuid,-setgid',
		'--inh-caps=-all'
	],
	[ 'in a user namespace', qr/user namespace/, 'unshare', '-r' ]
	)
{
	my ($what, $why, @with) = @$_;
SKIP: {
		skip "$what: not permitted here", 3 if system "@with true 2>/dev/null";
		my $own = Tipme::TestDaemon->new;
		my ($began, $said, $failed) = $own->run(
			@with, tipme(), 'start', '--user', 'daemon', '--post', 0, '--source',
			'proc_sampled'
		);
		is $began, 0, "$what: it records" or diag $failed;
		like $said, qr/^limited: stays user 0 .*$why/m, '... and says that it stays root';
		is + ($own->run(@with, tipme(), 'stop'))[0], 0, '... and ends';
	}
}
@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ($d->rundir, $d->library);

# Without rights, and with no word but that the tracing programs are wanted: a sentence, for the
# plain user and for root without the capabilities. (What is recorded without that word,
# daemon-sampled.t shows.)
my ($plain, undef, $why) = do {
	local @ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ("/tmp/tipme-nobody-$$", "/tmp/tipme-nobody-$$/l");
	$d->run_as_nobody('start', '--source', 'kernel_bpf');
};
is $plain, 1, 'an ordinary user: refused';
like $why, qr/^tipme: start: .*(?:sudo|as root)/, 'by a sentence with what to do';
like $why, qr/\A[^\n]*\n\z/,                      'one line';

# Two capabilities are enough, for any user: to record, and to save.
{
	my $own = Tipme::TestDaemon->new;
	mkdir $_, 0700 and chown 65534, 65534, $_ for $own->rundir, $own->library;
	my ($two, $out2, $err2) = $own->run_as_nobody_with(
		[qw(bpf perfmon)], 'start', '--source', 'kernel_bpf', '--window',
		5, '--post', 0
	);
	is $two, 0, 'an ordinary user with CAP_BPF and CAP_PERFMON alone: it records' or diag $err2;
SKIP: {
		skip 'no recorder', 4 if $two;
		$own->{pid} = $own->status->{pid};
		is hex((slurp("/proc/$own->{pid}/status") =~ /^CapPrm:\s+(\w+)/m)[0]),
			1 << $CAP{CAP_BPF} | 1 << $CAP{CAP_PERFMON}, 'it has no others';
		ok wait_until(sub { $own->status->{records} > 1000 }), 'records come';
		my ($saved, $path) = $own->run_as_nobody_with([], 'snap');
		is $saved, 0, 'and an episode is saved';
		is_deeply complete((split /\n/, $path)[1]), [], 'whole';
		$own->stop;
	}
	@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ($d->rundir, $d->library);
}

# ... also where the kernel lets them open no counters, as Debian's does by default, and containers
# do: what needs none is recorded, what is missing is said.
for my $errno (EACCES, EPERM) {
	my $own = Tipme::TestDaemon->new;
	mkdir $_, 0700 and chown 65534, 65534, $_ for $own->rundir, $own->library;
	$own->{prefix} = [ refusing_counters($errno) ];
	my ($few, $said, $failed) = $own->run_as_nobody_with(
		[qw(bpf perfmon)], 'start', '--source', 'kernel_bpf', '--window',
		5, '--post', 0
	);
	local $! = $errno;
	my $why = "$!";
	is $few, 0, "no counters ($why): it records" or diag $failed;
SKIP: {
		skip 'no recorder', 8 if $few;
		my $status = $own->status;
		$own->{pid} = $status->{pid};
		is $status->{classes}{memory_wait}, JSON::PP::true(), 'class memory_wait is on';
		is $status->{classes}{sample}, undef, '... sample, which is nothing but counters, is not';
		my @told = grep {/counters/} @{ $status->{limits} };
		is scalar @told, 1, 'what is missing is said' or diag explain $status->{limits};
		my $told = $told[0] // 'nothing';
		like $told, qr/\(\Q$why\E\).*no samples.*without page faults.*perf_event_paranoid/,
			'... that, and why, and what to do';
		like $said, qr/^limited: \Q$told\E$/m, '... at the start';
		my ($episode, @compaction);
		# Both its ends: on a busy machine it may last longer than the window.
		wait_until(
			sub {
				compact();
				my ($saved, $path) = $own->run_as_nobody_with([], 'snap');
				return if $saved;
				$episode = (split /\n/, $path)[1];
				my (undef, @kernel) = records_of("$episode/kernel.rec");
				@compaction = grep {/^memory_wait .*tid=$$ .*kind=compaction/} @kernel;
				return @compaction >= 2;
			}
		);
		cmp_ok scalar @compaction, '>=', 2, 'compaction is recorded';
		is_deeply [ grep {/counters/}
				@{ Tipme::TestDaemon::manifest($episode)->{recorder}{limits} } ], \@told,
			'the manifest says what is missing, too';
		my ($again) = $own->run_as_nobody_with([], 'classes', '-memory_wait');
		($again) = $own->run_as_nobody_with([], 'classes', '+memory_wait') if !$again;
		is $again, 0, 'it can be switched off and on';
		$own->stop;
	}
	@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ($d->rundir, $d->library);
}
my ($bare, undef, $why2) = $d->run(
	'setpriv', '--bounding-set=-bpf,-perfmon,-sys_admin', '--inh-caps=-all', tipme(),
	'start',   '--source', 'kernel_bpf', '--owner', $OWNER
);
is $bare, 1, 'root without CAP_BPF: refused';
like $why2, qr/^tipme: start: .*CAP_BPF/, 'by name';
my ($few, $few_out, $few_err) = $d->run(
	'setpriv', '--bounding-set=-sys_nice,-ipc_lock', '--inh-caps=-all', tipme(), 'start',
	'--owner', $OWNER, '--window', 5
);
is $few, 0, 'root without CAP_SYS_NICE and CAP_IPC_LOCK: it records' or diag $few_err;
like $few_out, qr/limited: no CAP_SYS_NICE: .*real-time/, 'and says what that costs';
like $few_out, qr/limited: no CAP_IPC_LOCK: .*swapped/,   'each';
$d->{pid} = $d->status->{pid};
is $d->status->{trigger_thread}{realtime}, JSON::PP::false(), 'status says so, too';
is + ($d->snap)[0],                        0,                 'and an episode can be saved';
$d->stop;
system 'rm', '-rf', "/tmp/tipme-nobody-$$";

# A session whose cgroup has no real-time run time, as those of RT_GROUP_SCHED kernels.
SKIP: {
	my $cgroup = "/sys/fs/cgroup/cpu/tipme-test-$$";
	skip 'no version 1 hierarchy of the CPU controller with cpu.rt_runtime_us', 6
		if !-e '/sys/fs/cgroup/cpu/cpu.rt_runtime_us' || !mkdir $cgroup;
	is slurp("$cgroup/cpu.rt_runtime_us"), "0\n", 'a cgroup without real-time run time';
	my ($in, undef, $in_err) = $d->run(
		'sh', '-c',
		"echo \$\$ > $cgroup/cgroup.procs && exec '" . tipme() . "' start --owner $OWNER"
	);
	is $in, 0, 'start in there' or diag $in_err;
	$d->{was} = $d->{pid} = $d->status->{pid};
	like slurp('/sys/fs/cgroup/cpu/tipme/cgroup.procs'), qr/^$d->{was}$/m,
		'it takes a cgroup of its own';
	is $d->status->{trigger_thread}{realtime}, JSON::PP::true(),
		'the trigger thread is real-time all the same';
	$d->stop;
	unlike slurp('/sys/fs/cgroup/cpu/tipme/cgroup.procs'), qr/^$d->{was}$/m,
		'its own cgroup is left';
	# The recorder's reading children end when they see that it has ended: shortly after it.
	my $gone = wait_until(sub { rmdir $cgroup }, 20);
	ok $gone, 'and nothing of it is left in the other'
		or diag map { "$_: " . (slurp("/proc/$_/cmdline") // 'gone') . "\n" } split ' ',
		slurp("$cgroup/cgroup.procs");
}
done_testing;

# This process compacts the machine's memory.
sub compact {
	open my $h, '>', '/proc/sys/vm/compact_memory' or return;
	print {$h} "1\n";
	close $h;
	return;
}

# The errno of the answer to a verb, asked by this user.
sub ask_as {
	my ($uid, $verb, $arg) = @_;
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		POSIX::setgid($uid);
		POSIX::setuid($uid);
		my $s = $d->connection or POSIX::_exit(200);
		send $s, Tipme::TestDaemon::message($verb, $arg // 0, 'asked by a test'), 0;
		my ($what, $error) = Tipme::TestDaemon::answer($s);
		Tipme::TestDaemon::answer($s) if $verb == 2 && !$error;
		POSIX::_exit($error // 201);
	}
	waitpid $pid, 0;
	return $? >> 8;
}
