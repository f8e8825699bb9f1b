# SPDX-License-Identifier: GPL-2.0-only
# What threads asked of disks, locks, memory, quotas and interrupts in a stretch of time, from the
# kernel's rarer records: who asked when, who was ahead.
package Tipme::Resources;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent qw(Tipme::Resources::Cpu Tipme::Resources::Disk);
use Tipme::KernelEvents;
use Tipme::Record::Layout;

my $FEW       = 32;             # of a list, which are looked at one by one
my $FOREVER   = 1 << 62;        # ns; later than any clock says
my $SATURATED = 4294967295;     # in a record: longer than its field can say (abi/records.def)
my $ANY_CPU   = 65535;          # in a record: no CPU in particular (abi/records.def)
my $SAMPLE_NS = 1_000_000_000;  # what a first sample of a quota is about: nobody saw the one before
my ($SAMPLE)  = grep { $Tipme::Record::Layout::ENUM{phase}{$_} eq 'sample' }
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

# --- disks ---

# A bio: { tid, dev, sector, sectors, op, queued, inserted, issued, completed (each undef: not yet,
# or not seen), request, indices }.
1;
