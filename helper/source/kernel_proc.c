// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last resort: looks at /proc each 20 ms, as an ordinary user may. What a thread ran and waited
 * for a CPU is counted by the kernel, to the nanosecond; when it did so is known to 20 ms only, and
 * who woke it not at all.
 *
 * A thread of ours samples. It reads schedstat of each thread, by descriptors that stay open (about
 * a microsecond each). It reads the whole stat only of those that ran since, that were not asleep,
 * and in turn of all others: a thread that was woken and still waits for a CPU has no count yet.
 * Whether there are new threads, and their numbers, the last number given away tells: listing /proc
 * takes as long as reading a hundred threads, and is done now and then only.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "kernel_backend.h"
#include "proc_stat.h"

#define PERIOD_NS 20000000L
/* Each thread is looked at whole, and each process for new threads, once in so many rounds. */
#define ROUNDS 25
#define THREADS_MAX 16384
#define HASH_SLOTS (2 * THREADS_MAX)
#define CHANNELS_MAX 2048
#define CHANNEL_BYTES 64
/* More new threads than these in a round are looked for by listing all. */
#define PROBES_MAX 16
/* Left to the rest of the daemon. */
#define DESCRIPTORS_SPARED 256

enum { FILE_COUNTS, FILE_STAT, FILE_CHANNEL, FILES };
static const char *const file_name[FILES] = { "schedstat", "stat", "wchan" };

struct watched {
	uint32_t tid, pid;
	int fd[FILES]; /* -1: not open (yet) */
	bool known;
	uint64_t run_ns, wait_ns, turns; /* as last read */
	uint64_t told_run_ns, told_wait_ns; /* as the last record told */
	struct tipme_thread rec;
};

struct proc_source {
	struct tipme_kernel_source base; /* first: they are one and the same */
	pthread_t thread;
	bool running;
	_Atomic bool quit;
	/* guards threads and channels: the sampler against those who ask for pictures and names */
	pthread_mutex_t lock;
	struct watched *threads;
	uint32_t count;
	uint32_t *hash; /* index + 1 */
	char (*channel)[CHANNEL_BYTES];
	uint32_t channels;
	uint32_t round, descriptors, descriptors_max;
	int load_fd; /* /proc/loadavg, which ends in the last number given to a thread */
	uint32_t last_tid;
	uint64_t start_ns, boot_offset_ns;
	_Atomic uint64_t records, missed, full;
	struct tipme_pool_cpu cpu;
	struct tipme_pool_queue queue;
	uint64_t *cells;
	uint64_t cell_mask;
};

/* The pool's writer wants its memory without an argument: there is one source in a process. */
static struct proc_source *the;
static uint32_t tipme_pool_slots;

static inline struct tipme_pool_header *tipme_pool_sub(__u32 sub)
{
	return sub < the->base.view.subs ? (void *)((char *)the->base.view.base +
						    (size_t)sub * the->base.view.subbuf_bytes)
					 : NULL;
}

static inline __u64 *tipme_pool_cell(__u64 pos)
{
	return (__u64 *)&the->cells[pos & the->cell_mask];
}

static inline struct tipme_pool_queue *tipme_pool_queue(void)
{
	return &the->queue;
}

static inline __u64 tipme_pool_clock(void)
{
	return tipme_clock_ns();
}

#define TIPME_POOL_WRITER
#include "pool.h"
#include "small_file.h"

static struct proc_source *proc_of(struct tipme_kernel_source *base)
{
	return (struct proc_source *)base;
}

/* --- records --- */

static void record_put(struct proc_source *p, const void *rec)
{
	const struct tipme_head *head = rec;
	uint16_t gen;
	struct tipme_head *slot = tipme_pool_begin(&p->cpu, 0, &gen);

	if (slot) {
		memcpy((char *)slot + offsetof(struct tipme_head, type),
		       (const char *)rec + offsetof(struct tipme_head, type), 2);
		slot->ts_ns = head->ts_ns;
		slot->tid = head->tid;
		memcpy(slot + 1, head + 1, TIPME_POOL_SLOT_BYTES - sizeof(*head));
		tipme_pool_commit(slot, gen);
		p->records++;
	}
	tipme_pool_end(&p->cpu);
}

static uint32_t saturated(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void put_state(struct proc_source *p, struct watched *w, uint64_t now_ns)
{
	struct tipme_proc_state r = {
		.ts_ns = now_ns,
		.type = TIPME_PROC_STATE,
		.len8 = sizeof(r) / 8,
		.tid = w->tid,
		.run_ns = saturated(w->run_ns - w->told_run_ns),
		.wait_ns = saturated(w->wait_ns - w->told_wait_ns),
		.stack_id = w->rec.stack_id,
		.cpu = w->rec.cpu,
		.state = w->rec.state,
		.prio = w->rec.prio,
	};

	w->told_run_ns = w->run_ns;
	w->told_wait_ns = w->wait_ns;
	record_put(p, &r);
}

static void put_birth(struct proc_source *p, const struct watched *w, uint64_t now_ns)
{
	struct tipme_fork f = {
		.ts_ns = now_ns,
		.type = TIPME_FORK,
		.len8 = sizeof(f) / 8,
		.tid = w->tid == w->pid ? w->rec.ppid : w->pid,
		.child_tid = w->tid,
		.child_pid = w->pid,
		.child_start_ns = w->rec.start_ns,
	};

	record_put(p, &f);
}

static void put_name(struct proc_source *p, const struct watched *w, uint64_t now_ns)
{
	struct tipme_rename r = {
		.ts_ns = now_ns, .type = TIPME_RENAME, .len8 = sizeof(r) / 8, .tid = w->tid
	};

	memcpy(r.comm, w->rec.comm, sizeof(r.comm));
	record_put(p, &r);
}

static void put_death(struct proc_source *p, const struct watched *w, uint64_t now_ns)
{
	struct tipme_exit r = { .ts_ns = now_ns,
				.type = TIPME_EXIT,
				.len8 = sizeof(r) / 8,
				.tid = w->tid,
				.pid = w->pid,
				.start_ns = w->rec.start_ns };

	record_put(p, &r);
}

/* --- what /proc says --- */

/*
 * One of the files of a thread; it stays open while there is room. Returns the length, or -errno
 * (as text: empty).
 */
static ssize_t watched_read(struct proc_source *p, struct watched *w, int which, char *buf,
			    size_t cap)
{
	char path[64];
	int *fd = &w->fd[which];
	ssize_t n;

	buf[0] = '\0';
	if (*fd < 0) {
		snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", w->pid, w->tid,
			 file_name[which]);
		*fd = open(path, O_RDONLY | O_CLOEXEC);
		if (*fd < 0)
			return -errno;
		p->descriptors++;
	}
	n = pread(*fd, buf, cap - 1, 0);
	if (n < 0)
		n = -errno;
	buf[n > 0 ? n : 0] = '\0';
	/* Counts come first: they are read of all threads in each round. */
	if (p->descriptors > (which == FILE_COUNTS ? p->descriptors_max : p->descriptors_max / 2)) {
		close(*fd);
		*fd = -1;
		p->descriptors--;
	}
	return n;
}

static void watched_close(struct proc_source *p, struct watched *w)
{
	for (int i = 0; i < FILES; i++) {
		if (w->fd[i] < 0)
			continue;
		close(w->fd[i]);
		p->descriptors--;
	}
}

static uint32_t channel_id(struct proc_source *p, const char *name)
{
	for (uint32_t i = 0; i < p->channels; i++)
		if (!strcmp(p->channel[i], name))
			return i + 1;
	if (p->channels == CHANNELS_MAX)
		return 0;
	snprintf(p->channel[p->channels], CHANNEL_BYTES, "%s", name);
	return ++p->channels;
}

/* The kernel function that a thread sleeps in; of other users' threads it is not told. */
static uint32_t channel_read(struct proc_source *p, struct watched *w)
{
	char name[CHANNEL_BYTES];

	if (watched_read(p, w, FILE_CHANNEL, name, sizeof(name)) <= 0 || !strcmp(name, "0"))
		return 0;
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
			return 0;
	return channel_id(p, name);
}

/* Returns whether the thread is another than before: its number was used again. */
static bool stat_apply(struct proc_source *p, struct watched *w, const struct tipme_proc_stat *f)
{
	uint64_t before_ns = w->rec.start_ns;

	tipme_proc_stat_apply(f, p->boot_offset_ns, &w->rec);
	return w->known && w->rec.start_ns != before_ns;
}

static uid_t owner_of(const struct watched *w)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/task/%u", w->pid, w->tid);
	return stat(path, &st) ? 0 : st.st_uid;
}

/*
 * Looks at the whole of one thread. `ran` tells whether its counts changed. Returns false if it is
 * gone.
 */
static bool look_whole(struct proc_source *p, struct watched *w, bool ran, uint64_t now_ns)
{
	char text[1024], comm[16] = "";
	struct tipme_proc_stat f = { 0 };

	if (watched_read(p, w, FILE_STAT, text, sizeof(text)) <= 0 ||
	    !tipme_proc_stat_parse(text, &f, comm, sizeof(comm)))
		return false;
	uint8_t before = w->rec.state;
	bool other = stat_apply(p, w, &f);
	uint8_t state = w->rec.state;
	bool renamed = strncmp(w->rec.comm, comm, sizeof(comm));

	memcpy(w->rec.comm, comm, sizeof(comm));
	bool asleep = state != TIPME_TASK_STATE_RUNNABLE && state != TIPME_TASK_STATE_DEAD;
	uint32_t channel = !asleep				 ? 0
			   : ran || before != state || !w->known ? channel_read(p, w)
								 : w->rec.stack_id;
	bool changed = before != state || channel != w->rec.stack_id || !w->known || other;

	w->rec.stack_id = channel;
	if (changed || ran)
		w->rec.since_ns = w->known ? now_ns : 0;
	if (!w->known || other) {
		w->rec.uid = owner_of(w);
		if (p->round)
			put_birth(p, w, now_ns);
	}
	if (!w->known || other || renamed)
		put_name(p, w, now_ns);
	w->known = true;
	if (changed || ran)
		put_state(p, w, now_ns);
	return true;
}

/* Reads the counts. Returns false if the thread is gone; *ran: they changed. */
static bool look_counts(struct proc_source *p, struct watched *w, bool *ran)
{
	char text[96];
	unsigned long long run, wait, turns;
	ssize_t n = watched_read(p, w, FILE_COUNTS, text, sizeof(text));

	if (n <= 0) /* a kernel that does not count still says the state */
		return w->fd[FILE_COUNTS] < 0 && n != -ENOENT && n != -ESRCH && n != 0;
	if (sscanf(text, "%llu %llu %llu", &run, &wait, &turns) != 3)
		return true;
	*ran = run != w->run_ns || wait != w->wait_ns || turns != w->turns;
	w->run_ns = run;
	w->wait_ns = wait;
	w->turns = turns;
	w->rec.run_ns = run;
	return true;
}

/* --- the table --- */

static uint32_t hash_of(uint32_t tid)
{
	return (tid * 2654435761U) >> 8 & (HASH_SLOTS - 1);
}

static void hash_fill(struct proc_source *p)
{
	memset(p->hash, 0, HASH_SLOTS * sizeof(*p->hash));
	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t at = hash_of(p->threads[i].tid);

		while (p->hash[at])
			at = (at + 1) & (HASH_SLOTS - 1);
		p->hash[at] = i + 1;
	}
}

static struct watched *find(struct proc_source *p, uint32_t tid)
{
	for (uint32_t at = hash_of(tid); p->hash[at]; at = (at + 1) & (HASH_SLOTS - 1))
		if (p->threads[p->hash[at] - 1].tid == tid)
			return &p->threads[p->hash[at] - 1];
	return NULL;
}

static void add(struct proc_source *p, uint32_t tid, uint32_t pid)
{
	struct watched *w = find(p, tid);

	if (w)
		return;
	if (p->count == THREADS_MAX) {
		p->full++;
		return;
	}
	w = &p->threads[p->count];
	*w = (struct watched){ .tid = tid, .pid = pid, .fd = { -1, -1, -1 } };
	w->rec = (struct tipme_thread){
		.type = TIPME_THREAD, .len8 = sizeof(w->rec) / 8, .tid = tid, .pid = pid
	};
	uint32_t at = hash_of(tid);

	while (p->hash[at])
		at = (at + 1) & (HASH_SLOTS - 1);
	p->hash[at] = ++p->count;
}

static uint32_t number_of(const char *name)
{
	char *end;
	unsigned long n = isdigit((unsigned char)*name) ? strtoul(name, &end, 10) : 0;

	return n && !*end && n < UINT32_MAX ? (uint32_t)n : 0;
}

static void find_threads(struct proc_source *p, uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	DIR *dir = opendir(path);

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (number_of(e->d_name))
			add(p, number_of(e->d_name), pid);
	if (dir)
		closedir(dir);
}

static void find_processes(struct proc_source *p)
{
	DIR *dir = opendir("/proc");

	for (struct dirent *e; dir && (e = readdir(dir));) {
		uint32_t pid = number_of(e->d_name);

		if (pid && !find(p, pid))
			find_threads(p, pid);
	}
	if (dir)
		closedir(dir);
}

/* 0 where it is not told. */
static uint32_t last_tid(struct proc_source *p)
{
	char text[128];
	ssize_t n = p->load_fd < 0 ? -1 : pread(p->load_fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	char *last = strrchr(text, ' ');

	return last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

/* /proc has every thread by its number, whether it lists it or not. */
static void probe(struct proc_source *p, uint32_t tid)
{
	char path[64], text[512];
	unsigned int pid;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	if (tipme_file_read(path, text, sizeof(text)) <= 0)
		return;
	char *tgid = strstr(text, "\nTgid:");

	if (tgid && sscanf(tgid, "\nTgid: %u", &pid) == 1)
		add(p, tid, pid);
}

/*
 * The new ones at once. What that misses (a /proc of another namespace, numbers that began anew) is
 * found in turn.
 */
static void find_new(struct proc_source *p)
{
	uint32_t last = last_tid(p), more = last - p->last_tid;

	if (!last || !p->round || more > PROBES_MAX || p->round % ROUNDS == 0)
		find_processes(p);
	for (uint32_t tid = p->last_tid + 1;
	     last && p->round && more <= PROBES_MAX && tid != last + 1; tid++)
		probe(p, tid);
	p->last_tid = last;
	for (uint32_t i = 0, n = p->count; i < n; i++)
		if (p->threads[i].tid == p->threads[i].pid &&
		    p->threads[i].pid % ROUNDS == p->round % ROUNDS)
			find_threads(p, p->threads[i].pid);
}

static void forget(struct proc_source *p, uint32_t i, uint64_t now_ns)
{
	struct watched *w = &p->threads[i];

	if (w->known)
		put_death(p, w, now_ns);
	watched_close(p, w);
	*w = p->threads[--p->count];
}

/* Returns false if the thread is gone. */
static bool look(struct proc_source *p, struct watched *w)
{
	bool ran = false;
	uint64_t now_ns = tipme_clock_ns();

	if (!look_counts(p, w, &ran))
		return false;
	bool asleep = w->rec.state != TIPME_TASK_STATE_RUNNABLE;

	if (w->known && !ran && asleep && w->tid % ROUNDS != p->round % ROUNDS)
		return true;
	return look_whole(p, w, ran, now_ns);
}

static void round_take(struct proc_source *p)
{
	bool gone = false;

	pthread_mutex_lock(&p->lock);
	find_new(p);
	for (uint32_t i = 0; i < p->count;) {
		if (look(p, &p->threads[i])) {
			i++;
		} else {
			forget(p, i, tipme_clock_ns());
			gone = true;
		}
	}
	if (gone)
		hash_fill(p);
	p->round++;
	pthread_mutex_unlock(&p->lock);
}

static void *sample(void *arg)
{
	struct proc_source *p = arg;
	struct timespec next;

	pthread_setname_np(pthread_self(), "tipmed-proc");
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!p->quit) {
		struct timespec now;

		round_take(p);
		next.tv_nsec += PERIOD_NS;
		if (next.tv_nsec >= (long)TIPME_NS_PER_S) {
			next.tv_nsec -= (long)TIPME_NS_PER_S;
			next.tv_sec++;
		}
		/*
		 * Rounds that we were too late for are not made up: the counts of the next one hold
		 * what they would have told.
		 */
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > next.tv_sec ||
		    (now.tv_sec == next.tv_sec && now.tv_nsec > next.tv_nsec)) {
			p->missed++;
			next = now;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return NULL;
}

/* --- the backend --- */

static void *memory(size_t bytes)
{
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return m == MAP_FAILED ? NULL : m;
}

static int pool_make(struct proc_source *p)
{
	struct tipme_pool_view *v = &p->base.view;
	uint64_t cells = 1;

	while (cells < v->subs)
		cells *= 2;
	v->base = memory((size_t)v->subs * v->subbuf_bytes);
	p->cells = calloc(cells, sizeof(*p->cells));
	if (!v->base || !p->cells)
		return -ENOMEM;
	p->cell_mask = cells - 1;
	for (uint64_t i = 0; i < v->subs; i++)
		p->cells[i] = TIPME_POOL_CELL(i, i);
	p->queue.tail = v->subs;
	p->cpu.cursor = TIPME_POOL_CURSOR_START;
	tipme_pool_slots = (v->subbuf_bytes - (uint32_t)sizeof(struct tipme_pool_header)) /
			   TIPME_POOL_SLOT_BYTES;
	return 0;
}

static int tables_make(struct proc_source *p)
{
	pthread_mutexattr_t attr;

	p->threads = calloc(THREADS_MAX, sizeof(*p->threads));
	p->hash = calloc(HASH_SLOTS, sizeof(*p->hash));
	p->channel = calloc(CHANNELS_MAX, CHANNEL_BYTES);
	pthread_mutexattr_init(&attr);
	/* A real-time thread may wait for the sampler. */
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&p->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return p->threads && p->hash && p->channel ? 0 : -ENOMEM;
}

/* One descriptor for each file of each thread, as far as we may. */
static void descriptors_allow(struct proc_source *p)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	getrlimit(RLIMIT_NOFILE, &limit);
	p->descriptors_max = limit.rlim_cur > DESCRIPTORS_SPARED + FILES * THREADS_MAX
				     ? FILES * THREADS_MAX
			     : limit.rlim_cur > DESCRIPTORS_SPARED
				     ? (uint32_t)limit.rlim_cur - DESCRIPTORS_SPARED
				     : 0;
}

static void proc_close(struct tipme_kernel_source *base)
{
	struct proc_source *p = proc_of(base);

	p->quit = true;
	if (p->running)
		pthread_join(p->thread, NULL);
	for (uint32_t i = 0; p->threads && i < p->count; i++)
		watched_close(p, &p->threads[i]);
	if (p->load_fd >= 0)
		close(p->load_fd);
	if (p->base.view.base)
		munmap((void *)p->base.view.base,
		       (size_t)p->base.view.subs * p->base.view.subbuf_bytes);
	free(p->cells);
	free(p->threads);
	free(p->hash);
	free(p->channel);
	free(p);
	the = NULL;
}

/* Far fewer records than of a source that sees each switch: what changed, 50 times a second. */
static void sizes_choose(struct proc_source *p, const struct tipme_kernel_options *opt)
{
	struct tipme_kernel_options o = *opt;

	if (!o.pool_bytes && o.rate > 5000)
		o.rate = 5000;
	if (!o.pool_bytes && !o.rate)
		o.rate = 5000;
	tipme_kernel_sizes(&p->base.view, &o, 1, 0);
}

static int proc_open(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt,
		     char *why, size_t why_len)
{
	char text[96];

	if (tipme_file_read("/proc/self/schedstat", text, sizeof(text)) <= 0) {
		snprintf(
			why, why_len,
			"/proc/self/schedstat cannot be read: is /proc mounted, and the kernel built with CONFIG_SCHED_INFO?");
		return -ENOTSUP;
	}
	if (the)
		return -EBUSY;
	struct proc_source *p = calloc(1, sizeof(*p));

	snprintf(why, why_len,
		 "not enough memory for the recorder's pool: choose a shorter window");
	if (!p)
		return -ENOMEM;
	the = p;
	p->load_fd = -1;
	sizes_choose(p, opt);
	descriptors_allow(p);
	p->start_ns = tipme_clock_ns();
	p->base.view.start_ns = p->start_ns;
	p->boot_offset_ns = tipme_clock_slept_ns();
	int err = pool_make(p);

	if (!err)
		err = tables_make(p);
	p->load_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	if (!err) {
		round_take(p);
		err = -pthread_create(&p->thread, NULL, sample, p);
		p->running = !err;
	}
	if (err) {
		proc_close(&p->base);
		return err;
	}
	*out = &p->base;
	return 0;
}

static int proc_stats(struct tipme_kernel_source *base, struct tipme_kernel_stats *stats)
{
	struct proc_source *p = proc_of(base);
	const struct tipme_pool_view *v = &p->base.view;

	*stats = (struct tipme_kernel_stats){
		.start_ns = p->start_ns,
		.records = p->records,
		.lost = { .pool = p->cpu.lost_pool, .missed = p->missed, .sleep_table = p->full },
		.pool_bytes = (uint64_t)v->subs * v->subbuf_bytes,
		.cpus = 1,
		.subbufs = v->subs,
		.subbuf_bytes = v->subbuf_bytes,
	};
	stats->map_bytes = stats->pool_bytes + THREADS_MAX * sizeof(*p->threads) +
			   HASH_SLOTS * sizeof(*p->hash) + CHANNELS_MAX * CHANNEL_BYTES;
	return 0;
}

static int proc_picture(struct tipme_kernel_source *base, struct tipme_picture *picture,
			struct tipme_kernel_thread *threads, unsigned int max)
{
	struct proc_source *p = proc_of(base);
	uint64_t now_ns = tipme_clock_ns();
	unsigned int n = 0;

	*picture = (struct tipme_picture){ .ts_ns = now_ns,
					   .type = TIPME_PICTURE,
					   .len8 = sizeof(*picture) / 8 };
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < p->count && n < max; i++) {
		if (!p->threads[i].known)
			continue;
		threads[n].rec = p->threads[i].rec;
		threads[n].rec.ts_ns = now_ns;
		threads[n++].switches = p->threads[i].turns;
	}
	pthread_mutex_unlock(&p->lock);
	picture->threads = picture->changed = n;
	picture->end_ns = tipme_clock_ns();
	return (int)n;
}

static int proc_stacks(struct tipme_kernel_source *base,
		       int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
				 unsigned int count),
		       void *arg)
{
	return 0;
}

/* Channels are only ever added, so those that were there stay as they are while they are told. */
static int proc_named_stacks(struct tipme_kernel_source *base,
			     int (*fn)(void *arg, uint32_t stack_id, const char *name), void *arg)
{
	struct proc_source *p = proc_of(base);

	pthread_mutex_lock(&p->lock);
	uint32_t n = p->channels;

	pthread_mutex_unlock(&p->lock);
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++)
		err = fn(arg, i + 1, p->channel[i]);
	return err;
}

const struct tipme_kernel_backend tipme_kernel_proc = {
	.source = TIPME_SOURCE_PROC_SAMPLED,
	.name = "proc_sampled",
	.open = proc_open,
	.close = proc_close,
	.stats = proc_stats,
	.picture = proc_picture,
	.stacks = proc_stacks,
	.named_stacks = proc_named_stacks,
};
