#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# No false accusation, with keys of a keyboard: ordinary typing in an emulated machine, undisturbed,
# ends in the verdict `none`; the kernel module is the source.
use strict;
use warnings;
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop    qw(start_recorder hot_key diagnose no_complaint to_its_end);
use Tipme::LabMachine qw($AS_USER payload read_keys);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my $ROUNDS = $ENV{TIPME_QUIET_ROUNDS} // 20;
# What is answered later may be said; then it is staged again, and left out, aloud, if the host lets
# the machine be no quicker.
my $QUIET_NS = 90_000_000;
# A client of our own that draws, or the terminal with the shell that the user has logged in to.
my @CLIENTS = qw(notesd xterm);

for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.12') {
	to_its_end("Debian's kernel $kernel, module" => sub { on_kernel($kernel) });
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my ($payload, $why) = payload($kernel, 'module');
	plan skip_all => $why if !$payload;
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	is(($vm->run('insmod /opt/lab/tipme.ko'))[1], 0, 'the module loads');
	my $server = start_recorder($vm);
	read_keys($vm, 32, 45);    # d and x
	like(
		scalar $vm->run('tipme status --json'), qr/"source" *: *"kernel_module"/,
		'with that source'
	);

	for my $client (@CLIENTS) {
		open_client($vm, $client);
		for my $n (1 .. $ROUNDS / @CLIENTS) {
			my $r;
			for (0 .. 2) { $r = episode($vm, $server); last if $r->{slowest_ns} <= $QUIET_NS }
			judge("$client, episode $n", $r);
		}
		close_client($vm, $client);
	}
	no_complaint($vm);
	$vm->close;
}

# A client with the focus, and who watches its window.
sub open_client {
	my ($vm, $client) = @_;
	if ($client ne 'xterm') {
		$vm->run("setsid $AS_USER /opt/lab/lab-client -n $client -d 'compute 1' >/dev/null 2>&1 &");
		$vm->wait_for('the client runs', "pgrep -x $client");
	}
	my $not = $client eq 'xterm' ? '' : '-v';
	my ($window) = $vm->wait_for(
		'it has a window',
		$vm->as_user("xwininfo -root -tree | grep tipme-stage | grep $not XTerm")
	) =~ /(0x[0-9a-f]+)/;
	$vm->run("setsid chrt -f 58 $AS_USER /opt/lab/observer $window > /dev/shm/seen 2>/dev/null &");
	$vm->wait_for('the observer looks', 'grep -q ready /dev/shm/seen');
	# What comes up for the first time is slow.
	$vm->press(qw(d x d));
	return;
}

sub close_client {
	my ($vm, $client) = @_;
	$vm->wait_for(
		'they have ended', join ' ', 'pkill -KILL -x observer;',
		$client eq 'xterm' ? () : "pkill -KILL -x $client;", 'sleep 0.3; ! pgrep -x',
		$client eq 'xterm' ? 'observer' : "'$client|observer'"
	);
	return;
}

# Somebody types eleven letters and presses the hot-key.
sub episode {
	my ($vm, $server) = @_;
	# What was before must not be in the ring: the worst of it would still be the old one.
	$vm->wait_for('the recorder begins anew', 'tipme stop; tipme start --owner 1000');
	$vm->wait_for(
		'the server has offered its ring',
		"tipme status --json | grep -Eq 'x_servers.*pid\": $server,'"
	);
	$vm->run('sleep 3; : > /dev/shm/keys; true');
	$vm->press(qw(d d d x d d d x d d d));
	sleep 0.5;
	my $d = diagnose($vm, hot_key($vm), undef);
	return { diagnosis => $d, slowest_ns => slowest($vm) };
}

# The longest time from a key, as its device tells it, to the next change of the window, as another
# X client sees it; nothing of our records.
sub slowest {
	my ($vm)  = @_;
	my @press = $vm->run('cat /dev/shm/keys') =~ /^(\d+)/mg;
	my @seen  = $vm->run('cat /dev/shm/seen') =~ /^(\d+) /mg;
	is(scalar @press, 11, 'the keys were read from their device');
	my $slowest = 0;
	for my $p (@press) {
		my ($t) = grep { $_ > $p } @seen;
		ok(defined $t, 'the window changed') or next;
		$slowest = $t - $p if $t - $p > $slowest;
	}
	return $slowest;
}

sub judge {
	my ($name, $r) = @_;
	my $ms = sprintf '%.0f', $r->{slowest_ns} / 1e6;
SKIP: {
		skip "$name: the machine was not quiet, three times: an answer took $ms ms", 1
			if $r->{slowest_ns} > $QUIET_NS;
		my $d = $r->{diagnosis};
		is(
			$d && $d->{verdict}{kind}, 'none',
			"$name, at most $ms ms: " . ($d ? $d->{verdict}{sentence} : '')
		) or diag(explain($d->{totals}));
	}
	return;
}
