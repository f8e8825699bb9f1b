# SPDX-License-Identifier: GPL-2.0-only
# From the segments of a wake-up chain to the path: each stretch of time with the thread, what it
# did, and who is to be blamed for it.
package Tipme::Blame;

use strict;
use warnings;
use Tipme::Interference;
use Tipme::Kinds;
use Tipme::Reason qw(reason with_more args_of);
use Tipme::DisplaySource;
use Tipme::WakeupChain::Queue;

my $MAX_EVIDENCE = 6;       # of one stretch
my $MANY         = 2000;    # stretches of a path that are told one by one
# with more of them, those who had a CPU in turn are told together, in runs of this length
my $RUN_NS = 10_000_000;
# stretches of a long path that are told by runs are shorter than this
my $SHORT_NS   = 1_000_000;
my $AT_ONCE_NS = 50_000_000;    # after a grab has ended, what had waited for that is drawn
# requests of others that the server executed for so long are theirs
my $REQUEST_NS = 100_000;

# new(threads => Threads, events => KernelEvents, resources => Resources, chain => WakeupChain,
# server => DisplaySource, client_pid, client (its number in the server, where no process is known),
# held_input => { pid, from, to }, answered_ns => when the screen had changed, undef: it had not)
sub new {
	my ($class, %o) = @_;
	return bless { %o, interference => Tipme::Interference->new(%o{qw(resources threads)}) },
		$class;
}

# path(\SEGMENTS): [ { tid, pid, start_time_ns, comm, from_ns, to_ns, state, reason, exact, cpu,
# evidence, blamed { kind, pid, tid, comm, detail } } ... ]
sub path {
	my ($self, $segments) = @_;
	my @s = $self->{interference}->apply([ @$segments > $MANY ? _in_runs($segments) : @$segments ]);
	@s = map { $self->_split_by_requests($_) } map { $self->_split_by_grabs($_) } @s;
	my @path;
	for my $s (@s) {
		my $p = $self->_entry($s);
		if (@path && _alike($path[-1], $p)) { _join($path[-1], $p) }
		else                                { push @path, $p }
	}
	$_->{evidence} = [ map { $self->{events}->evidence($_) } _few(@{ $_->{evidence} }) ] for @path;
	return \@path;
}

# Where two threads hand a CPU to each other 100,000 times a second, a list of that is no help: the
# stretch names whoever had most of it, and `among` what each of them had.
sub _in_runs {
	my ($segments) = @_;
	my $length = ($segments->[-1]{to} - $segments->[0]{from}) / $MANY;
	$length = $RUN_NS if $length < $RUN_NS;
	my (@out, $run);
	for my $s (@$segments) {
		if (!defined $s->{blamed_tid} || $s->{among}) { push @out, $s; undef $run; next }
		my $same =
			   $run
			&& !(grep { ($run->{$_} // '') ne ($s->{$_} // '') } qw(tid kind cpu exact reason idle))
			&& $s->{to} - $run->{from} <= $length;
		if (!$same) { push @out, $run = $s->with }
		my $who = $s->{blamed_work} ? $s->{blamed_work}{tid} : $s->{blamed_tid};
		my $a   = $run->{among}{$who} //= { segment => $s, ns => 0 };
		$a->{ns} += $s->{to} - $s->{from};
		$run->{to}       = $s->{to};
		$run->{evidence} = [ $run->{evidence}[0] // (), $s->{evidence}[-1] // () ] if $same;
	}
	return @out;
}

# shorten(\SEGMENTS): the same time in fewer segments, the latest first: those that are short and
# ordinary, as of threads that take turns, are told together in runs; `among` has what each sort of
# them had, by which all sums stay as exact as before. What interrupts, quotas, others' requests or
# locks have a part in stays as it is.
sub shorten {
	my ($self, $segments) = @_;
	my $ordinary = $self->_ordinary($segments->[-1]{from}, $segments->[0]{to}) or return $segments;
	my (@out, $run);
	no warnings 'uninitialized';
	for my $s (@$segments) {
		if ($s->{to} - $s->{from} >= $SHORT_NS || !$ordinary->($s)) {
			push @out, $s;
			undef $run;
			next;
		}
		if (!$run || $run->{to} - $s->{from} > $RUN_NS) {
			push @out,
				$run = Tipme::Segment->new(
				to       => $s->{to}, state => 'mixed', mixed => 1, among => {},
				evidence => []
				);
			$run->{last} = $s->{evidence}[-1];
		}
		my $a =
			$run->{among}{ join ' ', @$s{qw(tid state kind cpu exact blamed_tid idle reason)} } //=
			{ segment => $s, ns => 0 };
		$a->{ns} += $s->{to} - $s->{from};
		$run->{from}  = $s->{from};
		$run->{first} = $s->{evidence}[0];
	}
	$_->{evidence} = [ grep {defined} delete @$_{qw(first last)} ] for grep { $_->{mixed} } @out;
	return \@out;
}

# A test for segments of [FROM, TO): does nothing but threads have a hand in it? Undef where that
# cannot be told quickly.
sub _ordinary {
	my ($self, $from, $to) = @_;
	my $r = $self->{resources};
	$self->{limited} //=
		(grep { $_->{quota_us} } $self->{threads}->cgroups) || $r->throttled_cgroups ? 1 : 0;
	return if $self->{held_input};
	my (%taken, %memory);
	my $grabs = _times(
		grep { $_->[0] < $to && $_->[1] > $from }
		map  { [ $_->[0], $_->[1] // $to ] } $self->{server}->grabs
	);
	my $requests = _times(map { [ @$_{qw(from to)} ] } $self->_requests_of_others($from, $to));
	my $taken    = sub {
		my ($cpu) = @_;
		return _times(
			map { [ @$_{qw(from to)} ] } $r->irqs($cpu, $from, $to),
			$r->steals($cpu, $from, $to)
		);
	};
	my $memory = sub { my ($tid) = @_; return scalar(() = $r->memory_waits($tid, $from, $to)) };
	return sub {
		my ($s) = @_;
		return 0
			if !$s->{plain}
			&& ($s->{among}
			|| $s->{held}
			|| $s->{disk}
			|| $s->{work}
			|| $s->{blamed_work}
			|| $s->{by}
			|| ($s->{kind} // '') eq 'stopped');
		return 0 if _reaches($grabs, $s);
		my ($tid, $state, $cpu) = @$s{qw(tid state cpu)};
		if ($state eq 'running' || $state eq 'runnable') {
			return 0 if $state eq 'runnable' && $self->{limited};
			return 0 if defined $cpu         && _reaches($taken{$cpu} //= $taken->($cpu), $s);
			return 1 if $state eq 'runnable';
		}
		return 0 if $state ne 'unknown' && ($memory{$tid} //= $memory->($tid));
		return
			   $state eq 'running'
			&& $tid == $self->{server}{tid}
			&& _reaches($requests, $s) ? 0 : 1;
	};
}

# Times in order, and a look whether one of them reaches into a segment; segments come the latest
# first.
sub _times {
	my @t = sort { $a->[0] <=> $b->[0] } @_;
	return { list => \@t, at => $#t };
}

sub _reaches {
	my ($times, $s) = @_;
	my $list = $times->{list};
	return 0 if $times->{at} < 0;
	$times->{at}-- while $times->{at} >= 0 && $list->[ $times->{at} ][0] >= $s->{to};
	# One that began long before may still last: only where times overlap each other, and then this
	# looks no further than at three of them.
	for (my $k = $times->{at}; $k >= 0 && $k > $times->{at} - 3; $k--) {
		return 1 if $list->[$k][1] > $s->{from};
	}
	return 0;
}

# Requests of other clients that the server executed for long enough to be told apart, in [FROM,
# TO).
sub _requests_of_others {
	my ($self, $from, $to) = @_;
	my $x    = $self->{server};
	my $long = $self->{long_requests} //= [
		grep {
			my $r = $x->{request}[$_];
			$self->_of_another($r) && $r->{duration_ns} >= $REQUEST_NS
		} 0 .. $#{ $x->{request} }
	];
	my @r = map { { from => $x->{request}[$_]{ts_ns}, to => $x->request_end($_) // $to } } @$long;
	return grep { $_->{from} < $to && $_->{to} > $from } @r;
}

# What is told together: the largest stands for the rest.
sub _mixed_entry {
	my ($self, $s) = @_;
	my @m = sort {
			   $b->{ns} <=> $a->{ns}
			|| $a->{segment}{tid} <=> $b->{segment}{tid}
			|| ($a->{segment}{state} cmp $b->{segment}{state})
			|| $b->{segment}{from} <=> $a->{segment}{from}
	} values %{ $s->{among} };
	my @among = map {
		my $m   = $_->{segment};
		my $who = $self->_who($m->{tid}, $m->{to} - 1);
		+{
			%{ $self->_blamed($m, $who) }, ns => $_->{ns}, state => $m->{state},
			exact => $m->{exact} ? 1 : 0, waiter => $who->{pid}, of_tid => $m->{tid}
		};
	} @m;
	my $first = $self->_entry(
		$m[0]{segment}->with(from => $s->{from}, to => $s->{to}, evidence => $s->{evidence}));
	return $first if @among == 1;
	return {
		%$first, mixed => 1, among => \@among,
		exact  => (grep { !$_->{exact} } @among) ? 0 : 1,
		blamed => { %{ $first->{blamed} }, detail => 'in-turn' }
	};
}

# The members of a run, the largest first.
sub _among {
	my ($self, $s) = @_;
	my @m;
	$self->{works} = $self->{chain}->works;
	for my $a (values %{ $s->{among} }) {
		my $m = Tipme::WakeupChain::Queue::segment_of($a);
		my $b = $self->_plainly_had($m) // $self->_blamed($m, $self->_who($m->{tid}, $m->{to} - 1));
		push @m, { %$b, ns => $a->{ns} };
	}
	return [ sort { $b->{ns} <=> $a->{ns} || $a->{tid} <=> $b->{tid} } @m ];
}

# A process goes by the name of its first thread.
sub _who {
	my ($self, $tid, $t) = @_;
	my $who = $self->{threads}->at($tid, $t);
	return { %$who, process => $self->_leader($who, $t) } if $who->{pid} && $who->{pid} != $tid;
	$who->{process} //= $who->{comm};
	return $who;
}

sub _leader {
	my ($self, $who, $t) = @_;
	my $l = $self->{threads}->at($who->{pid}, $t);
	return $l->{comm} eq '?' ? $who->{comm} : $l->{comm};
}

sub _entry {
	my ($self, $s) = @_;
	return $self->_mixed_entry($s) if $s->{mixed};
	my $who = $self->_who($s->{tid}, $s->{to} - 1);
	return {
		tid    => $s->{tid},    pid     => $who->{pid}, start_time_ns => $who->{start_ns},
		comm   => $who->{comm}, from_ns => $s->{from},  to_ns         => $s->{to},
		state  => $s->{state},                                cpu   => $s->{cpu},
		reason => $s->{by} ? $s->{by}{reason} : $s->{reason}, exact => $s->{exact} ? 1 : 0,
		waiter => $s->{held}
		? $self->_who($s->{held}{tid}, $s->{held}{at} - 1)->{pid}
		: $who->{pid},
		evidence => $s->{evidence},
		$s->{among} && keys %{ $s->{among} } > 1
		? $self->_run_blamed($s)
		: (blamed => $self->_blamed($s, $who)),
	};
}

sub _run_blamed {
	my ($self, $s) = @_;
	my $among = $self->_among($s);
	my %most  = %{ $among->[0] };
	delete $most{ns};
	return (blamed => { %most, detail => 'had-cpu-in-turn' }, among => $among);
}

# As _blamed() has it, of a thread that had the CPU for nobody else: made once for all runs. Undef:
# it is not so plain.
sub _plainly_had {
	my ($self, $s) = @_;
	my $tid = $s->{blamed_tid};
	return
		   if !defined $tid
		|| $self->{held_input}
		|| defined $s->{detail}
		|| $self->{works}{$tid}
		|| $s->{grab}
		|| $s->{request}
		|| $s->{by}
		|| $s->{disk}
		|| $s->{held}
		|| $s->{blamed_work};
	my ($threads, $t) = ($self->{threads}, $s->{to} - 1);
	my $who    = $threads->at($tid, $t);
	my $leader = $who->{pid} && $who->{pid} != $tid ? $threads->at($who->{pid}, $t) : $who;
	# The hashes are held here, so no other one comes to have their addresses.
	my $had = $self->{plainly_had}{"$who $leader $s->{kind} $s->{own_prio} $s->{blamed_prio}"} //=
		[ $self->_native($s), $who, $leader ];
	return $had->[0];
}

sub _blamed {
	my ($self, $s, $who) = @_;
	return $self->_by_record($s->{grab}[3], $s->{from}, 'server-grab',  'grabbed') if $s->{grab};
	return $self->_by_record($s->{request}, $s->{from}, 'client-queue', _in_request($s))
		if $s->{request};
	my $b =
		  $s->{by}   ? $self->_interfered($s, $who)
		: $s->{disk} ? $self->_on_disk($s, $who)
		:              $self->_native($s, $who);
	$b = $self->_through($s, $who, $b) if $s->{held};
	# What a client did that had the event before ours, until it let it go on.
	my $late = $self->{held_input};
	return $b
		if !$late
		|| !Tipme::Kinds::has($b->{kind}, 'holding')
		|| ($b->{pid} // -1) != $late->{pid}
		|| $s->{from} >= $late->{to}
		|| $s->{to} <= $late->{from};
	return { %$b, kind => 'input-late', detail =>
			reason('held-back', doing => $s->{state} eq 'running' ? 'computing' : $b->{detail}) };
}

# What the stretch is by itself.
sub _native {
	my ($self, $s, $who) = @_;
	my $kind = $s->{kind} // '';
	if ($s->{blamed_work}) {
		return _thread($self->_asker($s->{blamed_work}), $kind, 'had-cpu-worker');
	}
	if (defined $s->{blamed_tid}) {
		return _thread(
			$self->_who($s->{blamed_tid}, $s->{to} - 1), $kind,
			$s->{detail} // $self->_work_of_nobody($s) // 'had-cpu', own_prio => $s->{own_prio},
			had_prio => $s->{blamed_prio}
		);
	}
	return _thread($self->_who(@{ $s->{asked} }), 'time-out', $s->{reason}) if $s->{asked};
	return $self->_running($s, $who) if $s->{state} eq 'running';
	return { kind => 'unknown', pid => undef, tid => undef, comm => undef, detail => $s->{reason} }
		if $kind eq 'unknown';
	# Who lets a traced thread go on has kept it: a debugger, or strace.
	my $tracer =
		   $kind eq 'stopped'
		&& $s->{state} eq 'traced'
		&& $s->{waker}
		&& $s->{waker}{tid} ? $self->_who($s->{waker}{tid}, $s->{waker}{at}) : undef;
	return _thread($tracer, 'ipc-wait', 'tracing')
		if $tracer && $tracer->{pid} != $who->{pid} && !$tracer->{kernel};
	return _thread(
		$who, $kind, with_more($s->{reason}, $self->_stop($s)),
		by => scalar $self->_stopper($s)
	) if $kind eq 'stopped';
	# What a worker waits for is waited for by whoever had queued the work.
	$who = $self->_asker($s->{work}) if $s->{work};
	my $writer = $kind eq 'writeback' ? $self->_writer($who) : undef;
	return _thread($writer, $kind, reason('wrote-most', doing => $s->{reason})) if $writer;
	return _thread($who,    $kind, $s->{reason})
		if $s->{service} || Tipme::Kinds::has($kind, 'itself') || $self->_own($who);
	return _thread($who, 'ipc-wait', $s->{reason});
}

# What a kernel worker did with a CPU where no thread, but an interrupt, had asked for it, for most
# of that time: a reason; or undef.
my $FIRMWARE = qr/^acpi_/;

sub _work_of_nobody {
	my ($self, $s) = @_;
	my $works = $self->{chain}->works->{ $s->{blamed_tid} } or return;
	my %ns;
	for my $w (@$works) {
		my $from = $w->{start_ns} > $s->{from}                     ? $w->{start_ns} : $s->{from};
		my $to   = defined $w->{end_ns} && $w->{end_ns} < $s->{to} ? $w->{end_ns}   : $s->{to};
		$ns{ $w->{function} } += $to - $from
			if !defined $w->{tid}
			&& defined $w->{queued_ns}
			&& defined $w->{function}
			&& $from < $to;
	}
	my ($function) = sort { $ns{$b} <=> $ns{$a} || $a cmp $b } keys %ns;
	return if !defined $function || 2 * $ns{$function} < $s->{to} - $s->{from};
	return reason(
		$function =~ $FIRMWARE ? 'had-cpu-firmware' : 'had-cpu-work',
		function => $function
	);
}

# Who made the backlog before which a writer is held back. The kernel holds a writer back once for
# so many pages that it has written: who was held back most often has written most. Who writes at
# the same time is held back as often; then those made the backlog who were held back before the
# waiter was. undef: the waiter, or nobody clearly.
my $HELD_BACK = qr/\bbalance_dirty_pages/;
my $CLEARLY   = 2;    # times more often than the waiter itself: then another is meant
# what is older than this the kernel has sent to the disk by itself
my $UNWRITTEN_NS = 30_000_000_000;

sub _writer {
	my ($self, $who) = @_;
	my $of = $self->{held_back} //= $self->_held_back;
	return $self->_most_often($of, $who)
		// $self->_most_often($self->{held_before}{ $who->{pid} } //=
			$self->_held_before($of->{ $who->{pid} }), $who);
}

sub _most_often {
	my ($self, $of, $who) = @_;
	my ($most) = sort { $of->{$b}{times} <=> $of->{$a}{times} || $a <=> $b } keys %$of;
	return if !defined $most || $most == $who->{pid};
	return $of->{$most}{times} >= $CLEARLY * ($of->{ $who->{pid} } // { times => 1 })->{times}
		? $of->{$most}{who}
		: undef;
}

# { process => { times, who, first_ns } }: how often the threads of each process were held back, and
# when for the first time.
sub _held_back {
	my ($self) = @_;
	my ($threads, $chain) = @$self{qw(threads chain)};
	my %of;
	for my $tid ($chain->{states}->tids_with_stack($HELD_BACK)) {
		for my $i (@{ $chain->{states}->intervals($tid) }) {
			next
				if $i->{kind} ne 'blocked' || ($threads->stack($i->{stack_id}) // '') !~ $HELD_BACK;
			my $by  = $self->_who($tid, $i->{to} - 1);
			my $sum = $of{ $by->{pid} } //= { times => 0, who => $by, first_ns => $i->{from} };
			$sum->{times}++;
			$sum->{first_ns} = $i->{from} if $i->{from} < $sum->{first_ns};
		}
	}
	return \%of;
}

# The same of the time before one of them was held back for the first time.
sub _held_before {
	my ($self, $waiter) = @_;
	return {} if !$waiter || !$self->{early_sleeps};
	my $until = $waiter->{first_ns};
	my $times = $self->{early_sleeps}->($HELD_BACK, $until - $UNWRITTEN_NS, $until);
	my %of;
	for my $tid (keys %$times) {
		my $by  = $self->_who($tid, $until);
		my $sum = $of{ $by->{pid} } //= { times => 0, who => $by };
		$sum->{times} += $times->{$tid};
	}
	return \%of;
}

# Who had queued a piece of work: through other workers, if need be.
sub _asker {
	my ($self, $w) = @_;
	return $self->_who(@$w{ defined $w->{for_tid} ? qw(for_tid for_ns) : qw(tid queued_ns) });
}

sub _interfered {
	my ($self, $s, $who) = @_;
	my $by = $s->{by};
	return _thread(
		$self->_who($by->{tid}, $s->{from}), $by->{kind},
		with_more($by->{detail}, for_it => 1)
	) if $by->{tid};
	return _thread($s->{work} ? $self->_asker($s->{work}) : $who, $by->{kind}, $by->{detail})
		if $by->{what} eq 'memory' || $by->{what} eq 'quota';
	return {
		kind   => $by->{kind}, pid => undef, tid => undef, comm => $by->{name},
		detail => $by->{detail}
	};
}

# A wait for a disk belongs to those whose requests were ahead, else to the waiter.
sub _on_disk {
	my ($self,  $s,     $who) = @_;
	my ($phase, $ahead, $bio) = @{ $s->{disk} }{qw(phase ahead bio)};
	$who = $self->_asker($s->{work}) if $s->{work};
	my $disk = $self->{threads}->disk($bio->{dev});
	my $kind = $s->{kind} eq 'page-fault-io' ? 'page-fault-io' : 'disk-io';
	if ($ahead && $ahead->{tid}) {
		my $other = $self->_who(@{ $self->{chain}->for_whom(@$ahead{qw(tid queued)}) });
		# A worker that nobody is known to have asked: whoever slept for the request did.
		my $owner = $other->{kernel} ? $self->{resources}->owner($ahead) : undef;
		$other = $self->_who($owner, $ahead->{completed} // $s->{to}) if defined $owner;
		return _thread(
			$other, $kind, reason('disk-ahead', op => "op-$ahead->{op}", disk => $disk),
			disk => $disk
		) if $other->{pid} != $who->{pid} && !($other->{kernel} && $phase eq 'asking');
	}
	my $detail =
		   $phase eq 'device'
		|| $phase eq 'done' ? reason('disk-busy', disk => $disk, op => "op-$bio->{op}")
		: $phase eq 'asking' && $bio->{tid} != $s->{tid} ? reason('disk-limit', disk => $disk)
		: $phase eq 'queue'
		? ($ahead ? reason('disk-own', disk => $disk) : reason('disk-held', disk => $disk))
		: $s->{reason};
	return _thread(
		$who, $self->_own($who) || $s->{held} ? $kind : 'ipc-wait', $detail,
		disk => $disk
	);
}

# The stretch belongs to somebody who had what another thread of the path waited for (a lock, a
# journal).
sub _through {
	my ($self, $s, $who, $b) = @_;
	my $held = $s->{held};
	return $b if defined $held->{within} && $held->{within} != $who->{pid} && !$s->{work};
	if (Tipme::Kinds::has($b->{kind}, 'cpu')) {
		return $b
			if $held->{class} ne 'lock'
			|| !defined $s->{blamed_prio}
			|| $held->{prio} >= $s->{own_prio}
			|| $s->{blamed_prio} >= $s->{own_prio};
		return $b
			if $self->{resources}->inherited($s->{tid}, $held->{at} - 10_000_000_000, $s->{to});
		return {
			%$b, kind => 'priority-inversion',
			detail => reason('inverted', comm => $who->{process}, pid => $who->{pid}),
			holder => { pid => $who->{pid}, comm => $who->{process} }
		};
	}
	return $b
		if !Tipme::Kinds::has($b->{kind}, 'holding')
		|| defined $b->{disk} && $held->{class} ne 'lock' && $b->{pid} != $who->{pid};
	# A kernel thread that writes a journal does so for whoever waits for it.
	my $for =
		  $who->{kernel} && !$s->{work} ? $self->_who($held->{tid}, $held->{at} - 1)
		: $s->{work}                    ? $self->_asker($s->{work})
		:                                 $who;
	return {
		%{
			_thread(
				$for, $held->{kind}, reason('through', doing => $held->{code}, comm => $who->{comm})
			)
		},
		disk => $b->{disk}
		}
		if $held->{class} ne 'lock';
	my $doing = $s->{state} eq 'running' ? 'computing' : $b->{detail};
	return _thread(
		$for, $held->{kind},
		reason('holding', doing => with_more($doing, lock => args_of($held->{code})->{words}))
	);
}

sub _own {
	my ($self, $who) = @_;
	return $who->{pid} == $self->{client_pid} || $who->{pid} == $self->{server}{pid};
}

sub _running {
	my ($self, $s, $who) = @_;
	if ($s->{work} && defined $s->{work}{tid}) {
		my $for      = $self->_asker($s->{work});
		my $function = $s->{work}{function};
		return _thread(
			$for,
			$self->_compute($for),
			reason(
				$function ? 'work-function' : 'work',
				function => $function || undef, comm => $who->{comm}
			)
		);
	}
	return _thread(
		$who, $self->_compute($who),
		$s->{work} && $s->{work}{function}
		? reason('running-work', function => $s->{work}{function})
		: 'computing'
	);
}

sub _compute {
	my ($self, $who) = @_;
	return $who->{pid} == $self->{client_pid}
		? 'app-compute'
		: $self->{server}->computing_of($who->{pid}) // 'ipc-wait';
}

# Who stopped it, as far as a record tells, and who let it go on: arguments of the reason.
sub _stop {
	my ($self, $s) = @_;
	my $by   = $self->_stopper($s);
	my @from = $by ? (from => "$by->{comm} (pid $by->{pid})") : ();
	my $w    = $s->{waker} or return (@from, still => $s->{ended} ? undef : 1);
	return @from if !$w->{tid};
	my $go = $self->_who($w->{tid}, $w->{at});
	return (@from, until => "$go->{comm} (pid $go->{pid})");
}

sub _stopper {
	my ($self, $s) = @_;
	return $s->{stopper} if exists $s->{stopper};
	my $pid    = $self->_who($s->{tid}, $s->{from})->{pid};
	my $signal = $self->{resources}
		->stop_signal([ $pid, $self->{threads}->tids_of($pid) ], $s->{from} + 1_000_000);
	# One stopped before the records of this stretch begin may have been sent its signal long ago.
	$signal //= $self->{early_signal}->([ $pid, $self->{threads}->tids_of($pid) ], $s->{from})
		if $self->{early_signal};
	return $s->{stopper} = undef if !$signal || !$signal->{sender};
	my $who = $self->_who($signal->{sender}, $signal->{ts});
	push @{ $s->{evidence} }, $signal->{index} if defined $signal->{index};
	return $s->{stopper} = { %$who{qw(pid comm)} };
}

sub _thread {
	my ($who, $kind, $detail, %more) = @_;
	$more{thread} = $who->{comm} if $who->{comm} ne $who->{process};
	return {
		kind   => $kind,   pid    => $who->{pid},  tid  => $who->{tid},  comm => $who->{process},
		detail => $detail, parent => $who->{ppid}, prio => $who->{prio}, at   => $who->{start_ns},
		map { $_ => $more{$_} } grep { defined $more{$_} } keys %more
	};
}

# The client that a record of the server's is about.
sub _by_record {
	my ($self, $r, $t, $kind, $detail) = @_;
	return {
		kind => $kind, pid => undef, tid => undef,
		comm => Tipme::DisplaySource::unnamed($r->{client}), detail => $detail
		}
		if !$r->{pid};
	return _thread($self->_who($r->{pid}, $t), $kind, $detail);
}

sub _of_another {
	my ($self, $r) = @_;
	return !Tipme::DisplaySource::is_of(
		$r, $self->{client_pid} > 0 ? $self->{client_pid} : undef,
		$self->{client}
	);
}

# While another client has the server for itself, waiting for the server is waiting for that client.
sub _split_by_grabs {
	my ($self, $s) = @_;
	my $grabs = $self->{grabs} //= [
		sort { $a->[0] <=> $b->[0] }
		grep { $self->_of_another($_->[3]) } $self->{server}->grabs
	];
	return $s if !@$grabs;
	my $pid = $self->_who($s->{tid}, $s->{to} - 1)->{pid};
	# The client itself waits for the server if it sleeps where it waits for others, and nobody ends
	# that: likely, not certain.
	# So it does if it looks at the clock meanwhile, and what answers the event is drawn as soon as
	# the server is let go.
	my $timed = $pid == $self->{client_pid} && !$s->{unanswered} ? 1 : 0;
	return $s if $timed && ($s->{class} // '') ne 'loop';
	my @out;
	for my $g (@$grabs) {
		# Whoever woke server and client meanwhile and then slept (who types, say) is not why
		# nothing was drawn.
		next
			if $pid != $self->{server}{pid}
			&& $pid != $g->[2]
			&& $s->{state} =~ /^(?:running|runnable)$/;
		next
			if $timed
			&& !(defined $g->[1]
			&& defined $self->{answered_ns}
			&& $g->[1] <= $self->{answered_ns}
			&& $g->[1] > $self->{answered_ns} - $AT_ONCE_NS);
		my $from = $g->[0] > $s->{from}                  ? $g->[0] : $s->{from};
		my $to   = defined $g->[1] && $g->[1] < $s->{to} ? $g->[1] : $s->{to};
		next if $from >= $to;
		delete $s->{among};
		push @out, $s->with(to => $from) if $from > $s->{from};
		push @out,
			$s->with(
			from  => $from, to => $to, grab => $g,
			exact => $s->{unanswered} || $timed ? 0 : 1
			);
		delete $out[-1]{by};
		$s = $s->with(from => $to);
	}
	push @out, $s if $s->{to} > $s->{from};
	return @out;
}

# What the server did for the client that asked: computing, or waiting for a monitor, a disk, a
# lock.
sub _in_request {
	my ($s) = @_;
	return $s->{state} eq 'running'
		? 'requests'
		: reason('requests-waiting', doing => $s->{reason});
}

# What the server did for other clients while ours waited is theirs, also where it slept in it.
sub _split_by_requests {
	my ($self, $s) = @_;
	my $x = $self->{server};
	return $s
		if $s->{grab}
		|| $s->{by}
		|| $s->{state} =~ /^(?:runnable|unknown)$/
		|| ($s->{tid} // -1) != ($x->{tid} // -2);
	# Where it sleeps it may have nothing to do; one request that covers all of the sleep says that
	# it has.
	return $s
		if $s->{state} ne 'running'
		&& (($s->{class} // '') eq 'loop' || !$x->in_request($s->{from}, $s->{to}));
	my @out;
	my $k = $x->lower('request', $s->{from});
	$k-- while $k > 0 && ($x->request_end($k - 1) // $s->{to}) > $s->{from};
	for (; $k < @{ $x->{request} } && $x->{request}[$k]{ts_ns} < $s->{to}; $k++) {
		my $r = $x->{request}[$k];
		next if !$self->_of_another($r) || $r->{duration_ns} < $REQUEST_NS;
		my $from = $r->{ts_ns} > $s->{from} ? $r->{ts_ns} : $s->{from};
		my $to   = $x->request_end($k) // $s->{to};
		$to = $s->{to} if $to > $s->{to};
		next if $from >= $to;
		push @out, $s->with(to => $from) if $from > $s->{from};
		push @out, $s->with(from => $from, to => $to, request => $r);
		$s = $s->with(from => $to);
	}
	push @out, $s if $s->{to} > $s->{from};
	return @out;
}

sub _alike {
	my ($a, $b) = @_;
	return 0 if $a->{among} || $b->{among};
	for (qw(tid pid start_time_ns comm state reason exact cpu waiter)) {
		return 0 if ($a->{$_} // '') ne ($b->{$_} // '');
	}
	for (qw(kind pid tid detail)) {
		return 0 if ($a->{blamed}{$_} // '') ne ($b->{blamed}{$_} // '');
	}
	return 1;
}

sub _join {
	my ($a, $b) = @_;
	$a->{to_ns} = $b->{to_ns};
	push @{ $a->{evidence} }, @{ $b->{evidence} };
}

sub _few {
	my %seen;
	my @i = sort { $a <=> $b } grep { !$seen{$_}++ } @_;
	return @i if @i <= $MAX_EVIDENCE;
	my $half = $MAX_EVIDENCE / 2;
	return (@i[ 0 .. $half - 1 ], @i[ -$half .. -1 ]);
}

1;
