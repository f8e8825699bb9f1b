# SPDX-License-Identifier: GPL-2.0-only
# How a chart that Tipme::Chart has laid out is drawn: axes, series, limits, legend. Its methods are
# those of that class.
package Tipme::Chart::Drawing;

use strict;
use warnings;
use List::Util       qw(first max min);
use Tipme::Printable qw(xml_text);

# Unit: pixels; of a sample in the legend, and of the common text.
our ($SWATCH, $TEXT) = (26, 12);

# Yellow is left out: on white nobody sees a thin line of it.
my @COLOURS = map {"#$_"} qw(0072B2 D55E00 009E73 CC79A7 E69F00 56B4E9 7f7f7f);
my @DASHES  = ('', '9 3', '3 3', '9 3 2 3', '14 4', '2 5');
my @MARKS   = qw(circle square up diamond down cross);
my %LIGHT   = (
	paper => '#ffffff', text => '#1a1a1a', soft => '#50555b', grid => '#e3e6ea', frame => '#8a9099',
	range => '#8a9099', limit => '#1a1a1a'
);
my %DARK = (
	paper => '#1e2023', text => '#ececec', soft => '#b7bcc3', grid => '#383c42', frame => '#8a9099',
	range => '#a8aeb6', limit => '#ececec'
);

# light(NAME): a colour on a light background; those on a dark one stand in the style.
sub light { return $LIGHT{ $_[0] } }

# look_of(N): what tells the N-th series (from 0) from the others.
sub look_of {
	my ($n) = @_;
	return (
		colour => $COLOURS[ $n % @COLOURS ],
		dash   => $DASHES[ $n % @DASHES ],
		mark   => $MARKS[ $n % @MARKS ]
	);
}

sub _define {
	my ($self) = @_;
	my $css    = join '', map {
		my $p = $_ =~ /\A(?:paper|text|soft|range)\z/ ? 'fill' : 'stroke';
		".tc-$_\{$p:$DARK{$_}}"
	} sort keys %DARK;
	$self->{svg}->style(type => 'text/css')
		->cdata_noxmlesc("\@media screen and (prefers-color-scheme:dark){$css}");
	my $clip = $self->{svg}->defs->tag('clipPath', id => $self->{id});
	$clip->rect(
		x     => _n($self->{left}),                  y      => _n($self->{top}),
		width => _n($self->{right} - $self->{left}), height => _n($self->{plot_height})
	);
	return;
}

# What is drawn within the plot.
sub _plot { my ($self) = @_; return $self->{svg}->group('clip-path' => "url(#$self->{id})") }

sub _draw_words {
	my ($self) = @_;
	for my $w (@{ $self->{words} }) {
		my $colour = $w->{colour} // 'text';
		my ($x, $y) = map { _n($_) } @$w{qw(x y)};
		my $t = $self->{svg}->text(
			x     => $x, y => $y, 'font-size' => $w->{size} // $TEXT, fill => $LIGHT{$colour},
			class => "tc-$colour",
			$w->{weight} ? ('font-weight' => $w->{weight})        : (),
			$w->{anchor} ? ('text-anchor' => $w->{anchor})        : (),
			$w->{turned} ? (transform     => "rotate(-90 $x $y)") : ()
		);
		$t->cdata_noxmlesc(xml_text($w->{text}));
	}
	return;
}

sub _draw_ranges {
	my ($self) = @_;
	for my $r (@{ $self->{c}{ranges} // [] }) {
		my $at = $r->{axis} eq 'x' ? '_px' : '_py';
		my ($a, $b) =
			map { $self->$at($_) // $self->$at($self->{ $r->{axis} }->from) } @$r{qw(from to)};
		my @box =
			$r->{axis} eq 'x'
			? ($a, $self->{top}, $b, $self->{bottom})
			: ($self->{left}, $b, $self->{right}, $a);
		$self->_plot->rect(
			_box(@box), fill => $LIGHT{range}, class => 'tc-range',
			'fill-opacity' => 0.25
		);
	}
	return;
}

sub _draw_grid {
	my ($self) = @_;
	my ($l, $r, $t, $b) = map { _n($_) } @$self{qw(left right top bottom)};
	my $path = '';
	for my $tick (@{ $self->{y_ticks} }) {
		my $y = _n($self->_py($tick->[0]));
		$path .= "M$l ${y}H$r";
	}
	if ($self->{x}->scale ne 'names') {
		for my $tick (@{ $self->{x_ticks} }) {
			my $x = _n($self->_px($tick->[0]));
			$path .= "M$x ${t}V$b";
		}
	}
	$self->_plot->path(
		d    => $path, stroke => $LIGHT{grid}, class => 'tc-grid', 'stroke-width' => 1,
		fill => 'none'
	) if length $path;
	$path = "M$l ${t}V${b}H$r";
	for my $v ($self->{x}->minor_ticks) {
		my ($x, $end) = map { _n($_) } $self->_px($v), $self->{bottom} + 3;
		$path .= "M$x ${b}V$end";
	}
	for my $v ($self->{y}->minor_ticks) {
		my ($y, $end) = map { _n($_) } $self->_py($v), $self->{left} - 3;
		$path .= "M$l ${y}H$end";
	}
	$self->{svg}->path(
		d    => $path, stroke => $LIGHT{frame}, class => 'tc-frame', 'stroke-width' => 1,
		fill => 'none'
	);
	return;
}

sub _draw_series {
	my ($self, $s) = @_;
	$self->_draw_band($s) if $s->{band};
	my $draw = $self->can("_draw_$s->{kind}");
	$self->$draw($s);
	$self->_draw_whiskers($s) if $s->{whiskers};
	return;
}

# Between two points of one pixel column only the lowest and the highest show.
sub _thinned {
	my ($self, @p) = @_;
	return @p if @p < 4 * ($self->{right} - $self->{left});
	my (@out, @column);
	my $at;
	my $flush = sub {
		my @seen = grep { defined $_->[1] } @column;
		my ($low, $high) = (
			first(sub {1}, sort { $a->[1] <=> $b->[1] } @seen),
			first(sub {1}, sort { $b->[1] <=> $a->[1] } @seen)
		);
		my %keep = map { ("$_" => 1) } grep {defined} $column[0], $column[-1], $low, $high;
		push @out, grep { $keep{"$_"} || !defined $_->[1] } @column;
		@column = ();
	};
	for my $p (@p) {
		my $c = int($p->[0]);
		$flush->() if defined $at && $c != $at;
		$at = $c;
		push @column, $p;
	}
	$flush->() if @column;
	return @out;
}

sub _pixels {
	my ($self, $points) = @_;
	return $self->_thinned(
		map { my $x = $self->_px($_->[0]); defined $x ? [ $x, $self->_py($_->[1]) ] : () }
			@$points);
}

sub _stroke {
	my ($s) = @_;
	return (
		stroke => $s->{colour}, fill => 'none', 'stroke-width' => 2,
		$s->{dash} ? ('stroke-dasharray' => $s->{dash}) : (), class => 'tc-series'
	);
}

sub _draw_line {
	my ($self, $s)   = @_;
	my ($path, $pen) = ('', 0);
	for my $p ($self->_pixels($s->{points})) {
		if (!defined $p->[1]) { $pen = 0; next }
		$path .= ($pen ? 'L' : 'M') . _n($p->[0]) . ' ' . _n($p->[1]);
		$pen = 1;
	}
	$self->_plot->path(d => $path, _stroke($s), 'stroke-linejoin' => 'round') if length $path;
	return;
}

sub _draw_step {
	my ($self, $s)   = @_;
	my ($path, $pen) = ('', 0);
	for my $p ($self->_pixels($s->{points})) {
		my $x = _n($p->[0]);
		$path .= "H$x" if $pen;
		if (!defined $p->[1]) { $pen = 0; next }
		$path .= $pen ? 'V' . _n($p->[1]) : "M$x " . _n($p->[1]);
		$pen = 1;
	}
	$self->_plot->path(d => $path, _stroke($s)) if length $path;
	return;
}

sub _draw_spikes {
	my ($self, $s) = @_;
	my %top;
	for my $p (@{ $s->{points} }) {
		my ($x, $y) = ($self->_px($p->[0]), $self->_py($p->[1]));
		next if !defined $x || !defined $y;
		$x = sprintf '%.1f', $x;
		$top{$x} = $y if !defined $top{$x} || $y < $top{$x};
	}
	my $base = _n($self->{bottom});
	my $path = join '', map { "M$_ ${base}V" . _n($top{$_}) } sort { $a <=> $b } keys %top;
	$self->_plot->path(
		d     => $path, stroke => $s->{colour}, 'stroke-width' => 1.2, fill => 'none',
		class => 'tc-series'
	) if length $path;
	return;
}

sub _draw_points {
	my ($self, $s) = @_;
	my $path = join '',
		map { _mark($s->{mark}, @$_) } grep { $self->_within(@$_) } $self->_pixels($s->{points});
	$self->{svg}->path(d => $path, fill => $s->{colour}, class => 'tc-series') if length $path;
	return;
}

# Marks at the edge of the plot are drawn whole, those beyond it not at all.
sub _within {
	my ($self, $x, $y) = @_;
	return
		   defined $y
		&& $x >= $self->{left} - 0.1
		&& $x <= $self->{right} + 0.1
		&& $y >= $self->{top} - 0.1
		&& $y <= $self->{bottom} + 0.1;
}

sub _draw_bars {
	my ($self, $s) = @_;
	my @boxes   = $self->_is_histogram($s) ? $self->_histogram($s) : $self->_named_bars($s);
	my $several = 1 < grep { $_->{kind} eq 'bars' } @{ $self->{series} };
	# Histograms over each other are outlines, or the one in front would hide the other.
	my %look = $several
		&& $self->_is_histogram($s) ? _stroke($s) : (fill => $s->{colour}, class => 'tc-series');
	my $path = $look{stroke} ? _contour(@boxes) : join '', map {
		my ($l, $t, $r, $b) = map { _n($_) } @$_;
		"M$l ${b}V${t}H${r}V${b}Z"
	} @boxes;
	$self->_plot->path(d => $path, %look) if length $path;
	return;
}

# One line along the tops of bars, down to the base where there is none.
sub _contour {
	my ($path, $end) = ('', undef);
	for my $box (@_) {
		my ($l, $t, $r, $b) = map { _n($_) } @$box;
		$path .= "V$b" if defined $end && $l - $end > 2;
		$path .= defined $end          && $l - $end <= 2 ? "V$t" : "M$l ${b}V$t";
		$path .= "H$r";
		$end = $r;
	}
	return @_ ? $path . 'V' . _n($_[-1][3]) : '';
}

sub _histogram {
	my ($self, $s) = @_;
	my @boxes;
	for my $p (@{ $s->{points} }) {
		my ($l, $r, $t) =
			($self->_px($p->[0]) // $self->{left}, $self->_px($p->[1]), $self->_py($p->[2]));
		next if !defined $r || !defined $t || $t >= $self->{bottom};
		# A bar of less than a pixel is still one.
		$r = $l + 1 if $r - $l < 1;
		push @boxes, [ $l, $t, $r - ($r - $l > 4 ? 1 : 0), $self->{bottom} ];
	}
	return @boxes;
}

sub _named_bars {
	my ($self, $s) = @_;
	my @bars  = grep { $_->{kind} eq 'bars' } @{ $self->{series} };
	my $which = first { $bars[$_] == $s } 0 .. $#bars;
	my $base  = max(0, $self->{y}->from);
	my $zero  = $self->_py($base) // $self->{bottom};
	my @boxes;
	for my $p (@{ $s->{points} }) {
		my $top = $self->_py($p->[1]) // next;
		my $l   = $self->_px($p->[0] - 0.4 + 0.8 * $which / @bars);
		my $r   = $self->_px($p->[0] - 0.4 + 0.8 * ($which + 1) / @bars);
		push @boxes, [ $l, $top, $r - ($r - $l > 4 ? 1 : 0), $zero ];
	}
	return @boxes;
}

sub _draw_band {
	my ($self, $s) = @_;
	my (@up, @down);
	for my $p (@{ $s->{band} }) {
		my ($x, $low, $high) =
			($self->_px($p->[0]), $self->_py($p->[1]) // $self->{bottom}, $self->_py($p->[2]));
		next if !defined $x || !defined $high;
		push @up, [ $x, $high ];
		unshift @down, [ $x, $low ];
	}
	my $path = join 'L', map { _n($_->[0]) . ' ' . _n($_->[1]) } @up, @down;
	$self->_plot->path(
		d     => "M${path}Z", fill => $s->{colour}, 'fill-opacity' => 0.22,
		class => 'tc-band'
	) if @up;
	return;
}

# Of bars beside each other the whiskers stand on the middle of their own bar.
sub _draw_whiskers {
	my ($self, $s) = @_;
	my %middle;
	if ($s->{kind} eq 'bars' && !$self->_is_histogram($s)) {
		my @boxes = $self->_named_bars($s);
		my @at    = grep { defined $self->_py($_->[1]) } @{ $s->{points} };
		$middle{ $at[$_][0] } = ($boxes[$_][0] + $boxes[$_][2]) / 2 for 0 .. $#boxes;
	}
	my $path = '';
	for my $p (@{ $s->{whiskers} }) {
		my ($x, $low, $high) = (
			$middle{ $p->[0] } // $self->_px($p->[0]), $self->_py($p->[1]) // $self->{bottom},
			$self->_py($p->[2])
		);
		next if !defined $x || !defined $high || $x < $self->{left} || $x > $self->{right};
		($low, $high) = map { max($self->{top}, min($self->{bottom}, $_)) } $low, $high;
		my ($l, $r, $m, $a, $b) = map { _n($_) } $x - 4, $x + 4, $x, $low, $high;
		$path .= "M$l ${b}H${r}M$m ${b}V${a}M$l ${a}H$r";
	}
	my ($stroke, $class) = %middle ? ($LIGHT{limit}, 'tc-limit') : ($s->{colour}, 'tc-series');
	$self->{svg}->path(
		d     => $path, stroke => $stroke, fill => 'none', 'stroke-width' => 1.4,
		class => $class
	) if length $path;
	return;
}

sub _limit_look {
	my ($n) = @_;
	return (
		stroke => $LIGHT{limit}, class => 'tc-limit', fill => 'none', 'stroke-width' => 1.3,
		'stroke-dasharray' => ('6 4', '2 3', '12 4', '6 3 2 3')[ $n % 4 ]
	);
}

sub _draw_limits {
	my ($self) = @_;
	my @limits = @{ $self->{c}{limits} // [] };
	for my $n (0 .. $#limits) {
		my ($axis, $at) = ($limits[$n]{axis}, $limits[$n]{at});
		my $p = $axis eq 'x' ? $self->_px($at) : $self->_py($at);
		next if !defined $p;
		my ($l, $r, $t, $b) = map { _n($_) } @$self{qw(left right top bottom)};
		$p = _n($p);
		$self->_plot->path(d => $axis eq 'x' ? "M$p ${t}V$b" : "M$l ${p}H$r", _limit_look($n));
	}
	return;
}

sub _draw_legend {
	my ($self) = @_;
	for my $e (@{ $self->{legend} }) {
		my ($x, $y, $end) = (_n($e->{x}), _n($e->{y}), _n($e->{x} + $SWATCH));
		if (defined $e->{limit}) {
			$self->{svg}->path(d => "M$x ${y}H$end", _limit_look($e->{limit}));
			next;
		}
		my @box = _box($e->{x}, $e->{y} - 5, $e->{x} + $SWATCH, $e->{y} + 5);
		if ($e->{range}) {
			$self->{svg}
				->rect(@box, fill => $LIGHT{range}, class => 'tc-range', 'fill-opacity' => 0.25);
			next;
		}
		$self->_draw_sample($e->{series}, $x, $y, $end, @box);
	}
	return;
}

sub _draw_sample {
	my ($self, $s, $x, $y, $end, @box) = @_;
	if ($s->{kind} eq 'points') {
		$self->{svg}->path(d => _mark($s->{mark}, ($x + $end) / 2, $y), fill => $s->{colour});
	} elsif ($s->{kind} eq 'line' || $s->{kind} eq 'step') {
		$self->{svg}->path(d => "M$x ${y}H$end", _stroke($s));
	} elsif ($s->{kind} eq 'bars' && $self->_is_histogram($s) && 1 < grep { $_->{kind} eq 'bars' }
		@{ $self->{series} })
	{
		$self->{svg}->rect(@box, _stroke($s));
	} else {
		$self->{svg}->rect(@box, fill => $s->{colour});
	}
	return;
}

sub _mark {
	my ($kind, $x, $y) = @_;
	my ($l, $r, $t, $b) = map { _n($_) } $x - 3.5, $x + 3.5, $y - 3.5, $y + 3.5;
	($x, $y) = map { _n($_) } $x, $y;
	my %path = (
		circle => "M$l ${y}A3.5 3.5 0 1 1 $r ${y}A3.5 3.5 0 1 1 $l ${y}Z",
		square => "M$l ${t}H${r}V${b}H${l}Z",  up      => "M$l ${b}L$x ${t}L$r ${b}Z",
		down   => "M$l ${t}L$x ${b}L$r ${t}Z", diamond => "M$l ${y}L$x ${t}L$r ${y}L$x ${b}Z"
	);
	$path{cross} = 'M' . _n($x - 1) . " ${t}h2v2.5h2.5v2h-2.5v2.5h-2v-2.5h-2.5v-2h2.5Z";
	return $path{$kind};
}

sub _box {
	my ($l, $t, $r, $b) = @_;
	return (x => _n($l), y => _n($t), width => _n(max(0, $r - $l)), height => _n(max(0, $b - $t)));
}

# Tenths of a pixel, and never "-0.0".
sub _n { my ($v) = @_; my $n = sprintf '%.1f', $v; return $n == 0 ? '0' : $n =~ s/\.0\z//r }

1;
