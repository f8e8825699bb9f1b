# SPDX-License-Identifier: GPL-2.0-only
# What each thread of a path did in the interval, as sums.
package Tipme::Diagnosis::Sums;

use strict;
use warnings;
use Tipme::Cut::Stretches qw(on_path stretches);

# of(PATH, STATES, FROM, TO, manifest => of the episode, threads => Threads): one for each thread;
# the parts add up to the interval, or the sum dies.
sub of {
	my ($path, $states, $from, $to, %o) = @_;
	my (%seen, @out);
	# A bundle has what a thread did off the path as sums.
	my %aside =
		map { $_->{tid} => $_ } @{ ($o{manifest}{bundle} // {})->{aside} // [] };
	my $of = %aside ? stretches($path) : {};
	# a program that was called meanwhile: the last
	my %name = map { $_->{tid} => $_->{comm} } @$path;
	for my $p (
		map {
			my $p = $_;
			(
				$p,
				map {
					defined $_->{of_tid} && $_->{of_tid} != $p->{tid}
						? _thread_of($o{threads}, $_->{of_tid}, $p->{to_ns})
						: ()
				} @{ $p->{among} // [] }
			)
		} @$path
		)
	{
		next if !$p->{tid} || $seen{ $p->{tid} }++;
		my $s   = $states->sums($p->{tid}, $from, $to);
		my $who = {
			tid  => $p->{tid}, pid => $p->{pid}, start_time_ns => $p->{start_time_ns},
			comm => $name{ $p->{tid} } // $p->{comm}
		};
		if (my $rest = $aside{ $p->{tid} }) {
			my $on = on_path($states, $of->{ $p->{tid} }, $p->{tid});
			push @out, { %$who, map { $_ => $on->{$_} + $rest->{$_} } keys %$on };
			next;
		}
		push @out, {
			%$who, running_ns => $s->{running}, runnable_ns => $s->{runnable},
			blocked_ns => $s->{blocked},    absent_ns      => $s->{absent}, irq_ns => $s->{irq_ns},
			softirq_ns => $s->{softirq_ns}, net_running_ns => $s->{net_running}
		};
	}
	return \@out;
}

sub _thread_of {
	my ($threads, $tid, $t) = @_;
	my $w = $threads->at($tid, $t - 1);
	return { tid => $tid, pid => $w->{pid}, start_time_ns => $w->{start_ns}, comm => $w->{comm} };
}

1;
