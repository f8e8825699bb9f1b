# SPDX-License-Identifier: GPL-2.0-only
# A headless Wayland session of an ordinary user, in which a test types: sway, and keys of a virtual
# keyboard (wtype).
package Tipme::WaylandStage;
use strict;
use warnings;
use Carp        qw(croak);
use File::Temp  qw(tempdir);
use POSIX       ();
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

my $PRESS = qr/-> wl_keyboard\@\d+\.key\(.*, 1\)$/;

use constant { NOBODY => 65534, PATIENCE_S => 60 };

# lacks(): the first program that is missing here; undef: none
sub lacks {
	return (
		grep {
			my $p = $_;
			!grep { -x "$_/$p" } split /:/, $ENV{PATH}
		} qw(sway foot wtype setpriv)
	)[0];
}

# new(library => DIR with another libwayland-server): starts the compositor; it says what it sends
# in debug_log()
sub new {
	my ($class, %o) = @_;
	my $dir = tempdir('tipme-wayland-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0755, $dir;
	mkdir "$dir/session", 0700;
	chown NOBODY, NOBODY, "$dir/session";
	my $self = bless { dir => $dir, owner => $$, pids => [], uid => $o{uid} // NOBODY }, $class;
	chown $self->{uid}, $self->{uid}, "$dir/session" if $o{uid};
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
# A session that has no keyboard between two keys is given a new one with each, and a client that is
# stopped does not take that.
	$self->spawn({}, 'wtype', '-s', 2_000_000, 'a');
	return $self;
}

sub compositor { return $_[0]{compositor} }
sub debug_log  { my ($self) = @_; return "$self->{dir}/$self->{compositor}.err" }

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
		exec {'setpriv'} 'setpriv', '--reuid', $self->{uid}, '--regid', $self->{uid},
			'--clear-groups', @command
			or POSIX::_exit(127);
	}
	push @{ $self->{pids} }, $pid;
	return $pid;
}

# terminal(COMMAND): foot, in which COMMAND runs; when it has drawn its window its pid comes back
sub terminal {
	my ($self, @command) = @_;
	my $before = $self->said(qr/wl_surface\@\d+\.commit/);
	my $pid    = $self->spawn({}, 'foot', '--config=/dev/null', @command);
	$self->wait_for(sub { $self->said(qr/wl_surface\@\d+\.commit/) > $before + 1 }, 'the terminal');
	return $pid;
}

# said(PATTERN): how many lines of what the compositor says match
sub said {
	my ($self, $pattern) = @_;
	open my $h, '<', $self->debug_log or return 0;
	return scalar grep { $_ =~ $pattern } <$h>;
}

# type(KEYS [, apart => SECONDS]): waits until the compositor was told of all
sub type {
	my ($self, $keys, %o) = @_;
	my $ms  = int(1000 * ($o{apart} // 0.15));
	my $pid = $self->spawn({}, 'wtype', map { ('-s', $ms, $_) } split //, $keys);
	waitpid $pid, 0;
	@{ $self->{pids} } = grep { $_ != $pid } @{ $self->{pids} };
	croak 'wtype: ' . ($? >> 8) if $?;
	return;
}

# begin_typing([ KEY, ms before it ] ...): the same by one keyboard, while the test goes on;
# pressed(N): waits until the compositor has sent N presses since then; typed(): until all is done
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
	kill 'CONT', @{ $self->{pids} };
	kill 'TERM', $_ for reverse @{ $self->{pids} };
	waitpid $_, 0 for splice @{ $self->{pids} };
	return;
}

sub DESTROY {
	my ($self) = @_;
	local ($?, $@);
	return if $self->{owner} != $$;
	kill 'CONT', @{ $self->{pids} };
	kill 'KILL', @{ $self->{pids} };
	waitpid $_, 0 for splice @{ $self->{pids} };
	return;
}

1;
