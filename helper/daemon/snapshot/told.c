// SPDX-License-Identifier: GPL-2.0-only
/* Records that came with a trigger. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record_walk.h"
#include "told.h"

/*
 * In the numbers of stacks; a kernel source would need 50 days of nothing but new stacks to set it.
 */
#define TOLD_STACK 0x80000000U

int tipmed_told_keep(int fd)
{
	if (fd < 0 || fcntl(fd, F_GET_SEALS) < 0)
		return -1;
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static size_t read_all(int fd, char *buf, size_t cap)
{
	size_t len = 0;

	while (len < cap) {
		ssize_t n = pread(fd, buf + len, cap - len, (off_t)len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	return len;
}

static bool may_be_told(const char *rec, size_t len)
{
	struct tipme_sample sample;
	struct tipme_stack stack;

	switch (((const struct tipme_head *)rec)->type) {
	case TIPME_LATENCY: return len == sizeof(struct tipme_latency);
	case TIPME_LATENCY_USER: return len == sizeof(struct tipme_latency_user);
	case TIPME_SAMPLE:
		if (len != sizeof(sample))
			return false;
		memcpy(&sample, rec, sizeof(sample));
		return (!sample.kernel_stack_id || sample.kernel_stack_id & TOLD_STACK) &&
		       !sample.user_stack_id;
	case TIPME_STACK:
		if (len < sizeof(stack))
			return false;
		memcpy(&stack, rec, sizeof(stack));
		return stack.stack_id & TOLD_STACK;
	}
	return false;
}

/* How long the valid part is. */
static size_t valid(const char *buf, size_t len, uint64_t *count)
{
	struct tipme_walk w = { (const uint8_t *)buf, (const uint8_t *)buf + len };
	struct tipme_rec r;
	size_t at = 0;

	*count = 0;
	while (tipme_record_next(&w, &r) == 1 && may_be_told((const char *)r.bytes, r.len)) {
		at += r.len;
		(*count)++;
	}
	return at;
}

void *tipmed_told_read(int fd, size_t *len, uint64_t *count)
{
	char *buf = malloc(TIPMED_TOLD_BYTES_MAX);

	*len = *count = 0;
	if (!buf)
		return NULL;
	*len = valid(buf, read_all(fd, buf, TIPMED_TOLD_BYTES_MAX), count);
	if (*len)
		return buf;
	free(buf);
	return NULL;
}
