# SPDX-License-Identifier: GPL-2.0-only
# tipme rm: removes episodes of the library.
package Tipme::Command::Rm;

use strict;
use warnings;
use File::Path         ();
use Tipme::CommandLine qw(options complain);
use Tipme::Library;
use Tipme::Printable qw(put one_line);
use Tipme::Words     qw(N__ fill);

my $HELP = N__(<<'END');
usage: tipme rm EPISODE ... [--pinned]

Removes episodes from your library, for good. EPISODE is an id of `tipme list` or the beginning of
just one; `last` is the newest. Pinned ones are kept unless you say --pinned. All are looked at
before the first is removed.

  tipme rm 20261120-150301-3f2a
  tipme rm last
  tipme rm --pinned 20261120-150301-3f2a
END

my $MAX = 10_000;    # episodes of one command line

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, $MAX, 'pinned');
	return $exit                                                                       if !$o;
	return complain('rm', fill(N__('no episode named: say which (see `tipme list`)'))) if !@args;
	my $library = Tipme::Library->open;
	my %folder;
	for my $folder (map { $library->locate($_) } @args) {
		my $id = $library->id_of($folder) // die fill(
			N__('{folder}: not an episode of your library: remove other folders yourself'),
			folder => $folder
		) . "\n";
		die fill(
			N__('{id}: is pinned: say --pinned if you mean it, or tipme pin {id} --undo'),
			id => $id
			)
			. "\n"
			if -e "$folder/pinned" && !$o->{pinned};
		$folder{$id} = $folder;
	}
	_remove($_, $folder{$_}) for sort keys %folder;
	$library->scan;
	return 0;
}

# First out of the list of episodes, by a name that tipmed clears away at its start, so that half an
# episode is never seen.
sub _remove {
	my ($id, $folder) = @_;
	my $gone = $folder =~ s{[^/]+/*\z}{.$id.tmp}r;
	rename $folder, $gone or die "$folder: $!\n";
	File::Path::remove_tree($gone, { error => \my $errors });
	die fill(
		N__('{id}: not all of it could be removed: {why}: see {folder}'),
		id     => $id, why => join('; ', map { values %$_ } @$errors),
		folder => $gone
		)
		. "\n"
		if @$errors;
	put(fill(N__('{id} removed'), id => one_line($id)), "\n");
}

1;
