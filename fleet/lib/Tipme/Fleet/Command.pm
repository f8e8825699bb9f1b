# SPDX-License-Identifier: GPL-2.0-only
# tipme fleet setup|ingest|top|trend|cluster|show|report|maintain|roles: for whoever looks after
# many machines. It alone talks to a database; recorder and command line have no network code.
package Tipme::Fleet::Command;

use strict;
use warnings;
use Time::Local        qw(timegm_modern);
use Tipme::CommandLine qw(options print_json replaceable table with_commas);
use Tipme::Fleet::Database;
use Tipme::Fleet::Questions qw(counted_top counted_trend trend clusters lags dimensions);
use Tipme::Fleet::Report;
use Tipme::Fleet::Spool;
use Tipme::Printable qw(put one_line);

my $USAGE_ERROR = 64;
my $DB = "  --db NAME   a file of SQLite, or 'pg:dbname=fleet;host=...' as libpq has it; else\n"
	. "              \$TIPME_FLEET_DB, `db = NAME` in /etc/tipme/fleet.conf, or a file of yours\n";
# Unit: weeks. So many are asked for where nobody says how many; a quarter of a year.
my $WEEKS = 12;
my $SPAN  = "  --weeks N   the last N weeks ($WEEKS); --all: since the beginning\n";
my %HELP  = (
		  setup => "usage: tipme fleet setup [--from YYYY-MM] [--shares N,N...] [--db NAME]\n\n"
		. "Makes the tables, and in PostgreSQL the partitions from that month on "
		. "(usually this one).\n"
		. "Run again, it makes what is missing. --shares: on a second server, only these shares of "
		. "the\n"
		. "machines (0 to 3), which the first asks as foreign tables.\n$DB\n  tipme fleet setup\n"
		. "  tipme fleet setup --db 'pg:dbname=fleet' --from 2026-01\n",
	ingest => "usage: tipme fleet ingest FOLDER [--jobs N] [--keep] [--fleet NAME] [--db NAME]\n\n"
		. "Takes bundles (*.tipme), presences (*.tipme-presence) and counts of profiles "
		. "(*.tipme-counts)\n"
		. "that a transport has put into FOLDER. What was taken is removed, or kept in\n"
		. "FOLDER/taken (--keep). What is no such file goes to FOLDER/refused, with the reason.\n"
		. "A file that is taken twice counts once. Ends with 2 if anything was refused "
		. "or stays.\n"
		. "  --jobs N      so many processes (1)\n  --fleet NAME  refuse what is for another "
		. "fleet\n$DB\n"
		. "  tipme fleet ingest /var/spool/tipme\n  tipme fleet ingest /var/spool/tipme --jobs 4 "
		. "--keep\n",
	top => 'usage: tipme fleet top [--by '
		. join('|', dimensions()) . "]\n"
		. "                       [--weeks N | --all] [--limit N] [--json] [--db NAME]\n\n"
		. "Who costs people most waiting: by culprit, if nothing else is named. By application,\n"
		. "kernel or version also what profiles counted: answers, and how many of 1,000 were late.\n"
		. "$SPAN$DB\n"
		. "  tipme fleet top\n  tipme fleet top --by application --weeks 4\n",
	trend =>
		"usage: tipme fleet trend [--by kernel|version] [--signature ID] [--weeks N | --all]\n"
		. "                         [--json] [--db NAME]\n\n"
		. "Lags in 100 hours of recording, week by week, with 95 % intervals. --by also compares "
		. "each\n"
		. "kernel or version to the one before it: did the update help? --signature: only lags of "
		. "one\n"
		. "cluster. Below it: how many of 1,000 answers were late, where profiles were sent.\n"
		. "$SPAN$DB\n  tipme fleet trend\n  tipme fleet trend --by kernel --weeks 12\n",
	cluster => "usage: tipme fleet cluster [--weeks N | --all] [--limit N] [--json] [--db NAME]\n\n"
		. "Lags that look alike: by kind, culprit, function and stage.\n$SPAN$DB\n"
		. "  tipme fleet cluster\n  tipme fleet cluster --weeks 4 --limit 5\n",
	show => "usage: tipme fleet show SIGNATURE [--limit N] [--json] [--db NAME]\n\n"
		. "The longest lags of one cluster; `tipme fleet cluster` names them.\n$DB\n"
		. "  tipme fleet show 3f2a9c0d11e2b4a7\n",
	report => "usage: tipme fleet report -o FILE [--weeks N | --all] [--db NAME]\n\n"
		. "One page of HTML that needs nothing but itself.\n$SPAN$DB\n"
		. "  tipme fleet report -o fleet.html --weeks 12\n",
	maintain => "usage: tipme fleet maintain [--keep-months N] [--db NAME]\n\n"
		. "Partitions for the months to come; what is older than N whole months is removed. Once a "
		. "month.\n$DB\n"
		. "  tipme fleet maintain --keep-months 24\n",
	roles => "usage: tipme fleet roles [--db NAME]\n\n"
		. "Makes three roles of PostgreSQL: tipme_fleet_writer adds rows and reads nothing,\n"
		. "tipme_fleet_reader reads all but which machine, tipme_fleet_machines reads that, too.\n"
		. "$DB\n"
		. "  tipme fleet roles --db 'pg:dbname=fleet'\n",
);

my $NOTHING = 'nothing there for these weeks: try --all, or see tipme fleet ingest';

# verbs(): those that this package has
sub verbs { return sort keys %HELP }

# run(VERB, ARGUMENTS): the exit status
sub run {
	my ($class, $verb, @args) = @_;
	return $class->can("_$verb")->(@args);
}

# Options of every verb, and its own; the database is opened, too.
sub _begin {
	my ($verb, $args, $words, @spec) = @_;
	my ($o, $exit) = options($args, $HELP{$verb}, $words, 'db=s', @spec);
	return (undef, undef, $exit) if !$o;
	for (qw(weeks jobs limit keep-months)) {
		next if !defined $o->{$_} || $o->{$_} =~ /\A[1-9][0-9]{0,4}\z/;
		print STDERR "tipme: fleet $verb: --$_ $o->{$_}: a whole number above 0 is meant\n";
		return (undef, undef, $USAGE_ERROR);
	}
	$o->{weeks} = $o->{all} ? undef : $o->{weeks} // $WEEKS;
	my $db = Tipme::Fleet::Database->open($o->{db}, write => $verb eq 'setup');
	return ($o, $verb eq 'setup' ? $db : $db->ready);
}

sub _say {
	put(map { one_line($_) . "\n" } @_);
	return 0;
}

sub _setup {
	my (@args) = @_;
	my ($o, $db, $exit) = _begin('setup', \@args, 0, 'from=s', 'shares=s');
	return $exit if !$o;
	my $since;
	if (defined $o->{from}) {
		my ($y, $m) = $o->{from} =~ /\A(20[0-9]{2})-(0[1-9]|1[0-2])\z/
			or do {
			print STDERR "tipme: fleet setup: --from $o->{from}: a month is meant, as 2026-01\n";
			return $USAGE_ERROR;
			};
		$since = timegm_modern(0, 0, 0, 1, $m - 1, $y);
	}
	if (defined $o->{shares} && $o->{shares} !~ /\A[0-3](?:,[0-3])*\z/) {
		print STDERR
			"tipme: fleet setup: --shares $o->{shares}: numbers from 0 to 3 are meant, as 1,3\n";
		return $USAGE_ERROR;
	}
	my @done = $db->setup(
		since => $since,
		defined $o->{shares} ? (shares => [ split /,/, $o->{shares} ]) : ()
	);
	return _say(@done ? @done : 'all there');
}

sub _ingest {
	my (@args) = @_;
	my ($o, $db, $exit) = _begin('ingest', \@args, 1, 'jobs=i', 'keep', 'fleet=s');
	return $exit if !$o;
	if (!@args) {
		print STDERR "tipme: fleet ingest: name the folder that your transport fills\n";
		return $USAGE_ERROR;
	}
	my $spool = Tipme::Fleet::Spool->new(
		$args[0], database => $db->name, jobs => $o->{jobs} // 1,
		keep => $o->{keep}, fleet => $o->{fleet}
	);
	# Workers have connections of their own.
	$db->dbh->disconnect;
	my $did = $spool->take;
	put(
		with_commas($did->{new}),     ' new, ', with_commas($did->{known}), ' known before, ',
		with_commas($did->{refused}), " refused\n"
	);
	put("$did->{refused} in ", one_line("$args[0]/refused"), ", each with the reason beside it\n")
		if $did->{refused};
	put("$did->{young} may still be on the way: they are taken next time\n") if $did->{young};
	put(
		"$did->{stuck} stay in ", one_line($args[0]),
		": this user cannot read them, or cannot put them where they belong\n"
	) if $did->{stuck};
	return $did->{refused} || $did->{stuck} ? 2 : 0;
}

sub _name { my ($n) = @_; return length $n ? $n : '(not known)' }

sub _top {
	my (@args) = @_;
	my ($o, $db, $exit) = _begin('top', \@args, 0, 'by=s', 'weeks=i', 'all', 'limit=i', 'json');
	return $exit if !$o;
	my $by   = $o->{by} // 'culprit';
	my $rows = counted_top($db, by => $by, weeks => $o->{weeks}, limit => $o->{limit});
	if ($o->{json}) { print_json({ by => $by, rows => $rows }); return 0 }
	return _say($NOTHING) if !@$rows;
	my $counted = grep { $_->{counted} } @$rows;
	put(
		table(
			[
				[ $by, 'lags', 'machines', 'waited', $counted ? ('answers', 'late of 1,000') : () ],
				map {
					[
						_name($_->{name}), with_commas($_->{lags}),
						defined $_->{machines} ? with_commas($_->{machines}) : '-',
						Tipme::Fleet::Report::waited($_->{waited_ns}),
						$counted ? Tipme::Fleet::Report::counted($_->{counted}) : ()
					]
				} @$rows
			],
			'lrrrrr'
		)
	);
	return 0;
}

sub _trend {
	my (@args) = @_;
	my ($o, $db, $exit) =
		_begin('trend', \@args, 0, 'by=s', 'signature=s', 'weeks=i', 'all', 'json');
	return $exit if !$o;
	my $t = trend($db, by => $o->{by}, weeks => $o->{weeks}, signature => $o->{signature});
	# Counts are of all answers: they say nothing about one cluster.
	my $c =
		defined $o->{signature}
		? { weeks => [], values => [] }
		: counted_trend($db, by => $o->{by}, weeks => $o->{weeks});
	if ($o->{json}) { print_json({ %$t, counted => $c }); return 0 }
	return _say($NOTHING)     if !@{ $t->{weeks} } && !@{ $c->{weeks} };
	_put_rates($o->{by}, $t)  if @{ $t->{weeks} };
	put("\n")                 if @{ $t->{weeks} } && @{ $c->{weeks} };
	_put_counts($o->{by}, $c) if @{ $c->{weeks} };
	return 0;
}

sub _put_rates {
	my ($by, $t) = @_;
	my $per = "in $Tipme::Fleet::Questions::PER_HOURS h";
	put(
		table(
			[
				[ 'week of', defined $by ? $by : (), 'lags', 'hours', $per, '95 %' ],
				map {
					[
						Tipme::Fleet::Database::week_text($_->{week}),
						defined $by ? _name($_->{name}) : (), with_commas($_->{lags}),
						defined $_->{hours} ? with_commas(int $_->{hours}) : '-',
						Tipme::Fleet::Report::number($_->{rate}),
						Tipme::Fleet::Report::between(@$_{qw(low high)})
					]
				} @{ $t->{weeks} }
			],
			defined $by ? 'llrrrl' : 'lrrrl'
		)
	);
	put("No machine told for how many hours it recorded (`tipme fleet present`): these are no "
			. "rates.\n")
		if !grep { defined $_->{hours} } @{ $t->{weeks} };
	put("\n", map { one_line(_change($by, $_)) . "\n" } @{ $t->{values} })
		if @{ $t->{values} };
	return;
}

# Answers that profiles have counted, and how many of them were late.
sub _put_counts {
	my ($by, $c) = @_;
	put(
		table(
			[
				[ 'week of', defined $by ? $by : (), 'answers', 'late of 1,000', '95 %' ],
				map {
					[
						Tipme::Fleet::Database::week_text($_->{week}),
						defined $by ? _name($_->{name}) : (),
						Tipme::Fleet::Report::counted($_),
						Tipme::Fleet::Report::between(@$_{qw(low high)})
					]
				} @{ $c->{weeks} }
			],
			defined $by ? 'llrrl' : 'lrrl'
		)
	);
	put(
		"\n",
		map {
			one_line( "$by "
					. _name($_->{name}) . ': '
					. Tipme::Fleet::Report::number($_->{share})
					. ' late of 1,000 answers'
					. _compared($_))
				. "\n"
		} @{ $c->{values} }
	) if @{ $c->{values} };
	return;
}

# One sentence: what the update did.
sub _change {
	my ($by, $v) = @_;
	my $said = "$by " . _name($v->{name}) . ': ';
	return $said . with_commas($v->{lags}) . ' lags, hours not known' if !defined $v->{rate};
	$said .=
		Tipme::Fleet::Report::number($v->{rate}) . " lags in $Tipme::Fleet::Questions::PER_HOURS h";
	return $said . _compared($v);
}

# Beside the one before; nothing where there is none.
sub _compared {
	my ($v) = @_;
	return '' if !defined $v->{ratio_low};
	my ($low, $high) = @$v{qw(ratio_low ratio_high)};
	my $word =
		  defined $high && $high < 1 ? 'better than before'
		: $low > 1                   ? 'worse than before'
		:                              'no difference shown';
	return
		  "; $word: "
		. Tipme::Fleet::Report::number($v->{ratio})
		. ' times ('
		. Tipme::Fleet::Report::between($low, $high) . ')';
}

sub _cluster {
	my (@args) = @_;
	my ($o, $db, $exit) = _begin('cluster', \@args, 0, 'weeks=i', 'all', 'limit=i', 'json');
	return $exit if !$o;
	my $rows = clusters($db, weeks => $o->{weeks}, limit => $o->{limit});
	if ($o->{json}) { print_json({ rows => $rows }); return 0 }
	return _say($NOTHING) if !@$rows;
	put(
		table(
			[
				[
					'signature', 'kind', 'culprit', 'function', 'stage', 'lags', 'machines',
					'waited'
				],
				map {
					[
						@$_{qw(signature kind)}, _name($_->{culprit}), $_->{function}, $_->{stage},
						with_commas($_->{lags}),
						defined $_->{machines} ? with_commas($_->{machines}) : '-',
						Tipme::Fleet::Report::waited($_->{waited_ns})
					]
				} @$rows
			],
			'lllllrrr'
		)
	);
	return 0;
}

sub _show {
	my (@args) = @_;
	my ($o, $db, $exit) = _begin('show', \@args, 1, 'limit=i', 'json');
	return $exit if !$o;
	if (!@args) {
		print STDERR "tipme: fleet show: name a signature: `tipme fleet cluster` lists them\n";
		return $USAGE_ERROR;
	}
	my $rows = lags($db, $args[0], limit => $o->{limit});
	die "$args[0]: no lag has this signature: `tipme fleet cluster` lists them\n" if !@$rows;
	if ($o->{json}) { print_json({ signature => $args[0], rows => $rows }); return 0 }
	my $r = $rows->[0];
	put(
		one_line(
				  "$r->{kind} by "
				. _name($r->{culprit})
				. (length $r->{function} ? ", in $r->{function}" : '')
			)
			. "\n\n"
	);
	for (@$rows) {
		my @t = gmtime $_->{time};
		put(
			one_line(
				sprintf '%04d-%02d-%02d %02d:%02d  %s  %s', $t[5] + 1900, $t[4] + 1, @t[ 3, 2, 1 ],
				Tipme::Fleet::Report::waited($_->{waited_ns}), $_->{sentence}
				)
				. "\n"
		);
		put(
			'    ',
			one_line(
				join '; ', grep {length} $_->{kernel}, $_->{hardware}, $_->{version},
				defined $_->{machine} ? "machine $_->{machine}, episode $_->{episode}" : ''
			),
			"\n"
		);
	}
	return 0;
}

sub _report {
	my (@args) = @_;
	my ($o, $db, $exit) = _begin('report', \@args, 0, 'output|o=s', 'weeks=i', 'all');
	return $exit if !$o;
	if (!defined $o->{output}) {
		print STDERR "tipme: fleet report: name the page: -o FILE\n";
		return $USAGE_ERROR;
	}
	replaceable($o->{output});
	my $page = Tipme::Fleet::Report::page($db, weeks => $o->{weeks});
	my $new  = "$o->{output}.$$";
	open my $out, '>:raw', $new or die "$new: $!: choose another place with -o\n";
	print {$out} $page and close $out and rename $new, $o->{output}
		or do { my $why = $!; unlink $new; die "$o->{output}: $why: is the disk full?\n" };
	put(one_line($o->{output}), " written\n");
	return 0;
}

sub _maintain {
	my (@args) = @_;
	my ($o, $db, $exit) = _begin('maintain', \@args, 0, 'keep-months=i');
	return $exit if !$o;
	my @done = $db->maintain(keep_months => $o->{'keep-months'});
	return _say(@done ? @done : 'nothing was to be done');
}

sub _roles {
	my (@args) = @_;
	my ($o, $db, $exit) = _begin('roles', \@args, 0);
	return $exit if !$o;
	return _say($db->roles);
}

1;
