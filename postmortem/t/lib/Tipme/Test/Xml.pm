# SPDX-License-Identifier: GPL-2.0-only
# Is a text well-formed XML, as far as our pictures use it? Strict where a browser would be:
# nesting, quotes, entities, characters.
package Tipme::Test::Xml;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(xml_problem);

# xml_problem(BYTES): undef, or what is wrong and where
sub xml_problem {
	my ($bytes) = @_;
	my $text = $bytes;
	utf8::decode($text) or return 'not UTF-8';
	return sprintf 'character U+%04X', ord $1
		if $text =~ /([^\t\n\r\x20-\x{d7ff}\x{e000}-\x{fffd}\x{10000}-\x{10ffff}])/;
	my @open;
	pos($text) = 0;
	while (pos $text < length $text) {
		my $at = pos $text;
		if (   $text =~ /\G<\?xml [^<>]*\?>/gc
			|| $text =~ /\G<!DOCTYPE [^<>]*>/gc
			|| $text =~ /\G<!--(?:(?!--)[^<>])*-->/gc)
		{
		} elsif ($text =~ /\G[^<>&]+/gc
			|| $text =~ /\G&(?:amp|lt|gt|quot|apos|#\d{1,6}|#x[0-9a-f]{1,5});/gci)
		{
		} elsif ($text =~ m{\G</([\w:-]+)\s*>}gc) {
			my $was = pop @open // 'nothing';
			return "at $at: </$1> ends <$was>" if $was ne $1;
		} elsif ($text =~
			m{\G<([\w:-]+)((?:\s+[\w:-]+="(?:[^"<&]|&(?:amp|lt|gt|quot|apos|#\d{1,6});)*")*)\s*(/?)>}gc
			)
		{
			my ($name, $attributes, $empty) = ($1, $2, $3);
			my %seen;
			while ($attributes =~ /\s([\w:-]+)="/g) {
				return "at $at: <$name> has $1 twice" if $seen{$1}++;
			}
			push @open, $name if !$empty;
		} else {
			return "at $at: " . substr $text, $at, 60;
		}
	}
	return @open ? "<$open[-1]> is not ended" : undef;
}

1;
