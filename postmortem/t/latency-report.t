#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What a recording of latencies says: the worst of an hour, a day, a week; percentiles; call trees;
# histograms of other programs.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use List::Util qw(max min sum0);
use Test::More;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/lib", "$FindBin::Bin/../../abi/lib",
	"$FindBin::Bin/../../abi/generated";
use Tipme::Latency::CallTree qw(tree lines flame);
use Tipme::Latency::Foreign  qw(import_text export_text);
use Tipme::Latency::Report;
use Tipme::Latency::Pictures;
use Tipme::Latency::Result;
use Tipme::Latency::Worst qw(use_of worst together);
use Tipme::Test::Xml      qw(xml_problem);

my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;

# A result of these latencies in us, one each period; `blocks` of so many of them
sub result {
	my ($latencies, %o) = @_;
	my %count;
	$count{ int $_ }++ for @$latencies;
	my @blocks;
	if ($o{block}) {
		for (my $i = 0; $i < @$latencies; $i += $o{block}) {
			push @blocks, int max @$latencies[ $i .. min($i + $o{block} - 1, $#$latencies) ];
		}
	}
	my %r = (
		format     => 'tipme latency', version => 1, kernel => 'k', source => 'user',
		duration_s => int(@$latencies / 1000) || 1, period_us => 1000,
		stages     => [
			{
				stage   => 'total_user',                 count  => scalar @$latencies,
				sum_ns  => int 1000 * sum0(@$latencies), max_ns => int 1000 * max(@$latencies),
				buckets => [ map { [ $_ + 0, $count{$_} ] } sort { $a <=> $b } keys %count ]
			}
		],
		$o{block}
		? (blocks => { seconds => $o{block_s}, last_s => 0, max_us => { total_user => \@blocks } })
		: (),
		%{ $o{more} // {} }
	);
	return of(\%r);
}

sub of {
	my ($data) = @_;
	my $file = "$tmp/" . ++$n . '.json';
	open my $h, '>', $file or die;
	print {$h} Cpanel::JSON::XS->new->encode($data);
	close $h;
	return Tipme::Latency::Result->read($file);
}

subtest 'the worst of an hour, by hand' => sub {
	# Ten hours in blocks of an hour: the longest of each are 1 to 10 ms, neighbours are not alike.
	my @latencies = map {
		my $hour = $_;
		map { $_ ? 50 : 1000 * $hour } 0 .. 99
	} 3, 8, 1, 6, 10, 4, 9, 2, 7, 5;
	my $r = result(\@latencies, block => 100, block_s => 3600);
	is_deeply [ sort { $a <=> $b } $r->block_maxima('total_user') ], [ map { 1000 * $_ } 1 .. 10 ],
		'blocks';
	my ($hour, $day, $week) = worst($r, 'total_user', use_of('1,10,1'));
	# Exceeded ten times: the tenth longest. Poisson(10) has 4 to 17 in 95 of 100 cases.
	is $hour->{us},      1000,   'exceeded once an hour: the tenth of ten hours';
	is $hour->{most_us}, 7000,   '... at most the fourth';
	is $day->{us},       10_000, 'a day of ten hours: the longest';
	is $day->{most_us},  undef,  '... which ten hours do not bound';
	cmp_ok abs($day->{needs_s} - 36_000 * -log 0.025), '<', 1, '... 37 hours would';
	is $week->{us}, 10_000, 'a week of one day is that day';
	my (undef, $far) = worst($r, 'total_user', use_of('1,12,5'));
	is_deeply [ @$far{qw(us least_us most_us needs_s)} ], [ undef, undef, undef, 12 * 3600 ],
		'a day of twelve hours is refused, with the hours that it takes';
	my ($driven) = worst($r, 'total_user', use_of('10,8,5'));
	is $driven->{us}, 1000,
		'driven ten times as fast: a hundred hours in ten; the longest of each ten is seen once';

	for my $bad ('0,8,5', '10,25,5', '10,8,8', 'nothing', '1,2') {
		is eval { use_of($bad); 1 }, undef, "use $bad: refused";
		like $@, qr/^use \Q$bad\E: /, '... by a sentence';
	}
};

# Seeded, so that it says the same each time.
my $state;

sub drawn {
	$state = ($state * 1_103_515_245 + 12_345) & 0x7fffffff;
	return ($state + 0.5) / 0x80000000;
}

# The level that is exceeded once in so many blocks lies in the interval as often as it says,
# whatever the tail: by a thousand recordings of 60 blocks, each of the longest of 20 latencies.
subtest 'intervals cover as often as they say' => sub {
	my %tail = (
		exponential =>
			[ sub { return -100 * log drawn() }, sub { my ($p) = @_; return -100 * log $p } ],
		Pareto => [ sub { return 50 * drawn()**-0.5 }, sub { my ($p) = @_; return 50 * $p**-0.5 } ],
		bimodal => [
			sub { return drawn() < 0.02 ? 2000 + 1000 * drawn() : 100 * drawn() },
			sub {
				my ($p) = @_;
				return $p < 0.02 ? 3000 - 1000 * $p / 0.02 : 100 - 100 * ($p - 0.02) / 0.98;
			}
		],
	);
	my $each = 20;
	for my $name (sort keys %tail) {
		my ($draw, $level) = @{ $tail{$name} };
		for my $together (1, 5) {
			$state = 42;
			my ($in, $of) = (0, 300);
			for (1 .. $of) {
				# Latencies of one stall come together: `together` of a kind in a row, in one block.
				my @blocks = map {
					max map { $draw->() }
						1 .. $each / $together
				} 1 .. 60;
				my $r = of(
					{
						format     => 'tipme latency',
						version    => 1,
						kernel     => 'k',
						source     => 'user',
						duration_s => 3600,
						period_us  => 1000,
						stages     => [
							{
								stage   => 'total_user', count => 1, sum_ns => 1, max_ns => 1e9,
								buckets => [ [ 1, 1 ] ]
							}
						],
						blocks => {
							seconds => 360, last_s => 0,
							max_us  => { total_user => [ map {int} @blocks ] }
						}
					}
				);
				# Ten blocks are an hour: exceeded by one block in ten.
				my ($hour) = worst($r, 'total_user', use_of('1,24,7'));
				# A block exceeds L with 1 - (1 - p)^k; as a rate of stalls that is -log(1 - ...) =
				# 1/10.
				my $p    = 1 - exp(-0.1 / ($each / $together));
				my $true = $level->($p);
				$in++
					if (!defined $hour->{least_us} || $hour->{least_us} <= $true)
					&& (!defined $hour->{most_us} || $true < $hour->{most_us} + 1);
			}
			cmp_ok $in / $of, '>=', 0.93, "$name, $together together: $in of $of";
		}
	}
};

subtest 'text, data, pages' => sub {
	my @latencies = map { 20 + $_ % 30 } 1 .. 5000;
	my @stack     = map {
		+{
			ts_ns => 1, tid => 5, comm => 'kworker/0:1',
			stack => [ 'spin+0x1/0x20 [evil]', 'work+0x9', 'kthread+0x3' ]
		}
	} 1 .. 3;
	my $r = result(
		[ @latencies, 5000 ],
		block   => 1000,
		block_s => 60,
		more    => {
			facts       => { governor => 'performance', kernel_options => [ 'quiet', 'nosmt' ] },
			causes_seen => 1, samples_seen => 4, samples_user => 0, sampler => 'clock',
			places      => +{ 'spin [evil] < work' => { samples => 4, irqs_off => 4 } },
			causes      => [ { samples => [ @stack, { comm => 'hog', stack => [] } ] } ]
		}
	);
	my $d    = Tipme::Latency::Report::data($r, use_of('measured'));
	my $text = Tipme::Latency::Report::text($d, $r);
	like $text, qr/^whole, user +5001 +\d+\.\d +50 +/m, 'the table';
	like $text, qr/takes 24 h/,                         'what cannot be told says what it takes';
	like $text, qr/^ {4,}4  spin \[evil\] < work \(interrupts off\)$/m,         'where the CPU was';
	like $text, qr/^ 75\.0 %  kworker\/0:1 > kthread > work > spin \[evil\]$/m, 'the calls';
	unlike $text, qr/^.{101,}/m,                                                'in 100 columns';
	is sum0(map { $_->[1] } $r->doublings('total_user', 4)), 5001, 'a histogram has each latency';
	my ($p) = grep { $_->{p} == 0.5 } @{ $d->{stages}[0]{percentiles} };
	ok $p->{least_us} <= $p->{us} && $p->{us} <= $p->{most_us}, 'a percentile with its interval';
	is + (grep { $_->{p} == 0.99999 } @{ $d->{stages}[0]{percentiles} })[0]{us}, undef,
		'one that so few do not tell is left out';
	my $html = Tipme::Latency::Report::page(use_of('office'), $r, result(\@latencies));
	unlike $html, qr/<script|\bsrc=|href="http|url\(http|\@import/, 'a page that loads nothing';
	is xml_problem($_), undef, '... with a picture' for $html =~ m{(<svg.*?</svg>)}sg;
	like $html, qr/governor.*performance/s, '... and the machine';
	my @same = map { result($_, more => { facts => { governor => 'powersave' } }) } [ (20) x 9000 ],
		[ (20) x 9000, (9000) x 90 ];
	my $two = Tipme::Latency::Report::page(use_of('office'), @same);
	is + (() = $two =~ /powersave/g), 1, '... once, where it is the same one';
	like $two, qr/Compared to \d+.*Latencies above .* times more frequent in \d+ \(/s,
		'... and what is worse in the second';
	my $times = Tipme::Page::table([], map { [$_] } '36.3 s', '3.03 min', '2 h', '7 days');
	is + (() = $times =~ /class="n"/g), 4, 'times of all units stand at one edge';
	unlike $two, qr/The worst, by load/, '... but no table of what so little does not tell';
	like $html, qr/The worst, by load.*whole, user/s,
		'... and services by loads, as the paper\'s table 3';
	my $flame = flame(tree($r->stacks), title => 'a & b');
	is xml_problem($flame), undef, 'a flame graph';
	my @width = map { $_ + 0 } $flame =~ /<rect[^>]*fill="#(?!ffffff)[^"]*"[^>]*width="([\d.]+)"/g;
	@width = map { $_ + 0 } $flame =~ /width="([\d.]+)"/g if !@width;
	ok @width, '... with frames';
	is together($r, 'total_user') >= 1, 1, 'how much comes together';
};

subtest 'pictures' => sub {
	my $curves = sub {
		my ($svg)  = @_;
		my @series = grep {/class="tc-series"/} $svg =~ /<path[^>]*>/g;
		return map { / d="(M[^"]*V[^"]*)"/ ? $1 : () } @series;
	};
	my $of     = sub { return Tipme::Latency::Pictures::histogram('total_user', @_) };
	my $pieces = sub { return scalar(() = $_[0] =~ /M/g) };
	my ($near) = $curves->($of->(result([ map { 1 + $_ % 90 } 1 .. 5000 ])));
	is $pieces->($near), 1, 'no whole microsecond in a quarter of a doubling: no hole';
	my ($far) = $curves->($of->(result([ (map { 20 + $_ % 30 } 1 .. 5000), 5000 ])));
	is $pieces->($far), 2, 'none for long: the curve goes down to the axis, and up again';
	my ($base) = $far =~ /^M\S+ ([\d.]+)/;
	is + (() = $far =~ /V\Q$base\E(?![\d.])/g), 2, '... and so it does at its end';
	my ($a, $b) = map { result([ 10 .. 90 ]) } 1, 2;
	($a->{file}, $b->{file}) = ('monday/idle.json', 'monday/office.json');
	is_deeply [ Tipme::Latency::Pictures::names($a, $b) ], [qw(idle office)], 'names of curves';
	$b->{file} = 'tuesday/idle.json';
	is_deeply [ Tipme::Latency::Pictures::names($a, $b) ],
		[qw(monday/idle.json tuesday/idle.json)], '... which differ';
	like $of->($a, $b), qr/from the expiry of a timer to a thread in user space/,
		'it says what is meant';
};

subtest 'other programs' => sub {
	my $cyclic =
		"# Histogram\n000010 000005\t000002\n000012 000001\t000000\n# Total: 000000006 000000002\n# Min Latencies: 00010 00010\n# Avg Latencies: 00010 00010\n# Max Latencies: 00012 00450\n# Histogram Overflows: 00000 00003\n";
	my $read = sub {
		my ($text, @o) = @_;
		my $file = "$tmp/foreign" . ++$n;
		open my $h, '>', $file or die;
		print {$h} $text;
		close $h;
		return import_text($file, @o);
	};
	my $d = $read->($cyclic, period_us => 2000);
	is_deeply [ map { $_->{count} } @{ $d->{stages} } ], [ 6, 5 ],
		'cyclictest: what overflowed counts';
	is_deeply $d->{stages}[1]{buckets}, [ [ 10, 2 ], [ 450, 3 ] ], '... at the maximum';
	is $d->{period_us}, 2000, 'the period that it was given';
	my $r = of($d);
	is $r->count('total_user'), 11, 'the result is read as ours';
	like Tipme::Latency::Report::text(Tipme::Latency::Report::data($r, use_of('measured')), $r),
		qr/^source cyclictest, timer/, '... of a kernel that is not known';
	my $again = $read->(export_text($d, 'cyclictest'));
	is_deeply [ map { $_->{buckets} } @{ $again->{stages} } ],
		[ map { $_->{buckets} } @{ $d->{stages} } ], 'to cyclictest and back';
	my $rtla =
		"# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:10\nIndex   IRQ-000   Thr-000   IRQ-001   Thr-001\n0             7         0         9         0\n3             2         9         1        10\nover:         1         1         0         0\ncount:       10        10        10        10\nmin:          0         3         0         3\navg:          1         3         0         3\nmax:         99       120         3         3\n";
	$d = $read->($rtla);
	is_deeply [ map {"$_->{stage} $_->{cpu} $_->{count} $_->{max_ns}"} @{ $d->{stages} } ],
		[ 'irq 0 10 99000', 'total_high 0 10 120000', 'irq 1 10 3000', 'total_high 1 10 3000' ],
		'rtla timerlat: interrupt and thread of each CPU';
	my $fine = $read->(
		"# RTLA timerlat histogram\n# Time unit is nanoseconds (ns)\nIndex IRQ-000\n3000 7\n3500 2\ncount: 9\n"
			. "4100 1\nover: 0\ncount: 10\nmin: 3000\navg: 3200\nmax: 4190\n");
	is_deeply [ map { @$_{qw(buckets max_ns)} } @{ $fine->{stages} } ],
		[ [ [ 3, 9 ], [ 4, 1 ] ], 4000 ], '... in nanoseconds, which -n has';
	$again = $read->(export_text($d, 'rtla'));
	is_deeply [ map { $_->{buckets} } @{ $again->{stages} } ],
		[ map { $_->{buckets} } @{ $d->{stages} } ], 'to rtla and back';
	my $metrics = export_text($d, 'openmetrics');
	like $metrics, qr/^tipme_latency_seconds_bucket\{stage="irq",cpu="0",le="4e-06"\} 9$/m,
		'OpenMetrics: how many up to a bound';
	like $metrics,
		qr/^tipme_latency_seconds_count\{stage="irq",cpu="0"\} 10\n.*\n# EOF\n\z|# EOF\n\z/s,
		'... all of them, and an end';

	for my $bad (
		[ 'x', qr/neither a histogram of cyclictest nor one of rtla/ ],
		[
			$cyclic =~ s/^# Total:.*//msr,
			qr/not followed by '# Total:' of each: the file is cut short/
		],
		[ $rtla =~ s/^over:.*//msr, qr/not followed by 'count:': the file is cut short/ ],
		[
			$cyclic =~ s/000012 000001\t000000\n//r,
			qr/6 latencies, but 5 in its rows: the file is cut short or was changed/
		],
		[ $cyclic =~ s/000012 000001\t/000012 000001 7 /r,  qr/a row of 000012 us with 3 columns/ ],
		[ $rtla   =~ s/^count:.*\n/count: 99 99 99 99\n/mr, qr/99 latencies, but 9 in its rows/ ],
		[
			$rtla =~ s/microseconds \(us\)/milliseconds (ms)/r,
			qr/its unit is 'milliseconds \(ms\)': microseconds or nanoseconds are meant/
		],
		[ $cyclic =~ s/^000010 /-00010 /mr,                   qr/6 latencies, but 1 in its rows/ ],
		[ "# Histogram\n000001 000000\n# Total: 000000000\n", qr/nothing was measured/ ]
		)
	{
		is eval { $read->($bad->[0]); 1 }, undef, 'a histogram that is none: refused';
		like $@, $bad->[1], '... by a sentence';
	}
	is eval { export_text($d, 'csv'); 1 }, undef, 'no such format';
};

subtest 'a client that runs for real' => sub {
	require Tipme::Latency::Model;
	require Tipme::Latency::Underrun;
	my $client = Tipme::Latency::Underrun::client('3x6:1.5');
	my %found  = (
		buffers    => 3, cycle_us => 6000, compute_us => 1500, priority => 0, cycles => 1000,
		longest_us => 20_000
	);
	my $m = Tipme::Latency::Model::judged($client, { %found, missed => 12, late => 9 });
	is $m->{slack_ms}, 10.5, 'the slack of (3 - 1) 6 - 1.5 ms';
	is $m->{agree},    1,    '12 and 9 agree';
	# Garwood: 12 events are a mean of 6.20 to 20.96.
	ok abs($m->{missed_least} - 6.2) < 0.01 && abs($m->{missed_most} - 20.96) < 0.01,
		'... by their intervals';
	like Tipme::Latency::Model::text($m), qr/, as an ordinary thread: slack 10\.50 ms/,
		'a thread';
	my $soft = Tipme::Latency::Model::judged(
		$client,
		{ %found, modality => 'deferred', missed => 0, late => 0 }
	);
	like Tipme::Latency::Model::text($soft), qr/, as deferred work: /, '... or deferred work';
	$m = Tipme::Latency::Model::judged($client, { %found, missed => 60, late => 9 });
	is $m->{agree}, 0, '60 and 9 do not';
	like Tipme::Latency::Model::text($m),
		qr/^More are missed: somebody takes the CPU while it computes\.$/m,
		'... and what that means';
};

# As a client in deferred work leaves it.
is of(
	{
		format     => 'tipme latency', version => 1, kernel => 'k', source => 'tracing',
		duration_s => 1, period_us => 1000,
		stages     => [
			{
				stage   => 'irq_deferred', count => 1, sum_ns => 1, max_ns => 1,
				buckets => [ [ 0, 1 ] ]
			}
		]
	}
)->stage(undef), 'irq_deferred', 'the only stage is the one that is meant';

# Blocks of a minute whose longest are 1, 2, ... 10 ms; marked after 2.2 and 7.6 minutes.
subtest 'marks' => sub {
	require Tipme::Latency::Marks;
	my $r = result([ map { my $ms = $_; (50, 1000 * $ms) } 1 .. 10 ], block => 2, block_s => 60);
	is_deeply [ Tipme::Latency::Marks::rows($r, 'total_user') ], [], 'none';
	$r->{marks} =
		[ { after_s => 132, text => 'the <scanner>' }, { after_s => 456, text => 'end' } ];
	my @rows = Tipme::Latency::Marks::rows($r, 'total_user');
	is_deeply [ map { @$_{qw(before_us after_us)} } @rows ], [ 2000, 8000, 8000, 10_000 ],
		'the longest before each mark, and from there to the next';
	my $svg = Tipme::Latency::Marks::picture($r, 'total_user');
	is xml_problem($svg), undef, 'a picture';
	like $svg, qr/the &lt;scanner&gt;/, '... with the marks';
	my $html = Tipme::Latency::Report::page(use_of('measured'), $r);
	like $html, qr{over time.*<td>the &lt;scanner&gt;}s, '... and so has the page';
	my ($part) = Tipme::Latency::Marks::part('x', result([ 1 .. 9 ]), 'total_user');
	is $part, undef, 'one block has no time';
};

# Ten million latencies: what they cost to read is what their buckets cost.
subtest 'many' => sub {
	my %d = (
		format     => 'tipme latency',
		version    => 1,
		kernel     => 'k',
		source     => 'module',
		duration_s => 36_000,
		period_us  => 1000,
		stages     => [
			map {
				my $cpu = $_;
				{
					stage   => 'total_high',          cpu    => $cpu, count => 36_000_000,
					sum_ns  => 4_000_000_000_000_000, max_ns => 6_000_000,
					buckets => [
						map { [ $_, $_ < 5999 ? 6000 : 36_000_000 - 6000 * 5999 ] }
							0 .. 4095 + 1904
					]
				}
			} 0 .. 1
		],
		blocks => {
			seconds => 60,
			last_s  => 0,
			max_us  => { total_high => [ map { 5000 + $_ } 0 .. 599 ] }
		}
	);
	for my $s (@{ $d{stages} }) {
		my $sum = sum0(map { $_->[1] } @{ $s->{buckets} });
		$s->{count} = $sum;
	}
	my $r = of(\%d);
	my ($hour, $day) =
		@{ Tipme::Latency::Report::data($r, use_of('measured'))->{stages}[0]{worst} };
	is $hour->{us}, 5590,  'ten hours: the tenth longest minute';
	is $day->{us},  undef, '... and no day';
};
done_testing;
