# SPDX-License-Identifier: GPL-2.0-only
# tipme list: the episodes of the library, with what was slow in each.
package Tipme::Command::List;

use strict;
use warnings;
use Tipme::CommandLine qw(options complain print_json ms local_time table);
use Cpanel::JSON::XS   ();
use POSIX              qw(strftime);
use Tipme::History;
use Tipme::Kinds;
use Tipme::Library;
use Tipme::Printable qw(put one_line shorten);
use Tipme::Report::JSON;
use Tipme::Words qw(N__ fill);

my $NEWEST = 20;             # episodes: what a terminal shows
my $WEEK_S = 7 * 86_400;     # s
my $HELP   = N__(<<'END');
usage: tipme list [-n COUNT | --all | --week] [--json]

The newest 20 episodes of your library, the newest first: how long the answer took, and through
what. -n prints so many of them, --all every one. --json has all, the newest last, unless -n says
otherwise.

--week tells your last seven days: how often it was slow, for how long, through whom, and what
became of it: reported, or checked after a cure.

  tipme list
  tipme list --week
  tipme list -n 3
  tipme list --json | jq -r '.episodes[-1].id'
  TIPME_LIBRARY=/media/stick/episodes tipme list
END

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, 0, 'json', 'all', 'week', 'n=i');
	return $exit if !$o;
	if (defined $o->{n} && ($o->{n} < 1 || $o->{all})) {
		my $why =
			$o->{all}
			? N__('-n and --all: say one of them')
			: N__('-n {n}: not a count: say 1 or more');
		return complain(
			'list',
			fill(
				N__('{why}: see tipme {verb} --help'), why => fill($why, n => $o->{n}),
				verb => 'list'
			)
		);
	}
	my $library = Tipme::Library->open;
	return _week($library, $o->{json}) if $o->{week};
	my $most     = $o->{n} // ($o->{all} || $o->{json} ? undef : $NEWEST);
	my @episodes = defined $most ? $library->newest($most)     : $library->episodes;
	my $older    = defined $most ? $library->count - @episodes : 0;
	if ($o->{json}) {
		my $unread = $library->unread;
		print_json(
			{
				folder   => $library->{folder}, (defined $unread ? (unread => $unread) : ()),
				episodes => [ map { as_data($library, $_) } @episodes ]
			}
		);
		return 0;
	}
	put(
		@episodes
		? _text(scalar $library->unread, $older, reverse @episodes)
		: fill(
			N__(
					  'No episodes in {folder} yet: press the hot-key, or type `tipme snap`, '
					. 'when something was slow.'
			),
			folder => one_line($library->{folder})
			)
			. "\n"
	);
	put(_unread($library)) if grep { !defined $_->{kind} && !length $_->{problem} } @episodes;
	put(
		map {
			fill(
				N__('{n} more in {folder}: TIPME_LIBRARY={folder} tipme list'),
				n      => scalar @{ $_->{ids} },
				folder => one_line($_->{folder})
				)
				. "\n"
		} $library->elsewhere
	);
	return 0;
}

# The last seven days: through whom it was slow, how often, for how long; what was
# reported and checked.
sub _week {
	my ($library, $as_json) = @_;
	my $since   = strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time - $WEEK_S));
	my @all     = grep { $_->{time} ge $since } $library->episodes;
	my @slow    = grep { defined $_->{kind} && $_->{kind} ne 'none' && $_->{interval_ns} } @all;
	my $history = Tipme::History->open($library->{folder});
	my (%by, %became);
	$became{ $_->{episode} // '' }{reported} = 1            for $history->all('report');
	$became{ $_->{episode} // '' }{checked}  = $_->{result} for $history->all('check');

	for my $e (@slow) {
		my $of = $by{ join "\0", $e->{client_comm}, $e->{kind}, $e->{blamed_comm} // '' } //= {
			program    => $e->{client_comm}, cause => _what($e), times => 0, sum_ns => 0,
			longest_ns => 0
		};
		$of->{times}++;
		$of->{sum_ns} += $e->{interval_ns};
		$of->{longest_ns} = $e->{interval_ns} if $e->{interval_ns} > $of->{longest_ns};
		my $became = $became{ $e->{id} } // {};
		$of->{reported} = 1                  if $became->{reported};
		$of->{checked}  = $became->{checked} if defined $became->{checked};
	}
	my @rows = sort { $b->{sum_ns} <=> $a->{sum_ns} || $a->{program} cmp $b->{program} } values %by;
	my $asked = grep { !defined $_->{kind} && !length $_->{problem} } @all;
	my $sum   = 0;
	$sum += $_->{sum_ns} for @rows;
	my $sentence = fill(
		N__('Your last seven days: {n} slow answers in {episodes} episodes, {sum} in all.'),
		n => scalar @slow, episodes => scalar @all, sum => ms($sum)
	);
	$_->{checked_words} = result_words($_->{checked}) for grep { defined $_->{checked} } @rows;
	if ($as_json) {
		print_json(
			Tipme::Report::JSON::clean(
				{
					since  => $since, episodes => scalar @all, not_diagnosed => $asked,
					causes => \@rows, sentence => $sentence
				}
			)
		);
		return 0;
	}
	put("$sentence\n");
	put(
		table(
			[
				[
					map { fill($_) } N__('PROGRAM'), N__('TIMES'), N__('IN ALL'), N__('LONGEST'),
					N__('CAUSE')
				],
				map { _week_rows($_) } @rows
			],
			'lrrrl'
		)
	) if @rows;
	put(       _unread($library)
			|| fill(N__('{n} more were not diagnosed yet: tipme diagnose ID'), n => $asked) . "\n")
		if $asked;
	return 0;
}

sub _week_rows {
	my ($of) = @_;
	my @row = (one_line($of->{program}), $of->{times}, ms($of->{sum_ns}), ms($of->{longest_ns}));
	return ([ @row, shorten($of->{cause}, 40) ], _became($of));
}

sub _became {
	my ($of) = @_;
	my @words = (
		$of->{reported} ? fill(N__('reported')) : (),
		defined $of->{checked}
		? fill(N__('checked: {result}'), result => result_words($of->{checked}))
		: ()
	);
	return @words ? [ ('') x 4, join '; ', @words ] : ();
}

# result_words(RESULT): what a check of a cure came to
sub result_words {
	my ($result) = @_;
	my %words = (
		better => N__('better'), worse => N__('worse'), same => N__('the same'),
		unsure => N__('not sure yet')
	);
	return fill($words{$result} // $result);
}

# as_data(LIBRARY, ROW): an episode of the library, as list --json and show --json print it.
sub as_data {
	my ($library, $row) = @_;
	my %e = map { $_ => $row->{$_} } qw(id time note kernel cpus records lost bytes);
	$e{tags}   = [ split / /, $row->{tags} ];
	$e{path}   = "$library->{folder}/$row->{id}";
	$e{pinned} = -e "$e{path}/pinned" ? Cpanel::JSON::XS::true() : Cpanel::JSON::XS::false();
	$e{trigger} =
		{ kind => $row->{trigger_kind}, ns => $row->{trigger_ns}, text => $row->{trigger_text} };
	$e{problem} = length $row->{problem} ? $row->{problem} : undef;
	$e{verdict} = verdict_data($row);
	return \%e;
}

sub verdict_data {
	my ($row) = @_;
	return undef if !defined $row->{kind};    # stands in a list: must be one value
	return {
		(map { $_ => $row->{$_} } qw(kind sentence share confidence interval_ns)),
		client => $row->{client_comm},
		blamed => { comm => $row->{blamed_comm}, pid => $row->{blamed_pid} }
	};
}

sub _text {
	my ($unread, $older, @episodes) = @_;
	my @rows = ([ map { fill($_) } N__('EPISODE'), N__('WHEN'), N__('DELAY'), N__('CAUSE') ]);
	for my $e (@episodes) {
		push @rows,
			[
			$e->{id}, substr(local_time($e->{time}), 5), ms($e->{interval_ns}),
			shorten(_what($e, $unread), 34)
			];
		push @rows, [ '', '', '', shorten('"' . one_line($e->{note}) . '"', 34) ]
			if length $e->{note};
		push @rows, [ '', '', '', shorten("[$e->{tags}]", 34) ] if length $e->{tags};
	}
	return table(\@rows, 'llrl')
		. ($older ? fill(N__('{n} older ones: tipme list --all'), n => $older) . "\n" : '');
}

sub _unread {
	my ($library) = @_;
	my $why = $library->unread;
	return defined $why ? "$why\n" : '';
}

sub _what {
	my ($e, $unread) = @_;
	return fill(N__('damaged: see `tipme show`')) if length $e->{problem};
	return fill(N__('not known here'))            if !defined $e->{kind} && defined $unread;
	return fill(N__('not diagnosed yet'))         if !defined $e->{kind};
	return Tipme::Kinds::short(@$e{qw(kind blamed_comm blamed_pid)});
}

1;
