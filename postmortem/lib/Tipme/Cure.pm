# SPDX-License-Identifier: GPL-2.0-only
# Did a cure help? The same kind of press of the same program, before and after: how many were slow,
# how long they took, and how many more presses it takes to be sure.
package Tipme::Cure;

use strict;
use warnings;
use Tipme::Diagnosis;
use Tipme::Responses qw(responses);
use Tipme::Statistics;

my $HALF      = 0.5;      # a press is slow that took longer than half way from usual to the problem
my $MOST_MORE = 100_000;  # presses; more are not asked of anybody

# problem(DIAGNOSIS, DATA): { kind, comm, slow_ns (limit), usual_ns, took_ns }; undef: no press of a
# program was slow
sub problem {
	my ($diagnosis, $d) = @_;
	my ($i,         $e) = @$d{qw(interval event)};
	return if !$i || !$e || !$e->{client} || $d->{verdict}{kind} eq 'none';
	my $usual = $i->{usual_ns} // 0;
	return {
		kind    => $e->{kind}, comm => $e->{client}{comm}, usual_ns => $usual,
		took_ns => $i->{duration_ns},
		slow_ns => $usual + int($HALF * ($i->{duration_ns} - $usual))
	};
}

# presses(PROBLEM, DIAGNOSIS, AFTER): how long each such press took in an episode, in ns; AFTER:
# only those that came later
sub presses {
	my ($problem, $diagnosis, $after) = @_;
	return map { $_->{response_ns} } grep {
			   defined $_->{response_ns}
			&& !$_->{hotkey}
			&& (!defined $after || $_->{entered_ns} > $after)
			&& $_->{kind} eq $problem->{kind}
			&& $_->{client}
			&& $_->{client}{comm} eq $problem->{comm}
	} responses($diagnosis);
}

# compared(PROBLEM, \@BEFORE, \@AFTER): { before, after: { presses, slow, median_ns }, result, sure
# (1: at 95 %), more (presses without a slow one until it is better for sure; undef: too many),
# times: [ ratio, least, most ] of the medians, after to before }. The result:
#   better  for sure: slow presses are rarer, or presses take less
#   worse   for sure the other way
#   same    a press was slow again, and nothing is better for sure
#   unsure  none was slow, but that may be chance
sub compared {
	my ($problem, $before, $after) = @_;
	my %r = (before => _side($problem, $before), after => _side($problem, $after));
	my ($k, $n, $l, $m) = map { @$_{qw(slow presses)} } @r{qw(before after)};
	# Of two questions each is answered with half of the doubt.
	$r{times} = [
		Tipme::Statistics::ratio_of_medians(
			[ map { $_ || 1 } @$before ], [ map { $_ || 1 } @$after ], 2
		)
	];
	my $rarer = $n && $m ? (Tipme::Statistics::rate_ratio($k, $n, $l, $m))[1] > 1 : 0;
	my $often = $n && $m ? (Tipme::Statistics::rate_ratio($l, $m, $k, $n))[1] > 1 : 0;
	my (undef, $least, $most) = @{ $r{times} };
	my $slower = defined $least && $least > 1 && $r{after}{median_ns} > $problem->{slow_ns};
	# Quicker presses are a cure only if it was the usual press that was slow.
	my $quicker = defined $most && $most < 1 && $r{before}{median_ns} > $problem->{slow_ns};
	$r{result} =
		   $often
		|| $slower ? 'worse' : $l && !$rarer ? 'same' : $rarer
		|| $quicker ? 'better' : 'unsure';
	$r{sure} = $r{result} =~ /\A(?:better|worse)\z/ ? 1                 : 0;
	$r{more} = $r{result} eq 'unsure'               ? _more($k, $n, $m) : 0;
	return \%r;
}

sub _side {
	my ($problem, $ns) = @_;
	return {
		presses   => scalar @$ns, slow => scalar(grep { $_ > $problem->{slow_ns} } @$ns),
		median_ns => scalar Tipme::Statistics::median(@$ns)
	};
}

# How many presses without a slow one are missing until they are rarer for sure than K of N.
sub _more {
	my ($k, $n, $have) = @_;
	return undef if !$k || !$n;    ## no critic (ProhibitExplicitReturnUndef)
	my $sure = sub { return (Tipme::Statistics::rate_ratio($k, $n, 0, $_[0]))[1] > 1 };
	my ($lo, $hi) = ($have, $have || 1);
	while (!$sure->($hi)) {
		($lo, $hi) = ($hi, 2 * $hi);
		return undef if $hi > $MOST_MORE;
	}                              ## no critic (ProhibitExplicitReturnUndef)
	while ($hi - $lo > 1) {
		my $mid = ($lo + $hi) >> 1;
		if   ($sure->($mid)) { $hi = $mid }
		else                 { $lo = $mid }
	}
	return $hi - $have;
}

1;
