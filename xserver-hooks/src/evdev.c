// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands between the input drivers and libevdev: Xorg loads this module before them, and for all to
 * see, so their calls of libevdev_next_event() come here first.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/input.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "evdev.h"
#include "join.h"
#include "link.h"
#include "xclock.h"

#define EXPORT __attribute__((visibility("default")))

#define RING_KIB 2048
#define EVDEV_MAJOR 13
#define EVDEV_MINOR_BASE 64
#define EVDEV_MINORS 32
#define DEVICE_UNKNOWN 65535
/* X key codes begin with 8. */
#define KEYCODE_BASE 8
/* A time stamp that old is of another clock. */
#define STAMP_AGE_MAX_NS 3600000000000LL
/* The same press as the main thread sees it has the time of its reading, in ms. */
#define FIRED_NEAR_MS 100

/* As libevdev.h has them. */
enum { READ_STATUS_SUCCESS = 0 };
typedef int (*next_event_proc)(void *, unsigned, struct input_event *);
typedef int (*get_fd_proc)(const void *);

static struct {
	_Atomic(next_event_proc) next_event;
	_Atomic(get_fd_proc) get_fd;
} libevdev;

/*
 * A layout as the input thread knows it: for each key the modifiers it sets and, for each chord, 1
 * + its level.
 */
struct layout_key {
	_Atomic uint8_t modifiers;
	_Atomic uint8_t level[TIPME_HOTKEY_ACTIONS];
};

static struct {
	_Atomic bool on;
	_Atomic bool no_input;
	_Atomic int owner; /* the input thread; 0: it has read nothing yet */
	struct tipme_xring ring;
	struct tipme_xclock clock; /* owner's */
	struct tipme_hotkey hotkey; /* owner's, but for the chords */
	struct tipme_join motion; /* owner's */
	struct layout_key key[256];
	_Atomic uint32_t fired_ms[TIPME_HOTKEY_ACTIONS]; /* 0: not yet */
} thread;

static __thread int own_tid;

/* ---- the real library ---- */

static next_event_proc real_next_event(void)
{
	next_event_proc next_event = libevdev.next_event;
	void *lib;

	if (next_event)
		return next_event;
	/* Whoever calls us has loaded it. */
	lib = dlopen("libevdev.so.2", RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		return NULL;
	libevdev.get_fd = (get_fd_proc)dlsym(lib, "libevdev_get_fd");
	next_event = (next_event_proc)dlsym(lib, "libevdev_next_event");
	libevdev.next_event = next_event;
	return next_event;
}

/* N of eventN, from the numbers that the kernel gives them. */
static uint16_t device_number(const void *dev)
{
	get_fd_proc get_fd = libevdev.get_fd;
	struct stat st;
	unsigned n;

	if (!get_fd || fstat(get_fd(dev), &st) || !S_ISCHR(st.st_mode) ||
	    major(st.st_rdev) != EVDEV_MAJOR)
		return DEVICE_UNKNOWN;
	n = minor(st.st_rdev);
	return (uint16_t)(n < EVDEV_MINOR_BASE + EVDEV_MINORS ? n - EVDEV_MINOR_BASE : n);
}

/* The last device read from; a driver reads all of one before it reads another. */
static uint16_t device_of(const void *dev)
{
	static __thread const void *last;
	static __thread uint16_t number;

	if (dev != last) {
		number = device_number(dev);
		last = dev;
	}
	return number;
}

/* ---- records ---- */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * libinput has the kernel stamp events with CLOCK_MONOTONIC, others with the time of day. 0: with
 * neither.
 */
static uint64_t stamp_ns(const struct input_event *ev, uint64_t now_ns)
{
	int64_t stamp =
		(int64_t)ev->input_event_sec * 1000000000 + (int64_t)ev->input_event_usec * 1000;
	int64_t age = (int64_t)now_ns - stamp;

	if (age < 0 || age > STAMP_AGE_MAX_NS) {
		stamp -= clock_ns(CLOCK_REALTIME) - (int64_t)now_ns;
		age = (int64_t)now_ns - stamp;
	}
	/* Stamps are cut to microseconds, and the two clocks were read one after the other. */
	return age > -1000000 && age <= STAMP_AGE_MAX_NS
		       ? (uint64_t)(age < 0 ? (int64_t)now_ns : stamp)
		       : 0;
}

static uint8_t kind_of_key(unsigned code, int value)
{
	bool button = code >= BTN_MISC && code < KEY_OK;

	if (code >= BTN_DIGI && code < BTN_WHEEL)
		return code == BTN_TOUCH ? TIPME_INPUT_KIND_TOUCH : TIPME_INPUT_KIND_OTHER;
	if (value == 2)
		return TIPME_INPUT_KIND_KEY_REPEAT;
	if (button)
		return value ? TIPME_INPUT_KIND_BUTTON_PRESS : TIPME_INPUT_KIND_BUTTON_RELEASE;
	return value ? TIPME_INPUT_KIND_KEY_PRESS : TIPME_INPUT_KIND_KEY_RELEASE;
}

/* 0: nothing that has a record. */
static uint8_t kind_of(const struct input_event *ev)
{
	switch (ev->type) {
	case EV_KEY: return kind_of_key(ev->code, ev->value);
	case EV_REL: return TIPME_INPUT_KIND_MOTION;
	case EV_ABS:
		return ev->code >= ABS_MT_SLOT ? TIPME_INPUT_KIND_TOUCH : TIPME_INPUT_KIND_MOTION;
	}
	return 0;
}

/* A movement is several events, one for each axis, up to a report: one record will do. */
static bool is_more_of_it(uint8_t kind, uint16_t type)
{
	static __thread uint8_t in_report;
	bool more = kind == in_report && type != EV_KEY;

	in_report = kind;
	return more;
}

static void input_record(const void *dev, const struct input_event *ev, uint8_t kind,
			 uint64_t now_ns)
{
	struct tipme_x_input rec = {
		.ts_ns = now_ns,
		.type = TIPME_X_INPUT,
		.kernel_ns = stamp_ns(ev, now_ns),
		.device = device_of(dev),
		.kind = kind,
	};

	if (kind == TIPME_INPUT_KIND_MOTION)
		tipme_join_put(&thread.motion, &thread.ring, 1 + rec.device, &rec);
	else
		tipme_xring_put(&thread.ring, &rec);
}

/* ---- hot-key ---- */

static uint8_t table_modifiers(void *arg, uint8_t keycode)
{
	return thread.key[keycode].modifiers;
}

/* The symbol tells which of the chords is meant. */
static int table_level(void *arg, uint8_t keycode, uint32_t keysym)
{
	for (int action = 1; action < TIPME_HOTKEY_ACTIONS; action++)
		if (thread.hotkey.chord[action].keysym == keysym)
			return thread.key[keycode].level[action] - 1;
	return -1;
}

static void chord_act(uint8_t action, uint64_t now_ns)
{
	struct tipme_x_chord rec = { .ts_ns = now_ns, .type = TIPME_X_CHORD, .action = action };

	tipme_xring_put(&thread.ring, &rec);
	thread.ring.header->chords++;
	thread.fired_ms[action] = (uint32_t)(now_ns / 1000000) | 1;
	if (action == TIPME_CHORD_ACTION_NO_INPUT || action == TIPME_CHORD_ACTION_DEFAULT_INPUT)
		thread.no_input = action == TIPME_CHORD_ACTION_NO_INPUT;
	else
		tipme_link_trigger(action);
}

static void follow_key(const void *dev, const struct input_event *ev, uint64_t now_ns)
{
	static const struct tipme_hotkey_layout layout = { table_modifiers, table_level, NULL };
	unsigned keycode = ev->code + KEYCODE_BASE;

	if (ev->value == 2 || keycode > 255)
		return;
	if (tipme_hotkey_feed(&thread.hotkey, &layout, device_of(dev) & 255, (uint8_t)keycode,
			      ev->value != 0) == TIPME_HOTKEY_FIRE)
		chord_act(thread.hotkey.action, now_ns);
}

/* ---- the call ---- */

/*
 * The first thread that reads and is not the main one; that one reads when a device is opened, and
 * not for long.
 */
static bool is_owner(void)
{
	int none = 0;

	if (!own_tid)
		own_tid = gettid();
	if (thread.owner == own_tid)
		return true;
	if (own_tid == getpid() || !atomic_compare_exchange_strong(&thread.owner, &none, own_tid))
		return false;
	thread.ring.tid = (uint32_t)own_tid;
	thread.ring.header->server_tid = (uint32_t)own_tid;
	tipme_xclock_init(&thread.clock);
	tipme_link_wake();
	return true;
}

static void see(const void *dev, const struct input_event *ev)
{
	uint8_t kind = kind_of(ev);
	bool more = is_more_of_it(kind, ev->type);
	uint64_t now_ns;

	if (!kind || more || !is_owner())
		return;
	now_ns = tipme_xclock_ns(&thread.clock);
	if (!thread.no_input)
		input_record(dev, ev, kind, now_ns);
	if (ev->type == EV_KEY)
		follow_key(dev, ev, now_ns);
}

/*
 * Arguments, Returns: those of libevdev.
 * Side effects: a record, and the hot-key. What libevdev makes up to catch up with a device has
 * another status, and is nothing that anybody did now.
 */
EXPORT int libevdev_next_event(void *dev, unsigned flags, struct input_event *ev);
EXPORT int libevdev_next_event(void *dev, unsigned flags, struct input_event *ev)
{
	next_event_proc real = real_next_event();
	int status;

	if (!real)
		return -ENOSYS;
	status = real(dev, flags, ev);
	if (status == READ_STATUS_SUCCESS && thread.on)
		see(dev, ev);
	return status;
}

/* ---- for the main thread ---- */

int tipme_evdev_init(const struct tipme_hotkey *chords, const char *server_name, uint32_t display)
{
	int err = tipme_xring_open(&thread.ring, tipme_xring_log2(RING_KIB), server_name);

	if (err)
		return err;
	thread.ring.header->display = display;
	memcpy(thread.hotkey.chord, chords->chord, sizeof(thread.hotkey.chord));
	thread.hotkey.bare = chords->bare;
	thread.on = true;
	return thread.ring.fd;
}

int tipme_evdev_ring_fd(void)
{
	return thread.owner ? thread.ring.fd : -1;
}

void tipme_evdev_publish(const struct tipme_hotkey_layout *layout)
{
	if (!thread.on)
		return;
	for (unsigned keycode = KEYCODE_BASE; keycode < 256; keycode++) {
		struct layout_key *key = &thread.key[keycode];

		key->modifiers = layout->modifiers(layout->arg, (uint8_t)keycode);
		for (int action = 1; action < TIPME_HOTKEY_ACTIONS; action++) {
			uint32_t keysym = thread.hotkey.chord[action].keysym;

			key->level[action] =
				keysym ? (uint8_t)(layout->level(layout->arg, (uint8_t)keycode,
								 keysym) +
						   1)
				       : 0;
		}
	}
}

bool tipme_evdev_has_fired(unsigned action, uint32_t time_ms)
{
	uint32_t fired_ms = thread.fired_ms[action];
	int32_t later_ms = (int32_t)(time_ms - fired_ms);

	return fired_ms && later_ms > -FIRED_NEAR_MS && later_ms < FIRED_NEAR_MS;
}

void tipme_evdev_disable(void)
{
	thread.on = false;
}
