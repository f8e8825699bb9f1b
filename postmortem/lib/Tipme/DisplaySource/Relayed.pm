# SPDX-License-Identifier: GPL-2.0-only
# A client of a compositor that hands on what it is sent, and shows what others draw: a server of
# its own, as the X server of a Wayland session is. Whom it woke with an event, and who had woken it
# before it gave a picture, are its clients.
package Tipme::DisplaySource::Relayed;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent                      qw(Tipme::DisplaySource);
use Tipme::DisplaySource::Edges qw(edges);
use Tipme::Record::Layout;
use Tipme::Sleeps;
use Tipme::Threads;

use constant NEVER => 1 << 62;

my $LIFT   = 2;      # so many times more often than by chance it wakes those whom it hands an event
my $CHANCE = 0.5;    # what is added to chance, so that one waking alone is no proof
my $AGO_NS = 100_000_000;    # a picture is for what was asked within
my $MOSTLY = 0.5;    # of its presses that it hands on, and of the pictures that others asked for
my %KIND   = reverse %{ $Tipme::Record::Layout::ENUM{input_kind} };
my %PRESS  = map { $KIND{$_} => 1 } qw(key_press button_press touch);
my %STANDS = map { $_        => 1 } qw(stopped traced frozen);

# sources(EPISODE, OTHERS): one object for each client of a compositor that is such a server. What
# the compositor sent it, and took from it, is its own from then on.
sub sources {
	my ($class, $ep, @others) = @_;
	my %source = map { $_->{pid} => 1 } @others;
	my ($threads, @found);
	for my $of (grep { $_->isa('Tipme::DisplaySource::Wayland') } @others) {
		my %sent;
		my @made = grep { $_->{made} && $_->{pid} && !$source{ $_->{pid} } } $of->all('draw'),
			$of->all('deliver');
		for my $d (@made) {
			my $l = $sent{ $d->{pid} } //= [];
			push @$l, $d if $d->{kind};
		}
		for my $pid (sort { $a <=> $b } keys %sent) {
			$threads //= Tipme::Threads->new($ep);
			push @found, $class->_of_client($ep, $threads, $of, $pid, $sent{$pid}) // ();
		}
	}
	return @found;
}

sub _of_client {
	my ($class, $ep, $threads, $of, $pid, $sent) = @_;
	my ($to, $from) = edges($ep, $threads, $pid);
	my $tid  = _woken_by($from, $of->{pid}) // $pid;
	my $self = $class->new(
		file   => "relayed-$pid", pid => $pid, tid => $tid, of => $of, source => 'wayland',
		exact  => 1, name => $threads->at($tid, NEVER)->{comm},
		sleeps => Tipme::Sleeps->new($ep),
		own    => ($ep->manifest->{bundle} // {})->{event} // {}
	);
	# A kernel's worker between them (a terminal's) makes nobody a client.
	my %asks = map { $_->[1] => 1 }
		grep { $_->[1] != $of->{pid} && !$threads->at(@$_[ 2, 0 ])->{kernel} } @$from;
	@$from = grep { $asks{ $_->[1] } && $_->[5] == $tid } @$from;
	@$to   = grep { $asks{ $_->[1] } && $_->[5] == $tid } @$to;
	my @taken = grep { $_->{pid} == $pid } $of->all('draw');
	$self->{asks} = $from;
	return
		if !(
		%{ $self->{own} }
		? $self->_told_by_bundle($sent)
		: $self->_hands_on($sent, $to, \@taken)
		);
	$self->_add_events($sent, $to);
	$self->_add_draws(\@taken);
	# Who asks for the first time has come.
	my %there;
	$self->{client} = [
		map {
			{
				ts_ns => $_->[0], pid => $_->[1], client => $_->[1], state => 1, gone => 0,
				file  => $_->[3], nr  => $_->[4]
			}
			}
			grep { !$there{ $_->[1] }++ } @$from
	];
	# What it was asked while it was awake is not known.
	$self->{request} = [
		map {
			{
				ts_ns => $_->[0], pid => $_->[1], client => $_->[1], duration_ns => 0, count => 1,
				file  => $_->[3], nr  => $_->[4]
			}
		} @$from
	];
	$self->sort_facts;
	$of->give_away($pid);
	return $self;
}

# The thread of it that a process woke most; undef: none
sub _woken_by {
	my ($from, $pid) = @_;
	my %n;
	$n{ $_->[5] }++ for grep { $_->[1] == $pid } @$from;
	return (sort { $n{$b} <=> $n{$a} || $a <=> $b } keys %n)[0];
}

# In a bundle one event is left, and who had it is told.
sub _told_by_bundle {
	my ($self, $sent) = @_;
	my $own = $self->{own};
	return 1 if ($own->{shown_by} // 0) == $self->{pid};
	return 0 if !$own->{sent_by} || !grep { $_->{ts_ns} == ($own->{came_ns} // 0) } @$sent;
	$self->{receives} = { $own->{sent_to} => 1 };
	return 1;
}

# Does it hand on most of its presses, and had others asked it for most of its pictures? (What is
# left is a pointer, or an edge.) Who had no press yet tells by the pictures alone.
sub _hands_on {
	my ($self, $sent, $to, $taken) = @_;
	$self->_find_receivers($sent, $to);
	my @press = grep { $PRESS{ $_->{kind} } } @$sent;
	my $on    = grep { $self->_receiver($_, $to) } @press;
	return 0 if @press ? !$on || $on < $MOSTLY * @press : !@$taken;
	my $asked = grep {@$_} $self->_asked_for($taken);
	return $asked >= $MOSTLY * @$taken;
}

# For each of its pictures the wakings by others since the one before. Several surfaces may be for
# one question, and a later frame, too: so where there is none, and the last is recent, the same.
sub _asked_for {
	my ($self, $taken) = @_;
	my ($before, $last, @of) = (0, []);
	for my $c (@$taken) {
		my @asked = _within($self->{asks}, $before, $c->{ts_ns});
		$last = @asked ? \@asked : []
			if @asked || !@$last || $last->[-1][0] < $c->{ts_ns} - $AGO_NS;
		push @of, $last;
		$before = $c->{ts_ns};
	}
	return @of;
}

# Who is woken after events clearly more often than by chance
sub _find_receivers {
	my ($self, $sent, $to) = @_;
	my (@ns, %all, %hit);
	$all{ $_->[1] }++ for @$to;
	for my $d (@$sent) {
		my ($from, $until) = $self->_turn($d->{ts_ns});
		next if $until == NEVER;
		push @ns, $until - $from;
		my %seen;
		$hit{ $_->[1] }++ for grep { !$seen{ $_->[1] }++ } _within($to, $from, $until);
	}
	# A turn in which it was stopped, or had no CPU, is longer than most.
	@ns = sort { $a <=> $b } @ns;
	my $in  = @ns  ? @ns * $ns[ @ns / 2 ]            : 0;
	my $all = @$to ? $to->[-1][0] - $to->[0][0] || 1 : 1;
	$self->{receives} = {
		map  { ($_ => 1) }
		grep { $hit{$_} >= $LIFT * ($all{$_} * $in / $all + $CHANCE) } keys %hit
	};
	return;
}

# The first of those whom it woke in its turn with an event
sub _receiver {
	my ($self, $d, $to) = @_;
	my ($from, $until) = $self->_turn($d->{ts_ns});
	return (grep { $self->{receives}{ $_->[1] } } _within($to, $from, $until))[0];
}

# Those of a list in [FROM, TO)
sub _within {
	my ($l, $from, $to) = @_;
	my ($lo, $hi) = (0, scalar @$l);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($l->[$m][0] < $from) { $lo = $m + 1 }
		else                       { $hi = $m }
	}
	$hi = $lo;
	$hi++ while $hi < @$l && $l->[$hi][0] < $to;
	return @$l[ $lo .. $hi - 1 ];
}

# (from, to): from what was sent it at a time until its thread next waits for something; who is
# stopped waits for nothing
sub _turn {
	my ($self, $t) = @_;
	my $list = $self->{sleeps}->of($self->{tid}) // return ($t, NEVER);
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($list->[$m]{from} <= $t) { $lo = $m + 1 }
		else                           { $hi = $m }
	}
	$lo++ while $lo < @$list && $STANDS{ $list->[$lo]{state} };
	return ($t, $lo < @$list ? $list->[$lo]{from} : NEVER);
}

# An event goes to the client that it wakes with it. Who is stopped or busy cannot be woken: so
# where it wakes nobody, to the one before, if that was not asleep.
sub _add_events {
	my ($self, $sent, $to) = @_;
	my $last;
	for my $d (@$sent) {
		my ($had, $guessed) = ($self->_receiver($d, $to), 0);
		my $own = $self->{own};
		$last = [ $d->{ts_ns}, $own->{sent_to}, 0 ]
			if $own->{sent_to} && $d->{ts_ns} == ($own->{came_ns} // 0);
		if (!$had && $last) {
			my (undef, $until) = $self->_turn($d->{ts_ns});
			($had, $guessed) = ([ $d->{ts_ns}, @$last[ 1, 2 ] ], 1)
				if !$self->_sleeps($last->[2], $d->{ts_ns}, $until);
		}
		$last = $had if $had;
		push @{ $self->{device} }, { %$d, device => $d->{object}, server_ms => 0, is_master => 0 };
		push @{ $self->{deliver} },
			{
			%$d, ts_ns => $had->[0], pid => $had->[1], client => $had->[1],
			guessed => $guessed, sent_ns => $d->{ts_ns}
			}
			if $had;
	}
	return;
}

# Does a thread wait for something somewhere in [FROM, TO]?
sub _sleeps {
	my ($self, $tid, $from, $to) = @_;
	return 0 if !$tid;
	return scalar grep {
			   $_->{from} <= $to
			&& (!defined $_->{to} || $_->{to} > $from)
			&& !$STANDS{ $_->{state} }
	} @{ $self->{sleeps}->of($tid) // return 1 };
}

# A surface is of the client that mostly asked before its pictures: first of those that get events.
sub _add_draws {
	my ($self, $taken) = @_;
	my @asked = $self->_asked_for($taken);
	my (%n, %by);
	for my $k (0 .. $#$taken) {
		my ($w, %seen) = ($taken->[$k]{window});
		$n{$w}++;
		$by{$w}{ $_->[1] }++ for grep { !$seen{ $_->[1] }++ } @{ $asked[$k] };
	}
	my %gets = map { $_->{pid} => 1 } $self->all('deliver');
	my %of;
	for my $w (keys %n) {
		my $asked = $by{$w} // {};
		($of{$w}) = sort {
				   ($gets{$b} // 0) <=> ($gets{$a} // 0)
				|| $asked->{$b}     <=> $asked->{$a}
				|| $a               <=> $b
		} grep { $asked->{$_} >= $MOSTLY * $n{$w} } keys %$asked;
	}
	# In a bundle it is known whose picture the answer was.
	my $own = $self->{own};
	if (($own->{shown_by} // 0) == $self->{pid}) {
		my $at = $own->{answer}{damage_ns} // 0;
		$of{ $_->{window} } = $own->{start}{client} for grep { $_->{ts_ns} == $at } @$taken;
	}
	for my $c (@$taken) {
		my $pid = $of{ $c->{window} } // next;
		push @{ $self->{draw} }, { %$c, pid => $pid, client => $pid, taken => $c };
	}
	return;
}

sub _asked_between {
	my ($self, $from, $to, $pid) = @_;
	return grep { !defined $pid || $_->[1] == $pid } _within($self->{asks}, $from, $to);
}

# use_kernel(KERNEL), refine(EVENT), waited_since(EVENT, TIME), enters_by(): an event came by the
# compositor
sub enters_by { return $_[0]{of} }
sub refine    { my ($self, $e) = @_; return $self->{of}->refine($e) }

sub waited_since { my ($self, @of) = @_; return $self->{of}->waited_since(@of) }

# computing_of(PID): of both servers
sub computing_of {
	my ($self, $pid) = @_;
	return $self->{of}->computing_of($pid) // $self->SUPER::computing_of($pid);
}

# asked_ns(EVENT, DRAW): when the client had last woken it for that
sub asked_ns {
	my ($self, $e, $d) = @_;
	my $k = $self->lower('draw', $d->{ts_ns});
	$k-- while $k >= 0 && ($k >= @{ $self->{draw} } || $self->{draw}[$k]{ts_ns} >= $d->{ts_ns});
	my ($asked) =
		reverse $self->_asked_between(
		$k < 0 ? 0 : $self->{draw}[$k]{ts_ns}, $d->{ts_ns},
		$d->{pid}
		);
	return $asked ? $asked->[0] : $d->{ts_ns};
}

# first_asked(...): when a thread of the client first woke it
sub first_asked {
	my ($self, $e, $states, $from, $to) = @_;
	my ($asked) = $self->_asked_between($from, $to, $e->{pid});
	return $asked ? $asked->[0] : undef;
}

# shown(...): as the compositor has it
sub shown {
	my ($self, $e, $draws, $until, $quick) = @_;
	return $self->{of}->shown($e, [ map { $_->{taken} } @$draws ], $until, $quick);
}

# changed_by(DRAW): the thread of the compositor that took the picture
sub changed_by { my ($self, $d) = @_; return $d && $d->{taken} ? $d->{taken}{tid} : $self->{tid} }

1;
