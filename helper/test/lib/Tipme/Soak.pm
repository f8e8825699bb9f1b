# SPDX-License-Identifier: GPL-2.0-only
# An hour of recording, under what one of the tests soak-* is about: each press of the hot-key makes
# an episode that is whole, nothing is lost, memory stays flat. An hour with TIPME_TEST_ALL=1, or as
# many seconds as TIPME_TEST_SOAK says; else it is left out.
package Tipme::Soak;
use strict;
use warnings;
use Exporter   qw(import);
use List::Util qw(max min sum);
use Test::More;
use Time::HiRes       qw(sleep time);
use Tipme::TestDaemon qw(manifest slurp wait_until);

our @EXPORT_OK = qw(soak);

# Verb and action of a message that tells of a hot-key, as an agent sends it.
use constant { TRIGGER => 2, SNAPSHOT => 2 };
use constant { HOUR_S => 3600, STOP_S => 2, FIRST_PRESSES => 60 };
# What a leak may take in an hour without being told from what comes and goes, and at least this.
use constant { GROWTH_KB_HOUR => 2 << 10, GROWTH_KB_LEAST => 1 << 10 };

# soak(every => SECONDS between presses, load => [threads, ms, trips a second], stop_each => N:
# before each N-th press the recorder is stopped, as all processes are before a machine sleeps,
# pressed => 1: the press comes meanwhile, storm => [ms, trips a second, seconds]: a load before
# each press, args => [of tipmed])
sub soak {
	my (%how) = @_;
	my $seconds = $ENV{TIPME_TEST_SOAK} // ($ENV{TIPME_TEST_ALL} ? HOUR_S : 0);
	plan skip_all => 'takes an hour: TIPME_TEST_ALL=1, or TIPME_TEST_SOAK=SECONDS' if !$seconds;
	plan skip_all => 'recording needs root (run it with sudo)'                     if $>;
	plan skip_all => 'the modules that read episodes are not installed'
		if !eval { require Tipme::Episode; 1 };
	# The history of processes would grow as they come, to 16 MB: one of 1 MB is full soon.
	my $d = Tipme::TestDaemon->new(
		args => [ '--keep', 3, '--history', 1, '--hotkey', 'none', @{ $how{args} // [] } ]);
	is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');
	my $load = _load(@{ $how{load} }, $seconds + HOUR_S);
	my $self = bless {
		%how, d => $d, pid => $d->pid, presses => 0, stops => 0, resident => [],
		records => [], bad => {}
	};
	# A short one has as many presses as it takes to see anything.
	$self->{every} = max(5, min($how{every}, $seconds / FIRST_PRESSES));
	my $begin = time;
	$self->_press while time - $begin < $seconds;
	$self->_judge(time - $begin);
	_end($load);
	$d->stop;
	done_testing;
	return;
}

sub _judge {
	my ($self, $seconds) = @_;
	my $status   = $self->{d}->status;
	my @resident = @{ $self->{resident} };
	my ($early, $late) = map { min(_quarter($_, @resident)) } 1, 3;
	note sprintf
		'%d s, %d presses, %d stops, %d records in episodes, %d in all; resident kB %s',
		$seconds, @$self{qw(presses stops)}, sum(0, @{ $self->{records} }), $status->{records},
		join ' ', map { $resident[ $_ * $#resident / 8 ] } 0 .. 8;
	is_deeply $self->{bad}, {},
		"$self->{presses} presses of the hot-key, an episode each, and each is whole";
	is $status->{pid}, $self->{pid}, 'it is still the same recorder';
	my @lost = grep { $status->{lost}{$_} } qw(pool nested missed lives);
	is_deeply \@lost, [], 'nothing is lost';
	# Half of it lies between the two.
	my $growth = max(GROWTH_KB_LEAST, GROWTH_KB_HOUR * $seconds / HOUR_S / 2);
	cmp_ok $late, '<', $early + $growth,
		"and has no more memory in the last fourth than in the second (kB): $late, $early";
	return;
}

sub _press {
	my ($self) = @_;
	my $next = time + $self->{every};
	# Between presses: copies are given back once they are saved.
	push @{ $self->{resident} }, (slurp("/proc/$self->{pid}/status") =~ /^VmRSS:\s+(\d+)/m)[0];
	my $storm = $self->{storm} && _load(1, @{ $self->{storm} });
	_await_end($storm) if $storm;
	my $n      = ++$self->{presses};
	my $before = $self->{d}->status->{episodes};
	my $stop   = $self->{stop_each} && $n % $self->{stop_each} == 0;
	$self->_stop_for(STOP_S) if $stop && !$self->{pressed};
	my $peer = $self->{d}->connection;
	my $send = sub { send $peer, Tipme::TestDaemon::message(TRIGGER, SNAPSHOT, ''), 0 };
	$stop && $self->{pressed} ? $self->_stop_for(STOP_S, $send) : $send->();

	if (!wait_until(sub { ($self->{d}->status->{episodes} // 0) > $before })) {
		$self->{bad}{"press $n: no episode"}++;
		return;
	}
	my ($path) = reverse sort glob $self->{d}->library . '/2*';
	my $why = eval { push @{ $self->{records} }, _whole($path); 1 } ? undef : $@;
	$self->{bad}{"press $n: $why"}++ if defined $why;
	sleep $next - time               if $next > time;
	return;
}

# Stops the recorder, and DOes what it shall find when it goes on.
sub _stop_for {
	my ($self, $s, $do) = @_;
	kill 'STOP', $self->{pid};
	$do->() if $do;
	sleep $s;
	kill 'CONT', $self->{pid};
	$self->{stops}++;
	return;
}

sub _quarter { my ($n, @of) = @_; return @of[ int($n * @of / 4) .. int(($n + 1) * @of / 4) - 1 ] }

# bench/sleepers with these arguments
sub _load {
	my (@args) = @_;
	my $pid    = open my $out, '-|', "$ENV{TIPME_BUILDDIR}/bench/sleepers", @args
		or BAIL_OUT("sleepers: $!");
	readline $out;
	return { pid => $pid, out => $out };
}

sub _await_end { my ($load) = @_; readline $load->{out};     close $load->{out}; return }
sub _end       { my ($load) = @_; kill 'KILL', $load->{pid}; close $load->{out}; return }

# How many records an episode has; dies by what is wrong with it.
sub _whole {
	my ($path) = @_;
	my $lost   = (grep { $_->{file} eq 'kernel.rec' } @{ manifest($path)->{sources} })[0]{lost};
	my @bad    = grep { $lost->{$_} } qw(pool nested missed torn cut lives);
	die 'lost: ' . join(' ', map {"$_ $lost->{$_}"} @bad) . "\n" if @bad;
	my $n  = 0;
	my $ep = Tipme::Episode->open($path);
	for my $s ($ep->sections) { my ($heads) = $ep->section_heads($s); $n += @$heads / 4 }
	return $n;
}

1;
