# SPDX-License-Identifier: GPL-2.0-only
# From the kernel stack of a sleep to the reason of it, through the table reasons.tsv; before that,
# through the lines that a person has added.
package Tipme::Reasons;

use strict;
use warnings;
use File::Basename qw(dirname);
use Tipme::OwnWaits;

my $LOCK = 'wait-kernel-lock';                            # the code of its lines
my %IRQ  = map { $_ => 1 } qw(hardirq softirq_irq nmi);

# new(): reads the table beside this file, and the lines of this person and machine.
# new(EPISODE): of a bundle those of its sender
sub new {
	my ($class, $ep) = @_;
	my $file   = dirname(__FILE__) . '/reasons.tsv';
	my $bundle = $ep     ? $ep->manifest->{bundle}                 : undef;
	my @rows   = $bundle ? Tipme::OwnWaits::sent($bundle->{waits}) : Tipme::OwnWaits::here();
	my $n;
	open my $h, '<', $file or die "$file: $!: is tipme installed whole?\n";
	local $_;    # the caller's may stand for something
	while (<$h>) {
		$n++;
		chomp;
		next if /^\s*(?:#|$)/;
		my ($kind, $context, $kind_of, $frames, $code) = split /\t/;
		die "$file: line $n: five columns are needed\n" if !defined $code;
		push @rows,
			{
			kind => $kind, context => $context, class => $kind_of, frames => qr/$frames/,
			code => $code
			};
	}
	return bless { rows => \@rows, memo => {} }, $class;
}

# of(STACK, CONTEXT, LOCKED): { kind, class, code }: the code is one of Tipme::Reason or undef;
# CONTEXT is that of the waking, or undef where none came. LOCKED: the kernel has recorded that the
# sleep lies in a wait for a lock of its own. Then no line behind those of such locks is asked: the
# caller of the lock is all that a stack shows of it, and may be a file system or any driver.
sub of {
	my ($self, $stack, $context, $locked) = @_;
	$stack //= '';
	return if $stack eq '' && !$locked;
	my $key = join ' ', $context // 'none', $locked ? 'locked' : (), $stack;
	return $self->{memo}{$key} if exists $self->{memo}{$key};
	my ($row) = grep {
		_fits($_->{context}, $context)
			&& ($locked && ($_->{code} // '') eq $LOCK || $stack =~ $_->{frames})
	} @{ $self->{rows} };
	return $self->{memo}{$key} = $row;
}

# own_waits(): the lines that a person had added, of those that fitted a stack
sub own_waits {
	my ($self) = @_;
	my %seen;
	return map { $_->{own} } grep { $_ && $_->{own} && !$seen{$_}++ } values %{ $self->{memo} };
}

sub _fits {
	my ($want, $context) = @_;
	return 1               if $want eq 'any';
	return $want eq 'none' if !defined $context;
	return
		  $want eq 'hardirq' ? $context eq 'hardirq'
		: $want eq 'softirq' ? $context eq 'softirq_irq'
		: $IRQ{$context}     ? 1
		:                      0;
}

# is_loop(STACK): does a thread wait there as the event loop of a program does?
sub is_loop {
	my ($self, $stack) = @_;
	my $r = $self->of($stack, undef);
	return $r && $r->{class} eq 'loop' ? 1 : 0;
}

1;
