# SPDX-License-Identifier: GPL-2.0-only
# Causes of docs/causes.md that only a machine of one's own can be made to have: its disks, its
# drivers, its memory. A table, by the row of that page.
package Tipme::Suffered;
use strict;
use warnings;
use Tipme::LabMachine qw($AS_USER);
use Time::HiRes       qw(sleep);

# What is loaded of the kernel's own modules.
our @MODULES = qw(nfsv3 scsi_debug sd_mod veth sch_netem i2c-dev ext4 zram);
my $FAR      = '198.51.100.9';
my $DEBUG    = '/sys/bus/pseudo/drivers/scsi_debug';
my $DEVICE   = '/sys/module/tipme_test_devices/parameters';
my $FIRST    = '$(cat /dev/shm/first-disk)';
my $JIFFY_MS = 4;                                             # of Debian's kernels

# Fields of a scene:
#   says    what is done to whom
#   needs   CODE->(vm): why it cannot be here; ''
#   before  CODE->(vm): before the client is there. begin: right before the key; pressed: right
#           behind it. after: when the episode is saved
#   deeds   what the client does for the key; CODE->(vm): the same
#   cpu0    the client may run on the first CPU only
#   kinds   kinds of verdict that are right, who: the name of whom is blamed, words: what the
#           verdict or what stands beside it must say. All that is decided before it is run.
my %SCENE = (
	7 => {
		says  => 'cp fills a slow disk; the client saves a document there',
		begin => sub {
			my ($vm) = @_;
			$vm->run( 'echo 4194304 > /proc/sys/vm/dirty_background_bytes; '
					. 'echo 16777216 > /proc/sys/vm/dirty_bytes; truncate -s 60M /tmp/source');
			slow($vm, 100);
			$vm->run('setsid cp --sparse=never /tmp/source /srv/first/copy >/dev/null 2>&1 &');
			sleep 4;
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
	12 => {
		says    => 'a file server (NFS) is silent for a second and more',
		needs   => sub { mounted($_[0], '/srv/far') },
		begin   => sub { $_[0]->run('touch /dev/shm/mute') },
		deeds   => 'open /srv/far/document',
		pressed => sub { sleep 1.2; $_[0]->run('rm -f /dev/shm/mute') },
		kinds   => ['network-wait'],
		words   => qr/file server \(NFS\)/,
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
	48 => {
		says   => 'what the client needs had been swapped out, compressed, into memory (zram)',
		before => \&Tipme::LabMachine::make_swap,
		deeds  => 'swapped 60',
		kinds  => ['memory-reclaim'],
		words  => qr/compressed|with the CPU/,
	},
	55 => {
		says  => 'the client opens a device that sleeps, and takes 800 ms to wake',
		begin => sub { $_[0]->run("echo 800 > $DEVICE/wake_ms") },
		deeds => 'open /dev/tipme-sleeper',
		kinds => ['device-wait'],
		words => qr/device that slept to wake/,
	},
);

sub rows { my @rows = sort { $a <=> $b } keys %SCENE; return @rows }
sub scene { my ($row) = @_; return $SCENE{$row} }

# What all scenes need, once: disks, a network with another machine, swap, drivers that pretend.
sub prepare {
	my ($vm) = @_;
	my $said = $vm->run(<<"END");
for m in @MODULES; do [ \$m = scsi_debug ] || modprobe -q \$m || echo no module \$m; done
ls /sys/block | sort > /dev/shm/disks
modprobe scsi_debug dev_size_mb=112 delay=0 ndelay=0 || echo no disks
udevadm settle
ls /sys/block | sort | comm -13 /dev/shm/disks - > /dev/shm/new
sed -n 1p /dev/shm/new > /dev/shm/first-disk
for d in \$(cat /dev/shm/new); do echo none > /sys/block/\$d/queue/scheduler; echo 1 > /sys/block/\$d/device/queue_depth; echo 0 > /sys/block/\$d/queue/rotational; done
mkdir -p /srv/first /srv/far
mkfs.ext4 -q -F -E lazy_itable_init=0,nodiscard /dev/$FIRST && mount -o noatime /dev/$FIRST /srv/first || echo no file system
: > /srv/first/document; chmod 666 /srv/first/document
udevadm settle
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

sub bus {
	my ($vm) = @_;
	my ($bus) =
		$vm->run('grep -l tipme_test /sys/class/i2c-dev/*/name 2>/dev/null') =~ m{/(i2c-\d+)/}
		or return;
	return "/dev/$bus";
}

1;
