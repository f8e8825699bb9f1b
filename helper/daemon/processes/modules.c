// SPDX-License-Identifier: GPL-2.0-only
/* Files that processes had mapped, by number. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "modules.h"

static uint32_t place_free(const struct tipmed_modules *m)
{
	for (uint32_t i = 0; i < m->used; i++)
		if (!m->at[i].path)
			return i;
	return m->used;
}

uint32_t tipmed_modules_number(struct tipmed_modules *m, const char *path, uint64_t bytes,
			       uint32_t pid)
{
	for (uint32_t i = 0; i < m->used; i++)
		if (m->at[i].path && m->at[i].bytes == bytes && !strcmp(m->at[i].path, path))
			return i + 1;
	uint32_t i = place_free(m);
	char *copy = i < TIPMED_MODULES_MAX ? strdup(path) : NULL;

	if (!copy) {
		m->refused++;
		return 0;
	}
	m->at[i] = (struct tipmed_module){ .path = copy, .bytes = bytes, .pid = pid };
	m->count++;
	m->used = i < m->used ? m->used : i + 1;
	return i + 1;
}

bool tipmed_modules_crowded(const struct tipmed_modules *m)
{
	return m->count > TIPMED_MODULES_MAX / 8 * 7;
}

void tipmed_modules_forget(struct tipmed_modules *m, const bool *keep)
{
	for (uint32_t i = 0; i < m->used; i++) {
		if (keep[i] || !m->at[i].path)
			continue;
		free(m->at[i].path);
		m->at[i].path = NULL;
		m->count--;
	}
}

void tipmed_modules_clear(struct tipmed_modules *m)
{
	const bool none[TIPMED_MODULES_MAX] = { false };

	tipmed_modules_forget(m, none);
	m->used = 0;
}
