# SPDX-License-Identifier: GPL-2.0-only
# What clients of an X server tell each other through it: an input method that is handed a key, the
# owner of a selection, a window manager. The server's waking of the one leads to the other.
package Tipme::Messages;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(asks messages);

# Events of the X protocol that one client has another get: SelectionRequest, SelectionNotify,
# ClientMessage.
my %MESSAGE   = map { $_ => 1 } 30, 31, 33;
my $SERVES_NS = 1_000_000;    # the server tells the one while it executes what the other asked

# is_message(NUMBER of an event of the protocol)
sub is_message { my ($type) = @_; return $type && $MESSAGE{$type} ? 1 : 0 }

# messages(SOURCE, PID, OTHER, FROM, TO): times, ns, in order, in [FROM, TO) at which the server
# sent OTHER such an event for a request of PID
sub messages {
	my ($x, $pid, $other, $from, $to) = @_;
	return if $pid == $other;
	return grep {
		my $t = $_;
		grep { ($_->{pid} // 0) == $pid }
			$x->between('request', $t - $SERVES_NS, $t + $SERVES_NS)
		}
		map { $_->{ts_ns} }
		grep { is_message($_->{x_type}) && ($_->{pid} // 0) == $other }
		$x->between('deliver', $from, $to);
}

# asks(PATH, FIELDS of a delivery, NEAR): 1: so the server told the one to whom the path comes just
# then for the first time: who has the clipboard is asked so
sub asks {
	my ($path, $f, $near) = @_;
	return 0 if !is_message($f->{x_type}) || !$f->{pid};
	my ($first) = grep { ($_->{blamed}{pid} // 0) == $f->{pid} } @$path;
	return $first && abs($f->{ts_ns} - $first->{from_ns}) <= $near ? 1 : 0;
}

1;
