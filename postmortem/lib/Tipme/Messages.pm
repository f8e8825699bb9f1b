# SPDX-License-Identifier: GPL-2.0-only
# What clients of an X server tell each other through it: an input method that is handed a key, the
# owner of a selection, a window manager. The server's waking of the one leads to the other.
package Tipme::Messages;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(asks comes messages);

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
		grep { ($_->{pid} // 0) == $pid } $x->between('request', $t - $SERVES_NS, $t + $SERVES_NS)
		}
		map  { $_->{ts_ns} }
		grep { is_message($_->{x_type}) && ($_->{pid} // 0) == $other }
		$x->between('deliver', $from, $to);
}

# comes(PATH, NEAR): when the path comes to which process, for asks(); in steps of NEAR ns
sub comes {
	my ($path, $near) = @_;
	my %at;
	for my $p (@$path) {
		my $pid = $p->{blamed}{pid} or next;
		$at{ "$pid " . (int($p->{from_ns} / $near) + $_) } = 1 for -1 .. 1;
	}
	return \%at;
}

# asks(COMES, FIELDS of a delivery, NEAR): 1: so the server told the one to whom the path comes just
# then: who has the clipboard is asked so, and who has handed a key to an input method gets it back.
# No event of an input device: that is told to many.
sub asks {
	my ($comes, $f, $near) = @_;
	return 0 if $f->{input_seq} || !$f->{pid};
	return $comes->{ "$f->{pid} " . int($f->{ts_ns} / $near) } ? 1 : 0;
}

1;
