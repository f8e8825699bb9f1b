#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What a scheduler record costs in instructions of an emulated machine, on Debian's own kernels:
# nothing, empty BPF programs, ours, ours in memory that the pool has grown by, the kernel module's,
# ftrace.
# Unlike times, instructions hardly vary, so this test may say how many there may be. A second boot
# must count the same, but for what depends on when the host answers the disk. In CI the kernel is
# that which tests/vm/module.t does not boot, and either a pool that has grown or the module is
# counted: the hash of the commit draws which.
use strict;
use warnings;
use File::Copy qw(cp);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop ();
use Tipme::Drawn   qw(in_turn);
use Tipme::VM;

# Gates against getting dearer, a little above what was counted (on 2026-11-25: 0.34 of ftrace's on
# 6.1, 0.33 on 6.12). Where the pool has grown a sub-buffer is looked up once more, in the array of
# what it has grown by: 50 and 31 instructions, 0.395 and 0.37 in all. The module's are what was
# aimed at: 150, and a fifth of ftrace's.
use constant { OF_FTRACE => 0.36, GROWN_OF_FTRACE => 0.40 };
use constant MODULE           => 150;
use constant MODULE_OF_FTRACE => 0.20;
# Two boots of the same may differ by this part of a round trip.
use constant ALIKE => 0.005;
use constant TRIPS => 5000;
# What makes the pool grow by more than all that is measured then writes.
use constant WARM => 4 * TRIPS;
# Two switches and two wakings.
use constant RECORDS => 4;

my $left_out = Tipme::VM::left_out('in part');
plan skip_all => $left_out if $left_out;

my $payload = tempdir('tipme-payload-XXXXXX', TMPDIR => 1, CLEANUP => 1);
for my $program (qw(tests/vm/pingpong bench/empty-programs helper/test/ksrc-dump)) {
	cp("$ENV{TIPME_BUILDDIR}/$program", $payload) or BAIL_OUT("$program: $!");
	chmod 0755, "$payload/" . ($program =~ s{.*/}{}r);
}

my @kernels = split ' ', $ENV{TIPME_TEST_KERNELS} // (Tipme::VM::thin() ? '6.1' : '6.1 6.12');
my %also    = map { $_ => 1 }
	Tipme::VM::thin() ? in_turn(1, 'what is counted, too', qw(grown module)) : qw(grown module);
my %has_module = map { $_ => $also{module} && module($_) } @kernels;
for my $kernel (@kernels) {
	Tipme::Desktop::to_its_end("Debian's kernel $kernel", sub { on_kernel($kernel) });
}
done_testing;

# Puts the module for a kernel into the payload, by the release that it is for. Returns whether the
# headers could be had.
sub module {
	my ($kernel) = @_;
	my ($ko, $why) = Tipme::Desktop::build_module($kernel);
	if (!$ko) { diag($why); return 0 }
	my ($release) = qx{modinfo -F vermagic "$ko"} =~ /^(\S+)/ or BAIL_OUT('modinfo');
	system('cp', $ko, "$payload/tipme-$release.ko") == 0      or BAIL_OUT('cp');
	return 1;
}

sub script {
	my ($trips, $warm) = (TRIPS, WARM);
	my $grown = $also{grown} ? 'with grown /ksrc-dump -qw -S bpf -W 1 -a 1' : '';
	return <<"END";
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
measure() { echo "\$1: \$(/pingpong $trips) \$(/pingpong $trips)"; }
# Runs a recorder that says "ready" and ends when its standard input is closed; its facts are printed.
with() {
	name=\$1; shift
	rm -f /tmp/hold /tmp/ready; mkfifo /tmp/hold
	"\$@" < /tmp/hold > /tmp/facts 2> /tmp/ready & exec 3> /tmp/hold
	until grep -q . /tmp/ready; do sleep 0.1; done
	grep -qx ready /tmp/ready || { cat /tmp/ready; exit 1; }
	[ "\$name" != grown ] || { sleep 3; /pingpong $warm > /dev/null; sleep 3; }
	measure "\$name"
	exec 3>&-; wait
	grep -E '^(coverage|stats|grown)' /tmp/facts
}
/pingpong 500 > /dev/null
measure nothing
with empty /empty-programs
with tipme /ksrc-dump -qw -S bpf
$grown
if test -e /tipme-\$(uname -r).ko; then
	insmod /tipme-\$(uname -r).ko && with module /ksrc-dump -qw -S module && rmmod tipme
fi
cd /sys/kernel/tracing
echo 8192 > buffer_size_kb; echo mono > trace_clock
for e in sched_switch sched_waking; do echo 1 > events/sched/\$e/enable; done
measure ftrace
for e in sched_switch sched_waking; do echo 0 > events/sched/\$e/enable; done
grep -E '^entries|^overrun' per_cpu/cpu0/stats
measure nothing-again
END
}

sub on_kernel {
	my ($kernel) = @_;
	my ($trip, $said) = count($kernel);
	my @all = (
		'empty', 'ftrace', ($also{grown} ? 'grown' : ()), ($has_module{$kernel} ? 'module' : ()),
		qw(nothing nothing-again tipme)
	);
	is(join(' ', sort keys %$trip), "@all", 'all were measured') or return diag $said;
	my %record = map { $_ => ($trip->{$_} - $trip->{nothing}) / RECORDS } grep { !/nothing/ } @all;
	diag sprintf
		"%s: nothing %.0f instructions a round trip; a record: empty BPF programs %.0f, tipme %.0f, ftrace %.0f",
		$kernel, $trip->{nothing},
		@record{qw(empty tipme ftrace)};
	my ($records) = $said =~ /^coverage .*cpu=0 .*records=(\d+)/m;
	cmp_ok($records // 0, '>=', 2 * TRIPS * RECORDS, 'ours recorded each switch and each waking')
		or diag $said;
	cmp_ok($said =~ /^entries: (\d+)/m ? $1 : 0, '>=', 2 * TRIPS * RECORDS, 'ftrace did, too');
	cmp_ok(
		$record{tipme}, '<=', OF_FTRACE * $record{ftrace},
		'a record of ours costs at most ' . OF_FTRACE . " of one of ftrace's"
	);
	grown($kernel, $said, \%record) if $also{grown};
SKIP: {
		last SKIP if !$also{module};
		skip "no headers of $kernel: the module is not measured", 2 if !$has_module{$kernel};
		diag sprintf "%s: the module's %.0f", $kernel, $record{module};
		cmp_ok($record{module}, '<=', MODULE, 'a record of the module costs at most ' . MODULE);
		cmp_ok(
			$record{module}, '<=', MODULE_OF_FTRACE * $record{ftrace},
			'and at most ' . MODULE_OF_FTRACE . " of one of ftrace's"
		);
	}
	twice($kernel, $trip);
}

sub grown {
	my ($kernel, $said, $record) = @_;
	diag sprintf "%s: in a pool that has grown %.0f", $kernel, $record->{grown};
	my ($first, $most) = $said =~ /^grown first=(\d+) most=(\d+) refused=0$/m;
	cmp_ok($most // 0, '>', 3 * ($first // 1), 'a pool for a second has grown') or diag $said;
	cmp_ok(
		$record->{grown}, '<=', GROWN_OF_FTRACE * $record->{ftrace},
		'... where a record costs at most ' . GROWN_OF_FTRACE
	);
	return;
}

sub twice {
	my ($kernel, $trip) = @_;
SKIP: {
		skip 'the second boot, which must count the same, only with TIPME_TEST_VM=1 or '
			. 'TIPME_TEST_ALL=1',
			1
			if Tipme::VM::thin();
		my ($again) = count($kernel);
		for (sort keys %$trip) {
			cmp_ok(
				abs($again->{$_} - $trip->{$_}), '<=', ALIKE * $trip->{nothing},
				"a second boot counts the same: $_"
			) or diag "$trip->{$_}, then $again->{$_}";
		}
	}
	return;
}

# Instructions a round trip, by what was recording; the second measure, since the pages of the first
# were new.
sub count {
	my ($kernel) = @_;
	my $said = Tipme::VM->counted(kernel => $kernel, payload => $payload, script => script());
	return { $said =~ /^([\w-]+): [\d.]+ ([\d.]+)$/mg }, $said;
}
