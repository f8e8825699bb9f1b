# SPDX-License-Identifier: GPL-2.0-only
# Starts a headless X server of its own as an unprivileged user, with or without our hooks, and
# stops it.
package Tipme::Display;
use strict;
use warnings;
use Carp           qw(croak);
use Fcntl          qw(F_SETFD);
use File::Basename qw(dirname);
use File::Copy     qw(copy);
use File::Spec;
use File::Temp qw(tempdir);
use File::Path qw(remove_tree);
use IO::Handle;
use IO::Select;
use POSIX       qw(WNOHANG);
use Time::HiRes qw(sleep);

# A busy machine may need this long to start a server, or to end it; only a hang is meant to reach
# it.
use constant PATIENCE_S => 120;

my @STOCK_MODULES = grep {-d} qw(/usr/lib/xorg/modules /usr/lib64/xorg/modules);

my %COMMAND = (
	Xorg => sub {
		my ($self) = @_;
		$self->_write_config;
		return (
			'-config',     "$self->{dir}/xorg.conf", '-logfile', "$self->{dir}/Xorg.log",
			'-novtswitch', '-sharevts', '-keeptty'
		);
	},
	Xvfb     => sub { return ('-screen',   '0', '1280x800x24') },
	Xwayland => sub { return ('-geometry', '1280x800') },
	Xephyr   => sub { return ('-screen',   '1024x700x24') },
);

# Tipme::Display->new(kind => 'Xorg' | 'Xvfb' | 'Xephyr', ...) starts the server and returns when it
# is ready. Options:
#   hooks => libtipme.so     the hooks; none: a stock server
#   rundir => DIR            folder of tipmed's socket
#   chord => 'Ctrl+Alt+minus', ring_kb => 4096, layout => 'us'
#   options => { ChordStart => ... }   further options of the hooks, as in xorg.conf
#   dump_dir => DIR          where the server saves its own records if nobody listens;
#                            its folder, if not given
#   evdev => PATH            Xorg: the keyboard is this event device,
#                            read by the evdev driver in the input thread
#   program => PATH          another than the installed one
#   preload => [PATH...]     Xvfb and Xephyr: preloaded after the hooks
#   uid, gid                 whom to run as, if we are root (default: nobody)
#   host => Tipme::Display   where Xephyr shows itself
#   args => [...], env => {...}   more arguments and environment for the server
# The object has pid, display (":7"), dir, auth; keyboard and pointer are the inputtest sockets of
# Xorg.
sub new {
	my ($class, %opt) = @_;
	my $kind = $opt{kind} // 'Xorg';
	exists $COMMAND{$kind} or croak "Display: no kind '$kind': one of @{[sort keys %COMMAND]}";
	my $program = $opt{program} // find_server($kind)
		// croak "$kind: not found: install Debian's ", _package($kind);
	my $self = bless { layout => 'us', %opt, kind => $kind, program => $program, owner => $$ },
		$class;
	_identity($self);
	_folder($self);
	$self->_start;
	return $self;
}

# Path of a server's program; not Debian's wrapper for Xorg, which wants a console.
sub find_server {
	my ($kind) = @_;
	my @dirs =
		($kind eq 'Xorg' ? qw(/usr/lib/xorg /usr/libexec) : (), File::Spec->path, '/usr/bin');
	return (grep { -f && -x } map {"$_/$kind"} @dirs)[0];
}

# Path of our hooks: in the build tree if there is one, else installed (TIPME_X_MODULES: in that
# folder); undef if neither.
sub find_hooks {
	my @built = map {"$_/xserver-hooks/.libs/libtipme.so"} grep {defined} $ENV{TIPME_BUILDDIR};
	return (
		grep {-r} @built,
		map {"$_/extensions/libtipme.so"} grep {defined} $ENV{TIPME_X_MODULES}, @STOCK_MODULES
	)[0];
}

sub pid      { return $_[0]{pid} }
sub dir      { return $_[0]{dir} }
sub display  { return $_[0]{display} }
sub keyboard { return "$_[0]{dir}/keyboard.sock" }
sub pointer  { return "$_[0]{dir}/pointer.sock" }

# What a client needs in its environment.
sub env {
	my ($self) = @_;
	return (DISPLAY => $self->{display}, XAUTHORITY => "$self->{dir}/auth");
}

# Starts a program on this display, as the same user and in its own session; returns its pid.
sub spawn {
	my ($self, @command) = @_;
	return $self->_fork(
		"$self->{dir}/clients.log",
		sub {
			%ENV = (%ENV, $self->env);
			delete @ENV{qw(TIPME_X_PRELOAD LD_PRELOAD WAYLAND_DISPLAY)};
			exec { $command[0] } @command;
		}
	);
}

sub alive {
	my ($self) = @_;
	return $self->{pid} && waitpid($self->{pid}, WNOHANG) == 0;
}

# Ends the server and removes its folder. Dies if it had to be killed or had crashed.
sub stop {
	my ($self) = @_;
	my $pid    = delete $self->{pid} // return;
	my $how    = _end($pid);
	my $tail   = $how ? $self->_log_tail : '';
	remove_tree($self->{dir}) unless $how || $self->{keep};
	croak "$self->{kind}: $how: its folder $self->{dir} is kept\n$tail" if $how;
	return;
}

sub DESTROY {
	my ($self) = @_;
	return unless $self->{pid} && $self->{owner} == $$;
	local ($@, $?, $!);
	eval { $self->stop; 1 } or warn $@;
	return;
}

sub _package {
	return {
		Xorg   => 'xserver-xorg-core and xserver-xorg-video-dummy', Xvfb => 'xvfb',
		Xephyr => 'xserver-xephyr'
	}->{ $_[0] };
}

# Whom to run as what needs no rights: (uid, gid). We ourselves where we are not root, or root of a
# container that knows no other user.
my @ordinary;

sub ordinary {
	return @ordinary if @ordinary;
	return @ordinary = ($>, $) + 0) if $>;
	my ($uid, $gid) = (getpwnam 'nobody')[ 2, 3 ];
	($uid, $gid) = (65534, 65534) if !defined $uid;
	return @ordinary = _may_become($uid, $gid) ? ($uid, $gid) : (0, $) + 0);
}

sub _may_become {
	my ($uid, $gid) = @_;
	my $probe = File::Temp->new;
	chown($uid, $gid, "$probe") or return 0;
	my $pid = fork // croak "fork: $!";
	if (!$pid) {
		$) = "$gid $gid";
		POSIX::setgid($gid);
		POSIX::setuid($uid);
		POSIX::_exit($> == $uid && $< == $uid ? 0 : 1);
	}
	waitpid $pid, 0;
	return $? == 0;
}

sub _identity {
	my ($self) = @_;
	my @ids = ordinary();
	if ($> || !$ids[0]) { @$self{qw(uid gid)} = @ids; return }
	$self->{uid} //= $ids[0];
	$self->{gid} //= (getpwuid $self->{uid})[3] // $self->{uid};
	return;
}

# The build tree may be closed to that user, so the folder has its own copy of the hooks.
sub _folder {
	my ($self) = @_;
	my $dir = $self->{dir} = tempdir('tipme-x-XXXXXX', TMPDIR => 1);
	if (defined $self->{hooks}) {
		mkdir "$dir/$_" or croak "$dir/$_: $!" for 'modules', 'modules/extensions';
		copy($self->{hooks}, "$dir/modules/extensions/libtipme.so")
			or croak "$self->{hooks}: copy to $dir: $!";
	}
	_write("$dir/auth", _auth());
	chown $self->{uid}, $self->{gid}, $dir, "$dir/auth" or croak "$dir: chown: $!";
	return if $> != 0;
	# Only root may make it, and the server runs as somebody else, who must be able to put a socket
	# there: the mode that X servers want.
	mkdir '/tmp/.X11-unix';
	my ($mode, $owner) = (lstat '/tmp/.X11-unix')[ 2, 4 ];
	chmod 01777, '/tmp/.X11-unix' if -d _ && $owner == 0 && ($mode & 01777) != 01777;
	return;
}

# One entry of family 'any', so that it fits whatever display number the server gets.
sub _auth {
	open my $random, '<:raw', '/dev/urandom' or croak "/dev/urandom: $!";
	read $random, my $cookie, 16 or croak "/dev/urandom: $!";
	return pack 'S> (S>/a)4', 65535, '', '', 'MIT-MAGIC-COOKIE-1', $cookie;
}

sub _write {
	my ($path, $text) = @_;
	my $umask = umask 077;
	open my $out, '>:raw', $path or croak "$path: $!";
	umask $umask;
	print {$out} $text;
	close $out or croak "$path: $!";
	return;
}

sub _write_config {
	my ($self) = @_;
	my $dir    = $self->{dir};
	my %word   = (
		DIR           => $dir, MODULES => -d "$dir/modules" ? "$dir/modules" : $dir,
		STOCK_MODULES => $STOCK_MODULES[0] // $dir,
		LAYOUT        => $self->{layout}, KEYBOARD => $self->_keyboard_driver,
		HOOKS         => $self->_module_section
	);
	my $template = File::Spec->catfile(dirname(__FILE__), File::Spec->updir, 'xorg.conf.in');
	open my $in, '<', $template or croak "$template: $!";
	my $text = do { local $/; <$in> };
	$text =~ s/\@([A-Z_]+)\@/$word{$1} \/\/ croak "$template: unknown word $1"/ge;
	_write("$dir/xorg.conf", $text);
	chown $self->{uid}, $self->{gid}, "$dir/xorg.conf";
	return;
}

sub _keyboard_driver {
	my ($self) = @_;
	my @lines =
		defined $self->{evdev}
		? ('Driver "evdev"', qq{Option "Device" "$self->{evdev}"})
		: (
		'Driver "inputtest"', qq{Option "SocketPath" "$self->{dir}/keyboard.sock"},
		'Option "DeviceType" "Keyboard"'
		);
	return join "\n\t", @lines;
}

sub _options {
	my ($self) = @_;
	return (
		RunDir  => $self->{rundir}, Chord => $self->{chord}, RingKB => $self->{ring_kb},
		DumpDir => $self->{dump_dir} // $self->{dir},
		%{ $self->{options} // {} }
	);
}

sub _module_section {
	my ($self) = @_;
	return '' unless defined $self->{hooks};
	my %option = $self->_options;
	my $lines  = join '',
		map {qq{\t\tOption "$_" "$option{$_}"\n}} grep { defined $option{$_} } sort keys %option;
	return qq{Section "Module"\n\tSubSection "tipme"\n$lines\tEndSubSection\nEndSection\n};
}

sub _server_env {
	my ($self) = @_;
	my %env = (HOME => $self->{dir}, %{ $self->{env} // {} });
	%env = (%env, $self->{host}->env) if $self->{kind} eq 'Xephyr';
	return %env if $self->{kind} eq 'Xorg' || !defined $self->{hooks};
	my %option = $self->_options;
	$env{TIPME_RUNDIR} = delete $option{RunDir} if defined $option{RunDir};
	# RingKB is TIPME_X_RING_KB there
	$env{ 'TIPME_X_' . uc s/(?<=[a-z])(?=[A-Z])/_/gr } = $option{$_}
		for grep { defined $option{$_} } keys %option;
	return (
		%env, TIPME_X_PRELOAD => 1, LD_PRELOAD => join ':',
		"$self->{dir}/modules/extensions/libtipme.so", @{ $self->{preload} // [] }
	);
}

sub _start {
	my ($self) = @_;
	pipe my $told, my $tell or croak "pipe: $!";
	my @command = (
		$self->{program}, $COMMAND{ $self->{kind} }->($self), '-displayfd', fileno $tell,
		qw(-noreset -nolisten tcp -s 0 -auth), "$self->{dir}/auth", @{ $self->{args} // [] }
	);
	my %env = $self->_server_env;
	$self->{pid} = $self->_fork(
		"$self->{dir}/stderr.log",
		sub {
			fcntl $tell, F_SETFD, 0;
			delete @ENV{qw(DISPLAY WAYLAND_DISPLAY XAUTHORITY)};
			%ENV = (%ENV, %env);
			exec { $command[0] } @command;
		}
	);
	close $tell;
	$self->_await($told);
	return;
}

sub _fork {
	my ($self, $log, $run) = @_;
	my $pid = fork // croak "fork: $!";
	return $pid if $pid;
	# The child never returns into the caller's program, whatever fails.
	my $ok = eval {
		$SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE CHLD);
		POSIX::setsid();
		open STDIN, '<', '/dev/null' or die "/dev/null: $!\n";
		$self->_become if $> == 0;
		_die_with_parent();
		open STDOUT, '>>', $log     or die "$log: $!\n";
		open STDERR, '>&', \*STDOUT or die "stderr: $!\n";
		chdir $self->{dir} or die "$self->{dir}: $!\n";
		no warnings 'exec';
		$run->();
		die "exec: $!\n";
	};
	print STDERR "tipme: $@" unless $ok;
	POSIX::_exit(127);
}

sub _become {
	my ($self) = @_;
	my ($uid, $gid) = @$self{qw(uid gid)};
	$) = "$gid $gid";
	$( = $gid;
	POSIX::setuid($uid);
	$> == $uid && $< == $uid or die "setuid $uid: $!\n";
	return;
}

# Also where the parent is killed; a change of user would undo it, so it comes after that. Numbers
# of x86-64 Linux.
sub _die_with_parent {
	my ($SYS_prctl, $PR_SET_PDEATHSIG, $SIGTERM) = (157, 1, 15);
	syscall $SYS_prctl, $PR_SET_PDEATHSIG, $SIGTERM;
	return;
}

# The server writes its display number when clients may come.
sub _await {
	my ($self, $told) = @_;
	my $ready = IO::Select->new($told)->can_read(PATIENCE_S) && defined(my $line = <$told>);
	if ($ready) {
		chomp $line;
		$self->{display} = ":$line";
		return;
	}
	my $how  = $self->alive ? 'not ready after ' . PATIENCE_S . ' s' : 'ended at once';
	my $tail = $self->_log_tail;
	_end(delete $self->{pid});
	croak "$self->{program}: $how: see $self->{dir}\n$tail";
}

sub _log_tail {
	my ($self) = @_;
	my $text = '';
	for my $log (grep {-s} "$self->{dir}/Xorg.log", "$self->{dir}/stderr.log") {
		open my $in, '<', $log or next;
		my @lines = <$in>;
		splice @lines, 0, @lines - 15 if @lines > 15;
		$text .= "--- $log\n" . join '', @lines;
	}
	return $text;
}

# Returns what went wrong, or nothing.
sub _end {
	my ($pid) = @_;
	kill 'TERM', $pid;
	kill 'CONT', $pid;
	my $last = time + PATIENCE_S;
	while (time < $last) {
		my $got = waitpid $pid, WNOHANG;
		return $got < 0 || !($? & 127) || ($? & 127) == 15 ? '' : 'died of signal ' . ($? & 127)
			if $got;
		sleep 0.05;
	}
	kill 'KILL', $pid;
	waitpid $pid, 0;
	return 'did not end within ' . PATIENCE_S . ' s and was killed';
}

1;
