# SPDX-License-Identifier: GPL-2.0-only
# Draws a timeline from plain data as SVG: the stages from finger to screen, where the time went,
# who had the CPUs, what the threads did.
package Tipme::Timeline::Picture;

use strict;
use warnings;
use Tipme::CommandLine      qw(ms);
use Tipme::Printable        qw(one_line shorten xml_text);
use Tipme::Timeline::Reduce qw(reduce_spans reduce_marks);
use Tipme::Timeline::Scale;
use Tipme::Timeline::Style;
use Tipme::Words qw(N__ fill);

my $WIDTH    = 1400;                                                    # pixels
my $MARGIN   = 28;                                                      # pixels at the right
my $LEFT     = 240;                                                     # pixels for names
my $PLOT     = $WIDTH - $LEFT - $MARGIN;                                # pixels for the time
my $FONT     = "'DejaVu Sans', 'Liberation Sans', Arial, sans-serif";
my $C        = \%Tipme::Timeline::Style::COLOUR;
my $MARK_GAP = 7;    # pixels between two marks of a kind
# of those that share a pixel column of a CPU
my %RANK = (blamed => 6, server => 5, client => 4, path => 3, top => 2, rest => 1);

# scale(FROM_NS, TO_NS, ZERO_NS), rank(ROLE), state_rank(STATE), room_for_marks(FROM_NS, TO_NS):
# what the picture reduces by, for those who collect less in the first place. room_for_marks() gives
# a function: does the picture show a mark of a KIND at a TIME? Asked in order of time.
sub scale {
	my ($from, $to, $zero) = @_;
	return Tipme::Timeline::Scale->new($from, $to, $LEFT, $PLOT, $zero);
}
sub rank       { return $RANK{ $_[0] } // 0 }
sub state_rank { return $Tipme::Timeline::Style::STATE{ $_[0] }{rank} }

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
	$self->{scale} = scale(@$d{qw(from_ns to_ns zero_ns)});
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
	$self->_draw_cpus;
	$self->_draw_threads;
	$self->_draw_wakeups;
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
	$self->{title} = [ _wrap(one_line($d->{title}), 104) ];
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
		$self->_text($MARGIN, $y, $line, size => 21, weight => 'bold', class => 'title');
		$y += 28;
	}
	$self->_text(
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
		$self->_text(
			$tx, $y + 22, shorten(one_line($s->{label}), $room), size => 13,
			weight => 'bold'
		);
		my $took = $i ? '+' . ms($s->{ts} - $stages[ $i - 1 ]{ts}) : ms(0);
		$took .= ' ' . fill(N__('(inferred)')) if $s->{certainty} eq 'inferred' && $room > 20;
		$self->_text(
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
		x      => _n($x0),                     y    => $at->{axis}, width => _n($x1 - $x0),
		height => $at->{bottom} - $at->{axis}, fill => '#fff9ef',   class => 'interval'
	);
	for my $t ($s->ticks(12)) {
		my $x = _n($s->x($t->[0]));
		$g->line(
			x1 => $x, x2 => $x, y1 => $at->{axis}, y2 => $at->{bottom}, stroke => $C->{grid},
			'stroke-width' => 1
		);
		$self->_text($x, $_, $t->[1], size => 12, anchor => 'middle', fill => $C->{soft})
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
	$self->_heading($y + 20, fill(N__('Where the time went')));
	my $g     = $self->{svg}->group(class => 'blame');
	my @spans = map { [ @$_{qw(from to)}, "$_->{state}\n$_->{key}\n$_->{label}" ] } @path;
	for my $run (@{ reduce_spans($s, \@spans, sub { 10 - length((split /\n/, $_[0])[0]) }) }) {
		my ($state, $key, $label) = split /\n/, $run->[2];
		my ($x, $w) = ($LEFT + $run->[0], $run->[1] - $run->[0]);
		my $fill = $self->_fill($state, $key);
		my $r    = $g->rect(
			x     => $x, y => $y, width => $w, height => $h, fill => $fill,
			class => "segment $state"
		);
		$self->_tip($r, $label);
	}
	for my $p (@{ $self->{d}{stretches} }) {
		my ($x, $w) = ($s->x($p->{from}), $s->x($p->{to}) - $s->x($p->{from}));
		next if $w < 60;
		my $text = shorten(one_line($p->{label}), int(($w - 16) / 7.7));
		next if length $text < length $p->{label} && length $text < 16;
		my $tw = 7.7 * length($text) + 10;
		$g->rect(
			x  => _n($x + $w / 2 - $tw / 2), y => $y + 6, width => _n($tw), height => 18,
			rx => 4, fill => '#ffffff', 'fill-opacity' => 0.92
		);
		$self->_text(
			$x + $w / 2, $y + 19.5, $text, size => 12.5, anchor => 'middle',
			weight => 'bold'
		);
	}
}

sub _draw_cpus {
	my ($self) = @_;
	my @cpus = @{ $self->{d}{cpus} } or return;
	my ($y, $h, $s, $procs) =
		($self->{at}{cpus}, $self->{cpu_height}, $self->{scale}, $self->{d}{procs});
	$self->_heading($y - 8, fill(N__('Who had the CPUs')));
	$self->_draw_shares($y - 8);
	for my $cpu (@cpus) {
		my $g = $self->{svg}->group(class => 'cpu', id => "cpu$cpu->{cpu}");
		$self->_text(
			$LEFT - 10, $y + $h / 2 + 4, "CPU $cpu->{cpu}", size => $h > 12 ? 12.5 : 10,
			anchor => 'end'
		);
		$g->rect(
			x => $LEFT, y => $y, width => $PLOT, height => $h, fill => $C->{paper},
			stroke => $C->{line}, 'stroke-width' => 0.8
		);
		my $runs = reduce_spans($s, $cpu->{spans}, sub { rank($procs->{ $_[0] }{role}) });
		$self->_draw_cpu_run($g, $_, $y, $h) for @$runs;
		$y += $h + 4;
	}
}

# Beside the heading: the processes' colours, and how much of all CPUs each had during the problem
# interval.
sub _draw_shares {
	my ($self, $y) = @_;
	my ($d, %share, %colour, %count) = ($self->{d});
	my $all = @{ $d->{cpus} } * ($d->{end_ns} - $d->{start_ns}) or return;
	for my $s (map { _shares_of($d, $_) } @{ $d->{cpus} }) {
		my ($key, $ns) = @$s;
		my $p    = $d->{procs}{$key};
		my $name = $p->{role} eq 'rest' ? 'others' : ($p->{name} // $p->{label}) . "\n$p->{role}";
		$share{$name} += $ns;
		$colour{$name} //= $p->{colour};
		$count{$name}{$key} = $p->{label};
	}
	my $x = $LEFT;
	for my $name (
		sort { ($a eq 'others') <=> ($b eq 'others') || $share{$b} <=> $share{$a} || $a cmp $b }
		keys %share
		)
	{
		my ($one, @more) = values %{ $count{$name} };
		my ($short) = split /\n/, $name;
		my $text    = (
			  $name eq 'others' ? fill(N__('others'))
			: @more             ? one_line($short) . " \N{U+d7} " . (1 + @more)
			:                     one_line($one)
			)
			. ': '
			. _percent($share{$name} / $all);
		last if $x + 7 * length($text) + 40 > $WIDTH - $MARGIN;
		$self->{svg}->rect(
			x     => _n($x), y => $y - 10, width => 12, height => 12, fill => $colour{$name},
			class => 'share'
		);
		$x = $self->_legend_text($x + 17, $y, $text);
	}
}

# How much of a CPU each process had during the problem interval: [ KEY, ns ]. Where there were very
# many spans, the sums are there;
# what is not known then is still a span.
sub _shares_of {
	my ($d, $cpu) = @_;
	my @shares = map { [ $_ => $cpu->{shares}{$_} ] } sort keys %{ $cpu->{shares} // {} };
	for my $s (
		$cpu->{shares}
		? grep { $_->[2] eq 'unknown' } @{ $cpu->{spans} }
		: @{ $cpu->{spans} }
		)
	{
		my $from = $s->[0] > $d->{start_ns} ? $s->[0] : $d->{start_ns};
		my $to   = $s->[1] < $d->{end_ns}   ? $s->[1] : $d->{end_ns};
		push @shares, [ $s->[2], $to - $from ] if $to > $from;
	}
	return @shares;
}

sub _percent {
	return $_[0] < 0.001 ? '< 0.1 %' : sprintf '%.*f %%', $_[0] < 0.1 ? 1 : 0, 100 * $_[0];
}

sub _draw_cpu_run {
	my ($self, $g, $run, $y, $h) = @_;
	my $p = $self->{d}{procs}{ $run->[2] };
	my ($x, $w) = ($LEFT + $run->[0], $run->[1] - $run->[0]);
	# A hair of paper between two processes, where it does not cost the span itself.
	my $r = $g->rect(
		x => $x, y => $y + 1, width => $w > 3 ? $w - 0.7 : $w, height => $h - 2,
		fill => $p->{colour}, class => "on-cpu $p->{role}"
	);
	$self->_tip($r, $p->{label});
	my $room = int(($w - 8) / 6.4);
	return if $room < 4 || $h < 14;
	my $text =
		length $p->{label} <= $room ? $p->{label} : shorten($p->{name} // $p->{label}, $room);
	$self->_text(
		$x + $w / 2, $y + $h / 2 + 4, $text, size => 11, anchor => 'middle',
		fill => _ink($p->{colour})
	);
}

sub _draw_threads {
	my ($self)  = @_;
	my @threads = @{ $self->{d}{threads} } or return;
	my $y       = $self->{at}{threads};
	$self->_heading($y - 8, fill(N__('What the threads did')));
	for my $t (@threads) {
		$self->_draw_thread($t, $y);
		$y += 38;
	}
	$self->_text($MARGIN + 14, $y + 12, one_line($self->{d}{more}), size => 12, fill => $C->{soft})
		if length($self->{d}{more} // '');
}

# A lane: a band for marks, the bar, and room below it for the path.
sub _draw_thread {
	my ($self, $t, $y) = @_;
	my ($s, $h) = ($self->{scale}, 20);
	my $top = $y + 9;
	my $p   = $self->{d}{procs}{ $t->{key} };
	my $g   = $self->{svg}->group(class => 'thread', id => "thread$t->{tid}");
	$g->rect(x => $MARGIN, y => $top, width => 6, height => $h, fill => $p->{colour}, rx => 1);
	$self->_text(
		$MARGIN + 14, $top + 8, shorten(one_line($t->{label}), 26), size => 12.5,
		weight => 'bold'
	);
	$self->_text(
		$MARGIN + 14, $top + 22, shorten(one_line($t->{detail}), 34), size => 10.5,
		fill => $C->{soft}
	);
	$g->line(
		x1 => $LEFT, x2 => $s->right, y1 => $top + $h, y2 => $top + $h, stroke => $C->{line},
		'stroke-width' => 0.8
	);
	my $style = \%Tipme::Timeline::Style::STATE;

	for my $run (@{ reduce_spans($s, $t->{states}, \&state_rank) }) {
		my $height = $h * $style->{ $run->[2] }{height};
		my $r      = $g->rect(
			x => $LEFT + $run->[0], y => _n($top + $h - $height), width => $run->[1] - $run->[0],
			height => _n($height),
			fill   => $self->_fill($run->[2], $t->{key}), class => "state $run->[2]"
		);
		$self->_tip($r, "$t->{label}: " . fill($style->{ $run->[2] }{words}))
			if $run->[1] - $run->[0] > 2;
	}
	for my $m (@{ reduce_marks($s, $t->{marks}, $MARK_GAP) }) {
		my $sign = Tipme::Timeline::Style::mark($g, $m->[1], $s->x($m->[0]), $top - 4.5);
		$self->_tip($sign, $m->[2]) if length($m->[2] // '');
	}
	$self->_draw_priority($g, $t, $top, $h);
}

# Only where it changes: a step line over the bar, higher is more urgent, with the numbers where
# there is room.
sub _draw_priority {
	my ($self, $g, $t, $top, $h) = @_;
	my $end = @{ $t->{states} } ? $self->{scale}->x($t->{states}[-1][1]) : $self->{scale}->right;
	my @p   = grep { $self->{scale}->x($_->[0]) < $end } @{ $t->{prio} };
	my ($min, $max) = (sort { $a <=> $b } map { $_->[1] } @p)[ 0, -1 ];
	return if !@p || $min == $max;
	my ($d, $last) = ('', -1e9);
	for my $i (0 .. $#p) {
		my ($x0, $x1) =
			($self->{scale}->x($p[$i][0]), $i < $#p ? $self->{scale}->x($p[ $i + 1 ][0]) : $end);
		my $y = $top + 2 + ($h - 4) * ($p[$i][1] - $min) / ($max - $min);
		$d .= sprintf '%s%.1f %.1fL%.1f %.1f', length $d ? 'L' : 'M', $x0, $y, $x1, $y;
		next if $x0 - $last < 30 || $x1 - $x0 < 24;
		$self->_text(
			$x0 + 3, $y + ($p[$i][1] == $min ? 9 : -2), $p[$i][1], size => 9.5,
			weight => 'bold', halo => 1
		);
		$last = $x0;
	}
	$g->path(
		d     => $d, fill => 'none', stroke => $C->{text}, 'stroke-width' => 1.1,
		class => 'priority'
	);
}

# The path under the lanes, and an arrow wherever one thread woke the next.
sub _draw_wakeups {
	my ($self) = @_;
	my ($s, $lane) = @$self{qw(scale lane)};
	my $g = $self->{svg}->group(class => 'path');
	for my $p (@{ $self->{d}{path} }) {
		next if !defined $lane->{ $p->{tid} } || $p->{to} <= $s->from || $p->{from} >= $s->to;
		my $y = $lane->{ $p->{tid} } + 32;
		$g->line(
			x1     => _n($s->x($p->{from})), x2 => _n($s->x($p->{to})), y1 => $y, y2 => $y,
			stroke => $C->{path},            'stroke-width' => 3
		);
	}
	my %seen;
	for my $a (@{ $self->{d}{arrows} }) {
		my ($ts, $from, $to) = @$a;
		my ($y0, $y1) = map { $lane->{$_} } $from, $to;
		next if !defined $y0 || !defined $y1 || $from == $to || !$s->holds($ts);
		# Many that fall on one spot are one arrow.
		next if $seen{ join ' ', int($s->x($ts) / 3), $from, $to }++;
		$self->_draw_arrow(
			$g, $s->x($ts), $y0 + 32, $y1 > $y0 ? $y1 + 7 : $y1 + 33.5,
			$y1 > $y0 ? -1 : 1
		);
	}
}

sub _draw_arrow {
	my ($self, $g, $x, $y0, $y1, $back) = @_;
	$g->line(
		x1             => _n($x), x2 => _n($x), y1 => _n($y0), y2 => _n($y1), stroke => $C->{path},
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
			x1 => _n($x), x2 => _n($x), y1 => $at->{axis}, y2 => $y + 16, stroke => $colour,
			'stroke-width' => 1.4, class => 'moment'
		);
		$self->{svg}->rect(
			x  => _n($left), y => $y, width => _n($w), height => 16, fill => $colour,
			rx => 2
		);
		$self->_text($left + 6, $y + 12, $text, size => 11, fill => '#ffffff', weight => 'bold');
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
			x      => _n($x + $_ * 24 / @fill), y => _n($y + 1 - $h), width => _n(24 / @fill),
			height => _n($h), fill => $fill[$_]
		) for 0 .. $#fill;
		$x = $self->_legend_text($x + 30, $y, fill($style->{$state}{words}));
	}
	($x, $y) = ($MARGIN, $y + 24);
	for my $m (@Tipme::Timeline::Style::MARKS) {
		Tipme::Timeline::Style::mark($g, $m->[0], $x + 6, $y - 4);
		$x = $self->_legend_text($x + 16, $y, fill($m->[1]));
	}
	$g->line(
		x1             => $x, x2 => $x + 22, y1 => $y - 4, y2 => $y - 4, stroke => $C->{path},
		'stroke-width' => 3
	);
	$x = $self->_legend_text($x + 28, $y, fill(N__('the way of the response')));
	$self->_draw_arrow($g, $x + 5, $y - 12, $y + 2, -1);
	$x = $self->_legend_text($x + 16, $y, fill(N__('wakes')));
	$self->_text(
		$x, $y,
		fill(N__('prio: 0-99 real-time, 100-139 nice -20 to 19; lower is more urgent')),
		size => 12, fill => $C->{soft}
	);
	$self->_text(
		$MARGIN, $y + 26, shorten(one_line($self->{d}{footer} // ''), 190), size => 11.5,
		fill => $C->{soft}
	);
}

sub _legend_text {
	my ($self, $x, $y, $words) = @_;
	$self->_text($x, $y, $words, size => 12, fill => $C->{soft});
	return $x + 6.9 * length($words) + 22;
}

# --- pieces ---

sub _heading {
	my ($self, $y, $text) = @_;
	$self->_text($MARGIN, $y, $text, size => 13.5, weight => 'bold', class => 'heading');
}

sub _fill {
	my ($self, $state, $key) = @_;
	my $style = $Tipme::Timeline::Style::STATE{$state} // $Tipme::Timeline::Style::STATE{unknown};
	return $style->{fill} // ($self->{d}{procs}{ $key // '' } // {})->{colour} // $C->{rest};
}

# The SVG module leaves what looks like an entity alone, so the text comes escaped, and as bytes
# would it be mixed up.
sub _text {
	my ($self, $x, $y, $text, %o) = @_;
	my %a = (x => _n($x), y => _n($y), 'font-size' => $o{size}, fill => $o{fill} // $C->{text});
	$a{'font-weight'} = $o{weight} if $o{weight};
	$a{'text-anchor'} = $o{anchor} if $o{anchor};
	$a{class}         = $o{class}  if $o{class};
	# Paper around the letters, where they stand on a hatch.
	@a{qw(stroke stroke-width paint-order stroke-linejoin)} = ($C->{paper}, 3, 'stroke', 'round')
		if $o{halo};
	return $self->{svg}->text(%a)->cdata_noxmlesc(xml_text($text));
}

# What a viewer shows under the pointer.
sub _tip {
	my ($self, $element, $text) = @_;
	$element->title->cdata_noxmlesc(xml_text(one_line($text)));
}

# Dark ink on light colours, light ink on dark ones.
sub _ink {
	my ($r, $g, $b) = map {hex} $_[0] =~ /^#(..)(..)(..)/ or return $C->{text};
	return 0.299 * $r + 0.587 * $g + 0.114 * $b > 140 ? '#1a1a1a' : '#ffffff';
}

sub _n { my $n = sprintf '%.1f', $_[0]; $n =~ s/\.0\z//; return $n }

sub _wrap {
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
