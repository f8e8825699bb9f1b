#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A machine of 16 CPUs, on each of which threads sleep and wake each other. With the default pool
# each CPU is covered from the start and nothing is lost. With one that is written over many times
# all CPUs keep the same seconds. One that may grow does so before it overwrites what is to be kept.
use strict;
use warnings;
use File::Copy qw(cp);
use File::Temp qw(tempdir);
use FindBin;
use List::Util qw(max min);
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop ();
use Tipme::VM;

use constant CPUS => 16;
# Of each load; an emulator of few CPUs of its own needs longer.
use constant SECONDS => 10;
# An idle machine of many CPUs makes some, too; each load makes a thousand where it has a CPU.
use constant RECORDS_LEAST => 200;
# 16,384 records, of which the load makes several times as many.
use constant SMALL_POOL => 512 << 10;
# A pool that may grow begins with room for so many records a second, and for so many seconds. The
# load makes at most 27,000, for which its share of this memory has room; a slow emulator makes
# less.
use constant { BEGINS_WITH => 10_000, WINDOW_S => 10, MEMORY_MB => 352, GROWING_S => 20 };

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $payload = tempdir('tipme-payload-XXXXXX', TMPDIR => 1, CLEANUP => 1);
for my $program (qw(helper/test/ksrc-dump bench/sleepers)) {
	cp("$ENV{TIPME_BUILDDIR}/$program", $payload) or BAIL_OUT("$program: $!");
	chmod 0755, "$payload/" . ($program =~ s{.*/}{}r);
}
my ($last, $seconds, $small) = (CPUS - 1, SECONDS, SMALL_POOL);
my ($window, $growing) = (WINDOW_S, GROWING_S);
my $script = <<"END";
nproc
with() {
	load=\$1; shift
	rm -f /tmp/hold /tmp/ready; mkfifo /tmp/hold
	/ksrc-dump -q -S bpf "\$@" < /tmp/hold > /tmp/facts 2> /tmp/ready & exec 3> /tmp/hold
	until grep -q . /tmp/ready; do sleep 0.1; done
	loads=
	for i in \$(seq 0 $last); do
		taskset -c \$i /sleepers \$load > /dev/null 3>&- & loads="\$loads \$!"
	done
	wait \$loads
	exec 3>&-; wait
	cat /tmp/ready
	grep -E '^(coverage|stats|copy|grown|left_out)' /tmp/facts
}
echo default; with '4 20 50 $seconds'
echo small; with '4 20 50 $seconds' -b $small
echo growing; with '0 0 400 $growing' -a 1 -W $window
END

for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1 6.12 6.12-rt') {
	Tipme::Desktop::to_its_end("Debian's kernel $kernel", sub { on_kernel($kernel) });
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my $said = Tipme::VM->counted(
		kernel => $kernel, payload   => $payload, script => $script,
		cpus   => CPUS,    memory_mb => MEMORY_MB
	);
	like $said, qr/\A${\CPUS}$/m, "$kernel: 16 CPUs" or diag $said;
	my ($default, $few, $grows) = $said =~ /^default\n(.*)^small\n(.*)^growing\n(.*)/ms;
	unlike $said, qr/^left_out/m, 'the kernel refuses no tracing program' or diag $said;
	for ([ default => $default ], [ small => $few ]) {
		my ($name, $facts) = @$_;
		my @covered = map { +{/(\w+)=(\d+)/g} } grep {/^coverage/} split /\n/, $facts // '';
		is scalar(@covered), CPUS, "$name pool: each is covered" or diag $said;
		is + (grep { $_->{records} < least($name) } @covered), 0, 'and has its records'
			or diag $said;
		like $facts, qr/^stats .*pool=0 nested=0 missed=0/m, 'nothing is lost' or diag $said;
		my $from = max(map { $_->{first_ns} } @covered);
		my $to   = min(map { $_->{last_ns} } @covered);
		cmp_ok $to, '>', $from, 'there is a time at which all are covered' or diag $said;
		diag sprintf '%s, %s pool: all %d CPUs are covered for %.2f s; %s', $kernel, $name, CPUS,
			($to - $from) / 1e9, $facts =~ /^(stats .*? pool_bytes=\d+)/m;
	}
	grown($kernel, $grows // '');
	return;
}

sub grown {
	my ($kernel, $facts) = @_;
	my @covered = map { +{/(\w+)=(\d+)/g} } grep {/^coverage/} split /\n/, $facts;
	my ($first,   $most) = $facts =~ /^grown first=(\d+) most=(\d+) refused=0$/m;
	my ($records, $lost) = $facts =~ /^stats records=(\d+) (pool=\d+ nested=\d+ missed=\d+)/m;
	is scalar(@covered), CPUS, 'growing pool: each CPU is covered' or return diag $facts;
	is $lost,            'pool=0 nested=0 missed=0', 'nothing is lost';
	my $kept = (min(map { $_->{last_ns} } @covered) - max(map { $_->{first_ns} } @covered)) / 1e9;
	cmp_ok $kept, '>=', WINDOW_S, sprintf 'all CPUs are covered for the seconds to keep: %.1f',
		$kept;
	diag sprintf '%s, growing pool: from %d to %d bytes, %d records, all CPUs covered for %.2f s',
		$kernel, $first, $most, $records, $kept;
SKIP: {
		skip
			sprintf('%d records a second, and the pool begins with room for %d: this emulator is '
				. 'too slow to have it grow', $records / GROWING_S, BEGINS_WITH), 1
			if $most == $first && $records / GROWING_S < 1.1 * BEGINS_WITH;
		cmp_ok $most, '>', $first, 'and for that it has grown';
	}
	return;
}

# What is written over leaves each of them less.
sub least { my ($name) = @_; return $name eq 'default' ? RECORDS_LEAST : 1 }
