# SPDX-License-Identifier: GPL-2.0-only
# A source of what passes between keys, clients and the screen: an X server with our hooks, one that
# is only observed, a Wayland compositor. The diagnosis asks this interface and knows no record of
# any of them; each kind of source is a class below DisplaySource/, in @CLASSES.
package Tipme::DisplaySource;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;

our @CLASSES =
	map {"Tipme::DisplaySource::$_"} qw(X11 Wayland Relayed Unprobed);

# What a source has, as lists in order of time. Each fact has ts_ns and nr, the number of its record
# in its file. Further fields; those in brackets may be missing:
#   device       the source processed an input event: input_seq (of this event), kind (number of
#                input_kind), device, server_ms (its own stamp; 0: none), is_master, [kernel_ns]
#   deliver      it sent a client an event: pid, client, kind, input_seq (0: of no device event)
#   draw         a client changed its picture: pid (0: not known), client, window, width, height,
#                [x, y]; hidden: the screen has not changed by that yet (see shown)
#   request      it served a client: pid, client, duration_ns, count (0: it still does)
#   sleep        it has nothing to do; wakeup: it goes on
#   chord        it saw a hot-key: input_seq; input_chord: its input thread did
#   input        its input thread read an event: kind, device, [kernel_ns]
#   client       a client came or went: pid, client, gone (0 or 1)
our @FACTS = qw(device deliver draw request sleep wakeup chord input_chord input client);

# Fields of a source: file (of its records), pid, tid (of the thread that serves clients), name,
# display, exact (1: its times are exact; 0: whole milliseconds, or inferred), source (as the
# manifest has it).
# new(FIELDS): one without facts
sub new {
	my ($class, %o) = @_;
	return bless { exact => 0, %o, map { $_ => [] } @FACTS }, $class;
}

# none(): a source that was not there
sub none {
	my ($class) = @_;
	return $class->new(file => undef, pid => -1, tid => -1, name => undef);
}

# load_all(EPISODE): all sources of the episode, with their facts, those of the first class first;
# each class is told which ones those before it have found
sub load_all {
	my ($class, $ep) = @_;
	for (@CLASSES) { (my $file = "$_.pm") =~ s{::}{/}g; require $file }
	my @found;
	push @found, $_->sources($ep, @found) for @CLASSES;
	return @found;
}

# use_kernel(KERNEL): what the kernel recorded is known to it from now on
sub use_kernel { my ($self, $kernel) = @_; $self->{kernel} = $kernel; return $self }
sub kernel     { return $_[0]{kernel} }

# ---- facts ----

# all(FACT): its list; lower(FACT, TIME): position of the first at or after TIME; last_before(FACT,
# TIME): the last one before TIME, or undef; between(FACT, FROM, TO): those of [FROM, TO)
sub all { return @{ $_[0]{ $_[1] } } }

sub lower {
	my ($self, $fact, $t) = @_;
	my $l = $self->{$fact};
	my ($lo, $hi) = (0, scalar @$l);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($l->[$m]{ts_ns} < $t) { $lo = $m + 1 }
		else                        { $hi = $m }
	}
	return $lo;
}

sub last_before {
	my ($self, $fact, $t) = @_;
	my $i = $self->lower($fact, $t);
	return $i ? $self->{$fact}[ $i - 1 ] : undef;
}

sub between {
	my ($self, $fact, $from, $to) = @_;
	return @{ $self->{$fact} }[ $self->lower($fact, $from) .. $self->lower($fact, $to) - 1 ];
}

# sort_facts(): puts all lists in order of time; a class calls it when it has loaded them
sub sort_facts {
	my ($self) = @_;
	for my $k (@FACTS) {
		$self->{$k} =
			[ sort { $a->{ts_ns} <=> $b->{ts_ns} || $a->{nr} <=> $b->{nr} } @{ $self->{$k} } ];
	}
	return;
}

# evidence(FACT): where its record stands
sub evidence {
	my ($self, $f) = @_;
	return { file => $f->{file} // $self->{file}, record => $f->{nr}, ts_ns => $f->{ts_ns} };
}

# is_of(FACT, PID, CLIENT): is it about that client? Where the process is known, about any
# connection of it.
# unnamed(CLIENT): what one of an unknown process is called
sub is_of {
	my ($r, $pid, $client) = @_;
	return $r->{pid} ? $r->{pid} == ($pid // 0) : !$pid && $r->{client} == ($client // -1);
}
sub unnamed { my ($client) = @_; return "client $client (from the network or a container)" }

# ---- what it did when: each class may know more ----

# title(): what it is called in sentences
sub title { return 'the X server' }

# computing(): the kind of verdict where it kept a response waiting by computing
sub computing { return 'server-compute' }

# computing_of(PID): the same for a process that may be one of those who serve; undef: it is none
sub computing_of { my ($self, $pid) = @_; return $pid == $self->{pid} ? $self->computing : undef }

# enters_by(): the source by which its events come: mostly itself
sub enters_by { return $_[0] }

# changed_by(DRAW): the thread that did that in the end, at the time of the fact
sub changed_by { return $_[0]{tid} }

# request_end(POSITION): ns when that request, or run of them, ended; undef: it was still being
# served
sub request_end {
	my ($self, $k) = @_;
	my $r = $self->{request}[$k];
	return $r->{count} ? $r->{ts_ns} + $r->{duration_ns} : undef;
}

# in_request(FROM, TO): did it serve one request all that time?
sub in_request { return 0 }

# serves(PID, TIME): had it a request of that process in hand then?
sub serves { return 0 }

# told_for(PID, FROM, TO): [ pid, ns ]: the client for whose request it told the process something
# last in [FROM, TO), and when it began to serve that request; undef: what it told came by none
sub told_for {return}

# grabs(): [ from, to, pid, fact ] in which one client had the whole source for itself; `to` undef
# where it lasts
sub grabs { return () }

# tells_sleep(): does it tell itself when it has nothing to do? asleep(FROM, TO): [ from, to ] of
# that, by its own facts
sub tells_sleep { return 0 }
sub asleep      { return () }

# idle(EVENT, STATES, FROM, TO): [ from, to ] in which it had nothing to do: as asleep(), or as the
# kernel saw its thread
sub idle {
	my ($self, $e, $states, $from, $to) = @_;
	return map { [ $_->{from} < $from ? $from : $_->{from}, $_->{to} > $to ? $to : $_->{to} ] }
		grep   { $_->{kind} eq 'blocked' && $_->{from} < $to && $_->{to} > $from }
		@{ $states->intervals($self->{tid}) };
}

# written_by(TIME): ns when what it delivered at TIME had been written to the client, at the latest;
# undef: not up to the end
sub written_by { my ($self, $t) = @_; return $t }

# refine(EVENT): completes an event of InputPath by what wake-ups tell, once: deliver_ns, device_ns,
# wakeup_ns, asleep_ns; ran_ns: when it ran first after that, where wakeup_ns is its waking;
# came_ns: when it came at the earliest, where nobody was there who could be woken for it
sub refine {return}

# waited_since(EVENT, TIME): the earlier of TIME and of when the event may have begun to wait for
# the source, without a look at what others did
sub waited_since { my ($self, $e, $t) = @_; return $t }

# asked_ns(EVENT, DRAW): ns when it began to serve the request that drew
sub asked_ns { my ($self, $e, $d) = @_; return $d->{ts_ns} }

# drawn_ns(EVENT, DRAW): ns when that had been drawn, where it is known better than the fact has it
sub drawn_ns { my ($self, $e, $d) = @_; return $d->{ts_ns} }

# first_asked(EVENT, STATES, FROM, TO): ns when the client first asked it for something in [FROM,
# TO); undef: it did not
sub first_asked {
	my ($self, $e, $states, $from, $to) = @_;
	my ($r) = grep { $_->{client} == $e->{client} } $self->between('request', $from, $to);
	return $r ? $r->{ts_ns} : undef;
}

# shown(EVENT, \@DRAWS, UNTIL): when the screen showed what these facts, of one burst, had drawn.
# undef: as soon as it was drawn. Else { ns (undef: not up to UNTIL), exact, pid (who brings it
# there; undef: nobody is known to), told_ns (when that one was told), asked_ns (when it asked the
# source for it) }. With QUICK it looks at no records of the kernel.
sub shown {return}

# maker_of(WINDOW): the number of the client that made it; undef: not known, or the source does not
# tell
sub maker_of {return}

# painted_between(FROM, TO): changes of the screen by those who bring the pictures of others there:
# for each such process a list of facts with ts_ns and pid, in order of time
sub painted_between { return () }

# ---- tools for classes that have to infer something from wake-ups ----

# turn_of(STATES, TID, TIME): { from, asleep }: the stretch without sleep that TIME lies in, and
# when the sleep before it began; undef: not known
sub turn_of {
	my ($self, $states, $tid, $t) = @_;
	for (1 .. 1000) {
		my $i = $states->before($tid, $t) or return;
		return { from => $i->{to}, asleep => $i->{real_from} // $i->{from} }
			if $i->{kind} eq 'blocked' && $i->{to} <= $t;
		return if $i->{from} >= $t || $i->{kind} eq 'absent';
		$t = $i->{from};
	}
	return;
}

# wakings(STATES, FROM, UNTIL, BY, TO [, BY_PROCESS]): when, in [FROM, UNTIL), the thread BY woke
# threads of the process TO;
# with BY_PROCESS, threads of the process BY the thread TO
sub wakings {
	my ($self, $states, $from, $until, $by, $to, $by_process) = @_;
	my ($ev, @t) = ($states->events);
	my $threads = $self->{kernel}->threads;
	for my $w ($ev->wakings($from, $until, $by_process ? undef : $by)) {
		my ($wakee, $t, $waker) = @$w;
		next
			if $by_process
			? $wakee != $to || $threads->at($waker, $t)->{pid} != $by
			: $threads->at($wakee, $t)->{pid} != $to;
		push @t, $t;
	}
	return @t;
}

1;
