/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the reader share. */
#ifndef TIPME_EPISODE_PRIVATE_H
#define TIPME_EPISODE_PRIVATE_H

#include <sys/types.h>

#include "episode/episode.h"

#define TIPME_MANIFEST_MOST (4U << 20) /* bytes; a recorder writes some KiB */
#define TIPME_FILES_MOST 64U /* sources of a manifest */
#define TIPME_FILE_MOST (8ULL << 30) /* bytes */
#define TIPME_SECTION_MOST (256U << 20) /* bytes held in memory at once */
#define TIPME_SECTIONS_MOST 200000U /* of one file */
#define TIPME_COVERAGE_MOST 65536U /* entries of one source: one for each CPU */
#define TIPME_SUSPENDS_MOST 64U
#define TIPME_AGENTS_MOST 4096U
#define TIPME_DAMAGE_MOST 1000U /* sentences */
#define TIPME_EVENTS_MOST (64U << 20) /* records in columns: 2.5 GiB of them */
#define TIPME_SLACK_NS 1000000ULL /* inside a section times may run back a little */
#define TIPME_NOTE_MOST 65536U

struct tipme_file {
	char name[68];
	int fd;
	uint64_t size;
	uint64_t header_len, body_len;
};

struct tipme_episode {
	char *dir;
	int dir_fd;
	struct tipme_episode_facts facts;
	struct tipme_file files[TIPME_FILES_MOST];
	uint32_t file_count;
	struct tipme_episode_section *sections;
	size_t section_count, section_room;
	char **damage;
	size_t damage_count;
	uint64_t unknown;
	char *why; /* where open() tells what is wrong */
	size_t why_size;
};

/* Writes the sentence of open(); returns err. */
__attribute__((format(printf, 3, 4))) int tipme_refuse(struct tipme_episode *ep, int err,
						       const char *form, ...);

/* Notes what cannot be read. */
__attribute__((format(printf, 2, 3))) void tipme_damaged(struct tipme_episode *ep, const char *form,
							 ...);

/* Opens a plain file of the episode: no link, no device. The descriptor or -errno (and refused). */
int tipme_open_plain(struct tipme_episode *ep, const char *name, uint64_t *size);

/* Reads a small file whole; NUL-ended, free() it. */
int tipme_slurp(struct tipme_episode *ep, const char *name, size_t most, char **text, size_t *len);

/* pread() of all that is there: bytes read, or -errno. */
ssize_t tipme_read_at(int fd, uint8_t *to, size_t len, uint64_t offset);

/* Notes that a section ends at record nr, at a byte of the section. */
void tipme_section_broken(struct tipme_episode *ep, const struct tipme_episode_section *s,
			  uint64_t nr, uint64_t at, const char *why);

int tipme_manifest_read(struct tipme_episode *ep);
int tipme_files_open(struct tipme_episode *ep);

/* Enlarges an array of `size`-byte elements so that `need` fit. 0 or -ENOMEM. */
int tipme_grow(void *array, size_t *room, size_t need, size_t size);

/* ---- events.c: from any sections ---- */

struct tipme_piece {
	int fd;
	uint64_t offset, len;
	uint32_t cpu;
	/* out: records of kinds that are known, up to until_ns; those before it, too */
	uint32_t kept;
	uint32_t all; /* out: records of kinds that are known */
	uint64_t min_ns, max_ns; /* out */
	bool odd; /* out: not all of it are records of 32 bytes and of a known kind */
	bool broken; /* out: it ended before its last byte */
	uint32_t broken_nr; /* out: at which record, from 1 */
	uint64_t broken_at; /* out: at which byte of the section */
	uint64_t unknown; /* out: records of unknown kinds */
};

/*
 * Columns of all records of these pieces with a time up to until_ns. The columns lie in a mapping
 * of `fd` (which becomes a file of columns, docs/formats.md), or of memory where fd is -1.
 * big_endian: numbers in columns are big-endian, as vec() of Perl has them.
 */
int tipme_events_build(struct tipme_events *ev, struct tipme_piece *pieces, uint32_t count,
		       uint64_t until_ns, int fd, bool big_endian);

/* First pass only: fills the out fields of the pieces. */
int tipme_pieces_scan(struct tipme_piece *pieces, uint32_t count, uint64_t until_ns);

#endif
