# SPDX-License-Identifier: GPL-2.0-only
# One process of tipme-bench-task: started, read line by line, and ended with all that it started.
package Tipme::Bench::Task;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use List::Util       qw(sum0);
use POSIX            ();

# new(program => PATH, folder => DIR, script => PATH of the tour, trace => FILE)
sub new { my ($class, %o) = @_; return bless {%o}, $class }

# list(): { task, what, unit, references, repeats, once, disk_bytes } of each task.
sub list {
	my ($self) = @_;
	open my $in, '-|', $self->{program}, '--list'
		or die "$self->{program}: $!: install all of tipme\n";
	my @tasks = map { Cpanel::JSON::XS::decode_json($_) } readline $in;
	close $in or die "$self->{program}: it failed: install all of tipme\n";
	return @tasks;
}

# once(NAME, env => {...}, repeats => N): ({ description }, { end }, REPEAT ...). The end has done,
# unavailable or failed. The process has a group of its own, which ends with it.
sub once {
	my ($self, $name, %o) = @_;
	my @command = ($self->{program}, '--folder', $self->{folder});
	push @command, '--counters-from', $self->{trace} if defined $self->{trace};
	push @command, '--repeats',       $o{repeats}    if $o{repeats};
	pipe my $in, my $out or die "a pipe: $!\n";
	my $pid = fork // die "a process: $!: end some programs\n";
	_child($out, { %{ $o{env} // {} } }, @command, $name, $self->{script}) if !$pid;
	close $out;
	$self->{pid} = $pid;
	my @lines = map {
		eval { Cpanel::JSON::XS::decode_json($_) }
			// ()
	} readline $in;
	$self->end;
	my $end =
		@lines && !defined $lines[-1]{from_ns} && !defined $lines[-1]{task}
		? pop @lines
		: { failed => 'its process ended before it was done' };
	my $about     = @lines && defined $lines[0]{task} ? shift @lines : {};
	my ($profile) = grep { !defined $_->{from_ns} } @lines;
	@lines = grep { defined $_->{from_ns} } @lines;
	_split($profile, @lines);
	return ($about, $end, map { _accounted($_) } @lines);
}

sub _child {
	my ($out, $env, @command) = @_;
	POSIX::setpgid(0, 0);
	%ENV = (%ENV, %$env);
	# Toolkits are to use the X server.
	delete $ENV{WAYLAND_DISPLAY} if $command[-2] ne 'window/wayland';
	open STDOUT, '>&', $out        or POSIX::_exit(127);
	open STDIN,  '<',  '/dev/null' or POSIX::_exit(127);
	exec { $command[0] } @command or POSIX::_exit(127);
}

# end(): the process, if there is one, and all of its group. The process is asked first, as it
# removes its folder; what it started and left, has no time.
sub end {
	my ($self) = @_;
	my $pid = delete $self->{pid} // return;
	for my $signal (qw(TERM KILL)) {
		last if _gone($pid, $signal eq 'KILL' ? 0 : 100);
		kill $signal, $pid;
		last if _gone($pid, 500);
	}
	kill 'KILL', -$pid;
	return;
}

# interrupt(): from a signal handler: once() then returns what it has.
sub interrupt { my ($self) = @_; kill 'TERM', $self->{pid} if $self->{pid}; return }

sub _gone {
	my ($pid, $tries) = @_;
	for (0 .. $tries) {
		return 1 if waitpid($pid, POSIX::WNOHANG()) != 0;
		select undef, undef, undef, 0.01;
	}
	return 0;
}

# The parts of a repeat that the kernel's own accounting tells (the thread's CPU clock, its
# schedstat, getrusage()), which are taken just outside of the timed interval: they are cut to it.
sub _accounted {
	my ($r)   = @_;
	my $whole = $r->{to_ns} - $r->{from_ns};
	my $run   = _least($r->{run_ns},  $whole);
	my $wait  = _least($r->{wait_ns}, $whole - $run);
	my ($user, $kernel) = user_and_kernel($r, $run);
	$r->{parts_from} = 'accounting';
	$r->{parts}      = [
		grep { $_->{ns} } { kind => 'user', ns => $user }, { kind => 'kernel', ns => $kernel },
		{ kind => 'runnable', ns => $wait }, { kind => 'blocked', ns => $whole - $run - $wait }
	];
	return $r;
}

sub _least { my ($a, $b) = @_; return $a < $b ? $a : $b }

# The share of user mode in the running of these repeats: that of the sampled repeats of their
# process; where none could be sampled, that of the kernel's accounting of all of them. It is kept
# how many samples told it: none, where it was the accounting.
sub _split {
	my ($profile, @repeats) = @_;
	my ($user, $kernel) = @{ $profile // {} }{qw(user_samples kernel_samples)};
	my $samples = ($user // 0) + ($kernel // 0);
	if (!$samples) {
		($user, $kernel) = map {
			my $k = $_;
			sum0(map { $_->{$k} } @repeats)
		} qw(user_ns kernel_ns);
	}
	my $share = $user || $kernel ? $user / ($user + $kernel) : 1;
	for my $r (@repeats) {
		$r->{user_share}         = sprintf('%.4f', $share) + 0;
		$r->{user_share_samples} = $samples;
	}
	return;
}

# user_and_kernel(REPEAT, NS): NS of running, split.
sub user_and_kernel {
	my ($r, $ns) = @_;
	my $user = int($ns * $r->{user_share});
	return ($user, $ns - $user);
}

1;
