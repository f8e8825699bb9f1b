#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Samples of /proc instead of records of each switch: what the kernel has counted is kept to the
# nanosecond, and everything adds up.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Episode;
use Tipme::Kernel;
use Tipme::Test::Episode;

use constant MS => 1_000_000;
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;
my ($FROM, $TO) = (1000 * MS, 3000 * MS);

# sample(BUILDER, TID, MS, STATE, RAN in ms, WAITED in ms)
sub sample {
	my ($b, $tid, $t, $state, $run, $wait, %f) = @_;
	return $b->add(
		'kernel.rec', 'proc_sampled', 0, 'proc_state', ts_ns => $t * MS, tid => $tid,
		state => $state, run_ns => $run * MS, wait_ns => $wait * MS, prio => 120, %f
	);
}

sub states {
	my ($code) = @_;
	my $b = Tipme::Test::Episode->new(
		trigger_ns => 3500 * MS, end_ns => 3500 * MS,
		first_ns   => 100 * MS
	);
	$b->thread(1, 'init', ts_ns => 200 * MS);
	sample($b, 1, 150, 'sleeping', 0, 0);
	$code->($b);
	return Tipme::Kernel->new(Tipme::Episode->open($b->write("$tmp/s" . ++$n)))->states($FROM, $TO);
}

sub short {
	my ($s, $tid) = @_;
	return join ' ', map {
			  ($_->{kind} eq 'blocked' ? $_->{state} : $_->{kind}) . '@'
			. ($_->{from} / MS)
			. ($_->{guessed} ? '?' : '')
	} grep { $_->{to} > $FROM && $_->{from} < $TO } @{ $s->intervals($tid) };
}

# All of [FROM, TO) adds up; returns the sums in ms.
sub adds {
	my ($s, $tid, $what, @want) = @_;
	my ($t, $bad) = ($s->from, 0);
	for (@{ $s->intervals($tid) }) {
		$bad++ if $_->{from} != $t || $_->{to} <= $_->{from};
		$t = $_->{to};
	}
	ok(!$bad && $t == $s->to, "$what: without gap or overlap");
	my $sum = $s->sums($tid, $FROM, $TO);
	is_deeply(
		[ map { $sum->{$_} / MS } qw(running runnable blocked absent) ], \@want,
		"$what: the sums"
	);
	return;
}

my $s = states(
	sub {
		my ($b) = @_;
		sample($b, 7, 500,  'sleeping', 0,  0);
		sample($b, 7, 1520, 'running',  12, 3, cpu => 1);
		sample($b, 7, 1540, 'sleeping', 8,  0, cpu => 1, stack_id => 4);
		sample($b, 7, 2500, 'sleeping', 2,  1, cpu => 0, stack_id => 5);
	}
);
isa_ok($s, 'Tipme::Sampled');
adds($s, 7, 'asleep, woken, run, asleep', 22, 4, 1974, 0);
is(
	short($s, 7),
	'sleeping@850 runnable@1505? running@1508? sleeping@1528 runnable@2497? running@2498? sleeping@2500',
	'it slept, was woken, waited, and ran; short pieces are guesses'
);
is($s->at(7, 2000 * MS)->{stack_id}, 4, 'what it slept in');

# Starved: it was seen able to run, but no count says so before it ran at last; and the kernel's
# count knows that it had waited longer than we saw.
$s = states(
	sub {
		my ($b) = @_;
		sample($b, 7, 500,  'sleeping', 0,  0);
		sample($b, 7, 1500, 'runnable', 0,  0);
		sample($b, 7, 2220, 'sleeping', 10, 1010);
		sample($b, 8, 500,  'sleeping', 0,  0);
		sample($b, 8, 1200 + 20 * $_, $_ < 50 ? 'runnable' : 'sleeping', 20, 0, cpu => 0)
			for 0 .. 50;
	}
);
adds($s, 7, 'starved', 10, 1010, 980, 0);
is(
	short($s, 7), 'sleeping@850 runnable@1200 running@2210? sleeping@2220',
	'a wait that began before any sample saw it'
);
adds($s, 8, 'a hog', 1020, 0, 980, 0);
my @o = $s->occupants(0, 1300 * MS, 2000 * MS);
is(
	join(' ', map { ($_->[2] // 'nobody') . '@' . ($_->[0] / MS) } @o),
	join(' ', map { '8@' . 100 * $_ } 13 .. 19), 'who had the CPU meanwhile'
);
is($o[-1][1], 2000 * MS, '... up to the end');

# Two that share a CPU: each has its part, and no more than there is.
$s = states(
	sub {
		my ($b) = @_;
		for my $tid (7, 8) {
			sample($b, $tid, 500, 'runnable', 0, 0);
			sample(
				$b, $tid, 500 + 100 * $_, 'runnable', $tid == 7 ? 75 : 25, $tid == 7 ? 25 : 75,
				cpu => 1
			) for 1 .. 30;
		}
	}
);
adds($s, 7, 'three quarters', 1500, 500,  0, 0);
adds($s, 8, 'one quarter',    500,  1500, 0, 0);
my %part;
for ($s->occupants(1, $FROM, $TO)) { $part{ $_->[2] // 0 } += $_->[1] - $_->[0] }
is_deeply(\%part, { 7 => 1500 * MS, 8 => 500 * MS }, 'the CPU was shared as counted');

# Counts that cannot be (a sample came late): cut to what fits, and still everything adds up.
$s = states(
	sub {
		my ($b) = @_;
		sample($b, 7, 1000,   'running',  0,   0);
		sample($b, 7, 1020,   'running',  500, 900);
		sample($b, 7, 1000.5, 'sleeping', 3,   0);
	}
);
is(       $s->sums(7, $FROM, $TO)->{running}
		+ $s->sums(7, $FROM, $TO)->{runnable}
		+ $s->sums(7, $FROM, $TO)->{blocked}, $TO - $FROM, 'more than fits: adds up');

# Born and gone between.
$s = states(
	sub {
		my ($b) = @_;
		$b->add(
			'kernel.rec', 'proc_sampled', 0, 'fork', ts_ns => 1500 * MS, tid => 1,
			child_tid => 9, child_pid => 9, child_start_ns => 1490 * MS
		);
		$b->add(
			'kernel.rec', 'proc_sampled', 0, 'rename', ts_ns => 1500 * MS, tid => 9,
			comm => 'short'
		);
		sample($b, 9, 1500, 'runnable', 0,   0);
		sample($b, 9, 1700, 'sleeping', 150, 50);
		$b->add(
			'kernel.rec', 'proc_sampled', 0, 'exit', ts_ns => 2000 * MS, tid => 9, pid => 9,
			start_ns => 1490 * MS
		);
	}
);
adds($s, 9, 'born and gone', 150, 50, 300, 1500);
is($s->state_at(9, 2500 * MS), 'dead', 'it is dead afterwards');

# Stopped for long: known without any other record.
$s = states(
	sub {
		my ($b) = @_;
		sample($b, 7, 500,  'sleeping', 0, 0);
		sample($b, 7, 1200, 'stopped',  1, 0);
		sample($b, 7, 2600, 'sleeping', 2, 0);
	}
);
adds($s, 7, 'stopped', 3, 0, 1997, 0);
is($s->state_at(7, 2000 * MS), 'stopped', 'state: stopped');
ok(!$s->at(7, 2000 * MS)->{guessed}, '... which is no guess');
# A client that waits for somebody: samples see that, and not for whom. So the verdict names nobody
# and is not sure.
{
	require Tipme::Test::Story;
	for my $for (
		[
			unix => 'ipc-wait',
			qr/it was waiting for another process at a local socket, and samples of \/proc do not tell for whom\.$/
		],
		[ flock => 'lock-wait', qr/a file lock, and samples of \/proc do not tell who had it\.$/ ],
		[
			disk => 'disk-io',
			qr/it was waiting for the disk \(in folio_wait_bit_common\), and samples of \/proc do not tell who else used it\.$/
		]
		)
	{
		my ($stack, $kind, $says) = @$for;
		my $story = Tipme::Test::Story->new(trigger => 2500)->key(1000, 600)->hotkey(2400);
		my $b     = $story->builder;
		delete $b->{rec}{'kernel.rec'};
		sample($b, 100, $_, 'sleeping', 0.2, 0, stack_id => $story->id('epoll')) for 10, 1010, 1605;
		sample(
			$b, 200,    $_->[0], $stack eq 'disk' && $_->[1] ne 'poll' ? 'disk_sleep' : 'sleeping',
			$_->[2], 0, stack_id => $story->id($_->[1])
			)
			for [ 10, 'poll', 0 ], [ 1020, $stack, 1 ], [ 1300, $stack, 0 ], [ 1580, $stack, 0 ],
			[ 1620, 'poll', 1 ];
		my $d = $story->diagnose("$tmp/v" . ++$n);
		is($d->{verdict}{kind}, $kind, "$stack: verdict $kind") or diag($d->{verdict}{sentence});
		like($d->{verdict}{sentence}, $says, "$stack: who it was is said to be unknown");

		if ($stack eq 'disk') {
			cmp_ok($d->{verdict}{confidence}, '>', 0.8, "$stack: what it waited for was seen");
			is(
				$d->{verdict}{door}, 'the disk, or whoever else used it, which is not known',
				"$stack: nobody is accused"
			);
			like($d->{verdict}{next}, qr/sudo tipme start/, "$stack: how to know next time");
			next;
		}
		cmp_ok($d->{verdict}{confidence}, '<', 0.2, "$stack: not sure");
		like(
			$d->{verdict}{door}, qr/^whoever xterm \(pid 200\) waited for/,
			"$stack: not at its own door"
		);
		like($d->{verdict}{next}, qr/sudo tipme start/, "$stack: how to know next time");
	}
}

is_deeply(\@warnings, [], 'no warnings');
done_testing();
