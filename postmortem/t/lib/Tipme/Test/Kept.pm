# SPDX-License-Identifier: GPL-2.0-only
# What must stay the same of an episode, whoever reads it later.
package Tipme::Test::Kept;

use strict;
use warnings;
use Exporter qw(import);
use Tipme::Diagnosis;
use Tipme::Episode;

our @EXPORT_OK = qw(facts);

# facts(FOLDER): the records by kind, their fields added up, what was lost, and when the problem
# was. Not the verdict: later versions may know better.
sub facts {
	my ($dir) = @_;
	my $ep = Tipme::Episode->open($dir);
	my (%records, %sum);
	$ep->each(
		sub {
			my ($name, $f) = @_;
			$records{$name}++;
			for (grep { $_ ne 'len8' && $_ ne 'gen' } keys %$f) {
				$sum{"$name.$_"} +=
					$f->{$_} =~ /\A[0-9]+\z/ ? $f->{$_} % 1_000_003 : length $f->{$_};
			}
		}
	);
	my $d = Tipme::Diagnosis->new($ep)->run;
	return {
		format   => $ep->manifest->{format}, id      => $ep->id,   trigger_ns => $ep->trigger_ns,
		end_ns   => $ep->end_ns,             records => \%records, sums => \%sum, lost => $ep->lost,
		damage   => [ $ep->damage ],         unknown => $ep->unknown_count,
		events   => scalar(() = Tipme::Diagnosis->new($ep)->events),
		interval => $d->{interval} ? 1 : 0
	};
}

1;
