# SPDX-License-Identifier: GPL-2.0-only
# What a bundle must bring along unchanged: the core of a diagnosis, in a form that can be compared.
package Tipme::Bundle::Core;

use strict;
use warnings;
use Cpanel::JSON::XS ();

# core(DATA, NAMED): what must be the same for whoever opens a bundle, as one text: event, interval,
# stages, path, sums and verdict; NAMED: { pid => 1 } of those that keep their names, undef: all do
sub core {
	my ($d, $named) = @_;
	my $v = $d->{verdict};
	return Cpanel::JSON::XS->new->canonical->allow_blessed->encode(
		[
			{ map { $_ => $v->{$_} } qw(kind sentence share_ns share confidence exact) },
			_of_who($v->{blamed}), $d->{interval},
			$d->{event}
				&& [
				$d->{event}{n}, map { [ @$_{qw(name ts_ns certainty)} ] } @{ $d->{event}{stages} }
				],
			[ map { of_path($_, $named) } @{ $d->{path} } ],
			$v->{kind} eq 'none' || defined $v->{why}
			? ()
			: [
				map  {s/-untold\z//r}
				grep { !/\A(?:called-as|largest)\z/ } @{ $v->{circumstance_codes} // [] }
			],
			@{ $d->{totals} }{qw(kinds states)},
			[ map { +{ _same(%$_), comm => _name($_, $named) } } @{ $d->{totals}{threads} } ],
			[ map { _of_who($_, $named) } @{ $d->{totals}{blamed} } ]
		]
	);
}

sub _name {
	my ($w, $named) = @_;
	return $named && $w->{pid} && !$named->{ $w->{pid} } ? 'process' : $w->{comm};
}

# A number that was part of a text on the way is the same number.
sub _same {
	return map { defined && !ref && /\A-?(?:0|[1-9]\d{0,17})\z/ ? $_ + 0 : $_ } @_;
}

sub _of_who {
	my ($w, $named) = @_;
	return $w
		&& {
		(map { $_ => _same($w->{$_}) } qw(kind pid tid ns state detail)),
		comm => _name($w, $named)
		};
}

# of_path(STRETCH, NAMED): the same of a stretch of the path, as data
sub of_path {
	my ($p, $named) = @_;
	return [
		_same(@$p{qw(from_ns to_ns tid pid state exact reason)}), _name($p, $named),
		map { _of_who($_, $named) } $p->{blamed},                 @{ $p->{among} // [] }
	];
}

1;
