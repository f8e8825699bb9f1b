// SPDX-License-Identifier: GPL-2.0-only
/* What code processes had mapped, and the names of user stacks by it. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "code.h"
#include "elf_symbols.h"
#include "kernel_numbers.h"
#include "modules.h"

#define SPACES_MAX 512U
#define MAPPINGS_MAX 512U
/* Files are dated by the clock of the last tick. */
#define TICK_NS 20000000
/* What the kernel appends to the path of a file in whose place there is another, or none. */
#define DELETED " (deleted)"
/* More processes than this do not get a look in one second. Of a storm those get it that have waited longest: short ones have gone then, and want none. */
#define LOOKS_MAX 32U

struct mapping {
	uint64_t start, end, offset;
	uint32_t module; /* id */
};

/* The mappings of one program in one process, as last seen. */
struct space {
	uint64_t id; /* as the stacks have it */
	uint32_t pid; /* 0: no entry */
	uint32_t count;
	uint64_t looked_ns;
	int64_t looked_real_ns; /* the same moment, by the clock that files are dated with */
	struct mapping *mapping;
};

/* A process with a stack that was used since the last look, and not there when its mappings were last seen. */
struct wanted {
	uint32_t pid;
	uint64_t first_ns; /* its oldest such stack */
};

struct tipmed_code {
	pthread_mutex_t lock;
	struct tipme_kernel_source *source;
	struct space space[SPACES_MAX];
	struct tipmed_modules modules;
	_Atomic uint64_t refused; /* as the table has it, for whoever does not hold the lock */
	uint64_t looked_ns;
	struct wanted wanted[LOOKS_MAX];
	unsigned int wanted_count;
	struct tipme_mapping found[MAPPINGS_MAX];
};

int tipmed_code_new(struct tipmed_code **code, struct tipme_kernel_source *source)
{
	struct tipmed_code *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->source = source;
	pthread_mutex_init(&c->lock, NULL);
	*code = c;
	return 0;
}

void tipmed_code_free(struct tipmed_code *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < SPACES_MAX; i++)
		free(c->space[i].mapping);
	tipmed_modules_clear(&c->modules);
	free(c);
}

static struct space *space_of(struct tipmed_code *c, uint32_t pid, uint64_t id)
{
	for (unsigned int i = 0; i < SPACES_MAX; i++)
		if (c->space[i].pid == pid && c->space[i].id == id)
			return &c->space[i];
	return NULL;
}

static struct space *space_oldest(struct tipmed_code *c)
{
	struct space *oldest = &c->space[0];

	for (unsigned int i = 1; i < SPACES_MAX && oldest->pid; i++)
		if (!c->space[i].pid || c->space[i].looked_ns < oldest->looked_ns)
			oldest = &c->space[i];
	return oldest;
}

/* What has the pid now: perhaps not what had it when the stack was taken, of which nobody will know more, then. */
static void space_look(struct tipmed_code *c, uint32_t pid, uint64_t now_ns)
{
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real); /* before the look: what is changed after it is changed after this */
	int n = tipme_kernel_source_mappings(c->source, pid, c->found, MAPPINGS_MAX);
	struct mapping *m = n > 0 ? calloc((size_t)n, sizeof(*m)) : NULL;
	struct space *s;

	if (!m)
		return; /* it is gone: what was seen of it before is all there is */
	for (int i = 0; i < n; i++) {
		c->found[i].path[sizeof(c->found[i].path) - 1] = '\0';
		m[i] = (struct mapping){ c->found[i].start, c->found[i].end, c->found[i].offset,
					 c->found[i].path[0] ? tipmed_modules_number(&c->modules, c->found[i].path, c->found[i].bytes, pid) : 0 };
	}
	s = space_of(c, pid, c->found[0].space);
	if (!s)
		s = space_oldest(c);
	free(s->mapping);
	*s = (struct space){ c->found[0].space, pid, (uint32_t)n, now_ns, (int64_t)real.tv_sec * 1000000000 + real.tv_nsec, m };
}

static struct wanted *wanted_of(struct tipmed_code *c, uint32_t pid)
{
	for (unsigned int i = 0; i < c->wanted_count; i++)
		if (c->wanted[i].pid == pid)
			return &c->wanted[i];
	return NULL;
}

/* A place for one that has waited since first_ns; NULL if all have waited longer. */
static struct wanted *wanted_place(struct tipmed_code *c, uint64_t first_ns)
{
	struct wanted *latest = &c->wanted[0];

	if (c->wanted_count < LOOKS_MAX)
		return &c->wanted[c->wanted_count++];
	for (unsigned int i = 1; i < LOOKS_MAX; i++)
		if (c->wanted[i].first_ns > latest->first_ns)
			latest = &c->wanted[i];
	return first_ns < latest->first_ns ? latest : NULL;
}

static int want_one(void *arg, const struct tipme_user_frames *f)
{
	struct tipmed_code *c = arg;
	const struct space *s;
	struct wanted *w;

	if (f->used_ns <= c->looked_ns)
		return 0;
	s = space_of(c, f->pid, f->space);
	if (s && s->looked_ns > f->first_ns)
		return 0;
	w = wanted_of(c, f->pid);
	if (w)
		w->first_ns = f->first_ns < w->first_ns ? f->first_ns : w->first_ns;
	else if ((w = wanted_place(c, f->first_ns)))
		*w = (struct wanted){ f->pid, f->first_ns };
	return 0;
}

/* Files that no mapping refers to any more: only here, where nobody holds a number. */
static void modules_forget(struct tipmed_code *c)
{
	bool keep[TIPMED_MODULES_MAX] = { false };

	for (unsigned int i = 0; i < SPACES_MAX; i++)
		for (uint32_t k = 0; c->space[i].mapping && k < c->space[i].count; k++)
			if (c->space[i].mapping[k].module)
				keep[c->space[i].mapping[k].module - 1] = true;
	tipmed_modules_forget(&c->modules, keep);
}

void tipmed_code_look(struct tipmed_code *c, uint64_t now_ns)
{
	/* The writer may hold it while it reads files: what is missed now is looked at in a second. */
	if (pthread_mutex_trylock(&c->lock))
		return;
	if (tipmed_modules_crowded(&c->modules))
		modules_forget(c);
	c->wanted_count = 0;
	tipme_kernel_source_user_stacks(c->source, want_one, c);
	for (unsigned int i = 0; i < c->wanted_count; i++)
		space_look(c, c->wanted[i].pid, now_ns);
	c->looked_ns = now_ns;
	c->refused = c->modules.refused;
	pthread_mutex_unlock(&c->lock);
}

uint64_t tipmed_code_refused(const struct tipmed_code *c)
{
	return c->refused;
}

/* --- names --- */

struct naming {
	struct tipmed_code *code;
	uint64_t from_ns;
	const struct tipme_numbers *numbers;
	struct tipme_number_sorter sorter;
	struct tipme_elf **elf; /* by module id - 1; NULL: not opened, or not to be opened */
	bool *seen;
};

static const struct mapping *mapping_of(const struct space *s, uint64_t addr)
{
	for (uint32_t i = 0; s && i < s->count; i++)
		if (addr >= s->mapping[i].start && addr < s->mapping[i].end)
			return &s->mapping[i];
	return NULL;
}

static void module_open(struct naming *n, uint32_t module)
{
	if (n->seen[module - 1])
		return;
	n->seen[module - 1] = true;
	tipme_elf_open(&n->elf[module - 1], n->code->modules.at[module - 1].path);
}

/*
 * The module whose file the process had mapped. After an upgrade or a compilation, or in another mount namespace, another file has that path, whose names
 * would be wrong ones: it has another size, or was put there after we last saw the process map the path. Then there is none to be read.
 */
static uint32_t module_true(struct naming *n, const struct space *s, uint32_t module)
{
	char path[sizeof(n->code->found[0].path) + sizeof(DELETED)];

	module_open(n, module);
	const struct tipmed_module *m = &n->code->modules.at[module - 1];
	const struct tipme_elf *elf = n->elf[module - 1];

	if (!elf || (tipme_elf_bytes(elf) == m->bytes && tipme_elf_changed_ns(elf) + TICK_NS < s->looked_real_ns))
		return module;
	snprintf(path, sizeof(path), "%s" DELETED, m->path);
	module = tipmed_modules_number(&n->code->modules, path, m->bytes, s->pid);
	if (module)
		module_open(n, module);
	return module;
}

/* A return address may lie behind its function, if that was left for ever: what called is the byte before. */
static int frame_name(struct naming *n, const struct space *s, uint64_t addr, bool is_leaf, char *buf, size_t len)
{
	const struct mapping *m = mapping_of(s, addr);
	uint32_t module = m && m->module ? module_true(n, s, m->module) : 0;

	if (!module)
		return snprintf(buf, len, "?");
	char name[256];
	uint64_t offset = addr - m->start + m->offset - !is_leaf;

	if (n->elf[module - 1])
		tipme_elf_name(n->elf[module - 1], offset, name, sizeof(name));
	else
		snprintf(name, sizeof(name), "+0x%llx", (unsigned long long)offset);
	return snprintf(buf, len, "%s [%u]", name, module);
}

static int stack_name(void *arg, const struct tipme_user_frames *f)
{
	struct naming *n = arg;
	union {
		struct tipme_user_stack rec;
		char bytes[2040];
	} u = { .rec = { .type = TIPME_USER_STACK, .tid = f->pid,
			 .stack_id = tipme_numbers_find(n->numbers, TIPME_NUMBERED_USER_STACK, f->stack_id) } };
	size_t fixed = offsetof(struct tipme_user_stack, text), room = sizeof(u) - fixed - 8, len = 0;
	const struct space *s = space_of(n->code, f->pid, f->space);

	if (f->used_ns < n->from_ns || !u.rec.stack_id)
		return 0;
	for (unsigned int i = 0; i < f->count; i++) {
		char name[320];
		size_t w = (size_t)frame_name(n, s, f->frames[i], !i, name, sizeof(name));

		if (w >= sizeof(name) || len + w + 1 > room)
			break;
		if (len)
			u.bytes[fixed + len++] = ';';
		memcpy(u.bytes + fixed + len, name, w);
		len += w;
		u.rec.frames++;
	}
	len = (fixed + len + 1 + 7) / 8 * 8;
	u.rec.len8 = (uint8_t)(len / 8);
	return tipme_number_sorter_put(&n->sorter, u.rec.stack_id, &u);
}

static int module_emit(const struct naming *n, uint32_t i, int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	union {
		struct tipme_module rec;
		char bytes[512];
	} u = { .rec = { .type = TIPME_MODULE, .module_id = i + 1, .pid = n->code->modules.at[i].pid } };
	size_t fixed = offsetof(struct tipme_module, path);
	int w = snprintf(u.bytes + fixed, sizeof(u) - fixed - 8, "%s", n->code->modules.at[i].path);
	size_t len = (fixed + (size_t)w + 1 + 7) / 8 * 8;

	if (n->elf[i])
		memcpy(u.rec.build_id, tipme_elf_build_id(n->elf[i]), strlen(tipme_elf_build_id(n->elf[i])));
	u.rec.len8 = (uint8_t)(len / 8);
	return emit(arg, &u, len);
}

int tipmed_code_emit(struct tipmed_code *c, uint64_t from_ns, const struct tipme_numbers *numbers, int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	struct naming n = { .code = c, .from_ns = from_ns, .numbers = numbers, .elf = calloc(TIPMED_MODULES_MAX, sizeof(*n.elf)), .seen = calloc(TIPMED_MODULES_MAX, sizeof(*n.seen)) };
	int ret = n.elf && n.seen ? tipme_number_sorter_new(&n.sorter, tipme_numbers_count(numbers, TIPME_NUMBERED_USER_STACK)) : -ENOMEM;

	pthread_mutex_lock(&c->lock);
	if (!ret)
		ret = tipme_kernel_source_user_stacks(c->source, stack_name, &n);
	if (!ret)
		ret = tipme_number_sorter_emit(&n.sorter, emit, arg);
	for (uint32_t i = 0; i < c->modules.used && !ret; i++)
		if (n.seen[i])
			ret = module_emit(&n, i, emit, arg);
	pthread_mutex_unlock(&c->lock);
	tipme_number_sorter_free(&n.sorter);
	for (uint32_t i = 0; n.elf && i < TIPMED_MODULES_MAX; i++)
		tipme_elf_free(n.elf[i]);
	free(n.elf);
	free(n.seen);
	return ret;
}
