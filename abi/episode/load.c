// SPDX-License-Identifier: GPL-2.0-only
/* Which sections of an episode a stretch of time needs, and from when on all CPUs are complete. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "episode/private.h"

/* A CPU of one source: two sources may record side by side, each with sections of its own. */
struct lane {
	uint32_t cpu, source;
	uint32_t before; /* the last section that begins at or before `from`; TIPME_NONE */
	uint64_t first_ns; /* of what is loaded */
	bool loaded, covered;
};

struct choice {
	struct lane *lanes;
	size_t lane_count, lane_room;
	uint32_t *slots; /* of a hash table of lanes: number + 1, 0 is free */
	size_t slot_room; /* a power of two, more than twice as many as there are lanes */
	bool *in; /* of each section */
};

static bool is_kernel(uint32_t source)
{
	return source == TIPME_SOURCE_KERNEL_BPF || source == TIPME_SOURCE_KERNEL_MODULE ||
	       source == TIPME_SOURCE_PROC_SAMPLED;
}

static size_t slot_of(const struct choice *c, uint32_t cpu, uint32_t source)
{
	uint64_t key = (uint64_t)source << 32 | cpu;
	size_t i = (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (c->slot_room - 1);

	for (; c->slots[i]; i = (i + 1) & (c->slot_room - 1)) {
		if (c->lanes[c->slots[i] - 1].cpu == cpu &&
		    c->lanes[c->slots[i] - 1].source == source)
			break;
	}
	return i;
}

static int widen(struct choice *c)
{
	free(c->slots);
	c->slot_room = c->slot_room ? 2 * c->slot_room : 64;
	c->slots = calloc(c->slot_room, sizeof(*c->slots));
	if (!c->slots)
		return -ENOMEM;
	for (size_t i = 0; i < c->lane_count; i++)
		c->slots[slot_of(c, c->lanes[i].cpu, c->lanes[i].source)] = (uint32_t)i + 1;
	return 0;
}

/* The lane of a CPU and source, made if it is new; NULL: no memory. */
static struct lane *lane_of(struct choice *c, uint32_t cpu, uint32_t source)
{
	if (2 * (c->lane_count + 1) >= c->slot_room && widen(c))
		return NULL;
	size_t slot = slot_of(c, cpu, source);

	if (c->slots[slot])
		return &c->lanes[c->slots[slot] - 1];
	if (tipme_grow(&c->lanes, &c->lane_room, c->lane_count + 1, sizeof(*c->lanes)))
		return NULL;
	c->lanes[c->lane_count] =
		(struct lane){ .cpu = cpu, .source = source, .before = TIPME_NONE };
	c->slots[slot] = (uint32_t)++c->lane_count;
	return &c->lanes[c->lane_count - 1];
}

static int choose(struct choice *c, const struct tipme_episode *ep, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < ep->section_count; i++) {
		const struct tipme_episode_section *s = &ep->sections[i];

		if (!is_kernel(s->source) ||
		    (to < UINT64_MAX - TIPME_SLACK_NS && s->first_ns >= to + TIPME_SLACK_NS))
			continue;
		struct lane *l = lane_of(c, s->cpu, s->source);

		if (!l)
			return -ENOMEM;
		if (s->first_ns > from) {
			c->in[i] = true;
			continue;
		}
		/*
		 * The section before the last one may reach into the stretch: times run back a
		 * little.
		 */
		if (l->before != TIPME_NONE)
			c->in[l->before] = ep->sections[l->before].last_ns >= from;
		l->before = (uint32_t)i;
		c->in[i] = true;
	}
	return 0;
}

static void note_first(struct choice *c, const struct tipme_episode *ep)
{
	for (size_t i = 0; i < ep->section_count; i++) {
		struct lane *l =
			c->in[i] ? lane_of(c, ep->sections[i].cpu, ep->sections[i].source) : NULL;

		if (l && (!l->loaded || ep->sections[i].first_ns < l->first_ns)) {
			l->first_ns = ep->sections[i].first_ns;
			l->loaded = true;
		}
	}
}

/*
 * Of each CPU and source: its first loaded record, or the beginning of its coverage where nothing
 * was recorded on it before.
 */
static uint64_t exact_from(struct choice *c, const struct tipme_episode *ep, uint64_t from)
{
	uint64_t exact = 0;

	note_first(c, ep);
	for (size_t i = 0; i < ep->facts.coverage_count; i++) {
		const struct tipme_coverage *k = &ep->facts.coverage[i];
		struct lane *l = is_kernel(k->source) ? lane_of(c, k->cpu, k->source) : NULL;

		if (!l)
			continue;
		uint64_t t = l->loaded && l->first_ns > k->first_ns && l->first_ns <= from
				     ? l->first_ns
				     : k->first_ns;

		exact = t > exact ? t : exact;
		l->covered = true;
	}
	for (size_t i = 0; i < c->lane_count; i++) {
		if (!c->lanes[i].covered && c->lanes[i].loaded && c->lanes[i].first_ns > exact)
			exact = c->lanes[i].first_ns;
	}
	return exact;
}

static bool only_sampled(const struct tipme_episode *ep)
{
	bool sampled = false;

	for (size_t i = 0; i < ep->facts.coverage_count; i++) {
		uint32_t s = ep->facts.coverage[i].source;

		if (s == TIPME_SOURCE_KERNEL_BPF || s == TIPME_SOURCE_KERNEL_MODULE)
			return false;
		sampled |= s == TIPME_SOURCE_PROC_SAMPLED;
	}
	return sampled;
}

static void note_pieces(struct tipme_episode *ep, const struct tipme_piece *pieces,
			const uint32_t *sections, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct tipme_episode_section *s = &ep->sections[sections[i]];
		uint8_t head[TIPME_RECORD_HEAD];
		char why[96];

		ep->unknown += pieces[i].unknown;
		if (!pieces[i].broken)
			continue;
		uint64_t left = s->body_len - pieces[i].broken_at;
		ssize_t got = tipme_read_at(pieces[i].fd, head,
					    left < sizeof(head) ? (size_t)left : sizeof(head),
					    s->offset + pieces[i].broken_at);
		struct tipme_walk w = { head, head + (got > 0 ? got : 0) };

		/* As long as what is left of the section is said, though only its head is held. */
		if (got == (ssize_t)sizeof(head) && head[9] >= 2)
			snprintf(why, sizeof(why), "cut: %llu bytes left, %u wanted",
				 (unsigned long long)left, head[9] * 8U);
		else
			tipme_walk_why(&w, why, sizeof(why));
		tipme_section_broken(ep, s, pieces[i].broken_nr, pieces[i].broken_at, why);
	}
}

static int load_chosen(struct tipme_events *ev, struct tipme_episode *ep, const bool *in,
		       uint64_t to)
{
	uint32_t n = 0;
	uint32_t *sections = calloc(ep->section_count + 1, sizeof(*sections));
	struct tipme_piece *pieces = calloc(ep->section_count + 1, sizeof(*pieces));
	int err = sections && pieces ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < ep->section_count; i++) {
		const struct tipme_episode_section *s = &ep->sections[i];

		if (!in[i])
			continue;
		sections[n] = (uint32_t)i;
		pieces[n++] = (struct tipme_piece){ .fd = ep->files[s->file].fd,
						    .offset = s->offset,
						    .len = s->body_len,
						    .cpu = s->cpu };
	}
	if (!err)
		err = tipme_events_build(ev, pieces, n, to, -1, false);
	if (!err) {
		note_pieces(ep, pieces, sections, n);
		ev->sections = sections;
		ev->section_count = n;
	} else {
		free(sections);
	}
	free(pieces);
	return err;
}

int tipme_events_load(struct tipme_events *ev, struct tipme_episode *ep, uint64_t from_ns,
		      uint64_t to_ns)
{
	struct choice c = { .in = calloc(ep->section_count + 1, sizeof(bool)) };
	int err = c.in ? choose(&c, ep, from_ns, to_ns) : -ENOMEM;

	*ev = (struct tipme_events){ 0 };
	if (!err)
		err = load_chosen(ev, ep, c.in, to_ns);
	if (!err) {
		ev->from_ns = from_ns;
		ev->to_ns = to_ns;
		ev->exact_ns = exact_from(&c, ep, from_ns);
		ev->sampled = only_sampled(ep);
	}
	free(c.in);
	free(c.lanes);
	free(c.slots);
	return err;
}
