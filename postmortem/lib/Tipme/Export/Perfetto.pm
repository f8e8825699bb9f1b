# SPDX-License-Identifier: GPL-2.0-only
# Export as a Perfetto trace: scheduling as its ftrace events, the X server's doings as a track of
# its own. The few messages that are needed are put together by hand: field numbers are those of
# Perfetto's published .proto files.
package Tipme::Export::Perfetto;

use strict;
use warnings;
use Encode ();
use Tipme::Columns;
use Tipme::Printable qw(one_line);

# numbers of fields
use constant {
	TRACE_PACKET       => 1,  PACKET_FTRACE     => 1, PACKET_TIMESTAMP => 8, PACKET_SEQUENCE => 10,
	PACKET_TRACK_EVENT => 11, PACKET_DESCRIPTOR => 60,
	BUNDLE_CPU   => 1, BUNDLE_EVENT => 2, EVENT_TIMESTAMP => 1, EVENT_PID => 2, EVENT_SWITCH => 4,
	EVENT_WAKING => 20,
	TRACK_UUID   => 1,            TRACK_NAME => 2, TRACK_EVENT_TYPE => 9, TRACK_EVENT_UUID => 11,
	TRACK_EVENT_CATEGORIES => 22, TRACK_EVENT_NAME => 23,
	SLICE_BEGIN            => 1,  SLICE_END => 2, INSTANT => 3, SEQUENCE => 1, X_TRACK => 7469,
};
my $BUNDLE_EVENTS = 500;    # events of one packet, as the kernel's own writer has it
my %STATE         = (
	runnable => 0,  sleeping => 1, disk_sleep => 2, stopped   => 4, traced => 8, dead => 16,
	parked   => 64, idle     => 2, frozen     => 2, lock_wait => 2
);
my %INSTANT_OF = map { $_ => 1 }
	qw(x_device x_deliver x_damage x_chord x_input x_present x_drawn x_told x_taken x_painted);

# whole(EPISODE, FILE HANDLE, FROM, TO, WITHOUT): all of it by the program in C, forty times as
# fast: (records, records without a place here), or (); WITHOUT: 1: nothing of scheduling
sub whole { my ($class, @what) = @_; return Tipme::Columns::perfetto(@what) }

sub new { my ($class, %o) = @_; return bless { %o, bundle => {}, count => {} }, $class }

sub _varint {
	my ($n) = @_;
	my $b = '';
	while ($n > 127) { $b .= chr($n & 127 | 128); $n >>= 7 }
	return $b . chr $n;
}
sub _number { my ($field, $n) = @_; return _varint($field << 3) . _varint($n) }
sub _bytes  { my ($field, $b) = @_; return _varint($field << 3 | 2) . _varint(length $b) . $b }

# number_field(FIELD, N), bytes_field(FIELD, BYTES), fixed_field(FIELD, N of eight bytes): for
# whoever adds packets
sub number_field { return _number(@_) }
sub bytes_field  { return _bytes(@_) }
sub fixed_field  { my ($field, $n) = @_; return _varint($field << 3 | 1) . pack 'Q<', $n }

sub _packet {
	my ($self, $b) = @_;
	$self->{out}->(_bytes(TRACE_PACKET, $b . _number(PACKET_SEQUENCE, SEQUENCE)));
}

sub begin {
	my ($self) = @_;
	$self->_packet(
		_bytes(PACKET_DESCRIPTOR, _number(TRACK_UUID, X_TRACK) . _bytes(TRACK_NAME, 'X server')));
	$self->_slice($self->{episode}->trigger_ns, INSTANT, 'trigger');
}

sub _comm {
	my ($self, $tid, $t) = @_;
	return $tid
		? Encode::encode('UTF-8', one_line($self->{threads}->at($tid, $t)->{comm}))
		: 'swapper';
}

sub record {
	my ($self, $name, $f, $where) = @_;
	my $t = $where->{ts};
	if ($name eq 'sched_switch') {
		$self->_ftrace($where, $f->{tid}, EVENT_SWITCH, $self->_switch($f, $t));
	} elsif ($name eq 'sched_waking') {
		$self->_ftrace(
			$where, $f->{waker_tid}, EVENT_WAKING,
			_bytes(1, $self->_comm($f->{tid}, $t))
				. _number(2, $f->{tid})
				. _number(3, $f->{prio})
				. _number(4, 1)
				. _number(5, $f->{wakee_cpu})
		);
	} elsif ($name eq 'x_request') {
		$self->_slice(
			$t, SLICE_BEGIN,
			"request $f->{major}.$f->{minor} of " . $self->_comm($f->{pid}, $t)
		);
		$self->_slice($t + $f->{duration_ns}, SLICE_END);
	} elsif ($INSTANT_OF{$name}) {
		$self->_slice($t, INSTANT, $name);
	} else {
		return 0;
	}
	return 1;
}

sub _switch {
	my ($self, $f, $t) = @_;
	my $state =
		$f->{prev_preempted}
		? 0
		: $STATE{ $self->{episode}->record->name_of('task_state', $f->{prev_state}) } // 0;
	return
		  _bytes(1, $self->_comm($f->{tid}, $t))
		. _number(2, $f->{tid})
		. _number(3, $f->{prev_prio})
		. _number(4, $state)
		. _bytes(5, $self->_comm($f->{next_tid}, $t))
		. _number(6, $f->{next_tid})
		. _number(7, $f->{next_prio});
}

# Events of one CPU go in bundles.
sub _ftrace {
	my ($self, $where, $pid, $field, $message) = @_;
	my $cpu = $where->{cpu};
	$self->{bundle}{$cpu} .= _bytes(
		BUNDLE_EVENT,
		_number(EVENT_TIMESTAMP, $where->{ts}) . _number(EVENT_PID, $pid) . _bytes($field, $message)
	);
	$self->_flush($cpu) if ++$self->{count}{$cpu} >= $BUNDLE_EVENTS;
}

sub _flush {
	my ($self, $cpu) = @_;
	$self->_packet(_bytes(PACKET_FTRACE, _number(BUNDLE_CPU, $cpu) . delete $self->{bundle}{$cpu}));
	$self->{count}{$cpu} = 0;
}

sub _slice {
	my ($self, $t, $type, $name) = @_;
	my $e =
		  _number(TRACK_EVENT_TYPE, $type)
		. _number(TRACK_EVENT_UUID, X_TRACK)
		. _bytes(TRACK_EVENT_CATEGORIES, 'x');
	$e .= _bytes(TRACK_EVENT_NAME, $name) if defined $name;
	$self->_packet(_number(PACKET_TIMESTAMP, $t) . _bytes(PACKET_TRACK_EVENT, $e));
}

sub end {
	my ($self) = @_;
	$self->_flush($_) for sort { $a <=> $b } keys %{ $self->{bundle} };
}

1;
