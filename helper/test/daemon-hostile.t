# SPDX-License-Identifier: GPL-2.0-only
# Strangers at the socket: rubbish, floods, peers that do not read, X servers that lie. Recording
# goes on.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use IO::Select;
use IPC::Open2 qw(open2);
use JSON::PP   ();
use POSIX      ();
use Socket;
use Test::More;
use Time::HiRes       qw(sleep clock_gettime CLOCK_MONOTONIC);
use Tipme::TestDaemon qw(slurp tipme records_of wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my ($FRIEND, $STRANGER) = (61001, 61002);
my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--allow-uid', $FRIEND ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
our $pid = $d->pid;
my $fds = fds();

# Rubbish.
srand 1996;
my $c       = $d->connection;
my $answers = 0;
for (1 .. 2000) {
	my $bytes = join '', map { chr int rand 256 } 0 .. rand 80;
	substr $bytes, 0, 4, pack 'L<', 0x4d504954 if rand() < 0.5 && length $bytes > 20;
	send($c, $bytes, 0) // last;
	my (undef, $error) = Tipme::TestDaemon::answer($c);
	$answers++ if $error;
}
is $answers, 2000, '2000 times rubbish: each answered by an error';
send $c, pack('L< S< S< L< L<', 0x4d504954, 1, 999, 0, 0), 0;
is_deeply [ (Tipme::TestDaemon::answer($c))[ 0, 1 ] ], [ 16, 38 ], 'an unknown verb: ENOSYS';
send $c, pack('L< S< S< L< L<', 0x4d504954, 2, 3, 0, 0), 0;
is + (Tipme::TestDaemon::answer($c))[1], 93, 'another version: EPROTONOSUPPORT';
send $c, Tipme::TestDaemon::message(3, 0, 'x' x 65000), 0;
is + (Tipme::TestDaemon::answer($c))[1], 0, 'the longest message is taken';
send $c, pack('L< S< S< L< L<', 0x4d504954, 1, 3, 0, 65001) . 'x' x 65001, 0;
is + (Tipme::TestDaemon::answer($c))[1], 90, 'one byte more is not: EMSGSIZE';
close $c;

# Messages that are right but for what they say, from who may do little and from who may do all but
# end it.
for ([ 0, 1, 3, 5 .. 12 ], [ $FRIEND, 1 .. 12 ]) {
	my ($uid, @verbs) = @$_;
	is fuzz_as($uid, 1500, @verbs), 1500,
		'1500 times a true verb with any argument and text, by '
		. ($uid ? 'a user who may only trigger' : 'root')
		. ': each answered';
	is $d->status->{pid}, $pid, '... and it goes on';
}

# What takes an hour to close: by a stranger before he is refused, by who may trigger, in place of a
# ring; more of them than there are threads for it.
subtest 'descriptors that hang' => \&hanging;

# A peer that asks and never reads.
my $deaf  = $d->connection;
my $flags = 0;
for (1 .. 3000) { send($deaf, Tipme::TestDaemon::message(3, 0, ''), MSG_DONTWAIT) // last }
is $d->status->{pid}, $pid, 'a peer that never reads hinders nobody';
close $deaf;
wait_until(sub { fds() <= $fds }) or diag(fds(), " instead of $fds");

# Many connections.
my @many = grep {defined} map { $d->connection } 1 .. 80;
my ($full_rc, undef, $full) = $d->run(tipme(), 'status');
like $full, qr/too many connections/, 'when all places are taken, that is said';
close $_ for @many;
@many = ();
is $d->status->{pid}, $pid, 'when they are gone, all is well';

# The same, of one whom the owner has named: the owner's own connections are read on (his X server's
# and his agent's hot-keys come over such).
subtest 'descriptors that hang, beside the owner' => \&hanging_beside_the_owner;

# One whom the owner has named knocks as often as he can: he has a door of his own.
subtest 'knocking without end' => sub {
	my @knocking = map { knocking_as($FRIEND) } 1 .. 6;
	my ($in, $answered) = (0, 0);
	for (1 .. 300) {
		my $c = $d->connection(1) or next;
		$in++;
		$answered++ if answers($c);
	}
	is $in,       300, 'root gets in at once, each time';
	is $answered, 300, '... and is answered';
	ok wait_until(sub { $d->status->{refused_peers} > 100 }), 'and they do knock';
	kill 'KILL', @knocking;
	waitpid $_, 0 for @knocking;
	is $d->status->{pid}, $pid, 'it is still the same';
};

# The thread that answers is real-time: one who may only trigger shall not have it work for him
# without end.
subtest 'asking without end' => sub {
	my ($per_s, $burst) = (500, 1000);
	my ($asked, $s) = split ' ', as_user(
		$FRIEND,
		sub {
			my $c = $d->connection;
			my ($n, $begin, $now) = (0, clock_gettime(CLOCK_MONOTONIC));
			# Longer where so many cannot be asked in that time.
			while (($now = clock_gettime(CLOCK_MONOTONIC)) < $begin + 4
				|| $n <= $burst && $now < $begin + 100)
			{
				send $c, Tipme::TestDaemon::message(3, 0, ''), 0;
				defined((Tipme::TestDaemon::answer($c))[1]) or last;
				$n++;
			}
			return "$n " . ($now - $begin);
		}
	);
	cmp_ok $asked, '>', $burst, 'many a question is answered';
	cmp_ok $asked, '<=', $burst + 1 + $per_s * ($s + 0.5),
		'... and no more than is meant for one user';
	my $root = $d->connection;
	is scalar(grep { answers($root) } 1 .. 4000), 4000, 'root may ask as he likes';
};

is crowd_as($FRIEND, 20), 16,
	'one who may only trigger has sixteen connections at most: others of his kind get in';
ok wait_until(sub { $d->status->{pid} == $pid }), 'and then, too';

# X servers.
my ($good, $good_in, $good_out) = x_client('good');
like $good_out, qr/^0 /, 'an honest X server is taken';
my @status = @{ $d->status->{x_servers} };
is scalar @status,   1,             'status shows it';
is $status[0]{name}, 'Xtest ?[31m', 'under a harmless name';
my %refused = (unsealed => qr/^\d+ .*not sealed/, nofd => qr/^\d+ .*no memory came/);
for my $mode (sort keys %refused) {
	my ($p, $in, $out) = x_client($mode);
	like $out, $refused{$mode}, "$mode: refused";
	done($p, $in);
}
my @liars = map { [ x_client($_) ] } qw(random hugehead scribble);
like $_->[2], qr/^0 /, 'a liar is taken: its records will show' for @liars;
my ($snap_rc, $snap_out) = $d->snap;
is $snap_rc, 0, 'snap with them';
my $path = (split /\n/, $snap_out)[1];
my ($head, @records) = records_of("$path/x-$good.rec");
is scalar(grep {/^x_request .*pid=4711/} @records), 1000, 'all records of the honest one';
is scalar(grep {/^x_request .*pid=4712 .*count=0/} @records), 1,
	'and the request that it is executing';
my $m      = JSON::PP->new->utf8->decode(slurp("$path/manifest.json"));
my %source = map { ($_->{file} => $_) } @{ $m->{sources} };
is $source{"x-$good.rec"}{display},    77,    'manifest: display';
is $source{"x-$good.rec"}{server_tid}, $good, 'manifest: thread';

for my $l (@liars) {
	my (undef, @r) = records_of("$path/x-$l->[0].rec");
	is scalar(grep { !/^(?:x_|section )/ } @r), 0, 'of a liar there are X records or none';
	ok exists $source{"x-$l->[0].rec"}{lost}{impossible}, 'and what could not be is counted';
}

# A server that is killed.
kill 'KILL', $good;
done($good, $good_in);
ok wait_until(
	sub {
		!grep { $_->{pid} == $good && $_->{connected} } @{ $d->status->{x_servers} };
	}
	),
	'a killed X server is gone';
my ($dead_rc, $dead_out) = $d->snap;
my (undef,    @dead)     = records_of((split /\n/, $dead_out)[1] . "/x-$good.rec");
is scalar(grep {/^x_request .*pid=4711/} @dead), 1000, 'but its last records can still be saved';
done(@$_[ 0, 1 ]) for @liars;

# One whom the owner has named takes nothing that is the owner's.
subtest 'places for rings, by user' => sub {
	my $program = $d->dir . '/daemon-x-client';
	system('cp', "$ENV{TIPME_BUILDDIR}/helper/test/daemon-x-client", $program) == 0
		or BAIL_OUT('cp');
	my @friends = map { [ x_client_as($FRIEND, $program, 'good') ] } 1 .. 10;
	is scalar(grep { $_->[2] =~ /^0 / } @friends), 4,
		'he has four places, as one server may have threads';
	is scalar(grep { $_->[2] =~ /^\d+ this user/ } @friends), 6, '... and is told so';
	my @own = map { [ x_client('good') ] } 1 .. 12;
	is scalar(grep { $_->[2] =~ /^0 / } @own), 12, 'all others are root\'s and the owner\'s';
	done(@$_[ 0, 1 ]) for @friends, @own;
};
subtest 'triggers and episodes, by user' => sub {
	my $OWNER = 61003;
	my $other = Tipme::TestDaemon->new(
		args => [ '--owner', $OWNER, '--post', 0, '--keep', 4, '--allow-uid', $FRIEND ]);
	is + ($other->start)[0], 0, 'start for an owner';
	my $trigger = sub {
		my ($uid, $n) = @_;
		return as_user(
			$uid,
			sub {
				my $c = $other->connection;
				join ' ', map {
					send $c, Tipme::TestDaemon::message(2, 0, ''), 0;
					my @a;
					do { @a = Tipme::TestDaemon::answer($c) } while (@a && $a[0] != 16);
					$a[1]
				} 1 .. $n;
			}
		);
	};
	my @his = split ' ', $trigger->($FRIEND, 30);
	cmp_ok scalar(grep { !$_ } @his), '<=', 3,
		'of thirty triggers a permitted user is granted two or three';
	is $trigger->($OWNER, 1), 0, 'the owner is granted his at once';
	ok wait_until(
		sub {
			my $s = $other->status;
			!$s->{waiting} && $s->{saving} eq 'idle' && $s->{episodes} >= 2;
		}
		),
		'they are saved';
	my @by = map { Tipme::TestDaemon::manifest($_)->{trigger}{by} // 'owner' }
		glob $other->library . '/2*';
	is scalar(grep { $_ eq 'owner' } @by), 1, 'the owner has his episode';
	is scalar(grep { $_ eq $FRIEND } @by), 1, 'of four places a quarter is another\'s';
	$other->stop;
	@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ($d->rundir, $d->library);
};

# More servers than places.
my @crowd = map { [ x_client('good') ] } 1 .. 17;
is scalar(grep { $_->[2] =~ /^0 / } @crowd), 16,
	'sixteen X servers at most (those that are gone make room)';
is scalar(grep { $_->[2] =~ /^\d+ 16 X servers/ } @crowd), 1, 'the next is told so';
done(@$_[ 0, 1 ]) for @crowd;

is $d->status->{pid}, $pid, 'it is still the same recorder';
# The ring of a server that is gone is kept for 64 s, and its descriptor.
ok wait_until(sub { fds() <= $fds + ($ENV{TIPME_TEST_ALL} ? 0 : gone_servers()) }),
	'... and has no descriptor more than at first, but for rings that are kept'
	or diag(fds(), " instead of $fds, ", gone_servers(), " rings");
Test::More->builder->skip('TIPME_TEST_ALL=1 waits until these rings are given up, too')
	if !$ENV{TIPME_TEST_ALL};
$d->stop;
done_testing;

# Returns the number that the code comes to as that user, in a process of its own.
sub as_user {
	my ($uid, $do) = @_;
	pipe my $r, my $w or die;
	my $child = fork // die;
	if ($child) {
		close $w;
		waitpid $child, 0;
		return <$r> // 0;
	}
	$d->{owner} = 0;
	POSIX::setgid($uid), POSIX::setuid($uid) if $uid;
	syswrite $w, $do->();
	POSIX::_exit(0);
}

# Returns how many of so many connections at once were not refused.
sub crowd_as {
	my ($uid, $n) = @_;
	return as_user(
		$uid,
		sub {
			my @all = grep {defined} map { $d->connection } 1 .. $n;
			# A status is refused to him, but not by these words.
			send $_, Tipme::TestDaemon::message(3, 0, ''), 0 for @all;
			return scalar grep {
				((Tipme::TestDaemon::answer($_))[2] // '') !~ /too many connections of this user/
			} @all;
		}
	);
}

# A process of that user that connects and does not wait for an answer, again and again.
sub knocking_as {
	my ($uid) = @_;
	my $child = fork // die;
	return $child if $child;
	$d->{owner} = 0;
	POSIX::setgid($uid), POSIX::setuid($uid);
	my @held = grep {defined} map { $d->connection } 1 .. 20;
	while (1) { my $c = $d->connection or sleep 0.001 }
}

# Returns how many were answered.
sub fuzz_as {
	my ($uid, $n, @verbs) = @_;
	return as_user(
		$uid,
		sub {
			srand 2000 + $uid;
			my $answered = 0;
			my @words    = (
				'{"',     'input', '": ', 'true', '}', "\n", '20260101-000000-abcd', '../', "\0",
				"\e[31m", 'io',    '-',   'x' x 3000, "\xff\xfe"
			);
			for (1 .. $n) {
				my $c    = $d->connection or last;
				my $text = join '', map { $words[ rand @words ] } 1 .. rand 6;
				$text = join '', map { chr int rand 256 } 1 .. rand 400 if rand() < 0.3;
				send $c,
					Tipme::TestDaemon::message(
					$verbs[ rand @verbs ],
					rand() < 0.5 ? int rand 9 : int rand 2**32, $text
					),
					0;
				$answered++ if Tipme::TestDaemon::answer($c);
			}
			return $answered;
		}
	);
}

sub hanging {
	my ($HELLO, $STATUS) = (1, 3);
	my $root = $d->connection;
	my @hung;
	my $stranger =
		qx{"$ENV{TIPME_BUILDDIR}/helper/test/daemon-hanging-fd" $STRANGER $STATUS 1 < /dev/null};
	is $stranger, "not passed\n", 'a stranger cannot pass anything';
	for (
		[ $FRIEND, $STATUS, 1 ], [ $FRIEND, $HELLO, 1 ], [ $FRIEND, $STATUS, 2 ],
		[ $FRIEND, $STATUS, 1 ]
		)
	{
		push @hung, pass_hanging($_);
		my $new = $d->connection;
		ok answers($new),
			"a user who may trigger passes $_->[2] with verb $_->[1]: others are answered"
			or last;
	}
	done(@$_) for splice @hung;
	my $usual = fds();
	@hung = pass_hanging((map { [ $FRIEND, $STATUS, 1 ] } 1 .. 4), [ $FRIEND, $STATUS, 253 ]);
	cmp_ok fds() - $usual, '>', 200, 'when it has its fill of them, nobody closes any more';
	ok answers($root), '... it still answers root';
	my $new = 0;
	for (1 .. 100) { my $c = $d->connection(1) or next; $new += answers($c) }
	is $new, 100, '... also over new connections, however many there were';
	is + ($d->run('sh', '-c', 'kill -0 ' . $d->pid))[0], 0, '... and runs';
	done(@$_) for @hung;
	ok wait_until(sub { my $new = $d->connection; $new && answers($new) }),
		'when they are gone, all is well';
}

sub hanging_beside_the_owner {
	my $OWNER = 61003;
	my $other =
		Tipme::TestDaemon->new(args => [ '--owner', $OWNER, '--post', 0, '--allow-uid', $FRIEND ]);
	is + ($other->start)[0], 0, 'start for an owner';
	pipe my $go_r,   my $go_w   or die;
	pipe my $said_r, my $said_w or die;
	my $owner = fork // die;
	if (!$owner) {
		POSIX::setgid($OWNER), POSIX::setuid($OWNER);
		my $c = $other->connection or POSIX::_exit(1);
		syswrite $said_w, answers($c) ? 'y' : 'n';
		sysread $go_r, my $byte, 1;
		syswrite $said_w, answers($c) ? 'y' : 'n';
		POSIX::_exit(0);
	}
	sysread $said_r, my $before, 1;
	is $before, 'y', 'the owner is answered';
	local $pid = $other->pid;
	my $usual = fds();
	my @hung  = pass_hanging(map { [ $FRIEND, 3, $_ ] } 1, 1, 1, 1, 253);
	cmp_ok fds() - $usual, '>', 200, 'nobody closes any more';
	syswrite $go_w, 'x';
	sysread $said_r, my $after, 1;
	is $after, 'y',
		'... also over the connection that he has when somebody whom he has named hangs all that '
		. 'close';
	waitpid $owner, 0;
	done(@$_) for @hung;
	$other->stop;
	@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ($d->rundir, $d->library);
}

sub answers {
	my ($c) = @_;
	send $c, Tipme::TestDaemon::message(3, 0, ''), 0;
	return ((Tipme::TestDaemon::answer($c))[1] // 1) == 0;
}

# While tipmed is stopped, so that the last copy is its own. All at once: to be stopped and to go on
# ends its waiting in close().
sub pass_hanging {
	my (@all) = @_;
	my @hung;
	kill 'STOP', $pid;
	for my $args (@all) {
		my $p =
			open2(my $out, my $in, "$ENV{TIPME_BUILDDIR}/helper/test/daemon-hanging-fd", @$args);
		my $passed = <$out> // '';
		like $passed, qr/^passed/, 'passed';
		push @hung, [ $p, $in, $out ];
	}
	kill 'CONT', $pid;
	IO::Select->new($_->[2])->can_read(5) for @hung;    # its answer, if it gets one
	return map { [ @$_[ 0, 1 ] ] } @hung;
}

sub fds { return scalar(() = glob "/proc/$pid/fd/*") }

# The same by another user, who may not see the build tree.
sub x_client_as {
	my ($uid, $program, $mode) = @_;
	my $p = open2(
		my $out,  my $in, 'setpriv', "--reuid=$uid", "--regid=$uid", '--clear-groups',
		$program, $mode
	);
	return ($p, $in, scalar(<$out>) // '');
}

# Starts one; (pid, its input, its answer).
sub x_client {
	my ($mode) = @_;
	my $p = open2(my $out, my $in, "$ENV{TIPME_BUILDDIR}/helper/test/daemon-x-client", $mode);
	return ($p, $in, scalar(<$out>) // '');
}

sub done { my ($p, $in) = @_; close $in; waitpid $p, 0; return }

sub gone_servers {
	return scalar grep { !$_->{connected} } @{ $d->status->{x_servers} };
}
