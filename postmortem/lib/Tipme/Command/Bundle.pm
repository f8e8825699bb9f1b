# SPDX-License-Identifier: GPL-2.0-only
# tipme bundle: one redacted file for a vendor, shown before it is written.
package Tipme::Command::Bundle;

use strict;
use warnings;
use Encode     qw(encode);
use Text::Wrap ();
use Tipme::Asked;
use Tipme::Bundle;
use Tipme::CommandLine qw(options bytes_text local_time said_yes table with_commas);
use Tipme::Culprit;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Library;
use Tipme::Package;
use Tipme::Printable qw(characters put one_line);
use Tipme::Report::Bug;
use Tipme::Versions;
use Tipme::Words qw(N__ fill in_english is_translated);

my $HELP = N__(<<'END');
usage: tipme bundle [EPISODE] [-o FILE] [--yes] [--with-note] [--all] [--fleet NAME]
                    [--did TEXT] [--expected TEXT] [--often TEXT]

One file for whoever shall look into it: the verdict, and the records of the problem. In it are
the names of the processes that have a part in it; all others are numbers. Of each thread the
records cover only the time when it had a part; what it did at other times is there as sums. Of
input events only the one that was answered late is there. Not in it: command lines, environments,
key codes, folders, users, the machine's name, your note and tags (unless --with-note). Where
nothing was slow it has no such records at all. Some verdicts need more of them: then it is said,
before you are asked, that the file tells when keys were pressed. --all takes all seconds of the
episode, with the time of each key press: that is asked twice. Where no part of it says the same
as the whole, nothing is written without --all. What goes in is shown, and you are asked, before
the file is written; --yes says that you have agreed, and asks for nothing. Without -o the file is
named after the program and the time: tipme-xterm-20261122-1724.tipme. With --fleet it carries the
number by which that fleet knows this machine (`tipme fleet join NAME` first); no other bundle
carries it.

It is a plain archive: `tar xf FILE` opens it, report.html needs no tipme, trace.pftrace is for
ui.perfetto.dev, manifest.json has the sum of each part. --did, --expected and --often say what you
did, what you expected, and how often it comes; at a terminal you are asked for them.

  tipme bundle
  tipme bundle -o slow-editor.tipme
  tipme bundle 20261120-150301-3f2a -o report.tipme --yes --with-note
  tipme open report.tipme
END

my $ONLY_ALL = N__(
	'no part of this episode gives the same verdict, so nothing was written: --all takes all of it, '
		. 'and tells when each key was pressed; `tipme report` writes a text without records');
my $PROGRAMS = N__('It names programs and libraries that have a part in the problem.');
my %TELLS    = (
	path => [
		N__(
			'Of the keys that you pressed, the file tells when the one was that it is about; not when others were.'
		),
		$PROGRAMS
	],
	interval => [
		N__(
				  'This verdict rests on what all threads did, so the file has that, from 0.1 s '
				. 'before the problem to 0.1 s after it. From it, times of other keys can be '
				. 'found, and text can be guessed.'
		),
		$PROGRAMS
	],
	seconds => [
		N__(
				  'This verdict rests on what all threads did, so the file has that, from 1 s '
				. 'before the problem to 0.5 s after it. From it, times of other keys can be '
				. 'found, and text can be guessed.'
		),
		$PROGRAMS
	],
	none => [
		N__(
				  'Nothing was slow, so the file has no record of what programs did, and of no '
				. 'key. --all takes all of it, with the time of each key press.'
		)
	],
	whole => [
		N__(
				  'The file tells when each key was pressed, from which text can be guessed, and '
				. 'which programs and libraries ran: give it only to people to whom you would '
				. 'tell that.'
		)
	],
);

# What is left out, as Tipme::Bundle and Tipme::Cut call it.
my @LEFT = (
	N__('command lines'), N__('environments'), N__('names of input devices'),
	N__('names of processes that have no part in it'), N__('the note'), N__('the tags'),
	N__('records of kinds that this program does not know'),
	N__('input events that are not the one of the verdict'),
	N__('records of the X server off the path'),
	N__('functions and libraries of programs without a part'),
	N__('threads without a part'), N__('names of devices without a part'),
	N__('records of the kernel off the path')
);
my %SAID = map { $_ => 1 } @LEFT;

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(
		\@args, $HELP, 1, 'output|o=s', 'yes', 'with-note', 'all', 'fleet=s', 'did=s', 'expected=s',
		'often=s'
	);
	return $exit if !$o;
	die fill(N__('{file}: is there already: name another file'), file => $o->{output}) . "\n"
		if defined $o->{output} && (-e $o->{output} || -l $o->{output});
	my $ep        = Tipme::Episode->open(Tipme::Library->folder_of($args[0]));
	my $diagnosis = Tipme::Diagnosis->new($ep);
	my $d         = $diagnosis->run;
	die "nothing in it was slow, and a fleet is told of what was: write it without --fleet\n"
		if !$d->{interval} && defined $o->{fleet};
	$o->{output} //= _name($ep, $d);
	my $fleet = _enrolled($o->{fleet});
	# What is known already; what goes into the file takes some time to find out.
	put(_sentence($d));
	STDOUT->flush;
	if (!$o->{yes} && !$fleet) {
		Tipme::Asked::steps($o);
		$o->{'with-note'} ||= Tipme::Asked::note(scalar $ep->note);
	}
	my @ours = is_translated() ? () : ($diagnosis, $d);
	my ($bundle, $system, @files) = in_english(sub { _files($ep, $o, $fleet, @ours) });
	die fill($ONLY_ALL) . "\n" if !$bundle;
	put(_shown($bundle->told, \@files, $system) . _could(scalar $ep->note, $o));

	if (!$o->{yes} && !_agreed($o->{output}, $bundle->told->{detail})) {
		my $why = -t STDIN ? N__('you did not agree') : N__('cannot ask without a terminal');
		print STDERR encode(
			'UTF-8',
			fill(
				N__('tipme: bundle: not written: {why}: review the list, then add --yes'),
				why => fill($why)
			)
		) . "\n";
		return 1;
	}
	my $size = Tipme::Bundle->write($o->{output}, @files);
	# Who takes it into the fleet's database is another user, of the group of a spool folder.
	chmod 0640, $o->{output} if $fleet;
	put(
		"\n" . fill(
			N__('{file} written, {size}.'),
			file => one_line($o->{output}),
			size => bytes_text($size)
			)
			. "\n"
	);
	return 0;
}

# The bundle, what its reader has to know of the system, its files. Strangers read it, so it is in
# English; DIAGNOSIS, D: where they are that already.
sub _files {
	my ($ep, $o, $fleet, $diagnosis, $d) = @_;
	if (!$d) {
		$diagnosis = Tipme::Diagnosis->new($ep);
		$d         = $diagnosis->run;
	}
	my ($bundle, @files) = Tipme::Bundle->made(
		$ep, $diagnosis, $d, note => $o->{'with-note'}, all => $o->{all},
		fleet => $fleet
	) or return;
	my $system = _system($ep, $diagnosis, $bundle->diagnosis, $o);
	push @files, $bundle->parts($system, @files);
	return ($bundle, $system, Tipme::Bundle->sealed(@files));
}

# For which fleet, and who we are there; nothing without its name.
sub _enrolled {
	my ($fleet) = @_;
	return if !defined $fleet;
	require Tipme::Enrolment;
	my $id = Tipme::Enrolment::id($fleet);
	die "$fleet: this machine takes no part in it: run `tipme fleet join $fleet` first\n"
		if !defined $id;
	return { name => $fleet, machine => $id };
}

# What the receiver has to know of the system, of the function, and of what was done.
sub _system {
	my ($ep, $diagnosis, $d, $o) = @_;
	my $packages = Tipme::Package->new(root => $ENV{TIPME_ROOT});
	my $culprit  = Tipme::Culprit->of($d, $diagnosis, package => $packages);
	my %steps = map { defined $o->{$_} ? ($_ => characters($o->{$_})) : () } qw(did expected often);
	# How a script is called is its author's and user's business.
	delete $culprit->{script};
	return {
		facts => $ep->manifest->{bundle} ? [] : Tipme::Report::Bug::versions(
			$culprit, Tipme::Versions->facts($packages, $ep->manifest)
		),
		function => [ Tipme::Report::Bug::function_lines($d, $culprit) ],
		steps    => \%steps
	};
}

# A new file here: tipme-PROGRAM-DAY-TIME.tipme, of the program that was slow.
sub _name {
	my ($ep, $d) = @_;
	my $comm =
		($d->{event} // {})->{client}
		? $d->{event}{client}{comm}
		: ($d->{verdict}{blamed} // {})->{comm};
	my $program = ($comm // 'episode') =~ s/[^A-Za-z0-9_-]+/-/gr =~ s/\A-+|-+\z//gr;
	my ($day, $clock) =
		local_time(one_line($ep->manifest->{time} // '')) =~ /\A(\d{4}-\d\d-\d\d) (\d\d:\d\d)/;
	my $name = join '-', 'tipme', length $program ? $program : 'episode',
		map {s/[-:]//gr} grep {defined} $day, $clock;
	my ($free) = grep { !-e "$name$_.tipme" && !-l "$name$_.tipme" } '', map {"-$_"} 2 .. 999;
	die "$name.tipme: is there already, with 998 more: name a file with -o\n" if !defined $free;
	return "$name$free.tipme";
}

sub _sentence {
	my ($d) = @_;
	local $Text::Wrap::columns = 80;
	return Text::Wrap::wrap('', '', one_line($d->{verdict}{sentence})) . "\n\n";
}

sub _shown {
	my ($told, $files, $system) = @_;
	local $Text::Wrap::columns = 80;
	my $text = fill(N__('What goes into the file:')) . "\n";
	$text .= table([ map { [ "  $_->[0]", bytes_text(length $_->[1]) ] } @$files ], 'lr');
	$text .= Text::Wrap::wrap(
		fill(N__('names of processes:')) . ' ', '  ', join ', ',
		@{ $told->{names} }
		)
		. "\n"
		if @{ $told->{names} };
	my @out = map {
		(/\Athe / ? '' : with_commas($told->{dropped}{$_}) . ' ') . ($SAID{$_} ? fill($_) : $_)
		}
		sort keys %{ $told->{dropped} };
	$text .= Text::Wrap::wrap(
		fill(N__('left out or replaced:')) . ' ', '  ',
		@out ? join('; ', @out) : fill(N__('nothing was there to be left out'))
	) . "\n";
	$text .= Text::Wrap::wrap(
		fill(N__('versions:')) . ' ', '  ', join '; ',
		map {"$_->[0] $_->[1]"} @{ $system->{facts} }
		)
		. "\n"
		if @{ $system->{facts} };
	return $text . "\n" . Text::Wrap::wrap(
		'', '',
		join(' ', map { fill($_) } @{ $TELLS{ $told->{detail} } })
			. _wide($told->{wide_ns})
			. _turns($told)
			. _nearly($told)
	) . "\n";
}

sub _nearly {
	my ($told) = @_;
	return $told->{nearly}
		? ' '
		. fill(
		N__(
				  'Whoever opens it reads the same sentence; '
				. 'a sum may differ by a thousandth of the interval.'
		)
		)
		: '';
}

# What only the sender can tell, and has not.
sub _could {
	my ($note, $o) = @_;
	local $Text::Wrap::columns = 80;
	my @could;
	push @could,
		fill(
		N__('Your note is left out; --with-note takes it along: "{note}"'),
		note => one_line($note =~ s/\s+\z//r)
		) if defined $note && length $note && !$o->{'with-note'};
	push @could,
		fill(
		N__(
				  'Not told: what you did, what you expected, how often it happens: '
				. '--did, --expected, --often.'
		)
		) if !grep { defined $o->{$_} } qw(did expected often);
	return join '', map { "\n" . Text::Wrap::wrap('', '  ', $_) . "\n" } @could;
}

sub _wide {
	my ($ns) = @_;
	return '' if !$ns;
	return ' ' . fill(
		N__(
			'For {ms} ms in all this verdict rests on what all threads did, so the file has that: '
				. 'times of keys pressed just then can be found.'
		),
		ms => sprintf '%.0f',
		$ns / 1e6
	);
}

sub _turns {
	my ($told) = @_;
	return '' if !$told->{turns} || $told->{detail} ne 'path';
	return ' ' . fill(
		N__(
				  '{n} times in it the display server took a CPU from whoever is on the path, '
				. 'which it does when a key is pressed, too: those moments are in the file.'
		),
		n => $told->{turns}
	);
}

# What tells of all keys is asked for twice.
sub _agreed {
	my ($file, $detail) = @_;
	return 0 if !-t STDIN;
	return 0 if !said_yes(fill(N__('Write {file}?'), file => one_line($file)));
	return $detail ne 'whole'
		|| said_yes(
		fill(N__('It tells when each key was pressed in these seconds. Write it all the same?')));
}

1;
