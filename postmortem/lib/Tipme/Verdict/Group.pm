# SPDX-License-Identifier: GPL-2.0-only
# Who of those that are blamed for the same is named together: processes of one name, or all that
# one process has started.
package Tipme::Verdict::Group;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(group);

my %WAIT_FOR_CPU =
	map { $_ => 1 } qw(cpu-contention rt-starvation); # what has the CPU may be a crowd of processes
my $OF_ONE_NAME =
	0.6;    # of a kind: then the processes of that name are meant; else what they all come from
my $OF_ONE_TREE = 0.8;               # of the time: then what they all come from is named
my $OLD_NS      = 10_000_000_000;    # ns; a process that is older is a name that people know
my $LEAST       = 3;                 # processes that make a crowd

# group(BLAMED, from => NS, parent => sub, ancestors => sub): processes of the same name (and kin)
# are one group; the largest group is named, or, where many names have a part, the process that they
# all come from.
sub group {
	my ($of, %o) = @_;
	my (%g, $all);
	for my $b (@$of) {
		my $g = $g{ _kin($b, $o{from}) } //=
			{ kind => $b->{kind}, comm => $b->{comm}, ns => 0, members => [] };
		$g->{ns} += $b->{ns};
		$all += $b->{ns};
		push @{ $g->{members} }, $b;
	}
	my @g = sort {
		$b->{ns} <=> $a->{ns} || ($a->{members}[0]{pid} // 0) <=> ($b->{members}[0]{pid} // 0)
	} values %g;
	my $g = $g[0];
	if (   $g->{ns} < $OF_ONE_NAME * $all
		&& $WAIT_FOR_CPU{ $g->{kind} }
		&& $o{ancestors}
		&& (my $tree = _tree($of, $all, $o{ancestors})))
	{
		return _tree_group($tree, \@g, $of, $o{from});
	}
	my $parent_of = $o{parent};
	my @members   = sort { ($a->{pid} // 0) <=> ($b->{pid} // 0) } @{ $g->{members} };
	my %details;
	for my $m (@members) { $details{$_} += $m->{details}{$_} for keys %{ $m->{details} } }
	my ($detail)  = sort { $details{$b} <=> $details{$a} || $a cmp $b } keys %details;
	my %parents   = map { ($_->{parent} // 0) => 1 } @members;
	my $parent    = keys %parents == 1 && $parent_of ? $parent_of->($members[0]) : undef;
	my ($biggest) = sort { $b->{ns} <=> $a->{ns} } @members;
	return {
		(map { $_ => $biggest->{$_} } qw(by holder disk)), %$g, members => \@members,
		pid => @members > 1 && $g->{kind} eq 'cpu-contention' ? $members[0]{pid} : $biggest->{pid},
		processes => scalar @members,
		pids      => [ map { $_->{pid} } @members ], detail => $detail, parent => $parent,
		others    => scalar(@$of) - @members,        prio   => $biggest->{prio}
	};
}

# Processes of one name that live long belong together only if one parent started them: daemons of
# several people do not.
sub _kin {
	my ($b, $from) = @_;
	my $old = defined $from && $b->{start_ns} && $b->{start_ns} < $from - $OLD_NS;
	return ($b->{comm} // '?') . ($old ? " $b->{parent}" : '');
}

# The process farthest from the first one below which (itself included) most of it happened: { pid,
# comm, members }
sub _tree {
	my ($of, $all, $ancestors) = @_;
	my %t;
	for my $b (grep { defined $_->{pid} } @$of) {
		my @up = ([ $b->{pid}, $b->{comm} ], $ancestors->($b->{pid}, $b->{to_ns}));
		for my $k (0 .. $#up) {
			my $t = $t{ $up[$k][0] } //= {
				pid     => $up[$k][0], comm => $up[$k][1], ns => 0, depth => $#up - $k,
				members => []
			};
			$t->{ns} += $b->{ns};
			push @{ $t->{members} }, $b;
		}
	}
	my ($best) =
		sort { $b->{depth} <=> $a->{depth} || $b->{ns} <=> $a->{ns} || $a->{pid} <=> $b->{pid} }
		grep { $_->{ns} >= $OF_ONE_TREE * $all && @{ $_->{members} } >= $LEAST } values %t;
	return $best;
}

sub _tree_group {
	my ($tree, $by_name, $of, $from) = @_;
	my @m     = sort { $a->{pid} <=> $b->{pid} } @{ $tree->{members} };
	my %in    = map  { $_->{pid} => 1 } @m;
	my @names = map  { $_->{comm} } grep {
		grep { $in{ $_->{pid} // -1 } && $_->{pid} != $tree->{pid} }
			@{ $_->{members} }
	} @$by_name;
	my $young = grep { defined $from && ($_->{start_ns} // 0) > $from - 1_000_000_000 } @m;
	return {
		kind    => $m[0]{kind}, comm      => $tree->{comm}, pid => $tree->{pid},  ns => $tree->{ns},
		members => \@m,         processes => scalar @m, pids => [ $tree->{pid} ], names => \@names,
		short   => 2 * $young > @m ? 1 : 0, detail => 'had-cpu-tree', others => @$of - @m,
		prio    => $m[0]{prio}
	};
}

1;
