#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Changes of a CPU's frequency, in an emulated machine with a driver that pretends to have two: by
# the tracing programs and by the module, beside the kernel's own trace of the same changes and its
# statistics of them.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Path       qw(make_path);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(build_module build_drivers ok_run no_complaint to_its_end);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

use constant ROUNDS => 10;
# Of both CPUs, to the lower and back to the higher frequency.
use constant CHANGES => 4 * ROUNDS;

for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.12') {
	to_its_end("Debian's kernel $kernel", sub { on_kernel($kernel) });
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my ($module, $why) = build_module($kernel);
	(my @drivers, $why) = build_drivers($kernel) if $module;
	plan skip_all => $why if !$module || !$drivers[0];
	my $dir = Tipme::Desktop::payload();
	make_path("$dir/opt");
	system('cp', $module, "$dir/opt/tipme.ko") == 0
		&& system('cp', @drivers, "$ENV{TIPME_BUILDDIR}/helper/test/ksrc-dump", "$dir/opt") == 0
		or BAIL_OUT('payload');
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $dir);
	ok_run(
		$vm, 'insmod /opt/tipme.ko && insmod /opt/tipme_test_frequency.ko',
		'both modules are loaded'
	);
	is(
		scalar $vm->run('cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_driver'),
		"tipme_test\ntipme_test\n", 'each CPU has frequencies'
	);
	# The governor takes the highest that is permitted: so what is permitted is what changes it, at
	# once.
	ok_run(
		$vm,
		'for c in 0 1; do echo performance > '
			. '/sys/devices/system/cpu/cpu$c/cpufreq/scaling_governor || exit 1; done; true',
		'nothing else changes them'
	);
	my ($kernel_says, %count) = change($vm);
	my @theirs = map {
		/\[\d+\]\s+\S+\s+(\d+)\.(\d{6}): cpu_frequency: state=(\d+) cpu_id=(\d+)/
			? { us => $1 . $2, khz => $3, cpu => $4 }
			: ()
	} split /\n/, $kernel_says;
	cmp_ok(scalar @theirs, '==', CHANGES, 'the kernel traced ' . CHANGES . ' changes');
	for my $cpu (0, 1) {
		is($count{$cpu}, CHANGES / 2, "... and counted half of them for CPU $cpu");
	}
	compare($vm, $_, @theirs) for qw(bpf module);
	verdict($vm);
	ok_run($vm, 'rmmod tipme_test_frequency && rmmod tipme', 'the modules go');
	no_complaint($vm);
	$vm->close;
	return;
}

# Returns what the kernel's trace says, and how often its statistics say that each CPU has changed.
sub change {
	my ($vm)   = @_;
	my $before = $vm->run('cat /sys/devices/system/cpu/cpu[01]/cpufreq/stats/total_trans');
	my $rounds = ROUNDS;
	ok_run($vm, <<"END", 'each change is told by scaling_cur_freq');
mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing
echo mono > /sys/kernel/tracing/trace_clock; echo 1 > /sys/kernel/tracing/events/power/cpu_frequency/enable
cd /tmp; rm -f hold; mkfifo hold
/opt/ksrc-dump -S bpf < hold > bpf.txt 2> bpf.err & b=\$!
/opt/ksrc-dump -S module < hold > module.txt 2> module.err & m=\$!
exec 3> hold
until grep -q ready bpf.err && grep -q ready module.err; do kill -0 \$b && kill -0 \$m || break; sleep 0.1; done
wrong=0
for i in \$(seq $rounds); do
	for c in 0 1; do
		f=/sys/devices/system/cpu/cpu\$c/cpufreq
		for k in 800000 2400000; do echo \$k > \$f/scaling_max_freq; test "\$(cat \$f/scaling_cur_freq)" = \$k || wrong=\$((wrong + 1)); done
	done
done
exec 3>&-; wait \$b \$m
echo 0 > /sys/kernel/tracing/events/power/cpu_frequency/enable; cat bpf.err module.err; echo wrong: \$wrong; test \$wrong = 0
END
	my @after = split ' ',
		$vm->run('cat /sys/devices/system/cpu/cpu[01]/cpufreq/stats/total_trans');
	my @before = split ' ', $before;
	return (
		scalar $vm->run('cat /sys/kernel/tracing/trace'),
		map { $_ => $after[$_] - $before[$_] } 0, 1
	);
}

# The same changes, in their order, of the same CPUs; each of ours lies nearer to its own in the
# trace than to its neighbours.
sub compare {
	my ($vm, $source, @theirs) = @_;
	my @ours = sort { $a->{ns} <=> $b->{ns} } map {
		/ cpu_frequency ts_ns=(\d+) tid=\d+ khz=(\d+) cpu=(\d+)/
			? { ns => $1, khz => $2, cpu => $3 }
			: ()
	} split /\n/, $vm->run("grep ' cpu_frequency ' /tmp/$source.txt");
	is_deeply(
		[ map {"$_->{cpu}: $_->{khz}"} @ours ], [ map {"$_->{cpu}: $_->{khz}"} @theirs ],
		"$source: the same CPUs and frequencies as in the kernel's trace, in order"
	) or return;
	my (@apart, @strays);
	for my $i (0 .. $#ours) {
		my $us = $ours[$i]{ns} / 1e3;
		my @by_distance =
			sort { abs($theirs[$a]{us} - $us) <=> abs($theirs[$b]{us} - $us) } 0 .. $#theirs;
		push @apart,  abs $theirs[$i]{us} - $us;
		push @strays, $i if $by_distance[0] != $i;
	}
	is_deeply(\@strays, [], "$source: each is nearest to its own of the trace");
	@apart = sort { $a <=> $b } @apart;
	diag sprintf '%s: %d changes, the times are %.0f us apart (median; at most %.0f)', $source,
		scalar @apart, $apart[ @apart / 2 ], $apart[-1];
	return;
}

# Who computes meanwhile is told to have had a slow CPU, by `tipme diagnose`; and nothing of that
# once the CPU is fast.
sub verdict {
	my ($vm) = @_;
	my $f = '/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq';
	for my $case (
		[
			'slow since before recording began', 'true',
			qr/^CPU 1 ran at 0\.80 GHz meanwhile, of at most 2\.40 /
		],
		[
			'slow since then', "echo 800000 > $f",
			qr/^CPU 1 ran at 0\.80 GHz meanwhile, of at most 2\.40 /
		],
		[ 'fast since then', "echo 2400000 > $f", undef ]
		)
	{
		my ($what, $change, $says) = @$case;
		ok_run(
			$vm,
			'echo '
				. ($what =~ /^fast|before/ ? 800000 : 2400000)
				. " > $f; tipme start --owner 0 > /dev/null && sleep 2", "$what: a recorder"
		);
		my ($said) = $vm->run(
				  "$change; cut -d' ' -f1 /proc/uptime; taskset -c 1 sh -c 'echo \$\$; i=0; while "
				. "[ \$i -lt 20000 ]; do i=\$((i + 1)); done'; cut -d' ' -f1 /proc/uptime");
		my ($from, $tid, $to) = $said =~ /^(\S+)\n(\d+)\n(\S+)/ or BAIL_OUT($said);
		my ($told) = $vm->run(
				  "tipme snap > /dev/null; tipme diagnose last --thread $tid --from $from --to $to "
				. "--json 2> /dev/null; tipme stop > /dev/null");
		my $v  = eval { Cpanel::JSON::XS->new->decode($told)->{verdict} } or diag $told;
		my @of = grep {/GHz/} @{ $v->{circumstances} // [] };
		$says ? like("@of", $says, "$what: it is said") : is("@of", '', "$what: nothing is said");
		is($v->{kind}, 'app-compute', '... of who computed') or diag $told;
	}
	return;
}
