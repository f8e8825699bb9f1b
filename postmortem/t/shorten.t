#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A client and its server that take turns very often: the path is told by runs, and every sum is the
# one of the long path.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Test::Story;
use Tipme::Timeline;

use constant MS => 1_000_000;
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
my ($client, $server) = (200, 100);
my $TRIPS = 600;
my $END   = 1000 + 0.075 * $TRIPS + 300;

# TRIPS questions and answers of 75 us each, then the client computes for 300 ms and draws; MORE
# puts in what else there was.
sub flood {
	my ($more) = @_;
	my $s      = Tipme::Test::Story->new(trigger => $END + 500);
	my $b      = $s->builder;
	$s->enter(1000)->run(1, 1000.25, 1000.27, $client, 'sleeping', open => 1);
	for my $k (0 .. $TRIPS - 1) {
		my $t = 1_000_400_000 + 75_000 * $k;
		$b->wake(1, $t, $server, $client, stack_id => $s->id('epoll'), wakee_cpu => 0)
			->switch(0, $t + 5_000,  0,       $server, 'runnable')->x($t + 8_000, 'x_wakeup')
			->switch(1, $t + 10_000, $client, 0,       'sleeping');
		$b->x(
			$t + 15_000, 'x_request', pid => $client, client => 4, duration_ns => 8_000,
			major => 43, sequence => $k, count => 1
		);
		$b->wake(0, $t + 25_000, $client, $server, stack_id => $s->id('poll'), wakee_cpu => 1)
			->switch(1, $t + 30_000, 0,       $client, 'runnable')->x($t + 40_000, 'x_sleep')
			->switch(0, $t + 45_000, $server, 0,       'sleeping');
	}
	$more->($s, $b) if $more;
	$b->switch(1, int(($END + 1) * MS), $client, 0, 'sleeping');
	return $s->draw($END + 0.9)->hotkey($END + 400);
}

# Everything that adds up, as one text.
sub sums {
	my ($d) = @_;
	my $t = $d->{totals};
	return join "\n", (
		map {
			my $w = $_;
			map {"$w $_ $t->{$w}{$_}"} sort keys %{ $t->{$w} }
		} qw(kinds states)
		),
		(sort map { join ' ', $_->{kind}, $_->{pid} // '-', $_->{ns} } @{ $t->{blamed} }),
		(
		sort map {
			my $x = $_;
			join ' ', map {"$_ $x->{$_}"} sort keys %$x
		} @{ $t->{threads} }
		),
		map {"$_ $d->{verdict}{$_}"} qw(kind share confidence sentence door next);
}

# What the timeline draws of the path: how long each thread was in which state.
sub drawn {
	my ($dir, $d) = @_;
	my %ns;
	$ns{"$_->{tid} $_->{state}"} += $_->{to} - $_->{from}
		for
		@{ Tipme::Timeline->collect(Tipme::Diagnosis->new(Tipme::Episode->open($dir)), $d)->{path}
		};
	return join ', ', map {"$_ $ns{$_}"} sort keys %ns;
}

sub alike {
	my ($what, $more, $times) = @_;
	my $dir = flood($more)->builder->write("$tmp/" . $what =~ s/\W+/-/gr);
	my ($long, $short);
	{
		local $Tipme::WakeupChain::LONG = 1e9;
		$long = Tipme::Diagnosis->new(Tipme::Episode->open($dir))->run
	}
	{
		local ($Tipme::WakeupChain::LONG, $Tipme::WakeupChain::CHUNK, $Tipme::WakeupChain::LAST) =
			(100, 50, 8);
		$short = Tipme::Diagnosis->new(Tipme::Episode->open($dir))->run
	}
	is(sums($short), sums($long), "$what: all sums are the same");
	{
		local ($Tipme::WakeupChain::LONG, $Tipme::WakeupChain::CHUNK, $Tipme::WakeupChain::LAST) =
			(100, 50, 8);
		my ($at_one_go, $by_step) =
			map { Tipme::Test::Story::told($_) } Tipme::Test::Story::both_ways($dir);
		ok(
			$at_one_go eq $by_step,
			"$what: plain steps at one go come to the same, stretch by stretch"
		);
	}
	cmp_ok(
		@{ $short->{path} } * ($times // 5), '<', @{ $long->{path} },
		"$what: a path of " . @{ $short->{path} } . ' stretches, not ' . @{ $long->{path} }
	);
	my ($t, @bad) = $short->{interval}{start_ns};
	for my $p (@{ $short->{path} }) {
		push @bad, "gap at $t" if $p->{from_ns} != $t;
		$t = $p->{to_ns};
		next if !$p->{among};
		my $n = 0;
		$n += $_->{ns} for @{ $p->{among} };
		push @bad, "sum at $p->{from_ns}" if $n != $p->{to_ns} - $p->{from_ns};
	}
	push @bad, 'end' if $t != $short->{interval}{end_ns};
	is("@bad", '', "$what: without gap, and each run adds up");
	my ($one, $other) = map { drawn($dir, $_) } $long, $short;
	is($other, $one, "$what: the picture draws as much of each thread and state");
	ok(
		length Tipme::Report::Text::page($short) && Tipme::Report::JSON::data($short),
		"$what: page and JSON can be made"
	);
	return $short;
}

my $d = alike('nothing else');
{
	my $dir = flood()->builder->write("$tmp/label");
	my $c   = do {
		local ($Tipme::WakeupChain::LONG, $Tipme::WakeupChain::CHUNK, $Tipme::WakeupChain::LAST) =
			(100, 50, 8);
		my $x = Tipme::Diagnosis->new(Tipme::Episode->open($dir));
		Tipme::Timeline->collect($x, $x->run, from_ns => 1000 * MS, to_ns => 1050 * MS);
	};
	# Up to when it computes for 300 ms at one go.
	my ($turns) = sort { $b->{to} - $b->{from} <=> $a->{to} - $a->{from} }
		grep { $_->{to} < 1_060 * MS } @{ $c->{stretches} };
	my ($computes) = grep { $_->{to} >= 1_060 * MS } @{ $c->{stretches} };
	my %ns;
	for my $p (grep { $_->{from} < 1_045 * MS } @{ $c->{path} }) {
		$ns{ $p->{tid} } += $p->{to} - $p->{from};
	}
	my ($most) = sort { $ns{$b} <=> $ns{$a} } keys %ns;
	is($most, $client, 'the client had most of the time in which it and the server took turns');
	like(($turns // $computes)->{label}, qr/^xterm\b/, 'and the stretch goes by it');
}
my ($run) = grep { $_->{among} } @{ $d->{path} };
is_deeply(
	[
		sort keys %{
			Tipme::Report::JSON::data($d)
				->{path}[ (grep { $d->{path}[$_] == $run } 0 .. $#{ $d->{path} })[0] ]{among}[0]
		}
	],
	[ sort qw(kind pid tid comm detail detail_code ns state exact) ],
	'what JSON tells of a member'
);
like(
	$run->{blamed}{detail}, qr/in turn with others/,
	'the largest stands for the rest, and says so'
);
alike(
	'interrupts',
	sub {
		my ($s) = @_;
		$s->kernel(1, 1010 + 5 * $_, 'irq', kind => 'hardirq', number => 14, duration_ns => 180_000)
			for 0 .. 4;
		$s->kernel(
			$_ % 2, 1003 + 4 * $_, 'irq', kind => 'timer', number => 236,
			duration_ns => 2_000
		) for 0 .. 8;
	}
);
alike(
	'the host',
	sub {
		my ($s) = @_;
		$s->kernel(1, 1020, 'steal', cpu => 1, steal_ns => 3 * MS, since_ns => 1010 * MS);
	},
	3
);
alike(
	'memory',
	sub {
		my ($s) = @_;
		$s->lasts('memory_wait', 1, 1015, 1017, tid => $client, kind => 'memcg_reclaim');
	}
);
alike(
	'requests of others',
	sub {
		my ($s, $b) = @_;
		$b->thread(700, 'painter', ts_ns => 5 * MS)->x(
			(1012 + 6 * $_) * MS, 'x_request', pid => 700, client => 5, duration_ns => 200_000,
			major => 70, sequence => 1, count => 1
		) for 0 .. 3;
	}
);
alike(
	'a grab of the server before it',
	sub {
		my ($s, $b) = @_;
		$b->thread(700, 'painter', ts_ns => 5 * MS)
			->x($_->[0] * MS, 'x_grab', pid => 700, client => 5, what => 'server', begin => $_->[1])
			for [ 700, 1 ], [ 900, 0 ];
	}
);
alike(
	'a grab of the server in it',
	sub {
		my ($s, $b) = @_;
		$b->thread(700, 'painter', ts_ns => 5 * MS)
			->x($_->[0] * MS, 'x_grab', pid => 700, client => 5, what => 'server', begin => $_->[1])
			for [ 1010, 1 ], [ 1014, 0 ];
	},
	1.2
);
is_deeply(\@warnings, [], 'no warnings');
done_testing();
