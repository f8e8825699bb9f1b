# SPDX-License-Identifier: GPL-2.0-only
# The kernel source's records of a stretch of time, in columns ordered by time: decoded in bulk, because there are many.
package Tipme::KernelEvents;

use strict;
use warnings;
use Tipme::Progress;

# Numbers of the records, as in the schema; all are 32 bytes long, later fields would stand behind.
use constant { SWITCH => 3, WAKING => 4, FORK => 5, EXIT => 6, EXEC => 7, RENAME => 8, WORK_QUEUED => 9, WORK_START => 10, WORK_END => 11,
	IO => 12, LOCK => 13, MEMORY => 14, IRQ => 15, SIGNAL => 16, THROTTLE => 17, PRIORITY => 18, MIGRATE => 19, CPU_FREQUENCY => 20, CPU_IDLE => 21,
	STEAL => 22, SAMPLE => 23, INPUT => 24, LATENCY => 25, LATENCY_USER => 26, PROC_STATE => 27 };
use constant { FIRST => SWITCH, LAST => PROC_STATE };
my $SIZE    = 32;
my @SOURCES = qw(kernel_bpf kernel_module proc_sampled);
my $ODD_LENGTH = do { my $c = sprintf '\x%02x', $SIZE / 8; qr/[^$c]/s };
my $ODD_TYPE   = do { my ($a, $b) = map { sprintf '\x%02x', $_ } FIRST, LAST; qr/[^$a-$b]/s };
my $MAX     = 4_000_000;    # records held at once; beyond this the earliest sections are left out, and that is said

# load(EPISODE, FROM, TO): columns ts type tid a d cpu (a and d: of the 16 bytes behind the head the first and last number), and b and c, packed.
# Sections are loaded whole, and of each CPU one more before FROM, so that who ran at FROM is known. exact_from() is the time
# from which on all CPUs are complete.
sub load {
	my ($class, $ep, $from, $to) = @_;
	my $self = bless { ep => $ep, from => $from, to => $to, sections => [], left_out => 0,
		(map { $_ => [] } qw(ts type tid a d cpu)), map { $_ => '' } qw(b c sec nr) }, $class;
	my @s = $self->_choose($from, $to);
	for my $k (0 .. $#s) { $self->_load_section($s[$k]); Tipme::Progress::show('reading records', $k, $#s + 1) }
	$self->_order;
	$self->_index;
	return $self;
}

# load_only(EPISODE, TYPE): the records of one kind, of the whole episode; others are not even decoded
sub load_only {
	my ($class, $ep, $type) = @_;
	my $self = bless { ep => $ep, from => 0, to => 1 << 62, sections => [], left_out => 0, exact_from => 0, (map { $_ => [] } qw(ts type tid a d cpu)), map { $_ => '' } qw(b c sec nr) }, $class;
	for my $s ($ep->sections_between(undef, undef, \@SOURCES)) {
		my $buf = $ep->section_bytes($s);
		my $found = '';
		my $mark = pack 'CC', $type, $SIZE / 8;
		for (my $at = index $buf, $mark; $at >= 0; $at = index $buf, $mark, $at + 1) { $found .= substr $buf, $at - 8, $SIZE if $at % $SIZE == 8 && $at + $SIZE - 8 <= length $buf }
		$self->_columns($s, $found, [ unpack '(x8Cx23)*', $found ]);
	}
	$self->_order;
	$self->_index;
	return $self;
}

sub _choose {
	my ($self, $from, $to) = @_;
	my (%before, @in);
	for my $s ($self->{ep}->sections_between(undef, $to, \@SOURCES)) {
		my $old = $before{ _lane($s) };
		if ($s->{first_ns} <= $from) { $before{ _lane($s) } = $s; push @in, $old if $old && $old->{last_ns} >= $from }
		else                         { push @in, $s }
	}
	my @s = sort { $a->{first_ns} <=> $b->{first_ns} } @in, values %before;
	my $n = 0;
	my @keep;
	for (reverse @s) { $n += $_->{count}; if ($n > $MAX && @keep) { $self->{left_out} += $_->{count} } else { unshift @keep, $_ } }
	$self->_exact($from, \@keep);
	return @keep;
}

# Two sources may record side by side, each with sections of its own: a section of one says nothing about when the other's begin.
sub _lane { my ($s) = @_; return "$s->{cpu} $s->{source}" }

# Of each CPU and source: its first loaded record, or the beginning of its coverage where nothing was recorded on it before.
sub _exact {
	my ($self, $from, $keep) = @_;
	my (%first, %any);
	for (@$keep) { my $f = \$first{ _lane($_) }; $$f = $_->{first_ns} if !defined $$f || $_->{first_ns} < $$f }
	my $exact = 0;
	for my $c ($self->{ep}->coverage) {
		next if !grep { $_ eq $c->{source} } @SOURCES;
		my $f = $first{ _lane($c) };
		my $t = defined $f && $f > $c->{first_ns} && $f <= $from ? $f : $c->{first_ns};
		$t = $f if defined $f && $self->{left_out} && $f > $t;
		$exact = $t if $t > $exact;
		$any{ _lane($c) } = 1;
	}
	for my $lane (keys %first) { $exact = $first{$lane} if !$any{$lane} && $first{$lane} > $exact }
	$self->{exact_from} = $exact;
}

sub _load_section {
	my ($self, $s) = @_;
	my $buf = $self->{ep}->section_bytes($s);
	# Strings of one byte a record: a regular expression passes them faster than any loop.
	my $whole = substr $buf, 0, $SIZE * int(length($buf) / $SIZE);
	$buf = $self->_even($s) if length($buf) % $SIZE || join('', unpack '(x9ax22)*', $whole) =~ $ODD_LENGTH;
	my $types = join '', unpack '(x8ax23)*', $buf;
	$buf = $self->_known($s, $buf, [ unpack 'C*', $types ]) if $types =~ $ODD_TYPE;
	my @type = unpack '(x8Cx23)*', $buf;
	$self->_columns($s, $buf, \@type);
}

sub _columns {
	my ($self, $s, $buf, $type) = @_;
	my @type = @$type or return;
	push @{ $self->{type} }, @type;
	push @{ $self->{ts} },  unpack '(Q<x24)*',      $buf;
	push @{ $self->{tid} }, unpack '(x12Vx16)*',    $buf;
	push @{ $self->{a} },   unpack '(x16Vx12)*',    $buf;
	push @{ $self->{d} },   unpack '(x28V)*',       $buf;
	push @{ $self->{cpu} }, ($s->{cpu}) x @type;
	# What is asked of a few of them only (where each stands, two of its fields) is packed: that takes an eighth of the memory.
	$self->{b}   .= pack 'N*', unpack '(x20Vx8)*', $buf;
	$self->{c}   .= pack 'N*', unpack '(x24Vx4)*', $buf;
	$self->{sec} .= pack('N', scalar @{ $self->{sections} }) x @type;
	$self->{nr}  .= pack 'N*', 1 .. @type;
	push @{ $self->{sections} }, $s;
}

# Records that are longer (a later minor) or shorter (an older one): their first 32 bytes.
sub _even {
	my ($self, $s) = @_;
	my ($list, $buf) = $self->{ep}->section_records($s);
	return join '', map { pack "a$SIZE", substr $$buf, $_->[1], $_->[2] < $SIZE ? $_->[2] : $SIZE } sort { $a->[1] <=> $b->[1] } @$list;
}

sub _known {
	my ($self, $s, $buf, $type) = @_;
	my $out = '';
	for my $i (0 .. $#$type) {
		if ($type->[$i] >= FIRST && $type->[$i] <= LAST) { $out .= substr $buf, $SIZE * $i, $SIZE }
		else                                                  { $self->{ep}->unknown_seen($type->[$i], $s->{file}, $s->{offset} + $SIZE * $i) }
	}
	return $out;
}

# One order of time over all CPUs. Sections are nearly sorted runs, which merge sort is quick with.
sub _order {
	my ($self) = @_;
	my $ts = $self->{ts};
	my @o = sort { $ts->[$a] <=> $ts->[$b] } 0 .. $#$ts;
	my $to = $self->{to};
	pop @o while @o && $ts->[ $o[-1] ] > $to;
	for my $c (qw(ts type tid a d cpu)) { my @new = @{ $self->{$c} }[@o]; $self->{$c} = \@new }
	for my $c (qw(b c sec nr)) { $self->{$c} = pack 'N*', (unpack 'N*', $self->{$c})[@o] }
}

# by_tid: indices of the events that a thread took part in; by_cpu: indices of the switches; by kind: forks, renames, works.
sub _index {
	my ($self) = @_;
	my ($type, $tid, $a, $cpu) = @$self{qw(type tid a cpu)};
	my (%tid, %cpu, %kind);
	for my $i (0 .. $#$type) {
		my $t = $type->[$i];
		if ($t == SWITCH) {
			push @{ $tid{ $tid->[$i] } }, $i if $tid->[$i];
			push @{ $tid{ $a->[$i] } },   $i if $a->[$i];
			push @{ $cpu{ $cpu->[$i] } }, $i;
		}
		elsif ($t == WAKING) { push @{ $tid{ $tid->[$i] } }, $i }
		elsif ($t == FORK)   { push @{ $tid{ $a->[$i] } }, $i; push @{ $kind{$t} }, $i }
		else                 { push @{ $kind{$t} }, $i }
	}
	@$self{qw(by_tid by_cpu by_kind)} = (\%tid, \%cpu, \%kind);
}

sub count      { return scalar @{ $_[0]{ts} } }
sub exact_from { return $_[0]{exact_from} }
sub left_out   { return $_[0]{left_out} }
sub tids       { return sort { $a <=> $b } keys %{ $_[0]{by_tid} } }
sub cpus       { return sort { $a <=> $b } keys %{ $_[0]{by_cpu} } }
sub of_tid     { return $_[0]{by_tid}{ $_[1] } // [] }
sub of_cpu     { return $_[0]{by_cpu}{ $_[1] } // [] }
sub of_kind    { return $_[0]{by_kind}{ $_[1] } // [] }

# evidence(INDEX): where the record stands: { file, record (counted in its file from 1), ts_ns }
sub evidence {
	my ($self, $i) = @_;
	my $s = $self->{sections}[ vec $self->{sec}, $i, 32 ];
	return { file => $s->{file}, record => $s->{number} + vec($self->{nr}, $i, 32), ts_ns => $self->{ts}[$i] };
}

# work(INDEX): of a work record: the work item as one key, and the low half of its function's address
sub work { my ($self, $i) = @_; return ($self->{a}[$i] | $self->b($i) << 32, $self->c($i)) }

# b(INDEX), c(INDEX): the second and third number of a record's last 16 bytes; columns(INDEX): ts tid a b c d
sub b { return vec $_[0]{b}, $_[1], 32 }
sub c { return vec $_[0]{c}, $_[1], 32 }
sub columns { my ($self, $i) = @_; return ($self->{ts}[$i], $self->{tid}[$i], $self->{a}[$i], $self->b($i), $self->c($i), $self->{d}[$i]) }

# text(INDEX): the text that fills a record's last 16 bytes (rename)
sub text { my ($self, $i) = @_; return unpack 'Z16', $self->bytes($i) }

# bytes(INDEX): a record's last 16 bytes, for those that ask for odd fields
sub bytes { my ($self, $i) = @_; return pack 'V4', ($self->columns($i))[ 2 .. 5 ] }

# count_between(FROM, TO): how many records there are in [FROM, TO)
sub count_between { my ($self, $from, $to) = @_; return _lower($self->{ts}, $to) - _lower($self->{ts}, $from) }

# count_types(FROM, TO): { record number => how many there are in [FROM, TO) }
sub count_types {
	my ($self, $from, $to) = @_;
	my %n;
	my ($types, $end) = ($self->{type}, _lower($self->{ts}, $to));
	for (my $i = _lower($self->{ts}, $from); $i < $end; $i++) { $n{ $types->[$i] }++ }
	return \%n;
}

# first_at(TIME): index of the first record at or after TIME
sub first_at { my ($self, $t) = @_; return _lower($self->{ts}, $t) }

sub _lower {
	my ($list, $x) = @_;
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) { my $m = ($lo + $hi) >> 1; if ($list->[$m] < $x) { $lo = $m + 1 } else { $hi = $m } }
	return $lo;
}

# last_before(\INDICES, TIME): position in a list of indices of the last one that is before TIME, or -1
sub last_before {
	my ($self, $list, $t) = @_;
	my $ts = $self->{ts};
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) { my $m = ($lo + $hi) >> 1; if ($ts->[ $list->[$m] ] < $t) { $lo = $m + 1 } else { $hi = $m } }
	return $lo - 1;
}

1;
