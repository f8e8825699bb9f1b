# SPDX-License-Identifier: GPL-2.0-only
# What a server did for other clients while ours waited: grabs and requests. Segments are cut where
# these begin and end.
package Tipme::Blame::Others;

use strict;
use warnings;
use Tipme::DisplaySource;
use Tipme::Reason qw(reason);

my $AT_ONCE_NS = 50_000_000;    # after a grab has ended, what had waited for that is drawn
# requests of others that the server executed for so long are theirs
my $REQUEST_NS = 100_000;

# new(threads =>, server =>, client_pid =>, client =>, answered_ns =>), as Blame has them
sub new {
	my ($class, %o) = @_;
	return bless {%o}, $class;
}

# split_by_grabs(SEGMENT): while another client has the server for itself, waiting for the server is
# waiting for that client.
sub split_by_grabs {
	my ($self, $s) = @_;
	my $grabs = $self->{grabs} //= [
		sort { $a->[0] <=> $b->[0] }
		grep { $self->_of_another($_->[3]) } $self->{server}->grabs
	];
	return $s if !@$grabs;
	my $pid = $self->{threads}->at($s->{tid}, $s->{to} - 1)->{pid};
	# The client itself waits for the server if it sleeps where it waits for others, and nobody ends
	# that: likely, not certain.
	# So it does if it looks at the clock meanwhile, and what answers the event is drawn as soon as
	# the server is let go.
	my $timed = $pid == $self->{client_pid} && !$s->{unanswered} ? 1 : 0;
	return $s if $timed && ($s->{class} // '') ne 'loop';
	my @out;
	for my $g (@$grabs) {
		# Whoever woke server and client meanwhile and then slept (who types, say) is not why
		# nothing was drawn.
		next
			if $pid != $self->{server}{pid}
			&& $pid != $g->[2]
			&& $s->{state} =~ /^(?:running|runnable)$/;
		next
			if $timed
			&& !(defined $g->[1]
			&& defined $self->{answered_ns}
			&& $g->[1] <= $self->{answered_ns}
			&& $g->[1] > $self->{answered_ns} - $AT_ONCE_NS);
		my $from = $g->[0] > $s->{from}                  ? $g->[0] : $s->{from};
		my $to   = defined $g->[1] && $g->[1] < $s->{to} ? $g->[1] : $s->{to};
		next if $from >= $to;
		delete $s->{among};
		push @out, $s->with(to => $from) if $from > $s->{from};
		push @out,
			$s->with(
			from  => $from, to => $to, grab => $g,
			exact => $s->{unanswered} || $timed ? 0 : 1
			);
		delete $out[-1]{by};
		$s = $s->with(from => $to);
	}
	push @out, $s if $s->{to} > $s->{from};
	return @out;
}

# split_by_requests(SEGMENT): what the server did for other clients while ours waited is theirs,
# also where it slept in it.
sub split_by_requests {
	my ($self, $s) = @_;
	my $x = $self->{server};
	return $s
		if $s->{grab}
		|| $s->{by}
		|| $s->{state} =~ /^(?:runnable|unknown)$/
		|| ($s->{tid} // -1) != ($x->{tid} // -2);
	# Where it sleeps it may have nothing to do; one request that covers all of the sleep says that
	# it has.
	return $s
		if $s->{state} ne 'running'
		&& (($s->{class} // '') eq 'loop' || !$x->in_request($s->{from}, $s->{to}));
	my @out;
	my $k = $x->lower('request', $s->{from});
	$k-- while $k > 0 && ($x->request_end($k - 1) // $s->{to}) > $s->{from};
	for (; $k < @{ $x->{request} } && $x->{request}[$k]{ts_ns} < $s->{to}; $k++) {
		my $r = $x->{request}[$k];
		next if !$self->_of_another($r) || $r->{duration_ns} < $REQUEST_NS;
		my $from = $r->{ts_ns} > $s->{from} ? $r->{ts_ns} : $s->{from};
		my $to   = $x->request_end($k) // $s->{to};
		$to = $s->{to} if $to > $s->{to};
		next if $from >= $to;
		push @out, $s->with(to => $from) if $from > $s->{from};
		push @out, $s->with(from => $from, to => $to, request => $r);
		$s = $s->with(from => $to);
	}
	push @out, $s if $s->{to} > $s->{from};
	return @out;
}

# in_request(SEGMENT): what the server did for the client that asked: computing, or waiting for a
# monitor, a disk, a lock.
sub in_request {
	my ($s) = @_;
	return $s->{state} eq 'running'
		? 'requests'
		: reason('requests-waiting', doing => $s->{reason});
}

# requests(FROM, TO): those that the server executed for long enough to be told apart: { from, to }
sub requests {
	my ($self, $from, $to) = @_;
	my $x    = $self->{server};
	my $long = $self->{long_requests} //= [
		grep {
			my $r = $x->{request}[$_];
			$self->_of_another($r) && $r->{duration_ns} >= $REQUEST_NS
		} 0 .. $#{ $x->{request} }
	];
	my @r = map { { from => $x->{request}[$_]{ts_ns}, to => $x->request_end($_) // $to } } @$long;
	return grep { $_->{from} < $to && $_->{to} > $from } @r;
}

sub _of_another {
	my ($self, $r) = @_;
	return !Tipme::DisplaySource::is_of(
		$r, $self->{client_pid} > 0 ? $self->{client_pid} : undef,
		$self->{client}
	);
}

1;
