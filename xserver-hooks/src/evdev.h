/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way from the kernel into the server: what the input thread reads, and when; the hot-key while
 * the main thread hangs. Nothing here calls the X server: it runs in its input thread, beside the
 * main one.
 */
#ifndef TIPME_EVDEV_H
#define TIPME_EVDEV_H

#include <stdint.h>

#include "hotkey.h"

/*
 * Makes the input thread's ring; the chords are copied. Returns the ring's descriptor, or -errno:
 * then input is read unseen. Main thread, once.
 */
int tipme_evdev_init(const struct tipme_hotkey *chords, const char *server_name, uint32_t display);

/* Descriptor of the ring once the input thread has written to it; before that -1. Any thread. */
int tipme_evdev_ring_fd(void);

/* Tells the input thread of the layout in use. Main thread. */
void tipme_evdev_publish(const struct tipme_hotkey_layout *layout);

/*
 * Whether the input thread has acted on this hot-key, of an event with this time, before. Main
 * thread.
 */
bool tipme_evdev_has_fired(unsigned action, uint32_t time_ms);

/* From now on only passes on what the library reads. */
void tipme_evdev_disable(void);

#endif
