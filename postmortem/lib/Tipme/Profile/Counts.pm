# SPDX-License-Identifier: GPL-2.0-only
# A distribution of a profile: buckets of one microsecond up to 4,096, above that 64 to each
# doubling (abi/kernel/tipme_latency_uapi.h), each with its count and its sum.
package Tipme::Profile::Counts;

use strict;
use warnings;
use List::Util        qw(max min sum0);
use Tipme::Statistics qw(quantile_ranks);

# new(count =>, sum_ns =>, max_ns =>, buckets => [ [ low_us, count, sum_ns ], ... ])
sub new {
	my ($class, %o) = @_;
	return bless { count => 0, sum_ns => 0, max_ns => 0, buckets => [], %o }, $class;
}

sub count   { return $_[0]{count} }
sub sum_ns  { return $_[0]{sum_ns} }
sub max_ns  { return $_[0]{max_ns} }
sub buckets { return @{ $_[0]{buckets} } }

# end_us(LOW): where the bucket that begins at LOW microseconds ends.
sub end_us {
	my ($low) = @_;
	my $width = 1;
	$width *= 2 while $low >= 4096 * $width;
	return $low + ($low < 4096 ? 1 : $width * 32);
}

# merged(COUNTS ...): all of them together.
sub merged {
	my ($class, @all) = @_;
	my %at;
	for my $c (@all) {
		for my $b ($c->buckets) { $at{ $b->[0] }[0] += $b->[1]; $at{ $b->[0] }[1] += $b->[2] }
	}
	return $class->new(
		count   => sum0(map { $_->count } @all),
		sum_ns  => sum0(map { $_->sum_ns } @all),
		max_ns  => max(0, map { $_->max_ns } @all),
		buckets => [ map { [ $_, @{ $at{$_} } ] } sort { $a <=> $b } keys %at ]
	);
}

# rank(N): (least, most) ns that the N-th shortest (from 1) may have taken; in its bucket its place
# is not known.
sub rank {
	my ($self, $n) = @_;
	for my $b ($self->buckets) {
		$n -= $b->[1];
		return ($b->[0] * 1000, min($self->{max_ns}, end_us($b->[0]) * 1000)) if $n <= 0;
	}
	return ($self->{max_ns}) x 2;
}

# quantile(P): the nearest rank, in ns: the middle of what its bucket tells; undef of nothing.
sub quantile {
	my ($self, $p) = @_;
	return undef if !$self->{count};
	my ($least, $most) = $self->rank(max(1, int($p * $self->{count} + 0.999999)));
	return ($least + $most) / 2;
}

# quantile_interval(P): (least, most) ns at Tipme::Statistics's confidence, or nothing: too few.
sub quantile_interval {
	my ($self, $p)    = @_;
	my ($low,  $high) = quantile_ranks($self->{count}, $p);
	return if !defined $low || !defined $high;
	return (($self->rank($low))[0], ($self->rank($high))[1]);
}

# above(NS): how many took longer, of those whose whole bucket did.
sub above {
	my ($self, $ns) = @_;
	return sum0(map { $_->[1] } grep { $_->[0] * 1000 >= $ns } $self->buckets);
}

# curve(): points [ us, events so far, ns so far ] at the end of each bucket, shortest first. The
# last one has all events and the exact sum.
sub curve {
	my ($self) = @_;
	my ($n, $ns) = (0, 0);
	return map { $n += $_->[1]; $ns += $_->[2]; [ end_us($_->[0]), $n, $ns ] } $self->buckets;
}

1;
