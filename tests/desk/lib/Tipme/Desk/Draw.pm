# SPDX-License-Identifier: GPL-2.0-only
# Scenes are drawn from a seed: program, cause, action, length and what goes on beside.
package Tipme::Desk::Draw;
use strict;
use warnings;
use Digest::SHA qw(sha256);
use Tipme::Desk::Causes;
use Tipme::Desk::Programs;
use Tipme::Workload::Programs;

# What a scene draws is told by its own generator, so that a scene can be played again alone:
# number, from 0 to limit - 1.
sub generator {
	my ($seed, $n) = @_;
	my $state = unpack 'Q<', sha256("$seed/$n");
	my $at    = 0;
	return sub { my ($limit) = @_; return unpack('Q<', sha256("$state/" . $at++)) % $limit };
}

# scenes(SEED, COUNT, SET, DESKTOP): that many scenes with a cause, over the programs of 'ci',
# 'work' or 'all', on one of Tipme::Desk->worlds (bare). Programs take turns in a drawn order, so
# that each has its share; so do the causes.
sub scenes {
	my ($seed, $count, $set, $desktop) = @_;
	my $next     = generator($seed, "order/$set");
	my @programs = shuffled($next, Tipme::Desk::Programs::names($set));
	my @causes   = shuffled($next, Tipme::Desk::Causes::names($desktop));
	my (@drawn, %pair);
	for my $n (0 .. $count - 1) {
		my $cause = $causes[ $n % @causes ];
		my @fit =
			grep { Tipme::Desk::Causes::fits($cause, Tipme::Workload::Programs::get($_)) }
			@programs
			or next;
		# The one that has been in the fewest scenes.
		my ($program) = sort {
			($pair{$a} // 0) + 3 * ($pair{"$cause/$a"} // 0) <=> ($pair{$b} // 0)
				+ 3 * ($pair{"$cause/$b"} // 0)
		} @fit;
		$pair{$program}++;
		$pair{"$cause/$program"}++;
		push @drawn, scene($seed, $n, $program, $cause);
	}
	return @drawn;
}

# quiet(SEED, COUNT, SET): as many in which nothing is done to the program
sub quiet {
	my ($seed, $count, $set) = @_;
	my @programs = shuffled(generator($seed, "quiet/$set"), Tipme::Desk::Programs::names($set));
	return map { scene($seed, "quiet-$_", $programs[ $_ % @programs ], 'quiet') } 0 .. $count - 1;
}

sub scene {
	my ($seed, $n, $program, $cause) = @_;
	my $next = generator($seed, $n);
	my $p    = Tipme::Workload::Programs::get($program);
	my $c    = $cause eq 'quiet' ? {} : Tipme::Desk::Causes::get($cause);
	my ($least, $most) = ($c->{least_ms} // 200, $c->{most_ms} // 2500);
	my $ms      = int($least * ($most / $least)**($next->(1000) / 999));
	my @actions = sort keys %{ $p->{actions} };
	my $action =
		$c->{deed}
		? ($p->{echo} && $next->(4) == 0 ? 'echo' : 'deed')
		: $c->{action} // $actions[ $next->(scalar @actions) ];
	my @loads = Tipme::Desk::Causes::loads();
	my $load  = $cause eq 'quiet' || $next->(3) == 0 ? $loads[ $next->(scalar @loads) ] : 'nothing';
	return {
		seed   => $seed,   n  => $n,  program => $program, world => $p->{world}, cause => $cause,
		action => $action, ms => $ms, load    => $c->{busy} ? 'nothing' : $load
	};
}

sub shuffled {
	my ($next, @list) = @_;
	for my $i (reverse 1 .. $#list) { my $j = $next->($i + 1); @list[ $i, $j ] = @list[ $j, $i ] }
	return @list;
}

1;
