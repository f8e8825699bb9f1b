# SPDX-License-Identifier: GPL-2.0-only
# tipme note: the user's own words about an episode.
package Tipme::Command::Note;

use strict;
use warnings;
use Tipme::CommandLine qw(options complain);
use Tipme::Library;
use Tipme::Notes     qw(note_of set_note undo_note);
use Tipme::Printable qw(put one_line);
use Tipme::Words     qw(N__ fill);

my $HELP = N__(<<'END');
usage: tipme note EPISODE [TEXT | --clear | --undo]

Your words about an episode: what you did, what you expected, what came of it. TEXT takes the place
of what was there; without TEXT the note is printed. --clear removes it. --undo brings back what
was there before the last change; once more, and the change is there again.

The note stays beside the episode. It leaves this machine only with `tipme bundle --with-note`, and
as the steps of `tipme report`, which shows them first.

  tipme note last 'the menu hung while I copied files'
  tipme note last
  tipme note 20261120-150301-3f2a --undo
END

my $MAX = 2;    # an episode, and its words

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, $MAX, 'clear', 'undo');
	return $exit if !$o;
	my ($episode, $text) = @args;
	return complain('note', fill(N__('no episode named: say which, or last (see `tipme list`)')))
		if !defined $episode;
	return complain('note', fill(N__('TEXT, --clear and --undo: say one of them')))
		if 1 < grep {defined} $text, @$o{qw(clear undo)};
	my $folder = Tipme::Library->folder_of($episode);
	-e "$folder/manifest.json"
		or die fill(N__('{folder}: not an episode: `tipme list` shows them'), folder => $folder)
		. "\n";
	$text = '' if $o->{clear};

	if ($o->{undo}) {
		undo_note($folder) or die fill(N__('nothing to undo: the note was not changed yet')) . "\n";
	}
	set_note($folder, $text) if defined $text;
	my $note = note_of($folder);
	put(length $note ? one_line($note) . "\n" : fill(N__('no note')) . "\n");
	return 0;
}

1;
