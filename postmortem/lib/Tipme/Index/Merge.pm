# SPDX-License-Identifier: GPL-2.0-only
# Merges the sections of an episode by time, in bounded memory: each stream (file, source, CPU) is
# read a few thousand records ahead.
package Tipme::Index::Merge;

use strict;
use warnings;
use Tipme::Record::Layout;

# An entry: time, number of the file, offset in it / 8, number of the source, CPU; then the record.
# Entries sort as bytes.
our $TEMPLATE = 'Q>CNCn';
our $HEAD     = 16;         # bytes before the words of an entry

my $AHEAD    = 4096;        # records of a stream that are read at once
my $SLACK_NS = 10_000_000;  # how far times may run back inside a stream; recorders stay far below
my $NEVER    = ~0;

sub new {
	my ($class, $episode) = @_;
	my $self = bless {
		episode => $episode, disordered => 0, flushed => pack('Q>', 0),
		files   => [ sort map { $_->{name} } $episode->files ]
	}, $class;
	$self->_make_streams;
	return $self;
}

sub disordered { return $_[0]{disordered} }
sub files      { return $_[0]{files} }
sub sources    { return $_[0]{sources} }

# run(N, CALLBACK): hands over all entries in order of time, N at once (the last time fewer).
sub run {
	my ($self, $n, $cb) = @_;
	my (@out, $done);
	while (my @left = grep { $_->{until} < $NEVER } @{ $self->{streams} }) {
		my ($next) = sort { $a->{until} <=> $b->{until} } @left;
		$done += $self->_read_ahead($next);
		push @out, $self->_take(_min(map { $_->{until} } @{ $self->{streams} }));
		$cb->([ splice @out, 0, $n ]) while @out >= $n;
		$self->_progress($done);
	}
	$cb->(\@out) if @out;
	$self->_progress(undef);
}

# Each stream's sections in order; `until` is the time below which it has nothing more to give.
sub _make_streams {
	my ($self) = @_;
	my (%stream, %source, $i);
	my %file = map { $_ => $i++ // 0 } @{ $self->{files} };
	for my $s (sort { $a->{first_ns} <=> $b->{first_ns} || $a->{offset} <=> $b->{offset} }
		$self->{episode}->sections)
	{
		my $known  = keys %source;
		my $source = $source{ $s->{source} } //= $known;
		my $new    = {
			file     => $file{ $s->{file} }, source => $source, cpu => _min($s->{cpu}, 0xffff),
			sections => [], entries => []
		};
		push @{ ($stream{"$s->{file} $source $s->{cpu}"} //= $new)->{sections} }, {%$s};
		$self->{bytes} += $s->{body_len};
	}
	$self->{sources} = [ sort { $source{$a} <=> $source{$b} } keys %source ];
	$self->{streams} = [ map { $stream{$_} } sort keys %stream ];
	_set_until($_) for @{ $self->{streams} };
}

sub _set_until {
	my ($stream, $last) = @_;
	my $s = $stream->{sections}[0];
	my $t = !$s ? undef : defined $last && $s->{from} ? _min($last, $s->{last_ns}) : $s->{first_ns};
	$stream->{until} = !defined $t ? $NEVER : $t > $SLACK_NS ? $t - $SLACK_NS : 0;
}

# Reads the next part of a stream; answers how many bytes it was.
sub _read_ahead {
	my ($self, $stream) = @_;
	my $s    = $stream->{sections}[0];
	my $part = $self->_part($s);
	my @new  = _fixed_entries($stream, $s, $part);
	if (!@new) {
		# Records of several lengths, or a damaged one: the episode's own walk knows what to do, for
		# all that is left of it.
		$part = {
			%$s, offset => $s->{offset} + ($s->{from} // 0),
			body_len => $s->{body_len} - ($s->{from} // 0)
		};
		@new = $self->_walked_entries($stream, $part);
	}
	$s->{from} += $part->{body_len};
	shift @{ $stream->{sections} } if $s->{from} >= $s->{body_len};
	my @late = grep { $_ lt $self->{flushed} } @new;
	if (@late) {
		$self->{disordered} += @late;
		@new = grep { $_ ge $self->{flushed} } @new;
	}
	@{ $stream->{entries} } = sort @{ $stream->{entries} }, @new;
	_set_until($stream, @new ? unpack('Q>', $stream->{entries}[-1]) : $s->{first_ns});
	return $part->{body_len};
}

sub _part {
	my ($self, $s) = @_;
	$s->{from} //= 0;
	my $len  = _min($s->{body_len} - $s->{from}, 32 * $AHEAD);
	my %part = (%$s, offset => $s->{offset} + $s->{from}, body_len => $len);
	$part{bytes} =
		$s->{body_len} == 32 * $s->{count} ? $self->{episode}->section_bytes(\%part) : '';
	return \%part;
}

# The usual case, all records 32 bytes long, by one unpack; nothing if it is not that.
sub _fixed_entries {
	my ($stream, $s, $part) = @_;
	my $bytes = $part->{bytes};
	return if !length $bytes || length($bytes) != $part->{body_len};
	return if join('', unpack '(x9ax22)*', $bytes) =~ tr/\x04//c;
	my ($file, $source, $cpu, $at) = (@$stream{qw(file source cpu)}, $part->{offset} / 8);
	my @ts = unpack '(Q<x24)*', $bytes;
	my $i  = 0;
	return
		sort map { pack 'Q>CNCna32', $ts[ $i++ ], $file, $at + 4 * ($i - 1), $source, $cpu, $_ }
		unpack '(a32)*', $bytes;
}

sub _walked_entries {
	my ($self, $stream, $part) = @_;
	my ($list, $buf) = $self->{episode}->section_records($part);
	return map {
		my ($ts, $off, $len) = @$_;
		pack(
			"Q>CNCna$len", $ts, $stream->{file}, ($part->{offset} + $off) / 8,
			@$stream{qw(source cpu)}, substr $$buf, $off, $len
		)
	} @$list;
}

# All entries below a time, out of all streams.
sub _take {
	my ($self, $until) = @_;
	my $key = pack 'Q>', $until;
	$self->{flushed} = $key if $key gt $self->{flushed};
	my @out;
	for my $s (@{ $self->{streams} }) {
		my $e = $s->{entries};
		push @out, $until == $NEVER ? splice @$e : splice @$e, 0, _below($e, $key);
	}
	return sort @out;
}

# In integers: List::Util compares as floating point, which is too coarse after 104 days.
sub _min {
	my ($least, @others) = @_;
	for (@others) { $least = $_ if $_ < $least }
	return $least;
}

# How many entries of a sorted list are below a key.
sub _below {
	my ($list, $key) = @_;
	my ($lo,   $hi)  = (0, scalar @$list);
	while ($lo < $hi) {
		my $mid = ($lo + $hi) >> 1;
		if   ($list->[$mid] lt $key) { $lo = $mid + 1 }
		else                         { $hi = $mid }
	}
	return $lo;
}

# Somebody who waits for more than a second is told how far it is; only at a terminal.
sub _progress {
	my ($self, $done) = @_;
	return if !-t STDERR;
	my $now = time;
	$self->{begun} //= $now;
	if    (!defined $done) { print STDERR "\r\e[K" if $self->{told} }
	elsif ($now > $self->{begun} + 1 && $now != ($self->{told} // 0)) {
		$self->{told} = $now;
		printf STDERR "\rindexing the episode: %d %%", 100 * $done / ($self->{bytes} || 1);
	}
}

1;
