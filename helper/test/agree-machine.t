#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Memory and pressure of the machine, what the kernel reports, and what CPU time groups of processes
# are meant to get: beside a witness that reads /proc/meminfo, /proc/pressure and /proc/vmstat in
# the same seconds, beside dmesg, and beside the files of the groups.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", map {"$FindBin::Bin/../../tests/$_"} qw(lib lab/lib);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use POSIX      ();
use Test::More;
use Time::HiRes qw(sleep clock_gettime CLOCK_MONOTONIC);
use Tipme::Lab::Cgroup;
use Tipme::TestDaemon qw(slurp records_of wait_until);
use Tipme::Weights    qw($LIST_WEIGHTS weights_of weights_differ);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
plan skip_all => 'a part of all tests (TIPME_TEST_ALL=1)'  if !$ENV{TIPME_TEST_ALL};
# A look reads the files within so many ns behind the time that its record has.
my $READS_NS  = 800_000_000;
my $NOT_KNOWN = 4_294_967_295;
my %OF        = (
	some_us     => 'memory some',   full_us     => 'memory full', io_full_us   => 'io full',
	swapped_in  => 'pswpin',        swapped_out => 'pswpout',     major_faults => 'pgmajfault',
	compactions => 'compact_stall', oom_kills   => 'oom_kill',
);
# How much there was: which of /proc/meminfo.
my %LEVEL = (
	available_kib => 'MemAvailable', swap_free_kib => 'SwapFree', dirty_kib => 'Dirty',
	writeback_kib => 'Writeback'
);
my $ROUND_NS = 400_000_000;                                # on either side of one of our looks
my $NEAR_KIB = 64 << 10;
my $dir      = tempdir(DIR => '/var/tmp', CLEANUP => 1);
my $d        = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 120 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'it starts' or BAIL_OUT("no recorder: $err");

# --- memory, faults, pressure ---
my @seen = (witness());
my $load = load();
# Until there is something to compare, and three looks more.
my $began = $seen[0];
wait_until(
	sub {
		sleep 0.1;
		push @seen, witness();
		# The limit of one group may be no pressure of the whole machine.
		my $pressed = grown('memory some') > 50_000 || grown('io full') > 50_000;
		$pressed ||= now_ns() > $began->{ns} + 20_000_000_000;
		return $pressed && grown('pgmajfault') > 100;
	}
);
my $enough_ns = now_ns() + 3_500_000_000;
while (now_ns() < $enough_ns) { sleep 0.1; push @seen, witness() }
kill 'KILL', $load->{pid};
waitpid $load->{pid}, 0;
$load->{done}->();
my $end_ns = now_ns() + 2_000_000_000;
while (now_ns() < $end_ns) { sleep 0.1; push @seen, witness() }

my @m = records('memory_state');
# Both looked in all of that time.
@m = grep { $_->{ts_ns} > $seen[0]{ns} && $_->{ts_ns} + $READS_NS < $seen[-1]{ns} } @m;
cmp_ok scalar @m, '>=', 3, 'looks in that time: ' . @m;
for my $field (sort keys %OF) {
	my $name = $OF{$field};
SKIP: {
		skip "$name: this kernel tells none", 1 if !defined $seen[0]{$name} || @m < 2;
		my $sum = 0;
		$sum += $_->{$field} for @m[ 1 .. $#m ];
		my ($least, $most) = between($name, map { $_->{ts_ns} } @m[ 0, -1 ]);
		ok $sum >= $least && $sum <= $most,
			"$field: $sum by us; the kernel's own count grew by $least to $most"
			or diag explain \@m;
	}
}

# Between the least and the most that the witness saw around each look, or near to that: it looks
# each tenth of a second, and there is some up and down in between.
for my $field (sort keys %LEVEL) {
	my @off;
	for my $r (@m) {
		my ($from, $to) = ($r->{ts_ns} - $ROUND_NS, $r->{ts_ns} + $READS_NS + $ROUND_NS);
		my @round = sort { $a <=> $b } map { $_->{level}{ $LEVEL{$field} } }
			grep { $_->{ns} >= $from && $_->{ns} <= $to } @seen;
		push @off, "$r->{$field} at $r->{ts_ns}, the witness: $round[0] to $round[-1]"
			if @round > 2
			&& ($r->{$field} < $round[0] - $NEAR_KIB || $r->{$field} > $round[-1] + $NEAR_KIB);
	}
	is join("\n", @off), '', "$field: as /proc/meminfo has it";
}

# --- what the kernel reports: an error of a file system that we have it find ---
SKIP: {
	my $disk = file_system() // skip 'no file system may be made here whose errors can be had', 3;
	my $n    = 3;
	my $door = "/sys/fs/ext4/$disk->{name}/trigger_fs_error";
	# Those of a run before this one stand there, too.
	my $before = () = qx{dmesg} =~ /EXT4-fs error \(device $disk->{name}\)/g;
	for (1 .. $n) { put($door, "test $_") }
	my $dmesg = () = qx{dmesg} =~ /EXT4-fs error \(device $disk->{name}\)/g;
	$dmesg -= $before;
	my @errors;
	wait_until(
		sub {
			sleep 0.5;
			@errors = grep { $_->{kind} eq 'fs_error' } records('kernel_message');
			return @errors >= $dmesg;
		}
	);
	$disk->{done}->();
	cmp_ok $dmesg, '>=', 1, "dmesg shows $dmesg errors of it";
	is scalar(grep { $_->{device} eq $disk->{name} } @errors), $dmesg, 'we have as many, of it';
	is scalar(@errors),                                        $dmesg, '... and of nothing else';
}

# --- weights of groups ---
SKIP: {
	my @made = weighed(512, 1024, 3000) or skip 'no groups with weights may be made here', 2;
	my ($before, $after, $text, @wrong);
	wait_until(
		sub {
			$before = weights_of(scalar qx{$LIST_WEIGHTS});
			$text   = join "\n", texts('identity');
			$after  = weights_of(scalar qx{$LIST_WEIGHTS});
			@wrong  = weights_differ($before, $after, split /\n/, $text);
			return !@wrong || !sleep 1;
		}
	);
	is join("\n", @wrong), '', 'weights of ' . keys(%$after) . ' groups, as their files say';
	my @told = map { $after->{$_} // "$_ usual" } @made;
	like "@told", qr/^\d+ 500 \S+ usual \d+ 2929$/, 'three that we made: two are told';
	rmdir for @made;
}
$d->stop;
done_testing();

sub now_ns { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }

# Records of an episode that is saved now.
sub texts {
	my ($file) = @_;
	my (undef, @r) = records_of((split /\n/, ($d->snap)[1])[1] . "/$file.rec");
	return @r;
}

sub records {
	my ($name) = @_;
	return map { +{/(\w+)=(\S+)/g} } grep {/^\Q$name\E /} texts('threads');
}

# Groups of these shares (1024 is what all get): their folders.
sub weighed {
	my @shares = @_;
	my $base   = Tipme::Lab::Cgroup::mounts()->{cpu} // return;
	my @made;
	for my $n (@shares) {
		push @made, "$base/tipme-test-$$-$n";
		mkdir $made[-1] and put("$made[-1]/cpu.shares", $n) or return;
	}
	return @made;
}

# What the kernel counts: { ns, NAME => number }.
sub witness {
	my %of = slurp('/proc/vmstat') =~ /^(\w+) (\d+)$/mg;
	for my $what (qw(memory io)) {
		my $text = -r "/proc/pressure/$what" ? eval { slurp("/proc/pressure/$what") } // '' : '';
		$of{"$what $1"} = $2 while $text =~ /^(some|full) .*total=(\d+)/mg;
	}
	my %level = slurp('/proc/meminfo') =~ /^(\w+):\s+(\d+)/mg;
	return { ns => now_ns(), level => \%level, map { $_ => $of{$_} } values %OF };
}

sub grown { my ($name) = @_; return ($seen[-1]{$name} // 1e12) - ($began->{$name} // 0) }

# By how much a count grew between two looks: at least and at most, as the witness saw it around
# each.
sub between {
	my ($name, $from, $to) = @_;
	my ($before_from) = grep { $_->{ns} <= $from } reverse @seen;
	my ($after_from)  = grep { $_->{ns} >= $from + $READS_NS } @seen;
	my ($before_to)   = grep { $_->{ns} <= $to } reverse @seen;
	my ($after_to)    = grep { $_->{ns} >= $to + $READS_NS } @seen;
	my $least         = $before_to->{$name} - $after_from->{$name};
	return ($least > 0 ? $least : 0, $after_to->{$name} - $before_from->{$name});
}

# A process that reads more than its group may have, and starts programs that are in no cache.
sub load {
	my $group = memory_group();
	open my $h, '>', "$dir/data" or die "$dir/data: $!\n";
	print {$h} 'x' x (1 << 20) for 1 .. 64;
	close $h;
	copy($^X, "$dir/program") or die "$dir/program: $!\n";
	chmod 0755, "$dir/program";
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		put("$group/cgroup.procs", $$) if $group;
		while (1) {
			open my $in, '<', "$dir/data" or POSIX::_exit(1);
			1 while sysread $in, my $piece, 1 << 20;
			close $in;
			evict("$dir/program");
			system "$dir/program", '-e', '1';
		}
	}
	return {
		pid  => $pid,
		done => sub {
			wait_until(sub { sleep 0.1; !$group || !-d $group || rmdir $group });
		}
	};
}

sub evict {
	my ($path) = @_;
	open my $h, '<', $path or return;
	syscall 221, fileno $h, 0, 0, 4;    # fadvise64(POSIX_FADV_DONTNEED): of x86-64
	return;
}

# A group of 24 MB: its folder.
sub memory_group {
	return if Tipme::Lab::Cgroup::lacks('memory');
	my $at   = Tipme::Lab::Cgroup::mounts();
	my $base = $at->{memory} // $at->{unified} // return;
	my $made = "$base/tipme-test-$$";
	mkdir $made                                                                        or return;
	put("$made/" . ($at->{memory} ? 'memory.limit_in_bytes' : 'memory.max'), 24 << 20) or return;
	return $made;
}

# A file system in a file: { name of its disk, done => CODE }.
sub file_system {
	my $file = "$dir/disk";
	open my $h, '>', $file or return;
	truncate $h, 16 << 20 or return;
	close $h;
	return if system "mkfs.ext4 -q -F '$file' >/dev/null 2>&1";
	mkdir "$dir/mounted";
	return if system "mount -o loop,errors=continue '$file' '$dir/mounted' 2>/dev/null";
	my ($name) = qx{findmnt -no SOURCE '$dir/mounted'} =~ m{^/dev/(\S+)};
	return { name => $name, done => sub { system "umount '$dir/mounted'" } };
}

sub put {
	my ($file, $text) = @_;
	open my $h, '>', $file or return 0;
	print {$h} "$text\n";
	return close $h;
}
