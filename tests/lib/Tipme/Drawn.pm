# SPDX-License-Identifier: GPL-2.0-only
# What tests draw anew with each commit, so that none learns a rule from scenes that it knows.
package Tipme::Drawn;
use strict;
use warnings;
use Digest::SHA qw(sha256);
use Exporter    qw(import);

our @EXPORT_OK = qw(commit half seed_of);

# commit(FOLDER): the hash of its commit, in hexadecimal; 'tipme' where nobody knows one
sub commit {
	my ($folder) = @_;
	my $hash = qx{git -C "$folder" rev-parse HEAD 2>/dev/null};
	chomp $hash;
	return $hash || 'tipme';
}

# seed_of(TEXT): a number, 0 to 2**32 - 1, of a commit's hash or of any word
sub seed_of { my ($text) = @_; return unpack 'N', sha256($text) }

# half(SEED, NAMES...): half of them, rounded up, in their own order
sub half {
	my ($seed, @names) = @_;
	my @by    = sort { sha256("$seed/$a") cmp sha256("$seed/$b") } @names;
	my %drawn = map  { $_ => 1 } @by[ 0 .. $#by - int(@by / 2) ];
	return grep { $drawn{$_} } @names;
}

1;
