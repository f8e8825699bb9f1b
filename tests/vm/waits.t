#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Sleeps that people meet, on Debian's kernels: a file server that is gone, a file system in user
# space, a virus scanner that is asked, a throttled writer. The kernel's stack of each must be
# told by the table of reasons as what it is.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib", "$FindBin::Bin/../../postmortem/lib";
use Tipme::Desktop qw(payload);
use Tipme::Reasons;
use Tipme::VM;

my $left_out = Tipme::VM::left_out();
plan skip_all => $left_out if $left_out;

my @MODULES = qw(nfsv4 cifs fuse autofs4 vgem snd-dummy ext4);
# what is staged => the code of its reason
my %WANTED = (
	nfs      => 'wait-nfs',
	cifs     => 'wait-smb',
	fuse     => 'wait-fuse',
	fanotify => 'wait-permission',
	seccomp  => 'wait-permission',
	autofs   => 'wait-automount',
	uring    => 'loop',
	rcu      => 'wait-kernel',
	dirty    => 'wait-writeback',
	sync     => 'wait-disk',
	sound    => 'wait-sound',
	fence    => 'wait-gpu',
);
my $reasons = Tipme::Reasons->new;
for my $kernel (split ' ', $ENV{TIPME_TEST_KERNELS} // '6.1 6.12') {
	subtest "Debian's kernel $kernel" => sub { on_kernel($kernel) };
}
done_testing;

sub on_kernel {
	my ($kernel) = @_;
	my $payload = payload();
	my ($top, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
	my $said = qx{"$top/tests/vm/mkmodules" $kernel "$payload" @MODULES 2>&1};
	$? == 0 or BAIL_OUT($said);
	make_path("$payload/opt");
	copy("$build/tests/causes/waits", "$payload/opt/waits") or BAIL_OUT("waits: $!");
	chmod 0755, "$payload/opt/waits";
	my $vm = Tipme::VM->new(kernel => $kernel, payload => $payload);
	$said = $vm->run(<<'END');
for m in nfsv4 cifs fuse autofs4 vgem snd-dummy ext4; do modprobe $m || echo no module $m; done
mkfs.ext4 -q -F /dev/vdb && mkdir -p /srv/slow /srv/empty && mount /dev/vdb /srv/slow
mkdir -p /sys/fs/cgroup/waits
END
	diag $said if $said =~ /\S/;
	my %stack =
		recorded($vm, '/srv/empty', 'frozen', grep { !/^(?:dirty|sync)$/ } sort keys %WANTED);
	# A limit of the emulator's: what has been written goes out at 200 kB a second.
	$vm->run('echo 4194304 > /proc/sys/vm/dirty_bytes');
	$vm->monitor('block_set_io_throttle payload 200000 0 0 0 0 0');
	%stack = (%stack, recorded($vm, '/srv/slow', qw(sync dirty)));
	# Told by the walk itself, whatever the table says.
	like($stack{frozen}, qr/\A(?:do_freezer_trap|get_signal)\b/, 'frozen');
	for (sort keys %WANTED) {
		my $reason = $reasons->of($stack{$_}, undef) // $reasons->of($stack{$_}, 'hardirq');
		is($reason ? $reason->{code} : 'none', $WANTED{$_}, $_) or diag $stack{$_};
	}
	$vm->close;
	return;
}

# NAME => the stack that most looks found.
sub recorded {
	my ($vm, $dir, @names) = @_;
	my $card = '$(ls /sys/devices/platform/vgem/drm | grep card | sed s,^,/dev/dri/,)';
	my $env  = "WAITS_GROUP=/sys/fs/cgroup/waits WAITS_CARD=$card";
	my $said = $vm->run("$env /opt/waits $dir @names");
	note $said;
	return map { /^(\S+)\t(\d+ of \d+)\t(.*)$/ ? ($1 => $3) : () } split /\n/, $said;
}
