// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory stays once it was used. Of programs and libraries more is wanted: what may run under the
 * load that is recorded, whether it ran before or not. What is used at the start alone need not
 * stay: it is read from its file again where somebody wants it after all.
 */
#include "config.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_source.h"
#include "seldom.h"

/*
 * The first is asked who sits at the screen, and brings the five after it. The next load tracing
 * programs, parse the files of strangers (in a process of their own) and build filters. The last
 * come with others, and look up users.
 */
static const char *const seldom[] = { "/libsystemd.so", "/libgcrypt.so", "/libgpg-error.so",
				      "/liblzma.so",	"/liblz4.so",	 "/libzstd.so",
				      "/libelf.so",	"/libz.so",	 "/libseccomp.so",
				      "/libm.so",	"/libnss_" };

static int is_seldom(const char *path)
{
	for (size_t i = 0; i < sizeof(seldom) / sizeof(*seldom); i++)
		if (strstr(path, seldom[i]))
			return 1;
	return 0;
}

struct settling {
	uintptr_t page;
	bool locked;
};

/* Whole pages only. They must be a file's, and never written. */
static void let_go(uintptr_t from, uintptr_t to, uintptr_t page)
{
	from = (from + page - 1) & -page;
	to &= -page;
	if (from >= to)
		return;
	munlock((void *)from, to - from); /* what is locked is not given back */
	madvise((void *)from, to - from, MADV_DONTNEED);
}

static int library_settle(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct settling *s = arg;
	int seldom = is_seldom(info->dlpi_name);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = (info->dlpi_addr + p->p_vaddr) & -s->page;
		uintptr_t to = info->dlpi_addr + p->p_vaddr + p->p_memsz;

		if (p->p_type != PT_LOAD)
			continue;
		if (seldom && !(p->p_flags & PF_W))
			let_go(from, (to + s->page - 1) & -s->page, s->page);
		else if (!seldom && s->locked)
			mlock((void *)from, to - from); /* refused: it stays as it is used */
	}
	return 0;
}

void tipmed_programs_settle(bool locked)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct settling settling = { page, locked };
	const void *from;
	size_t bytes;

	dl_iterate_phdr(library_settle, &settling);
	for (unsigned int i = 0; (from = tipme_kernel_source_image(i, &bytes)); i++)
		let_go((uintptr_t)from, (uintptr_t)from + bytes, page);
}
