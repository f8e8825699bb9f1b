#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A compositor whose library is not probed (the kernel refused it, or it is pure Rust): the input
# core, wake-ups and the screen tell enough to name who was slow. Nothing of that is exact.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib", "$Bin/../../abi/generated", "$Bin/../../abi/lib";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::WaylandStory;

use constant { MS => 1_000_000, SERVER => 100, CLIENT => 200 };

# The same stories without a record of the library.
package Tipme::Test::UnprobedStory {
	use parent -norequire, 'Tipme::Test::WaylandStory';

	sub told { return $_[0] }

	sub enter {
		my ($self, $t, %o) = @_;
		$self->kernel(
			0, $t - 0.01, 'input', tid => 0, device => 3, class => 'keyboard',
			kind => $o{kind} // 'key_press'
		) if !$o{silent};
		return $self->SUPER::enter($t, %o);
	}

	# The screen shows it 5 ms after it was asked for that.
	sub draw {
		my ($self, $t, $waker, %o) = @_;
		$self->SUPER::draw($t, $waker, %o);
		return $self->screen($t + 0.2, ++$self->{pictures}, $o{shown} // $t + 5.2);
	}
}

sub story   { return Tipme::Test::UnprobedStory->new(server_comm => 'niri', @_) }
sub sources { return $_[0]->sources }

my ($x, @more) = sources(story());
is(scalar @more, 0,      'there is one compositor');
is($x->{pid},    SERVER, '... who asks the screen');
is($x->{name},   'niri', '... by its name');
is($x->{exact},  0,      '... and nothing of it is exact');
is_deeply(
	[ map { $_->{pid} } $x->all('deliver') ], [ (CLIENT) x 3 ],
	'a key went to whom it woke'
);
is(scalar $x->all('draw'), 3, '... which drew three times');

my $d = judged(
	'the client computes',
	story()->enter(1000)->run(1, 1000.25, 1600, CLIENT, 'sleeping')->draw(1599.8), 'app-compute',
	'xterm', 0.97, 1
);
is($d->{interval}{certainty}, 'inferred', '... inferred');
is($d->{interval}{end_ns},    1605 * MS,  '... up to when the screen showed it');

# Nobody can be woken while he is stopped; the input core has told when the key came.
my $s =
	story()->run(0, 999.9, 1000, SERVER, 'stopped')
	->kernel(0, 1020, 'input', tid => 0, device => 3, class => 'keyboard', kind => 'key_press')
	->wake(1, 1540, SERVER, 999)->run(0, 1540.05, 1540.4, SERVER, 'sleeping');
$s->enter(1540, awake => 1, silent => 1)->run(1, 1540.3, 1542, CLIENT, 'sleeping')->draw(1541.8);
$d = judged('the compositor is stopped', $s, 'stopped', 'niri', 0.97, 1);
is($d->{interval}{start_ns}, 1020 * MS, '... since the key came');

# Who is stopped is not woken by what is sent: it is the one that had the key before.
sub stopped_client {
	my ($asleep) = @_;
	my $s = story()->run(1, 990, 995, CLIENT, $asleep // 'stopped');
	$s->enter(1000, no_wake => 1);
	return $s->wake(1, 1540, CLIENT, 999)->run(1, 1540.05, 1541, CLIENT, 'sleeping')->draw(1540.8);
}
$d = judged('the client is stopped', stopped_client(), 'stopped', 'xterm', 0.97, 1);
is($d->{event}{stages}[0]{ns} // $d->{interval}{start_ns}, 999.99 * MS, '... since the key came');
($x) = sources(stopped_client('sleeping'));
is(
	scalar $x->all('deliver'), 3,
	'... but who sleeps would have been woken: the key was not sent to him'
);

$d = judged(
	'nothing unusual',
	story()->enter(1000)->run(1, 1000.25, 1003, CLIENT, 'sleeping')->draw(1002.8),
	'none', undef, undef, 1
);
$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
	->draw(1000.9, undef, shown => 1600);
judged('the screen is slow', $s, 'frame-wait', 'niri', 0.95, 1);

# Who is told of by its library, or by an X server, is not told of twice.
is(scalar sources(Tipme::Test::WaylandStory->new->screen(500, 1, 505)), 1, 'a probed one is one');
is(scalar sources(Tipme::Test::Story->new),                             1, 'and an X server one');
# Nor is an X server without hooks, which asks the screen as well: its clients know an X display
# alone.
sub knowing {
	my ($s, $text) = @_;
	return $s->daemon(
		'exec_environment', ts_ns => 6 * MS, tid => CLIENT, pid => CLIENT, uid => 1000,
		start_ns => 0, text => $text
	);
}
is(scalar sources(knowing(story(), "DISPLAY=:0\nTERM=xterm")), 0, 'an X server is no compositor');
is(
	scalar sources(knowing(story(), "DISPLAY=:0\nWAYLAND_DISPLAY=wayland-1")), 1,
	'a compositor whose clients know both is one'
);
is(scalar sources(knowing(story(), 'TERM=xterm')), 1, '... and one of which they say nothing');
# Without records of input nothing is inferred.
$s = story(no_usual => 1)->screen(500, 1, 505);
is(scalar sources($s), 0, 'where no input was recorded there is no source');

Tipme::Test::Judge::cut_to_the_path();
done_testing();
