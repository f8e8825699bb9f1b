# SPDX-License-Identifier: GPL-2.0-only
# Clients say nothing to a socket that somebody else has put in the recorder's place, and print
# nothing raw of what any recorder answers.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use File::Copy qw(copy);
use File::Path qw(make_path remove_tree);
use Socket;
use Test::More;
use Tipme::Display;
use Tipme::TestDaemon qw(tipme wait_until);

plan skip_all => 'tipme is not built here'                  if !-x tipme();
plan skip_all => 'other users need root (run it with sudo)' if $>;

my ($VICTIM, $STRANGER) = (65534, 1);
my $HEAD = 'VvvVV';                  # magic, version, verb, argument, length of the text
my ($MAGIC, %VERB) = (0x4d504954, reply => 2);
my $d = Tipme::TestDaemon->new;
$d->{prefix} = [ 'timeout', 30 ];    # a client that waits for ever ends the test, too
my @servers;

# What stands in records.def is what the recorder says.
{
	my $h = Tipme::TestDaemon::slurp("$ENV{TIPME_SRCDIR}/abi/generated/tipme_records.h");
	$VERB{ lc $1 } = $2 while $h =~ /\bTIPME_VERB_(\w+) = (\d+)/g;
}

# fake(FOLDER, UID, ANSWER): one that listens in FOLDER as UID and writes what it hears into
# FOLDER/heard; ANSWER: [verb, argument, text] ...
sub fake {
	my ($folder, $uid, @answers) = @_;
	my $heard = "$folder/heard";
	pipe(my $ready, my $say) or die "$!\n";
	my $pid = fork // die "$!\n";
	if (!$pid) {
		close $ready;
		$> = $uid;
		$< = $uid;
		socket my $l, AF_UNIX, SOCK_SEQPACKET, 0 or die "$!\n";
		bind $l, pack_sockaddr_un("$folder/tipmed.sock") or die "$folder: $!\n";
		chmod 0777, "$folder/tipmed.sock";
		listen $l, 8 or die "$!\n";
		open my $out, '>', $heard or die "$!\n";
		$out->autoflush;
		print {$say} "\n";
		close $say;

		while (accept my $c, $l) {
			while (sysread $c, my $bytes, 65_536) {
				print {$out} 'heard ', length $bytes, "\n";
				syswrite $c,
					pack($HEAD, $MAGIC, 1, $VERB{ $_->[0] }, $_->[1], length $_->[2]) . $_->[2]
					for @answers;
			}
		}
		exit 0;
	}
	close $say;
	push @servers, $pid;
	readline $ready;
	return sub { return Tipme::TestDaemon::slurp($heard) };
}
END { my $rc = $?; kill 'KILL', @servers if @servers; waitpid $_, 0 for @servers; $? = $rc }

my $n = 0;

sub folder {
	my ($mode, $uid, $below) = @_;
	my $path = ($below // $d->dir) . '/run' . ++$n;
	mkdir $path;
	chown $uid, -1, $path;
	chmod $mode, $path;
	return $path;
}

sub refused {
	my ($what, $heard, @command) = @_;
	my ($rc,   $out,   $err)     = $d->run_as_nobody(@command);
	is $rc, 1, "$what: @command: refused" or diag $out;
	like $err, qr/^tipme: \w+: [^:]+: .*: .+\n\z/, '... in a sentence';
	is $heard->(), '', '... and nothing was sent';
}

# --- a socket that is not the recorder's ---
my $open = $d->dir . '/open';
mkdir $open;
chmod 01777, $open;
local $ENV{XDG_RUNTIME_DIR};
delete $ENV{XDG_RUNTIME_DIR};
{
	# As in a session without XDG_RUNTIME_DIR, where no recorder of the machine runs.
	my $squat = "/tmp/tipme-$VICTIM";
SKIP: {
		skip "$squat is there already",             1 if -e $squat;
		skip 'a recorder of the machine runs here', 1 if -e '/run/tipme/tipmed.sock';
		mkdir $squat, 0755 and chown $STRANGER, -1, $squat or die "$squat: $!\n";
		my $heard = fake($squat, $STRANGER, [ reply => 0, '{"id": "x"}' ]);
		delete local $ENV{TIPME_RUNDIR};
		local $ENV{HOME} = $d->dir;
		$d->run_as_nobody('snap', '-m', 'secret');
		is $heard->(), '', 'a folder of a known name in /tmp is nobody to talk to';
		remove_tree($squat);
	}
}
for my $case (
	[ 'a folder that a stranger made where all may write', 0755, $STRANGER,     $STRANGER, $open ],
	[ 'a folder in which all may write',                         0777, 0,       0 ],
	[ "the victim's own folder, with a stranger's socket in it", 0755, $VICTIM, $STRANGER ],
	[ "root's folder, with a stranger's socket in it",           0755, 0,       $STRANGER ]
	)
{
	my ($what, $mode, $owner, $server, $below) = @$case;
	my $run   = folder(0777, 0, $below);
	my $heard = fake($run, $server, [ reply => 0, '{"id": "x"}' ]);
	chown $owner, -1, $run;
	chmod $mode, $run;
	local $ENV{TIPME_RUNDIR} = $run;
	refused($what, $heard, @$_)
		for [ 'snap', '-m', 'secret' ], ['status'], ['stop'], [ 'classes', '+io' ];
	$d->run_as_nobody('doctor');
	is $heard->(), '', '... nor by doctor';
	$d->run_as_nobody('list');
	is $heard->(), '', '... nor by list';
}
{
	my $run = folder(0755, 0);
	symlink folder(0755, 0), "$run.link" or die "$!\n";
	local $ENV{TIPME_RUNDIR} = "$run.link";
	my ($rc, undef, $err) = $d->run_as_nobody('status');
	is $rc, 1, 'a link is no folder: refused';
}

# --- the observer, whose ring tells when who typed ---
SKIP: {
	my $observer = "$ENV{TIPME_BUILDDIR}/helper/xclient/tipme-x-observer";
	skip 'no tipme-x-observer is built here', 3 if !-x $observer;
	skip 'Xvfb is not installed',             3 if !Tipme::Display::find_server('Xvfb');
	my ($run, $copy) = (folder(0755, $STRANGER, $open), $d->dir . '/tipme-x-observer');
	copy($observer, $copy) && chmod 0755, $copy or BAIL_OUT("$copy: $!");
	my $heard = fake($run, $STRANGER);
	local $ENV{TIPME_RUNDIR} = $run;
	my $x       = Tipme::Display->new(kind => 'Xvfb', uid => $VICTIM);
	my $pid     = $x->spawn($copy);
	my $knocked = wait_until(sub { observes($pid) });
	ok $knocked, 'it observes' or diag `cat $x->{dir}/clients.log`;
	# It tries each second.
	sleep 3;
	is $heard->(), '', "the observer gives its ring to no stranger's folder";
	kill 'KILL', pop @servers;
	unlink "$run/tipmed.sock", "$run/heard";
	chown 0, -1, $run;
	my $known = fake($run, 0);
	ok wait_until(sub { $known->() ne '' }), '... but, when that is there, to the recorder';
	$x->stop;
}

# It has a memory of its own for the ring.
sub observes {
	my ($pid) = @_;
	return grep { (readlink($_) // '') =~ /memfd/ } glob "/proc/$pid/fd/*";
}

# --- what a recorder answers is shown, and obeyed by no terminal ---
sub cleaned {
	my ($what, $answers, $expect, @command) = @_;
	my $run   = folder(0755, 0);
	my $heard = fake($run, 0, @$answers);
	local $ENV{TIPME_RUNDIR} = $run;
	my ($rc, $out, $err) = $d->run_as_nobody(@command);
	like $out . $err, $expect, "$what: shown" or diag "$rc: $err";
	unlike $out . $err, qr/[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]/,
		'... clean';
	isnt $heard->(), '', '... to who was asked';
}
my $evil    = "\e]0;x\a\x7f\xc2\x9b2J\xe2\x80\xae";
my $escaped = '\u001b]0;x\u0007\u007f\u009b2J\u202e';
cleaned('a refusal', [ [ reply => 13, "no $evil" ] ], qr/^tipme: snap: no \?/m, 'snap');
cleaned(
	'an episode',
	[ [ reply => 0, qq({"id": "20260101-$escaped"}) ], [ saved => 0, "/lib/$evil" ] ],
	qr{^20260101-\?.*^/lib/\?}ms, 'snap'
);
cleaned(
	'a failure',                [ [ reply => 0, '{"id": "1"}' ], [ saved => 5, "disk $evil" ] ],
	qr/^tipme: snap: disk \?/m, 'snap'
);
my $status =
	qq({"source": "s$escaped", "pid": 1, "lost": {"l$escaped": 1}, "classes": {"c$escaped": true}, "limits": ["m$escaped"], "library": "/l$escaped", "x_servers": [{"name": "n$escaped"}]});
cleaned('status',  [ [ reply => 0, $status ] ], qr/^recording  s\?/m, 'status');
cleaned('classes', [ [ reply => 0, $status ] ], qr/^classes    c\?/m, 'classes');
cleaned(
	'status --json', [ [ reply => 0, $status =~ s/"s/"s$evil/r ] ], qr/"s\?/, 'status',
	'--json'
);
cleaned('doctor', [ [ reply => 0, $status ] ], qr/./, 'doctor');

# --- verbs that read episodes look where the recorder that runs here puts them ---
sub listed { my (@with) = @_; return $d->run(@with, tipme(), 'list', '--json') }
{
	my ($run, $library) = (folder(0755, 0), $d->dir . '/elsewhere');
	make_path("$library/20260101-000000-0001");
	chmod 0700, $library;
	my $heard = fake($run, 0, [ reply => 0, qq({"library": "$library"}) ]);
	local $ENV{TIPME_RUNDIR} = $run;
	delete local $ENV{TIPME_LIBRARY};
	like + (listed())[1], qr{"path" : "\Q$library\E/20260101-000000-0001"},
		'list follows the library of the recorder that runs';
	ok -e "$library/library.sqlite", '... and keeps its table there';
	unlink glob "$library/library.*";
	chown $STRANGER, -1, $library;
	like + (listed())[1], qr{20260101-000000-0001}, "... also root, into another user's";
	is_deeply [ glob "$library/library.*" ], [], '... where it leaves nothing';
	local $ENV{TIPME_LIBRARY} = $d->dir . '/none';
	unlike + (listed())[1], qr{20260101-000000-0001}, 'but a library that is named is meant';
}

done_testing;
