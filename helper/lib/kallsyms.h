/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of kernel addresses, from a table that is read once: addresses leave the recorder as
 * symbol+offset only.
 */
#ifndef TIPME_KALLSYMS_H
#define TIPME_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tipme_kallsyms;

/*
 * Reads `path`, or /proc/kallsyms if NULL, and where modules end from `modules`, or /proc/modules
 * if NULL. Returns 0 or -errno: -EACCES when the kernel hides addresses from us (kptr_restrict, or
 * no CAP_SYSLOG), -ENODATA when the file has no function in it. Free with tipme_kallsyms_free(),
 * which takes NULL.
 */
int tipme_kallsyms_load(struct tipme_kallsyms **ks, const char *path, const char *modules);
void tipme_kallsyms_free(struct tipme_kallsyms *ks);

/*
 * Writes "symbol+0xoff" (or "symbol+0xoff [module]"), "?" where nothing fits or ks is NULL. Returns
 * the length as snprintf does.
 */
int tipme_kallsyms_name(const struct tipme_kallsyms *ks, uint64_t addr, char *buf, size_t len);
/* The function whose address has this low half, without an offset. */
int tipme_kallsyms_function(const struct tipme_kallsyms *ks, uint32_t low, char *buf, size_t len);

/* Looks symbols up in /proc/kallsyms by name: found[i] is true if names[i] is listed, addrs[i] its
 * address, 0 where it is hidden, and nexts[i] that of what is listed next. `addrs` and `nexts` may
 * be NULL. */
void tipme_kallsyms_find(const char *const *names, unsigned int count, bool *found, uint64_t *addrs,
			 uint64_t *nexts);

#endif
