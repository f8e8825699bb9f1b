# SPDX-License-Identifier: GPL-2.0-only
# Causes of docs/causes.md that only a machine of one's own can be made to have: its disks, its
# drivers, its clock, its memory. A table, by the row of that page.
package Tipme::Suffered;
use strict;
use warnings;
use Tipme::LabMachine qw($AS_USER);
use Time::HiRes       qw(sleep time);

# What is loaded of the kernel's own modules.
our @MODULES = qw(nfsv3 scsi_debug sd_mod dm-mod dm-crypt xts aesni-intel btrfs vgem uinput veth
	sch_netem i2c-dev cpufreq_powersave ext4 zram);
my $FAR      = '198.51.100.9';
my $DEBUG    = '/sys/bus/pseudo/drivers/scsi_debug';
my $DEVICE   = '/sys/module/tipme_test_devices/parameters';
my $FIRST    = '$(cat /dev/shm/first-disk)';
my $SECOND   = '$(cat /dev/shm/second-disk)';
my $KEY      = "0123456789abcdef" x 4;                     # of an encrypted disk that holds nothing
my $JIFFY_MS = 4;                                          # of Debian's kernels
my $PATIENCE_S = 90;                                       # for what may not come at all

# Fields of a scene:
#   says    what is done to whom
#   needs   CODE->(vm): why it cannot be here; ''
#   before  CODE->(vm): before the client is there. begin: right before the key; pressed: right
#           behind it. after: when the episode is saved
#   deeds   what the client does for the key; CODE->(vm): the same
#   beside  CODE->(vm): ms that were waited until now, by a counter that is not ours
#   there   CODE->(vm): a number that grows where the cause is there, by a counter that is not ours
#   whole   what led to the hot-key is asked for, and not that press of a key
#   cpu0    the client may run on the first CPU only
#   kinds   kinds of verdict that are right, who: the name of whom is blamed, words: what the
#           verdict or what stands beside it must say. All that is decided before it is run.
my %SCENE = (
	7 => {
		says  => 'cp fills a slow disk; the client saves a document there',
		begin => sub {
			my ($vm) = @_;
			$vm->run( 'echo 4194304 > /proc/sys/vm/dirty_background_bytes; '
					. 'echo 16777216 > /proc/sys/vm/dirty_bytes; truncate -s 80M /tmp/source');
			slow($vm, 100);
			$vm->run('setsid cp --sparse=never /tmp/source /srv/first/copy >/dev/null 2>&1 &');
			# Until it has made a backlog, and for a while more.
			within($vm, 'grep -q balance_dirty_pages /proc/$(pgrep -n -x cp)/stack')
				or die "cp writes as much as it likes\n";
			sleep 2;
		},
		deeds => 'write 4194304 /srv/first/document',
		after => sub {
			my ($vm) = @_;
			slow($vm, 0);
			$vm->run( 'pkill -KILL -x cp; sync; rm -f /srv/first/copy; '
					. 'echo 10 > /proc/sys/vm/dirty_background_ratio; '
					. 'echo 20 > /proc/sys/vm/dirty_ratio');
		},
		kinds => ['writeback'],
		# Who made the backlog is not told: both are held back as often.
	},
	9 => {
		says =>
			'the client waits for a fence that nobody signals (vgem), until the driver gives up',
		needs => sub { card($_[0]) ? '' : 'no graphics processor that is none (vgem)' },
		deeds => sub { 'fence 0 ' . card($_[0]) },
		kinds => ['gpu-wait'],
	},
	12 => {
		says    => 'a file server (NFS) is silent for a second and more',
		needs   => sub { mounted($_[0], '/srv/far') },
		begin   => sub { $_[0]->run('touch /dev/shm/mute') },
		deeds   => 'open /srv/far/document',
		pressed => sub { sleep 1.2; $_[0]->run('rm -f /dev/shm/mute') },
		beside  => \&nfs_ms,
		kinds   => ['network-wait'],
		words   => qr/file server \(NFS\)/,
	},
	15 => {
		says    => 'the CPUs are limited to a third of their speed, and run at it',
		needs   => \&lacks_frequencies,
		begin   => sub { frequency($_[0], 'scaling_max_freq', 800_000) },
		deeds   => 'spin 25',
		pressed => \&slow_cpus,
		after   => sub { frequency($_[0], 'scaling_max_freq', 2_400_000) },
		kinds   => ['cpu-slow'],
		words   => qr/0\.80 GHz of 2\.40/,
	},
	20 => {
		says  => 'btrfs with quotas writes what was changed to a slow disk; the client saves there',
		needs => sub { mounted($_[0], '/srv/btrfs') },
		before =>
			sub { $_[0]->run('echo > /srv/btrfs/document; chmod 666 /srv/btrfs/document; sync') },
		begin => sub {
			my ($vm) = @_;
			Tipme::LabMachine::slow_disk($vm, 400_000);
			$vm->run( "setsid sh -c 'for i in \$(seq 60); do head -c 50000 /dev/urandom > "
					. "/srv/btrfs/many-\$i; done; sync' >/dev/null 2>&1 &");
			sleep 1.5;
		},
		deeds => 'fsync 16384 /srv/btrfs/document',
		after => sub {
			Tipme::LabMachine::slow_disk($_[0], 0);
			$_[0]->run('sync; rm -f /srv/btrfs/many-*');
		},
		kinds => ['disk-io'],
		# Who wrote it, or the commit that writes it.
		words => qr/btrfs|"sh"|through sh\b/i,
	},
	21 => {
		says   => 'a copy keeps the queues of an encrypted disk busy; the client opens a document',
		needs  => sub { mounted($_[0], '/srv/crypt') },
		before => sub { letter($_[0], '/srv/crypt', 65536) },
		begin  => sub {
			my ($vm) = @_;
			slow($vm, 100);
			$vm->run( 'setsid dd if=/dev/zero of=/srv/crypt/copy bs=4M count=8 oflag=direct '
					. '>/dev/null 2>&1 &');
			within($vm, "awk '{ exit !\$9 }' /sys/block/$SECOND/stat")
				or die "dd writes nothing\n";
		},
		deeds => 'read /srv/crypt/letter',
		after =>
			sub { slow($_[0], 0); $_[0]->run('pkill -KILL -x dd; rm -f /srv/crypt/copy; sync') },
		kinds => ['disk-io'],
		words => qr/encrypted/,
	},
	24 => {
		says => 'a pointing device (Bluetooth) is silent while it is moved, then sends all at once',
		needs => sub { pointer($_[0], 5, 'late') },
		begin => \&moved,
		deeds => 'compute 5',
		after => sub { $_[0]->run('exec 8>&-') },
		whole => 1,
		kinds => ['none'],
		words => qr/\(Bluetooth\) was silent for \d+ ms/,
	},
	25 => {
		says  => 'what the client asks of another machine (SSH) comes back late',
		needs =>
			sub { $_[0]->run('ip netns exec far true && echo yes') =~ /yes/ ? '' : 'no network' },
		begin => sub {
			$_[0]->run('ip netns exec far tc qdisc add dev there root netem delay 800ms');
		},
		deeds => "ask tcp:$FAR:22",
		after => sub { $_[0]->run('ip netns exec far tc qdisc del dev there root') },
		kinds => ['network-wait'],
		words => qr/SSH/,
	},
	29 => {
		says    => 'the governor of the CPUs keeps them at a third of their speed',
		needs   => \&lacks_frequencies,
		begin   => sub { frequency($_[0], 'scaling_governor', 'powersave') },
		deeds   => 'spin 25',
		pressed => \&slow_cpus,
		after   => sub { frequency($_[0], 'scaling_governor', 'performance') },
		kinds   => ['cpu-slow'],
		words   => qr/powersave/,
	},
	32 => {
		says  => 'powerdevil asks a monitor, whose bus is slow; the client needs that bus',
		needs => sub { bus($_[0]) ? '' : 'no bus' },
		begin => sub {
			my ($vm) = @_;
			my $bus = bus($vm);
			$vm->run(
				"chmod 666 $bus; cp /usr/bin/head /tmp/powerdevil; echo 1500 > $DEVICE/bus_ms; "
					. "setsid /tmp/powerdevil -c 1 $bus >/dev/null 2>&1 &");
			sleep 0.5;
			$vm->run("echo 1 > $DEVICE/bus_ms");
		},
		deeds => sub { 'open ' . bus($_[0]) },
		kinds => [qw(lock-wait ipc-wait)],
		who   => 'powerdevil',
	},
	37 => {
		says    => 'all CPUs stand still for a second, as when firmware has them',
		deeds   => 'compute 300',
		pressed => sub {
			my ($vm) = @_;
			sleep 0.15;    # until the client computes
			kill 'STOP', $vm->{pid};
			sleep 1;
			kill 'CONT', $vm->{pid};
		},
		kinds => ['machine-stall'],
	},
	40 => {
		says  => 'the clock of the CPUs was given up for a slow one; the client looks at it often',
		needs => sub {
			$_[0]->run('cat /sys/devices/system/clocksource/clocksource0/available_clocksource') =~
				/hpet/ ? '' : 'no such clock';
		},
		begin => sub { clock_source($_[0], 'hpet') },
		deeds => 'spin 300',
		after => sub { clock_source($_[0], $_[0]{clock}) },
		kinds => ['app-compute'],
		words => qr/clock source.* hpet/,
	},
	41 => {
		says  => 'the firmware (ACPI) reports events without end',
		cpu0  => 1,
		deeds => 'compute 10',
		begin => sub { $_[0]->run("echo 2500 > $DEVICE/events_ms") },
		kinds => ['cpu-contention'],
		words => qr/events of the firmware \(ACPI\)/,
	},
	43 => {
		says   => 'a disk that slept takes 700 ms for the first thing that it is asked',
		before => sub { letter($_[0], '/srv/first', 4096) },
		begin  => sub { $_[0]->run('sync'); sleep 6.5; slow($_[0], 700) },
		deeds  => 'open /srv/first/letter',
		after  => sub { slow($_[0], 0) },
		kinds  => ['disk-io'],
		words  => qr/had to wake/,
	},
	44 => {
		says  => 'a disk cannot read, and takes 700 ms to say so',
		needs => sub { $_[0]->run('cat /dev/shm/bad-disk') =~ m{^/dev} ? '' : 'no such disk' },
		begin => sub {
			my ($vm) = @_;
			# Who looks for file systems has read it already, and who names disks says whose it is.
			$vm->run('d=$(cat /dev/shm/bad-disk); chmod 666 $d; blockdev --flushbufs $d');
			slow($vm, 700);
			$vm->run("echo 2 > $DEBUG/opts");
		},
		deeds => sub { 'open ' . $_[0]->run('cat /dev/shm/bad-disk') =~ s/\s+//gr },
		after => sub { slow($_[0], 0); $_[0]->run("echo 0 > $DEBUG/opts") },
		kinds => ['disk-io'],
		words => qr/the kernel reported: a disk could not read/,
	},
	45 => {
		says   => 'a disk that rotates stood still',
		before => sub {
			letter($_[0], '/srv/first', 4096);
			$_[0]->run("echo 1 > /sys/block/$FIRST/queue/rotational");
		},
		begin => sub { $_[0]->run('sync'); sleep 6.5; slow($_[0], 900) },
		deeds => 'open /srv/first/letter',
		after => sub {
			slow($_[0], 0);
			$_[0]->run("echo 0 > /sys/block/$FIRST/queue/rotational");
		},
		kinds => ['disk-io'],
		words => qr/had to wake.*rotates|rotates.*had to wake/s,
	},
	47 => {
		says   => 'free memory is in small pieces; the client wants large ones',
		before => sub {
			my ($vm) = @_;
			$vm->run(
				'cd /sys/kernel/mm/transparent_hugepage; echo always > enabled; echo always > defrag; '
					. 'cd /; mkdir -p /srv/memory; mount -t tmpfs -o size=95% memory /srv/memory; '
					. '/opt/lab/holes /srv/memory/holes');
		},
		deeds => 'huge 200',
		there => sub { $_[0]->run('cat /proc/vmstat') =~ /^compact_stall (\d+)/m ? $1 : 0 },
		after => sub {
			$_[0]->run('umount /srv/memory; cd /sys/kernel/mm/transparent_hugepage; '
					. 'echo madvise > defrag; cd /');
		},
		kinds => ['memory-reclaim'],
		words => qr/larger piece/,
	},
	48 => {
		says   => 'what the client needs had been swapped out, compressed, into memory (zram)',
		before => \&Tipme::LabMachine::make_swap,
		deeds  => 'swapped 60',
		kinds  => ['memory-reclaim'],
		words  => qr/compressed|with the CPU/,
	},
	51 => {
		says   => 'auditd is told of each file that is opened, and is slow to read that',
		before => sub {
			my ($vm) = @_;
			$vm->run(
				'rm -f /dev/shm/slow; setsid /opt/lab/auditd 1000 /dev/shm/slow > /dev/shm/audit '
					. '2>&1 &');
			within($vm, 'grep -q ready /dev/shm/audit') or die "no auditd\n";
		},
		begin => sub {
			my ($vm) = @_;
			# Each waits for its turn, and so the client for all of them.
			$vm->run( "touch /dev/shm/slow; for i in 1 2 3; do setsid $AS_USER cat /etc/passwd "
					. '>/dev/null 2>&1 & done');
			sleep 1.5;
		},
		deeds => 'open /etc/hostname',
		after => sub { $_[0]->run('rm -f /dev/shm/slow; pkill -TERM -x auditd') },
		kinds => ['ipc-wait'],
		who   => 'auditd',
	},
	53 => {
		says  => 'a mouse sends reports as often as it can',
		needs => sub { pointer($_[0], 3, 'often') },
		begin => sub { $_[0]->run('echo go >&8'); sleep 0.6 },
		deeds => 'compute 5',
		after => sub { $_[0]->run('exec 8>&-') },
		kinds => ['server-compute'],
		words => qr/sent \d+ reports a second/,
	},
	55 => {
		says  => 'the client opens a device that sleeps, and takes 800 ms to wake',
		begin => sub { $_[0]->run("echo 800 > $DEVICE/wake_ms") },
		deeds => 'open /dev/tipme-sleeper',
		kinds => ['device-wait'],
		words => qr/device that slept to wake/,
	},
);

sub rows {
	my @rows = sort { $a <=> $b } keys %SCENE;
	return @rows;
}
sub scene { my ($row) = @_; return $SCENE{$row} }

# What all scenes need, once: disks, a network with another machine, swap, drivers that pretend.
sub prepare {
	my ($vm) = @_;
	my $said = $vm->run(<<"END");
for m in @MODULES; do [ \$m = scsi_debug ] || modprobe -q \$m || echo no module \$m; done
ls /sys/block | sort > /dev/shm/disks
modprobe scsi_debug add_host=2 per_host_store=1 dev_size_mb=112 delay=0 ndelay=0 || echo no disks
udevadm settle
ls /sys/block | sort | comm -13 /dev/shm/disks - > /dev/shm/new
sed -n 1p /dev/shm/new > /dev/shm/first-disk; sed -n 2p /dev/shm/new > /dev/shm/second-disk
for d in \$(cat /dev/shm/new); do echo none > /sys/block/\$d/queue/scheduler; echo 1 > /sys/block/\$d/device/queue_depth; echo 0 > /sys/block/\$d/queue/rotational; done
mkdir -p /srv/first /srv/crypt /srv/btrfs /srv/far
mkfs.ext4 -q -F -E lazy_itable_init=0,nodiscard /dev/$FIRST && mount -o noatime /dev/$FIRST /srv/first || echo no file system
: > /srv/first/document; chmod 666 /srv/first/document
cd /dev/shm
/opt/lab/map-disk bad 64 linear /dev/$SECOND 4656 > bad-disk
/opt/lab/map-disk secret 100000 crypt aes-xts-plain64 $KEY 0 /dev/$SECOND 8192 > secret-disk
cd /
udevadm settle
d=\$(cat /dev/shm/secret-disk)
mkfs.ext4 -q -F -E lazy_itable_init=0,nodiscard \$d && mount -o noatime \$d /srv/crypt || echo nothing encrypted
export LD_LIBRARY_PATH=/opt/lab
if [ -x /opt/lab/mkfs.btrfs ]; then
/opt/lab/mkfs.btrfs -q -f -M /dev/vdb >/dev/null 2>&1 && mount -o noatime,commit=1 /dev/vdb /srv/btrfs
/opt/lab/btrfs quota enable /srv/btrfs
fi
unset LD_LIBRARY_PATH
ip netns add far && ip link add here type veth peer name there netns far && ip addr add 198.51.100.1/24 dev here && ip link set here up
ip -n far addr add $FAR/24 dev there; ip -n far link set there up; ip -n far link set lo up
setsid ip netns exec far /opt/lab/nfs-server /dev/shm/mute >/dev/null 2>&1 &
setsid ip netns exec far /opt/lab/far-shell 22 >/dev/null 2>&1 &
for i in \$(seq 50); do ip netns exec far ss -tln | grep -q :2049 && break; sleep 0.2; done
mount -i -t nfs -o vers=3,proto=tcp,addr=$FAR,port=2049,mountaddr=$FAR,mountvers=3,mountproto=tcp,mountport=2049,nolock,noac $FAR:/x /srv/far || echo no file server
insmod /opt/lab/tipme_test_devices.ko || echo no devices
echo 1 > /proc/sys/kernel/task_delayacct
echo 0 > /proc/sys/kernel/sched_autogroup_enabled
END
	$vm->{clock} =
		$vm->run('cat /sys/devices/system/clocksource/clocksource0/current_clocksource') =~ /(\S+)/
		? $1
		: 'tsc';
	return $said;
}

# What must be there when the recorder starts: it asks once whether CPUs have frequencies.
sub prepare_first {
	my ($vm) = @_;
	my $said = $vm->run('insmod /opt/lab/tipme_test_frequency.ko || echo no frequencies');
	frequency($vm, 'scaling_governor', 'performance');
	return $said;
}

# --- what scenes ask for ---

# The disks that are memory take so many ms for each request.
sub slow {
	my ($vm, $ms) = @_;
	my $jiffies = int $ms / $JIFFY_MS;
	# Refused while a request is under way.
	$vm->run( "for i in \$(seq 100); do echo $jiffies > $DEBUG/delay && break; sleep 0.05; done "
			. '2>/dev/null');
	return;
}

# A file of the user that is in no cache.
sub letter {
	my ($vm, $dir, $bytes) = @_;
	$vm->run("head -c $bytes /dev/urandom > $dir/letter; chmod 666 $dir/letter; sync $dir/letter");
	Tipme::LabMachine::make_cold($vm, 'letter', 0, $dir);
	return;
}

sub mounted {
	my ($vm, $dir) = @_;
	return ($vm->run("mountpoint -q $dir"))[1] ? "nothing is mounted at $dir" : '';
}

# How long calls of the file server took, as the kernel counts it for nfsiostat and mountstats: the
# eighth number of each operation.
sub nfs_ms {
	my ($vm) = @_;
	my $ms = 0;
	for ($vm->run('cat /proc/self/mountstats') =~ /^\s+[A-Z]\w+: ((?:\d+ ){7,8}\d+)$/mg) {
		$ms += (split)[7];
	}
	return $ms;
}

sub card {
	my ($vm)   = @_;
	my ($card) = $vm->run('ls /sys/devices/platform/vgem/drm 2>/dev/null') =~ /(card\d+)/ or return;
	$vm->run("chmod 666 /dev/dri/$card");
	return "/dev/dri/$card";
}

sub bus {
	my ($vm) = @_;
	my ($bus) =
		$vm->run('grep -l tipme_test /sys/class/i2c-dev/*/name 2>/dev/null') =~ m{/(i2c-\d+)/}
		or return;
	return "/dev/$bus";
}

# A pointing device that the X server has taken.
sub pointer {
	my ($vm, $bus, $how) = @_;
	$vm->run( 'cd /dev/shm; rm -f hand moved; mkfifo hand; '
			. "setsid /opt/lab/pointer $bus $how < hand > moved 2>&1 & exec 8> /dev/shm/hand; cd /"
	);
	within($vm, 'grep -q made /dev/shm/moved') or return 'no device could be made up';
	my ($event) = $vm->run('grep -A 5 "tipme test pointer" /proc/bus/input/devices') =~ /(event\d+)/
		or return 'no device has come up';
	return within($vm, "ls -l /proc/\$(pgrep -n -x Xorg)/fd | grep -q '/$event\$'")
		? ''
		: 'the X server takes no such device';
}

sub moved {
	my ($vm) = @_;
	$vm->run('echo go >&8');
	within($vm, 'grep -q moved /dev/shm/moved') or die "it has not moved\n";
	return;
}

# Whether a command succeeds sooner or later: of what may never come, unlike wait_for of a machine.
sub within {
	my ($vm, $command) = @_;
	my $end = time + $PATIENCE_S;
	while (time < $end) {
		return 1 if ($vm->run($command))[1] == 0;
		sleep 0.3;
	}
	return 0;
}

sub frequency {
	my ($vm, $file, $value) = @_;
	$vm->run("for f in /sys/devices/system/cpu/cpu*/cpufreq/$file; do echo $value > \$f; done");
	return;
}

sub lacks_frequencies {
	my ($vm) = @_;
	return ($vm->run('test -e /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'))[1]
		? 'no frequencies'
		: '';
}

# The emulator itself gets a third of the time, in pieces that are no stop of the machine.
sub slow_cpus {
	my ($vm) = @_;
	for (1 .. 170) {
		kill 'STOP', $vm->{pid};
		sleep 0.006;
		kill 'CONT', $vm->{pid};
		sleep 0.003;
	}
	return;
}

sub clock_source {
	my ($vm, $name) = @_;
	$vm->run("echo $name > /sys/devices/system/clocksource/clocksource0/current_clocksource");
	return;
}

1;
