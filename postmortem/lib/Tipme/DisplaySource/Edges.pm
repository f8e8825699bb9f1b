# SPDX-License-Identifier: GPL-2.0-only
# Whom a process woke, and who woke it: what a source tells that has no records of its own.
package Tipme::DisplaySource::Edges;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Exporter qw(import);
use Tipme::KernelEvents;

our @EXPORT_OK = qw(edges);

my $SIZE = 32;             # bytes of a record of the kernel's side (abi/records.def)

# edges(EPISODE, THREADS, PID): (whom it woke, who woke it), of other processes; neither in an
# interrupt: lists of [ ns, process, its thread, file, number of the record, own thread ] in order
# of time
sub edges {
	my ($ep, $threads, $pid) = @_;
	my (@to, @from);
	for my $s ($ep->sections_between(undef, undef, [qw(kernel_bpf kernel_module)])) {
		my $buf = Tipme::KernelEvents::plain($ep, $s);
		for my $own ($threads->tids_of($pid)) {
			my $key = pack 'V', $own;
			for (my $at = index $buf, $key; $at >= 0; $at = index $buf, $key, $at + 1) {
				# In a record of a waking: who is woken, and behind that by whom.
				my $in = $at % $SIZE;
				next if $in != 12 && $in != 16 || $at - $in + $SIZE > length $buf;
				my ($ts, $type, $wakee, $waker, $context) = unpack 'Q<Cx3VVx10C', substr $buf,
					$at - $in, $SIZE;
				next if $type != Tipme::KernelEvents::WAKING || $context;
				my $tid   = $in == 12 ? $waker : $wakee;
				my $other = $threads->at($tid, $ts)->{pid} // 0;
				next if !$other || $other == $pid;
				push @{ $in == 12 ? \@from : \@to },
					[ $ts, $other, $tid, $s->{file}, $s->{number} + 1 + ($at - $in) / $SIZE, $own ];
			}
		}
	}
	return map {
		[ sort { $a->[0] <=> $b->[0] } @$_ ]
	} \@to, \@from;
}

1;
