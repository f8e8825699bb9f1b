# SPDX-License-Identifier: GPL-2.0-only
# The stages of an event from finger to screen: when each was reached, and how sure that is.
package Tipme::Diagnosis::Stages;

use strict;
use warnings;
use Tipme::Entry qw(woken_from);

# of(INTERVAL, STATES, THREADS): [ { name, ts_ns, certainty } ... ]; what did not happen (yet) is
# not listed.
sub of {
	my ($i, $states, $threads) = @_;
	my $e     = $i->{event};
	my $exact = $e->{server}{exact} ? 'exact' : 'inferred';
	my $core  = woken_from($i);
	my @s     = (
		(map { [ interrupt => $_, 'exact' ] } grep { $_ < $core } $i->{start_ns}),
		[ input => $core, $i->{start_exact} ? 'exact' : 'inferred' ]
	);
	push @s, [ read => $e->{read_ns}, $exact ]
		if defined $e->{read_ns} && $e->{read_ns} >= $i->{start_ns};
	push @s, [ server => $e->{wakeup_ns}, $exact ]
		if defined $e->{wakeup_ns} && $e->{wakeup_ns} >= $i->{start_ns};
	return _named(@s) if $e->{pending};
	push @s, [ device => $e->{device_ns}, $exact ];
	return _named(@s, [ feedback => $i->{end_ns}, $exact ]) if ($e->{motion} // '') eq 'cursor';
	push @s, [ deliver => $e->{deliver_ns}, $exact ];
	push @s, [ born => $e->{start}{born_ns}, 'exact' ] if $e->{start};
	my $run = _first_run($e, $states, $threads, $i->{end_ns});
	push @s, [ client => $run, 'exact' ] if defined $run;
	my @asked = grep { $_->{client} == $e->{client} }
		$e->{server}->between('request', $e->{deliver_ns}, $i->{end_ns});
	# What the server begins before the client has run, that had asked for earlier. (Where the
	# record of its running is lost there may be none later.)
	my ($r) = ((grep { $_->{ts_ns} >= ($run // 0) } @asked), @asked);
	my $asked =
		$r ? $r->{ts_ns} : $e->{server}->first_asked($e, $states, $e->{deliver_ns}, $i->{end_ns});
	push @s, [ request => $asked, $exact ] if defined $asked;
	push @s, map { [ drawn => $_, $exact ] } grep {defined} $i->{drawn_ns};
	push @s,
		map { [ told => $_, $exact ] }
		grep { defined && $_ >= $i->{start_ns} } ($i->{frame} // {})->{told_ns};
	push @s, map { [ painting => $_, $exact ] } grep {defined} ($i->{frame} // {})->{asked_ns};
	@s = sort { $a->[1] <=> $b->[1] } @s if $i->{frame};
	push @s, [ $i->{busy} ? 'free' : 'feedback', $i->{end_ns}, $i->{busy} ? 'exact' : $exact ]
		if !$i->{open};
	return _named(@s);
}

sub _named {
	return [ map { { name => $_->[0], ts_ns => $_->[1], certainty => $_->[2] } } @_ ];
}

sub _first_run {
	my ($e, $states, $threads, $end) = @_;
	my $first;
	for my $tid ($e->{pid}, grep { $_ != $e->{pid} } $threads->tids_of($e->{pid})) {
		next if !@{ $states->events->of_tid($tid) };
		my ($i) = grep { $_->{kind} eq 'running' && $_->{to} > $e->{deliver_ns} }
			@{ $states->intervals($tid) };
		next if !$i || $i->{from} >= $end;
		my $t = $i->{from} > $e->{deliver_ns} ? $i->{from} : $e->{deliver_ns};
		$first = $t if !defined $first || $t < $first;
	}
	return $first;
}

1;
