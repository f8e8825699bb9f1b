# SPDX-License-Identifier: GPL-2.0-only
# Somebody's work in a Wayland session: a compositor in the window of an X server, and programs as
# its clients, or as those of its Xwayland. What they show is seen from outside, on that server.
package Tipme::Desk::Wayland::Workload;
use strict;
use warnings;
use parent 'Tipme::Workload';
use Carp        qw(croak);
use Digest::MD5 qw(md5);
use POSIX       ();
use Time::HiRes qw(sleep time);
use Tipme::Nested;

use constant { WIDTH => 1024, HEIGHT => 768, SOCKET => 'tipme-0' };
# Where the pointer is: inside of all that programs show
use constant AT => 200;
use constant { REST_S => 0.5, RESTLESS_S => 10, X_S => 10 };

# new(click => CODE that presses the first button, ...): as Tipme::Workload; compositor is its name
sub new { my ($class, %o) = @_; return $class->SUPER::new(%o, wm => undef) }

sub _start_compositor {
	my ($self) = @_;
	my ($name, %x)       = ($self->{compositor}, $self->{display}->env);
	my ($env,  @command) = Tipme::Nested::command(
		$name,
		dir    => $self->{work}, display => $x{DISPLAY}, socket => SOCKET, width => WIDTH,
		height => HEIGHT, x_clients      => scalar(grep { -x "$_/Xwayland" } split /:/, $ENV{PATH})
	);
	$self->{compositor_pid} = $self->spawn(\@command, env => $env);
	my $sockets = "$self->{home}/run/{wayland,tipme}-?";
	my ($socket) = Tipme::Workload::_wait_for(
		sub {
			(grep {-S} glob $sockets)[0];
		},
		$name
	);
	$self->{x_display} = eval {
		Tipme::Workload::_wait_for(
			sub { Tipme::Nested::x_display($self->{compositor_pid}) },
			'Xwayland', X_S
		);
	};
	Tipme::Workload::_wait_for(sub { $self->_windows }, "$name: its window");
	$self->_await_rest(REST_S);
	$self->{socket} = $socket =~ s{.*/}{}r;
	return;
}

# Windows of the X server: there is one, the compositor's.
sub _windows {
	my ($self) = @_;
	my (undef, undef, @windows) = $self->{x}->QueryTree($self->{x}->root);
	return scalar @windows;
}

# The compositor itself is a client of the server; who comes later is one of the compositor.
sub spawn {
	my ($self, $command, %o) = @_;
	my @env = map { ('-u', $_) } qw(GDK_BACKEND QT_QPA_PLATFORM);
	if ($self->{socket}) {
		my $x = $self->{x_display};
		my ($auth) = glob "$self->{home}/run/{.mutter-Xwaylandauth.*,xauth_*}";
		push @env, map { ('-u', $_) } defined $x ? () : 'DISPLAY',
			defined $auth ? () : 'XAUTHORITY';
		push @env, "WAYLAND_DISPLAY=$self->{socket}", 'GDK_BACKEND=wayland,x11',
			'QT_QPA_PLATFORM=wayland;xcb', 'MOZ_ENABLE_WAYLAND=1', 'XDG_SESSION_TYPE=wayland',
			defined $x    ? "DISPLAY=$x"       : (),
			defined $auth ? "XAUTHORITY=$auth" : ();
	}
	return $self->SUPER::spawn([ 'env', @env, @$command ], %o);
}

# Its window is there and has the keyboard when something else is on the screen, and stays so; a
# click tells the compositor which one is meant.
sub start {
	my ($self, $name, %o) = @_;
	my $before  = $self->_picture;
	my $program = $self->_run($name, %o);
	Tipme::Workload::_wait_for(
		sub {
			waitpid($program->{pid}, POSIX::WNOHANG()) == 0 or croak "$name: ended at once";
			$self->_picture ne $before;
		},
		"$name: its window",
		$program->{patience_s}
	);
	@$program{qw(width height)} = (WIDTH, HEIGHT);
	$self->_await_rest($program->{settle_s} // REST_S);
	$self->point;
	$self->{click}->();
	$self->_await_rest(REST_S);
	return $program;
}

sub point {
	my ($self) = @_;
	$self->{x}->WarpPointer(0, $self->{x}->root, 0, 0, 0, 0, AT, AT);
	return $self->sync;
}

sub stop {
	my ($self, $program) = @_;
	$self->SUPER::stop($program);
	$self->_await_rest(REST_S) if $self->{x} && !$self->{closed};
	return;
}

sub windows { return () }
sub part    { return (0, 0, WIDTH, HEIGHT) }

sub _picture {
	my ($self) = @_;
	my @image =
		$self->{x}->GetImage($self->{x}->root, $self->part, 0xffffffff, 'ZPixmap');
	return md5($image[-1]);
}

# Waits until nothing has changed for so long.
sub _await_rest {
	my ($self, $s) = @_;
	my $last = time + RESTLESS_S + $s;
	my ($seen, $since) = ($self->_picture, time);
	while (time < $last && time - $since < $s) {
		sleep 0.1;
		my $now = $self->_picture;
		($seen, $since) = ($now, time) if $now ne $seen;
	}
	return;
}

# servers(): the compositor, and its Xwayland
sub servers {
	my ($self) = @_;
	my $all = Tipme::Workload::family($self->{compositor_pid});
	return $self->{compositor_pid}, grep { $all->{$_} eq 'Xwayland' } keys %$all;
}

# Who of a program talks with them, as the kernel lists its sockets.
sub ui_pid {
	my ($self, $program) = @_;
	my %family = %{ Tipme::Workload::family($program->{pid}) };
	my (%pids, %peer);
	for (qx{ss -xpH state established}) {
		my ($own, $other, $who) = /\s(\d+)\s+\*\s+(\d+)\s+users:\((.*)\)/ or next;
		$pids{$own} = [ $who =~ /pid=(\d+)/g ];
		$peer{$own} = $other;
	}
	my %server = map { $_ => 1 } $self->servers;
	my @found;
	for my $own (keys %pids) {
		next if !grep { $server{$_} } @{ $pids{ $peer{$own} } // [] };
		push @found, grep { exists $family{$_} } @{ $pids{$own} };
	}
	return (grep { $_ == $program->{pid} } @found)[0] // (sort { $a <=> $b } @found)[0]
		// $program->{pid};
}

1;
