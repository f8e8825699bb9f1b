# SPDX-License-Identifier: GPL-2.0-only
# The hot-keys that say what input may be recorded, from the key to the episode: what is typed in
# between is not in it, all else is.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../demo";
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
use Tipme::Display;
use Tipme::TestAgent  qw(command press public start_agent);
use Tipme::TestDaemon qw(records_of slurp tipmed wait_until);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent" || !-x tipmed();
for my $program (qw(Xvfb xdotool)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my ($CTRL, $ALT, $ZERO, $ONE, $A) = (37, 64, 19, 10, 38);

my $d = Tipme::TestDaemon->new(args => [ '--owner', (getpwnam 'nobody')[2] // 65534, '--post', 0 ]);
my $x = Tipme::Display->new(kind => 'Xvfb', rundir => $d->rundir);
is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');
my ($agent, $log) = start_agent($x, public($d->dir));
ok wait_until(sub { @{ $d->status->{x_servers} // [] } }), 'the server without hooks is observed'
	or diag(slurp($log));
my (@records, $snap);
ok wait_until(
	sub {
		press($x, $A);
		look();
		grep {/^x_device .*kind=key_press\b/} @records;
	}
	),
	'... with its keys';
ok $d->status->{classes}{input}, 'input is recorded';

my @phase = map { phase(@$_) } [ 'before', 7, undef ], [ 'with no-input', 9, $ZERO ],
	[ 'after default-input', 5, $ONE ];
# The observer may not have come to the last keys yet.
wait_until(sub { look(); return $snap || keys_of($phase[-1]) >= $phase[-1]{keys} });
is $snap, 0, 'snap';
for my $p (@phase) {
	my $n = keys_of($p);
	is $n, $p->{quiet} ? 0 : $p->{keys}, "$p->{name}: $p->{keys} keys typed, $n in the episode";
	my $kept = grep {
			   /^x_\w+ ts_ns=(\d+)/
			&& $1 > $p->{from}
			&& $1 < $p->{to}
			&& !/^x_(?:device|input)\b/
	} @records;
	is
		scalar(
		grep { /^x_deliver ts_ns=(\d+) .*kind=(?!other)/ && $1 > $p->{from} && $1 < $p->{to} }
			@records), 0, "$p->{name}: nor what clients were told of them"
		if $p->{quiet};
	note "$kept other records";
}
is + ($d->run(Tipme::TestDaemon::tipme(), 'classes', '-input'))[0], 0,
	'the same can be asked by name';
is $d->status->{classes}{input}, JSON::PP::false(), 'and shows';

# Who may only trigger may not say what is recorded.
my $c = $d->connection;
send $c, Tipme::TestDaemon::message(2, 9, ''), 0;
is + (Tipme::TestDaemon::answer($c))[1], 95, 'a hot-key that means nothing: EOPNOTSUPP';
kill 'TERM', $agent;
$d->stop;
$x->stop;
done_testing;

# Presses the chord, if any, and when that is done types so many keys; the time of these, and what
# was said.
sub phase {
	my ($name, $keys, $chord) = @_;
	my $quiet = defined $chord && $chord == $ZERO;
	if (defined $chord) {
		press($x, $CTRL, $ALT, $chord);
		ok wait_until(sub { !$d->status->{classes}{input} == $quiet }),
			"$name: tipmed has heard the chord";
	}
	sleep 0.2;
	my $from = now();
	for (1 .. $keys) { press($x, $A); sleep 0.03 }
	sleep 0.2;
	return { name => $name, keys => $keys, quiet => $quiet, from => $from, to => now() };
}

# An episode, and what it has of the X server.
sub look {
	($snap, my $out) = $d->snap;
	return if $snap;
	my ($file) = glob +(split /\n/, $out)[1] . '/x-*.rec' or BAIL_OUT('no X records');
	(undef, @records) = records_of($file);
	return;
}

# How many keys were pressed in that time, as the records have it.
sub keys_of {
	my ($p) = @_;
	return
		scalar
		grep { /^x_device ts_ns=(\d+) .*kind=key_press\b/ && $1 > $p->{from} && $1 < $p->{to} }
		@records;
}

sub now { return clock_gettime(CLOCK_MONOTONIC) * 1e9 }
