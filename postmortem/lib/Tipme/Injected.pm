# SPDX-License-Identifier: GPL-2.0-only
# Input that another process writes into the server (XTEST, a VNC server, an on-screen keyboard):
# where the server was awake already and had no CPU, its own waking does not tell when the event
# came. When the writer ran does.
package Tipme::Injected;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits

my $NEAREST = 6;           # other events of a device, by which its writer is known
my $ENOUGH  = 2;           # of them that the same thread must have written
my $MS      = 1_000_000;

# new(kernel => Kernel, path => InputPath, woken => sub (EVENT) that gives (when the server was
# woken for it, 1 if that is exact, by which thread))
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# at(EVENT, FROM): ns when the writer of an event began the run in which it wrote it, after FROM;
# undef: no writer is known, or it did not run
sub at {
	my ($self, $e, $from) = @_;
	my $writer = $self->_writer($e) or return;
	my $behind = grep {
			   $_->{server} == $e->{server}
			&& $_->{device} == $e->{device}
			&& ($_->{wakeup_ns} // 0) == $e->{wakeup_ns}
			&& $_->{device_ns} > $e->{device_ns}
	} $self->{path}->events;
	my @runs = $self->_runs($writer, $from, $e->{device_ns});
	# Of an event that came late those behind it may be nearer, and another's.
	if (!@runs) {
		my $before = $self->_usual_writer($e, 1, 1) or return;
		@runs = $self->_runs($before, $from, $e->{device_ns});
	}
	# Each run writes one event: of several that the server read in one go, those behind this one
	# came in later runs.
	return @runs > $behind ? $runs[ $#runs - $behind ] : $runs[0];
}

# The client whose request it was; or the thread that woke the server for other events of that
# device, else of any, and asked it nothing.
sub _writer {
	my ($self, $e) = @_;
	my $x = $e->{server};
	my $k = $x->lower('request', $e->{device_ns} + 1) - 1;
	my $r = $k >= 0 ? $x->{request}[$k] : undef;
	return $r->{pid}
		if $r
		&& $r->{pid}
		&& $r->{pid} != $x->{pid}
		&& ($x->request_end($k) // $e->{device_ns}) >= $e->{device_ns};
	return $self->{writer}{ $e->{n} } //=
		$self->_usual_writer($e, 1) || $self->_usual_writer($e, 0);
}

sub _usual_writer {
	my ($self, $e, $same_device, $before) = @_;
	my @near = sort {
		abs($a->{device_ns} - $e->{device_ns}) <=> abs($b->{device_ns} - $e->{device_ns})
			|| $a->{n} <=> $b->{n}
		}
		grep {
			   $_ != $e
			&& $_->{server} == $e->{server}
			&& (!$same_device || $_->{device} == $e->{device})
			&& (!$before      || $_->{device_ns} < $e->{device_ns})
		} $self->{path}->events;
	splice @near, 2 * $NEAREST if @near > 2 * $NEAREST;
	# When others woke the server may not have been looked for yet.
	$_->{server}->refine($_) for @near;
	@near = grep { defined $_->{wakeup_ns} && $_->{wakeup_ns} != $e->{wakeup_ns} } @near;
	splice @near, $NEAREST if @near > $NEAREST;
	my %n;
	for (@near) { my (undef, $exact, $by) = $self->{woken}->($_); $n{$by}++ if $exact && $by }
	my ($tid) = sort { $n{$b} <=> $n{$a} || $a <=> $b } keys %n;
	return defined $tid && $n{$tid} >= $ENOUGH ? $tid : 0;
}

# When a thread began to run after each of its sleeps, in [FROM, TO)
sub _runs {
	my ($self, $tid, $from, $to) = @_;
	my ($slept, @runs) = (0);
	for my $i (@{ $self->{kernel}->states($from - $MS, $to)->intervals($tid) }) {
		last if $i->{from} >= $to;
		if    ($i->{kind} eq 'blocked') { $slept = 1 }
		elsif ($i->{kind} eq 'running' && $slept) {
			push @runs, $i->{from} if $i->{from} >= $from;
			$slept = 0;
		}
	}
	return @runs;
}

1;
