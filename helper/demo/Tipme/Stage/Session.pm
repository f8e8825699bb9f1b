# SPDX-License-Identifier: GPL-2.0-only
# The user's own session as a stage for a real delay: the recorder that runs, the X server that
# shows it, keys by XTEST.
package Tipme::Stage::Session;
use strict;
use warnings;
use parent 'Tipme::Stage';
use Cpanel::JSON::XS ();
use IO::Socket::UNIX;
use Socket      qw(SOL_SOCKET SO_PEERCRED);
use Time::HiRes qw(sleep);
use Tipme::Stage;
use Tipme::Typist::Session;

my $TITLE = 'tipme-stage';

# The refusals, each before anything is started. Dies with "why: what to do".
sub check {
	my ($class) = @_;
	die "--here types into your own session, so root may not: run it as yourself\n" if !$>;
	my $display = $ENV{DISPLAY} // die "DISPLAY is not set: run it inside your session\n";
	my $pid     = _server_pid($display)
		// die "$display: no X server of this machine answers there: run it inside your session\n";
	_comm($pid) ne 'Xwayland'
		or die
		"$display is Xwayland, where injected keys reach only some programs: run it without "
		. "--here\n";
	eval { require X11::Protocol; require X11::Protocol::Ext::XTEST; 1 }
		or die
		"X11::Protocol, which presses the keys, is not here: install Debian's libx11-protocol-perl "
		. "and libx11-protocol-other-perl\n";
	return;
}

# The process behind a display of this machine; nothing is said to it, so one that hangs does not
# hang us.
sub _server_pid {
	my ($display) = @_;
	my ($number)  = $display =~ /^(?:unix)?:(\d+)(?:\.\d+)?$/ or return;
	for my $path ("\0/tmp/.X11-unix/X$number", "/tmp/.X11-unix/X$number") {
		my $s    = IO::Socket::UNIX->new(Peer => $path) or next;
		my $cred = getsockopt $s, SOL_SOCKET, SO_PEERCRED or next;
		return unpack 'i', $cred;
	}
	return;
}

sub _comm {
	my ($pid) = @_;
	open my $h, '<', "/proc/$pid/comm" or return '';
	my $comm = readline($h) // '';
	chomp $comm;
	return $comm;
}

# The recorder is not ours: it was there before, and stays. Its episodes must be ours to read.
sub _start_recorder {
	my ($self) = @_;
	my $status = $self->_status;
	$status->{recording}
		or die "no recorder runs, or it is not yours: start it with 'sudo tipme start'\n";
	$status->{owner} == $>
		or die
		"the episodes of this recorder belong to user $status->{owner}: stop it, and start it with "
		. "sudo from your own account\n";
	@$self{qw(library source)} = @$status{qw(library source)};
	$self->{recorder_says} =
		"the recorder that runs already (tipmed $status->{pid}, source $status->{source})\n";
	return;
}

sub _status {
	my ($self) = @_;
	return eval { Cpanel::JSON::XS->new->decode(scalar $self->command('status', '--json')) } // {};
}

# Nor is the server. Where neither hooks nor the agent tell the recorder of it, an observer of our
# own does.
sub _start_display {
	my ($self) = @_;
	$self->{display} = Tipme::Stage::Session::Display->new;
	$self->_start_observer if !$self->_joined;
	$self->await_server;
	return;
}

sub _joined {
	my ($self)   = @_;
	my ($number) = $ENV{DISPLAY} =~ /:(\d+)/;
	return
		scalar grep { $_->{connected} && $_->{display} == $number }
		@{ $self->_status->{x_servers} // [] };
}

sub _start_observer {
	my ($self)    = @_;
	my ($program) = grep { defined && -x } $self->{observers}->@*;
	$program // die
		"the X server has no hooks, and tipme-x-observer is not here to observe it: see 'tipme "
		. "doctor'\n";
	my $pid = $self->{display}->spawn($program);
	$self->at_end(sub { kill 'TERM', $pid; waitpid $pid, 0 });
	return;
}

sub await_server {
	my ($self) = @_;
	for (1 .. 600) { return if $self->_joined; sleep 0.1 }
	die "the X server of $ENV{DISPLAY} did not join the recorder within a minute: see 'tipme "
		. "doctor'\n";
}

# Keys go to whoever has the focus, so our terminal is given it, and the typist stops when it loses
# it.
sub start_typist {
	my ($self)   = @_;
	my ($window) = qx{xwininfo -name '$TITLE' 2>/dev/null} =~ /Window id: (0x[0-9a-f]+)/
		or die "the terminal's window was not found\n";
	_give_focus(hex $window);
	return $self->_run_typist('--window', $window);
}

# By the window manager, where there is one; else at once.
sub _give_focus {
	my ($window) = @_;
	my $x = Tipme::Typist::Session::connect_to_session();
	my ($managed) =
		$x->GetProperty($x->root, $x->atom('_NET_SUPPORTING_WM_CHECK'), 'AnyPropertyType', 0, 1, 0);
	if (length($managed // '')) {
		$x->SendEvent(
			$x->root, 0, $x->pack_event_mask(qw(SubstructureNotify SubstructureRedirect)),
			$x->pack_event(
				name => 'ClientMessage', window => $window, type => $x->atom('_NET_ACTIVE_WINDOW'),
				format => 32, data => pack 'L5', 2, 0, 0, 0, 0
			)
		);
	} else {
		$x->SetInputFocus($window, 'PointerRoot', 0);
	}
	for (1 .. 50) { my ($has) = $x->GetInputFocus; last if $has eq $window; sleep 0.1 }
	return;
}

# Where nobody heard the chord, the same is asked for by command: the story is told all the same,
# and the lack of a hot-key, too.
sub new_episode {
	my ($self, @old) = @_;
	my %old = map { $_ => 1 } @old;
	for (1 .. 60) {
		return $self->SUPER::new_episode(@old) if grep { !$old{$_} } $self->episodes;
		sleep 0.1;
	}
	# One that was heard may take a busy machine longer to save.
	return $self->SUPER::new_episode(@old)
		if $self->command('status', '--json') !~ /"saving": "idle"/;
	$self->{no_hotkey} = 1;
	$self->command('snap', '-m', 'demo');
	return $self->SUPER::new_episode(@old);
}

# What the stage asks of a display, for one that is not ours.
package Tipme::Stage::Session::Display;
use strict;
use warnings;
use POSIX ();

sub new  { my ($class) = @_; return bless {}, $class }
sub env  { return () }
sub stop {return}

sub spawn {
	my ($self, @command) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	$SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE CHLD);
	open STDIN,  '<',  '/dev/null';
	open STDOUT, '>',  '/dev/null';
	open STDERR, '>&', \*STDOUT;
	no warnings 'exec';
	exec { $command[0] } @command;
	POSIX::_exit(127);
}

1;
