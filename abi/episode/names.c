// SPDX-License-Identifier: GPL-2.0-only
/*
 * What records name by a number: user stacks, files of code, disks, interrupt lines. How a stack is
 * told is as in Tipme::Functions.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "episode/private.h"

struct name {
	uint32_t id, order;
	char *text;
};

struct names {
	struct name *at;
	size_t count, room;
};

struct tipme_names {
	struct names stacks, modules, disks,
		irqs; /* by id; of several with one id the last counts */
};

static int name_add(struct names *n, uint32_t id, const struct tipme_rec *r, size_t offset)
{
	char text[2048];

	if (tipme_grow(&n->at, &n->room, n->count + 1, sizeof(*n->at)))
		return -ENOMEM;
	tipme_record_text(r, offset, 0, text, sizeof(text));
	n->at[n->count] = (struct name){ id, (uint32_t)n->count, strdup(text) };
	if (!n->at[n->count].text)
		return -ENOMEM;
	n->count++;
	return 0;
}

static int add_record(void *arg, const struct tipme_rec *r)
{
	struct tipme_names *nm = arg;

	switch (r->type) {
	case TIPME_USER_STACK:
		return name_add(&nm->stacks, (uint32_t)TIPME_FIELD(r, user_stack, stack_id), r,
				offsetof(struct tipme_user_stack, text));
	case TIPME_MODULE:
		return name_add(&nm->modules, (uint32_t)TIPME_FIELD(r, module, module_id), r,
				offsetof(struct tipme_module, path));
	case TIPME_DISK_NAME:
		return name_add(&nm->disks, (uint32_t)TIPME_FIELD(r, disk_name, dev), r,
				offsetof(struct tipme_disk_name, name));
	case TIPME_IRQ_NAME:
		return name_add(&nm->irqs, (uint32_t)TIPME_FIELD(r, irq_name, number), r,
				offsetof(struct tipme_irq_name, name));
	}
	return 0;
}

static int by_id(const void *one, const void *other)
{
	const struct name *a = one, *b = other;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void names_sort(struct names *n)
{
	if (n->count)
		qsort(n->at, n->count, sizeof(*n->at), by_id);
}

static void names_free(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->at[i].text);
	free(n->at);
}

static const char *name_of(const struct names *n, uint32_t id)
{
	size_t lo = 0, hi = n->count;

	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;

		if (n->at[m].id <= id)
			lo = m + 1;
		else
			hi = m;
	}
	return lo && n->at[lo - 1].id == id ? n->at[lo - 1].text : NULL;
}

int tipme_names_load(struct tipme_names **to, struct tipme_episode *ep)
{
	struct tipme_names *nm = calloc(1, sizeof(*nm));
	int err = nm ? 0 : -ENOMEM;

	*to = NULL;
	for (size_t i = 0; !err && i < ep->section_count; i++)
		if (ep->sections[i].source == TIPME_SOURCE_TIPMED)
			err = tipme_section_each(ep, &ep->sections[i], add_record, nm);
	if (err) {
		tipme_names_free(nm);
		return err;
	}
	names_sort(&nm->stacks);
	names_sort(&nm->modules);
	names_sort(&nm->disks);
	names_sort(&nm->irqs);
	*to = nm;
	return 0;
}

void tipme_names_free(struct tipme_names *nm)
{
	if (!nm)
		return;
	names_free(&nm->stacks);
	names_free(&nm->modules);
	names_free(&nm->disks);
	names_free(&nm->irqs);
	free(nm);
}

const char *tipme_names_disk(const struct tipme_names *nm, uint32_t dev)
{
	return name_of(&nm->disks, dev);
}

const char *tipme_names_irq(const struct tipme_names *nm, uint32_t line)
{
	return name_of(&nm->irqs, line);
}

/* ---- one sample ---- */

struct writer {
	char *to;
	size_t size, len;
};

static void put(struct writer *w, const char *text, size_t len)
{
	for (size_t i = 0; i < len && w->len + 1 < w->size; i++)
		w->to[w->len++] = text[i];
	w->to[w->len] = '\0';
}

/* The length up to the last "+0x1f" or "+1f", or all. */
static size_t symbol_length(const char *frame, size_t len)
{
	size_t at = len;

	while (at && frame[at - 1] != '+')
		at--;
	if (!at || at == len)
		return len;
	size_t digits = at;

	if (len - at > 2 && frame[at] == '0' && frame[at + 1] == 'x')
		digits += 2;
	return strspn(frame + digits, "0123456789abcdef") >= len - digits ? at - 1 : len;
}

/*
 * A sample by the clock comes where interrupts are let in again, not in what kept them out: its
 * caller is meant.
 */
static bool lets_in(const char *frame, size_t len)
{
	static const char *const names[] = { "_raw_spin_unlock_irq",
					     "_raw_read_unlock_irq",
					     "_raw_write_unlock_irq",
					     "_raw_spin_unlock_irqrestore",
					     "_raw_read_unlock_irqrestore",
					     "_raw_write_unlock_irqrestore",
					     "__raw_spin_unlock_irq",
					     "__raw_spin_unlock_irqrestore",
					     "local_irq_enable",
					     "arch_local_irq_enable",
					     "arch_local_irq_restore",
					     "trace_hardirqs_on" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], frame, len))
			return true;
	return false;
}

static void put_kernel(struct writer *w, const char *text)
{
	bool innermost = true;

	while (text && *text) {
		size_t all = strcspn(text, ";"), plus = strcspn(text, "+;");
		bool more = text[all] == ';' && text[all + 1];

		if (!innermost || !more || !lets_in(text, plus)) {
			put(w, text, plus);
			put(w, "\tkernel\n", 8);
			innermost = false;
		}
		text += all + (text[all] == ';');
	}
}

/* "+0x1f [3]": a place in a file that has no symbols. */
static void put_user_frame(struct writer *w, const struct tipme_names *nm, const char *frame,
			   size_t len)
{
	const char *bracket = NULL, *path = NULL;
	size_t end = len;

	for (size_t i = len; i-- > 0 && !bracket;)
		if (frame[i] == '[')
			bracket = frame + i;
	if (bracket && frame[len - 1] == ']' && bracket[1] >= '0' && bracket[1] <= '9') {
		path = name_of(&nm->modules, (uint32_t)strtoul(bracket + 1, NULL, 10));
		end = (size_t)(bracket - frame);
	}
	while (end && frame[end - 1] == ' ')
		end--;
	size_t symbol = symbol_length(frame, end);
	const char *file = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (symbol)
		put(w, frame, symbol);
	else if (end)
		put(w, frame, end);
	else
		put(w, "?", 1);
	put(w, "\t", 1);
	put(w, file && *file ? file : "?", strlen(file && *file ? file : "?"));
	put(w, "\n", 1);
}

size_t tipme_names_frames(const struct tipme_names *nm, const struct tipme_threads *th,
			  uint32_t kernel_id, uint32_t user_id, char *to, size_t size)
{
	struct writer w = { to, size, 0 };
	const char *user = user_id ? name_of(&nm->stacks, user_id) : NULL;

	to[0] = '\0';
	put_kernel(&w, tipme_threads_stack(th, kernel_id));
	while (user && *user) {
		size_t len = strcspn(user, ";");

		put_user_frame(&w, nm, user, len);
		user += len + (user[len] == ';');
	}
	return w.len;
}
