#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The table of reasons: stacks as kernels print them, each with what a person would call it and with
# where it is from, none from memory; and no line of the table without one.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Reasons;
use Tipme::Test::Episode;
use Tipme::Test::Stacks qw(source_of stack_names stack_text unsourced);

# Where a stack is from: Tipme::Test::Stacks says what may stand there.
my $HERE  = 'recorded: 6.18, /proc/PID/stack of a program that does this alone';
my $WAITS = 'recorded: 6.18, tests/causes/waits';
my $VM61  = 'recorded: 6.1, tests/vm/waits.t';
my $VM612 = 'recorded: 6.12, tests/vm/waits.t';
# what, context of the waking (none: nobody has woken it), the stack, or its name among those of
# stories, kind, class, where it is from
my @CASES = (
	[
		'nanosleep', 'hardirq',
		'nanosleep', 'timer-sleep', 'nap'
	],
	[
		'a sleep inside the kernel', 'hardirq',
		'schedule_timeout_uninterruptible;msleep;e1000_reset_hw',
		'timer-sleep', 'nap',
		'read in the source of 6.12: drivers/net/ethernet/intel/e1000/e1000_hw.c'
	],
	[
		'sigtimedwait', 'task',
		'do_sigtimedwait.isra.0+0x156;__x64_sys_rt_sigtimedwait+0xc5;do_syscall_64+0x71',
		'timer-sleep', 'nap',
		$HERE
	],
	[
		'sigsuspend', 'task',
		'sigsuspend.isra.0+0x77;__x64_sys_rt_sigsuspend+0x6f;do_syscall_64+0x71',
		'timer-sleep', 'nap',
		$HERE
	],
	# Sleeps that a program chose.
	[
		'pause', 'none',
		'__do_sys_pause+0x2a;do_syscall_64+0x71',
		'timer-sleep', 'nap',
		$HERE
	],
	[
		'a fault that reads', 'hardirq',
		'fault', 'page-fault-io', 'disk'
	],
	[
		'reclaim', 'task',
		'schedule_timeout;reclaim_throttle;shrink_inactive_list;shrink_lruvec;shrink_node;do_try_to_free_pages',
		'memory-reclaim', 'memory',
		'read in the source of 6.12: mm/vmscan.c'
	],
	[
		'read', 'hardirq',
		'disk', 'disk-io', 'disk'
	],
	[
		'a read past the cache', 'hardirq',
		'direct', 'disk-io', 'disk'
	],
	[
		'fsync', 'hardirq',
		'folio_wait_bit+0xd6;folio_wait_writeback+0x2a;__filemap_fdatawait_range+0x7c;file_write_and_wait_range+0x8f;generic_buffers_fsync_noflush+0x1f;ext4_fsync_nojournal.constprop.0+0x55;ext4_sync_file+0x226;do_fsync+0x3b',
		'disk-io', 'disk',
		'real: firefox-page-paused'
	],
	[
		'room in a journal', 'task',
		'schedule+0x38;jbd2_log_wait_commit+0xac;jbd2_log_do_checkpoint+0x392;__jbd2_log_wait_for_space+0x69;add_transaction_credits+0x27d;start_this_handle+0x10a;jbd2__journal_start+0xea',
		'disk-io', 'disk',
		'https://github.com/Open-CAS/open-cas-linux/issues/746'
	],
	[
		'fsync, in a journal', 'task',
		'journal', 'disk-io', 'disk'
	],
	[
		'flock', 'task',
		'flock', 'lock-wait', 'lock'
	],
	[
		'fcntl', 'task',
		'fcntl_setlk+0x1d3;do_fcntl+0x6ca;__x64_sys_fcntl+0x8c;do_syscall_64+0x71',
		'lock-wait', 'lock',
		$HERE
	],
	[
		'semop', 'task',
		'__do_semtimedop+0x4f0;do_semtimedop+0x177;do_syscall_64+0x71',
		'lock-wait', 'lock',
		$HERE
	],
	[
		'futex', 'task',
		'futex', 'futex-wait', 'lock'
	],
	[
		'a mutex of the kernel', 'task',
		'schedule_preempt_disabled+0x14;__mutex_lock_slowpath+0xc8;mutex_lock+0x3c;read_descriptors+0x54;sysfs_kf_bin_read+0x8c;kernfs_fop_read+0xe8',
		'lock-wait', 'lock',
		'https://github.com/ayufan-rock64/linux-build/issues/36'
	],
	[
		'a semaphore for reading', 'task',
		'schedule+0x50;rwsem_down_read_failed+0x10c;down_read+0x5c;do_page_fault+0xfc;do_DataAbort+0x48',
		'lock-wait', 'lock',
		'https://github.com/raspberrypi/linux/issues/2798'
	],
	# Linux leaves the functions of .sched.text out of a stack: a wait for a lock of the kernel is
	# seen by its caller alone.
	[
		'a file that another one writes', 'task',
		'ext4_buffered_write_iter+0x31;vfs_write+0x29c;__x64_sys_pwrite64+0xa3',
		'lock-wait', 'lock',
		$HERE
	],
	[
		'a folder in which another one removes', 'task',
		'mutex', 'lock-wait', 'lock'
	],
	[
		'a folder in which another one creates', 'task',
		'path_openat+0x4e6;do_filp_open+0x106;do_sys_openat2+0x88',
		'lock-wait', 'lock',
		$HERE
	],
	[
		'two folders in which another one renames', 'task',
		'do_renameat2+0x2c2;__x64_sys_rename+0x76;do_syscall_64+0x71',
		'lock-wait', 'lock',
		$HERE
	],
	[
		'two folders, locked one by one', 'task',
		'lock_two_directories+0x82;do_renameat2+0x22c;__x64_sys_rename+0x76',
		'lock-wait', 'lock',
		'real: qt-notes-service-silent'
	],
	[
		'memory that another thread maps, to fork', 'task',
		'dup_mmap+0x38f;copy_process+0x1107;kernel_clone+0x94',
		'lock-wait', 'lock',
		'real: qt-notes-service-silent'
	],
	[
		'memory that another thread maps, to map', 'task',
		'vm_mmap_pgoff+0xe9;do_syscall_64+0x71',
		'lock-wait', 'lock',
		$HERE
	],
	[
		'memory that another thread maps, to unmap', 'task',
		'__vm_munmap+0xa7;__x64_sys_munmap+0x17;do_syscall_64+0x71',
		'lock-wait', 'lock',
		$HERE
	],
	[
		'a mapping of a file, at the end', 'task',
		'unlink_file_vma_batch_process+0x29;unlink_file_vma_batch_add+0x35;free_pgtables+0xbc;exit_mmap+0x166',
		'lock-wait', 'lock',
		'real: qt-notes-service-silent'
	],
	[
		'memory that another thread maps, in a fault', 'task',
		'lock_mm_and_find_vma;do_user_addr_fault;exc_page_fault',
		'lock-wait', 'lock',
		'read in the source of 6.12: mm/memory.c'
	],
	[
		'a folder that another one lists', 'task',
		'iterate_dir;__x64_sys_getdents64;do_syscall_64',
		'lock-wait', 'lock',
		'read in the source of 6.12: fs/readdir.c'
	],
	[
		'a folder in which another one makes one', 'task',
		'filename_create;do_mkdirat;__x64_sys_mkdir',
		'lock-wait', 'lock',
		'read in the source of 6.12: fs/namei.c'
	],
	[
		'a file of /proc that another one reads', 'task',
		'seq_read_iter;proc_reg_read_iter;vfs_read;ksys_read',
		'lock-wait', 'lock',
		'read in the source of 6.12: fs/seq_file.c'
	],
	[
		'a file that another thread reads', 'task',
		'__fdget_pos+0x42;ksys_getdents64+0x81;__x64_sys_getdents64+0x16',
		'lock-wait', 'lock',
		'https://github.com/hanwen/go-fuse/pull/289'
	],
	[
		'wait4', 'task',
		'wait4', 'ipc-wait', 'wait'
	],
	[
		'a pipe', 'task',
		'anon_pipe_read+0x366;vfs_read+0x32c;ksys_read+0xba',
		'ipc-wait', 'pipe',
		'real: firefox-page-paused'
	],
	[
		'a pipe, full', 'task',
		'anon_pipe_write+0x35f;vfs_write+0x400;ksys_write+0xc3',
		'ipc-wait', 'pipe',
		$HERE
	],
	[
		'a pipe (6.12)', 'task',
		'pipe_read;vfs_read;ksys_read',
		'ipc-wait', 'pipe',
		'read in the source of 6.12: fs/pipe.c'
	],
	[
		'a terminal', 'task',
		'tty', 'ipc-wait', 'tty'
	],
	[
		'a local stream', 'task',
		'unix', 'ipc-wait', 'unix'
	],
	[
		'a local datagram', 'task',
		'__skb_wait_for_more_packets+0x120;__unix_dgram_recvmsg+0xe0;sock_recvmsg+0xb2;____sys_recvmsg+0x82',
		'ipc-wait', 'unix',
		'real: firefox-page-paused'
	],
	[
		'a local datagram, to be sent', 'task',
		'sock_alloc_send_pskb+0x156;unix_dgram_sendmsg+0x140;__sys_sendto+0x242',
		'ipc-wait', 'unix',
		$HERE
	],
	[
		'somebody to call a local socket', 'none',
		'__skb_wait_for_more_packets+0x120;__skb_recv_datagram+0x70;skb_recv_datagram+0x34;unix_accept+0x7c;do_accept+0x108;__sys_accept4+0x84',
		'ipc-wait', 'unix',
		$HERE
	],
	[
		'TCP', 'softirq_irq',
		'tcp', 'network-wait', 'net'
	],
	[
		'UDP', 'softirq_irq',
		'__skb_wait_for_more_packets+0x120;__skb_recv_udp+0x1ee;udp_recvmsg+0x13a;sock_recvmsg+0xab',
		'network-wait', 'net',
		$HERE
	],
	[
		'somebody to call over the network', 'none',
		'inet_csk_accept+0x1f2;inet_accept+0x2f;do_accept+0x108',
		'network-wait', 'net',
		$HERE
	],
	[
		'a fence of the graphics processor', 'hardirq',
		'schedule_timeout+0x1f1;kcl_fence_default_wait+0x1c2;dma_fence_wait_timeout+0x38;reservation_object_wait_timeout_rcu+0x14f;amdgpu_dm_do_flip+0x112;amdgpu_dm_atomic_commit_tail+0x854',
		'gpu-wait', 'gpu',
		'https://github.com/ROCm/legacy-rocm-build/issues/342'
	],
	[
		'poll, until its time', 'hardirq',
		'poll_schedule_timeout.constprop.0+0x37;do_sys_poll+0x400;__x64_sys_poll+0xd1',
		'timer-sleep', 'loop',
		'real: firefox-page-paused'
	],
	[
		'poll, until the network', 'softirq_irq',
		'poll_schedule_timeout.constprop.0+0x37;do_sys_poll+0x400;__x64_sys_poll+0xd1',
		'network-wait', 'loop',
		'real: firefox-page-paused'
	],
	[
		'select, until another process', 'task',
		'select', 'ipc-wait', 'loop'
	],
	[
		'epoll, still', 'none',
		'epoll', 'ipc-wait', 'loop'
	],
	[
		'a timeout of a kernel thread', 'hardirq',
		'schedule_timeout;rcu_gp_fqs_loop;rcu_gp_kthread',
		'timer-sleep', 'nap',
		'read in the source of 6.12: kernel/rcu/tree.c'
	],
	[
		'a USB transfer, by its driver', 'task',
		'usb', 'device-wait', 'device'
	],
	[
		'a USB disk', 'task',
		'schedule_timeout+0x158;wait_for_common+0xcc;usb_sg_wait+0x144;usb_stor_bulk_transfer_sglist.part.4+0xa4;usb_stor_bulk_srb+0x48',
		'device-wait', 'device',
		'https://github.com/raspberrypi/linux/issues/309'
	],
	[
		'a USB device, by a program', 'task',
		'schedule_timeout+0xcf;wait_for_completion+0x81;test_ctrl_queue+0x52c;usbtest_do_ioctl+0x4f9;usbtest_ioctl+0x16b;proc_ioctl+0x1ef;usbdev_do_ioctl+0x8aa;usbdev_ioctl+0xe',
		'device-wait', 'device',
		'https://github.com/zephyrproject-rtos/zephyr/issues/116506'
	],
	[
		'a completion by an interrupt', 'hardirq',
		'wait_for_completion_timeout;ata_exec_internal',
		'device-wait', 'device',
		'read in the source of 6.12: drivers/ata/libata-core.c'
	],
	[
		'nvidia, a semaphore', 'task',
		'schedule_timeout;__down_common;down;nvkms_ioctl_from_kapi_try_pmlock;ApplyModeSetConfig;nv_drm_atomic_apply_modeset_config;drm_atomic_check_only;drm_atomic_commit;drm_mode_atomic_ioctl',
		'gpu-wait', 'gpu',
		'https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1167'
	],
	[
		'nvidia, the screen', 'task',
		'nvkms_ioctl_from_kapi_try_pmlock+0x55;ApplyModeSetConfig+0x59e',
		'gpu-wait', 'gpu',
		'https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1281'
	],
	[
		'nvidia, a mutex', 'task',
		'schedule_preempt_disabled+0xe;__mutex_lock.constprop.0+0x263;__mutex_lock_slowpath+0x13;mutex_lock+0x34;uvm_page_tree_get_ptes_async+0x93;uvm_page_table_range_vec_init+0x191;uvm_page_table_range_vec_create+0x65',
		'gpu-wait', 'gpu',
		'https://github.com/rwth-i6/returnn/issues/1480'
	],
	[
		'the modes of a monitor', 'hardirq',
		'usleep_range_state;drm_dp_i2c_do_msg;drm_dp_i2c_xfer;__i2c_transfer;i2c_transfer;drm_do_probe_ddc_edid;edid_block_read;_drm_do_get_edid;drm_get_edid',
		'gpu-wait', 'gpu',
		'read in the source of 6.12: drivers/gpu/drm/display/drm_dp_helper.c'
	],
	[
		'a read through FUSE', 'task',
		'request_wait_answer;__fuse_request_send;__fuse_simple_request;fuse_do_readpage;fuse_read_folio;filemap_read_folio;filemap_fault',
		'ipc-wait', 'wait',
		'read in the source of 6.12: fs/fuse/file.c'
	],
	[
		'a lock through FUSE', 'task',
		'schedule+0x28;request_wait_answer+0x12b;__fuse_request_send+0x64;fuse_simple_request+0xcd;fuse_setlk+0x160;__x64_sys_flock+0xa4',
		'ipc-wait', 'wait',
		'https://github.com/trapexit/mergerfs/issues/521'
	],
	[
		'who serves FUSE, still', 'none',
		'fuse_dev_do_read+0xaa4;fuse_dev_read+0xa3;vfs_read+0x2a4',
		'ipc-wait', 'loop',
		$HERE
	],
	[
		'who serves FUSE, for a folder', 'task',
		'schedule+0x45;rwsem_down_write_slowpath+0x1dd;fuse_reverse_inval_entry+0x46;fuse_dev_do_write+0x42a;fuse_dev_write+0x41',
		'lock-wait', 'lock',
		'https://github.com/gluster/glusterfs/issues/3356'
	],
	[
		'a file of a server (NFS)', 'softirq_irq',
		'rpc_wait_bit_killable+0x24;__rpc_wait_for_completion_task+0x2d;nfs4_do_close+0x203;__nfs4_close+0xc5;nfs4_close_sync+0x18',
		'network-wait', 'server',
		'https://servers.ustclug.org/2014/08/freeshell-node-3-control-panel-stuck/'
	],
	[
		'a file through FUSE', 'task',
		'fuse', 'ipc-wait', 'wait'
	],
	[
		'a virus scanner that is asked', 'task',
		'fanotify_handle_event+0xb93;fsnotify+0x392;__fsnotify_parent+0x15c;do_dentry_open+0x144;vfs_open+0x2c',
		'ipc-wait', 'wait',
		$WAITS
	],
	[
		'a sandbox that is asked', 'task',
		'seccomp_do_user_notification.isra.0+0x2a6;__seccomp_filter+0x3b2;syscall_trace_enter+0x9a;do_syscall_64+0x1fa',
		'ipc-wait', 'wait',
		$WAITS
	],
	[
		'a folder that must be mounted', 'task',
		'autofs_wait+0x1bd;autofs_mount_wait+0x3d;autofs_d_automount+0xc9;__traverse_mounts+0xb1;step_into+0x2f1;path_lookupat+0xa7',
		'ipc-wait', 'wait',
		$WAITS
	],
	[
		'all CPUs to pass', 'hardirq',
		'synchronize_rcu_normal+0x83;__x64_sys_membarrier+0x31b;do_syscall_64+0x71',
		'lock-wait', 'lock',
		$WAITS
	],
	[
		'io_uring, as recorded', 'none',
		'io_cqring_wait+0x672;__do_sys_io_uring_enter+0x506;do_syscall_64+0x71',
		'ipc-wait', 'loop',
		$WAITS
	],
	[
		'a file server that is mute, NFS (6.1)', 'none',
		'rpc_wait_bit_killable+0xd;__rpc_execute+0x12f;rpc_execute+0xc5;rpc_run_task+0x140;rpc_call_null_helper+0x97;rpc_create_xprt+0x12e',
		'network-wait', 'server',
		$VM61
	],
	[
		'a file server that is mute, SMB (6.1)', 'none',
		'smb', 'network-wait', 'server'
	],
	[
		'a file server that is mute, SMB (6.12)', 'none',
		'wait_for_response+0x9e;compound_send_recv+0x5cd;cifs_send_recv+0x23;SMB2_negotiate+0x4ba;cifs_negotiate_protocol+0xb6',
		'network-wait', 'server',
		$VM612
	],
	[
		'io_uring (6.1)', 'none',
		'__do_sys_io_uring_enter+0x8ce;do_syscall_64+0x5d;entry_SYSCALL_64_after_hwframe+0x6e',
		'ipc-wait', 'loop',
		$VM61
	],
	[
		'all CPUs to pass (6.12)', 'hardirq',
		'__wait_rcu_gp+0x13e;synchronize_rcu_normal.part.0+0x45;synchronize_rcu_normal+0xad;__x64_sys_membarrier+0x1ea',
		'lock-wait', 'lock',
		$VM612
	],
	[
		'a sound card (6.1)', 'hardirq',
		'__snd_pcm_lib_xfer+0x33e;snd_pcm_read+0x67;vfs_write+0xc7;ksys_write+0x6b',
		'device-wait', 'device',
		$VM61
	],
	[
		'a fence that nobody signals (6.12)', 'none',
		'fence', 'gpu-wait', 'gpu'
	],
	[
		'too much unwritten data (6.1)', 'hardirq',
		'throttled', 'writeback', 'throttle'
	],
	[
		'too much unwritten data (6.12)', 'hardirq',
		'balance_dirty_pages+0x3e7;balance_dirty_pages_ratelimited_flags+0x2a9;generic_perform_write+0x96;ext4_buffered_write_iter+0x6c',
		'writeback', 'throttle',
		$VM612
	],
	[
		'a monitor behind a dock', 'hardirq',
		'monitor', 'gpu-wait', 'gpu'
	],
	[
		'a monitor that is controlled', 'hardirq',
		'ddc', 'gpu-wait', 'gpu'
	],
	[
		'a virtual graphics processor', 'task',
		'virtio_gpu_cursor_ping+0x138;virtio_gpu_cursor_plane_update+0x110;drm_atomic_helper_commit_planes+0xfc;drm_atomic_helper_commit_tail+0x64',
		'gpu-wait', 'gpu',
		'https://github.com/utmapp/UTM/issues/5008'
	],
	[
		'a fence of another driver', 'hardirq',
		'schedule_timeout+0x1c4;dma_fence_default_wait+0x1a0;dma_fence_wait_timeout+0x1c;lima_vm_bo_del+0x1b8',
		'gpu-wait', 'gpu',
		'https://github.com/yuq/linux-lima/issues/16'
	],
	[
		'a graphics processor that sleeps', 'task',
		'__pm_runtime_resume+0x49;nouveau_drm_open+0x70;drm_file_alloc+0x198;drm_open+0xde;drm_stub_open+0xc2',
		'device-wait', 'device',
		'https://github.com/Bumblebee-Project/Bumblebee/issues/1078'
	],
	[
		'the embedded controller', 'hardirq',
		'acpi_ec_transaction_unlocked;acpi_ec_transaction;acpi_ec_submit_query',
		'device-wait', 'device',
		'https://github.com/dahui/z13ctl/pull/20'
	],
	[
		'a security chip', 'hardirq',
		'tpm_tis_status+0xb8;wait_for_tpm_stat+0x108',
		'device-wait', 'device',
		'https://github.com/tpm2-software/tpm2-tss/issues/2477'
	],
	[
		'the audit daemon', 'task',
		'audit', 'ipc-wait', 'wait'
	],
	[
		'ZFS', 'task',
		'cv_wait_common+0x121;__cv_wait+0x15;arc_read+0x189;dsl_scan_visitbp+0x4e5',
		'disk-io', 'disk',
		'https://github.com/openzfs/zfs/issues/9905'
	],
	[
		'a commit of btrfs', 'task',
		'btrfs', 'disk-io', 'disk'
	],
	[
		'a split lock', 'hardirq',
		'split-lock',   'cpu-penalty', 'nap'
	],
);
# Stacks of sleeps that say nothing of a reason: these must not get one.
my @NONE = (
	[
		'a worker with nothing to do',                         'task',
		'worker_thread+0x98;kthread+0xf8;ret_from_fork+0x151', 'real: firefox-page-paused'
	],
	[
		'a kernel thread, without its timer',                    'task',
		'rcu_gp_fqs_loop+0xf6;rcu_gp_kthread+0xc8;kthread+0xf8', 'real: firefox-page-paused'
	],
	[ 'kthreadd', 'task', 'kthreadd+0x2f0;ret_from_fork+0x166', $HERE ],
);

my $reasons = Tipme::Reasons->new;
my %used;
for (@CASES) {
	my ($what, $context, $stack, $kind, $class, $source) = @$_;
	($stack, $source) = (stack_text($stack), source_of(stack_text($stack))) if !defined $source;
	my $r = $reasons->of($stack, $context eq 'none' ? undef : $context);
	is($r ? "$r->{kind} $r->{class}" : 'nothing', "$kind $class", $what);
	$used{$r}++ if $r;
	is(unsourced($stack, $source), '', "$what: it says where it is from") or diag $stack;
}
for (@NONE) {
	my ($what, $context, $stack, $source) = @$_;
	is($reasons->of($stack, $context), undef, "$what: no reason");
	is(unsourced($stack, $source),     '',    "$what: it says where it is from");
}
is($reasons->of('', 'task'), undef, 'no stack: no reason');
is_deeply(
	[ map {"$_->{kind}, $_->{context}: $_->{code}"} grep { !$used{$_} } @{ $reasons->{rows} } ],
	[], 'each line of the table is reached by a stack'
);
ok(
	$reasons->is_loop('do_epoll_wait+0x548;__x64_sys_epoll_wait+0x5a')
		&& !$reasons->is_loop('anon_pipe_read+0x366;vfs_read+0x32c'),
	'an event loop is told from a reader'
);
# That the kernel was asked for a lock of its own is recorded: then no stack has to tell it, but one
# that tells more goes first.
for (
	[ 'xfs-inode',      'wait-kernel-lock' ],
	[ 'btrfs-space',    'wait-kernel-lock' ],
	[ 'unknown-driver', 'wait-kernel-lock' ],
	[ 'fuse',           'wait-fuse' ],
	[ 'ddc',            'wait-monitor' ]
	)
{
	my ($name, $code) = @$_;
	is($reasons->of(stack_text($name), 'task', 1)->{code}, $code, "$name, asked for a lock");
}
is($reasons->of('', 'task', 1)->{code}, 'wait-kernel-lock', 'no stack, asked for a lock');
isnt(
	($reasons->of(stack_text('xfs-inode'), 'task') // {})->{code},
	'wait-kernel-lock', 'not asked: as the stack says'
);

# --- the stacks of stories ---
for (stack_names()) {
	my $stack = stack_text($_);
	is(unsourced($stack, source_of($stack)), '',    "$_: it says where it is from");
	is($reasons->of($stack, 'task'),         undef, "$_: no line knows it")
		if source_of($stack) eq 'made up';
}
is(
	eval { Tipme::Test::Episode->new->stack(1, 'a_wait+0x1;of_nowhere+0x2'); 'taken' },
	undef, 'a story takes no other'
);
done_testing;
