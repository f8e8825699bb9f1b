#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# States of threads: half-open intervals that cover the time exactly, whatever the records leave
# out.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Episode;
use Tipme::Kernel;
use Tipme::KernelEvents;
use Tipme::TaskStates;
use Tipme::Test::Episode;
use Tipme::Test::Stacks qw(stack_text);
use Tipme::Threads;

my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;
my ($FROM, $TO) = (1_000_000, 2_000_000);

# states(CODE): TaskStates of [FROM, TO) of the episode that CODE writes
sub states {
	my ($code, %o) = @_;
	my $exact = delete $o{exact_from};
	my $b     = Tipme::Test::Episode->new(trigger_ns => 3_000_000, first_ns => 100, %o);
	$b->switch($_, 1000 + $_, 9990 + $_, 0, 'sleeping') for 0, 1;
	$code->($b);
	my $ep      = Tipme::Episode->open($b->write("$tmp/e" . ++$n));
	my $threads = Tipme::Threads->new($ep);
	my $ev      = Tipme::KernelEvents->load($ep, $FROM, $TO);
	$threads->add_events($ev);
	$ev->{exact_from} = $exact if $exact;
	return Tipme::TaskStates->new($ev, $threads, $FROM, $TO);
}

sub short {
	my ($s, $tid) = @_;
	return join ' ', map {
		($_->{kind} eq 'blocked' ? $_->{state} : $_->{kind}) . '@' . ($_->{from} - $FROM) / 1000
	} @{ $s->intervals($tid) };
}

sub covers {
	my ($s, $tid, $what) = @_;
	my ($t, $bad) = ($FROM, 0);
	for (@{ $s->intervals($tid) }) {
		$bad++ if $_->{from} != $t || $_->{to} <= $_->{from};
		$t = $_->{to};
	}
	ok(!$bad && $t == $TO, "$what: covers all, without gap or overlap");
	my $sum = $s->sums($tid, $FROM, $TO);
	is(
		$sum->{running} + $sum->{runnable} + $sum->{blocked} + $sum->{absent}, $TO - $FROM,
		"$what: adds up"
	);
	return $sum;
}

my $s = states(
	sub {
		my ($b) = @_;
		$b->thread(7, 'a', ts_ns => 500_000);
		$b->wake(0, 1_100_000, 7, 8)->switch(0, 1_150_000, 0, 7, 'runnable')
			->switch(0, 1_400_000, 7, 0, 'sleeping', irq_ns => 5000, softirq_ns => 7000);
		$b->wake(1, 1_600_000, 7, 8)->switch(1, 1_601_000, 0, 7, 'runnable')
			->switch(1, 1_800_000, 7, 8, 'sleeping', prev_preempted => 1);
		$b->switch(1, 1_900_000, 8, 7, 'sleeping');
	}
);
is(
	short($s, 7),
	'sleeping@0 runnable@100 running@150 sleeping@400 runnable@600 running@601 runnable@800 running@900',
	'sleep, waking, run; preempted means runnable, whatever the state says'
);
my $sum = covers($s, 7, 'usual');
is("$sum->{running} $sum->{runnable} $sum->{blocked}", '549000 151000 300000', 'the sums');
is(
	"$sum->{irq_ns} $sum->{softirq_ns} $sum->{net_running}", '5000 7000 537000',
	'interrupts are part of running, told apart'
);
is($s->state_at(7, $_->[0]), $_->[1], "state at $_->[0]")
	for [ 1_000_000, 'sleeping' ], [ 1_100_000, 'runnable' ], [ 1_149_999, 'runnable' ],
	[ 1_150_000, 'running' ], [ 1_999_999, 'running' ];
is(
	$s->state_at(7, 1_400_000), 'sleeping',
	'an interval is half-open: at its end the next has begun'
);

$s = states(
	sub {
		my ($b) = @_;
		$b->switch(0, 1_100_000, 0, 7, 'runnable')->wake(1, 1_200_000, 7, 8)
			->switch(0, 1_300_000, 7, 0, 'sleeping')->switch(0, 1_350_000, 0, 7, 'runnable');
		$b->switch(0, 1_400_000, 7, 0, 'sleeping')->wake(1, 1_500_000, 7, 8)
			->switch(0, 1_510_000, 0, 7, 'runnable');
	}
);
is(
	short($s, 7),
	'runnable@0 running@100 runnable@300 running@350 sleeping@400 runnable@500 running@510',
	'a waking that raced with going to sleep: it never slept'
);
my ($raced) = grep { $_->{from} == 1_300_000 } @{ $s->intervals(7) };
is($raced->{how}, 'raced', 'and that is marked');
covers($s, 7, 'raced');

$s = states(
	sub {
		my ($b) = @_;
		$b->switch(0, 1_100_000, 0, 7, 'runnable')->wake(1, 1_200_000, 7, 8)
			->switch(0, 1_300_000, 7, 0, 'runnable')->switch(0, 1_310_000, 0, 7, 'runnable');
		$b->switch(0, 1_400_000, 7, 0, 'sleeping')->switch(0, 1_600_000, 0, 7, 'runnable');
	}
);
is(
	short($s, 7), 'runnable@0 running@100 runnable@300 running@310 sleeping@400 running@600',
	'a waking of a running thread ends no later sleep than the next'
);

# --- threads that no record names in this time ---
$s = states(
	sub {
		my ($b) = @_;
		$b->thread(20, 'hog', ts_ns => 900_000, state => 'running', cpu => 1, since_ns => 400_000);
		$b->thread(21, 'starved', ts_ns => 900_000, state => 'runnable', cpu => 1);
		$b->thread(
			22, 'asleep', ts_ns => 900_000, state => 'disk_sleep', since_ns => 5000,
			stack_id => 4
		);
		$b->thread(23, 'later', ts_ns => 2_900_000, state => 'stopped', since_ns => 5000);
		$b->switch(1, 400_000, 0, 20, 'runnable');
	}
);
is(short($s, $_->[0]), $_->[1], "from the picture: $_->[1]")
	for [ 20, 'running@0' ], [ 21, 'runnable@0' ], [ 22, 'disk_sleep@0' ], [ 23, 'stopped@0' ];
is($s->intervals(22)->[0]{stack_id}, 4, 'with the stack of the sleep');
is_deeply(
	[ map { [ @$_[ 0 .. 2 ] ] } $s->occupants(1, $FROM, $TO) ], [ [ $FROM, $TO, 20 ] ],
	'a CPU without a switch keeps its thread'
);
covers($s, $_, "thread $_") for 20 .. 23;

# --- fork, exit, and the number used again ---
$s = states(
	sub {
		my ($b) = @_;
		$b->thread(30, 'make', ts_ns => 900_000);
		$b->switch(0, 1_050_000, 0, 30, 'runnable');
		for ([ 1_100_000, 'one' ], [ 1_500_000, 'two' ]) {
			my ($t, $name) = @$_;
			$b->kernel(
				0, $t, 'fork', tid => 30, child_tid => 31, child_pid => 31,
				child_start_ns => $t
			)->kernel(1, $t + 60_000, 'rename', tid => 31, comm => $name);
			$b->switch(1, $t + 50_000, 0, 31, 'runnable')
				->kernel(1, $t + 199_000, 'exit', tid => 31, pid => 31, start_ns => $t)
				->switch(1, $t + 200_000, 31, 0, 'dead');
		}
	}
);
is(
	short($s, 31),
	'absent@0 runnable@100 running@150 absent@300 runnable@500 running@550 absent@700',
	'a number that is used again is two threads'
);
my $th = $s->{threads};
is_deeply(
	[ map { $th->at(31, $_)->{comm} } 1_120_000, 1_200_000, 1_520_000, 1_600_000 ],
	[ 'make', 'one', 'make', 'two' ], 'each has its own name at its time'
);
is_deeply(
	[ map { $th->at(31, $_)->{start_ns} } 1_200_000, 1_600_000 ], [ 1_100_000, 1_500_000 ],
	'and its own start time'
);
is($th->at(31, 1_600_000)->{ppid},         30,      'and its parent');
is(covers($s, 31, 'used again')->{absent}, 600_000, 'the time without it counts as absent');

# --- a thread that is not the first of its process calls a program: from then on it has the first
# one's number, and its own is gone ---
for my $slept (0, 1) {
	$s = states(
		sub {
			my ($b) = @_;
			$b->thread($_, 'launcher', ts_ns => 900_000, pid => 30) for 30, 31;
			$b->wake(0, 1_100_000, 31, 8)->switch(0, 1_150_000, 0, 31, 'runnable')
				->switch(0, 1_200_000, 31, 0, 'sleeping');
			$b->switch(1, 1_250_000, 0, 30, 'runnable')
				->kernel(1, 1_260_000, 'exit', tid => 30, pid => 30)->wake(1, 1_270_000, 31, 30)
				->switch(1, 1_280_000, 30, 0, 'dead');
			$b->switch(0, 1_300_000, 0, 31, 'runnable')
				->kernel(0, 1_310_000, 'rename', tid => 30, comm => 'program');
			$b->switch(0, 1_320_000, 30, 0, 'disk_sleep')->wake(0, 1_340_000, 30, 8)
				->switch(0, 1_350_000, 0, 30, 'runnable')
				if $slept;
			$b->kernel(0, 1_400_000, 'exec', tid => 30, pid => 30, old_tid => 31)
				->switch(0, 1_500_000, 30, 0, 'sleeping');
		}
	);
	my $which = $slept ? 'it read the file' : 'at once';
	is(
		short($s, 31),
		'sleeping@0 runnable@100 running@150 sleeping@200 runnable@270'
			. ($slept ? ' absent@300' : ' running@300 absent@400'),
		"exec from another thread, $which: it is gone"
	);
	is(
		short($s, 30),
		'sleeping@0 running@250 absent@280 running@'
			. ($slept ? '300 disk_sleep@320 runnable@340 running@350' : '400')
			. ' sleeping@500', '... and runs as the first'
	);
	covers($s, $_, "exec from another thread, $which: $_") for 30, 31;
	is_deeply(
		[
			map {
				my $tid = $_;
				map {"$tid was $_->{was}"} grep { $_->{was} } @{ $s->intervals($tid) }
			} 30,
			31
		],
		['30 was 31'],
		'... and it is known which it was'
	);
}
$s = states(sub { $_[0]->kernel(0, 1_400_000, 'exec', tid => 30, pid => 30, old_tid => 31) });
is(short($s, $_->[0]), $_->[1], "exec from another thread, nothing else known: $_->[1]")
	for [ 31, 'running@0 absent@400' ], [ 30, 'absent@0 running@400' ];
$s = states(
	sub {
		$_[0]->kernel(0, 1_400_000, 'exec', tid => 30, pid => 30, old_tid => 30)
			->switch(0, 1_500_000, 30, 0, 'sleeping');
	}
);
is(short($s, 30), 'running@0 sleeping@500', 'exec from the first thread changes nothing');
$s = states(
	sub {
		my ($b) = @_;
		$b->switch(0, 1_100_000, 0, 9, 'runnable')->wake(1, 1_100_500, 31, 8)
			->wake(1, 1_100_500, 30, 8)->switch(0, 1_200_000, 31, 9, 'sleeping')
			->switch(0, 1_210_000, 9, 8, 'sleeping')->switch(0, 1_220_000, 30, 31, 'sleeping');
		$b->kernel(0, 1_400_000, 'exec', tid => 30, pid => 30, old_tid => 31)
			->switch(0, 1_500_000, 30, 0, 'sleeping');
	}
);
is_deeply(
	[
		map {
			my $tid = $_;
			map      { $tid . '@' . ($_->{from} - $FROM) / 1000 }
				grep { $_->{was} }
				@{ $s->intervals($tid) }
		} 30,
		31
	],
	['30@400'],
	'where comings were lost before, that was before'
);

# --- kernels from 6.4 on give a kernel thread its name as they make it, and tell of no rename;
# whoever forks keeps the name for a time ---
$s = states(
	sub {
		my ($b) = @_;
		$b->thread(2, 'kthreadd', ts_ns => 900_000, flags => 1)
			->thread(30, 'make', ts_ns => 900_000);
		for ([ 2, 40, 'culprit/1', 1 ], [ 30, 41, 'cc1', 0 ]) {
			my ($parent, $tid, $name, $flags) = @$_;
			$b->kernel(
				0, 1_100_000, 'fork', tid => $parent, child_tid => $tid, child_pid => $tid,
				child_start_ns => 1_100_000
			);
			$b->switch($tid - 40, 1_200_000, 0, $tid, 'runnable')
				->thread($tid, $name, ts_ns => 1_900_000, start_ns => 1_100_000, flags => $flags);
		}
	}
);
is_deeply(
	[ map { $s->{threads}->at($_, 1_300_000)->{comm} } 40, 41 ], [ 'culprit/1', 'make' ],
	'a kernel thread has its own name from its birth, a process its parent\'s'
);

# --- records of one CPU begin later than those of the other: what seems to be known from before is
# given up where it does not fit ---
$s = states(
	sub {
		my ($b) = @_;
		$b->switch(0, 200_000,             7,           0,           'sleeping');
		$b->switch(1, 1_200_000,           7,           0,           'sleeping');
		$b->switch(1, 900_000 + 1000 * $_, 60 + $_ % 2, 61 - $_ % 2, 'runnable') for 0 .. 9;
	},
	section_records => 4,
	manifest        => {}
);
covers($s, 7, 'late CPU');
is($s->state_at(7, 1_199_000), 'running', 'a thread that leaves a CPU ran there before');

# --- of one CPU older records are loaded than of the other, on which the thread has run and slept
# meanwhile: its next waking finds it asleep ---
$s = states(
	sub {
		my ($b) = @_;
		$b->wake(1, 300_000, 7, 60);
		$b->switch(0, 310_000, 0, 7, 'runnable')->switch(0, 320_000, 7, 0, 'sleeping')
			->switch(0, 330_000, 0, 80, 'runnable');
		$b->switch(0, 900_000 + 1000 * $_, 80 + $_ % 2, 81 - $_ % 2, 'runnable') for 0 .. 3;
		$b->wake(1, 1_600_000, 7, 61)->switch(1, 1_650_000, 61, 7, 'sleeping')
			->switch(1, 1_700_000, 7, 0, 'sleeping');
	},
	section_records => 4
);
is(short($s, 7), 'unknown@0 runnable@600 running@650 sleeping@700', 'a waking tells that it slept');

# --- woken before what is loaded, it waited for a CPU; an older picture still has it asleep ---
sub woken_before {
	my (%picture) = @_;
	return states(
		sub {
			my ($b) = @_;
			$b->thread(7, 'a', ts_ns => 20_000, state => 'sleeping', since_ns => 10_000, %picture)
				->wake(1, 100_000, 7, 8);
			$b->switch(1, 110_000 + $_ * 10_000, 0, 8, 'runnable')
				->switch(1, 115_000 + $_ * 10_000, 8, 0, 'sleeping')
				for 0 .. 180;
			$b->switch(0, 1_500_000, 0, 7, 'runnable')->switch(0, 1_600_000, 7, 0, 'sleeping');
		},
		section_records => 4
	);
}
$s = woken_before();
is(short($s, 7), 'runnable@0 running@500 sleeping@600', 'a waking that is not loaded was there');
$s = woken_before(ts_ns => 1_200_000);
is(
	short($s, 7), 'sleeping@0 running@500 sleeping@600',
	'a picture of later knows that it was asleep'
);

# --- it slept, as the last record says; the picture at the trigger finds it stopped: what lay
# between was lost ---
$s = states(
	sub {
		my ($b) = @_;
		$b->switch(0, 1_100_000, 7, 0, 'sleeping')
			->thread(7, 'a', ts_ns => 3_000_000, state => 'stopped');
	}
);
is($s->state_at(7, 1_900_000), 'stopped', 'a sleep that lasts is what the last picture says');

# --- what one CPU had to say is there from 600 on only: the thread ran there meanwhile, and was
# stopped. A picture says since when. ---
$s = later_cpu(since_ns => 300_000, state => 'stopped');
is(short($s, 7), 'stopped@0 runnable@400',    'another sleep than the last one that is recorded');
is($s->intervals(7)->[0]{real_from}, 300_000, '... since then');
$s = later_cpu(since_ns => 200_000, state => 'sleeping');
is($s->intervals(7)->[0]{real_from}, 200_000, 'the same sleep, in the picture, too');
$s = later_cpu(since_ns => 300_000, state => 'stopped', ts_ns => 1_500_000);
is($s->state_at(7, 1_200_000), 'sleeping', 'a picture that was taken after it tells nothing of it');
$s = later_cpu(stack => 'stop');
is(short($s, 7), 'stopped@0 runnable@400', 'nor is there one: the stack says that it was stopped');
$s = later_cpu(stack => 'poll');
is(short($s, 7),                     'sleeping@0 runnable@400', '... or not');
is($s->intervals(7)->[0]{real_from}, 200_000, '... since the last sleep that is recorded');

sub later_cpu {
	my (%picture) = @_;
	my $stack = delete $picture{stack};
	return states(
		sub {
			my ($b) = @_;
			$b->thread(7, 'a', ts_ns => 700_000, %picture) if %picture;
			$b->switch(0, 200_000, 7, 0, 'sleeping');
			$b->stack(5, stack_text($stack)) if $stack;
			$b->wake(0, 1_400_000, 7, 8, stack_id => $stack ? 5 : 0);
		},
		exact_from => 600_000
	);
}

# --- switches that were lost: who leaves a CPU has run there since the last switch that is known,
# and who came then has not ---
$s = states(
	sub {
		my ($b) = @_;
		$b->switch(0, 1_050_000, 0, 8, 'runnable');
		$b->wake(0, 1_100_000, 7, 8);
		$b->switch(0, 1_600_000, 8, 70, 'dead');
		$b->switch(0, 1_800_000, 7, 0,  'sleeping');
	}
);
is(
	short($s, 7) =~ s/^\S+ //r, 'runnable@100 running@600 sleeping@800',
	'its coming was lost: it waited until the CPU was last seen to change hands'
);
is(
	covers($s, 70, 'leaving lost')->{running}, 0,
	'its leaving was lost: it is not taken to run for ever'
);
is_deeply(
	[ map { $_->[2] } $s->occupants(0, 1_600_000, 1_800_000) ], [7],
	'and the CPU was had by the one who left it'
);

# --- many threads at random: all add up ---
my $seed = 7;
my $rand = sub { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; return ($seed >> 8) % $_[0] };
$s = states(
	sub {
		my ($b) = @_;
		my @on = (0, 0);
		for my $i (0 .. 1999) {
			my $t    = 500_000 + 1000 * $i;
			my $what = $rand->(10);
			my $cpu  = $rand->(2);
			if    ($what < 3) { $b->wake($cpu, $t, 40 + $rand->(6), 40 + $rand->(6)) }
			elsif ($what < 9) {
				my $next = $rand->(3) ? 40 + $rand->(6) : 0;
				$b->switch(
					$cpu, $t, $on[$cpu], $next,
					(qw(runnable sleeping disk_sleep stopped))[ $rand->(4) ]
				);
				$on[$cpu] = $next;
			} else {
				$b->switch($cpu, $t, 40 + $rand->(6), 40 + $rand->(6), 'sleeping');
			}    # nonsense: as after losses
		}
	}
);
covers($s, $_, "random thread $_") for 40 .. 45;
my $busy = 0;
$busy += $_->[1] - $_->[0] for map { $s->occupants($_, $FROM, $TO) } 0, 1;
is($busy, 2 * ($TO - $FROM), 'each CPU is occupied by somebody, or idle, all the time');

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
