# SPDX-License-Identifier: GPL-2.0-only
# Types into a Wayland session by a virtual keyboard, which wtype asks the compositor for: into
# whatever has the focus, since nobody may ask who has it.
package Tipme::Typist::Virtual;
use strict;
use warnings;
use parent 'Tipme::Typist';
use Carp        qw(croak);
use Time::HiRes qw(sleep);
use Tipme::Typist;
use Tipme::Typist::Rhythm;

use constant SKIPS =>
	'keys by a virtual keyboard begin in the compositor: the interrupt, the kernel\'s input device '
	. 'and the compositor\'s reading of it are left out';
my %KEYSYM = (
	backspace => 'BackSpace',  tab    => 'Tab',    return    => 'Return',    enter => 'Return',
	escape    => 'Escape',     home   => 'Home',   up        => 'Up',        down  => 'Down',
	page_up   => 'Page_Up',    left   => 'Left',   page_down => 'Page_Down', right => 'Right',
	end       => 'End',        insert => 'Insert', delete => 'Delete', kp_subtract => 'KP_Subtract',
	space     => 'space',      minus  => 'minus', equal => 'equal', "\n" => 'Return', "\t" => 'Tab',
	unbound   => 'VoidSymbol', map { ("f$_" => "F$_") } 1 .. 12
);
my %MODIFIER = (
	ctrl  => 'ctrl', control => 'ctrl', shift => 'shift', alt => 'alt', altgr => 'altgr',
	super => 'logo'
);

# Tipme::Typist::Virtual->new(seed => N, wpm => 100): dies where there is no Wayland session, or no
# wtype.
sub new {
	my ($class, %opt) = @_;
	defined $ENV{WAYLAND_DISPLAY}
		or croak 'WAYLAND_DISPLAY is not set: run it inside a Wayland session';
	grep { -x "$_/wtype" } split /:/, $ENV{PATH} // ''
		or croak 'wtype is not here: install Debian\'s wtype';
	return bless { rhythm => Tipme::Typist::Rhythm->new(%opt) }, $class;
}

# A character is typed as it is; a key with a name is held.
sub _character { my ($self, $char) = @_; return $self->key($char) }

sub key {
	my ($self, $key, %o) = @_;
	my $name = $KEYSYM{ lc $key };
	croak "no key '$key': a character, or one of @{[ sort grep { length > 1 } keys %KEYSYM ]}"
		if !defined $name && length $key != 1;
	my $hold = int($o{hold_ms} // 1000 * $self->{rhythm}->hold_s);
	return $self->_typed(
		$key,
		defined $name ? ('-P', $name, '-s', $hold, '-p', $name) : ('--', $key)
	);
}

sub chord {
	my ($self, $text) = @_;
	my @names = split /(?<=.)\+/, $text;
	my $last  = pop(@names) // croak 'a chord needs keys, as in Ctrl+Alt+minus';
	my @with  = map { $MODIFIER{ lc $_ } // croak "no modifier '$_'" } @names;
	my $name  = $KEYSYM{ lc $last } // $last;
	return $self->_typed(
		$text, (map { ('-M', $_) } @with), '-k', $name,
		map { ('-m', $_) } reverse @with
	);
}

sub unbound { my ($self) = @_; return $self->key('unbound') }

sub _typed {
	my ($self, $key, @args) = @_;
	utf8::encode($_) for @args;
	my $ns = $self->{down_ns} = Tipme::Typist::now_ns();
	system('wtype', @args) == 0
		or croak 'wtype failed: has this compositor the virtual-keyboard protocol?';
	return { key => $key, press_ns => $ns, release_ns => Tipme::Typist::now_ns() };
}

sub _pointer_button { croak 'a virtual keyboard has no pointer' }
sub _pointer_move   { croak 'a virtual keyboard has no pointer' }

1;
