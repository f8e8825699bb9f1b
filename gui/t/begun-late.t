#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The kernel's records begin after the press, as they do where there were too many: what threads did
# before is in the window what diagnose takes it to be, and the window says so. Without a display.
use strict;
use warnings;
use Cpanel::JSON::XS qw(decode_json);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use Test::More;
use lib "$Bin/../../tests/lib", "$Bin/../../postmortem/t/lib", "$Bin/../../postmortem/lib",
	"$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::SameNumbers qw(differences);
use Tipme::Test::Story;

use constant { MS => 1_000_000, CLIENT => 200, HOG => 901 };
my $BUILD = $ENV{TIPME_BUILDDIR} // die "TIPME_BUILDDIR is not set: run it by make check\n";
my $tmp   = tempdir('tipme-late-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $LATE  = 1300 * MS;
local $ENV{TIPME_LIBRARY} = "$tmp/library";
local $ENV{TIPME_RUNDIR}  = "$tmp/norecorder";
local $ENV{HOME}          = $tmp;

# A program takes the only CPU from 1,000 to 1,900 ms, while a key waits.
my $story   = Tipme::Test::Story->new->enter(1000);
my $builder = $story->builder;
$builder->thread(HOG, 'hog', ts_ns => 900 * MS, state => 'runnable');
$story->run(1, 1000.1, 1900, HOG, 'runnable', preempted => 1, next => CLIENT);
$builder->switch(1, 1901 * MS, CLIENT, 0, 'sleeping');
$story->draw(1900.9)->hotkey(3000);
$builder->{first_ns} = $LATE;

for my $records (map { values %$_ } values %{ $builder->{rec}{'kernel.rec'} }) {
	@$records = grep { $_->[0] >= $LATE } @$records;
}
my $episode = $builder->write("$tmp/20261120-150306-ffff");

sub told {
	open my $pipe, '-|', "$BUILD/tipme", @_ or die "tipme: $!\n";
	local $/;
	return scalar(<$pipe>) // '';
}

sub rows {
	my ($name, $text) = @_;
	return map { [ split /\t/ ] } map { /^\Q$name\E\t(.*)/ ? $1 : () } split /\n/, $text;
}

my $interval = decode_json(told('diagnose', '--json', $episode))->{interval};
cmp_ok $interval->{start_ns}, '<', $LATE, 'records that begin after the press';
my $dump = told('gui', '--dump', '--lane', 'xterm', $episode);
my %sum  = map { ("$_->[0] $_->[1]" => $_->[2] + $_->[3] + $_->[4]) } rows('sum', $dump);
is $sum{ 'thread ' . CLIENT }, $interval->{duration_ns},
	'a lane tells what its thread did from the press on';
is_deeply differences("$BUILD/tipme", $episode)->{differ}, [], 'the same numbers as diagnose';
cmp_ok $sum{'cpu 1'}, '<=', $interval->{end_ns} - $LATE, 'of a CPU nothing is told before';
like $dump, qr/^said\s+The kernel's records begin 300 ms after the problem: /m, 'it is said';
my ($span) = rows('span', $dump);
like $span->[3], qr/ \(inferred: /, '... and at that stretch, too';
done_testing;
