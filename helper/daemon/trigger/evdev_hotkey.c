// SPDX-License-Identifier: GPL-2.0-only
/* The hot-key, read from the keyboards themselves. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "evdev_hotkey.h"
#include "evdev_layout.h"
#include "hotkey.h"
#include "tipme_records.h"

#define KEYBOARDS_MAX 64
#define X_KEYCODE(code) ((code) + 8) /* as in layouts, which count from 8 */
#define CODES_MAX (256 - 8)
#define ON_INOTIFY KEYBOARDS_MAX

struct keyboard {
	int fd; /* -1: free */
	unsigned number; /* of eventN */
	bool dropped; /* the kernel had no room: what it says up to the next report is not all */
};

struct tipmed_evdev {
	struct tipme_hotkey hotkey;
	struct tipmed_evdev_layout layout;
	unsigned keys;
	char dir[256];
	int dir_fd, epoll_fd, inotify_fd;
	struct keyboard keyboard[KEYBOARDS_MAX];
};

static uint8_t modifiers_of(void *arg, uint8_t keycode)
{
	return ((struct tipmed_evdev_layout *)arg)->modifiers[keycode];
}

static int level_of(void *arg, uint8_t keycode, uint32_t keysym)
{
	const struct tipmed_evdev_layout *layout = arg;

	return keysym == layout->keysym ? layout->level[keycode] : -1;
}

static bool code_wanted(const struct tipmed_evdev *e, unsigned code)
{
	return code < CODES_MAX &&
	       (e->layout.modifiers[X_KEYCODE(code)] || e->layout.level[X_KEYCODE(code)] >= 0);
}

int tipmed_evdev_new(struct tipmed_evdev **evdev, const char *chord, char *why, size_t why_len)
{
	struct tipmed_evdev *e = calloc(1, sizeof(*e));
	int err = e ? tipme_hotkey_parse(&e->hotkey, chord, why, why_len) : -ENOMEM;

	*evdev = NULL;
	for (int i = 0; e && i < KEYBOARDS_MAX; i++)
		e->keyboard[i].fd = -1;
	if (e)
		e->dir_fd = e->epoll_fd = e->inotify_fd = -1;
	if (!err)
		err = tipmed_evdev_layout_read(&e->layout,
					       e->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym,
					       why, why_len);
	if (!err)
		err = (e->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0 ? -errno : 0;
	if (err) {
		tipmed_evdev_free(e);
		return err;
	}
	for (unsigned k = 0; k < 256; k++)
		e->keys += e->layout.level[k] >= 0;
	*evdev = e;
	return 0;
}

static void keyboard_close(struct tipmed_evdev *e, struct keyboard *k)
{
	struct tipme_hotkey_layout layout = { modifiers_of, level_of, &e->layout };

	/* A keyboard that is pulled out holds nothing any more. */
	for (unsigned code = 0; code < CODES_MAX; code++)
		if (code_wanted(e, code) &&
		    tipme_hotkey_is_down(&e->hotkey, (unsigned)(k - e->keyboard),
					 (uint8_t)X_KEYCODE(code)))
			tipme_hotkey_feed(&e->hotkey, &layout, (unsigned)(k - e->keyboard),
					  (uint8_t)X_KEYCODE(code), false);
	close(k->fd);
	*k = (struct keyboard){ .fd = -1 };
}

void tipmed_evdev_free(struct tipmed_evdev *e)
{
	if (!e)
		return;
	for (int i = 0; i < KEYBOARDS_MAX; i++)
		if (e->keyboard[i].fd >= 0)
			close(e->keyboard[i].fd);
	if (e->inotify_fd >= 0)
		close(e->inotify_fd);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	if (e->dir_fd >= 0)
		close(e->dir_fd);
	free(e);
}

/* The kernel takes masks in whole words of its own, and refuses others. */
union mask {
	uint8_t byte[(KEY_CNT + 63) / 64 * 8];
	uint64_t word[(KEY_CNT + 63) / 64];
};

static int mask_take(int fd, uint32_t type, const union mask *mask, unsigned codes)
{
	struct input_mask take = { .type = type,
				   .codes_size = (codes + 63) / 64 * 8,
				   .codes_ptr = (uintptr_t)mask };

	return ioctl(fd, EVIOCSMASK, &take) < 0 ? -errno : 0;
}

/*
 * From here on the kernel gives us these keys and nothing else: no other key wakes us, or comes
 * near us. Types, too: with each key comes its scan code, as an event of another type. Returns 0 or
 * -errno.
 */
static int mask_set(const struct tipmed_evdev *e, int fd)
{
	union mask keys = { 0 }, types = { 0 };

	for (unsigned code = 0; code < CODES_MAX; code++)
		if (code_wanted(e, code))
			keys.byte[code / 8] |= (uint8_t)(1 << code % 8);
	types.byte[EV_KEY / 8] |= 1 << EV_KEY % 8;
	int err = mask_take(fd, EV_KEY, &keys, KEY_CNT);

	return err ? err : mask_take(fd, 0, &types, EV_CNT);
}

/* A keyboard has a key of the chord, and one that is a modifier. */
static bool is_keyboard(const struct tipmed_evdev *e, int fd)
{
	uint8_t bits[KEY_CNT / 8] = { 0 };
	bool chord = false, modifier = false;

	if (ioctl(fd, EVIOCGBIT(EV_KEY, sizeof(bits)), bits) < 0)
		return false;
	for (unsigned code = 0; code < CODES_MAX; code++) {
		bool has = bits[code / 8] >> code % 8 & 1;

		chord |= has && e->layout.level[X_KEYCODE(code)] >= 0;
		modifier |= has && e->layout.modifiers[X_KEYCODE(code)];
	}
	return chord && (modifier || !e->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].modifiers);
}

int tipmed_evdev_add(struct tipmed_evdev *e, int fd, unsigned number)
{
	for (unsigned i = 0; i < KEYBOARDS_MAX; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		if (e->keyboard[i].fd >= 0)
			continue;
		if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event))
			return -errno;
		e->keyboard[i] = (struct keyboard){ .fd = fd, .number = number };
		return 0;
	}
	return -EMFILE;
}

static bool is_open(const struct tipmed_evdev *e, unsigned number)
{
	for (int i = 0; i < KEYBOARDS_MAX; i++)
		if (e->keyboard[i].fd >= 0 && e->keyboard[i].number == number)
			return true;
	return false;
}

/* Returns 1 if a keyboard was opened, 0 if that is none, or -errno. */
static int device_open(struct tipmed_evdev *e, const char *name)
{
	unsigned number;
	char rest;

	if (sscanf(name, "event%u%c", &number, &rest) != 1 || is_open(e, number))
		return 0;
	int fd = openat(e->dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	if (!is_keyboard(e, fd)) {
		close(fd);
		return 0;
	}
	/* One that would tell us more than that is not read. */
	int err = mask_set(e, fd);

	if (!err)
		err = tipmed_evdev_add(e, fd, number);
	if (err)
		close(fd);
	return err ? err : 1;
}

static void watch_dir(struct tipmed_evdev *e, const char *dir)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = ON_INOTIFY };

	e->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	/* Attributes, too: udev gives a new device its group only after it was made. */
	if (e->inotify_fd >= 0 && inotify_add_watch(e->inotify_fd, dir, IN_CREATE | IN_ATTRIB) >= 0)
		epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->inotify_fd, &event);
}

int tipmed_evdev_open(struct tipmed_evdev *e, const char *dir, unsigned *refused)
{
	int found = 0;

	*refused = 0;
	e->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (e->dir_fd < 0)
		return -errno;
	/* First the watch: what comes in between is looked at twice, and opened once. */
	watch_dir(e, dir);
	DIR *list = fdopendir(dup(e->dir_fd));

	for (struct dirent *d; list && (d = readdir(list));) {
		int got = device_open(e, d->d_name);

		found += got > 0;
		*refused += got == -EACCES || got == -EPERM;
	}
	if (list)
		closedir(list);
	return found;
}

static void take_new(struct tipmed_evdev *e)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	while ((n = read(e->inotify_fd, buf, sizeof(buf))) > 0)
		for (char *at = buf; at < buf + n;) {
			const struct inotify_event *event = (const void *)at;

			if (event->len)
				device_open(e, event->name);
			at += sizeof(*event) + event->len;
		}
}

static bool feed(struct tipmed_evdev *e, const struct keyboard *k, unsigned code, bool pressed)
{
	struct tipme_hotkey_layout layout = { modifiers_of, level_of, &e->layout };

	return code_wanted(e, code) &&
	       tipme_hotkey_feed(&e->hotkey, &layout, (unsigned)(k - e->keyboard),
				 (uint8_t)X_KEYCODE(code), pressed) == TIPME_HOTKEY_FIRE;
}

/*
 * After a loss the device itself says what is down: releases first, so that a key that is held
 * fires nothing anew.
 */
static void resync(struct tipmed_evdev *e, const struct keyboard *k)
{
	uint8_t down[KEY_CNT / 8] = { 0 };

	if (ioctl(k->fd, EVIOCGKEY(sizeof(down)), down) < 0)
		memset(down, 0, sizeof(down));
	for (unsigned code = 0; code < CODES_MAX; code++)
		if (!(down[code / 8] >> code % 8 & 1) &&
		    tipme_hotkey_is_down(&e->hotkey, (unsigned)(k - e->keyboard),
					 (uint8_t)X_KEYCODE(code)))
			feed(e, k, code, false);
	for (unsigned code = 0; code < CODES_MAX; code++)
		if ((down[code / 8] >> code % 8 & 1) && e->layout.modifiers[X_KEYCODE(code)])
			feed(e, k, code, true);
}

static bool take_event(struct tipmed_evdev *e, struct keyboard *k, const struct input_event *event)
{
	if (event->type == EV_SYN && event->code == SYN_DROPPED) {
		k->dropped = true;
	} else if (event->type == EV_SYN && event->code == SYN_REPORT && k->dropped) {
		k->dropped = false;
		resync(e, k);
	} else if (event->type == EV_KEY && !k->dropped && event->value != 2) {
		return feed(e, k, event->code, event->value != 0);
	}
	return false;
}

static bool take_keyboard(struct tipmed_evdev *e, struct keyboard *k)
{
	struct input_event events[32];
	bool fired = false;
	ssize_t n;

	while ((n = read(k->fd, events, sizeof(events))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(*events); i++)
			fired |= take_event(e, k, &events[i]);
	/* The device has gone. */
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		keyboard_close(e, k);
	return fired;
}

int tipmed_evdev_fd(const struct tipmed_evdev *e)
{
	return e->epoll_fd;
}

bool tipmed_evdev_take(struct tipmed_evdev *e)
{
	struct epoll_event events[8];
	int n = epoll_wait(e->epoll_fd, events, 8, 0);
	bool fired = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == ON_INOTIFY)
			take_new(e);
		else if (e->keyboard[events[i].data.u32].fd >= 0)
			fired |= take_keyboard(e, &e->keyboard[events[i].data.u32]);
	}
	return fired;
}

unsigned tipmed_evdev_keys(const struct tipmed_evdev *e)
{
	return e->keys;
}

unsigned tipmed_evdev_count(const struct tipmed_evdev *e)
{
	unsigned n = 0;

	for (int i = 0; i < KEYBOARDS_MAX; i++)
		n += e->keyboard[i].fd >= 0;
	return n;
}
