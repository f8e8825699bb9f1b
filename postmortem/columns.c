// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program tipme-columns: what the post-mortem in Perl leaves to the reader of episodes in C
 * (abi/episode), because there are many records. Its input comes from a stranger's episode.
 *
 * Sections come on standard input, as numbers of 32 bits, little-endian: how many; of each its file
 * (an open descriptor), offset (64 bits), length in bytes, CPU. For each section a byte goes to
 * standard output: 1 where not all of it are records of 32 bytes and of a kind that we know, else
 * 0.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

#define SECTIONS_MOST 200000U

static int read_number(uint32_t *n)
{
	if (fread(n, sizeof(*n), 1, stdin) != 1)
		return -EIO;
	*n = le32toh(*n);
	return 0;
}

static int read_piece(struct tipme_piece *p)
{
	uint32_t fd, low, high, len, cpu;

	if (read_number(&fd) || read_number(&low) || read_number(&high) || read_number(&len) ||
	    read_number(&cpu))
		return -EIO;
	*p = (struct tipme_piece){
		.fd = (int)fd, .offset = low | (uint64_t)high << 32, .len = len, .cpu = cpu
	};
	return 0;
}

static int read_pieces(struct tipme_piece **pieces, uint32_t *count)
{
	int err = read_number(count);

	if (!err && *count > SECTIONS_MOST)
		err = -E2BIG;
	*pieces = err ? NULL : calloc(*count + 1UL, sizeof(**pieces));
	if (!err && !*pieces)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < *count; i++)
		err = read_piece(&(*pieces)[i]);
	return err;
}

static int say_odd(const struct tipme_piece *pieces, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		putchar(pieces[i].odd);
	return fflush(stdout) ? -errno : 0;
}

/*
 * columns OUT-FD UNTIL-NS: a file of columns (docs/formats.md) of all records up to a time,
 * big-endian for vec() of Perl
 */
static int run_columns(char **args)
{
	struct tipme_piece *pieces = NULL;
	struct tipme_events ev = { 0 };
	uint32_t count;
	int err = read_pieces(&pieces, &count);

	if (!err)
		err = tipme_events_build(&ev, pieces, count, strtoull(args[1], NULL, 10),
					 atoi(args[0]), true);
	if (!err)
		err = say_odd(pieces, count);
	tipme_events_free(&ev);
	free(pieces);
	return err;
}

/* check: only the bytes that say which sections are odd */
static int run_check(char **args)
{
	struct tipme_piece *pieces = NULL;
	uint32_t count;
	int err = read_pieces(&pieces, &count);

	(void)args;
	if (!err)
		err = tipme_pieces_scan(pieces, count, UINT64_MAX);
	if (!err)
		err = say_odd(pieces, count);
	free(pieces);
	return err;
}

/*
 * picked tid|types NUMBER[,NUMBER...]: records of a thread, or of these kinds. It says nothing of
 * what is odd: sections have been checked before.
 */
static int run_picked(char **args)
{
	struct tipme_picked what = { .by_thread = !strcmp(args[0], "tid") };
	struct tipme_piece *pieces = NULL;
	uint32_t count;
	int err = read_pieces(&pieces, &count);

	for (char *at = args[1]; *at; at += *at == ',')
		what.types[(what.tid = (uint32_t)strtoul(at, &at, 10)) & 255] = true;
	if (!err)
		err = tipme_picked(&what, pieces, count);
	free(pieces);
	return err;
}

/* sums COLUMNS-FD: how long who had which CPU */
static int run_sums(char **args)
{
	return tipme_occupancy_sums(atoi(args[0]));
}

/* runs COLUMNS-FD FROM-NS TO-NS WIDTH: who had it, in so many pixel columns */
static int run_runs(char **args)
{
	return tipme_occupancy_runs(atoi(args[0]), strtoull(args[1], NULL, 10),
				    strtoull(args[2], NULL, 10),
				    (uint32_t)strtoul(args[3], NULL, 10));
}

/* turns COLUMNS-FD TID REAL-TIME LENGTH-NS SHIFT SHIFT: who had it instead of a thread */
static int run_turns(char **args)
{
	const struct tipme_turns_kind kind = {
		.tid = (uint32_t)strtoul(args[1], NULL, 10),
		.waits_real_time = atoi(args[2]),
		.length_ns = strtod(args[3], NULL),
		.next_shift = (uint32_t)strtoul(args[4], NULL, 10),
		.prev_shift = (uint32_t)strtoul(args[5], NULL, 10),
	};

	return tipme_occupancy_turns(atoi(args[0]), &kind);
}

#ifdef TIPME_HAS_MANIFEST
/*
 * perfetto EPISODE OUT-FD FROM-NS TO-NS all|x: a trace, with scheduling or without; answers how
 * many records it has, and how many have no place there; or the errno of writing
 */
static int run_perfetto(char **args)
{
	uint64_t written, left;
	int err =
		tipme_perfetto(args[0], atoi(args[1]), strtoull(args[2], NULL, 10),
			       strtoull(args[3], NULL, 10), !strcmp(args[4], "x"), &written, &left);

	if (err)
		printf("errno %d\n", -err);
	else
		printf("%llu %llu\n", (unsigned long long)written, (unsigned long long)left);
	return fflush(stdout) ? -errno : err;
}

/*
 * write EPISODE OUT-FD FROM-NS TO-NS: events, intervals of threads and CPUs, X records as a file of
 * columns, little-endian
 */
static int run_write(char **args)
{
	return tipme_write_columns(args[0], atoi(args[1]), strtoull(args[2], NULL, 10),
				   strtoull(args[3], NULL, 10));
}
#endif

static const struct {
	const char *name;
	int args;
	int (*run)(char **args);
	const char *usage;
} MODES[] = {
	{ "columns", 2, run_columns, "columns OUT-FD UNTIL-NS <SECTIONS" },
	{ "check", 0, run_check, "check <SECTIONS" },
	{ "picked", 2, run_picked, "picked tid|types NUMBER[,NUMBER...] <SECTIONS" },
	{ "sums", 1, run_sums, "sums COLUMNS-FD <ROWS-AND-STRETCHES" },
	{ "runs", 4, run_runs, "runs COLUMNS-FD FROM-NS TO-NS WIDTH <ROWS-AND-STRETCHES" },
	{ "turns", 6, run_turns,
	  "turns COLUMNS-FD TID REAL-TIME LENGTH-NS SHIFT SHIFT <ROWS-AND-STRETCHES" },
#ifdef TIPME_HAS_MANIFEST
	{ "write", 4, run_write, "write EPISODE OUT-FD FROM-NS TO-NS" },
	{ "perfetto", 5, run_perfetto, "perfetto EPISODE OUT-FD FROM-NS TO-NS all|x" },
#endif
};

#define MODE_COUNT (sizeof(MODES) / sizeof(MODES[0]))

static int usage(void)
{
	for (size_t i = 0; i < MODE_COUNT; i++)
		fprintf(stderr, "%s tipme-columns %s\n", i ? "      " : "usage:", MODES[i].usage);
	fprintf(stderr, "The verbs of tipme call it; docs/formats.md describes what it writes.\n");
	return 64;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < MODE_COUNT; i++) {
		if (argc < 2 || strcmp(argv[1], MODES[i].name) || argc != MODES[i].args + 2)
			continue;
		int err = MODES[i].run(argv + 2);

		if (err)
			fprintf(stderr, "tipme-columns: %s: %s\n", argv[1], strerror(-err));
		return err ? 1 : 0;
	}
	return usage();
}
