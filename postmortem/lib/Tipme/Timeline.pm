# SPDX-License-Identifier: GPL-2.0-only
# What a timeline picture shows, collected from an episode and its diagnosis: plain data for
# Tipme::Timeline::Picture.
package Tipme::Timeline;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use List::Util         qw(max min sum0 uniq);
use Tipme::CommandLine qw(ms with_commas local_time);
use Tipme::Columns;
use Tipme::KernelEvents;
use Tipme::Printable qw(one_line);
use Tipme::Responses qw(kind_words);
use Tipme::Timeline::Known;
use Tipme::Timeline::Paper;
use Tipme::Timeline::Style;
use Tipme::Timeline::Reduce qw(reduce_spans);
use Tipme::Words            qw(N__ fill);

my $MAX_LANES  = 14;           # rows of threads; a picture of more is higher than a screen
my $MAX_CPUS   = 64;           # rows of CPUs; beyond them only those that the path was on
my $MARGIN     = 0.06;         # of the interval, shown before and after it
my $MIN_MARGIN = 2_000_000;    # ns beside the interval, whatever its length
our $MANY = 100_000;           # records, from which on they are not held one by one

# How a state of the records is drawn; what is not here is plain sleep.
my %DRAWN = (
	disk_sleep => 'disk',    lock_wait => 'disk', stopped => 'stopped', traced => 'stopped',
	frozen     => 'stopped', unknown   => 'unknown'
);

# collect(DIAGNOSIS, RESULT, from_ns =>, to_ns =>): RESULT is what its run gave (the data of
# `diagnose --json`); the times widen or narrow the picture.
sub collect {
	my ($class, $diagnosis, $result, %o) = @_;
	my $ep = $diagnosis->episode;
	my $self =
		bless { ep => $ep, diag => $result, interval => $result->{interval} // _last_second($ep) },
		$class;
	$self->_choose_range(%o);
	my ($from, $to) = @$self{qw(from to)};
	$self->{states}  = $diagnosis->states($from, $to);
	$self->{ev}      = $self->{states}->events;
	$self->{threads} = $diagnosis->threads;
	$self->{known}   = Tipme::Timeline::Known->new($ep, $self->{states}, $result->{path} // []);
	$self->_note_changes;
	my @cpus = $self->_many ? $self->_many_cpus : $self->_cpus;
	$self->_give_roles;
	my @tids    = $self->_choose_threads;
	my $i       = $self->{interval};
	my @path    = $self->_path;
	my @threads = map { $self->_thread($_) } @tids;
	$_->{role} //= 'rest' for values %{ $self->{procs} };
	$self->_draw_many(\@cpus) if $self->_many;
	return {
		$self->_words, from_ns => $from, to_ns => $to, zero_ns => $i->{start_ns},
		start_ns   => $i->{start_ns},               end_ns => $i->{end_ns},
		trigger_ns => $ep->trigger_ns,              stages => [ $self->_stages ], path => \@path,
		stretches  => [ $self->_stretches(@path) ], arrows => [ $self->_arrows ],
		procs => $self->{procs}, cpus => \@cpus, threads => \@threads, more => $self->_more(@tids)
	};
}

# Without an event to look at: what there was just before the hot-key.
sub _last_second {
	my ($ep) = @_;
	return {
		start_ns => max(0, $ep->trigger_ns - 1_000_000_000), end_ns => $ep->trigger_ns,
		guessed  => 1
	};
}

sub _choose_range {
	my ($self, %o)    = @_;
	my ($start, $end) = @{ $self->{interval} }{qw(start_ns end_ns)};
	my $margin  = max(int($MARGIN * ($end - $start)), $MIN_MARGIN);
	my @covered = grep { $_->{last_ns} } $self->{ep}->coverage;
	my $first   = min(map { $_->{first_ns} } @covered) // 0;
	my $last    = max($self->{ep}->end_ns, map { $_->{last_ns} } @covered);
	$self->{from} = max($o{from_ns} // $start - $margin, min($first, $start));
	$self->{to}   = min($o{to_ns}   // $end + $margin, max($last, $end));
	die fill(N__('nothing is recorded between these times: see `tipme show` for what is')) . "\n"
		if $self->{to} <= $self->{from};
}

# --- who is who ---

# Most threads keep their name and process while we look; the others are asked about each time.
sub _note_changes {
	my ($self) = @_;
	my $ev = $self->{ev};
	$self->{changes}{ $ev->child($_) } = 1 for @{ $ev->of_kind(Tipme::KernelEvents::FORK) };
	$self->{changes}{ $ev->tid($_) }   = 1
		for map { @{ $ev->of_kind($_) } } Tipme::KernelEvents::RENAME, Tipme::KernelEvents::EXEC;
}

sub _who {
	my ($self, $tid, $t) = @_;
	return $self->{threads}->at($tid, $t) if $self->{changes}{$tid};
	return $self->{who}{$tid} //= $self->{threads}->at($tid, $t);
}

# The process that a thread belongs to, as a key of procs. A process that runs another program is
# another process to a reader.
sub _proc {
	my ($self, $tid, $t) = @_;
	my $w   = $self->_who($tid, $t);
	my $key = $self->_key_of($tid, $t);
	$self->{procs}{$key} //= {
		pid => $w->{pid}, comm => $w->{comm}, name => one_line($w->{comm}),
		label => one_line($w->{comm}) . " ($w->{pid})", kernel => $w->{kernel}
	};
	return $key;
}

sub _key_of {
	my ($self, $tid, $t) = @_;
	my $w = $self->_who($tid, $t);
	return "$w->{pid} " . ($self->{changes}{$tid} ? $w->{comm} : '');
}

sub _cpus {
	my ($self) = @_;
	return map {
		{ %$_, spans => $self->_occupancy($_->{cpu}) }
	} $self->_known_cpus;
}

sub _known_cpus {
	my ($self) = @_;
	my %known  = map { $_ => 1 } $self->{ev}->cpus,
		map { $_->{cpu} } grep { $_->{source} =~ /^kernel/ } $self->{ep}->coverage;
	my @cpus = sort { $a <=> $b } keys %known;
	splice @cpus, $MAX_CPUS if @cpus > $MAX_CPUS;
	return map { { cpu => $_ } } @cpus;
}

# --- very many switches: sums first, then what of them a picture can show; the program in C passes
# over them ---

# Are there so many that they cannot be held one by one? Samples of /proc never are.
sub _many {
	my ($self) = @_;
	return
		$self->{many} //=
		   $self->{ev}{columns_file}
		&& !$self->{states}->wakers_unknown
		&& $self->{ev}->count_between(@$self{qw(from to)}) > $MANY ? 1 : 0;
}

# As _cpus(); of CPUs with switches `spans` holds only what is not known, the others come when all
# roles are.
sub _many_cpus {
	my ($self)   = @_;
	my @cpus     = map { $_->{cpu} } $self->_known_cpus;
	my %switches = map { $_ => 1 } $self->{ev}->cpus;
	my (@out, @stretches);
	for my $cpu (@cpus) {
		if (!$switches{$cpu}) { push @out, { cpu => $cpu, spans => $self->_occupancy($cpu) }; next }
		my ($first, $last) = $self->_covered($cpu);
		my $c = {
			cpu  => $cpu, spans => [],
			many => [ $cpu, max($self->{from}, $first), min($self->{to}, $last) ]
		};
		push @{ $c->{spans} }, $self->_unknown_span($self->{from}, min($first, $self->{to}))
			if $first > $self->{from};
		push @{ $c->{spans} }, $self->_unknown_span(max($last, $self->{from}), $self->{to})
			if $last < $self->{to};
		push @stretches, $c->{many};
		push @out,       $c;
	}
	my @rows = $self->_rows;
	my $sums = Tipme::Columns::sums($self->{ev}, \@rows, \@stretches);
	# Without the program: one by one, as few are.
	if (!$sums) { $self->{many} = 0; return $self->_cpus }
	for my $of (grep { $_->{tid} } map {@$_} @$sums) {
		my $tid = $of->{tid};
		my $key = $self->_proc($tid, $of->{longest_from});
		$self->{cpu_ns}{$key} += $of->{ns};
		$self->{tid_ns}{$tid} += $of->{ns};
	}
	return @out;
}

# From when on a thread is another to the reader, by its name or process: [ tid, from ], of those
# that change
sub _rows {
	my ($self) = @_;
	return map {
		my $tid = $_;
		map { [ $tid, $_ ] } uniq(map { max(0, $_) } 0, $self->{threads}->epochs($tid))
	} sort { $a <=> $b } keys %{ $self->{changes} };
}

# Now that each process has its role: what one sees of them, and how much of the CPUs each had
# during the problem interval.
sub _draw_many {
	my ($self, $cpus) = @_;
	my @many  = grep { $_->{many} } @$cpus or return;
	my $scale = Tipme::Timeline::Paper::scale($self->{from}, $self->{to}, $self->{from});
	my (@keys, %number);
	my @rows;
	for my $row (
		$self->_rows,
		map { [ $_, 0 ] } grep { $_ && !$self->{changes}{$_} } keys %{ $self->{tid_ns} }
		)
	{
		my ($tid, $from) = @$row;
		my $key = $self->_key_of($tid, max($from, $self->{from}));
		my $p   = $self->{procs}{$key} or next;                      # it did not run then
		push @keys, $key if !defined $number{$key};
		$number{$key} //= $#keys;
		push @rows, [ $tid, $from, Tipme::Timeline::Style::rank($p->{role}), $number{$key} ];
	}
	my $runs = Tipme::Columns::runs(
		$self->{ev},         \@rows, [ map { $_->{many} } @many ],
		@$self{qw(from to)}, $scale->width
	) // [];
	my $i    = $self->{interval};
	my $sums = Tipme::Columns::sums(
		$self->{ev}, [ map { [ @$_[ 0, 1 ] ] } @rows ],
		[
			map {
				[
					$_->{many}[0], max($_->{many}[1], $i->{start_ns}),
					min($_->{many}[2], $i->{end_ns})
				]
			} @many
		]
	) // [];
	for my $k (0 .. $#many) {
		push @{ $many[$k]{spans} },
			map { [ $scale->begin($_->[0]), $scale->begin($_->[1]), $keys[ $_->[2] ] ] }
			@{ $runs->[$k] };
		$many[$k]{shares}{ $self->_proc($_->{tid}, $_->{longest_from}) } += $_->{ns}
			for grep { $_->{tid} } @{ $sums->[$k] };
	}
	return;
}

# Who ran on a CPU. Where nothing was kept of it, or where the next switch says that another thread
# had run meanwhile, nobody knows.
sub _occupancy {
	my ($self,  $cpu)  = @_;
	my ($first, $last) = $self->_covered($cpu);
	my @o = grep { $_->[1] > $first && $_->[0] < $last }
		$self->{states}->occupants($cpu, @$self{qw(from to)});
	my @spans;
	push @spans, $self->_unknown_span($self->{from}, min($first, $self->{to}))
		if $first > $self->{from};
	for my $k (0 .. $#o) {
		my ($from, $to, $tid) = @{ $o[$k] };
		($from, $to) = (max($from, $first), min($to, $last));
		if (!defined $tid) { push @spans, $self->_unknown_span($from, $to); next }
		for my $s ($self->_parts($tid, $cpu, $from, $to)) {
			if (!$s->[2]) { push @spans, $self->_unknown_span(@$s[ 0, 1 ]); next }
			next if !$tid;    # idle: paper
			my $key = $self->_proc($tid, $from);
			push @spans, [ @$s[ 0, 1 ], $key ];
			$self->{cpu_ns}{$key} += $s->[1] - $s->[0];
			$self->{tid_ns}{$tid} += $s->[1] - $s->[0];
		}
	}
	push @spans, $self->_unknown_span(max($last, $self->{from}), $self->{to})
		if $last < $self->{to};
	return \@spans;
}

# Of what a thread did from FROM to TO, [ from, to, is that known ]: in a bundle not all is.
sub _parts {
	my ($self, $tid, $cpu, $from, $to) = @_;
	my $known = $self->{known} or return [ $from, $to, 1 ];
	return $known->with_gaps($from, $to, $known->clip($tid, $cpu, $from, $to));
}

sub _unknown_span {
	my ($self, $from, $to) = @_;
	$self->{procs}{unknown} //=
		{ name => 'unknown', label => fill(N__('unknown')), pid => -1, comm => '' };
	return [ $from, $to, 'unknown' ];
}

# From when to when the records of a CPU (undef: of all) are complete.
sub _covered {
	my ($self, $cpu) = @_;
	my @c =
		grep { $_->{source} =~ /^kernel/ && (!defined $cpu || $_->{cpu} == $cpu) }
		$self->{ep}->coverage
		or return ($self->{to}, $self->{to});
	return (max(map { $_->{first_ns} } @c), max(map { $_->{last_ns} } @c));
}

# blamed, server, client, path, top (the three names that used most of the CPUs), rest
sub _give_roles {
	my ($self) = @_;
	my ($procs, $d) = ($self->{procs}, $self->{diag});
	$self->_proc($_->{tid}, $_->{from_ns}) for $self->_told;
	my $blamed = $d->{verdict}{blamed} // {};
	my %blamed = map { $_ => 1 } grep {defined} $blamed->{pid}, @{ $blamed->{pids} // [] };
	my %path   = map { $_->{pid} => 1 } $self->_told;
	my %herd   = $d->{verdict}{kind} eq 'cpu-contention' ? $self->_herd(\%blamed) : ();
	my ($server, $client) =
		map { $_ ? $_->{pid} // -2 : -2 } @{ $d->{event} // {} }{qw(server client)};

	for my $p (values %$procs) {
		$p->{role} =
			  $p->{pid} < 0                               ? 'unknown'
			: $blamed{ $p->{pid} } || $herd{ $p->{name} } ? 'blamed'
			: $p->{pid} == $server                        ? 'server'
			: $p->{pid} == $client                        ? 'client'
			: $path{ $p->{pid} }                          ? 'path'
			:                                               'rest';
	}
	my %by_name;
	$by_name{ $procs->{$_}{name} } += $self->{cpu_ns}{$_} // 0
		for grep { $procs->{$_}{role} eq 'rest' && $_ ne 'unknown' } keys %$procs;
	my @top =
		grep { $by_name{$_} > 0 } sort { $by_name{$b} <=> $by_name{$a} || $a cmp $b } keys %by_name;
	splice @top, 3 if @top > 3;
	my %top = map { $_ => 1 } @top;
	$procs->{$_}{role} = 'top'
		for grep { $procs->{$_}{role} eq 'rest' && $top{ $procs->{$_}{name} } } keys %$procs;
	# The more CPU time, the stronger the colour among those of one role.
	$procs->{$_}{order} = -($self->{cpu_ns}{$_} // 0) for keys %$procs;
}

# A load is many processes of one name; those that kept another CPU busy belong to it. The name is
# what each had while it ran most.
sub _herd {
	my ($self, $blamed) = @_;
	my %best;
	for my $k (grep { $blamed->{ $self->{procs}{$_}{pid} } } sort keys %{ $self->{procs} }) {
		my $b = \$best{ $self->{procs}{$k}{pid} };
		$$b = $k if !defined $$b || ($self->{cpu_ns}{$k} // 0) > ($self->{cpu_ns}{$$b} // 0);
	}
	return map { $self->{procs}{$_}{name} => 1 } values %best;
}

# Those on the path, as the response went; then the blamed; then who used the CPUs most.
sub _choose_threads {
	my ($self) = @_;
	my (@tids, %have);
	my $add = sub {
		push @tids, grep { $_ && !$have{$_}++ && @tids < $_[0] } $_[1];
	};
	$add->($MAX_LANES - 3, $_->{tid}) for $self->_told;
	my @busy = sort { $self->{tid_ns}{$b} <=> $self->{tid_ns}{$a} || $a <=> $b }
		grep {$_} keys %{ $self->{tid_ns} };
	my @blamed = grep { $self->_role_ever($_) eq 'blamed' } @busy;
	my @others = grep { my $r = $self->_role_ever($_); $r eq 'top' || $r eq 'path' } @busy;
	$add->($MAX_LANES, $_) for @blamed[ 0 .. min(3, $#blamed) ], @others[ 0 .. min(2, $#others) ];
	return @tids;
}

# A thread's role: that of the process it is for most of the time we look.
sub _role_ever {
	my ($self, $tid) = @_;
	# Asked for, not made: one without a role would be drawn.
	my $p = $self->{procs}{ $self->_key_ever($tid) };
	return $p ? $p->{role} // 'rest' : 'rest';
}

sub _key_ever {
	my ($self, $tid) = @_;
	return $self->{key_ever}{$tid} //=
		!$self->{changes}{$tid} ? $self->_proc($tid, $self->{to}) : do {
		# States begin before the time that is drawn; a program that ran only then would be one that
		# nobody sees.
		my @runs = map { [ max($_->{from}, $self->{from}), min($_->{to}, $self->{to}) ] }
			grep { $_->{kind} eq 'running' } @{ $self->{states}->intervals($tid) };
		my ($longest) =
			sort { $b->[1] - $b->[0] <=> $a->[1] - $a->[0] } grep { $_->[1] > $_->[0] } @runs;
		$self->_proc($tid, $longest ? $longest->[0] : $self->{to});
		};
}

sub _more {
	my ($self, @shown) = @_;
	my %shown  = map  { $_ => 1 } @shown;
	my @hidden = grep { $_ && !$shown{$_} } keys %{ $self->{tid_ns} };
	return '' if !@hidden;
	my $ns = sum0(map { $self->{tid_ns}{$_} } @hidden);
	return fill(
		@hidden == 1
		? N__('{n} more thread ran for {time} together')
		: N__('{n} more threads ran for {time} together'),
		n => with_commas(scalar @hidden), time => ms($ns)
	);
}

# --- one lane ---

sub _thread {
	my ($self, $tid) = @_;
	my $key = $self->_key_ever($tid);
	my $p   = $self->{procs}{$key};
	$p->{role} //= 'rest';
	my $list = $self->{states}->intervals($tid);
	my @prio = $self->_priorities($tid);
	my $prio = @prio ? $prio[-1][1] : $self->_who($tid, $self->{to})->{prio};
	my $comm = one_line($self->_who($tid, $self->{to})->{comm});
	my $t    = {
		tid    => $tid, key => $key, label => "$comm ($tid)",
		detail => ($tid != $p->{pid} ? fill(N__('of process {pid}, '), pid => $p->{pid}) : '')
			. _prio_text($prio, @prio),
		states => $self->_seen([ $self->_states($tid, $list) ]), prio => \@prio,
		marks  => [ $self->_marks($tid, $list) ]
	};
	$self->{states}->forget($tid);
	return $t;
}

# Of many states those that the picture shows, which draws the same of them.
sub _seen {
	my ($self, $states) = @_;
	return $states if @$states < 4 * Tipme::Timeline::Paper::scale(0, 1, 0)->width;
	my $scale = Tipme::Timeline::Paper::scale($self->{from}, $self->{to}, $self->{from});
	my @seen  = map { [ $scale->begin($_->[0]), $scale->begin($_->[1]), $_->[2] ] }
		@{ reduce_spans($scale, $states, \&Tipme::Timeline::Style::state_rank) };
	$seen[-1][1] = min($seen[-1][1], $states->[-1][1]);
	return \@seen;
}

# Before all CPUs are covered, and after, what a thread did is a guess: not drawn as anything else.
sub _states {
	my ($self, $tid, $list) = @_;
	my ($first, $last) = $self->_covered;
	my @known;
	for my $i (grep { $_->{kind} ne 'absent' && $_->{to} > $first && $_->{from} < $last } @$list) {
		my $cpu = $i->{kind} eq 'running' ? $i->{cpu} : undef;
		push @known,
			map { [ @$_[ 0, 1 ], $_->[2] ? _drawn($i) : 'unknown' ] }
			$self->_parts($tid, $cpu, max($i->{from}, $first), min($i->{to}, $last));
	}
	unshift @known, [ $self->{from}, min($first, $self->{to}), 'unknown' ]
		if $first > $self->{from};
	push @known, [ max($last, $self->{from}), $self->{to}, 'unknown' ] if $last < $self->{to};
	return @known;
}

sub _drawn {
	my ($i) = @_;
	return $i->{kind} if $i->{kind} ne 'blocked';
	return $DRAWN{ $i->{state} } // 'blocked';
}

sub _prio_text {
	my ($prio, @all) = @_;
	my %seen = map { $_->[1] => 1 } @all;
	return 'prio ' . join('-', (sort { $a <=> $b } keys %seen)[ 0, -1 ]) if keys %seen > 1;
	return
		  $prio == 255 ? fill(N__('deadline'))
		: $prio < 100
		? fill(N__('real-time {urgency}, prio {prio}'), urgency => 99 - $prio, prio => $prio)
		: fill(N__('prio {prio}, nice {nice}'),         prio    => $prio,      nice => $prio - 120);
}

# What the switches and the changes that were recorded say: [ ts, prio ], only where it changes. A
# thread that leaves its CPU with another priority than it came with, and no record of the change,
# got it while it ran: from its coming on, since that is the priority that kept it there.
sub _priorities {
	my ($self, $tid) = @_;
	my $ev = $self->{ev};
	my (@p, $came);
	my @changes =
		grep { $ev->tid($_) == $tid } @{ $ev->of_kind(Tipme::KernelEvents::PRIORITY) };
	for my $i (
		sort { $a <=> $b } @changes,
		grep { $ev->kind($_) == Tipme::KernelEvents::SWITCH } @{ $ev->of_tid($tid) }
		)
	{
		my $t = $ev->ts($i);
		if ($ev->kind($i) != Tipme::KernelEvents::SWITCH) {
			_priority_from(\@p, $t, $ev->priority_new_prio($i));
			$came = undef;
		} elsif ($ev->tid($i) == $tid) {
			_priority_from(\@p, $came // $t, $ev->sched_switch_prev_prio($i));
			$came = undef;
		} else {
			_priority_from(\@p, $t, $ev->sched_switch_next_prio($i));
			$came = $t;
		}
	}
	# What it has when we begin to look is what it had last before.
	shift @p while @p > 1 && $p[1][0] <= $self->{from};
	return @p;
}

sub _priority_from {
	my ($p, $t, $prio) = @_;
	return  if @$p && $p->[-1][1] == $prio;
	pop @$p if @$p && $p->[-1][0] == $t;
	push @$p, [ $t, $prio ] if !@$p || $p->[-1][1] != $prio;
	return;
}

sub _marks {
	my ($self, $tid, $list) = @_;
	my $ev = $self->{ev};
	my @m;
	# Only those that the picture has room for are put into words.
	my $room = Tipme::Timeline::Paper::room_for_marks($self->{from}, $self->{to});
	for my $i (@$list) {
		push @m,
			[ $i->{from}, 'wake', fill(N__('woken by {who}'), who => $self->_waker($i->{wake})) ]
			if $i->{kind} eq 'runnable'
			&& ($i->{how} // '') eq 'woken'
			&& defined $i->{wake}
			&& $room->('wake', $i->{from});
		push @m, [ $i->{from}, 'sleep', $self->_sleep_words($i) ]
			if $i->{kind} eq 'blocked'
			&& $i->{from} > $self->{from}
			&& $room->('sleep', $i->{from});
	}
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::FORK) }) {
		push @m, [ $ev->ts($i), 'fork', fill(N__('makes thread {tid}'), tid => $ev->child($i)) ]
			if $ev->tid($i) == $tid;
	}
	push @m,
		map { [ $ev->ts($_), 'exit', fill(N__('exits')) ] }
		grep { $ev->tid($_) == $tid } @{ $ev->of_kind(Tipme::KernelEvents::EXIT) };
	return sort { $a->[0] <=> $b->[0] } @m;
}

sub _waker {
	my ($self, $i) = @_;
	my $ev      = $self->{ev};
	my $context = $self->{ep}->record->name_of('context', $ev->context($i));
	return $context =~ s/_.*//r if $context ne 'task';
	my $w = $self->_who($ev->waker($i), $ev->ts($i));
	return one_line($w->{comm}) . ' (' . $ev->waker($i) . ')';
}

# --- the path ---

# Neighbours of one thread in one state are one segment: whoever took a CPU in between is named
# together.
# The path, where stretches of several kinds are told together each kind after the other, as long as
# its sum: in which order they came is not known.
sub _told {
	my ($self) = @_;
	return @{ $self->{told} //=
			[ map { $_->{mixed} ? $self->_apart($_) : $_ } @{ $self->{diag}{path} } ] };
}

sub _apart {
	my ($self, $p)     = @_;
	my ($t,    @apart) = $p->{from_ns};
	for my $m (sort { $a->{of_tid} <=> $b->{of_tid} } @{ $p->{among} }) {
		my $who = $self->_who($m->{of_tid}, $t);
		push @apart,
			{
			%$p, tid => $m->{of_tid}, pid => $who->{pid}, comm => $who->{comm},
			state => $m->{state}, reason => $m->{detail}, blamed => $m, from_ns => $t,
			to_ns => $t + $m->{ns}
			};
		$t += $m->{ns};
	}
	return @apart;
}

sub _path {
	my ($self) = @_;
	my @out;
	for my $p ($self->_told) {
		my $state = $self->_path_state($p);
		my $last  = $out[-1];
		if (   $last
			&& $last->{tid} == $p->{tid}
			&& $last->{state} eq $state
			&& $last->{why} eq ($p->{reason} // ''))
		{
			$last->{to} = $p->{to_ns};
		} else {
			push @out,
				$last = {
				from => $p->{from_ns},      to  => $p->{to_ns}, tid => $p->{tid}, state => $state,
				why  => $p->{reason} // '', who => $p,          by  => {}
				};
		}
		my $b  = $p->{blamed} // {};
		my $by = $last->{by}{ $b->{comm} // '' } //= { ns => 0, pids => {} };
		$by->{ns} += $p->{to_ns} - $p->{from_ns};
		$by->{pids}{ $b->{pid} // 0 } = 1;
	}
	return map {
		{
			%$_{qw(from to tid state)}, key => $self->_proc($_->{tid}, $_->{from}),
				label => _segment_label($_),
				who   => one_line($_->{who}{comm})
		}
	} @out;
}

# Where one thread has the path in its hands, in short turns of several kinds: one label for all of
# it. Whoever comes between for less than a hundredth of the interval and hands it back does not
# count.
sub _stretches {
	my ($self, @path) = @_;
	my $short = ($self->{interval}{end_ns} - $self->{interval}{start_ns}) / 100;
	my @out;
	for my $k (0 .. $#path) {
		my $p    = $path[$k];
		my $last = $out[-1];
		if ($last && $last->{tid} != $p->{tid}) {
			my $back = $k + 1;
			$back++
				while $back <= $#path
				&& $path[$back]{tid} != $last->{tid}
				&& $path[$back]{from} - $p->{from} < $short;
			if ($back <= $#path && $path[$back]{from} - $p->{from} < $short) {
				_count($last, $p);
				next;
			}
		}
		if ($last && $last->{tid} == $p->{tid}) { $last->{to} = $p->{to} }
		else {
			push @out, $last = { from => $p->{from}, to => $p->{to}, tid => $p->{tid}, of => {} };
		}
		_count($last, $p);
	}
	return map {
		{ %$_{qw(from to)}, label => _stretch_label($_) }
	} @out;
}

my %WORDS = (
	running => N__('runs'),    runnable => N__('waits for a CPU'),
	blocked => N__('blocked'), disk     => N__('blocked in the kernel'),
	stopped => N__('stopped'), unknown  => N__('unknown')
);

# Where one part is nearly all of it, that part's own label says more.
# What of a stretch is whose: others' turns, too, that are too short to end it.
sub _count {
	my ($stretch, $p) = @_;
	my $of = $stretch->{of}{ $p->{tid} } //= { who => $p->{who}, all => 0, ns => {}, parts => [] };
	$of->{all} += $p->{to} - $p->{from};
	$of->{ns}{ $p->{state} } += $p->{to} - $p->{from};
	push @{ $of->{parts} }, $p;
	return;
}

# It goes by the thread that had most of it.
sub _stretch_label {
	my ($stretch) = @_;
	my ($tid)     = sort { $stretch->{of}{$b}{all} <=> $stretch->{of}{$a}{all} || $a <=> $b }
		keys %{ $stretch->{of} };
	my $s = { %$stretch, %{ $stretch->{of}{$tid} } };
	my ($long) =
		sort { $b->{to} - $b->{from} <=> $a->{to} - $a->{from} || $a->{from} <=> $b->{from} }
		@{ $s->{parts} };
	return $long->{label} if $long->{to} - $long->{from} >= 0.95 * ($s->{to} - $s->{from});
	my @states = sort { $s->{ns}{$b} <=> $s->{ns}{$a} || $a cmp $b } keys %{ $s->{ns} };
	return "$s->{who}: " . join ', ',
		map { fill($WORDS{$_}) . ' ' . ms($s->{ns}{$_}) } @states[ 0 .. min(2, $#states) ];
}

sub _path_state {
	my ($self, $p) = @_;
	return $p->{state} if $p->{state} =~ /^(?:running|runnable|unknown)$/;
	return $DRAWN{ $p->{wait} // $p->{state} } // 'blocked';
}

sub _segment_label {
	my ($seg) = @_;
	my $who   = one_line($seg->{who}{comm});
	my ($by) = sort { $seg->{by}{$b}{ns} <=> $seg->{by}{$a}{ns} || $a cmp $b } keys %{ $seg->{by} };
	my $n    = keys %{ $seg->{by}{$by}{pids} };
	my $took = ms($seg->{to} - $seg->{from});
	my $why  = length $seg->{why} ? ': ' . one_line($seg->{why}) : '';
	my ($pid)  = keys %{ $seg->{by}{$by}{pids} };
	my $others = one_line($by) . ($n > 1 ? " \N{U+d7} $n" : " ($pid)");
	my %said   = (who => $who, took => $took, others => $others);
	return fill(N__('{who} runs {took}'),                      %said) if $seg->{state} eq 'running';
	return fill(N__('{who} waits for a CPU {took}: {others}'), %said)
		if $seg->{state} eq 'runnable';
	return fill(N__('{who} is stopped {took}'), %said)        if $seg->{state} eq 'stopped';
	return fill(N__('unknown {took}'),          %said) . $why if $seg->{state} eq 'unknown';
	return fill(N__('{who} is blocked {took}'), %said) . $why;
}

sub _arrows {
	my ($self) = @_;
	my @p = $self->_told;
	return map {
		$p[$_]{tid} != $p[ $_ - 1 ]{tid} && !$p[$_]{mixed} && !$p[ $_ - 1 ]{mixed}
			? [ $p[$_]{from_ns}, $p[ $_ - 1 ]{tid}, $p[$_]{tid} ]
			: ()
	} 1 .. $#p;
}

# --- words ---

my %SLEEP = (
	sleeping  => N__('sleeping'),           disk_sleep => N__('uninterruptible sleep'),
	lock_wait => N__('waiting for a lock'), stopped    => N__('stopped')
);

# A bundle does not tell how long those sleep that have no part in the answer.
sub _sleep_words {
	my ($self, $i) = @_;
	my $state = fill($SLEEP{ $i->{state} } // $i->{state});
	return $state if $self->{known};
	return fill(N__('{state} for {time}'), state => $state, time => ms($i->{to} - $i->{from}));
}

my %STAGE_WORDS = (
	interrupt => N__('interrupt'),
	input     => N__('{event} arrives'),
	read      => N__('{server} reads it'),
	server    => N__('{server} wakes up'),
	device    => N__('{server} works on it'),
	deliver   => N__('sent to {client}'),
	client    => N__('{client} runs'),
	request   => N__('{client} draws'),
	drawn     => N__('{client} has drawn'),
	painting  => N__('the compositor paints'),
	born      => N__('{client} is made'),
	feedback  => N__('on the screen'),
	free      => N__('{client} is free again')
);
my @STAGE_ORDER =
	qw(interrupt input server device deliver born client request drawn painting feedback free);

sub _stages {
	my ($self) = @_;
	my $e      = $self->{diag}{event} or return;
	my %words  = (
		event  => kind_words($e->{kind}),
		server => one_line($e->{server}{name} // fill(N__('the server'))),
		client => one_line($e->{client} ? $e->{client}{comm} : fill(N__('the client')))
	);
	my %of = map { $_->{name} => $_ } @{ $e->{stages} };
	return map {
		my $label = fill($STAGE_WORDS{$_}, %words);
		{ name => $_, label => $label, ts => $of{$_}{ts_ns}, certainty => $of{$_}{certainty} };
	} grep { $of{$_} } @STAGE_ORDER;
}

sub _words {
	my ($self) = @_;
	my ($ep, $d, $i) = @$self{qw(ep diag interval)};
	my $m   = $ep->manifest;
	my @sub = (
		fill(N__('Episode {id}'), id => one_line($m->{id})),
		local_time(one_line($m->{time} // '')),
		'Linux ' . one_line($m->{kernel} // '?'),
		one_line($m->{cpus} // '?') . ' CPUs'
	);
	push @sub, '"' . one_line($ep->note) . '"' if length one_line($ep->note // '');
	return (
		title       => $d->{verdict}{sentence}, subtitle => join(" \x{2022} ", @sub),
		footer      => $self->_footer,
		start_label => $i->{guessed} ? fill(N__('a second before'))
		: !$d->{event} ? fill(N__('it stood still'))
		: kind_words($d->{event}{kind}),
		end_label => $i->{guessed} || !$d->{event} ? ''
		: ($i->{certainty} // '') ne 'open' ? fill(N__('on the screen'))
		: $i->{gone}                        ? fill(N__('the client has gone'))
		:                                     fill(N__('no answer yet'))
	);
}

sub _footer {
	my ($self) = @_;
	my ($ep, $d, $i) = @$self{qw(ep diag interval)};
	my @parts = (
		fill(
			N__('{n} kernel records in the interval'),
			n => with_commas($self->{ev}->count_between(@$i{qw(start_ns end_ns)}))
		),
		fill(N__('{n} records lost'), n => with_commas($ep->lost_count))
	);
	if    ($self->{known}) { push @parts, fill(N__('dots: not told in this bundle')) }
	elsif (($self->_covered)[0] > $self->{from} || ($self->_covered)[1] < $self->{to}) {
		push @parts, fill(N__('dots: no records'));
	}
	push @parts,
		fill(
		N__('{share} % of the interval charged on exact evidence'),
		share => sprintf('%.0f', 100 * $d->{verdict}{exact})
		) if !$i->{guessed};
	return join " \x{2022} ", @parts, map { one_line($_) } $ep->damage;
}

1;
