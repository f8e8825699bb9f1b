# SPDX-License-Identifier: GPL-2.0-only
# What cannot be read of an episode, and whether a stretch of time rests on it.
package Tipme::Damage;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(damage_of);

# damage_of(EPISODE, FROM, TO, FILE ...): the first sentence of Episode's about one of these files
# which, for all that is known, has records missing in [FROM, TO); undef where there is none.
# A file that is whole up to there counts as whole.
sub damage_of {
	my ($ep, $from, $to, @files) = @_;
	for my $file (@files) {
		my ($what) = grep { index($_, "$file: ") == 0 } $ep->damage or next;
		return $what if grep  { _missing($ep, $file, $_, $to) } _coverage($ep, $file);
		return $what if !grep { $_->{name} eq $file } $ep->files;
	}
	return;
}

# What the manifest says of a file, for each CPU.
sub _coverage {
	my ($ep, $file) = @_;
	return grep { $_->{file} eq $file } $ep->coverage;
}

# Sections of a CPU are in order of time: what is missing comes after the last that could be read. A
# section may have been read in part only: then it is not known from where on.
sub _missing {
	my ($ep, $file, $c, $to) = @_;
	my ($records, $last) = (0, 0);
	for my $s (
		grep { $_->{file} eq $file && $_->{source} eq $c->{source} && $_->{cpu} == $c->{cpu} }
		$ep->sections)
	{
		# A section that was cut has its first records only.
		$records += $s->{count} if !$s->{cut};
		my $until = $s->{ $s->{cut} ? 'first_ns' : 'last_ns' };
		$last = $until if $until > $last;
	}
	return 0 if $records >= $c->{records} && !$ep->damaged_section($file);
	return $to > $last || $ep->damaged_section($file) ? 1 : 0;
}

1;
