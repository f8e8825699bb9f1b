# SPDX-License-Identifier: GPL-2.0-only
# A socket that the machine's recorder left behind, or one that is for somebody else, keeps nobody
# from a recorder of their own.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Tipme::TestAgent  qw(public);
use Tipme::TestDaemon qw(gone own_run tipme tipmed wait_until);

plan skip_all => 'tipmed is not built here'                                 if !-x tipmed();
plan skip_all => 'not root: the folder of the machine\'s recorder needs it' if $>;
own_run() or plan skip_all => 'no mount namespaces here';

my %id = map { my @user = getpwnam $_; ($_ => [ @user[ 2, 3 ] ]) } qw(nobody daemon);
my $d  = Tipme::TestDaemon->new(args => [ '--owner', $id{nobody}[0], '--post', 0 ]);
delete @ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)};
my $public = public($d->dir);
mkdir "$public/helper/daemon";
system('cp', tipmed(), "$public/helper/daemon/tipmed") == 0 or die "tipmed: no copy\n";

# as(USER, VERB ...): status, stdout, stderr
sub as {
	my ($user, @verb) = @_;
	my ($uid,  $gid)  = @{ $id{$user} };
	my $home = $d->dir . "/$user";
	if (!-d $home) {
		mkdir $home, 0700 or die "$home: $!";
		chown $uid, $gid, $home or die "$home: $!";
	}
	return $d->run(
		'setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups', 'env', "HOME=$home",
		"XDG_RUNTIME_DIR=$home", "TIPME_BUILDDIR=$public", "$public/helper/cli/tipme", @verb
	);
}

is + ($d->start('--library', $d->dir . '/library'))[0], 0, 'the recorder of the machine, for nobody'
	or BAIL_OUT('no recorder');
like + (as('nobody', 'status'))[1], qr/^recording .* pid $d->{pid}$/m, 'its owner asks that one';
my ($rc, $out, $err) = as('daemon', 'status');
is $rc, 1, 'another user is refused';
like $err, qr/^tipme: status: the recorder serves root and its owner/, '... and told why';
is +     (as('daemon', 'start', '--post', 0))[0], 0, '... but may have one of their own';
unlike + (as('daemon', 'status'))[1], qr/pid $d->{pid}$/m, '... and asks that one then';
is +     (as('daemon', 'stop'))[0], 0, '... and ends it';

kill 'KILL', $d->{pid};
wait_until(sub { gone($d->{pid}) });
ok -S '/run/tipme/tipmed.sock', 'killed, it leaves its socket';
($rc, undef, $err) = as('nobody', 'status');
like $err, qr/^tipme: status: no recorder runs here/, 'no recorder runs: so said';
for my $user (qw(nobody daemon)) {
	($rc, undef, $err) = as($user, 'start', '--post', 0);
	is $rc, 0, "$user starts one of their own" or diag $err;
	($rc, $out, $err) = as($user, 'status');
	is $rc,                      0, '... and finds it' or diag $err;
	is + (as($user, 'stop'))[0], 0, '... and ends it';
}
is + ($d->start('--library', $d->dir . '/library'))[0], 0,
	'the machine\'s starts again, in place of the socket that was left';
like + (as('nobody', 'status'))[1], qr/pid $d->{pid}$/m, '... and is asked again';
is + ($d->run(tipme(), 'stop'))[0], 0, 'it ends';
done_testing;
