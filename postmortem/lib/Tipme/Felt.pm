# SPDX-License-Identifier: GPL-2.0-only
# What a person says that it was like: a few words beside the records, which no recorder writes.
# They say which events can be meant (docs/method.md, "What the person said").
package Tipme::Felt;

use strict;
use warnings;
use Fcntl        qw(O_RDONLY O_NOFOLLOW O_NONBLOCK);
use List::Util   qw(max min);
use Tipme::Entry qw(entered_ns);
use Tipme::Meant;
use Tipme::Reason qw(code_of);
use Tipme::Words  qw(N__ fill);

my $FILE     = 'felt.txt';
my $MOST     = 64;              # bytes of that file
my $SLOW_NS  = 100_000_000;     # what is answered sooner seems to come at once (docs/method.md)
my $ONE_NS   = 500_000_000;     # slow answers closer than this belong to one moment
my $REGULAR  = 0.15;            # times between moments that differ from their mean by less
my $ENOUGH   = 3;               # moments that make a "every"
my $NS_PER_S = 1_000_000_000;

# What it was, and how that is said to the person. `is`: the kinds of events that can be meant.
my %WHAT = (
	typing => {
		is   => qr/\Akey_(?:press|repeat)\z/,
		none => N__('You said that typing was slow. No slow key was found.')
	},
	click => {
		is   => qr/\A(?:button_press|button_release|touch)\z/,
		none => N__('You said that a click did nothing. No slow click was found.')
	},
	smooth => {
		is   => qr/\A(?:motion|wheel|button_press|touch)\z/,
		none => N__(
			'You said that moving or scrolling was not smooth. Nothing of that kind was found slow.'
		)
	},
	start => {
		is   => undef,
		none => N__('You said that a program took long to start. No slow start was found.')
	},
	all => {
		is   => undef,
		none => N__(
			'You said that everything stood still. It was not found that more than one program was slow at once.'
		)
	},
	test => { is => undef, none => '' },
);
# The other two answers.
my %MORE = (
	'pointer-moved' => { pointer => 'moved' },
	'pointer-stood' => { pointer => 'stood' },
	again           => { again   => 1 },
	once            => { again   => 0 },
);

# words(): those that parse() takes
sub words { return (sort(keys %WHAT), sort(keys %MORE)) }

# parse(TEXT): words with commas or white space between, at most one of each question, as
# { what, pointer, again }, of which each may be undef; undef where a word is none of words()
sub parse {
	my ($text) = @_;
	my %felt   = (what => undef, pointer => undef, again => undef);
	my @words  = grep {length} split /[\s,]+/, $text;
	for my $word (@words) {
		my $said = $WHAT{$word} ? { what => $word } : $MORE{$word} // return;
		for my $question (keys %$said) {
			return if defined $felt{$question};
			$felt{$question} = $said->{$question};
		}
	}
	return @words ? \%felt : undef;
}

# of(EPISODE): what was kept there; undef: nothing
sub of {
	my ($ep) = @_;
	sysopen my $in, $ep->dir . "/$FILE", O_RDONLY | O_NOFOLLOW | O_NONBLOCK or return;
	return if !-f $in || !sysread($in, my $text, $MOST);
	return $text =~ /\A[a-z,-]+\n?\z/ ? parse($text) : undef;
}

# keep(EPISODE, TEXT): for all who look at it later; dies where it cannot be written
sub keep {
	my ($ep, $text) = @_;
	Tipme::Meant::put($ep, $FILE, join ',', grep {length} split /[\s,]+/, $text);
	return;
}

# forget(EPISODE): nobody has said anything
sub forget { my ($ep) = @_; Tipme::Meant::take_away($ep, $FILE); return }

# meant_ns(DIAGNOSIS, DATA): when the event entered that somebody has meant, or described, if what
# run() said is about that; else undef
sub meant_ns {
	my ($diagnosis, $d) = @_;
	return Tipme::Meant::meant_ns($diagnosis->episode) if $d->{meant};
	return if !($d->{felt} // {})->{found} || !$d->{event};
	my ($e) = grep { $_->{n} == $d->{event}{n} } $diagnosis->events;
	return $e ? entered_ns($e) : undef;
}

# matching(FELT, CANDIDATES ...): those of { event, from_ns, upper, ended } (as ProblemInterval has
# them) that can be meant
sub matching {
	my ($felt, @c) = @_;
	my $what = $felt->{what} // return @c;
	return @c if $what eq 'test';
	return grep { $_->{event}{start} } @c if $what eq 'start';
	return grep { !$_->{event}{start} && $_->{event}{kind} =~ $WHAT{$what}{is} } @c
		if $what ne 'all';
	my @slow = grep { $_->{upper} >= $SLOW_NS } @c;
	return grep { _pointer($felt, $_) && (_unread_ns($_) >= $SLOW_NS || _others($_, @slow)) } @slow;
}

# How long an event waited in the machine before a server read it.
sub _unread_ns {
	my ($c) = @_;
	return $c->{event}{pending} ? $c->{upper} : max(0, $c->{event}{device_ns} - $c->{from_ns});
}

# Who draws the pointer read the event at once, or did not.
sub _pointer {
	my ($felt, $c) = @_;
	return 1 if !defined $felt->{pointer};
	return ($felt->{pointer} eq 'stood') == (_unread_ns($c) >= $SLOW_NS);
}

# Was another process slow at the same time, for as long as one notices?
sub _others {
	my ($c,    @slow) = @_;
	my ($from, $to)   = ($c->{from_ns}, $c->{from_ns} + $c->{upper});
	for my $o (grep { $_->{ended} && ($_->{event}{pid} // 0) != ($c->{event}{pid} // 0) } @slow) {
		return 1 if min($to, $o->{from_ns} + $o->{upper}) - max($from, $o->{from_ns}) >= $SLOW_NS;
	}
	return 0;
}

# told(FELT, FOUND, INTERVAL, CANDIDATES ...): what `diagnose` says of it: { what, pointer, again,
# found: 1 if what was meant was found slow, moments: how often something like it came, every_ns:
# how regularly, or undef, words: sentences }
sub told {
	my ($felt, $found, $interval, @c) = @_;
	my %t    = (%$felt, found => $found ? 1 : 0, words => []);
	my $none = !$found && defined $felt->{what} ? $WHAT{ $felt->{what} }{none} : '';
	push @{ $t{words} }, fill($none) if length $none;
	return \%t if !defined $felt->{again} || !$interval;
	my $least = max($SLOW_NS, int(($interval->{end_ns} - $interval->{start_ns}) / 2));
	my @times = _moments(
		$interval->{start_ns},
		map { $_->{from_ns} } grep { $_->{ended} && $_->{upper} >= $least } @c
	);
	$t{moments} = @times;
	my @between = map { $times[$_] - $times[ $_ - 1 ] } 1 .. $#times;
	my $mean    = @between ? ($times[-1] - $times[0]) / @between : 0;
	$t{every_ns} = int $mean
		if @times >= $ENOUGH && !grep { abs($_ - $mean) > $REGULAR * $mean } @between;
	push @{ $t{words} }, _often($felt->{again}, scalar @times, $t{every_ns});
	return \%t;
}

# Nothing is said where the records say the same as the person.
sub _often {
	my ($again, $n, $every) = @_;
	if ($n < 2) {
		return $again
			? fill(N__('You said that it comes again and again: in this episode it came once.'))
			: ();
	}
	my @said = $again ? () : fill(N__('You said that it came once.'));
	return (@said, fill(N__('It came {n} times in this episode, at irregular times.'), n => $n))
		if !$every;
	return (
		@said,
		fill(
			N__(
					  'It came {n} times in this episode, every {s} s: '
					. 'look for what is done that often.'
			),
			n => $n,
			s => sprintf '%.1f',
			$every / $NS_PER_S
		)
	);
}

# with_verdict(TOLD, VERDICT): the same, beside a verdict that is of the whole machine: then all of
# it did stand still, however many programs anybody typed to
sub with_verdict {
	my ($t, $v) = @_;
	return $t
		if ($t->{what} // '') ne 'all'
		|| $t->{found}
		|| ($t->{pointer} // '') eq 'moved'
		|| !_of_all($v);
	my $none = fill($WHAT{all}{none});
	return { %$t, found => 1, words => [ grep { $_ ne $none } @{ $t->{words} } ] };
}

sub _of_all {
	my ($v) = @_;
	return 1 if $v->{kind} eq 'machine-stall' || $v->{kind} eq 'host-steal';
	# All threads at once waited for memory.
	return scalar grep { code_of($_) eq 'memory-pressed-full' } @{ $v->{circumstances} // [] };
}

# Slow answers in a row are one moment.
sub _moments {
	my @all = sort { $a <=> $b } @_;
	my ($last, @times);
	for my $t (@all) {
		push @times, $t if !defined $last || $t - $last > $ONE_NS;
		$last = $t;
	}
	return @times;
}

1;
