# SPDX-License-Identifier: GPL-2.0-only
# Splits the segments of a wake-up chain where something beside the threads had its hand in them: a
# used-up CPU quota, the want of memory, interrupts, the host of a virtual machine.
package Tipme::Interference;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Reason qw(reason);
use Tipme::Unpacked;

my $SHORT_NS =
	1_000_000;    # many short interrupts together, from here on, are told apart from running
my $SHORT_PART = 0.05;          # ... if they are that part of it
my $STALL_NS   = 50_000_000;    # five samples that did not come
my $NEAR_NS    = 30_000_000;    # before and after which some came
my $ANY_CPU    = 65535;         # in a record: no CPU in particular (abi/records.def)
my $IDLE_NS    = 1_000_000;     # a runnable thread whose CPU idles so long is kept from it
my %SOFTIRQ    = map { $_->[0] => $_->[1] } [ 0 => 'high tasklets' ], [ 1 => 'timers' ],
	[ 2 => 'network, sending' ], [ 3 => 'network, receiving' ], [ 4 => 'disks' ],
	[ 5 => 'irq_poll' ],
	[ 6 => 'tasklets' ], [ 7 => 'load balancing' ], [ 8 => 'precise timers' ], [ 9 => 'RCU' ];

# new(resources => Resources, threads => Threads)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# apply(\SEGMENTS): the same stretch of time; pieces have `by` { kind, what, detail, tid (or undef:
# no thread) } where interference explains them
sub apply {
	my ($self, $segments) = @_;
	my @s = $self->_by_quota($segments);
	@s = map { $self->_by_memory($_) } @s;
	@s = map { $_->{by} ? $_ : $self->_by_irqs($_) } @s;
	@s = map { $_->{by} ? $_ : $self->_by_steal($_) } @s;
	@s = map { $_->{by} ? $_ : $self->_by_stall($_) } @s;
	return map { $_->{by} ? $_ : $self->_by_short_irqs($_) } @s;
}

# --- the machine stood still: firmware, a host that does not count what it takes, interrupts kept
# off ---

# Somebody had a CPU, so that each 10 ms a sample was due, and no CPU has recorded anything.
sub _by_stall {
	my ($self, $s) = @_;
	return $s
		if $s->{to} - $s->{from} < $STALL_NS
		|| $s->{state} !~ /^(?:running|runnable)$/
		|| $s->{idle};
	my @still = $self->_silences(@$s{qw(from to cpu)}) or return $s;
	return _carve(
		$s,
		\@still,
		sub {
			return {
				exact => 0,
				by    => {
					kind   => 'machine-stall', what => 'stall', name => undef,
					detail => 'stood-still'
				}
			};
		}
	);
}

# { from, to } of at least 50 ms without any record, before and after which that CPU was sampled.
sub _silences {
	my ($self, $from, $to, $cpu) = @_;
	my $ev = $self->{resources}->events;
	return if !defined $cpu || !@{ $ev->of_kind(Tipme::KernelEvents::SAMPLE) };
	my ($at, @found) = ($from);
	for (my $k = $ev->first_at($from); $k < $ev->count; $k++) {
		my $ts = $ev->ts($k);
		push @found, { from => $at, to => $ts < $to ? $ts : $to }
			if $ts - $at >= $STALL_NS
			&& $self->_sampled($cpu, $at - $NEAR_NS, $at + 1)
			&& $self->_sampled($cpu, $ts,            $ts + $NEAR_NS);
		last if $ts >= $to;
		$at = $ts;
	}
	return grep { $_->{to} - $_->{from} >= $STALL_NS } @found;
}

sub _sampled {
	my ($self, $cpu, $from, $to) = @_;
	my $ev = $self->{resources}->events;
	for (my $k = $ev->first_at($from); $k < $ev->count && $ev->ts($k) < $to; $k++) {
		return 1
			if $ev->kind($k) == Tipme::KernelEvents::SAMPLE
			&& $ev->cpu($k) == $cpu;
	}
	return 0;
}

# Cuts a segment at [FROM, TO): (what is before, the piece, what is behind), of which the outer ones
# may be missing.
sub _cut {
	my ($s, $from, $to, %new) = @_;
	$from = $s->{from} if $from < $s->{from};
	$to   = $s->{to}   if $to > $s->{to};
	return ($s, undef) if $from >= $to;
	# What is known of the whole by sum only belongs to its parts in proportion.
	my $part = sub {
		my ($a, $b) = @_;
		my $share = ($b - $a) / ($s->{to} - $s->{from});
		return $s->with(
			from => $a, to => $b,
			$s->{irq_ns} ? (irq_ns => int($s->{irq_ns} * $share), irq_exact => 0) : (),
			$s->{among}  ? (among  => _among($s->{among}, $share, $b - $a))       : ()
		);
	};
	return (
		$from > $s->{from} ? $part->($s->{from}, $from) : undef,
		$part->($from, $to)->with(irq_ns => 0, $new{by} ? (among => undef) : (), %new),
		$to < $s->{to} ? $part->($to, $s->{to}) : undef
	);
}

# Of those who had a CPU in turn, each a part in proportion; all parts add up to NS.
sub _among {
	my ($among, $share, $ns) = @_;
	my %part =
		map { $_ => { %{ $among->{$_} }, ns => int($among->{$_}{ns} * $share) } } keys %$among;
	my ($most) = sort { $part{$b}{ns} <=> $part{$a}{ns} || $a <=> $b } keys %part;
	$ns -= $_->{ns} for values %part;
	$part{$most}{ns} += $ns;
	return \%part;
}

# Applies a list of { from, to, ... } in order of time: CALLBACK->(entry) gives what the piece has
# more.
sub _carve {
	my ($s, $list, $new) = @_;
	my @out;
	for my $x (@$list) {
		last if !$s;
		my ($before, $piece, $behind) = _cut($s, $x->{from}, $x->{to}, %{ $new->($x, $s) });
		next if !$piece;
		push @out, grep {defined} $before, $piece;
		$s = $behind;
	}
	push @out, $s if $s;
	return @out;
}

# --- a CPU quota: who waits in a cgroup that has used it up waits for that, whoever has the CPU ---

sub _by_quota {
	my ($self, $segments) = @_;
	my @groups = $self->{resources}->throttled_cgroups;
	my (@out, @wait);
	for my $s (@$segments) {
		if ($s->{state} ne 'runnable' || $s->{by}) {
			push @out, $self->_quota(\@wait, \@groups), $s;
			@wait = ();
			next;
		}
		if (@wait && ($wait[-1]{tid} != $s->{tid} || $wait[-1]{to} != $s->{from})) {
			push @out, $self->_quota(\@wait, \@groups);
			@wait = ();
		}
		push @wait, $s;
	}
	return (@out, $self->_quota(\@wait, \@groups));
}

# One wait for a CPU, in segments by who had it.
sub _quota {
	my ($self, $wait, $throttled) = @_;
	return if !@$wait;
	my ($tid, $from, $to) = ($wait->[0]{tid}, $wait->[0]{from}, $wait->[-1]{to});
	my @own  = $self->{threads}->cgroups_of($tid, $from) or return @$wait;
	my @mine = grep {
		my $g = $_;
		grep { $self->_above($g, $_) } @own
	} @$throttled;
	my @exact = map {
		my $g = $_;
		map {
			{ %$_, cgroup => $g }
		} grep { $_->{exact} } $self->{resources}->throttles($g, undef, $from, $to)
	} @mine;
	my @s = map {
		my $s = $_;
		_carve(
			$s,
			$self->_merged(
				[
					grep {
							   $_->{cpu} == $ANY_CPU
							|| !defined $s->{cpu}
							|| $_->{cpu} == $s->{cpu}
							|| $s->{idle}
					} @exact
				]
			),
			sub {
				my ($x) = @_;
				return {
					exact    => 1, by => $self->_quota_words($x->{cgroup}),
					evidence => [ @{ $s->{evidence} }, $x->{index} ]
				};
			}
		)
	} @$wait;
	return @s if @exact;
	# Only samples: within each the wait may have so much of it; first where its CPU idled.
	for my $x (
		$self->{resources}
		? map {
			my $g = $_;
			map {
				{ %$_, cgroup => $g }
			} $self->{resources}->throttles($g, undef, $from, $to)
		} @mine
		: ()
		)
	{
		my $left = $self->{quota_left}{"$x->{cgroup} $x->{from}"} //= 1000 * $x->{us};
		for my $idle (1, 0) {
			@s = map {
				my @p =
					   !$_->{by}
					&& ($_->{idle} ? 1 : 0) == $idle
					&& $left > 0 ? $self->_of_sample($_, $x, \$left) : $_;
				@p
			} @s;
		}
		@s = $self->_begun_before(\@s, $x, \$left)
			if $from < $x->{from} && $x->{from} < $to && grep { $_->{by} && $_->{to} > $x->{from} }
			@s;
		$self->{quota_left}{"$x->{cgroup} $x->{from}"} = $left;
	}
	return @s if grep { $_->{by} } @s;
	# No record of throttling at all, but a quota: a thread that may run, and does not while its CPU
	# idles.
	my $idle = 0;
	$idle += $_->{to} - $_->{from} for grep { $_->{idle} } @s;
	my ($limited) = $idle >= $IDLE_NS ? map { $self->_limited($_) } @own : ();
	return $limited
		? map { $_->{idle} ? { %$_, exact => 0, by => $self->_quota_words($limited) } : $_ } @s
		: @s;
}

# Of a segment the part that lies in a sample's time, and no more than what is left of its amount.
sub _of_sample {
	my ($self, $s, $x, $left) = @_;
	my $from = $s->{from} > $x->{from} ? $s->{from} : $x->{from};
	my $to   = $s->{to} < $x->{to}     ? $s->{to}   : $x->{to};
	$to = $from + $$left if $to - $from > $$left;
	return $s if $to <= $from;
	$$left -= $to - $from;
	return grep {defined} _cut($s, $from, $to, exact => 0, by => $self->_quota_words($x->{cgroup}));
}

# The kernel counts a stretch of throttling when it ends. Of one that lasted when somebody looked,
# the part before that is in the count of the next look, too: as much of this wait, while its CPU
# idled, from that moment backwards.
sub _begun_before {
	my ($self, $s, $x, $left) = @_;
	my @out;
	for my $p (reverse @$s) {
		my $to = $p->{to} < $x->{from} ? $p->{to} : $x->{from};
		if ($p->{by} || !$p->{idle} || $to <= $p->{from} || $$left <= 0) { unshift @out, $p; next }
		my $begin = $to - $p->{from} > $$left ? $to - $$left : $p->{from};
		$$left -= $to - $begin;
		unshift @out,
			grep {defined}
			_cut($p, $begin, $to, exact => 0, by => $self->_quota_words($x->{cgroup}));
	}
	return @out;
}

# Times that overlap, one after the other.
sub _merged {
	my ($self, $list) = @_;
	my ($t,    @out)  = (0);
	for my $x (sort { $a->{from} <=> $b->{from} || $b->{exact} <=> $a->{exact} } @$list) {
		next if $x->{to} <= $t;
		push @out, { %$x, from => $x->{from} > $t ? $x->{from} : $t };
		$t = $x->{to};
	}
	return \@out;
}

# Is the first cgroup the second one, or above it?
sub _above {
	my ($self, $g, $own) = @_;
	return 1 if $g == $own;
	my ($a, $b) = map { $_ ? $_->{path} : undef } map { $self->{threads}->cgroup($_) } $g, $own;
	return defined $a && defined $b && index($b, $a =~ m{/\z} ? $a : "$a/") == 0 ? 1 : 0;
}

# The nearest cgroup from this one upwards that has a quota.
sub _limited {
	my ($self, $own) = @_;
	my $c = $self->{threads}->cgroup($own) or return ();
	return $own if $c->{quota_us};
	my ($best) = sort { length $b->{path} <=> length $a->{path} }
		grep { $_->{quota_us} && $self->_above($_->{cgroup}, $own) } $self->{threads}->cgroups;
	return $best ? $best->{cgroup} : ();
}

sub _quota_words {
	my ($self, $id) = @_;
	my $c    = $self->{threads}->cgroup($id);
	my $name = $c ? $c->{path} : "number $id";
	my $of =
		$c && $c->{quota_us}
		? { quota => $c->{quota_us} / 1000 . '', period => $c->{period_us} / 1000 . '' }
		: undef;
	return {
		kind   => 'cpu-throttled', what => 'quota', cgroup => $name, reason => 'quota',
		detail => $of
		? reason('quota-used-of', cgroup => $name, %$of)
		: reason('quota-used',    cgroup => $name)
	};
}

# --- memory ---

sub _by_memory {
	my ($self, $s) = @_;
	return $s
		if $s->{by}
		|| $s->{state} eq 'runnable'
		|| $s->{state} eq 'unknown'
		|| $s->{disk}
		|| $s->{mixed};
	my @waits = grep { $s->{state} ne 'running' || $_->{what} ne 'fault_file' }
		$self->{resources}->memory_waits($s->{tid}, $s->{from}, $s->{to});
	push @waits, Tipme::Unpacked::stretches(@$self{qw(resources threads)}, @$s{qw(tid from to)})
		if $s->{state} eq 'running';
	return $s if !@waits;
	return _carve(
		$s,
		$self->_merged(
			[
				map {
					{ %$_, exact => 1 }
				} @waits
			]
		),
		sub {
			my ($x) = @_;
			# What is read back by computing lies compressed in memory: no disk has a part in it.
			my $unpacks = $x->{what} eq 'fault_swap' && $s->{state} eq 'running';
			return {
				by => {
					kind => 'memory-reclaim', what => 'memory',
					(map { $_ => 'memory-unpacked' } qw(reason detail)), own => 1
				},
				$x->{likely} ? (exact => 0) : (),
				evidence => [ @{ $s->{evidence} }, $x->{index} ]
			} if $unpacks;
			my $kind = $x->{what} =~ /^fault/ ? 'page-fault-io' : 'memory-reclaim';
			my $reason =
				Tipme::Reason::is_known("memory-$x->{what}") ? "memory-$x->{what}" : 'memory';
			return {
				by => {
					kind => $kind, what => 'memory', reason => $reason, detail => $reason, own => 1
				},
				evidence => [ @{ $s->{evidence} }, $x->{index} ]
			};
		}
	);
}

# --- interrupts: on the CPU where the thread ran, or waited ---

sub _by_irqs {
	my ($self, $s) = @_;
	return $s if $s->{state} ne 'running' && $s->{state} ne 'runnable' || $s->{among};
	# What a softirq does that a thread has raised in its own call is that thread's.
	my @irqs = grep { $_->{what} ne 'softirq' || $_->{raiser} != $s->{tid} || !$_->{raiser} }
		$self->{resources}->irqs($s->{cpu}, $s->{from}, $s->{to});
	return $s if !@irqs;
	# Hardware interrupts that have a record are not told again in the sum of the short ones.
	for my $x (grep { $_->{what} ne 'softirq' } @irqs) {
		$s->{irq_ns} -= $x->{to} - $x->{from} if $s->{irq_ns};
	}
	$s->{irq_ns} = 0 if ($s->{irq_ns} // 0) < 0;
	return _carve(
		$s,
		$self->_merged(
			[
				map {
					{ %$_, exact => 1 }
				} @irqs
			]
		),
		sub {
			my ($x) = @_;
			return {
				by       => $self->_irq_words($x),
				evidence => [ @{ $s->{evidence} }, $x->{index} ]
			};
		}
	);
}

sub _irq_words {
	my ($self, $x) = @_;
	my $n    = $x->{number};
	my $name = $self->{threads}->irq($n);
	my $what =
		  $x->{what} eq 'hardirq' ? 'interrupt ' . ($name        ? "$n ($name)"        : $n)
		: $x->{what} eq 'softirq' ? 'softirq ' .   ($SOFTIRQ{$n} ? "$n ($SOFTIRQ{$n})" : $n)
		: $x->{what} eq 'timer'   ? "the CPU's timer interrupt"
		: $x->{what} eq 'nmi'     ? 'a non-maskable interrupt'
		: $x->{what} eq 'ipi'     ? 'an interrupt from another CPU'
		:                           "interrupt $n";
	my $line =
		  $x->{what} eq 'hardirq'
		? $name
			? 'device'
			: 'other'
		: $x->{what} =~ /\A(?:softirq|timer)\z/ ? $x->{what}
		:                                         'other';
	my $raiser =
		$x->{what} eq 'softirq' && $x->{context} =~ /^softirq_(?:task|mixed)$/ ? $x->{raiser} : 0;
	return {
		kind   => 'irq-time', what => 'irq', name => $what, tid => $raiser || undef,
		reason => reason('interrupted', what => $what),
		detail => reason("irq-$line",   what => $what)
	};
}

# bringing(IRQ): the words for the time in which an interrupt brought the input event itself
sub bringing {
	my ($self, $x) = @_;
	my $words = $self->_irq_words($x);
	return {
		%$words, tid => undef, reason => reason('brought-by', what => $words->{name}),
		detail => reason('brought', what => $words->{name})
	};
}

# --- the host of a virtual machine: so much of each such stretch, nobody knows when in it ---

sub _by_steal {
	my ($self, $s) = @_;
	return $s if $s->{state} ne 'running' && $s->{state} ne 'runnable' || $s->{among};
	my @out;
	for my $x ($self->{resources}->steals($s->{cpu}, $s->{from}, $s->{to})) {
		my $from = $x->{from} > $s->{from} ? $x->{from} : $s->{from};
		my $to   = $x->{to} < $s->{to}     ? $x->{to}   : $s->{to};
		next if $to <= $from;
		my $ns = $from == $x->{from}
			&& $to == $x->{to} ? $x->{ns} : int($x->{ns} * ($to - $from) / ($x->{to} - $x->{from}));
		$ns = $to - $from if $ns > $to - $from;
		next              if $ns < 1;
		my $whole = $from == $x->{from} && $to == $x->{to} ? 1 : 0;
		my ($before, $piece, $behind) = _cut(
			$s, $to - $ns, $to,
			by => { kind => 'host-steal', what => 'steal', reason => 'steal', detail => 'stolen' },
			exact    => $whole && $s->{exact} ? 1 : 0,
			evidence => [ @{ $s->{evidence} }, grep {defined} $x->{index} ]
		);
		push @out, grep {defined} $before, $piece;
		return @out if !$behind;
		$s = $behind;
	}
	return (@out, $s);
}

# Interrupts too short for a record of their own are known by their sum: told as one piece at the
# end.
sub _by_short_irqs {
	my ($self, $s) = @_;
	my $ns = $s->{irq_ns} // 0;
	return $s
		if $s->{state} ne 'running'
		|| $ns < $SHORT_NS
		|| $ns < $SHORT_PART * ($s->{to} - $s->{from})
		|| $ns >= $s->{to} - $s->{from};
	my ($before, $piece) = _cut(
		$s, $s->{to} - $ns, $s->{to}, exact => $s->{irq_exact} ? $s->{exact} : 0,
		by => {
			kind   => 'irq-time', what => 'irq', name => 'many short interrupts',
			reason => 'interrupted-often',
			detail => reason('irq-other', what => 'many short interrupts')
		}
	);
	return ($before, $piece);
}

1;
