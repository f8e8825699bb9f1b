# SPDX-License-Identifier: GPL-2.0-only
# Kernel stacks that stories are told with, by name, each with where it is from: none from memory. A
# story takes no other (Tipme::Test::Episode::stack).
package Tipme::Test::Stacks;

use strict;
use warnings;
use Exporter       qw(import);
use File::Basename qw(dirname);

our @EXPORT_OK = qw(stack_text stack_names source_of unsourced);

# Where a stack is from: an episode of postmortem/t/real, another recording of ours with its kernel,
# a public report, or a source file of Linux whose calls were followed: that has no offsets. What a
# driver of nobody does is made up: no line of the table of reasons may know it.
my $HERE  = 'recorded: 6.18, /proc/PID/stack of a program that does this alone';
my $WAITS = 'recorded: 6.18, tests/causes/waits';
my $VM61  = 'recorded: 6.1, tests/vm/waits.t';
my $VM612 = 'recorded: 6.12, tests/vm/waits.t';
my $ROW48 = 'recorded: 6.1, row 48 of tests/vm/causes.t';
my %STACK = (
	poll => [
		'poll_schedule_timeout.constprop.0+0x37;do_sys_poll+0x400;__x64_sys_poll+0xd1;do_syscall_64+0x71',
		'real: firefox-page-paused'
	],
	epoll => [
		'do_epoll_wait+0x548;__x64_sys_epoll_wait+0x5a;do_syscall_64+0x71',
		'real: firefox-page-paused'
	],
	stop => [
		'do_signal_stop+0x16f;get_signal+0x242;arch_do_signal_or_restart+0x71;exit_to_user_mode_loop+0x6b;do_syscall_64+0x250',
		'recorded: 6.18, tests/wayland-compositors.t: Xwayland, stopped'
	],
	select => [
		'poll_schedule_timeout.constprop.0+0x37;do_select+0x63a;core_sys_select+0x275;do_pselect.constprop.0+0xc5',
		'real: tk-notes-file-lock'
	],
	nanosleep => [
		'hrtimer_nanosleep+0x74;common_nsleep+0x30;__x64_sys_clock_nanosleep+0xce;do_syscall_64+0x71',
		'real: firefox-page-paused'
	],
	tty   => [ 'wait_woken+0x89;n_tty_read+0x4bd;tty_read+0x11f;vfs_read+0x2a4', $HERE ],
	wait4 => [ 'do_wait+0x53;kernel_wait4+0x9c;do_syscall_64+0x71', 'real: tk-notes-file-lock' ],
	disk  => [
		'folio_wait_bit_common+0x167;filemap_get_pages+0x751;filemap_read+0x111;vfs_read+0x2a4;__x64_sys_pread64+0xa3',
		$HERE
	],
	futex => [
		'futex_do_wait+0x46;__futex_wait+0x8a;futex_wait+0x67;do_futex+0xfd;__x64_sys_futex+0x112',
		'real: firefox-page-paused'
	],
	# The kernel leaves the functions of the lock itself out (reasons.t).
	mutex => [ 'do_unlinkat+0x160;__x64_sys_unlink+0x3b;do_syscall_64+0x71', $HERE ],
	flock => [
		'locks_lock_inode_wait+0x82;__do_sys_flock+0x1a3;do_syscall_64+0x71',
		'real: tk-notes-file-lock'
	],
	fault => [
		'folio_wait_bit_common+0x110;filemap_fault+0x739;__do_fault+0x34;do_fault+0x319;__handle_mm_fault+0x7fc;handle_mm_fault+0xd0;exc_page_fault+0x176',
		'real: gtk3-notes-light-group'
	],
	swap => [
		'folio_wait_bit_common;__folio_lock_or_retry;do_swap_page;__handle_mm_fault;handle_mm_fault',
		'read in the source of 6.12: mm/memory.c'
	],
	nvidia => [
		'schedule_timeout;__down_common;down;nvkms_ioctl_from_kapi_try_pmlock;ApplyModeSetConfig;nv_drm_atomic_apply_modeset_config;drm_atomic_check_only;drm_atomic_commit;drm_mode_atomic_ioctl',
		'https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1167'
	],
	journal => [
		'jbd2_log_wait_commit;jbd2_complete_transaction;ext4_fc_commit;ext4_fsync_journal;ext4_sync_file',
		'read in the source of 6.12: fs/ext4/fast_commit.c'
	],
	jbd2 => [
		'io_schedule+0x9d;sleep_on_buffer+0xe;__wait_on_bit+0x60;out_of_line_wait_on_bit+0x77;__wait_on_buffer+0x2a;jbd2_journal_commit_transaction+0x1787;kjournald2+0xbd',
		'https://github.com/facebookarchive/flashcache/issues/163'
	],
	direct => [
		'__iomap_dio_rw+0x683;iomap_dio_rw+0xe;ext4_file_read_iter+0x18b;do_iter_readv_writev+0x238',
		$HERE
	],
	unix => [
		'unix_stream_read_generic+0x70d;unix_stream_recvmsg+0x8b;sock_recvmsg+0xb2;sock_read_iter+0xc1',
		$HERE
	],
	fuse => [
		'request_wait_answer+0x112;__fuse_simple_request+0x120;fuse_lookup_name+0xbf;fuse_lookup+0x75;__lookup_slow+0x87;walk_component+0x108',
		$WAITS
	],
	tcp => [
		'wait_woken+0x89;sk_wait_data+0x172;tcp_recvmsg_locked+0x225;tcp_recvmsg+0xaf;sock_recvmsg+0xab',
		$HERE
	],
	smb => [
		'wait_for_response+0x9e;compound_send_recv+0x472;cifs_send_recv+0x1f;SMB2_negotiate+0x73a;cifs_negotiate_protocol+0xb2',
		$VM61
	],
	usb => [
		'wait_for_completion_timeout;usb_start_wait_urb;usb_internal_control_msg;usb_control_msg',
		'read in the source of 6.12: drivers/usb/core/message.c'
	],
	fence => [
		'dma_fence_default_wait+0x149;dma_fence_wait_timeout+0x108;dma_resv_wait_timeout+0x84;dma_buf_begin_cpu_access+0x4f',
		$VM612
	],
	throttled => [
		'balance_dirty_pages+0x3bc;balance_dirty_pages_ratelimited_flags+0x2a0;generic_perform_write+0x15a;ext4_buffered_write_iter+0x8c',
		$VM61
	],
	'split-lock' => [
		'msleep_interruptible;split_lock_warn;handle_user_split_lock;exc_alignment_check',
		'read in the source of 6.12: arch/x86/kernel/cpu/intel.c'
	],
	frozen => [
		'__refrigerator+0xac;get_signal+0x5c0;arch_do_signal_or_restart+0x26',
		'real: xedit-frozen'
	],
	audit => [
		'schedule_timeout;audit_log_start;audit_log_name.constprop.0;audit_log_exit;__audit_syscall_exit',
		'https://github.com/linux-audit/audit-kernel/issues/144'
	],
	btrfs => [
		'wait_current_trans.isra.21+0xa1;start_transaction+0x2aa;btrfs_attach_transaction+0x17',
		'https://github.com/hhoffstaette/kernel-patches/issues/7'
	],
	monitor => [
		'msleep+0x2b;intel_pps_vdd_on_unlocked+0x306;intel_dp_aux_xfer+0x11e;intel_dp_aux_transfer+0x13d;drm_dp_dpcd_access+0xbf;drm_dp_dpcd_probe+0x41',
		'https://github.com/pop-os/pop/issues/3498'
	],
	ddc => [
		'dal_gpio_open_ex+0x17;dal_ddc_open+0x32;dal_aux_engine_acquire+0x37;dal_i2caux_acquire_aux_engine+0x58;dal_i2caux_submit_aux_command+0x4b;dal_ddc_service_read_dpcd_data+0x63;dm_dp_aux_transfer+0xac;drm_dp_i2c_do_msg+0x86;drm_dp_i2c_xfer+0xc0;__i2c_transfer+0x119;i2c_transfer+0x5e;i2c_transfer_buffer_flags+0x4d;i2cdev_read+0x77',
		'https://github.com/rockowitz/ddcutil/issues/86'
	],
	# Waits for locks of file systems: without the functions of the lock, which Linux leaves out.
	'xfs-inode' => [
		'xfs_ilock;xfs_vn_update_time;file_update_time;xfs_file_aio_write_checks;xfs_file_dio_aio_write;xfs_file_write_iter',
		'https://github.com/scylladb/seastar/issues/341'
	],
	'btrfs-space' => [
		'btrfs_start_delalloc_roots+0x78;flush_space+0x694;priority_reclaim_metadata_space+0x234;btrfs_reserve_metadata_bytes+0x758',
		'https://github.com/ocurrent/obuilder/issues/47'
	],
	# Samples of what computes, no sleeps
	'zram-read' => [
		'clear_page_erms+0x9;get_page_from_freelist+0xe24;__alloc_pages+0x1dc;__folio_alloc+0x17;vma_alloc_folio+0x9c;do_swap_page+0x709;__handle_mm_fault+0x86b',
		$ROW48
	],
	'cpu-clock' => [
		'_raw_spin_unlock_irqrestore+0x19;task_sched_runtime+0xaf;thread_group_cputime+0x12f;cpu_clock_sample_group+0xba;posix_cpu_clock_get+0x55;__x64_sys_clock_gettime+0x6c;do_syscall_64+0x71',
		'recorded: 6.18, an episode of tests/desk/run'
	],
	'interrupts-off' => [
		'culprit_keeps_interrupts_off [tipme_culprit];run [tipme_culprit];kthread',
		'read in a source of ours: kernel-patch/t/culprit/tipme_culprit.c'
	],
	'culprit-rests' => [
		'msleep;run [tipme_culprit];kthread',
		'read in a source of ours: kernel-patch/t/culprit/tipme_culprit.c'
	],
	'unknown-driver' => [ 'some_driver_waits+0x12;some_driver_ioctl+0x99',    'made up' ],
	'unknown-call'   => [ 'wait_for_something_new+0x10;__x64_sys_new+0x20',   'made up' ],
	'unknown-scope'  => [ 'scope_acquire+0x12;scope_read+0x99;vfs_read+0xa0', 'made up' ],
	'unknown-scan'   => [ 'slow_scan+0x10;slow_read+0x20',                    'made up' ],
);
my %SOURCE = map {@$_} values %STACK;
my $REAL   = dirname(__FILE__) . '/../../../real';
my %kept;

sub stack_names { return sort keys %STACK }

# stack_text(NAME): the stack of that name, innermost first
sub stack_text {
	my ($name) = @_;
	my $stack = $STACK{$name} or die "no stack of the name $name: Tipme::Test::Stacks has them\n";
	return $stack->[0];
}

# source_of(STACK): where it is from; undef: nobody knows
sub source_of { my ($stack) = @_; return $SOURCE{$stack} }

# unsourced(STACK, SOURCE): what is wrong with that; '': nothing. What is said to be in a kept
# episode is looked for there.
sub unsourced {
	my ($stack, $source) = @_;
	return 'it says nowhere where it is from' if !defined $source;
	if ($source =~ /\Areal: ([\w-]+)\z/) {
		return index(_kept($1), $stack) >= 0 ? '' : "it is not in $1";
	}
	my $offsets = $stack =~ /\+0x/;
	return $offsets ? '' : 'a recording has offsets' if $source =~ /\Arecorded: \d+\.\d+, \S/;
	return !$offsets ? '' : 'who reads sources sees no offsets'
		if $source =~ m{\Aread in (?:the source of \d+\.\d+|a source of ours): [\w/.-]+\z};
	return ''
		if $source =~ m{\Ahttps://[^\s/]+/\S+\z} || $source eq 'made up';
	return "this is no source: $source";
}

# The records of postmortem/t/real/NAME
sub _kept {
	my ($name) = @_;
	return $kept{$name} //= do {
		open my $tar, '-|', 'tar', '-xJOf', "$REAL/$name.tar.xz" or die "tar: $!\n";
		binmode $tar;
		local $/ = undef;
		my $all = <$tar>;
		close $tar or die "$name.tar.xz: not to be read\n";
		$all;
	};
}

1;
