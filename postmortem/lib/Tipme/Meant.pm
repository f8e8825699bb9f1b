# SPDX-License-Identifier: GPL-2.0-only
# The moment that somebody said an episode is about: one number beside its records, which no
# recorder writes, and which outlives the library's table.
package Tipme::Meant;

use strict;
use warnings;
use Exporter     qw(import);
use Fcntl        qw(O_RDONLY O_WRONLY O_CREAT O_EXCL O_NOFOLLOW O_NONBLOCK);
use Tipme::Entry qw(entered_ns);

our @EXPORT_OK = qw(meant_event meant_ns keep forget put take_away);

my $FILE = 'moment.txt';

# meant_ns(EPISODE): when the event entered that is meant, in ns; undef: nobody said
sub meant_ns {
	my ($ep) = @_;
	my $told = ($ep->manifest->{bundle} // {})->{meant_ns};
	return $told if defined $told;
	sysopen my $in, $ep->dir . "/$FILE", O_RDONLY | O_NOFOLLOW | O_NONBLOCK or return;
	return if !-f $in || !sysread $in, my $text, 32;
	return $text =~ /\A(\d{1,18})\n?\z/ ? $1 + 0 : undef;
}

# meant_event(DIAGNOSIS): the number of that event; undef: nobody said, or it is not there
sub meant_event {
	my ($diagnosis) = @_;
	my $ns          = meant_ns($diagnosis->episode) // return;
	my ($e)         = grep { entered_ns($_) == $ns } $diagnosis->events;
	return $e ? $e->{n} : undef;
}

# keep(DIAGNOSIS, N): that event, for all who look at the episode later; dies where it cannot be
# written
sub keep {
	my ($diagnosis, $n) = @_;
	my ($e) = grep { $_->{n} == $n } $diagnosis->events;
	put($diagnosis->episode, $FILE, entered_ns($e));
	return;
}

# forget(EPISODE): it is chosen by tipme again
sub forget { my ($ep) = @_; take_away($ep, $FILE); return }

# put(EPISODE, FILE, WORD): a line beside the records, whole or not at all; dies where it cannot be
# written
sub put {
	my ($ep, $file, $word) = @_;
	my $dir = $ep->dir;
	my $new = "$dir/.$file.$$";
	unlink $new;
	my $good = sysopen my $out, $new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600;
	$good &&= print {$out} "$word\n";
	$good = close $out if $good;
	return if $good && rename $new, "$dir/$file";
	my $why = "$!";
	unlink $new;
	die "$dir: what you said was not kept: $why: is it your own episode?\n";
}

# take_away(EPISODE, FILE): such a line, if it is there
sub take_away {
	my ($ep, $file) = @_;
	my $path = $ep->dir . "/$file";
	return if unlink($path) || $!{ENOENT};
	die "$path: cannot be removed: $!: is it your own episode?\n";
}

1;
