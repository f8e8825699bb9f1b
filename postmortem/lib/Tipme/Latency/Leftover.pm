# SPDX-License-Identifier: GPL-2.0-only
# Ends what somebody has started when he ends, however he does: also killed, or with his terminal.
#
# A process of its own reads from a pipe which groups of processes there are. The pipe's other end
# closes with whoever has it. Then those groups are ended, and files that were open when it began,
# such as a lock, are open until they are.
package Tipme::Latency::Leftover;

use strict;
use warnings;
use IO::Handle  ();
use POSIX       ();
use Time::HiRes qw(sleep);

# Unit: s. What a recording or a load needs to put away what it has.
my $PATIENCE_S = 4;

# Tipme::Latency::Leftover->new: it watches until the object is gone. Dies by a sentence.
sub new {
	my ($class) = @_;
	pipe my $in, my $out or die "no pipe: $!\n";
	my $pid = fork // die "no process to end what is left: $!\n";
	if (!$pid) {
		close $out;
		eval { _watch($in); 1 } or warn $@;
		POSIX::_exit(0);
	}
	close $in;
	$out->autoflush(1);
	return bless { pid => $pid, out => $out }, $class;
}

# leads(SIGNAL): in a new process, before it becomes a program: it leads a group that is to be ended
# by that signal. So there is no moment in which nobody knows of it.
sub leads {
	my ($self, $signal) = @_;
	POSIX::setpgid(0, 0);
	return $self->_tell("$$ $signal\n");
}

# ended(GROUP): there is no such group any more
sub ended { my ($self, $group) = @_; return $self->_tell("$group -\n") }

sub _tell {
	my ($self, $line) = @_;
	local $SIG{PIPE} = 'IGNORE';
	return print { $self->{out} } $line;
}

sub DESTROY {
	my ($self) = @_;
	local $?;
	close $self->{out};
	waitpid $self->{pid}, 0;
	return;
}

# What ends its starter, such as Ctrl+C, must not end it.
sub _watch {
	my ($in) = @_;
	POSIX::setsid();
	@SIG{qw(INT TERM HUP QUIT)} = ('IGNORE') x 4;
	my %signal;
	while (defined(my $line = <$in>)) {
		my ($group, $signal) = split ' ', $line;
		if   ($signal eq '-') { delete $signal{$group} }
		else                  { $signal{$group} = $signal }
	}
	kill $signal{$_}, -$_ for keys %signal;
	my $end = time + $PATIENCE_S;
	while (time < $end && grep { kill 0, -$_ } keys %signal) {
		sleep 0.05;
	}
	for (1 .. 200) {
		last if !grep { kill 'KILL', -$_ } keys %signal;
		sleep 0.05;
	}
	return;
}

1;
