/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the hot-key on the keyboards must know of the machine's keyboard layout, as tables by X key
 * code.
 */
#ifndef TIPMED_EVDEV_LAYOUT_H
#define TIPMED_EVDEV_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

struct tipmed_evdev_layout {
	uint32_t keysym;
	uint8_t modifiers[256]; /* TIPME_MOD_... that the key sets */
	int8_t level[256]; /* lowest level, in any group, that bears the symbol; -1: none */
};

/*
 * For the layout in /etc/default/keyboard; what is not set there is that of the X libraries.
 * Returns 0, or -errno and a sentence.
 */
int tipmed_evdev_layout_read(struct tipmed_evdev_layout *layout, uint32_t keysym, char *why,
			     size_t why_len);

#endif
