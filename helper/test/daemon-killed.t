# SPDX-License-Identifier: GPL-2.0-only
# Killed in the midst of writing, again and again: what has the name of an episode is a whole one.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP ();
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::TestDaemon qw(slurp wait_until whole);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my @FILES = qw(kernel.rec manifest.json schema threads.rec);

my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 4 ]);
my ($caught, %checked) = 0;
for my $try (1 .. 12) {
	is +($d->start)[0], 0, "start $try";
	is half_written(), 0, 'what the last one left half-written is gone';
	my @load = map { load() } 1 .. 2;
	sleep 0.2;
	my $c = $d->connection;
	send $c, Tipme::TestDaemon::message(2, 0, ''), 0;
	my $end = time + 5;
	1 until half_written() || time > $end;
	kill 'KILL', $d->pid, @load;
	wait_until(sub { !kill 0, $d->pid });
	waitpid $_, 0 for @load;
	delete $d->{pid};
	$caught++ if half_written();
	is_deeply [ map { @{ complete($_) } } grep { !$checked{$_}++ } glob $d->library . '/*' ], [], 'every episode that has its name is complete';
	last if $caught == 2;
}
cmp_ok $caught, '>=', 1, "it was caught in the midst of writing ($caught times)";
is +($d->start)[0], 0, 'start after that';
is half_written(), 0, 'the half-written ones are gone';
$d->stop;
done_testing;

sub half_written { my @found = glob $d->library . '/.[0-9]*'; return scalar @found }

sub manifest { return JSON::PP->new->utf8->decode(slurp("$_[0]/manifest.json")) }

# What is wrong with an episode; an empty list: nothing.
sub complete {
	my ($path) = @_;
	my @wrong = grep { !-e "$path/$_" } @FILES;
	return [ map { "$path: no $_" } @wrong ] if @wrong;
	eval { whole("$path/$_") for qw(kernel.rec threads.rec); manifest($path); 1 } or push @wrong, $@;
	return \@wrong;
}

# Two processes that pass a byte to and fro as fast as they can.
sub load {
	my $pid = fork // die;
	return $pid if $pid;
	pipe my $r1, my $w1;
	pipe my $r2, my $w2;
	my $parent = $$;
	if (!fork) {
		close $w1;
		close $r2;
		while (sysread $r1, my $b, 1) { syswrite $w2, $b or last }
		exit 0;
	}
	close $r1;
	close $w2;
	$SIG{PIPE} = sub { exit 0 };
	while (1) { syswrite $w1, 'x' or exit 0; sysread $r2, my $b, 1 or exit 0 }
}
