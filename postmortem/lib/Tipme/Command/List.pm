# SPDX-License-Identifier: GPL-2.0-only
# tipme list: the episodes of the library, newest last.
package Tipme::Command::List;

use strict;
use warnings;
use Tipme::CommandLine qw(options print_json ms local_time table);
use Tipme::Kinds;
use Tipme::Library;
use Tipme::Printable qw(put one_line shorten);

my $HELP = <<'END';
usage: tipme list [--json]

The episodes of your library, newest last, with their verdicts.

  tipme list
  tipme list --json | jq -r '.episodes[-1].id'
  TIPME_LIBRARY=/media/stick/episodes tipme list
END

sub run {
	my ($class, @args) = @_;
	my ($o, $exit) = options(\@args, $HELP, 0, 'json');
	return $exit if !$o;
	my $library = Tipme::Library->open;
	my @episodes = $library->episodes;
	if ($o->{json}) { print_json({ episodes => [ map { as_data($library, $_) } @episodes ] }) }
	elsif (!@episodes) { put("No episodes in $library->{folder} yet: press the hot-key, or type `tipme snap`, when something was slow.\n") }
	else { put(_text(@episodes)) }
	return 0;
}

# as_data(LIBRARY, ROW): an episode of the library, as list --json and show --json print it.
sub as_data {
	my ($library, $row) = @_;
	my %e = map { $_ => $row->{$_} } qw(id time note kernel cpus records lost bytes);
	$e{path}    = "$library->{folder}/$row->{id}";
	$e{trigger} = { kind => $row->{trigger_kind}, ns => $row->{trigger_ns}, text => $row->{trigger_text} };
	$e{problem} = length $row->{problem} ? $row->{problem} : undef;
	$e{verdict} = verdict_data($row);
	return \%e;
}

sub verdict_data {
	my ($row) = @_;
	return undef if !defined $row->{kind};    # stands in a list: must be one value
	return { (map { $_ => $row->{$_} } qw(kind sentence share confidence interval_ns)), blamed => { comm => $row->{blamed_comm}, pid => $row->{blamed_pid} } };
}

sub _text {
	my @rows = ([ 'EPISODE', 'WHEN', 'RESPONSE', 'VERDICT' ]);
	for my $e (@_) {
		push @rows, [ $e->{id}, substr(local_time($e->{time}), 5), ms($e->{interval_ns}), shorten(_what($e), 34) ];
		push @rows, [ '', '', '', shorten('"' . one_line($e->{note}) . '"', 34) ] if length $e->{note};
	}
	return table(\@rows, 'llrl');
}

sub _what {
	my ($e) = @_;
	return 'damaged: see `tipme show`' if length $e->{problem};
	return 'not diagnosed yet' if !defined $e->{kind};
	my $who = one_line($e->{blamed_comm});
	$who = length $who ? $who . (defined $e->{blamed_pid} ? " ($e->{blamed_pid})" : '') : 'somebody';
	return Tipme::Kinds::words($e->{kind}, 'list', name => $who);
}

1;
