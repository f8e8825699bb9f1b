#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Programs that have their windows drawn by another process, over a connection of its own: whose the
# window is decides, not whose the connection. The upper bits of a window's number say who made it.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, PAINTER => 700, MS => 1_000_000 };
my $OURS = 4 << 21 | 7;    # made by client 4, ours
my $ITS  = 9 << 21 | 7;    # made by client 9, who paints

# Keys that are answered through the painter in 4 ms, and one for which it needs so long.
sub story {
	my (%o) = @_;
	my $s   = Tipme::Test::Story->new(no_usual => 1);
	my $b   = $s->builder;
	$b->thread(PAINTER, 'painter', ts_ns => 5 * MS, since_ns => 2 * MS);
	my $asks = $o{asks} // 1;
	for my $t (100, 300, 500, 1000) {
		my $end = $t + ($t == 1000 ? $o{ms} : 3);
		$s->enter($t, window => $OURS);
		$s->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping');
		if ($asks || $t < 1000) { $s->wake(1, $t + 0.9, PAINTER, CLIENT, 'poll') }
		else                    { $s->wake(0, $t + 2, PAINTER, 0, 'poll', context => 'hardirq') }
		my $from = $asks || $t < 1000 ? $t + 1 : $t + 2.1;
		$s->run(1, $from, $end, PAINTER, 'sleeping');
		$s->draw($end - 0.2, PAINTER, pid => PAINTER, client => 9, window => $o{window} // $OURS);
	}
	return $s->hotkey(3000)
		->picture(CLIENT, 'xterm', since_ns => 1001 * MS, stack_id => $s->id('poll'));
}

my $d = judged('drawn by another process', story(ms => 700), 'ipc-wait', 'painter', 0.98, 1);
cmp_ok(abs($d->{interval}{duration_ns} - 700 * MS), '<', MS, '... from the key to what it drew');
like(
	$d->{verdict}{sentence}, qr/^xterm \(pid 200\) answered a key press after 700 ms, usually/,
	'... which is the answer of the client'
);
judged('drawn at once', story(ms => 20), 'none', undef);
judged(
	'another one that draws in a window of its own', story(ms => 700, window => $ITS), 'none',
	undef
);
judged('it draws by a clock of its own', story(ms => 700, asks => 0), 'none', undef);
done_testing();
