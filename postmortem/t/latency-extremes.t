#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Latencies that are rarer than what was measured for: the fit, its intervals by simulation, and
# what it refuses. With TIPME_TEST_ALL=1 ten times as many simulations. Seeded: the same each time.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use List::Util qw(max);
use Test::More;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../../abi/lib", "$FindBin::Bin/../../abi/generated";
use Tipme::Latency::Extremes qw(fit level);
use Tipme::Latency::Report;
use Tipme::Latency::Result;
use Tipme::Latency::Worst qw(use_of);

my $state;
my $dir = tempdir(CLEANUP => 1);

sub drawn {
	$state = ($state * 1_103_515_245 + 12_345) & 0x7fffffff;
	return ($state + 0.5) / 0x80000000;
}

# A permutation in which neighbours have nothing to do with each other.
sub mixed {
	my (@m) = @_;
	return map { $m[ ($_ * 37) % @m ] } 0 .. $#m;
}

subtest 'by hand' => sub {
	# Gumbel's with place 1000 and scale 100: the k-th of n lies at 1000 - 100 log(-log((k - 0.5) /
	# n)).
	my $f = fit(mixed(map { 1000 - 100 * log(-log(($_ - 0.5) / 101)) } 1 .. 101));
	is($f->{refused}, undef, 'fitted');
	cmp_ok(abs($f->{place} - 1000), '<', 10,   'the place');
	cmp_ok(abs($f->{scale} - 100),  '<', 5,    'the scale');
	cmp_ok(abs($f->{shape}),        '<', 0.05, 'the shape of Gumbel\'s is 0');
	my $l = level($f, 1000);
	# One in a thousand blocks: 1000 + 100 log(1000) = 1690.8.
	cmp_ok(abs($l->{us} - 1690.8), '<', 60, 'one in a thousand blocks');
	ok($l->{least_us} < 1690.8 && $l->{most_us} > 1690.8, '... in its interval');
	cmp_ok(
		$l->{most_us} - $l->{us},
		'>', $l->{us} - $l->{least_us}, '... which is wider above: the data say less of that'
	);
	is_deeply(
		level($f, 1011), { refused => 'too far beyond', needs => 101.1 },
		'more than ten times what was measured is refused'
	);
};

subtest 'what is refused' => sub {
	is_deeply(fit(1 .. 29), { refused => 'too few blocks', needs => 30 }, 'few blocks');
	is(
		fit(map { 20 + $_ % 3 } 1 .. 60)->{refused},
		'the longest of the blocks hardly differ',
		'times that hardly differ'
	);
	my $f = fit(map { $_ < 30 ? 1000 + 3 * ($_ * 37 % 30) : 100 + ($_ * 37 % 30) } 0 .. 59);
	is($f->{refused}, 'stalls last longer than a block', 'half of the time it was otherwise');
	is($f->{needs},   120,                               '... with the time that it takes');
};

# Latencies; a hundred make a block.
my %TAIL = (
	exponential => [ sub { return -100 * log drawn() }, sub { return -100 * log $_[0] } ],
	Pareto      => [ sub { return 50 * drawn()**-0.4 }, sub { return 50 * $_[0]**-0.4 } ],
	bimodal     => [
		sub { return drawn() < 0.004 ? 2000 + 1000 * drawn() : 100 * drawn() },
		sub { return 3000 - 1000 * $_[0] / 0.004 }
	],
);
my $RUNS = $ENV{TIPME_TEST_ALL} ? 200 : 20;

# How many of so many recordings have an interval, and how many of these hold the true level.
sub simulated {
	my ($name, $blocks, $of, $together) = @_;
	my ($draw, $level)                  = @{ $TAIL{$name} };
	my ($given, $in)                    = (0, 0);
	$state = 7;
	for (1 .. $RUNS) {
		my @longest = map {
			max map { $draw->() }
				1 .. 100
		} 1 .. $blocks + $together;
		my $f = fit(map { int max @longest[ $_ .. $_ + $together - 1 ] } 0 .. $blocks - 1);
		next if $f->{refused};
		my $l = level($f, $of);
		$given++;
		my $true = $level->(1 / (100 * $of));
		$in++ if $l->{least_us} <= $true && (!defined $l->{most_us} || $true < $l->{most_us} + 1);
	}
	note "$name, $blocks blocks, $together together: $in of $given, $RUNS recordings";
	return ($given, $in);
}

subtest 'intervals cover as often as they say' => sub {
	for my $name (qw(exponential Pareto)) {
		# An hour tells of eight.
		my ($given, $in) = simulated($name, 60, 480, 1);
		cmp_ok($given,       '>=', 0.85 * $RUNS, "$name: most are fitted");
		cmp_ok($in / $given, '>=', 0.9,          "... and $in of $given hold the true level");
	}
	# The worst come of the rarer of two kinds of stall, which most blocks have none of.
	my ($given) = simulated('bimodal', 60, 480, 1);
	is($given, 0, 'bimodal: refused');
	# A stall makes three blocks in a row alike.
	(my $few, my $in) = simulated('exponential', 60, 480, 3);
	cmp_ok($few, '<=', 0.1 * $RUNS, 'stalls over three blocks: an hour does not tell');
	($given, $in) = simulated('exponential', 240, 960, 3);
	cmp_ok($in, '>=', 0.8 * $given, "... of four hours $in of $given that are told are right");
};

subtest 'in a report' => sub {
	$state = 3;
	my @longest = map { int(-1000 * log(drawn() / 100)) } 1 .. 60;
	my $file    = "$dir/hour.json";
	open my $h, '>', $file or die;
	print {$h} Cpanel::JSON::XS->new->encode(
		{
			format   => 'tipme latency', version => 1, kernel => 'k', source => 'user',
			complete => 1, duration_s => 3600, period_us => 1000,
			stages   => [
				{
					stage => 'total_user', count => 60, sum_ns => 1, max_ns => 1000 * max(@longest),
					buckets => [ [ 1, 59 ], [ max(@longest), 1 ] ]
				}
			],
			blocks => { seconds => 60, last_s => 0, max_us => { total_user => \@longest } }
		}
	);
	close $h;
	my $r    = Tipme::Latency::Result->read($file);
	my $d    = Tipme::Latency::Report::data($r, use_of('1,8,5'));
	my $text = Tipme::Latency::Report::text($d, $r);
	my (undef, $day, $week) = @{ $d->{stages}[0]{worst} };
	ok(
		$day->{fitted}{us} > 5000 && $day->{fitted}{most_us} > $day->{fitted}{us},
		'a day of eight hours is told of one'
	);
	like($text, qr/ ~\d\S* m?s  \d\S* m?s to \d/, '... marked, with its interval');
	is($week->{fit_needs_s}, 4 * 3600, 'a week of forty hours takes four');
	like(
		$text,
		qr/^~: beyond what was measured, by a fit: .*60 times 60 s.*\n.*that takes 4 h/m,
		'... and the words say so'
	);
	unlike($text, qr/^.{101,}/m, 'in 100 columns');
	like(Tipme::Latency::Report::page(use_of('1,8,5'), $r), qr/~\d.*by a fit/s, 'the page, too');
};
done_testing;
