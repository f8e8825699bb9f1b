# SPDX-License-Identifier: GPL-2.0-only
# Sentences for people. Each is written once, in English, marked for translation, with {names} of
# what is filled in; the text domain is "tipme". No decision may rest on what comes out of here.
package Tipme::Words;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(N__ fill);

# N__(TEXT): marks a text of a table for translation, and is the text itself
sub N__ { return $_[0] }

# fill(TEXT, NAME => VALUE ...): the text in the user's language, {NAME} replaced by its value
sub fill {
	my ($text, %value) = @_;
	$text =~ s/\{(\w+)\}/$value{$1} \/\/ "{$1}"/ge;
	return $text;
}

1;
