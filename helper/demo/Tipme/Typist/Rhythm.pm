# SPDX-License-Identifier: GPL-2.0-only
# When a person presses the next key, and for how long: a model with a seed, never somebody's
# recording (which would tell what was typed).
package Tipme::Typist::Rhythm;
use strict;
use warnings;

# The form and the figures are those of Dhakal, Feit, Kristensson, Oulasvirta: "Observations on
# Typing from 136 Million Keystrokes" (CHI 2018), rounded:
# intervals are skewed to the right, with a standard deviation of about half of their mean (239
# ms, 112 ms), and a key stays down for about 116 ms.
# Letters of two hands come faster than those of one, and the same letter twice faster than two of
# one finger (Salthouse, Psychological Bulletin 99, 1986).
use constant SPREAD =>
	0.44;    # of the logarithm of an interval: a standard deviation of 0.46 of the mean
use constant HOLD_S      => 0.116;
use constant HOLD_SPREAD => 0.2;
use constant {
	ALTERNATED => 0.88, REPEATED => 0.80, SAME_HAND => 1.08, WORD_BEGINS => 1.25,
	OTHER_SIGN => 1.35
};
use constant LONGEST        => 4;    # times the mean: a person who stops to think is `sleep`
use constant LETTERS_A_WORD => 5;

my %HAND = (
	(map { $_ => 'left' } split //, 'qwertasdfgzxcvb'),
	(map { $_ => 'right' } split //, 'yuiophjklnm')
);

# Tipme::Typist::Rhythm->new(seed => N, wpm => 100): words of five keys a minute, pauses for
# thought left out
sub new {
	my ($class, %o) = @_;
	return bless {
		state  => ($o{seed} // 1) & 0xffffffff,
		mean_s => 60 / (LETTERS_A_WORD * ($o{wpm} || 100))
	}, $class;
}

# gap_s(CHARACTER): seconds from the press before to the press of this one
sub gap_s {
	my ($self, $char) = @_;
	my $s = $self->{mean_s} * $self->_factor(lc($char // '')) * $self->_lognormal(SPREAD);
	$self->{last} = lc($char // '');
	return $s < LONGEST * $self->{mean_s} ? $s : LONGEST * $self->{mean_s};
}

# hold_s(): seconds that the key stays down; at most a bit more than half of the mean interval, as
# this typist has but one key down at a time
sub hold_s {
	my ($self) = @_;
	my $s      = HOLD_S * $self->_lognormal(HOLD_SPREAD);
	my $most   = 0.55 * $self->{mean_s};
	return $s < $most ? $s : $most;
}

sub _factor {
	my ($self, $char) = @_;
	my $last = $self->{last} // return WORD_BEGINS;
	return REPEATED if $char eq $last;
	my ($a, $b) = @HAND{ $last, $char };
	return $last eq ' ' && $b ? WORD_BEGINS : $char eq ' ' ? 1 : OTHER_SIGN if !$a || !$b;
	return $a eq $b ? SAME_HAND : ALTERNATED;
}

# Of mean 1.
sub _lognormal { my ($self, $sigma) = @_; return exp($sigma * $self->_normal - $sigma**2 / 2) }

# Box and Muller, 1958.
sub _normal {
	my ($self) = @_;
	my ($u, $v) = ($self->_uniform, $self->_uniform);
	return sqrt(-2 * log($u)) * cos(6.283185307179586 * $v);
}

# Our own generator, so that a seed means the same with each Perl; never 0.
sub _uniform {
	my ($self) = @_;
	$self->{state} = ($self->{state} * 1664525 + 1013904223) & 0xffffffff;
	return (($self->{state} >> 8) + 0.5) / (1 << 24);
}

1;
