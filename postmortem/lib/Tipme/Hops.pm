# SPDX-License-Identifier: GPL-2.0-only
# The processes through which a chain of wake-ups goes.
package Tipme::Hops;

use strict;
use warnings;
use Exporter        qw(import);
use Tipme::Messages qw(messages);

our @EXPORT_OK = qw(hops once);

# hops(THREADS, EVENT, SEGMENTS): the processes that a chain passes, from its end backwards, but
# client, server and kernel: { pid, tid (the thread last met), from, to, looks: the process that
# woke the server, and not the client (itself, or another that did), else 0: a client that looks at
# the screen is none that ours waits for, unless it sent ours a message; turn: how often the chain
# has come to the client }
sub hops {
	my ($threads, $e, $segments) = @_;
	my ($then, $turn, $until, $looker, @hops) = (0, 0, 0, 0);
	for my $s (reverse @$segments) {
		return if $s->{state} eq 'unknown';
		my $who = $threads->at($s->{tid}, $s->{to} - 1);
		next if $who->{kernel};
		my $looks =
			$then == $e->{server}{pid} || $then != $e->{pid} && @hops && $hops[-1]{looks} ? 1 : 0;
		$looker = $who->{pid} if $then == $e->{server}{pid};
		my $same = $then == $who->{pid};
		$until = $s->{to} if $then != $e->{server}{pid} && $who->{pid} == $e->{server}{pid};
		$turn++ if !$same && $who->{pid} == $e->{pid};
		$then = $who->{pid};
		next if $then == $e->{server}{pid} || $then == $e->{pid};
		$looks = 0
			if $looks && !$same && messages($e->{server}, $then, $e->{pid}, $s->{to}, $until);
		if ($same) { @{ $hops[-1] }{qw(tid from)} = @$s{qw(tid from)} }
		else {
			push @hops,
				{
				pid   => $then, tid => $s->{tid}, from => $s->{from}, to => $s->{to},
				looks => $looks ? $looker : 0, turn => $turn
				};
		}
	}
	return @hops;
}

# once(HOPS): those without what is between two of one process: what it asked after it had got what
# it first waited for comes besides.
sub once {
	my (@hops) = @_;
	my @once;
	while (my $hop = shift @hops) {
		my ($last) = grep { $hops[$_]{pid} == $hop->{pid} } reverse 0 .. $#hops;
		$hop  = { %$hop, %{ $hops[$last] }{qw(tid from)} } if defined $last;
		@hops = @hops[ $last + 1 .. $#hops ]               if defined $last;
		push @once, $hop;
	}
	return @once;
}

1;
