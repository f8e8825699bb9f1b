#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Locks of the kernel in a file system or a driver that no line of the table of reasons knows: that
# the sleep is one for a lock, and who has it, is recorded.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge  qw(judged);
use Tipme::Test::Stacks qw(stack_text);
use Tipme::Test::Story;

use constant { CLIENT => 200, WORKER => 201, HOLDER => 850, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub story {
	my $s = Tipme::Test::Story->new;
	$s->builder->thread(HOLDER, 'backup', ts_ns => 900 * MS)
		->thread(WORKER, 'render', pid => CLIENT, ts_ns => 900 * MS);
	return $s;
}

# begins(STORY, KIND, MS ...), ends(STORY, MS): what the kernel records of a wait of the client's
sub begins {
	my ($s, $kind, @at) = @_;
	my @lock = (tid => CLIENT, lock => 4711, owner_tid => HOLDER, kind => $kind);
	$s->kernel(1, $_, 'lock_contention', phase => 'begin', @lock) for @at;
	return $s;
}

sub ends {
	my ($s, $at) = @_;
	return $s->kernel(
		1, $at, 'lock_contention', phase => 'end', tid => CLIENT, lock => 4711,
		kind => 'unknown'
	);
}

# A key at 1,000 ms; the client sleeps from 1,001 to 1,700 there, and then draws.
sub sleeps {
	my ($s, $stack, $waker) = @_;
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->builder->stack(91, stack_text($stack));
	return $s->run(0, 1000.5, 1700.2, $waker, 'sleeping')
		->wake(0, 1700, CLIENT, $waker, undef, stack_id => 91)
		->run(1, 1700.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
}

for my $stack (qw(xfs-inode btrfs-space unknown-driver)) {
	# It spins first, and then sleeps: two begins, one end.
	my $s = ends(begins(story(), 'rwsem_write', 1000.9, 1000.98), 1700.15);
	my $d = judged($stack, sleeps($s, $stack, HOLDER), 'lock-wait', 'backup', 0.98, 1);
	like(
		$d->{verdict}{sentence},
		qr/for 699 ms \(100 %\) it waited for a lock that "backup" \(pid 850\) held while computing\.$/,
		"$stack: the sentence"
	);
}
judged(
	'not recorded: as the stack says', sleeps(story(), 'xfs-inode', HOLDER), 'disk-io',
	'backup'
);
judged(
	'a lock that it had had before',
	sleeps(ends(begins(story(), 'mutex', 900, 900.5), 901), 'futex', WORKER),
	'futex-wait', 'xterm', 0.98, 1
);
judged(
	'one whose end was lost, and another since',
	sleeps(
		begins(story(), 'mutex', 900)->kernel(
			1, 950, 'lock_contention', phase => 'begin', tid => CLIENT, lock => 12,
			kind => 'mutex'
		)->kernel(1, 951, 'lock_contention', phase => 'end', tid => CLIENT, lock => 12),
		'futex',
		WORKER
	),
	'futex-wait',
	'xterm',
	0.98,
	1
);
is("@warnings", '', 'no warnings');
done_testing();
