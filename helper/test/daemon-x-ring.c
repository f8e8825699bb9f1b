// SPDX-License-Identifier: GPL-2.0-only
/* The reader of X rings: what is whole is copied once, and no content of the memory does harm. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "daemon-tap.h"
#include "xring_reader.h"

#define SLOTS TIPME_X_SLOTS_MIN
#define BYTES (sizeof(struct tipme_x_ring_header) + SLOTS * TIPME_X_SLOT_BYTES)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct writer {
	int fd;
	struct tipme_x_ring_header *head;
	unsigned char *slots;
};

static struct writer writer_new(size_t bytes, int seals)
{
	struct writer w = { .fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING) };

	if (w.fd < 0 || ftruncate(w.fd, (off_t)bytes))
		exit(99);
	w.head = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);
	if (w.head == MAP_FAILED || fcntl(w.fd, F_ADD_SEALS, seals))
		exit(99);
	w.slots = (unsigned char *)(w.head + 1);
	memcpy(w.head->magic, TIPME_X_RING_MAGIC, 8);
	w.head->byte_order = TIPME_BYTE_ORDER;
	w.head->major = TIPME_FORMAT_MAJOR;
	w.head->server_tid = 42;
	return w;
}

static void writer_free(struct writer *w, size_t bytes)
{
	munmap(w->head, bytes);
	close(w->fd);
}

/* The writer's side of the protocol in docs/formats.md; each record says its own number twice. */
static void put(struct writer *w)
{
	uint64_t index = w->head->head;
	struct tipme_x_request rec = {
		.ts_ns = 1000 + index,
		.type = TIPME_X_REQUEST,
		.len8 = 4,
		.tid = 42,
		.pid = (uint32_t)index,
		.duration_ns = (uint32_t)(index * 2654435761U),
	};
	unsigned char *slot = w->slots + index % SLOTS * TIPME_X_SLOT_BYTES;
	uint16_t *gen = (uint16_t *)(slot + 10);

	__atomic_store_n(&w->head->head, index + 1, __ATOMIC_RELAXED);
	__atomic_store_n(gen, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	rec.gen = 0;
	for (int i = 0; i < 4; i++)
		__atomic_store_n((uint64_t *)slot + i, ((uint64_t *)&rec)[i], __ATOMIC_RELAXED);
	__atomic_store_n(gen, (uint16_t)(1 + index / SLOTS % 65535), __ATOMIC_RELEASE);
}

static struct tipme_x_copy copy_new(const struct tipme_x_ring *ring)
{
	struct tipme_x_copy copy = { .cap = tipme_x_ring_copy_bytes(ring) };

	copy.buf = malloc(copy.cap);
	return copy.buf ? copy : (exit(99), copy);
}

/* All records whole, each once, in order; returns how many are not. */
static unsigned int copy_wrong(const struct tipme_x_copy *copy, uint64_t first)
{
	unsigned int wrong = 0;

	for (size_t at = sizeof(struct tipme_section); at < copy->len;
	     at += TIPME_X_SLOT_BYTES, first++) {
		struct tipme_x_request rec;

		memcpy(&rec, copy->buf + at, sizeof(rec));
		wrong += rec.pid != (uint32_t)first || rec.ts_ns != 1000 + first ||
			 rec.duration_ns != (uint32_t)(first * 2654435761U) || rec.gen;
	}
	return wrong;
}

static void test_copy(void)
{
	struct writer w = writer_new(BYTES, SEALS);
	struct tipme_x_ring ring;
	const char *why;

	ok(!tipme_x_ring_open(w.fd, &ring, &why), "a sealed ring is taken");
	struct tipme_x_copy copy = copy_new(&ring);
	struct tipme_section section;

	for (int i = 0; i < 700; i++)
		put(&w);
	tipme_x_ring_copy(&ring, &copy, UINT32_MAX);
	for (int i = 0; i < 300; i++)
		put(&w);
	tipme_x_ring_copy_more(&ring, &copy, UINT32_MAX);
	ok(copy.records == 1000 && !copy_wrong(&copy, 0),
	   "1000 records written, 1000 copied (%llu)", (unsigned long long)copy.records);
	ok(!copy.torn && !copy.lost_ring && !copy.impossible, "nothing lost");
	memcpy(&section, copy.buf, sizeof(section));
	ok(section.count == 1000 && section.body_len == 32000 && section.first_ns == 1000 &&
		   section.last_ns == 1999,
	   "the section says so");
	for (int i = 0; i < 5000; i++)
		put(&w);
	tipme_x_ring_copy(&ring, &copy, UINT32_MAX);
	tipme_x_ring_copy_more(&ring, &copy, UINT32_MAX);
	ok(copy.records == SLOTS && !copy_wrong(&copy, 6000 - SLOTS),
	   "a full ring gives its last %u", SLOTS);
	for (int i = 0; i < 3000; i++)
		put(&w);
	tipme_x_ring_copy_more(&ring, &copy, UINT32_MAX);
	ok(copy.lost_ring >= 3000 - SLOTS - 1,
	   "a writer that laps the reader between the copies: said to be lost");
	free(copy.buf);
	tipme_x_ring_close(&ring);
	writer_free(&w, BYTES);
}

/*
 * Record i has the time 1000 + i. Requests are no input; devices and deliveries are, but for
 * deliveries of other things.
 */
static uint64_t copied_of(struct tipme_x_quiet *quiet, uint8_t type, uint8_t kind)
{
	struct writer w = writer_new(BYTES, SEALS);
	struct tipme_x_ring ring;
	const char *why;

	if (tipme_x_ring_open(w.fd, &ring, &why))
		exit(99);
	struct tipme_x_copy copy = copy_new(&ring);

	copy.quiet = quiet;
	for (int i = 0; i < 1000; i++)
		put(&w);
	for (int i = 0; i < 1000; i++) {
		struct tipme_x_deliver rec;

		memcpy(&rec, w.slots + (size_t)i * TIPME_X_SLOT_BYTES, sizeof(rec));
		rec.type = type;
		rec.kind = kind;
		memcpy(w.slots + (size_t)i * TIPME_X_SLOT_BYTES, &rec, sizeof(rec));
	}
	tipme_x_ring_copy(&ring, &copy, UINT32_MAX);
	tipme_x_ring_copy_more(&ring, &copy, UINT32_MAX);
	uint64_t records = copy.records + copy.withheld == 1000 ? copy.records : UINT64_MAX;

	free(copy.buf);
	tipme_x_ring_close(&ring);
	writer_free(&w, BYTES);
	return records;
}

static void test_quiet(void)
{
	struct tipme_x_quiet quiet = { 0 };

	tipme_x_quiet_set(&quiet, false, 1050);
	ok(!quiet.count, "not quiet before anybody asked for it");
	tipme_x_quiet_set(&quiet, true, 1100);
	tipme_x_quiet_set(&quiet, true, 1150);
	tipme_x_quiet_set(&quiet, false, 1300);
	tipme_x_quiet_set(&quiet, true, 1900);
	ok(copied_of(&quiet, TIPME_X_DEVICE, TIPME_INPUT_KIND_KEY_PRESS) == 700,
	   "input from 1100 to 1300 and from 1900 on is withheld");
	ok(copied_of(&quiet, TIPME_X_INPUT, TIPME_INPUT_KIND_MOTION) == 700,
	   "also as the input thread saw it");
	ok(copied_of(&quiet, TIPME_X_DELIVER, TIPME_INPUT_KIND_KEY_PRESS) == 700,
	   "and as clients were told of it");
	ok(copied_of(&quiet, TIPME_X_DELIVER, TIPME_INPUT_KIND_OTHER) == 1000,
	   "but not other things that they are told");
	ok(copied_of(&quiet, TIPME_X_REQUEST, 0) == 1000, "nor requests");
	for (uint64_t i = 0; i < 40; i++)
		tipme_x_quiet_set(&quiet, !(i % 2), 2000 + i);
	ok(quiet.count == TIPME_X_QUIET_MAX && quiet.part[0].from == 1100 &&
		   quiet.part[TIPME_X_QUIET_MAX - 1].to == 2039,
	   "forty changes more: the first parts have become one, none is forgotten");
}

/* A request's record is written when it has ended, behind those of what happened meanwhile. */
static void test_coverage(void)
{
	struct writer w = writer_new(BYTES, SEALS);
	struct tipme_x_request *oldest = (void *)(w.slots + 10 * TIPME_X_SLOT_BYTES);
	struct tipme_section section;
	struct tipme_x_grab grab;
	struct tipme_x_ring ring;
	const char *why;

	if (tipme_x_ring_open(w.fd, &ring, &why))
		exit(99);
	struct tipme_x_copy copy = copy_new(&ring);

	for (unsigned int i = 0; i < SLOTS; i++)
		put(&w);
	oldest->ts_ns = 900;
	oldest->duration_ns = 110;
	tipme_x_ring_copy(&ring, &copy, UINT32_MAX);
	tipme_x_ring_copy_more(&ring, &copy, UINT32_MAX);
	ok(copy.records == SLOTS && copy.first_ns == 900,
	   "a ring that has lost nothing is complete from its first record on");
	for (int i = 0; i < 10; i++)
		put(&w);
	w.head->grab_pid = 88;
	w.head->grab_start_ns = 1005;
	tipme_x_ring_copy(&ring, &copy, UINT32_MAX);
	tipme_x_ring_copy_more(&ring, &copy, UINT32_MAX);
	memcpy(&section, copy.buf, sizeof(section));
	memcpy(&grab, copy.buf + copy.len - sizeof(grab), sizeof(grab));
	ok(copy.records == SLOTS + 1 && copy.first_ns == 1010,
	   "one that has, from the end of the oldest: what was overwritten may lie in it (%llu)",
	   (unsigned long long)copy.first_ns);
	ok(grab.type == TIPME_X_GRAB && grab.ts_ns == 1005 && grab.pid == 88,
	   "and the grab of that time is told");
	ok(section.first_ns == 900, "the section begins with the oldest record all the same");
	/* Who lies about how long a request took does not move that into the future. */
	oldest->duration_ns = UINT32_MAX;
	tipme_x_ring_copy(&ring, &copy, 3000000);
	tipme_x_ring_copy_more(&ring, &copy, 3000000);
	ok(copy.impossible >= 1 && copy.first_ns < 3000000 + 1000000,
	   "a request that would end later than now is impossible (%llu)",
	   (unsigned long long)copy.first_ns);
	/* A little ahead is possible; but nobody is covered from later than he was looked at. */
	oldest->duration_ns = 3000000 - 900 + 500000;
	tipme_x_ring_copy(&ring, &copy, 3000000);
	tipme_x_ring_copy_more(&ring, &copy, 3000000);
	ok(copy.first_ns == 3000000, "nothing is complete from later than the look (%llu)",
	   (unsigned long long)copy.first_ns);
	free(copy.buf);
	tipme_x_ring_close(&ring);
	writer_free(&w, BYTES);
}

static void test_present(void)
{
	struct writer w = writer_new(BYTES, SEALS);
	struct tipme_x_ring ring;
	const char *why;

	if (tipme_x_ring_open(w.fd, &ring, &why))
		exit(99);
	struct tipme_x_copy copy = copy_new(&ring);
	struct tipme_x_request rec;

	for (unsigned int i = 0; i < 2; i++) {
		put(&w);
		((struct tipme_x_request *)w.slots)[i].duration_ns = 1;
	}
	w.head->cur_start_ns = 5000;
	w.head->cur_pid = 77;
	w.head->cur_major = 62;
	w.head->grab_pid = 88;
	w.head->grab_start_ns = 500;
	tipme_x_ring_copy(&ring, &copy, 9000);
	tipme_x_ring_copy_more(&ring, &copy, 9000);
	ok(copy.records == 4, "two records, the grab and the request that is being executed");
	memcpy(&rec, copy.buf + copy.len - sizeof(rec), sizeof(rec));
	ok(rec.type == TIPME_X_REQUEST && rec.count == 0 && rec.pid == 77 && rec.major == 62 &&
		   rec.ts_ns == 5000 && rec.duration_ns == 4000,
	   "the unfinished request: whose, which, since when");
	ok(copy.first_ns == 1000, "coverage begins with the ring, not with the grab");
	free(copy.buf);
	tipme_x_ring_close(&ring);
	writer_free(&w, BYTES);
}

/* The reason is part of what is tested: each refusal has its own. */
static void refused(int fd, int err, const char *reason)
{
	struct tipme_x_ring ring;
	const char *why = "";
	int got = tipme_x_ring_open(fd, &ring, &why);

	ok((err ? got == err : got < 0) && strstr(why, reason), "refused: %s", why);
}

static void count_one(void *arg, const struct tipme_head *rec)
{
	struct tipme_x_request r;
	uint64_t *sum = arg;

	memcpy(&r, rec, sizeof(r));
	sum[0]++;
	sum[1] += r.pid;
}

/* How many records came, and that no other ones did. */
static unsigned int followed(const struct tipme_x_ring *ring, uint64_t *next, uint64_t *sum)
{
	uint64_t before = sum[0];

	tipme_x_ring_follow(ring, next, SLOTS, 1ULL << 62, count_one, sum);
	return (unsigned int)(sum[0] - before);
}

static void test_follow(void)
{
	struct writer w = writer_new(BYTES, SEALS);
	uint64_t next = UINT64_MAX, sum[2] = { 0 };
	struct tipme_x_ring ring;
	const char *why;

	if (tipme_x_ring_open(w.fd, &ring, &why))
		exit(99);
	put(&w);
	ok(!followed(&ring, &next, sum), "what came before is not followed");
	for (int i = 0; i < 5; i++)
		put(&w);
	ok(followed(&ring, &next, sum) == 5 && sum[1] == 1 + 2 + 3 + 4 + 5, "what comes is, once");
	for (int i = 0; i < 3; i++)
		put(&w);
	uint16_t *gen = (uint16_t *)(w.slots + 7 * TIPME_X_SLOT_BYTES + 10);

	*gen = 0;
	ok(followed(&ring, &next, sum) == 1, "one that is being written is waited for");
	*gen = 1;
	ok(followed(&ring, &next, sum) == 2 && sum[1] == 15 + 6 + 7 + 8,
	   "... and comes in its turn");
	*gen = 0;
	next = 7;
	for (int i = 0; i < 40; i++)
		put(&w);
	ok(followed(&ring, &next, sum) == 41, "... but not for ever");
	put(&w);
	w.slots[49 * TIPME_X_SLOT_BYTES + 8] = TIPME_WL_DELIVER;
	ok(!followed(&ring, &next, sum) && next == 50, "an X server tells nothing of Wayland");
	tipme_x_ring_close(&ring);
	int err = tipme_x_ring_open_table(w.fd, 10, &ring, &why);

	ok(err == -EBADF && strstr(why, "no table"), "memory of a process is refused: %s", why);
	writer_free(&w, BYTES);
}

static void test_refused(void)
{
	struct writer w = writer_new(BYTES, F_SEAL_GROW | F_SEAL_SEAL);
	int zero = open("/dev/zero", O_RDWR), pipes[2];

	refused(w.fd, -EPERM, "not sealed");
	writer_free(&w, BYTES);
	w = writer_new(BYTES + 32, SEALS);
	refused(w.fd, -EINVAL, "2^n");
	writer_free(&w, BYTES + 32);
	w = writer_new(BYTES, SEALS);
	w.head->major = 9;
	refused(w.fd, -EPROTONOSUPPORT, "format");
	w.head->magic[0] = 'X';
	refused(w.fd, -EBADMSG, "TIPMEXRG");
	writer_free(&w, BYTES);
	refused(zero, 0, "no memfd");
	refused(-1, 0, "no memfd");
	if (pipe(pipes))
		exit(99);
	refused(pipes[0], 0, "no memfd");
	close(zero);
	close(pipes[0]);
	close(pipes[1]);
}

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static unsigned int records_impossible(const struct tipme_x_copy *copy, uint64_t now_ns)
{
	unsigned int wrong = 0;

	for (size_t at = sizeof(struct tipme_section); at < copy->len; at += TIPME_X_SLOT_BYTES) {
		struct tipme_head head;

		memcpy(&head, copy->buf + at, sizeof(head));
		wrong += head.type < TIPME_X_DEVICE || head.type > TIPME_X_PAINTED ||
			 head.len8 != 4 || head.gen || !head.ts_ns || head.ts_ns > now_ns + 1000000;
	}
	return wrong;
}

/* Random heads near the edges of what a counter can be, and slots half of which look whole. */
static void scramble(struct writer *w, unsigned int round)
{
	static const uint64_t edges[] = { 0,	     1,		 SLOTS,
					  SLOTS + 1, UINT64_MAX, UINT64_MAX - SLOTS,
					  1ULL << 63 };
	unsigned char *head = (unsigned char *)w->head;

	for (size_t i = 8; i < sizeof(*w->head); i += 8)
		*(uint64_t *)(head + i) = random64();
	if (round % 2)
		w->head->head = edges[random64() % 7] + random64() % 3;
	for (int i = 0; i < 32; i++) {
		unsigned char *slot = w->slots + random64() % SLOTS * TIPME_X_SLOT_BYTES;

		for (int j = 0; j < 4; j++)
			((uint64_t *)slot)[j] = random64() >> (random64() % 64);
		*(uint16_t *)(slot + 10) = (uint16_t)(1 + w->head->head / SLOTS % 65535);
		if (round % 3)
			slot[8] = (unsigned char)(60 + random64() % 16), slot[9] = 4;
	}
}

/* What readers of a manifest take: up to 18 digits. */
#define NUMBER_MAX 999999999999999999ULL

static void test_counters(void)
{
	struct writer w = writer_new(BYTES, SEALS);
	struct tipme_x_ring ring;
	const char *why;

	if (tipme_x_ring_open(w.fd, &ring, &why))
		exit(99);
	struct tipme_x_copy copy = copy_new(&ring);

	for (int i = 0; i < 10; i++)
		put(&w);
	tipme_x_ring_copy(&ring, &copy, 5000);
	w.head->lost = UINT64_MAX;
	w.head->head = UINT64_MAX - 3;
	tipme_x_ring_copy_more(&ring, &copy, 5000);
	ok(copy.lost_ring && copy.lost_ring <= NUMBER_MAX && copy.first_ns <= NUMBER_MAX &&
		   copy.last_ns <= NUMBER_MAX,
	   "a writer that says it lost all that a counter can hold: the number is one that fits into a manifest");
	free(copy.buf);
	tipme_x_ring_close(&ring);
	writer_free(&w, BYTES);
}

static void test_hostile(void)
{
	struct writer w = writer_new(BYTES, SEALS);
	struct tipme_x_ring ring;
	const char *why, *rounds_text = getenv("TIPME_RINGS");
	unsigned int rounds = rounds_text ? (unsigned int)strtoul(rounds_text, NULL, 10) : 100000;
	unsigned int wrong = 0, long_ones = 0, large = 0;
	uint64_t kept = 0, dropped = 0;

	if (tipme_x_ring_open(w.fd, &ring, &why))
		exit(99);
	struct tipme_x_copy copy = copy_new(&ring);

	for (unsigned int round = 0; round < rounds; round++) {
		scramble(&w, round);
		tipme_x_ring_copy(&ring, &copy, 1ULL << 62);
		if (round % 4 == 0)
			scramble(&w, round);
		tipme_x_ring_copy_more(&ring, &copy, 1ULL << 62);
		long_ones += copy.len > copy.cap;
		/* Looking at every record of every round would only take longer. */
		wrong += round % 16 ? 0 : records_impossible(&copy, 1ULL << 62);
		large += copy.lost_ring > NUMBER_MAX || copy.torn > NUMBER_MAX ||
			 copy.impossible > NUMBER_MAX;
		kept += copy.records;
		dropped += copy.impossible;
	}
	ok(!long_ones && !wrong, "%u random rings: no copy too long, no impossible record in it",
	   rounds);
	ok(!large, "none makes a number that a manifest cannot hold");
	ok(kept && dropped, "%llu random records were possible, %llu were not",
	   (unsigned long long)kept, (unsigned long long)dropped);
	free(copy.buf);
	tipme_x_ring_close(&ring);
	writer_free(&w, BYTES);
}

static bool writing;

static void *write_on(void *arg)
{
	while (__atomic_load_n(&writing, __ATOMIC_RELAXED))
		put(arg);
	return NULL;
}

/* The writer laps the reader all the time. */
static void test_concurrent(void)
{
	struct writer w = writer_new(BYTES, SEALS);
	struct tipme_x_ring ring;
	const char *why;
	pthread_t thread;
	unsigned int torn = 0;
	uint64_t seen = 0;

	if (tipme_x_ring_open(w.fd, &ring, &why))
		exit(99);
	struct tipme_x_copy copy = copy_new(&ring);

	writing = true;
	pthread_create(&thread, NULL, write_on, &w);
	/*
	 * On a machine with other work the writer may be through before the reader has looked once.
	 */
	while (!seen || __atomic_load_n(&w.head->head, __ATOMIC_RELAXED) < 20000000) {
		tipme_x_ring_copy(&ring, &copy, UINT64_MAX / 2);
		for (size_t at = sizeof(struct tipme_section); at < copy.len;
		     at += TIPME_X_SLOT_BYTES) {
			struct tipme_x_request rec;

			memcpy(&rec, copy.buf + at, sizeof(rec));
			torn += rec.duration_ns != (uint32_t)((rec.ts_ns - 1000) * 2654435761U) ||
				rec.pid != (uint32_t)(rec.ts_ns - 1000);
		}
		seen += copy.records;
	}
	__atomic_store_n(&writing, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ok(!torn && seen, "20 million records written while %llu were copied: none torn",
	   (unsigned long long)seen);
	free(copy.buf);
	tipme_x_ring_close(&ring);
	writer_free(&w, BYTES);
}

int main(void)
{
	test_copy();
	test_quiet();
	test_coverage();
	test_present();
	test_follow();
	test_refused();
	test_counters();
	test_hostile();
	test_concurrent();
	return tap_end();
}
