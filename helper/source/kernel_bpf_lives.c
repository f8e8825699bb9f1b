// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes births, programs and ends of processes from the queue that the tracing programs fill.
 *
 * libbpf would map the queue twice, so that a record that passes its end lies in one piece. That
 * counts each of its pages twice in what we have resident. The longest record is enough.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "kernel_bpf.h"

struct life_taker {
	int (*fn)(void *arg, const struct tipme_life *life);
	void *arg;
};

_Static_assert(sizeof(((struct tipme_life_exec *)0)->exe) == TIPME_LIFE_EXE_BYTES &&
		       sizeof(((struct tipme_life_exec *)0)->args) == TIPME_LIFE_ARGS_BYTES &&
		       sizeof(((struct tipme_life_exec *)0)->env) == TIPME_LIFE_ENV_BYTES,
	       "texts of programs are unpacked");

/* Texts that lie one after the other, each to its place. Returns 0 where they do not fit. */
static int life_unpack(struct tipme_life_exec *e, const void *data, size_t len)
{
	const struct tipme_life *l = data;
	const char *text = (const char *)(l + 1);

	if (l->exe_len > sizeof(e->exe) || l->args_len > sizeof(e->args) ||
	    l->env_len > sizeof(e->env) || len < sizeof(*l) + l->exe_len + l->args_len + l->env_len)
		return 0;
	e->head = *l;
	memcpy(e->exe, text, l->exe_len);
	memcpy(e->args, text + l->exe_len, l->args_len);
	memcpy(e->env, text + l->exe_len + l->args_len, l->env_len);
	return 1;
}

static void life_taken(struct bpf_source *src, const struct life_taker *taker, const void *data,
		       size_t len)
{
	const struct tipme_life *life = data;

	if (len < sizeof(*life))
		return;
	if (life->kind != TIPME_LIFE_EXEC)
		taker->fn(taker->arg, life);
	else if (life_unpack(&src->exec, data, len))
		taker->fn(taker->arg, &src->exec.head);
}

/* What is mapped of the queue: where it is filled up to, what it holds, and its beginning again. */
static size_t bytes_mapped(size_t page)
{
	size_t longest = BPF_RINGBUF_HDR_SZ + sizeof(struct tipme_life) + TIPME_LIFE_TEXT_BYTES;

	return page + TIPME_LIVES_BYTES + (longest + page - 1) / page * page;
}

static int queue_map(struct bpf_lives *q, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	q->taken = (struct map_memory){ p, page };
	p = mmap(NULL, bytes_mapped(page), PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (p == MAP_FAILED)
		return -errno;
	q->filled = (struct map_memory){ p, bytes_mapped(page) };
	return 0;
}

/* Not the queue itself: that is readable as soon as anything is in there, and nobody was woken. */
static int wake_open(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
		close(epoll);
		return -1;
	}
	return epoll;
}

void tipme_bpf_lives_open(struct bpf_source *src)
{
	int fd = bpf_map__fd(src->skel->maps.tipme_lives);

	if (!queue_map(&src->lives, fd))
		src->lives.epoll_fd = wake_open(fd);
	if (src->lives.epoll_fd < 0)
		src->base.classes_able &= ~(1U << TIPME_CLASS_IDENTITY);
}

void tipme_bpf_lives_close(struct bpf_source *src)
{
	struct bpf_lives *q = &src->lives;

	if (q->epoll_fd >= 0)
		close(q->epoll_fd);
	if (q->taken.base)
		munmap(q->taken.base, q->taken.bytes);
	if (q->filled.base)
		munmap(q->filled.base, q->filled.bytes);
	*q = (struct bpf_lives){ .epoll_fd = -1 };
}

int tipme_bpf_lives_fd(struct tipme_kernel_source *base)
{
	return bpf_of(base)->lives.epoll_fd;
}

/* Up to where it is filled now; a record that is still written ends that. */
static int filled_take(struct bpf_source *src, const struct life_taker *taker, unsigned long *at)
{
	const struct bpf_lives *q = &src->lives;
	unsigned long *taken = q->taken.base,
		      end = __atomic_load_n((unsigned long *)q->filled.base, __ATOMIC_ACQUIRE);
	const char *data = (const char *)q->filled.base + q->taken.bytes;
	int n = 0;

	while (*at < end) {
		const char *record = data + *at % TIPME_LIVES_BYTES;
		uint32_t head = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		uint32_t len = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (head & BPF_RINGBUF_BUSY_BIT)
			break;
		if (!(head & BPF_RINGBUF_DISCARD_BIT))
			life_taken(src, taker, record + BPF_RINGBUF_HDR_SZ, len);
		*at += (len + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
		__atomic_store_n(taken, *at, __ATOMIC_RELEASE);
		n++;
	}
	return n;
}

int tipme_bpf_lives_take(struct tipme_kernel_source *base,
			 int (*fn)(void *arg, const struct tipme_life *life), void *arg)
{
	struct bpf_source *src = bpf_of(base);
	const struct life_taker taker = { fn, arg };
	unsigned long at;
	int n, sum = 0;

	if (src->lives.epoll_fd < 0)
		return 0;
	at = __atomic_load_n((unsigned long *)src->lives.taken.base, __ATOMIC_ACQUIRE);
	while ((n = filled_take(src, &taker, &at)))
		sum += n;
	return sum;
}
