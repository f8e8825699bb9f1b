# SPDX-License-Identifier: GPL-2.0-only
# A segment: a stretch of a path in which one thread did one thing. The walk makes them, what
# interferes cuts them, and Blame turns them into what a diagnosis shows. All that one may have
# stands here: tests refuse a field that does not, whether it is written or read.
package Tipme::Segment;

use strict;
use warnings;
use Hash::Util qw(lock_keys);

our %FIELD = (
	# whose time it is
	tid  => 'the thread',
	from => 'ns: where it begins ...',
	to   => '... and ends; the next one begins there',
	# what the thread did
	state  => 'running, runnable, unknown, mixed, or how it slept: a task_state',
	kind   => 'kind of verdict, where that is known already',
	reason => 'a reason: what the thread waited for',
	detail => 'a reason: what the one who is blamed did',
	class  => 'of a sleep: what sort of place it was, as reasons.tsv has it',
	cpu    => 'where it ran, or waited to run',
	# how it is known
	exact    => '1: by records; 0: in part by inference',
	evidence => 'indices of records',
	plain    => '1: nothing but another thread had a part in it (Turns)',
	# a wait for a CPU
	own_prio    => 'its kernel priority',
	blamed_tid  => 'who had the CPU',
	blamed_prio => '... with which kernel priority',
	blamed_work => '... for which work item',
	idle        => '1: nobody had it',
	# a run
	work      => 'the work item that a worker ran for',
	irq_ns    => 'ns of it that interrupts had',
	irq_exact => '1: that sum is of this very stretch',
	# a sleep
	waker      => 'who ended it: { tid, at, context, exact, index }',
	stack      => 'the kernel stack of it, as text',
	ended      => '1: its end is in the records',
	unanswered => '1: nothing was drawn as long as it lasted',
	asked      => 'whom the thread had asked',
	service    => '1: asked over the network',
	stopper    => 'who had stopped the thread: { pid, comm }, once that was looked for',
	disk       => 'what its own request waited for: { phase, ahead, bio }, as Resources has them',
	held       => 'of those in whom the walk was for somebody else: what that one waited for',
	# what cut it out of a longer one
	by      => 'what interfered: { kind, what, detail, tid or name }',
	grab    => 'a grab of the server: [ from, to, pid ]',
	request => 'a request of another client that the server was busy with',
	# very many, told as one
	among => 'who had how much of it: { key => { ns, segment } }; see also Queue::segment_of',
	mixed => '1: of several sorts; `among` has each of them',
	first => 'while such a one grows: its first record ...',
	last  => '... and its last one',
);
our $STRICT = 0;    # 1 in tests

# new(FIELDS)
sub new {
	my $class = shift;
	my $self  = bless {@_}, $class;    # no list of our own: there may be 100,000
	lock_keys(%$self, keys %FIELD) if $STRICT;
	return $self;
}

# with(FIELDS): the same with these instead
sub with { my ($self, %new) = @_; return __PACKAGE__->new(%$self, %new) }

1;
