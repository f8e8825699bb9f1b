# SPDX-License-Identifier: GPL-2.0-only
# When an input event was answered: the last change of the screen that it caused, or none yet.
package Tipme::Answered;

use strict;
use warnings;

my $SURE_NS = 30_000_000;    # what is answered faster is not looked at more closely

# new(kernel => Kernel, path => InputPath, inferred => Inferred, rest => AtRest, caused => Caused,
# trigger => ns)
sub new { my ($class, %o) = @_; return bless { %o, resolved => {} }, $class }

# response(EVENT): { first_ns, end_ns, open, gone, damage, exact }: when the screen began to change, and had changed; open: it was not, up to the trigger or (gone) until the client closed its
# connection; undef: no visible effect
sub response {
	my ($self, $e) = @_;
	return { end_ns => $e->{device_ns}, open => 0, damage => undef, exact => 1 } if ($e->{motion} // '') eq 'cursor';
	return { end_ns => $self->{trigger}, open => 1, damage => undef, exact => 1 } if $e->{pending};
	return if !defined $e->{deliver_ns};
	if (!$self->{resolved}{ $e->{n} }) {
		$self->{inferred}->refine($e);
		$self->{resolved}{ $e->{n} } = [ $self->_observed($e, $self->_resolve($e)) ];
	}
	return $self->{resolved}{ $e->{n} }[0];
}

# A change that was only observed from outside happened while the server ran, somewhere in the millisecond that it named.
sub _observed {
	my ($self, $e, $r) = @_;
	return $r if !$r || $e->{server}{exact};
	my $turn = $r->{damage} && $self->{kernel}->has_records ? $self->{inferred}->turn($e, $r->{damage}) : undef;
	my $end = $turn ? $turn->{to} : $r->{end_ns};
	return { %$r, exact => 0, end_ns => !$r->{open} && $end > $self->{trigger} ? $self->{trigger} : $end };
}

sub _end {
	my ($burst, %o) = @_;
	return { first_ns => $burst->[0], end_ns => $burst->[1], open => 0, damage => $burst->[2][-1], exact => 1, %o };
}

sub _resolve {
	my ($self, $e) = @_;
	my @b = @{ $e->{bursts} };
	return _end($b[-1]) if @b && $b[-1][1] - $e->{deliver_ns} < $SURE_NS;
	if (!$self->{kernel}->has_records || !$e->{pid}) { return @b ? _end($b[0], exact => 0) : undef }
	my $limit = @b ? $b[0][0] : $e->{next_ns} // $self->{trigger};
	my $quiet = $self->{rest}->since($e, $limit);
	my @sure = defined $quiet ? () : $b[0] // ();
	my $later = $self->{caused}->last_of($e, @b[ scalar @sure .. $#b ]);
	return _end($later) if $later;
	return _end($sure[0]) if @sure;
	return if defined $quiet;
	# Where an X server's records reach back further than the kernel's, nobody knows whether the client had come to rest.
	return if $limit <= $self->{kernel}->covered_from;
	# The client has not looked at anything else meanwhile: what it shows after the next press answers this one as well.
	my ($first) = @{ $self->{path}->bursts($e, $e->{next_ns} // $self->{trigger}, $self->{trigger} + 1) };
	return _end($first) if $first;
	my $gone = defined $e->{gone_ns} && $e->{gone_ns} < $self->{trigger} ? 1 : 0;
	return { end_ns => $gone ? $e->{gone_ns} : $self->{trigger}, open => 1, gone => $gone, damage => undef, exact => 1 };
}

1;
