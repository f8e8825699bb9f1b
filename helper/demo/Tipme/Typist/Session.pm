# SPDX-License-Identifier: GPL-2.0-only
# Types into an X session by XTEST, in the session's own layout, as long as the window that was
# meant has the focus.
package Tipme::Typist::Session;
use strict;
use warnings;
use parent 'Tipme::Typist';
use Carp        qw(croak);
use Time::HiRes qw(sleep);
use Tipme::Typist;
use Tipme::Typist::Rhythm;

# What keys that are pressed so do not go through, and an analysis of them therefore does not see.
use constant SKIPS =>
	'keys by XTEST begin in the X server: the interrupt, the kernel\'s input device and the '
	. 'server\'s reading of it are left out';
use constant RELATIVE => 1;    # of a motion
use constant { SHIFT_KEYSYM => 0xffe1, LEVEL3_KEYSYM => 0xfe03, UNICODE => 0x01000000 };

my %KEYSYM = (
	backspace => 0xff08, tab => 0xff09, return => 0xff0d, enter => 0xff0d, escape => 0xff1b,
	delete => 0xffff, home => 0xff50, left => 0xff51, up => 0xff52, right => 0xff53, down => 0xff54,
	page_up => 0xff55, page_down => 0xff56, end => 0xff57, insert => 0xff63, kp_subtract => 0xffad,
	ctrl    => 0xffe3, control => 0xffe3, shift => SHIFT_KEYSYM, capslock => 0xffe5, alt => 0xffe9,
	super   => 0xffeb,
	altgr   => LEVEL3_KEYSYM, space => 0x20, minus => 0x2d, equal => 0x3d, "\n" => 0xff0d,
	"\t"    => 0xff09,        map { ("f$_" => 0xffbd + $_) } 1 .. 12,
);

# Tipme::Typist::Session->new(window => ID, seed => N, wpm => 100): keys go to that window as long
# as it has the focus; without one to the window that has
# it now. Dies where no X server answers, or has no XTEST.
sub new {
	my ($class, %opt) = @_;
	my $self = bless { rhythm => Tipme::Typist::Rhythm->new(%opt), x => connect_to_session() },
		$class;
	$self->{x}->init_extension('XTEST')
		or croak 'the X server has no XTEST: nothing can be typed: start it with this extension';
	$self->_read_layout;
	$self->{window} = $opt{window} // $self->_focus;
	return $self;
}

# connect_to_session(): to the X server of DISPLAY. X11::Protocol finds no entry of family "any",
# as headless servers have.
sub connect_to_session {
	my $display = $ENV{DISPLAY} // croak 'DISPLAY is not set: run it inside a session';
	eval { require X11::Protocol; require X11::Auth; require X11::Protocol::Ext::XTEST; 1 }
		or croak "X11::Protocol is not here: install Debian's libx11-protocol-perl and "
		. "libx11-protocol-other-perl";
	my $file = $ENV{XAUTHORITY} // ($ENV{HOME} // '') . '/.Xauthority';
	my ($any) =
		-r $file
		? grep { $_->[0] eq 'Wild' || $_->[0] eq '65535' } X11::Auth->new($file)->get_all
		: ();
	my $x = eval { X11::Protocol->new($display, $any ? [ @$any[ 3, 4 ] ] : ()) }
		// croak "$display: no X server answers: ", $@ =~ s/ at \S+ line.*//sr;
	return $x;
}

# keysym => [keycode, level]: levels 0 to 3 of the first group, plain, Shift, AltGr, both
sub _read_layout {
	my ($self) = @_;
	my $x = $self->{x};
	my ($first, $last) = @$x{qw(min_keycode max_keycode)};
	my @map = $x->GetKeyboardMapping($first, $last - $first + 1);
	for my $i (0 .. $#map) {
		my @column = @{ $map[$i] };
		$self->{unbound} //= [ $first + $i, 0 ] if !grep {$_} @column;
		for my $level (0 .. 3) {
			my $sym = $column[ (0, 1, 4, 5)[$level] ] || next;
			my $had = $self->{code}{$sym};
			$self->{code}{$sym} = [ $first + $i, $level ] if !$had || $had->[1] > $level;
		}
	}
	return;
}

sub unbound {
	my ($self) = @_;
	return $self->_stroke(
		'unbound',
		$self->{unbound} // croak 'the layout of this session has no key without a meaning'
	);
}

# window(): who had the focus when it began to type; a number, or a name where no window had it
sub window { my ($self) = @_; return $self->{window} }

sub _focus { my ($self) = @_; my ($window) = $self->{x}->GetInputFocus; return $window }

sub _keysym_of {
	my ($char) = @_;
	my $n = ord $char;
	return $KEYSYM{$char} // ($n < 256 ? $n : UNICODE + $n);
}

# A key by its name or by what it types: [keycode, level].
sub _code {
	my ($self, $key) = @_;
	my $sym = length $key == 1 ? _keysym_of($key) : $KEYSYM{ lc $key } // croak
		"no key '$key': a character, or one of @{[ sort grep { length > 1 } keys %KEYSYM ]}";
	return $self->{code}{$sym} // croak length $key == 1
		? sprintf('the layout of this session has no key for U+%04X', ord $key)
		: "the layout of this session has no key $key";
}

# With the keys that its level wants.
sub _character {
	my ($self, $char) = @_;
	my $code = $self->_code($char);
	my @with = map {
		$self->{code}{$_} // croak "the layout of this session has no key for the level of '$char'"
	} ($code->[1] & 1 ? SHIFT_KEYSYM : ()), ($code->[1] & 2 ? LEVEL3_KEYSYM : ());
	for (@with) { $self->_key($_, 1); sleep 0.01 }
	my $stroke = $self->_stroke($char, $code);
	$self->_key($_, 0) for reverse @with;
	return $stroke;
}

# A key that goes down for another window would be typed into somebody's letter.
sub _key {
	my ($self, $code, $down) = @_;
	$self->_still_there if $down;
	return $self->_fake($down ? 'KeyPress' : 'KeyRelease', $code->[0]);
}

sub _still_there {
	my ($self) = @_;
	$self->_focus eq $self->{window}
		or croak 'the window has lost the focus: nothing more is typed';
	return;
}

# Nothing is waited for: who types does not wait for the server either. Times are those of the
# request.
sub _fake {
	my ($self, $name, $detail, @more) = @_;
	my $ns = Tipme::Typist::now_ns();
	$self->{x}->XTestFakeInput(name => $name, detail => $detail, @more);
	$self->{x}->flush;
	return $ns;
}

sub _pointer_button {
	my ($self, $button, $down) = @_;
	$self->_still_there if $down;
	return $self->_fake($down ? 'ButtonPress' : 'ButtonRelease', $button);
}

sub _pointer_move {
	my ($self, $dx, $dy) = @_;
	return $self->_fake('MotionNotify', RELATIVE, root_x => $dx, root_y => $dy);
}

1;
