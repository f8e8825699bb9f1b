# SPDX-License-Identifier: GPL-2.0-only
# What tests draw anew with each commit, so that none learns a rule from scenes that it knows.
package Tipme::Drawn;
use strict;
use warnings;
use Digest::SHA qw(sha256);
use Exporter    qw(import);
use Test::More  ();

our @EXPORT_OK = qw(commit half in_turn left_out seed_of some);

# commit(FOLDER): the hash of its commit, in hexadecimal; 'tipme' where nobody knows one
sub commit {
	my ($folder) = @_;
	my $hash = qx{git -C "$folder" rev-parse HEAD 2>/dev/null};
	chomp $hash;
	return $hash || 'tipme';
}

# seed_of(TEXT): a number, 0 to 2**32 - 1, of a commit's hash or of any word
sub seed_of { my ($text) = @_; return unpack 'N', sha256($text) }

# some(SEED, COUNT, NAMES...): so many of them, in their own order; all if there are no more
sub some {
	my ($seed, $count, @names) = @_;
	my @by    = sort { sha256("$seed/$a") cmp sha256("$seed/$b") } @names;
	my %drawn = map  { $_ => 1 } grep {defined} @by[ 0 .. $count - 1 ];
	return grep { $drawn{$_} } @names;
}

# left_out(WHAT, NAMES, DRAWN): a line of the summary, of those names that were not drawn
sub left_out {
	my ($what, $names, @drawn) = @_;
	my %drawn = map  { $_ => 1 } @drawn;
	my @left  = grep { !$drawn{$_} } @$names or return;
	Test::More->builder->skip(
		"$what not drawn for this commit; TIPME_TEST_ALL=1 has all: " . join ', ', @left);
	return;
}

# in_turn(COUNT, WHAT, NAMES...): so many of them, which the commit draws, and a line for
# the others; all with TIPME_TEST_ALL=1
sub in_turn {
	my ($count, $what, @names) = @_;
	return @names if $ENV{TIPME_TEST_ALL};
	my @drawn = some(seed_of(commit($ENV{TIPME_SRCDIR} // '.')), $count, @names);
	left_out($what, \@names, @drawn);
	return @drawn;
}

# half(SEED, NAMES...): half of them, rounded up
sub half { my ($seed, @names) = @_; return some($seed, @names - int(@names / 2), @names) }

1;
