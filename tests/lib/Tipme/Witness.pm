# SPDX-License-Identifier: GPL-2.0-only
# Somebody who sleeps a little, wakes, and sleeps again beside a test: how late he was tells what
# the machine, or its host, did to everybody.
package Tipme::Witness;
use strict;
use warnings;
use Carp     qw(croak);
use Exporter qw(import);
use POSIX    ();
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

our @EXPORT_OK = qw(undisturbed witness);

# Nobody is late by so much but on a machine that stands still.
use constant LATE_MS => 100;
use constant TRIES   => 5;

# witness(PRIORITY): begins to look, as a real-time process of that priority or as an ordinary one
# (undef). Returns what ends it and gives the longest that it had to wait, in ms. It ends with whom
# it was started by, too.
sub witness {
	my ($priority) = @_;
	my $for = $$;
	pipe my $told,  my $tell   or croak "pipe: $!";
	pipe my $begun, my $begins or croak "pipe: $!";
	my $pid = fork // croak "fork: $!";
	if (!$pid) {
		my ($on, $worst) = (1, 0);
		local $SIG{TERM} = sub { $on = 0 };
		system "chrt -f -p $priority $$ 2>/dev/null" if $priority;
		syswrite $begins, '.';
		while ($on && getppid == $for) {
			my $begin = clock_gettime(CLOCK_MONOTONIC);
			sleep 0.005;
			my $late = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $begin) - 5;
			$worst = $late if $late > $worst;
		}
		syswrite $tell, int $worst;
		POSIX::_exit(0);
	}
	close $_ for $tell, $begins;
	sysread $begun, my $byte, 1;
	return sub { kill TERM => $pid; sysread $told, my $ms, 20; waitpid $pid, 0; return $ms || 0 };
}

# undisturbed(CODE): runs it, and once more where the machine stood still meanwhile, so that it is
# not the story that was meant. Returns what it returned last.
sub undisturbed {
	my ($code) = @_;
	my $result;
	for my $try (1 .. TRIES) {
		my $end = witness(59);
		$result = eval { $code->() };
		my $failed  = $@;
		my $late_ms = $end->();
		die $failed if $failed;
		last        if $late_ms < LATE_MS || $try == TRIES;
		note "the machine stood still for $late_ms ms: once more";
	}
	return $result;
}

1;
