# SPDX-License-Identifier: GPL-2.0-only
# A part of Timeline: who had the CPUs. Where there are very many switches sums come first, then
# what of them a picture can show; the program in C passes over them.
package Tipme::Timeline::Cpus;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use List::Util qw(max min uniq);
use Tipme::Columns;
use Tipme::Timeline::Paper;
use Tipme::Timeline::Style;
use Tipme::Words qw(N__ fill);

my $MAX_CPUS = 64;         # rows of CPUs; beyond them only those that the path was on
our $MANY = 100_000;       # records, from which on they are not held one by one

sub _cpus {
	my ($self) = @_;
	return map {
		{ %$_, spans => $self->_occupancy($_->{cpu}) }
	} $self->_known_cpus;
}

sub _known_cpus {
	my ($self) = @_;
	my %known  = map { $_ => 1 } $self->{ev}->cpus,
		map { $_->{cpu} } grep { $_->{source} =~ /^kernel/ } $self->{ep}->coverage;
	my @cpus = sort { $a <=> $b } keys %known;
	splice @cpus, $MAX_CPUS if @cpus > $MAX_CPUS;
	return map { { cpu => $_ } } @cpus;
}

# Are there so many that they cannot be held one by one? Samples of /proc never are.
sub _many {
	my ($self) = @_;
	return
		$self->{many} //=
		   $self->{ev}{columns_file}
		&& !$self->{states}->wakers_unknown
		&& $self->{ev}->count_between(@$self{qw(from to)}) > $MANY ? 1 : 0;
}

# As _cpus(); of CPUs with switches `spans` holds only what is not known, the others come when all
# roles are.
sub _many_cpus {
	my ($self)   = @_;
	my @cpus     = map { $_->{cpu} } $self->_known_cpus;
	my %switches = map { $_ => 1 } $self->{ev}->cpus;
	my (@out, @stretches);
	for my $cpu (@cpus) {
		if (!$switches{$cpu}) { push @out, { cpu => $cpu, spans => $self->_occupancy($cpu) }; next }
		my ($first, $last) = $self->_covered($cpu);
		my $c = {
			cpu  => $cpu, spans => [],
			many => [ $cpu, max($self->{from}, $first), min($self->{to}, $last) ]
		};
		push @{ $c->{spans} }, $self->_unknown_span($self->{from}, min($first, $self->{to}))
			if $first > $self->{from};
		push @{ $c->{spans} }, $self->_unknown_span(max($last, $self->{from}), $self->{to})
			if $last < $self->{to};
		push @stretches, $c->{many};
		push @out,       $c;
	}
	my @rows = $self->_rows;
	my $sums = Tipme::Columns::sums($self->{ev}, \@rows, \@stretches);
	# Without the program: one by one, as few are.
	if (!$sums) { $self->{many} = 0; return $self->_cpus }
	for my $of (grep { $_->{tid} } map {@$_} @$sums) {
		my $tid = $of->{tid};
		my $key = $self->_proc($tid, $of->{longest_from});
		$self->{cpu_ns}{$key} += $of->{ns};
		$self->{tid_ns}{$tid} += $of->{ns};
	}
	return @out;
}

# From when on a thread is another to the reader, by its name or process: [ tid, from ], of those
# that change
sub _rows {
	my ($self) = @_;
	return map {
		my $tid = $_;
		map { [ $tid, $_ ] } uniq(map { max(0, $_) } 0, $self->{threads}->epochs($tid))
	} sort { $a <=> $b } keys %{ $self->{changes} };
}

# Now that each process has its role: what one sees of them, and how much of the CPUs each had
# during the problem interval.
sub _draw_many {
	my ($self, $cpus) = @_;
	my @many  = grep { $_->{many} } @$cpus or return;
	my $scale = Tipme::Timeline::Paper::scale($self->{from}, $self->{to}, $self->{from});
	my (@keys, %number);
	my @rows;
	for my $row (
		$self->_rows,
		map { [ $_, 0 ] } grep { $_ && !$self->{changes}{$_} } keys %{ $self->{tid_ns} }
		)
	{
		my ($tid, $from) = @$row;
		my $key = $self->_key_of($tid, max($from, $self->{from}));
		my $p   = $self->{procs}{$key} or next;                      # it did not run then
		push @keys, $key if !defined $number{$key};
		$number{$key} //= $#keys;
		push @rows, [ $tid, $from, Tipme::Timeline::Style::rank($p->{role}), $number{$key} ];
	}
	my $runs = Tipme::Columns::runs(
		$self->{ev},         \@rows, [ map { $_->{many} } @many ],
		@$self{qw(from to)}, $scale->width
	) // [];
	my $i    = $self->{interval};
	my $sums = Tipme::Columns::sums(
		$self->{ev}, [ map { [ @$_[ 0, 1 ] ] } @rows ],
		[
			map {
				[
					$_->{many}[0], max($_->{many}[1], $i->{start_ns}),
					min($_->{many}[2], $i->{end_ns})
				]
			} @many
		]
	) // [];
	for my $k (0 .. $#many) {
		push @{ $many[$k]{spans} },
			map { [ $scale->begin($_->[0]), $scale->begin($_->[1]), $keys[ $_->[2] ] ] }
			@{ $runs->[$k] };
		$many[$k]{shares}{ $self->_proc($_->{tid}, $_->{longest_from}) } += $_->{ns}
			for grep { $_->{tid} } @{ $sums->[$k] };
	}
	return;
}

# Who ran on a CPU. Where nothing was kept of it, or where the next switch says that another thread
# had run meanwhile, nobody knows.
sub _occupancy {
	my ($self,  $cpu)  = @_;
	my ($first, $last) = $self->_covered($cpu);
	my @o = grep { $_->[1] > $first && $_->[0] < $last }
		$self->{states}->occupants($cpu, @$self{qw(from to)});
	my @spans;
	push @spans, $self->_unknown_span($self->{from}, min($first, $self->{to}))
		if $first > $self->{from};
	for my $k (0 .. $#o) {
		my ($from, $to, $tid) = @{ $o[$k] };
		($from, $to) = (max($from, $first), min($to, $last));
		if (!defined $tid) { push @spans, $self->_unknown_span($from, $to); next }
		for my $s ($self->_parts($tid, $cpu, $from, $to)) {
			if (!$s->[2]) { push @spans, $self->_unknown_span(@$s[ 0, 1 ]); next }
			next if !$tid;    # idle: paper
			my $key = $self->_proc($tid, $from);
			push @spans, [ @$s[ 0, 1 ], $key ];
			$self->{cpu_ns}{$key} += $s->[1] - $s->[0];
			$self->{tid_ns}{$tid} += $s->[1] - $s->[0];
		}
	}
	push @spans, $self->_unknown_span(max($last, $self->{from}), $self->{to})
		if $last < $self->{to};
	return \@spans;
}

# Of what a thread did from FROM to TO, [ from, to, is that known ]: in a bundle not all is.
sub _parts {
	my ($self, $tid, $cpu, $from, $to) = @_;
	my $known = $self->{known} or return [ $from, $to, 1 ];
	return $known->with_gaps($from, $to, $known->clip($tid, $cpu, $from, $to));
}

sub _unknown_span {
	my ($self, $from, $to) = @_;
	$self->{procs}{unknown} //=
		{ name => 'unknown', label => fill(N__('unknown')), pid => -1, comm => '' };
	return [ $from, $to, 'unknown' ];
}

# From when to when the records of a CPU (undef: of all) are complete.
sub _covered {
	my ($self, $cpu) = @_;
	my @c =
		grep { $_->{source} =~ /^kernel/ && (!defined $cpu || $_->{cpu} == $cpu) }
		$self->{ep}->coverage
		or return ($self->{to}, $self->{to});
	return (max(map { $_->{first_ns} } @c), max(map { $_->{last_ns} } @c));
}

1;
