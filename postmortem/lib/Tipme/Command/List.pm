# SPDX-License-Identifier: GPL-2.0-only
# tipme list: the episodes of the library, with what was slow in each.
package Tipme::Command::List;

use strict;
use warnings;
use Tipme::CommandLine qw(options print_json ms local_time table);
use Tipme::Kinds;
use Tipme::Library;
use Tipme::Printable qw(put one_line shorten);
use Tipme::Words     qw(N__ fill);

my $NEWEST = 20;
my $HELP   = <<'END';
usage: tipme list [-n COUNT | --all] [--json]

The newest 20 episodes of your library, the newest first: how long the answer took, and through
what. -n prints so many of them, --all every one. --json has all, the newest last, unless -n says
otherwise.

  tipme list
  tipme list -n 3
  tipme list --json | jq -r '.episodes[-1].id'
  TIPME_LIBRARY=/media/stick/episodes tipme list
END

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, 0, 'json', 'all', 'n=i');
	return $exit if !$o;
	if (defined $o->{n} && ($o->{n} < 1 || $o->{all})) {
		print STDERR 'tipme: list: ',
			$o->{all} ? '-n and --all: say one of them' : "-n $o->{n}: not a count: say 1 or more",
			": see tipme list --help\n";
		return 64;
	}
	my $library  = Tipme::Library->open;
	my @episodes = $library->episodes;
	my $most     = $o->{n} // ($o->{all} || $o->{json} ? scalar @episodes : $NEWEST);
	my $older    = @episodes > $most ? @episodes - $most : 0;
	splice @episodes, 0, $older;
	if ($o->{json}) {
		print_json({ episodes => [ map { as_data($library, $_) } @episodes ] });
		return 0;
	}
	put(
		@episodes
		? _text($older, reverse @episodes)
		: fill(
			N__(
				'No episodes in {folder} yet: press the hot-key, or type `tipme snap`, '
					. 'when something was slow.'
			),
			folder => one_line($library->{folder})
			)
			. "\n"
	);
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

# as_data(LIBRARY, ROW): an episode of the library, as list --json and show --json print it.
sub as_data {
	my ($library, $row) = @_;
	my %e = map { $_ => $row->{$_} } qw(id time note kernel cpus records lost bytes);
	$e{path} = "$library->{folder}/$row->{id}";
	$e{trigger} =
		{ kind => $row->{trigger_kind}, ns => $row->{trigger_ns}, text => $row->{trigger_text} };
	$e{problem} = length $row->{problem} ? $row->{problem} : undef;
	$e{verdict} = verdict_data($row);
	return \%e;
}

sub verdict_data {
	my ($row) = @_;
	return undef if !defined $row->{kind};    # stands in a list: must be one value
	return { (map { $_ => $row->{$_} } qw(kind sentence share confidence interval_ns)),
		client => $row->{client_comm},
		blamed => { comm => $row->{blamed_comm}, pid => $row->{blamed_pid} } };
}

sub _text {
	my ($older, @episodes) = @_;
	my @rows = ([ map { fill($_) } N__('EPISODE'), N__('WHEN'), N__('DELAY'), N__('CAUSE') ]);
	for my $e (@episodes) {
		push @rows,
			[ $e->{id}, substr(local_time($e->{time}), 5), ms($e->{interval_ns}),
			shorten(_what($e), 34) ];
		push @rows, [ '', '', '', shorten('"' . one_line($e->{note}) . '"', 34) ]
			if length $e->{note};
	}
	return table(\@rows, 'llrl')
		. ($older ? fill(N__('{n} older ones: tipme list --all'), n => $older) . "\n" : '');
}

sub _what {
	my ($e) = @_;
	return fill(N__('damaged: see `tipme show`')) if length $e->{problem};
	return fill(N__('not diagnosed yet'))         if !defined $e->{kind};
	return Tipme::Kinds::short(@$e{qw(kind blamed_comm blamed_pid)});
}

1;
