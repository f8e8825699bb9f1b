#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# `tipme latency` and the tools that people have, cyclictest and `rtla timerlat`, in turns and in
# drawn order on Debian's real-time kernel in an emulated machine: twenty pairs each, their
# quantiles with intervals, and how busy the machine was. TIPME_PAIR_S: of each turn (3);
# TIPME_TEST_PARTS: cyclictest, timerlat; TIPME_PAIRS_S: after so many seconds of a part no further
# pair begins, and what there is counts, with wider intervals. With TIPME_TEST_ALL=1.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use FindBin;
use List::Util qw(min sum0);
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib", "$FindBin::Bin/../../helper/test/lib";
use Tipme::Desktop      qw(payload);
use Tipme::Distribution qw(of_cyclictest of_rtla total);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

# Not in step with the kernel's tick.
use constant { PAIRS => 20, PERIOD_US => 3700, LEAST => 50, RTLA_MOST_US => 100_000 };
# What a turn needs before it measures and after is left out of the time that it is busy.
use constant { BUSY_S => 1, END_S => 0.1 };
my $S = $ENV{TIPME_PAIR_S} // 3;
$S >= 3 or BAIL_OUT("TIPME_PAIR_S=$S: three seconds or more");

# Whose latencies by whose: [ our stage, their column or undef for cyclictest ].
my %PART = (
	cyclictest => { source => 'user', theirs => \&cyclictest, pairs => [ [ 'total_user', '' ] ] },
	timerlat   => {
		source => 'tracing', theirs => \&rtla,
		pairs  => [ [ 'irq', 'IRQ' ], [ 'total_user', 'Thr' ] ]
	}
);
# Ours ends in user space, timerlat's thread is one of the kernel's: between both lies the way back
# there, which these tell apart, too. So ours is longer, by less than that twice.
my %LONGER = ('total_user Thr' => 1);

my $vm = Tipme::VM->new(kernel => $ENV{TIPME_TEST_KERNELS} // '6.12-rt', payload => payload());
$vm->run('mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing');
srand 1999;
for my $name (split ' ', $ENV{TIPME_TEST_PARTS} // 'cyclictest timerlat') {
	my $part = $PART{$name} // BAIL_OUT("$name: no such part");
	subtest $name => sub { in_turns($name, $part) };
}
$vm->close;
done_testing;

sub in_turns {
	my ($name, $part) = @_;
	my %turn = (ours => sub { ours($part->{source}) }, theirs => $part->{theirs},
		nothing => sub { ((turn("sleep $S"))[1], {}) });
	my (%ratio, %busy, %ours);
	my $end = time + ($ENV{TIPME_PAIRS_S} // 86_400);
	for my $round (1 .. PAIRS) {
		last if time >= $end;
		my @order = rand() < 0.5 ? qw(ours theirs) : qw(theirs ours);
		# The machine by itself, now and then: its share is that of both.
		push @order, 'nothing' if $round % 5 == 0;
		my %of;
		for my $who (@order) {
			(my $busy, $of{$who}) = $turn{$who}->();
			push @{ $busy{$who} }, $busy;
		}
		push @{ $ours{$_} }, quantile($of{ours}{$_}, 0.5) for keys %{ $of{ours} };
		for my $pair (@{ $part->{pairs} }) {
			my ($o, $t) = ($of{ours}{ $pair->[0] }, $of{theirs}{ $pair->[1] });
			my $few = min(map { total($_) } $o, $t);
			$few >= LEAST or BAIL_OUT("$name, round $round: only $few latencies");
			push @{ $ratio{"@$pair"}{$_} }, quantile($o, $_) / quantile($t, $_) for 0.5, 0.9, 0.99;
			push @{ $ratio{"@$pair"}{us}{$_} }, [ quantile($o, $_), quantile($t, $_) ]
				for 0.5, 0.9, 0.99;
		}
	}
	for my $pair (sort keys %ratio) {
		judge($name, $pair, $_, @{ $ratio{$pair} }{ $_, 'us' }) for 0.5, 0.9, 0.99;
	}
	# Where a difference lies.
	diag "$name: ours, median of the turns' medians: ", join ', ',
		map { sprintf '%s %d us', $_, (sort { $a <=> $b } @{ $ours{$_} })[ @{ $ours{$_} } / 2 ] }
		sort keys %ours;
	for my $who (sort keys %busy) {
		my @b = sort { $a <=> $b } @{ $busy{$who} };
		diag sprintf '%s: busy of both CPUs: %s %.1f %% (median of %d turns; quartiles %.1f, %.1f)',
			$name, $who, 100 * $b[ @b / 2 ], scalar @b, 100 * $b[ @b / 4 ], 100 * $b[ @b * 3 / 4 ];
	}
	return;
}

# Of twenty, the 6th and the 15th bound the median in 96 of 100 (binomial); of fewer likewise.
sub judge {
	my ($name, $pair, $p, $ratios, $us) = @_;
	my @r = sort { $a <=> $b } @$ratios;
	my $rank = rank(scalar @r);
	defined $rank or return fail("$pair: " . @r . ' pairs are too few for an interval');
	my ($least, $median, $most) =
		($r[$rank], sqrt($r[ $#r / 2 ] * $r[ @r / 2 ]), $r[ -1 - $rank ]);
	my @middle = map {
		my $i = $_;
		(sort { $a <=> $b } map { $_->[$i] } @{ $us->{$p} })[ @r / 2 ]
	} 0, 1;
	diag sprintf '%s, %s, %d pairs, quantile %s: ours %d us, theirs %d us; ratio %.2f, '
		. '%.2f to %.2f: %s',
		$name, $pair, scalar @r, $p, @middle, $median, $least, $most,
		$least <= 1 && $most >= 1 ? 'they agree' : 'they differ';
	# A stray switch of the emulator more or less is half as much again.
	my $room = $LONGER{$pair} ? 3 : 1.5;
	ok($least < $room && $most > 1 / 1.5, "$pair, quantile $p: both see the same");
	return;
}

# How many of N lie outside on each side of an interval that holds their median in 95 of 100; undef:
# even all of them do not.
sub rank {
	my ($n) = @_;
	my ($sum, $p, $k) = (0, 0.5**$n, 0);
	while (($sum += $p) <= 0.025) { $p *= ($n - $k) / ++$k }
	return $k ? $k - 1 : undef;
}

# Runs COMMAND; returns (what it said, which part of the time of both CPUs something ran).
sub turn {
	my ($command) = @_;
	my $said = $vm->run(
		sprintf '(sleep %s; cat /proc/stat /proc/uptime | grep -v intr; sleep %s; cat /proc/stat '
			. '/proc/uptime) > /tmp/busy & %s; wait',
		$S - BUSY_S - END_S, BUSY_S, $command
	);
	my $stat = $vm->run('grep -E "^cpu |^[0-9.]+ [0-9.]+$" /tmp/busy');
	my @idle = map { my @n = split; $n[4] + $n[5] } $stat =~ /^cpu .*/mg;
	my @at   = $stat =~ /^([0-9.]+) [0-9.]+$/mg;
	@idle == 2 && @at == 2 && $at[1] > $at[0] or BAIL_OUT("no times: $stat");
	# In hundredths of a second, of two CPUs.
	return ($said, 1 - ($idle[1] - $idle[0]) / 200 / ($at[1] - $at[0]));
}

sub ours {
	my ($source) = @_;
	my ($said, $busy) = turn(
		sprintf 'rm -f /tmp/r.json; /usr/libexec/tipme/tipme-latency record --source %s '
			. '--duration %d --period %d --sample 0 --output /tmp/r.json',
		$source, $S, PERIOD_US
	);
	my $r = eval { Cpanel::JSON::XS->new->decode(scalar $vm->run('cat /tmp/r.json')) }
		or BAIL_OUT("ours: $said");
	my %of;
	push @{ $of{ $_->{stage} } }, @{ $_->{buckets} } for @{ $r->{stages} };
	return ($busy, \%of);
}

sub cyclictest {
	my ($said, $busy) = turn(
		sprintf 'cyclictest -m -p 80 -t -a -i %d -d 0 -D %d -q -h 100000 | grep -v "^[0-9]* '
			. '000000.000000$"',
		PERIOD_US, $S
	);
	return ($busy, { '' => [ map { @{ of_cyclictest($said, $_) } } 0, 1 ] });
}

sub rtla {
	my ($said, $busy) = turn(
		sprintf 'rtla timerlat hist -p %d -d %ds -P f:80 -b 1 -E %d',
		PERIOD_US, $S, RTLA_MOST_US
	);
	my %of;
	for my $kind (qw(IRQ Thr)) {
		$of{$kind} = [ map { @{ of_rtla($said, sprintf '%s-%03d', $kind, $_) } } 0, 1 ];
	}
	return ($busy, \%of);
}

# In us, counted from the bucket's end: a quotient has no 0.
sub quantile {
	my ($d, $part) = @_;
	my $left = $part * total($d);
	for (sort { $a->[0] <=> $b->[0] } @$d) {
		return $_->[0] + 1 if ($left -= $_->[1]) <= 0;
	}
	return 1;
}
