# SPDX-License-Identifier: GPL-2.0-only
# All of a diagnosis: interval, stages, path, totals, verdict, and what they rest on.
package Tipme::Diagnosis;

use strict;
use warnings;
use List::Util    qw(min);
use Tipme::Advice qw(advise);
use Tipme::Blame;
use Tipme::Brought;
use Tipme::Circumstances;
use Tipme::Damage qw(damage_of);
use Tipme::Diagnosis::Evidence;
use Tipme::Diagnosis::Nothing;
use Tipme::Diagnosis::Stages;
use Tipme::Diagnosis::StoodStill;
use Tipme::Diagnosis::Sums;
use Tipme::Diagnosis::Walk;
use Tipme::DisplaySource;
use Tipme::Entry qw(entered_ns);
use Tipme::Felt;
use Tipme::InputPath;
use Tipme::Kernel;
use Tipme::Kinds;
use Tipme::LateInput;
use Tipme::Latency;
use Tipme::RanDry;
use Tipme::Meant   qw(meant_event);
use Tipme::Moment  qw(before_text moment ns_of stretch_of);
use Tipme::OwnCost qw(own_cost);
use Tipme::ProblemInterval;
use Tipme::Reason qw(reason);
use Tipme::Reasons;
use Tipme::Stall;
use Tipme::Stutter;
use Tipme::Living;
use Tipme::Steps   qw(steps);
use Tipme::Verdict qw(duration_text judge judge_stall totals);
use Tipme::WakeupChain;
use Tipme::WithoutInterval;
use Tipme::Words qw(N__ fill);

# of the kernel's records before the interval, so that states at its beginning are known
my $BEFORE_NS = 100_000_000;
# after an open interval: what comes later may tell whom it waited for
my $AFTER_NS = 2_000_000_000;
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
# slowest(): the presses that were answered latest, as Diagnosis::Nothing has them
sub slowest         { return Tipme::Diagnosis::Nothing::slowest(@_) }
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
	$part = Tipme::Diagnosis::Nothing::with($self, $part)
		if $part->{verdict}{kind} eq 'none' && !defined $o{event} && !defined $o{at};
	$part->{meant} = 1                                                  if defined $meant;
	$part->{felt}  = Tipme::Felt::with_verdict($felt, $part->{verdict}) if $felt;
	return $self->_whole($part);
}

# Who saw something move and then stand still means a picture, where no press was slow.
sub _jerky {
	my ($self, $felt) = @_;
	return if !$felt || ($felt->{what} // '') ne 'smooth' || $felt->{found};
	my $part = Tipme::Diagnosis::StoodStill::part($self) or return;
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

# part_of(INTERVAL): the part of a diagnosis that is about it; part_of_stall(): the same of a thread
# that stood still
sub part_of {
	my ($self, $i) = @_;
	my $e = $i->{event};
	my ($from, $to) = @$i{qw(start_ns end_ns)};
	my $end = $i->{open} ? min($to + $AFTER_NS, $self->{episode}->end_ns) : $to + $JUST_NS;
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
	my $walk = Tipme::Diagnosis::Walk->new(
		kernel => $self->{kernel}, caused => $self->{problem}->caused,
		damage => sub { return $self->_damage(@_) }
	);
	my $path   = $blame->path($walk->path($i, $states, $chain, sub { return $blame->shorten(@_) }));
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
			stages => Tipme::Diagnosis::Stages::of($i, $states, $threads)
		},
		path     => $path,
		totals   => { %$totals, threads => $self->_sums($path, $states, $from, $to) },
		verdict  => $verdict,
		evidence => Tipme::Diagnosis::Evidence::of($i, $path, $verdict),
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
		totals   => { %$totals, threads => $self->_sums($path, $states, $from, $to) },
		verdict  => $verdict,
		evidence => Tipme::Diagnosis::Evidence::of_path($path, $verdict),
		overhead => own_cost($self->{episode}->manifest, $states->events, $from, $to),
		left_out => $states->events->left_out,
		$late ? ($stall->{what} => $late->facts($states, $threads)) : (),
	};
}

sub _sums {
	my ($self, @of) = @_;
	return Tipme::Diagnosis::Sums::of(
		@of,
		manifest => $self->{episode}->manifest,
		threads  => $self->{kernel}->threads
	);
}

sub _asked_before {
	my ($self, $v, $e, $to) = @_;
	my $t = $self->{episode}->manifest->{trigger};
	return if !defined $t->{before_ns} || entered_ns($e) > $t->{before_ns};
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

sub _parent {
	my ($self, $b, $t) = @_;
	return if !$b->{parent};
	my $p = $self->{kernel}->threads->at($b->{parent}, $t);
	return $p->{known} && $p->{comm} ne '?' ? $p->{comm} : undef;
}

# Files that say which thread did what, and who it was.
sub _kernel_files {
	my ($self) = @_;
	my %seen;
	return grep { !$seen{$_}++ }
		map     { $_->{file} }
		grep    { $_->{source} !~ /^x_/ } @{ $self->{episode}->manifest->{sources} };
}

1;
