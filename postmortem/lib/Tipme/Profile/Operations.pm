# SPDX-License-Identifier: GPL-2.0-only
# What a session was doing, in the words of the script that drove it: `tipme type` prints when each
# operation began. Table 1 of Endo et al., OSDI 1996, and their trials of one operation.
package Tipme::Profile::Operations;

use strict;
use warnings;
use List::Util        qw(max min sum0);
use Tipme::Statistics qw(median);

# Unit: operations. A day of a script that names one each second has fewer.
my $MAX = 100_000;
# A first trial is cold if it took longer than those after it by this many quartile ranges: Tukey,
# "Exploratory Data Analysis", 1977. At most a quarter of the trials can be cold.
my $FENCE     = 1.5;
my $MOST_COLD = 0.25;    # of the trials that may be set aside as cold; more are no exception
# Rows of table 1.
my $LONGEST = 10;

# read(FILE): what `tipme type` printed; presses are passed over. Dies by a sentence about what is
# wrong with it.
sub read {    ## no critic (ProhibitBuiltinHomonyms)
	my ($class, $file) = @_;
	open my $h, '<:encoding(UTF-8)', $file or die "$file: $!\n";
	my @begins;
	while (my $line = <$h>) {
		next if $line =~ /\A\d{1,18} [^\n]+\n\z/;
		$line =~ /\A= (\d{1,18}) ?([^\n]{0,80})\n\z/
			or die "$file: line $.: not what `tipme type` prints\n";
		push @begins, [ $1 + 0, $2 ];
		die "$file: more than $MAX operations\n" if @begins > $MAX;
	}
	close $h or die "$file: $!\n";
	die "$file: names no operation: give `tipme type` lines of `operation WORDS`\n" if !@begins;
	return bless { begins => [ sort { $a->[0] <=> $b->[0] } @begins ] }, $class;
}

# named(EVENTS): the same events, in order of time, each with its operation: '' is none.
sub named {
	my ($self, @events) = @_;
	my ($at,   $begins) = (-1, $self->{begins});
	return map {
		my $e = $_;
		$at++ while $at < $#$begins && $begins->[ $at + 1 ][0] <= $e->{entered_ns};
		+{ %$e, operation => $at < 0 ? '' : $begins->[$at][1] }
	} @events;
}

# longest(EVENTS): table 1: the longest answers, with what was being done
sub longest {
	my ($self, @events) = @_;
	my @sorted = sort { $b->{response_ns} <=> $a->{response_ns} }
		grep { !$_->{outcome} } $self->named(@events);
	my $zero = @events ? $events[0]{entered_ns} : 0;
	return map {
		my $e = $_;
		+{
			(map { $_ => $e->{$_} } qw(operation app kind response_ns)),
			at_s => ($e->{entered_ns} - $zero) / 1e9
		}
	} splice @sorted, 0, $LONGEST;
}

# trials(EVENTS): { operation, app, kind, events, answered, until ("screen", or "rest" where most
# have no effect), cold, mean_ns, deviation_ns, median_ns, max_ns } of each named operation, in the
# order in which they came. What is cold is in no figure but `events` and `answered`.
sub trials {
	my ($self, @events) = @_;
	my (%of, @order);
	for my $e (grep { length $_->{operation} } $self->named(@events)) {
		my $key = join "\t", @$e{qw(operation app kind)};
		push @order,         $key if !$of{$key};
		push @{ $of{$key} }, $e;
	}
	return map { _trials(@{ $of{$_} }) } @order;
}

sub _trials {
	my (@events) = @_;
	my @answered = grep { !$_->{outcome} } @events;
	my @vain     = grep { $_->{outcome} == 1 } @events;
	my $until    = @answered >= @vain                           ? 'screen'  : 'rest';
	my @ns       = map { $_->{response_ns} } $until eq 'screen' ? @answered : @vain;
	my $cold     = cold(@ns);
	splice @ns, 0, $cold;
	my $mean = @ns ? sum0(@ns) / @ns : undef;
	return {
		(map { $_ => $events[0]{$_} } qw(operation app kind)),
		events  => scalar @events, answered => scalar @answered, until => $until, cold => $cold,
		mean_ns => $mean,
		deviation_ns => @ns > 1 ? sqrt(sum0(map { ($_ - $mean)**2 } @ns) / (@ns - 1)) : undef,
		median_ns    => @ns     ? median(@ns) : undef, max_ns => @ns ? max(@ns) : undef
	};
}

# cold(NS ...): how many of the first trials are set aside: each that lies beyond the fence of those
# after it, until one does not.
sub cold {
	my (@ns) = @_;
	my $most = int($MOST_COLD * @ns);
	for my $n (0 .. $most - 1) {
		my @rest = sort { $a <=> $b } @ns[ $n + 1 .. $#ns ];
		my ($low, $high) = map { $rest[ int($_ * $#rest) ] } 0.25, 0.75;
		return $n if $ns[$n] <= $high + $FENCE * ($high - $low);
	}
	return $most;
}

1;
