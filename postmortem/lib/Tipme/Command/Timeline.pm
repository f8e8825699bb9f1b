# SPDX-License-Identifier: GPL-2.0-only
# tipme timeline: the picture of an episode.
package Tipme::Command::Timeline;

use strict;
use warnings;
use Tipme::CommandLine qw(options complain);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Library;
use Tipme::Printable qw(put one_line printable);
use Tipme::Timeline;
use Tipme::Timeline::File qw(write_picture);
use Tipme::Timeline::Picture;
use Tipme::Told  qw(told);
use Tipme::Words qw(N__);

my $HELP = N__(<<'END');
usage: tipme timeline [EPISODE] [-o FILE.svg|FILE.png] [--event N] [--at TIME] [--from MS] [--to MS]

Draws the stages from finger to screen, where the time went, who had the CPUs, and what the
threads did. Without EPISODE, the newest; without -o, a file named after the episode. --event and
--at choose as `tipme diagnose` does; --from and --to, in milliseconds from the event (before it:
negative), widen or narrow the picture.

  tipme timeline -o slow.png
  tipme timeline 20261120-150301-3f2a -o slow.svg
  tipme timeline last --event 12 --from -5 --to 60 -o close.svg
END

sub run {
	my ($class, @args) = @_;
	my ($o, $exit) = options(\@args, $HELP, 1, 'output|o=s', 'event=i', 'at=t', 'from=f', 'to=f');
	return $exit if !$o;
	my $episode   = Tipme::Episode->open(Tipme::Library->folder_of($args[0]));
	my $file      = $o->{output} // $episode->id . '.svg';
	my $diagnosis = Tipme::Diagnosis->new($episode);
	my $result    = $diagnosis->run(event => $o->{event}, at => $o->{at});
	my $data      = Tipme::Timeline->collect($diagnosis, $result, _range($o, $result));
	write_picture($file, Tipme::Timeline::Picture->svg($data));
	put(one_line($file), "\n");
	complain('timeline', one_line(told($_))) for $episode->damage;
	return 0;
}

sub _range {
	my ($o, $result) = @_;
	my $zero = $result->{interval} ? $result->{interval}{start_ns} : $result->{trigger}{ns};
	return map { defined $o->{$_} ? ("${_}_ns" => $zero + int($o->{$_} * 1e6)) : () } qw(from to);
}

1;
