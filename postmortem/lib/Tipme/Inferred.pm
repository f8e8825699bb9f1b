# SPDX-License-Identifier: GPL-2.0-only
# An X server that was only observed from outside tells whole milliseconds, and nothing of its requests. Who woke whom when is
# exact: it tells where in that millisecond things happened, and when the server was asked.
package Tipme::Inferred;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;

my $NS_PER_MS = 1_000_000;
my $SLACK_NS  = 2 * $NS_PER_MS;     # the server counts whole milliseconds, of a clock that may itself stand still for one
my @BACK_NS   = (100 * $NS_PER_MS, 10_000 * $NS_PER_MS);    # so far before an event is looked when the server awoke for it: mostly, and where it had to wait

# new(KERNEL)
sub new { my ($class, $kernel) = @_; return bless { kernel => $kernel, turns => {} }, $class }

# refine(EVENT): its delivery is where the server woke the client; wakeup_ns and asleep_ns: when the server awoke for it, and had fallen asleep
sub refine {
	my ($self, $e) = @_;
	return if $e->{server}{exact} || $e->{refined}++ || !defined $e->{deliver_ns} || !$self->{kernel}->has_records;
	my $floor = $e->{deliver_ns};
	my ($woke, $turn);
	for my $back (@BACK_NS) {
		my $states = $self->{kernel}->states($e->{device_ns} - $back, $floor + $SLACK_NS);
		($woke) = $self->_wakings($states, $floor, $floor + $SLACK_NS, $e->{server}{tid}, $e->{pid});
		$turn = $self->_turn_of($states, $e->{server}{tid}, $woke // $floor + $NS_PER_MS);
		last if $turn;
	}
	$e->{deliver_ns} = $woke if defined $woke;
	return if !$turn || $turn->{from} > $e->{deliver_ns};
	$e->{device_ns} = $turn->{from} if $turn->{from} > $e->{device_ns};
	@$e{qw(wakeup_ns asleep_ns)} = @$turn{qw(from asleep)};
	return;
}

# turn(EVENT, DAMAGE): { from, to, asked } of the server's run in which it changed the screen; asked: when the client had woken it for that
sub turn {
	my ($self, $e, $damage) = @_;
	return $self->{turns}{ $e->{server}{file} }{ $damage->{nr} } //= $self->_turn($e, $damage->{ts_ns});
}

sub _turn {
	my ($self, $e, $floor) = @_;
	my $tid = $e->{server}{tid};
	my $states = $self->{kernel}->states($floor - $BACK_NS[0], $floor + $SLACK_NS);
	my @ran = grep { $_->{kind} eq 'running' && $_->{to} > $floor && $_->{from} < $floor + $SLACK_NS } @{ $states->intervals($tid) };
	# Sure of the server's own millisecond; the one after it only where it did not run in that.
	my @sure = grep { $_->{from} < $floor + $NS_PER_MS } @ran;
	my $run = @sure ? $sure[-1] : $ran[0];
	return { from => $floor, to => $floor + $NS_PER_MS } if !$run;
	my $turn = $self->_turn_of($states, $tid, $run->{to}) // { from => $run->{from} };
	my $to = $run->{to} < $floor + $SLACK_NS ? $run->{to} : $floor + $SLACK_NS;
	my @asked = $self->_wakings($states, ($turn->{asleep} // $turn->{from}), $to, $e->{pid}, $tid, 1);
	return { from => $turn->{from} > $floor ? $turn->{from} : $floor, to => $to, asked => $asked[-1] };
}

# asked(EVENT, STATES, FROM, TO): when a thread of the client first woke the server in [FROM, TO); undef: never, or the server was awake
sub asked {
	my ($self, $e, $states, $from, $to) = @_;
	return ($self->_wakings($states, $from, $to, $e->{pid}, $e->{server}{tid}, 1))[0];
}

# asleep(EVENT, STATES, FROM, TO): [ from, to ] in which the server had nothing to do, as XRecords has it of servers with hooks
sub asleep {
	my ($self, $e, $states, $from, $to) = @_;
	return map { [ $_->{from} < $from ? $from : $_->{from}, $_->{to} > $to ? $to : $_->{to} ] }
		grep { $_->{kind} eq 'blocked' && $_->{from} < $to && $_->{to} > $from } @{ $states->intervals($e->{server}{tid}) };
}

# The stretch without sleep that TIME lies in: { from, asleep }
sub _turn_of {
	my ($self, $states, $tid, $t) = @_;
	for (1 .. 1000) {
		my $i = $states->before($tid, $t) or return;
		return { from => $i->{to}, asleep => $i->{real_from} // $i->{from} } if $i->{kind} eq 'blocked' && $i->{to} <= $t;
		return if $i->{from} >= $t || $i->{kind} eq 'absent';
		$t = $i->{from};
	}
	return;
}

# When, in [FROM, UNTIL), the thread BY woke threads of the process TO; with by_process, threads of the process BY the thread TO.
sub _wakings {
	my ($self, $states, $from, $until, $by, $to, $by_process) = @_;
	my ($ev, @t) = ($states->events);
	my $threads = $self->{kernel}->threads;
	for (my $k = $ev->first_at($from); $k < $ev->count && vec($ev->{ts}, $k, 64) < $until; $k++) {
		next if vec($ev->{type}, $k, 8) != Tipme::KernelEvents::WAKING || (vec($ev->{d}, $k, 32) >> 16 & 255) != 0;
		my ($waker, $wakee) = (vec($ev->{a}, $k, 32), vec($ev->{tid}, $k, 32));
		next if $by_process ? $wakee != $to || $threads->at($waker, vec($ev->{ts}, $k, 64))->{pid} != $by : $waker != $by || $threads->at($wakee, vec($ev->{ts}, $k, 64))->{pid} != $to;
		push @t, vec($ev->{ts}, $k, 64);
	}
	return @t;
}

1;
