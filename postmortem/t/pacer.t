#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A thread of the program paces its frames. What a frame shows that comes after a long wait was
# brought by somebody else, between two of its ticks; the pacer only says when it is drawn.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, PACER => 210, PAGE => 220, OTHER => 230 };
use constant { SERVICE => 500, MS => 1_000_000 };

# Ticks each 16 ms; a key at 1000 ms asks a service, which sleeps for 400 ms and tells PAGE, and the
# next tick draws that. ALSO is done then.
sub story {
	my (%o) = @_;
	my $s   = Tipme::Test::Story->new(trigger => 3000);
	my $b   = $s->builder;
	$b->thread($_, 'frames', pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS)
		for PACER, PAGE, OTHER;
	$b->thread(SERVICE, 'service', ts_ns => 5 * MS, since_ns => 2 * MS);
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->wake(1, 1000.9, SERVICE, CLIENT, 'epoll', wakee_cpu => 0)
		->run(0, 1001, 1002, SERVICE, 'sleeping');
	$s->wake(0, 1402, SERVICE, 0, 'nanosleep', context => 'hardirq', wakee_cpu => 0)
		->run(0, 1402.05, 1402.3, SERVICE, 'sleeping');
	$s->wake(0, 1402.2, PAGE, SERVICE, 'futex')->run(1, 1402.25, 1404, PAGE, 'sleeping');

	for my $t (map { 900 + 16 * $_ } 0 .. 32) {
		$s->wake(1, $t, PACER, 0, 'futex', context => 'hardirq')
			->run(1, $t + 0.02, $t + 0.1, PACER, 'sleeping')
			->wake(1, $t + 0.05, PAGE, PACER, 'futex')->run(1, $t + 0.12, $t + 1, PAGE, 'sleeping');
		$o{also}->($s, $t) if $o{also};
	}
	return $s->draw(1412.9, PAGE)->hotkey(2800);
}

my $d = judged('brought between two ticks', story(), 'ipc-wait', 'service', 0.9, 1);
cmp_ok(abs($d->{interval}{duration_ns} - 413 * MS), '<', 2 * MS, '... up to the frame');

# Another thread of the program wakes PAGE in each pause, too, by a clock of its own.
$d = judged(
	'... and a clock comes later',
	story(
		also => sub {
			my ($s, $t) = @_;
			return if $t != 1396;
			$s->wake(1, $t + 12, OTHER, 0, 'futex', context => 'hardirq')
				->run(1, $t + 12.02, $t + 12.1, OTHER, 'sleeping')
				->wake(1, $t + 12.05, PAGE, OTHER, 'futex')
				->run(1, $t + 12.12, $t + 12.2, PAGE, 'sleeping');
		}
	),
	'ipc-wait',
	'service'
);

# A film that stood still before the event was delivered, since nobody could draw: the first picture
# that comes then is looked at, however soon after the delivery it comes.
{
	my ($deliver, @looked) = (1_300 * MS);
	no warnings 'redefine';
	local *Tipme::Caused::_caused = sub { push @looked, $_[2][0] / MS; return 'paced' };
	my $in_film = sub {
		my ($last) = @_;
		my @frames = map { [ (1_305 + 16 * $_) * MS, (1_306 + 16 * $_) * MS ] } 0 .. 20;
		my $e      = {
			deliver_ns => $deliver, bursts => \@frames,
			damages    => [ map { { ts_ns => $_->[0] } } [ $last * MS ], @frames ]
		};
		@looked = ();
		my ($burst) = (bless {}, 'Tipme::Caused')->_in_film($e, @frames);
		return $burst ? $burst->[0] / MS : undef;
	};
	is($in_film->(1_000), 1_305, 'a film that stood still before the delivery: its first picture');
	is($in_film->(1_290), undef, 'a film that goes on: none');
	is("@looked",         '',    '... not one is looked at');
}
done_testing();
