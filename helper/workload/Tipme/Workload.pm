# SPDX-License-Identifier: GPL-2.0-only
# Somebody's work on a headless X server: a session of its own (bus, window manager, home folder)
# of an unprivileged user, and programs in it.
package Tipme::Workload;
use strict;
use warnings;
use Carp        qw(croak);
use File::Path  qw(make_path remove_tree);
use POSIX       ();
use Time::HiRes qw(sleep time);
use X11::Auth;
use X11::Protocol;
use Tipme::Workload::Programs;

# A busy machine may need this long for anything; only a hang is meant to reach it.
use constant PATIENCE_S => 60;

# Tipme::Workload->new(display => Tipme::Display, work => DIR of the user, ids => [uid, gid], wm =>
# 'openbox', compositor => [COMMAND]) starts bus, window manager and, where one is given,
# compositor. close() ends them, and all programs.
sub new {
	my ($class, %o) = @_;
	my $self = bless { wm => 'openbox', %o, owner => $$, programs => [] }, $class;
	$self->{home} = "$self->{work}/home";
	$self->_folder($_) for $self->{home}, "$self->{home}/run";
	chmod 0700, "$self->{home}/run";
	$self->_connect;
	$self->_start_bus;
	$self->_start_wm;
	$self->_start_compositor;
	return $self;
}

sub x              { return $_[0]{x} }
sub home           { return $_[0]{home} }
sub wm_pid         { return $_[0]{wm_pid} }
sub compositor_pid { return $_[0]{compositor_pid} }
sub bus            { return $_[0]{bus} }

# The environment of all that runs here. Nothing of the caller's session is in it.
sub env {
	my ($self) = @_;
	return (
		$self->{display}->env, HOME => $self->{home}, XDG_RUNTIME_DIR => "$self->{home}/run",
		PATH        => '/usr/bin:/bin:/usr/games', LANG => 'C.UTF-8', SHELL => '/bin/bash',
		USER        => 'tipme',
		GDK_BACKEND => 'x11',  GSK_RENDERER => 'cairo', QT_QPA_PLATFORM => 'xcb', NO_AT_BRIDGE => 1,
		GTK_A11Y    => 'none', GSETTINGS_BACKEND => 'memory', LIBGL_ALWAYS_SOFTWARE => 1,
		HISTFILE    => '/dev/null', PS1          => '$ ',
		$self->{bus} ? (DBUS_SESSION_BUS_ADDRESS => $self->{bus}) : ()
	);
}

# spawn([COMMAND], env => {...}, nice => N): a process of this session; returns its pid. It ends
# with the workload.
sub spawn {
	my ($self, $command, %o) = @_;
	local %ENV = ($self->env, %{ $o{env} // {} });
	my $pid = $self->{display}->spawn('/bin/sh', '-c', 'cd "$HOME" && exec "$@"', 'sh', @$command);
	push @{ $self->{pids} }, $pid;
	return $pid;
}

sub close {
	my ($self) = @_;
	return if $$ != $self->{owner} || $self->{closed}++;
	local $?;
	$self->stop($_) for splice @{ $self->{programs} };
	_end($_) for reverse splice @{ $self->{pids} };
	delete $self->{x};
	remove_tree($self->{home}, { safe => 1, error => \my $ignored });
	return;
}

sub DESTROY { my ($self) = @_; $self->close; return }

sub _folder {
	my ($self, $dir) = @_;
	make_path($dir);
	chown @{ $self->{ids} }, $dir if !$>;
	return;
}

# _file(PATH, TEXT): a file of the user
sub file {
	my ($self, $path, $text) = @_;
	my @parts = split m{/}, substr $path, length $self->{home};
	pop @parts;
	my $dir = $self->{home};
	for my $p (grep {length} @parts) {
		$dir .= "/$p";
		$self->_folder($dir);
	}
	open my $h, '>', $path or croak "$path: $!";
	print {$h} $text;
	CORE::close $h or croak "$path: $!";
	chown @{ $self->{ids} }, $path if !$>;
	return $path;
}

# X11::Protocol does not know entries of family 'any'.
sub _connect {
	my ($self)  = @_;
	my %env     = $self->{display}->env;
	my ($entry) = X11::Auth->new($env{XAUTHORITY})->get_all;
	$self->{x} = X11::Protocol->new($self->{display}->display, [ @$entry[ 3, 4 ] ]);
	$self->{x}->{error_handler} = sub { $self->{x_error} = $_[1] };
	return;
}

sub _start_bus {
	my ($self) = @_;
	my $at     = "unix:path=$self->{home}/run/bus";
	my $pid    = $self->spawn([ qw(dbus-daemon --session --nofork --nopidfile --address), $at ]);
	_wait_for(sub { -S "$self->{home}/run/bus" }, 'dbus-daemon');
	$self->{bus} = $at;
	return;
}

sub _start_wm {
	my ($self) = @_;
	return if !$self->{wm};
	my %config = (openbox => [ 'openbox', '--sm-disable' ]);
	$self->{wm_pid} = $self->spawn($config{ $self->{wm} } // [ $self->{wm} ]);
	_wait_for(sub { $self->_property($self->{x}->root, '_NET_SUPPORTING_WM_CHECK') }, $self->{wm});
	return;
}

# A compositor that is ready has the selection of its screen.
sub _start_compositor {
	my ($self)  = @_;
	my $command = $self->{compositor} // return;
	my $x       = $self->{x};
	$self->{compositor_pid} = $self->spawn($command);
	_wait_for(
		sub {
			my ($owner) = $x->GetSelectionOwner($x->atom('_NET_WM_CM_S0'));
			$owner && $owner ne 'None';
		},
		$command->[0]
	);
	return;
}

sub _wait_for {
	my ($is, $what, $patience_s) = @_;
	my $last = time + ($patience_s // PATIENCE_S);
	while (time < $last) { my $r = $is->(); return $r if $r; sleep 0.05 }
	croak "$what: not ready after ", $patience_s // PATIENCE_S, ' s';
}

# A property's bytes; '' where there is none, or no window.
sub _property {
	my ($self, $window, $name) = @_;
	my $x = $self->{x};
	my ($value) = eval { $x->GetProperty($window, $x->atom($name), 'AnyPropertyType', 0, 4096, 0) };
	return $value // '';
}

# windows(): those that the window manager knows, oldest first: ids
sub windows {
	my ($self) = @_;
	return unpack 'L*', $self->_property($self->{x}->root, '_NET_CLIENT_LIST');
}

sub window_class {
	my ($self, $w) = @_;
	return join ' ', split /\0/, $self->_property($w, 'WM_CLASS');
}

sub window_title {
	my ($self, $w) = @_;
	return $self->_property($w, '_NET_WM_NAME') || $self->_property($w, 'WM_NAME');
}

# start(NAME, file => PATH, page => URL, command => [...], env => {...}, args): the program's
# window is there, has the focus and the pointer, and nothing is drawn
# any more when it returns: { name, pid, window, width, height }.
sub start {
	my ($self, $name, %o) = @_;
	my %before  = map { $_ => 1 } $self->windows;
	my $program = $self->_run($name, %o);
	# Some programs show a first window that another one soon replaces.
	for (1 .. 5) {
		my $w = $program->{window} = $self->_await_window($program, \%before);
		sleep $program->{settle_s} // 0.2;
		next if $self->_await_window($program, \%before) != $w;
		$self->place($program);
		return $program if $self->focus($program);
	}
	croak "$name: its window does not take the focus";
}

sub _run {
	my ($self, $name, %o) = @_;
	my $p      = Tipme::Workload::Programs::get($name);
	my %config = %{ $p->{config} // {} };
	$self->file("$self->{home}/$_", $config{$_}) for sort keys %config;
	my $file = $o{file} // $self->file(
		"$self->{home}/text.txt", join '',
		map {"Line $_ of a text that somebody reads.\n"} 1 .. 400
	);
	my @command = @{ $o{command}
			// (ref $p->{command} eq 'CODE' ? $p->{command}->($self->{home}) : $p->{command}) };
	my %word = (FILE => $file, PAGE => $o{page} // 'about:blank');
	my $pid  = $self->spawn(
		[ map { exists $word{$_} ? $word{$_} : $_ } @command ],
		env => { %{ $p->{env} // {} }, %{ $o{env} // {} } }
	);
	my $program = { name => $name, pid => $pid, %$p };
	push @{ $self->{programs} }, $program;
	return $program;
}

# part(): where its windows are on the screen: x, y, width, height
sub part { return (60, 60, 1000, 600) }

# servers(): who brings programs' pictures to the screen, and may wait for a CPU
sub servers {
	my ($self) = @_;
	return grep {defined} $self->{compositor_pid};
}

# ui_pid(PROGRAM): the process that has its window
sub ui_pid {
	my ($self, $program) = @_;
	return unpack('L', $self->_property($program->{window}, '_NET_WM_PID') || '')
		|| $program->{pid};
}

sub _await_window {
	my ($self, $program, $before) = @_;
	my $class = $program->{class};
	return _wait_for(
		sub {
			waitpid($program->{pid}, POSIX::WNOHANG()) == 0
				or croak "$program->{name}: ended at once";
			my ($w) =
				reverse grep { !$before->{$_} && (!$class || $self->window_class($_) =~ $class) }
				$self->windows;
			return $w;
		},
		"$program->{name}: its window",
		$program->{patience_s}
	);
}

# place(PROGRAM, [x, y, width, height]): moves and sizes its window through the window manager
sub place {
	my ($self, $program, $at) = @_;
	my $x = $self->{x};
	my ($left, $top, $width, $height) = @{ $at // [ $self->part ] };
	$x->ConfigureWindow(
		$program->{window}, x => $left, y => $top, width => $width,
		height => $height
	);
	$self->sync;
	sleep 0.2;
	my %g = eval { $x->GetGeometry($program->{window}) };
	@$program{qw(width height)} = ($g{width} // $width, $g{height} // $height);
	return;
}

# focus(PROGRAM): gives its window the keyboard and the pointer; whether the window manager says
# that it has the keyboard now
sub focus {
	my ($self, $program) = @_;
	my $x = $self->{x};
	my $w = $program->{window};
	$x->SendEvent(
		$x->root, 0, $x->pack_event_mask(qw(SubstructureNotify SubstructureRedirect)),
		$x->pack_event(
			name   => 'ClientMessage', window => $w, type => $x->atom('_NET_ACTIVE_WINDOW'),
			format => 32, data => pack('L5', 2, 0, 0, 0, 0)
		)
	);
	$self->point($program, 0.5, 0.5);
	my $last = time + 5;
	while (time < $last) {
		return 1
			if unpack('L', $self->_property($x->root, '_NET_ACTIVE_WINDOW') || "\0\0\0\0") == $w;
		sleep 0.05;
	}
	return 0;
}

# point(PROGRAM, X, Y): the pointer goes there; fractions of the window's size
sub point {
	my ($self, $program, $fx, $fy) = @_;
	$self->{x}->WarpPointer(
		0, $program->{window}, 0, 0, 0, 0, int($program->{width} * $fx),
		int($program->{height} * $fy)
	);
	return $self->sync;
}

sub sync { my ($self) = @_; $self->{x}->GetInputFocus; return }

# family(PIDS): they and all that descend from them, { pid => comm }. Costs a few reads for each,
# as it is asked often.
sub family {
	my (@look) = @_;
	my %all;
	while (defined(my $pid = shift @look)) {
		next if exists $all{$pid};
		$all{$pid} = _first_line("/proc/$pid/comm") // next;
		push @look, map { split ' ', _first_line($_) // '' } glob "/proc/$pid/task/*/children";
	}
	return \%all;
}

sub _first_line {
	my ($path) = @_;
	open my $h, '<', $path or return;
	my $line = readline $h;
	chomp $line if defined $line;
	return $line;
}

# stop(PROGRAM): it and its family end
sub stop {
	my ($self, $program) = @_;
	my @all = sort { $b <=> $a } keys %{ family($program->{pid}) };
	kill $_, @all for qw(CONT KILL);
	waitpid $program->{pid}, 0;
	@{ $self->{programs} } = grep { $_ != $program } @{ $self->{programs} };
	@{ $self->{pids} }     = grep { $_ != $program->{pid} } @{ $self->{pids} };
	my $last = time + 5;
	while (time < $last && grep { $_ == $program->{window} } $self->windows) {
		sleep 0.05;
	}
	return;
}

sub _end {
	my ($pid) = @_;
	my @all = sort { $b <=> $a } keys %{ family($pid) };
	kill $_, @all for qw(CONT TERM);
	for (1 .. 40) { return if waitpid($pid, POSIX::WNOHANG()) != 0; sleep 0.05 }
	kill 'KILL', @all;
	waitpid $pid, 0;
	return;
}

1;
