# SPDX-License-Identifier: GPL-2.0-only
# A stage for real delays: a recorder of its own, a headless Xorg with hooks, a client, and somebody
# who types.
package Tipme::Stage;
use strict;
use warnings;
use Carp             qw(croak);
use Cpanel::JSON::XS ();
use File::Copy       qw(copy);
use File::Temp       qw(tempdir);
use FindBin;
use IPC::Open3   qw(open3);
use POSIX        qw(WNOHANG);
use Scalar::Util qw(refaddr weaken);
use Time::HiRes  qw(sleep time);
use Tipme::Display;

# A busy machine may need this long for anything; only a hang is meant to reach it.
use constant PATIENCE_S => 120;

# Objects that live until the end of the program are destroyed in no order at all: by then it is too
# late to end what they started.
my %live;
END { local $?; defined and $_->close for values %live }

# Tipme::Stage->new(library => DIR, seed => N, wpm => of the typist, display => {options of
# Tipme::Display}) starts a
# recorder and the X server; with observer => PROGRAM that server has no hooks and is observed
# instead.
# It has tipme (the command), source (of the kernel's records), dir (closed to nobody), work (a
# folder of the unprivileged user), ids (uid, gid), display. close() or the end of the program ends
# all that it started, last to first.
sub new {
	my ($class, %opt) = @_;
	my $self = bless { seed => 1, %opt, owner => $$, cleanup => [] }, $class;
	weaken($live{ refaddr $self } = $self);
	$self->{tipme} = defined $ENV{TIPME_BUILDDIR} ? "$ENV{TIPME_BUILDDIR}/tipme" : 'tipme';
	$self->{ids}   = [ Tipme::Display::ordinary() ];
	$self->{dir}   = tempdir('tipme-stage-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0755, $self->{dir};
	$self->{work} = "$self->{dir}/work";
	mkdir $self->{work} and chown @{ $self->{ids} }, $self->{work} or croak "$self->{work}: $!";
	$self->_start_recorder;
	$self->_start_display;
	return $self;
}

# Runs CODE when the stage is closed, before what was started earlier is ended.
sub at_end { my ($self, $code) = @_; push @{ $self->{cleanup} }, $code; return }

sub close {
	my ($self) = @_;
	return if $$ != $self->{owner};
	local $?;
	while (my $c = pop @{ $self->{cleanup} }) {
		eval { $c->(); 1 } or warn "tipme: stage: $@";
	}
	return;
}

sub DESTROY { my ($self) = @_; delete $live{ refaddr $self }; $self->close; return }

# A recorder of our own, so that one that runs already is left alone.
sub _start_recorder {
	my ($self) = @_;
	$ENV{TIPME_RUNDIR}  = "$self->{dir}/run";
	$ENV{TIPME_LIBRARY} = $self->{library} if defined $self->{library};
	delete @ENV{qw(TIPME_X_PRELOAD LD_PRELOAD)};
	$self->_tipme_start;
	$self->at_end(sub {qx{"$self->{tipme}" stop 2>&1}});
	return;
}

sub _tipme_start {
	my ($self) = @_;
	my @args = ($> ? () : ('--allow-uid', $self->{ids}[0]), @{ $self->{recorder_args} // [] });
	$self->{recorder_says} = qx{"$self->{tipme}" start @args 2>&1};
	$? == 0 or croak "the recorder did not start: $self->{recorder_says}";
	return;
}

# With empty rings: nothing that was there before can be what an episode is about.
sub restart_recorder {
	my ($self) = @_;
	$self->command('stop');
	$self->_tipme_start;
	$self->await_server;
	return;
}

sub _start_display {
	my ($self) = @_;
	my $hooks;
	$hooks = Tipme::Display::find_hooks()
		// croak 'the X server hooks are not there: build with --enable-xorg=yes'
		if !$self->{observer};
	my $d = $self->{display} = Tipme::Display->new(
		kind => 'Xorg', hooks => $hooks, rundir => $ENV{TIPME_RUNDIR},
		%{ $self->{display} // {} }
	);
	$self->at_end(sub { $d->stop });
	$self->_start_observer if $self->{observer};
	$self->await_server;
	return;
}

# A server without hooks: the observer, a program that the unprivileged user may not be able to
# reach where it was built.
sub _start_observer {
	my ($self) = @_;
	my $program = "$self->{work}/tipme-x-observer";
	copy($self->{observer}, $program) && chmod 0755, $program
		or croak "$self->{observer}: copy to $program: $!";
	my $pid = $self->{display}->spawn($program);
	$self->at_end(sub { kill 'TERM', $pid; waitpid $pid, 0 });
	return;
}

# Recording of a server begins with its hello; waits for that, so that no story loses its first
# keys. Not where no server will say hello.
sub await_server {
	my ($self) = @_;
	my $last = time + PATIENCE_S;
	while (time < $last) {
		my $status =
			eval { Cpanel::JSON::XS->new->decode(scalar $self->command('status', '--json')) } // {};
		$self->{source} = $status->{source} // '';
		return
			if !$self->joins
			|| grep { $_->{pid} == $self->{display}->pid } @{ $status->{x_servers} // [] };
		sleep 0.1;
	}
	croak 'the X server did not join the recorder within ' . PATIENCE_S . ' s';
}

# Is there a server that says hello to the recorder?
sub joins { return 1 }

# Starts a client and waits for its window, which must cover the middle of the screen (there the
# pointer is, and so the focus).
sub start_client {
	my ($self, $window, @command) = @_;
	grep { -x "$_/xwininfo" } split /:/, $ENV{PATH} // ''
		or croak "xwininfo is not here: install Debian's x11-utils";
	my $d   = $self->{display};
	my $pid = $d->spawn(@command);
	$self->{clients}{$pid} = 1;
	$self->at_end(sub { $self->end_client($pid) });
	my %env = $d->env;
	local @ENV{ keys %env } = values %env;
	my $last = time + PATIENCE_S;

	while (time < $last) {
		return $pid if qx{xwininfo -name '$window' -stats 2>/dev/null} =~ /IsViewable/;
		waitpid($pid, WNOHANG) == 0
			or croak "$command[0] ended at once: ", $> || $self->{ids}[0]
			? 'is it installed?'
			: 'it does not run for a root who may not change groups '
			. '(a container without capabilities): be an ordinary user there';
		sleep 0.1;
	}
	# One that shows itself later would have the focus of the next.
	$self->end_client($pid);
	croak "$command[0] showed no window within " . PATIENCE_S . ' s';
}

sub end_client {
	my ($self, $pid) = @_;
	delete $self->{clients}{$pid} or return;
	kill $_, $pid for qw(CONT KILL);
	waitpid $pid, 0;
	return;
}

# xterm with a shell that has no history and the functions of RC.
sub start_terminal {
	my ($self, $rc) = @_;
	my $file = "$self->{work}/rc";
	open my $h, '>', $file or croak "$file: $!";
	print {$h} "unset HISTFILE\nPS1='\\\$ '\n", $rc // '';
	CORE::close $h or croak "$file: $!";
	return $self->start_client(
		'tipme-stage', 'xterm', '-T',   'tipme-stage', '-geometry',
		'200x55+0+0',  '-e',    'bash', '--noprofile', '--rcfile', $file, '-i'
	);
}

# terminal(): what the terminal's process is called
sub terminal { return 'xterm' }

# A keyboard is not a process that can starve: who types here has real-time priority, or at least
# the best nice value.
sub start_typist {
	my ($self) = @_;
	return $self->_run_typist(
		'--pointer', $self->{display}->pointer, '--socket',
		$self->{display}->keyboard
	);
}

sub _run_typist {
	my ($self, @where) = @_;
	my @pace   = $self->{wpm} ? ('--wpm', $self->{wpm}) : ();
	my @typist = ($self->{tipme}, 'type', '--quiet', '--seed', $self->{seed}, @pace, @where);
	$self->{typist_is_rt} = system('chrt -f 60 true 2>/dev/null') == 0;
	my $pid = open3(
		my $in, my $out, undef,
		$self->{typist_is_rt} ? qw(chrt -f 60) : $> ? () : qw(nice -n -20), @typist
	);
	$in->autoflush(1);
	@$self{qw(typist_in typist_out)} = ($in, $out);
	# The server spins when the typist goes first.
	$self->at_end(sub { $self->{display}->stop; CORE::close $in; waitpid $pid, 0 });
	return;
}

# Gives the typist its next actions (see tipme type --help); they run on while we do something else.
sub type_lines {
	my ($self, @lines) = @_;
	print { $self->{typist_in} } map {"$_\n"} @lines;
	return;
}

# The user asks what happened.
sub press_hotkey {
	my ($self) = @_;
	$self->type_lines('chord Ctrl+Alt+minus');
	$self->pressed(1);
	return;
}

# Waits until so many more keys have been pressed; returns their times in ns.
sub pressed {
	my ($self, $count) = @_;
	my @ns;
	while (@ns < $count) {
		defined(my $l = readline $self->{typist_out}) or croak 'the typist ended';
		push @ns, $1 if $l =~ /^(\d+) /;
	}
	return @ns;
}

sub episodes {
	my ($self) = @_;
	opendir my $h, $self->{library} or return ();
	# `return sort` gives nothing in scalar context, where somebody asks whether there are some.
	my @episodes = sort grep {/^\d{8}-\d{6}-[0-9a-f]{4}$/} readdir $h;
	return @episodes;
}

# Waits for an episode that was not among OLD; returns its folder.
sub new_episode {
	my ($self, @old) = @_;
	my %old  = map { $_ => 1 } @old;
	my $last = time + PATIENCE_S;
	while (time < $last) {
		my ($new) = grep { !$old{$_} } $self->episodes;
		return "$self->{library}/$new" if $new;
		sleep 0.1;
	}
	croak 'no episode came within ' . PATIENCE_S . " s of the hot-key: see '$self->{tipme} status'";
}

# Runs `tipme ARGS`; returns what it prints, in list context with its exit status.
sub command {
	my ($self, @args) = @_;
	open my $h, '-|', $self->{tipme}, @args or croak "$self->{tipme}: $!";
	my $out = do { local $/; <$h> }
		// '';
	CORE::close $h;
	return wantarray ? ($out, $? >> 8) : $out;
}

# The verdict on an episode, as diagnose --json gives it.
sub diagnose {
	my ($self, $episode, @more) = @_;
	my $json = $self->command('diagnose', $episode, '--json', @more);
	return
		eval { Cpanel::JSON::XS->new->decode($json) }
		// croak "diagnose gave no JSON: run '$self->{tipme} diagnose $episode'";
}

sub cpus { my $n = qx{nproc}; return $n =~ /^(\d+)/ ? $1 : 1 }

# The numbers of the CPUs on which we may run.
sub cpu_numbers {
	open my $in, '<', '/proc/self/status' or return 0;
	my ($list) = map { /^Cpus_allowed_list:\s*(\S+)/ ? $1 : () } <$in>;
	return map { /^(\d+)-(\d+)$/ ? $1 .. $2 : $_ } split /,/, $list // 0;
}

1;
