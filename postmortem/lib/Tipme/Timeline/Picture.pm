# SPDX-License-Identifier: GPL-2.0-only
# Draws a timeline from plain data as SVG: the stages from finger to screen, where the time went,
# who had the CPUs, what the threads did.
package Tipme::Timeline::Picture;

use strict;
use warnings;
use parent             qw(Tipme::Timeline::Paper);
use Tipme::CommandLine qw(ms);
use Tipme::Printable   qw(one_line shorten);
use Tipme::Timeline::Lanes;
use Tipme::Timeline::Paper  qw($WIDTH $MARGIN $LEFT $C px wrap);
use Tipme::Timeline::Reduce qw(reduce_spans);
use Tipme::Timeline::Style;
use Tipme::Words qw(N__ fill);

my $FONT = "'DejaVu Sans', 'Liberation Sans', Arial, sans-serif";

# svg(DATA): the picture as SVG text (UTF-8). DATA:
#   title, subtitle, footer       text
#   from_ns, to_ns                what the picture shows;  zero_ns: where its axis has 0
#   start_ns, end_ns              the problem interval;  start_label, end_label
#   trigger_ns                    when somebody pressed the hot-key
#   stages    [ { name, label, ts, certainty, who } ]
#   path      [ { from, to, tid, state, label } ]      without gap or overlap
#   stretches [ { from, to, label } ]                  what is written on the path
#   arrows    [ [ ts, tid of the waker, tid of the woken ] ]
#   procs     { KEY => { label, role } }
# cpus [ { cpu, spans => [ [ from, to, KEY ] ], shares => { KEY => ns } } ] shares where spans are
# reduced
# threads [ { tid, key, label, detail, states => [ [ from, to, state ] ], prio => [ [ ts, prio ] ],
# marks => [ [ ts, kind, text ] ] } ]
#   more      what was left out of the threads, as text
sub svg {
	my ($class, $d) = @_;
	eval { require SVG; SVG->import; 1 }
		or die "the Perl module SVG is not installed: install it (Debian: libsvg-perl)\n";
	my $self = bless { d => $d, y => $MARGIN }, $class;
	$self->{scale} = Tipme::Timeline::Paper::scale(@$d{qw(from_ns to_ns zero_ns)});
	_choose_colours($d->{procs});
	my $height = $self->_plan;
	$self->{svg} = SVG->new(
		width      => $WIDTH, height  => $height, viewBox       => "0 0 $WIDTH $height",
		-nocredits => 1,      -indent => ' ',     'font-family' => $FONT
	);
	Tipme::Timeline::Style::define($self->{svg});
	$self->{svg}->rect(x => 0, y => 0, width => $WIDTH, height => $height, fill => $C->{paper});
	$self->_draw_title;
	$self->_draw_stages;
	$self->_draw_axes;
	$self->_draw_path_lane;
	Tipme::Timeline::Lanes::cpus($self);
	Tipme::Timeline::Lanes::threads($self);
	Tipme::Timeline::Lanes::wakeups($self);
	$self->_draw_moments;
	$self->_draw_legend;
	my $text = $self->{svg}->xmlify;
	utf8::encode($text) if utf8::is_utf8($text);
	return $text;
}

# --- where everything stands: from top to bottom, one place ---

sub _plan {
	my ($self) = @_;
	my $d      = $self->{d};
	my $y      = $MARGIN;
	$self->{title} = [ wrap(one_line($d->{title}), 104) ];
	$self->{at}{title} = $y + 16;
	$y += 28 * @{ $self->{title} } + 30;
	if (@{ $d->{stages} }) { $self->{at}{stages} = $y; $y += 112 }
	$self->{at}{axis} = $y += 12;
	$y += 14;
	if (@{ $d->{path} }) { $self->{at}{path} = $y; $y += 50 }
	$self->{cpu_height} = @{ $d->{cpus} } > 16 ? 10 : 20;

	if (@{ $d->{cpus} }) {
		$self->{at}{cpus} = $y + 24;
		$y += 24 + ($self->{cpu_height} + 4) * @{ $d->{cpus} } + 12;
	}
	if (@{ $d->{threads} }) {
		$self->{at}{threads} = $y + 24;
		$y += 24 + 38 * @{ $d->{threads} } + (length($d->{more} // '') ? 18 : 0) + 8;
	}
	$self->{at}{bottom} = $y;
	$self->{at}{legend} = $y + 44;
	my %lane;
	my $n = 0;
	for my $t (@{ $d->{threads} }) { $lane{ $t->{tid} } //= $self->{at}{threads} + 38 * $n; $n++ }
	$self->{lane} = \%lane;
	return $y + 44 + 54 + 24;
}

# Each process its colour: by its role, the first of a role the strongest.
sub _choose_colours {
	my ($procs) = @_;
	my %used;
	for my $k (
		sort { ($procs->{$a}{order} // 0) <=> ($procs->{$b}{order} // 0) || $a cmp $b }
		keys %$procs
		)
	{
		my $p    = $procs->{$k};
		my $list = $Tipme::Timeline::Style::PROCESS{ $p->{role} }
			// $Tipme::Timeline::Style::PROCESS{rest};
		# Processes of one name are one to a reader: they share the colour.
		my $of   = $used{ $p->{role} } //= {};
		my $next = keys %$of;
		my $n    = $of->{ $p->{name} // $p->{label} } //= $next;
		$p->{colour} = $list->[ $n < @$list ? $n : -1 ];
	}
}

# --- parts ---

sub _draw_title {
	my ($self) = @_;
	my $y = $self->{at}{title};
	for my $line (@{ $self->{title} }) {
		$self->text($MARGIN, $y, $line, size => 21, weight => 'bold', class => 'title');
		$y += 28;
	}
	$self->text(
		$MARGIN, $y - 3, shorten(one_line($self->{d}{subtitle}), 170), size => 13,
		fill => $C->{soft}
	);
}

# A chain of arrows of one width, whatever their times, with a line from each to its place on the
# time axis.
sub _draw_stages {
	my ($self) = @_;
	my @stages = @{ $self->{d}{stages} } or return;
	my ($y, $h) = ($self->{at}{stages}, 56);
	my $w = ($WIDTH - 2 * $MARGIN - 12) / @stages;
	my $g = $self->{svg}->group(class => 'stages');
	my ($slowest) =
		sort { $stages[$b]{ts} - $stages[ $b - 1 ]{ts} <=> $stages[$a]{ts} - $stages[ $a - 1 ]{ts} }
		1 .. $#stages;
	for my $i (0 .. $#stages) {
		my $s     = $stages[$i];
		my $x     = $MARGIN + $i * $w;
		my $hot   = defined $slowest && $i == $slowest;
		my $mid   = $y + $h / 2;
		my $point = sprintf 'M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1f%sZ', $x, $y,
			$x + $w - 4, $y, $x + $w + 8, $mid, $x + $w - 4, $y + $h, $x, $y + $h,
			$i ? sprintf('L%.1f %.1f', $x + 12, $mid) : '';
		$g->path(
			d => $point, class => "stage $s->{name}", fill => $hot ? '#fbe3d3' : $C->{shade},
			stroke => $hot ? $C->{vermillion} : '#c4c9d1', 'stroke-width' => $hot ? 1.6 : 1,
			$s->{certainty} eq 'inferred' ? ('stroke-dasharray' => '4 3') : ()
		);
		my $tx   = $x + ($i ? 22 : 12);
		my $room = int(($w - 30) / 7.3);
		$self->text(
			$tx, $y + 22, shorten(one_line($s->{label}), $room), size => 13,
			weight => 'bold'
		);
		my $took = $i ? '+' . ms($s->{ts} - $stages[ $i - 1 ]{ts}) : ms(0);
		$took .= ' ' . fill(N__('(inferred)')) if $s->{certainty} eq 'inferred' && $room > 20;
		$self->text(
			$tx, $y + 43, $took, size => 14, fill => $hot ? $C->{vermillion} : $C->{soft},
			weight => $hot ? 'bold' : 'normal'
		);
		$self->_draw_leader($g, $x + ($i ? 12 : 0), $y + $h, $s->{ts}, $hot);
	}
}

sub _draw_leader {
	my ($self, $g, $x, $y, $ts, $hot) = @_;
	return if !$self->{scale}->holds($ts);
	my $to = $self->{scale}->x($ts);
	$g->path(
		d => sprintf(
			'M%.1f %.1fL%.1f %.1fL%.1f %.1f', $x, $y, $x, $y + 6, $to, $self->{at}{axis} - 16
		),
		fill           => 'none',
		stroke         => $hot ? $C->{vermillion} : '#b4bac4',
		'stroke-width' => 1
	);
}

sub _draw_axes {
	my ($self) = @_;
	my ($s, $at, $d) = (@$self{qw(scale at d)});
	my $g = $self->{svg}->group(class => 'axis');
	my ($x0, $x1) = ($s->x($d->{start_ns}), $s->x($d->{end_ns}));
	$g->rect(
		x      => px($x0),                     y    => $at->{axis}, width => px($x1 - $x0),
		height => $at->{bottom} - $at->{axis}, fill => '#fff9ef',   class => 'interval'
	);
	for my $t ($s->ticks(12)) {
		my $x = px($s->x($t->[0]));
		$g->line(
			x1 => $x, x2 => $x, y1 => $at->{axis}, y2 => $at->{bottom}, stroke => $C->{grid},
			'stroke-width' => 1
		);
		$self->text($x, $_, $t->[1], size => 12, anchor => 'middle', fill => $C->{soft})
			for $at->{axis} - 3, $at->{bottom} + 15;
	}
	for my $y (@$at{qw(axis bottom)}) {
		$g->line(
			x1             => $s->left, x2 => $s->right, y1 => $y, y2 => $y, stroke => '#8b919b',
			'stroke-width' => 1
		);
	}
}

sub _draw_path_lane {
	my ($self) = @_;
	my @path = @{ $self->{d}{path} } or return;
	my ($y, $h, $s) = ($self->{at}{path}, 30, $self->{scale});
	$self->heading($y + 20, fill(N__('Where the time went')));
	my $g     = $self->{svg}->group(class => 'blame');
	my @spans = map { [ @$_{qw(from to)}, "$_->{state}\n$_->{key}\n$_->{label}" ] } @path;
	for my $run (@{ reduce_spans($s, \@spans, sub { 10 - length((split /\n/, $_[0])[0]) }) }) {
		my ($state, $key, $label) = split /\n/, $run->[2];
		my ($x, $w) = ($LEFT + $run->[0], $run->[1] - $run->[0]);
		my $fill = $self->colour_of($state, $key);
		my $r    = $g->rect(
			x     => $x, y => $y, width => $w, height => $h, fill => $fill,
			class => "segment $state"
		);
		$self->tip($r, $label);
	}
	for my $p (@{ $self->{d}{stretches} }) {
		my ($x, $w) = ($s->x($p->{from}), $s->x($p->{to}) - $s->x($p->{from}));
		next if $w < 60;
		my $text = shorten(one_line($p->{label}), int(($w - 16) / 7.7));
		next if length $text < length $p->{label} && length $text < 16;
		my $tw = 7.7 * length($text) + 10;
		$g->rect(
			x  => px($x + $w / 2 - $tw / 2), y => $y + 6, width => px($tw), height => 18,
			rx => 4, fill => '#ffffff', 'fill-opacity' => 0.92
		);
		$self->text(
			$x + $w / 2, $y + 19.5, $text, size => 12.5, anchor => 'middle',
			weight => 'bold'
		);
	}
}

# Upright lines at the key press, the response and the hot-key, each with its word in a flag above
# the axis.
sub _draw_moments {
	my ($self) = @_;
	my ($s, $at, $d) = @$self{qw(scale at d)};
	my @moments = (
		[ $d->{start_ns}, $d->{start_label}, $C->{text} ],
		[ $d->{end_ns},   $d->{end_label},   $C->{text} ]
	);
	push @moments, [ $d->{trigger_ns}, fill(N__('hot-key')), $C->{purple} ]
		if defined $d->{trigger_ns};
	@moments = sort { $a->[0] <=> $b->[0] } grep { $s->holds($_->[0]) && length $_->[1] } @moments;
	my ($y, $taken) = ($at->{bottom} + 20, 0);
	for my $i (0 .. $#moments) {
		my ($ts, $text, $colour) = @{ $moments[$i] };
		my ($x, $w) = ($s->x($ts), 6.9 * length($text) + 12);
		# To the right of its line, unless the next flag or the edge is in the way.
		my $room = $i < $#moments ? $s->x($moments[ $i + 1 ][0]) - 2 : $WIDTH - 4;
		my $left = $x + $w > $room && $x - $w > $taken ? $x - $w     : $x;
		$self->{svg}->line(
			x1 => px($x), x2 => px($x), y1 => $at->{axis}, y2 => $y + 16, stroke => $colour,
			'stroke-width' => 1.4, class => 'moment'
		);
		$self->{svg}->rect(
			x  => px($left), y => $y, width => px($w), height => 16, fill => $colour,
			rx => 2
		);
		$self->text($left + 6, $y + 12, $text, size => 11, fill => '#ffffff', weight => 'bold');
		$taken = $left + $w;
	}
}

sub _draw_legend {
	my ($self) = @_;
	my $y      = $self->{at}{legend} + 12;
	my $g      = $self->{svg}->group(class => 'legend');
	my $x      = $MARGIN;
	my $style  = \%Tipme::Timeline::Style::STATE;
	for my $state (@Tipme::Timeline::Style::STATES) {
		my $h = 14 * $style->{$state}{height};
		# Running has the colour of whoever runs: three for example.
		my @fill =
			defined $style->{$state}{fill}
			? $style->{$state}{fill}
			: @$C{qw(blue green vermillion)};
		$g->rect(
			x      => px($x + $_ * 24 / @fill), y => px($y + 1 - $h), width => px(24 / @fill),
			height => px($h), fill => $fill[$_]
		) for 0 .. $#fill;
		$x = $self->legend_text($x + 30, $y, fill($style->{$state}{words}));
	}
	($x, $y) = ($MARGIN, $y + 24);
	for my $m (@Tipme::Timeline::Style::MARKS) {
		Tipme::Timeline::Style::mark($g, $m->[0], $x + 6, $y - 4);
		$x = $self->legend_text($x + 16, $y, fill($m->[1]));
	}
	$g->line(
		x1             => $x, x2 => $x + 22, y1 => $y - 4, y2 => $y - 4, stroke => $C->{path},
		'stroke-width' => 3
	);
	$x = $self->legend_text($x + 28, $y, fill(N__('the way of the response')));
	$self->arrow($g, $x + 5, $y - 12, $y + 2, -1);
	$x = $self->legend_text($x + 16, $y, fill(N__('wakes')));
	$self->text(
		$x, $y,
		fill(N__('prio: 0-99 real-time, 100-139 nice -20 to 19; lower is more urgent')),
		size => 12, fill => $C->{soft}
	);
	$self->text(
		$MARGIN, $y + 26, shorten(one_line($self->{d}{footer} // ''), 190), size => 11.5,
		fill => $C->{soft}
	);
}

1;
