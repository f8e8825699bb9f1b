# SPDX-License-Identifier: GPL-2.0-only
# The paper that a timeline is drawn on: its measures, and the pieces that all of its parts are made
# of.
package Tipme::Timeline::Paper;

use strict;
use warnings;
use Exporter         qw(import);
use Tipme::Printable qw(one_line shorten xml_text);
use Tipme::Timeline::Scale;
use Tipme::Timeline::Style;

our @EXPORT_OK = qw($WIDTH $MARGIN $LEFT $PLOT $MARK_GAP $C ink px wrap);

our $WIDTH    = 1400;                               # pixels
our $MARGIN   = 28;                                 # pixels at the right
our $LEFT     = 240;                                # pixels for names
our $PLOT     = $WIDTH - $LEFT - $MARGIN;           # pixels for the time
our $MARK_GAP = 7;                                  # pixels between two marks of a kind
our $C        = \%Tipme::Timeline::Style::COLOUR;

# scale(FROM_NS, TO_NS, ZERO_NS), room_for_marks(FROM_NS, TO_NS): what the picture reduces by, for
# those who collect less in the first place. room_for_marks() gives a function: does the picture
# show a mark of a KIND at a TIME? Asked in order of time.
sub scale {
	my ($from, $to, $zero) = @_;
	return Tipme::Timeline::Scale->new($from, $to, $LEFT, $PLOT, $zero);
}

sub room_for_marks {
	my ($scale, %last) = scale(@_, $_[0]);
	return sub {
		my ($kind, $ts) = @_;
		return 0 if !$scale->holds($ts);
		my $x = $scale->x($ts);
		return 0 if defined $last{$kind} && $x - $last{$kind} < $MARK_GAP;
		$last{$kind} = $x;
		return 1;
	};
}

# arrow(GROUP, X, FROM_Y, TO_Y, BACK: -1 where it points down)
sub arrow {
	my ($self, $g, $x, $y0, $y1, $back) = @_;
	$g->line(
		x1             => px($x), x2 => px($x), y1 => px($y0), y2 => px($y1), stroke => $C->{path},
		'stroke-width' => 1.3,    class => 'wakeup'
	);
	$g->path(
		d => sprintf(
			'M%.1f %.1fL%.1f %.1fL%.1f %.1fZ', $x, $y1, $x - 3.6, $y1 + 7 * $back, $x + 3.6,
			$y1 + 7 * $back
		),
		fill => $C->{path}
	);
}

# legend_text(X, Y, WORDS): where the next one begins
sub legend_text {
	my ($self, $x, $y, $words) = @_;
	$self->text($x, $y, $words, size => 12, fill => $C->{soft});
	return $x + 6.9 * length($words) + 22;
}

# heading(Y, TEXT)
sub heading {
	my ($self, $y, $text) = @_;
	$self->text($MARGIN, $y, $text, size => 13.5, weight => 'bold', class => 'heading');
}

# colour_of(STATE, KEY of a process)
sub colour_of {
	my ($self, $state, $key) = @_;
	my $style = $Tipme::Timeline::Style::STATE{$state} // $Tipme::Timeline::Style::STATE{unknown};
	return $style->{fill} // ($self->{d}{procs}{ $key // '' } // {})->{colour} // $C->{rest};
}

# text(X, Y, TEXT, size =>, fill =>, weight =>, anchor =>, class =>, halo => 1): the SVG module
# leaves what looks like an entity alone, so the text comes escaped, and as bytes would it be mixed
# up.
sub text {
	my ($self, $x, $y, $text, %o) = @_;
	my %a = (x => px($x), y => px($y), 'font-size' => $o{size}, fill => $o{fill} // $C->{text});
	$a{'font-weight'} = $o{weight} if $o{weight};
	$a{'text-anchor'} = $o{anchor} if $o{anchor};
	$a{class}         = $o{class}  if $o{class};
	# Paper around the letters, where they stand on a hatch.
	@a{qw(stroke stroke-width paint-order stroke-linejoin)} = ($C->{paper}, 3, 'stroke', 'round')
		if $o{halo};
	return $self->{svg}->text(%a)->cdata_noxmlesc(xml_text($text));
}

# tip(ELEMENT, TEXT): what a viewer shows under the pointer.
sub tip {
	my ($self, $element, $text) = @_;
	$element->title->cdata_noxmlesc(xml_text(one_line($text)));
}

# ink(COLOUR): dark ink on light colours, light ink on dark ones.
sub ink {
	my ($r, $g, $b) = map {hex} $_[0] =~ /^#(..)(..)(..)/ or return $C->{text};
	return 0.299 * $r + 0.587 * $g + 0.114 * $b > 140 ? '#1a1a1a' : '#ffffff';
}

# px(NUMBER): as short as it stays exact enough
sub px { my $n = sprintf '%.1f', $_[0]; $n =~ s/\.0\z//; return $n }

# wrap(TEXT, N): lines of at most so many characters
sub wrap {
	my ($text, $n) = @_;
	my @lines = ('');
	for my $word (split / /, shorten($text, 3 * $n)) {
		$word = shorten($word, $n);
		if (length($lines[-1]) + length($word) + 1 > $n && length $lines[-1]) { push @lines, $word }
		else { $lines[-1] .= length $lines[-1] ? " $word" : $word }
	}
	return @lines;
}

1;
