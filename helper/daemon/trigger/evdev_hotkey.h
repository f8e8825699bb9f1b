/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hot-key, read from the keyboards themselves: works on the console, under Wayland, and while
 * an X server hangs. The kernel is asked to give us nothing but the keys that can be part of the
 * chord, and nothing is kept but which of those are down.
 */
#ifndef TIPMED_EVDEV_HOTKEY_H
#define TIPMED_EVDEV_HOTKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tipmed_evdev;
struct input_event;

/*
 * Reads the chord, for the keyboard layout that /etc/default/keyboard names. Returns 0, or -errno
 * and a sentence; -ENOTSUP: built without libxkbcommon. The chord "none" makes one that never
 * fires.
 */
int tipmed_evdev_new(struct tipmed_evdev **evdev, const char *chord, char *why, size_t why_len);
void tipmed_evdev_free(struct tipmed_evdev *evdev);

/*
 * Opens the keyboards below `dir` (/dev/input) and watches for new ones. Returns how many can be
 * read, or -errno; *refused: how many may not be.
 */
int tipmed_evdev_open(struct tipmed_evdev *evdev, const char *dir, unsigned *refused);

/*
 * Takes a descriptor that brings struct input_event; it is closed with the others. Returns 0 or
 * -errno.
 */
int tipmed_evdev_add(struct tipmed_evdev *evdev, int fd, unsigned number);

/* Readable when there is something to take. */
int tipmed_evdev_fd(const struct tipmed_evdev *evdev);

/* Takes what is there without blocking. True: the chord was pressed. */
bool tipmed_evdev_take(struct tipmed_evdev *evdev);

/* How many keys can make the chord in this layout: 0: none bears the symbol. */
unsigned tipmed_evdev_keys(const struct tipmed_evdev *evdev);
/* How many keyboards are open now. */
unsigned tipmed_evdev_count(const struct tipmed_evdev *evdev);

#endif
