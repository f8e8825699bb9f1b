# SPDX-License-Identifier: GPL-2.0-only
# Where nothing is proven slow: presses that may have been answered late, and why that is not
# proven;
# what this session could not observe; and the worst of what clients did beside the events.
package Tipme::Candidates;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::Covered   ();
use Tipme::Printable qw(one_line);
use Tipme::Sleeps;
use Tipme::Verdict qw(duration_text event_words);
use Tipme::Words   qw(N__ fill);

my $NOTICE_NS = 100_000_000;    # a change that comes sooner seems to come at once
# Ns; what is answered sooner seems to come at once (docs/method.md, Limits).
my $AT_ONCE_NS = 100_000_000;
my $MOST       = 3;             # candidates that are told
my $LOOKS      = 24;            # presses that are looked at for that
my $ENOUGH     = 3;             # other presses of a client that tell what is usual for it
my $CLIENTS    = 6;             # of which the worst stretch beside the events is looked for
my $MS         = 1_000_000;

# Why an answer is not proven, as a code and in words.
my %WHY = (
	process => N__(
		'{by} woke it then, and no record shows that it had been asked for anything since the press'
	),
	network =>
		N__('the network woke it then, and what was sent there after the press is not recorded'),
	timer   => N__('its own timer woke it then, as the timer of a cursor does'),
	nothing => N__(
		'nothing on the screen changed by it up to the hot-key, though each of the {others} other presses there changed something, and no event came that would tell whether it waits for events or for an answer'
	),
	busy => N__(
		'nothing on the screen changed by it up to the hot-key; {by}, through which the answers to others came, has been busy since before, and that this press asked it for something is in no record'
	),
	rests => N__(
		'nothing on the screen changed by it up to the hot-key, though each of the {others} other presses there changed something; it took the events that came after it'
	),
);

# new(episode =>, kernel => Kernel, path => InputPath, caused => Caused, rest => AtRest, problem =>
# ProblemInterval)
sub new { my ($class, %o) = @_; return bless { %o, trigger => $o{episode}->trigger_ns }, $class }

# unproven(): presses that may have been answered late, the longest first, but those that were over
# when somebody asked before, which have been reported:
# { event, n, kind, pid, comm, start_ns, end_ns, possible_ns, open, damage, why (a code), words }
sub unproven {
	my ($self) = @_;
	my $before = $self->{episode}->manifest->{trigger}{before_ns} // 0;
	return if !$self->{kernel}->has_records || $self->{kernel}->sampled;
	my @presses = grep {
			   $_->{candidate}
			&& $_->{pid}
			&& $_->{kind} =~ /\A(?:key_press|button_press|touch)\z/
			&& defined $_->{deliver_ns}
			&& $_->{deliver_ns} > $self->{kernel}->covered_from
	} $self->{path}->events;
	my @c;
	my $looks = 0;
	for my $e (reverse @presses) {
		my @others =
			grep { $_ != $e && $_->{pid} == $e->{pid} && $_->{client} == $e->{client} } @presses;
		next if @others < $ENOUGH || grep { !_at_once($_) } @others;
		last if ++$looks > $LOOKS;
		my $c = $self->_unproven($e, scalar @others);
		push @c, $c if $c && $c->{end_ns} > $before;
	}
	@c = sort { $b->{possible_ns} <=> $a->{possible_ns} || $a->{n} <=> $b->{n} } @c;
	splice @c, $MOST if @c > $MOST;
	return @c;
}

sub _at_once {
	my ($e) = @_;
	return @{ $e->{bursts} } && $e->{bursts}[0][0] - $e->{deliver_ns} < $AT_ONCE_NS;
}

# Only a press that drew nothing at once: an echo is an answer.
sub _unproven {
	my ($self, $e, $others) = @_;
	my ($b) = @{ $e->{bursts} };
	return if $b                    && $b->[0] - $e->{deliver_ns} < $NOTICE_NS;
	return if defined $e->{next_ns} && !$b;
	my ($why, $by) = $b ? $self->_woken_by($e, $b) : $self->_undrawn($e);
	return if !defined $why;
	my ($start) = $self->{problem}->entry($e);
	my $end     = $b ? $b->[1] : $self->{trigger};
	my $comm    = $self->{kernel}->threads->at($e->{pid}, $e->{deliver_ns})->{comm};
	return {
		event    => $e,     n      => $e->{n}, kind => $e->{kind}, pid => $e->{pid}, comm => $comm,
		start_ns => $start, end_ns => $end, possible_ns => $end - $start, open => $b ? 0 : 1,
		damage   => $b ? $b->[2][-1] : undef, why => $why, by => $by, others => $others,
		words    => why_words($why, $by, $others)
	};
}

# why_words(CODE, BY, OTHERS)
sub why_words {
	my ($why, $by, $others) = @_;
	return fill($WHY{$why}, by => $by, others => $others);
}

# Why nothing may have been drawn up to the hot-key.
sub _undrawn {
	my ($self, $e) = @_;
	my $pid = $self->{caused}->still_busy($e, $self->{trigger});
	return (
		'busy',
		one_line($self->{kernel}->threads->at($pid, $self->{trigger})->{comm}) . " (pid $pid)"
	) if defined $pid;
	return $self->{rest}->told_again($e, $self->{trigger}) ? 'rests' : 'nothing';
}

# What ended the sleep of the client before it drew; nothing: the server, with another event
sub _woken_by {
	my ($self, $e, $b) = @_;
	my $t      = $self->{caused}->request_ns($e, $b->[2][0]);
	my $states = $self->{kernel}->states($e->{deliver_ns} - $MS, $t);
	my ($tid, $ran) = $self->{caused}->last_ran($states, $e->{pid}, $t);
	my $i = defined $tid ? $states->before($tid, $ran) : undef;
	$i = $states->before($tid, $i->{from})
		while $i && $i->{kind} ne 'blocked' && $i->{from} > $e->{deliver_ns};
	return if !$i || $i->{kind} ne 'blocked' || !defined $i->{wake};
	my ($ev, $w) = ($states->events, $i->{wake});
	my $context = $ev->context($w);
	return 'network' if $context == 2;
	return 'timer'   if $context == 4;
	return           if $context;
	my $who = $self->{kernel}->threads->at($ev->waker($w), $i->{to});
	return if $who->{pid} == $e->{server}{pid};
	return ('process', one_line($who->{comm}) . " (pid $who->{pid})");
}

# weak(CANDIDATE): is it most likely a cursor that blinks, or a key without effect? Such a one is
# listed, and no more.
sub weak { my ($c) = @_; return $c->{why} eq 'timer' || $c->{why} eq 'rests' ? 1 : 0 }

# said(CANDIDATE): the verdict in words
sub said {
	my ($c) = @_;
	return fill(
		$c->{open}
		? N__(
			'{who} may not have answered {event} for {time}; the proof is missing because {why}.')
		: N__(
			'{who} may have answered {event} only after {time}; the proof is missing because {why}.'
		),
		who   => one_line($c->{comm}) . " (pid $c->{pid})",
		event => event_words($c->{kind}),
		time  => duration_text($c->{possible_ns}),
		why   => $c->{words}
	);
}

# told(PART of a diagnosis, CANDIDATE): its verdict is that candidate
sub told {
	my ($part, $c) = @_;
	$part->{verdict} = {
		%{ $part->{verdict} }, kind => 'unknown', share => 0, share_ns => 0, confidence => 0,
		exact    => 0,        blamed => undef, circumstances => [],
		sentence => said($c), why    => $c->{why}
	};
	delete @{ $part->{verdict} }{qw(second function idle_cpus slow_cpu)};
	return $part;
}

# unseen(): what this session could not observe, in sentences
sub unseen {
	my ($self) = @_;
	my ($ep, @say) = ($self->{episode});
	my $k = $self->{kernel};
	push @say,
		!$k->has_records
		? fill(N__('Not observed: what threads did, since the kernel was not recorded.'))
		: $k->sampled
		? fill(N__('Not observed: who woke whom, since only samples of /proc were recorded.'))
		: ();
	my @servers = $self->{path}->servers;
	push @say,
		fill(
		N__(
			'Not observed: requests of clients, since the X server has no hooks; changes of the screen are known to the millisecond.'
		)
		) if grep { !$_->{exact} } @servers;
	my $frames = grep {
		my $e = $_;
		grep { $_->[2][-1]{hidden} } @{ $e->{bursts} }
	} $self->{path}->events;
	push @say,
		$frames
		? fill(
		N__('Not observed: when the graphics processor and the display showed what was painted.'))
		: fill(
		N__(
			'Not observed: when a compositor, the graphics processor and the display showed what was drawn.'
		)
		);
	my $from = $k->covered_from;
	push @say,
		fill(
		N__('Not observed: what came more than {time} before the hot-key.'),
		time => duration_text($self->{trigger} - $from)
		) if $k->has_records && $from && $from < $self->{trigger};
	push @say, Tipme::Covered::filled($ep, $k);
	my $silent = grep {
			   $_->{candidate}
			&& defined $_->{deliver_ns}
			&& !@{ $_->{bursts} }
			&& $_->{kind} =~ /\A(?:key_press|button_press|touch)\z/
	} $self->{path}->events;
	push @say,
		fill(
		N__(
			'{n} presses changed nothing in the window of the client that got them; if another program drew for it, that is not seen.'
		),
		n => $silent
		) if $silent;
	return @say;
}

# beside(): the worst of what clients did while no event waited for it: a sentence, or nothing
sub beside {
	my ($self) = @_;
	return if !$self->{kernel}->has_records || $self->{kernel}->sampled;
	my (%n, $worst);
	$n{ $_->{pid} }++ for grep { $_->{pid} && $_->{pid} > 0 } $self->{path}->events,
		map { $_->all('client') } $self->{path}->servers;
	my @pids = sort { $n{$b} <=> $n{$a} || $a <=> $b } keys %n;
	splice @pids, $CLIENTS if @pids > $CLIENTS;
	for my $pid (@pids) {
		my $a = $self->{rest}->longest_awake($pid, $self->{trigger}) or next;
		$worst = { %$a, pid => $pid }
			if !$worst || $a->{to} - $a->{from} > $worst->{to} - $worst->{from};
	}
	return if !$worst || $worst->{to} - $worst->{from} < $NOTICE_NS;
	return fill(
		N__(
			'Beside the input: {who} was awake without a rest for {time}, {ago} before the hot-key; no event waited for that.'
		),
		who => one_line($self->{kernel}->threads->at($worst->{pid}, $worst->{to} - 1)->{comm})
			. " (pid $worst->{pid})",
		time => duration_text($worst->{to} - $worst->{from}),
		ago  => duration_text($self->{trigger} - $worst->{to})
	);
}

1;
