# SPDX-License-Identifier: GPL-2.0-only
# What a fleet's database is asked. The same SQL for PostgreSQL and SQLite. A connection that may
# not know machines gets the same sums without how many machines they are of.
package Tipme::Fleet::Questions;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Fleet::Database;
use Tipme::Statistics qw(poisson_interval rate_ratio);

our @EXPORT_OK = qw(top trend clusters lags totals counted counted_top counted_trend
	dimensions);

# What may be asked by: name => column of `lags`
my %BY = map { $_ => $_ } qw(application culprit kind function stage kernel hardware version);
# Those that the table `presence` has, too: by them a rate can be told.
my %PRESENT = (kernel => 1, version => 1);
# Those that the table `counts` has, too.
my %COUNTED = (application => 1, kernel => 1, version => 1);

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
	my ($shares, @all) = _each_share(
		$db, 'lags',
		sub {
			my ($table, $far) = @_;
			return _by_machine($table, $where, $column) if $db->sees_machines && !$far;
			return
				  "SELECT $column AS name, count(*) AS lags, sum(waited_ns) AS waited_ns, "
				. _machines($db)
				. " AS machines FROM $table WHERE $where GROUP BY $column";
		},
		@values
	);
	return _rows(
			  $db, 'SELECT name, sum(lags) AS lags, sum(waited_ns) AS waited_ns, '
			. "sum(machines) AS machines FROM ($shares) AS shares GROUP BY name "
			. "ORDER BY waited_ns DESC, name LIMIT $limit", @all
	);
}

# Machines are counted by a sum over each machine's sum: one pass, no sort of all rows.
sub _by_machine {
	my ($table, $where, $column) = @_;
	return
		  'SELECT name, CAST(sum(n) AS BIGINT) AS lags, sum(ns) AS waited_ns, count(*) AS machines '
		. "FROM (SELECT $column AS name, machine, count(*) AS n, sum(waited_ns) AS ns FROM $table "
		. "WHERE $where GROUP BY $column, machine) AS each_machine GROUP BY name";
}

# Where another server is asked, it counts them: one row for each of them need not come here.
sub _machines {
	my ($db) = @_;
	return $db->sees_machines ? 'count(DISTINCT machine)' : 'CAST(NULL AS BIGINT)';
}

# _each_share(DATABASE, TABLE, SUB, VALUES): (SQL, values): what SUB makes of the table, or, where a
# server of its own has some shares, of each of them (SHARE, 1 if it is there), all together. No
# machine is in two shares, so sums of shares are sums of all.
sub _each_share {
	my ($db, $table, $sql, @values) = @_;
	my @shares = $db->shares_apart($table) or return ($sql->($table), @values);
	return (
		join(' UNION ALL ', map { $sql->($_->{name}, $_->{far}) } @shares),
		(@values) x @shares
	);
}

# totals(DATABASE, weeks => N): { lags, waited_ns, first, last } (times; undef without rows)
sub totals {
	my ($db,     %o)      = @_;
	my ($where,  @values) = _since('lags', %o);
	my ($shares, @all)    = _each_share(
		$db, 'lags',
		sub {
			'SELECT count(*) AS lags, sum(waited_ns) AS waited_ns, min(time) AS first, '
				. "max(time) AS last FROM $_[0] WHERE $where";
		},
		@values
	);
	return _rows(
		$db, 'SELECT sum(lags) AS lags, sum(waited_ns) AS waited_ns, min(first) AS first, '
			. "max(last) AS last FROM ($shares) AS shares", @all
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
	my ($shares, @all) = _each_share(
		$db, 'lags',
		sub {
			"SELECT week, $column AS name, count(*) AS lags, sum(waited_ns) AS waited_ns "
				. "FROM $_[0] WHERE $lag_where GROUP BY "
				. (defined $o{by} ? "week, $column" : 'week');
		},
		@lag_values
	);
	my $lags = _rows(
		$db, 'SELECT week, name, sum(lags) AS lags, sum(waited_ns) AS waited_ns '
			. "FROM ($shares) AS shares GROUP BY week, name", @all
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
	my @values = _sums([qw(lags waited_ns hours)], @rows);
	my $before;
	for my $s (@values) {
		_add_rate($s);
		@$s{qw(ratio ratio_low ratio_high)} = (undef) x 3;
		next if !$s->{hours};
		@$s{qw(ratio ratio_low ratio_high)} =
			rate_ratio(@$s{qw(lags hours)}, @$before{qw(lags hours)})
			if $before && $before->{lags} + $s->{lags};
		$before = $s;
	}
	return @values;
}

# Rows of weeks, as one of each name, in the order in which they were first seen.
sub _sums {
	my ($fields, @rows) = @_;
	my (%sum, @order);
	for my $r (@rows) {
		my $s = $sum{ $r->{name} } //= do {
			push @order, $r->{name};
			{ name => $r->{name}, first => $r->{week}, map { $_ => 0 } @$fields };
		};
		$s->{$_} += $r->{$_} // 0 for @$fields;
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
		. 'stage, ';
	my ($shares, @all) = _each_share(
		$db, 'lags',
		sub {
			my ($table, $far) = @_;
			return _clusters_by_machine($table, $where, $same) if $db->sees_machines && !$far;
			return
				  "SELECT signature, ${same}count(*) AS lags, sum(waited_ns) AS waited_ns, "
				. _machines($db)
				. " AS machines, min(time) AS first, max(time) AS last FROM $table WHERE $where "
				. 'GROUP BY signature';
		},
		@values
	);
	return _rows(
			  $db, "SELECT signature, ${same}sum(lags) AS lags, sum(waited_ns) AS waited_ns, "
			. 'sum(machines) AS machines, min(first) AS first, max(last) AS last '
			. "FROM ($shares) AS shares GROUP BY signature "
			. "ORDER BY waited_ns DESC, signature LIMIT $limit", @all
	);
}

sub _clusters_by_machine {
	my ($table, $where, $same) = @_;
	return
		  "SELECT signature, ${same}CAST(sum(n) AS BIGINT) AS lags, sum(ns) AS waited_ns, "
		. 'count(*) AS machines, min(first) AS first, max(last) AS last FROM '
		. "(SELECT signature, machine, ${same}count(*) AS n, sum(waited_ns) AS ns, "
		. "min(time) AS first, max(time) AS last FROM $table WHERE $where "
		. 'GROUP BY signature, machine) AS each_machine GROUP BY signature';
}

# counted(DATABASE, by => application|kernel|version, weeks => N): what profiles have counted:
# { NAME => { answers, late, waited_ns } }; nothing by what they do not tell.
sub counted {
	my ($db, %o) = @_;
	my $column = _column($o{by} // 'culprit');
	return {} if !$COUNTED{$column};
	return { map { $_->{name} => $_ } _counted($db, $column, %o) };
}

# counted_top(DATABASE, ...): rows of top, each with `counted` where profiles have counts of it.
# Behind them, as far as the limit goes, what only profiles know: those most waited for first.
sub counted_top {
	my ($db, %o) = @_;
	my %counted = %{ counted($db, %o) };
	my @rows    = map {
		{ %$_, counted => delete $counted{ $_->{name} } }
	} @{ top($db, %o) };
	my @others =
		sort { $counted{$b}{waited_ns} <=> $counted{$a}{waited_ns} || $a cmp $b } keys %counted;
	while (@others && @rows < _limit($o{limit})) {
		my $name = shift @others;
		push @rows,
			{
			name    => $name, lags => 0, waited_ns => 0, machines => undef,
			counted => $counted{$name}
			};
	}
	return \@rows;
}

# counted_trend(DATABASE, by => kernel|version, or undef, weeks => N): the same by weeks:
# { weeks => [ { week, name, answers, late, waited_ns, share, low, high } ], values => [ ... and
# ratio, ratio_low, ratio_high ] }. share: late ones of 1,000 answers, with its interval.
sub counted_trend {
	my ($db, %o) = @_;
	my $column = defined $o{by} ? _column($o{by}) : q('');
	my $group  = defined $o{by} ? "week, $column" : 'week';
	die "$o{by}: no counts by it: ask by application, kernel or version\n"
		if defined $o{by} && !$COUNTED{ $o{by} };
	my @rows =
		sort { $a->{week} <=> $b->{week} || $a->{name} cmp $b->{name} }
		_counted($db, $group, %o, column => $column, week => 1);
	_add_share($_) for @rows;
	return { weeks => \@rows, values => defined $o{by} ? [ _counted_values(@rows) ] : [] };
}

sub _counted {
	my ($db, $group, %o) = @_;
	my $column = $o{column} // $group;
	my $week   = $o{week} ? 'week, ' : '';
	my ($where, @values) = _since('counts', %o);
	my ($shares, @all)   = _each_share(
		$db, 'counts',
		sub {
			"SELECT ${week}$column AS name, sum(answers) AS answers, sum(late) AS late, "
				. "sum(waited_ns) AS waited_ns FROM $_[0] WHERE $where GROUP BY $group";
		},
		@values
	);
	return @{
		_rows(
			$db, "SELECT ${week}name, sum(answers) AS answers, sum(late) AS late, "
				. "sum(waited_ns) AS waited_ns FROM ($shares) AS shares GROUP BY ${week}name", @all
		)
	};
}

# Of so many answers it is told how many were late.
our $OF_ANSWERS = 1000;

sub _add_share {
	my ($r) = @_;
	@$r{qw(share low high)} = (undef) x 3;
	return if !$r->{answers};
	my ($low, $high) = poisson_interval($r->{late});
	$high = $r->{answers} if $high > $r->{answers};
	@$r{qw(share low high)} = map { $_ * $OF_ANSWERS / $r->{answers} } $r->{late}, $low, $high;
	return;
}

sub _counted_values {
	my (@rows) = @_;
	my @values = _sums([qw(answers late waited_ns)], @rows);
	my $before;
	for my $s (@values) {
		_add_share($s);
		@$s{qw(ratio ratio_low ratio_high)} = (undef) x 3;
		next if !$s->{answers};
		@$s{qw(ratio ratio_low ratio_high)} =
			rate_ratio(@$s{qw(late answers)}, @$before{qw(late answers)})
			if $before && $before->{late} + $s->{late};
		$before = $s;
	}
	return @values;
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
		for (qw(lags waited_ns machines hours first last time week answers late)) {
			$r->{$_} += 0 if defined $r->{$_};
		}
	}
	return $rows;
}

1;
