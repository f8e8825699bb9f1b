/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of tipmed, and who owns what it saves. */
#ifndef TIPMED_OPTIONS_H
#define TIPMED_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TIPMED_ALLOW_MAX 16

/* The threshold of triggers without a human, in milliseconds. */
#define TIPMED_AUTO_MS_DEFAULT 300U
#define TIPMED_AUTO_MS_LEAST 100U
#define TIPMED_AUTO_MS_MOST 60000U

/* What the library keeps; 0: without limit. */
struct tipmed_retention {
	unsigned int count, days, worst; /* worst: how many of those that a threshold took */
	uint64_t bytes;
};

struct tipmed_options {
	bool foreground;
	bool help, version;
	unsigned int window_s;
	unsigned int rate; /* records a second that the window is meant for */
	unsigned int source; /* enum tipme_source; 0: the best that there is */
	unsigned int auto_ms; /* 0: no trigger without a human */
	struct tipmed_retention keep;
	/* how long recording goes on after the trigger, before the copy is complete */
	unsigned int post_s;
	size_t identity_bytes; /* 0: the default */
	bool record_environment; /* all of it */
	char hotkey[64]; /* read from the keyboards; "none": not */
	uint32_t classes; /* wanted, bits by number */
	char wayland_library[256]; /* one beside those of the system; "": none */
	bool owner_given;
	bool owner_auto; /* whoever sits at the screen: not known before somebody does */
	uid_t owner;
	uid_t allow[TIPMED_ALLOW_MAX];
	unsigned int allow_count;
	char user[33]; /* whom root becomes; "": the system user that is made for it, if there is
			  one */
	char rundir[PATH_MAX];
	char library[PATH_MAX];
};

/* Returns 0, or -EINVAL after it has said on stderr what is wrong. */
int tipmed_options_parse(int argc, char **argv, struct tipmed_options *opt);

/* Also the library that is his. Returns 0, or -ENAMETOOLONG after it has said so on stderr. */
int tipmed_owner_set(struct tipmed_options *opt, uid_t owner);

/* The user of sudo, else the active user of the first seat, else ourselves. */
uid_t tipmed_owner_find(void);

extern const char tipmed_usage[];

#endif
