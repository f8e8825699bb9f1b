# SPDX-License-Identifier: GPL-2.0-only
# Where nothing is proven slow: what was slowest, what may have been slow and is not proven, what
# was not observed, and the worst beside the input.
package Tipme::Diagnosis::Nothing;

use strict;
use warnings;
use Tipme::Brought;
use Tipme::Candidates;
use Tipme::Covered;
use Tipme::Diagnosis::StoodStill;
use Tipme::DisplaySource;
use Tipme::LateInput;
use Tipme::Moment qw(moment);
use Tipme::Words  qw(N__ fill);

my $SLOWEST = 5;    # told where nothing is unusual

# with(DIAGNOSIS, PART): the part of a diagnosis that found nothing, with what is said all the same.
# Who has just pressed the hot-key is told what may have been slow, too.
sub with {
	my ($self, $part) = @_;
	my $p = $self->{problem};
	my $c = Tipme::Candidates->new(
		episode => $self->{episode}, kernel => $self->{kernel},
		path    => $self->{path},    caused => $p->caused, rest => $p->rest, problem => $p
	);
	my $stutter = Tipme::Diagnosis::StoodStill::part($self);
	return { %$stutter, slowest => slowest($self) }
		if $stutter && $stutter->{verdict}{stutter}{sure};
	my @unproven =
		($self->{episode}->manifest->{trigger}{kind} // '') eq 'hotkey' ? $c->unproven : ();
	my ($first) = grep { !Tipme::Candidates::weak($_) } @unproven;
	if ($first) {
		my $i = $p->interval(
			$first->{event},
			{
				first_ns => undef,            end_ns => $first->{end_ns}, open => $first->{open},
				damage   => $first->{damage}, exact  => 0
			}
		);
		$part = $self->part_of($i);
		Tipme::Candidates::told($part, $first);
	}
	$part->{candidates} = [
		map {
			my $x = $_;
			+{ map { $_ => $x->{$_} }
					qw(n kind pid comm start_ns end_ns possible_ns open why words by others) }
		} @unproven
	];
	$part->{verdict}{sentence} .=
		Tipme::Covered::words(Tipme::Brought::quiet($self, $self->{kernel}->sampled)->{covered_ns})
		if $part->{verdict}{kind} eq 'none';
	$part->{slowest} = slowest($self);
	push @{ $part->{verdict}{circumstances} },
		Tipme::LateInput::facts(
		$part->{verdict}, $self->{episode}, [ $self->events ],
		$self->{path}->servers
		);
	push @{ $part->{verdict}{circumstances} },
		(map { Tipme::Candidates::said($_) } grep { !$first || $_ != $first } @unproven),
		$stutter
		? fill(
		N__('{picture}; whether it had anything to show then is not known.'),
		picture => $stutter->{verdict}{head}
		)
		: (), $c->unseen, $c->beside // ();
	return $part;
}

# slowest(DIAGNOSIS): the presses that were answered latest, up to five: { n, kind, comm,
# duration_ns, time }, the latest answer first. Those that the X records show to be late are looked
# at closely.
sub slowest {
	my ($self) = @_;
	my @c =
		sort { $b->[1] <=> $a->[1] || $a->[0]{n} <=> $b->[0]{n} }
		map  { [ $_, $_->{bursts}[-1][1] - $_->{device_ns} ] }
		grep {
			   $_->{candidate}
			&& $_->{device_ns} > $self->{kernel}->covered_from
			&& ref $_->{bursts} eq 'ARRAY'
			&& @{ $_->{bursts} }
			&& $_->{kind} =~ /press|repeat|touch|wheel|start/
		} $self->events;
	splice @c, 4 * $SLOWEST if @c > 4 * $SLOWEST;
	my @i = sort { $b->{end_ns} - $b->{start_ns} <=> $a->{end_ns} - $a->{start_ns} }
		grep {defined} map { scalar $self->interval_of($_->[0]) } @c;
	splice @i, $SLOWEST if @i > $SLOWEST;
	return [
		map {
			my $e = $_->{event};
			+{
				n    => $e->{n}, kind => $e->{kind}, duration_ns => $_->{end_ns} - $_->{start_ns},
				comm => $e->{pid}
				? $self->{kernel}->threads->at($e->{pid}, $_->{end_ns})->{comm}
				: Tipme::DisplaySource::unnamed($e->{client}),
				time => moment($self->{episode}, $_->{start_ns})->{time}
			}
		} @i
	];
}

1;
