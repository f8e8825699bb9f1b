# SPDX-License-Identifier: GPL-2.0-only
# An X server that was only observed from outside tells whole milliseconds, and nothing of its
# requests. Who woke whom when is exact: it tells where in that millisecond things happened, and
# when the server was asked.
package Tipme::DisplaySource::Observed;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent -norequire, 'Tipme::DisplaySource::X11';

my $NS_PER_MS = 1_000_000;
# the server counts whole milliseconds, of a clock that may itself stand still for one
my $SLACK_NS = 2 * $NS_PER_MS;
# so far before an event is looked when the server awoke for it: mostly, and where it had to wait
my @BACK_NS = (100 * $NS_PER_MS, 10_000 * $NS_PER_MS);

# refine(EVENT): its delivery is where the server woke the client; wakeup_ns and asleep_ns: when the
# server awoke for it, and had fallen asleep
sub refine {
	my ($self, $e) = @_;
	return if $e->{refined}++ || !defined $e->{deliver_ns} || !$self->{kernel}->has_records;
	my $floor = $e->{deliver_ns};
	my ($woke, $turn);
	for my $back (@BACK_NS) {
		my $states = $self->{kernel}->states($e->{device_ns} - $back, $floor + $SLACK_NS);
		($woke) = $self->wakings($states, $floor, $floor + $SLACK_NS, $self->{tid}, $e->{pid});
		$turn = $self->turn_of($states, $self->{tid}, $woke // $floor + $NS_PER_MS);
		last if $turn;
	}
	$e->{deliver_ns} = $woke if defined $woke;
	return                   if !$turn || $turn->{from} > $e->{deliver_ns};
	$e->{device_ns}              = $turn->{from} if $turn->{from} > $e->{device_ns};
	@$e{qw(wakeup_ns asleep_ns)} = @$turn{qw(from asleep)};
	return;
}

# A change that was only observed from outside happened while the server ran, somewhere in the
# millisecond that it named.
sub asked_ns {
	my ($self, $e, $d) = @_;
	my $turn = $self->_turn_for($e, $d);
	return $turn->{asked} // $turn->{from};
}

sub drawn_ns {
	my ($self, $e, $d) = @_;
	return $self->{kernel}->has_records ? $self->_turn_for($e, $d)->{to} : $d->{ts_ns};
}

# { from, to, asked } of the server's run in which it changed the screen; asked: when the client had
# woken it for that
sub _turn_for {
	my ($self, $e, $d) = @_;
	return $self->{turns}{ $d->{nr} } //= $self->_turn($e, $d->{ts_ns});
}

sub _turn {
	my ($self, $e, $floor) = @_;
	my $tid    = $self->{tid};
	my $states = $self->{kernel}->states($floor - $BACK_NS[0], $floor + $SLACK_NS);
	my @ran =
		grep { $_->{kind} eq 'running' && $_->{to} > $floor && $_->{from} < $floor + $SLACK_NS }
		@{ $states->intervals($tid) };
	# Sure of the server's own millisecond; the one after it only where it did not run in that.
	my @sure = grep { $_->{from} < $floor + $NS_PER_MS } @ran;
	my $run  = @sure ? $sure[-1] : $ran[0];
	return { from => $floor, to => $floor + $NS_PER_MS } if !$run;
	my $turn = $self->turn_of($states, $tid, $run->{to}) // { from => $run->{from} };
	my $to   = $run->{to} < $floor + $SLACK_NS ? $run->{to} : $floor + $SLACK_NS;
	my @asked =
		$self->wakings($states, ($turn->{asleep} // $turn->{from}), $to, $e->{pid}, $tid, 1);
	return {
		from  => $turn->{from} > $floor ? $turn->{from} : $floor, to => $to,
		asked => $asked[-1]
	};
}

# When a thread of the client first woke the server; it was awake, or never was asked: not known.
sub first_asked {
	my ($self, $e, $states, $from, $to) = @_;
	return ($self->wakings($states, $from, $to, $e->{pid}, $self->{tid}, 1))[0];
}

# It tells no sleeps, and what it writes may take as long as its clock is coarse.
sub idle       { return Tipme::DisplaySource::idle(@_) }
sub written_by { my ($self, $t) = @_; return $t + $SLACK_NS }

1;
