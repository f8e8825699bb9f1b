// SPDX-License-Identifier: GPL-2.0-only
/* Names for the numbers in records: kernel stacks and functions become text. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kallsyms.h"
#include "kernel_source.h"

struct namer {
	const struct tipme_kallsyms *ks;
	int (*emit)(void *arg, const void *rec, size_t len);
	void *arg;
};

union named {
	struct tipme_stack stack;
	struct tipme_function function;
	char bytes[2040]; /* the longest a record can be */
};

/* Pads the text with NUL to a multiple of 8 and emits the record; `fixed` is its size without the text. */
static int emit_named(const struct namer *n, union named *u, size_t fixed, size_t text)
{
	size_t len = (fixed + text + 1 + 7) / 8 * 8;

	u->stack.len8 = len / 8;
	return n->emit(n->arg, u, len);
}

static int emit_stack(void *arg, uint32_t stack_id, const uint64_t *frames, unsigned int count)
{
	union named u = { .stack = { .type = TIPME_STACK, .stack_id = stack_id, .frames = count } };
	size_t fixed = offsetof(struct tipme_stack, text), room = sizeof(u) - fixed - 8, len = 0;

	for (unsigned int i = 0; i < count; i++) {
		char name[160];
		size_t n;

		tipme_kallsyms_name(((struct namer *)arg)->ks, frames[i], name, sizeof(name));
		n = strlen(name);
		if (len + n + 1 > room)
			break;
		if (len)
			u.bytes[fixed + len++] = ';';
		memcpy(u.bytes + fixed + len, name, n);
		len += n;
	}
	return emit_named(arg, &u, fixed, len);
}

static int emit_channel(void *arg, uint32_t stack_id, const char *name)
{
	union named u = { .stack = { .type = TIPME_STACK, .stack_id = stack_id, .frames = 1 } };
	size_t fixed = offsetof(struct tipme_stack, text);

	return emit_named(arg, &u, fixed, (size_t)snprintf(u.bytes + fixed, 160, "%s+0x0", name));
}

static int emit_function(const struct namer *n, uint32_t low)
{
	union named u = { .function = { .type = TIPME_FUNCTION, .function = low } };
	size_t fixed = offsetof(struct tipme_function, name);

	tipme_kallsyms_function(n->ks, low, u.bytes + fixed, 160);
	return emit_named(n, &u, fixed, strlen(u.bytes + fixed));
}

/* A set of functions: open addressing, 0 is no function. */
struct functions {
	uint32_t *slot;
	uint32_t size, used;
};

static int functions_grow(struct functions *f);

static int functions_add(struct functions *f, uint32_t low)
{
	uint32_t i = (low * 2654435761U) & (f->size - 1);

	for (; f->slot[i]; i = (i + 1) & (f->size - 1))
		if (f->slot[i] == low)
			return 0;
	f->slot[i] = low;
	return ++f->used * 2 > f->size ? functions_grow(f) : 0;
}

static int functions_grow(struct functions *f)
{
	struct functions g = { .slot = calloc((size_t)f->size * 2, sizeof(*g.slot)), .size = f->size * 2 };

	if (!g.slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->size; i++)
		if (f->slot[i])
			functions_add(&g, f->slot[i]);
	free(f->slot);
	*f = g;
	return 0;
}

static int functions_collect(struct functions *f, const char *p, size_t len)
{
	int err = 0;

	for (size_t step; len >= sizeof(struct tipme_head) && !err; p += step, len -= step) {
		const struct tipme_work_start *w = (const void *)p;

		step = (size_t)w->len8 * 8;
		if (step < sizeof(struct tipme_head) || step > len)
			return -EINVAL;
		if (w->type == TIPME_WORK_QUEUED)
			err = functions_add(f, ((const struct tipme_work_queued *)w)->function);
		else if (w->type == TIPME_WORK_START || w->type == TIPME_WORK_END)
			err = functions_add(f, w->function);
	}
	return err;
}

int tipme_kernel_source_names(struct tipme_kernel_source *src, const struct tipme_kallsyms *ks, const void *recs,
			      size_t len, int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	struct namer n = { .ks = ks, .emit = emit, .arg = arg };
	struct functions f = { .slot = calloc(256, sizeof(*f.slot)), .size = 256 };
	int err = f.slot ? functions_collect(&f, recs, recs ? len : 0) : -ENOMEM;

	err = err ? err : tipme_kernel_source_stacks(src, emit_stack, &n);
	err = err ? err : tipme_kernel_source_named_stacks(src, emit_channel, &n);
	for (uint32_t i = 0; !err && i < f.size; i++)
		if (f.slot[i])
			err = emit_function(&n, f.slot[i]);
	free(f.slot);
	return err;
}
