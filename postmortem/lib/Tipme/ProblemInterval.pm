# SPDX-License-Identifier: GPL-2.0-only
# From a key's entry to its visible answer: which damages answer which event, and which event was
# the unusual one.
package Tipme::ProblemInterval;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::Answered;
use Tipme::AtRest;
use Tipme::Caused;
use Tipme::Entry qw(entered_ns);
use Tipme::Felt;
use Scalar::Util qw(weaken);
use Tipme::Injected;
use Tipme::Starts;
use Tipme::Verdict qw(is_unusual);

my $NEAR_NS     = 30_000_000;      # records this far before a wake-up mostly tell who caused it
my $LONG_NS     = 10_000_000_000;  # a server that waits longer for a CPU is beyond help
my $LOOP_NS     = 20_000_000;      # a server that runs at last comes to its input within this
my $MAX_INPUT   = 8;               # threads of a server that are looked at for its input thread
my $MAX_RESOLVE = 24;              # events looked at closely that were answered late, or not at all
my $MAX_LOOKS   = 100;             # events looked at closely, whatever comes of it
my $MOTION_NS   = 25_000_000;      # a pointer that follows sooner is not worth a look
my $ENOUGH      = 3;               # responses that make a "usually"
my $MAX_LOAD    = 1_500_000;       # kernel records decoded for the choice
my $CLEAR_NS    = 5_000_000; # between waking and running: in so short a time two things rarely come
my $NS_PER_MS   = 1_000_000;

# new(episode =>, path => InputPath, kernel => Kernel, reasons =>)
sub new {
	my ($class, %o) = @_;
	my %with = (%o, trigger => $o{episode}->watched_until);
	$with{rest}   = Tipme::AtRest->new(%with);
	$with{caused} = Tipme::Caused->new(%with);
	$_->use_kernel($o{kernel}) for $o{path}->servers;
	my $self = bless {
		%with, answered => Tipme::Answered->new(%with),
		entry => Tipme::Entry->new($o{episode})
	}, $class;
	weaken(my $weak = $self);
	$self->{injected} = Tipme::Injected->new(%with, woken => sub { return $weak->_woken_for(@_) });
	$self->{path}->add(Tipme::Starts->new(%with)->events) if !$self->{path}->own;
	return $self;
}

# caused(): what ties changes to events; rest(): when clients rest; response(EVENT): as Answered has
# it
sub caused   { return $_[0]{caused} }
sub rest     { return $_[0]{rest} }
sub response { my ($self, $e) = @_; return $self->{answered}->response($e) }

# choose(event => N, at => NS, felt => as Tipme::Felt::of has it): the problem interval, or undef
# where there is no input event that could be one:
# { event, start_ns, end_ns, open, exact, usual_ns, usual_count, excess_ns, damage, entered (as
# Entry has it), felt (as Tipme::Felt::told has it; only where somebody said something) }
sub choose {
	my ($self, %o) = @_;
	my @events = $self->{path}->events;
	if (defined $o{event}) {
		my ($e) = grep { $_->{n} == $o{event} } @events;
		return $e && $self->interval($e);
	}
	if (defined $o{at})     { return $self->_at(\@events, $o{at}, $o{at_to}) }
	if ($self->{path}->own) { return scalar $self->interval($self->{path}->own) }
	my @c     = $self->_candidates(@events);
	my $felt  = $o{felt};
	my $said  = $felt && $self->_newest(Tipme::Felt::matching($felt, @c));
	my $found = $said && is_unusual($said);
	my $i = ($found ? $said : undef) // $self->_caught(\@events) // $self->_newest(@c) // return;
	return $felt ? { %$i, felt => Tipme::Felt::told($felt, $found, $i, @c) } : $i;
}

# What a threshold has caught is what was being waited for just then, whatever else is in the ring.
sub _caught {
	my ($self, $events) = @_;
	return if ($self->{episode}->manifest->{trigger}{kind} // '') ne 'auto';
	return $self->_at($events, $self->{episode}->trigger_ns);
}

# Events that may have been answered late, as the X records show, the longest first:
# { event, from_ns, upper: ns that it can have lasted at most, ended: an answer is known }
sub _candidates {
	my ($self, @events) = @_;
	my @c;
	for my $e (grep { $_->{candidate} } @events) {
		my ($from, $to) = $self->_reach($e);
		push @c,
			{
			event => $e, from_ns => $from, upper => $to - $from,
			ended => defined $self->_end_of($e) ? 1 : 0
			}
			if !$e->{motion} || $to - $from >= $MOTION_NS;
	}
	return sort { $b->{upper} <=> $a->{upper} } @c;
}

# Whoever asks again means what came since he asked before, if there was anything.
sub _newest {
	my ($self, @c) = @_;
	my $before = $self->{episode}->manifest->{trigger}{before_ns};
	my $since =
		defined $before ? $self->_best(grep { entered_ns($_->{event}) > $before } @c) : undef;
	return $since if $since && is_unusual($since);
	return $self->_best(@c);
}

sub _best {
	my ($self, @c) = @_;
	# Keys that draw nothing (modifiers, those of a password) may have waited until the end, for all
	# that the X records know. There may be many of them, and they must not keep us from what is
	# known to have been answered late.
	my %best;
	# Of a start of which it is not known how long it takes it is not known either whether it was
	# long.
	my @unsure = grep { $_->{event}{start} && ($self->usual($_->{event}))[1] < $ENOUGH } @c;
	my %unsure = map  { $_->{event}{n} => 1 } @unsure;
	@c = grep { !$unsure{ $_->{event}{n} } } @c;
	$self->_look(\%best, grep { $self->_end_of($_->{event}) } @c);
	$self->_look(\%best, grep { !$self->_end_of($_->{event}) } @c);
	my $sure = $best{unusual};
	return $sure if $sure && is_unusual($sure);
	my %start;
	$self->_look(\%start, @unsure);
	return $start{unusual} if $start{unusual} && is_unusual($start{unusual});
	return $sure // $best{slept} // $start{unusual};
}

# Looks closely at candidates, those that can have lasted longest first, for one that is more
# unusual than BEST.
sub _look {
	my ($self, $best,  @c)       = @_;
	my ($n,    $looks, $covered) = (0, 0, $self->{kernel}->covered_from);
	# An X server's records may reach back much further than the kernel's, and what lies there must
	# not use up what is looked at.
	my $since = $self->_recorder_start;
	@c = grep { my $t = entered_ns($_->{event}); $t >= $since && $t + $_->{upper} > $covered } @c;
	for my $c (@c) {
		my $so_far = $best->{unusual};
		last if $so_far && $so_far->{excess_ns} >= $c->{upper};
		last
			if ($n >= $MAX_RESOLVE || ++$looks > $MAX_LOOKS) && $so_far
			|| $self->{kernel}->loaded > $MAX_LOAD;
		my $i = $self->interval($c->{event}) or next;
		$n++;
		next
			if $i->{end_ns} <= $covered
			|| $i->{start_ns} < $self->_recorder_start; # the X server was there before the recorder
			# Nobody sat there and waited for an answer in the midst of which the machine slept.
		if (grep { $_->{from_ns} >= $i->{start_ns} && $_->{to_ns} <= $i->{end_ns} }
			$self->{episode}->suspends(@$i{qw(start_ns end_ns)}))
		{
			$best->{slept} //= $i;
			next;
		}
		$best->{unusual} = $i if !$so_far || $i->{excess_ns} > $so_far->{excess_ns};
	}
	return;
}

sub _recorder_start {
	my ($self) = @_;
	my $r      = $self->{episode}->manifest->{recorder};
	my $t      = ref $r eq 'HASH' ? $r->{start_ns} : undef;
	return defined $t && !ref $t && $t =~ /\A\d{1,19}\z/ ? $t : 0;
}

# The slowest of those that entered in a stretch of time; else the event that was being handled in
# the middle of it, else the one nearest to that.
sub _at {
	my ($self, $events, $from, $to) = @_;
	$to //= $from;
	my $t = $from + int(($to - $from) / 2);
	# A start goes on while other things are done: those first.
	my @c = grep { $_->{candidate} && ($_->{motion} // '') ne 'cursor' && !$_->{start} } @$events;
	my @starts    = grep { $_->{start} } @$events;
	my ($slowest) = sort { $b->{end_ns} - $b->{start_ns} <=> $a->{end_ns} - $a->{start_ns} }
		grep {defined}
		map  { $self->interval($_) }
		grep { $from < $to && $_->{device_ns} >= $from && $_->{device_ns} <= $to } @c;
	return $slowest if $slowest;
	my @near =
		sort { abs($a->{device_ns} - $t) <=> abs($b->{device_ns} - $t) || $a->{n} <=> $b->{n} } @c;
	my @before = grep { ($_->{wakeup_ns} // $_->{device_ns}) <= $t } (reverse @c), reverse @starts;
	for my $e (@before) {
		my $i = $self->interval($e);
		return $i if $i && $i->{start_ns} <= $t && $i->{end_ns} >= $t;
	}
	for my $e (@near) { my $i = $self->interval($e); return $i if $i }
	return;
}

# (from, to): what the response can have lasted at most: as the X records show, and what the server
# waited for a CPU before it could look.
sub _reach {
	my ($self, $e) = @_;
	return ($e->{kernel_ns} // $e->{read_ns}, $self->{trigger}) if $e->{pending};
	my $start = $e->{wakeup_ns} // $e->{device_ns};
	my $x     = $e->{server}->enters_by;
	my $stamp = $self->_server_stamp($e);
	$start = $stamp if defined $stamp && $stamp < $start;
	my @input = grep { $_ != $x->{tid} } $self->{kernel}->threads->tids_of($x->{pid});
	$#input = $MAX_INPUT - 1 if @input > $MAX_INPUT;
	# First the thread that serves clients, then those that may have read the input for it.
	$start = $self->_kept_since($_, $start) for $x->{tid}, @input;
	$start = $x->waited_since($e, $start);
	my $end   = $self->_end_of($e) // $self->{trigger};
	my $hangs = $self->{answered}->hangs_until($e);
	return ($start, defined $hangs && $hangs > $end ? $hangs : $end);
}

# The last of what the X records have for an answer, or the first with FIRST; undef: nothing
sub _end_of {
	my ($self, $e, $first) = @_;
	return $e->{device_ns} if ($e->{motion} // '') eq 'cursor';
	my $b = $e->{bursts}[ $first ? 0 : -1 ] or return;
	# A compositor brings it to the screen; one that has not done so owes it.
	my $shown = $e->{server}->shown($e, $b->[2], $self->{trigger}, 1) or return $b->[1];
	return $shown->{ns} // $self->{trigger};
}

# Since when a thread that ran shortly before TIME had waited for a CPU; TIME if it had not.
sub _kept_since {
	my ($self, $tid, $t) = @_;
	my $l = $self->{kernel}->run_delays($tid);
	my ($lo, $hi) = (0, scalar @$l);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($l->[$m][0] <= $t) { $lo = $m + 1 }
		else                     { $hi = $m }
	}
	my $d = $lo ? $l->[ $lo - 1 ] : return $t;
	return $d->[1] >= $t - $LOOP_NS ? $d->[0] : $t;
}

# interval(EVENT): the same for one event; undef where it had no visible effect; with RESPONSE, as
# Answered has it, for that answer
sub interval {
	my ($self, $e, $r) = @_;
	$r //= $self->response($e) or return;
	my ($start, $exact) = $self->entry($e);
	my ($usual, $count, $where) = $self->usual($e);
	my $duration = $r->{end_ns} - $start;
	return {
		event   => $e,                            start_ns => $start, start_exact => $exact,
		entered => scalar $self->{entry}->of($e), %$r, usual_ns => $usual, usual_count => $count,
		usual_where => $where,                    excess_ns => $duration - ($usual // 0)
	};
}

# usual(EVENT): (median of the other responses to the same kind of event of the same client, how
# many, where: episode or library); where this episode has few of them the library is asked, and if
# that has none, events of any kind of that client, or of that kind of all clients
sub usual {
	my ($self, $e) = @_;
	my $own = $self->{path}->own;
	if ($own && $e == $own) {
		my $b = $self->{episode}->manifest->{bundle}{event};
		return ($b->{usual_ns}, $b->{usual_count} // 0, $b->{usual_where});
	}
	return $self->_usual_start($e) if $e->{start};
	# What follows the release of a key tells nothing about presses.
	my $released = $e->{kind} eq 'key_release' ? 1 : 0;
	my @any      = grep {
			  !$_->{start}
			&& $_ != $e
			&& ($_->{kind} eq 'key_release' ? 1 : 0) == $released
			&& $_->{candidate}
			&& ($_->{motion} // '') eq ($e->{motion} // '')
			&& defined $self->_end_of($_, 1)
	} $self->{path}->events;
	my @own = grep { defined $e->{pid} && defined $_->{pid} && $_->{pid} == $e->{pid} } @any;
	my ($same, $all) = map {
		[ grep { $_->{kind} eq $e->{kind} } @$_ ]
	} \@own, \@any;
	if (@$same < $ENOUGH && $self->{baseline} && $e->{pid}) {
		my ($ns, $n) = $self->{baseline}->(
			$e->{kind},
			$self->{kernel}->threads->at($e->{pid}, $e->{deliver_ns} // $e->{device_ns})->{comm}
		);
		return ($ns, $n, 'library') if $n && $n >= $ENOUGH;
	}
	# Other programs do at a release what has nothing to do with it.
	my @of = @$same >= $ENOUGH ? @$same : @own >= ($released ? 1 : $ENOUGH) ? @own : @$all;
	return (undef, 0, undef) if !@of;
	my @ns = sort { $a <=> $b } map { $self->_quick($_) } @of;
	return ($ns[ $#ns / 2 ], scalar @ns, 'episode');
}

# How long others of that program took to start: the library knows, if anybody does.
sub _usual_start {
	my ($self, $e) = @_;
	my ($ns, $n) = $self->{baseline} ? $self->{baseline}->('start', $self->_comm_of($e)) : ();
	return $n && $n >= $ENOUGH ? ($ns, $n, 'library') : (undef, 0, undef);
}

# A program is called so only when it has begun.
sub _comm_of {
	my ($self, $e) = @_;
	my $t = $e->{start} ? $e->{start}{from_ns} : $e->{deliver_ns};
	return $self->{kernel}->threads->at($e->{pid}, $t)->{comm};
}

# What a response seems to be from the X records alone; a server that is observed from outside
# counts in ms, so none is shorter than one.
sub _quick {
	my ($self, $e) = @_;
	my $ns = $self->_end_of($e, 1) - ($e->{wakeup_ns} // $e->{device_ns});
	return !$e->{server}{exact} && $ns < $NS_PER_MS ? $NS_PER_MS : $ns;
}

# usual_responses(NOT): what was usual here for whom, without event number NOT: { kind, comm,
# events, median_ns }
sub usual_responses {
	my ($self, $not) = @_;
	my %ns;
	for my $e (
		grep {
				   $_->{candidate}
				&& !$_->{motion}
				&& $_->{pid}
				&& @{ $_->{bursts} }
				&& $_->{n} !=
				($not // 0)
		} $self->{path}->events
		)
	{
		push @{ $ns{ $e->{kind} }{ $self->_comm_of($e) } }, $self->_quick($e);
	}
	my @usual;
	for my $kind (sort keys %ns) {
		for my $comm (sort grep { $_ ne '?' } keys %{ $ns{$kind} }) {
			my @of = sort { $a <=> $b } @{ $ns{$kind}{$comm} };
			push @usual,
				{
				kind      => $kind, comm => $comm, events => scalar @of,
				median_ns => $of[ $#of / 2 ]
				};
		}
	}
	return @usual;
}

sub _pid { my ($self, $tid, $t) = @_; return $self->{kernel}->threads->at($tid, $t)->{pid} }

# entry(EVENT): (when the event entered the machine as far as records tell, 1 if that is exact)
sub entry {
	my ($self, $e) = @_;
	my $own = $self->{path}->own;
	if ($own && $e == $own) {
		return @{ $self->{episode}->manifest->{bundle}{event} }{qw(start_ns start_exact)};
	}
	my $entered = $e->{server}{exact} ? $self->{entry}->of($e) : undef;
	return ($entered->{interrupt_ns} // $entered->{core_ns}, 1) if $entered;
	return ($e->{kernel_ns}, 1) if defined $e->{kernel_ns} && $e->{server}{exact};
	return ($e->{came_ns},   0) if defined $e->{came_ns};
	my ($t, $exact) = $self->_woken_for($e);
	my $stamp = $self->_server_stamp($e);
	return ($stamp, 0) if defined $stamp && $stamp < $t - 2 * $NS_PER_MS;
	my $written =
		  !$exact
		&& $e->{server}{exact}
		&& defined $e->{wakeup_ns}
		&& $self->{kernel}->has_records
		&& !$self->{kernel}->sampled && $e->{device_ns} - $t < $LONG_NS
		? $self->{injected}
		->at($e, $t < $e->{device_ns} - $CLEAR_NS ? $t : $self->_asleep_before($e))
		: undef;
	return defined $written ? ($written, 0) : ($t, $exact);
}

# When the server fell asleep before it read an event, or a little before that where it had not
# slept for long. A turn of its loop in which it was kept from a CPU, or found more to do, is none.
sub _asleep_before {
	my ($self, $e)  = @_;
	my ($x, $first) = ($e->{server}, $e->{device_ns} - $LONG_NS);
	my $s    = $x->last_before('sleep', $e->{wakeup_ns});
	my $from = $s ? $s->{ts_ns} : $e->{wakeup_ns};
	return $first if $from <= $first;
	my $states = $self->{kernel}->states($first, $e->{device_ns});
	my $i      = $states->before($x->{tid}, $e->{wakeup_ns});
	$i = $states->before($x->{tid}, $i->{from})
		while $i && $i->{kind} ne 'blocked' && $i->{from} > $first;
	return $from if !$i || $i->{from} > $from;
	return $i->{from} > $first ? $i->{from} : $first;
}

# The waking that made the server read it, 1 if that is exact, the thread that woke it (0: none);
# the server's input thread is followed to its own waking.
sub _woken_for {
	my ($self, $e) = @_;
	my $x = $e->{server}->enters_by;
	my $w = $e->{wakeup_ns};
	return ($e->{device_ns}, 0) if !defined $w;
	return ($e->{device_ns}, 0) if $x->lower('request', $w) < $x->lower('request', $e->{device_ns});
	return ($w,              0) if !$self->{kernel}->has_records;
	my $s      = $x->last_before('sleep', $w);
	my $asleep = $e->{asleep_ns} // ($s ? $s->{ts_ns} : $w - $NS_PER_MS);

	for my $span ($NEAR_NS, $LONG_NS) {
		my $from   = $asleep > $w - $span ? $asleep : $w - $span;
		my $states = $self->{kernel}->states($from, $w + $NS_PER_MS);
		my ($t, $further, $input_thread, $by) =
			$self->_waking_of($states, $x, $w, $asleep - $NS_PER_MS);
		# A thread that has waited since before what is loaded may have been woken by an earlier
		# one.
		# Its main thread has other things to be woken for than input: if it got no CPU for long
		# after that, the event came at some time until it ran.
		return (
			$t,
			$input_thread
				|| ($e->{ran_ns} // $w) - $t <= $CLEAR_NS
				|| $by && !$self->_asked($x, $by, $t, $w) ? 1 : 0,
			$by && !$self->_asked($x, $by, $t, $w) ? $by : 0
		) if defined $t && (!$further || $span == $LONG_NS);
		last if !$further;
	}
	return ($w, 0);
}

# Did a process that woke the server at a time want something of it as a client: in the turn that
# began at W, a request, or to come or go?
sub _asked {
	my ($self, $x, $tid, $t, $w) = @_;
	my $pid   = $self->_pid($tid, $t);
	my $sleep = $x->{sleep}[ $x->lower('sleep', $w) ];
	my $end   = $sleep ? $sleep->{ts_ns} + 1 : $self->{trigger};
	return 1 if !$pid || $pid == $x->{pid};
	return scalar grep { $_->{pid} == $pid } map { $x->between($_, $w, $end) } qw(request client);
}

# (when the server was woken whose wait ended at T, 1 if earlier records may tell, 1 if that was
# another thread of it, the thread that woke it or 0: an interrupt);
# a thread of its own that woke it is followed to its own waking.
sub _waking_of {
	my ($self, $states, $x, $t, $not_before) = @_;
	my ($tid, $ev, $found, $by) = ($x->{tid}, $states->events, undef, 0);
	for (1 .. 1000) {
		my $i     = $states->before($tid, $t) or return ($found, 1, $tid != $x->{tid}, $by);
		my $slept = $i->{kind} eq 'blocked' || $i->{kind} eq 'runnable' && $i->{how} eq 'raced';
		if (!$slept) { $t = $i->{from}; last if $t < $not_before; next }
		my $w = $i->{wake};
		# A sleep that goes on beyond that time (its records begin later) was not ended for this
		# event.
		last if !defined $w || $ev->ts($w) < $not_before || $ev->ts($w) > $t;
		$found = $t = $ev->ts($w);
		$by    = $ev->context($w) == 0 ? $ev->waker($w) : 0;
		last if !$by || $by == $tid || $self->_pid($by, $found) != $x->{pid};
		$tid = $by;
	}
	return ($found, 0, $tid != $x->{tid}, $by);
}

# The server's own time stamp, in ms, taken when the event was put into its queue.
sub _server_stamp {
	my ($self, $e) = @_;
	return if !$e->{server_ms};
	my $ms  = int($e->{device_ns} / $NS_PER_MS);
	my $age = ($ms - $e->{server_ms}) & 0xffffffff;
	return $age < 60_000 ? $e->{device_ns} - $age * $NS_PER_MS : undef;
}

1;
