# SPDX-License-Identifier: GPL-2.0-only
# From the segments of a wake-up chain to the path: each stretch of time with the thread, what it did, and who is to be blamed for it.
package Tipme::Blame;

use strict;
use warnings;

my $MAX_EVIDENCE = 6;    # of one stretch
my $MANY         = 2000;            # stretches of a path that are told one by one
my $RUN_NS       = 10_000_000;      # with more of them, those who had a CPU in turn are told together, in runs of this length
my %WAIT = map { $_ => 1 } qw(unknown irq-time stopped rt-starvation cpu-contention);

# new(threads => Threads, events => KernelEvents, server => XRecords, client_pid)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# path(\SEGMENTS): [ { tid, pid, start_time_ns, comm, from_ns, to_ns, state, reason, exact, cpu, evidence, blamed { kind, pid, tid, comm, detail } } ... ]
sub path {
	my ($self, $segments) = @_;
	my @s = @$segments > $MANY ? _in_runs($segments) : @$segments;
	@s = map { $self->_split_by_requests($_) } map { $self->_split_by_grabs($_) } @s;
	my @path;
	for my $s (@s) {
		my $p = $self->_entry($s);
		if (@path && _alike($path[-1], $p)) { _join($path[-1], $p) } else { push @path, $p }
	}
	$_->{evidence} = [ map { $self->{events}->evidence($_) } _few(@{ $_->{evidence} }) ] for @path;
	return \@path;
}

# Where two threads hand a CPU to each other 100,000 times a second, a list of that is no help: the stretch names whoever had most
# of it, and `among` what each of them had.
sub _in_runs {
	my ($segments) = @_;
	my (@out, $run);
	for my $s (@$segments) {
		if (!defined $s->{blamed_tid}) { push @out, $s; undef $run; next }
		my $same = $run && !(grep { ($run->{$_} // '') ne ($s->{$_} // '') } qw(tid kind cpu exact reason)) && $s->{to} - $run->{from} <= $RUN_NS;
		if (!$same) { push @out, $run = {%$s} }
		my $who = $s->{blamed_work} ? $s->{blamed_work}{tid} : $s->{blamed_tid};
		my $a = $run->{among}{$who} //= { segment => $s, ns => 0 };
		$a->{ns} += $s->{to} - $s->{from};
		$run->{to} = $s->{to};
		$run->{evidence} = [ $run->{evidence}[0] // (), $s->{evidence}[-1] // () ] if $same;
	}
	return @out;
}

# The members of a run, the largest first.
sub _among {
	my ($self, $s) = @_;
	my @m = map { { %{ $self->_blamed($_->{segment}, undef) }, ns => $_->{ns} } } values %{ $s->{among} };
	return [ sort { $b->{ns} <=> $a->{ns} || $a->{tid} <=> $b->{tid} } @m ];
}

sub _who { my ($self, $tid, $t) = @_; return $self->{threads}->at($tid, $t) }

sub _entry {
	my ($self, $s) = @_;
	my $who = $self->_who($s->{tid}, $s->{to} - 1);
	return {
		tid => $s->{tid}, pid => $who->{pid}, start_time_ns => $who->{start_ns}, comm => $who->{comm}, from_ns => $s->{from}, to_ns => $s->{to},
		state => $s->{state}, cpu => $s->{cpu}, reason => $s->{reason}, exact => $s->{exact} ? 1 : 0,
		evidence => $s->{evidence}, $s->{among} && keys %{ $s->{among} } > 1 ? $self->_run_blamed($s) : (blamed => $self->_blamed($s, $who)),
	};
}

sub _run_blamed {
	my ($self, $s) = @_;
	my $among = $self->_among($s);
	my %most = %{ $among->[0] };
	delete $most{ns};
	return (blamed => { %most, detail => 'had the CPU in turn with others' }, among => $among);
}

sub _blamed {
	my ($self, $s, $who) = @_;
	return $self->_process($s->{grab}[2], $s->{from}, 'server-grab', 'had grabbed the X server') if $s->{grab};
	return $self->_process($s->{request}{pid}, $s->{from}, 'client-queue', 'the X server executed its requests') if $s->{request};
	my $kind = $s->{kind} // '';
	if (my $w = $s->{blamed_work}) { return _thread($self->_who($w->{tid}, $w->{queued_ns}), $kind, 'had the CPU through a kernel worker') }
	if (defined $s->{blamed_tid}) { return _thread($self->_who($s->{blamed_tid}, $s->{to} - 1), $kind, 'had the CPU') }
	return $self->_running($s, $who) if $s->{state} eq 'running';
	return { kind => 'unknown', pid => undef, tid => undef, comm => undef, detail => $s->{reason} } if $kind eq 'unknown';
	return _thread($who, $kind, $s->{reason} . $self->_let_go($s)) if $kind eq 'stopped';
	return _thread($who, $kind, $s->{reason}) if $WAIT{$kind} || $self->_own($who);
	return _thread($who, 'ipc-wait', $s->{reason});
}

sub _own { my ($self, $who) = @_; return $who->{pid} == $self->{client_pid} || $who->{pid} == $self->{server}{pid} }

sub _running {
	my ($self, $s, $who) = @_;
	if ($s->{work} && defined $s->{work}{tid}) {
		my $for = $self->_who($s->{work}{tid}, $s->{work}{queued_ns});
		my $what = $s->{work}{function} ? "$s->{work}{function} in " : '';
		return _thread($for, $self->_compute($for), "its work ${what}kernel thread $who->{comm}");
	}
	return _thread($who, $self->_compute($who), $s->{work} && $s->{work}{function} ? "running $s->{work}{function}" : 'computing');
}

sub _compute {
	my ($self, $who) = @_;
	return $who->{pid} == $self->{client_pid} ? 'app-compute' : $who->{pid} == $self->{server}{pid} ? 'server-compute' : 'ipc-wait';
}

sub _let_go {
	my ($self, $s) = @_;
	my $w = $s->{waker} or return ', and still is';
	return '' if !$w->{tid};
	my $who = $self->_who($w->{tid}, $w->{at});
	return ", let go on by $who->{comm} (pid $who->{pid})";
}

sub _thread {
	my ($who, $kind, $detail) = @_;
	return { kind => $kind, pid => $who->{pid}, tid => $who->{tid}, comm => $who->{comm}, detail => $detail, parent => $who->{ppid}, prio => $who->{prio} };
}

sub _process {
	my ($self, $pid, $t, $kind, $detail) = @_;
	return _thread($self->_who($pid, $t), $kind, $detail);
}

# While another client has the server for itself, waiting for the server is waiting for that client.
sub _split_by_grabs {
	my ($self, $s) = @_;
	my $pid = $self->_who($s->{tid}, $s->{to} - 1)->{pid};
	return $s if $pid == $self->{client_pid};
	my @out;
	for my $g (sort { $a->[0] <=> $b->[0] } grep { $_->[2] != $self->{client_pid} } $self->{server}->grabs) {
		next if $pid != $self->{server}{pid} && $pid != $g->[2];
		my $from = $g->[0] > $s->{from} ? $g->[0] : $s->{from};
		my $to   = defined $g->[1] && $g->[1] < $s->{to} ? $g->[1] : $s->{to};
		next if $from >= $to;
		delete $s->{among};
		push @out, { %$s, to => $from } if $from > $s->{from};
		push @out, { %$s, from => $from, to => $to, grab => $g, exact => 1 };
		$s = { %$s, from => $to };
	}
	push @out, $s if $s->{to} > $s->{from};
	return @out;
}

# What the server did for other clients while ours waited is theirs.
sub _split_by_requests {
	my ($self, $s) = @_;
	my $x = $self->{server};
	return $s if $s->{grab} || $s->{state} ne 'running' || $s->{tid} != $x->{tid};
	my @out;
	my $k = $x->lower('x_request', $s->{from});
	$k-- while $k > 0 && $x->{x_request}[ $k - 1 ]{ts_ns} + $x->{x_request}[ $k - 1 ]{duration_ns} > $s->{from};
	for (; $k < @{ $x->{x_request} } && $x->{x_request}[$k]{ts_ns} < $s->{to}; $k++) {
		my $r = $x->{x_request}[$k];
		next if $r->{pid} == $self->{client_pid} || !$r->{pid} || $r->{duration_ns} < 100_000;
		my $from = $r->{ts_ns} > $s->{from} ? $r->{ts_ns} : $s->{from};
		my $to   = $r->{ts_ns} + $r->{duration_ns};
		$to = $s->{to} if $to > $s->{to} || !$r->{count};
		next if $from >= $to;
		push @out, { %$s, to => $from } if $from > $s->{from};
		push @out, { %$s, from => $from, to => $to, request => $r };
		$s = { %$s, from => $to };
	}
	push @out, $s if $s->{to} > $s->{from};
	return @out;
}

sub _alike {
	my ($a, $b) = @_;
	return 0 if $a->{among} || $b->{among};
	for (qw(tid pid start_time_ns comm state reason exact cpu)) { return 0 if ($a->{$_} // '') ne ($b->{$_} // '') }
	for (qw(kind pid tid detail)) { return 0 if ($a->{blamed}{$_} // '') ne ($b->{blamed}{$_} // '') }
	return 1;
}

sub _join { my ($a, $b) = @_; $a->{to_ns} = $b->{to_ns}; push @{ $a->{evidence} }, @{ $b->{evidence} } }

sub _few {
	my %seen;
	my @i = sort { $a <=> $b } grep { !$seen{$_}++ } @_;
	return @i if @i <= $MAX_EVIDENCE;
	my $half = $MAX_EVIDENCE / 2;
	return (@i[ 0 .. $half - 1 ], @i[ -$half .. -1 ]);
}

1;
