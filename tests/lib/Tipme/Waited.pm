# SPDX-License-Identifier: GPL-2.0-only
# Whether a press was kept waiting by something else than what was done to it: by the kernel's own
# count of how long threads waited for a CPU, and by a real-time process that looks whether the
# machine itself stood still. Neither knows what tipme recorded.
package Tipme::Waited;
use strict;
use warnings;
use List::Util     qw(max sum0);
use Tipme::Witness qw(witness);

use constant STOOD_STILL_MS => 60;
use constant SHARE          => 0.2;    # of the time that was staged: then it is a cause of its own

# Tipme::Waited->begin(PIDS): of the threads of each, the one that waits longest counts
sub begin {
	my ($class, @pids) = @_;
	return bless { pids => \@pids, had => waits(@pids), stood => witness(59) }, $class;
}

# end(MS, SHARE): why a press that was kept waiting for MS in that time is void; '' if it counts.
# SHARE: of that time, which others may have had besides
sub end {
	my ($self, $ms, $share) = @_;
	my $now   = waits(@{ $self->{pids} });
	my $stood = $self->{stood}->();
	return "the machine stood still for $stood ms" if $stood > STOOD_STILL_MS;
	my $waited = sum0(map { _more($self->{had}{$_}, $now->{$_}) } keys %$now) / 1e6;
	return sprintf 'others had the CPU for %.0f ms', $waited if $waited > ($share // SHARE) * $ms;
	return '';
}

# How long each thread of these has waited for a CPU, { pid => { tid => ns } }
sub waits {
	my %of;
	for my $pid (@_) {
		for my $file (glob "/proc/$pid/task/*/schedstat") {
			open my $h, '<', $file or next;
			my ($tid) = $file =~ m{(\d+)/schedstat\z};
			$of{$pid}{$tid} = (split ' ', <$h> // '')[1] // next;
		}
	}
	return \%of;
}

sub _more {
	my ($had, $now) = @_;
	return max(0, map { $now->{$_} - ($had->{$_} // 0) } keys %{ $now // {} });
}

1;
