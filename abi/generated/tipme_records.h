/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Records of tipme, for user space, kernel and BPF; made by abi/gen-records from abi/records.def: change those, not this. */
#ifndef TIPME_RECORDS_H
#define TIPME_RECORDS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define TIPME_ASSERT(x) _Static_assert(x, #x)

#define TIPME_FORMAT_MAJOR 1
#define TIPME_FORMAT_MINOR 4
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
	TIPME_INPUT_KIND_WHEEL = 9, /* a wheel turned, or fingers scrolled */
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

/* what object of a Wayland client an input event was sent to */
enum tipme_wl_input {
	TIPME_WL_INPUT_KEYBOARD = 1, /* wl_keyboard */
	TIPME_WL_INPUT_POINTER = 2, /* wl_pointer */
	TIPME_WL_INPUT_TOUCH = 3, /* wl_touch */
	TIPME_WL_INPUT_TABLET = 4, /* zwp_tablet_tool */
	TIPME_WL_INPUT_TEXT = 5, /* zwp_text_input: text that an input method made of keys */
	TIPME_WL_INPUT_INPUT_METHOD = 6, /* the keyboard that an input method has grabbed */
	TIPME_WL_INPUT_DRAG = 7, /* wl_data_device: the pointer, while something is dragged */
};

/* what a Wayland compositor tells a client of its picture */
enum tipme_wl_told {
	TIPME_WL_TOLD_DONE = 1, /* wl_callback.done: draw the next one */
	TIPME_WL_TOLD_PRESENTED = 2, /* it was shown */
	TIPME_WL_TOLD_DISCARDED = 3, /* it was never shown */
};

/* of something that lasts */
enum tipme_phase {
	TIPME_PHASE_BEGIN = 1, /* it begins */
	TIPME_PHASE_END = 2, /* it is over */
	TIPME_PHASE_SAMPLE = 3, /* nobody saw it begin or end: so much of it since the last sample */
};

/* the way of a request through the block layer */
enum tipme_io_phase {
	TIPME_IO_PHASE_QUEUED = 1, /* a bio was handed to the block layer, by the thread tid */
	TIPME_IO_PHASE_MERGED = 2, /* a bio was merged into a request that was there before */
	TIPME_IO_PHASE_INSERTED = 3, /* a request was put into the scheduler's queue */
	TIPME_IO_PHASE_ISSUED = 4, /* a request was handed to the driver: from here on it is the device that works */
	TIPME_IO_PHASE_COMPLETED = 5, /* it is done */
	TIPME_IO_PHASE_FAILED = 6, /* it is done, with an error */
	TIPME_IO_PHASE_REQUEUED = 7, /* the driver gave it back */
};

/* what a block request does */
enum tipme_io_op {
	TIPME_IO_OP_READ = 0, /* read */
	TIPME_IO_OP_WRITE = 1, /* write */
	TIPME_IO_OP_FLUSH = 2, /* make the device's cache permanent */
	TIPME_IO_OP_DISCARD = 3, /* discard, write zeroes and other requests without data */
	TIPME_IO_OP_OTHER = 4, /* none of these */
};

/* lock that is contended */
enum tipme_lock_kind {
	TIPME_LOCK_KIND_UNKNOWN = 0, /* the kernel does not say */
	TIPME_LOCK_KIND_SPIN = 1, /* spinning lock, also of a queue of readers and writers */
	TIPME_LOCK_KIND_MUTEX = 2, /* mutex */
	TIPME_LOCK_KIND_RWSEM_READ = 3, /* semaphore for readers and writers, or a per-CPU one: asked for reading */
	TIPME_LOCK_KIND_RWSEM_WRITE = 4, /* the same, asked for writing */
	TIPME_LOCK_KIND_RT_MUTEX = 5, /* lock of a real-time kernel, or with priority inheritance */
	TIPME_LOCK_KIND_FILE = 6, /* lock of a file (fcntl, flock): owner_tid is the process that has it; no end: up to the thread's next waking */
};

/* what a thread does for memory, in its own time */
enum tipme_memory_wait_kind {
	TIPME_MEMORY_WAIT_KIND_DIRECT_RECLAIM = 1, /* looks for pages to free, since the machine has none */
	TIPME_MEMORY_WAIT_KIND_MEMCG_RECLAIM = 2, /* the same, since its memory cgroup has none */
	TIPME_MEMORY_WAIT_KIND_COMPACTION = 3, /* moves pages, to get a larger piece */
	TIPME_MEMORY_WAIT_KIND_FAULT_FILE = 4, /* a page fault reads a mapped file */
	TIPME_MEMORY_WAIT_KIND_FAULT_SWAP = 5, /* a page fault reads from swap */
	TIPME_MEMORY_WAIT_KIND_THROTTLED = 6, /* held back until reclaim has caught up */
};

/* what an interrupt record is about */
enum tipme_irq_kind {
	TIPME_IRQ_KIND_HARDIRQ = 1, /* a hardware interrupt; number is its line */
	TIPME_IRQ_KIND_SOFTIRQ = 2, /* a softirq; number is its vector */
	TIPME_IRQ_KIND_TIMER = 3, /* the local timer's interrupt */
	TIPME_IRQ_KIND_NMI = 4, /* a non-maskable interrupt */
	TIPME_IRQ_KIND_IPI = 5, /* an interrupt from another CPU */
};

/* what made a sample */
enum tipme_sample_kind {
	TIPME_SAMPLE_KIND_CLOCK = 1, /* a timer of the kernel's clock */
	TIPME_SAMPLE_KIND_CYCLES = 2, /* a counter of CPU cycles (NMI) */
	TIPME_SAMPLE_KIND_NMI_IPI = 3, /* an NMI sent by another CPU */
	TIPME_SAMPLE_KIND_TIMER_IRQ = 4, /* the latency driver's own timer interrupt: sees nothing of stretches with interrupts off */
};

/* what the kernel reported, of the lines that tipmed's own table knows */
enum tipme_kernel_message_kind {
	TIPME_KERNEL_MESSAGE_KIND_GPU_RESET = 1, /* the graphics processor hung, or was reset */
	TIPME_KERNEL_MESSAGE_KIND_GPU_FAULT = 2, /* the graphics driver reported an error of the processor or its firmware */
	TIPME_KERNEL_MESSAGE_KIND_FLIP_LATE = 3, /* a screen did not show a picture in time */
	TIPME_KERNEL_MESSAGE_KIND_DISK_TIMEOUT = 4, /* a disk did not answer a request in time, or its controller was reset */
	TIPME_KERNEL_MESSAGE_KIND_DISK_ERROR = 5, /* a disk could not read or write, or its link was reset */
	TIPME_KERNEL_MESSAGE_KIND_SPLIT_LOCK = 6, /* a process locked memory across two cache lines */
	TIPME_KERNEL_MESSAGE_KIND_CLOCK_UNSTABLE = 7, /* the clock of the CPUs was given up for a slower one */
	TIPME_KERNEL_MESSAGE_KIND_THERMAL = 8, /* a CPU was too hot and was slowed down */
	TIPME_KERNEL_MESSAGE_KIND_USB_RESET = 9, /* a USB device was reset */
	TIPME_KERNEL_MESSAGE_KIND_USB_GONE = 10, /* a USB device went */
	TIPME_KERNEL_MESSAGE_KIND_BUS_TIMEOUT = 11, /* a device at an I2C bus did not answer in time */
	TIPME_KERNEL_MESSAGE_KIND_HUNG_TASK = 12, /* a process could not be disturbed for minutes */
	TIPME_KERNEL_MESSAGE_KIND_OOM_KILL = 13, /* a process was ended for want of memory */
	TIPME_KERNEL_MESSAGE_KIND_FS_ERROR = 14, /* a file system reported an error */
	TIPME_KERNEL_MESSAGE_KIND_SERVER_GONE = 15, /* a file server does not answer */
	TIPME_KERNEL_MESSAGE_KIND_SERVER_BACK = 16, /* a file server answers again */
	TIPME_KERNEL_MESSAGE_KIND_CPU_STUCK = 17, /* a CPU did not come out of the kernel for seconds */
	TIPME_KERNEL_MESSAGE_KIND_FIRMWARE_ERROR = 18, /* the firmware of the machine (ACPI) failed or timed out */
	TIPME_KERNEL_MESSAGE_KIND_NETWORK_RESET = 19, /* a network card did not send what it was given */
	TIPME_KERNEL_MESSAGE_KIND_ALLOC_FAILED = 20, /* the kernel had no memory for a request of its own */
};

/* where the machine has its power from */
enum tipme_power_source {
	TIPME_POWER_SOURCE_MAINS = 1, /* the mains */
	TIPME_POWER_SOURCE_BATTERY = 2, /* its battery */
};

/* service that a port of the other end stands for; the port itself is not kept */
enum tipme_net_service {
	TIPME_NET_SERVICE_OTHER = 0, /* none of these */
	TIPME_NET_SERVICE_DNS = 1, /* names: DNS */
	TIPME_NET_SERVICE_LOCAL_NAMES = 2, /* names of the local network: mDNS, LLMNR */
	TIPME_NET_SERVICE_WEB = 3, /* HTTP, HTTPS, and what they go through */
	TIPME_NET_SERVICE_MAIL = 4, /* SMTP, IMAP, POP */
	TIPME_NET_SERVICE_FILES = 5, /* file server: NFS, SMB, AFP, iSCSI, rsync */
	TIPME_NET_SERVICE_DIRECTORY = 6, /* directory of users: LDAP, Kerberos */
	TIPME_NET_SERVICE_PRINT = 7, /* printer or print server: IPP, LPD */
	TIPME_NET_SERVICE_SSH = 8, /* SSH */
	TIPME_NET_SERVICE_X11 = 9, /* X server of another machine, or one that SSH brings */
	TIPME_NET_SERVICE_DESKTOP = 10, /* screen of another machine: RDP, VNC */
	TIPME_NET_SERVICE_DATABASE = 11, /* database */
};

/* how something was sent */
enum tipme_net_protocol {
	TIPME_NET_PROTOCOL_TCP = 1, /* TCP */
	TIPME_NET_PROTOCOL_UDP = 2, /* UDP */
};

/* what was done at a connection */
enum tipme_net_act {
	TIPME_NET_ACT_ASKED = 1, /* a thread sent something */
	TIPME_NET_ACT_AGAIN = 2, /* no answer came: the kernel sends the same once more */
};

/* how far away the other end is */
enum tipme_net_place {
	TIPME_NET_PLACE_UNKNOWN = 0, /* not known */
	TIPME_NET_PLACE_MACHINE = 1, /* this machine */
	TIPME_NET_PLACE_LOCAL = 2, /* an address of a local network */
	TIPME_NET_PLACE_BEYOND = 3, /* any other */
};

/* kind of input device */
enum tipme_device_class {
	TIPME_DEVICE_CLASS_OTHER = 0, /* none of these */
	TIPME_DEVICE_CLASS_KEYBOARD = 1, /* keyboard */
	TIPME_DEVICE_CLASS_POINTER = 2, /* mouse, touch pad, trackball */
	TIPME_DEVICE_CLASS_TOUCH = 3, /* touch screen or tablet */
};

/* what a message on tipmed's socket asks for or tells */
enum tipme_verb {
	TIPME_VERB_X_HELLO = 1, /* an X server, or an observer of one, offers its ring: the memory's file descriptor comes with it, arg is the display, the text its name */
	TIPME_VERB_TRIGGER = 2, /* save an episode; arg is the chord_action or 0 for a command, the text the user's words */
	TIPME_VERB_STATUS = 3, /* tell the state of the recorder; answered by a reply whose text is JSON */
	TIPME_VERB_STOP = 4, /* end recording */
	TIPME_VERB_WATCH = 5, /* from now on tell this connection of each trigger and each episode saved (triggered, saved) */
	TIPME_VERB_NOTE = 6, /* put the user's words into a saved episode; the text is its id, a newline, and the words */
	TIPME_VERB_SET = 7, /* switch record classes; the text is JSON, an object of class names and true or false; answered by a reply that tells all classes */
	TIPME_VERB_RINGS = 8, /* tell of the rings of display sources, and pass one to be read; arg is its place, or 4294967295 for the list; answered by a reply whose text is JSON, with the memory's file descriptor, open for reading, where one was asked for */
	TIPME_VERB_REPLY = 16, /* answer: arg 0 or an errno; the text is JSON, or says what went wrong */
	TIPME_VERB_SAVED = 17, /* an episode was saved, or not (arg: errno); the text is its path */
	TIPME_VERB_TRIGGERED = 18, /* a trigger was taken (arg: 0) or refused (arg: errno); the text is the episode's id, the kind of trigger and the seconds kept, a newline between them; or why not */
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
	TIPME_IO = 12,
	TIPME_LOCK_CONTENTION = 13,
	TIPME_MEMORY_WAIT = 14,
	TIPME_IRQ = 15,
	TIPME_SIGNAL = 16,
	TIPME_CPU_THROTTLE = 17,
	TIPME_PRIORITY = 18,
	TIPME_MIGRATE = 19,
	TIPME_CPU_FREQUENCY = 20,
	TIPME_CPU_IDLE = 21,
	TIPME_STEAL = 22,
	TIPME_SAMPLE = 23,
	TIPME_INPUT = 24,
	TIPME_LATENCY = 25,
	TIPME_LATENCY_USER = 26,
	TIPME_PROC_STATE = 27,
	TIPME_AFFINITY = 28,
	TIPME_NETWORK = 29,
	TIPME_PICTURE = 32,
	TIPME_THREAD = 33,
	TIPME_STACK = 34,
	TIPME_FUNCTION = 35,
	TIPME_USER_STACK = 36,
	TIPME_MODULE = 37,
	TIPME_EXEC_ARGS = 38,
	TIPME_EXEC_ENVIRONMENT = 39,
	TIPME_IRQ_NAME = 40,
	TIPME_CGROUP_NAME = 41,
	TIPME_DISK_NAME = 42,
	TIPME_PROCESS = 43,
	TIPME_INPUT_DEVICE = 44,
	TIPME_MEMORY_STATE = 45,
	TIPME_CPU_SPEED = 46,
	TIPME_KERNEL_MESSAGE = 47,
	TIPME_CGROUP_WEIGHT = 48,
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
	TIPME_X_INPUT = 74,
	TIPME_X_REPLY = 75,
	TIPME_X_OUTPUT_FULL = 76,
	TIPME_X_PRESENT = 77,
	TIPME_X_IDLE = 78,
	TIPME_X_ARRIVAL = 79,
	TIPME_X_DRAWN = 80,
	TIPME_X_TOLD = 81,
	TIPME_X_TAKEN = 82,
	TIPME_X_REDIRECT = 83,
	TIPME_X_PAINTED = 84,
	TIPME_WL_DELIVER = 96,
	TIPME_WL_COMMIT = 97,
	TIPME_WL_DONE = 98,
	TIPME_SCREEN_ASKED = 99,
	TIPME_SCREEN_SHOWN = 100,
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
	__u32 source; /* [enum tipme_source] since 1.1: x_client where the writer is an observer and server_pid the server that it observes; 0 or x_hooks: the server itself */
	char reserved0[148]; /* 0 */
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
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, source) == 104);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_ring_header, reserved0) == 108);

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
	__u32 stack_id; /* kernel stack of the sleep that ends here, where it lasted 1 ms or more, as a number of this episode; 0: none */
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
	__u64 work; /* which work item: in a ring its address, in a file a number of this episode (before 1.3: the address) */
	__u32 function; /* its function, named by a function record: in a ring the low half of its address, in a file a number of this episode (before 1.3: the low half) */
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

/* a block request on its way; tid is the thread in whose time that was: the asker only where phase is queued or merged */
struct tipme_io {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 sector; /* first sector (of 512 bytes); with dev, the name of the request */
	__u32 dev; /* device: major << 20 | minor */
	__u16 sectors; /* length in sectors; 65535: that or more */
	__u8 op; /* [enum tipme_io_op] what it does */
	__u8 phase; /* [enum tipme_io_phase] where it is */
};
TIPME_ASSERT(sizeof(struct tipme_io) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, sector) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, dev) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, sectors) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, op) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_io, phase) == 31);

/* a thread (tid) begins or ends to wait for a kernel lock that is taken */
struct tipme_lock_contention {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 lock; /* which lock: in a ring its address, in a file a number of this episode (before 1.3: the address) */
	__u32 owner_tid; /* begin: who held it, where the kind of lock tells; 0: not known */
	__u16 error; /* end: errno, where it did not get the lock */
	__u8 kind; /* [enum tipme_lock_kind] kind of lock */
	__u8 phase; /* [enum tipme_phase] begin or end */
};
TIPME_ASSERT(sizeof(struct tipme_lock_contention) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, lock) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, owner_tid) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, error) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, kind) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_lock_contention, phase) == 31);

/* a thread (tid) begins or ends to wait or work for memory */
struct tipme_memory_wait {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 amount; /* [pages] end: freed, moved or read; begin: wanted; 0: not known */
	__u32 duration_ns; /* [ns] end: how long it was; 4294967295: that or more; 0: not known */
	__u16 pad0; /* 0 */
	__u8 kind; /* [enum tipme_memory_wait_kind] for what */
	__u8 phase; /* [enum tipme_phase] begin or end */
};
TIPME_ASSERT(sizeof(struct tipme_memory_wait) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, amount) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, duration_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, pad0) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, kind) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_wait, phase) == 31);

/* an interrupt or softirq lasted longer than the threshold (default 100 us); tid is the thread that it interrupted */
struct tipme_irq {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 duration_ns; /* [ns] net of what interrupted it in turn; 4294967295: that or more */
	__u32 number; /* line or vector; irq_name records name lines */
	__u32 raiser_tid; /* softirq: the thread that raised it in its own call; 0: none */
	__u16 pad0; /* 0 */
	__u8 kind; /* [enum tipme_irq_kind] what it was */
	__u8 context; /* [enum tipme_context] softirq: who had raised it */
};
TIPME_ASSERT(sizeof(struct tipme_irq) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, duration_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, number) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, raiser_tid) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, pad0) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, kind) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq, context) == 31);

/* a signal that stops, continues or ends was sent to a thread (tid) */
struct tipme_signal {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 sender_tid; /* thread on this CPU; the sender where context says task */
	__u32 pid; /* process of the receiver */
	__u16 signal; /* number */
	__u8 context; /* [enum tipme_context] who sent it */
	__u8 result; /* 0: delivered; else why not, as the kernel counts: 1 ignored, 2 pending already, 3 overflow, 4 lost */
	__u32 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_signal) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, sender_tid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, pid) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, signal) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, context) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, result) == 27);
TIPME_ASSERT(__builtin_offsetof(struct tipme_signal, pad0) == 28);

/* a cgroup ran out of its CPU quota, or got it back */
struct tipme_cpu_throttle {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 cgroup; /* id of the cgroup; a cgroup_name record names it */
	__u32 throttled_us; /* [us] sample: throttled since the last sample (sum over its CPUs); end: on this CPU */
	__u16 cpu; /* begin, end: whose run queue; 65535: all */
	__u8 phase; /* [enum tipme_phase] begin and end are exact; sample comes from cpu.stat */
	__u8 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_cpu_throttle) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, cgroup) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, throttled_us) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, cpu) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, phase) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_throttle, pad0) == 31);

/* the priority of a thread (tid) changed */
struct tipme_priority {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 changer_tid; /* who changed it; inherited: the waiter that lends its priority, 0 when it takes it back */
	__u8 old_prio; /* kernel priority before */
	__u8 new_prio; /* kernel priority from now on */
	__u8 inherited; /* 1: by priority inheritance */
	__u8 policy; /* scheduling policy from now on; 255: not known */
	__u64 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_priority) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, changer_tid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, old_prio) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, new_prio) == 21);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, inherited) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, policy) == 23);
TIPME_ASSERT(__builtin_offsetof(struct tipme_priority, pad0) == 24);

/* a runnable or sleeping thread (tid) was moved to another CPU */
struct tipme_migrate {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u16 from_cpu; /* CPU */
	__u16 to_cpu; /* CPU */
	__u32 mover_tid; /* thread on this CPU at the time */
	__u64 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_migrate) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, from_cpu) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, to_cpu) == 18);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, mover_tid) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_migrate, pad0) == 24);

/* a CPU changed its frequency; tid is 0 */
struct tipme_cpu_frequency {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 khz; /* [kHz] from now on */
	__u16 cpu; /* CPU */
	__u16 pad0; /* 0 */
	__u64 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_cpu_frequency) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, khz) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, cpu) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, pad0) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_frequency, pad1) == 24);

/* a CPU left an idle state deeper than the threshold; tid is 0, the time that of waking up */
struct tipme_cpu_idle {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 idle_ns; /* [ns] how long it was idle; 4294967295: that or more */
	__u32 exit_latency_ns; /* [ns] what the kernel says that leaving this state takes; 0: not known */
	__u16 state; /* index of the state; state 0 is the shallowest */
	__u16 cpu; /* CPU */
	__u32 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_cpu_idle) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, idle_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, exit_latency_ns) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, state) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, cpu) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_idle, pad0) == 28);

/* the host of this virtual machine took a CPU away; tid is the thread that seemed to run */
struct tipme_steal {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 steal_ns; /* [ns] since the last steal record of this CPU; 4294967295: that or more */
	__u16 cpu; /* CPU */
	__u16 pad0; /* 0 */
	__u64 since_ns; /* [ns] when that last look was */
};
TIPME_ASSERT(sizeof(struct tipme_steal) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, steal_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, cpu) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, pad0) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_steal, since_ns) == 24);

/* what a CPU was doing: a thread (tid) was on it */
struct tipme_sample {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 kernel_stack_id; /* kernel stack; 0: none */
	__u32 user_stack_id; /* user stack; 0: none */
	__u32 period_us; /* [us] time for which the sample stands */
	__u16 cpu; /* CPU */
	__u8 kind; /* [enum tipme_sample_kind] what made it */
	__u8 context; /* [enum tipme_context] what was interrupted */
};
TIPME_ASSERT(sizeof(struct tipme_sample) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, kernel_stack_id) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, user_stack_id) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, period_us) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, cpu) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, kind) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_sample, context) == 31);

/* an input device told the kernel of an event; tid is the thread that was interrupted */
struct tipme_input {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 code; /* key code, 0 unless the user asked for codes */
	__u16 device; /* number of the device: eventN */
	__u8 kind; /* [enum tipme_input_kind] what happened */
	__u8 class; /* [enum tipme_device_class] kind of device */
	__u64 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_input) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, code) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, device) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, kind) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, class) == 23);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input, pad0) == 24);

/* the latency driver's timer of one CPU, one expiry (the time of the record); each stage from the end of the one before */
struct tipme_latency {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 irq_ns; /* [ns] expiry to first instruction of its handler */
	__u32 deferred_ns; /* [ns] from there to the deferred work */
	__u32 thread_ns; /* [ns] from waking it in deferred work to the kernel thread named by priority */
	__u16 cpu; /* CPU */
	__u8 rt_priority; /* 1 to 99: SCHED_FIFO priority of the kernel thread */
	__u8 over; /* 1: over the threshold, so that a trigger was asked for */
};
TIPME_ASSERT(sizeof(struct tipme_latency) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, irq_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, deferred_ns) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, thread_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, cpu) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, rt_priority) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency, over) == 31);

/* the same, for the thread in user space (tid) */
struct tipme_latency_user {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 user_ns; /* [ns] from waking it to its first instruction after the system call */
	__u16 cpu; /* CPU */
	__u8 rt_priority; /* 1 to 99: SCHED_FIFO; 0: other */
	__u8 over; /* 1: over the threshold */
	__u64 expiry_ns; /* [ns] the timer's expiry, by which it belongs to a latency record */
};
TIPME_ASSERT(sizeof(struct tipme_latency_user) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, user_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, cpu) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, rt_priority) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, over) == 23);
TIPME_ASSERT(__builtin_offsetof(struct tipme_latency_user, expiry_ns) == 24);

/* a thread (tid) as /proc showed it, 20 ms apart; written where something changed */
struct tipme_proc_state {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 run_ns; /* [ns] ran since its last record; 4294967295: that or more */
	__u32 wait_ns; /* [ns] was runnable since its last record; 4294967295: that or more */
	__u32 stack_id; /* wait channel, as a stack of one frame; 0: none */
	__u16 cpu; /* CPU on which it last ran */
	__u8 state; /* [enum tipme_task_state] what it does */
	__u8 prio; /* kernel priority */
};
TIPME_ASSERT(sizeof(struct tipme_proc_state) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, run_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, wait_ns) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, stack_id) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, cpu) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, state) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_proc_state, prio) == 31);

/* the CPUs on which a thread (tid) may run were changed */
struct tipme_affinity {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 cpus_allowed; /* CPUs 0 to 63 on which it may run from now on, bit by bit */
	__u32 changer_tid; /* who changed it; 0: not known */
	__u32 within_ns; /* [ns] 0: now; else at some time in so long before, seen by comparing two pictures of all threads */
};
TIPME_ASSERT(sizeof(struct tipme_affinity) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_affinity, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_affinity, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_affinity, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_affinity, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_affinity, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_affinity, cpus_allowed) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_affinity, changer_tid) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_affinity, within_ns) == 28);

/* a thread (tid) sent something over the network to a service; of one that sends often one each 10 ms; no address, no port */
struct tipme_network {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 socket; /* which connection: in a ring its address, in a file a number of this episode */
	__u32 bytes; /* [bytes] length of that packet, or what was given to it; 0: a connection begins */
	__u8 service; /* [enum tipme_net_service] to what */
	__u8 protocol; /* [enum tipme_net_protocol] how */
	__u8 act; /* [enum tipme_net_act] again: tid is the thread that had sent there last, 0: not known */
	__u8 place; /* [enum tipme_net_place] how far away */
};
TIPME_ASSERT(sizeof(struct tipme_network) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, socket) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, bytes) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, service) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, protocol) == 29);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, act) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_network, place) == 31);

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
	__u64 cgroup; /* since 1.1: id of its CPU or unified cgroup, named by a cgroup_name record; 0: not known */
	__u64 cpus_allowed; /* since 1.1: CPUs 0 to 63 on which it may run, bit by bit; 0: not known */
	__u32 ns_tid; /* since 1.1: its tid in its own PID namespace; 0: the same or not known */
	__u32 rss_kib; /* [KiB] since 1.1: resident memory of its process; 0: not known */
	__u64 run_ns; /* [ns] since 1.1: CPU time that it has used since its start; 0: not known */
};
TIPME_ASSERT(sizeof(struct tipme_thread) == 104);
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
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, cgroup) == 72);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, cpus_allowed) == 80);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, ns_tid) == 88);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, rss_kib) == 92);
TIPME_ASSERT(__builtin_offsetof(struct tipme_thread, run_ns) == 96);

/* a kernel stack, innermost frame first; the text is symbol+offset, joined by ';'; of a sleeper's with more than 16 frames the innermost ten, '...', and the outermost five */
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
	__u32 function; /* as work records name it */
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

/* a user stack, innermost frame first: symbol+offset or +offset, each with its [module id], joined by ';' */
struct tipme_user_stack {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 stack_id; /* as samples name it */
	__u32 frames; /* how many */
	char text[]; /* the frames */
};
TIPME_ASSERT(sizeof(struct tipme_user_stack) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_user_stack, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_user_stack, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_user_stack, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_user_stack, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_user_stack, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_user_stack, stack_id) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_user_stack, frames) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_user_stack, text) == 24);

/* a program, library or kernel module in which code ran */
struct tipme_module {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 module_id; /* as stacks name it, in square brackets; 0 is the kernel */
	__u32 pid; /* a process that had it mapped */
	char build_id[40]; /* in hexadecimal; empty: it has none */
	char path[]; /* file, or [vdso], or a kernel module's name */
};
TIPME_ASSERT(sizeof(struct tipme_module) == 64);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, module_id) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, pid) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, build_id) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_module, path) == 64);

/* what a process was called with */
struct tipme_exec_args {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* process; with start_ns its name for ever */
	__u32 total_len; /* [bytes] length of all arguments; the text may be shorter */
	__u64 start_ns; /* [ns] its start time */
	__u32 uid; /* whose arguments these are: shown to root and to that user only */
	__u32 count; /* arguments in the text; more were cut */
	char text[]; /* the arguments, joined by newlines; control characters stand as ? */
};
TIPME_ASSERT(sizeof(struct tipme_exec_args) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, total_len) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, start_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, uid) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, count) == 36);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_args, text) == 40);

/* the allowed part of the environment of a process (or all of it, with --record-environment) */
struct tipme_exec_environment {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* process */
	__u32 uid; /* whose */
	__u64 start_ns; /* [ns] its start time */
	char text[]; /* NAME=value, joined by newlines; control characters stand as ?; a text too long for one record goes on in the next of the same ts_ns, pid and start_ns; a last line (cut: ...) says how much was looked at */
};
TIPME_ASSERT(sizeof(struct tipme_exec_environment) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, uid) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, start_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_exec_environment, text) == 32);

/* an interrupt line */
struct tipme_irq_name {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 number; /* line */
	__u32 pad0; /* 0 */
	char name[]; /* devices that use it, as /proc/interrupts says */
};
TIPME_ASSERT(sizeof(struct tipme_irq_name) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq_name, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq_name, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq_name, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq_name, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq_name, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq_name, number) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq_name, pad0) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_irq_name, name) == 24);

/* a cgroup */
struct tipme_cgroup_name {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 cgroup; /* its id */
	__u32 quota_us; /* [us] CPU quota for each period; 0: none */
	__u32 period_us; /* [us] the period; 0: none */
	char path[]; /* path below the root of its hierarchy */
};
TIPME_ASSERT(sizeof(struct tipme_cgroup_name) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, cgroup) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, quota_us) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, period_us) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_name, path) == 32);

/* a block device */
struct tipme_disk_name {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 dev; /* device: major << 20 | minor, as io records name it */
	__u32 rotational; /* 1: a spinning disk */
	char name[]; /* sda, nvme0n1, ... */
};
TIPME_ASSERT(sizeof(struct tipme_disk_name) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_disk_name, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_disk_name, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_disk_name, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_disk_name, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_disk_name, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_disk_name, dev) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_disk_name, rotational) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_disk_name, name) == 24);

/* a process that is gone, or will be: what its threads' records do not say */
struct tipme_process {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* process */
	__u32 ppid; /* parent */
	__u64 start_ns; /* [ns] start time */
	__u64 exit_ns; /* [ns] when it ended; 0: it had not */
	__u32 uid; /* real user */
	__u32 exit_code; /* as wait(2) reports it */
	char exe[]; /* file that it ran; empty: not known */
};
TIPME_ASSERT(sizeof(struct tipme_process) == 48);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, ppid) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, start_ns) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, exit_ns) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, uid) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, exit_code) == 44);
TIPME_ASSERT(__builtin_offsetof(struct tipme_process, exe) == 48);

/* an input device */
struct tipme_input_device {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u16 device; /* number: eventN */
	__u8 class; /* [enum tipme_device_class] kind */
	__u8 pad0; /* 0 */
	__u32 pad1; /* 0 */
	char name[]; /* as the kernel names it */
};
TIPME_ASSERT(sizeof(struct tipme_input_device) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, device) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, class) == 18);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, pad0) == 19);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, pad1) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_input_device, name) == 24);

/* the machine's memory, as /proc tells it, about once a second; tid is 0 */
struct tipme_memory_state {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 since_ns; /* [ns] when it was looked at before; 0: never */
	__u32 total_kib; /* [KiB] all memory; 4294967295 here and below: that or more */
	__u32 available_kib; /* [KiB] what programs could still have without swapping */
	__u32 swap_total_kib; /* [KiB] all swap space */
	__u32 swap_free_kib; /* [KiB] free swap space */
	__u32 dirty_kib; /* [KiB] written by programs, and not yet on its way to a disk */
	__u32 writeback_kib; /* [KiB] on its way to a disk */
	__u32 some_us; /* [us] since then some thread waited for memory (PSI); 4294967295: not known */
	__u32 full_us; /* [us] since then all threads waited for memory (PSI); 4294967295: not known */
	__u32 io_full_us; /* [us] since then all threads waited for disks (PSI); 4294967295: not known */
	__u32 swapped_in; /* pages read back since then */
	__u32 swapped_out; /* pages swapped out since then */
	__u32 major_faults; /* page faults since then that had to read */
	__u32 compactions; /* since then threads moved pages to get a larger piece */
	__u32 oom_kills; /* processes that were ended since then for want of memory */
};
TIPME_ASSERT(sizeof(struct tipme_memory_state) == 80);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, since_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, total_kib) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, available_kib) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, swap_total_kib) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, swap_free_kib) == 36);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, dirty_kib) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, writeback_kib) == 44);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, some_us) == 48);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, full_us) == 52);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, io_full_us) == 56);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, swapped_in) == 60);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, swapped_out) == 64);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, major_faults) == 68);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, compactions) == 72);
TIPME_ASSERT(__builtin_offsetof(struct tipme_memory_state, oom_kills) == 76);

/* how fast a CPU may run and did, looked at each second, told where it changed; tid is 0 */
struct tipme_cpu_speed {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 khz; /* [kHz] what it runs at; 0: not known */
	__u32 limit_khz; /* [kHz] what it may run at now; 0: not known */
	__u32 max_khz; /* [kHz] what it could run at; 0: not known */
	__u16 throttled; /* how often heat or power slowed it down since the record before; 65535: that or more */
	__u16 cpu; /* CPU */
	__u8 power; /* [enum tipme_power_source] where the machine has its power from; 0: not known */
	__u8 pad0; /* 0 */
	__u16 pad1; /* 0 */
	__u32 pad2; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_cpu_speed) == 40);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, khz) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, limit_khz) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, max_khz) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, throttled) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, cpu) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, power) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, pad0) == 33);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, pad1) == 34);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cpu_speed, pad2) == 36);

/* the kernel reported something that tipmed's table knows; its text is not kept; tid is 0 */
struct tipme_kernel_message {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 number; /* the number that the message has: a process, an error; 0: none */
	__u16 kind; /* [enum tipme_kernel_message_kind] what */
	__u16 severity; /* 0 emergency to 7 debug, as syslog(3) counts */
	char device[24]; /* the device as the kernel calls it, without what is not a letter, digit or . : - _ */
};
TIPME_ASSERT(sizeof(struct tipme_kernel_message) == 48);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, number) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, kind) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, severity) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_kernel_message, device) == 24);

/* how much of the CPUs a cgroup gets beside others of the same parent, where that is not what all get at first; of a root always */
struct tipme_cgroup_weight {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 cgroup; /* its id; a cgroup_name record names it */
	__u32 weight; /* cpu.weight or cpu.shares; 1000 is what all get at first; 0: none, its threads stand beside those of the group above */
	__u32 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_cgroup_weight) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_weight, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_weight, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_weight, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_weight, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_weight, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_weight, cgroup) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_weight, weight) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_cgroup_weight, pad0) == 28);

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

/* the X server sent an event to a client; of a row of one type that is written at once (exposures), the first */
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
	__u64 duration_ns; /* [ns] since 1.1: how long it wrote (servers with our patch only); 0: not known */
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
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_flush, duration_ns) == 24);

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

/* the X server's input thread read an event from the kernel; tid is that thread */
struct tipme_x_input {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 kernel_ns; /* [ns] time that the kernel put on it */
	__u32 code; /* key code, 0 unless the user asked for codes */
	__u16 device; /* number of the device in the kernel: eventN; 65535: not known */
	__u8 kind; /* [enum tipme_input_kind] what happened */
	__u8 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_input) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, kernel_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, code) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, device) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, kind) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_input, pad0) == 31);

/* the X server answered a client's request */
struct tipme_x_reply {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* the client's process */
	__u32 bytes; /* [bytes] length of the answer */
	__u16 client; /* the server's number of the client */
	__u16 sequence; /* low half of the sequence number of the request */
	__u8 major; /* opcode of the request */
	__u8 minor; /* its minor opcode */
	__u8 error; /* 0: a reply; else the X error's code */
	__u8 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_reply) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, bytes) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, client) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, sequence) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, major) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, minor) == 29);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, error) == 30);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_reply, pad0) == 31);

/* the connection to a client takes no more: it does not read what the server sends */
struct tipme_x_output_full {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* the client's process */
	__u16 client; /* the server's number of the client */
	__u8 phase; /* [enum tipme_phase] begin or end */
	__u8 pad0; /* 0 */
	__u64 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_output_full) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, phase) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, pad0) == 23);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_output_full, pad1) == 24);

/* a window's new picture was shown, or a client's request to show one arrived */
struct tipme_x_present {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* client that had asked */
	__u32 window; /* window */
	__u16 client; /* the server's number of the client */
	__u8 phase; /* [enum tipme_phase] begin: asked for; end: on the screen */
	__u8 mode; /* end: 0 copied, 1 flipped, 2 skipped */
	__u32 serial; /* the client's serial number */
};
TIPME_ASSERT(sizeof(struct tipme_x_present) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, window) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, client) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, phase) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, mode) == 27);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_present, serial) == 28);

/* the X server had nothing to do; what x_sleep and x_wakeup say, in one */
struct tipme_x_idle {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u64 duration_ns; /* [ns] how long it waited */
	__u32 flushed; /* clients to whose connections it wrote just before */
	__u32 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_idle) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_idle, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_idle, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_idle, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_idle, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_idle, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_idle, duration_ns) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_idle, flushed) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_idle, pad0) == 28);

/* the X server read requests from a client's connection (servers with our patch only) */
struct tipme_x_arrival {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* the client's process */
	__u32 bytes; /* [bytes] how much lay there */
	__u16 client; /* the server's number of the client */
	__u16 pad0; /* 0 */
	__u32 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_arrival) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, bytes) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, client) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, pad0) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_arrival, pad1) == 28);

/* a client drew into a window whose picture a compositor has to bring to the screen; instead of x_damage; its process is that of the client */
struct tipme_x_drawn {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 window; /* the window with a pixmap of its own: often the frame round the client's window */
	__u16 client; /* the server's number of the client; 0: the server by itself */
	__u8 major; /* opcode of the request */
	__u8 minor; /* its minor opcode */
	__u16 x; /* [pixels] extents of what changed, on the screen and within it */
	__u16 y; /* [pixels] extents */
	__u16 width; /* [pixels] extents; 0: nothing of it lies on the screen */
	__u16 height; /* [pixels] extents */
};
TIPME_ASSERT(sizeof(struct tipme_x_drawn) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, window) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, major) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, minor) == 23);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, x) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, y) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, width) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_drawn, height) == 30);

/* the X server told a client that a drawable was damaged (DamageNotify); instead of x_deliver */
struct tipme_x_told {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* the client that was told; 0: not a local one */
	__u32 drawable; /* window or pixmap */
	__u32 damage; /* the client's damage object */
	__u16 client; /* the server's number of the client */
	__u16 by_client; /* the server's number of the client whose request did it; 0: none */
};
TIPME_ASSERT(sizeof(struct tipme_x_told) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, drawable) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, damage) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, client) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_told, by_client) == 30);

/* a client took over what was damaged (DamageSubtract); written before the request is executed */
struct tipme_x_taken {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* its process */
	__u32 damage; /* its damage object */
	__u16 client; /* the server's number of the client */
	__u16 pad0; /* 0 */
	__u32 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_taken) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, damage) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, client) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, pad0) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_taken, pad1) == 28);

/* a window draws into a pixmap of its own from now on, or with the others again */
struct tipme_x_redirect {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 window; /* window */
	__u16 x; /* [pixels] where it lies, on the screen and within it */
	__u16 y; /* [pixels] extents */
	__u16 width; /* [pixels] extents; 0: outside of the screen */
	__u16 height; /* [pixels] extents */
	__u8 begin; /* 1: of its own; 0: with the others */
	__u8 pad0; /* 0 */
	__u16 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_x_redirect) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, window) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, x) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, y) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, width) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, height) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, begin) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, pad0) == 29);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_redirect, pad1) == 30);

/* the screen's own picture changed while windows have pixmaps of their own; instead of x_damage of the root window */
struct tipme_x_painted {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* client whose request did it; 0: the server by itself */
	__u16 client; /* the server's number of the client */
	__u8 major; /* opcode of the request */
	__u8 minor; /* its minor opcode */
	__u16 x; /* [pixels] extents of what changed */
	__u16 y; /* [pixels] extents */
	__u16 width; /* [pixels] extents */
	__u16 height; /* [pixels] extents */
};
TIPME_ASSERT(sizeof(struct tipme_x_painted) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, major) == 22);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, minor) == 23);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, x) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, y) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, width) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_painted, height) == 30);

/* a Wayland compositor (tid is its thread) sent a client an input event; never which key */
struct tipme_wl_deliver {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* process that connected the client, as the kernel told the compositor; the compositor's own where that made the connection */
	__u32 client; /* stands for the client, as long as it is connected: a hash of its address in the compositor */
	__u32 object; /* the client's number of its keyboard, pointer ... */
	__u8 kind; /* [enum tipme_input_kind] what happened */
	__u8 what; /* [enum tipme_wl_input] what it was sent to */
	__u16 age_ms; /* [ms] how long ago its device told of it, by the time that the compositor tells the client; 0: less than 5 ms, more than a minute, or no time of this clock */
};
TIPME_ASSERT(sizeof(struct tipme_wl_deliver) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, object) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, kind) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, what) == 29);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_deliver, age_ms) == 30);

/* a Wayland compositor (tid is its thread) took a new picture of a surface from a client */
struct tipme_wl_commit {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* as in wl_deliver */
	__u32 client; /* as in wl_deliver */
	__u32 surface; /* the client's number of the surface */
	__u32 callback; /* the client's number of the callback that it asked for with this picture; 0: none */
};
TIPME_ASSERT(sizeof(struct tipme_wl_commit) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, surface) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_commit, callback) == 28);

/* a Wayland compositor (tid is its thread) told a client what became of its picture */
struct tipme_wl_done {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* as in wl_deliver */
	__u32 client; /* as in wl_deliver */
	__u32 callback; /* the client's number of the callback or feedback object */
	__u8 what; /* [enum tipme_wl_told] what it told */
	__u8 pad0; /* 0 */
	__u16 pad1; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_wl_done) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, client) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, callback) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, what) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, pad0) == 29);
TIPME_ASSERT(__builtin_offsetof(struct tipme_wl_done, pad1) == 30);

/* a program (tid) asked the kernel to show another picture on a screen, and to be told when it does */
struct tipme_screen_asked {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* its process */
	__u32 number; /* counts what was asked through one opened graphics device, from 1 on */
	__u32 crtc; /* identity of the part of the graphics device that feeds the screen; 0: the request may be for several (atomic) */
	__u32 pad0; /* 0 */
};
TIPME_ASSERT(sizeof(struct tipme_screen_asked) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, number) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, crtc) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_asked, pad0) == 28);

/* the kernel tells a program that a screen shows what it asked for; tid is the thread that was interrupted */
struct tipme_screen_shown {
	__u64 ts_ns; /* [ns] CLOCK_MONOTONIC; the beginning, where a record has a duration */
	__u8 type; /* record number */
	__u8 len8; /* length of the whole record in units of 8 bytes (2 to 255) */
	__u16 gen; /* in a ring: low bits of the slot's generation, by which a reader knows a whole slot; 0 in files */
	__u32 tid; /* the thread that the record is about */
	__u32 pid; /* process that asked; 0: it had asked before it was recorded */
	__u32 number; /* of what was asked last through the same opened graphics device (screen_asked) */
	__u32 pipe; /* which of the graphics device's screens, from 0 on */
	__u32 sequence; /* counts the refreshes of that screen; 0: it has none of its own */
};
TIPME_ASSERT(sizeof(struct tipme_screen_shown) == 32);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, ts_ns) == 0);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, type) == 8);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, len8) == 9);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, gen) == 10);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, tid) == 12);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, pid) == 16);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, number) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, pipe) == 24);
TIPME_ASSERT(__builtin_offsetof(struct tipme_screen_shown, sequence) == 28);

#endif
