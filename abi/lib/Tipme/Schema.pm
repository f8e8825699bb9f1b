# SPDX-License-Identifier: GPL-2.0-only
# Reads the schema of records (records.def, also the copy that each episode carries) into a plain
# structure.
package Tipme::Schema;

use strict;
use warnings;
use Carp     qw(croak);
use Exporter qw(import);

our @EXPORT_OK = qw(parse_schema);

# A schema may come from a stranger's episode: all of it is bounded.
my $MAX_BYTES  = 262_144;
my $MAX_FIELDS = 64;
my %INT        = (u8 => [ 1, 'C' ], u16 => [ 2, 'v' ], u32 => [ 4, 'V' ], u64 => [ 8, 'Q<' ]);

my $NAME  = qr/[a-z][a-z0-9_]{0,40}/;
my $DOC   = qr/"([^"]{0,400})"/;
my $MARK  = qr/(?:unit\s+[A-Za-z]{1,12}|enum\s+$NAME|zero)/;
my $FIELD = qr/^\s+(?:(u8|u16|u32|u64)|char\[(\d{0,4})\])\s+($NAME)((?:\s+$MARK)*)\s*:\s*$DOC\s*$/;

# parse_schema(TEXT, NAME): the schema as { major, minor, enums, structs, records }; NAME stands in
# messages.
#   enums:   { name => { doc, values => [ [ value, name, doc ] ], name_of => { value => name } } }
#   structs, records: lists of { name, doc, size, fields, template, names [, number, since, open] }
#   fields:  [ { name, type, size, offset, unit, enum, zero, doc } ];
#            `template` unpacks all of them, in the order of `names`
# Croaks with NAME and the line on anything that is not of the grammar.
sub parse_schema {
	my ($text, $file) = @_;
	croak "$file: schema of " . length($text) . " bytes: more than $MAX_BYTES"
		if length $text > $MAX_BYTES;
	my %s = (enums => {}, enum_order => [], structs => [], records => []);
	my ($cur, $line) = (undef, 0);
	for (split /\n/, $text) {
		$line++;
		next if /^\s*(?:#.*)?$/;
		my $bad = sub { croak "$file: line $line: $_[0]" };
		if    (/^format (\d{1,5})\.(\d{1,5})$/) { @s{qw(major minor)} = ($1 + 0, $2 + 0) }
		elsif (/^enum ($NAME) : $DOC$/) {
			$bad->("enum $1 twice") if $s{enums}{$1};
			$cur = $s{enums}{$1} = { name => $1, doc => $2, values => [], name_of => {} };
			push @{ $s{enum_order} }, $1;
		} elsif (/^struct ($NAME) (\d{1,4}) : $DOC$/) {
			$cur = { name => $1, want => $2, doc => $3, fields => [], size => 0 };
			push @{ $s{structs} }, $cur;
		} elsif (/^record ($NAME) (\d{1,3}) since (\d+\.\d+) : $DOC$/) {
			$cur =
				{ name => $1, number => $2 + 0, since => $3, doc => $4, fields => [], size => 0 };
			$bad->("number $2 is not 1..255") if $2 < 1 || $2 > 255;
			$bad->("number $2 twice") if grep { $_->{number} == $2 } @{ $s{records} };
			my ($head) = grep { $_->{name} eq 'head' } @{ $s{structs} };
			$bad->('record before struct head') if !$head;
			_add_field($cur, {%$_}, $bad) for @{ $head->{fields} };
			push @{ $s{records} }, $cur;
		} elsif ($cur && $cur->{values} && /^\s+(\d{1,10}) ($NAME) : $DOC$/) {
			push @{ $cur->{values} }, [ $1 + 0, $2, $3 ];
			$cur->{name_of}{ $1 + 0 } = $2;
		} elsif ($cur && $cur->{fields} && /$FIELD/) {
			my %f = (type => $1 // 'char', name => $3, doc => $5);
			my ($len, $attrs) = ($2, $4);
			if ($f{type} eq 'char') {
				$f{open} = 1 if $len eq '';
				$f{size} = $len eq '' ? 0 : $len + 0;
			} else {
				$f{size} = $INT{ $f{type} }[0];
			}
			$f{unit} = $1 if $attrs =~ /unit (\S+)/;
			$f{enum} = $1 if $attrs =~ /enum (\S+)/;
			$f{zero} = 1  if $attrs =~ /\bzero\b/;
			$bad->("enum $f{enum} is not known") if $f{enum} && !$s{enums}{ $f{enum} };
			_add_field($cur, \%f, $bad);
		} else {
			$bad->('not of the grammar');
		}
	}
	croak "$file: no format line" if !defined $s{major};
	_finish($_, $file) for @{ $s{structs} }, @{ $s{records} };
	return \%s;
}

sub _add_field {
	my ($c, $f, $bad) = @_;
	$bad->("field $f->{name} twice")       if grep { $_->{name} eq $f->{name} } @{ $c->{fields} };
	$bad->("more than $MAX_FIELDS fields") if @{ $c->{fields} } >= $MAX_FIELDS;
	$bad->('a field after char[]')         if @{ $c->{fields} } && $c->{fields}[-1]{open};
	my $align = $f->{type} eq 'char' ? 1 : $f->{size};
	$bad->("field $f->{name} at $c->{size} is not aligned") if $c->{size} % $align;
	$f->{offset} = $c->{size};
	$c->{size} += $f->{size};
	push @{ $c->{fields} }, $f;
}

sub _finish {
	my ($c, $file) = @_;
	my $open = @{ $c->{fields} } && $c->{fields}[-1]{open};
	croak "$file: $c->{name}: $c->{size} bytes are no multiple of 8" if $c->{size} % 8;
	croak "$file: $c->{name}: $c->{size} bytes, not $c->{want}"
		if $c->{want} && $c->{want} != $c->{size};
	croak "$file: $c->{name}: longer than a record can be" if $c->{number} && $c->{size} > 2040;
	$c->{open}     = 1 if $open;
	$c->{template} = join '',
		map { $_->{type} ne 'char' ? $INT{ $_->{type} }[1] : $_->{open} ? 'Z*' : "Z$_->{size}" }
		@{ $c->{fields} };
	$c->{names} = [ map { $_->{name} } @{ $c->{fields} } ];
}

1;
