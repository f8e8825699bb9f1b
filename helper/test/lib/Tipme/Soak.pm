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
use Tipme::LeftOut    qw(calls_left_out wrongly_left_out);
use Tipme::TestDaemon qw(manifest slurp wait_until);

our @EXPORT_OK = qw(grown_kb may_grow_kb parts_kb soak);

# Verb and action of a message that tells of a hot-key, as an agent sends it.
use constant { TRIGGER => 2, SNAPSHOT => 2 };
use constant { HOUR_S => 3600, STOP_S => 2, FIRST_PRESSES => 60 };
# What a leak may take in an hour without being told from what comes and goes, and at least this.
use constant { GROWTH_KB_HOUR => 2 << 10, GROWTH_KB_LEAST => 1 << 10 };
# A copy has room for the ring and half of it again, but for what sub-buffers that are not full
# take. A record has 32 bytes.
use constant { COPY_OF_RING => 1.4, RECORDS_KB => 32 };
# So much later than it shall a copy may end that a flood cuts, but for the time of a stop.
use constant LATE_S => 2;
# What of the recorder's memory is told apart.
my @PARTS = qw(all ring copy maps heap anon other own);

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
		%how, d => $d, pid => $d->pid, presses => 0, stops => 0, memory => [],
		records => [], floods => 0, longest => 0, bad => {}
		},
		__PACKAGE__;
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
	my $status = $self->{d}->status;
	my @memory = @{ $self->{memory} };
	note sprintf '%d s, %d presses, %d stops, %d records in episodes, %d in all',
		$seconds, @$self{qw(presses stops)}, sum(0, @{ $self->{records} }), $status->{records};
	note sprintf '%d cut by a flood, which ended after at most %.1f s', @$self{qw(floods longest)};
	for my $part (@PARTS) {
		note "kB, $part: ", join ' ', map { $memory[ $_ * $#memory / 8 ]{$part} } 0 .. 8;
	}
	is_deeply $self->{bad}, {},
		"$self->{presses} presses of the hot-key, an episode each, and each is whole";
	is $status->{pid}, $self->{pid}, 'it is still the same recorder';
	my @lost = grep { $status->{lost}{$_} } qw(pool nested lives);
	is_deeply \@lost, [], 'nothing is lost';
	note "lost: missed $status->{lost}{missed}; left out: ", calls_left_out($status);
	is_deeply [ wrongly_left_out($status) ], [], 'no call of a program is missing';
	my ($growth, $bar) = (grown_kb(@memory), may_grow_kb($seconds));
	cmp_ok $growth, '<', $bar,
		'last fourth, second fourth: no more memory but ring and copy (kB)';
	return;
}

# What half the seconds of a soak may add: that much lies between its second and last fourth.
sub may_grow_kb {
	my ($seconds) = @_;
	return max(GROWTH_KB_LEAST, GROWTH_KB_HOUR * $seconds / HOUR_S / 2);
}

# By how much own memory is larger in the last fourth than in the second. The ring grows and
# shrinks with the rate of all programs, within its share of the machine's memory. A copy is as
# large as the ring was. Both are said by the recorder itself, and are not its own here. What it
# maps for a ring that it no longer counts is.
sub grown_kb {
	my (@memory) = @_;
	my ($early, $late) = map {
		min(map { $_->{own} } _quarter($_, @memory))
	} 1, 3;
	return $late - $early;
}

sub _press {
	my ($self) = @_;
	my $next = time + $self->{every};
	# Between presses: copies are given back once they are saved.
	push @{ $self->{memory} },
		parts_kb(slurp("/proc/$self->{pid}/smaps"), $self->_status->{memory});
	my $storm = $self->{storm} && _load(1, @{ $self->{storm} });
	_await_end($storm) if $storm;
	my $n      = ++$self->{presses};
	my $before = $self->_status->{episodes};
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
	my $why = eval { push @{ $self->{records} }, $self->_whole($path); 1 } ? undef : $@;
	$self->{bad}{"press $n: $why"}++ if defined $why;
	sleep $next - time               if $next > time;
	return;
}

# A busy machine may keep it from answering in time.
sub _status {
	my ($self) = @_;
	my $status;
	wait_until(sub { $status = $self->{d}->status; $status->{memory} }) or die "no status\n";
	return $status;
}

# What is resident by an smaps, in kB: all; ring and copy as the recorder's STATUS has them; maps of
# BPF (the ring is there), heap, nameless memory, files; own: all but ring and copy.
sub parts_kb {
	my ($smaps, $status) = @_;
	my %kb = map { $_ => 0 } @PARTS;
	my $part;
	for (split /\n/, $smaps) {
		if (/^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)/) {
			$part =
				  $1 =~ /bpf-map/                     ? 'maps'
				: $1 eq '[heap]'                      ? 'heap'
				: $1 eq '' || $1 =~ /^\[(anon|stack)/ ? 'anon'
				:                                       'other';
		} elsif (/^Rss:\s+(\d+)/) {
			$kb{$_} += $1 for 'all', $part;
		}
	}
	$kb{$_} = int($status->{ { ring => 'pool_bytes', copy => 'copy_bytes' }->{$_} } / 1024)
		for qw(ring copy);
	$kb{own} = $kb{all} - $kb{ring} - $kb{copy};
	return \%kb;
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

# How many records an episode has; dies by what is wrong with it. Calls that the kernel left out are
# judged for the whole time, by program. The end may be cut where a flood of records is more than a
# copy has room for, in the seconds that it takes: other parts of a soak, beside this one, are that.
sub _whole {
	my ($self, $path) = @_;
	my $m    = manifest($path);
	my $lost = (grep { $_->{file} eq 'kernel.rec' } @{ $m->{sources} })[0]{lost};
	my @bad  = grep { $lost->{$_} } qw(pool nested torn lives);
	die 'lost: ' . join(' ', map {"$_ $lost->{$_}"} @bad) . "\n" if @bad;
	my $n  = 0;
	my $ep = Tipme::Episode->open($path);
	for my $s ($ep->sections) { my ($heads) = $ep->section_heads($s); $n += @$heads / 4 }
	return $n if !$lost->{cut};
	my $room = COPY_OF_RING * RECORDS_KB * $self->{memory}[-1]{ring};
	my $took = ($m->{end_ns} - $m->{trigger}{ns}) / 1e9;
	my $last = $m->{recorder}{post_s} + LATE_S + ($self->{pressed} ? STOP_S : 0);
	die sprintf "cut: %d records, %d are there, room for %d, ended after %.1f s\n",
		$lost->{cut}, $n, $room, $took
		if $n + $lost->{cut} < $room || $took > $last;
	$self->{longest} = max($self->{longest}, $took);
	$self->{floods}++;
	return $n;
}

1;
