#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Operations that a script has named: each event has the right one; the figures by hand; which
# trials are cold; what is no such file is refused.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/../lib";
use Tipme::Profile::Operations;

my $dir = tempdir(CLEANUP => 1);
my $MS  = 1_000_000;
my $o   = Tipme::Profile::Operations->read(
	file(
		"100 x\n", "= 1000 page down\n", "1100 page_down\n", "2000  \n", "= 5000 save\n",
		"= 9000 \n"
	)
);
my @events = map { event(@$_) } [ 500, 9 ], [ 1000, 10 ], [ 1100, 12 ], [ 1200, 14 ],
	[ 5000, 300 ], [ 6000, 2, 1 ], [ 9500, 50 ];
is_deeply [ map { $_->{operation} } $o->named(@events) ],
	[ '', ('page down') x 3, ('save') x 2, '' ], 'each event has its operation';
is_deeply [ map { [ $_->{operation}, $_->{response_ns} / $MS ] } $o->longest(@events) ],
	[
	[ save => 300 ], [ '', 50 ], [ 'page down', 14 ], [ 'page down', 12 ], [ 'page down', 10 ],
	[ '', 9 ]
	],
	'table 1: the longest first, named where a name is known';
my ($down, $save) = $o->trials(@events);
is_deeply [
	@$down{qw(operation events answered cold mean_ns deviation_ns median_ns max_ns until)} ],
	[ 'page down', 3, 3, 0, 12 * $MS, 2 * $MS, 12 * $MS, 14 * $MS, 'screen' ], 'mean and deviation';
is_deeply [ @$save{qw(events answered until median_ns deviation_ns)} ],
	[ 2, 1, 'screen', 300 * $MS, undef ],
	'what had no effect is no answer';
my ($vain) = $o->trials(map { event(1000 + $_, 3, 1) } 1 .. 4);
is_deeply [ @$vain{qw(events answered until mean_ns)} ], [ 4, 0, 'rest', 3 * $MS ],
	'... unless nothing had one: until the program rested';
my ($gone) = $o->trials(event(1100, 3, 2));
is_deeply [ @$gone{qw(events answered mean_ns median_ns max_ns)} ], [ 1, 0, undef, undef, undef ],
	'one whose program ended has no figure';
my @usual = map { 10 + $_ % 3 } 1 .. 32;
is Tipme::Profile::Operations::cold(40, 20, @usual), 2, 'two first ones are cold';
is Tipme::Profile::Operations::cold(@usual, 40),     0, 'a long one at the end is none';
is Tipme::Profile::Operations::cold(10, 40, @usual), 0, '... nor one behind a usual one';
is Tipme::Profile::Operations::cold(map { 100 - $_ } 1 .. 40), 0,
	'what gets better slowly, neither';
is Tipme::Profile::Operations::cold((90) x 20, @usual[ 0 .. 3 ]), 0, '... nor what most are like';
is Tipme::Profile::Operations::cold(5),                           0, 'one alone is not cold';

for my $bad ("nonsense\n", "= x\n", "= 5", "5 x\n", '') {
	ok !eval { Tipme::Profile::Operations->read(file($bad)); 1 }, 'no operations: refused';
	like $@, qr/^\S+: (?:line 1: not what|names no operation)/, '... by a sentence';
}
done_testing;

sub event {
	my ($ns, $ms, $outcome) = @_;
	return {
		entered_ns  => $ns, app => 'a', kind => 'key', outcome => $outcome // 0,
		response_ns => $ms * $MS
	};
}

sub file {
	my (@lines) = @_;
	open my $h, '>', "$dir/o" or die;
	print {$h} @lines;
	close $h or die;
	return "$dir/o";
}
