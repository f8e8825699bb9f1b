# SPDX-License-Identifier: GPL-2.0-only
# Where the CPU was while somebody came too late: samples as a tree of calls, as text and as a flame
# graph (Gregg, "The Flame Graph", CACM 2016): the width of a frame is its share of all samples.
package Tipme::Latency::CallTree;

use strict;
use warnings;
use Exporter           qw(import);
use Tipme::Chart::Text qw(fit_text);
use Tipme::Printable   qw(one_line xml_text);

our @EXPORT_OK = qw(tree lines flame);

# Unit: pixels.
my ($WIDTH, $ROW, $TOP, $MARGIN, $SIZE) = (900, 18, 40, 16, 12);
# A frame that is narrower than this has no word, and its callees are not drawn.
my ($LEAST_WORD, $LEAST) = (30, 0.5);

# tree(STACKS): each outermost function first: { name, samples, below => { name => tree } }
sub tree {
	my (@stacks) = @_;
	my $root = { name => 'all', samples => scalar @stacks, below => {} };
	for my $stack (@stacks) {
		my $at = $root;
		for my $name (@$stack) {
			$at = $at->{below}{$name} //= { name => $name, samples => 0, below => {} };
			$at->{samples}++;
		}
	}
	return $root;
}

sub _below {
	my ($node) = @_;
	return
		sort { $b->{samples} <=> $a->{samples} || $a->{name} cmp $b->{name} }
		values %{ $node->{below} };
}

# lines(TREE, LEAST): text, a function a line, with its share; those below LEAST (0 to 1) are left
# out. A row of single callees stands on one line.
sub lines {
	my ($tree, $least) = @_;
	my @lines;
	my $all = $tree->{samples} || 1;
	my $walk;
	$walk = sub {
		my ($node, $depth) = @_;
		my @names = ($node->{name});
		my @below = grep { $_->{samples} >= $least * $all } _below($node);
		while (@below == 1 && $below[0]{samples} == $node->{samples}) {
			$node = $below[0];
			push @names, $node->{name};
			@below = grep { $_->{samples} >= $least * $all } _below($node);
		}
		push @lines, sprintf '%5.1f %%  %s%s', 100 * $node->{samples} / $all, '  ' x $depth,
			one_line(join ' > ', @names);
		$walk->($_, $depth + 1) for @below;
	};
	$walk->($_, 0) for grep { $_->{samples} >= $least * $all } _below($tree);
	return @lines;
}

# flame(TREE, title => TEXT): SVG as UTF-8 bytes; the outermost function stands at the bottom
sub flame {
	my ($tree, %o) = @_;
	require SVG;
	my $deep   = _depth($tree);
	my $height = $TOP + $ROW * $deep + $MARGIN;
	my $svg    = SVG->new(
		width => $WIDTH, height => $height, viewBox => "0 0 $WIDTH $height", -nocredits => 1,
		'font-family' => 'sans-serif', role => 'img'
	);
	$svg->title->cdata_noxmlesc(xml_text($o{title} // ''));
	$svg->rect(x => 0, y => 0, width => $WIDTH, height => $height, fill => '#ffffff');
	$svg->text(x => $MARGIN, y => 24, 'font-size' => 15, fill => '#1a1a1a')
		->cdata_noxmlesc(xml_text($o{title} // ''));
	_frames(
		$svg, $tree, $MARGIN, ($WIDTH - 2 * $MARGIN) / ($tree->{samples} || 1),
		$height - $MARGIN, $tree->{samples}
	);
	my $text = $svg->xmlify;
	utf8::encode($text) if utf8::is_utf8($text);
	return $text;
}

sub _depth {
	my ($node) = @_;
	my $deep = 0;
	for (values %{ $node->{below} }) { my $d = _depth($_); $deep = $d if $d > $deep }
	return $deep + ($node->{name} eq 'all' ? 0 : 1);
}

# The callees of a node, side by side above it, from X on.
sub _frames {
	my ($svg, $node, $x, $scale, $y, $all) = @_;
	for my $f (_below($node)) {
		my $width = $f->{samples} * $scale;
		last if $width < $LEAST;
		my $g = $svg->group;
		$g->title->cdata_noxmlesc(
			xml_text(
				sprintf '%s: %d samples, %.1f %%', $f->{name}, $f->{samples},
				100 * $f->{samples} / ($all || 1)
			)
		);
		$g->rect(
			x     => sprintf('%.2f', $x),                                 y      => $y - $ROW + 1,
			width => sprintf('%.2f', $width > 1 ? $width - 0.5 : $width), height => $ROW - 1,
			fill  => _colour($f->{name})
		);
		$g->text(x => sprintf('%.2f', $x + 3), y => $y - 5, 'font-size' => $SIZE, fill => '#1a1a1a')
			->cdata_noxmlesc(xml_text(fit_text($f->{name}, $SIZE, $width - 6)))
			if $width >= $LEAST_WORD;
		_frames($svg, $f, $x, $scale, $y - $ROW, $all);
		$x += $width;
	}
	return;
}

# One colour for a name, whatever is drawn beside it: warm and light, so that dark words can be
# read.
sub _colour {
	my ($name) = @_;
	my $h = 0;
	$h = ($h * 31 + ord) % 9973 for split //, $name;
	return sprintf '#%02x%02x%02x', 235 + $h % 20, 150 + $h % 80, 80 + $h % 60;
}

1;
