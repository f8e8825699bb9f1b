# SPDX-License-Identifier: GPL-2.0-only
# A Wayland compositor whose library is not probed, as the kernel refused it or it has none: what
# the input core, its wake-ups and the screen tell of it. All of that is inferred.
package Tipme::DisplaySource::Unprobed;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent                      qw(Tipme::DisplaySource::Wayland);
use Tipme::DisplaySource::Edges qw(edges);
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::Sleeps;
use Tipme::Threads;

use constant NEVER => 1 << 62;

my %NUMBER = %Tipme::Record::Columns::NUMBER;
my %KIND   = reverse %{ $Tipme::Record::Layout::ENUM{input_kind} };
my %STANDS = map { $_ => 1 } qw(stopped traced frozen);

# sources(EPISODE, OTHERS): one object for each process that puts pictures on a screen and is none
# of the others
sub sources {
	my ($class, $ep, @others) = @_;
	my $ev = Tipme::KernelEvents->load_only(
		$ep,
		@NUMBER{qw(input screen_asked screen_shown)}
	);
	my (@input, %screen);
	for my $i (0 .. $ev->count - 1) {
		next if Tipme::DisplaySource::Wayland::_of_screen(\%screen, $ev, $i);
		my $where = $ev->evidence($i);
		push @input,
			{
			ts_ns  => $ev->ts($i), kind => $KIND{ $ev->input_kind($i) // '' } // 0,
			device => $ev->input_device($i), file => $where->{file}, nr => $where->{record}
			};
	}
	return if !@input;
	my %known   = map { $_->{pid} => 1 } @others;
	my $threads = Tipme::Threads->new($ep);
	return map { _of_process($class, $ep, $threads, $_, $screen{$_}, \@input) }
		grep { $_ && !$known{$_} && $screen{$_}{asked} } sort { $a <=> $b } keys %screen;
}

sub _of_process {
	my ($class, $ep, $threads, $pid, $screen, $input) = @_;
	my %by;
	$by{ $_->{tid} }++ for @{ $screen->{asked} };
	my ($tid) = sort { $by{$b} <=> $by{$a} || $a <=> $b } keys %by;
	my $self = $class->new(
		file    => "unprobed-$pid", pid => $pid, tid => $tid, source => 'wayland', exact => 0,
		name    => $threads->at($tid, $screen->{asked}[0]{ts_ns})->{comm},
		bundle  => $ep->manifest->{bundle},
		clients => {}, done => {}, screen => $screen,
		sleeps  => Tipme::Sleeps->new($ep)
	);
	my ($to, $from) = edges($ep, $threads, $pid);
	my %client = map { $_->[1] => 1 } @$from;
	@$to = grep { $client{ $_->[1] } } @$to;
	my %woken = map { $_->[1] => 1 } @$to;
	return if _is_of_x($threads, keys %woken);
	$self->_add_events($input, $to);
	$self->_add_draws($from);
	$self->sort_facts;
	return $self;
}

# Whose clients know a display of X and none of Wayland is an X server, which asks the screen, too.
# Where nothing is known of the clients, he is taken for a compositor.
sub _is_of_x {
	my ($threads, @clients) = @_;
	my %known = map { %{ $threads->environment($_) } } @clients;
	return defined $known{DISPLAY} && !defined $known{WAYLAND_DISPLAY} ? 1 : 0;
}

# An event goes to the client that the compositor wakes first before it sleeps again. Who is stopped
# or busy cannot be woken: so where it wakes nobody, to the last one, if that was not asleep.
sub _add_events {
	my ($self, $input, $to)   = @_;
	my ($seq,  $k,     $last) = (0, 0);
	# What led to that stays with the sender of a bundle.
	my $own = ($self->{bundle} // {})->{event} // {};
	for my $i (@$input) {
		my %r = (
			%$i, input_seq => ++$seq, tid => $self->{tid}, server_ms => 0, is_master => 0,
			kernel_ns => $i->{ts_ns}
		);
		$k++ while $k < @$to && $to->[$k][0] < $i->{ts_ns};
		my $until = $self->_sleeps_again($i->{ts_ns});
		my $sent  = $k < @$to && $to->[$k][0] <= $until ? $to->[$k] : undef;
		$last = [ 0, $own->{sent_to}, 0 ]
			if $own->{sent_to} && $i->{ts_ns} == ($own->{came_ns} // 0);
		my $guessed = !$sent && $last && !$self->_sleeps($last->[2], $i->{ts_ns}, $until);
		$sent = [ $until, @$last[ 1, 2 ] ] if $guessed;
		undef $sent   if $sent && $sent->[0] == NEVER;
		$last = $sent if $sent;
		push @{ $self->{deliver} },
			{
			%r, ts_ns => $sent->[0], pid => $sent->[1], client => $sent->[1], what => '',
			guessed => $guessed ? 1 : 0
			}
			if $sent;
		push @{ $self->{device} }, { %r, ts_ns => $sent ? $sent->[0] : $i->{ts_ns} };
	}
	return;
}

# Does a thread wait for something somewhere in [FROM, TO]? FROM only grows.
sub _sleeps {
	my ($self, $tid, $from, $to) = @_;
	return 0 if !$tid;
	my $list = $self->{sleeps}->of($tid) // return 1;
	my $k    = $self->{passed_by}{$tid} //= 0;
	$k++ while $k < @$list && defined $list->[$k]{to} && $list->[$k]{to} <= $from;
	$self->{passed_by}{$tid} = $k;
	for (; $k < @$list && $list->[$k]{from} <= $to; $k++) {
		return 1 if !$STANDS{ $list->[$k]{state} };
	}
	return 0;
}

# When the compositor's thread next waits for something, after it has run since TIME, which only
# grows; who is stopped waits for nothing.
sub _sleeps_again {
	my ($self, $t) = @_;
	my $list = $self->{sleeps}->of($self->{tid}) // return NEVER;
	my $k    = $self->{passed} //= 0;
	$k++ while $k < @$list && defined $list->[$k]{to} && $list->[$k]{to} <= $t;
	$self->{passed} = $k;
	$k++ while $k < @$list && ($list->[$k]{from} <= $t || $STANDS{ $list->[$k]{state} });
	return $k < @$list ? $list->[$k]{from} : NEVER;
}

# What a client asked before a picture was asked of the screen, and after the one before, is drawn.
sub _add_draws {
	my ($self, $from) = @_;
	my $k = 0;
	for my $asked (@{ $self->{screen}{asked} }) {
		my %last;
		for (; $k < @$from && $from->[$k][0] <= $asked->{ts_ns}; $k++) {
			$last{ $from->[$k][1] } = $from->[$k];
		}
		push @{ $self->{draw} }, map {
			{
				ts_ns  => $_->[0], pid => $_->[1], client => $_->[1], tid => $self->{tid},
				window => 0, width => 0, height => 0, file => $_->[3], nr => $_->[4]
			}
		} map { $last{$_} } sort { $a <=> $b } keys %last;
	}
	return;
}

# refine(EVENT): the input core says when it came
sub refine {
	my ($self, $e) = @_;
	return if $e->{refined};
	$self->SUPER::refine($e);
	my $came = $e->{device_record}{kernel_ns};
	@$e{qw(wakeup_ns asleep_ns)} = ($came) x 2
		if defined $e->{came_ns} || !defined $e->{wakeup_ns} || $e->{wakeup_ns} < $came;
	$e->{came_ns} = $came;
	return;
}

# shown(EVENT, \@DRAWS, UNTIL, QUICK): when the screen showed what was asked of it next
sub shown {
	my ($self, $e, $draws, $until, $quick) = @_;
	my $screen = $self->_on_screen($draws->[-1], undef, $until, $quick);
	return { %$screen, exact => 0 } if $screen;
	return { ns => $draws->[-1]{ts_ns}, exact => 0, pid => undef };
}

1;
