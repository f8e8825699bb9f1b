# SPDX-License-Identifier: GPL-2.0-only
# What threads asked of disks, locks, memory, quotas and interrupts in a stretch of time, from the
# kernel's rarer records: who asked when, who was ahead.
package Tipme::Resources;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Reasons;
use Tipme::Record::Layout;

my $FEW        = 32;        # of a list, which are looked at one by one
my $MAX_BEFORE = 64;        # requests one after another on the disk that are looked at for an owner
my $FOREVER    = 1 << 62;   # ns; later than any clock says
my $SATURATED  = 4294967295;    # in a record: longer than its field can say (abi/records.def)
my $ANY_CPU    = 65535;         # in a record: no CPU in particular (abi/records.def)
my $NEAR_NS    = 1_000_000;     # a completion this shortly before a waking has caused it
my $WAKES_NS   = 200_000;       # and a waking this shortly after one, on its CPU, comes of it
my $SAMPLE_NS  = 1_000_000_000; # what a first sample of a quota is about: nobody saw the one before
my ($SAMPLE)   = grep { $Tipme::Record::Layout::ENUM{phase}{$_} eq 'sample' }
	keys %{ $Tipme::Record::Layout::ENUM{phase} };
my %NO_SLEEP = map { $_ => 1 } qw(file spin);    # kinds of locks
my %STOPS    = map { $_ => 1 } 19 .. 22;

# new(KERNEL EVENTS [, THREADS]): THREADS also has what the daemon found by looking: quotas, stolen
# time
sub new {
	my ($class, $ev, $threads) = @_;
	return bless { ev => $ev, threads => $threads }, $class;
}

# events(): the records that all this is from
sub events { return $_[0]{ev} }

# Each table is made when somebody first asks for it.
sub _table {
	my ($self, $name) = @_;
	my $make = "_make_$name";
	return $self->{$name} //= $self->$make;
}

sub _of { my ($self, $type) = @_; return @{ $self->{ev}->of_kind($type) } }

# Those of a list of { from, to } in order of `from` that overlap [FROM, TO). The list may nest.
sub _overlapping {
	my ($self, $list, $from, $to) = @_;
	return if !$list;
	my @found;
	for (
		my $k = @$list < $FEW ? 0 : $self->_first_to_reach($list, $from);
		$k < @$list && $list->[$k]{from} < $to;
		$k++
		)
	{
		push @found, $list->[$k] if $list->[$k]{to} > $from;
	}
	return @found;
}

# Position in such a list of the first that ends after a time; up to how far the ones before reach
# together is kept, as a long path asks for each of its stretches.
sub _first_to_reach {
	my ($self, $list, $t) = @_;
	my $reach = $self->{reach}{$list} //= do {
		my $most = 0;
		[ map { $most = $_->{to} if $_->{to} > $most; $most } @$list ];
	};
	my ($lo, $hi) = (0, scalar @$reach);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($reach->[$m] <= $t) { $lo = $m + 1 }
		else                      { $hi = $m }
	}
	return $lo;
}

# --- what lasts: begin and end of one thread ---

# memory_waits(TID, FROM, TO): { from, to, what, index }: what the thread did for memory
sub memory_waits {
	my ($self, $tid, $from, $to) = @_;
	return $self->_overlapping($self->_table('memory')->{$tid}, $from, $to);
}

# swap_reads(TID): faults of a thread that read from swap and waited for nothing: { ts, index }
sub swap_reads {
	my ($self, $tid) = @_;
	$self->_table('memory');
	return @{ $self->{swap_reads}{$tid} // [] };
}

sub _make_memory {
	my ($self) = @_;
	my ($ev, %of, %open) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::MEMORY)) {
		my ($ts, $tid, $ns) = ($ev->ts($i), $ev->tid($i), $ev->memory_wait_duration_ns($i));
		my ($what, $phase) =
			($ev->memory_wait_kind($i) // 'unknown', $ev->memory_wait_phase($i) // '');
		if ($phase eq 'begin') {
			push @{ $of{$tid} },
				$open{"$tid $what"} = { from => $ts, to => $FOREVER, what => $what, index => $i };
			next;
		}
		my $w = delete $open{"$tid $what"};
		if    ($w) { $w->{to} = $ts }
		elsif ($ns) {
			push @{ $of{$tid} }, { from => $ts - $ns, to => $ts, what => $what, index => $i };
		} elsif ($what eq 'fault_swap') {
			push @{ $self->{swap_reads}{$tid} }, { ts => $ts, index => $i };
		}
	}
	for (values %of) {
		@$_ = sort { $a->{from} <=> $b->{from} } @$_;
	}
	return \%of;
}

# lock_waits(TID, FROM, TO): { from, to, lock, owner (0: not known), what, index }
sub lock_waits {
	my ($self, $tid, $from, $to) = @_;
	return $self->_overlapping($self->_table('locks')->{$tid}, $from, $to);
}

# sleeps_for_lock(TID, T): did a sleep of the thread that began at T lie in its wait for a lock of
# the kernel? Locks of files are none of those, and who spins does not sleep.
sub sleeps_for_lock {
	my ($self, $tid, $t) = @_;
	my ($w) = grep { !$NO_SLEEP{ $_->{what} } } reverse $self->lock_waits($tid, $t, $t + 1);
	return 0 if !$w;
	return 1 if $w->{to} < $FOREVER;
	# A thread waits for one of them: if there was another since, the end of this one was lost.
	my @since = grep { $_->{from} > $w->{from} && !$NO_SLEEP{ $_->{what} } }
		$self->lock_waits($tid, $w->{from}, $t);
	return @since ? 0 : 1;
}

sub _make_locks {
	my ($self) = @_;
	my ($ev, %of, %open) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::LOCK)) {
		my ($ts, $tid, $lock) = ($ev->ts($i), $ev->tid($i), $ev->lock_contention_lock($i));
		my ($what, $phase) =
			($ev->lock_contention_kind($i) // 'unknown', $ev->lock_contention_phase($i) // '');
		if ($phase ne 'begin') {
			my $w = delete $open{"$tid $lock"};
			$w->{to} = $ts if $w;
			next;
		}
		my $owner = $ev->lock_contention_owner_tid($i);
		my $spun  = $NO_SLEEP{$what} ? undef : $open{"$tid $lock"};
		if ($spun) {
			# It has spun for the lock, and goes to sleep for it now: one wait.
			$spun->{owner} = $owner if $owner;
			next;
		}
		push @{ $of{$tid} },
			$open{"$tid $lock"} = {
			from  => $ts, to => $FOREVER, lock => $lock, what => $what, index => $i, tid => $tid,
			owner => $owner
			};
	}
	# Who waits for a lock of a file sleeps until it has it.
	for my $w (grep { $_->{what} eq 'file' } values %open) {
		$w->{to} = $self->_next_waking($w->{tid}, $w->{from}) // $FOREVER;
	}
	return \%of;
}

sub _next_waking {
	my ($self, $tid, $t) = @_;
	my $ev = $self->{ev};
	for my $i (@{ $ev->of_tid($tid) }) {
		return vec $ev->{ts}, $i, 64
			if vec($ev->{ts},   $i, 64) > $t
			&& vec($ev->{type}, $i, 8) == Tipme::KernelEvents::WAKING
			&& vec($ev->{tid},  $i, 32) == $tid;
	}
	return;
}

# --- what is asked over the network ---

# asked(TID, FROM, TO): what a thread sent in [FROM, TO], in order: { ts, service, place, socket,
# index }
sub asked {
	my ($self, $tid, $from, $to) = @_;
	return
		grep { $_->{ts} >= $from && $_->{ts} <= $to }
		@{ $self->_table('network')->{asked}{$tid} // [] };
}

# sent_again(SOCKET, FROM, TO): how often the kernel sent there once more
sub sent_again {
	my ($self, $socket, $from, $to) = @_;
	return
		scalar grep { $_ >= $from && $_ <= $to }
		@{ $self->_table('network')->{again}{$socket} // [] };
}

sub _make_network {
	my ($self) = @_;
	my $ev     = $self->{ev};
	my %of     = (asked => {}, again => {});
	for my $i ($self->_of(Tipme::KernelEvents::NETWORK)) {
		my ($ts, $tid, $socket) = ($ev->ts($i), $ev->tid($i), $ev->network_socket($i));
		if (($ev->network_act($i) // '') eq 'again') {
			push @{ $of{again}{$socket} }, $ts;
			next;
		}
		push @{ $of{asked}{$tid} },
			{
			ts => $ts, service => $ev->network_service($i) // 'other',
			place => $ev->network_place($i) // 'unknown', socket => $socket, index => $i
			};
	}
	return \%of;
}

# --- what happens on a CPU ---

# irqs(CPU, FROM, TO): { from, to, what, number, raiser, context, index }: interrupts and softirqs
# that lasted
sub irqs {
	my ($self, $cpu, $from, $to) = @_;
	return defined $cpu ? $self->_overlapping($self->_table('irq')->{$cpu}, $from, $to) : ();
}

sub _make_irq {
	my ($self) = @_;
	my ($ev, %of) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::IRQ)) {
		my $ts = $ev->ts($i);
		push @{ $of{ $ev->cpu($i) } }, {
			from    => $ts,                            to     => $ts + $ev->irq_duration_ns($i),
			what    => $ev->irq_kind($i) // 'unknown', number => $ev->irq_number($i),
			raiser  => $ev->irq_raiser_tid($i),
			context => $ev->irq_context($i) // 'unknown', index => $i
		};
	}
	return \%of;
}

# steals(CPU, FROM, TO): { from, to, ns, index }: of each such stretch the host took ns away
sub steals {
	my ($self, $cpu, $from, $to) = @_;
	return defined $cpu ? $self->_overlapping($self->_table('steal')->{$cpu}, $from, $to) : ();
}

sub _make_steal {
	my ($self) = @_;
	my ($ev, %of) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::STEAL)) {
		my ($ts, $since, $ns) = ($ev->ts($i), $ev->steal_since_ns($i), $ev->steal_steal_ns($i));
		$since = $ts - $ns if $since >= $ts || $ts - $since < $ns;
		push @{ $of{ $ev->steal_cpu($i) } }, { from => $since, to => $ts, ns => $ns, index => $i }
			if $ns;
	}
	for my $f ($self->{threads} ? $self->{threads}->looked('steal') : ()) {
		my ($since, $ts, $ns) = @$f{qw(since_ns ts_ns steal_ns)};
		$since = $ts - $ns if $since >= $ts || $ts - $since < $ns;
		push @{ $of{ $f->{cpu} } }, { from => $since, to => $ts, ns => $ns, index => undef } if $ns;
	}
	for (values %of) {
		@$_ = sort { $a->{from} <=> $b->{from} } @$_;
	}
	return \%of;
}

# migrations(TID, FROM, TO): [ time, from CPU, to CPU ], in order
sub migrations {
	my ($self, $tid, $from, $to) = @_;
	return grep { $_->[0] > $from && $_->[0] < $to } @{ $self->_table('migrate')->{$tid} // [] };
}

# moved(): { thread => anything }: whose moves there are records of
sub moved { my ($self) = @_; return $self->_table('migrate') }

sub _make_migrate {
	my ($self) = @_;
	my ($ev, %of) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::MIGRATE)) {
		push @{ $of{ $ev->tid($i) } },
			[ $ev->ts($i), $ev->migrate_from_cpu($i), $ev->migrate_to_cpu($i) ];
	}
	return \%of;
}

# --- quotas ---

# throttles(CGROUP, CPU, FROM, TO): { from, to, exact, us, index }: when this very cgroup had used
# up its quota
sub throttles {
	my ($self, $cgroup, $cpu, $from, $to) = @_;
	return
		grep { $_->{cpu} == $ANY_CPU || !defined $cpu || $_->{cpu} == $cpu }
		$self->_overlapping($self->_table('throttle')->{$cgroup}, $from, $to);
}

# throttled_cgroups(): ids
sub throttled_cgroups { my ($self) = @_; return keys %{ $self->_table('throttle') } }

sub _make_throttle {
	my ($self) = @_;
	my ($ev, %of, %open, %sampled) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::THROTTLE)) {
		my ($ts, $us) = ($ev->ts($i), $ev->cpu_throttle_throttled_us($i));
		my ($cgroup, $cpu, $phase) = (
			$ev->cpu_throttle_cgroup($i), $ev->cpu_throttle_cpu($i),
			$ev->cpu_throttle_phase($i) // ''
		);
		my $key = "$cgroup $cpu";
		if ($phase eq 'begin') {
			push @{ $of{$cgroup} }, $open{$key} =
				{ from => $ts, to => $FOREVER, cpu => $cpu, exact => 1, us => undef, index => $i };
		} elsif ($phase eq 'end') {
			if    (my $t = delete $open{$key}) { $t->{to} = $ts }
			elsif ($us) {
				push @{ $of{$cgroup} },
					{
					from  => $ts - 1000 * $us, to => $ts, cpu => $cpu, exact => 1, us => $us,
					index => $i
					};
			}
		} elsif ($phase eq 'sample') {
			push @{ $of{$cgroup} },
				{
				from  => $sampled{$cgroup} // $ts - $SAMPLE_NS, to => $ts, cpu   => $ANY_CPU,
				exact => 0,                                     us => $us, index => $i
				}
				if $us;
			$sampled{$cgroup} = $ts;
		}
	}
	my %before;
	for my $f ($self->{threads} ? $self->{threads}->looked('cpu_throttle') : ()) {
		my ($g, $ts) = @$f{qw(cgroup ts_ns)};
		push @{ $of{$g} },
			{
			from => $before{$g} // $ts - $SAMPLE_NS, to => $ts, cpu => $ANY_CPU, exact => 0,
			us   => $f->{throttled_us}, index => undef
			}
			if $f->{throttled_us} && $f->{phase} == $SAMPLE;
		$before{$g} = $ts;
	}
	for (values %of) {
		@$_ = sort { $a->{from} <=> $b->{from} } @$_;
	}
	return \%of;
}

# --- signals, samples, priorities ---

# stop_signal(\TIDS, TIME): the last stopping signal that one of these threads was sent up to a
# time: { ts, sender (0: nobody in particular), signal, index }
sub stop_signal {
	my ($self, $tids, $t) = @_;
	my %of = map { $_ => 1 } @$tids;
	my ($ev, $found) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::SIGNAL)) {
		my ($ts, $signal) = ($ev->ts($i), $ev->signal_signal($i));
		last if $ts > $t;
		next if !$STOPS{$signal} || !$of{ $ev->tid($i) } && !$of{ $ev->signal_pid($i) };
		my $sent = ($ev->signal_context($i) // '') =~ /^(?:task|softirq_task)$/;
		$found = {
			ts    => $ts, sender => $sent ? $ev->signal_sender_tid($i) : 0, signal => $signal,
			index => $i
		};
	}
	return $found;
}

# samples(TID, FROM, TO): { ts, tid, kernel_stack, user_stack, us, cpu, index }
sub samples {
	my ($self, $tid, $from, $to) = @_;
	my $list = $self->_table('sample')->{$tid} or return;
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($list->[$m]{ts} < $from) { $lo = $m + 1 }
		else                           { $hi = $m }
	}
	my $first = $lo;
	$lo++ while $lo < @$list && $list->[$lo]{ts} < $to;
	return @$list[ $first .. $lo - 1 ];
}

# samples_on(CPU, FROM, TO): the same of a CPU, with the thread's number, in order of time
sub samples_on {
	my ($self, $cpu, $from, $to) = @_;
	return sort { $a->{ts} <=> $b->{ts} }
		grep    { $_->{cpu} == $cpu && $_->{ts} >= $from && $_->{ts} < $to }
		map     {@$_} values %{ $self->_table('sample') };
}

sub _make_sample {
	my ($self) = @_;
	my ($ev, %of) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::SAMPLE)) {
		my $tid = $ev->tid($i);
		push @{ $of{$tid} },
			{
			ts         => $ev->ts($i), tid => $tid, kernel_stack => $ev->sample_kernel_stack_id($i),
			user_stack => $ev->sample_user_stack_id($i), us    => $ev->sample_period_us($i),
			cpu        => $ev->sample_cpu($i),           index => $i
			};
	}
	for my $f ($self->{threads} ? $self->{threads}->looked('sample') : ()) {
		push @{ $of{ $f->{tid} } },
			{
			ts         => $f->{ts_ns}, tid => $f->{tid}, kernel_stack     => $f->{kernel_stack_id},
			user_stack => $f->{user_stack_id}, us => $f->{period_us}, cpu => $f->{cpu},
			index      => undef
			};
	}
	for (values %of) {
		@$_ = sort { $a->{ts} <=> $b->{ts} } @$_;
	}
	return \%of;
}

# idle_left(CPU, FROM, TO): the idle state that it left between these, if the kernel says that this
# takes long: { state, exit_ns }; or undef
sub idle_left {
	my ($self, $cpu, $from, $to) = @_;
	my $list = $self->_table('idle')->{$cpu} or return;
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($list->[$m]{ts} < $from) { $lo = $m + 1 }
		else                           { $hi = $m }
	}
	return $lo < @$list && $list->[$lo]{ts} <= $to ? $list->[$lo] : undef;
}

sub _make_idle {
	my ($self) = @_;
	my ($ev, %of) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::CPU_IDLE)) {
		my $exit = $ev->cpu_idle_exit_latency_ns($i) or next;
		push @{ $of{ $ev->cpu_idle_cpu($i) } },
			{ ts => $ev->ts($i), state => $ev->cpu_idle_state($i), exit_ns => $exit };
	}
	return \%of;
}

# frequency(CPU): what is known of it in the whole episode: { max_khz, since => [ [ ns, kHz ], ... ]
# in order of time }; or undef
sub frequency {
	my ($self, $cpu) = @_;
	return $self->_table('frequency')->{$cpu};
}

# Where no record tells of a change, it was what it is when the episode is written.
sub _make_frequency {
	my ($self) = @_;
	my $ep     = $self->{ev}->episode;
	my $told   = $ep->manifest->{frequencies};
	my %of;
	for my $f (ref $told eq 'ARRAY' ? grep { ref eq 'HASH' } @$told : ()) {
		my ($cpu, $khz, $most) = @$f{qw(cpu khz max_khz)};
		$of{$cpu} = { max_khz => $most, now => $khz, since => [] }
			if 3 == grep { defined && !ref && /\A\d{1,9}\z/ } $cpu, $khz, $most;
	}
	return \%of if !%of;
	my $ev = Tipme::KernelEvents->load_only($ep, Tipme::KernelEvents::CPU_FREQUENCY);
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::CPU_FREQUENCY) }) {
		my $f = $of{ $ev->cpu_frequency_cpu($i) } or next;
		push @{ $f->{since} }, [ $ev->ts($i), $ev->cpu_frequency_khz($i) ];
	}
	# Where the driver tells no change, somebody looked each second.
	my @looks = $self->{threads} ? $self->{threads}->looked('cpu_speed') : ();
	for my $l (grep { $_->{khz} && $of{ $_->{cpu} } && !$of{ $_->{cpu} }{told} } @looks) {
		my $f = $of{ $l->{cpu} };
		$f->{told}   = 1, next if @{ $f->{since} } && !$f->{looked};
		$f->{looked} = 1;
		push @{ $f->{since} }, [ $l->{ts_ns}, $l->{khz} ];
	}
	for my $f (values %of) { $f->{since} = [ [ 0, $f->{now} ] ] if !@{ $f->{since} } }
	return \%of;
}

# affinity(TID, TIME): the last change, at or before a time, of the CPUs on which the thread may
# run: { ts, cpus (bit mask), by (tid, 0: not known), within (ns before ts in which it lay; 0:
# exactly at ts), index (undef: the daemon found it) }; or undef
sub affinity {
	my ($self, $tid, $t) = @_;
	my ($last) = grep { $_->{ts} <= $t } reverse @{ $self->_table('affinity')->{$tid} // [] };
	return $last;
}

sub _make_affinity {
	my ($self) = @_;
	my ($ev, %of) = ($self->{ev});
	for my $i ($self->_of(Tipme::KernelEvents::AFFINITY)) {
		push @{ $of{ $ev->tid($i) } },
			{
			ts     => $ev->ts($i), cpus => $ev->affinity_cpus_allowed($i),
			by     => $ev->affinity_changer_tid($i),
			within => $ev->affinity_within_ns($i), index => $i
			};
	}
	for my $f ($self->{threads} ? $self->{threads}->looked('affinity') : ()) {
		push @{ $of{ $f->{tid} } },
			{
			ts     => $f->{ts_ns},     cpus  => $f->{cpus_allowed}, by => $f->{changer_tid},
			within => $f->{within_ns}, index => undef
			};
	}
	for (values %of) {
		@$_ = sort { $a->{ts} <=> $b->{ts} } @$_;
	}
	return \%of;
}

# inherited(TID, FROM, TO): was a higher priority lent to the thread in that time?
sub inherited {
	my ($self, $tid, $from, $to) = @_;
	my $ev = $self->{ev};
	for my $i ($self->_of(Tipme::KernelEvents::PRIORITY)) {
		my $ts = $ev->ts($i);
		last if $ts >= $to;
		return 1
			if $ev->tid($i) == $tid
			&& $ts >= $from
			&& $ev->priority_inherited($i)
			&& $ev->priority_new_prio($i) < $ev->priority_old_prio($i);
	}
	return 0;
}

# --- disks ---

# A bio: { tid, dev, sector, sectors, op, queued, inserted, issued, completed (each undef: not yet,
# or not seen), request, indices }.
# A request: { dev, tid (of its first bio), op, issued, completed, bios }. A request is known by
# device and first sector; bios belong to the request that covers their sectors when it is issued,
# so merged ones need no record of their own.

# disk_wait(TID, FROM, TO, ENDED): the bio for which a sleep of the thread lasted until TO: the last
# to be completed of those that it asked for; else the one that was completed just before TO,
# whoever had asked for it; undef: no record tells. A sleep that has ENDED was not for one that is
# not done.
sub disk_wait {
	my ($self, $tid, $from, $to, $ended) = @_;
	my $t = $self->_table('disk');
	my ($best, $other);
	my $list = $t->{by_tid}{$tid} // [];
	my $done = $t->{done_by_tid}{$tid} //= _done_by($list);
	for my $b (@$list[ _first_after($done, $from) .. $#$list ]) {
		next if $b->{queued} > $to || $ended && !defined $b->{completed};
		next
			if defined $b->{completed}
			&& ($b->{completed} <= $from || $b->{completed} > $to + $NEAR_NS);
		next       if !defined $b->{issued} && !defined $b->{completed} && $b->{passed_on};
		$best = $b if !$best || ($b->{completed} // $FOREVER) >= ($best->{completed} // $FOREVER);
	}
	return $best if $best;
	# What is done after the waking did not cause it; of what was done just before, rather what is
	# known to have woken this very thread.
	for my $r (_before($t->{done}, $to)) {
		last                 if $r->{completed} < $to - $NEAR_NS || $r->{completed} <= $from;
		next                 if !@{ $r->{bios} };
		return $r->{bios}[0] if ($self->owner($r) // -1) == $tid;
		$other //= $r->{bios}[0];
	}
	return $other;
}

# just_done(TID, FROM, AT): the bio whose end, after FROM and at AT or just before, had an interrupt
# wake somebody at AT: of the thread if there is one; undef: none
sub just_done {
	my ($self, $tid, $from, $at) = @_;
	my $near = $at - $NEAR_NS;
	return $self->disk_wait($tid, $from > $near ? $from : $near, $at, 1);
}

# For each of a list, when the last of it and of those before it was done; _first_after(TIMES,
# TIME):
# the position of the first of such times that is later: nothing before it matters then
sub _done_by {
	my ($list) = @_;
	my $last = 0;
	return [
		map {
			my $t = $_->{completed} // $FOREVER;
			$last = $t if $t > $last;
			$last
		} @$list
	];
}

sub _first_after {
	my ($times, $t)  = @_;
	my ($lo,    $hi) = (0, scalar @$times);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($times->[$m] <= $t) { $lo = $m + 1 }
		else                      { $hi = $m }
	}
	return $lo;
}

# The requests of a list in order of completion that were done up to a time, the last ones first;
# not more than can matter.
sub _before {
	my ($done, $t)  = @_;
	my ($lo,   $hi) = (0, scalar @$done);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($done->[$m]{completed} <= $t) { $lo = $m + 1 }
		else                                { $hi = $m }
	}
	my $first = $lo > 64 ? $lo - 64 : 0;
	return reverse @$done[ $first .. $lo - 1 ];
}

# owner(REQUEST): the thread that slept for it: the one that its completion woke; undef: none. Where
# a kernel worker handed it down (one that holds requests back, one that writes back), this tells
# for whom.
sub owner {
	my ($self, $rq) = @_;
	return $rq->{owner} if exists $rq->{owner};
	$rq->{owner} = undef;
	my $i   = $rq->{done_index} // return;
	my $ev  = $self->{ev};
	my $end = vec($ev->{ts}, $i, 64) + $WAKES_NS;
	while (++$i < $ev->count && vec($ev->{ts}, $i, 64) < $end) {
		next if vec($ev->{cpu}, $i, 16) != vec($ev->{cpu}, $rq->{done_index}, 16);
		my $type = vec($ev->{type}, $i, 8);
		last if $type == Tipme::KernelEvents::IO || $type == Tipme::KernelEvents::SWITCH;
		return $rq->{owner} = vec($ev->{tid}, $i, 32)
			if $type == Tipme::KernelEvents::WAKING
			&& $ev->context($i) != 0
			&& $self->_slept_undisturbed($i);
	}
	return;
}

# Had the thread that a waking is about gone to a sleep that nothing may disturb, as one that waits
# for a disk? Where it went so long ago that the records at hand do not tell, its stack does.
sub _slept_undisturbed {
	my ($self, $wake) = @_;
	my $ev   = $self->{ev};
	my $list = $ev->of_tid(vec($ev->{tid}, $wake, 32));
	for (my $k = $ev->last_before($list, vec($ev->{ts}, $wake, 64)); $k >= 0; $k--) {
		my $i = $list->[$k];
		return
			   $ev->tid($i) == $ev->tid($wake)
			&& ($ev->sched_switch_prev_state($i) // '') eq 'disk_sleep'
			&& !$ev->sched_switch_prev_preempted($i) ? 1 : 0
			if vec($ev->{type}, $i, 8) == Tipme::KernelEvents::SWITCH;
	}
	my $stack =
		$self->{threads} ? $self->{threads}->stack($ev->sched_waking_stack_id($wake)) : undef;
	my $r = ($self->{reasons} //= Tipme::Reasons->new)->of($stack, 'softirq_irq');
	return $r && $r->{class} eq 'disk' ? 1 : 0;
}

# What a worker that holds requests back has let go in [FROM, TO) before a bio: the time up to each
# belongs to that one, and without an owner to that of the next that has one.
sub _let_go {
	my ($self, $bio, $from, $to) = @_;
	my ($t, @p) = ($from);
	my @r = sort { $a->{queued} <=> $b->{queued} } grep {
			  !$_->{requeued}
			&& $_->{tid} == $bio->{tid}
			&& $_->{queued} > $from
			&& $_->{queued} <= $to
			&& (!$bio->{request} || $_ != $bio->{request})
	} @{ $self->_table('disk')->{service}{ $bio->{dev} } // [] };
	# Of several that were handed down in one go, it may be the last alone whose end wakes somebody.
	my $next;
	for my $r (reverse @r) {
		my $own = $self->owner($r);
		if    (defined $own) { $next = $own }
		elsif (defined($own = $next // $self->_owner_before($r))) {
			@$r{qw(owner guessed)} = ($own, 1);
		}
	}
	for my $r (@r) {
		push @p, [ $t, $r->{queued}, 'asking', $r ] if $r->{queued} > $t;
		$t = $r->{queued} if $r->{queued} > $t;
	}
	push @p, [ $t, $to, 'asking', undef ] if $t < $to;
	return @p;
}

# Whose write a request goes on with: the owner of the one that the same worker handed down for the
# sectors right before it. The end of its own write may lie beyond the records at hand.
sub _owner_before {
	my ($self, $r) = @_;
	my $t    = $self->_table('disk');
	my $ends = $t->{ends}{ $r->{dev} } //=
		{ map { ($_->{sector} + $_->{sectors}) => $_ } @{ $t->{service}{ $r->{dev} } // [] } };
	for (1 .. $MAX_BEFORE) {
		my $before = $ends->{ $r->{sector} } or return;
		return if $before->{issued} > $r->{issued} || $before->{op} ne $r->{op};
		my $own = $self->owner($before);
		return $own if defined $own;
		$r = $before;
	}
	return;
}

# disk_pieces(BIO, FROM, TO, TID): what TID spent [FROM, TO) on: [ from, to, phase, request ahead or
# undef ]; phase: asking (before the bio was there: if somebody else handed it down, what that one
# had handed down before), queue (until it was issued), device, done (after that). Of several
# requests ahead the oldest has the device.
sub disk_pieces {
	my ($self, $b, $from, $to, $tid) = @_;
	my @bound = (
		[ asking => $b->{queued} ], [ queue => $b->{issued} // $FOREVER ],
		[ device => $b->{completed} // $FOREVER ], [ done => $FOREVER ]
	);
	my ($t, @p) = ($from);
	for (@bound) {
		my ($phase, $end) = @$_;
		$end = $to if $end > $to;
		next if $end <= $t;
		push @p, $phase eq 'queue' || $phase eq 'device' ? $self->_ahead($b, $t, $end, $phase)
			: $phase eq 'asking' && $b->{tid} != ($tid // $b->{tid}) ? $self->_let_go($b, $t, $end)
			:                                                          [ $t, $end, $phase, undef ];
		$t = $end;
	}
	return @p;
}

sub _ahead {
	my ($self, $b, $from, $to, $phase) = @_;
	my ($t, @p) = ($from);
	my $disk = $self->_table('disk');
	my $list = $disk->{service}{ $b->{dev} } // [];
	my $done = $disk->{done_by_dev}{ $b->{dev} } //= _done_by($list);
	for my $r (@$list[ _first_after($done, $from) .. $#$list ]) {
		last if $r->{issued} >= $to || defined $b->{issued} && $r->{issued} > $b->{issued};
		next if ($r->{completed} // $FOREVER) <= $t || defined $b->{request} && $r == $b->{request};
		# What is done later than ours does not stand before it in the device.
		next
			if $phase eq 'device'
			&& defined $b->{completed}
			&& ($r->{completed} // $FOREVER) > $b->{completed};
		my $begin = $r->{issued} > $t                   ? $r->{issued}    : $t;
		my $end   = ($r->{completed} // $FOREVER) < $to ? $r->{completed} : $to;
		push @p, [ $t,     $begin, $phase, undef ] if $begin > $t;
		push @p, [ $begin, $end,   $phase, $r ];
		$t = $end;
	}
	push @p, [ $t, $to, $phase, undef ] if $t < $to;
	return @p;
}

sub _make_disk {
	my ($self) = @_;
	my $t      = { by_tid => {}, waiting => {}, flying => {}, service => {}, done => [] };
	my $ev     = $self->{ev};
	for my $i ($self->_of(Tipme::KernelEvents::IO)) {
		my %r = (
			ts  => $ev->ts($i),               tid     => $ev->tid($i), sector => $ev->io_sector($i),
			dev => $ev->io_dev($i),           sectors => $ev->io_sectors($i),
			op  => $ev->io_op($i) // 'other', index   => $i
		);
		my $do = __PACKAGE__->can('_io_' . ($ev->io_phase($i) // '')) or next;
		$do->($t, \%r);
	}
	$self->_leave_out_halves($t);
	for (values %{ $t->{service} }) {
		@$_ = sort { $a->{issued} <=> $b->{issued} } grep { defined $_->{issued} } @$_;
	}
	return $t;
}

# Of a time in which the records of some CPUs only are at hand, an end may be missing where a
# beginning is there: then it is not known to last.
sub _leave_out_halves {
	my ($self, $t) = @_;
	my $exact = $self->{ev}->exact_from // return;
	for (values %{ $t->{by_tid} }) {
		@$_ = grep { defined $_->{completed} || $_->{queued} >= $exact } @$_;
	}
	for (values %{ $t->{service} }) {
		@$_ = grep { defined $_->{completed} || $_->{issued} >= $exact } @$_;
	}
	return;
}

sub _io_queued {
	my ($t, $r) = @_;
	my $bio =
		{ %$r{qw(tid dev sector sectors op)}, queued => $r->{ts}, indices => [ $r->{index} ] };
	# A device on top of another (a volume, an encrypted disk) hands the same bio down: the lower
	# one is waited for.
	my $above = $t->{by_tid}{ $r->{tid} }[-1];
	$above->{passed_on} = 1
		if $above
		&& !defined $above->{issued}
		&& $above->{dev} != $r->{dev}
		&& $above->{sectors} == $r->{sectors}
		&& $r->{ts} - $above->{queued} < $NEAR_NS;
	push @{ $t->{by_tid}{ $r->{tid} } },     $bio;
	push @{ $t->{waiting}{ $r->{sector} } }, $bio;
}

# The bios that wait for the sectors of a request, from its first sector on. A partition's bios bear
# the number of the partition.
sub _bios {
	my ($t, $r, $take) = @_;
	my ($s, $end, @b) =
		($r->{sector}, $r->{sector} + ($r->{sectors} == 65535 ? 1 << 20 : $r->{sectors} || 1));
	while ($s < $end) {
		my $list = $t->{waiting}{$s} or last;
		my ($k) = sort {
			($list->[$b]{dev} == $r->{dev}) <=> ($list->[$a]{dev} == $r->{dev})
				|| $a <=> $b
		} grep { $list->[$_]{dev} >> 20 == $r->{dev} >> 20 } 0 .. $#$list;
		last if !defined $k;
		my $bio = $list->[$k];
		push @b, $bio;
		if ($take) { splice @$list, $k, 1; delete $t->{waiting}{$s} if !@$list }
		last if !$bio->{sectors};
		$s += $bio->{sectors};
	}
	return @b;
}

sub _io_inserted { my ($t, $r) = @_; $_->{inserted} //= $r->{ts} for _bios($t, $r, 0) }

sub _io_issued {
	my ($t, $r) = @_;
	my @b  = _bios($t, $r, 1);
	my $rq = {
		dev  => $r->{dev}, sector => $r->{sector}, sectors => $r->{sectors}, op => $r->{op},
		tid  => @b ? $b[0]{tid} : 0, queued => @b ? $b[0]{queued} : $r->{ts}, issued => $r->{ts},
		bios => \@b,                 index  => $r->{index}
	};
	_put_back_rest($t, $r, $b[-1]) if @b;
	for (@b) {
		@$_{qw(issued request dev)} = ($r->{ts}, $rq, $r->{dev});
		push @{ $_->{indices} }, $r->{index};
	}
	$t->{flying}{ _key($r) } = $rq;
	push @{ $t->{service}{ $r->{dev} } }, $rq;
}

# A bio that is too large for one request goes in pieces: the rest waits on.
sub _put_back_rest {
	my ($t, $r, $bio) = @_;
	my $over = $bio->{sector} + $bio->{sectors} - $r->{sector} - $r->{sectors};
	return
		   if $r->{sectors} == 65535
		|| $bio->{sectors} == 65535
		|| $over <= 0
		|| $over >= $bio->{sectors};
	my $rest = {
		%$bio, sector => $r->{sector} + $r->{sectors}, sectors => $over,
		indices => [ @{ $bio->{indices} } ]
	};
	push @{ $t->{by_tid}{ $bio->{tid} } },      $rest;
	push @{ $t->{waiting}{ $rest->{sector} } }, $rest;
}

sub _key { my ($r) = @_; return $r->{sectors} ? "$r->{dev} $r->{sector}" : "$r->{dev} $r->{op}" }

sub _io_completed {
	my ($t, $r) = @_;
	my $rq = delete $t->{flying}{ _key($r) }
		// ($r->{op} eq 'flush' ? delete $t->{flying}{"$r->{dev} flush"} : undef)
		or return;
	$rq->{completed} = $r->{ts};
	for (@{ $rq->{bios} }) { $_->{completed} = $r->{ts}; push @{ $_->{indices} }, $r->{index} }
	$rq->{done_index} = $r->{index};
	push @{ $t->{done} }, $rq;
}

sub _io_failed { return _io_completed(@_) }

# The driver gave it back: its bios wait again.
sub _io_requeued {
	my ($t, $r) = @_;
	my $rq = delete $t->{flying}{ _key($r) } or return;
	@$rq{qw(completed requeued)} = ($r->{ts}, 1);
	for (@{ $rq->{bios} }) {
		delete @$_{qw(issued request)};
		unshift @{ $t->{waiting}{ $_->{sector} } }, $_;
	}
}

1;
