# SPDX-License-Identifier: GPL-2.0-only
# Whole files as bytes, for tests. Both die where they cannot.
package Tipme::Test::Files;
use strict;
use warnings;
use Carp     qw(croak);
use Exporter qw(import);

our @EXPORT_OK = qw(slurp spew);

sub slurp {
	my ($file) = @_;
	open my $in, '<:raw', $file or croak "$file: $!";
	local $/ = undef;
	return scalar(<$in>) // '';
}

# spew(FILE, BYTES): the file has these alone; returns its name
sub spew {
	my ($file, $bytes) = @_;
	open my $out, '>:raw', $file or croak "$file: $!";
	print {$out} $bytes;
	close $out or croak "$file: $!";
	return $file;
}

1;
