#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A Wayland session without hooks, restart or cooperation: what the compositor sends and draws is
# recorded as its own log has it, never which key; and whoever makes a key slow is named.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
use lib "$ENV{TIPME_SRCDIR}/helper/test/lib", "$ENV{TIPME_SRCDIR}/tests/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Episode;
use Tipme::ExactPath qw(exact_path);
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::TestDaemon qw(manifest tipme);
use Tipme::WaylandStage;
use Tipme::Witness qw(undisturbed);
use JSON::PP       ();

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $lacks = Tipme::WaylandStage->lacks;
plan skip_all => "$lacks is not installed" if defined $lacks;

my $d = Tipme::TestDaemon->new(args => [ '--owner', Tipme::WaylandStage::NOBODY, '--post', 0 ]);
my ($rc, $out, $err) = $d->start;
is($rc, 0, 'the recorder starts') or BAIL_OUT("$out$err");
unlike($out, qr/Wayland compositors/, 'nothing is said against the library of this system');
my $stage    = Tipme::WaylandStage->new;
my $terminal = $stage->terminal('/bin/sh');

# What is typed is told apart by nothing; what the compositor's own log says is told, each once.
my @told = (
	qr/-> wl_keyboard\@\d+\.key\(.*, 1\)$/, qr/-> wl_keyboard\@\d+\.key\(.*, 0\)$/,
	qr/wl_surface\@\d+\.attach/
);
$stage->type('aaaaaa');
my $first = episode('typed');
my @said  = map { $stage->said($_) } @told;
my %seen  = counts($first, $terminal);
is($seen{press}, $said[0], "key presses: $said[0]");
cmp_ok($said[0], '>=', 5, '... all that were typed, but that the first may come with the focus');
is($seen{release}, $said[1], "key releases: $said[1]");
is($seen{commit},  $said[2], "pictures: $said[2]");
cmp_ok(
	$seen{unanswered}, '<=', 1,
	'each that asked for a callback was told what became of it, but perhaps the last one'
);

# Two texts at one pace: nothing but times tells them apart, as client and keyboard are the same.
my @texts = map { [ payloads(episode($_)) ] } map { $stage->type($_); $_ } qw(zzzzzz);
$stage->type('qwerty');
push @texts, [ payloads(episode('qwerty')) ];
sleep 0.1;
is_deeply(
	[ tail(6, @{ $texts[1] }) ], [ tail(6, @{ $texts[0] }) ],
	'two texts give the same records'
);

# Of each delivery all but its times (when, and how old), of the whole ring; tail: those of the last
# N presses
sub payloads {
	my ($folder) = @_;
	my $ev = Tipme::KernelEvents->load_only(Tipme::Episode->open($folder), 96);
	# Others may type in a session of their own.
	return map {
		my (undef, @fields) = $ev->columns($_);
		my $kind = pop @fields;
		$fields[0] == $stage->compositor
			? sprintf '%d %d %d %d %04x', @fields, $kind & 0xffff
			: ()
	} 0 .. $ev->count - 1;
}

sub tail {
	my ($n, @list) = @_;
	my $presses = 0;
	my $k       = @list;
	while ($k && $presses < $n) { $presses++ if $list[ --$k ] =~ / 0101\z/ }
	return @list[ $k .. $#list ];
}

sub counts {
	my ($folder, $pid) = @_;
	my $ep = Tipme::Episode->open($folder);
	my %number =
		map { $Tipme::Record::Layout::RECORD{$_}{name} => $_ } keys %Tipme::Record::Layout::RECORD;
	my $ev = Tipme::KernelEvents->load_only($ep, @number{qw(wl_deliver wl_commit wl_done)});
	my (%n, %asked);
	for my $i (0 .. $ev->count - 1) {
		my (undef, undef, $who, $client, $object, $more) = $ev->columns($i);
		my $type = vec $ev->{type}, $i, 8;
		next if $who != $pid;
		if ($type == $number{wl_deliver}) {
			$n{ { 1 => 'press', 2 => 'release' }->{ $more & 255 } // 'other' }++
				if ($more >> 8 & 255) == 1;
		} elsif ($type == $number{wl_commit}) {
			$n{commit}++;
			$asked{$more}++ if $more;
		} else {
			delete $asked{$object};
		}
	}
	return (press => 0, release => 0, commit => 0, %n, unanswered => scalar keys %asked);
}

# Who makes a key slow. Minutes where others keep the machine busy, so it is a part of --all.
if ($ENV{TIPME_TEST_ALL}) { stories() }
else { note 'four causes on this compositor are played with TIPME_TEST_ALL=1 alone' }
$d->stop;
$stage->close;
done_testing;

sub children {
	my ($pid) = @_;
	open my $h, '<', "/proc/$pid/task/$pid/children" or return;
	return split ' ', <$h> // '';
}

# Each story begins with a new recorder, so that only its own keys are in the ring. What else this
# machine does is not the story.
sub stories {
	system "chrt -a -f -p $$_[0] $$_[1] >/dev/null"
		for [ 40, $stage->compositor ], [ 10, $terminal ];
	story('nothing unusual',       'none',    undef,  sub { $stage->type('aaaa') });
	story('the client is stopped', 'stopped', 'foot', sub { while_stopped($terminal, 1) });
	# The key is written while the compositor cannot read it: so it is at hand, and nobody is woken.
	story(
		'the compositor is stopped', 'stopped', 'sway',
		sub { while_stopped($stage->compositor, 0) }
	);
	my $other = $stage->terminal(
		$^X, '-MTime::HiRes=time', '-e', q{$| = 1; $0 = 'editor'; system 'stty raw -echo';
		while (sysread STDIN, my $c, 1) {
			my $end = time + ($c eq 'c' ? 0.7 : 0);
			1 while time < $end;
			print $c;
		}}
	);
	my ($editor) = children($other);
	system "chrt -a -f -p 10 $_ >/dev/null" for $other, $editor;
	story(
		'the program in a terminal computes', 'ipc-wait', 'editor',
		sub { $stage->type('aaac'); sleep 1 }
	);
	story(
		'whom the client waits for is stopped', 'stopped', 'editor',
		sub { while_stopped($editor, 1) }
	);
	return;
}

# Three keys, and a fourth while a process is stopped; sees: whether the compositor can send it
# meanwhile
sub while_stopped {
	my ($pid, $sees) = @_;
	$stage->begin_typing((map { [ a => 200 ] } 1 .. 3), [ a => 1200 ]);
	$stage->pressed(3);
	sleep 0.3;
	kill 'STOP', $pid;
	if ($sees) { $stage->pressed(4); sleep 0.6 }
	else       { sleep 1.6 }
	kill 'CONT', $pid;
	$stage->pressed(4);
	$stage->typed;
	return;
}

sub story {
	my ($what, $kind, $comm, $act) = @_;
	subtest $what => sub {
		my $j = undisturbed(
			sub {
				$d->stop;
				is(($d->start)[0], 0, 'a new recorder');
				sleep 1.2;    # it knows who there is when it has taken a picture
				$act->();
				sleep 0.3;
				return JSON::PP->new->utf8->decode(
					($d->run(tipme(), 'diagnose', '--json', episode($what)))[1]);
			}
		);
		is($j->{verdict}{kind}, $kind, "verdict: $j->{verdict}{sentence}")
			or diag explain [ @$j{qw(verdict event interval)} ];
		is($j->{event}{server}{source}, 'wayland', 'told by the compositor');
		return if !defined $comm;
		is($j->{verdict}{blamed}{comm}, $comm, "blamed: $comm");
		cmp_ok($j->{verdict}{share}, '>=', 0.95, 'by at least 95 % of the time');
		exact_path($j);
	};
}

sub episode {
	my ($what) = @_;
	my ($status, $id, $why) = $d->snap;
	is($status, 0, "saved: $what") or BAIL_OUT($why);
	my ($folder) = $id =~ m{^(/.*)$}m;
	$stage->wait_for(sub { -e "$folder/manifest.json" }, "the episode of $what");
	return $folder;
}
