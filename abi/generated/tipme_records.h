/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Records of tipme, for user space, kernel and BPF; made by abi/gen-records from abi/records.def: change those, not this. */
#ifndef TIPME_RECORDS_H
#define TIPME_RECORDS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define TIPME_ASSERT(x) _Static_assert(x, #x)

#define TIPME_FORMAT_MAJOR 1
#define TIPME_FORMAT_MINOR 0
#define TIPME_BYTE_ORDER 0x01020304U
#define TIPME_FILE_MAGIC "TIPMEREC"
#define TIPME_X_RING_MAGIC "TIPMEXRG"

/* where a record was made */
enum tipme_source {
	TIPME_SOURCE_KERNEL_BPF = 1, /* tracing programs on a stock kernel */
	TIPME_SOURCE_KERNEL_MODULE = 2, /* tipme.ko, or the kernel patch */
	TIPME_SOURCE_PROC_SAMPLED = 3, /* samples of /proc, 20 ms apart */
	TIPME_SOURCE_X_HOOKS = 4, /* inside the X server */
	TIPME_SOURCE_X_CLIENT = 5, /* an ordinary X client that observes the server */
	TIPME_SOURCE_TIPMED = 6, /* the daemon: pictures of all threads, names, symbols */
};

/* what a thread does when it is not on a CPU */
enum tipme_task_state {
	TIPME_TASK_STATE_RUNNABLE = 0, /* waits for a CPU (was preempted or yielded, whatever its state flags said) */
	TIPME_TASK_STATE_SLEEPING = 1, /* interruptible sleep */
	TIPME_TASK_STATE_DISK_SLEEP = 2, /* uninterruptible sleep */
	TIPME_TASK_STATE_STOPPED = 3, /* stopped by a signal */
	TIPME_TASK_STATE_TRACED = 4, /* stopped by a tracer */
	TIPME_TASK_STATE_DEAD = 5, /* has exited */
	TIPME_TASK_STATE_PARKED = 6, /* kernel thread that is parked */
	TIPME_TASK_STATE_IDLE = 7, /* uninterruptible sleep that does not count as load */
	TIPME_TASK_STATE_FROZEN = 8, /* frozen by the freezer */
	TIPME_TASK_STATE_LOCK_WAIT = 9, /* sleeps on a lock of a real-time kernel */
	TIPME_TASK_STATE_RUNNING = 10, /* is on a CPU (only in pictures) */
	TIPME_TASK_STATE_UNKNOWN = 11, /* none of these */
};

/* in what context something was done */
enum tipme_context {
	TIPME_CONTEXT_TASK = 0, /* by the task itself */
	TIPME_CONTEXT_SOFTIRQ_TASK = 1, /* in a softirq that this very task (see raiser_tid) had raised in its own call */
	TIPME_CONTEXT_SOFTIRQ_IRQ = 2, /* in a softirq that a hardware interrupt or a timer had raised */
	TIPME_CONTEXT_SOFTIRQ_MIXED = 3, /* in a softirq that a task and an interrupt had both raised */
	TIPME_CONTEXT_HARDIRQ = 4, /* in a hardware interrupt: the interrupted task has nothing to do with it */
	TIPME_CONTEXT_NMI = 5, /* in a non-maskable interrupt */
};

/* kind of an input event; never which key */
enum tipme_input_kind {
	TIPME_INPUT_KIND_KEY_PRESS = 1, /* a key went down */
	TIPME_INPUT_KIND_KEY_RELEASE = 2, /* a key went up */
	TIPME_INPUT_KIND_BUTTON_PRESS = 3, /* a pointer button went down */
	TIPME_INPUT_KIND_BUTTON_RELEASE = 4, /* a pointer button went up */
	TIPME_INPUT_KIND_MOTION = 5, /* the pointer moved */
	TIPME_INPUT_KIND_TOUCH = 6, /* a touch began, moved or ended */
	TIPME_INPUT_KIND_KEY_REPEAT = 7, /* a key that is held down repeats */
	TIPME_INPUT_KIND_OTHER = 8, /* any other device event */
};

/* what a hot-key asks for */
enum tipme_chord_action {
	TIPME_CHORD_ACTION_START = 1, /* start recording */
	TIPME_CHORD_ACTION_SNAPSHOT = 2, /* save an episode */
	TIPME_CHORD_ACTION_NO_INPUT = 3, /* record no input events at all */
	TIPME_CHORD_ACTION_DEFAULT_INPUT = 4, /* record input events, never which key */
};

/* what happened to an X client */
enum tipme_x_client_state {
	TIPME_X_CLIENT_STATE_CONNECTED = 1, /* it was admitted */
	TIPME_X_CLIENT_STATE_GONE = 2, /* its connection was closed */
	TIPME_X_CLIENT_STATE_PRESENT = 3, /* it was there when the hooks were loaded */
};

/* what an X client grabbed */
enum tipme_x_grab_what {
	TIPME_X_GRAB_WHAT_SERVER = 1, /* the whole server: no other client is served */
	TIPME_X_GRAB_WHAT_POINTER = 2, /* the pointer */
	TIPME_X_GRAB_WHAT_KEYBOARD = 3, /* the keyboard */
};

/* what a message on tipmed's socket asks for or tells */
enum tipme_verb {
	TIPME_VERB_X_HELLO = 1, /* an X server offers its ring: the memory's file descriptor comes with it, arg is the display, the text its name */
	TIPME_VERB_TRIGGER = 2, /* save an episode; arg is the chord_action or 0 for a command, the text the user's words */
	TIPME_VERB_STATUS = 3, /* tell the state of the recorder; answered by a reply whose text is JSON */
	TIPME_VERB_STOP = 4, /* end recording */
	TIPME_VERB_REPLY = 16, /* answer: arg 0 or an errno; the text is JSON, or says what went wrong */
	TIPME_VERB_SAVED = 17, /* an episode was saved, or not (arg: errno); the text is its path */
};

/* numbers of the records */
enum tipme_record {
	TIPME_SECTION = 1,
	TIPME_SCHED_SWITCH = 3,
	TIPME_SCHED_WAKING = 4,
	TIPME_FORK = 5,
	TIPME_EXIT = 6,
	TIPME_EXEC = 7,
	TIPME_RENAME = 8,
	TIPME_WORK_QUEUED = 9,
	TIPME_WORK_START = 10,
	TIPME_WORK_END = 11,
	TIPME_PICTURE = 32,
	TIPME_THREAD = 33,
	TIPME_STACK = 34,
	TIPME_FUNCTION = 35,
	TIPME_X_DEVICE = 64,
	TIPME_X_DELIVER = 65,
	TIPME_X_REQUEST = 66,
	TIPME_X_DAMAGE = 67,
	TIPME_X_FLUSH = 68,
	TIPME_X_SLEEP = 69,
	TIPME_X_WAKEUP = 70,
	TIPME_X_CHORD = 71,
	TIPME_X_CLIENT = 72,
	TIPME_X_GRAB = 73,
};

/* how each message on tipmed's socket (SOCK_SEQPACKET) begins; text_len bytes of text follow */
struct tipme_message {
	__u32 magic; /* 0x4d504954 (TIPM) */
	__u16 version; /* 1 */
	__u16 verb; /* [enum tipme_verb] what it is about */
	__u32 arg; /* see the verb */
	__u32 text_len; /* [bytes] 0 to 65000 */
};
TIPME_ASSERT(sizeof(struct tipme_message) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_message, magic) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_message, version) == 4);
TIPME_ASSERT(__builtin_offsetof(struct tipme_message, verb) == 6);
TIPME_ASSERT(__builtin_offsetof(struct tipme_message, arg) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_message, text_len) == 12);

/* how each record begins */
struct tipme_head {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
};
TIPME_ASSERT(sizeof(struct tipme_head) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_head, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_head, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_head, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_head, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_head, tid) == 12);

/* how each record file of an episode begins */
struct tipme_file_header {
	char magic[8]; /* TIPMEREC */
	__u32 byte_order; /* 0x01020304 as written by the recording machine; a file that reads otherwise is refused */
	__u16 major; /* format; another major is refused by name */
	__u16 minor; /* format; records and fields of a newer minor are skipped by length */
	__u32 header_len; /* [bytes] where the first record begins */
	__u32 source; /* [enum tipme_source] who made the records */
	__u64 created_ns; /* [ns] CLOCK_MONOTONIC at the copy */
	__u64 trigger_ns; /* [ns] CLOCK_MONOTONIC at the trigger */
	__u64 episode_id; /* the same number in all files of an episode */
	__u64 body_len; /* [bytes] bytes that follow this header; a file of another length was cut */
	__u64 reserved0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_file_header) == 64);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, magic) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, byte_order) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, major) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, minor) == 14);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, header_len) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, source) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, created_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, trigger_ns) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, episode_id) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, body_len) == 48);
TIPME_ASSERT(__builtin_offsetof(struct tipme_file_header, reserved0) == 56);

/* how a sub-buffer of the kernel source's pool begins */
struct tipme_pool_header {
	__u64 gen; /* generation: counts the times that this sub-buffer was taken; changes before any slot is written */
	__u32 owner; /* CPU number + 1 while a CPU writes here; 0: full, may be taken again */
	__u32 cpu; /* CPU whose records these are */
	__u64 first_ns; /* [ns] CLOCK_MONOTONIC when it was taken */
	__u64 retired_ns; /* [ns] CLOCK_MONOTONIC when it was found full; 0 while in use */
	__u64 seq; /* counts the sub-buffers of this CPU: two numbers in a row leave no gap */
	__u64 next; /* sub-buffer + 1 that waits behind this one to be given back; 0: none */
	__u64 slot_gen; /* 1 + gen % 65535: what the slots carry, so that no writer divides */
	__u64 reserved0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_pool_header) == 64);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, gen) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, owner) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, cpu) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, first_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, retired_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, seq) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, next) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, slot_gen) == 48);
TIPME_ASSERT(__builtin_offsetof(struct tipme_pool_header, reserved0) == 56);

/* how the X source's shared memory begins; slots of 32 bytes follow; a hostile writer may put anything here */
struct tipme_x_ring_header {
	char magic[8]; /* TIPMEXRG */
	__u32 byte_order; /* 0x01020304 */
	__u16 major; /* format */
	__u16 minor; /* format */
	__u32 header_len; /* [bytes] 256 */
	__u32 slot_count; /* number of slots, a power of two; a reader computes it from the size of the memory instead */
	__u64 head; /* slots reserved so far; slot number = head % slot_count, its gen = 1 + (head / slot_count) % 65535 */
	__u32 server_pid; /* process */
	__u32 server_tid; /* thread that writes */
	__u64 cur_start_ns; /* [ns] beginning of the request now being executed; 0 when none is */
	__u32 cur_pid; /* its client's process */
	__u16 cur_client; /* its client's index */
	__u8 cur_major; /* its major opcode */
	__u8 cur_minor; /* its minor opcode */
	__u64 lost; /* records not written */
	__u64 chords; /* hot-keys seen */
	__u32 display; /* number of the display */
	__u32 grab_pid; /* process that holds the server grab; 0 when none does */
	__u64 grab_start_ns; /* [ns] since when */
	char server_name[16]; /* Xorg, Xvfb, ... */
	char reserved0[152]; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_ring_header) == 256);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, magic) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, byte_order) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, major) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, minor) == 14);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, header_len) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, slot_count) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, head) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, server_pid) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, server_tid) == 36);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, cur_start_ns) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, cur_pid) == 48);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, cur_client) == 52);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, cur_major) == 54);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, cur_minor) == 55);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, lost) == 56);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, chords) == 64);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, display) == 72);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, grab_pid) == 76);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, grab_start_ns) == 80);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, server_name) == 88);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, reserved0) == 104);

/* the records up to the next section come from one source and one CPU (or X thread), in order of time */
struct tipme_section {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 source; /* [enum tipme_source] who made them */
	__u32 cpu; /* CPU; for the X source the index of the server's thread */
	__u64 first_ns; /* [ns] time of the first */
	__u64 last_ns; /* [ns] time of the last */
	__u64 count; /* how many */
	__u64 body_len; /* [bytes] how long they are together: the next section begins after that */
};
TIPME_ASSERT(sizeof(struct tipme_section) == 56);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, source) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, cpu) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, first_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, last_ns) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, count) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_section, body_len) == 48);

/* a CPU left one thread (tid) for another */
struct tipme_sched_switch {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 next_tid; /* thread that runs from now on; 0 is the idle thread of this CPU */
	__u32 irq_ns; /* [ns] hardware interrupts on this CPU since its last switch, net; 4294967295: that or more */
	__u32 softirq_ns; /* [ns] softirqs on this CPU since its last switch, net of hardware interrupts; ksoftirqd's own count too */
	__u8 prev_state; /* [enum tipme_task_state] what the thread that left does now */
	__u8 prev_prio; /* its kernel priority: 0-99 real-time (99 - rt), 100-139 nice -20 to 19, 255 deadline */
	__u8 next_prio; /* priority of the one that comes */
	__u8 prev_preempted; /* 1: it was preempted, and is runnable */
};
TIPME_ASSERT(sizeof(struct tipme_sched_switch) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, next_tid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, irq_ns) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, softirq_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, prev_state) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, prev_prio) == 29);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, next_prio) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_switch, prev_preempted) == 31);

/* a thread (tid) was woken */
struct tipme_sched_waking {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 waker_tid; /* thread on this CPU at the time; who it really was, says context */
	__u32 stack_id; /* kernel stack of the sleep that ends here, where it lasted 1 ms or more; 0: none */
	__u32 raiser_tid; /* context softirq_task or softirq_mixed: the thread that raised the softirq; else 0 */
	__u16 wakee_cpu; /* CPU on which the thread had slept */
	__u8 context; /* [enum tipme_context] who woke it */
	__u8 prio; /* kernel priority of the woken thread */
};
TIPME_ASSERT(sizeof(struct tipme_sched_waking) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, waker_tid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, stack_id) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, raiser_tid) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, wakee_cpu) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, context) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sched_waking, prio) == 31);

/* a thread (tid) made another */
struct tipme_fork {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 child_tid; /* the new thread */
	__u32 child_pid; /* its process */
	__u64 child_start_ns; /* [ns] CLOCK_MONOTONIC start time: with the tid, the name of the thread for ever */
};
TIPME_ASSERT(sizeof(struct tipme_fork) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_fork, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_fork, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_fork, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_fork, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_fork, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_fork, child_tid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_fork, child_pid) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_fork, child_start_ns) == 24);

/* a thread (tid) ended */
struct tipme_exit {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* its process */
	__u32 exit_code; /* as wait(2) reports it */
	__u64 start_ns; /* [ns] its start time */
};
TIPME_ASSERT(sizeof(struct tipme_exit) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exit, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exit, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exit, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exit, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exit, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exit, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exit, exit_code) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exit, start_ns) == 24);

/* a process (tid) runs another program; its new name stands in the rename record before */
struct tipme_exec {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* its process */
	__u32 old_tid; /* tid of the calling thread before it took the place of the process leader */
	__u64 start_ns; /* [ns] its start time */
};
TIPME_ASSERT(sizeof(struct tipme_exec) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec, old_tid) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec, start_ns) == 24);

/* a thread (tid) has another name */
struct tipme_rename {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	char comm[16]; /* the new one */
};
TIPME_ASSERT(sizeof(struct tipme_rename) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_rename, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_rename, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_rename, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_rename, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_rename, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_rename, comm) == 16);

/* work was queued for a kernel worker, by this thread (tid) if context says task */
struct tipme_work_queued {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 work; /* which work item (an opaque number) */
	__u32 function; /* its function: low half of the address, named by a function record */
	__u16 cpu; /* CPU whose workers it was queued for; 65535: the workers of any */
	__u8 context; /* [enum tipme_context] who queued it */
	__u8 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_work_queued) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, work) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, function) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, cpu) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, context) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_queued, pad0) == 31);

/* a worker (tid) begins a work item */
struct tipme_work_start {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 work; /* which */
	__u32 function; /* its function */
	__u32 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_work_start) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_start, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_start, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_start, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_start, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_start, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_start, work) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_start, function) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_start, pad0) == 28);

/* a worker (tid) finished a work item */
struct tipme_work_end {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 work; /* which */
	__u32 function; /* its function */
	__u32 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_work_end) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_end, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_end, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_end, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_end, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_end, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_end, work) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_end, function) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_work_end, pad0) == 28);

/* a full look at all threads begins; thread records follow */
struct tipme_picture {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 threads; /* how many were seen */
	__u32 changed; /* how many thread records follow: those that changed since the last picture */
	__u64 end_ns; /* [ns] when the look was complete */
};
TIPME_ASSERT(sizeof(struct tipme_picture) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_picture, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_picture, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_picture, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_picture, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_picture, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_picture, threads) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_picture, changed) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_picture, end_ns) == 24);

/* one thread (tid), as a picture saw it */
struct tipme_thread {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* its process */
	__u32 ppid; /* parent process */
	__u64 start_ns; /* [ns] start time */
	__u64 since_ns; /* [ns] since when it is in this state; 0: since before recording began */
	__u32 stack_id; /* kernel stack, when blocked; 0: none */
	__u32 uid; /* real user */
	__u8 state; /* [enum tipme_task_state] what it does */
	__u8 prio; /* kernel priority */
	__u16 cpu; /* CPU on which it runs or last ran */
	__u32 flags; /* bit 0: kernel thread */
	char comm[16]; /* name */
};
TIPME_ASSERT(sizeof(struct tipme_thread) == 72);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, ppid) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, start_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, since_ns) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, stack_id) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, uid) == 44);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, state) == 48);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, prio) == 49);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, cpu) == 50);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, flags) == 52);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, comm) == 56);

/* a kernel stack, innermost frame first; the text is symbol+offset, joined by ';' */
struct tipme_stack {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 stack_id; /* as other records name it */
	__u32 frames; /* how many */
	char text[]; /* the frames */
};
TIPME_ASSERT(sizeof(struct tipme_stack) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_stack, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_stack, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_stack, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_stack, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_stack, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_stack, stack_id) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_stack, frames) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_stack, text) == 24);

/* name of a kernel function */
struct tipme_function {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 function; /* low half of its address, as in work records */
	__u32 pad0; /* 0 */
	char name[]; /* its name */
};
TIPME_ASSERT(sizeof(struct tipme_function) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_function, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_function, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_function, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_function, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_function, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_function, function) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_function, pad0) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_function, name) == 24);

/* the X server processed an event of an input device */
struct tipme_x_device {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 input_seq; /* counts device events; a delivered event names it */
	__u32 server_ms; /* [ms] time that the server put on it */
	__u32 code; /* key code, 0 unless the user asked for codes */
	__u16 device; /* the server's number of the device */
	__u8 kind; /* [enum tipme_input_kind] what happened */
	__u8 is_master; /* 1: seen again as event of the master device */
};
TIPME_ASSERT(sizeof(struct tipme_x_device) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, input_seq) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, server_ms) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, code) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, device) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, kind) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_device, is_master) == 31);

/* the X server sent an event to a client */
struct tipme_x_deliver {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* the client's process; 0: not a local one */
	__u32 window; /* event window */
	__u32 input_seq; /* the device event that it comes from; 0: none */
	__u16 client; /* the server's number of the client */
	__u8 kind; /* [enum tipme_input_kind] kind; other for events that are no input */
	__u8 x_type; /* X event type */
};
TIPME_ASSERT(sizeof(struct tipme_x_deliver) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, window) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, input_seq) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, client) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, kind) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_deliver, x_type) == 31);

/* the X server executed one request, or a run of short ones of one client */
struct tipme_x_request {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* the client's process */
	__u32 duration_ns; /* [ns] from the beginning of the first to the end of the last; 4294967295: that or more, up to the next record of this thread */
	__u16 client; /* the server's number of the client */
	__u8 major; /* opcode of the last */
	__u8 minor; /* minor opcode of the last */
	__u16 sequence; /* low half of the sequence number of the last */
	__u16 count; /* requests in the run; 0: one that was still being executed at the copy */
};
TIPME_ASSERT(sizeof(struct tipme_x_request) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, duration_ns) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, client) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, major) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, minor) == 27);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, sequence) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, count) == 30);

/* the screen changed */
struct tipme_x_damage {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* client whose request did it; 0: the server by itself */
	__u32 window; /* where */
	__u16 client; /* the server's number of the client */
	__u8 major; /* opcode of the request */
	__u8 minor; /* its minor opcode */
	__u16 width; /* [pixels] extents */
	__u16 height; /* [pixels] extents */
};
TIPME_ASSERT(sizeof(struct tipme_x_damage) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, window) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, client) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, major) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, minor) == 27);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, width) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_damage, height) == 30);

/* the X server begins to write to a client's connection */
struct tipme_x_flush {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* the client's process */
	__u16 client; /* the server's number of the client */
	__u16 pad0; /* 0 */
	__u64 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_flush) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, pad0) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, pad1) == 24);

/* the X server has nothing to do and is about to wait */
struct tipme_x_sleep {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 pad0; /* 0 */
	__u64 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_sleep) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_sleep, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_sleep, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_sleep, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_sleep, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_sleep, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_sleep, pad0) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_sleep, pad1) == 24);

/* the X server has waited */
struct tipme_x_wakeup {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 pad0; /* 0 */
	__u64 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_wakeup) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_wakeup, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_wakeup, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_wakeup, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_wakeup, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_wakeup, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_wakeup, pad0) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_wakeup, pad1) == 24);

/* the X server saw a hot-key */
struct tipme_x_chord {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 action; /* [enum tipme_chord_action] what it asks for */
	__u32 input_seq; /* its device event */
	__u64 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_chord) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_chord, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_chord, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_chord, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_chord, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_chord, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_chord, action) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_chord, input_seq) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_chord, pad0) == 24);

/* an X client came or went */
struct tipme_x_client {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* its process */
	__u16 client; /* the server's number of the client */
	__u8 state; /* [enum tipme_x_client_state] what happened */
	__u8 pad0; /* 0 */
	__u64 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_client) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, state) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, pad0) == 23);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_client, pad1) == 24);

/* an X client grabbed something, or let it go */
struct tipme_x_grab {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* its process */
	__u16 client; /* the server's number of the client */
	__u8 what; /* [enum tipme_x_grab_what] what */
	__u8 begin; /* 1: grabbed; 0: let go */
	__u64 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_grab) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, what) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, begin) == 23);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_grab, pad0) == 24);

#endif
