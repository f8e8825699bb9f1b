# SPDX-License-Identifier: GPL-2.0-only
# The times of events that `tipme profile record --record-key-times` wrote beside a profile: figure
# 5 as the paper has it, each event a line, whole and magnified; table 2 exactly.
package Tipme::Profile::Times;

use strict;
use warnings;
use List::Util             qw(max min sum0);
use Tipme::Profile::Inputs qw(input_words limit_words);
use Tipme::Profile::Views  qw(between_times limits);
use Tipme::Words           qw(N__ fill);

# Unit: events. A month of a quick typist has fewer.
my $MAX = 10_000_000;
# Unit: s. What the magnified picture shows, as figure 5b.
my $CLOSE_S = 2;
my $HEAD    = join "\t", qw(entered_ns app kind outcome read_ns sent_ns drawn_ns finished_ns);

# read(FILE): { events => [ { entered_ns, app, kind, outcome, response_ns } ... ] } of answered
# ones, all => [ ... ] of all, in order; dies by a sentence about what is wrong with it.
sub read {    ## no critic (ProhibitBuiltinHomonyms)
	my ($class, $file) = @_;
	open my $h, '<:raw', $file or die "$file: $!\n";
	my $head = <$h> // '';
	chomp $head;
	die "$file: no times of events: name FILE.times of `tipme profile record`\n" if $head ne $HEAD;
	my @events;
	while (my $line = <$h>) {
		my ($entered, $app, $kind, $outcome, @stages) =
			$line =~ /\A(\d{1,18})\t([^\t\n]*)\t([a-z]+)\t(\d)((?:\t\d{1,18}){4})\n\z/
			or die "$file: line $.: not an event: the file is cut short or was changed\n";
		push @events,
			{
			entered_ns  => $entered, app => $app, kind => $kind,
			outcome     => $outcome,
			response_ns => sum0(split /\t/, $stages[0] =~ s/\A\t//r)
			};
		die "$file: more than $MAX events\n" if @events > $MAX;
	}
	close $h or die "$file: $!\n";
	@events = sort { $a->{entered_ns} <=> $b->{entered_ns} } @events;
	return bless {
		file   => $file, all => \@events,
		events => [ grep { !$_->{outcome} } @events ]
	}, $class;
}

# between(THRESHOLDS_MS, KIND): table 2, with the events' own times; rows as those of
# Tipme::Profile::Views.
sub between {
	my ($self, $thresholds, $kind) = @_;
	return between_times(
		$thresholds,
		map { [ @$_{qw(entered_ns response_ns)} ] } $self->_of($kind)
	);
}

sub _of {
	my ($self, $kind) = @_;
	return grep { !defined $kind || $_->{kind} eq $kind } @{ $self->{events} };
}

# Figure 5: what is shown of a kind: the whole, and 2 s around the longest, in s from the first
# event.
sub _shown {
	my (@events)  = @_;
	my $zero      = $events[0]{entered_ns};
	my ($longest) = sort { $b->{response_ns} <=> $a->{response_ns} } @events;
	my $middle    = ($longest->{entered_ns} - $zero) / 1e9;
	my $end       = max($CLOSE_S, ($events[-1]{entered_ns} - $zero) / 1e9);
	my $from      = max(0, min($end - $CLOSE_S, $middle - $CLOSE_S / 2));
	return ($zero, [ 0, $end ], [ $from, $from + $CLOSE_S ]);
}

# charts(KIND): each event as a line from when it began; the whole, and magnified.
sub charts {
	my ($self, $kind) = @_;
	my @events = $self->_of($kind) or return ();
	my ($zero, $all, $close) = _shown(@events);
	return (
		_chart(
			"$kind-events-over-time", N__('Each event: {input}'),
			$kind, @$all, $zero, @events
		),
		_chart(
			"$kind-longest", N__('Two seconds around the longest: {input}'),
			$kind, @$close, $zero, @events
		)
	);
}

# each_event(KIND): the same as { from_s, to_s, events => [ [ s, ms ] ... ] } of whole and
# magnified.
sub each_event {
	my ($self, $kind) = @_;
	my @events = $self->_of($kind) or return ();
	my ($zero, @shown) = _shown(@events);
	return
		map { +{ from_s => $_->[0], to_s => $_->[1], events => [ _points(@$_, $zero, @events) ] } }
		@shown;
}

sub _points {
	my ($from, $to, $zero, @events) = @_;
	return grep { $_->[0] >= $from && $_->[0] <= $to }
		map { [ ($_->{entered_ns} - $zero) / 1e9, $_->{response_ns} / 1e6 ] } @events;
}

sub _chart {
	my ($name, $title, $kind, $from, $to, $zero, @events) = @_;
	my ($low, $high, $what) = limits($kind);
	my @points = _points($from, $to, $zero, @events);
	return [
		$name,
		{
			title => fill($title, input => input_words($kind)),
			x     => {
				label => fill(N__('since the first event')),
				scale => 'time', from => $from, to => $to
			},
			y      => { label => fill(N__('latency')), unit => 'ms' },
			series => [ { name => fill(N__('an event')), kind => 'spikes', points => \@points } ],
			ranges => [
				{
					axis  => 'y', from => $low, to => $high,
					label => limit_words($low, $high, $what)
				}
			]
		}
	];
}

1;
