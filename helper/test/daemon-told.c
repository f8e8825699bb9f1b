// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records that come with a trigger: only memory files are taken, and of these only what is whole
 * and may be told.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "tipme_records.h"
#include "told.h"

static int memory(const void *data, size_t len)
{
	int fd = memfd_create("told", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	return fd;
}

/* How many records of DATA are believed. */
static unsigned int believed(const void *data, size_t len)
{
	int fd = memory(data, len);
	uint64_t count;
	size_t valid;
	void *buf = tipmed_told_read(fd, &valid, &count);

	close(fd);
	if (buf && (valid > len || memcmp(buf, data, valid)))
		abort();
	if (!buf != !count)
		abort();
	free(buf);
	return (unsigned int)count;
}

static struct tipme_sample sample(uint32_t kernel_stack, uint32_t user_stack)
{
	return (struct tipme_sample){ .ts_ns = 1,
				      .type = TIPME_SAMPLE,
				      .len8 = sizeof(struct tipme_sample) / 8,
				      .tid = 5,
				      .kernel_stack_id = kernel_stack,
				      .user_stack_id = user_stack };
}

static void samples_check(void)
{
	struct tipme_sample s[3] = { sample(0x80000001, 0), sample(0, 0), sample(0x80000002, 0) };

	ok(believed(s, sizeof(s)) == 3, "samples with stacks of their own are taken");
	ok(believed(s, sizeof(s) - 8) == 2, "what is cut is left out");
	ok(believed(s, 7) == 0, "what is too short is nothing");
	s[1].kernel_stack_id = 77;
	ok(believed(s, sizeof(s)) == 1,
	   "a stack of the kernel source's is not theirs to name: nothing from there on");
	s[1] = sample(0, 3);
	ok(believed(s, sizeof(s)) == 1, "nor one of a user");
	s[1] = sample(0, 0);
	s[1].len8 = 0;
	ok(believed(s, sizeof(s)) == 1, "a record without length");
	s[1].len8 = 255;
	ok(believed(s, sizeof(s)) == 1, "one that is longer than the file");
	s[1].len8 = 3;
	ok(believed(s, sizeof(s)) == 1, "one that is shorter than its kind");
}

static void kinds_check(void)
{
	const uint8_t none[] = { TIPME_SECTION,
				 TIPME_SCHED_SWITCH,
				 TIPME_THREAD,
				 TIPME_PROCESS,
				 TIPME_EXEC_ARGS,
				 TIPME_USER_STACK,
				 TIPME_STEAL,
				 0,
				 255 };
	struct tipme_latency_user l = {
		.ts_ns = 2, .type = TIPME_LATENCY_USER, .len8 = sizeof(l) / 8, .tid = 5
	};
	struct {
		struct tipme_stack head;
		char text[16];
	} stack = { { .type = TIPME_STACK, .len8 = sizeof(stack) / 8, .stack_id = 0x80000001 },
		    "a+0x1;b+0x2" };
	unsigned int taken = 0;

	ok(believed(&l, sizeof(l)) == 1, "a latency is taken");
	ok(believed(&stack, sizeof(stack)) == 1, "and a stack");
	stack.head.stack_id = 1;
	ok(believed(&stack, sizeof(stack)) == 0, "but none in the place of another's");
	for (size_t i = 0; i < sizeof(none); i++) {
		l.type = none[i];
		taken += believed(&l, sizeof(l));
	}
	ok(!taken, "no other kind is");
}

static void large_check(void)
{
	size_t len = TIPMED_TOLD_BYTES_MAX + sizeof(struct tipme_sample);
	char *buf = malloc(len);

	for (size_t at = 0; buf && at < len; at += sizeof(struct tipme_sample)) {
		struct tipme_sample s = sample(0, 0);

		memcpy(buf + at, &s, sizeof(s));
	}
	ok(buf && believed(buf, len) == TIPMED_TOLD_BYTES_MAX / sizeof(struct tipme_sample),
	   "no more than there is room for");
	free(buf);
}

/*
 * A pipe or a file of somebody's own file system could make the reader wait for ever. (One on
 * tmpfs, as our own may be, has seals as memory files have.)
 */
static void keep_check(void)
{
	int pipes[2], file = open("/proc/self/stat", O_RDONLY), fd = memory("", 0), kept;

	if (pipe(pipes))
		abort();
	ok(tipmed_told_keep(-1) == -1, "no descriptor came");
	ok(tipmed_told_keep(pipes[0]) == -1, "a pipe is refused");
	ok(tipmed_told_keep(file) == -1, "a file is refused");
	kept = tipmed_told_keep(fd);
	ok(kept > 2 && kept != fd, "of a memory file we have a descriptor of our own");
	close(kept);
	close(fd);
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

int main(void)
{
	samples_check();
	kinds_check();
	large_check();
	keep_check();
	return tap_end();
}
