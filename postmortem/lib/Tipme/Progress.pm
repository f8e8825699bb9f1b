# SPDX-License-Identifier: GPL-2.0-only
# A bar on the terminal for what takes longer than a second, or TIPME_PROGRESS_S seconds; nothing
# where nobody looks.
package Tipme::Progress;

use strict;
use warnings;
use Time::HiRes qw(time);

my ($AFTER_S) = map { defined && /\A\d+(?:\.\d+)?\z/ ? $_ : 1 } $ENV{TIPME_PROGRESS_S};
my $EVERY_S   = 0.1;    # s between two pictures of the bar
my $WIDTH     = 30;     # columns of the bar
my ($to, $began, $last, $shown) = (-t STDERR ? \*STDERR : undef, time, 0, 0);

# show(WHAT, DONE, TOTAL): the bar, if it is time for it
sub show {
	my ($what, $done, $total) = @_;
	return if !$to || $total <= 0;
	my $now = time;
	return if $now - $began < $AFTER_S || $now - $last < $EVERY_S;
	$last = $now;
	my $n = int($WIDTH * $done / $total);
	$n = $WIDTH if $n > $WIDTH;
	printf {$to} "\r%-24s [%s%s] %3d %%", $what, '#' x $n, ' ' x ($WIDTH - $n), 100 * $n / $WIDTH;
	$to->flush;
	$shown = 1;
	return;
}

# clear(): takes it away, before anything else is printed
sub clear {
	if ($shown) { print {$to} "\r\e[K"; $to->flush; $shown = 0 }
	return;
}

# show_on(HANDLE, SECONDS): for a test: there, and from so many seconds on
sub show_on { ($to, $AFTER_S, $began) = (@_, time); return }

1;
