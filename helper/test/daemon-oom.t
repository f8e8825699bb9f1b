# SPDX-License-Identifier: GPL-2.0-only
# The kernel's OOM killer ends tipmed while it saves: in a control group of its own, whose memory
# runs out, and nobody else's. It can do so only where tipmed has no right to be spared, and that is
# said. With that right it is somebody else who goes, and the episode is saved.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use POSIX ();
use Test::More;
use Time::HiRes       qw(sleep time);
use Tipme::TestDaemon qw(complete gone load slurp wait_until);

use constant MB => 1 << 20;
# Between what the group uses and what it may; what the hog takes: more than that, and less than
# tipmed leaves behind; what a hog has that leaves room for an episode.
use constant { SLACK => 2 * MB, PUSH => 12 * MB, FAT => 64 * MB };

plan skip_all => 'tipmed is not built here'                if !-x Tipme::TestDaemon::tipmed();
plan skip_all => 'recording needs root (run it with sudo)' if $>;
plan skip_all => 'choom or setpriv is not installed (util-linux)' if grep {
	my $p = $_;
	!grep { -x "$_/$p" } split /:/, $ENV{PATH}
} qw(choom setpriv);

my $root =
	-e '/sys/fs/cgroup/memory/memory.limit_in_bytes' ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup';
my $v1    = $root =~ /memory$/;
my $group = "$root/tipme-oom-$$";
my $main  = $$;
my (@hogs, @load, @made);
mkdir $group or plan skip_all => "no control group may be made below $root: $!";

END {
	if ($main == $$) {
		local $?;
		kill 'KILL', @hogs, @load;
		waitpid $_, 0 for @hogs, @load;
		leave();
	}
}
plan skip_all => "$group has no limit of memory: its parent does not hand it down"
	if !-e limit_file();

# Without CAP_SYS_RESOURCE it can take back what others without it put on it (choom), and no more.
my @UNSPARED =
	(qw(setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource), qw(choom -n 1000 --));
my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 4 ]);

subtest 'what is said'                   => \&said;
subtest 'tipmed is ended while it saves' => \&ended;
subtest 'with the right to be spared'    => \&spared;
done_testing;

sub said {
	my (undef, $out) = start_in_group(@UNSPARED);
	my $adj = adj();
	cmp_ok $adj, '<', 1000, 'it takes as much as it may';
	like $out,
		qr/^limited: oom_score_adj stays at $adj \(.*denied\): when memory runs out, the OOM killer may end the recorder$/m,
		'tipme start says that it may be ended';
	is scalar(grep {/^oom_score_adj stays at $adj /} @{ $d->status->{limits} }), 1,
		'... and so does tipme status';
	my ($ring) = $out =~ /^memory: ([\d.]+) MB ring/m;
	cmp_ok used(), '>', 1e6 * ($ring // 1e6),
		sprintf 'the ring is charged to the group, which uses %.1f MB', used() / MB;
	$d->stop;
	return;
}

sub ended {
	my $caught = 0;
	for my $try (1 .. 40) {
		my ($rc, undef, $why) = start_in_group(@UNSPARED);
		is $rc,            0, "start $try" or diag $why;
		is half_written(), 0, 'what the last one left half-written is gone';
		put('/proc/' . $d->pid . '/oom_score_adj', 1000);
		is adj(), 1000, 'it is the first to be ended';
		my %old = map { $_ => 1 } episodes();
		my $hog = hog(0, 0, PUSH);
		@load = map { load() } 1 .. 2;
		sleep 0.2;
		my $kills = kills();
		put(limit_file(), used() + SLACK) or BAIL_OUT('no limit could be set');
		my $snap = snap_meanwhile();
		my $end  = time + 60;
		1 until half_written() || episodes() > keys %old || time > $end;
		$hog->{push}->();
		my $gone = wait_until(sub { gone($d->pid) });
		my ($status, $err) = $snap->();
		end_load();
		$hog->{end}->();
		unlimited();
		ok $gone, 'tipmed has ended' or last;
		my $pid = delete $d->{pid};
		by_oom_killer($pid, kills() - $kills);
		my @new = grep { !$old{$_} } episodes();
		is_deeply [ map { @{ complete($_) } } keys %old, @new ], [],
			'every episode that has its name is complete';
		next if !half_written();
		$caught++;
		is_deeply \@new, [], 'it was in the midst of writing: the new one has no name yet';
		is $status, 1, 'tipme snap fails';
		like $err,
			qr/^tipme: snap: the recorder ended before the episode was saved: start it again with sudo tipme start$/m,
			'... and says why';
		last if $caught == 2;
	}
	cmp_ok $caught, '>=', 1, "it was caught in the midst of writing ($caught times)";
	is + ($d->start)[0], 0, 'the next start works';
	is half_written(),   0, 'the half-written ones are gone';
	is + ($d->snap)[0],  0, 'and an episode can be saved';
	$d->stop;
	return;
}

# As the unit has it: somebody else in the group has to go. Where nobody has that right, not even
# root, tipmed is only the last of those who may be ended.
sub spared {
	is + (start_in_group())[0], 0, 'start';
	my $may = has_right();
SKIP: {
		skip 'root has no CAP_SYS_RESOURCE here: it is the hog that is made the first to be ended',
			1
			if !$may;
		is adj(), -1000, 'it spares itself';
	}
	my $hog = hog($may ? 0 : 1000, FAT, PUSH);
	@load = map { load() } 1 .. 2;
	sleep 0.2;
	my $kills = kills();
	put(limit_file(), used() + SLACK) or BAIL_OUT('no limit could be set');
	my %old  = map { $_ => 1 } episodes();
	my $snap = snap_meanwhile();
	1 until half_written() || episodes() > keys %old || !kill 0, $d->pid;
	$hog->{push}->();
	my ($status, $err) = $snap->();
	is $status,          0,                'the episode is saved' or diag $err;
	is $hog->{wait}->(), POSIX::SIGKILL(), 'the hog was killed';
	by_oom_killer($hog->{pid}, kills() - $kills);
	ok !gone($d->pid), 'tipmed was not';
	end_load();
	unlimited();
	my @new = grep { !$old{$_} } episodes();
	is_deeply [ map { @{ complete($_) } } @new ], [], 'what was saved is whole';
	is scalar(@new), 1, 'one episode';
	$d->stop;
	return;
}

# --- who ended whom: the kernel says ---

# CAP_SYS_RESOURCE is number 24.
sub has_right {
	return
		hex(substr slurp('/proc/self/status') =~ /^CapEff:\s*([0-9a-f]+)$/m ? $1 : '0', -8) >> 24 &
		1;
}

# How many processes of the group its OOM killer has ended.
sub kills {
	return slurp($v1 ? "$group/memory.oom_control" : "$group/memory.events") =~ /^oom_kill (\d+)$/m
		? $1
		: 0;
}

sub by_oom_killer {
	my ($pid, $kills) = @_;
	# Where that did not give memory back soon enough, the kernel goes on with the next.
	cmp_ok $kills, '>=', 1, 'the control group counts a process ended by the OOM killer';
	my @log = qx{dmesg 2>/dev/null};
SKIP: {
		skip 'the kernel log cannot be read here', 1 if !@log;
		is scalar(grep {/^(?:\[[^]]*\] )?Memory cgroup out of memory: Killed process $pid /} @log),
			1, "... and the kernel's log names it";
	}
	return;
}

sub adj { return slurp('/proc/' . $d->pid . '/oom_score_adj') + 0 }

# --- the group ---

sub limit_file { return "$group/" . ($v1 ? 'memory.limit_in_bytes' : 'memory.max') }

sub used { return slurp("$group/" . ($v1 ? 'memory.usage_in_bytes' : 'memory.current')) + 0 }

sub unlimited { return put(limit_file(), $v1 ? -1 : 'max') }

sub put {
	my ($path, $text) = @_;
	open my $f, '>', $path or return;
	return syswrite($f, $text) && close $f;
}

# All that tipmed takes from its first page on is the group's, also the maps of its tracing
# programs.
sub start_in_group {
	my (@command) = @_;
	my $home = home();
	put("$group/cgroup.procs", $$) or BAIL_OUT("no place in $group");
	my @result = do { local $d->{prefix} = \@command; $d->start };
	put("$home/cgroup.procs", $$) or BAIL_OUT("no way back to $home");
	return @result;
}

# Where we come from.
sub home {
	my ($path) = slurp('/proc/self/cgroup') =~
		($v1 ? qr/^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m : qr/^0::(.*)$/m);
	return -d "$root$path" ? "$root$path" : $root;
}

sub leave {
	for (1 .. 100) { last if rmdir $group; sleep 0.1 }
	return;
}

# --- who is there ---

sub episodes { my @found = glob $d->library . '/2*'; return @found }

sub half_written { my @found = glob $d->library . '/.[0-9]*'; return scalar @found }

sub end_load { kill 'KILL', @load; waitpid $_, 0 for @load; @load = (); return }

# `tipme snap`, from outside of the group; what it is waited for gives its status and what it said
# of errors.
sub snap_meanwhile {
	my $err = $d->dir . '/.snap';
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', $err;
		exec Tipme::TestDaemon::tipme(), 'snap' or POSIX::_exit(127);
	}
	return sub { waitpid $pid, 0; return ($? >> 8, slurp($err)) };
}

# A process in the group that has BYTES, takes MORE when it is told to, and keeps all.
sub hog {
	my ($adj, $bytes, $more) = @_;
	pipe my $r,     my $w    or die "pipe: $!\n";
	pipe my $ready, my $tell or die "pipe: $!\n";
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		close $w;
		put("$group/cgroup.procs", $$) && put('/proc/self/oom_score_adj', $adj) or POSIX::_exit(1);
		my @kept;
		push @kept, 'x' x (1 << 18) for 1 .. $bytes >> 18;
		syswrite $tell, 'x';
		sysread $r, my $told, 1 or POSIX::_exit(0);
		push @kept, 'x' x (1 << 18) for 1 .. $more >> 18;
		sleep 1 while 1;
	}
	close $_ for $r, $tell;
	push @hogs, $pid;
	sysread $ready, my $said, 1 or BAIL_OUT('no hog');
	# It may have been ended before it is told: saving takes memory, too.
	my $wait = sub {
		waitpid $pid, 0;
		@hogs = grep { $_ != $pid } @hogs;
		return $? & 127;
	};
	return {
		pid => $pid, push => sub { local $SIG{PIPE} = 'IGNORE'; syswrite $w, 'x' },
		wait => $wait, end => sub { kill 'KILL', $pid; $wait->() }
	};
}
