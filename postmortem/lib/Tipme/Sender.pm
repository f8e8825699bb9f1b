# SPDX-License-Identifier: GPL-2.0-only
# A thread that sends to the server, by a clock of its own, what another thread of its process has
# prepared: a toolkit whose buffer one thread fills, and another one empties now and then.
package Tipme::Sender;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits

my $IDLE = 3;    # ticks without anything to send that tell a sender from one who draws by a clock

# new(sleeps => Sleeps)
sub new { my ($class, %o) = @_; return bless { %o, is => {} }, $class }

# tick(STATES, TID, RAN): the sleep before the thread ran, if its own timer ended it; else undef
sub tick {
	my ($states, $tid, $ran) = @_;
	my $i = $states->before($tid, $ran);
	$i = $states->before($tid, $i->{from})
		while $i && ($i->{kind} eq 'running' || $i->{kind} eq 'runnable');
	return
		   $i
		&& $i->{kind} eq 'blocked'
		&& defined $i->{wake}
		&& $states->events->context($i->{wake}) == 4 ? $i : undef;    # hardirq
}

# prepared(STATES, TID, RAN, HAND, SERVER thread): when the thread HAND ran last before the sleep of
# TID that its own timer ended before RAN was over; ns: then it had prepared what TID sends. undef:
# HAND has slept all that time, or TID sends what is its own.
# midst: if HAND had lost its CPU then, in the midst of it, it would have sent that itself: then
# TID's clock is not what was waited for, and the time is that of the tick
sub prepared {
	my ($self, $states, $tid, $ran, $hand, $server, $midst) = @_;
	return if $tid == $hand;
	my $i    = tick($states, $tid, $ran) or return;
	my $h    = $states->before($hand, $i->{to}) or return;
	my $lost = $h->{kind} eq 'runnable' ? $states->before($hand, $h->{from}) : undef;
	return $i->{to}
		if $midst
		&& $lost
		&& $lost->{kind} eq 'running'
		&& $lost->{to} > ($i->{real_from} // $i->{from});
	return if $h->{kind} ne 'blocked' || $h->{from} <= ($i->{real_from} // $i->{from});
	return if !$self->_sends_for($tid, $hand, $server);
	return $h->{from};
}

# Has TID woken the server after ticks of its clock only if HAND had run since the tick before?
sub _sends_for {
	my ($self, $tid, $hand, $server) = @_;
	return $self->{is}{"$tid $hand"} //= $self->_found($tid, $hand, $server);
}

sub _found {
	my ($self, $tid, $hand, $server) = @_;
	my ($own, $other, $sent) = map { $self->{sleeps}->of($_) // return 0 } $tid, $hand, $server;
	my @sent = map { $_->{to} } grep { $_->{waker} == $tid } @$sent;
	my ($idle, $k, $n, $tick, $since) = (0, 0, 0);
	for my $at (0 .. $#$own) {
		my $s = $own->[$at];
		next if !defined $s->{to} || $s->{context} ne 'hardirq';
		($since, $tick) = ($tick, $s->{to});
		$k++ while $k < @$other && defined $other->[$k]{to} && $other->[$k]{to} <= $s->{from};
		next if $k >= @$other;
		my ($from, $to) = @{ $other->[$k] }{qw(from to)};
		next if !defined $since || $from > $since || defined $to && $to < $s->{to};
		$n++ while $n < @sent && $sent[$n] < $s->{to};
		my $until = $own->[ $at + 1 ] ? $own->[ $at + 1 ]{from} : undef;
		return 0 if $n < @sent && (!defined $until || $sent[$n] <= $until);
		$idle++;
	}
	return $idle >= $IDLE ? 1 : 0;
}

1;
