# SPDX-License-Identifier: GPL-2.0-only
# An episode: its manifest, its record files and their sections; all of it may come from a stranger.
package Tipme::Episode;

use strict;
use warnings;
use Errno ();
use Fcntl qw(O_RDONLY O_NOFOLLOW O_NONBLOCK S_ISREG SEEK_SET);
use Tipme::Manifest;
use Tipme::Record;
use Tipme::Record::Layout;

my $MAX_SCHEMA = 262_144;    # bytes of the schema in a file's head
# Bytes of one file of records; the copy of a ring is at most 1 GiB a CPU.
my $MAX_FILE     = 8 << 30;
my $MAX_SECTION  = 256 << 20;    # what we hold in memory at once
my $MAX_SECTIONS = 200_000;      # sections of one file; a writer makes a few for each CPU
# As the writer's machine has it: another order reads as another number.
my $BYTE_ORDER   = 0x01020304;
my $SECTION_TYPE = 1;            # record `section` (abi/records.def)
my $HEAD         = 16;           # bytes with which every record begins
my $SECTION_SIZE = $Tipme::Record::Layout::RECORD{$SECTION_TYPE}{size};    # bytes of it

# Inside a section times may run back a little: an interrupt records between time stamp and slot of
# the record below it.
my $SLACK_NS = 1_000_000;

# open(DIR): checks everything that can be checked without reading all records; dies with one clear
# sentence.
sub open {
	my ($class, $dir) = @_;
	$dir =~ s{(?<=.)/+\z}{};
	my $self = bless {
		dir    => $dir, files => [], sections => [], damage => [], unknown => {},
		handle => {}
	}, $class;
	if (!-e $dir) {
		die
			"$dir: you may not read it: it belongs to another user: ask for a file that `tipme bundle` writes\n"
			if $!{EACCES};
		die "$dir: no such folder: `tipme list` shows the episodes\n";
	}
	die "$dir: not an episode (not a folder): `tipme list` shows the episodes\n" if !-d _;
	die
		"$dir: you may not read it: it belongs to another user: ask for a file that `tipme bundle` writes\n"
		if !-x _;
	die "$dir: not an episode (no manifest.json): `tipme list` shows the episodes\n"
		if !-e "$dir/manifest.json";
	my $read = eval { $self->_read_all; 1 };
	my $why  = $@;
	$self->_still_there if !$read || @{ $self->{damage} };
	die $why            if !$read;
	return $self;
}

sub _read_all {
	my ($self) = @_;
	$self->_read_manifest;
	$self->_read_schema;
	$self->_open_file($_) for $self->_file_names;
	$self->_order_sections;
	return;
}

# `tipme rm`, or the recorder that makes room, may remove an episode while we read it; files that
# are open already stay readable.
sub _still_there {
	my ($self) = @_;
	die "$self->{dir}: was removed meanwhile: `tipme list` shows the episodes\n"
		if !-e $self->{dir};
	return;
}

sub dir      { return $_[0]{dir} }
sub manifest { return $_[0]{manifest} }
sub record   { return $_[0]{record} }

# files(): { name, source, size, body_len, header }
sub files { return @{ $_[0]{files} } }

# sections(): { file, source, cpu, first_ns, last_ns, count, offset, body_len, number }, ordered by
# first_ns; offset is that of the first record, number the count of records before it in its file
sub sections { return @{ $_[0]{sections} } }

# damage(): what could not be read, in sentences
sub damage { return @{ $_[0]{damage} } }

# unknown_count(): records of unknown number that were met so far (each of them was skipped)
sub unknown_count { my $n = 0; $n += $_ for values %{ $_[0]{unknown} }; return $n }

sub id { return $_[0]{manifest}{id} }
# agents: processes that talked with the user for the recorder
sub agents {
	return grep {$_} @{ ($_[0]{manifest}{recorder} // {})->{agents} // [] };
}
# watched_until(): up to then answers count. Whoever pressed the hot-key means what came before; a
# threshold fires in the midst of a delay, and what was recorded after it says how long that lasted.
sub watched_until {
	my ($self) = @_;
	return ($self->{manifest}{trigger}{kind} // '') eq 'auto' ? $self->end_ns : $self->trigger_ns;
}

sub trigger_ns { return $_[0]{manifest}{trigger}{ns} }
# suspends(FROM, TO): when the machine slept, as far as that may lie between these: { from_ns, to_ns
# (at some time between these), slept_ns }
sub suspends {
	my ($self, $from, $to) = @_;
	return grep { $_->{from_ns} < $to && $_->{to_ns} > $from } @{ $self->{manifest}{suspends} };
}
sub end_ns { return $_[0]{manifest}{end_ns} // $_[0]{manifest}{trigger}{ns} }

# coverage(): of each CPU of each source: { source, file, cpu, first_ns, last_ns, records }
sub coverage {
	my ($self) = @_;
	my @c;
	for my $s (@{ $self->{manifest}{sources} }) {
		push @c, map {
			{ source => $s->{source}, file => $s->{file}, %$_{qw(cpu first_ns last_ns records)} }
		} @{ $s->{coverage} };
	}
	return @c;
}

# lost(): { source => { cause => count } }; servers have their file's name behind the source
sub lost {
	my ($self) = @_;
	my %l;
	for my $s (@{ $self->{manifest}{sources} }) {
		my $name = $s->{server_pid} ? "$s->{source} $s->{server_pid}" : $s->{source};
		$l{$name}{$_} += $s->{lost}{$_} for keys %{ $s->{lost} };
	}
	return \%l;
}

# lost_count(): all records that are lost
sub lost_count { my ($self) = @_; return lost_sums($self->lost)->{records} }

# Causes whose records are there, and have no stack: there was no room for it, or for the sleep that
# it belongs to.
my %STACKLESS = map { $_ => 1 } qw(stack_table sleep_table);

# lost_stack(CAUSE): whether what is counted there are records without a stack, and not records
sub lost_stack { my ($cause) = @_; return $STACKLESS{$cause} }

# lost_sums(lost): { records, stacks, record_causes, stack_causes } of what lost() gives; the causes
# are lists of [ source, cause, count ], in order
sub lost_sums {
	my ($lost) = @_;
	my %sum = (records => 0, stacks => 0, record_causes => [], stack_causes => []);
	for my $source (sort keys %$lost) {
		for my $cause (sort keys %{ $lost->{$source} }) {
			my $n    = $lost->{$source}{$cause} or next;
			my $what = lost_stack($cause) ? 'stack' : 'record';
			$sum{"${what}s"} += $n;
			push @{ $sum{"${what}_causes"} }, [ $source, $cause, $n ];
		}
	}
	return \%sum;
}

# note(): the user's words, or undef
sub note {
	my ($self) = @_;
	return if !-e "$self->{dir}/note.txt";
	return $self->_slurp('note.txt', 65_536);
}

sub _slurp {
	my ($self, $name, $max) = @_;
	my $fh   = $self->_handle($name);
	my $size = -s $fh;
	die "$self->{dir}/$name: $size bytes, more than $max: not an episode of tipme\n"
		if $size > $max;
	my $got = read($fh, my $text, $size);
	die "$self->{dir}/$name: cannot be read: $!\n" if !defined $got;
	return $text;
}

# Neither links, pipes nor devices: a stranger's episode must not make us read elsewhere or wait.
sub _handle {
	my ($self, $name) = @_;
	my $path = "$self->{dir}/$name";
	die "$path: is a link: an episode holds plain files only\n" if -l $path;
	my $fh;
	if (!sysopen $fh, $path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) {
		my $why = $!;
		$self->_still_there;
		die "$path: $why: is the episode whole?\n";
	}
	my $mode = (stat $fh)[2];
	die "$path: is no plain file: an episode holds plain files only\n" if !S_ISREG($mode);
	binmode $fh;
	return $fh;
}

sub _read_manifest {
	my ($self) = @_;
	$self->{manifest} = Tipme::Manifest->read(
		$self->_slurp('manifest.json', $Tipme::Manifest::MAX_BYTES),
		"$self->{dir}/manifest.json"
	);
}

# schema_text(): the schema as it stands in the episode
sub schema_text { return $_[0]->_slurp('schema', $MAX_SCHEMA) }

sub _read_schema {
	my ($self) = @_;
	my $path = "$self->{dir}/schema";
	die "$path: is missing: is the episode whole?\n" if !-e $path;
	$self->{record} =
		eval { Tipme::Record->from_schema($self->_slurp('schema', $MAX_SCHEMA), $path) };
	return if $self->{record};
	(my $why = $@) =~ s/ at \S+ line \d+\.?\n?\z//;
	die "$why\n";
}

sub _file_names {
	my ($self) = @_;
	my %seen;
	return grep { !$seen{$_}++ } map { $_->{file} } @{ $self->{manifest}{sources} };
}

sub _open_file {
	my ($self, $name) = @_;
	my $path = "$self->{dir}/$name";
	if (!-e $path && !-l $path) { push @{ $self->{damage} }, "$name: is missing"; return }
	my $fh   = $self->_handle($name);
	my $size = -s $fh;
	die "$path: $size bytes: more than this program reads\n" if $size > $MAX_FILE;
	my $h    = $self->_file_header($name, $fh, $size) or return;
	my $body = $size - $h->{header_len};

	if ($body != $h->{body_len}) {
		push @{ $self->{damage} },
			$body < $h->{body_len}
			? "$name: was cut: $body of $h->{body_len} bytes are there"
			: "$name: has " . ($body - $h->{body_len}) . ' bytes behind its end, not read';
		$body = $h->{body_len} if $body > $h->{body_len};
	}
	$self->{handle}{$name} = $fh;
	push @{ $self->{files} },
		{
		name   => $name, source => $h->{source_name}, size => $size, body_len => $body,
		header => $h
		};
	$self->_scan_sections(
		$name, $fh, $h->{header_len}, $h->{header_len} + $body,
		$h->{source_name}
	);
}

sub _file_header {
	my ($self, $name, $fh, $size) = @_;
	my $path = "$self->{dir}/$name";
	my $l    = $Tipme::Record::Layout::STRUCT{file_header};
	if ($size < $l->{size}) {
		push @{ $self->{damage} }, "$name: was cut: $size bytes, not even its header of $l->{size}";
		return;
	}
	my $bytes = $self->_read_at($name, $fh, 0, $l->{size});
	my %h;
	@h{ @{ $l->{names} } } = unpack $l->{template}, $bytes;
	die "$path: not a record file of tipme\n" if substr($bytes, 0, 8) ne 'TIPMEREC';
	die sprintf(
		"%s: byte order 0x%08x: written on a machine of another byte order, which this program does not read\n",
		$path, $h{byte_order}
	) if $h{byte_order} != $BYTE_ORDER;
	die
		"$path: format $h{major}.$h{minor}: this program reads format $Tipme::Record::Layout::MAJOR: use the tipme that wrote it, or a later one\n"
		if $h{major} != $Tipme::Record::Layout::MAJOR;
	die "$path: header of $h{header_len} bytes: the file is damaged\n"
		if $h{header_len} < $l->{size} || $h{header_len} > 4096 || $h{header_len} % 8;

	if ($size < $h{header_len}) {
		push @{ $self->{damage} },
			"$name: was cut: $size bytes, not even its header of $h{header_len}";
		return;
	}
	$h{source_name} = $self->{record}->name_of('source', $h{source});
	return \%h;
}

sub _read_at {
	my ($self, $name, $fh, $off, $len) = @_;
	seek $fh, $off, SEEK_SET or die "$self->{dir}/$name: $!\n";
	my $got = read($fh, my $bytes, $len);
	die "$self->{dir}/$name: cannot be read at byte $off: $!\n" if !defined $got;
	return $bytes;
}

# From section to section without a look between; what is impossible ends this file's, aloud.
sub _scan_sections {
	my ($self, $name, $fh, $off, $end, $source) = @_;
	my ($n, $records, $l) = (0, 0, $Tipme::Record::Layout::RECORD{$SECTION_TYPE});
	while ($off < $end) {
		$n++;
		my $stop = sub {
			push @{ $self->{damage} },
				"$name: section $n at byte $off: $_[0]: the rest of the file is not read";
		};
		return $stop->('cut') if $end - $off < $SECTION_SIZE;
		my %s;
		@s{ @{ $l->{names} } } = unpack $l->{template},
			$self->_read_at($name, $fh, $off, $SECTION_SIZE);
		return $stop->("record of type $s{type} where a section belongs")
			if $s{type} != $SECTION_TYPE;
		return $stop->('length ' . 8 * $s{len8})                  if 8 * $s{len8} < $SECTION_SIZE;
		return $stop->('too many sections')                       if $n > $MAX_SECTIONS;
		return $stop->("$s{body_len} bytes long")                 if $s{body_len} > $MAX_SECTION;
		return $stop->("$s{count} records in $s{body_len} bytes") if 16 * $s{count} > $s{body_len};
		my $at   = $off + 8 * $s{len8};
		my $left = $end > $at ? $end - $at : 0;
		my %sec  = (
			file   => $name,     cpu => $s{cpu}, first_ns => $s{first_ns}, last_ns => $s{last_ns},
			count  => $s{count}, offset => $at,  body_len => $s{body_len},
			number => $records,  source => $self->{record}->name_of('source', $s{source})
		);
		if ($s{body_len} > $left) {
			@sec{qw(body_len cut)} = ($left, 1);
			$stop->("$left of $s{body_len} bytes are there");
		}
		push @{ $self->{sections} }, \%sec if $sec{body_len} || $s{count};
		$off = $at + $s{body_len};
		$records += $s{count};
	}
}

sub _order_sections {
	my ($self) = @_;
	my @s = sort {
			   $a->{first_ns} <=> $b->{first_ns}
			|| $a->{file} cmp $b->{file}
			|| $a->{offset} <=> $b->{offset}
	} @{ $self->{sections} };
	$self->{sections} = \@s;
}

# handle(FILE): it, open
sub handle { return $_[0]{handle}{ $_[1] } }

# section_bytes(SECTION): its records as they stand in the file
sub section_bytes {
	my ($self, $s) = @_;
	return $self->_read_at($s->{file}, $self->{handle}{ $s->{file} }, $s->{offset}, $s->{body_len});
}

# record_at(FILE, OFFSET, LENGTH): the bytes of a record that was met there
sub record_at {
	my ($self, $name, $off, $len) = @_;
	return $self->_read_at($name, $self->{handle}{$name}, $off, $len);
}

# sections_between(FROM, TO [, SOURCES]): those that may hold records of [FROM, TO)
sub sections_between {
	my ($self, $from, $to, $sources) = @_;
	my %want = map { $_ => 1 } @{ $sources // [] };
	return grep {
			   (!$sources || $want{ $_->{source} })
			&& (!defined $from || $_->{last_ns} + $SLACK_NS >= $from)
			&& (!defined $to   || $_->{first_ns} < $to + $SLACK_NS)
	} @{ $self->{sections} };
}

# section_heads(SECTION): of each record, in the order of the file: its number, its length, where it
# begins in BYTES, and the number behind its head (of most records a process); in one list; and
# \BYTES. A fourth of the time that section_records() takes. A record that is impossible ends it,
# aloud.
sub section_heads {
	my ($self, $s) = @_;
	my $buf = $self->section_bytes($s);
	my ($off, $end, $n, @r) = (0, length $buf, 0);
	while ($off + $HEAD <= $end) {
		my ($type, $len, $number) = unpack 'x8CCx6V', substr $buf, $off, $HEAD + 4;
		$len *= 8;
		last if $len < $HEAD || $len > $end - $off;
		push @r, $type, $len, $off, $number // 0;
		$off += $len;
		$n++;
	}
	$self->_record_damage($s, $n + 1, $off, \$buf) if $off < $end;
	return (\@r, \$buf);
}

# section_records(SECTION): [ ts, offset in BYTES, length, which record of the section (from 1) ],
# ordered by time; and \BYTES. A record that is impossible ends it, aloud.
sub section_records {
	my ($self, $s) = @_;
	my $buf = $self->section_bytes($s);
	my ($off, $end, $n, $back, @r) = (0, length $buf, 0, 0);
	while ($off + $HEAD <= $end) {
		my ($ts, $len) = unpack 'Q<xC', substr $buf, $off, $HEAD;
		$len *= 8;
		last      if $len < $HEAD || $len > $end - $off;
		$back = 1 if @r && $ts < $r[-1][0];
		push @r, [ $ts, $off, $len, ++$n ];
		$off += $len;
	}
	$self->_record_damage($s, $n + 1, $off, \$buf)              if $off < $end;
	@r = sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @r if $back;
	return (\@r, \$buf);
}

sub _record_damage {
	my ($self, $s, $n, $off, $buf) = @_;
	my $at = $s->{offset} + $off;
	return if $self->{damaged}{"$s->{file} $at"}++ || $s->{cut};
	my (undef, $why) = $self->{record}->length_at($buf, $off);
	push @{ $self->{damage} },
		"$s->{file}: record $n of the section at byte $s->{offset}, at byte $at: $why: the rest of the section is not read";
}

# damaged_section(FILE): 1 if a record in a section of it was impossible, as far as sections have
# been read
sub damaged_section {
	my ($self, $file) = @_;
	return (grep { index($_, "$file ") == 0 } keys %{ $self->{damaged} }) ? 1 : 0;
}

# each_raw(CALLBACK, from_ns, to_ns, sources): all records of [from_ns, to_ns) merged by time:
# CALLBACK->(ts, bytes of the record, section, offset in the file). Memory: the sections that
# overlap at one time.
sub each_raw {
	my ($self, $cb, %o) = @_;
	my @wait = $self->sections_between(@o{qw(from_ns to_ns sources)});
	my ($from, $to, @open) = ($o{from_ns} // 0, $o{to_ns});
	while (@wait || @open) {
		my ($first) = sort {
			$a->{list}[ $a->{at} ][0] <=> $b->{list}[ $b->{at} ][0] || $a->{order} <=> $b->{order}
		} @open;
		while (@wait
			&& (!$first || $wait[0]{first_ns} <= $first->{list}[ $first->{at} ][0] + $SLACK_NS))
		{
			my $s = shift @wait;
			my ($list, $buf) = $self->section_records($s);
			next if !@$list;
			my $o =
				{ section => $s, list => $list, buf => $buf, at => 0, order => ++$self->{order} };
			push @open, $o;
			$first = $o if !$first || $list->[0][0] < $first->{list}[ $first->{at} ][0];
		}
		last if !$first;
		$self->_run($first, _until($first, \@open, \@wait), $from, $to, $cb);
		@open = grep { $_->{at} < @{ $_->{list} } } @open;
	}
}

# Up to which time one section may be walked before another has its turn.
sub _until {
	my ($first, $open, $wait) = @_;
	my $until = @$wait ? $wait->[0]{first_ns} - $SLACK_NS : undef;
	for (@$open) {
		next if $_ == $first;
		my $t = $_->{list}[ $_->{at} ][0];
		$until = $t if !defined $until || $t < $until;
	}
	return $until;
}

# Walks at least one record, so that the merge always gets on.
sub _run {
	my ($self, $o, $until, $from, $to, $cb) = @_;
	my ($list, $s) = @$o{qw(list section)};
	do {
		my ($ts, $off, $len) = @{ $list->[ $o->{at}++ ] };
		$cb->($ts, substr(${ $o->{buf} }, $off, $len), $s, $s->{offset} + $off)
			if $ts >= $from && (!defined $to || $ts < $to);
	} while ($o->{at} < @$list && (!defined $until || $list->[ $o->{at} ][0] <= $until));
}

# each(CALLBACK, from_ns, to_ns, sources): the same, decoded: CALLBACK->(name, \%fields, { file,
# source, cpu, offset }).
# Records of unknown number are counted, not handed over.
sub each {
	my ($self, $cb, %o) = @_;
	$self->each_raw(
		sub {
			my ($ts, $bytes, $s, $off) = @_;
			my ($name, $f) = $self->{record}->decode(\$bytes, 0);
			if (!defined $name) { $self->unknown_seen($f->{type}, $s->{file}, $off); return }
			$cb->(
				$name, $f,
				{ file => $s->{file}, source => $s->{source}, cpu => $s->{cpu}, offset => $off }
			);
		},
		%o
	);
}

# Counts each unknown record once, however often it is met.
sub unknown_seen {
	my ($self, $type, $file, $off) = @_;
	my $key = "$file $off";
	$self->{unknown}{$type}++ if !$self->{unknown_at}{$key}++;
}

1;
