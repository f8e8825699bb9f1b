# SPDX-License-Identifier: GPL-2.0-only
# The laboratory: one real delay of known cause in the response of a real client, and what tipme
# says about it.
package Tipme::Lab;
use strict;
use warnings;
use Carp           qw(croak);
use File::Basename qw(basename);
use File::Copy     qw(copy);
use File::Temp     qw(tempdir);
use IO::Select;
use POSIX        qw(WNOHANG);
use Scalar::Util qw(weaken);
use Time::HiRes  qw(sleep clock_gettime CLOCK_MONOTONIC);
use Tipme::Lab::Causes;
use Tipme::Lab::Cgroup;
use Tipme::Stage;

my @PROGRAMS    = qw(lab-client client-gtk client-tk cause xcause observer);
my $SILENCE     = 0.4;            # nothing changes any more: the client has answered
my $PATIENCE    = 20;             # for an answer, beyond the length of the cause
my $NOTICE_NS   = 100_000_000;    # what is faster seems to come at once, and the verdict may say so
my $LEAST_SHARE = 0.2;            # of the interval; a cause with less has had no effect
my $LEAST_NS    = 20_000_000;
# Of the interval, and at least this long: client or server waited for a CPU, though the CPU was not
# the matter. Then others took a part that no truth of ours knows.
my $MOST_WAITED    = 0.05;
my $MOST_WAITED_NS = 5_000_000;
my $LOOK_NS        = 3_000_000;    # before the key: to read the kernel's counters takes a while

# A client is started by these words; DEEDS and NAME are filled in. An answer to `x` (and to a
# click, where clicks are understood) does the deeds.
my %CLIENT = (
	own   => { command => [qw(BIN/lab-client -n NAME -d DEEDS)], events => [qw(key click)] },
	gtk   => { command => [qw(BIN/client-gtk NAME DEEDS)],       events => [qw(key click)] },
	tk    => { command => [qw(BIN/client-tk NAME DEEDS)],        events => [qw(key click)] },
	xterm => {
		command => [
			qw(xterm -T tipme-stage -geometry 200x55+0+0 -e), 'bash', '--noprofile', '--rcfile',
			'WORK/rc', '-i'
		],
		events => [qw(key)],
		comm   => 'xterm'
	},
);
my @NAMES =
	qw(indexer thumbnailer packd logsift mailsync photod backupd renderd syncer notesd editor viewer
	scand tagger playd feedr);

sub now_ns  { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }
sub causes  { return Tipme::Lab::Causes::names() }
sub cause   { my ($name) = @_; return Tipme::Lab::Causes::cause($name) }
sub clients { return sort keys %CLIENT }

# A laboratory is not to be starved by what it does to others; what it starts is not real-time.
sub prefer_ourselves { system("chrt -f -R -p 55 $$ >/dev/null 2>&1"); return }

# Tipme::Lab->new(library => DIR, seed => N, source => NAME): a stage with somebody who types;
# source: that of the kernel's records (the best there is); programs: more than the laboratory's
# own.
sub new {
	my ($class, %opt) = @_;
	my $stage = Tipme::Stage->new(
		library       => $opt{library}, seed => $opt{seed} // 1,
		recorder_args =>
			[ '--post', 1, '--window', 30, defined $opt{source} ? ('--source', $opt{source}) : () ]
	);
	my $self = bless { stage => $stage, fresh => 1, programs => $opt{programs} }, $class;
	$self->{memory} = tempdir('tipme-lab-XXXXXX', DIR => '/dev/shm', CLEANUP => 1);
	chmod 0755, $self->{memory};
	$self->_copy_programs;
	$self->_write("$stage->{work}/rc", "unset HISTFILE\nPS1='\\\$ '\n");
	$stage->start_typist;
	return $self;
}

sub stage { return $_[0]{stage} }
sub close { my ($self) = @_; $self->{stage}->close; return }

# Nobody may look into the build tree.
sub _copy_programs {
	my ($self) = @_;
	my $bin = $self->{bin} = "$self->{stage}{work}/bin";
	mkdir $bin or croak "$bin: $!";
	for my $p (@PROGRAMS, @{ $self->{programs} // [] }) {
		copy("$ENV{TIPME_BUILDDIR}/tests/" . ($p =~ m{/} ? $p : "lab/$p"), "$bin/" . basename($p))
			or croak "tests/lab/$p: $!: build with --enable-lab=yes";
		chmod 0755, "$bin/" . basename($p);
	}
	return;
}

sub _write {
	my ($self, $path, $text) = @_;
	open my $h, '>', $path or croak "$path: $!";
	print {$h} $text;
	CORE::close $h or croak "$path: $!";
	return;
}

# run(NAME, seed => N, client => NAME, event => key|click, ms => N): stages it and asks tipme;
# returns truth, verdict and their differences.
sub run {
	my ($self, $name, %o) = @_;
	my $r   = $self->_draw($name, %o);
	my $why = $r->{cause}{needs} ? $r->{cause}{needs}->($r) : '';
	return { cause => $name, skipped => $why } if $why;
	my $result = eval { $self->_stage($r); $self->_judge($r) };
	my $error  = $@;
	$self->_clean($r);
	croak $error if !$result;
	return $result;
}

# try_once: the same; what goes wrong in it is its result (failed). It is void if the cause had no
# effect, or others had one: by those who did it, the observer and the kernel's clocks, never by the
# verdict.
sub try_once {
	my ($self, $name, %o) = @_;
	my $r = eval { $self->run($name, %o) } // return {
		cause  => $name, seed => $o{seed}, right => 0,
		failed => $@ =~ s/ at \S+ line \d+\.?\n.*//sr
	};
	$r->{void} = _void($r->{truth}, cause($name)) if !$r->{skipped};
	return $r;
}

# _void(TRUTH, CAUSE): why a run says nothing; undef: it does say something
sub _void {
	my ($truth, $cause) = @_;
	my $ns    = $truth->{interval}{end_ns} - $truth->{interval}{start_ns};
	my $share = $truth->{parts}[0]{share};
	return sprintf 'the cause had %.0f %% of %.0f ms', 100 * $share, $ns / 1e6
		if $share <= $LEAST_SHARE || $ns <= $LEAST_NS;
	my $waited = $cause->{cpu} ? 0 : $truth->{waited_for_cpu_ns};
	return sprintf 'others took the CPU for %.1f of %.0f ms', $waited / 1e6, $ns / 1e6
		if $waited > $MOST_WAITED_NS && $waited > $MOST_WAITED * $ns;
	return;
}

# try_run: up to three times, where a busy machine kept the cause from having its effect
sub try_run {
	my ($self, $name, %o) = @_;
	my $r;
	for (1 .. 3) { $r = $self->try_once($name, %o); last if !$r->{void} }
	return $r;
}

# quiet(CLIENT, seed => N): somebody works on a client and nothing is done to it: { verdict,
# slowest_ns, diagnosis, ... }
sub quiet {
	my ($self, $client, %o) = @_;
	my $r      = $self->_draw('quiet', %o, client => $client);
	my $result = eval { $self->_stage_quiet($r) };
	my $error  = $@;
	$self->_clean($r);
	croak $error if !$result;
	return $result;
}

sub _stage_quiet {
	my ($self, $r) = @_;
	my $stage = $self->{stage};
	$self->_fresh_recorder;
	$r->{truth_file} = "$self->{memory}/truth-quiet-" . ++$self->{count};
	$self->_write($r->{truth_file}, '');
	chmod 0666, $r->{truth_file};
	$self->_start_client($r);
	$self->_start_observer($r);
	sleep 0.3;
	my @old = $stage->episodes;
	my @clicks =
		  (grep { $_ eq 'click' } @{ $CLIENT{ $r->{client} }{events} })
		? ('click 1', 'sleep 0.2')
		: ();
	$stage->type_lines('type dddxddd', 'sleep 0.2', @clicks, 'type xddd', @clicks);
	my @press = $stage->pressed(11 + @clicks);
	sleep 0.5;
	$stage->type_lines('chord Ctrl+Alt+minus');
	$stage->pressed(1);
	$r->{episode} = $stage->new_episode(@old);
	my $d = $stage->diagnose($r->{episode});
	return {
		verdict => $d->{verdict}, interval   => $d->{interval}, diagnosis => $d,
		episode => $r->{episode}, slowest_ns => $self->_slowest($r, @press)
	};
}

# The longest time from a press to the next change of the window.
sub _slowest {
	my ($self, $r, @press) = @_;
	my ($buffer, $slowest) = ('', 0);
	while (IO::Select->new($r->{observer})->can_read(0)) {
		sysread($r->{observer}, $buffer, 65536, length $buffer) or last;
	}
	my @seen = $buffer =~ /^(\d+) /mg;
	for my $p (@press) {
		my ($t) = grep { $_ > $p } @seen;
		$slowest = $t - $p if defined $t && $t - $p > $slowest;
	}
	return $slowest;
}

# Our own generator, so that a seed means the same with each Perl.
sub _draw {
	my ($self, $name, %o) = @_;
	my $cause = $name eq 'quiet' ? {} : cause($name)
		// croak "no cause '$name': one of @{[ causes() ]}";
	my $state = ($o{seed} * 7919 + unpack('%32C*', $name) * 104_729) & 0xffffffff;
	my $next =
		sub { $state = ($state * 1664525 + 1013904223) & 0xffffffff; return ($state >> 8) % $_[0] };
	$next->(2) for 1 .. 3;
	my @clients = @{ $cause->{clients} // [qw(own gtk tk xterm)] };
	my $client  = $o{client} // $clients[ $next->(scalar @clients) ];
	my @events =
		@{ $CLIENT{$client}{events} // croak "no client '$client': one of @{[ clients() ]}" };
	my $event = $o{event} // $events[ $next->(scalar @events) ];
	my ($least, $most) = ($cause->{least_ms} // 50, $cause->{most_ms} // 3000);
	my $ms    = $o{ms} // int($least * ($most / $least)**($next->(1000) / 999));
	my @names = @NAMES;
	my @drawn = map { splice @names, $next->(scalar @names), 1 } 1 .. 4;
	my %r     = (
		lab    => $self, stage => $self->{stage}, cause => $cause, name => $name, seed => $o{seed},
		client => $client,              event       => $event, ms => $ms,
		names  => [ @drawn[ 1 .. 3 ] ], client_comm => $CLIENT{$client}{comm} // $drawn[0],
		pids   => [], cgroups => [], undo => [], draw => $next, env => {}, spans => []
	);
	my $run = bless \%r, 'Tipme::Lab::Run';
	weaken($run->{lab});
	return $run;
}

sub _stage {
	my ($self, $r) = @_;
	my $stage = $self->{stage};
	$self->_fresh_recorder;
	$r->{truth_file} = "$self->{memory}/truth-$r->{seed}-" . ++$self->{count};
	$self->_write($r->{truth_file}, '');
	chmod 0666, $r->{truth_file};
	$r->{cause}{prepare}->($r) if $r->{cause}{prepare};
	$self->_start_client($r);
	$self->_start_observer($r);
	$r->{cause}{client_ready}->($r) if $r->{cause}{client_ready};
	$stage->type_lines('type dddddd');
	$stage->pressed(6);
	sleep 0.3;
	$r->{cause}{before}->($r) if $r->{cause}{before};
	my @old = $stage->episodes;
	$self->_press($r);
	$self->_await_answer($r);
	$stage->type_lines('chord Ctrl+Alt+minus');
	$stage->pressed(1);
	$r->{episode} = $stage->new_episode(@old);
	return;
}

# What happened before must not be in the ring, or the worst of the ring is still the old one.
sub _fresh_recorder {
	my ($self) = @_;
	if (delete $self->{fresh}) { sleep 0.3; return }
	$self->{stage}->restart_recorder;
	return;
}

sub _start_client {
	my ($self, $r) = @_;
	my %word = (
		NAME => $r->{client_comm}, DEEDS => $r->{deeds} // '', BIN => $self->{bin},
		WORK => $self->{stage}{work}
	);
	my @command =
		map {s/\b(NAME|DEEDS|BIN|WORK)\b/$word{$1}/r} @{ $CLIENT{ $r->{client} }{command} };
	local %ENV = (
		%ENV, LAB_TRUTH => $r->{truth_file}, LAB_SERVER => $self->{stage}{display}->pid,
		HOME              => $self->{stage}{work}, GDK_BACKEND => 'x11', GSK_RENDERER => 'cairo',
		GTK_A11Y          => 'none',
		GSETTINGS_BACKEND => 'memory', %{ $r->{env} }
	);
	delete @ENV{qw(XDG_RUNTIME_DIR)};
	delete $ENV{DBUS_SESSION_BUS_ADDRESS} if !$r->{env}{DBUS_SESSION_BUS_ADDRESS};
	$r->{client_pid} = $self->{stage}->start_client('tipme-stage', @command);
	return;
}

sub _start_observer {
	my ($self, $r) = @_;
	my %env = $self->{stage}{display}->env;
	local @ENV{ keys %env } = values %env;
	my $info     = qx{xwininfo -name tipme-stage};
	my ($window) = $info =~ /Window id: (0x[0-9a-f]+)/ or croak "xwininfo shows no window: $info";
	my $pid      = open $r->{observer}, '-|', 'chrt', '-f', '58', "$self->{bin}/observer", $window
		or croak "observer: $!";
	push @{ $r->{pids} }, $pid;
	my $line = readline $r->{observer} // '';
	$line eq "ready\n" or croak 'the observer did not start';
	return;
}

sub _renice {
	my ($pid, $nice) = @_;
	opendir my $h, "/proc/$pid/task" or return;
	setpriority 0, $_, $nice for grep {/^\d+$/} readdir $h;
	if (open my $g, '>', "/proc/$pid/autogroup") { syswrite $g, $nice; CORE::close $g }
	return;
}

# The cause begins at `from`, the key comes `lead_ms` later, and the cause lasts for `ms` from
# then on.
sub _press {
	my ($self, $r) = @_;
	my $stage = $self->{stage};
	my $lead  = ($r->{cause}{lead_ms} // 100) / 1000;
	my $start = now_ns() + 250_000_000;                 # so that helpers have started by then
	$r->{from}   = $start;
	$r->{key_ns} = $start + int($lead * 1e9);
	$r->{until}  = $r->{key_ns} + $r->{ms} * 1_000_000;
	$stage->type_lines(
		'sleep ' . ($r->{key_ns} - now_ns()) / 1e9,
		$r->{event} eq 'click' ? 'click 1' : 'key x'
	);
	$r->{cause}{begin}->($r, $r->{from}, $r->{until}) if $r->{cause}{begin};
	Tipme::Lab::Causes::_sleep_until($r->{key_ns} - $LOOK_NS);
	$r->{used}[0] = $self->_used($r);
	($r->{press_ns}) = $stage->pressed(1);
	$r->{cause}{pressed}->($r) if $r->{cause}{pressed};
	return;
}

# Time that all threads of a process have waited for a CPU, as the kernel itself counts it.
sub _run_delay {
	my ($pid) = @_;
	my $sum = 0;
	for my $file (glob "/proc/$pid/task/*/schedstat") {
		$sum += (split ' ', Tipme::Lab::Cgroup::slurp($file))[1] // 0;
	}
	return $sum;
}

# What each has computed and waited for a CPU by now: { PID => { cpu, delay } }; of client,
# server, and who was started to be in their way on their own CPU.
sub _used {
	my ($self, $r) = @_;
	return {
		$r->{delays} ? (freepages => $r->{delays}->freepages_ns($r->{client_pid})) : (),
		map {
			$_ => {
				cpu        => _cpu_clock($_), delay => _run_delay($_),
				main_delay => (split ' ', Tipme::Lab::Cgroup::slurp("/proc/$_/schedstat"))[1] // 0
			}
		} $r->{client_pid},
		$self->{stage}{display}->pid,
		grep {defined} @$r{qw(hog ksoftirqd)}
	};
}

# The kernel's CPU clock of a process: exact, also while it runs.
sub _cpu_clock {
	my ($pid) = @_;
	return int((clock_gettime((~(0 + $pid) << 3) | 2) // 0) * 1e9 + 0.5);
}

# The answer is the last change of the window before it rests.
sub _await_answer {
	my ($self, $r) = @_;
	my $select = IO::Select->new($r->{observer});
	my ($buffer, $last, $give_up) = ('', undef, $r->{until} + $PATIENCE * 1e9);
	while (now_ns() < $give_up) {
		if ($select->can_read($SILENCE)) {
			sysread($r->{observer}, $buffer, 65536, length $buffer) or croak 'the observer ended';
			while ($buffer =~ s/^(\d+)[^\n]*\n//) { $last = $1 if $1 > $r->{press_ns} }
			$r->{used}[1] = $self->_used($r) if defined $last;
			next;
		}
		last
			if defined $last
			&& now_ns() > $r->{until}
			&& (!$r->{cause}{done} || $r->{cause}{done}->($r));
	}
	croak "$r->{name}, seed $r->{seed}, $r->{client}: the client did not answer" if !defined $last;
	$r->{answer_ns} = $last;
	return;
}

# The truth, from those who did it and those who watched; then the verdict; then what differs.
sub _judge {
	my ($self, $r) = @_;
	my $cause = $r->{cause};
	$r->read_spans;
	my ($from, $to) = @$r{qw(press_ns answer_ns)};
	my $t0 = clock_gettime(CLOCK_MONOTONIC);
	my $d  = $self->{stage}->diagnose($r->{episode});
	# What is answered as if at once need not be the slowest event of all.
	$d = $self->{stage}->diagnose($r->{episode}, '--at', $from + 1_000_000)
		if $to - $from < $NOTICE_NS && $d->{interval} && $d->{interval}{end_ns} < $from;
	my $took  = clock_gettime(CLOCK_MONOTONIC) - $t0;
	my %truth = (
		cause => $r->{name},      seed => $r->{seed}, client => $r->{client}, event => $r->{event},
		ms    => $r->{ms},        interval => { start_ns => $from, end_ns => $to },
		kinds => $cause->{kinds}, culprit  => $r->culprit, spans => $r->{spans}, says => $r->says,
		parts => [
			map {
				{ %$_, ns => $_->{ns}, share => $_->{ns} / ($to - $from) }
			} $r->parts
		],
		waited_for_cpu_ns => $r->used_ns(delay => $r->{client_pid}, $self->{stage}{display}->pid)
	);
	return {
		cause   => $r->{name}, seed    => $r->{seed}, client => $r->{client}, event => $r->{event},
		truth   => \%truth,    verdict => $d->{verdict}, interval => $d->{interval},
		totals  => { kinds => $d->{totals}{kinds}, blamed => $d->{totals}{blamed} },
		episode => $r->{episode}, seconds_to_verdict => $took, diagnosis => $d,
		%{ compare(\%truth, $d) }
	};
}

# compare(TRUTH, DIAGNOSIS): { right, interval_error_ns, share_error (points), named, why }
sub compare {
	my ($truth, $d) = @_;
	my ($i, $v)     = @$d{qw(interval verdict)};
	my $duration = $truth->{interval}{end_ns} - $truth->{interval}{start_ns};
	my $main     = $truth->{parts}[0];
	my %o        = (right => 0, interval_error_ns => undef, share_error => undef);
	return { %o, why => "no interval: $v->{sentence}" } if !$i;
	my @e = map { abs($i->{$_} - $truth->{interval}{$_}) } qw(start_ns end_ns);
	$o{interval_error_ns} = $e[0] > $e[1] ? $e[0] : $e[1];
	my @off =
		map { my $p = $_; 100 * abs(_charged($d, $p) / ($i->{duration_ns} || 1) - $p->{share}) }
		@{ $truth->{parts} };
	($o{share_error}) = sort { $b <=> $a } @off;
	my $b = $v->{blamed};
	# What is answered as if at once is nothing unusual; who had the largest part of it must be
	# right all the same.
	if ($v->{kind} eq 'none' && $duration < $NOTICE_NS) {
		$b = $d->{totals}{blamed}[0];
		$o{below_notice} = 1 if $b;
	}
	my $kind = $o{below_notice} ? $b->{kind} : $v->{kind};
	$o{kind_right} = (grep { $_ eq $kind } @{ $main->{kinds} }) ? 1 : 0;
	$o{who_right}  = $b && _is($b, $main->{who})                ? 1 : 0;
	$o{named}      = $kind
		. ($b ? " " . ($b->{comm} // "nobody") . (defined $b->{pid} ? " ($b->{pid})" : "") : "");
	$o{right} = $o{kind_right} && $o{who_right} ? 1 : 0;
	$o{why}   = join '; ', $o{kind_right} ? () : "kind $kind, not $main->{kinds}[0]",
		$o{who_right}
		? ()
		: 'blamed '
		. ($b ? ($b->{comm} // 'nobody') . (defined $b->{pid} ? " ($b->{pid})" : "") : "nobody")
		. ", not $main->{who}{comm}";
	return \%o;
}

sub _is {
	my ($b, $who) = @_;
	return 1 if grep { $who->{pids}{$_} } grep {defined} $b->{pid}, @{ $b->{pids} // [] };
	return $who->{by_name} && ($b->{comm} // '') =~ /\A\Q$who->{comm}\E(?:\z| \d)/;
}

# What the diagnosis charges to a part of the truth, in ns.
sub _charged {
	my ($d, $part) = @_;
	my $sum = 0;
	for my $b (@{ $d->{totals}{blamed} }) {
		$sum += $b->{ns} if _is($b, $part->{who}) && grep { $_ eq $b->{kind} } @{ $part->{kinds} };
	}
	return $sum;
}

sub _clean {
	my ($self, $r) = @_;
	for my $undo (reverse @{ $r->{undo} }) {
		eval { $undo->(); 1 } or warn $@;
	}
	kill 'KILL', @{ $r->{pids} } if @{ $r->{pids} };
	CORE::close $r->{observer} if $r->{observer};
	waitpid $_, 0 for @{ $r->{pids} };
	$self->{stage}->end_client($r->{client_pid}) if $r->{client_pid};
	$_->close for @{ $r->{cgroups} };
	return;
}

package Tipme::Lab::Run;
use strict;
use warnings;
use Carp        qw(croak);
use POSIX       ();
use Time::HiRes qw(sleep);

# What a cause may ask of its run: ms, seed, names, client_pid, from, until; and:

# spawn([COMMAND], nice =>, rt =>, cpus => 'LIST', x => 1, cgroup =>): a process as the
# unprivileged user, in a session of its own; it ends with the run.
sub spawn {
	my ($r, $command, %o) = @_;
	my $stage   = $r->{stage};
	my @command = map {s{^BIN/}{$r->{lab}{bin}/}r} @$command;
	my $pid     = fork // croak "fork: $!";
	if (!$pid) {
		my $ok = eval {
			$SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE CHLD);
			POSIX::setsid();
			POSIX::nice($o{nice}) if $o{nice};
			if ($o{nice} && open my $g, '>', "/proc/$$/autogroup") {
				syswrite $g, $o{nice};
				CORE::close $g;
			}
			$o{cgroup}->add($$) if $o{cgroup};
			system("taskset -p -c $o{cpus} $$ >/dev/null") == 0
				or die 'taskset'
				if defined $o{cpus};
			system('chrt', '-f', '-p', $o{rt}, $$) == 0 or die 'chrt' if $o{rt};
			my ($uid, $gid) = @{ $stage->{ids} };
			if (!$o{root}) {
				$) = "$gid $gid";
				$( = $gid;
				POSIX::setuid($uid);
				$> == $uid or die "setuid: $!";
			}
			syscall 157, 1, 15;    # prctl(PR_SET_PDEATHSIG, SIGTERM): of x86-64
			%ENV = (
				%ENV, LAB_TRUTH => $r->{truth_file}, $o{x} ? $stage->{display}->env : (),
				%{ $r->{env} }
			);
			chdir $stage->{work};
			open STDOUT, '>>', '/dev/null';
			open STDIN,  '<',  '/dev/null';
			exec { $command[0] } @command or die "exec $command[0]: $!";
		};
		print STDERR "lab: $@";
		POSIX::_exit(127);
	}
	push @{ $r->{pids} }, $pid;
	return $pid;
}

# Waits until the process says that it is ready.
sub await_ready {
	my ($r, $pid) = @_;
	for (1 .. 500) {
		my $text = Tipme::Lab::Cgroup::slurp($r->{truth_file});
		return $pid if $text =~ /^ready $pid$/m;
		croak $1    if $text =~ /^(failed .*)$/m;
		sleep 0.01;
	}
	croak "$r->{name}: its helper $pid was not ready within 5 s";
}

sub undo { my ($r, $code) = @_; push @{ $r->{undo} }, $code; return }
sub work { return $_[0]{stage}{work} }

sub span {
	my ($r, $what, $pid, $from, $to) = @_;
	push @{ $r->{spans} },
		{ what => $what, pid => $pid, from_ns => $from, to_ns => $to, cpu_ns => 0 };
	return;
}

sub cgroup {
	my ($r) = @_;
	my $c = Tipme::Lab::Cgroup->new("tipme-lab-$$-" . @{ $r->{cgroups} });
	push @{ $r->{cgroups} }, $c;
	return $c;
}

# A file of its own on the disk of the work folder, of so many bytes; owned by the unprivileged
# user, not in the page cache.
sub file {
	my ($r, $name, $bytes) = @_;
	my $path = "$r->{stage}{work}/$name-$r->{seed}";
	open my $h, '>', $path or croak "$path: $!";
	binmode $h;
	my $block = join '', map { chr(32 + $_ * 7 % 90) } 1 .. 65536;
	for (my $left = $bytes; $left > 0; $left -= length $block) {
		print {$h} $left < length $block ? substr($block, 0, $left) : $block;
	}
	CORE::close $h or croak "$path: $!";
	chown @{ $r->{stage}{ids} }, $path;
	$r->undo(sub { unlink $path });
	$r->evict($path);
	return $path;
}

# Out of the page cache: as it is after a boot, or when others needed the memory.
sub evict {
	my ($r, $path) = @_;
	open my $h, '<', $path or croak "$path: $!";
	system("sync '$path'");
	syscall 221, fileno $h, 0, 0, 4;    # fadvise64(POSIX_FADV_DONTNEED): of x86-64
	return;
}

# The disk below the work folder as MAJOR:MINOR; '' where there is none.
sub disk {
	my ($r) = @_;
	my $dev = (stat $r->{stage}{work})[0];
	my ($major, $minor) = ($dev >> 8 & 0xfff, $dev & 0xff | $dev >> 12 & 0xfff00);
	my $sys = "/sys/dev/block/$major:$minor";
	return ''              if !-e $sys;
	return "$major:$minor" if !-e "$sys/partition";
	return Tipme::Lab::Cgroup::slurp("$sys/../dev") =~ /^(\d+:\d+)/ ? $1 : '';
}

# What those who did it have written: spans, and nothing that failed.
sub read_spans {
	my ($r) = @_;
	for my $line (split /\n/, Tipme::Lab::Cgroup::slurp($r->{truth_file})) {
		croak "$r->{name}: $line" if $line =~ /^failed /;
		next                      if $line !~ /^span (\S+) (\d+) (\d+) (\d+) (\d+) (\d+)$/;
		push @{ $r->{spans} },
			{ what => $1, pid => $2, tid => $3, from_ns => $4, to_ns => $5, cpu_ns => $6 };
	}
	return;
}

# spans_ns(WHAT): how much of the interval lies in spans of that name (each moment counts once)
sub spans_ns {
	my ($r,    $what) = @_;
	my ($from, $to)   = @$r{qw(press_ns answer_ns)};
	my $sum = 0;
	for my $s (
		sort { $a->{from_ns} <=> $b->{from_ns} }
		grep { $_->{what} eq $what } @{ $r->{spans} }
		)
	{
		my $a = $s->{from_ns} > $from ? $s->{from_ns} : $from;
		my $b = $s->{to_ns} < $to     ? $s->{to_ns}   : $to;
		next if $a >= $b;
		$sum += $b - $a;
		$from = $b;
	}
	return $sum;
}

# overlap_ns(WHAT, OTHER): time that lies in a span of each name
sub overlap_ns {
	my ($r, $what, $other) = @_;
	my $sum = 0;
	for my $s (grep { $_->{what} eq $what } @{ $r->{spans} }) {
		for my $o (grep { $_->{what} eq $other } @{ $r->{spans} }) {
			my $from = $s->{from_ns} > $o->{from_ns} ? $s->{from_ns} : $o->{from_ns};
			my $to   = $s->{to_ns} < $o->{to_ns}     ? $s->{to_ns}   : $o->{to_ns};
			$sum += $to - $from if $to > $from;
		}
	}
	return $sum;
}

# cpu_ns(WHAT): what spans of that name have computed
sub cpu_ns {
	my ($r, $what) = @_;
	my $sum = 0;
	$sum += $_->{cpu_ns} for grep { $_->{what} eq $what } @{ $r->{spans} };
	return $sum;
}

# used_ns(cpu|delay|main_delay, PIDS): CPU time, or time of waiting for a CPU (of the main thread
# alone), of these processes between the key and the answer, as the kernel itself counts it
sub used_ns {
	my ($r, $what, @pids) = @_;
	my $sum = 0;
	$sum += $r->{used}[1]{$_}{$what} - $r->{used}[0]{$_}{$what} for @pids;
	return $sum;
}

# freepages_ns(): how long the client looked for pages to free between the key and the answer, as
# the kernel itself counts it
sub freepages_ns { my ($r) = @_; return $r->{used}[1]{freepages} - $r->{used}[0]{freepages} }

# no_cpu_ns(): time in which neither client nor server worked: where nothing else makes them wait,
# they waited for a CPU. (Their own counters of
# that wait count each thread by itself, also those for which nobody waited.)
sub no_cpu_ns {
	my ($r) = @_;
	my $ns =
		  $r->{answer_ns}
		- $r->{press_ns}
		- $r->used_ns(cpu => $r->{client_pid}, $r->{stage}{display}->pid);
	return $ns > 0 ? $ns : 0;
}

sub client_who {
	my ($r) = @_;
	return { comm => $r->{client_comm}, pids => { $r->{client_pid} => 1 } };
}

sub culprit {
	my ($r) = @_;
	my $w = ($r->parts)[0]{who};
	return { comm => $w->{comm}, pids => [ sort { $a <=> $b } keys %{ $w->{pids} } ] };
}
sub says { my ($r) = @_; return $r->{cause}{says}->($r) }

# parts(): what the interval consists of, the largest intended part first: { kinds, who, ns }
sub parts {
	my ($r) = @_;
	my @p =
		  $r->{cause}{parts}
		? $r->{cause}{parts}->($r)
		: {
		ns  => $r->{cause}{charged}->($r),
		who => $r->{cause}{who} ? $r->{cause}{who}->($r) : $r->client_who
		};
	return map { { kinds => $r->{cause}{kinds}, %$_ } } @p;
}

1;
