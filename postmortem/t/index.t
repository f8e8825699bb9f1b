#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The index: the same records in the same order as a plain sort; never a half one, a damaged one or
# a stranger's.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Episode;
use Tipme::Index;
use Tipme::Test::Files qw(spew);
use Tipme::Test::Episode;

my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
$ENV{TIPME_LIBRARY} = "$tmp/library";
mkdir $ENV{TIPME_LIBRARY}, 0700 or die "$!\n";
my $n = 0;
srand 20261120;

# Four CPUs of unequal load, times that run back a little, records of all lengths, an X server, one
# second of time.
sub story {
	my ($records, %o) = @_;
	my $b = Tipme::Test::Episode->new(
		trigger_ns      => 1_900_000_000, end_ns => 2_000_000_000, cpus => 4,
		section_records => 300,           %o
	);
	for my $i (1 .. $records) {
		my $ts  = 1_000_000_000 + int rand 1_000_000_000;
		my $cpu = int(4 * rand()**3);
		$b->switch($cpu, $ts, $i, $i + 1, 'sleeping');
		$b->x($ts + 7, 'x_request', pid => 4, duration_ns => 5, client => 1, count => 1)
			if $i % 5 == 0;
	}
	$b->thread($_, "thread $_", ts_ns => 1_000_000_000 + 10_000 * $_, since_ns => 5) for 1 .. 200;
	$b->daemon(1_500_000_000, 'stack', stack_id => $_, frames => 1, text => 'f+0x' . 'a' x $_)
		for 1 .. 50;
	return $b->write("$tmp/e" . ++$n);
}

# All records by a plain sort, straight from the sections.
sub plain {
	my ($dir, $from, $to) = @_;
	my $e = Tipme::Episode->open($dir);
	my @all;
	for my $s ($e->sections) {
		my ($list, $buf) = $e->section_records($s);
		push @all, map {
			[
				$_->[0], $s->{file}, $s->{offset} + $_->[1], unpack 'H*', substr $$buf, $_->[1],
				$_->[2]
			]
		} @$list;
	}
	return [
		map  { join ' ', @$_ }
		sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] || $a->[2] <=> $b->[2] }
		grep { (!defined $from || $_->[0] >= $from) && (!defined $to || $_->[0] < $to) } @all
	];
}

sub indexed {
	my ($index, $from, $to) = @_;
	my @all;
	$index->each(
		$from, $to,
		sub {
			my ($bytes, $w) = @_;
			push @all, join ' ', @$w{qw(ts file offset)}, unpack 'H*', $bytes;
			return 0;
		}
	);
	return \@all;
}

sub open_index { return Tipme::Index->open(Tipme::Episode->open($_[0])) }

sub bytes_of {
	my ($file) = @_;
	open my $h, '<:raw', $file or die "$file: $!\n";
	local $/ = undef;
	return scalar <$h>;
}

my $dir   = story(5000);
my $index = open_index($dir);
my $want  = plain($dir);
is($index->count, scalar @$want, 'all records are in it');
is($index->built, 1,             'it was built');
is_deeply(indexed($index), $want, 'and stand in the order of a plain sort');
for my $range (
	[ 1_500_000_000, 1_500_100_000 ], [ undef, 1_000_500_000 ],
	[ 1_999_000_000, undef ], [ 0, 1 ], [ 3_000_000_000, undef ], [ 1_200_000_000, 1_900_000_000 ]
	)
{
	is_deeply(
		indexed($index, @$range), plain($dir, @$range), 'range ' . join '..',
		map { $_ // '' } @$range
	);
}
my ($first) = split / /, $want->[777];
is_deeply(
	indexed($index, $first, $first + 1), plain($dir, $first, $first + 1),
	'a range of one nanosecond'
);
my $calls = 0;
$index->each(undef, undef, sub { return ++$calls == 3 });
is($calls,                         3,    'a true answer ends the walk');
is((stat $index->file)[2] & 07777, 0600, 'nobody else may read it');
is((stat "$dir/cache")[2] & 07777, 0700, 'nor its folder');
is(open_index($dir)->built,        0,    'the second time it is there already');

# --- whatever is doubtful is built again ---
my $db   = "$dir/cache/index.db";
my $good = bytes_of($db);
for my $at (0, 100, int(length($good) / 3), length($good) - 20) {
	my $bad = $good;
	substr($bad, $at, 1) ^= "\x10";
	spew($db, $bad);
	my $i = open_index($dir);
	is($i->built, 1, "byte $at flipped: built again");
	is_deeply(indexed($i), $want, '... and right');
}
spew($db, substr $good, 0, length($good) / 2);
is(open_index($dir)->built, 1, 'half an index: built again');
spew($db, '');
is(open_index($dir)->built, 1, 'an empty one: built again');
unlink $db;
is(open_index($dir)->built, 1, 'none: built again');
spew("$dir/cache/index.stamp", 'x');
is(open_index($dir)->built, 1, 'another stamp: built again');
spew("$dir/threads.rec", bytes_of("$dir/threads.rec"));
is(open_index($dir)->built, 0, 'the same records written once more: good');
{
	my $raw     = bytes_of("$dir/threads.rec");
	my $changed = $raw;
	substr($changed, -3, 1) = 'b';
	spew("$dir/threads.rec", $changed);
	my $i = open_index($dir);
	is($i->built, 1, 'other records: built again');
	is_deeply(indexed($i), plain($dir), '... from those');
	spew("$dir/threads.rec", $raw);
}

# --- a stranger's ---
my $theirs = "$tmp/e" . ++$n;
system('cp', '-r', $dir, $theirs) == 0 or die "cp failed\n";
open_index($theirs);
is(open_index($theirs)->built, 0, 'a copy that we made ourselves is believed');
unlink "$ENV{TIPME_LIBRARY}/index.token" or die "$!\n";
is(
	open_index($theirs)->built, 1,
	'an index that another user signed is not opened, but built again'
);
is(
	(stat "$ENV{TIPME_LIBRARY}/index.token")[2] & 07777, 0600,
	'nobody else may read what we sign with'
);
system('rm', '-rf', "$theirs/cache");
symlink '/etc', "$theirs/cache" or die "$!\n";
ok(!eval { open_index($theirs) }, 'a link where the cache belongs is not followed');
like($@, qr/cache: is a link: /, '... and said');
unlink "$theirs/cache";
mkdir "$theirs/cache";
spew("$tmp/precious", 'precious');
symlink "$tmp/precious", "$theirs/cache/$_"
	or die "$!\n"
	for qw(index.db index.db.tmp index.stamp index.stamp.tmp);
is(open_index($theirs)->built, 1,          'links where files belong are replaced');
is(bytes_of("$tmp/precious"),  'precious', '... and what they point to is as it was');

# --- killed while building ---
my $big = story(30_000);
my $all = plain($big);
my ($killed, $half) = (0, 0);
for my $after (1 .. 11) {
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		# Dies without any cleaning up, after so many blocks.
		no warnings 'redefine';
		my $fill   = \&BerkeleyDB::Common::db_put;
		my $blocks = 0;
		local *BerkeleyDB::Common::db_put =
			sub { kill KILL => $$ if ++$blocks == 9 * $after; goto &$fill };
		eval { open_index($big) };
		require POSIX;
		POSIX::_exit(0);
	}
	waitpid $pid, 0;
	$killed++ if ($? & 127) == 9;
	$half++   if -e "$big/cache/index.db.tmp";
	ok(!-e "$big/cache/index.stamp", "killed after block @{[ 9 * $after ]}: no stamp, so no index")
		if ($? & 127) == 9;
}
cmp_ok($killed, '>=', 10, "killed $killed times while building");
cmp_ok($half,   '>=', 10, "$half half indexes were left behind");
my $i = open_index($big);
is($i->built, 1, 'afterwards it is built');
is_deeply(indexed($i), $all, '... whole');

# --- two at once ---
system('rm', '-rf', "$big/cache");
my @pids = map {
	my $p = fork // die "$!\n";
	if (!$p) {
		my $ok = eval { @{ indexed(open_index($big)) } == @$all };
		require POSIX;
		POSIX::_exit($ok ? 0 : 1);
	}
	$p
} 1 .. 3;
is_deeply(
	[ map { waitpid $_, 0; $? } @pids ], [ 0, 0, 0 ],
	'three readers at once build one index, all see all of it'
);

# --- odd episodes ---
{
	my $e = Tipme::Test::Episode->new(trigger_ns => 1000, end_ns => 1000);
	$e->switch(3, 500, 1, 2, 'sleeping') for 1 .. 3000;
	my $d = $e->write("$tmp/e" . ++$n);
	is_deeply(indexed(open_index($d), 500, 501), plain($d), '3000 records of one CPU at one time');
}
{
	my $e = Tipme::Test::Episode->new(trigger_ns => 1000, end_ns => 1000);
	$e->add_raw(
		'kernel.rec', 'kernel_bpf', 0, 7_000_000_000,
		$e->bytes('sched_switch', ts_ns => $_ * 1_000_000_000)
	) for 9, 8, 2, 9;
	$e->switch(1, $_ * 1_000_000_000, 1, 2, 'sleeping') for 1 .. 12;
	my $d  = $e->write("$tmp/e" . ++$n);
	my $i  = open_index($d);
	my @ts = map { (split / /)[0] } @{ indexed($i) };
	is_deeply(\@ts, [ sort { $a <=> $b } @ts ], 'times that run back by seconds: still in order');
	is($i->count + $i->disordered, 16, '... and what had to be left out is counted');
}
{
	my $d = Tipme::Test::Episode->new(trigger_ns => 1000, end_ns => 1000)->write("$tmp/e" . ++$n);
	is_deeply(indexed(open_index($d)), [], 'an episode without records has an empty index');
}
SKIP: {
	skip 'only root can give an episode away', 2 if $>;
	my $d = story(100);
	system('chown', '-R', '12345', $d) == 0 or die "chown failed\n";
	is_deeply(indexed(open_index($d)), plain($d), "another user's episode is indexed elsewhere");
	ok(!-e "$d/cache", '... and nothing is left in it');
}

is_deeply(\@warnings, [], 'no warnings');
done_testing();
