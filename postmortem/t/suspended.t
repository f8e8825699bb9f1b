#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A machine that slept in the midst of an answer: that answer is not the problem where another is
# slow, and where it is judged, it is said.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Report::Text;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };

# A key at 1000 that is answered at 2500, since a process has the CPU, and one at 3000 that is
# answered at 3400, since the client computes.
sub story {
	my (@slept) = @_;
	my $s = Tipme::Test::Story->new(
		trigger  => 4500,
		manifest => {
			suspends => [
				map { { from_ns => $_->[0] * MS, to_ns => $_->[1] * MS, slept_ns => $_->[2] * MS } }
					@slept
			]
		}
	);
	$s->builder->thread(901, 'hog', ts_ns => 890 * MS);
	$s->run(1, 999, 2490, 901, 'runnable', preempted => 1, next => CLIENT)->enter(1000);
	$s->builder->switch(1, 2501 * MS, CLIENT, 0, 'sleeping');
	$s->draw(2500);
	$s->enter(3000)->run(1, 3000.4, 3401, CLIENT, 'sleeping');
	return $s->draw(3400)->hotkey(4000);
}

my $d = judged('awake', story(), 'cpu-contention', 'hog', 0.9, 1);
is_deeply([ grep {/slept/} @{ $d->{verdict}{circumstances} } ], [], 'awake: no word of sleep');

$d = judged('asleep in the midst', story([ 1500, 2300, 60_000 ]), 'app-compute', 'xterm', 0.9, 1);
is($d->{interval}{start_ns}, 3000 * MS, 'asleep in the midst: the other key is the problem');
is_deeply(
	[ grep {/slept/} @{ $d->{verdict}{circumstances} } ], [],
	'... and nothing is said of sleep'
);

my $asked =
	judged('asked for', story([ 1500, 2300, 60_000 ]), 'cpu-contention', 'hog', 0.9, 1, at => 2);
is(
	int($asked->{interval}{duration_ns} / MS + 0.5), 1500,
	'asked for: no more than the clock went on'
);
my $page = Tipme::Report::Text::page($asked) =~ s/\s+/ /gr;
like(
	$page,
	qr/The machine slept for 60\.00 s at some time between 1\.500 and 2\.300 s, in the midst of it: that is not counted; what it took to go to sleep and to wake is\./,
	'asked for: the page says it'
);

# Who saw it asleep knows the moment, which may be one and the same before and after.
$asked = judged(
	'at a moment', story([ 1500.2, 1500.2, 60_000 ]), 'cpu-contention', 'hog', 0.9, 1,
	at => 2
);
like(
	"@{ $asked->{verdict}{circumstances} }",
	qr/slept for 60\.00 s at 1\.500 s, in the midst of it/, 'at a moment: said as one'
);

# Only at some time in that second: perhaps the key was pressed when it was awake again. Then it is
# a problem as any.
$d = judged('perhaps', story([ 500, 1400, 60_000 ]), 'cpu-contention', 'hog', 0.9, 1);
like(
	"@{ $d->{verdict}{circumstances} }",
	qr/slept for 60\.00 s at some time between 0\.500 and 1\.400 s, perhaps in the midst/,
	'perhaps: said so'
);

# What a stranger wrote.
for my $bad (
	[ 'no list',   {} ], [ 'no object', [1] ],
	[ 'no number', [ { from_ns => 'x', to_ns => 1, slept_ns => 1 } ] ],
	[ 'too many',  [ map { { from_ns => 1, to_ns => 2, slept_ns => 3 } } 1 .. 1000 ] ]
	)
{
	my $s = Tipme::Test::Story->new(manifest => { suspends => $bad->[1] });
	ok(
		!eval { judged($bad->[0], $s->enter(1000)->draw(1010)->hotkey(3000), 'none'); 1 },
		"$bad->[0]: refused"
	);
	like($@, qr/suspend.*: not a manifest of tipme/, "$bad->[0]: by a sentence");
}
done_testing;
