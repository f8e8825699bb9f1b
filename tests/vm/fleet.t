#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The units of a fleet under a running systemd: who installs the package makes the user and the
# folders, enables the timers, and files that a transport brings become rows.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Copy       qw(copy);
use File::Path       qw(make_path);
use FindBin;
use Test::More;

use lib map {"$FindBin::Bin/$_"} qw(lib ../lib ../../fleet/t/lib ../../fleet/lib),
	map {"../../$_"} qw(postmortem/lib abi/lib abi/generated);
use Tipme::Desktop     qw(payload ok_run no_complaint);
use Tipme::Test::Fleet qw(rows bundle small_file presences);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $payload = payload();
my $brought = "$payload/opt/brought";
make_path($brought);
# What this root has not; the package depends on it.
make_path("$payload/usr/share/perl5/Statistics");
copy('/usr/share/perl5/Statistics/Distributions.pm', "$payload/usr/share/perl5/Statistics")
	or BAIL_OUT("Statistics/Distributions.pm: $!");
my @rows = rows(3, machines => 2);
bundle("$brought/$_.tipme", $rows[$_]) for 0 .. $#rows;
small_file("$brought/here.tipme-presence", (presences(machines => 1, weeks => 1))[0]);
open my $junk, '>', "$brought/junk.tipme" or BAIL_OUT("junk.tipme: $!");
print {$junk} 'x' x 1000;
close $junk;
chmod 0640, glob "$brought/*";
utime time - 3600, time - 3600, "$brought/junk.tipme";

my $SPOOL  = '/var/spool/tipme';
my @TIMERS = map {"tipme-fleet-$_.timer"} qw(ingest maintain);
my $vm     = Tipme::VM->new(kernel => $ENV{TIPME_TEST_KERNELS} // '6.1', payload => $payload);

ok_run($vm, 'systemd-sysusers',                           'its system user is made');
ok_run($vm, 'systemd-tmpfiles --create tipme-fleet.conf', '... and its folders');
is scalar $vm->run("stat -c '%U %G %a' $SPOOL $SPOOL/refused /var/lib/tipme-fleet"),
	"tipme-fleet tipme-fleet 3770\ntipme-fleet tipme-fleet 700\ntipme-fleet tipme-fleet 750\n",
	'... as they should be';
ok_run($vm, 'systemctl daemon-reload', 'systemd reads the units');
is scalar $vm->run("systemctl is-enabled $_"), "disabled\n", "installing it does not enable $_"
	for @TIMERS;
ok_run($vm, 'runuser -u tipme-fleet -- tipme fleet setup', 'its administrator makes the tables');
ok_run($vm, "systemctl enable --now @TIMERS",              '... and enables the timers');
is scalar $vm->run("systemctl is-active $_"), "active\n", "$_ is active" for @TIMERS;
like scalar $vm->run('systemctl show -P NextElapseUSecRealtime tipme-fleet-maintain.timer'),
	qr/\d{4}-\d\d-01 /, '... the latter until the first of a month';

# A person of its group, whoever that is: what a transport is here.
my ($group) = $vm->run('getent group tipme-fleet') =~ /^tipme-fleet:[^:]*:(\d+):/;
isnt $group, undef, 'there is a group of those who bring files';
my $as = 'setpriv --reuid=1000 --regid=1000 --groups=' . ($group // 0) . ' --';
(undef, my $rc) =
	$vm->run("setpriv --reuid=1000 --regid=1000 --clear-groups -- cp /opt/brought/0.tipme $SPOOL");
isnt $rc, 0, 'who is not of the group brings none';
$vm->run('chown -R user /opt/brought');
ok_run($vm, "$as sh -c 'cp -p /opt/brought/* $SPOOL'", 'who is of it brings some');
isnt scalar(($vm->run("$as mv $SPOOL/refused $SPOOL/mine"))[1]), 0,
	'... and cannot take away the folder of what was refused';

# Each five minutes, by the clock of the machine: it is set to shortly before.
my ($now) = $vm->run('date +%s') =~ /(\d+)/;
$vm->run(sprintf 'date -s @%d', $now - $now % 300 + 297);
$vm->wait_for('the timer has had them taken', "! ls $SPOOL | grep -q tipme");
$vm->wait_for(
	'its service has ended',
	'test "$(systemctl show -P ActiveState tipme-fleet-ingest)" = inactive'
);
is scalar $vm->run('systemctl show -P Result tipme-fleet-ingest'), "success\n",
	'it ends well, though one was refused'
	or diag scalar $vm->run('journalctl -u tipme-fleet-ingest -n 20 --no-pager');
is scalar $vm->run("ls -1 $SPOOL/refused"), "junk.tipme\njunk.tipme.why\n",
	'what is no bundle lies aside, with the reason';
my $said = $vm->run('runuser -u tipme-fleet -- tipme fleet top --all --json 2>/dev/null');
my $top  = eval { Cpanel::JSON::XS->new->decode($said) } // {};
my $lags = 0;
$lags += $_->{lags} for @{ $top->{rows} // [] };
is $lags,                                          3, 'the others are rows' or diag $said;
isnt scalar(($vm->run("$as tipme fleet top"))[1]), 0, '... which who brings files cannot read';

# Where nothing lies, nothing is started.
$vm->run('systemctl start tipme-fleet-ingest');
is scalar $vm->run('systemctl show -P ConditionResult tipme-fleet-ingest'), "no\n",
	'an empty spool starts nothing';
ok_run($vm, 'systemctl start tipme-fleet-maintain', 'the monthly one');
is scalar $vm->run('systemctl show -P Result tipme-fleet-maintain'), "success\n", '... ends well';
ok_run($vm, "systemctl disable --now @TIMERS", 'and all of it is off again');
is scalar $vm->run("systemctl is-enabled $_"), "disabled\n", "... $_" for @TIMERS;
no_complaint($vm);
$vm->close;
done_testing;
