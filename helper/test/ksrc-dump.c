// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records with the kernel source until standard input closes (or for some seconds), and prints
 * every record as a line, in order of time.
 */
#include "config.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kallsyms.h"
#include "kernel_source.h"
#include "record_names.h"

static int usage(void)
{
	fprintf(stderr,
		"usage: ksrc-dump [-s SECONDS] [-p] [-n] [-q] [-w] [-b POOL_BYTES] [-m STACK_MIN_US] [-S bpf|module]\n"
		"                 [-c CLASSES] [-i IDLE_MIN_US] [-W WINDOW_S] [-a LOOK_S]\n"
		"Records until standard input closes, at most SECONDS; prints 'ready' on stderr when it does.\n"
		"  -p  picture of all threads, taken at the end, -n  names of stacks and functions, -q  no records, only facts\n"
		"  -w  'ready' only when the source has stopped measuring its own programs, which makes them dearer\n"
		"  -S  with this kernel source, or not at all, -c  with these record classes (also +NAME,-NAME)\n"
		"  -i  with idle states that take so long to leave, -W  so many seconds to keep\n"
		"  -a  the pool grows and shrinks by looks each so many seconds\n"
		"examples: ksrc-dump -s 3 | grep sched_waking\n"
		"          ksrc-dump -s 1 -p | grep ' thread '\n"
		"          (sleep 2; echo) | ksrc-dump -n\n");
	return 64;
}

struct line {
	uint64_t ts_ns;
	uint32_t cpu;
	const struct tipme_head *rec;
};

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return x->rec < y->rec ? -1 : 1;
}

static void print_records(const struct tipme_kernel_copy *c)
{
	struct line *lines = calloc(c->records + 1, sizeof(*lines));
	const char *p = c->buf, *end = p + c->len;
	uint32_t cpu = 0;
	size_t n = 0;

	while (lines && p < end) {
		const struct tipme_head *h = (const void *)p;

		if (h->type == TIPME_SECTION)
			cpu = ((const struct tipme_section *)h)->cpu;
		else
			lines[n++] = (struct line){ h->ts_ns, cpu, h };
		p += (size_t)h->len8 * 8;
	}
	if (n)
		qsort(lines, n, sizeof(*lines), by_time);
	for (size_t i = 0; i < n; i++) {
		printf("cpu=%u ", lines[i].cpu);
		tipme_record_print(stdout, lines[i].rec, (size_t)lines[i].rec->len8 * 8);
	}
	free(lines);
}

static int print_name(void *arg, const void *rec, size_t len)
{
	printf("name ");
	tipme_record_print(stdout, rec, len);
	return 0;
}

static void print_names(struct tipme_kernel_source *src, const struct tipme_kernel_copy *c)
{
	struct tipme_kallsyms *ks = NULL;
	int err = tipme_kallsyms_load(&ks, NULL, NULL);

	if (err)
		fprintf(stderr, "ksrc-dump: no kernel symbols: %s\n", strerror(-err));
	tipme_kernel_source_names_bare(src, ks, c->buf, c->len, print_name, NULL);
	tipme_kallsyms_free(ks);
}

static void print_picture(struct tipme_kernel_source *src)
{
	static struct tipme_kernel_thread threads[32768];
	struct tipme_picture pic;
	int n = tipme_kernel_source_picture(src, &pic, threads, 32768);

	if (n < 0) {
		fprintf(stderr, "ksrc-dump: no picture: %s\n", strerror(-n));
		return;
	}
	printf("picture ");
	tipme_record_print(stdout, &pic, sizeof(pic));
	for (int i = 0; i < n; i++) {
		printf("switches=%" PRIu64 " ", threads[i].switches);
		tipme_record_print(stdout, &threads[i].rec, sizeof(threads[i].rec));
	}
}

static void print_facts(struct tipme_kernel_source *src, const struct tipme_kernel_copy *c)
{
	struct tipme_kernel_stats st;
	const char *left_out;

	for (unsigned int i = 0; (left_out = tipme_kernel_source_left_out(src, i)); i++)
		printf("left_out %s\n", left_out);
	tipme_kernel_source_stats(src, &st);
	printf("stats records=%" PRIu64 " pool=%" PRIu64 " nested=%" PRIu64 " missed=%" PRIu64
	       " stack_table=%" PRIu64 " sleep_table=%" PRIu64 " pool_bytes=%" PRIu64
	       " map_bytes=%" PRIu64 " programs=%u start_ns=%" PRIu64 "\n",
	       st.records, st.lost.pool, st.lost.nested, st.lost.missed, st.lost.stack_table,
	       st.lost.sleep_table, st.pool_bytes, st.map_bytes, st.programs, st.start_ns);
	printf("copy records=%" PRIu64 " torn=%" PRIu64 " cut=%" PRIu64 " bytes=%zu\n", c->records,
	       c->torn, c->cut, c->len);
	for (unsigned int i = 0; i < c->cpus; i++)
		printf("coverage cpu=%u first_ns=%" PRIu64 " last_ns=%" PRIu64 " records=%" PRIu64
		       "\n",
		       i, c->coverage[i].first_ns, c->coverage[i].last_ns, c->coverage[i].records);
}

static void wait_for_measured(struct tipme_kernel_source *src)
{
	struct tipme_kernel_stats st;

	while (!tipme_kernel_source_stats(src, &st) && st.measuring)
		usleep(50000);
}

static uint64_t pool_bytes(struct tipme_kernel_source *src)
{
	struct tipme_kernel_stats st;

	return tipme_kernel_source_stats(src, &st) ? 0 : st.pool_bytes;
}

/* Looks at the pool until standard input says that it is over. */
static void wait_growing(struct tipme_kernel_source *src, struct pollfd *p, int look_s)
{
	uint64_t first = pool_bytes(src), most = first;
	int refused = 0;
	char c;

	for (;;) {
		int n = poll(p, 1, look_s * 1000);

		if (n < 0 || (n > 0 && read(0, &c, 1) <= 0))
			break;
		tipme_kernel_source_adapt(src, &refused);
		most = pool_bytes(src) > most ? pool_bytes(src) : most;
	}
	printf("grown first=%" PRIu64 " most=%" PRIu64 " refused=%d\n", first, most, -refused);
}

static void wait_for_end(struct tipme_kernel_source *src, int seconds, int look_s)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	char c;

	fprintf(stderr, "ready\n");
	if (look_s > 0) {
		wait_growing(src, &p, look_s);
		return;
	}
	if (seconds > 0)
		p.fd = -1; /* by the clock alone */
	while (poll(&p, 1, seconds > 0 ? seconds * 1000 : -1) > 0 && read(0, &c, 1) > 0)
		continue;
}

int main(int argc, char **argv)
{
	struct tipme_kernel_options opt = { 0 };
	struct tipme_kernel_source *src;
	struct tipme_kernel_copy copy;
	char why[256] = "";
	int o, seconds = 0, look_s = 0, picture = 0, names = 0, quiet = 0, measured = 0;

	while ((o = getopt(argc, argv, "s:pnqwa:b:m:S:c:i:W:")) >= 0) {
		if (o == 's')
			seconds = atoi(optarg);
		else if (o == 'p')
			picture = 1;
		else if (o == 'n')
			names = 1;
		else if (o == 'q')
			quiet = 1;
		else if (o == 'w')
			measured = 1;
		else if (o == 'S')
			opt.source = strcmp(optarg, "module") ? TIPME_SOURCE_KERNEL_BPF
							      : TIPME_SOURCE_KERNEL_MODULE;
		else if (o == 'b')
			opt.pool_bytes = strtoull(optarg, NULL, 0);
		else if (o == 'a')
			look_s = atoi(optarg);
		else if (o == 'W')
			opt.window_s = atoi(optarg);
		else if (o == 'i')
			opt.idle_min_us = atoi(optarg);
		else if (o == 'c') {
			opt.classes = tipme_classes_default();
			opt.classes_given = 1;
			if (tipme_classes_parse(optarg, &opt.classes))
				return usage();
		} else if (o == 'm')
			opt.stack_min_us = atoi(optarg);
		else
			return usage();
	}
	if (tipme_kernel_source_open(&src, &opt, why, sizeof(why))) {
		fprintf(stderr, "ksrc-dump: cannot record: %s\n", why);
		return 1;
	}
	if (tipme_kernel_copy_alloc(src, &copy)) {
		fprintf(stderr, "ksrc-dump: not enough memory for a copy\n");
		return 1;
	}
	if (measured)
		wait_for_measured(src);
	wait_for_end(src, seconds, look_s);
	tipme_kernel_source_copy(src, &copy);
	if (picture)
		print_picture(src);
	tipme_kernel_source_copy_more(src, &copy);
	if (!quiet)
		print_records(&copy);
	if (names)
		print_names(src, &copy);
	print_facts(src, &copy);
	tipme_kernel_copy_free(&copy);
	tipme_kernel_source_close(src);
	return 0;
}
