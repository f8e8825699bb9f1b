# SPDX-License-Identifier: GPL-2.0-only
# The kernel's view of any stretch of an episode, loaded when asked for: an episode is large, a question is small.
package Tipme::Kernel;

use strict;
use warnings;
use Tipme::KernelEvents;
use Tipme::TaskStates;
use Tipme::Threads;

my $KEEP      = 4;              # stretches held at once
my $BEFORE_NS = 150_000_000;    # what is asked for next mostly lies a little before or after
my $AFTER_NS  = 5_000_000;

sub new {
	my ($class, $ep) = @_;
	my @c = grep { $_->{source} =~ /^kernel_/ } $ep->coverage;
	return bless { ep => $ep, threads => Tipme::Threads->new($ep), kept => [], has => scalar @c, loaded => 0 }, $class;
}

sub threads     { return $_[0]{threads} }
sub has_records { return $_[0]{has} }

# covered_from(): when the records of all CPUs begin; 0 where there are none
sub covered_from {
	my ($self) = @_;
	my ($latest) = sort { $b <=> $a } map { $_->{first_ns} } grep { $_->{source} =~ /^kernel_/ } $self->{ep}->coverage;
	return $latest // 0;
}

# loaded(): records that were decoded so far
sub loaded { return $_[0]{loaded} }

# states(FROM, TO): TaskStates that cover at least that
sub states {
	my ($self, $from, $to) = @_;
	for my $s (@{ $self->{kept} }) { return $s if $s->from <= $from && $s->to >= $to }
	$from -= $BEFORE_NS;
	$from = 0 if $from < 0;
	$to += $AFTER_NS;
	my $ev = Tipme::KernelEvents->load($self->{ep}, $from, $to);
	$self->{loaded} += $ev->count;
	$self->{threads}->add_events($ev);
	my $s = Tipme::TaskStates->new($ev, $self->{threads}, $from, $to);
	unshift @{ $self->{kept} }, $s;
	pop @{ $self->{kept} } if @{ $self->{kept} } > $KEEP;
	return $s;
}

1;
