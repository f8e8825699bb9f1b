# SPDX-License-Identifier: GPL-2.0-only
# Types into one window of an X session by XTEST, through xdotool, which knows the session's layout.
package Tipme::Typist::Session;
use strict;
use warnings;
use parent 'Tipme::Typist';
use Carp qw(croak);
use Tipme::Typist;

my %keysym = (
	return => 'Return', enter => 'Return', backspace => 'BackSpace', tab => 'Tab', escape => 'Escape', space => 'space',
	ctrl => 'Control_L', control => 'Control_L', alt => 'Alt_L', shift => 'Shift_L', minus => 'minus', ' ' => 'space', "\n" => 'Return',
);

# Tipme::Typist::Session->new(window => ID, seed => N, wpm => 100): keys go to that window as long as it has the focus.
sub new {
	my ($class, %opt) = @_;
	open my $xdotool, '|-', 'xdotool', '-' or croak "xdotool: $!";
	$xdotool->autoflush(1);
	return bless { window => $opt{window}, xdotool => $xdotool, state => ($opt{seed} // 1) & 0xffffffff, wpm => $opt{wpm} || 100 }, $class;
}

sub _code {
	my ($self, $key) = @_;
	return $keysym{lc $key} // ($key =~ /^[A-Za-z0-9]\z/ ? $key : length $key == 1 ? sprintf 'U%04X', ord $key : $key);
}

sub _character { my ($self, $char) = @_; return $self->_stroke($char, $self->_code($char)) }

# A key that goes down for another window would be typed into somebody's letter.
sub _key {
	my ($self, $name, $down) = @_;
	if ($down) {
		my ($focus) = qx{xdotool getwindowfocus 2>/dev/null} =~ /^(\d+)/;
		defined $focus && $focus == $self->{window} or croak 'the terminal has lost the focus: nothing more is typed';
	}
	my $ns = Tipme::Typist::now_ns();
	print { $self->{xdotool} } $down ? 'keydown' : 'keyup', " $name\n" or croak "xdotool: $!";
	return $ns;
}

1;
