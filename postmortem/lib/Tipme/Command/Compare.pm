# SPDX-License-Identifier: GPL-2.0-only
# tipme compare: a good day against a bad one.
package Tipme::Command::Compare;

use strict;
use warnings;
use Tipme::Called      qw(called);
use Tipme::CommandLine qw(options complain print_json local_time table);
use Tipme::Compare     qw(compare);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Kinds;
use Tipme::Library;
use Tipme::Printable qw(put one_line shorten);
use Tipme::Report::JSON;
use Tipme::Words qw(N__ fill);
use Text::Wrap   ();

my $HELP = N__(<<'END');
usage: tipme compare A B [--event-a N] [--event-b N] [--json]

Two episodes: the same kind of event, stage by stage and cause by cause. Of the episode with the
longer delay it is the event that was the problem. Of the other it is the middle one of the same
kind and client. Or name both by the numbers of `tipme events`. All differences add up to the
difference of the responses. Below that stands what changed with the machine: kernel, drivers,
settings, what is mounted and runs.

  tipme compare 20261119-080000-0a0b last
  tipme compare good/ bad/ --event-a 12 --event-b 40
  tipme compare 20261119 20261120 --json | jq '.causes[0]'
END

my $MAX_CAUSES  = 12;    # rows; the others are one row
my $MAX_CHANGES = 20;    # rows; the others are counted
my %STAGE       = (
	input    => N__('until the kernel had taken it in'), server  => N__('until the X server ran'),
	device   => N__('until it had read the event'),      deliver => N__('until it had sent it'),
	client   => N__('until the client ran'),
	request  => N__('until the first request'), drawn => N__('until the client had drawn'),
	feedback => N__('until the screen had changed'),
	open     => N__('up to the trigger, or the client\'s end: no answer')
);

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, 2, 'json', 'event-a=i', 'event-b=i');
	return $exit if !$o;
	return complain('compare', fill(N__('two episodes are needed: `tipme list` shows them')))
		if @args < 2;
	my @d =
		map { Tipme::Diagnosis->new(Tipme::Episode->open($_)) } Tipme::Library->folders_of(@args);
	my $c = compare(@d, event_a => $o->{'event-a'}, event_b => $o->{'event-b'});
	if   ($o->{json}) { print_json(Tipme::Report::JSON::clean($c)) }
	else              { put(_text($c)) }
	return 0;
}

sub _text {
	my ($c) = @_;
	local $Text::Wrap::columns = 80;
	my $text = Text::Wrap::wrap('', '', one_line($c->{sentence})) . "\n\n";
	for my $side (qw(a b)) {
		my $s = $c->{$side};
		my $who =
			$s->{client}
			? one_line($s->{client}{comm})
			. (defined $s->{client}{pid} ? " ($s->{client}{pid})" : '')
			: fill(N__('the pointer'));
		$text .= fill(
			N__('{side}  {id}, {time}, event {n} of {who}, {share} % measured exactly'),
			side  => uc $side, id => one_line($s->{id}),
			time  => local_time(one_line($s->{time} // '')),
			n     => $s->{event},
			who   => $who . ($s->{certainty} eq 'exact' ? '' : " ($s->{certainty})"),
			share => sprintf '%.0f', 100 * $s->{confidence}
		) . "\n";
	}
	my @causes = @{ $c->{causes} };
	my @rest   = splice @causes, $MAX_CAUSES < @causes ? $MAX_CAUSES : scalar @causes;
	my %rest   = (a_ns => 0, b_ns => 0, difference_ns => 0);
	for my $r (@rest) { $rest{$_} += $r->{$_} for keys %rest }
	my @rows = map {
		_row(
			$_,
			Tipme::Kinds::words($_->{kind}, 'phrase')
				. (defined $_->{comm} ? '  - ' . called($_->{comm}) : '')
		)
	} @causes;
	push @rows, _row(\%rest, fill(N__('{n} others'), n => scalar @rest)) if @rest;
	return $text . "\n" . table(
		[
			[ 'A, ms', 'B, ms', 'B - A', fill(N__('stage')) ],
			(map { _row($_, fill($STAGE{ $_->{name} } // $_->{name})) } @{ $c->{stages} }), _sum($c)
		],
		'rrrl'
		)
		. "\n"
		. table([ [ 'A, ms', 'B, ms', 'B - A', fill(N__('cause')) ], @rows, _sum($c) ], 'rrrl')
		. _machine($c);
}

# What is another with the machine itself: a driver, a setting, what runs.
sub _machine {
	my ($c)  = @_;
	my @d    = @{ $c->{machine} } or return '';
	my @more = splice @d, $MAX_CHANGES < @d ? $MAX_CHANGES : scalar @d;
	my @rows = map {
		my $d = $_;
		[ $d->{what}, map { shorten($d->{$_} // '', 30) } qw(a b) ]
	} @d;
	push @rows, [ fill(N__('{n} others'), n => scalar @more), '', '' ] if @more;
	return "\n" . table([ [ fill(N__('the machine')), 'A', 'B' ], @rows ], 'lll');
}

sub _row {
	my ($d, $name) = @_;
	return [
		_ms($d->{a_ns}), _ms($d->{b_ns}), sprintf('%+.3f', $d->{difference_ns} / 1e6),
		shorten($name, 48)
	];
}

sub _sum {
	my ($c) = @_;
	return [
		_ms($c->{a}{duration_ns}),                   _ms($c->{b}{duration_ns}),
		sprintf('%+.3f', $c->{difference_ns} / 1e6), fill(N__('all'))
	];
}

sub _ms { return sprintf '%.3f', $_[0] / 1e6 }

1;
