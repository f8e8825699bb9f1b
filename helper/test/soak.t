# SPDX-License-Identifier: GPL-2.0-only
# Hours of recording under a load of some 20,000 records a second, with a press of the hot-key each
# minute: memory stays flat, nothing is lost, each episode is whole. Before each tenth press the
# recorder is stopped for two seconds, as all processes are before a machine sleeps; one that really
# sleeps is tests/vm/suspend.t. Four hours with TIPME_TEST_ALL=1, or as many seconds as
# TIPME_TEST_SOAK says; else it is left out.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/lib abi/generated);
use List::Util qw(min sum);
use Test::More;
use Time::HiRes qw(sleep time);
use Tipme::TestDaemon qw(manifest slurp wait_until);

my $seconds = $ENV{TIPME_TEST_SOAK} // ($ENV{TIPME_TEST_ALL} ? 4 * 3600 : 0);
plan skip_all => 'takes four hours: TIPME_TEST_ALL=1, or TIPME_TEST_SOAK=SECONDS' if !$seconds;
plan skip_all => 'recording needs root (run it with sudo)'                        if $>;
plan skip_all => 'the modules that read episodes are not installed'
	if !eval { require Tipme::Episode; 1 };

# Verb and action of a message that tells of a hot-key, as an agent sends it.
use constant { TRIGGER => 2, SNAPSHOT => 2 };
use constant GROWTH_KB => 4 << 10;

my $every = $seconds < 600 ? 10 : 60;
# The history of processes would grow as they come, to 16 MB: one of 1 MB is full soon.
my $d = Tipme::TestDaemon->new(args => [ '--keep', 3, '--history', 1 ]);
is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');
my $pid      = $d->pid;
# As many threads as fill the ring of pictures, which takes memory as it is written, in two minutes.
my $load_pid = open my $load, '-|', "$ENV{TIPME_BUILDDIR}/bench/sleepers", 300, 300, 3300,
	$seconds + 3600
	or BAIL_OUT("sleepers: $!");
readline $load;
my ($begin, $presses, $stops, @resident, @records, %bad) = (time, 0, 0);
press() while time - $begin < $seconds;
my $status = $d->status;
my ($early, $late) = map { min(@$_) } quarter(1), quarter(3);
note sprintf '%d s, %d presses, %d stops, %d records in episodes, %d in all; resident kB %s',
	time - $begin, $presses, $stops, sum(0, @records), $status->{records},
	join ' ', map { $resident[ $_ * $#resident / 8 ] } 0 .. 8;
is_deeply \%bad, {}, "$presses presses of the hot-key, an episode each, and each is whole";
is $status->{pid}, $pid, 'it is still the same recorder';
is_deeply { map { $_ => $status->{lost}{$_} } qw(pool nested missed lives) },
	{ map { $_ => 0 } qw(pool nested missed lives) }, 'nothing is lost';
cmp_ok $late, '<', $early + GROWTH_KB,
	"and has no more memory in the last fourth than in the second (kB): $late, $early";
kill 'KILL', $load_pid;
close $load;
$d->stop;
done_testing;

sub press {
	my $next = time + $every;
	# Between presses: copies are given back once they are saved.
	push @resident, (slurp("/proc/$pid/status") =~ /^VmRSS:\s+(\d+)/m)[0];
	stop_for(2) if ++$presses % 10 == 0;
	my $before = $d->status->{episodes};
	my $peer   = $d->connection;
	send $peer, Tipme::TestDaemon::message(TRIGGER, SNAPSHOT, ''), 0;
	if (!wait_until(sub { ($d->status->{episodes} // 0) > $before })) {
		$bad{"press $presses: no episode"}++;
		return;
	}
	my ($path) = reverse sort glob $d->library . '/2*';
	my $why = eval { push @records, whole($path); 1 } ? undef : $@;
	$bad{"press $presses: $why"}++ if defined $why;
	sleep $next - time if $next > time;
	return;
}

sub stop_for {
	my ($s) = @_;
	kill 'STOP', $pid;
	sleep $s;
	kill 'CONT', $pid;
	$stops++;
	return;
}

sub quarter {
	my ($n) = @_;
	return [ @resident[ int($n * @resident / 4) .. int(($n + 1) * @resident / 4) - 1 ] ];
}

# How many records an episode has; dies by what is wrong with it.
sub whole {
	my ($path) = @_;
	my $lost = (grep { $_->{file} eq 'kernel.rec' } @{ manifest($path)->{sources} })[0]{lost};
	my @bad = grep { $lost->{$_} } qw(pool nested missed torn cut lives);
	die 'lost: ' . join(' ', map {"$_ $lost->{$_}"} @bad) . "\n" if @bad;
	my $n  = 0;
	my $ep = Tipme::Episode->open($path);
	for my $s ($ep->sections) { my ($heads) = $ep->section_heads($s); $n += @$heads / 4 }
	return $n;
}
