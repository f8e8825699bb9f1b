# SPDX-License-Identifier: GPL-2.0-only
# Types on the keyboard socket of Xorg's inputtest driver as a person would, and tells when each
# key went down.
package Tipme::Typist;
use strict;
use warnings;
use Carp qw(croak);
use IO::Socket::UNIX;
use Socket      qw(SOCK_STREAM);
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
use Tipme::Typist::Rhythm;

# Events and answers of xf86-input-inputtest-protocol.h; all begin with a length and a type.
use constant {
	CLIENT_VERSION => 0, WAIT_FOR_SYNC => 1, MOTION => 2, BUTTON => 4, KEY => 5,
	SERVER_VERSION => 0, SYNC_FINISHED => 1
};
# A key of keyboards of Japan and Brazil, which has no meaning in the us layout.
use constant { EVDEV_TO_X => 8, SHIFT => 42, UNBOUND => 89 };

# evdev key codes of the us layout, row by row: the character, and the one with Shift
my (%code, %shifted);

sub _row {
	my ($first, $plain, $with_shift) = @_;
	for my $i (0 .. length($plain) - 1) {
		$code{ substr $plain, $i, 1 } = $first + $i;
		$shifted{ substr $with_shift, $i, 1 } = $first + $i;
	}
}
_row(2,  '1234567890-=',  '!@#$%^&*()_+');
_row(16, 'qwertyuiop[]',  'QWERTYUIOP{}');
_row(30, q{asdfghjkl;'`}, 'ASDFGHJKL:"~');
_row(43, '\\zxcvbnm,./',  '|ZXCVBNM<>?');
$code{' '}  = 57;
$code{"\n"} = 28;
$code{"\t"} = 15;

my %named = (
	escape    => 1, backspace => 14, tab => 15, return => 28, enter => 28, space => 57, minus => 12,
	equal     => 13,
	ctrl      => 29,  control => 29, shift => SHIFT, alt => 56, altgr => 100, super => 125,
	capslock  => 58,  numlock => 69,
	home      => 102, up => 103, page_up => 104, left => 105, right => 106, end => 107, down => 108,
	page_down => 109,
	insert    => 110, delete => 111, kp_subtract => 74, (map { ("f$_" => 58 + $_) } 1 .. 10),
	f11       => 87,  f12    => 88,
);

# Tipme::Typist->new(socket => PATH, seed => N, wpm => 100, pointer => PATH); the pointer is only
# needed for clicks
#
# Keep the object for as long as the server lives: when its peer goes, the inputtest driver never
# drops the
# descriptor, and Xorg spins.
sub new {
	my ($class, %opt) = @_;
	my $self = $class->_connect($opt{socket} // croak 'Typist: a socket is needed');
	$self->{rhythm}  = Tipme::Typist::Rhythm->new(%opt);
	$self->{pointer} = $class->_connect($opt{pointer}) if defined $opt{pointer};
	return $self;
}

# One device.
sub _connect {
	my ($class, $path) = @_;
	my $sock = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $path)
		or croak "$path: connect: $!: is this the socket of an Xorg with the inputtest driver?";
	my $self = bless { path => $path, sock => $sock }, $class;
	$self->_send(pack 'L< L< S< S<', 12, CLIENT_VERSION, 1, 1);
	my ($type) = $self->_answer;
	$type == SERVER_VERSION or croak "$path: answer $type instead of the server's version";
	return $self;
}

# Types the text, a pause before each key. Returns one { key, press_ns, release_ns } for each
# character.
sub type {
	my ($self, $text) = @_;
	return map { $self->_pause($_); $self->_character($_) } split //, $text;
}

# Presses and releases one key: a character, a name ("Return") or an evdev key code.
sub key {
	my ($self, $key, %opt) = @_;
	return $self->_stroke($key, $self->_code($key), $opt{hold_ms});
}

# Presses the keys of "Ctrl+Alt+minus" in turn and releases them backwards; returns the stroke of
# the last one.
sub chord {
	my ($self, $text, %opt) = @_;
	my @names = split /(?<=.)\+/, $text;
	my $last  = pop(@names) // croak 'Typist: a chord needs keys, as in Ctrl+Alt+minus';
	for (@names) {
		$self->press($_);
		sleep 0.02;
	}
	my $stroke = $self->_stroke($last, $self->_code($last), $opt{hold_ms});
	for (reverse @names) {
		sleep 0.01;
		$self->release($_);
	}
	return { %$stroke, key => $text };
}

sub press   { my ($self, $key) = @_; return $self->_key($self->_code($key), 1) }
sub release { my ($self, $key) = @_; return $self->_key($self->_code($key), 0) }

# Presses and releases a key that means nothing to anybody.
sub unbound { my ($self) = @_; return $self->_stroke('unbound', UNBOUND) }

# Presses and releases a button where the pointer is.
sub click {
	my ($self, $button, %opt) = @_;
	my $press_ns = $self->_pointer_button($button, 1);
	sleep(($opt{hold_ms} // 80) / 1000);
	return {
		key => "button $button", press_ns => $press_ns,
		release_ns => $self->_pointer_button($button, 0)
	};
}

# The event ends with valuators of a motion (2 x 64 doubles), of which a click has none.
sub _button {
	my ($self, $button, $down) = @_;
	my $ns = now_ns();
	$self->_send(pack 'L< L< l< l< L< x4 L< x1036', 1064, BUTTON, 0, $button, $down, 0);
	return $ns;
}

# Turns the wheel by one notch; as a mouse does it, without holding it.
sub wheel {
	my ($self, $way) = @_;
	my $button = { up => 4, down => 5, left => 6, right => 7 }->{$way}
		// croak "Typist: no wheel '$way': up, down, left or right";
	return { %{ $self->click($button, hold_ms => 2) }, key => "wheel $way" };
}

# Presses button 1, moves by (DX, DY) in steps of a hand, and releases it.
sub drag {
	my ($self, $dx, $dy) = @_;
	my $press_ns = $self->_pointer_button(1, 1);
	$self->_glide($dx, $dy);
	return {
		key => "drag $dx $dy", press_ns => $press_ns,
		release_ns => $self->_pointer_button(1, 0)
	};
}

# Moves by (DX, DY): slowly at both ends, as hands do (a movement of least jerk: Flash and Hogan,
# J. Neuroscience 5, 1985), 60 steps a second.
sub glide {
	my ($self, $dx, $dy) = @_;
	my $ns = now_ns();
	$self->_glide($dx, $dy);
	return { key => "move $dx $dy", press_ns => $ns, release_ns => now_ns() };
}

sub _glide {
	my ($self, $dx, $dy) = @_;
	my ($steps, @done) = (24, 0, 0);
	for my $i (1 .. $steps) {
		my $t     = $i / $steps;
		my $share = 10 * $t**3 - 15 * $t**4 + 6 * $t**5;
		my @to    = map { int($_ * $share + ($_ < 0 ? -0.5 : 0.5)) } $dx, $dy;
		$self->_pointer_move($to[0] - $done[0], $to[1] - $done[1])
			if $to[0] != $done[0] || $to[1] != $done[1];
		@done = @to;
		sleep 1 / 60;
	}
	return;
}

sub _pointer_button {
	my ($self, $button, $down) = @_;
	return ($self->{pointer} // croak 'Typist: a click needs the socket of a pointer')
		->_button($button, $down);
}

sub _pointer_move {
	my ($self, $dx, $dy) = @_;
	return ($self->{pointer} // croak 'Typist: a movement needs the socket of a pointer')
		->move($dx, $dy);
}

# Moves the pointer by so much; for the object of a pointer itself.
sub move {
	my ($self, $dx, $dy) = @_;
	my $ns = now_ns();
	# relative; valuators 0 and 1 of 64, none of them unaccelerated
	$self->_send(pack 'L< L< L< x4 L< C x11 d< d< x1008', 1056, MOTION, 0, 0, 3, $dx, $dy);
	return $ns;
}

# Returns when the server has taken all that was sent out of its input queue.
sub sync {
	my ($self) = @_;
	$self->_send(pack 'L< L<', 8, WAIT_FOR_SYNC);
	my ($type) = $self->_answer;
	$type == SYNC_FINISHED or croak "$self->{path}: answer $type instead of the end of input";
	return;
}

# help(TEXT, NAME => VALUE ...): prints a program's help, in the user's language where the sentences
# of the post-mortem are
sub help {
	my ($text, %value) = @_;
	if (eval { require Encode; require Tipme::Words; 1 }) {
		$text = Encode::encode('UTF-8', Tipme::Words::fill($text, %value));
	}
	$text =~ s/\{(\w+)\}/$value{$1} \/\/ "{$1}"/ge;
	print $text;
	return;
}

sub now_ns { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }

sub _code {
	my ($self, $key) = @_;
	return $1 if $key =~ /^(\d\d+)\z/;
	return $named{ lc $key } // $code{$key} // croak "Typist: no key '$key' in the us layout";
}

sub _character {
	my ($self, $char) = @_;
	return $self->_stroke($char, $code{$char}) if exists $code{$char};
	my $code = $shifted{$char}
		// croak sprintf 'Typist: no key for character U+%04X in the us layout', ord $char;
	$self->_key(SHIFT, 1);
	sleep 0.01;
	my $stroke = $self->_stroke($char, $code);
	$self->_key(SHIFT, 0);
	return $stroke;
}

sub _stroke {
	my ($self, $name, $code, $hold_ms) = @_;
	my $press_ns = $self->{down_ns} = $self->_key($code, 1);
	sleep(defined $hold_ms ? $hold_ms / 1000 : $self->{rhythm}->hold_s);
	return { key => $name, press_ns => $press_ns, release_ns => $self->_key($code, 0) };
}

# Until the rhythm's next press.
sub _pause {
	my ($self, $char) = @_;
	my $gap   = $self->{rhythm}->gap_s($char);
	my $since = (now_ns() - ($self->{down_ns} // 0)) / 1e9;
	$since = 0 if $since > 1;    # typing begins anew
	return sleep($gap - $since > 0.01 ? $gap - $since : 0.01);
}

sub _key {
	my ($self, $code, $down) = @_;
	my $ns = now_ns();
	$self->_send(pack 'L< L< l< L<', 16, KEY, $code + EVDEV_TO_X, $down);
	return $ns;
}

sub _send {
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	my $sent = syswrite $self->{sock}, $bytes;
	defined $sent && $sent == length $bytes
		or croak "$self->{path}: write: $!: the server is gone?";
	return;
}

sub _answer {
	my ($self) = @_;
	my $head = $self->_read(8);
	my ($length, $type) = unpack 'L< L<', $head;
	$length >= 8 && $length <= 64
		or croak "$self->{path}: answer of $length bytes: not the inputtest driver";
	return ($type, $self->_read($length - 8));
}

sub _read {
	my ($self, $want) = @_;
	my $got = '';
	while (length $got < $want) {
		sysread($self->{sock}, $got, $want - length $got, length $got)
			or croak "$self->{path}: read: ", $! || 'end of file', ': the server is gone?';
	}
	return $got;
}

1;
