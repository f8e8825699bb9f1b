// SPDX-License-Identifier: GPL-2.0-only
/*
 * A latency over the threshold as records in a memory file, which goes to tipmed with the trigger.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "latency_tell.h"
#include "message.h"
#include "paths.h"
#include "tipme_records.h"

#define PAUSE_NS (5 * TIPME_NS_PER_S)
#define STACKS 1024 /* different ones of one latency; samples beyond have none */
#define TEXT_MAX 2000

void tipme_teller_open(struct tipme_teller *t)
{
	*t = (struct tipme_teller){ .fd = tipme_message_connect(tipme_rundir()) };
	if (t->fd < 0)
		t->fd = -1;
	else
		tipme_kallsyms_load(&t->symbols, NULL, NULL);
}

void tipme_teller_close(struct tipme_teller *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	tipme_kallsyms_free(t->symbols);
	t->symbols = NULL;
}

/* --- records --- */

static void put_latency(FILE *f, const struct tipme_late *late)
{
	const struct tipme_latency_causes *c = &late->cause->about;
	const struct tipme_latency_user r = {
		.ts_ns = late->seen_ns,
		.type = TIPME_LATENCY_USER,
		.len8 = sizeof(r) / 8,
		.tid = late->tid,
		.user_ns = c->thread_ns,
		.cpu = (uint16_t)c->cpu,
		.rt_priority = (uint8_t)late->priority,
		.over = 1,
		.expiry_ns = c->expiry_ns,
	};

	fwrite(&r, sizeof(r), 1, f);
}

static void put_stack(FILE *f, const struct tipme_teller *t, const struct tipme_latency_sample *s,
		      uint32_t id)
{
	struct tipme_stack r = { .ts_ns = s->ts_ns,
				 .type = TIPME_STACK,
				 .tid = s->tid,
				 .stack_id = id,
				 .frames = s->frames };
	char text[TEXT_MAX + 8] = "", name[256];
	size_t len = 0;

	for (unsigned int i = 0; i < s->frames && i < TIPME_LATENCY_FRAMES; i++) {
		tipme_kallsyms_name(t->symbols, s->frame[i], name, sizeof(name));
		if (len + strlen(name) + 1 > TEXT_MAX)
			break;
		len += (size_t)sprintf(text + len, "%s%s", i ? ";" : "", name);
	}
	len = (len + 7) / 8 * 8;
	r.len8 = (uint8_t)((sizeof(r) + len) / 8);
	fwrite(&r, sizeof(r), 1, f);
	fwrite(text, len, 1, f);
}

static int same_stack(const struct tipme_latency_sample *a, const struct tipme_latency_sample *b)
{
	return a->frames == b->frames &&
	       !memcmp(a->frame, b->frame, a->frames * sizeof(a->frame[0]));
}

/*
 * Of stacks that are the same, the number; each is written once. Numbers of ours have the highest
 * bit: those of the kernel source never do.
 */
static uint32_t stack_id(FILE *f, const struct tipme_teller *t,
			 const struct tipme_latency_sample *s,
			 const struct tipme_latency_sample **seen, uint32_t *count)
{
	uint32_t i = 0;

	if (!s->frames)
		return 0;
	while (i < *count && !same_stack(seen[i], s))
		i++;
	if (i == STACKS)
		return 0;
	if (i == *count) {
		seen[(*count)++] = s;
		put_stack(f, t, s, 0x80000001U + i);
	}
	return 0x80000001U + i;
}

static void put_samples(FILE *f, const struct tipme_teller *t, const struct tipme_late *late)
{
	const struct tipme_latency_sample *seen[STACKS];
	uint32_t count = 0;

	for (unsigned int i = 0; i < late->cause->about.count; i++) {
		const struct tipme_latency_sample *s = &late->cause->sample[i];
		const struct tipme_sample r = {
			.ts_ns = s->ts_ns,
			.type = TIPME_SAMPLE,
			.len8 = sizeof(r) / 8,
			.tid = s->tid,
			.kernel_stack_id = stack_id(f, t, s, seen, &count),
			.period_us = late->sample_us,
			.cpu = (uint16_t)late->cause->about.cpu,
			.kind = late->sample_kind,
			.context = s->context,
		};

		fwrite(&r, sizeof(r), 1, f);
	}
}

/* Returns the descriptor of a memory file, or -errno. */
static int records(const struct tipme_teller *t, const struct tipme_late *late)
{
	int fd = memfd_create("tipme-latency", MFD_CLOEXEC | MFD_ALLOW_SEALING),
	    copy = fd < 0 ? -1 : dup(fd), err;
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");

	if (!f) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		if (fd >= 0)
			close(fd);
		return err;
	}
	put_latency(f, late);
	put_samples(f, t, late);
	err = ferror(f);
	if (fclose(f) || err) {
		close(fd);
		return -EIO;
	}
	return fd;
}

/* What tipmed has answered is of no interest; unread, it would fill the socket. */
static void answers_drop(const struct tipme_teller *t)
{
	char buf[4096];

	while (recv(t->fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

static bool is_time(const struct tipme_teller *t, uint64_t now_ns)
{
	return t->fd >= 0 && (!t->told_ns || now_ns - t->told_ns >= PAUSE_NS);
}

/* Takes the file of records. tipmed knows these words: see docs/formats.md. */
static void send_words(struct tipme_teller *t, const char *words, int fd, uint64_t now_ns)
{
	answers_drop(t);
	if (!tipme_message_send_fd(t->fd, TIPME_VERB_TRIGGER, 0, words, strlen(words),
				   fd < 0 ? -1 : fd, MSG_DONTWAIT))
		t->told_ns = now_ns;
	if (fd >= 0)
		close(fd);
}

void tipme_teller_tell(struct tipme_teller *t, const struct tipme_late *late)
{
	uint64_t now_ns = tipme_clock_ns();
	char words[96];

	if (!is_time(t, now_ns))
		return;
	snprintf(words, sizeof(words), "latency of %.3f ms on CPU %u",
		 (double)(late->seen_ns - late->cause->about.expiry_ns) / 1e6,
		 late->cause->about.cpu);
	send_words(t, words, records(t, late), now_ns);
}

/* A file without records says that the words are no note of the user. */
void tipme_teller_tell_xrun(struct tipme_teller *t, const struct tipme_xrun *x)
{
	uint64_t now_ns = tipme_clock_ns();
	char words[160];

	if (!is_time(t, now_ns))
		return;
	snprintf(words, sizeof(words), "underrun of %s at %llu.%06llu s, buffer %.3f ms, thread %u",
		 x->stream, (unsigned long long)(x->at_ns / TIPME_NS_PER_S),
		 (unsigned long long)(x->at_ns % TIPME_NS_PER_S / 1000), (double)x->buffer_ns / 1e6,
		 x->tid);
	send_words(t, words, memfd_create("tipme-xrun", MFD_CLOEXEC | MFD_ALLOW_SEALING), now_ns);
}
