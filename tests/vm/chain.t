#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The whole chain on Debian's own kernels, in an emulated machine: keyboard controller, kernel
# input, a rootless Xorg under systemd, xterm; a cause; the hot-key on that keyboard; the verdict
# must name the cause by kind and process. In CI tests/vm/module.t does as much on one kernel, and
# tests/vm/count.t loads the tracing programs on the other.
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(payload start_recorder pid_of now hot_key diagnose priorities no_complaint);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $payload   = payload();
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
	note sprintf 'restored in %.1f s', $vm->{restored_s};

	my ($doctor, $rc) = $vm->run('tipme doctor');
	ok($rc == 0, 'tipme doctor is content') or diag $doctor;
	my $server = start_recorder($vm);
	is(scalar $vm->run("stat -c %u /proc/$server"), "1000\n", 'Xorg runs as the user');

	type_a_line($vm);
	subtest 'priorities that others set' => sub { priorities($vm) };
	for my $cause ([ 'stopped', \&stop_terminal ], [ 'ipc-wait', \&slow_helper ]) {
		my ($kind, $stage) = @$cause;
		subtest $kind => sub { story($vm, $kind, $stage) };
	}
	$vm->picture("$artifacts/$kernel.png");
	ok(-s "$artifacts/$kernel.png", "the screen is kept in $artifacts/$kernel.png");
	(my $lost, $rc) = $vm->run('tipme stop');
	is($rc, 0, 'the recorder ends in order') or diag $lost;
	no_complaint($vm);
	$vm->close;
}

sub type_a_line {
	my ($vm) = @_;
	$vm->press(qw(h i ret));
	$vm->wait_for('the line is typed', 'grep -qx hi /home/user/typed');
	pass('keys from the keyboard controller reach the shell in the terminal');
}

# Stages a cause, presses the hot-key, and compares what tipme says with what was done.
sub story {
	my ($vm, $kind, $stage) = @_;
	my ($at, %culprit) = $stage->($vm);
	my $episode = hot_key($vm);
	my $d       = diagnose($vm, $episode, $at) or return;
	is($d->{verdict}{kind}, $kind, "verdict: $d->{verdict}{sentence}");
	ok($culprit{ $d->{verdict}{blamed}{pid} // '' }, 'the culprit is named by pid')
		or diag "blamed $d->{verdict}{blamed}{pid}, not one of @{[ sort keys %culprit ]}";
	diag scalar $vm->run("tipme diagnose $episode --at $at")
		if !$culprit{ $d->{verdict}{blamed}{pid} // '' } || $d->{verdict}{kind} ne $kind;
	is(
		scalar $vm->run("stat -c '%u %a' $episode"), "1000 700\n",
		'the episode is its owner\'s alone'
	);
}

sub stop_terminal {
	my ($vm) = @_;
	my $pid = pid_of($vm, 'xterm');
	$vm->run("kill -STOP $pid");
	$vm->press('x');
	# A machine that is slow, or whose host is, may need a second until its server has the key.
	sleep 3;
	my $at = now($vm);
	$vm->run("kill -CONT $pid");
	# Whoever saw it hang sees it go on before he reaches for the hot-key.
	sleep 2;
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
while (<$in>) { my $end = clock_gettime(CLOCK_MONOTONIC) + 4; 1 while clock_gettime(CLOCK_MONOTONIC) < $end; print $out "42\n" }
PERL
setsid perl /tmp/backupd &
END
	my $pid = pid_of($vm, 'backupd');
	$vm->wait_for('it listens', "test \$(ps -o state= -p $pid) = S");
	$vm->press(qw(a s k ret));
	# It is asked when it computes, however long the keys take to get there.
	my $at = $vm->wait_for(
		'the question is there',
		"test \$(ps -o state= -p $pid) = R && cut -d' ' -f1 /proc/uptime"
	) =~ /([\d.]+)/ ? $1 : 0;
	$vm->wait_for('the question was answered', 'test $(ps -o state= -p ' . $pid . ') = S');
	return ($at, $pid => 1);
}
