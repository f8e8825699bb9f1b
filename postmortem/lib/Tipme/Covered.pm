# SPDX-License-Identifier: GPL-2.0-only
# How far back the kernel's records go, and who filled the memory where that is not far: somebody
# who looks for a lag of ten seconds ago must not read that nothing was slow.
package Tipme::Covered;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::Verdict qw(duration_text);
use Tipme::Words   qw(N__ fill);

my $FAR_NS   = 10_000_000_000;    # a person presses the hot-key within so long of the lag, usually
my $START_NS = 2_000_000_000;     # a recorder that has just been started had nothing to drop
my $MOSTLY   = 0.25;              # of all switches and wakings: that thread filled the memory
my $ABOUT    = 1000;              # records a second: no reader needs it more exactly
my $FLOOD    = 20_000;            # records a second of a busy machine; below, the memory was small

# ns(EPISODE, KERNEL): ns before the hot-key that are still there, where the recorder ran for longer
# and that is less than somebody needs; else 0
sub ns {
	my ($ep, $kernel) = @_;
	my $began = $ep->manifest->{recorder}{start_ns} or return 0;
	my $from  = $kernel->has_records ? $kernel->covered_from : 0;
	my $ns    = $ep->trigger_ns - $from;
	return $from > $began + $START_NS && $ns > 0 && $ns < $FAR_NS ? $ns : 0;
}

# words(NS): the sentence behind "nothing unusual"; '': all is there that one needs
sub words {
	my ($ns) = @_;
	return $ns ? fill(N__(' Only the last {time} were recorded.'), time => duration_text($ns)) : '';
}

# filled(EPISODE, KERNEL): by whom the memory was filled, a sentence; nothing, if by no few
sub filled {
	my ($ep, $kernel) = @_;
	my $ns = ns($ep, $kernel);
	return if !$ns || $kernel->sampled;
	my $trigger = $ep->trigger_ns;
	my $ev      = $kernel->states($trigger - $ns, $trigger)->events;
	my $n       = $ev->first_at($trigger) - $ev->first_at($trigger - $ns);
	my $rate    = $n / ($ns / 1e9);
	return if $rate < $FLOOD;
	my %of = map { $_ => length($ev->packed_of_tid($_)) / 4 } grep {$_} $ev->tids;
	my @tids =
		grep { $of{$_} >= $MOSTLY * $ev->count } sort { $of{$b} <=> $of{$a} || $a <=> $b } keys %of;
	my @names = map { $kernel->threads->at($_, $trigger)->{comm} } @tids or return;
	return fill(
		N__('{who} filled the memory of the recorder: it took {n} records a second.'),
		who => join(', ', map {qq("$_")} @names), n => $ABOUT * int($rate / $ABOUT)
	);
}

1;
