# SPDX-License-Identifier: GPL-2.0-only
# What a person has marked while latencies were recorded, above the longest of each block, and how
# long these were before each mark and after it.
package Tipme::Latency::Marks;

use strict;
use warnings;
use List::Util qw(max min);
use Tipme::Chart;
use Tipme::CommandLine qw(seconds);
use Tipme::Page;
use Tipme::Printable qw(one_line);
use Tipme::Words     qw(N__ fill);

# Unit: characters, of a mark in a picture. Marks are cut there, the table has all of them.
my $SHOWN = 24;

# rows(RESULT, STAGE): [ { after_s, text, before_us, after_us } ... ] of RESULT->{marks}, which are
# { after_s, text } in order: the longest from the mark before (or the begin) up to this one, and
# from it up to the next (or the end). A block counts where it begins; undef: none does.
sub rows {
	my ($r, $stage) = @_;
	my @marks = @{ $r->{marks} // [] } or return;
	my @block = $r->block_maxima($stage);
	my @at    = (0, (map { int($_->{after_s} / $r->block_s + 0.5) } @marks), scalar @block);
	@at = map { min($_, scalar @block) } @at;
	my @span = map { max(@block[ $at[$_] .. $at[ $_ + 1 ] - 1 ]) } 0 .. $#at - 1;
	return map {
		{ %{ $marks[$_] }, before_us => $span[$_], after_us => $span[ $_ + 1 ] }
	} 0 .. $#marks;
}

# picture(RESULT, STAGE): the longest of each block over time, with the marks
sub picture {
	my ($r, $stage) = @_;
	my @block = $r->block_maxima($stage);
	my $n     = 0;
	my @lines = map {
		my $text = one_line($_->{text});
		{
			axis  => 'x', at => $_->{after_s},
			label => length $text > $SHOWN ? substr($text, 0, $SHOWN - 3) . '...' : $text
		}
	} @{ $r->{marks} // [] };
	return Tipme::Chart->svg(
		{
			title  => fill(N__('The longest of each {time}'), time => seconds($r->block_s)),
			x      => { label => fill(N__('since the recording began')), scale => 'time' },
			y      => { label => fill(N__('the longest')), unit => 'us', scale => 'log' },
			series => [
				{
					name   => fill(N__('the longest')), kind => 'step',
					points => [ map { [ $r->block_s * $n++, $_ || undef ] } @block, $block[-1] ]
				}
			],
			limits => \@lines
		}
	);
}

# part(NAME, RESULT, STAGE): of the page: (HEADING, HTML) as a list of one; empty where too little
# was recorded for it
sub part {
	my ($name, $r, $stage) = @_;
	my @block = $r->block_maxima($stage);
	my @rows  = rows($r, $stage);
	return () if @block < 2;
	my $us   = sub { return defined $_[0] ? seconds($_[0] / 1e6) : '-' };
	my $html = Tipme::Page::picture(picture($r, $stage));
	$html .= Tipme::Page::table(
		[
			map { fill($_) } N__('mark'), N__('after'), N__('the longest before it'),
			N__('the longest from there on')
		],
		map {
			[ $_->{text}, seconds($_->{after_s}), map { $us->($_) } @$_{qw(before_us after_us)} ]
		} @rows
	) if @rows;
	return [ fill(N__('{name}: over time'), name => $name), $html ];
}

1;
