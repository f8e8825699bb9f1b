# SPDX-License-Identifier: GPL-2.0-only
# A picture that moved and then stood still, judged: from the thread that drew the next frame, back
# to when that was due.
package Tipme::Diagnosis::StoodStill;

use strict;
use warnings;
use Tipme::Stutter;

# part(DIAGNOSIS): the part of a diagnosis that is about the worst such picture, or undef. sure: not
# by its own wish, as far as is known.
sub part {
	my ($self) = @_;
	my $g = Tipme::Stutter->worst($self->{episode}->trigger_ns, $self->{path}->servers) or return;
	return
		   if !$self->{kernel}->has_records
		|| $self->{kernel}->sampled
		|| $g->{from_ns} < $self->{kernel}->covered_from;
	my $asked = $g->{source}->asked_ns(undef, $g->{draw});
	my ($tid, $ran) = $self->{problem}
		->caused->last_ran($self->{kernel}->states($g->{last_ns}, $asked), $g->{pid}, $asked);
	return if !defined $tid || $ran <= $g->{from_ns};
	my $part = $self->part_of_stall(
		{
			tid => $tid,      start_ns => $g->{from_ns}, end_ns => $ran, what => 'stutter',
			of  => $g->{pid}, source   => $g->{source},  missed => $g->{missed}
		}
	);
	my ($v, $clock) = ($part->{verdict}, delete $part->{by_clock_ns});
	my $own =
		   Tipme::Stutter->by_input($g, $self->events)
		|| Tipme::Stutter->at_start($g, $self->{kernel}->threads, $self->{kernel}->covered_from)
		|| $v->{kind} =~ /\A(?:timer-sleep|time-out|unknown|none)\z/
		|| $v->{kind} =~ /\A(?:ipc|futex)-wait\z/ && ($v->{blamed}{pid} // 0) == $g->{pid}
		|| 2 * $clock > $part->{interval}{duration_ns};
	$v->{stutter} = {
		pid        => $g->{pid},
		missed     => $g->{missed},
		period_ns  => int $g->{period_ns},
		last_ns    => $g->{last_ns},
		next_ns    => $g->{to_ns},
		compositor => $g->{paints} ? 1 : 0,
		sure       => $own         ? 0 : 1,
		stood      => {
			tid   => $tid, source_pid => $g->{source}{pid} // 0, from_ns => $g->{from_ns},
			to_ns => $ran
		}
	};
	return $part;
}

1;
