# SPDX-License-Identifier: GPL-2.0-only
# The database of a fleet: SQLite in a file, or a PostgreSQL that its administrator names. Schema,
# partitions, roles, retention; the same tables and queries on both.
package Tipme::Fleet::Database;

use strict;
use warnings;
use File::Basename qw(dirname);
use File::Path     qw(make_path);
use List::Util     qw(min);
use Time::Local    qw(timegm);

# Unit: seconds. How long SQLite waits for another writer; more than a batch takes.
my $PATIENCE_S = 60;
# Shares of the machines, by hash; each has partitions by month, and can lie on a server of its own.
# Source: as many as a small server has CPUs. Fixed when a fleet begins.
our $SHARES = 4;
# Unit: months. So far ahead partitions are made, if `maintain` runs once a month.
my $AHEAD = 3;
our @COLUMNS = qw(machine episode time week application culprit kind function stage signature kernel
	hardware version waited_ns usual_ns confidence sentence);
our @PRESENCE = qw(machine week kernel version hours);
our @COUNTS   = qw(machine profile time week application input kernel version answers late
	waited_ns);
my %COLUMNS = (lags => \@COLUMNS, presence => \@PRESENCE, counts => \@COUNTS);
# Tables in shares, in the order of their files in schema/, and what names a row.
my @SHARED = qw(lags counts);
my %NAMED =
	(lags => 'machine, time, episode', counts => 'machine, time, profile, application, input');

# open(NAME, write => 1): a database by its name: `pg:KEY=VALUE;KEY=VALUE` as libpq has them, else a
# file of SQLite. Without a name: $TIPME_FLEET_DB, the line `db = NAME` of /etc/tipme/fleet.conf, or
# a file of this user's. Dies by a sentence.
sub open {
	my ($class, $name, %o) = @_;
	$name //= _usual_name();
	my $self = bless { name => $name, pg => $name =~ /\Apg:/ ? 1 : 0 }, $class;
	$self->{dbh} = $self->{pg} ? $self->_connect_pg : $self->_connect_lite(%o);
	return $self;
}

sub dbh  { return $_[0]{dbh} }
sub pg   { return $_[0]{pg} }
sub name { return $_[0]{name} }

sub _usual_name {
	return $ENV{TIPME_FLEET_DB} if length($ENV{TIPME_FLEET_DB} // '');
	if (CORE::open my $in, '<', '/etc/tipme/fleet.conf') {
		while (<$in>) { return $1 if /\A\s*db\s*=\s*(\S.*?)\s*\z/ }
	}
	my $share = $ENV{XDG_DATA_HOME} // (defined $ENV{HOME} ? "$ENV{HOME}/.local/share" : undef);
	die "no database: name one with --db FILE or --db 'pg:dbname=...'\n" if !defined $share;
	return "$share/tipme/fleet.sqlite";
}

sub _connect_pg {
	my ($self) = @_;
	eval { require DBI; require DBD::Pg; 1 }
		or die "the Perl module DBD::Pg is not installed: install it (Debian: libdbd-pg-perl)\n";
	my ($dsn) = $self->{name} =~ /\Apg:(.*)\z/s;
	my $dbh = eval {
		DBI->connect(
			"dbi:Pg:$dsn", '', '',
			{ RaiseError => 1, PrintError => 0, AutoCommit => 1, pg_enable_utf8 => 1 }
		);
	}
		or die 'no connection to PostgreSQL: '
		. _said($DBI::errstr)
		. ": is it running, and may this user connect?\n";
	$dbh->do('SET client_min_messages = warning');
	# Compiling a query over so many partitions takes longer than the query.
	$dbh->do('SET jit = off');
	$dbh->do(q(SET work_mem = '64MB'));
	# Each share sums up by itself, on whichever server it lies.
	$dbh->do('SET enable_partitionwise_aggregate = on');
	return $dbh;
}

sub _connect_lite {
	my ($self, %o) = @_;
	eval { require DBI; require DBD::SQLite; 1 }
		or die "the Perl module DBD::SQLite is not installed: install it (Debian: "
		. "libdbd-sqlite3-perl)\n";
	my $file = $self->{name};
	if    ($o{write}) { make_path(dirname($file), { mode => 0700 }) }
	elsif (!-e $file) { die "$file: is not there: run `tipme fleet setup` first\n" }
	my $dbh = eval {
		DBI->connect(
			"dbi:SQLite:dbname=$file",
			'', '',
			{
				RaiseError => 1, PrintError => 0, AutoCommit => 1, sqlite_unicode => 1,
				sqlite_use_immediate_transaction => 1
			}
		);
	} or die "$file: " . _said($DBI::errstr) . ": is it a database of tipme fleet?\n";
	$dbh->sqlite_busy_timeout($PATIENCE_S * 1000);
	return $dbh;
}

sub _said { my ($s) = @_; return ($s // 'not said why') =~ s/\s+/ /gr =~ s/ \z//r }

# setup(since => TIME, shares => [ NUMBER ... ]): makes what is not there yet; partitions from the
# month of TIME on. With `shares` only these shares, for a server that another one asks for them.
# Returns what was done, as sentences.
sub setup {
	my ($self, %o) = @_;
	my @done;
	die "SQLite has no shares\n" if $o{shares} && !$self->{pg};
	return ($self->_setup_shares(@{ $o{shares} }), $self->maintain(%o)) if $o{shares};
	my @missing = grep { !$self->_has($_) } @SHARED;
	$self->_write_ahead if @missing == @SHARED && !$self->{pg};
	for my $table (@missing) {
		$self->_in_one(sub { $self->_make($table) });
	}
	push @done, @missing == @SHARED ? 'tables made' : "made: @missing" if @missing;
	push @done, $self->maintain(%o);
	return @done;
}

# A file of the schema, with shares; who may do what with tables that were there may do it with
# these.
sub _make {
	my ($self, $table) = @_;
	$self->{dbh}->do($_) for $self->_statements($table);
	return if !$self->{pg};
	$self->_add_share(
		$table, $_,
		"PARTITION OF $table FOR VALUES WITH (MODULUS $SHARES, REMAINDER $_)"
	) for 0 .. $SHARES - 1;
	my ($known) =
		$self->{dbh}
		->selectrow_array(q(SELECT count(*) FROM pg_roles WHERE rolname = 'tipme_fleet_writer' )
			. q(AND has_table_privilege(oid, 'lags', 'INSERT')));
	$self->_grant if $known;
	return;
}

# So that readers and a writer do not wait for each other; kept in the file.
sub _write_ahead {
	my ($self) = @_;
	$self->{dbh}->do('PRAGMA journal_mode = WAL');
	return;
}

sub _has {
	my ($self, $table) = @_;
	my ($there) = $self->{dbh}->selectrow_array(
		$self->{pg}
		? 'SELECT to_regclass(?)::text'
		: q(SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?), undef, $table
	);
	return defined $there;
}

# ready(): dies by a sentence where the tables are not there.
sub ready {
	my ($self) = @_;
	die "$self->{name}: has no tables of a fleet: run `tipme fleet setup` first\n"
		if !$self->_has('lags');
	my ($missing) = grep { !$self->_has($_) } @SHARED;
	die "$self->{name}: was made by an earlier version: run `tipme fleet setup` once more\n"
		if defined $missing;
	return $self;
}

sub _statements {
	my ($self, $table) = @_;
	my $text  = _schema($table);
	my %other = (pg => 'lite', lite => 'pg');
	my $other = $other{ $self->{pg} ? 'pg' : 'lite' };
	$text =~ s/^$other:.*\n//mg;
	$text =~ s/^(?:pg|lite): //mg;
	$text =~ s/--.*$//mg;
	my $partition = $self->{pg} ? 'PARTITION BY HASH (machine)' : '';
	$text =~ s{/\* partition \*/}{$partition};
	return grep {/\S/} split /;/, $text;
}

sub _schema {
	my ($table) = @_;
	my ($n)     = grep { $SHARED[ $_ - 1 ] eq $table } 1 .. @SHARED;
	my $name    = sprintf 'schema/%04d-%s.sql', $n, $table;
	my ($file)  = grep {-f} map { ("$_/$name", "$_/../$name") } @INC;
	CORE::open my $in, '<', $file // ''
		or die "the fleet's schema is not installed: install all of tipme-fleet\n";
	local $/ = undef;
	return scalar <$in>;
}

sub _in_one {
	my ($self, $do) = @_;
	$self->{dbh}->begin_work;
	return if eval { $do->(); $self->{dbh}->commit; 1 };
	my $why = $@;
	eval { $self->{dbh}->rollback };
	die $why;
}

# --- partitions and retention ---

# maintain(since => TIME, keep_months => N): partitions from the month of TIME (usually this one) to
# those to come; rows older than N months go. Returns what was done, as sentences.
sub maintain {
	my ($self, %o) = @_;
	my @done = $self->{pg} ? $self->_add_partitions($o{since}) : ();
	push @done, $self->_forget($o{keep_months}) if $o{keep_months};
	return @done;
}

# (first second, first second of the next) of the month that is N after that of TIME
sub _month {
	my ($time, $n) = @_;
	my (undef, undef, undef, undef, $month, $year) = gmtime $time;
	my $at = $year * 12 + $month + $n;
	return map { timegm(0, 0, 0, 1, $_ % 12, int($_ / 12) + 1900) } $at, $at + 1;
}

sub _month_name {
	my ($time) = @_;
	my (undef, undef, undef, undef, $month, $year) = gmtime $time;
	return sprintf '%04d_%02d', $year + 1900, $month + 1;
}

# A share, whose partitions are months, and one for all other times. In each leaf an index of its
# own: a table with foreign shares can have none that is unique.
sub _add_share {
	my ($self, $table, $n, $as) = @_;
	my $share = "${table}_$n";
	$self->{dbh}->do("CREATE TABLE $share $as PARTITION BY RANGE (time)");
	$self->{dbh}->do("CREATE TABLE ${share}_other PARTITION OF $share DEFAULT");
	$self->{dbh}->do("CREATE UNIQUE INDEX ON ${share}_other ($NAMED{$table})");
	return;
}

# Shares alone, on a server that another asks for them.
sub _setup_shares {
	my ($self, @shares) = @_;
	my @new;
	for my $table (@SHARED) {
		my ($columns) =
			join("\n", $self->_statements($table)) =~ /CREATE TABLE $table \((.*?)\)\s*PARTITION/s;
		my @of = grep { !$self->_has("${table}_$_") } @shares;
		$self->_in_one(sub { $self->_add_share($table, $_, "($columns)") for @of });
		push @new, map {"${table}_$_"} @of;
	}
	return @new ? 'shares made: ' . join ', ', @new : ();
}

# The shares whose months are here; those on other servers are looked after there.
sub _shares {
	my ($self) = @_;
	return @{
		$self->{dbh}->selectcol_arrayref(
			'SELECT relname FROM pg_class WHERE relname ~ ? AND ' . q(relkind = 'p' ORDER BY 1),
			undef, '^(' . join('|', @SHARED) . ')_[0-9]+$'
		)
	};
}

# add_month(SHARE, TIME): the partition of the month of TIME, if it is not there. What came for it
# before lies in the partition for all other times, and moves. Returns its name, if made.
sub add_month {
	my ($self, $share, $time) = @_;
	my ($from, $to) = _month($time, 0);
	my $name = "${share}_" . _month_name($time);
	return if $self->_has($name);
	my $dbh = $self->{dbh};
	my ($table) = $share =~ /\A(\w+)_\d+\z/;
	$dbh->do("CREATE TABLE $name (LIKE $share INCLUDING DEFAULTS)");
	$dbh->do("CREATE UNIQUE INDEX ON $name ($NAMED{$table})");
	$dbh->do( "WITH gone AS (DELETE FROM ${share}_other WHERE time >= $from AND time < $to "
			. "RETURNING *) INSERT INTO $name SELECT * FROM gone");
	$dbh->do("ALTER TABLE $share ATTACH PARTITION $name FOR VALUES FROM ($from) TO ($to)");
	return $name;
}

sub _add_partitions {
	my ($self, $since) = @_;
	my @made;
	$self->_in_one(
		sub {
			for my $share ($self->_shares) {
				# Two who maintain at a time: the second finds all made.
				$self->{dbh}->do("LOCK TABLE $share IN ACCESS EXCLUSIVE MODE");
				my ($last)  = _month(time,           $AHEAD);
				my ($month) = _month($since // time, 0);
				while ($month <= $last) {
					push @made, $self->add_month($share, $month);
					(undef, $month) = _month($month, 0);
				}
			}
		}
	);
	return @made ? 'partitions made: ' . @made : ();
}

sub _forget {
	my ($self, $months) = @_;
	my ($before) = _month(time, -$months);
	my @gone;
	$self->_in_one(
		sub {
			for my $share ($self->{pg} ? $self->_shares : ()) {
				for my $name ($self->_months($share)) {
					my ($y, $m) = $name =~ /_(\d{4})_(\d\d)\z/;
					next if timegm(0, 0, 0, 1, $m - 1, $y) >= $before;
					$self->{dbh}->do("DROP TABLE $name");
					push @gone, $name;
				}
			}
			my $n = 0;
			for my $table ($self->{pg} ? map {"${_}_other"} $self->_shares : @SHARED) {
				$n += $self->{dbh}->do("DELETE FROM $table WHERE time < ?", undef, $before);
			}
			$self->{dbh}->do('DELETE FROM presence WHERE week < ?', undef, week_of($before))
				if $self->_has('presence');
			push @gone, "$n rows" if $n > 0;
		}
	);
	return @gone ? 'removed: ' . join ', ', @gone : 'nothing is that old';
}

sub _months {
	my ($self, $share) = @_;
	return @{
		$self->{dbh}->selectcol_arrayref(
			q(SELECT relname FROM pg_class WHERE relname ~ ('^' || ? || '_[0-9]{4}_[0-9]{2}$') ORDER BY 1),
			undef, $share
		)
	};
}

# week_of(TIME): weeks since Monday, 1970-01-05 (UTC)
sub week_of { my ($time) = @_; return int(($time - 4 * 86_400) / (7 * 86_400)) }

# week_time(WEEK): its first second, since 1970 (UTC)
sub week_time { my ($week) = @_; return (4 + 7 * $week) * 86_400 }

# week_text(WEEK): the Monday of it, as YYYY-MM-DD
sub week_text {
	my ($week) = @_;
	my (undef, undef, undef, $d, $m, $y) = gmtime(week_time($week));
	return sprintf '%04d-%02d-%02d', $y + 1900, $m + 1, $d;
}

# --- rows ---

# add(TABLE, ROWS): hashes; those that are there already stay as they are. All or none. Returns how
# many were new. A writer needs no right to read.
sub add {
	my ($self, $table, @rows) = @_;
	my @columns = @{ $COLUMNS{$table} };
	my $new     = 0;
	$self->_in_one(
		sub {
			while (my @some = splice @rows, 0, min(200, scalar @rows)) {
				my $each = '(' . join(', ', ('?') x @columns) . ')';
				my $sth =
					$self->{dbh}->prepare_cached("INSERT INTO $table ("
						. join(', ', @columns)
						. ') VALUES '
						. join(', ', ($each) x @some)
						. ' ON CONFLICT DO NOTHING');
				$new += $sth->execute(map { @$_{@columns} } @some);
			}
		}
	);
	return $new;
}

# --- who may what (PostgreSQL) ---

# roles(): makes the roles tipme_fleet_writer (adds rows, reads nothing), tipme_fleet_reader (reads
# all but which machine), tipme_fleet_machines (reads that, too). Needs the right to make roles.
sub roles {
	my ($self) = @_;
	die "SQLite has no roles: file permissions say who may read\n" if !$self->{pg};
	my $dbh = $self->{dbh};
	$self->_in_one(
		sub {
			for my $role (qw(tipme_fleet_writer tipme_fleet_reader tipme_fleet_machines)) {
				my ($there) = $dbh->selectrow_array(
					'SELECT 1 FROM pg_roles WHERE rolname = ?',
					undef, $role
				);
				$dbh->do("CREATE ROLE $role NOLOGIN") if !$there;
			}
			$self->_grant;
		}
	);
	return 'roles: tipme_fleet_writer, tipme_fleet_reader, tipme_fleet_machines';
}

# On the shares, too: a question that is put to each of them alone needs it there.
sub _grant {
	my ($self) = @_;
	my $dbh    = $self->{dbh};
	my %hidden = map { $_ => 1 } qw(machine episode profile);
	for my $table (sort keys %COLUMNS) {
		next if !$self->_has($table);
		my $shown = join ', ', grep { !$hidden{$_} } @{ $COLUMNS{$table} };
		$dbh->do("GRANT INSERT ON $table TO tipme_fleet_writer");
		for my $part ($table, map { $_->{name} } $self->_parts($table)) {
			$dbh->do("GRANT SELECT ($shown) ON $part TO tipme_fleet_reader");
			$dbh->do("GRANT SELECT ON $part TO tipme_fleet_machines");
		}
	}
	return;
}

# The shares of a table: { name, far: 1 if another server has it, seen: 1 if we may ask it }
sub _parts {
	my ($self, $table) = @_;
	my $column = $self->sees_machines ? 'machine' : 'week';
	return @{
		$self->{dbh}->selectall_arrayref(
				  q(SELECT c.relname AS name, CASE WHEN c.relkind = 'f' THEN 1 ELSE 0 END AS far, )
				. q(CASE WHEN has_column_privilege(c.oid, ?, 'SELECT') THEN 1 ELSE 0 END AS seen )
				. 'FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid '
				. 'WHERE i.inhparent = to_regclass(?) ORDER BY 1',
			{ Slice => {} }, $column, $table
		)
	};
}

# shares_apart(TABLE): where a server of its own has some of the shares, and we may ask each: all of
# them as { name, far }; else nothing. A sum over machines is then made where they lie.
sub shares_apart {
	my ($self, $table) = @_;
	return if !$self->{pg};
	my @parts = $self->_parts($table);
	return if !grep({ $_->{far} } @parts) || grep { !$_->{seen} } @parts;
	return @parts;
}

# sees_machines(): whether this connection may know which machine a row is of
sub sees_machines {
	my ($self) = @_;
	return 1 if !$self->{pg};
	return $self->{sees} //=
		($self->{dbh}->selectrow_array(q(SELECT has_column_privilege('lags', 'machine', 'SELECT'))))
		[0]
		? 1
		: 0;
}

1;
