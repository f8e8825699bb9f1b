# SPDX-License-Identifier: GPL-2.0-only
# A recorder of the test's own: its own socket, its own library, ended with the test.
package Tipme::TestDaemon;
use strict;
use warnings;
use Carp       qw(croak);
use Exporter   qw(import);
use File::Copy qw(copy);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use JSON::PP   ();
use Socket;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

our @EXPORT_OK = qw(allowed_cpus complete gone load manifest own_run slurp tipme tipmed records_of
	refusing_counters wait_until);

# What will come is waited for as long as a machine may take that others keep busy; only a hang is
# meant to reach it.
use constant PATIENCE_S => 180;

my ($SRC, $BUILD) =
	map { $ENV{$_} // croak "$_ is not set: run it by make check" } qw(TIPME_SRCDIR TIPME_BUILDDIR);

sub tipme  { return "$BUILD/tipme" }
sub tipmed { return "$BUILD/helper/daemon/tipmed" }

# new(options of tipmed ...): a place for a recorder; owner => UID gives it to another user.
sub new {
	my ($class, %opt) = @_;
	my $dir = tempdir('tipme-test-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0755, $dir;
	my $self = bless {
		dir  => $dir, rundir => "$dir/run", library => "$dir/library", owner => $$,
		args => $opt{args} // []
	}, $class;
	@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = @$self{qw(rundir library)};
	delete $ENV{SUDO_UID};
	return $self;
}

sub dir     { return $_[0]{dir} }
sub library { return $_[0]{library} }
sub rundir  { return $_[0]{rundir} }

# Runs a command; returns its exit status, stdout, stderr.
sub run {
	my ($self, @command) = @_;
	my ($out,  $err)     = map {"$self->{dir}/.$_"} qw(out err);
	my $pid = fork // croak "fork: $!";
	if (!$pid) {
		open STDOUT, '>', $out or die $!;
		open STDERR, '>', $err or die $!;
		exec @command or die "$command[0]: $!";
	}
	waitpid $pid, 0;
	return ($? & 127 ? "signal " . ($? & 127) : $? >> 8, slurp($out), slurp($err));
}

# Runs `tipme ARGS` as an ordinary user, to whom the build tree may be closed: from copies, which
# see no tree but their own.
sub run_as_nobody { my ($self, @args) = @_; return $self->run_as_nobody_with([], @args) }

# The same with these capabilities, and none that could be got beside them.
sub run_as_nobody_with {
	my ($self, $capabilities, @args) = @_;
	my $public = "$self->{dir}/public";
	if (!-d $public) {
		for my $program (qw(helper/cli/tipme helper/daemon/tipmed)) {
			make_path("$public/$program" =~ s{/[^/]*$}{}r);
			next if !-e "$BUILD/$program";
			copy("$BUILD/$program", "$public/$program") && chmod 0755, "$public/$program"
				or croak "$public/$program: $!";
		}
	}
	local $ENV{TIPME_BUILDDIR} = $public;
	my $set = join ',', '-all', map {"+$_"} @$capabilities;
	return $self->run(
		@{ $self->{prefix} // [] }, 'setpriv',         '--reuid=65534',       '--regid=65534',
		'--clear-groups',           "--inh-caps=$set", "--ambient-caps=$set", "--bounding-set=$set",
		"$public/helper/cli/tipme", @args
	);
}

# A system user that every system has, in place of the one that an installation makes.
sub system_user { return $> || !getpwnam 'daemon' ? () : 'daemon' }

# Starts it in the background, by the command {prefix} if there is one; returns status, stdout,
# stderr of `tipme start`.
sub start {
	my ($self, @args) = @_;
	my @result = $self->run(
		@{ $self->{prefix} // [] },             tipme(),            'start',
		(map { ('--user', $_) } system_user()), @{ $self->{args} }, @args
	);
	$self->{pid} = $self->status->{pid} if !$result[0];
	return @result;
}

# The begin of a command that runs another where the kernel refuses perf_event_open with ERRNO, as
# Debian's does to all but CAP_SYS_ADMIN, and containers do. x86-64 alone, as all of tipme.
# Installing such a filter takes root.
sub refusing_counters {
	my ($errno) = @_;
	return ($^X, '-e', <<'END', $errno);
my ($allow, $refuse) = (0x7fff0000, 0x00050000 | shift);
my $filter = join '', map { pack 'S C C L', @$_ } [ 0x20, 0, 0, 0 ], [ 0x15, 0, 1, 298 ], [ 0x06, 0, 0, $refuse ], [ 0x06, 0, 0, $allow ];
syscall(157, 22, 2, pack 'S x6 P', 4, $filter) == 0 or die "prctl: $!\n";
exec @ARGV or die "$ARGV[0]: $!\n";
END
}

sub pid { return $_[0]{pid} }

sub status {
	my ($self) = @_;
	my ($rc, $out) = $self->run(tipme(), 'status', '--json');
	return $out ? JSON::PP->new->utf8->decode($out) : {};
}

sub snap { my ($self, @args) = @_; return $self->run(tipme(), 'snap', @args) }

sub stop {
	my ($self) = @_;
	return if !$self->{pid};
	my @result = $self->run(tipme(), 'stop');
	wait_until(sub { gone($self->{pid}) });
	delete $self->{pid};
	return @result;
}

# The tests may end by an error: nothing of theirs goes on.
sub DESTROY {
	my ($self) = @_;
	return if $self->{owner} != $$;
	local ($?, $@);
	kill 'KILL', $self->{pid} if $self->{pid};
	system 'umount', '-l', $self->{library} if $self->{mounted};
	return;
}

# The numbers of the CPUs on which we may run.
sub allowed_cpus {
	return map { /^(\d+)-(\d+)$/ ? $1 .. $2 : $_ } split /,/,
		slurp('/proc/self/status') =~ /^Cpus_allowed_list:\s*(\S+)/m ? $1 : 0;
}

sub slurp {
	my ($file) = @_;
	open my $in, '<:raw', $file or croak "$file: $!";
	local $/;
	return scalar(<$in>) // '';
}

# Waits for something that will come; gives up after a time that only a hang takes. With SECONDS:
# for something that need not come.
sub wait_until {
	my ($code, $seconds) = @_;
	my $end = clock_gettime(CLOCK_MONOTONIC) + ($seconds // PATIENCE_S);
	while (1) {
		my $last  = clock_gettime(CLOCK_MONOTONIC) >= $end;
		my $value = $code->();
		return $value if $value || $last;
		sleep 0.05;
	}
}

# Whether a process has ended, all of it. A killed one may wait for its new parent; but as long as
# one of its threads is still on the way out, all that it had open is.
sub gone {
	my ($pid) = @_;
	my $stat = eval { slurp("/proc/$pid/stat") } // return 1;
	return $stat =~ /\) [ZX] / && (() = glob "/proc/$pid/task/*") < 2;
}

# A bare connection to the socket, or to the one that is for us alone; at once, or not at all.
sub connection {
	my ($self, $at_once) = @_;
	for my $name ('tipmed.sock', "tipmed-$>.sock") {
		socket my $socket, AF_UNIX, SOCK_SEQPACKET | ($at_once ? 04000 : 0), 0
			or croak "socket: $!";
		return $socket if connect $socket, pack_sockaddr_un("$self->{rundir}/$name");
	}
	return;
}

sub message {
	my ($verb, $arg, $text) = @_;
	return pack('L< S< S< L< L<', 0x4d504954, 1, $verb, $arg, length $text) . $text;
}

# One answer: (verb, arg, text); nothing at the end, or if none comes.
sub answer {
	my ($socket, $seconds) = @_;
	my $ready = '';
	vec($ready, fileno($socket), 1) = 1;
	return if !select($ready, undef, undef, $seconds // PATIENCE_S);
	my $bytes;
	return if !defined recv($socket, $bytes, 70000, 0) || !length $bytes;
	my (undef, undef, $verb, $arg, $len) = unpack 'L< S< S< L< L<', $bytes;
	return ($verb, $arg, substr $bytes, 16, $len);
}

# The machine's own folders, /run/tipme and /var/lib/tipme, are not the test's: the test is run once
# more with others. Returns whether that is done; needs root.
sub own_run {
	return 1 if $ENV{TIPME_TEST_OWN_RUN};
	my $run = 'mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p /var/lib/tipme'
		. ' && mount -t tmpfs tmpfs /var/lib/tipme';
	return 0 if system 'unshare', '-m', 'sh', '-c', $run;
	local $ENV{TIPME_TEST_OWN_RUN} = 1;
	exec 'unshare', '-m', 'sh', '-c', "$run && exec \"\$@\"", 'sh', $^X, $0 or croak "$0: $!";
}

# Dies if a record file is not whole. Returns its header and its records in pieces.
sub whole {
	my ($file) = @_;
	my $bytes = slurp($file);
	my ($magic, $order, $major, $minor, $head, $source, $created, $trigger, $id, $body) =
		unpack 'a8 L< S< S< L< L< Q< Q< Q< Q<', $bytes;
	croak "$file: not a record file" if $magic ne 'TIPMEREC' || $order != 0x01020304 || $head != 64;
	croak "$file: body of $body in a file of " . length $bytes if $body + 64 != length $bytes;
	my @pieces = _walk($file, \$bytes);
	return (
		{ source => $source, created_ns => $created, trigger_ns => $trigger, episode_id => $id },
		@pieces
	);
}

# The header of a record file and all its records, as the C printer shows them.
sub records_of {
	my ($head, @pieces) = whole(@_);
	return ($head, map { _decode($_) } @pieces);
}

# The C printer of the tests takes a megabyte at once.
sub _decode {
	my ($records) = @_;
	my $bare = File::Temp->new(SUFFIX => '.bare');
	print {$bare} $records;
	$bare->flush;
	return split /\n/, qx{"$BUILD/abi/t/decode" "$bare"};
}

# Dies unless the records fill the file, and each section tells truly what follows it. Returns
# pieces of less than a megabyte.
sub _walk {
	my ($file, $bytes)                = @_;
	my ($at, $end, $said, $records)   = (64, length $$bytes, undef, 0);
	my ($section_end, $from, @pieces) = (64, 64);
	while ($at < $end) {
		my ($type, $len8) = unpack 'x8 C C', substr $$bytes, $at, 16;
		croak "$file: a record of length 0 at $at" if !$len8;
		if ($type == 1) {
			croak "$file: a section at $at, the one before ends at $section_end"
				if $at != $section_end;
			croak "$file: a section of $said records has $records"
				if defined $said && $said != $records;
			my ($count, $body) = unpack 'x40 Q< Q<', substr $$bytes, $at, 56;
			($said, $records, $section_end) = ($count, 0, $at + 56 + $body);
		} else {
			$records++;
		}
		$at += 8 * $len8;
		if ($at - $from > 1_000_000 || $at >= $end) {
			push @pieces, substr $$bytes, $from, $at - $from;
			$from = $at;
		}
	}
	croak "$file: records end at $at of $end"                if $at != $end;
	croak "$file: the last section says $said, not $records" if defined $said && $said != $records;
	return @pieces;
}

sub manifest { return JSON::PP->new->utf8->decode(slurp("$_[0]/manifest.json")) }

# What is wrong with an episode; an empty list: nothing.
sub complete {
	my ($path) = @_;
	my @wrong = grep { !-e "$path/$_" } qw(kernel.rec manifest.json schema threads.rec);
	return [ map {"$path: no $_"} @wrong ] if @wrong;
	eval { whole("$path/$_") for qw(kernel.rec threads.rec); manifest($path); 1 }
		or push @wrong, $@;
	return \@wrong;
}

# Two processes that pass a byte to and fro as fast as they can.
sub load {
	my $pid = fork // die;
	return $pid if $pid;
	pipe my $r1, my $w1;
	pipe my $r2, my $w2;
	my $parent = $$;
	if (!fork) {
		close $w1;
		close $r2;
		while (sysread $r1, my $b, 1) { syswrite $w2, $b or last }
		exit 0;
	}
	close $r1;
	close $w2;
	$SIG{PIPE} = sub { exit 0 };
	while (1) { syswrite $w1, 'x' or exit 0; sysread $r2, my $b, 1 or exit 0 }
}

1;
