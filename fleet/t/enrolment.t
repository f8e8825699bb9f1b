#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A machine takes part in a fleet only if its user says so; only files for that fleet carry a
# number.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
my ($src, $tmp);
BEGIN { $src = "$Bin/../.."; $tmp = tempdir(CLEANUP => 1) }
use lib "$src/fleet/lib", "$src/postmortem/lib", "$src/postmortem/t/lib", "$src/abi/lib",
	"$src/abi/generated";
use Tipme::Bundle;
use Tipme::Enrolment;
use Tipme::Test::Story;

local $ENV{XDG_CONFIG_HOME} = "$tmp/config";
local $ENV{TIPME_LIBRARY}   = "$tmp/library";
my $verb = "$^X $src/postmortem/bin/tipme-postmortem";

# (what it printed, exit status)
sub run { my ($command) = @_; my $said = qx{$verb $command 2>&1}; return ($said, $? >> 8) }

my $dir = Tipme::Test::Story->new->enter(1000)->run(1, 1000.25, 1801, 200, 'sleeping')->draw(1800.9)
	->hotkey(3000)->builder->write("$tmp/episode");

my ($said, $rc) = run("bundle $dir -o $tmp/early.tipme --yes --fleet office");
is $rc, 1, 'no file for a fleet that was not joined';
like $said,
	qr/^tipme: bundle: office: this machine takes no part in it: run `tipme fleet join office` first$/,
	'... and what to do';
ok !-e "$tmp/early.tipme", '... nothing was written';

($said, $rc) = run('fleet join office');
is $rc, 0, 'joined' or diag $said;
my ($id) = $said =~ /this machine is ([0-9a-f]{32})$/m;
isnt $id, undef, 'a number of 128 bits';
is((stat "$tmp/config/tipme/fleets/office")[2] & 07777, 0600, '... that others cannot read');
like + (run('fleet join office'))[0], qr/^tipme: fleet: office: joined already: /, 'not twice';
(my $other) = (run('fleet join lab'))[0] =~ /is ([0-9a-f]{32})$/m;
isnt $other, $id, 'another fleet, another number';

sub machine_in {
	my ($file) = @_;
	return Cpanel::JSON::XS->new->utf8->decode(
		Tipme::Bundle->texts_of($file, 'manifest.json')->{'manifest.json'})->{fleet};
}
is_deeply [ (run("bundle $dir -o $tmp/plain.tipme --yes"))[1], machine_in("$tmp/plain.tipme") ],
	[ 0, undef ], 'an ordinary bundle has no number';
is_deeply [ (run("bundle $dir -o $tmp/mine.tipme --yes --fleet office"))[1],
	machine_in("$tmp/mine.tipme") ], [ 0, { name => 'office', machine => $id } ],
	'one for the fleet has that of this fleet';
is_deeply [ (run("open $tmp/mine.tipme -o $tmp/opened"))[1] ], [0], '... and opens as any other';

my ($new) = (run('fleet rotate office'))[0] =~ /is ([0-9a-f]{32})$/m;
isnt $new,                     $id,                           'a new number on request';
is + (run('fleet joined'))[0], "lab  $other\noffice  $new\n", 'where this machine takes part';
($said, $rc) = run("fleet present office --hours 38.5 --week 2900 -o $tmp/here.tipme-presence");
is $rc, 0, 'for how long it recorded' or diag $said;
open my $in, '<', "$tmp/here.tipme-presence" or die "$!\n";
my $p = Cpanel::JSON::XS->new->utf8->decode(scalar <$in>);
is_deeply [ sort keys %$p ], [ sort qw(fleet machine week hours kernel version) ],
	'... in a file that says no more than that';
is_deeply [ @$p{qw(fleet machine week hours)} ], [ 'office', $new, 2900, 38.5 ],
	'... by its number there';
is + (run("fleet present office --hours 169 -o $tmp/x"))[0],
	"tipme: fleet: --hours 169: a week has 0 to 168\n", 'a week is no longer';
is + (run('fleet leave office'))[1], 0,     'left';
is Tipme::Enrolment::id('office'),   undef, '... and forgotten';
like + (run('fleet leave office'))[0], qr/^tipme: fleet: office: was not joined$/, 'once only';
like + (run('fleet join ../x'))[0],    qr/is no name of a fleet/, 'a path is no name';
open my $bad, '>', "$tmp/config/tipme/fleets/lab" or die "$!\n";
print {$bad} "nothing\n";
close $bad;
like + (run("bundle $dir -o $tmp/no.tipme --yes --fleet lab"))[0],
	qr/holds no enrolment: leave and join the fleet again/, 'a file that was spoiled is no number';

is + (run('fleet'))[1], 64, 'no verb: a wrong use';
like + (run('fleet frobnicate'))[0],
	qr/^tipme: fleet: frobnicate: no such verb: see tipme fleet --help$/, 'no such verb';
like + (run('fleet --help'))[0], qr/ingest .*bundles from a folder/, 'what there is';
for my $v (
	qw(setup ingest top trend cluster show report maintain roles join leave rotate joined present))
{
	my ($help, $exit) = run("fleet $v --help");
	ok $exit == 0 && $help =~ /\Ausage: tipme fleet $v\b.*^  tipme fleet $v\b/ms,
		"$v: help with an example"
		or diag $help;
	unlike $help, qr/^.{101,}/m, '... in 100 columns';
}
done_testing;
