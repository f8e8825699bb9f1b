# SPDX-License-Identifier: GPL-2.0-only
# The agent joins the recorder wherever it is: one that starts later, moves, or starts again.
use strict;
use warnings;
use File::Copy qw(copy);
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Tipme::TestAgent  qw(public);
use Tipme::TestDaemon qw(own_run slurp tipme tipmed wait_until);

plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent" || !-x tipmed();
plan skip_all => 'not root: the folder of the machine\'s recorder needs it' if $>;
own_run() or plan skip_all => 'no mount namespaces here';

my ($nobody, $group) = (getpwnam 'nobody')[ 2, 3 ];
my $d = Tipme::TestDaemon->new(args => [ '--owner', $nobody, '--post', 0 ]);
my ($public, $home) = (public($d->dir), $d->dir . '/home');
mkdir $home, 0700 or die "$home: $!";
chown $nobody, $group, $home or die "$home: $!";
copy(tipmed(), "$public/tipmed-copy") && chmod 0755, "$public/tipmed-copy" or die "tipmed: $!";
delete @ENV{qw(TIPME_RUNDIR DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS)};

# as_user(COMMAND ...): a list that runs it as the user of the session
sub as_user {
	return (
		'setpriv', "--reuid=$nobody", "--regid=$group", '--clear-groups', 'env', "HOME=$home",
		"XDG_RUNTIME_DIR=$home", "TIPME_BUILDDIR=$public", "TIPME_LIBRARY=$home/library", @_
	);
}

my $agent = fork // die "fork: $!";
if (!$agent) {
	open STDERR, '>', $d->dir . '/agent.log' or die $!;
	exec as_user("$public/helper/agent/tipme-agent", '--no-observer', '--no-dialog');
}
END { kill 'TERM', $agent if $agent }
ok wait_until(sub { -e $d->dir . '/agent.log' && slurp($d->dir . '/agent.log') =~ /no X server/ }),
	'the agent runs, and no recorder';

# joined(COMMAND ...): whether the recorder that `COMMAND status` asks comes to know the agent
sub joined {
	my (@tipme) = @_;
	return wait_until(
		sub {
			my (undef, $out) = $d->run(@tipme, 'status', '--json');
			return $out =~ /"agents":\s*\[[^]]*\b$agent\b/;
		},
		20
	);
}

is + ($d->start)[0], 0, 'the recorder of the machine starts later';
ok joined(tipme()), '... and the agent joins it';
$d->stop;
is + ($d->start)[0], 0, 'it starts again';
ok joined(tipme()), '... joined again';
$d->stop;
my @own = as_user("$public/helper/cli/tipme");
my ($rc, undef, $err) = $d->run(as_user($public . '/tipmed-copy', '--post', 0));
is $rc, 0, 'the user starts one of their own' or diag $err;
ok joined(@own), '... in another folder: joined';
is + ($d->run(@own, 'stop'))[0], 0, 'it ends';
is + ($d->start)[0],             0, 'the machine\'s starts once more';
ok joined(tipme()), '... joined';
$d->stop;
done_testing;
