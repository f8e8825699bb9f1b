#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# All threads of a process stand still while some of them work (a collection of garbage), and are
# let go on together: no lock, which has one holder and goes to one waiter.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { CLIENT => 200, COLLECTOR => 210, MS => 1_000_000 };

# The client sleeps in a futex from 1,001 ms on; another thread works until 1,700 ms, and then wakes
# it, and so many others.
sub story {
	my ($others) = @_;
	my $s        = Tipme::Test::Story->new;
	my $b        = $s->builder;
	my %t        = (pid => CLIENT, ts_ns => 5 * MS, since_ns => 2 * MS);
	$b->thread(COLLECTOR, 'collector', %t);
	$b->thread(210 + $_,  "worker-$_", %t) for 1 .. 4;
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->wake(0, 1000.5, COLLECTOR, 214, 'futex', wakee_cpu => 0)
		->run(0, 1000.6, 1700, COLLECTOR, 'sleeping');
	$s->wake(0, 1699.5 + 0.01 * $_, 210 + $_, COLLECTOR, 'futex') for 1 .. $others;
	$s->wake(0, 1699.6, CLIENT, COLLECTOR, 'futex')->run(1, 1699.8, 1702, CLIENT, 'sleeping');
	return $s->draw(1701.8)->hotkey(3000);
}

my $d = judged('all threads stand still', story(3), 'app-compute', 'xterm', 0.98, 1);
like(
	join("\n", @{ $d->{verdict}{circumstances} }),
	qr/^Most of that was its thread "collector" \(210\)\.$/m,
	'... and which thread worked'
);
judged('a lock that another thread has', story(0), 'futex-wait', 'xterm', 0.98, 1);
done_testing();
