# SPDX-License-Identifier: GPL-2.0-only
# tipme rm: removes episodes of the library.
package Tipme::Command::Rm;

use strict;
use warnings;
use File::Path         ();
use Tipme::CommandLine qw(options);
use Tipme::Library;
use Tipme::Printable qw(put one_line);
use Tipme::Words qw(N__);

my $HELP = N__(<<'END');
usage: tipme rm EPISODE ... [--pinned]

Removes episodes from your library, for good. EPISODE is an id of `tipme list` or the beginning of just one; `last` is the newest. Pinned
ones are kept unless you say --pinned. All are looked at before the first is removed.

  tipme rm 20261120-150301-3f2a
  tipme rm last
  tipme rm --pinned 20261120-150301-3f2a
END

my $MAX         = 10_000;
my $USAGE_ERROR = 64;

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, $MAX, 'pinned');
	return $exit if !$o;
	if (!@args) {
		print STDERR 'tipme: rm: no episode named: say which (see `tipme list`)', "
";
		return $USAGE_ERROR;
	}
	my $library = Tipme::Library->open;
	my %folder;
	for my $folder (map { $library->locate($_) } @args) {
		my $id = $library->id_of($folder)
			// die "$folder: not an episode of your library: remove other folders yourself\n";
		die "$id: is pinned: say --pinned if you mean it, or tipme pin $id --undo\n"
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
	die "$id: not all of it could be removed: "
		. join('; ', map { values %$_ } @$errors)
		. ": see $gone\n"
		if @$errors;
	put(one_line($id), " removed\n");
}

1;
