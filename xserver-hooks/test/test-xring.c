// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring and the runs of requests: a reader beside the writer never takes a torn record, and no
 * record is lost in between.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "request_run.h"
#include "ring_reader.h"
#include "tap.h"

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x7fb5d329728ea185ULL;
	return (x ^ x >> 27) * 0x81dadef4bc2dd44dULL;
}

/* A record that can be checked by itself. */
static struct tipme_xslot make(uint64_t n)
{
	return (struct tipme_xslot){ n, TIPME_X_SLEEP, { mix(n), mix(~n) } };
}

static bool is_made(const struct tipme_xslot *rec, uint64_t n, uint32_t tid)
{
	return rec->ts_ns == n && rec->body[0] == mix(n) && rec->body[1] == mix(~n) &&
	       (rec->tag & 0xffff) == (TIPME_X_SLEEP | 4 << 8) && rec->tag >> 32 == tid;
}

static void test_memory(void)
{
	struct tipme_xring ring;
	struct stat st;
	int err = tipme_xring_open(&ring, 12, "a server with a long name");

	if (!ok(!err, "a ring is made"))
		return;
	ok(!fstat(ring.fd, &st) && st.st_size == 256 + 32 * 4096, "of 256 + 32 x 2^12 bytes");
	ok(fcntl(ring.fd, F_GET_SEALS) == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), "sealed");
	ok(ftruncate(ring.fd, 4096) && errno == EPERM, "it cannot be shrunk");
	ok(!memcmp(ring.header->magic, "TIPMEXRG", 8) && ring.header->slot_count == 4096 &&
		   ring.header->header_len == 256 &&
		   ring.header->server_pid == (uint32_t)getpid() &&
		   ring.header->server_tid == (uint32_t)gettid(),
	   "its header says what it is");
	ok(!strcmp(ring.header->server_name, "a server with a"), "a long name is cut, and ends");
	tipme_xring_close(&ring);
	tipme_xring_close(&ring);
	ok(tipme_xring_open(&ring, 9, "") == -EINVAL && tipme_xring_open(&ring, 21, "") == -EINVAL,
	   "other sizes are refused");
	ok(tipme_xring_log2(0) == 17 && tipme_xring_log2(2048) == 16 && tipme_xring_log2(1) == 10 &&
		   tipme_xring_log2(2049) == 17 && tipme_xring_log2(1UL << 40) == 20,
	   "KiB become slots");
}

/*
 * Where files may not be as large, the kernel answers the wish for one with a signal that ends
 * whoever has it.
 */
static void test_file_limit(void)
{
	struct tipme_xring ring = { .fd = -1 };
	struct rlimit old, low;

	getrlimit(RLIMIT_FSIZE, &old);
	low = (struct rlimit){ 100000, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &low);
	ok(tipme_xring_open(&ring, 12, "limited") == -EFBIG,
	   "where no file may be as large there is no ring, and the process goes on");
	ok(!tipme_xring_open(&ring, 10, "small"), "a smaller one is made");
	tipme_xring_close(&ring);
	setrlimit(RLIMIT_FSIZE, &old);
}

static void test_wrap(void)
{
	struct tipme_xring ring;
	struct tipme_xslot rec;
	uint64_t n = 0, good = 0, stale = 0;

	if (tipme_xring_open(&ring, 10, "wrap"))
		return (void)ok(false, "a ring is made");
	/* Past the end of the 16-bit generation, which wraps after 65535 rounds of 1024. */
	for (; n < 65536ULL * 1024 + 300; n++) {
		rec = make(n);
		tipme_xring_put(&ring, &rec);
	}
	for (uint64_t i = n - 1024; i < n; i++)
		good += ring_read(ring.slots, 10, i, &rec) && is_made(&rec, i, ring.tid);
	for (uint64_t i = n - 2048; i < n - 1024; i++)
		stale += ring_read(ring.slots, 10, i, &rec);
	ok(good == 1024, "after the generation has wrapped all slots are whole (%lu)",
	   (unsigned long)good);
	ok(stale == 0, "and none passes for one of the round before");
	ok(ring.header->head == n, "the header counts them");
	tipme_xring_close(&ring);
}

struct reader {
	int fd;
	unsigned log2;
	uint32_t tid;
	uint64_t copies, whole, torn_seen, torn_taken;
	volatile bool stop, satisfied;
};

/* Copies the whole ring again and again through a mapping of its own, as another process would. */
static void *read_all(void *arg)
{
	struct reader *r = arg;
	size_t count = 1ULL << r->log2, bytes = 256 + 32 * count;
	const struct tipme_x_ring_header *h = mmap(NULL, bytes, PROT_READ, MAP_SHARED, r->fd, 0);

	while (!r->stop) {
		uint64_t head = __atomic_load_n(&h->head, __ATOMIC_ACQUIRE);

		for (uint64_t i = head > count ? head - count : 0; i < head; i++) {
			struct tipme_xslot rec;

			if (!ring_read((const struct tipme_xslot *)(h + 1), r->log2, i, &rec))
				r->torn_seen++;
			else if (is_made(&rec, i, r->tid))
				r->whole++;
			else
				r->torn_taken++;
		}
		r->copies++;
		r->satisfied = r->copies > 1 && r->whole && r->torn_seen;
	}
	munmap((void *)h, bytes);
	return NULL;
}

/*
 * On a machine with other work the writer may be through before the reader has begun: then it goes
 * on, for minutes if need be.
 */
static void test_concurrent(uint64_t records)
{
	struct tipme_xring ring;
	struct reader r = { .log2 = 10 };
	pthread_t thread;

	if (tipme_xring_open(&ring, r.log2, "concurrent"))
		return (void)ok(false, "a ring is made");
	r.fd = ring.fd;
	r.tid = ring.tid;
	pthread_create(&thread, NULL, read_all, &r);
	uint64_t n = 0;

	for (; n < records || (!r.satisfied && n < 200 * records); n++) {
		struct tipme_xslot rec = make(n);

		tipme_xring_put(&ring, &rec);
	}
	r.stop = true;
	pthread_join(thread, NULL);
	printf("# %lu records, %lu copies, %lu slots whole, %lu refused\n", (unsigned long)n,
	       (unsigned long)r.copies, (unsigned long)r.whole, (unsigned long)r.torn_seen);
	ok(r.whole > 0 && r.copies > 1, "the reader got records while the writer wrote");
	ok(r.torn_seen > 0, "slots were being overwritten under its eyes");
	ok(r.torn_taken == 0, "none of the records it took was torn");
	tipme_xring_close(&ring);
}

static struct tipme_x_request request(uint64_t ts_ns, uint32_t duration_ns, uint16_t client)
{
	return (struct tipme_x_request){
		.ts_ns = ts_ns,
		.type = TIPME_X_REQUEST,
		.pid = 100U + client,
		.client = client,
		.duration_ns = duration_ns,
		.major = 127,
		.sequence = (uint16_t)ts_ns,
		.count = 1,
	};
}

static void test_run(void)
{
	struct tipme_request_run run = { .rec.count = 0 };
	struct tipme_x_request req;
	bool joined = true;

	for (uint64_t i = 0; i < 10; i++) {
		req = request(1000 + i * 100, 50, 3);
		joined = tipme_request_run_add(&run, &req, false) == (i > 0) && joined;
	}
	ok(joined && run.rec.count == 10 && run.rec.ts_ns == 1000 && run.rec.duration_ns == 950 &&
		   run.rec.sequence == 1900,
	   "ten short requests make one record from the first's beginning to the last's end");
	req = request(2000, 50, 4);
	ok(!tipme_request_run_add(&run, &req, false) && run.rec.count == 1 && run.rec.client == 4,
	   "another client's begins another run");
	req = request(2100, TIPME_RUN_SHORT_NS + 1, 4);
	ok(!tipme_request_run_add(&run, &req, false), "so does a long one");
	req = request(2200 + TIPME_RUN_SHORT_NS, 50, 4);
	ok(!tipme_request_run_add(&run, &req, false), "which stays alone");
	req = request(2300 + TIPME_RUN_SHORT_NS + TIPME_RUN_GAP_NS, 50, 4);
	ok(!tipme_request_run_add(&run, &req, false), "and one after a pause");
	req = request(2400 + TIPME_RUN_SHORT_NS + 2 * TIPME_RUN_GAP_NS, TIPME_RUN_SHORT_NS + 1, 4);
	ok(tipme_request_run_add(&run, &req, true), "in a flood neither matters");
	tipme_request_run_end(&run);
	req = request(100000, 50, 4);
	ok(!tipme_request_run_add(&run, &req, true), "nothing is added to a run that was ended");
}

/* However requests come: their number and their time are in the records that come out. */
static void test_run_sums(bool flood)
{
	struct tipme_request_run run = { .rec.count = 0 };
	struct tipme_x_request last = { .count = 0 }, req;
	uint64_t ts = 1, in_count = 0, out_count = 0, records = 0, last_end = 0, longest = 0;
	bool in_order = true;

	srand(1);
	for (int i = 0; i < 1000000; i++) {
		req = request(ts, (uint32_t)(rand() % 1000 ? 10 + rand() % 100 : rand() % 100000),
			      (uint16_t)(rand() % 100 ? 1 : 2));
		ts += req.duration_ns + (uint64_t)(rand() % 5000 ? 5 : 50000);
		in_count++;
		last = run.rec;
		if (tipme_request_run_add(&run, &req, flood))
			continue;
		in_order = in_order && last.ts_ns >= last_end;
		last_end = last.ts_ns + last.duration_ns;
		longest = last.count > 1 && last.duration_ns > longest ? last.duration_ns : longest;
		out_count += last.count;
		records++;
	}
	out_count += run.rec.count;
	ok(out_count == in_count, "a million requests are counted in %lu records",
	   (unsigned long)records);
	ok(in_order, "which do not overlap");
	ok(longest <= (flood ? TIPME_JOIN_NS + TIPME_RUN_FLOOD_SHORT_NS
			     : TIPME_RUN_SPAN_NS + TIPME_RUN_SHORT_NS + TIPME_RUN_GAP_NS),
	   "no run is longer than its limit");
}

/* A thousand a second leave room for 40 s; what was alone before the flood is alone after it. */
static void test_join(void)
{
	struct tipme_xring ring;
	struct tipme_join join = { .key = 0 };
	struct tipme_xslot rec = { .ts_ns = 0 };
	uint64_t slots, ts = 1000000000;

	if (tipme_xring_open(&ring, 17, "join"))
		return (void)ok(false, "a ring is made");
	for (int i = 0; i < TIPME_FLOOD_COUNT; i++, ts += 1000)
		tipme_join_put(&join, &ring, 1,
			       &(struct tipme_xslot){ ts, TIPME_X_SLEEP, { 0, 0 } });
	ok(ring.head == TIPME_FLOOD_COUNT, "the first %d have slots of their own",
	   TIPME_FLOOD_COUNT);
	for (int i = 0; i < 1000; i++, ts += 1000)
		tipme_join_put(&join, &ring, 1,
			       &(struct tipme_xslot){ ts, TIPME_X_IDLE, { ts, ~ts } });
	ok(ring.head == TIPME_FLOOD_COUNT, "those after them within %d ms are joined",
	   TIPME_JOIN_NS / 1000000);
	ok(ring_read(ring.slots, 17, ring.head - 1, &rec) && rec.ts_ns == ts - 1000 &&
		   (rec.tag & 0xff) == TIPME_X_IDLE && rec.body[0] == ts - 1000 &&
		   rec.body[1] == ~(ts - 1000),
	   "the slot has the last of them, whole, and its type");
	tipme_join_put(&join, &ring, 2, &(struct tipme_xslot){ ts, TIPME_X_IDLE, { 0, 0 } });
	ok(ring.head == TIPME_FLOOD_COUNT + 1, "another kind has its own slot");
	slots = ring.head;
	tipme_join_fresh(&join);
	tipme_join_put(&join, &ring, 2, &(struct tipme_xslot){ ts, TIPME_X_IDLE, { 0, 0 } });
	tipme_join_put(&join, &ring, 2, &(struct tipme_xslot){ ts, TIPME_X_IDLE, { 0, 0 } });
	ok(ring.head == slots + 2, "after something of interest they are alone again");
	slots = ring.head;
	for (int i = 0; i < 40 * 100000; i++, ts += 10000)
		tipme_join_put(&join, &ring, 2,
			       &(struct tipme_xslot){ ts, TIPME_X_IDLE, { 0, 0 } });
	ok(ring.head - slots < 20000, "40 s of 100,000 a second take %lu slots",
	   (unsigned long)(ring.head - slots));
	join.index = ring.head - (1U << 17) - 1;
	ok(!tipme_xring_amend(&ring, join.index, &rec),
	   "a slot that is another record's by now is left alone");
	tipme_xring_close(&ring);
}

int main(int argc, char **argv)
{
	const char *records = argc > 1 ? argv[1] : getenv("TIPME_TEST_RECORDS");

	test_memory();
	test_file_limit();
	test_wrap();
	test_run();
	test_run_sums(false);
	test_run_sums(true);
	test_join();
	test_concurrent(records ? strtoull(records, NULL, 10) : 20000000);
	return tap_done();
}
