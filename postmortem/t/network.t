#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Waits for what was asked over the network: the kind of service is named, with what had to be sent
# again; and beside each the scene that looks alike and is none.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, SHELL => 300, OTHER => 500, MS => 1_000_000 };

sub ns { return Tipme::Test::Story::ns($_[0]) }

# asks(STORY, MS, TID, SERVICE, ...): that thread sends something; again(...): the kernel does
sub asks {
	my ($s, $t, $tid, $service, %o) = @_;
	return $s->kernel(
		1, $t, 'network',
		tid      => $tid,
		socket   => 5,
		bytes    => 60,
		service  => $service,
		protocol => 'tcp',
		act      => 'asked',
		place    => 'local',
		%o
	);
}

sub story {
	my (%o) = @_;
	my $s = Tipme::Test::Story->new(%o);
	$s->builder->stack(90, stack_text('tcp'))
		->thread(OTHER, 'ssh', ts_ns => 5 * MS, since_ns => 2 * MS);
	return $s;
}

sub sentence { my ($d, $like, $what) = @_; return like($d->{verdict}{sentence}, $like, $what) }

# The client asks at 1,000.9 ms and sleeps in poll() until its own timer, 5 s later; the release of
# the key finds it so.
sub names {
	my (%o) = @_;
	my $s = story(trigger => 8000)->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	asks($s, $o{asked} // 1000.9, CLIENT, 'dns', protocol => 'udp', place => $o{place} // 'local');
	$s->enter(1080, kind => 'key_release', no_wake => 1);
	$s->wake(1, 6001, CLIENT, 0, 'poll', context => $o{context} // 'hardirq');
	$s->run(1, 6001.1, 6003, CLIENT, 'sleeping')->draw(6002.8)->hotkey(7000);
	return $s->picture(CLIENT, 'xterm', since_ns => ns(6003), stack_id => $s->id('poll'));
}
my $d = judged('a name service that is mute', names(), 'network-wait', 'xterm', 0.98, 1);
sentence(
	$d,
	qr/most likely, for 5\.00 s \(100 %\) it was waiting for an answer of the name service \(DNS\) in the local network, which did not come: it gave up\.$/,
	'... the sentence'
);
like($d->{verdict}{door}, qr/\Awhoever runs the name service/, '... whom to ask');
$d = judged(
	'... beyond it, with a late answer',
	names(context => 'softirq_irq', place => 'beyond'), 'network-wait', 'xterm', 0.98, 1
);
sentence(
	$d, qr/an answer of the name service \(DNS\) beyond the local network\.$/,
	'... the sentence'
);
$d = judged('asked long before it slept', names(asked => 700), 'timer-sleep', 'xterm', 0.9, 1);

# A web server that answers after 2 s; what had to be sent again is counted.
sub web {
	my (%o) = @_;
	my $s = story(trigger => 4000)->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	asks($s, 1000.9, CLIENT, 'web', place => 'unknown');
	asks($s, $_,     CLIENT, 'web', act   => 'again') for @{ $o{again} // [] };
	asks($s, 1500,   CLIENT, 'web', act   => 'again', socket => 6);
	$s->wake(0, 3001, CLIENT, 0, undef, context => 'softirq_irq', stack_id => 90);
	return $s->run(1, 3001.1, 3003, CLIENT, 'sleeping')->draw(3002.9)->hotkey(3500);
}
$d = judged('a web server', web(), 'network-wait', 'xterm', 0.98, 1);
sentence($d, qr/ it was waiting for an answer of a web server\.$/, '... the sentence');
$d =
	judged('... asked again', web(again => [ 1200, 1600, 2400 ]), 'network-wait', 'xterm', 0.98, 1);
sentence($d, qr/a web server; it had to be asked again, 3 times\.$/, '... the sentence');

# The directory of users does not answer, and still is waited for.
{
	my $s = story(trigger => 4000)->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	asks($s, 1000.95, CLIENT, 'directory')->hotkey(3900);
	$s->picture(CLIENT, 'xterm', since_ns => ns(1001), stack_id => 90);
	$d = judged('a directory', $s, 'network-wait', 'xterm', 0.98, 1);
	sentence(
		$d, qr/the directory of users \(LDAP, Kerberos\) in the local network, and still is\.$/,
		'... the sentence'
	);
}

# The terminal hands the key to another program, which asks a machine far away and waits for that.
sub through {
	my ($service, %o) = @_;
	my $s = story(trigger => 4000)->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->wake(1, 1000.9, OTHER, CLIENT, 'poll')->run(0, 1001, 1002, OTHER, 'sleeping');
	asks($s, 1001.9, OTHER, $service, place => 'beyond') if !$o{untold};
	$s->wake(0, 1600, OTHER, 0, 'poll', context => 'softirq_irq');
	$s->run(0, 1600.1, 1601, OTHER, 'sleeping')->wake(0, 1600.9, CLIENT, OTHER, 'poll');
	return $s->run(1, 1601, 1603, CLIENT, 'sleeping')->draw(1602.9)->hotkey(3000);
}
$d = judged('ssh', through('ssh'), 'network-wait', 'ssh', 0.97, 1);
sentence(
	$d,
	qr/for 598 ms \(99 %\) ssh \(pid 500\), for which it waited, was waiting for an answer of a machine behind SSH beyond the local network\.$/,
	'... the sentence'
);
# The same of a print server of this machine, whose printer is gone, and of what asks for users.
$d = judged('a printer', through('print'), 'network-wait', 'ssh', 0.97, 1);
sentence($d, qr/ was waiting for an answer of a printer, or its server beyond/, '... the sentence');
$d = judged('users', through('directory'), 'network-wait', 'ssh', 0.97, 1);
like($d->{verdict}{next}, qr{/etc/nsswitch\.conf}, '... what to look at');
judged(
	'... of which nobody tells what it asked', through('ssh', untold => 1), 'ipc-wait', 'ssh',
	0.97, 1
);

# The X client itself brings what a program of another machine draws (ssh -X).
{
	my $s = story(no_usual => 1);
	for my $t (600, 700, 800, 1000) {
		my $answer = $t == 1000 ? 400 : 6;
		$s->enter($t)->run(1, $t + 0.25, $t + 1, CLIENT, 'sleeping');
		asks($s, $t + 0.9, CLIENT, 'ssh')
			->wake(1, $t + $answer, CLIENT, 0, 'poll', context => 'softirq_irq');
		$s->run(1, $t + $answer + 0.1, $t + $answer + 2, CLIENT, 'sleeping')
			->draw($t + $answer + 1.8);
	}
	$s->hotkey(3000)->picture(CLIENT, 'xterm', since_ns => ns(1402), stack_id => $s->id('poll'));
	$d = judged('ssh -X', $s, 'network-wait', 'xterm', 0.95, 1);
	sentence(
		$d, qr/ an answer of a machine behind SSH in the local network\.$/,
		'... the sentence'
	);
}

# A server of this machine that answers is followed, whatever its port stands for.
{
	my $s = story(trigger => 4000)->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	asks($s, 1000.9, CLIENT, 'print', place => 'machine');
	$s->wake(1, 1000.92, OTHER, CLIENT, 'epoll', context => 'softirq_task', raiser_tid => CLIENT);
	$s->run(0, 1001, 1700, OTHER, 'sleeping');
	$s->wake(
		0, 1699.9, CLIENT, OTHER, undef, context => 'softirq_task', raiser_tid => OTHER,
		stack_id => 90
	);
	$s->run(1, 1700, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
	judged('a server of this machine', $s, 'ipc-wait', 'ssh', 0.97, 1);
}
done_testing();
