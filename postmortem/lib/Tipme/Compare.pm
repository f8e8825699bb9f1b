# SPDX-License-Identifier: GPL-2.0-only
# Two episodes against each other: the same kind of event, stage by stage and cause by cause; all
# differences add up to that of the responses.
package Tipme::Compare;

use strict;
use warnings;
use Exporter      qw(import);
use Tipme::Called qw(called);
use Tipme::Kinds;
use Tipme::Machine;
use Tipme::Printable qw(one_line);
use Tipme::Verdict   qw(duration_text event_words);
use Tipme::WithoutInterval;
use Tipme::Words qw(N__ fill);

our @EXPORT_OK = qw(compare);

my $NEARLY_ALL = 0.9;    # of the difference: a cause with so much explains it alone
my @STAGES     = qw(input server device deliver client request drawn feedback free open);

# compare(DIAGNOSIS A, DIAGNOSIS B, event_a => N, event_b => N): { version, kind, a, b,
# difference_ns, stages, causes, machine, sentence }. Where no event is given:
# the problem of the episode that has the longer one, and of the other the middle one of the same
# kind and client.
sub compare {
	my ($a, $b, %o) = @_;
	my ($da, $db) = _pair($a, $b, %o);
	my $diff   = $db->{interval}{duration_ns} - $da->{interval}{duration_ns};
	my @stages = _differences(\@STAGES, map { _stages($_) } $da, $db);
	my @causes = _causes($da, $db);
	return {
		version       => 1,     kind   => $db->{event}{kind}, a      => _side($da), b => _side($db),
		difference_ns => $diff, stages => \@stages,           causes => \@causes,
		sentence      => _sentence($da, $db, $diff, \@causes),
		machine       => [ Tipme::Machine::differences(map { _machine($_) } $a, $b) ]
	};
}

sub _pair {
	my ($a, $b, %o) = @_;
	return (_of($a, $o{event_a}), _of($b, $o{event_b}))
		if defined $o{event_a} && defined $o{event_b};
	return (_of($a, $o{event_a}), _like($b, _of($a, $o{event_a}))) if defined $o{event_a};
	return (_like($a, _of($b, $o{event_b})), _of($b, $o{event_b})) if defined $o{event_b};
	my ($da, $db) = map { $_->run } $a, $b;
	my ($na, $nb) = map { $_->{event} ? $_->{interval}{duration_ns} : -1 } $da, $db;
	die _name($_) . ": no input event that could be compared: `tipme events` lists them\n"
		for $na < 0 && $nb < 0 ? $a : ();
	return $na > $nb ? ($da, _like($b, $da)) : (_like($a, $db), $db);
}

# What an episode tells of its machine.
sub _machine {
	my ($x) = @_;
	my $m = $x->episode->manifest;
	return { kernel => $m->{kernel}, %{ $m->{state} // {} } };
}

sub _name { return $_[0]->episode->id }

sub _of {
	my ($x, $n) = @_;
	my $d = $x->run(event => $n);
	return $d if $d->{event};
	my $why = lcfirst Tipme::WithoutInterval::why_not($x, $n);
	die _name($x) . ": $why: `tipme events` lists them\n";
}

# The middle one of the responses to the same kind of event by a client of the same name; if there
# is none, by any.
sub _like {
	my ($x, $d)       = @_;
	my ($kind, $comm) = ($d->{event}{kind}, $d->{event}{client} ? $d->{event}{client}{comm} : '');
	my @of = map { my $i = $x->interval_of($_); $i ? [ $_, $i->{end_ns} - $i->{start_ns} ] : () }
		$x->alike($kind);
	my @same = grep {
		my $e = $_->[0];
		defined $e->{pid}
			&& $x->threads->at($e->{pid}, $e->{deliver_ns} // $e->{device_ns})->{comm} eq $comm
	} @of;
	my @from = sort { $a->[1] <=> $b->[1] || $a->[0]{n} <=> $b->[0]{n} } @same ? @same : @of;
	die _name($x)
		. ": no answer to "
		. event_words($kind)
		. " that could be compared: `tipme events` lists them\n"
		if !@from;
	return _of($x, $from[ $#from / 2 ][0]{n});
}

sub _side {
	my ($d) = @_;
	return {
		id => $d->{id}, time => $d->{time}, event => $d->{event}{n}, client => $d->{event}{client},
		duration_ns => $d->{interval}{duration_ns}, certainty => $d->{interval}{certainty},
		confidence  => $d->{verdict}{confidence}
	};
}

# { stage => ns from the one before it that there was }
sub _stages {
	my ($d) = @_;
	my %at = map { $_->{name} => $_->{ts_ns} } @{ $d->{event}{stages} };
	$at{open} = $d->{interval}{end_ns};
	my ($t, %ns) = $d->{interval}{start_ns};
	for my $s (@STAGES) {
		next if !defined $at{$s} || $at{$s} <= $t;
		$ns{$s} = $at{$s} - $t;
		$t = $at{$s};
	}
	return \%ns;
}

sub _differences {
	my ($names, $a, $b) = @_;
	return map {
		{
			name          => $_, a_ns => $a->{$_} // 0, b_ns => $b->{$_} // 0,
			difference_ns => ($b->{$_} // 0) - ($a->{$_} // 0)
		}
	} grep { $a->{$_} || $b->{$_} } @$names;
}

# By kind and name: numbers of processes mean nothing in another episode.
sub _causes {
	my @sides;
	for my $d (@_) {
		my %ns;
		$ns{ join "\t", $_->{kind}, $_->{comm} // '' } += $_->{ns} for @{ $d->{totals}{blamed} };
		push @sides, \%ns;
	}
	my %all = map { $_ => 1 } map { keys %$_ } @sides;
	my @d   = _differences([ sort keys %all ], @sides);
	for (@d) {
		@$_{qw(kind comm)} = split /\t/, delete $_->{name}, 2;
		$_->{comm}         = undef if !length $_->{comm};
		$_->{phrase}       = Tipme::Kinds::words($_->{kind}, 'phrase');
	}
	return sort {
			   abs($b->{difference_ns}) <=> abs($a->{difference_ns})
			|| $a->{kind} cmp $b->{kind}
			|| ($a->{comm} // '') cmp($b->{comm} // '')
	} @d;
}

sub _sentence {
	my ($da, $db, $diff, $causes) = @_;
	my ($ta, $tb) = map { duration_text($_->{interval}{duration_ns}) } $da, $db;
	my %say = (
		head => fill(
			N__('{event} was answered after {a} in A, and after {b} in B'),
			event => ucfirst(event_words($db->{event}{kind})), a => $ta, b => $tb
		),
		time => duration_text(abs $diff)
	);
	# What moved the same way as the whole explains it.
	my ($c) = grep { $_->{difference_ns} * ($diff <=> 0) > 0 } @$causes;
	return "$say{head}." if !$diff || !$c;
	# Something else may have become quicker meanwhile: no part is more than the whole.
	my $part = abs($c->{difference_ns}) < abs($diff) ? abs $c->{difference_ns} : abs $diff;
	my $name = defined $c->{comm} ? '"' . called($c->{comm}) . '"' : fill(N__('somebody'));
	# Where it is nearly all of it, some kinds say it in plainer words.
	my $absent =
		   $diff < 0
		&& $part >= $NEARLY_ALL * abs $diff
		&& (Tipme::Kinds::entry($c->{kind}) // {})->{absent};
	return fill(
		N__('{head}. B was {time} faster, because {why}.'),
		%say, why => Tipme::Kinds::words($c->{kind}, 'absent', name => $name)
	) if $absent;
	return fill(
		$diff > 0
		? N__(
			'{head}. B was {time} slower, because it lost {part} of it ({share} %) through {cause}.'
			)
		: N__(
			'{head}. B was {time} faster, because A lost {part} of it ({share} %) through {cause}.'
		),
		%say,
		part  => duration_text($part),
		share => sprintf('%.0f', 100 * $part / abs $diff),
		cause => Tipme::Kinds::words($c->{kind}, 'cause', name => $name)
	);
}

1;
