# SPDX-License-Identifier: GPL-2.0-only
# The kernel's view of any stretch of an episode, loaded when asked for: an episode is large, a
# question is small.
package Tipme::Kernel;

use strict;
use warnings;
use List::Util qw(max);
use Tipme::KernelEvents;
use Tipme::Sampled;
use Tipme::TaskStates;
use Tipme::Threads;

my $SOURCE  = qr/^(?:kernel_|proc_sampled\z)/;
my $FOREVER = 1 << 62;                           # ns; later than any clock says
my $KEEP    = 16;                                # stretches held at once ...
my $KEEP_MOST =
	500_000;   # ... if they have no more records than this; the newest is held in any case, and ...
my $LARGE     = 250_000;        # ... beside them the last one of so many, if a file has its records
my $BEFORE_NS = 150_000_000;    # what is asked for next mostly lies a little before or after
my $AFTER_NS  = 60_000_000;     # that of a verdict goes 50 ms beyond the answer

# new(EPISODE, blind => 1): blind: its records are not to be believed, as if there were none
sub new {
	my ($class, $ep, %o) = @_;
	my @c       = grep        { $_->{source} =~ $SOURCE } $ep->coverage;
	my $sampled = @c && !grep { $_->{source} =~ /^kernel_/ } @c;
	return bless {
		ep  => $ep,                       threads => Tipme::Threads->new($ep), kept   => [],
		has => $o{blind} ? 0 : scalar @c, sampled => $sampled,                 loaded => 0
	}, $class;
}

sub threads     { return $_[0]{threads} }
sub has_records { return $_[0]{has} }

# covered_from(): when the records of all CPUs begin; 0 where there are none
sub covered_from {
	my ($self) = @_;
	return $self->{covered_from} //=
		max(0, map { $_->{first_ns} } grep { $_->{source} =~ $SOURCE } $self->{ep}->coverage);
}

# sampled(): are there samples of /proc in place of the kernel's own records?
sub sampled { return $_[0]{sampled} }

# loaded(): records that were decoded so far
sub loaded { return $_[0]{loaded} }

# states(FROM, TO): TaskStates that cover at least that
sub states {
	my ($self, $from, $to) = @_;
	for my $s (@{ $self->{kept} }) { return $s if $s->from <= $from && $s->to >= $to }
	$from -= $BEFORE_NS;
	$from = 0 if $from < 0;
	# What reaches to the trigger is asked for up to the end soon after.
	$to = $self->{ep}->end_ns if $to >= $self->{ep}->trigger_ns && $to < $self->{ep}->end_ns;
	$to += $AFTER_NS;
	@{ $self->{kept} } = grep { $_->from < $from || $_->to > $to } @{ $self->{kept} };
	# Room first.
	splice @{ $self->{kept} }, 1
		if @{ $self->{kept} }
		&& !_is_large($self->{kept}[0])
		&& $self->{kept}[0]->events->count > $KEEP_MOST / 2;
	my $ev = $self->{sampled} ? $self->_samples : $self->_load($from, $to);
	my $s  = ($self->{sampled} ? 'Tipme::Sampled' : 'Tipme::TaskStates')
		->new($ev, $self->{threads}, $from, $to);
	unshift @{ $self->{kept} }, $s;
	$self->_keep_some;
	return $s;
}

# Of a large stretch nearly all is in a mapped file. Small ones come and go beside it: it is asked
# for again, and to read it takes as long as fifty of them.
sub _keep_some {
	my ($self) = @_;
	my ($n, $all, $full, $large, @keep) = (0, 0, 0);
	for my $s (@{ $self->{kept} }) {
		if (_is_large($s)) {
			next                if $large++;
			$s->events->release if @keep;
			push @keep, $s;
			next;
		}
		$full = 1 if $n && ($n >= $KEEP || $all + $s->events->count > $KEEP_MOST);
		next      if $full;
		$n++;
		$all += $s->events->count;
		push @keep, $s;
	}
	@{ $self->{kept} } = @keep;
	return;
}

sub _is_large {
	my ($s) = @_;
	return $s->events->is_mapped && $s->events->count > $LARGE;
}

# stop_signal(\TIDS, TIME): as Resources has it, from all of the episode: what is stopped may have
# been so for long. Without an index.
sub stop_signal {
	my ($self, $tids, $t) = @_;
	my $found = Tipme::Resources->new(
		Tipme::KernelEvents->load_only($self->{ep}, Tipme::KernelEvents::SIGNAL))
		->stop_signal($tids, $t + 1_000_000)
		or return;
	delete $found->{index};
	return $found;
}

# woken_from(PATTERN, FROM, TO): how often each thread was woken from a sleep with such a stack in
# [FROM, TO): { TID => times }. By looking at the raw records of wakings, as run_delays() does. Of a
# bundle what its sender had found.
sub woken_from {
	my ($self, $pattern, $from, $to) = @_;
	return {} if $self->{sampled};
	my $told = ($self->{ep}->manifest->{bundle} // {})->{held_before};
	return { map { $_->{pid} => $_->{times} } @$told } if $told;
	my $waking  = $self->{ep}->record->number_of('sched_waking');
	my $threads = $self->{threads};
	my (%is, %times);
	for my $s ($self->{ep}->sections_between($from, $to, [qw(kernel_bpf kernel_module)])) {
		my @all = unpack '(Q<Cx3Vx4Vx8)*', Tipme::KernelEvents::plain($self->{ep}, $s);
		while (my ($ts, $type, $tid, $id) = splice @all, 0, 4) {
			next           if $type != $waking || !$id || $ts < $from || $ts >= $to;
			$times{$tid}++ if $is{$id} //= ($threads->stack($id) // '') =~ $pattern ? 1 : 0;
		}
	}
	return $self->{woken_from} = \%times;
}

# What was found so, of some processes: [ { pid, times }, ... ]; undef where nobody asked.
sub woken_from_told {
	my ($self, $of) = @_;
	my $t = $self->{woken_from} or return;
	my %sum;
	for my $tid (keys %$t) {
		my $pid = $self->{threads}->at($tid, $self->{ep}->trigger_ns)->{pid};
		$sum{$pid} += $t->{$tid} if $of->{$pid};
	}
	return [ map { +{ pid => $_ + 0, times => $sum{$_} } } sort { $a <=> $b } keys %sum ];
}

# run_delays(TID): each time that a thread waited 1 ms or more for a CPU after it was woken,
# anywhere in the episode: [ woken, ran ], in order.
# Found by looking for its number in the raw records: to decode them all would take ten times as
# long. A lost coming counts as late as it can be.
sub run_delays {
	my ($self, $tid) = @_;
	return $self->{delays}{$tid} //=
		$self->{sampled}
		? Tipme::Sampled::run_delays($self->_samples, $tid)
		: $self->_run_delays($tid);
}

# Samples are few, and a thread that slept has none for long: all of them at once.
sub _samples { my ($self) = @_; return $self->{samples} //= $self->_load(0, $FOREVER) }

sub _load {
	my ($self, $from, $to) = @_;
	my $ev = Tipme::KernelEvents->load($self->{ep}, $from, $to);
	$self->{loaded} += $ev->count;
	$self->{threads}->add_events($ev);
	return $ev;
}

sub _run_delays {
	my ($self, $tid) = @_;
	my $code = $self->{ep}->record;
	my ($switch, $waking) = map { $code->number_of($_) } qw(sched_switch sched_waking);
	my $all = Tipme::KernelEvents->of_thread($self->{ep}, $tid);
	my @events;
	for (my $at = 0; $at < length $all; $at += 32) {
		my ($ts, $type, $whose, $other, $d) = unpack 'Q<Cx3VVx8V', substr $all, $at, 32;
		if ($type == $switch) {
			push @events, [ $ts, $d & 255 ? 'sleeps' : 'waits' ] if $whose == $tid;
			push @events, [ $ts, 'comes' ]                       if $other == $tid;
		} elsif ($type == $waking && $whose == $tid) {
			push @events, [ $ts, 'woken' ];
		}
	}
	my ($asleep, $woken, @delays) = (1);
	for my $e (sort { $a->[0] <=> $b->[0] } @events) {
		my ($t, $what) = @$e;
		if ($what eq 'woken') { ($woken, $asleep) = ($t, 0) if $asleep; next }
		push @delays, [ $woken, $t ] if defined $woken && $t - $woken >= 1_000_000;
		($woken, $asleep) = (undef, $what eq 'sleeps');
	}
	return \@delays;
}

1;
