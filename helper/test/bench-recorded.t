#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme bench run with a recorder: the parts of exactly the timed intervals come from its records,
# and name who had the CPU and what a sleep was for; nothing stays in the library.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Copy       qw(copy);
use File::Temp       qw(tempdir);
use List::Util       qw(sum0);
use Test::More;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my ($dir, $library) = map { tempdir(CLEANUP => 1) } 1 .. 2;
@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = (tempdir(CLEANUP => 1), $library);
my $said = qx{"$tipme" start --owner 0 2>&1};
is($? >> 8, 0, 'a recorder of our own') or BAIL_OUT($said);

# A hog with a name of its own on the CPU that the tasks use.
copy('/usr/bin/perl', "$dir/greedy") or die $!;
chmod 0755, "$dir/greedy" or die $!;
my $cpu = qx{taskset -cp $$} =~ /: (\d+)/ ? $1 : 0;
my $hog = fork // die $!;
if (!$hog) { exec 'taskset', '-c', $cpu, "$dir/greedy", '-e', '1 while 1' or die $! }
my $out =
	qx{taskset -c $cpu "$tipme" bench run memory-chase/4M exec/static wakeup/pipe-same app-ghostscript --rounds 1 --folder "$dir" -o "$dir/r.json" 2>&1};
is($? >> 8, 0, 'a run') or diag $out;
kill 'KILL', $hog;
waitpid $hog, 0;
qx{"$tipme" stop};

open my $in, '<', "$dir/r.json" or die $!;
my ($run) = @{ Cpanel::JSON::XS::decode_json(do { local $/; readline $in })->{runs} };
SKIP: {
	skip 'samples only are recorded here', 7 if ($run->{recorder} // '') !~ /^kernel_/;
	is($run->{told}, $run->{repeated}, 'the recorder tells the parts of all repeats') or diag $out;
	my %task    = map { $_->{name} => $_ } @{ $run->{tasks} };
	my @repeats = map {
		map {@$_}
			@{ $_->{rounds} }
	} @{ $run->{tasks} };
	my @wrong = grep {
		sum0(map { $_->{ns} } @{ $_->{parts} }) != $_->{to_ns} - $_->{from_ns}
	} @repeats;
	is(scalar @wrong, 0, 'they add up to the timed intervals');
	my %ns;

	for my $r (map {@$_} @{ $task{'memory-chase/4M'}{rounds} }) {
		$ns{ join ': ', grep {defined} @$_{qw(kind what)} } += $_->{ns} for @{ $r->{parts} };
	}
	# A task of some milliseconds may be spared; of all together somebody waits for the hog.
	my $hog_ns = sum0(
		map { $_->{ns} }
		grep { ($_->{what} // '') eq 'greedy had the CPU' } map { @{ $_->{parts} } } @repeats
	);
	cmp_ok($hog_ns,        '>', 0,                'who had the CPU is named') or diag explain \%ns;
	cmp_ok($ns{user} // 0, '>', $ns{kernel} // 0, 'references to memory are user mode')
		or diag explain \%ns;
	my @on = grep { $_->{kind} eq 'blocked' }
		map { @{ $_->{parts} } } map {@$_} @{ $task{'wakeup/pipe-same'}{rounds} };
	ok(
		(grep { $_->{what} =~ /pipe, until tipme-bench-tas/ } @on),
		'what a sleep was for, and who ended it'
	) or diag explain \@on;
SKIP: {
		my $gs = $task{'app-ghostscript'};
		skip "no Ghostscript: $gs->{unavailable}", 1 if defined $gs->{unavailable};
		my %did;
		for my $p (map { @{ $_->{parts} } } map {@$_} @{ $gs->{rounds} }) {
			$did{ $1 // '' } += $p->{ns}
				if ($p->{what} // '') =~ /\Awaiting for a child process to end(?:: (.*)|,.*)?\z/;
		}
		cmp_ok($did{'gs was running'} // 0, '>', 0, 'who waits for a program is told what it did')
			or diag explain \%did;
	}
	is(join(' ', grep { -d && !m{/boots\z} } glob "$library/*"), '', 'no episode stays');
}
done_testing;
