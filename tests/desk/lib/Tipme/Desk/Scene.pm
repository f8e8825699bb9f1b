# SPDX-License-Identifier: GPL-2.0-only
# One scene: the program starts, somebody works a little, one press meets the cause, and the hot-
# key follows. Nothing here knows what tipme will say.
package Tipme::Desk::Scene;
use strict;
use warnings;
use Carp qw(croak);
use parent -norequire, 'Tipme::Lab::Run';
use List::Util  qw(max);
use POSIX       ();
use Time::HiRes qw(sleep time);
use Tipme::Desk::Causes;
use Tipme::Desk::Draw;
use Tipme::Desk::Programs;
use Tipme::Lab;
use Tipme::Lab::Cgroup;
use Tipme::Workload;
use Tipme::Workload::Programs;

use constant LEAD_NS     => 150_000_000;    # from the beginning of a cause to the press
use constant SILENCE_NS  => 500_000_000;    # nothing is drawn any more: the program has answered
use constant PATIENCE_NS => 12e9;           # for an answer, beyond the length of the cause
use constant ECHO_NS     => 100_000_000;
use constant PRESSES     => 2;              # without the cause, before it
my @NAMES = qw(indexer thumbnailer packd logsift mailsync photod backupd renderd syncer notesd);

sub new {
	my ($class, $desk, $drawn, $count) = @_;
	my $quiet = $drawn->{cause} eq 'quiet';
	my $self  = bless {
		%$drawn, drawn => $drawn, lab => { bin => $desk->{bin} }, desk => $desk,
		stage   => $desk->{stage}, workload => $desk->{workload}, count => $count, pids => [],
		cgroups => [],             undo     => [], env => {},
		spans   => [], helpers => {}, helper_comm => {}, family => {}, deed => '', damage => [],
		waits   => [], lates   => [], presses     => []
	}, $class;
	$self->{quiet} = $quiet;
	$self->{how} =
		$quiet
		? { kinds => [], who => sub { {} }, answer => 'last', says => 'nothing is done' }
		: Tipme::Desk::Causes::get($drawn->{cause});
	$self->{p} = Tipme::Workload::Programs::get($drawn->{program});
	my $next = Tipme::Desk::Draw::generator($drawn->{seed}, "$drawn->{n}/names");
	$self->{names}      = [ Tipme::Desk::Draw::shuffled($next, @NAMES) ];
	$self->{truth_file} = "$self->{stage}{work}/truth-$count";
	$self->write_file($self->{truth_file}, '');
	chmod 0666, $self->{truth_file};
	return $self;
}

sub play {
	my ($self) = @_;
	my ($how, $stage) = @$self{qw(how stage)};
	$how->{before}->($self) if $how->{before};
	$self->_start;
	$how->{ready}->($self) if $how->{ready};
	Tipme::Desk::Causes::load($self->{load})->($self);
	$self->_start_witness;
	$self->_control;
	my @old = $stage->episodes;
	$self->_press;
	$self->_await_answer;
	sleep 0.4;
	$self->{hotkey_ns} = Tipme::Lab::now_ns();
	$stage->press_hotkey;
	$self->_listen;
	$self->{episode} = $stage->new_episode(@old);
	return;
}

sub _start {
	my ($self) = @_;
	my ($w, $p) = @$self{qw(workload p)};
	my $bin = $self->{lab}{bin};
	$self->write_file(
		"$bin/shell",
		Tipme::Desk::Programs::shell($self->{deed}) =~ s/\bBIN\b/$bin/gr
	);
	$self->{mark} = "$$.$self->{count}";
	my %env = (DESK_DEED => $self->{deed}, DESK_SCENE => $self->{mark});
	my %o   = (env       => { %env, %{ $self->{program_env} // {} } });
	$o{command} = [ map {s/^BIN\b/$bin/r} @{ $p->{command} } ] if ref $p->{command} eq 'ARRAY';
	$o{page}    = ($p->{page} =~ s/BIN/$bin/r) . '?' . ($self->{deed} =~ s/ /%20/gr) if $p->{page};
	$self->{running} = $w->start($self->{program}, %o);
	$self->{ui_pid}  = $w->ui_pid($self->{running});
	$self->_look_around;
	return;
}

# Who belongs to the program by now; short-lived ones too, as often as this is called.
sub _look_around {
	my ($self) = @_;
	$self->{family} = {
		%{ $self->{family} }, %{ Tipme::Workload::family($self->{running}{pid}) },
		%{ $self->_marked }
	};
	for my $root (grep {defined} @{ $self->{roots} }) {
		my $f = Tipme::Workload::family($root);
		$self->{helpers}{$_}  = 1 for keys %$f;
		$self->{below}{$root} = { %{ $self->{below}{$root} // {} }, %$f };
		$self->{helper_comm}  = { %{ $self->{helper_comm} }, %$f };
	}
	return;
}

# Those that have left the program's family are known by their environment (a server of tmux, and
# what that starts).
sub _marked {
	my ($self) = @_;
	my %of;
	for my $proc (glob '/proc/[0-9]*') {
		my $env = Tipme::Lab::Cgroup::slurp("$proc/environ");
		next if $env !~ /(?:\A|\0)DESK_SCENE=\Q$self->{mark}\E\0/;
		chomp(my $comm = Tipme::Lab::Cgroup::slurp("$proc/comm"));
		$of{ $proc =~ s{.*/}{}r } = $comm;
	}
	return \%of;
}

sub _start_witness {
	my ($self) = @_;
	my %env = $self->{stage}{display}->env;
	local @ENV{ keys %env } = values %env;
	my $pid = open $self->{witness}, '-|', 'chrt', '-f', '58', "$self->{lab}{bin}/tipme-witness",
		$self->{workload}->part
		or croak "witness: $!";
	push @{ $self->{pids} }, $pid;
	(readline($self->{witness}) // '') eq "ready\n" or croak 'the witness did not start';
	$self->{witness}->blocking(0);
	return;
}

# Takes over what the witness has said by now.
sub _listen {
	my ($self) = @_;
	while (sysread $self->{witness}, $self->{heard}, 65536, length($self->{heard} // '')) { }
	while ($self->{heard} =~ s/^([^\n]*)\n//) {
		my ($what, $t, @w) = split ' ', $1;
		push @{ $self->{damage} }, { t => $t, same => $w[4] eq 'same' } if $what eq 'damage';
		push @{ $self->{waits} },  { t => $t, ns   => $w[0] }           if $what eq 'server';
		push @{ $self->{lates} },  { t => $t, ns   => $w[0] }           if $what eq 'late';
	}
	return;
}

# Keys that nothing is done to, so that somebody has worked before; how long the program takes
# without the cause.
sub _control {
	my ($self) = @_;
	my $stage  = $self->{stage};
	my $p      = $self->{p};
	my $line   = $p->{actions}{key} // (values %{ $p->{actions} })[0];
	my $menu   = $line =~ /click 3/;
	my @took;
	for (1 .. PRESSES) {
		$stage->type_lines('sleep 0.15', $line);
		my ($press) = $stage->pressed(1);
		sleep 0.45;
		$self->_listen;
		my ($first) = grep { $_ > $press } map { $_->{t} } @{ $self->{damage} };
		push @took,                 defined $first ? $first - $press : undef;
		push @{ $self->{presses} }, $press;
		if ($menu) {
			$stage->type_lines('key Escape');
			push @{ $self->{presses} }, $stage->pressed(1);
			sleep 0.2;
		}
	}
	my @answered = sort { $a <=> $b } grep {defined} @took;
	@answered or croak "$self->{program} draws nothing for $line";
	$self->{usual_ns} = $answered[ @answered / 2 ];
	if ($p->{first} && $self->{action} =~ /deed/) {
		$stage->type_lines(('key backspace') x PRESSES, "type $p->{first}");
		push @{ $self->{presses} }, $stage->pressed(PRESSES + length $p->{first});
	}
	sleep 0.6;
	$self->_listen;
	my $now = Tipme::Lab::now_ns();
	$self->{restless} = grep { $_->{t} > $now - 300_000_000 && !$_->{same} } @{ $self->{damage} };
	return;
}

sub _line {
	my ($self) = @_;
	return $self->{p}{press} if $self->{action} eq 'deed';
	return $self->{p}{echo}  if $self->{action} eq 'echo';
	return $self->{p}{actions}{ $self->{action} };
}

sub _press {
	my ($self) = @_;
	my ($how, $stage) = @$self{qw(how stage)};
	my $from = Tipme::Lab::now_ns() + 250_000_000;
	$self->{key_ns} = $from + LEAD_NS;
	$self->{until}  = $self->{key_ns} + $self->{ms} * 1_000_000;
	$stage->type_lines('sleep ' . ($self->{key_ns} - Tipme::Lab::now_ns()) / 1e9, $self->_line);
	$self->_listen;
	Tipme::Lab::Causes::_sleep_until($from);
	$self->_calm if $self->{desk}{calm};
	my $delay = $self->_delay_ns;
	$how->{begin}->($self, $from, $self->{until}) if $how->{begin};
	($self->{press_ns}) = $stage->pressed(1);
	$self->{delay_ns} = $delay;

	while ($how->{release} && Tipme::Lab::now_ns() < $self->{until} - 5_000_000) {
		sleep 0.02;
		$self->_look_around if Tipme::Lab::now_ns() < $self->{until} - 60_000_000;
	}
	if ($how->{release}) {
		Tipme::Lab::Causes::_sleep_until($self->{until});
		$how->{release}->($self);
		$self->{released_ns} = Tipme::Lab::now_ns();
	}
	return;
}

# The answer: what was drawn in one go after the cause was over, or last; as [first, last] in ns.
# undef: none yet.
sub _answer {
	my ($self) = @_;
	my $press  = $self->{press_ns};
	my @t      = map { $_->{t} } grep { $_->{t} > $press && !$_->{same} } @{ $self->{damage} };
	my $not_before =
		$self->{quiet} ? $press          : $self->{how}{answer} eq 'after' ? $self->{released_ns}
		// $self->{until} - 20_000_000   : $self->{how}{busy}
		|| $self->{how}{unsure} ? $press : $press + $self->{ms} * 800_000;
	# The echo comes at once; the work begins 150 ms after it.
	$not_before += ECHO_NS if $not_before == $press && $self->{action} eq 'echo';
	# What others than we release is over some ms sooner or later than planned.
	$not_before -= 30_000_000 if $self->{how}{answer} eq 'after';
	my @late = grep { $_ >= $not_before } @t or return;
	my ($first, $last) = ($late[0], $late[0]);
	# While others have the CPU, what is drawn in one go is torn apart; when they are gone, no more.
	my $torn = $self->{how}{busy} || $self->{how}{unsure};
	for (@late) {
		last if $_ - $last > ($torn && $last < $self->{until} ? 400_000_000 : 150_000_000);
		$last = $_;
	}
	# Where others have the CPU, what is drawn in one go is torn apart. Its end is the answer; if it
	# goes on when they are gone, the first of that may be.
	if ($torn) {
		($first) = grep { $_ >= $self->{until} && $_ <= $last } @late, $last;
	}
	$first //= $last;
	$self->{echoes} = grep { $_ < $not_before } @t;
	return [ $first, $last ];
}

sub _await_answer {
	my ($self)  = @_;
	my $give_up = $self->{until} + PATIENCE_NS;
	my $seen    = 0;
	while (Tipme::Lab::now_ns() < $give_up) {
		$self->_look_around;
		$self->_listen;
		my $a = $self->_answer;
		$self->{others_ns} = $self->_others_ns if !$a || $a->[1] != $seen;
		$seen              = $a->[1]           if $a;
		my $now = Tipme::Lab::now_ns();
		if (   $a
			&& ($now - $a->[1] > SILENCE_NS || $now - $a->[0] > 3 * SILENCE_NS)
			&& ($self->{quiet} || $now > $self->{until}))
		{
			$self->{answer} = $a;
			last;
		}
		sleep 0.05;
	}
	return;
}

# How long the program's first thread, the server, and those whom the program waits for have waited
# for a CPU by now, as the kernel itself counts it: { pid => ns }
sub _delay_ns {
	my ($self) = @_;
	my %ns;
	for my $pid (
		$self->{ui_pid}, $self->{stage}{display}->pid, $self->{workload}->servers,
		keys %{ $self->{helpers} },
		keys %{ $self->{family} }
		)
	{
		# Of a helper each thread may be the one that answers.
		my @of =
			$self->{helpers}{$pid} ? glob "/proc/$pid/task/*/schedstat" : "/proc/$pid/schedstat";
		my @wait = map { (split ' ', Tipme::Lab::Cgroup::slurp($_))[1] // () } @of;
		$ns{$pid} = max(@wait) if @wait;
	}
	return \%ns;
}

# What of that came since; of one that is gone by now what it had when it was looked at last.
sub _others_ns {
	my ($self) = @_;
	my $now = $self->_delay_ns;
	$self->{waited}{$_} = $now->{$_} - ($self->{delay_ns}{$_} // 0) for keys %$now;
	my $sum = 0;
	$sum += $_ for values %{ $self->{waited} };
	return $sum;
}

# Where the CPU is not the matter, the other work of a machine that is not ours alone shall not
# make it so.
sub _calm {
	my ($self) = @_;
	return if $self->{how}{busy};
	$self->_look_around;
	Tipme::Lab::_renice($_, -15)
		for keys %{ $self->{family} }, keys %{ $self->{helpers} }, $self->{stage}{display}->pid,
		$self->{workload}->servers, $self->{workload}->wm_pid // ();
	$self->undo(
		sub {
			Tipme::Lab::_renice($_, 0) for $self->{stage}{display}->pid, $self->{workload}->servers;
		}
	);
	return;
}

# --- what causes ask for ---

sub left_s {
	my ($self, $until) = @_;
	my $s = ($until - Tipme::Lab::now_ns()) / 1e9;
	return sprintf '%.3f', $s > 0.01 ? $s : 0.01;
}

# helper(COMMAND...) or helper([COMMAND], OPTIONS of spawn): a process that the program waits for;
# who descends from it is meant, too
sub helper {
	my ($self,    @command) = @_;
	my ($command, %o)       = ref $command[0] ? @command : [@command];
	my $pid = $self->spawn($command, nice => -5, %o);
	push @{ $self->{roots} }, $pid;
	$self->{helpers}{$pid} = 1;
	$self->{helper_comm}{$pid} =
		$command->[0] =~ m{^BIN/} ? $command->[1] : $command->[0] =~ s{.*/}{}r;
	return $pid;
}

sub load { my ($self, $command, %o) = @_; return $self->spawn($command, %o) }

sub hog {
	my ($self, $from, $until, $threads, %o) = @_;
	my @cpus = Tipme::Stage::cpu_numbers();
	$self->helper(
		[
			'BIN/cause', $self->{names}[0], 'hog', $threads // scalar @cpus, $from, $until,
			$o{rt} ? 'pin' : ()
		],
		%o
	);
	return;
}

# service(NAME or 0, DEED): a service of the bus, or a web server; returns its name or port
sub service {
	my ($self, $where, @deed) = @_;
	my %env = $self->{workload}->env;
	my $log = "$self->{stage}{work}/service-$self->{count}";
	$self->write_file($log, '');
	chmod 0666, $log;
	local $self->{env} = { DBUS_SESSION_BUS_ADDRESS => $env{DBUS_SESSION_BUS_ADDRESS} };
	$self->helper(
		'sh', '-c', 'exec "$@" >' . $log, 'sh', '/usr/bin/python3',
		"$self->{lab}{bin}/store.py", $where, map { split ' ' } @deed
	);
	for (1 .. 200) { return $1 if Tipme::Lab::Cgroup::slurp($log) =~ /^ready (\S+)/m; sleep 0.05 }
	croak 'the service was not ready within 10 s';
}

# far_server(): a web server behind a slow line, in a network of its own; returns the door to it
sub far_server {
	my ($self) = @_;
	my ($door, $log) = map {"$self->{stage}{work}/$_-$self->{count}"} qw(door far);
	$self->write_file($log, '');
	$self->helper(
		[
			'sh',  '-c', 'exec "$@" >' . $log, 'sh', '/usr/bin/python3', "$self->{lab}{bin}/far.py",
			$door, $self->{ms}
		],
		root => 1
	);
	for (1 .. 200) { return $door if Tipme::Lab::Cgroup::slurp($log) =~ /^ready/m; sleep 0.05 }
	croak 'the server behind a slow line was not ready within 10 s';
}

# input_method(): ibus, for those who speak its protocol and those who speak that of X
sub input_method {
	my ($self) = @_;
	my %env = ($self->{workload}->env, $self->{stage}{display}->env);
	local $self->{env} = { map { $_ => $env{$_} } qw(DBUS_SESSION_BUS_ADDRESS HOME) };
	my @without = map { ("--$_" => 'disable') } qw(panel config emoji-extension);
	$self->helper([ 'ibus-daemon', '--xim', @without ], x => 1);
	$self->{program_env} =
		{ XMODIFIERS => '@im=ibus', GTK_IM_MODULE => 'xim', QT_IM_MODULE => 'ibus' };
	local @ENV{ keys %env } = values %env;
	for (1 .. 200) { return if `xprop -root XIM_SERVERS 2>&1` =~ /ibus/; sleep 0.05 }
	croak 'ibus was not ready within 10 s';
}

sub database {
	my ($self) = @_;
	my $db = "$self->{stage}{work}/db-$self->{count}/base";
	mkdir "$self->{stage}{work}/db-$self->{count}";
	system('sqlite3', $db, 'create table t (n)') == 0
		or croak 'sqlite3: not installed (Debian: sqlite3)';
	chown @{ $self->{stage}{ids} }, $db, "$self->{stage}{work}/db-$self->{count}";
	return $db;
}

# A file system in user space, whose daemon is meant.
sub slow_files {
	my ($self) = @_;
	my $at = "$self->{stage}{work}/slow-$self->{count}";
	mkdir $at or croak "$at: $!";
	local $self->{env} =
		{ SLOWFS_MS => $self->{ms}, $self->{ms} % 2 ? (SLOWFS_COMPUTES => 1) : () };
	$self->helper([ 'BIN/slowfs', '-f', '-o', 'allow_other', $at ], root => 1);
	$self->undo(sub { system('umount', '-l', $at) });
	for (1 .. 100) { return "$at/document" if -e "$at/document"; sleep 0.05 }
	croak 'the file system in user space did not come (Debian: fuse3)';
}

sub stop_pids {
	my ($self, @pids) = @_;
	$self->undo(sub { kill 'CONT', @pids });
	kill 'STOP', @pids or croak "SIGSTOP: $!";
	return;
}
sub cont_pids { my ($self, @pids) = @_; kill 'CONT', @pids; return }

# freezer(): CODE that takes a pid into a group of its own, or 'FROZEN' or 'THAWED'
sub freezer {
	my ($self) = @_;
	my $dir = "/sys/fs/cgroup/freezer/tipme-desk-$$-$self->{count}";
	mkdir $dir or croak "$dir: $!";
	my $put = sub {
		my ($file, $text) = @_;
		open my $h, '>', "$dir/$file" or return;
		syswrite $h, $text;
		close $h;
		return;
	};
	$self->undo(sub { $put->('freezer.state', 'THAWED') });
	push @{ $self->{last} }, sub {
		for (1 .. 50) { last if rmdir $dir; sleep 0.05 }
	};
	return sub { $put->($_[0] =~ /^\d/ ? 'cgroup.procs' : 'freezer.state', $_[0]) };
}

sub write_file {
	my ($self, $path, $text) = @_;
	open my $h, '>', $path or croak "$path: $!";
	print {$h} $text;
	close $h or croak "$path: $!";
	return;
}

sub clean {
	my ($self) = @_;
	for my $undo (reverse @{ $self->{undo} }) {
		eval { $undo->(); 1 } or warn $@;
	}
	my @all = map { keys %{ Tipme::Workload::family($_) } } @{ $self->{pids} };
	kill $_, @all for qw(CONT KILL);
	close $self->{witness} if $self->{witness};
	waitpid $_, 0 for @{ $self->{pids} };
	for my $p (@{ $self->{workload}{programs} }) { $self->{workload}->stop($p) }
	$_->close for @{ $self->{cgroups} };
	$_->() for @{ $self->{last} // [] };
	return;
}

1;
