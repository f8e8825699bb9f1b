/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of the machine when an episode is written: drivers, settings, what is mounted, what
 * runs.
 */
#ifndef TIPMED_STATE_H
#define TIPMED_STATE_H

struct json_object;

/*
 * A new object, or NULL. `session`: what the agent has told of it, or "". No data of users: no
 * path, no name of a host or a person, no option of the kernel that is not in a list of ours;
 * docs/formats.md has the fields.
 */
struct json_object *tipmed_state(const char *session);

#endif
