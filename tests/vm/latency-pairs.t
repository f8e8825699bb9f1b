#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# `tipme latency` and the tools that people have, cyclictest and `rtla timerlat`, in turns and in
# drawn order on Debian's real-time kernel in an emulated machine: twenty pairs each, their
# quantiles with intervals, and how busy the machine was. TIPME_PAIR_S: of each turn (3);
# TIPME_TEST_PARTS: cyclictest, timerlat; TIPME_PAIRS_S: after so many seconds of a part no further
# pair begins, and what there is counts, with wider intervals. So does what there is when it is told
# to end. TIPME_PAIRS_KEEP=FILE: each pair is a line there once it is measured, and those there of
# the same part, length and kernel count; remove it when what is measured has changed. With
# TIPME_TEST_ALL=1.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use FindBin;
use List::Util qw(min);
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
my @QUANTILES = (0.5, 0.9, 0.99);
my $S         = $ENV{TIPME_PAIR_S} // 3;
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

# The turn that runs is given up, and what there is counts.
my $ended;
@SIG{qw(INT TERM)} = (sub { $ended = 1; die "told to end\n" }) x 2;
my $kernel = $ENV{TIPME_TEST_KERNELS} // '6.12-rt';
my $vm     = Tipme::VM->new(kernel => $kernel, payload => payload(), nice => -10);
$vm->run('mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing');
for my $name (split ' ', $ENV{TIPME_TEST_PARTS} // 'cyclictest timerlat') {
	my $part = $PART{$name} // BAIL_OUT("$name: no such part");
	subtest $name => sub { in_turns($name, $part) };
}
$vm->close;
done_testing;

sub in_turns {
	my ($name, $part) = @_;
	my @rounds = kept($name);
	# The same order, whether it is begun once or twice.
	srand 1999;
	my @first = map { rand() < 0.5 ? 'ours' : 'theirs' } 1 .. PAIRS;
	my $end   = time + ($ENV{TIPME_PAIRS_S} // 86_400);
	while (@rounds < PAIRS && time < $end && !$ended) {
		# The machine by itself, now and then: its share is that of both.
		my $round = eval { a_round($part, $first[@rounds], @rounds % 5 == 4) };
		last if !$round && $ended;
		$round or fail("$name, pair " . (1 + @rounds) . ": $@"), last;
		push @rounds, $round;
		keep($name, $round);
		my $us = $round->{us};
		diag "$name, pair ", scalar @rounds, ' of ', PAIRS, ': ', join '; ', map {
			"$_: " . join ', ',
				map {"$_->[0] and $_->[1] us"} @{ $us->{$_} }
		} sort keys %$us;
	}
	$ended and diag "$name: told to end after ", scalar @rounds, ' pairs';
	for my $pair (map {"@$_"} @{ $part->{pairs} }) {
		for my $i (0 .. $#QUANTILES) {
			judge($name, $pair, $QUANTILES[$i], map { $_->{us}{$pair}[$i] } @rounds);
		}
	}
	of_all($name, @rounds);
	return;
}

# A pair: { us => { PAIR => [ [ ours, theirs ] of each quantile ] }, middle => { OUR STAGE => us },
# busy => { WHO => part } }
sub a_round {
	my ($part, $first, $nothing) = @_;
	my %turn = (
		ours    => sub { ours($part->{source}) }, theirs => $part->{theirs},
		nothing => sub { ((turn("sleep $S"))[1], {}) }
	);
	my (%of, %round);
	for my $who ($first, $first eq 'ours' ? 'theirs' : 'ours', $nothing ? 'nothing' : ()) {
		($round{busy}{$who}, $of{$who}) = $turn{$who}->();
	}
	$round{middle}{$_} = quantile($of{ours}{$_}, 0.5) for keys %{ $of{ours} };
	for my $pair (@{ $part->{pairs} }) {
		my @both = ($of{ours}{ $pair->[0] }, $of{theirs}{ $pair->[1] });
		my $few  = min(map { total($_) } @both);
		$few >= LEAST or die "only $few latencies\n";
		for my $p (@QUANTILES) {
			push @{ $round{us}{"@$pair"} }, [ map { quantile($_, $p) } @both ];
		}
	}
	return \%round;
}

# Where a difference lies, and what each takes.
sub of_all {
	my ($name, @rounds) = @_;
	my (%busy, %ours);
	for my $round (@rounds) {
		push @{ $ours{$_} }, $round->{middle}{$_} for keys %{ $round->{middle} };
		push @{ $busy{$_} }, $round->{busy}{$_}   for keys %{ $round->{busy} };
	}
	diag "$name: ours, median of the turns' medians: ", join ', ',
		map {
		sprintf '%s %d us', $_,
			(sort { $a <=> $b } @{ $ours{$_} })[ @{ $ours{$_} } / 2 ]
		}
		sort keys %ours;
	for my $who (sort keys %busy) {
		my @b = sort { $a <=> $b } @{ $busy{$who} };
		diag sprintf '%s: busy of both CPUs: %s %.1f %% (median of %d turns; quartiles %.1f, %.1f)',
			$name, $who, 100 * $b[ @b / 2 ], scalar @b, 100 * $b[ @b / 4 ], 100 * $b[ @b * 3 / 4 ];
	}
	return;
}

# The pairs of that part, length and kernel that an earlier run has kept.
sub kept {
	my ($name) = @_;
	my $file = $ENV{TIPME_PAIRS_KEEP} // return;
	open my $in, '<', $file or return;
	my @kept = grep { "$_->{part} $_->{seconds} $_->{kernel}" eq "$name $S $kernel" }
		map {
		eval { Cpanel::JSON::XS->new->decode($_) }
			// ()
		} <$in>;
	@kept and diag "$name: ", scalar @kept, " pairs lie in $file";
	return splice @kept, 0, PAIRS;
}

sub keep {
	my ($name, $round) = @_;
	my $file = $ENV{TIPME_PAIRS_KEEP} // return;
	open my $out, '>>', $file or BAIL_OUT("$file: $!");
	print {$out}
		Cpanel::JSON::XS->new->canonical->encode(
		{ %$round, part => $name, seconds => $S, kernel => $kernel }), "\n";
	close $out or BAIL_OUT("$file: $!");
	return;
}

# By [ ours, theirs ] of each pair. Of twenty, the 6th and the 15th bound the median in 96 of 100
# (binomial); of fewer likewise.
sub judge {
	my ($name, $pair, $p, @us) = @_;
	my @r    = sort { $a <=> $b } map { $_->[0] / $_->[1] } @us;
	my $rank = rank(scalar @r);
	defined $rank or return fail("$pair: " . @r . ' pairs are too few for an interval');
	my ($least, $median, $most) =
		($r[$rank], sqrt($r[ $#r / 2 ] * $r[ @r / 2 ]), $r[ -1 - $rank ]);
	my @middle = map {
		my $i = $_;
		(sort { $a <=> $b } map { $_->[$i] } @us)[ @r / 2 ]
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
	my @at   = $stat                                      =~ /^([0-9.]+) [0-9.]+$/mg;
	@idle == 2 && @at == 2 && $at[1] > $at[0] or die "no times: $stat\n";
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
		or die "ours: $said\n";
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
