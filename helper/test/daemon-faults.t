# SPDX-License-Identifier: GPL-2.0-only
# What goes wrong for real: a full disk, no BTF, load, triggers one upon the other.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP ();
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::TestDaemon qw(complete load manifest slurp tipme tipmed records_of wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;

subtest 'two triggers at once' => sub {
	my $d = Tipme::TestDaemon->new(args => [ '--post', 1 ]);
	is +($d->start)[0], 0, 'start';
	my @c = map { $d->connection } 1 .. 3;
	send $_, Tipme::TestDaemon::message(2, 0, ''), 0 for @c;
	my @first = map { [ Tipme::TestDaemon::answer($_) ] } @c;
	is $first[0][1], 0, 'the first is taken';
	is $first[1][1], 0, 'the second is remembered';
	is $first[2][1], 16, 'the third is refused (EBUSY)';
	like $first[2][2], qr/waits: ask again/, 'by a sentence';
	my @saved = map { [ Tipme::TestDaemon::answer($_) ] } @c[ 0, 1 ];
	is_deeply [ map { "$_->[0] $_->[1]" } @saved ], [ '17 0', '17 0' ], 'both are saved';
	for my $i (0, 1) {
		my $m = manifest($saved[$i][2]);
		is $m->{id}, JSON::PP->new->decode($first[$i][2])->{id}, 'under the id that was told at once';
	}
	my ($a, $b) = map { manifest($_->[2])->{trigger}{ns} } @saved;
	cmp_ok $b - $a, '<', 1e9, 'the trigger of the second is when it was asked for, not when it was its turn';
	is $d->status->{refused_triggers}, 1, 'status counts the refused one';

	# Stopped in the seconds after a trigger: saved all the same.
	my $late = $d->connection;
	send $late, Tipme::TestDaemon::message(2, 0, ''), 0;
	Tipme::TestDaemon::answer($late);
	$d->stop;
	my ($verb, $error, $path) = Tipme::TestDaemon::answer($late);
	is "$verb $error", '17 0', 'a stop does not take away what was asked for';
	is_deeply complete($path), [], 'it is complete';
};

subtest 'under load' => sub {
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0 ]);
	is +($d->start)[0], 0, 'start';
	my @load = map { load() } 1 .. 3;
	sleep 1;
	my ($rc, $out) = $d->snap;
	kill 'KILL', @load;
	waitpid $_, 0 for @load;
	is $rc, 0, 'snap';
	my $path = (split /\n/, $out)[1];
	is_deeply complete($path), [], 'the episode is complete';
	my $m = manifest($path);
	my ($k) = grep { $_->{source} eq 'kernel_bpf' } @{ $m->{sources} };
	my $sum = 0;
	$sum += $_->{records} for @{ $k->{coverage} };
	is counted("$path/kernel.rec"), $sum, "the file has the $sum records that the manifest says";
	is $k->{lost}{$_}, 0, "lost: $_" for qw(torn cut nested);
	$d->stop;
};

subtest 'a full disk' => sub {
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0 ]);
	mkdir $d->library, 0700;
	plan skip_all => 'a tmpfs may not be mounted here' if system 'mount', '-t', 'tmpfs', '-o', 'size=16k,mode=0700', 'tmpfs', $d->library;
	$d->{mounted} = 1;
	is +($d->start)[0], 0, 'start';
	my ($rc, $out, $err) = $d->snap;
	is $rc, 1, 'snap fails';
	like $err, qr/^tipme: snap: \S+: No space left on device: recording goes on; /, 'and says why';
	is_deeply [ glob($d->library . '/.??*'), glob($d->library . '/*') ], [], 'nothing is left there';
	my $status = $d->status;
	is $status->{failures}, 1, 'status: one failure';
	like $status->{last_result}, qr/No space left/, 'status: why';
	system 'mount', '-o', 'remount,size=80m', $d->library;
	my ($again, $path) = $d->snap;
	is $again, 0, 'with room it works again';
	is_deeply complete((split /\n/, $path)[1]), [], 'and is complete';
	$d->stop;
};

subtest 'no BTF' => sub {
	my $d = Tipme::TestDaemon->new;
	mkdir $d->dir . '/empty';
	my $hide = "mount --bind '" . $d->dir . "/empty' /sys/kernel/btf";
	plan skip_all => 'no mount namespaces here' if system 'unshare', '-m', 'sh', '-c', $hide;
	my ($rc, undef, $err) = $d->run('unshare', '-m', 'sh', '-c', "$hide && exec '" . tipme() . "' start --source kernel_bpf");
	is $rc, 1, 'start with the tracing programs and nothing else fails';
	like $err, qr/\Atipme: start: [^\n]*BTF[^\n]*\n\z/, 'with one sentence that names BTF';
	ok !-e $d->rundir . '/tipmed.sock', 'no socket is left';
	my ($doctor, $out) = $d->run('unshare', '-m', 'sh', '-c', "$hide && exec '" . tipme() . "' doctor");
	is $doctor, 0, 'doctor: samples can be taken';
	like $out, qr/^Recording is possible here\. .*samples only/m, '... and no more than that';
	like $out, qr/^missing +btf +no .*\n.*-> .*CONFIG_DEBUG_INFO_BTF/m, 'doctor: why, and what to do';
	($rc, $out) = $d->run('unshare', '-m', 'sh', '-c', "$hide && exec '" . tipme() . "' start");
	is $rc, 0, 'start without a word about the source takes samples';
	like $out, qr/^limited: a better source was refused: .*BTF/m, '... and says what was refused';
	is $d->status->{source}, 'proc_sampled', '... as status says';
	$d->run(tipme(), 'stop');
};

subtest 'a PID namespace' => sub {
	my $d = Tipme::TestDaemon->new;
	plan skip_all => 'no PID namespaces here' if system 'unshare', '-pf', '--mount-proc', 'true';
	my $pid = fork // die;
	if (!$pid) { open STDOUT, '>', $d->dir . '/ns' or die; open STDERR, '>&', \*STDOUT or die; exec 'unshare', '-pf', '--kill-child', '--mount-proc', Tipme::TestDaemon::tipmed(), '--foreground', '--post', 0 or die }
	wait_until(sub { -S $d->rundir . '/tipmed.sock' }) or diag(slurp($d->dir . '/ns'));
	my ($limit) = grep { /PID namespace/ } @{ $d->status->{limits} // [] };
	like $limit, qr/process ids .* are those of the machine/, 'status says what cannot be matched there';
	$d->run(tipme(), 'stop');
	waitpid $pid, 0;
	is $?, 0, 'it ends in order';
};

subtest 'places that cannot be' => sub {
	my $d = Tipme::TestDaemon->new;
	my ($rc, undef, $err) = $d->run(tipme(), 'start', '--rundir', '/proc/nowhere');
	is $rc, 1, 'a folder that cannot be made';
	like $err, qr{\Atipme: start: /proc/nowhere: [^\n]+\n\z}, 'is named';
	mkdir $d->library, 0755;
	($rc, undef, $err) = $d->run(tipme(), 'start');
	is $rc, 1, 'a library that others may read';
	like $err, qr/private: chmod 700/, 'is refused';
	($rc, undef, $err) = $d->run(tipme(), 'start', '--window', 'soon');
	is $rc, 64, 'a window that is no number: usage';
	($rc, undef, $err) = $d->run(tipme(), 'start', '--rundir', '/tmp/' . 'x' x 120);
	is $rc, 1, 'a socket path that is too long';
	rmdir '/tmp/' . 'x' x 120;
};
done_testing;

# All records but the sections, by their lengths.
sub counted {
	my $bytes = slurp($_[0]);
	my ($at, $n) = (64, 0);
	while ($at < length $bytes) {
		my ($type, $len8) = unpack 'x8 C C', substr $bytes, $at, 16;
		$n++ if $type != 1;
		$at += $len8 * 8;
	}
	return $n;
}
