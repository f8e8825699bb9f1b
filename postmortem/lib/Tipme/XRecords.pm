# SPDX-License-Identifier: GPL-2.0-only
# The records of one X server, sorted by kind and time: what it read, whom it told, what it did for whom, what changed on the screen.
package Tipme::XRecords;

use strict;
use warnings;

my $SIZE    = 32;
my @SOURCES = qw(x_hooks x_client);

# load_all(EPISODE): one object for each X server of the episode; what its other threads wrote into files of their own is in it, too
sub load_all {
	my ($class, $ep) = @_;
	my (%of, @servers);
	my %hooked = map { $_->{server_pid} => 1 } grep { $_->{source} eq 'x_hooks' && defined $_->{server_pid} } @{ $ep->manifest->{sources} };
	# x-<pid>.rec, that of the thread that serves the clients, before x-<pid>-<tid>.rec
	for my $s (sort { length $a->{file} <=> length $b->{file} || $a->{file} cmp $b->{file} } @{ $ep->manifest->{sources} }) {
		next if !grep { $_ eq $s->{source} } @SOURCES;
		# What the server itself told is exact: an observer that came before the hooks has nothing to add.
		next if $s->{source} eq 'x_client' && $hooked{ $s->{server_pid} // 0 };
		next if $of{ $s->{file} };
		my ($first) = grep { $s->{source} eq 'x_hooks' && $_->{exact} && defined $s->{server_pid} && ($_->{pid} // 0) == $s->{server_pid} } @servers;
		if ($first) { $of{ $s->{file} } = $first; next }
		$of{ $s->{file} } = bless { file => $s->{file}, pid => $s->{server_pid}, tid => $s->{server_tid} // $s->{server_pid},
			name => $s->{server_name}, display => $s->{display}, exact => $s->{source} eq 'x_hooks', map { $_ => [] } _kinds() }, $class;
		push @servers, $of{ $s->{file} };
	}
	for my $s ($ep->sections_between(undef, undef, \@SOURCES)) { $of{ $s->{file} }->_load($ep, $s) if $of{ $s->{file} } }
	$_->_sort for @servers;
	return @servers;
}

# none(): an X server that was not there, with no records
sub none { my ($class) = @_; return bless { file => undef, pid => -1, tid => -1, name => undef, exact => 0, map { $_ => [] } _kinds() }, $class }

sub _kinds { return qw(x_device x_deliver x_request x_damage x_sleep x_wakeup x_chord x_client x_grab x_input x_reply x_output_full x_present input_chord) }


sub _load {
	my ($self, $ep, $s) = @_;
	my ($list, $buf) = $ep->section_records($s);
	my $code = $ep->record;
	my %want = map { $_ => 1 } _kinds();
	my %number = map { $_ => $code->number_of($_) } grep { /^x_/ } _kinds();
	my %flush = ($code->number_of('x_flush') => 1);
	my %file_order;
	my ($n, %known) = (0);
	$file_order{$_} = ++$n for sort { $a <=> $b } map { $_->[1] } @$list;
	for (@$list) {
		my ($ts, $off, $len) = @$_;
		my $type = vec $$buf, $off + 8, 8;
		next if $flush{$type};
		my ($name, $fields) = @{ $known{$type} //= [ $code->fields_of($type) ] };
		if (!defined $name) { $ep->unknown_seen($type, $s->{file}, $s->{offset} + $off); next }
		my $f = $fields->(substr $$buf, $off, $len);
		$f->{nr} = $s->{number} + $file_order{$off};
		# The input thread tells what it read; its hot-key is the server's own, seen before, and perhaps seen nowhere else.
		if ($s->{file} ne $self->{file}) {
			push @{ $self->{ $name eq 'x_chord' ? 'input_chord' : $name } }, { %$f, file => $s->{file} } if $name =~ /\Ax_(?:input|chord)\z/;
			next;
		}
		if ($name eq 'x_idle') { $self->_add_idle($f); next }
		next if !$want{$name};
		$self->{tid} //= $f->{tid};
		push @{ $self->{$name} }, $f;
	}
	$self->{pid} //= $self->{tid};
}

# What x_sleep and x_wakeup say, in one.
sub _add_idle {
	my ($self, $f) = @_;
	push @{ $self->{x_sleep} }, { ts_ns => $f->{ts_ns}, tid => $f->{tid}, nr => $f->{nr} };
	push @{ $self->{x_wakeup} }, { ts_ns => $f->{ts_ns} + $f->{duration_ns}, tid => $f->{tid}, nr => $f->{nr} };
}

# A server that sleeps when the ring is copied has written no end of it; what it does after that in a later copy is one.
sub _end_sleeps {
	my ($self) = @_;
	my ($wakeup, $sleep, $k, @ends) = ($self->{x_wakeup}, $self->{x_sleep}, 0);
	for my $n (0 .. $#$sleep) {
		my ($s, $next) = @$sleep[ $n, $n + 1 ];
		$k++ while $k < @$wakeup && $wakeup->[$k]{ts_ns} < $s->{ts_ns};
		my $w = $wakeup->[$k];
		next if $w && (!$next || $w->{ts_ns} <= $next->{ts_ns});
		my ($first) = sort { $a->{ts_ns} <=> $b->{ts_ns} } grep { defined } map { $self->{$_}[ $self->lower($_, $s->{ts_ns} + 1) ] } qw(x_device x_deliver x_request x_sleep);
		push @ends, { ts_ns => $first->{ts_ns}, tid => $first->{tid}, nr => $first->{nr} } if $first && (!$w || $w->{ts_ns} > $first->{ts_ns});
	}
	$self->{x_wakeup} = [ sort { $a->{ts_ns} <=> $b->{ts_ns} || $a->{nr} <=> $b->{nr} } @$wakeup, @ends ] if @ends;
}

sub _sort {
	my ($self) = @_;
	for my $k (_kinds()) { $self->{$k} = [ sort { $a->{ts_ns} <=> $b->{ts_ns} || $a->{nr} <=> $b->{nr} } @{ $self->{$k} } ] }
	$self->_end_sleeps;
}

# all(KIND): its records in order; lower(KIND, TIME): position of the first at or after TIME; last_before(KIND, TIME): the last one before TIME
sub all { return @{ $_[0]{ $_[1] } } }

sub lower {
	my ($self, $kind, $t) = @_;
	my $l = $self->{$kind};
	my ($lo, $hi) = (0, scalar @$l);
	while ($lo < $hi) { my $m = ($lo + $hi) >> 1; if ($l->[$m]{ts_ns} < $t) { $lo = $m + 1 } else { $hi = $m } }
	return $lo;
}

sub last_before {
	my ($self, $kind, $t) = @_;
	my $i = $self->lower($kind, $t);
	return $i ? $self->{$kind}[ $i - 1 ] : undef;
}

# between(KIND, FROM, TO): the records of [FROM, TO)
sub between {
	my ($self, $kind, $from, $to) = @_;
	return @{ $self->{$kind} }[ $self->lower($kind, $from) .. $self->lower($kind, $to) - 1 ];
}

# evidence(RECORD): where it stands
sub evidence { my ($self, $r) = @_; return { file => $r->{file} // $self->{file}, record => $r->{nr}, ts_ns => $r->{ts_ns} } }

# request_end(POSITION): when that request, or run of them, ended: undef if it was still being executed. A record can tell 4.3 s; one that lasted longer did so up to the next of its thread.
sub request_end {
	my ($self, $k) = @_;
	my $all = $self->{x_request};
	my $r = $all->[$k];
	return if !$r->{count};
	return $r->{ts_ns} + $r->{duration_ns} if $r->{duration_ns} < 0xffff_ffff;
	return $k < $#$all ? $all->[ $k + 1 ]{ts_ns} : undef;
}

# in_request(FROM, TO): did the server execute one request all that time?
sub in_request {
	my ($self, $from, $to) = @_;
	my $k = $self->lower('x_request', $from + 1) - 1;
	return 0 if $k < 0 || $self->{x_request}[$k]{count} > 1;
	my $end = $self->request_end($k);
	return !defined $end || $end >= $to ? 1 : 0;
}

# is_of(RECORD, PID, CLIENT): is it about that client? Where the process is known, about any connection of it. unnamed(CLIENT): what one of an unknown process is called
sub is_of   { my ($r, $pid, $client) = @_; return $r->{pid} ? $r->{pid} == ($pid // 0) : !$pid && $r->{client} == ($client // -1) }
sub unnamed { my ($client) = @_; return "client $client (from the network or a container)" }

# grabs(): [ from, to, pid, record ] of the whole server; `to` undef where it lasts
sub grabs {
	my ($self) = @_;
	return @{ $self->{grabs} } if $self->{grabs};
	my ($open, @g);
	for my $g (grep { $_->{what} == 1 } $self->all('x_grab')) {
		push @g, [ $open->{ts_ns}, $g->{ts_ns}, $open->{pid}, $open ] if $open;
		push @g, [ 0, $g->{ts_ns}, $g->{pid}, $g ] if !$open && !$g->{begin} && !@g;
		$open = $g->{begin} ? $g : undef;
	}
	push @g, [ $open->{ts_ns}, undef, $open->{pid}, $open ] if $open;
	$self->{grabs} = \@g;
	return @g;
}

# asleep(FROM, TO): [ from, to ] in which the server had nothing to do
sub asleep {
	my ($self, $from, $to) = @_;
	my $l = $self->{x_sleep};
	my $i = $self->lower('x_sleep', $from);
	$i-- if $i;
	my @a;
	for (; $i < @$l && $l->[$i]{ts_ns} < $to; $i++) {
		my $b = $l->[$i]{ts_ns};
		my $w = $self->{x_wakeup}[ $self->lower('x_wakeup', $b) ];
		my $e = $w ? $w->{ts_ns} : $to;
		push @a, [ $b < $from ? $from : $b, $e > $to ? $to : $e ] if $e > $from;
	}
	return @a;
}

1;
