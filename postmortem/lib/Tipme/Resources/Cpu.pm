# SPDX-License-Identifier: GPL-2.0-only
# A part of Resources: CPUs: how deep they slept, how fast they were, who may run on which of them,
# and how urgent a thread has been made.
package Tipme::Resources::Cpu;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;

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

1;
