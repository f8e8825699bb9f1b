# SPDX-License-Identifier: GPL-2.0-only
# What belongs to a verdict beside who and how long: CPUs that idled meanwhile, where threads may not run, who took the memory, in which function.
package Tipme::Circumstances;

use strict;
use warnings;
use Tipme::Functions;
use Tipme::Kinds;
use Tipme::Printable qw(one_line);
use Tipme::Reason qw(reason);

my $MOST      = 0.5;
my $SLOW      = 0.75;   # of a CPU's highest frequency
my $MAX_LOOK  = 500;    # stretches for which other CPUs are looked at
my $MAX_ARGS  = 100;    # characters of a command line in a sentence

# new(states => TaskStates, threads => Threads, to => NS)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# of(VERDICT, \PATH): adds to the verdict what is known: function { ... }, pinned { ... }, circumstances [ reasons, see Tipme::Reason ]
sub of {
	my ($self, $v, $path) = @_;
	my @of = grep { $_->{blamed}{kind} eq $v->{kind} } @$path;
	my @say;
	if (my $f = $self->_function($v, \@of)) { $v->{function} = $f; push @say, _function_words($f) }
	if (Tipme::Kinds::has($v->{kind}, 'cpu') && (my $cpus = $self->_idle_cpus(\@of))) { $v->{idle_cpus} = $cpus; push @say, $self->_idle_words($cpus) }
	if (my $slow = $self->_slow_cpu(\@of)) { $v->{slow_cpu} = $slow; push @say, _slow_words($slow) }
	if (Tipme::Kinds::has($v->{kind}, 'memory') && (my $p = $self->_largest)) { push @say, reason('largest', comm => $p->{comm}, pid => $p->{pid}, size => _size($p->{rss_kib})) }
	my $args = defined $v->{blamed}{pid} && Tipme::Kinds::has($v->{kind}, 'args') ? $self->{threads}->args($v->{blamed}{pid}, $self->{to}) : undef;
	push @say, reason('called-as', comm => $v->{blamed}{comm}, pid => $v->{blamed}{pid},
		args => length $args > $MAX_ARGS ? substr(one_line($args), 0, $MAX_ARGS) . ' ...' : one_line($args)) if defined $args && length $args;
	$v->{circumstances} = \@say;
	return $v;
}

# Samples are looked at where the blamed process ran on behalf of the path.
sub _function {
	my ($self, $v, $of) = @_;
	my $pid = $v->{blamed}{pid} // return;
	my @runs = map { [ $_->{tid}, $_->{from_ns}, $_->{to_ns} ] } grep { $_->{state} eq 'running' && ($_->{blamed}{pid} // -1) == $pid } @$of;
	@runs = map { [ $_->{blamed}{tid}, $_->{from_ns}, $_->{to_ns} ] } grep { $_->{state} eq 'runnable' && ($_->{blamed}{pid} // -1) == $pid && defined $_->{blamed}{tid} } @$of if !@runs && Tipme::Kinds::has($v->{kind}, 'cpu');
	return if !@runs;
	return Tipme::Functions->new(resources => $self->{states}->resources, threads => $self->{threads})->of(\@runs);
}

sub _function_words {
	my ($f) = @_;
	my $kernel = $f->{module} eq 'kernel';
	return reason('in-function' . ($f->{inside} ? '-or-below' : '') . ($kernel ? '-of-kernel' : ''), n => $f->{samples}, of => $f->{of},
		function => $f->{function}, module => $kernel ? undef : $f->{module});
}

# Was the CPU on which most of it was computed slow for most of that time?
sub _slow_cpu {
	my ($self, $of) = @_;
	my %at;
	for (grep { $_->{state} eq 'running' && defined $_->{cpu} } @$of) { push @{ $at{ $_->{cpu} }{stretches} }, [ @$_{qw(from_ns to_ns)} ]; $at{ $_->{cpu} }{ns} += $_->{to_ns} - $_->{from_ns} }
	my ($cpu) = sort { $at{$b}{ns} <=> $at{$a}{ns} || $a <=> $b } keys %at;
	my $f = defined $cpu && $self->{states}->resources->frequency($cpu) or return;
	my ($since, $k, $slow, $known, $sum) = ($f->{since}, 0, 0, 0, 0);
	# Both in order of time: a governor may change it a thousand times a second, and a path has thousands of stretches.
	for my $s (sort { $a->[0] <=> $b->[0] } @{ $at{$cpu}{stretches} }) {
		$k++ while $k < $#$since && $since->[ $k + 1 ][0] <= $s->[0];
		for (my $j = $k; $j <= $#$since && $since->[$j][0] < $s->[1]; $j++) {
			my ($from, $khz) = @{ $since->[$j] };
			my $ns = _smaller($j < $#$since ? $since->[ $j + 1 ][0] : undef, $s->[1]) - ($from > $s->[0] ? $from : $s->[0]);
			$known += $ns;
			$sum += $ns * $khz;
			$slow += $ns if $khz < $SLOW * $f->{max_khz};
		}
	}
	return if $slow <= $MOST * $at{$cpu}{ns};
	return { cpu => $cpu + 0, khz => int($sum / $known + 0.5), max_khz => $f->{max_khz} + 0, slow_ns => $slow, of_ns => $at{$cpu}{ns} };
}

sub _smaller { my ($a, $b) = @_; return defined $a && $a < $b ? $a : $b }

sub _slow_words {
	my ($c) = @_;
	return reason('slow-cpu', cpu => $c->{cpu}, map { $_ => sprintf '%.2f', $c->{$_} / 1e6 } qw(khz max_khz));
}

# While the main waiter waited: how long was which other CPU idle, and might it run there?
sub _idle_cpus {
	my ($self, $of) = @_;
	my (%waited, %at);
	for (grep { $_->{state} eq 'runnable' && defined $_->{cpu} } @$of) { $waited{ $_->{tid} } += $_->{to_ns} - $_->{from_ns}; push @{ $at{ $_->{tid} } }, $_ }
	my ($tid) = sort { $waited{$b} <=> $waited{$a} || $a <=> $b } keys %waited;
	return if !defined $tid;
	my @look = @{ $at{$tid} };
	$#look = $MAX_LOOK - 1 if @look > $MAX_LOOK;
	my ($all, %idle, %here) = (0);
	for my $p (@look) {
		$all += $p->{to_ns} - $p->{from_ns};
		$here{ $p->{cpu} }++;
	}
	for my $cpu ($self->{states}->events->cpus) {
		my @elsewhere = map { [ @$_{qw(from_ns to_ns)} ] } grep { $_->{cpu} != $cpu } @look or next;
		my $ns = $self->{states}->time_of($cpu, 0, @elsewhere);
		$idle{$cpu} = $ns if $ns;
	}
	my ($cpu) = sort { $idle{$b} <=> $idle{$a} || $a <=> $b } keys %idle;
	return if !defined $cpu || $idle{$cpu} < $MOST * $all;
	my ($mask, $change) = $self->_may_run($tid, $look[0]{from_ns});
	my ($on) = sort { $here{$b} <=> $here{$a} || $a <=> $b } keys %here;
	my $who = $self->{threads}->at($tid, $look[0]{to_ns});
	return { tid => $tid + 0, comm => $who->{comm}, cpu => $on + 0, idle_cpu => $cpu + 0, idle_ns => $idle{$cpu}, of_ns => $all, allowed => $mask ? _cpus($mask) : undef,
		pinned => $mask && $cpu < 64 && !($mask >> $cpu & 1) ? 1 : 0, changed => $change };
}

# On which CPUs a thread might run at a time (0: not known), and since when, if that was changed: { before_ns, within_ns, by } (by: { tid, comm } or undef)
sub _may_run {
	my ($self, $tid, $t) = @_;
	my $seen = $self->{threads}->facts($tid, $t);
	my $c = $self->{states}->resources->affinity($tid, $t);
	# A picture that is newer than the last change, and says something else, has seen a later one.
	return ($seen->{cpus_allowed} // 0, undef) if !$c || ($seen->{ts_ns} // 0) > $c->{ts} && $seen->{ts_ns} <= $t && ($seen->{cpus_allowed} // 0) != $c->{cpus};
	return ($c->{cpus}, { before_ns => $t - $c->{ts}, within_ns => $c->{within} + 0, by => $c->{by} ? { tid => $c->{by} + 0, comm => $self->{threads}->at($c->{by}, $c->{ts})->{comm} } : undef });
}

# Who set on which CPUs a thread may run, and when: a reason, or undef where it was not changed.
sub _changed {
	my ($c, $tid) = @_;
	return if !$c;
	my ($by, $s) = ($c->{by}, sub { sprintf '%.*f', $c->{within_ns} ? 1 : 3, $_[0] / 1e9 });
	my %when = (to_s => $s->($c->{before_ns}), last_s => $c->{within_ns} ? $s->($c->{before_ns} + $c->{within_ns}) : undef);
	my $who = !$by ? 'changed' : $by->{tid} == $tid ? 'changed-itself' : 'changed-by';
	return reason($who . ($c->{within_ns} ? '-between' : ''), %when, $by ? (comm => $by->{comm}, tid => $by->{tid}) : ());
}

# "0-3,6" of a bit mask
sub _cpus {
	my ($mask) = @_;
	my @c = grep { $mask >> $_ & 1 } 0 .. 63;
	my @runs;
	for (@c) { if (@runs && $runs[-1][1] == $_ - 1) { $runs[-1][1] = $_ } else { push @runs, [ $_, $_ ] } }
	return join ',', map { $_->[0] == $_->[1] ? $_->[0] : "$_->[0]-$_->[1]" } @runs;
}

sub _idle_words {
	my ($self, $c) = @_;
	my %of = (comm => $c->{comm}, tid => $c->{tid}, cpu => $c->{cpu}, idle_cpu => $c->{idle_cpu},
		map { $_ => sprintf '%.0f', $c->{"${_}_ns"} / 1e6 } qw(idle of));
	return reason('idle-cpu-allowed', %of) if !$c->{pinned} && defined $c->{allowed};
	return reason('idle-cpu', %of) if !$c->{pinned};
	my $changed = _changed($c->{changed}, $c->{tid});
	return reason($changed ? 'pinned-since' : 'pinned', %of, allowed => $c->{allowed}, doing => $changed);
}

sub _largest {
	my ($self) = @_;
	my $best;
	for my $tid ($self->{threads}->tids) {
		my $p = $self->{threads}->picture_at($tid, $self->{to}) or next;
		$best = $p if $p->{rss_kib} && $p->{pid} == $tid && (!$best || $p->{rss_kib} > $best->{rss_kib});
	}
	return $best;
}

sub _size { my ($kib) = @_; return $kib < 1024 ? "$kib KiB" : $kib < 1024 * 1024 ? sprintf('%.0f MiB', $kib / 1024) : sprintf('%.1f GiB', $kib / 1024 / 1024) }

1;
