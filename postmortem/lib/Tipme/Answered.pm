# SPDX-License-Identifier: GPL-2.0-only
# When an input event was answered: the last change of the screen that it caused, or none yet.
package Tipme::Answered;

use strict;
use warnings;

my $SURE_NS   = 30_000_000;     # what is answered faster is not looked at more closely
my $ALL       = 1 << 30;        # bursts
my $ONE_GO_NS = 150_000_000;    # what is drawn within is drawn in one go
my $LONG_NS =
	200_000_000;    # a client that can take no event for so long hangs, whatever it has drawn

# new(episode => Episode, kernel => Kernel, path => InputPath, rest => AtRest, caused => Caused,
# trigger => ns)
sub new { my ($class, %o) = @_; return bless { %o, resolved => {} }, $class }

# response(EVENT): { first_ns, end_ns, open, gone, damage, exact, busy, tid, asked }: when the
# screen began to change, and had changed; open: it was not, up to the trigger or (gone) until the
# client closed its connection; busy: it ends when the client could take another event, or still can
# take none (open);
# tid: the thread from which the chain goes back, where the end is not a change of the screen.
# asked: [ thread, ns ], where the answer was waited for from then on, of somebody who was not at
# rest.
# drawn_ns, frame: where a compositor had to bring it to the screen: when the client had drawn, and
# what
# DisplaySource's shown() knows of it; open then is what the compositor owes.
# undef: no visible effect
sub response {
	my ($self, $e) = @_;
	return { end_ns => $e->{device_ns}, open => 0, damage => undef, exact => 1 }
		if ($e->{motion} // '') eq 'cursor';
	return { end_ns => $self->{trigger}, open => 1, damage => undef, exact => 1 } if $e->{pending};
	return                          if !defined $e->{deliver_ns};
	return $self->_first_window($e) if $e->{start};
	if (!$self->{resolved}{ $e->{n} }) {
		$e->{server}->refine($e);
		my $told = $self->_told($e);
		$self->{resolved}{ $e->{n} } =
			$told
			? [$told]
			: [
			$self->_shown(
				$e, scalar $self->_until_free($e, scalar $self->_observed($e, $self->_drawn($e)))
			)
			];
	}
	return $self->{resolved}{ $e->{n} }[0];
}

# A program has started when its first window is on the screen.
sub _first_window {
	my ($self, $e) = @_;
	my $told = $self->_told($e);
	return $told if $told;
	my ($b) = @{ $e->{bursts} };
	return $self->_shown($e, scalar $self->_observed($e, _end($b))) if $b;
	# One that rests, and has drawn nothing, is none that shows windows.
	return if $self->{rest}->rested($e->{pid}, $e->{start}{from_ns}, $self->{trigger});
	return { end_ns => $self->{trigger}, open => 1, damage => undef, exact => 1, tid => $e->{pid} };
}

# What a bundle tells of its event: the records by which that was found have stayed where they were
# made.
sub _told {
	my ($self, $e) = @_;
	my $own = $self->{path}->own;
	my $a   = $own && $e == $own ? $self->{episode}->manifest->{bundle}{event}{answer} : undef;
	return if !$a;
	my $damage =
		defined $a->{damage_ns}
		? (sort { ($b->{client} == $e->{client}) <=> ($a->{client} == $e->{client}) }
			$e->{server}->between('draw', $a->{damage_ns}, $a->{damage_ns} + 1))[0]
		: undef;
	return if !$damage && (defined $a->{damage_ns} || !$a->{open} && !$a->{busy});
	return {
		(
			map { defined $a->{$_} ? ($_ => $a->{$_}) : () }
				qw(first_ns tid busy gone drawn_ns frame)
		),
		end_ns => $a->{end_ns},
		open   => $a->{open},
		exact  => $a->{exact},
		damage => $damage,
		defined $a->{asked_ns} ? (asked => [ $a->{asked_tid}, $a->{asked_ns} ]) : ()
	};
}

# A change that was only observed from outside happened while the server ran, somewhere in the
# millisecond that it named.
sub _observed {
	my ($self, $e, $r) = @_;
	return $r if !$r || $e->{server}{exact};
	my $end = $r->{damage} ? $e->{server}->drawn_ns($e, $r->{damage}) : $r->{end_ns};
	return {
		%$r, exact => 0,
		end_ns => !$r->{open} && $end > $self->{trigger} ? $self->{trigger} : $end
	};
}

# What was drawn is seen when a compositor has brought it to the screen.
sub _shown {
	my ($self, $e, $r) = @_;
	my $s =
		   $r
		&& $r->{draws}
		&& !$r->{open}
		&& !$r->{busy} ? $e->{server}->shown($e, $r->{draws}, $self->{trigger}) : undef;
	return $r                  if !$s;
	return { %$r, exact => 0 } if !defined $s->{pid};
	my %drawn = (drawn_ns => $r->{end_ns}, frame => $s);
	return { %$r, %drawn, end_ns => $self->{trigger}, open  => 1 } if !defined $s->{ns};
	return { %$r, %drawn, end_ns => $s->{ns},         exact => $r->{exact} && $s->{exact} ? 1 : 0 };
}

sub _end {
	my ($burst, %o) = @_;
	return {
		first_ns => $burst->[0], end_ns => $burst->[1], open => 0, damage => $burst->[2][-1],
		draws    => $burst->[2], exact  => 1,           %o
	};
}

sub _drawn {
	my ($self, $e) = @_;
	my @b = @{ $e->{bursts} };
	return _end($b[-1]) if @b && $b[-1][1] - $e->{deliver_ns} < $SURE_NS;
	if (!$self->{kernel}->has_records || !$e->{pid}) { return @b ? _end($b[0], exact => 0) : undef }
	my $limit = @b ? $b[0][0] : $e->{next_ns} // $self->{trigger};
	my $quiet = $self->{rest}->since($e, $limit);
	my @sure  = defined $quiet ? () : $b[0] // ();
	my ($later, $how) = $self->{caused}->last_of($e, @b[ scalar @sure .. $#b ]);

	if ($later) {
		my ($first, @from) =
			@sure ? ('chain', @b) : $self->_from_first_caused($e, $later, $how, @b);
		($later, $how) = $self->_first_go($e, $later, $how, $first, @from) if $from[0] != $later;
	}
	if ($later) {
		my @how = ref $how ? (exact => 0, @$how ? (asked => $how) : ()) : ();
		return _end($self->_with_the_rest($e, $later), @how);
	}
	return _end($self->_with_the_rest($e, $sure[0])) if @sure;
	# The client rests, and has drawn nothing: a key without effect.
	return if defined $quiet;
	# Where an X server's records reach back further than the kernel's, nobody knows whether the
	# client had come to rest.
	return if $limit <= $self->{kernel}->covered_from;
	# The client has not looked at anything else meanwhile: what it shows after the next press
	# answers this one as well.
	my ($first) =
		@{ $self->{path}->bursts($e, $e->{next_ns} // $self->{trigger}, $self->{trigger} + 1) };
	return _end($first) if $first;
	my $gone = defined $e->{gone_ns} && $e->{gone_ns} < $self->{trigger} ? 1 : 0;
	return {
		end_ns => $gone ? $e->{gone_ns} : $self->{trigger}, open => 1, gone => $gone,
		damage => undef, exact => 1, tid => $self->{rest}->hand($e)
	};
}

# The burst that brings the rest of what the client was about to draw with one, or that one.
sub _with_the_rest {
	my ($self, $e, $b) = @_;
	# What a clock sends after a release may be of the press.
	return $b if $e->{kind} eq 'key_release';
	my ($next) = grep { $_->[0] > $b->[1] } @{ $e->{bursts} };
	my @by     = $next ? $self->{caused}->sends_the_rest($e, $b, $next) : ();
	return @by ? $next : $b;
}

# The bursts from the first one on that the event caused, where a later one is the last; before them
# how that first one was caused.
sub _from_first_caused {
	my ($self, $e, $later, $how, @b) = @_;
	while ($b[0] != $later) {
		my ($caused, $first_how) = $self->{caused}->last_of($e, $b[0]);
		return ($first_how, @b) if $caused;
		shift @b;
	}
	return ($how, @b);
}

# An answer that was long in coming is the one that was waited for. What the event also causes after
# a shorter silence (a process that was started works on) comes besides.
sub _first_go {
	my ($self, $e, $later, $how, $first_how, $first, @b) = @_;
	my $waited = $first->[0] - $e->{deliver_ns};
	return ($later, $how) if $waited < $LONG_NS;
	# All that it surely caused before the client rests for the first time is one answer.
	return ($later, $how) if !ref $how && !defined $self->{rest}->since($e, $later->[0]);
	my ($end, @go) = ($first->[1]);
	while (@b && $b[0][0] - $end < $ONE_GO_NS) {
		return ($later, $how) if $b[0] == $later;
		push @go, shift @b;
		$end = $go[-1][1];
	}
	for (@b) {
		return ($later, $how) if $_->[0] - $end >= $waited;
		last                  if $_ == $later;
		$end = $_->[1];
	}
	my @in = $self->{caused}->last_of($e, @go);
	return @in ? @in : ($first, $first_how);
}

# hangs_until(EVENT): ns up to which the client could take no other event, if that was long; else
# undef
sub hangs_until {
	my ($self, $e) = @_;
	return if $e->{motion} || $e->{start};
	my $b  = $self->{rest}->free_at($e) or return;
	my $to = $b->{to} < $self->{trigger} ? $b->{to} : $self->{trigger};
	return $to - $e->{deliver_ns} >= $LONG_NS ? $to : undef;
}

# A client that can take no event is slow, whatever it has drawn before; unless it goes on drawing,
# and so plays a film. RESPONSE: what was drawn.
sub _until_free {
	my ($self, $e, $r) = @_;
	my $to = $r && $r->{open} ? undef : $self->hangs_until($e);
	return $r if !defined $to || $r && $r->{end_ns} > $to - $LONG_NS;
	my $t = $e->{deliver_ns};
	my $hung;
	for my $b (@{ $self->{path}->bursts($e, $t, $to, $ALL) }) {
		$hung = $b if $b->[0] - $t >= $LONG_NS;
		$t    = $b->[1];
	}
	my @first = $r && defined $r->{first_ns} ? (first_ns => $r->{first_ns}) : ();
	my $b     = $self->{rest}->free_at($e);
	return {
		@first, end_ns => $to, open => $b->{to} > $to ? 1 : 0, damage => undef, exact => 1,
		busy => 1, tid => $b->{tid}
		}
		if $to - $t >= $LONG_NS;
	return $hung ? { %{ _end($hung) }, @first } : $r;
}

1;
