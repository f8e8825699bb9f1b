// SPDX-License-Identifier: GPL-2.0-only
/* Names of interrupt lines and disks. */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "small_file.h"
#include "tipme_records.h"

struct emitter {
	int (*emit)(void *arg, const void *rec, size_t len);
	void *arg;
};

static int emit_text(const struct emitter *e, void *rec, size_t fixed, const char *text)
{
	size_t n = strlen(text), len = (fixed + n + 1 + 7) / 8 * 8;
	char *at = rec;

	memset(at + fixed, 0, len - fixed);
	memcpy(at + fixed, text, n);
	((struct tipme_head *)rec)->len8 = (uint8_t)(len / 8);
	return e->emit(e->arg, rec, len);
}

/*
 * " 25:  counts of CPUs ...  chip  hwirq-edge  device, device": the names begin behind what tells
 * the kind of the line.
 */
static char *irq_devices(char *line)
{
	char *at = strchr(line, ':');

	if (!at)
		return NULL;
	for (at++; *at == ' ' || isdigit((unsigned char)*at); at++)
		;
	at[strcspn(at, "\n")] = '\0';
	return *at ? at : NULL;
}

/* Columns of blanks become one. */
static void blanks_join(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++)
		if (*p != ' ' || (to > text && to[-1] != ' '))
			*to++ = *p;
	*to = '\0';
}

static int irqs_emit(const struct emitter *e)
{
	FILE *f = fopen("/proc/interrupts", "re");
	char *line = NULL, *end, *text;
	size_t cap = 0;
	int ret = 0;

	while (f && !ret && getline(&line, &cap, f) > 0) {
		unsigned long number = strtoul(line, &end, 10);
		union {
			struct tipme_irq_name rec;
			char bytes[512];
		} u = { .rec = { .type = TIPME_IRQ_NAME, .number = (uint32_t)number } };

		text = end != line ? irq_devices(line) : NULL;
		if (!text)
			/*
			 * the line of CPUs, and sums of the architecture, which have names and no
			 * numbers
			 */
			continue;
		blanks_join(text);
		if (strlen(text) > 400)
			text[400] = '\0';
		ret = emit_text(e, &u, offsetof(struct tipme_irq_name, name), text);
	}
	free(line);
	if (f)
		fclose(f);
	return ret;
}

static int number_read(const char *disk, const char *name, const char *format, unsigned int *a,
		       unsigned int *b)
{
	char path[512], line[64];

	snprintf(path, sizeof(path), "/sys/block/%s/%s", disk, name);
	return tipme_file_line(path, line, sizeof(line)) ? sscanf(line, format, a, b) : 0;
}

static int disk_emit(const struct emitter *e, const char *name)
{
	union {
		struct tipme_disk_name rec;
		char bytes[512];
	} u = { .rec = { .type = TIPME_DISK_NAME } };
	unsigned int major, minor, rotational = 0, none;

	if (number_read(name, "dev", "%u:%u", &major, &minor) != 2 || strlen(name) > 255)
		return 0;
	number_read(name, "queue/rotational", "%u", &rotational, &none);
	u.rec.dev = major << 20 | (minor & 0xfffff);
	u.rec.rotational = rotational;
	return emit_text(e, &u, offsetof(struct tipme_disk_name, name), name);
}

static int disks_emit(const struct emitter *e)
{
	DIR *d = opendir("/sys/block");
	struct dirent *entry;
	int ret = 0;

	while (d && !ret && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			ret = disk_emit(e, entry->d_name);
	if (d)
		closedir(d);
	return ret;
}

int tipmed_devices_names(int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	struct emitter e = { emit, arg };
	int ret = irqs_emit(&e);

	return ret ? ret : disks_emit(&e);
}
