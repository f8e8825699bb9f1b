// SPDX-License-Identifier: GPL-2.0-only
/* Names of kernel addresses: the functions of /proc/kallsyms, sorted once. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kallsyms.h"

/*
 * No function is longer; what lies farther behind a symbol belongs to something that has no name
 * here.
 */
#define LONGEST_FUNCTION (1U << 20)

struct symbol {
	uint64_t addr;
	uint32_t name; /* offset in names */
	uint32_t is_global;
};

struct extent {
	uint64_t from, to;
};

struct tipme_kallsyms {
	struct symbol *symbols;
	size_t count, room;
	struct extent *modules; /* sorted */
	size_t modules_count, modules_room;
	char *names; /* NUL-terminated, one after the other; with the module: "name [module]" */
	size_t names_len, names_room;
};

static int grow(void **p, size_t *room, size_t need, size_t size)
{
	size_t n = *room ? *room : 4096;
	void *q;

	while (n < need)
		n *= 2;
	if (n == *room)
		return 0;
	q = realloc(*p, n * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*room = n;
	return 0;
}

static int add(struct tipme_kallsyms *ks, uint64_t addr, char type, const char *name,
	       const char *module)
{
	size_t len = strlen(name) + strlen(module) + 2;
	int err = grow((void **)&ks->symbols, &ks->room, ks->count + 1, sizeof(*ks->symbols));

	err = err ? err : grow((void **)&ks->names, &ks->names_room, ks->names_len + len, 1);
	if (err)
		return err;
	ks->symbols[ks->count++] = (struct symbol){ addr, ks->names_len, type == 'T' };
	ks->names_len +=
		sprintf(ks->names + ks->names_len, "%s%s%s", name, *module ? " " : "", module) + 1;
	return 0;
}

/*
 * A BPF program's symbol has a checksum in it, which tells readers nothing and looks like an
 * address.
 */
static void checksum_drop(char *name)
{
	static const char prefix[] = "bpf_prog_";
	size_t n = sizeof(prefix) - 1;

	if (!strncmp(name, prefix, n) && strspn(name + n, "0123456789abcdef") == 16 &&
	    name[n + 16] == '_')
		memmove(name + n, name + n + 17, strlen(name + n + 17) + 1);
}

static int read_all(struct tipme_kallsyms *ks, FILE *f)
{
	char line[1024], name[512], module[128], type;
	uint64_t addr;
	int functions = 0, err = 0;

	while (!err && fgets(line, sizeof(line), f)) {
		int n;

		*module = 0;
		n = sscanf(line, "%" SCNx64 " %c %511s %127s", &addr, &type, name, module);
		if (n < 3 || !strchr("tTwW", type))
			continue;
		functions++;
		checksum_drop(name);
		if (addr)
			err = add(ks, addr, type, name, n > 3 ? module : "");
	}
	if (err)
		return err;
	if (!functions)
		return -ENODATA;
	return ks->count ? 0 : -EACCES; /* all of them 0: hidden */
}

/*
 * Lines of /proc/modules: name, size, users, by whom, state, address. Without them nothing is known
 * to end: no harm is done.
 */
static void read_modules(struct tipme_kallsyms *ks, const char *path)
{
	FILE *f = fopen(path ? path : "/proc/modules", "re");
	uint64_t size, from;
	char line[8192];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %" SCNu64 " %*s %*s %*s %" SCNx64, &size, &from) != 2 ||
		    !from)
			continue;
		if (grow((void **)&ks->modules, &ks->modules_room, ks->modules_count + 1,
			 sizeof(*ks->modules)))
			break;
		ks->modules[ks->modules_count++] = (struct extent){ from, from + size };
	}
	fclose(f);
}

static int by_begin(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (int)x->is_global - (int)y->is_global; /* of several names the global one is found */
}

int tipme_kallsyms_load(struct tipme_kallsyms **out, const char *path, const char *modules)
{
	FILE *f = fopen(path ? path : "/proc/kallsyms", "re");
	struct tipme_kallsyms *ks;
	int err;

	*out = NULL;
	if (!f)
		return -errno;
	ks = calloc(1, sizeof(*ks));
	err = ks ? read_all(ks, f) : -ENOMEM;
	fclose(f);
	if (err) {
		tipme_kallsyms_free(ks);
		return err;
	}
	qsort(ks->symbols, ks->count, sizeof(*ks->symbols), by_address);
	read_modules(ks, modules);
	if (ks->modules)
		qsort(ks->modules, ks->modules_count, sizeof(*ks->modules), by_begin);
	*out = ks;
	return 0;
}

void tipme_kallsyms_find(const char *const *names, unsigned int count, bool *found, uint64_t *addrs,
			 uint64_t *nexts)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512];
	unsigned int left = count, open = count;
	uint64_t addr;

	memset(found, 0, count * sizeof(*found));
	while (f && (left || (nexts && open < count)) && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %*c %511s", &addr, name) != 2)
			continue;
		if (nexts && open < count && addr != addrs[open]) {
			nexts[open] = addr;
			open = count;
		}
		for (unsigned int i = 0; i < count; i++) {
			if (found[i] || strcmp(name, names[i]))
				continue;
			found[i] = true;
			left--;
			if (addrs)
				addrs[i] = addr;
			open = i;
		}
	}
	if (f)
		fclose(f);
}

void tipme_kallsyms_free(struct tipme_kallsyms *ks)
{
	if (!ks)
		return;
	free(ks->symbols);
	free(ks->modules);
	free(ks->names);
	free(ks);
}

/*
 * Whether the address lies behind the module that the symbol is in: what was there has gone, or
 * came after the table was read.
 */
static int behind_module(const struct tipme_kallsyms *ks, const struct symbol *s, uint64_t addr)
{
	size_t lo = 0, hi = ks->modules_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ks->modules[mid].from <= s->addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && s->addr < ks->modules[lo - 1].to && addr >= ks->modules[lo - 1].to;
}

/* The last symbol at or before the address. */
static const struct symbol *find(const struct tipme_kallsyms *ks, uint64_t addr)
{
	size_t lo = 0, hi = ks->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ks->symbols[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr - ks->symbols[lo - 1].addr >= LONGEST_FUNCTION ||
	    behind_module(ks, &ks->symbols[lo - 1], addr))
		return NULL;
	return &ks->symbols[lo - 1];
}

int tipme_kallsyms_name(const struct tipme_kallsyms *ks, uint64_t addr, char *buf, size_t len)
{
	const struct symbol *s = ks ? find(ks, addr) : NULL;
	const char *name = s ? ks->names + s->name : NULL;
	int n = name ? (int)strcspn(name, " ") : 0;

	if (!s)
		return snprintf(buf, len, "?");
	return snprintf(buf, len, "%.*s+0x%" PRIx64 "%s", n, name, addr - s->addr, name + n);
}

/* Kernel and modules lie in the last 2 GB of x86-64's addresses, so the upper half is all ones. */
int tipme_kallsyms_function(const struct tipme_kallsyms *ks, uint32_t low, char *buf, size_t len)
{
	uint64_t addr = 0xffffffff00000000ULL | low;
	const struct symbol *s = ks ? find(ks, addr) : NULL;

	if (!s || s->addr != addr)
		return snprintf(buf, len, "?");
	return snprintf(buf, len, "%s", ks->names + s->name);
}
