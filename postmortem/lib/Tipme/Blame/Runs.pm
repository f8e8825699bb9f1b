# SPDX-License-Identifier: GPL-2.0-only
# Segments that are too many to be told one by one: in runs, of which each says what whoever takes
# turns had.
package Tipme::Blame::Runs;

use strict;
use warnings;
use Tipme::Segment;

my $MANY = 2000;    # stretches of a path that are told one by one
# with more of them, those who had a CPU in turn are told together, in runs of this length
my $RUN_NS = 10_000_000;
# stretches of a long path that are told by runs are shorter than this
my $SHORT_NS = 1_000_000;

# new(threads =>, resources =>, server =>, held_input =>, as Blame has them, others => Others)
sub new {
	my ($class, %o) = @_;
	return bless {%o}, $class;
}

# in_runs(\SEGMENTS): the same segments, or fewer where they are very many.
# Where two threads hand a CPU to each other 100,000 times a second, a list of that is no help: the
# stretch names whoever had most of it, and `among` what each of them had.
sub in_runs {
	my ($segments) = @_;
	return @$segments if @$segments <= $MANY;
	my $length = ($segments->[-1]{to} - $segments->[0]{from}) / $MANY;
	$length = $RUN_NS if $length < $RUN_NS;
	my (@out, $run);
	for my $s (@$segments) {
		if (!defined $s->{blamed_tid} || $s->{among}) { push @out, $s; undef $run; next }
		my $same =
			   $run
			&& !(grep { ($run->{$_} // '') ne ($s->{$_} // '') } qw(tid kind cpu exact reason idle))
			&& $s->{to} - $run->{from} <= $length;
		if (!$same) { push @out, $run = $s->with }
		my $who = $s->{blamed_work} ? $s->{blamed_work}{tid} : $s->{blamed_tid};
		my $a   = $run->{among}{$who} //= { segment => $s, ns => 0 };
		$a->{ns} += $s->{to} - $s->{from};
		$run->{to}       = $s->{to};
		$run->{evidence} = [ $run->{evidence}[0] // (), $s->{evidence}[-1] // () ] if $same;
	}
	return @out;
}

# shorten(\SEGMENTS): the same time in fewer segments, the latest first: those that are short and
# ordinary, as of threads that take turns, are told together in runs; `among` has what each sort of
# them had, by which all sums stay as exact as before. What interrupts, quotas, others' requests or
# locks have a part in stays as it is.
sub shorten {
	my ($self, $segments) = @_;
	my $ordinary = $self->_ordinary($segments->[-1]{from}, $segments->[0]{to}) or return $segments;
	my (@out, $run);
	no warnings 'uninitialized';
	for my $s (@$segments) {
		if ($s->{to} - $s->{from} >= $SHORT_NS || !$ordinary->($s)) {
			push @out, $s;
			undef $run;
			next;
		}
		if (!$run || $run->{to} - $s->{from} > $RUN_NS) {
			push @out,
				$run = Tipme::Segment->new(
				to       => $s->{to}, state => 'mixed', mixed => 1, among => {},
				evidence => []
				);
			$run->{last} = $s->{evidence}[-1];
		}
		my $a =
			$run->{among}{ join ' ', @$s{qw(tid state kind cpu exact blamed_tid idle reason)} } //=
			{ segment => $s, ns => 0 };
		$a->{ns} += $s->{to} - $s->{from};
		$run->{from}  = $s->{from};
		$run->{first} = $s->{evidence}[0];
	}
	$_->{evidence} = [ grep {defined} delete @$_{qw(first last)} ] for grep { $_->{mixed} } @out;
	return \@out;
}

# A test for segments of [FROM, TO): does nothing but threads have a hand in it? Undef where that
# cannot be told quickly.
sub _ordinary {
	my ($self, $from, $to) = @_;
	my $r = $self->{resources};
	$self->{limited} //=
		(grep { $_->{quota_us} } $self->{threads}->cgroups) || $r->throttled_cgroups ? 1 : 0;
	return if $self->{held_input};
	my (%taken, %memory);
	my $grabs = _times(
		grep { $_->[0] < $to && $_->[1] > $from }
		map  { [ $_->[0], $_->[1] // $to ] } $self->{server}->grabs
	);
	my $requests = _times(map { [ @$_{qw(from to)} ] } $self->{others}->requests($from, $to));
	my $taken    = sub {
		my ($cpu) = @_;
		return _times(
			map { [ @$_{qw(from to)} ] } $r->irqs($cpu, $from, $to),
			$r->steals($cpu, $from, $to)
		);
	};
	my $memory = sub { my ($tid) = @_; return scalar(() = $r->memory_waits($tid, $from, $to)) };
	return sub {
		my ($s) = @_;
		return 0
			if !$s->{plain}
			&& ($s->{among}
			|| $s->{held}
			|| $s->{disk}
			|| $s->{work}
			|| $s->{blamed_work}
			|| $s->{by}
			|| ($s->{kind} // '') eq 'stopped');
		return 0 if _reaches($grabs, $s);
		my ($tid, $state, $cpu) = @$s{qw(tid state cpu)};
		if ($state eq 'running' || $state eq 'runnable') {
			return 0 if $state eq 'runnable' && $self->{limited};
			return 0 if defined $cpu         && _reaches($taken{$cpu} //= $taken->($cpu), $s);
			return 1 if $state eq 'runnable';
		}
		return 0 if $state ne 'unknown' && ($memory{$tid} //= $memory->($tid));
		return
			   $state eq 'running'
			&& $tid == $self->{server}{tid}
			&& _reaches($requests, $s) ? 0 : 1;
	};
}

# Times in order, and a look whether one of them reaches into a segment; segments come the latest
# first.
sub _times {
	my @t = sort { $a->[0] <=> $b->[0] } @_;
	return { list => \@t, at => $#t };
}

sub _reaches {
	my ($times, $s) = @_;
	my $list = $times->{list};
	return 0 if $times->{at} < 0;
	$times->{at}-- while $times->{at} >= 0 && $list->[ $times->{at} ][0] >= $s->{to};
	# One that began long before may still last: only where times overlap each other, and then this
	# looks no further than at three of them.
	for (my $k = $times->{at}; $k >= 0 && $k > $times->{at} - 3; $k--) {
		return 1 if $list->[$k][1] > $s->{from};
	}
	return 0;
}

1;
