#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What is found by looking at the machine as a whole: memory each second, what the kernel reports,
# and the state in the manifest; beside /proc, dmesg and the kernel's own files.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../../tests/lab/lib";
use JSON::PP ();
use Test::More;
use Time::HiRes qw(sleep clock_gettime CLOCK_MONOTONIC);
use Tipme::Lab::Cgroup;
use Tipme::TestDaemon qw(slurp tipme records_of wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my $SECRET = 'correct-horse-battery';

my $d            = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 30 ]);
my $kills_before = of_vmstat('oom_kill');
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'it starts' or BAIL_OUT("no recorder: $err");

# --- memory ---
my @m;
wait_until(sub { sleep 1; @m = records('threads.rec', 'memory_state'); @m >= 3 });
cmp_ok scalar @m, '>=', 3, 'a record of the memory about each second';
my %info = slurp('/proc/meminfo') =~ /^(\w+):\s+(\d+)/mg;
is_deeply [ @{ $m[-1] }{qw(total_kib swap_total_kib)} ], [ @info{qw(MemTotal SwapTotal)} ],
	'all memory and all swap as /proc/meminfo has them';
my $off = abs $m[-1]{available_kib} - $info{MemAvailable};
cmp_ok $off, '<', $info{MemTotal} / 5, "what is available is that of now, $off KiB off";
is $m[0]{since_ns}, 0, 'the first look knows of none before' if $m[0]{ts_ns} < $m[1]{since_ns};
is_deeply [ map { $_->{since_ns} } @m[ 1 .. $#m ] ], [ map { $_->{ts_ns} } @m[ 0 .. $#m - 1 ] ],
	'each says when the one before was';

# --- a process that is ended for want of memory: in the counts, and in the messages ---
SKIP: {
	my ($group, $limit) = Tipme::Lab::Cgroup::lacks('memory') ? () : memory_group();
	skip 'no control group whose memory may be limited', 5 if !$group;
	my $pid = greedy($group);
	waitpid $pid, 0;
	is $? & 127, 9, 'it was killed';
	skip 'the log of the kernel may not be read here', 4 if !$d->status->{classes}{kernel_message};
	my @kills;
	wait_until(
		sub {
			sleep 1;
			@kills = grep { $_->{kind} eq 'oom_kill' } records('threads.rec', 'kernel_message');
			return @kills > 0;
		}
	);
	my ($mine) = grep { $_->{number} == $pid } @kills;
	ok $mine, "the kernel's message of it is told, with its number" or diag explain \@kills;
	like qx{dmesg}, qr/Killed process $pid /, 'as dmesg shows it';
	@m = records('threads.rec', 'memory_state');
	my $counted = 0;
	$counted += $_->{oom_kills} for @m;
	cmp_ok $counted, '>', 0, 'and counted';
	cmp_ok $counted, '<=', of_vmstat('oom_kill') - $kills_before,
		'no more than /proc/vmstat counts';
	rmdir $group;
}

# --- what the table does not know, or others have written, goes nowhere ---
for my $line (
	"<4>$SECRET was here",
	"<4>usb 1-3: reset high-speed USB device number 4 using $SECRET"
	)
{
	open my $h, '>', '/dev/kmsg' or last;
	print {$h} "$line\n";
	close $h;
}
sleep 1.5;
my $episode = episode();
is_deeply [ grep { -f && slurp($_) =~ /$SECRET/ } glob "$episode/*" ], [],
	'a message that the table does not know is in no file';
is_deeply [ grep { $_->{kind} eq 'usb_reset' }
		records_in("$episode/threads.rec", 'kernel_message') ],
	[], 'what a process wrote into the log is not taken for the kernel\'s';

# --- the state of the machine ---
my $state = JSON::PP->new->utf8->decode(slurp("$episode/manifest.json"))->{state};
is ref $state, 'HASH', 'the manifest has the state of the machine';
my ($clock) = slurp('/sys/devices/system/clocksource/clocksource0/current_clocksource') =~ /(\S+)/;
is $state->{clock_source}, $clock,                                'its clock';
is $state->{dirty_ratio},  0 + slurp('/proc/sys/vm/dirty_ratio'), 'a limit of unwritten data';
my @mounts = map { (split ' ')[2] } split /\n/, slurp('/proc/self/mounts');
for my $kind (
	grep {/^(?:ext4|xfs|btrfs|overlay|nfs4?|cifs|fuse.*)$/}
	keys %{ { map { $_ => 1 } @mounts } }
	)
{
	is $state->{mounts}{$kind}, scalar(grep { $_ eq $kind } @mounts), "$kind is mounted so often";
}
my ($host) = slurp('/proc/sys/kernel/hostname') =~ /(\S+)/;
unlike(
	JSON::PP->new->encode($state), qr{root=|UUID|/home|"\Q$host\E"},
	'no disk, no folder and no name of the machine in it'
);

# --- switched off ---
is + ($d->run(tipme(), 'classes', '-memory_state'))[0], 0, 'the class is switched off';
my $off_ns = int(clock_gettime(CLOCK_MONOTONIC) * 1e9);
wait_until(
	sub { sleep 1; my @p = records('threads.rec', 'picture'); @p && $p[-1]{ts_ns} > $off_ns + 2e9 }
);
# A look that had begun may still end.
is_deeply [ grep { $_->{ts_ns} > $off_ns + 1e9 } records('threads.rec', 'memory_state') ], [],
	'a class that is off records nothing';
$d->stop;
done_testing();

sub episode { return (split /\n/, ($d->snap)[1])[1] }

sub records { my ($file, $name) = @_; return records_in(episode() . "/$file", $name) }

sub records_in {
	my ($path, $name) = @_;
	my (undef, @r)    = records_of($path);
	return map { +{/(\w+)=(\S+)/g} } grep {/^\Q$name\E /} @r;
}

sub of_vmstat { my ($name) = @_; return slurp('/proc/vmstat') =~ /^\Q$name\E (\d+)/m ? $1 : 0 }

# A group of 32 MB: its folder.
sub memory_group {
	my $at   = Tipme::Lab::Cgroup::mounts();
	my $base = $at->{memory} // $at->{unified} // return;
	my $dir  = "$base/tipme-test-$$";
	mkdir $dir or return;
	my $file = $at->{memory} ? 'memory.limit_in_bytes' : 'memory.max';
	open my $h, '>', "$dir/$file" or return;
	print {$h} 32 << 20;
	close $h or return;
	return $dir;
}

# A child in the group that takes more than there is.
sub greedy {
	my ($group) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	open my $h, '>', "$group/cgroup.procs" or exit 1;
	print {$h} "$$\n";
	close $h;
	my @memory;
	push @memory, 'x' x (1 << 20) while 1;
	exit 1;
}
