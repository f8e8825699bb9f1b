# SPDX-License-Identifier: GPL-2.0-only
# The verdict: the largest blame of the path, in one sentence, with its share and how sure it is.
package Tipme::Verdict;

use strict;
use warnings;
use Exporter      qw(import);
use Tipme::Called qw(called);
use Tipme::Kinds;
use Tipme::Printable      qw(one_line);
use Tipme::Reason         qw(values_of);
use Tipme::Verdict::Group qw(group);
use Tipme::Words          qw(N__ fill);

our @EXPORT_OK = qw(is_unusual judge judge_stall totals no_input duration_text percent event_words);

my $NOTICE_NS = 100_000_000; # an answer to a key or a click that comes sooner seems to come at once
my $MOTION_NS = 75_000_000;  # the pointer is watched all the time
my $SLOW_NS   = 500_000_000; # one that takes longer is slow, even if it always is
# a start that takes longer is slow, where it is not known how long it usually takes
my $START_NS   = 2_000_000_000;
my $START_MORE = 0.5;            # of its usual time: a start that takes so much longer is slow, ...
my $ENOUGH     = 3;              # other responses that make a "usually"

my %EVENT = (
	key_press      => N__('a key press'),
	key_release    => N__('the release of a key'),
	key_repeat     => N__('a repeated key'),
	button_press   => N__('a click'),
	button_release => N__('the release of a button'),
	motion         => N__('a motion of the pointer'),
	wheel          => N__('scrolling'),
	touch          => N__('a touch'),
	start          => N__('the start of a program'),
	other          => N__('an input event'),
);

my $NEARLY_ALL = 0.95;    # of interrupts: then the others are not worth a word
my $LIKELY     = 0.5;     # a verdict of which less is exact is likely, and says so
# of the interval: what a part may be off by, as the laboratory allows it; what one has too much
# another has too little
my $OFF = 0.05;

# duration_text(NS): "3.1 ms", "934 ms", "1.24 s"
sub duration_text {
	my ($ns) = @_;
	my $ms = $ns / 1e6;
	return
		  $ms < 0.95  ? sprintf('%.2f ms', $ms)
		: $ms < 9.95  ? sprintf('%.1f ms', $ms)
		: $ms < 999.5 ? sprintf('%.0f ms', $ms)
		:               sprintf('%.2f s', $ms / 1000);
}

sub percent { my ($part, $all) = @_; return $all ? sprintf('%.0f', 100 * $part / $all) : '0' }

sub event_words { return fill($EVENT{ $_[0] } // $EVENT{other}) }

# What a stretch is made of: itself, or, where stretches of several kinds are told together, what
# each sort of them had.
sub _parts {
	my ($p) = @_;
	return $p->{mixed}
		? @{ $p->{among} }
		: {
		%{ $p->{blamed} }, ns => $p->{to_ns} - $p->{from_ns}, state => $p->{state},
		exact => $p->{exact}
		};
}

# totals(\PATH): { kinds, states, blamed }: what the stretches of the path add up to, in integer ns
sub totals {
	my ($path) = @_;
	my (%kind, %state, %who);
	for my $p (@$path) {
		my @parts = _parts($p);
		$kind{ $_->{kind} } += $_->{ns} for @parts;
		$state{ $_->{state} =~ /^(?:running|runnable|unknown)$/ ? $_->{state} : 'blocked' } +=
			$_->{ns}
			for @parts;
		for my $b ($p->{among} ? @{ $p->{among} } : @parts) {
			# What is no process (an interrupt) goes by its name.
			my $w = $who{ "$b->{kind} " . ($b->{pid} // '? ' . ($b->{comm} // '')) } //= {
				kind   => $b->{kind}, pid => $b->{pid}, comm => $b->{comm}, ns => 0, details => {},
				parent => $b->{parent}, prio => $b->{prio}, start_ns => $b->{at}
			};
			$w->{ns} += $b->{ns};
			$w->{to_ns} = $p->{to_ns};
			$w->{$_} //= $b->{$_} for qw(by holder disk);
			$w->{details}{ $b->{detail} // '' } += $b->{ns};
			# A process that took another name meanwhile is one process: it goes by the last one.
			$w->{comm} = $b->{comm};
		}
	}
	my @blamed = sort {
		$b->{ns} <=> $a->{ns} || $a->{kind} cmp $b->{kind} || ($a->{pid} // 0) <=> ($b->{pid} // 0)
	} values %who;
	return { kinds => \%kind, states => \%state, blamed => \@blamed };
}

# judge(INTERVAL, \PATH, totals => those of it, client => thread, server => DisplaySource, parent =>
# sub, ancestors => sub): { kind, sentence, blamed, share, share_ns, exact, confidence, second, head
# }
sub judge {
	my ($i, $path, %o) = @_;
	my $t     = $o{totals} // totals($path);
	my $all   = $i->{end_ns} - $i->{start_ns};
	my $head  = _head($i, $o{client}, $all);
	my $exact = _sure($path, $all);
	if (!_unusual($i, $all)) {
		return {
			head     => $head, exact  => $exact, confidence => $exact, kind => 'none', share => 0,
			share_ns => 0,     blamed => undef,
			sentence => fill(
				N__('Nothing unusual: {head}{usually}.'), head => $head =~ s/^The /the /r,
				usually => _usually($i) || fill(N__(', the slowest here'))
			)
		};
	}
	my $v = _largest($t, $path, $all, $head . _usually($i), $exact, %o);
	return { head => $head, exact => $exact, %$v };
}

my %STOOD = (
	runnable   => N__('{who} was woken and did not run for {time}{of}'),
	disk_sleep => N__('{who} was in uninterruptible sleep for {time}{of}'),
	asked      => N__('{who} needed {time}'),
	latency    => N__('{who} ran {time} after its timer had expired'),
	underrun   => N__('{who} did not serve its sound buffer of {time} in time'),
	stutter    => N__('The moving picture of {who} stood still for {time}, {missed} frames'),
);

# judge_stall(STALL, \PATH, why => WHY NO EVENT, ...): the same of a thread that stood still
sub judge_stall {
	my ($i, $path, %o) = @_;
	my $t   = $o{totals} // totals($path);
	my $all = $i->{end_ns} - $i->{start_ns};
	my $of =
		  !defined $i->{at} ? N__(', the longest here')
		: $i->{off}         ? N__(', the nearest to that time')
		:                     N__(', the longest at that time');
	my $head = fill(
		$STOOD{ $i->{what} }, who => one_line($o{client}{comm}) . " (pid $o{client}{pid})",
		time => duration_text($all), of => fill($of), missed => $i->{missed}
	);
	my $exact = _sure($path, $all);
	my $v = { head => $head, exact => $exact, %{ _largest($t, $path, $all, $head, $exact, %o) } };
	$v->{sentence} = "$v->{sentence} ($o{why})" if defined $o{why};
	return $v;
}

# The kind with the largest sum, and who has most of it.
sub _largest {
	my ($t, $path, $all, $head, $exact, %o) = @_;
	my ($kind, @others) = _in_order($t->{kinds}, $all);
	my $ns    = $t->{kinds}{$kind};
	my @of    = grep { $_->{kind} eq $kind } @{ $t->{blamed} };
	my $group = group(\@of, %o);
	$group->{others} = grep {
		my $b = $_;
		defined $b->{pid} && $b->{pid} != $o{client}{pid} && !grep { $_ == $b }
			@{ $group->{members} }
	} @of;
	my $clause   = _clause($kind, $ns, $all, $group, _waiter($path, $kind, \%o), \%o);
	my $exact_ns = _exact_ns($path, $kind);
	my ($order, $second) =
		$kind eq 'unknown'
		? (1)
		: _order($t, $path, $all, $group, \@of, (grep { $_ ne 'unknown' } @others)[0]);
	my $likely = $kind ne 'unknown' && ($exact_ns < $LIKELY * $ns || $order < 1) ? 1 : 0;
	$clause = fill(N__('most likely, {clause}'), clause => $clause) if $likely;
	$clause .= fill(
		$second->{ns} > $ns ? N__('; as long{second}') : N__('; nearly as long{second}'),
		second => _second_clause($t, $path, $all, $kind, $second, \%o)
	) if $second;
	return {
		kind => $kind, likely => $likely, $kind eq 'unknown' ? (why => $group->{detail}) : (),
		share => $all ? $ns / $all : 0, share_ns => $ns,
		confidence => $order < $exact ? $order : $exact,
		$second ? (second => { map { $_ => $second->{$_} } qw(kind pid comm ns) }) : (),
		blamed => $kind eq 'unknown'
		? undef
		: {
			(map { defined $group->{$_} ? ($_ => $group->{$_}) : () } qw(names by holder disk)),
			%$group{qw(kind pid comm processes detail ns)}, pids => $group->{pids}
		},
		sentence => fill(N__('{head}: {clause}.'), head => $head, clause => $clause)
	};
}

# The kinds, the largest first. One as large as a sleep by one's own wish says what was different.
sub _in_order {
	my ($ns,  $all)   = @_;
	my ($own, @kinds) = sort { $ns->{$b} <=> $ns->{$a} || $a cmp $b } keys %$ns;
	my $near = $own eq 'timer-sleep' && @kinds && $kinds[0] ne 'unknown';
	return ($own, @kinds) if !$near || $ns->{$own} - $ns->{ $kinds[0] } >= 2 * $OFF * $all;
	return (shift @kinds, $own, @kinds);
}

# How sure it is that the first is the first: (1 where nothing that is plausible could change the
# order, down to 0.5 where it is a guess between two; the second, where it is nearly as large). Each
# part may be off by $OFF of the interval, so the difference of two by twice that. What of the first
# is not exact may be the second's: then that has more by it and the first has less; what is not
# exact of others, or not known, may be the second's, too.
sub _order {
	my ($t, $path, $all, $group, $of, $other) = @_;
	my %mine = map  { $_ => 1 } @{ $group->{members} };
	my @rest = grep { !$mine{$_} } @$of;
	my ($kind, @pairs) = ($group->{kind});
	push @pairs, [ $group->{ns}, group(\@rest) ] if @rest;
	push @pairs,
		[
		$t->{kinds}{$kind},
		{
			%{ group([ grep { $_->{kind} eq $other } @{ $t->{blamed} } ]) },
			ns => $t->{kinds}{$other}
		}
		]
		if defined $other;
	my ($lead, $second) = ($all);
	for (@pairs) {
		my ($ns, $g) = @$_;
		($lead, $second) = ($ns - $g->{ns}, $g) if $ns - $g->{ns} < $lead;
	}
	my %not_exact;
	for my $p (map { _parts($_) } @$path) {
		$not_exact{ $p->{kind} } += $p->{ns} if !$p->{exact} || $p->{kind} eq 'unknown';
	}
	my $doubt = $not_exact{$kind} // 0;
	$doubt += $not_exact{$_}
		for grep { !$second || $second->{kind} eq $kind || $_ ne $second->{kind} } keys %not_exact;
	my ($need, $sure) = (2 * $OFF * $all, $lead - $doubt);
	return (
		$sure >= $need ? 1 : $sure <= 0 ? 0.5 : 0.5 + 0.5 * $sure / $need,
		$lead < $need ? $second : undef
	);
}

sub _second_clause {
	my ($t, $path, $all, $kind, $g, $o) = @_;
	return fill(N__(' by {name}, {time}'), name => _name($g), time => duration_text($g->{ns}))
		if $g->{kind} eq $kind;
	return fill(
		N__(', {clause}'),
		clause => _clause($g->{kind}, $g->{ns}, $all, $g, _waiter($path, $g->{kind}, $o), $o)
	);
}

sub _sure {
	my ($path, $all) = @_;
	my $sure = 0;
	$sure += $_->{ns} for grep { $_->{exact} && $_->{kind} ne 'unknown' } map { _parts($_) } @$path;
	return $all ? $sure / $all : 0;
}

# What of a kind's time rests on exact records.
sub _exact_ns {
	my ($path, $kind) = @_;
	my $ns = 0;
	$ns += $_->{ns} for grep { $_->{exact} && $_->{kind} eq $kind } map { _parts($_) } @$path;
	return $ns;
}

# is_unusual(INTERVAL): is it worth to be asked about?
sub is_unusual { my ($i) = @_; return _unusual($i, $i->{end_ns} - $i->{start_ns}) }

sub _unusual {
	my ($i, $all) = @_;
	return _slow_start($i, $all) if $i->{event} && $i->{event}{start};
	my $notice = $i->{event} && $i->{event}{motion} ? $MOTION_NS : $NOTICE_NS;
	return 0 if $all < $notice;
	return 1 if $all >= $SLOW_NS || $i->{usual_count} < $ENOUGH;
	return $i->{excess_ns} >= $notice ? 1 : 0;
}

# ... if that is half a second or more.
sub _slow_start {
	my ($i, $all) = @_;
	return $all >= $START_NS ? 1 : 0 if $i->{usual_count} < $ENOUGH;
	return $i->{excess_ns} >= $SLOW_NS && $i->{excess_ns} >= $START_MORE * $i->{usual_ns} ? 1 : 0;
}

sub _head {
	my ($i, $client, $all) = @_;
	my ($e, $comm) = ($i->{event}, called($client->{comm}));
	my $drawn = $i->{busy} && defined $i->{first_ns}
		? fill(
		N__(', though it drew something after {time}'),
		time => duration_text($i->{first_ns} - $i->{start_ns})
		)
		: '';
	my $text =
		  ($e->{motion} // '') eq 'cursor' ? N__('The pointer followed its motion after {time}')
		: $e->{start} && $i->{open} ? N__('{who} has shown no window for {time} since {event}')
		: $e->{start}               ? N__('{who} showed its first window {time} after {event}')
		: $e->{pending} ? N__('{comm} (the X server) has not looked at {event} for {time}')
		: $i->{gone}
		? N__('Until it closed its connection {who} had not answered {event} for {time}')
		: $i->{open}
		&& $i->{frame} ? N__('What {who} drew after {event} has not been on the screen for {time}')
		: $i->{busy}
		&& $i->{open} ? N__('{who} has taken no other event for {time} since {event}{drawn}')
		: $i->{busy}  ? N__('{who} took no other event for {time} after {event}{drawn}')
		: $i->{open}  ? N__('{who} has not answered {event} for {time}')
		:               N__('{who} answered {event} after {time}');
	return fill(
		$text, comm => $comm, who => $comm . ($client->{pid} > 0 ? " (pid $client->{pid})" : ''),
		event => event_words($e->{start} ? $e->{start}{kind} : $e->{kind}),
		time  => duration_text($all), drawn => $drawn
	);
}

sub _usually {
	my ($i) = @_;
	return
		defined $i->{usual_ns}
		? fill(N__(', usually {time}'), time => duration_text($i->{usual_ns}))
		: '';
}

# Whose time it mostly was that went this way.
sub _waiter {
	my ($path, $kind, $o) = @_;
	my %ns;
	for my $p (@$path) {
		$ns{ $_->{waiter} // $p->{waiter} // $p->{pid} } += $_->{ns}
			for grep { $_->{kind} eq $kind } _parts($p);
	}
	my ($pid) = sort { $ns{$b} <=> $ns{$a} || $a <=> $b } keys %ns;
	return fill(N__('it')) if $pid == $o->{client}{pid};
	return fill(
		$o->{server}->title eq 'the compositor'
		? N__('the compositor (pid {pid})')
		: N__('the X server (pid {pid})'), pid => $pid
	) if $pid == $o->{server}{pid};
	# A process that took another name meanwhile (it was forked, and then ran another program) goes
	# by the last one.
	my ($p) = reverse grep { $_->{pid} == $pid } @$path;
	return fill(
		N__('{comm} (pid {pid}), for which it waited,'),
		comm => one_line($p ? $p->{comm} : '?'), pid => $pid
	);
}

# Who is blamed. ADJECTIVE, a translated word, stands before "processes".
sub _name {
	my ($g, $adjective) = @_;
	my $adj = defined $adjective ? "$adjective " : '';
	# A client of another machine has no process here.
	return Tipme::Kinds::has($g->{kind}, 'client') ? called($g->{comm}) : fill(N__('nobody'))
		if !defined $g->{pid};
	my %v = (
		n  => $g->{processes}, adj => $adj, comm => called($g->{comm} // '?'), pid => $g->{pid},
		by => $g->{parent}
		? fill(N__(', started by {parent}'), parent => one_line($g->{parent}))
		: ''
	);
	if ($g->{names}) {
		my @n = map { one_line($_) } @{ $g->{names} };
		splice @n, 3, @n, '...' if @n > 3;
		return fill(
			$g->{short}
			? N__('{n} {adj}short-lived processes ({names}) below "{comm}" (pid {pid})')
			: N__('{n} {adj}processes ({names}) below "{comm}" (pid {pid})'), %v,
			names => join ', ',                                               @n
		);
	}
	return fill(N__('"{comm}" (pid {pid}{by})'), %v) if $g->{processes} <= 1;
	return fill(N__('{n} {adj}processes "{comm}" (first pid {pid}{by})'), %v, pid => $g->{pids}[0]);
}

# The second half of the sentence: what took TIME of ALL, and through whom.
sub _clause {
	my ($kind, $ns, $all, $g, $waiter, $o) = @_;
	my $detail = $g->{detail} // '';
	my ($n, $others) = ($g->{processes} // 1, $g->{others} // 0);
	my $self      = defined $g->{pid} && $g->{pid} == $o->{client}{pid};
	my @situation = (
		$self ? 'self' : $others || $n > 1 ? qw(others other) : 'other',
		$n > 1 ? 'processes' : (), !defined $g->{pid} && $g->{ns} < $NEARLY_ALL * $ns ? 'part' : ()
	);
	my $name     = _name($g);
	my ($holder) = grep {$_} $g->{holder}, map { $_->{holder} } @{ $g->{members} };
	my $values   = values_of($detail);
	$_ = one_line($_) for values %$values;
	return fill(
		Tipme::Kinds::clause($kind, $detail, @situation), %$values,
		time => duration_text($ns) . ' (' . percent($ns, $all) . ' %)', waiter => $waiter,
		name => $name,
		who  => $others
		? fill(
			$others == 1 ? N__('{name} and 1 other') : N__('{name} and {n} others'), name => $name,
			n => $others
			)
		: $name,
		rt_name => _name($g, fill(N__('real-time'))),
		pid     => $g->{pid} // '?',
		detail  => one_line(Tipme::Reason::words($detail)),
		holder  => $holder ? one_line($holder->{comm}) . " (pid $holder->{pid})" : '?',
		part    => $g->{ns} < $NEARLY_ALL * $ns
		? fill(N__(', {time} of it'), time => duration_text($g->{ns}))
		: ',',
		part_time => duration_text($g->{ns})
	);
}

# no_input(WHY): the verdict where no input event can be judged
sub no_input {
	my ($why) = @_;
	return {
		kind       => 'unknown', share    => 0, share_ns => 0, blamed => undef, exact => 0,
		confidence => 0,         sentence => $why
	};
}

1;
