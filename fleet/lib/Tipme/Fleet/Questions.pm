# SPDX-License-Identifier: GPL-2.0-only
# What a fleet's database is asked. The same SQL for PostgreSQL and SQLite. A connection that may
# not know machines gets the same sums without how many machines they are of.
package Tipme::Fleet::Questions;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Fleet::Database;
use Tipme::Statistics qw(poisson_interval rate_ratio);

our @EXPORT_OK = qw(top trend clusters lags totals dimensions);

# What may be asked by: name => column of `lags`
my %BY = map { $_ => $_ } qw(application culprit kind function stage kernel hardware version);
# Those that the table `presence` has, too: by them a rate can be told.
my %PRESENT = (kernel => 1, version => 1);

sub dimensions { return sort keys %BY }

# (condition, values) of the last WEEKS weeks before NOW, that of NOW included; all of them where
# WEEKS is undef. Rows of `lags` are asked by time, too: then only partitions of that time are read.
sub _since {
	my ($table, %o) = @_;
	return ('1 = 1') if !defined $o{weeks};
	my $week = Tipme::Fleet::Database::week_of($o{now} // time) - $o{weeks} + 1;
	return ('week >= ?', $week) if $table eq 'presence';
	return ('week >= ? AND time >= ?', $week, Tipme::Fleet::Database::week_time($week));
}

sub _column {
	my ($by) = @_;
	return $BY{$by} // die "$by: nothing that can be asked by: " . join(', ', dimensions()) . "\n";
}

# top(DATABASE, by => NAME, weeks => N, limit => N, now => TIME): who costs people most waiting: [ {
# name, lags, waited_ns, machines } ], the most first; machines is undef where they are not shown.
sub top {
	my ($db, %o) = @_;
	my $column = _column($o{by} // 'culprit');
	my ($where, @values) = _since('lags', %o);
	my $limit = _limit($o{limit});
	# Machines are counted by a sum over each machine's sum: one pass, no sort of all rows.
	my $sql =
		$db->sees_machines
		? "SELECT name, sum(n) AS lags, sum(ns) AS waited_ns, count(*) AS machines FROM "
		. "(SELECT $column AS name, machine, count(*) AS n, sum(waited_ns) AS ns FROM lags "
		. "WHERE $where GROUP BY $column, machine) AS each_machine GROUP BY name"
		: "SELECT $column AS name, count(*) AS lags, sum(waited_ns) AS waited_ns, "
		. "NULL AS machines FROM lags WHERE $where GROUP BY $column";
	return _rows($db, "$sql ORDER BY waited_ns DESC, name LIMIT $limit", @values);
}

# totals(DATABASE, weeks => N): { lags, waited_ns, first, last } (times; undef without rows)
sub totals {
	my ($db,    %o)      = @_;
	my ($where, @values) = _since('lags', %o);
	return _rows(
		$db, 'SELECT count(*) AS lags, sum(waited_ns) AS waited_ns, min(time) AS first, '
			. "max(time) AS last FROM lags WHERE $where", @values
	)->[0];
}

# trend(DATABASE, by => kernel|version, or undef, weeks => N, signature => TEXT): a row for each
# week and value: { week, name, lags, waited_ns, hours, rate, low, high, ratio, ratio_low,
# ratio_high }.
# rate: lags in 100 hours of recording, with its interval (Garwood); undef where no presence tells
# hours. ratio: to the value before it in time, over all weeks, with its interval (rate_ratio).
sub trend {
	my ($db, %o)                 = @_;
	my ($where, @values)         = _since('presence', %o);
	my ($lag_where, @lag_values) = _since('lags', %o);
	my $column = defined $o{by} ? _column($o{by}) : 'week';
	die "$o{by}: no rate by it: ask by kernel or version\n"
		if defined $o{by} && !$PRESENT{ $o{by} };
	if (defined $o{signature}) {
		$lag_where .= ' AND signature = ?';
		push @lag_values, $o{signature};
	}
	# By machine first: so each share of the machines sums up by itself.
	my $inner = $db->sees_machines ? 'machine, ' : '';
	my $lags  = _rows(
			  $db, "SELECT week, name, sum(n) AS lags, sum(ns) AS waited_ns FROM "
			. "(SELECT week, $column AS name, ${inner}count(*) AS n, sum(waited_ns) AS ns FROM lags "
			. "WHERE $lag_where GROUP BY week, $column"
			. ($inner && ', machine')
			. ') AS each_machine GROUP BY week, name', @lag_values
	);
	my $there = _rows(
		$db, "SELECT week, $column AS name, sum(hours) AS hours FROM presence "
			. "WHERE $where GROUP BY week, name", @values
	);
	my %row;
	if (!defined $o{by}) { $_->{name} = '' for @$lags, @$there }
	for my $r (@$lags, @$there) {
		my $of = $row{"$r->{week}\0$r->{name}"} //=
			{ week => $r->{week}, name => $r->{name}, lags => 0, waited_ns => 0 };
		$of->{$_} = $r->{$_} for grep { defined $r->{$_} } qw(lags waited_ns hours);
	}
	my @rows = sort { $a->{week} <=> $b->{week} || $a->{name} cmp $b->{name} } values %row;
	_add_rate($_) for @rows;
	return { weeks => \@rows, values => defined $o{by} ? [ _by_value(@rows) ] : [] };
}

# Unit: hours. A rate is told for so many hours of recording.
our $PER_HOURS = 100;

sub _add_rate {
	my ($r) = @_;
	@$r{qw(rate low high)} = (undef) x 3;
	return if !$r->{hours};
	@$r{qw(rate low high)} = map { $_ * $PER_HOURS / $r->{hours} } $r->{lags},
		poisson_interval($r->{lags});
	return;
}

# The values in the order in which they were first seen, each with all its weeks, and compared to
# the one before.
sub _by_value {
	my (@rows) = @_;
	my (%sum, @order);
	for my $r (@rows) {
		my $s = $sum{ $r->{name} } //= do {
			push @order, $r->{name};
			{ name => $r->{name}, lags => 0, waited_ns => 0, hours => 0, first => $r->{week} };
		};
		$s->{$_} += $r->{$_} // 0 for qw(lags waited_ns hours);
	}
	my $before;
	for my $s (map { $sum{$_} } @order) {
		_add_rate($s);
		@$s{qw(ratio ratio_low ratio_high)} = (undef) x 3;
		next if !$s->{hours};
		@$s{qw(ratio ratio_low ratio_high)} =
			rate_ratio(@$s{qw(lags hours)}, @$before{qw(lags hours)})
			if $before && $before->{lags} + $s->{lags};
		$before = $s;
	}
	return map { $sum{$_} } @order;
}

# clusters(DATABASE, weeks, limit): lags that look alike: [ { signature, kind, culprit, function,
# stage, lags, waited_ns, machines, first, last } ], those that cost most first
sub clusters {
	my ($db,    %o)      = @_;
	my ($where, @values) = _since('lags', %o);
	my $limit = _limit($o{limit});
	my $same =
		'min(kind) AS kind, min(culprit) AS culprit, min(function) AS function, min(stage) AS '
			. 'stage';
	my $sql =
		$db->sees_machines
		? "SELECT signature, $same, sum(n) AS lags, sum(ns) AS waited_ns, count(*) AS machines, "
		. 'min(first) AS first, max(last) AS last FROM '
		. "(SELECT signature, machine, $same, count(*) AS n, sum(waited_ns) AS ns, min(time) AS first, "
		. "max(time) AS last FROM lags WHERE $where GROUP BY signature, machine) AS each_machine "
		. 'GROUP BY signature'
		: "SELECT signature, $same, count(*) AS lags, sum(waited_ns) AS waited_ns, NULL AS "
			. "machines, "
		. "min(time) AS first, max(time) AS last FROM lags WHERE $where GROUP BY signature";
	return _rows($db, "$sql ORDER BY waited_ns DESC, signature LIMIT $limit", @values);
}

# lags(DATABASE, SIGNATURE, limit): the longest rows of one cluster
sub lags {
	my ($db, $signature, %o) = @_;
	my $who = $db->sees_machines ? 'machine, episode, ' : '';
	return _rows(
		$db, "SELECT ${who}time, application, culprit, kind, function, stage, kernel, hardware, "
			. 'version, waited_ns, usual_ns, sentence FROM lags WHERE signature = ? '
			. 'ORDER BY waited_ns DESC, time LIMIT '
			. _limit($o{limit}), $signature
	);
}

sub _limit {
	my ($n) = @_;
	$n //= 20;
	die "$n: no number of rows: 1 to 10000\n" if $n !~ /\A[1-9][0-9]{0,4}\z/ || $n > 10_000;
	return $n;
}

# Sums of PostgreSQL are numerics, as text; here they are numbers.
sub _rows {
	my ($db, $sql, @values) = @_;
	my $rows = $db->dbh->selectall_arrayref($sql, { Slice => {} }, @values);
	for my $r (@$rows) {
		for (qw(lags waited_ns machines hours first last time week)) {
			$r->{$_} += 0 if defined $r->{$_};
		}
	}
	return $rows;
}

1;
