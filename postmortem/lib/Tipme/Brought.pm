# SPDX-License-Identifier: GPL-2.0-only
# What a bundle brings of records that stayed with the sender: conclusions, where the records behind
# them would tell of other keys or of programs without a part. One side writes them into the
# manifest, the other reads them; what stands there is a stranger's.
package Tipme::Brought;

use strict;
use warnings;
use List::Util        qw(min);
use Tipme::Candidates ();
use Tipme::Covered    ();
use Tipme::Machine    ();
use Tipme::Printable  qw(one_line);
use Tipme::Reason     qw(args_of code_of reason);

# Circumstances that rest on records of all devices, or of all processes.
my %FACT    = map { $_ => 1 } qw(input-often memory-of);
my $LONGEST = 300;                                                           # characters of a value
my @STUTTER = qw(pid missed period_ns last_ns next_ns compositor sure);
my @STOOD   = qw(tid source_pid from_ns to_ns);
my @PRESS   = qw(n pid start_ns end_ns possible_ns open);
my @QUIET   = qw(events servers still);
my %WHY     = map { $_ => 1 } qw(process network timer nothing busy rests);

# sent(DATA of a diagnosis, HAS_PART->(NAME): 1 if a program of that name has one): what goes into
# the manifest
sub sent {
	my ($d, $has_part) = @_;
	my ($v, %brought)  = ($d->{verdict});
	my $raw = $v->{circumstance_facts} // [];
	my @fact =
		map { [ $_, _fact($raw->[$_], $v, $has_part) ] }
		grep { $FACT{ code_of($raw->[$_]) } } 0 .. $#$raw;
	$brought{facts} = \@fact if @fact;
	if (my $s = $v->{stutter}) {
		$brought{stutter} =
			{ (map { $_ => $s->{$_} + 0 } @STUTTER), map { $_ => $s->{stood}{$_} + 0 } @STOOD };
	}
	if (defined $v->{why} && (my $c = ($d->{candidates} // [])->[0])) {
		$brought{press} = {
			(map { $_ => $c->{$_} + 0 } @PRESS),
			map { $_ => $c->{$_} } grep { defined $c->{$_} } qw(why by others)
		};
	}
	return %brought;
}

# Of who had the memory, only those with a part are named.
sub _fact {
	my ($raw, $v, $has_part) = @_;
	my $args = args_of($raw);
	$args->{list} = join ', ', map {
		Tipme::Machine::holder_words(
			{ %$_, name => $has_part->($_->{comm}) ? $_->{comm} : 'another program' })
	} @{ ($v->{memory} // {})->{programs} // [] }
		if code_of($raw) eq 'memory-of';
	return { code => code_of($raw), %$args };
}

# quiet(DIAGNOSIS, SAMPLED): of an episode in which nothing was slow: { events, servers: how many,
# still: 1: no thread of a program stood still for long, covered_ns: as Tipme::Covered has it }
sub quiet {
	my ($diagnosis, $sampled) = @_;
	my $told = _of($diagnosis->episode)->{quiet};
	return { map { $_ => ($told->{$_} // 0) + 0 } @QUIET, 'covered_ns' } if _numbers($told, @QUIET);
	my ($events, $servers) = map { scalar @$_ } [ $diagnosis->events ], [ $diagnosis->servers ];
	my $covered = Tipme::Covered::ns($diagnosis->episode, $diagnosis->{kernel});
	return {
		events     => $events, servers => $servers, still => $sampled ? 0 : 1,
		covered_ns => $covered
	};
}

# nearly(DATA of a diagnosis, DATA of what was made of a cut): 1: the same sentence and
# circumstances of the same interval, and no sum is off by more than a thousandth of it. For the
# rest nobody has to be told of all keys.
my $LITTLE = 0.001;

sub nearly {
	my ($ours,  $theirs) = @_;
	my ($i,     $j)      = map { $_->{interval} // return 0 } $ours, $theirs;
	my ($words, $again)  = map { $_->{verdict}{sentence} } $ours, $theirs;
	return 0 if $words ne $again || grep { $i->{$_} != $j->{$_} } qw(start_ns end_ns);
	my ($facts, $told) = map { join ' ', _facts($_) } $ours, $theirs;
	return 0 if $facts ne $told;
	my %off = %{ $ours->{totals}{kinds} };
	my %has = %{ $theirs->{totals}{kinds} };
	$off{$_} = ($off{$_} // 0) - $has{$_} for keys %has;
	return (grep { abs($_) > $LITTLE * $i->{duration_ns} } values %off) ? 0 : 1;
}

# Who reads it need not know more of them, nor how a process was called.
sub _facts {
	my ($d) = @_;
	return grep { !/\A(?:called-as|largest)\z/ }
		map {s/-untold\z//r} @{ $d->{verdict}{circumstance_codes} // [] };
}

sub _of { my ($ep) = @_; my $b = $ep->manifest->{bundle}; return ref $b eq 'HASH' ? $b : {} }

sub _numbers {
	my ($h, @fields) = @_;
	return ref $h eq 'HASH' && !grep { ($h->{$_} // '') !~ /\A\d{1,18}\z/ } @fields;
}

# facts(VERDICT, EPISODE): puts those of a bundle where the sender had them
sub facts {
	my ($v, $ep) = @_;
	my $told = _of($ep)->{facts};
	return if ref $told ne 'ARRAY';
	my @own = grep { !$FACT{ code_of($_) } } @{ $v->{circumstances} };
	for my $t (grep { ref eq 'ARRAY' && ($_->[0] // '') =~ /\A\d{1,3}\z/ } @$told) {
		my %args = ref $t->[1] eq 'HASH' ? %{ $t->[1] } : ();
		my $code = delete $args{code};
		next if !defined $code || ref $code || !$FACT{$code} || grep {ref} values %args;
		splice @own, min($t->[0], scalar @own), 0, reason(
			$code,
			map { $_ => substr one_line($args{$_} // ''), 0, $LONGEST } keys %args
		);
	}
	$v->{circumstances} = \@own;
	return;
}

# part(DIAGNOSIS, INTERVAL): what a bundle is about, judged, where the records that led to it stayed
# with the sender; undef: they did not
sub part {
	my ($diagnosis, $i) = @_;
	my $ep    = $diagnosis->episode;
	my $press = _press($ep);
	return _unproven($diagnosis, $i, $press) if $press && $i && $i->{event}{n} == $press->{n};
	my $s = _of($ep)->{stutter};
	return if $i || !_numbers($s, @STUTTER, @STOOD) || $s->{from_ns} >= $s->{to_ns};
	my ($source) = grep { ($_->{pid} // -1) == $s->{source_pid} } $diagnosis->servers;
	my %stall = (
		tid => $s->{tid}, start_ns => $s->{from_ns}, end_ns => $s->{to_ns},
		of  => $s->{pid}, missed   => $s->{missed}
	);
	my $part = $diagnosis->part_of_stall({ %stall, what => 'stutter', source => $source });
	$part->{verdict}{stutter} = { (map { $_ => $s->{$_} } @STUTTER), stood => $s };
	return { %$part, slowest => [] };
}

sub _unproven {
	my ($diagnosis, $i, $press) = @_;
	my $t = $i->{event}{deliver_ns} // $press->{start_ns};
	my %c = (
		%$press, kind => $i->{event}{kind},
		comm  => $diagnosis->threads->at($press->{pid}, $t)->{comm},
		words => Tipme::Candidates::why_words(@$press{qw(why by others)})
	);
	my $part = Tipme::Candidates::told($diagnosis->part_of($i), \%c);
	return { %$part, candidates => [ \%c ], slowest => [] };
}

# A press whose late answer is not proven.
sub _press {
	my ($ep) = @_;
	my $p = _of($ep)->{press};
	return if !_numbers($p, @PRESS) || ref $p->{why} || !$WHY{ $p->{why} // '' };
	return {
		%$p, map { $_ => substr one_line($p->{$_}), 0, $LONGEST }
			grep { defined $p->{$_} && !ref $p->{$_} } qw(by others)
	};
}

1;
