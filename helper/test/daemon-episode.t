# SPDX-License-Identifier: GPL-2.0-only
# Start, status, snap, stop with a real recorder; the episode is complete, whole, and the owner's.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Fcntl      qw(LOCK_EX O_DIRECTORY O_RDONLY);
use JSON::PP   ();
use List::Util qw(max);
use POSIX      ();
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(slurp tipme records_of wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my $OWNER = 65534;
my $d     = Tipme::TestDaemon->new(args => [ '--owner', $OWNER, '--post', 1 ]);

my ($rc, $out, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
like $out, qr/recording the last 40 seconds/, 'it says what is recorded';
my ($rc2, undef, $err2) = $d->run(tipme(), 'start');
is $rc2, 1, 'a second recorder is refused';
like $err2, qr/^tipme: start: a recorder runs already: .*tipme stop/, 'with what to do';

# The folder of one that was killed is held until its last thread has ended, which nobody can ask
# any more.
for my $held (6, 600) {
	my $own    = Tipme::TestDaemon->new(args => [ '--post', 0, '--source', 'proc_sampled' ]);
	my $holder = hold($own->rundir, $held);
	my ($began, undef, $why) = $own->start;
	is $began, $held == 6 ? 0 : 1,
		$held == 6 ? 'one that is ending is waited for' : 'one that does not end is not'
		or diag $why;
	like $why, qr/^tipme: start: a recorder runs already: /, '... and it is said' if $began;
	$own->stop;
	kill KILL => $holder;
	waitpid $holder, 0;
}
@ENV{qw(TIPME_RUNDIR TIPME_LIBRARY)} = ($d->rundir, $d->library);

my $status = $d->status;
is $status->{source}, 'kernel_bpf', 'status: source';
is $status->{owner},  $OWNER,       'status: owner';
cmp_ok scalar @{ $status->{coverage} }, '>=', 1, 'status: coverage per CPU';
is $status->{last_episode}, undef, 'status: no episode yet';
my (undef, $text) = $d->run(tipme(), 'status');
like $text, qr/^lost +\d+ \(pool \d+, nested \d+, missed \d+/m, 'status for people: lost by cause';
is scalar(grep { length > 200 } split /\n/, $text), 0, 'its lines are short';

# What is measured at the start takes a moment. Samples and new programs cost many times what the
# scheduler's records do: the share says so, too.
SKIP: {
	skip 'the kernel does not measure programs here', 3
		if !wait_until(sub { ($status = $d->status)->{record_cost_ns}{sched} }, 20);
	(undef, $text) = $d->run(tipme(), 'status');
	like $text, qr/^cost +\d+ ns a scheduler record \(\d+ to \d+\): now about [\d.]+ % of one CPU/m,
		'status for people: the share of the records';
	like $text, qr/^ +measured \d+ s ago: on a busier machine twice that is usual$/m,
		'... which is as old as that';
	my ($sample, $cpus) = ($status->{record_cost_ns}{sample} // 0, scalar @{ $status->{coverage} });
	my $most = sprintf '%.2f', 99 * $cpus * $sample / 1e7;
	$sample
		? like(
		$text, qr/ of one CPU, and up to \Q$most\E % for samples$/m,
		'... and what samples may take beside it'
		)
		: unlike($text, qr/for samples/, '... no sample was measured');
}

# Something that is known to happen: a child of a certain name that sleeps and ends.
my $name  = "known-$$";
my $child = fork // die;
if (!$child) {
	open my $f, '>', "/proc/self/comm" or die;
	print $f $name;
	close $f;
	sleep 1.5;
	exit 0;
}
waitpid $child, 0;

my ($snap_rc, $snap_out) = $d->snap('-m', "it hung \"here\"\x1b[31m \xc3\xa4");
is $snap_rc, 0, 'snap';
my ($id, $path) = split /\n/, $snap_out;
like $id, qr/^\d{8}-\d{6}-[0-9a-f]{4}$/, 'snap: the id first';
is $path, $d->library . "/$id", 'snap: then the path';

my @files = sort map {s{.*/}{}r} glob "$path/*";
is_deeply \@files, [qw(identity.rec kernel.rec manifest.json note.txt schema threads.rec)],
	'all files are there';
is_deeply [ map {s{.*/}{}r} glob $d->library . '/.??*' ], [], 'nothing half-written is left';
for my $thing ($d->library, $path, map {"$path/$_"} @files) {
	my (undef, undef, $mode, undef, $uid) = stat $thing;
	is sprintf('%o of %d', $mode & 07777, $uid), (-d $thing ? '700' : '600') . " of $OWNER",
		"mode and owner of " . $thing =~ s{.*/}{}r;
}
is slurp("$path/note.txt"), "it hung \"here\"?[31m \xc3\xa4", 'the words, made harmless';
is slurp("$path/schema"), slurp("$ENV{TIPME_SRCDIR}/abi/records.def"),
	'the schema is the one it was built with';

my $m = JSON::PP->new->utf8->decode(slurp("$path/manifest.json"));
is $m->{id},            $id,       'manifest: id';
is $m->{format}{major}, 1,         'manifest: format';
is $m->{trigger}{kind}, 'command', 'manifest: trigger';
cmp_ok $m->{end_ns} - $m->{trigger}{ns}, '>=', 1e9,
	'manifest: recording went on for the second that was asked for';
is $m->{boot_id} . "\n", slurp('/proc/sys/kernel/random/boot_id'), 'manifest: boot';
my ($kernel) = grep { $_->{source} eq 'kernel_bpf' } @{ $m->{sources} };
is_deeply [ sort keys %{ $kernel->{lost} } ],
	[qw(cut lives missed nested pool sleep_table stack_table torn)], 'manifest: losses by cause';

for my $c (@{ $kernel->{coverage} }) {
	ok $c->{first_ns} < $m->{trigger}{ns}
		&& $c->{last_ns} > $m->{trigger}{ns}
		&& $c->{last_ns} <= $m->{end_ns}, "manifest: CPU $c->{cpu} covers the trigger";
}

my ($head, @records) = records_of("$path/kernel.rec");
is $head->{trigger_ns}, $m->{trigger}{ns}, 'kernel.rec: the trigger in its header';
cmp_ok scalar(grep {/^sched_switch /} @records), '>', 10, 'kernel.rec: switches';
ok scalar(grep {/^rename .*comm=$name/} @records), 'kernel.rec: the known rename';
ok scalar(grep {/^exit .*tid=$child /} @records),  'kernel.rec: the known exit';

my %born = map { /^fork .*child_tid=(\d+)/                           ? ($1 => 1) : () } @records;
my %ran  = map { /^sched_switch .*next_tid=([1-9]\d*)/ && !$born{$1} ? ($1 => 1) : () } @records;

my ($thead, @pictures) = records_of("$path/threads.rec");
is $thead->{episode_id}, $head->{episode_id}, 'threads.rec: of the same episode';
ok scalar(grep {/^thread .*tid=$child .*state=dead .*comm=$name/} @pictures),
	'threads.rec: the name of a thread that ended';
ok scalar(grep {/^thread .*tid=$$ /} @pictures), 'threads.rec: ourselves';
my %seen = map { /^thread .*?\btid=(\d+)/ ? ($1 => 1) : () } @pictures;
# Who was there before, and ended before there was a picture of what is kept, nobody can have seen.
# What is kept begins where all programs were attached, or where all that came before was
# overwritten, births, too. An exit may have come before exits were recorded.
my $kept_ns = max map { $_->{first_ns} } @{ $kernel->{coverage} };
my ($first_ns) =
	map { /^picture .*?\bts_ns=(\d+) .*?\bend_ns=(\d+)/ && $1 >= $kept_ns ? $2 : () } @pictures;
my %gone = map {
	/^(?:exit|sched_switch(?=.* prev_state=dead)) .*?\bts_ns=(\d+) .*?\btid=(\d+)/ && $1 < $first_ns
		? ($2 => 1)
		: ()
} @records;
# What init makes is hidden on some machines. Who was born so, and ended between two pictures, has
# told who it is, or is counted as lost.
my (undef, @lives) = records_of("$path/identity.rec");
my %told    = map  { /^process .*?\bpid=(\d+)/ ? ($1 => 1) : () } @lives;
my @unknown = grep { !$seen{$_} && !$gone{$_} && !$told{$_} } sort keys %ran;
cmp_ok scalar @unknown, '<=', $kernel->{lost}{lives},
	'threads.rec, identity.rec: everybody who ran and was there before'
	or diag "@unknown";
ok scalar(grep {/^stack .*text=\w+\+0x/} @pictures), 'threads.rec: stacks as symbol+offset';
is scalar(grep {/^stack .*[0-9a-f]{12}/} @pictures), 0, 'threads.rec: no kernel address';
my %stack = map { /^stack .*stack_id=(\d+)/ ? ($1 => 1) : () } @pictures;
is_deeply [ grep { !$stack{$_} } map { /^thread .*stack_id=([1-9]\d*)/ ? $1 : () } @pictures ], [],
	'threads.rec: every stack that is named is there';

my ($stop_rc) = $d->stop;
is $stop_rc, 0, 'stop';
ok !-e $d->rundir . '/tipmed.sock', 'the socket is gone';
my ($gone_rc, $gone_out, $gone_err) = $d->run(tipme(), 'status');
is $gone_rc, 1, 'status without a recorder: 1';
like $gone_err, qr/^tipme: status: no recorder runs here: start it with sudo tipme start$/,
	'and what to do';
done_testing;

# A process that holds the lock of a folder so many seconds, and has it already.
sub hold {
	my ($folder, $seconds) = @_;
	pipe my $ready, my $tell or die "pipe: $!\n";
	mkdir $folder;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		sysopen my $f, $folder, O_RDONLY | O_DIRECTORY or POSIX::_exit(1);
		flock $f, LOCK_EX or POSIX::_exit(1);
		syswrite $tell, 'x';
		sleep $seconds;
		POSIX::_exit(0);
	}
	close $tell;
	sysread $ready, my $said, 1 or die "the folder cannot be locked\n";
	return $pid;
}
