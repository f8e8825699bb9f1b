# SPDX-License-Identifier: GPL-2.0-only
# Who is to be blamed for one segment of a path, and for what.
package Tipme::Blame::Whom;

use strict;
use warnings;
use Tipme::Blame::Backlog;
use Tipme::Blame::Others;
use Tipme::DisplaySource;
use Tipme::Kinds;
use Tipme::Reason qw(reason with_more args_of);

# functions of work that is the firmware's
my $FIRMWARE = qr/^acpi_/;

# new(threads =>, resources =>, chain =>, server =>, client_pid =>, held_input =>, early_signal =>,
# early_sleeps =>), as Blame has them
sub new {
	my ($class, %o) = @_;
	return bless { %o, backlog => Tipme::Blame::Backlog->new(%o{qw(threads chain early_sleeps)}) },
		$class;
}

# blamed(SEGMENT, WHO): { kind, pid, tid, comm, detail, ... }
sub blamed {
	my ($self, $s, $who) = @_;
	return $self->_by_record($s->{grab}[3], $s->{from}, 'server-grab', 'grabbed') if $s->{grab};
	return $self->_by_record(
		$s->{request}, $s->{from}, 'client-queue',
		Tipme::Blame::Others::in_request($s)
	) if $s->{request};
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

# plainly_had(SEGMENT): the same of a thread that had the CPU for nobody else: made once for all
# runs. Undef: it is not so plain.
sub plainly_had {
	my ($self, $s)     = @_;
	my ($tid,  $works) = ($s->{blamed_tid}, $self->{works} //= $self->{chain}->works);
	return
		   if !defined $tid
		|| $self->{held_input}
		|| defined $s->{detail}
		|| $works->{$tid}
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

# What the stretch is by itself.
sub _native {
	my ($self, $s, $who) = @_;
	my $kind = $s->{kind} // '';
	if ($s->{blamed_work}) {
		return _thread($self->_asker($s->{blamed_work}), $kind, 'had-cpu-worker');
	}
	if (defined $s->{blamed_tid}) {
		return _thread(
			$self->{threads}->named($s->{blamed_tid}, $s->{to} - 1), $kind,
			$s->{detail} // $self->_work_of_nobody($s) // 'had-cpu', own_prio => $s->{own_prio},
			had_prio => $s->{blamed_prio}
		);
	}
	return _thread($self->{threads}->named(@{ $s->{asked} }), 'time-out', $s->{reason})
		if $s->{asked};
	return $self->_running($s, $who) if $s->{state} eq 'running';
	return { kind => 'unknown', pid => undef, tid => undef, comm => undef, detail => $s->{reason} }
		if $kind eq 'unknown';
	# Who lets a traced thread go on has kept it: a debugger, or strace.
	my $tracer =
		   $kind eq 'stopped'
		&& $s->{state} eq 'traced'
		&& $s->{waker}
		&& $s->{waker}{tid} ? $self->{threads}->named($s->{waker}{tid}, $s->{waker}{at}) : undef;
	return _thread($tracer, 'ipc-wait', 'tracing')
		if $tracer && $tracer->{pid} != $who->{pid} && !$tracer->{kernel};
	return _thread(
		$who, $kind, with_more($s->{reason}, $self->_stop($s)),
		by => scalar $self->_stopper($s)
	) if $kind eq 'stopped';
	# What a worker waits for is waited for by whoever had queued the work.
	$who = $self->_asker($s->{work}) if $s->{work};
	my $writer = $kind eq 'writeback' ? $self->{backlog}->writer($who) : undef;
	return _thread($writer, $kind, reason('wrote-most', doing => $s->{reason})) if $writer;
	return _thread($who,    $kind, $s->{reason})
		if $s->{service} || Tipme::Kinds::has($kind, 'itself') || $self->_own($who);
	return _thread($who, 'ipc-wait', $s->{reason});
}

# What a kernel worker did with a CPU where no thread, but an interrupt, had asked for it, for most
# of that time: a reason; or undef.
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

# Who had queued a piece of work: through other workers, if need be.
sub _asker {
	my ($self, $w) = @_;
	return $self->{threads}
		->named(@$w{ defined $w->{for_tid} ? qw(for_tid for_ns) : qw(tid queued_ns) });
}

sub _interfered {
	my ($self, $s, $who) = @_;
	my $by = $s->{by};
	return _thread(
		$self->{threads}->named($by->{tid}, $s->{from}), $by->{kind},
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
		my $other = $self->{threads}->named(@{ $self->{chain}->for_whom(@$ahead{qw(tid queued)}) });
		# A worker that nobody is known to have asked: whoever slept for the request did.
		my $owner = $other->{kernel} ? $self->{resources}->owner($ahead) : undef;
		$other = $self->{threads}->named($owner, $ahead->{completed} // $s->{to}) if defined $owner;
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
		  $who->{kernel} && !$s->{work} ? $self->{threads}->named($held->{tid}, $held->{at} - 1)
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
	my $go = $self->{threads}->named($w->{tid}, $w->{at});
	return (@from, until => "$go->{comm} (pid $go->{pid})");
}

sub _stopper {
	my ($self, $s) = @_;
	return $s->{stopper} if exists $s->{stopper};
	my $pid    = $self->{threads}->named($s->{tid}, $s->{from})->{pid};
	my $signal = $self->{resources}
		->stop_signal([ $pid, $self->{threads}->tids_of($pid) ], $s->{from} + 1_000_000);
	# One stopped before the records of this stretch begin may have been sent its signal long ago.
	$signal //= $self->{early_signal}->([ $pid, $self->{threads}->tids_of($pid) ], $s->{from})
		if $self->{early_signal};
	return $s->{stopper} = undef if !$signal || !$signal->{sender};
	my $who = $self->{threads}->named($signal->{sender}, $signal->{ts});
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
	return _thread($self->{threads}->named($r->{pid}, $t), $kind, $detail);
}

1;
