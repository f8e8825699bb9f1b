#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What tipme bench compare rests on: intervals agree with tables, equals are called equal, planted
# differences are found and explained, damaged results are refused.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use List::Util qw(sum0);
use Test::More;
use lib map {"$FindBin::Bin/../../$_"} qw(helper/bench postmortem/lib abi/lib abi/generated);
use Tipme::Bench::Compare qw(compare sentence facts_that_differ time_text);
use Tipme::Bench::Result qw(read_result write_result runs_of typical_parts counters_of);
use Tipme::Bench::Report qw(charts chart_of_ratios html_report text_report);
use Tipme::Statistics    qw(median_interval ratio_of_medians);

my $dir = tempdir(CLEANUP => 1);

subtest 'intervals agree with published tables' => sub {
	# Ranks of the median's interval: Conover, Practical Nonparametric Statistics, table A3.
	for ([ 6, 1, 6 ], [ 10, 2, 9 ], [ 20, 6, 15 ], [ 50, 18, 33 ]) {
		my ($n, @ranks) = @$_;
		is_deeply([ median_interval(1 .. $n) ], \@ranks, "ranks of $n values");
	}
	is_deeply([ median_interval(1 .. 5) ], [ undef, undef ], 'five values bound nothing');
	# Critical values of Mann and Whitney's U, two-sided, 5 %: one less than how many are left out.
	my %table = (5 => 2, 8 => 13, 10 => 23, 15 => 64, 20 => 127);
	for my $n (sort { $a <=> $b } keys %table) {
		is(Tipme::Statistics::_rank_sum_below($n, $n, 0.025) - 1, $table{$n}, "U of $n and $n");
	}
	is_deeply(
		[ Tipme::Statistics::_rank_sum_ways(9, 14) ], [ counted(9, 14) ],
		'all orders, counted'
	);
	my ($ratio, $least, $most) = ratio_of_medians([ 1 .. 5 ], [ 1 .. 5 ], 40);
	ok($ratio == 1 && !defined $least && !defined $most, 'too few values for forty comparisons');
};

# f(n, m, u) = f(n - 1, m, u - m) + f(n, m - 1, u)
sub counted {
	my ($n, $m) = @_;
	my %f;
	my $count;
	$count = sub {
		my ($i, $j, $u) = @_;
		return 0          if $u < 0;
		return $u ? 0 : 1 if !$i || !$j;
		return $f{"$i $j $u"} //= $count->($i - 1, $j, $u - $j) + $count->($i, $j - 1, $u);
	};
	return map { $count->($n, $m, $_) } 0 .. $n * $m;
}

# A run of TASKS tasks with ROUNDS rounds of two repeats, whose times come from NS(task, round).
sub made {
	my ($tasks, $rounds, $ns, %facts) = @_;
	my @tasks = map {
		my $n      = $_;
		my @rounds = map {
			my $r = $_;
			[ map { repeat(int $ns->($n, $r)) } 1 .. 2 ]
		} 1 .. $rounds;
		{
			name  => "task-$n", what => 'made up', unit => 'call', references => 10, empty_ns => 0,
			empty => {},        rounds => \@rounds
		};
	} 1 .. $tasks;
	return {
		name     => 'made up', started => '2026-11-22T00:00:00Z', facts => {%facts},
		recorder => undef,     told    => 0, repeated => 0, duration_s => 1, complete => 1,
		tasks    => \@tasks
	};
}

sub repeat {
	my ($ns, @parts) = @_;
	@parts = ([ user => $ns ]) if !@parts;
	return {
		from_ns    => 1000, to_ns => 1000 + $ns, counters => { 'page-faults' => 20 },
		parts_from => 'accounting',
		parts      => [
			map {
				my ($kind, $what) = split /: /, $_->[0];
				{ kind => $kind, defined $what ? (what => $what) : (), ns => $_->[1] }
			} @parts
		]
	};
}

# As on a busy machine: mostly alike, now and then much longer.
my $seed = 20261122;
sub drawn { $seed = ($seed * 1103515245 + 12345) % 2**31; return $seed / 2**31 }

sub noisy {
	my $u = drawn();
	return 10_000 * (1 + 0.1 * drawn()) * ($u > 0.8 ? 1 + 3 * drawn() : 1);
}

subtest 'a hundred comparisons of equals' => sub {
	my $differ = 0;
	for (1 .. 100) {
		my ($a, $b) = map { made(40, 8, \&noisy) } 1 .. 2;
		$differ++ if grep { $_->{differs} } compare([$a], [$b], margin => 0);
	}
	cmp_ok($differ, '<=', 5, "$differ of 100 say that something differs");
};

subtest 'a difference is found and explained' => sub {
	my $a = made(40, 8, \&noisy,                                'seccomp filters' => 0);
	my $b = made(40, 8, sub { noisy() * ($_[0] == 7 ? 5 : 1) }, 'seccomp filters' => 3);
	$_ = [
		map {
			my $ns = $_->{to_ns} - 1000;
			repeat(
				$ns, [ user => 1000 ], [ kernel => 9000 ],
				[ 'runnable: hog had the CPU' => $ns - 10000 ]
			)
		} @$_
		]
		for @{ $b->{tasks}[6]{rounds} };
	my @rows = compare([$a], [$b]);
	is(
		join(' ', map { $_->{name} } grep { $_->{differs} } @rows), 'task-7',
		'that one, and no other'
	);
	like(
		sentence($rows[6]),
		qr/\Atask-7 takes [\d.]+ times as long in B \([\d.]+ to [\d.]+\): .* waiting for a CPU/,
		'one sentence'
	) or diag sentence($rows[6]);
	is_deeply(
		[ facts_that_differ([$a], [$b]) ], [ [ 'seccomp filters', 0, 3 ] ],
		'and the fact that differs'
	);
	my @back = compare([$b], [$a]);
	is($back[6]{differs}, -1, 'the other way round it is shorter');
	my ($r, $s) = ($rows[6], $back[6]);
	cmp_ok(
		abs($r->{ratio} * $s->{ratio} - 1), '<', 1e-9,
		'and the ratios are each other\'s inverse'
	);
	like(chart_of_ratios(0.05, @rows), qr/<svg.*B takes longer/s, 'a picture');
};

subtest 'parts of the middle half add up' => sub {
	my $t = made(1, 8, \&noisy)->{tasks}[0];
	$_ = [
		map {
			my $ns = $_->{to_ns} - 1000;
			repeat($ns, [ user => 100 ], [ 'blocked: a disk' => $ns - 100 ])
		} @$_
		]
		for @{ $t->{rounds} };
	my $told    = typical_parts($t);
	my @typical = Tipme::Bench::Result::typical($t);
	my $mean    = sum0(map { ($_->{to_ns} - $_->{from_ns}) / 10 } @typical) / @typical;
	cmp_ok(
		abs(sum0(values %{ $told->{parts} }) - $mean), '<', 1e-6,
		'to the mean of those repeats'
	);
	is($told->{parts}{user}, 10, 'of one reference');
	$t->{empty} = { 'page-faults' => 5 };
	is(counters_of($t)->{'page-faults'}, 1.5, 'a count without that of an empty repeat');
	ok(!exists counters_of($t)->{cycles}, 'what is not counted is not there');
};

subtest 'files' => sub {
	my ($a, $b) = map { made(2, 8, \&noisy) } 1 .. 2;
	write_result("$dir/$_->[0].json", @{ $_->[1] }) for [ a => [$a] ], [ b => [$b] ];
	is(
		scalar runs_of("$dir/a.json", "$dir/b.json", "$dir/a.json"), 2,
		'a run that is in two files counts once'
	);
	write_result("$dir/all.json", runs_of("$dir/a.json", "$dir/b.json"));
	is_deeply([ read_result("$dir/all.json") ], [ $a, $b ], 'put together and read again');
	ok(!-e "$dir/all.json.tmp", 'nothing beside it');
	my %bad = (
		'no JSON'                  => sub {'{'}, 'another format' => sub {'{"format":"x"}'},
		'a newer one'              => sub { $_[0] =~ s/"version" : 1/"version" : 2/r },
		'parts that do not add up' => sub { $_[0] =~ s/("ns" : )(\d+)/$1 . ($2 + 1)/er },
		'no references'            => sub { $_[0] =~ s/"references" : 10/"references" : 0/r },
		'a list as a fact'         => sub { $_[0] =~ s/"facts" : \{\}/"facts" : {"x" : []}/r },
		'cut off'                  => sub { substr $_[0], 0, length($_[0]) / 2 },
	);
	open my $in, '<', "$dir/a.json" or die $!;
	my $text = do { local $/; <$in> };
	for my $what (sort keys %bad) {
		open my $out, '>', "$dir/bad.json" or die $!;
		print {$out} $bad{$what}->($text);
		close $out or die $!;
		ok(!eval { read_result("$dir/bad.json"); 1 }, "$what: refused");
		like($@, qr{\A\Q$dir\E/bad.json: .+: .+\n\z|newer tipme}, 'by one sentence');
	}
	ok(!eval { write_result("$dir", $a); 1 }, 'a folder is not replaced');
};

subtest 'reports' => sub {
	my $run   = made(3, 8, \&noisy, processor => '<b>');
	my @sizes = qw(4K 64K 1M);
	$run->{tasks}[$_]{name} = "memory-access/$sizes[$_]" for 0 .. 2;
	push @{ $run->{tasks} },
		{
		name        => 'window', unit => 'window', references => 1, rounds => [],
		unavailable => 'no X server'
		};
	my $text = text_report($run);
	like($text, qr{^memory-access/4K .* ms|us}m,           'the table');
	like($text, qr/^window: not available: no X server$/m, 'what is not available');
	like($text, qr/\Qnot available\E/, 'a counter that is not there is no zero');
	is(join(' ', map { $_->[0] } charts($run)), 'memory', 'one picture: of memory');
	my $html = html_report($run);
	unlike($html, qr/<b>/, 'nothing of a fact is HTML');
	like($html, qr/<svg/, 'the picture is in the page');
};

is(time_text($_->[0]), $_->[1], "$_->[1]")
	for [ 0.5, '0.50 ns' ], [ 999.9, '1.00 us' ], [ 12_345, '12.3 us' ], [ 1e9, '1.00 s' ],
	[ 123_456_789, '123 ms' ];
done_testing;
