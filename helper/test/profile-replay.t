#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme profile on sessions that are replayed: what is counted, by an independent route; the states
# of a scripted session; privacy; comparisons of the same and of a slower program; hours at once.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../../postmortem/t/lib";
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(max sum0);
use Test::More;
use Time::HiRes      qw(time);
use Tipme::Test::Xml qw(xml_problem);
use Tipme::TestSession;

use constant MS => Tipme::TestSession::MS;
my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $dir   = tempdir(CLEANUP => 1);

# A profile of records; how much memory that took, in KiB.
sub profile {
	my ($records, @args) = @_;
	my $file = $records =~ s/\.rec\z/.json/r;
	is system($tipme, qw(profile record -q --name 200=editor --name 300=browser --replay),
		$records, '-o', $file, @args
		),
		0, 'replayed'
		or BAIL_OUT('it cannot be replayed');
	return $file;
}

sub slurp {
	my ($name) = @_;
	open my $h, '<:raw', $name or die "$name: $!\n";
	local $/;
	return scalar <$h>;
}
sub json { return Cpanel::JSON::XS->new->utf8->decode(slurp($_[0])) }

sub said {
	my (@args) = @_;
	open my $h, '-|', $tipme, 'profile', @args or die;
	local $/;
	my $text = <$h>;
	close $h;
	return ($text, $? >> 8);
}

subtest 'each event becomes what it is' => sub {
	my $s = Tipme::TestSession->new("$dir/kinds.rec");
	my $t = 2_000_000_000;
	$s->press($t, 200, 'key_press', 1000, 2000, 7 * MS, 3 * MS);
	$s->press($t + 200 * MS, 200, 'key_press', 1000, 2000);    # no effect
		# Typed ahead: nothing was drawn before the next key, and nobody saw the program busy.
	$s->press($t + 20_000 * MS, 300, 'key_press', 1000, 2000, 50 * MS, 0);
	# A click whose answer comes when the button is let go.
	$s->press($t + 30_000 * MS, 200, 'button_press', 1000, 2000);
	$s->press($t + 30_090 * MS, 200, 'button_release', 1000, 2000, 9 * MS, 0);
	# A wheel lets its button go at once.
	$s->press($t + 30_500 * MS, 200, 'button_press', 1000, 2000);
	$s->press($t + 30_500 * MS + 300_000, 200, 'button_release', 1000, 2000, 4 * MS, 0);
	# The pointer by itself.
	$s->record($t + 31_000 * MS, 'x_wakeup', pack 'Q<Q<', 0, 0)
		->device($t + 31_000 * MS + 500, ++$s->{seq}, 'motion')->quiet($t + 31_001 * MS);
	# Something is drawn long after the answer: somebody else's doing.
	$s->damage($t + 32_000 * MS, 200)->quiet($t + 60_000 * MS);
	my $p = json(profile($s->done));
	my %n = map { ("$_->{app} $_->{kind}" => "$_->{events} $_->{answered} $_->{without_effect}") }
		@{ $p->{pairs} };
	is_deeply \%n,
		{
		'editor key'       => '2 1 1', 'browser key' => '1 1 0', 'editor button' => '2 1 1',
		'editor wheel'     => '1 1 0',
		'(pointer) motion' => '1 1 0'
		},
		'events, answered, without effect';
	my ($key) = grep { $_->{app} eq 'editor' && $_->{kind} eq 'key' } @{ $p->{pairs} };
	is_deeply {
		map { $_->{stage} => $_->{sum_ns} } @{ $key->{stages} }
	}, { read => 1000, sent => 2000, drawn => 7 * MS, finished => 3 * MS, response => 10_003_000 },
		'each stage';
};

# Known waits: 60 keys of 40 ms, a key every 2 s, then 60 s of nothing; another program for 3 s.
subtest 'waiting and thinking of a scripted session' => sub {
	my $s    = Tipme::TestSession->new("$dir/script.rec");
	my $t    = $s->{from_ns};
	my $wait = 0;
	for my $n (1 .. 60) {
		$s->press($t + $n * 2000 * MS, 200, 'key_press', 0, 0, 40 * MS, 0);
		$wait += 40 * MS;
	}
	# Typed into the other program while it is slow: each moment counts once.
	$s->press($t + 130_000 * MS, 300, 'key_press', 0, 0, 3000 * MS, 0);
	$s->quiet($t + 190_000 * MS);
	my $p   = json(profile($s->done));
	my %app = map { $_->{app} => $_ } @{ $p->{apps} };
	is $app{editor}{waiting_ns},  $wait,     'the editor was waited for exactly so long';
	is $app{browser}{waiting_ns}, 3000 * MS, 'the browser, too';
	# Whose minute it was: the editor had more keys in each, or nobody had any.
	is $app{editor}{thinking_ns}, (190_000 - 3000) * MS - $wait, 'all else is thinking';
	is sum0(map { @$_{qw(waiting_ns thinking_ns background_ns)} } @{ $p->{apps} }), 190_000 * MS,
		'all moments add up';
};

my $usual = sub { my ($n) = @_; return $n % 37 == 0 ? 80 + rand 60 : 6 + rand(4) + ($n % 5) };
my $file  = profile(
	Tipme::TestSession->typed("$dir/day.rec", keys => 60, minutes => 30, ms => $usual),
	'--record-key-times'
);

subtest 'each view by another route' => sub {
	my ($text) = said('report', $file, '--json');
	my $r      = Cpanel::JSON::XS->new->utf8->decode($text);
	my $times  = "$file.times";
	my $awk    = sub {
		my $out = qx{awk -F'\t' 'NR > 1 { t = \$5 + \$6 + \$7 + \$8; $_[0] }' $times};
		chomp $out;
		return $out;
	};
	is $r->{answers}[0]{sum_ns}, $awk->('s += t } END { printf "%.0f", s'),
		'the sum of all latencies';
	is $r->{answers}[0]{max_ns}, $awk->('if (t > m) m = t } END { printf "%.0f", m'), 'the longest';
	# Buckets that lie above whole: from 50,176 and from 151,552 us on.
	is $r->{answers}[0]{over_low}, $awk->('if (t >= 50176000) n++ } END { print n + 0'),
		'over 50 ms';
	is $r->{answers}[0]{over_high}, $awk->('if (t >= 151552000) n++ } END { print n + 0'),
		'over 150 ms';
	is $r->{answers}[0]{stages}{drawn}, $awk->('s += $7 } END { printf "%.0f", s'),
		'the sum of a stage';
	my @sorted = sort { $a <=> $b } split /\n/, $awk->('print t');

	for my $q (50, 95, 99) {
		my $exact = $sorted[ int($q / 100 * @sorted + 0.999999) - 1 ];
		cmp_ok abs($r->{answers}[0]{"p$q"} - $exact) / $exact, '<', 0.01,
			"the $q % quantile, to the width of a bucket";
	}
	my $k = $r->{kinds}{key};
	is sum0(map { $_->{events} } @{ $k->{histogram} }), 1800, 'the histogram has all events';
	# 8,660 us lies in the bucket from 8,576 to 8,704, which is in the bin in which it begins.
	is sum0(map { $_->{events} } grep { $_->{to_ms} <= 8.66 } @{ $k->{histogram} }),
		$awk->('if (t < 8704000) n++ } END { print n'), '... and its bins the right ones';
	is $k->{cumulative}[-1]{ns}, $r->{answers}[0]{sum_ns},
		'the cumulative latency ends at the sum, exactly';
	is $k->{cumulative}[-1]{events}, 1800, '... by number of events, too';
	my ($half) = grep { $_->{us} >= 20_000 } @{ $k->{cumulative} };
	is $half->{ns}, $awk->("if (t < $half->{us} * 1000) s += t } END { printf \"%.0f\", s"),
		'... and in between';
	is_deeply [ map { $_->{events} } @{ $k->{between} } ],
		[
		map { my $ms = $_; $awk->("if (t > $ms * 1e6) n++ } END { print n + 0") } 25, 50, 75,
		100, 110, 120, 150, 1000
		],
		'table 2: events over each threshold';
	my @at        = split /\n/, $awk->('if (t > 100e6) print $1');
	my ($hundred) = grep { $_->{ms} == 100 } @{ $k->{between} };
	cmp_ok abs($hundred->{mean_s} - ($at[-1] - $at[0]) / 1e9 / $#at) / $hundred->{mean_s}, '<',
		0.05, '... and the mean time between them, to the minute';
	my @minute = split /\n/,
		$awk->(
		'm = int(($1 + t - 1000000000) / 60e9); n[m]++ } END { for (i = 0; i < 30; i++) print n[i]'
		);
	is_deeply [ map { $_->{events} } @{ $k->{over_time} } ], \@minute, 'events of each minute';
	my $exact = Cpanel::JSON::XS->new->utf8->decode(
		(said('report', $file, '--json', '--times', $times))[0]);
	($hundred) = grep { $_->{ms} == 100 } @{ $exact->{kinds}{key}{between} };
	my $mean = ($at[-1] - $at[0]) / 1e9 / $#at;
	cmp_ok abs($hundred->{mean_s} - $mean), '<', 1e-6, '... with the times of events exactly';
	my $deviation =
		sqrt(sum0(map { (($at[$_] - $at[ $_ - 1 ]) / 1e9 - $mean)**2 } 1 .. $#at) / ($#at - 1));
	cmp_ok abs($hundred->{deviation_s} - $deviation), '<', 1e-6, '... its deviation, too';
	is $r->{moments}[0]{waiting_ns}, $r->{answers}[0]{sum_ns},
		'no two waits at once: waiting is the sum';
	is_deeply [ map { $_->[1] } @{ $exact->{kinds}{key}{each}[0]{events} } ],
		[ map { $_ / 1e6 } split /\n/, $awk->('printf "%.0f\n", t') ], 'figure 5: each event';
	my ($close) = $exact->{kinds}{key}{each}[1];
	is max(map { $_->[1] } @{ $close->{events} }), $r->{answers}[0]{max_ns} / 1e6,
		'... magnified: the longest is among them';
	is sprintf('%.6f', $close->{to_s} - $close->{from_s}), '2.000000', '... in two seconds';
	my ($full) = said('report', $file, '--full', '--kind', 'key');
	my @bins = map { [split] } $full =~ /^ *([\d.e+]+ +[\d.e+]+ +\d+ +#+ +\d+ .*)$/mg;
	is sum0(map { $_->[2] } @bins), 1800, 'as text: the histogram has all events';
	my ($ten) = grep { $_->[1] == 10 } @bins;
	# The bucket in which 10 ms are begins at 9,984 us.
	is $ten->[4],    $awk->('if (t < 10112000) n++ } END { print n'), '... up to 10 ms, too';
	is $bins[-1][4], 1800,                                            '... and at its end';
	my ($time) = $full =~ /^Latency over time: key\n(.*?)\n(?:\n|\z)/ms;
	my @lines = map { [split] } $time =~ /^ *(\d+ +1?\d+ .*)$/mg;
	is sum0(map { $_->[1] } @lines), 1800, 'the course over time has all events';
	like $time, qr/^each line is 2 minutes$/m, '... in no more lines than a person compares';
};

subtest 'operations of a script' => sub {
	my @at = split /\n/, qx{awk -F'\t' 'NR > 1 { print \$1, \$5 + \$6 + \$7 + \$8 }' $file.times};
	open my $h, '>', "$dir/operations" or die;
	# From the first key on; another from the 1,000th on.
	print {$h} map { sprintf "= %s %s\n", (split ' ', $at[ $_->[0] ])[0], $_->[1] } [ 0, 'first' ],
		[ 1000, 'second' ];
	close $h or die;
	my @args = ($file, '--times', "$file.times", '--operations', "$dir/operations");
	my $r    = Cpanel::JSON::XS->new->utf8->decode((said('report', @args, '--json'))[0]);
	is_deeply [ map {"$_->{operation} $_->{events}"} @{ $r->{operations} } ],
		[ 'first 1000', 'second 800' ], 'each event has its operation';
	my ($longest) = sort { $b->[1] <=> $a->[1] } map { [ split ' ' ] } @at;
	is $r->{long_operations}[0]{response_ns}, $longest->[1], 'table 1 begins with the longest';
	like + (said('report', @args))[0], qr/^first +editor +key +1000 /m, '... in the text, too';
	is + (said('report', $file, '--operations', "$dir/operations"))[1], 64,
		'without times of events that is no usage';
};

subtest 'report' => sub {
	my ($text, $status) = said('report', $file);
	is $status, 0, 'text';
	like $text, qr/^editor +key +1800 +1800 +0 +\d/m, '... with a line of the editor';
	like $text, qr/^A person waited \d+\.\d s of 30\.0 min \(\d\.\d\d %\)\.$/m,
		'... and one line that says how long a person waited';
	my ($said) = said('report', $file, '--html', "$dir/p.html", '--pictures', "$dir/pictures");
	my $html = slurp("$dir/p.html");
	is scalar(() = $html =~ /<svg/g), 5, 'one page with five pictures';
	unlike $html, qr/<script|https?:\/\/(?!www\.w3\.org)/, '... which loads nothing';
	is_deeply [ map { xml_problem(slurp($_)) } glob "$dir/pictures/*.svg" ], [ (undef) x 5 ],
		'the pictures are whole XML';
	is + (stat $file)[2] & 0777,         0600, 'a profile is its owner\'s alone';
	is + (stat "$file.times")[2] & 0777, 0600, '... and so are times of keys';
};

# Two CPUs for a minute in which nobody does anything, and one with ten events.
subtest 'what the machine does' => sub {
	my $p    = json($file);
	my %irqs = (device => 600, timer => 6000, between_cpus => 60, other => 0);
	my %cpu  = (
		user    => 1000, nice  => 0, system => 1000, idle => 117_000, iowait => 0, irq => 600,
		softirq => 400,  steal => 0
	);
	$p->{machine_rows} = [
		{
			minute   => 0, events => 0, cpu_ms => \%cpu, interrupts => \%irqs,
			softirqs => { TIMER => 4000 }
		},
		{
			minute   => 1, events => 10,
			cpu_ms   => { %cpu, idle => 57_000, user => 61_000, irq => 0 }, interrupts => \%irqs,
			softirqs => { TIMER => 4000 }
		}
	];
	open my $h, '>', "$dir/machine.json" or die;
	print {$h} Cpanel::JSON::XS->new->encode($p);
	close $h;
	my $m = Cpanel::JSON::XS->new->decode((said('report', "$dir/machine.json", '--json'))[0])
		->{machine};
	is $m->{idle}{busy},              0.025, 'the idle system is busy for 3 of 120 s';
	is $m->{idle}{interrupts}{timer}, 100,   '... with 100 timer interrupts a second';
	is sprintf('%.3f', $m->{idle}{cost_us}{irq}), sprintf('%.3f', 600e3 / 6660),
		'... what one interrupt costs';
	is $m->{idle}{cost_us}{softirq}, 100,   '... and one softirq';
	is $m->{used}{cost_us}{irq},     undef, 'what the kernel does not count is not available';
	like + (said('report', "$dir/machine.json"))[0], qr/^in use .* softirq 100\.0 us$/m,
		'... in the text, too';
};

subtest 'what is no profile' => sub {
	my $whole = slurp($file);
	my %bad   = (
		'no JSON' => 'x', 'cut short' => substr($whole, 0, 900), 'a list' => '[]',
		'a later one'                 => $whole =~ s/"version":1/"version":2/r,
		'a count that is not its sum' => $whole =~ s/"events":1800/"events":1801/r,
		'negative'                    => $whole =~ s/"duration_ns":/"duration_ns":-/r,
		'a changed stage' => $whole =~ s/("stage":"read","count":1800,"sum_ns":)\d+/${1}5/r,
		'an unknown kind' => $whole =~ s/"kind":"key"/"kind":"foot"/r,
	);
	for my $what (sort keys %bad) {
		open my $h, '>', "$dir/bad.json" or die;
		print {$h} $bad{$what};
		close $h;
		my $text = qx{$tipme profile report $dir/bad.json 2>&1};
		is $? >> 8, 1, "$what: refused";
		like $text, qr/\Atipme: profile: [^\n]*bad\.json: [^\n]+\n\z/, '... by a sentence';
	}
	qx{$tipme profile record -q --replay $0 -o $dir/x.json 2>&1};
	is $? >> 8, 1, 'what are no records is refused, too';
};

# The order of keys, and when in its minute each was, leave nothing behind.
subtest 'two sessions with other text give the same profile' => sub {
	my @took = map { 5 + $_ % 11 } 1 .. 600;
	my $two  = profile(
		Tipme::TestSession->typed(
			"$dir/two.rec", keys => 60, minutes => 10, seed => 5, ms => sub { $took[ $_[0] ] }
		)
	);
	# The same answers in each minute in another order, and at other moments.
	my @mixed = map {
		my $m = $_;
		map { $took[ 60 * $m + 59 - $_ ] } 0 .. 59
	} 0 .. 9;
	my $three = profile(
		Tipme::TestSession->typed(
			"$dir/three.rec", keys => 60, minutes => 10, seed => 77, ms => sub { $mixed[ $_[0] ] }
		)
	);
	isnt slurp("$dir/two.rec"), slurp("$dir/three.rec"), 'other records';
	my ($a, $b) = map {s/"(?:own_cpu_ns|began)":[^,]*,//gr} slurp($two), slurp($three);
	is $a, $b, 'the same file, byte by byte';
	unlike $a, qr/"times|entered/, 'no time of a key in it';
};

subtest 'the same against the same, a hundred times' => sub {
	my ($differ, $n) = (0, 100);
	require Tipme::Profile::File;
	require Tipme::Profile::Compare;
	my @p = map {
		my $seed = $_;
		my $rec  = Tipme::TestSession->typed(
			"$dir/aa.rec", keys => 60, minutes => 10, seed => $seed,
			ms => $usual
		);
		quiet_profile($rec)
	} 1 .. 15;
PAIR: for my $i (0 .. $#p) {
		for my $k ($i + 1 .. $#p) {
			last PAIR if !$n--;
			my $c = Tipme::Profile::Compare::compare($p[$i], $p[$k]);
			$differ++ if $c->{slower} || $c->{faster};
		}
	}
	cmp_ok $differ, '<=', 5, "of 100 comparisons $differ say that there is a difference";
	my $slow = quiet_profile(
		Tipme::TestSession->typed(
			"$dir/slow.rec", keys => 60, minutes => 10, seed => 99, ms => sub { $usual->(@_) + 20 }
		)
	);
	my $c = Tipme::Profile::Compare::compare($p[0], $slow);
	ok $c->{slower}, 'a spell check of 20 ms is found';
	my ($median) = grep { $_->{quantile} == 0.5 } @{ $c->{differences} };
	is $median->{stage}, 'drawn', '... in its stage';
	ok $median->{least_ns} < 20 * MS
		&& 20 * MS < $median->{most_ns}
		&& $median->{most_ns} - $median->{least_ns} < 4 * MS, '... and how long it takes'
		or diag explain $median;
	like $c->{sentence},
		qr/^editor answers keys .* later .*in the program, until the screen began to change/,
		'... by a sentence';
	ok !Tipme::Profile::Compare::compare($slow, $p[0])->{slower},
		'the other way round nothing is slower';
};

sub quiet_profile {
	my ($rec) = @_;
	system($tipme, qw(profile record -q --name 200=editor --replay), $rec, '-o', "$rec.json") == 0
		or die "$rec: not replayed\n";
	return Tipme::Profile::File->read("$rec.json");
}

subtest 'compare, as a person asks' => sub {
	my $fast = "$dir/aa.rec.json";
	my ($text, $status) = said('compare', $fast, "$dir/slow.rec.json");
	is $status, 2, 'slower: exit status 2';
	like $text, qr/^editor +key +the median .*slower: drawn/m, 'a line of the median';
	($text, $status) = said('compare', $fast, "$dir/slow.rec.json", '--over', 500);
	is $status, 0, 'not by half a second: 0';
	my %other = %{ json($fast) };
	@other{qw(kernel cpus)} = ('6.99', $other{cpus} + 1);
	open my $h, '>', "$dir/other.json" or die;
	print {$h} Cpanel::JSON::XS->new->encode(\%other);
	close $h;
	($text) = said('compare', $fast, "$dir/other.json");
	like $text, qr/^CPUs: A \d+, B \d+\nkernel: A \S+, B 6\.99\n\z/m, 'what else differs is said';
	($text, $status) = said('compare', $fast, $fast, '--junit', "$dir/j.xml");
	is $status, 0, 'the same: 0';
	like slurp("$dir/j.xml"), qr/<testsuite name="tipme profile" tests="2" failures="0"/, 'JUnit';
	said('compare', $fast, "$dir/slow.rec.json", '--junit', "$dir/j.xml");
	my $junit = slurp("$dir/j.xml");
	is xml_problem($junit), undef, '... is whole XML';
	like $junit, qr/failures="[12]"/, '... and has failures where it is slower';
};

subtest 'four hours' => sub {
	my $rec = Tipme::TestSession->typed("$dir/long.rec", keys => 150, minutes => 240, ms => $usual);
	my @kib = map { peak_kib($_) } "$dir/day.rec", $rec;
	cmp_ok $kib[1], '<', $kib[0] * 1.2 + ((-s $rec) >> 10),
		'no more memory than half an hour, but for the records themselves';
	my $long = "$rec.json";
	cmp_ok -s $long, '<', 20 << 20, 'the file is under 20 MB: ' . (-s $long);
	my $begin = time;
	said('report', $long, '--html', "$dir/long.html");
	note sprintf 'its page in %.2f s, %d bytes', time - $begin, -s "$dir/long.html";
	cmp_ok -s "$dir/long.html", '<', 2 << 20, 'its page is small';
};

sub peak_kib {
	my ($rec) = @_;
	my $pid = fork // die;
	if (!$pid) {
		exec $tipme, qw(profile record -q --name 200=editor --replay), $rec, '-o', "$rec.json"
			or die;
	}
	require POSIX;
	waitpid $pid, 0;
	# Of all children so far: the longest one comes last.
	my $kib = qx{awk '/VmHWM/ {print \$2}' /proc/$$/status};
	return $kib + 0;
}
done_testing;
