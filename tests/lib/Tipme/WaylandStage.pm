# SPDX-License-Identifier: GPL-2.0-only
# A headless Wayland session of an ordinary user, in which a test types: sway, and keys of a virtual
# keyboard (wtype); or another
# compositor in the window of a headless X server, and keys of that.
package Tipme::WaylandStage;
use strict;
use warnings;
use Carp        qw(croak);
use File::Copy  qw(copy);
use File::Temp  qw(tempdir);
use POSIX       ();
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC CLOCK_REALTIME);
use Tipme::Nested;

# One event for each serial: a client that has two keyboards is told twice.
my $PRESS = qr/-> wl_keyboard\@\d+\.key\((\d+),.*, 1\)$/;

use constant { NOBODY => 65534, PATIENCE_S => 60, RESTS_S => 0.1 };

# Those that run in a window of an X server here; sway runs without one.
my %NESTED = map { $_ => 1 } grep { $_ ne 'sway' } Tipme::Nested::names();

sub nested { return sort keys %NESTED }

# lacks(COMPOSITOR): the first program that is missing here; undef: none
sub lacks {
	my ($class, $compositor) = @_;
	my @wanted = (
		qw(foot setpriv),
		$compositor && $NESTED{$compositor}
		? ($compositor, qw(Xvfb xdotool dbus-run-session))
		: qw(sway wtype)
	);
	return (
		grep {
			my $p = $_;
			!grep { -x "$_/$p" } split /:/, $ENV{PATH}
		} @wanted
	)[0];
}

# new(library => DIR with another libwayland-server, compositor => NAME): starts the compositor; it
# says what it sends in debug_log()
sub new {
	my ($class, %o) = @_;
	my $dir = tempdir('tipme-wayland-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0755, $dir;
	mkdir "$dir/session", 0700;
	chown NOBODY, NOBODY, "$dir/session";
	my $self = bless { dir => $dir, owner => $$, pids => [], uid => $o{uid} // NOBODY }, $class;
	chown $self->{uid}, $self->{uid}, "$dir/session" if $o{uid};
	return $self->_nest($o{compositor}) if $o{compositor} && $NESTED{ $o{compositor} };
	$self->{compositor} = $self->spawn(
		{
			WLR_BACKENDS  => 'headless', WLR_RENDERER => 'pixman', WLR_LIBINPUT_NO_DEVICES => 1,
			WAYLAND_DEBUG => 'server',
			$o{library} ? (LD_LIBRARY_PATH => $o{library}) : ()
		},
		'sway',
		'-c',
		'/dev/null'
	);
	$self->{display} =
		$self->wait_for(sub { (glob "$dir/session/wayland-?")[0] }, 'the compositor') =~ s{.*/}{}r;
	# A session that has no keyboard between two keys is given a new one with each, and a client
	# that is stopped does not take that.
	$self->spawn({}, 'wtype', '-s', 2_000_000, 'a');
	return $self;
}

# An X server, a compositor in its only window, and the pointer above that.
sub _nest {
	my ($self, $name) = @_;
	require Tipme::Display;
	my $x = $self->{x} =
		Tipme::Display->new(kind => 'Xvfb', uid => $self->{uid}, gid => $self->{uid});
	my %x = $x->env;
	my ($env, @command) = Tipme::Nested::command(
		$name,
		dir    => $self->{dir}, display => $x{DISPLAY}, socket => 'tipme-0', width => 900,
		height => 600
	);
	my $log = $self->spawn(
		{ %x, WAYLAND_DEBUG => 'server', %$env },
		qw(dbus-run-session -- sh -c), 'echo $$ > "$HOME/compositor"; exec "$@"', 'sh', @command
	);
	$self->{log}     = "$self->{dir}/$log.err";
	$self->{display} = $self->wait_for(
		sub {
			(grep {-S} glob "$self->{dir}/session/{wayland,tipme}-?")[0];
		},
		'the compositor'
	) =~ s{.*/}{}r;
	open my $h, '<', "$self->{dir}/session/compositor" or croak "compositor: $!";
	chomp($self->{compositor} = <$h>);
	$self->{bus} = $log;
	local @ENV{ keys %x } = values %x;
	$self->wait_for(
		sub { qx{xwininfo -root -tree 2>/dev/null} =~ /^ +0x\w+ .* (?:\d\d|[2-9])\d\dx/m },
		'its window'
	);
	system qw(xdotool mousemove 400 300);
	return $self;
}

sub compositor { return $_[0]{compositor} }

# x_display(): the X display that the compositor has for X clients. It makes that after its own.
sub x_display {
	my ($self) = @_;
	return $self->wait_for(
		sub { Tipme::Nested::x_display($self->{compositor}) },
		'a display for X clients'
	);
}

sub debug_log { my ($self) = @_; return $self->{log} // "$self->{dir}/$self->{compositor}.err" }

# spawn({ENVIRONMENT}, COMMAND): starts it as the session's user; its pid
sub spawn {
	my ($self, $env, @command) = @_;
	my $pid = fork // croak "fork: $!";
	if (!$pid) {
		my %old = %ENV;
		%ENV = (
			PATH => $old{PATH}, LANG => 'C.UTF-8', HOME => "$self->{dir}/session",
			XDG_RUNTIME_DIR => "$self->{dir}/session", NO_AT_BRIDGE => 1,
			defined $self->{display} ? (WAYLAND_DISPLAY => $self->{display}) : (), %$env
		);
		open STDOUT, '>', "$self->{dir}/$$.out";
		open STDERR, '>', "$self->{dir}/$$.err";
		# The build tree may be closed to that user: terminals do not begin there.
		chdir $self->home;
		exec {'setpriv'} 'setpriv', '--reuid', $self->{uid}, '--regid', $self->{uid},
			'--clear-groups', @command
			or POSIX::_exit(127);
	}
	push @{ $self->{pids} }, $pid;
	return $pid;
}

# home(): the session's own folder; file(NAME, TEXT, MODE): a file in it; copied(FILE): a copy that
# the session can read. Their paths.
sub home { return "$_[0]{dir}/session" }

sub file {
	my ($self, $name, $text, $mode) = @_;
	my $path   = $self->home . "/$name";
	my $folder = $path =~ s{/[^/]*\z}{}r;
	if (!-d $folder) { mkdir $folder, 0700; chown $self->{uid}, $self->{uid}, $folder }
	open my $h, '>', $path or croak "$path: $!";
	print {$h} $text;
	close $h or croak "$path: $!";
	chown $self->{uid}, $self->{uid}, $path;
	chmod $mode // 0600, $path;
	return $path;
}

sub copied {
	my ($self, $file) = @_;
	my $path = "$self->{dir}/" . $file =~ s{.*/}{}r;
	copy($file, $path) && chmod 0755, $path or croak "$path: $!";
	return $path;
}

# terminal(COMMAND): foot, in which COMMAND runs; when it has drawn its window its pid comes back
sub terminal {
	my ($self, @command) = @_;
	return $self->client('foot', '--config=/dev/null', @command);
}

# client(COMMAND), client_with({ENVIRONMENT}, COMMAND): the same with any client
sub client { my ($self, @command) = @_; return $self->client_with({}, @command) }

sub client_with {
	my ($self, $env, @command) = @_;
	my $before = $self->said(qr/wl_surface\@\d+\.commit/);
	my $pid    = $self->spawn($env, @command);
	$self->wait_for(sub { $self->said(qr/wl_surface\@\d+\.commit/) > $before + 1 }, 'the client');
	return $pid if !$self->{x};
	# Where the pointer is, windows get the focus by a click.
	my %x = $self->{x}->env;
	local @ENV{ keys %x } = values %x;
	$self->wait_for(
		sub {
			system qw(xdotool mousemove 400 300 click 1);
			sleep 0.5;
			$self->said(qr/-> wl_keyboard\@\d+\.enter/);
		},
		'the focus'
	);
	return $pid;
}

# press(): one key, given to the X server in whose window the compositor is
sub press {
	my ($self, $key) = @_;
	my %x = $self->{x}->env;
	local @ENV{ keys %x } = values %x;
	system('xdotool', 'key', $key // 'a') == 0 or croak 'xdotool failed';
	return;
}

# said(PATTERN): how many lines of what the compositor says match; of lines in a row with the same
# in the pattern's first group one. Only what is new is read: beside a film that is much, and who
# types asks again and again.
sub said {
	my ($self, $pattern) = @_;
	my $c = $self->{said}{$pattern} //= { at => 0, n => 0, last => '' };
	open my $h, '<:raw', $self->debug_log or return $c->{n};
	seek $h, $c->{at}, 0;
	while (my $line = <$h>) {
		last if $line !~ /\n\z/;    # it is being written
		$c->{at} += length $line;
		my ($of) = _as_ever($line) =~ $pattern or next;
		next if $of ne 1 && $of eq $c->{last};
		@$c{qw(n last)} = ($c->{n} + 1, $of);
	}
	return $c->{n};
}

# at_rest(): waits until the session's programs have done nearly nothing for a second, as those do
# that have come so far that one can type into them
sub at_rest {
	my ($self) = @_;
	my $had = $self->_cpu_s;
	$self->wait_for(
		sub {
			sleep 1;
			my $used = -$had + ($had = $self->_cpu_s);
			return $used < RESTS_S;
		},
		'a second of rest'
	);
	return;
}

# How long all that was started, and what that started, has had a CPU. Unit: s.
sub _cpu_s {
	my ($self) = @_;
	my (%parent, %ticks);
	for my $file (glob '/proc/[0-9]*/stat') {
		open my $h, '<', $file or next;
		my ($pid, $rest) = (<$h> // '') =~ /^(\d+) .*\) (.*)/ or next;
		my @field = split ' ', $rest;
		($parent{$pid}, $ticks{$pid}) = ($field[1], $field[11] + $field[12]);
	}
	my ($sum, @left) = (0, @{ $self->{pids} });
	while (defined(my $pid = shift @left)) {
		$sum += $ticks{$pid} // 0;
		push @left, grep { $parent{$_} == $pid } keys %parent;
	}
	return $sum / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

# Since libwayland 1.23 an object is written wl_surface#3 in place of wl_surface@3.
sub _as_ever { my ($line) = @_; return $line =~ s/(\bw\w+)#(?=\d)/$1\@/gr }

sub _log_lines {
	my ($self) = @_;
	open my $h, '<:raw', $self->debug_log or return ();
	return map { _as_ever($_) } <$h>;
}

# when(PATTERN): when it said them, ns of CLOCK_MONOTONIC. Its clock is the real time, in
# microseconds of 32 bits.
sub when {
	my ($self, $pattern) = @_;
	my ($real, $mono) = map { clock_gettime($_) * 1e6 } CLOCK_REALTIME, CLOCK_MONOTONIC;
	return map { /^\[ *([\d.]+)\]/ ? 1e3 * ($mono - ($real - $1 * 1e3) % 2**32) : () }
		grep { $_ =~ $pattern } $self->_log_lines;
}

# type(KEYS [, apart => SECONDS]): waits until the compositor was told of all
sub type {
	my ($self, $keys, %o) = @_;
	if ($self->{x}) {
		for my $k (split //, $keys) {
			my $n = $self->said($PRESS);
			$self->press($k);
			$self->wait_for(sub { $self->said($PRESS) > $n }, 'the key');
			sleep($o{apart} // 0.15);
		}
		return;
	}
	my $ms  = int(1000 * ($o{apart} // 0.15));
	my $pid = $self->spawn({}, 'wtype', map { ('-s', $ms, $_) } split //, $keys);
	waitpid $pid, 0;
	@{ $self->{pids} } = grep { $_ != $pid } @{ $self->{pids} };
	croak 'wtype: ' . ($? >> 8) if $?;
	return;
}

# begin_typing([ KEY, ms before it ] ...): the same by one keyboard, while the test goes on;
# pressed(N): waits until the compositor has
# sent N presses since then; typed(): until all is done
sub begin_typing {
	my ($self, @keys) = @_;
	$self->{sent}   = $self->said($PRESS);
	$self->{typing} = $self->spawn({}, 'wtype', map { ('-s', $_->[1], $_->[0]) } @keys);
	return;
}

sub pressed {
	my ($self, $n) = @_;
	return $self->wait_for(sub { $self->said($PRESS) >= $self->{sent} + $n }, "press $n");
}

sub typed {
	my ($self) = @_;
	my $pid = delete $self->{typing} or return;
	waitpid $pid, 0;
	@{ $self->{pids} } = grep { $_ != $pid } @{ $self->{pids} };
	return;
}

sub wait_for {
	my ($self, $sub, $what) = @_;
	my $until = clock_gettime(CLOCK_MONOTONIC) + PATIENCE_S;
	while (clock_gettime(CLOCK_MONOTONIC) < $until) {
		my $found = $sub->();
		return $found if $found;
		sleep 0.05;
	}
	croak "$what has not come";
}

sub close {
	my ($self) = @_;
	$self->_end('TERM');
	$self->{x}->stop if $self->{x};
	delete $self->{x};
	return;
}

# A session bus ends with whom it was started for, and not the other way round.
sub _end {
	my ($self, $signal) = @_;
	my $bus = delete $self->{bus};
	kill $_,      $bus ? $self->{compositor} : () for 'CONT', $signal;
	kill 'CONT',  @{ $self->{pids} };
	kill $signal, $_ for grep { !$bus || $_ != $bus } reverse @{ $self->{pids} };
	waitpid $_, 0 for splice @{ $self->{pids} };
	return;
}

sub DESTROY {
	my ($self) = @_;
	local ($?, $@);
	return if $self->{owner} != $$;
	$self->_end('KILL');
	return;
}

1;
