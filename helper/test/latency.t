#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme latency: every expiry is counted once, results add up and can be read again, thresholds end
# with 2. Beside cyclictest, or beside a process that makes it late, which the commit's hash draws;
# with TIPME_TEST_ALL=1 both. Stages of the kernel module: tests/vm/latency.t.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(sum);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../../tests/lib";
use Tipme::Drawn        qw(in_turn);
use Tipme::Distribution qw(of_stage of_cyclictest total alike);
use Tipme::TestDaemon   qw(allowed_cpus manifest slurp wait_until);

my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $dir   = tempdir(CLEANUP => 1);

sub latency { my ($args) = @_; my $out = qx{"$tipme" latency $args 2>&1}; return ($out, $? >> 8) }

sub put {
	my ($name, $text) = @_;
	open my $h, '>', "$dir/$name" or die;
	print $h $text;
	close $h;
	return "$dir/$name";
}

for my $wrong (
	'', 'record extra', 'report', 'record --period 1', 'record --threshold -5',
	'record --priorities 3,9,1', 'record --source magic', 'record --source irq'
	)
{
	my ($out, $rc) = latency($wrong);
	is($rc, 64, "usage error: '$wrong'");
	like(
		$out,
		qr/usage: tipme latency|tipme: latency: .*: see tipme latency --help|tipme: latency report: name a result/,
		'it says what is wrong'
	);
}

# The option, its value, and what is meant, with its unit.
my %meant = (
	'--period 1ms'         => '100 to 1000000 microseconds',
	'--duration -5'        => '1 to 2678400 seconds',
	'--duration 1h'        => '1 to 2678400 seconds',
	'--threshold 0'        => '1 to 4000000 microseconds',
	'--sample 49'          => '0 or a whole number from 50 to 100000 microseconds',
	'--every 3601'         => '1 to 3600 seconds',
	'--source magic'       => 'module, tracing, timerlat, user or auto',
	'--priorities 9,3,100' => 'each 1 to 98',
);
for my $option (sort keys %meant) {
	my ($said) = latency("record $option");
	like($said, qr/^tipme: latency: \Q$option: \E.*\Q$meant{$option}\E.*\n\z/, "record $option");
}
my ($help, $rc) = latency('--help');
ok($rc == 0 && $help =~ /Examples:/, '--help has examples');

# Two seconds are 200 periods. A machine that is busy begins late and ends early: where half of them
# are missing, once more.
my ($out, $r);
for my $try (1 .. 5) {
	($out, $rc) =
		latency("record --source user --duration 2 --period 10000 --output $dir/r.json --json");
	$r = eval { Cpanel::JSON::XS->new->decode($out) } or BAIL_OUT("no JSON: $out");
	last if !grep { $_->{count} + $_->{skipped} < 100 } @{ $r->{stages} };
	note "try $try: " . join ', ', map { $_->{count} + $_->{skipped} } @{ $r->{stages} };
}
is($rc,          0,      'measured without a threshold');
is($r->{source}, 'user', 'by a thread in user space');
is(
	join(' ', sort keys %{ { map { $_->{stage} => 1 } @{ $r->{stages} } } }), 'total_user',
	'only the whole way'
);
is(scalar @{ $r->{stages} }, 0 + qx{nproc}, "on each CPU");
for my $s (@{ $r->{stages} }) {
	is(total($s->{buckets}), $s->{count}, "CPU $s->{cpu}: the buckets add up");
	# Each was either measured, or passed while the one before was late.
	my $all = $s->{count} + $s->{skipped};
	cmp_ok($all,         '>=', 100, 'each expiry is accounted for') or diag $all;
	cmp_ok($s->{sum_ns}, '<=', $s->{count} * $s->{max_ns}, 'the mean is not above the maximum');
	cmp_ok(
		$s->{buckets}[-1][0] * 1000, '<=', $s->{max_ns},
		'and the maximum is in the last bucket'
	);
}

# Blocks: the longest of each, and a result that is there before the end.
is_deeply(
	[ $r->{blocks}{seconds}, scalar @{ $r->{blocks}{max_us}{total_user} } ],
	[ 60, 1 ], 'one block'
);
# Two seconds, less what passed before the first look at the clock; a busy machine ends it
# later.
cmp_ok($r->{blocks}{last_s}, '>=', 1, '... which the end has cut');
is(
	$r->{blocks}{max_us}{total_user}[0],
	(sort { $b <=> $a } map { $_->{buckets}[-1][0] } @{ $r->{stages} })[0],
	'... with the longest of both CPUs'
);
ok($r->{complete}, 'it is complete');
like($r->{facts}{interrupt_affinity}, qr/^[0-9a-f,]+$/, 'facts of the machine');
unlike(join(' ', @{ $r->{facts}{kernel_options} }), qr{[/@]|UUID=\S}, '... without names of disks');
my $pid = fork // die;
if (!$pid) {
	open STDOUT, '>', '/dev/null';
	exec "$ENV{TIPME_BUILDDIR}/helper/measure/tipme-latency", 'record', '--source', 'user',
		'--duration', '600', '--every', '1', '--output', "$dir/crash.json"
		or die;
}
ok(
	wait_until(
		sub {
			my $o = -e "$dir/crash.json"
				&& eval { Cpanel::JSON::XS->new->decode(slurp("$dir/crash.json")) };
			$o && @{ $o->{blocks}{max_us}{total_user} } >= 2;
		}
	),
	'two blocks are saved'
);
kill 'KILL', $pid;
waitpid $pid, 0;
my $crashed = Cpanel::JSON::XS->new->decode(slurp("$dir/crash.json"));
ok(
	!$crashed->{complete} && $crashed->{duration_s} >= 2,
	'killed: what was saved is there, and says that it is not complete'
);
is(total($_->{buckets}), $_->{count},         '... its buckets add up') for @{ $crashed->{stages} };
is((latency("report $dir/crash.json"))[1], 0, '... and it is shown');

(my $again, $rc) = latency("report $dir/r.json --json");
my ($stage) = @{ Cpanel::JSON::XS->new->decode($again)->{results}[0]{stages} };
is(
	$stage->{count}, sum(map { $_->{count} } @{ $r->{stages} }),
	'what was kept is read again, the same'
);
($out, $rc) = latency("report $dir/r.json");
is($rc, 0, 'it can be shown');
like($out, qr/^whole, user +\d+ /m,                       'with a table');
like($out, qr/not measured without tipme\.ko: interrupt/, 'that says what is missing');
unlike($out, qr/^.{100}/m, 'in less than 100 columns');

# A client that runs for real: each cycle is counted once, and what is predicted follows from the
# latencies.
($out, $rc) = latency("model --client 2x10:1 --duration 2 --output $dir/model.json");
ok($rc == 0 || $rc == 2, 'a client runs') or diag $out;
like(
	$out, qr/^missed +\d+ +\(.*^predicted +\d+ +\(/ms,
	'... with what it missed, and what was predicted'
);
my $m = Cpanel::JSON::XS->new->decode(slurp("$dir/model.json"));
my ($cycles) = grep { $_->{count} } @{ $m->{stages} };
is($cycles->{count}, $m->{model}{cycles}, '... each cycle is a latency');
my $late = 0;
$late += $_->[0] >= 9000 ? $_->[1] : 0 for @{ $cycles->{buckets} };
cmp_ok(
	abs($late - $m->{model}{late}),
	'<=',
	sum(0, map { $_->[0] >= 8900 && $_->[0] <= 9100 ? $_->[1] : 0 } @{ $cycles->{buckets} }),
	'... those above the slack are predicted'
);
cmp_ok($m->{model}{missed}, '>=', $m->{model}{late}, '... and none of these comes in time');
is((latency("report $dir/model.json"))[1], 0,  '... and its latencies are a result');
is((latency('model --priority 99'))[1],    64, 'no such priority');

($out, $rc) = latency('record --source user --duration 1 --threshold 1');
is($rc, 2, 'over a threshold: exit status 2');
if (!-e '/dev/tipme-latency') {
	($out, $rc) = latency('record --source module --duration 1');
	ok($rc == 1 && $out =~ /tipme: latency: .*tipme\.ko/, 'without the module it says so');
}

# In the same seconds, with the same period and priority, cyclictest sees the same.
my %played = map { $_ => 1 } in_turn(1, 'company', 'cyclictest', 'who makes it late');
SKIP: {
	last SKIP if !$played{cyclictest};
	my $cpus = () = glob '/sys/devices/system/cpu/cpu[0-9]*';
	skip "not root: real-time threads need it", 1 + 3 * $cpus if $>;
	my ($cyclictest) = grep {-x} '/usr/bin/cyclictest', '/usr/sbin/cyclictest';
	skip "no cyclictest here: install rt-tests", 1 + 3 * $cpus if !$cyclictest;
	my $theirs = fork // die;
	exec qq{"$cyclictest" -m -p 80 -t -a -i 2000 -d 0 -D 5 -q -h 100000 > "$dir/cyclic" 2>&1}
		or die
		if !$theirs;
	my ($said, $status) =
		latency("record --source user --duration 6 --period 2000 --output $dir/beside.json");
	waitpid $theirs, 0;
	is($status, 0, 'both have measured') or diag $said;
	my ($ours, $cyclic) =
		(Cpanel::JSON::XS->new->decode(slurp("$dir/beside.json")), slurp("$dir/cyclic"));
	my @cpus = sort { $a <=> $b } map { $_->{cpu} } @{ $ours->{stages} };

	for my $thread (0 .. $#cpus) {
		my $d = of_cyclictest($cyclic, $thread);
		cmp_ok(total($d), '>', 500, "cyclictest, CPU $cpus[$thread]") or diag($cyclic), next;
		alike(
			"CPU $cpus[$thread], timer to user space",
			of_stage($ours, $cpus[$thread], 'total_user'), $d, 'cyclictest'
		);
	}
}

# A real-time process takes a CPU, in the kernel, again and again: the sampler sees where, the
# recorder saves an episode, and that names who.
SKIP: {
	last SKIP if !$played{'who makes it late'};
	skip 'not root: sampling and recording the whole machine need it', 17 if $>;
	my $d = Tipme::TestDaemon->new(args => [ '--post', 1 ]);
	my ($started, undef, $why) = $d->start;
	skip "no recorder: $why", 17 if $started;
	my $name = 'mix' . $$;
	my $hog  = fork // die;
	exec 'chrt', '-f', 95, 'perl', '-e', <<'END', $name or die if !$hog;
$0 = shift; open my $h, '<', '/dev/urandom' or die; my $end = time + 300;
while (time < $end) { sysread $h, my $b, 1 << 24; select undef, undef, undef, 0.3 }
END
	my ($cpu) = allowed_cpus();
	qx{taskset -pc $cpu $hog};
	my ($said, $status) = latency(
		"record --source user --duration 8 --period 2000 --threshold 10000 --output $dir/late.json"
	);
	kill 'TERM', $hog;
	waitpid $hog, 0;
	is($status, 2, 'a real-time process made it late') or diag $said;
	my $late = eval { Cpanel::JSON::XS->new->decode(slurp("$dir/late.json")) } // {};
	like($late->{sampler}, qr/^(?:clock|cycles)$/, 'causes are sampled without the module')
		or diag $said;
	cmp_ok($late->{causes_seen}, '>', 0, 'latencies over the threshold have causes');
	is(
		$late->{samples_seen},
		$late->{samples_user} + $late->{samples_unplaced}
			+ sum(0, map { $_->{samples} } values %{ $late->{places} }),
		'each sample is counted once'
	);
	my ($longest) = grep {
		grep { $_->{tid} == $hog }
			@{ $_->{samples} }
	} @{ $late->{causes} };
	ok($longest, 'the process was seen on the CPU') or diag $said;
	my @of_hog = grep { $_->{tid} == $hog } @{ $longest->{samples} };
	is($of_hog[0]{comm}, $name, '... by name');
	my @outside = grep {
			   $_->{ts_ns} < $longest->{expiry_ns}
			|| $_->{ts_ns} > $longest->{expiry_ns} + $longest->{thread_ns}
	} @{ $longest->{samples} };
	is(scalar @outside, 0, 'samples are of the time from the expiry to the thread');
	cmp_ok(
		scalar(grep { @{ $_->{stack} } > 1 && $_->{stack}[0] =~ /\+0x/ } @of_hog), '>', 0,
		'with the functions of the kernel that it was in'
	);
	unlike($said, qr/not measured.*causes/, 'and the report does not say that there are none');

	# Of the episodes that it triggered (one in five seconds), those in which the host of this
	# machine had no hand.
	wait_until(sub { ($d->status->{saving} // '') eq 'idle' });
	my @episodes = glob $d->library . '/2*';
	cmp_ok(scalar @episodes, '>=', 1, 'it has had an episode saved');
	like(
		manifest($episodes[0])->{trigger}{text}, qr/^latency of [\d.]+ ms on CPU \d+$/,
		'which says why'
	);
	ok(!-e "$episodes[0]/note.txt", 'and has no note of the user');
	my @d =
		map { Cpanel::JSON::XS->new->decode(scalar qx{"$tipme" diagnose "$_" --json}) } @episodes;
	is(scalar(grep { $_->{latency} } @d), scalar @episodes, 'each is judged as a latency');
	my ($told) = grep { ($_->{verdict}{blamed}{pid} // 0) == $hog } @d;
	ok($told, 'its verdict names the process') or diag map {"$_->{verdict}{sentence}\n"} @d;
	is($told->{interval}{duration_ns}, $told->{latency}{thread_ns}, 'the interval is the latency');
	cmp_ok($told->{latency}{samples}, '>', 0, 'with samples of its CPU');
	like($told->{latency}{places}[0]{where}, qr/^\w\S* < \w/, 'by function of the kernel')
		or diag explain $told->{latency};
	$d->stop;
}

# The stages, by tracing programs: those of each latency add up to it.
SKIP: {
	skip 'not root: tracing programs need it', 2 if $>;
	($out, $rc) = latency("record --source tracing --duration 2 --period 5000 --json 2>$dir/said");
	my $t = eval { Cpanel::JSON::XS->new->decode($out) };
	skip 'no tracing programs: ' . slurp("$dir/said"), 2 if !$t;
	is($t->{source}, 'tracing', 'it says what measured');
	for my $cpu (sort { $a <=> $b } keys %{ { map { $_->{cpu} => 1 } @{ $t->{stages} } } }) {
		my %s = map { $_->{stage} => $_ } grep { $_->{cpu} == $cpu } @{ $t->{stages} };
		my ($irq, $whole) = @s{qw(irq total_user)};
		next if !ok($irq && $whole, "CPU $cpu: its stages");
		is(
			$irq->{count} + $irq->{skipped},
			$whole->{count}, '... each latency has its stages, or is counted as without'
		);
		is(
			join(' ', map { $s{$_}{count} } qw(waking switch return user)),
			join(' ', ($irq->{count}) x 4), '... all of them'
		);
		# Two clocks of one kind may differ by some ns.
		my $sum = sum(map { $s{$_}{sum_ns} } qw(irq waking switch return));
		cmp_ok($sum, '<=', $whole->{sum_ns} + 1000 * $irq->{count}, '... none is counted twice');
		cmp_ok($sum, '>=', $whole->{sum_ns} - 1000 * $irq->{count}, '... nor left out')
			if !$irq->{skipped};
		is(
			$s{user}{sum_ns}, $s{switch}{sum_ns} + $s{return}{sum_ns},
			'... and the thread\'s two are its whole'
		);
		cmp_ok(
			$s{entry}{sum_ns}, '<=', $irq->{sum_ns},
			'... the interrupt is entered before its handler is called'
		) if $s{entry} && $s{entry}{count} == $irq->{count};
		is(total($_->{buckets}), $_->{count}, "... $_->{stage}: the buckets add up") for values %s;
	}
}

# Where the kernel has no such tracer, it is said.
($out, $rc) = latency('record --source timerlat --duration 1');
like(
	$out, qr/this kernel has no timerlat tracer|: run as root|^total_high|whole, high/m,
	'the kernel\'s own tracer, or that there is none'
);

# Results come from others, too.
my $good = Cpanel::JSON::XS->new->encode($r);
my %bad  = (
	'no JSON'          => 'x' x 100, 'another format' => '{"format":"x"}',
	'a newer version'  => '{"format":"tipme latency","version":2,"stages":[]}',
	'an unknown stage' =>
		'{"format":"tipme latency","version":1,"stages":[{"stage":"x","buckets":[]}]}',
	'a bucket of one' =>
		'{"format":"tipme latency","version":1,"stages":[{"stage":"irq","buckets":[[1]]}]}',
	'a bucket below 0' =>
		'{"format":"tipme latency","version":1,"stages":[{"stage":"irq","buckets":[[-1,5]]}]}',
	'a list for a stage' => '{"format":"tipme latency","version":1,"stages":[[]]}',
	'half of one'        => substr($good, 0, length($good) / 2),
);
for my $what (sort keys %bad) {
	my ($said, $status) = latency('report ' . put('bad.json', $bad{$what}));
	ok($status == 1 && $said =~ /^tipme: latency: /, "refused: $what") or diag "$status: $said";
}
# The longest that there is, and longer, all have a bucket.
my ($huge, $status) = latency(
	'report ' . put(
		'huge.json',
		'{"format":"tipme latency","version":1,"duration_s":1,"period_us":1000,"stages":[{"stage":"irq","buckets":[[0,1],[4095,1],[4096,1],[9000000000000,1]],"count":4,"sum_ns":9000000000000000,"max_ns":9000000000000000}]}'
	)
);
is($status, 0, 'a tail of months is counted');
like($huge, qr/^interrupt +4 /m, 'all of it');
done_testing;
