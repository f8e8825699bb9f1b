# SPDX-License-Identifier: GPL-2.0-only
# Types on a keyboard and mouse that the kernel is asked for (/dev/uinput): keys go the whole way,
# as those of a real keyboard do, into whatever has the focus.
package Tipme::Typist::Uinput;
use strict;
use warnings;
use parent 'Tipme::Typist';
use Carp        qw(croak);
use Fcntl       qw(O_WRONLY O_NONBLOCK);
use Time::HiRes qw(sleep);
use Tipme::Typist;
use Tipme::Typist::Rhythm;

use constant SKIPS =>
	'keys by uinput begin in the kernel\'s input device: the interrupt of a real keyboard is left '
	. 'out';
# linux/uinput.h and linux/input-event-codes.h; the numbers of ioctls are those of x86-64
use constant {
	SET_EVBIT  => 0x40045564, SET_KEYBIT  => 0x40045565, SET_RELBIT => 0x40045566,
	DEV_CREATE => 0x5501,     DEV_DESTROY => 0x5502
};
use constant {
	EV_SYN    => 0, EV_KEY      => 1, EV_REL => 2,   REL_X        => 0, REL_Y => 1, REL_HWHEEL => 6,
	REL_WHEEL => 8, BUS_VIRTUAL => 6, KEYS   => 128, LONGEST_NAME => 80, AXES => 64
};
use constant SETTLE_S => 1;    # until servers and compositors have taken the new device
my %BUTTON = (1 => 0x110, 2 => 0x112, 3 => 0x111);
my %WHEEL  = (
	4 => [ REL_WHEEL,  1 ], 5 => [ REL_WHEEL, -1 ], 6 => [ REL_HWHEEL, -1 ],
	7 => [ REL_HWHEEL, 1 ]
);

# Tipme::Typist::Uinput->new(seed => N, wpm => 100, path => '/dev/uinput'): the device is there
# when this returns, and goes with the object
sub new {
	my ($class, %opt) = @_;
	my $path = $opt{path} // '/dev/uinput';
	sysopen my $device, $path, O_WRONLY | O_NONBLOCK
		or croak "$path: $!: load the module uinput, and be permitted to write there";
	my $self =
		bless { rhythm => Tipme::Typist::Rhythm->new(%opt), device => $device, path => $path },
		$class;
	$self->_ioctl(SET_EVBIT,  $_) for EV_KEY, EV_REL;
	$self->_ioctl(SET_KEYBIT, $_) for 1 .. KEYS - 1, values %BUTTON;
	$self->_ioctl(SET_RELBIT, $_) for REL_X, REL_Y, REL_WHEEL, REL_HWHEEL;
	$self->_write(
		pack 'a' . LONGEST_NAME . ' S4 L l' . 4 * AXES, 'tipme typist', BUS_VIRTUAL,
		0x1209, 0x7469, 1, 0, (0) x (4 * AXES)
	);
	$self->_ioctl(DEV_CREATE, 0);
	$self->{created} = 1;
	sleep SETTLE_S;
	return $self;
}

sub DESTROY { my ($self) = @_; ioctl $self->{device}, DEV_DESTROY, 0 if $self->{created}; return }

sub _ioctl {
	my ($self, $what, $value) = @_;
	defined ioctl $self->{device}, $what, $value + 0
		or croak "$self->{path}: $!: is this the kernel's uinput device?";
	return;
}

sub _write {
	my ($self, $bytes) = @_;
	my $n = syswrite $self->{device}, $bytes;
	defined $n && $n == length $bytes or croak "$self->{path}: write: ", $! || 'too short';
	return;
}

# Events of one moment, and what tells that they are complete; the kernel puts the time on them.
sub _send_events {
	my ($self, @events) = @_;
	my $ns = Tipme::Typist::now_ns();
	$self->_write(join '', map { pack 'q q S S l', 0, 0, @$_ } @events, [ EV_SYN, 0, 0 ]);
	return $ns;
}

sub _key {
	my ($self, $code, $down) = @_;
	return $self->_send_events([ EV_KEY, $code, $down ? 1 : 0 ]);
}

sub _pointer_button {
	my ($self, $button, $down) = @_;
	my $wheel = $WHEEL{$button};
	return $down ? $self->_send_events([ EV_REL, @$wheel ]) : Tipme::Typist::now_ns() if $wheel;
	return $self->_send_events(
		[ EV_KEY, $BUTTON{$button} // croak("no button $button: 1 to 7"), $down ? 1 : 0 ]);
}

sub _pointer_move {
	my ($self, $dx, $dy) = @_;
	return $self->_send_events([ EV_REL, REL_X, $dx ], [ EV_REL, REL_Y, $dy ]);
}

1;
