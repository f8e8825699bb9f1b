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
use Tipme::Fleet::Questions qw(top trend clusters totals);
use Tipme::Fleet::Spool;
use Tipme::Test::Fleet qw(rows presences bundle $NOW);
use Tipme::Test::Postgres;

my $missing = Tipme::Test::Postgres::missing();
plan skip_all => $missing if $missing;

# 10^5 lags of 10^4 machines; ten times that with --all.
my $COUNT    = $ENV{TIPME_TEST_ALL} ? 1_000_000 : 100_000;
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
	like join(' ', $db->maintain(keep_months => 1)), qr/removed: lags_0_2025_12, /,
		'what is old is removed by months';
	is one($db, 'SELECT count(*) FROM lags'), 0, '... all that is there is old';
	$db->setup(since => $NOW - $WEEKS * 7 * 86_400);
};

sub one {
	my ($of, $sql, @values) = @_;
	return ($of->dbh->selectrow_array($sql, undef, @values))[0];
}

# Fills a database; returns the seconds.
sub fill {
	my ($of) = @_;
	my ($begin, @batch) = (time);
	rows(
		$COUNT,
		machines => $MACHINES,
		weeks    => $WEEKS,
		each     => sub {
			push @batch, $_[0];
			if (@batch == 5000) { $of->add('lags', splice @batch) }
		}
	);
	$of->add('lags', @batch);
	my $took = time - $begin;
	$of->add('presence', presences(machines => $MACHINES / 10, weeks => $WEEKS));
	$of->dbh->do('ANALYZE');
	return $took;
}

sub answers {
	my ($of) = @_;
	my %at = (now => $NOW, weeks => 12);
	return {
		top => top($of, %at), applications => top($of, %at, by => 'application'), all => top($of),
		trend    => trend($of, %at),              kernels => trend($of, by => 'kernel'),
		clusters => clusters($of, limit => 1000), totals  => totals($of)
	};
}

my $lite = Tipme::Fleet::Database->open("$tmp/fleet.sqlite", write => 1);
$lite->setup;
my $want;
subtest 'the same answers as in SQLite' => sub {
	diag sprintf '%d rows a second into PostgreSQL', $COUNT / fill($db);
	diag sprintf '%d rows a second into SQLite',     $COUNT / fill($lite);
	is one($db, 'SELECT count(*) FROM lags'), $COUNT, "$COUNT lags";
	$want = answers($lite);
	is_deeply answers($db), $want, 'top, trend, clusters and totals';
	for my $question (qw(top trend)) {
		my $begin = time;
		Tipme::Fleet::Questions->can($question)->($db, now => $NOW, weeks => 12);
		diag sprintf '%s of 12 weeks: %.0f ms', $question, 1000 * (time - $begin);
	}
	my $plan = query_plan($db, 12);
	my @read = sort $plan =~ /\blags_0_(2\d{3}_\d\d)\b/g;
	is $read[0], '2026_03', 'a question about 12 weeks reads no partition that is older'
		or diag $plan;
};

sub query_plan {
	my ($of, $weeks) = @_;
	my $week = Tipme::Fleet::Database::week_of($NOW) - $weeks + 1;
	my $rows = $of->dbh->selectcol_arrayref(
		'EXPLAIN (VERBOSE) SELECT culprit, machine, count(*), sum(waited_ns) FROM lags WHERE week '
			. '>= ? AND time >= ? GROUP BY 1, 2',
		undef, $week,
		Tipme::Fleet::Database::week_time($week)
	);
	return join "\n", @$rows;
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
	ok !
		grep({ exists $_->{machine} }
		@{ Tipme::Fleet::Questions::lags($reader, $want->{clusters}[0]{signature}) }),
		'... and lags without whose they are';
	is_deeply top(Tipme::Fleet::Database->open($pg->name('the_machines')), now => $NOW,
		weeks => 12), $want->{top}, 'who is allowed sees how many machines';
};

# Half of the machines' shares on another server, by PostgreSQL's own foreign tables.
subtest 'two servers' => sub {
	my $second = Tipme::Test::Postgres->new;
	my $there  = Tipme::Fleet::Database->open($second->name, write => 1);
	my $here   = $db->dbh;
	my %alone  = map { $_ => cpu($_) } qw(top trend);
	$there->setup(shares => [ 1, 3 ], since => $NOW - $WEEKS * 7 * 86_400);
	$here->do('CREATE EXTENSION postgres_fdw');
	$here->do(
		sprintf
			q(CREATE SERVER second FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '%d', dbname 'postgres', async_capable 'true', fetch_size '10000')),
		$second->port);
	$here->do(
		q(CREATE USER MAPPING FOR CURRENT_USER SERVER second OPTIONS (user 'postgres', password_required 'false'))
	);

	for my $share (1, 3) {
		$here->begin_work;
		$here->do("ALTER TABLE lags DETACH PARTITION lags_$share");
		$here->do("ALTER TABLE lags_$share RENAME TO moved");
		$here->do(
			"CREATE FOREIGN TABLE lags_$share PARTITION OF lags FOR VALUES WITH "
				. "(MODULUS $Tipme::Fleet::Database::SHARES, REMAINDER $share) SERVER second"
		);
		$here->do("INSERT INTO lags_$share SELECT * FROM moved");
		$here->do('DROP TABLE moved CASCADE');
		$here->commit;
	}
	$here->do('ANALYZE');
	$there->dbh->do('ANALYZE');
	cmp_ok one($there, 'SELECT count(*) FROM lags_1'), '>', $COUNT / 5,
		'half of the machines are there';
	is_deeply answers($db), $want, 'the same answers';
	my $plan = query_plan($db, 12);
	like $plan, qr/Async Foreign Scan/,      'both servers work at the same time' or diag $plan;
	like $plan, qr/Relations: Aggregate on/, '... each sums up its own'           or diag $plan;
	is $db->add('lags', rows(200, machines => $MACHINES, weeks => $WEEKS)), 0,
		'what is known is known on either';
	my @new = map {
		{ %$_, episode => "new-$_->{episode}" }
	} rows(200, machines => $MACHINES, weeks => $WEEKS);
	is $db->add('lags', @new), 200, 'what is new goes where it belongs';
	is $db->add('lags', @new), 0,   '... once';
	$db->dbh->do(q(DELETE FROM lags WHERE episode LIKE 'new-%'));

	for my $question (qw(top trend)) {
		my $both = cpu($question);
		diag sprintf 'CPU of %s, us a row: one server %.3f, two %.3f, ratio %.2f', $question,
			$alone{$question} / $COUNT, $both / $COUNT,
			$alone{$question} ? $both / $alone{$question} : 0;
	}
};

# Unit: us of CPU that both servers take for one answer, as /proc has them: of five, after one that
# fills their caches.
sub cpu {
	my ($question) = @_;
	my $ask = Tipme::Fleet::Questions->can($question);
	$ask->($db);
	my $before = ticks();
	$ask->($db) for 1 .. 5;
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
	my $server = Tipme::Test::Postgres->new;
	Tipme::Fleet::Database->open($server->name, write => 1)->setup;
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
		else            { $importers += kill 'KILL', -$pid; waitpid $pid, 0 }
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
