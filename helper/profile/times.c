// SPDX-License-Identifier: GPL-2.0-only
/* The exact time of each event, for who asks for that: text can be guessed from such times. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "profile.h"

/* Without an answer: how long the program worked. */
static uint64_t drawn_ns(const struct tipme_answer *a)
{
	uint64_t end = a->first_ns ? a->first_ns : a->end_ns;

	return end > a->deliver_ns ? end - a->deliver_ns : 0;
}

void tipme_times_put(FILE *to, const char *app, const struct tipme_answer *a)
{
	fprintf(to, "%llu\t%s\t%s\t%u\t%llu\t%llu\t%llu\t%llu\n", (unsigned long long)a->entered_ns,
		app, tipme_profile_kinds[a->kind], a->outcome,
		(unsigned long long)(a->device_ns - a->entered_ns),
		(unsigned long long)(a->deliver_ns - a->device_ns), (unsigned long long)drawn_ns(a),
		(unsigned long long)(a->first_ns ? a->end_ns - a->first_ns : 0));
}

int tipme_times_open(const char *file, FILE **to)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s.times", file);
	unlink(name);
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	*to = fd < 0 ? NULL : fdopen(fd, "w");
	if (!*to)
		return -errno;
	fputs("entered_ns\tapp\tkind\toutcome\tread_ns\tsent_ns\tdrawn_ns\tfinished_ns\n", *to);
	return 0;
}
