#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What the fleet says, against sums that this test makes of the same rows by itself.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use List::Util       qw(sum0);
my ($src, $tmp);
BEGIN { $src = "$Bin/../.."; $tmp = tempdir(CLEANUP => 1) }
use lib "$src/fleet/lib", "$Bin/lib", "$src/postmortem/lib", "$src/postmortem/t/lib",
	"$src/abi/lib", "$src/abi/generated";
use Tipme::Fleet::Database;
use Tipme::Fleet::Questions qw(top trend clusters lags totals counted_top counted_trend);
use Tipme::Statistics       qw(poisson_interval);
use Tipme::Test::Fleet      qw(rows presences counts machine $NOW);
use Tipme::Test::Xml        qw(xml_problem);

my $file = "$tmp/fleet.sqlite";
my $db   = Tipme::Fleet::Database->open($file, write => 1);
is_deeply [ $db->setup ], ['tables made'], 'tables';
is_deeply [ $db->setup ], [],              '... once';
my @rows = rows(3000, machines => 50, weeks => 20);
is $db->add('lags', @rows),           3000, 'rows';
is $db->add('lags', @rows[ 0 .. 9 ]), 0,    '... each once';
$db->add('presence', presences(machines => 50, weeks => 20));

for my $by (Tipme::Fleet::Questions::dimensions()) {
	my %want;
	for (@rows) {
		my $w = $want{ $_->{$by} } //= { lags => 0, waited_ns => 0 };
		$w->{lags}++;
		$w->{waited_ns} += $_->{waited_ns};
		$w->{of}{ $_->{machine} } = 1;
	}
	my @want = map {
		{
			name     => $_, lags => $want{$_}{lags}, waited_ns => $want{$_}{waited_ns},
			machines => scalar keys %{ $want{$_}{of} }
		}
		}
		sort { $want{$b}{waited_ns} <=> $want{$a}{waited_ns} || $a cmp $b } keys %want;
	is_deeply top($db, by => $by, limit => 100), \@want, "top by $by";
}
my $first = Tipme::Fleet::Database::week_of($NOW) - 3;
my @last  = grep { $_->{week} >= $first } @rows;
is_deeply totals($db, weeks => 4, now => $NOW), {
	lags  => scalar @last, waited_ns => sum0(map { $_->{waited_ns} } @last),
	first => (sort { $a <=> $b } map { $_->{time} } @last)[0],
	last  => (sort { $b <=> $a } map { $_->{time} } @last)[0]
	},
	'the last four weeks';
is sum0(map { $_->{lags} } @{ top($db, weeks => 4, now => $NOW, limit => 100) }), scalar @last,
	'... as top has them';

my $trend = trend($db, by => 'kernel');
is sum0(map { $_->{lags} } @{ $trend->{weeks} }),       3000,         'trend has each lag';
is sum0(map { $_->{hours} // 0 } @{ $trend->{weeks} }), 50 * 20 * 20, '... and each hour';
my ($v) = grep { $_->{name} eq '6.12.6-amd64' } @{ $trend->{values} };
my @of = grep { $_->{kernel} eq $v->{name} } @rows;
is $v->{lags}, scalar @of, 'a kernel with all its lags';
my ($low, $high) = poisson_interval(scalar @of);
is sprintf('%.9f %.9f %.9f', @$v{qw(rate low high)}),
	sprintf('%.9f %.9f %.9f', map { $_ * 100 / $v->{hours} } scalar @of, $low, $high),
	'... as a rate in 100 hours, with its interval';
is eval { trend($db, by => 'culprit'); 1 }, undef, 'nobody is present by culprit';
like $@, qr/no rate by it: ask by kernel or version/, '... which is said';

my %same;
push @{ $same{ $_->{signature} } }, $_ for @rows;
my $clusters = clusters($db, limit => 10_000);
is scalar @$clusters, scalar keys %same, 'clusters';
my @bad = grep {
	my $c = $_;
	my @r = @{ $same{ $c->{signature} } };
	my %m = map { $_->{machine} => 1 } @r;
		   $c->{lags} != @r
		|| $c->{waited_ns} != sum0(map { $_->{waited_ns} } @r)
		|| $c->{machines} != keys %m
		|| grep { $c->{$_} ne $r[0]{$_} }
		qw(kind culprit function stage)
} @$clusters;
is_deeply \@bad, [], '... each with its lags, its machines and what they have in common';
my $one = lags($db, $clusters->[0]{signature}, limit => 5);
is_deeply [ map { $_->{waited_ns} } @$one ],
	[ (sort { $b <=> $a } map { $_->{waited_ns} } @{ $same{ $clusters->[0]{signature} } })
	[ 0 .. $#$one ] ], 'the longest of one';

# Counts of profiles join in.
is_deeply counted_top($db, limit => 100, by => 'application'),
	[
	map {
		{ %$_, counted => undef }
	} @{ top($db, limit => 100, by => 'application') }
	],
	'no counts yet';
is_deeply counted_trend($db, by => 'kernel'), { weeks => [], values => [] }, '... by weeks neither';
my @counts = counts(machines => 30, weeks => 5);
push @counts,
	{ %{ $counts[0] }, application => 'quick', profile => 'f' x 16, late => 0, answers => 7 };
is $db->add('counts', @counts), scalar @counts, 'counts';
is $db->add('counts', @counts), 0,              '... each once';
my %by_app;
for my $c (@counts) { $by_app{ $c->{application} }{$_} += $c->{$_} for qw(answers late waited_ns) }
my %top = map { $_->{name} => $_ } @{ counted_top($db, limit => 100, by => 'application') };
is_deeply {
	map {
		my $c = $top{$_}{counted};
		$c ? ($_ => { map { $_ => $c->{$_} } qw(answers late waited_ns) }) : ()
	} keys %top
}, \%by_app, 'top by application has them';
is $top{quick}{lags}, 0, '... of an application without a lag, too';
my $counted = counted_trend($db, by => 'kernel');
is sum0(map { $_->{answers} } @{ $counted->{weeks} }), sum0(map { $_->{answers} } @counts),
	'trend has each answer';
my ($k) = grep { $_->{name} eq '6.12.6-amd64' } @{ $counted->{values} };
my @late = map {
	sum0(map { $_->{late} } @$_)
} [ grep { $_->{kernel} eq $k->{name} } @counts ];
is $k->{late},                   $late[0], 'a kernel with all its late ones';
is sprintf('%.9f', $k->{share}), sprintf('%.9f', 1000 * $k->{late} / $k->{answers}), '... of 1,000';
ok $k->{low} < $k->{share} && $k->{share} < $k->{high}, '... with its interval';
is_deeply counted_trend($db, weeks => 2, now => $NOW)->{weeks},
	[ @{ counted_trend($db)->{weeks} }[ -2, -1 ] ], 'the last two weeks';

# An update that helped: half as many lags in as many hours.
my $before = Tipme::Fleet::Database->open("$tmp/update.sqlite", write => 1);
$before->setup;
my $week = Tipme::Fleet::Database::week_of($NOW);
my @all  = rows(600, machines => 20, weeks => 1, seed => 5);
$before->add(
	'lags',
	(
		map {
			{
				%{ $all[$_] }, version => 'gedit 44', week => $week - 1,
					time => $NOW - 7 * 86_400 - $_
			}
		} 0 .. 399
	),
	map {
		{ %{ $all[$_] }, version => 'gedit 45', week => $week, time => $NOW - $_ }
	} 400 .. 599
);
$before->add(
	'presence',
	map {
		my $m = machine($_);
		map {
			{
				machine => $m, week => $week - $_, kernel => '',
				version => $_ ? 'gedit 44' : 'gedit 45', hours => 40
			}
		} 0, 1
	} 0 .. 19
);
my $update = trend($before, by => 'version')->{values};
is_deeply [ map { $_->{name} } @$update ], [ 'gedit 44', 'gedit 45' ], 'versions in order of time';
is $update->[1]{ratio}, 0.5, '... the second has half as many';
cmp_ok $update->[1]{ratio_high}, '<', 0.6, '... with an interval';

# As a person asks.
my $verb = "$^X $src/postmortem/bin/tipme-postmortem fleet";

sub run {
	my ($command, $name) = @_;
	my $said = qx{$verb $command --db $name 2>&1};
	return ($said, $? >> 8);
}
my ($said, $rc) = run('top --all --limit 3', $file);
is $rc, 0, 'tipme fleet top' or diag $said;
like $said, qr/\Aculprit +lags +machines +waited\n(?:\S+ +[\d,]+ +50 +[\d.]+ (?:min|h)\n){3}\z/,
	'... a table';
is_deeply [ map { $_->{name} }
		@{ Cpanel::JSON::XS->new->decode((run('top --all --json', $file))[0])->{rows} } ],
	[ map { $_->{name} } @{ top($db) } ], '... or JSON';
($said) = run('top --all --by application', $file);
like $said, qr/\Aapplication +lags +machines +waited +answers +late of 1,000\n/, '... with counts';
like $said, qr/^quick +0 +- +0\S* +\S+ +7 +0$/m,                                 '... as told';
($said) = run('trend --all --by kernel', $file);
like $said, qr/^week of +kernel +answers +late of 1,000 +95 %\n\S+ +6\.1\.0-26-amd64 +60,000 /m,
	'tipme fleet trend: late answers, week by week'
	or diag $said;
like $said, qr/^kernel 6\.1\.0-28-amd64: [\d.]+ late of 1,000 answers; worse than before: /m,
	'... and what the update did to them'
	or diag $said;
unlike + (run("trend --all --signature $clusters->[0]{signature}", $file))[0], qr/answers/,
	'... of one cluster there are none';
($said) = run('trend --all --by version', "$tmp/update.sqlite");
like $said,
	qr/^version gedit 45: 25 lags in 100 h; better than before: 0\.5 times \(0\.4\d+ to 0\.5\d+\)$/m,
	'tipme fleet trend: did the update help?'
	or diag $said;
($said) = run("show $clusters->[0]{signature} --limit 2", $file);
like $said,
	qr/\A\S+ by \S+.*\n\n\d{4}-\d\d-\d\d \d\d:\d\d .* made a program wait\.\n    .*machine [0-9a-f]{32}, episode /,
	'tipme fleet show'
	or diag $said;
like + (run('show 0', $file))[0],
	qr/^tipme: fleet: 0: no lag has this signature: `tipme fleet cluster` lists them$/,
	'... of nothing';
like + (run('top', "$tmp/none.sqlite"))[0],
	qr/^tipme: fleet: .*none\.sqlite: is not there: run `tipme fleet setup` first$/, 'no database';
like + (run('top', "$src/README.md"))[0],
	qr/^tipme: fleet: .*README\.md: .*is it a database of tipme fleet\?|^tipme: fleet: .*not a database/,
	'a file that is none';
like + (run('top --by colour', $file))[0],
	qr/^tipme: fleet: colour: nothing that can be asked by: application, culprit,/,
	'no such question';
like + (run('top --weeks -1', $file))[0],
	qr/^tipme: fleet top: --weeks -1: a whole number above 0 is meant$/, 'no such number';
like + (run('roles', $file))[0],
	qr/^tipme: fleet: SQLite has no roles: file permissions say who may read$/, 'no roles here';
($said, $rc) = run("report -o $tmp/page.html --all", $file);
is $rc, 0, 'tipme fleet report' or diag $said;
open my $in, '<:raw', "$tmp/page.html" or die "$!\n";
my $html = do { local $/; <$in> };
like $html, qr/3,000 lags in all weeks/, '... says how many';
unlike $html, qr/<script|\bsrc=|href="http|url\(http|\@import/,
	'... runs nothing and loads nothing';
my ($svg) = $html =~ m{(<svg.*?</svg>)}s;
is xml_problem($svg), undef, '... with a picture';
like $html, qr/Answers that profiles counted.*<svg.*Late answers by kernel/s,
	'... what was counted';
unlike $html, qr/\b[0-9a-f]{32}\b/, '... and no machine';

# A database of a version that knew no counts.
$before->dbh->do('DROP TABLE counts');
like + (run('top', "$tmp/update.sqlite"))[0],
	qr/update\.sqlite: was made by an earlier version: run `tipme fleet setup` once more$/,
	'a database of an earlier version';
is + (run('setup', "$tmp/update.sqlite"))[0], "made: counts\n", '... gets what is new';
like + (run('top --all', "$tmp/update.sqlite"))[0], qr/^culprit +lags/, '... and keeps what it has';

# Retention: whole months.
$db->maintain(keep_months => 1);
my $left = totals($db)->{first};
ok !defined $left || $left >= time - 62 * 86_400, 'what is old is gone';
done_testing;
