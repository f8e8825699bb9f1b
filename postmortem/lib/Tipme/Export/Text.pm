# SPDX-License-Identifier: GPL-2.0-only
# Export as text: every record, one a line: seconds of the clock, CPU, source, name and fields.
package Tipme::Export::Text;

use strict;
use warnings;
use Encode           ();
use Tipme::Printable qw(one_line);

sub new { my ($class, %o) = @_; return bless {%o}, $class }

sub begin {
	my ($self) = @_;
	my $m = $self->{episode}->manifest;
	$self->{out}->(
		sprintf "# tipme episode %s, trigger at %.9f, CLOCK_MONOTONIC seconds\n",
		one_line($m->{id}), $m->{trigger}{ns} / 1e9
	);
}

sub record {
	my ($self, $name, $f, $where, $bytes) = @_;
	my ($line) = $self->{episode}->record->text($bytes, 0);
	$self->{out}->(
		Encode::encode(
			'UTF-8',          sprintf "%.9f %d %s %s\n", $where->{ts} / 1e9, $where->{cpu},
			$where->{source}, one_line($line)
		)
	);
	return 1;
}

sub end { }

1;
