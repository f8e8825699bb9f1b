# SPDX-License-Identifier: GPL-2.0-only
# tipmed as a service: it tells the service manager how it is, works for whoever sits at the screen,
# and the units are what systemd wants.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use POSIX qw(WNOHANG);
use Socket;
use File::Temp ();
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(complete manifest slurp tipmed wait_until);

my $BUILD = $ENV{TIPME_BUILDDIR};

# A plan cannot be made after tests have run: what is left is one skipped test.
sub rest_left_out {
	my ($why) = @_;
SKIP: { skip $why, 1 }
	done_testing;
	exit 0;
}

subtest 'the units' => sub {
	plan skip_all => 'systemd-analyze is not installed'
		if !grep { -x "$_/systemd-analyze" } split /:/, $ENV{PATH};
	my ($dir) = File::Temp::tempdir(CLEANUP => 1);
	for my $unit (grep { -e "$BUILD/helper/service/$_" } qw(tipmed.service tipme-agent.service)) {
		# As installed, but for the place of the program, which is not installed here.
		my $text = slurp("$BUILD/helper/service/$unit");
		unlike $text, qr/\@\w+\@/, "$unit: all places are filled in";
		$text =~ s/^ExecStart=\S+/ExecStart=\/bin\/true/m;
		open my $out, '>', "$dir/$unit" or die;
		print {$out} $text;
		close $out;
		my $said = qx{systemd-analyze verify --man=no "$dir/$unit" 2>&1};
		is $said =~ s/^(?!.*\Q$unit\E).*\n//gmr, '',
			"$unit: systemd-analyze verify has nothing to say";
	}
	my $exposure =
		qx{systemd-analyze security --offline=yes --threshold=32 "$dir/tipmed.service" 2>&1};
	is $? >> 8, 0, 'systemd-analyze security: exposure at most 3.2'
		or diag($exposure =~ /^(.*Overall.*)$/m);
	note $exposure =~ /(Overall.*)/;
};

rest_left_out('tipmed is not built here')                if !-x tipmed();
rest_left_out('recording needs root (run it with sudo)') if $>;

subtest 'the capabilities that the unit leaves are enough' => sub {
	my ($caps) = slurp("$BUILD/helper/service/tipmed.service") =~ /^CapabilityBoundingSet=(.*)/m;
	my $bound  = join ',', '-all', map { '+' . lc s/^CAP_//r } split ' ', $caps;
	my $best   = Tipme::TestDaemon->new;
	is + ($best->start)[0], 0, 'with all of ours';
	my $source = $best->status->{source};
	$best->stop;
	my $r = Tipme::TestDaemon->new;
	my ($rc, undef, $err) =
		$r->run('setpriv', "--bounding-set=$bound", '--inh-caps=-all', tipmed(), '--post', 0);
	is $rc, 0, 'with those alone' or diag $err;
	$r->{pid} = $r->status->{pid};
	is $r->status->{source}, $source, "... the same source: $source";
	$r->stop;
};

# A place for logind's files that only tipmed sees: who sits there is what the test says.
my $d = Tipme::TestDaemon->new;
my ($seats, $sessions) = map { $d->dir . "/$_" } qw(seats sessions);
mkdir for $seats, $sessions;
my $mount = join ' && ',
	map {"mkdir -p /run/systemd/$_ && mount --bind '$d->{dir}/$_' /run/systemd/$_"}
	qw(seats sessions);
my @made = grep { !-d } qw(/run/systemd/seats /run/systemd/sessions /run/systemd);
rest_left_out('no mount namespaces here') if system 'unshare', '-m', 'sh', '-c', $mount;
END { local $?; rmdir for @made }

# Active at the screen is UID (undef: nobody); logged in there, but not shown, are OTHERS.
sub sits {
	my ($uid, @others) = @_;
	unlink glob "$sessions/*";
	my %session =
		map { ('c' . (2 + $_) => ($uid // (), @others)[$_]) } 0 .. @others - !defined $uid;
	for my $id (keys %session) {
		open my $out, '>', "$sessions/$id" or die;
		print {$out}
			"# This is private data. Do not parse.\nUID=$session{$id}\nUSER=u$session{$id}\n"
			. "ACTIVE=0\nSTATE=online\n";
	}
	open my $out, '>', "$seats/.new" or die;
	print {$out} "# This is private data. Do not parse.\nIS_SEAT0=1\n",
		defined $uid ? "ACTIVE=c2\nACTIVE_UID=$uid\n" : '', "SESSIONS=@{[ sort keys %session ]}\n",
		defined $uid || @others ? 'UIDS=' . join(' ', grep {defined} $uid, @others) . "\n" : '';
	close $out;
	rename "$seats/.new", "$seats/seat0";
	return;
}

# The service manager's end: what tipmed told, all that has come.
socket my $notify, AF_UNIX, SOCK_DGRAM, 0 or die;
bind $notify, pack_sockaddr_un($d->dir . '/notify') or die;
my $told = '';

sub told {
	my ($what) = @_;
	return wait_until(
		sub {
			my $m;
			while (defined recv $notify, $m, 4096, MSG_DONTWAIT) { $told .= "$m\n" }
			$told =~ /$what/;
		}
	);
}

sub start {
	my ($options, $library) = (@_, '', '');
	$told = '';
	delete local $ENV{TIPME_LIBRARY};
	local $ENV{NOTIFY_SOCKET} = $d->dir . '/notify';
	my $pid = fork // die;
	return $pid if $pid;
	open STDOUT, '>',  $d->dir . '/out' or die;
	open STDERR, '>&', \*STDOUT         or die;
	$ENV{TIPME_LIBRARY} = $library if $library;
	exec 'unshare', '-m', 'sh', '-c',
		"$mount && mkdir -p '$d->{dir}/var' && mount --bind '$d->{dir}/var' /var/lib && exec '"
		. tipmed()
		. "' --foreground --owner auto --post 0 --source proc_sampled $options";
}

sub ended {
	my ($pid) = @_;
	my $done = wait_until(sub { waitpid($pid, WNOHANG) == $pid });
	return $done ? $? >> 8 : 'goes on';
}

my $pid = start();
ok told(qr/READY=1\nSTATUS=waiting for somebody/),
	'nobody sits at the screen: it waits, and says so';
ok !-S $d->rundir . '/tipmed.sock', '... without recording';
sits(115);
sleep 1.5;
ok !-S $d->rundir . '/tipmed.sock', '... also while there is only a login screen';
sits(4711);
ok told(qr/STATUS=recording/), 'somebody does: it records' or diag(slurp($d->dir . '/out'));
my $status = $d->status;
is $status->{owner}, 4711, '... for that one';
my $filter = (grep {/^no filter of system calls/} @{ $status->{limits} }) ? 0 : 2;
my @unlike = grep { slurp($_) !~ /^Seccomp:\s*$filter$/m } glob "/proc/$pid/task/*/status";
is "@unlike", '',
	$filter
	? '... all its threads under the filter of system calls'
	: '... without a filter of system calls, as it says';
cmp_ok $status->{cpu}{user_ms} + $status->{cpu}{system_ms}, '>', 0,
	'... and it can still ask what CPU time it took';
my ($rc, $out) = $d->run(Tipme::TestDaemon::tipme(), 'snap');
is $rc, 0, '... and saves';
my @library = stat "$d->{dir}/var/tipme/4711";
is sprintf('%o of %d', $library[2] & 07777, $library[4]), '700 of 4711',
	'... into a library that is only theirs';
sits(4712);
is ended($pid), 75, 'somebody else sits there: it ends, to be started anew';
ok told(qr/STOPPING=1/), '... and has said so';
$pid = start();
ok told(qr/STATUS=recording/), 'anew: it records';
is $d->status->{owner}, 4712, '... for the other one';
sits(undef, 4711, 4712);
sleep 2.5;
is $d->status->{pid}, $pid,
	'a text console where nobody is logged in yet: the recorder stays with whose session waits '
	. 'behind it';
sits(115, 4712);
is ended($pid), 75, 'a login screen is another matter: it ends';
sits(4712);
$pid = start();
told(qr/STATUS=recording/);
sits(undef);
is ended($pid), 75, 'nobody does any more: it ends';
sits(4712);
$pid = start();
told(qr/STATUS=recording/);
sits(undef, 4712);
unlink glob "$sessions/*";
is ended($pid), 75,
	'nor if logind, having removed the last session, has left the file of the seat as it was';

# A library whose name no folder can have.
sits(4712);
$pid = start('', '/x' x 3000);
is ended($pid), 1, 'who sits there can have no library: it ends as what has failed';
like slurp($d->dir . '/out'),
	qr/^tipme: start: the library of user 4712: File name too long: name a folder with --library$/m,
	'... and says why';
sits(undef);
$pid = start();
ok told(qr/STATUS=waiting/), 'nobody does: it waits';
kill 'TERM', $pid;
is ended($pid), 0, 'while it waits, it ends when told to';
done_testing;
