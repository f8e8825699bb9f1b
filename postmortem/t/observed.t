#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Stories told twice: by hooks in the X server, and by an observer beside it, who sees whole
# milliseconds and no requests. The verdict must be the same, the times no more than a millisecond
# apart, and what is inferred must say so.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Report::Text;
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, SHELL => 300, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;

# The hot-key is heard elsewhere than in the server: it lies just before the trigger.
sub told {
	my ($tell, %o) = @_;
	my $s = Tipme::Test::Story->new(trigger => 3000.4, %o);
	$tell->($s);
	$s->hotkey(3000);
	return $s->diagnose("$tmp/o" . ++$n);
}

sub twice {
	my ($what, $kind, $comm, $tell) = @_;
	my ($hooks, $seen) = (told($tell), told($tell, observed => 1));
	is($hooks->{verdict}{kind}, $kind, "$what: verdict $kind") or diag($hooks->{verdict}{sentence});
	is($seen->{verdict}{kind},  $kind, '... also from outside') or diag($seen->{verdict}{sentence});
	is($seen->{verdict}{blamed}{comm}, $comm, '... naming the same');
	cmp_ok(
		abs($seen->{interval}{$_} - $hooks->{interval}{$_}), '<=', MS,
		"... $_ is right to a millisecond"
	) for qw(start_ns end_ns duration_ns);
	my $t    = $seen->{interval}{start_ns};
	my $gaps = 0;
	for (@{ $seen->{path} }) { $gaps++ if $_->{from_ns} != $t; $t = $_->{to_ns} }
	is($gaps + ($t != $seen->{interval}{end_ns}), 0,          '... and its path has no gap');
	is($seen->{interval}{certainty},              'inferred', '... which is inferred')
		if $hooks->{interval}{certainty} eq 'exact';
	return ($seen, $hooks);
}

my ($seen, $hooks) = twice('nothing unusual', 'none', undef, sub { $_[0]->key(700, 5) });
is($hooks->{event}{server}{source}, 'x_hooks',  'hooks are named as the source');
is($seen->{event}{server}{source},  'x_client', 'so is the observer');

($seen, $hooks) = twice(
	'a busy CPU',
	'cpu-contention',
	'spin',
	sub {
		my ($s) = @_;
		$s->builder->thread(901, 'spin', ts_ns => 900 * MS, state => 'runnable');
		$s->run(1, 999, 1930, 901, 'runnable', preempted => 1, next => CLIENT)->enter(1000);
		$s->builder->switch(1, 1933 * MS, CLIENT, 901, 'sleeping');
		$s->draw(1932.9);
	}
);
is_deeply(
	[ map { $_->{name} } @{ $seen->{event}{stages} } ],
	[ map { $_->{name} } @{ $hooks->{event}{stages} } ], 'both have the same stages'
);
my %certain = map { $_->{name} => $_->{certainty} } @{ $seen->{event}{stages} };
is_deeply(
	\%certain,
	{
		input => 'exact', client => 'exact',
		map { $_ => 'inferred' } qw(server device deliver request feedback)
	},
	'what wake-ups tell is exact, the rest is inferred'
);
my ($request) = grep { $_->{name} eq 'request' } @{ $seen->{event}{stages} };
is($request->{ts_ns}, 1932.9 * MS, 'the request is where the client woke the server');
my ($deliver) = grep { $_->{name} eq 'deliver' } @{ $seen->{event}{stages} };
is($deliver->{ts_ns}, 1000.2 * MS, 'the delivery is where the server woke the client');
like(Tipme::Report::Text::page($seen), qr/the screen had changed \(inferred\)/, 'the page says so');

twice('a client that computes', 'app-compute', 'xterm', sub { $_[0]->key(1000, 800) });
twice(
	'a client that sleeps',
	'timer-sleep',
	'xterm',
	sub {
		$_[0]->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
			->wake(1, 1701, CLIENT, 0, 'nanosleep', context => 'hardirq')
			->run(1, 1701.1, 1702, CLIENT, 'sleeping')->draw(1701.9);
	}
);
twice(
	'a client that waits for another',
	'ipc-wait',
	'service',
	sub {
		my ($s) = @_;
		$s->builder->thread(500, 'service', ts_ns => 900 * MS);
		$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')->wake(1, 1000.8, 500, CLIENT)
			->run(0, 1000.9, 1600, 500, 'sleeping');
		$s->wake(0, 1599.9, CLIENT, 500, 'poll')->run(1, 1600, 1601, CLIENT, 'sleeping')
			->draw(1600.9);
	}
);
twice(
	'a server that was kept from its input',
	'rt-starvation',
	'hog',
	sub {
		my ($s) = @_;
		my $b = $s->builder;
		$b->thread(901, 'hog', ts_ns => 890 * MS);
		$b->x(Tipme::Test::Story::ns(800), 'x_sleep');
		$s->run(0, 900, 1700, 901, 'dead', prio => 79, next => SERVER)
			->wake(0, 1000, SERVER, 0, 'epoll', context => 'hardirq');
		$b->switch(0, Tipme::Test::Story::ns(1700.3), SERVER, 0, 'sleeping');
		$b->x(Tipme::Test::Story::ns(1700 + $_->[0]), @$_[ 1 .. $#$_ ])
			for [ 0.06, 'x_wakeup' ],
			[ 0.1, 'x_device', input_seq => 77, kind => 'key_press', device => 6 ],
			[
			0.19, 'x_deliver', input_seq => 77, kind => 'key_press', pid => CLIENT, client => 4,
			x_type => 2
			],
			[ 0.28, 'x_sleep' ];
		$s->wake(0, 1700.2, CLIENT, SERVER, 'poll')->run(1, 1700.25, 1702, CLIENT, 'sleeping')
			->draw(1701.9);
	}
);
twice(
	'a blinking cursor',
	'none', undef,
	sub {
		my ($s) = @_;
		$s->key(1000, 3)->wake(1, 1600, CLIENT, 0, 'poll', context => 'hardirq')
			->run(1, 1600.1, 1601, CLIENT, 'sleeping')->draw(1600.9);
	}
);
($seen) = twice(
	'a client that is stopped',
	'stopped',
	'xterm',
	sub {
		my ($s) = @_;
		$s->wake(0, 950, CLIENT, 600, 'poll')->run(1, 950.1, 950.2, CLIENT, 'stopped')
			->run(0, 949, 950.5, 600, 'sleeping')->enter(1000, no_wake => 1);
		$s->picture(CLIENT, 'xterm', state => 'stopped', since_ns => 950_200_000);
	}
);
is($seen->{interval}{certainty}, 'open', '... and not answered, which is no less sure');

# Its clock counts in ms: "usually 0.00 ms" would be no measurement.
$seen = told(
	sub { my ($s) = @_; $s->key($_, 0.4) for 600, 700, 800, 900; $s->key(1000, 400) },
	observed => 1, no_usual => 1
);
is(
	$seen->{interval}{usual_ns}, MS,
	'what is usual from outside is no shorter than the unit of its clock'
) or diag($seen->{verdict}{sentence});

# Both tell of one server: the hooks are believed.
my $s = Tipme::Test::Story->new(trigger => 3000.4);
$s->builder->add(
	'x-555.rec', 'x_client', 0, 'x_device', ts_ns => 1000 * MS, tid => SERVER,
	input_seq => 1, kind => 'key_press'
);
$s->key(1000, 800)->hotkey(3000);
my $dir = $s->builder->write("$tmp/both");
system('sed', '-i', 's/"server_pid" : 555/"server_pid" : 100/', "$dir/manifest.json");
is(
	scalar(grep { !$_->{server}{exact} } Tipme::Diagnosis->new(Tipme::Episode->open($dir))->events),
	0, 'an observer beside hooks is not heard'
);

# An episode from before a padding field got its meaning is read as ever; one whose fields were
# exchanged is not.
my $old = Tipme::Test::Story->new->key(1000, 800)->builder->write("$tmp/old");
system(
	'sed', '-i',
	's/u64 duration_ns unit ns : "since 1.1: how long it wrote.*/u64 pad1 zero : "0"/',
	"$old/schema"
);
ok(
	eval { Tipme::Episode->open($old)->sections_between(undef, undef, ['x_hooks']); 1 },
	'an older schema, with padding where a field is now, is understood'
) or diag $@;
system('sed', '-i', 's/u64 pad1 zero : "0"/u64 lies unit ns : "0"/', "$old/schema");
ok(
	!eval { Tipme::Episode->open($old)->sections_between(undef, undef, ['x_hooks']); 1 },
	'another field in its place is damage'
);

is("@warnings", '', 'no warnings');
done_testing;
