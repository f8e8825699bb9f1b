#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The latency driver and the cause sampler of tipme.ko on Debian's own kernels (with
# TIPME_TEST_ALL=1 also on ours): each expiry is counted at each stage, cyclictest sees the like in
# the same seconds, and a function that keeps interrupts off for 2 ms is named. No absolute time is
# judged: an emulator has none. TIPME_TEST_PARTS: driver (all but the others), beside (tracing
# programs and the module at once), planted (other causes; with TIPME_TEST_ALL=1), model (a client
# that runs beside three loads; likewise).
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Copy       qw(cp);
use File::Path       qw(make_path);
use File::Temp       qw(tempdir);
use FindBin;
use List::Util qw(sum);
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib", "$FindBin::Bin/../../helper/test/lib",
	"$FindBin::Bin/../../postmortem/lib";
use Tipme::Desktop      ();
use Tipme::Distribution qw(of_stage of_cyclictest of_rtla total alike);
use Tipme::ExactPath    qw(exact_path);
use Tipme::ModelRun     qw(model);
use Tipme::VM;

use constant SECONDS => 12;
# An emulator beside other work has no time for a thousand a second on each CPU: then most expiries
# would pass unmeasured.
use constant PERIOD_US => 2000;
# Where a planted cause is to be seen. It prints with interrupts off: a timer that samples, as the
# tracing programs' does, sees where they come on again. Compaction needs no module.
my %PLANTED = (
	irqs_off   => qr/\bculprit_keeps_interrupts_off \[tipme_culprit\]/,
	softirq    => qr/\bculprit_softirq_storm \[tipme_culprit\]/,
	rcu        => qr/\bculprit_rcu_callback \[tipme_culprit\]/,
	printk     => qr/\bculprit_(?:console_writes|prints) \[tipme_culprit\]/,
	compaction => qr/\b(?:compact_|compaction_|isolate_(?:migrate|free)pages)/,
);
# Real-time kernels do these in threads, which keep nobody of a higher priority waiting.
my %IN_THREADS = map { $_ => 1 } qw(softirq rcu printk);
my @STAGES     = qw(deferred high irq irq_deferred medium total_high total_medium total_user user);

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $top = $ENV{TIPME_SRCDIR};
# Plain and debug ones are built with our series: the first has the timerlat tracer, the second
# proves locks and checks each access to memory.
my @kernels = split ' ', $ENV{TIPME_TEST_KERNELS}
	// '6.1 6.12 6.12-rt' . ($ENV{TIPME_TEST_ALL} ? ' 6.1-plain 6.1-debug' : '');
for my $kernel (@kernels) {
	subtest "kernel $kernel" => sub { on_kernel($kernel) };
}
done_testing;

# The folder of a kernel that mkkernel builds; undef: it is one of Debian's own.
sub patched {
	my ($kernel) = @_;
	my ($version, $flavour) = $kernel =~ /^([\d.]+)-(plain|debug)$/ or return;
	chomp(my $dir = qx{"$top/tests/vm/mkkernel" $version $flavour 2>/dev/null});
	$? == 0 or BAIL_OUT("mkkernel $version $flavour");
	return $dir;
}

sub payload {
	my ($kernel, $patched) = @_;
	my $dir = Tipme::Desktop::payload();
	cp("$ENV{TIPME_BUILDDIR}/helper/measure/tipme-latency", $dir) or BAIL_OUT("tipme-latency: $!");
	chmod 0755, "$dir/tipme-latency";
	if ($patched) {
		chomp(my ($ko) = qx{find "$patched/lib/modules" -name tipme.ko});
		cp($ko, $dir) or BAIL_OUT("no tipme.ko in $patched");
		return $dir;
	}
	my $build = tempdir('tipme-module-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chomp(my $headers = qx{"$top/kernel-patch/headers" $kernel});
	$? == 0 or BAIL_OUT("no headers of $kernel");
	my $log =
		qx{"$top/kernel-patch/build-module" "$headers" "$build/tipme" 2>&1 && cp -r "$top/kernel-patch/t/culprit" "$build/" && make -C "$headers" M="$build/culprit" modules 2>&1};
	$? == 0 or BAIL_OUT("modules for $kernel: $log");
	for my $file ("$build/tipme/tipme.ko", "$build/culprit/tipme_culprit.ko") {
		cp($file, $dir) or BAIL_OUT("$file: $!");
	}
	system('strip', '--strip-debug', glob "$dir/*.ko");
	return $dir;
}

sub on_kernel {
	my ($kernel) = @_;
	my $patched  = patched($kernel);
	my %how      = $patched
		? (
		kernel => $kernel =~ s/-.*//r, boot => $patched,
		memory_mb => $kernel =~ /debug/ ? 2560 : 1536
		)
		: (kernel => $kernel);
	# What the host takes from a client while it computes is no load of the machine's.
	$how{nice} = -10 if wanted('model');
	my $vm = Tipme::VM->new(%how, payload => payload($kernel, $patched));
	my ($said, $rc) = $vm->run('cd /; insmod tipme.ko');
	is($rc, 0, 'the module is loaded') or diag($said), return;
	driver($vm, $kernel, $patched) if wanted('driver');
	beside($vm)                    if wanted('beside');
	# The culprit is built for Debian's kernels only.
	planted($vm, $kernel) if wanted('planted') && !$patched;
	model($vm)            if wanted('model');
	(my $out, $rc) = $vm->run(
		'(! grep -q ^tipme_culprit /proc/modules || rmmod tipme_culprit; for i in 1 2 3; do rmmod tipme && insmod /tipme.ko || exit 1; done; rmmod tipme; ! grep -q ^tipme /proc/modules)'
	);
	is($rc, 0, 'the module is removed, and comes again') or diag $out;
	Tipme::Desktop::no_complaint($vm);
	is(
		scalar $vm->run(
				  'dmesg | grep -E "general protection|possible .* deadlock|KASAN: |INFO: '
				. '(task|rcu)|inconsistent lock|sleeping function"'
		),
		'',
		'nor about locks and memory'
	);
	$vm->close;
}

sub wanted {
	my ($part) = @_;
	my $wanted = $ENV{TIPME_TEST_PARTS}
		// 'driver beside' . ($ENV{TIPME_TEST_ALL} ? ' planted model' : '');
	return grep { $_ eq $part } split ' ', $wanted;
}

sub driver {
	my ($vm, $kernel, $patched) = @_;
	my ($r, $cyclic) = measure($vm);
	stages($r)           if $r;
	compare($r, $cyclic) if $r;
	causes($r)           if $r && !$patched;
	episodes($vm)        if !$patched;
	without_module($vm)  if !$patched;
	# Debian's real-time kernel and ours have the tracer, its others do not.
	timerlat($vm) if $kernel =~ /plain|rt/;
	refusals($vm);
	hotplug($vm);
	return;
}

# Both at once, from expiries of their own: each sees the same machine.
sub beside {
	my ($vm) = @_;
	$vm->run('! grep -q ^tipme_culprit /proc/modules || rmmod tipme_culprit');
	my ($out) = $vm->run(<<'END');
cd /tmp; (/tipme-latency record --source module -d 16 --period 4000 --sample 0 --priorities 90,40,60 -o m.json > m.txt & sleep 2; /tipme-latency record --source tracing -d 11 --period 4300 --sample 0 -o t.json > t.txt; wait)
END
	my ($m, $t) = map { result($vm, "/tmp/$_.json") } 'm', 't';
	ok($m && $t, 'the module and tracing programs, at once') or diag($out), return;
	is($t->{source}, 'tracing', '... stages by these');
	for my $cpu (0, 1) {
		for my $stage (qw(irq deferred total_user)) {
			my ($by_programs, $by_module) = map { of_stage($_, $cpu, $stage) } $t, $m;
			cmp_ok(total($by_programs), '>', 100, "CPU $cpu, $stage: measured") or next;
			alike("CPU $cpu, $stage", $by_programs, $by_module, 'the module');
		}
	}
	return;
}

sub result {
	my ($vm, $file) = @_;
	return eval { Cpanel::JSON::XS->new->decode(scalar $vm->run("cat $file")) };
}

# Each cause is named by its function, among the first of where the CPU was, and a sample has the
# calls that led to it.
sub planted {
	my ($vm, $kernel) = @_;
	for my $how (sort keys %PLANTED) {
		next if $IN_THREADS{$how} && $kernel =~ /rt/;
		for my $source (qw(module tracing)) {
			caused($vm, $how, $source);
		}
	}
	return;
}

sub caused {
	my ($vm, $how, $source) = @_;
	my ($begin, $end) = (
			  "rmmod tipme_culprit 2> /dev/null; dmesg -n 8; insmod /tipme_culprit.ko off_us=4000 "
			. "every_ms=20 how=$how",
		'rmmod tipme_culprit; dmesg -n 4'
	);
	# Somebody leaves holes, another asks for them to be closed.
	($begin, $end) = (
			  'rmmod tipme_culprit 2> /dev/null; (while :; do dd if=/dev/zero of=/tmp/holes bs=64k '
			. "count=400 2> /dev/null; done) & D=\$!\nchrt -f 95 taskset -c 1 perl -e 'for (;;) { "
			. 'open my $f, q(>), q(/proc/sys/vm/compact_memory) or die; print {$f} 1; close $f; '
			. "select undef, undef, undef, 0.02 }' & C=\$!",
		'kill $C $D; wait $C $D; rm -f /tmp/holes'
	) if $how eq 'compaction';
	my ($out) =
		$vm->run("$begin\n/tipme-latency record --source $source -d 6 --period 4000 "
			. "--threshold 1000 --sample 200 -o /tmp/p.json > /tmp/p.txt 2>&1; $end; cat /tmp/p.txt"
		);
	my $r      = result($vm, '/tmp/p.json') // {};
	my %p      = %{ $r->{places} // {} };
	my @places = sort { $p{$b}{samples} <=> $p{$a}{samples} || $a cmp $b } keys %p;
	my ($rank) = grep { $places[$_] =~ $PLANTED{$how} } 0 .. $#places;
	my @trees  = grep {
		grep { s/[+]0x[0-9a-f\/x]+//r =~ $PLANTED{$how} }
			@$_
		}
		map { $_->{stack} } map { @{ $_->{samples} } } @{ $r->{causes} // [] };
	my ($tree) = sort { @$b <=> @$a } @trees;
	diag "$source, $how: rank ", defined $rank ? $rank + 1 : 'none', ' of ', scalar @places,
		' places; ', join ' < ', map {s/[+]0x.*?(?= |$)//r} @{ $tree // [] };
	ok(defined $rank && $rank < 10, "$source: $how is named among the first ten places")
		or diag $out;
	cmp_ok(scalar @{ $tree // [] }, '>=', 2, '... with the calls that led to it');
	return;
}

# While the culprit is at work and cyclictest measures the same.
sub measure {
	my ($vm) = @_;
	my $more = SECONDS - 3;
	my ($out, $rc) = $vm->run(sprintf <<'END', SECONDS, $more, PERIOD_US);
cd /tmp; (sleep 1; test ! -e /tipme_culprit.ko || insmod /tipme_culprit.ko every_ms=10) & cyclictest -m -p 70 -t -a -i %3$d -d 0 -D %2$d -q -h 100000 > cyclic.txt 2>&1 &
/tipme-latency record --duration %1$d --period %3$d --threshold 1000 --sample 200 --output /tmp/r.json > r.txt; echo $? > rc; wait
cat rc
END
	# What measured ended with 2: the culprit is over any threshold of 1 ms.
	like($out, qr/^2$/m, 'measured, and something was over the threshold') or diag $out;
	diag scalar $vm->run('cat /tmp/r.txt | head -n 48');
	my $r = eval { Cpanel::JSON::XS->new->decode(scalar $vm->run('cat /tmp/r.json')) };
	ok($r, 'there is a result') or return;
	return ($r, scalar $vm->run(q(grep -v '^[0-9]* 000000.000000$' /tmp/cyclic.txt)));
}

sub stages {
	my ($r) = @_;
	for my $cpu (0, 1) {
		my %s = map { $_->{stage} => $_ } grep { $_->{cpu} == $cpu } @{ $r->{stages} };
		is(join(' ', sort keys %s), "@STAGES", "CPU $cpu: all stages");
		my @wrong = grep {
			$s{$_}{count} != sum(0, map { $_->[1] } @{ $s{$_}{buckets} })
		} @STAGES;
		is("@wrong", '', 'the buckets of each add up');
		# Read in order of stages while the driver runs: a few may be on their way.
		my $expiries = $s{irq}{count} + $s{irq}{skipped};
		my $due      = SECONDS * 1e6 / PERIOD_US;
		cmp_ok(
			abs($expiries - $due), '<', $due / 8,
			'as many expiries as there is time for, measured or passed'
		) or diag $expiries;
		cmp_ok(
			abs($s{irq}{count} - $s{deferred}{count} - $s{deferred}{skipped}), '<=', 50,
			'each interrupt deferred work, or found it still under way'
		);
		cmp_ok(
			abs($s{deferred}{count} - $s{high}{count} - $s{high}{skipped}), '<=', 50,
			'and that woke the high thread, or found it still on its way'
		);
		cmp_ok(
			abs($s{high}{count} - $s{total_high}{count}), '<=', 50,
			'each of its latencies has a sum'
		);
		cmp_ok($s{total_high}{sum_ns}, '>=', $s{high}{sum_ns}, 'which is more than its last part');
		cmp_ok($s{user}{count},        '>',  100, 'the thread in user space was measured');
	}
}

# In the same seconds: what cyclictest says is of the order of what the driver has seen, for the
# middle of all and for those that came late.
sub compare {
	my ($r, $cyclic) = @_;
	for my $cpu (0, 1) {
		my $theirs = of_cyclictest($cyclic, $cpu);
		cmp_ok(
			total($theirs), '>', (SECONDS - 4) * 1e6 / PERIOD_US / 4,
			"cyclictest has measured CPU $cpu"
		) or diag($cyclic), next;
		alike(
			"CPU $cpu, timer to user space", of_stage($r, $cpu, 'total_user'), $theirs,
			'cyclictest'
		);
	}
}

# The kernel's own tracer of the same thing, in the same seconds and under the same culprit. Its
# thread is woken by the interrupt, ours by work that the interrupt defers: so interrupt is compared
# with interrupt, and its thread with the sum up to our thread of high priority, which has one way
# more.
sub timerlat {
	my ($vm) = @_;
	my ($out, $rc) = $vm->run(sprintf <<'END', PERIOD_US, SECONDS, SECONDS - 3);
mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing; cd /tmp
/tipme-latency record --source module --period %1$d --duration %2$d --sample 0 --output /tmp/t.json > /dev/null & sleep 1
rtla timerlat hist -p %1$d -d %3$ds -P f:95 -b 10 -E 5000; wait
END
	my $r = eval { Cpanel::JSON::XS->new->decode(scalar $vm->run('cat /tmp/t.json')) }
		or return fail('no result');
	for my $cpu (0, 1) {
		for ([ 'irq', 'IRQ' ], [ 'total_high', 'Thr' ]) {
			my ($ours, $theirs) =
				(of_stage($r, $cpu, $_->[0]), of_rtla($out, sprintf '%s-%03d', $_->[1], $cpu));
			cmp_ok(
				total($theirs), '>', (SECONDS - 3) * 1e6 / PERIOD_US / 4,
				"timerlat has measured $_->[1] of CPU $cpu"
			) or diag($out), next;
			alike("CPU $cpu, $_->[0]", $ours, $theirs, 'timerlat');
		}
	}
}

sub causes {
	my ($r) = @_;
	is($r->{sampler}, 'nmi_ipi', 'without performance counters, another CPU sends NMIs');
	cmp_ok($r->{causes_seen}, '>', 0, 'latencies over the threshold have their causes');
	# The emulator's own pauses are longer than 2 ms, and most samples are of an idle CPU then: the
	# longest latencies are not the culprit's.
	my %p         = %{ $r->{places} };
	my @off       = sort { $p{$b}{irqs_off} <=> $p{$a}{irqs_off} || $a cmp $b } keys %p;
	my ($culprit) = grep {/^(?:\w+ < ){0,2}culprit_keeps_interrupts_off \[tipme_culprit\]/}
		@off[ 0 .. (@off < 10 ? $#off : 9) ];
	ok(
		$culprit,
		'the function that keeps interrupts off is among the first ten where they were off'
	) or diag join "\n", map {"$p{$_}{irqs_off} $_"} @off[ 0 .. 9 ];
	cmp_ok($p{ $culprit // '' }{irqs_off} // 0, '>=', 5, 'with some samples');
	# Its first and last instructions run with interrupts on.
	cmp_ok(
		$p{ $culprit // '' }{irqs_off} // 0, '>=', ($p{ $culprit // '' }{samples} // 0) * 0.7,
		'and seen with interrupts off'
	);
	is(
		$r->{samples_seen},
		$r->{samples_user} + $r->{samples_unplaced} + sum(0, map { $_->{samples} } values %p),
		'each sample is counted once'
	);
}

# What is over the threshold has an episode saved, with the latency and its samples in the records
# of the module; and its verdict names the function. An emulator's own pauses are over any
# threshold, too, and one latency in five seconds is saved: so the culprit does worse here, and the
# threshold is higher, but not all are the culprit's.
sub episodes {
	my ($vm) = @_;
	my ($out, $rc) = $vm->run('tipme start --owner 0 && tipme status --json');
	ok($rc == 0 && $out =~ /"source": "kernel_module"/, 'the recorder runs, with the module')
		or diag($out), return;
	# The last trigger of what was measured before waited in the module for somebody who listens.
	is(
		$vm->run('sleep 4; ls -d /var/lib/tipme/0/2* 2>/dev/null | wc -l') + 0, 0,
		'a latency from before the records is no episode of theirs'
	) or $vm->run('rm -rf /var/lib/tipme/0/2*');
	culprit($vm, 20_000, 40);
	($out, $rc) =
		$vm->run('/tipme-latency record --source module -d 30 --period '
			. PERIOD_US
			. ' --threshold 10000 --sample 500 > /dev/null');
	is($rc, 2, 'something was over the threshold') or diag $out;
	culprit($vm, 2_000, 10);
	my ($n, $last) = (0, -1);
	while ($n != $last) {
		$last = $n;
		sleep 5;
		$n = $vm->run('ls -d /var/lib/tipme/0/2* 2>/dev/null | wc -l') + 0;
	}
	cmp_ok($n, '>=', 1, "episodes were saved: $n") or diag scalar $vm->run('tipme status');
	my (@latencies, @culprits, $page);
	for my $dir (split ' ', $vm->run('ls -d /var/lib/tipme/0/2*')) {
		like(
			scalar $vm->run("cat $dir/manifest.json"),
			qr/"kind" *: *"kernel".*latency of [\d.]+ ms on CPU \d/s, 'the episode says why'
		);
		my $text = $vm->run("tipme diagnose $dir --json 2>/tmp/said");
		my $d    = eval { Cpanel::JSON::XS->new->decode($text) }
			or fail('diagnose gives JSON'),
			diag(
			length $text, " bytes: ", substr($text, 0, 200), ' ... ', substr($text, -200),
			$vm->run('tr "\r" "\n" < /tmp/said | tail -n 3')
			),
			next;
		my $l = $d->{latency}
			or diag(
			'not judged as a latency: '
				. $vm->run(
				"grep -A5 trigger $dir/manifest.json; rm -f /tmp/text; tipme export $dir --format "
					. "text -o /tmp/text --from -100 --to 5; grep -E 'latency(_user)? ' /tmp/text"
				)
			),
			next;
		exact_path($d);
		push @latencies, $l;
		cmp_ok(
			$d->{interval}{duration_ns},                        '==',
			$l->{irq_ns} + $l->{deferred_ns} + $l->{thread_ns}, 'its stages are the interval'
		) if defined $l->{irq_ns};
		diag "$d->{verdict}{kind}: $d->{verdict}{sentence}";
		next
			if $d->{verdict}{kind} ne 'irqs-off'
			|| $d->{verdict}{sentence} !~ /culprit_keeps_interrupts_off \[tipme_culprit\]/;
		push @culprits, $d->{verdict}{blamed}{comm};
		$page //= $vm->run("tipme diagnose $dir");
	}
	is(scalar @latencies, $n, 'all are judged as latencies');
	cmp_ok(scalar(grep { $_->{samples} } @latencies), '>', 0, 'with samples of its CPU');
	like(
		$culprits[0] // '', qr{^culprit/1$},
		'the thread that kept interrupts off, and the function in which it did, are named'
	) or diag scalar $vm->run('tipme diagnose $(ls -d /var/lib/tipme/0/2* | head -1)');
	diag $page // '';
	($out, $rc) = $vm->run('tipme stop');
	is($rc, 0, 'the recorder is told to end') or diag $out;
	ok(eval { $vm->wait_for('the recorder has ended', '! pgrep -x tipmed'); 1 }, 'and does')
		or diag $@;
}

# How long it keeps interrupts off, and how long it sleeps then.
sub culprit {
	my ($vm, $off_us, $every_ms) = @_;
	my ($out, $rc) =
		$vm->run("rmmod tipme_culprit; insmod /tipme_culprit.ko off_us=$off_us every_ms=$every_ms");
	is($rc, 0, "the culprit keeps interrupts off for $off_us us") or diag $out;
	return;
}

# A tracing program's timer cannot come while interrupts are off, but when they come on again it
# comes there.
sub without_module {
	my ($vm) = @_;
	my ($out, $rc) =
		$vm->run('/tipme-latency record --source user -d 12 --period '
			. PERIOD_US
			. ' --threshold 1000 --sample 200 --output /tmp/u.json');
	is($rc, 2, 'without the module, too, something was over the threshold') or diag $out;
	my $u = eval { Cpanel::JSON::XS->new->decode(scalar $vm->run('cat /tmp/u.json')) } // {};
	is($u->{sampler}, 'clock', 'and a tracing program samples') or diag $out;
	my %p = %{ $u->{places} // {} };
	is(
		$u->{samples_seen},
		$u->{samples_user} + $u->{samples_unplaced} + sum(0, map { $_->{samples} } values %p),
		'each sample is counted once'
	);
	cmp_ok(
		sum(0, map { $p{$_}{samples} } grep {/culprit_keeps_interrupts_off/} keys %p), '>', 0,
		'where interrupts came on again is seen'
	) or diag $out;
}

sub refusals {
	my ($vm) = @_;
	my ($out, $rc) = $vm->run(
		'/tipme-latency record --source module -d 3 > /dev/null & sleep 1; /tipme-latency record '
			. '--source module -d 1; rc=$?; wait; (exit $rc)');
	is($rc, 1, 'one measures at a time');
	like($out, qr/somebody measures already/, 'and the other is told');
	(undef, $rc) =
		$vm->run('runuser -u user -- /tipme-latency record --source module -d 1 > /dev/null 2>&1');
	is($rc, 1, 'nobody measures without privileges');
	# Whoever measures is killed: the next one can.
	(undef, $rc) = $vm->run(
		'/tipme-latency record --source module -d 30 > /dev/null & sleep 1; kill -9 $!; wait; '
			. '/tipme-latency record --source module -d 1 > /dev/null');
	is($rc, 0, 'what was killed leaves nothing behind');
}

# A CPU leaves and comes back while the driver measures.
sub hotplug {
	my ($vm) = @_;
	my ($out, $rc) = $vm->run(<<'END');
(/tipme-latency record --source module -d 6 --json > /tmp/h.json 2> /tmp/h.err & pid=$!
sleep 2; echo 0 > /sys/devices/system/cpu/cpu1/online || exit 3
sleep 1; echo 1 > /sys/devices/system/cpu/cpu1/online || exit 4
wait $pid; rc=$?; cat /tmp/h.err; exit $rc)
END
	is($rc, 0, 'a CPU leaves and comes back') or diag $out;
}
