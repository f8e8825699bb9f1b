/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For libFuzzer: the folder of an episode as a stranger might have made it. The first byte says
 * which file the rest is (the manifest, a whole record file, or records that stand in sections with
 * heads as they should be) and how long the sections are; users take its upper bits for what they
 * ask.
 */
#ifndef TIPME_FUZZ_FOLDER_H
#define TIPME_FUZZ_FOLDER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "must.h"
#include "tipme_records.h"

static const char MANIFEST[] =
	"{\"format\":{\"major\":1,\"minor\":1},\"id\":\"f\",\"trigger\":{\"ns\":4000},\"sources\":["
	"{\"source\":\"kernel_bpf\",\"file\":\"kernel.rec\",\"coverage\":[{\"cpu\":0,\"first_ns\":1},{\"cpu\":1,\"first_ns\":90}]},"
	"{\"source\":\"tipmed\",\"file\":\"threads.rec\"},{\"source\":\"x_hooks\",\"file\":\"x-1.rec\"}]}";
static const char SAMPLED[] =
	"{\"format\":{\"major\":1,\"minor\":1},\"id\":\"f\",\"trigger\":{\"ns\":4000},\"sources\":["
	"{\"source\":\"proc_sampled\",\"file\":\"kernel.rec\",\"coverage\":[{\"cpu\":0}]},{\"source\":\"tipmed\",\"file\":\"threads.rec\"}]}";

static char folder[64];

static void remove_folder(void)
{
	static const char *const files[] = { "manifest.json", "kernel.rec", "threads.rec",
					     "x-1.rec" };
	char path[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	rmdir(folder);
}

static void make_folder(void)
{
	/* In memory: a million inputs wait for no disk. */
	snprintf(folder, sizeof(folder), "%s/fuzz-episode-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	MUST(mkdtemp(folder));
	atexit(remove_folder);
}

static void spew(const char *name, const void *head, size_t head_len, const void *data, size_t len)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0 && write(fd, head, head_len) == (ssize_t)head_len &&
	     write(fd, data, len) == (ssize_t)len);
	close(fd);
}

static struct tipme_file_header file_head(uint32_t source, size_t len)
{
	return (struct tipme_file_header){ .magic = TIPME_FILE_MAGIC,
					   .byte_order = TIPME_BYTE_ORDER,
					   .major = TIPME_FORMAT_MAJOR,
					   .header_len = sizeof(struct tipme_file_header),
					   .source = source,
					   .body_len = len };
}

static size_t section_bytes = 160;

/* Cut into sections, of two CPUs in turn. */
static void spew_sections(const char *name, uint32_t source, const uint8_t *data, size_t len)
{
	static uint8_t body[65536];
	size_t n = 0, most = section_bytes;

	for (size_t at = 0, k = 0; at < len && n + 56 + most <= sizeof(body); at += most, k++) {
		size_t part = len - at < most ? len - at : most;
		struct tipme_section s = { .type = TIPME_SECTION,
					   .len8 = sizeof(s) / 8,
					   .source = source,
					   .cpu = k & 1,
					   .first_ns = 10 * k,
					   .last_ns = 10 * k + 9,
					   .count = part / 32,
					   .body_len = part };

		memcpy(body + n, &s, sizeof(s));
		memcpy(body + n + sizeof(s), data + at, part);
		n += sizeof(s) + part;
	}
	struct tipme_file_header h = file_head(source, n);

	spew(name, &h, sizeof(h), body, n);
}

static void spew_whole(const char *name, uint32_t source, const uint8_t *data, size_t len)
{
	struct tipme_file_header h = file_head(source, len);

	spew(name, &h, sizeof(h), data, len);
}

/* The folder, made of an input of one byte or more. */
static const char *fuzz_folder(const uint8_t *data, size_t len)
{
	if (!folder[0])
		make_folder();
	uint8_t how = data[0] & 7;
	bool many = data[0] & 8;
	const char *manifest = how & 4 ? SAMPLED : MANIFEST;

	data++;
	len--;
	/* Many sections take longest: half of the inputs have fewer. */
	section_bytes = many ? 160 : 960;
	spew("manifest.json", manifest, strlen(manifest), "", 0);
	spew_sections("kernel.rec", TIPME_SOURCE_KERNEL_BPF, data, len);
	spew_sections("threads.rec", TIPME_SOURCE_TIPMED, data, len);
	spew_sections("x-1.rec", TIPME_SOURCE_X_HOOKS, data, len / 2);
	if (how == 1)
		spew("manifest.json", data, len, "", 0);
	if (how == 2)
		spew_whole("kernel.rec", TIPME_SOURCE_KERNEL_BPF, data, len);
	if (how == 3)
		spew("threads.rec", data, len, "", 0);
	if (how & 4)
		spew_sections("kernel.rec", TIPME_SOURCE_PROC_SAMPLED, data, len);
	return folder;
}

#endif
