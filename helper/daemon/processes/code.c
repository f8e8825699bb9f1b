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

#include "clock.h"
#include "code.h"
#include "elf_reader.h"
#include "kernel_numbers.h"
#include "modules.h"

#define SPACES_MAX 512U
#define MAPPINGS_MAX 512U
/* Files are dated by the clock of the last tick. */
#define TICK_NS 20000000
/* What the kernel appends to the path of a file in whose place there is another, or none. */
#define DELETED " (deleted)"
/*
 * More processes than this do not get a look in one second. Of a storm those get it that have
 * waited longest: short ones have gone then, and want none.
 */
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

/*
 * A process with a stack that was used since the last look, and not there when its mappings were
 * last seen.
 */
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

/*
 * What has the pid now: perhaps not what had it when the stack was taken, of which nobody will know
 * more, then.
 */
static void space_look(struct tipmed_code *c, uint32_t pid, uint64_t now_ns)
{
	struct timespec real;

	/* before the look: what is changed after it is changed after this */
	clock_gettime(CLOCK_REALTIME, &real);
	int n = tipme_kernel_source_mappings(c->source, pid, c->found, MAPPINGS_MAX);
	struct mapping *m = n > 0 ? calloc((size_t)n, sizeof(*m)) : NULL;
	struct space *s;

	if (!m)
		return; /* it is gone: what was seen of it before is all there is */
	for (int i = 0; i < n; i++) {
		c->found[i].path[sizeof(c->found[i].path) - 1] = '\0';
		m[i] = (struct mapping){ c->found[i].start, c->found[i].end, c->found[i].offset,
					 c->found[i].path[0]
						 ? tipmed_modules_number(&c->modules,
									 c->found[i].path,
									 c->found[i].bytes, pid)
						 : 0 };
	}
	s = space_of(c, pid, c->found[0].space);
	if (!s)
		s = space_oldest(c);
	free(s->mapping);
	*s = (struct space){ c->found[0].space,
			     pid,
			     (uint32_t)n,
			     now_ns,
			     (int64_t)real.tv_sec * 1000000000 + real.tv_nsec,
			     m };
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
	/*
	 * The writer may hold it while it reads files: what is missed now is looked at in a second.
	 */
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

/*
 * For one file; and for all files of an episode. Whoever waits for that waits for a name, and an
 * address does as well.
 */
#define FILE_PATIENCE_NS (5 * TIPME_NS_PER_S)
#define PATIENCE_NS (10 * TIPME_NS_PER_S)

/* What stacks want to know of one file, and what its reader said. */
struct asked {
	uint64_t *offset; /* in order, each once, when it is asked */
	uint32_t count, room;
	bool answered;
	bool seen; /* a stack names it */
	struct tipmed_elf_answer answer;
};

struct naming {
	struct tipmed_code *code;
	uint64_t from_ns;
	const struct tipme_numbers *numbers;
	struct tipme_user_frames *stack; /* those that a record names, by its number */
	struct asked *asked; /* by module id - 1 */
	uint64_t deadline_ns;
};

static const struct mapping *mapping_of(const struct space *s, uint64_t addr)
{
	for (uint32_t i = 0; s && i < s->count; i++)
		if (addr >= s->mapping[i].start && addr < s->mapping[i].end)
			return &s->mapping[i];
	return NULL;
}

/*
 * A return address may lie behind its function, if that was left for ever: what called is the byte
 * before.
 */
static uint64_t offset_of(const struct mapping *m, uint64_t addr, bool is_leaf)
{
	return addr - m->start + m->offset - !is_leaf;
}

static int offset_add(struct asked *a, uint64_t offset)
{
	if (a->count == a->room) {
		uint32_t room = a->room ? a->room * 2 : 16;
		uint64_t *more = realloc(a->offset, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		a->offset = more;
		a->room = room;
	}
	a->offset[a->count++] = offset;
	return 0;
}

static int stack_take(void *arg, const struct tipme_user_frames *f)
{
	struct naming *n = arg;
	uint32_t number = tipme_numbers_find(n->numbers, TIPME_NUMBERED_USER_STACK, f->stack_id);
	const struct space *s = space_of(n->code, f->pid, f->space);
	int err = 0;

	if (f->used_ns < n->from_ns || !number)
		return 0;
	n->stack[number - 1] = *f;
	for (unsigned int i = 0; i < f->count && !err; i++) {
		const struct mapping *m = mapping_of(s, f->frames[i]);

		if (m && m->module)
			err = offset_add(&n->asked[m->module - 1], offset_of(m, f->frames[i], !i));
	}
	return err;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void module_ask(const struct naming *n, struct tipmed_module *m, struct asked *a)
{
	uint64_t now = tipme_clock_ns(), file_ns = now + FILE_PATIENCE_NS;
	uint32_t count = 1;

	qsort(a->offset, a->count, sizeof(*a->offset), by_value);
	for (uint32_t i = 1; i < a->count; i++)
		if (a->offset[i] != a->offset[i - 1])
			a->offset[count++] = a->offset[i];
	a->count = count;
	if (m->hangs || now >= n->deadline_ns)
		return;
	int err = tipmed_elf_reader_ask(m->path, a->offset, count,
					file_ns < n->deadline_ns ? file_ns : n->deadline_ns,
					&a->answer);

	a->answered = !err;
	m->hangs = err == -ETIMEDOUT;
}

/*
 * The module whose file the process had mapped. After an upgrade or a compilation, or in another
 * mount namespace, another file has that path, whose names would be wrong ones: it has another
 * size, or was put there after we last saw the process map the path. Then there is none to be read.
 */
static uint32_t module_true(const struct naming *n, const struct space *s, uint32_t module)
{
	char path[sizeof(n->code->found[0].path) + sizeof(DELETED)];
	const struct tipmed_module *m = &n->code->modules.at[module - 1];
	const struct asked *a = &n->asked[module - 1];

	if (!a->answered ||
	    (a->answer.bytes == m->bytes && a->answer.changed_ns + TICK_NS < s->looked_real_ns))
		return module;
	snprintf(path, sizeof(path), "%s" DELETED, m->path);
	return tipmed_modules_number(&n->code->modules, path, m->bytes, s->pid);
}

static const char *name_of(const struct asked *a, uint64_t offset)
{
	const uint64_t *at =
		a->answered ? bsearch(&offset, a->offset, a->count, sizeof(offset), by_value)
			    : NULL;

	return at ? a->answer.name[at - a->offset] : NULL;
}

static int frame_name(const struct naming *n, const struct space *s, uint64_t addr, bool is_leaf,
		      char *buf, size_t len)
{
	const struct mapping *m = mapping_of(s, addr);
	uint32_t module = m && m->module ? module_true(n, s, m->module) : 0;

	if (!module)
		return snprintf(buf, len, "?");
	uint64_t offset = offset_of(m, addr, is_leaf);
	const char *name = name_of(&n->asked[module - 1], offset);

	n->asked[module - 1].seen = true;
	if (name)
		return snprintf(buf, len, "%s [%u]", name, module);
	return snprintf(buf, len, "+0x%llx [%u]", (unsigned long long)offset, module);
}

static int stack_emit(const struct naming *n, uint32_t number,
		      int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	const struct tipme_user_frames *f = &n->stack[number - 1];
	union {
		struct tipme_user_stack rec;
		char bytes[2040];
	} u = { .rec = { .type = TIPME_USER_STACK, .tid = f->pid, .stack_id = number } };
	size_t fixed = offsetof(struct tipme_user_stack, text), room = sizeof(u) - fixed - 8,
	       len = 0;
	const struct space *s = space_of(n->code, f->pid, f->space);

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
	return emit(arg, &u, len);
}

static int module_emit(const struct naming *n, uint32_t i,
		       int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	union {
		struct tipme_module rec;
		char bytes[512];
	} u = { .rec = { .type = TIPME_MODULE,
			 .module_id = i + 1,
			 .pid = n->code->modules.at[i].pid } };
	size_t fixed = offsetof(struct tipme_module, path);
	int w = snprintf(u.bytes + fixed, sizeof(u) - fixed - 8, "%s", n->code->modules.at[i].path);
	size_t len = (fixed + (size_t)w + 1 + 7) / 8 * 8;
	const char *build_id = n->asked[i].answer.build_id;

	memcpy(u.rec.build_id, build_id, strlen(build_id));
	u.rec.len8 = (uint8_t)(len / 8);
	return emit(arg, &u, len);
}

/*
 * The stacks first, then the files that they lie in, one after the other; only then is anything
 * named.
 */
static int all_ask(struct naming *n)
{
	int err = tipme_kernel_source_user_stacks(n->code->source, stack_take, n);

	n->deadline_ns = tipme_clock_ns() + PATIENCE_NS;
	for (uint32_t i = 0; i < n->code->modules.used && !err; i++)
		if (n->asked[i].count)
			module_ask(n, &n->code->modules.at[i], &n->asked[i]);
	tipmed_elf_reader_rest();
	return err;
}

int tipmed_code_emit(struct tipmed_code *c, uint64_t from_ns, const struct tipme_numbers *numbers,
		     int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	uint32_t stacks = tipme_numbers_count(numbers, TIPME_NUMBERED_USER_STACK);
	struct naming n = { .code = c,
			    .from_ns = from_ns,
			    .numbers = numbers,
			    .stack = calloc(stacks + 1, sizeof(*n.stack)),
			    .asked = calloc(TIPMED_MODULES_MAX, sizeof(*n.asked)) };
	int ret = n.stack && n.asked ? 0 : -ENOMEM;

	pthread_mutex_lock(&c->lock);
	if (!ret)
		ret = all_ask(&n);
	for (uint32_t i = 1; i <= stacks && !ret; i++)
		if (n.stack[i - 1].count)
			ret = stack_emit(&n, i, emit, arg);
	for (uint32_t i = 0; i < c->modules.used && !ret; i++)
		if (n.asked[i].seen)
			ret = module_emit(&n, i, emit, arg);
	pthread_mutex_unlock(&c->lock);
	for (uint32_t i = 0; n.asked && i < TIPMED_MODULES_MAX; i++) {
		free(n.asked[i].offset);
		tipmed_elf_answer_free(&n.asked[i].answer);
	}
	free(n.asked);
	free(n.stack);
	return ret;
}
