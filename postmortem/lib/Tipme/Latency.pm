# SPDX-License-Identifier: GPL-2.0-only
# An episode that a latency over a threshold has triggered (`tipme latency record`): which expiry of
# the driver's timer it was, which thread came late, and who had its CPU before it was woken. Where
# that CPU was is told by function, as the cause sampler saw it.
package Tipme::Latency;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Segment;
use Tipme::Reason qw(reason);

# The trigger comes after the latency; clocks are one, but who reads the trigger may have been
# quicker than who wrote
my $JUST_NS  = 10_000_000;
my $ROUND_NS = 1_000;        # the trigger's words tell it in microseconds
my $FRAMES   = 3;            # by which places are told apart

my $WORDS = qr/\Alatency of (\d{1,9}\.\d{3}) ms on CPU (\d{1,5})\z/;

# words(TEXT): the words of a trigger if they are the driver's, and so nobody's own; else ''
sub words { my ($text) = @_; return defined $text && $text =~ $WORDS ? $text : '' }

# of(EPISODE, THREADS): { expiry_ns, end_ns, cpu, tid, priority, irq_ns, deferred_ns (both undef:
# not told), thread_ns } of the latency that has triggered the episode; undef: none has
sub of {
	my ($class, $ep, $threads) = @_;
	my ($ms, $cpu) = ($ep->manifest->{trigger}{text} // '') =~ $WORDS or return;
	my $trigger = $ep->trigger_ns;
	my ($best) = sort { $b->{end_ns} <=> $a->{end_ns} || $a->{tid} <=> $b->{tid} }
		grep {
			   $_->{over}
			&& $_->{cpu} == $cpu
			&& $_->{end_ns} <= $trigger + $JUST_NS
			&& abs($_->{end_ns} - $_->{expiry_ns} - $ms * 1e6) <= $ROUND_NS
		} _all($ep, $threads);
	return $best ? bless {%$best}, $class : undef;
}

sub _all {
	my ($ep, $threads) = @_;
	my $ev = Tipme::KernelEvents->load_only($ep, Tipme::KernelEvents::LATENCY);
	my @l;
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::LATENCY) }) {
		push @l, _kernel_thread($ev, $i);
	}
	$ev = Tipme::KernelEvents->load_only($ep, Tipme::KernelEvents::LATENCY_USER);
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::LATENCY_USER) }) {
		push @l,
			{
			expiry_ns => $ev->latency_user_expiry_ns($i), end_ns => $ev->ts($i),
			tid       => $ev->tid($i),
			thread_ns => $ev->latency_user_user_ns($i),
			cpu       => $ev->latency_user_cpu($i),
			priority  => $ev->latency_user_rt_priority($i),
			over      => $ev->latency_user_over($i)
			};
	}
	push @l, map {
		{
			expiry_ns => $_->{expiry_ns}, end_ns => $_->{ts_ns}, tid      => $_->{tid},
			thread_ns => $_->{user_ns},   cpu    => $_->{cpu},   priority => $_->{rt_priority},
			over      => $_->{over}
		}
	} $threads->looked('latency_user');
	return grep { $_->{end_ns} > $_->{expiry_ns} } @l;
}

sub _kernel_thread {
	my ($ev, $i) = @_;
	my $ts = $ev->ts($i);
	my ($irq, $deferred, $thread) =
		($ev->latency_irq_ns($i), $ev->latency_deferred_ns($i), $ev->latency_thread_ns($i));
	return {
		expiry_ns => $ts,  end_ns      => $ts + $irq + $deferred + $thread, tid => $ev->tid($i),
		irq_ns    => $irq, deferred_ns => $deferred,                        thread_ns => $thread,
		cpu       => $ev->latency_cpu($i),
		priority  => $ev->latency_rt_priority($i), over => $ev->latency_over($i)
	};
}

# stall(): what a diagnosis of a thread is asked for
sub stall {
	my ($self) = @_;
	return {
		tid  => $self->{tid}, start_ns => $self->{expiry_ns}, end_ns => $self->{end_ns},
		what => 'latency'
	};
}

# segments(STATES, THREADS, WALK): of [expiry, end): up to the waking whoever had the CPU is
# charged, then the wake-up chain's, WALK->(FROM)
sub segments {
	my ($self, $states, $threads, $walk) = @_;
	my ($from, $to) = @$self{qw(expiry_ns end_ns)};
	my ($i) =
		grep { $_->{from} <= $from && $_->{to} > $from } @{ $states->intervals($self->{tid}) };
	my $woken = $i && $i->{kind} eq 'blocked' && $i->{to} < $to ? $i->{to} : $from;
	return [
		$self->_before($states, $threads, $from, $woken),
		$woken < $to ? @{ $walk->($woken) } : ()
	];
}

# The timer had expired, and nobody had been woken yet: interrupts, or what they defer, waited for
# whatever the CPU did.
sub _before {
	my ($self, $states, $threads, $from, $to) = @_;
	return () if $to <= $from;
	my @late;
	for my $o ($states->occupants($self->{cpu}, $from, $to)) {
		my ($a, $b, $tid, undef, $index) = @$o;
		my %s = (
			tid => $self->{tid}, from => $a, to => $b, cpu => $self->{cpu}, state => 'sleeping',
			evidence => [ $index // () ]
		);
		if ($tid) {
			push @late, Tipme::Segment->new(
				%s, kind => 'irqs-off', exact => 1, reason => 'timer-expired', blamed_tid => $tid,
				detail => $self->_irqs_off($states, $threads, $tid, $a, $b)
			);
			next;
		}
		push @late, Tipme::Segment->new(
			%s, kind => 'unknown', exact => 0,
			reason => defined $tid ? 'timer-late' : 'cpu-unknown'
		);
	}
	return @late;
}

sub _irqs_off {
	my ($self, $states, $threads, $tid, $from, $to) = @_;
	my @s = grep { $_->{tid} == $tid } $states->resources->samples_on($self->{cpu}, $from, $to);
	# So short a time has few samples, and the page counts them all: a fifth of them is enough to be
	# named, one of many is not.
	my ($top) = grep { $_->{where} !~ /, its own code\z/ && 5 * $_->{samples} >= @s }
		@{ _places($threads, @s) };
	return $top ? reason('irqs-off-in', where => $top->{where}) : 'irqs-off';
}

# facts(STATES, THREADS): of `latency` in the data of a diagnosis
sub facts {
	my ($self, $states, $threads) = @_;
	my @s = $states->resources->samples_on($self->{cpu}, $self->{expiry_ns}, $self->{end_ns} + 1);
	return {
		(
			map { $_ => defined $self->{$_} ? $self->{$_} + 0 : undef }
				qw(cpu tid priority expiry_ns irq_ns deferred_ns thread_ns)
		),
		samples => scalar @s,
		places  => _places($threads, @s)
	};
}

# Where samples were: [ { where, samples } ... ], most first.
sub _places {
	my ($threads, @s) = @_;
	my %n;
	$n{ _where($threads, $_) }++ for @s;
	return [
		map  { { where => $_, samples => $n{$_} } }
		sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n
	];
}

# The innermost functions of the kernel; whose code, where it was not the kernel's.
sub _where {
	my ($threads, $s) = @_;
	my @f = map {s/\+0x[0-9a-f]+//r} split /;/, $threads->stack($s->{kernel_stack}) // '';
	splice @f, $FRAMES if @f > $FRAMES;
	return join ' < ', @f if @f;
	return $threads->at($s->{tid}, $s->{ts})->{comm} . ", its own code";
}

1;
