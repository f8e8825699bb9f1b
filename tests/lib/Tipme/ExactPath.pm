# SPDX-License-Identifier: GPL-2.0-only
# What must hold of the path of every diagnosis, whatever its verdict.
package Tipme::ExactPath;
use strict;
use warnings;
use Exporter qw(import);
use Test::More;

our @EXPORT_OK = qw(exact_path);

# exact_path(DIAGNOSIS, as --json gives it): three checks: the path covers the interval, without gap
# or overlap, to the nanosecond.
sub exact_path {
	my ($d) = @_;
	my ($at, $sum, $bad) = ($d->{interval}{start_ns}, 0, 0);
	for my $p (@{ $d->{path} }) {
		$bad++ if $p->{from_ns} != $at || $p->{to_ns} <= $p->{from_ns};
		$at = $p->{to_ns};
		$sum += $p->{to_ns} - $p->{from_ns};
	}
	is($bad, 0,                           'the path has neither gap nor overlap');
	is($at,  $d->{interval}{end_ns},      'and ends where the interval ends');
	is($sum, $d->{interval}{duration_ns}, 'and adds up to the nanosecond');
	return;
}

1;
