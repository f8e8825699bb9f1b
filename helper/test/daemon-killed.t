# SPDX-License-Identifier: GPL-2.0-only
# Killed in the midst of writing, again and again: what has the name of an episode is a whole one.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(complete gone load wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;

my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 4 ]);
my ($caught, %checked) = 0;
for my $try (1 .. 40) {
	is + ($d->start)[0], 0, "start $try";
	is half_written(),   0, 'what the last one left half-written is gone';
	my @load = map { load() } 1 .. 2;
	sleep 0.2;
	my $c = $d->connection;
	send $c, Tipme::TestDaemon::message(2, 0, ''), 0;
	my $old = saved();
	my $end = time + 60;
	1 until half_written() || saved() > $old || time > $end;
	kill 'KILL', $d->pid, @load;
	wait_until(sub { gone($d->pid) });
	waitpid $_, 0 for @load;
	delete $d->{pid};
	$caught++ if half_written();
	is_deeply [ map { @{ complete($_) } } grep { -d && !$checked{$_}++ } glob $d->library . '/*' ],
		[],
		'every episode that has its name is complete';
	last if $caught == 2;
}
cmp_ok $caught, '>=', 1, "it was caught in the midst of writing ($caught times)";
is + ($d->start)[0], 0, 'start after that';
is half_written(),   0, 'the half-written ones are gone';
$d->stop;
done_testing;

sub saved        { my @found = glob $d->library . '/2*';      return scalar @found }
sub half_written { my @found = glob $d->library . '/.[0-9]*'; return scalar @found }
