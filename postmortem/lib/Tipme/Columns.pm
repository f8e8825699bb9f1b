# SPDX-License-Identifier: GPL-2.0-only
# Many records as columns: the program tipme-columns makes them in a file that is mapped here, so
# that only what is looked at takes memory.
package Tipme::Columns;

use strict;
use warnings;
use Errno   ();
use Fcntl   qw(F_SETFD);
use FindBin ();
use POSIX   ();
use Tipme::Progress;

my $HEADER       = 64;    # bytes, as of each entry behind it (docs/formats.md, "A file of columns")
my $PICKED       = 36;    # bytes of the number of a record, and of the record
my $COLUMNS_MOST = 256;   # columns of one file; the reader in C makes some 20
my @COLUMNS      = qw(ts type cpu tid a b c d sec nr);
my $CAN_MAP      = eval { require File::Map; 1 };

# program(): where it is; undef: nowhere, as in a tree that was not built, or where no file can be
# mapped
sub program {
	return if !$CAN_MAP;
	my ($found) =
		grep {-x} (
		length($ENV{TIPME_BUILDDIR} // '') ? "$ENV{TIPME_BUILDDIR}/postmortem/tipme-columns" : ()),
		"$FindBin::RealBin/tipme-columns";
	return $found;
}

# fill(KERNEL EVENTS, \SECTIONS): columns and lists of all records of these sections up to {to}. 0:
# it could not; then nothing has changed.
sub fill {
	my ($ev, $sections) = @_;
	return 0 if !defined program() || $ev->{to} < 0;
	# Without a name, so that nothing is left behind.
	open my $file, '+>', undef or return 0;
	my $odd = _ask($ev->{ep}, $sections, [$file], 'columns', fileno $file, sprintf '%d', $ev->{to});
	return 0 if !defined $odd;
	Tipme::Progress::show('reading records', 1, 2);
	my $columns = _directory($file) or return 0;
	_map($ev, $columns, $file);
	$ev->{sections}     = [@$sections];
	$ev->{columns_file} = $file;
	_say_what_is_odd($ev, $sections, $odd);
	return 1;
}

# check(EPISODE, \SECTIONS): notes of each section whether all of it are records of 32 bytes and of
# known kinds
sub check {
	my ($ep, $sections) = @_;
	my $odd = defined program() ? _ask($ep, $sections, [], 'check') : undef;
	return if !defined $odd;
	for my $k (0 .. $#$sections) { $sections->[$k]{plain} = substr($odd, $k, 1) eq "\0" }
	return;
}

# picked(EPISODE, \SECTIONS, 'tid', TID or 'types', NUMBERS): their records of that thread (in the
# fields that switches and wakings have), or of these kinds. Of each section a string of what is
# found: of each record its number, of 32 bits, and its 32 bytes. None of the sections may be odd.
# undef: the program cannot.
sub picked {
	my ($ep, $sections, $what, @numbers) = @_;
	defined program() or return;
	my $all    = sub { local $/; readline $_[0] };
	my $answer = _answer($ep, $sections, [], $all, 'picked', $what, join ',', @numbers) // return;
	my ($at, @found) = (0);
	for (@$sections) {
		return if $at + 4 > length $answer;
		my $n = unpack 'V', substr $answer, $at, 4;
		push @found, substr $answer, $at + 4, $n * $PICKED;
		$at += 4 + $n * $PICKED;
	}
	return $at == length $answer ? \@found : undef;
}

# perfetto(EPISODE, FILE HANDLE, FROM, TO, WITHOUT): a trace, as Tipme::Export::Perfetto has it:
# (records written, records without a place there); () where the program cannot; dies with the error
# of writing.
sub perfetto {
	my ($ep, $to_file, $from, $to, $without) = @_;
	defined program() or return;
	local ($SIG{PIPE}, $?) = ('IGNORE', 0);
	my ($pid, $in, $out) = _start(
		[$to_file], 'perfetto', $ep->dir, fileno $to_file, sprintf('%d', $from),
		defined $to ? sprintf('%d', $to) : '18446744073709551615',
		$without    ? 'x'                : 'all'
	) or return;
	close $in;
	my $answer = do { local $/; <$out> }
		// '';
	close $out;
	waitpid $pid, 0;

	if ($answer =~ /^errno (\d+)$/) {
		local $! = $1;
		die "$!\n" if $!{ENOSPC} || $!{EDQUOT} || $!{EFBIG} || $!{EIO};
	}
	return !$? && $answer =~ /^(\d+) (\d+)$/ ? ($1, $2) : ();
}

# Where something is wrong with records, the reader in Perl says what: it has the words.
sub _say_what_is_odd {
	my ($ev, $sections, $odd) = @_;
	for my $k (0 .. $#$sections) {
		$sections->[$k]{plain} = substr($odd, $k, 1) eq "\0";
		$ev->normal($sections->[$k]) if !$sections->[$k]{plain};
	}
	return;
}

# sums(KERNEL EVENTS, \@ROWS, \@STRETCHES): who had the CPUs. ROWS, [ tid, from ], say from when on
# a thread counts apart; STRETCHES are
# [ cpu, from, to ]. Of each stretch a list of { tid, ns, longest_ns, longest_from }; undef: the
# program cannot.
sub sums {
	my ($ev, $rows, $stretches) = @_;
	my $answer = _occupancy($ev, [ map { [ @$_, 0, 0 ] } @$rows ], $stretches, 'sums') // return;
	my ($at, @sums) = (0);
	for (@$stretches) {
		my $n  = unpack 'V', substr $answer, $at, 4;
		my @of = unpack '(V Q< Q< Q<)*', substr $answer, $at + 4, 28 * $n;
		push @sums, [
			map {
				{
					tid => $of[ 4 * $_ ], ns => $of[ 4 * $_ + 1 ], longest_ns => $of[ 4 * $_ + 2 ],
					longest_from => $of[ 4 * $_ + 3 ]
				}
			} 0 .. $n - 1
		];
		$at += 4 + 28 * $n;
	}
	return \@sums;
}

# runs(KERNEL EVENTS, \@ROWS, \@STRETCHES, FROM, TO, WIDTH): what of it a picture of WIDTH pixels
# shows. ROWS are [ tid, from, rank, number ]; who has no row is not drawn. Of each stretch a list
# of [ column, column, number ], half-open; undef: the program cannot.
sub runs {
	my ($ev, $rows, $stretches, $from, $to, $width) = @_;
	my $answer =
		_occupancy($ev, $rows, $stretches, 'runs', map { sprintf '%d', $_ } $from, $to, $width)
		// return;
	my ($at, @runs) = (0);
	for (@$stretches) {
		my $n  = unpack 'V',  substr $answer, $at, 4;
		my @of = unpack 'V*', substr $answer, $at + 4, 12 * $n;
		push @runs, [ map { [ @of[ 3 * $_ .. 3 * $_ + 2 ] ] } 0 .. $n - 1 ];
		$at += 4 + 12 * $n;
	}
	return \@runs;
}

# turns(KERNEL EVENTS, \%ONE BY ONE, TID, IS IT REAL-TIME?, LENGTH, [ CPU, FROM, TO ]): who had a
# CPU instead of a thread, in runs of turns of at most LENGTH ns. Returns code that gives one { run,
# from, to, ns, tid, index, prio, settled } after the other, by time: of each thread in a run its
# first turn, with the time of all of them (ONE BY ONE: of these each turn); run 0 is a turn of the
# thread itself, or of nobody. settled: it came with that priority, and left with it. And a list, by
# number from 1 on, [ when a run ended, its last switch ]. Undef: the program cannot.
sub turns {
	my ($ev, $single, $tid, $real_time, $length, $stretch) = @_;
	my $shift  = $Tipme::Record::Columns::SHIFT{sched_switch};
	my $answer = _occupancy(
		$ev, [ map { [ $_, 0, 0, 0 ] } keys %$single ],
		[$stretch], 'turns', $tid, $real_time ? 1 : 0, sprintf('%.17g', $length),
		@$shift{qw(next_prio prev_prio)}
	) // return;
	my ($runs) = unpack 'V', $answer;
	my $at     = 8 + 12 * $runs;
	my @ends   = map { [ unpack 'Q< V', substr $answer, 8 + 12 * $_, 12 ] } 0 .. $runs - 1;
	my $next   = sub {
		return if $at >= length $answer;
		my %turn;
		@turn{qw(from to ns run tid index prio settled)} = unpack 'Q< Q< Q< V5',
			substr $answer, $at, 44;
		$at += 44;
		return \%turn;
	};
	return ($next, [ undef, @ends ]);
}

sub _occupancy {
	my ($ev, $rows, $stretches, $mode, @args) = @_;
	my $file = $ev->{columns_file} // return;
	defined program() or return;
	my $request = pack('V', scalar @$rows) . join(
		'',
		map { pack 'V Q< V V', @$_ } sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @$rows
		)
		. pack('V', scalar @$stretches)
		. join '', map { pack 'V Q< Q<', @$_ } @$stretches;
	local ($SIG{PIPE}, $?) = ('IGNORE', 0);
	my ($pid, $in, $out) = _start([$file], $mode, fileno $file, @args) or return;
	my $answer = eval { _put($in, $request); close $in; local $/; <$out> };
	close $in;
	close $out;
	waitpid $pid, 0;
	return $? ? undef : $answer;
}

# A byte for each section, as the program answers, or undef.
sub _ask {
	my ($ep, $sections, $handles, @args) = @_;
	return _answer($ep, $sections, $handles, sub { _get($_[0], scalar @$sections) }, @args);
}

# What the program answers to sections, as READ(handle) takes it, or undef. It reads the files that
# are open here: what was looked at is what it gets.
sub _answer {
	my ($ep, $sections, $handles, $read, @args) = @_;
	local ($SIG{PIPE}, $?) = ('IGNORE', 0);
	my ($pid, $in, $out) = _start(
		[ @$handles, map { $ep->handle($_) } keys %{ { map { $_->{file} => 1 } @$sections } } ],
		@args
	) or return;
	my $request = pack('V', scalar @$sections) . join '', map {
		pack 'V Q< V V', fileno($ep->handle($_->{file})), $_->{offset}, $_->{body_len}, $_->{cpu}
	} @$sections;
	my $answer = eval { _put($in, $request); close $in; $read->($out) };
	close $in;
	close $out;
	waitpid $pid, 0;
	return $? ? undef : $answer;
}

sub _start {
	my ($handles, @args) = @_;
	pipe(my $from_us, my $in) && pipe(my $out, my $to_us) or return;
	my $program = program();
	my $pid     = fork // return;
	if (!$pid) {
		fcntl $_, F_SETFD, 0 for @$handles;
		POSIX::dup2(fileno $from_us, 0);
		POSIX::dup2(fileno $to_us,   1);
		{ no warnings 'exec'; exec {$program} $program, @args }
		POSIX::_exit(127);
	}
	binmode $_ for $in, $out;
	return ($pid, $in, $out);
}

# The columns of a file: { "TABLE NAME" => { width, rows, offset } }; undef: it is none
sub _directory {
	my ($file) = @_;
	my $header = _at($file, 0, $HEADER);
	my ($magic, $order, $major, undef, undef, $n) = unpack 'a8 V v v V V', $header;
	return
		   if length $header < $HEADER
		|| $magic ne 'TIPMECOL'
		|| $order != 0x04030201
		|| $major != 1
		|| $n > $COLUMNS_MOST;
	my %columns;
	for my $entry (unpack "(a$HEADER)$n", _at($file, $HEADER, $HEADER * $n)) {
		my ($table, $name, $width, undef, $rows, $offset) = unpack 'Z16 Z16 V V Q< Q<', $entry;
		return if $offset + $rows * $width > -s $file;
		$columns{"$table $name"} = { width => $width, rows => $rows, offset => $offset };
	}
	return \%columns;
}

sub _at {
	my ($file, $offset, $n) = @_;
	seek $file, $offset, 0 or return '';
	my $bytes = "";
	read($file, $bytes, $n);
	return $bytes;
}

# A column, mapped, as a reference. Nothing can be mapped where nothing is.
sub _column {
	my ($file, $c) = @_;
	my $mapped = '';
	File::Map::map_handle($mapped, $file, '<', $c->{offset}, $c->{width} * $c->{rows})
		if $c->{rows};
	return \$mapped;
}

sub _map {
	my ($ev, $columns, $file) = @_;
	for my $name (@COLUMNS) {
		my $c = $columns->{"events $name"};
		if ($c->{rows}) {
			File::Map::map_handle($ev->{$name}, $file, '<', $c->{offset}, $c->{width} * $c->{rows});
		} else {
			$ev->{$name} = '';
		}
	}
	for my $table (qw(by_tid by_cpu by_kind)) {
		my @key   = unpack 'N*', ${ _column($file, $columns->{"$table key"}) };
		my @first = unpack 'N*', ${ _column($file, $columns->{"$table first"}) };
		my $index = $columns->{"$table index"};
		my %lists;
		# There are many threads: all their lists are one mapping, of which parts are taken when
		# asked for.
		if ($table eq 'by_tid') {
			%lists = map { $key[$_] => [ @first[ $_, $_ + 1 ] ] } 0 .. $#key;
			$ev->{all_by_tid} = _column($file, $index);
		} else {
			for my $k (0 .. $#key) {
				File::Map::map_handle(
					$lists{ $key[$k] }, $file, '<',
					$index->{offset} + 4 * $first[$k], 4 * ($first[ $k + 1 ] - $first[$k])
				);
			}
		}
		$ev->{$table} = \%lists;
	}
	return;
}

sub _put {
	my ($h, $bytes) = @_;
	for (my $at = 0; $at < length $bytes;) {
		$at += syswrite($h, $bytes, length($bytes) - $at, $at) // die "short\n";
	}
	return;
}

sub _get {
	my ($h, $n) = @_;
	my $got = '';
	while (length $got < $n) { sysread($h, $got, $n - length $got, length $got) || die "short\n" }
	return $got;
}

1;
