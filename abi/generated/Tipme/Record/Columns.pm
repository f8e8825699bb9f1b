# SPDX-License-Identifier: GPL-2.0-only
# Fields of kernel records in columns (Tipme::KernelEvents); made by abi/gen-records from abi/records.def: change those, not this.
package Tipme::Record::Columns;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::Record::Layout;

# NUMBER{record}: its number. SHIFT{record}{field}: where a small field begins in its column, in
# bits, for passes over many records that cannot afford a call for each.
our (%NUMBER, %SHIFT);
my $ENUM;

BEGIN {
	%NUMBER = (
		sched_switch => 3,
		sched_waking => 4,
		fork => 5,
		exit => 6,
		exec => 7,
		rename => 8,
		work_queued => 9,
		work_start => 10,
		work_end => 11,
		io => 12,
		lock_contention => 13,
		memory_wait => 14,
		irq => 15,
		signal => 16,
		cpu_throttle => 17,
		priority => 18,
		migrate => 19,
		cpu_frequency => 20,
		cpu_idle => 21,
		steal => 22,
		sample => 23,
		input => 24,
		latency => 25,
		latency_user => 26,
		proc_state => 27,
		affinity => 28,
		network => 29,
		wl_deliver => 96,
		wl_commit => 97,
		wl_done => 98,
		screen_asked => 99,
		screen_shown => 100,
	);
	%SHIFT = (
		sched_switch => { prev_state => 0, prev_prio => 8, next_prio => 16, prev_preempted => 24 },
		sched_waking => { wakee_cpu => 0, context => 16, prio => 24 },
		work_queued => { cpu => 0, context => 16 },
		io => { sectors => 0, op => 16, phase => 24 },
		lock_contention => { error => 0, kind => 16, phase => 24 },
		memory_wait => { kind => 16, phase => 24 },
		irq => { kind => 16, context => 24 },
		signal => { signal => 0, context => 16, result => 24 },
		cpu_throttle => { cpu => 0, phase => 16 },
		priority => { old_prio => 0, new_prio => 8, inherited => 16, policy => 24 },
		migrate => { from_cpu => 0, to_cpu => 16 },
		cpu_frequency => { cpu => 0 },
		cpu_idle => { state => 0, cpu => 16 },
		steal => { cpu => 0 },
		sample => { cpu => 0, kind => 16, context => 24 },
		input => { device => 0, kind => 16, class => 24 },
		latency => { cpu => 0, rt_priority => 16, over => 24 },
		latency_user => { cpu => 0, rt_priority => 16, over => 24 },
		proc_state => { cpu => 0, state => 16, prio => 24 },
		network => { service => 0, protocol => 8, act => 16, place => 24 },
		wl_deliver => { kind => 0, what => 8, age_ms => 16 },
		wl_done => { what => 0 },
	);
	$ENUM = \%Tipme::Record::Layout::ENUM;
}

# sched_switch: a CPU left one thread (tid) for another
# thread that runs from now on; 0 is the idle thread of this CPU
sub sched_switch_next_tid { return vec($_[0]{a}, $_[1], 32) }
# [ns] hardware interrupts on this CPU since its last switch, net; 4294967295: that or more
sub sched_switch_irq_ns { return vec($_[0]{b}, $_[1], 32) }
# [ns] softirqs on this CPU since its last switch, net of hardware interrupts; ksoftirqd's own count too
sub sched_switch_softirq_ns { return vec($_[0]{c}, $_[1], 32) }
# name of a task_state: what the thread that left does now
sub sched_switch_prev_state { return $ENUM->{ task_state }{ vec($_[0]{d}, $_[1], 32) & 255 } }
# its kernel priority: 0-99 real-time (99 - rt), 100-139 nice -20 to 19, 255 deadline
sub sched_switch_prev_prio { return vec($_[0]{d}, $_[1], 32) >> 8 & 255 }
# priority of the one that comes
sub sched_switch_next_prio { return vec($_[0]{d}, $_[1], 32) >> 16 & 255 }
# 1: it was preempted, and is runnable
sub sched_switch_prev_preempted { return vec($_[0]{d}, $_[1], 32) >> 24 }

# sched_waking: a thread (tid) was woken
# thread on this CPU at the time; who it really was, says context
sub sched_waking_waker_tid { return vec($_[0]{a}, $_[1], 32) }
# kernel stack of the sleep that ends here, where it lasted 1 ms or more, as a number of this episode; 0: none
sub sched_waking_stack_id { return vec($_[0]{b}, $_[1], 32) }
# context softirq_task or softirq_mixed: the thread that raised the softirq; else 0
sub sched_waking_raiser_tid { return vec($_[0]{c}, $_[1], 32) }
# CPU on which the thread had slept
sub sched_waking_wakee_cpu { return vec($_[0]{d}, $_[1], 32) & 65535 }
# name of a context: who woke it
sub sched_waking_context { return $ENUM->{ context }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }
# kernel priority of the woken thread
sub sched_waking_prio { return vec($_[0]{d}, $_[1], 32) >> 24 }

# fork: a thread (tid) made another
# the new thread
sub fork_child_tid { return vec($_[0]{a}, $_[1], 32) }
# its process
sub fork_child_pid { return vec($_[0]{b}, $_[1], 32) }
# [ns] CLOCK_MONOTONIC start time: with the tid, the name of the thread for ever
sub fork_child_start_ns { return vec($_[0]{c}, $_[1], 32) | vec($_[0]{d}, $_[1], 32) << 32 }

# exit: a thread (tid) ended
# its process
sub exit_pid { return vec($_[0]{a}, $_[1], 32) }
# as wait(2) reports it
sub exit_exit_code { return vec($_[0]{b}, $_[1], 32) }
# [ns] its start time
sub exit_start_ns { return vec($_[0]{c}, $_[1], 32) | vec($_[0]{d}, $_[1], 32) << 32 }

# exec: a process (tid) runs another program; its new name stands in the rename record before
# its process
sub exec_pid { return vec($_[0]{a}, $_[1], 32) }
# tid of the calling thread before it took the place of the process leader
sub exec_old_tid { return vec($_[0]{b}, $_[1], 32) }
# [ns] its start time
sub exec_start_ns { return vec($_[0]{c}, $_[1], 32) | vec($_[0]{d}, $_[1], 32) << 32 }

# rename: a thread (tid) has another name
# the new one
sub rename_comm { return unpack 'Z16', $_[0]->bytes($_[1]) }

# work_queued: work was queued for a kernel worker, by this thread (tid) if context says task
# which work item: in a ring its address, in a file a number of this episode (before 1.3: the address)
sub work_queued_work { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# its function, named by a function record: in a ring the low half of its address, in a file a number of this episode (before 1.3: the low half)
sub work_queued_function { return vec($_[0]{c}, $_[1], 32) }
# CPU whose workers it was queued for; 65535: the workers of any
sub work_queued_cpu { return vec($_[0]{d}, $_[1], 32) & 65535 }
# name of a context: who queued it
sub work_queued_context { return $ENUM->{ context }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }

# work_start: a worker (tid) begins a work item
# which
sub work_start_work { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# its function
sub work_start_function { return vec($_[0]{c}, $_[1], 32) }

# work_end: a worker (tid) finished a work item
# which
sub work_end_work { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# its function
sub work_end_function { return vec($_[0]{c}, $_[1], 32) }

# io: a block request on its way; tid is the thread in whose time that was: the asker only where phase is queued or merged
# first sector (of 512 bytes); with dev, the name of the request
sub io_sector { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# device: major << 20 | minor
sub io_dev { return vec($_[0]{c}, $_[1], 32) }
# length in sectors; 65535: that or more
sub io_sectors { return vec($_[0]{d}, $_[1], 32) & 65535 }
# name of a io_op: what it does
sub io_op { return $ENUM->{ io_op }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }
# name of a io_phase: where it is
sub io_phase { return $ENUM->{ io_phase }{ vec($_[0]{d}, $_[1], 32) >> 24 } }

# lock_contention: a thread (tid) begins or ends to wait for a kernel lock that is taken
# which lock: in a ring its address, in a file a number of this episode (before 1.3: the address)
sub lock_contention_lock { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# begin: who held it, where the kind of lock tells; 0: not known
sub lock_contention_owner_tid { return vec($_[0]{c}, $_[1], 32) }
# end: errno, where it did not get the lock
sub lock_contention_error { return vec($_[0]{d}, $_[1], 32) & 65535 }
# name of a lock_kind: kind of lock
sub lock_contention_kind { return $ENUM->{ lock_kind }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }
# name of a phase: begin or end
sub lock_contention_phase { return $ENUM->{ phase }{ vec($_[0]{d}, $_[1], 32) >> 24 } }

# memory_wait: a thread (tid) begins or ends to wait or work for memory
# [pages] end: freed, moved or read; begin: wanted; 0: not known
sub memory_wait_amount { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# [ns] end: how long it was; 4294967295: that or more; 0: not known
sub memory_wait_duration_ns { return vec($_[0]{c}, $_[1], 32) }
# name of a memory_wait_kind: for what
sub memory_wait_kind { return $ENUM->{ memory_wait_kind }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }
# name of a phase: begin or end
sub memory_wait_phase { return $ENUM->{ phase }{ vec($_[0]{d}, $_[1], 32) >> 24 } }

# irq: an interrupt or softirq lasted longer than the threshold (default 100 us); tid is the thread that it interrupted
# [ns] net of what interrupted it in turn; 4294967295: that or more
sub irq_duration_ns { return vec($_[0]{a}, $_[1], 32) }
# line or vector; irq_name records name lines
sub irq_number { return vec($_[0]{b}, $_[1], 32) }
# softirq: the thread that raised it in its own call; 0: none
sub irq_raiser_tid { return vec($_[0]{c}, $_[1], 32) }
# name of a irq_kind: what it was
sub irq_kind { return $ENUM->{ irq_kind }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }
# name of a context: softirq: who had raised it
sub irq_context { return $ENUM->{ context }{ vec($_[0]{d}, $_[1], 32) >> 24 } }

# signal: a signal that stops, continues or ends was sent to a thread (tid)
# thread on this CPU; the sender where context says task
sub signal_sender_tid { return vec($_[0]{a}, $_[1], 32) }
# process of the receiver
sub signal_pid { return vec($_[0]{b}, $_[1], 32) }
# number
sub signal_signal { return vec($_[0]{c}, $_[1], 32) & 65535 }
# name of a context: who sent it
sub signal_context { return $ENUM->{ context }{ vec($_[0]{c}, $_[1], 32) >> 16 & 255 } }
# 0: delivered; else why not, as the kernel counts: 1 ignored, 2 pending already, 3 overflow, 4 lost
sub signal_result { return vec($_[0]{c}, $_[1], 32) >> 24 }

# cpu_throttle: a cgroup ran out of its CPU quota, or got it back
# id of the cgroup; a cgroup_name record names it
sub cpu_throttle_cgroup { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# [us] sample: throttled since the last sample (sum over its CPUs); end: on this CPU
sub cpu_throttle_throttled_us { return vec($_[0]{c}, $_[1], 32) }
# begin, end: whose run queue; 65535: all
sub cpu_throttle_cpu { return vec($_[0]{d}, $_[1], 32) & 65535 }
# name of a phase: begin and end are exact; sample comes from cpu.stat
sub cpu_throttle_phase { return $ENUM->{ phase }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }

# priority: the priority of a thread (tid) changed
# who changed it; inherited: the waiter that lends its priority, 0 when it takes it back
sub priority_changer_tid { return vec($_[0]{a}, $_[1], 32) }
# kernel priority before
sub priority_old_prio { return vec($_[0]{b}, $_[1], 32) & 255 }
# kernel priority from now on
sub priority_new_prio { return vec($_[0]{b}, $_[1], 32) >> 8 & 255 }
# 1: by priority inheritance
sub priority_inherited { return vec($_[0]{b}, $_[1], 32) >> 16 & 255 }
# scheduling policy from now on; 255: not known
sub priority_policy { return vec($_[0]{b}, $_[1], 32) >> 24 }

# migrate: a runnable or sleeping thread (tid) was moved to another CPU
# CPU
sub migrate_from_cpu { return vec($_[0]{a}, $_[1], 32) & 65535 }
# CPU
sub migrate_to_cpu { return vec($_[0]{a}, $_[1], 32) >> 16 }
# thread on this CPU at the time
sub migrate_mover_tid { return vec($_[0]{b}, $_[1], 32) }

# cpu_frequency: a CPU changed its frequency; tid is 0
# [kHz] from now on
sub cpu_frequency_khz { return vec($_[0]{a}, $_[1], 32) }
# CPU
sub cpu_frequency_cpu { return vec($_[0]{b}, $_[1], 32) & 65535 }

# cpu_idle: a CPU left an idle state deeper than the threshold; tid is 0, the time that of waking up
# [ns] how long it was idle; 4294967295: that or more
sub cpu_idle_idle_ns { return vec($_[0]{a}, $_[1], 32) }
# [ns] what the kernel says that leaving this state takes; 0: not known
sub cpu_idle_exit_latency_ns { return vec($_[0]{b}, $_[1], 32) }
# index of the state; state 0 is the shallowest
sub cpu_idle_state { return vec($_[0]{c}, $_[1], 32) & 65535 }
# CPU
sub cpu_idle_cpu { return vec($_[0]{c}, $_[1], 32) >> 16 }

# steal: the host of this virtual machine took a CPU away; tid is the thread that seemed to run
# [ns] since the last steal record of this CPU; 4294967295: that or more
sub steal_steal_ns { return vec($_[0]{a}, $_[1], 32) }
# CPU
sub steal_cpu { return vec($_[0]{b}, $_[1], 32) & 65535 }
# [ns] when that last look was
sub steal_since_ns { return vec($_[0]{c}, $_[1], 32) | vec($_[0]{d}, $_[1], 32) << 32 }

# sample: what a CPU was doing: a thread (tid) was on it
# kernel stack; 0: none
sub sample_kernel_stack_id { return vec($_[0]{a}, $_[1], 32) }
# user stack; 0: none
sub sample_user_stack_id { return vec($_[0]{b}, $_[1], 32) }
# [us] time for which the sample stands
sub sample_period_us { return vec($_[0]{c}, $_[1], 32) }
# CPU
sub sample_cpu { return vec($_[0]{d}, $_[1], 32) & 65535 }
# name of a sample_kind: what made it
sub sample_kind { return $ENUM->{ sample_kind }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }
# name of a context: what was interrupted
sub sample_context { return $ENUM->{ context }{ vec($_[0]{d}, $_[1], 32) >> 24 } }

# input: an input device told the kernel of an event; tid is the thread that was interrupted
# key code, 0 unless the user asked for codes
sub input_code { return vec($_[0]{a}, $_[1], 32) }
# number of the device: eventN
sub input_device { return vec($_[0]{b}, $_[1], 32) & 65535 }
# name of a input_kind: what happened
sub input_kind { return $ENUM->{ input_kind }{ vec($_[0]{b}, $_[1], 32) >> 16 & 255 } }
# name of a device_class: kind of device
sub input_class { return $ENUM->{ device_class }{ vec($_[0]{b}, $_[1], 32) >> 24 } }

# latency: the latency driver's timer of one CPU, one expiry (the time of the record); each stage from the end of the one before
# [ns] expiry to first instruction of its handler
sub latency_irq_ns { return vec($_[0]{a}, $_[1], 32) }
# [ns] from there to the deferred work
sub latency_deferred_ns { return vec($_[0]{b}, $_[1], 32) }
# [ns] from waking it in deferred work to the kernel thread named by priority
sub latency_thread_ns { return vec($_[0]{c}, $_[1], 32) }
# CPU
sub latency_cpu { return vec($_[0]{d}, $_[1], 32) & 65535 }
# 1 to 99: SCHED_FIFO priority of the kernel thread
sub latency_rt_priority { return vec($_[0]{d}, $_[1], 32) >> 16 & 255 }
# 1: over the threshold, so that a trigger was asked for
sub latency_over { return vec($_[0]{d}, $_[1], 32) >> 24 }

# latency_user: the same, for the thread in user space (tid)
# [ns] from waking it to its first instruction after the system call
sub latency_user_user_ns { return vec($_[0]{a}, $_[1], 32) }
# CPU
sub latency_user_cpu { return vec($_[0]{b}, $_[1], 32) & 65535 }
# 1 to 99: SCHED_FIFO; 0: other
sub latency_user_rt_priority { return vec($_[0]{b}, $_[1], 32) >> 16 & 255 }
# 1: over the threshold
sub latency_user_over { return vec($_[0]{b}, $_[1], 32) >> 24 }
# [ns] the timer's expiry, by which it belongs to a latency record
sub latency_user_expiry_ns { return vec($_[0]{c}, $_[1], 32) | vec($_[0]{d}, $_[1], 32) << 32 }

# proc_state: a thread (tid) as /proc showed it, 20 ms apart; written where something changed
# [ns] ran since its last record; 4294967295: that or more
sub proc_state_run_ns { return vec($_[0]{a}, $_[1], 32) }
# [ns] was runnable since its last record; 4294967295: that or more
sub proc_state_wait_ns { return vec($_[0]{b}, $_[1], 32) }
# wait channel, as a stack of one frame; 0: none
sub proc_state_stack_id { return vec($_[0]{c}, $_[1], 32) }
# CPU on which it last ran
sub proc_state_cpu { return vec($_[0]{d}, $_[1], 32) & 65535 }
# name of a task_state: what it does
sub proc_state_state { return $ENUM->{ task_state }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }
# kernel priority
sub proc_state_prio { return vec($_[0]{d}, $_[1], 32) >> 24 }

# affinity: the CPUs on which a thread (tid) may run were changed
# CPUs 0 to 63 on which it may run from now on, bit by bit
sub affinity_cpus_allowed { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# who changed it; 0: not known
sub affinity_changer_tid { return vec($_[0]{c}, $_[1], 32) }
# [ns] 0: now; else at some time in so long before, seen by comparing two pictures of all threads
sub affinity_within_ns { return vec($_[0]{d}, $_[1], 32) }

# network: a thread (tid) sent something over the network to a service; of one that sends often one each 10 ms; no address, no port
# which connection: in a ring its address, in a file a number of this episode
sub network_socket { return vec($_[0]{a}, $_[1], 32) | vec($_[0]{b}, $_[1], 32) << 32 }
# [bytes] length of that packet, or what was given to it; 0: a connection begins
sub network_bytes { return vec($_[0]{c}, $_[1], 32) }
# name of a net_service: to what
sub network_service { return $ENUM->{ net_service }{ vec($_[0]{d}, $_[1], 32) & 255 } }
# name of a net_protocol: how
sub network_protocol { return $ENUM->{ net_protocol }{ vec($_[0]{d}, $_[1], 32) >> 8 & 255 } }
# name of a net_act: again: tid is the thread that had sent there last, 0: not known
sub network_act { return $ENUM->{ net_act }{ vec($_[0]{d}, $_[1], 32) >> 16 & 255 } }
# name of a net_place: how far away
sub network_place { return $ENUM->{ net_place }{ vec($_[0]{d}, $_[1], 32) >> 24 } }

# wl_deliver: a Wayland compositor (tid is its thread) sent a client an input event; never which key
# process that connected the client, as the kernel told the compositor; the compositor's own where that made the connection
sub wl_deliver_pid { return vec($_[0]{a}, $_[1], 32) }
# stands for the client, as long as it is connected: a hash of its address in the compositor
sub wl_deliver_client { return vec($_[0]{b}, $_[1], 32) }
# the client's number of its keyboard, pointer ...
sub wl_deliver_object { return vec($_[0]{c}, $_[1], 32) }
# name of a input_kind: what happened
sub wl_deliver_kind { return $ENUM->{ input_kind }{ vec($_[0]{d}, $_[1], 32) & 255 } }
# name of a wl_input: what it was sent to
sub wl_deliver_what { return $ENUM->{ wl_input }{ vec($_[0]{d}, $_[1], 32) >> 8 & 255 } }
# [ms] how long ago its device told of it, by the time that the compositor tells the client; 0: less than 5 ms, more than a minute, or no time of this clock
sub wl_deliver_age_ms { return vec($_[0]{d}, $_[1], 32) >> 16 }

# wl_commit: a Wayland compositor (tid is its thread) took a new picture of a surface from a client
# as in wl_deliver
sub wl_commit_pid { return vec($_[0]{a}, $_[1], 32) }
# as in wl_deliver
sub wl_commit_client { return vec($_[0]{b}, $_[1], 32) }
# the client's number of the surface
sub wl_commit_surface { return vec($_[0]{c}, $_[1], 32) }
# the client's number of the callback that it asked for with this picture; 0: none
sub wl_commit_callback { return vec($_[0]{d}, $_[1], 32) }

# wl_done: a Wayland compositor (tid is its thread) told a client what became of its picture
# as in wl_deliver
sub wl_done_pid { return vec($_[0]{a}, $_[1], 32) }
# as in wl_deliver
sub wl_done_client { return vec($_[0]{b}, $_[1], 32) }
# the client's number of the callback or feedback object
sub wl_done_callback { return vec($_[0]{c}, $_[1], 32) }
# name of a wl_told: what it told
sub wl_done_what { return $ENUM->{ wl_told }{ vec($_[0]{d}, $_[1], 32) & 255 } }

# screen_asked: a program (tid) asked the kernel to show another picture on a screen, and to be told when it does
# its process
sub screen_asked_pid { return vec($_[0]{a}, $_[1], 32) }
# counts what was asked through one opened graphics device, from 1 on
sub screen_asked_number { return vec($_[0]{b}, $_[1], 32) }
# identity of the part of the graphics device that feeds the screen; 0: the request may be for several (atomic)
sub screen_asked_crtc { return vec($_[0]{c}, $_[1], 32) }

# screen_shown: the kernel tells a program that a screen shows what it asked for; tid is the thread that was interrupted
# process that asked; 0: it had asked before it was recorded
sub screen_shown_pid { return vec($_[0]{a}, $_[1], 32) }
# of what was asked last through the same opened graphics device (screen_asked)
sub screen_shown_number { return vec($_[0]{b}, $_[1], 32) }
# which of the graphics device's screens, from 0 on
sub screen_shown_pipe { return vec($_[0]{c}, $_[1], 32) }
# counts the refreshes of that screen; 0: it has none of its own
sub screen_shown_sequence { return vec($_[0]{d}, $_[1], 32) }

1;
