#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The table of reasons: stacks as kernels print them (6.18 where nothing else is said), each with what a person would call it; and no line of the table without one.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib";
use Tipme::Reasons;

# what, context of the waking (none: nobody has woken it), the stack, kind, class
my @CASES = (
	[ 'nanosleep', 'hardirq', 'hrtimer_nanosleep+0x74;common_nsleep+0x30;__x64_sys_clock_nanosleep+0xce;do_syscall_64+0x71', 'timer-sleep', 'nap' ],
	[ 'a sleep inside the kernel', 'hardirq', 'schedule_timeout_uninterruptible+0x2e;msleep+0x2d;e1000_reset_hw+0x1f1', 'timer-sleep', 'nap' ],
	[ 'sigtimedwait', 'task', 'do_sigtimedwait.isra.0+0x156;__x64_sys_rt_sigtimedwait+0x6b;do_syscall_64+0x71', 'timer-sleep', 'nap' ],
	[ 'pause', 'none', '__do_sys_pause+0x2a;do_syscall_64+0x71;entry_SYSCALL_64_after_hwframe+0x76', 'timer-sleep', 'nap' ],
	[ 'a fault that reads', 'hardirq', 'folio_wait_bit_common+0x110;filemap_fault+0x739;__do_fault+0x34;do_fault+0x4aa;__handle_mm_fault+0x7fc;handle_mm_fault+0xd0;exc_page_fault+0x176', 'page-fault-io', 'disk' ],
	[ 'reclaim', 'task', 'smp_call_function_many_cond+0x144;try_to_unmap_flush_dirty+0x36;shrink_folio_list+0x940;shrink_lruvec+0x880;shrink_node+0x2ff;do_try_to_free_pages+0xbd', 'memory-reclaim', 'memory' ],
	[ 'read', 'hardirq', 'folio_wait_bit_common+0x110;filemap_get_pages+0x749;filemap_read+0xda;vfs_read+0x23a;ksys_read+0x66', 'disk-io', 'disk' ],
	[ 'fsync', 'hardirq', 'folio_wait_bit+0xd6;folio_wait_writeback+0x2a;__filemap_fdatawait_range+0x7c;file_write_and_wait_range+0x8f;ext4_sync_file+0x226;do_fsync+0x3b', 'disk-io', 'disk' ],
	[ 'fsync, in a journal', 'task', 'jbd2_log_wait_commit+0xd9;ext4_fsync_journal+0x50;ext4_sync_file+0x1c1', 'disk-io', 'disk' ],
	[ 'flock', 'task', 'locks_lock_inode_wait+0x82;__do_sys_flock+0x1a3;do_syscall_64+0x71', 'lock-wait', 'lock' ],
	[ 'fcntl', 'task', 'fcntl_setlk+0x1a2;do_fcntl+0x6be;__x64_sys_fcntl+0x8c;do_syscall_64+0x71', 'lock-wait', 'lock' ],
	[ 'semop', 'task', '__do_semtimedop+0x487;do_semtimedop+0x16a;do_syscall_64+0x71', 'lock-wait', 'lock' ],
	[ 'futex', 'task', 'futex_do_wait+0x46;__futex_wait+0x8a;futex_wait+0x67;do_futex+0xfd;__x64_sys_futex+0x112', 'futex-wait', 'lock' ],
	[ 'a mutex of the kernel', 'task', 'schedule_preempt_disabled+0x15;__mutex_lock.constprop.0+0x4a5;mutex_lock+0x30;seq_read_iter+0x5c', 'lock-wait', 'lock' ],
	[ 'a semaphore for writing', 'task', 'rwsem_down_write_slowpath+0x2a1;down_write+0x61;dup_mmap+0x38f', 'lock-wait', 'lock' ],
	[ 'wait4', 'task', 'do_wait+0x53;kernel_wait4+0x9c;do_syscall_64+0x71', 'ipc-wait', 'wait' ],
	[ 'a pipe', 'task', 'anon_pipe_read+0x366;vfs_read+0x32c;ksys_read+0xba', 'ipc-wait', 'pipe' ],
	[ 'a pipe (6.12)', 'task', 'pipe_read+0x2f8;vfs_read+0x2d7;ksys_read+0x6c', 'ipc-wait', 'pipe' ],
	[ 'a terminal (6.12)', 'task', 'schedule_timeout+0x10e;wait_woken+0x62;n_tty_read+0x26c;tty_read+0x129', 'ipc-wait', 'tty' ],
	[ 'a local stream', 'task', 'unix_stream_read_generic+0x6de;unix_stream_recvmsg+0x8b;sock_recvmsg+0xb2;sock_read_iter+0x97', 'ipc-wait', 'unix' ],
	[ 'a local datagram', 'task', '__skb_wait_for_more_packets+0x120;__unix_dgram_recvmsg+0xe0;sock_recvmsg+0xb2;__sys_recvfrom+0xb8', 'ipc-wait', 'unix' ],
	[ 'a local datagram, to be sent', 'task', 'sock_alloc_send_pskb+0x156;unix_dgram_sendmsg+0x138;__sys_sendto+0x1cb', 'ipc-wait', 'unix' ],
	[ 'somebody to call a local socket', 'none', '__skb_wait_for_more_packets+0x120;__skb_recv_datagram+0x68;skb_recv_datagram+0x34;unix_accept+0x7c;do_accept+0xdc;__sys_accept4+0x84', 'ipc-wait', 'unix' ],
	[ 'TCP', 'softirq_irq', 'wait_woken+0x89;sk_wait_data+0x172;tcp_recvmsg_locked+0x21d;tcp_recvmsg+0x6e;sock_recvmsg+0xab', 'network-wait', 'net' ],
	[ 'UDP', 'softirq_irq', '__skb_wait_for_more_packets+0x120;__skb_recv_udp+0x1dd;udp_recvmsg+0x12c;sock_recvmsg+0xab', 'network-wait', 'net' ],
	[ 'somebody to call over the network', 'none', 'inet_csk_accept+0x1f2;inet_accept+0x2f;do_accept+0xdc', 'network-wait', 'net' ],
	[ 'a fence of the graphics processor', 'hardirq', 'schedule_timeout+0x8d;dma_fence_default_wait+0x1c8;dma_fence_wait_timeout+0x103;drm_atomic_helper_wait_for_fences+0x6b', 'gpu-wait', 'gpu' ],
	[ 'poll, until its time', 'hardirq', 'poll_schedule_timeout.constprop.0+0x37;do_sys_poll+0x400;__x64_sys_poll+0xd1', 'timer-sleep', 'loop' ],
	[ 'poll, until the network', 'softirq_irq', 'poll_schedule_timeout.constprop.0+0x37;do_sys_poll+0x400;__x64_sys_poll+0xd1', 'network-wait', 'loop' ],
	[ 'select, until another process', 'task', 'poll_schedule_timeout.constprop.0+0x37;do_select+0x63a;core_sys_select+0x275;do_pselect.constprop.0+0xc5', 'ipc-wait', 'loop' ],
	[ 'epoll, still', 'none', 'do_epoll_wait+0x548;__x64_sys_epoll_wait+0x5a;do_syscall_64+0x71', 'ipc-wait', 'loop' ],
	[ 'a timeout of a kernel thread', 'hardirq', 'schedule_timeout+0x77;rcu_gp_fqs_loop+0xf6;rcu_gp_kthread+0xc8', 'timer-sleep', 'nap' ],
	[ 'a USB transfer, by its driver', 'task', 'schedule_timeout+0x8d;__wait_for_common+0x92;wait_for_completion_timeout+0x1d;usb_start_wait_urb+0x9c;usb_control_msg+0xe8', 'device-wait', 'device' ],
	[ 'a completion by an interrupt', 'hardirq', 'schedule_timeout+0x8d;__wait_for_common+0x92;wait_for_completion_timeout+0x1d;cmd_send+0x9c', 'device-wait', 'device' ],
	[ 'nvidia', 'hardirq', 'schedule_timeout+0x8d;os_acquire_semaphore+0x3f;_nv012345rm+0x10;rm_ioctl+0x54;nvidia_ioctl+0x61d', 'gpu-wait', 'gpu' ],
	[ 'the modes of a monitor', 'hardirq', 'msleep+0x2d;drm_dp_i2c_do_msg+0x1f;drm_dp_i2c_xfer+0x33;drm_do_probe_ddc_edid+0xc8;drm_get_edid+0x70', 'gpu-wait', 'gpu' ],
	[ 'io_uring', 'task', 'io_cqring_wait+0x2d7;__do_sys_io_uring_enter+0x5a1', 'ipc-wait', 'loop' ],
	[ 'an inode that another one has locked', 'task', 'rwsem_down_write_slowpath+0x2a1;down_write+0x61;ext4_buffered_write_iter+0x35;ext4_file_write_iter+0x6f', 'lock-wait', 'lock' ],
	[ 'a read through FUSE', 'task', 'request_wait_answer+0x147;fuse_simple_request+0x1a8;fuse_read_folio+0x6b;filemap_read_folio+0x40;filemap_fault+0x739', 'ipc-wait', 'wait' ],
	[ 'a file of a server (NFS)', 'softirq_irq', 'rpc_wait_bit_killable+0x11;__wait_on_bit+0x42;__rpc_execute+0x106;nfs4_call_sync_sequence+0x6f', 'network-wait', 'wait' ],
	[ 'a device that says when it is done', 'hardirq', '__wait_for_common+0x92;wait_for_completion_timeout+0x1d;usb_start_wait_urb+0x9c', 'device-wait', 'device' ],
);
# Stacks of sleeps that say nothing of a reason: these must not get one.
my @NONE = ([ 'a worker with nothing to do', 'task', 'worker_thread+0x98;kthread+0xf8;ret_from_fork+0x151' ], [ 'kthreadd', 'task', 'kthreadd+0x2f0;ret_from_fork+0x151' ], [ 'no stack', 'task', '' ]);

my $reasons = Tipme::Reasons->new;
my %used;
for (@CASES) {
	my ($what, $context, $stack, $kind, $class) = @$_;
	my $r = $reasons->of($stack, $context eq 'none' ? undef : $context);
	is($r ? "$r->{kind} $r->{class}" : 'nothing', "$kind $class", $what);
	$used{$r}++ if $r;
}
for (@NONE) { is($reasons->of($_->[2], $_->[1]), undef, "$_->[0]: no reason") }
is_deeply([ map { "$_->{kind}, $_->{context}: $_->{code}" } grep { !$used{$_} } @{ $reasons->{rows} } ], [], 'each line of the table is reached by a stack');
ok($reasons->is_loop('do_epoll_wait+0x548;__x64_sys_epoll_wait+0x5a') && !$reasons->is_loop('anon_pipe_read+0x366;vfs_read+0x32c'), 'an event loop is told from a reader');
done_testing;
