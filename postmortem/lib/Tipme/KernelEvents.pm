# SPDX-License-Identifier: GPL-2.0-only
# The kernel source's records of a stretch of time, in columns ordered by time: decoded in bulk,
# because there are many.
package Tipme::KernelEvents;

use strict;
use warnings;
no warnings 'portable';                 # numbers of 64 bits
use parent 'Tipme::Record::Columns';    # a method for each field, as in the schema
use Tipme::Columns;
use Tipme::Progress;

# Numbers of the records, as in the schema; all are 32 bytes long, later fields would stand behind.
# A record has the name of its constant, but for those that are written so often that they have a
# shorter one. (Those of Wayland compositors stand in the same sections.)
use constant {
	(map { uc($_) => $Tipme::Record::Columns::NUMBER{$_} } keys %Tipme::Record::Columns::NUMBER),
	SWITCH   => $Tipme::Record::Columns::NUMBER{sched_switch},
	WAKING   => $Tipme::Record::Columns::NUMBER{sched_waking},
	LOCK     => $Tipme::Record::Columns::NUMBER{lock_contention},
	MEMORY   => $Tipme::Record::Columns::NUMBER{memory_wait},
	THROTTLE => $Tipme::Record::Columns::NUMBER{cpu_throttle}
};
use constant { FIRST => SWITCH, LAST => NETWORK };
use constant CONTEXT => $Tipme::Record::Columns::SHIFT{sched_waking}{context};
my $SIZE    = 32;                                       # bytes of a switch record (abi/records.def)
my @SOURCES = qw(kernel_bpf kernel_module proc_sampled);
my $ODD_LENGTH = do { my $c = sprintf '\x%02x', $SIZE / 8; qr/[^$c]/s };
my $ODD_TYPE   = do {
	my ($a, $b, $c, $d) = map { sprintf '\x%02x', $_ } FIRST, LAST, WL_DELIVER, SCREEN_SHOWN;
	qr/[^$a-$b$c-$d]/s;
};
our $MANY = 2_000;      # records, from which on the pass over them is left to C
our $MUCH = 4 << 20;    # bytes, from which on the program finds some of them sooner than Perl
my $TID_AT   = 12;      # byte of a switch or a waking, for whom it is (abi/records.def)
my $OTHER_AT = 16;      # ... and of whom else
my $FEW      = 8;       # records away from where one was found last, the next one mostly is
# Records held at once: in memory, and in a mapped file. Beyond this the earliest sections are left
# out, and that is said.
my $MAX        = 4_000_000;
my $MAX_MAPPED = 16_000_000;    # records when the reader in C holds them in a mapped file

# Columns are strings of numbers of so many bits, for vec(): a tenth of the memory that lists of
# Perl take. a and d, b and c: of the 16 bytes behind the head the first and last, the second and
# third number; sec and nr: the section and which record of it, counted from 1.
my %BITS    = (ts => 64, type => 8, cpu => 16, map { $_ => 32 } qw(tid a b c d sec nr));
my @COLUMNS = sort keys %BITS;

# load(EPISODE, FROM, TO): the columns. Sections are loaded whole, and of each CPU one more before
# FROM, so that who ran at FROM is known.
# exact_from() is the time from which on all CPUs are complete.
sub load {
	my ($class, $ep, $from, $to) = @_;
	my $self = _empty($class, $ep, $from, $to);
	my @s    = $self->_choose($from, $to);
	my $n    = 0;
	$n += $_->{count} for @s;
	return $self if $n > $MANY && Tipme::Columns::fill($self, \@s);
	for my $k (0 .. $#s) {
		$self->_columns($s[$k], $self->normal($s[$k]));
		Tipme::Progress::show('reading records', $k, $#s + 1);
	}
	$self->_order;
	$self->_index;
	return $self;
}

# load_only(EPISODE, TYPE, ...): the records of some kinds, of the whole episode; others are not
# even decoded
sub load_only {
	my ($class, $ep, @types) = @_;
	my $self = _empty($class, $ep, 0, 1 << 62);
	$self->{exact_from} = 0;
	my @sections = $ep->sections_between(undef, undef, \@SOURCES);
	my $picked   = _picked($ep, \@sections, 'types', @types);
	for my $k (0 .. $#sections) {
		my ($found, @nr) =
			$picked
			? _by_types($picked->[$k], @types)
			: _with_types(plain($ep, $sections[$k]), @types);
		$self->_columns($sections[$k], $found);
		substr $self->{nr}, -4 * @nr, 4 * @nr, pack 'N*', @nr if @nr;
	}
	$self->_order;
	$self->_index;
	return $self;
}

# The records of some kinds in those of a section, kind by kind: (them, their numbers)
sub _with_types {
	my ($buf,   @types) = @_;
	my ($found, @nr)    = ('');
	for my $mark (map { pack 'CC', $_, $SIZE / 8 } @types) {
		for (my $at = index $buf, $mark; $at >= 0; $at = index $buf, $mark, $at + 1) {
			next if $at % $SIZE != 8 || $at + $SIZE - 8 > length $buf;
			$found .= substr $buf, $at - 8, $SIZE;
			push @nr, 1 + ($at - 8) / $SIZE;
		}
	}
	return ($found, @nr);
}

# The same, of what the program has picked.
sub _by_types {
	my ($picked, @types) = @_;
	my (%of, %nr);
	my @all = unpack "(Va$SIZE)*", $picked;
	while (my ($nr, $record) = splice @all, 0, 2) {
		my $type = vec $record, 8, 8;
		$of{$type} .= $record;
		push @{ $nr{$type} }, $nr;
	}
	return (join('', map { $_ // '' } @of{@types}), map { @{ $_ // [] } } @nr{@types});
}

# As Tipme::Columns::picked has it; undef where Perl has to look, or is faster
sub _picked {
	my ($ep, $sections, @what) = @_;
	my $bytes = 0;
	$bytes += $_->{body_len} for @$sections;
	return      if $bytes < $MUCH;
	_check($ep) if grep { !defined $_->{plain} } @$sections;
	return      if grep { !$_->{plain} } @$sections;
	return Tipme::Columns::picked($ep, $sections, @what);
}

# of_thread(EPISODE, TID): all records that have its number where a switch or a waking has one, as
# bytes, in the order of the sections
sub of_thread {
	my ($class, $ep, $tid) = @_;
	my @sections = $ep->sections_between(undef, undef, [qw(kernel_bpf kernel_module)]);
	my $picked   = _picked($ep, \@sections, 'tid', $tid);
	return join '', map { unpack "(x4a$SIZE)*", $_ } @$picked if $picked;
	my ($key, $found) = (pack('V', $tid), '');
	for my $s (@sections) {
		my ($buf, $last) = (plain($ep, $s), -1);
		for (my $at = index $buf, $key; $at >= 0; $at = index $buf, $key, $at + 1) {
			my ($field, $begin) = ($at % $SIZE, $at - $at % $SIZE);
			next if $field != $TID_AT && $field != $OTHER_AT || $begin == $last;
			next if $begin + $SIZE > length $buf;
			$found .= substr $buf, $last = $begin, $SIZE;
		}
	}
	return $found;
}

sub _empty {
	my ($class, $ep, $from, $to) = @_;
	return bless {
		ep => $ep, from => $from, to => $to, sections => [], left_out => 0,
		(map { $_ => '' } @COLUMNS), map { $_ => {} } qw(by_tid by_cpu by_kind lists)
	}, $class;
}

sub _choose {
	my ($self, $from, $to) = @_;
	my (%before, @in);
	for my $s ($self->{ep}->sections_between(undef, $to, \@SOURCES)) {
		my $old = $before{ _lane($s) };
		if ($s->{first_ns} <= $from) {
			$before{ _lane($s) } = $s;
			push @in, $old if $old && $old->{last_ns} >= $from;
		} else {
			push @in, $s;
		}
	}
	my @s = sort { $a->{first_ns} <=> $b->{first_ns} } @in, values %before;
	my $n = 0;
	my @keep;
	my $max = defined Tipme::Columns::program() ? $MAX_MAPPED : $MAX;
	for (reverse @s) {
		$n += $_->{count};
		if ($n > $max && @keep) { $self->{left_out} += $_->{count} }
		else                    { unshift @keep, $_ }
	}
	$self->_exact($from, \@keep);
	return @keep;
}

# Two sources may record side by side, each with sections of its own: a section of one says nothing
# about when the other's begin.
sub _lane { my ($s) = @_; return "$s->{cpu} $s->{source}" }

# Of each CPU and source: its first loaded record, or the beginning of its coverage where nothing
# was recorded on it before.
sub _exact {
	my ($self, $from, $keep) = @_;
	my (%first, %any);
	for (@$keep) {
		my $f = \$first{ _lane($_) };
		$$f = $_->{first_ns} if !defined $$f || $_->{first_ns} < $$f;
	}
	my $exact = 0;
	for my $c ($self->{ep}->coverage) {
		next if !grep { $_ eq $c->{source} } @SOURCES;
		my $f = $first{ _lane($c) };
		my $t = defined $f && $f > $c->{first_ns} && $f <= $from ? $f : $c->{first_ns};
		$t                = $f if defined $f && $self->{left_out} && $f > $t;
		$exact            = $t if $t > $exact;
		$any{ _lane($c) } = 1;
	}
	for my $lane (keys %first) { $exact = $first{$lane} if !$any{$lane} && $first{$lane} > $exact }
	$self->{exact_from} = $exact;
}

# plain(EPISODE, SECTION): the bytes of its records, each cut or padded to the 32 that we know. All
# who look into raw records take them from here: those of a later minor version may be longer.
sub plain {
	my ($ep, $s) = @_;
	_check($ep) if !defined $s->{plain};
	return $s->{plain} ? $ep->section_bytes($s) : normal({ ep => $ep }, $s);
}

sub _check {
	my ($ep) = @_;
	Tipme::Columns::check($ep, [ $ep->sections_between(undef, undef, \@SOURCES) ])
		if !$ep->{plain_checked}++;
	return;
}

# normal(SECTION): the same, of kinds that we know only; whatever is wrong with it is noted
sub normal {
	my ($self, $s) = @_;
	my $buf = $self->{ep}->section_bytes($s);
	# Strings of one byte a record: a regular expression passes them faster than any loop.
	my $whole = substr $buf, 0, $SIZE * int(length($buf) / $SIZE);
	$buf = _even($self, $s)
		if length($buf) % $SIZE || join('', unpack '(x9ax22)*', $whole) =~ $ODD_LENGTH;
	my $types = join '', unpack '(x8ax23)*', $buf;
	return $types =~ $ODD_TYPE ? _known($self, $s, $buf, [ unpack 'C*', $types ]) : $buf;
}

sub _columns {
	my ($self, $s, $buf) = @_;
	my $n = length($buf) / $SIZE or return;
	$self->{ts}   .= pack 'Q>*', unpack '(Q<x24)*', $buf;
	$self->{type} .= join '', unpack '(x8ax23)*', $buf;
	$self->{tid}  .= pack 'N*', unpack '(x12Vx16)*', $buf;
	$self->{a}    .= pack 'N*', unpack '(x16Vx12)*', $buf;
	$self->{b}    .= pack 'N*', unpack '(x20Vx8)*',  $buf;
	$self->{c}    .= pack 'N*', unpack '(x24Vx4)*',  $buf;
	$self->{d}    .= pack 'N*', unpack '(x28V)*',    $buf;
	$self->{cpu}  .= pack('n', $s->{cpu} & 0xffff) x $n;
	$self->{sec}  .= pack('N', scalar @{ $self->{sections} }) x $n;
	$self->{nr}   .= pack 'N*', 1 .. $n;
	push @{ $self->{sections} }, $s;
}

# Records that are longer (a later minor) or shorter (an older one): their first 32 bytes.
sub _even {
	my ($self, $s)   = @_;
	my ($list, $buf) = $self->{ep}->section_records($s);
	my @plain;
	for my $r (sort { $a->[1] <=> $b->[1] } @$list) {
		push @plain, pack "a$SIZE", substr $$buf, $r->[1], $r->[2] < $SIZE ? $r->[2] : $SIZE;
		substr $plain[-1], 9, 1, chr $SIZE / 8;    # as long as it is now
	}
	return join '', @plain;
}

sub _known {
	my ($self, $s, $buf, $type) = @_;
	my $out = '';
	for my $i (0 .. $#$type) {
		if (   $type->[$i] >= FIRST && $type->[$i] <= LAST
			|| $type->[$i] >= WL_DELIVER && $type->[$i] <= SCREEN_SHOWN)
		{
			$out .= substr $buf, $SIZE * $i, $SIZE;
		} else {
			$self->{ep}->unknown_seen($type->[$i], $s->{file}, $s->{offset} + $SIZE * $i);
		}
	}
	return $out;
}

# One order of time over all CPUs. Sections are nearly sorted runs, which merge sort is quick with.
sub _order {
	my ($self) = @_;
	my @ts     = unpack 'Q>*', $self->{ts};
	my @o      = sort { $ts[$a] <=> $ts[$b] } 0 .. $#ts;
	pop @o while @o && $ts[ $o[-1] ] > $self->{to};
	for my $c (@COLUMNS) {
		my $template =
			$BITS{$c} == 64 ? 'Q>*' : $BITS{$c} == 32 ? 'N*' : $BITS{$c} == 16 ? 'n*' : 'C*';
		$self->{$c} = pack $template, (unpack $template, $self->{$c})[@o];
	}
}

# by_tid: indices of the events that a thread took part in; by_cpu: indices of the switches;
# by_kind: forks, renames, works. Packed, too.
sub _index {
	my ($self) = @_;
	my (%tid, %cpu, %kind);
	my @tid = unpack 'N*', $self->{tid};
	my @a   = unpack 'N*', $self->{a};
	my @cpu = unpack 'n*', $self->{cpu};
	my $i   = -1;
	for my $t (unpack 'C*', $self->{type}) {
		$i++;
		if ($t == SWITCH) {
			push @{ $tid{ $tid[$i] } }, $i if $tid[$i];
			push @{ $tid{ $a[$i] } },   $i if $a[$i];
			push @{ $cpu{ $cpu[$i] } }, $i;
		} elsif ($t == WAKING) {
			push @{ $tid{ $tid[$i] } }, $i;
		} elsif ($t == FORK) {
			push @{ $tid{ $a[$i] } }, $i;
			push @{ $kind{$t} },      $i;
		} else {
			push @{ $kind{$t} }, $i;
		}
	}
	for my $p ([ by_tid => \%tid ], [ by_cpu => \%cpu ], [ by_kind => \%kind ]) {
		$self->{ $p->[0] } = { map { $_ => pack 'N*', @{ $p->[1]{$_} } } keys %{ $p->[1] } };
	}
}

sub count      { return length($_[0]{type}) }
sub exact_from { return $_[0]{exact_from} }
sub left_out   { return $_[0]{left_out} }

sub tids {
	return sort { $a <=> $b } keys %{ $_[0]{by_tid} };
}

sub cpus {
	return sort { $a <=> $b } keys %{ $_[0]{by_cpu} };
}

# of_tid(TID), of_kind(TYPE): indices, as a list of Perl; of_cpu(CPU): of the switches there, a
# reference to a string for vec(), as there are many
sub of_tid  { return $_[0]{lists}{"t$_[1]"} //= [ unpack 'N*', $_[0]->packed_of_tid($_[1]) ] }
sub episode { return $_[0]{ep} }
sub of_kind { return $_[0]{lists}{"k$_[1]"} //= [ unpack 'N*', $_[0]{by_kind}{ $_[1] } // '' ] }
sub of_cpu  { return \($_[0]{by_cpu}{ $_[1] } // '') }

# packed_of_tid(TID): the same as of_tid(), as a string; of mapped columns it is a part of one list
sub packed_of_tid {
	my ($self, $tid) = @_;
	my $list = $self->{by_tid}{$tid} // return '';
	return ref $list
		? substr ${ $self->{all_by_tid} }, 4 * $list->[0], 4 * ($list->[1] - $list->[0])
		: $list;
}

# evidence(INDEX): where the record stands: { file, record (counted in its file from 1), ts_ns }
sub evidence {
	my ($self, $i) = @_;
	my $s = $self->{sections}[ vec $self->{sec}, $i, 32 ];
	return {
		file  => $s->{file}, record => $s->{number} + vec($self->{nr}, $i, 32),
		ts_ns => vec($self->{ts}, $i, 64)
	};
}

# work(INDEX): of a work record: the numbers of the work item and of its function, which stand at
# the same place in all three
sub work {
	my ($self, $i) = @_;
	return ($self->work_queued_work($i), $self->work_queued_function($i));
}

# What a record says, by INDEX: kind (one of the numbers above), ts (ns), cpu; tid: who leaves the
# CPU (switch), is woken (waking), made a thread (fork), or did something (all else).
sub kind { return vec $_[0]{type}, $_[1], 8 }
sub ts   { return vec $_[0]{ts},   $_[1], 64 }
sub cpu  { return vec $_[0]{cpu},  $_[1], 16 }
sub tid  { return vec $_[0]{tid},  $_[1], 32 }

# Of one kind: next_tid: who comes to the CPU (switch); child (fork); waker: whom the kernel was
# running then, and context: the number of a `context`, 0: a thread (waking)
sub next_tid { return vec $_[0]{a}, $_[1], 32 }
sub child    { return vec $_[0]{a}, $_[1], 32 }
sub waker    { return vec $_[0]{a}, $_[1], 32 }
sub context  { return vec($_[0]{d}, $_[1], 32) >> CONTEXT & 255 }

# wakings(FROM, TO, BY): [ whom, when, by whom ] of the wakings by threads in [FROM, TO) ns, in
# order of time; BY: those by that thread alone
sub wakings {
	my ($self, $from, $to, $by)   = @_;
	my ($ts, $type, $tid, $a, $d) = map { \$_ } @$self{qw(ts type tid a d)};
	my ($n, @found)               = ($self->count);
	for (my $k = $self->first_at($from); $k < $n; $k++) {
		my $t = vec $$ts, $k, 64;
		last if $t >= $to;
		next if vec($$type, $k, 8) != WAKING || (vec($$d, $k, 32) >> CONTEXT & 255);
		my $who = vec $$a, $k, 32;
		push @found, [ vec($$tid, $k, 32), $t, $who ] if !defined $by || $who == $by;
	}
	return @found;
}

# columns(INDEX): ts tid a b c d, for tests; all else asks for fields by their names
# (Tipme::Record::Columns)
sub columns {
	my ($self, $i) = @_;
	return (
		vec($self->{ts}, $i, 64), vec($self->{tid}, $i, 32), vec($self->{a}, $i, 32),
		vec($self->{b},  $i, 32), vec($self->{c},   $i, 32), vec($self->{d}, $i, 32)
	);
}

# bytes(INDEX): a record's last 16 bytes, for those that ask for odd fields
sub bytes { my ($self, $i) = @_; return pack 'V4', ($self->columns($i))[ 2 .. 5 ] }

# is_mapped(): are the columns in a file, and not in our memory?
sub is_mapped { return defined $_[0]{columns_file} ? 1 : 0 }

# release(): of mapped columns, our memory need not hold what was looked at: the kernel's cache has
# it
sub release {
	my ($self) = @_;
	return if !$self->{columns_file};
	for my $c (@COLUMNS) { File::Map::advise($self->{$c}, 'dontneed') if length $self->{$c} }
	return;
}

# count_between(FROM, TO): how many records there are in [FROM, TO)
sub count_between {
	my ($self, $from, $to) = @_;
	return $self->first_at($to) - $self->first_at($from);
}

# switches_between(CPU, FROM, TO): how many switches a CPU has in [FROM, TO)
sub switches_between {
	my ($self, $cpu, $from, $to) = @_;
	my $list = $self->of_cpu($cpu);
	return $self->last_before($list, $to) - $self->last_before($list, $from);
}

# count_types(FROM, TO): { record number => how many there are in [FROM, TO) }; each kind but that
# of wakings has lists of its own
sub count_types {
	my ($self, $from, $to) = @_;
	my ($first, $end) = ($self->first_at($from), $self->first_at($to));
	my %n;
	$n{ +SWITCH } += _positions($_, $end) - _positions($_, $first)
		for map { \$_ } values %{ $self->{by_cpu} };
	$n{$_} += _positions(\$self->{by_kind}{$_}, $end) - _positions(\$self->{by_kind}{$_}, $first)
		for keys %{ $self->{by_kind} };
	my $rest = $end - $first;
	$rest -= $_ for values %n;
	$n{ +WAKING } = $rest;
	return { map { $n{$_} ? ($_ => $n{$_}) : () } keys %n };
}

# How many indices of a list are below I.
sub _positions {
	my ($list, $i)  = @_;
	my ($lo,   $hi) = (0, length($$list) / 4);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   (vec($$list, $m, 32) < $i) { $lo = $m + 1 }
		else                            { $hi = $m }
	}
	return $lo;
}

# first_at(TIME): index of the first record at or after TIME
sub first_at {
	my ($self, $t)  = @_;
	my ($lo,   $hi) = (0, $self->count);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   (vec($self->{ts}, $m, 64) < $t) { $lo = $m + 1 }
		else                                 { $hi = $m }
	}
	return $lo;
}

# last_before(INDICES, TIME, NEAR): position, in what of_tid() or of_cpu() has, of the last one that
# is before TIME, or -1; NEAR: where it may be, so that whoever asks for one time after the other is
# answered at once
sub last_before {
	my ($self, $list, $t, $near) = @_;
	my $packed = ref $list ne 'ARRAY';
	my ($lo, $hi) = (0, $packed ? length($$list) / 4 : scalar @$list);
	if ($packed && defined $near && $near >= 0 && $near < $hi) {
		my ($from, $to) =
			($near > $FEW ? $near - $FEW : 0, $near + $FEW < $hi ? $near + $FEW : $hi - 1);
		$lo = $from if vec($self->{ts}, vec($$list, $from, 32), 64) < $t;
		$hi = $to   if vec($self->{ts}, vec($$list, $to,   32), 64) >= $t;
	}
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if (vec($self->{ts}, $packed ? vec($$list, $m, 32) : $list->[$m], 64) < $t) { $lo = $m + 1 }
		else                                                                        { $hi = $m }
	}
	return $lo - 1;
}

1;
