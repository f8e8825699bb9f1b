#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A machine of 16 CPUs, on each of which threads sleep and wake each other. With the default pool
# each CPU is covered from the start and nothing is lost. With one that is written over many times
# all CPUs keep the same seconds.
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

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $payload = tempdir('tipme-payload-XXXXXX', TMPDIR => 1, CLEANUP => 1);
for my $program (qw(helper/test/ksrc-dump bench/sleepers)) {
	cp("$ENV{TIPME_BUILDDIR}/$program", $payload) or BAIL_OUT("$program: $!");
	chmod 0755, "$payload/" . ($program =~ s{.*/}{}r);
}
my ($last, $seconds, $small) = (CPUS - 1, SECONDS, SMALL_POOL);
my $script = <<"END";
nproc
with() {
	rm -f /tmp/hold /tmp/ready; mkfifo /tmp/hold
	/ksrc-dump -q -S bpf "\$@" < /tmp/hold > /tmp/facts 2> /tmp/ready & exec 3> /tmp/hold
	until grep -q . /tmp/ready; do sleep 0.1; done
	loads=
	for i in \$(seq 0 $last); do
		taskset -c \$i /sleepers 4 20 50 $seconds > /dev/null 3>&- & loads="\$loads \$!"
	done
	wait \$loads
	exec 3>&-; wait
	cat /tmp/ready
	grep -E '^(coverage|stats|copy)' /tmp/facts
}
echo default; with
echo small; with -b $small
END

for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1 6.12') {
	Tipme::Desktop::to_its_end("Debian's kernel $kernel", sub { on_kernel($kernel) });
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my $said = Tipme::VM->counted(
		kernel => $kernel, payload => $payload, script => $script,
		cpus   => CPUS
	);
	like $said, qr/\A${\CPUS}$/m, "$kernel: 16 CPUs" or diag $said;
	my ($default, $few) = $said =~ /^default\n(.*)^small\n(.*)/ms;
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
	return;
}

# What is written over leaves each of them less.
sub least { my ($name) = @_; return $name eq 'default' ? RECORDS_LEAST : 1 }
