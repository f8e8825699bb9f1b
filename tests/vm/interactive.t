#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The memory microbenchmark in an emulated machine, with swap on a disk: 200 intervals beside
# writers that want one and a half times the memory of their cgroup; and what the worst of them was,
# from the records.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use FindBin;
use List::Util qw(sum);
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop   qw(payload no_complaint);
use Tipme::ExactPath qw(exact_path);
use Tipme::VM;

use constant INTERVALS => 200;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $vm = Tipme::VM->new(kernel => $ENV{TIPME_VM_KERNEL} // '6.12', payload => payload());
# The payload has been unpacked: its disk, of 64 MiB, is free.
my ($said, $rc) = $vm->run(
	'blockdev --flushbufs /dev/vdb; mkswap /dev/vdb && swapon /dev/vdb && cat /proc/swaps && tipme '
		. 'start --owner 0');
is($rc, 0, 'there is swap on a disk, and a recorder') or diag $said;
my $before = swapped();
my ($text, $status) =
	$vm->run('tipme bench memory --limit-mib 32 --intervals '
		. INTERVALS
		. ' --explain --json 2>/tmp/bench.err');
is($status, 0, 'the benchmark runs to its end')
	or diag $text, scalar $vm->run('cat /tmp/bench.err');
my $r = eval { Cpanel::JSON::XS->new->decode($text) } // {};
is($r->{count},   INTERVALS, 'all intervals');
is($r->{backing}, 'swap',    'the writers have no other place than swap');
cmp_ok(
	($r->{children} // 0) * ($r->{child_bytes} // 0), '>', 1.49 * ($r->{memory_bytes} // 1e12),
	'and want one and a half times the memory'
);
is($r->{load_ended},                                    0,         'none of them was ended');
is(sum(map { $_->{count} } @{ $r->{histogram} // [] }), INTERVALS, 'the buckets add up');
my $after = swapped();
cmp_ok($after->{pswpout} - $before->{pswpout}, '>', 1000, 'pages went to the disk');
cmp_ok($after->{pswpin} - $before->{pswpin},   '>', 1000, 'and came back');
diag join ', ',
	map { sprintf '%s %.1f ms', $_, ($r->{"${_}_ns"} // 0) / 1e6 } qw(median p90 p99 max);
my @stretch =
	map { sprintf '%d.%09d', $r->{$_} / 1e9, $r->{$_} % 1e9 } qw(episode_from_ns episode_to_ns);
my $how = "tipme diagnose $r->{episode} --thread $r->{tid} --from $stretch[0] --to $stretch[1]";
my $d   = eval { Cpanel::JSON::XS->new->decode(scalar $vm->run("$how --json 2>/dev/null")) } // {};
ok($d->{verdict}, 'the worst interval that was saved is explained') or diag scalar $vm->run($how);
diag $d->{verdict}{sentence} // '?';
exact_path($d);
my %kinds = %{ $d->{totals}{kinds} // {} };
is(sum(0, values %kinds), $d->{interval}{duration_ns}, 'its causes add up');
# What a word costs whose page is gone: to read it, to make room for it, and whoever has disk or CPU
# meanwhile.
cmp_ok(
	sum(0, map { $kinds{$_} // 0 } qw(page-fault-io memory-reclaim disk-io cpu-contention)),
	'>', 0.5 * ($d->{interval}{duration_ns} // 1),
	'most of it is want of memory, the disk, or the writers that have the CPU'
) or diag explain \%kinds;
no_complaint($vm);
$vm->close;
done_testing;

sub swapped { return { $vm->run('cat /proc/vmstat') =~ /^(pswp\w+) (\d+)$/mg } }
