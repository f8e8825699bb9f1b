# SPDX-License-Identifier: GPL-2.0-only
# Who processes were, in an episode: programs, arguments, parents and ends, also of those that are
# gone; texts only of the owner.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP ();
use POSIX    ();
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(slurp tipme records_of wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my $NOBODY = 65534;
# Who ended is told as long as anything is kept from before that: longer than all of it may take,
# beside whoever fills the ring.
my $WINDOW_S = 60;
# The list of all tests, which make hands down, is an environment of its own size: of one above 12
# KiB only the beginning is recorded.
delete @ENV{qw(MAKEFLAGS MFLAGS MAKEOVERRIDES TEST_LOGS)};

# A process of nobody's that is there before the recorder.
my $before = program($NOBODY, 'sleep', 1234);
sleep 0.3;

for my $owner ($NOBODY, 0) {
	subtest "the library of user $owner" => sub { recorder($owner) };
}
subtest 'large environments' => \&environments;
kill KILL => $before;
done_testing();

sub recorder {
	my ($owner) = @_;
	my $d =
		Tipme::TestDaemon->new(args => [ '--owner', $owner, '--post', 0, '--window', $WINDOW_S ]);
	my ($rc, undef, $err) = $d->start;
	is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
	local $ENV{TIPME_TEST_SECRET} = 'do-not-tell' x 400;    # a large one, as desktops have
	local $ENV{LC_TIME}           = 'C.UTF-8';
	my $theirs  = program($NOBODY, 'sh', '-c', "exit 7 # tell\nme");
	my $roots   = program(0,       'sh', '-c', 'exit 3 # root');
	my $several = program($NOBODY, 'sh', '-c', 'sleep 0.1; exec env sleep 0.2');
	my $forked = program($NOBODY, 'sh', '-c', '(sleep 0.1; sleep 0.1) & echo $! >&2; wait; : tell');
	# Processes end when their last thread does, whichever that is; with what their parent is told.
	my %threaded = (
		'another thread calls a program' =>
			['threads->create(sub { exec "sh", "-c", "sleep 0.3; exit 5" })->join'],
		'the first thread ends, another ends all' => [
			'threads->create(sub { select undef, undef, undef, 0.3; POSIX::_exit(6) }); syscall '
				. '60, 9'
		],
		'the first thread ends, another ends last' => [
			'threads->create(sub { select undef, undef, undef, 0.3; syscall 60, 1 }); syscall 60, 9'
		],
	);
	for my $t (values %threaded) {
		push @$t, program($NOBODY, 'perl', '-Mthreads', '-MPOSIX', '-e', $t->[0]);
	}
	for my $t (values %threaded) { waitpid $t->[1], 0; push @$t, $? }
	waitpid $_, 0 for $theirs, $roots, $several, $forked;

	my ($path) = ($d->snap)[1] =~ m{\n(/.*)\n};
	my (undef, @lines) = records_of("$path/identity.rec");
	my @r;    # a text of several lines is one record
	for (@lines) {
		if (/^\w+ ts_ns=/) { push @r, $_ }
		else               { $r[-1] .= "|$_" }
	}
	my $p = sub {
		my ($pid) = @_;
		return grep {/^process .*\bpid=$pid /} @r;
	};
	my $args = sub {
		my ($pid) = @_;
		return map { /^exec_args .*\bpid=$pid .*text=(.*)/ ? $1 : () } @r;
	};
	like join("\n", $p->($theirs)), qr/ppid=$$ .*uid=$NOBODY exit_code=1792 exe=\S*sh$/,
		'who it was: parent, user, end, file';
	like join("\n", $p->($theirs)), qr/exit_ns=[1-9]/, 'when it ended';
	for my $case (sort keys %threaded) {
		my (undef, $pid, $status) = @{ $threaded{$case} };
		my ($start, $end, $code) =
			join("\n", $p->($pid)) =~ /start_ns=(\d+) exit_ns=(\d+) uid=\d+ exit_code=(\d+)/;
		cmp_ok $end - $start, '>=', 300_000_000, "$case: the end is that of the process";
		cmp_ok $code,         '==', $status,     "$case: with what its parent is told";
	}
	my (undef,    @kernel) = records_of("$path/kernel.rec");
	my ($exec_ns, $old)    = map {
		/^exec ts_ns=(\d+) tid=($threaded{'another thread calls a program'}[1]) .*old_tid=(?!\2 )(\d+)/
			? ($1, $3)
			: ()
	} @kernel;
	is_deeply [ grep { /^sched_waking ts_ns=(\d+) .*waker_tid=$old / && $1 > $exec_ns } @kernel ],
		[], 'who is called by another thread has the number of the first when it wakes others';
	like join("\n", $p->($roots)),     qr/ppid=$$ .*uid=0 exit_code=768/, "root's too";
	like join("\n", $args->($theirs)), qr/^sh\|-c\|exit 7 # tell\?me$/m,  'what it was called with';
	my @roots = $args->($roots);
	is scalar(grep {/# root$/} @roots), $owner ? 0 : 1,
		$owner ? "root's arguments are not told" : "root's arguments are told to root";
	like join("\n", $args->($before)), qr/sleep\S+1234$/, 'one that was there before';
	is
		scalar(grep { /sleep\S+0\.2$/ || /exec env sleep 0\.2$/ || /env\S+sleep/ }
			$args->($several)), 3, 'each of three programs in one process';
	my @own = grep {/^exec_environment .*\bpid=$theirs .*uid=$NOBODY/} @r;
	like "@own", qr/LC_TIME=C\.UTF-8/, 'the allowed part of its environment';
	is scalar(grep {/do-not-tell/} @r), 0, 'nothing else of it';
	my ($child) = grep {/^process .*\bppid=$forked /} @r;
	ok $child, 'a child that called nothing';
	like join("\n", map { $args->(/\bpid=(\d+)/) } $child // ()), qr/: tell$/m,
		'runs what its parent runs';
	ok scalar(grep {/^disk_name .*name=\w/} @r) || !glob('/sys/block/*'), 'disks have names';
	ok scalar(grep {/^cgroup_name .*path=\//} @r),                        'cgroups have names';
	my ($s) = grep { ($_->{file} // '') eq 'identity.rec' }
		@{ JSON::PP->new->utf8->decode(slurp("$path/manifest.json"))->{sources} };
	is $s->{lost}{no_room}, 0, 'manifest: nothing lost';
	cmp_ok $s->{coverage}[0]{records}, '==', scalar(@r) - grep({/^section/} @r),
		'manifest: how many records';
	$d->stop;
}

# What does not go into one record stands in several; what was not looked at is told, whether the
# program began before us or under us.
sub environments {
	my %large =
		(TIPME_TEST_A => 'a' x 1500, TIPME_TEST_B => "b\xc3\xa4" x 1700, LC_TIME => 'C.UTF-8');
	my %huge     = (%large, map { ("TIPME_TEST_$_" => 'y' x 9999) } 1 .. 3);
	my $long_ago = with_environment(\%huge, 'sleep', 1000);
	sleep 0.3;
	for my $all (0, 1) {
		my $d = Tipme::TestDaemon->new(
			args => [
				'--owner', $NOBODY, '--post', 0, '--window', $WINDOW_S,
				$all ? '--record-environment' : ()
			]
		);
		my ($rc, undef, $err) = $d->start;
		is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
		my ($large, $huge) = (with_environment(\%large, 'true'), with_environment(\%huge, 'true'));
		waitpid $_, 0 for $large, $huge;
		my ($path) = ($d->snap)[1] =~ m{\n(/.*)\n};
		my $text   = environment_texts("$path/identity.rec");
		my $of     = $all ? 'whole' : 'allowed part';
		unlike $text->{$large}, qr/\(cut/, "$of, 5 KiB: nothing of it is cut";

		if ($all) {
			is join("\n", sort split /\n/, $text->{$large}),
				join("\n", sort map {"$_=$large{$_}"} keys %large), "$of, 5 KiB: each byte of it";
		}
		my $bytes = 0;
		$bytes += length("$_=$huge{$_}") + 1 for keys %huge;
		for my $pid ($huge, $long_ago) {
			like $text->{$pid} // '', qr/(?:^|\n)\(cut: 12288 of $bytes bytes were looked at\)\z/,
				"$of, 35 KiB, " . ($pid == $huge ? 'begun under us' : 'there before');
		}
		like $text->{$huge}, qr/\A(?:.{4000,}\n)?(?:TIPME_TEST_|LC_TIME=|\(cut)/s,
			"$of: what was looked at stands before";
		$d->stop;
	}
	kill KILL => $long_ago;
	waitpid $long_ago, 0;
}

sub with_environment {
	my ($env, @cmd) = @_;
	local %ENV = %$env;
	return program($NOBODY, map { $_ eq $cmd[0] ? "/bin/$_" : $_ } @cmd);
}

# pid => text, of the last program of each; from the bytes, for a text dump shows line ends as they
# are.
sub environment_texts {
	my (undef, @lines) = records_of($_[0]);
	my (%text, $pid);
	for (@lines) {
		if    (/^exec_environment .*\bpid=(\d+) .*?text=(.*)/s) { $pid = $1; $text{$pid} .= $2 }
		elsif (/^\w+ ts_ns=/)                                   { undef $pid }
		elsif (defined $pid)                                    { $text{$pid} .= "\n$_" }
	}
	return \%text;
}

# Starts a program as a user, from whom nothing is closed.
sub program {
	my ($uid, @cmd) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	# To another user the build tree, with the modules in it, may be closed.
	if ($uid) { delete $ENV{PERL5LIB}; POSIX::setgid($uid); POSIX::setuid($uid) }
	open STDIN,  '<', '/dev/null';
	open STDERR, '>', '/dev/null';
	exec @cmd or POSIX::_exit(127);
}
