# SPDX-License-Identifier: GPL-2.0-only
# Which records of an episode a bundle keeps. The path of the verdict says when which thread mattered: what a thread did at
# other times tells when other keys were pressed, and stays here.
package Tipme::Cut;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use List::Util qw(max min);

our $NEAR_NS = 1_000_000;      # records so near to a stretch of the path belong to it
my $MARGIN_NS = 100_000_000;
my $COARSE_NS = 1_000_000_000;    # of the time since which a thread is blocked that had no part then
my %INPUT  = map { $_ => 1 } qw(x_device x_deliver x_input input x_chord);
my %SCHED  = map { $_ => 1 } qw(sched_switch sched_waking migrate);
# Kept where they belong to a thread of the path, or to no thread, anywhere in the interval: they carry no times of keys.
my %WIDE   = map { $_ => 1 } qw(io lock_contention memory_wait cpu_throttle signal priority affinity steal rename exec fork exit work_queued work_start work_end);
my %STACK  = map { $_ => 1 } qw(stack user_stack function module);
my @TIDS   = qw(tid next_tid waker_tid raiser_tid child_tid sender_tid owner_tid changer_tid mover_tid);

# How much is kept, the least first: path: of each thread, the stretches of the path; interval: all threads, the interval and 0.1 s on both sides; seconds: the
# same, from 1 s before to 0.5 s after. Input events other than the episode's own are in none of these. whole: all, with all input events.
our @DETAIL = qw(path interval seconds whole);

# new(DIAGNOSIS, DATA of its run, detail => one of @DETAIL)
sub new {
	my ($class, $diagnosis, $d, %o) = @_;
	my $self = bless { d => $d, detail => $o{detail} // 'path', of => {}, pid => {}, mentioned => {}, stacks => {}, aside => {} }, $class;
	my $i = $d->{interval};
	if (!$i || $self->{detail} eq 'whole') { @$self{qw(detail from to)} = ('whole', 0, 1 << 62); return $self }
	my ($before, $after) = $self->{detail} eq 'path' ? ($NEAR_NS, $NEAR_NS) : $self->{detail} eq 'interval' ? ($MARGIN_NS, $MARGIN_NS) : (1_000_000_000, 500_000_000);
	$after = max($after, 2_000_000_000) if $i->{certainty} eq 'open';
	@$self{qw(start end from to)} = ($i->{start_ns}, $i->{end_ns}, max(0, $i->{start_ns} - $before), $i->{end_ns} + $after);
	$self->_stretches;
	$self->_begun($diagnosis->states($self->{start}, $self->{end})) if $self->{detail} eq 'path';
	my ($e) = $d->{event} ? grep { $_->{n} == $d->{event}{n} } $diagnosis->events : ();
	my $r = $e ? $diagnosis->answer_of($e) // {} : {};
	$self->{stage} = { map { $_ => 1 } grep { defined } (map { $_->{ts_ns} } @{ ($d->{event} // {})->{stages} // [] }), @$r{qw(end_ns first_ns)}, ($r->{damage} // {})->{ts_ns} };
	$self->{own} = $e && { seq => $e->{seq}, tid => $e->{server}{tid}, ns => $e->{device_ns}, read_ns => $e->{read_ns} // 0 };
	return $self;
}

# from(), to(): what is kept lies between these
sub from   { return $_[0]{from} }
sub to     { return $_[0]{to} }
sub detail { return $_[0]{detail} }

# own(): the input event of the verdict, as the manifest names it: { n, ns }; undef where there is none, or all events are there
sub own { my ($self) = @_; return $self->{own} && $self->{detail} ne 'whole' ? { n => $self->{d}{event}{n}, ns => $self->{own}{ns} } : undef }

# stretches(PATH): { tid => [ [ from, to ] ... ] }: when which thread was on it, apart from each other and in order
sub stretches {
	my ($path, $with_blamed) = @_;
	my %of;
	for my $p (@$path) {
		my @tid = ($p->{tid}, map { $_->{of_tid} } @{ $p->{among} // [] });
		push @tid, map { $_->{tid} } $p->{blamed} // (), @{ $p->{among} // [] } if $with_blamed;
		my %seen;
		for my $tid (grep { $_ && !$seen{$_}++ } @tid) {
			my $l = $of{$tid} //= [];
			if (@$l && $l->[-1][1] >= $p->{from_ns}) { $l->[-1][1] = $p->{to_ns} }
			else                                     { push @$l, [ $p->{from_ns}, $p->{to_ns} ] }
		}
	}
	return \%of;
}

sub _stretches {
	my ($self) = @_;
	my $path = $self->{d}{path};
	$self->{of} = stretches($path, 1);
	$self->{turn} = { map { int($_->{from_ns} / $NEAR_NS) => 1, int($_->{to_ns} / $NEAR_NS) => 1 } @$path };
	# Where a thread waits for a CPU, whoever has it has a part.
	$self->{waits} = [ map { [ @$_{qw(from_ns to_ns)} ] } grep { $_->{state} eq 'runnable' || $_->{mixed} } @$path ];
	$self->{pid} = { map { $_ => 1 } grep { $_ } map { ($_->{pid}, $_->{blamed}{pid}, map { $_->{pid} } @{ $_->{among} // [] }) } @$path };
	return;
}

# A thread that runs or could run when its stretch begins: since when, is a part of it, and who woke it.
sub _begun {
	my ($self, $states) = @_;
	for my $tid (keys %{ $self->{of} }) {
		for my $s (@{ $self->{of}{$tid} }) {
			my $i = $states->before($tid, $s->[0] + 1) or next;
			# One that sleeps has gone to sleep a moment before; when, is nobody's business.
			if ($i->{kind} !~ /\Arun/ && ($i->{state} // '') =~ /sleep/) { $self->{slept}{ "$tid $i->{from}" } = $s->[0] - $NEAR_NS if $i->{from} < $s->[0] - $NEAR_NS; next }
			$self->{begun}{ "$tid $_" } = 1 for $i->{from}, defined $i->{wake} ? vec $states->events->{ts}, $i->{wake}, 64 : ();
		}
	}
	return;
}

sub _within { my ($list, $ts, $near) = @_; for (@{ $list // [] }) { return 1 if $ts >= $_->[0] - $near && $ts <= $_->[1] + $near } return 0 }

# carries(NAME, FIELDS): of what went on before, the last record of each sort is kept, with the time at which the cut begins: answers with the sort, or undef. A signal that
# stopped a thread of the path keeps its time, and so does what named one.
sub carries {
	my ($self, $name, $f) = @_;
	# When the server last went to sleep tells of the key before.
	if ($name eq 'x_idle' && $self->{detail} eq 'path' && $f->{duration_ns} > $NEAR_NS) { $f->{ts_ns} += $f->{duration_ns} - $NEAR_NS; $f->{duration_ns} = $NEAR_NS }
	return if $self->{detail} eq 'whole' || $f->{ts_ns} >= $self->{from};
	return "signal $f->{ts_ns}" if $name eq 'signal' && ($self->{pid}{ $f->{pid} } || $self->{of}{ $f->{tid} }) && $self->_mention($name, $f);
	# Who it is that has a part may have been told only then.
	return "$name $f->{ts_ns} $f->{tid}" if $name =~ /\A(?:rename|fork|exec)\z/ && grep { $_ && ($self->{pid}{$_} || $self->{of}{$_}) } @$f{qw(tid pid child_tid)};
	return if $self->{detail} ne 'path';
	my $sort = $name =~ /\Ax_(?:sleep|wakeup)\z/ ? "$name $f->{tid}" : $name eq 'x_grab' ? "$name $f->{client} $f->{what}"
		: $name eq 'x_request' && $f->{ts_ns} + $f->{duration_ns} >= $self->{from} ? $name : $name eq 'cpu_frequency' ? "$name $f->{cpu}" : undef;
	return if !defined $sort;
	if ($name eq 'x_request') { $f->{duration_ns} -= $self->{from} - $f->{ts_ns} }
	$f->{ts_ns} = $self->{from};
	$self->_mention($name, $f);
	return $sort;
}

# keeps(NAME, FIELDS): 1: this record, of a source that sees events, is kept. Call it in order of files; then names() for what the daemon wrote.
sub keeps {
	my ($self, $name, $f) = @_;
	return 1 if $self->{detail} eq 'whole';
	my $ts = $f->{ts_ns};
	return 0 if ($ts < $self->{from} || $ts > $self->{to}) && !$self->{begun}{"$f->{tid} $ts"} && !$self->{slept}{"$f->{tid} $ts"};
	return 0 if $INPUT{$name} && !$self->_own_input($name, $f);
	return $self->_mention($name, $f) if $INPUT{$name} || $self->{detail} ne 'path';
	return $self->_mention($name, $f) if $self->_on_path($name, $f);
	my $moved = $name eq 'sched_switch' ? $self->{slept}{"$f->{tid} $ts"} : undef;
	return 0 if !defined $moved;
	@$f{qw(ts_ns next_tid irq_ns softirq_ns)} = ($moved, 0, 0, 0);
	return $self->_mention($name, $f);
}

sub _own_input {
	my ($self, $name, $f) = @_;
	my $own = $self->{own} or return 0;
	return $self->{stage}{ $f->{ts_ns} } ? 1 : 0 if $name eq 'input';
	return $f->{ts_ns} == $own->{read_ns} if $name eq 'x_input';
	return $name ne 'x_chord' && $own->{seq} && $f->{input_seq} == $own->{seq};
}

sub _on_path {
	my ($self, $name, $f) = @_;
	my $ts = $f->{ts_ns};
	my @tid = grep { $_ } map { $f->{$_} } $name eq 'sched_switch' ? qw(tid next_tid) : 'tid';
	return 1 if $self->{stage}{$ts} || grep { $self->{begun}{"$_ $ts"} || _within($self->{of}{$_}, $ts, $NEAR_NS) } @tid;
	# What the server did for a client lasts from the time of the record on.
	return 1 if $name eq 'x_request' && grep { $_->[0] <= $ts + $f->{duration_ns} && $_->[1] >= $ts } @{ $self->{of}{ $f->{tid} } // [] };
	return 1 if $name eq 'sched_switch' && _within($self->{waits}, $ts, $NEAR_NS);
	return 1 if $name !~ /\Ax_/ && ($WIDE{$name} ? !@tid || grep { $self->{of}{$_} } @tid : !@tid && !$SCHED{$name} && $name !~ /\A(?:cpu_idle|irq)\z/);
	return 1 if $name eq 'cpu_idle' && grep { $self->{turn}{ int($ts / $NEAR_NS) + $_ } } -1 .. 1;
	return $ts <= $self->{start} + $NEAR_NS || $ts >= $self->{end} - $NEAR_NS;
}

sub _mention {
	my ($self, $name, $f) = @_;
	$self->{mentioned}{ $f->{$_} } = 1 for grep { $f->{$_} } @TIDS;
	$self->{mentioned}{ $f->{pid} } = 1 if $f->{pid};
	$self->{stacks}{stack}{ $f->{$_} } = 1 for grep { $f->{$_} } qw(stack_id kernel_stack_id);
	$self->{stacks}{user_stack}{ $f->{user_stack_id} } = 1 if $f->{user_stack_id};
	$self->{stacks}{function}{ $f->{function} } = 1 if $f->{function};
	return 1;
}

# left_out(NAME): how records of that name are called where it is said what was left out
sub left_out {
	my ($name) = @_;
	return $INPUT{$name} ? 'input events that are not the one of the verdict' : $name =~ /\Ax_/ ? 'records of the X server off the path'
		: $STACK{$name} ? 'functions and libraries of programs without a part' : $name =~ /\A(?:thread|process|proc_state|rename)\z/ ? 'threads without a part' : 'records of the kernel off the path';
}

# names(NAME, FIELDS, NAMED): 1 if this record of the daemon's is kept, changed where it told too much; NAMED: processes that keep their names
sub names {
	my ($self, $name, $f, $named) = @_;
	return 1 if $self->{detail} eq 'whole';
	return $self->_named_code($name, $f) if $STACK{$name};
	if ($name eq 'thread' || $name eq 'proc_state' || $name eq 'rename') {
		return 0 if !$self->{mentioned}{ $f->{tid} } && !$self->{of}{ $f->{tid} } && !$named->{ $f->{pid} // $f->{tid} };
		$f->{since_ns} = max(1, $f->{since_ns} - $f->{since_ns} % $COARSE_NS) if $f->{since_ns} && !_within($self->{of}{ $f->{tid} }, $f->{since_ns}, $NEAR_NS);
		$self->{stacks}{stack}{ $f->{stack_id} } = 1 if $f->{stack_id};
	}
	return 0 if $name eq 'process' && !$named->{ $f->{pid} } && !$self->{mentioned}{ $f->{pid} };
	return 1;
}

sub _named_code {
	my ($self, $name, $f) = @_;
	if ($name eq 'module') { return $self->{modules}{ $f->{module_id} } ? 1 : 0 }
	return 0 if !$self->{stacks}{$name}{ $f->{ $name eq 'function' ? 'function' : 'stack_id' } };
	$self->{modules}{$1} = 1 while ($f->{text} // '') =~ /\[(\d+)\]/g;
	return 1;
}

# aside(STATES): what the threads of the path did when they were not on it, as sums: [ { tid, running_ns, ... } ]. With what they did on it these are the
# sums of the diagnosis.
my @SUMS = qw(running runnable blocked absent irq softirq net_running);

sub aside {
	my ($self, $states) = @_;
	return [] if $self->{detail} ne 'path' || !$self->{d}{event};
	my $of = stretches($self->{d}{path});
	my @out;
	for my $t (@{ $self->{d}{totals}{threads} }) {
		my $on = on_path($states, $of->{ $t->{tid} }, $t->{tid});
		push @out, { tid => $t->{tid}, map { ("${_}_ns" => $t->{"${_}_ns"} - $on->{"${_}_ns"}) } @SUMS };
	}
	return \@out;
}

# on_path(STATES, STRETCHES, TID): the sums of the stretches
sub on_path {
	my ($states, $stretches, $tid) = @_;
	my %sum = map { ("${_}_ns" => 0) } @SUMS;
	for my $s (@{ $stretches // [] }) {
		my $one = $states->sums($tid, @$s);
		$sum{ /_ns\z/ ? $_ : "${_}_ns" } += $one->{$_} for keys %$one;
	}
	return \%sum;
}

1;
