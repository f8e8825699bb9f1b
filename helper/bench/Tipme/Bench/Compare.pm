# SPDX-License-Identifier: GPL-2.0-only
# Two results, task by task: the ratio with its interval, and which part of the sum explains it.
package Tipme::Bench::Compare;

use strict;
use warnings;
use Exporter             qw(import);
use List::Util           qw(sum0);
use Tipme::Bench::Result qw(round_values typical_parts counters_of);
use Tipme::Statistics    qw(median ratio_of_medians);

our @EXPORT_OK = qw(compare sentence facts_that_differ time_text);

# compare(\@RUNS_A, \@RUNS_B, margin => 0.05): a row for each task that both have: { name, unit,
# a_ns, b_ns (medians of a reference), ratio, least, most, differs (-1 faster, 0, 1 slower), parts
# => [ { part, a_ns, b_ns, more_ns } ], largest change first }. Several runs of a side are one
# sample. It differs only where the interval, which holds for all tasks together, is beyond the
# margin.
sub compare {
	my ($runs_a, $runs_b, %o) = @_;
	my ($of_a, $of_b) = map { _tasks(@$_) } $runs_a, $runs_b;
	my @names =
		grep { $of_b->{$_} } map { $_->{name} } grep { $of_a->{ $_->{name} } } @{ $of_a->{''} };
	my $margin = $o{margin} // 0.05;
	return grep { defined $_->{ratio} }
		map { _row($of_a->{$_}, $of_b->{$_}, scalar @names, $margin) } @names;
}

# { NAME => [ TASK ... ] }, and '' => [ the tasks in their order ]
sub _tasks {
	my (@runs) = @_;
	my %of = ('' => []);
	for my $t (map { @{ $_->{tasks} } } @runs) {
		next if !grep {@$_} @{ $t->{rounds} // [] };
		push @{ $of{''} }, $t if !$of{ $t->{name} };
		push @{ $of{ $t->{name} } }, $t;
	}
	return \%of;
}

sub _row {
	my ($of_a, $of_b, $comparisons, $margin) = @_;
	my ($va, $vb) = map {
		[ grep { $_ > 0 } map { round_values($_) } @$_ ]
	} $of_a, $of_b;
	my ($ratio, $least, $most) = ratio_of_medians($va, $vb, $comparisons);
	my $differs =
		!defined $least ? 0 : $least > 1 + $margin ? 1 : $most < 1 / (1 + $margin) ? -1 : 0;
	return {
		(map { $_ => $of_a->[0]{$_} } qw(name unit)), a_ns => median(@$va), b_ns => median(@$vb),
		a_rounds => scalar @$va, b_rounds => scalar @$vb, ratio => $ratio, least => $least,
		most     => $most,       differs  => $differs,    _changes($of_a->[0], $of_b->[0])
	};
}

# Where only one side has parts of the recorder, the kernel's accounting of both is compared: kinds
# of parts are the same in both, but who had a CPU and what a sleep was for are not told.
sub _changes {
	my @tasks = @_;
	my @p     = map { typical_parts($_) } @tasks;
	my $told  = ($p[0]{from} // '') eq ($p[1]{from} // '');
	my @parts = map { $told ? $_->{parts} : _kinds($_->{parts}) } @p;
	my %all   = map {%$_} @parts;
	my @rows =
		map { { part => $_, a_ns => $parts[0]{$_} // 0, b_ns => $parts[1]{$_} // 0 } } keys %all;
	$_->{more_ns} = $_->{b_ns} - $_->{a_ns} for @rows;
	@rows = sort { abs $b->{more_ns} <=> abs $a->{more_ns} || $a->{part} cmp $b->{part} } @rows;
	my ($ca, $cb) = map { counters_of($_) } @tasks;
	my @counters = map { { counter => $_, a => $ca->{$_}, b => $cb->{$_} } }
		grep { defined $cb->{$_} } sort keys %$ca;
	return (
		parts    => \@rows, parts_from => $told ? $p[0]{from} : 'accounting',
		counters => \@counters
	);
}

sub _kinds {
	my ($parts) = @_;
	my %k;
	for (keys %$parts) {
		my ($kind) = /\A(\w+)/;
		$k{ $kind eq 'interrupt' ? 'kernel' : $kind } += $parts->{$_};
	}
	return \%k;
}

# sentence(ROW): one, with the part that explains most of the difference where there is one.
sub sentence {
	my ($r) = @_;
	my $range =
		defined $r->{least}
		? sprintf '%.2f to %.2f', @$r{qw(least most)}
		: 'too few rounds to bound it';
	return "$r->{name}: no difference is shown; B takes "
		. sprintf('%.2f times as long (%s).', $r->{ratio}, $range)
		if !$r->{differs};
	my $times =
		$r->{differs} > 0
		? sprintf('%.2f times as long in B (%s)', $r->{ratio}, $range)
		: sprintf(
		'%.2f times as long in A (%.2f to %.2f)', 1 / $r->{ratio}, 1 / $r->{most},
		1 / $r->{least}
		);
	my $why = _why($r);
	return "$r->{name} takes $times" . (defined $why ? ": $why." : '.');
}

my %WORDS = (
	user     => 'its own code',      kernel  => 'work in the kernel', interrupt => 'interrupts',
	runnable => 'waiting for a CPU', blocked => 'sleeping',           absent    => 'not there'
);

# part_words(PART): "runnable: hog had the CPU" as people say it
sub part_words {
	my ($part) = @_;
	my ($kind, $what) = split /: /, $part, 2;
	my $words = $WORDS{$kind} // $kind;
	return defined $what ? "$words ($what)" : $words;
}

sub _why {
	my ($r)   = @_;
	my $whole = sum0(map { $_->{more_ns} } @{ $r->{parts} });
	my ($p)   = grep { $_->{more_ns} * $r->{differs} > 0 } @{ $r->{parts} };
	return if !$p || $whole * $r->{differs} <= 0;
	return sprintf '%s of %s per %s more is %s', time_text(abs $p->{more_ns}),
		time_text(abs $whole), $r->{unit}, part_words($p->{part});
}

# facts_that_differ(RUNS A, RUNS B): [ name, in A, in B ] ...
sub facts_that_differ {
	my @f = map {
		my %all;
		for my $run (@$_) { $all{$_}{ $run->{facts}{$_} } = 1 for keys %{ $run->{facts} } }
		\%all
	} @_;
	my %names = map { $_ => 1 } map { keys %$_ } @f;
	my @rows  = map {
		my $n = $_;
		[ $n, map { $_->{$n} ? join(' or ', sort keys %{ $_->{$n} }) : '-' } @f ]
	} sort keys %names;
	return grep { $_->[1] ne $_->[2] } @rows;
}

# time_text(NS): three digits and a unit, never an exponent.
sub time_text {
	my ($ns) = @_;
	return '-' if !defined $ns;
	my @units = ([ 1e9, 's' ], [ 1e6, 'ms' ], [ 1e3, 'us' ], [ 1, 'ns' ]);
	my ($u) = grep { abs $ns >= $_->[0] * 0.9995 } @units;
	$u //= $units[-1];
	my $v = $ns / $u->[0];
	return sprintf '%.*f %s', abs $v >= 99.95 ? 0 : abs $v >= 9.995 ? 1 : 2, $v, $u->[1];
}

1;
