# SPDX-License-Identifier: GPL-2.0-only
# What a thread read back from compressed memory (zram, zswap): no disk, so it computed in each of
# those faults, and the kernel tells only that they are over. How much of its time they had is told
# by samples of it.
package Tipme::Unpacked;

use strict;
use warnings;

my $APART_NS = 100_000_000;    # faults farther apart belong to two runs of them
my $LEAST    = 5;              # samples of a run, less than which say nothing
my $READS    = qr/(?:\A|;)(?:do_swap_page|swap_readpage|swap_read_folio|swapin_readahead)\b/;

# stretches(RESOURCES, THREADS, TID, FROM, TO): { from, to, what, index, likely }: of each run of
# such faults that lies in a stretch in which the thread ran, as much as they had of it
sub stretches {
	my ($resources, $threads, $tid, $from, $to) = @_;
	my $runs = $resources->{unpacked}{$tid} //= _runs($resources, $threads, $tid);
	my @found;
	for my $r (@$runs) {
		my $a  = $r->{from} > $from ? $r->{from}                  : $from;
		my $b  = $r->{to} < $to     ? $r->{to}                    : $to;
		my $ns = $b > $a            ? int $r->{share} * ($b - $a) : 0;
		push @found, { from => $a, to => $a + $ns, %$r{qw(what index)}, likely => 1 } if $ns;
	}
	return @found;
}

sub _runs {
	my ($resources, $threads, $tid) = @_;
	my @runs;
	for my $f ($resources->swap_reads($tid)) {
		if (@runs && $f->{ts} - $runs[-1]{to} < $APART_NS) { $runs[-1]{to} = $f->{ts}; next }
		push @runs,
			{ from => $f->{ts}, to => $f->{ts}, what => 'fault_swap', index => $f->{index} };
	}
	for my $r (@runs) {
		my @stacks = map { $threads->stack($_->{kernel_stack}) // '' }
			$resources->samples($tid, $r->{from}, $r->{to});
		$r->{share} = @stacks < $LEAST ? 0 : (grep {/$READS/} @stacks) / @stacks;
	}
	return [ grep { $_->{share} } @runs ];
}

1;
