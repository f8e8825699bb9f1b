# SPDX-License-Identifier: GPL-2.0-only
# The lanes of a timeline: who had the CPUs, what the threads did, and who woke whom.
package Tipme::Timeline::Lanes;

use strict;
use warnings;
use Tipme::Printable        qw(one_line shorten);
use Tipme::Timeline::Paper  qw($WIDTH $MARGIN $LEFT $PLOT $MARK_GAP $C ink px);
use Tipme::Timeline::Reduce qw(reduce_spans reduce_marks);
use Tipme::Timeline::Style;
use Tipme::Words qw(N__ fill);

# cpus(PICTURE): who had each CPU, and how much of all
sub cpus {
	my ($self) = @_;
	my @cpus = @{ $self->{d}{cpus} } or return;
	my ($y, $h, $s, $procs) =
		($self->{at}{cpus}, $self->{cpu_height}, $self->{scale}, $self->{d}{procs});
	$self->heading($y - 8, fill(N__('Who had the CPUs')));
	_shares($self, $y - 8);
	for my $cpu (@cpus) {
		my $g = $self->{svg}->group(class => 'cpu', id => "cpu$cpu->{cpu}");
		$self->text(
			$LEFT - 10, $y + $h / 2 + 4, "CPU $cpu->{cpu}", size => $h > 12 ? 12.5 : 10,
			anchor => 'end'
		);
		$g->rect(
			x => $LEFT, y => $y, width => $PLOT, height => $h, fill => $C->{paper},
			stroke => $C->{line}, 'stroke-width' => 0.8
		);
		my $runs = reduce_spans(
			$s, $cpu->{spans},
			sub { Tipme::Timeline::Style::rank($procs->{ $_[0] }{role}) }
		);
		_cpu_run($self, $g, $_, $y, $h) for @$runs;
		$y += $h + 4;
	}
}

# Beside the heading: the processes' colours, and how much of all CPUs each had during the problem
# interval.
sub _shares {
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
			x     => px($x), y => $y - 10, width => 12, height => 12, fill => $colour{$name},
			class => 'share'
		);
		$x = $self->legend_text($x + 17, $y, $text);
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

sub _cpu_run {
	my ($self, $g, $run, $y, $h) = @_;
	my $p = $self->{d}{procs}{ $run->[2] };
	my ($x, $w) = ($LEFT + $run->[0], $run->[1] - $run->[0]);
	# A hair of paper between two processes, where it does not cost the span itself.
	my $r = $g->rect(
		x => $x, y => $y + 1, width => $w > 3 ? $w - 0.7 : $w, height => $h - 2,
		fill => $p->{colour}, class => "on-cpu $p->{role}"
	);
	$self->tip($r, $p->{label});
	my $room = int(($w - 8) / 6.4);
	return if $room < 4 || $h < 14;
	my $text =
		length $p->{label} <= $room ? $p->{label} : shorten($p->{name} // $p->{label}, $room);
	$self->text(
		$x + $w / 2, $y + $h / 2 + 4, $text, size => 11, anchor => 'middle',
		fill => ink($p->{colour})
	);
}

# threads(PICTURE): a lane for each
sub threads {
	my ($self)  = @_;
	my @threads = @{ $self->{d}{threads} } or return;
	my $y       = $self->{at}{threads};
	$self->heading($y - 8, fill(N__('What the threads did')));
	for my $t (@threads) {
		_thread($self, $t, $y);
		$y += 38;
	}
	$self->text($MARGIN + 14, $y + 12, one_line($self->{d}{more}), size => 12, fill => $C->{soft})
		if length($self->{d}{more} // '');
}

# A lane: a band for marks, the bar, and room below it for the path.
sub _thread {
	my ($self, $t, $y) = @_;
	my ($s, $h) = ($self->{scale}, 20);
	my $top = $y + 9;
	my $p   = $self->{d}{procs}{ $t->{key} };
	my $g   = $self->{svg}->group(class => 'thread', id => "thread$t->{tid}");
	$g->rect(x => $MARGIN, y => $top, width => 6, height => $h, fill => $p->{colour}, rx => 1);
	$self->text(
		$MARGIN + 14, $top + 8, shorten(one_line($t->{label}), 26), size => 12.5,
		weight => 'bold'
	);
	$self->text(
		$MARGIN + 14, $top + 22, shorten(one_line($t->{detail}), 34), size => 10.5,
		fill => $C->{soft}
	);
	$g->line(
		x1 => $LEFT, x2 => $s->right, y1 => $top + $h, y2 => $top + $h, stroke => $C->{line},
		'stroke-width' => 0.8
	);
	my $style = \%Tipme::Timeline::Style::STATE;

	for my $run (@{ reduce_spans($s, $t->{states}, \&Tipme::Timeline::Style::state_rank) }) {
		my $height = $h * $style->{ $run->[2] }{height};
		my $r      = $g->rect(
			x => $LEFT + $run->[0], y => px($top + $h - $height), width => $run->[1] - $run->[0],
			height => px($height),
			fill   => $self->colour_of($run->[2], $t->{key}), class => "state $run->[2]"
		);
		$self->tip($r, "$t->{label}: " . fill($style->{ $run->[2] }{words}))
			if $run->[1] - $run->[0] > 2;
	}
	for my $m (@{ reduce_marks($s, $t->{marks}, $MARK_GAP) }) {
		my $sign = Tipme::Timeline::Style::mark($g, $m->[1], $s->x($m->[0]), $top - 4.5);
		$self->tip($sign, $m->[2]) if length($m->[2] // '');
	}
	_priority($self, $g, $t, $top, $h);
}

# Only where it changes: a step line over the bar, higher is more urgent, with the numbers where
# there is room.
sub _priority {
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
		$self->text(
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

# wakeups(PICTURE): the path under the lanes, and an arrow wherever one thread woke the next.
sub wakeups {
	my ($self) = @_;
	my ($s, $lane) = @$self{qw(scale lane)};
	my $g = $self->{svg}->group(class => 'path');
	for my $p (@{ $self->{d}{path} }) {
		next if !defined $lane->{ $p->{tid} } || $p->{to} <= $s->from || $p->{from} >= $s->to;
		my $y = $lane->{ $p->{tid} } + 32;
		$g->line(
			x1     => px($s->x($p->{from})), x2 => px($s->x($p->{to})), y1 => $y, y2 => $y,
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
		$self->arrow(
			$g, $s->x($ts), $y0 + 32, $y1 > $y0 ? $y1 + 7 : $y1 + 33.5,
			$y1 > $y0 ? -1 : 1
		);
	}
}

1;
