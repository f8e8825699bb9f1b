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
use Tipme::Fleet::Lag;
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
is_deeply [
	(run("bundle $dir -o $tmp/mine.tipme --yes --fleet office"))[1],
	machine_in("$tmp/mine.tipme")
	],
	[ 0, { name => 'office', machine => $id } ],
	'one for the fleet has that of this fleet';
is_deeply [ map { (stat "$tmp/$_.tipme")[2] & 07777 } qw(plain mine) ], [ 0600, 0640 ],
	'... and can be read by the group of a spool, which the other cannot';
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
# What a profile counted: sums, by application and kind of input, and no time but the week.
sub profile {
	my ($file, @apps) = @_;
	my $stage = {
		count   => 3, sum_ns => 700_000_000, max_ns => 400_000_000,
		buckets => [
			[ 100_352, 1, 100_400_000 ], [ 199_680, 1, 199_700_000 ], [ 397_312, 1, 399_900_000 ]
		]
	};
	my $none    = { count => 3, sum_ns => 0, max_ns => 0, buckets => [ [ 0, 3, 0 ] ] };
	my %profile = (
		format => 'tipme profile', version => 1, recorder => '0.1.0', began => '2026-06-03T09:17Z',
		kernel => '6.12.6-amd64',  machine => 'x86_64', cpus => 4, source => 'x_hooks', exact => 1,
		(map { $_ => 0 } qw(lost_records lost_answers own_cpu_ns key_times)), minutes_of_row => 1,
		minutes_of_machine_row => 1, duration_ns => 6e10, thresholds_ms => [150], apps => [],
		pairs                  => [
			map {
				{
					app            => $_, kind => 'key', events     => 3, answered => 3, ahead => 0,
					without_effect => 0,  gone => 0,     unanswered => 0,
					stages         => [
						(map { { stage => $_, %$none } } qw(read sent drawn)),
						(map { { stage => $_, %$stage } } qw(finished response))
					]
				}
			} @apps
		],
		rows => [
			map {
				{
					minute => 1,   app    => $_,  kind => 'key', events => 3, answered => 3,
					sum_ns => 7e8, max_ns => 4e8, over => [2]
				}
			} @apps
		],
		machine_rows => [],
		worst        => []
	);
	open my $out, '>', $file or die "$!\n";
	print {$out} Cpanel::JSON::XS->new->encode(\%profile);
	close $out or die "$!\n";
	return;
}
profile("$tmp/monday.json", 'gedit', 'bank');
like + (run("fleet counts office $tmp/monday.json --yes -o $tmp/m.tipme-counts"))[0],
	qr/monday\.json: was written just now: end its recording, or wait two minutes$/,
	'a profile that may still grow is not sent';
utime time - 600, time - 600, "$tmp/monday.json";
($said, $rc) = run("fleet counts office $tmp/monday.json -o $tmp/m.tipme-counts < /dev/null");
is $rc, 1, 'nothing without a yes';
like $said, qr/^  gedit +key +3 +2 +0\.7 s$/m, '... what would go in is shown';
ok !-e "$tmp/m.tipme-counts", '... nothing is written';
($said, $rc) = run("fleet counts office $tmp/monday.json --app gedit --yes -o $tmp/m.tipme-counts");
is $rc, 0, 'counts of one application' or diag $said;
open $in, '<', "$tmp/m.tipme-counts" or die "$!\n";
my $text = <$in>;
my $sent = Cpanel::JSON::XS->new->utf8->decode($text);
is_deeply $sent,
	{
	fleet   => 'office',      machine => $new, week => 2943, kernel => '6.12.6-amd64',
	version => 'tipme 0.1.0', profile => ($text =~ /"profile":"([0-9a-f]{16})"/)[0],
	counts  =>
		[ { application => 'gedit', input => 'key', answers => 3, late => 2, waited_ns => 7e8 } ]
	},
	'... are all that is in the file: no time but the week';
my ($counted) = Tipme::Fleet::Lag::of_counts("$tmp/m.tipme-counts", fleet => 'office');
is $counted->{application},          'gedit', '... which the fleet reads';
is + (run('fleet leave office'))[1], 0,       'left';
is Tipme::Enrolment::id('office'),   undef,   '... and forgotten';
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
	qw(setup ingest top trend cluster show report maintain roles),
	qw(join leave rotate joined present counts)
	)
{
	my ($help, $exit) = run("fleet $v --help");
	ok $exit == 0 && $help =~ /\Ausage: tipme fleet $v\b.*^  tipme fleet $v\b/ms,
		"$v: help with an example"
		or diag $help;
	unlike $help, qr/^.{101,}/m, '... in 100 columns';
}
done_testing;
