#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What the accessors of the columns say of a record is what the layout says of its bytes: of each
# kind, with all bits drawn at random, and with values of enumerations that have a name.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib", map {"$Bin/../../$_"} qw(abi/lib abi/generated postmortem/lib);
use Test::More;
use Tipme::KernelEvents;
use Tipme::Record::Layout;

srand 17;
my %LAYOUT = %Tipme::Record::Layout::RECORD;
my %ENUM   = %Tipme::Record::Layout::ENUM;
for my $name (sort keys %Tipme::Record::Columns::NUMBER) {
	my $number = $Tipme::Record::Columns::NUMBER{$name};
	my $l      = $LAYOUT{$number};
	is($l->{name}, $name, "$name: its number");
	my (@wrong, $fields);
	for my $round (1 .. 64) {
		my $bytes = join '', map { chr int rand($round % 2 ? 256 : 4) } 1 .. $l->{size};
		my %is;
		@is{ @{ $l->{names} } } = unpack $l->{template}, $bytes;
		my $ev = bless { columns($bytes) }, 'Tipme::KernelEvents';
		for my $f (grep { !$l->{zero}{$_} } @{ $l->{names} }) {
			my $get  = Tipme::KernelEvents->can("${name}_$f") or next;
			my $want = $l->{enum}{$f} ? $ENUM{ $l->{enum}{$f} }{ $is{$f} } : $is{$f};
			$fields++;
			push @wrong, $f if ($want // 'none') ne ($ev->$get(0) // 'none');
		}
		for my $f (keys %{ $Tipme::Record::Columns::SHIFT{$name} // {} }) {
			my $shift = $Tipme::Record::Columns::SHIFT{$name}{$f};
			push @wrong, "shift of $f"
				if !grep { ($_ >> $shift & 255) == ($is{$f} & 255) } unpack 'x16V4', $bytes;
		}
	}
	is("@wrong", '', "$name: each field as its layout says");
	my $own = grep { !$l->{zero}{$_} } @{ $l->{names} }[ 5 .. $#{ $l->{names} } ];
	is($fields, 64 * $own, "$name: an accessor for each of its $own fields");
}
done_testing;

# The columns of one record, as the reader makes them.
sub columns {
	my ($bytes) = @_;
	my ($ts, $tid, @abcd) = unpack 'Q<x4VV4', $bytes;
	my %of = (ts => pack('Q>', $ts), tid => pack('N', $tid));
	@of{qw(a b c d)} = map { pack 'N', $_ } @abcd;
	return %of;
}
