# SPDX-License-Identifier: GPL-2.0-only
# By what right one thread gets more of a CPU than another. The kernel divides it among the control
# groups of one parent by their weights, then among the threads of a group by their nice values.
package Tipme::CpuWeight;

use strict;
use warnings;

my $ORDINARY = 120;     # kernel priority of nice 0 ...
my $HIGHEST  = 100;     # ... and of nice -20
my $USUAL    = 1000;    # weight of a group, and of a thread of nice 0
my $LEVEL    = 1.25;    # from one nice value to the next

# lighter(THREADS, [ TID, PRIORITY ], [ TID, PRIORITY ], TIME): how many times lighter the first one
# is, and by what: { nice }, or { cgroup, weight }; 0: it has no less than what is usual, or that is
# not known.
sub lighter {
	my ($class, $threads, $own, $had, $t) = @_;
	return 0 if !_is_ordinary($own->[1]) || !_is_ordinary($had->[1]);
	return 0 if $own->[1] < $class->least_priority($threads);
	my ($mine, $its) = map { _chain($threads, $_, $t) } $own, $had;
	# Where the group of one of them is not known, their nice values are all there is.
	if (!$mine->[0]{group} || !$its->[0]{group}) { $_ = [ $_->[-1] ] for $mine, $its }
	# The first level at which they are not in the same group.
	while (@$mine && @$its && $mine->[0]{is} eq $its->[0]{is}) { shift @$mine; shift @$its }
	return 0 if !@$mine || !@$its || $mine->[0]{weight} >= $USUAL;
	return ($its->[0]{weight} / $mine->[0]{weight}, $mine->[0]{said});
}

# least_priority(THREADS): of those below it, lighter() says 0. Where no group has a weight, a nice
# value alone decides.
sub least_priority {
	my ($class, $threads) = @_;
	return $threads->knows_weights ? $HIGHEST : $ORDINARY + 1;
}

sub _is_ordinary {
	my ($prio) = @_;
	return defined $prio && $prio >= $HIGHEST && $prio < $ORDINARY + 20;
}

# The group of a thread. A process that lived between two pictures was born into that of the nearest
# one above it which is known.
sub _group_of {
	my ($threads, $tid, $t) = @_;
	for my $who ($tid, map { $_->[0] } $threads->ancestors($threads->at($tid, $t)->{pid}, $t)) {
		my @of = $threads->cgroups_of($who, $t);
		return $of[-1] if @of;
	}
	return;
}

# Those among whom a CPU is divided, from the root down to the thread, which is the last.
sub _chain {
	my ($threads, $who, $t) = @_;
	my ($tid, $prio) = @$who;
	# Of two groups it has come to the later one between two pictures.
	my $id    = $tid && $threads->knows_weights ? _group_of($threads, $tid, $t) : undef;
	my $group = $id                             ? $threads->cgroup($id)         : undef;
	my @chain = $group                          ? { is => '/', group => 1 }     : ();
	my $path  = '';
	for my $part ($group ? grep {length} split m{/}, $group->{path} : ()) {
		$path .= "/$part";
		my $r      = $threads->weight_of($path);
		my $weight = $r ? $r->{weight} : $USUAL;
		# One without a weight of its own has its threads divided with those of the group above.
		next if !$weight;
		my $said = { cgroup => $path, weight => $weight };
		push @chain, { is => $path, group => 1, weight => $weight, said => $said };
	}
	my $nice = $prio - $ORDINARY;
	my $own  = $USUAL / $LEVEL**$nice;
	push @chain, { is => "thread $tid", weight => $own, said => { nice => $nice } };
	return \@chain;
}

1;
