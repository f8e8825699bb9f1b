# SPDX-License-Identifier: GPL-2.0-only
# tipme tag: words by which the user finds episodes again.
package Tipme::Command::Tag;

use strict;
use warnings;
use Tipme::CommandLine qw(options complain);
use Tipme::Library;
use Tipme::Notes     qw(set_tags tag_word tags_of undo_tags);
use Tipme::Printable qw(put one_line);
use Tipme::Words     qw(N__ fill);

my $HELP = N__(<<'END');
usage: tipme tag EPISODE ... [--add TAG]... [--remove TAG]... [--undo]

Words by which you find episodes again: one word each, of letters, digits, dots and dashes; capital
letters become small ones. Without an option the tags are printed. --undo brings back what was there
before the last change; once more, and the change is there again. All is looked at before the first
episode is changed.

Tags stay beside the episode. They leave this machine only with `tipme bundle --with-note`.

  tipme tag last --add reported --add editor
  tipme tag 20261120-150301-3f2a 20261120-150302-9c01 --remove reported
  tipme tag last
END

my $MAX = 10_000;    # words of a command line

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, $MAX, 'add=s@', 'remove=s@', 'undo');
	return $exit if !$o;
	return complain('tag', fill(N__('no episode named: say which, or last (see `tipme list`)')))
		if !@args;
	return complain('tag', fill(N__('--undo goes alone: it brings back what was there before')))
		if $o->{undo} && ($o->{add} || $o->{remove});
	my ($add, $remove) = map {
		[ map { tag_word($_) } @{ $o->{$_} // [] } ]
	} qw(add remove);
	my @folders = Tipme::Library->folders_of(@args);
	-e "$_/manifest.json"
		or die fill(N__('{folder}: not an episode: `tipme list` shows them'), folder => $_) . "\n"
		for @folders;

	for my $folder (@folders) {
		if ($o->{undo}) {
			undo_tags($folder) or die fill(N__('nothing to undo: no tag was changed yet')) . "\n";
		} elsif (@$add || @$remove) {
			_change($folder, $add, $remove);
		}
		my $tags = join ' ', tags_of($folder);
		put(
			one_line($folder =~ s{\A.*/(?=[^/])}{}r), ': ',
			length $tags ? $tags : fill(N__('no tags')),
			"\n"
		);
	}
	return 0;
}

sub _change {
	my ($folder, $add, $remove) = @_;
	my %tag = map { $_ => 1 } tags_of($folder), @$add;
	delete @tag{@$remove};
	return set_tags($folder, keys %tag);
}

1;
