# SPDX-License-Identifier: GPL-2.0-only
# The power fails at each step of saving: what the disk has then, mounted again, is the old state or
# the new, never a half that reads as whole.
#
# The library lies on a file system in a file. tipmed is stopped after each system call of its
# writer. The file system's journal is made to write down what it knows of names and sizes, but not
# of contents, so that only what was synced is sure to be there. Then the file is copied: that is
# the disk at this moment. The control does the same to a writer whose fsync() does nothing: what is
# seen then shows that the test sees it.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use File::Copy qw(copy);
use IO::Handle;
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(complete slurp wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
for my $program (qw(strace mkfs.ext4 mount losetup)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } (split /:/, $ENV{PATH}), '/usr/sbin', '/sbin';
}
$ENV{PATH} .= ':/usr/sbin:/sbin';
my $OWNER = 65534;
my @STEPS = qw(mkdirat write pwrite64 ftruncate fsync renameat renameat2 unlinkat);
my $d     = Tipme::TestDaemon->new(
	args => [
		'--post', 0, '--window', 2, '--source', 'proc_sampled', '--owner', $OWNER, '--keep', 2,
		'--keep-worst', 0
	]
);
my $disk = $d->dir . '/disk';
open my $made, '>', $disk or die;
truncate $made, 64 << 20;
close $made;
plan skip_all => 'no file system can be made in a file'
	if system 'mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', $disk;
mkdir $d->library, 0700;
# A name may go to disk before what it names, as POSIX permits; nothing goes by itself.
plan skip_all => 'no loop devices can be mounted here'
	if system "mount -o loop,data=writeback,noauto_da_alloc,commit=3600 '$disk' '"
	. $d->library
	. "' 2>/dev/null";
$d->{mounted} = 1;
chown $OWNER, $OWNER, $d->library;
chmod 0700, $d->library;
my $look = $d->dir . '/look';
mkdir $look;
open my $other, '>>', $d->library . '/.other' or die;

is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');
# In the order in which they were saved: their names tell no more than the second.
my @before;
for (1 .. 2) {
	is + (snap_quietly())[0], 0, 'an episode';
	push @before, added(@before);
}
my %want  = map { ($_ => files($d->library . "/$_")) } @before;
my @disks = stops_of(
	'saving a third, which removes the first',
	sub { exec Tipme::TestDaemon::tipme(), 'snap' }, ''
);
my ($new) = added(@before);
ok $new, 'it is saved';
$want{$new} = files($d->library . "/$new");
push @disks, disk_now('after the answer');
my $there = 0;
for my $i (0 .. $#disks) {
	my ($new_there, @wrong) = look_at($disks[$i], $before[0]);
	is_deeply \@wrong, [],
		"$disks[$i]{what}: " . ($new_there ? 'the new one is there, whole' : 'as before');
	$there += $new_there;
	ok $new_there, 'what was said to be saved, is' if $i == $#disks;
}
cmp_ok $there,        '<', scalar @disks, 'there were moments before it was there';
cmp_ok scalar @disks, '>', 20,            scalar(@disks) . ' moments';

# The user's words.
is say_words('first'), 0, 'words';
@disks = stops_of('new words', sub { say_words('second') }, '');
push @disks, disk_now('after the answer');
my @words = map { words_in($_) } @disks;
is scalar(grep { !/\A(?:first|second)\z/ } @words), 0, 'on each disk the old words or the new'
	or diag("@words");
is $words[-1], 'second', 'and what was said to be saved, is';

# Control.
@before   = ($before[1], $new);
$want{$_} = files($d->library . "/$_") for @before;    # the words are in it now
@disks = stops_of('fsync() does nothing', sub { exec Tipme::TestDaemon::tipme(), 'snap' }, 'fsync');
($new) = added(@before);
$want{$new} = files($d->library . "/$new");
my $torn = grep { my (undef, @wrong) = look_at($_, $before[0]); @wrong } @disks;
cmp_ok $torn, '>', 0,
	"control: without fsync() $torn of " . scalar(@disks) . ' disks have a torn episode';
$d->stop;
close $other;
system 'umount', $d->library;
delete $d->{mounted};
done_testing;

sub visible {
	my ($dir) = @_;
	return sort map {s{.*/}{}r} glob "$dir/2*";
}

# What is in the library and was not before.
sub added {
	my (@were) = @_;
	my %were   = map { $_ => 1 } @were;
	return grep { !$were{$_} } visible($d->library);
}

sub snap_quietly { return $d->run(Tipme::TestDaemon::tipme(), 'snap') }

sub files {
	my ($dir) = @_;
	return { map { (s{.*/}{}r => slurp($_)) } glob "$dir/*" };
}

sub say_words {
	my ($text) = @_;
	my $c = $d->connection;
	send $c, Tipme::TestDaemon::message(6, 0, "$new\n$text"), 0;
	return (Tipme::TestDaemon::answer($c, 60))[1];
}

# Runs DO in a process of its own, stops tipmed after each step of its writer, and keeps the disk of
# each; with LIES, those calls are not done.
sub stops_of {
	my ($what, $do, $lies) = @_;
	my ($tid) = grep {
		slurp('/proc/' . $d->pid . "/task/$_/status") =~ /^Uid:\s+\d+\s+\d+\s+\d+\s+$OWNER$/m
	} map {m{(\d+)$}} glob '/proc/' . $d->pid . '/task/*';
	my ($log, $err) = map { $d->dir . "/strace.$_" } qw(out err);
	unlink $log, $err;
	my $steps  = join ',', grep { $_ ne $lies } @STEPS;
	my $strace = fork // die;
	if (!$strace) {
		open STDERR, '>', $err or die;
		exec 'strace', '-p', $tid, '-o', $log, '-e', "trace=" . join(',', @STEPS), '-e',
			"inject=$steps:signal=STOP", $lies ? ('-e', "inject=$lies:retval=0:signal=STOP") : ()
			or die;
	}
	wait_until(sub { -e $err && slurp($err) =~ /attached/ }) or BAIL_OUT('strace does not attach');
	my $doer = fork // die;
	if (!$doer) { open STDOUT, '>', '/dev/null'; $do->(); $d->{owner} = 0; POSIX::_exit(0) }
	my (@disks, $seen);
	while (waitpid($doer, 1) == 0) {
		my @stops =
			-e $log
			? slurp($log) =~ /^(\w+)\(.*\n(?=(?:.*SIGSTOP.*\n)*--- stopped by SIGSTOP)/mg
			: ();
		my $n = () = -e $log ? slurp($log) =~ /^--- stopped by SIGSTOP/mg : ();
		if ($n > ($seen // 0)) {
			$seen = $n;
			push @disks, disk_now("$what: after $n, " . ($stops[-1] // '?'));
			kill 'CONT', $d->pid;
		} else {
			sleep 0.002;
		}
	}
	kill 'TERM', $strace;
	waitpid $strace, 0;
	kill 'CONT', $d->pid;
	return @disks;
}

# The journal goes to disk with somebody else's file. Blocks without content stay holes.
sub disk_now {
	my ($what) = @_;
	my $copy   = sprintf '%s/disk.%03d', $d->dir, ++our $disks;
	syswrite $other, 'x';
	$other->sync                                       or die "sync: $!";
	system('cp', '--sparse=always', $disk, $copy) == 0 or die 'no room for a copy of the disk';
	return { what => $what, file => $copy };
}

sub mounted {
	my ($one, $do) = @_;
	system("mount -o loop '$one->{file}' '$look'") == 0 or return 'cannot be mounted';
	my @result = $do->();
	system('umount', $look);
	return @result;
}

# Whether the new one is there; what is wrong. One that was there may be missing only if it is the
# one that makes room.
sub look_at {
	my ($one, $may_go) = @_;
	my @result = mounted(
		$one,
		sub {
			my @there = visible($look);
			my @wrong;
			for my $id (@there) {
				my ($is, $should) = (files("$look/$id"), $want{$id} // {});
				push @wrong,
					map  {"$id/$_ is not as it should be"}
					grep { ($is->{$_} // '') ne ($should->{$_} // '') }
					keys %{ { %$is, %$should } };
				push @wrong, @{ complete("$look/$id") };
			}
			for my $id (grep { $_ ne $may_go } @before) {
				push @wrong, "$id is gone" if !grep { $_ eq $id } @there;
			}
			return (scalar(grep { $_ eq $new } @there), @wrong);
		}
	);
	unlink $one->{file};
	return @result;
}

sub words_in {
	my ($one) = @_;
	my @result = mounted($one, sub { return slurp("$look/$new/note.txt") });
	unlink $one->{file};
	return @result;
}
