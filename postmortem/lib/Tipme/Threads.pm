# SPDX-License-Identifier: GPL-2.0-only
# Who a thread was at a moment: the pictures of all threads, and what forks, renames and execs tell
# between them; and what else the daemon wrote down by name: stacks, functions, modules, processes,
# cgroups, disks, interrupt lines.
package Tipme::Threads;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;
use Tipme::Record::Layout;

my $KERNEL_THREAD = 1;     # bit 0 of flags

# What each of these records is kept under, and by which of its fields.
my %NAMED = (
	stack    => 'stack_id', function => 'function', user_stack => 'stack_id', module => 'module_id',
	irq_name => 'number',   cgroup_name => 'cgroup', disk_name => 'dev',
	cgroup_weight => 'cgroup'
);
my %LOOKED = map { $_ => 1 } qw(
	cpu_throttle steal latency_user sample affinity memory_state cpu_speed kernel_message
);
my @SEEN = qw(ts_ns tid pid ppid start_ns since_ns stack_id state prio cpu flags comm cgroup
	cpus_allowed rss_kib uid);

# Of these there is one or more for every process of the last minutes, and a verdict names a few:
# only where they stand is kept, by process.
my %BY_NEED = map { $_ => 1 } qw(process exec_args exec_environment);

# new(EPISODE): reads the whole of the thread file: pictures come about once a second, and only what
# changed. Who processes were is read when asked for.
sub new {
	my ($class, $ep) = @_;
	my $self = bless {
		ep     => $ep, seen => {}, changes => {}, pids => {}, files => [], places => {},
		needed => {},  map { $_ => {} } keys %NAMED
	}, $class;
	my $code = $ep->record;
	$self->_read_section($ep, $code, $_) for $ep->sections_between(undef, undef, ['tipmed']);
	$_ = [ sort { $a->{ts_ns} <=> $b->{ts_ns} } @$_ ] for values %{ $self->{seen} };
	return $self;
}

sub _read_section {
	my ($self, $ep, $code, $s) = @_;
	my %name   = map { $code->number_of($_) => $_ } keys %BY_NEED;
	my $thread = $code->number_of('thread');
	my $l      = $Tipme::Record::Layout::RECORD{$thread};
	my ($heads, $buf) = $ep->section_heads($s);
	push @{ $self->{files} }, $s->{file};
	my $file   = $#{ $self->{files} };
	my $places = $self->{places};

	for (my $i = 0; $i < @$heads; $i += 4) {
		my ($type, $len, $off, $pid) = @$heads[ $i .. $i + 3 ];
		if (my $name = $name{$type}) {
			$places->{"$name $pid"} .= pack 'Q<V V', $s->{offset} + $off, $len, $file;
			next;
		}
		if ($type == $thread) { $self->_add_thread($l, substr $$buf, $off, $len); next }
		my ($name, $f) = $code->decode($buf, $off);
		if (!defined $name) { $ep->unknown_seen($type, $s->{file}, $s->{offset} + $off) }
		else                { $self->_add_named($name, $f) }
	}
}

# Those records of a process, in order of time.
sub _by_need {
	my ($self, $name, $pid) = @_;
	return $self->{needed}{"$name $pid"} //= do {
		my @places = unpack '(Q<VV)*', $self->{places}{"$name $pid"} // '';
		my @found;
		while (my ($off, $len, $file) = splice @places, 0, 3) {
			my $bytes = $self->{ep}->record_at($self->{files}[$file], $off, $len);
			push @found, ($self->{ep}->record->decode(\$bytes, 0))[1] if length $bytes == $len;
		}
		[ sort { $a->{ts_ns} <=> $b->{ts_ns} } @found ];
	};
}

# An older format's record is shorter: what it lacks is 0, not known.
sub _add_thread {
	my ($self, $l, $bytes) = @_;
	$bytes .= "\0" x ($l->{size} - length $bytes) if length $bytes < $l->{size};
	my %t;
	@t{ @{ $l->{names} } } = unpack $l->{template}, $bytes;
	push @{ $self->{seen}{ $t{tid} } }, { %t{@SEEN} };
	$self->{pids}{ $t{pid} }{ $t{tid} } = 1;
}

sub _add_named {
	my ($self, $name, $f) = @_;
	my $key = $NAMED{$name};
	if    ($name eq 'function') { $self->{function}{ $f->{function} } = $f->{name} }
	elsif ($name eq 'stack')    { $self->{stack}{ $f->{stack_id} } = $f->{text} }
	elsif ($key)                { $self->{$name}{ $f->{$key} } = $f }
	elsif ($LOOKED{$name})      { push @{ $self->{looked}{$name} }, $f }
}

# add_events(KERNEL EVENTS): forks, renames and execs of a stretch of time; may be called for
# several
sub add_events {
	my ($self, $ev) = @_;
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::FORK) }) {
		my ($child, $pid) = ($ev->fork_child_tid($i), $ev->fork_child_pid($i));
		$self->{changes}{$child}{ vec($ev->{ts}, $i, 64) . ' fork' } //= {
			ts       => $ev->ts($i), parent => $ev->tid($i), pid => $pid,
			start_ns => $ev->fork_child_start_ns($i)
		};
		$self->{pids}{$pid}{$child} = 1;
	}
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::RENAME) }) {
		$self->{changes}{ vec($ev->{tid}, $i, 32) }{ vec($ev->{ts}, $i, 64) . ' name' } //=
			{ ts => vec($ev->{ts}, $i, 64), comm => $ev->rename_comm($i) };
	}
	$self->{memo} = {};
	delete @$self{qw(order known)};
}

sub _changes {
	my ($self, $tid) = @_;
	return $self->{order}{$tid} //=
		[ sort { $a->{ts} <=> $b->{ts} } values %{ $self->{changes}{$tid} // {} } ];
}

# at(TID, TIME): { tid, pid, ppid, start_ns, comm, kernel, prio, known }; comm is "?" where nobody
# saw the thread
sub at {
	my ($self, $tid, $t, $depth) = @_;
	return {
		tid  => 0,   pid   => 0, ppid => 0, start_ns => 0, comm => 'idle', kernel => 1,
		prio => 120, known => 1
		}
		if !$tid;
	# Between what is known of it, and of whom it came from, it stays the same.
	my $key  = "$tid " . $self->_epoch($tid, $t);
	my $memo = $self->{memo}{$key};
	return $memo if $memo;
	my $who = $self->_at($tid, $t, $depth // 0);
	$self->{memo} = {} if keys %{ $self->{memo} } > 50_000;
	return $self->{memo}{$key} = $who;
}

# named(TID, TIME): the same, with the name of its process: that of its first thread
sub named {
	my ($self, $tid, $t) = @_;
	my $who = $self->at($tid, $t);
	return { %$who, process => $self->_leader($who, $t) } if $who->{pid} && $who->{pid} != $tid;
	$who->{process} //= $who->{comm};
	return $who;
}

sub _leader {
	my ($self, $who, $t) = @_;
	my $l = $self->at($who->{pid}, $t);
	return $l->{comm} eq '?' ? $who->{comm} : $l->{comm};
}

# epochs(TID): the times, in order, at which something is known of a thread: between them the
# answers of at() stay the same
sub epochs { my ($self, $tid) = @_; return @{ $self->_known($tid) } }

sub _known {
	my ($self, $tid) = @_;
	return $self->{known}{$tid} //= [
		sort { $a <=> $b } (map { @$_{qw(ts_ns start_ns)} } @{ $self->{seen}{$tid} // [] }),
		(map { $_->{ts} } @{ $self->_changes($tid) }),
		map { ($_->{start_ns} - 10_000_000, $_->{exit_ns} ? $_->{exit_ns} + 10_000_001 : ()) }
			@{ $self->_by_need('process', $tid) }
	];
}

# How many of the times at which something is known of a thread lie at or before a time.
sub _epoch {
	my ($self, $tid, $t) = @_;
	my $known = $self->{known}{$tid} // $self->_known($tid);
	my ($lo, $hi) = (0, scalar @$known);
	return $hi if !$hi || $known->[-1] <= $t;
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   ($known->[$m] <= $t) { $lo = $m + 1 }
		else                      { $hi = $m }
	}
	return $lo;
}

sub _at {
	my ($self, $tid, $t, $depth) = @_;
	my ($fork) = grep { $_->{parent} && $_->{ts} <= $t } reverse @{ $self->_changes($tid) };
	my $seen   = $self->{seen}{$tid} // [];
	my ($pic)  = grep { $_->{ts_ns} <= $t } reverse @$seen;
	undef $pic
		if $pic && $fork && $fork->{start_ns} != $pic->{start_ns} && $pic->{ts_ns} < $fork->{ts};
	my $start = $pic ? $pic->{start_ns} : $fork ? $fork->{start_ns} : undef;
	my ($later) = grep {
		$_->{ts_ns} > $t && (defined $start ? _same($_->{start_ns}, $start) : $_->{start_ns} <= $t)
	} @$seen;
	my $any  = $pic // $later;
	my $comm = $self->_comm($tid, $t, $pic, $fork, $later, $depth);
	return {
		tid => $tid, pid => $any ? $any->{pid} : $fork ? $fork->{pid} : $tid,
		ppid => $any ? $any->{ppid}
		: $fork && $depth < 8 ? $self->_parent_of($fork, $tid, $depth)
		: $self->_process_at($tid, $t)->{ppid} // 0,
		start_ns => $start // ($later ? $later->{start_ns} : 0), comm => $comm,
		kernel   => $any ? $any->{flags} & $KERNEL_THREAD : 0, prio => $any ? $any->{prio} : 120,
		known    => $any || $fork ? 1 : 0,
	};
}

# A new thread of a process that was there has its process's parent; a new process has the one that
# made it.
sub _parent_of {
	my ($self, $fork, $tid, $depth) = @_;
	my $by = $self->at($fork->{parent}, $fork->{ts}, $depth + 1);
	return $fork->{pid} == $by->{pid} ? $by->{ppid} : $by->{pid};
}

# process records come where a process has ended: the one of that number that lived at a time, or {}
sub _process_at {
	my ($self, $pid, $t) = @_;
	my ($p) = grep {
		$_->{start_ns} <= $t + 10_000_000 && (!$_->{exit_ns} || $_->{exit_ns} >= $t - 10_000_000)
	} reverse @{ $self->_by_need('process', $pid) };
	return $p // {};
}

# Start times of the picture and of the fork record may differ by the kernel's rounding to clock
# ticks.
sub _same { my ($a, $b) = @_; return abs($a - $b) <= 10_000_000 }

# The newest of: a rename, what a picture saw, the parent's name at the fork; else what a later
# picture of the same thread saw.
sub _comm {
	my ($self, $tid, $t, $pic, $fork, $later, $depth) = @_;
	my $since = $pic ? $pic->{ts_ns} : $fork ? $fork->{ts} : 0;
	my ($name) = grep { defined $_->{comm} && $_->{ts} <= $t && $_->{ts} >= $since }
		reverse @{ $self->_changes($tid) };
	return $name->{comm} if $name;
	return $pic->{comm}  if $pic;
	# A kernel thread is born with its name; no rename tells it (Linux 6.4 and later).
	return $later->{comm} if $later && $later->{flags} & $KERNEL_THREAD;
	if ($fork && $depth < 8) {
		my $parent = $self->at($fork->{parent}, $fork->{ts}, $depth + 1);
		return $parent->{comm} if $parent->{comm} ne '?';
	}
	return $later->{comm} if $later;
	my $exe = $self->_process_at($tid, $t)->{exe} // '';
	return $exe =~ m{([^/]+)\z} ? substr($1, 0, 15) : '?';
}

# picture_at(TID, TIME): the last picture of the thread at or before TIME, else the first one after
# it; or undef
sub picture_at {
	my ($self, $tid, $t) = @_;
	my $seen = $self->{seen}{$tid} or return;
	my ($before) = grep { $_->{ts_ns} <= $t } reverse @$seen;
	return $before // $seen->[0];
}

# pictures(TID): all of them, in order of time
sub pictures { my ($self, $tid) = @_; return @{ $self->{seen}{$tid} // [] } }

# tids(), tids_of(PID): threads that were seen, in order
sub tids {
	my ($self) = @_;
	return sort { $a <=> $b } keys %{ $self->{seen} };
}

sub tids_of {
	my ($self, $pid) = @_;
	return sort { $a <=> $b } keys %{ $self->{pids}{$pid} // {} };
}

# facts(TID, TIME): the picture nearest to a time, which also says its cgroup, on which CPUs it may
# run, and what memory it has; or {}
sub facts {
	my ($self, $tid, $t) = @_;
	return $self->picture_at($tid, $t) // {};
}

# cgroups_of(TID, TIME): ids of those that it may have been in: as the picture nearest to the time
# says, and the first one after it. Desktops put a program into its group some time after its start.
# A thread that lived between two pictures was born into the group of its process.
sub cgroups_of {
	my ($self, $tid, $t) = @_;
	my ($after) = grep { $_->{ts_ns} > $t } $self->pictures($tid);
	my %seen;
	my @of  = grep { $_ && !$seen{$_}++ } map { $_->{cgroup} } $self->facts($tid, $t), $after // ();
	my $pid = @of ? undef : $self->at($tid, $t)->{pid};
	return $pid && $pid != $tid ? $self->cgroups_of($pid, $t) : @of;
}

# ancestors(PID, TIME): the processes above it, nearest first: [ pid, comm ], without the first
# process
sub ancestors {
	my ($self, $pid, $t) = @_;
	my (@up, %seen);
	for (1 .. 32) {
		my $who = $self->at($pid, $t);
		my $up  = $who->{ppid};
		last if !$up || $up <= 2 || $seen{$up}++;
		push @up, [ $up, $self->at($up, $t)->{comm} ];
		$pid = $up;
	}
	return @up;
}

# args(PID, TIME): what the process was called with, in one line; or undef
sub args {
	my $text = called(@_);
	return defined $text ? $text =~ s/\n/ /gr : undef;
}

# called(PID, TIME): the same, a word a line; exe(PID, TIME): the file that it ran; modules(): of
# each file in which code ran, its record
sub called {
	my ($self, $pid, $t) = @_;
	my ($a) =
		grep { $_->{start_ns} <= $t + 10_000_000 } reverse @{ $self->_by_need('exec_args', $pid) };
	return $a ? $a->{text} : undef;
}

# environment(PID): the variables of a process that are recorded, as far as any are: { NAME => value
# }
sub environment {
	my ($self, $pid) = @_;
	return {
		map { /\A(\w+)=(.*)\z/ ? ($1 => $2) : () }
		map { split /\n/, $_->{text} } @{ $self->_by_need('exec_environment', $pid) }
	};
}

sub exe { my ($self, $pid, $t) = @_; return $self->_process_at($pid, $t)->{exe} }

sub modules {
	my ($self) = @_;
	return map { $self->{module}{$_} } sort { $a <=> $b } keys %{ $self->{module} };
}

# looked(NAME): records that the daemon wrote of what it, or who triggered, saw beside the kernel
# source (%LOOKED), in order of time
sub looked {
	my ($self, $name) = @_;
	return sort { $a->{ts_ns} <=> $b->{ts_ns} } @{ $self->{looked}{$name} // [] };
}

# stack(ID), user_stack(ID): its text, or undef; function(LOW HALF): name of a kernel function, or
# undef
sub stack { my ($self, $id) = @_; return $id ? $self->{stack}{$id} : undef }

sub user_stack {
	my ($self, $id) = @_;
	return $id && $self->{user_stack}{$id} ? $self->{user_stack}{$id}{text} : undef;
}
sub function { my ($self, $low) = @_; return $self->{function}{$low} }

# module(ID): path of the file that a frame of a user stack lies in, or undef
sub module {
	my ($self, $id) = @_;
	return $self->{module}{$id} ? $self->{module}{$id}{path} : undef;
}

# cgroups(), cgroup(ID), disk(DEV), irq(LINE): { path, quota_us, period_us }; a name
sub cgroups { my ($self) = @_; return values %{ $self->{cgroup_name} } }
sub cgroup { my ($self, $id) = @_; return $id ? $self->{cgroup_name}{$id} : undef }
# weight_of(PATH): what part of the CPUs a cgroup gets: { weight (0: none of its own), cgroup }
# where there is a record; knows_weights(): does the episode have them?
sub weight_of {
	my ($self, $path) = @_;
	my $of = $self->{weight_of} //=
		{ map { ($_->{path} => $self->{cgroup_weight}{ $_->{cgroup} }) } $self->cgroups };
	return $of->{$path};
}
sub knows_weights { my ($self) = @_; return scalar keys %{ $self->{cgroup_weight} } }

sub disk {
	my ($self, $dev) = @_;
	return $self->{disk_name}{$dev} ? $self->{disk_name}{$dev}{name} : sprintf '%d:%d', $dev >> 20,
		$dev & 0xfffff;
}
sub irq { my ($self, $n) = @_; return $self->{irq_name}{$n} ? $self->{irq_name}{$n}{name} : undef }

1;
