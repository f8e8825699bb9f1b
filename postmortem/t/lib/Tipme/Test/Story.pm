# SPDX-License-Identifier: GPL-2.0-only
# Episodes that tell one story each: an X server (100), a terminal (200) and its shell (300) on two
# CPUs; a key, and what made it slow.
package Tipme::Test::Story;

use strict;
use warnings;
use Carp             qw(croak);
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use Tipme::Diagnosis;
use Tipme::DisplaySource;
use Tipme::Episode;
use Tipme::Report::JSON;
use Tipme::Segment;
use Tipme::Test::Episode;
use Tipme::Test::Stacks qw(stack_text);

# Each story is held to the fields that a segment may have.
$Tipme::Segment::STRICT = 1;

use constant MS => 1_000_000;
use constant { SERVER => 100, CLIENT  => 200, SHELL => 300, KWORKER => 50 };
use constant { WORKER => 201, SERVICE => 500, BUS   => 510, OUTSIDE => 600 };

# Stacks that each story has, by the names of Tipme::Test::Stacks.
my $n  = 0;
my %ID = map { $_ => ++$n }
	qw(poll epoll nanosleep tty wait4 disk futex mutex flock fault swap journal jbd2 direct unix
	fuse);

# new(trigger => MS, ...): all are asleep; three ordinary keys have been answered in 3 ms each, at
# 100, 300 and 500 ms
sub new {
	my ($class,   %o)      = @_;
	my ($trigger, $server) = (delete($o{trigger}) // 4000, delete($o{server_comm}) // 'Xorg');
	my $b = Tipme::Test::Episode->new(
		trigger_ns => $trigger * MS, end_ns => ($trigger + 1000) * MS,
		server_pid => SERVER, first_ns => MS, %o
	);
	my $self = bless { b => $b, seq => 0, done => {} }, $class;
	$b->switch($_, 2 * MS + $_, 999, 0, 'sleeping') for 0, 1;
	$b->thread(SERVER, $server, ts_ns => 5 * MS, since_ns => 2 * MS, cpu => 0)
		->thread(CLIENT,  'xterm', ts_ns => 5 * MS,  since_ns => 2 * MS, cpu   => 1)
		->thread(SHELL,   'bash',  ppid  => CLIENT,  ts_ns => 5 * MS, since_ns => 2 * MS, cpu => 1)
		->thread(KWORKER, 'kworker/1:2', flags => 1, ts_ns => 5 * MS, since_ns => 2 * MS)
		->thread(999,     'init',        ts_ns => 5 * MS);
	$b->stack($ID{$_}, stack_text($_)) for sort keys %ID;
	$b->daemon($trigger * MS, 'function', function => 0x1234, name => 'flush_to_ldisc');
	$self->key($_, 3) for $o{no_usual} ? () : (100, 300, 500);
	return $self;
}

# with_threads(\@OWN, \@OTHERS, as for new): the terminal has more threads, and there are more
# processes: each a [ TID, NAME ]
sub with_threads {
	my ($class, $own, $others, %o) = @_;
	my $self  = $class->new(%o);
	my @since = (ts_ns => 5 * MS, since_ns => 2 * MS);
	$self->builder->thread(@$_, pid => CLIENT, @since) for @$own;
	$self->builder->thread(@$_, @since)                for @$others;
	return $self;
}

# with_service(as for new): the terminal has a second thread, `worker` (201); there are a service
# (500), a bus (510), and a shell from elsewhere (600), which stops and continues others
sub with_service {
	my ($class, @o) = @_;
	return $class->with_threads(
		[ [ WORKER,  'worker' ] ],
		[ [ SERVICE, 'service' ], [ BUS, 'bus' ], [ OUTSIDE, 'bash' ] ], @o
	);
}

sub builder { return $_[0]{b} }
sub id      { return $ID{ $_[1] } }

# folder(): where it is written; sources(): the display sources that such an episode has
sub folder {
	my ($self) = @_;
	my $folder = tempdir(CLEANUP => 1) . '/episode';
	$self->builder->write($folder);
	return $folder;
}

sub sources {
	my ($self) = @_;
	return Tipme::DisplaySource->load_all(Tipme::Episode->open($self->folder));
}

# run(CPU, FROM, TO, TID, STATE, %more): the thread runs there in [FROM, TO) ms, the CPU is idle
# before and after
sub run {
	my ($self, $cpu, $from, $to, $tid, $state, %f) = @_;
	my $prio = $f{prio} // 120;
	$self->{b}->switch(
		$cpu, ns($from), $f{prev} // 0, $tid, $f{prev_state} // 'runnable',
		next_prio => $prio
	);
	$self->{b}->switch(
		$cpu, ns($to), $tid, $f{next} // 0, $state, prev_prio => $prio,
		prev_preempted => $f{preempted} // 0
	) if !$f{open};
	return $self;
}

sub wake {
	my ($self, $cpu, $t, $wakee, $waker, $stack, %f) = @_;
	$self->{b}->wake(
		$cpu, ns($t), $wakee, $waker, stack_id => $stack ? $ID{$stack} : 0,
		wakee_cpu => $wakee == SERVER ? 0 : 1, %f
	);
	return $self;
}

sub ns { return int($_[0] * MS + 0.5) }

# enter(MS): a key wakes the server, which reads it and sends it to the client, and sleeps again:
# 0.3 ms (until: later). The client is woken at +0.2.
sub enter {
	my ($self, $t, %o) = @_;
	my $b   = $self->{b};
	my $seq = ++$self->{seq};
	$b->x(ns($t - 0.5), 'x_sleep') if !$o{awake};
	$self->wake(0, $t, SERVER, 0, 'epoll', context => 'hardirq')
		->run(0, $t + 0.05, $t + ($o{until} // 0.3), SERVER, 'sleeping');
	$b->x(ns($t + 0.06), 'x_wakeup');
	$b->x(
		ns($t + 0.1), 'x_device', input_seq => $seq, kind => $o{kind} // 'key_press',
		device => 6
	);
	$b->x(
		ns($t + 0.11), 'x_device', input_seq => $seq, kind => $o{kind} // 'key_press',
		device => 3, is_master => 1
	);
	$b->x(
		ns($t + 0.19), 'x_deliver', input_seq => $seq, kind => $o{kind} // 'key_press',
		pid => CLIENT, client => 4, x_type => 2, window => $o{window} // 0
	) if !$o{chord};
	$self->wake(0, $t + 0.2, CLIENT, SERVER, $o{client_stack} // 'poll')
		if !$o{no_wake} && !$o{chord};
	$b->x(ns($t + 0.21), 'x_chord', input_seq => $seq, action => 'snapshot')
		if $o{chord} && $o{chord} eq 'last';
	$b->x(ns($t + ($o{until} // 0.3) - 0.02), 'x_sleep');
	return $self;
}

# release(MS, as for enter): a key is let go; the client is told, looks, and sleeps again; with
# no_wake it is not woken
sub release {
	my ($self, $t, %o) = @_;
	$self->enter($t, kind => 'key_release', %o);
	return $o{no_wake} ? $self : $self->run(1, $t + 0.25, $t + 0.4, CLIENT, 'sleeping');
}

# polls(MS, STACK): the picture at the hot-key shows the client asleep since then: in poll(), or
# with the stack of that name
sub polls {
	my ($self, $since, $stack) = @_;
	return $self->picture(
		CLIENT, 'xterm',
		since_ns => ns($since),
		stack_id => $ID{ $stack // 'poll' }
	);
}

# draw(MS, WAKER): the client's request wakes the server at MS, which has changed the screen 0.2 ms
# later, and sleeps again at +0.3
sub draw {
	my ($self, $t, $waker, %o) = @_;
	my $b   = $self->{b};
	my $run = $o{run} // $t + 0.05;
	$self->wake(1, $t, SERVER, $waker // CLIENT, 'epoll');
	$self->run(0, $run, $run + 0.25, SERVER, 'sleeping');
	$b->x(ns($run + 0.01), 'x_wakeup');
	$b->x(
		ns($run + 0.05), 'x_request', pid => $o{pid} // CLIENT, client => $o{client} // 4,
		duration_ns => 100_000, major => 74, sequence => 1, count => 1
	);
	$b->x(
		ns($run + 0.15), 'x_damage', pid => $o{pid} // CLIENT, client => $o{client} // 4,
		major => 74, width => 6, height => 13, window => $o{window} // 0
	);
	$b->x(ns($run + 0.24), 'x_sleep');
	return $self;
}

# key(MS, LATENCY): an ordinary key: the client runs at once and draws after LATENCY - 0.5 ms of its
# own
sub key {
	my ($self, $t, $latency) = @_;
	return $self->enter($t)->run(1, $t + 0.25, $t + $latency, CLIENT, 'sleeping')
		->draw($t + $latency - 0.2);
}

# sleeps(STACK, UNTIL, as for wake): the client runs from 1000.25 on, sleeps from 1001 to UNTIL in
# that stack, woken as told, runs 1 ms and draws
sub sleeps {
	my ($self, $stack, $until, %wake) = @_;
	$self->enter(1000)->run(1, 1000.25, 1001, CLIENT, $wake{state} // 'sleeping');
	delete $wake{state};
	my $waker = delete $wake{waker} // 0;
	$self->wake(0, $until, CLIENT, $waker, $stack, context => 'hardirq', %wake);
	return $self->run(1, $until + 0.1, $until + 1, CLIENT, 'sleeping')->draw($until + 0.9)
		->hotkey(3000);
}

# hotkey(MS): Ctrl, Alt and the key that ends the chord
sub hotkey {
	my ($self, $t) = @_;
	return $self->enter($t - 60, chord => 1)->enter($t - 30, chord => 1)
		->enter($t, chord => 'last');
}

# kernel(CPU, MS, NAME, ...): any other record of the kernel; daemon(NAME, ...): one of names
sub kernel {
	my ($self, $cpu, $t, $name, %f) = @_;
	$self->{b}->kernel($cpu, ns($t), $name, %f);
	return $self;
}

sub daemon {
	my ($self, $name, %f) = @_;
	$self->{b}->daemon(delete $f{ts_ns} // $self->{b}{trigger_ns}, $name, %f);
	return $self;
}

# io(TID, SECTOR, QUEUED, ISSUED, COMPLETED, ...): a block request, times in ms (undef: it does not
# come so far)
sub io {
	my ($self, $tid, $sector, $queued, $issued, $completed, %f) = @_;
	my %r = (sector => $sector, dev => 8 << 20, sectors => 8, op => 'read', %f);
	$self->kernel(1, $queued,         'io', tid => $tid, phase => 'queued',   %r);
	$self->kernel(1, $queued + 0.001, 'io', tid => $tid, phase => 'inserted', %r);
	$self->kernel(0, $issued,    'io', tid => 0, phase => 'issued',    %r) if defined $issued;
	$self->kernel(0, $completed, 'io', tid => 0, phase => 'completed', %r) if defined $completed;
	return $self;
}

# lasts(NAME, CPU, FROM, TO, ...): a record at its begin and one at its end
sub lasts {
	my ($self, $name, $cpu, $from, $to, %f) = @_;
	$self->kernel($cpu, $from, $name, phase => 'begin', %f);
	$self->kernel($cpu, $to,   $name, phase => 'end',   %f) if defined $to;
	return $self;
}

# pictures at the trigger: what is blocked then has its stack
sub picture { my ($self, $tid, $comm, %f) = @_; $self->{b}->thread($tid, $comm, %f); return $self }

# diagnose(DIR, %options): writes the episode there and has it judged
# diagnose(FOLDER, OPTIONS of run): step by step, and with plain steps at one go; both must say the
# same, to the last record number
sub diagnose {
	my ($self, $dir, %o) = @_;
	my ($d, $other) = both_ways($self->{b}->write($dir), %o);
	croak "$dir: the walk step by step and the one with plain steps at one go differ"
		if told($d) ne told($other);
	return $d;
}

sub both_ways {
	my ($dir, %o) = @_;
	return map {
		local $Tipme::WakeupChain::TURNS = $_;
		Tipme::Diagnosis->new(Tipme::Episode->open($dir))->run(%o)
	} 1, 0;
}

# told(DIAGNOSIS): all of it, as one text
sub told { return Cpanel::JSON::XS->new->canonical->encode(Tipme::Report::JSON::data($_[0])) }

1;
