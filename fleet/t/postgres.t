#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A fleet in PostgreSQL: the same answers as in SQLite, partitions, a second server, roles, power
# cuts.
use strict;
use warnings;
use Test::More;
use File::Temp  qw(tempdir);
use FindBin     qw($Bin);
use POSIX       ();
use Time::HiRes qw(sleep time);
my ($src, $tmp);
BEGIN { $src = "$Bin/../.."; $tmp = tempdir(CLEANUP => 1) }
use lib "$src/fleet/lib", "$Bin/lib", "$src/postmortem/lib", "$src/abi/lib", "$src/abi/generated";
use Tipme::Fleet::Database;
use Tipme::Fleet::Questions qw(top trend clusters totals counted_top counted_trend);
use Tipme::Fleet::Spool;
use Tipme::Test::Fleet qw(rows presences counts bundle kill_group $NOW);
use Tipme::Test::Postgres;

my $missing = Tipme::Test::Postgres::missing();
plan skip_all => $missing if $missing;

# 30,000 lags of 10,000 machines; 1,000,000 with --all.
my $COUNT    = $ENV{TIPME_TEST_ALL} ? 1_000_000 : 30_000;
my $MACHINES = 10_000;
my $WEEKS    = 26;
my $pg       = Tipme::Test::Postgres->new;
my $db       = Tipme::Fleet::Database->open($pg->name, write => 1);

# Before any partition of their month is there: they lie in that for all other times, and move.
subtest 'partitions' => sub {
	$db->setup;
	my @some = rows(300, machines => 20, weeks => 20, seed => 9);
	is $db->add('lags', @some), 300, 'rows of months without a partition';
	my $beside = join ' + ',
		map {"(SELECT count(*) FROM lags_${_}_other)"} 0 .. $Tipme::Fleet::Database::SHARES - 1;
	is one($db, "SELECT $beside"), 300, '... lie beside';
	my @made = $db->setup(since => $NOW - $WEEKS * 7 * 86_400);
	like "@made", qr/partitions made: \d/, 'partitions of months that were';
	is one($db, "SELECT $beside"),            0,   '... take what is theirs';
	is one($db, 'SELECT count(*) FROM lags'), 300, '... and nothing is lost';
	is $db->add('lags', @some), 0, '... nor taken twice';
	is_deeply [ $db->setup(since => $NOW - $WEEKS * 7 * 86_400) ], [], 'nothing more to do';
	like join(' ', $db->maintain(keep_months => 1)), qr/removed: .*\blags_0_2025_12, /,
		'what is old is removed by months';
	is one($db, 'SELECT count(*) FROM lags'), 0, '... all that is there is old';
	$db->setup(since => $NOW - $WEEKS * 7 * 86_400);
};

sub one {
	my ($of, $sql, @values) = @_;
	return ($of->dbh->selectrow_array($sql, undef, @values))[0];
}

# Both databases get the same rows, drawn once: the first ones as an importer adds them, the others
# by what each is filled with fastest.
sub fill {
	my ($to, $beside) = @_;
	my (@batch, %took);
	my $put = sub {
		my ($of, $name, @some) = @_;
		my $begin = time;
		if ($of->pg && $took{$name}) { copy_into($of, @some) }
		else                         { $of->add('lags', @some); $took{$name} //= time - $begin }
	};
	my $both = sub {
		$put->($to,     'PostgreSQL', @batch);
		$put->($beside, 'SQLite',     @batch);
		@batch = ();
	};
	rows(
		$COUNT,
		machines => $MACHINES,
		weeks    => $WEEKS,
		each     => sub { push @batch, $_[0]; $both->() if @batch == $COUNT / 20 }
	);
	for my $of ($to, $beside) {
		$of->add('presence', presences(machines => $MACHINES / 10, weeks => $WEEKS));
		$of->add('counts',   counts(machines => $MACHINES / 50, weeks => $WEEKS));
		$of->dbh->do('ANALYZE');
	}
	diag sprintf '%d rows a second into %s', $COUNT / 20 / $took{$_}, $_ for sort keys %took;
	return;
}

sub copy_into {
	my ($of, @rows) = @_;
	my @columns = @Tipme::Fleet::Database::COLUMNS;
	my $dbh     = $of->dbh;
	$dbh->do('COPY lags (' . join(', ', @columns) . ') FROM STDIN');
	$dbh->pg_putcopydata(join("\t", map { $_ // '\N' } @$_{@columns}) . "\n") for @rows;
	$dbh->pg_putcopyend;
	return;
}

sub answers {
	my ($of) = @_;
	my %at = (now => $NOW, weeks => 12);
	return {
		top => top($of, %at), applications => top($of, %at, by => 'application'), all => top($of),
		trend    => trend($of, %at),              kernels => trend($of, by => 'kernel'),
		clusters => clusters($of, limit => 1000), totals  => totals($of),
		counted  => counted_top($of, %at, by => 'application'),
		counts   => counted_trend($of, by => 'kernel')
	};
}

my $lite = Tipme::Fleet::Database->open("$tmp/fleet.sqlite", write => 1);
$lite->setup;
my $want;
subtest 'the same answers as in SQLite' => sub {
	fill($db, $lite);
	is one($db, 'SELECT count(*) FROM lags'), $COUNT, "$COUNT lags";
	$want = answers($lite);
	is_deeply answers($db), $want, 'top, trend, clusters and totals';
	for my $question (qw(top trend)) {
		my $begin = time;
		Tipme::Fleet::Questions->can($question)->($db, now => $NOW, weeks => 12);
		diag sprintf '%s of 12 weeks: %.0f ms', $question, 1000 * (time - $begin);
	}
	my ($plan) = plans($db, top => weeks => 12, now => $NOW);
	my @read = sort $plan =~ /\blags_0_(2\d{3}_\d\d)\b/g;
	is $read[0], '2026_03', 'a question about 12 weeks reads no partition that is older'
		or diag $plan;
};

# The plans of all that a question asks of lags.
sub plans {
	my ($of, $question, %o) = @_;
	my (@asked, @plans);
	{
		my $rows = \&Tipme::Fleet::Questions::_rows;
		no warnings 'redefine';
		local *Tipme::Fleet::Questions::_rows =
			sub { push @asked, [ @_[ 1 .. $#_ ] ]; $rows->(@_) };
		Tipme::Fleet::Questions->can($question)->($of, %o);
	}
	for my $q (grep { $_->[0] =~ /FROM lags/ } @asked) {
		my ($sql, @values) = @$q;
		push @plans,
			join "\n",
			@{ $of->dbh->selectcol_arrayref("EXPLAIN (VERBOSE) $sql", undef, @values) };
	}
	return @plans;
}

subtest 'who may what' => sub {
	like $db->roles, qr/tipme_fleet_writer/, 'three roles';
	for my $user (qw(writer reader machines)) {
		$db->dbh->do("CREATE ROLE the_$user LOGIN IN ROLE tipme_fleet_$user");
	}
	my $writer = Tipme::Fleet::Database->open($pg->name('the_writer'), write => 1);
	my @new    = rows(10, machines => 5, seed => 77);
	is $writer->add('lags', @new), 10, 'a writer adds';
	is $writer->add('lags', @new), 0,  '... each once';
	is eval { one($writer, 'SELECT count(*) FROM lags') }, undef, '... reads nothing';
	is eval { $writer->dbh->do('DELETE FROM lags'); 1 },   undef, '... removes nothing';
	$db->dbh->do('DELETE FROM lags WHERE machine = ? AND time = ?', undef, @$_{qw(machine time)})
		for @new;
	my $reader = Tipme::Fleet::Database->open($pg->name('the_reader'));
	is $reader->sees_machines,                                    0,     'a reader sees no machine';
	is eval { one($reader, 'SELECT machine FROM lags LIMIT 1') }, undef, '... even if it asks';
	my @blind = map {
		{ %$_, machines => undef }
	} @{ $want->{top} };
	is_deeply top($reader, now => $NOW, weeks => 12), \@blind,          '... and has the same sums';
	is_deeply trend($reader, by => 'kernel'),         $want->{kernels}, '... and rates';
	is_deeply counted_trend($reader, by => 'kernel'), $want->{counts},  '... and counts';
	ok !
		grep({ exists $_->{machine} }
		@{ Tipme::Fleet::Questions::lags($reader, $want->{clusters}[0]{signature}) }),
		'... and lags without whose they are';
	is_deeply top(
		Tipme::Fleet::Database->open($pg->name('the_machines')), now => $NOW,
		weeks => 12
		),
		$want->{top}, 'who is allowed sees how many machines';
};

# What is timed on one server and on two.
my @QUESTIONS = (qw(top trend clusters), $ENV{TIPME_TEST_ALL} ? ('top of 12 weeks') : ());

# Half of the machines' shares on another server, by PostgreSQL's own foreign tables.
subtest 'two servers' => sub {
	my $second = Tipme::Test::Postgres->new;
	my $there  = Tipme::Fleet::Database->open($second->name, write => 1);
	my $here   = $db->dbh;
	my %alone  = map { $_ => cpu($_) } @QUESTIONS;
	$there->setup(shares => [ 1, 3 ], since => $NOW - $WEEKS * 7 * 86_400);
	$here->do('CREATE EXTENSION postgres_fdw');
	$here->do(
		sprintf
			q(CREATE SERVER second FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '%d', dbname 'postgres', async_capable 'true', fetch_size '10000', batch_size '1000')),
		$second->port
	);
	$here->do(
		q(CREATE USER MAPPING FOR CURRENT_USER SERVER second OPTIONS (user 'postgres', password_required 'false'))
	);

	for my $share (
		map {
			my $t = $_;
			map { [ $t, $_ ] } 1, 3
		} qw(lags counts)
		)
	{
		my ($table, $n) = @$share;
		$here->begin_work;
		$here->do("ALTER TABLE $table DETACH PARTITION ${table}_$n");
		$here->do("ALTER TABLE ${table}_$n RENAME TO moved");
		$here->do("CREATE FOREIGN TABLE ${table}_$n PARTITION OF $table FOR VALUES WITH "
				. "(MODULUS $Tipme::Fleet::Database::SHARES, REMAINDER $n) SERVER second");
		$here->do("INSERT INTO ${table}_$n SELECT * FROM moved");
		$here->do('DROP TABLE moved CASCADE');
		$here->commit;
	}
	$here->do('ANALYZE lags, counts');
	$there->dbh->do('ANALYZE');
	cmp_ok one($there, 'SELECT count(*) FROM lags_1'), '>', $COUNT / 5,
		'half of the machines are there';
	is_deeply answers($db), $want, 'the same answers';
	for my $question (qw(top trend clusters totals)) {
		for my $plan (plans($db, $question, weeks => 12, now => $NOW)) {
			my ($async, $all) = map { scalar(() = $plan =~ /$_/g) } 'Async Foreign Scan',
				'Foreign Scan';
			is "$async of $all", '2 of 2', "$question: both servers work at the same time"
				or diag $plan;
			is scalar(() = $plan =~ /Relations: Aggregate on/g), 2, '... each sums up its own'
				or diag $plan;
		}
	}
	$db->roles;
	$here->do(
		q(CREATE USER MAPPING FOR the_reader SERVER second OPTIONS (user 'postgres', password_required 'false'))
	);
	is_deeply trend(Tipme::Fleet::Database->open($pg->name('the_reader')), by => 'kernel'),
		$want->{kernels}, 'a reader has the same answers, too';
	is $db->add('lags', rows(200, machines => $MACHINES, weeks => $WEEKS)), 0,
		'what is known is known on either';
	my @new = map {
		{ %$_, episode => "new-$_->{episode}" }
	} rows(200, machines => $MACHINES, weeks => $WEEKS);
	is $db->add('lags', @new), 200, 'what is new goes where it belongs';
	is $db->add('lags', @new), 0,   '... once';
	$db->dbh->do(q(DELETE FROM lags WHERE episode LIKE 'new-%'));

	for my $question (@QUESTIONS) {
		my $both  = cpu($question);
		my $ratio = $alone{$question} ? $both / $alone{$question} : 0;
		diag sprintf 'CPU of %s, us a row: one server %.3f, two %.3f, ratio %.2f', $question,
			$alone{$question} / $COUNT, $both / $COUNT, $ratio;
		# Beside other tests a clock tells too little.
		cmp_ok $ratio, '<=', 1.2, "$question: CPU of two servers" if $ENV{TIPME_TEST_ALL};
	}
};

# Unit: us of CPU that both servers take for one answer, as /proc has them: of five, after one that
# fills their caches.
sub cpu {
	my ($question) = @_;
	my ($name, $weeks) = $question =~ /\A(\w+)(?: of (\d+) weeks)?\z/;
	my $ask = Tipme::Fleet::Questions->can($name);
	my %o   = (weeks => $weeks, now => $NOW);
	$ask->($db, %o);
	my $before = ticks();
	$ask->($db, %o) for 1 .. 5;
	return (ticks() - $before) * 1e6 / POSIX::sysconf(POSIX::_SC_CLK_TCK()) / 5;
}

# Processes that have ended are in the sums of the one that waited for them: a query's parallel
# workers end with it.
sub ticks {
	my $sum = 0;
	for my $stat (glob '/proc/[0-9]*/stat') {
		open my $in, '<', $stat or next;
		my $line = <$in> // next;
		my @f    = $line =~ /\(postgres\) (.*)/s ? split ' ', $1 : next;
		$sum += $_ for @f[ 11 .. 14 ];
	}
	return $sum;
}

# The server loses its power while rows come in, and the importer is killed: nothing lost, none
# twice.
subtest 'power cuts' => sub {
	my $server = Tipme::Test::Postgres->new(safe => 1);
	Tipme::Fleet::Database->open($server->name, write => 1)->setup;
	# As a version left it that knew no counts: who might write lags may then write these.
	my $old = Tipme::Fleet::Database->open($server->name);
	$old->roles;
	$old->dbh->do('DROP TABLE counts CASCADE');
	like join(' ', $old->setup), qr/^made: counts partitions made: /, 'what is new is made';
	is one($old, q(SELECT has_table_privilege('tipme_fleet_writer', 'counts', 'INSERT'))), 1,
		'... and granted as the rest';
	my @many = rows(400, machines => 20, seed => 4);
	mkdir "$tmp/spool" or die "$!\n";
	bundle("$tmp/spool/$_.tipme", $many[$_]) for 0 .. $#many;
	my ($servers, $importers) = (0, 0);

	for my $round (1 .. 6) {
		my $pid = fork;
		if (!$pid) {
			open STDERR, '>', '/dev/null';
			setpgrp;
			eval {
				Tipme::Fleet::Spool->new("$tmp/spool", database => $server->name, jobs => 2)->take;
			};
			POSIX::_exit(0);
		}
		sleep(0.05 + rand 0.2);
		if ($round % 2) { $server->kill_now; $servers++; waitpid $pid, 0; $server->start }
		else            { $importers += kill_group($pid) }
	}
	Tipme::Fleet::Spool->new("$tmp/spool", database => $server->name)->take;
	my $of = Tipme::Fleet::Database->open($server->name);
	is one($of, 'SELECT count(*) FROM lags'), 400,
		"the server was killed $servers times, the importer $importers times: all rows, each once";
	opendir my $d, "$tmp/spool" or die "$!\n";
	is_deeply [ grep {/\.tipme$/} readdir $d ], [], '... and no file is left';
};

subtest 'no server' => sub {
	my $gone = 'pg:host=/nonexistent;dbname=x';
	my $said = qx{$^X $src/postmortem/bin/tipme-postmortem fleet top --db '$gone' 2>&1};
	like $said,
		qr/^tipme: fleet: no connection to PostgreSQL: .*: is it running, and may this user connect\?$/,
		'a sentence'
		or diag $said;
};
done_testing;
