# SPDX-License-Identifier: GPL-2.0-only
# Sessions at a keyboard as files of records, for tests: as an X server with hooks would have
# written them. Packed by hand, since four hours have millions of records.
package Tipme::TestSession;

use strict;
use warnings;

use constant MS     => 1_000_000;
use constant MINUTE => 60_000_000_000;
my %TYPE = (
	x_device => 64, x_deliver  => 65, x_damage  => 67, x_sleep => 69, x_wakeup => 70,
	x_client => 72, wl_deliver => 96, wl_commit => 97, wl_done => 98
);
my %KIND = (
	key_press => 1, key_release => 2, button_press => 3, button_release => 4, motion => 5,
	wheel     => 9
);
my %WHAT = (keyboard => 1, pointer => 2, text => 5, input_method => 6);

# new(FILE, from_ns =>): a file of records that begins then
sub new {
	my ($class, $file, %o) = @_;
	open my $h, '>:raw', $file or die "$file: $!\n";
	my $self = bless { file => $file, h => $h, seq => 0, from_ns => 1_000_000_000, %o }, $class;
	# The header's body_len is not looked at: a file that is cut short is read as far as it goes.
	print {$h} pack 'a8VvvVVQ<Q<Q<Q<Q<', 'TIPMEREC', 0x01020304, 1, 3, 64, 4, 0, 0, 1, 0, 0;
	$self->record($self->{from_ns}, 'x_sleep', pack 'Q<Q<', 0, 0);
	return $self;
}

sub record {
	my ($self, $ns, $name, $body) = @_;
	print { $self->{h} } pack('Q<CCvV', $ns, $TYPE{$name}, 4, 0, 100), $body;
	return $self;
}

# press(NS, PID, KIND, READ, SENT, DRAWN, FINISHED): an event that enters at NS, and takes so many
# ns in each stage; without DRAWN it has no effect
sub press {
	my ($self, $ns, $pid, $kind, $read, $sent, $drawn, $finished) = @_;
	my $seq = ++$self->{seq};
	$self->record($ns, 'x_wakeup', pack 'Q<Q<', 0, 0);
	$self->device($ns + $read, $seq, $kind);
	$self->record(
		$ns + $read + $sent, 'x_deliver', pack 'VVVvCC', $pid, 1, $seq, $pid,
		$KIND{$kind},        2
	);
	$self->record($ns + $read + $sent + 1, 'x_sleep', pack 'Q<Q<', 0, 0);
	return $self if !defined $drawn;
	$self->damage($ns + $read + $sent + $drawn,             $pid);
	$self->damage($ns + $read + $sent + $drawn + $finished, $pid) if $finished;
	return $self;
}

sub device {
	my ($self, $ns, $seq, $kind, $ms) = @_;
	return $self->record(
		$ns, 'x_device', pack 'VVVvCC', $seq, $ms // int($ns / MS), 0, 7,
		$KIND{$kind}, 0
	);
}

sub damage {
	my ($self, $ns, $pid) = @_;
	return $self->record($ns, 'x_damage', pack 'VVvCCvv', $pid, 1, $pid, 70, 0, 10, 10);
}

# What a Wayland compositor sends, takes and tells; client: its process, and a number
sub sent {
	my ($self, $ns, $pid, $kind, %o) = @_;
	return $self->record(
		$ns, 'wl_deliver', pack 'VVVCCv', $pid, $o{client} // $pid, $o{object} // 7,
		$KIND{$kind}, $WHAT{ $o{what} // 'keyboard' }, $o{age_ms} // 0
	);
}

sub commit {
	my ($self, $ns, $pid, $callback, %o) = @_;
	return $self->record($ns, 'wl_commit', pack 'VVVV', $pid, $o{client} // $pid, 3, $callback);
}

sub told {
	my ($self, $ns, $pid, $callback) = @_;
	return $self->record($ns, 'wl_done', pack 'VVVCCv', $pid, $pid, $callback, 1, 0, 0);
}
sub quiet { my ($self, $ns) = @_; return $self->record($ns, 'x_sleep', pack 'Q<Q<', 0, 0) }
sub done { my ($self) = @_; close $self->{h} or die "$self->{file}: $!\n"; return $self->{file} }

# typed(FILE, ms => SUB, keys => per minute, minutes => N, pid =>, seed =>): keys at random moments
# of each minute, 300 ms apart at least; ms(N) says how long the N-th takes
sub typed {
	my ($class, $file, %o) = @_;
	srand($o{seed} // 1);
	my $self = $class->new($file);
	my $n    = 0;
	for my $m (0 .. $o{minutes} - 1) {
		my $slot = MINUTE / $o{keys};
		for my $k (0 .. $o{keys} - 1) {
			my $ns   = $self->{from_ns} + $m * MINUTE + int(($k + 0.1 + 0.5 * rand) * $slot);
			my $took = int($o{ms}->($n++) * MS);
			$self->press($ns, $o{pid} // 200, 'key_press', 20_000, 15_000, $took - 40_000, 5_000);
		}
	}
	$self->quiet($self->{from_ns} + $o{minutes} * MINUTE);
	return $self->done;
}

1;
