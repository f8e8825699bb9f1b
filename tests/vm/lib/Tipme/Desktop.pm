# SPDX-License-Identifier: GPL-2.0-only
# What the tests of a desktop in an emulated machine do again and again: give its X server the
# hooks, press the hot-key, ask for the verdict.
package Tipme::Desktop;
use strict;
use warnings;
use Carp             qw(croak);
use Cpanel::JSON::XS ();
use Exporter         qw(import);
use File::Path       qw(make_path);
use File::Temp       qw(tempdir);
use Test::More;
use Tipme::ExactPath qw(exact_path);

our @EXPORT_OK =
	qw(payload build_module build_drivers start_recorder pid_of now hot_key diagnose priorities
	ok_run show_console no_complaint to_its_end parts);

my $EPISODES = '/var/lib/tipme/1000';

# What `make install` puts on the machine.
sub payload {
	my $dir = tempdir('tipme-payload-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	my $log = qx{make -C "$ENV{TIPME_BUILDDIR}" install DESTDIR="$dir" 2>&1};
	$? == 0 or BAIL_OUT("make install: $log");
	return $dir;
}

# headers(KERNEL): the folder of its headers, or (undef, why not). Warnings of apt stand on standard
# error, and are no part of the path.
sub headers {
	my ($kernel) = @_;
	my $errors   = File::Temp->new;
	my ($folder) = reverse split /\n/,
		scalar qx{"$ENV{TIPME_SRCDIR}/kernel-patch/headers" $kernel 2>"$errors"};
	my $status = $?;
	return $folder if !$status && defined $folder && -d $folder;
	my $said = do { local $/ = undef; <$errors> }
		// '';
	return (undef, "the headers of $kernel could not be had: "
			. ($said =~ s/\s+\z//r || 'no folder was named'));
}

# Builds the module for one of Debian's kernels (MAKE: what else make is told), stripped. Returns
# its path, or (undef, why not).
sub build_module {
	my ($kernel, @make) = @_;
	my ($top,    $dir)  = (
		$ENV{TIPME_SRCDIR},       join '-', "$ENV{TIPME_BUILDDIR}/tests/vm/module",
		map {s/\W+/_/gr} $kernel, @make
	);
	my ($headers, $why) = headers($kernel);
	defined $headers or return (undef, $why);
	make_path("$ENV{TIPME_BUILDDIR}/tests/vm");
	Tipme::VM::one_at_a_time(
		$dir,
		sub {
			my $log = qx{"$top/kernel-patch/build-module" "$headers" "$dir" @make 2>&1};
			$? == 0 or BAIL_OUT("build-module: $log");
			# Another test may be reading the one that is there.
			my $new = "$dir/stripped.ko.$$";
			system('strip', '--strip-debug', '-o', $new, "$dir/tipme.ko") == 0 or BAIL_OUT('strip');
			rename $new, "$dir/stripped.ko" or BAIL_OUT("$dir/stripped.ko: $!");
		}
	);
	return "$dir/stripped.ko";
}

# Builds what tests/vm/drivers has for one of Debian's kernels. Returns the paths of the modules, or
# (undef, why not).
sub build_drivers {
	my ($kernel) = @_;
	my ($top, $dir) =
		($ENV{TIPME_SRCDIR}, "$ENV{TIPME_BUILDDIR}/tests/vm/drivers-" . $kernel =~ s/\W+/_/gr);
	my ($headers, $why) = headers($kernel);
	defined $headers or return (undef, $why);
	make_path($dir);
	my $log =
		qx{cp -p "$top"/tests/vm/drivers/* "$dir" && make -C "$headers" M="$dir" modules 2>&1 && strip --strip-debug "$dir"/*.ko};
	$? == 0 or BAIL_OUT("tests/vm/drivers: $log");
	return glob "$dir/*.ko";
}

# Records, and starts the user's session again: now its X server has the hooks. Returns the server's
# pid.
sub start_recorder {
	my ($vm,   $options) = @_;
	my ($said, $rc)      = $vm->run('tipme start --owner 1000 ' . ($options // ''));
	is($rc, 0, 'the recorder starts') or diag $said;
	$vm->run( "mkdir -p /etc/X11/xorg.conf.d; cat > /etc/X11/xorg.conf.d/99-tipme.conf <<'END'\n"
			. _conf()
			. 'END');
	my $old = pid_of($vm, 'Xorg');
	$vm->run('loginctl terminate-user user');
	$vm->wait_for('the old server has ended', "! test -e /proc/$old");
	$vm->wait_for_desktop;
	my $server = pid_of($vm, 'Xorg');
	$vm->wait_for(
		'the server has offered its ring',
		"tipme status --json | grep -Eq 'x_servers.*pid\": $server,'"
	);
	return $server;
}

sub _conf {
	open my $h, '<', "$ENV{TIPME_SRCDIR}/xserver-hooks/conf/99-tipme.conf"
		or BAIL_OUT("99-tipme.conf: $!");
	local $/;
	return <$h>;
}

# Who changes the priority of another is recorded, with what it was and became; what is refused
# changes nothing.
sub priorities {
	my ($vm) = @_;
	my $pid = pid_of($vm, 'xterm');
	my @wanted;
	for my $set (
		[ 'renice -n 5 -p', '120 to 125, policy 0' ],
		[ 'chrt -f -p 7',   '125 to 92, policy 1' ], [ 'chrt -o -p 0', '92 to 125, policy 0' ],
		[ 'renice -n 0 -p', '125 to 120, policy 0' ]
		)
	{
		my ($said, $rc) = $vm->run("sh -c 'echo changer \$\$; exec $set->[0] $pid'");
		is($rc, 0, $set->[0]) or diag $said;
		push @wanted, join ' ', $said =~ /changer (\d+)/, $set->[1];
	}
	my (undef, $rc) = $vm->run("runuser -u user -- renice -n -5 -p $pid");
	isnt($rc, 0, 'what a user may not');
	my $episode = hot_key($vm);
	my $text    = $vm->run(
			  "tipme export $episode --format text -o /tmp/priorities > /dev/null; grep ' priority "
			. ".*inherited=0' /tmp/priorities | grep 'tid=$pid '");
	my @told = map {
		my %f = /(\w+)=(\S+)/g;
		"$f{changer_tid} $f{old_prio} to $f{new_prio}, policy $f{policy}"
	} split /\n/, $text;
	is_deeply(\@told, \@wanted, 'four changes, by whom') or diag $text;
}

# Where xterm may run: changed by others and refused, and by whom, as util-linux and the scheduler's
# own file say it.
sub affinities {
	my ($vm)  = @_;
	my $pid   = pid_of($vm, 'xterm');
	my ($all) = $vm->run("taskset -p $pid") =~ /: ([0-9a-f]+)$/m;
	my @wanted;
	for my $mask (1, $all) {
		my ($said, $rc) = $vm->run("sh -c 'echo changer \$\$; exec taskset -p $mask $pid'");
		is($rc, 0, "taskset -p $mask") or diag $said;
		push @wanted, join ' ', $said =~ /changer (\d+)/, hex $mask;
	}
	my (undef, $rc) = $vm->run("taskset -p 100 $pid");
	isnt($rc, 0, 'a CPU that is not there');
	# A group of processes that is given other CPUs.
	my ($said, $set) = $vm->run(
		"sh -c 'cd /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir -p tipme-set "
			. "&& echo \$\$ > tipme-set/cgroup.procs && echo 0 > tipme-set/cpuset.cpus && grep "
			. "Cpus_allowed: /proc/\$\$/status && echo mover \$\$'");
	push @wanted, join ' ', $1, 1 if $set == 0 && $said =~ /mover (\d+)/;
	my $mover = $set == 0 ? ($said =~ /mover (\d+)/)[0] : 0;
	like($said, qr/Cpus_allowed:\s*0*1$/m, 'a group may run on one CPU') if $set == 0;
	my $episode = hot_key($vm);
	my $text    = $vm->run(
		"tipme export $episode --format text -o /tmp/affinities > /dev/null; grep ' affinity ' "
			. "/tmp/affinities | grep -E 'tid=($pid|$mover) '");
	my @told = map {
		my %f = /(\w+)=(\S+)/g;
		$f{within_ns} ? 'not exact' : "$f{changer_tid} $f{cpus_allowed}"
	} split /\n/, $text;
	is_deeply(\@told, \@wanted, 'each change, by whom') or diag $text;
}

sub pid_of {
	my ($vm, $name) = @_;
	return $vm->wait_for("there is a process $name", "pgrep -n -x $name") =~ /(\d+)/
		? $1
		: croak "no $name";
}

# CLOCK_MONOTONIC of a machine that never sleeps, in seconds.
sub now { my ($vm) = @_; return $vm->run('cut -d" " -f1 /proc/uptime') =~ /([\d.]+)/ ? $1 : 0 }

# Presses the hot-key on the keyboard; returns the folder of the episode that comes of it.
sub hot_key {
	my ($vm) = @_;
	my %old = map { $_ => 1 } _episodes($vm);
	$vm->press('ctrl-alt-minus');
	$vm->wait_for(
		'the episode is saved',
		"sleep 1; ls -d $EPISODES/2* | wc -l | grep -qx " . (1 + keys %old)
	);
	my ($new) = grep { !$old{$_} } _episodes($vm);
	return "$EPISODES/$new";
}

sub _episodes { my ($vm) = @_; return split ' ', $vm->run("ls $EPISODES 2>/dev/null | grep ^2") }

# The diagnosis of the moment AT of an episode (undef: of what led to the hot-key), as `tipme
# diagnose --json` tells it; its path has been checked. undef: there is none.
sub diagnose {
	my ($vm, $episode, $at) = @_;
	my ($text, $rc) = $vm->run(
		"tipme diagnose $episode --json" . (defined $at ? " --at $at" : '') . ' 2>/tmp/said');
	my $d = eval { Cpanel::JSON::XS->new->decode($text) };
	ok($d, 'diagnose gives JSON') or diag($text, scalar $vm->run('cat /tmp/said')), return;
	exact_path($d);
	return $d;
}

# Runs a command that must succeed; returns what it printed.
sub ok_run {
	my ($vm, $command, $name) = @_;
	my ($out, $rc) = $vm->run($command);
	is($rc, 0, $name) or diag $out;
	return $out;
}

# A subtest that fails when its code dies, as it does when a machine vanishes or says no more,
# instead of ending the test with it.
sub to_its_end {
	my ($name, $code) = @_;
	return subtest $name => sub {
		eval { $code->(); 1 } or do { fail("$name goes to its end"); diag $@ }
	};
}

# Subtests on one machine, [ NAME, CODE ] each. TIPME_TEST_PARTS, a pattern, chooses some of them.
sub parts {
	my ($vm, @parts) = @_;
	for my $part (@parts) {
		my ($name, $code) = @$part;
	SKIP: {
			skip "$name: not asked for by TIPME_TEST_PARTS", 1
				if $name !~ ($ENV{TIPME_TEST_PARTS} // '');
			to_its_end($name, sub { $code->($vm) });
		}
		return if !$vm->alive;
	}
	no_complaint($vm);
	return;
}

# Switches to a virtual console, as Ctrl+Alt+Fn does (VT_ACTIVATE).
sub show_console {
	my ($vm, $n) = @_;
	ok_run(
		$vm,
		"perl -e 'open my \$t, q(+<), q(/dev/tty0) or die; ioctl(\$t, 0x5606, $n) or die "
			. "qq(\$!\\n)'",
		"console $n is asked for"
	);
	$vm->wait_for("console $n is shown", "grep -qx tty$n /sys/class/tty/tty0/active");
	return;
}

# "NMI handler (...): Using ..." is no complaint.
sub no_complaint {
	my ($vm) = @_;
	my $dmesg = $vm->run(
		'dmesg | grep -E "BUG:|WARNING:|Oops|general protection|deadlock|inconsistent lock|nknown '
			. 'NMI|Uhhuh|INFO: (task|rcu)|bpf.*([Ee]rror|fail)" | grep -v "NMI handler"');
	is($dmesg, '', 'the kernel has no complaint') or diag scalar $vm->run('dmesg | tail -80');
	return;
}

1;
