#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What threads ask over the network: in a network of its own, with services that answer and that do
# not; beside `ss` and the kernel's count of what was sent again. No address and no port is kept.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Fcntl            ();
use IO::Socket::INET ();
use POSIX            ();
use Socket           qw(INADDR_LOOPBACK inet_aton pack_sockaddr_in);
use Test::More;
use Time::HiRes       qw(sleep clock_gettime CLOCK_MONOTONIC);
use Tipme::TestDaemon qw(slurp tipme records_of wait_until);

my ($SYS_UNSHARE, $CLONE_NEWNET) = (272, 0x40000000);
my %PORT = (
	dns => 53,   web => 80, mail => 143, files => 2049, directory => 389, print => 631, ssh => 22,
	x11 => 6010, desktop => 5900, database => 5432, 'local_names' => 5353, other => 8000
);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
plan skip_all => 'a part of all tests (TIPME_TEST_ALL=1)'  if !$ENV{TIPME_TEST_ALL};
# The loads and we are in it; the recorder, which sees all, is started by us and so is, too.
plan skip_all => 'no network namespace may be made here' if syscall $SYS_UNSHARE, $CLONE_NEWNET;
plan skip_all => 'no ip here' if system 'ip link set lo up 2> /dev/null';

my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 60 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'it starts' or BAIL_OUT("no recorder: $err");
if (!exists $d->status->{classes}{network} || !$d->status->{classes}{network}) {
	$d->stop;
	plan skip_all => 'what is sent is not recorded here';
}

# --- each kind of service, over TCP; the answer of a server is no request ---
my (%asks, %serves);
for my $service (sort keys %PORT) {
	my $listen = IO::Socket::INET->new(
		Listen    => 1, ReuseAddr => 1, LocalAddr => '127.0.0.1',
		LocalPort => $PORT{$service}
	) or die "$service: $@\n";
	$serves{$service} = child(
		sub {
			my $c = $listen->accept or return;
			sysread $c, my $asked, 4;
			syswrite $c, 'answer';
			sysread $c, $asked, 1;
		}
	);
	close $listen;
	$asks{$service} = child(
		sub {
			my $c = IO::Socket::INET->new("127.0.0.1:$PORT{$service}") or return;
			syswrite $c, 'asks';
			sysread $c, my $answer, 6;
		}
	);
	waitpid $_, 0 for $asks{$service}, $serves{$service};
}

# --- UDP, connected and not; a resolver that is mute ---
my $resolver = IO::Socket::INET->new(LocalAddr => '127.0.0.1:53', Proto => 'udp') or die "$@\n";
my $to       = pack_sockaddr_in(53, INADDR_LOOPBACK);
my %udp      = (
	connected => child(
		sub {
			my $u = IO::Socket::INET->new(PeerAddr => '127.0.0.1:53', Proto => 'udp');
			send $u, 'x' x 30, 0;
		}
	),
	'not connected' =>
		child(sub { my $u = IO::Socket::INET->new(Proto => 'udp'); send $u, 'x' x 30, 0, $to }),
	often => child(
		sub {
			my $u = IO::Socket::INET->new(PeerAddr => '127.0.0.1:53', Proto => 'udp');
			send $u, 'x', 0 for 1 .. 200;
		}
	),
);
waitpid $_, 0 for values %udp;

# --- who reads, sends acknowledgements only ---
my $listen = IO::Socket::INET->new(Listen => 1, ReuseAddr => 1, LocalAddr => '127.0.0.1:5901')
	or die "$@\n";
my $reads = child(
	sub {
		my $c = IO::Socket::INET->new('127.0.0.1:5901');
		syswrite $c, 'asks';
		my $all = 0;
		while (my $n = sysread $c, my $piece, 65536) { $all += $n }
		POSIX::_exit($all == 4_000_000 ? 0 : 1);
	}
);
{
	my $c = $listen->accept;
	my ($piece, $left) = ('x' x 100_000, 40);
	sysread $c, my $asked, 4;
	print {$c} $piece while $left--;
	close $c;
}
waitpid $reads, 0;
is $?, 0, 'one read four megabytes';

# --- nobody answers: what is sent again, as `ss` and the kernel count it ---
my ($again, $ss);
SKIP: {
	skip 'no pair of network cards may be made here', 1 if !nobody();
	my $before = sent_again();
	socket my $s, Socket::PF_INET, Socket::SOCK_STREAM, 0 or die "$!\n";
	my $flags = fcntl $s, Fcntl::F_GETFL(), 0;
	fcntl $s, Fcntl::F_SETFL(), $flags | Fcntl::O_NONBLOCK();
	connect $s, pack_sockaddr_in(636, inet_aton('192.0.2.9'));
	wait_until(sub { sleep 0.1; sent_again() - $before >= 2 });
	($ss) = qx{ss -tion state syn-sent dst 192.0.2.9 2> /dev/null} =~ m{\bretrans:\d+/(\d+)};
	close $s;
	$again = sent_again() - $before;
}
my $end_ns = int(clock_gettime(CLOCK_MONOTONIC) * 1e9);
my ($episode, @all);
wait_until(
	sub {
		sleep 0.5;
		$episode = (split /\n/, ($d->snap)[1])[1];
		(undef, @all) = records_of("$episode/kernel.rec");
		return grep { /^\w+ ts_ns=(\d+) / && $1 > $end_ns } @all;
	}
);
my @r  = map { +{/(\w+)=(\S+)/g} } grep {/^network /} @all;
my $of = sub {
	my ($pid) = @_;
	return grep { $_->{tid} == $pid && $_->{act} eq 'asked' } @r;
};
for my $service (sort keys %PORT) {
	my @its = $of->($asks{$service});
	is join(' ', sort keys %{ { map { ("$_->{service}/$_->{protocol}/$_->{place}" => 1) } @its } }),
		"$service/tcp/machine", "$service: asked, on this machine";
	is scalar $of->($serves{$service}), 0, "$service: who answers asks nobody";
}
for my $how (sort keys %udp) {
	my @its = $of->($udp{$how});
	is join('/', @{ $its[0] // {} }{qw(service protocol)}), 'dns/udp', "UDP, $how";
	my $ms = @its ? ($its[-1]{ts_ns} - $its[0]{ts_ns}) / 1e6 : 0;
	cmp_ok scalar @its, '<=', 1 + $ms / 10, "... one record each 10 ms: " . @its . " in $ms ms";
}
# One when the connection begins, at most one more for what it sends.
cmp_ok scalar $of->($reads), '<=', 2, 'acknowledgements are no requests';
SKIP: {
	skip 'no pair of network cards may be made here', 4 if !defined $again;
	my @mine = grep { $_->{act} eq 'again' && $_->{service} eq 'directory' } @r;
	is scalar(@mine), $again, "sent again: as the kernel counts it, $again times";
	is scalar(grep { $_->{tid} == $$ } @mine), scalar @mine, '... by whom';
	is $mine[0]{place},                        'beyond',     '... and how far away';
	skip 'ss tells nothing', 1 if !defined $ss;
	cmp_ok $ss, '<=', scalar @mine, "ss has seen $ss of them";
}
my (%seen, @first);
for (@r) { push @first, $_->{socket} if !$seen{ $_->{socket} }++ }
is_deeply \@first, [ 1 .. @first ], 'a connection is a number, given in turn';

# --- switched off ---
is + ($d->run(tipme(), 'classes', '-network'))[0], 0, 'the class is switched off';
my $off = child(sub { my $u = IO::Socket::INET->new(Proto => 'udp'); send $u, 'x', 0, $to });
waitpid $off, 0;
$end_ns = int(clock_gettime(CLOCK_MONOTONIC) * 1e9);
wait_until(
	sub {
		sleep 0.5;
		(undef, @all) = records_of((split /\n/, ($d->snap)[1])[1] . '/kernel.rec');
		return grep { /^\w+ ts_ns=(\d+) / && $1 > $end_ns } @all;
	}
);
is scalar(grep {/^network .*\btid=$off /} @all), 0, 'a class that is off records nothing';
$d->stop;
done_testing();

sub child {
	my ($does) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	$SIG{ALRM} = 'DEFAULT';
	alarm 60;
	$does->();
	POSIX::_exit(0);
}

# How much TCP has sent again in this network.
sub sent_again {
	my ($names, $values) = map { [ split ' ' ] } grep {/^Tcp:/} split /\n/, slurp('/proc/net/snmp');
	my %of;
	@of{@$names} = @$values;
	return $of{RetransSegs};
}

# A card whose other end takes what is sent, and never answers.
sub nobody {
	return 0 if system 'ip link add nobody type veth peer name there 2> /dev/null';
	for (
		'addr add 192.0.2.1/24 dev nobody', 'link set nobody up', 'link set there up',
		'neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev nobody'
		)
	{
		return 0 if system "ip $_";
	}
	return 1;
}
