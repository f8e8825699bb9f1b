# SPDX-License-Identifier: GPL-2.0-only
# Which records of an episode a bundle keeps. The path of the verdict says when which thread
# mattered: what a thread did at other times tells when other keys were pressed, and stays here.
package Tipme::Cut;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use List::Util qw(max min);
use Tipme::Circumstances;
use Tipme::Cut::Stretches qw($NEAR_NS joined on_path stretches waits);
use Tipme::Ground;
use Tipme::Messages qw(asks comes);
use Tipme::WakeupChain;
use Tipme::WakeupChain::Wait qw(is_idle_in);

my $MARGIN_NS = 100_000_000;     # ns before and behind the interval that a bundle covers
my $COARSE_NS = 1_000_000_000;   # of the time since which a thread is blocked that had no part then
my %INPUT     = map { $_ => 1 } qw(x_device x_deliver x_input input x_chord wl_deliver);
my %SCHED     = map { $_ => 1 } qw(sched_switch sched_waking migrate);
# Kept where they belong to a thread of the path, or to no thread, anywhere in the interval: they
# carry no times of keys.
my %WIDE = map { $_ => 1 }
	qw(lock_contention memory_wait cpu_throttle signal priority affinity steal rename exec fork
	exit);
# The kinds of records of which somebody has thought what they tell. Any other stays where it was
# recorded, whatever else is asked for.
my %KNOWN = map { $_ => 1 }
	qw(sched_switch sched_waking fork exit exec rename work_queued work_start work_end io
	lock_contention memory_wait irq signal cpu_throttle priority migrate cpu_frequency
	cpu_idle steal sample input latency latency_user proc_state affinity network picture
	thread stack function user_stack module irq_name cgroup_name cgroup_weight disk_name
	process x_device x_deliver x_request x_damage x_flush x_sleep x_wakeup x_chord x_client
	x_grab x_input x_reply x_output_full x_present x_idle x_arrival x_drawn x_told x_taken
	x_redirect x_painted memory_state cpu_speed kernel_message wl_deliver wl_commit wl_done
	screen_asked screen_shown);
my %STACK       = map { $_ => 1 } qw(stack user_stack function module);
my $SERVER_GRAB = 1;                                                      # of enum x_grab_what
my @TIDS =
	qw(tid next_tid waker_tid raiser_tid child_tid sender_tid owner_tid changer_tid mover_tid);

my %MACHINE   = map { $_ => 1 } qw(memory_state cpu_speed kernel_message);
my $AROUND_NS = 2_000_000_000;    # around the cut: as Tipme::Machine looks

# How much is kept, the least first: path: of each thread, the stretches of the path; interval: all
# threads, the interval and 0.1 s on both sides; seconds: the same, from 1 s before to 0.5 s after.
# Input events other than the episode's own are in none of these. Beside them: whole: all, with all
# input events, where somebody has asked for it. none: nothing was slow, no record.
our @DETAIL = qw(path interval seconds);

# new(DIAGNOSIS, DATA of its run, detail => one of @DETAIL, whole or none, wider => [ [from, to] ...
# ]: with detail path, where all threads are kept)
sub new {
	my ($class, $diagnosis, $d, %o) = @_;
	my %none = map { $_ => {} } qw(of pid mentioned stacks aside);
	my $self = bless { %none, passed => [], d => $d, detail => $o{detail} // 'path' }, $class;
	my $i    = $d->{interval};
	if (!$i || $self->{detail} eq 'whole') {
		my @none = ('none', ($diagnosis->episode->trigger_ns) x 2);
		@$self{qw(detail from to)} = $self->{detail} eq 'none' ? @none : ('whole', 0, 1 << 62);
		return $self;
	}
	my ($before, $after) =
		  $self->{detail} eq 'path'     ? ($NEAR_NS,   $NEAR_NS)
		: $self->{detail} eq 'interval' ? ($MARGIN_NS, $MARGIN_NS)
		:                                 (1_000_000_000, 500_000_000);
	$after = max($after, 2_000_000_000) if $i->{certainty} eq 'open';
	@$self{qw(start end from to)} =
		($i->{start_ns}, $i->{end_ns}, max(0, $i->{start_ns} - $before), $i->{end_ns} + $after);
	$self->_stretches;
	$self->{wider} = joined(map { [ max($_->[0], $self->{from}), min($_->[1], $self->{to}) ] }
			@{ $o{wider} // [] });
	$self->{states} = $diagnosis->judged_on // $diagnosis->states($self->{start}, $self->{end});
	$self->_stand_on($diagnosis) if $self->{detail} eq 'path';
	my ($e) = $d->{event} ? grep { $_->{n} == $d->{event}{n} } $diagnosis->events : ();
	my $r = $e ? $diagnosis->answer_of($e) // {} : {};
	$r = unproven_answer($d, $e) if $e && defined $d->{verdict}{why};
	my %last = map { $_->{cpu} => $_->{ts_ns} }
		grep { $_->{ts_ns} < $self->{from} } $diagnosis->threads->looked('cpu_speed');
	$self->{speeds} = { map { ("$_ $last{$_}" => 1) } keys %last };
	$self->{stage}  = {
		map      { $_ => 1 }
			grep {defined} (map { $_->{ts_ns} } @{ ($d->{event} // {})->{stages} // [] }),
		@$r{qw(end_ns first_ns)}, ($r->{damage} // {})->{ts_ns}
	};
	$self->{own} = $e
		&& { seq => $e->{seq}, tid => $e->{server}{tid}, ns => $e->{device_ns},
		read_ns => $e->{read_ns} // 0
		};
	return $self;
}

# unproven_answer(DATA, EVENT): the answer, as Answered has it, of a press of which it is not proven
sub unproven_answer {
	my ($d, $e) = @_;
	my $open = $d->{interval}{certainty} eq 'open';
	my ($draw) =
		$open ? () : map { $_->{ts_ns} } grep { $_->{name} eq 'feedback' } @{ $d->{event}{stages} };
	return {
		open => $open ? 1 : 0, exact => 0, end_ns => $d->{interval}{end_ns},
		defined $draw ? (damage => { ts_ns => $draw }) : ()
	};
}

# from(), to(): what is kept lies between these
sub from   { return $_[0]{from} }
sub to     { return $_[0]{to} }
sub detail { return $_[0]{detail} }

# wide_ns(): with detail path, for how long all threads are kept
sub wide_ns {
	my ($self) = @_;
	my $ns = 0;
	$ns += $_->[1] - $_->[0] for @{ $self->{wider} // [] };
	return $ns;
}

# own(): the input event of the verdict, as the manifest names it: { n, ns }; undef where there is
# none, or all events are there
sub own {
	my ($self) = @_;
	return $self->{own} && $self->{detail} ne 'whole'
		? { n => $self->{d}{event}{n}, ns => $self->{own}{ns} }
		: undef;
}

sub _stretches {
	my ($self) = @_;
	my $path = $self->{d}{path};
	$self->{of} = stretches($path, 1);
	$self->{turn} =
		{ map { int($_->{from_ns} / $NEAR_NS) => 1, int($_->{to_ns} / $NEAR_NS) => 1 } @$path };
	$self->{pid} = {
		map { $_ => 1 } grep {$_} map {
			($_->{pid}, $_->{blamed}{pid}, map { $_->{pid} } @{ $_->{among} // [] })
		} @$path
	};
	return;
}

# What the path rests on beside it, as Ground has it. Where all threads are kept, each has a part.
sub _stand_on {
	my ($self, $diagnosis) = @_;
	$self->{waits}  = waits($self->{states}, $self->{d}{path}, $self->{wider});
	$self->{passed} = [ map { $_->passed } $diagnosis->judged_by // () ];
	my %part = map { $_ => [ @{ $self->{of}{$_} } ] } keys %{ $self->{of} };
	my $ev   = $self->{states}->events;
	for my $w (@{ $self->{wider} }) {
		my %seen;
		for (my $i = $ev->first_at($w->[0]); $i < $ev->count && $ev->ts($i) <= $w->[1]; $i++) {
			$seen{ $ev->tid($i) } = 1;
		}
		push @{ $part{$_} }, [@$w] for grep {$_} keys %seen;
	}
	my ($deliver) = map { $_->{ts_ns} }
		grep { $_->{name} eq 'deliver' } @{ ($self->{d}{event} // {})->{stages} // [] };
	$self->{ground} = Tipme::Ground->of(
		$self->{states}, $self->{d}, threads => $diagnosis->threads, near => $NEAR_NS,
		stretches  => { map { $_ => joined(@{ $part{$_} }) } keys %part }, waits  => $self->{waits},
		deliver_ns => $deliver,                                            passed => $self->{passed}
	);
	return;
}

sub _within { return Tipme::Ground::within(@_) }

# idle(REASONS): of the threads of the path, what their sleeps off it say: [ { tid, idle: 1: it
# mostly waits in a futex for something to do } ]
sub idle {
	my ($self, $reasons) = @_;
	my $states = $self->{states} or return [];
	return [
		map {
			{
				tid  => $_ + 0,
				idle => is_idle_in($states, $states->{threads}, $reasons, $_)
			}
		} sort { $a <=> $b } keys %{ $self->{of} }
	];
}

# asked(): where a thread slept since before what is kept, and had asked the one that woke it, or
# (still) that has to: [ { tid, who, still } ]
sub asked {
	my ($self) = @_;
	my $states = $self->{states} or return [];
	my %pair   = map {
		("$_->{tid} $_->{asked}" => { tid => $_->{tid} + 0, who => $_->{asked} + 0, still => 1 })
	} grep { defined $_->{asked} && $_->{sleep}{from} < $self->{from} } @{ $self->{passed} };
	my $chain = Tipme::WakeupChain->new(states => $states, threads => $states->{threads});
	my $ev    = $states->events;
	for my $tid (keys %{ $self->{of} }) {
		for my $i (@{ $states->intervals($tid) }) {
			next if $i->{kind} ne 'blocked'                          || !defined $i->{wake};
			next if ($i->{real_from} // $i->{from}) >= $self->{from} || $i->{to} <= $self->{from};
			my $who = $ev->waker($i->{wake});
			$pair{"$tid $who"} //= { tid => $tid + 0, who => $who }
				if $self->{of}{$who} && $chain->asked($who, $tid, $i, $i->{to});
		}
	}
	return [ map { $pair{$_} } sort keys %pair ];
}

# idle_cpus(): how long other CPUs were idle while the main waiter waited for one, as Circumstances
# has it; undef: their records are kept
sub idle_cpus {
	my ($self) = @_;
	return $self->{detail} eq 'path'
		? Tipme::Circumstances::idle_sums(
		$self->{states}, $self->{d}{verdict}{kind},
		$self->{d}{path}
		)
		: undef;
}

# begins(): since when there are records of the kernel that are kept as they are
sub begins {
	my ($self) = @_;
	return min($self->{from}, ($self->{ground} ? $self->{ground}->first : undef) // $self->{from});
}

# ends(): no record behind that is kept, but for names
sub ends {
	my ($self) = @_;
	return max($self->{to}, ($self->{ground} ? $self->{ground}->last : undef) // 0);
}

# reach(): (FROM, TO): no record of the kernel beyond is looked at, but for the kinds of carried()
sub reach {
	my ($self) = @_;
	my ($first, $last) = $self->{ground} ? $self->{ground}->reach : ();
	return (min($self->{from}, $first // $self->{from}), max($self->{to}, $last // 0));
}

# knows(NAME): 1: records of that kind may be kept
sub knows { my ($class, $name) = @_; return $KNOWN{$name} // 0 }

# passes(NAME, TIME, TID): 1: that record is left out, as is seen before it is read. carried(NAME):
# 1:
# one of that kind may be kept though it is of an earlier time
my %CARRIED = map { $_ => 1 }
	qw(signal rename fork exec affinity x_sleep x_wakeup x_grab x_request x_idle cpu_frequency);

sub carried { my ($class, $name) = @_; return $CARRIED{$name} // 0 }

sub passes {
	my ($self, $name, $ts, $tid) = @_;
	return 0
		if $self->{detail} eq 'whole'
		|| $ts >= $self->{from} && $ts <= $self->{to}
		|| $ts < $self->{from}  && $CARRIED{$name};
	return $self->{ground} && $name !~ /\Ax_/ && $self->{ground}->knows($tid, $ts) ? 0 : 1;
}

# copies(NAME, FIELDS): what else is kept of a record: of each copy, the fields that differ
sub copies {
	my ($self, $name, $f) = @_;
	return if $name ne 'sched_switch' || !$self->{ground};
	my @c = $self->{ground}->copies($f->{tid}, $f->{ts_ns}) or return;
	$self->_mention($name, { %$f, %$_ }) for @c;
	return @c;
}

# carries(NAME, FIELDS): of what went on before, the last record of each sort is kept, with the time
# at which the cut begins: answers with the sort, or undef. A signal that stopped a thread of the
# path keeps its time, and so does what named one.
sub carries {
	my ($self, $name, $f) = @_;
	# When the server last went to sleep tells of the key before.
	if ($name eq 'x_idle' && $self->{detail} eq 'path' && $f->{duration_ns} > $NEAR_NS) {
		$f->{ts_ns} += $f->{duration_ns} - $NEAR_NS;
		$f->{duration_ns} = $NEAR_NS;
	}
	return if $self->{detail} eq 'whole' || $f->{ts_ns} >= $self->{from};
	return "signal $f->{ts_ns}"
		if $name eq 'signal'
		&& ($self->{pid}{ $f->{pid} } || $self->{of}{ $f->{tid} })
		&& $self->_mention($name, $f);
	# Who it is that has a part may have been told only then. Who made whom long before is not
	# looked at.
	return
		   if $name eq 'fork'
		&& $self->{ground}
		&& $self->{states}->events->count
		&& $f->{ts_ns} < $self->{states}->events->ts(0);
	return "$name $f->{tid}"
		if $name eq 'affinity' && $self->{of}{ $f->{tid} } && $self->_mention($name, $f);
	return "$name $f->{ts_ns} $f->{tid}"
		if $name =~ /\A(?:rename|fork|exec)\z/
		&& grep { $_ && ($self->{pid}{$_} || $self->{of}{$_}) } @$f{qw(tid pid child_tid)};
	return if $self->{detail} ne 'path';
	# Of the whole server one client at a time has a grab, or none.
	my $whole = $name eq 'x_grab' && $f->{what} == $SERVER_GRAB;
	$f->{gone} = 1 if $whole && !$f->{begin};
	my $sort =
		$name =~ /\Ax_(?:sleep|wakeup)\z/
		? "$name $f->{tid}"
		: $name eq 'x_grab' ? $whole
			? "$name server"
			: "$name $f->{client} $f->{what}"
		: $name eq 'x_request' && $f->{ts_ns} + $f->{duration_ns} >= $self->{from} ? $name
		: $name eq 'cpu_frequency' ? "$name $f->{cpu}"
		:                            undef;
	return if !defined $sort;
	if ($name eq 'x_request') { $f->{duration_ns} -= $self->{from} - $f->{ts_ns} }
	$f->{ts_ns} = $self->{from};
	$self->_mention($name, $f);
	return $sort;
}

# keeps(NAME, FIELDS, CPU of its section): 1: this record, of a source that sees events, is kept.
# Call it in order of files; then names() for what the daemon wrote.
sub keeps {
	my ($self, $name, $f, $cpu) = @_;
	return 1 if $self->{detail} eq 'whole';
	my $ts     = $f->{ts_ns};
	my $stands = $self->{ground} && $name !~ /\Ax_/ && $self->{ground}->keeps($f->{tid}, $ts);
	return $self->_mention($name, $f) if $stands;
	return 0 if $ts < $self->{from} || $ts > $self->{to} || $self->{detail} eq 'none';
	if ($name eq 'x_deliver') {
		$self->{comes} //= comes($self->{d}{path}, $NEAR_NS);
		return $self->_mention($name, $f) if asks($self->{comes}, $f, $NEAR_NS);
	}
	return 0 if $INPUT{$name} && !$self->_own_input($name, $f);
	return $self->_mention($name, $f)
		if $INPUT{$name} || $self->{detail} ne 'path' || $self->_on_path($name, $f, $cpu);
	return 0;
}

sub _own_input {
	my ($self, $name, $f) = @_;
	my $own = $self->{own} or return 0;
	return $self->{stage}{ $f->{ts_ns} } ? 1 : 0 if $name eq 'input' || $name eq 'wl_deliver';
	return $f->{ts_ns} == $own->{read_ns}        if $name eq 'x_input';
	return $name ne 'x_chord' && $own->{seq} && $f->{input_seq} == $own->{seq};
}

sub _on_path {
	my ($self, $name, $f, $cpu) = @_;
	my $ts = $f->{ts_ns};
	# Half of a request to a disk would stand before all others for ever, half of a work item, too:
	# Ground has the whole ones.
	return 0 if $name eq 'io' || $name =~ /\Awork_/;
	my @tid =
		grep {$_}
		map  { $f->{$_} }
		$name eq 'sched_switch' ? qw(tid next_tid) : $name eq 'fork' ? qw(tid child_tid) : 'tid';
	return 1 if $self->{stage}{$ts} || grep { _within($self->{of}{$_}, $ts, $NEAR_NS) } @tid;
	return 1
		if _within($self->{wider}, $ts, $NEAR_NS)
		|| $name eq 'x_grab' && $f->{what} == $SERVER_GRAB;
	# What the server did for a client lasts from the time of the record on.
	return 1
		if $name eq 'x_request' && grep { $_->[0] <= $ts + $f->{duration_ns} && $_->[1] >= $ts }
		@{ $self->{of}{ $f->{tid} } // [] };
	return 1 if $name eq 'sched_switch' && _within($self->{waits}{$cpu}, $ts, $NEAR_NS);
	return 1
		if $name !~ /\Ax_/
		&& (
		$WIDE{$name}
		? !@tid || grep { $self->{of}{$_} } @tid
		: !@tid && !$SCHED{$name} && $name !~ /\A(?:cpu_idle|irq)\z/
		);
	return 1 if $name eq 'cpu_idle' && grep { $self->{turn}{ int($ts / $NEAR_NS) + $_ } } -1 .. 1;
	return $ts <= $self->{start} + $NEAR_NS || $ts >= $self->{end} - $NEAR_NS;
}

sub _mention {
	my ($self, $name, $f) = @_;
	$self->{mentioned}{ $f->{$_} }     = 1 for grep { $f->{$_} } @TIDS;
	$self->{mentioned}{ $f->{pid} }    = 1 if $f->{pid};
	$self->{stacks}{stack}{ $f->{$_} } = 1 for grep { $f->{$_} } qw(stack_id kernel_stack_id);
	$self->{stacks}{user_stack}{ $f->{user_stack_id} } = 1 if $f->{user_stack_id};
	$self->{stacks}{function}{ $f->{function} }        = 1 if $f->{function};
	$self->{lines}{ $f->{number} }                     = 1 if $name eq 'irq';
	$self->{disks}{ $f->{dev} }                        = 1 if $name eq 'io';
	return 1;
}

# left_out(NAME): how records of that name are called where it is said what was left out
sub left_out {
	my ($name) = @_;
	return
		  $INPUT{$name}   ? 'input events that are not the one of the verdict'
		: $name =~ /\Ax_/ ? 'records of the X server off the path'
		: $STACK{$name}   ? 'functions and libraries of programs without a part'
		: $name =~ /\A(?:thread|process|proc_state|rename)\z/ ? 'threads without a part'
		: $name =~ /\A(?:irq|disk)_name\z/                    ? 'names of devices without a part'
		:   'records of the kernel off the path';
}

# names(NAME, FIELDS, NAMED): 1 if this record of the daemon's is kept, changed where it told too
# much; NAMED: processes that keep their names
sub names {
	my ($self, $name, $f, $named) = @_;
	return 1                             if $self->{detail} eq 'whole';
	return $self->_named_code($name, $f) if $STACK{$name};
	if ($name eq 'thread' || $name eq 'proc_state' || $name eq 'rename') {
		return 0
			if !$self->{mentioned}{ $f->{tid} }
			&& !$self->{of}{ $f->{tid} }
			&& !$named->{ $f->{pid} // $f->{tid} };
		$f->{since_ns} = max(1, $f->{since_ns} - $f->{since_ns} % $COARSE_NS)
			if $f->{since_ns} && !_within($self->{of}{ $f->{tid} }, $f->{since_ns}, $NEAR_NS);
		$self->{stacks}{stack}{ $f->{stack_id} } = 1 if $f->{stack_id};
	}
	return $self->_of_machine($f) if $MACHINE{$name};
	return $self->{lines}{ $f->{number} } ? 1 : 0 if $name eq 'irq_name';
	return $self->{disks}{ $f->{dev} }    ? 1 : 0 if $name eq 'disk_name';
	return 0 if $name eq 'process' && !$named->{ $f->{pid} } && !$self->{mentioned}{ $f->{pid} };
	return 1;
}

# What is told of the machine each second, and what the kernel reported, is of no thread and no key.
# A speed is told where it changed: the last one before counts, too.
sub _of_machine {
	my ($self, $f) = @_;
	return 1
		if $f->{ts_ns} >= $self->{from} - $AROUND_NS && $f->{ts_ns} <= $self->{to} + $AROUND_NS;
	return defined $f->{cpu} && $self->{speeds}{"$f->{cpu} $f->{ts_ns}"} ? 1 : 0;
}

sub _named_code {
	my ($self, $name, $f) = @_;
	if ($name eq 'module') { return $self->{modules}{ $f->{module_id} } ? 1 : 0 }
	return 0 if !$self->{stacks}{$name}{ $f->{ $name eq 'function' ? 'function' : 'stack_id' } };
	$self->{modules}{$1} = 1 while ($f->{text} // '') =~ /\[(\d+)\]/g;
	return 1;
}

# aside(STATES): what the threads of the path did when they were not on it, as sums: [ { tid,
# running_ns, ... } ]. With what they did on it these are the sums of the diagnosis.
my @SUMS = qw(running runnable blocked absent irq softirq net_running);

sub aside {
	my ($self) = @_;
	my $states = $self->{states};
	return [] if $self->{detail} ne 'path' || !$self->{d}{event};
	my $of = stretches($self->{d}{path});
	my @out;
	for my $t (@{ $self->{d}{totals}{threads} }) {
		my $on = on_path($states, $of->{ $t->{tid} }, $t->{tid});
		push @out,
			{ tid => $t->{tid}, map { ("${_}_ns" => $t->{"${_}_ns"} - $on->{"${_}_ns"}) } @SUMS };
	}
	return \@out;
}

1;
