# SPDX-License-Identifier: GPL-2.0-only
# The path that a response took, walked backwards from the screen to the key: who ran, who waited
# for whom, without gap or overlap.
package Tipme::WakeupChain;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Carp qw(croak);
use Tipme::KernelEvents;
use Tipme::Kinds;
use Tipme::Naps;
use Tipme::Pacer;
use Tipme::Progress;
use Tipme::Reason qw(reason with_more);
use Tipme::Record::Layout;
use Tipme::Turns;

my %CONTEXT   = %{ $Tipme::Record::Layout::ENUM{context} };
my $MAX_STEPS = 200_000;    # links of one walk; the longest real one had 39,000
my $RT_BELOW  = 100;                                         # kernel priorities below are real-time
my $DEADLINE  = 255;    # priority in a record: SCHED_DEADLINE (abi/records.def)
my %WAITS_FOR_REQUESTS = map { $_ => 1 } qw(loop tty pipe unix net);
my $MAX_AWAKE =
	64;  # stretches of running and waiting for a CPU that are looked at for the server's last sleep
my $FOUND_NS = 50_000_000;    # who looks by the clock finds what was done within
my $THAW_NS  = 2_000_000;     # all threads of a frozen process are woken within
my $OTHERS   = 2;             # threads that are let go on together with ours
my $ASKS_NS  = 1_000_000;     # a request may be served before who asked has fallen asleep
my $SERVED_NS =
	20_000_000;    # what a thread asked over the network so shortly before it slept, it waits for
my $GAVE_UP_NS = 100_000_000;    # nobody gives up an answer sooner
my $PEER_NS =
	20_000_000;    # a thread woken by ours so shortly before ours fell asleep is whom it asked
my $IDLE_SLEEPS =
	2;  # so often, and for so much of its sleep, a thread sleeps where it waits for something to do
my $IDLE_MOSTLY = 0.8;    # of its sleeps in one place: there it waits for work
my $EXIT_NS     = 10_000_000;    # who wakes another this shortly before its end does so by ending
my $NAP_NS  = 50_000_000;    # between frames there is less
my $LEAVES  = 3;             # tries to leave a pacer
my $TRAIL   = 64;         # segments of a walk that tell through whom it came to a pacer
my $MANY   = 500;    # who had a CPU during one wait: beyond this they are told by runs of time ...
my $RUNS   = 400;    # ... so many, of this length at least
my $RUN_NS = 10_000_000;    # ns of records that one look back takes at least
our $LONG =
	5_000;  # segments of a walk, from which on those behind are told by runs where somebody can ...
our $CHUNK = 2_000;    # ... so many at once, but for the last ones, which the walk may look at
our $LAST  = 64;    # steps that stay single at the end when the others are shortened
our $TURNS = 1;        # plain steps are done at one go; 0: each by itself, to the same result
my %STOPPED    = map { $_ => 1 } qw(stopped traced frozen);
my $MAX_NESTED = 8;                                           # workers that queue work for workers
my %HELD       = map { $_ => 1 }
	qw(lock disk memory);    # classes of waits in which the waker, unasked, had what was waited for

# new(states => TaskStates, threads => Threads, reasons => Reasons, server => DisplaySource,
# server_tid, server_pid, client_pid)
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
sub walk_once {
	my ($self, @args) = @_;
	@$self{qw(returning stays wrong)} = (0, 0, {});
	for (1 .. $LEAVES) {
		my $s = $self->_walk(@args);
		return $s if !defined $self->{left} || $self->{reached} && !$self->_by_a_clock;
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
	@$self{qw(tid t from deliver_ns below steps reached short strayed left)} =
		($tid, $to, $from, $o{deliver_ns} // $from, 0, 0, 0, 0, 0, undef);
	push @{ $self->{frames} }, map { [@$_] } @{ $o{via} // [] };
	$self->{below} = 1 if !defined $o{deliver_ns};
	$self->{frame} = $o{frame};
	my $exact = $self->{states}->events->exact_from;
	# Samples of /proc have no wakers to follow.
	my $turns = $TURNS && !$self->{states}->wakers_unknown
		? Tipme::Turns->new(
		@$self{qw(states threads reasons)}, $self->_works,
		@$self{qw(server_tid server)}, $self->naps, sub { return $self->asks_awake_server(@_) }
		)
		: undef;
	while ($self->{t} > $from) {
		if (++$self->{steps} > $MAX_STEPS) { $self->_unknown($from, 'too-many-links'); last }
		if ($self->{t} <= $exact)          { $self->_unknown($from, 'before-records'); last }
		Tipme::Progress::show('following the wake-ups', $to - $self->{t}, $to - $from)
			if !($self->{steps} % 1024);
		$self->_cross_bounds;
		$turns && $self->_turns($turns, $exact, $to, $o{shorten}) or $self->_step;
		$self->_shorten($o{shorten}) if $o{shorten} && @{ $self->{segments} } > $self->_room;
	}
	$self->_note_reached if !defined $o{deliver_ns};
	my @s = reverse @{ $self->{segments} };
	$self->{segments} = [];
	_check(\@s, $from, $to);
	return \@s;
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
	$self->{reached} = ($pid == $self->{client_pid} || $pid == $self->{server_pid})
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
	my ($self, $from, $to, %s) = @_;
	return if $to <= $from;
	# From the innermost frame outwards.
	for my $f (reverse @{ $self->{frames} }) {
		$s{exact} = 0        if $f->[2];
		$s{held} //= $f->[4] if $f->[4];
	}
	push @{ $self->{segments} },
		{ tid => $self->{tid}, from => $from, to => $to, exact => 1, evidence => [], %s };
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
  # A worker runs for whoever queued the work; below the time of queueing the walk is with that one.
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

# The last work that a worker did in [FROM, TO).
sub _work_between {
	my ($self, $tid, $from, $to) = @_;
	my $works = $self->_works->{$tid} or return;
	my ($last) = grep { $_->{start_ns} < $to } reverse @$works;
	return
		   $last
		&& (!defined $last->{end_ns} || $last->{end_ns} > $from)
		&& defined $last->{tid} ? $last : undef;
}

# Whom a worker worked for at a time: { start_ns, queued_ns, tid (undef where nobody knows),
# function }
sub _work_at {
	my ($self, $tid, $t) = @_;
	my $works = $self->_works->{$tid} or return;
	my ($lo, $hi) = (0, scalar @$works);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($works->[$m]{start_ns} < $t) { $lo = $m + 1 }
		else                               { $hi = $m }
	}
	return if !$lo;
	my $w = $works->[ $lo - 1 ];
	return !defined $w->{end_ns} || $w->{end_ns} >= $t ? $w : undef;
}

# works(): { worker => [ what it did, in order of time ] }
sub works { return $_[0]->_works }

sub _works {
	my ($self) = @_;
	return $self->{works} if $self->{works};
	my $ev = $self->{states}->events;
	my (%of, %queued, %open);
	my @all = sort { $a <=> $b } map { @{ $ev->of_kind($_) } } Tipme::KernelEvents::WORK_QUEUED,
		Tipme::KernelEvents::WORK_START, Tipme::KernelEvents::WORK_END;
	for my $i (@all) {
		my ($type, $tid, $t) =
			(vec($ev->{type}, $i, 8), vec($ev->{tid}, $i, 32), vec($ev->{ts}, $i, 64));
		my ($work, $function) = $ev->work($i);
		if    ($type == Tipme::KernelEvents::WORK_QUEUED) { $queued{$work} = $i }
		elsif ($type == Tipme::KernelEvents::WORK_START) {
			my $q = delete $queued{$work};
			my %w = (
				worker => $tid, start_ns => $t, function => $self->{threads}->function($function),
				index  => $i
			);
			if (defined $q) {
				my $by_task = ($CONTEXT{ vec($ev->{d}, $q, 32) >> 16 & 255 } // '') =~
					/^(?:task|softirq_task)$/;
				@w{qw(queued_ns tid queued)} = (
					vec($ev->{ts}, $q, 64),
					$by_task && vec($ev->{tid}, $q, 32) ? vec($ev->{tid}, $q, 32) : undef, $q
				);
			}
			push @{ $of{$tid} }, $open{$tid} = \%w;
		} elsif ($open{$tid}) {
			$open{$tid}{end_ns} = $t;
			delete $open{$tid};
		}
	}
	$self->{works} = \%of;
	for my $w (map {@$_} values %of) {
		$self->_for_whom($w);
	}
	return \%of;
}

# A worker may have queued it for somebody in turn: for_tid, for_ns say who asked first, as far as
# that is known.
sub _for_whom {
	my ($self, $work) = @_;
	my $w = $work;
	for (1 .. $MAX_NESTED) {
		last if !defined $w->{tid};
		@$work{qw(for_tid for_ns)} = @$w{qw(tid queued_ns)};
		my $outer = $self->_work_at(@$w{qw(tid queued_ns)}) or last;
		last if $outer == $work;
		$w = $outer;
	}
}

# for_whom(TID, TIME): [ tid, time ] of whom a thread worked for: itself, or who had queued the work
# that it did then
sub for_whom {
	my ($self, $tid, $t) = @_;
	my $w = $self->_work_at($tid, $t);
	return $w && defined $w->{for_tid} ? [ @$w{qw(for_tid for_ns)} ] : [ $tid, $t ];
}

sub _to_queuer {
	my ($self, $work) = @_;
	my ($tid,  $q)    = @$work{qw(tid queued_ns)};
	return
		   if !defined $tid
		|| $q < $self->_bound
		|| grep { $_->[1] == $q && $_->[0] == $tid } @{ $self->{frames} };
	return if $self->{t} < $q;
	push @{ $self->{frames} }, [ $tid, $q, 0, $work ];
}

# The wait for a CPU is charged to those who had it meanwhile.
sub _runnable {
	my ($self, $i, $lo) = @_;
	my $states = $self->{states};
	my ($tid, $t) = @$self{qw(tid t)};
	my $next     = $i->{to} < $states->to              ? $states->at($tid, $i->{to}) : undef;
	my $ran_on   = $next && $next->{kind} eq 'running' ? $next->{cpu}                : $i->{cpu};
	my $prio     = $self->_priority($tid, $next, $t);
	my @evidence = grep {defined} $i->{wake}, $i->{leave}, $i->{fork},
		$next ? $next->{come} : undef;

	for my $span (reverse $self->_queues($i, $lo, $ran_on)) {
		my ($from, $to, $cpu) = @$span;
		if ($states->many_on($cpu, $from, $to, $MANY)) {
			$self->_occupied_in_turn($i, $span, $prio, \@evidence);
			next;
		}
 # Of several that had the CPU in turn, the first and the last carry the records of the wait itself.
		my @o = reverse $states->occupants($cpu, $from, $to);
		$self->_occupied($i, $o[$_], $prio, $_ && $_ < $#o ? [] : \@evidence, $cpu) for 0 .. $#o;
	}
	$self->_at($lo);
	if ($i->{how} eq 'forked' && $lo == $i->{from}) { $self->{tid} = $i->{parent} }
}

# Of very many that had the CPU in turn, those of a run of time are one segment: `among` says who
# had how much of it. They are looked at one by one and only their sums are kept.
sub _occupied_in_turn {
	my ($self, $i, $span, $own_prio, $evidence) = @_;
	my ($from, $to, $cpu) = @$span;
	my $length = ($to - $from) / $RUNS;
	$length = $RUN_NS if $length < $RUN_NS;
	my ($tid, $rt, $works, $kept) =
		($self->{tid}, $own_prio < $RT_BELOW, $self->_works, $self->{segments});
	my ($run, $among, $kind, $until, @out) = (undef, {}, '', 0);
	$self->{states}->each_occupant(
		$cpu, $from, $to,
		sub {
			my ($begin, $end, $who, $prio, $index) = @_;
			if (!$who || $who == $tid) {
				$self->{segments} = [];
				$self->_occupied($i, \@_, $own_prio, [], $cpu);
				push @out, reverse @{ $self->{segments} };
				undef $run;
				return;
			}
			my $is = !$rt
				&& ($prio < $RT_BELOW || $prio == $DEADLINE) ? 'rt-starvation' : 'cpu-contention';
			my $work = $works->{$who} ? $self->_work_between($who, $begin, $end) : undef;
			my $for  = $work          ? $work->{tid}                             : $who;
			if (!$run || $kind ne $is || $end > $until || !$among->{$for}) {
				my $new = !$run || $kind ne $is || $end > $until;
				$self->{segments} = [];
				$self->_occupied($i, \@_, $own_prio, [], $cpu);
				my $s = $self->{segments}[0];
				if ($new) {
					push @out, $run = { %$s, among => $among = {} };
					($kind, $until) = ($is, $begin + $length);
				}
				$among->{$for} = { segment => $s, ns => 0 };
			}
			$among->{$for}{ns} += $end - $begin;
			$run->{to}   = $end;
			$run->{last} = $index;
		}
	);
	for (@out) { my $last = delete $_->{last}; push @{ $_->{evidence} }, $last if defined $last }
	for (@out ? ($out[0], $out[-1]) : ()) { $_->{evidence} = [ @$evidence, @{ $_->{evidence} } ] }
	$self->{segments} = [ @$kept, reverse @out ];
}

# In whose queue it waited when: [ from, to, CPU ]. Where no record tells of its moves, all the time
# in that of the CPU on which it ran next.
sub _queues {
	my ($self, $i, $lo, $ran_on) = @_;
	my ($from, @q) = ($lo);
	my @moves = $self->{states}->resources->migrations($self->{tid}, $lo, $self->{t});
	for my $m (@moves) { push @q, [ $from, $m->[0], $m->[1] ] if $m->[0] > $from; $from = $m->[0] }
	push @q, [ $from, $self->{t}, @moves ? $moves[-1][2] : $ran_on ];
	return @q;
}

sub _priority {
	my ($self, $tid, $next, $t) = @_;
	return $next->{prio} if $next && defined $next->{prio};
	return $self->{threads}->at($tid, $t)->{prio};
}

sub _occupied {
	my ($self, $i, $o, $own_prio, $evidence, $cpu) = @_;
	my $rt = $own_prio < $RT_BELOW;
	my ($from, $to, $tid, $prio, $index) = @$o;
	my %s = (
		state    => 'runnable', cpu => $cpu, evidence => [ @$evidence, grep {defined} $index ],
		exact    => $i->{guessed} ? 0 : 1,
		own_prio => $own_prio
	);
	if ($tid && $tid != $self->{tid}) {
		my $kind =
			!$rt && ($prio < $RT_BELOW || $prio == $DEADLINE) ? 'rt-starvation' : 'cpu-contention';
		return $self->_put(
			$from, $to, %s, kind => $kind, blamed_tid => $tid, blamed_prio => $prio,
			blamed_work => scalar $self->_work_between($tid, $from, $to), reason => 'wait-cpu'
		);
	}
 # Its CPU was idle: on the way to another, or slow to wake up. Where it was put first may have been
 # busy.
	if (defined $i->{cpu} && $i->{cpu} != $cpu) {
		for my $p (reverse $self->{states}->occupants($i->{cpu}, $from, $to)) {
			my ($f, $e, $who, $pr, $ix) = @$p;
			my $busy = $who && $who != $self->{tid};
			my $kind = !$busy ? 'unknown' : !$rt
				&& ($pr < $RT_BELOW || $pr == $DEADLINE) ? 'rt-starvation' : 'cpu-contention';
			$self->_put(
				$f, $e, %s, kind => $kind, blamed_tid => $busy ? $who : undef, blamed_prio => $pr,
				idle => $busy ? 0 : 1, reason => $busy ? 'wait-cpu' : 'cpu-idle',
				exact => $busy ? $s{exact} : 0, evidence => [ @$evidence, grep {defined} $ix ]
			);
		}
		return;
	}
	$self->_put(
		$from, $to, %s, kind => 'unknown', exact => 0, idle => defined $tid && !$tid ? 1 : 0,
		reason => defined $tid
		? idle_reason($self->{states}->resources, $cpu, $from, $to)
		: 'own-cpu-unknown'
	);
}

# Of a wait for a CPU that idled: also what the kernel says of the state that it had to leave. How
# much of the wait that was nobody measured.
sub idle_reason {
	my ($resources, $cpu, $from, $to) = @_;
	my $left = $resources->idle_left($cpu, $from, $to);
	return $left
		? reason(
		'cpu-idle-deep', state => $left->{state}, us => sprintf '%.0f',
		$left->{exit_ns} / 1e3
		)
		: 'cpu-idle';
}

sub _blocked {
	my ($self, $i, $lo) = @_;
	my $state = $i->{state};
	my $waker = $self->_waker($i);
	my %s     = (
		state => $state, evidence => [ grep {defined} $i->{leave}, $i->{wake} ],
		exact => $i->{guessed} ? 0 : 1,
		stack => scalar $self->{threads}->stack($i->{stack_id}), waker => $waker
	);
  # A frozen thread of version 2 of cgroups sleeps like others, but for its stack; the function that
  # it sleeps in is part of get_signal() in Debian's kernels.
	$state = 'frozen'
		if defined $s{stack}
		&& $s{stack} =~ /\b(?:__refrigerator|do_freezer_trap)\b|\Aget_signal\b/;
	if ($STOPPED{$state}) {
		return $self->_emit(
			$lo, %s, ended => $i->{to} < $self->{states}->to ? 1 : 0,
			kind => 'stopped', reason => $state
		);
	}
	my $work = $self->_work_at(@$self{qw(tid t)});
	$s{work} = $work if $work && defined $work->{tid};
	my $r = $self->{reasons}->of($s{stack}, $waker ? $waker->{context} : undef);
	return if $self->_in_frame && $self->_paced($i, $lo, $waker, $r, \%s);
	return if $self->_on_disk($i, $lo, $waker, $r, \%s);
	if ($waker && $r && $r->{kind} eq 'futex-wait' && $self->_thawed($waker)) {
		return $self->_emit($lo, %s, ended => 1, kind => 'stopped', reason => 'frozen', exact => 0);
	}
	return if $self->_waits_for_service($i, $lo, $waker, $r, \%s);
	return if $waker && $self->_naps_for_answer($i, $lo, $waker, \%s);
	return if $waker && $self->_follow($i, $lo, $waker, \%s);
	return if $waker && $self->_naps_for_lock($i, $lo, $r, \%s);
	return if $waker && $self->_paces($i, $lo, $r, \%s);
	return
		if !$waker
		&& ($self->_ask_client || $self->_ask_holder($i, $lo, $r) || $self->_ask_peer($i, $lo));
	push @{ $self->{waits} },
		{ tid => $self->{tid}, from => $lo, to => $self->{t}, reason => $r, waker => $waker };

	if (!$r && $state eq 'disk_sleep') {
		return $self->_emit($lo, %s, kind => 'unknown', reason => 'wait-still', exact => 0);
	}
	if (!$r) {
		return $self->_emit(
			$lo, %s, kind => 'unknown',
			reason => $waker
			? $waker->{context} eq 'task'
					? 'slept'
					: 'slept-interrupt'
			: $i->{guessed} ? 'waking-lost'
			:                 'not-woken', exact => 0
		);
	}
	my ($whose) = $waker ? () : grep { Tipme::Kinds::has($r->{kind}, $_) } qw(for-whom holder);
	# That it waited is known, and for whom not: such a verdict accuses nobody, and is not sure.
	my ($in) =
		$self->{states}->wakers_unknown && $r->{class} eq 'disk' ? $s{stack} =~ /\A(\w+)/ : ();
	$self->_emit(
		$lo, %s,
		kind   => $r->{kind},
		reason => with_more(
			$r->{code}, in => $in, $self->_others_of_disk($r->{class}),
			$whose ? ($self->{states}->wakers_unknown ? 'sampled' : 'untold', $whose) : ()
		),
		class => $r->{class},
		$whose                                       ? (exact      => 0) : (),
		!$waker && ($whose || $r->{class} eq 'loop') ? (unanswered => 1) : ()
	);
}

# It had asked a service over the network just before it slept, and slept until the network, its own
# timer or nobody woke it.
# Where a thread of this machine answered, the walk goes on in that one instead.
sub _waits_for_service {
	my ($self, $i, $lo, $waker, $r, $s) = @_;
	return 0
		if !$r
		|| $r->{class} ne 'net' && $r->{class} ne 'loop'
		|| $self->{tid} == $self->{server_tid}
		|| $waker && $waker->{tid};
	my $begin = $i->{real_from} // $i->{from};
	my ($asked) =
		reverse $self->{states}->resources->asked($self->{tid}, $begin - $SERVED_NS, $begin);
	return 0 if !$asked;
	my $mute = $waker && $waker->{context} eq 'hardirq' ? 1 : 0;
	return 0 if $mute && $i->{to} - $begin < $GAVE_UP_NS;
	my $again =
		$self->{states}->resources->sent_again($asked->{socket}, $begin - $SERVED_NS, $self->{t});
	push @{ $self->{waits} },
		{ tid => $self->{tid}, from => $lo, to => $self->{t}, reason => $r, waker => $waker };
	push @{ $s->{evidence} }, $asked->{index};
	my $code = 'wait-service-' . $asked->{service} =~ tr/_/-/r;
	$self->_emit(
		$lo, %$s, kind => 'network-wait', class => $r->{class}, service => 1,
		$mute ? (exact => 0) : (),
		reason => reason(
			$code, place => $asked->{place} eq 'unknown' ? undef : $asked->{place},
			again => $again || undef, mute => $mute || undef, still => $waker ? undef : 1
		)
	);
	return 1;
}

# Is the walk in the frame of a compositor?
sub _in_frame {
	my ($self) = @_;
	my $f = $self->{frame};
	return $f && $self->{t} > $f->{from} ? 1 : 0;
}

# A compositor that knows of what was drawn and sleeps in its event loop, or for a time that it
# chose, waits for the next frame, whoever wakes it: its waker may be another client that draws. As
# long as the server was busy before it woke the compositor, it may have been waited for: the walk
# is with the server then.
# The server sleeps in a frame where it was asked for a picture and waits for the screen.
sub _paced {
	my ($self, $i, $lo, $waker, $r, $s) = @_;
	my ($tid, $f) = ($self->{tid}, $self->{frame});
	return 0 if $r && $r->{class} ne 'loop' && $r->{class} ne 'nap';
	if ($tid == $self->{server_tid}) {
		return 0
			if $waker
			&& $waker->{tid}
			&& $self->{threads}->at($waker->{tid}, $waker->{at})->{pid} == $f->{pid};
	} elsif ($self->{threads}->at($tid, $self->{t})->{pid} != $f->{pid}) {
		return 0;
	} elsif ($waker
		&& $waker->{tid} == $self->{server_tid}
		&& $waker->{at} <= $self->{t}
		&& !$self->{jumped}{ $self->{server_tid} })
	{
		my $busy = $self->_awake_since($self->{server_tid}, $waker->{at});
		if ($busy < $waker->{at}) {
			$self->_at($waker->{at}) if $waker->{at} < $self->{t};
			push @{ $self->{frames} }, [ $tid, $busy > $lo ? $busy : $lo, 0 ];
			@{ $self->{jumped} }{ $tid, $self->{server_tid} } = (1, 1);
			$self->{tid} = $self->{server_tid};
			return 1;
		}
	}
	$self->_emit(
		$lo, %$s, kind => 'frame-wait', reason => 'frame-wait', class => 'loop',
		detail => 'frame-wait', blamed_tid => $f->{pid}
	);
	return 1;
}

# Since when a thread has not slept before a time.
sub _awake_since {
	my ($self, $tid, $t) = @_;
	for (1 .. 1000) {
		my $i = $self->{states}->before($tid, $t) or return $t;
		return $t if $i->{kind} eq 'blocked' || $i->{kind} eq 'absent' || $i->{from} >= $t;
		$t = $i->{from};
	}
	return $t;
}

# Samples see that somebody waits for a disk, and none of the requests that it works on meanwhile.
sub _others_of_disk {
	my ($self, $class) = @_;
	return $class eq 'disk' && $self->{states}->wakers_unknown ? (sampled => 'disk') : ();
}

# A sleep that the completion of a request ended is told by what that request waited for: others
# ahead of it, the device. Where a thread ended it (a loop device's, a journal's), the walk goes on
# in that thread instead.
sub _on_disk {
	my ($self, $i, $lo, $waker, $r, $s) = @_;
	return 0 if $waker && $waker->{tid} && $waker->{context} eq 'task';
	return 0 if $r ? $r->{class} ne 'disk' : $s->{state} ne 'disk_sleep';
	my $disk = $self->{states}->resources;
	my $bio =
		$disk->disk_wait($self->{tid}, $i->{from}, $waker ? $i->{to} : $self->{t}, $waker ? 1 : 0)
		or return 0;
	push @{ $self->{waits} },
		{ tid => $self->{tid}, from => $lo, to => $self->{t}, reason => $r, waker => $waker };
	for my $p (reverse $disk->disk_pieces($bio, $lo, $self->{t}, $self->{tid})) {
		my ($from, $to, $phase, $ahead) = @$p;
		$self->_put(
			$from, $to, %$s, kind => $r ? $r->{kind} : 'disk-io', class => 'disk',
			reason   => $r ? $r->{code} : 'wait-disk',
			evidence =>
				[ @{ $s->{evidence} }, @{ $bio->{indices} }, $ahead ? $ahead->{index} : () ],
			disk => { phase => $phase, ahead => $ahead, bio => $bio },
			$phase eq 'asking' && $ahead && $ahead->{guessed} ? (exact => 0) : ()
		);
	}
	$self->_at($lo);
	return 1;
}

# Who ended a sleep: { tid (0: no thread), context, at, index, guessed }
sub _waker {
	my ($self, $i) = @_;
	return if !defined $i->{wake};
	my $ev      = $self->{states}->events;
	my $w       = $i->{wake};
	my $context = $CONTEXT{ vec($ev->{d}, $w, 32) >> 16 & 255 } // 'unknown';
	my %w = (context => $context, at => vec($ev->{ts}, $w, 64), index => $w, tid => 0, exact => 1);
	if    ($context eq 'task')          { $w{tid}           = $self->_who_woke($w) }
	elsif ($context eq 'softirq_task')  { $w{tid}           = $ev->c($w) }
	elsif ($context eq 'softirq_mixed') { @w{qw(tid exact)} = ($ev->c($w), 0) }
	$w{tid} = 0 if $w{tid} == $self->{tid};
	return \%w;
}

# The thread that a waking names; where its leaving was lost (its number was still on that CPU's
# record), the one that leaves that CPU next.
sub _who_woke {
	my ($self,   $w)  = @_;
	my ($states, $ev) = ($self->{states}, $self->{states}->events);
	my $tid = vec $ev->{a}, $w, 32;
	return $tid if !$tid || $states->leaves($tid);
	return $states->runs_at(vec($ev->{cpu}, $w, 16), $w) // $tid;
}

# Goes on with the waker, and comes back to this thread below the beginning of its sleep.
sub _follow {
	my ($self, $i, $lo, $waker, $s) = @_;
	my ($t, $tid) = ($self->{t}, $self->{tid});
	my $who    = $waker->{tid} or return 0;
	my $reason = $self->{reasons}->of($s->{stack}, $waker->{context});
	# The kernel's own thread takes the answer of a file server, and has not made anybody wait.
	return 0
		if $reason
		&& $reason->{class} eq 'server'
		&& $self->{threads}->at($who, $waker->{at})->{kernel};
	return 0 if $self->{jumped}{$who}++;
	$self->_pass($i);
	my $at = $waker->{at} < $t ? $waker->{at} : $t;
	if ($waker->{context} ne 'task') {
		# What a softirq does later, its raiser had asked for when it last ran.
		my $run = $self->_last_run($who, $at);
		return 0 if !defined $run || $run <= $lo;
		$at = $run;
	}
	$self->_put($at, $t, %$s, kind => 'irq-time', reason => 'softirq-to-come') if $at < $t;
	$self->_at($at);
	my $wait = {
		tid    => $tid, from => $lo, to => $at, waker => $waker, state => $i->{state},
		reason => $reason,
		before => !$self->{below} && ($i->{real_from} // $i->{from}) < $self->{deliver_ns} ? 1 : 0
	};
	push @{ $self->{frames} }, [ $tid, $lo, !$waker->{exact}, undef, $self->_held($i, $wait, $who) ]
		if $self->_comes_back($wait);
	# Nobody is asked twice at one time, or two that wait for each other would keep us for ever.
	$self->{jumped}{$tid} = 1;
	$self->{tid} = $who;
	my $work = $self->_work_at($who, $at);
	$self->_to_queuer($work) if $work;
	return 1;
}

# What a thread did before it slept belongs to the path if it waited for an answer; where it waited
# for the next request, as an event loop does, only the waker leads on. A stack tells the one from
# the other, mostly: `returning` takes all sleeps for the first kind.
# The server's records tell it: one that executed a request all that time, and slept for a moment (a
# page, a lock), goes on with it.
sub _comes_back {
	my ($self, $wait) = @_;
	return $self->{server} ? $self->{server}->in_request(@$wait{qw(from to)}) : 0
		if $wait->{tid} == $self->{server_tid};
	return 1
		if $wait->{waker}{tid} == $self->{server_tid}
		&& $self->asks_awake_server(@$wait{qw(tid from to)});
	# Nobody waits for the next request where nothing may disturb it, however short the sleep was.
	return 1 if $self->{returning}             || ($wait->{state} // '') eq 'disk_sleep';
	return waits_for_requests($wait->{reason}) || $self->is_idle_there($wait) ? 0 : 1;
}

# asks_awake_server(TID, FROM, TO): was the server awake for somebody else already when the thread
# asked it for something and slept, in [FROM, TO)?
# Then who woke the server is not why the thread waited: it came to the server by its own request.
sub asks_awake_server {
	my ($self, $tid, $from, $to) = @_;
	my $states = $self->{states};
	my $i      = $self->_server_slept($to);
	# Asleep in between: it was woken for what it then told the thread.
	return 0 if !$i || !defined $i->{wake} || $i->{to} > $from;
	my $by  = vec $states->events->{a}, $i->{wake}, 32;
	my $pid = $self->{threads}->at($tid, $from)->{pid};
	return 0 if $by == $tid || $by && $self->{threads}->at($by, $i->{to})->{pid} == $pid;
	return (grep { ($_->{pid} // 0) == $pid }
			$self->{server} ? $self->{server}->between('request', $from - $ASKS_NS, $to) : ())
		? 1
		: 0;
}

# The last sleep of the server before TIME; undef: it was awake for long, or it is not known. A walk
# asks for thousands of times in one stretch without a sleep, so this is found once for all.
sub _server_slept {
	my ($self,   $t)   = @_;
	my ($states, $tid) = ($self->{states}, $self->{server_tid});
	my $i = $states->before($tid, $t) or return;
	$self->{slept} //= _sleeps_before($states->intervals($tid));
	my ($sleep, $steps) = @{ $self->{slept}{ $i->{from} } };
	return $sleep && $steps <= $MAX_AWAKE ? $sleep : undef;
}

# { when an interval begins => [ the last sleep up to it, without a gap; so many intervals before ]
# }
sub _sleeps_before {
	my ($intervals) = @_;
	my ($sleep, $steps, $end, %of);
	for my $i (@$intervals) {
		$sleep = undef if defined $end && $i->{from} != $end;
		($sleep, $steps) = ($i, -1) if $i->{kind} eq 'blocked';
		$of{ $i->{from} } = [ $sleep, ++$steps ];
		$end = $i->{to};
	}
	return \%of;
}

# is_idle_there(WAIT, as waits() has it): a thread of a pool, or one that has the timers of others,
# sleeps in a futex until it gets something to do: it sleeps nowhere else. In one that mostly sleeps
# elsewhere, or hardly ever, a futex is a lock, or an answer; but not one in which it slept before
# the event was delivered.
sub is_idle_there {
	my ($self, $wait) = @_;
	my $r = $wait->{reason};
	return 0 if !$r || $r->{kind} ne 'futex-wait' || $wait->{tid} == $self->{client_pid};
	return 1 if $wait->{before};
	return $self->{idle}{ $wait->{tid} } //= $self->_told_idle($wait->{tid})
		// is_idle_in(@$self{qw(states threads reasons)}, $wait->{tid});
}

# is_idle_in(STATES, THREADS, REASONS, TID): does a thread sleep in a futex, and nowhere else,
# mostly?
sub is_idle_in {
	my ($states, $threads, $reasons, $tid) = @_;
	my ($n, $there, $all) = (0, 0, 0);
	for my $i (grep { $_->{kind} eq 'blocked' && $_->{stack_id} } @{ $states->intervals($tid) }) {
		my $of = $reasons->of(scalar $threads->stack($i->{stack_id}), 'task');
		$all += $i->{to} - $i->{from};
		if ($of && $of->{kind} eq 'futex-wait') { $n++; $there += $i->{to} - $i->{from} }
	}
	return $n >= $IDLE_SLEEPS && $there >= $IDLE_MOSTLY * $all ? 1 : 0;
}

# A bundle has few sleeps of a thread, and says what they were where all of them were known.
sub _told_idle {
	my ($self, $tid) = @_;
	my ($of) = grep { $_->{tid} == $tid } @{ $self->_told->{idle} // [] };
	return $of ? $of->{idle} : undef;
}

sub _told { return $_[0]{states}->events->episode->manifest->{bundle} // {} }

# Nor has it the waking of whom a thread asked before it slept, if that was long before.
sub _told_peer {
	my ($self) = @_;
	my ($of) =
		grep { $_->{still} && $_->{tid} == $self->{tid} } @{ $self->_told->{asked} // [] };
	return $of ? $of->{who} : undef;
}

# waits_for_requests(REASON): for the next request, or for nobody knows what
sub waits_for_requests { my ($r) = @_; return !$r || $WAITS_FOR_REQUESTS{ $r->{class} } ? 1 : 0 }

# Did the waker have what the thread waited for? Not one that the thread had asked to do something
# (woken, or made, by it), nor one that wakes by ending: these work for it.
sub _held {
	my ($self, $i, $wait, $who) = @_;
	my $r = $wait->{reason};
	return if !$r || !$HELD{ $r->{class} };
	# A futex is also what threads are joined and handed work by; other locks are locks.
	return
		if $r->{kind} eq 'futex-wait'
		&& ($self->_all_go_on($wait, $who)
		|| $self->asked($who, $wait->{tid}, $i, $wait->{to})
		|| $self->_ends($who, $wait->{waker}{at}));
	return {
		%$r{qw(kind class code)}, tid => $wait->{tid}, at => $wait->{to},
		prio => $self->{threads}->at($wait->{tid}, $wait->{to})->{prio}
	};
}

# Did the waker, a thread of the same process, let several of its threads go on at once? Then it
# kept no lock, of which there is one holder, and which goes to one waiter: all of them stood still
# for something that the process does (it collects garbage).
sub _all_go_on {
	my ($self, $wait,    $who) = @_;
	my ($ev,   $threads, $at)  = ($self->{states}->events, $self->{threads}, $wait->{waker}{at});
	my $pid = $threads->at($wait->{tid}, $at)->{pid};
	return 0 if $threads->at($who, $at)->{pid} != $pid;
	my %woken;
	for (
		my $k = $ev->first_at($at - $THAW_NS);
		$k < $ev->count && vec($ev->{ts}, $k, 64) < $at + $THAW_NS;
		$k++
		)
	{
		next
			if vec($ev->{type}, $k, 8) != Tipme::KernelEvents::WAKING
			|| vec($ev->{a},    $k, 32) != $who
			|| (vec($ev->{d}, $k, 32) >> 16 & 255);
		my $tid = vec $ev->{tid}, $k, 32;
		$woken{$tid} = 1 if $tid != $wait->{tid} && $threads->at($tid, $at)->{pid} == $pid;
	}
	return keys %woken >= $OTHERS ? 1 : 0;
}

# asked(WHO, TID, SLEEP, TO): has TID made the other, or woken it from shortly before its sleep on?
# No further back is looked: one that is woken again and again has a long history.
sub asked {
	my ($self, $who, $tid, $i, $to) = @_;
	my $ev = $self->{states}->events;
	$self->{made} //=
		{ map { (vec($ev->{a}, $_, 32) . ' ' . vec($ev->{tid}, $_, 32)) => vec $ev->{ts}, $_, 64 }
			@{ $ev->of_kind(Tipme::KernelEvents::FORK) } };
	my $made = $self->{made}{"$who $tid"};
	return 1
		if defined $made && $made < $to
		|| grep { $_->{tid} == $tid && $_->{who} == $who } @{ $self->_told->{asked} // [] };
	my $list  = $ev->of_tid($who);
	my $since = ($i->{real_from} // $i->{from}) - $PEER_NS;
	for (my $k = $ev->last_before($list, $to); $k >= 0; $k--) {
		my $e = $list->[$k];
		return 0 if vec($ev->{ts}, $e, 64) < $since;
		next
			if vec($ev->{type}, $e, 8) != Tipme::KernelEvents::WAKING
			|| vec($ev->{tid},  $e, 32) != $who;
		return 1 if vec($ev->{a}, $e, 32) == $tid && (vec($ev->{d}, $e, 32) >> 16 & 255) == 0;
	}
	return 0;
}

sub _ends {
	my ($self, $who, $at) = @_;
	my $ev = $self->{states}->events;
	for my $e (@{ $ev->of_kind(Tipme::KernelEvents::EXIT) }) {
		return 1 if vec($ev->{tid}, $e, 32) == $who && abs(vec($ev->{ts}, $e, 64) - $at) < $EXIT_NS;
	}
	return 0;
}

# Nobody has woken it, and it waits for a lock whose holder the kernel has told: the walk goes on in
# the holder.
sub _ask_holder {
	my ($self, $i, $lo, $r) = @_;
	my ($lock) =
		reverse $self->{states}->resources->lock_waits($self->{tid}, $self->{t} - 1, $self->{t});
	my $who = $lock ? $lock->{owner} : 0;
	return 0 if !$who || $who == $self->{tid} || $self->{jumped}{$who}++;
	$self->_pass($i);
	my $held = {
		kind => 'lock-wait',  class => 'lock', code => $r ? $r->{code} : 'wait-kernel-lock',
		tid  => $self->{tid}, at    => $self->{t},
		prio => $self->{threads}->at($self->{tid}, $self->{t})->{prio}
	};
	push @{ $self->{frames} },
		[ $self->{tid}, $lo > $lock->{from} ? $lo : $lock->{from}, 0, undef, $held ];
	$self->{jumped}{ $self->{tid} } = 1;
	$self->{tid} = $who;
	return 1;
}

# It tried to lock a file just before it slept, another process had that lock, and its own timer
# ended the sleep: it looks again and again whether the lock is free. The walk goes on in the
# process that had it, as long as that was there.
sub _naps_for_lock {
	my ($self, $i, $lo, $r, $s) = @_;
	return 0
		if $s->{waker}{context} ne 'hardirq' || $r && $r->{class} ne 'nap' && $r->{class} ne 'loop';
	my $lock = $self->_lock_tried($i) or return 0;
	my $who  = $lock->{owner};
	my $gone = $self->{states}->before($who, $self->{t});
	if ($gone && $gone->{kind} eq 'absent') {
		return 0 if $gone->{from} <= $lo;
		$self->_emit(
			$gone->{from}, %$s, kind => 'timer-sleep',
			reason => $r ? $r->{code} : 'sleep-chosen'
		);
		return 1;
	}
	return 0 if $self->{jumped}{$who}++;
	push @{ $s->{evidence} }, $lock->{index};
	push @{ $self->{frames} }, [
		$self->{tid},
		$lo, 0, undef,
		{
			kind => 'lock-wait', class => 'lock', code => 'wait-file-lock', tid => $self->{tid},
			at   => $self->{t},
			prio => $self->{threads}->at($self->{tid}, $self->{t})->{prio}
		}
	];
	$self->{jumped}{ $self->{tid} } = 1;
	$self->{tid} = $who;
	return 1;
}

# It paces frames, and one of those that it has woken had worked for somebody else since its tick
# before: what the frame shows is that. The walk waits with the pacer, and goes on in that one.
sub _paces {
	my ($self, $i, $lo, $r, $s) = @_;
	return 0
		if $self->{below}
		|| $self->{stays}
		|| $s->{waker}{context} ne 'hardirq'
		|| $self->{tid} == $self->{server_tid};
	my ($tid, $t, $for) =
		Tipme::Pacer::worked_since(@$self{qw(states tid)}, $i, $self->_trail,
		{ %{ $self->{wrong} }, $self->{server_tid} => 1 })
		or return 0;
	return 0 if $t <= $lo || $t >= $self->{t};
	push @{ $self->{waits} },
		{ tid => $self->{tid}, from => $t, to => $self->{t}, reason => $r, waker => $s->{waker} };
	$self->_emit(
		$t, %$s,
		kind   => $r ? $r->{kind} : 'timer-sleep',
		reason => $r ? $r->{code} : 'loop-timer',
		class  => $r ? $r->{class} : 'loop', exact => 0
	);
	@$self{qw(tid left left_for)} = ($tid, $t, $for);
	return 1;
}

# The threads that the walk has just passed, up to where it left a pacer before: { tid => 1 }
sub _trail {
	my ($self) = @_;
	my ($segments, %on) = ($self->{segments});
	my $last = $#$segments < $TRAIL ? 0 : @$segments - $TRAIL;
	for my $s (reverse @$segments[ $last .. $#$segments ]) {
		last if defined $self->{left} && $s->{to} > $self->{left};
		$on{ $s->{tid} } = 1;
	}
	delete @on{ @$self{qw(tid server_tid)} };
	return \%on;
}

# The last lock of a file that a thread tried in vain between its sleep before an interval and that
# interval; undef: none, or who had it is not known
sub _lock_tried {
	my ($self, $i) = @_;
	my $begin = my $since = $i->{real_from} // $i->{from};
	while ($since > $begin - $PEER_NS) {
		my $b = $self->{states}->before($self->{tid}, $since) or last;
		last if $b->{kind} ne 'running' && $b->{kind} ne 'runnable';
		$since = $b->{from};
	}
	my ($lock) = grep { $_->{what} eq 'file' && $_->{owner} && $_->{from} >= $since }
		reverse $self->{states}->resources->lock_waits($self->{tid}, $since, $begin);
	return $lock
		&& $self->{threads}->at($self->{tid}, $begin)->{pid} != $lock->{owner} ? $lock : undef;
}

# A frozen thread may sleep on where it slept, and who thaws its process wakes it there. No other
# process ends a wait for a futex of one's own:
# one that does, and wakes another thread of the process at the same time, has thawed it.
sub _thawed {
	my ($self, $waker) = @_;
	return 0 if !$waker->{tid} || $waker->{context} ne 'task';
	my ($ev, $threads) = ($self->{states}->events, $self->{threads});
	my $pid = $threads->at($self->{tid}, $waker->{at})->{pid};
	return 0 if $threads->at($waker->{tid}, $waker->{at})->{pid} == $pid;
	for (
		my $k = $ev->first_at($waker->{at} - $THAW_NS);
		$k < $ev->count && vec($ev->{ts}, $k, 64) < $waker->{at} + $THAW_NS;
		$k++
		)
	{
		next
			if vec($ev->{type}, $k, 8) != Tipme::KernelEvents::WAKING
			|| vec($ev->{a},    $k, 32) != $waker->{tid};
		my $tid = vec $ev->{tid}, $k, 32;
		return 1 if $tid != $self->{tid} && $threads->at($tid, $waker->{at})->{pid} == $pid;
	}
	return 0;
}

# Whom it had asked did something, or ended, a few naps before the end (in one of them, or between
# two), and it found that when it looked: the walk goes on in that one.
sub _found_by_the_clock {
	my ($self, $run, $i, $lo, $s) = @_;
	my ($tid, $asked) = @{ $run->{asked} };
	$run->{done} //= $self->_last_run($tid, $run->{to}) // 0;
	my $done = $run->{done};
	return 0
		if $done - $asked < $PEER_NS
		|| $run->{to} - $done > $FOUND_NS
		|| $run->{from} < $self->_bound
		|| $done - $self->{t} > $FOUND_NS
		|| $self->{jumped}{$tid};
	my $from = $done > $lo ? $done : $lo;
	$self->_emit(
		$from, %$s, kind => 'timer-sleep', reason => 'loop-timer', class => 'loop',
		exact => 0
	) if $from < $self->{t};
	return 1 if $done < $lo;
	push @{ $self->{frames} }, [ $self->{tid}, $run->{from}, 1 ];
	$self->{jumped}{$_} = 1 for $tid, $self->{tid};
	$self->{tid}        = $tid;
	return 1;
}

# Samples tell no waker. A server that sleeps between the delivery and the change of the screen
# waits for its client all the same.
sub _ask_client {
	my ($self) = @_;
	return 0
		if !$self->{states}->wakers_unknown
		|| $self->{below}
		|| $self->{tid} != $self->{server_tid}
		|| !$self->{client_pid};
	return 0 if $self->{jumped}{ $self->{client_pid} }++;
	$self->{jumped}{ $self->{tid} } = 1;
	$self->{tid} = $self->{client_pid};
	return 1;
}

# When a thread last ran up to a time.
sub _last_run {
	my ($self, $tid, $t) = @_;
	for (1 .. 1000) {
		my $i = $self->{states}->before($tid, $t) or return;
		return $t if $i->{kind} eq 'running';
		return    if $i->{from} >= $t;
		$t = $i->{from};
	}
	return;
}

# naps(): the runs of naps on these states
sub naps {
	my ($self) = @_;
	return $self->{naps} //=
		Tipme::Naps->new(%$self{qw(states threads reasons server server_tid server_pid)});
}

# Is the walk in who has a lock that others wait for? That it has it is known; whom it asked before
# it slept, and whether it waits for that one, would be a guess.
sub _has_lock {
	my ($self) = @_;
	my ($held) = map { $_->[4] // () } reverse @{ $self->{frames} };
	return 0 if !$held || $held->{class} ne 'lock';
	my $pid = $self->{threads}->at($self->{tid}, $self->{t})->{pid};
	return !defined $held->{within} || $held->{within} == $pid ? 1 : 0;
}

# It had asked somebody, and looks by the clock whether the answer has come: a wait for that one,
# who has not answered.
sub _naps_for_answer {
	my ($self, $i, $lo, $waker, $s) = @_;
	return 0
		if $self->{below}
		|| $self->{tid} == $self->{server_tid}
		|| $self->_has_lock
		|| $waker->{context} ne 'hardirq' && $waker->{tid} != $self->{server_tid};
	my $run = $self->naps->run($self->{tid}, $i) or return 0;
	return 1 if $self->_found_by_the_clock($run, $i, $lo, $s);
	push @{ $self->{waits} },
		{
		tid    => $self->{tid},                                    from  => $lo, to => $self->{t},
		reason => scalar $self->{reasons}->of($s->{stack}, undef), waker => $waker, run => $run
		};
	my $behind = $self->naps->may_have_handed_on($run->{asked}, $self->{t});
	$self->_emit(
		$lo, %$s, kind => 'time-out', reason => reason('no-answer', behind => $behind || undef),
		class => 'loop', asked => $run->{asked}, exact => 0
	);
	return 1;
}

# Nobody has woken it: it still waits for the one it woke, asked, just before it fell asleep.
# Inferred, and marked so.
sub _ask_peer {
	my ($self, $i, $lo) = @_;
	my $ev = $self->{states}->events;
	my ($begin, $peer) = ($i->{real_from} // $i->{from});
	my $k = $ev->first_at($begin + 1);
	while (--$k >= 0 && vec($ev->{ts}, $k, 64) > $begin - $PEER_NS) {
		next
			if vec($ev->{type}, $k, 8) != Tipme::KernelEvents::WAKING
			|| vec($ev->{a},    $k, 32) != $self->{tid}
			|| (vec($ev->{d}, $k, 32) >> 16 & 255) != 0;
		my $who = vec($ev->{tid}, $k, 32);
		next if $who == $self->{server_tid} || $who == $self->{tid};
		my $at = $self->{states}->before($who, $self->{t});
		# One that has done its part and sleeps again as before is not whom we wait for.
		next
			if !$at
			|| $at->{kind} eq 'blocked'
			&& !defined $at->{wake}
			&& $at->{state} eq 'sleeping'
			&& $self->{reasons}->is_loop($self->{threads}->stack($at->{stack_id}));
		$peer = $k, last;
	}
	my $owner =
		defined $peer || $self->{below} ? undef : $self->naps->owner_asked($self->{tid}, $begin);
	my $who =
		  defined $peer ? vec($ev->{tid}, $peer, 32)
		: $owner        ? $owner->[0]
		:                 $self->_told_peer;
	return 0 if !defined $who || $self->{jumped}{$who}++;
	$self->_pass($i, $who);
	push @{ $self->{frames} }, [ $self->{tid}, $lo, 1 ];
	$self->{jumped}{ $self->{tid} } = 1;
	$self->{tid} = $who;
	return 1;
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
