#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The hot-key that tipmed reads from the keyboards themselves, on the keyboard controller of an
# emulated machine: beside a stock Xorg, while that hangs, on a text console, on a keyboard that is
# pulled out and plugged in again, on a virtio keyboard, and beside an Xorg with hooks, which tells
# of each press, too.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop qw(payload show_console start_recorder pid_of no_complaint);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $vm      = Tipme::VM->new(kernel => $ENV{TIPME_VM_KERNEL} // '6.12', payload => payload());
my $LIBRARY = '/var/lib/tipme/1000';
my $KEYS    = '/sys/bus/serio/devices/serio0';

start_service();
subtest 'a stock X server'            => sub { presses_make_one('the hot-key saves an episode') };
subtest 'the X server hangs'          => \&hung_server;
subtest 'a text console'              => \&text_console;
subtest 'other keys'                  => \&other_keys;
subtest 'a keyboard that comes later' => \&replugged;
subtest 'a keyboard of another kind'  => \&virtio;
my ($said, $rc) = $vm->run('tipme stop');
is($rc, 0, 'the service ends in order') or diag $said;
# It takes its folder below /run away when all is over: another recorder before that would be left
# without.
$vm->wait_for('the service is over', 'systemctl show -P ActiveState tipmed | grep -qx inactive');
subtest 'an X server with hooks' => \&hooks;
no_complaint($vm);
$vm->close;
done_testing;

sub status {
	my ($text) = $vm->run('tipme status --json');
	return eval { Cpanel::JSON::XS->new->decode($text) } // {};
}

sub episodes { return split ' ', $vm->run("ls $LIBRARY 2>/dev/null | grep ^2") }

sub start_service {
	# As its own user, whom new keyboards are for because the group input is.
	($said, $rc) =
		$vm->run('systemd-sysusers && systemctl daemon-reload && systemctl start tipmed');
	is($rc, 0, 'the service starts')
		or diag scalar $vm->run('journalctl -u tipmed -n 30 --no-pager');
	$vm->wait_for('it records', 'tipme status --json | grep -q kernel_bpf');
	my $s = status();
	is($s->{hotkey}{keyboards}, 1, 'it reads the keyboard, and not the mouse or the power button')
		or diag explain $s->{hotkey};
	is($s->{hotkey}{refused}, 0, 'no input device is refused, though it is confined');
	is_deeply($s->{x_servers}, [], 'the X server has no hooks');
	return;
}

# Nothing is being saved, and no press would be refused because of an earlier one.
sub settle {
	$vm->wait_for(
		'all is saved',
		'sleep 1; tipme status --json | grep -q "\"saving\": \"idle\".*\"waiting\": 0,"'
	);
	sleep 11;
	return;
}

# CODE presses the hot-key once (without: just so); AFTER is done when the episode is saved. One
# episode comes of it, of kind hotkey, and nothing else was asked for.
sub presses_make_one {
	my ($name, $code, $after) = @_;
	my %old     = map { $_ => 1 } episodes();
	my $refused = status()->{refused_triggers};
	$code //= sub { $vm->press('ctrl-alt-minus') };
	$code->();
	$vm->wait_for(
		'an episode is saved',
		"sleep 1; test \$(ls $LIBRARY | grep -c ^2) -gt " . keys %old
	);
	$after->() if $after;
	settle();
	my @new = grep { !$old{$_} } episodes();
	is(@new, 1, "$name, and only one");
	like(
		scalar $vm->run("cat $LIBRARY/$new[0]/manifest.json"),
		qr/"trigger" *: *\{[^}]*"kind" *: *"hotkey"/s, '... as hot-key'
	);
	is(status()->{refused_triggers}, $refused, '... and no second was asked for');
	return;
}

sub state_of { my ($pid) = @_; return $vm->run("ps -o state= -p $pid") =~ /(\S)/ ? $1 : '' }

sub hung_server {
	my $x = pid_of($vm, 'Xorg');
	$vm->run("kill -STOP $x");
	is(state_of($x), 'T', 'it answers nobody');
	presses_make_one(
		'the hot-key saves an episode all the same',
		undef,
		sub {
			is(state_of($x), 'T', '... while it hangs');
			sleep 2;
			$vm->run("kill -CONT $x");
		}
	);
	return;
}

# Where nobody is logged in: the recorder is still that of whose session waits behind it, with all
# that it has recorded.
sub text_console {
	my $pid = $vm->run('systemctl show -P MainPID tipmed') + 0;
	show_console($vm, 2);
	sleep 3;
	is(
		$vm->run('cat /run/systemd/seats/seat0') =~ /^ACTIVE_UID/m ? 1 : 0, 0,
		'nobody is logged in there'
	);
	presses_make_one('the hot-key saves an episode');
	is($vm->run('systemctl show -P MainPID tipmed') + 0, $pid, 'the recorder is the same');
	show_console($vm, 1);
	return;
}

# How often the trigger thread went to sleep: each event that reaches it wakes it once.
sub sleeps_while {
	my ($code) = @_;
	my $pid    = $vm->run('systemctl show -P MainPID tipmed') + 0;
	my %of     = map { /^(\d+) (\d+)$/ ? ($1 => $2) : () } split /\n/,
		$vm->run("for t in /proc/$pid/task/*; do chrt -p \${t##*/} | grep -q 'policy: "
			. "SCHED_\\(FIFO\\|RR\\)' && echo \${t##*/} "
			. "\$(awk '/^voluntary/ { print \$2 }' \$t/status); done");
	my ($thread) = keys %of;
	return (0, 0) if keys %of != 1;
	$code->();
	my ($end) =
		$vm->run("awk '/^voluntary/ { print \$2 }' /proc/$pid/task/$thread/status") =~ /(\d+)/;
	return (1, $end - $of{$thread});
}

# The kernel keeps all keys from us that are not of the chord.
sub other_keys {
	my $presses = 20;
	my ($found, $idle) = sleeps_while(sub { sleep 0.25 * $presses });
	ok($found, 'there is one real-time thread') or return;
	my (undef, $letters)   = sleeps_while(sub { $vm->press(('k') x $presses) });
	my (undef, $modifiers) = sleeps_while(sub { $vm->press(('ctrl') x $presses) });
	diag "the trigger thread slept $idle times without keys, $letters with $presses letters, "
		. "$modifiers with as many Ctrl";
	cmp_ok($modifiers, '>=', $presses,     'keys of the chord wake it');
	cmp_ok($letters,   '<',  $presses / 2, 'letters do not');
	$vm->press('ret');
	$vm->wait_for('the letters were typed', 'grep -q kkkkkkkkkkkkkkkkkkkk /home/user/typed');
	return;
}

# Its driver lets it go and takes it again: for all above the keyboard controller this is another
# keyboard.
sub replugged {
	my $before = $vm->run("ls -d $KEYS/input/input*");
	$vm->run("echo -n none > $KEYS/drvctl");
	$vm->wait_for('it has gone', "! ls $KEYS/input 2>/dev/null | grep -q input");
	sleep 1;
	is(status()->{hotkey}{keyboards}, 0, 'a keyboard that is pulled out is let go');
	$vm->run("echo -n rescan > $KEYS/drvctl");
	$vm->wait_for('another is there', "ls $KEYS/input/input*/ | grep -q event");
	isnt(
		scalar $vm->run("ls -d $KEYS/input/input*"), $before,
		'the kernel calls it by another name'
	);
	$vm->wait_for('it is found', 'tipme status --json | grep -Eq "\"keyboards\": 1,"');
	presses_make_one('its hot-key saves an episode');
	return;
}

# How many interrupts the devices have raised whose line in /proc/interrupts matches PATTERN.
sub interrupts {
	my ($pattern) = @_;
	my $n = 0;
	for (grep {/$pattern/} split /\n/, $vm->run('cat /proc/interrupts')) {
		my (undef, @of) = split;
		$n += $_ for grep {/^\d+$/} @of[ 0, 1 ];
	}
	return $n;
}

# A virtio device is plugged in beside that on the keyboard controller, and the emulator gives it
# the keys until it is pulled out.
sub virtio {
	$vm->monitor('device_add virtio-keyboard-pci,id=another');
	$vm->wait_for('it is found', 'tipme status --json | grep -Eq "\"keyboards\": 2,"');
	my @before = (interrupts(qr/virtio\d+-(?:events|virtqueues)/), interrupts(qr/i8042/));
	presses_make_one('its hot-key saves an episode');
	my @after = (interrupts(qr/virtio\d+-(?:events|virtqueues)/), interrupts(qr/i8042/));
	cmp_ok($after[0] - $before[0], '>=', 6, 'and came from it')
		or diag scalar $vm->run('cat /proc/interrupts');
	is($after[1], $before[1], 'alone');
	$vm->monitor('device_del another');
	$vm->wait_for('it has gone', 'tipme status --json | grep -Eq "\"keyboards\": 1,"');
	presses_make_one('the first one\'s does again');
	return;
}

sub hooks {
	my $x = start_recorder($vm);
	presses_make_one('the keyboard and the X server see a press, and it saves an episode');
	# It hangs, and tells of the press when it goes on.
	$vm->run("kill -STOP $x");
	presses_make_one('while it hangs, too', undef, sub { sleep 2; $vm->run("kill -CONT $x") });
	presses_make_one('and the next press is another');
	is(
		$vm->run("tipme status --json") =~ /"source": "x_hooks"/ ? 1 : 0, 1,
		'the hooks are there all the time'
	);
	return;
}
