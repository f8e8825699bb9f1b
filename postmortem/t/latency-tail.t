#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What follows from a distribution of latencies. Each formula has a case that is worked by hand;
# the arithmetic of 1999 is in latency-1999.t.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use Test::More;
use lib map {"$FindBin::Bin/$_"} qw(lib ../lib ../../abi/lib ../../abi/generated);
use Tipme::Test::Files qw(slurp spew);
use Tipme::Command::Latency;
use Tipme::Latency::Result;
use Tipme::Latency::Schedule qw(pseudo_worst_us schedulability read_tasks);
use Tipme::Latency::Tails    qw(tails worst_level);
use Tipme::Latency::Underrun qw(client mttf);
use Tipme::Statistics        qw(poisson_interval proportion_interval rate_ratio quantile_ranks);

my $dir = tempdir(CLEANUP => 1);

subtest 'intervals agree with published tables' => sub {
	# Garwood 1936, as in Pearson and Hartley, Biometrika Tables, table 40.
	my %table = (
		0  => [ 0, 3.689 ], 1 => [ 0.0253, 5.572 ], 3 => [ 0.6187, 8.767 ], 10 => [ 4.795, 18.39 ],
		50 => [ 37.11, 65.92 ]
	);
	for my $k (sort { $a <=> $b } keys %table) {
		near([ poisson_interval($k) ], $table{$k}, 1e-3, "a count of $k");
	}
	near([ proportion_interval(3,  20) ], [ 0.0321, 0.3789 ], 2e-3, '3 of 20');
	near([ proportion_interval(0,  20) ], [ 0,      0.1684 ], 1e-3, '0 of 20: 1 - 0.025^(1/20)');
	near([ proportion_interval(20, 20) ], [ 0.8316, 1 ],      1e-3, '20 of 20');
	# Rare events of many are Poisson; where both ways of computing meet they must agree.
	my @poisson = map { $_ / 1e6 } poisson_interval(3);
	near([ proportion_interval(3, 1_000_000) ], \@poisson, 2e-2, '3 of a million is Poisson');
	# Far more on one side: the library's F is no number there.
	near(
		[ proportion_interval(150, 60_000) ], [ map { $_ / 60_000 } poisson_interval(150) ], 1e-2,
		'150 of 60,000 is nearly Poisson'
	);
	near([ proportion_interval(450, 10_450) ], [ 0.03925, 0.04713 ], 1e-3, '450 of 10,450');
	near(
		[ proportion_interval(499, 998) ], [ proportion_interval(501, 1002) ], 5e-3,
		'no step where the approximation begins'
	);
	my @r = rate_ratio(30, 10, 10, 20);
	is $r[0], 6, 'a rate of 3 is six times one of 0.5';
	ok $r[1] < 6 && $r[2] > 6 && $r[1] > 2.5 && $r[2] < 15, '... with an interval around it';
	is_deeply [ rate_ratio(5, 1, 0, 1) ]->[0], undef, 'nothing on one side: no ratio';
	cmp_ok + (rate_ratio(50, 1, 0, 1))[1], '>', 10, '... but a least one';
	is_deeply [ quantile_ranks(50, 0.99) ], [ undef, undef ],
		'50 samples do not bound the 99th percentile';
};

subtest 'intervals cover as often as they say' => sub {
	srand 20_261_122;
	my ($covered, $runs) = (0, 1000);
	for (1 .. $runs) {
		my $k = grep { rand() < 0.01 } 1 .. 500;
		my ($least, $most) = poisson_interval($k);
		$covered++ if $least <= 5 && 5 <= $most;
	}
	# 95 % of 1,000, less four deviations.
	cmp_ok $covered, '>=', 922, "$covered of $runs intervals hold the true mean";
};

# 100 s at 1 ms on one CPU: 99,990 at 5 us, 8 at 7,000 us, 2 at 20,000 us
my $a = write_result('a.json', [ [ 5, 99_990 ], [ 7000, 8 ], [ 20_000, 2 ] ], 20_100_000);

subtest 'mean time to underrun, by hand' => sub {
	my $r = Tipme::Latency::Result->read($a);
	is $r->stage(undef), 'total_user', 'the stage is the whole way to user space';
	is_deeply [ $r->above('total_user', 1000) ], [ 10, 10 ], '10 are above 1 ms';
	# slack 16 - 4 = 12 ms: 2 of 100,000; a cycle of 16 ms each: once in 0.016 / 0.00002 = 800 s
	my $m = mttf($r, 'total_user', client('2x16'));
	is $m->{late}, 2, 'above 12 ms: 2';
	near([ $m->{mttf_s} ], [800], 1e-9, 'once in 800 s');
	my ($least, $most) = poisson_interval(2);
	near(
		[ @$m{qw(least_s most_s)} ], [ 1600 / $most, 1600 / $least ], 1e-9,
		'... with the interval of a count of 2'
	);
	near([ $m->{per_day} ], [108], 1e-9, '108 a day');
	# Section 5 divides by (n - 1) t "for simplicity", and says that this is accurate for two
	# buffers only. Each cycle draws a latency, so the rate is that of t: of four buffers with 16 ms
	# of slack (two latencies above it) the paper's time is three times ours.
	my $four = mttf($r, 'total_user', client('4x6:2'));
	near(
		[ $four->{mttf_s}, 3 * $four->{mttf_s} ], [ 6 * 50, 18 * 50 ], 1e-9,
		'the cycle is t, where the paper takes (n - 1) t'
	);
	my $none = mttf($r, 'total_user', client('4x16'));
	is $none->{mttf_s}, undef, 'none was above 44 ms: no mean';
	# the interval of a count of 0 ends at 3.689
	near([ $none->{least_s} ], [ 1600 / 3.6889 ], 1e-3, '... but once in 434 s at most often');
	# Allowed once in an hour. Two of 100,000 in 1,600 s of cycles: once in 221 to 6,606 s, which
	# has an hour in it. All ten above 1 ms, of 2 ms: once in 10.9 to 41.7 s. None of 10 million
	# cycles: once in 12 h at most often.
	is $m->{works}, undef, 'once in 221 to 6,606 s: it does not say whether that is an hour';
	is mttf($r, 'total_user', client('2x2:1'))->{works}, 0, 'once in 41.7 s at most seldom: no';
	my $quiet = Tipme::Latency::Result->read(write_result('q.json', [ [ 5, 10_000_000 ] ], 5000));
	is mttf($quiet, 'total_user', client('2x16'))->{works}, 1, 'once in 12 h at most often: yes';
	my ($sound) = grep { $_->{name} eq 'audio-128' } Tipme::Latency::Underrun::clients();
	is $sound->{allowed_s}, 600, 'sound may run dry once in ten minutes';
	# 7 ms lies in a bucket from 6976 to 7040 us that the slack cuts
	my $cut = Tipme::Latency::Result->read(
		write_result('cut.json', [ [ 5, 1000 ], [ 6976, 4 ] ], 7_039_000));
	is_deeply [ $cut->above('total_user', 7000) ], [ 0, 4 ],
		'a bucket that the level cuts counts as possibly above';
	for my $bad ('1x4', '2x0', '2x4:5', 'modem', '2x-4', '') {
		ok !eval { client($bad); 1 }, "client '$bad' is refused";
		like $@, qr/^client \Q$bad\E: /, '... by a sentence';
	}
};

subtest 'drivers' => sub {
	# A driver of 5 ms in 100 goes before a task of 2 ms in 10, and blocking is 1 ms: 1 + 2 + 5.
	my @tasks = tasks('drivers', "a 10 2\n+net 100 5\n");
	is(
		join(' ', map { $_->{name} } @tasks), 'net a',
		'a driver goes before all tasks, whatever its period'
	);
	my $s = schedulability(1000, 0, @tasks);
	is_deeply(
		[ map { $_->{response_us} } @{ $s->{tasks} } ], [ 6000, 8000 ],
		'... and they wait for it'
	);
	is join(' ', map { $_->{name} } tasks('plain', "a 10 2\nnet 100 5\n")), 'a net',
		'without the sign it goes by rate';
};

subtest 'schedulability, by hand' => sub {
	# Liu and Layland 1973: three tasks, 3 (2^(1/3) - 1) = 0.7798
	my @tasks = tasks('t1', "a 4 1\nb 5 1\nc 10 3\n");
	my $s     = schedulability(0, 0, @tasks);
	near(
		[ $s->{liu_layland}, $s->{load}, $s->{hyperbolic} ], [ 0.77976, 0.75, 1.25 * 1.2 * 1.3 ],
		1e-5,                                                'both bounds'
	);
	# c: 3 + 1 + 1 = 5; at 5: ceil(5/4) + ceil(5/5) = 3, 6; at 6: 2 + 2 = 4, 7; at 7: 2 + 2, 7
	is_deeply [ map { $_->{response_us} / 1000 } @{ $s->{tasks} } ], [ 1, 2, 7 ],
		'response times 1, 2, 7 ms';
	ok $s->{meets}, 'all deadlines are met';
	# a latency of 3 ms blocks each; two buffers: one cycle takes it whole. a: 3 + 1 = 4; b: 3 + 1 +
	# 1 = 5 -> at 5: 2 of a: 6 > 5
	my $late = schedulability(3000, 0, @tasks);
	is_deeply [ map { $_->{meets} } @{ $late->{tasks} } ], [ 1, 0, 0 ],
		'with 3 ms of latency two miss theirs';
	is pseudo_worst_us(9000, 1000, 2), 9000, 'two buffers: the worst case itself';
	is pseudo_worst_us(9000, 1000, 5), 3000, 'five buffers: (9 + 3 x 1) / 4 ms';
};

subtest 'two results' => sub {
	# as the paper's scanner: 16 ms stalls 1,200 against 10
	my $b = write_result('b.json', [ [ 5, 98_790 ], [ 7000, 10 ], [ 16_640, 1200 ] ], 16_700_000);
	my ($ra, $rb) = map { Tipme::Latency::Result->read($_) } $a, $b;
	my @rows = tails($ra, $rb, 'total_user');
	my ($at) = grep { $_->{level_us} == 8192 } @rows;
	is_deeply [ @$at{qw(a b ratio)} ], [ 2, 1200, 600 ], 'above 8.2 ms: 2 and 1,200, 600 times';
	ok $at->{least} > 100 && $at->{most} > 600, '... with a wide interval';
	is worst_level(@rows)->{level_us} > 7000, 1, 'the level that says most is in the tail';
	is worst_level(tails($ra, $ra, 'total_user')), undef,
		'a result and itself: nothing tells them apart';
	my ($said, $status) = said('compare', $a, $b, '--over', 2);
	is $status, 2, 'over a ratio of 2: exit status 2';
	like $said, qr/^Latencies above 8\.192 ms are 600 times more frequent in B \(\d+ to \d+\)\.$/m,
		'... and one sentence';
	is + (said('compare', $a, $a, '--over', 2))[1], 0, 'nothing over it: 0';
	($said, $status) = said('compare', $a, $b, '-o', "$dir/both.html");
	my $html = slurp("$dir/both.html");
	like $html, qr/<h1>Latencies above 8\.192 ms are 600 times more frequent/, 'a page says it';
	my @pictures = $html =~ m{(<svg.*?</svg>)}sg;
	is scalar @pictures, 2, '... with both on one scale, twice';
	like $_,      qr/>A: a<.*>B: b</s, '... by letter and name' for @pictures;
	unlike $html, qr/<script|\bsrc=/,  '... and loads nothing';
	said('compare', $a, $b, '-o', "$dir/both.svg");
	like slurp("$dir/both.svg"), qr/<svg.*600 times more frequent/s,
		'... or a picture that says it';
	ok !eval { said('compare', $a, $b, '-o', "$dir/both.txt"); 1 }, 'another ending';
	like $@, qr/both\.txt: \.html, \.svg or \.png is meant/, '... is refused';
};

subtest 'as a person asks' => sub {
	my ($said, $status) = said('mttf', $a, '--client', '2x16');
	is $status, 0, 'mttf';
	like $said, qr/2x16 +12\.00 +2 +13\.3 min/, '... once in 13.3 minutes';
	like $said, qr/ 108 +not known yet$/m,      '... and whether it works here is not known yet';
	($said, $status) = said('mttf', '--clients');
	like $said, qr/^audio-64 /m, 'the clients that are known';
	my $tasks = "$dir/t2";
	spew($tasks, "modem 16 4 16 4  # four buffers\naudio 33 2\n");
	($said, $status) = said('schedulability', $a, $tasks, '--once-in', '1min');
	is $status, 0, 'schedulability' or diag $said;
	like $said, qr/modem +6\.756 ms +10\.76 ms +16 ms +meets it/,
		'... the modem meets its deadline';
	ok !eval { said('schedulability', $a, $tasks, '--once-in', '1h'); 1 },
		'an hour was not watched';
	like $@, qr/record for longer/, '... which is said, with what to do';
};

subtest 'what is no result' => sub {
	my %bad = (
		'no JSON'        => 'x' x 100, 'cut short' => substr(slurp($a), 0, 200), 'a list' => '[]',
		'another format' => '{"format":"x"}',
		'a later one'    => '{"format":"tipme latency","version":2}',
		'no stages' => '{"format":"tipme latency","version":1,"duration_s":1,"period_us":1000}',
		'negative'                    => slurp($a) =~ s/99990/-99990/r,
		'a count that is not its sum' => slurp($a) =~ s/99990/99991/r,
		'wrong units'                 => slurp($a) =~ s/"period_us":1000/"period_us":0.001/r,
		'out of order'                => slurp($a) =~ s/\[5,/[50000,/r,
	);
	for my $what (sort keys %bad) {
		spew("$dir/bad.json", $bad{$what});
		ok !eval { Tipme::Latency::Result->read("$dir/bad.json"); 1 }, "$what: refused";
		like $@,   qr/\A\Q$dir\E\/bad\.json: [^\n]{10,}\n\z/, '... by a sentence';
		unlike $@, qr/ at \S+ line/,                          '... not by Perl\'s';
	}
	ok !eval { Tipme::Latency::Result->read("$dir/none"); 1 }, 'a file that is not there';
	my %wrong = (
		'x 1'     => qr/is meant/, 'x -1 1' => qr/no number/, "x 1 2" => qr/longer than its period/,
		"x 2 1 3" => qr/deadline after/, '' => qr/no tasks/,  "x 2 1\ny 2 2" => qr/need 150 %/
	);
	for my $text (sort keys %wrong) {
		ok !eval { tasks('bad', $text); 1 }, "tasks '$text': refused";
		like $@, $wrong{$text}, '... by a sentence';
	}
};
done_testing;

sub near {
	my ($got, $want, $within, $what) = @_;
	my @off =
		grep { abs($got->[$_] - $want->[$_]) > $within * (abs($want->[$_]) || 1) } 0 .. $#$want;
	return ok(!@off, $what) || diag("got @$got, want @$want");
}

sub write_result {
	my ($name, $buckets, $max_ns) = @_;
	my ($count, $sum) = (0, 0);
	for (@$buckets) { $count += $_->[1]; $sum += $_->[0] * $_->[1] * 1000 }
	my %stage = (
		stage  => 'total_user', cpu           => 0, count => $count, sum_ns => $sum, min_ns => 5000,
		max_ns => $max_ns,      max_expiry_ns => 1, over  => 0, skipped => 0, buckets => $buckets
	);
	spew(
		"$dir/$name",
		Cpanel::JSON::XS->new->canonical->encode(
			{
				format     => 'tipme latency', version   => 1,    kernel => '6.1', source => 'user',
				duration_s => 100,             period_us => 1000, stages => [ \%stage ]
			}
		)
	);
	return "$dir/$name";
}

sub tasks { my ($name, $text) = @_; spew("$dir/$name", $text); return read_tasks("$dir/$name") }

# What a verb prints, and its exit status.
sub said {
	my @args = @_;
	my $text = '';
	open my $out, '>', \$text or die;
	my $old    = select $out;
	my $status = eval { Tipme::Command::Latency->run(@args) };
	my $why    = $@;
	select $old;
	die $why if !defined $status;
	return ($text, $status);
}

