// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tracing programs are parts of, and which parts are left out, since the kernel refuses
 * one of their programs: half of them would tell of begins without ends.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "kernel_bpf.h"

/* The class that a program belongs to, by its name; -1: it always runs. */
int tipme_bpf_class_of(const struct bpf_program *prog)
{
	static const char *const prefix[TIPME_CLASSES] = {
		[TIPME_CLASS_IO] = "tipme_io_",
		[TIPME_CLASS_LOCK] = "tipme_lock_",
		[TIPME_CLASS_MEMORY] = "tipme_memory_",
		[TIPME_CLASS_SIGNAL] = "tipme_signal_",
		[TIPME_CLASS_PRIORITY] = "tipme_priority_",
		[TIPME_CLASS_THROTTLE] = "tipme_throttle_",
		[TIPME_CLASS_FREQUENCY] = "tipme_frequency",
		[TIPME_CLASS_IDLE] = "tipme_idle",
		[TIPME_CLASS_SAMPLE] = "tipme_sample_",
		[TIPME_CLASS_IDENTITY] = "tipme_life_",
		[TIPME_CLASS_MIGRATE] = "tipme_migrate_",
		[TIPME_CLASS_INPUT] = "tipme_input_",
		[TIPME_CLASS_WAYLAND] = "tipme_wayland_",
		[TIPME_CLASS_NETWORK] = "tipme_network_",
	};

	for (int i = 0; i < TIPME_CLASSES; i++)
		if (prefix[i] && !strncmp(bpf_program__name(prog), prefix[i], strlen(prefix[i])))
			return i;
	return -1;
}

/* Programs that always run, and without which all others still tell the truth. */
static const char *const dispensable[] = { "tipme_irq_handler_", "tipme_local_timer_",
					   "tipme_reschedule_",	 "tipme_call_function_",
					   "tipme_irq_work_",	 "tipme_softirq_",
					   "tipme_work_",	 "tipme_suspend",
					   "tipme_mappings" };
#define DISPENSABLE (sizeof(dispensable) / sizeof(*dispensable))
_Static_assert(TIPME_CLASSES + DISPENSABLE <= 64, "parts are bits");

/* A number for what is left out together; -1: without it there is no recorder. */
static int part_of(const struct bpf_program *prog)
{
	int which = tipme_bpf_class_of(prog);

	for (size_t i = 0; which < 0 && i < DISPENSABLE; i++)
		if (!strncmp(bpf_program__name(prog), dispensable[i], strlen(dispensable[i])))
			which = TIPME_CLASSES + (int)i;
	return which;
}

void tipme_bpf_leave_out(const struct bpf_source *src)
{
	struct bpf_program *prog;
	int part;

	bpf_object__for_each_program(prog, src->skel->obj)
	{
		part = part_of(prog);
		if (part >= 0 && src->refused & 1ULL << part)
			bpf_program__set_autoload(prog, false);
	}
}

static char refused[64]; /* one thread loads */

/* Which program it was, libbpf tells in its words alone. */
void tipme_bpf_refusal_note(const char *format, va_list args)
{
	static const char begin[] = "prog '", end[] = "': failed to load";
	char text[256], *name, *behind;

	vsnprintf(text, sizeof(text), format, args);
	name = strstr(text, begin);
	behind = name ? strstr(name, end) : NULL;
	if (!behind)
		return;
	*behind = '\0';
	snprintf(refused, sizeof(refused), "%s", name + strlen(begin));
}

static void tell(struct bpf_source *src, int part, int err)
{
	struct tipme_kernel_source *base = &src->base;
	char what[64] = "what belongs to it";

	if (part < TIPME_CLASSES)
		snprintf(what, sizeof(what), "class %s", tipme_classes[part].name);
	if (base->left_out_count == TIPME_LEFT_OUT_MAX)
		return;
	snprintf(
		base->left_out[base->left_out_count++], sizeof(base->left_out[0]),
		"the kernel refuses the tracing program %s (%s): %s is left out; TIPME_LIBBPF_DEBUG=1 shows its reasons",
		refused, strerror(-err), what);
}

int tipme_bpf_refusal_take(struct bpf_source *src, int err)
{
	const struct bpf_program *prog =
		*refused ? bpf_object__find_program_by_name(src->skel->obj, refused) : NULL;
	int part = prog && err != -ENOMEM ? part_of(prog) : -1;

	if (part < 0 || src->refused & 1ULL << part)
		return 0;
	src->refused |= 1ULL << part;
	tell(src, part, err);
	*refused = '\0';
	return 1;
}
