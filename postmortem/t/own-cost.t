#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What the recorder's own records cost of an interval, as a diagnosis tells it.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;

# --- the recorder's own share: one cost for all, or one for each class ---
for my $c (
	[ 100, 5 * 100, 100 ], [ { sched => 100, sample => 1000 }, 4 * 100 + 1000, 1000 ],
	[ { sample => 1000 }, undef, undef ], [ undef, undef, undef ]
	)
{
	my $s = Tipme::Test::Story->new(
		manifest => {
			cpus     => 4,
			recorder =>
				{ record_cost_ns => $c->[0], record_cost_spread_ns => { sched => [ 50, 300 ] } }
		}
	);
	$s->enter(1000)->run(1, 1000.25, 1801, CLIENT, 'sleeping')->draw(1800.9)->hotkey(3000);
	$s->kernel(1, 1100, 'sample', tid => CLIENT, cpu => 1, kind => 'clock');
	my $d = $s->diagnose("$tmp/cost" . ++$n);
	my $o = $d->{overhead};
	is(
		$o->{total_ns}, defined $c->[1] ? $c->[1] + 100 * ($o->{records} - 5) : undef,
		'the cost of the records'
	);
	is($o->{samples_ns}, $c->[2], '... that of samples apart');
	is($o->{samples},    1,       '... which are counted');
	next if !defined $c->[1];
	my $time = 4 * $d->{interval}{duration_ns};
	cmp_ok(abs($o->{share} * $time - $o->{total_ns}), '<', 1, '... shared by the time of all CPUs');
	my $others = $o->{records} - (ref $c->[0] ? 1 : 0);
	cmp_ok(
		abs($o->{share_low} * $time - 50 * $others - (ref $c->[0] ? 1000 : 0)), '<', 1,
		'... at its lower quartile'
	);
	cmp_ok(
		abs($o->{share_high} * $time - 300 * $others - (ref $c->[0] ? 1000 : 0)), '<', 1,
		'... and its upper one'
	);
}

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
