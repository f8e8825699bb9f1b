# SPDX-License-Identifier: GPL-2.0-only
# A run: rounds over all tasks, until each median is known narrowly enough or its time is spent.
#
# Each round times a task in a new process, and tasks take turns, so that what changes slowly on the
# machine is in all of them alike. The unit that is compared is therefore the round, not the repeat
# (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
package Tipme::Bench::Run;

use strict;
use warnings;
use List::Util  qw(max min sum0);
use POSIX       ();
use Time::HiRes qw(time);
use Tipme::Bench::Machine;
use Tipme::Bench::Parts;
use Tipme::Bench::Result qw(repeats round_values per_reference);
use Tipme::Progress;
use Tipme::Statistics qw(median median_interval);

# Rounds. With eight, the rank-sum test tells two results apart even among 300 comparisons.
our $LEAST_ROUNDS = 8;
my $MOST_ROUNDS = 40;
# Repeats. One process of a task that prepares for long makes rounds of so many.
my $OF_ONCE = 4;
# Share: half the width of the interval of the median, to the median.
my $NARROW = 0.025;
# Seconds: the recorder takes an episode each five, and keeps some forty.
my $SNAP_EACH_S = 12;
# Seconds: nothing new begins after that.
our $LONGEST_S = 480;

# new(task => Tipme::Bench::Task, tasks => [ rows of its list ], budget => seconds of all, parts =>
# Tipme::Bench::Parts or undef, env => {...}, rounds => at most)
sub new {
	my ($class, %o) = @_;
	my $self = bless { most => $MOST_ROUNDS, budget => 120, %o, pending => {}, fresh_s => 0 },
		$class;
	$self->{most}  = $o{rounds} if $o{rounds};
	$self->{least} = min($LEAST_ROUNDS, $self->{most});
	return $self;
}

# run(): the tasks with their rounds. An interrupted run has what was done until then.
sub run {
	my ($self) = @_;
	$self->{began} = time;
	my @doing = map { { row => $_, spent => 0 } } @{ $self->{tasks} };
	my $share = $self->{budget} / (@doing || 1);
	for my $round (1 .. $self->{most}) {
		last if !(@doing = grep { !$self->_done($_, $share) } @doing);
		for my $d (@doing) {
			last if $self->{interrupted} || time - $self->{began} > $LONGEST_S;
			$self->_progress($d->{row}{task});
			$self->_round($d);
			$self->_snap if $self->{parts} && $self->{fresh_s} > $SNAP_EACH_S;
		}
	}
	$self->_snap if $self->{parts} && !$self->{interrupted};
	Tipme::Progress::clear();
	my @tasks = map { $_->{task} // () } @{ $self->{all} // [] };
	_explain_worst($_) for @tasks;
	return \@tasks;
}

sub interrupt { my ($self) = @_; $self->{interrupted} = 1; $self->{task}->interrupt; return }

sub interrupted { return $_[0]{interrupted} ? 1 : 0 }

# told(): (how many repeats have parts of the recorder, of how many, what hindered or undef)
sub told {
	my ($self) = @_;
	return ($self->{told} // 0, $self->{repeated} // 0, $self->{untold});
}

# The share that is done: rounds, each as much as the least number wants.
sub _progress {
	my ($self, $name) = @_;
	my $all  = $self->{least} * @{ $self->{tasks} };
	my $done = sum0(map { min($self->{least}, $_->{rounds} // 0) } @{ $self->{all} // [] });
	my $left = min($self->{budget}, time - $self->{began}) / $self->{budget};
	Tipme::Progress::show($name, max($done / $all, min($left, 0.99)) * 1000, 1000);
	return;
}

sub _done {
	my ($self, $d, $share) = @_;
	return 1 if $d->{ended};
	return 0 if ($d->{rounds} // 0) < $self->{least};
	return 1 if $d->{spent} > $share;
	my @v = round_values($d->{task});
	my ($low, $high) = median_interval(@v);
	return defined $low && $high - $low < 2 * $NARROW * median(@v);
}

sub _round {
	my ($self, $d) = @_;
	my $row  = $d->{row};
	my $from = time;
	push @{ $self->{all} }, $d if !$d->{task};
	my ($about, $end, @repeats) = $self->{task}->once($row->{task}, env => $self->{env});
	$d->{spent}      += time - $from;
	$self->{fresh_s} += time - $from;
	my $t = $d->{task} //= {
		name => $row->{task}, (map { $_ => $row->{$_} } qw(what unit references)), rounds => [],
		map      { $_ => $about->{$_} }
			grep { defined $about->{$_} } qw(empty_ns empty not_available user_mode_only)
	};
	$_->{tid} = $about->{tid} for @repeats;
	my $size = $row->{once} ? $OF_ONCE : @repeats || 1;
	push @{ $t->{rounds} }, [ splice @repeats, 0, $size ] while @repeats;
	$d->{rounds} = @{ $t->{rounds} };
	$self->_keep($d, $from);
	# Two of six failed is no result; one of the first is none either.
	my ($why) = grep { defined $end->{$_} } qw(unavailable failed);
	return if !defined $why || $self->{interrupted};
	$t->{$why} = $end->{$why};
	$d->{ended} = 1;
	return;
}

# The repeats that the recorder has not been asked about.
sub _keep {
	my ($self, $d) = @_;
	my $t   = $d->{task};
	my @new = repeats($t);
	splice @new, 0, $d->{kept} // 0;
	$d->{kept}        += @new;
	$self->{repeated} += @new;
	push @{ $self->{pending}{ $t->{name} } }, @new if $self->{parts};
	return;
}

sub _snap {
	my ($self) = @_;
	return if !%{ $self->{pending} };
	Tipme::Progress::show('where the time went', 1, 2);
	my ($told, $why) = $self->{parts}->tell(%{ $self->{pending} });
	$self->{told} += $told;
	$self->{untold} //= $why;
	@$self{qw(pending fresh_s)} = ({}, 0);
	return;
}

# --- the worst repeat ---

# It is compared, part by part, with the repeat in the middle whose parts are told the same way.
sub _explain_worst {
	my ($t) = @_;
	my @all = sort { per_reference($t, $a) <=> per_reference($t, $b) } repeats($t);
	return if @all < 3;
	my $worst = $all[-1];
	my @alike = grep { $_->{parts_from} eq $worst->{parts_from} } @all;
	my $usual = $alike[ $#alike / 2 ];
	my %more;
	$more{ _name($_) } += $_->{ns} for @{ $worst->{parts} };
	$more{ _name($_) } -= $_->{ns} for @{ $usual->{parts} };
	my @by     = sort { $more{$b} <=> $more{$a} || $a cmp $b } keys %more;
	my $length = $worst->{to_ns} - $worst->{from_ns};
	my $excess = $length - ($usual->{to_ns} - $usual->{from_ns});
	$t->{worst} = {
		from_ns    => $worst->{from_ns}, to_ns => $worst->{to_ns}, excess_ns => $excess,
		parts_from => $worst->{parts_from},
		more       => [ map { { part => $_, ns => $more{$_} } } grep { $more{$_} } @by ],
		map { $_ => $worst->{$_} } grep { defined $worst->{$_} } qw(verdict path)
	};
	return;
}

sub _name { my ($p) = @_; return defined $p->{what} ? "$p->{kind}: $p->{what}" : $p->{kind} }

1;
