#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Of very many switches the program in C says what a picture shows: it is the same picture, byte for
# byte, as when each is held. With threads that change their names, lost switches, and CPUs of which
# only a part is covered.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Columns;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::TaskStates;
use Tipme::Test::Story;
use Tipme::Timeline;
use Tipme::Timeline::Picture;

plan skip_all => 'tipme-columns was not built: spans are held one by one'
	if !defined Tipme::Columns::program();
plan skip_all => 'the Perl module SVG is not installed' if !eval { require SVG; 1 };
my $MS    = 1_000_000;
my $tmp   = tempdir(CLEANUP => 1);
my $asked = 0;
{
	my $runs = \&Tipme::Columns::runs;
	no warnings 'redefine';
	*Tipme::Columns::runs = sub { my $r = $runs->(@_); $asked++ if $r; return $r };
}
for my $seed (1 .. 6) {
	my $dir = story($seed)->builder->write("$tmp/e$seed");
	for my $range ([], [ from_ns => 700 * $MS, to_ns => 1_000 * $MS ]) {
		my ($one, $other) = map { picture($dir, $_, @$range) } 0, 1;
		ok($one eq $other, "story $seed" . (@$range ? ', a part' : ''))
			or diag(difference($one, $other));
	}
}
is($asked, 12, 'the program was asked for each');

# How long a thread had a CPU, either way.
{
	local $Tipme::KernelEvents::MANY = 0;
	my $ep        = Tipme::Episode->open("$tmp/e1");
	my $ev        = Tipme::KernelEvents->load($ep, 0, 1 << 62);
	my @stretches = ([ 650 * $MS, 900 * $MS ], [ 950 * $MS, 1_100 * $MS ]);
	my $states    = Tipme::TaskStates->new($ev, Tipme::Threads->new($ep), 0, 2_000 * $MS);
	for my $tid (0, 1001, 1002) {
		my ($one, $other) =
			map {
			local $Tipme::TaskStates::OnCpu::MANY_ON = $_;
			$states->time_of(1, $tid, @stretches)
			} -1, 1 << 40;
		is($one, $other, "thread $tid had CPU 1 for $other ns");
	}

	# Who had a CPU instead of a thread, in runs of 10 ms and of half a millisecond.
	for my $cpu (0, 1) {
		for my $one_by_one ({}, { 1002 => [] }) {
			for my $how ([ 1001, 0, 10 * $MS ], [ 1003, 1, 0.5 * $MS + 0.25 ], [ 0, 0, $MS / 3 ]) {
				my ($tid, $rt, $length) = @$how;
				my $chain = bless { states => $states, tid => $tid }, 'Tipme::WakeupChain';
				no warnings 'redefine';
				local *Tipme::WakeupChain::_works = sub { return $one_by_one };
				my @span   = (650 * $MS, 1_100 * $MS, $cpu);
				my @where  = ($tid, $rt, $length, [ $cpu, @span[ 0, 1 ] ]);
				my $by_one = turns($chain->_taken_in_turn(\@span, $rt, $length));
				my $other  = turns(Tipme::Columns::turns($ev, $one_by_one, @where));
				cmp_ok(scalar @{ $by_one->[0] }, '>', 20, "CPU $cpu, instead of $tid: turns");
				is_deeply($other, $by_one, '... the same by the program');
			}
		}
	}
}
done_testing;

# turns(CODE, ENDS): all that it gives, and these
sub turns {
	my ($next, $ends) = @_;
	my @turns;
	while (my $turn = $next->()) { push @turns, $turn }
	return [ \@turns, $ends ];
}

sub picture {
	my ($dir, $many, @range) = @_;
	local $Tipme::KernelEvents::MANY   = $many ? 0 : 1 << 40;
	local $Tipme::Timeline::Cpus::MANY = $many ? 0 : 1 << 40;
	my $d = Tipme::Diagnosis->new(Tipme::Episode->open($dir));
	return Tipme::Timeline::Picture->svg(Tipme::Timeline->collect($d, $d->run, @range));
}

sub difference {
	my @a = split /\n/, $_[0];
	my @b = split /\n/, $_[1];
	for my $k (0 .. $#a) {
		return "line $k\n$a[$k]\n" . ($b[$k] // 'nothing') if $a[$k] ne ($b[$k] // '');
	}
	return 'the second is longer';
}

sub story {
	my ($seed) = @_;
	my $s = Tipme::Test::Story->new(trigger => 2000, section_records => 100)->key(1000, 400)
		->hotkey(1900);
	my $state = $seed * 7919;
	my $rand =
		sub { $state = ($state * 1103515245 + 12345) & 0x7fffffff; return ($state >> 8) % $_[0] };
	my @on = (0, 0, 0);
	$s->builder->thread(1000 + $_, "worker$_", ts_ns => 6 * $MS) for 1 .. 8;
	for my $n (0 .. 1500) {
		my ($t, $cpu, $tid) =
			(600 + $n * 0.4 + $rand->(300) / 1000, $rand->(3), 1000 + $rand->(16));
		my $what = $rand->(30);
		if ($what < 1) { $s->kernel($cpu, $t, 'rename', tid => $tid, comm => 'name' . $rand->(4)) }
		elsif ($what < 2) {
			$s->kernel(
				$cpu, $t, 'fork', tid => $tid, child_tid => 1000 + $rand->(16),
				child_pid => $tid, child_start_ns => int($t * $MS)
			);
		} elsif ($what < 8) {
			$s->wake($cpu, $t, $tid, 1000 + $rand->(16), undef);
		} else {
			my $next = $rand->(5) ? $tid : 0;
			$s->builder->switch(
				$cpu, int($t * $MS), $on[$cpu], $next,
				$rand->(2) ? 'sleeping' : 'runnable'
			);
			$on[$cpu] = $next if $rand->(30);
		}
	}
	return $s;
}
