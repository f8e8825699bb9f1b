# SPDX-License-Identifier: GPL-2.0-only
# tipme check: after the advice was followed, is it better, and how sure is that?
package Tipme::Command::Check;

use strict;
use warnings;
use Encode             qw(encode);
use Text::Wrap         ();
use Tipme::CommandLine qw(options print_json with_commas);
use Tipme::Cure;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::History;
use Tipme::Library;
use Tipme::Printable qw(put one_line);
use Tipme::Report::JSON;
use Tipme::Verdict qw(duration_text event_words);
use Tipme::Words   qw(N__ fill);

my $LOOKED = 10;             # of the episodes after the problem, the newest so many
my $MOST   = 64;             # episodes that may be named
my $HELP   = N__(<<'END');
usage: tipme check EPISODE [AFTER ...] [--json]

Did the cure help? EPISODE is the one with the problem. Follow its advice, press the same keys in
the same program again, save that (the hot-key, or `tipme snap`), and check: the same kind of press
of that program is compared, before and after. AFTER names the episodes that count; without it they
are the newest ten behind EPISODE.

A press counts as slow if it took longer than half way from what was usual to what the problem took.
It says "better" or "worse" where that is sure at 95 %; "the same" where it was slow again; else how
many more presses it takes. The outcome is kept with the problem (`tipme list --week`).

Exit status: 0 better; 2 worse, the same, or not sure yet; 1 where it failed; 64 usage.

  tipme check 20261120-150301-3f2a
  tipme check 20261120-150301-3f2a last
END

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, $MOST, 'json');
	return $exit if !$o;
	if (!@args) {
		print STDERR encode(
			'UTF-8',
			fill(N__('tipme: check: no episode: name the one with the problem: see tipme list'))
		) . "\n";
		return 64;
	}
	my ($dir, @after) = Tipme::Library->folders_of(@args);
	my $ep      = Tipme::Episode->open($dir);
	my $id      = $ep->id;
	my $library = Tipme::Library->open;
	my $usual   = sub {
		return eval { $library->usual(@_, $id) }
	};
	my $diagnosis = Tipme::Diagnosis->new($ep, baseline => $usual);
	my $d         = $diagnosis->run;
	my $problem   = Tipme::Cure::problem($diagnosis, $d)
		or die fill(
		N__('{id}: no press of a program was slow there: name an episode with a problem'),
		id => $id
		) . "\n";
	my @before = Tipme::Cure::presses($problem, $diagnosis);
	@after = _behind($id) if !@after;
	my @presses = _presses_since($problem, $ep, @after);
	my $r       = Tipme::Cure::compared($problem, \@before, \@presses);
	_remember($id, $d, $r, @after) if @presses;

	if ($o->{json}) {
		print_json(
			Tipme::Report::JSON::clean(
				{
					id             => $id, problem => $problem, %$r,
					after_episodes => [ map {s{.*/}{}sr} @after ],
					said           => [ _lines($id, $d, $problem, $r, scalar @after) ]
				}
			)
		);
	} else {
		put(_said($id, $d, $problem, $r, scalar @after));
	}
	return $r->{result} eq 'better' ? 0 : 2;
}

# A ring still has what was pressed before the cure: each press counts once, in the episode that was
# saved first. What somebody saved in between, and does not name now, was before the cure.
sub _presses_since {
	my ($problem, $ep, @after) = @_;
	my $boot  = sub { return $_[0]->manifest->{boot_id} // '' };
	my %until = length $boot->($ep) ? ($boot->($ep) => $ep->end_ns) : ();
	my %named = map { s{.*/}{}r => 1 } @after;
	my @all   = map { Tipme::Episode->open($_) } @after;
	push @all, grep { ($_->manifest->{trigger}{kind} // '') =~ /\A(?:hotkey|command)\z/ }
		map {
		eval { Tipme::Episode->open($_) }
			// ()
		} grep { !$named{s{.*/}{}r} } _behind($ep->id);
	my @presses;

	for my $e (sort { $a->end_ns <=> $b->end_ns } @all) {
		my $of = $boot->($e);
		push @presses, Tipme::Cure::presses($problem, Tipme::Diagnosis->new($e), $until{$of})
			if $named{ $e->dir =~ s{.*/}{}r };
		$until{$of} = $e->end_ns if length $of && $e->end_ns > ($until{$of} // 0);
	}
	return @presses;
}

sub _behind {
	my ($id)    = @_;
	my $library = Tipme::Library->open;
	my @ids = grep { $_ gt $id } map { $_->{id} } grep { !length $_->{problem} } $library->episodes;
	splice @ids, 0, @ids - $LOOKED if @ids > $LOOKED;
	return map {"$library->{folder}/$_"} @ids;
}

sub _remember {
	my ($id, $d, $r, @after) = @_;
	eval {
		Tipme::History->open->add(
			'check',
			{
				episode  => $id, result => $r->{result}, sure => $r->{sure},
				sentence => $d->{verdict}{sentence},
				before   => $r->{before}, after => $r->{after},
				episodes => [ map {s{.*/}{}sr} @after ]
			}
		);
		1;
	} or print STDERR 'tipme: check: ' . one_line($@) . "\n";
	return;
}

sub _wrap {
	my ($text) = @_;
	local $Text::Wrap::columns = 80;
	local $Text::Wrap::huge    = 'overflow';
	return Text::Wrap::wrap('', '', one_line($text)) . "\n";
}

sub _said {
	return join '', map { _wrap($_) } _lines(@_);
}

sub _lines {
	my ($id, $d, $problem, $r, $episodes) = @_;
	my %of = (
		event => event_words($problem->{kind}), comm => $problem->{comm},
		limit => duration_text($problem->{slow_ns})
	);
	my @line = (
		fill(N__('Problem: {sentence}'), sentence => $d->{verdict}{sentence}),
		_side(
			N__(
					  'Before: {slow} of {n} times {event} of {comm} took longer than {limit}; '
					. 'the median was {median}.'
			),
			$r->{before},
			%of
		)
	);
	if (!$r->{after}{presses}) {
		push @line,
			fill(
			N__(
					  'After: no such press in {n} episodes. Press the same keys in {comm} again, '
					. 'then `tipme snap`, then `tipme check {id}`.'
			),
			%of,
			n  => $episodes,
			id => $id
			);
		return @line;
	}
	push @line,
		_side(N__('After: {slow} of {n} times; the median was {median}.'), $r->{after}, %of);
	my ($ratio, $least, $most) = @{ $r->{times} };
	push @line,
		fill(
		N__('A press takes {least} to {most} times as long as before (at 95 %).'),
		least => _number($least), most => _number($most)
		) if defined $least && defined $most;
	return (@line, _result($r));
}

sub _number { my ($x) = @_; return sprintf $x >= 10 ? '%.0f' : '%.2g', $x }

sub _side {
	my ($words, $side, %of) = @_;
	return fill(
		$words, %of, slow => with_commas($side->{slow}),
		n      => with_commas($side->{presses}),
		median => defined $side->{median_ns} ? duration_text($side->{median_ns}) : '-'
	);
}

sub _result {
	my ($r) = @_;
	my $result = $r->{result};
	return fill(N__('Better. That is sure at 95 %.')) if $result eq 'better';
	return fill(N__('Worse. That is sure at 95 %.'))  if $result eq 'worse';
	return fill(N__('The same as before: it was slow again. Try the next advice.'))
		if $result eq 'same';
	return fill(
		N__(
			'Not sure yet: it was rare before, so no number of presses that anybody makes tells. '
				. 'Use the program as always, and look at `tipme list --week`.'
		)
	) if !defined $r->{more};
	return fill(
		N__('Not sure yet: {n} more presses without a slow one, and it is better for sure.'),
		n => with_commas($r->{more})
	);
}

1;
