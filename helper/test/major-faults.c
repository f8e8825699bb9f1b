// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes page faults that must read: from a mapped file whose pages it has put away, or from swap
 * where its memory is limited. Prints how many the kernel counted.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SWAPPED (32 << 20)

/* Each page is far from the one before, so that none is read ahead. */
static void touch(volatile char *p, size_t len)
{
	for (size_t i = 0; i < len; i += 8 * 4096)
		(void)p[i];
}

static void *mapped(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) || fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return MAP_FAILED;
	*len = st.st_size;
	p = mmap(NULL, *len, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return p;
}

static void *swapped(size_t *len)
{
	void *p = mmap(NULL, SWAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*len = SWAPPED;
	if (p != MAP_FAILED)
		memset(p, 1, SWAPPED);
	return p;
}

int main(int argc, char **argv)
{
	struct rusage used;
	size_t len = 0;
	void *p = argc == 3 && !strcmp(argv[1], "file")	  ? mapped(argv[2], &len)
		  : argc == 2 && !strcmp(argv[1], "swap") ? swapped(&len)
							  : MAP_FAILED;

	if (p == MAP_FAILED || madvise(p, len, MADV_RANDOM))
		return 1;
	touch(p, len);
	getrusage(RUSAGE_SELF, &used);
	printf("%ld\n", used.ru_majflt);
	return 0;
}
