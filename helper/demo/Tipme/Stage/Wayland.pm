# SPDX-License-Identifier: GPL-2.0-only
# A headless Wayland session as a stage for real delays: sway without a screen, foot, and keys of a
# virtual keyboard (wtype).
package Tipme::Stage::Wayland;
use strict;
use warnings;
use parent 'Tipme::Stage';
use Carp        qw(croak);
use POSIX       qw(WNOHANG);
use Time::HiRes qw(clock_gettime sleep time CLOCK_MONOTONIC);
use Tipme::Stage;

use constant PATIENCE_S => Tipme::Stage::PATIENCE_S;
my %KEY      = (backspace => 'BackSpace', Return => 'Return');
my $APART_MS = 140;                                              # between two keys of a person
my $KEEP_MS  = 2_000_000;    # longer than any story, and what wtype can wait

# lacks(): programs that it needs and that are not installed
sub lacks {
	return grep {
		my $p = $_;
		!grep { -x "$_/$p" } split /:/, $ENV{PATH}
	} qw(sway foot wtype);
}

sub _start_display {
	my ($self) = @_;
	$self->{ids}[0]
		or croak "sway does not run as root: be an ordinary user, or root of the machine itself";
	$self->{session} = "$self->{work}/session";
	mkdir $self->{session}, 0700 and chown @{ $self->{ids} }, $self->{session}
		or croak "$self->{session}: $!";
	$self->{display} = $self;
	my $pid = $self->{server_pid} = $self->spawn('sway', '-c', '/dev/null');
	$self->at_end(sub { $self->stop });
	$self->_await(
		sub {
			($self->{socket}) = map {m{([^/]+)\z}} glob "$self->{session}/wayland-?";
		},
		'sway',
		$pid
	);
	$self->await_server;
	return;
}

# The recorder was there before the compositor: so it has all.
sub joins { return 0 }

# ---- what a stage asks of its display ----

sub pid { return $_[0]{server_pid} }

sub env {
	my ($self) = @_;
	return (
		XDG_RUNTIME_DIR => $self->{session}, HOME => $self->{session},
		defined $self->{socket} ? (WAYLAND_DISPLAY => $self->{socket}) : ()
	);
}

sub stop {
	my ($self) = @_;
	my $pid = delete $self->{server_pid} or return;
	kill $_, $pid for qw(CONT TERM);
	waitpid $pid, 0;
	return;
}

sub spawn {
	my ($self, @command) = @_;
	my $pid = fork // croak "fork: $!";
	return $pid if $pid;
	$SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE CHLD);
	%ENV = (
		PATH         => $ENV{PATH}, LANG => 'C.UTF-8',            WLR_BACKENDS => 'headless',
		WLR_RENDERER => 'pixman',   WLR_LIBINPUT_NO_DEVICES => 1, $self->env
	);
	open STDIN,  '<',  '/dev/null';
	open STDOUT, '>',  '/dev/null';
	open STDERR, '>&', \*STDOUT;
	my @as =
		$>
		? ()
		: ('setpriv', '--reuid', $self->{ids}[0], '--regid', $self->{ids}[1], '--clear-groups');
	no warnings 'exec';
	exec { (@as, @command)[0] } @as, @command;
	POSIX::_exit(127);
}

sub _await {
	my ($self, $there, $what, $pid) = @_;
	my $last = time + PATIENCE_S;
	while (time < $last) {
		return if $there->();
		waitpid($pid, WNOHANG) == 0 or croak "$what ended at once: is it installed?";
		sleep 0.1;
	}
	croak "$what did not come within " . PATIENCE_S . ' s';
}

# ---- client and typist ----

# When its shell reads, its window is there.
sub start_terminal {
	my ($self, $rc)    = @_;
	my ($file, $ready) = map {"$self->{work}/$_"} qw(rc ready);
	open my $h, '>', $file or croak "$file: $!";
	print {$h} "unset HISTFILE\nPS1='\\\$ '\n", $rc // '', "echo > $ready\n";
	CORE::close $h or croak "$file: $!";
	my $pid =
		$self->spawn('foot', '--config=/dev/null', 'bash', '--noprofile', '--rcfile', $file, '-i');
	$self->{clients}{$pid} = 1;
	$self->at_end(sub { $self->end_client($pid) });
	$self->_await(sub { -e $ready }, 'foot', $pid);
	sleep 0.5;
	return $pid;
}

sub terminal { return 'foot' }

# A process that reads the lines of `tipme type`, and has wtype press the keys; the hot-key, which a
# headless session has not, is the command.
sub start_typist {
	my ($self) = @_;
	# A session that has no keyboard between two keys is given a new one with each, and a client
	# that is stopped does not take that.
	my $keeper = $self->spawn('wtype', '-s', $KEEP_MS, 'a');
	$self->at_end(sub { kill 'TERM', $keeper; waitpid $keeper, 0 });
	pipe(my $lines, my $in)   or croak "pipe: $!";
	pipe(my $out,   my $told) or croak "pipe: $!";
	my $pid = fork // croak "fork: $!";
	if (!$pid) {
		CORE::close $_ for $in, $out;
		$told->autoflush(1);
		$SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE);
		system "chrt -f -p 60 $$ >/dev/null 2>&1";
		$self->_act($_, $told) while defined($_ = readline $lines);
		POSIX::_exit(0);
	}
	CORE::close $_ for $lines, $told;
	$in->autoflush(1);
	@$self{qw(typist_in typist_out)} = ($in, $out);
	$self->at_end(sub { CORE::close $in; waitpid $pid, 0 });
	return;
}

sub _act {
	my ($self, $line, $told) = @_;
	my ($what, $rest) = $line =~ /\A(\w+) ?(.*)\n\z/ or return;
	if ($what eq 'sleep') { $self->{pause_ms} += 1000 * $rest; return }
	my @keys = $what eq 'chord' ? () : $what eq 'key' ? $KEY{$rest}
		// $rest : ((split //, $rest), $what eq 'enter' ? 'Return' : ());
	# The pause is wtype's: started before a cause begins, it is not kept from its key by that.
	my @args = map {
		my $ms = delete($self->{pause_ms}) // $APART_MS;
		('-s', int $ms || 1, length > 1 ? ('-k', $_) : $_)
	} @keys;
	if (@args) { my $pid = $self->spawn('wtype', @args); waitpid $pid, 0 }
	if ($what eq 'chord') {
		sleep +(delete($self->{pause_ms}) // 0) / 1000;
		$self->command('snap', '-m', 'demo');
	}
	print {$told} int(1e9 * clock_gettime(CLOCK_MONOTONIC)), " $_\n"
		for @keys, $what eq 'chord' ? 'chord' : ();
	return;
}

1;
