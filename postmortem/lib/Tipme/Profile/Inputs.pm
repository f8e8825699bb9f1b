# SPDX-License-Identifier: GPL-2.0-only
# Kinds of input of a profile, in words.
package Tipme::Profile::Inputs;

use strict;
use warnings;
use Exporter     qw(import);
use Tipme::Words qw(N__ fill);

our @EXPORT_OK = qw(input_words limit_words);

my %WORDS = map { $_ => $_ } N__('key'), N__('button'), N__('motion'), N__('wheel'), N__('touch');

# input_words(KIND): in the user's language; another name as it is
sub input_words { my ($kind) = @_; return defined $WORDS{$kind} ? fill($kind) : $kind }

# limit_words(LIMITS of Views): what a range in a chart is
sub limit_words {
	my ($from, $to, $which) = @_;
	return fill(
		$which eq 'motion'
		? N__('where motion begins to irritate, {from} to {to} ms (TIPME, 2000)')
		: N__('where keys and clicks begin to irritate, {from} to {to} ms (TIPME, 2000)'),
		from => $from, to => $to
	);
}

1;
