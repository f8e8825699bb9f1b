// SPDX-License-Identifier: GPL-2.0-only
/* Memory that is taken and locked as it is used. */
#include "config.h"

#include <sys/mman.h>

#include "reserve.h"

void *tipmed_reserve_new(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void tipmed_reserve_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

void tipmed_reserve_give_back(void *p, size_t bytes)
{
	if (!p)
		return;
	munlock(p, bytes); /* what is locked is not given back */
	madvise(p, bytes, MADV_DONTNEED);
	/* without the capability nothing was locked before, either */
	mlock2(p, bytes, MLOCK_ONFAULT);
}

void tipmed_reserve_ready(void *p, size_t bytes)
{
	/* before Linux 5.14 it is taken when it is written */
	madvise(p, bytes, MADV_POPULATE_WRITE);
}
