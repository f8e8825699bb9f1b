// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring of a tipme.ko that was built with TIPME_SELFTEST=1: threads, softirqs, interrupts and
 * NMIs of all CPUs write at once while copies are taken. usage: ring-selftest POOL-MB RECORDS
 * Prints what it found; exit 0 if nothing contradicts.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kernel_source.h"
#include "tipme_selftest_uapi.h"

struct writing {
	struct tipme_selftest request;
	int err;
	volatile int ended;
};

struct found {
	uint64_t records, wrong, twice, back, missing;
	/* number that follows the last seen */
	uint64_t next[TIPME_SELFTEST_CPUS][TIPME_SELFTEST_CONTEXTS];
	int any[TIPME_SELFTEST_CPUS][TIPME_SELFTEST_CONTEXTS];
};

static void *write_all(void *arg)
{
	struct writing *w = arg;
	int fd = open("/dev/tipme", O_RDWR | O_CLOEXEC);

	w->err = fd < 0 || ioctl(fd, TIPME_IOC_SELFTEST, &w->request) ? errno : 0;
	w->ended = 1;
	if (fd >= 0)
		close(fd);
	return NULL;
}

/*
 * Slots are in the order in which they were reserved: of one CPU and context the numbers only grow.
 */
static void look(struct found *f, uint32_t cpu, const struct tipme_selftest_record *r)
{
	uint32_t context = r->tid >> 16;
	uint64_t *next;

	f->records++;
	if ((r->tid & 0xffff) != cpu || context >= TIPME_SELFTEST_CONTEXTS ||
	    r->proof != TIPME_SELFTEST_PROOF(r->tid, r->number)) {
		f->wrong++;
		return;
	}
	next = &f->next[cpu][context];
	if (f->any[cpu][context] && r->number < *next)
		f->back++;
	else if (f->any[cpu][context])
		f->missing += r->number - *next;
	f->any[cpu][context] = 1;
	*next = r->number + 1;
}

static void look_all(struct found *f, const struct tipme_kernel_copy *c)
{
	const char *p = c->buf, *end = p + c->len;
	uint32_t cpu = 0;

	memset(f, 0, sizeof(*f));
	while (p < end) {
		const struct tipme_head *h = (const void *)p;

		if (h->type == TIPME_SECTION)
			cpu = ((const struct tipme_section *)h)->cpu % TIPME_SELFTEST_CPUS;
		else if (h->type == TIPME_PROC_STATE)
			look(f, cpu, (const void *)h);
		p += (size_t)h->len8 * 8;
	}
}

/* At rest, and where the pool holds all: what is not there was counted as lost. */
static uint64_t absent(const struct found *f, const struct tipme_selftest *s)
{
	uint64_t n = f->missing;

	for (int cpu = 0; cpu < TIPME_SELFTEST_CPUS; cpu++)
		for (int i = 0; i < TIPME_SELFTEST_CONTEXTS; i++)
			n += s->written[cpu][i] - (f->any[cpu][i] ? f->next[cpu][i] : 0);
	return n;
}

static uint64_t sum_of(const struct tipme_selftest *s, int context)
{
	uint64_t n = 0;

	for (int cpu = 0; cpu < TIPME_SELFTEST_CPUS; cpu++)
		n += s->written[cpu][context];
	return n;
}

static int run(struct tipme_kernel_source *src, struct tipme_kernel_copy *c, uint64_t records)
{
	static struct writing w;
	static struct found f;
	struct tipme_kernel_stats stats;
	uint64_t copies = 0, looked = 0, wrong = 0, back = 0, torn = 0;
	pthread_t thread;

	w.request.records = records;
	if (pthread_create(&thread, NULL, write_all, &w))
		return 1;
	do {
		tipme_kernel_source_copy(src, c);
		look_all(&f, c);
		copies++;
		looked += f.records;
		wrong += f.wrong;
		back += f.back;
		torn += c->torn;
	} while (!w.ended);
	pthread_join(thread, NULL);
	tipme_kernel_source_copy(src, c);
	look_all(&f, c);
	tipme_kernel_source_stats(src, &stats);
	printf("error=%d thread=%" PRIu64 " softirq=%" PRIu64 " hardirq=%" PRIu64 " nmi=%" PRIu64
	       "\n",
	       w.err, sum_of(&w.request, 0), sum_of(&w.request, 1), sum_of(&w.request, 2),
	       sum_of(&w.request, 3));
	printf("copies=%" PRIu64 " looked=%" PRIu64 " wrong=%" PRIu64 " back=%" PRIu64
	       " torn=%" PRIu64 "\n",
	       copies, looked, wrong + f.wrong, back + f.back, torn + c->torn);
	printf("rest records=%" PRIu64 " absent=%" PRIu64 " lost=%" PRIu64 " cut=%" PRIu64 "\n",
	       f.records, absent(&f, &w.request), stats.lost.pool + stats.lost.nested, c->cut);
	return w.err || wrong || f.wrong || back || f.back || torn || c->torn;
}

int main(int argc, char **argv)
{
	struct tipme_kernel_options opt = { .source = TIPME_SOURCE_KERNEL_MODULE,
					    .classes_given = 1 };
	struct tipme_kernel_source *src;
	struct tipme_kernel_copy copy;
	char why[512] = "";
	int bad;

	if (argc != 3)
		return 64;
	opt.pool_bytes = strtoull(argv[1], NULL, 0) << 20;
	if (tipme_kernel_source_open(&src, &opt, why, sizeof(why)) ||
	    tipme_kernel_copy_alloc(src, &copy)) {
		fprintf(stderr, "ring-selftest: cannot record: %s\n", why);
		return 1;
	}
	bad = run(src, &copy, strtoull(argv[2], NULL, 0));
	tipme_kernel_copy_free(&copy);
	tipme_kernel_source_close(src);
	return bad;
}
