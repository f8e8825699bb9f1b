#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The library: its table follows the folders, survives damage and age, and takes nothing from
# strangers at their word.
use strict;
use warnings;
use Test::More;
use DBI;
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Library;
use Tipme::Test::Files qw(spew);
use Tipme::Test::Episode;

my (@warnings, @said);
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $lib = tempdir(CLEANUP => 1) . '/library';
mkdir $lib, 0700 or die "$!\n";
my $table = "$lib/library.sqlite";

sub episode {
	my ($id, %o) = @_;
	my $e = Tipme::Test::Episode->new(trigger_ns => 5_000_000_000, id => $id, %o);
	$e->switch(0, 4_000_000_000, 1, 2, 'sleeping') for 1 .. 3;
	return $e->write("$lib/$id");
}

sub library {
	return Tipme::Library->open(folder => $lib, warn => sub { push @said, @_ });
}

sub ids {
	return join ' ', map { $_->{id} } library()->episodes;
}

sub pragma {
	my $dbh = DBI->connect("dbi:SQLite:dbname=$table", '', '', { RaiseError => 1 });
	return scalar $dbh->selectrow_array("PRAGMA $_[0]");
}

is(ids(), '', 'an empty library');
my ($older, $newer) = ('20261119-080000-0a0b', '20261120-150301-3f2a');
episode($newer, lost     => { kernel_bpf => { pool => 3, torn => 4 } });
episode($older, manifest => { time       => '2026-11-19T08:00:00Z' });
is(ids(), "$older $newer", 'new folders are found, newest last');
my $row = library()->episode($newer);
is($row->{ $_->[0] }, $_->[1], "$_->[0]")
	for [ records => 3 ], [ lost => 7 ], [ kernel => '6.1.0-56-amd64' ],
	[ trigger_kind => 'hotkey' ],
	[ trigger_ns => 5_000_000_000 ], [ problem => '' ], [ cpus => 2 ], [ kind => undef ];
is(pragma('application_id'), 0x5449504d, 'the file says whose it is');
is(pragma('user_version'),   4,          'and which schema it has');
is(pragma('journal_mode'),   'wal',      'readers and a writer at once');
is((stat $table)[2] & 07777, 0600,       'nobody else may read it');

# --- verdicts ---
my %verdict = (
	kind => 'cpu-contention', sentence => "xterm waited for sp\e[31min", blamed_comm => 'spin',
	blamed_pid => 901, share => 0.93, confidence => 1, interval_ns => 934_000_000
);
ok(library()->set_verdict($newer, \%verdict), 'diagnose leaves its verdict');
is_deeply(
	[ @{ library()->episode($newer) }{qw(kind blamed_pid interval_ns)} ],
	[ 'cpu-contention', 901, 934_000_000 ], '... and it stays'
);
# --- what is usual: of other episodes than the one asked about, each median as often as it has
# events ---
is_deeply([ library()->usual('key_press', 'xterm', $newer) ], [], 'nothing is usual yet');
library()->set_usual(
	$older,
	{ kind => 'key_press',    comm => 'xterm', events => 5, median_ns => 3_000_000 },
	{ kind => 'button_press', comm => 'xterm', events => 2, median_ns => 9 }
);
library()->set_usual(
	$newer,
	{ kind => 'key_press', comm => 'xterm', events => 50, median_ns => 7_000_000 }
);
is_deeply(
	[ library()->usual('key_press', 'xterm', $newer) ], [ 3_000_000, 5 ],
	'of the other episode'
);
is_deeply(
	[ library()->usual('key_press', 'xterm', undef) ], [ 7_000_000, 55 ],
	'of all, by their events'
);
is_deeply([ library()->usual('key_press', 'vi', undef) ], [], 'not of another client');
library()->set_usual($newer);
is_deeply(
	[ library()->usual('key_press', 'xterm', undef) ], [ 3_000_000, 5 ],
	'set anew, the old is gone'
);
ok(!library()->set_usual('20000101-000000-0000'), 'not for an episode that is not there');
is(library()->episode($newer)->{sentence}, 'xterm waited for spin', '... without escape sequences');
ok(
	!library()->set_verdict('20200101-000000-0000', \%verdict),
	'not for an episode that is not there'
);
spew("$lib/$newer/note.txt", "the menu \e]0;x\a hung\nagain");
is(library()->episode($newer)->{note}, "the menu  hung\nagain", 'a note that comes later is seen');
is(library()->episode($newer)->{kind}, 'cpu-contention',        '... and the verdict stays');

# --- folders that go, folders that are none ---
mkdir "$lib/$_" for '20261121-000000-00ff.tmp', 'something', '20261121-000000-00FF';
symlink $lib, "$lib/20261121-000000-00aa" or die "$!\n";
is(ids(), "$older $newer", 'half-written, foreign and linked folders are no episodes');
mkdir "$lib/20261122-101112-00ee" or die "$!\n";
my ($damaged) = grep { $_->{id} eq '20261122-101112-00ee' } library()->episodes;
like($damaged->{problem}, qr/no manifest\.json/, 'a damaged one is there, with its reason');
is($damaged->{time}, '2026-11-22T10:11:12Z', '... and its time');
rmdir "$lib/20261122-101112-00ee" or die "$!\n";
system('rm', '-rf', "$lib/$older");
is(ids(), $newer, 'a folder that is gone is dropped');
episode($older, manifest => { time => '2026-11-19T08:00:00Z' });

# --- finding one ---
my $l = library();
is($l->locate(undef),         "$lib/$newer", 'no argument: the newest');
is($l->locate('last'),        "$lib/$newer", 'last: the newest');
is($l->locate($older),        "$lib/$older", 'by id');
is($l->locate('20261119'),    "$lib/$older", 'by its beginning');
is($l->locate('/some/where'), '/some/where', 'by path');
ok(!eval { $l->locate('2026') }, 'not by half an id that two have');
like($@, qr/stands for 2 episodes/, '... said');
ok(!eval { $l->locate("\e[2Jx") }, 'not what is not there');
like($@, qr/^x: no such episode in/, '... said, without escape sequences');
is($l->id_of("$lib/$newer/../$newer"), $newer, 'a folder knows its id');
is($l->id_of('/tmp'),                  undef,  'a folder elsewhere has none');
undef $l;

# --- damage and age ---
sub damaged_by {
	my ($how, $bytes) = @_;
	@said = ();
	unlink glob "$table*";
	library()->set_verdict($newer, \%verdict);
	open my $h, '<:raw', $table or die "$!\n";
	my $good = do { local $/ = undef; <$h> };
	spew($table, $bytes->($good));
	is(ids(),        "$older $newer", "$how: made again from the folders");
	is(scalar @said, 1,               '... and said once');
	ok(-e "$table.damaged-1", '... and kept beside');
}
damaged_by('not a database', sub { return 'x' x 5000 });
damaged_by('half a table',   sub { return substr $_[0], 0, 6000 });
damaged_by(
	'a page of noise',
	sub { my $b = $_[0]; substr($b, 4096, 4096) = "\xa5" x 4096; return $b }
);
{
	@said = ();
	unlink glob "$table*";
	my $dbh = DBI->connect("dbi:SQLite:dbname=$table", '', '', { RaiseError => 1 });
	$dbh->do('CREATE TABLE bookmarks (url TEXT)');
	$dbh->disconnect;
	is(ids(),        "$older $newer", "somebody else's database: set aside");
	is(scalar @said, 1,               '... and said');
}
{
	unlink glob "$table*";
	library();
	my $dbh = DBI->connect("dbi:SQLite:dbname=$table", '', '', { RaiseError => 1 });
	$dbh->do('PRAGMA user_version = 99');
	$dbh->disconnect;
	ok(!eval { library() }, 'a newer schema is not touched');
	like(
		$@, qr/written by a newer tipme \(schema 99, this one knows \d+\): update tipme/,
		'... said'
	);
	ok(-e $table, '... and left as it is');
}

# --- a migration that dies half way leaves the old state ---
{
	unlink glob "$table*";
	no warnings 'redefine';
	my $real = \&Tipme::Library::_statements;
	local *Tipme::Library::_statements = sub { return ($real->(@_), 'CREATE TABLE') };
	ok(!eval { library() }, 'a step that fails');
	*Tipme::Library::_statements = $real;
	is(pragma('user_version'),   0,               '... leaves the version');
	is(pragma('schema_version'), 0,               '... and no table');
	is(ids(),                    "$older $newer", '... and is done the next time');
}

# --- without a folder, or one that is not ours ---
is(scalar(Tipme::Library->open(folder => "$lib/none")->episodes), 0, 'no folder: no episodes');
ok(!-e "$lib/none", '... and none is made');

# --- several at once ---
unlink glob "$table*";
my @pids = map {
	my $p = fork // die "$!\n";
	if (!$p) {
		my $ok = eval { ids() eq "$older $newer" && library()->set_verdict($newer, \%verdict) };
		require POSIX;
		POSIX::_exit($ok ? 0 : 1);
	}
	$p;
} 1 .. 4;
is_deeply([ map { waitpid $_, 0; $? } @pids ], [ 0, 0, 0, 0 ], 'four programs at once');
is(library()->episode($newer)->{blamed_comm}, 'spin', '... and all is there');

is_deeply(\@warnings, [], 'no warnings');
done_testing();
