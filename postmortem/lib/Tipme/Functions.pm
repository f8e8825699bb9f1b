# SPDX-License-Identifier: GPL-2.0-only
# In which function a thread computed: from the samples of its stack, kernel and user.
package Tipme::Functions;

use strict;
use warnings;

# a function that has so many of the samples itself is named; else the one below which most of them
# lie
my $CLEAR = 0.4;
my $MOST  = 0.7;   # of the samples: a caller with so many stands for what is below it
my $LEAST = 5;     # samples, less than which say nothing
my $SURE  = 0.2;   # a part of the time that a function had for sure (see _sure), or it is not named
my $Z     = 1.96;  # for sure: at 95 %
# A sample by the clock comes where interrupts are let in again, not in what kept them out: its
# caller is meant.
my $LETS_IN =
	qr/\A(?:_raw_(?:spin|read|write)_unlock_irq(?:restore)?|__raw_spin_unlock_irq(?:restore)?|local_irq_enable|arch_local_irq_(?:enable|restore)|trace_hardirqs_on)\z/;
my %FRAME_OF_ALL = map { $_ => 1 }
	qw(main _start __libc_start_main __libc_start_main_impl __libc_start_call_main start_thread
	clone clone3 __clone ret_from_fork ret_from_fork_asm);

# new(resources => Resources, threads => Threads)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# of(\STRETCHES): of all samples in stretches [ tid, from, to ]: { function, module, samples, of,
# inside (the function is not the innermost) }; undef: too few, or none that stands out
sub of {
	my ($self, $stretches) = @_;
	my (%leaf, %any, $n);
	for my $s (@$stretches) {
		for my $sample ($self->{resources}->samples(@$s)) {
			my @f = $self->frames($sample) or next;
			$n++;
			$leaf{ $f[0] }++;
			my (%seen, $depth);
			for (@f) {
				$depth++;
				my $a = $any{$_} //= { n => 0, depth => 0 };
				next if $seen{$_}++;
				$a->{n}++;
				$a->{depth} += $depth;
			}
		}
	}
	return if !$n || $n < $LEAST;
	# Frames that nobody could put a name or a file to say nothing.
	my ($top) = sort { $leaf{$b} <=> $leaf{$a} || $a cmp $b } grep { !/\A\?\t/ } keys %leaf;
	return if !defined $top;
	my $named = { _split($top), samples => $leaf{$top}, of => $n, inside => 0 };
	my $sure  = _sure($leaf{$top}, $n) >= $SURE;
	return $named if $sure && $leaf{$top} >= $CLEAR * $n;
	my ($common) =
		sort { $any{$a}{depth} / $any{$a}{n} <=> $any{$b}{depth} / $any{$b}{n} || $a cmp $b }
		grep { my ($f) = split /\t/; $any{$_}{n} >= $MOST * $n && !$FRAME_OF_ALL{$f} && $f ne '?' }
		keys %any;
	return { _split($common), samples => $any{$common}{n}, of => $n, inside => 1 }
		if defined $common && _sure($any{$common}{n}, $n) >= $SURE;
	return $sure ? $named : undef;
}

# The least part of the time that a function can have had of which K of N samples were seen, at 95
# %: the lower end of Wilson's interval.
sub _sure {
	my ($k, $n)  = @_;
	my ($p, $zz) = ($k / $n, $Z * $Z);
	return ($p + $zz / (2 * $n) - $Z * sqrt($p * (1 - $p) / $n + $zz / (4 * $n * $n)))
		/ (1 + $zz / $n);
}

sub _split {
	my ($function, $module) = split /\t/, $_[0];
	return (function => $function, module => $module);
}

# frames(SAMPLE): of its stack, innermost first, each "function TAB module"
sub frames {
	my ($self, $sample) = @_;
	my $threads = $self->{threads};
	my ($k, $u) =
		($threads->stack($sample->{kernel_stack}), $threads->user_stack($sample->{user_stack}));
	my @kernel = map {s/\+0x[0-9a-f]+.*\z//r} split /;/, $k // '';
	shift @kernel while @kernel > 1 && $kernel[0] =~ $LETS_IN;
	my @f = map {"$_\tkernel"} @kernel;
	for my $frame (split /;/, $u // '') {
		my ($symbol, $offset, $id) = $frame =~ /\A(.*?)(\+(?:0x)?[0-9a-f]+)?\s*(?:\[(\d+)\])?\z/s;
		my $path = defined $id ? $threads->module($id) : undef;
		my ($module) = ($path // '?') =~ m{([^/]+)\z};
		$symbol = defined $offset ? "the code at $offset" : '?' if !length($symbol // '');
		push @f, "$symbol\t" . ($module // '?');
	}
	return @f;
}

1;
