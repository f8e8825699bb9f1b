#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The table of reasons: stacks as kernels print them (6.18 where nothing else is said), each with
# what a person would call it; and no line of the table without one.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib";
use Tipme::Reasons;

# what, context of the waking (none: nobody has woken it), the stack, kind, class
my @CASES = (
	[
		'nanosleep', 'hardirq',
		'hrtimer_nanosleep+0x74;common_nsleep+0x30;__x64_sys_clock_nanosleep+0xce;do_syscall_64+0x71',
		'timer-sleep', 'nap'
	],
	[
		'a sleep inside the kernel',                                              'hardirq',
		'schedule_timeout_uninterruptible+0x2e;msleep+0x2d;e1000_reset_hw+0x1f1', 'timer-sleep',
		'nap'
	],
	[
		'sigtimedwait', 'task',
		'do_sigtimedwait.isra.0+0x156;__x64_sys_rt_sigtimedwait+0x6b;do_syscall_64+0x71',
		'timer-sleep', 'nap'
	],
	[ 'pause', 'none', '__do_sys_pause+0x2a;do_syscall_64+0x71', 'timer-sleep', 'nap' ],
	[
		'a fault that reads', 'hardirq',
		'folio_wait_bit_common+0x110;filemap_fault+0x739;__do_fault+0x34;do_fault+0x4aa;__handle_mm_fault+0x7fc;handle_mm_fault+0xd0;exc_page_fault+0x176',
		'page-fault-io', 'disk'
	],
	[
		'reclaim', 'task',
		'smp_call_function_many_cond+0x144;try_to_unmap_flush_dirty+0x36;shrink_folio_list+0x940;shrink_lruvec+0x880;shrink_node+0x2ff;do_try_to_free_pages+0xbd',
		'memory-reclaim', 'memory'
	],
	[
		'read', 'hardirq',
		'folio_wait_bit_common+0x110;filemap_get_pages+0x749;filemap_read+0xda;vfs_read+0x23a;ksys_read+0x66',
		'disk-io', 'disk'
	],
	[
		'fsync', 'hardirq',
		'folio_wait_bit+0xd6;folio_wait_writeback+0x2a;__filemap_fdatawait_range+0x7c;file_write_and_wait_range+0x8f;ext4_sync_file+0x226;do_fsync+0x3b',
		'disk-io', 'disk'
	],
	[
		'fsync, in a journal', 'task',
		'jbd2_log_wait_commit+0xd9;ext4_fsync_journal+0x50;ext4_sync_file+0x1c1', 'disk-io', 'disk'
	],
	[
		'flock',     'task', 'locks_lock_inode_wait+0x82;__do_sys_flock+0x1a3;do_syscall_64+0x71',
		'lock-wait', 'lock'
	],
	[
		'fcntl',                                                                    'task',
		'fcntl_setlk+0x1a2;do_fcntl+0x6be;__x64_sys_fcntl+0x8c;do_syscall_64+0x71', 'lock-wait',
		'lock'
	],
	[
		'semop',     'task', '__do_semtimedop+0x487;do_semtimedop+0x16a;do_syscall_64+0x71',
		'lock-wait', 'lock'
	],
	[
		'futex', 'task',
		'futex_do_wait+0x46;__futex_wait+0x8a;futex_wait+0x67;do_futex+0xfd;__x64_sys_futex+0x112',
		'futex-wait', 'lock'
	],
	[
		'a mutex of the kernel', 'task',
		'schedule_preempt_disabled+0x15;__mutex_lock.constprop.0+0x4a5;mutex_lock+0x30;seq_read_iter+0x5c',
		'lock-wait', 'lock'
	],
	[
		'a semaphore for writing', 'task',
		'rwsem_down_write_slowpath+0x2a1;down_write+0x61;dup_mmap+0x38f', 'lock-wait', 'lock'
	],
	[ 'wait4',  'task', 'do_wait+0x53;kernel_wait4+0x9c;do_syscall_64+0x71',  'ipc-wait', 'wait' ],
	[ 'a pipe', 'task', 'anon_pipe_read+0x366;vfs_read+0x32c;ksys_read+0xba', 'ipc-wait', 'pipe' ],
	[
		'a pipe (6.12)', 'task', 'pipe_read+0x2f8;vfs_read+0x2d7;ksys_read+0x6c', 'ipc-wait', 'pipe'
	],
	[
		'a terminal (6.12)', 'task',
		'schedule_timeout+0x10e;wait_woken+0x62;n_tty_read+0x26c;tty_read+0x129', 'ipc-wait', 'tty'
	],
	[
		'a local stream', 'task',
		'unix_stream_read_generic+0x6de;unix_stream_recvmsg+0x8b;sock_recvmsg+0xb2;sock_read_iter+0x97',
		'ipc-wait', 'unix'
	],
	[
		'a local datagram', 'task',
		'__skb_wait_for_more_packets+0x120;__unix_dgram_recvmsg+0xe0;sock_recvmsg+0xb2;__sys_recvfrom+0xb8',
		'ipc-wait', 'unix'
	],
	[
		'a local datagram, to be sent', 'task',
		'sock_alloc_send_pskb+0x156;unix_dgram_sendmsg+0x138;__sys_sendto+0x1cb', 'ipc-wait', 'unix'
	],
	[
		'somebody to call a local socket', 'none',
		'__skb_wait_for_more_packets+0x120;__skb_recv_datagram+0x68;skb_recv_datagram+0x34;unix_accept+0x7c;do_accept+0xdc;__sys_accept4+0x84',
		'ipc-wait', 'unix'
	],
	[
		'TCP', 'softirq_irq',
		'wait_woken+0x89;sk_wait_data+0x172;tcp_recvmsg_locked+0x21d;tcp_recvmsg+0x6e;sock_recvmsg+0xab',
		'network-wait', 'net'
	],
	[
		'UDP', 'softirq_irq',
		'__skb_wait_for_more_packets+0x120;__skb_recv_udp+0x1dd;udp_recvmsg+0x12c;sock_recvmsg+0xab',
		'network-wait', 'net'
	],
	[
		'somebody to call over the network', 'none',
		'inet_csk_accept+0x1f2;inet_accept+0x2f;do_accept+0xdc', 'network-wait', 'net'
	],
	[
		'a fence of the graphics processor', 'hardirq',
		'schedule_timeout+0x8d;dma_fence_default_wait+0x1c8;dma_fence_wait_timeout+0x103;drm_atomic_helper_wait_for_fences+0x6b',
		'gpu-wait', 'gpu'
	],
	[
		'poll, until its time', 'hardirq',
		'poll_schedule_timeout.constprop.0+0x37;do_sys_poll+0x400;__x64_sys_poll+0xd1',
		'timer-sleep', 'loop'
	],
	[
		'poll, until the network', 'softirq_irq',
		'poll_schedule_timeout.constprop.0+0x37;do_sys_poll+0x400;__x64_sys_poll+0xd1',
		'network-wait', 'loop'
	],
	[
		'select, until another process', 'task',
		'poll_schedule_timeout.constprop.0+0x37;do_select+0x63a;core_sys_select+0x275;do_pselect.constprop.0+0xc5',
		'ipc-wait', 'loop'
	],
	[
		'epoll, still', 'none', 'do_epoll_wait+0x548;__x64_sys_epoll_wait+0x5a;do_syscall_64+0x71',
		'ipc-wait',     'loop'
	],
	[
		'a timeout of a kernel thread', 'hardirq',
		'schedule_timeout+0x77;rcu_gp_fqs_loop+0xf6;rcu_gp_kthread+0xc8', 'timer-sleep', 'nap'
	],
	[
		'a USB transfer, by its driver', 'task',
		'schedule_timeout+0x8d;__wait_for_common+0x92;wait_for_completion_timeout+0x1d;usb_start_wait_urb+0x9c;usb_control_msg+0xe8',
		'device-wait', 'device'
	],
	[
		'a completion by an interrupt', 'hardirq',
		'schedule_timeout+0x8d;__wait_for_common+0x92;wait_for_completion_timeout+0x1d;cmd_send+0x9c',
		'device-wait', 'device'
	],
	[
		'nvidia', 'hardirq',
		'schedule_timeout+0x8d;os_acquire_semaphore+0x3f;_nv012345rm+0x10;rm_ioctl+0x54;nvidia_ioctl+0x61d',
		'gpu-wait', 'gpu'
	],
	[
		'the modes of a monitor', 'hardirq',
		'msleep+0x2d;drm_dp_i2c_do_msg+0x1f;drm_dp_i2c_xfer+0x33;drm_do_probe_ddc_edid+0xc8;drm_get_edid+0x70',
		'gpu-wait', 'gpu'
	],
	[
		'io_uring', 'task', 'io_cqring_wait+0x2d7;__do_sys_io_uring_enter+0x5a1', 'ipc-wait', 'loop'
	],
	[
		'an inode that another one has locked', 'task',
		'rwsem_down_write_slowpath+0x2a1;down_write+0x61;ext4_buffered_write_iter+0x35;ext4_file_write_iter+0x6f',
		'lock-wait', 'lock'
	],
	[
		'a read through FUSE', 'task',
		'request_wait_answer+0x147;fuse_simple_request+0x1a8;fuse_read_folio+0x6b;filemap_read_folio+0x40;filemap_fault+0x739',
		'ipc-wait', 'wait'
	],
	[
		'a file of a server (NFS)', 'softirq_irq',
		'rpc_wait_bit_killable+0x11;__wait_on_bit+0x42;__rpc_execute+0x106;nfs4_call_sync_sequence+0x6f',
		'network-wait', 'server'
	],
	# Recorded by tests/causes/waits.
	[
		'a file through FUSE', 'task',
		'request_wait_answer+0x112;__fuse_simple_request+0x120;fuse_lookup_name+0xbf;fuse_lookup+0x75;__lookup_slow+0x87;walk_component+0x108',
		'ipc-wait', 'wait'
	],
	[
		'a virus scanner that is asked', 'task',
		'fanotify_handle_event+0xb93;fsnotify+0x392;__fsnotify_parent+0x15c;do_dentry_open+0x144;vfs_open+0x2c',
		'ipc-wait', 'wait'
	],
	[
		'a sandbox that is asked', 'task',
		'seccomp_do_user_notification.isra.0+0x2a6;__seccomp_filter+0x3b2;syscall_trace_enter+0x9a;do_syscall_64+0x1fa',
		'ipc-wait', 'wait'
	],
	[
		'a folder that must be mounted', 'task',
		'autofs_wait+0x1bd;autofs_mount_wait+0x3d;autofs_d_automount+0xc9;__traverse_mounts+0xb1;step_into+0x2f1;path_lookupat+0xa7',
		'ipc-wait', 'wait'
	],
	[
		'all CPUs to pass',                                                          'hardirq',
		'synchronize_rcu_normal+0x83;__x64_sys_membarrier+0x31b;do_syscall_64+0x71', 'lock-wait',
		'lock'
	],
	[
		'io_uring, as recorded', 'none',
		'io_cqring_wait+0x672;__do_sys_io_uring_enter+0x506;do_syscall_64+0x71', 'ipc-wait', 'loop'
	],
	# The same on Debian's 6.1 and 6.12 (tests/vm/waits.t).
	[
		'a file server that is mute, NFS (6.1)', 'none',
		'rpc_wait_bit_killable+0xd;__rpc_execute+0x12f;rpc_execute+0xc5;rpc_run_task+0x140;rpc_call_null_helper+0x97;rpc_create_xprt+0x12e',
		'network-wait', 'server'
	],
	[
		'a file server that is mute, SMB (6.1)', 'none',
		'wait_for_response+0x9e;compound_send_recv+0x472;cifs_send_recv+0x1f;SMB2_negotiate+0x73a;cifs_negotiate_protocol+0xb2',
		'network-wait', 'server'
	],
	[
		'a file server that is mute, SMB (6.12)', 'none',
		'wait_for_response+0x9e;compound_send_recv+0x5cd;cifs_send_recv+0x23;SMB2_negotiate+0x4ba;cifs_negotiate_protocol+0xb6',
		'network-wait', 'server'
	],
	[
		'io_uring (6.1)', 'none',
		'__do_sys_io_uring_enter+0x8ce;do_syscall_64+0x5d;entry_SYSCALL_64_after_hwframe+0x6e',
		'ipc-wait', 'loop'
	],
	[
		'all CPUs to pass (6.12)', 'hardirq',
		'__wait_rcu_gp+0x13e;synchronize_rcu_normal.part.0+0x45;synchronize_rcu_normal+0xad;__x64_sys_membarrier+0x1ea',
		'lock-wait', 'lock'
	],
	[
		'a sound card (6.1)',                                                        'hardirq',
		'__snd_pcm_lib_xfer+0x33e;snd_pcm_read+0x67;vfs_write+0xc7;ksys_write+0x6b', 'device-wait',
		'device'
	],
	[
		'a fence that nobody signals (6.12)', 'none',
		'dma_fence_default_wait+0x149;dma_fence_wait_timeout+0x108;dma_resv_wait_timeout+0x84;dma_buf_begin_cpu_access+0x4f',
		'gpu-wait', 'gpu'
	],
	[
		'too much unwritten data (6.1)', 'hardirq',
		'balance_dirty_pages+0x3bc;balance_dirty_pages_ratelimited_flags+0x2a0;generic_perform_write+0x15a;ext4_buffered_write_iter+0x8c',
		'writeback', 'throttle'
	],
	[
		'too much unwritten data (6.12)', 'hardirq',
		'balance_dirty_pages+0x3e7;balance_dirty_pages_ratelimited_flags+0x2a9;generic_perform_write+0x96;ext4_buffered_write_iter+0x6c',
		'writeback', 'throttle'
	],
	# https://github.com/pop-os/pop/issues/3498: Xorg asks a monitor behind a dock
	[
		'a monitor behind a dock', 'hardirq',
		'msleep+0x2b;intel_pps_vdd_on_unlocked+0x306;intel_dp_aux_xfer+0x11e;intel_dp_aux_transfer+0x13d;drm_dp_dpcd_access+0xbf;drm_dp_dpcd_probe+0x41',
		'gpu-wait', 'gpu'
	],
	# https://github.com/rockowitz/ddcutil/issues/86: a control program talks to the monitor
	[
		'a monitor that is controlled', 'hardirq',
		'dal_ddc_open+0x32;dal_aux_engine_acquire+0x37;dm_dp_aux_transfer+0xac;drm_dp_i2c_do_msg+0x86;drm_dp_i2c_xfer+0xc0;__i2c_transfer+0x119;i2c_transfer+0x5e;i2cdev_read+0x77',
		'gpu-wait', 'gpu'
	],
	# https://github.com/utmapp/UTM/issues/5008
	[
		'a virtual graphics processor', 'task',
		'virtio_gpu_cursor_ping+0x138;virtio_gpu_cursor_plane_update+0x110;drm_atomic_helper_commit_planes+0xfc;drm_atomic_helper_commit_tail+0x64',
		'gpu-wait', 'gpu'
	],
	# https://github.com/yuq/linux-lima/issues/16
	[
		'a fence of another driver', 'hardirq',
		'schedule_timeout+0x1c4;dma_fence_default_wait+0x1a0;dma_fence_wait_timeout+0x1c;lima_vm_bo_del+0x1b8',
		'gpu-wait', 'gpu'
	],
	# https://github.com/Bumblebee-Project/Bumblebee/issues/1078
	[
		'a graphics processor that sleeps', 'task',
		'__pm_runtime_resume+0x49;nouveau_drm_open+0x70;drm_file_alloc+0x198;drm_open+0xde;drm_stub_open+0xc2',
		'device-wait', 'device'
	],
	# https://github.com/dahui/z13ctl/pull/20
	[
		'the embedded controller',                                               'hardirq',
		'acpi_ec_transaction_unlocked;acpi_ec_transaction;acpi_ec_submit_query', 'device-wait',
		'device'
	],
	# https://github.com/tpm2-software/tpm2-tss/issues/2477
	[
		'a security chip', 'hardirq', 'tpm_tis_status+0xb8;wait_for_tpm_stat+0x108', 'device-wait',
		'device'
	],
	# https://github.com/linux-audit/audit-kernel/issues/144
	[
		'the audit daemon', 'task',
		'schedule_timeout;audit_log_start;audit_log_name.constprop.0;audit_log_exit;__audit_syscall_exit',
		'ipc-wait', 'wait'
	],
	# https://github.com/openzfs/zfs/issues/9905
	[
		'ZFS', 'task', 'cv_wait_common+0x121;__cv_wait+0x15;arc_read+0x189;dsl_scan_visitbp+0x4e5',
		'disk-io', 'disk'
	],
	# https://github.com/hhoffstaette/kernel-patches/issues/7
	[
		'a commit of btrfs', 'task',
		'wait_current_trans.isra.21+0xa1;start_transaction+0x2aa;btrfs_attach_transaction+0x17',
		'disk-io', 'disk'
	],
	# No stack of it was found: the order of calls in arch/x86/kernel/cpu/intel.c of Linux 6.1.
	[
		'a split lock', 'hardirq',
		'msleep_interruptible;split_lock_warn;handle_user_split_lock;exc_alignment_check',
		'cpu-penalty', 'nap'
	],
	[
		'a device that says when it is done', 'hardirq',
		'__wait_for_common+0x92;wait_for_completion_timeout+0x1d;usb_start_wait_urb+0x9c',
		'device-wait', 'device'
	],
);
# Stacks of sleeps that say nothing of a reason: these must not get one.
my @NONE = (
	[
		'a worker with nothing to do', 'task',
		'worker_thread+0x98;kthread+0xf8;ret_from_fork+0x151'
	],
	[ 'kthreadd', 'task', 'kthreadd+0x2f0;ret_from_fork+0x151' ],
	[ 'no stack', 'task', '' ]
);

my $reasons = Tipme::Reasons->new;
my %used;
for (@CASES) {
	my ($what, $context, $stack, $kind, $class) = @$_;
	my $r = $reasons->of($stack, $context eq 'none' ? undef : $context);
	is($r ? "$r->{kind} $r->{class}" : 'nothing', "$kind $class", $what);
	$used{$r}++ if $r;
}
for (@NONE) { is($reasons->of($_->[2], $_->[1]), undef, "$_->[0]: no reason") }
is_deeply(
	[ map {"$_->{kind}, $_->{context}: $_->{code}"} grep { !$used{$_} } @{ $reasons->{rows} } ],
	[], 'each line of the table is reached by a stack'
);
ok(
	$reasons->is_loop('do_epoll_wait+0x548;__x64_sys_epoll_wait+0x5a')
		&& !$reasons->is_loop('anon_pipe_read+0x366;vfs_read+0x32c'),
	'an event loop is told from a reader'
);
done_testing;
