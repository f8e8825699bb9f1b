# SPDX-License-Identifier: GPL-2.0-only
# Of two recorders on one machine each has its own tracing programs counted, and no others.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Tipme::Programs qw(programs share);
use Tipme::TestDaemon;

plan skip_all => 'recording needs root (run it with sudo)' if $>;
plan skip_all => 'no bpftool here' if system 'command -v bpftool >/dev/null';
my @recorders = map { Tipme::TestDaemon->new(args => [ '--hotkey', 'none' ]) } 1, 2;
my %of;

for my $i (0, 1) {
	my $d = asked($i);
	my ($rc, undef, $err) = $d->start;
	is $rc, 0, "recorder $i starts" or BAIL_OUT($err);
	plan skip_all => 'no tracing programs here' if $d->status->{source} ne 'kernel_bpf';
	$of{$i} = { programs($d->pid) };
	cmp_ok keys %{ $of{$i} }, '>', 20, 'it has programs';
	ok !(grep { $_->[2] !~ /^tipme_/ } values %{ $of{$i} }), '... all of them its own';
}
is_deeply [ grep { $of{1}{$_} } keys %{ $of{0} } ], [], 'none is counted for both';
is_deeply [ sort keys %{ { programs($recorders[0]->pid) } } ], [ sort keys %{ $of{0} } ],
	'the first has as many as before';
is_deeply { programs($$) }, {}, 'a process without programs has none';
is share({ 7 => [ 1e9, 1, '' ] }, { 7 => [ 3e9, 2, '' ], 8 => [ 1e9, 1, '' ] }, 10), 30,
	'what was loaded meanwhile counts, too';
asked($_)->stop for 0, 1;
done_testing;

# The one that `tipme` asks from now on.
sub asked {
	my ($i) = @_;
	@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ($recorders[$i]->rundir, $recorders[$i]->library);
	return $recorders[$i];
}
