/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the owner's agent tells of his session: its desktop, and which extensions of the compositor
 * he has switched on. The agent alone can read his settings.
 */
#ifndef TIPMED_DESKTOP_H
#define TIPMED_DESKTOP_H

#include <stddef.h>

#define TIPMED_SESSION_BYTES 4096

struct json_object;

/*
 * Keeps the lines of `text` that are one of ours and a name: "desktop GNOME", "type wayland",
 * "extension NAME", "script NAME", "own NUMBER" (those that nobody publishes, which have no name
 * here). NUL-terminated; what does not fit is left out. Does not allocate.
 */
void tipmed_session_take(char to[TIPMED_SESSION_BYTES], const char *text, size_t len);

/* A new object, or NULL if there is nothing; docs/formats.md has the fields. */
struct json_object *tipmed_session_json(const char *kept);

#endif
