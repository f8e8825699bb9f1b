# SPDX-License-Identifier: GPL-2.0-only
# What a timeline picture shows, collected from an episode and its diagnosis: plain data for
# Tipme::Timeline::Picture.
package Tipme::Timeline;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use parent             qw(Tipme::Timeline::Cpus Tipme::Timeline::Path Tipme::Timeline::Said);
use List::Util         qw(max min sum0);
use Tipme::CommandLine qw(ms with_commas);
use Tipme::KernelEvents;
use Tipme::Printable qw(one_line);
use Tipme::Timeline::Known;
use Tipme::Timeline::Paper;
use Tipme::Timeline::Style;
use Tipme::Timeline::Reduce qw(reduce_spans);
use Tipme::Words            qw(N__ fill);

my $MAX_LANES  = 14;           # rows of threads; a picture of more is higher than a screen
my $MARGIN     = 0.06;         # of the interval, shown before and after it
my $MIN_MARGIN = 2_000_000;    # ns beside the interval, whatever its length

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
	return $Tipme::Timeline::Style::DRAWN{ $i->{state} } // 'blocked';
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
	my $list = $ev->of_tid($tid);
	$list = [ sort { $a <=> $b } @changes, grep { !_is_change($ev, $_) } @$list ] if @changes;
	for my $i (@$list) {
		my $t = vec $ev->{ts}, $i, 64;
		if (@changes && _is_change($ev, $i)) {
			_priority_from(\@p, $t, $ev->priority_new_prio($i));
			$came = undef;
		} elsif (vec($ev->{type}, $i, 8) != Tipme::KernelEvents::SWITCH) {
			next;
		} elsif (vec($ev->{tid}, $i, 32) == $tid) {
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

sub _is_change {
	my ($ev, $i) = @_;
	return vec($ev->{type}, $i, 8) == Tipme::KernelEvents::PRIORITY;
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

1;
