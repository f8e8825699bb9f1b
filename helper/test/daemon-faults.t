# SPDX-License-Identifier: GPL-2.0-only
# What goes wrong for real: a full disk, no BTF, load, triggers one upon the other.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP ();
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(complete load manifest slurp tipme tipmed records_of wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;

subtest 'two triggers at once' => sub {
	# The first is not over before the third has come, however long the machine is busy with
	# something else.
	my $POST_S = 4;
	my $d      = Tipme::TestDaemon->new(args => [ '--post', $POST_S ]);
	is + ($d->start)[0], 0, 'start';
	my @c = map { $d->connection } 1 .. 3;
	send $_, Tipme::TestDaemon::message(2, 0, ''), 0 for @c;
	my @first = map { [ Tipme::TestDaemon::answer($_) ] } @c;
	is $first[0][1], 0,  'the first is taken';
	is $first[1][1], 0,  'the second is remembered';
	is $first[2][1], 16, 'the third is refused (EBUSY)';
	like $first[2][2], qr/waits: ask again/, 'by a sentence';
	my @saved = map { [ Tipme::TestDaemon::answer($_) ] } @c[ 0, 1 ];
	is_deeply [ map {"$_->[0] $_->[1]"} @saved ], [ '17 0', '17 0' ], 'both are saved';

	for my $i (0, 1) {
		my $m = manifest($saved[$i][2]);
		is $m->{id}, JSON::PP->new->decode($first[$i][2])->{id},
			'under the id that was told at once';
	}
	is_deeply [ map { manifest($_->[2])->{trigger}{before_ns} } @saved ],
		[ undef, manifest($saved[0][2])->{trigger}{ns} ],
		'the second has the time of the one before';
	my ($a, $b) = map { manifest($_->[2])->{trigger}{ns} } @saved;
	cmp_ok $b - $a, '<', $POST_S * 1e9,
		'the trigger of the second is when it was asked for, not when it was its turn';
	is $d->status->{refused_triggers}, 1, 'status counts the refused one';

	# Stopped in the seconds after a trigger: saved all the same.
	my $late = $d->connection;
	send $late, Tipme::TestDaemon::message(2, 0, ''), 0;
	Tipme::TestDaemon::answer($late);
	$d->stop;
	my ($verb, $error, $path) = Tipme::TestDaemon::answer($late);
	is "$verb $error", '17 0', 'a stop does not take away what was asked for';
	is_deeply complete($path), [], 'it is complete';
};

# Who presses again and again is not told to wait: the episode that waits has the later presses.
subtest 'presses one after the other' => sub {
	my $SNAPSHOT = 2;
	my $d        = Tipme::TestDaemon->new(args => [ '--post', 60 ]);
	is + ($d->start)[0], 0, 'start';
	my @c     = map { $d->connection } 1 .. 4;
	my $press = sub {
		sleep 0.6;    # two within half a second are one
		send $c[ $_[0] ], Tipme::TestDaemon::message(2, $SNAPSHOT, ''), 0;
		my (undef, $error, $text) = Tipme::TestDaemon::answer($c[ $_[0] ]);
		return $error ? "$error $text" : JSON::PP->new->decode($text)->{id};
	};
	my @id = map { $press->($_) } 0 .. 2;
	isnt $id[1], $id[0], 'the second waits for its turn';
	is $id[2],   $id[1], 'the third joins it';
	send $c[3], Tipme::TestDaemon::message(2, 0, ''), 0;
	is + (Tipme::TestDaemon::answer($c[3]))[1], 16, '... a command is refused then';
	$d->stop;
	is scalar(() = glob $d->library . '/[0-9]*'), 2, 'two episodes';
	my @m = map { manifest($d->library . "/$_") } @id[ 0, 1 ];
	is_deeply [ map { $_->{trigger}{kind} } @m ], [ 'hotkey', 'hotkey' ], '... of a press each';
	is $m[1]{trigger}{before_ns}, $m[0]{trigger}{ns}, '... the second since the first';
	cmp_ok $m[1]{trigger}{ns} - $m[0]{trigger}{ns}, '>=', 1_200_000_000,
		'... up to the third press';
};

# An ordinary user has one episode in five seconds, and two at once: a press more waits its time.
subtest 'presses of an ordinary user' => sub {
	my $nobody = getpwnam 'nobody';
	my $d      = Tipme::TestDaemon->new(args => [ '--owner', $nobody, '--post', 0 ]);
	is + ($d->start)[0], 0, 'start';
	my $c = do { local $> = $nobody; $d->connection };
	my @saved;
	for my $n (1 .. 3) {
		sleep 0.6;
		send $c, Tipme::TestDaemon::message(2, 2, ''), 0;
		is + (Tipme::TestDaemon::answer($c))[1], 0, "press $n is taken";
		if ($n == 3) { $d->stop }
		push @saved, join ' ', (Tipme::TestDaemon::answer($c))[ 0, 1 ];
	}
	is_deeply \@saved, [ ('17 0') x 3 ], '... and saved';
};

subtest 'under load' => sub {
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0 ]);
	is + ($d->start)[0], 0, 'start';
	my @load = map { load() } 1 .. 3;
	sleep 1;
	my ($rc, $out) = $d->snap;
	kill 'KILL', @load;
	waitpid $_, 0 for @load;
	is $rc, 0, 'snap';
	my $path = (split /\n/, $out)[1];
	is_deeply complete($path), [], 'the episode is complete';
	my $m   = manifest($path);
	my ($k) = grep { $_->{source} eq 'kernel_bpf' } @{ $m->{sources} };
	my $sum = 0;
	$sum += $_->{records} for @{ $k->{coverage} };
	is counted("$path/kernel.rec"), $sum, "the file has the $sum records that the manifest says";
	is $k->{lost}{$_},              0,    "lost: $_" for qw(torn cut nested);
	$d->stop;
};

subtest 'a full disk' => sub {
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0 ]);
	mkdir $d->library, 0700;
	plan skip_all => 'a tmpfs may not be mounted here'
		if system 'mount', '-t', 'tmpfs', '-o', 'size=16k,mode=0700', 'tmpfs', $d->library;
	$d->{mounted} = 1;
	is + ($d->start)[0], 0, 'start';
	my ($rc, $out, $err) = $d->snap;
	is $rc, 1, 'snap fails';
	like $err, qr/^tipme: snap: \S+: No space left on device: recording goes on; /, 'and says why';
	is_deeply [ glob($d->library . '/.??*'), glob($d->library . '/*') ], [],
		'nothing is left there';
	my $status = $d->status;
	is $status->{failures}, 1, 'status: one failure';
	like $status->{last_result}, qr/No space left/, 'status: why';
	system 'mount', '-o', 'remount,size=80m', $d->library;
	my ($again, $path) = $d->snap;
	is $again, 0, 'with room it works again';
	is_deeply complete((split /\n/, $path)[1]), [], 'and is complete';
	$d->stop;
};

subtest 'no BTF' => sub {
	my $d = Tipme::TestDaemon->new;
	mkdir $d->dir . '/empty';
	my $hide = "mount --bind '" . $d->dir . "/empty' /sys/kernel/btf";
	plan skip_all => 'no mount namespaces here' if system 'unshare', '-m', 'sh', '-c', $hide;
	my ($rc, undef, $err) = $d->run(
		'unshare', '-m', 'sh', '-c',
		"$hide && exec '" . tipme() . "' start --source kernel_bpf"
	);
	is $rc, 1, 'start with the tracing programs and nothing else fails';
	like $err, qr/\Atipme: start: [^\n]*BTF[^\n]*\n\z/, 'with one sentence that names BTF';
	ok !-e $d->rundir . '/tipmed.sock', 'no socket is left';
	my ($doctor, $out) =
		$d->run('unshare', '-m', 'sh', '-c', "$hide && exec '" . tipme() . "' doctor");
	is $doctor, 0, 'doctor: samples can be taken';
	like $out, qr/^Recording is possible here\. .*samples only/m, '... and no more than that';
	like $out, qr/^missing +btf +no .*\n.*-> .*CONFIG_DEBUG_INFO_BTF/m,
		'doctor: why, and what to do';
	($rc, $out) = $d->run('unshare', '-m', 'sh', '-c', "$hide && exec '" . tipme() . "' start");
	is $rc, 0, 'start without a word about the source takes samples';
	like $out, qr/^limited: a better source was refused: .*BTF/m, '... and says what was refused';
	is $d->status->{source}, 'proc_sampled', '... as status says';
	$d->run(tipme(), 'stop');
};

subtest 'a PID namespace' => sub {
	my $d = Tipme::TestDaemon->new;
	plan skip_all => 'no PID namespaces here' if system 'unshare', '-pf', '--mount-proc', 'true';
	my $pid = fork // die;
	if (!$pid) {
		open STDOUT, '>',  $d->dir . '/ns' or die;
		open STDERR, '>&', \*STDOUT        or die;
		exec 'unshare', '-pf', '--kill-child', '--mount-proc', Tipme::TestDaemon::tipmed(),
			'--foreground', '--post', 0
			or die;
	}
	wait_until(sub { -S $d->rundir . '/tipmed.sock' }) or diag(slurp($d->dir . '/ns'));
	my ($limit) = grep {/PID namespace/} @{ $d->status->{limits} // [] };
	like $limit, qr/process ids .* are those of the machine/,
		'status says what cannot be matched there';
	$d->run(tipme(), 'stop');
	waitpid $pid, 0;
	is $?, 0, 'it ends in order';
};

# Samples know of processes that /proc shows; whom it hides has the CPU all the same.
subtest 'processes that are hidden' => sub {
	my %hiding = (
		'mount -t proc -o hidepid=2 proc /proc && exec "$@"' =>
			[ [], qr{the processes of others are hidden \(/proc is mounted with hidepid\)} ],
		'exec "$@"' => [
			[qw(-pf --kill-child --mount-proc)],
			qr/in a PID namespace: only the processes in it are seen/
		]
	);
	for my $how (sort keys %hiding) {
		my ($args, $words) = @{ $hiding{$how} };
		my $d = Tipme::TestDaemon->new;
		mkdir $_, 0700 and chown 65534, 65534, $_ for $d->rundir, $d->library;
		$d->{prefix} = [ 'unshare', '-m', @$args, 'sh', '-c', $how, 'sh' ];
	SKIP: {
			skip 'such namespaces may not be made here', 2 if system @{ $d->{prefix} }, 'true';
			my ($rc, $out, $err) = $d->run_as_nobody_with([], 'start');
			is $rc, 0, 'start, as nobody' or diag $err;
			like $out, qr/^limited: $words: who else had a CPU is not known$/m,
				'who cannot be seen is said';
			$d->run(tipme(), 'stop');
		}
	}
};

# Somebody cleans up /run while two recorders want the same place one after the other.
subtest 'the folder of the socket is taken away' => sub {
	my $d   = Tipme::TestDaemon->new;
	my $pid = fork // die;
	if (!$pid) {
		open STDERR, '>',  $d->dir . '/err' or die;
		open STDOUT, '>&', \*STDERR         or die;
		exec tipmed(), '--foreground', '--post', 0, '--library', $d->library, '--rundir', $d->rundir
			or die;
	}
	wait_until(sub { -S $d->rundir . '/tipmed.sock' }) or diag(slurp($d->dir . '/err'));
	rename $d->rundir, $d->dir . '/away' or die;
	# Before it can have noticed: only its end shall show whose socket it removes.
	is + ($d->start)[0], 0, 'another one starts there';
	waitpid $pid, 0;
	is $? >> 8, 1,
		'the one that nobody can reach ends, as failed: a service manager starts it again';
	like slurp($d->dir . '/err'),
		qr/^tipme: tipmed: \S+\/tipmed\.sock: was taken away, [^\n]*: start the recorder again\n\z/m,
		'and says why';
	is $d->status->{pid}, $d->pid, "the other one's socket is still there";
	is + ($d->snap)[0],   0,       'and serves';
	$d->stop;
};

subtest 'a recorder that is stopped' => sub {
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0 ]);
	is + ($d->start)[0], 0, 'start';
	kill STOP => $d->pid;
	# All at once: each has to be patient for a while.
	my %asks;
	for my $verb (qw(status snap stop)) {
		$asks{$verb} = fork // die;
		next if $asks{$verb};
		open STDERR, '>', $d->dir . "/$verb.err" or die;
		exec 'timeout', 60, tipme(), $verb or die;
	}
	for my $verb (qw(status snap stop)) {
		waitpid $asks{$verb}, 0;
		is $? >> 8, 1, "$verb does not wait for ever";
		like slurp($d->dir . "/$verb.err"),
			qr/\Atipme: $verb: the recorder \(pid @{[ $d->pid ]}\) has not answered for \d+ s: it is stopped, or hangs: [^\n]+\n\z/,
			'and says whom to look at';
	}
	kill CONT => $d->pid;
	wait_until(sub { Tipme::TestDaemon::gone($d->pid) });
	ok Tipme::TestDaemon::gone($d->pid), 'when it goes on, it does what was asked for: it ends';
	is_deeply [ map { @{ complete($_) } } glob $d->library . '/2*' ], [],
		'an episode, if that came first, is whole';
};

# What is saved lies where it is said to lie, or it is said that it could not be saved.
subtest 'the folder of the library goes' => sub {
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0 ]);
	is + ($d->start)[0], 0, 'start';
	my $saved = sub {
		my ($rc, $out) = $d->snap;
		is $rc, 0, "$_[0]: saved";
		my ($path) = $out =~ m{^(/.*)$}m;
		is_deeply complete($path), [], '... where it is said to be';
		return $path;
	};
	my $library = $d->library;
	rename $library, "$library.old" or die;
	$saved->('moved away, and it may be made again');
	is + (stat $library)[2] & 07777, 0700, '... for its owner alone';
SKIP: {
		skip 'a tmpfs may not be mounted here', 3
			if system 'mount', '-t', 'tmpfs', '-o', 'size=80m,mode=0700', 'tmpfs', $library;
		$saved->('something was mounted there');
		system 'umount', '-l', $library;
		$saved->('and is not any more');
	}
	rename $library, "$library.older" or die;
	symlink "$library.older", $library or die;
	my ($rc, undef, $err) = $d->snap;
	is $rc, 1, 'a link in its place';
	like $err,
		qr{^tipme: snap: \Q$library\E: is a symbolic link, which is not followed: name the folder that it leads to$},
		'... is refused, and named';
	unlink $library;
	mkdir $library or die;
	chmod 0755, $library or die;
	($rc, undef, $err) = $d->snap;
	like "$rc $err",
		qr{^1 tipme: snap: \Q$library\E: others may read the library, [^\n]*chmod 700 it$},
		'one that others may read, too';
	chmod 0700, $library or die;
	$saved->('mended');
	$d->stop;
};

# Counters are refused, here since each of them takes a descriptor; what is missing is said as long
# as it is missing, and no longer.
subtest 'counters that are to be had later' => sub {
	my $d = Tipme::TestDaemon->new(
		args => [ '--post', 0, '--source', 'kernel_bpf', '--classes', 'memory_wait' ]);
	is + ($d->start)[0], 0, 'start';
	my @who  = map { (stat "/proc/@{[ $d->pid ]}")[$_] } 4, 5;
	my $soft = sub {
		return $d->run(
			'setpriv', '--reuid', $who[0], '--regid', $who[1], '--clear-groups',
			'prlimit', '--pid',   $d->pid, "--nofile=$_[0]:"
		);
	};
	my $class = sub { return ($d->run(tipme(), 'classes', $_[0] . 'memory_wait'))[0] };
	my $told  = sub {
		return grep {/counters/} @{ $d->status->{limits} };
	};
	is_deeply [ $told->() ], [], 'nothing is missing at the start';
	$class->('-');
	# The limit is one of numbers, and there are free ones among those that are in use.
	my %used = map  { m{(\d+)$} ? ($1 => 1) : () } glob "/proc/@{[ $d->pid ]}/fd/*";
	my @free = grep { !$used{$_} } 0 .. 300;
	my @missing;
	for my $room (reverse 1 .. 6) {
		is + ($soft->($free[$room]))[0], 0, "room for $room more files" or last;
		my $rc = $class->('+');
		$soft->(1024);
		last if $rc && wait_until(sub { @missing = $told->() }, 3);
		$class->('-');
	}
	is_deeply [
		map {
			/^no counters \(Too many open files\): class memory_wait without page faults/ ? 1 : $_
		} @missing
		],
		[1], 'without its counters: said';
	my ($rc, $out) = $d->snap;
	my ($path) = $out =~ m{^(/.*)$}m;
	is_deeply [ grep {/counters/} @{ manifest($path)->{recorder}{limits} } ], \@missing,
		'... by the manifest, too';
	is $class->('-') + $class->('+'), 0, 'switched on again when it may have them';
	ok wait_until(sub { !$told->() }), 'nothing is missing any more, and nothing is said';
	($rc, $out) = $d->snap;
	($path) = $out =~ m{^(/.*)$}m;
	is_deeply [ grep {/counters/} @{ manifest($path)->{recorder}{limits} } ], [],
		'... by the manifest neither';
	$d->stop;
};

subtest 'few descriptors' => sub {
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0 ]);
	$d->{prefix} = [ 'sh', '-c', 'ulimit -S -n 96 && exec "$@"', 'sh' ];
	is + ($d->start)[0],     0,            'a low limit that may be raised is no hindrance';
	is $d->status->{source}, 'kernel_bpf', '... to the best source';
	$d->stop;
	for my $few (48, 96, 128) {
		my ($rc, $out, $err) =
			$d->run('sh', '-c', "ulimit -n $few && " . 'exec "$@"', 'sh', tipme(), 'start');
		like $rc ? $err : $out,
			$rc
			? qr/\Atipme: start: [^\n]*Too many open files: raise the limit \(ulimit -n\)\n\z/
			: qr/^limited: a better source was refused: [^\n]*Too many open files/m,
			"one of $few that may not be raised is named: "
			. ($rc ? 'no start' : 'samples instead');
		$d->run(tipme(), 'stop') if !$rc;
	}
};

subtest 'places that cannot be' => sub {
	my $d = Tipme::TestDaemon->new;
	my ($rc, undef, $err) = $d->run(tipme(), 'start', '--rundir', '/proc/nowhere');
	is $rc, 1, 'a folder that cannot be made';
	like $err, qr{\Atipme: start: /proc/nowhere: [^\n]+\n\z}, 'is named';
	symlink $d->dir, $d->library;
	($rc, undef, $err) = $d->run(tipme(), 'start');
	like "$rc $err",
		qr/^1 tipme: start: \S+: is a symbolic link, which is not followed: name the folder that it leads to$/,
		'a library that is a link';
	unlink $d->library;
	mkdir $d->library, 0755;
	($rc, undef, $err) = $d->run(tipme(), 'start');
	is $rc, 1, 'a library that others may read';
	like $err, qr/private: chmod 700/, 'is refused';
	($rc, undef, $err) = $d->run(tipme(), 'start', '--window', 'soon');
	is $rc, 64, 'a window that is no number: usage';
	($rc, undef, $err) = $d->run(tipme(), 'start', '--rundir', '/tmp/' . 'x' x 120);
	is $rc, 1, 'a socket path that is too long';
	rmdir '/tmp/' . 'x' x 120;
};
done_testing;

# All records but the sections, by their lengths.
sub counted {
	my $bytes = slurp($_[0]);
	my ($at, $n) = (64, 0);
	while ($at < length $bytes) {
		my ($type, $len8) = unpack 'x8 C C', substr $bytes, $at, 16;
		$n++ if $type != 1;
		$at += $len8 * 8;
	}
	return $n;
}
