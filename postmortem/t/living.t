#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Commands of an advice that name a process are carried out here, on a process of the test: they do
# what they say, and their undo brings back what it had. One that is not there is not named.
use strict;
use warnings;
use Test::More;
use FindBin     qw($Bin);
use POSIX       ();
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Living;
use Tipme::Steps;

# What the process of the test sets itself to; 19 is the most.
my ($NICE) = sort { $a <=> $b } 19, 3 + getpriority 0, 0;
pipe(my $end, my $keep) or die "pipe: $!\n";
my $pid = fork // die "fork: $!\n";
if (!$pid) { close $keep; POSIX::nice(3); sysread $end, my $byte, 1; POSIX::_exit(0) }
close $end;
# When it was started, as the kernel's records have it: by the clock that stands still in a sleep.
my $BOOTTIME = 7;
my $from =
	1e9 * ((split ' ', state_of())[19] / POSIX::sysconf(POSIX::_SC_CLK_TCK())
		- clock_gettime($BOOTTIME)
		+ clock_gettime(CLOCK_MONOTONIC));
# Until it has set its nice value.
for (1 .. 600) { last if nice() == $NICE; sleep 0.1 }

sub state_of {
	open my $h, '<', "/proc/$pid/stat" or return '';
	return (readline($h) =~ /\) (.*)/)[0];
}
sub nice   { return (split ' ', state_of())[16] }
sub living { return scalar Tipme::Living::of($pid, $_[0] // $from) }
sub io     { return (living()                            // {})->{io_class} }

my $is = living() // {};
is($is->{nice},          $NICE, 'a process as it is');
is($is->{own},           1,     '... one\'s own');
is(living($from - 10e9), undef, 'a process with its number that was older: another one');
is(living($from + 10e9), undef, '... or younger');

# The command and its undo, of a verdict on that process.
sub step {
	my ($kind, $detail, $command) = @_;
	my %v = (kind => $kind, blamed => { pid => $pid, detail => $detail });
	my ($step) =
		grep { $_->{command} =~ $command } @{ Tipme::Steps::steps(\%v, {}, living => living()) };
	return $step // { command => '', undo => '' };
}

# done(WHAT, STEP, SUB that tells what is to change, the new value)
sub done {
	my ($what, $step, $is, $new) = @_;
	my $before = $is->();
SKIP: {
		my ($program) = $step->{command} =~ /^(\w+)/;
		skip "$what: no such command here", 2 if !$program;
		skip "$what: not permitted here",   2 if system "$step->{command} >/dev/null 2>&1";
		is($is->(), $new, "$what: $step->{command}");
		skip "$what: undo needs root", 1 if $> != 0;
		system "$step->{undo} >/dev/null 2>&1";
		is($is->(), $before, "... undone: $step->{undo}");
	}
	return;
}

done('less of the CPU',  step('cpu-contention', 'had-cpu',    qr/renice/), \&nice, 19);
done('less of the disk', step('disk-io',        'disk-ahead', qr/ionice/), \&io,   3);

# By another right to the CPU: what it had is found again, whichever it was.
SKIP: {
	skip 'needs root and chrt', 1 if $> != 0 || system "chrt -r -p 7 $pid >/dev/null 2>&1";
	done(
		'no real-time', step('rt-starvation', 'had-cpu', qr/chrt/),
		sub { my $l = living(); return "$l->{policy} $l->{rt}" }, '-o 0'
	);
	system "chrt -o -p 0 $pid";
}

kill STOP => $pid;
for (1 .. 600) { last if state_of() =~ /^T/; sleep 0.1 }
my $cure = step('stopped', 'stopped', qr/kill/);
is($cure->{command}, "kill -CONT $pid", 'a stopped one');
system $cure->{command};
for (1 .. 600) { last if state_of() !~ /^T/; sleep 0.1 }
unlike(state_of(), qr/^T/, '... goes on');
close $keep;
waitpid $pid, 0;
is(living(), undef,                                              'one that has ended is not there');
is(step('cpu-contention', 'had-cpu', qr/renice/)->{command}, '', '... and no command names it');
done_testing;
