#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme latency model: what a client missed, and what the latencies of the same cycles predict, by
# itself and by `tipme latency mttf`, beside three loads. In a thread and in deferred work. As root;
# beside loads with TIPME_TEST_ALL=1 only.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/../../postmortem/lib";
use Tipme::Statistics qw(poisson_interval);

plan skip_all => 'not root: real-time threads and tracing programs need it' if $>;
my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $dir   = tempdir(CLEANUP => 1);

# Few of each, so that a machine without any of them says so soon.
my %load = (
	nothing  => undef,
	compiler => <<'END',
i=0
while [ $i -lt 800 ]; do
	echo "int f$i(int x) { int s = x; for (int i = 0; i < x; i++) s += s % (x + $i); return s; }"
	i=$((i + 1))
done > many.c
while :; do cc -O2 -c many.c -o many.o; done
END
	files => 'while :; do head -c 30000000 /dev/zero > a; cp a b; sync -f .; rm a b; done',
);
my %how = (thread => '--priority 80', deferred => '--modality deferred');

my ($out, $rc) = model('--modality deferred --client 2x10:1 --duration 2');
if ($rc == 1 && $out =~ /^tipme: latency: a client in deferred work: /) {
	plan skip_all => "no deferred work here: $out";
}
ok($rc == 0 || $rc == 2, 'a client in deferred work runs') or diag $out;
my $m = result();
is($m->{source},          'tracing',  'by a tracing program');
is($m->{model}{modality}, 'deferred', '... as it says');
my ($stage) = grep { $_->{count} } @{ $m->{stages} };
is($stage->{stage}, 'irq_deferred',      'its latencies are those of deferred work');
is($stage->{count}, $m->{model}{cycles}, '... each cycle is one');
cmp_ok($m->{model}{cycles}, '>=', 20, '... of which there are some') or diag $out;
# From the expiry until it has computed for a millisecond, by the speed of the begin.
cmp_ok($m->{model}{longest_us}, '>=', 100, 'it computes');
like(
	(model('--modality deferred --client 2x100:60'))[0],
	qr/^tipme: latency: deferred work computes for 20 ms and half of a cycle at most/m,
	'what would take the whole CPU is refused'
);
is((model("--modality $_"))[1], 64, "usage: $_") for 'x', 'deferred --priority 5';

for my $load ($ENV{TIPME_TEST_ALL} ? sort keys %load : ()) {
	my $pid = defined $load{$load} ? load($load{$load}) : undef;
	for my $how (sort keys %how) {
		($out, $rc) = model("--client audio-64 --duration 10 $how{$how}");
		is($rc, 0, "$how, beside $load: counted and predicted agree");
		diag $out;
		my ($row) = @{ Cpanel::JSON::XS->new->decode(
				scalar qx{"$tipme" latency mttf "$dir/m.json" --client audio-64 --json}
			)->{clients}
		};
		my ($model, @late, @missed) = (result()->{model});
		@late   = poisson_interval($row->{late});
		@missed = poisson_interval($model->{missed});
		ok($missed[0] <= $late[1] && $late[0] <= $missed[1], '... and so does mttf')
			or diag "$row->{late} late, $model->{missed} missed";
	}
	next if !$pid;
	kill 'KILL', -$pid;
	waitpid $pid, 0;
}
done_testing;

sub model {
	my ($args) = @_;
	my $said = qx{"$tipme" latency model $args -o "$dir/m.json" 2>&1};
	return ($said, $? >> 8);
}

sub result {
	open my $h, '<', "$dir/m.json" or return {};
	local $/ = undef;
	return Cpanel::JSON::XS->new->decode(<$h>);
}

# In a group of its own, so that all of it ends.
sub load {
	my ($command) = @_;
	mkdir "$dir/load";
	my $pid = fork // die;
	return $pid if $pid;
	setpgrp;
	open STDERR, '>', '/dev/null';
	chdir "$dir/load" or die;
	exec 'sh', '-c', $command;
}
