# SPDX-License-Identifier: GPL-2.0-only
# How states, processes and marks look: colours that also colour-blind people tell apart (Okabe and
# Ito), and a shape for each state.
package Tipme::Timeline::Style;

use strict;
use warnings;
use Tipme::Words qw(N__);

our %COLOUR = (
	text  => '#1a1a1a', soft => '#5f6368', line => '#d9dce1', grid => '#e9ebee', shade => '#f4f6f8',
	paper => '#ffffff', path => '#111111',
	orange => '#E69F00', sky => '#56B4E9',        green  => '#009E73', yellow => '#F0E442',
	blue   => '#0072B2', vermillion => '#D55E00', purple => '#CC79A7',
	rest   => '#c9ced6',
);

# The process of each role; whoever is blamed is always vermillion. What waits has colours of its
# own, see %STATE.
our %PROCESS = (
	blamed  => [ $COLOUR{vermillion} ], server => [ $COLOUR{blue} ], client => [ $COLOUR{green} ],
	path    => [ $COLOUR{sky},    '#7a6ff0', '#3c9d9b' ],
	top     => [ $COLOUR{yellow}, '#a38f5c', '#8f98a8' ], rest => [ $COLOUR{rest} ],
	unknown => ['url(#dots)']
);

# height: part of the lane; fill: undef for the process's own colour; rank: what wins a pixel
# column.
our %STATE = (
	running =>
		{ height => 1, fill => undef, rank => 3, words => N__('running (colour of its process)') },
	runnable => {
		height => 2 / 3, fill => 'url(#hatch)', rank => 5, words => N__('runnable: waits for a CPU')
	},
	blocked => { height => 1 / 3, fill => '#aeb6c2', rank => 1, words => N__('blocked: sleeps') },
	disk    => {
		height => 1 / 3, fill => $COLOUR{purple}, rank => 4,
		words  => N__('blocked, uninterruptible')
	},
	stopped => { height => 1,     fill => 'url(#cross)', rank => 6, words => N__('stopped') },
	unknown => { height => 1 / 3, fill => 'url(#dots)',  rank => 0, words => N__('unknown') },
);
# How a state of the records is drawn; what is not here is plain sleep.
our %DRAWN = (
	disk_sleep => 'disk',    lock_wait => 'disk', stopped => 'stopped', traced => 'stopped',
	frozen     => 'stopped', unknown   => 'unknown'
);
our @STATES = qw(running runnable blocked disk stopped unknown);
our @MARKS  = (
	[ wake => N__('wakes up') ], [ sleep => N__('goes to sleep') ], [ fork => N__('forks') ],
	[ exit => N__('exits') ]
);

# of those that share a pixel column of a CPU
my %RANK = (blamed => 6, server => 5, client => 4, path => 3, top => 2, rest => 1);

# rank(ROLE), state_rank(STATE): of several in one pixel column, that of the highest is shown
sub rank       { return $RANK{ $_[0] } // 0 }
sub state_rank { return $STATE{ $_[0] }{rank} }

# define(SVG): the patterns that states refer to.
sub define {
	my ($svg) = @_;
	my $defs  = $svg->defs(id => 'patterns');
	my $hatch = $defs->pattern(
		id               => 'hatch', width => 5, height => 5, patternUnits => 'userSpaceOnUse',
		patternTransform => 'rotate(45)'
	);
	$hatch->rect(x => 0, y => 0, width => 5,   height => 5, fill => '#fbe8bf');
	$hatch->rect(x => 0, y => 0, width => 2.4, height => 5, fill => $COLOUR{orange});
	my $cross = $defs->pattern(
		id               => 'cross', width => 7, height => 7, patternUnits => 'userSpaceOnUse',
		patternTransform => 'rotate(45)'
	);
	$cross->rect(x => 0, y => 0, width => 7,   height => 7,   fill => '#ffffff');
	$cross->rect(x => 0, y => 0, width => 1.6, height => 7,   fill => '#333333');
	$cross->rect(x => 0, y => 0, width => 7,   height => 1.6, fill => '#333333');
	my $dots =
		$defs->pattern(id => 'dots', width => 4, height => 4, patternUnits => 'userSpaceOnUse');
	$dots->circle(cx => 2, cy => 2, r => 0.7, fill => '#9aa1ab');
}

# mark(SVG, KIND, X, Y): a small sign around (X, Y).
sub mark {
	my ($svg, $kind, $x, $y) = @_;
	my ($l, $r, $t, $b) = map { sprintf '%.1f', $_ } $x - 3.2, $x + 3.2, $y - 3, $y + 3;
	$x = sprintf '%.1f', $x;
	my %path = (
		wake => "M$l ${b}L$x ${t}L$r ${b}Z",         sleep => "M$l ${t}L$x ${b}L$r ${t}Z",
		fork => "M$l ${y}L$x ${t}L$r ${y}L$x ${b}Z", exit  => "M$l ${t}L$r ${b}M$l ${b}L$r $t"
	);
	my %look = (
		wake => { fill => $COLOUR{text} }, sleep => { fill => '#ffffff', stroke => $COLOUR{soft} },
		fork => { fill => $COLOUR{green}, stroke => $COLOUR{text} },
		exit => { fill => 'none', stroke => '#b00020', 'stroke-width' => 1.8 }
	);
	return $svg->path(
		d => $path{$kind}, class => "mark $kind", 'stroke-width' => 0.9,
		%{ $look{$kind} }
	);
}

1;
