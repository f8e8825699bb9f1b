# SPDX-License-Identifier: GPL-2.0-only
# A program's start: from the press that had it made, through fork, exec and its connection, to the
# first window. It is an event of its own (docs/method.md, "A program's start").
package Tipme::Starts;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::WakeupChain;

my $NS_PER_MS = 1_000_000;
my $SPAN_NS   = 10_000_000_000;    # from the press to the birth of the process
my $LIFE_NS =
	60_000_000_000;    # a process that is older than this when it connects did not just start
my $PRESSES   = 6;     # before the birth, that are looked at, of each server
my $MOST      = 8;     # new clients that are looked at, the last ones
my $CONNECTED = 1;     # of enum x_client_state: it was admitted then
my %PRESS = map { $_ => 1 } qw(key_press key_repeat key_release button_press button_release touch);

# new(episode =>, path => InputPath, kernel => Kernel, caused => Caused, trigger => ns)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# events(): input events of kind `start`, as InputPath has events; beside it start => { by (the
# number of the press), kind (of that), by_pid and by_client (who got that), pid, client, parent
# (the thread that made the process), born_ns, from_ns (when it connected) }. The press stays as it
# is.
sub events {
	my ($self) = @_;
	my $k = $self->{kernel};
	return if !$k->has_records || $k->sampled;
	my (%first, %seen);
	for my $x ($self->{path}->servers) {
		my @new = grep { ($_->{state} // 0) == $CONNECTED && $_->{pid} && !$seen{ $_->{pid} }++ }
			$x->all('client');
		splice @new, 0, @new - $MOST if @new > $MOST;
		for my $c (@new) {
			my $e     = $self->_of($x, $c) or next;
			my $other = $first{ $e->{start}{by} };
			$first{ $e->{start}{by} } = $e if !$other || _shown($e) < _shown($other);
		}
	}
	return map { $first{$_} } sort { $a <=> $b } keys %first;
}

sub _shown { my ($e) = @_; return @{ $e->{bursts} } ? $e->{bursts}[0][0] : 1 << 62 }

sub _of {
	my ($self, $x, $c) = @_;
	my ($pid, $t) = @$c{qw(pid ts_ns)};
	return if $t >= $self->{trigger};
	my $who = $self->{kernel}->threads->at($pid, $t);
	# Young, as far as a picture tells; the record of its birth is looked for only then.
	my $start = $who->{start_ns}     || $t;
	return if $start < $t - $LIFE_NS || $start <= $self->{kernel}->covered_from;
	my @before = grep {
			   $PRESS{ $_->{kind} }
			&& !$_->{chord}
			&& defined $_->{deliver_ns}
			&& $_->{pid}
			&& $_->{deliver_ns} < $t
			&& $_->{deliver_ns} > $start - $SPAN_NS
			- 20 * $NS_PER_MS
	} $self->{path}->events;
	# The press came to another client of the same server, or of the one behind which that is.
	my %here = map { ($_ => 1) } $x, $x->enters_by;
	return if !grep { $here{ $_->{server} } } @before;
	my %of;
	@before = reverse grep { ++$of{ $_->{server} } <= $PRESSES } reverse @before;
	my $states = $self->{kernel}->states($before[0]{deliver_ns} - $NS_PER_MS, $t);
	my ($birth) =
		grep { $_->{kind} eq 'runnable' && $_->{how} eq 'forked' } @{ $states->intervals($pid) };
	return if !$birth;

	for my $e (reverse grep { $_->{deliver_ns} < $birth->{from} } @before) {
		return $self->_event($x, $c, $e, $birth)
			if $self->{caused}->had_made($e, $pid, $birth->{from});
	}
	return;
}

sub _event {
	my ($self, $x, $c, $e, $birth) = @_;
	my ($gone) =
		map  { $_->{ts_ns} }
		grep { $_->{gone} && $_->{client} == $c->{client} && $_->{ts_ns} > $c->{ts_ns} }
		$x->all('client');
	my @drawn = grep {
			   $_->{client} == $c->{client}
			&& ($_->{pid} // 0) == $c->{pid}
			&& $_->{ts_ns} <= $self->{trigger}
	} $x->between('draw', $c->{ts_ns}, $gone // 1 << 62);
	# A program that asks the server something and has no window has shown nothing, and owes
	# nothing.
	return if !@drawn && defined $gone;
	return made_of(
		{ %$e, server => $x },
		$self->{path},
		\@drawn,
		{
			pid     => $c->{pid},      client  => $c->{client}, parent => $birth->{parent},
			born_ns => $birth->{from}, from_ns => $c->{ts_ns}
		}
	);
}

# made_of(PRESS, PATH, \@DRAWS, START): the event that a press and a start make
sub made_of {
	my ($press, $path, $draws, $start) = @_;
	my %e = (
		%$press, kind => 'start', pid => $start->{pid}, client => $start->{client}, candidate => 1,
		next_ns => undef, gone_ns => undef, damages => $draws,
		start   => {
			%$start, by => $press->{n}, kind => $press->{kind}, by_pid => $press->{pid},
			by_client => $press->{client}
		}
	);
	delete @e{qw(n held motion)};
	$e{bursts} = $path->bursts(\%e, $start->{born_ns}, 1 << 62, 1);
	return \%e;
}

1;
