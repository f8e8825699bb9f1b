// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into a server, for the tests: how large a region became that was added to, in a file
 * that the test may set back.
 */
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* As pixman.h has them; a region of one box has no data. */
struct region_data {
	long size, count;
};

struct region {
	int16_t x1, y1, x2, y2;
	struct region_data *data;
};

typedef int (*union_proc)(struct region *, struct region *, struct region *);

static uint32_t *largest;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("TIPME_TEST_REGION_SIZE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mem;

	if (fd < 0)
		return;
	mem = mmap(NULL, sizeof(*largest), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	largest = mem == MAP_FAILED ? NULL : mem;
}

__attribute__((visibility("default"))) int pixman_region_union(struct region *into,
							       struct region *a, struct region *b);
int pixman_region_union(struct region *into, struct region *a, struct region *b)
{
	static union_proc real;
	int done;

	if (!real)
		real = (union_proc)dlsym(RTLD_NEXT, "pixman_region_union");
	done = real(into, a, b);
	if (largest && into == a && into->data && into->data->count > (long)*largest)
		*largest = (uint32_t)into->data->count;
	return done;
}
