# SPDX-License-Identifier: GPL-2.0-only
# As many processes as this machine makes, that only end and that call a program first: the history
# stays within its memory, forgets who ended longest ago, says how far back it reaches, and counts
# what it was not told. Seconds in the CI tier, a minute with TIPME_TEST_ALL=1.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP ();
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(slurp tipme records_of wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my $SECONDS = $ENV{TIPME_TEST_ALL} ? 60 : 4;
# With a rate that is said the ring stays as large as it is: what else grows is seen.
my $d =
	Tipme::TestDaemon->new(
	args => [ '--owner', 0, '--post', 0, '--window', 3, '--history', 1, '--rate', 20_000 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");

# The first fills what there is to fill.
storm(2, 'exec');
my $warm = resident();
for ([ 'fork and exit', 'exit' ], [ 'fork, exec and exit', 'exec' ]) {
	my ($what, $act) = @$_;
	my $lost    = $d->status->{lost}{lives};
	my $records = $d->status->{records};
	my ($n, $seconds) = storm($SECONDS, $act);
	wait_until(sub { $d->status->{records} - $records > 4 * $n });    # what is in the ring is taken
	sleep 1.5;
	my $s = $d->status;
	my $i = $s->{identity};
	note(
		sprintf
			'%s: %.0f a second, %.0f records a second, %d not told, %d processes in %d bytes, all '
			. 'that ended in the last %.1f s; tipmed %.1f MB (%+d kB)',
		$what,
		$n / $seconds, ($s->{records} - $records) / $seconds, $s->{lost}{lives} - $lost,
		@$i{qw(processes bytes ended_kept_s)}, resident() / 1e6, (resident() - $warm) / 1024
	);
	cmp_ok $s->{records} - $records, '>', 4 * $n,
		"$what: their births and ends, and what is between, are recorded";
	cmp_ok $i->{bytes}, '<=', $i->{bytes_max}, "$what: within its memory";
	is $i->{lost}, 0, "$what: there was always room, since who ended longest ago went";
	cmp_ok $i->{ended_kept_s}, '>', 0,       "$what: it says how far it reaches";
	cmp_ok $i->{processes},    '>', 100,     "$what: and keeps what it can";
	cmp_ok resident() - $warm, '<', 4 << 20, "$what: tipmed does not grow";
}

# Of the last one that ended everything is known; of one that ended before the reach begins,
# nothing.
my $last = fork // die;
if (!$last) { exec '/bin/sh', '-c', 'exit 5 # the last one' }
waitpid $last, 0;
my ($path) = ($d->snap)[1] =~ m{\n(/.*)\n};
my (undef, @r) = records_of("$path/identity.rec");
ok scalar(grep {/^process .*\bpid=$last .*exit_code=1280 /} @r), 'the last one is known';
my ($source) = grep { ($_->{file} // '') eq 'identity.rec' }
	@{ JSON::PP->new->utf8->decode(slurp("$path/manifest.json"))->{sources} };
my $since = $source->{coverage}[0]{first_ns};
my @ended = map { /exit_ns=(\d+)/ && $1 ? $1 : () } grep {/^process /} @r;
is scalar(grep { $_ < $since } @ended), 0,
	'nobody is there who ended before the time that the manifest tells'
	or diag "since $since";
my ($kernel) = grep { ($_->{file} // '') eq 'kernel.rec' }
	@{ JSON::PP->new->utf8->decode(slurp("$path/manifest.json"))->{sources} };
ok defined $kernel->{lost}{lives}, 'what was not told is counted in the manifest';
$d->stop;
done_testing();

sub resident { return $d->status->{memory}{resident_bytes} }

# As many as this machine makes; returns how many, and in how many seconds.
sub storm {
	my ($seconds, $act) = @_;
	return split ' ', scalar qx{"$ENV{TIPME_BUILDDIR}/helper/test/process-storm" $seconds $act};
}
