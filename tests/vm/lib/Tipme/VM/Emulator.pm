# SPDX-License-Identifier: GPL-2.0-only
# The emulator: which one there is, and what it is called with for a machine.
package Tipme::VM::Emulator;
use strict;
use warnings;
use Carp qw(croak);

# machine(VM): what the emulator is called with for such a machine
sub machine {
	my ($self) = @_;
	my ($r, $d, $k) = @$self{qw(root dir kernel)};
	my @common = (
		(split ' ', '-cpu max -display none -nodefaults -no-reboot -m'), $self->{memory_mb},
		$self->{boot}
		? ('-kernel', "$self->{boot}/vmlinuz", '-initrd', "$self->{boot}/initramfs")
		: ('-kernel', "$r/vmlinuz-$k", '-initrd', "$r/initramfs-$k"),
		'-drive', "if=none,id=root,file=$r/root.sqfs,format=raw,readonly=on", '-device',
		'virtio-blk-pci,drive=root',
		'-drive', "if=none,id=payload,file=$d/payload.tar,format=raw", '-device',
		'virtio-blk-pci,drive=payload',
		'-serial', "file:$d/console.log",
	);
	return (
		@common, '-accel', 'tcg,thread=' . emulator()->{thread}, '-smp', $self->{cpus},
		(split ' ', '-vga none -monitor none'),
		'-append', 'console=ttyS0 panic=-1 quiet init=/usr/local/sbin/counted',
	) if $self->{cpus};
	# With more than one CPU the counting emulator hangs at boot. Addresses, random numbers and the
	# date must be the same each time, too.
	return (
		@common,
		(
			split ' ',
			'-accel tcg,thread=single -icount shift=0,sleep=off -smp 1 -seed 1 -rtc base=2024-01-01T00:00:00,clock=vm -vga none -monitor none'
		),
		'-append',
		'console=ttyS0 panic=-1 quiet nokaslr init=/usr/local/sbin/counted',
	) if $self->{counts};
	return (
		@common, '-accel', 'tcg,thread=' . ($self->{thread} // emulator()->{thread}),
		(split ' ', '-smp 2 -vga std'), '-append',
		'console=ttyS0 panic=-1 quiet systemd.show_status=0' . ($self->{append} // ''),
		'-serial',  "unix:$d/shell.sock,server=on,wait=off",
		'-monitor', "unix:$d/monitor.sock,server=on,wait=off",
	);
}

my $emulator;

# The emulator: the command that runs it, its version, and whether the CPUs of its machines may be
# several threads. Before 8.1 such an emulator may translate code that another CPU is changing, and
# keep the old: the guest then dies of a breakpoint that is no longer there ("Oops: int3"), since
# tracing programs and modules change code of a kernel that runs. All CPUs in one thread is the
# lesser evil: then one CPU waits up to a tenth of a second for the other, and timers come late. So
# a newer one is fetched where the system's is old. TIPME_EMULATOR is another, whatever its age.
sub emulator {
	return $emulator if $emulator;
	$emulator = _of_version($ENV{TIPME_EMULATOR} // 'qemu-system-x86_64');
	return $emulator if $emulator->{thread} eq 'multi' || defined $ENV{TIPME_EMULATOR};
	my $dir = __FILE__ =~ s{lib/Tipme/VM/Emulator\.pm$}{}r;
	chomp(my $newer = qx{"$dir/mkqemu"});
	if ($? != 0) {
		warn
			"# tipme: tests/vm: the emulator here is older than 8.1 and no newer one could be had: all CPUs of a machine are one thread, and timers in it late\n";
		return $emulator;
	}
	my $lib = "$newer/usr/lib/x86_64-linux-gnu";
	return $emulator = _of_version(
		'env', "LD_LIBRARY_PATH=$lib", "QEMU_MODULE_DIR=$lib/qemu",
		"$newer/usr/bin/qemu-system-x86_64",
		map { ('-L', "$newer/usr/share/$_") } qw(qemu seabios)
	);
}

sub _of_version {
	my (@command) = @_;
	open my $h, '-|', @command, '--version' or croak "@command: $!";
	my $line = <$h> // '';
	my ($major, $minor) = $line =~ /version (\d+)\.(\d+)/
		or croak "@command: which version is '$line'?";
	chomp $line;
	return {
		command => \@command, version => $line,
		thread  => $major > 8 || $major == 8 && $minor >= 1 ? 'multi' : 'single'
	};
}

1;
