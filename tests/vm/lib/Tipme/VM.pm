# SPDX-License-Identifier: GPL-2.0-only
# A Debian desktop in an emulator: boot or restore it, give it a payload, run commands as root,
# press keys, take pictures.
# And a machine without one that counts instructions.
package Tipme::VM;
use strict;
use warnings;
use Carp        qw(croak);
use Digest::SHA qw(sha256_hex);
use Fcntl       qw(LOCK_EX);
use File::Temp  qw(tempdir);
use IO::Select;
use IO::Socket::UNIX;
use POSIX        qw(WNOHANG);
use Scalar::Util qw(refaddr weaken);
use Time::HiRes  qw(sleep time);
use Tipme::VM::Emulator;

# An emulated machine on a busy host may need this long for anything; only a hang is meant to reach
# it.
use constant PATIENCE_S => 600;
# Then it is asked whether it is still there.
use constant SILENCE_S        => 5;
use constant COUNT_PATIENCE_S => 1800;
# So mkroot ends when it can reach no mirror.
use constant UNREACHABLE   => 75;
use constant PAYLOAD_BYTES => 64 << 20;

my @PACKAGES = qw(qemu-system-x86_64 mmdebstrap mksquashfs zstd cpio modprobe busybox);
my %live;
END { local $?; defined and $_->close for values %live }

# What this host lacks to run machines, as a sentence; undef if nothing.
sub lacks {
	return 'not root: unpacking a Debian root needs it' if $>;
	my @missing = grep { system("command -v $_ >/dev/null 2>&1") } @PACKAGES;
	return "no @missing here: install the packages of class vm in .ci/packages" if @missing;
	open my $h, '<', '/etc/os-release' or return 'no /etc/os-release: is this Debian 12?';
	local $/;
	return <$h> =~ /^VERSION_CODENAME=bookworm$/m
		? undef
		: 'not Debian 12: what was built here would not run in its root';
}

# Whether this is the ordinary run of the tests, of which emulated machines are only a part.
sub thin { return !defined $ENV{TIPME_TEST_VM} && !$ENV{TIPME_TEST_ALL} }

# Why a test is left out, as a sentence; undef: it is not. A test that says 'in part' is in the
# ordinary run, too, with less; there it is no failure that a download cannot be had.
sub left_out {
	my ($part) = @_;
	return 'emulated machines are not wanted: TIPME_TEST_VM=0' if !($ENV{TIPME_TEST_VM} // 1);
	return
		'emulated machines boot for this only with TIPME_TEST_VM=1 or TIPME_TEST_ALL=1: it takes some minutes'
		if thin() && !$part;
	my $lacks = lacks();
	return $lacks if defined $lacks || !thin();
	my $dir  = _here();
	my $said = qx{"$dir/mkroot" 2>&1};
	return ($? >> 8) == UNREACHABLE
		? 'what the machine boots could not be fetched: ' . substr $said =~ s/\s+/ /gr, -300
		: undef;
}

# one_at_a_time(FILE, CODE): runs CODE while no other test runs something for the same FILE.
sub one_at_a_time {
	my ($file, $code) = @_;
	open my $lock, '>', "$file.lock" or croak "$file.lock: $!";
	flock $lock, LOCK_EX or croak "$file.lock: $!";
	return $code->();
}

sub _here { return __FILE__ =~ s{lib/Tipme/VM\.pm$}{}r }

# Tipme::VM->new(kernel => '6.1', payload => DIR of `make install DESTDIR=DIR`): a machine whose
# desktop is up.
# Its emulator is nicer than other work by 10; a machine that measures says nice => -10, or it
# measures how the host's other work takes the CPUs from it, too.
# With boot => DIR it is a kernel that mkkernel made instead of Debian's own. It is restored from
# what an earlier boot saved, or booted and saved. close() or the end of the program ends it.
sub new {
	my ($class, %opt) = @_;
	my $self = bless { owner => $$, memory_mb => 1536, %opt }, $class;
	weaken($live{ refaddr $self } = $self);
	$self->_make_root;
	$self->_make_payload;
	my $state = $self->_state_file;
	one_at_a_time($state, sub { $self->_boot_and_save($state) if !-e $state });
	my $begin = time;
	$self->_start('-incoming', "exec:zstdcat '$state'");
	# It was stopped when it was saved, and is when it has been loaded; telling it to go on while it
	# is being loaded has no effect.
	$self->_until(
		'the saved machine runs',
		sub {
			my $status = $self->monitor('info status');
			$self->monitor('cont') if $status =~ /paused/ && $status !~ /inmigrate/;
			return $status =~ /running/;
		}
	);
	$self->{restored_s} = time - $begin;
	$self->_open_shell;
	$self->run(sprintf 'date -s @%d', time);
	$self->_unpack_payload if defined $self->{payload};
	return $self;
}

# Tipme::VM->counted(kernel => '6.1', payload => DIR, script => TEXT): boots a machine with one CPU,
# whose clock advances by 1 ns with each instruction and not while it idles. It runs the bash script
# as root with nothing beside it, and returns what that printed. The same
# input gives the same counts; they differ, by less than a thousandth, only in when the host answers
# the disks. With cpus => N it has so many, and an ordinary clock: then nothing is counted.
sub counted {
	my ($class, %opt) = @_;
	my $self = bless { owner => $$, memory_mb => 1024, counts => 1, %opt }, $class;
	weaken($live{ refaddr $self } = $self);
	$self->_make_root;
	_write("$self->{dir}/counted.sh", $self->{script});
	$self->_make_payload;
	$self->_fork(Tipme::VM::Emulator::machine($self));
	my $end = time + COUNT_PATIENCE_S;

	while (waitpid($self->{pid}, WNOHANG) == 0) {
		time < $end or croak 'the counting machine takes for ever: ' . $self->_says;
		sleep 0.2;
	}
	delete $self->{pid};
	my $said = _text("$self->{dir}/console.log") =~ tr/\r//dr;
	$said =~ /^counted: begin\n(.*)^counted: end (\d+)$/ms
		or croak 'the script did not end: ' . $self->_says;
	$2 == 0 or croak "the script failed with $2: $1";
	return $1;
}

sub _make_root {
	my ($self) = @_;
	my $dir = _here();
	chomp($self->{root} = qx{"$dir/mkroot"});
	$? == 0 or croak 'mkroot failed';
	$self->{dir} = tempdir('tipme-vm-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	return;
}

# The machine must be the same when it is saved and when it is restored: everything that shapes it
# is in the name.
sub _state_file {
	my ($self) = @_;
	my $key = substr sha256_hex(
		join "\n", Tipme::VM::Emulator::emulator()->{version},
		map {s/\Q$self->{dir}\E//gr} Tipme::VM::Emulator::machine($self)
		),
		0, 12;
	return ($self->{boot} // $self->{root}) . "/desktop-$self->{kernel}-$key.zst";
}

sub _start {
	my ($self, @more) = @_;
	unlink "$self->{dir}/shell.sock", "$self->{dir}/monitor.sock";
	$self->_fork(Tipme::VM::Emulator::machine($self), @more);
	$self->{monitor} = $self->_connect('monitor.sock');
	$self->_read_until('monitor', qr/\(qemu\) $/);
	return;
}

sub _fork {
	my ($self, @machine) = @_;
	# An emulator must not outlive whoever started it, however that ends.
	my @command = (
		qw(setpriv --pdeathsig TERM nice -n), $self->{nice} // 10,
		@{ Tipme::VM::Emulator::emulator()->{command} },
		@machine, @{ $self->{emulator} // [] }
	);
	# A machine that resets or switches off itself waits, so that it can be looked at; and of a CPU
	# that cannot even report its fault (a triple fault) the guest could say nothing. This does not
	# shape the machine, so it is not part of its name.
	push @command, qw(-action shutdown=pause -d cpu_reset -D), "$self->{dir}/resets.log"
		if !$self->{counts};
	$self->{pid} = fork // croak "fork: $!";
	if (!$self->{pid}) {
		open STDIN,  '<',  '/dev/null';
		open STDOUT, '>',  "$self->{dir}/emulator.log";
		open STDERR, '>&', \*STDOUT;
		exec @command or POSIX::_exit(127);
	}
	return;
}

sub _connect {
	my ($self, $name) = @_;
	my $s;
	$self->_until(
		"the emulator opens $name",
		sub { $s = IO::Socket::UNIX->new(Peer => "$self->{dir}/$name") }
	);
	return $s;
}

# Waits for CODE to be true; dies with what the machine said if it ends or takes for ever.
sub _until {
	my ($self, $what, $code) = @_;
	my $end = time + PATIENCE_S;
	while (!$code->()) {
		$self->_ended(0) and croak "the machine is gone while waiting until $what: " . $self->_gone;
		time < $end or croak "gave up waiting until $what: " . $self->_says;
		sleep 0.1;
	}
	return;
}

sub _says {
	my ($self) = @_;
	my %said = map { $_ => _text("$self->{dir}/$_.log") } qw(emulator console);
	return join '', map {
		$said{$_} eq ''
			? "($_: nothing)\n"
			: "($_:)\n"
			. (length $said{$_} > 4000 ? substr $said{$_}, -4000 : $said{$_}) . "\n"
	} sort keys %said;
}

sub _text { my ($file) = @_; open my $h, '<', $file or return ''; local $/; return <$h> // '' }

sub _write {
	my ($file, $text) = @_;
	open my $h, '>', $file or croak "$file: $!";
	print {$h} $text;
	CORE::close $h or croak "$file: $!";
	return;
}

# What comes from the monitor or the shell, up to PATTERN.
sub _read_until {
	my ($self, $from, $pattern) = @_;
	my $s = $self->{$from};
	my ($got, $select, $end) = ('', IO::Select->new($s), time + PATIENCE_S);
	while ($got !~ $pattern) {
		if ($select->can_read(SILENCE_S)) {
			$end = time + PATIENCE_S;
			next if sysread $s, $got, 1 << 16, length $got;
			delete $self->{$from};
			croak 'the machine is gone: ' . $self->_gone . "\nits $from said last: " . substr $got,
				-500;
		}
		$from eq 'shell' && $self->_ended(0)
			and croak 'the machine is gone: ' . $self->_gone . "\nit said last: " . substr $got,
			-500;
		time < $end
			or croak 'the machine says no more; last: ' . substr($got, -500) . "\n" . $self->_says;
	}
	return $got;
}

# Whether the emulator has ended, or does so within SECONDS, or its machine has reset or switched
# off itself.
sub _ended {
	my ($self, $seconds) = @_;
	my $end = time + $seconds;
	while (1) {
		return 1 if defined $self->{ended};
		if (waitpid($self->{pid}, WNOHANG) != 0) {
			$self->{ended} = $?;
			delete $self->{pid};
			return 1;
		}
		last if time >= $end;
		sleep 0.1;
	}
	return $self->{monitor}
		&& $self->monitor('info status') =~ /\((?:shutdown|internal-error|guest-panicked)\)/;
}

sub alive { my ($self) = @_; return !$self->_ended(0) }

# How a machine ended that nobody has ended, and all that was written until then.
sub _gone {
	my ($self) = @_;
	# Its sockets are closed before it has ended.
	my $ended = $self->_ended(5);
	return "but its emulator still runs\n" . $self->_says if !$ended;
	my $status = $self->{ended};
	return (
		$status & 127
		? sprintf 'signal %d ended the emulator',      $status & 127
		: sprintf 'the emulator ended with status %d', $status >> 8
		)
		. "\n"
		. $self->_says
		if defined $status;
	my $how =
		_text("$self->{dir}/resets.log") =~ /^Triple fault/m
		? 'a CPU had a triple fault'
		: 'it has reset or switched off itself';
	return "$how\n" . $self->_says . $self->monitor('info registers -a');
}

# Says COMMAND to the emulator's monitor; returns the answer.
sub monitor {
	my ($self, $command) = @_;
	local $SIG{PIPE} = 'IGNORE';
	syswrite $self->{monitor}, "$command\n";
	my $answer = $self->_read_until('monitor', qr/\n.*\(qemu\) $/s);
	return $answer =~ s/\A.*?\n//sr =~ s/\(qemu\) \z//r =~ tr/\r//dr;
}

sub _open_shell {
	my ($self) = @_;
	$self->{shell} = $self->_connect('shell.sock');
	# What is said before the shell is there is lost, or comes back as the terminal's echo, which
	# still has the quotes.
	my ($select, $got) = (IO::Select->new($self->{shell}), '');
	$self->_until(
		'the root shell answers',
		sub {
			syswrite $self->{shell}, "echo hel''lo\n";
			sysread $self->{shell}, $got, 1 << 16, length $got while $select->can_read(2);
			return $got =~ /^hello/m;
		}
	);
	$self->run('true');
	return;
}

# Runs a shell COMMAND as root in the machine; returns what it prints (standard error, too), in list
# context with its exit status.
# A shell function or variable lives on to the next call; an `exit` must stand in parentheses, or
# that shell ends and nobody answers.
sub run {
	my ($self, $command) = @_;
	my $mark = sprintf 'mark-%d-%d', $$, ++$self->{marks};
	my $s    = $self->{shell};
	local $SIG{PIPE} = 'IGNORE';
	# The echo's mark is split by quotes: the text of the command itself never looks like the
	# answer's end.
	syswrite $s, "{ $command\n} 2>&1 < /dev/null; echo \"\" \"$mark\"\"=\$?\"\n";
	my $got = $self->_read_until('shell', qr/ \Q$mark\E=\d+\r?\n/);
	my ($out, $rc) = $got =~ /\A(.*) \Q$mark\E=(\d+)\r?\n/s;
	$out =~ tr/\r//d;
	return wantarray ? ($out, $rc) : $out;
}

# The same without a terminal: as scripts read what COMMAND prints.
sub run_piped {
	my ($self, $command) = @_;
	return $self->run("( $command\n) > /tmp/said 2>&1; rc=\$?; cat /tmp/said; ( exit \$rc )");
}

# Waits until a shell COMMAND in the machine succeeds.
sub wait_for {
	my ($self, $what, $command) = @_;
	my $last = '';
	my $end  = time + PATIENCE_S;
	while (time < $end) {
		($last, my $rc) = $self->run($command);
		return $last if $rc == 0;
		sleep 0.3;
	}
	croak "gave up waiting until $what; last: $last";
}

# The terminal is there, below the pointer and so with the focus, and its shell asks.
sub wait_for_desktop {
	my ($self) = @_;
	$self->wait_for(
		'the terminal has a window',
		$self->as_user('xwininfo -name tipme-stage -stats | grep -q IsViewable')
	);
	return $self->wait_for('its shell asks', 'pgrep -u user -x typed');
}

# COMMAND as the user of the desktop.
sub as_user {
	my ($self, $command) = @_;
	return
		"runuser -u user -- env DISPLAY=:0 HOME=/home/user XAUTHORITY=/home/user/.Xauthority sh -c '$command'";
}

sub _boot_and_save {
	my ($self, $state) = @_;
	$self->_start;
	$self->_open_shell;
	$self->wait_for_desktop;
	# What is still being started would be saved, too, and would run in each test.
	$self->wait_for(
		'the boot is over',
		'systemctl is-system-running | grep -Ex "running|degraded"'
	);
	$self->monitor('stop');
	$self->monitor('migrate_set_parameter max-bandwidth 10G');
	$self->monitor("migrate \"exec:zstd -q -1 > '$state.$$'\"");
	$self->_until(
		'the machine is saved',
		sub { $self->monitor('info migrate') =~ /status: (completed|failed)/ }
	);
	$self->monitor('info migrate') =~ /status: completed/
		or croak 'the machine could not be saved: ' . $self->_says;
	$self->_stop;
	rename "$state.$$", $state or croak "$state: $!";
	return;
}

sub _make_payload {
	my ($self) = @_;
	my $file = "$self->{dir}/payload.tar";
	# Sorted and without times, so that a counting machine reads the same bytes each time.
	my @tar = (qw(tar --owner=0 --group=0 --sort=name --mtime=@0 -cf), $file);
	push @tar, '-C', $self->{payload}, '.'          if defined $self->{payload};
	push @tar, '-C', $self->{dir},     'counted.sh' if $self->{counts};
	if ($tar[-1] ne $file) { system(@tar) == 0 or croak "tar: $?" }
	open my $h, '>>', $file or croak "$file: $!";
	-s $h <= PAYLOAD_BYTES or croak "$self->{payload}: too big for the payload disk";
	truncate $h, PAYLOAD_BYTES or croak "$file: $!";
	return;
}

sub _unpack_payload {
	my ($self) = @_;
	my ($out, $rc) = $self->run(
		'blockdev --flushbufs /dev/vdb; tar -xf /dev/vdb -C / --no-same-permissions --keep-directory-symlink --no-overwrite-dir'
	);
	$rc == 0 or croak "the payload did not unpack: $out";
	return;
}

# Copies FOLDER of the machine into TO, a folder here, by the disk of the payload: a serial line
# takes minutes for some megabytes. Returns where it is.
sub fetch {
	my ($self, $folder, $to) = @_;
	my ($in,   $name) = $folder =~ m{\A(.*)/([^/]+)\z} or croak "$folder: no folder";
	my ($out,  $rc) =
		$self->run("tar -cf /dev/vdb -C '$in' '$name' && sync && blockdev --flushbufs /dev/vdb");
	$rc == 0 or croak "$folder could not be copied: $out";
	system('tar', '-xf', "$self->{dir}/payload.tar", '-C', $to) == 0
		or croak "$folder did not unpack: $?";
	return "$to/$name";
}

# Presses a key, or several at once ("ctrl-alt-minus"), on the machine's keyboard.
sub press {
	my ($self, @keys) = @_;
	for (@keys) { $self->monitor("sendkey $_"); sleep 0.25 }
	return;
}

# What the machine has said on its console until now.
sub console { my ($self) = @_; return _text("$self->{dir}/console.log") }

# Saves a picture of the screen (PNG).
sub picture {
	my ($self, $file) = @_;
	my $said = $self->monitor("screendump $self->{dir}/screen.png -f png");
	-s "$self->{dir}/screen.png" or croak "no picture: $said";
	rename "$self->{dir}/screen.png", $file
		or system('cp', "$self->{dir}/screen.png", $file) == 0
		or croak "$file: $!";
	return;
}

sub _stop {
	my ($self) = @_;
	delete @$self{qw(monitor shell ended)};
	my $pid = delete $self->{pid} // return;
	kill 'TERM', $pid;
	waitpid $pid, 0;
	return;
}

sub close {
	my ($self) = @_;
	return if $$ != $self->{owner};
	local $?;
	$self->_stop;
	return;
}

sub DESTROY { my ($self) = @_; delete $live{ refaddr $self }; $self->close; return }

1;
