# SPDX-License-Identifier: GPL-2.0-only
# Export as JSON trace events: what ran where, what the X server did for whom, and the moments
# between.
package Tipme::Export::Chrome;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Tipme::Printable qw(characters);

my %X = map { $_ => 1 }
	qw(x_device x_deliver x_damage x_chord x_client x_grab x_input x_present x_drawn x_told
	x_taken x_redirect x_painted);
my $TRIGGER_TID = 1;    # number of the row that shows the hot-key

sub new {
	my ($class, %o) = @_;
	return bless {
		%o, json => Cpanel::JSON::XS->new->canonical->ascii, n => 0, on => {},
		named => {}
	}, $class;
}

sub begin {
	my ($self) = @_;
	my $m = $self->{episode}->manifest;
	$self->{out}->("{\"displayTimeUnit\": \"ms\", \"otherData\": "
			. $self->{json}
			->encode({ map { $_ => characters($m->{$_} // '') } qw(id time kernel machine) })
			. ",\n\"traceEvents\": [");
	$self->_put(
		{
			name => 'trigger', cat => 'tipme', ph => 'i', s => 'g', ts => _us($m->{trigger}{ns}),
			pid  => 0,         tid => $TRIGGER_TID
		}
	);
}

# Microseconds, exactly: three decimals are nanoseconds.
sub _us { my ($ns) = @_; return $ns / 1000 }

sub _put {
	my ($self, $e) = @_;
	$self->{out}->($self->{n}++ ? ",\n" : "\n", $self->{json}->encode($e));
}

# (process, thread) of a tid at a time; both get their names once.
sub _who {
	my ($self, $tid, $t) = @_;
	my $w    = $self->{threads}->at($tid, $t);
	my $pid  = ($w->{pid} || $tid) + 0;
	my $comm = characters($w->{comm});
	$self->_put(
		{
			name => 'thread_name', ph => 'M', pid => $pid, tid => $tid + 0,
			args => { name => $comm }
		}
	) if !$self->{named}{"$tid $comm"}++;
	$self->_put(
		{
			name => 'process_name', ph => 'M', pid => $pid, tid => $tid + 0,
			args => { name => $comm }
		}
	) if $pid == $tid && !$self->{named}{"p $comm $pid"}++;
	return ($pid, $tid + 0);
}

sub record {
	my ($self, $name, $f, $where) = @_;
	my $t = $where->{ts};
	return $self->_switch($f, $where) if $name eq 'sched_switch';
	if ($name eq 'sched_waking') {
		my ($pid, $tid) = $self->_who($f->{tid}, $t);
		$self->_put(
			{
				name => 'woken',
				cat  => 'sched',
				ph   => 'i',
				s    => 't',
				ts   => _us($t),
				pid  => $pid,
				tid  => $tid,
				args => {
					waker   => $f->{waker_tid},
					context => $self->{episode}->record->name_of('context', $f->{context})
				}
			}
		);
		return 1;
	}
	return 0 if $name ne 'x_request' && !$X{$name};
	my ($pid, $tid) = $self->_who($f->{tid}, $t);
	my %args =
		map  { $_ => $f->{$_} + 0 }
		grep { defined $f->{$_} && $f->{$_} =~ /\A\d+\z/ }
		qw(pid client major minor count input_seq width height);
	my %e = (name => $name, cat => 'x', ts => _us($t), pid => $pid, tid => $tid, args => \%args);
	$self->_put(
		$name eq 'x_request'
		? { %e, ph => 'X', dur => _us($f->{duration_ns}) }
		: { %e, ph => 'i', s => 't' }
	);
	return 1;
}

# A thread's run ends where its CPU is left.
sub _switch {
	my ($self, $f, $where) = @_;
	my ($cpu, $t) = @$where{qw(cpu ts)};
	my $on = $self->{on}{$cpu};
	if ($on && $on->{tid} && $on->{tid} == $f->{tid}) {
		my ($pid, $tid) = $self->_who($on->{tid}, $t);
		$self->_put(
			{
				name => 'running',           cat => 'sched', ph  => 'X', ts => _us($on->{ts}),
				dur  => _us($t - $on->{ts}), pid => $pid,    tid => $tid,
				args => {
					cpu  => $cpu + 0, prio => $on->{prio} + 0,
					then => $self->{episode}->record->name_of('task_state', $f->{prev_state})
				}
			}
		);
	}
	$self->{on}{$cpu} = { tid => $f->{next_tid}, ts => $t, prio => $f->{next_prio} };
	return 1;
}

sub end { my ($self) = @_; $self->{out}->("\n]}\n") }

1;
