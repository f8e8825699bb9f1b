#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The whole chain on Debian's own kernels, in an emulated machine: keyboard controller, kernel input, a rootless Xorg under
# systemd, xterm; a cause; the hot-key on that keyboard; the verdict must name the cause by kind and process.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::ExactPath qw(exact_path);
use Tipme::VM;

plan skip_all => 'emulated machines are booted only with TIPME_TEST_VM=1 or TIPME_TEST_ALL=1: two of them take some minutes'
	if !$ENV{TIPME_TEST_VM} && !$ENV{TIPME_TEST_ALL};
my $lacks = Tipme::VM::lacks();
plan skip_all => $lacks if $lacks;

my $payload = tempdir('tipme-payload-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $log = qx{make -C "$ENV{TIPME_BUILDDIR}" install DESTDIR="$payload" 2>&1};
$? == 0 or BAIL_OUT("make install: $log");
my $artifacts = "$ENV{TIPME_BUILDDIR}/tests/vm";
make_path($artifacts);

for my $kernel (qw(6.1 6.12)) {
	subtest "Debian's kernel $kernel" => sub { on_kernel($kernel) };
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	like(scalar $vm->run('uname -r'), qr/^\Q$kernel\E\./, 'it runs');

	my ($doctor, $rc) = $vm->run('tipme doctor');
	ok($rc == 0, 'tipme doctor is content') or diag $doctor;
	(my $said, $rc) = $vm->run('tipme start --owner 1000');
	is($rc, 0, 'all tracing programs load') or diag $said;

	# The desktop was there before tipme: now it gets a server with hooks.
	$vm->run("mkdir -p /etc/X11/xorg.conf.d; cat > /etc/X11/xorg.conf.d/99-tipme.conf <<'END'\n" . conf() . "END");
	restart_desktop($vm);
	my $server = pid_of($vm, 'Xorg');
	$vm->wait_for('the server has offered its ring', "tipme status --json | grep -Eq 'x_servers.*pid\": $server,'");
	is(scalar $vm->run("stat -c %u /proc/$server"), "1000\n", 'Xorg runs as the user');

	type_a_line($vm);
	for my $cause ([ 'stopped', \&stop_terminal ], [ 'ipc-wait', \&slow_helper ]) {
		my ($kind, $stage) = @$cause;
		subtest $kind => sub { story($vm, $kind, $stage) };
	}
	$vm->picture("$artifacts/$kernel.png");
	ok(-s "$artifacts/$kernel.png", "the screen is kept in $artifacts/$kernel.png");
	(my $lost, $rc) = $vm->run('tipme stop');
	is($rc, 0, 'the recorder ends in order') or diag $lost;
	my $dmesg = $vm->run('dmesg | grep -iE "BUG:|WARNING:|Oops|bpf.*(error|fail)"');
	is($dmesg, '', 'the kernel has no complaint');
	$vm->close;
}

sub conf {
	open my $h, '<', "$ENV{TIPME_SRCDIR}/xserver-hooks/conf/99-tipme.conf" or BAIL_OUT("99-tipme.conf: $!");
	local $/;
	return <$h>;
}

sub restart_desktop {
	my ($vm) = @_;
	my $old = pid_of($vm, 'Xorg');
	$vm->run('loginctl terminate-user user');
	$vm->wait_for('the old server has ended', "! test -e /proc/$old");
	$vm->wait_for_desktop;
}

sub pid_of { my ($vm, $name) = @_; return $vm->wait_for("there is a process $name", "pgrep -n -x $name") =~ /(\d+)/ ? $1 : BAIL_OUT("no $name") }

sub type_a_line {
	my ($vm) = @_;
	$vm->press(qw(h i ret));
	$vm->wait_for('the line is typed', 'grep -qx hi /home/user/typed');
	pass('keys from the keyboard controller reach the shell in the terminal');
}

# Stages a cause, presses the hot-key, and compares what tipme says with what was done.
sub story {
	my ($vm, $kind, $stage) = @_;
	my %old = map { $_ => 1 } episodes($vm);
	my ($at, %culprit) = $stage->($vm);
	$vm->press('ctrl-alt-minus');
	my $new;
	$vm->wait_for('the episode is saved', 'sleep 1; ls -d /var/lib/tipme/1000/2* | wc -l | grep -qx ' . (1 + keys %old));
	($new) = grep { !$old{$_} } episodes($vm);
	my ($text, $rc) = $vm->run("tipme diagnose /var/lib/tipme/1000/$new --json --at $at");
	my $d = eval { Cpanel::JSON::XS->new->decode($text) };
	ok($d, 'diagnose gives JSON') or return diag $text;
	is($d->{verdict}{kind}, $kind, "verdict: $d->{verdict}{sentence}");
	ok($culprit{ $d->{verdict}{blamed}{pid} // '' }, 'the culprit is named by pid') or diag "blamed $d->{verdict}{blamed}{pid}, not one of @{[ sort keys %culprit ]}";
	diag scalar $vm->run("tipme diagnose /var/lib/tipme/1000/$new --at $at") if !$culprit{ $d->{verdict}{blamed}{pid} // '' } || $d->{verdict}{kind} ne $kind;
	exact_path($d);
	is(scalar $vm->run("stat -c '%u %a' /var/lib/tipme/1000/$new"), "1000 700\n", 'the episode is its owner\'s alone');
}

sub episodes { my ($vm) = @_; return split ' ', $vm->run('ls /var/lib/tipme/1000 2>/dev/null | grep ^2') }

# CLOCK_MONOTONIC of a machine that never sleeps.
sub now { my ($vm) = @_; return $vm->run('cut -d" " -f1 /proc/uptime') =~ /([\d.]+)/ ? $1 : 0 }

sub stop_terminal {
	my ($vm) = @_;
	my $pid = pid_of($vm, 'xterm');
	$vm->run("kill -STOP $pid");
	$vm->press('x');
	sleep 2;
	my $at = now($vm);
	sleep 1;
	$vm->run("kill -CONT $pid");
	# Whoever saw it hang sees it go on before he reaches for the hot-key.
	sleep 1;
	return ($at, $pid => 1);
}

# The shell in the terminal asks a process that takes its time.
sub slow_helper {
	my ($vm) = @_;
	$vm->press('ret');
	$vm->run(<<'END');
runuser -u user -- mkfifo -m 666 /tmp/question /tmp/answer
cat > /tmp/backupd <<'PERL'
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
$0 = 'backupd'; $| = 1;
open my $in, '+<', '/tmp/question'; open my $out, '+<', '/tmp/answer'; $out->autoflush(1);
while (<$in>) { my $end = clock_gettime(CLOCK_MONOTONIC) + 2.5; 1 while clock_gettime(CLOCK_MONOTONIC) < $end; print $out "42\n" }
PERL
setsid perl /tmp/backupd &
END
	my $pid = pid_of($vm, 'backupd');
	$vm->press(qw(a s k ret));
	sleep 1;
	my $at = now($vm);
	$vm->wait_for('the question was answered', 'test $(ps -o state= -p ' . $pid . ') = S');
	return ($at, $pid => 1);
}
