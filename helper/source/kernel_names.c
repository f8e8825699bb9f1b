// SPDX-License-Identifier: GPL-2.0-only
/* Names for the numbers in records: kernel stacks and functions become text. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kallsyms.h"
#include "kernel_numbers.h"
#include "kernel_source.h"
#include "kernel_tables.h"

struct namer {
	const struct tipme_kallsyms *ks;
	/* NULL: for root's own eyes, as the recorder has them */
	const struct tipme_numbers *numbers;
	struct tipme_number_sorter sorter;
	int (*emit)(void *arg, const void *rec, size_t len);
	void *arg;
};

union named {
	struct tipme_stack stack;
	struct tipme_function function;
	char bytes[2040]; /* the longest a record can be */
};

/*
 * Pads the text with NUL to a multiple of 8; `fixed` is its size without the text. Returns its
 * length.
 */
static size_t named_end(union named *u, size_t fixed, size_t text)
{
	size_t len = (fixed + text + 1 + 7) / 8 * 8;

	u->stack.len8 = len / 8;
	return len;
}

/* Emits it, or keeps it for its turn, if a record names it. */
static int stack_done(struct namer *n, union named *u, size_t fixed, size_t text)
{
	size_t len = named_end(u, fixed, text);

	return n->numbers ? tipme_number_sorter_put(&n->sorter, u->stack.stack_id, u)
			  : n->emit(n->arg, u, len);
}

/* The id under which it is emitted; 0: no record names it. */
static uint32_t stack_number(const struct namer *n, uint32_t stack_id)
{
	return n->numbers ? tipme_numbers_find(n->numbers, TIPME_NUMBERED_STACK, stack_id)
			  : stack_id;
}

static int emit_stack(void *arg, uint32_t stack_id, const uint64_t *frames, unsigned int count)
{
	struct namer *namer = arg;
	union named u = { .stack = { .type = TIPME_STACK,
				     .stack_id = stack_number(namer, stack_id),
				     .frames = count } };
	size_t fixed = offsetof(struct tipme_stack, text), room = sizeof(u) - fixed - 8, len = 0;

	for (unsigned int i = 0; i < count && u.stack.stack_id; i++) {
		char name[160];
		size_t n;

		if (frames[i] == TIPME_STACK_GAP)
			snprintf(name, sizeof(name), "...");
		else
			tipme_kallsyms_name(namer->ks, frames[i], name, sizeof(name));
		n = strlen(name);
		if (len + n + 1 > room)
			break;
		if (len)
			u.bytes[fixed + len++] = ';';
		memcpy(u.bytes + fixed + len, name, n);
		len += n;
	}
	return u.stack.stack_id ? stack_done(namer, &u, fixed, len) : 0;
}

static int emit_channel(void *arg, uint32_t stack_id, const char *name)
{
	struct namer *n = arg;
	union named u = {
		.stack = { .type = TIPME_STACK, .stack_id = stack_number(n, stack_id), .frames = 1 }
	};
	size_t fixed = offsetof(struct tipme_stack, text);

	if (!u.stack.stack_id)
		return 0;
	return stack_done(n, &u, fixed, (size_t)snprintf(u.bytes + fixed, 160, "%s+0x0", name));
}

static int emit_function(const struct namer *n, uint32_t function, uint32_t low)
{
	union named u = { .function = { .type = TIPME_FUNCTION, .function = function } };
	size_t fixed = offsetof(struct tipme_function, name);

	tipme_kallsyms_function(n->ks, low, u.bytes + fixed, 160);
	return n->emit(n->arg, &u, named_end(&u, fixed, strlen(u.bytes + fixed)));
}

static int emit_stacks(struct tipme_kernel_source *src, struct namer *n)
{
	int err = n->numbers ? tipme_number_sorter_new(&n->sorter,
						       tipme_numbers_count(n->numbers,
									   TIPME_NUMBERED_STACK))
			     : 0;

	err = err ? err : tipme_kernel_source_stacks(src, emit_stack, n);
	err = err ? err : tipme_kernel_source_named_stacks(src, emit_channel, n);
	err = err ? err : tipme_number_sorter_emit(&n->sorter, n->emit, n->arg);
	tipme_number_sorter_free(&n->sorter);
	return err;
}

int tipme_kernel_source_names(struct tipme_kernel_source *src, const struct tipme_kallsyms *ks,
			      const struct tipme_numbers *numbers,
			      int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	struct namer n = { .ks = ks, .numbers = numbers, .emit = emit, .arg = arg };
	int err = emit_stacks(src, &n);

	for (uint32_t i = 1; !err && i <= tipme_numbers_count(numbers, TIPME_NUMBERED_FUNCTION);
	     i++)
		err = emit_function(
			&n, i, (uint32_t)tipme_numbers_what(numbers, TIPME_NUMBERED_FUNCTION, i));
	return err;
}

/* Which functions there are, is learned from a copy of the records. */
static int functions_of(const void *recs, size_t len, struct tipme_numbers *numbers)
{
	void *copy = malloc(len ? len : 1);
	int err = copy ? 0 : -ENOMEM;

	if (!err && len)
		memcpy(copy, recs, len);
	err = err ? err : tipme_numbers_apply(numbers, copy, len);
	free(copy);
	return err;
}

int tipme_kernel_source_names_bare(struct tipme_kernel_source *src, const struct tipme_kallsyms *ks,
				   const void *recs, size_t len,
				   int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	struct namer n = { .ks = ks, .emit = emit, .arg = arg };
	struct tipme_numbers *numbers = NULL;
	int err = tipme_numbers_new(&numbers);

	err = err ? err : functions_of(recs, recs ? len : 0, numbers);
	err = err ? err : emit_stacks(src, &n);
	for (uint32_t i = 1; !err && i <= tipme_numbers_count(numbers, TIPME_NUMBERED_FUNCTION);
	     i++) {
		uint32_t low = (uint32_t)tipme_numbers_what(numbers, TIPME_NUMBERED_FUNCTION, i);

		err = emit_function(&n, low, low);
	}
	tipme_numbers_free(numbers);
	return err;
}
