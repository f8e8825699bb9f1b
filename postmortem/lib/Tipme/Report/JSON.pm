# SPDX-License-Identifier: GPL-2.0-only
# A diagnosis as data for JSON: names as characters, numbers as numbers, nothing that is only ours.
# docs/diagnose-json.md describes it.
package Tipme::Report::JSON;

use strict;
use warnings;
use Tipme::Kinds;
use Tipme::Printable qw(characters);

my %TEXT = map { $_ => 1 }
	qw(comm detail reason sentence head what name kind state id time source file text door
	certainty path next function module circumstances circumstance_codes reason_code
	detail_code short why disk allowed names thread where words);
my %OURS = map { $_ => 1 }
	qw(details threads_of parent prio members at waiter of_tid mixed circumstance_facts stood by
	others own_prio had_prio);

# data(DIAGNOSIS): a copy
sub data {
	my ($d) = @_;
	my %copy = %$d;
	$copy{totals} = {
		%{ $d->{totals} },
		blamed => [
			map {
				{ %$_{qw(kind pid comm ns)}, words => Tipme::Kinds::words($_->{kind}, 'phrase') }
			} @{ $d->{totals}{blamed} }
		]
	};
	return _clean(\%copy);
}

# clean(DATA): any data, the same way
sub clean { return _clean($_[0]) }

sub _clean {
	my ($v) = @_;
	return [ map { _clean($_) } @$v ] if ref $v eq 'ARRAY';
	return _value($v)                 if ref $v ne 'HASH';
	return {
		map {
			$_ => $TEXT{$_} && defined $v->{$_} && !ref $v->{$_}
				? characters($v->{$_})
				: _clean($v->{$_})
		} grep { !$OURS{$_} } keys %$v
	};
}

# Numbers that were part of a text on the way are numbers again.
sub _value {
	my ($v) = @_;
	return $v     if !defined $v || ref $v;
	return $v + 0 if $v =~ /\A-?(?:0|[1-9]\d{0,18})(?:\.\d+(?:e-?\d+)?)?\z/;
	return characters($v);
}

1;
