# SPDX-License-Identifier: GPL-2.0-only
# Records, sections and files of records, as bytes (docs/formats.md).
package Tipme::RecordBytes;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Exporter qw(import);
use Tipme::Record::Layout;

our @EXPORT_OK = qw(packed section section_head file);

# packed(LAYOUT, FIELDS): a record; a text that fills it is cut where the record could not say how
# long it is
sub packed {
	my ($l, $f) = @_;
	my $last = $l->{names}[-1];
	my $open = $l->{template} =~ /\*\z/;
	my $len  = $l->{size} + ($open ? 8 * int((length($f->{$last}) + 7) / 8) : 0);
	$len = 8 * 255 if $len > 8 * 255;
	my $b = pack $l->{template} =~ s/Z(\d+|\*)/a$1/gr,
		map { $_ eq 'len8' ? $len / 8 : $f->{$_} } @{ $l->{names} };
	return substr $b . "\0" x $len, 0, $len;
}

# section(CODE, SECTION, BODY, FIRST, LAST, COUNT): the head of a section of that source and CPU,
# and its records, in order of time: of the first, of the last, how many. CODE: as record() of the
# episode
sub section {
	my ($code, $s, $body, @records) = @_;
	return section_head($code, $s, @records, length $body) . $body;
}

# section_head(CODE, SECTION, FIRST, LAST, COUNT, LENGTH): the record that begins a section
sub section_head {
	my ($code, $s, $first, $last, $n, $len) = @_;
	my $l = $code->layout('section');
	my %f = (
		ts_ns    => $first, type => 1, len8 => $l->{size} / 8, gen => 0, tid => 0,
		source   => $code->value_of('source', $s->{source}), cpu => $s->{cpu},
		first_ns => $first, last_ns => $last, count => $n, body_len => $len
	);
	return pack $l->{template}, map { $f{$_} } @{ $l->{names} };
}

# file(HEADER, BODY): a file of records, without a text of the schema; HEADER: as files() of the
# episode has it
sub file {
	my ($header, $body) = @_;
	my $l = $Tipme::Record::Layout::STRUCT{file_header};
	my %h = (%$header, header_len => $l->{size}, body_len => length $body);
	return pack($l->{template} =~ s/Z(\d+)/a$1/gr, map { $h{$_} } @{ $l->{names} }) . $body;
}

1;
