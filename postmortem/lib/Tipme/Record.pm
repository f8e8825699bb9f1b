# SPDX-License-Identifier: GPL-2.0-only
# One record: from bytes to named fields, and to the line that the C printer prints.
package Tipme::Record;

use strict;
use warnings;
use Carp qw(croak);
use Tipme::Record::Layout;
use Tipme::Schema qw(parse_schema);

my $HEAD = 16;    # bytes of struct head, with which every record begins

# current(): the reader for the format that this program was built with.
sub current {
	my ($class) = @_;
	return $class->_new(
		$Tipme::Record::Layout::MAJOR,   $Tipme::Record::Layout::MINOR,
		\%Tipme::Record::Layout::RECORD, \%Tipme::Record::Layout::ENUM
	);
}

# from_schema(TEXT, NAME): the reader for the schema that an episode carries: later fields and
# records have their names, fields that an older minor lacks are 0. Refuses a schema in which a
# field that we know has moved.
# The same text as last time is not read again: nearly all episodes carry the same, and nothing
# changes a reader.
my ($last_text, $last_reader) = ('');

sub from_schema {
	my ($class, $text, $name) = @_;
	return $last_reader if $text eq $last_text && ref $last_reader eq $class;
	my $reader = $class->_read_schema($text, $name);
	($last_text, $last_reader) = ($text, $reader);
	return $reader;
}

sub _read_schema {
	my ($class, $text, $name) = @_;
	my $s     = parse_schema($text, $name);
	my $major = $Tipme::Record::Layout::MAJOR;
	croak "$name: format $s->{major}.$s->{minor}: this program reads format $major"
		if $s->{major} != $major;
	my (%record, %enum);
	for my $r (@{ $s->{records} }) {
		my %enum_of = map { $_->{name} => $_->{enum} } grep { $_->{enum} } @{ $r->{fields} };
		my %zero    = map { $_->{name} => 1 } grep          { $_->{zero} } @{ $r->{fields} };
		$record{ $r->{number} } =
			{ %$r{qw(name size template names)}, enum => \%enum_of, zero => \%zero };
	}
	$enum{$_} = $s->{enums}{$_}{name_of} for keys %{ $s->{enums} };
	_check_appended($name, \%record);
	my %known = %Tipme::Record::Layout::RECORD;
	for my $n (keys %known) {
		# A minor older than ours: our longer layout reads its short records, the missing fields are
		# 0.
		my $theirs = $record{$n};
		$record{$n} = $known{$n} if !$theirs || @{ $theirs->{names} } < @{ $known{$n}{names} };
	}
	for my $e (keys %Tipme::Record::Layout::ENUM) {
		$enum{$e} = { %{ $enum{$e} // {} }, %{ $Tipme::Record::Layout::ENUM{$e} } };
	}
	return $class->_new($s->{major}, $s->{minor}, \%record, \%enum);
}

# What was padding, and so always zero, may have got a meaning later.
sub _named_later {
	my ($one,   $other) = @_;
	my ($name,  $type)  = split /:/, $one,   2;
	my ($name2, $type2) = split /:/, $other, 2;
	return $type eq $type2
		&& ($name =~ /\A(?:pad|reserved)\d+\z/ xor $name2 =~ /\A(?:pad|reserved)\d+\z/);
}

# Fields are only appended: of the two layouts of a record one must begin with the other.
sub _check_appended {
	my ($file, $theirs) = @_;
	for my $n (sort { $a <=> $b } keys %$theirs) {
		my ($t, $o) = ($theirs->{$n}, $Tipme::Record::Layout::RECORD{$n});
		next if !$o;
		croak "$file: record $n is $t->{name}, not $o->{name}: the schema is damaged"
			if $t->{name} ne $o->{name};
		my @a    = _fields($t);
		my @b    = _fields($o);
		my $same = @a < @b ? @a : @b;
		for my $i (0 .. $same - 1) {
			croak
				"$file: record $t->{name}: field $a[$i] stands where $b[$i] belongs: the schema is damaged"
				if $a[$i] ne $b[$i] && !_named_later($a[$i], $b[$i]);
		}
	}
}

sub _fields {
	my ($l) = @_;
	my @code = $l->{template} =~ /(?:Q<|[A-Z](?:\d+|\*)?|[a-z])/g;
	return map {"$l->{names}[$_]:$code[$_]"} 0 .. $#{ $l->{names} };
}

sub _new {
	my ($class, $major, $minor, $record, $enum) = @_;
	my %number = map { $record->{$_}{name} => $_ } keys %$record;
	return bless {
		major  => $major, minor => $minor, record => $record, enum => $enum,
		number => \%number
	}, $class;
}

sub major { return $_[0]{major} }
sub minor { return $_[0]{minor} }

# number_of(NAME): the number of a record.
sub number_of {
	my ($self, $name) = @_;
	return $self->{number}{$name} // croak "bug: no record is named $name";
}

# layout(NAME): { name, size, template, names, enum, zero }
sub layout {
	my ($self, $name) = @_;
	return $self->{record}{ $self->number_of($name) };
}

# value_of(ENUM, NAME), name_of(ENUM, VALUE)
sub value_of {
	my ($self, $enum, $name) = @_;
	my $e = $self->{enum}{$enum} // croak "bug: no enum is named $enum";
	for (keys %$e) { return $_ if $e->{$_} eq $name }
	croak "bug: enum $enum has no $name";
}

sub name_of {
	my ($self, $enum, $value) = @_;
	return ($self->{enum}{$enum} // {})->{$value} // $value;
}

# decode(\BUFFER, OFFSET): (name or undef if nobody knows it, \%fields, length); croaks where no
# whole record stands.
sub decode {
	my ($self, $buf, $off) = @_;
	my ($len, $why) = $self->length_at($buf, $off);
	croak $why if !$len;
	my $l = $self->{record}{ vec $$buf, $off + 8, 8 };
	return (undef, _unpack($self->{record}{1}, substr($$buf, $off, $HEAD), 5), $len) if !$l;
	return ($l->{name}, _unpack($l, substr $$buf, $off, $len), $len);
}

# fields_of(NUMBER): (name, what makes the fields of such a record of its bytes); () if nobody knows
# it. For those that have many to read and know where each stands.
sub fields_of {
	my ($self, $type) = @_;
	my $l = $self->{record}{$type} or return;
	my ($names, $template, $size) = @$l{qw(names template size)};
	return (
		$l->{name},
		sub {
			my %f;
			@f{@$names} = unpack $template,
				length $_[0] < $size ? $_[0] . "\0" x ($size - length $_[0]) : $_[0];
			return \%f;
		}
	);
}

# length_at(\BUFFER, OFFSET): length of the record there; or 0 and why not.
sub length_at {
	my ($self, $buf, $off) = @_;
	my $left = length($$buf) - $off;
	return (0, "cut: $left bytes left, $HEAD wanted") if $left < $HEAD;
	my $len = 8 * vec $$buf, $off + 9, 8;
	return (0,    "impossible: length $len")            if $len < $HEAD;
	return (0,    "cut: $left bytes left, $len wanted") if $left < $len;
	return ($len, undef);
}

sub _unpack {
	my ($l, $bytes, $max) = @_;
	$bytes .= "\0" x ($l->{size} - length $bytes) if length $bytes < $l->{size};
	my %f;
	@f{ @{ $l->{names} } } = unpack $l->{template}, $bytes;
	if ($max) { delete @f{ @{ $l->{names} }[ $max .. $#{ $l->{names} } ] } }
	return \%f;
}

# text(\BUFFER, OFFSET): (line, length): the very line that the C printer prints, without its end;
# length 0 where it ends.
sub text {
	my ($self, $buf, $off) = @_;
	my ($len, $why) = $self->length_at($buf, $off);
	return ($why, 0) if !$len;
	my $type = vec $$buf, $off + 8, 8;
	my $l    = $self->{record}{$type} or return ("unknown type $type of $len bytes skipped", $len);
	my $f    = _unpack($l, substr $$buf, $off, $len);
	my @t    = ($l->{name});
	for my $n (@{ $l->{names} }) {
		next if $l->{zero}{$n} || $n eq 'type' || $n eq 'len8' || $n eq 'gen';
		my $e = $l->{enum}{$n};
		push @t, "$n=" . ($e ? $self->name_of($e, $f->{$n}) : $f->{$n});
	}
	return (join(' ', @t), $len);
}

1;
