# SPDX-License-Identifier: GPL-2.0-only
# For the live tests: the peer in tipmed's place, records as hashes, waiting for what must come.
package Live;
use strict;
use warnings;
use Carp       qw(croak);
use Exporter   qw(import);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use IPC::Open2;
use IO::Select;
use Test::More;
use Time::HiRes qw(sleep time);
use lib "$Bin/../../helper/demo";
use Tipme::Display;
use Tipme::Typist;

our @EXPORT =
	qw(build need hooks peer_start rundir wait_for records input_records settled await only xterm
	finish);

# What will come is waited for as long as a machine may take that others keep busy; only a hang is
# meant to reach it.
use constant PATIENCE_S => 180;

my $BUILD = $ENV{TIPME_BUILDDIR} // "$Bin/../..";
my @started;

sub build { return "$BUILD/xserver-hooks/$_[0]" }

# Skips the whole test, aloud, if a program is missing.
sub need {
	for my $program (@_) {
		next
			if $program =~ /^X/ ? Tipme::Display::find_server($program) : grep { -x "$_/$program" }
			split /:/, $ENV{PATH};
		plan skip_all => "$program is not installed";
	}
	return;
}

sub hooks {
	my $hooks = build('.libs/libtipme.so');
	-r $hooks or croak "$hooks: not built";
	return $hooks;
}

# A folder that the server's user can enter.
sub rundir {
	my $dir = tempdir('tipme-run-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0755, $dir;
	return $dir;
}

# Starts the peer, as another user if one is given (as => UID); returns { pid, in, out, dir }.
sub peer_start {
	my ($dir, %opt) = @_;
	my @as =
		defined $opt{as}
		? ('setpriv', "--reuid=$opt{as}", "--regid=$opt{as}", '--clear-groups', '--')
		: ();
	my $program = build('test/ring-peer');
	# The build tree may be closed to others.
	if (@as) {
		copy($program, my $own = rundir() . '/ring-peer') or croak "$program: copy: $!";
		chmod 0755, $own;
		$program = $own;
	}
	my $pid  = open2(my $out, my $in, @as, $program, $dir);
	my $peer = { pid => $pid, in => $in, out => $out, dir => $dir, lines => [], partial => '' };
	push @started, $pid;
	wait_for($peer, qr/^listening$/) or croak 'ring-peer does not listen';
	return $peer;
}

# Waits for a line of the peer's, which is returned; lines before it are kept. With SECONDS it need
# not come; returns undef if it does not.
sub wait_for {
	my ($peer, $what, $seconds) = @_;
	my $until = time + ($seconds // PATIENCE_S);
	my $seen  = 0;
	while (1) {
		for (; $seen < @{ $peer->{lines} }; $seen++) {
			return splice @{ $peer->{lines} }, $seen, 1 if $peer->{lines}[$seen] =~ $what;
		}
		my $left = $until - time;
		return if $left <= 0 || !IO::Select->new($peer->{out})->can_read($left);
		return if !sysread $peer->{out}, $peer->{partial}, 65536, length $peer->{partial};
		push @{ $peer->{lines} }, $1 while $peer->{partial} =~ s/^([^\n]*)\n//;
	}
}

# Those of its input thread.
sub input_records { my ($peer, $n) = @_; return records($peer, "$n 1") }

# All records of server n, in order of time, as hashes with a type; the last one is the header.
sub records {
	my ($peer, $n) = @_;
	@{ $peer->{lines} } = grep {/^(trigger|hello|another|gone|bad|other)/} @{ $peer->{lines} };
	syswrite $peer->{in}, "dump $n\n";
	my @kept;
	wait_for($peer, qr/^\.$/) or croak 'ring-peer does not answer';
	for my $line (@{ $peer->{lines} }) {
		push @kept, $line if $line =~ /^(trigger|hello|another|gone|bad|other)/;
	}
	my @records = map {
		my ($type, @f) = split ' ';
		+{ type => $type, map { split /=/, $_, 2 } @f }
		}
		grep {/^(x_|header)/} @{ $peer->{lines} };
	$peer->{lines} = \@kept;
	return @records;
}

# The same, when the server has done all that it was asked: a client has its reply before the
# request's record is written. While it sleeps its last sleep has no end; that need not be the last
# record, since short sleeps of a busy time share one that stands before what was done between them.
sub settled {
	my ($peer, $n) = @_;
	my @r;
	my $end = time + PATIENCE_S;
	while (time < $end) {
		@r = records($peer, $n);
		my ($sleep) = grep { $_->{type} =~ /^x_(?:sleep|idle|wakeup)$/ } reverse @r;
		return @r if $sleep && $sleep->{type} eq 'x_sleep';
		sleep 0.02;
	}
	croak 'the server does not come to rest: ' . join ' ', 'last came',
		map { $_->{type} // '?' } @r > 5 ? @r[ -5 .. -1 ] : @r;
}

# Waits until CODE is true; returns what it returned last.
sub await {
	my ($code) = @_;
	my $end = time + PATIENCE_S;
	while (1) {
		my $last  = time >= $end;
		my $value = $code->();
		return $value if $value || $last;
		sleep 0.05;
	}
}

# Those of one type with these fields.
sub only {
	my ($records, $type, %want) = @_;
	return grep {
		my $r = $_;
		$r->{type} eq $type && !grep { ($r->{$_} // '') ne $want{$_} } keys %want
	} @$records;
}

# An xterm that fills the screen (so that it has the focus) and runs a shell command; returns its
# pid when its window is there.
sub xterm {
	my ($display, $command, @args) = @_;
	my $ready = $display->dir . "/ready-$$-" . scalar @started;
	my $pid   = $display->spawn(
		'xterm', '-geometry', '250x80+0+0', @args, '-e', '/bin/sh', '-c',
		"touch $ready; $command"
	);
	push @started, $pid;
	await(sub { -e $ready }) or croak 'xterm does not start: see ' . $display->dir . '/clients.log';
	sleep 0.5;
	return $pid;
}

# Ends what is left of what was started here.
sub finish {
	for my $pid (splice @started) {
		kill 'TERM', $pid;
		kill 'CONT', $pid;
		waitpid $pid, 0;
	}
	return;
}

END { my $status = $?; finish(); $? = $status }

1;
