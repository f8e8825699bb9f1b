# SPDX-License-Identifier: GPL-2.0-only
# One X server as a source: the records of its hooks, sorted by kind and time. What an observer
# beside it recorded is of the same form, and loaded here, too (DisplaySource/Observed.pm).
package Tipme::DisplaySource::X11;

use strict;
use warnings;
use parent qw(Tipme::DisplaySource);
use Tipme::DisplaySource::Frames;
use Tipme::DisplaySource::Observed;

my @SOURCES      = qw(x_hooks x_client);
my $NS_PER_MS    = 1_000_000;
my $RUN_PAUSE_NS = 5_000;                # between requests that a server serves one after the other
my $LONG_RUN_NS  = 20_000_000;           # such a run is looked at no longer
my $HEAD         = 16;                   # bytes of each record's head (abi/records.def)
my $FEW          = 4;                    # requests away from the one of last time

# Which record is which fact.
my %FACT = (
	x_device  => 'device',  x_deliver  => 'deliver', x_damage => 'draw', x_request => 'request',
	x_sleep   => 'sleep',   x_wakeup   => 'wakeup',  x_chord  => 'chord',
	x_input   => 'input',   x_client   => 'client',  x_grab   => 'grab',
	x_drawn   => 'draw',    x_painted  => 'paint',   x_told   => 'told', x_taken => 'taken',
	x_present => 'present', x_redirect => 'redirect',
);
# Facts that only this class knows.
my @OWN = qw(grab paint told taken present redirect);
my $CURSOR =
	2;    # opcode of ChangeWindowAttributes: what it changes on the screen is the server's cursor

# sources(EPISODE): one object for each X server of the episode; what its other threads wrote into
# files of their own is in it, too
sub sources {
	my ($class, $ep) = @_;
	my (%of, @servers);
	my %hooked =
		map  { $_->{server_pid} => 1 }
		grep { $_->{source} eq 'x_hooks' && defined $_->{server_pid} }
		@{ $ep->manifest->{sources} };
	# x-<pid>.rec, that of the thread that serves the clients, before x-<pid>-<tid>.rec
	for my $s (sort { length $a->{file} <=> length $b->{file} || $a->{file} cmp $b->{file} }
		@{ $ep->manifest->{sources} })
	{
		next if !grep { $_ eq $s->{source} } @SOURCES;
		# What the server itself told is exact: an observer that came before the hooks has nothing
		# to add.
		next if $s->{source} eq 'x_client' && $hooked{ $s->{server_pid} // 0 };
		next if $of{ $s->{file} };
		my ($first) = grep {
				   $s->{source} eq 'x_hooks'
				&& $_->{exact}
				&& defined $s->{server_pid}
				&& ($_->{pid} // 0) == $s->{server_pid}
		} @servers;
		if ($first) { $of{ $s->{file} } = $first; next }
		my $exact = $s->{source} eq 'x_hooks' ? 1 : 0;
		$of{ $s->{file} } = ($exact ? $class : 'Tipme::DisplaySource::Observed')->new(
			file  => $s->{file}, pid => $s->{server_pid},
			tid   => $s->{server_tid} // $s->{server_pid},
			name  => $s->{server_name}, display => $s->{display}, source => $s->{source},
			exact => $exact,            map { $_ => [] } @OWN
		);
		push @servers, $of{ $s->{file} };
	}
	for my $s ($ep->sections_between(undef, undef, \@SOURCES)) {
		$of{ $s->{file} }->_load($ep, $s) if $of{ $s->{file} };
	}
	$_->_in_order for @servers;
	return @servers;
}

sub _load {
	my ($self, $ep, $s) = @_;
	my ($list, $buf) = $ep->section_records($s);
	my $code  = $ep->record;
	my %flush = ($code->number_of('x_flush') => 1);
	# The most frequent ones, of which the head says all.
	my %bare =
		$s->{file} eq $self->{file}
		? map { $code->number_of("x_$_") => $self->{$_} } qw(sleep wakeup)
		: ();
	my %known;
	for (@$list) {
		my (undef, $off, $len, $n) = @$_;
		my $type = vec $$buf, $off + 8, 8;
		next if $flush{$type};
		if (my $bare = $bare{$type}) {
			my ($ts, $tid) = unpack 'Q<x4V', substr $$buf, $off, $HEAD;
			push @$bare, { ts_ns => $ts, tid => $tid, nr => $s->{number} + $n };
			$self->{tid} //= $tid;
			next;
		}
		my ($name, $fields) = @{ $known{$type} //= [ $code->fields_of($type) ] };
		if (!defined $name) { $ep->unknown_seen($type, $s->{file}, $s->{offset} + $off); next }
		my $f = $fields->(substr $$buf, $off, $len);
		$f->{nr} = $s->{number} + $n;
		# The input thread tells what it read; its hot-key is the server's own, seen before, and
		# perhaps seen nowhere else.
		if ($s->{file} ne $self->{file}) {
			push @{ $self->{ $name eq 'x_chord' ? 'input_chord' : 'input' } },
				{ %$f, file => $s->{file} }
				if $name =~ /\Ax_(?:input|chord)\z/;
			next;
		}
		if ($name eq 'x_idle') { $self->_add_idle($f); next }
		my $fact = $FACT{$name} // next;
		$self->{tid} //= $f->{tid};
		$f->{gone} = $code->name_of('x_client_state', $f->{state}) eq 'gone' ? 1 : 0
			if $fact eq 'client';
		$f->{hidden} = 1 if $name eq 'x_drawn';
		push @{ $self->{$fact} }, $f;
	}
	$self->{pid} //= $self->{tid};
}

# What x_sleep and x_wakeup say, in one.
sub _add_idle {
	my ($self, $f) = @_;
	push @{ $self->{sleep} }, { ts_ns => $f->{ts_ns}, tid => $f->{tid}, nr => $f->{nr} };
	push @{ $self->{wakeup} },
		{ ts_ns => $f->{ts_ns} + $f->{duration_ns}, tid => $f->{tid}, nr => $f->{nr} };
}

# A server that sleeps when the ring is copied has written no end of it; what it does after that in
# a later copy is one.
sub _end_sleeps {
	my ($self) = @_;
	my ($wakeup, $sleep, $k, @ends) = ($self->{wakeup}, $self->{sleep}, 0);
	for my $n (0 .. $#$sleep) {
		my ($s, $next) = @$sleep[ $n, $n + 1 ];
		$k++ while $k < @$wakeup && $wakeup->[$k]{ts_ns} < $s->{ts_ns};
		my $w = $wakeup->[$k];
		next if $w && (!$next || $w->{ts_ns} <= $next->{ts_ns});
		my ($first) =
			sort { $a->{ts_ns} <=> $b->{ts_ns} }
			grep {defined}
			map  { $self->{$_}[ $self->lower($_, $s->{ts_ns} + 1) ] }
			qw(device deliver request sleep);
		push @ends, { ts_ns => $first->{ts_ns}, tid => $first->{tid}, nr => $first->{nr} }
			if $first && (!$w || $w->{ts_ns} > $first->{ts_ns});
	}
	$self->{wakeup} =
		[ sort { $a->{ts_ns} <=> $b->{ts_ns} || $a->{nr} <=> $b->{nr} } @$wakeup, @ends ]
		if @ends;
}

sub _in_order {
	my ($self) = @_;
	$self->sort_facts;
	for my $k (@OWN) {
		$self->{$k} =
			[ sort { $a->{ts_ns} <=> $b->{ts_ns} || $a->{nr} <=> $b->{nr} } @{ $self->{$k} } ];
	}
	$self->_name_drawers;
	$self->{frames} = Tipme::DisplaySource::Frames->new($self);
	# Beside a compositor others may draw on the screen itself (a window that fills it).
	my @plain =
		grep { $_->{pid} && !$self->{frames}->is_compositor($_->{pid}) && $_->{major} != $CURSOR }
		@{ $self->{paint} };
	$self->{draw} = [
		sort { $a->{ts_ns} <=> $b->{ts_ns} || $a->{nr} <=> $b->{nr} } @{ $self->{draw} },
		map  { { window => 0, %$_ } } @plain
		]
		if @plain;
	return $self->_end_sleeps;
}

# Drawings under a compositor name the client; the process is that of its requests.
sub _name_drawers {
	my ($self) = @_;
	my @unnamed = grep { !defined $_->{pid} } @{ $self->{draw} } or return;
	my (%pid, %first);
	my @known =
		sort { $a->{ts_ns} <=> $b->{ts_ns} } map { $self->all($_) } qw(request deliver client);
	for (reverse @known) { $first{ $_->{client} } = $_->{pid} }
	my $k = 0;
	for my $d (@unnamed) {
		for (; $k < @known && $known[$k]{ts_ns} <= $d->{ts_ns}; $k++) {
			$pid{ $known[$k]{client} } = $known[$k]{pid};
		}
		$d->{pid} = $pid{ $d->{client} } // $first{ $d->{client} } // 0;
	}
	return;
}

sub painted_between {
	my ($self, $from, $to) = @_;
	my %of;
	push @{ $of{ $_->{pid} } }, $_
		for grep { $self->{frames}->is_compositor($_->{pid}) } $self->between('paint', $from, $to);
	return map { $of{$_} } sort { $a <=> $b } keys %of;
}

# shown(EVENT, \@DRAWS, UNTIL, QUICK): as Frames finds it
sub shown {
	my ($self, $e, $draws, $until, $quick) = @_;
	return $draws->[-1]{hidden} ? $self->{frames}->shown($draws, $until, $quick) : undef;
}

# maker_of(WINDOW): the upper bits of a window's number are the client that made it. How many they
# are is the server's setting: that number by which most events went to windows of whom they went
# to.
my @MAKER_BITS = 18 .. 24;
# Of a client's requests that must come from one thread to make it the drawing one.
my $MOSTLY = 0.8;

sub maker_of {
	my ($self, $window) = @_;
	my $bits = $self->{maker_bits} //= $self->_maker_bits;
	return $bits && $window ? $window >> $bits : undef;
}

sub _maker_bits {
	my ($self) = @_;
	my ($all, %n) = (0);
	for my $d (grep { $_->{window} && $_->{client} && $_->{input_seq} } @{ $self->{deliver} }) {
		$all++;
		$n{$_} += $d->{window} >> $_ == $d->{client} for @MAKER_BITS;
	}
	my ($best) = sort { $n{$b} <=> $n{$a} || $a <=> $b } keys %n;
	return $all && $n{$best} >= $MOSTLY * $all ? $best : 0;
}

# request_end(POSITION): when that request, or run of them, ended: undef if it was still being
# executed. A record can tell 4.3 s; one that lasted longer did so up to the next of its thread.
sub request_end {
	my ($self, $k) = @_;
	my $all = $self->{request};
	my $r   = $all->[$k];
	return                                 if !$r->{count};
	return $r->{ts_ns} + $r->{duration_ns} if $r->{duration_ns} < 0xffff_ffff;
	return $k < $#$all ? $all->[ $k + 1 ]{ts_ns} : undef;
}

# in_request(FROM, TO): did the server execute one request all that time?
sub in_request {
	my ($self, $from, $to) = @_;
	my $k = $self->_request_at($from);
	return 0 if $k < 0 || $self->{request}[$k]{count} > 1;
	my $end = $self->request_end($k);
	return !defined $end || $end >= $to ? 1 : 0;
}

# serves(PID, TIME): as DisplaySource has it
sub serves {
	my ($self, $pid, $t) = @_;
	my $k = $self->_request_at($t);
	return 0 if $k < 0 || ($self->{request}[$k]{pid} // 0) != $pid;
	my $end = $self->request_end($k);
	return !defined $end || $end > $t ? 1 : 0;
}

# The position of the last request up to a time, or -1. A walk asks for one after the other,
# backwards.
sub _request_at {
	my ($self, $t) = @_;
	my ($all, $k, $steps) = ($self->{request}, $self->{near_request} // -1, $FEW);
	if ($k >= 0 && ($k == $#$all || $all->[ $k + 1 ]{ts_ns} > $t)) {
		$k-- while $k >= 0 && $all->[$k]{ts_ns} > $t && $steps--;
		return $self->{near_request} = $k if $k >= 0 && $all->[$k]{ts_ns} <= $t;
	}
	return $self->{near_request} = $self->lower('request', $t + 1) - 1;
}

# told_for(PID, FROM, TO): as DisplaySource has it; an input event came by no request
sub told_for {
	my ($self, $pid, $from, $to) = @_;
	my ($d) = grep { ($_->{pid} // 0) == $pid } reverse $self->between('deliver', $from, $to);
	return if !$d || $d->{input_seq};
	my $k = $self->lower('request', $d->{ts_ns} + 1) - 1;
	return if $k < 0;
	my ($r, $end) = ($self->{request}[$k], $self->request_end($k));
	return if !$r->{pid} || defined $end && $end < $d->{ts_ns};
	return [ $r->{pid}, $r->{ts_ns} ];
}

# grabs(): [ from, to, pid, record ] of the whole server; `to` undef where it lasts
sub grabs {
	my ($self) = @_;
	return @{ $self->{grabs} } if $self->{grabs};
	my ($open, @g);
	for my $g (grep { $_->{what} == 1 } $self->all('grab')) {
		push @g, [ $open->{ts_ns}, $g->{ts_ns}, $open->{pid}, $open ] if $open;
		push @g, [ 0, $g->{ts_ns}, $g->{pid}, $g ] if !$open && !$g->{begin} && !@g;
		$open = $g->{begin} ? $g : undef;
	}
	push @g, [ $open->{ts_ns}, undef, $open->{pid}, $open ] if $open;
	$self->{grabs} = \@g;
	return @g;
}

sub tells_sleep { return $_[0]{exact} }

# asleep(FROM, TO): [ from, to ] in which the server had nothing to do
sub asleep {
	my ($self, $from, $to) = @_;
	my $l = $self->{sleep};
	my $i = $self->lower('sleep', $from);
	$i-- if $i;
	my ($wakeup, $k, @a) =
		($self->{wakeup}, $i < @$l ? $self->lower('wakeup', $l->[$i]{ts_ns}) : 0);
	for (; $i < @$l && $l->[$i]{ts_ns} < $to; $i++) {
		my $b = $l->[$i]{ts_ns};
		$k++ while $k < @$wakeup && $wakeup->[$k]{ts_ns} < $b;
		my $e = $k < @$wakeup ? $wakeup->[$k]{ts_ns} : $to;
		push @a, [ $b < $from ? $from : $b, $e > $to ? $to : $e ] if $e > $from;
	}
	return @a;
}

sub idle { my ($self, $e, $states, $from, $to) = @_; return $self->asleep($from, $to) }

# The server writes what it has for its clients before it sleeps.
sub written_by {
	my ($self, $t) = @_;
	my $s = $self->{sleep}[ $self->lower('sleep', $t) ];
	return $s ? $s->{ts_ns} : undef;
}

# Damage is recorded when the request that did it has ended. A server reads what a client has sent
# at once, and then serves one request after the other: it was asked when that began.
sub asked_ns {
	my ($self, $e, $d) = @_;
	for (my $k = $self->lower('request', $d->{ts_ns} + 1) - 1; $k >= 0; $k--) {
		my $r = $self->{request}[$k];
		last if $r->{ts_ns} < $d->{ts_ns} - 1_000 * $NS_PER_MS;
		return $self->{request}[ $self->_run_begins($k) ]{ts_ns}
			if (!defined $d->{client} || $r->{client} == $d->{client})
			&& $r->{ts_ns} + $r->{duration_ns} + $NS_PER_MS >= $d->{ts_ns};
	}
	return $d->{ts_ns};
}

# The first of the requests of one client that were served without a pause up to request K, for
# LONG_RUN_NS at most: a client that goes on sending meanwhile has sent what comes later, later.
sub _run_begins {
	my ($self, $k) = @_;
	my $l    = $self->{request};
	my $last = $l->[$k];
	while ($k > 0) {
		my ($r, $before) = @$l[ $k, $k - 1 ];
		last
			if $before->{client} != $last->{client}
			|| $r->{ts_ns} - ($before->{ts_ns} + $before->{duration_ns}) > $RUN_PAUSE_NS
			|| $before->{ts_ns} < $last->{ts_ns} - $LONG_RUN_NS;
		$k--;
	}
	return $k;
}

1;
