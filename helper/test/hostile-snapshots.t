# SPDX-License-Identifier: GPL-2.0-only
# Whole snapshots while X servers that lie write into their rings: each episode is read, its counts
# are counts, the recorder stays as it is. 20 of them; 10,000 with TIPME_TEST_ALL=1; as many as
# TIPME_TEST_SNAPSHOTS says.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/lib abi/generated);
use File::Path qw(remove_tree);
use IPC::Open2 qw(open2);
use Test::More;
use Tipme::TestDaemon qw(slurp);

# Verb and action of a message that asks for an episode; the verbs of its answers.
use constant { TRIGGER => 2, COMMAND => 0, REPLY => 16, SAVED => 17 };

plan skip_all => 'recording needs root (run it with sudo)' if $>;
plan skip_all => 'the modules that read episodes are not installed'
	if !eval { require Tipme::Episode; 1 };
my $snapshots = $ENV{TIPME_TEST_SNAPSHOTS} // ($ENV{TIPME_TEST_ALL} ? 10_000 : 20);
# In memory, so that no disk is waited for ten thousand times.
local $ENV{TMPDIR} = '/dev/shm' if -w '/dev/shm';
my $d = Tipme::TestDaemon->new(
	args => [ '--post', 0, '--window', 5, '--rate', 1000, '--source', 'proc_sampled', '--keep', 3 ]
);
is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');
my $pid  = $d->pid;
my $peer = $d->connection;
my (@liars, %bad, $records, $warm);
$records = 0;

for my $n (1 .. $snapshots) {
	# Rings of other content each time, and of all sizes; the largest take longest.
	if ($n % 50 == 1) {
		gone($_) for splice @liars;
		my $slots = (1024, 4096, 1024, 2048)[ $n / 50 % 4 ];
		@liars = map { x_client($_, $slots) } qw(random hugehead scribble good);
	}
	my $path = saved();
	my $why  = eval { $records += whole($path); 1 } ? undef : $@;
	$bad{$why} //= $n if defined $why;
	remove_tree($path);
	$warm = resident() if $n == int($snapshots / 4) + 1;
}
is_deeply \%bad, {}, "$snapshots snapshots of hostile rings: each is read, $records records in all";
cmp_ok $records, '>', 100 * $snapshots, 'the honest one among them is always there';
is $d->status->{pid}, $pid, 'it is still the same recorder';
cmp_ok resident(), '<', $warm + (8 << 10),
	'and has no more memory than after a fourth of them (kB)';
gone($_) for @liars;
$d->stop;
done_testing;

# How many records an episode has; dies by what is wrong with it. Damage of records in a liar's ring
# may be told, never a refusal.
sub whole {
	my ($path) = @_;
	my $ep     = Tipme::Episode->open($path);
	my $n      = 0;
	for my $s ($ep->sections) { my ($heads) = $ep->section_heads($s); $n += @$heads / 4 }
	for my $c ($ep->coverage) {
		$c->{first_ns} <= $c->{last_ns}
			or die "$c->{file}: covered from $c->{first_ns} to $c->{last_ns}\n";
	}
	my ($long) = slurp("$path/manifest.json") =~ /(\d{19,})/;
	die "a count of $long in the manifest\n" if defined $long;
	return $n;
}

# Asks for an episode, as `tipme snap` does; its folder. Dies where there is none.
sub saved {
	send $peer, Tipme::TestDaemon::message(TRIGGER, COMMAND, ''), 0;
	while (my ($verb, $error, $text) = Tipme::TestDaemon::answer($peer)) {
		BAIL_OUT("no episode: $text") if $error || ($verb != REPLY && $verb != SAVED);
		return $text                  if $verb == SAVED;
	}
	BAIL_OUT('the recorder does not answer');
}

sub resident { return (slurp("/proc/$pid/status") =~ /^VmRSS:\s+(\d+)/m)[0] }

sub x_client {
	my ($mode, $slots) = @_;
	my $p =
		open2(my $out, my $in, "$ENV{TIPME_BUILDDIR}/helper/test/daemon-x-client", $mode, $slots);
	readline $out;
	return [ $p, $in, $out ];
}

sub gone { my ($l) = @_; close $l->[1]; waitpid $l->[0], 0; return }
