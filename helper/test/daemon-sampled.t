# SPDX-License-Identifier: GPL-2.0-only
# Nothing is permitted: an ordinary user without any capability records samples of /proc, and gets a
# true verdict from the demo.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use JSON::PP   ();
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(complete manifest records_of slurp tipmed wait_until);

plan skip_all => 'tipmed is not built here' if !-x tipmed();
my ($SRC, $BUILD) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
my $dir = tempdir('tipme-test-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
my ($tree, $home, $runtime) = map {"$dir/$_"} qw(tree home runtime);
mkdir $_ and $> || chown 65534, 65534, $_ for $home, $runtime;

# The tree may be closed to that user: a copy of what runs.
my @programs = grep { -e "$BUILD/$_" }
	qw(helper/cli/tipme helper/daemon/tipmed xserver-hooks/.libs/libtipme.so);
make_path(map { "$tree/$_" =~ s{/[^/]*$}{}r } @programs);
system('cp', "$BUILD/$_", "$tree/$_") == 0 or BAIL_OUT("$_: not copied") for @programs;
system('cp', '-rL', "$SRC/postmortem", "$SRC/abi", $tree) == 0
	&& system('cp', '-r', "$SRC/helper/demo", "$tree/helper/") == 0
	or BAIL_OUT('not copied');
my $tipme = slurp("$BUILD/tipme") =~ s/^TIPME_(SRC|BUILD)DIR=.*/TIPME_$1DIR='$tree'/gmr;
open my $out, '>', "$tree/tipme" or die;
print {$out} $tipme;
close $out;
chmod 0755, "$tree/tipme";
system('chmod', '-R', 'a+rX', $tree);

# Runs a command as nobody without capabilities (or as whoever we are, if that is not root); returns
# its exit status and all that it says.
sub run {
	my (@command) = @_;
	my @become =
		$>
		? ()
		: qw(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
		--bounding-set=-all);
	my $file = "$dir/said";
	my $pid  = fork // die "fork: $!";
	if (!$pid) {
		%ENV = (HOME => $home, XDG_RUNTIME_DIR => $runtime, PATH => '/usr/local/bin:/usr/bin:/bin');
		open STDOUT, '>',  $file    or die;
		open STDERR, '>&', \*STDOUT or die;
		exec @become, @command or die "$command[0]: $!";
	}
	waitpid $pid, 0;
	return ($? >> 8, slurp($file));
}

# The test may end by an error: nothing of it goes on.
my $test = $$;

END {
	local $?;
	run("$tree/tipme", 'stop') if $test && $$ == $test && -S "$runtime/tipme/tipmed.sock";
}

SKIP: {
	skip 'a recorder of the machine runs here, and is the one that would answer', 1
		if -e '/run/tipme/tipmed.sock';
	my ($rc, $said) = run("$tree/tipme", 'start', '--post', 0);
	is $rc, 0, 'start without privileges' or diag($said);
	like $said,
		qr/\Arecording the last 40 seconds: what each thread does, looked at each 20 ms \(sampled\), \d+ threads\n/,
		'it says what it records';
	like $said, qr/^limited: sampled: .*who woke them is not known$/m, '... and what it cannot';
	# Where root has made a library for that user, it is taken; else one below the home.
	my $library = '/var/lib/tipme/' . ($> || 65534);
	$library = "$home/.local/share/tipme" if !-d $library;
	like $said, qr{go to \Q$library\E$}m, '... and where episodes go';

	ok -S "$runtime/tipme/tipmed.sock", '... and the socket is in the user\'s own folder';

	# Known threads: one computes for a known time, one is stopped.
	my $hog = fork // die;
	if (!$hog) { exec $^X, '-e', '1 while (times)[0] + (times)[1] < 2.4' or die }
	waitpid $hog, 0;
	my $stopped = fork // die;
	if (!$stopped) { sleep 600; exit 0 }
	kill 'STOP', $stopped;
	sleep 2;
	(my $snap_rc, $said) = run("$tree/tipme", 'snap', '-m', 'known');
	kill 'KILL', $stopped;
	waitpid $stopped, 0;
	is $snap_rc, 0, 'snap' or diag($said);
	my $path = (split /\n/, $said)[1];
	is_deeply complete($path), [], 'the episode is complete';
	my ($source) = @{ manifest($path)->{sources} };
	is $source->{source},                'proc_sampled', 'the source is named';
	is scalar(@{ $source->{coverage} }), 1,              '... with one coverage';
	cmp_ok $source->{coverage}[0]{first_ns}, '>', 0, '... that says since when';
	my (undef, @records) = records_of("$path/kernel.rec");
	my @hog = map {
		{/(\w+)=(\S+)/g}
	} grep { /\bproc_state\b/ && /\btid=$hog\b/ } @records;
	my $ran = 0;
	$ran += $_->{run_ns} for @hog;
	cmp_ok $ran, '>', 1.8e9, 'what the process computed is counted'
		or diag($hog[0] ? '' : "records like: $records[5]");
	cmp_ok $ran, '<=', 2.6e9, '... and not more';
	ok scalar(grep { /\bexit\b/ && /\btid=$hog\b/ } @records), 'that it ended is recorded';
	ok scalar(grep { /\bproc_state\b/ && /\btid=$stopped\b/ && /state=(?:stopped|3)\b/ } @records),
		'who is stopped is seen so';
	cmp_ok scalar(grep { !/^\d/ && !/proc_state|fork|exit|rename|section/ } @records), '<=', 1,
		'no record that samples cannot give';
	my ($status_rc, $status) = run("$tree/tipme", 'status', '--json');
	is +JSON::PP->new->decode($status)->{lost}{pool}, 0, 'nothing was lost';
	($rc) = run("$tree/tipme", 'stop');
	is $rc, 0, 'stop';
}

SKIP: {
	skip 'the demo needs the hooks and a headless Xorg', 3
		if !-e "$tree/xserver-hooks/.libs/libtipme.so" || !-x '/usr/lib/xorg/Xorg';
	my ($rc, $said) = run("$tree/tipme", 'demo', '--seed', 5);
	is $rc, 0, 'the demo ends well' or diag($said);
	like $said, qr/^  The verdict is true\.$/m, '... with a true verdict';
	like $said, qr/^sampled each 20 ms/m,       '... that says on what it rests';
	($rc, $said) = run("$tree/tipme", 'demo', '--cause', 'rt-hog');
	is $rc, 1, 'a cause that cannot be staged here';
	like $said, qr/no cause 'rt-hog' here: one of stopped/, '... is refused by a sentence';
}
done_testing;
