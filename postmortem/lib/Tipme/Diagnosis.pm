# SPDX-License-Identifier: GPL-2.0-only
# All of a diagnosis: interval, stages, path, totals, verdict, and what they rest on.
package Tipme::Diagnosis;

use strict;
use warnings;
use Tipme::Advice qw(advise);
use Tipme::Blame;
use Tipme::Brought;
use Tipme::Candidates;
use Tipme::Circumstances;
use Tipme::Damage qw(damage_of);
use Tipme::DisplaySource;
use Tipme::Entry;
use Tipme::Felt;
use Tipme::InputPath;
use Tipme::Kernel;
use Tipme::Covered;
use Tipme::Kinds;
use Tipme::LateInput;
use Tipme::Segment;
use Tipme::Latency;
use Tipme::RanDry;
use Tipme::Meant   qw(meant_event);
use Tipme::Moment  qw(before_text moment ns_of stretch_of);
use Tipme::OwnCost qw(own_cost);
use Tipme::ProblemInterval;
use Tipme::Record::Layout;
use Tipme::Reason qw(reason);
use Tipme::Reasons;
use Tipme::Stall;
use Tipme::Stutter;
use Tipme::Living;
use Tipme::Steps   qw(steps);
use Tipme::Verdict qw(duration_text event_words judge judge_stall totals no_input);
use Tipme::WakeupChain;
use Tipme::WithoutInterval;
use Tipme::Words qw(N__ fill);

# of the kernel's records before the interval, so that states at its beginning are known
my $BEFORE_NS = 100_000_000;
# after an open interval: what comes later may tell whom it waited for
my $AFTER_NS = 2_000_000_000;
my $SLOWEST  = 5;               # told where nothing is unusual
# after an answer: what was asked for before it may be done only then
my $JUST_NS = 50_000_000;

# new(EPISODE, baseline => sub): everything that is read once; baseline->(KIND, COMM) answers what
# is usual elsewhere: (ns, how many events)
sub new {
	my ($class, $ep, %o) = @_;
	my $self =
		bless { episode => $ep, reasons => Tipme::Reasons->new($ep), baseline => $o{baseline} },
		$class;
	$self->_look;
	return $self;
}

# What input events are known by; blind: without what the kernel recorded.
sub _look {
	my ($self, %o) = @_;
	my $ep = $self->{episode};
	@$self{qw(path kernel)} = (Tipme::InputPath->new($ep), Tipme::Kernel->new($ep, %o));
	$self->{problem} = Tipme::ProblemInterval->new(
		episode => $ep, baseline => $self->{baseline},
		map { $_ => $self->{$_} } qw(path kernel reasons)
	);
	return;
}

# The interval that is asked for. Where records of it are damaged, the X server's alone say how long
# it was.
sub _choose {
	my ($self, %o) = @_;
	my $i = $self->{problem}->choose(%o) // return;
	return $i if !defined $self->_damage(@$i{qw(start_ns end_ns)});
	$self->_look(blind => 1);
	return $self->{problem}->choose(%o);
}

sub _damage {
	my ($self, $from, $to) = @_;
	return scalar damage_of($self->{episode}, $from, $to, $self->_kernel_files);
}

# events(): input events as InputPath has them; interval_of(EVENT): its problem interval or undef;
# answer_of(EVENT): when it ended, as ProblemInterval has it, or undef; threads(); states(FROM, TO)
sub episode     { return $_[0]{episode} }
sub events      { return $_[0]{path}->events }
sub interval_of { my ($self, $e) = @_; return $self->{problem}->interval($e) }
sub answer_of   { my ($self, $e) = @_; return $self->{problem}->response($e) }
# alike(KIND): the candidates of that kind
sub alike {
	my ($self, $kind) = @_;
	return grep { $_->{kind} eq $kind && $_->{candidate} } $self->events;
}
sub usual_responses { my ($self, $not) = @_; return $self->{problem}->usual_responses($not) }
sub threads         { return $_[0]{kernel}->threads }
sub servers         { return $_[0]{path}->servers }
sub states          { my ($self, $from, $to) = @_; return $self->{kernel}->states($from, $to) }

# judged_on(), judged_by(): the TaskStates and the WakeupChain that the last run() went by; undef:
# it judged no event
sub judged_on { return $_[0]{judged_on} }
sub judged_by { return $_[0]{judged_by} }

# of(EPISODE, event => N, at => NS): a diagnosis of an event; dies where there is none to be judged
sub of {
	my ($class, $ep, %o) = @_;
	my $d = $class->new($ep)->run(%o);
	die $ep->id . ": $d->{verdict}{sentence}\n" if !$d->{interval};
	return $d;
}

# run(event => N, at => NS, felt => as Tipme::Felt::parse has it): the data of `diagnose --json`
# (docs/diagnose-json.md); a time is in ns, or in seconds if it has a decimal point or is small; a
# negative one counts from the trigger; HH:MM:SS is by the clock
sub run {
	my ($self, %o) = @_;
	my $ep = $self->{episode};
	@o{qw(at at_to)} = stretch_of($ep, $o{at}) if defined $o{at};
	my $meant = defined $o{event} || defined $o{at} ? undef : meant_event($self);
	$o{event} = $meant if defined $meant;
	$o{felt}  = defined $o{event} || defined $o{at} ? undef : $o{felt} // Tipme::Felt::of($ep);
	my $late = defined $o{event}
		|| defined $o{at} ? undef : Tipme::Latency->of($ep, $self->{kernel}->threads)
		// Tipme::RanDry->of($ep, $self->{kernel}->covered_from);
	return $self->_whole($self->part_of_stall($late->stall, undef, $late)) if $late;
	my $i = $self->_choose(%o);

	if (my $brought = defined $o{event} || defined $o{at} ? undef : Tipme::Brought::part($self, $i))
	{
		return $self->_whole($brought);
	}
	my $felt = $o{felt} && ($i ? $i->{felt} : Tipme::Felt::told($o{felt}, 0, undef));
	if (my $part = $self->_jerky($felt)) { return $self->_whole($part) }
	$i->{chosen} = 1 if $i && !defined $o{event} && !defined $o{at};
	# Nothing to judge at all: then whatever stood still longest, or stood still at the time that
	# was asked for.
	my $stall =
		$i || defined $o{event} || $self->{path}->events
		? undef
		: Tipme::Stall->worst($ep, $self->{kernel}->threads, $o{at});
	my $part =
		  $i
		? $self->part_of($i)
		: $stall ? $self->part_of_stall(
		$stall,
		Tipme::WithoutInterval::verdict($self, %o, stall => 1)->{sentence}
		)
		: {
		verdict => Tipme::WithoutInterval::verdict($self, %o), path     => [],
		totals  => { %{ totals([]) }, threads => [] },         evidence => [], interval => undef,
		event   => undef,                                      overhead => undef
		};
	$part = $self->_nothing($part)
		if $part->{verdict}{kind} eq 'none' && !defined $o{event} && !defined $o{at};
	$part->{meant} = 1                                                  if defined $meant;
	$part->{felt}  = Tipme::Felt::with_verdict($felt, $part->{verdict}) if $felt;
	return $self->_whole($part);
}

# Who saw something move and then stand still means a picture, where no press was slow.
sub _jerky {
	my ($self, $felt) = @_;
	return if !$felt || ($felt->{what} // '') ne 'smooth' || $felt->{found};
	my $part = $self->_stutter or return;
	return { %$part, felt => Tipme::Felt::told($felt, 1, undef) };
}

# run_thread(TID, FROM, TO): the same for what a thread did in a stretch of time that somebody
# measured: FROM and TO as `at` of run()
sub run_thread {
	my ($self, $tid, @times) = @_;
	my $ep = $self->{episode};
	my ($from, $to) = map { ns_of($ep, $_) } @times;
	die "--from $times[0] --to $times[1]: nothing lies between: give the earlier one first\n"
		if $to <= $from;
	my ($first, $last) = ($self->{kernel}->covered_from, $ep->end_ns);
	die sprintf(
		"--from %s --to %s: the records of this episode go from %.6f s to %.6f s\n",
		@times, $first / 1e9, $last / 1e9
	) if $to <= $first || $from >= $last;
	# Threads that lived for less than a second may be in no picture.
	my $seen = $self->{kernel}->states($from - $BEFORE_NS, $to + $AFTER_NS)->events->of_tid($tid);
	die
		"--thread $tid: no such thread is in the records of this episode: `tipme diagnose -v` lists those of the verdict\n"
		if !@$seen && !$self->{kernel}->threads->at($tid, $to)->{known};
	return $self->_whole(
		$self->part_of_stall({ tid => $tid, start_ns => $from, end_ns => $to, what => 'asked' }));
}

sub _whole {
	my ($self, $part) = @_;
	my ($ep,   $v)    = ($self->{episode}, $part->{verdict});
	Tipme::Brought::facts($v, $ep) if $v->{circumstances};
	%$v = (circumstances => [], %$v, %{ advise($v, $self->{episode}->id) });
	my $here = Tipme::Living::same_boot($ep);
	my $pid  = $here ? ($v->{blamed} // {})->{pid} : undef;
	$v->{steps} = steps(
		$v,
		$ep->manifest->{state} // {},
		here   => $here,
		living => defined $pid
		? scalar Tipme::Living::of(
			$pid, $self->{kernel}->threads->at($pid, $ep->trigger_ns)->{start_ns}
			)
		: undef
	);
	_spell($part->{path}, $v);
	$v->{short}   = Tipme::Kinds::short($v->{kind}, @{ $v->{blamed} // {} }{qw(comm pid)});
	$part->{when} = $part->{interval} ? moment($ep, $part->{interval}{start_ns}) : undef;
	$part->{when}{text} =
		before_text($ep->manifest->{trigger}{kind}, $part->{when}{before_trigger_ns})
		if $part->{when};
	return {
		%{ $self->_facts }, %$part, sampled => $self->{kernel}->sampled ? 1 : 0,
		damage => [ $ep->damage ], unknown_records => $ep->unknown_count
	};
}

# Words come last: what was decided by the codes of reasons is decided.
sub _spell {
	my ($path, $v) = @_;
	Tipme::Reason::spell($path, 'reason');
	Tipme::Reason::spell(
		[ $v->{blamed} // (), map { ($_->{blamed}, @{ $_->{among} // [] }) } @$path ], 'detail');
	my @facts = @{ $v->{circumstances} };
	$v->{circumstance_facts} = [@facts];
	@$v{qw(circumstances circumstance_codes)} = (
		[ map { Tipme::Reason::words($_) } @facts ],
		[ map { Tipme::Reason::code_of($_) } @facts ]
	);
	return;
}

sub _facts {
	my ($self) = @_;
	my $ep = $self->{episode};
	return {
		version => 1,                        id       => $ep->id, time => $ep->manifest->{time},
		trigger => $ep->manifest->{trigger}, coverage => [ $ep->coverage ], lost => $ep->lost
	};
}

# Nothing is proven slow. Who has just pressed the hot-key is told what was slowest, what may have
# been slow and is not proven, what was not observed, and the worst beside the input.
sub _nothing {
	my ($self, $part) = @_;
	my $p = $self->{problem};
	my $c = Tipme::Candidates->new(
		episode => $self->{episode}, kernel => $self->{kernel},
		path    => $self->{path},    caused => $p->caused, rest => $p->rest, problem => $p
	);
	my $stutter = $self->_stutter;
	return { %$stutter, slowest => $self->slowest }
		if $stutter && $stutter->{verdict}{stutter}{sure};
	my @unproven =
		($self->{episode}->manifest->{trigger}{kind} // '') eq 'hotkey' ? $c->unproven : ();
	my ($first) = grep { !Tipme::Candidates::weak($_) } @unproven;
	if ($first) {
		my $i = $p->interval(
			$first->{event},
			{
				first_ns => undef,            end_ns => $first->{end_ns}, open => $first->{open},
				damage   => $first->{damage}, exact  => 0
			}
		);
		$part = $self->part_of($i);
		Tipme::Candidates::told($part, $first);
	}
	$part->{candidates} = [
		map {
			my $x = $_;
			+{ map { $_ => $x->{$_} }
					qw(n kind pid comm start_ns end_ns possible_ns open why words by others) }
		} @unproven
	];
	$part->{verdict}{sentence} .=
		Tipme::Covered::words(Tipme::Brought::quiet($self, $self->{kernel}->sampled)->{covered_ns})
		if $part->{verdict}{kind} eq 'none';
	$part->{slowest} = $self->slowest;
	push @{ $part->{verdict}{circumstances} },
		Tipme::LateInput::facts(
		$part->{verdict}, $self->{episode}, [ $self->events ],
		$self->{path}->servers
		);
	push @{ $part->{verdict}{circumstances} },
		(map { Tipme::Candidates::said($_) } grep { !$first || $_ != $first } @unproven),
		$stutter
		? fill(
		N__('{picture}; whether it had anything to show then is not known.'),
		picture => $stutter->{verdict}{head}
		)
		: (), $c->unseen, $c->beside // ();
	return $part;
}

# A picture that moved and then stood still: judged from the thread that drew the next frame, back
# to when that was due. sure: not by its own wish, as far as is known.
sub _stutter {
	my ($self) = @_;
	my $g = Tipme::Stutter->worst($self->{episode}->trigger_ns, $self->{path}->servers) or return;
	return
		   if !$self->{kernel}->has_records
		|| $self->{kernel}->sampled
		|| $g->{from_ns} < $self->{kernel}->covered_from;
	my $asked = $g->{source}->asked_ns(undef, $g->{draw});
	my ($tid, $ran) = $self->{problem}
		->caused->last_ran($self->{kernel}->states($g->{last_ns}, $asked), $g->{pid}, $asked);
	return if !defined $tid || $ran <= $g->{from_ns};
	my $part = $self->part_of_stall(
		{
			tid => $tid,      start_ns => $g->{from_ns}, end_ns => $ran, what => 'stutter',
			of  => $g->{pid}, source   => $g->{source},  missed => $g->{missed}
		}
	);
	my ($v, $clock) = ($part->{verdict}, delete $part->{by_clock_ns});
	my $own =
		   Tipme::Stutter->by_input($g, $self->events)
		|| Tipme::Stutter->at_start($g, $self->{kernel}->threads, $self->{kernel}->covered_from)
		|| $v->{kind} =~ /\A(?:timer-sleep|time-out|unknown|none)\z/
		|| $v->{kind} =~ /\A(?:ipc|futex)-wait\z/ && ($v->{blamed}{pid} // 0) == $g->{pid}
		|| 2 * $clock > $part->{interval}{duration_ns};
	$v->{stutter} = {
		pid        => $g->{pid},
		missed     => $g->{missed},
		period_ns  => int $g->{period_ns},
		last_ns    => $g->{last_ns},
		next_ns    => $g->{to_ns},
		compositor => $g->{paints} ? 1 : 0,
		sure       => $own         ? 0 : 1,
		stood      => {
			tid   => $tid, source_pid => $g->{source}{pid} // 0, from_ns => $g->{from_ns},
			to_ns => $ran
		}
	};
	return $part;
}

# slowest(): the presses that were answered latest, up to five: { n, kind, comm, duration_ns, time
# }, the latest answer first. Those that the X records show to be late are looked at closely.
sub slowest {
	my ($self) = @_;
	my @c =
		sort { $b->[1] <=> $a->[1] || $a->[0]{n} <=> $b->[0]{n} }
		map  { [ $_, $_->{bursts}[-1][1] - $_->{device_ns} ] }
		grep {
			   $_->{candidate}
			&& $_->{device_ns} > $self->{kernel}->covered_from
			&& ref $_->{bursts} eq 'ARRAY'
			&& @{ $_->{bursts} }
			&& $_->{kind} =~ /press|repeat|touch|wheel|start/
		} $self->events;
	splice @c, 4 * $SLOWEST if @c > 4 * $SLOWEST;
	my @i = sort { $b->{end_ns} - $b->{start_ns} <=> $a->{end_ns} - $a->{start_ns} }
		grep {defined} map { scalar $self->interval_of($_->[0]) } @c;
	splice @i, $SLOWEST if @i > $SLOWEST;
	return [
		map {
			my $e = $_->{event};
			+{
				n    => $e->{n}, kind => $e->{kind}, duration_ns => $_->{end_ns} - $_->{start_ns},
				comm => $e->{pid}
				? $self->{kernel}->threads->at($e->{pid}, $_->{end_ns})->{comm}
				: Tipme::DisplaySource::unnamed($e->{client}),
				time => moment($self->{episode}, $_->{start_ns})->{time}
			}
		} @i
	];
}

# part_of(INTERVAL): the part of a diagnosis that is about it; part_of_stall(): the same of a thread
# that stood still
sub part_of {
	my ($self, $i) = @_;
	my $e = $i->{event};
	my ($from, $to) = @$i{qw(start_ns end_ns)};
	my $end = $i->{open} ? $self->_min($to + $AFTER_NS, $self->{episode}->end_ns) : $to + $JUST_NS;
	$end = $to + $JUST_NS if $end < $to + $JUST_NS;
	my $states = $self->{kernel}->states($from - $BEFORE_NS, $end);
	my $chain  = $self->{problem}->caused->chain($states, $e);
	@$self{qw(judged_on judged_by)} = ($states, $chain);
	my $threads = $self->{kernel}->threads;
	my $blame   = Tipme::Blame->new(
		threads => $threads, events => $states->events, resources => $states->resources,
		chain => $chain, server => $e->{server}, client_pid => $e->{pending} ? -1 : $e->{pid} || -1,
		client       => $e->{pending} ? undef : $e->{client},
		held_input   => $e->{held}, answered_ns => $i->{damage} ? $to : undef,
		early_signal => sub { return $self->{kernel}->stop_signal(@_) },
		early_sleeps => sub { return $self->{kernel}->woken_from(@_) }
	);
	my $path = $blame->path(
		$self->_from_interrupt($i, $states, $self->_segments($i, $states, $chain, $blame)));
	my $cursor = ($e->{motion} // '') eq 'cursor';
	my $client =
		  $e->{pending} ? { pid => -1, comm => $e->{server}{name} // 'the X server' }
		: $cursor       ? { pid => -1, comm => 'the pointer' }
		: !$e->{pid}    ? { pid => -1, comm => Tipme::DisplaySource::unnamed($e->{client}) }
		:                 $threads->at($e->{pid}, $to);
	my $totals  = totals($path);
	my $verdict = judge(
		$i, $path, totals => $totals, client => $client, server => $e->{server}, from => $from,
		parent    => sub { $self->_parent($_[0], $to) },
		ancestors => sub { $threads->ancestors(@_) }
	);
	Tipme::Circumstances->new(
		states  => $states,          threads  => $threads, to => $to,
		episode => $self->{episode}, usual_ns => $i->{usual_ns}
	)->of($verdict, $path)
		if $verdict->{blamed};
	Tipme::LateInput::often($verdict, $from, $to, @{ $e->{server}{input} // [] });
	$self->_slept($verdict, $from, $to);
	$self->_asked_before($verdict, $e, $to) if $verdict->{blamed} && $i->{chosen};
	return {
		interval => {
			start_ns => $from, end_ns => $to, duration_ns => $to - $from,
			certainty => $i->{open} ? 'open' : $i->{start_exact}
				&& $i->{exact} ? 'exact' : 'inferred',
			gone => $i->{gone} ? 1 : 0, busy => $i->{busy} ? 1 : 0, usual_ns => $i->{usual_ns},
			usual_count => $i->{usual_count}, usual_where => $i->{usual_where},
			excess_ns   => $i->{excess_ns}
		},
		event => {
			n => $e->{n}, kind => $e->{kind}, input_seq => $e->{seq}, client => $e->{pending}
				|| $cursor ? undef : { pid => $e->{pid} || undef, comm => $client->{comm} },
			server => {
				pid    => $e->{server}{pid}, tid => $e->{server}{tid}, name => $e->{server}{name},
				source => $e->{server}{source}
			},
			stages => $self->_stages($i, $states)
		},
		path     => $path,
		totals   => { %$totals, threads => $self->_thread_sums($path, $states, $from, $to) },
		verdict  => $verdict,
		evidence => $self->_evidence($i, $path, $verdict),
		overhead => own_cost($self->{episode}->manifest, $states->events, $from, $to),
		left_out => $states->events->left_out,
	};
}

# No input event: the path of what a thread waited for, and nothing of an X server. WHY there is
# none. LATE: a latency of the driver's, or a stream of sound that ran dry.
sub part_of_stall {
	my ($self, $stall, $why, $late) = @_;
	my ($from, $to)                 = @$stall{qw(start_ns end_ns)};
	my ($states, $threads, $x)      = (
		$self->{kernel}->states($from - $BEFORE_NS, $to + $AFTER_NS), $self->{kernel}->threads,
		$stall->{source} // Tipme::DisplaySource->none
	);
	my $who   = $threads->at($stall->{of} // $stall->{tid}, $to);
	my $chain = Tipme::WakeupChain->new(
		states  => $states, threads => $threads,
		reasons => $self->{reasons}, server_tid => $x->{tid}, server_pid => $x->{pid},
		$stall->{source} ? (server => $x) : (), client_pid => $who->{pid}
	);
	my $blame = Tipme::Blame->new(
		threads      => $threads, events => $states->events, resources  => $states->resources,
		chain        => $chain,   server => $x,              client_pid => $who->{pid},
		early_signal => sub { return $self->{kernel}->stop_signal(@_) },
		early_sleeps => sub { return $self->{kernel}->woken_from(@_) }
	);
	my $walk    = sub { return $chain->walk($stall->{tid}, $_[0], $to) };
	my $path    = $blame->path($late ? $late->segments($states, $threads, $walk) : $walk->($from));
	my $totals  = totals($path);
	my $verdict = judge_stall(
		{ %$stall, open => 0, usual_count => 0 }, $path, totals => $totals, why => $why,
		client => $who, server => $x, from => $from, parent => sub { $self->_parent($_[0], $to) },
		ancestors => sub { $threads->ancestors(@_) }
	);
	Tipme::Circumstances->new(
		states  => $states, threads => $threads, to => $to,
		episode => $self->{episode}
	)->of($verdict, $path)
		if $verdict->{blamed};
	$self->_slept($verdict, $from, $to);
	return {
		interval => {
			start_ns => $from, end_ns      => $to, duration_ns => $to - $from, certainty => 'exact',
			usual_ns => undef, usual_count => 0,   usual_where => undef, excess_ns => $to - $from
		},
		$stall->{what} eq 'stutter' ? (by_clock_ns => Tipme::Stutter->by_clock($chain)) : (),
		event    => undef,
		path     => $path,
		totals   => { %$totals, threads => $self->_thread_sums($path, $states, $from, $to) },
		verdict  => $verdict,
		evidence => $self->_evidence_of_path($path, $verdict),
		overhead => own_cost($self->{episode}->manifest, $states->events, $from, $to),
		left_out => $states->events->left_out,
		$late ? ($stall->{what} => $late->facts($states, $threads)) : (),
	};
}

sub _asked_before {
	my ($self, $v, $e, $to) = @_;
	my $t = $self->{episode}->manifest->{trigger};
	return if !defined $t->{before_ns} || Tipme::ProblemInterval::entered_ns($e) > $t->{before_ns};
	my $time = duration_text($t->{ns} - $t->{before_ns});
	# What lasted on is not over; what was over then has been reported.
	if ($to > $t->{before_ns}) {
		push @{ $v->{circumstances} }, reason('asked-before', time => $time);
		return;
	}
	$v->{before} = { kind => $v->{kind}, blamed => $v->{blamed}, sentence => $v->{sentence} };
	@$v{qw(kind blamed share share_ns second likely)} = ('none', undef, 0, 0, undef, 0);
	$v->{sentence} = fill(
		N__('Nothing slow since your last report {time} ago. Before that: {sentence}'),
		time => $time, sentence => $v->{before}{sentence}
	);
	return;
}

# The kernel's clock stands still while the machine sleeps, so nobody is charged with it; that it
# slept must be said, since the times around it are of no ordinary run.
sub _slept {
	my ($self, $v, $from, $to) = @_;
	for my $s ($self->{episode}->suspends($from, $to)) {
		my $within = $s->{from_ns} >= $from && $s->{to_ns} <= $to;
		my ($first, $last) = map { sprintf '%.3f', $s->{$_} / 1e9 } qw(from_ns to_ns);
		push @{ $v->{circumstances} }, reason(
			'machine-slept' . ($first eq $last ? '-at' : '') . ($within ? '' : '-perhaps'),
			slept => duration_text($s->{slept_ns}), first => $first,
			last  => $first eq $last ? undef : $last
		);
	}
	return;
}

sub _min { my ($self, $a, $b) = @_; return $a < $b ? $a : $b }

sub _parent {
	my ($self, $b, $t) = @_;
	return if !$b->{parent};
	my $p = $self->{kernel}->threads->at($b->{parent}, $t);
	return $p->{known} && $p->{comm} ne '?' ? $p->{comm} : undef;
}

# Closed: backwards from the server that changed the screen; open: from the client, which still has
# to.
sub _segments {
	my ($self, $i, $states, $chain, $blame) = @_;
	my $e   = $i->{event};
	my %how = (shorten => sub { return $blame->shorten(@_) });
	my ($from, $to, $td) = (_woken_from($i), $i->{end_ns}, $e->{deliver_ns});
	if (defined(my $what = $self->_damage($from, $to))) {
		return [
			Tipme::Segment->new(
				tid    => $e->{pending} ? $e->{server}{tid} : $e->{pid} // 0, from => $from,
				to     => $to,                              state => 'unknown', kind => 'unknown',
				reason => reason('damaged', what => $what), exact => 0,         evidence => []
			)
		];
	}
	if (!$self->{kernel}->has_records) {
		return [
			Tipme::Segment->new(
				tid => $e->{pid}, from => $from,   to => $to, state => 'unknown', kind => 'unknown',
				reason => 'no-kernel', exact => 0, evidence => []
			)
		];
	}
	return $chain->walk($e->{server}{tid}, $from, $to, %how)    if $e->{pending};
	return $self->_segments_of_frame($i, $states, $chain, %how) if $i->{frame};
	return $chain->walk(
		$i->{tid} // $e->{pid}, $from, $to, %how, deliver_ns => $td,
		via => [ _parent_at_birth($e), $i->{asked} ? [ @{ $i->{asked} }, 1 ] : () ]
	) if $i->{open} || $i->{busy};
	return $chain->walk($e->{server}{tid}, $from, $to, %how) if ($e->{motion} // '') eq 'cursor';
	return $chain->walk(
		$e->{server}->changed_by($i->{damage}),
		$from, $to, %how,
		deliver_ns => $td,
		via        => [
			grep {defined} _parent_at_birth($e), $i->{asked} ? [ @{ $i->{asked} }, 1 ] : undef,
			$self->_via($i, $states) // undef,   $self->{problem}->caused->handed_in($i, $states)
		]
	);
}

# Before a program was there, whoever made it had the time; and the way there leads through it.
sub _parent_at_birth {
	my ($e) = @_;
	my $s = $e->{start};
	return $s ? [ @$s{qw(parent born_ns)}, 0, undef, undef, $s->{pid} ] : ();
}

# Backwards from the screen: the server that painted, the compositor that had asked it to, from
# where the client had drawn on as without a compositor.
# Where nothing has been painted yet, from the compositor.
sub _segments_of_frame {
	my ($self, $i, $states, $chain, %how) = @_;
	my ($e, $f) = @$i{qw(event frame)};
	my $p = $self->{problem}->caused;
	my ($tid, $ran) = $p->last_ran($states, $f->{pid}, $f->{asked_ns} // $i->{end_ns});
	my @via = grep {defined} _parent_at_birth($e), $i->{asked} ? [ @{ $i->{asked} }, 1 ] : undef,
		$self->_via($i, $states) // undef;
	push @via, $p->handed_in($i, $states),
		[ $e->{server}->changed_by($i->{damage}), $i->{drawn_ns}, 0 ];
	push @via, [ $tid, $ran, 0 ] if defined $tid && defined $f->{ns} && $ran > $i->{drawn_ns};
	return $chain->walk(
		defined $f->{ns} ? $e->{server}->changed_by($i->{damage}) : $tid // $f->{pid},
		_woken_from($i), $i->{end_ns}, %how, deliver_ns => $e->{deliver_ns}, via => \@via,
		frame => { pid => $f->{pid}, from => $i->{drawn_ns} }
	);
}

# Files that say which thread did what, and who it was.
sub _kernel_files {
	my ($self) = @_;
	my %seen;
	return grep { !$seen{$_}++ }
		map     { $_->{file} }
		grep    { $_->{source} !~ /^x_/ } @{ $self->{episode}->manifest->{sources} };
}

# From when on threads can have to do with an event: since the input core had it. Before that the
# interrupt had.
sub _woken_from {
	my ($i) = @_;
	return $i->{entered} && $i->{event}{server}{exact} ? $i->{entered}{core_ns} : $i->{start_ns};
}

# Up to when the input core had it, and on to the end of it while the server still slept, the
# interrupt that brought the event had the CPU.
sub _from_interrupt {
	my ($self, $i, $states, $segments) = @_;
	my ($from, $core) = ($i->{start_ns}, _woken_from($i));
	return $segments if $core <= $from || !@$segments;
	my ($irq) = Tipme::Entry::brings($states->resources, $i->{entered}{cpu}, $core);
	my $first = $segments->[0];
	return [
		$first->with(
			from   => $from,          to    => $core, state    => 'unknown', kind => 'unknown',
			reason => 'no-interrupt', exact => 0,     evidence => []
		),
		@$segments
		]
		if !$irq;
	my $by = Tipme::Segment->new(
		state => $first->{state},
		tid   => $first->{tid},
		exact => 1,
		cpu   => $i->{entered}{cpu},
		by    => Tipme::Interference->new(
			resources => $states->resources, threads => $self->{kernel}->threads
		)->bringing($irq),
		evidence => [ $irq->{index} ]
	);
	return [ $by->with(from => $from, to => $core), @$segments ] if $first->{state} !~ /sleep/;
	my $end = $irq->{to} < $first->{to} ? $irq->{to} : $first->{to};
	return [
		$by->with(from => $from, to => $end),
		$end < $first->{to} ? $first->with(from => $end) : (), @$segments[ 1 .. $#$segments ]
	];
}

# Where the server was awake already when the client asked, its own waking does not lead to the
# client: then the walk goes to the client at the time when that last ran before the request was
# begun.
sub _via {
	my ($self, $i, $states) = @_;
	my $e     = $i->{event};
	my $p     = $self->{problem}->caused;
	my $begun = $p->request_ns($e, $i->{damage});
	my ($tid, $ran, $rest) = $p->asked_by($e, $states, $i->{damage}, $begun);
	return if !defined $tid || $ran <= $e->{deliver_ns};
	my $s = $states->before($e->{server}{tid}, $begun);
	$s = $states->before($e->{server}{tid}, $s->{from})
		while $s && $s->{kind} ne 'blocked' && $s->{from} > $states->from;

	if ($s && $s->{kind} eq 'blocked' && defined $s->{wake} && $s->{to} > $e->{deliver_ns}) {
		my ($ev, $w) = ($states->events, $s->{wake});
		my $by  = $ev->context($w) == 0 ? $ev->waker($w) : $ev->sched_waking_raiser_tid($w);
		my $own = $by && $self->{kernel}->threads->at($by, $s->{to})->{pid} == $e->{pid};
		return if $own && !$rest && !$p->sent_for($e, $states, $e->{pid}, $by, $s->{to}, 1);
	}
	return [ $tid, $ran, 0 ];
}

# The stages from finger to screen; what did not happen (yet) is not listed.
sub _stages {
	my ($self, $i, $states) = @_;
	my $e     = $i->{event};
	my $exact = $e->{server}{exact} ? 'exact' : 'inferred';
	my $core  = _woken_from($i);
	my @s     = (
		(map { [ interrupt => $_, 'exact' ] } grep { $_ < $core } $i->{start_ns}),
		[ input => $core, $i->{start_exact} ? 'exact' : 'inferred' ]
	);
	push @s, [ read => $e->{read_ns}, $exact ]
		if defined $e->{read_ns} && $e->{read_ns} >= $i->{start_ns};
	push @s, [ server => $e->{wakeup_ns}, $exact ]
		if defined $e->{wakeup_ns} && $e->{wakeup_ns} >= $i->{start_ns};
	return _named(@s) if $e->{pending};
	push @s, [ device => $e->{device_ns}, $exact ];
	return _named(@s, [ feedback => $i->{end_ns}, $exact ]) if ($e->{motion} // '') eq 'cursor';
	push @s, [ deliver => $e->{deliver_ns}, $exact ];
	push @s, [ born => $e->{start}{born_ns}, 'exact' ] if $e->{start};
	my $run = $self->_first_run($e, $states, $i->{end_ns});
	push @s, [ client => $run, 'exact' ] if defined $run;
	my @asked = grep { $_->{client} == $e->{client} }
		$e->{server}->between('request', $e->{deliver_ns}, $i->{end_ns});
	# What the server begins before the client has run, that had asked for earlier. (Where the
	# record of its running is lost there may be none later.)
	my ($r) = ((grep { $_->{ts_ns} >= ($run // 0) } @asked), @asked);
	my $asked =
		$r ? $r->{ts_ns} : $e->{server}->first_asked($e, $states, $e->{deliver_ns}, $i->{end_ns});
	push @s, [ request => $asked, $exact ] if defined $asked;
	push @s, map { [ drawn => $_, $exact ] } grep {defined} $i->{drawn_ns};
	push @s,
		map { [ told => $_, $exact ] }
		grep { defined && $_ >= $i->{start_ns} } ($i->{frame} // {})->{told_ns};
	push @s, map { [ painting => $_, $exact ] } grep {defined} ($i->{frame} // {})->{asked_ns};
	@s = sort { $a->[1] <=> $b->[1] } @s if $i->{frame};
	push @s, [ $i->{busy} ? 'free' : 'feedback', $i->{end_ns}, $i->{busy} ? 'exact' : $exact ]
		if !$i->{open};
	return _named(@s);
}

sub _named {
	return [ map { { name => $_->[0], ts_ns => $_->[1], certainty => $_->[2] } } @_ ];
}

sub _first_run {
	my ($self, $e, $states, $end) = @_;
	my $first;
	for my $tid ($e->{pid}, grep { $_ != $e->{pid} } $self->{kernel}->threads->tids_of($e->{pid})) {
		next if !@{ $states->events->of_tid($tid) };
		my ($i) = grep { $_->{kind} eq 'running' && $_->{to} > $e->{deliver_ns} }
			@{ $states->intervals($tid) };
		next if !$i || $i->{from} >= $end;
		my $t = $i->{from} > $e->{deliver_ns} ? $i->{from} : $e->{deliver_ns};
		$first = $t if !defined $first || $t < $first;
	}
	return $first;
}

sub _thread_of {
	my ($self, $tid, $t) = @_;
	my $w = $self->{kernel}->threads->at($tid, $t - 1);
	return { tid => $tid, pid => $w->{pid}, start_time_ns => $w->{start_ns}, comm => $w->{comm} };
}

# What each thread of the path did in the interval: the parts add up to it, or the sum dies.
sub _thread_sums {
	my ($self, $path, $states, $from, $to) = @_;
	my (%seen, @out);
	# A bundle has what a thread did off the path as sums.
	my %aside =
		map { $_->{tid} => $_ } @{ ($self->{episode}->manifest->{bundle} // {})->{aside} // [] };
	require Tipme::Cut if %aside;
	my $of = %aside ? Tipme::Cut::stretches($path) : {};
	# a program that was called meanwhile: the last
	my %name = map { $_->{tid} => $_->{comm} } @$path;
	for my $p (
		map {
			my $p = $_;
			(
				$p,
				map {
					defined $_->{of_tid} && $_->{of_tid} != $p->{tid}
						? $self->_thread_of($_->{of_tid}, $p->{to_ns})
						: ()
				} @{ $p->{among} // [] }
			)
		} @$path
		)
	{
		next if !$p->{tid} || $seen{ $p->{tid} }++;
		my $s   = $states->sums($p->{tid}, $from, $to);
		my $who = {
			tid  => $p->{tid}, pid => $p->{pid}, start_time_ns => $p->{start_time_ns},
			comm => $name{ $p->{tid} } // $p->{comm}
		};
		if (my $rest = $aside{ $p->{tid} }) {
			my $on = Tipme::Cut::on_path($states, $of->{ $p->{tid} }, $p->{tid});
			push @out, { %$who, map { $_ => $on->{$_} + $rest->{$_} } keys %$on };
			next;
		}
		push @out, {
			%$who, running_ns => $s->{running}, runnable_ns => $s->{runnable},
			blocked_ns => $s->{blocked},    absent_ns      => $s->{absent}, irq_ns => $s->{irq_ns},
			softirq_ns => $s->{softirq_ns}, net_running_ns => $s->{net_running}
		};
	}
	return \@out;
}

# The records on which the verdict rests: the event's own, and those of the largest stretches that
# were blamed.
sub _evidence {
	my ($self, $i, $path, $v) = @_;
	my $e  = $i->{event};
	my $x  = $e->{server};
	my @ev = (
		{ what => fill(N__('input event')), %{ $x->evidence($e->{device_record}) } },
		$e->{deliver_record}
		? { what => fill(N__('delivery')), %{ $x->evidence($e->{deliver_record}) } }
		: ()
	);
	push @ev, { what => fill(N__('feedback')), %{ $x->evidence($i->{damage}) } } if $i->{damage};
	return [ @ev, @{ $self->_evidence_of_path($path, $v) } ];
}

sub _evidence_of_path {
	my ($self, $path, $v) = @_;
	my @ev;
	my @big = sort {
			   $b->{to_ns} - $b->{from_ns} <=> $a->{to_ns} - $a->{from_ns}
			|| $a->{from_ns} <=> $b->{from_ns}
	} grep { $_->{blamed}{kind} eq $v->{kind} } @$path;
	my %seen;
	for my $p (grep {defined} @big[ 0 .. 4 ]) {
		my @r = grep { !$seen{"$_->{file} $_->{record}"}++ } @{ $p->{evidence} };
		my $what =
			$p->{state} =~ /^(?:running|runnable)$/
			? "$p->{comm} ($p->{tid}) "
			. fill($p->{state} eq 'running' ? N__('running') : N__('runnable'))
			: "$p->{comm} ($p->{tid}) " . Tipme::Reason::words($p->{reason});
		$what .=
			": $p->{blamed}{comm} ($p->{blamed}{tid}) " . Tipme::Reason::words($p->{blamed}{detail})
			if $p->{state} eq 'runnable' && defined $p->{blamed}{tid};
		push @ev, { what => $what, %{ $r[0] } } if @r;
		push @ev, { what => fill(N__('... until')), %{ $r[-1] } } if @r > 1;
	}
	return \@ev;
}

1;
