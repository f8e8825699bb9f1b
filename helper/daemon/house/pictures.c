// SPDX-License-Identifier: GPL-2.0-only
/* What all threads did, looked at each second; only what changed is kept. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pictures.h"
#include "reserve.h"

#define HASH_SLOTS (2 * TIPMED_THREADS_MAX)
#define NOWHERE UINT64_MAX

union slot {
	struct tipme_head head;
	struct tipme_picture picture;
	struct tipme_thread thread;
	struct tipme_affinity affinity;
};

/* A thread as the last picture saw it, and where in the ring that was written down last. */
struct known {
	struct tipme_kernel_thread thread;
	uint64_t written;
	bool seen_again;
};

#define KNOWN_BYTES (TIPMED_THREADS_MAX * sizeof(struct known))
#define LOOKED_BYTES (TIPMED_THREADS_MAX * sizeof(struct tipme_kernel_thread))

struct tipmed_pictures {
	/* guards ring and head; the rest belongs to the thread that keeps house */
	pthread_mutex_t lock;
	union slot *ring;
	uint64_t head; /* slots written so far */
	uint64_t oldest; /* of these, the first that is still there */
	uint32_t slots; /* in use, a power of two */
	uint64_t keep_from_ns;
	struct known *known, *next;
	unsigned int known_count;
	uint64_t known_ns; /* time of the last picture */
	bool notes_affinity;
	uint32_t noted; /* affinity records of this picture */
	uint32_t *hash; /* index + 1 into known */
	struct tipme_kernel_thread *looked;
};

static int lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	/* A real-time thread may wait for the one that keeps house. */
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	int err = -pthread_mutex_init(lock, &attr);

	pthread_mutexattr_destroy(&attr);
	return err;
}

int tipmed_pictures_new(struct tipmed_pictures **pictures)
{
	struct tipmed_pictures *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->slots = TIPMED_PICTURE_SLOTS_FIRST;
	p->ring = tipmed_reserve_new(tipmed_pictures_bytes());
	p->known = tipmed_reserve_new(KNOWN_BYTES);
	p->next = tipmed_reserve_new(KNOWN_BYTES);
	p->looked = tipmed_reserve_new(LOOKED_BYTES);
	p->hash = calloc(HASH_SLOTS, sizeof(*p->hash));
	int err = p->ring && p->known && p->next && p->looked && p->hash ? lock_init(&p->lock)
									 : -ENOMEM;

	if (err) {
		tipmed_pictures_free(p);
		return err;
	}
	*pictures = p;
	return 0;
}

void tipmed_pictures_free(struct tipmed_pictures *p)
{
	if (!p)
		return;
	tipmed_reserve_free(p->ring, tipmed_pictures_bytes());
	tipmed_reserve_free(p->known, KNOWN_BYTES);
	tipmed_reserve_free(p->next, KNOWN_BYTES);
	tipmed_reserve_free(p->looked, LOOKED_BYTES);
	free(p->hash);
	free(p);
}

void tipmed_pictures_give_back(struct tipmed_pictures *p)
{
	tipmed_reserve_give_back(p->ring, tipmed_pictures_bytes());
	tipmed_reserve_give_back(p->known, KNOWN_BYTES);
	tipmed_reserve_give_back(p->next, KNOWN_BYTES);
	tipmed_reserve_give_back(p->looked, LOOKED_BYTES);
}

static uint32_t hash_of(uint32_t tid, uint64_t start_ns)
{
	return (uint32_t)((tid * 0x9e3779b97f4a7c15ULL ^ start_ns * 0xc2b2ae3d27d4eb4fULL) >> 40) %
	       HASH_SLOTS;
}

/* The hash is never more than half full, so each search ends. */
static void hash_fill(struct tipmed_pictures *p)
{
	memset(p->hash, 0, HASH_SLOTS * sizeof(*p->hash));
	for (uint32_t i = 0; i < p->known_count; i++) {
		uint32_t at = hash_of(p->known[i].thread.rec.tid, p->known[i].thread.rec.start_ns);

		while (p->hash[at])
			at = (at + 1) % HASH_SLOTS;
		p->hash[at] = i + 1;
	}
}

static struct known *known_find(struct tipmed_pictures *p, const struct tipme_thread *rec)
{
	uint32_t at = hash_of(rec->tid, rec->start_ns);

	for (; p->hash[at]; at = (at + 1) % HASH_SLOTS) {
		struct known *k = &p->known[p->hash[at] - 1];

		if (k->thread.rec.tid == rec->tid && k->thread.rec.start_ns == rec->start_ns)
			return k;
	}
	return NULL;
}

/*
 * Of thousands of threads there is no picture each second, and what begins in the middle of one
 * begins with the next.
 */
#define PICTURES_STAY_NS 10000000000ULL

static union slot *slot_at(const struct tipmed_pictures *p, uint64_t index)
{
	return &p->ring[index % p->slots];
}

/* The first places of twice as many slots are those of before, so half of them stay where they are.
 */
static void ring_double(struct tipmed_pictures *p)
{
	uint32_t before = p->slots;

	p->slots *= 2;
	for (uint64_t i = p->oldest; i < p->head; i++)
		if (i % p->slots != i % before)
			*slot_at(p, i) = p->ring[i % before];
}

/* Takes more memory only for what somebody may still want. */
static void room_make(struct tipmed_pictures *p)
{
	if (p->head - p->oldest < p->slots)
		return;
	if (p->slots < TIPMED_PICTURE_SLOTS &&
	    slot_at(p, p->oldest)->head.ts_ns + PICTURES_STAY_NS >= p->keep_from_ns)
		ring_double(p);
	else
		p->oldest++;
}

static uint64_t slot_add(struct tipmed_pictures *p, const void *rec, size_t len)
{
	room_make(p);
	memcpy(slot_at(p, p->head), rec, len);
	return p->head++;
}

void tipmed_pictures_keep_from(struct tipmed_pictures *p, uint64_t ns)
{
	p->keep_from_ns = ns;
}

static bool still_written(const struct tipmed_pictures *p, uint64_t index)
{
	return index != NOWHERE && index >= p->oldest;
}

static bool thread_changed(const struct tipme_kernel_thread *a, const struct tipme_kernel_thread *b)
{
	return a->switches != b->switches || a->rec.state != b->rec.state ||
	       a->rec.prio != b->rec.prio || a->rec.uid != b->rec.uid ||
	       a->rec.cpus_allowed != b->rec.cpus_allowed ||
	       memcmp(a->rec.comm, b->rec.comm, sizeof(a->rec.comm));
}

/*
 * A thread that had slept longer than the ring reaches back, and moves now: what it did until the
 * picture before would be known to nobody, so that goes into the ring first, with the time of that
 * picture.
 */
static void before_add(struct tipmed_pictures *p, const struct known *was)
{
	struct tipme_thread rec = was->thread.rec;

	if (still_written(p, was->written))
		return;
	rec.ts_ns = p->known_ns;
	slot_add(p, &rec, sizeof(rec));
}

/* Behind the record of the thread: who reads in order knows it then. */
static void affinity_add(struct tipmed_pictures *p, const struct tipme_thread *was,
			 const struct tipme_thread *now)
{
	uint64_t within_ns = now->ts_ns - p->known_ns;
	struct tipme_affinity rec = {
		.ts_ns = now->ts_ns,
		.type = TIPME_AFFINITY,
		.len8 = sizeof(rec) / 8,
		.tid = now->tid,
		.cpus_allowed = now->cpus_allowed,
		.within_ns = within_ns < UINT32_MAX ? (uint32_t)within_ns : UINT32_MAX,
	};

	if (!p->notes_affinity || !was->cpus_allowed || !now->cpus_allowed ||
	    was->cpus_allowed == now->cpus_allowed)
		return;
	slot_add(p, &rec, sizeof(rec));
	p->noted++;
}

static uint64_t thread_add(struct tipmed_pictures *p, const struct tipme_kernel_thread *now)
{
	struct known *was = known_find(p, &now->rec);

	if (was) {
		was->seen_again = true;
		if (!thread_changed(&was->thread, now))
			return was->written;
		before_add(p, was);
	}
	uint64_t at = slot_add(p, &now->rec, sizeof(now->rec));

	if (was)
		affinity_add(p, &was->thread.rec, &now->rec);
	return at;
}

static void ended_add(struct tipmed_pictures *p, uint64_t ts_ns)
{
	for (unsigned int i = 0; i < p->known_count; i++) {
		struct tipme_thread rec = p->known[i].thread.rec;

		if (p->known[i].seen_again)
			continue;
		rec.ts_ns = ts_ns;
		rec.state = TIPME_TASK_STATE_DEAD;
		rec.stack_id = 0;
		slot_add(p, &rec, sizeof(rec));
	}
}

static void known_swap(struct tipmed_pictures *p, unsigned int count, uint64_t ts_ns)
{
	struct known *old = p->known;

	p->known = p->next;
	p->next = old;
	p->known_count = count;
	p->known_ns = ts_ns;
	hash_fill(p);
}

void tipmed_pictures_add(struct tipmed_pictures *p, const struct tipme_picture *picture,
			 const struct tipme_kernel_thread *threads, unsigned int count)
{
	pthread_mutex_lock(&p->lock);
	uint64_t at = slot_add(p, picture, sizeof(*picture));

	p->noted = 0;
	for (unsigned int i = 0; i < count; i++) {
		p->next[i] = (struct known){ .thread = threads[i], .written = NOWHERE };
		p->next[i].written = thread_add(p, &threads[i]);
	}
	/* A picture that was cut does not show who ended. */
	if (count < TIPMED_THREADS_MAX)
		ended_add(p, picture->ts_ns);
	if (still_written(p, at))
		slot_at(p, at)->picture.changed = (uint32_t)(p->head - at - 1) - p->noted;
	pthread_mutex_unlock(&p->lock);
	known_swap(p, count, picture->ts_ns);
}

void tipmed_pictures_note_affinity(struct tipmed_pictures *p, bool note)
{
	p->notes_affinity = note;
}

int tipmed_pictures_take(struct tipmed_pictures *p, struct tipme_kernel_source *source)
{
	struct tipme_picture picture;
	tipmed_pictures_note_affinity(p, tipme_kernel_source_tells_affinity(source) == -ENOTSUP);
	int n = tipme_kernel_source_picture(source, &picture, p->looked, TIPMED_THREADS_MAX);

	if (n > 0)
		tipmed_pictures_add(p, &picture, p->looked, (unsigned int)n);
	return n;
}

void tipmed_pictures_keep(struct tipmed_pictures *p, const void *rec, size_t len)
{
	if (len > sizeof(union slot))
		return;
	pthread_mutex_lock(&p->lock);
	slot_add(p, rec, len);
	pthread_mutex_unlock(&p->lock);
}

size_t tipmed_pictures_bytes(void)
{
	return TIPMED_PICTURE_SLOTS * sizeof(union slot);
}

size_t tipmed_pictures_copy(struct tipmed_pictures *p, void *buf, uint64_t *count,
			    uint64_t *first_ns)
{
	size_t len = 0;

	*count = *first_ns = 0;
	pthread_mutex_lock(&p->lock);

	for (uint64_t at = p->oldest; at < p->head; at++) {
		const union slot *slot = slot_at(p, at);

		if (!*first_ns && slot->head.type != TIPME_PICTURE)
			continue;
		if (!*first_ns)
			*first_ns = slot->head.ts_ns;
		memcpy((char *)buf + len, slot, slot->head.len8 * 8U);
		len += slot->head.len8 * 8U;
		++*count;
	}
	pthread_mutex_unlock(&p->lock);
	return len;
}
