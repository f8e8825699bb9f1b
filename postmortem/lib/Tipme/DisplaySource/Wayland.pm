# SPDX-License-Identifier: GPL-2.0-only
# A Wayland compositor as a source: what its library sent clients and executed for them, which the
# tracing programs recorded (class wayland). When it had nothing to do, and when it was woken for an
# event, the kernel's scheduling tells.
package Tipme::DisplaySource::Wayland;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use List::Util                  qw(max min);
use parent                      qw(Tipme::DisplaySource);
use Tipme::DisplaySource::Edges qw(edges);
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::Sleeps;
use Tipme::Threads;

my $NS_PER_MS = 1_000_000;
my $SAME_NS   = $NS_PER_MS;           # a client with two keyboards is told twice of one key
my $HELD_NS   = 2_000_000_000;        # an input method makes text of a key within this
my $TURN_NS   = 5 * $NS_PER_MS;       # what was sent is written within this
my $LONG_NS   = 1000 * $NS_PER_MS;    # one that is busy takes what it was asked within this
my $LATE_NS   = 100 * $NS_PER_MS;     # one that was stopped comes to what it missed within this
my $REST_NS   = 100 * $NS_PER_MS;     # a compositor that sleeps for so long has nothing to paint
# so far before an event is looked when the compositor awoke for it
my @BACK_NS = (100 * $NS_PER_MS, 10_000 * $NS_PER_MS);
my @RECORDS = qw(wl_deliver wl_commit wl_done screen_asked screen_shown input);
my %NUMBER  = %Tipme::Record::Columns::NUMBER;
my %KIND    = reverse %{ $Tipme::Record::Layout::ENUM{input_kind} };
my %STANDS  = map { $_ => 1 } qw(stopped traced frozen);

# sources(EPISODE): one object for each compositor of the episode
sub sources {
	my ($class, $ep) = @_;
	my $classes = ($ep->manifest->{recorder} // {})->{classes};
	return if ref $classes eq 'HASH' && !$classes->{wayland};
	my $ev =
		Tipme::KernelEvents->load_only($ep, map { $NUMBER{$_} } @RECORDS);
	return if !$ev->count;
	my ($threads, %of, %screen, %input) = (Tipme::Threads->new($ep));
	for my $i (0 .. $ev->count - 1) {
		my ($ts, $tid) = ($ev->ts($i), $ev->tid($i));
		if ($ev->kind($i) == $NUMBER{input}) {
			push @{ $input{ $ev->input_kind($i) // '' } }, $ts;
			next;
		}
		next if _of_screen(\%screen, $ev, $i);
		my $own = $threads->at($tid, $ts);
		my $x   = $of{ $own->{pid} || $tid } //= $class->new(
			file    => 'wayland-' . ($own->{pid} || $tid), pid => $own->{pid} || $tid,
			name    => $own->{comm}, source => 'wayland', exact  => 1,
			clients => {},           done   => {},        by_tid => {}
		);
		$x->{by_tid}{$tid}++;
		$x->_add(
			$ev, $i, $ev->kind($i), ts_ns => $ts, tid => $tid,
			# These are at one place in all of the three.
			pid => $ev->wl_deliver_pid($i), client => $ev->wl_deliver_client($i)
		);
	}
	# An X server asks for pictures, too: only those of compositors belong to them.
	@{ $of{$_} }{qw(screen core)} = ($screen{$_} // {}, \%input) for keys %of;
	return map { $of{$_}->_complete($ep, $threads) } sort { $a <=> $b } keys %of;
}

# What a process asked of a screen, and when that showed it; both in order of time
sub _of_screen {
	my ($screen, $ev, $i) = @_;
	my %r = (ts_ns => $ev->ts($i), tid => $ev->tid($i));
	if ($ev->kind($i) == $NUMBER{screen_asked}) {
		$r{number} = $ev->screen_asked_number($i);
		push @{ $screen->{ $ev->screen_asked_pid($i) }{asked} }, \%r;
		return 1;
	}
	return 0 if $ev->kind($i) != $NUMBER{screen_shown};
	my $s = $screen->{ $ev->screen_shown_pid($i) } //= {};
	$r{number} = $ev->screen_shown_number($i);
	$s->{pipes}{ $ev->screen_shown_pipe($i) } = 1;
	push @{ $s->{shown} }, \%r;
	return 1;
}

sub _add {
	my ($self, $ev, $i, $type, %r) = @_;
	my $where = $ev->evidence($i);
	@r{qw(file nr)} = @$where{qw(file record)};
	push @{ $self->{clients}{ $r{client} } }, \%r;
	if ($type == $NUMBER{wl_done}) {
		push @{ $self->{done}{ "$r{client} " . $ev->wl_done_callback($i) } },
			{ %r, told => $ev->wl_done_what($i) };
	} elsif ($type == $NUMBER{wl_commit}) {
		# What is shown when is another question: see shown().
		@r{qw(window callback width height)} =
			($ev->wl_commit_surface($i), $ev->wl_commit_callback($i), 0, 0);
		push @{ $self->{draw} }, \%r;
	} else {
		@r{qw(object kind what)} = (
			$ev->wl_deliver_object($i), $KIND{ $ev->wl_deliver_kind($i) // '' } // 0,
			$ev->wl_deliver_what($i) // ''
		);
		$r{age_ns} = $NS_PER_MS * ($ev->wl_deliver_age_ms($i) // 0);
		push @{ $self->{deliver} }, \%r;
	}
	return;
}

sub _complete {
	my ($self, $ep, $threads) = @_;
	my $by = delete $self->{by_tid};
	($self->{tid}) = sort { $by->{$b} <=> $by->{$a} || $a <=> $b } keys %$by;
	$self->{sleeps} = Tipme::Sleeps->new($ep);
	$self->sort_facts;
	$self->_name_clients($ep, $threads);
	$self->_number_events;
	return $self;
}

# ---- who the clients are ----

# A connection that the compositor made itself, or that somebody passed on, has another process at
# its end than the kernel names. The compositor wakes its clients by writing to them: so a client is
# whom it wakes after sending it something.
sub _name_clients {
	my ($self, $ep, $threads) = @_;
	my ($to, $from) = edges($ep, $threads, $self->{pid});
	my @woken   = grep { $_->[5] == $self->{tid} } @$to;
	my @asked   = grep { $_->[5] == $self->{tid} } @$from;
	my %claimed = map  { $_->[0]{pid} => 1 } values %{ $self->{clients} };
	# What led to that stays with the sender of a bundle.
	my $own = ($ep->manifest->{bundle} // {})->{event} // {};
	for my $records (values %{ $self->{clients} }) {
		my $claims = $records->[0]{pid};
		my $n      = _woken_after(\@woken, $records);
		# The compositor itself has made the connection, for a client that it needs.
		if ($claims == $self->{pid}) { $_->{made} = 1 for @$records }
		if ($own->{sent_by} && grep { $_->{ts_ns} == ($own->{came_ns} // 0) } @$records) {
			$_->{pid} = $own->{sent_by} for @$records;
			next;
		}
		next if $claims != $self->{pid} && $n->{$claims};
		# Who was always busy was never woken; and nobody is accused of what another says of him.
		# A compositor in the window of another server wakes that for each picture, too, some even
		# before they write what they have sent. Who brings the events does not get them, and of
		# the others he counts who is woken first.
		my @sent = grep { defined $_->{what} } @$records;
		if (!@sent && $claims == $self->{pid}) {
			# Nothing was sent it yet: then it is who had woken the compositor before its pictures.
			# One that is busy is woken by nobody: so it may have been long before.
			my @told   = $self->all('deliver');
			my $brings = _asked_last(\@asked, \@told);
			my @others =
				grep { !$claimed{ $_->[1] } && 2 * ($brings->{ $_->[1] } // 0) <= @told } @asked;
			my @gave  = grep { defined $_->{window} } @$records;
			my $by    = _asked_last(\@others, \@gave, $LONG_NS);
			my ($pid) = sort { $by->{$b} <=> $by->{$a} || $a <=> $b } keys %$by;
			$pid = 0 if $pid && $by->{$pid} * 2 < @gave;
			$_->{pid} = $own->{shown_by} // $pid // 0 for @$records;
			next;
		}
		my $brings = _asked_last(\@asked, \@sent);
		my @others = grep { 2 * ($brings->{ $_->[1] } // 0) <= @sent } @woken;
		my $of     = _woken_first(\@others, \@sent);
		my ($pid)  = sort { $of->{$b} <=> $of->{$a} || $a <=> $b } grep { !$claimed{$_} } keys %$of;
		$pid = 0 if !defined $pid || $of->{$pid} * 2 < @sent;
		$pid = $claims
			if !$pid
			&& $claims != $self->{pid}
			&& _same_user($threads, $self->{pid}, $claims, $records->[0]{ts_ns});
		$_->{pid} = $pid for @$records;
	}
	return;
}

sub _same_user {
	my ($threads, $pid, $other, $t) = @_;
	my ($a, $b) = map { $threads->at($_, $t)->{uid} } $pid, $other;
	return defined $a && defined $b && $a == $b;
}

# { process => after how many of the records it was woken soon }
sub _woken_after {
	my ($woken, $records) = @_;
	my ($k,     %n)       = (0);
	for my $r (sort { $a->{ts_ns} <=> $b->{ts_ns} } @$records) {
		$k++ while $k < @$woken && $woken->[$k][0] < $r->{ts_ns};
		my %seen;
		for (my $j = $k; $j < @$woken && $woken->[$j][0] < $r->{ts_ns} + $TURN_NS; $j++) {
			$n{ $woken->[$j][1] }++ if !$seen{ $woken->[$j][1] }++;
		}
	}
	return \%n;
}

# { process => after how many of the records it was the first to be woken soon }
sub _woken_first {
	my ($woken, $records) = @_;
	my ($k,     %n)       = (0);
	for my $r (sort { $a->{ts_ns} <=> $b->{ts_ns} } @$records) {
		$k++ while $k < @$woken && $woken->[$k][0] < $r->{ts_ns};
		$n{ $woken->[$k][1] }++ if $k < @$woken && $woken->[$k][0] < $r->{ts_ns} + $TURN_NS;
	}
	return \%n;
}

# { process => before how many of the records it was the last to wake the compositor, and soon, or
# within a time }
sub _asked_last {
	my ($asked, $records, $within) = @_;
	my ($k, %n) = (0);
	for my $r (sort { $a->{ts_ns} <=> $b->{ts_ns} } @$records) {
		$k++ while $k < @$asked && $asked->[$k][0] < $r->{ts_ns};
		$n{ $asked->[ $k - 1 ][1] }++
			if $k && $asked->[ $k - 1 ][0] >= $r->{ts_ns} - ($within // $TURN_NS);
	}
	return \%n;
}

# give_away(PID): what went to that client, and came of it, is told by another source from now on
sub give_away {
	my ($self, $pid) = @_;
	$_->{given_away} = 1 for grep { $_->{pid} == $pid } $self->all('device');
	for my $fact (qw(deliver draw)) {
		$self->{$fact} = [ grep { $_->{pid} != $pid } $self->all($fact) ];
	}
	return;
}

# ---- events ----

# There is no record of the device: an event is what was sent of it. What an input method was sent,
# and the text that it made of it for another client, are one event.
sub _number_events {
	my ($self) = @_;
	my ($seq, %last, @method) = (0);
	for my $d ($self->all('deliver')) {
		my $same = $last{"$d->{client} $d->{kind} $d->{what}"};
		$last{"$d->{client} $d->{kind} $d->{what}"} = $d;
		if ($same && $same->{object} != $d->{object} && $d->{ts_ns} - $same->{ts_ns} < $SAME_NS) {
			$d->{input_seq} = $same->{input_seq};
			next;
		}
		@method = grep { $_->{ts_ns} > $d->{ts_ns} - $HELD_NS } @method;
		if ($d->{what} eq 'text' && @method) {
			$d->{input_seq} = (shift @method)->{input_seq};
			next;
		}
		$d->{input_seq} = ++$seq;
		push @method, $d if $d->{what} eq 'input_method' && $d->{kind} == $KIND{key_press};
		push @{ $self->{device} }, { %$d, device => $d->{object}, server_ms => 0, is_master => 0 };
	}
	return;
}

# ---- the interface ----

sub title     { return 'the compositor' }
sub computing { return 'compositor-compute' }

# refine(EVENT): the compositor awoke for it, as the kernel saw; one that could not run then was
# late by that
sub refine {
	my ($self, $e) = @_;
	return if $e->{refined}++ || !$self->{kernel}->has_records;
	for my $back (@BACK_NS) {
		my $states = $self->{kernel}->states($e->{device_ns} - $back, $e->{device_ns} + $NS_PER_MS);
		my $turn   = $self->_turn($states, $e) or next;
		# A stop that goes on where these records begin may be longer.
		next if $turn->{cut} && $back != $BACK_NS[-1];
		@$e{qw(wakeup_ns asleep_ns came_ns)} = @$turn{qw(from asleep came)};
		$e->{ran_ns} = $self->_ran($states, $e, $turn) if !defined $turn->{came};
		my $core = $self->_input_of($e, $turn);
		if    (defined $core) { @$e{qw(kernel_ns came_ns)} = ($core, undef) }
		elsif (my $age = $e->{device_record}{age_ns}) { $e->{came_ns} = _came($e, $turn, $age) }
		return;
	}
	return;
}

# When it ran first in that turn: it may have been woken for something else, and what came until
# then it found there
sub _ran {
	my ($self, $states, $e, $turn) = @_;
	my ($i) = grep { $_->{kind} eq 'running' && $_->{from} >= $turn->{from} }
		@{ $states->intervals($e->{device_record}{tid}) };
	return $i && $i->{from} < $e->{device_ns} ? $i->{from} : undef;
}

# When its device told of it, in whole milliseconds, as the compositor tells the client; not before
# the compositor slept
sub _came {
	my ($e, $turn, $age_ns) = @_;
	my $t     = $e->{device_ns} - $age_ns;
	my $first = $turn->{asleep} // $turn->{from};
	return $t < $first ? $first : $t;
}

# When the input core had an event of that kind, since the compositor slept before it sent this one:
# as many as it has sent in that turn before were others.
sub _input_of {
	my ($self, $e, $turn) = @_;
	my $list = $self->{core}{ $e->{kind} } // return;
	my ($kind, $to) = ($e->{device_record}{kind}, $e->{device_ns});
	my $before = grep { $_->{kind} == $kind } $self->between('device', $turn->{from}, $to);
	return (grep { $_ >= ($turn->{asleep} // $turn->{from}) && $_ <= $to } @$list)[$before];
}

# shown(EVENT, \@DRAWS, UNTIL, QUICK): when a screen showed what the compositor asked for after it
# had taken the last picture. Where it has no screen of its own, as in a window of another, when it
# told the client that the picture was used. There a picture without a callback counts as used when
# it was taken.
sub shown {
	my ($self, $e, $draws, $until, $quick) = @_;
	my $d = $draws->[-1];
	my ($told) =
		grep { $_->{ts_ns} > $d->{ts_ns} }
		@{ $d->{callback} ? $self->{done}{"$d->{client} $d->{callback}"} // [] : [] };
	my $screen = $self->_on_screen($d, $told, $until, $quick);
	return $screen if $screen;
	return         if !$d->{callback};
	my %who = (pid => $self->{pid}, tid => $d->{tid});
	my $end = $told && $told->{ts_ns} <= $until ? $told->{ts_ns} : undef;
	# It is not told of windows that nobody sees, nor, until there is another picture, of one that
	# changed nothing.
	return { ns => $d->{ts_ns}, exact => 0, pid => undef }
		if !$quick && $self->_rests($d->{tid}, $d->{ts_ns}, $end // $until);
	return { %who, ns => $end, exact => 1 };
}

# The same, where it has a screen; undef: none that is known, or it asked nothing of that.
sub _on_screen {
	my ($self, $d, $told, $until, $quick) = @_;
	my $s     = $self->{screen};
	my $asked = _first_after($s->{asked}, $d->{ts_ns}) // return;
	return if !$s->{shown} || $asked->{ts_ns} > $until;
	# What it asks for when it has had nothing to do for a while is another picture.
	my $since = $told && $told->{ts_ns} < $asked->{ts_ns} ? $told->{ts_ns} : $d->{ts_ns};
	return
		if $asked->{ts_ns} - $since >= $REST_NS
		&& ($quick || $self->_rests($d->{tid}, $since, $asked->{ts_ns}));
	my ($shown) =
		grep { $_->{number} >= $asked->{number} } _first_after($s->{shown}, $asked->{ts_ns}) // ();
	return {
		pid => $self->{pid}, tid => $asked->{tid}, asked_ns => $asked->{ts_ns},
		ns  => $shown && $shown->{ts_ns} <= $until ? $shown->{ts_ns} : undef,
		# Of several screens nobody says which one has the window.
		exact => keys %{ $s->{pipes} } == 1 && $asked->{tid} == $d->{tid} ? 1 : 0
	};
}

# The first of a list in order of time after TIME
sub _first_after {
	my ($l,  $t)  = @_;
	my ($lo, $hi) = (0, scalar @{ $l // [] });
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($l->[$m]{ts_ns} <= $t) { $lo = $m + 1 }
		else                         { $hi = $m }
	}
	return $l ? $l->[$lo] : undef;
}

# Has a thread of the compositor slept for long within [FROM, TO)? Then it had nothing to do.
sub _rests {
	my ($self, $tid, $from, $to) = @_;
	return 0 if !$self->{kernel} || !$self->{kernel}->has_records;
	my $states = $self->{kernel}->states($from, $to);
	# The states may be known for longer than that.
	return scalar grep {
			   $_->{kind} eq 'blocked'
			&& !$STANDS{ $_->{state} }
			&& min($_->{to}, $to) - max($_->{from}, $from) >= $REST_NS
	} @{ $states->intervals($tid) };
}

# waited_since(EVENT, TIME): as it seems from its sleeps alone: one that was stopped until it came
# to the event
sub waited_since {
	my ($self, $e, $t) = @_;
	my $stop = $self->_stop_for($e);
	return $stop && $stop->{begin} < $t ? $stop->{begin} : $t;
}

# As turn_of(); what comes while it is stopped waits since some time of that: came, at worst since
# its begin; cut: it may have begun before these records do.
sub _turn {
	my ($self, $states, $e) = @_;
	my ($tid, $t) = ($e->{device_record}{tid}, $e->{device_ns});
	my $turn = $self->turn_of($states, $tid, $t) or return;
	my $stop = $self->_stop_for($e);
	undef $stop
		if $stop && !$stop->{tells} && $stop->{to} < $turn->{from} && $stop->{to} < $t - $LATE_NS;
	if (!$stop) {
		my $i = $states->before($tid, $turn->{from});
		return $turn if !$i || !$STANDS{ $i->{state} // '' };
		$stop = { begin => $i->{real_from} // $i->{from} };
		$stop->{cut} = $stop->{begin} <= $states->from;
	}
	my $begin = $stop->{begin};
	return { from => $begin, asleep => $begin, came => $begin, cut => $stop->{cut} };
}

# The stop in which an event came that it has sent since: by its own time of that (tells), or as
# _stop_before() has it
sub _stop_for {
	my ($self, $e) = @_;
	my ($tid, $t, $age) = ($e->{device_record}{tid}, $e->{device_ns}, $e->{device_record}{age_ns});
	my ($s) =
		grep { $STANDS{ $_->{state} } && $_->{from} <= $t - $age && ($_->{to} // 0) > $t - $age }
		$age ? @{ $self->{sleeps}->of($tid) // [] } : ();
	return $s ? { %$s, begin => $s->{from}, tells => 1 } : $self->_stop_before($tid, $t);
}

# The last sleep before TIME in which it was stopped, with its begin, if it has not waited for
# events since: it was awake, but for less than 1 ms at a time, or slept elsewhere than where it
# waits for events (for the answer to a request of its own). What comes while it is stopped is there
# when it goes on.
sub _stop_before {
	my ($self, $tid, $t) = @_;
	my $sleeps = $self->{sleeps}->of($tid) // return;
	my ($lo, $hi) = (0, scalar @$sleeps);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   (defined $sleeps->[$m]{to} && $sleeps->[$m]{to} <= $t) { $lo = $m + 1 }
		else                                                        { $hi = $m }
	}
	my $k = $lo - 1;
	$k-- while $k >= 0 && $self->_elsewhere($tid, $sleeps->[$k]);
	my $s = $k >= 0 ? $sleeps->[$k] : return;
	return $STANDS{ $s->{state} } ? { %$s, begin => $s->{from} } : undef;
}

# Was that sleep in another system call than that in which the thread waits for events, where it
# sleeps longest? Where it is not known, it was not.
sub _elsewhere {
	my ($self, $tid, $s) = @_;
	return 0 if $STANDS{ $s->{state} };
	my $call = $self->_call($s) // return 0;
	my $most = $self->{loop}{$tid} //= do {
		my %ns;
		for my $o (grep { defined $_->{to} && $_->{from} } @{ $self->{sleeps}->of($tid) }) {
			$ns{ $self->_call($o) // '' } += $o->{to} - $o->{from} if !$STANDS{ $o->{state} };
		}
		delete $ns{''};
		(sort { $ns{$b} <=> $ns{$a} || $a cmp $b } keys %ns)[0] // '';
	};
	return $most ne '' && $call ne $most;
}

# The system call in which it slept; undef: not known
sub _call {
	my ($self, $s) = @_;
	my $stack = $s->{stack_id} ? $self->{kernel}->threads->stack($s->{stack_id}) : undef;
	return defined $stack && $stack =~ /\b__\w+?_sys_(\w+)/ ? $1 : undef;
}

1;
