# SPDX-License-Identifier: GPL-2.0-only
# Every input event and its way: when the server read it, to whom it went, what changed on the
# screen after that; from the display sources alone.
package Tipme::InputPath;

use strict;
use warnings;
use Tipme::DisplaySource;
use Tipme::Starts;

my $BURST_GAP_NS  = 10_000_000;       # damages closer than this are one burst
my $CHORD_SPAN_NS = 2_000_000_000;    # presses that lead up to a hot-key are at most that old
my $LATE_NS       = 50_000_000;       # a server may read a key so much later than we do
my $HEARD_NS      = 500_000_000; # an agent asks for the snapshot within this of hearing the hot-key
my $MS            = 1_000_000;
my $READ_NS =
	100_000_000; # an input thread may be kept from working for so long between reading and stamping
my $MAX_BURSTS = 60;    # of one event; what goes on longer is a film, not an answer
my %PRESS      = map { $_ => 1 } qw(key_press button_press key_repeat wheel);
my %CANDIDATE  = map { $_ => 1 } qw(key_press key_repeat button_press button_release touch wheel);

# new(EPISODE): all input events of all display sources
sub new {
	my ($class, $ep) = @_;
	my $self = bless {
		ep      => $ep,                                     trigger => $ep->watched_until,
		servers => [ Tipme::DisplaySource->load_all($ep) ], events  => []
	}, $class;
	$self->{is_agent} = { map { $_ => 1 } $ep->agents };
	push @{ $self->{events} }, $self->_events_of($_) for @{ $self->{servers} };
	$self->{events} = [ sort { $a->{device_ns} <=> $b->{device_ns} || $a->{seq} <=> $b->{seq} }
			@{ $self->{events} } ];
	$self->_number(($ep->manifest->{bundle} // {})->{event});
	return $self;
}

# In order of time; the event of a bundle, which has no others, keeps the number that it had where
# it was recorded.
sub _number {
	my ($self, $own) = @_;
	my ($mine) =
		$own && $own->{start_ns} <= $own->{ns} && $own->{start_ns} < $own->{answer}{end_ns}
		? grep { $_->{device_ns} == $own->{ns} } @{ $self->{events} }
		: ();
	my $n = 0;
	for my $e (@{ $self->{events} }) {
		if ($mine && !$own->{start} && $e == $mine) { $e->{n} = $own->{n}; next }
		$n++ if ++$n == ($mine ? $own->{n} : 0);
		$e->{n} = $n;
	}
	$mine = $self->_start_of($mine, $own) if $mine && $own->{start};
	$self->{own} = $mine;
	return;
}

# The start of a program that a bundle is about: who had it made is not looked for again.
sub _start_of {
	my ($self, $press, $own) = @_;
	my %start = %{ $own->{start} };
	my ($x) = grep { $_->{pid} == ($own->{shown_by} // 0) } $self->servers;
	$x //= $press->{server};
	my @drawn = grep { $_->{client} == $start{client} }
		$x->between('draw', $start{from_ns}, $self->{trigger} + 1);
	my $e = Tipme::Starts::made_of({ %$press, server => $x }, $self, \@drawn, \%start);
	@$e{qw(n)} = $own->{n};
	$e->{start}{kind} = $press->{kind};
	push @{ $self->{events} }, $e;
	return $e;
}

# add(EVENTS): others, which come behind: the numbers of those that are there stay
sub add {
	my ($self, @more) = @_;
	my ($n) = sort { $b <=> $a } 0, map { $_->{n} } @{ $self->{events} };
	$_->{n} = ++$n for @more;
	push @{ $self->{events} }, @more;
	return;
}

# own(): the event that a bundle is about; undef where all were recorded here, or it is not there
sub own { return $_[0]{own} }

# events(): { n, server, seq, kind, device, kernel_ns, read_ns, device_ns, wakeup_ns, deliver_ns,
# client, pid, chord, candidate, gone_ns, next_ns, bursts }
# gone_ns: when the client closed its connection after that (undef: it did not); next_ns: when the
# next press went to the same client
#   (undef: none); bursts: [ from, to, \@damages ] between delivery and that
# motion: cursor (the pointer itself is the answer) or drag (a button is held: the client answers);
# of those that the server read in one
#   go only the first is a candidate, the others waited less
sub events  { return @{ $_[0]{events} } }
sub servers { return @{ $_[0]{servers} } }

sub _events_of {
	my ($self, $x) = @_;
	my $code = $self->{ep}->record;
	my %deliver;
	my %agent;    # what went to our own agent or its dialog: the hot-key, and the user's answer
	for my $d (grep { $_->{input_seq} } $x->all('deliver')) {
		if ($self->{is_agent}{ $d->{pid} }) { $agent{ $d->{input_seq} } = $d }
		else                                { push @{ $deliver{ $d->{input_seq} } }, $d }
	}
	my (@events, %seen);
	for my $d ($x->all('device')) {
		next if $d->{is_master} || $d->{given_away} || $seen{ $d->{input_seq} }++;
		my %e = (
			server => $x, seq => $d->{input_seq}, kind => $code->name_of('input_kind', $d->{kind}),
			device => $d->{device},       device_ns     => $d->{ts_ns},
			server_ms => $d->{server_ms}, device_record => $d, bursts => []
		);
		my $w = $x->last_before('wakeup', $d->{ts_ns} + 1);
		my $s = $x->last_before('sleep',  $d->{ts_ns} + 1);
		$e{wakeup_ns} = $w->{ts_ns}, $e{wakeup_record} = $w
			if $w && (!$s || $s->{ts_ns} <= $w->{ts_ns});
		$self->_delivery(
			\%e, $x,
			[ grep { $_->{ts_ns} >= $d->{ts_ns} } @{ $deliver{ $d->{input_seq} } // [] } ]
		);
		push @events, \%e;
	}
	my @unseen = _add_kernel_times($x, \@events, $code);
	$self->_mark_chords($x, \@events, $self->_heard(\@events, \%agent), $x->all('chord'));
	$self->_mark_motion(\@events);
	$self->_add_bursts($x, \@events);
	return (@events, $self->_pending($x, \@events, @unseen));
}

# Presses that the input thread read before the trigger and the main thread had not come to by then:
# a server that hangs.
# pending: nobody has answered such an event, nor even looked at it.
sub _pending {
	my ($self, $x, $events, @unseen) = @_;
	my $t    = $self->{trigger};
	my @late = grep {
			  !$_->{chord}
			&& $CANDIDATE{ $_->{kind} }
			&& defined $_->{read_ns}
			&& $_->{read_ns} < $t
			&& $_->{device_ns} > $t
	} @$events;
	$_->{pending} = $_->{candidate} = 1 for @late;
	# Since then it has not been idle once, or it would have taken them.
	my $awake = $x->last_before('sleep', $t);
	my $from  = $awake ? $awake->{ts_ns} : 0;
	my @p     = sort { $a->{read_ns} <=> $b->{read_ns} }
		grep { $_->{read_ns} > $from && $_->{read_ns} < $t && $CANDIDATE{ $_->{kind} } } @unseen;
	$_->{server} = $x, $_->{pending} = 1 for @p;
	for my $c ($x->all('input_chord')) {
		my @before = grep {
				   $_->{read_ns} <= $c->{ts_ns}
				&& $_->{read_ns} >= $c->{ts_ns} - $CHORD_SPAN_NS
				&& $_->{kind} eq 'key_press'
		} @p;
		next if !@before || $before[-1]{read_ns} != $c->{ts_ns};
		$_->{chord} = 1 for @before > 3 ? @before[ -3 .. -1 ] : @before;   # two modifiers, as above
	}
	$_->{candidate} = 1 for grep { !$_->{chord} } @p;
	return @p;
}

# What the input thread read became a device event at once, stamped with that millisecond.
# Backwards: of several that were read before the stamp the last is meant, and what was read but
# came to nothing takes nobody's place.
sub _add_kernel_times {
	my ($x, $events, $code) = @_;
	my (%read, %at, %taken);
	push @{ $read{ $code->name_of('input_kind', $_->{kind}) } }, $_ for $x->all('input');
	for my $e (
		sort { $b->{server_ms} <=> $a->{server_ms} || $b->{seq} <=> $a->{seq} }
		grep { $_->{server_ms} } @$events
		)
	{
		my $l     = $read{ $e->{kind} } or next;
		my $stamp = _stamp_ns($e);
		my $k     = $at{ $e->{kind} } // $#$l;
		$k-- while $k >= 0 && $l->[$k]{ts_ns} > $stamp + $MS;
		$at{ $e->{kind} } = $k;
		next if $k < 0 || $l->[$k]{ts_ns} < $stamp - $READ_NS;
		my $r = $l->[$k];
		$at{ $e->{kind} }--;
		$taken{ 0 + $r } = 1;
		@$e{qw(read_ns read_record kernel_ns)} = ($r->{ts_ns}, $r, _kernel_ns($r));
	}
	# What is left came to nothing that is recorded.
	return map {
		my $kind = $_;
		map {
			+{
				seq           => 0, kind => $kind, device => $_->{device}, device_ns => $_->{ts_ns},
				read_ns       => $_->{ts_ns}, kernel_ns => _kernel_ns($_),
				device_record => $_,          bursts    => []
			}
		} grep { !$taken{ 0 + $_ } } @{ $read{$kind} }
	} sort keys %read;
}

sub _kernel_ns {
	my ($r) = @_;
	return $r->{kernel_ns} && $r->{kernel_ns} <= $r->{ts_ns} ? $r->{kernel_ns} : undef;
}

# The server's stamp counts milliseconds, in 32 bits.
sub _stamp_ns {
	my ($e) = @_;
	my $age = (int($e->{device_ns} / $MS) - $e->{server_ms}) & 0xffffffff;
	return $e->{device_ns} - ($age < 0x80000000 ? $age : 0) * $MS - $e->{device_ns} % $MS;
}

# An event may go to several clients (a window manager listens, too): the one that changes the
# screen first has it.
sub _delivery {
	my ($self, $e, $x, $to) = @_;
	# Telling a client that it has the keyboard now is not giving it the key.
	my @same = grep { $self->{ep}->record->name_of('input_kind', $_->{kind}) eq $e->{kind} } @$to;
	$to = \@same if @same;
	my $first = $to;
	return if !@$to;
	# What comes later was let go by somebody who had it first (a window manager that holds keys and
	# clicks back).
	my @later = grep { $_->{ts_ns} > $to->[0]{ts_ns} + $MS } @$to;
	$to = [ grep { $_->{ts_ns} >= $later[-1]{ts_ns} - $MS } @later ] if @later;
	my ($best, $best_ns) = @$to == 1 ? $to->[0] : ();
	for my $d (@$to > 1 ? @$to : ()) {
		my $t = _first_damage($x, $d);
		($best, $best_ns) = ($d, $t)
			if !$best || defined $t && (!defined $best_ns || $t < $best_ns);
	}
	@$e{qw(deliver_ns pid client deliver_record)} =
		($best->{ts_ns}, $best->{pid}, $best->{client}, $best);
	$e->{held} = { pid => $first->[0]{pid}, from => $first->[0]{ts_ns}, to => $best->{ts_ns} }
		if @later && $first->[0]{pid} && $first->[0]{pid} != $best->{pid};
}

sub _first_damage {
	my ($x, $d) = @_;
	my $l = $x->{draw};
	for (
		my $k = $x->lower('draw', $d->{ts_ns});
		$k < @$l && $l->[$k]{ts_ns} < $d->{ts_ns} + $CHORD_SPAN_NS;
		$k++
		)
	{
		return $l->[$k]{ts_ns} if $l->[$k]{pid} == $d->{pid} && $l->[$k]{client} == $d->{client};
	}
	return;
}

# A hot-key and the presses that lead up to it are the user's question, not what it is about. Which
# keys they are is not recorded: so it is the run of presses of the same device up to the chord, as
# long as nothing on the screen answered them, or they were held down.
sub _mark_chords {
	my ($self, $x, $events, @chords) = @_;
	for my $c (@chords) {
		my ($k) = grep { $events->[$_]{seq} == $c->{input_seq} } 0 .. $#$events;
		if (defined $k) { $events->[$k]{chord} = 1 }
		my $device = defined $k ? $events->[$k]{device} : undef;
		my @before = grep {
				   $_->{device_ns} <= $c->{ts_ns}
				&& $_->{device_ns} >= $c->{ts_ns} - $CHORD_SPAN_NS
				&& (!defined $device || $_->{device} == $device)
		} @$events;
		my $modifiers = 0;
		# Of a keyboard of which no release was recorded, nobody knows what was held.
		my $held = defined $device
			&& grep { $_->{kind} eq 'key_release' && $_->{device} == $device } @$events;
		for my $e (reverse @before) {
			$held = 0 if $e->{kind} eq 'key_release';
			next      if $e->{chord};
			last
				if $e->{kind} eq 'key_press'
				&& ($modifiers >= 2 || !$held && $self->_answered($x, $e, $c->{ts_ns}));
			next if $e->{kind} ne 'key_press';
			$e->{chord} = 1;
			$modifiers++;
		}
		for my $e (
			grep {
					   $_->{kind} eq 'key_release'
					&& $_->{device_ns} >= $c->{ts_ns}
					&& $_->{device_ns} < $c->{ts_ns}
					+ $CHORD_SPAN_NS
			} @$events
			)
		{
			$e->{chord} = 1;
		}
	}
}

# The hot-key as an agent heard it on a server without hooks: the last press that went to the agent
# before the trigger. Heard on the keyboard itself: the last press of all; the server may read that
# key a moment after tipmed did.
sub _heard {
	my ($self, $events, $agent) = @_;
	my $trigger = $self->{ep}->manifest->{trigger};
	return (
		$self->_heard_before($events, $agent, $trigger->{before_ns}),
		($trigger->{kind} // '') eq 'hotkey'
		? $self->_heard_at($events, $agent, $self->{trigger})
		: ()
	);
}

sub _heard_at {
	my ($self, $events, $agent, $t) = @_;
	return
		if grep { $_->between('chord', $t - $CHORD_SPAN_NS, $t + $CHORD_SPAN_NS) } $self->servers;
	my @e = grep {
			   $_->{kind} eq 'key_press'
			&& $_->{device_ns} <= $t
			+ $LATE_NS
			&& $_->{device_ns} > $t - $HEARD_NS
	} @$events;
	my @agents = grep { $agent->{ $_->{seq} } } @e;
	my $e      = (@agents ? @agents : @e)[-1] or return;
	return { ts_ns => $e->{device_ns}, input_seq => $e->{seq} };
}

# The hot-key of the episode before may be in the ring, too. That may have been a command as well,
# so only a press counts that went to an agent, or to no client at all.
sub _heard_before {
	my ($self, $events, $agent, $t) = @_;
	return if !defined $t;
	return $self->_heard_at(
		[ grep { $agent->{ $_->{seq} } || !defined $_->{deliver_ns} } @$events ], $agent, $t);
}

# Did the client change the screen at once?
sub _answered {
	my ($self, $x, $e, $until) = @_;
	return 0 if !defined $e->{deliver_ns};
	my ($next) = grep { $_->{ts_ns} > $e->{deliver_ns} }
		$x->between('deliver', $e->{deliver_ns} + 1, $until);
	my $end = $next ? $next->{ts_ns} : $until;
	return scalar grep { $_->{pid} == $e->{pid} } $x->between('draw', $e->{deliver_ns}, $end);
}

# What the pointer's motion is answered by, and which of many motions may have waited.
sub _mark_motion {
	my ($self, $events) = @_;
	my ($held, $read)   = (0, -1);
	my $own = ($self->{ep}->manifest->{bundle} // {})->{event};
	for my $e (@$events) {
		$held++ if $e->{kind} eq 'button_press';
		$held-- if $e->{kind} eq 'button_release' && $held;
		next    if $e->{kind} ne 'motion';
		# When the button went down stays with the sender of a bundle.
		my $told = $own && $own->{dragged} && $own->{ns} == $e->{device_ns};
		$e->{motion} = $held || $told ? 'drag' : 'cursor';
		my $go = $e->{wakeup_ns} // $e->{device_ns};
		$e->{first_of_go} = 1 if $go != $read;
		$read = $go;
	}
}

sub _add_bursts {
	my ($self, $x, $events) = @_;
	my (%next, %damage);
	# The server gives the number of a client that has gone to the next: number and process are the
	# client.
	push @{ $damage{ _who($_) } }, $_ for grep { $_->{ts_ns} <= $self->{trigger} } $x->all('draw');
	# Who has his windows drawn by another, over a connection of that one's own, has drawn them.
	my %for;
	for my $d (grep { $_->{pid} && $_->{window} && $_->{ts_ns} <= $self->{trigger} }
		$x->all('draw'))
	{
		my $maker = $x->maker_of($d->{window});
		push @{ $for{$maker} }, $d if $maker && $maker != $d->{client};
	}
	my %gone;
	push @{ $gone{ _who($_) } }, $_->{ts_ns} for grep { $_->{gone} } $x->all('client');
	for my $e (reverse @$events) {
		$e->{candidate} = 1
			if $e->{first_of_go} && $e->{motion} eq 'cursor' && $e->{device_ns} < $self->{trigger};
		next if !defined $e->{deliver_ns} || ($e->{motion} // '') eq 'cursor';
		# The presses of a hot-key are the user's, too: what a client draws at one of them answers
		# no key before it.
		if ($e->{chord}) { $next{ _who($e) } = $e->{deliver_ns} if $PRESS{ $e->{kind} }; next }
		$e->{candidate} = 1
			if ($CANDIDATE{ $e->{kind} } || $e->{first_of_go})
			&& $e->{deliver_ns} < $self->{trigger};
		$e->{next_ns} = $next{ _who($e) };
		($e->{gone_ns}) = grep { $_ > $e->{deliver_ns} } @{ $gone{ _who($e) } // [] };
		my $who = _who($e);
		$damage{$who} =
			[ sort { $a->{ts_ns} <=> $b->{ts_ns} || $a->{nr} <=> $b->{nr} }
				@{ $damage{$who} // [] }, @{ delete $for{ $e->{client} } } ]
			if $for{ $e->{client} };
		$e->{damages} = $damage{$who} // [];
		$e->{bursts}  = $self->bursts(
			$e, $e->{deliver_ns}, $e->{next_ns} // $self->{trigger} + 1,
			$e->{motion} ? 1 : $MAX_BURSTS
		);
		# Most releases of keys ask for no answer; a program may do there what the key is for.
		$e->{candidate} = 1
			if $e->{kind} eq 'key_release'
			&& @{ $e->{bursts} }
			&& $e->{deliver_ns} < $self->{trigger};
		$next{ _who($e) } = $e->{deliver_ns} if $PRESS{ $e->{kind} };
	}
}

sub _who { return "$_[0]{client} " . ($_[0]{pid} // 0) }

# bursts(EVENT, FROM, TO [, MAX]): the damages of the event's client in [FROM, TO), those that
# follow closely taken together
sub bursts {
	my ($self, $e, $from, $to, $max) = @_;
	$max //= $MAX_BURSTS;
	my $l = $e->{damages} // [];
	my ($lo, $hi) = (0, scalar @$l);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($l->[$m]{ts_ns} < $from) { $lo = $m + 1 }
		else                           { $hi = $m }
	}
	my @b;
	for (; $lo < @$l && $l->[$lo]{ts_ns} < $to; $lo++) {
		my $d = $l->[$lo];
		if (@b && $d->{ts_ns} - $b[-1][1] < $BURST_GAP_NS) {
			$b[-1][1] = $d->{ts_ns};
			push @{ $b[-1][2] }, $d;
		} else {
			last if @b >= $max;
			push @b, [ $d->{ts_ns}, $d->{ts_ns}, [$d] ];
		}
	}
	return \@b;
}

1;
