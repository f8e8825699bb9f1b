# SPDX-License-Identifier: GPL-2.0-only
# What the records of a bundle say of threads and CPUs: it has stretches, and between them anything
# may have gone on. What is drawn there would be made up.
package Tipme::Timeline::Known;

use strict;
use warnings;
use List::Util            qw(max min);
use Tipme::Cut::Stretches qw($NEAR_NS joined stretches waits);

# new(EPISODE, STATES, PATH): undef where all was kept
sub new {
	my ($class, $ep, $states, $path) = @_;
	return if (($ep->manifest->{bundle} // {})->{detail} // '') ne 'path';
	my $waits = waits($states, $path, []);
	my $of    = stretches($path, 1);
	return bless { of => $of, waits => $waits, joined => {} }, $class;
}

# tids(): of which threads something is known
sub tids {
	my ($self) = @_;
	return sort { $a <=> $b } keys %{ $self->{of} };
}

# clip(TID, CPU, FROM, TO): of the time in which a thread (0: nobody) ran on a CPU, or, without a
# CPU, in which it did not run: [ from, to ] ... where that is known
sub clip {
	my ($self, $tid, $cpu, $from, $to) = @_;
	my $list = $self->{joined}{ $tid . (defined $cpu ? " $cpu" : '') } //= joined(
		map { [ $_->[0] - $NEAR_NS, $_->[1] + $NEAR_NS ] } @{ $self->{of}{$tid} // [] },
		defined $cpu ? @{ $self->{waits}{$cpu} // [] } : ()
	);
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($list->[$m][1] <= $from) { $lo = $m + 1 }
		else                           { $hi = $m }
	}
	my @known;
	for (; $lo < @$list && $list->[$lo][0] < $to; $lo++) {
		push @known, [ max($from, $list->[$lo][0]), min($to, $list->[$lo][1]) ];
	}
	return @known;
}

# with_gaps(FROM, TO, SPANS): the same as [ from, to, known ], with what lies between them
sub with_gaps {
	my ($class, $from, $to, @spans) = @_;
	my @out;
	for my $s (@spans) {
		push @out, [ $from, $s->[0], 0 ] if $s->[0] > $from;
		push @out, [ @$s, 1 ];
		$from = $s->[1];
	}
	push @out, [ $from, $to, 0 ] if $from < $to;
	return @out;
}

1;
