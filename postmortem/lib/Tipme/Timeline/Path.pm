# SPDX-License-Identifier: GPL-2.0-only
# A part of Timeline: the path of the response: its stretches, their labels, and who woke whom on
# it.
package Tipme::Timeline::Path;

use strict;
use warnings;
use List::Util         qw(min);
use Tipme::CommandLine qw(ms);
use Tipme::Printable   qw(one_line);
use Tipme::Timeline::Style;
use Tipme::Words qw(N__ fill);

my %WORDS = (
	running => N__('runs'),    runnable => N__('waits for a CPU'),
	blocked => N__('blocked'), disk     => N__('blocked in the kernel'),
	stopped => N__('stopped'), unknown  => N__('unknown')
);

# The path, where stretches of several kinds are told together each kind after the other, as long as
# its sum: in which order they came is not known.
sub _told {
	my ($self) = @_;
	return @{ $self->{told} //=
			[ map { $_->{mixed} ? $self->_apart($_) : $_ } @{ $self->{diag}{path} } ] };
}

sub _apart {
	my ($self, $p)     = @_;
	my ($t,    @apart) = $p->{from_ns};
	for my $m (sort { $a->{of_tid} <=> $b->{of_tid} } @{ $p->{among} }) {
		my $who = $self->_who($m->{of_tid}, $t);
		push @apart,
			{
			%$p, tid => $m->{of_tid}, pid => $who->{pid}, comm => $who->{comm},
			state => $m->{state}, reason => $m->{detail}, blamed => $m, from_ns => $t,
			to_ns => $t + $m->{ns}
			};
		$t += $m->{ns};
	}
	return @apart;
}

# Neighbours of one thread in one state are one segment: whoever took a CPU in between is named
# together.
sub _path {
	my ($self) = @_;
	my @out;
	for my $p ($self->_told) {
		my $state = $self->_path_state($p);
		my $last  = $out[-1];
		if (   $last
			&& $last->{tid} == $p->{tid}
			&& $last->{state} eq $state
			&& $last->{why} eq ($p->{reason} // ''))
		{
			$last->{to} = $p->{to_ns};
		} else {
			push @out,
				$last = {
				from => $p->{from_ns},      to  => $p->{to_ns}, tid => $p->{tid}, state => $state,
				why  => $p->{reason} // '', who => $p,          by  => {}
				};
		}
		my $b  = $p->{blamed} // {};
		my $by = $last->{by}{ $b->{comm} // '' } //= { ns => 0, pids => {} };
		$by->{ns} += $p->{to_ns} - $p->{from_ns};
		$by->{pids}{ $b->{pid} // 0 } = 1;
	}
	return map {
		{
			%$_{qw(from to tid state)}, key => $self->_proc($_->{tid}, $_->{from}),
				label => _segment_label($_),
				who   => one_line($_->{who}{comm})
		}
	} @out;
}

# Where one thread has the path in its hands, in short turns of several kinds: one label for all of
# it. Whoever comes between for less than a hundredth of the interval and hands it back does not
# count.
sub _stretches {
	my ($self, @path) = @_;
	my $short = ($self->{interval}{end_ns} - $self->{interval}{start_ns}) / 100;
	my @out;
	for my $k (0 .. $#path) {
		my $p    = $path[$k];
		my $last = $out[-1];
		if ($last && $last->{tid} != $p->{tid}) {
			my $back = $k + 1;
			$back++
				while $back <= $#path
				&& $path[$back]{tid} != $last->{tid}
				&& $path[$back]{from} - $p->{from} < $short;
			if ($back <= $#path && $path[$back]{from} - $p->{from} < $short) {
				_count($last, $p);
				next;
			}
		}
		if ($last && $last->{tid} == $p->{tid}) { $last->{to} = $p->{to} }
		else {
			push @out, $last = { from => $p->{from}, to => $p->{to}, tid => $p->{tid}, of => {} };
		}
		_count($last, $p);
	}
	return map {
		{ %$_{qw(from to)}, label => _stretch_label($_) }
	} @out;
}

# What of a stretch is whose: others' turns, too, that are too short to end it.
sub _count {
	my ($stretch, $p) = @_;
	my $of = $stretch->{of}{ $p->{tid} } //= { who => $p->{who}, all => 0, ns => {}, parts => [] };
	$of->{all} += $p->{to} - $p->{from};
	$of->{ns}{ $p->{state} } += $p->{to} - $p->{from};
	push @{ $of->{parts} }, $p;
	return;
}

# It goes by the thread that had most of it.
# Where one part is nearly all of it, that part's own label says more.
sub _stretch_label {
	my ($stretch) = @_;
	my ($tid)     = sort { $stretch->{of}{$b}{all} <=> $stretch->{of}{$a}{all} || $a <=> $b }
		keys %{ $stretch->{of} };
	my $s = { %$stretch, %{ $stretch->{of}{$tid} } };
	my ($long) =
		sort { $b->{to} - $b->{from} <=> $a->{to} - $a->{from} || $a->{from} <=> $b->{from} }
		@{ $s->{parts} };
	return $long->{label} if $long->{to} - $long->{from} >= 0.95 * ($s->{to} - $s->{from});
	my @states = sort { $s->{ns}{$b} <=> $s->{ns}{$a} || $a cmp $b } keys %{ $s->{ns} };
	return "$s->{who}: " . join ', ',
		map { fill($WORDS{$_}) . ' ' . ms($s->{ns}{$_}) } @states[ 0 .. min(2, $#states) ];
}

sub _path_state {
	my ($self, $p) = @_;
	return $p->{state} if $p->{state} =~ /^(?:running|runnable|unknown)$/;
	return $Tipme::Timeline::Style::DRAWN{ $p->{wait} // $p->{state} } // 'blocked';
}

sub _segment_label {
	my ($seg) = @_;
	my $who   = one_line($seg->{who}{comm});
	my ($by) = sort { $seg->{by}{$b}{ns} <=> $seg->{by}{$a}{ns} || $a cmp $b } keys %{ $seg->{by} };
	my $n    = keys %{ $seg->{by}{$by}{pids} };
	my $took = ms($seg->{to} - $seg->{from});
	my $why  = length $seg->{why} ? ': ' . one_line($seg->{why}) : '';
	my ($pid)  = keys %{ $seg->{by}{$by}{pids} };
	my $others = one_line($by) . ($n > 1 ? " \N{U+d7} $n" : " ($pid)");
	my %said   = (who => $who, took => $took, others => $others);
	return fill(N__('{who} runs {took}'),                      %said) if $seg->{state} eq 'running';
	return fill(N__('{who} waits for a CPU {took}: {others}'), %said)
		if $seg->{state} eq 'runnable';
	return fill(N__('{who} is stopped {took}'), %said)        if $seg->{state} eq 'stopped';
	return fill(N__('unknown {took}'),          %said) . $why if $seg->{state} eq 'unknown';
	return fill(N__('{who} is blocked {took}'), %said) . $why;
}

sub _arrows {
	my ($self) = @_;
	my @p = $self->_told;
	return map {
		$p[$_]{tid} != $p[ $_ - 1 ]{tid} && !$p[$_]{mixed} && !$p[ $_ - 1 ]{mixed}
			? [ $p[$_]{from_ns}, $p[ $_ - 1 ]{tid}, $p[$_]{tid} ]
			: ()
	} 1 .. $#p;
}

1;
