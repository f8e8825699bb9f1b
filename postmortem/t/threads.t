#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Who processes were, from what is kept of those that have ended: read when asked for, and the same
# whatever stands around it.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Episode;
use Tipme::Test::Episode;
use Tipme::Threads;

use constant S => 1_000_000_000;
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

sub ended {
	my ($b, $pid, $from, $to, $exe, $args, %f) = @_;
	$b->add(
		'identity.rec', 'tipmed', 0, 'process', ts_ns => $to * S, tid => $pid, pid => $pid,
		start_ns => $from * S, exit_ns => $to * S, ppid => 300, exe => $exe, %f
	);
	$b->add(
		'identity.rec', 'tipmed', 0, 'exec_args', ts_ns => $from * S, tid => $pid, pid => $pid,
		start_ns => $from * S, uid => 1000, count => 1, text => $args
	);
	$b->add(
		'identity.rec', 'tipmed', 0, 'exec_environment', ts_ns => $from * S, tid => $pid,
		pid => $pid, start_ns => $from * S, text => 'HOME=/home/one'
	);
	return;
}

sub episode {
	my ($change) = @_;
	my $b = Tipme::Test::Episode->new(trigger_ns => 40 * S);
	$b->kernel(0, S, 'sched_switch', tid => 0, next_tid => 1)->thread(300, 'make', ts_ns => S);
	# A number that was used three times, out of order as the daemon keeps them, among others; the
	# last one lives.
	ended($b, 500, 20, 30, '/usr/bin/second',                   "second\nfile");
	ended($b, $_,  2,  3,  '/bin/true',                         'true') for 501 .. 600;
	ended($b, 500, 10, 15, '/usr/bin/a-first-one-of-long-name', 'first', ppid => 400);
	ended($b, 500, 35, 0,  '/usr/bin/third',                    'third');
	ended($b, 400, 1,  12, '/usr/bin/parent',                   'parent', ppid => 300);
	my $dir = tempdir(CLEANUP => 1);
	$b->write($dir);
	$change->("$dir/identity.rec") if $change;
	my $ep = Tipme::Episode->open($dir);
	return ($ep, Tipme::Threads->new($ep));
}

my ($ep, $t) = episode();
is($t->at(500, 12 * S)->{comm}, 'a-first-one-of-', 'by its file, as long as names are');
is($t->at(500, 25 * S)->{comm}, 'second',          'the same number later: another process');
is($t->at(500, 37 * S)->{comm}, 'third',           'one that has not ended');
is($t->at(500, 17 * S)->{comm}, '?',               'between them there was none');
is_deeply([ map { $t->at(500, $_ * S)->{ppid} } 12, 25 ], [ 400, 300 ], 'each with its parent');
is_deeply(
	[ $t->ancestors(500, 11 * S) ], [ [ 400, 'parent' ], [ 300, 'make' ] ],
	'its line goes on through processes that have ended'
);
is($t->args(500, 25 * S), 'second file', 'how it was called');
is($t->args(500, 12 * S), 'first',       'and the one before');
is($t->args(9,   12 * S), undef,         'nobody knows of others');
is($t->at(777, 12 * S)->{comm}, '?', 'nor their names');

# The heads of a section say of each record what its decoded form does.
for my $s ($ep->sections) {
	my ($heads, $buf) = $ep->section_heads($s);
	my ($list) = $ep->section_records($s);
	my %by_place = map { $_->[1] => $_->[2] } @$list;
	my (@wrong, $n);
	while (my ($type, $len, $off, $number) = splice @$heads, 0, 4) {
		my ($name, $f) = $ep->record->decode($buf, $off);
		$n++;
		push @wrong, "$name at $off"
			if $f->{type} != $type
			|| $by_place{$off} != $len
			|| defined $f->{pid} && $name =~ /^(?:process|exec_)/ && $f->{pid} != $number;
	}
	ok($n == @$list && !@wrong, "the heads of $s->{file} at $s->{offset}: all $n") or diag(@wrong);
}

# A record that is impossible: what stands before it is kept, the rest is said not to be read.
my ($damaged, $less) = episode(
	sub {
		open my $h, '+<:raw', $_[0] or die;
		seek $h, 64 + 48 + 2 * 64, 0;
		read $h, my $bytes, 200_000;
		my $at = index $bytes, '/usr/bin/a-first';
		seek $h, 64 + 48 + 2 * 64 + $at - 48 + 9, 0; # the length in the head of that process record
		print {$h} "\1";
		close $h;
	}
);
is(scalar(() = $damaged->damage), 1, 'one thing is wrong');
like(
	($damaged->damage)[0],
	qr/^identity\.rec: record \d+ of the section at byte \d+, at byte \d+: impossible: length 8: the rest of the section is not read$/,
	'and said so'
);
is($less->at(550, 2.5 * S)->{comm}, 'true', 'what stands before it is there');
is($less->at(500, 12 * S)->{comm},  '?',    'what stands behind is not');
is_deeply(\@warnings, [], 'no warnings');
done_testing;
