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
	if (!$self->_has('lags')) {
		$self->_write_ahead if !$self->{pg};
		$self->_in_one(
			sub {
				$self->{dbh}->do($_) for $self->_statements;
				$self->_add_share($_,
					"PARTITION OF lags FOR VALUES WITH (MODULUS $SHARES, REMAINDER $_)")
					for $self->{pg} ? 0 .. $SHARES - 1 : ();
			}
		);
		push @done, 'tables made';
	}
	push @done, $self->maintain(%o);
	return @done;
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
	return $self if $self->_has('lags');
	die "$self->{name}: has no tables of a fleet: run `tipme fleet setup` first\n";
}

sub _statements {
	my ($self) = @_;
	my $text   = _schema();
	my %other  = (pg => 'lite', lite => 'pg');
	my $other  = $other{ $self->{pg} ? 'pg' : 'lite' };
	$text =~ s/^$other:.*\n//mg;
	$text =~ s/^(?:pg|lite): //mg;
	$text =~ s/--.*$//mg;
	my $partition = $self->{pg} ? 'PARTITION BY HASH (machine)' : '';
	$text =~ s{/\* partition \*/}{$partition};
	return grep {/\S/} split /;/, $text;
}

sub _schema {
	my ($file) = grep {-f} map { ("$_/schema/0001-lags.sql", "$_/../schema/0001-lags.sql") } @INC;
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
	my ($self, $share, $as) = @_;
	$self->{dbh}->do("CREATE TABLE lags_$share $as PARTITION BY RANGE (time)");
	$self->{dbh}->do("CREATE TABLE lags_${share}_other PARTITION OF lags_$share DEFAULT");
	$self->{dbh}->do("CREATE UNIQUE INDEX ON lags_${share}_other (machine, time, episode)");
	return;
}

# Shares alone, on a server that another asks for them.
sub _setup_shares {
	my ($self, @shares) = @_;
	my ($columns) = join("\n", $self->_statements) =~ /CREATE TABLE lags \((.*?)\)\s*PARTITION/s;
	my @new = grep { !$self->_has("lags_$_") } @shares;
	$self->_in_one(sub { $self->_add_share($_, "($columns)") for @new });
	return @new ? 'shares made: ' . join ', ', @new : ();
}

# The shares whose months are here; those on other servers are looked after there.
sub _shares {
	my ($self) = @_;
	return @{
		$self->{dbh}->selectcol_arrayref(
			q(SELECT relname FROM pg_class WHERE relname ~ '^lags_[0-9]+$' AND relkind = 'p' ORDER BY 1)
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
	$dbh->do("CREATE TABLE $name (LIKE $share INCLUDING DEFAULTS)");
	$dbh->do("CREATE UNIQUE INDEX ON $name (machine, time, episode)");
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
			for my $table ($self->{pg} ? map {"${_}_other"} $self->_shares : 'lags') {
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
	my @columns = $table eq 'lags' ? @COLUMNS : @PRESENCE;
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
			$dbh->do('GRANT INSERT ON lags, presence TO tipme_fleet_writer');
			my $lags     = join ', ', grep { $_ ne 'machine' && $_ ne 'episode' } @COLUMNS;
			my $presence = join ', ', grep { $_ ne 'machine' } @PRESENCE;
			$dbh->do("GRANT SELECT ($lags) ON lags TO tipme_fleet_reader");
			$dbh->do("GRANT SELECT ($presence) ON presence TO tipme_fleet_reader");
			$dbh->do('GRANT SELECT ON lags, presence TO tipme_fleet_machines');
		}
	);
	return 'roles: tipme_fleet_writer, tipme_fleet_reader, tipme_fleet_machines';
}

# sees_machines(): whether this connection may know which machine a row is of
sub sees_machines {
	my ($self) = @_;
	return 1 if !$self->{pg};
	my ($may) =
		$self->{dbh}->selectrow_array(q(SELECT has_column_privilege('lags', 'machine', 'SELECT')));
	return $may ? 1 : 0;
}

1;
