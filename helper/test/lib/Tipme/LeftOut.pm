# SPDX-License-Identifier: GPL-2.0-only
# Calls of the recorder's programs that the kernel left out, since the program was running on that
# CPU already. An interrupt that waits for a lock while its thread does is always one, and each that
# was too short for a record is told from the others. What stays is an interrupt that lasted: the
# host, or many timers, took its CPU. That has a record of its own from 0.1 ms on. Of any other
# program no call may be missing: each would be a waking, a switch or a process that is not told.
package Tipme::LeftOut;
use strict;
use warnings;
use Exporter   qw(import);
use List::Util qw(sum0);

our @EXPORT_OK = qw(calls_left_out wrongly_left_out);

# Of calls of lock_contention that were left out, those that may have been of a long spin: this
# part, and one.
use constant LONG_SPINS => 0.05;

my $OF_LOCKS = qr/^tipme_lock_(?:begin|end)$/;

# In words: what the kernel left out, by a recorder's STATUS.
sub calls_left_out {
	my ($status) = @_;
	my $by = $status->{missed_by} // {};
	return join(', ', map {"$_ $by->{$_}"} sort keys %$by) || 'none';
}

# What of that should not be: a list of words.
sub wrongly_left_out {
	my ($status) = @_;
	my $by       = $status->{missed_by} // {};
	my @others   = grep     { !/$OF_LOCKS/ } sort keys %$by;
	my $spins    = sum0 map { $by->{$_} } grep {/$OF_LOCKS/} keys %$by;
	my $long     = ($status->{lost}{missed} // 0) - sum0 map { $by->{$_} } @others;
	return (
		map({"$_ $by->{$_}"} @others),
		$long > ($spins ? 1 + LONG_SPINS * $spins : 0) ? "long spins $long of $spins" : ()
	);
}

1;
