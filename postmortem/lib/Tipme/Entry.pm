# SPDX-License-Identifier: GPL-2.0-only
# When an input event entered the kernel: the input core's own record of it, and the interrupt that
# brought it. The kernel module tells, and tracing programs where the kernel lets them hook
# functions.
package Tipme::Entry;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Exporter qw(import);
use Tipme::KernelEvents;
use Tipme::Resources;

our @EXPORT_OK = qw(entered_ns woken_from);

# evdev's time is taken when the device's report is whole: so long after its first part at most
my $BEFORE_NS = 10_000_000;
my $ROUND_NS  = 1_000;        # evdev counts microseconds, and cuts the rest off
my $NO_NUMBER = 65535;        # in a record: the server gave the device no number (abi/records.def)

# new(EPISODE)
sub new {
	my ($class, $ep) = @_;
	return bless {
		ep   => $ep,
		seen => scalar grep { $_->{source} =~ /^kernel_(?:module|bpf)$/ } $ep->coverage
		},
		$class;
}

# of(EVENT): { core_ns, cpu, interrupt_ns } of an event of InputPath that has the kernel's time;
# interrupt_ns is undef where the interrupt was too short for a record of its own. Undef: not
# recorded.
sub of {
	my ($self, $e) = @_;
	my $t    = $e->{kernel_ns}   // return;
	my $r    = $e->{read_record} // $e->{device_record};
	my $list = $self->_of_kind($e->{kind}) or return;
	my ($lo, $hi) = (0, scalar @$list);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($list->[$m]{ts} <= $t + $ROUND_NS) { $lo = $m + 1 }
		else                                     { $hi = $m }
	}
	while ($lo-- && $list->[$lo]{ts} > $t - $BEFORE_NS) {
		my $c = $list->[$lo];
		next
			if defined $r->{kernel_ns}
			&& grep { $_ != $r->{device} && $_ != $NO_NUMBER && $r->{device} != $NO_NUMBER }
			$c->{device};
		return { core_ns => $c->{ts}, cpu => $c->{cpu}, interrupt_ns => $self->_interrupt($c) };
	}
	return;
}

# The input core's records of one kind, in order of time.
sub _of_kind {
	my ($self, $kind) = @_;
	return if !$self->{seen};
	$self->{core} //= do {
		my (%of, $ev) = ();
		$ev = Tipme::KernelEvents->load_only($self->{ep}, Tipme::KernelEvents::INPUT);
		for my $i (@{ $ev->of_kind(Tipme::KernelEvents::INPUT) }) {
			push @{ $of{ $ev->input_kind($i) // '' } },
				{ ts => $ev->ts($i), cpu => $ev->cpu($i), device => $ev->input_device($i) };
		}
		\%of;
	};
	return $self->{core}{$kind};
}

# Since when the interrupt lasted in which the input core was told; of several the outermost.
sub _interrupt {
	my ($self, $c) = @_;
	$self->{irqs} //= Tipme::Resources->new(
		Tipme::KernelEvents->load_only($self->{ep}, Tipme::KernelEvents::IRQ));
	my ($irq) = brings($self->{irqs}, @$c{qw(cpu ts)});
	return $irq ? $irq->{from} : undef;
}

# brings(RESOURCES, CPU, TIME): the interrupts and softirqs in which that CPU was at that time, the
# outermost first
sub brings {
	my ($resources, $cpu, $t) = @_;
	return sort { $a->{from} <=> $b->{from} }
		grep    { $_->{what} eq 'hardirq' || $_->{what} eq 'softirq' }
		$resources->irqs($cpu, $t, $t + 1);
}

# entered_ns(EVENT): when it came, as far as its source knows
sub entered_ns { my ($e) = @_; return $e->{device_ns} // $e->{kernel_ns} // $e->{read_ns} }

# woken_from(INTERVAL): from when on threads can have to do with an event: since the input core had
# it. Before that the interrupt had.
sub woken_from {
	my ($i) = @_;
	return $i->{entered} && $i->{event}{server}{exact} ? $i->{entered}{core_ns} : $i->{start_ns};
}

1;
