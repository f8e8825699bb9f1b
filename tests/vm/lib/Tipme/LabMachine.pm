# SPDX-License-Identifier: GPL-2.0-only
# What the laboratory needs in an emulated machine: its programs, a disk that can be slow, memory to
# swap to, who reads the keyboard and who counts interrupts.
package Tipme::LabMachine;
use strict;
use warnings;
use Exporter       qw(import);
use File::Basename qw(basename);
use File::Copy     qw(copy);
use File::Path     qw(make_path);
use Test::More;
use Tipme::Desktop qw(build_module);

our @EXPORT_OK =
	qw($AS_USER payload read_keys make_disk make_swap make_files make_cold slow_disk reclaimed
	watch_interrupts limit_writes);

our $AS_USER =
	  'runuser -u user -- env DISPLAY=:0 HOME=/home/user XAUTHORITY=/home/user/.Xauthority '
	. 'LAB_TRUTH=/dev/shm/truth LD_LIBRARY_PATH=/opt/lab';

# tipme as it is installed, the laboratory's programs, and what these need that the machine's small
# Debian has not; the module where it is the SOURCE.
sub payload {
	my ($kernel, $source) = @_;
	my ($top, $build)     = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
	my $dir = Tipme::Desktop::payload();
	my $lab = "$dir/opt/lab";
	make_path("$lab/Tipme/Lab");
	_put($_, "$lab/" . basename($_), 0755)
		for glob("$top/tests/vm/lab/*"),
		map {"$build/tests/lab/$_"} qw(lab-client cause xcause observer);
	_put($_, $lab)
		for map {m{=> (/\S+/(?:libxcb-damage|libxcb-xfixes)\.so\S*)}}
		map {qx{ldd "$build/tests/lab/$_"}} qw(observer xcause);
	_put("$top/tests/lab/lib/Tipme/Lab/Delays.pm", "$lab/Tipme/Lab");
	return $dir if $source eq 'bpf';
	my ($module, $why) = build_module($kernel);
	return (undef, $why) if !$module;
	_put($module, "$lab/tipme.ko");
	return $dir;
}

sub _put {
	my ($from, $to, $mode) = @_;
	copy($from, $to) or BAIL_OUT("$from: $!: build with --enable-lab=yes");
	chmod $mode, $to if $mode;
	return;
}

# Each press of a key of these codes becomes a line of /dev/shm/keys; before anybody else, however
# busy the machine is.
sub read_keys {
	my ($vm, @codes) = @_;
	$vm->run("setsid chrt -f 59 perl /opt/lab/keys @codes >> /dev/shm/keys 2>&1 &");
	return;
}

# The disk that has brought what is installed has done its work; it is the one that can be slow.
sub make_disk {
	my ($vm) = @_;
	my ($said, $rc) =
		$vm->run('mkfs.ext4 -q -F /dev/vdb && mkdir -p /srv/lab && mount /dev/vdb /srv/lab');
	$rc == 0 or BAIL_OUT("a file system on the second disk: $said");
	return;
}

# Memory that is compressed is a swap space that no disk slows down.
sub make_swap {
	my ($vm) = @_;
	my ($said, $rc) = $vm->run(
		'n=$(cat /sys/class/zram-control/hot_add) && echo 512M > /sys/block/zram$n/disksize && '
			. 'mkswap /dev/zram$n && swapon -p 10 /dev/zram$n');
	$rc == 0 or BAIL_OUT("compressed memory to swap to: $said");
	return;
}

# A control group that may write 4 MB a second to the disk. It must be there before the files are:
# what is written back is charged to the group that wrote to a file first, as long as the kernel
# counts memory and disk of that group.
sub limit_writes {
	my ($vm) = @_;
	$vm->wait_for(
		'the limit of the disk is set',
		'cd /sys/fs/cgroup && echo "+io +memory" > cgroup.subtree_control && mkdir -p lab && echo '
			. '"$(lsblk -dno MAJ:MIN /dev/vdb | tr -d " ") wbps=4000000" > lab/io.max && cd /'
	);
	return;
}

# Files of the user on the disk: { NAME => BYTES }, written in that group where there is one.
sub make_files {
	my ($vm, $files) = @_;
	$vm->run(
		"/opt/lab/in-group sh -c 'head -c $files->{$_} /dev/urandom > /srv/lab/$_'; chmod 666 "
			. "/srv/lab/$_")
		for sort keys %$files;
	$vm->run('sync');
	return;
}

# A file out of the page cache, and out of the memory of a client that has mapped it (it unmaps its
# pages at our signal; 0: nobody has).
sub make_cold {
	my ($vm, $file, $pid, $dir) = @_;
	$dir //= '/srv/lab';
	# fadvise64(POSIX_FADV_DONTNEED): of x86-64
	my $drop   = 'open my $h, q(<), shift or die; syscall 221, fileno $h, 0, 0, 4';
	my $mapped = "grep -q $dir/$file /proc/$pid/maps && kill -USR1 $pid && sleep 0.2";
	$vm->wait_for(
		"$file is in no cache",
		"$mapped; sync; perl -e '$drop' $dir/$file; fincore -n -o PAGES $dir/$file | grep "
			. "-qx ' *0 *'"
	);
	return;
}

# From the emulator's side: bytes a second; 0 is no limit.
sub slow_disk {
	my ($vm, $bps) = @_;
	$vm->monitor("block_set_io_throttle payload $bps 0 0 0 0 0");
	return;
}

# How long a task has looked for pages to free, as the kernel itself counts it.
sub reclaimed {
	my ($vm, $pid) = @_;
	return $vm->run("perl -I/opt/lab -MTipme::Lab::Delays -e 'printf q(%.0f), "
			. "Tipme::Lab::Delays->new->freepages_ns($pid)'") + 0;
}

# The kernel's trace events of interrupts, in a buffer of their own, on the clock of everything
# else; tests/vm/lab/interrupted reads them.
sub watch_interrupts {
	my ($vm)   = @_;
	my $events = join ' ', 'irq_vectors',
		map { ("irq/${_}_entry", "irq/${_}_exit") } qw(irq_handler softirq);
	my ($said, $rc) =
		$vm->run('mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; '
			. '(cd /sys/kernel/tracing && mkdir -p instances/lab && cd instances/lab && '
			. "echo mono > trace_clock && echo 4096 > buffer_size_kb && for e in $events; do echo "
			. "1 > events/\$e/enable || exit; done)");
	$rc == 0 or BAIL_OUT("trace events of interrupts: $said");
	return;
}

1;
