# SPDX-License-Identifier: GPL-2.0-only
# Result files of tipme bench run: read, checked, written as a whole, put together; and the figures
# that follow from their repeats. The format: docs/formats.md.
package Tipme::Bench::Result;

use strict;
use warnings;
use Cpanel::JSON::XS   ();
use Exporter           qw(import);
use List::Util         qw(sum0);
use Tipme::CommandLine qw(replaceable);

our @EXPORT_OK = qw(read_result write_result runs_of round_values repeats typical typical_parts
	counters_of per_reference);

my $FORMAT  = 'tipme bench';
my $VERSION = 1;
my $LARGEST = 256 << 20;       # bytes: a run is some hundred KB

# write_result(FILE, RUN ...): beside it first, then renamed.
sub write_result {
	my ($file, @runs) = @_;
	replaceable($file);
	my $json = Cpanel::JSON::XS->new->canonical->ascii->pretty->indent_length(1);
	open my $out, '>', "$file.tmp" or die "$file: $!: choose another place with -o\n";
	my $ok = print {$out} $json->encode({ format => $FORMAT, version => $VERSION, runs => \@runs });
	if (!(close $out) || !$ok) {
		my $why = $!;
		unlink "$file.tmp";
		die "$file: $why: is the disk full?\n";
	}
	rename "$file.tmp", $file or die "$file: $!: choose another place with -o\n";
	return $file;
}

# read_result(FILE): its runs; dies by one sentence where it is none.
sub read_result {
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!: name a result of tipme bench run\n";
	-s $in <= $LARGEST or die "$file: it is too large for a result\n";
	my $text = do { local $/; readline $in };
	my $r    = eval { Cpanel::JSON::XS->new->max_depth(20)->decode($text // '') };
	ref $r eq 'HASH' && ($r->{format} // '') eq $FORMAT && ref $r->{runs} eq 'ARRAY'
		or die "$file: not a result of tipme bench run: name another file\n";
	_number($r->{version}) && $r->{version} == $VERSION
		or die "$file: written by a newer tipme: read it with that one\n";
	my $wrong;
	for my $run (@{ $r->{runs} }) { $wrong //= _wrong($run) }
	die "$file: $wrong: the file is damaged\n" if defined $wrong;
	return @{ $r->{runs} };
}

sub _number {
	return defined $_[0] && !ref $_[0] && $_[0] =~ /\A-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?\z/i;
}

sub _list {
	my ($x, $is) = @_;
	return ref $x eq 'ARRAY' && !grep { !$is->($_) } @$x;
}
sub _text { return defined $_[0] && !ref $_[0] }

# What is wrong with a run: a sentence, or undef.
sub _wrong {
	my ($run) = @_;
	return 'a run is no object' if ref $run ne 'HASH' || ref $run->{facts} ne 'HASH';
	return 'a fact is no text'  if grep { !_text($_) } values %{ $run->{facts} };
	return 'a run has no tasks' if ref $run->{tasks} ne 'ARRAY';
	my %seen;
	for my $t (@{ $run->{tasks} }) {
		return 'a task has no name'           if ref $t ne 'HASH' || !_text($t->{name});
		return "$t->{name}: twice in one run" if $seen{ $t->{name} }++;
		next                                  if defined $t->{unavailable} || defined $t->{failed};
		return "$t->{name}: no number of references"
			if !_number($t->{references}) || $t->{references} < 1;
		return "$t->{name}: no unit"    if !_text($t->{unit});
		return "$t->{name}: its rounds" if !_list($t->{rounds}, sub { _list($_[0], \&_repeat) });
	}
	return;
}

# A repeat's parts add up to its time, or it is none.
sub _repeat {
	my ($r) = @_;
	return 0 if ref $r ne 'HASH'            || grep { !_number($r->{$_}) } qw(from_ns to_ns);
	return 0 if $r->{to_ns} < $r->{from_ns} || ref $r->{counters} ne 'HASH';
	return 0 if grep { !_number($_) } values %{ $r->{counters} };
	return 0
		if !_list(
		$r->{parts},
		sub { ref $_[0] eq 'HASH' && _number($_[0]{ns}) && _text($_[0]{kind}) }
		);
	return sum0(map { $_->{ns} } @{ $r->{parts} }) == $r->{to_ns} - $r->{from_ns};
}

# runs_of(FILE ...): those of all files. A run that is in two of them counts once.
sub runs_of {
	my (@files) = @_;
	my %seen;
	my $json = Cpanel::JSON::XS->new->canonical;
	return grep { !$seen{ $json->encode($_) }++ } map { read_result($_) } @files;
}

# per_reference(TASK, REPEAT): ns of one reference, without what an empty repeat takes.
sub per_reference {
	my ($t, $r) = @_;
	return ($r->{to_ns} - $r->{from_ns} - ($t->{empty_ns} // 0)) / $t->{references};
}

sub repeats {
	my ($t) = @_;
	return map {@$_} @{ $t->{rounds} // [] };
}

# round_values(TASK): the mean ns of a reference in each round. A round is one process; repeats
# within it share its places in memory, so that only rounds are independent of each other. Their
# mean also has what comes now and then, as a neighbour's turn on the CPU.
sub round_values {
	my ($t) = @_;
	return map { _of_round($t, $_) } grep {@$_} @{ $t->{rounds} // [] };
}

sub _of_round {
	my ($t, $round) = @_;
	return sum0(map { per_reference($t, $_) } @$round) / @$round;
}

# typical(TASK): the repeats of the middle half of its rounds. Means of them are robust, and still
# add up.
sub typical {
	my ($t) = @_;
	my @r   = sort { _of_round($t, $a) <=> _of_round($t, $b) } grep {@$_} @{ $t->{rounds} // [] };
	my $out = int(@r / 4);
	return map {@$_} @r[ $out .. $#r - $out ];
}

# typical_parts(TASK): { "KIND" or "KIND WHAT" => ns of a reference }: the mean of the typical
# repeats whose parts the recorder told, or, where it told none, the kernel's accounting.
sub typical_parts {
	my ($t, %o) = @_;
	my @all  = typical($t);
	my @told = grep { ($_->{parts_from} // '') eq 'recorder' } @all;
	@told = @all if !@told || $o{accounting};
	my %sum;
	for my $r (@told) {
		for my $p (@{ $r->{parts} }) {
			$sum{ defined $p->{what} ? "$p->{kind}: $p->{what}" : $p->{kind} } += $p->{ns};
		}
	}
	$_ /= $t->{references} * @told for values %sum;
	return { parts => \%sum, of => scalar @told, from => @told ? $told[0]{parts_from} : undef };
}

# counters_of(TASK): { NAME => count of a reference }, corrected by that of an empty repeat; the
# mean of the typical repeats. A counter that is not available has no entry.
sub counters_of {
	my ($t) = @_;
	my (%sum, %n);
	for my $r (typical($t)) {
		for (keys %{ $r->{counters} }) { $sum{$_} += $r->{counters}{$_}; $n{$_}++ }
	}
	return {
		map { $_ => ($sum{$_} / $n{$_} - ($t->{empty}{$_} // 0)) / $t->{references} }
			keys %sum
	};
}

1;
