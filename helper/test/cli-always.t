# SPDX-License-Identifier: GPL-2.0-only
# `tipme start --always` where no systemd runs: the person's own recorder and the agent, now and by
# the desktop at each login; `tipme stop --for-good` undoes it.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use Test::More;
use Tipme::Display;
use Tipme::TestAgent  qw(public);
use Tipme::TestDaemon qw(own_run slurp tipmed wait_until);

plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent" || !-x tipmed();
plan skip_all => 'not root: a session of an ordinary user needs it' if $>;
for my $program (qw(Xvfb desktop-file-validate)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
# There the machine has no recorder, and no systemd is to be seen.
own_run() or plan skip_all => 'no mount namespaces here';

my ($nobody, $group) = (getpwnam 'nobody')[ 2, 3 ];
my $d = Tipme::TestDaemon->new;
delete @ENV{
	qw(TIPME_RUNDIR TIPME_LIBRARY XDG_CONFIG_HOME XDG_DATA_HOME DBUS_SESSION_BUS_ADDRESS
		WAYLAND_DISPLAY DISPLAY)
};
my $x = Tipme::Display->new(kind => 'Xvfb');
my ($public, $home) = (public($d->dir), $d->dir . '/home');
mkdir "$public/helper/daemon";
system('cp', tipmed(), "$public/helper/daemon/tipmed") == 0 or die "tipmed: no copy\n";
mkdir $home, 0700 or die "$home: $!";
chown $nobody, $group, $home or die "$home: $!";
my @person = (
	'setpriv', "--reuid=$nobody", "--regid=$group", '--clear-groups', 'env', "HOME=$home",
	"XDG_RUNTIME_DIR=$home",
	"TIPME_BUILDDIR=$public", "TIPME_SRCDIR=$public"
);

sub tipme_as {
	my (@args) = @_;
	local %ENV = (%ENV, $x->env);
	return $d->run(@person, "$public/helper/cli/tipme", @args);
}

sub autostart {
	return sort map {s{.*/}{}r} glob "$home/.config/autostart/*";
}

sub agents {
	return grep { (readlink "/proc/$_/exe" // '') eq "$public/helper/agent/tipme-agent" }
		map {m{/proc/(\d+)}} glob '/proc/[0-9]*';
}

my ($rc, $out, $err) = tipme_as('start', '--always');
is $rc, 0, 'one command' or diag $err;
my @lines = split /\n/, $out;
is scalar(@lines), 4, '... says in four lines what is recorded' or diag $out;
like $lines[0],
	qr/^Recording now, and from each login on: the last 40 seconds, in memory only, by samples\.$/,
	'... how';
like $lines[2], qr{, in $home/\.local/share/tipme\.$}, '... where';
like $lines[3], qr/: tipme stop --for-good$/,          '... and how to end it';
is + (tipme_as('status'))[0], 0, 'a recorder runs';
ok wait_until(sub { agents() }), '... and an agent';
ok wait_until(sub { (tipme_as('status', '--json'))[1] =~ /"agents":\s*\[\s*@{[ (agents())[0] ]}\b/ }
), '... which has joined it';
is_deeply [ autostart() ], [qw(tipme-agent.desktop tipme-recorder.desktop)],
	'at login the desktop starts both';
my %exec;

for my $entry (autostart()) {
	my $file = "$home/.config/autostart/$entry";
	is qx{desktop-file-validate "$file" 2>&1}, '', "$entry is what desktops want";
	($exec{$entry}) = slurp($file) =~ /^Exec="([^"]+)"/m;
	ok -x $exec{$entry}, '... of a program that is there' or diag slurp($file);
}
is + (tipme_as('start', '--now-and-at-login'))[0], 0, 'once more, by its other name: no harm';
ok wait_until(sub { agents() == 1 }), '... and no second agent stays';
is + (tipme_as('stop'))[0], 0, 'the recorder ends';
# As at the next login: what the entry says, by a shell as desktops do it.
my ($command) = slurp("$home/.config/autostart/tipme-recorder.desktop") =~ /^Exec=(.*)/m;
is + ($d->run(@person, 'sh', '-c', $command))[0], 0, '... and its entry starts it';
is + (tipme_as('status'))[0],                     0, '... indeed';

($rc, $out, $err) = tipme_as('stop', '--for-good');
is $rc, 0, 'for good' or diag $err;
like $out, qr/\ARecording has ended, also at login\. What you saved stays: /, '... said';
is_deeply [ autostart() ], [], '... nothing is started at login';
is + (tipme_as('status'))[0], 1, '... no recorder runs';
ok wait_until(sub { !agents() }), '... nor an agent';
is + (tipme_as('stop', '--for-good'))[0], 0, 'once more: no harm';

($rc, undef, $err) = tipme_as('start', '--always', '--window', 60);
is $rc, 64, 'with options of the recorder: usage';
like $err,
	qr{^tipme: start: --always: takes no further options: .*TIPMED_OPTIONS in /etc/default/tipme$},
	'... and where they belong';
chmod 0500, "$home/.config/autostart" or die;
($rc, undef, $err) = tipme_as('start', '--always');
is $rc, 1, 'a home where nothing can be written';
like $err,
	qr{^tipme: start: $home/\.config/autostart/tipme-recorder\.desktop: Permission denied: see to that},
	'... is named';
is + (tipme_as('status'))[0], 1, '... and no recorder runs';
chmod 0700, "$home/.config/autostart" or die;
{
	delete local $ENV{SUDO_UID};
	($rc, undef, $err) = $d->run("$ENV{TIPME_BUILDDIR}/tipme", 'start', '--always');
	is $rc, 1, 'root, without systemd';
	like $err, qr/^tipme: start: no systemd runs here: root has no service to enable: /,
		'... and what to do';
}
{
	# With systemd, whose manager does not answer here: systemctl says why, and nothing else is set
	# up.
	mkdir '/run/systemd'        or die $!;
	mkdir '/run/systemd/system' or die $!;
	($rc, undef, $err) = tipme_as('start', '--always');
	is $rc, 1, 'a service that cannot be enabled';
	like $err,
		qr/^tipme: start: tipmed\.service: systemctl enable failed \(\d+\): do it with sudo/m,
		'... and what to do';
	($rc, undef, $err) = tipme_as('start', '--ask');
	like $err, qr/^tipme: start: tipmed\.service: systemctl start failed/m,
		'... nor started by a button';
	is_deeply [ autostart() ], [], '... and the agent is left alone';
}
$x->stop;
done_testing;
