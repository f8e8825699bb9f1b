# SPDX-License-Identifier: GPL-2.0-only
# Charts as SVG, for all that measure: lines, steps, points, histograms, bars, spikes; bands and
# whiskers for intervals; thresholds and ranges; linear, logarithmic, time or named axes.
# The colours are those of Okabe and Ito ("Color Universal Design", 2008). Each series differs by
# its dashes or marks, too. The picture has its own background, which is dark where the screen is.
#
# A picture file is written by Tipme::Timeline::File::write_picture(FILE, SVG); in a page of
# Tipme::Page it stands by picture(SVG).
package Tipme::Chart;

use strict;
use warnings;
use parent 'Tipme::Chart::Drawing';
use List::Util qw(max min);
use Tipme::Chart::Axis;
use Tipme::Chart::Text qw(text_width fit_text wrap_text);
use Tipme::Printable   qw(one_line xml_text);
use Tipme::Words       qw(N__ fill);

# Unit: pixels.
my ($WIDTH, $HEIGHT, $MARGIN, $GAP) = (900, 320, 16, 8);
my ($TITLE, $SUBTITLE, $ROW) = (17, 13, 19);
my ($SWATCH, $TEXT) = ($Tipme::Chart::Drawing::SWATCH, $Tipme::Chart::Drawing::TEXT);
my $FONT = "'DejaVu Sans', 'Liberation Sans', Arial, sans-serif";

my %KINDS    = map { $_ => 1 } qw(line step points bars spikes);
my $pictures = 0;

# svg(CHART): the picture as UTF-8 bytes. CHART is a hash:
#   title, subtitle     text; the title has up to two lines, all text is escaped
#   x, y                { label, unit, scale, from, to, names => [ ... ] }; scale is linear, log,
#                       time (seconds) or names (x only); from and to: usually those of the data
#   series              [ { name, kind, points, band, whiskers }, ... ]; kind is
#                         line, step (holds until the next x), points: points => [ [ x, y ], ... ]
#                           (an undef y is a gap in a line)
#                         bars: points => [ [ from, to, y ], ... ], a histogram; beside names
#                           [ [ n, y ], ... ], series beside each other
#                         spikes: [ x, y ] as lines from the base: events over time
#                       band, whiskers => [ [ x, low, high ], ... ]: an interval of each point
#   limits              [ { axis => 'y'|'x', at, label }, ... ]: threshold lines
#   ranges              [ { axis, from, to, label }, ... ]: shaded, such as a limit from 25 to 75 ms
#   note                one line below
#   width, height       pixels, usually 900, and 320 of the plot itself
# A value of 0 or less has no place on a logarithmic axis: the picture says how many were left out.
# Dies by a sentence where a value is no finite number.
sub svg {
	my ($class, $c) = @_;
	eval { require SVG; SVG->import; 1 }
		or die "the Perl module SVG is not installed: install it (Debian: libsvg-perl)\n";
	my $self = bless { c => $c, left_out => 0, id => 'chart' . ++$pictures }, $class;
	$self->{series} =
		[ map { $self->_series($c->{series}[$_], $_) } 0 .. $#{ $c->{series} // [] } ];
	$self->_place_axes;
	my $height = $self->_plan;
	$self->{svg} = SVG->new(
		width      => $self->{width}, height => $height, viewBox => "0 0 $self->{width} $height",
		-nocredits => 1, -indent => ' ', 'font-family' => $FONT, role => 'img'
	);
	$self->{svg}->title->cdata_noxmlesc(xml_text($c->{title} // ''));
	$self->_define;
	$self->{svg}->rect(
		x     => 0, y => 0, width => $self->{width}, height => $height,
		fill  => Tipme::Chart::Drawing::light('paper'),
		class => 'tc-paper'
	);
	$self->_draw_words;
	$self->_draw_ranges;
	$self->_draw_grid;
	$self->_draw_series($_) for @{ $self->{series} };
	$self->_draw_limits;
	$self->_draw_legend;
	my $text = $self->{svg}->xmlify;
	utf8::encode($text) if utf8::is_utf8($text);
	return $text;
}

# --- the data ---

sub _series {
	my ($self, $s, $n) = @_;
	my $kind = $s->{kind} // 'line';
	die "chart: $kind: no such kind of series\n" if !$KINDS{$kind};
	my $gaps = $kind eq 'line' || $kind eq 'step';
	for my $p (@{ $s->{points} // [] }, @{ $s->{band} // [] }, @{ $s->{whiskers} // [] }) {
		for my $i (0 .. $#$p) {
			next if $gaps && $i == 1 && !defined $p->[$i];
			_finite($p->[$i]);
		}
	}
	return {
		%$s, kind => $kind, name => one_line($s->{name} // ''),
		Tipme::Chart::Drawing::look_of($n)
	};
}

sub _finite {
	my ($v) = @_;
	die 'chart: ' . ($v // 'nothing') . ": no finite number\n"
		if !defined $v
		|| "$v" !~ /\A\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*\z/
		|| abs($v) > 1e300;
	return $v + 0;
}

# Bars of numbers are [ from, to, y ], all else begins with x.
sub _is_histogram {
	my ($self, $s) = @_;
	return $s->{kind} eq 'bars' && ($self->{c}{x}{scale} // '') ne 'names';
}

sub _values {
	my ($self, $axis) = @_;
	my @v;
	for my $s (@{ $self->{series} }) {
		my $bars = $self->_is_histogram($s);
		for my $p (@{ $s->{points} // [] }) {
			push @v, $axis eq 'x' ? ($bars ? @$p[ 0, 1 ] : $p->[0]) : $p->[-1];
		}
		for my $p (map { @{ $s->{$_} // [] } } qw(band whiskers)) {
			push @v, $axis eq 'x' ? $p->[0] : @$p[ 1, 2 ];
		}
	}
	push @v, map { $_->{at} } grep { $_->{axis} eq $axis } @{ $self->{c}{limits} // [] }
		if $axis eq 'y';
	return grep {defined} @v;
}

sub _place_axes {
	my ($self) = @_;
	my $c = $self->{c};
	($self->{width}, $self->{plot_height}) = ($c->{width} // $WIDTH, $c->{height} // $HEIGHT);
	$self->{x} = $self->_axis('x');
	$self->{y} = $self->_axis('y', int $self->{plot_height} / 40);
	# What may be as wide as it likes must leave half of the picture to the data.
	$self->{y_ticks} = [ map { [ $_->[0], fit_text($_->[1], $TEXT, $self->{width} / 3) ] }
			$self->{y}->ticks(int $self->{plot_height} / 40) ];
	$self->{left} =
		$MARGIN + $ROW + 6 + max(0, map { text_width($_->[1], $TEXT) } @{ $self->{y_ticks} });
	$self->{right}   = $self->{width} - $MARGIN - 8;
	$self->{x_ticks} = $self->_x_ticks;
}

sub _axis {
	my ($self, $which, $round) = @_;
	my $o     = $self->{c}{$which} // {};
	my $scale = $o->{scale}        // 'linear';
	return Tipme::Chart::Axis->new(
		scale => 'names',
		names => [ map { one_line($_) } @{ $o->{names} } ]
	) if $scale eq 'names';
	my @v = $self->_values($which);
	@v = grep { $_ > 0 } @v if $scale eq 'log';
	my ($from, $to) = @v ? (min(@v), max(@v)) : $scale eq 'log' ? (1, 10) : (0, 1);
	if ($which eq 'y' && !defined $o->{from} && grep { $_->{kind} =~ /bars|spikes/ }
		@{ $self->{series} })
	{
		# Bars have a base: 0, and where that has no place, just below the least.
		$from = $scale eq 'log' ? $from * 0.6 : min(0, $from);
		$to   = $from + 1 if $to <= $from;
	} elsif ($which eq 'y'
		&& $scale eq 'linear'
		&& !defined $o->{from}
		&& $from > 0
		&& $from < $to / 2)
	{
		$from = 0;
	}
	$from = _finite($o->{from})                      if defined $o->{from};
	$to   = _finite($o->{to})                        if defined $o->{to};
	$to   = $scale eq 'log' ? $from * 10 : $from + 1 if $to < $from;
	my $axis = Tipme::Chart::Axis->new(scale => $scale, from => $from, to => $to);
	return $axis if !$round;
	my $long = $axis->rounded($round);
	return Tipme::Chart::Axis->new(
		scale => $scale,
		from  => $o->{from} // ($scale eq 'log' ? $axis : $long)->from, to => $o->{to} // $long->to
	);
}

# As many ticks as have room for their labels. Names become shorter, or each N-th is shown.
sub _x_ticks {
	my ($self) = @_;
	my $axis = $self->{x};
	if ($axis->scale eq 'names') {
		my @t    = $axis->ticks;
		my $each = max(1, int(@t * 30 / ($self->{right} - $self->{left}) + 0.999));
		my $room = ($self->{right} - $self->{left}) / max(1, scalar @t) * $each - $GAP;
		return [
			map  { [ $t[$_][0], fit_text($t[$_][1], $TEXT, $room) ] }
			grep { !($_ % $each) } 0 .. $#t
		];
	}
	for my $n (reverse 2 .. 12) {
		my @t    = $axis->ticks($n);
		my $end  = -1e9;
		my $fits = 1;
		for my $t (@t) {
			my ($x, $half) = ($self->_px($t->[0]), text_width($t->[1], $TEXT) / 2);
			$fits = 0 if $x - $half < $end + $GAP;
			$end  = $x + $half;
		}
		return \@t if $fits;
	}
	return [];
}

# --- where everything stands, from top to bottom ---

sub _plan {
	my ($self) = @_;
	my $c      = $self->{c};
	my $room   = $self->{width} - 2 * $MARGIN;
	my $y      = $MARGIN;
	$self->{words} = [];
	for my $line (wrap_text(one_line($c->{title} // ''), $TITLE * 1.06, $room, 2)) {
		$y += $TITLE + 2;
		$self->_say($MARGIN, $y, $line, size => $TITLE, weight => 'bold');
		$y += 4;
	}
	for my $line (wrap_text(one_line($c->{subtitle} // ''), $SUBTITLE, $room, 2)) {
		$y += $SUBTITLE + 2;
		$self->_say($MARGIN, $y, $line, size => $SUBTITLE, colour => 'soft');
		$y += 3;
	}
	$self->{top}    = $y + 14;
	$self->{bottom} = $self->{top} + $self->{plot_height};
	$self->_plan_ticks;
	$y = $self->{bottom} + $ROW + 2;
	my $label = fit_text(_label($c->{x}), $TEXT, $self->{right} - $self->{left});
	if (length $label) {
		$y += $ROW - 2;
		$self->_say(($self->{left} + $self->{right}) / 2, $y, $label, anchor => 'middle');
	}
	$y = $self->_plan_legend($y + 6);
	for my $note (grep {length} one_line($c->{note} // ''), $self->_left_out) {
		for my $line (wrap_text($note, $TEXT, $room, 2)) {
			$y += $ROW - 3;
			$self->_say($MARGIN, $y, $line, colour => 'soft');
		}
	}
	return int($y + $MARGIN);
}

sub _say {
	my ($self, $x, $y, $text, %o) = @_;
	push @{ $self->{words} }, { x => $x, y => $y, text => $text, %o };
	return;
}

sub _label {
	my ($o) = @_;
	return one_line(join ', ', grep { defined && length } @$o{qw(label unit)});
}

sub _plan_ticks {
	my ($self) = @_;
	my $base = $self->{bottom} + $ROW - 2;
	for my $t (@{ $self->{x_ticks} }) {
		my $half = text_width($t->[1], $TEXT) / 2;
		my $x    = $self->_px($t->[0]);
		# At the edge of the picture a label moves in; its neighbour has room, or it is left out.
		my $moved = min($x, $self->{width} - 2 - $half);
		$self->_say($moved, $base, $t->[1], anchor => 'middle', colour => 'soft')
			if $x - $moved < $GAP;
	}
	my $above = 1e9;
	for my $t (@{ $self->{y_ticks} }) {
		my $y = $self->_py($t->[0]);
		next if $above - $y < $TEXT + 2;
		$above = $y;
		$self->_say($self->{left} - 6, $y + 4, $t->[1], anchor => 'end', colour => 'soft');
	}
	my $label = fit_text(_label($self->{c}{y}), $TEXT, $self->{plot_height});
	$self->_say(
		$MARGIN + 8, ($self->{top} + $self->{bottom}) / 2, $label, anchor => 'middle',
		turned => 1
	) if length $label;
	return;
}

# Entries flow into rows; each has its sample, and as much of its text as a row holds.
sub _plan_legend {
	my ($self, $y) = @_;
	my $c       = $self->{c};
	my @entries = map { { series => $_, text => $_->{name} } }
		grep { length $_->{name} } @{ $self->{series} };
	push @entries,
		map { { limit => $_, text => one_line($c->{limits}[$_]{label} // $c->{limits}[$_]{at}) } }
		0 .. $#{ $c->{limits} // [] };
	push @entries,
		map { { range => $_, text => one_line($_->{label} // _from_to($_)) } }
		@{ $c->{ranges} // [] };
	my $x = my $begin = $MARGIN;
	$y += $ROW if @entries;

	for my $e (@entries) {
		my $text = fit_text($e->{text}, $TEXT, $self->{width} - 2 * $MARGIN - $SWATCH - 6);
		my $w    = $SWATCH + 6 + text_width($text, $TEXT) + 18;
		if ($x > $begin && $x + $w - 18 > $self->{width} - $MARGIN) {
			($x, $y) = ($begin, $y + $ROW);
		}
		@$e{qw(x y)} = ($x, $y - 4);
		$self->_say($x + $SWATCH + 6, $y, $text);
		$x += $w;
	}
	$self->{legend} = \@entries;
	return $y;
}

sub _from_to {
	my ($range) = @_;
	return fill(N__('{from} to {to}'), map { $_ => $range->{$_} } qw(from to));
}

# How many values have no place on a logarithmic axis.
sub _left_out {
	my ($self) = @_;
	my $n = 0;
	for my $s (@{ $self->{series} }) {
		my $bars = $self->_is_histogram($s);
		for my $p (@{ $s->{points} // [] }) {
			next if !defined $p->[-1];
			$n++ if $self->{x}->scale eq 'log' && ($bars ? $p->[1] : $p->[0]) <= 0
				# An empty bar is no value that is missing.
				|| $self->{y}->scale eq 'log'
				&& $p->[-1] <= 0
				&& !($s->{kind} eq 'bars' && $p->[-1] == 0);
		}
	}
	return $n
		? fill(
		N__('{n} values of 0 or less are left out: a logarithmic axis has no place for them.'),
		n => $n
		)
		: ();
}

sub _px { my ($self, $v) = @_; return _at($self->{x}, $v, $self->{left},   $self->{right}) }
sub _py { my ($self, $v) = @_; return _at($self->{y}, $v, $self->{bottom}, $self->{top}) }

# A place, not farther from the plot than a reader of SVG can compute with; undef: there is none.
sub _at {
	my ($axis, $v, $begin, $end) = @_;
	return if !defined $v;
	my $at = $axis->at($v) // return;
	$at = max(-20, min(21, $at));
	return $begin + $at * ($end - $begin);
}

1;
