# SPDX-License-Identifier: GPL-2.0-only
# The kernel leaves a call of a program out where that program runs on the CPU already: which
# program, and how often, is told. Where an interrupt waits for a lock while its thread does, that
# is a begin or an end of a short spin: no record is missing, and none is false.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use List::Util qw(sum0);
use Test::More;
use Tipme::LeftOut    qw(calls_left_out wrongly_left_out);
use Tipme::TestDaemon qw(allowed_cpus manifest records_of tipme wait_until);
use constant { ENOUGH => 20, WRITERS => 4 };

plan skip_all => 'recording needs root (run it with sudo)' if $>;
plan skip_all => 'one CPU: nobody waits for a lock'        if allowed_cpus() < 2;

my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 10 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
my $first = $d->status;
plan skip_all => "source $first->{source}: its programs are not the kernel's to leave out"
	if $first->{source} ne 'kernel_bpf';
plan skip_all => 'no tracepoints of locks here' if !$first->{classes}{lock_contention};

my $pid = open my $out, '-|', "$ENV{TIPME_BUILDDIR}/helper/test/lock-nest" or BAIL_OUT("$!");
my %of  = map { scalar(readline $out) + 0 => 1 } 1 .. WRITERS;
my $status;
ok wait_until(sub { $status = $d->status; left_out() >= ENOUGH }),
	'calls are left out, and told by program';
my (undef, $text) = $d->run(tipme(), 'status');
my ($path) = ($d->snap)[1] =~ m{\n(/.*)\n};
kill KILL => $pid;
close $out;
note calls_left_out($status);
is_deeply [ wrongly_left_out($status) ], [],
	"... $status->{lost}{missed} of which may have made a record";
like $text, qr/^left out +tipme_lock_\w+ \d+/m, 'status for people says so';

# Of these threads: a wait that ends has begun.
my (%waits, $ended, @false);
for (records_of("$path/kernel.rec")) {
	my ($tid) = /^lock_contention .*\btid=(\d+)/ or next;
	next if !$of{$tid} || /\bkind=spin\b/;
	if    (/\bphase=begin\b/)    { $waits{$tid} = 1; next }
	elsif (!exists $waits{$tid}) {next}
	push @false, $_ if !$waits{$tid};
	$waits{$tid} = 0;
	$ended++;
}
cmp_ok $ended, '>', 100, "$ended waits of these threads ended";
is_deeply \@false, [], '... each of which had begun';
$d->stop;
done_testing;

sub left_out { return sum0 values %{ $status->{missed_by} } }
