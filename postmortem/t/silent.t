#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Many keys that draw nothing (modifiers, those of a password) before the one that was answered
# late: that one is the problem all the same.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Responses   qw(responses);
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };

# Two keys of which the first is answered with the second, after 90 ms; so many silent presses, 100
# ms apart; then a key for which the client computes 800 ms.
sub story {
	my ($silent) = @_;
	my $late     = 900 + 100 * $silent;
	my $s        = Tipme::Test::Story->new(trigger => $late + 3000);
	$s->enter(600)->enter(640, no_wake => 1)->run(1, 600.25, 691, CLIENT, 'sleeping')->draw(690);
	for my $k (1 .. $silent) {
		my $t = 700 + 100 * $k;
		$s->enter($t)->run(1, $t + 0.25, $t + 0.6, CLIENT, 'sleeping');
	}
	return (
		$late,
		$s->enter($late)->run(1, $late + 0.25, $late + 801, CLIENT, 'sleeping')->draw($late + 800)
			->hotkey($late + 2500)
	);
}

for my $silent (0, 10, 40, 120) {
	my ($late, $s) = story($silent);
	my $d = judged("$silent silent keys", $s, 'app-compute', 'xterm', 0.9, 1);
	is($d->{interval}{start_ns}, $late * MS, "$silent silent keys: from the late one on");
}
# The X server's ring reaches back further than the kernel's. A modifier from before the kernel's
# records begin is not answered by what is typed much later.
sub forgotten {
	my ($from, @silent) = @_;
	my $s = Tipme::Test::Story->new(trigger => 40_000);
	for my $t (@silent) { $s->enter($t)->run(1, $t + 0.25, $t + 0.6, CLIENT, 'sleeping') }
	$s->key($_, 3) for 25_000, 25_500, 26_000;
	$s->hotkey(39_000);
	@$_ = grep { $_->[0] >= $from * MS } @$_
		for values %{ $s->builder->{rec}{'kernel.rec'}{kernel_bpf} };
	$s->builder->{first_ns} = $from * MS;
	return $s;
}

for my $silent ([1000], [ 1000, 1300 ], [ 1000, 20_100 ], [ 19_900, 19_950, 20_010 ]) {
	my $what = 'silent at ' . join ' and ', @$silent;
	judged($what, forgotten(20_000, @$silent), 'none', undef);
	my $whole = Tipme::Diagnosis->new(
		Tipme::Episode->open(forgotten(20_000, @$silent)->builder->write(tempdir(CLEANUP => 1))));
	my @late = grep { ($_->{response_ns} // 0) > 100 * MS } responses($whole);
	is_deeply(
		[ map {"event $_->{n}: $_->{response_ns} ns"} @late ], [],
		"$what: no event is said to have been answered late"
	);
}

# Letting go of a key draws nothing. What the client draws long after that, since the pointer came
# to it, is no answer to it; what it draws at once is.
my $let_go =
	Tipme::Test::Story->new(trigger => 20_000)->key(1000, 3)->enter(1050, kind => 'key_release')
	->run(1, 1050.25, 1050.6, CLIENT, 'sleeping')
	->wake(0, 12_000, 100, 0, 'epoll', context => 'hardirq')
	->run(0, 12_000.05, 12_000.3, 100,    'sleeping')->wake(0, 12_000.2, CLIENT, 100, 'poll')
	->run(1, 12_000.25, 12_002,   CLIENT, 'sleeping')->draw(12_001.8)->key(14_000, 3)
	->enter(14_050, kind => 'key_release')->run(1, 14_050.25, 14_091, CLIENT, 'sleeping')
	->draw(14_090);
$let_go->builder->x(999.7 * MS + 11_000 * MS, 'x_sleep')->x(12_000.06 * MS, 'x_wakeup')
	->x(12_000.28 * MS, 'x_sleep');
my @of =
	grep { $_->{kind} eq 'key_release' }
	responses(
	Tipme::Diagnosis->new(Tipme::Episode->open($let_go->builder->write(tempdir(CLEANUP => 1)))));
is_deeply(
	[ map { defined $_->{response_ns} ? int $_->{response_ns} / MS : undef } @of ],
	[ undef, 40 ],
	'of two keys that are let go, only the one that the client answered is said to have been answered'
);

# A script types, sleeps, and has the window shown again: what is drawn then answers the script, not
# the key, though the script was there when the key was read.
my $script = Tipme::Test::Story->new(trigger => 9000);
$script->builder->thread(800, 'script', ts_ns => 5 * MS)->x(999.5 * MS, 'x_sleep')
	->x(1000.06 * MS, 'x_wakeup')
	->x(1000.1 * MS, 'x_device', input_seq => 50, kind => 'key_press', device => 6)->x(
	1000.19 * MS, 'x_deliver', input_seq => 50, kind => 'key_press', pid => CLIENT,
	client => 4, x_type => 2
)->x(1000.28 * MS, 'x_sleep');
$script->run(1, 999.8, 1000.02, 800, 'sleeping')->wake(1, 1000,   100,    800, 'epoll')
	->run(0, 1000.05, 1000.3, 100, 'sleeping')->wake(0,   1000.2, CLIENT, 100, 'poll')
	->wake(0, 1000.25, 800, 100, 'poll')->run(1, 1000.22, 1003, CLIENT, 'sleeping')->draw(1002.8)
	->run(1, 1003.1, 1003.3, 800, 'sleeping');
$script->wake(1, 5000, 800, 0, 'nanosleep', context => 'softirq_irq')
	->run(1, 5000.05, 5000.2, 800, 'sleeping')->wake(1, 5000.15, 100, 800, 'epoll')
	->run(0, 5000.2,  5000.5, 100, 'sleeping');
$script->builder->x(5000.21 * MS, 'x_wakeup')->x(
	5000.25 * MS, 'x_request', pid => 800, client => 9, major => 8, count => 1,
	duration_ns => 50_000
)->x(5000.48 * MS, 'x_sleep');
$script->wake(0, 5000.4, CLIENT, 100, 'poll')->run(1, 5000.45, 5003, CLIENT, 'sleeping')
	->draw(5002.8)->hotkey(8500);
judged('a script that goes on', $script, 'none', undef);

# The next key is pressed before the client looks at the one before, and one change answers both.
my $ahead =
	Tipme::Test::Story->new(trigger => 9000)->enter(1000)
	->run(1, 1000.25, 1000.5, CLIENT, 'sleeping')->enter(1200, no_wake => 1)
	->wake(1, 1300, CLIENT, 0, 'nanosleep', context => 'softirq_irq')
	->run(1, 1300.1, 1303, CLIENT, 'sleeping')->draw(1302.8)->hotkey(3000);
my ($first) =
	grep { $_->{n} == 4 }
	responses(
	Tipme::Diagnosis->new(Tipme::Episode->open($ahead->builder->write(tempdir(CLEANUP => 1)))));
is(
	int $first->{response_ns} / MS, 303,
	'of two keys that are answered at once, the first waited longer'
) or diag explain $first;
is(int $first->{first_damage_ns} / MS, 1303, '... and it is said when the screen changed for it');
done_testing;
