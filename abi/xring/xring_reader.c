// SPDX-License-Identifier: GPL-2.0-only
/* Reader of the ring that an X server shares with us; its contents are hostile. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "xring_reader.h"

#define HEADER_BYTES sizeof(struct tipme_x_ring_header)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* A clock read before ours on another CPU may be a little ahead; more than that is a lie. */
#define FUTURE_NS 1000000U

static uint32_t slots_of_size(off_t size)
{
	for (uint32_t n = TIPME_X_SLOTS_MIN; n <= TIPME_X_SLOTS_MAX; n *= 2)
		if ((uint64_t)size == HEADER_BYTES + (uint64_t)n * TIPME_X_SLOT_BYTES)
			return n;
	return 0;
}

/*
 * Without the seals the owner could cut the memory and kill us by SIGBUS; so could huge pages that
 * are not there.
 */
static int check_memory(int fd, struct stat *st, const char **why)
{
	struct statfs fs;
	int seals = fcntl(fd, F_GET_SEALS);

	*why = "the ring is no memfd";
	if (fstat(fd, st) || fstatfs(fd, &fs))
		return -errno;
	if (!S_ISREG(st->st_mode) || fs.f_type != TMPFS_MAGIC || seals < 0)
		return -EBADF;
	*why = "the ring's memory is not sealed against shrinking, growing and new seals";
	if ((seals & SEALS) != SEALS)
		return -EPERM;
	*why = "the ring is not 256 + 32 x 2^n bytes long, n from 10 to 20";
	return slots_of_size(st->st_size) ? 0 : -EINVAL;
}

static int check_header(const struct tipme_x_ring_header *head, const char **why)
{
	*why = "the ring does not begin with TIPMEXRG, or has another byte order or format";
	if (memcmp(head->magic, TIPME_X_RING_MAGIC, sizeof(head->magic)) ||
	    head->byte_order != TIPME_BYTE_ORDER)
		return -EBADMSG;
	return head->major == TIPME_FORMAT_MAJOR ? 0 : -EPROTONOSUPPORT;
}

int tipme_x_ring_open(int fd, struct tipme_x_ring *ring, const char **why)
{
	struct stat st;
	int err = check_memory(fd, &st, why);

	if (err)
		return err;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED) {
		*why = "the ring cannot be mapped";
		return -errno;
	}
	*ring = (struct tipme_x_ring){
		.head = map,
		.slots = (const unsigned char *)map + HEADER_BYTES,
		.bytes = (size_t)st.st_size,
		.slot_count = slots_of_size(st.st_size),
	};
	err = check_header(ring->head, why);
	/* Read once, now: who writes may change its mind later, we do not. */
	ring->source =
		__atomic_load_n(&ring->head->source, __ATOMIC_RELAXED) == TIPME_SOURCE_X_CLIENT
			? TIPME_SOURCE_X_CLIENT
			: TIPME_SOURCE_X_HOOKS;
	ring->observed_pid =
		ring->source == TIPME_SOURCE_X_CLIENT
			? (pid_t)__atomic_load_n(&ring->head->server_pid, __ATOMIC_RELAXED)
			: 0;
	if (err)
		tipme_x_ring_close(ring);
	return err;
}

/* Nobody can make such a table smaller; what is mapped beyond its end is refused. */
static bool is_table(int fd)
{
	static const char name[] = "anon_inode:bpf-map";
	char path[32], text[sizeof(name)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, text, sizeof(text)) == sizeof(name) - 1 &&
	       !memcmp(text, name, sizeof(name) - 1);
}

int tipme_x_ring_open_table(int fd, unsigned int log2, struct tipme_x_ring *ring, const char **why)
{
	size_t bytes = HEADER_BYTES + ((size_t)TIPME_X_SLOT_BYTES << log2);

	*why = "the ring is no table of the kernel's";
	if (!is_table(fd))
		return -EBADF;
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	*why = "the ring cannot be mapped";
	if (map == MAP_FAILED)
		return -errno;
	*ring = (struct tipme_x_ring){
		.head = map,
		.slots = (const unsigned char *)map + HEADER_BYTES,
		.bytes = bytes,
		.slot_count = 1U << log2,
		.source = TIPME_SOURCE_KERNEL_BPF,
	};
	return 0;
}

void tipme_x_ring_close(struct tipme_x_ring *ring)
{
	if (ring->head)
		munmap((void *)ring->head, ring->bytes);
	*ring = (struct tipme_x_ring){ 0 };
}

/* The request and the grab that still hold at the end. */
#define EXTRA_SLOTS 2

size_t tipme_x_ring_copy_bytes(const struct tipme_x_ring *ring)
{
	return sizeof(struct tipme_section) +
	       ((size_t)ring->slot_count * 2 + EXTRA_SLOTS) * TIPME_X_SLOT_BYTES;
}

/* The writer changes it all the time, and may mean harm: each value is read once. */
static uint64_t load64(const __u64 *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static uint16_t gen_of(const struct tipme_x_ring *ring, uint64_t index)
{
	return (uint16_t)(1 + index / ring->slot_count % 65535);
}

/* True if the slot was whole, and of the expected generation, all the while it was copied. */
static bool slot_copy(const struct tipme_x_ring *ring, uint64_t index, unsigned char *to)
{
	const unsigned char *slot =
		ring->slots + (index & (ring->slot_count - 1)) * TIPME_X_SLOT_BYTES;
	const uint16_t *gen = (const uint16_t *)(slot + offsetof(struct tipme_head, gen));
	uint16_t want = gen_of(ring, index);

	/* Pairs with the writer's release store of gen, which is its last. */
	if (__atomic_load_n(gen, __ATOMIC_ACQUIRE) != want)
		return false;
	for (size_t i = 0; i < TIPME_X_SLOT_BYTES; i += sizeof(uint64_t)) {
		uint64_t word = __atomic_load_n((const uint64_t *)(slot + i), __ATOMIC_RELAXED);

		memcpy(to + i, &word, sizeof(word));
	}
	/*
	 * Keeps the loads above from being done after the second look; the writer zeroes gen before
	 * it touches the rest.
	 */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(gen, __ATOMIC_RELAXED) == want;
}

/* The time of a whole slot's record, for a request that of its end: it is written then. */
static uint64_t written_ns(const unsigned char *slot)
{
	struct tipme_x_request rec;

	memcpy(&rec, slot, sizeof(rec));
	return rec.ts_ns + (rec.type == TIPME_X_REQUEST ? rec.duration_ns : 0);
}

/* What an X server tells, or what tracing programs tell of Wayland compositors. */
static bool type_possible(uint32_t source, uint8_t type)
{
	return source == TIPME_SOURCE_KERNEL_BPF
		       ? type >= TIPME_WL_DELIVER && type <= TIPME_WL_DONE
		       : type >= TIPME_X_DEVICE && type <= TIPME_X_PAINTED;
}

static bool record_possible(uint32_t source, const unsigned char *slot, uint64_t now_ns)
{
	struct tipme_head rec;

	memcpy(&rec, slot, sizeof(rec));
	return type_possible(source, rec.type) && rec.len8 == TIPME_X_SLOT_BYTES / 8 && rec.ts_ns &&
	       rec.ts_ns <= now_ns + FUTURE_NS && written_ns(slot) <= now_ns + FUTURE_NS;
}

static bool is_quiet(const struct tipme_x_quiet *quiet, uint64_t ts_ns)
{
	for (unsigned int i = 0; quiet && i < quiet->count; i++)
		if (ts_ns >= quiet->part[i].from && ts_ns < quiet->part[i].to)
			return true;
	return false;
}

bool tipme_x_quiet_now(const struct tipme_x_quiet *quiet)
{
	return quiet->count && quiet->part[quiet->count - 1].to == UINT64_MAX;
}

void tipme_x_quiet_set(struct tipme_x_quiet *quiet, bool on, uint64_t now_ns)
{
	bool was = tipme_x_quiet_now(quiet);

	if (on == was)
		return;
	if (!on) {
		quiet->part[quiet->count - 1].to = now_ns;
		return;
	}
	if (quiet->count == TIPME_X_QUIET_MAX) {
		quiet->part[0].to = quiet->part[1].to;
		memmove(&quiet->part[1], &quiet->part[2],
			(TIPME_X_QUIET_MAX - 2) * sizeof(quiet->part[0]));
		quiet->count--;
	}
	quiet->part[quiet->count].from = now_ns;
	quiet->part[quiet->count++].to = UINT64_MAX;
}

/*
 * What the hooks leave out, too, when their own chord says so: keys, buttons, motion, and what
 * clients are sent of them.
 */
static bool is_input(const unsigned char *slot, uint8_t type)
{
	struct tipme_x_deliver rec;

	memcpy(&rec, slot, sizeof(rec));
	return type == TIPME_X_INPUT || type == TIPME_X_DEVICE ||
	       (type == TIPME_X_DELIVER && rec.kind != TIPME_INPUT_KIND_OTHER);
}

static void record_keep(struct tipme_x_copy *copy, uint64_t now_ns)
{
	struct tipme_head rec;

	if (!record_possible(TIPME_SOURCE_X_HOOKS, copy->buf + copy->len, now_ns)) {
		copy->impossible++;
		return;
	}
	memcpy(&rec, copy->buf + copy->len, sizeof(rec));
	if (is_quiet(copy->quiet, rec.ts_ns) && is_input(copy->buf + copy->len, rec.type)) {
		copy->withheld++;
		return;
	}
	rec.gen = 0;
	memcpy(copy->buf + copy->len, &rec, sizeof(rec));
	copy->len += TIPME_X_SLOT_BYTES;
	if (!copy->records || rec.ts_ns < copy->first_ns)
		copy->first_ns = rec.ts_ns;
	if (rec.ts_ns > copy->last_ns)
		copy->last_ns = rec.ts_ns;
	copy->records++;
}

/*
 * Slots [from, to). At the old end (`lapping`) the writer may overwrite what we are about to read:
 * that is older than the copy, not lost out of it. Anywhere else a slot that is not whole is a torn
 * one.
 */
static void slots_copy(const struct tipme_x_ring *ring, struct tipme_x_copy *copy, uint64_t from,
		       uint64_t to, bool lapping, uint64_t now_ns)
{
	for (uint64_t i = from; i != to && copy->cap - copy->len > EXTRA_SLOTS * TIPME_X_SLOT_BYTES;
	     i++) {
		if (slot_copy(ring, i, copy->buf + copy->len)) {
			record_keep(copy, now_ns);
			lapping = false;
		} else if (!lapping) {
			copy->torn++;
		}
	}
}

void tipme_x_ring_copy(const struct tipme_x_ring *ring, struct tipme_x_copy *copy, uint64_t now_ns)
{
	uint64_t head = __atomic_load_n(&ring->head->head, __ATOMIC_ACQUIRE);
	uint64_t from = head > ring->slot_count ? head - ring->slot_count : 0;

	*copy = (struct tipme_x_copy){
		.buf = copy->buf,
		.cap = copy->cap,
		.quiet = copy->quiet,
		.len = sizeof(struct tipme_section),
		.lost_before = load64(&ring->head->lost),
		.server_tid = ring->head->server_tid,
		.lapped = from,
	};
	/* The youngest slot may still be in the making: leave it to the second copy. */
	copy->next = head ? head - 1 : 0;
	slots_copy(ring, copy, from, copy->next, true, now_ns);
}

static void request_add(const struct tipme_x_ring *ring, struct tipme_x_copy *copy, uint64_t now_ns)
{
	const struct tipme_x_ring_header *head = ring->head;
	uint64_t start_ns = __atomic_load_n(&head->cur_start_ns, __ATOMIC_ACQUIRE);
	uint64_t took_ns = now_ns - start_ns;
	struct tipme_x_request rec = {
		.ts_ns = start_ns,
		.type = TIPME_X_REQUEST,
		.len8 = sizeof(rec) / 8,
		.tid = copy->server_tid,
		.pid = head->cur_pid,
		.client = head->cur_client,
		.major = head->cur_major,
		.minor = head->cur_minor,
		.duration_ns = took_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)took_ns,
	};

	/* The same beginning after as before: the fields between belong to it. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!start_ns || start_ns > now_ns ||
	    __atomic_load_n(&head->cur_start_ns, __ATOMIC_RELAXED) != start_ns)
		return;
	memcpy(copy->buf + copy->len, &rec, sizeof(rec));
	record_keep(copy, now_ns);
}

/*
 * From when on the ring is complete. Records stand in the order in which they were written, a
 * request's when it has ended: what was overwritten before the oldest may have come while that was
 * being executed.
 */
static uint64_t complete_from(const struct tipme_x_copy *copy)
{
	if (!copy->lapped || !copy->records)
		return copy->first_ns;
	return written_ns(copy->buf + sizeof(struct tipme_section));
}

/* A grab that began before the oldest record would not be seen otherwise. */
static void grab_add(const struct tipme_x_ring *ring, struct tipme_x_copy *copy, uint64_t now_ns)
{
	uint64_t since_ns = load64(&ring->head->grab_start_ns);
	struct tipme_x_grab rec = {
		.ts_ns = since_ns,
		.type = TIPME_X_GRAB,
		.len8 = sizeof(rec) / 8,
		.tid = copy->server_tid,
		.pid = ring->head->grab_pid,
		.what = TIPME_X_GRAB_WHAT_SERVER,
		.begin = 1,
	};

	if (!rec.pid || !since_ns || (copy->records && since_ns >= complete_from(copy)))
		return;
	memcpy(copy->buf + copy->len, &rec, sizeof(rec));
	record_keep(copy, now_ns);
}

static void section_write(const struct tipme_x_ring *ring, struct tipme_x_copy *copy)
{
	struct tipme_section section = {
		.ts_ns = copy->first_ns,
		.type = TIPME_SECTION,
		.len8 = sizeof(section) / 8,
		.tid = copy->server_tid,
		.source = ring->source,
		.first_ns = copy->first_ns,
		.last_ns = copy->last_ns,
		.count = copy->records,
		.body_len = copy->len - sizeof(section),
	};

	memcpy(copy->buf, &section, sizeof(section));
}

/* What the writer counts may be anything; no sum of it is larger than what a manifest can hold. */
static void lost_add(struct tipme_x_copy *copy, uint64_t lost)
{
	uint64_t room = TIPME_X_LOST_MAX - copy->lost_ring;

	copy->lost_ring += lost < room ? lost : room;
}

void tipme_x_ring_copy_more(const struct tipme_x_ring *ring, struct tipme_x_copy *copy,
			    uint64_t now_ns)
{
	uint64_t head = __atomic_load_n(&ring->head->head, __ATOMIC_ACQUIRE);
	uint64_t from = copy->next;

	/*
	 * A head that ran back, or beyond what a ring can hold, still costs no more than one pass
	 * over the slots.
	 */
	if (head - from > ring->slot_count) {
		lost_add(copy, head > from ? head - from - ring->slot_count : 0);
		from = head > ring->slot_count ? head - ring->slot_count : 0;
	}
	slots_copy(ring, copy, from, head, false, now_ns);
	uint64_t lost = load64(&ring->head->lost), complete_ns = complete_from(copy);

	lost_add(copy, lost > copy->lost_before ? lost - copy->lost_before : 0);
	grab_add(ring, copy, now_ns);
	request_add(ring, copy, now_ns);
	section_write(ring, copy);
	/*
	 * What is complete begins where the ring did; those two only say what held by then. A
	 * record may lie a little ahead of this look, what it covers may not.
	 */
	if (complete_ns)
		copy->first_ns = complete_ns < now_ns ? complete_ns : now_ns;
}

/* Writers may be kept from a record that they have begun while others write so many. */
#define BEGUN_MAX 16

void tipme_x_ring_follow(const struct tipme_x_ring *ring, uint64_t *next, uint32_t most,
			 uint64_t now_ns, void (*fn)(void *arg, const struct tipme_head *rec),
			 void *arg)
{
	uint64_t head = __atomic_load_n(&ring->head->head, __ATOMIC_ACQUIRE);
	union {
		struct tipme_head head;
		unsigned char bytes[TIPME_X_SLOT_BYTES];
	} slot;

	most = most < ring->slot_count ? most : ring->slot_count;
	if (*next == UINT64_MAX || *next > head)
		*next = head;
	if (head - *next > most)
		*next = head - most;
	for (; *next != head; ++*next) {
		if (!slot_copy(ring, *next, slot.bytes)) {
			if (head - *next <= BEGUN_MAX)
				return;
			continue;
		}
		if (record_possible(ring->source, slot.bytes, now_ns))
			fn(arg, &slot.head);
	}
}
