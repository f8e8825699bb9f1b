# SPDX-License-Identifier: GPL-2.0-only
# What a bundle tells of threads and CPUs, as slices of a Perfetto trace. Of switches a viewer draws
# that what came last goes on; a slice ends where the bundle knows no more.
package Tipme::Export::Stretches;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Encode ();
use Tipme::Export::Perfetto;
use Tipme::Printable qw(one_line);
use Tipme::Timeline::Known;

# Numbers of fields, as in Perfetto's track_descriptor.proto, thread_descriptor.proto and
# track_event.proto.
use constant {
	PACKET      => 1, TIMESTAMP => 8, SEQUENCE => 10, EVENT  => 11, DESCRIPTOR => 60,
	UUID        => 1, NAME      => 2, THREAD   => 4,  PARENT => 5, THREAD_PID => 1, THREAD_TID => 2,
	THREAD_NAME => 5
};
use constant {
	TYPE       => 9, TRACK    => 11, EVENT_NAME   => 23, FLOW         => 47, FLOW_ENDS => 48,
	BEGIN_TYPE => 1, END_TYPE => 2,  INSTANT_TYPE => 3,  OUR_SEQUENCE => 3
};
my $MANY = 2_000;    # slices of a track; of more, short ones are drawn together
use constant { CPUS => 7473, FIRST_CPU => 7500, FIRST_THREAD => 1 << 32 };

# trace(DIAGNOSIS, DATA, FROM, TO): its bytes; undef where all records were kept
sub trace {
	my ($class, $diagnosis, $d, $from, $to) = @_;
	my $states = $diagnosis->states($from, $to);
	my $known  = Tipme::Timeline::Known->new($diagnosis->episode, $states, $d->{path} // [])
		or return;
	my $self = bless {
		threads => $diagnosis->threads, states => $states, known => $known, out => [],
		from => $from, to => $to
	}, $class;
	$self->_descriptor(CPUS, undef, 'CPUs, where this bundle tells who had them');
	$self->_cpu($_)    for $states->events->cpus;
	$self->_thread($_) for $known->tids;
	return join '', @{ $self->{out} };
}

my $OURS = Tipme::Export::Perfetto::number_field(SEQUENCE, OUR_SEQUENCE);
sub _bytes  { return Tipme::Export::Perfetto::bytes_field(@_) }
sub _number { return Tipme::Export::Perfetto::number_field(@_) }
sub _text   { my ($text) = @_; return Encode::encode('UTF-8', one_line($text // '?')) }

sub _fixed { return Tipme::Export::Perfetto::fixed_field(@_) }

sub _packet {
	my ($self, $b) = @_;
	push @{ $self->{out} }, _bytes(PACKET, $b . $OURS);
	return;
}

sub _descriptor {
	my ($self, $uuid, $parent, $name, $more) = @_;
	my $d = _number(UUID, $uuid);
	$d .= _bytes(NAME, _text($name)) if defined $name;
	$d .= _number(PARENT, $parent)   if defined $parent;
	$self->_packet(_bytes(DESCRIPTOR, $d . ($more // '')));
	return;
}

# There are thousands of events, and few that differ in more than their time.
sub _event {
	my ($self, $track, $t, $type, $name, $more) = @_;
	$name //= '';
	my $rest = $self->{events}{"$track $type $name"} //= do {
		my $e = _number(TYPE, $type) . _number(TRACK, $track);
		$e . (length $name ? _bytes(EVENT_NAME, _text($name)) : '');
	};
	$self->_packet(_number(TIMESTAMP, $t) . _bytes(EVENT, defined $more ? $rest . $more : $rest));
	return;
}

# Slices in order, [ from, to, name, what else belongs to the event ] each. Of many, those that are
# short stand as one, with the share of each name; what is left of it was not told, or nobody.
sub _slices {
	my ($self, $track, @slices) = @_;
	for my $s (@slices > $MANY ? $self->_fewer(@slices) : @slices) {
		$self->_event($track, $s->[0], BEGIN_TYPE, @$s[ 2, 3 ]);
		$self->_event($track, $s->[1], END_TYPE);
	}
	return;
}

sub _fewer {
	my ($self, @slices) = @_;
	my $width = ($self->{to} - $self->{from}) / $MANY;
	my (@out, @turns);
	my $end = sub { push @out, @turns > 1 ? _turns(@turns) : @turns; @turns = () };
	for my $s (@slices) {
		$end->() if @turns && ($s->[0] > $turns[-1][1] + $width || $s->[1] > $turns[0][0] + $width);
		push @turns, $s;
	}
	$end->();
	return @out;
}

sub _turns {
	my (@turns) = @_;
	my ($from, $to, %ns) = ($turns[0][0], $turns[-1][1]);
	$ns{ $_->[2] } += $_->[1] - $_->[0] for @turns;
	my @most = sort { $ns{$b} <=> $ns{$a} || $a cmp $b } keys %ns;
	my @said = map  { sprintf '%s %.0f %%', $_, 100 * $ns{$_} / ($to - $from) }
		grep {defined} @most[ 0 .. 3 ];
	return [ $from, $to, @turns . ' turns: ' . join ', ', @said ];
}

sub _comm { my ($self, $tid, $t) = @_; return $self->{threads}->at($tid, $t)->{comm} }

sub _cpu {
	my ($self, $cpu) = @_;
	my $track = FIRST_CPU + $cpu;
	$self->_descriptor($track, CPUS, "CPU $cpu");
	my @slices;
	for my $o (grep { $_->[2] } $self->{states}->occupants($cpu, @$self{qw(from to)})) {
		my ($from, $to, $tid) = @$o;
		push @slices,
			map { [ @$_, $self->_comm($tid, $from) . " ($tid)" ] }
			$self->{known}->clip($tid, $cpu, $from, $to);
	}
	$self->_slices($track, @slices);
	return;
}

sub _thread {
	my ($self, $tid) = @_;
	my $track = FIRST_THREAD + $tid;
	my $who   = $self->{threads}->at($tid, $self->{to});
	$self->_descriptor(
		$track, undef, undef,
		_bytes(
			THREAD,
			_number(THREAD_PID, $who->{pid})
				. _number(THREAD_TID, $tid)
				. _bytes(THREAD_NAME, _text($who->{comm}))
		)
	);
	my @slices;
	for my $i (grep { $_->{kind} ne 'absent' } @{ $self->{states}->intervals($tid) }) {
		my $cpu  = $i->{kind} eq 'running' ? $i->{cpu}  : undef;
		my $name = defined $cpu ? "running on CPU $cpu" : ($i->{state} // $i->{kind}) =~ tr/_/ /r;
		push @slices, map { [ @$_, $name ] } $self->{known}->clip($tid, $cpu, @$i{qw(from to)});
		$slices[-1][4] = $i->{wake}
			if $i->{kind} eq 'runnable' && @slices && $slices[-1][0] == $i->{from};
	}
	if (@slices <= $MANY) {
		$_->[3] = $self->_woken($tid, $_->[4]) for grep { defined $_->[4] } @slices;
	}
	$self->_slices($track, @slices);
	return;
}

# An arrow from who woke it, if that one's track has that moment.
sub _woken {
	my ($self, $tid, $wake) = @_;
	my $ev = $self->{states}->events;
	my ($t, $by) = ($ev->ts($wake), $ev->waker($wake));
	return if !$by || !$self->{known}->clip($by, undef, $t, $t + 1);
	$self->_event(
		FIRST_THREAD + $by, $t, INSTANT_TYPE, 'wakes ' . $self->_comm($tid, $t),
		_fixed(FLOW, ++$self->{flows})
	);
	return _fixed(FLOW_ENDS, $self->{flows});
}

1;
