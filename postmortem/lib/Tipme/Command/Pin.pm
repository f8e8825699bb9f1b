# SPDX-License-Identifier: GPL-2.0-only
# tipme pin: an episode that is never removed to make room.
package Tipme::Command::Pin;

use strict;
use warnings;
use Fcntl              qw(O_WRONLY O_CREAT O_NOFOLLOW);
use Tipme::CommandLine qw(options complain);
use Tipme::Library;
use Tipme::Printable qw(put one_line);
use Tipme::Words     qw(N__ fill);

my $HELP = N__(<<'END');
usage: tipme pin EPISODE ... [--undo]

A pinned episode is never removed to make room for newer ones, and `tipme rm` wants --pinned for
it. EPISODE is an id of `tipme list` or the beginning of one; `last` is the newest. --undo lets it
go again.

  tipme pin last
  tipme pin 20261120-150301-3f2a
  tipme pin 20261120-150301-3f2a --undo
END

my $MAX = 10_000;    # episodes of one command line

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, $MAX, 'undo');
	return $exit if !$o;
	return complain('pin', fill(N__('no episode named: say which, or last (see `tipme list`)')))
		if !@args;
	my $library = Tipme::Library->open;
	for my $folder (map { $library->locate($_) } @args) {
		my $id = $library->id_of($folder) // die fill(
			N__('{folder}: not in your library: only episodes there are removed to make room'),
			folder => $folder
		) . "\n";
		if ($o->{undo}) { unlink "$folder/pinned" or $!{ENOENT} or die "$folder/pinned: $!\n" }
		else {
			sysopen my $h, "$folder/pinned", O_WRONLY | O_CREAT | O_NOFOLLOW, 0600
				or die "$folder/pinned: $!\n";
		}
		my $now = $o->{undo} ? N__('{id} may be removed to make room') : N__('{id} stays');
		put(fill($now, id => one_line($id)), "\n");
	}
	return 0;
}

1;
