# SPDX-License-Identifier: GPL-2.0-only
# What recording itself took of an interval.
package Tipme::OwnCost;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Record::Layout;

our @EXPORT_OK = qw(own_cost);

# The recorder's own share: records in the interval times what one costs, where that was measured:
# one number for all, or one for each class (`sched` is that of records without a class).
# Samples stand apart. The share is of the time of all CPUs, as all of them wrote the records.
#
# own_cost(MANIFEST, EVENTS, FROM, TO): { records, samples, cpus, cost_ns (mean of one), total_ns,
# samples_ns, share, share_low, share_high (at the quartiles of the cost) }; all but the counts are
# undef where the manifest has no cost.
sub own_cost {
	my ($manifest, $ev, $from, $to) = @_;
	my ($cost, $spread) = _record_costs($manifest);
	my %of = %{ $ev->count_types($from, $to) };
	my %sum =
		(records => 0, samples => 0, total_ns => 0, samples_ns => 0, low_ns => 0, high_ns => 0);
	for my $type (keys %of) {
		my $name  = $Tipme::Record::Layout::RECORD{$type}{name};
		my $class = defined $cost->{$name} ? $name : 'sched';
		my $each  = $cost->{$class};
		my ($low, $high) = @{ $spread->{$class} // [ $each, $each ] };
		$sum{records} += $of{$type};
		$sum{samples} += $of{$type} if $name eq 'sample';
		if (!defined $each) {
			delete @sum{qw(total_ns samples_ns low_ns high_ns)};
			$cost = {};
			next;
		}
		next if !exists $sum{total_ns};
		$sum{total_ns}   += $of{$type} * $each;
		$sum{samples_ns} += $of{$type} * $each if $name eq 'sample';
		$sum{low_ns}     += $of{$type} * $low;
		$sum{high_ns}    += $of{$type} * $high;
	}
	my $cpus    = ($manifest->{cpus} // 0) || 1;
	my $time_ns = ($to - $from) * $cpus;
	my $known   = exists $sum{total_ns} && $sum{records} && $time_ns > 0;
	my %o       = (records => $sum{records}, samples => $sum{samples}, cpus => $cpus + 0);
	@o{qw(cost_ns total_ns samples_ns share share_low share_high)} = (undef) x 6;
	return \%o if !$known;
	$o{cost_ns}                        = $sum{total_ns} / $sum{records};
	$o{$_}                             = int $sum{$_} for qw(total_ns samples_ns);
	@o{qw(share share_low share_high)} = map { $sum{$_} / $time_ns } qw(total_ns low_ns high_ns);
	return \%o;
}

# What a record of each class costs by the manifest, in ns, and the quartiles of its rounds; what is
# no plain number is not known.
sub _record_costs {
	my ($manifest) = @_;
	my $r = $manifest->{recorder};
	return ({}, {}) if ref $r ne 'HASH';
	my $cost = $r->{record_cost_ns};
	my %cost = ref $cost eq 'HASH' ? %$cost : (sched => $cost);
	for (values %cost) { undef $_ if defined && (ref || !/\A\d{1,6}(?:\.\d{1,9})?\z/) }
	my $spread = $r->{record_cost_spread_ns};
	my %spread = ref $spread eq 'HASH' ? %$spread : ();
	return (\%cost, { map { @{ $spread{$_} } == 2 ? ($_ => $spread{$_}) : () } keys %spread });
}

1;
