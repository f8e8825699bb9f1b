# SPDX-License-Identifier: GPL-2.0-only
# What the soaks take for a leak: memory that neither the ring nor a copy has. A ring that grew in
# others' storms is none; one that the recorder no longer counts, but still maps, is.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/lib abi/generated);
use Test::More;
use Tipme::Soak qw(grown_kb may_grow_kb parts_kb);

use constant { HOUR_S => 3600, MB => 1 << 10 };

# An smaps of so many kB in the maps of BPF, in the heap, without a name, in a file
sub smaps {
	my ($maps, $heap, $anon, $file) = @_;
	my $text = '';
	for (
		[ $maps, 'anon_inode:bpf-map' ],
		[ $heap, '[heap]' ],
		[ $anon, '' ],
		[ $file, '/usr/lib/libbpf.so.1' ]
		)
	{
		my ($kb, $name) = @$_;
		$text .= "7f0000000000-7f0000100000 rw-s 00000000 00:0e 1042                    $name\n"
			. "Size:              99999 kB\nRss:               $kb kB\nPss:               $kb kB\n";
	}
	return $text;
}

# Parts of memory with a ring and a copy of so many kB, by the recorder's own account.
sub at {
	my ($ring, $copy, @of) = @_;
	return parts_kb(smaps(@of), { pool_bytes => $ring << 10, copy_bytes => $copy << 10 });
}

is_deeply at(2 * MB, 1 * MB, 3 * MB, 400, 2 * MB, 500),
	{
	all   => 5 * MB + 900,
	ring  => 2 * MB,
	copy  => 1 * MB,
	maps  => 3 * MB,
	heap  => 400,
	anon  => 2 * MB,
	other => 500,
	own   => 2 * MB + 900
	},
	'each mapping is counted once, by its name';

# The bar of an hour, for series of 40 looks.
my $BAR  = may_grow_kb(HOUR_S);
my @ring = map { at($_ * MB, 0, ($_ + 8) * MB, 400, 900, 500) } 1 .. 40;
cmp_ok grown_kb(@ring), '<', $BAR, 'a ring that grows to 40 MB is no leak';
my @copy = map { at(2 * MB, $_ * MB, 10 * MB, 400, 900 + $_ * MB, 500) } 1 .. 40;
cmp_ok grown_kb(@copy), '<', $BAR, 'copies that grow with it are none';
my @heap = map { at(2 * MB, 0, 10 * MB, 400 + 100 * $_, 900, 500) } 1 .. 40;
cmp_ok grown_kb(@heap), '>=', $BAR, 'a heap that grows by 100 kB each look is one';
my @forgotten = map { at(2 * MB, 0, 10 * MB + 100 * $_, 400, 900, 500) } 1 .. 40;
cmp_ok grown_kb(@forgotten), '>=', $BAR, 'a part of the ring that stays mapped is one, too';
my @wave = map { at(2 * MB, 0, 10 * MB, 400 + ($_ % 3) * 5 * MB, 900, 500) } 1 .. 40;
cmp_ok grown_kb(@wave),         '<',  $BAR,     'what comes and goes is none';
cmp_ok may_grow_kb(4 * HOUR_S), '==', 4 * $BAR, 'four hours may take four times as much as one';
cmp_ok may_grow_kb(60),         '>',  0,        'and a minute more than nothing';
done_testing;
