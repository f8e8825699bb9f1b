#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# No input event at all: which thread stood still longest.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Test::Judge;
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, KWORKER => 50, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;

sub opened {
	my ($s) = @_;
	return Tipme::Diagnosis->new(Tipme::Episode->open($s->builder->write("$tmp/i" . ++$n)));
}
sub ns    { return Tipme::Test::Story::ns($_[0]) }
sub story { return Tipme::Test::Story->new(@_) }

# No input event at all: what stood still longest; a nice process, a kernel thread, and what came
# after the trigger do not count.
my $ring = Tipme::Test::Episode->new(trigger_ns => 3000 * MS, end_ns => 4000 * MS, first_ns => MS);
$ring->thread(@$_) for [ 10, 'desk' ], [ 11, 'hog' ], [ 12, 'kswapd0', flags => 1 ],
	[ 13, 'nicely', prio => 139 ], [ 14, 'later' ];
$ring->switch(0, 2 * MS, 999, 0, 'sleeping')->switch(1, 2 * MS, 999, 11, 'sleeping');
$ring->wake(0, 500 * MS, 13, 0, context => 'hardirq', prio => 139)
	->wake(0, 600 * MS,  12, 0, context => 'hardirq')
	->wake(0, 1000 * MS, 10, 0, context => 'hardirq');
$ring->switch(1, 1700 * MS, 11, 10, 'runnable', prev_preempted => 1)
	->switch(1, 1701 * MS, 10, 12, 'sleeping')
	->switch(1, 1702 * MS, 12, 13, 'sleeping', next_prio => 139)
	->switch(1, 1703 * MS, 13, 11, 'sleeping', prev_prio => 139)
	->wake(0, 3001 * MS, 14, 0, context => 'hardirq')
	->switch(1, 3990 * MS, 11, 14, 'runnable', prev_preempted => 1);
my $stall = Tipme::Diagnosis->new(Tipme::Episode->open($ring->write("$tmp/stall")))->run;
is(
	"$stall->{verdict}{kind} $stall->{verdict}{blamed}{comm}", 'cpu-contention hog',
	'no input event: the worst stall'
);
is(
	"$stall->{interval}{start_ns} $stall->{interval}{end_ns}", 1000 * MS . ' ' . 1700 * MS,
	'from when to when'
);
like(
	$stall->{verdict}{sentence},
	qr/^desk \(pid 10\) was woken and did not run for 700 ms, the longest here: for 700 ms \(100 %\) it waited for a CPU taken by "hog" \(pid 11\)\. \(No X server was recorded/,
	'in words'
);
# Asked for a time, the one that lasted then, or the nearest; it is what servers that nobody records
# are left with.
$ring->wake(0, 2000 * MS, 14, 0, context => 'hardirq')
	->switch(1, 2200 * MS, 11, 14, 'runnable', prev_preempted => 1)
	->switch(1, 2201 * MS, 14, 11, 'sleeping');
my $two = Tipme::Episode->open($ring->write("$tmp/two-stalls"));
for (
	[ -1.9, 'desk',  700, 'the longest at that time' ],
	[ -0.9, 'later', 200, 'the longest at that time' ],
	[ -0.1, 'later', 200, 'the nearest to that time' ]
	)
{
	my ($at, $comm, $long, $words) = @$_;
	like(
		Tipme::Diagnosis->new($two)->run(at => $at)->{verdict}{sentence},
		qr/^$comm \(pid \d+\) was woken and did not run for $long ms, $words: /, "at $at s: $comm"
	);
}
my $calm = Tipme::Test::Episode->new(trigger_ns => 3000 * MS, end_ns => 4000 * MS, first_ns => MS)
	->thread(10, 'desk')->switch(0, 2 * MS, 10, 0, 'sleeping');
for (undef, -1) {
	my $none =
		Tipme::Diagnosis->new(Tipme::Episode->open($calm->write("$tmp/calm" . (defined ? 1 : 0))))
		->run(at => $_)->{verdict};
	like(
		"$none->{kind} $none->{sentence}",
		qr/^unknown No X server was recorded.* No thread of a program stood still for 100 ms\.$/,
		'nothing stood still: said'
	);
}
require Tipme::Timeline;
ok(
	length Tipme::Report::Text::page($stall) && Tipme::Report::JSON::data($stall),
	'page and JSON can be made'
);

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
