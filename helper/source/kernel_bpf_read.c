// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tracing programs have found, but for records and processes: pictures of all threads,
 * stacks, mappings, sleeps of the machine.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "clock.h"
#include "kernel_bpf.h"

_Static_assert(sizeof(struct tipme_kernel_thread) == sizeof(struct tipme_picture_entry),
	       "pictures are read into place");

struct tipme_kernel_tables tipme_bpf_tables_of(const struct bpf_source *src)
{
	return (struct tipme_kernel_tables){
		.cpus = src->cpus.base,
		.cpu_count = src->base.view.cpus,
		.slots = src->skel->rodata->tipme_pool_slots,
		.stacks = src->stacks.base,
		.stack_base = src->beside ? TIPME_STACKS_BESIDE : 0,
		.stack_entries = src->opt.stack_entries,
	};
}

/*
 * Whatever lies between two that have begun since then, lies between these, too. Nobody writes: who
 * would be awake to ask?
 */
int tipme_bpf_suspended(struct tipme_kernel_source *base, uint64_t since_ns, uint64_t *from_ns,
			uint64_t *to_ns)
{
	const struct kernel_source_bpf__bss *bss = bpf_of(base)->skel->bss;
	int err = -ENOENT;

	for (uint32_t n = bss->tipme_suspend_count, i = n > TIPME_SUSPENDS ? n - TIPME_SUSPENDS : 0;
	     i < n; i++) {
		const struct tipme_suspended *s =
			(const void *)&bss->tipme_suspends[i % TIPME_SUSPENDS];

		if (!s->to_ns || s->from_ns < since_ns)
			continue;
		*from_ns = err ? s->from_ns : *from_ns;
		*to_ns = s->to_ns;
		err = 0;
	}
	return err;
}

/* Reads whole entries while there is room, then only counts. Returns the number seen or -errno. */
static int picture_read(int fd, struct tipme_kernel_thread *threads, unsigned int max,
			unsigned int *filled)
{
	struct tipme_kernel_thread spill[64];
	size_t room = (size_t)max * sizeof(*threads), len = 0;

	for (;;) {
		int full = len >= room;
		ssize_t n = full ? read(fd, spill, sizeof(spill))
				 : read(fd, (char *)threads + len, room - len);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += n;
	}
	*filled = len < room ? len / sizeof(*threads) : max;
	return len / sizeof(*threads);
}

int tipme_bpf_picture(struct tipme_kernel_source *base, struct tipme_picture *picture,
		      struct tipme_kernel_thread *threads, unsigned int max)
{
	struct bpf_source *src = bpf_of(base);
	unsigned int filled = 0;
	int fd = bpf_iter_create(bpf_link__fd(src->skel->links.tipme_picture));
	int seen;

	if (fd < 0)
		return -errno;
	*picture = (struct tipme_picture){ .ts_ns = tipme_clock_ns(),
					   .type = TIPME_PICTURE,
					   .len8 = sizeof(*picture) / 8 };
	seen = picture_read(fd, threads, max, &filled);
	close(fd);
	if (seen < 0)
		return seen;
	picture->threads = seen;
	picture->changed = filled;
	picture->end_ns = tipme_clock_ns();
	return filled;
}

int tipme_bpf_stacks(struct tipme_kernel_source *base,
		     int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
			       unsigned int count),
		     void *arg)
{
	const struct tipme_kernel_tables tables = tipme_bpf_tables_of(bpf_of(base));

	return tipme_kernel_tables_stacks(&tables, fn, arg);
}

static int user_stack_read(const struct tipme_user_stack_entry *e,
			   struct tipme_user_stack_entry *out)
{
	const volatile struct tipme_user_stack_entry *v = e;
	uint64_t key = v->key;
	uint32_t gen = v->gen;

	__asm__ volatile("" ::: "memory");
	memcpy(out, e, sizeof(*out));
	__asm__ volatile("" ::: "memory");
	return key > TIPME_STACK_BUSY && v->gen == gen && v->key == key && out->count &&
	       out->count <= TIPME_USER_FRAMES;
}

int tipme_bpf_user_stacks(struct tipme_kernel_source *base,
			  int (*fn)(void *arg, const struct tipme_user_frames *f), void *arg)
{
	struct bpf_source *src = bpf_of(base);
	const struct tipme_user_stack_entry *table = src->user_stacks.base;

	for (uint32_t i = 0; i < src->user_entries; i++) {
		struct tipme_user_stack_entry e;
		struct tipme_user_frames f;
		int ret;

		if (!user_stack_read(&table[i], &e))
			continue;
		f = (struct tipme_user_frames){ (e.gen << 16) | (i + 1),
						e.pid,
						e.count,
						e.used_ns,
						e.first_ns,
						e.space,
						{ 0 } };
		memcpy(f.frames, e.frames, sizeof(f.frames));
		ret = fn(arg, &f);
		if (ret)
			return ret;
	}
	return 0;
}

void tipme_bpf_stacks_old(struct tipme_kernel_source *base, uint64_t before_ns)
{
	*(volatile __u64 *)&bpf_of(base)->skel->bss->tipme_stack_old_ns = before_ns;
}

int tipme_bpf_mappings(struct tipme_kernel_source *base, uint32_t pid, struct tipme_mapping *m,
		       unsigned int max)
{
	struct bpf_source *src = bpf_of(base);
	union bpf_iter_link_info info = { .task.pid = pid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(src->skel->progs.tipme_mappings, &opts);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1, err = fd < 0 ? -errno : 0;
	size_t len = 0, room = max * sizeof(*m);

	while (!err && len < room) {
		ssize_t n = read(fd, (char *)m + len, room - len);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		len += n;
	}
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err ? err : (int)(len / sizeof(*m));
}
