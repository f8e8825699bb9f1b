# SPDX-License-Identifier: GPL-2.0-only
# The path that a response took, walked backwards from the screen to the key: who ran, who waited
# for whom, without gap or overlap.
# This file has the walk itself. What it does with a wait for a CPU, a sleep, a waker or a worker is
# in the parts below, whose methods are those of the walk.
package Tipme::WakeupChain;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent
	map {"Tipme::WakeupChain::$_"} qw(Asked Queue Sleep Waker Workers);
use Carp qw(croak);
use Tipme::Progress;
use Tipme::Segment;
use Tipme::Turns;

my $MAX_STEPS = 200_000;       # links of one walk; the longest real one had 39,000
my $NAP_NS    = 50_000_000;    # between frames there is less
my $LEAVES    = 3;             # tries to leave a pacer
our $LONG =
	5_000;  # segments of a walk, from which on those behind are told by runs where somebody can ...
our $CHUNK = 2_000;    # ... so many at once, but for the last ones, which the walk may look at
our $LAST  = 64;       # steps that stay single at the end when the others are shortened
our $TURNS = 1;        # plain steps are done at one go; 0: each by itself, to the same result

# new(states => TaskStates, threads => Threads, reasons => Reasons, server => DisplaySource,
# server_tid, server_pid, client_pid, enters_pid: of the server by which the events come)
sub new {
	my ($class, %o) = @_;
	return bless { %o, segments => [], waits => [] }, $class;
}

# walk(TID, FROM, TO, deliver_ns, via): the segments of [FROM, TO) that lead to what TID does at TO,
# in order of time.
# shorten: given a list of segments, the latest first, it gives a shorter one of the same time
# (Blame does). Below deliver_ns the walk goes on in the server; via: list of [ tid, time ], the
# latest last: below that time the walk goes on in that thread.
# frame: { pid, from }: down to FROM the walk is in a compositor's frame: what its process, or the
# server meanwhile, sleeps in an event loop is its wait for the frame.
# A path that does not come to the client at deliver_ns is walked again, returning to every thread
# that slept.
sub walk {
	my ($self, @args) = @_;
	my $first = $self->walk_once(@args);
	return $first if $self->{reached};
	my @first = @$self{qw(waits passed)};
	@$self{qw(returning stays)} = (1, 1);
	my $second = $self->_walk(@args);
	return $second if $self->{reached};
	@$self{qw(waits passed)} = @first;
	return $first;
}

# states(): what it walks on
sub states { return $_[0]{states} }

# reached(): did the last walk come to the client or the server at the time of delivery?
sub reached { return $_[0]{reached} }

# walk_once: the same without returning. A path that has left a pacer for somebody, and does not
# come to the client so, leaves it for another, or stays with the pacer.
# unless: given a wait, as waits() has it, it says whether the walk need not go on: then it has not
# come to the client, and there are no segments. Whichever way a pacer is left, its own wait is met.
sub walk_once {
	my ($self, @args) = @_;
	@$self{qw(returning stays wrong)} = (0, 0, {});
	for (1 .. $LEAVES) {
		my $s = $self->_walk(@args);
		return $s
			if $self->{given_up}
			|| !defined $self->{left}
			|| $self->{reached} && !$self->_by_a_clock;
		$self->{wrong}{ $self->{left_for} } = 1;
	}
	$self->{stays} = 1;
	return $self->_walk(@args);
}

# Has the last walk waited for a clock of the client's, for longer than for a frame?
sub _by_a_clock {
	my ($self) = @_;
	for my $w (@{ $self->{waits} }) {
		next
			if !$w->{waker}
			|| $w->{waker}{context} ne 'hardirq'
			|| $w->{to} - $w->{from} <= $NAP_NS
			|| !$w->{reason}
			|| $w->{reason}{class} ne 'loop' && $w->{reason}{kind} ne 'futex-wait';
		return 1 if $self->{threads}->at($w->{tid}, $w->{to})->{pid} == $self->{client_pid};
	}
	return 0;
}

sub _walk {
	my ($self, $tid, $from, $to, %o) = @_;
	@$self{qw(segments waits passed frames jumped)} = ([], [], {}, [], {});
	@$self{qw(tid t from deliver_ns below steps reached short strayed left given_up asked_of)} =
		($tid, $to, $from, $o{deliver_ns} // $from, 0, 0, 0, 0, 0, undef, 0, 0);
	push @{ $self->{frames} }, map { [@$_] } @{ $o{via} // [] };
	$self->{below} = 1 if !defined $o{deliver_ns};
	$self->{frame} = $o{frame};
	my $exact = $self->{states}->events->exact_from;
	# Samples of /proc have no wakers to follow.
	my $turns = $TURNS && !$self->{states}->wakers_unknown
		? Tipme::Turns->new(
		@$self{qw(states threads reasons)}, $self->_works,
		@$self{qw(server_tid server)},      $self->naps,
		{
			asks      => sub { return $self->asks_awake_server(@_) },
			meanwhile => sub { return $self->asked_meanwhile(@_) },
			disturbs  => sub { return $self->disturbs(@_) }
		}
		)
		: undef;
	while ($self->{t} > $from) {
		if (++$self->{steps} > $MAX_STEPS) { $self->_unknown($from, 'too-many-links'); last }
		if ($self->{t} <= $exact)          { $self->_unknown($from, 'before-records'); last }
		Tipme::Progress::show('following the wake-ups', $to - $self->{t}, $to - $from)
			if !($self->{steps} % 1024);
		$self->_cross_bounds;
		$turns && $self->_turns($turns, $exact, $to, $o{shorten}) or $self->_step;
		return []                    if $o{unless}  && $self->_gives_up($o{unless});
		$self->_shorten($o{shorten}) if $o{shorten} && @{ $self->{segments} } > $self->_room;
	}
	# It may begin with the delivery.
	$self->_note_reached
		if !defined $o{deliver_ns} || !$self->{below} && $self->{t} <= $o{deliver_ns};
	my @s = reverse @{ $self->{segments} };
	$self->{segments} = [];
	_check(\@s, $from, $to);
	return \@s;
}

# Is there a wait among those that have come since it was asked last?
sub _gives_up {
	my ($self, $unless) = @_;
	my $waits = $self->{waits};
	for (; $self->{asked_of} < @$waits; $self->{asked_of}++) {
		return $self->{given_up} = 1 if $unless->($waits->[ $self->{asked_of} ]);
	}
	return 0;
}

# Up to how many segments there may be before those behind are told by runs.
sub _room {
	my ($self) = @_;
	my $room = $self->{short} + $CHUNK;
	return $self->{short} || $room > $LONG ? $room : $LONG;
}

# As many plain steps as there are from here on; 0: none. Not where whoever is met is met for
# somebody else, nor up to where the records begin.
sub _turns {
	my ($self, $turns, $exact, $to, $shorten) = @_;
	my $bound = $self->_bound;
	return 0
		if $self->_in_frame
		|| $bound < $exact
		|| $self->{returning}
		|| $self->{steps} + 2000 > $MAX_STEPS
		|| grep { $_->[2] || $_->[3] || $_->[4] } @{ $self->{frames} };
	my ($tid, $t, $steps) = $turns->steps(
		$self->{segments}, @$self{qw(tid t)}, $bound,
		$shorten ? $self->_room : 1 << 62, $self->{jumped}
	);
	@$self{qw(tid t)} = ($tid, $t);
	$self->{steps} += $steps - 1                                                   if $steps;
	Tipme::Progress::show('following the wake-ups', $to - $t, $to - $self->{from}) if $steps > 500;
	return $steps;
}

# A client and its server that take turns for a second make a hundred thousand segments: more than
# anybody wants to know, or to wait for.
sub _shorten {
	my ($self, $shorten) = @_;
	my $s = $self->{segments};
	return if @$s <= $self->{short} + $LAST;
	my @last = splice @$s, -$LAST;
	my @new  = splice @$s, $self->{short};
	push @$s, @{ $shorten->(\@new) };
	$self->{short} = @$s;
	push @$s, @last;
	return;
}

sub _check {
	my ($s, $from, $to) = @_;
	my $t = $from;
	for (@$s) {
		croak "bug: segment begins at $_->{from}, not at $t" if $_->{from} != $t;
		$t = $_->{to};
	}
	croak "bug: segments end at $t, not at $to" if $t != $to;
}

# Frames are threads to which the walk returns at a time: [ tid, time, guessed, work, held ]; a
# frame is left when the walk has come down to its time. held: the thread waits there for something
# that those in whom the walk is now have: { kind, class, code, tid, prio, at, lock }. A sixth field
# is the process in which the walk has to be then, if it is not in that thread already: else it has
# strayed.
sub _cross_bounds {
	my ($self) = @_;
	my $f = $self->{frames};
	if (!$self->{below} && $self->{t} <= $self->{deliver_ns}) {
		$self->_note_reached;
		@$self{qw(below tid frames)} = (1, $self->{server_tid}, []);
		$self->{jumped} = {};
		return;
	}
	while (@$f && $self->{t} <= $f->[-1][1]) {
		my ($tid, $t, $by) = @{ pop @$f }[ 0, 1, 5 ];
		$self->{strayed} = 1
			if defined $by
			&& $self->{tid} != $tid
			&& $self->{threads}->at($self->{tid}, $t)->{pid} != $by;
		$self->{tid} = $tid;
	}
}

sub _note_reached {
	my ($self) = @_;
	my $last   = $self->{segments}[-1];
	my $pid    = $self->{tid} ? $self->{threads}->at($self->{tid}, $self->{t})->{pid} : -1;
	$self->{reached} =
		   (grep { $pid == ($_ // -1) } @$self{qw(client_pid server_pid enters_pid)})
		&& !$self->{strayed}
		&& !($last && $last->{state} eq 'unknown') ? 1 : 0;
}

sub _bound {
	my ($self) = @_;
	my $b = $self->{below} ? $self->{from} : $self->{deliver_ns};
	$b = $self->{frames}[-1][1] if @{ $self->{frames} } && $self->{frames}[-1][1] > $b;
	return $b;
}

sub _step {
	my ($self) = @_;
	my ($tid, $t) = @$self{qw(tid t)};
	my $i  = $self->{states}->before($tid, $t);
	my $lo = $self->_bound;
	return $self->_unknown($lo, 'no-thread') if !$tid;
	return $self->_unknown($lo, 'no-record') if !$i;
	my $begins_later = $i->{from} > $lo;
	$lo = $i->{from} if $begins_later;
	# Asked about a stretch that goes on when the thread has ended; or begins before it was born.
	return $self->_unknown($lo, $begins_later ? 'thread-ended' : 'no-record')
		if $i->{kind} eq 'absent';
	return $self->_running($i, $lo)  if $i->{kind} eq 'running';
	return $self->_runnable($i, $lo) if $i->{kind} eq 'runnable';
	return $self->_blocked($i, $lo);
}

# One segment [lo, t) of the thread in hand; the walk goes on at lo.
sub _emit {
	my ($self, $lo, %s) = @_;
	$self->_put($lo, $self->{t}, %s);
	$self->_at($lo);
}

sub _put {
	my ($self, $from, $to, @fields) = @_;
	return if $to <= $from;
	my $s = Tipme::Segment->new(
		tid      => $self->{tid}, from => $from, to => $to, exact => 1,
		evidence => [],           @fields
	);
	# From the innermost frame outwards.
	for my $f (reverse @{ $self->{frames} }) {
		$s->{exact} = 0        if $f->[2];
		$s->{held} //= $f->[4] if $f->[4];
	}
	push @{ $self->{segments} }, $s;
	return $s;
}

sub _at {
	my ($self, $t) = @_;
	$self->{jumped} = {} if $t < $self->{t};
	$self->{t}      = $t;
}

sub _unknown {
	my ($self, $lo, $why) = @_;
	$self->_emit($lo, state => 'unknown', kind => 'unknown', reason => $why, exact => 0);
}

sub _running {
	my ($self, $i, $lo) = @_;
	my %s = (
		state     => 'running', cpu => $i->{cpu}, evidence => [ grep {defined} $i->{come} ],
		exact     => $i->{guessed} ? 0 : 1,
		irq_ns    => _part($i->{irq_ns}, $self->{t} - $lo, $i->{to} - $i->{from}),
		irq_exact => $lo == $i->{from} && $self->{t} == $i->{to} && !$i->{saturated} ? 1 : 0
	);
	my $work = $self->_work_at($self->{tid}, $self->{t});
	# Up to the beginning of the work it runs to get there: the frame in hand knows for whom.
	my $top = $self->{frames}[-1];
	$work = $top->[3] if !$work && $top && $top->[3] && $top->[3]{worker} == $self->{tid};
	if (!$work) {
		$self->_emit($lo, %s, reason => 'running');
		$self->{tid} = $i->{was} if $i->{was} && $lo == $i->{from};
		return;
	}
	# A worker runs for whoever queued the work; below the time of queueing the walk is with that
	# one.
	my $begin = $work->{start_ns} > $lo && $work->{start_ns} < $self->{t} ? $work->{start_ns} : $lo;
	$s{irq_ns} = 0 if $begin > $lo;
	$self->_emit($begin, %s, reason => 'running', work => $work);
	$self->_to_queuer($work);
}

# That part of a sum over a whole interval which a part of the interval has.
sub _part {
	my ($sum, $part, $whole) = @_;
	return !$sum || $whole <= 0 ? 0 : $part >= $whole ? $sum : int($sum * $part / $whole);
}

# The walk goes on in somebody else, in the midst of a sleep that need not be on the path at all.
sub _pass {
	my ($self, $i, $asked) = @_;
	return if $self->{t} >= $i->{to} || !defined $i->{leave};
	$self->{passed}{ $i->{leave} } =
		{ sleep => $i, at => $self->{t}, tid => $self->{tid}, asked => $asked };
	return;
}

# passed(): sleeps that the last walk was led through without any time spent in them: { sleep => as
# TaskStates has it, at => the earliest time at which it was there, tid, asked => whom it had asked,
# where that was inferred }
sub passed {
	my ($self) = @_;
	return map { $self->{passed}{$_} } sort { $a <=> $b } keys %{ $self->{passed} };
}

# waits(): sleeps that the last walk passed without following whoever ended them
sub waits { return @{ $_[0]{waits} } }

1;
