// SPDX-License-Identifier: GPL-2.0-only
/* Record classes: their names, what they say, and which are on unless somebody says otherwise. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "kernel_backend.h"

/*
 * On by default is what a verdict needs; off is what it can derive from other records, at a price.
 */
const struct tipme_class tipme_classes[TIPME_CLASSES] = {
	[TIPME_CLASS_IO] = { "io", "block requests from the asker to the device and back", 1 },
	[TIPME_CLASS_LOCK] = { "lock_contention", "waits for kernel locks, and who holds them", 1 },
	[TIPME_CLASS_MEMORY] = { "memory_wait",
				 "reclaim, compaction and page faults that read, in a thread's own time",
				 1 },
	[TIPME_CLASS_IRQ] = { "irq", "interrupts and softirqs of 100 us and more", 1 },
	[TIPME_CLASS_SIGNAL] = { "signal", "signals that stop, continue or end", 1 },
	[TIPME_CLASS_PRIORITY] = { "priority",
				   "priorities that others set, or that who waits for a lock lends; on which CPUs threads may run",
				   1 },
	[TIPME_CLASS_THROTTLE] = { "cpu_throttle", "cgroups that ran out of their CPU quota", 1 },
	[TIPME_CLASS_FREQUENCY] = { "cpu_frequency", "changes of a CPU's frequency", 1 },
	[TIPME_CLASS_IDLE] = { "cpu_idle", "idle states that take 50 us and more to leave", 1 },
	[TIPME_CLASS_STEAL] = { "steal", "time that the host of this virtual machine took", 1 },
	[TIPME_CLASS_SAMPLE] = { "sample", "what busy CPUs do, 99 times a second, with stacks", 1 },
	[TIPME_CLASS_IDENTITY] = { "identity", "programs, arguments and ends of processes", 1 },
	[TIPME_CLASS_MIGRATE] = { "migrate", "threads that are moved to another CPU", 0 },
	[TIPME_CLASS_INPUT] = { "input",
				"when an input device told the kernel of an event; never which key",
				1 },
	[TIPME_CLASS_MEMORY_STATE] = { "memory_state",
				       "each second: free memory, swap, how long threads waited for memory",
				       1 },
	[TIPME_CLASS_SPEED] = { "cpu_speed",
				"each second: how fast CPUs may run and do, and whether on battery",
				1 },
	[TIPME_CLASS_MESSAGE] = { "kernel_message",
				  "that the kernel reported a reset, an error, heat: kind and device, never the text",
				  1 },
	[TIPME_CLASS_WAYLAND] = { "wayland",
				  "what Wayland compositors of the owner send their clients, and when those draw; never which key",
				  1 },
	[TIPME_CLASS_NETWORK] = { "network",
				  "what kind of service a thread asked over the network, and what had to be sent again; no address, no port",
				  1 },
};

int tipme_class_find(const char *name, size_t len)
{
	for (int i = 0; i < TIPME_CLASSES; i++)
		if (strlen(tipme_classes[i].name) == len &&
		    !memcmp(tipme_classes[i].name, name, len))
			return i;
	return -ENOENT;
}

uint32_t tipme_classes_default(void)
{
	uint32_t mask = 0;

	for (int i = 0; i < TIPME_CLASSES; i++)
		mask |= tipme_classes[i].on ? 1U << i : 0;
	return mask;
}

static int word_apply(const char *word, size_t len, uint32_t *mask)
{
	int off = *word == '-', sign = off || *word == '+';
	int which = tipme_class_find(word + sign, len - sign);

	if (len == 3 && !memcmp(word, "all", 3))
		*mask = (1U << TIPME_CLASSES) - 1;
	else if (len == 4 && !memcmp(word, "none", 4))
		*mask = 0;
	else if (which < 0)
		return which;
	else if (off)
		*mask &= ~(1U << which);
	else
		*mask |= 1U << which;
	return 0;
}

int tipme_classes_parse(const char *text, uint32_t *mask)
{
	uint32_t m = *text == '+' || *text == '-' ? *mask : 0;

	while (*text) {
		size_t len = strcspn(text, ",");
		int err = word_apply(text, len, &m);

		if (err)
			return err;
		text += len + (text[len] == ',');
	}
	*mask = m;
	return 0;
}

uint32_t tipme_kernel_source_classes(const struct tipme_kernel_source *src, uint32_t *able)
{
	*able = src->classes_able;
	return src->classes;
}

int tipme_kernel_source_class_set(struct tipme_kernel_source *src, unsigned int which, int on)
{
	int err;

	if (which >= TIPME_CLASSES)
		return -EINVAL;
	if (!(src->classes_able & 1U << which) || !src->backend->class_set)
		return on ? -ENOTSUP : 0;
	if (!(src->classes & 1U << which) == !on)
		return 0;
	err = src->backend->class_set(src, which, on);
	if (err)
		return err;
	src->classes ^= 1U << which;
	return 0;
}

int tipme_kernel_source_cpus_look(struct tipme_kernel_source *src)
{
	return src->backend->cpus_look ? src->backend->cpus_look(src) : 0;
}

int tipme_kernel_source_wayland_fd(struct tipme_kernel_source *src, uint64_t *memory)
{
	src = tipme_kernel_source_of_class(src, TIPME_CLASS_WAYLAND);
	*memory = src->view.start_ns;
	return src->backend->wayland_fd ? src->backend->wayland_fd(src) : -1;
}

void tipme_kernel_source_wayland_look(struct tipme_kernel_source *src)
{
	src = tipme_kernel_source_of_class(src, TIPME_CLASS_WAYLAND);
	if (src->backend->wayland_look)
		src->backend->wayland_look(src);
}
