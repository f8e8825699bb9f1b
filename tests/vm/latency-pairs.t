#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# `tipme latency` and cyclictest in turns, in drawn order, on Debian's kernel in an emulated
# machine: the quantiles of twenty pairs. TIPME_PAIR_S: of each turn (60). With TIPME_TEST_ALL=1.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use FindBin;
use List::Util qw(sum0);
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib", "$FindBin::Bin/../../helper/test/lib";
use Tipme::Desktop      qw(payload);
use Tipme::Distribution qw(of_cyclictest total);
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

use constant { PAIRS => 20, PERIOD_US => 4000 };
my $S    = $ENV{TIPME_PAIR_S} // 60;
my $vm   = Tipme::VM->new(kernel => $ENV{TIPME_TEST_KERNELS} // '6.1', payload => payload());
my %turn = (
	ours => sub {
		$vm->run(
			sprintf
				'/usr/libexec/tipme/tipme-latency record --source user --duration %d --period %d '
				. '--output /tmp/r.json > /dev/null',
			$S, PERIOD_US
		);
		my $r = Cpanel::JSON::XS->new->decode(scalar $vm->run('cat /tmp/r.json'));
		return [ map { @{ $_->{buckets} } } @{ $r->{stages} } ];
	},
	theirs => sub {
		my $text = $vm->run(
			sprintf 'cyclictest -m -p 80 -t -a -i %d -d 0 -D %d -q -h 400000 | grep -v "^[0-9]* '
				. '000000.000000$"',
			PERIOD_US, $S
		);
		return [ map { @{ of_cyclictest($text, $_) } } 0, 1 ];
	},
);
my %ratio;
srand 1999;
for my $pair (1 .. PAIRS) {
	my %d;
	$d{$_} = $turn{$_}->() for rand() < 0.5 ? qw(ours theirs) : qw(theirs ours);
	my ($few) = sort { $a <=> $b } map { total($_) } values %d;
	$few >= 50 or BAIL_OUT("pair $pair: only $few latencies");
	push @{ $ratio{$_} }, quantile($d{ours}, $_) / quantile($d{theirs}, $_) for 0.5, 0.9, 0.99;
}
$vm->close;
for my $p (sort keys %ratio) {
	my @r = sort { $a <=> $b } @{ $ratio{$p} };
	# Of twenty, the 6th and the 15th bound the median in 96 of 100 (binomial).
	my ($least, $median, $most) = ($r[5], sqrt($r[9] * $r[10]), $r[14]);
	note sprintf 'quantile %s: ours to cyclictest %.2f, %.2f to %.2f', $p, $median, $least, $most;
	# A stray switch of the emulator more or less is half as much again.
	ok($least < 1.5 && $most > 1 / 1.5, "quantile $p: both see the same");
}
done_testing;

# In us, counted from the bucket's end: a quotient has no 0.
sub quantile {
	my ($d, $part) = @_;
	my $left = $part * total($d);
	for (sort { $a->[0] <=> $b->[0] } @$d) {
		return $_->[0] + 1 if ($left -= $_->[1]) <= 0;
	}
	return 1;
}
